"""Internal forces of linear triangles, tetrahedra and hexahedra, a tile of cells at a time; see `tiles`.

A kernel reads the displacements of a tile's nodes into the rows of `s`, one column per cell, computes forces and
energies there in loops over the columns, which vectorise, and adds the forces to those nodes that it owns. The
displacements enter as differences between the nodes of a cell: a translation gives exactly zero.

Arguments of the kernels: tiles (t,), the numbers of those with cells at the nodes `first` … `last` − 1; nodes (tiles,
n, TILE); j (tiles, points, rows, TILE): ∂ξ_k/∂x_j in axes² rows, or the modes of the positions in 21 rows; w (tiles,
points, TILE): weighted measure, of the reference cell where j are modes; both with one tile instead, if it holds for
all, and ∂ξ_k/∂x_j with one point, if it holds for all; the Lamé constants; u (d,). They write the internal forces on
the nodes that they own to force (d,), and return the energy of the cells whose first node is one of these.
"""

import numpy as np

from arlequin.models.fem._prefetch_kernels import LINE, prefetch
from arlequin.models.kernel_cache import njit

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}

TILE = 24  # cells of a tile: three vectors of 512 bits; `s` of hexahedra takes 21 kB of the L1 cache
_AHEAD = 2  # tiles between the one that is computed and the one whose entries of j are read ahead


@njit(inline="always")
def _gather(nodes, corners, axes, u, s):
    """Displacements of a tile: component i of node n to row i corners + n."""
    for n in range(corners):
        for i in range(axes):
            for k in range(TILE):
                s[i * corners + n, k] = u[axes * nodes[n, k] + i]


@njit(inline="always")
def _scatter(nodes, corners, axes, first, last, s, force):
    """Adds the forces, in rows like those of `_gather`, on the nodes first … last − 1."""
    for k in range(TILE):
        for n in range(corners):
            node = nodes[n, k]
            if first <= node < last:
                for i in range(axes):
                    force[axes * node + i] += s[i * corners + n, k]


@njit(inline="always")
def _energy(nodes, first, last, energies):
    """Energy of those cells whose first node is one of first … last − 1."""
    energy = 0.0
    for k in range(TILE):
        if first <= nodes[0, k] < last:
            energy += energies[k]
    return energy


@njit(inline="always")
def _over_tiles(shape, cell_kernel, tiles, nodes, j, w, lam, mu, first, last, u, force):
    """The loop of a kernel over its tiles; shape: corners and axes of a cell, and the number of rows of `s`.

    cells(j, w, lam, mu, s): from the displacements of a tile, the forces in their place and the energies in the row
    after these.
    """
    corners, axes, rows = shape
    s = np.empty((rows, TILE))
    geometry_stride, weight_stride = min(1, len(j) - 1), min(1, len(w) - 1)
    size = j.shape[1] * j.shape[2] * TILE
    energy = 0.0
    for d in range(axes * first, axes * last):
        force[d] = 0.0
    for tile in tiles:
        start = geometry_stride * (tile + _AHEAD) * size
        for line in range(start, start + size, LINE):
            prefetch(j, line)
        _gather(nodes[tile], corners, axes, u, s)
        cell_kernel(j[geometry_stride * tile], w[weight_stride * tile], lam, mu, s)
        _scatter(nodes[tile], corners, axes, first, last, s, force)
        energy += _energy(nodes[tile], first, last, s[axes * corners])
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
    return _over_tiles((3, 2, 7), _triangle, tiles, nodes, j, w, lam, mu, first, last, u, force)


@njit(forceinline=True, fastmath=FAST)
def _stress(inverse, weight, lam, mu, x, y, z):
    """Of a point: ∂W/∂(∂u_i/∂ξ_k) for i = x, y, z, of x = ∂u_x/∂ξ_k, y and z likewise, and its energy."""
    (j00, j01, j02), (j10, j11, j12), (j20, j21, j22) = inverse
    (x0, x1, x2), (y0, y1, y2), (z0, z1, z2) = x, y, z
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
        (sxx * j00 + sxy * j01 + sxz * j02, sxx * j10 + sxy * j11 + sxz * j12, sxx * j20 + sxy * j21 + sxz * j22),
        (sxy * j00 + syy * j01 + syz * j02, sxy * j10 + syy * j11 + syz * j12, sxy * j20 + syy * j21 + syz * j22),
        (sxz * j00 + syz * j01 + szz * j02, sxz * j10 + syz * j11 + szz * j12, sxz * j20 + syz * j21 + szz * j22),
        energy,
    )


@njit(forceinline=True)
def _stored(j, k):
    """∂ξ_k/∂x_j of cell k by its rows."""
    return (j[0, k], j[1, k], j[2, k]), (j[3, k], j[4, k], j[5, k]), (j[6, k], j[7, k], j[8, k])


