"""Numba kernels of the regularised stops; equations in `arlequin.cases.nonlinear_mode.stops`."""

import numpy as np

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.laws.signature import REGULAR

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
_SHORT = 1e-3  # path over clearance below which energy differences would cancel


@njit(cache=True)
def place(x, alpha, eta):
    """z in (−√c, √c) with z + η z/(α (c − z²)) = x, c = 1 − η/α: Newton's method between bounds that close in."""
    c, size = 1.0 - eta / alpha, abs(x)
    low, high = 0.0, np.sqrt(c)
    z = min(size, 0.5 * high)
    for _ in range(200):
        value = (z - size) * (c - z * z) + eta / alpha * z
        if value > 0.0:
            high = z
        else:
            low = z
        slope = (c - z * z) - 2.0 * z * (z - size) + eta / alpha
        next_z = z - value / slope
        if not low < next_z < high:
            next_z = 0.5 * (low + high)
        if abs(next_z - z) <= 2e-16 * high:
            break
        z = next_z
    return z if x >= 0.0 else -z


@njit(cache=True)
def force(x, alpha, eta):
    """F, N, its derivative by x, and the stored energy over the clearance, N."""
    z, c = place(x, alpha, eta), 1.0 - eta / alpha
    f = alpha * (x - z) if abs(z) > 0.9 else eta * z / (c - z * z)
    room = eta * z / f if abs(z) > 0.9 else c - z * z
    by_z = eta * (c + z * z) / room**2
    return f, by_z / (1.0 + by_z / alpha), f * f / (2.0 * alpha) - 0.5 * eta * np.log(room / c)


@njit(REGULAR, cache=True)
def stops(coefficients, history, gap, step, theta, trial):
    """Mean pressure over a step; coefficients: α = K e, N, e, m, η, N."""
    alpha, clearance, eta = coefficients[:3]
    trial[0] = gap
    start, end = 1.0 - history[0] / clearance, 1.0 - gap / clearance
    mean, slope = 0.0, 0.0
    end_force, end_slope, end_energy = force(end, alpha, eta)
    if abs(end - start) > _SHORT:
        mean = (end_energy - force(start, alpha, eta)[2]) / (end - start)
        slope = (end_force - mean) / (end - start)
    else:
        for i in range(_NODES.size):
            node_force, node_slope, _ = force(start + _NODES[i] * (end - start), alpha, eta)
            mean += _WEIGHTS[i] * node_force
            slope += _WEIGHTS[i] * _NODES[i] * node_slope
    share = abs(2.0 * theta - 1.0)
    edge = end_force if theta >= 0.5 else force(start, alpha, eta)[0]
    edge_slope = end_slope if theta >= 0.5 else 0.0
    pressure = (1.0 - share) * mean + share * edge
    return pressure, -((1.0 - share) * slope + share * edge_slope) / clearance, 0.0, 0.0
