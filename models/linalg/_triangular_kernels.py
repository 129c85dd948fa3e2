"""Solutions with a dense lower triangle L, whose rows lie one after the other, in compiled loops."""

from arlequin.models.kernel_cache import called_njit


@called_njit(fastmath={"contract", "reassoc"})
def full_dot(x, y):
    """x·y, summed in any order."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@called_njit()
def solve_lower(lower, start, x):
    """x (n,) ← L⁻¹ x, of an x that is zero before `start`."""
    for i in range(start, x.size):
        x[i] = (x[i] - full_dot(lower[i, start:i], x[start:i])) / lower[i, i]


@called_njit()
def solve_lower_transposed(lower, x):
    """x (n,) ← L⁻ᵀ x."""
    for i in range(x.size - 1, -1, -1):
        own = x[i] / lower[i, i]
        row, above = lower[i, :i], x[:i]
        for j in range(above.size):
            above[j] -= own * row[j]
        x[i] = own
