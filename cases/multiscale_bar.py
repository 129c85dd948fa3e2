"""A coarse and a fine solid, glued, fly into a rigid plane under the multi-level law; compared with all fine.

A plane bar (plane stress, ν = 0) hits a wall at its right end. The last fifth is a fine mesh, read from a Gmsh
file; the rest is coarse, and both are glued by an Arlequin junction over the last cells of the coarse part.
Compared with the all-fine model and, since ν = 0 makes the bar uniaxial, with the delay equation of the 1D bar.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from cases.choices import SchemeName, laws_of, reference_law, scheme_of
from cases.comparison import Check
from cases.impact import energy_checks, mean_pressures
from cases.parameters import Quantity
from cases.reference.bars import collide
from cases.reference.interface import touch
from cases.reference.rods import Rod
from models.checks import non_negative, positive, positive_integer, within

MESH = Path(__file__).parent / "meshes" / "bar_tip.msh"


@dataclass(frozen=True)
class Parameters:
    """The thesis's steel bar (0.1 × 0.005 m) at 100 m/s with asperities of 0.5 mm."""

    model: Annotated[Literal["arlequin", "fine"], Quantity("", "glued coarse and fine parts, or fine everywhere")] = (
        "arlequin"
    )
    mesh: Annotated[str, Quantity("", "Gmsh file of the fine tip, with the group 'right' at the contact")] = str(MESH)
    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 0.1
    coarse_size: Annotated[float, Quantity("m", "cells of the coarse part", positive)] = 1.25e-3
    overlap: Annotated[float, Quantity("m", "length of the gluing zone", positive)] = 5e-3
    young: Annotated[float, Quantity("Pa", "Young's modulus", positive)] = 2.0e11
    poisson: Annotated[float, Quantity("", "Poisson's ratio", within, 0.0, 0.499)] = 0.0
    density: Annotated[float, Quantity("kg/m3", "density", positive)] = 7800.0
    velocity: Annotated[float, Quantity("m/s", "velocity towards the wall", positive)] = 100.0
    gap: Annotated[float, Quantity("m", "distance at which the substrates touch", non_negative)] = 5e-4
    law: Annotated[Literal["unilateral-velocity", "asperities", "multilevel"], Quantity("", "interface law")] = (
        "multilevel"
    )
    asperity_stiffness: Annotated[float, Quantity("Pa/m^m", "κ of p = κ⟨a − g⟩^m", positive)] = 1e12
    asperity_exponent: Annotated[float, Quantity("", "m", within, 1.0, 100.0)] = 1.0
    asperity_height: Annotated[float, Quantity("m", "a", non_negative)] = 5e-4
    asperity_damping: Annotated[float, Quantity("Pa s/m^(1+m')", "c of c⟨a − g⟩^m' ⟨−ġ⟩", non_negative)] = 0.0
    asperity_damping_exponent: Annotated[float, Quantity("", "m'", non_negative)] = 0.0
    scheme: Annotated[SchemeName, Quantity("", "time scheme")] = "theta"
    theta: Annotated[float, Quantity("", "θ of the θ-scheme", within, 0.5, 1.0)] = 0.5
    courant: Annotated[float, Quantity("", "c Δt/h of the fine cells", positive)] = 1.0
    duration: Annotated[float, Quantity("s", "end of the run", positive)] = 6e-5
    fields_every: Annotated[int, Quantity("", "steps between two recorded fields", positive_integer)] = 20


@dataclass(frozen=True)
class Tip:
    """The fine mesh of the tip and what is read off it: extents (m) and cells along and across."""

    mesh: Any
    x: tuple[float, float]
    y: tuple[float, float]
    cells: tuple[int, int]

    @property
    def size(self) -> float:
        """Length of a cell, m."""
        return (self.x[1] - self.x[0]) / self.cells[0]


