"""Sparse Cholesky factors L by supernodes: their storage, and the symbolic analysis of a pattern."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array

_RELAXED = (4, 1.0), (16, 0.4), (48, 0.1), (np.inf, 0.05)  # columns of a supernode, and the share of zeros allowed
_MAX_RUN = 64  # largest number of columns of a run, whose triangle is solved row by row
MAX_ENTRIES = np.iinfo(np.int32).max  # of a factor: its indices have 32 bits


class Supernodes(NamedTuple):
    """L by supernodes: the columns from first[s] on have the rows (m,) from row_start[s] on, their own first, and the
    values from value_start[s] on, column after column, each with all m rows."""

    first: NDArray[np.int32]
    row_start: NDArray[np.int32]
    value_start: NDArray[np.int32]
    rows: NDArray[np.int32]
    values: Array


class Symbolic(NamedTuple):
    """The factor of a pattern without values: an equivalent order (n,) of its rows, its supernodes in this order, each
    after those below it in the tree, and its entries, without the zeros that supernodes store."""

    order: NDArray[np.int64]
    supernodes: Supernodes
    entries: int


def symbolic(pattern: Any) -> Symbolic:
    """The symbolic factor of a canonical matrix (n, n) whose pattern is symmetric."""
    from arlequin.models.linalg._symbolic_kernels import column_counts, elimination_tree, fill_rows

    order = postorder(pattern)
    permuted = pattern[order][:, order]
    permuted.sort_indices()
    parents = elimination_tree(permuted.indptr, permuted.indices)
    counts = column_counts(permuted.indptr, permuted.indices, parents)
    ends = _relaxed(_runs(counts, parents), counts, parents)
    first, last = np.array([0, *ends[:-1]]), np.array(ends)
    widths = last - first
    heights = widths + counts[last - 1] - 1
    entries = int((widths * heights).sum())
    if entries > MAX_ENTRIES:
        raise UserError(f"the factor has {entries} entries: too many for 32-bit indices", code=FAILURE)
    starts = (np.append(first, last[-1]), _cumulated(heights), _cumulated(widths * heights))
    first, row_start, value_start = (each.astype(np.int32) for each in starts)
    rows = np.empty(int(row_start[-1]), dtype=np.int32)
    fill_rows(permuted.indptr, permuted.indices, first, row_start, rows)
    return Symbolic(order, Supernodes(first, row_start, value_start, rows, np.zeros(0)), int(counts.sum()))


def postorder(pattern: Any) -> NDArray[np.int64]:
    """An equivalent order (n,) of a symmetric pattern: a postorder of the elimination tree."""
    from arlequin.models.linalg._symbolic_kernels import elimination_tree

    n = pattern.shape[0]
    parents = elimination_tree(pattern.indptr, pattern.indices)
    tree = sp.csr_array((np.ones(n), (np.where(parents < 0, n, parents), np.arange(n))), shape=(n + 1, n + 1))
    below = csgraph.depth_first_order(tree, n, return_predecessors=False)  # each before those below it, next to it
    return np.asarray(below[:0:-1], dtype=np.int64)


def sorted_within(supernodes: Supernodes, kinds: NDArray[np.int64]) -> tuple[NDArray[np.int64], Supernodes]:
    """The order (n,) in which the columns of each supernode ascend in their kinds (n,), and the supernodes in this
    order: L has the same entries. value_start and values are unchanged."""
    supernode_of = np.repeat(np.arange(supernodes.first.size - 1), np.diff(supernodes.first))
    sort = np.lexsort((kinds, supernode_of))
    new_position = np.empty(kinds.size, dtype=np.int32)
    new_position[sort] = np.arange(kinds.size, dtype=np.int32)
    rows = new_position[supernodes.rows]
    owner = np.repeat(np.arange(supernodes.first.size - 1), np.diff(supernodes.row_start))
    return sort, supernodes._replace(rows=rows[np.lexsort((rows, owner))])


def stack_sizes(
    supernodes: Supernodes, order: NDArray[np.int64], border_number: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of children of each supernode in a multifrontal factorisation of the supernodes `order`, and the largest
    sizes of the stack of their updates and of a front; border_number (n,): < 0 for the rows that are factored."""
    widths, heights = np.diff(supernodes.first).astype(np.int64), np.diff(supernodes.row_start).astype(np.int64)
    supernode_of, parents = np.repeat(np.arange(widths.size), widths), np.full(widths.size, -1)
    pushing = order[heights[order] > widths[order]]
    rows = supernodes.rows[supernodes.row_start[pushing] + widths[pushing]]
    inside = border_number[rows] < 0
    parents[pushing[inside]] = supernode_of[rows[inside]]
    children = np.bincount(parents[parents >= 0], minlength=widths.size)
    below = heights - widths
    pushed = below * (below + 1) // 2  # a triangle
    net = np.where(parents[order] >= 0, pushed[order], 0)
    popped = np.bincount(parents[parents >= 0], weights=pushed[parents >= 0], minlength=widths.size).astype(np.int64)
    stack_size = np.cumsum(net - popped[order])
    return children, np.array([stack_size.max(initial=0), (below[order] ** 2).max(initial=0)])


