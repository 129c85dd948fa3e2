"""A step's way from y to the new state in two passes over the dofs."""

import numpy as np
from numba import njit


@njit(cache=True)
def move(u, v, y, step, theta, new_u, new_v):
    """u₁ = u₀ + Δt y, v₁ = v₀ + (y − v₀)/θ; whether u₁ is finite."""
    finite = True
    for d in range(y.size):
        new_u[d] = u[d] + step * y[d]
        new_v[d] = v[d] + (y[d] - v[d]) / theta
        finite = finite and np.isfinite(new_u[d])
    return finite


@njit(cache=True)
def push(momentum, before, after, damping, external, pull, step, theta, moving, massive, out):
    """p₁ = p₀ − Δt [(1 − θ) f₀ + θ f₁ + f_D − f_ext] + Cᵀφ + BᵀP on the dofs that move by their momentum, else M v₁.

    before, after (d,): internal forces; damping (d,), or nothing.
    """
    for d in range(momentum.size):
        if moving[d]:
            force = (1.0 - theta) * before[d] + theta * after[d] - external[d]
            if damping.size:
                force += damping[d]
            out[d] = momentum[d] - step * force + pull[d]
        else:
            out[d] = massive[d]
