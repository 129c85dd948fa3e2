"""Mass and drag of beams: integrals of what each unit of length weighs against each component of motion."""

from typing import TYPE_CHECKING

import numpy as np

from models.types import Array

if TYPE_CHECKING:
    from models.beam import Beam


def element_integrals(beam: "Beam", weight: Array, densities: Array) -> Array:
    """Σ_i ∫ ρ_i w_i w_i′ dx (c, d, d) over the components of motion w, in local axes; densities ρ (component,) per m.

    weight (c, q) is mass weight × dx. By the shape functions of the elements, or by linear shares at the nodes where
    the beam's mass is lumped.
    """
    return (_lumped if beam.mass == "lumped" else _consistent)(beam, weight, densities)


def across(beam: "Beam", value: float) -> Array:
    """A density (component,) that acts on the displacements across the beam only."""
    densities = np.zeros(beam.components)
    densities[1 : beam.dimension] = value
    return densities


def _consistent(beam: "Beam", weight: Array, densities: Array) -> Array:
    cells = np.arange(weight.shape[0])
    shapes = beam.elements.interpolation(cells, np.broadcast_to(beam.xi, weight.shape))
    rotation = beam.elements.rotation
    local = rotation.T @ (densities[:, None] * rotation)
    return np.einsum("cqid,cq,ij,cqje->cde", shapes, weight, local, shapes, optimize=True)


def _lumped(beam: "Beam", weight: Array, densities: Array) -> Array:
    """Diagonal in global axes; a beam oblique to them has blocks where the densities of its local axes differ.

    The rotations of bending also get ρ_y L²/12 per length of half an element about its node, which keeps the stable
    step from falling with the section's height and vanishes with the element as L².
    """
    linear = np.stack([1 - beam.xi, beam.xi])
    shares = np.einsum("cq,nq->cn", weight, linear)
    local = np.broadcast_to(densities, (weight.shape[0], beam.components)).copy()
    bending = slice(2, 3) if beam.dimension == 2 else slice(4, 6)
    local[:, bending] += (densities[1] * beam.elements.lengths**2 / 12)[:, None]
    rotation = beam.elements.rotation
    blocks = np.einsum("si,cs,sj->cij", rotation, local, rotation)
    masses = np.zeros((weight.shape[0], 2, beam.components, 2, beam.components))
    for n in range(2):
        masses[:, n, :, n, :] = shares[:, n, None, None] * blocks
    size = 2 * beam.components
    return masses.reshape(-1, size, size)
