"""Kogut and Etsion's theory: equal spherical summits of Gaussian heights, elastic-plastic beyond a critical depth."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models.checks import finite, positive, within
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough.summits import SummitStatistics

# pieces of P/P_c and A/A_c by ω/ω_c: from, factor and exponent of the load, of the area
_PIECES = (
    (0.0, (1.0, 1.5), (1.0, 1.0)),
    (1.0, (1.03, 1.425), (0.93, 1.136)),
    (6.0, (1.40, 1.263), (0.94, 1.146)),
)
_PLASTIC = 110.0  # ω/ω_c from which the contact is fully plastic: P = 2π R ω H, A = 2π R ω
_POINTS = 48  # Gauss points of a piece
_TAIL = 84.0  # twice the exponent that the density has fallen by where the integrals end: e^{−42}


@checked_call
@dataclass(frozen=True)
class KogutEtsion:
    """Spherical summits of radius R, η per area, of heights N(0, σ_s²), sinking ω = z − d into an elastic-plastic flat.

        p(d) = η ∫_0^∞ P(ω) φ(d + ω) dω,    A/A₀ = η ∫_0^∞ A(ω) φ(d + ω) dω,    d = gap − offset

        ω_c = (π K H/(2 E*))² R,  K = 0.454 + 0.41 ν,   P_c = 4/3 E* R^{1/2} ω_c^{3/2} = 2/3 K H π R ω_c,  A_c = π R ω_c

        s = ω/ω_c       P/P_c           A/A_c
        0–1             s^{3/2}         s               Hertz
        1–6             1.03 s^1.425    0.93 s^1.136    yield below the surface
        6–110           1.40 s^1.263    0.94 s^1.146    yield at the surface
        110–            3/K s           2 s             fully plastic: mean pressure H

    modulus E*, Pa; radius R, m; density η, 1/m²; height_deviation σ_s, m; hardness H of the softer solid, Pa (about
    2.8 times its yield stress); poisson ν of the softer solid; offset, m: mean height of the summits above the mean
    plane. The fits jump where they meet (at s = 110 by 8 % of the load): p(gap) is smooth all the same and the
    stiffness is its derivative, −η ∫ P(ω) φ'(d + ω) dω, jumps included. For loading: the theory has no unloading.
    As H → ∞ it is Greenwood and Williamson's; at a large plasticity index p = H A/A₀.

    Source: Kogut & Etsion, J. Appl. Mech. 69 (2002) 657–662 (one summit), Tribol. Trans. 46 (2003) 383–390 (many).
    """

    modulus: float
    radius: float
    density: float
    height_deviation: float
    hardness: float
    poisson: float = 0.3
    offset: float = 0.0

    def __post_init__(self) -> None:
        positive("modulus", self.modulus)
        positive("radius", self.radius)
        positive("density", self.density)
        positive("height_deviation", self.height_deviation)
        positive("hardness", self.hardness)
        within("poisson", self.poisson, 0.0, 0.5)
        finite("offset", self.offset)

    @classmethod
    def from_moments(
        cls, modulus: float, m0: float, m2: float, m4: float, hardness: float, poisson: float = 0.3
    ) -> "KogutEtsion":
        """Of an isotropic Gaussian roughness with the spectral moments of a profile: see `SummitStatistics`."""
        s = SummitStatistics(m0, m2, m4)
        return cls(modulus, s.radius, s.density, s.height_deviation, hardness, poisson, offset=s.mean_height)

    @property
    def hardness_factor(self) -> float:
        """K = 0.454 + 0.41 ν: the largest Hertz pressure at first yield over H."""
        return 0.454 + 0.41 * self.poisson

    @property
    def critical_depth(self) -> float:
        """ω_c, m."""
        return (0.5 * math.pi * self.hardness_factor * self.hardness / self.modulus) ** 2 * self.radius

    @property
    def plasticity_index(self) -> float:
        """ψ = √(σ_s/ω_c) = 2 E*/(π K H) √(σ_s/R): below 0.6 elastic, above 8 plastic, mostly."""
        return math.sqrt(self.height_deviation / self.critical_depth)

    def pressure(self, gap: ArrayLike) -> Array:
        return self._integral(gap, self._loads, 0)

    def area(self, gap: ArrayLike) -> Array:
        return self._integral(gap, self._areas, 0)

    def stiffness(self, gap: ArrayLike) -> Array:
        return self._integral(gap, self._loads, 1)

    @cached_property
    def _loads(self) -> tuple[tuple[float, float, float], ...]:
        """From ω/σ_s, factor, Pa, and exponent of ω/σ_s of η P(ω)."""
        critical = 4.0 / 3.0 * self.modulus * math.sqrt(self.radius) * self.critical_depth**1.5 * self.density
        pieces = [(start, critical * factor, power) for start, (factor, power), _ in _PIECES]
        return self._scaled([*pieces, (_PLASTIC, 3.0 / self.hardness_factor * critical, 1.0)])

    @cached_property
    def _areas(self) -> tuple[tuple[float, float, float], ...]:
        """From ω/σ_s, factor and exponent of ω/σ_s of η A(ω)."""
        critical = math.pi * self.radius * self.critical_depth * self.density
        pieces = [(start, critical * factor, power) for start, _, (factor, power) in _PIECES]
        return self._scaled([*pieces, (_PLASTIC, 2.0 * critical, 1.0)])

    def _scaled(self, pieces: list[tuple[float, float, float]]) -> tuple[tuple[float, float, float], ...]:
        depth = self.critical_depth / self.height_deviation
        return tuple((start * depth, factor * depth**-power, power) for start, factor, power in pieces)

    def _integral(self, gap: ArrayLike, pieces: tuple[tuple[float, float, float], ...], derivative: int) -> Array:
        """Σ ∫ f x^n (t + x)^j φ(t + x) dx/σ_s^j over the pieces, t = d/σ_s and x = ω/σ_s, j the derivative by −d."""
        t = (np.asarray(gap, dtype=float) - self.offset) / self.height_deviation
        # the interval that the density is not lost in: it counts from x = 0 or, at t < 0, from its middle x = −t
        low, high = np.maximum(-t - math.sqrt(_TAIL), 0.0), -t + np.sqrt(np.maximum(t, 0.0) ** 2 + _TAIL)
        y, weight = np.polynomial.legendre.leggauss(_POINTS)
        y, weight = 0.5 * (y + 1.0), 0.5 * weight
        total = np.zeros_like(t)
        for i, (start, factor, power) in enumerate(pieces):
            end = pieces[i + 1][0] if i + 1 < len(pieces) else np.inf
            # over √x: x^{3/2} is a polynomial
            a, b = (np.sqrt(np.clip(limit, low, high))[..., None] for limit in (start, end))
            root = a + (b - a) * y
            x = root**2
            z = t[..., None] + x
            density = np.exp(-0.5 * z**2) * (z / self.height_deviation) ** derivative / math.sqrt(2.0 * math.pi)
            total = total + factor * np.sum((b - a) * weight * 2.0 * root * x**power * density, axis=-1)
        return total
