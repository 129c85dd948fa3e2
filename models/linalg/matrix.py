"""Checks of a sparse matrix before its factorisation, O(nnz), and its symmetric part."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array

SYMMETRY = 1e-10  # largest |a_ij − a_ji| / √(a_ii a_jj) that counts as round-off
_BLOCK = 512  # rows of a triangle per copy


def binade(value: float) -> float:
    """The power of two 2^k ≤ value < 2^(k + 1), 1 for 0: a scale for algorithms with absolute tolerances.

    Division by it is exact, so that results do not depend on units that are powers of two apart.

    >>> binade(5.0), binade(0.3), binade(0.0)
    (4.0, 0.25, 1.0)
    """
    return math.ldexp(1.0, math.frexp(value)[1] - 1) if value > 0.0 else 1.0


def canonical(A: Any) -> Any:
    """A as a float64 CSC array, finite and square, with sorted int32 indices and no duplicates.

    The argument is not changed; its arrays are shared where they already have this form.
    """
    matrix = sp.csc_array(A, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"a square matrix is needed, not {matrix.shape}")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # csc_array(csc) shares its arrays
        matrix.sum_duplicates()
    if matrix.nnz > np.iinfo(np.int32).max:
        raise UserError(f"the matrix has {matrix.nnz} entries: too many for 32-bit indices", code=FAILURE)
    if matrix.indices.dtype != np.int32 or matrix.indptr.dtype != np.int32:
        arrays = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
        matrix = sp.csc_array(arrays, shape=matrix.shape)
    if not np.isfinite(matrix.data).all():
        raise UserError("the matrix has entries that are not finite", code=FAILURE)
    return matrix


def same_entries(a: Any, b: Any) -> bool:
    """Whether two matrices of one format, with sorted indices, have the same entries, bit by bit."""
    pairs = ((a.indptr, b.indptr), (a.indices, b.indices), (a.data, b.data))
    return a is b or (a.shape == b.shape and all(np.array_equal(x, y) for x, y in pairs))


def only_diagonal(A: Any) -> NDArray[np.float64] | None:
    """The diagonal of a canonical A that is diagonal, None otherwise."""
    diagonal = A.diagonal()
    return diagonal if np.count_nonzero(A.data) == np.count_nonzero(diagonal) else None


def symmetric_diagonal(A: Any) -> NDArray[np.float64]:
    """The diagonal of a canonical A, checked: positive, and A symmetric to |a_ij − a_ji| ≤ 1e-10 √(a_ii a_jj).

    The measure does not depend on the units of the degrees of freedom.
    """
    diagonal = A.diagonal()
    if not (diagonal > 0).all():
        raise not_definite(int(np.argmin(diagonal)))
    scale = 1 / np.sqrt(diagonal)
    skew = (A - A.T.tocsc()).tocoo()  # entries that cancel are dropped: almost none remain
    worst = np.abs(skew.data) * scale[skew.row] * scale[skew.col]
    if worst.size and worst.max() > SYMMETRY:
        at = int(worst.argmax())
        place = f"entry {skew.row[at]}, {skew.col[at]}: {worst[at]:.1e} relative"
        raise UserError(f"the matrix is not symmetric ({place})", code=FAILURE)
    return diagonal


def symmetric_part(A: sp.csr_array) -> sp.csr_array:
    """½(A + Aᵀ) of a canonical A with a symmetric pattern, which is kept."""
    return sp.csr_array((0.5 * (A.data + A.T.tocsr().data), A.indices, A.indptr), shape=A.shape)


def symmetric_of_lower(matrix: Array) -> Array:
    """A matrix (n, n) whose upper triangle is overwritten by its lower one, in place."""
    for first in range(0, len(matrix), _BLOCK):
        last = min(first + _BLOCK, len(matrix))
        matrix[:first, first:last] = matrix[first:last, :first].T
        block = matrix[first:last, first:last]
        block[:] = np.tril(block) + np.tril(block, -1).T
    return matrix


def not_definite(dof: int | None = None) -> UserError:
    """The error for a matrix without a Cholesky factor."""
    where = "" if dof is None else f" (seen at degree of freedom {dof})"
    hint = "is a rigid motion left free, a beam compressed until it buckles, or a mass or stiffness not positive?"
    return UserError(f"the matrix is not positive definite{where}: {hint}", code=FAILURE)
