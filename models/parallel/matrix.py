"""Sparse matrices as sums over ranks: each rank holds the contributions of its cells."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.parallel.ranks import OneRank, Ranks, ranks
from arlequin.models.types import Array


class DistributedMatrix:
    """A = Σ_r A_r (n, m): A_r, on the rank r, holds the entries of its own cells; vectors are replicated on every rank.

    Every operation but those on A_r alone (+, ·, abs, [ ]) is collective: all ranks must call it.

    >>> a = DistributedMatrix(sp.csr_array([[2.0, 0.0], [1.0, 3.0]]))
    >>> (2.0 * a + a) @ np.array([1.0, 1.0])
    array([ 6., 12.])
    """

    __array_ufunc__ = None  # NumPy scalars defer products to this class

    def __init__(self, local: Any, among: Ranks | None = None) -> None:
        """local (n, m): A_r; among: the ranks, by default those of the run."""
        self.local = sp.csr_array(local)
        self.ranks = ranks() if among is None else among
        self.shape: tuple[int, int] = self.local.shape

    @property
    def nnz(self) -> int:
        """Number of stored entries, all ranks together."""
        return int(self.ranks.summed(np.array([self.local.nnz]))[0])

    def diagonal(self) -> Array:
        """The diagonal (n,)."""
        return self.ranks.summed(self.local.diagonal())

    def collected(self) -> sp.csr_array:
        """A on every rank, for matrices with few entries."""
        pieces = self.ranks.gathered(self.local)
        total = pieces[0]
        for piece in pieces[1:]:
            total = total + piece
        return sp.csr_array(total)

    def sum(self, axis: int) -> Array:
        """Sums along an axis."""
        return self.ranks.summed(np.asarray(self.local.sum(axis=axis)))

    def __matmul__(self, x: Any) -> Any:
        """A x of x (m,) or (m, r); for a sparse x, the same on every rank, a distributed matrix."""
        if sp.issparse(x):
            return self._like(self.local @ x)
        return self.ranks.summed(self.local @ x)

    def __rmatmul__(self, x: Any) -> Any:
        if sp.issparse(x):
            return self._like(x @ self.local)
        return self.ranks.summed(x @ self.local)

    def __add__(self, other: Any) -> "DistributedMatrix":
        """A + B; a B replicated on every rank is added on the first one."""
        if isinstance(other, DistributedMatrix):
            return self._like(self.local + other.local)
        return self._like(self.local + other if self.ranks.root else self.local)

    __radd__ = __add__

    def __mul__(self, factor: float) -> "DistributedMatrix":
        return self._like(self.local * factor)

    __rmul__ = __mul__

    def __abs__(self) -> "DistributedMatrix":
        """Σ_r |A_r|, which bounds |A| entry by entry."""
        return self._like(abs(self.local))

    def __getitem__(self, key: Any) -> "DistributedMatrix":
        return self._like(self.local[key])

    def _like(self, local: Any) -> "DistributedMatrix":
        return DistributedMatrix(local, self.ranks)


def compressed(matrix: Any) -> Any:
    """A matrix in CSR form, unless it is distributed over ranks."""
    return matrix if isinstance(matrix, DistributedMatrix) else sp.csr_array(matrix)


def scaled(matrix: Any, by: Array) -> Any:
    """S A S (n, n), S = diag(by)."""
    diagonal = sp.diags_array(by)
    if isinstance(matrix, DistributedMatrix):
        return DistributedMatrix(diagonal @ matrix.local @ diagonal, matrix.ranks)
    return sp.csr_array(diagonal @ matrix @ diagonal)


def block_diagonal(blocks: Sequence[Any]) -> Any:
    """The block-diagonal matrix, a single block itself; blocks replicated on every rank are stored on the first."""
    if len(blocks) == 1:
        return blocks[0]
    if not any(isinstance(block, DistributedMatrix) for block in blocks):
        return sp.csr_array(sp.block_diag(blocks, format="csr"))
    among = ranks()
    local = [
        block.local
        if isinstance(block, DistributedMatrix)
        else block
        if among.root
        else sp.csr_array(block.shape, dtype=float)
        for block in blocks
    ]
    return DistributedMatrix(sp.block_diag(local, format="csr"), among)


def spread(matrix: Any) -> DistributedMatrix:
    """A matrix as a sum over ranks; one replicated on every rank is divided by rows."""
    if isinstance(matrix, DistributedMatrix):
        return matrix
    among = ranks()
    if isinstance(among, OneRank):
        return DistributedMatrix(matrix, among)
    matrix_rows = sp.csr_array(matrix)
    first, last = (matrix_rows.shape[0] * i // among.count for i in (among.index, among.index + 1))
    a, b = matrix_rows.indptr[first], matrix_rows.indptr[last]
    starts = np.clip(matrix_rows.indptr, a, b) - a
    return DistributedMatrix(
        sp.csr_array((matrix_rows.data[a:b].copy(), matrix_rows.indices[a:b].copy(), starts), shape=matrix_rows.shape),
        among,
    )
