"""Rigid obstacles in closed form: sphere (circle), cylinder and box, as bodies or as holes in one."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from arlequin.models.checks import check_fields, finite_array, flag, positive
from arlequin.models.errors import UserError, short_repr
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.obstacles.base import Obstacle, RigidPlane
from arlequin.multilevel.search.corners import WIDER, facing
from arlequin.multilevel.search.search import BESIDE_DEPTH

_TOUCHING = 1e-9  # gap of points that may touch, in sizes of the obstacle


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
        away = positions - self.centre
        distance = np.linalg.norm(away, axis=1)
        away[distance == 0.0, 0] = 1.0
        return _turned(self.inside, distance - self.radius, away / np.linalg.norm(away, axis=1)[:, None])


@checked_call
@dataclass(frozen=True)
class RigidCylinder:
    """An endless cylinder in 3D: `point` on its axis, m, direction `axis` of any length, `radius`, m.

    inside=True: the hole of that shape in a body (a guide).
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
        away = positions - self.point
        away = away - (away @ self.axis)[:, None] * self.axis
        distance = np.linalg.norm(away, axis=1)
        across = np.zeros(3)
        across[np.argmin(np.abs(self.axis))] = 1.0
        away[distance == 0.0] = across - (across @ self.axis) * self.axis
        return _turned(self.inside, distance - self.radius, away / np.linalg.norm(away, axis=1)[:, None])


@checked_call
@dataclass(frozen=True)
class RigidBox:
    """A box (a rectangle in 2D) between the corners `low` and `high` (a,), m; inside=True: a room of that shape.

    Outside, the closest point may lie on an edge or a corner, and the normal points from there; inside, it lies on the
    nearest face.
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
        past = np.maximum(below, above)
        side = np.where(above >= below, 1.0, -1.0)
        away = np.maximum(past, 0.0) * side
        distance = np.linalg.norm(away, axis=1)
        within = distance == 0.0
        rows, face = np.flatnonzero(within), np.argmax(past[within], axis=1)
        away[rows, face] = side[rows, face]
        normals = away / np.linalg.norm(away, axis=1)[:, None]
        return _turned(self.inside, np.where(within, past.max(axis=1), distance), normals)

    def patches(self) -> tuple[Obstacle, ...]:
        """The walls of a room, whose corners are concave; none of a box."""
        if not self.inside:
            return ()
        inward = np.eye(self.axes)
        return (*(RigidPlane(self.low, n) for n in inward), *(RigidPlane(self.high, -n) for n in inward))

    def corners(self) -> tuple[Array, Array]:
        """Those of a box; none of a room."""
        if self.inside:
            return np.zeros((0, self.axes)), np.zeros((0, 7))
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=self.axes)))
        cones = np.zeros((len(signs), 7))
        cones[:, : self.axes] = signs / np.sqrt(self.axes)
        cones[:, 3] = np.cos(np.arccos(1.0 / np.sqrt(self.axes)) + WIDER)
        return np.where(signs < 0.0, self.low, self.high), cones

    def edges(self) -> tuple[Array, Array]:
        """Those of a box in space; none of a room."""
        ends, normals = [], []
        for axis in range(self.axes if self.axes == 3 and not self.inside else 0):
            for signs in itertools.product((-1.0, 1.0), repeat=2):
                side = np.insert(signs, axis, 0.0)
                corner = np.where(side < 0.0, self.low, self.high)
                start = np.where(np.arange(3) == axis, self.low, corner)
                ends.append([start, np.where(np.arange(3) == axis, self.high, corner)])
                normals.append([row for row in np.diag(side) if row.any()])
        return np.array(ends).reshape(-1, 2, 3), np.array(normals).reshape(-1, 2, 3)

    def facing(self, positions: Array, cones: Array) -> tuple[Array, Array]:
        """Gaps and normals; where a point that touches could not meet the closest face, those of the nearest one that
        it can, beside which it is by no more than its depth, and none without one."""
        gap, normals = self.closest(positions)
        size = float((self.high - self.low).max())
        axes = self.axes
        wrong = (gap <= _TOUCHING * size) & ~facing(cones, normals)
        if self.inside or not wrong.any():
            return gap, normals
        at, own = positions[wrong], cones[wrong]
        best, least = np.full(len(at), np.inf), np.full(len(at), np.inf)
        chosen = np.zeros_like(at)
        for axis, sign in itertools.product(range(axes), (-1.0, 1.0)):
            n = sign * np.eye(axes)[axis]
            depth = (at - (self.low if sign < 0.0 else self.high)) @ n
            beside = np.delete(np.maximum(self.low - at, at - self.high), axis, axis=1).max(axis=1)
            fits = facing(own, np.repeat(n[None], len(at), axis=0)) & (depth <= _TOUCHING * size)
            fits &= depth >= gap[wrong] - BESIDE_DEPTH * size
            fits &= (beside <= np.maximum(-depth, _TOUCHING * size)) & (-depth < least)
            best[fits], least[fits], chosen[fits] = depth[fits], -depth[fits], n
        gap, normals = gap.copy(), normals.copy()
        gap[wrong], normals[wrong] = best, chosen
        return gap, normals


def _vector(name: str, value: Any, sizes: tuple[int, ...]) -> Array:
    """Coordinates of an obstacle, as many as one of the sizes."""
    vector = finite_array(name, np.atleast_1d(value), (None,))
    if vector.size not in sizes:
        raise UserError.parameter(name, value, f"must have {' or '.join(map(str, sizes))} coordinates")
    return vector


def _turned(inside: bool, gap: Array, normals: Array) -> tuple[Array, Array]:
    """Gaps and normals, of the complement where `inside`."""
    return (-gap, -normals) if inside else (gap, normals)
