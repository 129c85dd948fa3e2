"""The two passes of `arlequin.models.linalg.bordered.BorderedFactor` in compiled loops, by its `BorderedPasses`."""

from arlequin.models.kernel_cache import called_njit
from arlequin.models.linalg._supernodal_kernels import backward, forward


@called_njit()
def forward_pass(passes, order, b, half, border):
    """half (1, u + r) = L⁻¹ [b; 0] and border (r,) = R A⁻¹ b of b (u,).

    order: all supernodes.
    """
    source, first, row_start, value_start, rows, values, places, row_numbers, root = passes
    x = half[0]
    for i in range(source.size):
        x[i] = b[source[i]] if source[i] >= 0 else 0.0
    forward(order, first, row_start, value_start, rows, values, half, None, None)
    for c in range(border.size):
        border[row_numbers[c]] = -root[c] * x[places[c]]


@called_njit()
def backward_pass(passes, order, p, half, out):
    """out (u,) = A⁻¹(b + Rᵀ p) of p (r,); half is overwritten."""
    source, first, row_start, value_start, rows, values, places, row_numbers, root = passes
    x = half[0]
    for c in range(p.size):
        x[places[c]] = -root[c] * p[row_numbers[c]]
    backward(order, first, row_start, value_start, rows, values, half)
    for i in range(source.size):
        if source[i] >= 0:
            out[source[i]] = x[i]
