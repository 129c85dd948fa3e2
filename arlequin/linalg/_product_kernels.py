"""Kernels: products of a sparse matrix with the rows of an array of vectors."""

import numpy as np

from arlequin.models.kernel_cache import njit

FEW, _SIDE = 4, 64  # least number of vectors that are blocked, and block size


@njit(cache=True, nogil=True)
def by_rows(starts, columns, values, fields):
    """A x (b, r) of each x of fields (b, d); A by rows.

    Blocks of vectors are multiplied entry by entry, unless A has few entries; sums have the order of a single product.
    """
    count, rows = fields.shape[0], starts.size - 1
    out = np.empty((count, rows))
    if count < FEW or values.size < fields.shape[1]:
        for b in range(count):
            for r in range(rows):
                single = 0.0
                for e in range(starts[r], starts[r + 1]):
                    single += values[e] * fields[b, columns[e]]
                out[b, r] = single
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
            begin, end = starts[r], starts[r + 1]
            fours = end - (end - begin) % 4
            for e in range(begin, fours, 4):
                a0, a1, a2, a3 = values[e], values[e + 1], values[e + 2], values[e + 3]
                x, y = beside[columns[e], :size], beside[columns[e + 1], :size]
                z, w = beside[columns[e + 2], :size], beside[columns[e + 3], :size]
                for b in range(size):
                    total[b] = ((total[b] + a0 * x[b]) + a1 * y[b] + a2 * z[b]) + a3 * w[b]
            for e in range(fours, end):
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
def strains(starts, columns, values, anchor, part_rows, fields):
    """Strains (b, s) of displacements (b, d); see `arlequin.system.strains`."""
    out = np.empty((fields.shape[0], starts.size - 1))
    relative = np.empty(fields.shape[1])
    for b in range(fields.shape[0]):
        u = fields[b]
        for d in range(u.size):
            relative[d] = u[d] - u[anchor[d]] if anchor[d] >= 0 else u[d]
        for s in range(starts.size - 1):
            field = relative if s < part_rows else u
            total = 0.0
            for e in range(starts[s], starts[s + 1]):
                total += values[e] * field[columns[e]]
            out[b, s] = total
    return out


@njit(inline="always")
def _rows_of_field(count, starts, columns, values, places, fields, out, first, last):
    """`rows_of_field` with a constant count."""
    for r in range(first, last):
        a, b, c = 0.0, 0.0, 0.0
        for e in range(starts[r], starts[r + 1]):
            d = count * columns[e]
            a += values[e] * fields[d]
            if count > 1:
                b += values[e] * fields[d + 1]
            if count > 2:
                c += values[e] * fields[d + 2]
        d = count * places[r]
        out[d] = a
        if count > 1:
            out[d + 1] = b
        if count > 2:
            out[d + 2] = c


@njit(cache=True, nogil=True)
def rows_of_field(count, starts, columns, values, places, fields, out, first, last):
    """Rows first … last − 1 of A x, for each of `count` ≤ 3 components: fields (d · count,), component-minor.

    A by rows; those of row r are written to out[count places[r] …].
    """
    if count == 3:
        _rows_of_field(3, starts, columns, values, places, fields, out, first, last)
    elif count == 2:
        _rows_of_field(2, starts, columns, values, places, fields, out, first, last)
    else:
        _rows_of_field(1, starts, columns, values, places, fields, out, first, last)


@njit(inline="always")
def _rows_of_two_fields(count, starts, columns, values, fields, others, out, out_others, first, last):
    """`rows_of_two_fields` with a constant count."""
    for r in range(first, last):
        a, b, c = 0.0, 0.0, 0.0
        x, y, z = 0.0, 0.0, 0.0
        for e in range(starts[r], starts[r + 1]):
            value, d = values[e], count * columns[e]
            a += value * fields[d]
            x += value * others[d]
            if count > 1:
                b += value * fields[d + 1]
                y += value * others[d + 1]
            if count > 2:
                c += value * fields[d + 2]
                z += value * others[d + 2]
        d = count * r
        out[d], out_others[d] = a, x
        if count > 1:
            out[d + 1], out_others[d + 1] = b, y
        if count > 2:
            out[d + 2], out_others[d + 2] = c, z


@njit(cache=True, nogil=True)
def rows_of_two_fields(count, starts, columns, values, fields, others, out, out_others, first, last):
    """Rows first … last − 1 of the products of A with two fields, as those of `rows_of_field`, by one pass over A."""
    if count == 3:
        _rows_of_two_fields(3, starts, columns, values, fields, others, out, out_others, first, last)
    elif count == 2:
        _rows_of_two_fields(2, starts, columns, values, fields, others, out, out_others, first, last)
    else:
        _rows_of_two_fields(1, starts, columns, values, fields, others, out, out_others, first, last)
