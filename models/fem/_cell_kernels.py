"""Forces and tangents of cells whose points are materials of finite strain (see
`arlequin.models.materials._point_kernels`).

`respond_cells` and `tangent_cells` give the kernel of one law, by its number `kind`, and one number of axes, compiled
when it is first called: the branches of the others, which would take most of the time, are not. The kernels take cells
(a plain tuple of the fields of a `KernelCells`: a named one costs 1 µs more a call), law (a `KernelLaw`), the step in
s, the displacement u (d,), the internal variables before the step (c, q, 9) and, for tangents, pattern (a
`KernelPattern`). F has a third axis in plane problems too: F₃₃ = 1, or 1 + u_r/r about the axis.
With J̄ = ∫ J dV/∫ dV over the cell (or J̄ = J), K the bulk modulus,

    E = ∫ ψ_iso dV + ∫ ½ K (ln J̄)² dV,    τ = τ_dev + p J 1,  p = K ln J̄ / J̄,    f_a = ∫ τ F⁻ᵀ ∇φ_a dV.

Source: Simo, Taylor & Pister, CMAME 51 (1985) 177–208 (mean dilatation).
"""

import functools

import numpy as np
from numba import boolean, float64, int32, int64, types

from arlequin.models.kernel_cache import await_compilation, njit
from arlequin.models.materials._point_kernels import MEMORY, WORK, linearise, respond, volume_change, volumetric
from arlequin.models.materials.plastic import BULK


@njit(inline="always")
def _gather(axes, nodes, axisymmetric, u, local):
    """A cell's displacements (i, n) relative to its first node, but for u_r, which makes a strain."""
    for i in range(axes):
        base = 0.0 if axisymmetric and i == 0 else u[axes * nodes[0] + i]
        for n in range(nodes.size):
            local[i, n] = u[axes * nodes[n] + i] - base


@njit(inline="always")
def _deform(axes, gradient, hoop, axisymmetric, local, H):
    """H = ∂u/∂X (3, 3) at a point."""
    size = gradient.shape[1]
    for i in range(axes):
        for j in range(axes):
            total = 0.0
            for n in range(size):
                total += local[i, n] * gradient[j, n]
            H[i, j] = total
    if axisymmetric:
        hoop_strain = 0.0
        for n in range(size):
            hoop_strain += hoop[n] * local[0, n]
        H[2, 2] = hoop_strain


@njit(inline="always")
def _inverse(axes, H, J, out):
    """F⁻¹ (3, 3), F = 1 + H."""
    if axes == 2:
        in_plane_det = J / (1.0 + H[2, 2])
        out[0, 0], out[0, 1] = (1.0 + H[1, 1]) / in_plane_det, -H[0, 1] / in_plane_det
        out[1, 0], out[1, 1] = -H[1, 0] / in_plane_det, (1.0 + H[0, 0]) / in_plane_det
        out[2, 2] = 1.0 / (1.0 + H[2, 2])
        return
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            c, d = (j + 1) % 3, (j + 2) % 3
            ac, bd = H[a, c] + (1.0 if a == c else 0.0), H[b, d] + (1.0 if b == d else 0.0)
            ad, bc = H[a, d] + (1.0 if a == d else 0.0), H[b, c] + (1.0 if b == c else 0.0)
            out[j, i] = (ac * bd - ad * bc) / J


@njit(inline="always")
def _shape_cell(axes, c, nodes, gradients, hoop, weight, mean, u, local, H, J, dilatation):
    """H (q, 3, 3), J (q,) and J̄ − 1 (q,) of a cell; False where it is inverted."""
    points = gradients.shape[1]
    axisymmetric = hoop.size > 0
    cell_hoop = hoop[c] if axisymmetric else hoop.reshape((points, 0))
    _gather(axes, nodes[c], axisymmetric, u, local)
    volume = 0.0
    reference_volume = 0.0
    for q in range(points):
        _deform(axes, gradients[c, q], cell_hoop[q], axisymmetric, local, H[q])
        dilatation[q] = volume_change(H[q])
        J[q] = 1.0 + dilatation[q]
        if not J[q] > 0.0:
            return False
        volume += weight[c, q] * dilatation[q]
        reference_volume += weight[c, q]
    if mean:
        for q in range(points):
            dilatation[q] = volume / reference_volume
    return True


