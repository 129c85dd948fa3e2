"""Sharp edges against sharp edges in space."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.base import CorneredObstacle
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.multilevel.search.corners import WIDER, NormalCones, facet_normals, sharp_edges
from arlequin.multilevel.search.facets import FacetMesh, frames

PARALLEL = np.sin(np.deg2rad(10.0))  # edges of a smaller angle do not cross: their nodes are in contact with faces
_JOINT = 0.01  # share of an edge's length, at an end where another edge continues it, that belongs to their joint
_OVERLAP = 0.2  # share of the joint that belongs to the edge as well: bent edges would leave out points in between
_CORNER = 1e-6  # share of an edge's length, at other ends, left to the corner, which is in contact with a face
_NEAR = 0.5  # distance and depth of partners, in lengths of the longest edge


@dataclass(frozen=True, eq=False)
class SurfaceEdges:
    """Sharp edges of a surface in space as straight pieces x = x₀ + σ d, with the mesh of the surface.

    A piece is an edge, x₀ and x₀ + d its ends, or a joint, x₀ the node at which two edges meet within `STRAIGHT` and
    d half the vector from the node before to the node after: crossing edges with a node at their contact would be
    paired with one or the other edge by round-off, and their normal with it.

    nodes (e, 3): at x₀, and two others; along (e, 3): weights of d over them; span (e, 2): least and largest σ of the
    piece; facets (e, 2) on both sides.
    """

    mesh: FacetMesh
    nodes: Indices
    along: Array
    span: Array
    facets: Indices

    @classmethod
    def of(cls, mesh: FacetMesh, free: bool) -> "SurfaceEdges":
        """The sharp edges of a mesh; free: with its border."""
        edges, cones = sharp_edges(mesh, free), NormalCones.of(mesh, free=free)
        joined = cones.ends[:, 0] >= 0
        middle, (before, after) = cones.nodes[joined], cones.ends[joined].T
        edge_at, straight = np.zeros(mesh.node_count, dtype=np.int64), np.zeros(mesh.node_count, dtype=bool)
        straight[middle] = True
        edge_at[edges.nodes] = np.arange(len(edges.nodes))[:, None]
        left_out = np.where(straight[edges.nodes], (1.0 - _OVERLAP) * _JOINT, _CORNER)
        x = mesh.origin
        half = 0.5 * np.linalg.norm(x[after] - x[before], axis=1)
        behind, before_next = (
            _JOINT * np.linalg.norm(x[other] - x[middle], axis=1) / half for other in (before, after)
        )
        counts = [len(edges.nodes), len(middle)]
        return cls(
            mesh,
            np.concatenate([edges.nodes[:, [0, 1, 0]], np.stack([middle, before, after], axis=1)]),
            np.repeat([[-1.0, 1.0, 0.0], [0.0, -0.5, 0.5]], counts, axis=0),
            np.concatenate(
                [np.stack([left_out[:, 0], 1.0 - left_out[:, 1]], axis=1), np.stack([-behind, before_next], axis=1)]
            ),
            np.concatenate([edges.facets, edges.facets[edge_at[middle]]]),
        )

    def at(self, positions: Array) -> tuple[Array, Array, Array]:
        """x₀, d (e, 3), m, and normals of both faces (e, 2, 3), at node positions (n, 3)."""
        along = np.einsum("ek,ekx->ex", self.along, positions[self.nodes])
        return positions[self.nodes[:, 0]], along, facet_normals(self.mesh, positions, self.facets)

    def weights(self, pieces: Indices, place: Array) -> tuple[Array, Array]:
        """Weights (p, 3) of x and of d over the nodes, for the pieces (p,) at σ (p,)."""
        along = self.along[pieces]
        return np.array([1.0, 0.0, 0.0]) + place[:, None] * along, along


@dataclass(frozen=True, eq=False)
class FixedEdges:
    """Sharp edges e of an obstacle in space: ends (e, 2, 3), m, and normals of both faces (e, 2, 3)."""

    ends: Array
    normals: Array

    @cached_property
    def span(self) -> Array:
        """Least and largest σ (e, 2), see `SurfaceEdges`; there are no joints."""
        return np.tile([_CORNER, 1.0 - _CORNER], (len(self.ends), 1))

    def at(self, positions: Array) -> tuple[Array, Array, Array]:
        """See `SurfaceEdges`."""
        return self.ends[:, 0], self.ends[:, 1] - self.ends[:, 0], self.normals


@dataclass(frozen=True, eq=False)
class EdgePairing:
    """Contact of crossing edges of a slave and a master, at the points of both that are closest to each other.

    With the directions d_s, d_m of two edges, n = ± d_s × d_m/|d_s × d_m| out of the master and r = x_s − x_m = g n,
    the first row is ġ = n·[[v]], as n is across both edges, and the others are τ·([[v]] − g ṅ), with

        ṅ = ± (1 − n⊗n)(ḋ_s × d_m + d_s × ḋ_m)/|d_s × d_m|,

    which vanish in every rigid motion of both. Edges touch where n lies between the normals of the master's two faces,
    and −n between those of the slave's. Each piece (see `SurfaceEdges`) of the slave's edges has a contact point, with
    the nearest of the master's that it crosses, and so has each of the master's, unless that pair exists already.
    areas (k,), m².
    """

    slave: SurfaceEdges
    master: SurfaceEdges | FixedEdges
    areas: Array
    slave_nodes: int

    @property
    def fixed(self) -> bool:
        return False

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave, master (n, 3), m."""
        (x_s, d_s, normals_s), (x_m, d_m, normals_m) = self.slave.at(slave), self.master.at(master)
        middles = [
            x + edges.span.mean(axis=1)[:, None] * d
            for edges, x, d in ((self.slave, x_s, d_s), (self.master, x_m, d_m))
        ]
        i, j = _near(middles, (d_s, d_m))
        first, second = d_s[i], d_m[j]
        separation, cross = x_s[i] - x_m[j], np.cross(first, second)
        a, b, c = np.vecdot(first, first), np.vecdot(first, second), np.vecdot(second, second)
        d, e, size = np.vecdot(first, separation), np.vecdot(second, separation), np.vecdot(cross, cross)
        crossing = size > PARALLEL**2 * a * c
        safe = np.where(crossing, size, 1.0)
        s, t = (b * e - c * d) / safe, (a * e - b * d) / safe
        for place, span in ((s, self.slave.span[i]), (t, self.master.span[j])):
            crossing &= (place >= span[:, 0]) & (place <= span[:, 1])
        scale = np.where(np.vecdot(cross, normals_m[j].sum(axis=1)) < 0.0, -1.0, 1.0) / np.sqrt(safe)
        n = scale[:, None] * cross
        gap = np.vecdot(n, separation + s[:, None] * first - t[:, None] * second)
        crossing &= _between(n, normals_m[j]) & _between(-n, normals_s[i])
        crossing &= np.abs(gap) <= _NEAR * np.sqrt(np.maximum(a, c))
        pairs = _nearest_pairs(i, j, np.where(crossing, np.abs(gap), np.inf), len(x_s), len(x_m))
        points = np.flatnonzero(pairs >= 0)
        at = pairs[points]  # from here on, of paired points only
        frame, gaps = np.zeros((len(pairs), 3, 3)), np.full(len(pairs), np.inf)
        frame[points], gaps[points] = frames(n[at]), gap[at]
        positions = np.concatenate(middles)
        positions[points] = (x_s[i] + s[:, None] * first)[at]
        factor, count = (scale * gap)[at, None], self.slave_nodes
        weights, direction = self.slave.weights(i[at], s[at])
        shares, nodes = _rows(frame[points], weights, direction, factor * second[at]), self.slave.nodes[i[at]]
        if isinstance(self.master, SurfaceEdges):
            weights, direction = self.master.weights(j[at], t[at])
            shares = np.concatenate([shares, -_rows(frame[points], weights, direction, factor * first[at])], axis=2)
            nodes = np.hstack([nodes, count + self.master.nodes[j[at]]])
            count += len(master)
        entry = 3 * points[:, None, None, None] + np.arange(3)[:, None, None]
        column = 3 * nodes[:, None, :, None] + np.arange(3)
        place = np.broadcast_to(entry, shares.shape).ravel(), np.broadcast_to(column, shares.shape).ravel()
        rows = csr_array((shares.ravel(), place), shape=(3 * len(pairs), 3 * count))
        return Kinematics(rows, gaps, frame[:, 0], np.ascontiguousarray(frame[:, 1:]), positions)


def _near(middles: list[Array], along: tuple[Array, Array]) -> tuple[Indices, Indices]:
    """Pairs of edges of both sides, of middles and directions (e, 3), that may be within reach."""
    longest = [float(np.linalg.norm(directions, axis=1).max()) for directions in along]
    reach = 0.5 * sum(longest) + _NEAR * max(longest)
    from scipy.spatial import cKDTree

    trees = [cKDTree(points) for points in middles]
    distances = trees[0].sparse_distance_matrix(trees[1], reach, output_type="ndarray")
    order = np.lexsort([distances["j"], distances["i"]])
    return distances["i"][order].astype(np.int64), distances["j"][order].astype(np.int64)


def _between(n: Array, normals: Array) -> NDArray[np.bool_]:
    """Whether n (p, 3), across an edge, lies between the normals of its faces (p, 2, 3)."""
    mean = normals.sum(axis=1)
    mean /= np.maximum(np.linalg.norm(mean, axis=1), 1e-300)[:, None]
    half = np.arccos(np.clip(np.vecdot(mean, normals[:, 0]), -1.0, 1.0))
    return np.asarray(np.vecdot(n, mean) >= np.cos(np.minimum(half + WIDER, np.pi)))


def _nearest_pairs(i: Indices, j: Indices, distance: Array, slaves: int, masters: int) -> Indices:
    """Numbers of the pairs of all edges (slaves + masters,), −1 for none: the nearest, each pair once."""
    pairs = np.full(slaves + masters, -1)
    order = np.argsort(distance, kind="stable")[::-1]
    order = order[np.isfinite(distance[order])]
    pairs[i[order]] = order
    used = np.zeros(distance.size, dtype=bool)
    used[pairs[:slaves][pairs[:slaves] >= 0]] = True
    order = order[~used[order]]
    pairs[slaves + j[order]] = order
    return pairs


