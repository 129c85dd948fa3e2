"""Elastic pad dragged over a plane with Coulomb friction: shear waves, stick and slip at its base.

Springs connect the top of the pad to a moving support (`holder="rigid"`: the top itself is the support); the plane is
fixed. The sides of the pad are guided (no vertical motion, lateral stress as in the interior), so that it deforms as a
shear column (`arlequin.cases.reference.blocks`), whose traction and slip are known in closed form.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.blocks import HeldColumn, ShearColumn
from arlequin.cases.shared.figures import pad_base
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.vocabulary import (
    AsperityExponent,
    AsperityHeight,
    AsperityStiffness,
    Density,
    Poisson,
    Young,
    scheme_of,
)
from arlequin.models.checks import non_negative, positive, positive_integer, within
from arlequin.models.types import Array


@dataclass(frozen=True)
class Parameters:
    """Default: polymer pad of 0.1 × 0.05 m under 1 MPa; support oscillating at up to 0.4 m/s."""

    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.3
    holder: Annotated[Literal["springs", "rigid"], Quantity("", "connection of the pad to the support")] = "springs"
    stiffness: Annotated[float, Quantity("N/m", "total spring stiffness per depth", positive)] = 3e9
    drive: Annotated[Literal["oscillating", "steady"], Quantity("", "motion of the support")] = "oscillating"
    speed: Annotated[float, Quantity("m/s", "largest velocity of the support", positive)] = 0.4
    frequency: Annotated[float, Quantity("Hz", "frequency of the oscillating support", positive)] = 1500.0
    pressure: Annotated[float, Quantity("Pa", "normal pressure", positive)] = 1e6
    law: Annotated[Literal["unilateral", "asperities", "multilevel"], Quantity("", "normal law")] = "unilateral"
    asperity_stiffness: AsperityStiffness = 1e16
    asperity_exponent: AsperityExponent = 2.0
    asperity_height: AsperityHeight = 2e-5
    multiplier: Annotated[
        Literal["default", "nodes", "gauss", "P0", "P1"], Quantity("", "discretisation of the contact pressure")
    ] = "default"
    stabilised: Annotated[bool, Quantity("", "stabilised multipliers")] = False
    scheme: Annotated[Literal["theta", "newmark", "central-difference"], Quantity("", "time scheme")] = "theta"
    theta: Annotated[float, Quantity("", "θ of scheme=theta", within, 0.5, 1.0)] = 0.5
    mass: Annotated[Literal["consistent", "lumped"], Quantity("", "mass matrix")] = "consistent"
    width: Annotated[float, Quantity("m", "width of the pad", positive)] = 0.1
    height: Annotated[float, Quantity("m", "height of the pad", positive)] = 0.05
    young: Young = 1.0e9
    poisson: Poisson = 0.3
    density: Density = 1200.0
    cells: Annotated[int, Quantity("", "cells over the height", positive_integer)] = 20
    courant: Annotated[float, Quantity("", "Courant number c Δt/h of shear waves", positive)] = 0.7
    transits: Annotated[float, Quantity("", "duration in transits 2H/c of a shear wave", positive)] = 8.0

    @property
    def material(self) -> aq.LinearElastic:
        return aq.LinearElastic(young=self.young, poisson=self.poisson, density=self.density)

    @property
    def gap(self) -> float:
        """Gap under the pressure, m; 0 if the substrates are in contact."""
        if self.law == "unilateral":
            return 0.0
        full_pressure = self.asperity_stiffness * self.asperity_height**self.asperity_exponent
        crushed = self.asperity_height * (self.pressure / full_pressure) ** (1.0 / self.asperity_exponent)
        if self.law == "asperities" and crushed > self.asperity_height:
            raise aq.UserError.parameter(
                "asperity_height",
                self.asperity_height,
                f"must be at least {crushed:.3g} m, their compression under the pressure",
            )
        return max(self.asperity_height - crushed, 0.0)

    @property
    def step(self) -> float:
        """Time step, s."""
        return self.courant * (self.height / self.cells) * float(np.sqrt(self.density / self.material.shear))


def build(parameters: Parameters) -> aq.Study:
    """Study of the pad, initially at rest in its compressed state, with its base y = 0 in contact."""
    p = parameters
    mesh = aq.mesh.rectangle(
        (0.0, p.width), (0.0, p.height), cells=(max(1, round(p.cells * p.width / p.height)), p.cells)
    )
    lame_lambda, shear = p.material.lame()
    stiffness = lame_lambda + 2.0 * shear
    lateral = p.pressure * lame_lambda / stiffness
    on_springs = p.holder == "springs"
    pad = aq.Solid(
        "pad", _with_sides(mesh, p.height / p.cells), p.material, plane="strain", mass=p.mass,
        tractions={"left": (lateral, 0.0), "right": (-lateral, 0.0)},
        imposed_velocity={"top": {"y": 0.0} if on_springs else {"x": motion(p), "y": 0.0}, "sides": {"y": 0.0}},
    )  # fmt: skip
    plane = aq.RigidPlane(point=(0.0, -p.gap), normal=(0.0, 1.0))
    laws: tuple[Any, ...] = ()
    if p.law != "unilateral":
        laws += (aq.Asperities(p.asperity_stiffness, p.asperity_exponent, p.asperity_height),)
    if p.law != "asperities":
        laws += (aq.Unilateral(level="velocity"),)
    contact = aq.Interface(
        "contact", pad.boundary("bottom"), plane, laws,
        friction=aq.Coulomb(p.friction) if p.friction > 0.0 else None,
        multiplier=None if p.multiplier == "default" else p.multiplier,
    )  # fmt: skip

    def compressed(x: Array) -> Array:
        return np.stack([0.0 * x[:, 1], -p.pressure / stiffness * x[:, 1]], axis=1)

    parts: list[Any] = [pad]
    springs = []
    if on_springs:
        drive: Any = {"all": {"x": motion(p), "y": 0.0}}
        mass = p.density * p.width * p.height
        parts.append(aq.PointMasses("support", (0.5 * p.width, p.height), mass, imposed_velocity=drive))
        ends = pad.boundary("top"), parts[1].boundary("all")
        springs.append(aq.Spring("springs", *ends, stiffness=p.stiffness, direction=(1.0, 0.0)))
    system = aq.System(
        parts,
        interfaces=[contact],
        springs=springs,
        displacement={"pad": compressed},
        contact=aq.ContactMethod(stabilised=p.stabilised),
    )
    return aq.Study(system, scheme_of(p.scheme, p.theta), p.transits * reference(p).transit, p.step)


def _with_sides(mesh: Any, cell: float) -> Any:
    """Mesh with the additional boundary `sides`: left and right without the corners of the base."""
    facets = np.concatenate([mesh.boundaries["left"], mesh.boundaries["right"]])
    above = mesh.p[1][mesh.facets[:, facets]].min(axis=0) > 0.5 * cell
    return replace(mesh, _boundaries={**mesh.boundaries, "sides": facets[above]})


def motion(parameters: Parameters) -> Any:
    """Velocity of the support as a function of time, m/s."""
    p = parameters
    if p.drive == "steady":
        return lambda t: p.speed + 0.0 * t
    return lambda t: p.speed * np.sin(2.0 * np.pi * p.frequency * t)


def reference(parameters: Parameters) -> ShearColumn:
    p = parameters
    column = (p.height, p.material.shear, p.density, p.friction * p.pressure, motion(p))
    return ShearColumn(*column) if p.holder == "rigid" else HeldColumn(*column, p.stiffness / p.width)


@dataclass(frozen=True)
class BaseMotion:
    """Motion of the base over the steps between `edges` (t + 1,), s: mean slip velocity (t,), m/s, mean traction (t,)
    on the plane, Pa, and their exact means; spent, expected (t + 1,): computed and exact dissipation, J/m²."""

    edges: Array
    slip: Array
    traction: Array
    exact_slip: Array
    exact_traction: Array
    spent: Array
    expected: Array

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "BaseMotion":
        p, column = parameters, reference(parameters)
        edges = result.dataset["time"].values
        area = float(result["interface/contact"].dataset["area"].sum())
        force = result["interface/contact"].dataset["force"].sel(component="x").values[1:]
        fine = _refined(edges, 16)
        mean_slip = np.diff(column.slip(fine)[::16]) / np.diff(edges)
        tractions = column.base(0.5 * (fine[1:] + fine[:-1]))[1].reshape(-1, 16).mean(axis=1)
        return cls(
            edges=edges,
            slip=base_slip(result),
            traction=-force / area,
            exact_slip=mean_slip,
            exact_traction=tractions,
            spent=dissipated(result, p),
            expected=column.dissipated(fine)[::16],
        )

    def errors(self, parameters: Parameters) -> tuple[float, float]:
        """Mean errors of the slip velocity, over that of the support, and of the traction, over z V."""
        speed, wave = parameters.speed, reference(parameters).impedance * parameters.speed
        slip, traction = np.abs(self.slip - self.exact_slip).mean(), np.abs(self.traction - self.exact_traction).mean()
        return float(slip / speed), float(traction / wave)


def base_slip(result: xarray.DataTree) -> Array:
    """Mean slip velocity of the base over each step (t,), m/s."""
    group = result["part/pad"].dataset
    base = group["position"].values[:, 1] == 0.0
    displacement = group["displacement"].sel(component="x").values[:, base]
    weights = _trapezoid(group["position"].values[base, 0])
    return np.asarray(np.diff(displacement @ weights) / np.diff(result.dataset["time"].values))


def dissipated(result: xarray.DataTree, parameters: Parameters) -> Array:
    """Energy dissipated by friction (t + 1,), J/m²."""
    energy = result.dataset["energy"]
    has_friction = "friction" in energy["kind"].values
    return energy.sel(kind="friction").values / parameters.width if has_friction else np.zeros(energy.sizes["time"])


def most_dissipated(parameters: Parameters, time: float) -> float:
    """Dissipation, J/m², of a base that moves with the support."""
    return parameters.friction * parameters.pressure * parameters.speed * time


def _trapezoid(x: Array) -> Array:
    """Trapezoidal weights (n,) of a mean over the points x (n,) in any order."""
    order = np.argsort(x)
    half = 0.5 * np.diff(x[order])
    weights = np.zeros(x.size)
    weights[order[:-1]] += half
    weights[order[1:]] += half
    return np.asarray(weights / weights.sum())


def _refined(edges: Array, parts: int) -> Array:
    """`edges` with each interval divided into `parts`."""
    return np.interp(np.arange((edges.size - 1) * parts + 1) / parts, np.arange(edges.size), edges)


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    base = BaseMotion.of(result, parameters)
    slip_error, traction_error = base.errors(parameters)
    # steady drive: the slip velocity is a square wave
    limit = 0.12 if (parameters.drive, parameters.holder) == ("steady", "rigid") else 0.02
    checks = [
        Check("slip velocity, mean error over that of the support", slip_error, 0.0, limit, "1", "at most"),
        Check("traction, mean error over z V", traction_error, 0.0, 0.01, "1", "at most"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-10, "1", "absolute"),
    ]
    if parameters.friction > 0.0:
        fall = float(np.diff(base.spent).min(initial=0.0))
        group = result["interface/contact"].dataset
        pressure, traction = group["pressure"].values, np.linalg.norm(group["traction"].values, axis=2)
        excess = float((traction - parameters.friction * pressure).max() / (parameters.friction * pressure.max()))
        largest_dissipation = most_dissipated(parameters, float(base.edges[-1]))
        dissipation, expected_dissipation = (
            float(base.spent[-1] / largest_dissipation),
            float(base.expected[-1] / largest_dissipation),
        )
        checks += [
            Check("dissipation over μ p V t at the end", dissipation, expected_dissipation, 0.005, "1", "absolute"),
            Check("friction energy, largest decrease", -fall, 0.0, 0.0, "J/m^2", "at most"),
            Check("traction in excess of μ p, any point and time", excess, 0.0, 1e-10, "1", "at most"),
        ]
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    p, slip = parameters, np.abs(base_slip(result))
    largest_dissipation = most_dissipated(p, float(result.dataset["time"][-1]))
    share = float(dissipated(result, p)[-1] / largest_dissipation) if largest_dissipation else np.nan
    force = np.abs(result["interface/contact"].dataset["force"].sel(component="x").values[1:])
    return {
        "slip_velocity": aq.Scalar(slip.mean(), "m/s", "mean slip velocity of the base"),
        "peak_slip_velocity": aq.Scalar(slip.max(), "m/s", "largest slip velocity of the base"),
        "drag_force": aq.Scalar(force.mean(), "N", "mean tangential force"),
        "dissipation": aq.Scalar(share, "1", "friction energy over that of a base moving with the support"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    return {
        "energies": plots.energies(result),
        "base": pad_base(BaseMotion.of(result, parameters), parameters.friction * parameters.pressure),
        "shape": plots.shape(result, "velocity", component=0),
    }
