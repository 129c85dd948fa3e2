"""Products of μM + aK of hexahedra with a vector, a tile of cells at a time; see `tiles` and `_tile_kernels`.

The stiffness is that of the internal forces, with Lamé constants aλ and aμ. To it is added the consistent mass,

    ∫ μρ φ_m φ_n u_n dx = Σ_q w_q φ_m(q) u(q),    w_q: weighted mass of the Gauss point q,

by interpolation to the Gauss points and its transpose, direction by direction. Tiles of equal cells take the product
with the matrix of one cell instead, which is quicker.
"""

import numpy as np

from arlequin.models.fem._tile_kernels import (
    _ROWS,
    _SIDE,
    FAST,
    TILE,
    _distorted_hexahedron,
    _gather,
    _hexahedron,
    _scatter,
)
from arlequin.models.kernel_cache import njit

# rows of `s` beyond those of `_tile_kernels`: 24 for the forces of a tile
_FORCES = _ROWS


@njit(forceinline=True, fastmath=FAST)
def _at_gauss(e00, e01, e10, e11):
    """Bilinear interpolation from the corners of the unit square to its 2 × 2 Gauss points; it is symmetric."""
    m0, d0 = 0.5 * (e00 + e10), 0.5 * _SIDE * (e10 - e00)
    m1, d1 = 0.5 * (e01 + e11), 0.5 * _SIDE * (e11 - e01)
    low0, low1, high0, high1 = m0 - d0, m1 - d1, m0 + d0, m1 + d1
    low, low_half = 0.5 * (low0 + low1), 0.5 * _SIDE * (low1 - low0)
    high, high_half = 0.5 * (high0 + high1), 0.5 * _SIDE * (high1 - high0)
    return low - low_half, low + low_half, high - high_half, high + high_half


@njit(forceinline=True, fastmath=FAST)
def _between(a, b):
    """Interpolation from the ends of the unit interval to its two Gauss points; it is symmetric."""
    mean, half = 0.5 * (a + b), 0.5 * _SIDE * (b - a)
    return mean - half, mean + half


@njit(forceinline=True, fastmath=FAST)
def _inertia(w, i, s):
    """Mass times component i of the displacements of the nodes, to the forces."""
    n, f = 8 * i, _FORCES + 8 * i
    for k in range(TILE):
        a0, a1, a2, a3 = _at_gauss(s[n, k], s[n + 1, k], s[n + 2, k], s[n + 3, k])
        b0, b1, b2, b3 = _at_gauss(s[n + 4, k], s[n + 5, k], s[n + 6, k], s[n + 7, k])
        (c0, d0), (c1, d1), (c2, d2), (c3, d3) = _between(a0, b0), _between(a1, b1), _between(a2, b2), _between(a3, b3)
        c0, c1, c2, c3 = _at_gauss(c0 * w[0, k], c1 * w[1, k], c2 * w[2, k], c3 * w[3, k])
        d0, d1, d2, d3 = _at_gauss(d0 * w[4, k], d1 * w[5, k], d2 * w[6, k], d3 * w[7, k])
        s[f, k], s[f + 4, k] = _between(c0, d0)
        s[f + 1, k], s[f + 5, k] = _between(c1, d1)
        s[f + 2, k], s[f + 6, k] = _between(c2, d2)
        s[f + 3, k], s[f + 7, k] = _between(c3, d3)


@njit(forceinline=True, fastmath=FAST)
def _add_columns(m, c, s):
    """Adds the columns c … c + 11 of a cell's matrix m (24, 24) times these displacements: what is in registers."""
    for i in range(24):
        m0, m1, m2, m3 = m[i, c], m[i, c + 1], m[i, c + 2], m[i, c + 3]
        m4, m5, m6, m7 = m[i, c + 4], m[i, c + 5], m[i, c + 6], m[i, c + 7]
        m8, m9, m10, m11 = m[i, c + 8], m[i, c + 9], m[i, c + 10], m[i, c + 11]
        for k in range(TILE):
            s[_FORCES + i, k] += (
                m0 * s[c, k] + m1 * s[c + 1, k] + m2 * s[c + 2, k] + m3 * s[c + 3, k]
                + m4 * s[c + 4, k] + m5 * s[c + 5, k] + m6 * s[c + 6, k] + m7 * s[c + 7, k]
                + m8 * s[c + 8, k] + m9 * s[c + 9, k] + m10 * s[c + 10, k] + m11 * s[c + 11, k]
            )  # fmt: skip


@njit(forceinline=True, fastmath=FAST)
def _by_matrix(m, s):
    """Forces of the nodes of a tile of equal cells with the matrix m (24, 24)."""
    for row in range(24):
        for k in range(TILE):
            s[_FORCES + row, k] = 0.0
    _add_columns(m, 0, s)
    _add_columns(m, 12, s)


@njit(forceinline=True, fastmath=FAST)
def _by_points(cells, j, w, masses, lam, mu, s):
    """Forces of the nodes of a tile by its Gauss points."""
    _inertia(masses, 0, s)
    _inertia(masses, 1, s)
    _inertia(masses, 2, s)
    cells(j, w, lam, mu, s)
    for row in range(24):
        for k in range(TILE):
            s[_FORCES + row, k] += s[row, k]


@njit(inline="always")
def _products(cells, tiles, nodes, matrices, equal, geometry, measure, lam, mu, begin, end, u, out):
    """The body of both kernels; cells: as for `_tile_kernels._over_tiles`."""
    blocks, shape = geometry
    weights, masses, place = measure
    s = np.empty((_FORCES + 24, TILE))
    for d in range(3 * begin, 3 * end):
        out[d] = 0.0
    for tile in tiles:
        measure_block = place[tile]
        _gather(nodes[tile], 8, 3, u, s)
        if equal[tile] < 0:
            _by_points(cells, blocks[shape[tile]], weights[measure_block], masses[measure_block], lam, mu, s)
        else:
            _by_matrix(matrices[equal[tile]], s)
        _scatter(nodes[tile], 8, 3, begin, end, s[_FORCES:], out)


@njit(cache=True, fastmath=FAST, nogil=True)
def product_hexahedra(tiles, nodes, matrices, equal, geometry, measure, lam, mu, begin, end, u, out):
    """Writes (μM + aK) u on the nodes begin … end − 1 to out (d,).

    matrices (e, 24, 24): μM + aK of a cell, component by component; equal (tiles,): that of all cells of a tile, −1
    where they differ. geometry: blocks (b, points, axes², TILE) of ∂ξ_k/∂x_j, and that of each tile (tiles,); measure:
    weighted measures, m³, and masses, kg, of the points (w, 8, TILE), and those of each tile (tiles,); the other
    arguments are those of `_tile_kernels`.
    """
    _products(_hexahedron, tiles, nodes, matrices, equal, geometry, measure, lam, mu, begin, end, u, out)


@njit(cache=True, fastmath=FAST, nogil=True)
def product_distorted_hexahedra(tiles, nodes, matrices, equal, geometry, measure, lam, mu, begin, end, u, out):
    """As `product_hexahedra`, with the modes of the positions in the place of ∂ξ_k/∂x_j."""
    _products(_distorted_hexahedron, tiles, nodes, matrices, equal, geometry, measure, lam, mu, begin, end, u, out)
