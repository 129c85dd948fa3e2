"""Line contact of a rigid cylinder on a layer of asperities on a rigid plane, in closed form."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import beta

from arlequin.models.types import Array


@dataclass(frozen=True)
class LineLayer:
    """Relative radius R (m); p = κ ⟨crush⟩^m, κ = stiffness in Pa/m^m.

    Crushed by δ in the middle, by δ − x²/2R at x (parabola of the circle): half-width b = √(2Rδ) and

        F/L = κ δ^m b B(½, m + 1)        (m = 1: κ (4/3) δ √(2Rδ))

    >>> layer = LineLayer(4.75e-3, 5e12)
    >>> round(1e6 * float(layer.crush(5e3)), 2), round(1e3 * float(layer.half_width(5e3)), 3)
    (3.9, 0.192)
    """

    radius: float
    stiffness: float
    exponent: float = 1.0

    def load(self, crush: Array | float) -> Any:
        """Force per length, N/m, at the crush δ (m) of the middle."""
        crush = np.maximum(crush, 0.0)
        return self._factor * (crush / self.radius) ** (self.exponent + 0.5)

    def tangent(self, crush: Array | float) -> Any:
        """d(F/L)/dδ, N/m²."""
        share = np.maximum(crush, 0.0) / self.radius
        return self._factor / self.radius * (self.exponent + 0.5) * share ** (self.exponent - 0.5)

    def crush(self, load: Array | float) -> Any:
        """Crush of the middle, m, under a force per length, N/m."""
        return self.radius * (np.asarray(load) / self._factor) ** (1.0 / (self.exponent + 0.5))

    def half_width(self, load: Array | float) -> Any:
        """Half-width b, m, under a force per length, N/m."""
        return np.sqrt(2.0 * self.radius * self.crush(load))

    def peak(self, crush: Array | float) -> Any:
        """Pressure of the middle, Pa."""
        return self.stiffness * np.maximum(crush, 0.0) ** self.exponent

    @property
    def _factor(self) -> float:
        """F/L at δ = R, N/m."""
        shape = np.sqrt(2.0) * beta(0.5, self.exponent + 1.0)
        return float(self.stiffness * self.radius**self.exponent * self.radius * shape)
