"""Eigenvalues of K − ω²M: the lowest of sparse matrices by shift-invert Lanczos, all of small dense ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from arlequin.models.linalg.matrix import binade
from arlequin.models.types import Array

_LEAST_SHIFT = 1e-9  # second shift, relative to the first, at least
_ROUND_OFF = 100.0 * np.finfo(float).eps  # of an eigenvalue, relative to the highest


def lowest_modes(
    stiffness: Any,
    mass: sp.csr_array,
    count: int,
    solve: Callable[[Array], Array],
    *,
    unit: float,
    shift: float = 0.0,
    tolerance: float = 0.0,
) -> tuple[Array, Array]:
    """The lowest eigenvalues ω² (count,), increasing, and shapes (d, count), φᵀMφ = 1, of (K − ω² M) φ = 0.

    solve: b (d,) ↦ (K + shift·M)⁻¹ b, where it is a projection on constraints too the modes obey these. unit: scale of
    the eigenvalues, of which the binade counts (ARPACK's threshold for an eigenvalue of zero is absolute).
    """
    size, unit = mass.shape[0], binade(unit)
    inverse = LinearOperator((size, size), matvec=lambda b: unit * solve(b.ravel()), dtype=float)
    values, shapes = eigsh(
        stiffness / unit,
        count,
        mass,
        sigma=-shift / unit,
        OPinv=inverse,
        v0=solve(np.cos(1.0 + np.arange(size)) * mass.diagonal()),
        tol=tolerance,
        which="LM",
    )
    order = np.argsort(values)
    return unit * values[order], shapes[:, order]


def at_two_shifts(search: Callable[[float, float], tuple[Array, Array]], first: float) -> tuple[Array, Array]:
    """The lowest eigenvalues and shapes by search(shift, tolerance): a first shift, far above the lowest eigenvalues,
    estimates them, the second is close to them."""
    estimate, _ = search(first, 1e-2)
    return search(max(float(np.abs(estimate).max()), _LEAST_SHIFT * first), 0.0)


def all_modes(stiffness: Array, mass: Array, first: float) -> tuple[Array, Array]:
    """All eigenvalues ω² (m,), increasing, and shapes (n, m), φᵀMφ = 1, of dense matrices (n, n); without those of
    coordinates without mass. first: a shift, 1/s², of matrices without elastic modes, or without mass somewhere.

    Solved for M y = (K + sM) y/(ω² + s) the low ones are accurate to round-off, for K y = ω² M y the high ones: each is
    taken on its side of the geometric mean of the lowest elastic, s, and the highest. LinAlgError where K + sM is not
    positive definite.
    """
    try:
        values, shapes = scipy.linalg.eigh(stiffness, mass)
    except np.linalg.LinAlgError:  # coordinates without mass
        values, shapes = np.zeros(0), np.zeros((stiffness.shape[0], 0))
    elastic = values[values > _ROUND_OFF * values[-1]] if values.size else values
    # of rigid motions alone the round-off is that of the shift
    shift = float(elastic[0]) if elastic.size else _LEAST_SHIFT * first if values.size else first
    inverse, low = scipy.linalg.eigh(mass, stiffness + shift * mass)
    inverse, low = inverse[::-1], low[:, ::-1]
    limit = 1.0 / (shift + np.sqrt(shift * elastic[-1])) if elastic.size else _ROUND_OFF * inverse[0]
    count = int(np.count_nonzero(inverse > limit))
    low = low[:, :count] / np.sqrt(inverse[:count])
    return np.concatenate([1.0 / inverse[:count] - shift, values[count:]]), np.hstack([low, shapes[:, count:]])
