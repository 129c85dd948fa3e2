"""The two passes of `arlequin.models.linalg.bordered.BorderedFactor` in compiled loops, by its `BorderedPasses`."""

from arlequin.models.kernel_cache import called_njit
from arlequin.models.linalg._supernodal_kernels import backward, forward


@called_njit()
def forward_pass(passes, chosen, b, half, border):
    """half (1, u + r) = L⁻¹ [b; 0] and border (r,) = R A⁻¹ b of b (u,).

    chosen: all supernodes.
    """
    source, first, row_start, value_start, rows, values, places, row_numbers, root = passes
    x = half[0]
    for i in range(source.size):
        x[i] = b[source[i]] if source[i] >= 0 else 0.0
    forward(chosen, first, row_start, value_start, rows, values, half, None, None)
    for c in range(border.size):
        border[row_numbers[c]] = -root[c] * x[places[c]]


@called_njit()
def backward_pass(passes, chosen, push, half, out):
    """out (u,) = A⁻¹(b + Rᵀ p) of p (r,), `push`; half is overwritten."""
    source, first, row_start, value_start, rows, values, places, row_numbers, root = passes
    x = half[0]
    for c in range(push.size):
        x[places[c]] = -root[c] * push[row_numbers[c]]
    backward(chosen, first, row_start, value_start, rows, values, half)
    for i in range(source.size):
        if source[i] >= 0:
            out[source[i]] = x[i]
