"""Mean forces of a step from u₀ to u₁ and their tangents, of cells whose points are materials of finite strain.

    f_a = ∫ F_½ S̄ ∇φ_a dV,   F_½ = ½(F₀ + F₁),   S̄ symmetric, of E = ½(FᵀF − 1) at both ends

so that Σ f = 0 and Σ x_½ × f = 0, and the work on u₁ − u₀ is ∫ S̄:(E₁ − E₀). Laws with flow (see `_point_kernels`):

    S̄ = (1 − θ) S₀ + θ S₁,   S = F⁻¹ τ F⁻ᵀ, that of the start elastic from the memory.

The neo-Hookean energy is a function of tr C and det C, C = FᵀF; with G the mean of cof C along the line from C₀ to C₁,
det C₁ − det C₀ = G:(C₁ − C₀), exact by Simpson's rule. The difference quotients of the energy are then a stress,

    S̄ = μ [m(J^(−2/3)) 1 + m(tr C) Δ(J^(−2/3))/Δ(J²) G] + (ΔU/ΔJ̄) 2/(J₀ + J₁) G,   m the mean of both ends,

of order 2, with ∫ S̄:(E₁ − E₀) = E(u₁) − E(u₀) at any step, mean dilatation or not; (θ − ½)(S₁ − S₀) is added to it.

The arguments are those of `_cell_kernels`. Source: Gonzalez, CMAME 190 (2000) 1763–1783; Betsch, Janz & Hesch,
CMAME 335 (2018) 660–696 (the mean of the cofactor).
"""

import functools
import math

import numpy as np
from numba import float64

from arlequin.models.fem._cell_kernels import CELLS, LAW, MEMORIES, PATTERN, VECTOR, _inverse, _shape_cell, scatter
from arlequin.models.kernel_cache import await_compilation, called_njit, njit
from arlequin.models.materials._point_kernels import MEMORY, linearise, respond, volumetric
from arlequin.models.materials.hyperelastic import NEO_HOOKE
from arlequin.models.materials.plastic import BULK, SHEAR, YIELD


@njit(inline="always")
def _pulled_back(tau, inverse, S):
    """S = F⁻¹ τ F⁻ᵀ (3, 3)."""
    for i in range(3):
        x, y, z = 0.0, 0.0, 0.0  # of the row i of F⁻¹ τ
        for k in range(3):
            x += inverse[i, k] * tau[k, 0]
            y += inverse[i, k] * tau[k, 1]
            z += inverse[i, k] * tau[k, 2]
        for j in range(i + 1):
            total = x * inverse[j, 0] + y * inverse[j, 1] + z * inverse[j, 2]
            S[i, j] = total
            S[j, i] = total


@njit(inline="always")
def _twice_strain(H, A):
    """A = C − 1 = H + Hᵀ + HᵀH (3, 3), exact to round-off of the strain."""
    for i in range(3):
        for j in range(i + 1):
            total = H[i, j] + H[j, i]
            for k in range(3):
                total += H[k, i] * H[k, j]
            A[i, j] = total
            A[j, i] = total


@njit(inline="always")
def _add_cofactor(A, factor, G):
    """G += factor · cof A of a symmetric (3, 3)."""
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            c, d = (j + 1) % 3, (j + 2) % 3
            G[i, j] += factor * (A[a, c] * A[b, d] - A[a, d] * A[b, c])


@called_njit()
def _quotient(change):
    """ln(1 + z)/z."""
    return math.log1p(change) / change if abs(change) > 1e-9 else 1.0 - 0.5 * change


