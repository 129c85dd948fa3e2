"""Random self-affine surfaces: power spectrum with a plateau, a power law and a cut-off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import exprel

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough.moments import PROFILE, Moments
from arlequin.multilevel.rough.topography import Topography


@checked_call
@dataclass(frozen=True)
class SelfAffine:
    """The isotropic spectrum of a self-affine surface, as a density C(q) in m⁴ over the plane of q, ⟨h²⟩ = ∫ C d²q:

        C(q) = C₀                     q_L ≤ q < q_r
        C(q) = C₀ (q/q_r)^(−2(1+H))   q_r ≤ q ≤ q_s,   0 elsewhere

    hurst H in [0, 1]; wavelengths 2π/q in m: longest λ_L ≥ rolloff λ_r ≥ cutoff λ_s; level C₀, m⁴.

    Source: Persson et al., J. Phys.: Condens. Matter 17 (2005) R1–R62.
    """

    hurst: float
    longest: float
    rolloff: float
    cutoff: float
    level: float = 1.0

    def __post_init__(self) -> None:
        checks.within("hurst", self.hurst, 0.0, 1.0)
        for name in ("longest", "rolloff", "cutoff", "level"):
            checks.positive(name, getattr(self, name))
        if not self.longest >= self.rolloff >= self.cutoff:
            wavelengths = f"{self.longest:g}, {self.rolloff:g}, {self.cutoff:g}"
            raise UserError(f"longest, rolloff, cutoff = {wavelengths}: wavelengths must not increase in this order")

    def __call__(self, q: ArrayLike) -> Array:
        """C at wave numbers q (any shape, rad/m), m⁴."""
        wave = np.asarray(q, dtype=float)
        first, knee, last = self.ends
        # a wave number at an end belongs to the spectrum, whatever its round-off
        inside = (wave >= first * (1 - 1e-9)) & (wave <= last * (1 + 1e-9))
        return np.where(inside, self.level * (np.maximum(wave, knee) / knee) ** (-2 * (1 + self.hurst)), 0.0)

    @property
    def ends(self) -> tuple[float, float, float]:
        """Wave numbers q_L, q_r, q_s, rad/m."""
        return 2 * np.pi / self.longest, 2 * np.pi / self.rolloff, 2 * np.pi / self.cutoff

    def integral(self, power: int) -> float:
        """∫ q^power C(q) d²q = 2π ∫ q^(power+1) C dq, in closed form."""
        first, knee, last = self.ends
        flat = (knee ** (power + 2) - first ** (power + 2)) / (power + 2)
        # ∫ q^(e−1) dq from q_r to q_s = q_r^e l (exp(e l) − 1)/(e l), l = ln(q_s/q_r): l itself where e = 0
        exponent, octaves = power - 2 * self.hurst, np.log(last / knee)
        steep = knee ** (power + 2) * octaves * exprel(exponent * octaves)
        return float(2 * np.pi * self.level * (flat + steep))

    def moments(self) -> Moments:
        """m0, m2, m4 of the spectrum in closed form (a surface of finite size differs: its waves are few)."""
        return Moments(*(PROFILE[n] * self.integral(n) for n in (0, 2, 4)))


@checked_call
def self_affine(
    shape: Sequence[int],
    size: Sequence[float],
    *,
    hurst: float,
    cutoff: float,
    rolloff: float | None = None,
    longest: float | None = None,
    rms_slope: float | None = None,
    rms_height: float | None = None,
    amplitudes: Literal["fixed", "gaussian"] = "fixed",
    seed: int | np.random.Generator = 0,
) -> Topography:
    """A periodic random surface with the spectrum of `SelfAffine`, of n × m points over Lx × Ly (m).

    cutoff λ_s, at least two pixels (for a contact on it rather eight); rolloff λ_r and longest λ_L default to the
    longer side. One of rms_slope (of |∇h|) and rms_height (m) sets C₀. Phases are uniform and independent.

    amplitudes "fixed": |H_k|² = C(q_k) (2π)²/A, so that the target and all moments are the same for every seed;
    "gaussian": |H_k|² scatters about it as an exponential variate, a true sample of the Gaussian process, whose
    target holds on average over seeds.

    H_k = √(C(q_k) (2π)²/A) W_k/⟨|W_k|⟩ with W the Fourier transform of white noise, so that h is real.
    """
    n, m = (checks.integer("shape", count, low=2) for count in checks.finite_array("shape", shape, (2,)))
    lx, ly = (checks.positive("size", float(side)) for side in checks.finite_array("size", size, (2,)))
    checks.one_of("amplitudes", amplitudes, ("fixed", "gaussian"))
    dx, dy = lx / n, ly / m
    if checks.positive("cutoff", cutoff) < 2 * max(dx, dy) * (1 - 1e-9):
        raise UserError.parameter("cutoff", cutoff, f"must be at least two pixels, {2 * max(dx, dy):g} m")
    longest_wave = (
        max(lx, ly) if longest is None else checks.within("longest", longest, 0.0, max(lx, ly), open_low=True)
    )
    form = SelfAffine(hurst, longest_wave, longest_wave if rolloff is None else rolloff, cutoff)
    q = np.hypot(2 * np.pi * np.fft.fftfreq(n, dx)[:, None], 2 * np.pi * np.fft.fftfreq(m, dy))
    power = form(q) * (2 * np.pi) ** 2 / (lx * ly)
    if not power.any():
        raise UserError("longest, cutoff: no mode of the map lies between them")
    power *= _factor(q, power, rms_slope, rms_height)
    noise = np.fft.fft2(_generator(seed).standard_normal((n, m)))
    noise /= abs(noise) if amplitudes == "fixed" else np.sqrt(n * m)
    return Topography(np.fft.ifft2(np.sqrt(power) * noise).real * (n * m), (lx, ly), periodic=True)


def _factor(q: Array, power: Array, rms_slope: float | None, rms_height: float | None) -> float:
    """Factor that scales the modes to the target."""
    if (rms_slope is None) == (rms_height is None):
        raise UserError("rms_slope, rms_height: give one of them")
    if rms_slope is not None:
        return checks.positive("rms_slope", rms_slope) ** 2 / float((q**2 * power).sum())
    return checks.positive("rms_height", rms_height) ** 2 / float(power.sum())


def _generator(seed: Any) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(checks.non_negative_integer("seed", seed))
