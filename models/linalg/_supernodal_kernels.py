"""Triangular solutions with a supernodal Cholesky factor L, whose storage is that of `Supernodes`.

x (k, n) are right-hand sides that become solutions, one in a row, in the order of the factor. A supernode's block is
read in panels of four columns, each for all right-hand sides. order: supernodes, children before their parents.
"""

import numpy as np

from arlequin.models.kernel_cache import njit

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, fastmath=FAST, nogil=True)
def forward(order, first, row_start, value_start, rows, values, x, place, above):
    """L⁻¹ x on the columns of some supernodes.

    Their update of row i is added to above[:, place[i]], or, where place[i] < 0 or place is None, to x[:, i].
    """
    sides, size = x.shape[0], 1
    for s in order:
        size = max(size, row_start[s + 1] - row_start[s])
    room = np.empty((sides, size))
    for s in order:
        at, row_numbers = first[s], rows[row_start[s] : row_start[s + 1]]
        width, height = first[s + 1] - at, row_numbers.size
        block = values[value_start[s] : value_start[s] + height * width]
        unrolled = width - width % 4
        for j in range(sides):
            for i in range(width):
                room[j, i] = x[j, at + i]
            for i in range(width, height):
                room[j, i] = 0.0
        for c in range(0, unrolled, 4):
            start = c * height
            k0, k1 = block[start + c : start + height], block[start + height + c : start + 2 * height]
            k2, k3 = (
                block[start + 2 * height + c : start + 3 * height],
                block[start + 3 * height + c : start + 4 * height],
            )
            b0, b1, b2, b3 = k0[4:], k1[4:], k2[4:], k3[4:]
            for j in range(sides):
                y, z = room[j, c : c + 4], room[j, c + 4 : height]
                y0 = y[0] / k0[0]
                y1 = (y[1] - k0[1] * y0) / k1[1]
                y2 = (y[2] - k0[2] * y0 - k1[2] * y1) / k2[2]
                y3 = (y[3] - k0[3] * y0 - k1[3] * y1 - k2[3] * y2) / k3[3]
                y[0], y[1], y[2], y[3] = y0, y1, y2, y3
                for r in range(z.size):
                    z[r] -= b0[r] * y0 + b1[r] * y1 + b2[r] * y2 + b3[r] * y3
        for c in range(unrolled, width):
            k0 = block[c * height + c : c * height + height]
            b0 = k0[1:]
            for j in range(sides):
                z = room[j, c + 1 : height]
                y0 = room[j, c] / k0[0]
                room[j, c] = y0
                for r in range(z.size):
                    z[r] -= b0[r] * y0
        for j in range(sides):
            for i in range(width):
                x[j, at + i] = room[j, i]
            for i in range(width, height):
                row = row_numbers[i]
                if place is None or place[row] < 0:
                    x[j, row] += room[j, i]
                else:
                    above[j, place[row]] += room[j, i]


@njit(cache=True, fastmath=FAST, nogil=True)
def backward(order, first, row_start, value_start, rows, values, x):
    """L⁻ᵀ x on the columns of some supernodes, x being solved in the rows of their ancestors."""
    sides, size = x.shape[0], 1
    for s in order:
        size = max(size, row_start[s + 1] - row_start[s])
    room = np.empty((sides, size))
    for q in range(order.size):
        s = order[order.size - 1 - q]
        at, row_numbers = first[s], rows[row_start[s] : row_start[s + 1]]
        width, height = first[s + 1] - at, row_numbers.size
        block = values[value_start[s] : value_start[s] + height * width]
        unrolled = width - width % 4
        for j in range(sides):
            for i in range(height):
                room[j, i] = x[j, row_numbers[i]]
        for c in range(width - 1, unrolled - 1, -1):
            k0 = block[c * height + c : (c + 1) * height]
            b0 = k0[1:]
            for j in range(sides):
                z, s0 = room[j, c + 1 : height], 0.0
                for r in range(z.size):
                    s0 += b0[r] * z[r]
                room[j, c] = (room[j, c] - s0) / k0[0]
        for c in range(unrolled - 4, -1, -4):
            start = c * height
            k0, k1 = block[start + c : start + height], block[start + height + c : start + 2 * height]
            k2, k3 = (
                block[start + 2 * height + c : start + 3 * height],
                block[start + 3 * height + c : start + 4 * height],
            )
            b0, b1, b2, b3 = k0[4:], k1[4:], k2[4:], k3[4:]
            for j in range(sides):
                y, z = room[j, c : c + 4], room[j, c + 4 : height]
                s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
                for r in range(z.size):
                    known = z[r]
                    s0 += b0[r] * known
                    s1 += b1[r] * known
                    s2 += b2[r] * known
                    s3 += b3[r] * known
                y3 = (y[3] - s3) / k3[3]
                y2 = (y[2] - s2 - k2[3] * y3) / k2[2]
                y1 = (y[1] - s1 - k1[2] * y2 - k1[3] * y3) / k1[1]
                y[0] = (y[0] - s0 - k0[1] * y1 - k0[2] * y2 - k0[3] * y3) / k0[0]
                y[1], y[2], y[3] = y1, y2, y3
        for j in range(sides):
            for i in range(width):
                x[j, at + i] = room[j, i]
