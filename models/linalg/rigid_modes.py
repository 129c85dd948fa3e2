"""Rigid motions at nodes, linearised about a configuration: of bodies, and near-null vectors of their stiffness."""

import numpy as np

from arlequin.models.types import Array

# of the rotations, from the first axis towards the second
ROTATION_PLANES: dict[int, tuple[tuple[int, int], ...]] = {1: (), 2: ((0, 1),), 3: ((1, 2), (2, 0), (0, 1))}


def rigid_modes(arm: Array, components: int) -> Array:
    """Translations along the axes, then unit rotations (r, nodal), at nodes with the arms (n, axis), m.

    components: of a node, its rotations after its displacements. Nodes with fewer components than axes (a bar beside
    plane masses) take part in the translations alone.

    >>> rigid_modes(np.array([[2.0, 1.0]]), 3).tolist()  # translations x, y, and the rotation, of x, y and rz
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 2.0, 1.0]]
    """
    count, axes = arm.shape
    modes = np.zeros((axes + len(ROTATION_PLANES[axes]), count, components))
    for i in range(min(axes, components)):
        modes[i, :, i] = 1.0
    for k, (i, j) in enumerate(ROTATION_PLANES[axes]):
        if components >= axes:
            modes[axes + k, :, i], modes[axes + k, :, j] = -arm[:, j], arm[:, i]
        if components > axes:
            modes[axes + k, :, axes + k] = 1.0
    return modes.reshape(len(modes), -1)
