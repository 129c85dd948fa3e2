"""Internal forces of linear triangles, tetrahedra and hexahedra, a tile of cells at a time; see `tiles`.

A kernel reads the displacements of a tile's nodes into the rows of `s`, one column per cell, computes forces and
energies there in loops over the columns, which vectorise, and adds the forces to those nodes that it owns. The
displacements enter as differences between the nodes of a cell: a translation gives exactly zero.

Arguments of the kernels: tiles (t,), the numbers of those with cells at the nodes `first` … `last` − 1; nodes (c, n);
j (tiles, points, axes², TILE): ∂ξ_k/∂x_j; w (tiles, points, TILE): weighted measure; both with one tile instead, if it
holds for all, and j with one point, if it holds for all; the Lamé constants; u (d,). They write the internal forces on
the nodes that they own to force (d,), and return the energy of the cells whose first node is one of these.
"""

import numpy as np

from arlequin.models.kernel_cache import njit

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}

TILE = 32  # cells of a tile, whose intermediate results fit in the L1 cache

# rows of `s` for hexahedra: reference gradients at the Gauss points, what is conjugate to them (each 12 a component:
# 4 for each of the directions ξ, η, ζ), displacements or forces of the nodes (8 a component), energy
_GRADIENT, _STRESS, _NODAL, _ENERGY = 0, 36, 72, 96
_GAUSS = 0.5 / np.sqrt(3.0)  # distance of a Gauss point from the middle of the unit interval


@njit(inline="always")
def _gather(nodes, begin, end, corners, axes, at, u, s):
    """Displacements of the cells begin … end − 1: component i of node n to row at + i corners + n; 0 up to TILE."""
    for k in range(end - begin):
        for n in range(corners):
            d = axes * nodes[begin + k, n]
            for i in range(axes):
                s[at + i * corners + n, k] = u[d + i]
    for k in range(end - begin, TILE):
        for row in range(at, at + axes * corners):
            s[row, k] = 0.0


@njit(inline="always")
def _scatter(nodes, begin, end, corners, axes, at, first, last, s, force):
    """Adds the forces, in rows like those of `_gather`, on the nodes first … last − 1."""
    for k in range(end - begin):
        for n in range(corners):
            node = nodes[begin + k, n]
            if first <= node < last:
                for i in range(axes):
                    force[axes * node + i] += s[at + i * corners + n, k]


@njit(inline="always")
def _energy(nodes, begin, end, first, last, energies):
    """Energy of those cells whose first node is one of first … last − 1."""
    energy = 0.0
    for k in range(end - begin):
        if first <= nodes[begin + k, 0] < last:
            energy += energies[k]
    return energy


@njit(inline="always")
def _over_tiles(shape, cells, tiles, nodes, j, w, lam, mu, first, last, u, force):
    """What a kernel does; shape: corners and axes of a cell, the row of the first displacement and that of the energy.

    cells(j, w, lam, mu, s): from the displacements of a tile, the forces in their place and the energies.
    """
    corners, axes, at, stored = shape
    s = np.empty((stored + 1, TILE))
    step, weight_step = min(1, len(j) - 1), min(1, len(w) - 1)
    energy = 0.0
    for d in range(axes * first, axes * last):
        force[d] = 0.0
    for tile in tiles:
        begin, end = tile * TILE, min((tile + 1) * TILE, len(nodes))
        _gather(nodes, begin, end, corners, axes, at, u, s)
        cells(j[step * tile], w[weight_step * tile], lam, mu, s)
        _scatter(nodes, begin, end, corners, axes, at, first, last, s, force)
        energy += _energy(nodes, begin, end, first, last, s[stored])
    return energy


@njit(inline="always")
def _triangle(points, weights, lam, mu, s):
    """Forces of the nodes from their displacements, rows 0 to 5 of s, and energies, row 6."""
    j, w = points[0], weights[0]
    for k in range(TILE):
        j00, j01, j10, j11, weight = j[0, k], j[1, k], j[2, k], j[3, k], w[k]
        x0, x1 = s[1, k] - s[0, k], s[2, k] - s[0, k]
        y0, y1 = s[4, k] - s[3, k], s[5, k] - s[3, k]
        xx, yy = x0 * j00 + x1 * j10, y0 * j01 + y1 * j11
        xy = x0 * j01 + x1 * j11 + y0 * j00 + y1 * j10
        pressure, shear = lam * (xx + yy) * weight, mu * weight
        sxx, syy, sxy = pressure + 2.0 * shear * xx, pressure + 2.0 * shear * yy, shear * xy
        fx0, fx1 = sxx * j00 + sxy * j01, sxx * j10 + sxy * j11
        fy0, fy1 = sxy * j00 + syy * j01, sxy * j10 + syy * j11
        s[0, k], s[1, k], s[2, k] = -(fx0 + fx1), fx0, fx1
        s[3, k], s[4, k], s[5, k] = -(fy0 + fy1), fy0, fy1
        s[6, k] = 0.5 * (sxx * xx + syy * yy + sxy * xy)


