"""Clipping of pairs of cells with each other and with convex regions, into simplices or boxes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import candidate_pairs

_FAN = np.array([1.0, 0.6180339887498949])  # not across edges of meshes along the axes or at simple slopes


@dataclass(frozen=True, eq=False)
class Region:
    """The points x with normals @ x >= offsets: normals (h, axis) of unit length, offsets (h,) m.

    glued: whether the parts are glued there (else only the weights act).
    """

    normals: Array
    offsets: Array
    glued: bool = True


def split_pairs(
    regions: Sequence[Region], pairs: Indices, coarse: Array, fine: Array, tolerance: float
) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Pairs (2, n) with their region (n,), and whether the region still has to cut the piece (n,).

    A pair appears once per region that both cells reach; cells are convex, so that their vertices (axis, vertex,
    cell) tell. No regions: every pair in region 0.
    """
    if not regions:
        return pairs, np.zeros(pairs.shape[1], dtype=np.int64), np.zeros(pairs.shape[1], dtype=bool)
    found = []
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
        kept = np.flatnonzero(reached)
        found.append((kept, np.full(kept.size, r), ~within[kept]))
    pair, region_of, cut = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((region_of, pair))
    return pairs[:, pair[order]], region_of[order], cut[order]


def stacked(regions: Sequence[Region], axes: int) -> tuple[Array, Array]:
    """Normals (r, h, axis) and offsets (r, h) of all regions, padded with zeros."""
    most = max((len(region.offsets) for region in regions), default=0)
    normals, offsets = np.zeros((max(len(regions), 1), most, axes)), np.zeros((max(len(regions), 1), most))
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
        """Pairs that no region cuts."""
        return cls(cells, np.zeros(cells.shape[1], dtype=np.int64), np.zeros(cells.shape[1], dtype=bool))

    @property
    def count(self) -> int:
        """Number of pairs."""
        return self.cells.shape[1]

    @property
    def clip_with(self) -> Indices:
        """Region (p,) to clip each pair with, −1 where none cuts it."""
        return np.where(self.cut, self.region, -1)

    def take(self, kept: Indices) -> "Pairs":
        """The pairs `kept`."""
        return Pairs(np.ascontiguousarray(self.cells[:, kept]), self.region[kept], self.cut[kept])


def interval_pieces(
    corners: tuple[Array, Array], pairs: Pairs, regions: Sequence[Region], tolerance: float
) -> tuple[Indices, Array]:
    """Pair (n,) and ends (axis, 2, n) of the common intervals of cells with vertices (axis, 2, c)."""
    coarse, fine = corners
    low = np.maximum(coarse[:, :, pairs.cells[0]].min(axis=1), fine[:, :, pairs.cells[1]].min(axis=1))
    high = np.minimum(coarse[:, :, pairs.cells[0]].max(axis=1), fine[:, :, pairs.cells[1]].max(axis=1))
    for r, item in enumerate(regions):
        own = pairs.cut & (pairs.region == r)
        for normal, offset in zip(item.normals[:, 0], item.offsets, strict=True):
            if normal > 0:
                low[:, own] = np.maximum(low[:, own], offset / normal)
            else:
                high[:, own] = np.minimum(high[:, own], offset / normal)
    keep = np.flatnonzero((high - low)[0] > tolerance)
    return keep, np.stack((low, high), axis=1)[:, :, keep]


def polygon_pieces(
    corners: tuple[Array, Array], pairs: Pairs, regions: Sequence[Region], tolerance: float
) -> tuple[Indices, Array]:
    """Pair (n,) and vertices (axis, 3, n) of triangles that tile the common polygons, pair after pair.

    The triangles of a polygon share its lowest vertex along `_FAN`: which one clipping finds first is a matter of
    round-off where edges of both meshes coincide, and integrals of other functions than polynomials depend on it.
    """
    from arlequin.overlap._kernels import clip_pairs

    coarse, fine = corners
    subject = np.ascontiguousarray(fine[:, :, pairs.cells[1]].transpose(2, 1, 0))
    window = np.ascontiguousarray(coarse[:, :, pairs.cells[0]].transpose(2, 1, 0))
    polygons, counts = clip_pairs(subject, window, pairs.clip_with, *stacked(regions, 2), tolerance)
    most = polygons.shape[1]
    numbers = np.arange(most)
    height = np.where(numbers < counts[:, None], polygons @ _FAN, np.inf)
    order = (height.argmin(axis=1)[:, None] + numbers) % np.maximum(counts, 1)[:, None]
    polygons = np.take_along_axis(polygons, order[:, :, None], axis=1)
    owners = [np.flatnonzero(counts > a + 1) for a in range(1, most - 1)]
    fans = [
        np.stack((polygons[meets, 0], polygons[meets, a], polygons[meets, a + 1]))
        for a, meets in enumerate(owners, start=1)
    ]
    owner = np.concatenate(owners)
    # pieces of a pair next to each other: what is summed by cell is then read in order
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
    others = Pairs.uncut(candidate_pairs(third[1], tets.transpose(2, 1, 0)))
    # the pieces of a piece may be thin: what both meshes share is not dropped again
    again, index = tetrahedron_pairs(third[0], tets[:, None], others.cells, others.clip_with, *planes, 0.0)
    return owner[others.cells[1, index]], others.cells[0, index], again
