"""Numba kernels of facets: shape functions of every kind, tangents of normals.

Parent coordinates are two numbers (the second one unused on lines).
"""

import math

import numpy as np
from numba import boolean, float64, int64, types

from arlequin.models.fem.spectral import LARGEST_ORDER, facet_places, lobatto_rule
from arlequin.models.kernel_cache import njit

CONSTANT, LINE2, LINE3, TRI3, TRI6, QUAD4, QUAD9 = range(7)
LOBATTO_LINE, LOBATTO_QUAD = 10, 20  # plus the order, 3 to 6
MAX_NODES = (LARGEST_ORDER + 1) ** 2  # of a facet
COVERED = 1e-6  # a point with less of its ∫ψ covered has no partner

Vector, Matrix, Cube = float64[::1], float64[:, ::1], float64[:, :, ::1]

# of each order the Lobatto points of [−1, 1], and the places of the nodes of a facet along its two axes
LOBATTO = np.zeros((LARGEST_ORDER + 1, LARGEST_ORDER + 1))
LINE_PLACES = np.zeros((LARGEST_ORDER + 1, LARGEST_ORDER + 1), dtype=np.int64)
QUAD_PLACES = np.zeros((LARGEST_ORDER + 1, MAX_NODES, 2), dtype=np.int64)
for _order in range(3, LARGEST_ORDER + 1):
    LOBATTO[_order, : _order + 1] = lobatto_rule(_order)[0]
    LINE_PLACES[_order, : _order + 1] = facet_places(2, _order)[:, 0]
    QUAD_PLACES[_order, : (_order + 1) ** 2] = facet_places(3, _order)


@njit(types.void(int64, float64, Vector, Vector), cache=True)
def lobatto(order, x, value, slope):
    """Polynomials (p + 1,) through the Lobatto points and their derivatives at x."""
    for n in range(order + 1):
        value[n], slope[n] = 1.0, 0.0
        for other in range(order + 1):
            if other != n:
                length = LOBATTO[order, n] - LOBATTO[order, other]
                factor = (x - LOBATTO[order, other]) / length
                slope[n] = slope[n] * factor + value[n] / length
                value[n] *= factor


@njit(boolean(int64), cache=True)
def is_line(kind):
    """Whether a facet is a curve."""
    return kind in (LINE2, LINE3) or LOBATTO_LINE < kind < LOBATTO_QUAD


@njit(types.void(int64, float64, float64, Vector, Matrix), cache=True)
def lobatto_shapes(kind, x, y, value, slope):
    """`shapes` of the facets of spectral elements."""
    order = kind - (LOBATTO_LINE if is_line(kind) else LOBATTO_QUAD)
    f, df = np.empty(order + 1), np.empty(order + 1)
    lobatto(order, x, f, df)
    if is_line(kind):
        for n in range(order + 1):
            i = LINE_PLACES[order, n]
            value[n], slope[n, 0] = f[i], df[i]
        return
    g, dg = np.empty(order + 1), np.empty(order + 1)
    lobatto(order, y, g, dg)
    for n in range((order + 1) ** 2):
        i, j = QUAD_PLACES[order, n, 0], QUAD_PLACES[order, n, 1]
        value[n], slope[n, 0], slope[n, 1] = f[i] * g[j], df[i] * g[j], f[i] * dg[j]


