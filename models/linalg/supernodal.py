"""Solutions with a supernodal Cholesky factor by compiled passes over it, on threads."""

from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.linalg.batched_factor import runs_of_columns
from arlequin.models.linalg.factor import CholeskyFactor, Supernodes
from arlequin.models.linalg.threads import map_pieces
from arlequin.models.types import Array

_SHARE, _TASKS = 4, 8  # a branch has at most a fourth of the entries of L; largest number of groups of branches
_MIN_ENTRIES = 200_000  # stored entries of L below which threads do not pay
_RELAXED = (4, 1.0), (16, 0.4), (48, 0.1), (np.inf, 0.05)  # columns of a supernode, and the share of zeros allowed
_SIDES = 12  # right-hand sides per pass over the factor: the block of L in use stays in the processor's cache


class SupernodalSolver:
    """A⁻¹ b, and b·A⁻¹b, with P A Pᵀ = L Lᵀ of a `CholeskyFactor`, in the memory of CHOLMOD.

    The tree of the supernodes is cut into a top and groups of the branches below it. Groups share no columns: each is
    solved by one thread, and its updates of the rows of the top are added up in the order of the groups, so that
    results do not depend on the number of threads. The groups follow from the factor alone.
    """

    def __init__(self, factor: CholeskyFactor, order: NDArray[np.int32], supernodes: Supernodes) -> None:
        """factor: owns the memory of the supernodes; it must not be refactorised."""
        self.order = order.astype(np.int64)
        self._factor, self._supernodes = factor, supernodes
        self._every = np.arange(supernodes.first.size - 1)
        self._groups, self._top = _cut(supernodes)
        first = supernodes.first
        self._top_rows = np.flatnonzero(np.repeat(np.isin(self._every, self._top), np.diff(first)))
        self._nothing = np.zeros((0, 0))
        self._nowhere = np.full(int(first[-1]), -1)
        self._place = self._nowhere.copy()
        self._place[self._top_rows] = np.arange(self._top_rows.size)

    @classmethod
    def of(cls, factor: Any) -> "SupernodalSolver | None":
        """None where the factor is small or not supernodal, or where scikit-sparse does not show its supernodes."""
        stored = factor.supernodes() if isinstance(factor, CholeskyFactor) else None
        return None if stored is None or stored[1].values.size < _MIN_ENTRIES else cls(factor, *stored)

    def solve(self, x: Array) -> None:
        """Overwrites each b of x (k, n), contiguous and in the order of the factor, with A⁻¹ b."""
        forward, backward = self._kernels
        above = np.zeros((len(self._groups), len(x), self._top_rows.size))
        numbers = range(len(self._groups))
        map_pieces(lambda i: forward(self._groups[i], x, self._place, above[i]), numbers)
        x[:, self._top_rows] += above.sum(axis=0)
        forward(self._top, x, self._nowhere, self._nothing)
        backward(self._top, x)
        # in reverse: the blocks read last may still be in the processor's cache
        map_pieces(lambda i: backward(self._groups[i], x), numbers[::-1])

    def squares(self, sides: Array) -> Array:
        """b·A⁻¹b = ‖L⁻¹ P b‖² (k,) of each b of sides (k, n), with the same bits for any k."""
        forward, _ = self._kernels
        out = np.empty(len(sides))

        def solve_block(start: int) -> None:
            x = np.take(sides[start : start + _SIDES], self.order, axis=1)
            forward(self._every, x, self._nowhere, self._nothing)
            out[start : start + _SIDES] = np.vecdot(x, x)

        map_pieces(solve_block, range(0, len(sides), _SIDES))
        return out

    @cached_property
    def _kernels(self) -> tuple[Callable[..., None], Callable[..., None]]:
        from arlequin.models.linalg._supernodal_kernels import backward, forward

        return partial(_on, forward, self._supernodes), partial(_on, backward, self._supernodes)


def _on(kernel: Callable[..., None], supernodes: Supernodes, order: NDArray[np.int64], *fields: Array) -> None:
    kernel(order, *supernodes, *fields)


