"""Search for the facets of a surface closest to points, or first intersected along directions.

Facets are found by a tree of their boxes: SciPy's trees hold points. Candidates within reach of the centres by
`scipy.spatial.cKDTree` alone take 3 to 4 times as long as the whole search, and have no bound where sizes vary.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arlequin.models.types import Array, Indices
from arlequin.multilevel.search.facets import FacetMesh, in_space

INSIDE = 1e-9  # gap of points that are not outside of a surface, in facet sizes
BESIDE_DEPTH = 0.02  # how much deeper than behind the closest facet a point may be behind the one it faces, in sizes
OVERHANG = 0.05  # distance past a free end within which points have a partner, in facet sizes
ANY = np.empty((0, 7))  # no cones: facets of any normal
DEPTH = 1.0  # largest penetration of partners, in facet sizes: deeper points belong to another side of the body


@dataclass(frozen=True, eq=False)
class FacetProjections:
    """Projections of k points: facet (k,), −1 for none; reference coordinates (k, 2); normals (k, 3); gaps (k,), m."""

    facet: Indices
    reference: Array
    normal: Array
    gap: Array

    def drop(self, points: Indices) -> None:
        """Leaves some of the points without a partner."""
        self.facet[points], self.gap[points], self.normal[points] = -1, np.inf, 0.0


class Limits(NamedTuple):
    """Within which points have partners: reach, m, overhang past free ends and depth, in facet sizes."""

    reach: float
    overhang: float = OVERHANG
    depth: float = DEPTH


@dataclass(frozen=True, eq=False)
class FacetTree:
    """Bounding-box tree of the facets at node positions (n, 3), plane ones in z = 0."""

    mesh: FacetMesh
    positions: Array
    boxes: Array
    order: Indices
    tree: Array

    @classmethod
    def build(cls, mesh: FacetMesh, positions: Array) -> "FacetTree":
        """The tree at node positions (n, axes)."""
        from arlequin.multilevel.search._kernels import facet_boxes

        padded = in_space(positions)
        boxes = np.empty((len(mesh.facets), 6))
        facet_boxes(mesh.kind, mesh.facets, padded, boxes)
        order = box_order(boxes)
        return cls(mesh, padded, boxes, order, box_tree(boxes, order))

    def closest(
        self,
        points: Array,
        reach: float,
        overhang: float = OVERHANG,
        depth: float = DEPTH,
        cones: Array = ANY,
    ) -> FacetProjections:
        """Closest points of the facets, within `reach` (m), for points (k, 3).

        Points more than `overhang` past a free end, or deeper than `depth` (both in facet sizes), have no partner.
        cones (k, 7): in which −n of the facets and of the result must lie, see `nearest` in `_kernels`.
        """
        from arlequin.multilevel.search._kernels import resolve

        mesh = self.mesh
        projections, feature = self.nearest(points, reach, cones)
        resolve(
            (mesh.kind, mesh.facets, self.positions),
            (mesh.neighbours, mesh.starts, mesh.star, mesh.free, mesh.size),
            points, (overhang, depth), cones, feature,
            (projections.facet, projections.reference, projections.normal, projections.gap),
        )  # fmt: skip
        if len(cones):
            self._drop_far_side(projections, points, reach, overhang, depth)
        return projections

    def _drop_far_side(
        self, projections: FacetProjections, points: Array, reach: float, overhang: float, depth: float
    ) -> None:
        """Drops facets of the other side of the body: of points that are behind the facet, but not inside of the
        surface, or much deeper than behind another facet, which they cannot face, but which is the closest."""
        behind = np.flatnonzero((projections.facet >= 0) & (projections.gap < 0.0))
        if not behind.size:
            return
        closest, at = self.closest(points[behind], reach, overhang, depth), projections.facet[behind]
        outside = ~(closest.gap <= INSIDE * self.mesh.size[at])
        other = (closest.facet != at) & (projections.gap[behind] < closest.gap - BESIDE_DEPTH * self.mesh.size[at])
        projections.drop(behind[outside | other])

    def nearest(self, points: Array, reach: float, cones: Array = ANY) -> tuple[FacetProjections, Indices]:
        """Nearest facets, irrespective of their side, and the features (k,) of them: see `nearest` in `_kernels`."""
        from arlequin.multilevel.search._kernels import nearest

        mesh, projections, feature = self.mesh, _empty(len(points)), np.empty(len(points), np.int64)
        nearest(
            mesh.kind, mesh.facets, self.positions, self.boxes, self.order, self.tree, points, reach, cones,
            projections.facet, projections.reference, feature,
        )  # fmt: skip
        return projections, feature

    def along(
        self, points: Array, directions: Array, reach: float, overhang: float = OVERHANG, depth: float = DEPTH
    ) -> FacetProjections:
        """First facets intersected along the unit directions (k, 3), in either sense, among those that face them."""
        from arlequin.multilevel.search._kernels import along_direction

        mesh, projections = self.mesh, _empty(len(points))
        along_direction(
            (mesh.kind, mesh.facets, self.positions), (mesh.neighbours, mesh.free, mesh.size),
            (self.boxes, self.order, self.tree), points, directions, (reach, overhang, depth),
            (projections.facet, projections.reference, projections.normal, projections.gap),
        )  # fmt: skip
        return projections


def box_order(boxes: Array) -> Indices:
    """Order (k,) of boxes (k, 6) along a space-filling curve, in which `box_tree` has small nodes."""
    from arlequin.multilevel.search._kernels import morton_codes

    codes = np.empty(len(boxes), np.int64)
    morton_codes(boxes, codes)
    return np.argsort(codes, kind="stable")


def box_tree(boxes: Array, order: Indices) -> Array:
    """Boxes (2 L, 6) of a complete binary tree with L leaves over boxes (k, 6), see `tree_boxes` in `_kernels`."""
    from arlequin.multilevel.search._kernels import LEAF, tree_boxes

    tree = np.empty((2 << max(int(np.ceil(np.log2(len(boxes) / LEAF))), 0), 6))
    tree_boxes(boxes, order, tree)
    return tree


def _empty(count: int) -> FacetProjections:
    return FacetProjections(np.empty(count, np.int64), np.zeros((count, 2)), np.zeros((count, 3)), np.empty(count))
