"""Partial slip of two identical half-cylinders under normal and tangential load: Cattaneo and Mindlin.

Plane strain, equal radii R and materials, so that the tangential load does not change the pressure: the middle of the
contact sticks, its edges slip. The normal load grows to P, then the tangential load to Q < μP. Both are distributed
over the flat ends, the normal load linearly in x so that its moment about the contact balances that of Q. The lower
body is fixed at the middle of its end only: clamping it changes the strains along the contact (3 % of μ p0 in the
traction).
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.cattaneo import PartialSlip
from arlequin.cases.reference.hertz import LineContact, PressureFit, effective_modulus, effective_radius, fit_pressure
from arlequin.cases.shared.meshes import half_disc, turned
from arlequin.cases.shared.pressing import (
    Formulation,
    PressedContact,
    equilibrium_checks,
    hertz_checks,
    laws_of,
    pressed_scalars,
    pressure_figure,
    traction_figure,
)
from arlequin.cases.shared.vocabulary import Poisson, Young
from arlequin.models.checks import positive, positive_integer, within
from arlequin.models.types import Array

ZONE = 1.3  # half-width of the refined surface over that of the contact
STICK = 0.01  # relative tolerance on the stick width


@dataclass(frozen=True)
class Parameters:
    """Default: steel half-cylinders of R = 50 mm, b = 0.02 R, μ = 0.3, Q = μP/2."""

    radius: Annotated[float, Quantity("m", "radius R of both cylinders", positive)] = 0.05
    young: Young = 2.1e11
    poisson: Poisson = 0.3
    half_width: Annotated[float, Quantity("", "half-width b/R by theory; determines the load", within, 1e-4, 0.1)] = (
        0.02
    )
    friction: Annotated[float, Quantity("", "coefficient of friction μ", positive)] = 0.3
    shear: Annotated[float, Quantity("", "tangential load Q/(μP)", within, 0.05, 0.95)] = 0.5
    formulation: Annotated[Formulation, Quantity("", "contact formulation")] = "lagrangian"
    penalty: Annotated[
        float | None, Quantity("Pa/m", "stiffness of penalised formulations; none: 1000 E*/b", positive)
    ] = None
    multiplier: Annotated[Literal["nodes", "P1"], Quantity("", "discretisation of the contact pressure")] = "nodes"
    kind: Annotated[Literal["quad", "tri"], Quantity("", "cell type")] = "quad"
    order: Annotated[int, Quantity("", "order of the elements", within, 1, 2)] = 1
    cells: Annotated[int, Quantity("", "cells over the half-width", positive_integer)] = 30
    steps: Annotated[int, Quantity("", "load steps, half of them for the tangential load", within, 2, 1000)] = 10


def _material(p: Parameters) -> aq.LinearElastic:
    return aq.LinearElastic(young=p.young, poisson=p.poisson)


def reference(parameters: Parameters, force: float | None = None, shear: float | None = None) -> PartialSlip:
    """Theory for the forces P, Q (N/m), by default those of the parameters."""
    p = parameters
    radius, modulus = effective_radius(p.radius, p.radius), effective_modulus(_material(p), _material(p))
    contact = LineContact.of_half_width(radius, modulus, p.half_width * p.radius)
    if force is not None:
        contact = LineContact(radius, modulus, force)
    return PartialSlip(contact, p.friction, p.shear * p.friction * contact.load if shear is None else shear)


def build(parameters: Parameters) -> aq.Study:
    """Statics: P grows in 0 ≤ t ≤ 1, Q in 1 ≤ t ≤ 2."""
    p, theory = parameters, reference(parameters)
    b, radius, normal, shear = theory.contact.half_width, p.radius, theory.contact.load, theory.shear
    mesh = half_disc(radius, ZONE * b, b / p.cells, kind=p.kind, order=int(p.order))

    def load(x: Array, t: float) -> Array:
        tangential = shear * max(t - 1.0, 0.0)
        # ∫ x t_y dx = R Q
        normal_traction = -0.5 * normal / radius * min(t, 1.0) + 1.5 * tangential / radius**2 * x[0]
        return np.stack([np.full(x.shape[1:], 0.5 * tangential / radius), normal_traction])

    def opposite(x: Array, t: float) -> Array:
        return -load(-x, t)

    upper = aq.Solid("upper", mesh, _material(p), plane="strain", tractions={"top": load})
    imposed = {"middle": {"x": 0.0, "y": 0.0}}
    lower = aq.Solid(
        "lower", _with_middle(turned(mesh)), _material(p), plane="strain", tractions={"top": opposite}, imposed=imposed
    )
    chosen = laws_of(p.formulation, p.penalty, theory.contact)
    contact = aq.Interface(
        "contact", upper.boundary("contact"), lower.boundary("arc"), chosen["normal"],
        friction=aq.Coulomb(p.friction), multiplier=p.multiplier,
    )  # fmt: skip
    system = aq.System([lower, upper], interfaces=[contact], contact=chosen["contact"])
    return aq.Study(system, aq.Static(), duration=2.0, step=2.0 / (2 * ((p.steps + 1) // 2)))


def _with_middle(mesh: Any) -> Any:
    """Mesh with the additional boundary `middle`: the facets in the middle of the flat end."""
    top = mesh.boundaries["top"]
    distance = np.abs(mesh.p[0, mesh.facets[:, top]]).min(axis=0)
    return replace(
        mesh, _boundaries={**mesh.boundaries, "middle": top[distance <= distance.min() + 1e-9 * np.ptp(mesh.p)]}
    )


@dataclass(frozen=True)
class ShearedContact:
    """Contact state after the last step: x (k,), m, pressures and tractions (k,), Pa, forces P and Q, N/m."""

    x: Array
    pressure: Array
    traction: Array
    normal: float
    shear: float
    friction: float

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "ShearedContact":
        """Tractions in the direction of Q on the upper body."""
        group = result["interface/contact"].dataset
        x = group["point_position"].values[:, 0]
        order = np.argsort(x)
        force = group["force"].values[-1]
        traction = -group["traction"].values[-1][order, 0]
        return cls(x[order], group["pressure"].values[-1][order], traction, force[1], -force[0], parameters.friction)

    @property
    def stick(self) -> PressureFit:
        """Fit of the stick zone to μp − q = μ p0 (c/b) √(1 − x²/c²)."""
        return fit_pressure(self.x, self.friction * self.pressure - self.traction)


def pressed(result: xarray.DataTree, parameters: Parameters) -> PressedContact:
    """Normal contact after the last step."""
    return PressedContact.of(result)


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, sheared = parameters, ShearedContact.of(result, parameters)
    nominal, exact = reference(p), reference(p, sheared.normal, sheared.shear)
    excess = float(np.max(np.abs(sheared.traction) - p.friction * sheared.pressure))
    steps = np.diff(result.dataset["energy"].sel(kind="friction").values)
    return [
        Check("half-width of the stick zone", sheared.stick.half_width, exact.stick_half_width, STICK, "m"),
        *hertz_checks(pressed(result, p), exact.contact, p.radius),
        Check("shear force against the load", sheared.shear, nominal.shear, 1e-9, "N"),
        Check(
            "traction in excess of μp, over μp0", excess / (p.friction * exact.contact.peak), 0.0, 1e-10, "1", "at most"
        ),
        Check("friction energy, smallest increment", float(steps.min()), 0.0, 0.0, "J", "at least"),
        *equilibrium_checks(result, sheared.normal, nominal.contact.load),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    sheared = ShearedContact.of(result, parameters)
    return {
        **pressed_scalars(pressed(result, parameters)),
        "stick_radius": aq.Scalar(sheared.stick.half_width, "m", "half-width of the stick zone"),
        "shear_force": aq.Scalar(sheared.shear, "N", "shear force"),
        "force_ratio": aq.Scalar(sheared.shear / sheared.normal, "1", "shear over normal force"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    sheared = ShearedContact.of(result, parameters)
    exact = reference(parameters, sheared.normal, sheared.shear)
    return {
        "tractions": traction_figure(sheared, exact),
        "pressure": pressure_figure(pressed(result, parameters), exact.contact),
        "energies": plots.energies(result),
    }
