"""The contact points of a slave surface: its nodes, or the quadrature points of its facets."""

from dataclasses import dataclass

import numpy as np

from models.elements import facet_basis
from models.part import Surface
from models.surface import facet_indices, facet_measure
from models.types import Array, Indices


@dataclass(frozen=True, eq=False)
class SlavePoints:
    """Points k at Σ_m weights_km x_nodes(k,m): nodes (k, m) numbered within the surface, weights (k, m) = φ_m.

    areas (k,), m², in the reference configuration: they sum to the area of the surface.
    """

    nodes: Indices
    weights: Array
    areas: Array

    def positions(self, surface: Array) -> Array:
        """Positions (k, a) at the positions (n, a) of the surface's nodes."""
        return np.einsum("km,kma->ka", self.weights, surface[self.nodes])


def at_nodes(surface: Surface) -> SlavePoints:
    """The nodes of the surface, with the areas ∫ φ_k dΓ."""
    count = len(surface.nodes)
    return SlavePoints(np.arange(count)[:, None], np.ones((count, 1)), surface.areas)


def at_gauss_points(surface: Surface) -> SlavePoints:
    """The quadrature points of the facets (`models.elements.facet_basis`), facet by facet, with their measures."""
    part = surface.meshed.model
    order = 1 if surface.facets.shape[1] in (2, 4) or _is_plain_triangle(surface) else 2
    basis = facet_basis(part.mesh, order, facet_indices(part.name, part.mesh, surface.name))
    measure = facet_measure(basis, part.depth, part.axisymmetric)  # type: ignore[attr-defined]
    values = np.stack([np.broadcast_to(np.asarray(function[0]), measure.shape) for function in basis.basis])
    # a basis function of the cell → the node of the facet that it belongs to (none: it vanishes on the facet)
    same = basis.element_dofs.T[:, :, None] == surface.facets[:, None, :]
    weights = np.einsum("bfq,fbm->fqm", values, same.astype(float)).reshape(measure.size, -1)
    nodes = np.repeat(np.searchsorted(surface.nodes, surface.facets), measure.shape[1], axis=0)
    return SlavePoints(nodes, np.ascontiguousarray(weights), measure.ravel())


def _is_plain_triangle(surface: Surface) -> bool:
    return surface.positions.shape[1] == 3 and surface.facets.shape[1] == 3
