"""Sharp corners and edges of surfaces, at which the normal of a convex body jumps, and cones of normals there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array, Indices
from arlequin.multilevel.search.facets import Edges, FacetMesh, in_space

SHARP = np.deg2rad(30.0)  # angle of the normals from which on a convex edge is sharp
WIDER = np.deg2rad(5.0)  # angle by which normals of faces in contact with a sharp corner may lie outside its cone
LOOSE = np.deg2rad(60.0)  # the same for any node of a surface, as normals are those of a discrete surface
STRAIGHT = np.deg2rad(30.0)  # angle between two sharp edges up to which the node between them is no corner


def sharp_edges(mesh: FacetMesh, free: bool = False) -> Edges:
    """The convex edges at which the normal changes by more than `SHARP`; free: also the border of the mesh."""
    edges, ends = mesh.edges, mesh.free_edges
    sharp = edges.angle > SHARP
    chosen = Edges(edges.nodes[sharp], edges.facets[sharp], edges.angle[sharp])
    if not free:
        return chosen
    return Edges(
        np.concatenate([chosen.nodes, ends.nodes]),
        np.concatenate([chosen.facets, ends.facets]),
        np.concatenate([chosen.angle, ends.angle]),
    )


def facet_normals(mesh: FacetMesh, positions: Array, facets: Indices) -> Array:
    """Unit outward normals (…, 3) of facets (…) in space, by their corners, at node positions (n, 3)."""
    corners = positions[mesh.facets[facets, : mesh.neighbours.shape[1]]]
    normals = np.cross(corners[..., 2, :] - corners[..., 0, :], corners[..., -1, :] - corners[..., 1, :])
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=-1), 1e-300)[..., None])


@dataclass(frozen=True, eq=False)
class NormalCones:
    """Cones of the outward normals of the facets at nodes (k,) of a mesh.

    ends (k, 2): on a straight sharp edge in space, the nodes before and after; −1 elsewhere. wider: widening of the
    cones, rad; at the border of the mesh `LOOSE` at least, as the adjacent faces are not known.
    """

    mesh: FacetMesh
    nodes: Indices
    ends: Indices
    wider: float

    @classmethod
    def of(
        cls,
        mesh: FacetMesh,
        nodes: Indices | None = None,
        wider: float = WIDER,
        free: bool = False,
    ) -> "NormalCones":
        """The cones of `nodes`, by default those on sharp edges; free: see `sharp_edges`."""
        edges, positions = sharp_edges(mesh, free).nodes, mesh.origin
        nodes = np.unique(edges) if nodes is None else nodes
        ends = np.full((nodes.size, 2), -1)
        if mesh.axes == 3 and len(edges):
            at, other = np.concatenate([edges, edges[:, ::-1]]).T
            order = np.argsort(at, kind="stable")
            at, other = at[order], other[order]
            first, counts = np.unique(at, return_index=True, return_counts=True)[1:]
            first = first[counts == 2]
            pairs = np.stack([other[first], other[first + 1]], axis=1)
            incoming, outgoing = (
                positions[at[first]] - positions[pairs[:, 0]],
                positions[pairs[:, 1]] - positions[at[first]],
            )
            cosines = np.vecdot(incoming, outgoing) / (
                np.linalg.norm(incoming, axis=1) * np.linalg.norm(outgoing, axis=1)
            )
            straight = cosines > np.cos(STRAIGHT)
            ends_of_nodes = np.full((mesh.node_count, 2), -1)
            ends_of_nodes[at[first[straight]]] = pairs[straight]
            ends = ends_of_nodes[nodes]
        return cls(mesh, nodes, np.ascontiguousarray(ends), wider)

    def at(self, positions: Array) -> Array:
        """The cones (k, 7) at node positions (n, axes): axis, cosine of the half-angle, direction of the edge."""
        from arlequin.multilevel.search._kernels import normal_cones

        mesh, cones = self.mesh, np.empty((self.nodes.size, 7))
        normal_cones(
            mesh.kind,
            mesh.facets,
            in_space(positions),
            mesh.starts,
            mesh.star,
            self.nodes,
            self.ends,
            self.wider,
            cones,
        )
        free = mesh.free[self.nodes]
        widening = max(LOOSE - self.wider, 0.0)
        cones[free, 3] = np.cos(np.minimum(np.arccos(cones[free, 3]) + widening, np.pi))
        return cones


def facing(cones: Array, normals: Array) -> NDArray[np.bool_]:
    """Whether points with outward normals in cones (k, 7) can be in contact with faces of outward normals (k, axes)."""
    from arlequin.multilevel.search._kernels import ACROSS

    axes = normals.shape[1]
    along = np.vecdot(cones[:, 4 : 4 + axes], normals)
    return np.asarray((-np.vecdot(cones[:, :axes], normals) >= cones[:, 3]) & (np.abs(along) <= ACROSS))
