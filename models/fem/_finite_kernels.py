"""Force and tangent of the St. Venant–Kirchhoff solid from the reference gradients, over a step from u₀ to u₁.

All kernels take nodes (c, n), gradients (c, q, axis, n), hoop (c, q, n) = φ_n/r (axisymmetric only, else of no
size), weight (c, q) (the weighted measure), the Lamé constants and the two displacements (d,). At a point

    F = (F₀ + F₁)/2,  D = F₁ − F₀,  ½(E₀ + E₁) = ½(FᵀF − 1) + ⅛ DᵀD,  E₁ − E₀ = sym(FᵀD),

and S = C:(elastic · ½(E₀ + E₁) + viscous · (E₁ − E₀)). u₀ = u₁ gives the force and the tangent at one
displacement. Displacements are taken relative to the cell's first node, so that a translation gives exactly
zero. Inlined functions take the number of axes as a constant: the loops are unrolled and the force is twice as fast.
"""

import functools

import numpy as np
from numba import types

from arlequin.models.kernel_cache import await_compilation, njit

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}


def _readonly(dtype, axes):
    """The type of a read-only argument; writable arrays are accepted too."""
    return types.Array(dtype, axes, "C", readonly=True)


_REAL = types.float64
_VECTOR = _readonly(_REAL, 1)
_CELLS = (_readonly(types.int64, 2), _readonly(_REAL, 4), _readonly(_REAL, 3), _readonly(_REAL, 2), _REAL, _REAL)


@njit(inline="always")
def _gather(axes, nodes, axisymmetric, u0, u1, mid, delta):
    """A cell's (u₀ + u₁)/2 and u₁ − u₀ (i, n), relative to its first node but for u_r, which makes a strain."""
    components = axes
    for i in range(components):
        base0 = u0[components * nodes[0] + i]
        base1 = u1[components * nodes[0] + i]
        if axisymmetric and i == 0:
            base0 = 0.0
            base1 = 0.0
        for n in range(nodes.size):
            a = u0[components * nodes[n] + i] - base0
            b = u1[components * nodes[n] + i] - base1
            mid[i, n] = 0.5 * (a + b)
            delta[i, n] = b - a


@njit(inline="always")
def _deform(axes, gradient, mid, delta, F, D):
    """F = 1 + ∂(u₀ + u₁)/2 and D = ∂(u₁ − u₀) at a point."""
    size = gradient.shape[1]
    for i in range(axes):
        for j in range(axes):
            total = 0.0
            change = 0.0
            for n in range(size):
                total += mid[i, n] * gradient[j, n]
                change += delta[i, n] * gradient[j, n]
            F[i, j] = total
            D[i, j] = change


@njit(inline="always")
def _stress(axes, lam, mu, elastic, viscous, F, D, hoop, dhoop, S):
    """S and (S_θθ, S:E) from the gradients H = F − 1 (in F, which becomes F) and D, and those of the hoop."""
    # E from H, not FᵀF − 1, which would leave round-off of 1 where the strain is small
    trace = 0.0
    for i in range(axes):
        for j in range(i + 1):
            square = 0.0
            change = D[i, j] + D[j, i]
            for k in range(axes):
                square += F[k, i] * F[k, j] + 0.25 * D[k, i] * D[k, j]
                change += F[k, i] * D[k, j] + D[k, i] * F[k, j]
            S[i, j] = 0.5 * (elastic * (F[i, j] + F[j, i] + square) + viscous * change)
        trace += S[i, i]
    around = elastic * (hoop + 0.5 * hoop * hoop + 0.125 * dhoop * dhoop) + viscous * (1.0 + hoop) * dhoop
    trace += around
    work = lam * trace * trace + 2.0 * mu * around * around
    for i in range(axes):
        for j in range(i):
            work += 4.0 * mu * S[i, j] * S[i, j]
            S[i, j] *= 2.0 * mu
            S[j, i] = S[i, j]
        work += 2.0 * mu * S[i, i] * S[i, i]
        S[i, i] = lam * trace + 2.0 * mu * S[i, i]
        F[i, i] += 1.0
    return lam * trace + 2.0 * mu * around, work


