"""Projection of residuals on the constraints of a saddle point, by the diagonal of its matrix."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from arlequin.models.errors import UserError
from arlequin.models.linalg.components import factorise_components
from arlequin.models.linalg.constraints import constraint_factor
from arlequin.models.linalg.matrix import only_diagonal, same_entries
from arlequin.models.linalg.threads import map_slices
from arlequin.models.types import Array

_REGULAR = 1e-8  # error of a solution with C D⁻¹ Cᵀ, relative, above which its rows count as dependent
_SPARSE = 300  # independent rows from which on a sparse factor of C D⁻¹ Cᵀ is quicker than a full one
_MAX_RATIO = 4.0  # largest ratio of the entries of D of a node in all fields that are averaged; above, units differ
_LANES = 4  # most fields that the same rows constrain


class ConstraintProjection:
    """Projection of residuals r to C D⁻¹ r = 0 for constraints C (m, d) and a positive diagonal D (d,):

        (C D⁻¹ Cᵀ) v = C D⁻¹ r,    r ← r − Cᵀ v,

    by the sparse factor of C D⁻¹ Cᵀ, which is that of the constraints alone. Where C constrains several fields alike,
    as the components of a displacement are, D gets their mean if they are near one another, one value for the
    components of a node: C D⁻¹ Cᵀ then has equal blocks, of which one is factored. Dependent rows are left out, v = 0.

    inverse (d,): D⁻¹; independent (k,): rows that are not left out, rows: C of these; count: m.
    """

    def __init__(self, rows: sp.csr_array, diagonal: Array) -> None:
        """diagonal (d,): D before its mean is taken."""
        fields = equal_fields(rows)
        if fields is not None:
            field_diagonals = diagonal[fields[1]]
            if (field_diagonals.max(axis=0) <= _MAX_RATIO * field_diagonals.min(axis=0)).all():
                diagonal = diagonal.copy()
                diagonal[fields[1]] = field_diagonals.mean(axis=0)
        self.inverse = 1.0 / diagonal
        schur = _schur(rows, self.inverse)
        independent, solve = constraint_factor(schur)
        if independent.size == rows.shape[0] >= _SPARSE and schur.nnz < 0.25 * independent.size**2:
            solve = factorise_components(schur).solve
        self._set(rows, independent, solve, fields)

    @classmethod
    def of_regular(cls, rows: sp.csr_array, inverse: Array) -> "ConstraintProjection | None":
        """With D⁻¹ (d,) not averaged, of independent rows; None where they are dependent."""
        schur = _schur(rows, inverse)
        diagonal, projection = only_diagonal(schur), cls.__new__(cls)
        projection.inverse = inverse
        if diagonal is not None:
            if not (diagonal > 0.0).all():
                return None
            projection._set(rows, np.arange(rows.shape[0]), lambda v: v / diagonal, None)
            return projection
        try:
            solve = factorise_components(schur).solve
        except UserError:
            return None
        ones = np.ones(rows.shape[0])
        if not np.abs(solve(schur @ ones) - ones).max() <= _REGULAR:
            return None
        projection._set(rows, np.arange(rows.shape[0]), solve, None)
        return projection

    def _set(
        self,
        rows: sp.csr_array,
        independent: NDArray[np.int64],
        solve: Callable[[Array], Array],
        fields: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
    ) -> None:
        """Store the independent rows, the fields that they constrain alike, and the factor of their C D⁻¹ Cᵀ."""
        self.count, self.independent, self._solve, self.rows = rows.shape[0], independent, solve, rows
        if independent.size < self.count or fields is None:
            self.rows = sp.csr_array(rows[independent])
            fields = np.arange(independent.size)[None], np.unique(self.rows.indices)[None]
        places, dofs = fields
        c1 = _sorted(self.rows[places[0]][:, dofs[0]])
        self._c1, self._c1_transposed = ((a.indptr, a.indices, a.data) for a in (c1, _sorted(c1.T)))
        self._places, self._dofs = np.ascontiguousarray(places.T), np.ascontiguousarray(dofs.T)
        lanes = _LANES if len(places) > 1 else 1
        self._field_values, self._row_values = np.zeros((dofs.shape[1], lanes)), np.zeros((c1.shape[0], lanes))

    def project(self, r: Array, s: Array) -> Array:
        """Projects r (d,) with s = D⁻¹ r (d,) in place; v (k,) of the independent rows."""
        if not self.independent.size:
            return np.zeros(0)
        v = self._solve(self._constrained(s))
        self._release(v, r, s)
        return v

    def constrain(self, y: Array, c: Array | None = None) -> None:
        """Adds D⁻¹ Cᵀ v to y (d,), in place, so that C y = c (m,); None for 0."""
        if not self.independent.size:
            return
        defect = -self._constrained(y)
        if c is not None:
            defect += c[self.independent]
        residual, correction = np.zeros_like(y), np.zeros_like(y)
        self._release(-self._solve(defect), residual, correction)
        y += correction

    def tangential(self, g: Array) -> Array:
        """g − D⁻¹ Cᵀ v (d,) of g (d,), in the null space of C."""
        out = g.copy()
        self.constrain(out)
        return out

    def multipliers(self, v: Array) -> Array:
        """v (m,) of all rows by that of the independent ones (k,)."""
        if self.independent.size == self.count:
            return v
        out = np.zeros(self.count)
        out[self.independent] = v
        return out

    def _constrained(self, x: Array) -> Array:
        """C x (k,)."""
        from arlequin.models.linalg._projection_kernels import constrained, gather

        gather(self._dofs, x, self._field_values)
        map_slices(
            lambda at: constrained(at.start, at.stop, *self._c1, self._field_values, self._row_values),
            len(self._places),
        )
        out = np.empty(self.independent.size)
        out[self._places] = self._row_values[:, : self._places.shape[1]]
        return out

    def _release(self, v: Array, r: Array, s: Array) -> None:
        """r ← r − Cᵀ v, s ← D⁻¹ r, in place."""
        from arlequin.models.linalg._projection_kernels import release

        self._row_values[:, : self._places.shape[1]] = v[self._places]
        arguments = *self._c1_transposed, self._dofs, self._row_values, self.inverse, r, s
        map_slices(lambda at: release(at.start, at.stop, *arguments), len(self._dofs))


class JoinedProjection:
    """Projection on two sets of constraints whose rows share no columns: on one after the other."""

    def __init__(self, first: ConstraintProjection, second: ConstraintProjection) -> None:
        """first, second: with the same D."""
        self._first, self._second = first, second
        self.inverse, self.count = first.inverse, first.count + second.count
        self.rows = sp.csr_array(sp.vstack([first.rows, second.rows]))

    def project(self, r: Array, s: Array) -> Array:
        """See `ConstraintProjection`."""
        return np.concatenate([self._first.project(r, s), self._second.project(r, s)])

    def constrain(self, y: Array, c: Array | None = None) -> None:
        """See `ConstraintProjection`."""
        self._first.constrain(y, None if c is None else c[: self._first.count])
        self._second.constrain(y, None if c is None else c[self._first.count :])

    def tangential(self, g: Array) -> Array:
        """See `ConstraintProjection`."""
        return self._second.tangential(self._first.tangential(g))

    def multipliers(self, v: Array) -> Array:
        """See `ConstraintProjection`."""
        count = self._first.independent.size
        return np.concatenate([self._first.multipliers(v[:count]), self._second.multipliers(v[count:])])


def _schur(rows: sp.csr_array, inverse: Array) -> sp.csr_array:
    """C D⁻¹ Cᵀ."""
    return sp.csr_array(rows @ sp.csr_array(rows.T * inverse[:, None]))


def equal_fields(rows: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Rows (k, m / k) and columns (k, g) of k fields that C (m, d) constrains separately, with bitwise equal entries;
    None where there are no such fields."""
    count = rows.shape[0]
    if not count:
        return None
    graph = sp.block_array([[None, rows], [rows.T, None]], format="csr")
    labels = connected_components(graph, directed=False)[1][:count]
    numbers, labels = np.unique(labels, return_inverse=True)
    sizes = np.bincount(labels)
    if not 1 < numbers.size <= _LANES or (sizes != sizes[0]).any():
        return None
    places = np.argsort(labels, kind="stable").reshape(numbers.size, -1)
    blocks = [sp.csr_array(rows[place]) for place in places]
    dofs = [np.unique(block.indices) for block in blocks]
    if any(columns.size != dofs[0].size for columns in dofs):
        return None
    first, *others = (_sorted(block[:, columns]) for block, columns in zip(blocks, dofs, strict=True))
    return (places, np.stack(dofs)) if all(same_entries(first, other) for other in others) else None


def _sorted(matrix: Any) -> sp.csr_array:
    """CSR form with sorted indices and no duplicates."""
    out = sp.csr_array(matrix)
    out.sum_duplicates()
    return out
