"""Penalised unilateral contact, in displacement and in velocity."""

from dataclasses import dataclass
from typing import Literal

from arlequin.models.checks import hold, non_negative, one_of, positive
from arlequin.multilevel.laws.asperities import Asperities


def Penalty(stiffness: float) -> Asperities:
    """Displacement penalty p = κ ⟨−g⟩₊, κ = `stiffness` in Pa/m: a linear asperity layer of no height."""
    return Asperities(positive("stiffness", stiffness), exponent=1.0, height=0.0)


def ImpactElement(stiffness: float, damping: float = 0.0) -> Asperities:
    """Normal part of a shock element: while g < 0, p = ⟨−K g − C ġ⟩₊; K = `stiffness` in Pa/m, C = `damping` in Pa·s/m.

    A spring and a dashpot side by side that cannot pull: as a layer of no height, damped both ways. Over a step the
    spring's mean is a discrete gradient, and the dashpot takes −C Δg/Δt times the share of the path with g < 0, at most
    what the spring gives: its loss is never negative. A point mass has the area 1 m²: K in N/m, C in N·s/m. With
    `Coulomb(μ, stiffness=K_T)` it is the element DIS_CHOC of Code_Aster (V5.01.100).
    """
    damping = non_negative("damping", damping)
    return Asperities(positive("stiffness", stiffness), damping=damping, damping_exponent=0.0, damping_acts="both")


@dataclass(frozen=True)
class PerturbedLagrangian:
    """Displacement penalty with a multiplier, 0 ≤ p ⊥ g + p/κ ≥ 0, κ = `stiffness` in Pa/m.

    The same pressure as `Penalty` at the end of the step, p = κ ⟨−g⟩₊, without an energy of its own: its work counts
    as `impact`.
    """

    stiffness: float
    level: Literal["gap", "velocity"] = "gap"

    def __post_init__(self) -> None:
        hold(self, stiffness=positive)
        one_of("level", self.level, ("gap", "velocity"))

    @property
    def compliance(self) -> float:
        return 1.0 / self.stiffness


@dataclass(frozen=True)
class VelocityPenalty:
    """Velocity penalty p = κ_v ⟨−ġ⟩₊ while g ≤ 0, κ_v = `viscosity` in Pa·s/m.

    The penalised twin of velocity-level contact: as a set-valued law with the compliance 1/κ_v, since
    p = κ_v ⟨−ġ⟩₊  ⇔  0 ≤ p ⊥ ġ + p/κ_v ≥ 0, on the same velocity (the end of the step) as its limit κ_v → ∞.
    """

    viscosity: float
    level: Literal["gap", "velocity"] = "velocity"

    def __post_init__(self) -> None:
        hold(self, viscosity=positive)
        one_of("level", self.level, ("gap", "velocity"))

    @property
    def compliance(self) -> float:
        return 1.0 / self.viscosity
