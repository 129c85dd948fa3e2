"""Named boundaries of a continuum part as surfaces: nodes, areas, normals, facets."""

from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.fem.continuum_model import ContinuumModel
from arlequin.models.fem.elements import reversed_facet
from arlequin.models.fem.spectral import face_nodes
from arlequin.models.part import Part, Surface
from arlequin.models.signatures import meant
from arlequin.models.types import Array, Indices


def facet_indices(part: str, mesh: Any, name: str) -> np.ndarray:
    """Facets of a named boundary; unknown names list the ones that exist."""
    known = mesh.boundaries or {}
    if not isinstance(name, str) or name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise UserError(f"{part}: no boundary is named {name!r}{meant(name, known)} (boundaries: {names})")
    facets = np.unique(np.asarray(known[name], dtype=np.int64))
    if facets.size == 0:
        raise UserError(f"{part}: the boundary {name!r} has no facets")
    if (mesh.f2t[1, facets] != -1).any():
        raise UserError(f"{part}: the boundary {name!r} has facets inside the part")
    return facets


def make_surface(part: ContinuumModel, name: str, depth: float, axisymmetric: bool) -> Surface:
    """The surface of a named boundary; depth: thickness (m) of plane problems, section (m²) of bars."""
    facets = facet_indices(part.name, part.mesh, name)
    basis = part.finite_element.facet_basis(part.mesh, facets)
    measure = facet_measure(basis, depth, axisymmetric)
    outward = np.broadcast_to(np.asarray(basis.normals), (part.mesh.dim(), *measure.shape))
    areas = np.zeros(part.node_count)
    normals = np.zeros((part.mesh.dim(), part.node_count))
    for n in range(basis.Nbfun):
        value = np.broadcast_to(np.asarray(basis.basis[n][0]), measure.shape)
        np.add.at(areas, basis.element_dofs[n], (value * measure).sum(axis=1))
        # |φ|: corners of 6-node triangles have ∫ φ = 0 and still need a normal (without r, which may vanish)
        weighted = np.abs(value) * np.asarray(basis.dx) * outward
        np.add.at(normals.T, basis.element_dofs[n], weighted.sum(axis=2).T)
    ordered = _oriented(part, _facet_nodes(part.basis, facets), outward.mean(axis=2))
    nodes = np.unique(ordered)
    # a corner of a folded surface could average to nothing: keep it finite
    length = np.maximum(np.linalg.norm(normals[:, nodes], axis=0), np.finfo(float).tiny)
    return Surface(part, name, nodes, areas[nodes], np.ascontiguousarray((normals[:, nodes] / length).T), ordered)


def facet_measure(basis: Any, depth: float, axisymmetric: bool) -> Array:
    """Measure of the facets' quadrature points (f, q), m²."""
    if axisymmetric:
        return np.asarray(basis.dx * 2 * np.pi * np.asarray(basis.global_coordinates())[0])
    return np.asarray(basis.dx * depth)


def _facet_nodes(basis: Any, facets: np.ndarray) -> Indices:
    """Nodes of the facets (f, nodes): corners in cyclic order, nodes along each edge, inner ones.

    The inner ones are counted from the first corner along the first edge, then along the last one.
    """
    mesh = basis.mesh
    corners = mesh.facets[:, facets]
    rows = [basis.nodal_dofs[0][corners]]
    if mesh.dim() == 3 and basis.edge_dofs.shape[0] > 0:
        ends = zip(corners, np.roll(corners, -1, axis=0), mesh.f2e[:, facets], strict=True)
        for start, end, edges in ends:
            along = basis.edge_dofs[:, edges]  # from the end of the lower number
            rows.append(np.where(start < end, along, along[::-1]))
    # on the line a facet is a point: its only dof is the vertex's
    if mesh.dim() > 1 and basis.facet_dofs.shape[0] > 0:
        inner = basis.facet_dofs[:, facets]
        rows.append(inner if mesh.dim() == 2 else face_nodes(corners, inner))
    return np.ascontiguousarray(np.vstack(rows).T.astype(np.int64))


def _oriented(part: ContinuumModel, facets: Indices, outward: Array) -> Indices:
    """The facets with nodes counter-clockwise seen from outside; outward (axis, f)."""
    axes = part.mesh.dim()
    if axes == 1:
        return facets
    corners = part.positions[facets]
    first = corners[:, 1] - corners[:, 0]
    if axes == 2:
        normal = np.stack([first[:, 1], -first[:, 0]], axis=1)
    else:
        normal = np.cross(first, corners[:, 2] - corners[:, 0])
    inward = np.einsum("fi,if->f", normal, outward) < 0
    oriented = facets.copy()
    corners_each = part.mesh.facets.shape[0]
    oriented[inward] = facets[inward][:, reversed_facet(axes, corners_each, facets.shape[1])]
    return oriented


def line(part: Part, name: str, s: Array) -> Surface:
    """All nodes of a part in the order of their arc lengths s (n,), as points without normals.

    The area of each is 1 m times the length that it stands for: on a rod, pressures in Pa read as N/m.
    """
    nodes = np.argsort(s).astype(np.int64)
    half = 0.5 * np.diff(s[nodes])
    areas = np.append(half, 0.0) + np.append(0.0, half)
    return Surface(part, name, nodes, areas, np.zeros((nodes.size, part.positions.shape[1])), nodes[:, None])
