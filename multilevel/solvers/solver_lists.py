"""Solvers of the contact problem as arguments of compiled loops."""

import functools
from typing import Any

SOLVER_KERNELS = "arlequin.multilevel.solvers._kernels"


@functools.cache
def newton_solver() -> Any:
    """A typed list of `solve_contact`, which most problems need no more than."""
    from arlequin.multilevel.solvers._kernels import solve_contact
    from arlequin.multilevel.solvers._list_kernels import list_of_solver

    return list_of_solver(solve_contact)


@functools.cache
def robust_solver() -> Any:
    """A typed list of `solve_contact_robustly`, compiled when it is first asked for."""
    from arlequin.multilevel.solvers._list_kernels import list_of_solver
    from arlequin.multilevel.solvers._robust_kernels import solve_contact_robustly

    return list_of_solver(solve_contact_robustly)