@njit(inline="always")
def _tetrahedron(points, weights, lam, mu, s):
    """Forces of the nodes from their displacements, rows 0 to 11 of s, and energies, row 12."""
    j, w = points[0], weights[0]
    for k in range(TILE):
        x, y, z = s[0, k], s[4, k], s[8, k]
        x, y, z, energy = _stress(
            _stored(j, k), w[k], lam, mu, (s[1, k] - x, s[2, k] - x, s[3, k] - x),
            (s[5, k] - y, s[6, k] - y, s[7, k] - y), (s[9, k] - z, s[10, k] - z, s[11, k] - z),
        )  # fmt: skip
        s[0, k], s[1, k], s[2, k], s[3, k] = -(x[0] + x[1] + x[2]), x[0], x[1], x[2]
        s[4, k], s[5, k], s[6, k], s[7, k] = -(y[0] + y[1] + y[2]), y[0], y[1], y[2]
        s[8, k], s[9, k], s[10, k], s[11, k] = -(z[0] + z[1] + z[2]), z[0], z[1], z[2]
        s[12, k] = energy


@njit(cache=True, fastmath=FAST, nogil=True)
def internal_tetrahedra(tiles, nodes, j, w, lam, mu, first, last, u, force):
    """Three dimensions."""
    return _over_tiles((4, 3, 13), _tetrahedron, tiles, nodes, j, w, lam, mu, first, last, u, force)


# Hexahedra. A trilinear field is f = Σ_e f_e Π_k (ξ_k − ½)^{e_k}; its gradient ∂f/∂ξ_k has the modes of e = 100, 010,
# 001, 110, 101, 011, 111 alone. At the Gauss points ξ_k − ½ = ±½ _SIDE; a mode is stored with the factors ½ _SIDE that
# its gradients have, so that these are sums with signs. Rows of `s`: displacements or forces of the nodes (8 a
# component), energies, modes of the displacements (7 a component); of each pair of points (η, ζ) what is conjugate to
# the gradient of each component (5: to ∂/∂ξ, and to ∂/∂η and ∂/∂ζ at both points), and the energy.
_SIDE = 1.0 / np.sqrt(3.0)  # distance of the two Gauss points of the unit interval
_ENERGY, _MODES, _PAIRS, _ROWS = 24, 25, 46, 46 + 4 * 16


@njit(forceinline=True, fastmath={"contract", "nsz"})
def _modes(s, i):
    """Modes of displacement i, from its nodes (ξ, η, ζ): of differences, which are not to be reordered."""
    n, m = 8 * i, _MODES + 7 * i
    for k in range(TILE):
        p0, p1, p2, p3 = s[n, k], s[n + 1, k], s[n + 2, k], s[n + 3, k]
        p4, p5, p6, p7 = s[n + 4, k], s[n + 5, k], s[n + 6, k], s[n + 7, k]
        low, high = (p4 - p0) + (p5 - p1), (p6 - p2) + (p7 - p3)
        low_rise, high_rise = (p5 - p1) - (p4 - p0), (p7 - p3) - (p6 - p2)
        bottom, top = (p2 - p0) + (p6 - p4), (p3 - p1) + (p7 - p5)
        s[m, k] = 0.25 * (low + high)
        s[m + 1, k] = 0.25 * (bottom + top)
        s[m + 2, k] = 0.25 * ((p1 - p0) + (p3 - p2) + ((p5 - p4) + (p7 - p6)))
        s[m + 3, k] = 0.25 * _SIDE * (high - low)
        s[m + 4, k] = 0.25 * _SIDE * (low_rise + high_rise)
        s[m + 5, k] = 0.25 * _SIDE * (top - bottom)
        s[m + 6, k] = 0.25 * _SIDE * _SIDE * (high_rise - low_rise)


