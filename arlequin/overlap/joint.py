"""Intersections of cells of several meshes, as simplices, and their faces on a border."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from skfem import Mesh

from arlequin.models.types import Array, Indices
from arlequin.overlap.clipping import (
    Pairs,
    Region,
    box_pieces,
    interval_pieces,
    polygon_pieces,
    split_pairs,
    stacked,
    tetrahedron_pieces,
)
from arlequin.overlap.geometry import boxes, candidate_pairs, facet_corners, round_off, straight_cells, tetrahedra
from arlequin.overlap.quadrature import on_simplices
from arlequin.overlap.slices import cut_simplices, reference_simplices

# largest distance of a vertex on a facet, relative to the facet's size
ON = 1e-9


@dataclass(frozen=True, eq=False)
class Shape:
    """Geometry of a mesh for clipping: straight-edged cells, computed once."""

    mesh: Mesh

    @cached_property
    def corners(self) -> Array:
        """Vertices (axis, vertex, cell)."""
        return straight_cells(self.mesh)

    @cached_property
    def tetrahedra(self) -> Array:
        """Tetrahedra (c, k, 4, 3) of the cells of a 3D mesh."""
        return tetrahedra(self.mesh)

    @cached_property
    def boxes(self) -> tuple[Array, Array] | None:
        """Lowest and highest corners (c, 3) of cells that are all boxes along the axes; else None."""
        return boxes(self.mesh)


@dataclass(frozen=True, eq=False)
class JointBoxes:
    """Boxes along the axes, low, high (n, 3), each inside one cell of every named mesh: far fewer than tetrahedra."""

    low: Array
    high: Array
    cells: Mapping[str, Indices]

    @classmethod
    def of(cls, name: str, shape: Shape, cells: Indices) -> "JointBoxes":
        """The cells (c,) of one mesh, all of whose cells are boxes."""
        assert shape.boxes is not None
        return cls(shape.boxes[0][cells], shape.boxes[1][cells], {name: cells})

    def within(self, name: str, shape: Shape) -> "JointBoxes":
        """Intersections of the boxes with the cells of another mesh of boxes."""
        assert shape.boxes is not None
        box_corners = np.stack((self.low.T, self.high.T), axis=1)
        pairs = Pairs.uncut(candidate_pairs(shape.corners, box_corners))
        all_pairs = np.arange(pairs.count)
        index, low, high = box_pieces(
            shape.boxes, (self.low, self.high), pairs, all_pairs, round_off(shape.corners, box_corners)
        )
        cells = {key: values[pairs.cells[1, index]] for key, values in self.cells.items()}
        return JointBoxes(low, high, {**cells, name: pairs.cells[0, index]})

    def in_simplices(self) -> "JointPieces":
        """Six tetrahedra for each box."""
        unit = reference_simplices(3, 8)
        vertices = self.low[:, None, None] + (self.high - self.low)[:, None, None] * unit
        cells = {name: np.repeat(values, len(unit)) for name, values in self.cells.items()}
        return JointPieces(np.ascontiguousarray(vertices.reshape(-1, 4, 3).transpose(2, 1, 0)), cells)


@dataclass(frozen=True, eq=False)
class JointPieces:
    """Simplices (axis, axis + 1, n), each inside one cell of every named mesh and inside one region of each division.

    cells: name → (n,) cells; regions: name → (n,) numbers of the regions.
    """

    simplices: Array
    cells: Mapping[str, Indices]
    regions: Mapping[str, Indices] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, shape: Shape, cells: Indices) -> "JointPieces":
        """The cells (c,) of one mesh."""
        axes = shape.mesh.dim()
        if axes == 3:
            tets = shape.tetrahedra[cells]
            owners = np.repeat(cells, tets.shape[1])
            return cls(np.ascontiguousarray(tets.reshape(-1, 4, 3).transpose(2, 1, 0)), {name: owners})
        corners = shape.corners[:, :, cells]
        fans = [corners[:, [0, *range(a, a + axes)]] for a in range(1, corners.shape[1] - axes + 1)]
        return cls(np.concatenate(fans, axis=2), {name: np.tile(cells, len(fans))})

    def in_simplices(self) -> "JointPieces":
        """The pieces themselves."""
        return self

    @property
    def count(self) -> int:
        """Number of simplices."""
        return self.simplices.shape[2]

    def measures(self) -> Array:
        """Length (m), area (m²) or volume (m³) of each simplex (n,)."""
        return on_simplices(self.simplices, 1)[1].sum(axis=1)

    def take(self, indices: Any) -> "JointPieces":
        """The simplices at `indices`."""
        return self._from(self.simplices[:, :, indices], indices)

    def within(self, name: str, shape: Shape) -> "JointPieces":
        """Intersections of the simplices with the cells of another mesh."""
        pairs = Pairs.uncut(candidate_pairs(shape.corners, self.simplices))
        solids = shape.tetrahedra if len(self.simplices) == 3 else None
        index, pieces = _clip(shape.corners, solids, pairs, (), self.simplices)
        common = self._from(pieces, pairs.cells[1, index])
        return replace(common, cells={**common.cells, name: pairs.cells[0, index]})

    def divided(self, name: str, regions: Sequence[Region]) -> "JointPieces":
        """Simplices cut by convex regions that tile space; without regions all are in region 0."""
        if not regions or not self.count:
            return replace(self, regions={**self.regions, name: np.zeros(self.count, dtype=np.int64)})
        around = _simplex_around(self.simplices)
        pairs = np.stack((np.zeros(self.count, dtype=np.int64), np.arange(self.count)))
        split = Pairs(*split_pairs(regions, pairs, around, self.simplices, round_off(self.simplices)))
        uncut, cut = split.take(np.flatnonzero(~split.cut)), split.take(np.flatnonzero(split.cut))
        solids = np.ascontiguousarray(around.transpose(2, 1, 0))[:, None] if len(around) == 3 else None
        index, pieces = _clip(around, solids, cut, regions, self.simplices)
        owner = np.concatenate((uncut.cells[1], cut.cells[1, index]))
        divided = self._from(np.concatenate((self.simplices[:, :, uncut.cells[1]], pieces), axis=2), owner)
        return replace(divided, regions={**divided.regions, name: np.concatenate((uncut.region, cut.region[index]))})

    def cut(self, heights: Array, near: float) -> "JointPieces":
        """Simplices cut along the zeros of a linear function with values (n, axis + 1) at the vertices; values within
        `near` of zero are treated as zero."""
        vertices, _, owner = cut_simplices(self.simplices.transpose(2, 1, 0), heights, np.arange(self.count), 0.0, near)
        return self._from(np.ascontiguousarray(vertices.transpose(2, 1, 0)), owner)

    def quadrature(self, order: int) -> tuple[Array, Array]:
        """Points (axis, n, q), m, and weights (n, q) of a rule of this degree, m, m² or m³."""
        return on_simplices(self.simplices, order)

    def _from(self, simplices: Array, owner: Any) -> "JointPieces":
        cells = {name: values[owner] for name, values in self.cells.items()}
        return JointPieces(simplices, cells, {name: values[owner] for name, values in self.regions.items()})


def faces_on(pieces: JointPieces, name: str, shape: Shape, facets: Indices) -> tuple[Indices, JointPieces, Array]:
    """The faces of the pieces that lie on facets (f,) on the border of the named mesh.

    Returns the index (n,) into `facets`, the pieces of these faces, and the vertices of the faces (axis, axis, n). They
    tile the covered part of the facets as seen from inside the mesh, so that an edge between two cells of another mesh
    along the facet occurs once.
    """
    mesh, axes = shape.mesh, shape.mesh.dim()
    owner = mesh.f2t[0, facets]
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], pieces.cells[name], side="left")
    count = np.searchsorted(owner[order], pieces.cells[name], side="right") - first
    piece = np.repeat(np.arange(pieces.count), count)
    facet = order[np.repeat(first - np.cumsum(count) + count, count) + np.arange(piece.size)]
    nodes = facet_corners(mesh, facets)
    corners = mesh.p[:, nodes]
    vertices = pieces.simplices[:, :, piece]
    on = np.zeros(vertices.shape[1:], dtype=bool)
    for origin, normal in _planes(corners, nodes):
        distance = np.abs(np.einsum("in,ivn->vn", normal[:, facet], vertices - origin[:, None, facet]))
        size = np.ptp(corners, axis=1).max(axis=0)[facet] if axes > 1 else np.ptp(vertices[0], axis=0)
        on = np.where((distance <= ON * size).sum(axis=0) == axes, distance <= ON * size, on)
    on_facet = np.flatnonzero(on.sum(axis=0) == axes)
    vertex_order = np.argsort(~on[:, on_facet], axis=0, kind="stable")[:axes]
    return (
        facet[on_facet],
        pieces.take(piece[on_facet]),
        np.take_along_axis(vertices[:, :, on_facet], vertex_order[None], axis=1),
    )


def _planes(corners: Array, numbers: Indices) -> list[tuple[Array, Array]]:
    """Points (axis, f) and unit normals (axis, f) of the planes of facets with corners (axis, v, f).

    For a quadrilateral, the planes of the two triangles along the diagonal from its vertex of smallest number
    (`geometry.tetrahedra`).
    """
    axes = corners.shape[0]
    if axes == 1:
        return [(corners[:, 0], np.ones_like(corners[:, 0]))]
    if axes == 2:
        along = corners[:, 1] - corners[:, 0]
        normal = np.stack((along[1], -along[0]))
        return [(corners[:, 0], normal / np.linalg.norm(normal, axis=0))]
    if corners.shape[1] == 3:
        triangles = [corners]
    else:
        rotated = (np.argmin(numbers, axis=0) + np.arange(4)[:, None]) % 4
        corners = np.take_along_axis(corners, rotated[None], axis=1)
        triangles = [corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]]
    planes = []
    for triangle in triangles:
        normal = np.cross(triangle[:, 1] - triangle[:, 0], triangle[:, 2] - triangle[:, 0], axis=0)
        planes.append((triangle[:, 0], normal / np.linalg.norm(normal, axis=0)))
    return planes


def _clip(
    corners: Array, solids: Array | None, pairs: Pairs, regions: Sequence[Region], simplices: Array
) -> tuple[Indices, Array]:
    """The pair (n,) of each piece and the pieces of the pairs (cell, simplex), cut by their regions."""
    tolerance = round_off(simplices)
    if len(simplices) == 1:
        return interval_pieces((corners, simplices), pairs, regions, tolerance)
    if len(simplices) == 2:
        return polygon_pieces((corners, simplices), pairs, regions, tolerance)
    assert solids is not None
    simplex_tets = np.ascontiguousarray(simplices.transpose(2, 1, 0))[:, None]
    index, _, tets = tetrahedron_pieces((solids, simplex_tets), pairs, stacked(regions, 3), None, tolerance)
    return index, np.ascontiguousarray(tets.transpose(2, 1, 0))


def _simplex_around(points: Array) -> Array:
    """A simplex (axis, axis + 1, 1) that contains all points (axis, …), counter-clockwise in 2D."""
    axes = len(points)
    flat = points.reshape(axes, -1)
    low, size = flat.min(axis=1), np.ptp(flat, axis=1).max()
    start = low - size
    vertices = start[:, None] + (4 * axes * size) * np.hstack((np.zeros((axes, 1)), np.eye(axes)))
    return vertices[:, :, None]
