"""Partial moments of the standard normal distribution."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gamma, ndtr, pbdv

from multilevel.rough.theory import Array

_FAR = -20.0  # below: the moments of the whole distribution, as exp(−d²/4) D(d) leaves the range of doubles at −38


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
    near = np.maximum(d, _FAR)
    moment = gamma(order + 1.0) / math.sqrt(2.0 * math.pi) * np.exp(-0.25 * near**2) * pbdv(-order - 1.0, near)[0]
    if (d < _FAR).any():
        moment = np.where(d < _FAR, _whole_moment(order, -np.minimum(d, _FAR)), moment)
    return moment


def _whole_moment(order: float, a: Array) -> Array:
    """E[(s + a)ⁿ] of a standard normal s, as its series in 1/a²."""
    term, total = a**order, a**order
    for j in range(1, 6):
        term = term * (order - 2 * j + 2) * (order - 2 * j + 1) / (2 * j * a**2)
        total = total + term
    return total
