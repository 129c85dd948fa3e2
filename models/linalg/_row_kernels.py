"""Products of a dense matrix with many vectors that lie in a row each."""

import numpy as np

from arlequin.models.kernel_cache import njit


@njit(cache=True, nogil=True)
def row_products(fields, matrix):
    """x A (b, r) of each x of fields (b, d); A (d, r).

    Four rows of A at a time, in their order, for sixteen vectors: the same bits as one by one, with fewer passes
    through the memory.
    """
    out = np.zeros((fields.shape[0], matrix.shape[1]))
    count = matrix.shape[0]
    unrolled = count - count % 4
    for begin in range(0, len(fields), 16):
        end = min(begin + 16, len(fields))
        for d in range(0, unrolled, 4):
            for b in range(begin, end):
                x0, x1, x2, x3 = fields[b, d], fields[b, d + 1], fields[b, d + 2], fields[b, d + 3]
                for r in range(matrix.shape[1]):
                    total = out[b, r]
                    total += x0 * matrix[d, r]
                    total += x1 * matrix[d + 1, r]
                    total += x2 * matrix[d + 2, r]
                    total += x3 * matrix[d + 3, r]
                    out[b, r] = total
        for d in range(unrolled, count):
            for b in range(begin, end):
                x = fields[b, d]
                for r in range(matrix.shape[1]):
                    out[b, r] += x * matrix[d, r]
    return out
