"""Solutions with a supernodal Cholesky factor by compiled passes over it, on threads."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.linalg.factor import CholeskyFactor
from arlequin.models.linalg.supernodes import Supernodes, gathered
from arlequin.models.linalg.threads import map_pieces
from arlequin.models.types import Array

_SHARE, _TASKS = 4, 8  # no branch has more entries than a fourth of L; most groups of branches
_LEAST = 200_000  # stored entries of L from which on passes on threads are worth their start
_SIDES = 12  # right-hand sides that share a pass over the factor: what they need of it stays in the processor's cache


class SupernodalSolver:
    """A⁻¹ b, and b·A⁻¹b, with P A Pᵀ = L Lᵀ of a `CholeskyFactor`, in the memory of CHOLMOD.

    The tree of the supernodes is cut into a top and groups of the branches below it. Groups share no columns: each is
    solved by one thread, and what it pushes on the rows of the top is added up in the order of the groups, so that
    nothing depends on the number of threads. The groups follow from the factor alone.
    """

    def __init__(self, factor: CholeskyFactor, order: NDArray[np.int32], supernodes: Supernodes) -> None:
        """factor: kept, as the supernodes lie in its memory; it must not be refactorised."""
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
        found = factor.supernodes() if isinstance(factor, CholeskyFactor) else None
        return None if found is None or found[1].values.size < _LEAST else cls(factor, *found)

    def solve(self, x: Array) -> None:
        """Overwrites each b of x (k, n), contiguous and in the order of the factor, with A⁻¹ b."""
        forward, backward = self._kernels
        above = np.zeros((len(self._groups), len(x), self._top_rows.size))
        numbers = range(len(self._groups))
        map_pieces(lambda i: forward(self._groups[i], x, self._place, above[i]), numbers)
        x[:, self._top_rows] += above.sum(axis=0)
        forward(self._top, x, self._nowhere, self._nothing)
        backward(self._top, x)
        # the other way round: what was read last may still be in the processor's cache
        map_pieces(lambda i: backward(self._groups[i], x), numbers[::-1])

    def squares(self, sides: Array) -> Array:
        """b·A⁻¹b = ‖L⁻¹ P b‖² (k,) of each b of sides (k, n), with the same bits for any k."""
        forward, _ = self._kernels
        out = np.empty(len(sides))

        def some(start: int) -> None:
            x = np.take(sides[start : start + _SIDES], self.order, axis=1)
            forward(self._every, x, self._nowhere, self._nothing)
            out[start : start + _SIDES] = np.vecdot(x, x)

        map_pieces(some, range(0, len(sides), _SIDES))
        return out

    @cached_property
    def _kernels(self) -> tuple[Callable[..., None], Callable[..., None]]:
        from arlequin.models.linalg._supernodal_kernels import backward, forward

        return partial(_on, forward, self._supernodes), partial(_on, backward, self._supernodes)


def _on(kernel: Callable[..., None], supernodes: Supernodes, chosen: NDArray[np.int64], *fields: Array) -> None:
    kernel(chosen, *supernodes, *fields)


def supernodes_of(factor: CholeskyFactor) -> tuple[NDArray[np.int64], Supernodes]:
    """Order (d,) and L by supernodes; where L is stored by columns, a copy of it that is gathered so."""
    found = factor.supernodes()
    if found is not None:
        return found[0].astype(np.int64), found[1]
    order, lower = factor.lower()
    return order.astype(np.int64), gathered(lower.indptr.astype(np.int64), lower.indices, lower.data)


def _cut(supernodes: Supernodes) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Groups of branches of the tree, and its top, each from children to parents."""
    first, row_start = supernodes.first.astype(np.int64), supernodes.row_start.astype(np.int64)
    widths, heights = np.diff(first), np.diff(row_start)
    count = widths.size
    entries = widths * heights - widths * (widths - 1) // 2
    holder = np.repeat(np.arange(count), widths)
    parents = np.full(count, -1)
    inner = np.flatnonzero(heights > widths)
    parents[inner] = holder[supernodes.rows[row_start[inner] + widths[inner]]]
    below = entries.copy()
    for child in inner:  # children come before their parents
        below[parents[child]] += below[child]
    most = entries.sum() // _SHARE
    top = below > most
    roots = np.flatnonzero(~top & ((parents < 0) | top[parents]))
    group, sizes = np.full(count, -1), np.zeros(min(_TASKS, roots.size), dtype=np.int64)
    for root in roots[np.argsort(-below[roots], kind="stable")]:  # the largest first, each to the smallest group
        group[root] = np.argmin(sizes)
        sizes[group[root]] += below[root]
    for s in range(count - 1, -1, -1):
        if not top[s] and group[s] < 0:
            group[s] = group[parents[s]]
    return [np.flatnonzero(group == i) for i in range(sizes.size)], np.flatnonzero(top)
