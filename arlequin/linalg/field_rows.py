"""Sparse rows that act equally on all components of a field, multiplied on all threads."""

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

    Results are bitwise equal for any number of threads: each row is one sum.
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
            first = _component_block(matrix, count)
            if first is not None:
                components, rows = count, first
                break
        return cls.alike(rows, components)

    @classmethod
    def alike(cls, rows: sp.csr_array, components: int) -> "FieldRows":
        """C = C₁ ⊗ 1 of the rows C₁ and a number of components, at most 3."""
        transposed = sp.csr_array(rows.T)
        places = np.flatnonzero(np.diff(transposed.indptr))
        count, size = rows.shape
        return cls(components, rows, transposed[places], places, (count * components, size * components))

    def product(self, fields: Array) -> Array:
        """C x (m,) of x (d,)."""
        return self._product(self.rows, self._row_numbers, fields, np.empty(self.shape[0]))

    def products(self, fields: Array, others: Array) -> tuple[Array, Array]:
        """C x and C y (m,) of x and y (d,) by one pass over C, bitwise equal to `product`."""
        from arlequin.linalg._product_kernels import rows_of_two_fields

        out, out_others = np.empty(self.shape[0]), np.empty(self.shape[0])
        matrix = self.rows
        entries = matrix.indptr, matrix.indices, matrix.data, fields, others, out, out_others
        work = partial(_run_slice, rows_of_two_fields, (self.components, *entries))
        map_slices(work, matrix.shape[0], self._paces[0])
        return out, out_others

    def write_transposed(self, multipliers: Array, out: Array, at: slice | None = None) -> None:
        """Writes the nonzero rows of Cᵀ φ (d,) of φ (m,) to out; its other entries are unchanged.

        at: restriction to these degrees of freedom, of whole nodes, written by the calling thread.
        """
        if at is None:
            self._product(self.columns, self.places, multipliers, out)
            return
        chosen = slice(*(int(i) for i in np.searchsorted(self.places * self.components, (at.start, at.stop))))
        _run_slice(*self._arguments(self.columns, self.places, multipliers, out), chosen)

    @cached_property
    def touched(self) -> NDArray[np.bool_]:
        """Mask of the degrees of freedom (d,) on which C acts; equal for all components of a node where C = C₁ ⊗ 1."""
        out = np.zeros((self.shape[1] // self.components, self.components), dtype=bool)
        out[self.places] = True
        return out.reshape(-1)

    @cached_property
    def _paces(self) -> tuple[Pace, Pace, Pace]:
        """Paces of two products at once, of one, and of a transposed one."""
        return Pace(), Pace(), Pace()

    @cached_property
    def _row_numbers(self) -> NDArray[np.int64]:
        return np.arange(self.rows.shape[0])

    def _product(self, matrix: sp.csr_array, places: NDArray[np.int64], fields: Array, out: Array) -> Array:
        pace = self._paces[1 if matrix is self.rows else 2]
        map_slices(partial(_run_slice, *self._arguments(matrix, places, fields, out)), matrix.shape[0], pace)
        return out

    def _arguments(
        self, matrix: sp.csr_array, places: NDArray[np.int64], fields: Array, out: Array
    ) -> tuple[Callable[..., None], tuple[object, ...]]:
        from arlequin.linalg._product_kernels import rows_of_field

        return rows_of_field, (self.components, matrix.indptr, matrix.indices, matrix.data, places, fields, out)


def _run_slice(kernel: Callable[..., None], arguments: tuple[object, ...], chosen: slice) -> None:
    kernel(*arguments, chosen.start, chosen.stop)


def _component_block(matrix: sp.csr_array, count: int) -> sp.csr_array | None:
    """C₁ where C = C₁ ⊗ 1 exactly, else None."""
    if any(size % count for size in (*matrix.shape, matrix.nnz)):
        return None
    first = sp.csr_array(matrix[::count])
    for i in range(count):
        component = sp.csr_array(matrix[i::count])
        if not (np.array_equal(component.indptr, first.indptr) and np.array_equal(component.data, first.data)):
            return None
        if ((component.indices - i) % count).any() or not np.array_equal(component.indices - i, first.indices):
            return None
    shape = tuple(size // count for size in matrix.shape)
    return sp.csr_array((first.data, first.indices // count, first.indptr), shape=shape)
