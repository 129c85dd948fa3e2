"""Penalised unilateral contact, in displacement and in velocity."""

from dataclasses import dataclass
from typing import Literal

from arlequin.models.checks import check_fields, non_negative, one_of, positive
from arlequin.models.signatures import checked_call
from arlequin.multilevel.laws.asperities import Asperities


@checked_call
def Penalty(stiffness: float) -> Asperities:
    """Displacement penalty p = κ ⟨−g⟩₊, κ = `stiffness` in Pa/m: a linear asperity layer of zero height.

    At a single point the force is κ times its area: a stop of K N/m is `Interface(…, Penalty(K), area=1.0)`.
    """
    return Asperities(positive("stiffness", stiffness), exponent=1.0, height=0.0)


@checked_call
def ImpactElement(stiffness: float, damping: float = 0.0) -> Asperities:
    """Normal part of an impact element: while g < 0, p = ⟨−K g − C ġ⟩₊; K = `stiffness`, Pa/m, C = `damping`, Pa·s/m.

    A spring and a dashpot in parallel without tension: a layer of zero height that is damped both in loading and in
    unloading. Over a step the mean force of the spring is a discrete gradient, that of the dashpot −C Δg/Δt times the
    share of the path with g < 0, limited so that the sum is never tensile: its loss is never negative. A point mass has
    the area 1 m², as has the end of a beam or bar with `Interface(…, area=1.0)`: K in N/m, C in N·s/m. With
    `Coulomb(μ, stiffness=K_T)` it is the element DIS_CHOC of Code_Aster (V5.01.100).
    """
    damping = non_negative("damping", damping)
    return Asperities(positive("stiffness", stiffness), damping=damping, damping_exponent=0.0, damping_acts="both")


@checked_call
@dataclass(frozen=True)
class PerturbedLagrangian:
    """Displacement penalty with a multiplier, 0 ≤ p ⊥ g + p/κ ≥ 0, κ = `stiffness` in Pa/m.

    The same pressure as `Penalty` at the end of the step, p = κ ⟨−g⟩₊, without an energy of its own: its work counts
    as `impact`.
    """

    stiffness: float
    level: Literal["gap", "velocity"] = "gap"

    def __post_init__(self) -> None:
        check_fields(self, stiffness=positive)
        one_of("level", self.level, ("gap", "velocity"))

    @property
    def compliance(self) -> float:
        return 1.0 / self.stiffness

    @property
    def restitution(self) -> float:
        return 0.0


@checked_call
@dataclass(frozen=True)
class VelocityPenalty:
    """Velocity penalty p = κ_v ⟨−ġ⟩₊ while g ≤ 0, κ_v = `viscosity` in Pa·s/m.

    Penalised velocity-level contact, a set-valued law with the compliance 1/κ_v:
    p = κ_v ⟨−ġ⟩₊  ⇔  0 ≤ p ⊥ ġ + p/κ_v ≥ 0, on the same velocity (the end of the step) as its limit κ_v → ∞.
    """

    viscosity: float
    level: Literal["gap", "velocity"] = "velocity"

    def __post_init__(self) -> None:
        check_fields(self, viscosity=positive)
        one_of("level", self.level, ("gap", "velocity"))

    @property
    def compliance(self) -> float:
        return 1.0 / self.viscosity

    @property
    def restitution(self) -> float:
        return 0.0