@njit(inline="always")
def _mean_force(axes, nodes, gradients, hoop, weight, lam, mu, elastic, viscous, u0, u1, force):
    """`mean_force` on a constant number of axes."""
    cells, points, _, size = gradients.shape
    energy = 0.0
    mid = np.empty((axes, size))
    delta = np.empty((axes, size))
    out = np.empty((axes, size))
    F = np.empty((axes, axes))
    D = np.empty((axes, axes))
    S = np.empty((axes, axes))
    axisymmetric = hoop.size > 0
    for c in range(cells):
        _gather(axes, nodes[c], axisymmetric, u0, u1, mid, delta)
        out[:] = 0.0
        for q in range(points):
            _deform(axes, gradients[c, q], mid, delta, F, D)
            h = 0.0
            dh = 0.0
            if axisymmetric:
                for n in range(size):
                    h += hoop[c, q, n] * mid[0, n]
                    dh += hoop[c, q, n] * delta[0, n]
            around, work = _stress(axes, lam, mu, elastic, viscous, F, D, h, dh, S)
            w = weight[c, q]
            energy += 0.5 * w * work
            for i in range(axes):
                for j in range(axes):
                    P = 0.0
                    for k in range(axes):
                        P += F[i, k] * S[k, j]
                    P *= w
                    for n in range(size):
                        out[i, n] += P * gradients[c, q, j, n]
            if axisymmetric:
                for n in range(size):
                    out[0, n] += w * (1.0 + h) * around * hoop[c, q, n]
        for i in range(axes):
            for n in range(size):
                force[axes * nodes[c, n] + i] += out[i, n]
    return energy


@functools.cache
def mean_force(axes):
    """The kernel that adds f_a = ∫ F S ∇φ_a to force (d,), on 2 or 3 axes; compiled when it is first asked for.

    It returns ½ ∫ S:(strain that makes S), the energy where u₀ = u₁.
    """
    await_compilation(f"{__name__}.mean_force({axes})")

    @njit(_REAL(*_CELLS, _REAL, _REAL, _VECTOR, _VECTOR, types.Array(_REAL, 1, "C")), cache=True, fastmath=FAST)
    def kernel(nodes, gradients, hoop, weight, lam, mu, elastic, viscous, u0, u1, force):
        return _mean_force(axes, nodes, gradients, hoop, weight, lam, mu, elastic, viscous, u0, u1, force)

    return kernel


@functools.cache
def least_volume(axes):
    """The kernel of the smallest det F at the points, and its cell; F of the plane alone (and the hoop's, if any) on 2
    axes."""

    @njit(
        types.Tuple((_REAL, types.int64))(_readonly(types.int64, 2), _readonly(_REAL, 4), _readonly(_REAL, 3), _VECTOR),
        cache=True,
        fastmath=FAST,
    )
    def kernel(nodes, gradients, hoop, u):
        cells, points, _, size = gradients.shape
        mid = np.empty((axes, size))
        delta = np.empty((axes, size))
        F = np.empty((axes, axes))
        D = np.empty((axes, axes))
        axisymmetric = hoop.size > 0
        least, cell = np.inf, -1
        for c in range(cells):
            _gather(axes, nodes[c], axisymmetric, u, u, mid, delta)
            for q in range(points):
                _deform(axes, gradients[c, q], mid, delta, F, D)
                for i in range(axes):
                    F[i, i] += 1.0
                if axes == 2:
                    volume = F[0, 0] * F[1, 1] - F[0, 1] * F[1, 0]
                else:
                    volume = F[0, 0] * (F[1, 1] * F[2, 2] - F[1, 2] * F[2, 1])
                    volume -= F[0, 1] * (F[1, 0] * F[2, 2] - F[1, 2] * F[2, 0])
                    volume += F[0, 2] * (F[1, 0] * F[2, 1] - F[1, 1] * F[2, 0])
                if axisymmetric:
                    h = 1.0
                    for n in range(size):
                        h += hoop[c, q, n] * mid[0, n]
                    volume *= h
                if not volume >= least:
                    least, cell = volume, c
        return least, cell

    return kernel


