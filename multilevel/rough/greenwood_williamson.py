"""Greenwood and Williamson's theory: equal spherical summits of random height, each by Hertz."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models.checks import finite, one_of, positive
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough.partial_moments import exponential_moment, partial_moment
from arlequin.multilevel.rough.summits import SummitStatistics


@checked_call
@dataclass(frozen=True)
class GreenwoodWilliamson:
    """Spherical summits of radius R, η of them per area, heights z of density φ, pressed by a flat at height d.

        p(d) = 4/3 E* η √R ∫_d^∞ (z − d)^{3/2} φ(z) dz,    A/A₀ = π η R ∫_d^∞ (z − d) φ(z) dz

    modulus E*, Pa; radius R, m; density η, 1/m²; height_deviation σ_s, m. d = gap − offset, where offset, m, is the
    height above the mean plane of the roughness of the plane that summit heights are counted from:

    * heights "gaussian": φ = N(0, σ_s²), offset is the mean height of the summits. With t = d/σ_s the integrals
      are σ_sⁿ F_n(t) (`partial_moment`), in parabolic cylinder functions.
    * heights "exponential": φ = e^{−z/σ_s}/σ_s on z > 0, offset is the height of the lowest summit. For d ≥ 0 the
      integrals are σ_sⁿ Γ(n + 1) e^{−t}: p ∝ A, p = √(π) E* η √R σ_s^{3/2} e^{−t}; below, with Γ(n + 1, −t).

    Source: Greenwood & Williamson, Proc. R. Soc. A 295 (1966) 300–319, eqs. 5–11; Johnson, Contact Mechanics, 13.4.
    """

    modulus: float
    radius: float
    density: float
    height_deviation: float
    heights: Literal["gaussian", "exponential"] = "gaussian"
    offset: float = 0.0

    def __post_init__(self) -> None:
        positive("modulus", self.modulus)
        positive("radius", self.radius)
        positive("density", self.density)
        positive("height_deviation", self.height_deviation)
        one_of("heights", self.heights, ("gaussian", "exponential"))
        finite("offset", self.offset)

    @classmethod
    def from_moments(cls, modulus: float, m0: float, m2: float, m4: float) -> "GreenwoodWilliamson":
        """Gaussian heights, of an isotropic Gaussian roughness with the spectral moments of a profile.

        m0 = ⟨h²⟩, m²; m2 = ⟨h_x²⟩ (half the mean square of the gradient); m4 = ⟨h_xx²⟩, 1/m². See `SummitStatistics`.
        """
        summits = SummitStatistics(m0, m2, m4)
        return cls(modulus, summits.radius, summits.density, summits.height_deviation, offset=summits.mean_height)

    def pressure(self, gap: ArrayLike) -> Array:
        return self._load * self._moment(1.5, gap)

    def area(self, gap: ArrayLike) -> Array:
        return math.pi * self.density * self.radius * self._moment(1.0, gap)

    def stiffness(self, gap: ArrayLike) -> Array:
        return 1.5 * self._load * self._moment(0.5, gap)

    @property
    def _load(self) -> float:
        return 4.0 / 3.0 * self.modulus * self.density * math.sqrt(self.radius)

    def _moment(self, order: float, gap: ArrayLike) -> Array:
        """∫_d^∞ (z − d)ⁿ φ(z) dz, mⁿ."""
        t = (np.asarray(gap, dtype=float) - self.offset) / self.height_deviation
        moment = partial_moment if self.heights == "gaussian" else exponential_moment
        return self.height_deviation**order * moment(order, t)
