"""The rigid motion in a displacement of the system, in words, for messages."""

import numpy as np

from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

_ALONG = 0.99  # component of a direction from which on it is that of an axis
_TURNING = 0.5  # share of the mean motion beyond which that by the rotation names the motion
_AXES = "xyz"


def largest_rigid_motion(assembly: Assembly, values: Array) -> str:
    """The part that a displacement (d,) moves farthest as a rigid body, and the motion: "part 'block' moves along +x".

    The motion of a part's nodes is fitted by u + ω × (x − x̄); it is a rotation where ω moves a node more than half as
    far as u: of a body that tips over an edge, as far.
    Values that are not finite count as infinite.
    """
    most, told = -1.0, ""
    for part, own, at in zip(assembly.system.parts, assembly.parts, assembly.places, strict=True):
        positions = part.positions
        moved = np.asarray(own.shapes @ values[at]).reshape(len(positions), -1)[:, : positions.shape[1]]
        if not np.isfinite(moved).all():
            return f"part '{part.name}' moves beyond all bounds"
        away = positions - positions.mean(axis=0)
        shift = moved.mean(axis=0)
        turn = _turn(away, moved - shift)
        reach = float(np.linalg.norm(turn)) * float(np.linalg.norm(away, axis=1).max())
        size = float(np.linalg.norm(shift))
        if max(reach, size) > most:
            most = max(reach, size)
            told = f"part '{part.name}' " + (
                f"turns about {_direction(turn).lstrip('+−')}"
                if reach > _TURNING * size
                else f"moves along {_direction(shift)}"
            )
    return told


def _turn(away: Array, moved: Array) -> Array:
    """The rotation ω (3,) of which ω × (x − x̄) is next to the motion, both (n, axis); 0 of parts on a line's points."""
    arms, ways = (np.pad(field, ((0, 0), (0, 3 - field.shape[1]))) for field in (away, moved))
    if away.shape[1] == 1:
        return np.zeros(3)
    inertia = np.eye(3) * float((arms**2).sum()) - arms.T @ arms
    return np.asarray(np.linalg.pinv(inertia, rcond=1e-12, hermitian=True) @ np.cross(arms, ways).sum(axis=0))


def _direction(vector: Array) -> str:
    """+x, −y or (0.6, 0.8)."""
    unit = vector / (float(np.linalg.norm(vector)) or 1.0)
    axis = int(np.argmax(np.abs(unit)))
    if abs(unit[axis]) >= _ALONG:
        return f"{'+' if unit[axis] > 0.0 else '−'}{_AXES[axis]}"
    return "(" + ", ".join(f"{value:.2g}" for value in unit) + ")"
