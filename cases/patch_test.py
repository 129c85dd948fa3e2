"""Contact patch test: two blocks with non-matching meshes under uniform pressure.

Patch test of Taylor and Papadopoulos (1991). Equal materials, free lateral expansion and frictionless contact: the
exact stress is uniform and the displacement linear, for any meshes.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any, Literal, get_args

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison, is_refused
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
    """Default: blocks of 1 × 0.5 m (3D: 1 m deep) with 7 and 4 cells along, compressed by 1 %; plane strain in 2D."""

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
        """Whether the model is 3D."""
        return self.cells in ("hex", "tet")


def build(parameters: Parameters) -> aq.Study:
    """Statics in one step."""
    return aq.Study(system(parameters), aq.Static(), duration=1.0, step=1.0)


def system(parameters: Parameters) -> aq.System:
    """Lower block on a frictionless plane, upper block pressed down; symmetry about x = 0 (and z = 0)."""
    p = parameters
    half = 0.5 * p.height
    lower_count, upper_count = ((n, max(1, round(n * half / p.width))) for n in (p.lower_cells, p.upper_cells))
    depth = p.width if p.solid else None
    meshes = stacked(p.width, (half, half), (lower_count, upper_count), thickness=depth, kind=p.cells)
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=1.0)  # statics: the density is irrelevant
    symmetry: dict[str, Any] = {"left": {"x": 0.0}, **({"back": {"z": 0.0}} if p.solid else {})}
    options: dict[str, Any] = {"order": int(p.order), "plane": None if p.solid else "strain"}
    lower = aq.Solid("lower", meshes[0], material, imposed={**symmetry, "bottom": {"y": 0.0}}, **options)
    upper_imposed = {**symmetry, "top": {"y": lambda t: -p.compression * t}}
    upper = aq.Solid("upper", meshes[1], material, imposed=upper_imposed, **options)
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
    """Pressure p, Pa: E d/H in 3D, E d/((1 − ν²) H) in plane strain; other stresses are 0 except σ_zz = −ν p."""
    p = parameters
    return p.young / (1.0 if p.solid else 1.0 - p.poisson**2) * p.compression / p.height


def stress_errors(result: xarray.DataTree, parameters: Parameters) -> dict[str, Array]:
    """Largest error of a stress component in each cell (c,), over the pressure, by part."""
    p, pressure = parameters, reference(parameters)
    errors_by_part = {}
    for part in system(p).parts:
        assert isinstance(part, aq.Solid)
        u = result[f"part/{part.name}"].dataset["displacement"].values[-1].ravel()
        exact = np.zeros(len(part.stress_components))
        exact[1] = -pressure
        exact[2] = 0.0 if p.solid else -p.poisson * pressure
        errors_by_part[part.name] = np.abs(part.stress(u) - exact).max(axis=(1, 2)) / pressure
    return errors_by_part


def worst_error(result: xarray.DataTree, parameters: Parameters) -> float:
    """Largest error of a stress component anywhere, over the pressure."""
    return float(max(errors.max() for errors in stress_errors(result, parameters).values()))


def variant(parameters: Parameters) -> str:
    """Name of the comparison run with these parameters."""
    p = parameters
    return f"{p.multiplier}, slave {p.slave}{', stabilised' if p.stabilised else ''}"


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """Plain and stabilised forms by multiplier and slave; P2 with quadratic cells only.

    P2 is excluded for six-node triangles: the integrals of their corner functions are zero.
    """
    p = parameters
    excluded = {"P2"} if p.order == 1 or p.cells == "tet" else set()
    names = [name for name in MULTIPLIERS[1:] if name not in excluded]
    runs = [
        replace(p, multiplier=name, slave=slave, stabilised=stabilised)
        for name, slave, stabilised in product(names, SLAVES, (False, True))
    ]
    return {variant(run): run for run in runs}


def trial(parameters: Parameters) -> float | None:
    """Worst error of a run; None if it is refused because the multipliers are not unique, nan if it is absent."""
    name, model = variant(parameters), {variant(parameters): parameters}
    try:
        run = comparison(build, model, name)
    except aq.UserError as refusal:
        if refusal.code != 1:  # usage error
            raise
        return None
    if run is None:
        return None if is_refused(model, name) else np.nan
    return worst_error(run, parameters)


def survey(
    result: xarray.DataTree, parameters: Parameters
) -> dict[tuple[Multiplier, Slave], tuple[float | None, float | None]]:
    """Worst errors of the plain and stabilised forms by multiplier and slave, without absent runs."""
    errors: dict[tuple[Multiplier, Slave], list[float | None]] = {}
    for variant_parameters in comparisons(result, parameters).values():
        errors.setdefault((variant_parameters.multiplier, variant_parameters.slave), []).append(
            trial(variant_parameters)
        )
    return {
        key: (plain, stabilised)
        for key, (plain, stabilised) in errors.items()
        if any(error is None or np.isfinite(error) for error in (plain, stabilised))
    }


def mean_pressure(result: xarray.DataTree, parameters: Parameters) -> float:
    """Contact force over the area, Pa."""
    area = parameters.width * (parameters.width if parameters.solid else 1.0)
    return abs(float(result["interface/contact"].dataset["force"].sel(component="y")[-1])) / area


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Uniform stress, which collocated multipliers (nodes, gauss) do not reproduce."""
    p, pressure = parameters, reference(parameters)
    force = mean_pressure(result, p)
    return [
        Check("stress, worst error over the pressure", worst_error(result, p), 0.0, 1e-10, "1", "at most"),
        Check("contact force over the area", force, pressure, 1e-10, "Pa"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-12, "1", "absolute"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return {
        "stress_error": aq.Scalar(worst_error(result, parameters), "1", "largest stress error over the pressure"),
        "final_pressure": aq.Scalar(mean_pressure(result, parameters), "Pa", "contact force over the area"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    """Largest errors of all multipliers; in 2D also the error field of this run."""
    errors = survey(result, parameters)
    figures_by_name = {"multipliers": patch_survey(errors, parameters.cells, int(parameters.order))} if errors else {}
    if not parameters.solid:
        figures_by_name["stress"] = patch_errors(result, stress_errors(result, parameters))
    return figures_by_name
