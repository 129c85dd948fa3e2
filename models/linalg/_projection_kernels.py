"""Vector operations of projected conjugate gradients, each of which passes once through the memory; see `projected_cg`.

Fields of the constraints: k fields of a vector that the same rows C₁ (m, g) constrain, field by field; dofs (g, k): of
the g values of each field. C₁ and C₁ᵀ by rows: starts, columns, values. Up to four fields lie side by side, in lanes
that one instruction multiplies by an entry of C₁.
"""

import numpy as np

from arlequin.models.kernel_cache import njit

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}
LANES = {"contract"}  # sums in their order: lanes are vectors, entries of a row are not


@njit(cache=True, fastmath=FAST, nogil=True)
def update_direction(share, p, g):
    """p ← share p − g."""
    for i in range(p.size):
        p[i] = share * p[i] - g[i]


@njit(cache=True, fastmath=FAST, nogil=True)
def advance(length, p, q, inverse, y, r, s):
    """y ← y + length p, r ← r + length q, s ← D⁻¹ r."""
    for i in range(p.size):
        y[i] += length * p[i]
        residual = r[i] + length * q[i]
        r[i] = residual
        s[i] = inverse[i] * residual


@njit(cache=True, fastmath=FAST, nogil=True)
def dot(a, b):
    """a·b."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True, fastmath=FAST, nogil=True)
def square(a, weight):
    """Σ_i w_i a_i²."""
    total = 0.0
    for i in range(a.size):
        total += weight[i] * a[i] * a[i]
    return total


@njit(cache=True, fastmath=FAST, nogil=True)
def gather(dofs, x, out):
    """out (g, lanes): the fields of x (d,) side by side."""
    for i in range(dofs.shape[0]):
        for field in range(dofs.shape[1]):
            out[i, field] = x[dofs[i, field]]


@njit(inline="always")
def _row(starts, columns, values, i, x):
    """Row i of a matrix times x (n, lanes), lanes 1 or 4: as many values, then zeros."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    if x.shape[1] == 1:
        for j in range(starts[i], starts[i + 1]):
            a += values[j] * x[columns[j], 0]
    else:
        for j in range(starts[i], starts[i + 1]):
            value, lanes = values[j], x[np.uintp(columns[j])]
            a += value * lanes[0]
            b += value * lanes[1]
            c += value * lanes[2]
            d += value * lanes[3]
    return a, b, c, d


@njit(cache=True, fastmath=LANES, nogil=True)
def constrained(first, last, starts, columns, values, x, out):
    """Rows first … last − 1 of out (m, lanes): C₁ times x (g, lanes)."""
    for i in range(first, last):
        a, b, c, d = _row(starts, columns, values, i, x)
        out[i, 0] = a
        if out.shape[1] > 1:
            out[i, 1], out[i, 2], out[i, 3] = b, c, d


@njit(cache=True, fastmath=LANES, nogil=True)
def release(first, last, starts, columns, values, dofs, v, inverse, r, s):
    """r ← r − Cᵀ v, s ← D⁻¹ r on the dofs first … last − 1 of each field, of v (m, lanes)."""
    for i in range(first, last):
        sums = _row(starts, columns, values, i, v)
        for field in range(dofs.shape[1]):
            dof = dofs[i, field]
            residual = r[dof] - sums[field]
            r[dof] = residual
            s[dof] = inverse[dof] * residual
