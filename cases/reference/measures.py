"""Measures of a stepwise pressure against a reference, and orders of convergence.

A result's pressures are means p_h over the steps between `edges` (k + 1,); a reference gives pressure(t),
impulse(t) and the breakpoints between which its pressure is a polynomial. On the union of both grids p_h − p
is constant for event-driven references (the integral of |p_h − p| is then exact), at most quadratic for
integrated ones (exact except if it changes sign inside a piece).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models.errors import UserError
from arlequin.models.types import Array


class Reference(Protocol):
    """Interface of a reference: pressure, impulse and breakpoints."""

    @property
    def breakpoints(self) -> Array: ...

    def pressure(self, t: ArrayLike) -> Array: ...

    def impulse(self, t: ArrayLike) -> Array: ...


def _samples(edges: Array, reference: Reference) -> tuple[Array, Array, Array]:
    """Gauss points (j, 3), weights (j, 3) s and step (j,) of each piece of the union of the grids."""
    inner = reference.breakpoints
    edges_of_pieces = np.unique(np.concatenate([edges, inner[(inner > edges[0]) & (inner < edges[-1])]]))
    points, weights = np.polynomial.legendre.leggauss(3)
    half = 0.5 * np.diff(edges_of_pieces)[:, None]
    middle = 0.5 * (edges_of_pieces[1:] + edges_of_pieces[:-1])
    return middle[:, None] + half * points, half * weights, np.searchsorted(edges, middle) - 1


def _checked(edges: ArrayLike, values: ArrayLike) -> tuple[Array, Array]:
    e, v = np.asarray(edges, dtype=float), np.asarray(values, dtype=float)
    if e.ndim != 1 or v.shape != (len(e) - 1,) or not np.all(np.diff(e) > 0):
        raise UserError.parameter("edges", e.shape, f"must be increasing, one more than the {v.size} values")
    if not np.all(np.isfinite(v)):
        raise UserError.parameter("values", "nan or inf", "must be finite")
    return e, v


def l1_error(edges: ArrayLike, values: ArrayLike, reference: Reference) -> float:
    """∫ |p_h − p| dt / ∫ p dt over the edges, dimensionless."""
    e, v = _checked(edges, values)
    t, w, step = _samples(e, reference)
    ends = reference.impulse(e[[0, -1]])
    return float(np.sum(w * np.abs(v[step, None] - reference.pressure(t))) / (ends[1] - ends[0]))


def l2_error(edges: ArrayLike, values: ArrayLike, reference: Reference) -> float:
    """(∫ (p_h − p)² dt / ∫ p² dt)^½ over the edges, dimensionless; exact for quadratic pieces."""
    e, v = _checked(edges, values)
    t, w, step = _samples(e, reference)
    p = reference.pressure(t)
    return float(np.sqrt(np.sum(w * (v[step, None] - p) ** 2) / np.sum(w * p**2)))


def mean_error(edges: ArrayLike, values: ArrayLike, reference: Reference, norm: int = 2) -> float:
    """Relative error by the means of the reference over the steps (without the O(Δt) of the steps)."""
    e, v = _checked(edges, values)
    dt, exact = np.diff(e), np.diff(reference.impulse(e)) / np.diff(e)
    total = np.sum(dt * np.abs(exact) ** norm)
    return float((np.sum(dt * np.abs(v - exact) ** norm) / total) ** (1 / norm))


def impulse_error(edges: ArrayLike, values: ArrayLike, reference: Reference) -> float:
    """|∫ p_h dt / ∫ p dt − 1| over the edges."""
    e, v = _checked(edges, values)
    ends = reference.impulse(e[[0, -1]])
    return float(abs(np.sum(np.diff(e) * v) / (ends[1] - ends[0]) - 1))


def total_variation(values: ArrayLike, scale: float = 1.0, before: float = 0.0) -> float:
    """Σ |p_{i+1} − p_i| / scale, starting from `before`; 2 for one contact at constant p = scale."""
    return float(np.sum(np.abs(np.diff(np.asarray(values, dtype=float), prepend=before))) / scale)


def convergence_order(sizes: ArrayLike, errors: ArrayLike) -> float:
    """Least-squares slope of log(error) against log(size): error = C size^order."""
    h, error = np.asarray(sizes, dtype=float), np.asarray(errors, dtype=float)
    if h.shape != error.shape or h.size < 2 or np.any(h <= 0) or np.any(error <= 0):
        raise UserError.parameter("errors", error.shape, "must be positive, one for each of at least two sizes")
    return float(np.polyfit(np.log(h), np.log(error), 1)[0])
