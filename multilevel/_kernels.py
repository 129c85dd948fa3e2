"""Numba kernels: the tractions of the regular laws and the solver of the normal contact problem.

They share a file because numba's cache does not see edits across files.
"""

import numpy as np
from numba import boolean, float64, int64, njit, types

from multilevel._signature import REGULAR, REGULAR_KERNEL

NO_LEVEL, GAP_LEVEL, VELOCITY_LEVEL = 0, 1, 2


@njit(types.UniTuple(float64, 2)(float64, float64, float64), cache=True)
def mean_power(start, end, exponent):
    """Mean of ⟨s⟩₊^m over the segment from `start` to `end`, and its derivative by `end`.

    mean = (⟨end⟩^{m+1} − ⟨start⟩^{m+1}) / ((m + 1)(end − start)), written so that it stays exact to round-off
    when the two ends are close (|x| ≤ 1/2, x = end/start − 1): start^m · expm1((m+1) log1p(x)) / ((m+1) x).
    """
    width = end - start
    if start <= 0.0 and end <= 0.0:
        return 0.0, 0.0
    if start <= 0.0 or end <= 0.0:  # the layer is entered or left within the step
        deep = max(start, end)
        mean = deep ** (exponent + 1.0) / ((exponent + 1.0) * abs(width))
        if end > 0.0:
            return mean, (end**exponent - mean) / width
        return mean, -mean / width
    ratio = width / start
    if abs(ratio) > 0.5:  # nothing cancels in the closed form, and powers of a large ratio would overflow
        mean = (end ** (exponent + 1.0) - start ** (exponent + 1.0)) / ((exponent + 1.0) * width)
        return mean, (end**exponent - mean) / width
    mean = start**exponent
    if ratio != 0.0:
        mean *= np.expm1((exponent + 1.0) * np.log1p(ratio)) / ((exponent + 1.0) * ratio)
    if abs(ratio) < 1e-4:  # Taylor series: the closed form of the derivative cancels here
        m = exponent
        slope = start ** (m - 1.0) * m * (0.5 + (m - 1.0) * ratio / 3.0 * (1.0 + 3.0 * (m - 2.0) * ratio / 8.0))
        return mean, slope
    return mean, (end**exponent - mean) / width


@njit(types.UniTuple(float64, 2)(float64, float64), cache=True)
def power(crush, exponent):
    """⟨s⟩₊^m and its derivative by s."""
    if crush <= 0.0:
        return 0.0, 0.0
    return crush**exponent, exponent * crush ** (exponent - 1.0)


@njit(REGULAR, cache=True)
def power_law(coefficients, history, gap, step, theta, trial):
    """Power-law layer with loading (or two-way) damping; equations in `multilevel.asperities.Asperities`.

    coefficients: κ, m, a, c, m', 1 where damping acts both ways.
    """
    kappa, exponent, height, viscosity, damping_exponent, both = coefficients
    start = height - history[0]
    end = height - gap
    trial[0] = gap

    mean, slope = mean_power(start, end, exponent)
    if theta >= 0.5:  # discrete gradient at 1/2, end of the step at 1
        edge, edge_slope = power(end, exponent)
        share = 2.0 * theta - 1.0
    else:  # beginning of the step at 0
        edge, edge_slope = power(start, exponent)[0], 0.0
        share = 1.0 - 2.0 * theta
    stored = kappa * ((1.0 - share) * mean + share * edge)
    stored_slope = -kappa * ((1.0 - share) * slope + share * edge_slope)
    if viscosity == 0.0:
        return stored, stored_slope, 0.0, 0.0

    rate = (gap - history[0]) / step
    if rate >= 0.0 and both == 0.0:
        return stored, stored_slope, 0.0, 0.0
    area, area_slope = mean_power(start, end, damping_exponent)
    dissipated = -viscosity * area * rate
    dissipated_slope = viscosity * (area_slope * rate - area / step)
    if dissipated < -stored:  # the layer cannot pull
        return stored, stored_slope, -stored, -stored_slope
    return stored, stored_slope, dissipated, dissipated_slope


