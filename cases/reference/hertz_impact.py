"""Hertzian impact of spheres in closed form: duration, peak force and force history.

Quasi-static contact, F = K δ^{3/2} with K = (4/3) E* √R, between bodies of reduced mass m* (1/m* = Σ 1/m_i, a fixed
body adds nothing) that approach at V: m* δ̈ = −K δ^{3/2}, whose energy integral is ½ m* (V² − δ̇²) = (2/5) K δ^{5/2}. So

    δ_max = (5 m* V²/(4K))^{2/5} = (15 m* V²/(16 E* √R))^{2/5},      δ̇ = ± V √(1 − (δ/δ_max)^{5/2}),
    t(δ) = (δ_max/V) ∫₀^{δ/δ_max} dx/√(1 − x^{5/2}) = (T/2) I((δ/δ_max)^{5/2}; 2/5, 1/2)          (compression),
    T = (4/5) B(2/5, 1/2) δ_max/V = (4√π/5) Γ(2/5)/Γ(9/10) δ_max/V = 2.94328 δ_max/V
      = 2.86827 (m*²/(R E*² V))^{1/5},

I the regularised incomplete beta function; restitution mirrors compression. Valid if T is many wave transits through
the bodies: (V/c)^{1/5} ≪ 1. Source: K. L. Johnson, Contact Mechanics, 1985, §11.4; the inversion is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import beta, betaincinv

from arlequin.cases.reference.hertz import SphereContact
from arlequin.models import checks
from arlequin.models.types import Array

APPROACHES = 0.8 * float(beta(0.4, 0.5))  # T V/δ_max = 2.94328


@dataclass(frozen=True)
class SphereImpact:
    """Effective radius (m) and modulus (Pa), reduced mass (kg), closing velocity (m/s); contact from `start` (s)."""

    radius: float
    modulus: float
    mass: float
    velocity: float
    start: float = 0.0

    def __post_init__(self) -> None:
        for name in ("radius", "modulus", "mass", "velocity"):
            checks.positive(name, getattr(self, name))
        checks.non_negative("start", self.start)

    @property
    def stiffness(self) -> float:
        """K R^{3/2} = (4/3) E* R², N: the force at δ = R; non-integer powers are those of ratios."""
        return 4 / 3 * self.modulus * self.radius**2

    @property
    def largest_approach(self) -> float:
        """δ_max, m."""
        return self.radius * (1.25 * self.mass * self.velocity**2 / (self.stiffness * self.radius)) ** 0.4

    @property
    def duration(self) -> float:
        """T, s."""
        return APPROACHES * self.largest_approach / self.velocity

    @property
    def peak(self) -> SphereContact:
        """The contact at the largest approach: its load is the peak force."""
        return SphereContact.of_approach(self.radius, self.modulus, self.largest_approach)

    def _energy_share(self, t: ArrayLike) -> Array:
        """(δ/δ_max)^{5/2}, the stored fraction of the kinetic energy; zero outside the contact."""
        phase = 2 * (np.asarray(t, dtype=float) - self.start) / self.duration
        return np.asarray(betaincinv(0.4, 0.5, np.clip(np.where(phase > 1, 2 - phase, phase), 0.0, 1.0)))

    def approach(self, t: ArrayLike) -> Array:
        """δ, m; zero outside the contact."""
        return self.largest_approach * self._energy_share(t) ** 0.4

    def force(self, t: ArrayLike) -> Array:
        """F = K δ^{3/2}, N."""
        return self.stiffness * (self.approach(t) / self.radius) ** 1.5

    def impulse(self, t: ArrayLike) -> Array:
        """∫ F dt up to t: m* (V − δ̇), N·s; 2 m* V after the contact."""
        moving = np.sqrt(1.0 - self._energy_share(t))
        middle = self.start + 0.5 * self.duration
        return self.mass * self.velocity * (1.0 - np.where(np.asarray(t) <= middle, moving, -moving))
