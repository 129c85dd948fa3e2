"""Impact of a free bar on a rigid wall: contact times, pressure and rebound against d'Alembert's solution.

Both ends are free: one contact of duration 2L/c at the pressure ρcV; the rebound speed equals the impact speed.

Source of the case: D. Doyen, A. Ern, S. Piperno, SIAM Journal on Scientific Computing 33, 2011.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.bouncing import ThrownBar
from arlequin.cases.reference.interface import touch
from arlequin.cases.reference.rods import Rod
from arlequin.cases.shared.figures import bar_figures
from arlequin.cases.shared.impact import (
    bar_scalars,
    centre_velocity,
    conserving,
    end_time,
    energy_checks,
    mean_pressures,
    plateaus,
    pressure_checks,
    rigid_velocity,
    stored_checks,
)
from arlequin.cases.shared.vocabulary import (
    Courant,
    Density,
    Mass,
    PenaltyStiffness,
    PenaltyViscosity,
    PlainLaw,
    Scheme,
    ThetaValue,
    Young,
    laws_of,
    reference_law,
    scheme_of,
)
from arlequin.models.checks import non_negative, positive, positive_integer


@dataclass(frozen=True)
class Parameters:
    """Default: E = 900, ρ = 1, L = 10, from 5 m at 10 m/s: contact from 0.5 to 1.16667 s at 300 Pa."""

    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 10.0
    young: Young = 900.0
    density: Density = 1.0
    height: Annotated[float, Quantity("m", "initial distance from the wall", non_negative)] = 5.0
    velocity: Annotated[float, Quantity("m/s", "impact velocity", positive)] = 10.0
    elements: Annotated[int, Quantity("", "elements", positive_integer)] = 100
    scheme: Scheme = "theta"
    theta: ThetaValue = 0.5
    law: PlainLaw = "unilateral-velocity"
    penalty_stiffness: PenaltyStiffness = 4.5e4
    penalty_viscosity: PenaltyViscosity = 3e3
    mass: Mass = "consistent"
    courant: Courant = 0.7071
    duration: Annotated[
        float | None, Quantity("s", "duration of the run; none: 1/4 of the contact duration after release", positive)
    ] = None


def exact(parameters: Parameters) -> ThrownBar:
    """Exact solution under unilateral contact."""
    p = parameters
    return ThrownBar(p.young, p.density, p.length, p.height, p.velocity)


def duration(parameters: Parameters) -> float:
    """End of the run, s."""
    p = parameters
    return p.height / p.velocity + 1.25 * exact(p).transit if p.duration is None else p.duration


def step(parameters: Parameters) -> float:
    """Δt, s."""
    p = parameters
    return p.courant * p.length / p.elements / exact(p).wave_speed


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    bar = aq.Bar(
        "bar", aq.mesh.interval(p.height, p.height + p.length, cells=p.elements),
        aq.LinearElastic(young=p.young, density=p.density), mass=p.mass,
    )  # fmt: skip
    contact = aq.Interface("contact", bar.boundary("left"), aq.RigidPlane(point=0.0, normal=1.0), laws_of(p))
    system = aq.System([bar], interfaces=[contact], velocity=(-p.velocity,))
    return aq.Study(system, scheme_of(p.scheme, p.theta), duration(p), step(p))


def reference(parameters: Parameters) -> Any:
    """Exact solution (unilateral) or integrated delay equation, up to two steps past the end of the run."""
    p = parameters
    if p.law.startswith("unilateral"):
        return exact(p)
    return touch(
        Rod(p.length, p.young, p.density, p.velocity), None, reference_law(p), p.height, duration(p) + 2 * step(p)
    )


def tolerance(parameters: Parameters) -> float:
    """Relative tolerance: that of `bar_wall`, and up to half a step for an impact inside a step."""
    p = parameters
    start = p.height / p.velocity / step(p)
    step_error = 2.0 * abs(start - round(start)) * step(p) / exact(p).transit
    return 0.01 * (400.0 / p.elements * max(p.courant, 1.0)) ** (2.0 / 3.0) + step_error


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, history, limit = parameters, reference(parameters), tolerance(parameters)
    checks = pressure_checks(result, history, limit)
    if p.law.startswith("unilateral") and exact(p).contact_intervals[0, 1] < end_time(result):
        checks += contact_checks(result, p)
    if p.law.startswith("unilateral"):
        speed = history.impulse(end_time(result)) / (p.density * p.length) - p.velocity
    else:
        speed = -history.mean_velocity("left", end_time(result))
    velocity = rigid_velocity(result, "bar")
    checks.append(
        Check("velocity of the bar's centre", velocity, float(speed), limit * p.velocity, "m/s", "absolute")
    )  # fmt: skip
    return [*checks, *stored_checks(result, conserving(p)), *energy_checks(result)]


def contact_checks(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of start and end of the contact (at half its pressure), to two steps, and of the pressure."""
    solution, two_steps = exact(parameters), 2.0 * step(parameters)
    edges, pressure = mean_pressures(result)
    high = np.flatnonzero(pressure > 0.5 * solution.pressure_in_contact)
    begin, end = (edges[high[0]], edges[high[-1] + 1]) if high.size else (np.nan, np.nan)
    start, release = solution.contact_intervals[0]
    plateau = plateaus(result, solution.contact_intervals)[0]
    return [
        Check("start of the contact", begin, start, two_steps, "s", "absolute"),
        Check("end of the contact", end, release, two_steps, "s", "absolute"),
        Check("pressure in contact", plateau, solution.pressure_in_contact, 0.02, "Pa"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return bar_scalars(result, parameters.velocity, centre_velocity(result, "x"))


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    return bar_figures(result, reference(parameters), parameters.law)
