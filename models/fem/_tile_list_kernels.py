"""Typed lists of the kernels of `_tile_kernels`, by which compiled loops call them without containing them."""

from numba.core.types import FunctionType, ListType, float64, int64, uint32, void
from numba.typed import List

from arlequin.models.kernel_cache import njit

ARGUMENTS = (
    int64[::1], uint32[:, :, ::1], float64[:, :, :, ::1], float64[:, :, ::1], float64, float64, int64, int64,
    float64[::1], float64[::1],
)  # fmt: skip
TILE_KERNEL = FunctionType(float64(*ARGUMENTS))


@njit(ListType(TILE_KERNEL)(), cache=True)
def no_tile_kernels():
    """An empty typed list of kernels."""
    return List.empty_list(TILE_KERNEL)


@njit(void(ListType(TILE_KERNEL), TILE_KERNEL), cache=True)
def add_tile_kernel(kernels, kernel):
    """Append a kernel."""
    kernels.append(kernel)
