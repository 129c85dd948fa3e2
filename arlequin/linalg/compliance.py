"""The compliance of the contact: velocities of the rows of its basis by impulses on them."""

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.linalg.matrix import same_entries
from arlequin.models.types import Array

_COPIED = 0.25  # share of nonzero impulses below which a copy of their rows is faster than a product with all of W


class ComplianceOperator(Protocol):
    """W (q, q): velocities of the rows of the contact's basis by impulses on them."""

    def of(self, rows: sp.csr_array) -> Array:
        """R W Rᵀ (r, r), symmetric, of rows R (r, q) on the basis."""
        ...

    def chosen(self, rows: NDArray[np.int64]) -> Array:
        """W between the rows (r,) of the basis, (r, r), symmetric."""
        ...

    def move(self, impulse: Array) -> Array:
        """W P (q,) of impulses P (q,)."""
        ...


class Compliance:
    """W (q, q) as a matrix, full or sparse."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = sp.csr_array(matrix) if sp.issparse(matrix) else matrix
        self._last: tuple[NDArray[np.int64], Array] | None = None
        self._last_of: tuple[sp.csr_array, Array] | None = None

    def of(self, rows: sp.csr_array) -> Array:
        """R W Rᵀ (r, r), symmetric, of rows R (r, q) on the basis; the last one is cached."""
        if self._last_of is None or not same_entries(self._last_of[0], rows):
            self._last_of = rows, self._product(rows)
        return self._last_of[1]

    def _product(self, rows: sp.csr_array) -> Array:
        used = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]))
        if used.size < rows.shape[1]:
            used_rows, used_matrix = sp.csr_array(rows[:, used]), self._among(used)
        else:  # no copy of W
            used_rows, used_matrix = rows, self._matrix
        image = used_rows @ used_matrix
        out = used_rows @ image.T
        return _symmetric(out.toarray() if sp.issparse(out) else np.asarray(out.T))

    def chosen(self, rows: NDArray[np.int64]) -> Array:
        """W between the rows (r,) of the basis, (r, r), symmetric; the last one is cached."""
        if self._last is None or not np.array_equal(self._last[0], rows):
            self._last = rows, _symmetric(self._among(rows))
        return self._last[1]

    def move(self, impulse: Array) -> Array:
        """W P (q,) of impulses P (q,)."""
        if sp.issparse(self._matrix):
            return np.asarray(self._matrix @ impulse)
        acting = np.flatnonzero(impulse)
        if acting.size > _COPIED * impulse.size:
            return np.asarray(self._matrix @ impulse)
        return np.asarray(impulse[acting] @ self._matrix[acting])  # rows: W is symmetric

    def _among(self, rows: NDArray[np.int64]) -> Array:
        if sp.issparse(self._matrix):
            return np.asarray(self._matrix[rows][:, rows].toarray())
        return np.asarray(self._matrix[np.ix_(rows, rows)])


def _symmetric(matrix: Array) -> Array:
    return np.ascontiguousarray(0.5 * (matrix + matrix.T))