def supernodes_of(factor: CholeskyFactor) -> tuple[NDArray[np.int64], Supernodes]:
    """Order (d,) and L by supernodes; a copy where L is stored by columns."""
    stored = factor.supernodes()
    if stored is not None:
        return stored[0].astype(np.int64), stored[1]
    order, lower = factor.lower()
    return order.astype(np.int64), _gathered(lower.indptr.astype(np.int64), lower.indices, lower.data)


def _gathered(pointer: NDArray[np.int64], rows: NDArray[np.int32], data: Array) -> Supernodes:
    """Supernodes of L, by columns with sorted rows. A supernode and the next, if that is its parent, become one where
    few zeros are stored for it.

    Source: Ashcraft & Grimes, ACM Transactions on Mathematical Software 15 (1989) 291–309.
    """
    ends: list[int] = []  # last column + 1 of the supernodes so far
    entries: list[int] = []  # of L in each
    for a, b in pairwise(runs_of_columns(pointer, rows).tolist()):
        ends.append(b)
        entries.append(int(pointer[b] - pointer[a]))
        tall = int(pointer[b] - pointer[b - 1]) - 1  # rows below the last column, of all that are joined to it
        while len(ends) > 1:
            child, start = ends[-2], ends[-3] if len(ends) > 2 else 0
            below = int(pointer[child - 1]) + 1
            parent = int(rows[below]) if below < pointer[child] else -1
            width, total = b - start, entries[-1] + entries[-2]
            stored = width * (width + 1) // 2 + width * tall
            if not child <= parent < b or 1.0 - total / stored > _zeros_allowed(width):
                break
            ends[-2:], entries[-2:] = [b], [total]
    row_lists: list[Array] = [np.zeros(0)]
    blocks: list[Array] = [np.zeros(0)]
    for a, b in pairwise([0, *ends]):
        places = np.concatenate([np.arange(a, b), rows[pointer[b - 1] + 1 : pointer[b]]])
        block = np.zeros((b - a, places.size))
        for c in range(a, b):
            block[c - a, np.searchsorted(places, rows[pointer[c] : pointer[c + 1]])] = data[pointer[c] : pointer[c + 1]]
        row_lists.append(places)
        blocks.append(block.ravel())
    row_start, value_start = (np.cumsum([each.size for each in some]).astype(np.int32) for some in (row_lists, blocks))
    first = np.array([0, *ends], dtype=np.int32)
    return Supernodes(first, row_start, value_start, np.concatenate(row_lists).astype(np.int32), np.concatenate(blocks))


def _zeros_allowed(width: int) -> float:
    """Share of zeros allowed among the entries of a supernode of `width` columns."""
    return next((share for columns, share in _RELAXED if width <= columns), _RELAXED[-1][1])


def _cut(supernodes: Supernodes) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Groups of branches of the tree, and its top, each from children to parents."""
    first, row_start = supernodes.first.astype(np.int64), supernodes.row_start.astype(np.int64)
    widths, heights = np.diff(first), np.diff(row_start)
    count = widths.size
    entries = widths * heights - widths * (widths - 1) // 2
    supernode_of = np.repeat(np.arange(count), widths)
    parents = np.full(count, -1)
    inner = np.flatnonzero(heights > widths)
    parents[inner] = supernode_of[supernodes.rows[row_start[inner] + widths[inner]]]
    below = entries.copy()
    for child in inner:  # children come before their parents
        below[parents[child]] += below[child]
    largest_branch = entries.sum() // _SHARE
    top = below > largest_branch
    roots = np.flatnonzero(~top & ((parents < 0) | top[parents]))
    group, sizes = np.full(count, -1), np.zeros(min(_TASKS, roots.size), dtype=np.int64)
    for root in roots[np.argsort(-below[roots], kind="stable")]:  # the largest first, each to the smallest group
        group[root] = np.argmin(sizes)
        sizes[group[root]] += below[root]
    for s in range(count - 1, -1, -1):
        if not top[s] and group[s] < 0:
            group[s] = group[parents[s]]
    return [np.flatnonzero(group == i) for i in range(sizes.size)], np.flatnonzero(top)
