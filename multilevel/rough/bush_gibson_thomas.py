"""Bush, Gibson and Thomas's theory: elliptic summits of a Gaussian roughness, each by Hertz."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ellipe, ellipkm1, elliprd

from arlequin.models.checks import positive
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough.partial_moments import partial_moment
from arlequin.multilevel.rough.summits import SummitStatistics

_CURVATURES, _SHAPES = 240, 200  # Gauss points: to 1e-10 of the integrals for bandwidths from 1.52 on
_TOP = 16.0  # largest mean curvature over its deviation: the density above is 1e-57


@checked_call
@dataclass(frozen=True)
class BushGibsonThomas:
    """All summits of an isotropic Gaussian roughness, with their two curvatures, pressed by a flat at height d = gap.

    modulus E*, Pa; m0 = ⟨h²⟩, m², m2 = ⟨h_x²⟩, m4 = ⟨h_xx²⟩, 1/m²: spectral moments of a profile. The gap counts from
    the mean plane of the roughness.

    A summit of mean curvature C and half difference r = C t of its curvatures, pressed by δ, has with the ratio b of
    its contact ellipse's axes and the complete elliptic integrals K, E of m = 1 − b² (Hertz; Johnson 4.26–4.32)

        t = [(2 − m) E − 2 (1 − m) K]/(m E)
        area = π δ/C · a(t),                      a = E/(b K)
        load = 4/3 E* δ^{3/2} C^{−1/2} · l(t),    l = (π/2) E^{1/2}/(b K^{3/2})

    and the density of summits n(z, C, r) of `SummitStatistics` makes, with z | C = N(C m2/⟨C²⟩, s²), s² = m0 −
    m2²/⟨C²⟩, ⟨C²⟩ = 2 m4/3, and the partial moments F_n,

        A/A₀ = ∫ dC g(C) C³ a₀(C) π s F₁(ζ),   p = 4/3 E* ∫ dC g(C) C^{7/2} l₀(C) s^{3/2} F_{3/2}(ζ),
        ζ = (d − C m2/⟨C²⟩)/s,   g = N(0, ⟨C²⟩)·3/(2π m2 m4),   f₀(C) = ∫₀¹ f(t) (1 − t²) t e^{−3C²t²/(2 m4)} dt

    At large gaps A/A₀ → √(2π) p/(E* h'rms), h'rms² = 2 m2, but slowly: not yet where summits still touch.

    Source: Bush, Gibson & Thomas, Wear 35 (1975) 87–111; Nayak, J. Lubr. Technol. 93 (1971) 398–407; Carbone &
    Bottiglione, J. Mech. Phys. Solids 56 (2008) 2555–2572 (the limits).
    """

    modulus: float
    m0: float
    m2: float
    m4: float

    def __post_init__(self) -> None:
        positive("modulus", self.modulus)
        SummitStatistics(self.m0, self.m2, self.m4)

    def pressure(self, gap: ArrayLike) -> Array:
        return self._integral(1.5, self._load_weights, gap)

    def area(self, gap: ArrayLike) -> Array:
        return self._integral(1.0, self._area_weights, gap)

    def stiffness(self, gap: ArrayLike) -> Array:
        return 1.5 * self._integral(0.5, self._load_weights, gap)

    def _integral(self, order: float, weights: Array, gap: ArrayLike) -> Array:
        """Σ_c w_c sⁿ F_n((d − z̄_c)/s) at the gaps (…)."""
        d = np.asarray(gap, dtype=float)[..., None]
        return self._spread**order * partial_moment(order, (d - self._heights) / self._spread) @ weights

    @cached_property
    def _curvature(self) -> tuple[Array, Array]:
        """Gauss points and weights (c,) of the mean curvature over its deviation."""
        x, w = np.polynomial.legendre.leggauss(_CURVATURES)
        return 0.5 * _TOP * (x + 1.0), 0.5 * _TOP * w

    @cached_property
    def _deviation(self) -> float:
        """√⟨C²⟩, 1/m."""
        return math.sqrt(2.0 * self.m4 / 3.0)

    @cached_property
    def _heights(self) -> Array:
        """Mean height (c,) of the points of curvature C, m."""
        return self._curvature[0] * self.m2 / self._deviation

    @cached_property
    def _spread(self) -> float:
        """s, m."""
        return math.sqrt(self.m0 - (self.m2 / self._deviation) ** 2)

    @cached_property
    def _area_weights(self) -> Array:
        return math.pi * self._weights(3.0, shape_integrals(self._curvature[0])[0])

    @cached_property
    def _load_weights(self) -> Array:
        return 4.0 / 3.0 * self.modulus * self._weights(3.5, shape_integrals(self._curvature[0])[1])

    def _weights(self, power: float, shapes: Array) -> Array:
        """dC g(C) C^power f₀(C) (c,)."""
        c, w = self._curvature
        normal = w * np.exp(-0.5 * c**2) / math.sqrt(2.0 * math.pi)
        return normal * (self._deviation * c) ** power * shapes * 3.0 / (2.0 * math.pi * self.m2 * self.m4)


def shape_integrals(curvature: Array) -> tuple[Array, Array]:
    """∫₀¹ f(t) (1 − t²) t e^{−(ct)²} dt (c,) of f = a and f = l; mean curvature c over its deviation.

    By the axes' ratio b = x², which takes the roots and logarithms off the end b = 0, where summits are ridges (f
    diverges there as 1/(b K), 1 − t vanishes as b² K). With D = (K − E)/m = R_D(0, b², 1)/3 of Carlson nothing
    cancels at b = 1:  1 − t = 2 b² D/E,  dt/db = 2 b (t/m + b² D²/E² − 2 D/E).
    """
    x, w = np.polynomial.legendre.leggauss(_SHAPES)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    b = x**2
    m = 1.0 - b**2
    first, second = ellipkm1(b**2), ellipe(m)
    ratio = elliprd(0.0, b**2, 1.0) / (3.0 * second)
    t = 1.0 - 2.0 * b**2 * ratio
    slope = 2.0 * b * (t / m + (b * ratio) ** 2 - 2.0 * ratio)
    common = -slope * w * 2.0 * x * (1.0 - t**2) * t
    area = second / (b * first)
    load = 0.5 * math.pi * np.sqrt(second) / (b * first**1.5)
    decay = np.exp(-((curvature[:, None] * t) ** 2))
    return decay @ (common * area), decay @ (common * load)