@njit(forceinline=True, fastmath=FAST)
def _nodal_forces(s, i):
    """Component i of the nodes' forces, by the transposes of `_gradient` and `_modes`."""
    n, a = 8 * i, _PAIRS + 5 * i
    b, c, d = a + 16, a + 32, a + 48
    for k in range(TILE):
        # of ∂/∂ξ at (η, ζ), of ∂/∂η at (ξ, ζ), of ∂/∂ζ at (ξ, η)
        x0, x1, x2, x3 = s[a, k], s[b, k], s[c, k], s[d, k]
        y0, y1 = s[a + 1, k] + s[c + 1, k], s[b + 1, k] + s[d + 1, k]
        y2, y3 = s[a + 2, k] + s[c + 2, k], s[b + 2, k] + s[d + 2, k]
        z0, z1 = s[a + 3, k] + s[b + 3, k], s[c + 3, k] + s[d + 3, k]
        z2, z3 = s[a + 4, k] + s[b + 4, k], s[c + 4, k] + s[d + 4, k]
        f0, f1, f2 = (x0 + x1) + (x2 + x3), (y0 + y1) + (y2 + y3), (z0 + z1) + (z2 + z3)
        f01 = _SIDE * ((x2 + x3) - (x0 + x1) + ((y2 + y3) - (y0 + y1)))
        f02 = (x1 - x0) + (x3 - x2) + ((z2 + z3) - (z0 + z1))
        f12 = _SIDE * ((y1 - y0) + (y3 - y2) + ((z1 - z0) + (z3 - z2)))
        f012 = _SIDE * ((x3 - x2) - (x1 - x0) + ((y3 - y2) - (y1 - y0)) + ((z3 - z2) - (z1 - z0)))
        # of the differences of two nodes along ξ, and along η and ζ
        low, high, low_rise, high_rise = f0 - f01, f0 + f01, _SIDE * (f02 - f012), _SIDE * (f02 + f012)
        x0, x1 = 0.25 * (low - low_rise), 0.25 * (low + low_rise)
        x2, x3 = 0.25 * (high - high_rise), 0.25 * (high + high_rise)
        bottom, top, up = 0.25 * (f1 - f12), 0.25 * (f1 + f12), 0.25 * f2
        e0, e1, e2, e3 = bottom + up, top - up, bottom - up, top + up
        s[n, k], s[n + 1, k], s[n + 2, k], s[n + 3, k] = -(x0 + e0), -(x1 + e1), e2 - x2, e3 - x3
        s[n + 4, k], s[n + 5, k], s[n + 6, k], s[n + 7, k] = x0 - e0, x1 - e1, x2 + e2, x3 + e3


@njit(forceinline=True, fastmath=FAST)
def _gradient(m, row, k, eta, zeta):
    """∂/∂ξ_k at the points of the pair (η, ζ), in ±1, ξ = −1 and 1, of a field with its modes in rows of m."""
    along, both = m[row + 3, k] + zeta * m[row + 6, k], m[row + 4, k] + eta * m[row + 6, k]
    x = m[row, k] + zeta * m[row + 4, k] + eta * along
    y = m[row + 1, k] + zeta * m[row + 5, k]
    z = m[row + 2, k] + eta * m[row + 5, k]
    return (x, y - along, z - both), (x, y + along, z + both)


@njit(forceinline=True, fastmath=FAST)
def _adjugate(x, y, z):
    """det(J) J⁻¹ by its rows, and |det(J)|, of J = ∂x_i/∂ξ_k by its rows."""
    (x0, x1, x2), (y0, y1, y2), (z0, z1, z2) = x, y, z
    first = y1 * z2 - y2 * z1, z1 * x2 - z2 * x1, x1 * y2 - x2 * y1
    second = y2 * z0 - y0 * z2, z2 * x0 - z0 * x2, x2 * y0 - x0 * y2
    third = y0 * z1 - y1 * z0, z0 * x1 - z1 * x0, x0 * y1 - x1 * y0
    return (first, second, third), abs(x0 * first[0] + y0 * first[1] + z0 * first[2])


@njit(forceinline=True, fastmath=FAST)
def _write_pair(s, row, k, low, high):
    """Writes the forces of a pair of points and its energy."""
    (low_x, low_y, low_z, low_energy), (high_x, high_y, high_z, high_energy) = low, high
    s[row, k] = low_x[0] + high_x[0]
    s[row + 1, k], s[row + 2, k], s[row + 3, k], s[row + 4, k] = low_x[1], high_x[1], low_x[2], high_x[2]
    s[row + 5, k] = low_y[0] + high_y[0]
    s[row + 6, k], s[row + 7, k], s[row + 8, k], s[row + 9, k] = low_y[1], high_y[1], low_y[2], high_y[2]
    s[row + 10, k] = low_z[0] + high_z[0]
    s[row + 11, k], s[row + 12, k], s[row + 13, k], s[row + 14, k] = low_z[1], high_z[1], low_z[2], high_z[2]
    s[row + 15, k] = low_energy + high_energy


@njit(forceinline=True, fastmath=FAST)
def _uniform_pair(s, low_j, high_j, low_w, high_w, lam, mu, row, eta, zeta):
    """Forces and energy of the points (−1, η, ζ) and (1, η, ζ), to the rows from `row` on; of stored ∂ξ_k/∂x_j."""
    for k in range(TILE):
        low_x, high_x = _gradient(s, _MODES, k, eta, zeta)
        low_y, high_y = _gradient(s, _MODES + 7, k, eta, zeta)
        low_z, high_z = _gradient(s, _MODES + 14, k, eta, zeta)
        low = _stress(_stored(low_j, k), low_w[k], lam, mu, low_x, low_y, low_z)
        high = _stress(_stored(high_j, k), high_w[k], lam, mu, high_x, high_y, high_z)
        _write_pair(s, row, k, low, high)


