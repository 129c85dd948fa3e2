"""Numba kernels of regular laws: their internal variables along a path of gaps, and their tangents at a state."""

import numpy as np

from arlequin.models.kernel_cache import njit


@njit(cache=True)
def histories_along(rows, kernels, kind, coefficients, history, gaps, step, theta):
    """Histories (b, l, h) of the regular laws at the ends of steps to the gaps (b, k), m, from the first one (l, h).

    rows (k + 1,): laws of point k are rows[k] … rows[k + 1]. By the kernels of the steps themselves.
    """
    count = rows[-1]
    out = np.empty((gaps.shape[0], count, history.shape[1]))
    before = history[:count].copy()
    for i in range(gaps.shape[0]):
        for k in range(gaps.shape[1]):
            for row in range(rows[k], rows[k + 1]):
                out[i, row] = before[row]
                kernels[kind[row]](coefficients[row], before[row], gaps[i, k], step, theta, out[i, row])
        before[:] = out[i]
    return out


@njit(cache=True)
def tangents_at(rows, kernels, kind, coefficients, history, gaps, width):
    """−∂p/∂g of the stored and of the dissipative pressure (2, l), Pa/m, by the end of a step of 1 s from gaps (k,),
    the mean of those of steps by ± width, m.
    """
    out = np.zeros((2, rows[-1]))
    trial, state = np.empty(history.shape[1]), np.empty(history.shape[1])
    for k in range(gaps.size):
        for row in range(rows[k], rows[k + 1]):
            for side in (-1.0, 1.0):
                state[:] = history[row]
                state[0] = gaps[k]
                trial[:] = state
                _, stored, _, lost = kernels[kind[row]](
                    coefficients[row], state, gaps[k] + side * width, 1.0, 1.0, trial
                )
                out[0, row] -= 0.5 * stored
                out[1, row] -= 0.5 * lost
    return out
