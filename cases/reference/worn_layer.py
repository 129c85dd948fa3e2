"""Wear of a rigid rounded pin on an elastic layer in sliding.

The pin is rigid, z(x) = x²/(2R) over |x| ≤ L, and its layer a row of springs κ (Pa/m): pressed by F (N/m), sunk by d,

    p(x) = κ ⟨d − z − h⟩₊,    ∫ p dx = F,    dh/ds = k p,    s the way of sliding.

The worn volume is k F s whatever the rest. Where wear is much more than the layer yields, the pin becomes flat over
|x| ≤ b with ⅔ b³/R = k F s, and the pressure even.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from arlequin.models.types import Array


@dataclass(frozen=True)
class WornPin:
    """radius R (m), force F (N/m), stiffness κ of the layer (Pa/m), wear coefficient k (1/Pa), half-width L (m)."""

    radius: float
    force: float
    stiffness: float
    coefficient: float
    width: float
    points: int = 2001

    def volume(self, way: float) -> float:
        """Worn volume k F s per depth, m²."""
        return self.coefficient * self.force * way

    def flat(self, way: float) -> float:
        """Half-width b of the flat of a stiff pin, m."""
        return self.radius * float(1.5 * self.volume(way) / self.radius**2) ** (1.0 / 3.0)

    def flat_depth(self, x: Array, way: float) -> Array:
        """Worn depth of a stiff pin at x, m."""
        return np.maximum(self.flat(way) ** 2 - x**2, 0.0) / (2.0 * self.radius)

    def depth(self, x: Array, way: float) -> Array:
        """Worn depth at x after the way, m."""
        grid = np.linspace(0.0, self.width, self.points)
        shape = grid**2 / (2.0 * self.radius)
        weights = np.full(grid.size, 2.0 * grid[1])
        weights[[0, -1]] *= 0.5

        def worn(s: float, depth: Array) -> Array:
            return self.coefficient * self._pressure(shape + depth, weights)

        found = solve_ivp(worn, (0.0, way), np.zeros(grid.size), method="RK45", rtol=1e-6, atol=1e-6 * self._scale(way))
        return np.interp(np.abs(x), grid, found.y[:, -1])

    def _scale(self, way: float) -> float:
        return self.flat(way) ** 2 / (2.0 * self.radius)

    def _pressure(self, height: Array, weights: Array) -> Array:
        """p at the heights of the worn surface over its lowest point: those that carry F are the lowest ones."""
        order = np.argsort(height)
        w, z = np.cumsum(weights[order]), np.cumsum((weights * height)[order])
        sunk = (self.force / self.stiffness + z) / w  # where so many points carry
        carrying = np.flatnonzero(sunk > height[order])[-1]
        return self.stiffness * np.maximum(sunk[carrying] - height, 0.0)
