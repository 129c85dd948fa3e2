"""Solutions with a supernodal Cholesky factor by compiled passes over it, on threads."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.linalg.factor import CholeskyFactor
from arlequin.models.linalg.supernodes import Supernodes, supernodes_from_columns
from arlequin.models.linalg.threads import map_pieces
from arlequin.models.types import Array

_BRANCH_SHARE = 4  # a branch has at most 1 / _BRANCH_SHARE of the entries of L
_MAX_GROUPS = 8  # of branches
_MIN_ENTRIES = 200_000  # stored entries of L below which threads do not pay
_SIDES_PER_PASS = 12  # right-hand sides: the block of L in use stays in the processor's cache


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
        self._all_supernodes = np.arange(supernodes.first.size - 1)
        self._groups, self._top = _cut(supernodes)
        first = supernodes.first
        self._top_rows = np.flatnonzero(np.repeat(np.isin(self._all_supernodes, self._top), np.diff(first)))
        self._no_updates = np.zeros((0, 0))
        self._no_places = np.full(int(first[-1]), -1)
        self._place = self._no_places.copy()
        self._place[self._top_rows] = np.arange(self._top_rows.size)

    @classmethod
    def of(cls, factor: Any) -> "SupernodalSolver | None":
        """None where the factor is small or not supernodal, or where scikit-sparse does not show its supernodes."""
        stored = factor.supernodes() if isinstance(factor, CholeskyFactor) else None
        return None if stored is None or stored[1].values.size < _MIN_ENTRIES else cls(factor, *stored)

    def solve(self, x: Array) -> None:
        """Overwrites each b of x (k, n), contiguous and in the order of the factor, with A⁻¹ b."""
        forward, backward = self._kernels
        updates = np.zeros((len(self._groups), len(x), self._top_rows.size))
        numbers = range(len(self._groups))
        map_pieces(lambda i: forward(self._groups[i], x, self._place, updates[i]), numbers)
        x[:, self._top_rows] += updates.sum(axis=0)
        forward(self._top, x, self._no_places, self._no_updates)
        backward(self._top, x)
        # in reverse: the blocks read last may still be in the processor's cache
        map_pieces(lambda i: backward(self._groups[i], x), numbers[::-1])

    def squares(self, sides: Array) -> Array:
        """b·A⁻¹b = ‖L⁻¹ P b‖² (k,) of each b of sides (k, n), with the same bits for any k."""
        forward, _ = self._kernels
        out = np.empty(len(sides))

        def solve_block(start: int) -> None:
            x = np.take(sides[start : start + _SIDES_PER_PASS], self.order, axis=1)
            forward(self._all_supernodes, x, self._no_places, self._no_updates)
            out[start : start + _SIDES_PER_PASS] = np.vecdot(x, x)

        map_pieces(solve_block, range(0, len(sides), _SIDES_PER_PASS))
        return out

    @cached_property
    def _kernels(self) -> tuple[Callable[..., None], Callable[..., None]]:
        from arlequin.models.linalg._supernodal_kernels import backward, forward

        return partial(_run_kernel, forward, self._supernodes), partial(_run_kernel, backward, self._supernodes)


def _run_kernel(kernel: Callable[..., None], supernodes: Supernodes, order: NDArray[np.int64], *fields: Array) -> None:
    kernel(order, *supernodes, *fields)


def supernodes_of(factor: CholeskyFactor) -> tuple[NDArray[np.int64], Supernodes]:
    """Order (d,) and L by supernodes; a copy where L is stored by columns."""
    stored = factor.supernodes()
    if stored is not None:
        return stored[0].astype(np.int64), stored[1]
    order, lower = factor.lower()
    return order.astype(np.int64), supernodes_from_columns(lower.indptr.astype(np.int64), lower.indices, lower.data)


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
    largest_branch = entries.sum() // _BRANCH_SHARE
    top = below > largest_branch
    roots = np.flatnonzero(~top & ((parents < 0) | top[parents]))
    group, sizes = np.full(count, -1), np.zeros(min(_MAX_GROUPS, roots.size), dtype=np.int64)
    for root in roots[np.argsort(-below[roots], kind="stable")]:  # the largest first, each to the smallest group
        group[root] = np.argmin(sizes)
        sizes[group[root]] += below[root]
    for s in range(count - 1, -1, -1):
        if not top[s] and group[s] < 0:
            group[s] = group[parents[s]]
    return [np.flatnonzero(group == i) for i in range(sizes.size)], np.flatnonzero(top)
