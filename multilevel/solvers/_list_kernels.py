"""Typed lists of the kernels of regular laws, and of solvers of the contact problem."""

from numba import types
from numba.typed import List

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.laws.signature import REGULAR_KERNEL
from arlequin.multilevel.solvers._kernels import SOLVER


@njit(types.ListType(REGULAR_KERNEL)(), cache=True)
def no_kernels():
    """An empty typed list of kernels; created in Python, it would be compiled in each process."""
    return List.empty_list(REGULAR_KERNEL)


@njit(types.void(types.ListType(REGULAR_KERNEL), REGULAR_KERNEL), cache=True)
def add_kernel(kernels, kernel):
    """Append a kernel."""
    kernels.append(kernel)


SOLVERS = types.ListType(SOLVER)


@njit(SOLVERS(SOLVER), cache=True)
def list_of_solver(solver):
    """A typed list of one solver, by which a compiled loop calls it without containing it."""
    solvers = List.empty_list(SOLVER)
    solvers.append(solver)
    return solvers
