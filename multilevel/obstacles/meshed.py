"""Rigid obstacles of facets: a polyline in 2D, a surface of triangles in 3D."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arlequin.models.checks import finite_array, flag
from arlequin.models.errors import UserError, short_repr
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.base import Obstacle
from arlequin.multilevel.search.corners import NormalCones, facet_normals, sharp_edges
from arlequin.multilevel.search.facets import FacetMesh, in_space
from arlequin.multilevel.search.patches import SmoothPatches
from arlequin.multilevel.search.search import ANY, FacetProjections, FacetTree, Limits

END = 1e-6  # distance past an open end within which points have a partner, in segment lengths
_LIMITS = Limits(np.inf, END, np.inf)


class _FacetSearchObstacle(ABC):
    """Base class of obstacles of points (n, a) with a facet search."""

    points: Any

    @property
    def axes(self) -> int:
        return int(self.points.shape[1])

    @property
    def flat(self) -> bool:
        return False

    def closest(self, positions: Array) -> tuple[Array, Array]:
        """Gaps and normals at any distance and depth: on a rigid body the closest facet is unambiguous."""
        return self.facing(positions, ANY)

    def facing(self, positions: Array, cones: Array) -> tuple[Array, Array]:
        """Gaps and normals of points with outward normals in cones (k, 7)."""
        projections = self._search(in_space(positions), cones)
        return projections.gap, np.ascontiguousarray(projections.normal[:, : self.axes])

    @abstractmethod
    def _search(self, positions: Array, cones: Array) -> FacetProjections: ...


class _Faceted(_FacetSearchObstacle):
    """An obstacle of facets (f, a) between `points` (n, a), a axes."""

    @property
    @abstractmethod
    def _facets(self) -> Indices: ...

    def _search(self, positions: Array, cones: Array) -> FacetProjections:
        return self._tree.closest(positions, *_LIMITS, cones)

    def patches(self) -> tuple[Obstacle, ...]:
        """Parts of the surface without concave edges between them (see `SmoothPatches`)."""
        smooth = SmoothPatches.of(self._tree.mesh)
        if smooth is None:
            return ()
        trees = {id(mesh): FacetTree.build(mesh, self.points) for mesh in smooth.meshes} | {
            id(smooth.whole): self._tree
        }
        return tuple(_Layer(self.points, smooth, trees, i) for i in range(len(smooth.meshes)))

    def corners(self) -> tuple[Array, Array]:
        """Nodes on sharp edges."""
        cones = NormalCones.of(self._tree.mesh)
        return self.points[cones.nodes], cones.at(self.points)

    def edges(self) -> tuple[Array, Array]:
        """Sharp edges."""
        if self.axes == 2:
            return np.zeros((0, 2, 3)), np.zeros((0, 2, 3))
        mesh = self._tree.mesh
        sharp = sharp_edges(mesh)
        return self.points[sharp.nodes], facet_normals(mesh, self.points, sharp.facets)

    @cached_property
    def _tree(self) -> FacetTree:
        return FacetTree.build(FacetMesh.build(self._facets, self.points), self.points)


@dataclass(frozen=True, eq=False)
class _Layer(_FacetSearchObstacle):
    """A layer of patches of a faceted obstacle of `points` (n, a), without common concave edges; trees: of all meshes
    of the surface, by their identities."""

    points: Array
    surface: SmoothPatches
    trees: dict[int, FacetTree]
    number: int

    def _search(self, positions: Array, cones: Array) -> FacetProjections:
        return self.surface.closest(self.number, lambda mesh: self.trees[id(mesh)], positions, _LIMITS, cones)


@checked_call
@dataclass(frozen=True)
class RigidPolyline(_Faceted):
    """A rigid boundary in 2D through `points` (n, 2), m, with the solid on the left of the path along them.

    closed=True joins the last point to the first: counter-clockwise points bound a body, clockwise ones a hole. At a
    corner the normal points from (or to) it; points past the ends of an open polyline have no partner (gap +inf).

    >>> import numpy as np
    >>> import arlequin as aq
    >>> valley = aq.RigidPolyline([(1.0, 1.0), (0.0, 0.0), (-1.0, 1.0)])  # the solid on its left, below
    >>> gaps, normals = valley.closest(np.array([[0.5, 1.5]]))
    >>> gaps.round(6).tolist(), normals.round(6).tolist()
    ([0.707107], [[-0.707107, 0.707107]])
    """

    points: Any
    closed: bool = False

    __repr__ = short_repr

    def __post_init__(self) -> None:
        points = finite_array("points", self.points, (None, 2))
        if len(points) < 2 + flag("closed", self.closed):
            raise UserError.parameter("points", self.points, f"must be at least {2 + self.closed} points")
        steps = np.diff(points, axis=0, append=points[:1])[: None if self.closed else -1]
        if not steps.any(axis=1).all():
            raise UserError.parameter("points", self.points, "must not repeat a point in a row")
        object.__setattr__(self, "points", points)

    @property
    def _facets(self) -> Indices:
        start = np.arange(len(self.points) - 1 + self.closed)
        return np.stack([start, (start + 1) % len(self.points)], axis=1)


@checked_call
@dataclass(frozen=True)
class RigidSurface(_Faceted):
    """A rigid boundary in 3D: `triangles` (f, 3) of the `points` (n, 3), m, counter-clockwise seen from outside.

    Edges and corners as on a polyline; points past a free edge have no partner (gap +inf).

    >>> import numpy as np
    >>> import arlequin as aq
    >>> table = aq.RigidSurface([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    >>> gaps, normals = table.closest(np.array([[0.4, 0.3, 0.1], [2.0, 0.5, 0.1]]))
    >>> gaps.tolist(), normals[0].tolist()  # the second point is past the free edge
    ([0.1, inf], [0.0, 0.0, 1.0])
    """

    points: Any
    triangles: Any

    __repr__ = short_repr

    def __post_init__(self) -> None:
        points = finite_array("points", self.points, (None, 3))
        array = np.asarray(self.triangles)
        if array.ndim != 2 or array.shape[1] != 3 or len(array) == 0 or array.dtype.kind not in "iu":
            raise UserError.parameter("triangles", self.triangles, "must be whole numbers of shape (any, 3)")
        triangles: Indices = array.astype(np.int64)
        if triangles.min() < 0 or triangles.max() >= len(points):
            raise UserError.parameter("triangles", self.triangles, f"must number points, 0 to {len(points) - 1}")
        corners = points[triangles]
        sides = np.roll(corners, -1, axis=1) - corners
        area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
        flat = np.flatnonzero(~(area > 1e-12 * (sides**2).sum(axis=2).max(axis=1)))
        if flat.size:
            raise UserError.parameter("triangles", triangles[flat[0]], f"triangle {flat[0]} has no area")
        edges = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
        _, at, multiplicity = np.unique(edges, axis=0, return_index=True, return_counts=True)
        if multiplicity.max() > 1:
            first = at[np.argmax(multiplicity)] // 3
            rule = "must all turn the same way seen from outside, at most two at an edge"
            raise UserError.parameter(f"triangles[{first}]", triangles[first].tolist(), rule)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "triangles", triangles)

    @property
    def _facets(self) -> Indices:
        return self.triangles
