"""Resonance of a shaken fuel rod with a gap at one grid: hardening response, and jumps up and down.

A rod in four grids, three of them linear springs; at the second one it has a gap on both sides, and beyond it an
impact element (`ImpactElement`). The frame is shaken by a harmonic acceleration; the rod is reduced to its modes. The
branch of periodic motions over the frequency (`aq.periodic`) hardens by contact with the grid, with two folds; between
the folds two motions are stable. Transients with slowly rising and falling frequency follow one of them each, and jump
to the other at the folds: the last contact for a rising and the first for a falling frequency.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.models.checks import non_negative, positive, positive_integer
from arlequin.results.recorder import Record
from arlequin.run.multi_run import Measure, collect_runs
from arlequin.run.run import Progress

GRIDS, LOOSE = 4, 1  # number of grids, index of the one with a gap
MARGIN = 0.1  # m, from an end of the rod to its first grid
SWEEPS = ("falling", "rising")
MEASURES = (
    Measure("branch", "frequency", "Hz", "frequency"),
    Measure("branch", "amplitude", "m", "amplitude at the loose grid"),
    Measure("branch", "stable", "1", "1 where the motion is stable"),
    Measure("branch", "fold", "1", "1 at a fold"),
    Measure("jumps", "falling", "Hz", "jump of the transient of falling frequency"),
    Measure("jumps", "rising", "Hz", "jump of the transient of rising frequency"),
)


@dataclass(frozen=True)
class Parameters:
    """Default: first natural frequency 9.5 Hz with the gap open, shaken by 0.15 m/s²; gap of 0.5 mm on each side."""

    pitch: Annotated[float, Quantity("m", "distance of the grids", positive)] = 0.52
    outer_diameter: Annotated[float, Quantity("m", "outer diameter of the cladding", positive)] = 9.5e-3
    thickness: Annotated[float, Quantity("m", "wall thickness of the cladding", positive)] = 0.57e-3
    pellets: Annotated[float, Quantity("kg/m", "mass of the pellets per length", non_negative)] = 0.5
    grid_stiffness: Annotated[float, Quantity("N/m", "stiffness of a grid with springs", positive)] = 2e5
    gap: Annotated[float, Quantity("m", "gap on each side at the loose grid", positive)] = 5e-4
    stop_stiffness: Annotated[float, Quantity("N/m", "stiffness of the loose grid in contact", positive)] = 2e3
    stop_damping: Annotated[float, Quantity("N s/m", "damping of the loose grid in contact", non_negative)] = 5.0
    damping: Annotated[float, Quantity("", "damping ratio of the modes", positive)] = 0.02
    acceleration: Annotated[float, Quantity("m/s^2", "amplitude of the acceleration", positive)] = 0.15
    lowest: Annotated[float, Quantity("Hz", "lowest frequency", positive)] = 8.6
    highest: Annotated[float, Quantity("Hz", "highest frequency", positive)] = 11.5
    rate: Annotated[float, Quantity("Hz/s", "rate of the frequency of the transients", positive)] = 0.02
    modes: Annotated[int, Quantity("", "modes of the rod, beside the shapes of the grids", positive_integer)] = 10
    cells: Annotated[int, Quantity("", "beam elements between two grids", positive_integer)] = 6
    steps: Annotated[int, Quantity("", "time steps of a period of the branch", positive_integer)] = 300
    points: Annotated[int, Quantity("", "motions over the frequencies, at least", positive_integer)] = 25


def system(parameters: Parameters, acceleration: Any) -> aq.System:
    """Rod in the frame shaken by a transverse acceleration (t), m/s²."""
    p = parameters
    heights = [MARGIN + p.pitch * i for i in range(GRIDS)]
    edges = [0.0, *heights, heights[-1] + MARGIN]
    nodes = np.concatenate([np.linspace(a, b, p.cells, endpoint=False) for a, b in pairwise(edges)])
    names = {f"grid{i + 1}": aq.SectionPoints(height) for i, height in enumerate(heights)}
    cladding = aq.LinearElastic(young=9.9e10, poisson=0.37, density=6550.0)
    radius = 0.5 * p.outer_diameter
    tube = aq.Section.tube(radius, radius - p.thickness, 0.37)
    beam = aq.Beam(
        "rod", aq.mesh.line([*nodes.tolist(), edges[-1]]), cladding, tube, dimension=2, carried_mass=p.pellets,
        points=names, imposed={"left": {"x": 0.0}},
    )  # fmt: skip
    rod = aq.Modal(beam, p.modes, static=[beam.boundary(name) for name in names], damping=p.damping)
    spring_grids = [name for i, name in enumerate(names) if i != LOOSE]
    springs = [
        aq.Spring(name, rod.boundary(name), stiffness=p.grid_stiffness, direction=(0.0, 1.0)) for name in spring_grids
    ]
    law, loose = aq.ImpactElement(p.stop_stiffness, p.stop_damping), list(names)[LOOSE]
    interfaces = [
        aq.Interface(
            side, rod.boundary(loose), aq.RigidPlane(point=(heights[LOOSE], sign * p.gap), normal=(0.0, -sign)), law
        )
        for side, sign in (("above", 1.0), ("below", -1.0))
    ]
    return aq.System([rod], interfaces=interfaces, springs=springs, gravity=lambda t: (0.0, -acceleration(t)))


@lru_cache(maxsize=2)
def branch(parameters: Parameters) -> xarray.Dataset:
    """Branch of periodic motions, from the highest frequency down."""
    p = parameters
    if not p.lowest < p.highest:
        raise aq.UserError.parameter("lowest", p.lowest, f"must be below the highest frequency, {p.highest:g} Hz")
    period = 1.0 / p.highest
    shaken = system(p, lambda t: p.acceleration * np.cos(2.0 * np.pi * t / period))
    return aq.periodic(
        shaken, aq.Theta(0.5), period=period, frequency=(p.highest, p.lowest), steps=p.steps, points=p.points,
        progress=False,
    )  # fmt: skip


def jump(parameters: Parameters, sweep: str) -> float:
    """Frequency of the first or last contact with the loose grid in a transient of slowly changing frequency, Hz."""
    p, rises = parameters, sweep == "rising"
    start_frequency, end_frequency = (p.lowest, p.highest) if rises else (p.highest, p.lowest)
    rate = p.rate if rises else -p.rate
    duration = (end_frequency - start_frequency) / rate
    shaken = system(p, lambda t: p.acceleration * np.cos(2.0 * np.pi * (start_frequency * t + 0.5 * rate * t**2)))
    step = 1.0 / (200.0 * p.highest)
    result = aq.simulate(
        shaken, aq.Theta(0.5), duration=duration, step=step, fields_every=10**9, progress=False
    )  # fmt: skip
    time = result.dataset["time"].values
    in_contact = (
        np.minimum(*(result[f"interface/{side}"].dataset["gap_min"].values for side in ("above", "below"))) < 0.0
    )
    if not rises:
        # without the initial transient from rest
        in_contact &= time > 20.0 / p.highest
    at = time[in_contact]
    if not at.size:
        return float("nan")
    return float(start_frequency + rate * (at[-1] if rises else at[0]))


def run(parameters: Parameters, record: Record, progress: Progress | None) -> xarray.DataTree:
    """Motions of the branch over `point`, and the jumps of both transients."""
    p, motions = parameters, branch(parameters)
    jumps = {sweep: jump(p, sweep) for sweep in SWEEPS}
    amplitudes = 0.5 * np.ptp(motions["gap"].values[:, :, 0], axis=1)

    def measures_of_point(i: int) -> dict[tuple[str, str], float]:
        kind = str(motions["bifurcation"].values[i])
        motion = [
            float(motions["frequency"][i]),
            float(amplitudes[i]),
            float(motions["stable"][i]),
            float(kind == "fold"),
        ]
        values = [*motion, jumps["falling"], jumps["rising"]]
        return {measure.key: value for measure, value in zip(MEASURES, values, strict=True)}

    points = "point", list(range(motions.sizes["point"]))
    return collect_runs(measures_of_point, MEASURES, points, of=parameters, record=record, progress=progress)


def folds(result: xarray.DataTree) -> tuple[float, float]:
    """Frequencies of the lower and the upper fold, Hz; nan without folds."""
    motions = result["branch"].dataset
    at = motions["frequency"].values[motions["fold"].values > 0.5]
    return (float(at.min()), float(at.max())) if at.size >= 2 else (float("nan"), float("nan"))


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the folds by the jumps of the transients, which are delayed by about √(rate)."""
    p, motions = parameters, result["branch"].dataset
    low, high = folds(result)
    checks = []
    if np.isfinite(low):
        tolerance = max(0.01, 0.01 * np.sqrt(p.rate / 0.02))
        falling, rising = (float(result["jumps"].dataset[sweep][0]) for sweep in SWEEPS)
        checks = [
            Check("lower fold and jump at falling frequency", low, falling, tolerance, "Hz"),
            Check("upper fold and jump at rising frequency", high, rising, tolerance, "Hz"),
        ]
    ends = float(motions["frequency"][0]), float(motions["frequency"][-1])
    checks.append(Check("highest frequency of the branch", ends[0], p.highest, 1e-12, "Hz"))
    checks.append(Check("lowest frequency of the branch", ends[1], p.lowest, 1e-9, "Hz"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Folds and largest amplitude."""
    low, high = folds(result)
    largest = float(result["branch"]["amplitude"].max())
    return {
        "lower_fold": aq.Scalar(low, "Hz", "lower fold of the response"),
        "upper_fold": aq.Scalar(high, "Hz", "upper fold of the response"),
        "largest_amplitude": aq.Scalar(largest, "m", "largest amplitude at the loose grid"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    motions = result["branch"].to_dataset()
    kinds = np.where(motions["fold"].values > 0.5, "fold", "")
    motions = motions.assign(
        amplitude_rod=(("point", "node", "component"), motions["amplitude"].values[:, None, None]),
        bifurcation=("point", kinds),
    )
    figure = plots.frequency_response(motions)
    axes = figure.axes[0]
    for sweep, dash in zip(SWEEPS, (":", "-."), strict=True):
        jump_frequency = float(result["jumps"].dataset[sweep][0])
        axes.axvline(jump_frequency, color="black", linestyle=dash, linewidth=1.0, label=f"jump, {sweep} frequency")
    axes.set_title("Loose grid", loc="left")
    axes.legend()
    return {"response": figure}