def _rows(frame: Array, weights: Array, direction: Array, rotation: Array) -> Array:
    """Rows (p, row, node, axis) over the nodes of the edges of the slave, see `EdgePairing`; minus those of a master.

    weights, direction (p, node): of the point and of d; rotation (p, 3): ± g/|d_s × d_m| times the other edge's
    direction.
    """
    shares = weights[:, None, :, None] * frame[:, :, None, :]
    for row in (1, 2):
        shares[:, row] -= direction[:, :, None] * np.cross(rotation, frame[:, row])[:, None, :]
    return np.asarray(shares)


def edge_pairing(slave: Surface, master: object, free: bool) -> EdgePairing | None:
    """The pairing of the sharp edges of both sides in space; None where a side has none; free: with the borders of
    surfaces."""
    if slave.positions.shape[1] != 3 or not FacetMesh.suits(slave):
        return None
    master_edges: SurfaceEdges | FixedEdges
    if isinstance(master, Surface) and FacetMesh.suits(master):
        master_edges = SurfaceEdges.of(FacetMesh.of(master), free)
    elif isinstance(master, CorneredObstacle):
        master_edges = FixedEdges(*master.edges())
    else:
        return None
    slave_edges = SurfaceEdges.of(FacetMesh.of(slave), free)
    if not len(slave_edges.span) or not len(master_edges.span):
        return None
    areas = np.full(len(slave_edges.span) + len(master_edges.span), float(np.abs(slave.areas).mean()))
    return EdgePairing(slave_edges, master_edges, areas, len(slave.nodes))
