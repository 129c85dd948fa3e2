"""The random force of a turbulent flow on a slender body, as a sum of harmonics."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from models import checks
from models.errors import UserError
from models.part import Array
from models.rows import row_products

_TIMES = 256  # times of which the harmonics are held at once


@dataclass(frozen=True)
class PlateauSpectrum:
    """One-sided spectral density S(f): level up to cutoff, level·(f/cutoff)^−slope above.

    level in (N/m)²/Hz, cutoff in Hz. The slope 7/2 is that of the envelope of forces measured on tubes in cross-flow;
    its level and cut-off scale with the flow: level = (½ρU²D)² (D/U) Φ, cutoff = f_R U/D, of the reduced Φ and f_R.
    Source: Axisa, Antunes & Villard, Journal of Fluids and Structures 4, 1990.

    >>> PlateauSpectrum(level=2.0, cutoff=10.0, slope=2.0)(np.array([5.0, 20.0])).tolist()
    [2.0, 0.5]
    """

    level: float
    cutoff: float
    slope: float = 3.5

    def __post_init__(self) -> None:
        for name in ("level", "cutoff", "slope"):
            checks.positive(name, getattr(self, name))

    def __call__(self, frequencies: Array) -> Array:
        """S (k,) at the frequencies (k,), (N/m)²/Hz."""
        return self.level * np.maximum(frequencies / self.cutoff, 1.0) ** -self.slope


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Σ_k a_k cos 2πkt/T + b_k sin 2πkt/T, of the period T in s; coefficients (2K, m): all a, then all b."""

    period: float
    coefficients: Array

    def __call__(self, t: float) -> Array:
        """Values (m,) at the time t."""
        return np.asarray(self.at(np.array([t], dtype=float))[0])

    def at(self, times: Array) -> Array:
        """Values (t, m) at the times (t,)."""
        turns = 2 * np.pi * np.arange(1, 1 + len(self.coefficients) // 2)
        out = np.empty((times.size, self.coefficients.shape[1]))
        for first in range(0, times.size, _TIMES):
            angles = np.multiply.outer(times[first : first + _TIMES] / self.period % 1.0, turns)
            waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
            out[first : first + _TIMES] = row_products(waves, self.coefficients)
        return out


@dataclass(frozen=True)
class Turbulence:
    """A Gaussian random force per unit length across a slender body, independent in its two directions.

    spectrum: one-sided density S(f) in (N/m)²/Hz, a `PlateauSpectrum` or any function of frequencies (k,) in Hz;
    highest: Hz, where the series ends; correlation λ, m: forces at s and s′ have the correlation exp(−|s − s′|/λ);
    duration T, s: the force repeats after T, so no shorter than the run; its frequencies are k/T. seed: a whole
    number, or several (of a study and of a rod); the same seed on the same mesh gives the same force.

        f(s, t) = Σ_k √(S(k/T)/T) [A_k(s) cos 2πkt/T + B_k(s) sin 2πkt/T]

    with A_k, B_k independent normal fields of variance 1 along the span, exact at the given stations: with
    ρ = exp(−Δs/λ), A(s + Δs) = ρ A(s) + √(1 − ρ²) × a new normal number.
    Source: Shinozuka & Jan, Journal of Sound and Vibration 25, 1972 (series); Au-Yang, Flow-Induced Vibration of Power
    and Process Plant Components, 2001, ch. 8 (correlation length).
    """

    spectrum: Callable[[Array], Any]
    highest: float = field(kw_only=True)
    correlation: float = field(kw_only=True)
    duration: float = field(kw_only=True)
    seed: int | Sequence[int] = field(kw_only=True)

    def __post_init__(self) -> None:
        if not callable(self.spectrum):
            raise UserError.parameter("spectrum", self.spectrum, "must be a PlateauSpectrum or a function of f")
        for name in ("highest", "correlation", "duration"):
            checks.positive(name, getattr(self, name))
        for value in self.seed if isinstance(self.seed, Sequence) and not isinstance(self.seed, str) else [self.seed]:
            checks.non_negative_integer("seed", value)
        if not self.frequencies.size:
            raise UserError.parameter(
                "highest", self.highest, f"must be at least 1/duration = {1 / self.duration:g} Hz"
            )
        _ = self.rms

    @property
    def frequencies(self) -> Array:
        """Frequencies k/T (k,) of the series, Hz."""
        count = math.floor(self.highest * self.duration * (1 + 1e-12))
        return np.arange(1, 1 + count) / self.duration

    @property
    def rms(self) -> float:
        """Root mean square of the force per unit length in one direction, N/m."""
        return math.sqrt(float(self._densities.sum()) / self.duration)

    def harmonics(self, stations: Array, directions: int) -> Array:
        """Coefficients (2k, direction, p) of the force per unit length at stations (p,), m, in any order: N/m."""
        size = np.tile(np.sqrt(self._densities / self.duration), 2)[:, None]
        random = np.random.default_rng(self.seed)
        out = np.empty((size.size, directions, stations.size))
        order = np.argsort(stations, kind="stable")
        now = random.standard_normal((size.size, directions))
        out[:, :, order[0]] = size * now
        for before, here in pairwise(order.tolist()):
            kept = math.exp(-(stations[here] - stations[before]) / self.correlation)
            now = kept * now + math.sqrt(1.0 - kept**2) * random.standard_normal(now.shape)
            out[:, :, here] = size * now
        return out

    @property
    def _densities(self) -> Array:
        """S (k,) at the frequencies, (N/m)²/Hz."""
        frequencies = self.frequencies
        values = checks.finite_array("spectrum", self.spectrum(frequencies), (frequencies.size,))
        if values.min() < 0.0:
            raise UserError.parameter("spectrum", float(values.min()), "must not be negative")
        return values
