"""The rod of `fuel_rod`: its beam, its supports and what shakes it."""

from dataclasses import replace
from itertools import pairwise
from math import pi, sin
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

import arlequin as aq
from cases.rod_supports import Grid, Support, insertion, points

if TYPE_CHECKING:
    from cases.fuel_rod import Parameters


def grids(parameters: "Parameters") -> list[Grid]:
    """The grids from below."""
    p = parameters
    layer = (p.asperity_stiffness, p.asperity_exponent, p.asperity_height) if p.law == "multilevel" else None
    spring, dimple = (Support(k, p.shock_damping, layer) for k in (p.spring_stiffness, p.dimple_stiffness))
    found = []
    for number, z in enumerate(p.heights.tolist(), 1):
        shift = p.misalignment if number == 2 else 0.0
        gap = p.gap if number in p.open else 0.0
        preload = (1.0 - p.relaxation) * p.preload
        found.append(Grid(number, z, p.radius, p.dimple_height, spring, dimple, preload, gap, shift))
    return found


def part(parameters: "Parameters") -> aq.Modal:
    """The rod in its modes and in the static shapes of its supports."""
    rod = beam(parameters)
    return aq.Modal(rod, parameters.modes, static=[rod.boundary(name) for name in sections(parameters)])


def beam(parameters: "Parameters", name: str = "rod", nodes: list[float] | None = None, **options: Any) -> aq.Beam:
    """The rod by finite elements; held along z and about it at its lower end.

    nodes: heights, m, those of `stations` by default; options: of `aq.Beam`, instead of the rod's own.
    """
    p = parameters
    section = aq.Section.tube(p.radius, p.radius - p.thickness, p.poisson)
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    own = {
        "carried_mass": p.carried,
        "added_mass": p.water,
        "fluid_damping": p.fluid_damping,
        "tension": p.tension,
        "points": {**points(grids(p)), **sections(p)},
        "imposed": {"left": {"z": 0.0, "rz": 0.0}},
        **loads(p),
    }
    return aq.Beam(
        name, aq.mesh.line(nodes or stations(p)), material, section, origin=(0.0, 0.0, 0.0), direction=(0.0, 0.0, 1.0),
        up=(0.0, 1.0, 0.0), **{**own, **options},
    )  # fmt: skip


def stations(parameters: "Parameters") -> list[float]:
    """Heights of the beam's nodes, m: one at each support, between them cells of like length."""
    p = parameters
    corners = np.unique(np.round([0.0, *support_heights(p), p.length], 12))
    size = (p.heights[1] - p.heights[0]) / p.cells
    spans = [np.linspace(a, b, 1 + max(1, round((b - a) / size))) for a, b in pairwise(corners)]
    return [0.0, *np.concatenate([span[1:] for span in spans]).tolist()]


def sections(parameters: "Parameters") -> dict[str, aq.SectionPoints]:
    """The axis at each support."""
    return {f"section{n}": aq.SectionPoints(z) for n, z in enumerate(support_heights(parameters), 1)}


def support_heights(parameters: "Parameters") -> list[float]:
    """Heights of all springs and dimples, m."""
    p = parameters
    return sorted({z + shift for z in p.heights.tolist() for shift in (-p.dimple_height, 0.0, p.dimple_height)})


def loads(parameters: "Parameters") -> dict[str, Any]:
    """What acts along the rod."""
    p = parameters
    if p.excitation == "turbulence" and p.amplitude:
        slope = aq.PlateauSpectrum(1.0, p.cutoff).slope
        level = p.amplitude**2 / (p.cutoff * slope / (slope - 1.0))
        flow = aq.Turbulence(
            aq.PlateauSpectrum(level, p.cutoff), highest=p.highest, correlation=p.correlation,
            duration=max(p.duration, 1.0 / p.highest), seed=p.seed,
        )  # fmt: skip
        return {"turbulence": flow}
    if p.excitation == "harmonic":

        def wave(x: np.ndarray, t: float) -> tuple[float, float, float]:
            return p.amplitude * sin(2.0 * pi * p.frequency * t), 0.0, 0.0

        return {"distributed": wave}
    return {}


def shaking(parameters: "Parameters") -> Any:
    """Gravity felt in the frame of the grids (t → axis), m/s²; the weight is left out, as the lower end bears it."""
    p = parameters
    if p.excitation != "support":
        return None
    return lambda t: (-p.amplitude * sin(2.0 * pi * p.frequency * t), 0.0, 0.0)


def settled(parameters: "Parameters") -> xarray.DataTree:
    """The rod in its grids after the supports have moved in, without friction, at rest."""
    p = parameters
    return insertion(part(replace(p, excitation="none")), grids(p)).run()


def nodal(group: xarray.Dataset) -> np.ndarray:
    """The last displacements, and rotations of a beam, (node, component)."""
    last = group.isel(frame=-1)
    fields = [last[name].values for name in ("displacement", "rotation") if name in last]
    return np.concatenate(fields, axis=1)
