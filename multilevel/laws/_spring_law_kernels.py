"""Numba kernels of the laws of springs: mean traction over a step; equations in `arlequin.multilevel.laws.springs`.

The gap of a row is the elongation e of the spring, and its traction −f: each kernel returns the stored and the
dissipated part of −f̄, with their derivatives by the elongation at the end of the step.
"""

import numpy as np
from numba import complex128, float64, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.laws._search_kernels import knots_passed
from arlequin.multilevel.laws.signature import REGULAR

_STEPS = 100  # of Newton's method on a monotone scalar equation, safeguarded by bisection
_PAIR = types.UniTuple(float64, 2)


@njit(int64(float64[::1], int64, float64), cache=True)
def _piece(table, n, e):
    """Index of the linear piece at an elongation: 0 below the first knot, n beyond the last."""
    return knots_passed(table, 3, n, e)


@njit(_PAIR(float64[::1], int64, int64, float64), cache=True)
def _line(table, n, piece, e):
    """Force and stiffness at an elongation on a piece."""
    if piece == 0:
        return table[3 + n] + table[1] * (e - table[3]), table[1]
    k = piece - 1
    if piece == n:
        return table[3 + n + k] + table[2] * (e - table[3 + k]), table[2]
    slope = (table[3 + n + piece] - table[3 + n + k]) / (table[3 + piece] - table[3 + k])
    return table[3 + n + k] + slope * (e - table[3 + k]), slope


@njit(_PAIR(float64[::1], int64, float64, float64), cache=True)
def _mean_line(table, n, start, end):
    """∫₀¹ f(e₀ + x Δe) dx and its derivative by the end, ∫₀¹ x f′(e₀ + x Δe) dx."""
    first, last = _piece(table, n, start), _piece(table, n, end)
    if first == last:
        before, stiffness = _line(table, n, first, start)
        return 0.5 * (before + _line(table, n, first, end)[0]), 0.5 * stiffness
    width, direction = end - start, 1 if last > first else -1
    mean, slope, x, piece, at = 0.0, 0.0, 0.0, first, start
    for _ in range(n + 1):
        edge = end if piece == last else table[3 + (piece if direction > 0 else piece - 1)]
        x_end = 1.0 if piece == last else min(max((edge - start) / width, x), 1.0)
        before, stiffness = _line(table, n, piece, at)
        mean += 0.5 * (x_end - x) * (before + _line(table, n, piece, edge)[0])
        slope += 0.5 * stiffness * (x_end - x) * (x_end + x)
        if piece == last:
            return mean, slope
        x, at, piece = x_end, edge, piece + direction
    return np.nan, np.nan


@njit(_PAIR(float64, float64, float64, float64, float64, float64), cache=True)
def _weighted(theta, mean, slope, before, after, stiffness):
    """Traction −f̄ of the θ-scheme and its derivative: the mean over the path at θ = 1/2, the end of the step at θ = 1,
    its beginning at θ = 0."""
    if theta >= 0.5:
        share, edge, edge_slope = 2.0 * theta - 1.0, after, stiffness
    else:
        share, edge, edge_slope = 1.0 - 2.0 * theta, before, 0.0
    return -((1.0 - share) * mean + share * edge), -((1.0 - share) * slope + share * edge_slope)


@njit(REGULAR, cache=True)
def table_spring(coefficients, history, gap, step, theta, trial):
    """Piecewise linear force; coefficients: n, stiffness below and beyond the table, e (n,), f (n,)."""
    n, start = int(coefficients[0]), history[0]
    trial[0] = gap
    if not (np.isfinite(gap) and np.isfinite(start)):
        return np.nan, np.nan, 0.0, 0.0
    mean, slope = _mean_line(coefficients, n, start, gap)
    if theta == 0.5:
        return -mean, -slope, 0.0, 0.0
    before, _ = _line(coefficients, n, _piece(coefficients, n, start), start)
    after, stiffness = _line(coefficients, n, _piece(coefficients, n, gap), gap)
    stored, stored_slope = _weighted(theta, mean, slope, before, after, stiffness)
    return stored, stored_slope, 0.0, 0.0


