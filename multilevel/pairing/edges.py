"""Sharp edges against sharp edges in space."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.base import CorneredObstacle
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.multilevel.search.corners import WIDER, NormalCones, facet_normals, sharp_edges
from arlequin.multilevel.search.facets import Edges, FacetMesh, frames

PARALLEL = np.sin(np.deg2rad(10.0))  # edges of a smaller angle do not cross: their nodes meet faces
_JOINT = 0.01  # how far past its end an edge reaches, in its length, where another goes on
_CORNER = -1e-6  # and where none does: nearer to its end, the corner meets a face
_NEAR = 0.5  # distance and depth of partners, in lengths of the longest edge


@dataclass(frozen=True, eq=False)
class SurfaceEdges:
    """Sharp edges e of a surface in space, with its mesh.

    past (e, 2): how far past its ends an edge reaches, in its length: where another one goes on straight, as bent edges
    would leave out what is nearest to their common node; short of its end where none does, as a corner meets a face
    there.
    """

    mesh: FacetMesh
    edges: Edges
    past: Array

    @classmethod
    def of(cls, mesh: FacetMesh, free: bool) -> "SurfaceEdges":
        """free: also the edges at which the surface ends."""
        edges, cones = sharp_edges(mesh, free), NormalCones.of(mesh, free=free)
        straight = np.zeros(mesh.node_count, dtype=bool)
        straight[cones.nodes[cones.ends[:, 0] >= 0]] = True
        return cls(mesh, edges, np.where(straight[edges.nodes], _JOINT, _CORNER))

    @property
    def nodes(self) -> Indices:
        """Nodes (e, 2) at the ends."""
        return self.edges.nodes

    def at(self, positions: Array) -> tuple[Array, Array]:
        """Ends (e, 2, 3), m, and normals of both faces (e, 2, 3), at node positions (n, 3)."""
        return positions[self.nodes], facet_normals(self.mesh, positions, self.edges.facets)


@dataclass(frozen=True, eq=False)
class FixedEdges:
    """Sharp edges e of an obstacle in space: ends (e, 2, 3), m, and normals of both faces (e, 2, 3)."""

    ends: Array
    normals: Array

    @property
    def nodes(self) -> None:
        """None."""

    @property
    def past(self) -> Array:
        """(e, 2), see `SurfaceEdges`: a long edge is one."""
        return np.full((len(self.ends), 2), _CORNER)

    def at(self, positions: Array) -> tuple[Array, Array]:
        """Ends and normals."""
        return self.ends, self.normals


@dataclass(frozen=True, eq=False)
class EdgePairing:
    """Contact of crossing edges of a slave and a master, at the points of both that are closest to each other.

    With the directions d_s, d_m of two edges, n = ± d_s × d_m/|d_s × d_m| out of the master and r = x_s − x_m = g n,
    the first row is ġ = n·[[v]], as n is across both edges, and the others are τ·([[v]] − g ṅ), with

        ṅ = ± (1 − n⊗n)(ḋ_s × d_m + d_s × ḋ_m)/|d_s × d_m|,

    which vanish in every rigid motion of both. Edges touch where n lies between the normals of the master's two faces,
    and −n between those of the slave's. Each edge of the slave has a contact point, with the nearest of the master's
    that it crosses, and so has each edge of the master, if that pair is not there yet. areas (k,), m².
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
        (one, own), (two, other) = self.slave.at(slave), self.master.at(master)
        i, j = _near(one, two)
        first, second = one[i, 1] - one[i, 0], two[j, 1] - two[j, 0]
        apart, cross = one[i, 0] - two[j, 0], np.cross(first, second)
        a, b, c = np.vecdot(first, first), np.vecdot(first, second), np.vecdot(second, second)
        d, e, size = np.vecdot(first, apart), np.vecdot(second, apart), np.vecdot(cross, cross)
        crossing = size > PARALLEL**2 * a * c
        safe = np.where(crossing, size, 1.0)
        s, t = (b * e - c * d) / safe, (a * e - b * d) / safe
        for place, past in ((s, self.slave.past[i]), (t, self.master.past[j])):
            crossing &= (place >= -past[:, 0]) & (place <= 1.0 + past[:, 1])
        scale = np.where(np.vecdot(cross, other[j].sum(axis=1)) < 0.0, -1.0, 1.0) / np.sqrt(safe)
        n = scale[:, None] * cross
        gap = np.vecdot(n, apart + s[:, None] * first - t[:, None] * second)
        crossing &= _between(n, other[j]) & _between(-n, own[i]) & (np.abs(gap) <= _NEAR * np.sqrt(np.maximum(a, c)))
        pairs = _chosen(i, j, np.where(crossing, np.abs(gap), np.inf), len(one), len(two))
        points = np.flatnonzero(pairs >= 0)
        at = pairs[points]  # from here on, of the points alone
        frame, gaps = np.zeros((len(pairs), 3, 3)), np.full(len(pairs), np.inf)
        frame[points], gaps[points] = frames(n[at]), gap[at]
        positions = np.concatenate([one.mean(axis=1), two.mean(axis=1)])
        positions[points] = (one[i, 0] + s[:, None] * first)[at]
        shares = _rows(frame[points], gap[at], (s[at], t[at]), (first[at], second[at]), scale[at])
        nodes, count = self.slave.nodes[i[at]], self.slave_nodes
        if self.master.nodes is not None:
            nodes, count = np.hstack([nodes, count + self.master.nodes[j[at]]]), count + len(master)
        shares = shares[:, :, : nodes.shape[1]]
        entry = 3 * points[:, None, None, None] + np.arange(3)[:, None, None]
        column = 3 * nodes[:, None, :, None] + np.arange(3)
        place = np.broadcast_to(entry, shares.shape).ravel(), np.broadcast_to(column, shares.shape).ravel()
        rows = csr_array((shares.ravel(), place), shape=(3 * len(pairs), 3 * count))
        return Kinematics(rows, gaps, frame[:, 0], np.ascontiguousarray(frame[:, 1:]), positions)


