"""Sums over the rows of contact points, for the recursions over the steps of small systems."""

from arlequin.models.kernel_cache import njit


@njit(cache=True)
def gathered(rows, j, table, field, column, out):
    """out (r,) += Σ_b table[j, i, b] field[rows[i, b], column]: a matrix that couples the rows of each point."""
    for i in range(rows.shape[0]):
        for b in range(3):
            at = rows[i, b]
            if at >= 0:
                out[i] += table[j, i, b] * field[at, column]


@njit(cache=True)
def scattered(rows, j, table, field, column, out):
    """The transpose: out[rows[i, b]] += table[j, i, b] field[i, column]."""
    for i in range(rows.shape[0]):
        value = field[i, column]
        if value != 0.0:
            for b in range(3):
                at = rows[i, b]
                if at >= 0:
                    out[at] += table[j, i, b] * value


@njit(cache=True)
def coupling(rows, j, by_impulse, by_y, response, matrix):
    """∂E/∂P + ∂E/∂y W of a step (r, r); rows without an equation get 1 on the diagonal."""
    count = rows.shape[0]
    matrix[:] = 0.0
    for i in range(count):
        for b in range(3):
            at = rows[i, b]
            if at < 0:
                continue
            matrix[i, at] += by_impulse[j, i, b]
            slope = by_y[j, i, b]
            if slope != 0.0:
                for c in range(count):
                    matrix[i, c] += slope * response[at, c]
