"""Overlap of two meshes: the intersections of their cells, with a quadrature on each piece."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from skfem import Mesh

from arlequin.models.errors import UserError
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
from arlequin.overlap.geometry import boxes, candidate_pairs, round_off, straight_cells, tetrahedra
from arlequin.overlap.quadrature import on_boxes, on_groups, on_simplices

Block = tuple[Indices, Indices, Array, Array]  # pair and third cell (n,), points (axis, n, q), weights (n, q)

# candidate pairs of solids clipped at a time: bounds the memory of their tetrahedra
CHUNK = 100_000
# total degree above which one rule for a group of tetrahedra has too many points (455)
MAX_DEGREE = 12


@dataclass(frozen=True, eq=False)
class Overlap:
    """Pieces that tile the overlap of two meshes, each inside one cell of either mesh and inside one region.

    coarse_cells, fine_cells, region (p,): the two cells and the region of each piece; points (axis, p, q):
    quadrature points, m; dx (p, q): quadrature weights, m in 1D, m² in 2D, m³ in 3D (where some may be negative);
    third_cells (p,): cells of a third mesh (of a mediator), −1 without one.
    """

    coarse_cells: Indices
    fine_cells: Indices
    points: Array
    dx: Array
    region: Indices
    third_cells: Indices

    @property
    def measure(self) -> float:
        """Length (m), area (m²) or volume (m³) of the overlap."""
        return float(self.dx.sum())

    def take(self, indices: Indices | slice) -> "Overlap":
        """The pieces at `indices`."""
        cells = self.coarse_cells[indices], self.fine_cells[indices]
        return Overlap(
            *cells, self.points[:, indices], self.dx[indices], self.region[indices], self.third_cells[indices]
        )


def intersect(
    coarse: Mesh,
    fine: Mesh,
    order: int,
    regions: Sequence[Region] = (),
    third: Mesh | None = None,
    axis_order: int | None = None,
) -> Overlap:
    """Overlap of two meshes of intervals, of triangles and quadrilaterals, or of tetrahedra and hexahedra.

    `order`: degree of the polynomials integrated exactly on each piece (in 3D between cells that are all boxes along
    the axes: `axis_order` along each axis, by default `order`); `regions`: convex regions that tile the overlap and
    cut the pieces, so that piecewise polynomials are integrated exactly; `third`: a mesh whose cells also cut them.

    Cells must have straight edges, quadrilaterals be convex. Pairs of cells whose bounding boxes overlap are clipped
    exactly: intervals, polygons cut into triangles (Sutherland & Hodgman, Comm. ACM 17, 1974), boxes along the
    axes, else tetrahedra against planes, one rule per pair (`quadrature.on_groups`). Hexahedra with non-planar faces
    are approximated by six tetrahedra each (`geometry.tetrahedra`). Pieces thinner than the round-off of the
    coordinates are dropped, for both meshes at once. Without overlap there are no pieces.
    """
    if coarse.dim() != fine.dim():
        raise UserError(f"overlap of meshes of different dimension ({coarse.dim()} and {fine.dim()})")
    corners = straight_cells(coarse), straight_cells(fine)
    tolerance = round_off(*corners)
    pairs = Pairs(*split_pairs(regions, candidate_pairs(*corners), *corners, tolerance))
    if coarse.dim() < 3:
        pieces = interval_pieces if coarse.dim() == 1 else polygon_pieces
        owner, simplices = pieces(corners, pairs, regions, tolerance)
        thirds = np.full(owner.size, -1)
        if third is not None:
            third_pairs = Pairs.uncut(candidate_pairs(straight_cells(third), simplices))
            piece, simplices = pieces((straight_cells(third), simplices), third_pairs, (), tolerance)
            thirds, owner = third_pairs.cells[0, piece], owner[third_pairs.cells[1, piece]]
        blocks: list[Block] = [(owner, thirds, *on_simplices(simplices, order))]
    else:
        blocks = _solids(coarse, fine, pairs, regions, third, (order, axis_order or order), tolerance)
    owner, thirds, points, dx = _concatenated(blocks)
    return Overlap(pairs.cells[0, owner], pairs.cells[1, owner], points, dx, pairs.region[owner], thirds)


def _solids(
    coarse: Mesh,
    fine: Mesh,
    pairs: Pairs,
    regions: Sequence[Region],
    third: Mesh | None,
    orders: tuple[int, int],
    tolerance: float,
) -> list[Block]:
    """Common boxes where both meshes consist of boxes that no region cuts, else groups of tetrahedra."""
    blocks: list[Block] = []
    general = np.ones(pairs.count, dtype=bool)
    first, second = boxes(coarse), boxes(fine)
    if third is None and first is not None and second is not None:
        general = pairs.cut
        owner, low, high = box_pieces(first, second, pairs, np.flatnonzero(~general), tolerance)
        blocks.append((owner, np.full(owner.size, -1), *on_boxes(low, high, orders[1])))
        if not general.any():
            return blocks
    if orders[0] > MAX_DEGREE:
        raise UserError(
            "overlap of meshes: hexahedra of order 3 and more must all be boxes along the axes, as those of the other "
            "mesh, which neither the zone nor a mesh of the mediator cuts; take order 2 or less"
        )
    solids = tetrahedra(coarse), tetrahedra(fine)
    third_solids = None if third is None else (tetrahedra(third), straight_cells(third))
    planes = stacked(regions, 3)
    index = np.flatnonzero(general)
    for start in range(0, max(index.size, 1), CHUNK):
        indices = index[start : start + CHUNK]
        owner, thirds, tets = tetrahedron_pieces(solids, pairs.take(indices), planes, third_solids, tolerance)
        # one group per pair and third cell
        order = np.lexsort((thirds, owner))
        owner, thirds, tets = owner[order], thirds[order], tets[order]
        starts = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(thirds, prepend=-2))
        points, dx = on_groups(tets, np.append(starts, owner.size), orders[0])
        blocks.append((indices[owner[starts]], thirds[starts], points, dx))
    return blocks


def _concatenated(blocks: list[Block]) -> Block:
    """Blocks with rules of different length as one: long rules are cut into rows, the last padded with zeros."""
    if len(blocks) == 1:
        return blocks[0]
    width = min(points.shape[2] for _, _, points, _ in blocks)
    rows = []
    for owner, thirds, points, dx in blocks:
        count = -(-points.shape[2] // width)
        padding = count * width - points.shape[2]
        # repeated point with zero weight
        points = np.concatenate((points, np.repeat(points[:, :, -1:], padding, axis=2)), axis=2)
        dx = np.concatenate((dx, np.zeros((dx.shape[0], padding))), axis=1)
        shape = points.reshape(3, -1, width), dx.reshape(-1, width)
        rows.append((np.repeat(owner, count), np.repeat(thirds, count), *shape))
    owners, thirds_, points_, dx_ = zip(*rows, strict=True)
    return np.concatenate(owners), np.concatenate(thirds_), np.concatenate(points_, axis=1), np.concatenate(dx_)
