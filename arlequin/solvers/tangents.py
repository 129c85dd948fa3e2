"""Matrices of a system with nonlinear parts, all on one sparsity pattern with one symbolic analysis."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from arlequin.models.part import Nonlinear, PathDependent
from arlequin.system.assembly import Assembly

# ∂f/∂u of an elastic part, and of a path-dependent one with its number; the slice has its dofs in the system
ElasticTangent = Callable[[Nonlinear, slice], sp.csr_array]
PathTangent = Callable[[PathDependent, int, slice], sp.csr_array]


class Tangents:
    """rest + scale · (K of linear parts and springs + ∂f/∂u of the nonlinear parts), (d, d).

    SciPy's sums drop entries that cancel, which changes the pattern: here values are added to the fixed pattern.
    """

    def __init__(self, assembly: Assembly, rest: sp.csr_array | None, scale: float) -> None:
        """rest (d, d): constant terms besides scale · K; None is 0."""
        self._scale = scale
        blocks, parts = [], []
        for i, (part, at) in enumerate(zip(assembly.parts, assembly.places, strict=True)):
            if isinstance(part, Nonlinear | PathDependent):
                parts.append((i, part, at))
                blocks.append(sp.csr_array(part.stiffness.shape))
            else:
                blocks.append(part.stiffness)
        constant = scale * sp.csr_array(sp.block_diag(blocks, format="csr"))
        if assembly.links.any:
            constant = constant + scale * assembly.links.matrix(assembly.links.stiffness)
        if rest is not None:
            constant = constant + rest
        pattern = _ones(constant)
        for _, part, at in parts:
            pattern = pattern + _shifted(_ones(part.stiffness), at.start, assembly.dof_count)
        pattern = sp.csr_array(pattern)
        pattern.sort_indices()
        keys = _keys(pattern)
        data = np.zeros(pattern.nnz)
        constant.sum_duplicates()
        data[np.searchsorted(keys, _keys(constant))] = constant.data
        self._pattern = sp.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
        self._parts = [
            (i, part, at, np.searchsorted(keys, _keys(_shifted(part.stiffness, at.start, assembly.dof_count))))
            for i, part, at in parts
        ]

    def matrix(self, elastic: ElasticTangent, path_dependent: PathTangent) -> sp.csr_array:
        """The matrix with these tangents."""
        pattern = self._pattern
        data = pattern.data.copy()
        for i, part, at, places in self._parts:
            tangent = path_dependent(part, i, at) if isinstance(part, PathDependent) else elastic(part, at)
            data[places] += self._scale * tangent.data
        return sp.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def _ones(matrix: sp.csr_array) -> sp.csr_array:
    """1 in every stored place."""
    return sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _shifted(matrix: sp.csr_array, first: int, count: int) -> sp.csr_array:
    """The matrix (n, n) as the block of a (count, count) one that begins at `first`, its entries in the same order."""
    before, after = np.zeros(first, dtype=matrix.indptr.dtype), count - first - matrix.shape[0]
    starts = np.concatenate([before, matrix.indptr, np.full(after, matrix.indptr[-1])])
    return sp.csr_array((matrix.data, matrix.indices + first, starts), shape=(count, count))


def _keys(matrix: sp.csr_array) -> np.ndarray:
    """Row × columns + column of the entries, which grows along a canonical matrix."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices
