"""Numba kernel of the internal variables of regular laws along a path of gaps."""

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
