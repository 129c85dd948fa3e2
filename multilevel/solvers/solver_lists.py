"""Solvers of the contact problem as arguments of compiled loops."""

import functools
from typing import Any

SOLVER_KERNELS = "arlequin.multilevel.solvers._solve_kernels"


@functools.cache
def newton_solver() -> Any:
    """A typed list of `solve_contact`, which suffices for most problems."""
    from arlequin.multilevel.solvers._list_kernels import list_of_solver
    from arlequin.multilevel.solvers._solve_kernels import solve_contact

    return list_of_solver(solve_contact)


@functools.cache
def robust_solver() -> Any:
    """A typed list of `solve_contact_robustly`, compiled at the first call."""
    from arlequin.multilevel.solvers._list_kernels import list_of_solver
    from arlequin.multilevel.solvers._robust_kernels import solve_contact_robustly

    return list_of_solver(solve_contact_robustly)


def called_with(solver: Any, kernel: Any, before: tuple[Any, ...], after: tuple[Any, ...]) -> Any:
    """The value of a compiled loop for the arguments `before`, the list of `solver` and those `after`.

    A loop that is not compiled yet is compiled before the solver is requested, which another process may still be
    compiling (`arlequin.models.kernel_cache.compile_ahead`).
    """
    if getattr(kernel, "signatures", None) == []:
        from numba import typeof

        from arlequin.multilevel.solvers._list_kernels import SOLVERS

        kernel.compile((*map(typeof, before), SOLVERS, *map(typeof, after)))
    return kernel(*before, solver(), *after)
