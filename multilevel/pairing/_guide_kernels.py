"""Numba kernels of guides: the curve through the nodes of a rod and its pairing with rings.

All vectors have three components; plane problems are in z = 0.
"""

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit

MAX_ITERATIONS = 30  # of Newton's method; three suffice where the nodes are almost evenly spaced along the axis
ROUND_OFF = 4e-16  # change of ξ below which Newton's method has converged
CENTRED = 1e-9  # offset from the centre, in clearances, below which its direction is round-off


@called_njit()
def blend(table, size, xi, value, slope):
    """N_m and dN_m/ds (w,) at ξ of a cell of that size, N_m as powers of ξ in the table (4, w)."""
    for m in range(value.size):
        value[m] = ((table[3, m] * xi + table[2, m]) * xi + table[1, m]) * xi + table[0, m]
        slope[m] = ((3.0 * table[3, m] * xi + 2.0 * table[2, m]) * xi + table[1, m]) / size


@njit(cache=True)
def blends(tables, sizes, cell, xi, values, slopes):
    """`blend` at ξ (k,) of the cells (k,): values and slopes (k, w)."""
    for k in range(cell.size):
        blend(tables[cell[k]], sizes[cell[k]], xi[k], values[k], slopes[k])


@called_njit()
def crossing(table, along, goal):
    """ξ at which Σ N_m along_m takes the goal, along (w,) and goal counted from the cell's first node."""
    c = np.zeros(4)
    for p in range(4):
        for m in range(along.size):
            c[p] += table[p, m] * along[m]
    xi = min(max(goal / (c[0] + c[1] + c[2] + c[3]), 0.0), 1.0)
    for _ in range(MAX_ITERATIONS):
        value = ((c[3] * xi + c[2]) * xi + c[1]) * xi + c[0] - goal
        before = xi
        xi = min(max(xi - value / ((3.0 * c[3] * xi + 2.0 * c[2]) * xi + c[1]), 0.0), 1.0)
        if abs(xi - before) <= ROUND_OFF:
            break
    return xi


@called_njit()
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def pair_rings(nodes, along, curve, rings, kinematics):
    """Pair the k rings of `GuidePairing` with the curve through the nodes (n, 3) of the rod.

    along (n,), ascending: coordinates of the nodes along the axis times the sense (±1). curve: stencils, tables and
    knots of its cells, sense. rings: axis, a vector across it, centres, heights along the axis (k,), clearance (k,),
    nose (length, 0 for none, and depth). kinematics receives gap (k,), position (k, 3), frame (k, 3, 3), values (k, w)
    and cell (k,); for rings that the rod does not reach the gap is unchanged and the cell is −1.
    """
    stencils, tables, knots, sense = curve
    axis, across, centres, heights, clearance, nose = rings
    gap, position, frame, values, cell = kinematics
    width = stencils.shape[1]
    slope, near = np.empty(width), np.empty(width)
    x, tangent, out = np.empty(3), np.empty(3), np.empty(3)
    for k in range(heights.size):
        cell[k] = -1
        if heights[k] < along[0] or heights[k] > along[-1]:
            continue
        c = min(np.searchsorted(along, heights[k], side="right") - 1, along.size - 2)
        cell[k] = c
        for m in range(width):
            near[m] = along[stencils[c, m]] - along[c]
        xi = crossing(tables[c], near, heights[k] - along[c])
        size = knots[c + 1] - knots[c]
        blend(tables[c], size, xi, values[k], slope)
        for i in range(3):
            x[i] = tangent[i] = 0.0
            for m in range(width):
                x[i] += values[k, m] * nodes[stencils[c, m], i]
                tangent[i] += slope[m] * nodes[stencils[c, m], i]
            out[i] = x[i] - centres[k, i]
            position[k, i] = x[i]
        lift = dot(out, axis)
        out -= lift * axis
        radius = np.sqrt(dot(out, out))
        if radius <= CENTRED * clearance[k]:
            out[:] = across
        else:
            out /= radius

        distance, slope_of_nose = clearance[k] - radius, 0.0
        if nose[0] > 0.0:
            front = knots[-1] if sense > 0.0 else knots[0]
            share = max(1.0 - sense * (front - knots[c] - xi * size) / nose[0], 0.0)
            distance += nose[1] * share**2
            slope_of_nose = sense * 2.0 * nose[1] / nose[0] * share
        normal = frame[k, 0]
        normal[:] = (dot(out, tangent) - slope_of_nose) / dot(tangent, axis) * axis - out
        length = np.sqrt(dot(normal, normal))
        normal /= length
        gap[k] = distance / length
        tangent -= dot(normal, tangent) * normal
        frame[k, 1] = tangent / np.sqrt(dot(tangent, tangent))
        frame[k, 2, 0] = normal[1] * frame[k, 1, 2] - normal[2] * frame[k, 1, 1]
        frame[k, 2, 1] = normal[2] * frame[k, 1, 0] - normal[0] * frame[k, 1, 2]
        frame[k, 2, 2] = normal[0] * frame[k, 1, 1] - normal[1] * frame[k, 1, 0]


@njit(cache=True)
def fill_rows(frame, values, stencils, cell, axes, indices, data):
    """Rows of the paired points in their order: the vectors of the frame on the nodes times the values."""
    at = 0
    for k in range(cell.size):
        if cell[k] < 0:
            continue
        for r in range(axes):
            for m in range(values.shape[1]):
                for i in range(axes):
                    indices[at] = axes * stencils[cell[k], m] + i
                    data[at] = values[k, m] * frame[k, r, i]
                    at += 1