@njit(forceinline=True, fastmath=FAST, error_model="numpy")
def _distorted_pair(s, m, low_w, high_w, lam, mu, row, eta, zeta):
    """Forces and energy of the points (−1, η, ζ) and (1, η, ζ), to the rows from `row` on; of modes m of the positions.

    With A = det(J) J⁻¹ in the place of J⁻¹ the gradients have the factor det(J), and so has what is conjugate to them:
    the measure w |det(J)| is divided by its square.
    """
    for k in range(TILE):
        low_x, high_x = _gradient(m, 0, k, eta, zeta)
        low_y, high_y = _gradient(m, 7, k, eta, zeta)
        low_z, high_z = _gradient(m, 14, k, eta, zeta)
        low_a, low_det = _adjugate(low_x, low_y, low_z)
        high_a, high_det = _adjugate(high_x, high_y, high_z)
        low_x, high_x = _gradient(s, _MODES, k, eta, zeta)
        low_y, high_y = _gradient(s, _MODES + 7, k, eta, zeta)
        low_z, high_z = _gradient(s, _MODES + 14, k, eta, zeta)
        low = _stress(low_a, low_w[k] / low_det, lam, mu, low_x, low_y, low_z)
        high = _stress(high_a, high_w[k] / high_det, lam, mu, high_x, high_y, high_z)
        _write_pair(s, row, k, low, high)


@njit(forceinline=True, fastmath=FAST)
def _to_modes(s):
    """Modes of the displacements."""
    _modes(s, 0)
    _modes(s, 1)
    _modes(s, 2)


@njit(forceinline=True, fastmath=FAST)
def _to_nodes(s):
    """Forces of the nodes and energies, from those of the pairs of points."""
    _nodal_forces(s, 0)
    _nodal_forces(s, 1)
    _nodal_forces(s, 2)
    for k in range(TILE):
        s[_ENERGY, k] = (s[_PAIRS + 15, k] + s[_PAIRS + 31, k]) + (s[_PAIRS + 47, k] + s[_PAIRS + 63, k])


@njit(forceinline=True, fastmath=FAST)
def _hexahedron(j, w, lam, mu, s):
    """Forces of the nodes from their displacements and energies of a tile.

    The pairs are written out one by one: with rows known to the compiler the loops vectorise.
    """
    step = min(1, len(j) - 1)
    _to_modes(s)
    _uniform_pair(s, j[0], j[4 * step], w[0], w[4], lam, mu, _PAIRS, -1.0, -1.0)
    _uniform_pair(s, j[step], j[5 * step], w[1], w[5], lam, mu, _PAIRS + 16, -1.0, 1.0)
    _uniform_pair(s, j[2 * step], j[6 * step], w[2], w[6], lam, mu, _PAIRS + 32, 1.0, -1.0)
    _uniform_pair(s, j[3 * step], j[7 * step], w[3], w[7], lam, mu, _PAIRS + 48, 1.0, 1.0)
    _to_nodes(s)


@njit(forceinline=True, fastmath=FAST, error_model="numpy")
def _distorted_hexahedron(j, w, lam, mu, s):
    """As `_hexahedron`, of the modes of the positions."""
    m = j[0]
    _to_modes(s)
    _distorted_pair(s, m, w[0], w[4], lam, mu, _PAIRS, -1.0, -1.0)
    _distorted_pair(s, m, w[1], w[5], lam, mu, _PAIRS + 16, -1.0, 1.0)
    _distorted_pair(s, m, w[2], w[6], lam, mu, _PAIRS + 32, 1.0, -1.0)
    _distorted_pair(s, m, w[3], w[7], lam, mu, _PAIRS + 48, 1.0, 1.0)
    _to_nodes(s)


@njit(cache=True, fastmath=FAST, nogil=True)
def internal_hexahedra(tiles, nodes, j, w, lam, mu, first, last, u, force):
    """2 × 2 × 2 Gauss points with stored ∂ξ_k/∂x_j; nodes and points in lexicographic order of their (ξ, η, ζ)."""
    return _over_tiles((8, 3, _ROWS), _hexahedron, tiles, nodes, j, w, lam, mu, first, last, u, force)


@njit(cache=True, fastmath=FAST, nogil=True)
def internal_distorted_hexahedra(tiles, nodes, j, w, lam, mu, first, last, u, force):
    """As `internal_hexahedra`, with the modes of the positions in the place of ∂ξ_k/∂x_j."""
    return _over_tiles((8, 3, _ROWS), _distorted_hexahedron, tiles, nodes, j, w, lam, mu, first, last, u, force)
