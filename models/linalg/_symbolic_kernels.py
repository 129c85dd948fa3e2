"""The symbolic analysis of a sparse Cholesky factor: its tree, the entries of its columns, the rows of its supernodes.

pointer, indices: a symmetric pattern by columns, whose diagonal may be missing.
"""

import numpy as np

from arlequin.models.kernel_cache import njit


@njit(cache=True, nogil=True)
def elimination_tree(pointer, indices):
    """The parent (n,) of each column of the factor of a symmetric pattern, −1 of a root.

    Source: Liu, ACM Transactions on Mathematical Software 12 (1986) 127–148.
    """
    n = pointer.size - 1
    parents, above = np.full(n, -1), np.full(n, -1)  # above: an ancestor, far up
    for j in range(n):
        for p in range(pointer[j], pointer[j + 1]):
            i = np.int64(indices[p])
            while 0 <= i < j:
                further = above[i]
                above[i] = j
                if further < 0:
                    parents[i] = j
                i = further
    return parents


@njit(cache=True, nogil=True)
def column_counts(pointer, indices, parents):
    """Entries (n,) of each column of the factor, with its diagonal: row i has entries on the paths in the tree from the
    columns j < i of its row of A up to i."""
    n = parents.size
    counts, seen = np.ones(n, np.int64), np.full(n, -1)
    for i in range(n):
        seen[i] = i
        for p in range(pointer[i], pointer[i + 1]):
            j = np.int64(indices[p])
            while j < i and seen[j] != i:
                counts[j] += 1
                seen[j] = i
                j = parents[j]
    return counts


@njit(cache=True, nogil=True)
def fill_rows(pointer, indices, first, row_start, rows):
    """The rows of each supernode, as `Supernodes` says; children come before their parents.

    The rows below a supernode are those of its columns of A and of the supernodes just below it in the tree.
    """
    count = first.size - 1
    seen, holder = np.full(first[-1], -1), np.empty(first[-1], np.int64)
    child, sibling = np.full(count, -1), np.full(count, -1)
    for s in range(count):
        begin, end, at = first[s], first[s + 1], row_start[s]
        for c in range(begin, end):
            holder[c] = s
    for s in range(count):
        begin, end, at = first[s], first[s + 1], row_start[s]
        for c in range(begin, end):
            rows[at] = c
            at += 1
        below = at
        for c in range(begin, end):
            for p in range(pointer[c], pointer[c + 1]):
                i = indices[p]
                if i >= end and seen[i] != s:
                    seen[i] = s
                    rows[at] = i
                    at += 1
        k = child[s]
        while k >= 0:
            for p in range(row_start[k] + first[k + 1] - first[k], row_start[k + 1]):
                i = rows[p]
                if i >= end and seen[i] != s:
                    seen[i] = s
                    rows[at] = i
                    at += 1
            k = sibling[k]
        rows[below:at].sort()
        if at > below:
            parent = holder[rows[below]]
            sibling[s] = child[parent]
            child[parent] = s


@njit(cache=True, nogil=True)
def clear_above(first, row_start, value_start, values):
    """Writes zeros above the diagonal of each supernode."""
    for s in range(first.size - 1):
        height, at = row_start[s + 1] - row_start[s], value_start[s]
        for c in range(first[s + 1] - first[s]):
            values[at + c * height : at + c * height + c] = 0.0
