"""Numba kernel of the search in a table."""

from numba import float64, int64

from arlequin.models.kernel_cache import njit


@njit(int64(float64[::1], int64, int64, float64), cache=True)
def knots_passed(table, start, n, x):
    """Number of the n ascending knots table[start], … that are ≤ x, by halving; 0 for nan."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if x >= table[start + middle]:
            low = middle + 1
        else:
            high = middle
    return low
