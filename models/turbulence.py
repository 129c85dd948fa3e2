"""The random force of a turbulent flow on a slender body, as a sum of harmonics."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from models import checks
from models.errors import UserError
from models.stations import Stations
from models.types import Array, Indices

MOST_FREQUENCIES = 1e7
_PER_LENGTH = 16  # stations in a correlation length
_PANEL = 20 * _PER_LENGTH  # stations of a panel, each with random numbers of its own


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


@dataclass(frozen=True)
class Turbulence:
    """A Gaussian random force per unit length across a slender body, independent in its two directions.

    spectrum: one-sided density S(f) in (N/m)²/Hz, a `PlateauSpectrum` or any function of frequencies (k,) in Hz;
    highest: Hz, where the series ends; correlation λ, m: forces at s and s′ have the correlation exp(−|s − s′|/λ);
    duration T, s: the force repeats after T, so no shorter than the run; its frequencies are k/T. seed: a whole
    number, or several (of a study and of a rod).

        f(s, t) = Σ_k √(S(k/T)/T) [A_k(s) cos 2πkt/T + B_k(s) sin 2πkt/T]

    with A_k, B_k independent normal fields of variance 1 along the arc length s. They live on stations jh of their own,
    h = λ/16 and j any whole number, and belong to no mesh: the same seed gives the same force at the same s, on a
    beam of any mesh, on pieces of it, and on a solid that takes the place of one (`SpanForce`).

    At stations they are exact, with ρ = exp(−h/λ): A_{j+1} = ρ A_j + √(1 − ρ²) × a new normal number. Each panel of
    20λ starts anew 20λ before its first station, on the numbers of the panel before it, so that any place is found
    without those far from it; panels meet within exp(−20) = 2e-9. Between stations A is linear, of the variance
    1 − 2ξ(1 − ξ)(1 − ρ) at the share ξ, in the mean 1 − (1 − ρ)/3, 2.0 % less than 1: what lacks is in waves as short
    as h. Along waves of the number κ its variance is that of exp(−|s − s′|/λ) times 1 + (1/λ² − κ²) h²/12 + O(h⁴):
    0.03 % above it for long ones, 1.25 % below it for those as short as λ.
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
        if self.highest * self.duration > MOST_FREQUENCIES:
            rule = f"gives {self.highest * self.duration:.3g} frequencies; at most {MOST_FREQUENCIES:g} are summed"
            raise UserError.parameter("highest", self.highest, rule)
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

    @property
    def spacing(self) -> float:
        """Distance h of the stations, m."""
        return self.correlation / _PER_LENGTH

    def harmonics(self, places: Array) -> Array:
        """Coefficients (2k, direction, p), N/m, of the force per unit length at the arc lengths `places` (p,), m."""
        stations = Stations.at_points(self.spacing, places)
        values = self.at_stations(stations.numbers)
        return np.asarray((stations.operator @ values.reshape(-1, values.shape[2]).T).T.reshape(*values.shape[:2], -1))

    def at_stations(self, numbers: Indices) -> Array:
        """Coefficients (2k, direction, s) of both directions at the stations of increasing numbers (s,), N/m."""
        size = np.tile(np.sqrt(self._densities / self.duration), 2)[:, None]
        out = np.empty((size.size, 2, numbers.size))
        panels = numbers // _PANEL
        for panel in np.unique(panels).tolist():
            columns = np.flatnonzero(panels == panel)
            wanted = dict(zip((numbers[columns] - (panel - 1) * _PANEL).tolist(), columns.tolist(), strict=True))
            self._follow(panel, wanted, size, out)
        return out

    def _follow(self, panel: int, wanted: dict[int, int], size: Array, out: Array) -> None:
        """Fills columns of `out`, wanted: station from the start of the panel before → column."""
        kept = math.exp(-1.0 / _PER_LENGTH)
        fresh, last = math.sqrt(1.0 - kept**2), max(wanted)
        now = np.zeros((size.size, 2))
        for before, number in ((0, panel - 1), (_PANEL, panel)):
            random = np.random.default_rng(
                np.random.SeedSequence(self.seed, spawn_key=(2 * abs(number) + (number < 0),))
            )
            for station in range(before, min(before + _PANEL, last + 1)):
                new = random.standard_normal(now.shape)
                now = kept * now + fresh * new if station else new
                if station in wanted:
                    out[:, :, wanted[station]] = size * now

    @property
    def _densities(self) -> Array:
        """S (k,) at the frequencies, (N/m)²/Hz."""
        frequencies = self.frequencies
        if isinstance(self.spectrum, type) or not callable(self.spectrum):
            raise UserError.parameter("spectrum", self.spectrum, "must be a function of frequencies")
        values = checks.finite_array("spectrum", self.spectrum(frequencies), (frequencies.size,))
        if values.min() < 0.0:
            raise UserError.parameter("spectrum", float(values.min()), "must not be negative")
        return values
