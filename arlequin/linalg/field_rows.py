"""Sparse rows that take the components of a field alike, multiplied on all threads."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.linalg.threads import Pace, map_slices
from arlequin.models.types import Array


@dataclass(frozen=True, eq=False)
class FieldRows:
    """C = C₁ ⊗ 1 (m, d) of `components` (or 1 where the components differ), and its transpose.

    Both give the same bits for any number of threads: each row is one sum.
    """

    components: int
    rows: sp.csr_array
    columns: sp.csr_array
    places: NDArray[np.int64]
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: sp.csr_array) -> "FieldRows":
        """The rows (m, d), degrees of freedom and rows numbered component by component of each node."""
        matrix = sp.csr_array(matrix)
        matrix.sort_indices()
        components, rows = 1, matrix
        for count in (3, 2):
            first = _same_for_each(matrix, count)
            if first is not None:
                components, rows = count, first
                break
        return cls.alike(rows, components)

    @classmethod
    def alike(cls, rows: sp.csr_array, components: int) -> "FieldRows":
        """C = C₁ ⊗ 1 of the rows C₁ and as many components, at most 3."""
        transposed = sp.csr_array(rows.T)
        places = np.flatnonzero(np.diff(transposed.indptr))
        count, size = rows.shape
        return cls(components, rows, transposed[places], places, (count * components, size * components))

    def product(self, fields: Array) -> Array:
        """C x (m,) of x (d,)."""
        return self._product(self.rows, self._own_rows, fields, np.empty(self.shape[0]))

    def products(self, fields: Array, others: Array) -> tuple[Array, Array]:
        """C x and C y (m,) of x and y (d,) by one pass over C; the bits are those of `product`."""
        from arlequin.linalg._product_kernels import rows_of_two_fields

        out, out_others = np.empty(self.shape[0]), np.empty(self.shape[0])
        matrix = self.rows
        entries = matrix.indptr, matrix.indices, matrix.data, fields, others, out, out_others
        work = partial(_some, rows_of_two_fields, (self.components, *entries))
        map_slices(work, matrix.shape[0], self._paces[0])
        return out, out_others

    def write_transposed(self, multipliers: Array, out: Array, at: slice | None = None) -> None:
        """Writes Cᵀ φ (d,) of φ (m,) where it can be other than 0; the other entries of out are left alone.

        at: degrees of freedom, of whole nodes, to which it is restricted; they are written by the calling thread.
        """
        if at is None:
            self._product(self.columns, self.places, multipliers, out)
            return
        chosen = slice(*(int(i) for i in np.searchsorted(self.places * self.components, (at.start, at.stop))))
        _some(*self._arguments(self.columns, self.places, multipliers, out), chosen)

    @cached_property
    def touched(self) -> NDArray[np.bool_]:
        """Degrees of freedom (d,) on which C acts, those of a node alike where its components are taken alike."""
        out = np.zeros((self.shape[1] // self.components, self.components), dtype=bool)
        out[self.places] = True
        return out.reshape(-1)

    @cached_property
    def _paces(self) -> tuple[Pace, Pace, Pace]:
        """Of two products at once, of one, and of a transposed one."""
        return Pace(), Pace(), Pace()

    @cached_property
    def _own_rows(self) -> NDArray[np.int64]:
        return np.arange(self.rows.shape[0])

    def _product(self, matrix: sp.csr_array, places: NDArray[np.int64], fields: Array, out: Array) -> Array:
        pace = self._paces[1 if matrix is self.rows else 2]
        map_slices(partial(_some, *self._arguments(matrix, places, fields, out)), matrix.shape[0], pace)
        return out

    def _arguments(
        self, matrix: sp.csr_array, places: NDArray[np.int64], fields: Array, out: Array
    ) -> tuple[Callable[..., None], tuple[object, ...]]:
        from arlequin.linalg._product_kernels import rows_of_field

        return rows_of_field, (self.components, matrix.indptr, matrix.indices, matrix.data, places, fields, out)


def _some(kernel: Callable[..., None], arguments: tuple[object, ...], chosen: slice) -> None:
    kernel(*arguments, chosen.start, chosen.stop)


def _same_for_each(matrix: sp.csr_array, count: int) -> sp.csr_array | None:
    """C₁ where C = C₁ ⊗ 1, bit by bit, else None."""
    if any(size % count for size in (*matrix.shape, matrix.nnz)):
        return None
    first = sp.csr_array(matrix[::count])
    for i in range(count):
        own = sp.csr_array(matrix[i::count])
        if not (np.array_equal(own.indptr, first.indptr) and np.array_equal(own.data, first.data)):
            return None
        if ((own.indices - i) % count).any() or not np.array_equal(own.indices - i, first.indices):
            return None
    shape = tuple(size // count for size in matrix.shape)
    return sp.csr_array((first.data, first.indices // count, first.indptr), shape=shape)
