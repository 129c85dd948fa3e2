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
    parents, ancestors = np.full(n, -1), np.full(n, -1)  # ancestors: of compressed paths
    for j in range(n):
        for p in range(pointer[j], pointer[j + 1]):
            i = np.int64(indices[p])
            while 0 <= i < j:
                next_ancestor = ancestors[i]
                ancestors[i] = j
                if next_ancestor < 0:
                    parents[i] = j
                i = next_ancestor
    return parents


@njit(cache=True, nogil=True)
def column_counts(pointer, indices, parents):
    """Entries (n,) of each column of the factor, with its diagonal: row i has entries on the paths in the tree from the
    columns j < i of its row of A up to i."""
    n = parents.size
    counts, visited_by = np.ones(n, np.int64), np.full(n, -1)
    for i in range(n):
        visited_by[i] = i
        for p in range(pointer[i], pointer[i + 1]):
            j = np.int64(indices[p])
            while j < i and visited_by[j] != i:
                counts[j] += 1
                visited_by[j] = i
                j = parents[j]
    return counts


@njit(cache=True, nogil=True)
def fill_rows(pointer, indices, first, row_start, rows):
    """The rows of each supernode, stored as in `Supernodes`; children come before their parents.

    The rows below a supernode are those of its columns of A and of its children in the tree.
    """
    count = first.size - 1
    visited_by, supernode_of = np.full(first[-1], -1), np.empty(first[-1], np.int64)
    child, sibling = np.full(count, -1), np.full(count, -1)
    for s in range(count):
        supernode_of[first[s] : first[s + 1]] = s
    for s in range(count):
        begin, end, at = first[s], first[s + 1], row_start[s]
        for c in range(begin, end):
            rows[at] = c
            at += 1
        below = at
        for c in range(begin, end):
            for p in range(pointer[c], pointer[c + 1]):
                i = indices[p]
                if i >= end and visited_by[i] != s:
                    visited_by[i] = s
                    rows[at] = i
                    at += 1
        k = child[s]
        while k >= 0:
            for p in range(row_start[k] + first[k + 1] - first[k], row_start[k + 1]):
                i = rows[p]
                if i >= end and visited_by[i] != s:
                    visited_by[i] = s
                    rows[at] = i
                    at += 1
            k = sibling[k]
        rows[below:at].sort()
        if at > below:
            parent = supernode_of[rows[below]]
            sibling[s] = child[parent]
            child[parent] = s


@njit(cache=True, nogil=True)
def clear_above(first, row_start, value_start, values):
    """Write zeros above the diagonal of each supernode."""
    for s in range(first.size - 1):
        height, at = row_start[s + 1] - row_start[s], value_start[s]
        for c in range(first[s + 1] - first[s]):
            values[at + c * height : at + c * height + c] = 0.0
