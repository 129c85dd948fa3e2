"""Forces and tangents of cells of small plastic strains (see `arlequin.models.materials._point_kernels`, SMALL_J2).

Arguments as in `arlequin.models.fem._cell_kernels`. With ē = ∫ tr ε dV/∫ dV over the cell (or ē = tr ε), K the bulk
modulus,

    E = ∫ ψ_dev dV + ∫ ½ K ē² dV,    σ = s(ε, memory) + K ē 1,    f_a = ∫ σ ∇φ_a dV.

Source: Hughes, Int. J. Numer. Methods Eng. 15 (1980) 1413–1418 (B̄).
"""

import functools

import numpy as np

from arlequin.models.fem._cell_kernels import _deform, _gather, scatter
from arlequin.models.kernel_cache import njit
from arlequin.models.materials._point_kernels import MEMORY, WORK, linearise, respond
from arlequin.models.materials.plastic import BULK, SMALL_J2


@njit(inline="always")
def _strain_cell(axes, c, nodes, gradients, hoop, weight, mean, u, local, H, dilatation):
    """∂u/∂x (q, 3, 3) and ē (q,) of a cell."""
    points = gradients.shape[1]
    axisymmetric = hoop.size > 0
    cell_hoop = hoop[c] if axisymmetric else hoop.reshape((points, 0))
    _gather(axes, nodes[c], axisymmetric, u, local)
    volume, reference_volume = 0.0, 0.0
    for q in range(points):
        _deform(axes, gradients[c, q], cell_hoop[q], axisymmetric, local, H[q])
        dilatation[q] = H[q, 0, 0] + H[q, 1, 1] + H[q, 2, 2]
        volume += weight[c, q] * dilatation[q]
        reference_volume += weight[c, q]
    if mean:
        dilatation[:] = volume / reference_volume


@njit(inline="always")
def _respond(axes, cells, law, step, u, before, after, force):
    """`respond_small` on a constant number of axes."""
    nodes, gradients, hoop, weight = cells
    coefficients, mean = law
    count, points, _, size = gradients.shape
    axisymmetric = hoop.size > 0
    bulk = coefficients[BULK]
    local, out = np.empty((axes, size)), np.empty((axes, size))
    H, tau, dilatation = np.zeros((points, 3, 3)), np.empty((3, 3)), np.empty(points)
    stored, dissipated = 0.0, 0.0
    for c in range(count):
        _strain_cell(axes, c, nodes, gradients, hoop, weight, mean, u, local, H, dilatation)
        out[:] = 0.0
        for q in range(points):
            w = weight[c, q]
            energy = respond(SMALL_J2, axes, H[q], before[c, q], step, coefficients, tau, after[c, q])
            stored += w * (energy + 0.5 * bulk * dilatation[q] * dilatation[q])
            dissipated += w * (after[c, q, WORK] - before[c, q, WORK])
            for i in range(3):
                tau[i, i] += bulk * dilatation[q]
            for i in range(axes):
                for j in range(axes):
                    stress = w * tau[i, j]
                    for n in range(size):
                        out[i, n] += stress * gradients[c, q, j, n]
            if axisymmetric:
                for n in range(size):
                    out[0, n] += w * tau[2, 2] * hoop[c, q, n]
        for i in range(axes):
            for n in range(size):
                force[axes * nodes[c, n] + i] += out[i, n]
    return stored, dissipated


@functools.cache
def respond_small(axes):
    """The kernel that adds the internal force at u, reached in a step from the memory `before` (c, q, 9), and fills
    `after`.

    It returns the stored energy and the energy dissipated in the step (J).
    """

    @njit(cache=True, nogil=True)
    def kernel(cells, law, step, u, before, after, force):
        return _respond(axes, cells, law, step, u, before, after, force)

    return kernel


@njit(inline="always")
def _tangent(axes, cells, law, step, u, before, pattern):
    """`tangent_small` on a constant number of axes."""
    nodes, gradients, hoop, weight = cells
    coefficients, mean = law
    starts, slots, data = pattern
    count, points, _, size = gradients.shape
    axisymmetric = hoop.size > 0
    bulk = coefficients[BULK]
    pairs = axes * axes + (1 if axisymmetric else 0)
    row, column = np.full(pairs, 2), np.full(pairs, 2)
    for i in range(axes):
        for j in range(axes):
            row[axes * i + j], column[axes * i + j] = i, j
    local, H, dilatation = np.empty((axes, size)), np.zeros((points, 3, 3)), np.empty(points)
    tau, after, moduli = np.empty((3, 3)), np.empty(MEMORY), np.empty((3, 3, 3, 3))
    D, B = np.empty((pairs, pairs)), np.empty((pairs, axes * size))
    K, volume_gradient = np.empty((axes * size, axes * size)), np.empty(axes * size)
    for c in range(count):
        _strain_cell(axes, c, nodes, gradients, hoop, weight, mean, u, local, H, dilatation)
        K[:] = 0.0
        volume_gradient[:] = 0.0
        reference_volume = 0.0
        for q in range(points):
            w = weight[c, q]
            linearise(SMALL_J2, axes, H[q], before[c, q], step, coefficients, tau, after, moduli)
            B[:] = 0.0
            for n in range(size):
                for j in range(axes):
                    for i in range(axes):
                        B[axes * i + j, axes * n + i] = gradients[c, q, j, n]
                if axisymmetric:
                    B[pairs - 1, axes * n] = hoop[c, q, n]
            for a in range(pairs):
                diagonal = row[a] == column[a]
                for b in range(pairs):
                    D[a, b] = w * moduli[row[a], column[a], row[b], column[b]]
                    if diagonal and row[b] == column[b] and not mean:
                        D[a, b] += w * bulk
                if diagonal:
                    for d in range(axes * size):
                        volume_gradient[d] += w * B[a, d]
            K += B.T @ (D @ B)
            reference_volume += w
        if mean:
            for e in range(axes * size):
                for d in range(axes * size):
                    K[e, d] += bulk / reference_volume * volume_gradient[e] * volume_gradient[d]
        scatter(axes, nodes[c], slots[c], starts, K, data)


@functools.cache
def tangent_small(axes):
    """The kernel that adds ∂f/∂u of `respond_small` to the values of a CSR matrix.

    K_ab = ∫ ∇φ_a · c · ∇φ_b dV + K V ∂ē/∂u_a ∂ē/∂u_b, c = ∂s/∂∇u of the law.
    """

    @njit(cache=True)
    def kernel(cells, law, step, u, before, pattern):
        _tangent(axes, cells, law, step, u, before, pattern)

    return kernel
