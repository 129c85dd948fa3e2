"""Factor of a sparse matrix that couples the components of a vector field to themselves alone, each in the same way."""

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from arlequin.models.linalg.factor import factorise
from arlequin.models.linalg.matrix import canonical, same_entries
from arlequin.models.types import Array

_MOST = 6  # components of a field


class Solver(Protocol):
    """x = A⁻¹ b of b (n,) or (n, r)."""

    def solve(self, b: Array) -> Array: ...


class RepeatedFactor:
    """A = Pᵀ (1 ⊗ A₁) P: one factor of A₁ (n / k, n / k), whose k right-hand sides share each pass over it.

    A⁻¹ b costs little more than A₁⁻¹ of one vector where reading the factor is what takes the time.
    """

    def __init__(self, A: sp.csr_array, places: NDArray[np.int64]) -> None:
        """places (k, n / k): rows of each component."""
        self._places = places
        self._factor = factorise(A[places[0]][:, places[0]])

    def solve(self, b: Array) -> Array:
        """A⁻¹ b of b (n,) or (n, r)."""
        out = np.empty(b.shape)
        if b.ndim == 1:
            out[self._places] = self._factor.solve(b[self._places].T).T  # by columns, as the factor takes them
            return out
        parts, size = self._places.shape
        sides = np.moveaxis(b[self._places], 0, 1).reshape(size, -1)  # (n / k, k r)
        found = self._factor.solve(np.asfortranarray(sides)).reshape(size, parts, *b.shape[1:])
        out[self._places] = np.moveaxis(found, 1, 0)
        return out


def factorise_components(A: Any) -> Solver:
    """Factor of a symmetric positive definite A (n, n): of one component where all are coupled alike, bit by bit."""
    matrix = sp.csr_array(A)
    matrix.sum_duplicates()
    count, labels = connected_components(matrix, directed=False)
    sizes = np.bincount(labels, minlength=count)
    if not 1 < count <= _MOST or (sizes != sizes[0]).any():
        return factorise(matrix)
    places = np.argsort(labels, kind="stable").reshape(count, -1)
    first, *others = (canonical(matrix[rows][:, rows]) for rows in places)
    return RepeatedFactor(matrix, places) if all(same_entries(first, other) for other in others) else factorise(matrix)
