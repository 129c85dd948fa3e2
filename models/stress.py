"""Stresses at the quadrature points."""

from typing import Any

import numpy as np

from models.cells import CellArrays
from models.errors import UserError
from models.types import Array


def displacements(u: Any, count: int) -> Array:
    """The displacements (d,) of a part, m; UserError where they are not `count` numbers."""
    try:
        given = np.asarray(u, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise UserError.parameter("u", u, "must be displacements, m") from None
    if given.size != count:
        raise UserError.parameter("u", u, f"must be {count} displacements, m, as many as the part has")
    return given


def displacement_gradient(cells: CellArrays, u: Array, components: int) -> Array:
    """Displacement gradient H (c, q, component, axis) = ∂u_component/∂x_axis."""
    local = u.reshape(-1, components)[cells.nodes]
    # relative to the first node: a large translation leaves no round-off
    local = local - local[:, :1]
    return np.einsum("cqan,cni->cqia", cells.gradients, local, optimize=True)


def von_mises(stress: Array, names: tuple[str, ...]) -> Array:
    """√(3/2 s:s) in Pa from stress (..., component) with named components such as ("xx", "yy", "xy")."""
    total = np.zeros(stress.shape[:-1])
    normal = [stress[..., k] for k, name in enumerate(names) if name[0] == name[1]]
    normal += [np.zeros(stress.shape[:-1])] * (3 - len(normal))
    for k in range(3):
        total += 0.5 * (normal[k] - normal[(k + 1) % 3]) ** 2
    for k, name in enumerate(names):
        if name[0] != name[1]:
            total += 3 * stress[..., k] ** 2
    return np.sqrt(total)
