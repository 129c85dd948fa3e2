"""Partition of the cells of a mesh among ranks: recursive bisection of their centres.

Source: Berger & Bokhari, IEEE Transactions on Computers C-36 (1987) 570–580.
"""

import numpy as np

from arlequin.models.types import Array, Indices


def cells_of(centres: Array, count: int, index: int) -> Indices:
    """The cells (k,), ascending, of rank `index` of `count`, by centres (c, axis): bisected across the longest side in
    parts that differ by at most one cell.

    >>> [cells_of(np.array([[0.0], [1.0], [2.0], [3.0]]), 2, i).tolist() for i in range(2)]
    [[0, 1], [2, 3]]
    """
    cells, first, last = np.arange(len(centres)), 0, count
    while last - first > 1:
        points = centres[cells]
        axis = int(np.argmax(np.ptp(points, axis=0))) if len(points) else 0
        middle = (first + last) // 2
        below = len(cells) * (middle - first) // (last - first)
        order = np.argsort(points[:, axis], kind="stable")
        if index < middle:
            cells, last = cells[order[:below]], middle
        else:
            cells, first = cells[order[below:]], middle
    return np.sort(cells)
