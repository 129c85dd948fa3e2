"""The solver of the contact problem of a step that nearly every run needs, and no more: a first run waits for it.

Where Newton's method fails or another one is asked for, and for some hundred rows, it leaves the problem to
`arlequin.multilevel.solvers._robust_kernels.solve_contact_robustly`. Loops call it by its pointer, and do not contain
it: both are compiled side by side.
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
    closes_otherwise,
    contact_problem,
    diagonal_scaling,
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
    system was singular. Where that method fails or is not the one wanted: −1, ∞ and what then stands in `solution`
    means nothing; `solve_contact_robustly` solves such a problem, from the same guess.

    motion: `FreeMotion`; laws: `LawTable`; kernels: those of the regular laws; history (l, h) at the start of the
    step; options: `Options`; solution: `Solution`, whose impulses hold the guess. closing (3, r), see
    `arlequin.multilevel.solvers.closing`: what is added to the rates, the rates at the start, and what is added to the
    rates of friction where its work would be positive. factor: `SymmetricFactor` of this W, of `allocate_factor`; where
    problems of one W follow each other it spares their factorisations, and changes no result. One without memory will
    do.

    The arguments are plain tuples in the order of the fields: Numba identifies a plain tuple of arrays in 0.2 µs, a
    named one, or one with a list of kernels, in 0.1 ms.
    """
    motion, laws, solution = borrow(motion), borrow(laws), borrow(solution)
    history, closing = borrow(history), borrow(closing)
    p = contact_problem(motion, laws, kernels, history, closing)
    method, rho, mass, most = options
    impulse, used = solution[0], 0
    if method != NEWTON or mass > 0.0:
        return -1, np.inf, False
    own_factor = borrow(factor)
    if factor[1].size == 0 and SYMMETRIC_FROM <= impulse.size <= KRYLOV_FROM:
        own_factor = allocate_factor(impulse.size)
    kept = SymmetricFactor(*borrow(own_factor))
    response = allocate_response(p.area.size, impulse.size)
    while True:
        diagonal = diagonal_scaling(p)
        most = min(NEWTON_STEPS, most_iterations(impulse.size, most))
        steps, best, singular = newton(p, diagonal, rho, impulse, solution[1], most, None, kept, response)
        used += steps
        if impulse.size > p.area.size and CONVERGED < best < np.inf:
            return -1, np.inf, singular
        error = project_and_split(p, diagonal, solution, best, response)
        friction = LawTable(*laws).friction
        if not closes_otherwise(p, closing, friction, impulse, response.velocity_change, error, singular):
            hold(own_factor)
            return used, error, singular
