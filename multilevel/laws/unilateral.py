"""Unilateral contact: Signorini's conditions on the gap, or Moreau's on the velocity."""

from dataclasses import dataclass
from typing import Literal

from arlequin.models.checks import one_of


@dataclass(frozen=True)
class Unilateral:
    """Unilateral contact without parameters.

        level "velocity" (Signorini–Moreau, default):  g > 0 ⇒ λ = 0;  g ≤ 0 ⇒ 0 ≤ λ ⊥ ġ ≥ 0
        level "gap" (Signorini):                       0 ≤ λ ⊥ g ≥ 0

    With g(0) ≥ 0 the first implies the second, makes λ ġ = 0 (contact does no work) and is free of the spurious
    oscillations that the second shows with implicit time schemes. Which rate of a step closes:
    `arlequin.multilevel.solvers.closing`.

    Source: Moreau, in Nonsmooth Mechanics and Applications, CISM 302, Springer (1988) 1–82.
    """

    level: Literal["gap", "velocity"] = "velocity"

    def __post_init__(self) -> None:
        one_of("level", self.level, ("gap", "velocity"))

    @property
    def compliance(self) -> float:
        return 0.0
