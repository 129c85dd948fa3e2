"""Compliance of the rim of a free elastic disc (plane strain) under a point force: rigid, modal and static parts.

Units: R = 1, G = 1, ρ = 1, so that c_t = 1 and m = π. A point force F at θ = 0, along the normal or the tangent, is the
traction F/(2π) (1 + 2 Σ cos nθ) on the rim; the displacement along it is u = Σ_n w_n D_n(ω) F, w_0 = 1/2π, w_n = 1/π,
with D_n the displacement of the harmonic n (`arlequin.cases.reference.disc`) by its own traction. Each D_n is a sum
over modes,

    w_n D_n(ω) = Σ_k r_k/(ω_k² − ω²)        r_k = −w_n d/(dp/dω²) at ω_k, with D_n = d/p, p the determinant,

ω = 0 with r = 1/m (n = 1, both directions) and R²/I = 2/m (n = 0, tangent) among them. Statics of n ≥ 2 (Michell):

    D_n(0) = (1/4G) (1/(n − 1) + κ/(n + 1)),   κ = 3 − 4ν,    normal and tangential.

Hence near the force u/F = −(2/πE*) ln θ + C, with E* = 2G/(1 − ν) and the constant C of the direction:

    C = w_0 E_0 + (1/π) E_1 − 3κ/(8πG),        E_n the D_n without its rigid motion at ω = 0.

Source: the potentials are Love's (1927), the statics Michell's; the residues and sums are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from arlequin.cases.reference.disc import rim_rows
from arlequin.models import checks
from arlequin.models.types import Array

NORMAL, TANGENT = 0, 1


@dataclass(frozen=True)
class DiscRim:
    """Disc of Poisson's ratio ν with modes of n ≤ `harmonics` up to ω = `highest` c_t/R."""

    poisson: float
    harmonics: int = 8
    highest: float = 12.0

    def __post_init__(self) -> None:
        checks.within("poisson", self.poisson, 0.0, 0.49)

    @property
    def _ratio(self) -> float:
        """λ/μ."""
        return 2 * self.poisson / (1 - 2 * self.poisson)

    def _parts(self, n: int, direction: int, rate: float) -> tuple[float, float]:
        """(d, p) of the harmonic's D_n = d/p at ω = `rate`."""
        stress, displacements = rim_rows(n, rate / math.sqrt(2 + self._ratio), rate, self._ratio)
        stress[0] *= 2.0
        if n == 0:  # only φ has normal, only ψ tangential displacements
            return float(displacements[direction, direction]), float(stress[direction, direction])
        (a, b), (c, d) = stress
        null_vector = np.array([d, -c]) if direction == NORMAL else np.array([-b, a])
        return float(displacements[direction] @ null_vector), float(a * d - b * c)

    def compliance(self, n: int, direction: int, rate: float) -> float:
        """w_n D_n(ω) at ω = `rate`."""
        numerator, determinant = self._parts(n, direction, rate)
        return _weight(n) * numerator / determinant

    @cached_property
    def modes(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """ω_k (k,) and r_k (k,) of the vibrations, along the normal and along the tangent."""
        return self._modes(NORMAL), self._modes(TANGENT)

    def _modes(self, direction: int) -> tuple[Array, Array]:
        modes = []
        for n in range(self.harmonics + 1):

            def determinant(rate: float, n: int = n) -> float:
                return self._parts(n, direction, rate)[1]

            omegas = np.linspace(0.3, self.highest, round(40 * self.highest))
            values = np.array([determinant(rate) for rate in omegas])
            for k in np.flatnonzero(values[:-1] * values[1:] < 0):
                omega = brentq(determinant, omegas[k], omegas[k + 1], xtol=1e-14)
                slope = (determinant(omega + 1e-5) - determinant(omega - 1e-5)) / 2e-5
                residue = -_weight(n) * self._parts(n, direction, omega)[0] * 2 * omega / slope
                modes.append((omega, residue))
        omegas, residues = np.array(modes).T
        return omegas, residues

    def rigid(self, direction: int) -> float:
        """r of ω = 0: 1/m along the normal, 1/m + R²/I = 3/m along the tangent."""
        return (1.0 if direction == NORMAL else 3.0) / math.pi

    @cached_property
    def constants(self) -> tuple[float, float]:
        """C along the normal and along the tangent."""
        kappa = 3 - 4 * self.poisson
        elastic = [self._elastic(0, direction) + self._elastic(1, direction) for direction in (NORMAL, TANGENT)]
        return elastic[NORMAL] - 3 * kappa / (8 * math.pi), elastic[TANGENT] - 3 * kappa / (8 * math.pi)

    def _elastic(self, n: int, direction: int) -> float:
        """w_n E_n: limit of w_n D_n + r/ω² for ω → 0, by Richardson's extrapolation in ω²."""
        rigid = {(0, NORMAL): 0.0, (0, TANGENT): 2.0}.get((n, direction), 1.0) / math.pi
        low, high = (self.compliance(n, direction, rate) + rigid / rate**2 for rate in (0.05, 0.1))
        return (4 * low - high) / 3


def _weight(n: int) -> float:
    """w_n."""
    return (0.5 if n == 0 else 1.0) / math.pi
