"""Numba kernels of a tabulated regular law; equations in
`arlequin.multilevel.laws.asperity_table.AsperityTable`."""

import numpy as np
from numba import float64, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.laws._search_kernels import knots_passed
from arlequin.multilevel.laws.signature import REGULAR

# Gauss's points on [0, 1] and their weights: exp of a cubic that changes by 0.7 is integrated to round-off
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
NODES, WEIGHTS = 0.5 * (NODES + 1.0), 0.5 * WEIGHTS


@njit(int64(float64[::1], int64, float64), cache=True)
def _piece(table, n, gap):
    """Index of the piece at a gap: 0 below the first knot, 1 … n − 1 between two, n beyond the last, n + 1 past a."""
    if gap >= table[1]:
        return n + 1
    return knots_passed(table, 4, n, gap)


@njit(types.UniTuple(float64, 2)(float64[::1], int64, int64, float64), cache=True)
def _pressure(table, n, piece, gap):
    """p and dp/dg at a gap on a piece."""
    g, s, d = table[4 : 4 + n], table[4 + n : 4 + 2 * n], table[4 + 2 * n : 4 + 3 * n]
    if piece > n:
        return 0.0, 0.0
    if piece == n:  # a parabola that ends at a, where it touches the axis
        share = 1.0 + 0.5 * d[n - 1] * (gap - g[n - 1])
        p = table[3] * np.exp(s[n - 1])
        return p * share * share, p * d[n - 1] * share
    if piece == 0:  # its tangent
        p = table[3] * np.exp(s[0])
        return p * (1.0 + d[0] * (gap - g[0])), p * d[0]
    k = piece - 1
    h = g[k + 1] - g[k]
    x, rise = (gap - g[k]) / h, (s[k + 1] - s[k]) / h
    # Hermite's cubic in Newton's form
    second, third = rise - d[k], d[k] + d[k + 1] - 2.0 * rise
    value = s[k] + h * x * (d[k] + x * (second + (x - 1.0) * third))
    slope = d[k] + 2.0 * x * second + (3.0 * x - 2.0) * x * third
    p = table[3] * np.exp(value)
    return p, p * slope


@njit(types.UniTuple(float64, 2)(float64[::1], int64, float64, float64), cache=True)
def _mean(table, n, start, end):
    """∫₀¹ p(g₀ + x Δg) dx and its derivative by the end, ∫₀¹ x p′(g₀ + x Δg) dx: to round-off however small Δg.

    nan where a gap is nan.
    """
    if np.isnan(start) or np.isnan(end):  # in no piece
        return np.nan, np.nan
    width = end - start
    first, last = _piece(table, n, start), _piece(table, n, end)
    mean, slope = 0.0, 0.0
    x, piece, direction = 0.0, first, 1 if end >= start else -1
    for _ in range(n + 2):  # pieces
        if piece == last:
            x_end = 1.0
        else:  # to the edge of the piece
            knot = piece if direction > 0 else piece - 1
            edge = table[1] if knot == n else table[4 + knot]
            x_end = min(max((edge - start) / width, x), 1.0)
        length = x_end - x
        if length > 0.0 and piece <= n:
            for i in range(NODES.size):
                at = x + length * NODES[i]
                p, dp = _pressure(table, n, piece, start + at * width)
                mean += length * WEIGHTS[i] * p
                slope += length * WEIGHTS[i] * at * dp
        if piece == last:
            return mean, slope
        x, piece = x_end, piece + direction
    return np.nan, np.nan


@njit(REGULAR, cache=True)
def table_law(coefficients, history, gap, step, theta, trial):
    """Tabulated layer with a loss factor; coefficients: n, a, η/ω, p₁, then of the knots g,
    ln p/p₁ and d ln p/dg (n,)."""
    n, start = int(coefficients[0]), history[0]
    trial[0] = gap
    mean, slope = _mean(coefficients, n, start, gap)
    before, _ = _pressure(coefficients, n, _piece(coefficients, n, start), start)
    after, after_slope = _pressure(coefficients, n, _piece(coefficients, n, gap), gap)
    if theta >= 0.5:  # discrete gradient at 1/2, end of the step at 1
        share, edge, edge_slope = 2.0 * theta - 1.0, after, after_slope
    else:  # beginning of the step at 0
        share, edge, edge_slope = 1.0 - 2.0 * theta, before, 0.0
    stored = (1.0 - share) * mean + share * edge
    stored_slope = (1.0 - share) * slope + share * edge_slope
    loss = coefficients[2]
    if loss == 0.0 or gap >= start:
        return stored, stored_slope, 0.0, 0.0
    return stored, stored_slope, loss * (after - before) / step, loss * after_slope / step
