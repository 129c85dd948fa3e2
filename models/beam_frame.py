"""The local axes of a straight beam."""

import numpy as np

from models import checks
from models.errors import UserError
from models.types import Array

Vector = tuple[float, ...] | None


def local_axes(size: int, origin: Vector, direction: Vector, up: Vector) -> Array:
    """Local axes as rows (3, 3) of a beam in `size` dimensions: along it, then y and z of its section.

    The parameters are those of `Beam`.
    """
    if origin is not None:
        checks.finite_array("origin", origin, (size,))
    along = np.zeros(3)
    along[0] = 1.0
    if direction is not None:
        along[:size] = checks.finite_array("direction", direction, (size,))
    if not np.linalg.norm(along) > 0:
        raise UserError.parameter("direction", direction, "must not be zero")
    along /= np.linalg.norm(along)
    if up is not None and size == 3:
        y = checks.finite_array("up", up, (3,))
    elif up is not None:
        raise UserError.parameter("up", up, "is for beams in space")
    else:
        upright = size == 3 and abs(along[2]) > 1 - 1e-6
        y = np.array([0.0, 1.0, 0.0]) if upright else np.cross([0.0, 0.0, 1.0], along)
    y = y - (y @ along) * along
    if not np.linalg.norm(y) > 1e-9:
        raise UserError.parameter("up", up, "must not lie along the beam")
    y /= np.linalg.norm(y)
    return np.stack([along, y, np.cross(along, y)])
