"""Cauchy stress of the points of cells that have a memory (see `arlequin.models.fem._cell_kernels`,
`arlequin.models.fem._small_kernels`).

Arguments as there, the law with the coefficients of the material without a yield stress, so that the evaluation has no
plastic flow, and memory (c, q, 9) the internal variables at u. out (c, q, 6): xx, yy, zz, yz, xz, xy.
"""

import functools

import numpy as np

from arlequin.models.fem._cell_kernels import _shape_cell
from arlequin.models.fem._small_kernels import _strain_cell
from arlequin.models.kernel_cache import njit
from arlequin.models.materials._point_kernels import MEMORY, respond, volumetric
from arlequin.models.materials.plastic import BULK, SMALL_J2


@njit(inline="always")
def _write(tau, J, mean, out):
    """τ_dev/J + mean 1, the six components."""
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        out[i] = tau[i, i] / J + mean
        out[3 + i] = tau[a, b] / J


@njit(inline="always")
def _finite_stress(kind, axes, cells, law, u, memory, out):
    """`finite_stress` of a constant law and number of axes."""
    nodes, gradients, hoop, weight = cells
    elastic, mean = law
    count, points, _, size = gradients.shape
    local, H, tau, after = np.empty((axes, size)), np.zeros((points, 3, 3)), np.empty((3, 3)), np.empty(MEMORY)
    J, dilatation = np.empty(points), np.empty(points)
    for c in range(count):
        if not _shape_cell(axes, c, nodes, gradients, hoop, weight, mean, u, local, H, J, dilatation):
            return c
        for q in range(points):
            respond(kind, axes, H[q], memory[c, q], 0.0, elastic, tau, after)
            _write(tau, J[q], volumetric(elastic[BULK], dilatation[q])[1], out[c, q])
    return -1


@functools.cache
def finite_stress(kind, axes):
    """The kernel of σ = τ_dev/J + K ln J̄/J̄ 1; it returns an inverted cell (−1: none)."""

    @njit(cache=True)
    def kernel(cells, law, u, memory, out):
        return _finite_stress(kind, axes, cells, law, u, memory, out)

    return kernel


@njit(cache=True)
def small_stress(cells, law, u, memory, out):
    """σ = s + K ē 1 of small strains."""
    nodes, gradients, hoop, weight = cells
    elastic, mean = law
    count, points, axes, size = gradients.shape
    local, H, tau, after = np.empty((axes, size)), np.zeros((points, 3, 3)), np.empty((3, 3)), np.empty(MEMORY)
    dilatation = np.empty(points)
    for c in range(count):
        _strain_cell(axes, c, nodes, gradients, hoop, weight, mean, u, local, H, dilatation)
        for q in range(points):
            respond(SMALL_J2, axes, H[q], memory[c, q], 0.0, elastic, tau, after)
            _write(tau, 1.0, elastic[BULK] * dilatation[q], out[c, q])