@njit(REGULAR, cache=True)
def cubic_spring(coefficients, history, gap, step, theta, trial):
    """f = k₁ e + k₂ e² + k₃ e³; coefficients: k₁, k₂, k₃."""
    k1, k2, k3 = coefficients[:3]
    a, b = history[0], gap
    trial[0] = gap
    mean = 0.5 * k1 * (a + b) + k2 * (a * a + a * b + b * b) / 3.0 + 0.25 * k3 * (a + b) * (a * a + b * b)
    slope = 0.5 * k1 + k2 * (a + 2.0 * b) / 3.0 + 0.25 * k3 * (a * a + 2.0 * a * b + 3.0 * b * b)
    if theta == 0.5:
        return -mean, -slope, 0.0, 0.0
    before, after = a * (k1 + a * (k2 + a * k3)), b * (k1 + b * (k2 + b * k3))
    stiffness = k1 + b * (2.0 * k2 + b * 3.0 * k3)
    stored, stored_slope = _weighted(theta, mean, slope, before, after, stiffness)
    return stored, stored_slope, 0.0, 0.0


@njit(cache=True)
def jenkins_path(stiffness, limit, before, width):
    """Mean force on a straight path, its part that is lost, and the force of the slider at the end; numbers are real or
    complex, for derivatives by a complex step."""
    after, mean, lost = before + stiffness * width, before + 0.5 * stiffness * width, 0.0 * before
    if abs(after.real) > limit.real:  # slides in a part of the step, at ±F
        after = limit if width.real > 0.0 else -limit
        elastic = (after - before) / (stiffness * width)  # share of the path
        if elastic.real < 0.0:
            elastic = 0.0 * elastic
        mean = after - 0.5 * (after - before) * elastic
        lost = after * (1.0 - elastic)
    return mean, lost, after


@njit(REGULAR, cache=True)
def jenkins(coefficients, history, gap, step, theta, trial):
    """Spring K in series with a slider of the limit F, coefficients K, F; history: e, force of the slider."""
    stiffness, limit = coefficients[:2]
    before, width = history[1], gap - history[0]
    mean, lost, after = jenkins_path(stiffness, limit, before, width)
    trial[0], trial[1] = gap, after
    slope, end_stiffness, lost_slope = 0.5 * stiffness, stiffness, 0.0
    if abs(before + stiffness * width) > limit:
        elastic = min(max((after - before) / (stiffness * width), 0.0), 1.0)
        slope, lost_slope, end_stiffness = 0.5 * (after - before) * elastic / width, after * elastic / width, 0.0
    total, total_slope = _weighted(theta, mean, slope, before, after, end_stiffness)
    return total + lost, total_slope + lost_slope, -lost, -lost_slope


_C2, _C3 = complex128[:, ::1], complex128[:, :, ::1]
_PATHS = types.void(_C2, _C2, _C2, _C2, float64, _C3)


@njit(complex128(float64, complex128, complex128, complex128), cache=True)
def _mean_of_scheme(theta, mean, before, after):
    """Mean force of the θ-scheme; see `_weighted`."""
    share, edge = (2.0 * theta - 1.0, after) if theta >= 0.5 else (1.0 - 2.0 * theta, before)
    return (1.0 - share) * mean + share * edge


@njit(_PATHS, cache=True)
def jenkins_paths(constants, start, end, before, theta, out):
    """The kernel `jenkins` of n laws in b steps, in complex numbers: constants (n, c), elongations at both ends and
    internal variables at the start (b, n); out (3, b, n): stored and dissipated part, internal variable at the end."""
    for i in range(start.shape[0]):
        for k in range(start.shape[1]):
            mean, lost, after = jenkins_path(constants[k, 0], constants[k, 1], before[i, k], end[i, k] - start[i, k])
            out[0, i, k] = lost - _mean_of_scheme(theta, mean, before[i, k], after)
            out[1, i, k], out[2, i, k] = -lost, after


