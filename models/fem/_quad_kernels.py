"""Internal forces of linear quadrilaterals from the moments of their quadrature; see `arlequin.models.fem.quads`.

The displacements of a cell enter as differences: a translation of any size gives exactly zero.
"""

import numpy as np

from arlequin.models.kernel_cache import njit

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}

_TILE, _SHORT = (
    128,
    8,
)  # cells computed together, whose forces fit in the L1 cache; runs taken cell by cell


@njit(inline="always")
def _cell(m, c, lam, mu, x0, y0, x1, y1, x2, y2, x3, y3):
    """Forces on the four nodes and the energy of cell c, from its moments m (12, c)."""
    bx0, bx1, by0, by1, c0, c1 = m[0, c], m[1, c], m[2, c], m[3, c], m[4, c], m[5, c]
    w, wx, wy, wxx, wxy, wyy = m[6, c], m[7, c], m[8, c], m[9, c], m[10, c], m[11, c]
    dx, ex, dy, ey = x0 - x2, x1 - x3, y0 - y2, y1 - y3
    xx, xy = bx0 * dx + bx1 * ex, by0 * dx + by1 * ex
    yx, yy = bx0 * dy + bx1 * ey, by0 * dy + by1 * ey
    gx = 0.25 * ((x0 - x1) + (x2 - x3)) - c0 * dx - c1 * ex
    gy = 0.25 * ((y0 - y1) + (y2 - y3)) - c0 * dy - c1 * ey
    trace, shear = xx + yy, xy + yx
    p = lam * (w * trace + gx * wx + gy * wy)
    axx = p + 2.0 * mu * (w * xx + gx * wx)
    ayy = p + 2.0 * mu * (w * yy + gy * wy)
    axy = mu * (w * shear + gx * wy + gy * wx)
    cx, cy = wxx * gx + wxy * gy, wxy * gx + wyy * gy
    both = wxx + wyy
    bx = lam * (trace * wx + cx) + mu * (2.0 * xx * wx + shear * wy + gx * both + cx)
    by = lam * (trace * wy + cy) + mu * (shear * wx + 2.0 * yy * wy + gy * both + cy)
    energy = 0.5 * (axx * xx + ayy * yy + axy * shear + bx * gx + by * gy)
    px, qx = axx * bx0 + axy * by0 - c0 * bx, axx * bx1 + axy * by1 - c1 * bx
    py, qy = axy * bx0 + ayy * by0 - c0 * by, axy * bx1 + ayy * by1 - c1 * by
    hx, hy = 0.25 * bx, 0.25 * by
    return px + hx, py + hy, qx - hx, qy - hy, hx - px, hy - py, -qx - hx, -qy - hy, energy


@njit(inline="always")
def _add_cell(nodes, m, column, c, lam, mu, first, last, u, force):
    """Add the forces of cell c, whose moments are m[:, column], on the nodes from `first` up to `last`.

    Returns the energy of the cell if its first node is one of them, else 0.
    """
    n0, n1, n2, n3 = nodes[c, 0], nodes[c, 1], nodes[c, 2], nodes[c, 3]
    fx0, fy0, fx1, fy1, fx2, fy2, fx3, fy3, energy = _cell(
        m, column, lam, mu, u[2 * n0], u[2 * n0 + 1], u[2 * n1], u[2 * n1 + 1], u[2 * n2], u[2 * n2 + 1], u[2 * n3],
        u[2 * n3 + 1],
    )  # fmt: skip
    if first <= n1 < last:
        force[2 * n1] += fx1
        force[2 * n1 + 1] += fy1
    if first <= n2 < last:
        force[2 * n2] += fx2
        force[2 * n2 + 1] += fy2
    if first <= n3 < last:
        force[2 * n3] += fx3
        force[2 * n3 + 1] += fy3
    if first <= n0 < last:
        force[2 * n0] += fx0
        force[2 * n0 + 1] += fy0
        return energy
    return 0.0


@njit(inline="always")
def _tile(m, c, step, size, lam, mu, u0, u1, u2, u3, out):
    """Forces and energies out (9, k) of `size` cells from c on, whose nodes follow one another; step: 0 or 1 moment."""
    for k in range(size):
        (out[0, k], out[1, k], out[2, k], out[3, k], out[4, k], out[5, k], out[6, k], out[7, k], out[8, k]) = _cell(
            m, c + step * k, lam, mu, u0[2 * k], u0[2 * k + 1], u1[2 * k], u1[2 * k + 1], u2[2 * k], u2[2 * k + 1],
            u3[2 * k], u3[2 * k + 1],
        )  # fmt: skip


@njit(cache=True, fastmath=FAST, nogil=True)
def internal_quads(runs, nodes, m, lam, mu, first, last, u, force):
    """Internal forces on the nodes from `first` up to `last`, written to force (d,); returns their share of the energy.

    runs (r, 2): first cell and number of cells of each run that has such nodes; within a run the nodes go up by one
    from cell to cell. A cell's energy counts where its first node does. m (12, c), or (12, 1) of congruent cells.
    """
    out = np.empty((9, _TILE))
    energy = 0.0
    congruent = m.shape[1] == 1
    for d in range(2 * first, 2 * last):
        force[d] = 0.0
    for r in range(runs.shape[0]):
        begin, end = runs[r, 0], runs[r, 0] + runs[r, 1]
        if end - begin < _SHORT:
            for c in range(begin, end):
                energy += _add_cell(nodes, m, 0 if congruent else c, c, lam, mu, first, last, u, force)
            continue
        for c in range(begin, end, _TILE):
            size = min(_TILE, end - c)
            n0, n1, n2, n3 = 2 * nodes[c, 0], 2 * nodes[c, 1], 2 * nodes[c, 2], 2 * nodes[c, 3]
            length = 2 * size
            u0, u1, u2, u3 = u[n0 : n0 + length], u[n1 : n1 + length], u[n2 : n2 + length], u[n3 : n3 + length]
            if congruent:
                _tile(m, 0, 0, size, lam, mu, u0, u1, u2, u3, out)
            else:
                _tile(m, c, 1, size, lam, mu, u0, u1, u2, u3, out)
            for i in range(4):
                n = nodes[c, i]
                low, high = max(0, first - n), min(size, last - n)
                for k in range(low, high):
                    force[2 * (n + k)] += out[2 * i, k]
                    force[2 * (n + k) + 1] += out[2 * i + 1, k]
                if i == 0:
                    for k in range(low, high):
                        energy += out[8, k]
    return energy
