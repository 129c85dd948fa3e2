"""A supernodal Cholesky factor for many right-hand sides at a time."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.linalg.factor import Factor
from arlequin.models.linalg.supernodes import runs_of_columns
from arlequin.models.types import Array

_BLOCK_SIZES = 16, 32, 64  # right-hand sides per block: the largest that fits in cache


@dataclass(frozen=True, eq=False)
class BatchedFactor:
    """P A Pᵀ = L Lᵀ, L in dense supernodes: columns that follow each other and have the same rows below them.

    A pass with one right-hand side is limited by reading L. With many, each supernode takes two products of small
    matrices, several times faster by BLAS. Unlike scikit-sparse, the passes release the GIL, so that
    threads take different right-hand sides. It takes 8 bytes per entry of L.

    order (d,): row i of P A Pᵀ is row order[i] of A. Supernode s has the columns first[s] … first[s + 1], the rows
    rows[starts[s]] … below its triangle and, in `values` from begin[s] on, that triangle without its diagonal, row by
    row, and the rows below it. inverse (d,): reciprocals of the diagonal.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    begin: NDArray[np.int64]
    values: Array
    inverse: Array

    @classmethod
    def of(cls, factor: Factor, rows_of: NDArray[np.int64] | None = None) -> "BatchedFactor":
        """The supernodal form of a factor; rows_of (d,): numbers in the fields of the rows of its matrix, if others."""
        inner, lower = factor.lower()
        order = inner if rows_of is None else rows_of[inner]
        pointer, rows, data = lower.indptr.astype(np.int64), lower.indices, lower.data
        first = runs_of_columns(pointer, rows)
        begin, starts, blocks, below = [0], [0], [], []
        for a, b in pairwise(first):
            width, tall = b - a, pointer[b] - pointer[b - 1] - 1
            block = np.zeros((width + tall, width))
            for c in range(width):
                block[c:, c] = data[pointer[a + c] : pointer[a + c + 1]]
            blocks += [block[np.tril_indices(width, -1)], block[width:].ravel()]
            below.append(rows[pointer[b - 1] + 1 : pointer[b]])
            begin.append(begin[-1] + width * (width - 1) // 2 + tall * width)
            starts.append(starts[-1] + tall)
        return cls(
            order=np.asarray(order, dtype=np.int64),
            first=first,
            starts=np.array(starts, dtype=np.int64),
            rows=np.concatenate(below).astype(np.int64),
            begin=np.array(begin, dtype=np.int64),
            values=np.concatenate(blocks),
            inverse=1.0 / data[pointer[:-1]],
        )

    def forward(self, fields: Array, half: Array) -> None:
        """half (n, d), rows in the order of the factor: L⁻¹ P b of each b of fields (n, u), continued by zeros."""
        from arlequin.models.linalg._batched_kernels import forward_rows

        forward_rows(self._arrays, self._block_size(len(fields)), np.ascontiguousarray(fields, dtype=float), half)

    def backward(self, half: Array, out: Array) -> None:
        """The first u entries of Pᵀ L⁻ᵀ w of each w of half (n, d), into out (n, u)."""
        from arlequin.models.linalg._batched_kernels import backward_rows

        backward_rows(self._arrays, self._block_size(len(half)), half, out)

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.order, self.first, self.starts, self.rows, self.begin, self.values, self.inverse

    @staticmethod
    def _block_size(count: int) -> int:
        return next((width for width in _BLOCK_SIZES if width >= count), _BLOCK_SIZES[-1])
