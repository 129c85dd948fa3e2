"""Lists of the kernels of laws."""

from numba import types
from numba.typed import List

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.laws._signature import REGULAR_KERNEL


@njit(types.ListType(REGULAR_KERNEL)(), cache=True)
def no_kernels():
    """An empty list of kernels; Python's own would compile it in each process, and so `append`."""
    return List.empty_list(REGULAR_KERNEL)


@njit(types.void(types.ListType(REGULAR_KERNEL), REGULAR_KERNEL), cache=True)
def add_kernel(kernels, kernel):
    """Appends a kernel."""
    kernels.append(kernel)
