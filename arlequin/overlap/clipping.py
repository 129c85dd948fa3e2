"""Clipping of pairs of cells with each other and with convex regions, into simplices or boxes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import candidate_pairs

_FAN = np.array([1.0, 0.6180339887498949])  # not normal to edges along the axes or of simple slopes


@dataclass(frozen=True, eq=False)
class Region:
    """The points x with normals @ x >= offsets: normals (h, axis) of unit length, offsets (h,) m.

    glued: whether the parts are glued in the region.
    """

    normals: Array
    offsets: Array
    glued: bool = True


def split_pairs(
    regions: Sequence[Region], pairs: Indices, coarse: Array, fine: Array, tolerance: float
) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Pairs (2, n) with their region (n,), and whether the region must cut the piece (n,).

    A pair appears once per region that both cells overlap, decided by the vertices (axis, vertex, cell) of the convex
    cells. Without regions every pair is in region 0.
    """
    if not regions:
        return pairs, np.zeros(pairs.shape[1], dtype=np.int64), np.zeros(pairs.shape[1], dtype=bool)
    by_region = []
    for r, region in enumerate(regions):
        within = np.zeros(pairs.shape[1], dtype=bool)
        reached = np.ones(pairs.shape[1], dtype=bool)
        for vertices, cells in ((coarse, pairs[0]), (fine, pairs[1])):
            inside = np.ones(vertices.shape[2], dtype=bool)
            outside = np.zeros(vertices.shape[2], dtype=bool)
            for normal, offset in zip(region.normals, region.offsets, strict=True):
                distance = np.einsum("i,ivc->vc", normal, vertices) - offset
                inside &= distance.min(axis=0) >= -tolerance
                outside |= distance.max(axis=0) <= tolerance
            within |= inside[cells]
            reached &= ~outside[cells]
        reaching = np.flatnonzero(reached)
        by_region.append((reaching, np.full(reaching.size, r), ~within[reaching]))
    pair, region_of, cut = (np.concatenate(part) for part in zip(*by_region, strict=True))
    order = np.lexsort((region_of, pair))
    return pairs[:, pair[order]], region_of[order], cut[order]


