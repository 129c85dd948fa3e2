"""Numba kernels of the laws of contact points in solved steps: tractions of regular laws, coefficients of
friction."""

import numpy as np
from numba import boolean, float64, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.laws._sum_kernels import sum_laws
from arlequin.multilevel.laws.friction import VARIABLES
from arlequin.multilevel.laws.signature import FRICTION_KERNEL, HISTORY, REGULAR_KERNEL
from arlequin.multilevel.solvers._sliding_kernels import SlidingPoints, SlidingTable, evaluate_points


@njit(
    types.void(
        int64[::1], types.ListType(REGULAR_KERNEL), int64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],
        float64[:, ::1], float64[:, ::1], float64, float64, float64[:, :, :, ::1],
    ),
    cache=True,
)  # fmt: skip
def mean_tractions(rows, kernels, kind, coefficients, start, end, change, amount, step, theta, out):
    """Mean tractions of the regular laws of each point over steps from gaps `start` to `end` (b, k), m.

    rows (k + 1,): laws of point k are rows[k] … rows[k + 1] of `kind` and of the coefficients, to which amount (b, k)
    times `change` is added. out (2, 2, b, k): the stored and the dissipated part, Pa, and their derivatives by the gap
    at the end, Pa/m.
    """
    history, after, constants = np.zeros((kind.size, HISTORY)), np.zeros((kind.size, HISTORY)), coefficients.copy()
    for i in range(start.shape[0]):
        for k in range(start.shape[1]):
            for row in range(rows[k], rows[k + 1]):
                history[row, 0] = start[i, k]
                for n in range(constants.shape[1]):
                    constants[row, n] = coefficients[row, n] + amount[i, k] * change[row, n]
            stored, stored_slope, lost, lost_slope = sum_laws(
                rows[k], rows[k + 1], kernels, kind, constants, history, end[i, k], step, theta, after
            )
            out[0, 0, i, k], out[0, 1, i, k], out[1, 0, i, k], out[1, 1, i, k] = stored, lost, stored_slope, lost_slope


@njit(
    types.void(
        types.ListType(FRICTION_KERNEL), int64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], boolean[:, ::1],
        float64[:, ::1],
    ),
    cache=True,
)  # fmt: skip
def friction_coefficients(kernels, kind, constants, rate, pressure, stuck, out):
    """Coefficients of friction `out` (b, k) of laws of the slip rate and the pressure of a step.

    kind (k,): kernel of each point, −1 where its coefficient is constant, which is left out; constants (k, m); rate
    (b, k), m/s; pressure (b, k), Pa; stuck (b, k): points that stick.
    """
    slip, variables, after = np.zeros(kind.size), np.zeros((kind.size, VARIABLES)), np.zeros(VARIABLES)
    table = SlidingTable(kind, constants)
    for i in range(rate.shape[0]):
        points = SlidingPoints(slip, variables, stuck[i])
        evaluate_points(kernels, table, points, pressure[i], rate[i], 0.0, stuck[i], after, out[i])
