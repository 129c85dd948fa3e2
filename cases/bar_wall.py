"""Impact of a bar on a rigid wall under any interface law: contact pressure against the delay equation.

The elastic bar is described exactly by one unknown function, the contact pressure
(`arlequin.cases.reference.interface`), for unilateral contact, penalties, asperities with damping, and the multi-level
law (sum of asperities and unilateral contact of the substrates).

The default step is h/(√2 c): the phase errors of consistent linear elements, + (kh)²/24, and of the trapezoidal rule,
− (ckΔt)²/12, then cancel, and fronts stay sharp.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.rods import Rod
from arlequin.cases.shared.figures import bar_figures
from arlequin.cases.shared.impact import (
    bar_scalars,
    centre_velocity,
    end_time,
    energy_checks,
    pressure_checks,
    rigid_velocity,
)
from arlequin.cases.shared.vocabulary import (
    AnyLaw,
    AsperityDamping,
    AsperityDampingExponent,
    AsperityExponent,
    AsperityHeight,
    AsperityStiffness,
    Courant,
    Density,
    Mass,
    PenaltyStiffness,
    PenaltyViscosity,
    Scheme,
    ThetaValue,
    Young,
    check_gap,
    laws_of,
    rod_contact,
    scheme_of,
)
from arlequin.models.checks import non_negative, positive, positive_integer


@dataclass(frozen=True)
class Parameters:
    """Default: steel bar of 0.1 m at 100 m/s; asperities of 0.5 mm, initially in contact with the wall."""

    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 0.1
    young: Young = 2.0e11
    density: Density = 7800.0
    velocity: Annotated[float, Quantity("m/s", "impact velocity", positive)] = 100.0
    gap: Annotated[
        float,
        Quantity("m", "initial gap of the substrates; asperities engage at gap − height", non_negative),
    ] = 5e-4
    elements: Annotated[int, Quantity("", "elements", positive_integer)] = 100
    scheme: Scheme = "theta"
    theta: ThetaValue = 0.5
    law: AnyLaw = "unilateral-velocity"
    penalty_stiffness: PenaltyStiffness = 1e15
    penalty_viscosity: PenaltyViscosity = 4e9
    asperity_stiffness: AsperityStiffness = 1e12
    asperity_exponent: AsperityExponent = 1.0
    asperity_height: AsperityHeight = 5e-4
    asperity_damping: AsperityDamping = 0.0
    asperity_damping_exponent: AsperityDampingExponent = 0.0
    mass: Mass = "consistent"
    courant: Courant = 0.7071
    duration: Annotated[
        float | None,
        Quantity("s", "duration of the run; none: 1.25 transits after contact of the substrates", positive),
    ] = None

    def __post_init__(self) -> None:
        check_gap(self)


def rod(parameters: Parameters) -> Rod:
    """The rod of the reference."""
    p = parameters
    return Rod(p.length, p.young, p.density, p.velocity)


def duration(parameters: Parameters) -> float:
    """End of the run, s."""
    p = parameters
    return p.gap / p.velocity + 1.25 * rod(p).transit if p.duration is None else p.duration


def step(parameters: Parameters) -> float:
    """Δt, s."""
    p = parameters
    return p.courant * p.length / p.elements / rod(p).wave_speed


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    material = aq.LinearElastic(young=p.young, density=p.density)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, p.length, cells=p.elements), material, mass=p.mass)
    wall = aq.RigidPlane(point=p.length + p.gap, normal=-1.0)
    contact = aq.Interface("contact", bar.boundary("right"), wall, laws_of(p))
    system = aq.System([bar], interfaces=[contact], velocity=(p.velocity,))
    return aq.Study(system, scheme_of(p.scheme, p.theta), duration(p), step(p))


def reference(parameters: Parameters) -> Any:
    """Exact solution (unilateral) or integrated delay equation, up to two steps past the end of the run."""
    p = parameters
    return rod_contact(p, rod(p), None, p.gap, duration(p) + 2.0 * step(p))


def tolerance(parameters: Parameters) -> float:
    """L1 tolerance: 1 % at 400 elements with Δt = h/c; order h^(2/3), as the pressure has a jump."""
    p = parameters
    return 0.01 * (400.0 / p.elements * max(p.courant, 1.0)) ** (2.0 / 3.0)


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    exact = reference(parameters)
    limit = tolerance(parameters)
    velocity = Check(
        "velocity of the bar's centre", rigid_velocity(result, "bar"),
        float(exact.mean_velocity("left", end_time(result))), limit * parameters.velocity, "m/s",
        "absolute",
    )  # fmt: skip
    return [*pressure_checks(result, exact, limit), velocity, *energy_checks(result)]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return bar_scalars(result, parameters.velocity, -centre_velocity(result, "x"))


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    return bar_figures(result, reference(parameters), parameters.law)
