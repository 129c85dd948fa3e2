"""Static elastic bar on a wall with asperities and unilateral contact, in closed form.

Bar of length L, modulus E; the far end moves by U towards the wall, the substrates are g₀ apart at U = 0.
With compliance e = L/E the bar shortens by e p, hence g = g₀ − U + e p; p = κ⟨a − g⟩^m + λ, 0 ≤ g ⊥ λ ≥ 0.
With the crush x = a − g and s = a − g₀ + U:

    s ≤ 0:                   x = s, p = 0
    0 < s ≤ a + e κ a^m:     x + e κ x^m = s        (strictly monotone)
    s > a + e κ a^m:         x = a, p = (s − a)/e

m = 1: x = s/(1 + eκ); m = 2: x = 2s/(1 + √(1 + 4eκs)); else Newton, to round-off.
Energies per m²: bar e p²/2, asperities κ x^{m+1}/(m + 1); λ acts at g = 0 without work, so their sum is the work ∫ p
dU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from arlequin.cases.reference.rods import require, require_non_negative, require_positive
from arlequin.models.types import Array


@dataclass(frozen=True)
class PressedBar:
    """Bar (length, young) on asperities (stiffness Pa/m^m, exponent, height m), substrates `gap` m apart."""

    length: float
    young: float
    stiffness: float
    exponent: float
    height: float
    gap: float
    unilateral: bool = True

    def __post_init__(self) -> None:
        require_positive(length=self.length, young=self.young)
        require_non_negative(stiffness=self.stiffness, height=self.height, gap=self.gap)
        require(
            math.isfinite(self.exponent) and self.exponent >= 1,
            "exponent",
            self.exponent,
            "must be at least 1",
        )
        require(self.gap >= self.height, "gap", self.gap, "must be at least the asperity height")

    @property
    def compliance(self) -> float:
        """e = L/E, m/Pa."""
        return self.length / self.young

    @property
    def crushing_pressure(self) -> float:
        """Asperity pressure at complete crushing, κ a^m, Pa."""
        return self.stiffness * self.height**self.exponent

    @property
    def crushing_displacement(self) -> float:
        """Displacement at complete crushing, g₀ + e κ a^m, m."""
        return self.gap + self.compliance * self.crushing_pressure

    def crush(self, displacement: ArrayLike) -> Array:
        """x = a − g, m; negative without contact."""
        s = np.asarray(displacement, dtype=float) - (self.gap - self.height)
        ke, m = self.compliance * self.stiffness, self.exponent
        positive = np.maximum(s, 0.0)
        if ke == 0.0:
            x = positive
        elif m == 1.0:
            x = positive / (1 + ke)
        elif m == 2.0:
            x = 2 * positive / (1 + np.sqrt(1 + 4 * ke * positive))
        else:
            x = self._newton(positive, ke, m)
        if self.unilateral:
            x = np.minimum(x, self.height)
        return np.where(s <= 0, s, x)

    @staticmethod
    def _newton(s: Array, ke: float, m: float) -> Array:
        """Root of x + ke x^m = s: convex and increasing, so that Newton's method from above decreases monotonically."""
        x = np.minimum(s, (s / ke) ** (1 / m))
        for _ in range(100):
            next_x = np.minimum(x, x - (x + ke * x**m - s) / (1 + ke * m * x ** (m - 1)))
            if np.array_equal(next_x, x):
                break
            x = next_x
        return x

    def pressure(self, displacement: ArrayLike) -> Array:
        """Contact pressure p = κ⟨x⟩^m + λ, Pa."""
        asperity, substrate = self.parts(displacement)
        return asperity + substrate

    def parts(self, displacement: ArrayLike) -> tuple[Array, Array]:
        """Asperity pressure and substrate pressure λ, Pa."""
        u = np.asarray(displacement, dtype=float)
        asperity = self.stiffness * np.maximum(self.crush(u), 0.0) ** self.exponent
        substrate = np.maximum(u - self.crushing_displacement, 0.0) / self.compliance
        return asperity, substrate if self.unilateral else np.zeros_like(substrate)

    def gap_at(self, displacement: ArrayLike) -> Array:
        """Distance of the substrates, m."""
        return self.height - self.crush(displacement)

    def displacement(self, pressure: ArrayLike) -> Array:
        """Inverse: imposed displacement for a positive contact pressure, m."""
        p = np.asarray(pressure, dtype=float)
        elastic = np.minimum(p, self.crushing_pressure) if self.unilateral else p
        x = (elastic / self.stiffness) ** (1 / self.exponent) if self.stiffness > 0 else np.full(p.shape, self.height)
        return self.gap - self.height + x + self.compliance * p

    def bar_energy(self, displacement: ArrayLike) -> Array:
        """e p²/2, J/m²."""
        return 0.5 * self.compliance * self.pressure(displacement) ** 2

    def asperity_energy(self, displacement: ArrayLike) -> Array:
        """κ x^{m+1}/(m + 1), J/m²."""
        x = np.maximum(self.crush(displacement), 0.0)
        return self.stiffness * x ** (self.exponent + 1) / (self.exponent + 1)
