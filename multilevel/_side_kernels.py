"""The contact problems of many members side by side."""

import numpy as np
from numba import njit

from multilevel._kernels import close_onset, solve_contact


@njit(cache=True, nogil=True)
def solve_members(
    some, delassus, lever, gap_free, rate_free, closed, first, area, level, compliance, friction, soft, kernels, rows,
    kind, coefficients, history, step, theta, factor, start, impulse, trial, normal, status, method, rho, mass,
    most, iterations, residual, singular,
):  # fmt: skip
    """`multilevel._kernels.solve_contact` for the members `some` (s,) of fields with the member n as first axis, on
    fixed normals; start (n, r): rates at the start."""
    closing = np.empty((3, impulse.shape[1]))
    for m in some:
        close_onset(first, level, start[m], closing)
        iterations[m], residual[m], singular[m] = solve_contact(
            delassus, lever, gap_free[m], rate_free[m], closed[m], first, area, level, compliance, friction, soft,
            kernels, rows, kind, coefficients, history[m], step, theta, factor, closing, impulse[m], trial[m],
            normal[m], status[m], method, rho, mass, most,
        )  # fmt: skip
