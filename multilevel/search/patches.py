"""Smooth patches of a surface, cut along its concave edges: a point in a concave corner touches one facet of each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from arlequin.models.types import Array, Indices
from arlequin.multilevel.search.facets import CORNERS, FacetMesh
from arlequin.multilevel.search.search import ANY, FacetProjections, FacetTree, Limits

CONCAVE = np.deg2rad(20.0)  # turn of the normal at a concave edge from which on its sides are patches of their own
PROLONGED = 1.0  # distance past the edge of a patch within which a point has a partner on it, in facet sizes
_CURVED = 2.0  # factor of the depth behind the whole surface, as curved patches do not lie in their half-spaces
_ROUND_OFF = 1e-9  # depth that may be none, in facet sizes


@dataclass(frozen=True, eq=False)
class SmoothPatches:
    """A surface and its patches: `meshes` (layer) cover it once, and no layer has both sides of a concave edge.

    facets: of each layer, the numbers (f,) of its facets in the whole surface. Patches without a common corner may
    share a layer, so that there are few of them, however many patches there are: two of a saw, three of a room in
    space.

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
    def of(cls, whole: FacetMesh) -> "SmoothPatches | None":
        """Those in the reference positions; None of a surface without a concave edge that parts it."""
        (one, other), count = whole.edges.facets.T, len(whole.facets)
        concave = whole.edges.turn < -CONCAVE
        joined = coo_array((np.ones((~concave).sum()), (one[~concave], other[~concave])), shape=(count, count))
        patch = connected_components(joined, directed=False)[1]
        apart = concave & (patch[one] != patch[other])
        if not apart.any():
            return None
        layer = _layers(_meetings(whole, patch))[patch]
        facets = tuple(np.flatnonzero(layer == i) for i in range(int(layer.max()) + 1))
        return cls(whole, tuple(FacetMesh.build(whole.facets[own], whole.origin) for own in facets), facets)

    def closest(
        self, layer: int, trees: Callable[[FacetMesh], FacetTree], points: Array, limits: Limits, cones: Array = ANY
    ) -> FacetProjections:
        """Closest points on a layer for points (k, 3); facets numbered in the layer.

        trees: of a mesh, in the current positions; limits: of the whole surface.
        """
        mesh = self.meshes[layer]
        found = trees(mesh).closest(points, limits.reach, PROLONGED, np.inf, cones)
        slack = _ROUND_OFF * mesh.size[np.maximum(found.facet, 0)]
        past = _past(mesh, found.reference)
        doubtful = np.flatnonzero((found.facet >= 0) & (past | (found.gap < -slack)))
        if not doubtful.size:
            return found
        whole = trees(self.whole).closest(points[doubtful], *limits)
        slack, gap = slack[doubtful], found.gap[doubtful]
        within = np.where(whole.facet >= 0, np.maximum(-whole.gap, 0.0), 0.0)
        behind = -gap > _CURVED * within + slack
        same = whole.facet == self.facets[layer][found.facet[doubtful]]
        elsewhere = past[doubtful] & ~same & ~(whole.gap <= slack)
        found.drop(doubtful[behind | elsewhere])
        return found


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
