"""Geometry of cells: vertices, tetrahedra, boxes, inverse maps, and points inside a mesh."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skfem import Mesh

from arlequin.models.errors import UserError
from arlequin.models.fem.elements import element_of
from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices

# largest offset of the mid-side node of a straight edge, as a fraction of the cell
STRAIGHT = 1e-9

# Newton's method for reference coordinates: largest number of iterations, last correction, coordinates given up
_NEWTON, _CONVERGED, _FAR = 50, 1e-10, 1e3


def straight_cells(mesh: Mesh) -> Array:
    """Vertices (axis, vertex, cell) of the cells as straight-edged polygons or polyhedra, counter-clockwise in 2D.

    Quadrilaterals must be convex. Curved edges are replaced by their chords; see `off_straight`.
    """
    vertices: Array = mesh.p[:, mesh.t]
    if mesh.dim() == 2:
        products = _corner_products(vertices)
        clockwise = products.sum(axis=0) < 0
        vertices[:, :, clockwise] = vertices[:, ::-1, clockwise]
        products[:, clockwise] *= -1
        if np.any(products <= 0):
            cell = int(np.argmin(products.min(axis=0)))
            where = ", ".join(f"{x:.6g}" for x in vertices[:, :, cell].mean(axis=1))
            raise UserError(f"overlap of meshes: the cell at ({where}) is flat or not convex")
    return vertices


def off_straight(mesh: Mesh) -> Array:
    """Distance of the mid-side nodes of each cell (c,) from straight edges, m."""
    vertices = mesh.p[:, mesh.t]
    nodes = mesh.dofs.element_dofs
    off = np.zeros(mesh.nelements)
    for a in range(mesh.t.shape[0], nodes.shape[0]):
        shape = _vertex_shapes(mesh, np.asarray(mesh.elem().doflocs[a], dtype=float))
        expected = np.einsum("v,ivc->ic", shape, vertices)
        np.maximum(off, np.linalg.norm(mesh.doflocs[:, nodes[a]] - expected, axis=0), out=off)
    off[off <= STRAIGHT * np.ptp(vertices, axis=1).max(axis=0)] = 0.0
    return off


def round_off(*vertices: Array) -> float:
    """Round-off of differences of coordinates, m."""
    return 8 * np.finfo(float).eps * max((float(np.abs(v).max()) for v in vertices if v.size), default=0.0)


def tetrahedra(mesh: Mesh) -> Array:
    """Tetrahedra (c, k, 4, 3) of the cells of a 3D mesh: k = 1, or the 6 of a hexahedron.

    A hexahedron is cut from its vertex of smallest number, each of its faces along the diagonal from the face's
    vertex of smallest number: neighbours cut their common face alike. Where faces are not plane the tetrahedra
    approximate the trilinear cell, without gaps or overlaps inside the mesh.
    Source of the rule: Dompierre, Labbé, Vallet & Camarero, 8th International Meshing Roundtable, 1999.
    """
    cells = mesh.t.T
    if cells.shape[1] == 4:
        return np.ascontiguousarray(mesh.p.T[cells][:, None])
    apex = np.argmin(cells, axis=1)
    opposite = _opposite_faces(np.asarray(mesh.refdom.facets, dtype=np.int64))[apex]
    faces = np.take_along_axis(cells, opposite.reshape(len(cells), 12), axis=1).reshape(-1, 3, 4)
    smallest = np.argmin(faces, axis=2)
    order = (smallest[:, :, None] + np.arange(4)) % 4
    rotated = np.take_along_axis(faces, order, axis=2)
    triangles = np.concatenate((rotated[:, :, [0, 1, 2]], rotated[:, :, [0, 2, 3]]), axis=1)
    tips = np.broadcast_to(cells[np.arange(len(cells)), apex][:, None, None], (len(cells), 6, 1))
    return np.ascontiguousarray(mesh.p.T[np.concatenate((tips, triangles), axis=2)])


def boxes(mesh: Mesh) -> tuple[Array, Array] | None:
    """Lowest and highest corners (c, axis) of cells that are all boxes along the axes; else None."""
    axes = mesh.dim()
    if axes != 3 or mesh.t.shape[0] != 8:
        return None
    vertices = mesh.p[:, mesh.t]
    low, high = vertices.min(axis=1), vertices.max(axis=1)
    corners = np.asarray(mesh.refdom.p, dtype=bool)
    tolerance = round_off(vertices)
    # reference axes may be mapped to any axis in either direction
    for a in range(3):
        at_low = np.abs(vertices[a] - low[a]) <= tolerance
        at_high = np.abs(vertices[a] - high[a]) <= tolerance
        if not (at_low ^ at_high).all():
            return None
        sides = np.stack([(at_high == corners[b][:, None]).all(axis=0) for b in range(3)])
        sides |= np.stack([(at_low == corners[b][:, None]).all(axis=0) for b in range(3)])
        if not sides.any(axis=0).all():
            return None
    return np.ascontiguousarray(low.T), np.ascontiguousarray(high.T)


def facet_corners(mesh: Mesh, facets: Indices) -> Indices:
    """Corners (v, f) of facets on the border in cyclic order, unlike those of `mesh.facets`."""
    if mesh.dim() == 1:
        return mesh.facets[:, facets]
    cells = mesh.f2t[0, facets]
    side = np.argmax(mesh.t2f[:, cells] == facets, axis=0)
    return mesh.t[np.asarray(mesh.refdom.facets).T[:, side], cells]


def outward_normals(corners: Array, inside: Array) -> Array:
    """Outward unit normals (axis, f) of facets with corners (axis, v, f); inside (axis, f): points within the cells."""
    if len(corners) == 2:
        x, y = corners[:, 1] - corners[:, 0]
        normals = np.stack((y, -x))
    else:
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], axis=0)
    normals = normals * np.sign(np.einsum("if,if->f", normals, corners.mean(axis=1) - inside))
    return np.asarray(normals / np.linalg.norm(normals, axis=0))


def candidate_pairs(coarse: Array, fine: Array) -> Indices:
    """Pairs (2, p) of cells whose bounding boxes overlap: coarse cell, fine cell; sorted by fine cell.

    `coarse`, `fine` (axis, vertex, cell): vertices. The boxes are sorted into the bins of a regular grid. Balls of
    `scipy.spatial.cKDTree` round their centres take 20 times as long, and far more in graded meshes.
    """
    from arlequin.overlap._kernels import box_pairs

    boxes = []
    for vertices in (coarse, fine):
        for corner, filler in ((vertices.min(axis=1).T, 0.0), (vertices.max(axis=1).T, 1.0)):
            padded = np.full((corner.shape[0], 3), filler)
            padded[:, : corner.shape[1]] = corner
            boxes.append(padded)
    coarse_low, coarse_high, fine_low, fine_high = boxes
    if not len(coarse_low) or not len(fine_low):
        return np.zeros((2, 0), dtype=np.int64)
    origin, extent = coarse_low.min(axis=0), np.ptp(np.concatenate((coarse_low, coarse_high)), axis=0)
    step = np.maximum((coarse_high - coarse_low).mean(axis=0), 1e-300)
    shape = np.clip(extent / step, 1, None)
    # bound the number of bins where boxes of very different size are mixed
    shape = np.maximum(1, shape * min(1.0, (4 * len(coarse_low) / shape.prod()) ** (1 / 3))).astype(np.int64)
    return box_pairs(coarse_low, coarse_high, fine_low, fine_high, origin, shape / np.maximum(extent, 1e-300), shape)


def to_reference(mesh: Mesh, cells: Indices, points: Array, partial: bool = False) -> tuple[Array, Array]:
    """Reference coordinates of physical points in cells, and the inverse Jacobian there.

    cells (p,), points (axis, p, q) → X (axis, p, q), ∂X_j/∂x_i as [j, i] (axis, axis, p, q), 1/m.
    partial: whether points that the map of their cell does not reach, as may be where they lie outside it, have X nan;
    UserError otherwise.
    The inverse of a multilinear or second-order map is computed by Newton's method in coordinates relative to a vertex
    of the cell: scikit-fem uses absolute ones, whose round-off exceeds its tolerance in small cells far off the origin.
    For points slightly outside a curved cell the map is extrapolated.
    """
    X, inverse = _straight_reference(mesh, cells, points, partial)
    curved = np.flatnonzero(off_straight(mesh)[cells] > 0.0) if _second_order(mesh) else np.zeros(0, dtype=np.int64)
    if not curved.size:
        return X, inverse
    X, inverse = X.copy(), inverse.copy()
    nodes = mesh.doflocs[:, mesh.dofs.element_dofs[:, cells[curved]]]
    X[:, curved], inverse[:, :, curved] = _inverted(
        mesh.elem(), nodes, points[:, curved], X[:, curved], None if partial else "a cell is too curved to be mapped"
    )
    return X, inverse


def linear_reference(mesh: Mesh, cells: Indices, points: Array) -> Array:
    """Reference coordinates X (axis, p, q) of points (axis, p, q) by the maps of cells (p,) linearised at their
    centres: of points that `to_reference` does not reach."""
    corners = np.asarray(mesh.refdom.p)
    centre = np.broadcast_to(corners.mean(axis=1)[:, None, None], (mesh.dim(), cells.size, 1))
    element = element_of(mesh, 1).scalar()
    shapes, slopes = zip(*(element.lbasis(centre, a) for a in range(corners.shape[1])), strict=True)
    vertices = mesh.p[:, mesh.t[:, cells]]
    inverse = _inverse(np.einsum("iap,ajpq->ijpq", vertices, np.stack(slopes)))
    offset = points - np.einsum("iap,apq->ipq", vertices, np.stack(shapes))
    return np.asarray(centre + np.einsum("jip,ipq->jpq", inverse[..., 0], offset))


def distance_outside(mesh: Mesh, X: Array) -> Array:
    """Distance (…) of reference points X (axis, …) outside the reference cell, largest over its faces; ≤ 0 inside."""
    distance = np.maximum(-X, X - 1).max(axis=0)
    return np.maximum(distance, X.sum(axis=0) - 1) if mesh.t.shape[0] == mesh.dim() + 1 else distance


def _second_order(mesh: Mesh) -> bool:
    return bool(mesh.dofs.element_dofs.shape[0] > mesh.t.shape[0])


def _inverted(element: Any, nodes: Array, points: Array, X: Array, failure: str | None) -> tuple[Array, Array]:
    """`to_reference` for the map Σ_a N_a(X) x_a with nodes x_a (axis, a, p), from an initial guess X (axis, p, q): each
    cell iterates until its points are reached or far.

    failure: line of the error where a point is not reached; None: its X is nan.
    """
    start = nodes[:, :1]
    local, nodes = points - start[:, 0, :, None], nodes - start
    X, inverse = X.copy(), np.full((len(X), *X.shape), np.nan)
    reached, left = np.zeros(X.shape[1:], dtype=bool), np.arange(X.shape[1])
    with np.errstate(all="ignore"):
        for _ in range(_NEWTON):
            if not left.size:
                break
            correction, inverse[:, :, left] = _newton_step(element, nodes[:, :, left], local[:, left], X[:, left])
            X[:, left] += correction
            # quadratic convergence: the remaining error is the square of the correction
            reached[left] = np.abs(correction).max(axis=0) < _CONVERGED
            near = np.abs(X[:, left]).max(axis=0) < _FAR
            left = left[(near & ~reached[left]).any(axis=1)]
    if failure is not None and not reached.all():
        raise UserError(f"overlap of meshes: {failure}", code=1)
    return np.where(reached, X, np.nan), inverse


def _newton_step(element: Any, nodes: Array, local: Array, X: Array) -> tuple[Array, Array]:
    """Correction (axis, p, q) of X, and the inverse Jacobian there."""
    shapes, slopes = zip(*(element.lbasis(X, a) for a in range(nodes.shape[1])), strict=True)
    inverse = _inverse(np.einsum("iap,ajpq->ijpq", nodes, np.stack(slopes)))
    residual = local - np.einsum("iap,apq->ipq", nodes, np.stack(shapes))
    return np.einsum("jipq,ipq->jpq", inverse, residual), inverse


def _straight_reference(mesh: Mesh, cells: Indices, points: Array, partial: bool) -> tuple[Array, Array]:
    """`to_reference` in the straight-edged cells with the same vertices."""
    vertices, corners, axes = mesh.p[:, mesh.t[:, cells]], np.asarray(mesh.refdom.p), mesh.dim()
    start = int(np.argmin(corners.sum(axis=0)))
    along = [int(np.flatnonzero((corners[:, start] + axis == corners.T).all(axis=1))[0]) for axis in np.eye(axes)]
    edges = vertices[:, along] - vertices[:, [start]]
    off = vertices - vertices[:, [start]] - np.einsum("iap,av->ivp", edges, corners - corners[:, [start]])
    if (np.abs(off) < 1e-14 * np.abs(vertices).max(initial=0.0)).all():
        inverse = np.broadcast_to(_inverse(edges[..., None]), (axes, axes, *points.shape[1:]))
        return np.einsum("jipq,ipq->jpq", inverse, points - vertices[:, start, :, None]), inverse
    failure = None if partial else "a quadrilateral or hexahedron is too distorted to be mapped"
    return _inverted(element_of(mesh, 1).scalar(), vertices, points, np.full(points.shape, 0.5), failure)


def _inverse(matrix: Array) -> Array:
    """Inverse of small matrices (n, n, …) by cofactors, n ≤ 3."""
    size = matrix.shape[0]
    if size == 1:
        return 1 / matrix
    if size == 2:
        (a, b), (c, d) = matrix
        return np.array([[d, -b], [-c, a]]) / (a * d - b * c)
    cofactors = np.empty_like(matrix)
    for i in range(3):
        for j in range(3):
            a, b, c, d = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
            cofactors[j, i] = matrix[a, c] * matrix[b, d] - matrix[a, d] * matrix[b, c]
    return cofactors / np.einsum("i...,i...->...", matrix[0], cofactors[:, 0])


def _vertex_shapes(mesh: Mesh, X: Array) -> Array:
    """Values (vertex,) of the affine or multilinear shape functions at one reference point."""
    if mesh.t.shape[0] == mesh.dim() + 1:
        return np.array([1 - X.sum(), *X])
    corners = np.asarray(mesh.refdom.p)
    return np.prod(np.where(corners == 1, X[:, None], 1 - X[:, None]), axis=0)


def _opposite_faces(facets: Indices) -> Indices:
    """Local faces (vertex, 3, 4) of a hexahedron opposite to each vertex; facets (6, 4) in cyclic order."""
    return np.stack([facets[(facets != v).all(axis=1)] for v in range(8)])


def _corner_products(vertices: Array) -> Array:
    """Cross product (vertex, cell) of the two edges that meet at each vertex, m²."""
    after = np.roll(vertices, -1, axis=1) - vertices
    before = np.roll(after, 1, axis=1)
    return before[0] * after[1] - before[1] * after[0]


_MARGIN = 1e-3  # of a cell: points closer to its sides are treated as outside


def inside(mesh: Any, points: Array) -> NDArray[np.bool_]:
    """Points (k, axis) strictly inside the straight-edged cells of a mesh (k,)."""
    contained = np.zeros(len(points), dtype=bool)
    cells, point = candidate_pairs(mesh.p[:, mesh.t], np.ascontiguousarray(points.T[:, None, :]))
    if not cells.size:
        return contained
    X = to_reference(mesh, cells, points[point].T[:, :, None], partial=True)[0][:, :, 0]
    low, high = X.min(axis=0), X.max(axis=0)
    if mesh.t.shape[0] == mesh.dim() + 1:
        high = X.sum(axis=0)
    # points on a common side of two cells are not detected, but their neighbours on the surface are
    contained[point[(low > _MARGIN) & (high < 1.0 - _MARGIN)]] = True
    return contained


def inside_outline(surface: Surface, points: Array) -> NDArray[np.bool_]:
    """Points (k, 2) inside the closed outline of a part without cells: rays along x cross it an odd number of times."""
    edges = surface.part.positions[surface.part.connectivity]
    if edges.shape[1] != 2 or points.shape[1] != 2:
        return np.zeros(len(points), dtype=bool)
    (x0, y0), (x1, y1) = edges[:, 0].T, edges[:, 1].T
    x, y = points[:, :1], points[:, 1:]
    crosses = (y0 > y) != (y1 > y)
    dx_dy = np.divide(x1 - x0, y1 - y0, out=np.zeros_like(x0), where=y1 != y0)
    return np.asarray((crosses & (x < x0 + (y - y0) * dx_dy)).sum(axis=1) % 2 == 1)
