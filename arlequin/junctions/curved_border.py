"""Cells that differ from an overlap only by the approximation of a curved border by straight facets."""

import numpy as np
from numpy.typing import NDArray
from skfem import CellBasis, Mesh

from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import candidate_pairs, facet_corners, off_straight, outward_normals

Mask = NDArray[np.bool_]

# smallest angle between facets at a corner of the body
CORNER = np.pi / 3
# relative to a cell's measure
ROUND_OFF = 1e-12


def covered_but_for_curvature(
    coarse: CellBasis, fine: CellBasis, cells: tuple[Indices, Indices], dx: Array
) -> tuple[Mask, Mask]:
    """Cells (c,) of the coarse and of the fine basis that the overlap covers up to the sagitta of a curved border.

    cells: coarse and fine cell of each piece of the overlap, dx (p, q): their quadrature weights, both without
    thickness, section or 2πr. Two meshes of one curved border have different nodes on it: each extends beyond the other
    by at most the sagittas δ of both facets,

        |cell ∖ overlap| ≤ (δ_coarse + δ_fine) diam(cell)^(d−1).

    The uncovered measure obeys this bound where both meshes end at the same border, and exceeds it where one part ends.
    """
    bases = coarse, fine
    borders = [_border(basis.mesh) for basis in bases]
    covered = []
    for basis, piece_cells in zip(bases, cells, strict=True):
        measure = basis.dx.sum(axis=1)
        uncovered = measure - np.bincount(piece_cells, dx.sum(axis=1), basis.nelems)
        candidates = np.flatnonzero(np.abs(uncovered) > ROUND_OFF * measure)
        vertices = basis.mesh.p[:, basis.mesh.t[:, candidates]]
        allowed = off_straight(basis.mesh)[candidates]
        for facets, sagitta, _ in borders:
            near, cell = candidate_pairs(facets, vertices)
            slack = np.zeros(candidates.size)
            np.maximum.at(slack, cell, sagitta[near])
            allowed += slack
        size = np.ptp(vertices, axis=1).max(axis=0, initial=0.0)
        within_bound = np.zeros(basis.nelems, dtype=bool)
        within_bound[candidates] = uncovered[candidates] <= allowed * size ** (basis.mesh.dim() - 1)
        covered.append(within_bound)
    return covered[0], covered[1]


def at_curved_border(mesh: Mesh) -> Mask:
    """Cells (c,) with a facet on a curved border."""
    curved = np.zeros(mesh.nelements, dtype=bool)
    curved[_border(mesh)[2]] = True
    return curved


def _border(mesh: Mesh) -> tuple[Array, Array, Indices]:
    """Curved facets of the border: corners (axis, 2, f) of boxes around facet and arc, sagittas, m, and cells (f,).

    A facet of length L whose normal turns by θ to the next is the chord of an arc that rises over it by ½ L tan(θ/4).
    """
    axes = mesh.dim()
    facets = mesh.boundary_facets()
    if axes == 1 or not facets.size:
        return np.zeros((axes, 2, 0)), np.zeros(0), np.zeros(0, dtype=np.int64)
    cells = mesh.f2t[0, facets]
    nodes = facet_corners(mesh, facets)
    corners = mesh.p[:, nodes]
    normals = outward_normals(corners, mesh.p[:, mesh.t[:, cells]].mean(axis=1))
    # common vertex of two facets, in 3D common edge
    next_nodes = np.roll(nodes, -1, axis=0)
    keys = (
        nodes
        if axes == 2
        else np.minimum(nodes, next_nodes) * np.int64(mesh.p.shape[1]) + np.maximum(nodes, next_nodes)
    )
    owner = np.broadcast_to(np.arange(facets.size), keys.shape).ravel()
    order = np.argsort(keys.ravel(), kind="stable")
    same = np.flatnonzero(np.diff(keys.ravel()[order]) == 0)
    first, second = owner[order[same]], owner[order[same + 1]]
    angle = np.arccos(np.clip(np.einsum("ip,ip->p", normals[:, first], normals[:, second]), -1.0, 1.0))
    angle[(angle > CORNER) | (angle < 1e-7)] = 0.0
    largest = np.zeros(facets.size)
    np.maximum.at(largest, first, angle)
    np.maximum.at(largest, second, angle)
    length = np.linalg.norm(np.ptp(corners, axis=1), axis=0)
    sagitta = 0.5 * length * np.tan(largest / 4)
    curved = np.flatnonzero(sagitta > 0)
    corners, sagitta = corners[:, :, curved], sagitta[curved]
    low, high = corners.min(axis=1) - 2 * sagitta, corners.max(axis=1) + 2 * sagitta
    return np.stack((low, high), axis=1), sagitta, cells[curved]
