"""Constraints C eliminated from a linear system by C A⁻¹ Cᵀ, and which of their rows are independent."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from arlequin.models.errors import UserError
from arlequin.models.linalg.components import equal_components, factorise_components
from arlequin.models.linalg.matrix import symmetric_of_lower
from arlequin.models.types import Array

_DEPENDENT = 1e-12  # independent share of a constraint below which it is left out
_SURELY = 1e-10  # pivots of Cholesky, as shares of the diagonal, above which rows are independent beyond doubt
_FULL = 1500  # constraints up to which a sparse C A⁻¹ Cᵀ is factored as a full matrix
_MOSTLY_FULL = 0.5  # share of entries that are not zero from which an order of the rows gains nothing
_FEW = 100  # constraints from which the factor of one component of a field takes less time


class Elimination(Protocol):
    """The constraints C eliminated from S = [C; B] A⁻¹ [C; B]ᵀ, whose first m rows are theirs.

    Dependent rows of C are left out: their multipliers are 0. compliance (q, q): W = S_BB − S_BC S_CC⁻¹ S_CB.
    """

    compliance: Any

    def resolved(self, rates: Array) -> tuple[Array, Array]:
        """φ = S_CC⁻¹ x and S_BC φ (q,) of x (m,), or (m, n)."""

    def response(self, impulse: Array) -> Array:
        """S_CC⁻¹ S_CB P (m,) of P (q,), or (q, n)."""


def eliminate(schur: Any, m: int) -> Elimination:
    """The first m rows of S (r, r), full or sparse, eliminated; a full S is overwritten."""
    return SparseElimination(sp.csr_array(schur), m) if sp.issparse(schur) else FullElimination(schur, m)


class FullElimination:
    """With S_CC = Uᵀ U and T = U⁻ᵀ S_CB: W = S_BB − Tᵀ T, so that nothing of size (m, q) is kept but T."""

    def __init__(self, schur: Array, m: int) -> None:
        self._count = m
        order = narrow_order(schur[:m, :m])
        rows, self._upper = _independent_factor(schur[np.ix_(order, order)])
        self._independent = order[rows]
        across = np.array(schur[self._independent, m:], order="F")
        self._root = np.zeros_like(across)
        self.compliance = np.array(schur[m:, m:], order="F")
        if across.size:
            self._root = scipy.linalg.lapack.dtrtrs(self._upper, across, trans=1, overwrite_b=1)[0]
            dsyrk = scipy.linalg.blas.dsyrk
            reduced = dsyrk(-1.0, self._root, 1.0, self.compliance, trans=1, lower=1, overwrite_c=1)
            self.compliance = symmetric_of_lower(reduced)

    def resolved(self, rates: Array) -> tuple[Array, Array]:
        if not self._independent.size:
            return np.zeros_like(rates), np.zeros((self._root.shape[1], *rates.shape[1:]))
        half = self._triangle(rates[self._independent], 1)
        return self._scattered(self._triangle(half, 0)), self._root.T @ half

    def response(self, impulse: Array) -> Array:
        if not self._independent.size:
            return np.zeros((self._count, *impulse.shape[1:]))
        return self._scattered(self._triangle(self._root @ impulse, 0))

    def arrays(self) -> tuple[NDArray[np.int64], Array, NDArray[np.int64], Array]:
        """The independent rows of C (k,), Uᵀ (k, k) with the first column of each of its rows (k,), and T (k, q), for
        compiled loops."""
        lower = np.ascontiguousarray(np.triu(self._upper).T)
        return self._independent, lower, first_columns(lower), np.ascontiguousarray(self._root)

    def _triangle(self, x: Array, transposed: int) -> Array:
        """U⁻¹ x, or U⁻ᵀ x."""
        return np.asarray(scipy.linalg.lapack.dtrtrs(self._upper, x, trans=transposed)[0]).reshape(x.shape)

    def _scattered(self, multipliers: Array) -> Array:
        out = np.zeros((self._count, *multipliers.shape[1:]))
        out[self._independent] = multipliers
        return out


class SparseElimination:
    """S_CC factored, full or sparse, and S_CC⁻¹ S_CB, which is zero for rows that share no dofs with constraints."""

    def __init__(self, schur: sp.csr_array, m: int) -> None:
        self._count = m
        self._independent, self._solve = constraint_factor(schur[:m, :m])
        self._across = across = sp.csc_array(schur[self._independent][:, m:])
        touched = np.flatnonzero(np.diff(across.indptr))
        full = np.zeros((across.shape[0], 0))
        if touched.size and self._independent.size:
            full = self._solve(np.asfortranarray(across[:, touched].toarray()))
        columns = sp.csc_array(full)
        place = np.zeros(across.shape[1] + 1, dtype=np.int64)
        place[touched + 1] = np.diff(columns.indptr) if columns.shape[1] else 0
        arrays = columns.data, columns.indices, np.cumsum(place)
        self._released = sp.csr_array(sp.csc_array(arrays, shape=across.shape))
        self.compliance: Any = schur[m:, m:] - across.T @ self._released if self._independent.size else schur[m:, m:]

    def resolved(self, rates: Array) -> tuple[Array, Array]:
        out = np.zeros_like(rates)
        if not self._independent.size:
            return out, np.zeros((self._across.shape[1], *rates.shape[1:]))
        if self._independent.size == self._count:
            out = multipliers = self._solve(rates)
        else:
            out[self._independent] = multipliers = self._solve(rates[self._independent])
        return out, self._across.T @ multipliers

    def response(self, impulse: Array) -> Array:
        out = np.zeros((self._count, *impulse.shape[1:]))
        out[self._independent] = self._released @ impulse
        return out


def constraint_factor(schur: sp.csr_array) -> tuple[NDArray[np.int64], Callable[[Array], Array]]:
    """The independent constraints, and x ↦ S_CC⁻¹ x on these, of a sparse S_CC (m, m): by one component of the field,
    where there are many and all have the same matrix."""
    count = schur.shape[0]
    if count > _FULL:
        try:
            return np.arange(count), factorise_components(schur).solve
        except UserError:
            pass  # dependent constraints
    rows, upper = _independent_factor(schur.toarray())
    if rows.size == count >= _FEW and equal_components(schur) is not None:
        return rows, factorise_components(schur).solve
    if not rows.size:
        return rows, lambda x: x
    return rows, lambda x: scipy.linalg.lapack.dpotrs(upper, x, lower=0)[0]


def narrow_order(schur: Array) -> NDArray[np.int64]:
    """Order (m,) of the rows of a symmetric S (m, m) by reverse Cuthill–McKee, so that the rows of its factor are
    short; that of the rows where most entries are not zero."""
    count = len(schur)
    if np.count_nonzero(schur) >= _MOSTLY_FULL * count**2:
        return np.arange(count)
    return reverse_cuthill_mckee(sp.csr_matrix(schur), symmetric_mode=True).astype(np.int64)


def first_columns(lower: Array) -> NDArray[np.int64]:
    """The first column (m,) of each row of L (m, m) that is not zero."""
    return np.argmax(lower != 0.0, axis=1) if lower.size else np.zeros(0, dtype=np.int64)


def _independent_factor(schur: Array) -> tuple[NDArray[np.int64], Array]:
    """Independent rows (k,) of a symmetric S (m, m), and U (k, k) of their S = Uᵀ U."""
    if schur.size:  # usually all rows are independent: no pivoting
        upper, failed = scipy.linalg.lapack.dpotrf(np.asfortranarray(0.5 * (schur + schur.T)), overwrite_a=1)
        if not failed and (upper.diagonal() ** 2 > _SURELY * schur.diagonal()).all():
            return np.arange(len(schur)), upper
    rows = independent(schur)
    block = schur[np.ix_(rows, rows)]
    block = np.asfortranarray(0.5 * (block + block.T))
    return rows, scipy.linalg.lapack.dpotrf(block, overwrite_a=1)[0] if rows.size else block


def independent(schur: Array, size: Array | None = None) -> NDArray[np.int64]:
    """Rows of C that are independent, by pivoted Cholesky of C A⁻¹ Cᵀ with unit diagonal.

    size (m,): scale of the rows, about diag(C A⁻¹ Cᵀ) before others were eliminated; by default the largest entry.
    """
    if not schur.size:
        return np.zeros(0, dtype=np.int64)
    diagonal = schur.diagonal().copy()
    rows = np.flatnonzero(diagonal > _DEPENDENT * (diagonal.max() if size is None else size))
    if not rows.size:
        return rows.astype(np.int64)
    scale = 1.0 / np.sqrt(diagonal[rows])
    scaled = schur[np.ix_(rows, rows)] * scale * scale[:, None]
    _, pivots, rank, _ = scipy.linalg.lapack.dpstrf(0.5 * (scaled + scaled.T), tol=_DEPENDENT)
    return np.sort(rows[pivots[:rank] - 1]).astype(np.int64)
