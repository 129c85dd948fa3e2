"""Gap, preload and friction of the supports of a rod, found from one record of its displacement.

A clamped tube is pressed by a spring at mid-span, with the preload N and friction μ, and has a stop behind a gap at 0.8
of its length. A force at its tip sweeps through the first frequencies, so that the rod lifts off the spring, slides
along it and knocks on the stop. The record is the displacement of a point near the tip, along the diagonal of both
planes, once in `every` steps; noise is added to it.

The parameters are found from a guess that is wrong by `off` by `arlequin.fit`, whose gradients are tangents of the run:
without noise they are those that made the record, to 1 % (check) and in fact much better; with noise the truth lies in
the ellipse of 95 %. How often it does so over many records of noise is in `coverage`.

Results: `part/rod`, `interface/spring`, `interface/stop` of the run that makes the record.

Source: Seber & Wild, Nonlinear Regression, Wiley 1989; Liu, Gordis & others on nonlinear identification by
sensitivities are compared in Kerschen et al., Mech. Syst. Signal Process. 20 (2006) 505–592.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Annotated

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.models.checks import integer, non_negative, non_negative_integer, positive, positive_integer, within
from arlequin.models.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("gap", "preload", "friction")
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
    signs = dict(zip(NAMES, (1.0, -1.0, 1.0), strict=True))
    return {name: getattr(parameters, name) * (1.0 + sign * parameters.off) for name, sign in signs.items()}


def found(result: xarray.DataTree, parameters: Parameters, seed: int | None = None) -> xarray.Dataset:
    """What `arlequin.fit` finds from the record, with the noise of a seed, or without any."""
    p, record = parameters, seen(result)
    if seed is not None:
        record = record + p.noise * np.random.default_rng(seed).standard_normal(record.size)
    bounds = {name: (0.3 * value, 3.0 * value) for name, value in guess(p).items()}
    return aq.fit(identified(p), {"record": (seen, record)}, guess(p), bounds=bounds, deviation=p.noise, progress=False)


def coverage(result: xarray.DataTree, parameters: Parameters, trials: int) -> float:
    """Share of the trials, each with its own noise, whose ellipse of 95 % holds the truth."""
    truth = {name: getattr(parameters, name) for name in NAMES}
    inside = partial(_inside, truth)
    return float(np.mean([inside(found(result, parameters, parameters.seed + 1 + n)) for n in range(trials)]))


def _inside(truth: dict[str, float], own: xarray.Dataset) -> bool:
    from arlequin.sensitivity.fit import in_ellipse

    return in_ellipse(own, truth)


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Without noise the truth; with noise an ellipse that holds it."""
    p = parameters
    exact, noisy = found(result, p), found(result, p, p.seed)
    units = {"gap": "m", "preload": "N", "friction": "1"}
    checks = [
        Check(f"{name} without noise", float(value), getattr(p, name), NEAR, units[name])
        for name, value in zip(NAMES, exact["value"].values, strict=True)
    ]
    apart = noisy["value"].values - np.array([getattr(p, name) for name in NAMES])
    distance = float(apart @ np.linalg.solve(noisy["covariance"].values, apart))
    bound = float(noisy.attrs["ellipse"])
    return [*checks, Check("distance of the truth by the covariance", distance, bound, 0.0, "1", "at most")]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """The parameters found with noise, and their standard deviations."""
    p, units = parameters, {"gap": "m", "preload": "N", "friction": "1"}
    own = found(result, p, p.seed)
    out: dict[str, aq.Scalar] = {}
    for name, value, deviation in zip(NAMES, own["value"].values, own["deviation"].values, strict=True):
        out[f"found_{name}"] = aq.Scalar(float(value), units[name], f"{name} found from the record with noise")
        out[f"deviation_{name}"] = aq.Scalar(float(deviation), units[name], f"standard deviation of {name}")
    return out


def figures(result: xarray.DataTree, parameters: Parameters) -> "dict[str, Figure]":
    """The record with its fit, and the estimates with their intervals relative to the truth."""
    from arlequin.plots import style

    p = parameters
    own = found(result, p, p.seed)
    record = seen(result)
    noisy = record + p.noise * np.random.default_rng(p.seed).standard_normal(record.size)
    best = {name: float(value) for name, value in zip(NAMES, own["value"].values, strict=True)}
    fitted = seen(identified(p)(**best).run(progress=False))
    time = 1e3 * np.asarray(result["part/rod"].dataset["frame_time"].values)[1:]
    factor, unit = style.prefix(noisy, "m")
    with style.panels(2, 4.6, ratios=(2.0, 1.0), sharex=True) as (first, (above, below)):
        above.plot(time, factor * noisy, ".", markersize=2.5, color=style.COLOURS[1], label="record")
        above.plot(time, factor * fitted, linewidth=0.9, color=style.COLOURS[0], label="fit")
        above.set_ylabel(style.label("Displacement", unit))
        above.set_title("Record near the tip and its fit", loc="left")
        above.legend()
        rest, small = style.prefix(noisy - fitted, "m")
        below.plot(time, rest * (noisy - fitted), linewidth=0.6, color=style.REFERENCE)
        below.set_ylabel(style.label("Rest", small))
        below.set_xlabel("Time (ms)")
    with style.panels(1, 2.6) as (second, (panel,)):
        truth = np.array([getattr(p, name) for name in NAMES])
        middle = 100.0 * (own["value"].values / truth - 1.0)
        reach = 100.0 * (own["high"].values - own["low"].values) / (2.0 * truth)
        panel.errorbar(middle, np.arange(3), xerr=reach, fmt="o", capsize=4, color=style.COLOURS[0])
        panel.axvline(0.0, linestyle="--", linewidth=0.8, color=style.REFERENCE)
        panel.set_yticks(np.arange(3), NAMES)
        panel.set_ylim(-0.6, 2.6)
        panel.set_xlabel("Estimate with interval of 95 % − truth (%)")
    return {"record": first, "estimates": second}
