"""Largest angular frequency of deformed cells, with elastic moduli and lumped masses, by power iteration."""

import numpy as np

from arlequin.models.fem._cell_kernels import _deform, _gather, _inverse
from arlequin.models.kernel_cache import called_njit, njit
from arlequin.models.materials._point_kernels import volume_change

_ITERATIONS = 300
_CONVERGED = 1e-5  # relative change of the square
_MARGIN = 1.02  # on the square: the power iteration converges from below


@njit(cache=True)
def _slopes(axes, c, nodes, gradients, hoop, u, local, H, inverse, slopes, ring):
    """∇_x φ (q, axis, n) and φ/r (q, n) of a deformed cell."""
    points, size = gradients.shape[1], gradients.shape[3]
    axisymmetric = hoop.size > 0
    around = hoop[c] if axisymmetric else hoop.reshape((points, 0))
    _gather(axes, nodes[c], axisymmetric, u, local)
    for q in range(points):
        _deform(axes, gradients[c, q], around[q], axisymmetric, local, H)
        _inverse(axes, H, 1.0 + volume_change(H), inverse)
        for n in range(size):
            for i in range(axes):
                total = 0.0
                for j in range(axes):
                    total += gradients[c, q, j, n] * inverse[j, i]
                slopes[q, i, n] = total
            ring[q, n] = hoop[c, q, n] * inverse[2, 2] if axisymmetric else 0.0


@called_njit()
def _stiffened(axes, weight, slopes, ring, lam, mu, x, out):
    """out = K x (i, n) of a cell."""
    out[:] = 0.0
    strain = np.empty((axes, axes))
    for q in range(weight.size):
        trace, ring_strain = 0.0, 0.0
        for n in range(ring.shape[1]):
            ring_strain += ring[q, n] * x[0, n]
        for i in range(axes):
            for j in range(axes):
                total = 0.0
                for n in range(ring.shape[1]):
                    total += x[i, n] * slopes[q, j, n]
                strain[i, j] = total
            trace += strain[i, i]
        pressure = lam * (trace + ring_strain)
        for i in range(axes):
            for j in range(axes):
                stress = mu * (strain[i, j] + strain[j, i])
                if i == j:
                    stress += pressure
                stress *= weight[q]
                for n in range(ring.shape[1]):
                    out[i, n] += stress * slopes[q, j, n]
        push = weight[q] * (pressure + 2.0 * mu * ring_strain)
        for n in range(ring.shape[1]):
            out[0, n] += push * ring[q, n]


@njit(cache=True, nogil=True)
def largest_square(nodes, gradients, hoop, weight, masses, lam, mu, u):
    """ω² (1/s²) of the stiffest cell at u (d,): the largest eigenvalue of M_c⁻¹ K_c, by power iteration.

    weight (c, q) of the reference; masses (c, n) > 0; K_c with the gradients of the deformed cell and the moduli of
    Kirchhoff's stress. Cells whose trace is below the largest eigenvalue so far are skipped.
    """
    cells, points, axes, size = gradients.shape
    local, H, inverse = np.empty((axes, size)), np.zeros((3, 3)), np.zeros((3, 3))
    slopes, ring = np.empty((points, axes, size)), np.empty((points, size))
    x, y = np.empty((axes, size)), np.empty((axes, size))
    bounds = np.empty(cells)
    for c in range(cells):
        # the trace of M⁻¹K is above its largest eigenvalue
        _slopes(axes, c, nodes, gradients, hoop, u, local, H, inverse, slopes, ring)
        total = 0.0
        for q in range(points):
            for n in range(size):
                square = 0.0
                for i in range(axes):
                    square += slopes[q, i, n] ** 2
                entry = (lam + mu + axes * mu) * square
                entry += (lam + 2.0 * mu) * ring[q, n] ** 2 + 2.0 * lam * ring[q, n] * slopes[q, 0, n]
                total += weight[c, q] * entry / masses[c, n]
        bounds[c] = total
    largest = 0.0
    for c in np.argsort(-bounds):
        if bounds[c] <= largest:
            break
        _slopes(axes, c, nodes, gradients, hoop, u, local, H, inverse, slopes, ring)
        norm = 0.0
        for i in range(axes):
            for n in range(size):
                x[i, n] = np.cos(1.0 + i * size + n)
                norm += masses[c, n] * x[i, n] ** 2
        x /= np.sqrt(norm)
        square = 0.0
        for _ in range(_ITERATIONS):
            # on y = M^½ x, whose length is 1
            _stiffened(axes, weight[c], slopes, ring, lam, mu, x, y)
            norm = 0.0
            for i in range(axes):
                for n in range(size):
                    y[i, n] /= masses[c, n]
                    norm += masses[c, n] * y[i, n] ** 2
            norm = np.sqrt(norm)
            if norm == 0.0:
                break
            before, square = square, norm
            for i in range(axes):
                for n in range(size):
                    x[i, n] = y[i, n] / norm
            if square - before <= _CONVERGED * square:
                break
        largest = max(largest, _MARGIN * square)
    return largest