@njit(cache=True, fastmath=FAST, nogil=True)
def internal_triangles(tiles, nodes, j, w, lam, mu, first, last, u, force):
    """Plane strain, or plane stress with λ*."""
    return _over_tiles((3, 2, 0, 6), _triangle, tiles, nodes, j, w, lam, mu, first, last, u, force)


@njit(inline="always")
def _stress(j, w, k, lam, mu, x0, x1, x2, y0, y1, y2, z0, z1, z2):
    """Of a point of cell k: ∂W/∂(∂u_i/∂ξ_k) in the order of the arguments ∂u_i/∂ξ_k, and its energy."""
    j00, j01, j02 = j[0, k], j[1, k], j[2, k]
    j10, j11, j12 = j[3, k], j[4, k], j[5, k]
    j20, j21, j22 = j[6, k], j[7, k], j[8, k]
    weight = w[k]
    xx = x0 * j00 + x1 * j10 + x2 * j20
    yy = y0 * j01 + y1 * j11 + y2 * j21
    zz = z0 * j02 + z1 * j12 + z2 * j22
    yz = y0 * j02 + y1 * j12 + y2 * j22 + (z0 * j01 + z1 * j11 + z2 * j21)
    xz = x0 * j02 + x1 * j12 + x2 * j22 + (z0 * j00 + z1 * j10 + z2 * j20)
    xy = x0 * j01 + x1 * j11 + x2 * j21 + (y0 * j00 + y1 * j10 + y2 * j20)
    pressure, shear = lam * (xx + yy + zz) * weight, mu * weight
    sxx, syy, szz = pressure + 2.0 * shear * xx, pressure + 2.0 * shear * yy, pressure + 2.0 * shear * zz
    syz, sxz, sxy = shear * yz, shear * xz, shear * xy
    energy = 0.5 * (sxx * xx + syy * yy + szz * zz + syz * yz + sxz * xz + sxy * xy)
    return (
        sxx * j00 + sxy * j01 + sxz * j02, sxx * j10 + sxy * j11 + sxz * j12, sxx * j20 + sxy * j21 + sxz * j22,
        sxy * j00 + syy * j01 + syz * j02, sxy * j10 + syy * j11 + syz * j12, sxy * j20 + syy * j21 + syz * j22,
        sxz * j00 + syz * j01 + szz * j02, sxz * j10 + syz * j11 + szz * j12, sxz * j20 + syz * j21 + szz * j22,
        energy,
    )  # fmt: skip


@njit(inline="always")
def _tetrahedron(points, weights, lam, mu, s):
    """Forces of the nodes from their displacements, rows 0 to 11 of s, and energies, row 12."""
    j, w = points[0], weights[0]
    for k in range(TILE):
        x, y, z = s[0, k], s[4, k], s[8, k]
        x0, x1, x2, y0, y1, y2, z0, z1, z2, energy = _stress(
            j, w, k, lam, mu, s[1, k] - x, s[2, k] - x, s[3, k] - x, s[5, k] - y, s[6, k] - y, s[7, k] - y,
            s[9, k] - z, s[10, k] - z, s[11, k] - z,
        )  # fmt: skip
        s[0, k], s[1, k], s[2, k], s[3, k] = -(x0 + x1 + x2), x0, x1, x2
        s[4, k], s[5, k], s[6, k], s[7, k] = -(y0 + y1 + y2), y0, y1, y2
        s[8, k], s[9, k], s[10, k], s[11, k] = -(z0 + z1 + z2), z0, z1, z2
        s[12, k] = energy


@njit(cache=True, fastmath=FAST, nogil=True)
def internal_tetrahedra(tiles, nodes, j, w, lam, mu, first, last, u, force):
    """Three dimensions."""
    return _over_tiles((4, 3, 0, 12), _tetrahedron, tiles, nodes, j, w, lam, mu, first, last, u, force)


@njit(inline="always")
def _at_gauss(e00, e01, e10, e11):
    """Bilinear interpolation from the corners of the unit square to its 2 × 2 Gauss points; it is symmetric."""
    m0, d0 = 0.5 * (e00 + e10), _GAUSS * (e10 - e00)
    m1, d1 = 0.5 * (e01 + e11), _GAUSS * (e11 - e01)
    low0, low1, high0, high1 = m0 - d0, m1 - d1, m0 + d0, m1 + d1
    low, low_half = 0.5 * (low0 + low1), _GAUSS * (low1 - low0)
    high, high_half = 0.5 * (high0 + high1), _GAUSS * (high1 - high0)
    return low - low_half, low + low_half, high - high_half, high + high_half


