"""Smooth patches of a surface, separated by its concave edges: a point in a concave corner touches several of them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from arlequin.models.types import Array, Indices
from arlequin.multilevel.search.facets import CORNERS, FacetMesh
from arlequin.multilevel.search.search import ANY, FacetProjections, FacetTree, Limits

CONCAVE = np.deg2rad(20.0)  # angle of the normals at a concave edge from which on its sides are separate patches
PROLONGED = 1.0  # distance past the edge of a patch within which a point has a partner on it, in facet sizes
_CURVED = 2.0  # factor of the depth behind the surface, as curved patches are not bounded by their tangent planes
_ROUND_OFF = 1e-9  # depth that counts as zero, in facet sizes


@dataclass(frozen=True, eq=False)
class SmoothPatches:
    """A surface and its patches: `meshes` (layer) cover it once, and no layer has both sides of a concave edge.

    facets: for each layer, the numbers (f,) of its facets in the surface. Patches without a common corner may share a
    layer, so that there are few layers for any number of patches: two for a saw, three for a room in space.

    A patch is extended past a concave edge by the tangent continuation of its last facet. The free space F at a
    concave corner is the intersection of the half-spaces in front of the patches: a point in F is in front of all of
    them, and the depth of a point p behind any of them is at most its distance from F,

        −g_c ≤ dist(p, F) = −g,

    g the signed distance of the surface. Where p is in front by g, or less deep (a thin wall, or the other side of the
    body), the continuation of the patch is not part of the surface, and p has no partner on it.
    """

    whole: FacetMesh
    meshes: tuple[FacetMesh, ...]
    facets: tuple[Indices, ...]

    @classmethod
    def of(cls, whole: FacetMesh) -> "SmoothPatches | None":
        """The patches in the reference positions; None for a surface without a separating concave edge."""
        (facet_a, facet_b), count = whole.edges.facets.T, len(whole.facets)
        concave = whole.edges.angle < -CONCAVE
        joined = coo_array((np.ones((~concave).sum()), (facet_a[~concave], facet_b[~concave])), shape=(count, count))
        patch = connected_components(joined, directed=False)[1]
        separating = concave & (patch[facet_a] != patch[facet_b])
        if not separating.any():
            return None
        layer = _layers(_adjacency(whole, patch))[patch]
        facets = tuple(np.flatnonzero(layer == i) for i in range(int(layer.max()) + 1))
        return cls(whole, tuple(FacetMesh.build(whole.facets[part], whole.origin) for part in facets), facets)

    def closest(
        self, layer: int, trees: Callable[[FacetMesh], FacetTree], points: Array, limits: Limits, cones: Array = ANY
    ) -> FacetProjections:
        """Closest points on a layer for points (k, 3); facets numbered in the layer.

        trees: mesh ↦ its tree in the current positions; limits: for the whole surface.
        """
        mesh = self.meshes[layer]
        projections = trees(mesh).closest(points, limits.reach, PROLONGED, np.inf, cones)
        slack = _ROUND_OFF * mesh.size[np.maximum(projections.facet, 0)]
        beyond_edge = _beyond_edges(mesh, projections.reference)
        suspect = np.flatnonzero((projections.facet >= 0) & (beyond_edge | (projections.gap < -slack)))
        if not suspect.size:
            return projections
        whole = trees(self.whole).closest(points[suspect], *limits)
        slack, gap = slack[suspect], projections.gap[suspect]
        depth = np.where(whole.facet >= 0, np.maximum(-whole.gap, 0.0), 0.0)
        behind = -gap > _CURVED * depth + slack
        same = whole.facet == self.facets[layer][projections.facet[suspect]]
        elsewhere = beyond_edge[suspect] & ~same & ~(whole.gap <= slack)
        projections.drop(suspect[behind | elsewhere])
        return projections


def _adjacency(mesh: FacetMesh, patch: Indices) -> csr_array:
    """Adjacency (p, p) of patches with a common corner; patch (f,): of each facet."""
    corners = mesh.facets[:, : CORNERS[mesh.kind]]
    shape = int(patch.max()) + 1, mesh.node_count
    entries = np.repeat(patch, corners.shape[1]), corners.ravel()
    touched = csr_array((np.ones(corners.size), entries), shape=shape)
    return csr_array(touched @ touched.T)


def _layers(adjacency: csr_array) -> Indices:
    """Layer of each patch, different for adjacent patches: greedy colouring in order of decreasing degree (Welsh &
    Powell, Comput. J. 10 (1967) 85–86)."""
    counts = np.diff(adjacency.indptr)
    layer = np.full(counts.size, -1, dtype=np.int64)
    for patch in np.argsort(-counts, kind="stable"):
        near = layer[adjacency.indices[adjacency.indptr[patch] : adjacency.indptr[patch + 1]]]
        layer[patch] = np.setdiff1d(np.arange(counts[patch]), near)[0]
    return layer


def _beyond_edges(mesh: FacetMesh, reference: Array) -> NDArray[np.bool_]:
    """Whether reference coordinates (k, 2) lie past the edges of a facet."""
    s, t = reference.T
    distance = np.maximum(-np.minimum(s, t), s + t - 1.0 if mesh.kind in (2, 3) else np.maximum(s, t) - 1.0)
    return np.asarray(distance > _ROUND_OFF)
