"""Sharp edges against sharp edges in space."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.base import CorneredObstacle
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.multilevel.search.corners import WIDER, NormalCones, facet_normals, sharp_edges
from arlequin.multilevel.search.facets import FacetMesh, frames

PARALLEL = np.sin(np.deg2rad(10.0))  # edges of a smaller angle do not cross: their nodes meet faces
_JOINT = 0.01  # how far past its end an edge reaches, in its length, where another goes on
_CORNER = -1e-6  # and where none does: nearer to its end, the corner meets a face
_NEAR = 0.5  # distance and depth of partners, in lengths of the longest edge


@dataclass(frozen=True, eq=False)
class SharpEdges:
    """Sharp edges e of one side: ends (e, 2, 3), m, and normals of both faces (e, 2, 3) at node positions (n, 3).

    nodes (e, 2): of the ends; none of a fixed obstacle. past (e, 2): how far past its ends an edge reaches, in its
    length: where another one goes on straight, as bent edges would leave out what is nearest to their common node; not
    to its end where none does, as there a corner meets a face.
    """

    nodes: Indices
    past: Array
    at: Callable[[Array], tuple[Array, Array]]

    @classmethod
    def of(cls, side: object, free: bool) -> "SharpEdges | None":
        """Of a surface or an obstacle in space; None without any; free: also the edges at which a surface ends."""
        if isinstance(side, CorneredObstacle):
            fixed = side.edges()
            none, past = np.zeros((0, 2), dtype=np.int64), np.full((len(fixed[0]), 2), _CORNER)
            return cls(none, past, lambda _: fixed) if len(past) else None
        if not isinstance(side, Surface) or side.positions.shape[1] != 3 or not FacetMesh.suits(side):
            return None
        mesh = FacetMesh.of(side)
        nodes, facets = sharp_edges(mesh, side.positions, free)
        if not len(nodes):
            return None
        cones, straight = NormalCones.of(mesh, side.positions, free=free), np.zeros(mesh.node_count, dtype=bool)
        straight[cones.nodes[cones.ends[:, 0] >= 0]] = True
        return cls(
            nodes,
            np.where(straight[nodes], _JOINT, _CORNER),
            lambda positions: (positions[nodes], facet_normals(mesh, positions)[facets]),
        )


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

    slave: SharpEdges
    master: SharpEdges
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
        sign = np.where(np.vecdot(cross, other[j].sum(axis=1)) < 0.0, -1.0, 1.0)
        scale = sign / np.sqrt(safe)
        n = scale[:, None] * cross
        gap = np.vecdot(n, apart + s[:, None] * first - t[:, None] * second)
        crossing &= _between(n, other[j]) & _between(-n, own[i]) & (np.abs(gap) <= _NEAR * np.sqrt(np.maximum(a, c)))
        pairs = _chosen(i, j, np.where(crossing, np.abs(gap), np.inf), len(one), len(two))
        paired, at = pairs >= 0, np.maximum(pairs, 0)
        middles = np.concatenate([one.mean(axis=1), two.mean(axis=1)])
        if not paired.any():
            return self._joined(middles, paired, np.zeros((0, 1)), np.zeros((0, 3)), (None, None), len(master))
        some = at[paired]
        frame = frames(n[some])
        shares = _rows(frame, gap[some], (s[some], t[some]), (first[some], second[some]), scale[some])
        middles[paired] = (one[i, 0] + s[:, None] * first)[some]
        nodes = self.slave.nodes[i[some]], self.master.nodes[j[some]] if len(self.master.nodes) else None
        return self._joined(middles, paired, gap[some], frame, (shares, nodes), len(master))

    def _joined(
        self, positions: Array, paired: NDArray[np.bool_], gap: Array, frame: Array, rows: Any, masters: int
    ) -> Kinematics:
        """Kinematics of all points, of the values of those that are paired."""
        count = len(positions)
        gaps, whole = np.full(count, np.inf), np.zeros((count, 3, 3))
        shares, nodes = rows
        masters = masters if len(self.master.nodes) else 0
        shape = (3 * count, 3 * (self.slave_nodes + masters))
        if shares is None:
            matrix = csr_array(shape)
        else:
            gaps[paired], whole[paired] = gap, frame
            own, other = nodes
            columns = own if other is None else np.hstack([own, self.slave_nodes + other])
            shares = shares[:, :, : columns.shape[1]]  # (p, row, node, axis)
            at = 3 * np.flatnonzero(paired)[:, None, None, None] + np.arange(3)[:, None, None]
            across = 3 * columns[:, None, :, None] + np.arange(3)
            at, across = np.broadcast_to(at, shares.shape), np.broadcast_to(across, shares.shape)
            matrix = csr_array((shares.ravel(), (at.ravel(), across.ravel())), shape=shape)
        return Kinematics(matrix, gaps, whole[:, 0], np.ascontiguousarray(whole[:, 1:]), positions)


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
    """Of the sharp edges of both sides; None where one has none; free: also those at which surfaces end."""
    one, two = SharpEdges.of(slave, free), SharpEdges.of(master, free)
    if one is None or two is None:
        return None
    count = len(one.at(slave.positions)[0]) + len(two.at(getattr(master, "positions", slave.positions))[0])
    return EdgePairing(one, two, np.full(count, float(np.abs(slave.areas).mean())), len(slave.nodes))