@njit(types.void(int64, float64, float64, Vector, Matrix), cache=True)
def shapes(kind, x, y, value, slope):
    """φ_j and ∂φ_j/∂(x, y) at parent coordinates; lines and quadrilaterals on [−1, 1], the unit triangle."""
    if kind > LOBATTO_LINE:
        lobatto_shapes(kind, x, y, value, slope)
    elif kind == CONSTANT:
        value[0], slope[0, 0], slope[0, 1] = 1.0, 0.0, 0.0
    elif kind == LINE2:
        value[0], slope[0, 0] = 0.5 * (1.0 - x), -0.5
        value[1], slope[1, 0] = 0.5 * (1.0 + x), 0.5
    elif kind == LINE3:
        value[0], slope[0, 0] = 0.5 * x * (x - 1.0), x - 0.5
        value[1], slope[1, 0] = 0.5 * x * (x + 1.0), x + 0.5
        value[2], slope[2, 0] = 1.0 - x * x, -2.0 * x
    elif kind == TRI3:
        value[0], slope[0, 0], slope[0, 1] = 1.0 - x - y, -1.0, -1.0
        value[1], slope[1, 0], slope[1, 1] = x, 1.0, 0.0
        value[2], slope[2, 0], slope[2, 1] = y, 0.0, 1.0
    elif kind == TRI6:
        z = 1.0 - x - y
        value[0], slope[0, 0], slope[0, 1] = z * (2.0 * z - 1.0), 1.0 - 4.0 * z, 1.0 - 4.0 * z
        value[1], slope[1, 0], slope[1, 1] = x * (2.0 * x - 1.0), 4.0 * x - 1.0, 0.0
        value[2], slope[2, 0], slope[2, 1] = y * (2.0 * y - 1.0), 0.0, 4.0 * y - 1.0
        value[3], slope[3, 0], slope[3, 1] = 4.0 * z * x, 4.0 * (z - x), -4.0 * x
        value[4], slope[4, 0], slope[4, 1] = 4.0 * x * y, 4.0 * y, 4.0 * x
        value[5], slope[5, 0], slope[5, 1] = 4.0 * y * z, -4.0 * y, 4.0 * (z - y)
    elif kind == QUAD4:
        x_low, x_high, y_low, y_high = 0.5 * (1.0 - x), 0.5 * (1.0 + x), 0.5 * (1.0 - y), 0.5 * (1.0 + y)
        value[0], slope[0, 0], slope[0, 1] = x_low * y_low, -0.5 * y_low, -0.5 * x_low
        value[1], slope[1, 0], slope[1, 1] = x_high * y_low, 0.5 * y_low, -0.5 * x_high
        value[2], slope[2, 0], slope[2, 1] = x_high * y_high, 0.5 * y_high, 0.5 * x_high
        value[3], slope[3, 0], slope[3, 1] = x_low * y_high, -0.5 * y_high, 0.5 * x_low
    else:
        x_low, x_high, x_mid = 0.5 * x * (x - 1.0), 0.5 * x * (x + 1.0), 1.0 - x * x
        y_low, y_high, y_mid = 0.5 * y * (y - 1.0), 0.5 * y * (y + 1.0), 1.0 - y * y
        dx_low, dx_high, dx_mid = x - 0.5, x + 0.5, -2.0 * x
        dy_low, dy_high, dy_mid = y - 0.5, y + 0.5, -2.0 * y
        value[0], slope[0, 0], slope[0, 1] = x_low * y_low, dx_low * y_low, x_low * dy_low
        value[1], slope[1, 0], slope[1, 1] = x_high * y_low, dx_high * y_low, x_high * dy_low
        value[2], slope[2, 0], slope[2, 1] = x_high * y_high, dx_high * y_high, x_high * dy_high
        value[3], slope[3, 0], slope[3, 1] = x_low * y_high, dx_low * y_high, x_low * dy_high
        value[4], slope[4, 0], slope[4, 1] = x_mid * y_low, dx_mid * y_low, x_mid * dy_low
        value[5], slope[5, 0], slope[5, 1] = x_high * y_mid, dx_high * y_mid, x_high * dy_mid
        value[6], slope[6, 0], slope[6, 1] = x_mid * y_high, dx_mid * y_high, x_mid * dy_high
        value[7], slope[7, 0], slope[7, 1] = x_low * y_mid, dx_low * y_mid, x_low * dy_mid
        value[8], slope[8, 0], slope[8, 1] = x_mid * y_mid, dx_mid * y_mid, x_mid * dy_mid


@njit(types.UniTuple(Cube, 2)(int64, int64, Matrix), cache=True)
def tabulate(kind, count, points):
    """Shape functions (q, j, 1) and slopes (q, j, 2) at parent points (q, 2)."""
    value = np.zeros((points.shape[0], count, 1))
    slope = np.zeros((points.shape[0], count, 2))
    line = np.zeros(count)
    for q in range(points.shape[0]):
        shapes(kind, points[q, 0], points[q, 1], line, slope[q])
        value[q, :, 0] = line
    return value, slope


@njit(types.void(Vector, Vector, Vector), cache=True)
def cross_product(a, b, out):
    """out = a × b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@njit(types.void(Matrix, int64, Cube), cache=True)
def make_tangents(normal, axes, tangent):
    """Orthonormal tangents (k, a − 1, a) of unit normals (k, a).

    2D: e_z × n. 3D: the axis least along n (the first of those within 0.1 of it: round-off does not turn the frame
    of a normal along an axis) made orthogonal to n, and n × that.
    """
    for k in range(normal.shape[0]):
        if axes == 2:
            tangent[k, 0, 0], tangent[k, 0, 1] = -normal[k, 1], normal[k, 0]
            continue
        least = min(abs(normal[k, 0]), abs(normal[k, 1]), abs(normal[k, 2])) + 0.1
        axis = 0
        while abs(normal[k, axis]) > least:
            axis += 1
        first, second = tangent[k, 0], tangent[k, 1]
        length = math.sqrt(1.0 - normal[k, axis] ** 2)
        for i in range(3):
            first[i] = ((1.0 if i == axis else 0.0) - normal[k, axis] * normal[k, i]) / length
        cross_product(normal[k], first, second)
