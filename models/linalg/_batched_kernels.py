"""Triangular solves with a supernodal factor for many right-hand sides side by side.

The factor is the tuple of the fields of `arlequin.models.linalg.batched_factor.BatchedFactor`. Free columns of a block
are zeros, so that what stands beside a right-hand side does not change its solution.
"""

import numpy as np

from arlequin.models.kernel_cache import njit


@njit(cache=True, nogil=True, fastmath={"contract"})
def forward_rows(factor, side, fields, half):
    """half (n, d) = L⁻¹ P b of each b of fields (n, u), `side` at a time; rows of the matrix from u on are zero."""
    order, first, starts, rows, begin, values, inverse = factor
    size, count, given = order.size, first.size - 1, fields.shape[1]
    longest = 1
    for s in range(count):
        longest = max(longest, starts[s + 1] - starts[s])
    x = np.empty((size, side))
    below = np.empty((longest, side))
    for block in range(0, fields.shape[0], side):
        taken = min(side, fields.shape[0] - block)
        if taken < side:
            x[:] = 0.0
        for i in range(size):
            place = order[i]
            for b in range(taken):
                x[i, b] = fields[block + b, place] if place < given else 0.0
        for s in range(count):
            a, own, tall = first[s], first[s + 1] - first[s], starts[s + 1] - starts[s]
            at = begin[s]
            for i in range(own):
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
                np.dot(values[at : at + tall * own].reshape(tall, own), x[a : a + own], products)
                for r in range(tall):
                    y, z = x[rows[starts[s] + r]], products[r]
                    for b in range(side):
                        y[b] -= z[b]
        for i in range(size):
            for b in range(taken):
                half[block + b, i] = x[i, b]


@njit(cache=True, nogil=True, fastmath={"contract"})
def backward_rows(factor, side, half, out):
    """out (n, u): the first u entries of Pᵀ L⁻ᵀ w of each w of half (n, d), `side` at a time."""
    order, first, starts, rows, begin, values, inverse = factor
    size, count, wanted = order.size, first.size - 1, out.shape[1]
    widest, longest = 1, 1
    for s in range(count):
        widest = max(widest, first[s + 1] - first[s])
        longest = max(longest, starts[s + 1] - starts[s])
    x = np.empty((size, side))
    below, own_sum = np.empty((longest, side)), np.empty((widest, side))
    for block in range(0, half.shape[0], side):
        taken = min(side, half.shape[0] - block)
        if taken < side:
            x[:] = 0.0
        for i in range(size):
            for b in range(taken):
                x[i, b] = half[block + b, i]
        for n in range(count):
            s = count - 1 - n
            a, own, tall = first[s], first[s + 1] - first[s], starts[s + 1] - starts[s]
            at = begin[s]
            if tall:
                values_below = values[at + own * (own - 1) // 2 : at + own * (own - 1) // 2 + tall * own]
                known, products = below[:tall], own_sum[:own]
                for r in range(tall):
                    y, z = x[rows[starts[s] + r]], known[r]
                    for b in range(side):
                        z[b] = y[b]
                np.dot(values_below.reshape(tall, own).T, known, products)
                for c in range(own):
                    y, z = x[a + c], products[c]
                    for b in range(side):
                        y[b] -= z[b]
            for m in range(own):
                i = own - 1 - m
                y, line = x[a + i], at + i * (i - 1) // 2
                for b in range(side):
                    y[b] *= inverse[a + i]
                for c in range(i):
                    value, z = values[line + c], x[a + c]
                    for b in range(side):
                        z[b] -= value * y[b]
        for i in range(size):
            place = order[i]
            if place < wanted:
                for b in range(taken):
                    out[block + b, place] = x[i, b]