@njit(inline="always")
def _respond_cells(kind, axes, cells, law, step, u, before, after, force):
    """`respond_cells` of a constant law and number of axes."""
    nodes, gradients, hoop, weight = cells
    coefficients, mean = law
    count, points, _, size = gradients.shape
    axisymmetric = hoop.size > 0
    bulk = coefficients[BULK]
    local, out = np.empty((axes, size)), np.empty((axes, size))
    H, inverse, tau = np.zeros((points, 3, 3)), np.zeros((3, 3)), np.empty((3, 3))
    J, dilatation = np.empty(points), np.empty(points)
    stored = 0.0
    dissipated = 0.0
    for c in range(count):
        if not _shape_cell(axes, c, nodes, gradients, hoop, weight, mean, u, local, H, J, dilatation):
            return stored, dissipated, c
        out[:] = 0.0
        volumetric_energy, dU = 0.0, 0.0
        for q in range(points):
            w = weight[c, q]
            energy = respond(kind, axes, H[q], before[c, q], step, coefficients, tau, after[c, q])
            if q == 0 or not mean:
                volumetric_energy, dU, _ = volumetric(bulk, dilatation[q])
            stored += w * (energy + volumetric_energy)
            dissipated += w * (after[c, q, WORK] - before[c, q, WORK])
            pressure = dU * J[q]
            for i in range(3):
                tau[i, i] += pressure
            _inverse(axes, H[q], J[q], inverse)
            for i in range(axes):
                for j in range(axes):
                    P = 0.0
                    for k in range(axes):
                        P += tau[i, k] * inverse[j, k]
                    P *= w
                    for n in range(size):
                        out[i, n] += P * gradients[c, q, j, n]
            if axisymmetric:
                P = w * tau[2, 2] * inverse[2, 2]
                for n in range(size):
                    out[0, n] += P * hoop[c, q, n]
        for i in range(axes):
            for n in range(size):
                force[axes * nodes[c, n] + i] += out[i, n]
    return stored, dissipated, -1


@functools.cache
def respond_cells(kind, axes):
    """The kernel that adds the internal force at u, reached in a step from the memory `before` (c, q, 9), and fills
    `after`.

    It returns the stored energy, the energy dissipated in the step (J), and an inverted cell (−1: none).
    """
    await_compilation(f"{__name__}.compile_response({kind}, {axes})")

    @njit(cache=True, nogil=True)
    def kernel(cells, law, step, u, before, after, force):
        return _respond_cells(kind, axes, cells, law, step, u, before, after, force)

    return kernel


@njit(cache=True)
def scatter(axes, nodes, slots, starts, K, data):
    """Adds the matrix K (n axes, n axes) of a cell to data, the values of a CSR matrix (see `block_slots`)."""
    for a in range(nodes.size):
        for i in range(axes):
            start = starts[axes * nodes[a] + i]
            for b in range(nodes.size):
                for j in range(axes):
                    data[start + slots[a, b] + j] += K[axes * a + i, axes * b + j]


