"""Products of a sparse matrix with one vector or a batch of vectors."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.linalg.rows import row_products
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.types import Array

_FULL = 0.25  # density of the nonzero columns above which a dense product is faster

_FEW, _LARGE = 4, 2**23  # vectors below which a dense copy is used by columns; its entries at most
_ENTRIES = 1 << 14  # entries of a sparse matrix, above which SciPy's product is faster for few vectors
_CACHED = 4  # products: comparing an argument costs a thousandth of a product


@dataclass(frozen=True, eq=False)
class RowProduct:
    """The linear map x ↦ A x of a sparse matrix A (r, d), by a dense copy where A is dense in its nonzero columns.

    Dense rows, of contact on modal parts, are multiplied at the end of a step and again at the start of the next: the
    last products are cached.
    """

    matrix: sp.csr_array
    _last: list[tuple[Array, Array]] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def _full(self) -> tuple[Any, Array] | None:
        """Nonzero columns and A on them, dense; None for sparse A."""
        columns = np.unique(self.matrix.indices)
        if self.matrix.nnz <= _FULL * self.matrix.shape[0] * columns.size:
            return None
        first, last = int(columns[0]), int(columns[-1]) + 1
        nonzero = slice(first, last) if last - first == columns.size else columns  # a slice avoids copies
        return nonzero, self.matrix[:, nonzero].toarray()

    @cached_property
    def _columns(self) -> Array | None:
        """The nonzero columns (c, r), dense; None for sparse or large A."""
        if self._full is None or self._full[1].size > _LARGE:
            return None
        return np.ascontiguousarray(self._full[1].T)

    @cached_property
    def _transposed(self) -> sp.csc_array:
        return self.matrix.T  # by columns: zero forces are skipped

    def __call__(self, fields: Array) -> Array:
        """A x (r,) for x (d,), or (b, r) for each x of fields (b, d)."""
        if self._full is None:
            return applied(self.matrix, fields)
        nonzero, block = self._full
        if fields.ndim > 1:  # rounding of BLAS products depends on the batch size
            if fields.ndim > 2 or len(fields) >= _FEW or self._columns is None:
                return applied(self.matrix, fields)
            return row_products(fields[:, nonzero], self._columns)  # bitwise equal to `applied`: the same order of sums
        for argument, product in self._last:
            if np.array_equal(argument, fields):
                return product.copy()
        product = block @ fields[nonzero]
        self._last[:] = [(fields.copy(), product), *self._last[: _CACHED - 1]]
        return product.copy()

    def transposed(self, forces: Array) -> Array:
        """Aᵀ f (d,) for f (r,)."""
        if self._full is None:
            return applied(self._transposed, forces)
        nonzero, block = self._full
        out = np.zeros(self.matrix.shape[1])
        acting = np.flatnonzero(forces)
        out[nonzero] = forces @ block if 2 * acting.size > forces.size else forces[acting] @ block[acting]
        return out


def applied(matrix: Any, fields: Array) -> Array:
    """A x (r,) for x (d,), or (…, r) for each x of fields (…, d); A sparse (r, d), by rows, columns or spread."""
    if not all(matrix.shape):  # no contact or constraints
        return np.zeros((*fields.shape[:-1], matrix.shape[0]))
    if fields.ndim == 1:
        return np.asarray(matrix @ fields)
    if isinstance(matrix, DistributedMatrix):
        return np.ascontiguousarray(np.moveaxis(matrix @ fields.reshape(-1, fields.shape[-1]).T, 0, -1)).reshape(
            *fields.shape[:-1], matrix.shape[0]
        )
    from arlequin.linalg._product_kernels import FEW, by_columns, by_rows

    if fields.ndim > 2:
        return applied(matrix, fields.reshape(-1, fields.shape[-1])).reshape(*fields.shape[:-1], matrix.shape[0])
    fields = np.ascontiguousarray(fields, dtype=float)
    entries = matrix.indptr, matrix.indices, matrix.data
    if sp.issparse(matrix) and matrix.format == "csc":
        return np.asarray(by_columns(*entries, fields, matrix.shape[0]))
    if len(fields) < FEW and entries[2].size > _ENTRIES and sp.issparse(matrix):
        return np.array([matrix @ field for field in fields])  # bitwise equal, in less than half the time
    return np.asarray(by_rows(*entries, fields))
