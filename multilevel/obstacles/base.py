"""Fixed rigid obstacles: their interface, the plane, and one plane per point."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from arlequin.models.checks import finite_array
from arlequin.models.errors import UserError, short_repr
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array


@runtime_checkable
class Obstacle(Protocol):
    """A fixed rigid body in 1, 2 or 3 axes."""

    @property
    def axes(self) -> int: ...

    @property
    def flat(self) -> bool:
        """Whether the normal at each point is the same everywhere."""
        ...

    def closest(self, positions: Array) -> tuple[Array, Array]:
        """Signed distances (k,) of the positions (k, a), m, negative inside the obstacle, and unit normals (k, a) out
        of it at the closest points; +inf and 0 where there is no partner."""
        ...


@runtime_checkable
class PatchedObstacle(Protocol):
    """An obstacle with concave edges, where a point touches several smooth patches of its surface at once."""

    def patches(self) -> "tuple[Obstacle, ...]":
        """The patches as separate obstacles; empty without concave edges."""
        ...


@runtime_checkable
class CorneredObstacle(Protocol):
    """An obstacle with sharp corners, which may touch the facets of a slave between its nodes."""

    def corners(self) -> tuple[Array, Array]:
        """Positions (k, a), m, and cones (k, 7) of their normals (see `NormalCones`)."""
        ...

    def edges(self) -> tuple[Array, Array]:
        """Sharp edges in space: both ends (e, 2, 3), m, and the normals of both faces (e, 2, 3)."""
        ...


@runtime_checkable
class FacingObstacle(Protocol):
    """An obstacle that pairs points only with faces that they can face."""

    def facing(self, positions: Array, cones: Array) -> tuple[Array, Array]:
        """Gaps and normals as by `closest`, for points with outward normals in cones (k, 7)."""
        ...


@checked_call
@dataclass(frozen=True)
class RigidPlane:
    """The half-space behind a fixed plane: `point` (axis,) on it, m; `normal` (axis,) out of the obstacle, any length.

    A point x is at the gap (x − point)·n. In 1D both are numbers: RigidPlane(0.101, -1.0).

    >>> import numpy as np
    >>> import arlequin as aq
    >>> floor = aq.RigidPlane(point=(0.0, 0.01), normal=(0.0, 1.0))
    >>> floor.gap(np.array([[0.0, 0.03], [5.0, 0.0]])).round(9).tolist()  # above the floor, below it; m
    [0.02, -0.01]
    >>> aq.RigidPlane(point=0.101, normal=-1.0).gap(np.array([[0.1]])).round(9).tolist()  # wall on the right of a bar
    [0.001]
    """

    point: Any
    normal: Any

    __repr__ = short_repr

    def __post_init__(self) -> None:
        point = finite_array("point", np.atleast_1d(self.point), (None,))
        normal = finite_array("normal", np.atleast_1d(self.normal), (point.size,))
        length = float(np.linalg.norm(normal))
        if length == 0.0:
            raise UserError.parameter("normal", self.normal, "must not be zero")
        object.__setattr__(self, "point", point)
        object.__setattr__(self, "normal", normal / length)

    @property
    def axes(self) -> int:
        return int(self.point.size)

    def gap(self, positions: Array) -> Array:
        """Gaps (k,) of the positions (k, axis)."""
        return np.asarray((positions - self.point) @ self.normal)

    @property
    def flat(self) -> bool:
        return True

    def closest(self, positions: Array) -> tuple[Array, Array]:
        """Gaps and normals at the positions."""
        return self.gap(positions), np.repeat(self.normal[None], len(positions), axis=0)


@checked_call
@dataclass(frozen=True)
class RigidPlanes:
    """One plane for each point of the slave, in order: `points` (k, axis) on them, m; `normals` (k, axis), any length.

    Stops around a point or along a rod: point k is in contact with the half-space behind plane k alone, at the gap
    (x_k − points_k)·n_k.
    """

    points: Any
    normals: Any

    __repr__ = short_repr

    def __post_init__(self) -> None:
        points = finite_array("points", self.points, (None, None))
        normals = finite_array("normals", self.normals, points.shape)
        lengths = np.linalg.norm(normals, axis=1)
        if not points.size or not lengths.all():
            raise UserError.parameter("normals", self.normals, "must be vectors other than zero, one for each point")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "normals", normals / lengths[:, None])

    @property
    def axes(self) -> int:
        return int(self.points.shape[1])

    @property
    def flat(self) -> bool:
        return True

    def closest(self, positions: Array) -> tuple[Array, Array]:
        """Gaps and normals at the positions, one of each plane."""
        if len(positions) != len(self.points):
            raise UserError(f"{len(self.points)} rigid planes for {len(positions)} contact points: give one each")
        return np.einsum("ka,ka->k", positions - self.points, self.normals), self.normals.copy()
