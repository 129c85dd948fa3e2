"""Topology of the facets of a surface, and orthonormal frames of contact points."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.models.fem.spectral import LARGEST_ORDER, facet_pieces
from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices

# kinds as in arlequin.multilevel.search._kernels, by axes and nodes of a facet
KINDS = {(2, 2): 0, (2, 3): 1, (3, 3): 2, (3, 6): 3, (3, 4): 4, (3, 9): 5}
CORNERS = (2, 2, 3, 3, 4, 4)
# linear facets between the nodes of those of spectral elements, by axes and nodes
_PIECES = {
    (axes, (order + 1) ** (axes - 1)): facet_pieces(axes, order)
    for axes in (2, 3)
    for order in range(3, LARGEST_ORDER + 1)
}


@dataclass(frozen=True, eq=False)
class FacetMesh:
    """Facets (f, m) of the local nodes 0 … n − 1 of a surface in `axes` = 2 or 3; node order as
    `arlequin.models.part.Surface`.

    neighbours (f, edges, 2) facet and its edge across each edge (−1 at a free one; no edges in the plane);
    starts (n + 1,), star (…, 2) the facets at each corner node and which corner of theirs it is; free (n,) corner
    nodes on a free end; size (f,) longest side in the reference positions `origin` (n, axes), m.
    """

    axes: int
    kind: int
    facets: Indices
    neighbours: Indices
    starts: Indices
    star: Indices
    free: NDArray[np.bool_]
    size: Array
    origin: Array

    @classmethod
    def build(cls, facets: Indices, positions: Array) -> "FacetMesh":
        """The mesh of facets of nodes at reference positions (n, axes)."""
        axes = positions.shape[1]
        if (axes, facets.shape[1]) not in KINDS:
            raise UserError(f"contact needs facets of lines, triangles or quads: {facets.shape[1]} nodes in {axes}D")
        kind = KINDS[axes, facets.shape[1]]
        corners = facets[:, : CORNERS[kind]]
        sides = positions[np.roll(corners, -1, axis=1)] - positions[corners]
        size = np.linalg.norm(sides, axis=2).max(axis=1)
        order = np.argsort(corners.ravel(), kind="stable")
        star = np.stack(np.divmod(order, corners.shape[1]), axis=1)
        counts = np.bincount(corners.ravel(), minlength=len(positions))
        starts = np.concatenate([[0], np.cumsum(counts)])
        neighbours = _neighbours(corners) if axes == 3 else np.empty((len(facets), 0, 2), np.int64)
        free = counts == 1 if axes == 2 else np.zeros(len(positions), bool)
        if axes == 3:
            ends = neighbours[:, :, 0] < 0
            free[corners[ends]] = True
            free[np.roll(corners, -1, axis=1)[ends]] = True
        facets, neighbours, starts, star = (
            np.ascontiguousarray(array, dtype=np.int64) for array in (facets, neighbours, starts, star)
        )
        return cls(axes, kind, facets, neighbours, starts, star, free, size, positions)

    @staticmethod
    def suits(surface: Surface) -> bool:
        """Whether a surface has facets of these kinds: not a point, nor the line of a beam."""
        kind = surface.positions.shape[1], surface.facets.shape[1]
        return kind in KINDS or kind in _PIECES

    @classmethod
    def of(cls, surface: Surface) -> "FacetMesh":
        """The facets of a part's surface, above order 2 as linear ones between its nodes; node k is `nodes[k]`.

        The mesh of a surface is cached.
        """
        if surface not in _MESHES:
            _MESHES[surface] = cls._made(surface)
        return _MESHES[surface]

    @classmethod
    def _made(cls, surface: Surface) -> "FacetMesh":
        facets, axes = np.searchsorted(surface.nodes, surface.facets), surface.positions.shape[1]
        if (axes, facets.shape[1]) in _PIECES:
            pieces = _PIECES[axes, facets.shape[1]]
            facets = facets[:, pieces].reshape(-1, pieces.shape[1])
        return cls.build(facets, surface.positions)

    @property
    def node_count(self) -> int:
        return self.starts.size - 1

    @cached_property
    def edges(self) -> "Edges":
        """The edges that two facets share, in the reference positions."""
        from arlequin.multilevel.search._kernels import edge_normals

        spatial = in_space(self.origin)
        normals = np.zeros((len(self.facets), max(self.neighbours.shape[1], 2), 3))
        edge_normals(self.kind, self.facets, spatial, normals)
        if self.axes == 2:
            ends = np.full((2, self.node_count), -1)
            for corner in (0, 1):
                ends[corner, self.facets[:, corner]] = np.arange(len(self.facets))
            nodes = np.flatnonzero((np.diff(self.starts) == 2) & (ends >= 0).all(axis=0))[:, None]
            facet_b, facet_a = ends[:, nodes[:, 0]]  # the facet that starts at the node, and the one that ends there
            first, second, along = normals[facet_a, 1], normals[facet_b, 0], np.array([[0.0, 0.0, 1.0]])
        else:
            facet_a, edge_a = np.nonzero(self.neighbours[:, :, 0] > np.arange(len(self.facets))[:, None])
            facet_b, edge_b = self.neighbours[facet_a, edge_a].T
            nodes = self._ends(facet_a, edge_a)
            first, second = normals[facet_a, edge_a], normals[facet_b, edge_b]
            along = spatial[nodes[:, 1]] - spatial[nodes[:, 0]]
        cross = np.cross(first, second)
        angle = np.arctan2(np.linalg.norm(cross, axis=1), np.vecdot(first, second))
        return Edges(nodes, np.stack([facet_a, facet_b], axis=1), np.copysign(angle, np.vecdot(cross, along)))

    @cached_property
    def extent(self) -> float:
        """Largest extent along an axis in the reference positions, m."""
        used = self.origin[np.unique(self.facets)]
        return float(np.ptp(used, axis=0).max())

    @cached_property
    def free_edges(self) -> "Edges":
        """The edges of a single facet, which is listed twice."""
        if self.axes == 2:
            nodes = np.flatnonzero(self.free)[:, None]
            facet = self.star[self.starts[nodes[:, 0]], 0]
        else:
            facet, edge = np.nonzero(self.neighbours[:, :, 0] < 0)
            nodes = self._ends(facet, edge)
        return Edges(nodes, np.stack([facet, facet], axis=1), np.zeros(len(nodes)))

    def _ends(self, facet: Indices, edge: Indices) -> Indices:
        """Nodes (e, 2) at the ends of edges of facets in space."""
        following = (edge + 1) % self.neighbours.shape[1]
        return np.stack([self.facets[facet, edge], self.facets[facet, following]], axis=1)


class Edges(NamedTuple):
    """Edges of facets, in the plane nodes: nodes (e, 2), in the plane (e, 1); facets (e, 2) on both sides; angle (e,)
    of the normal from the first facet to the second, rad, positive where the body is convex."""

    nodes: Indices
    facets: Indices
    angle: Array


def in_space(positions: Array) -> Array:
    """Positions (n, 2 or 3) as (n, 3)."""
    if positions.shape[1] == 3:
        return np.ascontiguousarray(positions, dtype=float)
    return np.column_stack([positions, np.zeros(len(positions))])


_MESHES: WeakKeyDictionary[Surface, FacetMesh] = WeakKeyDictionary()


def _neighbours(corners: Indices) -> Indices:
    """Facet and edge across each edge (f, e, 2): the unique one of opposite direction; −1 where there is none."""
    facets, edges = corners.shape
    start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    count = int(corners.max()) + 1
    forward, backward = start * count + end, end * count + start
    order = np.argsort(forward, kind="stable")
    sorted_keys = forward[order]
    at = np.searchsorted(sorted_keys, backward)
    after = np.searchsorted(sorted_keys, backward, side="right")
    repeated = np.searchsorted(sorted_keys, forward, side="right") - np.searchsorted(sorted_keys, forward) > 1
    single = (after - at == 1) & ~repeated
    opposite = np.where(single, order[np.minimum(at, order.size - 1)], -1)
    neighbours = np.where(single[:, None], np.stack(np.divmod(opposite, edges), axis=1), -1)
    return neighbours.reshape(facets, edges, 2)


def frames(normals: Array) -> Array:
    """Orthonormal frames (k, a, a) of the unit normals (k, a): the normal, then the tangents; 0 where the normal is 0.

    2D: t = e_z × n. 3D: t₁ is the coordinate axis least along n (the first of those within 0.1 of the least, so that
    round-off does not rotate the frame of a normal along an axis) made perpendicular to n, and t₂ = n × t₁.
    """
    count, axes = normals.shape
    out = np.empty((count, axes, axes))
    out[:, 0] = normals
    if axes == 2:
        out[:, 1, 0], out[:, 1, 1] = -normals[:, 1], normals[:, 0]
    elif axes == 3:
        size = np.abs(normals)
        axis = np.argmax(size <= size.min(axis=1, keepdims=True) + 0.1, axis=1)
        rows = np.arange(count)
        first = -normals * normals[rows, axis][:, None]
        first[rows, axis] += 1.0
        first[~normals.any(axis=1)] = 0.0
        first /= np.maximum(np.linalg.norm(first, axis=1), np.finfo(float).tiny)[:, None]
        out[:, 1] = first
        out[:, 2] = np.cross(normals, first)
    return out
