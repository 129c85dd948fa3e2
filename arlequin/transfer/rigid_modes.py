"""Rigid motions of a body at its nodes, linearised about a configuration."""

import numpy as np

from arlequin.models.types import Array

_PLANES: dict[int, tuple[tuple[int, int], ...]] = {1: (), 2: ((0, 1),), 3: ((1, 2), (2, 0), (0, 1))}


def rigid_modes(arm: Array, components: int) -> Array:
    """Translations along the axes, then unit rotations (r, nodal), at nodes with the arms (n, axis), m.

    components: of a node, its rotations after its displacements. Nodes with fewer components than axes (a bar beside
    plane masses) take part in the translations alone.
    """
    count, axes = arm.shape
    modes = np.zeros((axes + len(_PLANES[axes]), count, components))
    for i in range(min(axes, components)):
        modes[i, :, i] = 1.0
    for k, (i, j) in enumerate(_PLANES[axes]):
        if components >= axes:
            modes[axes + k, :, i], modes[axes + k, :, j] = -arm[:, j], arm[:, i]
        if components > axes:
            modes[axes + k, :, axes + k] = 1.0
    return modes.reshape(len(modes), -1)
