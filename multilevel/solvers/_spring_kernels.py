"""Numba kernels of the springs of elastic stick; see `arlequin.multilevel.solvers.elastic_stick`."""

import numpy as np
from numba import float64, int64, types

from arlequin.models.kernel_cache import called_njit, njit


@called_njit()
def stretch_springs(first, area, friction, gain, impulse, factor, traction):
    """Spring tractions (r,), Pa, at the end of a step, in place of those at its start, by the impulses (r,); gain (k,):
    κ, 0 at points without elastic stick."""
    for k in range(area.size):
        n, end = first[k], first[k + 1]
        if end == n + 1 or gain[k] == 0.0:
            continue
        scale, size, start = factor * area[k], 0.0, 0.0
        for t in range(n + 1, end):
            start += traction[t] * traction[t]
            traction[t] += gain[k] * (impulse[t] / scale - traction[t])
            size += traction[t] * traction[t]
        size, radius = np.sqrt(size), friction[k] * impulse[n] / scale
        radius += max(1.0 - gain[k], 0.0) * max(np.sqrt(start) - radius, 0.0)
        if not impulse[n] > 0.0:
            radius = 0.0
        if size > radius:
            for t in range(n + 1, end):
                traction[t] *= radius / size


@njit(types.void(int64[::1], *[float64[::1]] * 3, float64[:, ::1], float64, float64[:, ::1], int64), cache=True)
def stretch_springs_each(first, area, friction, gain, impulse, factor, traction, offset):
    """The tractions at the end by the impulses of each row of (b, r), in place; offset: 1 of successive steps, from the
    row of `traction` (b + 1, r) before, else 0."""
    for i in range(impulse.shape[0]):
        after = traction[i + offset]
        for r in range(after.size):
            after[r] = traction[i, r]
        stretch_springs(first, area, friction, gain, impulse[i], factor, after)
