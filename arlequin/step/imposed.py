"""Imposed motions in a step: their reactions and their accelerations at the start."""

from collections.abc import Callable

import numpy as np

from arlequin.models.types import Array
from arlequin.system.assembly import Assembly


def reaction(assembly: Assembly, balance: Callable[[], Array], multipliers: tuple[Array, Array]) -> Array:
    """Reaction forces (…, d), N, of the imposed motions: the residual of the momentum balance there, else 0.

    balance () → (…, d): M v̇ + internal + damping − external; multipliers: forces of the constraints (…, m) and on
    the contact's basis (…, q), N.
    """
    force = np.zeros((*multipliers[1].shape[:-1], assembly.dof_count))
    dofs = assembly.imposed_dofs
    if dofs.size:
        force[..., dofs] = balance()[..., dofs] - assembly.pull_on_imposed(*multipliers)
    return force


def initial_acceleration(assembly: Assembly, step: float, n: int = 0) -> Array | None:
    """Accelerations (p,) of the imposed dofs at t = nΔt, from one-sided differences of order 2 over Δt."""
    if not assembly.imposed_dofs.size:
        return None
    f = [assembly.imposed((n + i) * step) for i in range(4)]
    second = (2.0 * f[0] - 5.0 * f[1] + 4.0 * f[2] - f[3]) / step**2
    first = (-3.0 * f[0] + 4.0 * f[1] - f[2]) / (2.0 * step)
    return np.where(assembly.imposes_displacement, second, first)
