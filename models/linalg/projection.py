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
_NEAR = 4.0  # largest ratio of the entries of D of one place in all fields whose mean is as good: else of other units
_LANES = 4  # most fields that the same rows constrain


class ConstraintProjection:
    """Residuals r with C D⁻¹ r = 0, of constraints C (m, d) and a positive diagonal D (d,):

        (C D⁻¹ Cᵀ) v = C D⁻¹ r,    r ← r − Cᵀ v,

    by the sparse factor of C D⁻¹ Cᵀ, which is that of the constraints alone. Where C constrains several fields alike,
    as the components of a displacement are, D gets their mean if they are near one another, one value for the
    components of a node: C D⁻¹ Cᵀ then has equal blocks, of which one is factored. Rows that others imply are left out,
    with v = 0.

    inverse (d,): D⁻¹; rows: C of the rows that are kept (k,); count: m.
    """

    def __init__(self, rows: sp.csr_array, diagonal: Array) -> None:
        """diagonal (d,): D before its mean is taken."""
        fields = equal_fields(rows)
        if fields is not None:
            own = diagonal[fields[1]]
            if (own.max(axis=0) <= _NEAR * own.min(axis=0)).all():
                diagonal = diagonal.copy()
                diagonal[fields[1]] = own.mean(axis=0)
        self.inverse = 1.0 / diagonal
        schur = _schur(rows, self.inverse)
        kept, solve = constraint_factor(schur)
        if kept.size == rows.shape[0] >= _SPARSE and schur.nnz < 0.25 * kept.size**2:
            solve = factorise_components(schur).solve
        self._set(rows, kept, solve, fields)

    @classmethod
    def of_regular(cls, rows: sp.csr_array, inverse: Array) -> "ConstraintProjection | None":
        """With D⁻¹ (d,) as it is, of rows that are independent; None where they are not."""
        schur = _schur(rows, inverse)
        diagonal, found = only_diagonal(schur), cls.__new__(cls)
        found.inverse = inverse
        if diagonal is not None:
            if not (diagonal > 0.0).all():
                return None
            found._set(rows, np.arange(rows.shape[0]), lambda v: v / diagonal, None)
            return found
        try:
            solve = factorise_components(schur).solve
        except UserError:
            return None
        ones = np.ones(rows.shape[0])
        if not np.abs(solve(schur @ ones) - ones).max() <= _REGULAR:
            return None
        found._set(rows, np.arange(rows.shape[0]), solve, None)
        return found

    def _set(
        self,
        rows: sp.csr_array,
        kept: NDArray[np.int64],
        solve: Callable[[Array], Array],
        fields: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
    ) -> None:
        """The rows that are kept, with the fields that they constrain alike, and C D⁻¹ Cᵀ of these factored."""
        self.count, self.kept, self._solve, self.rows = rows.shape[0], kept, solve, rows
        if kept.size < self.count or fields is None:
            self.rows = sp.csr_array(rows[kept])
            fields = np.arange(kept.size)[None], np.unique(self.rows.indices)[None]
        places, dofs = fields
        one = _sorted(self.rows[places[0]][:, dofs[0]])
        self._one, self._transposed = ((a.indptr, a.indices, a.data) for a in (one, _sorted(one.T)))
        self._places, self._dofs = np.ascontiguousarray(places.T), np.ascontiguousarray(dofs.T)
        lanes = _LANES if len(places) > 1 else 1
        self._moved, self._pulled = np.zeros((dofs.shape[1], lanes)), np.zeros((one.shape[0], lanes))

    def project(self, r: Array, s: Array) -> Array:
        """Projects r (d,) with s = D⁻¹ r (d,) in place; v (k,) of the rows that are kept."""
        if not self.kept.size:
            return np.zeros(0)
        v = self._solve(self._constrained(s))
        self._release(v, r, s)
        return v

    def constrain(self, y: Array, c: Array | None = None) -> None:
        """Adds D⁻¹ Cᵀ v to y (d,), in place, so that C y = c (m,); None for 0."""
        if not self.kept.size:
            return
        missing = -self._constrained(y)
        if c is not None:
            missing += c[self.kept]
        pulled, moved = np.zeros_like(y), np.zeros_like(y)
        self._release(-self._solve(missing), pulled, moved)
        y += moved

    def tangential(self, g: Array) -> Array:
        """g − D⁻¹ Cᵀ v (d,) of g (d,), on which C is 0."""
        out = g.copy()
        self.constrain(out)
        return out

    def multipliers(self, v: Array) -> Array:
        """v (m,) of all rows by that of those that are kept (k,)."""
        if self.kept.size == self.count:
            return v
        whole = np.zeros(self.count)
        whole[self.kept] = v
        return whole

    def _constrained(self, x: Array) -> Array:
        """C x (k,)."""
        from arlequin.models.linalg._projection_kernels import constrained, gather

        gather(self._dofs, x, self._moved)
        map_slices(lambda at: constrained(at.start, at.stop, *self._one, self._moved, self._pulled), len(self._places))
        out = np.empty(self.kept.size)
        out[self._places] = self._pulled[:, : self._places.shape[1]]
        return out

    def _release(self, v: Array, r: Array, s: Array) -> None:
        """r ← r − Cᵀ v, s ← D⁻¹ r, in place."""
        from arlequin.models.linalg._projection_kernels import release

        self._pulled[:, : self._places.shape[1]] = v[self._places]
        own = *self._transposed, self._dofs, self._pulled, self.inverse, r, s
        map_slices(lambda at: release(at.start, at.stop, *own), len(self._dofs))


