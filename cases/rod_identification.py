"""Gap, preload and friction of the supports of a rod, found from one record of its displacement.

A clamped tube is pressed by a spring at mid-span, with the preload N and friction μ, and has a stop behind a gap at 0.8
of its length. A force at its tip sweeps through the first frequencies, so that the rod lifts off the spring, slides
along it and knocks on the stop. The record is the displacement of a point near the tip, along the diagonal of both
planes, once in `every` steps; noise is added to it.

The parameters are found from a guess that is wrong by `off` by `arlequin.fit`, whose gradients are tangents of the run:
without noise they are those that made the record, to 1 % (check) and in fact much better; with noise the truth lies in
the ellipse of 95 %, for 95 of 100 records.

Results over `trial`, 0 without noise: `found`, `deviation` (gap, preload, friction), `fit` (distance of the truth by
the covariance, bound of the ellipse, rest, evaluations).

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

UNITS = {"gap": "m", "preload": "N", "friction": "1"}  # of what is sought
NEAR = 0.01  # of each parameter, without noise
_STOP, _SEEN = 0.8, 0.9  # of the length: places of the stop and of the record


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
    """The study as a function of the parameters that are sought; the rod is reduced once."""
    p = parameters
    zircaloy = aq.LinearElastic(young=9.9e10, poisson=0.37, density=6550.0)
    section = aq.Section.tube(p.radius, p.radius - p.thickness, zircaloy.poisson)
    clamped = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)}
    places = {"spring": 0.5 * p.length, "stop": _STOP * p.length}

    def sweep(t: float) -> tuple[float, float, float]:
        turned = 2.0 * np.pi * (p.lowest * t + 0.5 * (p.highest - p.lowest) * t**2 / p.duration)
        along = p.force * float(np.sin(turned))
        return along, 0.8 * along, 0.0

    beam = aq.Beam.between(
        "rod", (0.0, 0.0, 0.0), (0.0, 0.0, p.length), 20, zircaloy, section, imposed=clamped,
        damping=aq.Rayleigh(10.0, 1e-6), end_loads={"right": sweep},
        points={name: aq.SectionPoints([z], [(0.0, 0.0, 0.0)]) for name, z in places.items()},
    )  # fmt: skip
    rod = aq.Modal(beam, p.modes, static=[beam.boundary(name) for name in places])
    touches = {name: rod.boundary(name) for name in places}

    def study(gap: float, preload: float, friction: float) -> aq.Study:
        laws = {
            name: aq.ImpactElement(stiffness=stiffness, damping=p.damping)
            for name, stiffness in (("spring", p.spring), ("stop", p.stop))
        }
        reach = {"spring": preload / p.spring, "stop": -gap}
        interfaces = []
        for name, skin in touches.items():
            # the support stands at −x of the rod and pushes along +x
            plane = aq.RigidPlanes(skin.positions + np.array([reach[name], 0.0, 0.0]), [[1.0, 0.0, 0.0]])
            rubs = aq.Coulomb(friction, stiffness=p.spring) if name == "spring" else None
            interfaces.append(aq.Interface(name, skin, plane, laws[name], friction=rubs))
        system = aq.System([rod], interfaces=interfaces)
        return aq.Study(system, aq.Theta(0.5), p.duration, p.step, fields_every=p.every)

    return study


def seen(result: xarray.DataTree) -> Array:
    """The record: displacement near the tip along the diagonal of both planes, m."""
    rod = result["part/rod"].dataset
    heights = rod["position"].values[:, 2]
    node = int(np.abs(heights - _SEEN * heights.max()).argmin())
    return np.asarray(rod["displacement"].values[1:, node, :2].sum(axis=1) / sqrt(2.0))


def guess(parameters: Parameters) -> dict[str, float]:
    """The first guess: alternately too large and too small."""
    signs = dict(zip(UNITS, (1.0, -1.0, 1.0), strict=True))
    return {name: getattr(parameters, name) * (1.0 + sign * parameters.off) for name, sign in signs.items()}


def found(result: xarray.DataTree, parameters: Parameters, seed: int | None = None) -> xarray.Dataset:
    """What `arlequin.fit` finds from the record, with the noise of a seed, or without any."""
    p, record = parameters, seen(result)
    if seed is not None:
        record = record + p.noise * np.random.default_rng(seed).standard_normal(record.size)
    bounds = {name: (0.3 * value, 3.0 * value) for name, value in guess(p).items()}
    return aq.fit(
        identified(p), {"record": (seen, record)}, guess(p), bounds=bounds, deviation=p.noise, starts=0, units=UNITS,
        progress=False,
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
    """What is found, over `trial`: 0 without noise, then with noise of other seeds."""
    p = parameters
    made = build(p).run(progress=False)
    truth = np.array([getattr(p, name) for name in UNITS])

    def one(trial: int) -> dict[tuple[str, str], float]:
        own = found(made, p, p.seed + trial if trial else None)
        apart = own["value"].values - truth
        out = {("found", name): float(value) for name, value in zip(UNITS, own["value"].values, strict=True)}
        out |= {("deviation", name): float(value) for name, value in zip(UNITS, own["deviation"].values, strict=True)}
        distance = float(apart @ np.linalg.solve(own["covariance"].values, apart))
        out |= {("fit", "distance"): distance, ("fit", "bound"): own.attrs["ellipse"]}
        return out | {("fit", "rest"): own.attrs["noise"] * p.noise, ("fit", "evaluations"): own.attrs["evaluations"]}

    trials = "trial", list(range(p.trials + 1))
    return collect_runs(one, _measures(), trials, of=parameters, record=record, progress=progress)


def coverage(result: xarray.DataTree) -> float:
    """Share of the records with noise whose ellipse of 95 % holds the truth."""
    fit = result["fit"].dataset
    return float((fit["distance"].values[1:] <= fit["bound"].values[1:]).mean())


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Without noise the truth; with noise ellipses that hold it as often as they should."""
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
    """Share that is exceeded with a probability of 99.9 % where it is 95 % on the whole."""
    from scipy.stats import binom

    return float(binom.ppf(1e-3, trials, 0.95)) / trials


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """The parameters found from the first record with noise, their standard deviations, and the coverage."""
    out: dict[str, aq.Scalar] = {}
    for name, unit in UNITS.items():
        value, deviation = (float(result[group].dataset[name][1]) for group in ("found", "deviation"))
        out[f"found_{name}"] = aq.Scalar(value, unit, f"{name} found from a record with noise")
        out[f"deviation_{name}"] = aq.Scalar(deviation, unit, f"standard deviation of {name}")
    out["coverage"] = aq.Scalar(coverage(result), "1", "share of ellipses of 95 % that hold the truth")
    return out


def figures(result: xarray.DataTree, parameters: Parameters) -> "dict[str, Figure]":
    """The estimates of all records with noise, with their intervals of 95 %, relative to the truth."""
    from arlequin.plots import style

    values, deviations = result["found"].dataset, result["deviation"].dataset
    number = np.arange(1, values.sizes["trial"])
    with style.panels(3, 5.4, sharex=True) as (figure, panels):
        for panel, name in zip(panels, UNITS, strict=True):
            truth = getattr(parameters, name)
            middle, reach = (100.0 * own[name].values[1:] / truth for own in (values, deviations))
            panel.errorbar(number, middle - 100.0, yerr=1.96 * reach, fmt="o", capsize=3, color=style.COLOURS[0])
            panel.axhline(0.0, linestyle="--", linewidth=0.8, color=style.REFERENCE)
            panel.set_ylabel(f"{name.capitalize()} (%)")
        panels[0].set_title("Estimate − truth, over the truth", loc="left")
        panels[-1].set_xlabel("Record")
        panels[-1].set_xticks(number[:: max(1, number.size // 10)])
    return {"estimates": figure}