@njit(float64(float64, float64, float64, float64, float64), cache=True)
def middle_variable(start, width, beta, gamma, exponent):
    """Root z of 2(z − z₀) = Δe (1 − |z|ⁿ (γ + β sgn(z Δe))): z at the middle of a step. The equation is monotone for
    β ≥ |γ|, with a derivative of at least 2, so that |residual|/2 bounds the distance of the root."""
    z, size, sign = start + 0.5 * width, abs(width), 1.0 if width > 0.0 else -1.0
    low, high = -np.inf, np.inf
    for _ in range(_STEPS):
        power, side = abs(z) ** exponent, 1.0 if z > 0.0 else -1.0
        residual = 2.0 * (z - start) - width + size * power * (sign * gamma + side * beta)
        low = max(low, z - 0.5 * residual if residual > 0.0 else z)
        high = min(high, z if residual > 0.0 else z - 0.5 * residual)
        slope = 2.0
        if z != 0.0:
            slope += size * exponent * (power / abs(z)) * (sign * side * gamma + beta)
        following = z - residual / slope
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if following == z or abs(following - z) <= 2e-16 * abs(z):
            return following
        z = following
    return z


@njit(cache=True)
def bouc_wen_rate(beta, gamma, exponent, width, z):
    """Δz/Δe at the middle z of a step, real or complex; at rest the mean of both directions of loading."""
    sign = 0.0 if width.real == 0.0 else (1.0 if width.real > 0.0 else -1.0)
    if z.real == 0.0:
        return 1.0 + 0.0 * z
    side = 1.0 if z.real > 0.0 else -1.0
    return 1.0 - (side * z) ** exponent * (gamma + beta * sign * side)


@njit(REGULAR, cache=True)
def bouc_wen(coefficients, history, gap, step, theta, trial):
    """f = α k e + (1 − α) k z; coefficients: α k, (1 − α) k, β, γ, n; history: e, z."""
    elastic, hysteretic, beta, gamma, exponent = coefficients[:5]
    start, before, width = history[0], history[1], gap - history[0]
    trial[0] = gap
    if not np.isfinite(width):
        return np.nan, np.nan, 0.0, 0.0
    z = before if width == 0.0 else middle_variable(before, width, beta, gamma, exponent)
    rate = bouc_wen_rate(beta, gamma, exponent, width, z)
    rate_slope = 0.0 if z == 0.0 else exponent * (rate - 1.0) / z
    on_end = rate / (2.0 - width * rate_slope)  # dz/de₁
    after = 2.0 * z - before
    trial[1] = after
    mean, slope = 0.5 * elastic * (start + gap) + hysteretic * z, 0.5 * elastic + hysteretic * on_end
    lost = hysteretic * z * (1.0 - rate)
    lost_slope = hysteretic * (1.0 - rate - z * rate_slope) * on_end
    ends = elastic * start + hysteretic * before, elastic * gap + hysteretic * after
    total, total_slope = _weighted(theta, mean, slope, ends[0], ends[1], elastic + 2.0 * hysteretic * on_end)
    return total + lost, total_slope + lost_slope, -lost, -lost_slope


@njit(_PATHS, cache=True)
def bouc_wen_paths(constants, start, end, before, theta, out):
    """The kernel `bouc_wen` of n laws in b steps, in complex numbers; see `jenkins_paths`."""
    for i in range(start.shape[0]):
        for k in range(start.shape[1]):
            elastic, hysteretic, beta, gamma, exponent = constants[k, :5]
            width, first = end[i, k] - start[i, k], before[i, k]
            z = first
            if width.real != 0.0:
                z = 0.0 * first + middle_variable(first.real, width.real, beta.real, gamma.real, exponent.real)
            # a step of Newton's method from the real root has the imaginary part of the root
            rate = bouc_wen_rate(beta, gamma, exponent, width, z)
            rate_slope = 0.0 * z if z.real == 0.0 else exponent * (rate - 1.0) / z
            step = (2.0 * (z - first) - width * rate) / (2.0 - width * rate_slope)
            z -= complex(0.0, step.imag)
            rate = bouc_wen_rate(beta, gamma, exponent, width, z)
            after, lost = 2.0 * z - first, hysteretic * z * (1.0 - rate)
            mean = 0.5 * elastic * (start[i, k] + end[i, k]) + hysteretic * z
            ends = elastic * start[i, k] + hysteretic * first, elastic * end[i, k] + hysteretic * after
            out[0, i, k] = lost - _mean_of_scheme(theta, mean, ends[0], ends[1])
            out[1, i, k], out[2, i, k] = -lost, after
