"""Rigid obstacles in closed form: sphere (circle), cylinder and box, as bodies or as holes in one."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arlequin.models.checks import check_fields, finite_array, flag, positive
from arlequin.models.errors import UserError, short_repr
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.base import Obstacle, RigidPlane
from arlequin.multilevel.obstacles.meshed import RigidPolyline, RigidSurface
from arlequin.multilevel.search.corners import facing

_TOUCHING = 1e-9  # largest gap of touching points, in sizes of the obstacle


@checked_call
@dataclass(frozen=True)
class RigidSphere:
    """A ball (a disk in 2D) of `centre` (a,) and `radius`, m; inside=True: the hole of that shape in a body.

    A point at the distance ρ from the centre is at the gap ρ − R, in the hole R − ρ.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> gaps, normals = aq.RigidSphere(centre=(0.0, 0.0), radius=2.0).closest(np.array([[3.0, 4.0]]))
    >>> gaps.round(9).tolist(), normals.round(9).tolist()  # 5 − 2 m
    ([3.0], [[0.6, 0.8]])
    """

    centre: Any
    radius: float
    inside: bool = False

    __repr__ = short_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", _vector("centre", self.centre, (2, 3)))
        check_fields(self, radius=positive)
        flag("inside", self.inside)

    @property
    def axes(self) -> int:
        return int(self.centre.size)

    @property
    def flat(self) -> bool:
        return False

    def closest(self, positions: Array) -> tuple[Array, Array]:
        """Gaps and normals; the centre itself has the normal along the first axis."""
        offset = positions - self.centre
        distance = np.linalg.norm(offset, axis=1)
        offset[distance == 0.0, 0] = 1.0
        return _complement_if(self.inside, distance - self.radius, offset / np.linalg.norm(offset, axis=1)[:, None])


@checked_call
@dataclass(frozen=True)
class RigidCylinder:
    """An endless cylinder in 3D: `point` on its axis, m, direction `axis` of any length, `radius`, m.

    inside=True: the hole of that shape in a body (a guide).

    >>> import numpy as np
    >>> import arlequin as aq
    >>> guide = aq.RigidCylinder(point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), radius=5e-3, inside=True)
    >>> gaps, normals = guide.closest(np.array([[3e-3, 0.0, 7.0]]))
    >>> gaps.round(9).tolist(), (normals.round(9) + 0.0).tolist()  # 5 − 3 mm
    ([0.002], [[-1.0, 0.0, 0.0]])
    """

    point: Any
    axis: Any
    radius: float
    inside: bool = False

    __repr__ = short_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", _vector("point", self.point, (3,)))
        axis = _vector("axis", self.axis, (3,))
        length = float(np.linalg.norm(axis))
        if length == 0.0:
            raise UserError.parameter("axis", self.axis, "must not be zero")
        object.__setattr__(self, "axis", axis / length)
        check_fields(self, radius=positive)
        flag("inside", self.inside)

    @property
    def axes(self) -> int:
        return 3

    @property
    def flat(self) -> bool:
        return False

    def closest(self, positions: Array) -> tuple[Array, Array]:
        """Gaps and normals; points on the axis have a normal across it."""
        offset = positions - self.point
        offset = offset - (offset @ self.axis)[:, None] * self.axis
        distance = np.linalg.norm(offset, axis=1)
        across = np.zeros(3)
        across[np.argmin(np.abs(self.axis))] = 1.0
        offset[distance == 0.0] = across - (across @ self.axis) * self.axis
        return _complement_if(self.inside, distance - self.radius, offset / np.linalg.norm(offset, axis=1)[:, None])


@checked_call
@dataclass(frozen=True)
class RigidBox:
    """A box (a rectangle in 2D) between the corners `low` and `high` (a,), m; inside=True: a room of that shape.

    Outside, the closest point may lie on an edge or a corner, and the normal points from there; inside, it lies on the
    nearest face.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> room = aq.RigidBox(low=(0.0, 0.0), high=(3.0, 2.0), inside=True)
    >>> gaps, normals = room.closest(np.array([[2.5, 1.0]]))
    >>> gaps.tolist(), (normals + 0.0).tolist()  # 0.5 m from the wall x = 3 m
    ([0.5], [[-1.0, 0.0]])
    """

    low: Any
    high: Any
    inside: bool = False

    __repr__ = short_repr

    def __post_init__(self) -> None:
        low = _vector("low", self.low, (2, 3))
        high = finite_array("high", self.high, (low.size,))
        if not (low < high).all():
            raise UserError.parameter("high", self.high, "must be greater than low along every axis")
        flag("inside", self.inside)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def axes(self) -> int:
        return int(self.low.size)

    @property
    def flat(self) -> bool:
        return False

    def closest(self, positions: Array) -> tuple[Array, Array]:
        """Gaps and normals."""
        below, above = self.low - positions, positions - self.high
        outside = np.maximum(below, above)
        side = np.where(above >= below, 1.0, -1.0)
        offset = np.maximum(outside, 0.0) * side
        distance = np.linalg.norm(offset, axis=1)
        within = distance == 0.0
        rows, face = np.flatnonzero(within), np.argmax(outside[within], axis=1)
        offset[rows, face] = side[rows, face]
        normals = offset / np.linalg.norm(offset, axis=1)[:, None]
        return _complement_if(self.inside, np.where(within, outside.max(axis=1), distance), normals)

    def patches(self) -> tuple[Obstacle, ...]:
        """The walls of a room, whose corners are concave; none for a box."""
        if not self.inside:
            return ()
        inward = np.eye(self.axes)
        return (*(RigidPlane(self.low, n) for n in inward), *(RigidPlane(self.high, -n) for n in inward))

    def corners(self) -> tuple[Array, Array]:
        """The corners of a box; none for a room."""
        return (np.zeros((0, self.axes)), np.zeros((0, 7))) if self.inside else self._hull.corners()

    def edges(self) -> tuple[Array, Array]:
        """The edges of a box in space; none for a room."""
        return (np.zeros((0, 2, 3)), np.zeros((0, 2, 3))) if self.inside else self._hull.edges()

    def facing(self, positions: Array, cones: Array) -> tuple[Array, Array]:
        """Gaps and normals; for a touching point that cannot face the closest face, those of a face that it can."""
        gap, normals = self.closest(positions)
        cannot_face = (gap <= _TOUCHING * float((self.high - self.low).max())) & ~facing(cones, normals)
        if cannot_face.any():
            gap[cannot_face], normals[cannot_face] = self._hull.facing(positions[cannot_face], cones[cannot_face])
        return gap, normals

    @cached_property
    def _hull(self) -> RigidPolyline | RigidSurface:
        """The faces of a box."""
        points, faces = box_outline(self.low, self.high)
        if self.axes == 2:
            return RigidPolyline(points, closed=True)
        return RigidSurface(points, faces[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3))


# counter-clockwise seen from outside, of corners numbered with x first
_FACES = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])


def box_outline(low: Array, high: Array) -> tuple[Array, Indices]:
    """Corners (p, axis), m, and sides (c, corner) of a box: segments or quadrilaterals, with the box inside."""
    if low.size == 2:
        points = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])
        return points, np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    corners = [[x, y, z] for z in (low[2], high[2]) for y in (low[1], high[1]) for x in (low[0], high[0])]
    return np.array(corners), _FACES


def _vector(name: str, value: Any, sizes: tuple[int, ...]) -> Array:
    """Coordinates of an obstacle, as many as one of the sizes."""
    vector = finite_array(name, np.atleast_1d(value), (None,))
    if vector.size not in sizes:
        raise UserError.parameter(name, value, f"must have {' or '.join(map(str, sizes))} coordinates")
    return vector


def _complement_if(inside: bool, gap: Array, normals: Array) -> tuple[Array, Array]:
    """Gaps and normals; those of the complement where `inside`."""
    return (-gap, -normals) if inside else (gap, normals)
