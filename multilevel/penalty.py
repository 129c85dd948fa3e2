"""Penalised unilateral contact, in displacement and in velocity."""

from dataclasses import dataclass
from typing import Literal

from models.checks import positive
from multilevel.asperities import Asperities


def Penalty(stiffness: float) -> Asperities:
    """Displacement penalty p = κ ⟨−g⟩₊, κ = `stiffness` in Pa/m: a linear asperity layer of no height."""
    return Asperities(positive("stiffness", stiffness), exponent=1.0, height=0.0)


@dataclass(frozen=True)
class PerturbedLagrangian:
    """Displacement penalty with a multiplier, 0 ≤ p ⊥ g + p/κ ≥ 0, κ = `stiffness` in Pa/m.

    The same pressure as `Penalty` at the end of the step, p = κ ⟨−g⟩₊, without an energy of its own: its work counts
    as `impact`.
    """

    stiffness: float
    level: Literal["gap", "velocity"] = "gap"

    def __post_init__(self) -> None:
        positive("stiffness", self.stiffness)

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
        positive("viscosity", self.viscosity)

    @property
    def compliance(self) -> float:
        return 1.0 / self.viscosity
