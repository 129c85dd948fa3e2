"""The rigid motion in a displacement of the system, in words, for messages."""

import numpy as np

from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

_ALONG = 0.99  # component of a unit vector above which its direction is that of an axis
_TURNING = 0.5  # motion by rotation, relative to the mean motion, above which it is called a rotation
_AXES = "xyz"


def largest_rigid_motion(assembly: Assembly, values: Array) -> str:
    """The part with the largest rigid motion in a displacement (d,), and the motion: "part 'block' moves along +x".

    The motion of the nodes of a part is fitted by u + ω × (x − x̄); it counts as a rotation where ω moves a node more
    than half as far as u (equally far for a body that tips over an edge). Values that are not finite count as infinite.
    """
    largest, description = -1.0, ""
    for part, assembled, at in zip(assembly.system.parts, assembly.parts, assembly.places, strict=True):
        positions = part.positions
        displacement = np.asarray(assembled.shapes @ values[at]).reshape(len(positions), -1)[:, : positions.shape[1]]
        if not np.isfinite(displacement).all():
            return f"part '{part.name}' moves beyond all bounds"
        arms = positions - positions.mean(axis=0)
        shift = displacement.mean(axis=0)
        rotation = _rotation(arms, displacement - shift)
        reach = float(np.linalg.norm(rotation)) * float(np.linalg.norm(arms, axis=1).max())
        size = float(np.linalg.norm(shift))
        if max(reach, size) > largest:
            largest = max(reach, size)
            description = f"part '{part.name}' " + (
                f"turns about {_direction(rotation).lstrip('+−')}"
                if reach > _TURNING * size
                else f"moves along {_direction(shift)}"
            )
    return description


def _rotation(positions: Array, displacement: Array) -> Array:
    """The rotation ω (3,) with ω × (x − x̄) closest to the displacement, both (n, axis); 0 in one dimension."""
    arms, displacements = (np.pad(field, ((0, 0), (0, 3 - field.shape[1]))) for field in (positions, displacement))
    if positions.shape[1] == 1:
        return np.zeros(3)
    inertia = np.eye(3) * float((arms**2).sum()) - arms.T @ arms
    return np.asarray(np.linalg.pinv(inertia, rcond=1e-12, hermitian=True) @ np.cross(arms, displacements).sum(axis=0))


def _direction(vector: Array) -> str:
    """A direction in words: +x, −y or (0.6, 0.8)."""
    unit = vector / (float(np.linalg.norm(vector)) or 1.0)
    axis = int(np.argmax(np.abs(unit)))
    if abs(unit[axis]) >= _ALONG:
        return f"{'+' if unit[axis] > 0.0 else '−'}{_AXES[axis]}"
    return "(" + ", ".join(f"{value:.2g}" for value in unit) + ")"
