"""Choices that several cases share: schemes, laws and masses by name, and the parameters of asperities."""

from typing import Any, Literal

import arlequin as aq
from cases.reference.interface import ContactLaw

SchemeName = Literal[
    "theta",
    "newmark",
    "hht",
    "modified-mean-acceleration",
    "generalised-alpha",
    "midpoint",
    "central-difference",
]
MassName = Literal["consistent", "lumped", "redistributed"]


def scheme_of(name: SchemeName, theta: float) -> Any:
    """The scheme of that name; `theta` belongs to "theta", the others have their recommended constants."""
    makers = {
        "theta": lambda: aq.Theta(theta),
        "newmark": lambda: aq.Newmark(),
        "hht": lambda: aq.HHT(-0.05),
        "modified-mean-acceleration": lambda: aq.ModifiedMeanAcceleration(-0.05),
        "generalised-alpha": lambda: aq.GeneralisedAlpha.with_radius(0.8),
        "midpoint": lambda: aq.Midpoint(),
        "central-difference": lambda: aq.CentralDifference(),
    }
    return makers[name]()


def laws_of(parameters: Any) -> tuple[Any, ...]:
    """The interface laws of a case's parameters (`law` and the constants that it needs)."""
    p = parameters
    if p.law == "unilateral":
        return (aq.Unilateral(level="gap"),)
    if p.law == "unilateral-velocity":
        return (aq.Unilateral(level="velocity"),)
    if p.law == "penalty":
        return (aq.Penalty(p.penalty_stiffness),)
    if p.law == "penalty-velocity":
        return (aq.VelocityPenalty(p.penalty_viscosity),)
    asperities = aq.Asperities(
        p.asperity_stiffness,
        p.asperity_exponent,
        p.asperity_height,
        p.asperity_damping,
        p.asperity_damping_exponent,
    )
    return (asperities,) if p.law == "asperities" else (asperities, aq.Unilateral(level="velocity"))


def reference_law(parameters: Any) -> ContactLaw:
    """The same law for the delay equation."""
    p = parameters
    if p.law in ("unilateral", "unilateral-velocity"):
        return ContactLaw(unilateral=True)
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
