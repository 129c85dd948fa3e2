"""Products of a sparse matrix with many vectors that lie in a row each."""

import numpy as np
from numba import njit


@njit(cache=True)
def by_rows(starts, columns, values, fields):
    """A x (b, r) of each x of fields (b, d); A by rows."""
    out = np.empty((fields.shape[0], starts.size - 1))
    for b in range(fields.shape[0]):
        for r in range(starts.size - 1):
            total = 0.0
            for e in range(starts[r], starts[r + 1]):
                total += values[e] * fields[b, columns[e]]
            out[b, r] = total
    return out


@njit(cache=True)
def by_columns(starts, rows, values, fields, count):
    """A x (b, count) of each x of fields (b, d); A by columns."""
    out = np.zeros((fields.shape[0], count))
    for b in range(fields.shape[0]):
        for d in range(starts.size - 1):
            x = fields[b, d]
            for e in range(starts[d], starts[d + 1]):
                out[b, rows[e]] += values[e] * x
    return out


@njit(cache=True)
def strains(starts, columns, values, anchor, own, fields):
    """Strains (b, s) of displacements (b, d); see `arlequin.strains`."""
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