@called_njit()
def _neo_hooke_mean(m, H0, H1, J0, J1, grown0, grown1, A0, A1, G, S):
    """S̄ (3, 3) of the neo-Hookean law at θ = ½; A0, A1, G (3, 3) are work space.

    With C = 1 + A, G = 1 + G′ and l = ln J, nothing of size 1 is subtracted: m(J^(−2/3)) = 1 + j,

        m(tr C) Δ(J^(−2/3))/Δ(J²) = −(1 + ⅓ tr Ā) e^(−4/3 (l₀ + l₁))/(1 + 4/3 sinh²((l₁ − l₀)/3)) = x − 1,

    and the isochoric stress is μ [(j + x) 1 + (x − 1) G′].
    """
    _twice_strain(H0, A0)
    _twice_strain(H1, A1)
    G[:] = 0.0
    _add_cofactor(A0, 1.0 / 6.0, G)
    _add_cofactor(A1, 1.0 / 6.0, G)
    trace = 0.0
    for i in range(3):
        for j in range(3):
            A0[i, j] = 0.5 * (A0[i, j] + A1[i, j])
        trace += A0[i, i]
    _add_cofactor(A0, 2.0 / 3.0, G)
    for i in range(3):
        G[i, i] += trace
        for j in range(3):
            G[i, j] -= A0[i, j]
    l0, l1 = math.log1p(J0), math.log1p(J1)
    iso = 0.5 * (math.expm1(-2.0 / 3.0 * l0) + math.expm1(-2.0 / 3.0 * l1))
    far = 4.0 / 3.0 * math.sinh((l1 - l0) / 3.0) ** 2
    off = (math.expm1(-4.0 / 3.0 * (l0 + l1)) - far) / (1.0 + far)
    x = -(off + trace / 3.0 * (1.0 + off))
    start = 1.0 + grown0
    mean = 0.5 * (math.log1p(grown0) + math.log1p(grown1))
    volumetric = m[BULK] * mean * _quotient((grown1 - grown0) / start) / start * 2.0 / (2.0 + J0 + J1)
    spherical, along = m[SHEAR] * (iso + x) + volumetric, m[SHEAR] * (x - 1.0) + volumetric
    for i in range(3):
        for j in range(3):
            S[i, j] = along * G[i, j]
        S[i, i] += spherical


@njit(inline="always")
def _stress(kind, axes, H, J, dilatation, before, step, m, tau, inverse, after, S):
    """S (3, 3) at the end of a step, and the memory there."""
    respond(kind, axes, H, before, step, m, tau, after)
    _, dU, _ = volumetric(m[BULK], dilatation)
    for i in range(3):
        tau[i, i] += dU * J
    _inverse(axes, H, J, inverse)
    _pulled_back(tau, inverse, S)


@njit(inline="always")
def _mean_stress(kind, axes, midpoint, m, elastic, step, theta, H, J, dilatation, before, work, after):
    """S̄ at a point, to work[5]; H (2, 3, 3), J and J̄ − 1 (2,) of both ends; work (6, 3, 3), zero at first.

    midpoint: the neo-Hookean law at θ = ½, which needs no stress of the ends.
    """
    first, last, S = work[3], work[4], work[5]
    if not midpoint:
        for end in range(2):  # the start without flow
            within, law = (step, m) if end else (0.0, elastic)
            _stress(
                kind, axes, H[end], J[end], dilatation[end], before, within, law, work[0], work[1], after, work[3 + end]
            )
    if kind != NEO_HOOKE:
        for i in range(3):
            for j in range(3):
                S[i, j] = (1.0 - theta) * first[i, j] + theta * last[i, j]
        return
    _neo_hooke_mean(m, H[0], H[1], J[0] - 1.0, J[1] - 1.0, dilatation[0], dilatation[1], work[0], work[1], work[2], S)
    if not midpoint:
        for i in range(3):
            for j in range(3):
                S[i, j] += (theta - 0.5) * (last[i, j] - first[i, j])


@njit(inline="always")
def _without_flow(kind, m):
    """The coefficients of the same elasticity that never yields."""
    out = m.copy()
    if kind != NEO_HOOKE:
        out[YIELD] = np.inf
    return out


