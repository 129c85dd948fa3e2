"""Identification of gap, preload and friction of the supports of a rod from one record of its displacement.

A clamped tube is pressed by a spring at mid-span, with the preload N and friction μ, and has a stop behind a gap at 0.8
of its length. A force at its tip sweeps through the first frequencies, so that the rod lifts off the spring, slides
along it and knocks on the stop. The record is the displacement of a point near the tip, along the diagonal of both
planes, once in `every` steps; noise is added to it.

The parameters are identified by `arlequin.fit`, with gradients by tangents of the run, from a guess with the relative
error `off`: without noise the true parameters are recovered to 1 % (check) and in fact much better; with noise they lie
in the ellipse of 95 %, for 95 of 100 records.

Results over `trial`, 0 without noise: `found`, `deviation` (gap, preload, friction), `fit` (distance of the true
parameters by the covariance, bound of the ellipse, rms residual `rest`, evaluations).

Source: Seber & Wild, Nonlinear Regression, Wiley 1989; Liu, Gordis & others on nonlinear identification by
sensitivities are compared in Kerschen et al., Mech. Syst. Signal Process. 20 (2006) 505–592.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Annotated

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.models.checks import integer, non_negative, non_negative_integer, positive, positive_integer, within
from arlequin.models.types import Array
from arlequin.results.recorder import Record
from arlequin.run.multi_run import Measure, collect_runs
from arlequin.run.run import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS = {"gap": "m", "preload": "N", "friction": "1"}  # identified parameters
NEAR = 0.01  # relative tolerance of each parameter without noise
_STOP, _RECORD_AT = 0.8, 0.9  # positions of the stop and of the record over the length


@dataclass(frozen=True)
class Parameters:
    """Rod, supports and record."""

    length: Annotated[float, Quantity("m", "length of the rod", positive)] = 0.6
    radius: Annotated[float, Quantity("m", "outer radius", positive)] = 4.75e-3
    thickness: Annotated[float, Quantity("m", "wall thickness", positive)] = 5.7e-4
    spring: Annotated[float, Quantity("N/m", "stiffness of the spring", positive)] = 5e4
    stop: Annotated[float, Quantity("N/m", "stiffness of the stop", positive)] = 2e5
    damping: Annotated[float, Quantity("N s/m", "damping of both while they touch", non_negative)] = 5.0
    gap: Annotated[float, Quantity("m", "gap at the stop", positive)] = 1e-4
    preload: Annotated[float, Quantity("N", "preload of the spring", positive)] = 2.0
    friction: Annotated[float, Quantity("", "coefficient of friction", positive)] = 0.3
    force: Annotated[float, Quantity("N", "amplitude of the force at the tip", positive)] = 0.5
    lowest: Annotated[float, Quantity("Hz", "frequency of the force at the start", positive)] = 20.0
    highest: Annotated[float, Quantity("Hz", "and at the end", positive)] = 120.0
    duration: Annotated[float, Quantity("s", "duration", positive)] = 0.1
    step: Annotated[float, Quantity("s", "time step", positive)] = 1e-4
    every: Annotated[int, Quantity("", "steps between two values of the record", positive_integer)] = 2
    modes: Annotated[int, Quantity("", "modes of the rod", integer, 2, 30)] = 8
    noise: Annotated[float, Quantity("m", "standard deviation of the noise", positive)] = 1e-5
    off: Annotated[float, Quantity("", "error of the first guess, of each parameter", within, -0.5, 0.5)] = 0.1
    trials: Annotated[int, Quantity("", "records with noise", positive_integer)] = 10
    seed: Annotated[int, Quantity("", "seed of the noise", non_negative_integer)] = 0

    def __post_init__(self) -> None:
        if not self.thickness < self.radius:
            raise aq.UserError.parameter("thickness", self.thickness, "must be less than the radius")
        if not self.lowest < self.highest:
            raise aq.UserError.parameter("lowest", self.lowest, f"must be below the highest, {self.highest:g} Hz")


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    return identified(p)(p.gap, p.preload, p.friction)


def identified(parameters: Parameters) -> Callable[[float, float, float], aq.Study]:
    """Study as a function of the parameters to be identified; the rod is reduced once."""
    p = parameters
    zircaloy = aq.LinearElastic(young=9.9e10, poisson=0.37, density=6550.0)
    section = aq.Section.tube(p.radius, p.radius - p.thickness, zircaloy.poisson)
    clamped = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)}
    heights = {"spring": 0.5 * p.length, "stop": _STOP * p.length}

    def sweep(t: float) -> tuple[float, float, float]:
        phase = 2.0 * np.pi * (p.lowest * t + 0.5 * (p.highest - p.lowest) * t**2 / p.duration)
        force_x = p.force * float(np.sin(phase))
        return force_x, 0.8 * force_x, 0.0

    beam = aq.Beam.between(
        "rod", (0.0, 0.0, 0.0), (0.0, 0.0, p.length), 20, zircaloy, section, imposed=clamped,
        damping=aq.Rayleigh(10.0, 1e-6), end_loads={"right": sweep},
        points={name: aq.SectionPoints([z], [(0.0, 0.0, 0.0)]) for name, z in heights.items()},
    )  # fmt: skip
    rod = aq.Modal(beam, p.modes, static=[beam.boundary(name) for name in heights])
    skins = {name: rod.boundary(name) for name in heights}

    def study(gap: float, preload: float, friction: float) -> aq.Study:
        laws = {
            name: aq.ImpactElement(stiffness=stiffness, damping=p.damping)
            for name, stiffness in (("spring", p.spring), ("stop", p.stop))
        }
        reach = {"spring": preload / p.spring, "stop": -gap}
        interfaces = []
        for name, surface in skins.items():
            # supports are at −x of the rod and push along +x
            plane = aq.RigidPlanes(surface.positions + np.array([reach[name], 0.0, 0.0]), [[1.0, 0.0, 0.0]])
            friction_law = aq.Coulomb(friction, stiffness=p.spring) if name == "spring" else None
            interfaces.append(aq.Interface(name, surface, plane, laws[name], friction=friction_law))
        system = aq.System([rod], interfaces=interfaces)
        return aq.Study(system, aq.Theta(0.5), p.duration, p.step, fields_every=p.every)

    return study


def record_of(result: xarray.DataTree) -> Array:
    """Record: displacement near the tip along the diagonal of both planes, m."""
    rod = result["part/rod"].dataset
    heights = rod["position"].values[:, 2]
    node = int(np.abs(heights - _RECORD_AT * heights.max()).argmin())
    return np.asarray(rod["displacement"].values[1:, node, :2].sum(axis=1) / sqrt(2.0))


def guess(parameters: Parameters) -> dict[str, float]:
    """Initial guess: alternately too large and too small."""
    sign_of = dict(zip(UNITS, (1.0, -1.0, 1.0), strict=True))
    return {name: getattr(parameters, name) * (1.0 + sign * parameters.off) for name, sign in sign_of.items()}


def identify(result: xarray.DataTree, parameters: Parameters, seed: int | None = None) -> xarray.Dataset:
    """Parameters identified by `arlequin.fit` from the record, with noise of a seed, or without noise."""
    p, record = parameters, record_of(result)
    if seed is not None:
        record = record + p.noise * np.random.default_rng(seed).standard_normal(record.size)
    bounds = {name: (0.3 * value, 3.0 * value) for name, value in guess(p).items()}
    return aq.fit(
        identified(p), {"record": (record_of, record)}, guess(p), bounds=bounds, deviation=p.noise, starts=0,
        units=UNITS, progress=False,
    )  # fmt: skip


def _measures() -> tuple[Measure, ...]:
    values = [Measure("found", name, unit, f"{name} found") for name, unit in UNITS.items()]
    spread = [Measure("deviation", name, unit, f"standard deviation of {name}") for name, unit in UNITS.items()]
    fit = [
        Measure("fit", "distance", "1", "square of the distance of the truth by the covariance"),
        Measure("fit", "bound", "1", "that of the ellipse of 95 %"),
        Measure("fit", "rest", "m", "root mean square of what is left of the record"),
        Measure("fit", "evaluations", "1", "runs"),
    ]
    return (*values, *spread, *fit)


def run(parameters: Parameters, record: Record, progress: Progress | None) -> xarray.DataTree:
    """Identified parameters over `trial`: 0 without noise, then with noise of other seeds."""
    p = parameters
    measured_run = build(p).run(progress=False)
    truth = np.array([getattr(p, name) for name in UNITS])

    def measures_of_trial(trial: int) -> dict[tuple[str, str], float]:
        estimate = identify(measured_run, p, p.seed + trial if trial else None)
        deviation = estimate["value"].values - truth
        measures = {("found", name): float(value) for name, value in zip(UNITS, estimate["value"].values, strict=True)}
        measures |= {
            ("deviation", name): float(value) for name, value in zip(UNITS, estimate["deviation"].values, strict=True)
        }
        distance = float(deviation @ np.linalg.solve(estimate["covariance"].values, deviation))
        measures |= {("fit", "distance"): distance, ("fit", "bound"): estimate.attrs["ellipse"]}
        return measures | {
            ("fit", "rest"): estimate.attrs["noise"] * p.noise,
            ("fit", "evaluations"): estimate.attrs["evaluations"],
        }

    trials = "trial", list(range(p.trials + 1))
    return collect_runs(measures_of_trial, _measures(), trials, of=parameters, record=record, progress=progress)


def coverage(result: xarray.DataTree) -> float:
    """Fraction of records with noise whose ellipse of 95 % contains the true parameters."""
    fit = result["fit"].dataset
    return float((fit["distance"].values[1:] <= fit["bound"].values[1:]).mean())


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the parameters without noise, and of the coverage of the ellipses with noise."""
    p = parameters
    exact = result["found"].dataset.isel(trial=0)
    checks = [
        Check(f"{name} without noise", float(exact[name]), getattr(p, name), NEAR, unit) for name, unit in UNITS.items()
    ]
    return [
        *checks,
        Check("share of ellipses that hold the truth", coverage(result), fewest(p.trials), 0.0, "1", "at least"),
    ]


