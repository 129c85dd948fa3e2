"""Hertzian point contact: half-ball on a rigid plane, axisymmetric or in 3D.

The load is distributed over the flat top; in 3D a quarter is modelled, with symmetry about x = 0 and z = 0. The theory
is evaluated at the computed contact force.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.hertz import SphereContact, effective_modulus
from arlequin.cases.shared.meshes import quarter_ball, quarter_disc
from arlequin.cases.shared.pressing import (
    Formulation,
    PressedContact,
    equilibrium_checks,
    hertz_checks,
    laws_of,
    pressed_scalars,
    pressure_figure,
)
from arlequin.cases.shared.vocabulary import Poisson, Young
from arlequin.models.checks import positive, positive_integer, within

ZONE = 1.3  # half-width of the refined surface over the contact radius


@dataclass(frozen=True)
class Parameters:
    """Default: light-alloy half-ball of R = 50 mm on a rigid plane, a = 0.03 R."""

    dimension: Annotated[Literal["axisymmetric", "3d"], Quantity("", "axisymmetric or 3D model")] = "axisymmetric"
    radius: Annotated[float, Quantity("m", "radius R of the ball", positive)] = 0.05
    young: Young = 7e10
    poisson: Poisson = 0.3
    half_width: Annotated[
        float, Quantity("", "contact radius a/R by theory; determines the load", within, 1e-4, 0.3)
    ] = 0.03
    formulation: Annotated[Formulation, Quantity("", "contact formulation")] = "lagrangian"
    penalty: Annotated[
        float | None, Quantity("Pa/m", "stiffness of penalised formulations; none: 1000 E*/a", positive)
    ] = None
    kind: Annotated[Literal["brick", "simplex"], Quantity("", "quadrilaterals or hexahedra, or simplices")] = "brick"
    order: Annotated[int, Quantity("", "order of the elements", within, 1, 2)] = 1
    cells: Annotated[
        int | None, Quantity("", "cells over the contact radius; none: 40, in 3D 12", positive_integer)
    ] = None
    steps: Annotated[int, Quantity("", "load steps", positive_integer)] = 5


def reference(parameters: Parameters, force: float | None = None) -> SphereContact:
    """Theory at a force (N), by default that of the parameters."""
    p = parameters
    modulus = effective_modulus(_material(p))
    if force is None:
        return SphereContact.of_approach(p.radius, modulus, p.half_width**2 * p.radius)
    return SphereContact(p.radius, modulus, force)


def _share(p: Parameters) -> float:
    """Fraction of the contact in the model."""
    return 0.25 if p.dimension == "3d" else 1.0


def _material(p: Parameters) -> aq.LinearElastic:
    return aq.LinearElastic(young=p.young, poisson=p.poisson)


def build(parameters: Parameters) -> aq.Study:
    """Statics: the load is proportional to the time, 0 to 1."""
    p, theory = parameters, reference(parameters)
    solid = p.dimension == "3d"
    cells = p.cells or (12 if solid else 40)
    zone, size = ZONE * theory.half_width, theory.half_width / cells
    if solid:
        mesh = quarter_ball(p.radius, zone, size, kind="hex" if p.kind == "brick" else "tet", order=int(p.order))
        symmetry: dict[str, Any] = {"left": {"x": 0.0}, "back": {"z": 0.0}}
    else:
        mesh = quarter_disc(p.radius, zone, size, kind="quad" if p.kind == "brick" else "tri", order=int(p.order))
        symmetry = {"left": {"r": 0.0}}
    axes = 3 if solid else 2
    options: dict[str, Any] = {"imposed": symmetry} if solid else {"imposed": symmetry, "plane": "axisymmetric"}
    pressure = (
        _share(p) * theory.load / float(aq.Solid("ball", mesh, _material(p), **options).boundary("top").areas.sum())
    )

    def load(x: Any, t: float) -> tuple[float, ...]:
        return (0.0, -pressure * t, 0.0)[:axes]

    ball = aq.Solid("ball", mesh, _material(p), tractions={"top": load}, **options)
    plane = aq.RigidPlane(point=(0.0,) * axes, normal=(0.0, 1.0, 0.0)[:axes])
    chosen = laws_of(p.formulation, p.penalty, theory)
    contact = aq.Interface("contact", ball.boundary("contact"), plane, chosen["normal"])
    system = aq.System([ball], interfaces=[contact], contact=chosen["contact"])
    return aq.Study(system, aq.Static(), duration=1.0, step=1.0 / p.steps)


def pressed(result: xarray.DataTree, parameters: Parameters) -> PressedContact:
    """Contact after the last step."""
    return PressedContact.of(result, _share(parameters))


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, contact = parameters, pressed(result, parameters)
    exact = reference(p, contact.force)
    return hertz_checks(contact, exact, p.radius) + equilibrium_checks(result, contact.force, reference(p).load)


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return pressed_scalars(pressed(result, parameters))


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    contact = pressed(result, parameters)
    return {
        "pressure": pressure_figure(contact, reference(parameters, contact.force)),
        "energies": plots.energies(result),
    }