@njit(inline="always")
def _mean_force(kind, axes, midpoint, cells, law, step, theta, u0, u1, before, force):
    """`mean_force` of a constant law and number of axes."""
    nodes, gradients, hoop, weight = cells
    m, mean = law
    count, points, _, size = gradients.shape
    axisymmetric = hoop.size > 0
    elastic = _without_flow(kind, m)
    local, out = np.empty((axes, size)), np.empty((axes, size))
    H = np.zeros((2, points, 3, 3))
    J, dilatation = np.empty((2, points)), np.empty((2, points))
    work, after = np.zeros((6, 3, 3)), np.empty(MEMORY)
    S = work[5]
    for c in range(count):
        _shape_cell(axes, c, nodes, gradients, hoop, weight, mean, u0, local, H[0], J[0], dilatation[0])
        if not _shape_cell(axes, c, nodes, gradients, hoop, weight, mean, u1, local, H[1], J[1], dilatation[1]):
            return c
        out[:] = 0.0
        for q in range(points):
            w = weight[c, q]
            _mean_stress(
                kind,
                axes,
                midpoint,
                m,
                elastic,
                step,
                theta,
                H[:, q],
                J[:, q],
                dilatation[:, q],
                before[c, q],
                work,
                after,
            )
            for i in range(axes):
                for j in range(axes):
                    P = S[i, j]
                    for k in range(axes):
                        P += 0.5 * (H[0, q, i, k] + H[1, q, i, k]) * S[k, j]
                    P *= w
                    for n in range(size):
                        out[i, n] += P * gradients[c, q, j, n]
            if axisymmetric:
                P = w * (1.0 + 0.5 * (H[0, q, 2, 2] + H[1, q, 2, 2])) * S[2, 2]
                for n in range(size):
                    out[0, n] += P * hoop[c, q, n]
        for i in range(axes):
            for n in range(size):
                force[axes * nodes[c, n] + i] += out[i, n]
    return -1


@functools.cache
def mean_force(kind, axes, midpoint):
    """The kernel that adds the mean force of the step from u₀, of the memory `before` (c, q, 9), to u₁.

    It returns a cell that is inverted at u₁ (−1: none). midpoint: the neo-Hookean law at θ = ½.
    """
    await_compilation(f"{__name__}.compile_force({kind}, {axes}, {midpoint})")

    @njit(cache=True, nogil=True)
    def kernel(cells, law, step, theta, u0, u1, before, force):
        return _mean_force(kind, axes, midpoint, cells, law, step, theta, u0, u1, before, force)

    return kernel