@njit(inline="always")
def _tangent_cells(kind, axes, cells, law, step, u, before, pattern):
    """`tangent_cells` of a constant law and number of axes."""
    nodes, gradients, hoop, weight = cells
    coefficients, mean = law
    starts, slots, data = pattern
    count, points, _, size = gradients.shape
    axisymmetric = hoop.size > 0
    bulk = coefficients[BULK]
    pairs = axes * axes + (1 if axisymmetric else 0)
    local = np.empty((axes, size))
    H, inverse, tau, after = np.zeros((points, 3, 3)), np.zeros((3, 3)), np.empty((3, 3)), np.empty(MEMORY)
    moduli = np.empty((3, 3, 3, 3))
    J, dilatation = np.empty(points), np.empty(points)
    D = np.empty((pairs, pairs))
    B = np.empty((pairs, axes * size))
    product = np.empty((pairs, axes * size))
    K = np.empty((axes * size, axes * size))
    volume_gradient = np.empty(axes * size)  # ∂J̄/∂u
    row, column = np.empty(pairs, dtype=np.int64), np.empty(pairs, dtype=np.int64)
    for i in range(axes):
        for j in range(axes):
            row[axes * i + j], column[axes * i + j] = i, j
    if axisymmetric:
        row[pairs - 1] = column[pairs - 1] = 2
    for c in range(count):
        if not _shape_cell(axes, c, nodes, gradients, hoop, weight, mean, u, local, H, J, dilatation):
            return c
        K[:] = 0.0
        volume_gradient[:] = 0.0
        reference_volume = 0.0
        for q in range(points):
            w = weight[c, q]
            linearise(kind, axes, H[q], before[c, q], step, coefficients, tau, after, moduli)
            _, dU, d2U = volumetric(bulk, dilatation[q])
            pressure = dU * J[q]
            for i in range(3):
                tau[i, i] += pressure
            _inverse(axes, H[q], J[q], inverse)
            B[:] = 0.0
            for n in range(size):
                for j in range(axes):
                    slope = 0.0
                    for k in range(axes):
                        slope += gradients[c, q, k, n] * inverse[k, j]
                    for i in range(axes):
                        B[axes * i + j, axes * n + i] = slope
                if axisymmetric:
                    B[pairs - 1, axes * n] = hoop[c, q, n] * inverse[2, 2]
            for a in range(pairs):
                i, j = row[a], column[a]
                for b in range(pairs):
                    k, m = row[b], column[b]
                    value = moduli[i, j, k, m]
                    if i == j and k == m:
                        value += pressure
                    if j == k:
                        value -= tau[i, m]
                    D[a, b] = w * value
            if not mean:  # p changes with the point's own J
                change = w * d2U * J[q] * J[q]
                for a in range(pairs):
                    for b in range(pairs):
                        if row[a] == column[a] and row[b] == column[b]:
                            D[a, b] += change
            reference_volume += w
            for a in range(pairs):
                if row[a] == column[a]:
                    for d in range(axes * size):
                        volume_gradient[d] += w * J[q] * B[a, d]
            product[:] = 0.0
            for a in range(pairs):
                for b in range(pairs):
                    value = D[a, b]
                    if value != 0.0:
                        for d in range(axes * size):
                            product[a, d] += value * B[b, d]
            for a in range(pairs):
                for e in range(axes * size):
                    slope = B[a, e]
                    if slope != 0.0:
                        for d in range(axes * size):
                            K[e, d] += slope * product[a, d]
        if mean:
            _, _, d2U = volumetric(bulk, dilatation[0])
            change = d2U / reference_volume
            for e in range(axes * size):
                for d in range(axes * size):
                    K[e, d] += change * volume_gradient[e] * volume_gradient[d]
        scatter(axes, nodes[c], slots[c], starts, K, data)
    return -1


@functools.cache
def tangent_cells(kind, axes):
    """The kernel that adds ∂f/∂u of `respond_cells` to the values of a CSR matrix.

    With g = F⁻ᵀ ∇φ and c = ∂τ_dev/∂h (δF = h F):

        K_ai,bk = ∫ g_a,j [c_ijkm + p J δ_ij δ_km − τ_im δ_jk] g_b,m dV + V p′(J̄) ∂J̄/∂u_ai ∂J̄/∂u_bk.

    It returns an inverted cell (−1: none).
    """

    @njit(cache=True)
    def kernel(cells, law, step, u, before, pattern):
        return _tangent_cells(kind, axes, cells, law, step, u, before, pattern)

    return kernel


# the arrays of a run; kernels are compiled for others when they are called with them
VECTOR = types.Array(float64, 1, "C")
MEMORIES = types.Array(float64, 3, "C")
CELLS = types.Tuple((types.Array(int64, 2, "C"), types.Array(float64, 4, "C"), MEMORIES, types.Array(float64, 2, "C")))
LAW = types.Tuple((VECTOR, boolean))
PATTERN = types.Tuple((types.Array(int32, 1, "C"), types.Array(int32, 3, "C"), VECTOR))


def compile_response(kind, axes):
    """Compile `respond_cells` of a law, for `arlequin.models.kernel_cache.compile_ahead`."""
    respond_cells(kind, axes).compile((CELLS, LAW, float64, VECTOR, MEMORIES, MEMORIES, VECTOR))
