"""Cook's membrane of an elastoplastic metal: volumetric locking of linear cells and its remedies.

Tapered panel in plane strain, 48 mm wide, 44 mm high at the clamped left side and 16 mm at the right side, where a dead
shear load of 5 kN per mm of thickness acts. Finite multiplicative plasticity (`aq.J2`) with saturation hardening.
Plastic flow is isochoric: linear cells with pointwise pressure lock; linear cells with mean dilatation and quadratic
cells (`formulation`) do not.

    displacement of the upper right corner, mm; cells along each side (steps=20)

                    4        8        16       32       64       limit (Aitken)
    mean            5.027    6.266    6.697    6.888    6.961    7.01
    quadratic       6.130    6.676    6.862    6.936             6.99
    points                   2.311    4.095    5.646
    published: converged 6.97–7.09 in three papers (Simo and Armero; César de Sá, Areias and Natal Jorge; Areias), as
    the verification of solids4foam's cooksMembrane quotes them; 6.923 with 32 quadratic hexahedra (P. Krysl, FAESOR)

With 80 steps instead of 20 it changes by 0.005 mm.

Sources: J. C. Simo and F. Armero, Int. J. Numer. Methods Eng. 33 (1992) 1413–1449; J. M. A. César de Sá, P. M. A.
Areias and R. M. Natal Jorge, Int. J. Numer. Methods Eng. 51 (2001) 883–917.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.figures import deflection_figure
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.vocabulary import (
    Hardening,
    Poisson,
    Saturation,
    SaturationRate,
    YieldStress,
    Young,
    steel_of,
)
from arlequin.models.checks import positive, positive_integer
from arlequin.models.types import Array

WIDTH, HEIGHT, TIP = 48e-3, 44e-3, 16e-3  # width of the panel, height of its clamped side, m
THICKNESS = 1e-3  # m
BALANCE = 1e-10
WORK = 1e-2  # relative difference of stress-update work and internal work with 20 load steps
# displacement of the corner of the data of the default, converged, m (see the head of this file)
PUBLISHED = 6.97e-3, 7.09e-3
COARSE = 8e-3  # m, largest error of linear cells over h/side; that of quadratic cells is smaller


@dataclass(frozen=True)
class Parameters:
    """Default: steel of yield stress 450 MPa, saturation at 715 MPa; 5 kN per mm of thickness."""

    force: Annotated[float, Quantity("N", "shear force on the right side for a thickness of 1 mm", positive)] = 5e3
    young: Young = 206.9e9
    poisson: Poisson = 0.29
    yield_stress: YieldStress = 450e6
    saturation: Saturation = 265e6
    rate: SaturationRate = 16.93
    hardening: Hardening = 129.24e6
    elements: Annotated[int, Quantity("", "number of cells along each side", positive_integer)] = 32
    formulation: Annotated[
        Literal["mean", "points", "quadratic"],
        Quantity("", "linear cells with mean dilatation or pointwise pressure (locking), or quadratic cells"),
    ] = "mean"
    steps: Annotated[int, Quantity("", "load steps", positive_integer)] = 20


def build(parameters: Parameters) -> aq.Study:
    """Statics: the force is proportional to the time, 0 to 1."""
    p = parameters
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(p.elements, p.elements))
    x, y = mesh.p
    mesh = replace(mesh, doflocs=np.stack([WIDTH * x, HEIGHT * x + y * (HEIGHT + (TIP - HEIGHT) * x)]))
    shear = p.force / (TIP * THICKNESS)
    panel = aq.Solid(
        "panel",
        mesh,
        steel_of(p),
        order=2 if p.formulation == "quadratic" else 1,
        volumetric=None if p.formulation == "quadratic" else p.formulation,
        plane="strain",
        thickness=THICKNESS,
        kinematics="finite",
        imposed={"left": {"x": 0.0, "y": 0.0}},
        tractions={"right": lambda x, t: (0.0, shear * t)},
    )
    return aq.Study(aq.System([panel]), aq.Static(), duration=1.0, step=1.0 / p.steps)


def tip(result: xarray.DataTree) -> Array:
    """Displacement (f,) of the upper right corner along y, m."""
    panel = result["part/panel"].dataset
    corner = int(np.argmax(panel["position"].values.sum(axis=1)))
    return np.asarray(panel["displacement"].values[:, corner, 1])


def is_published(parameters: Parameters) -> bool:
    """Whether published results exist for these parameters."""
    p = parameters
    return p == Parameters(elements=p.elements, formulation=p.formulation, steps=p.steps)


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, displacement, energy = parameters, float(tip(result)[-1]), result.dataset["energy"]
    checks = []
    if is_published(p):
        low, high = PUBLISHED
        checks.append(Check("displacement of the corner, upper bound", displacement, high, 0.0, "m", "at most"))
        if p.formulation != "points":
            tolerance = COARSE / p.elements
            checks.append(
                Check("displacement of the corner, lower bound", displacement, low, tolerance, "m", "at least")
            )
    scheme_energy = float(energy.sel(kind="scheme")[-1]) / float(energy.sel(kind="external_work")[-1])
    return [
        *checks,
        Check("stress-update work less internal work", scheme_energy, 0.0, WORK, "1", "absolute"),
        Check("energy balance, worst step", worst_balance(result), 0.0, BALANCE, "1", "absolute"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return {"tip_displacement": aq.Scalar(tip(result)[-1], "m", "displacement of the upper right corner")}


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    force = parameters.force * result.dataset["frame_time"].values
    limits = PUBLISHED if is_published(parameters) else None
    return {
        "energies": plots.energies(result),
        "deflection": deflection_figure(force, tip(result), limits),
        "shape": plots.shape(result, "plastic_strain"),
        "stress": plots.shape(result, "mises_stress"),
    }