@njit(inline="always")
def _gradients(s, i):
    """∂u_i/∂ξ at the Gauss points (η, ζ), ∂u_i/∂η at (ξ, ζ), ∂u_i/∂ζ at (ξ, η), from the nodes (ξ, η, ζ)."""
    n, g = _NODAL + 8 * i, _GRADIENT + 12 * i
    for k in range(TILE):
        p0, p1, p2, p3 = s[n, k], s[n + 1, k], s[n + 2, k], s[n + 3, k]
        p4, p5, p6, p7 = s[n + 4, k], s[n + 5, k], s[n + 6, k], s[n + 7, k]
        s[g, k], s[g + 1, k], s[g + 2, k], s[g + 3, k] = _at_gauss(p4 - p0, p5 - p1, p6 - p2, p7 - p3)
        s[g + 4, k], s[g + 5, k], s[g + 6, k], s[g + 7, k] = _at_gauss(p2 - p0, p3 - p1, p6 - p4, p7 - p5)
        s[g + 8, k], s[g + 9, k], s[g + 10, k], s[g + 11, k] = _at_gauss(p1 - p0, p3 - p2, p5 - p4, p7 - p6)


@njit(inline="always")
def _forces(s, i):
    """Component i of the nodes' forces, by the transpose of `_gradients`."""
    n, g = _NODAL + 8 * i, _STRESS + 12 * i
    for k in range(TILE):
        x0, x1, x2, x3 = _at_gauss(s[g, k], s[g + 1, k], s[g + 2, k], s[g + 3, k])
        y0, y1, y2, y3 = _at_gauss(s[g + 4, k], s[g + 5, k], s[g + 6, k], s[g + 7, k])
        z0, z1, z2, z3 = _at_gauss(s[g + 8, k], s[g + 9, k], s[g + 10, k], s[g + 11, k])
        s[n, k], s[n + 1, k] = -x0 - y0 - z0, z0 - x1 - y1
        s[n + 2, k], s[n + 3, k] = y0 - x2 - z1, y1 + z1 - x3
        s[n + 4, k], s[n + 5, k] = x0 - y2 - z2, x1 + z2 - y3
        s[n + 6, k], s[n + 7, k] = x2 + y2 - z3, x3 + y3 + z3


@njit(inline="always")
def _point(s, j, w, lam, mu, p, q, r):
    """Adds what one Gauss point gives; p, q, r: its numbers in (η, ζ), (ξ, ζ) and (ξ, η)."""
    for k in range(TILE):
        x0, x1, x2, y0, y1, y2, z0, z1, z2, energy = _stress(
            j, w, k, lam, mu, s[p, k], s[4 + q, k], s[8 + r, k], s[12 + p, k], s[16 + q, k], s[20 + r, k],
            s[24 + p, k], s[28 + q, k], s[32 + r, k],
        )  # fmt: skip
        s[_STRESS + p, k] += x0
        s[_STRESS + 4 + q, k] += x1
        s[_STRESS + 8 + r, k] += x2
        s[_STRESS + 12 + p, k] += y0
        s[_STRESS + 16 + q, k] += y1
        s[_STRESS + 20 + r, k] += y2
        s[_STRESS + 24 + p, k] += z0
        s[_STRESS + 28 + q, k] += z1
        s[_STRESS + 32 + r, k] += z2
        s[_ENERGY, k] += energy


@njit(inline="always")
def _hexahedron(j, w, lam, mu, s):
    """Forces of the nodes from their displacements and energies of a tile.

    The points are written out one by one: with rows known to the compiler the loops vectorise.
    """
    step = min(1, len(j) - 1)
    _gradients(s, 0)
    _gradients(s, 1)
    _gradients(s, 2)
    for row in range(_STRESS, _NODAL):
        for k in range(TILE):
            s[row, k] = 0.0
    for k in range(TILE):
        s[_ENERGY, k] = 0.0
    _point(s, j[0], w[0], lam, mu, 0, 0, 0)
    _point(s, j[step], w[1], lam, mu, 1, 1, 0)
    _point(s, j[2 * step], w[2], lam, mu, 2, 0, 1)
    _point(s, j[3 * step], w[3], lam, mu, 3, 1, 1)
    _point(s, j[4 * step], w[4], lam, mu, 0, 2, 2)
    _point(s, j[5 * step], w[5], lam, mu, 1, 3, 2)
    _point(s, j[6 * step], w[6], lam, mu, 2, 2, 3)
    _point(s, j[7 * step], w[7], lam, mu, 3, 3, 3)
    _forces(s, 0)
    _forces(s, 1)
    _forces(s, 2)


@njit(cache=True, fastmath=FAST, nogil=True)
def internal_hexahedra(tiles, nodes, j, w, lam, mu, first, last, u, force):
    """2 × 2 × 2 Gauss points; nodes and points in lexicographic order of their (ξ, η, ζ)."""
    return _over_tiles((8, 3, _NODAL, _ENERGY), _hexahedron, tiles, nodes, j, w, lam, mu, first, last, u, force)
