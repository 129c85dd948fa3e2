"""Spectral moments of a topography and the statistics of random processes with these moments."""

from dataclasses import dataclass

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.multilevel.rough.spectrum import Spectrum, spectrum_of
from arlequin.multilevel.rough.summits import SummitStatistics
from arlequin.multilevel.rough.topography import Topography

# mean of cosⁿ over directions: share of a wave in a profile
PROFILE = {0: 1.0, 2: 1 / 2, 4: 3 / 8}


@dataclass(frozen=True)
class Moments:
    """Profile moments of a surface, averaged over directions: m_n = ∫ C(q) q_x^n d²q = ⟨cosⁿ⟩ ∫ C(q) qⁿ d²q.

        m0 = ⟨h²⟩, m²      m2 = ½ ⟨|∇h|²⟩      m4 = ⅜ ⟨(∇²h)²⟩, 1/m²

    Sources: Longuet-Higgins, Phil. Trans. R. Soc. A 249 (1957) 321–387; Nayak, J. Lubr. Technol. 93 (1971) 398–407.
    """

    m0: float
    m2: float
    m4: float

    def __post_init__(self) -> None:
        for name in ("m0", "m2", "m4"):
            checks.positive(name, getattr(self, name))

    @property
    def bandwidth(self) -> float:
        """Nayak's α = m0 m4/m2², at least 3/2 for a random isotropic surface."""
        return self.m0 * self.m4 / self.m2**2

    @property
    def rms_height(self) -> float:
        """√m0, m."""
        return float(np.sqrt(self.m0))

    @property
    def rms_slope(self) -> float:
        """√⟨|∇h|²⟩ = √(2 m2); a profile shows √m2."""
        return float(np.sqrt(2 * self.m2))

    @property
    def rms_curvature(self) -> float:
        """Of the mean curvature, √⟨(½∇²h)²⟩ = √(⅔ m4), 1/m."""
        return float(np.sqrt(2 * self.m4 / 3))

    @property
    def summits(self) -> SummitStatistics:
        """Of an isotropic Gaussian surface with these moments: its bandwidth must be above 3/2."""
        return SummitStatistics(self.m0, self.m2, self.m4)


@dataclass(frozen=True)
class Differences:
    """Moments by finite differences on the grid, and the factors between them and the spectral moments.

    moments: m0, m2 = ½ ⟨|δh|²⟩ with forward differences δ, m4 = ⅜ ⟨(δ²h)²⟩ with the five-point Laplacian δ².
    factor_2, factor_4: m2 and m4 of the differences over those of the spectrum. A wave passes δ as
    q_x sinc(q_x Δx/2), so that

        factor_2 = Σ |H|² s / Σ |H|² q²,  factor_4 = Σ |H|² s² / Σ |H|² q⁴,  s = Σ_i q_i² sinc²(q_i Δ_i/2) ≤ q²
    """

    moments: Moments
    factor_2: float
    factor_4: float

    @property
    def corrected(self) -> Moments:
        """Moments of the differences divided by their factors."""
        return Moments(self.moments.m0, self.moments.m2 / self.factor_2, self.moments.m4 / self.factor_4)


@checked_call
def moments(topography: Topography) -> Moments:
    """Moments from the spectrum of a periodic or windowed map, exact for a band-limited periodic one.

    Pixels need not be square. On a map with a directed texture they are means over directions: see `texture`.
    """
    spectrum = _rough(topography)
    return Moments(*(factor * spectrum.sum(spectrum.q**n) for n, factor in PROFILE.items()))


@checked_call
def difference_moments(topography: Topography) -> Differences:
    """Moments of a periodic map by finite differences, as instruments and codes without a spectrum give them.

    They are smaller than `moments` by the factors returned, the more so the shorter the waves (in pixels).
    """
    if not topography.periodic:
        raise UserError("topography: differences over the edge need a periodic one: .levelled().made_periodic()")
    spectrum = _rough(topography)
    h, (dx, dy) = topography.heights, topography.pixel
    forward = [(np.roll(h, -1, axis) - h) / step for axis, step in ((0, dx), (1, dy))]
    second = [(f - np.roll(f, 1, axis)) / step for f, axis, step in zip(forward, (0, 1), (dx, dy), strict=True)]
    m2, m4 = np.mean(forward[0] ** 2 + forward[1] ** 2) / 2, 3 / 8 * np.mean((second[0] + second[1]) ** 2)
    # numpy's sinc(x) is sin(πx)/(πx)
    filtered = [q**2 * np.sinc(q * step / (2 * np.pi)) ** 2 for q, step in ((spectrum.qx, dx), (spectrum.qy, dy))]
    filtered_square = filtered[0] + filtered[1]
    factors = (spectrum.sum(filtered_square**k) / spectrum.sum(spectrum.q ** (2 * k)) for k in (1, 2))
    return Differences(Moments(float(h.var()), float(m2), float(m4)), *factors)


@checked_call
def texture(topography: Topography) -> tuple[float, float]:
    """rms slopes along the steepest direction and across it: equal for an isotropic map, (s, 0) for a grating."""
    spectrum = _rough(topography)
    qx, qy = spectrum.qx, spectrum.qy
    mixed = qx * qy
    for axis, count in enumerate(topography.shape):
        if count % 2 == 0:  # the Nyquist wave stands for q and −q alike
            mixed[(slice(None),) * axis + (count // 2,)] = 0.0
    tensor = np.array(
        [[spectrum.sum(qx**2 + 0 * qy), spectrum.sum(mixed)], [spectrum.sum(mixed), spectrum.sum(qy**2 + 0 * qx)]]
    )
    low, high = np.sqrt(np.maximum(np.linalg.eigvalsh(tensor), 0.0))
    return float(high), float(low)


def _rough(topography: Topography) -> Spectrum:
    spectrum = spectrum_of(topography)
    if not spectrum.power.any():
        raise UserError("topography: flat: it has no moments")
    return spectrum
