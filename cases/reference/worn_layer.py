"""Wear of a rigid rounded pin on an elastic layer in sliding.

The pin is rigid, z(x) = x²/(2R) over |x| ≤ L, its layer a row of springs κ (Pa/m); under F (N/m), with the approach d,

    p(x) = κ ⟨d − z − h⟩₊,    ∫ p dx = F,    dh/ds = k p,    s the sliding distance.

The worn volume is always k F s. If wear is large compared with the compression of the layer, the pin becomes flat over
|x| ≤ b with ⅔ b³/R = k F s, and the pressure uniform.
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

    def volume(self, distance: float) -> float:
        """Worn volume k F s per depth, m²."""
        return self.coefficient * self.force * distance

    def flat(self, distance: float) -> float:
        """Half-width b of the flat of a stiff pin, m."""
        return self.radius * float(1.5 * self.volume(distance) / self.radius**2) ** (1.0 / 3.0)

    def flat_depth(self, x: Array, distance: float) -> Array:
        """Worn depth of a stiff pin at x, m."""
        return np.maximum(self.flat(distance) ** 2 - x**2, 0.0) / (2.0 * self.radius)

    def depth(self, x: Array, distance: float) -> Array:
        """Worn depth at x after the sliding distance, m."""
        grid = np.linspace(0.0, self.width, self.points)
        shape = grid**2 / (2.0 * self.radius)
        weights = np.full(grid.size, 2.0 * grid[1])
        weights[[0, -1]] *= 0.5

        def wear_rate(s: float, depth: Array) -> Array:
            return self.coefficient * self._pressure(shape + depth, weights)

        solution = solve_ivp(
            wear_rate, (0.0, distance), np.zeros(grid.size), method="RK45", rtol=1e-6, atol=1e-6 * self._scale(distance)
        )
        return np.interp(np.abs(x), grid, solution.y[:, -1])

    def _scale(self, distance: float) -> float:
        return self.flat(distance) ** 2 / (2.0 * self.radius)

    def _pressure(self, height: Array, weights: Array) -> Array:
        """p at the heights of the worn surface above its lowest point; the lowest points carry F."""
        order = np.argsort(height)
        w, z = np.cumsum(weights[order]), np.cumsum((weights * height)[order])
        approach = (self.force / self.stiffness + z) / w  # for each number of points in contact
        last_in_contact = np.flatnonzero(approach > height[order])[-1]
        return self.stiffness * np.maximum(approach[last_in_contact] - height, 0.0)
