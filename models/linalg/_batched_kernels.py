"""Triangular solves with a supernodal factor for many right-hand sides side by side.

The factor is the tuple of the fields of `arlequin.models.linalg.batched_factor.BatchedFactor`. Unused columns of a
block are zeros, so that a solution does not depend on the other right-hand sides.
"""

import numpy as np

from arlequin.models.kernel_cache import njit


@njit(cache=True, nogil=True, fastmath={"contract"})
def forward_rows(factor, side, fields, half):
    """half (n, d) = L⁻¹ P b of each b of fields (n, u), `side` at a time; rows of the matrix from u on are zero."""
    order, first, starts, rows, begin, values, inverse = factor
    size, count, dofs = order.size, first.size - 1, fields.shape[1]
    longest = 1
    for s in range(count):
        longest = max(longest, starts[s + 1] - starts[s])
    x = np.empty((size, side))
    below = np.empty((longest, side))
    for block in range(0, fields.shape[0], side):
        filled = min(side, fields.shape[0] - block)
        if filled < side:
            x[:] = 0.0
        for i in range(size):
            place = order[i]
            for b in range(filled):
                x[i, b] = fields[block + b, place] if place < dofs else 0.0
        for s in range(count):
            a, width, tall = first[s], first[s + 1] - first[s], starts[s + 1] - starts[s]
            at = begin[s]
            for i in range(width):
                y = x[a + i]
                for c in range(i):
                    value, z = values[at + c], x[a + c]
                    for b in range(side):
                        y[b] -= value * z[b]
                at += i
                for b in range(side):
                    y[b] *= inverse[a + i]
            if tall:
                products = below[:tall]
                np.dot(values[at : at + tall * width].reshape(tall, width), x[a : a + width], products)
                for r in range(tall):
                    y, z = x[rows[starts[s] + r]], products[r]
                    for b in range(side):
                        y[b] -= z[b]
        for i in range(size):
            for b in range(filled):
                half[block + b, i] = x[i, b]


@njit(cache=True, nogil=True, fastmath={"contract"})
def backward_rows(factor, side, half, out):
    """out (n, u): the first u entries of Pᵀ L⁻ᵀ w of each w of half (n, d), `side` at a time."""
    order, first, starts, rows, begin, values, inverse = factor
    size, count, dofs = order.size, first.size - 1, out.shape[1]
    widest, longest = 1, 1
    for s in range(count):
        widest = max(widest, first[s + 1] - first[s])
        longest = max(longest, starts[s + 1] - starts[s])
    x = np.empty((size, side))
    below, column_sums = np.empty((longest, side)), np.empty((widest, side))
    for block in range(0, half.shape[0], side):
        filled = min(side, half.shape[0] - block)
        if filled < side:
            x[:] = 0.0
        for i in range(size):
            for b in range(filled):
                x[i, b] = half[block + b, i]
        for n in range(count):
            s = count - 1 - n
            a, width, tall = first[s], first[s + 1] - first[s], starts[s + 1] - starts[s]
            at = begin[s]
            if tall:
                values_below = values[at + width * (width - 1) // 2 : at + width * (width - 1) // 2 + tall * width]
                solved, products = below[:tall], column_sums[:width]
                for r in range(tall):
                    y, z = x[rows[starts[s] + r]], solved[r]
                    for b in range(side):
                        z[b] = y[b]
                np.dot(values_below.reshape(tall, width).T, solved, products)
                for c in range(width):
                    y, z = x[a + c], products[c]
                    for b in range(side):
                        y[b] -= z[b]
            for m in range(width):
                i = width - 1 - m
                y, line = x[a + i], at + i * (i - 1) // 2
                for b in range(side):
                    y[b] *= inverse[a + i]
                for c in range(i):
                    value, z = values[line + c], x[a + c]
                    for b in range(side):
                        z[b] -= value * y[b]
        for i in range(size):
            place = order[i]
            if place < dofs:
                for b in range(filled):
                    out[block + b, place] = x[i, b]
