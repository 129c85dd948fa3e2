"""Meshes whose cells do not match: hanging nodes, and sides that overlap without being one side."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices

_FLAT = 1e-6  # sine of the angle between coplanar sides; distance of coincident points, relative to the size of a side


def check_conforming(mesh: Any, label: str, code: int = 2) -> None:
    """UserError where two sides of cells, each without a cell behind it, lie on each other in part.

    Such sides belong to a mesh with hanging nodes: its cells are not connected there, a crack opens under load. They
    have a common corner, opposite outward normals, and overlap beside the corner. Sides with all corners at the same
    places are an intended crack. On curved sides (second order), a corner of one cell at the middle of a side or an
    edge of another, whether a separate node or the same one, is a hanging node, too.
    """
    if mesh.dim() < 2:
        return
    facets = mesh.boundary_facets()
    pair = _overlapping(mesh, facets)
    if pair is None:
        pair = _at_middle(mesh, facets)
    if pair is None:
        return
    first, second, place = pair
    where = ", ".join(f"{x:.6g}" for x in place)
    raise UserError(
        f"{label}: cells {first} and {second} do not match near ({where}): a node of one hangs on a side of the other, "
        "where a crack would open: refine without hanging nodes, or make two parts and join them by a Tie",
        code,
    )


def _overlapping(mesh: Any, facets: Indices) -> tuple[int, int, Array] | None:
    """The cells of two sides that overlap beside a common corner, and the position of the hanging corner."""
    corners = mesh.facets[:, facets]
    normals = _outward(mesh, facets)
    # pairs of sides at each corner: sides in order of their corners, those of a corner in a row
    count = corners.shape[0]
    vertex, side = corners.T.ravel(), np.repeat(np.arange(facets.size), count)
    order = np.argsort(vertex, kind="stable")
    vertex, side = vertex[order], side[order]
    rank = np.arange(vertex.size) - np.searchsorted(vertex, vertex)
    for shift in range(1, int(rank.max(initial=0)) + 1):
        later = np.flatnonzero(rank >= shift)
        first, second, at = side[later - shift], side[later], vertex[later]
        facing = np.einsum("ap,ap->p", normals[:, first], normals[:, second]) < -1.0 + _FLAT**2
        first, second, at = first[facing], second[facing], at[facing]
        for a, b, corner in zip(first, second, at, strict=True):
            hanging = _hanging(mesh.p[:, corners[:, a]], mesh.p[:, corners[:, b]], mesh.p[:, corner])
            if hanging is not None:
                cells = mesh.f2t[0, facets[[a, b]]]
                return int(cells[0]), int(cells[1]), hanging
    return None


def _hanging(first: Array, second: Array, corner: Array) -> Array | None:
    """A corner of one of two coplanar sides (axis, corners) that is no corner of the other; None where they do not
    overlap beside the common corner (axis,) or are the same."""
    size = max(float(np.ptp(side, axis=1).max()) for side in (first, second))

    def separate(points: Array, corners: Array) -> NDArray[np.bool_]:
        distances = np.linalg.norm(points[:, :, None] - corners[:, None, :], axis=0)
        return np.asarray(distances.min(axis=1) > _FLAT * size)

    if not (separate(first, second).any() or separate(second, first).any()):
        return None
    sides = [first, second] if np.ptp(first, axis=1).max() <= np.ptp(second, axis=1).max() else [second, first]
    small, large = sides
    # near the corner: the middle of one side lies in a direction between the edges of the other
    if not any(
        _between(side.mean(axis=1) - corner, other - corner[:, None], size) for side, other in (sides, sides[::-1])
    ):
        return None
    candidates = small[:, separate(small, large)] if separate(small, large).any() else large[:, separate(large, small)]
    return np.asarray(candidates[:, np.argmin(np.linalg.norm(candidates - corner[:, None], axis=0))])


def _between(direction: Array, edges_to: Array, size: float) -> bool:
    """Whether a direction (axis,) points from a corner of a side into it; edges_to (axis, corners): to all corners."""
    lengths = np.linalg.norm(edges_to, axis=0)
    edges = (edges_to / np.where(lengths > 0.0, lengths, 1.0))[:, lengths > _FLAT * size]
    direction = direction / np.linalg.norm(direction)
    if edges.shape[1] == 1:
        return bool(edges[:, 0] @ direction > 1.0 - 0.5 * _FLAT)
    # the two outer ones of the directions to the other corners bound the side
    cosines = edges.T @ edges
    i, j = np.unravel_index(np.argmin(cosines), cosines.shape)
    shares, *_ = np.linalg.lstsq(edges[:, [i, j]], direction, rcond=None)
    return bool(shares.min() > _FLAT and np.linalg.norm(edges[:, [i, j]] @ shares - direction) < 1e-3)


def _outward(mesh: Any, facets: Indices) -> Array:
    """Unit normals (axis, f) of straight sides, out of their cells."""
    corners = mesh.p[:, mesh.facets[:, facets]]
    along = corners[:, 1] - corners[:, 0]
    if mesh.dim() == 2:
        normals = np.stack([along[1], -along[0]])
    else:
        normals = np.cross(along, corners[:, 2] - corners[:, 0], axis=0)
    inside = mesh.p[:, mesh.t[:, mesh.f2t[0, facets]]].mean(axis=1) - corners.mean(axis=1)
    normals *= -np.sign((normals * inside).sum(axis=0))
    lengths = np.linalg.norm(normals, axis=0)
    return np.asarray(normals / np.where(lengths > 0.0, lengths, 1.0))


def _at_middle(mesh: Any, facets: Indices) -> tuple[int, int, Array] | None:
    """The cells of a corner and of a side or edge whose middle node is at the same place, in second-order meshes."""
    dofs = mesh.dofs
    if dofs.element_dofs.shape[0] <= mesh.t.shape[0]:
        return None
    from scipy.spatial import cKDTree

    inner = [dofs.facet_dofs[:, facets].T.ravel()] if dofs.facet_dofs.size else []
    owners = [np.repeat(facets, dofs.facet_dofs.shape[0])] if inner else []
    if mesh.dim() == 3 and dofs.edge_dofs.size:
        edges = mesh.f2e[:, facets]
        inner.append(dofs.edge_dofs[0, edges].ravel())
        owners.append(np.tile(facets, edges.shape[0]))
    middles, owner = np.concatenate(inner), np.concatenate(owners)
    vertices = np.unique(mesh.facets[:, facets])
    corners = mesh.p[:, mesh.facets[:, owner]]
    sizes = np.ptp(corners, axis=1).max(axis=0)
    distance, near = cKDTree(mesh.p[:, vertices].T).query(mesh.doflocs[:, middles].T)
    hits = np.flatnonzero(distance < _FLAT * sizes)
    if not hits.size:
        return None
    vertex, cell = int(vertices[near[hits[0]]]), int(mesh.f2t[0, owner[hits[0]]])
    other = int(np.flatnonzero((mesh.t == vertex).any(axis=0))[0])
    return other, cell, mesh.p[:, vertex]
