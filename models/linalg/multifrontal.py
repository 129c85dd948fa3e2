"""Sparse Cholesky factorisation by the multifrontal method, where CHOLMOD is not installed.

Order by multiple minimum degree (SciPy's SuperLU), symbolic analysis by supernodes, and the numeric factorisation of
`saddle_factor`, on the BLAS of SciPy.

Source: Duff & Reid, ACM Transactions on Mathematical Software 9 (1983) 302–325 (multifrontal method); Liu, ACM
Transactions on Mathematical Software 11 (1985) 141–153 (multiple minimum degree).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import spilu

from arlequin.models.linalg.matrix import not_definite
from arlequin.models.linalg.supernodes import Supernodes, sorted_within, stack_sizes, symbolic
from arlequin.models.types import Array


class Multifrontal:
    """P A Pᵀ = L D Lᵀ with D = ±1: D = 1 for a positive definite A, the signs of the diagonal for a
    quasi-definite one."""

    def __init__(self, A: Any, ordering: str, definite: bool = True) -> None:
        """The symbolic analysis of a canonical A (n, n)."""
        n = A.shape[0]
        order = np.arange(n) if ordering == "natural" else minimum_degree(A)
        equivalent_order, self._supernodes, self._nnz = symbolic(A[order][:, order])
        order = order[equivalent_order]
        negative = np.zeros(n, dtype=np.int64) if definite else (A.diagonal()[order] < 0.0).astype(np.int64)
        if negative.any():  # in each supernode positive pivots come first, as the numeric factorisation requires
            sort, self._supernodes = sorted_within(self._supernodes, negative)
            order, negative = order[sort], negative[sort]
        self._order, self._negative = order, np.flatnonzero(negative)
        supernodes = self._supernodes
        self._all_supernodes, self._border_number = np.arange(supernodes.first.size - 1), np.full(n, -1)
        self._positive = np.add.reduceat(1 - negative, supernodes.first[:-1])
        self._children, self._work_sizes = stack_sizes(supernodes, self._all_supernodes, self._border_number)
        # places in A of the entries of the lower triangle of P A Pᵀ, by columns
        numbers = sp.csc_array((np.arange(1, A.nnz + 1), A.indices, A.indptr), shape=A.shape)
        lower = sp.csc_array(sp.tril(numbers[order][:, order], format="csc"))
        lower.sort_indices()
        self._pointer, self._indices = lower.indptr.astype(np.int32), lower.indices.astype(np.int32)
        self._places_in_A = lower.data - 1

    def factorise(self, A: Any) -> None:
        """Factor a matrix of the same pattern; UserError where a pivot has the wrong sign."""
        from arlequin.models.linalg._saddle_kernels import factorise
        from arlequin.models.linalg._symbolic_kernels import clear_above

        supernodes = self._supernodes._replace(values=np.zeros(0))
        self._supernodes = supernodes  # the old values are released before the new ones are allocated
        values = np.empty(int(supernodes.value_start[-1]))
        stack, front = np.empty(self._work_sizes[0]), np.empty(self._work_sizes[1])
        failed = factorise(
            self._all_supernodes, self._positive, self._children, self._border_number, supernodes.first,
            supernodes.row_start, supernodes.value_start, supernodes.rows, self._pointer, self._indices,
            A.data[self._places_in_A], values, stack, front, np.zeros((0, 0)),
        )  # fmt: skip
        if failed >= 0:
            raise not_definite(int(self._order[failed]))
        clear_above(supernodes.first, supernodes.row_start, supernodes.value_start, values)
        self._supernodes = supernodes._replace(values=values)

    def solve(self, b: Array) -> Array:
        return self.backward(self.forward(b))

    def forward(self, b: Array) -> Array:
        from arlequin.models.linalg._supernodal_kernels import forward

        rows = _as_rows(b[self._order])
        forward(self._all_supernodes, *self._supernodes, rows, None, None)
        rows[:, self._negative] *= -1.0
        return rows.T.reshape(b.shape)

    def backward(self, w: Array) -> Array:
        from arlequin.models.linalg._supernodal_kernels import backward

        rows = _as_rows(w)
        backward(self._all_supernodes, *self._supernodes, rows)
        out = np.empty(w.shape)
        out[self._order] = rows.T.reshape(w.shape)
        return out

    def pivots(self) -> Array:
        columns = self._columns()
        return self._supernodes.values[columns.start + columns.inside] ** 2

    def permutation(self) -> NDArray[np.int32]:
        return self._order.astype(np.int32)

    def nnz(self) -> int:
        return self._nnz

    def lower(self) -> Any:
        supernodes, columns = self._supernodes, self._columns()
        sizes = columns.height - columns.inside
        pointer = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(int(pointer[-1])) - np.repeat(pointer[:-1] - columns.inside, sizes)
        rows = supernodes.rows[np.repeat(columns.rows, sizes) + within]
        values = supernodes.values[np.repeat(columns.start, sizes) + within]
        return sp.csc_array((values, rows, pointer.astype(np.int32)), shape=(sizes.size,) * 2)

    def supernodes(self, symbolic: bool = False) -> Supernodes:
        return self._supernodes

    def _columns(self) -> "_Columns":
        supernodes = self._supernodes
        widths, heights = np.diff(supernodes.first), np.diff(supernodes.row_start).astype(np.int64)
        supernode_of = np.repeat(self._all_supernodes, widths)
        inside = np.arange(supernode_of.size) - supernodes.first[supernode_of]
        return _Columns(
            inside,
            heights[supernode_of],
            supernodes.row_start[supernode_of],
            supernodes.value_start[supernode_of] + inside * heights[supernode_of],
        )


class _Columns(NamedTuple):
    """Columns of L: number within the supernode, height of the supernode, start of its rows and of the values of the
    column."""

    inside: NDArray[np.int64]
    height: NDArray[np.int64]
    rows: NDArray[np.int32]
    start: NDArray[np.int64]


def _as_rows(columns: Array) -> Array:
    """A copy (r, n), contiguous, of columns (n, r) or (n,)."""
    return np.array(columns.reshape(columns.shape[0], -1).T, order="C")


def minimum_degree(A: Any) -> NDArray[np.int64]:
    """The order (n,) of a symmetric pattern by multiple minimum degree, a by-product of SuperLU's incomplete
    factorisation, which drops all entries here."""
    n = A.shape[0]
    pattern = sp.csc_array((np.full(A.nnz, -1e-6), A.indices, A.indptr), shape=A.shape)
    dominant = sp.csc_array(pattern + sp.eye_array(n, format="csc"))
    ilu = spilu(
        dominant, drop_tol=1.0, fill_factor=1.0, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )  # fmt: skip
    return np.argsort(ilu.perm_c).astype(np.int64)
