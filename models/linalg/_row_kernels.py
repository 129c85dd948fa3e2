"""Products of a dense matrix with many vectors that lie in a row each."""

import numpy as np

from arlequin.models.kernel_cache import njit


@njit(cache=True)
def row_products(fields, matrix):
    """x A (b, r) of each x of fields (b, d); A (d, r)."""
    out = np.zeros((fields.shape[0], matrix.shape[1]))
    for b in range(fields.shape[0]):
        for d in range(matrix.shape[0]):
            x = fields[b, d]
            for r in range(matrix.shape[1]):
                out[b, r] += x * matrix[d, r]
    return out
