"""Confidence intervals of means, of sums of independent means, and of proportions.

Moments are computed of values over a power of two of their size, so that squares neither overflow nor vanish: those of
s x are s, s², … times those of x, to the bit where s is a power of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models.types import Array

_LEAST = 1.0  # degrees of freedom


def student(confidence: float, degrees: float) -> float:
    """Half-width of the central interval of Student's distribution.

    >>> round(student(0.95, 10.0), 3), round(student(0.95, np.inf), 3)
    (2.228, 1.96)
    """
    from scipy.special import ndtri, stdtrit

    probability = 0.5 * (1.0 + confidence)
    return float(stdtrit(degrees, probability) if np.isfinite(degrees) else ndtri(probability))


def scale_of(*values: ArrayLike) -> float:
    """The largest power of two that no value is smaller than in size; 1 where all are zero.

    >>> scale_of([3.0, -5.0]), scale_of([0.0]), scale_of([1e-320]) > 0.0
    (4.0, 1.0, True)
    """
    largest = max((float(np.abs(one).max(initial=0.0)) for one in map(np.asarray, values)), default=0.0)
    return float(np.ldexp(1.0, np.frexp(largest)[1] - 1)) if largest > 0.0 else 1.0


def mean(values: Array, axis: int | None = None) -> Any:
    """The mean; that of [1e308, 1e308] is finite."""
    scale = scale_of(values)
    return scale * (values / scale).mean(axis=axis)


def deviation(values: Array) -> float:
    """Standard deviation s of a sample, s² = Σ (x − x̄)²/(n − 1).

    >>> round(deviation(1e-200 * np.array([1.0, 3.0])) / 1e-200, 12)
    1.414213562373
    """
    scale = scale_of(values)
    return scale * float((values / scale).std(ddof=1))


def kurtosis(values: Array) -> float:
    """Fourth central moment over the square of the variance, 3 for normal numbers; 3 where they are all the same."""
    values = values / scale_of(values)
    centred = values - values.mean()
    centred = centred / scale_of(centred)
    square = float(np.mean(centred**2))
    return float(np.mean(centred**4)) / square**2 if square > 0.0 else 3.0


def degrees_of_freedom(variances: Array, counts: Array, kurtoses: Array) -> float:
    """Degrees of freedom of s² = Σ_l v_l/n_l, the variance of a sum of independent means.

    By Satterthwaite, ν = 2 (s²)²/Var(s²), with Var(v) = v² (2/(n − 1) + (κ − 3)/n) of a sample variance v of n numbers
    of the kurtosis κ; as normal numbers where κ < 3.

    Source: F. E. Satterthwaite, Biometrics Bulletin 2 (1946) 110–114.

    >>> degrees_of_freedom(np.array([4.0]), np.array([11]), np.array([3.0]))
    10.0
    """
    shares = variances / counts
    total = float(shares.sum())
    if not total > 0.0:
        return float("inf")
    spread = shares**2 * (2.0 / (counts - 1.0) + np.maximum(kurtoses - 3.0, 0.0) / counts)
    return max(float(2.0 * total**2 / spread.sum()), _LEAST)


def proportion(successes: ArrayLike, count: int, confidence: float) -> tuple[Array, Array]:
    """Exact interval of a proportion from k successes of n, by Clopper & Pearson (Biometrika 26, 1934).

    >>> [round(float(end), 4) for end in proportion(0, 100, 0.95)]
    [0.0, 0.0362]
    """
    from scipy.special import betaincinv

    k = np.asarray(successes, dtype=float)
    tail = 0.5 * (1.0 - confidence)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1.0), count - k + 1.0, tail), 0.0)
    high = np.where(k < count, betaincinv(k + 1.0, np.maximum(count - k, 1.0), 1.0 - tail), 1.0)
    return low, high
