"""Comparison of a computed number with its reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from arlequin.models.checks import one_of

Kind = Literal["relative", "absolute", "at most", "at least"]


@dataclass(frozen=True)
class Check:
    """Comparison of a value with its reference under a tolerance.

    relative: |value − reference| ≤ tolerance |reference|; absolute: |value − reference| ≤ tolerance;
    at most: value ≤ reference + tolerance; at least: value ≥ reference − tolerance. A nan fails.

    >>> Check("impulse", 3.94e6, 3.95e6, 0.01, "N·s").passed
    True
    """

    name: str
    value: float
    reference: float = 0.0
    tolerance: float = 0.0
    unit: str = ""
    kind: Kind = "relative"

    def __post_init__(self) -> None:
        one_of("kind", self.kind, get_args(Kind))

    @property
    def error(self) -> float:
        """value − reference, divided by |reference| if kind is "relative"."""
        difference = self.value - self.reference
        if self.kind != "relative":
            return difference
        return difference / abs(self.reference) if self.reference else math.copysign(math.inf, difference or 1.0)

    @property
    def passed(self) -> bool:
        """Whether the value lies within the tolerance."""
        difference = self.value - self.reference
        if self.kind == "at most":
            return bool(difference <= self.tolerance)
        if self.kind == "at least":
            return bool(difference >= -self.tolerance)
        scale = abs(self.reference) if self.kind == "relative" else 1.0
        return bool(abs(difference) <= self.tolerance * scale)

    @property
    def limit(self) -> str:
        """The accepted range as text."""
        if self.kind == "relative":
            return f"± {100 * self.tolerance:.3g} %"
        if self.kind == "absolute":
            return f"± {self.tolerance:.3g}"
        bound = self.reference + (self.tolerance if self.kind == "at most" else -self.tolerance)
        return f"{'≤' if self.kind == 'at most' else '≥'} {bound:.4g}"