@njit(
    types.void(
        float64[::1], int64, types.ListType(REGULAR_KERNEL), int64[::1], int64[::1], float64[:, ::1],
        float64[:, ::1], float64[:, ::1], float64, float64, float64[::1],
    ),
    cache=True,
)  # fmt: skip
def _tractions(gap, k, kernels, rows, kind, coefficients, history, trial, step, theta, out):
    """Sums the regular laws of contact point k: stored, its slope, dissipated, its slope (per area)."""
    out[:] = 0.0
    for row in range(rows[k], rows[k + 1]):
        stored, stored_slope, dissipated, dissipated_slope = kernels[kind[row]](
            coefficients[row], history[row], gap[k], step, theta, trial[row]
        )
        out[0] += stored
        out[1] += stored_slope
        out[2] += dissipated
        out[3] += dissipated_slope


@njit(types.boolean(float64[:, ::1], float64[::1]), cache=True)
def _eliminate(matrix, right):
    """Solves the dense system in place by Gauss elimination with row pivoting; False where it is singular."""
    n = right.size
    for i in range(n):
        best = i
        for r in range(i + 1, n):
            if abs(matrix[r, i]) > abs(matrix[best, i]):
                best = r
        if matrix[best, i] == 0.0:
            return False
        if best != i:
            for j in range(i, n):
                matrix[i, j], matrix[best, j] = matrix[best, j], matrix[i, j]
            right[i], right[best] = right[best], right[i]
        for r in range(i + 1, n):
            factor = matrix[r, i] / matrix[i, i]
            if factor != 0.0:
                for j in range(i + 1, n):
                    matrix[r, j] -= factor * matrix[i, j]
                right[r] -= factor * right[i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            right[i] -= matrix[i, j] * right[j]
        right[i] /= matrix[i, i]
    return True


@njit(types.void(float64[:, ::1], float64[::1], float64[::1]), cache=True)
def _product(delassus, impulse, out):
    """out = W P by the rows of the symmetric W at the points that have an impulse."""
    out[:] = 0.0
    for j in range(impulse.size):
        if impulse[j] != 0.0:
            for k in range(impulse.size):
                out[k] += delassus[j, k] * impulse[j]


@njit(
    types.boolean(
        float64[:, ::1], float64, float64[::1], float64[::1], float64[::1], boolean[::1], int64[::1], float64[::1],
    ),
    cache=True,
)  # fmt: skip
def _newton(delassus, lever, slope, compliance, right, active, level, space):
    """The Newton step δ (n,), in place of the residual `right`; False where its matrix is singular.

    Active points state their constraint, (f W δ)_k + c_k (δ − s lever W δ)_k = r_k with f = lever on the gap and 1
    on the rate; the others their law, δ_k − s_k lever (W δ)_k = r_k, with s the slope of the regular laws' impulse.
    Where s = 0 too, δ_k is known, and only the engaged points (e,) are left to eliminate. space (n²,): room for
    their matrix.
    """
    n = right.size
    engaged = np.flatnonzero(active | (slope != 0.0))
    matrix = space[: engaged.size**2].reshape(engaged.size, engaged.size)
    rest = np.empty(engaged.size)
    for a in range(engaged.size):
        k = engaged[a]
        own = lever * slope[k]
        if active[k]:
            factor = (lever if level[k] == GAP_LEVEL else 1.0) - compliance[k] * own
            diagonal = compliance[k]
        else:
            factor = -own
            diagonal = 1.0
        rest[a] = right[k]
        for j in range(n):
            if not active[j] and slope[j] == 0.0 and right[j] != 0.0:
                rest[a] -= factor * delassus[k, j] * right[j]
        for b in range(engaged.size):
            matrix[a, b] = factor * delassus[k, engaged[b]]
        matrix[a, a] += diagonal
    if not _eliminate(matrix, rest):
        return False
    for a in range(engaged.size):
        right[engaged[a]] = rest[a]
    return True


@njit(
    types.Tuple((int64, float64))(
        float64[:, ::1], float64, float64[::1], float64[::1], boolean[::1], float64[::1], float64[::1],
        int64[::1],
        types.ListType(REGULAR_KERNEL), int64[::1], int64[::1], float64[:, ::1], float64[:, ::1], float64[:,
        ::1],
        float64, float64, float64[::1], float64[::1], float64[::1], int64,
    ),
    cache=True,
)  # fmt: skip
def solve_normal(
    delassus, lever, gap_free, rate_free, closed, area, compliance, level, kernels, rows, kind, coefficients,
    history, trial, step, theta, impulse, stored, dissipated, most,
):  # fmt: skip
    """Semismooth Newton on the normal contact problem; where its statuses cycle they change one at a time.

    With a positive definite operator, to change the status of the last wrong point alone never cycles
    (least-index rule; Murty, Linear Complementarity, Linear and Nonlinear Programming, 1988, §4.3).

    See `multilevel.solver.solve_normal` for the equations. `impulse` holds the first guess and receives the
    solution; `area` is area × impulse factor. Returns (iterations, residual relative to the impulse scale).
    """
    n = impulse.size
    gap = np.empty(n)
    law = np.empty((n, 4))
    residual = np.empty(n)
    idle = np.empty(n)
    wanted = np.zeros(n, dtype=np.bool_)  # statuses that the natural map asks for
    active = np.zeros(n, dtype=np.bool_)
    best = np.inf
    best_impulse = impulse.copy()
    best_wanted = wanted.copy()
    one_by_one = False
    push = np.empty(n)
    slope = np.empty(n)
    space = np.empty(n * n)
    stalled = 0
    used = 0
    for iteration in range(most + 1):
        used = iteration
        # residual of the natural map at the present impulses
        scale = 1e-300
        error = 0.0
        held = 0.0  # the same with the statuses of the last step
        _product(delassus, impulse, push)
        for k in range(n):
            gap[k] = gap_free[k] + lever * push[k]
            _tractions(gap, k, kernels, rows, kind, coefficients, history, trial, step, theta, law[k])
            slope[k] = area[k] * (law[k, 1] + law[k, 3])
            regular = area[k] * (law[k, 0] + law[k, 2])
            multiplier = impulse[k] - regular
            allowed = level[k] == GAP_LEVEL or (level[k] == VELOCITY_LEVEL and closed[k])
            own = delassus[k, k]
            if level[k] == GAP_LEVEL:
                own *= lever
                slack = gap[k]
                free = gap_free[k]
            else:
                slack = rate_free[k] + push[k]
                free = rate_free[k]
            slack += compliance[k] * multiplier
            wanted[k] = allowed and multiplier - slack / own > 0.0
            if wanted[k]:
                scale = max(scale, abs(free) / own)
            scale = max(scale, abs(impulse[k]), abs(regular))
            error = max(error, abs(slack / own) if wanted[k] else abs(multiplier))
            held = max(held, abs(slack / own) if active[k] else abs(multiplier))
            residual[k] = slack
            idle[k] = multiplier
        error /= scale
        if error < best:
            if error > 0.5 * best:
                stalled += 1
            else:
                stalled = 0
            best = error
            best_impulse[:] = impulse
            best_wanted[:] = wanted
        else:
            stalled += 1
        if best <= 1e-15 or (best <= 1e-13 and stalled >= 1) or iteration == most:
            break
        one_by_one = one_by_one or stalled >= 8
        if not one_by_one:
            active[:] = wanted
        elif held <= 1e-12 * scale:  # else Newton goes on with the statuses held
            for k in range(n - 1, -1, -1):
                if active[k] != wanted[k]:
                    active[k] = wanted[k]
                    break
        for k in range(n):
            if not active[k]:
                residual[k] = idle[k]
        if not _newton(delassus, lever, slope, compliance, residual, active, level, space):
            break
        for k in range(n):
            impulse[k] -= residual[k]

    impulse[:] = best_impulse
    _product(delassus, impulse, push)
    for k in range(n):
        gap[k] = gap_free[k] + lever * push[k]
        _tractions(gap, k, kernels, rows, kind, coefficients, history, trial, step, theta, law[k])
        stored[k] = area[k] * law[k, 0]
        dissipated[k] = area[k] * law[k, 2]
        if not best_wanted[k]:
            impulse[k] = stored[k] + dissipated[k]
    return used, best
