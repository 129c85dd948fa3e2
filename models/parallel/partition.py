"""Which cells of a mesh each rank has: recursive bisection of their centres.

Source: Berger & Bokhari, IEEE Transactions on Computers C-36 (1987) 570–580.
"""

import numpy as np

from arlequin.models.types import Array, Indices


def cells_of(centres: Array, count: int, index: int) -> Indices:
    """The cells (k,), ascending, of rank `index` of `count`: centres (c, axis), cut across the longest side in shares
    that differ by a cell at most.

    >>> [cells_of(np.array([[0.0], [1.0], [2.0], [3.0]]), 2, i).tolist() for i in range(2)]
    [[0, 1], [2, 3]]
    """
    chosen, first, last = np.arange(len(centres)), 0, count
    while last - first > 1:
        own = centres[chosen]
        axis = int(np.argmax(np.ptp(own, axis=0))) if len(own) else 0
        middle = (first + last) // 2
        below = len(chosen) * (middle - first) // (last - first)
        order = np.argsort(own[:, axis], kind="stable")
        if index < middle:
            chosen, last = chosen[order[:below]], middle
        else:
            chosen, first = chosen[order[below:]], middle
    return np.sort(chosen)
