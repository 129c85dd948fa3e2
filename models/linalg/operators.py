"""Products of symmetric matrices with vectors for iterative solvers: by rows, or distributed over ranks."""

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from arlequin.models.linalg.threads import map_pieces, slices
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.types import Array


class SymmetricOperator(Protocol):
    """A symmetric matrix A (d, d), represented by its products and its diagonal."""

    size: int

    def diagonal(self) -> Array:
        """The diagonal (d,)."""

    def multiply_into(self, x: Array, out: Array) -> None:
        """Writes A x of x (d,) to out (d,)."""


class RowOperator:
    """A (d, d) stored by rows, multiplied on threads, with results that do not depend on their number."""

    def __init__(self, A: sp.csr_array) -> None:
        self.size, self._matrix = A.shape[0], A
        self._pieces = [(at, rows_of(A, at)) for at in slices(self.size)]

    def diagonal(self) -> Array:
        return np.asarray(self._matrix.diagonal())

    def multiply_into(self, x: Array, out: Array) -> None:
        def rows(piece: tuple[slice, sp.csr_array]) -> None:
            at, block = piece
            out[at] = block @ x

        map_pieces(rows, self._pieces)


class DistributedOperator:
    """A (d, d) distributed over ranks."""

    def __init__(self, A: DistributedMatrix) -> None:
        self.size, self._matrix = A.shape[0], A

    def diagonal(self) -> Array:
        return self._matrix.diagonal()

    def multiply_into(self, x: Array, out: Array) -> None:
        out[:] = self._matrix @ x


def operator_of(A: Any) -> SymmetricOperator:
    """The operator of a matrix by rows or distributed over ranks."""
    return DistributedOperator(A) if isinstance(A, DistributedMatrix) else RowOperator(A)


def rows_of(A: sp.csr_array, at: slice) -> sp.csr_array:
    """A slice of the rows of A, without copies of its entries."""
    first, last = A.indptr[at.start], A.indptr[at.stop]
    arrays = A.data[first:last], A.indices[first:last], A.indptr[at.start : at.stop + 1] - first
    return sp.csr_array(arrays, shape=(at.stop - at.start, A.shape[1]))
