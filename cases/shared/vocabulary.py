"""Vocabulary of the cases: parameters with unit and range; schemes, laws and mass matrices by name."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import arlequin as aq
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.bars import Collision, collide
from arlequin.cases.reference.interface import ContactLaw, RodContact, touch
from arlequin.cases.reference.rods import Rod
from arlequin.models.checks import non_negative, positive, positive_integer, within

STEEL = 7800.0  # kg/m³

SchemeName = Literal[
    "theta",
    "newmark",
    "hht",
    "modified-mean-acceleration",
    "generalised-alpha",
    "midpoint",
    "central-difference",
]
ExplicitName = Literal["symplectic-euler", "de-vogelaere", "runge-kutta"]
MassName = Literal["consistent", "lumped", "redistributed"]
EventsName = Literal["step", "locate"]

# types of parameters; a case adds name and default
Young = Annotated[float, Quantity("Pa", "Young's modulus", positive)]
Poisson = Annotated[float, Quantity("", "Poisson's ratio", within, 0.0, 0.499)]
Density = Annotated[float, Quantity("kg/m^3", "density", positive)]
YieldStress = Annotated[float, Quantity("Pa", "initial yield stress", positive)]
Saturation = Annotated[float, Quantity("Pa", "saturation stress Q of Voce's law", non_negative)]
SaturationRate = Annotated[float, Quantity("", "exponent b of Voce's law", positive)]
Hardening = Annotated[float, Quantity("Pa", "linear hardening modulus", non_negative)]
Scheme = Annotated[SchemeName, Quantity("", "time scheme")]
ThetaValue = Annotated[float, Quantity("", "θ of the θ-scheme", within, 0.5, 1.0)]
Events = Annotated[
    EventsName, Quantity("", "contact events at the end of their step, or located inside it (theta = 0.5)")
]
Mass = Annotated[MassName, Quantity("", "mass matrix")]
Courant = Annotated[float, Quantity("", "Courant number c Δt/h", positive)]
FieldsEvery = Annotated[int, Quantity("", "steps between two recorded fields", positive_integer)]
PenaltyStiffness = Annotated[float, Quantity("Pa/m", "penalty stiffness, law=penalty", positive)]
PenaltyViscosity = Annotated[float, Quantity("Pa s/m", "penalty viscosity, law=penalty-velocity", positive)]
AsperityStiffness = Annotated[
    float, Quantity("Pa/m^m", "asperity stiffness κ in p = κ⟨a − g⟩^m", positive, largest=1e100)
]
AsperityExponent = Annotated[float, Quantity("", "asperity exponent m", within, 1.0, 100.0)]
AsperityHeight = Annotated[float, Quantity("m", "asperity height a", non_negative)]
AsperityDamping = Annotated[
    float, Quantity("Pa s/m^(1+m')", "asperity damping c in c⟨a − g⟩^m' ⟨−ġ⟩", non_negative, largest=1e100)
]
AsperityDampingExponent = Annotated[float, Quantity("", "exponent m' of the asperity damping", non_negative)]
PlainLaw = Annotated[
    Literal["unilateral", "unilateral-velocity", "penalty", "penalty-velocity"], Quantity("", "contact law")
]
AnyLaw = Annotated[
    Literal["unilateral", "unilateral-velocity", "penalty", "penalty-velocity", "asperities", "multilevel"],
    Quantity("", "contact law"),
]


def scheme_of(name: SchemeName | ExplicitName, theta: float, events: EventsName = "step") -> Any:
    """Time scheme by name; `theta` and `events` apply to "theta", other schemes have their recommended constants."""
    if events == "locate" and name != "theta":
        raise aq.UserError.parameter("scheme", name, 'must be theta with events="locate"')
    makers = {
        "theta": lambda: aq.Theta(theta, events),
        "newmark": lambda: aq.Newmark(),
        "hht": lambda: aq.HHT(-0.05),
        "modified-mean-acceleration": lambda: aq.ModifiedMeanAcceleration(-0.05),
        "generalised-alpha": lambda: aq.GeneralisedAlpha.with_radius(0.8),
        "midpoint": lambda: aq.Midpoint(),
        "central-difference": lambda: aq.CentralDifference(),
        "symplectic-euler": lambda: aq.SymplecticEuler(),
        "de-vogelaere": lambda: aq.DeVogelaere(),
        "runge-kutta": lambda: aq.RungeKutta(),
    }
    return makers[name]()


def steel_of(parameters: Any) -> aq.J2:
    """J2 material with linear and Voce hardening, from the parameters of a case."""
    p = parameters
    hardening = aq.LinearHardening(p.hardening), aq.Voce(p.saturation, p.rate)
    return aq.J2(p.young, p.poisson, STEEL, p.yield_stress, hardening)


def _asperities(parameters: Any) -> aq.Asperities:
    p = parameters
    return aq.Asperities(
        p.asperity_stiffness, p.asperity_exponent, p.asperity_height, p.asperity_damping, p.asperity_damping_exponent
    )


LAWS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "unilateral": lambda p: (aq.Unilateral(level="gap"),),
    "unilateral-velocity": lambda p: (aq.Unilateral(level="velocity"),),
    "penalty": lambda p: (aq.Penalty(p.penalty_stiffness),),
    "penalty-velocity": lambda p: (aq.VelocityPenalty(p.penalty_viscosity),),
    "asperities": lambda p: (_asperities(p),),
    "multilevel": lambda p: (_asperities(p), aq.Unilateral(level="velocity")),
}


def laws_of(parameters: Any) -> tuple[Any, ...]:
    """Interface laws of the parameter `law`, with its constants."""
    return LAWS[parameters.law](parameters)


def check_gap(parameters: Any) -> None:
    """UserError if asperities are compressed in the initial state: gap < asperity_height."""
    p = parameters
    if p.law in ("asperities", "multilevel") and p.gap < p.asperity_height:
        rule = f"must be at least asperity_height = {p.asperity_height:g}: asperities must not be compressed initially"
        raise aq.UserError.parameter("gap", p.gap, rule)


def reference_law(parameters: Any) -> ContactLaw:
    """Law of the delay equation for the parameter `law`."""
    p = parameters
    if p.law == "penalty":
        return ContactLaw(stiffness=p.penalty_stiffness)
    if p.law == "penalty-velocity":
        return ContactLaw(damping=p.penalty_viscosity)
    return ContactLaw(
        stiffness=p.asperity_stiffness,
        exponent=p.asperity_exponent,
        height=p.asperity_height,
        damping=p.asperity_damping,
        damping_exponent=p.asperity_damping_exponent,
        unilateral=p.law == "multilevel",
    )


def rod_contact(parameters: Any, left: Rod, right: Rod | None, gap: float, end: float) -> Collision | RodContact:
    """Contact of two rods (right = None: a rigid wall) up to `end`, s, under the parameter `law`.

    Exact (d'Alembert) under unilateral contact, else the integrated delay equation.
    """
    if parameters.law.startswith("unilateral"):
        return collide(left, right, gap, end)
    return touch(left, right, reference_law(parameters), gap, end)