@njit(inline="always")
def _mean_tangent(kind, axes, midpoint, cells, law, step, theta, u0, u1, before, pattern):
    """`mean_tangent` of a constant law and number of axes."""
    nodes, gradients, hoop, weight = cells
    m, mean = law
    starts, slots, data = pattern
    count, points, rows, size = gradients.shape  # rows = axes, whose loops would be unrolled
    axisymmetric = hoop.size > 0
    bulk = m[BULK]
    elastic = _without_flow(kind, m)
    pairs = rows * rows + (1 if axisymmetric else 0)
    local = np.empty((axes, size))
    H = np.zeros((2, points, 3, 3))
    J, dilatation = np.empty((2, points)), np.empty((2, points))
    work, after = np.zeros((6, 3, 3)), np.empty(MEMORY)
    S = work[5]
    tau, inverse, moduli, half = np.empty((3, 3)), np.zeros((3, 3)), np.empty((3, 3, 3, 3)), np.zeros((3, 3))
    D, B = np.empty((pairs, pairs)), np.empty((pairs, rows * size))
    K, volume_gradient = np.empty((rows * size, rows * size)), np.empty(rows * size)
    row, column = np.empty(pairs, dtype=np.int64), np.empty(pairs, dtype=np.int64)
    for i in range(rows):
        for j in range(rows):
            row[rows * i + j], column[rows * i + j] = i, j
    if axisymmetric:
        row[pairs - 1] = column[pairs - 1] = 2
    for c in range(count):
        _shape_cell(axes, c, nodes, gradients, hoop, weight, mean, u0, local, H[0], J[0], dilatation[0])
        if not _shape_cell(axes, c, nodes, gradients, hoop, weight, mean, u1, local, H[1], J[1], dilatation[1]):
            return c
        K[:] = 0.0
        volume_gradient[:] = 0.0
        reference_volume = 0.0
        for q in range(points):
            w = weight[c, q]
            reference_volume += w
            _mean_stress(
                kind,
                axes,
                midpoint,
                m,
                elastic,
                step,
                theta,
                H[:, q],
                J[:, q],
                dilatation[:, q],
                before[c, q],
                work,
                after,
            )
            linearise(kind, axes, H[1, q], before[c, q], step, m, tau, after, moduli)
            _, dU, d2U = volumetric(bulk, dilatation[1, q])
            pressure = dU * J[1, q]
            for i in range(3):
                tau[i, i] += pressure
            _inverse(axes, H[1, q], J[1, q], inverse)
            for i in range(3):  # F_½ F₁⁻¹
                for j in range(3):
                    half[i, j] = inverse[i, j]
                    for k in range(3):
                        half[i, j] += 0.5 * (H[0, q, i, k] + H[1, q, i, k]) * inverse[k, j]
            volumetric_slope = 0.0 if mean else d2U * J[1, q] * J[1, q]  # of the point's own p
            for a in range(pairs):
                i, j = row[a], column[a]
                for b in range(a + 1):
                    k, l = row[b], column[b]  # noqa: E741
                    value = 0.5 * (moduli[i, j, k, l] + moduli[k, l, i, j])
                    if i == j and k == l:
                        value += pressure + volumetric_slope
                    if i == k:
                        value -= tau[j, l]
                    if j == k:
                        value -= 0.5 * tau[i, l]
                    if i == l:
                        value -= 0.5 * tau[j, k]
                    D[a, b] = D[b, a] = theta * w * value
            B[:] = 0.0
            for n in range(size):
                for j in range(rows):
                    slope = 0.0
                    for k in range(rows):
                        slope += gradients[c, q, k, n] * inverse[k, j]
                    for i in range(rows):
                        for k in range(rows):
                            B[rows * i + j, rows * n + k] = half[k, i] * slope
                if axisymmetric:
                    B[pairs - 1, rows * n] = half[2, 2] * hoop[c, q, n] * inverse[2, 2]
            for a in range(pairs):
                if row[a] == column[a]:
                    for d in range(rows * size):
                        volume_gradient[d] += w * J[1, q] * B[a, d]
            K += B.T @ (D @ B)
            for a in range(size):
                for b in range(size):
                    along = 0.0
                    for i in range(rows):
                        for j in range(rows):
                            along += gradients[c, q, i, a] * S[i, j] * gradients[c, q, j, b]
                    along *= 0.5 * w
                    for i in range(rows):
                        K[rows * a + i, rows * b + i] += along
                    if axisymmetric:
                        K[rows * a, rows * b] += 0.5 * w * hoop[c, q, a] * S[2, 2] * hoop[c, q, b]
        if mean:
            _, _, d2U = volumetric(bulk, dilatation[1, 0])
            change = theta * d2U / reference_volume
            for e in range(rows * size):
                for d in range(rows * size):
                    K[e, d] += change * volume_gradient[e] * volume_gradient[d]
        scatter(rows, nodes[c], slots[c], starts, K, data)
    return -1


@functools.cache
def mean_tangent(kind, axes, midpoint):
    """The kernel that adds ∂f/∂u₁ of `mean_force` to the values of a CSR matrix: symmetric, an approximation where
    u₀ ≠ u₁.

        K = θ ∫ B_½ᵀ C₁ B_½ dV + θ V p′(J̄) ∂J̄/∂u ⊗ ∂J̄/∂u + ½ ∫ (∇φ_a·S̄ ∇φ_b) 1 dV,   B_½ δu = sym(F_½ᵀ δF),

    C₁ = ∂S/∂E at the end; it is taken there in space, L_v τ = a:h, with h_ij = (F_½ F₁⁻¹)_ki (δF F₁⁻¹)_kj.
    It returns an inverted cell (−1: none).
    """
    await_compilation(f"{__name__}.compile_tangent({kind}, {axes}, {midpoint})")

    @njit(cache=True)
    def kernel(cells, law, step, theta, u0, u1, before, pattern):
        return _mean_tangent(kind, axes, midpoint, cells, law, step, theta, u0, u1, before, pattern)

    return kernel


def compile_force(kind, axes, midpoint):
    """Compile `mean_force` of a law, for `arlequin.models.kernel_cache.compile_ahead`."""
    mean_force(kind, axes, midpoint).compile((CELLS, LAW, float64, float64, VECTOR, VECTOR, MEMORIES, VECTOR))


def compile_tangent(kind, axes, midpoint):
    """Compile `mean_tangent` of a law, for `arlequin.models.kernel_cache.compile_ahead`."""
    mean_tangent(kind, axes, midpoint).compile((CELLS, LAW, float64, float64, VECTOR, VECTOR, MEMORIES, PATTERN))