def stacked(regions: Sequence[Region], axes: int) -> tuple[Array, Array]:
    """Normals (r, h, axis) and offsets (r, h) of all regions, padded with zeros."""
    max_planes = max((len(region.offsets) for region in regions), default=0)
    normals, offsets = np.zeros((max(len(regions), 1), max_planes, axes)), np.zeros((max(len(regions), 1), max_planes))
    for r, region in enumerate(regions):
        normals[r, : len(region.offsets)] = region.normals
        offsets[r, : len(region.offsets)] = region.offsets
    return normals, offsets


Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of cells (2, p) to clip, the region (p,) of each, and whether the region cuts the piece (p,)."""

    cells: Indices
    region: Indices
    cut: Mask

    @classmethod
    def uncut(cls, cells: Indices) -> "Pairs":
        """Pairs without cuts by regions."""
        return cls(cells, np.zeros(cells.shape[1], dtype=np.int64), np.zeros(cells.shape[1], dtype=bool))

    @property
    def count(self) -> int:
        """Number of pairs."""
        return self.cells.shape[1]

    @property
    def clip_with(self) -> Indices:
        """Region (p,) to clip each pair with, −1 where none cuts it."""
        return np.where(self.cut, self.region, -1)

    def take(self, indices: Indices) -> "Pairs":
        """The pairs at `indices`."""
        return Pairs(np.ascontiguousarray(self.cells[:, indices]), self.region[indices], self.cut[indices])


def interval_pieces(
    corners: tuple[Array, Array], pairs: Pairs, regions: Sequence[Region], tolerance: float
) -> tuple[Indices, Array]:
    """Pair (n,) and ends (axis, 2, n) of the common intervals of cells with vertices (axis, 2, c)."""
    coarse, fine = corners
    low = np.maximum(coarse[:, :, pairs.cells[0]].min(axis=1), fine[:, :, pairs.cells[1]].min(axis=1))
    high = np.minimum(coarse[:, :, pairs.cells[0]].max(axis=1), fine[:, :, pairs.cells[1]].max(axis=1))
    for r, region in enumerate(regions):
        clipped = pairs.cut & (pairs.region == r)
        for normal, offset in zip(region.normals[:, 0], region.offsets, strict=True):
            if normal > 0:
                low[:, clipped] = np.maximum(low[:, clipped], offset / normal)
            else:
                high[:, clipped] = np.minimum(high[:, clipped], offset / normal)
    nonempty = np.flatnonzero((high - low)[0] > tolerance)
    return nonempty, np.stack((low, high), axis=1)[:, :, nonempty]


def polygon_pieces(
    corners: tuple[Array, Array], pairs: Pairs, regions: Sequence[Region], tolerance: float
) -> tuple[Indices, Array]:
    """Pair (n,) and vertices (axis, 3, n) of triangles that tile the common polygons, pair after pair.

    The triangles of a polygon share its lowest vertex along `_FAN`, independent of the vertex order of clipping, which
    depends on round-off where edges of both meshes coincide and would affect integrals of non-polynomial functions.
    """
    from arlequin.overlap._kernels import clip_pairs

    coarse, fine = corners
    subject = np.ascontiguousarray(fine[:, :, pairs.cells[1]].transpose(2, 1, 0))
    window = np.ascontiguousarray(coarse[:, :, pairs.cells[0]].transpose(2, 1, 0))
    polygons, counts = clip_pairs(subject, window, pairs.clip_with, *stacked(regions, 2), tolerance)
    max_vertices = polygons.shape[1]
    numbers = np.arange(max_vertices)
    height = np.where(numbers < counts[:, None], polygons @ _FAN, np.inf)
    order = (height.argmin(axis=1)[:, None] + numbers) % np.maximum(counts, 1)[:, None]
    polygons = np.take_along_axis(polygons, order[:, :, None], axis=1)
    owners = [np.flatnonzero(counts > a + 1) for a in range(1, max_vertices - 1)]
    fans = [
        np.stack((polygons[meets, 0], polygons[meets, a], polygons[meets, a + 1]))
        for a, meets in enumerate(owners, start=1)
    ]
    owner = np.concatenate(owners)
    # pieces of a pair are contiguous: sums by cell read memory in order
    sort = np.argsort(owner, kind="stable")
    return owner[sort], np.concatenate(fans, axis=1).transpose(2, 0, 1)[:, :, sort]


def box_pieces(
    coarse: tuple[Array, Array], fine: tuple[Array, Array], pairs: Pairs, index: Indices, tolerance: float
) -> tuple[Indices, Array, Array]:
    """Pair (n,), lowest and highest corners (n, 3) of the common boxes of the pairs `index`."""
    low = np.maximum(coarse[0][pairs.cells[0, index]], fine[0][pairs.cells[1, index]])
    high = np.minimum(coarse[1][pairs.cells[0, index]], fine[1][pairs.cells[1, index]])
    thick = ((high - low) > tolerance).all(axis=1)
    return index[thick], low[thick], high[thick]


def tetrahedron_pieces(
    solids: tuple[Array, Array],
    pairs: Pairs,
    planes: tuple[Array, Array],
    third: tuple[Array, Array] | None,
    tolerance: float,
) -> tuple[Indices, Indices, Array]:
    """Pair (n,), third cell (n,) and vertices (n, 4, 3) of tetrahedra that tile the common polyhedra.

    solids: tetrahedra (c, k, 4, 3) of the cells of both meshes; planes: normals and offsets of the regions; third:
    tetrahedra and vertices (axis, v, c) of the cells of a third mesh.
    """
    from arlequin.overlap._kernels import tetrahedron_pairs

    tets, owner = tetrahedron_pairs(*solids, pairs.cells, pairs.clip_with, *planes, tolerance)
    if third is None:
        return owner, np.full(owner.size, -1), tets
    third_pairs = Pairs.uncut(candidate_pairs(third[1], tets.transpose(2, 1, 0)))
    # no further pieces are dropped: pieces of a piece may be thin
    pieces, index = tetrahedron_pairs(third[0], tets[:, None], third_pairs.cells, third_pairs.clip_with, *planes, 0.0)
    return owner[third_pairs.cells[1, index]], third_pairs.cells[0, index], pieces
