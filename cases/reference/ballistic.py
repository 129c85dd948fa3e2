"""Free fall in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any


@dataclass(frozen=True)
class FreeFall:
    """Free fall with initial downward velocity v, m/s, under gravity g, m/s².

    >>> round(FreeFall(10.0, 10.0).time(15.0), 12)
    1.0
    """

    velocity: float
    gravity: float

    def depth(self, t: Any) -> Any:
        """v t + ½ g t², m."""
        return self.velocity * t + 0.5 * self.gravity * t**2

    def speed(self, t: Any) -> Any:
        """v + g t, m/s."""
        return self.velocity + self.gravity * t

    def time(self, depth: float) -> float:
        """Time to fall a given depth, s."""
        v, g = self.velocity, self.gravity
        return 2.0 * depth / (v + sqrt(v**2 + 2.0 * g * depth)) if depth else 0.0
