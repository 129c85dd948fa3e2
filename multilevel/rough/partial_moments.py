"""Partial moments of summit heights: of the standard normal and of the exponential distribution."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gamma, gammaincc, ndtr, pbdv

from arlequin.models.types import Array

# d below which moments are those of the whole distribution, as exp(−d²/4) D(d) leaves the range of doubles at −38
_SERIES_BELOW = -20.0
_ZERO_ABOVE = 50.0  # d above which the density of summits is zero in doubles
_EXPONENTIAL_SERIES_BELOW = -60.0  # d below which the moments of the exponential distribution are computed by a series


def partial_moment(order: float, distance: ArrayLike) -> Array:
    """F_n(d) = ∫_d^∞ (s − d)ⁿ φ(s) ds (any shape) of the standard normal density φ, for orders n > −1.

        F_n(d) = Γ(n + 1)/√(2π) e^{−d²/4} D_{−n−1}(d),    F_n' = −n F_{n−1}

    with the parabolic cylinder function D; to 2e-9 of itself. Below d = −20 the density ends before the limit and
    F_n(d) = Σ_j n(n−1)…(n−2j+1)/(2ʲ j!) (−d)^{n−2j}.

    >>> partial_moment(1.0, [0.0]) * (2 * np.pi) ** 0.5  # mean of ⟨s⟩₊
    array([1.])

    Source: Gradshteyn & Ryzhik 3.462.1; Greenwood & Williamson, Proc. R. Soc. A 295 (1966) 300–319, eq. 11.
    """
    d = np.asarray(distance, dtype=float)
    if order == 0.0:
        return ndtr(-d)
    near = np.clip(d, _SERIES_BELOW, _ZERO_ABOVE)
    moment = gamma(order + 1.0) / math.sqrt(2.0 * math.pi) * np.exp(-0.25 * near**2) * pbdv(-order - 1.0, near)[0]
    if (d < _SERIES_BELOW).any():
        moment = np.where(d < _SERIES_BELOW, _full_moment(order, -np.minimum(d, _SERIES_BELOW)), moment)
    return moment


def exponential_moment(order: float, distance: ArrayLike) -> Array:
    """∫_d^∞ (s − d)ⁿ e^{−s} ds over s > 0 (any shape): Γ(n + 1) e^{−d} for d ≥ 0, else e^{−d} Γ(n + 1, −d).

    Far below 0 by Σ_j n(n−1)…(n−j+1) (−d)^{n−j}.

    Source: Greenwood & Williamson, Proc. R. Soc. A 295 (1966) 300–319, eq. 10 (d ≥ 0).
    """
    d = np.asarray(distance, dtype=float)
    near = np.maximum(d, _EXPONENTIAL_SERIES_BELOW)
    moment = gamma(order + 1.0) * np.exp(-near) * gammaincc(order + 1.0, np.maximum(-near, 0.0))
    a = -np.minimum(d, _EXPONENTIAL_SERIES_BELOW)
    terms = np.cumprod([order - j for j in range(9)])
    series = a**order * (1.0 + sum(term * a ** -(j + 1.0) for j, term in enumerate(terms)))
    return np.where(d < _EXPONENTIAL_SERIES_BELOW, series, moment)


def _full_moment(order: float, a: Array) -> Array:
    """E[(s + a)ⁿ] of a standard normal s, as its series in 1/a²."""
    term, total = a**order, a**order
    for j in range(1, 6):
        term = term * (order - 2 * j + 2) * (order - 2 * j + 1) / (2 * j * a**2)
        total = total + term
    return total
