"""Numba kernels of the friction laws whose coefficient depends on the state; equations in
`arlequin.multilevel.laws.friction_laws`, signature in `arlequin.multilevel.laws.signature`."""

import numpy as np
from numba import boolean, float64

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.laws.signature import FRICTION, FRICTION_KERNEL

_LARGE = 30.0  # argument from which asinh(x) is ln 2x to round-off


@njit(FRICTION, cache=True)
def static_dynamic(coefficients, rate, pressure, slip, increment, elapsed, stuck, variables, out):
    """coefficients: μ_s, μ_d, slip distance (0: sharp), velocity (0: none). out[0]: slip since the last stick, m."""
    static, dynamic, distance, velocity = coefficients[:4]
    out[0] = 0.0 if stuck or not pressure > 0.0 else variables[0] + increment
    out[1] = 0.0
    if stuck:
        return static
    if distance > 0.0:
        return static + (dynamic - static) * min((variables[0] + increment) / distance, 1.0)
    if velocity > 0.0:
        return dynamic + (static - dynamic) * np.exp(-rate / velocity)
    return dynamic


@njit(FRICTION, cache=True)
def stribeck(coefficients, rate, pressure, slip, increment, elapsed, stuck, variables, out):
    """coefficients: μ_s, μ_d, v_s, δ, viscous coefficient, s/m."""
    static, dynamic, velocity, exponent, viscous = coefficients[:5]
    out[0] = out[1] = 0.0
    return dynamic + (static - dynamic) * np.exp(-((rate / velocity) ** exponent)) + viscous * rate


@njit(cache=True)
def interpolate(table, x):
    """Piecewise linear y(x) of a table: n, then n abscissae that grow, then n ordinates; constant outside."""
    n = int(table[0])
    if x <= table[1]:
        return table[1 + n]
    if x >= table[n]:
        return table[2 * n]
    low, high = 1, n
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle] <= x:
            low = middle
        else:
            high = middle
    share = (x - table[low]) / (table[high] - table[low])
    return table[n + low] + share * (table[n + high] - table[n + low])


@njit(FRICTION, cache=True)
def velocity_table(coefficients, rate, pressure, slip, increment, elapsed, stuck, variables, out):
    """coefficients: a table of μ over the slip rate, see `interpolate`."""
    out[0] = out[1] = 0.0
    return interpolate(coefficients, rate)


@njit(FRICTION, cache=True)
def pressure_table(coefficients, rate, pressure, slip, increment, elapsed, stuck, variables, out):
    """coefficients: a table of μ over the pressure, see `interpolate`."""
    out[0] = out[1] = 0.0
    return interpolate(coefficients, max(pressure, 0.0))


@njit(FRICTION, cache=True)
def rate_and_state(coefficients, rate, pressure, slip, increment, elapsed, stuck, variables, out):
    """coefficients: μ₀, a, b, D_c, V₀, ln(V₀ θ₀/D_c), 1 for the slip law. variables: ln(V₀ θ/D_c) minus its initial
    value."""
    base, direct, evolution, distance, velocity, initial, by_slip = coefficients[:7]
    state, x = initial + variables[0], increment / distance
    if by_slip > 0.0:  # ψ̇ = −(v/D)(ψ + ln v/V₀), ψ = ln V₀θ/D
        if rate > 0.0:
            steady = -np.log(rate / velocity)
            state = steady + (state - steady) * np.exp(-x)
    else:  # θ̇ = 1 − vθ/D, exactly for constant v
        growth = velocity * elapsed / distance * (-np.expm1(-x) / x if x > 1e-300 else 1.0)
        state = np.log(np.exp(state - x) + growth)
    out[0], out[1] = state - initial, 0.0
    exponent = (base + evolution * state) / direct  # μ = a asinh(v/2V₀ e^exponent)
    if not rate > 0.0:
        return 0.0
    logarithm = np.log(0.5 * rate / velocity) + exponent
    if logarithm > _LARGE:
        return direct * (logarithm + np.log(2.0))
    return direct * np.arcsinh(np.exp(logarithm))


@njit(
    float64[::1](
        FRICTION_KERNEL, float64[::1], float64[:, ::1], float64[::1], float64, boolean[::1], float64[:, ::1],
        float64[:, ::1],
    ),
    cache=True,
)  # fmt: skip
def evaluate_many(kernel, coefficients, state, increment, elapsed, stuck, variables, out):
    """μ (k,) and internal variables `out` (k, v) of the points of one law; state (3, k): rate, pressure, slip."""
    mu = np.empty(increment.size)
    for k in range(mu.size):
        mu[k] = kernel(
            coefficients, state[0, k], state[1, k], state[2, k], increment[k], elapsed, stuck[k], variables[k], out[k]
        )  # fmt: skip
    return mu
