"""The power spectrum of a topography."""

from dataclasses import dataclass

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough.topography import Topography

ROUND_OFF = 1e-14


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The Fourier series of a map: h(x) = Σ_k H_k exp(i q_k·x), k ≠ 0, with the power |H_k|² of each mode, m².

    qx (n, 1), qy (1, m), rad/m; power (n, m), m², zero at q = 0; area A = Lx Ly, m². As a density,

        C(q_k) = A |H_k|² / (2π)²,  ⟨h²⟩ = Σ_k |H_k|² = ∫ C(q) d²q,  m⁴

    (Persson's convention; the one of Jacobs, Junge & Pastewka is (2π)² times this).
    """

    qx: Array
    qy: Array
    power: Array
    area: float

    @property
    def q(self) -> Array:
        """|q_k| (n, m), rad/m."""
        return np.hypot(self.qx, self.qy)

    @property
    def density(self) -> Array:
        """C(q_k) (n, m), m⁴."""
        return self.area * self.power / (2 * np.pi) ** 2

    @property
    def nyquist(self) -> float:
        """The largest wave number that the map resolves in all directions, rad/m."""
        return float(min(abs(self.qx).max(), abs(self.qy).max()))

    def sum(self, weight: Array) -> float:
        """Σ_k weight_k |H_k|²; weight (n, m)."""
        return float((weight * self.power).sum())

    def radial(self, low: float = 0.0, high: float = np.inf, per_octave: float = 8.0) -> tuple[Array, Array, Array]:
        """C averaged over directions in rings of equal width in log q: q, C (m⁴) and modes of each ring.

        Of the modes with low ≤ q ≤ high (rad/m) only; q of a ring is the geometric mean of its modes, rings without a
        mode are left out, and so are modes beyond the Nyquist wave number of the larger pixel, in which some directions
        are missing.
        """
        q, density = self.q.ravel(), self.density.ravel()
        # a wave number at an end is inside, whatever its round-off
        selected = (q > 0) & (q >= low * (1 - 1e-9)) & (q <= min(high, self.nyquist) * (1 + 1e-9))
        if not selected.any():
            return np.empty(0), np.empty(0), np.empty(0)
        q, density = q[selected], density[selected]
        # the ring of the smallest q is centred on it
        ring = np.rint(per_octave * np.log2(q / q.min())).astype(int)
        modes = np.bincount(ring).astype(float)
        not_empty = modes > 0
        means = [np.bincount(ring, weights=w)[not_empty] / modes[not_empty] for w in (np.log(q), density)]
        return np.exp(means[0]), means[1], modes[not_empty]


@checked_call
def spectrum_of(topography: Topography) -> Spectrum:
    """The spectrum of a periodic or windowed topography."""
    if not (topography.periodic or topography.window):
        raise UserError("topography: not periodic: its spectrum needs .levelled().windowed()")
    (n, m), (dx, dy) = topography.shape, topography.pixel
    power = (abs(np.fft.fft2(topography.heights) / (n * m)) ** 2).astype(float)
    power[0, 0] = 0.0
    if power.sum() <= (ROUND_OFF * abs(topography.heights).max()) ** 2:
        power[:] = 0.0  # a flat map
    qx, qy = (2 * np.pi * np.fft.fftfreq(k, d).astype(float) for k, d in ((n, dx), (m, dy)))
    return Spectrum(qx[:, None], qy[None, :], power, topography.area)
