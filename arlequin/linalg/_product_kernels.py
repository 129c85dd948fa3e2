"""Kernels: products of a sparse matrix with the rows of an array of vectors."""

import numpy as np
from numba import njit

_FEW, _SIDE = 4, 64  # least number of vectors that are blocked, and block size


@njit(cache=True, nogil=True)
def by_rows(starts, columns, values, fields):
    """A x (b, r) of each x of fields (b, d); A by rows.

    Blocks of vectors are multiplied entry by entry, unless A has few entries; sums have the order of a single product.
    """
    count, rows = fields.shape[0], starts.size - 1
    out = np.empty((count, rows))
    if count < _FEW or values.size < fields.shape[1]:
        for b in range(count):
            for r in range(rows):
                alone = 0.0
                for e in range(starts[r], starts[r + 1]):
                    alone += values[e] * fields[b, columns[e]]
                out[b, r] = alone
        return out
    beside, sums = np.empty((fields.shape[1], min(count, _SIDE))), np.empty(_SIDE)
    for first in range(0, count, _SIDE):
        size = min(_SIDE, count - first)
        for b in range(size):
            for d in range(fields.shape[1]):
                beside[d, b] = fields[first + b, d]
        for r in range(rows):
            total = sums[:size]
            total[:] = 0.0
            for e in range(starts[r], starts[r + 1]):
                value, x = values[e], beside[columns[e], :size]
                for b in range(size):
                    total[b] += value * x[b]
            for b in range(size):
                out[first + b, r] = total[b]
    return out


@njit(cache=True, nogil=True)
def by_columns(starts, rows, values, fields, count):
    """A x (b, count) of each x of fields (b, d); A by columns."""
    out = np.zeros((fields.shape[0], count))
    for b in range(fields.shape[0]):
        for d in range(starts.size - 1):
            x = fields[b, d]
            for e in range(starts[d], starts[d + 1]):
                out[b, rows[e]] += values[e] * x
    return out


@njit(cache=True, nogil=True)
def strains(starts, columns, values, anchor, own, fields):
    """Strains (b, s) of displacements (b, d); see `arlequin.system.strains`."""
    out = np.empty((fields.shape[0], starts.size - 1))
    relative = np.empty(fields.shape[1])
    for b in range(fields.shape[0]):
        u = fields[b]
        for d in range(u.size):
            relative[d] = u[d] - u[anchor[d]] if anchor[d] >= 0 else u[d]
        for s in range(starts.size - 1):
            seen = relative if s < own else u
            total = 0.0
            for e in range(starts[s], starts[s + 1]):
                total += values[e] * seen[columns[e]]
            out[b, s] = total
    return out
