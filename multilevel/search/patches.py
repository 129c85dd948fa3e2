"""Smooth patches of a surface, cut along its concave edges: a point in a concave corner touches one facet of each."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from arlequin.models.types import Array, Indices
from arlequin.multilevel.search.facets import CORNERS, FacetMesh
from arlequin.multilevel.search.search import ANY, FacetProjections, FacetTree, in_space

CONCAVE = np.deg2rad(20.0)  # turn of the normal at a concave edge from which on its sides are patches of their own
PROLONGED = 1.0  # distance past the edge of a patch within which a point has a partner on it, in facet sizes
_ROUND_OFF = 1e-9  # depth that may be none, in facet sizes


@dataclass(frozen=True, eq=False)
class SmoothPatches:
    """A surface and its patches: `meshes` (layer) cover it once, and no layer has both sides of a concave edge.

    facets: of each layer, the numbers (f,) of its facets in the whole surface. Patches that share no edge may share a
    layer, so that there are few of them, however many patches there are: two on a polyline, as a rule three or four on
    a surface.

    A patch goes on past the concave edge in which it ends, as the tangent continuation of its last facet. The free
    space F at a concave corner is the intersection of the half-spaces in front of the patches, so that a point in F is
    in front of all of them, and a point p behind is no deeper behind any than it is far from F,

        −g_c ≤ dist(p, F) = −g,

    g the signed distance of the whole surface. Where g says that p is in front, or not as deep (a thin wall, or the
    other side of the body), the continuation of a patch is no part of the surface, and p has no partner there.
    """

    whole: FacetMesh
    meshes: tuple[FacetMesh, ...]
    facets: tuple[Indices, ...]

    @classmethod
    def of(cls, whole: FacetMesh, positions: Array) -> "SmoothPatches | None":
        """Those at reference positions (n, axes); None of a surface without a concave edge that parts it."""
        one, other, _, turn = edges_between(whole, positions)
        count, concave = len(whole.facets), turn < -CONCAVE
        joined = coo_array((np.ones((~concave).sum()), (one[~concave], other[~concave])), shape=(count, count))
        patch = connected_components(joined, directed=False)[1]
        apart = concave & (patch[one] != patch[other])
        if not apart.any():
            return None
        layer = _layers(_meetings(whole, patch))[patch]
        facets = tuple(np.flatnonzero(layer == i) for i in range(int(layer.max()) + 1))
        return cls(whole, tuple(FacetMesh.build(whole.facets[own], positions) for own in facets), facets)

    def closest(
        self,
        layer: int,
        positions: Array,
        points: Array,
        reach: float,
        overhang: float,
        depth: float,
        cones: Array = ANY,
    ) -> FacetProjections:
        """Closest points on a layer, at node positions (n, axes), for points (k, axes); facets numbered in the layer.

        reach, m, overhang past free ends and depth, in facet sizes: of the whole surface; these and the cones as in
        `FacetTree.closest`.
        """
        mesh, spatial = self.meshes[layer], in_space(points)
        found = FacetTree.build(mesh, positions).closest(spatial, reach, PROLONGED, np.inf, cones)
        whole = FacetTree.build(self.whole, positions).closest(spatial, reach, overhang, depth)
        at = np.maximum(found.facet, 0)
        slack = _ROUND_OFF * mesh.size[at]
        within = np.where(whole.facet >= 0, np.maximum(-whole.gap, 0.0), 0.0)
        behind = -found.gap > 2.0 * within + slack
        same = whole.facet == self.facets[layer][at]
        elsewhere = _past(mesh, found.reference) & ~same & ~(whole.gap <= slack)
        none = (found.facet < 0) | behind | elsewhere
        found.facet[none], found.gap[none], found.normal[none] = -1, np.inf, 0.0
        return found


class Edges(NamedTuple):
    """Edges that two facets share, in the plane nodes: facets `one` and `other` (e,), nodes (e, 2), in the plane
    (e, 1); turn (e,): angle of the normal from one facet to the other, positive where the body is convex."""

    one: Indices
    other: Indices
    nodes: Indices
    turn: Array


def edges_between(mesh: FacetMesh, positions: Array) -> Edges:
    """The edges of a mesh at node positions (n, axes)."""
    from arlequin.multilevel.search._kernels import edge_normals

    spatial = in_space(positions)
    normals = np.zeros((len(mesh.facets), max(mesh.neighbours.shape[1], 2), 3))
    edge_normals(mesh.kind, mesh.facets, spatial, normals)
    if mesh.axes == 2:
        ends = np.full((2, mesh.node_count), -1)
        for corner in (0, 1):
            ends[corner, mesh.facets[:, corner]] = np.arange(len(mesh.facets))
        nodes = np.flatnonzero((np.diff(mesh.starts) == 2) & (ends >= 0).all(axis=0))[:, None]
        other, one = ends[:, nodes[:, 0]]  # the facet that starts at the node, and the one that ends there
        first, second, along = normals[one, 1], normals[other, 0], np.array([[0.0, 0.0, 1.0]])
    else:
        one, edge = np.nonzero(mesh.neighbours[:, :, 0] > np.arange(len(mesh.facets))[:, None])
        other, across = mesh.neighbours[one, edge].T
        corners = mesh.neighbours.shape[1]
        nodes = np.stack([mesh.facets[one, edge], mesh.facets[one, (edge + 1) % corners]], axis=1)
        first, second, along = normals[one, edge], normals[other, across], spatial[nodes[:, 1]] - spatial[nodes[:, 0]]
    cross = np.cross(first, second)
    angle = np.arctan2(np.linalg.norm(cross, axis=1), np.vecdot(first, second))
    return Edges(one, other, nodes, np.copysign(angle, np.vecdot(cross, along)))


def _meetings(mesh: FacetMesh, patch: Indices) -> csr_array:
    """Pairs of patches (p, p) that have a corner in common, of facets that belong to the patches (f,)."""
    corners = mesh.facets[:, : CORNERS[mesh.kind]]
    shape = int(patch.max()) + 1, mesh.node_count
    entries = np.repeat(patch, corners.shape[1]), corners.ravel()
    touched = csr_array((np.ones(corners.size), entries), shape=shape)
    return csr_array(touched @ touched.T)


def _layers(meetings: csr_array) -> Indices:
    """A number for each patch, another than those of the patches that it meets: of the first that is free, the patches
    that meet the most first (Welsh & Powell, Comput. J. 10 (1967) 85–86)."""
    counts = np.diff(meetings.indptr)
    layer = np.full(counts.size, -1, dtype=np.int64)
    for patch in np.argsort(-counts, kind="stable"):
        near = layer[meetings.indices[meetings.indptr[patch] : meetings.indptr[patch + 1]]]
        layer[patch] = np.setdiff1d(np.arange(counts[patch]), near)[0]
    return layer


def _past(mesh: FacetMesh, reference: Array) -> NDArray[np.bool_]:
    """Whether reference coordinates (k, 2) lie past the edges of a facet."""
    s, t = reference.T
    far = np.maximum(-np.minimum(s, t), s + t - 1.0 if mesh.kind in (2, 3) else np.maximum(s, t) - 1.0)
    return np.asarray(far > _ROUND_OFF)
