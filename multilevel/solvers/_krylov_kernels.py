"""Increments of Newton's method on some hundred impulses by GMRES, inside of compiled kernels.

SciPy's GMRES, which `large_contact` calls, cannot be called from compiled code, where these increments are found.
"""

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel.solvers._dense_kernels import eliminate

KRYLOV = 80  # largest number of iterations of an increment
# relative residual of such an increment: this share of the certificate, within bounds
KRYLOV_SHARE, KRYLOV_MIN, KRYLOV_MAX = 0.1, 1e-5, 1e-2
KRYLOV_VERIFIED = 1e-3  # certificate below which the system is verified to be regular, and the residual of that


@njit(cache=True)
def _blocks(p, system, unknown, point, root, unit):
    """Inverses (k, 3, 3) of the diagonal blocks of the points in the scaled system of `newton_increment`; where one is
    singular, the identity."""
    out, block, rhs = np.zeros((p.area.size, 3, 3)), np.empty((3, 3)), np.empty(3)
    first = 0
    while first < unknown.size:
        k, last = point[first], first
        while last < unknown.size and point[last] == k:
            last += 1
        n, size = p.first[k], last - first
        for column in range(size):
            for r in range(size):
                i = unknown[first + r]
                a = i - n
                for c in range(size):
                    j = unknown[first + c]
                    value = system.on_impulse[k, a, j - n]
                    for b in range(p.first[k + 1] - n):
                        value += system.on_velocity[k, a, b] * p.delassus[n + b, j]
                    block[r, c] = value * root[first + c] * unit[first + r]
                rhs[r] = 1.0 if r == column else 0.0
            regular = eliminate(block, rhs, size)
            for r in range(size):
                out[k, r, column] = rhs[r] if regular else (1.0 if r == column else 0.0)
        first = last
    return out


@called_njit()
def round_operator(delassus, rounded):
    """The lower triangle of W/size in single precision, into rounded (r, r); returns size, the largest W_ii."""
    size = 0.0
    for i in range(delassus.shape[0]):
        size = max(size, delassus[i, i])
    for i in range(delassus.shape[0]):
        source, row = delassus[i], rounded[i]
        for j in range(i + 1):
            row[j] = source[j] / size
    return size


@called_njit(fastmath={"contract", "reassoc"})
def _multiply_rounded(rounded, x, out):
    """out (r,) = W x in single precision, by the lower triangle: half the memory is read."""
    out[:] = 0.0
    for i in range(x.size):
        row, x_i, total = rounded[i], x[i], np.float32(0.0)
        for j in range(i):
            total += row[j] * x[j]
            out[j] += row[j] * x_i
        out[i] += total + row[i] * x_i


@called_njit()
def _apply_rows(p, system, unknown, point, root, unit, blocks, x, rounded, size, impulse, velocity, out):
    """out (n,): the preconditioned scaled system of `newton_increment` times x (n,), W in single precision.

    impulse, velocity (r,): work arrays.
    """
    impulse[:] = 0.0
    for j in range(unknown.size):
        impulse[unknown[j]] = root[j] * size * x[j]
    _multiply_rounded(rounded, impulse, velocity)
    rows = np.empty(3)
    first = 0
    while first < unknown.size:
        k, last = point[first], first
        while last < unknown.size and point[last] == k:
            last += 1
        n = p.first[k]
        for j in range(first, last):
            a = unknown[j] - n
            value = 0.0
            for b in range(p.first[k + 1] - n):
                value += (
                    system.on_velocity[k, a, b] * velocity[n + b] + system.on_impulse[k, a, b] * impulse[n + b] / size
                )
            rows[j - first] = value * unit[j]
        for r in range(last - first):
            value = 0.0
            for c in range(last - first):
                value += blocks[k, r, c] * rows[c]
            out[first + r] = value
        first = last


@called_njit()
def solve_iteratively(p, system, scaled, krylov, rhs):
    """Solves the scaled system of `newton_increment` into `rhs` (n,) by GMRES; False where `KRYLOV` iterations do
    not suffice for the tolerance.

    scaled: the unknown rows (n,), their points, and the scales of unknowns and equations. krylov: W in single
    precision, its size (see `round_operator`) and the tolerance, relative to the right-hand side. Newton's next
    residual is of double precision: rounding W costs it digits of one increment, not of the solution. An iteration is a
    product with W; preconditioned by the blocks of the points. Source: Saad & Schultz, SIAM J. Sci. Stat. Comput. 7
    (1986) 856–869.
    """
    unknown, point, root, unit = scaled
    n, max_iterations = unknown.size, KRYLOV
    blocks = _blocks(p, system, unknown, point, root, unit)
    rounded, weight, tolerance = krylov
    impulse = np.empty(p.delassus.shape[0], dtype=np.float32)
    velocity = np.empty_like(impulse)
    basis, upper = np.empty((max_iterations + 1, n)), np.zeros((max_iterations, max_iterations))
    cosines, sines, target = np.empty(max_iterations), np.empty(max_iterations), np.zeros(max_iterations + 1)
    first = 0
    while first < n:  # the right-hand side, preconditioned
        k, last = point[first], first
        while last < n and point[last] == k:
            last += 1
        for r in range(last - first):
            value = 0.0
            for c in range(last - first):
                value += blocks[k, r, c] * rhs[first + c]
            basis[0, first + r] = value
        first = last
    size = np.sqrt(np.dot(basis[0], basis[0]))
    if size == 0.0:
        rhs[:n] = 0.0
        return True
    basis[0] /= size
    target[0] = size
    used = 0
    converged = False
    for step in range(max_iterations):
        vector = basis[step + 1]
        _apply_rows(
            p, system, unknown, point, root, unit, blocks, basis[step], rounded, weight, impulse, velocity, vector
        )
        for _ in range(2):  # orthogonalised twice
            for i in range(step + 1):
                projection = np.dot(basis[i], vector)
                upper[i, step] += projection
                for j in range(n):
                    vector[j] -= projection * basis[i, j]
        length = np.sqrt(np.dot(vector, vector))
        for i in range(step):
            above, below = upper[i, step], upper[i + 1, step]
            upper[i, step] = cosines[i] * above + sines[i] * below
            upper[i + 1, step] = cosines[i] * below - sines[i] * above
        above = upper[step, step]
        radius = np.hypot(above, length)
        if not radius > 0.0:
            break
        cosines[step], sines[step] = above / radius, length / radius
        upper[step, step] = radius
        target[step + 1] = -sines[step] * target[step]
        target[step] *= cosines[step]
        used = step + 1
        converged = abs(target[used]) <= tolerance * size
        if converged or not length > 0.0:
            break
        vector /= length
    if not converged:
        return False
    for i in range(used - 1, -1, -1):
        for j in range(i + 1, used):
            target[i] -= upper[i, j] * target[j]
        target[i] /= upper[i, i]
    rhs[:n] = 0.0
    for i in range(used):
        for j in range(n):
            rhs[j] += target[i] * basis[i, j]
    return True
