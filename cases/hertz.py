"""Hertzian line contact: half-cylinder on a rigid plane or an elastic block, plane strain.

Half of the section, x ≥ 0, with symmetry about x = 0. The load is distributed over the flat top of the cylinder (or the
top is displaced); the theory is evaluated at the computed contact force. A cylinder differs from the half-space of the
theory by terms of order (b/R)². NAFEMS's heavily loaded cylinder, b/R = 0.12, is `partner=block load=3.5e7`: the
theoretical 6.2146 mm and 3585.4 MPa are reproduced within 0.4 %.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.hertz import LineContact, effective_modulus
from arlequin.cases.shared.meshes import graded_block, quarter_disc
from arlequin.cases.shared.pressing import (
    Formulation,
    Multiplier,
    PressedContact,
    equilibrium_checks,
    hertz_checks,
    laws_of,
    multiplier_of,
    pressed_scalars,
    pressure_figure,
)
from arlequin.models.checks import positive, positive_integer, within

ZONE = 1.5  # half-width of the refined surface over that of the contact
BLOCK = 2.0  # width of the half-block and half its height over R


@dataclass(frozen=True)
class Parameters:
    """Default: light-alloy half-cylinder of R = 50 mm on a rigid plane, b = 0.03 R."""

    partner: Annotated[Literal["plane", "block"], Quantity("", "rigid plane or elastic block")] = "plane"
    radius: Annotated[float, Quantity("m", "radius R of the cylinder", positive)] = 0.05
    young: Annotated[float, Quantity("Pa", "Young's modulus of the cylinder", positive)] = 7e10
    poisson: Annotated[float, Quantity("", "Poisson's ratio of both", within, 0.0, 0.499)] = 0.3
    block_young: Annotated[float, Quantity("Pa", "Young's modulus of the block", positive)] = 2.1e11
    half_width: Annotated[float, Quantity("", "half-width b/R by theory; determines the load", within, 1e-4, 0.3)] = (
        0.03
    )
    load: Annotated[float | None, Quantity("N/m", "load per length, instead of half_width", positive)] = None
    displacement: Annotated[
        float | None, Quantity("m", "imposed displacement of the top, instead of a load", positive)
    ] = None
    formulation: Annotated[Formulation, Quantity("", "contact formulation")] = "lagrangian"
    penalty: Annotated[
        float | None, Quantity("Pa/m", "stiffness of penalised formulations; none: 1000 E*/b", positive)
    ] = None
    multiplier: Annotated[Multiplier, Quantity("", "discretisation of the contact pressure")] = "default"
    kind: Annotated[Literal["quad", "tri"], Quantity("", "cell type")] = "quad"
    order: Annotated[int, Quantity("", "order of the elements", within, 1, 2)] = 1
    cells: Annotated[int, Quantity("", "cells over the half-width", positive_integer)] = 40
    steps: Annotated[int, Quantity("", "load steps", positive_integer)] = 5

    def __post_init__(self) -> None:
        if self.load is not None and self.displacement is not None:
            raise aq.UserError.parameter("displacement", self.displacement, f"must be none where load = {self.load:g}")
        expected = reference(self).half_width
        if expected > 0.3 * self.radius:
            limit = LineContact.of_half_width(self.radius, reference(self).modulus, 0.3 * self.radius).load
            raise aq.UserError.parameter("load", self.load, f"must be at most {limit:.4g}, at which b = 0.3 R")


def _materials(p: Parameters) -> list[aq.LinearElastic]:
    young = [p.young] if p.partner == "plane" else [p.young, p.block_young]
    return [aq.LinearElastic(young=value, poisson=p.poisson) for value in young]


def reference(parameters: Parameters, load: float | None = None) -> LineContact:
    """Theory at a load (N/m), by default that of the parameters (of half_width with a displacement)."""
    p = parameters
    modulus = effective_modulus(*_materials(p))
    force = p.load if load is None else load
    if force is None:
        return LineContact.of_half_width(p.radius, modulus, p.half_width * p.radius)
    return LineContact(p.radius, modulus, force)


def build(parameters: Parameters) -> aq.Study:
    """Statics: the load is proportional to the time, 0 to 1."""
    p, theory = parameters, reference(parameters)
    zone, size = ZONE * theory.half_width, theory.half_width / p.cells
    materials = _materials(p)
    imposed: dict[str, Any] = {"left": {"x": 0.0}}
    tractions: dict[str, Any] = {}
    if p.displacement is None:
        pressure = theory.load / (2.0 * p.radius)
        tractions["top"] = lambda x, t: (0.0, -pressure * t)
    else:
        depth = p.displacement
        imposed["top"] = {"y": lambda t: -depth * t}
    mesh = quarter_disc(p.radius, zone, size, kind=p.kind, order=int(p.order))
    cylinder = aq.Solid("cylinder", mesh, materials[0], plane="strain", imposed=imposed, tractions=tractions)
    parts = [cylinder]
    master: Any = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    if p.partner == "block":
        mesh = graded_block(BLOCK * p.radius, 2 * BLOCK * p.radius, zone, size, kind=p.kind, order=int(p.order))
        block_supports = {"left": {"x": 0.0}, "bottom": {"y": 0.0}}
        parts.append(aq.Solid("block", mesh, materials[1], plane="strain", imposed=block_supports))
        master = parts[1].boundary("top")
    chosen = laws_of(p.formulation, p.penalty, theory)
    contact = aq.Interface(
        "contact", cylinder.boundary("contact"), master, chosen["normal"], multiplier=multiplier_of(p.multiplier)
    )
    system = aq.System(parts, interfaces=[contact], contact=chosen["contact"])
    return aq.Study(system, aq.Static(), duration=1.0, step=1.0 / p.steps)


def pressed(result: xarray.DataTree, parameters: Parameters) -> PressedContact:
    """Contact after the last step; the model has half of it."""
    gauss = build(parameters).system.interfaces[0].slave if parameters.multiplier == "gauss" else None
    return PressedContact.of(result, 0.5, gauss)


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, contact = parameters, pressed(result, parameters)
    load = reference(p).load if p.displacement is None else None
    exact = reference(p, contact.force)
    return hertz_checks(contact, exact, p.radius) + equilibrium_checks(result, contact.force, load)


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return pressed_scalars(pressed(result, parameters))


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    contact = pressed(result, parameters)
    exact = reference(parameters, contact.force)
    return {"pressure": pressure_figure(contact, exact), "energies": plots.energies(result)}