def runs_of_columns(pointer: NDArray[np.int64], rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """Bounds of the runs of columns of L, by columns with sorted rows, in which each has the rows of the one before."""
    return _runs(np.diff(pointer), _first_below(pointer, rows))


def supernodes_from_columns(pointer: NDArray[np.int64], rows: NDArray[np.int32], data: Array) -> Supernodes:
    """Supernodes of an L stored by columns with sorted rows."""
    counts, parents = np.diff(pointer), _first_below(pointer, rows)
    ends = _relaxed(_runs(counts, parents), counts, parents)
    row_lists: list[Array] = [np.zeros(0)]
    blocks: list[Array] = [np.zeros(0)]
    for a, b in pairwise([0, *ends]):
        places = np.concatenate([np.arange(a, b), rows[pointer[b - 1] + 1 : pointer[b]]])
        block = np.zeros((b - a, places.size))
        for c in range(a, b):
            block[c - a, np.searchsorted(places, rows[pointer[c] : pointer[c + 1]])] = data[pointer[c] : pointer[c + 1]]
        row_lists.append(places)
        blocks.append(block.ravel())
    row_start, value_start = (
        np.cumsum([array.size for array in arrays]).astype(np.int32) for arrays in (row_lists, blocks)
    )
    first = np.array([0, *ends], dtype=np.int32)
    return Supernodes(first, row_start, value_start, np.concatenate(row_lists).astype(np.int32), np.concatenate(blocks))


def _first_below(pointer: NDArray[np.int64], rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """The first row (n,) below the diagonal of each column, which is its parent in the tree, −1 where there is none."""
    inner = np.flatnonzero(np.diff(pointer) > 1)
    parents = np.full(pointer.size - 1, -1)
    parents[inner] = rows[pointer[inner] + 1]
    return parents


def _runs(counts: NDArray[np.int64], parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """`runs_of_columns` from the entries of each column and the tree."""
    # the rows below the diagonal of a column are among those of the next one of its path: as many are the same
    nested = np.flatnonzero((counts[:-1] == counts[1:] + 1) & (parents[:-1] == np.arange(1, counts.size)))
    is_nested = np.zeros(counts.size, dtype=bool)
    is_nested[nested + 1] = True
    bounds = [0]
    for j in range(1, counts.size):
        if not is_nested[j] or j - bounds[-1] >= _MAX_RUN:
            bounds.append(j)
    return np.array([*bounds, counts.size], dtype=np.int64)


def _relaxed(runs: NDArray[np.int64], counts: NDArray[np.int64], parents: NDArray[np.int64]) -> list[int]:
    """The last columns + 1 of supernodes: of runs of columns, where a supernode and the next, if that is its parent,
    become one if few zeros are stored for it.

    Source: Ashcraft & Grimes, ACM Transactions on Mathematical Software 15 (1989) 291–309.
    """
    ends: list[int] = []  # last column + 1 of the supernodes so far
    entries: list[int] = []  # of L in each
    before = _cumulated(counts)
    for a, b in pairwise(runs.tolist()):
        ends.append(b)
        entries.append(int(before[b] - before[a]))
        tall = int(counts[b - 1]) - 1  # rows below the last column, of all that are joined to it
        while len(ends) > 1:
            child, start = ends[-2], ends[-3] if len(ends) > 2 else 0
            width, total = b - start, entries[-1] + entries[-2]
            stored = width * (width + 1) // 2 + width * tall
            if not child <= int(parents[child - 1]) < b or 1.0 - total / stored > _zeros_allowed(width):
                break
            ends[-2:], entries[-2:] = [b], [total]
    return ends


def _zeros_allowed(width: int) -> float:
    """Share of zeros allowed among the entries of a supernode of `width` columns."""
    return next((share for columns, share in _RELAXED if width <= columns), _RELAXED[-1][1])


def _cumulated(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)])
