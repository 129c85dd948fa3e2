"""Periodic bouncing of a bar on a rigid wall: contact pressure and energy against d'Alembert's solution.

The far end is fixed. Released at rest with a uniform compression, the bar touches the wall during one of every three
intervals L/c, at constant pressure (`arlequin.cases.reference.bouncing`). Two errors accumulate over many bounces: the
energy lost at impacts, and the dispersion of the fronts, which widens them and shortens the plateau.

`scheme=midpoint mass=redistributed law=unilateral` conserves the energy to round-off over any number of bounces; the
default loses the kinetic energy of the contact node at each impact.

Source of the case: D. Doyen, A. Ern, S. Piperno, SIAM Journal on Scientific Computing 33, 2011.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.bouncing import BouncingBar
from arlequin.cases.shared.figures import bar_figures, bounces_figure
from arlequin.cases.shared.impact import (
    conserving,
    contact_pressure,
    energy_checks,
    energy_loss,
    mean_pressures,
    plateaus,
    stored_checks,
)
from arlequin.cases.shared.vocabulary import (
    Courant,
    Density,
    FieldsEvery,
    Mass,
    PenaltyStiffness,
    PenaltyViscosity,
    PlainLaw,
    Scheme,
    ThetaValue,
    Young,
    laws_of,
    scheme_of,
)
from arlequin.models.checks import positive, positive_integer
from arlequin.models.types import Array


@dataclass(frozen=True)
class Parameters:
    """Default: E = ρ = L = 1, strain 1/2: contact in [1, 2] s of a period of 3 s, pressure 1/2, energy 1/8."""

    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 1.0
    young: Young = 1.0
    density: Density = 1.0
    compression: Annotated[float, Quantity("", "initial uniform compressive strain", positive)] = 0.5
    elements: Annotated[int, Quantity("", "elements", positive_integer)] = 100
    scheme: Scheme = "theta"
    theta: ThetaValue = 0.5
    law: PlainLaw = "unilateral-velocity"
    penalty_stiffness: PenaltyStiffness = 1e3
    penalty_viscosity: PenaltyViscosity = 1e3
    mass: Mass = "consistent"
    courant: Courant = 0.7071
    duration: Annotated[float | None, Quantity("s", "duration of the run; none: three bounces, 9 L/c", positive)] = None
    fields_every: FieldsEvery = 1


def duration(parameters: Parameters) -> float:
    """End of the run, s."""
    p = parameters
    return 9.0 * p.length / np.sqrt(p.young / p.density) if p.duration is None else p.duration


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    bar = aq.Bar(
        "bar", aq.mesh.interval(0.0, p.length, cells=p.elements), aq.LinearElastic(young=p.young, density=p.density),
        mass=p.mass, imposed={"right": {"x": 0.0}},
    )  # fmt: skip
    wall = aq.RigidPlane(point=0.0, normal=1.0)
    contact = aq.Interface("contact", bar.boundary("left"), wall, laws_of(p))
    system = aq.System([bar], interfaces=[contact], displacement=lambda x: p.compression * (p.length - x))
    step = p.courant * p.length / p.elements / reference(p).wave_speed
    return aq.Study(system, scheme_of(p.scheme, p.theta), duration(p), step, fields_every=p.fields_every)


def reference(parameters: Parameters) -> BouncingBar:
    """Exact solution under unilateral contact, for the number of bounces of the run."""
    p = parameters
    period = 3.0 * p.length / np.sqrt(p.young / p.density)
    return BouncingBar(p.young, p.density, p.length, p.compression, max(1, int(np.ceil(duration(p) / period))))


def bounces(result: xarray.DataTree, parameters: Parameters) -> Array:
    """Plateau pressure of each complete bounce (k,), Pa: mean over the inner part of the exact contact interval."""
    return plateaus(result, reference(parameters).contact_intervals)


def by_impulse(result: xarray.DataTree, exact: BouncingBar, count: int) -> float:
    """Impulse of the first `count` periods over the exact impulse of one bounce."""
    edges, pressure = mean_pressures(result)
    complete_periods = edges[1:] <= count * exact.period
    return float(np.sum((np.diff(edges) * pressure)[complete_periods]) / exact.impulse(exact.period))


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Plateaus of up to ten bounces, their impulse, and the energy."""
    exact = reference(parameters)
    plateau_pressures = bounces(result, parameters)[:10]
    checks = []
    if plateau_pressures.size:
        checks.append(Check("pressure of bounce 1", plateau_pressures[0], exact.pressure_in_contact, 0.02, "Pa"))
    if plateau_pressures.size > 1:
        worst = plateau_pressures[np.abs(plateau_pressures - exact.pressure_in_contact).argmax()]
        name = f"pressure of bounces 1 to {plateau_pressures.size}, largest deviation"
        checks.append(Check(name, worst, exact.pressure_in_contact, 0.03, "Pa"))
    if plateau_pressures.size:
        share = by_impulse(result, exact, plateau_pressures.size)
        checks.append(Check("number of bounces by impulse", share, plateau_pressures.size, 0.05, "1"))
    return [*checks, *stored_checks(result, conserving(parameters)), *energy_checks(result)]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Complete bounces: number by impulse, mean plateau, largest deviation from the mean."""
    plateau_pressures, exact = bounces(result, parameters), reference(parameters)
    mean = float(plateau_pressures.mean()) if plateau_pressures.size else np.nan
    spread = float(np.abs(plateau_pressures - mean).max()) if plateau_pressures.size else np.nan
    return {
        "impacts": aq.Scalar(by_impulse(result, exact, plateau_pressures.size), "1", "complete bounces, by impulse"),
        "plateau_pressure": aq.Scalar(mean, "Pa", "mean plateau pressure of the bounces"),
        "plateau_spread": aq.Scalar(spread, "Pa", "largest deviation of a plateau from the mean"),
        "contact_pressure": contact_pressure(result),
        "energy_loss": energy_loss(result),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    """Figures of the bar cases, and the plateau of each bounce."""
    exact = reference(parameters)
    figures = bar_figures(result, exact, parameters.law)
    plateau_pressures = bounces(result, parameters)
    if plateau_pressures.size:
        figures["bounces"] = bounces_figure(plateau_pressures / exact.pressure_in_contact)
    return figures
