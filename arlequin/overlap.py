"""Overlap of two meshes: the intersections of their cells, with a quadrature on each piece."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from skfem import Mesh
from skfem.quadrature import get_quadrature
from skfem.refdom import RefLine, RefTri

from models.errors import UserError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# a cell edge is straight where its middle node is off the middle by less than this fraction of the cell
STRAIGHT = 1e-9


@dataclass(frozen=True)
class Overlap:
    """Pieces (intervals, triangles) that tile the overlap of two meshes, each inside one cell of either mesh.

    coarse_cells, fine_cells (p,): the two cells of each piece; points (axis, p, q): quadrature points, m;
    dx (p, q): quadrature weights, m in 1D, m² in 2D; measure: length or area of the whole overlap.
    """

    coarse_cells: Indices
    fine_cells: Indices
    points: Array
    dx: Array

    @property
    def measure(self) -> float:
        """Length (m) or area (m²) of the overlap."""
        return float(self.dx.sum())


def intersect(coarse: Mesh, fine: Mesh, order: int) -> Overlap:
    """Overlap of two meshes of intervals, or of triangles and straight-edged convex quadrilaterals.

    `order`: degree of the polynomials integrated exactly on each piece. Pairs of cells whose bounding boxes
    meet are clipped exactly and cut into triangles; pieces thinner than the round-off of the coordinates are
    dropped, for both meshes at once. No overlap gives zero pieces.
    Source: Sutherland & Hodgman, Comm. ACM 17, 1974.
    """
    if coarse.dim() != fine.dim():
        raise UserError(f"overlap of meshes of different dimension ({coarse.dim()} and {fine.dim()})")
    if coarse.dim() > 2:
        raise UserError("overlap of meshes: must be of dimension 1 or 2")
    corners_coarse, corners_fine = straight_cells(coarse), straight_cells(fine)
    pairs = candidate_pairs(corners_coarse, corners_fine)
    if coarse.dim() == 1:
        cells, simplices = _intervals(corners_coarse, corners_fine, pairs)
    else:
        cells, simplices = _triangles(corners_coarse, corners_fine, pairs)
    points, dx = _quadrature(simplices, order)
    return Overlap(cells[0], cells[1], points, dx)


def straight_cells(mesh: Mesh) -> Array:
    """Vertices (axis, vertex, cell) of straight-edged cells, counter-clockwise in 2D.

    Second-order meshes must have their middle nodes in the middle of straight edges, quadrilaterals must be
    convex.
    """
    vertices: Array = mesh.p[:, mesh.t]
    size = np.ptp(vertices, axis=1).max(axis=0)
    nodes = mesh.dofs.element_dofs
    for a in range(mesh.t.shape[0], nodes.shape[0]):
        shape = mesh.elem().doflocs[a]
        expected = np.einsum("v,ivc->ic", _vertex_shapes(mesh.dim(), mesh.t.shape[0], shape), vertices)
        if np.any(np.abs(mesh.doflocs[:, nodes[a]] - expected) > STRAIGHT * size):
            raise UserError(
                "overlap of meshes: a cell has a curved edge, only straight edges are supported in an overlap"
            )
    if mesh.dim() == 2:
        turns = _turns(vertices)
        clockwise = turns.sum(axis=0) < 0
        vertices[:, :, clockwise] = vertices[:, ::-1, clockwise]
        turns[:, clockwise] *= -1
        if np.any(turns <= 0):
            cell = int(np.argmin(turns.min(axis=0)))
            where = ", ".join(f"{x:.6g}" for x in vertices[:, :, cell].mean(axis=1))
            raise UserError(f"overlap of meshes: the cell at ({where}) is flat or not convex")
    return vertices


def candidate_pairs(coarse: Array, fine: Array) -> Indices:
    """Pairs (2, p) of cells whose bounding boxes overlap: coarse cell, fine cell; sorted by fine cell.

    `coarse`, `fine` (axis, vertex, cell): vertices. A sweep along axis 0 with sorted boxes.
    """
    from arlequin._kernels import box_pairs

    coarse_low, coarse_high = coarse.min(axis=1).T, coarse.max(axis=1).T
    fine_low, fine_high = fine.min(axis=1).T, fine.max(axis=1).T
    order = np.argsort(coarse_low[:, 0], kind="stable")
    low, high = np.ascontiguousarray(coarse_low[order]), np.ascontiguousarray(coarse_high[order])
    # the running maximum is sorted, the upper ends alone are not
    first = np.searchsorted(np.maximum.accumulate(high[:, 0]), fine_low[:, 0], side="right")
    last = np.searchsorted(low[:, 0], fine_high[:, 0], side="left")
    pairs = box_pairs(low, high, np.ascontiguousarray(fine_low), np.ascontiguousarray(fine_high), first, last)
    pairs[0] = order[pairs[0]]
    return pairs


def _vertex_shapes(dimension: int, vertices: int, X: Array) -> Array:
    """Values (vertex,) of the affine or bilinear shape functions at one reference point."""
    if vertices == dimension + 1:
        return np.array([1 - X.sum(), *X])
    x, y = X
    return np.array([(1 - x) * (1 - y), x * (1 - y), x * y, (1 - x) * y])


def _turns(vertices: Array) -> Array:
    """Cross product (vertex, cell) of the two edges that meet at each vertex, m²."""
    after = np.roll(vertices, -1, axis=1) - vertices
    before = np.roll(after, 1, axis=1)
    return before[0] * after[1] - before[1] * after[0]


def _round_off(*vertices: Array) -> float:
    """Length below which a difference of coordinates is round-off, m."""
    return 8 * np.finfo(float).eps * max(float(np.abs(v).max()) for v in vertices)


def _intervals(coarse: Array, fine: Array, pairs: Indices) -> tuple[Indices, Array]:
    """Cells (2, p) and ends (axis, 2, p) of the common intervals."""
    low = np.maximum(coarse[:, :, pairs[0]].min(axis=1), fine[:, :, pairs[1]].min(axis=1))
    high = np.minimum(coarse[:, :, pairs[0]].max(axis=1), fine[:, :, pairs[1]].max(axis=1))
    keep = (high - low)[0] > _round_off(coarse, fine)
    return pairs[:, keep], np.stack((low, high), axis=1)[:, :, keep]


def _triangles(coarse: Array, fine: Array, pairs: Indices) -> tuple[Indices, Array]:
    """Cells (2, p) and vertices (axis, 3, p) of triangles that tile the common polygons."""
    from arlequin._kernels import clip_pairs

    subject = np.ascontiguousarray(fine[:, :, pairs[1]].transpose(2, 1, 0))
    window = np.ascontiguousarray(coarse[:, :, pairs[0]].transpose(2, 1, 0))
    polygons, counts = clip_pairs(subject, window, _round_off(coarse, fine))
    most = polygons.shape[1]
    fans = [
        np.stack((polygons[meets, 0], polygons[meets, a], polygons[meets, a + 1]))
        for a in range(1, most - 1)
        if (meets := counts > a + 1).any()
    ]
    owners = [np.flatnonzero(counts > a + 1) for a in range(1, most - 1)]
    if not fans:
        return pairs[:, :0], np.zeros((2, 3, 0))
    owner = np.concatenate(owners)
    triangles = np.concatenate(fans, axis=1).transpose(2, 0, 1)
    # pieces of a pair next to each other: what is summed by cell is then read in order
    sort = np.argsort(owner, kind="stable")
    return pairs[:, owner[sort]], triangles[:, :, sort]


def _quadrature(simplices: Array, order: int) -> tuple[Array, Array]:
    """Points (axis, p, q) and weights (p, q) of a positive rule on simplices (axis, vertex, p)."""
    dimension = simplices.shape[0]
    # the triangle rules of orders 3 and 7 have negative weights
    order = order + 1 if dimension == 2 and order in (3, 7) else order
    X, W = get_quadrature(RefLine if dimension == 1 else RefTri, max(order, 1))
    edges = simplices[:, 1:] - simplices[:, :1]
    points = simplices[:, 0, :, None] + np.einsum("ivp,vq->ipq", edges, X)
    if dimension == 1:
        size = np.abs(edges[0, 0])
    else:
        size = np.abs(edges[0, 0] * edges[1, 1] - edges[0, 1] * edges[1, 0])
    return points, size[:, None] * (W / W.sum()) * (1.0 if dimension == 1 else 0.5)
