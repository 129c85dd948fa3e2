"""The solver of the contact problem of a step for nearly all runs, kept small as a first run waits for its compilation.

Where Newton's method fails or another method is requested, and for some hundred rows, the problem is left to
`arlequin.multilevel.solvers._robust_kernels.solve_contact_robustly`. Loops call it by its pointer, so that both are
compiled in parallel.
"""

import numpy as np

from arlequin.models.kernel_cache import await_compilation, njit
from arlequin.multilevel.solvers._borrow_kernels import borrow, hold
from arlequin.multilevel.solvers._kernels import (
    ARGUMENTS,
    CONVERGED,
    KRYLOV_FROM,
    NEWTON,
    NEWTON_STEPS,
    RESULT,
    allocate_factor,
    allocate_response,
    contact_problem,
    diagonal_scaling,
    friction_closing_changes,
    most_iterations,
    newton,
    project_and_split,
)
from arlequin.multilevel.solvers._symmetric_kernels import SYMMETRIC_FROM
from arlequin.multilevel.solvers.problem import LawTable, SymmetricFactor

await_compilation(__name__)


@njit(RESULT(*ARGUMENTS), cache=True)
def solve_contact(motion, laws, kernels, history, closing, options, solution, factor):
    """Solve the contact problem of a step by Newton's method; return iterations, certificate and whether the last
    system was singular. Where that method fails or is not the requested one: −1, ∞, and `solution` is invalid;
    `solve_contact_robustly` solves such a problem, from the same guess.

    motion: `FreeMotion`; laws: `LawTable`; kernels: those of the regular laws; history (l, h) at the start of the
    step; options: `Options`; solution: `Solution`, whose impulses hold the guess. closing (3, r), see
    `arlequin.multilevel.solvers.closing`: the shift of the rates, the rates at the start, and the shift of the rates of
    friction where its work would be positive. factor: `SymmetricFactor` of this W, by `allocate_factor`; successive
    problems of one W share the factorisation, without an effect on results. It may be one without memory.

    The arguments are plain tuples in the order of the fields: Numba identifies a plain tuple of arrays in 0.2 µs, a
    named one, or one with a list of kernels, in 0.1 ms.
    """
    motion, laws, solution = borrow(motion), borrow(laws), borrow(solution)
    history, closing = borrow(history), borrow(closing)
    p = contact_problem(motion, laws, kernels, history, closing)
    method, rho, mass, max_iterations = options
    impulse, used = solution[0], 0
    if method != NEWTON or mass > 0.0:
        return -1, np.inf, False
    workspace = borrow(factor)
    if factor[1].size == 0 and SYMMETRIC_FROM <= impulse.size <= KRYLOV_FROM:
        workspace = allocate_factor(impulse.size)
    symmetric = SymmetricFactor(*borrow(workspace))
    response = allocate_response(p.area.size, impulse.size)
    while True:
        diagonal = diagonal_scaling(p)
        max_iterations = min(NEWTON_STEPS, most_iterations(impulse.size, max_iterations))
        steps, best, singular = newton(
            p, diagonal, rho, impulse, solution[1], max_iterations, None, symmetric, response
        )
        used += steps
        if impulse.size > p.area.size and CONVERGED < best < np.inf:
            return -1, np.inf, singular
        error = project_and_split(p, diagonal, solution, best, response)
        friction = LawTable(*laws).friction
        if not friction_closing_changes(p, closing, friction, impulse, response.velocity_change, error, singular):
            hold(workspace)
            return used, error, singular
