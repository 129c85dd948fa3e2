"""Products of a sparse matrix with one vector or with many."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.types import Array

_FULL = 0.25  # share of the places in the columns in use that are taken, above which a full matrix is quicker

_KEPT = 4  # products kept: a comparison costs a thousandth of a product


@dataclass(frozen=True, eq=False)
class RowProduct:
    """Rows A (r, d) for many products: those of reduced parts, on all their coordinates, by a full copy.

    A step asks for some products again, at its end and at the next one's start: the last full ones are kept.
    """

    matrix: sp.csr_array
    _last: list[tuple[Array, Array]] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def _full(self) -> tuple[Any, Array] | None:
        """Columns in use, and A on them; None where most places are empty."""
        columns = np.unique(self.matrix.indices)
        if self.matrix.nnz <= _FULL * self.matrix.shape[0] * columns.size:
            return None
        first, last = int(columns[0]), int(columns[-1]) + 1
        some = slice(first, last) if last - first == columns.size else columns  # a slice spares copies
        return some, self.matrix[:, some].toarray()

    @cached_property
    def _transposed(self) -> sp.csc_array:
        return self.matrix.T  # by columns: only the forces that there are get read, not all d rows

    def of(self, fields: Array) -> Array:
        """A x (r,) for x (d,), or (b, r) for each x of fields (b, d)."""
        if self._full is None or fields.ndim > 1:  # BLAS products with many depend on how many there are
            return applied(self.matrix, fields)
        some, block = self._full
        for given, product in self._last:
            if np.array_equal(given, fields):
                return product.copy()
        product = block @ fields[some]
        self._last[:] = [(fields.copy(), product), *self._last[: _KEPT - 1]]
        return product.copy()

    def back(self, forces: Array) -> Array:
        """Aᵀ f (d,) for f (r,)."""
        if self._full is None:
            return applied(self._transposed, forces)
        some, block = self._full
        out = np.zeros(self.matrix.shape[1])
        acting = np.flatnonzero(forces)
        out[some] = forces @ block if 2 * acting.size > forces.size else forces[acting] @ block[acting]
        return out


def applied(matrix: Any, fields: Array) -> Array:
    """A x (r,) for x (d,), or (…, r) for each x of fields (…, d); A sparse (r, d), by rows or by columns."""
    if not all(matrix.shape):  # systems without contact or constraints; SciPy takes its time over nothing
        return np.zeros((*fields.shape[:-1], matrix.shape[0]))
    if fields.ndim == 1:
        return np.asarray(matrix @ fields)
    from arlequin.linalg._product_kernels import by_columns, by_rows

    if fields.ndim > 2:
        return applied(matrix, fields.reshape(-1, fields.shape[-1])).reshape(*fields.shape[:-1], matrix.shape[0])
    fields = np.ascontiguousarray(fields, dtype=float)
    entries = matrix.indptr, matrix.indices, matrix.data
    if sp.issparse(matrix) and matrix.format == "csc":
        return np.asarray(by_columns(*entries, fields, matrix.shape[0]))
    return np.asarray(by_rows(*entries, fields))