@functools.cache
def mean_tangent():
    """The kernel that adds scale · ∂f/∂u₁ of `mean_force` (elastic 1) to data, the values of a CSR matrix (see
    `block_slots`).

    lame: (λ, μ); factors: (viscous, lead, scale).

    With R = F + lead · D (R = F₁ for lead = ½), p_a = F ∇φ_a, r_a = R ∇φ_a, and m = ½ + viscous:
    K_ab = m ∫ [λ p_a ⊗ r_b + μ p_b ⊗ r_a + μ (∇φ_a·∇φ_b) F Rᵀ] + ½ ∫ (∇φ_a·S ∇φ_b) 1; lead = 0 makes it symmetric.
    The hoop strain adds F_θθ φ_a/r to the λ term's p_a, and terms of its own in rr.
    """
    await_compilation(f"{__name__}.mean_tangent()")

    @njit(
        types.void(
            *_CELLS[:4], types.UniTuple(_REAL, 2), types.UniTuple(_REAL, 3), _VECTOR, _VECTOR,
            _readonly(types.int32, 1), _readonly(types.int32, 3), types.Array(_REAL, 1, "C"),
        ),
        cache=True,
        fastmath=FAST,
    )  # fmt: skip
    def kernel(nodes, gradients, hoop, weight, lame, factors, u0, u1, starts, slots, data):
        lam, mu = lame
        viscous, lead, scale = factors
        cells, points, axes, size = gradients.shape
        mid = np.empty((axes, size))
        delta = np.empty((axes, size))
        F = np.empty((axes, axes))
        D = np.empty((axes, axes))
        S = np.empty((axes, axes))
        A = np.empty((axes, axes))
        p = np.empty((axes, size))
        r = np.empty((axes, size))
        bulk = np.empty((axes, size))
        flat = np.empty(size)
        geometric = np.empty(size)
        K = np.empty((size, axes, axes, size))
        axisymmetric = hoop.size > 0
        for c in range(cells):
            _gather(axes, nodes[c], axisymmetric, u0, u1, mid, delta)
            K[:] = 0.0
            for q in range(points):
                _deform(axes, gradients[c, q], mid, delta, F, D)
                h = 0.0
                dh = 0.0
                if axisymmetric:
                    for n in range(size):
                        h += hoop[c, q, n] * mid[0, n]
                        dh += hoop[c, q, n] * delta[0, n]
                around, _ = _stress(axes, lam, mu, 1.0, viscous, F, D, h, dh, S)
                m = scale * (0.5 + viscous) * weight[c, q]
                half = 0.5 * scale * weight[c, q]
                for i in range(axes):
                    for n in range(size):
                        p[i, n] = 0.0
                        r[i, n] = 0.0
                    for j in range(axes):
                        A[i, j] = 0.0
                        for k in range(axes):
                            A[i, j] += m * mu * F[i, k] * (F[j, k] + lead * D[j, k])
                        F_lead = F[i, j] + lead * D[i, j]
                        for n in range(size):
                            p[i, n] += F[i, j] * gradients[c, q, j, n]
                            r[i, n] += F_lead * gradients[c, q, j, n]
                    for n in range(size):
                        bulk[i, n] = m * lam * r[i, n]
                if axisymmetric:
                    for n in range(size):
                        bulk[0, n] += m * lam * (1.0 + h + lead * dh) * hoop[c, q, n]
                for a in range(size):
                    for b in range(size):
                        flat[b] = 0.0
                        geometric[b] = 0.0
                    for j in range(axes):
                        slope = gradients[c, q, j, a]
                        traction = 0.0
                        for k in range(axes):
                            traction += S[j, k] * gradients[c, q, k, a]
                        traction *= half
                        for b in range(size):
                            flat[b] += slope * gradients[c, q, j, b]
                            geometric[b] += traction * gradients[c, q, j, b]
                    for i in range(axes):
                        trace_slope = p[i, a]
                        if axisymmetric and i == 0:
                            trace_slope += (1.0 + h) * hoop[c, q, a]
                        for j in range(axes):
                            shear = m * mu * r[j, a]
                            for b in range(size):
                                K[a, i, j, b] += trace_slope * bulk[j, b] + shear * p[i, b] + A[i, j] * flat[b]
                        for b in range(size):
                            K[a, i, i, b] += geometric[b]
                    if axisymmetric:
                        ring = 2.0 * m * mu * (1.0 + h) * (1.0 + h + lead * dh) + half * around
                        ring *= hoop[c, q, a]
                        for b in range(size):
                            K[a, 0, 0, b] += ring * hoop[c, q, b]
            for a in range(size):
                for i in range(axes):
                    start = starts[axes * nodes[c, a] + i]
                    for b in range(size):
                        for j in range(axes):
                            data[start + slots[c, a, b] + j] += K[a, i, j, b]

    return kernel