def fewest(trials: int) -> float:
    """Coverage that is exceeded with a probability of 99.9 % if the true coverage is 95 %."""
    from scipy.stats import binom

    return float(binom.ppf(1e-3, trials, 0.95)) / trials


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Parameters identified from the first record with noise, their standard deviations, and the coverage."""
    scalars_by_name: dict[str, aq.Scalar] = {}
    for name, unit in UNITS.items():
        value, deviation = (float(result[group].dataset[name][1]) for group in ("found", "deviation"))
        scalars_by_name[f"found_{name}"] = aq.Scalar(value, unit, f"{name} found from a record with noise")
        scalars_by_name[f"deviation_{name}"] = aq.Scalar(deviation, unit, f"standard deviation of {name}")
    scalars_by_name["coverage"] = aq.Scalar(coverage(result), "1", "share of ellipses of 95 % that hold the truth")
    return scalars_by_name


def figures(result: xarray.DataTree, parameters: Parameters) -> "dict[str, Figure]":
    """Estimates of all records with noise, with intervals of 95 %, relative to the true parameters."""
    from arlequin.plots import style

    values, deviations = result["found"].dataset, result["deviation"].dataset
    number = np.arange(1, values.sizes["trial"])
    with style.panels(3, 5.4, sharex=True) as (figure, panels):
        for panel, name in zip(panels, UNITS, strict=True):
            truth = getattr(parameters, name)
            middle, half_width = (100.0 * group[name].values[1:] / truth for group in (values, deviations))
            panel.errorbar(number, middle - 100.0, yerr=1.96 * half_width, fmt="o", capsize=3, color=style.COLOURS[0])
            panel.axhline(0.0, linestyle="--", linewidth=0.8, color=style.REFERENCE)
            panel.set_ylabel(f"{name.capitalize()} (%)")
        panels[0].set_title("Estimate − truth, over the truth", loc="left")
        panels[-1].set_xlabel("Record")
        panels[-1].set_xticks(number[:: max(1, number.size // 10)])
    return {"estimates": figure}
