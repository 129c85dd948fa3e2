"""Dense linear systems of the contact problem of a step, inside of compiled kernels."""

from typing import Any

import numpy as np
from numba import config, types

from arlequin.models.kernel_cache import called_njit
from arlequin.multilevel.solvers._borrow_kernels import hold

LAPACK_FROM = 96  # unknowns
LEAST_NORM_MAX = 400  # largest number of unknowns for which singular values are computed
RANK = 1e-11  # singular value over the largest, below which it is round-off

# LAPACK's dgesv and dgelsd as numba exports them: `np.linalg.solve` inside of a kernel takes four seconds to compile
_REALS, _INTEGERS = types.CPointer(types.float64), types.CPointer(types.int32)
_DGESV: Any = types.intc(
    types.char, types.intp, types.intp, _REALS, types.intp, _INTEGERS, _REALS, types.intp
)  # fmt: skip
_dgesv: Any = types.ExternalFunction("numba_xgesv", _DGESV)
_DGELSD: Any = types.intc(
    types.char, types.intp, types.intp, types.intp, _REALS, types.intp, _REALS, types.intp, _REALS, types.float64,
    _INTEGERS,
)  # fmt: skip
_dgelsd: Any = types.ExternalFunction("numba_ez_gelsd", _DGELSD)


def _by_lapack(matrix, rhs, n):
    """Solves the leading n × n system for the rows of rhs (2, n) in place; False where a pivot is zero."""
    columns, pivots = np.empty((n, n)), np.empty(n, dtype=np.int32)
    for i in range(n):
        for j in range(n):
            columns[j, i] = matrix[i, j]
    info = _dgesv(ord("d"), n, 2, columns.ctypes, n, pivots.ctypes, rhs.ctypes, n)
    hold((columns, pivots, rhs))
    return info == 0


def _by_numpy(matrix, rhs, n):
    """`_by_lapack` where kernels run as Python."""
    try:
        rhs[:] = np.linalg.solve(matrix[:n, :n], rhs.T).T
    except np.linalg.LinAlgError:
        return False
    return True


def _least_norm_by_lapack(matrix, rhs, n):
    """The solution of least norm of the leading n × n system, into rhs (n,); False where LAPACK does not converge."""
    columns, values, rank = np.empty((n, n)), np.empty(n), np.empty(1, dtype=np.int32)
    for i in range(n):
        for j in range(n):
            columns[j, i] = matrix[i, j]
    info = _dgelsd(ord("d"), n, n, 1, columns.ctypes, n, rhs.ctypes, n, values.ctypes, RANK, rank.ctypes)
    hold((columns, values, rank, rhs))
    return info == 0


def _least_norm_by_numpy(matrix, rhs, n):
    """`_least_norm_by_lapack` where kernels run as Python."""
    rhs[:n] = np.linalg.lstsq(matrix[:n, :n], rhs[:n], rcond=RANK)[0]
    return True


solve_least_norm: Any = (
    _least_norm_by_numpy if config.DISABLE_JIT else called_njit()(_least_norm_by_lapack)  # type: ignore[attr-defined]
)
_solve_by_lapack: Any = _by_numpy if config.DISABLE_JIT else called_njit()(_by_lapack)  # type: ignore[attr-defined]


@called_njit()
def eliminate(matrix, rhs, n):
    """Solves the leading n × n system in place by Gauss elimination with row pivoting; False where it is singular.

    The rows are of unit size: a pivot of the size of round-off means that they are linearly dependent.
    """
    floor = 1e-14 * max(n, 10)
    for i in range(n):
        best, size = i, abs(matrix[i, i])
        for r in range(i + 1, n):
            if abs(matrix[r, i]) > size:
                best, size = r, abs(matrix[r, i])
        if not size > floor:
            return False
        if best != i:
            for j in range(i, n):
                matrix[i, j], matrix[best, j] = matrix[best, j], matrix[i, j]
            rhs[i], rhs[best] = rhs[best], rhs[i]
        pivot = matrix[i, i + 1 : n]  # slices, whose indices need no check, make the loop vectorise
        inverse = 1.0 / matrix[i, i]
        for r in range(i + 1, n):
            factor = matrix[r, i] * inverse
            if factor != 0.0:
                row = matrix[r, i + 1 : n]
                for j in range(pivot.size):
                    row[j] -= factor * pivot[j]
                rhs[r] -= factor * rhs[i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            rhs[i] -= matrix[i, j] * rhs[j]
        rhs[i] /= matrix[i, i]
    return True


@called_njit()
def solve_dense(matrix, rhs, n):
    """Solves the leading n × n system into `rhs`; False where it is singular (rows of unit size).

    LAPACK detects only pivots that are exactly zero: a second right-hand side without structure estimates the norm of
    the inverse.
    """
    if n <= LAPACK_FROM:
        return eliminate(matrix, rhs, n)
    rhs_and_probe = np.empty((2, n))
    for i in range(n):
        rhs_and_probe[0, i] = rhs[i]
        rhs_and_probe[1, i] = np.cos(1.0 + i * i)
    if not _solve_by_lapack(matrix, rhs_and_probe, n):
        return False
    for i in range(n):
        if not abs(rhs_and_probe[1, i]) < 1e13:
            return False
    for i in range(n):
        rhs[i] = rhs_and_probe[0, i]
    return True


@called_njit(fastmath={"contract", "reassoc"})
def full_dot(x, y):
    """x·y, summed in any order."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@called_njit()
def solve_lower(lower, start, x):
    """x (n,) ← L⁻¹ x, of an x that is zero before `start`."""
    for i in range(start, x.size):
        x[i] = (x[i] - full_dot(lower[i, start:i], x[start:i])) / lower[i, i]


@called_njit()
def solve_lower_transposed(lower, x):
    """x (n,) ← L⁻ᵀ x."""
    for i in range(x.size - 1, -1, -1):
        x_i = x[i] / lower[i, i]
        row, above = lower[i, :i], x[:i]
        for j in range(above.size):
            above[j] -= x_i * row[j]
        x[i] = x_i


@called_njit()
def solve_envelope(lower, first, x):
    """x (n,) ← L⁻¹ x of an L whose row i is zero before column first[i]."""
    for i in range(x.size):
        x[i] = (x[i] - full_dot(lower[i, first[i] : i], x[first[i] : i])) / lower[i, i]


@called_njit()
def solve_envelope_transposed(lower, first, x):
    """x (n,) ← L⁻ᵀ x, as `solve_envelope`."""
    for i in range(x.size - 1, -1, -1):
        x_i = x[i] / lower[i, i]
        row, above = lower[i, first[i] : i], x[first[i] : i]
        for j in range(above.size):
            above[j] -= x_i * row[j]
        x[i] = x_i
