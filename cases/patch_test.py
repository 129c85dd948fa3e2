"""Contact patch test: two blocks with non-matching meshes under uniform pressure.

The patch test of Taylor and Papadopoulos (1991). The blocks are of one material, free to swell, and the contact has
no friction: the stress is uniform, whatever the meshes, and a displacement linear in space holds it.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any, Literal, get_args

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.figures import patch_errors, patch_survey
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.meshes import stacked
from arlequin.cases.shared.vocabulary import Poisson, Young
from arlequin.models.checks import positive, positive_integer, within
from arlequin.models.types import Array

Multiplier = Literal["default", "P1", "P0", "P2", "nodes", "gauss"]
Slave = Literal["upper", "lower"]
MULTIPLIERS: tuple[Multiplier, ...] = get_args(Multiplier)
SLAVES: tuple[Slave, ...] = get_args(Slave)


@dataclass(frozen=True)
class Parameters:
    """Two blocks of 1 × 0.5 m (3D: 1 m deep) of 7 and 4 cells along, compressed by 1 %; plane strain in 2D."""

    cells: Annotated[Literal["quad", "tri", "hex", "tet"], Quantity("", "cell type; hex and tet: 3D")] = "quad"
    order: Annotated[int, Quantity("", "order of the elements", within, 1, 2)] = 1
    multiplier: Annotated[Multiplier, Quantity("", "discretisation of the contact pressure")] = "default"
    stabilised: Annotated[bool, Quantity("", "stabilised form for multipliers that violate the inf-sup condition")] = (
        False
    )
    slave: Annotated[Slave, Quantity("", "body whose surface carries the multipliers")] = "upper"
    lower_cells: Annotated[int, Quantity("", "cells along the lower block", positive_integer)] = 7
    upper_cells: Annotated[int, Quantity("", "cells along the upper block", positive_integer)] = 4
    young: Young = 2.0e11
    poisson: Poisson = 0.3
    width: Annotated[float, Quantity("m", "width, in 3D also depth", positive)] = 1.0
    height: Annotated[float, Quantity("m", "total height of both blocks", positive)] = 1.0
    compression: Annotated[float, Quantity("m", "imposed displacement of the top", positive)] = 0.01

    @property
    def solid(self) -> bool:
        """Whether in 3D."""
        return self.cells in ("hex", "tet")


def build(parameters: Parameters) -> aq.Study:
    """Statics in one step: time runs from 0 to 1 and scales the displacement."""
    return aq.Study(system(parameters), aq.Static(), duration=1.0, step=1.0)


def system(parameters: Parameters) -> aq.System:
    """The lower block on a smooth plane, the upper one pressed down; the planes x = 0 (and z = 0) are of symmetry."""
    p = parameters
    half = 0.5 * p.height
    lower_count, upper_count = ((n, max(1, round(n * half / p.width))) for n in (p.lower_cells, p.upper_cells))
    depth = p.width if p.solid else None
    meshes = stacked(p.width, (half, half), (lower_count, upper_count), thickness=depth, kind=p.cells)
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=1.0)  # statics: the density has no part in it
    symmetry: dict[str, Any] = {"left": {"x": 0.0}, **({"back": {"z": 0.0}} if p.solid else {})}
    options: dict[str, Any] = {"order": int(p.order), "plane": None if p.solid else "strain"}
    lower = aq.Solid("lower", meshes[0], material, imposed={**symmetry, "bottom": {"y": 0.0}}, **options)
    pressed = {**symmetry, "top": {"y": lambda t: -p.compression * t}}
    upper = aq.Solid("upper", meshes[1], material, imposed=pressed, **options)
    sides = (upper.boundary("bottom"), lower.boundary("top"))
    slave, master = sides if p.slave == "upper" else sides[::-1]
    contact = aq.Interface(
        "contact",
        slave,
        master,
        aq.Unilateral(level="gap"),
        multiplier=None if p.multiplier == "default" else p.multiplier,
    )
    return aq.System([lower, upper], interfaces=[contact], contact=aq.ContactMethod(stabilised=p.stabilised))


def reference(parameters: Parameters) -> float:
    """The pressure, Pa: E d/H in 3D, E d/((1 − ν²) H) in plane strain; all else but σ_zz = −ν p there vanishes."""
    p = parameters
    return p.young / (1.0 if p.solid else 1.0 - p.poisson**2) * p.compression / p.height


def stress_errors(result: xarray.DataTree, parameters: Parameters) -> dict[str, Array]:
    """Largest error of a stress component in each cell (c,), over the pressure, by part."""
    p, pressure = parameters, reference(parameters)
    out = {}
    for part in system(p).parts:
        assert isinstance(part, aq.Solid)
        u = result[f"part/{part.name}"].dataset["displacement"].values[-1].ravel()
        exact = np.zeros(len(part.stress_components))
        exact[1] = -pressure
        exact[2] = 0.0 if p.solid else -p.poisson * pressure
        out[part.name] = np.abs(part.stress(u) - exact).max(axis=(1, 2)) / pressure
    return out


def worst_error(result: xarray.DataTree, parameters: Parameters) -> float:
    """Largest error of a stress component anywhere, over the pressure."""
    return float(max(errors.max() for errors in stress_errors(result, parameters).values()))


def trial(parameters: Parameters) -> float | None:
    """The worst error of a run; None where it is refused: the multipliers are not, or hardly, determined."""
    try:
        return worst_error(build(parameters).run(), parameters)
    except aq.UserError as refusal:
        if refusal.code != 1:  # wrong usage
            raise
        return None


def survey(parameters: Parameters) -> dict[tuple[Multiplier, Slave], tuple[float | None, float | None]]:
    """Worst errors of the plain and of the stabilised form: multiplier × slave, P2 with quadratic cells only.

    Six-node triangles have no P2, as their corner functions have no area.
    """
    p = parameters
    left_out = {"P2"} if p.order == 1 or p.cells == "tet" else set()
    found = {}
    for name, slave in product([name for name in MULTIPLIERS[1:] if name not in left_out], SLAVES):
        own = replace(p, multiplier=name, slave=slave, stabilised=False)
        found[name, slave] = trial(own), trial(replace(own, stabilised=True))
    return found


def mean_pressure(result: xarray.DataTree, parameters: Parameters) -> float:
    """Contact force over the area, Pa."""
    area = parameters.width * (parameters.width if parameters.solid else 1.0)
    return abs(float(result["interface/contact"].dataset["force"].sel(component="y")[-1])) / area


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Exact stress: what the collocated multipliers (nodes, gauss) do not give."""
    p, pressure = parameters, reference(parameters)
    force = mean_pressure(result, p)
    return [
        Check("stress, worst error over the pressure", worst_error(result, p), 0.0, 1e-10, "1", "at most"),
        Check("contact force over the area", force, pressure, 1e-10, "Pa"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-12, "1", "absolute"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return {
        "stress_error": aq.Scalar(worst_error(result, parameters), "1", "worst error of the stress, of the pressure"),
        "final_pressure": aq.Scalar(mean_pressure(result, parameters), "Pa", "contact force over the area"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    """The worst error of each multiplier; in 2D where the error of this run is."""
    out = {"multipliers": patch_survey(survey(parameters), parameters.cells, int(parameters.order))}
    if not parameters.solid:
        out["stress"] = patch_errors(result, stress_errors(result, parameters))
    return out