@lru_cache(maxsize=4)
def read_tip(path: str) -> Tip:
    """Reads the tip; its boundary "right" is where it touches the wall."""
    mesh = aq.mesh.read(path, boundaries=("right",))
    (x0, y0), (x1, y1) = mesh.p.min(axis=1), mesh.p.max(axis=1)
    along, across = (int(np.unique(np.round(row, 12)).size) - 1 for row in mesh.p)
    return Tip(mesh, (float(x0), float(x1)), (float(y0), float(y1)), (along, across))


def wave_speed(parameters: Parameters) -> float:
    return float(np.sqrt(parameters.young / parameters.density))


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    tip = read_tip(p.mesh)
    if not tip.x[0] < p.length or abs(tip.x[1] - p.length) > 1e-9 * p.length:
        raise aq.UserError.parameter(
            "length", p.length, f"the mesh of the tip ends at x = {tip.x[1]:g} m: it must end there"
        )
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    if p.model == "fine":
        along = max(1, round(p.length / tip.size))
        whole = aq.mesh.rectangle((0.0, p.length), tip.y, cells=(along, tip.cells[1]))
        parts = [aq.Solid("fine", whole, material, plane="stress")]
        junctions = []
    else:
        inner = tip.x[0] + p.overlap
        if inner >= p.length:
            raise aq.UserError.parameter(
                "overlap", p.overlap, f"must be less than the tip's length of {p.length - tip.x[0]:g} m"
            )
        cells = (max(1, round(inner / p.coarse_size)), max(1, round((tip.y[1] - tip.y[0]) / p.coarse_size)))
        coarse = aq.Solid("coarse", aq.mesh.rectangle((0.0, inner), tip.y, cells=cells), material, plane="stress")
        fine = aq.Solid("fine", tip.mesh, material, plane="stress")
        parts, junctions = [coarse, fine], [aq.Junction(coarse, fine)]
    end = parts[-1].boundary("right")
    wall = aq.RigidPlane(point=(p.length + p.gap, 0.0), normal=(-1.0, 0.0))
    system = aq.System(parts, junctions, [aq.Interface("contact", end, wall, laws_of(p))], velocity=(p.velocity, 0.0))
    step = p.courant * tip.size / wave_speed(p)
    return aq.Study(system, scheme_of(p.scheme, p.theta), p.duration, step, p.fields_every)


def reference(parameters: Parameters) -> Any:
    """The delay equation of the 1D bar (the exact solution where ν = 0)."""
    p = parameters
    rod = Rod(p.length, p.young, p.density, p.velocity)
    end = 1.05 * p.duration + 2.0 * p.courant * read_tip(p.mesh).size / wave_speed(p)
    if p.law == "unilateral-velocity":
        return collide(rod, None, p.gap, end)
    return touch(rod, None, reference_law(p), p.gap, end)


@lru_cache(maxsize=2)
def all_fine(parameters: Parameters) -> xarray.DataTree:
    """The all-fine model under the same parameters."""
    return build(replace(parameters, model="fine")).run()


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """The impulse: the waves of the crushing jump that the coarse cells cannot carry stay in the tip as a ripple."""
    p = parameters
    edges, pressure = mean_pressures(result)
    impulse = float(np.sum(np.diff(edges) * pressure))
    checks = []
    if p.model == "arlequin":
        fine_edges, fine_pressure = mean_pressures(all_fine(p))
        fine_impulse = float(np.sum(np.diff(fine_edges) * fine_pressure))
        checks.append(Check("contact impulse against the all-fine model", impulse, fine_impulse, 0.01, "Pa s"))
    if p.poisson == 0.0:
        exact = reference(p)
        checks.append(
            Check("contact impulse against the delay equation", impulse, float(exact.impulse(edges[-1])), 0.01, "Pa s")
        )
    return checks + energy_checks(result)


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from cases.figures import multiscale_figures

    fine = all_fine(parameters) if parameters.model == "arlequin" else None
    return multiscale_figures(result, reference(parameters) if parameters.poisson == 0.0 else None, fine)
