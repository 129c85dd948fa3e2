"""Kernel of the incremental frictional contact problem of `oblique`."""

import math

from arlequin.models.kernel_cache import njit


@njit(cache=True)
def sweep(matrix, force, state, friction, tolerance, max_sweeps):
    """Gauss–Seidel sweeps over the points until force changes are below `tolerance` times the largest force; their
    number.

    force (k, a): normal, then tangential; state (k, a) = gap and slips of the step at these forces; both are updated.
    matrix (k, a, k, a), symmetric: state by force. Point by point: 0 ≤ f_n ⟂ gap ≥ 0, −f_t ∈ μ f_n ∂‖slip‖.
    """
    count, axes = force.shape
    for n in range(max_sweeps):
        change, largest = 0.0, 0.0
        for i in range(count):
            new = max(0.0, force[i, 0] - state[i, 0] / matrix[i, 0, i, 0])
            change = max(change, abs(new - force[i, 0]))
            if new != force[i, 0]:
                state += matrix[i, 0] * (new - force[i, 0])
                force[i, 0] = new
            largest = max(largest, new)
            rate = 1.0 / matrix[i, 1, i, 1]
            square = 0.0
            for j in range(1, axes):
                square += (force[i, j] - rate * state[i, j]) ** 2
            share = 1.0 if square <= (friction * new) ** 2 else friction * new / math.sqrt(square)
            old_state = state[i].copy()
            for j in range(1, axes):
                step = share * (force[i, j] - rate * old_state[j]) - force[i, j]
                change = max(change, abs(step) / friction)
                if step != 0.0:
                    state += matrix[i, j] * step
                    force[i, j] += step
        if change <= tolerance * largest:
            return n + 1
    return max_sweeps
