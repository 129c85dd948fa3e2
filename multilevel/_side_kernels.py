"""The contact problems of many members side by side."""

from numba import njit

from multilevel._kernels import solve_contact


@njit(cache=True, nogil=True)
def solve_members(
    some, delassus, lever, gap_free, rate_free, closed, first, area, level, compliance, friction, soft, kernels, rows,
    kind, coefficients, history, step, theta, factor, impulse, trial, normal, status, method, rho, mass, most,
    iterations, residual, singular,
):  # fmt: skip
    """`multilevel._kernels.solve_contact` for the members `some` (s,) of fields with the member n as first axis."""
    for m in some:
        iterations[m], residual[m], singular[m] = solve_contact(
            delassus, lever, gap_free[m], rate_free[m], closed[m], first, area, level, compliance, friction, soft,
            kernels, rows, kind, coefficients, history[m], step, theta, factor, impulse[m], trial[m], normal[m],
            status[m], method, rho, mass, most,
        )  # fmt: skip
