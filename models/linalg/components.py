"""Factor of a sparse matrix of equal, uncoupled blocks, one for each component of a vector field."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from arlequin.models.linalg.factor import factorise
from arlequin.models.linalg.matrix import canonical, same_entries
from arlequin.models.linalg.supernodal import SupernodalSolver
from arlequin.models.types import Array

_MAX_COMPONENTS = 6  # of a field


class Solver(Protocol):
    """A factored matrix A (n, n)."""

    def solve(self, b: Array) -> Array:
        """A⁻¹ b of b (n,) or (n, r)."""

    def squares(self, fields: Array) -> Array:
        """x·A⁻¹x (b,) of each x of fields (b, n), with the same bits for any b."""


class RepeatedFactor:
    """A = Pᵀ (1 ⊗ A₁) P: one factor of A₁ (n / k, n / k), whose k right-hand sides share each pass over it.

    A⁻¹ b costs little more than A₁⁻¹ of one vector where reading the factor is what takes the time.
    """

    def __init__(self, A: sp.csr_array, places: NDArray[np.int64]) -> None:
        """places (k, n / k): rows of each component."""
        self._places = places
        self._factor = factorise(A[places[0]][:, places[0]])
        self._supernodal = SupernodalSolver.of(self._factor)
        if self._supernodal is not None:
            self._sides = places[:, self._supernodal.order]  # rows of the components in the order of the factor
            self._back = np.argsort(self._sides, axis=None)

    def solve(self, b: Array) -> Array:
        """A⁻¹ b of b (n,) or (n, r)."""
        if b.ndim == 1 and self._supernodal is not None:
            x = np.take(b, self._sides)
            self._supernodal.solve(x)
            return np.take(x, self._back)
        out = np.empty(b.shape)
        if b.ndim == 1:
            out[self._places] = self._factor.solve(b[self._places].T).T  # by columns, as the factor takes them
            return out
        parts, size = self._places.shape
        sides = np.moveaxis(b[self._places], 0, 1).reshape(size, -1)  # (n / k, k r)
        solutions = self._factor.solve(np.asfortranarray(sides)).reshape(size, parts, *b.shape[1:])
        out[self._places] = np.moveaxis(solutions, 1, 0)
        return out

    def squares(self, fields: Array) -> Array:
        """x·A⁻¹x (b,) of each x of fields (b, n)."""
        if self._supernodal is None:
            return _squares_by(self.solve, fields)
        parts, size = self._places.shape
        squares = self._supernodal.squares(fields[:, self._places].reshape(-1, size))
        return np.asarray(squares.reshape(-1, parts).sum(axis=1))


class FullFactor:
    """One factor of the full matrix A."""

    def __init__(self, A: sp.csr_array) -> None:
        self._factor = factorise(A)
        self._supernodal = SupernodalSolver.of(self._factor)

    def solve(self, b: Array) -> Array:
        """A⁻¹ b of b (n,) or (n, r)."""
        return self._factor.solve(b)

    def squares(self, fields: Array) -> Array:
        """x·A⁻¹x (b,) of each x of fields (b, n)."""
        return _squares_by(self.solve, fields) if self._supernodal is None else self._supernodal.squares(fields)


def _squares_by(solve: Callable[[Array], Array], fields: Array) -> Array:
    return np.asarray(np.vecdot(fields, np.reshape([solve(field) for field in fields], fields.shape)))


def factorise_components(A: Any) -> Solver:
    """Factor of a symmetric positive definite A (n, n): of one component where all have bitwise equal blocks."""
    matrix = sp.csr_array(A)
    places = equal_components(matrix)
    return FullFactor(matrix) if places is None else RepeatedFactor(matrix, places)


def equal_components(matrix: sp.csr_array) -> NDArray[np.int64] | None:
    """Rows (k, n / k) of k components of a field that are uncoupled blocks of a symmetric matrix (n, n), with bitwise
    equal entries; None where there are no such components."""
    matrix.sum_duplicates()
    count, labels = connected_components(matrix, directed=False)
    sizes = np.bincount(labels, minlength=count)
    if not 1 < count <= _MAX_COMPONENTS or (sizes != sizes[0]).any():
        return None
    places = np.argsort(labels, kind="stable").reshape(count, -1)
    first, *others = (canonical(matrix[rows][:, rows]) for rows in places)
    return places if all(same_entries(first, other) for other in others) else None
