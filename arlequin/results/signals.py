"""Numbers behind the figures of a motion or a force over time: power spectra, peaks of impacts, time in contact.

Forces are taken as a result has them: the value at t_n is the mean over (t_{n−1}, t_n], so that Σ_n F_n Δt_n is the
impulse; the value at the start of the run stands for no time and does not count.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models.checks import finite, finite_array, positive_integer
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

_EVEN = 1e-6  # of a step: what equal steps may differ by
_LEAST = 8  # values in a segment


class Peaks(NamedTuple):
    """Spells of contact (s,): start (s), duration (s), largest force (N), impulse (N·s)."""

    start: Array
    duration: Array
    force: Array
    impulse: Array


@checked_call
def power_spectrum(time: ArrayLike, values: ArrayLike, segments: int = 8) -> tuple[Array, Array]:
    """One-sided power spectral density of evenly sampled values: frequencies (f,) in Hz, densities (f,) in unit²/Hz.

    Welch's mean of the periodograms of `segments` pieces that overlap by half, each less its mean x̄ and under Hann's
    window w. For one piece of n values, with Parseval,

        S(f_k) = 2 Δt |Σ_j w_j (x_j − x̄) e^{−2πi jk/n}|² / Σ w²,     Σ_k S(f_k) Δf = Σ_j w_j² (x_j − x̄)² / Σ w²

    without the 2 at f = 0 and at 1/(2Δt). More pieces scatter less and resolve less: Δf = 1/(n Δt).

    Source: P. D. Welch, IEEE Transactions on Audio and Electroacoustics 15 (1967) 70–73.

    >>> t = np.arange(1000) / 1000.0
    >>> frequencies, density = power_spectrum(t, np.sin(2 * np.pi * 100 * t), segments=1)
    >>> float(frequencies[density.argmax()])
    100.0
    """
    t, x = _history(time, values)
    frequencies, density, _ = welch_density(x, equal_step("time", t), segments)
    return frequencies, density


def welch_density(values: Array, step: float, segments: int) -> tuple[Array, Array, int]:
    """Frequencies (f,), Hz, and Welch's density (…, f) of values (…, t) a step (s) apart, see `power_spectrum`; the
    number of values in a piece."""
    from scipy.signal import welch

    positive_integer("segments", segments)
    count = values.shape[-1]
    # pieces of an even length: of an odd one, half is less than what the next piece goes on by, and the last is lost
    length = count if segments == 1 else 2 * (count // (segments + 1))
    if length < _LEAST:
        fits = max(2 * count // _LEAST - 1, 0)
        raise UserError.parameter("segments", segments, f"{count} values make at most {fits} segments of {_LEAST}")
    frequencies, density = welch(values, 1.0 / step, "hann", nperseg=length, detrend="constant", axis=-1)
    return np.asarray(frequencies), np.asarray(density), length


def equal_step(name: str, time: Array) -> float:
    """The step of increasing instants (t,), s; UserError where steps differ."""
    steps = np.diff(time)
    step = float((time[-1] - time[0]) / steps.size)
    if np.abs(steps - step).max() > _EVEN * step:
        raise UserError(f"{name}: must have equal steps, not {steps.min():g} to {steps.max():g} s")
    return step


def increasing_times(name: str, time: ArrayLike) -> Array:
    """Instants (t,), s, at least two, checked."""
    t = finite_array(name, time, (None,))
    if t.size < 2 or not (np.diff(t) > 0.0).all():
        raise UserError.parameter(name, time, "must be at least two increasing instants")
    return t


@checked_call
def impact_peaks(time: ArrayLike, force: ArrayLike, threshold: float = 0.0) -> Peaks:
    """The spells of steps whose force (t,), N, is above the threshold, N; one cut by the end of the run counts too.

    >>> impact_peaks([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 4.0, 0.0, 1.0]).impulse.tolist()
    [6.0, 1.0]
    """
    t, f = _history(time, force)
    steps, f = np.diff(t), f[1:]
    inside = np.concatenate([[False], f > finite("threshold", threshold), [False]])
    first, stop = np.flatnonzero(inside[1:] & ~inside[:-1]), np.flatnonzero(inside[:-1] & ~inside[1:])
    spells = [slice(a, b) for a, b in zip(first, stop, strict=True)]
    largest = np.array([f[spell].max() for spell in spells])
    impulse = np.array([f[spell] @ steps[spell] for spell in spells])
    return Peaks(t[first], t[stop] - t[first], largest, impulse)


@checked_call
def contact_ratio(time: ArrayLike, force: ArrayLike, threshold: float = 0.0) -> float:
    """Share of the time in which the force (t,), N, is above the threshold, N.

    >>> contact_ratio([0.0, 1.0, 2.0, 4.0], [0.0, 5.0, 0.0, 3.0])
    0.75
    """
    t, f = _history(time, force)
    return float(np.diff(t)[f[1:] > finite("threshold", threshold)].sum() / (t[-1] - t[0]))


def _history(time: ArrayLike, values: ArrayLike) -> tuple[Array, Array]:
    """Instants and values (t,), at least two, checked."""
    t = increasing_times("time", time)
    return t, finite_array("values", values, (t.size,))