def _near(one: Array, two: Array) -> tuple[Indices, Indices]:
    """Pairs of edges (e, 2, 3) of both sides that may be within reach."""
    longest = [float(np.linalg.norm(own[:, 1] - own[:, 0], axis=1).max()) for own in (one, two)]
    reach = 0.5 * sum(longest) + _NEAR * max(longest)
    trees = [cKDTree(own.mean(axis=1)) for own in (one, two)]
    found = trees[0].sparse_distance_matrix(trees[1], reach, output_type="ndarray")
    order = np.lexsort([found["j"], found["i"]])
    return found["i"][order].astype(np.int64), found["j"][order].astype(np.int64)


def _between(n: Array, normals: Array) -> NDArray[np.bool_]:
    """Whether n (p, 3), across an edge, lies between the normals of its faces (p, 2, 3)."""
    mean = normals.sum(axis=1)
    mean /= np.maximum(np.linalg.norm(mean, axis=1), 1e-300)[:, None]
    half = np.arccos(np.clip(np.vecdot(mean, normals[:, 0]), -1.0, 1.0))
    return np.asarray(np.vecdot(n, mean) >= np.cos(np.minimum(half + WIDER, np.pi)))


def _chosen(i: Indices, j: Indices, distance: Array, ones: int, twos: int) -> Indices:
    """Numbers of the pairs of all edges (ones + twos,), −1 for none: the nearest, each pair once."""
    pairs = np.full(ones + twos, -1)
    order = np.argsort(distance, kind="stable")[::-1]
    order = order[np.isfinite(distance[order])]
    pairs[i[order]] = order
    taken = np.zeros(distance.size, dtype=bool)
    taken[pairs[:ones][pairs[:ones] >= 0]] = True
    order = order[~taken[order]]
    pairs[ones + j[order]] = order
    return pairs


def _rows(frame: Array, gap: Array, places: tuple[Array, Array], along: tuple[Array, Array], scale: Array) -> Array:
    """Rows (p, row, node, axis) over the nodes of both edges, see `EdgePairing`."""
    (s, t), (first, second) = places, along
    weights = np.stack([1.0 - s, s, t - 1.0, -t], axis=1)
    shares = weights[:, None, :, None] * frame[:, :, None, :]
    for row in (1, 2):
        tangent = frame[:, row]
        turn = (scale * gap)[:, None] * np.cross(second, tangent), (scale * gap)[:, None] * np.cross(tangent, first)
        shares[:, row, 0] += turn[0]
        shares[:, row, 1] -= turn[0]
        shares[:, row, 2] += turn[1]
        shares[:, row, 3] -= turn[1]
    return np.asarray(shares)


def edge_pairing(slave: Surface, master: object, free: bool) -> EdgePairing | None:
    """Of the sharp edges of both sides in space; None where one has none; free: also those at which surfaces end."""
    if slave.positions.shape[1] != 3 or not FacetMesh.suits(slave):
        return None
    two: SurfaceEdges | FixedEdges
    if isinstance(master, Surface) and FacetMesh.suits(master):
        two = SurfaceEdges.of(FacetMesh.of(master), free)
    elif isinstance(master, CorneredObstacle):
        two = FixedEdges(*master.edges())
    else:
        return None
    one = SurfaceEdges.of(FacetMesh.of(slave), free)
    if not len(one.past) or not len(two.past):
        return None
    areas = np.full(len(one.past) + len(two.past), float(np.abs(slave.areas).mean()))
    return EdgePairing(one, two, areas, len(slave.nodes))
