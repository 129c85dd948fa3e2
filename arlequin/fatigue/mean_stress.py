"""Corrections of fatigue cycles for their mean stress: the fully reversed amplitude that does the same damage.

With the amplitude σ_a, the mean σ_m and the largest stress σ_max = σ_m + σ_a of a cycle, the amplitude σ_ar of a cycle
with the stress ratio R = −1 (σ_m = 0) is

    Goodman              σ_a/(1 − σ_m/σ_u)          σ_u: ultimate strength
    Gerber               σ_a/(1 − (σ_m/σ_u)²)       for σ_m > 0
    Soderberg            σ_a/(1 − σ_m/σ_y)          σ_y: yield strength
    Morrow               σ_a/(1 − σ_m/σ_f)          σ_f: fatigue strength coefficient, or true fracture strength
    Smith–Watson–Topper  √(σ_max σ_a)               for σ_max > 0, else no damage
    Walker               σ_max^(1−γ) σ_a^γ          the same; γ = ½ is Smith, Watson and Topper's

Compression raises the life by Morrow, Smith–Watson–Topper and Walker; by Goodman, Gerber and Soderberg it is taken for
σ_m = 0, as design codes do.

Source: N. E. Dowling, Mean stress effects in stress-life and strain-life fatigue, SAE paper 2004-01-2227 (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from arlequin.models.checks import check_fields, positive, within
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array


@runtime_checkable
class MeanStress(Protocol):
    """A correction for the mean stress; corrections of your own have the same two methods.

    >>> import arlequin as aq
    >>> isinstance(aq.fatigue.Goodman(600e6), aq.fatigue.MeanStress)
    True
    """

    def reversed_amplitude(self, amplitude: Array, mean: Array) -> Array:
        """Amplitude σ_ar at R = −1, Pa, that does the damage of a cycle of an amplitude σ_a and a mean σ_m, Pa."""

    def amplitude_at_ratio(self, reversed_amplitude: Array, ratio: float) -> Array:
        """Amplitude at the stress ratio R = σ_min/σ_max < 1, Pa, that does the damage of σ_ar, Pa."""


def mean_per_amplitude(ratio: float) -> float:
    """σ_m/σ_a = (1 + R)/(1 − R) of cycles with the stress ratio R.

    >>> mean_per_amplitude(-1.0), mean_per_amplitude(0.0)
    (0.0, 1.0)
    """
    return (1.0 + ratio) / (1.0 - ratio)


def _linear(amplitude: Array, mean: Array, limit: float, text: str) -> Array:
    """σ_a/(1 − σ_m/limit); UserError where the mean reaches the limit."""
    _below(mean, limit, text)
    return np.asarray(amplitude / (1.0 - mean / limit))


def _linear_at_ratio(reversed_amplitude: Array, ratio: float, limit: float) -> Array:
    slope = mean_per_amplitude(ratio)
    return np.asarray(reversed_amplitude / (1.0 + reversed_amplitude * slope / limit))


def _below(mean: Array, limit: float, text: str) -> None:
    largest = float(np.max(mean, initial=-np.inf, where=~np.isnan(mean)))
    if largest >= limit:
        raise UserError(f"mean stress: {largest:g} Pa reaches the {text}, {limit:g} Pa: this is static failure")


@checked_call
@dataclass(frozen=True)
class Goodman:
    """Goodman's correction σ_ar = σ_a/(1 − σ_m/σ_u); ultimate: σ_u, Pa, > 0. Compression is not counted.

    Source: J. Goodman, Mechanics Applied to Engineering (1899).

    >>> import arlequin as aq
    >>> round(float(aq.fatigue.Goodman(600e6).reversed_amplitude(100e6, 200e6)) / 1e6, 6)  # MPa
    150.0
    """

    ultimate: float

    def __post_init__(self) -> None:
        check_fields(self, ultimate=positive)

    def reversed_amplitude(self, amplitude: Array, mean: Array) -> Array:
        return _linear(amplitude, np.maximum(mean, 0.0), self.ultimate, "ultimate strength")

    def amplitude_at_ratio(self, reversed_amplitude: Array, ratio: float) -> Array:
        return _linear_at_ratio(reversed_amplitude, max(ratio, -1.0), self.ultimate)


@checked_call
@dataclass(frozen=True)
class Gerber:
    """Gerber's parabola σ_ar = σ_a/(1 − (σ_m/σ_u)²); ultimate: σ_u, Pa, > 0. Compression is not counted.

    Source: W. Gerber, Zeitschrift des Bayerischen Architekten- und Ingenieur-Vereins 6 (1874) 101–110.

    >>> import arlequin as aq
    >>> float(aq.fatigue.Gerber(600e6).reversed_amplitude(100e6, 300e6)) / 100e6
    1.3333333333333333
    """

    ultimate: float

    def __post_init__(self) -> None:
        check_fields(self, ultimate=positive)

    def reversed_amplitude(self, amplitude: Array, mean: Array) -> Array:
        tension = np.maximum(mean, 0.0)
        _below(tension, self.ultimate, "ultimate strength")
        return np.asarray(amplitude / (1.0 - (tension / self.ultimate) ** 2))

    def amplitude_at_ratio(self, reversed_amplitude: Array, ratio: float) -> Array:
        curvature = reversed_amplitude * mean_per_amplitude(max(ratio, -1.0)) / self.ultimate
        return np.asarray(2.0 * reversed_amplitude / (1.0 + np.sqrt(1.0 + 4.0 * curvature**2)))


@checked_call
@dataclass(frozen=True)
class Soderberg:
    """Soderberg's correction σ_ar = σ_a/(1 − σ_m/σ_y); yield_strength: σ_y, Pa, > 0. Compression is not counted.

    Source: C. R. Soderberg, Transactions of the ASME 52 (1930) APM-52-2.

    >>> import arlequin as aq
    >>> float(aq.fatigue.Soderberg(400e6).reversed_amplitude(100e6, 200e6))  # Pa
    200000000.0
    """

    yield_strength: float

    def __post_init__(self) -> None:
        check_fields(self, yield_strength=positive)

    def reversed_amplitude(self, amplitude: Array, mean: Array) -> Array:
        return _linear(amplitude, np.maximum(mean, 0.0), self.yield_strength, "yield strength")

    def amplitude_at_ratio(self, reversed_amplitude: Array, ratio: float) -> Array:
        return _linear_at_ratio(reversed_amplitude, max(ratio, -1.0), self.yield_strength)


@checked_call
@dataclass(frozen=True)
class Morrow:
    """Morrow's correction σ_ar = σ_a/(1 − σ_m/σ_f), also in compression.

    fatigue_strength: σ_f, Pa, > 0, the fatigue strength coefficient σ'_f, or the true fracture strength, which Dowling
    prefers for aluminium.

    Source: J. Morrow, in: Fatigue Design Handbook, SAE AE-4 (1968) 21–29.

    >>> import arlequin as aq
    >>> float(aq.fatigue.Morrow(1e9).reversed_amplitude(100e6, 500e6))  # Pa
    200000000.0
    """

    fatigue_strength: float

    def __post_init__(self) -> None:
        check_fields(self, fatigue_strength=positive)

    def reversed_amplitude(self, amplitude: Array, mean: Array) -> Array:
        return _linear(amplitude, mean, self.fatigue_strength, "fatigue strength coefficient")

    def amplitude_at_ratio(self, reversed_amplitude: Array, ratio: float) -> Array:
        return _linear_at_ratio(reversed_amplitude, ratio, self.fatigue_strength)


@checked_call
@dataclass(frozen=True)
class Walker:
    """Walker's correction σ_ar = σ_max^(1−γ) σ_a^γ; exponent: γ in ]0, 1], fitted to tests at several ratios R.

    A cycle in compression throughout (σ_max ≤ 0) does no damage. For steels γ ≈ 0.883 − 0.0002 σ_u, σ_u in MPa
    (Dowling, Calhoun & Arcari, Fatigue Fract. Eng. Mater. Struct. 32 (2009) 163–179).

    Source: K. Walker, in: Effects of Environment and Complex Load History on Fatigue Life, ASTM STP 462 (1970) 1–14.

    >>> import arlequin as aq
    >>> round(float(aq.fatigue.Walker(0.65).reversed_amplitude(100e6, 100e6)) / 100e6, 4)  # 2^0.35
    1.2746
    """

    exponent: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", within("exponent", self.exponent, 0.0, 1.0, open_low=True))

    def reversed_amplitude(self, amplitude: Array, mean: Array) -> Array:
        largest = np.maximum(np.add(amplitude, mean), 0.0)
        return np.asarray(largest ** (1.0 - self.exponent) * np.asarray(amplitude) ** self.exponent)

    def amplitude_at_ratio(self, reversed_amplitude: Array, ratio: float) -> Array:
        return np.asarray(reversed_amplitude * (0.5 * (1.0 - ratio)) ** (1.0 - self.exponent))


@checked_call
@dataclass(frozen=True)
class SmithWatsonTopper:
    """Smith, Watson and Topper's correction σ_ar = √(σ_max σ_a): `Walker(0.5)`. None in compression (σ_max ≤ 0).

    Source: K. N. Smith, P. Watson and T. H. Topper, Journal of Materials 5 (1970) 767–778.

    >>> import arlequin as aq
    >>> float(aq.fatigue.SmithWatsonTopper().reversed_amplitude(100e6, 300e6))  # Pa
    200000000.0
    """

    def reversed_amplitude(self, amplitude: Array, mean: Array) -> Array:
        return Walker(0.5).reversed_amplitude(amplitude, mean)

    def amplitude_at_ratio(self, reversed_amplitude: Array, ratio: float) -> Array:
        return Walker(0.5).amplitude_at_ratio(reversed_amplitude, ratio)