class JoinedProjection:
    """Projection on two sets of constraints whose rows share no columns, as on each of them in turn."""

    def __init__(self, one: ConstraintProjection, other: ConstraintProjection) -> None:
        """Both with the same D."""
        self._one, self._other = one, other
        self.inverse, self.count = one.inverse, one.count + other.count
        self.rows = sp.csr_array(sp.vstack([one.rows, other.rows]))

    def project(self, r: Array, s: Array) -> Array:
        """See `ConstraintProjection`."""
        return np.concatenate([self._one.project(r, s), self._other.project(r, s)])

    def constrain(self, y: Array, c: Array | None = None) -> None:
        """See `ConstraintProjection`."""
        self._one.constrain(y, None if c is None else c[: self._one.count])
        self._other.constrain(y, None if c is None else c[self._one.count :])

    def tangential(self, g: Array) -> Array:
        """See `ConstraintProjection`."""
        return self._other.tangential(self._one.tangential(g))

    def multipliers(self, v: Array) -> Array:
        """See `ConstraintProjection`."""
        kept = self._one.kept.size
        return np.concatenate([self._one.multipliers(v[:kept]), self._other.multipliers(v[kept:])])


def _schur(rows: sp.csr_array, inverse: Array) -> sp.csr_array:
    """C D⁻¹ Cᵀ."""
    return sp.csr_array(rows @ sp.csr_array(rows.T * inverse[:, None]))


def equal_fields(rows: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Rows (k, m / k) and columns (k, g) of k fields that C (m, d) constrains each by itself, with the same entries bit
    by bit; None where there are no such fields."""
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
    own = [sp.csr_array(rows[some]) for some in places]
    dofs = [np.unique(some.indices) for some in own]
    if any(some.size != dofs[0].size for some in dofs):
        return None
    first, *others = (_sorted(some[:, at]) for some, at in zip(own, dofs, strict=True))
    return (places, np.stack(dofs)) if all(same_entries(first, other) for other in others) else None


def _sorted(matrix: Any) -> sp.csr_array:
    """By rows, with sorted indices."""
    out = sp.csr_array(matrix)
    out.sum_duplicates()
    return out
