"""Filling of points without a height by the harmonic interpolation of their neighbours."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

from arlequin.models.types import Array


def fill(heights: Array, pixel: tuple[float, float], periodic: bool) -> Array:
    """Heights (n, m) in which the points that are not finite obey Laplace's equation, and the others are unchanged.

    At each hole (i, j): Σ_neighbours w (h_neighbour − h_ij) = 0 with w = 1/Δx² along x and 1/Δy² along y, over the
    edge where the map is periodic, without the missing neighbour where it is not. The values stay within those around
    the hole; across a hole of diameter d the error is of the order of |∇²h| d²/16.

    pixel (Δx, Δy) in m; the holes must not cover the map.
    """
    hole = ~np.isfinite(heights)
    number = np.cumsum(hole).reshape(hole.shape) - 1
    count = int(hole.sum())
    rows, columns, values = [], [], []
    rhs = np.zeros(count)
    i, j = np.nonzero(hole)
    equation = number[i, j]
    for axis, step in ((0, -1), (0, 1), (1, -1), (1, 1)):
        weight = (min(pixel) / pixel[axis]) ** 2
        neighbour = [i + step, j] if axis == 0 else [i, j + step]
        inside = (neighbour[axis] >= 0) & (neighbour[axis] < heights.shape[axis]) | periodic
        p, q = (t[inside] % length for t, length in zip(neighbour, heights.shape, strict=True))
        rows_inside = equation[inside]
        rows.append(rows_inside)
        columns.append(rows_inside)
        values.append(np.full(len(rows_inside), weight))
        unknown = hole[p, q]
        rows.append(rows_inside[unknown])
        columns.append(number[p, q][unknown])
        values.append(np.full(int(unknown.sum()), -weight))
        np.add.at(rhs, rows_inside[~unknown], weight * heights[p, q][~unknown])
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    filled = np.array(heights)
    filled[hole] = np.atleast_1d(spsolve(coo_array(entries, shape=(count, count)).tocsc(), rhs))
    return filled


def largest(hole: NDArray[np.bool_]) -> int:
    """Points of the largest connected hole."""
    labels, count = label(hole)
    return int(np.bincount(labels.ravel())[1:].max()) if count else 0
