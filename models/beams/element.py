"""The two-node Timoshenko element with interdependent interpolation: shape functions and strains.

Deflection v (cubic) and rotation θ (quadratic) solve the equations of the unloaded beam for any nodal values, with
Φ = 12 EI/(κ G A L²): no locking, and nodal statics are exact. Without shear Φ = 0: Hermite's cubic element. Local axes:
x along the beam, y and z in the section; θ_z = v′ and θ_y = −w′ without shear. Element dofs are node-major: the
components of node 1, then of node 2.
Source: Friedman & Kosmatka, Computers & Structures 47, 1993.

`element_integrals` gives the matrices of mass and drag per unit length.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arlequin.models.beams.beam_model import BeamModel
from arlequin.models.types import Array


@dataclass(frozen=True, eq=False)
class BeamElements:
    """Elements of one straight beam. lengths (c,), m; phi: Φ (plane, c), plane x-y and, in 3D, x-z.

    rotation (i, j): local = rotation @ global for the components of one node.
    """

    lengths: Array
    phi: Array
    rotation: Array

    @property
    def components(self) -> int:
        """3 (u, v, θ) or 6 (u, v, w, θ_x, θ_y, θ_z)."""
        return self.rotation.shape[0]

    def interpolation(self, cells: np.ndarray, xi: Array) -> Array:
        """N (p, q, component, d): displacements and rotations at ξ = x/L (p, q) in `cells` (p,), global axes."""
        size = self.components
        local = np.zeros((*xi.shape, size, 2 * size))
        length = self.lengths[cells][:, None]
        for i in (0, 3)[: size // 3]:  # stretch, twist
            local[..., i, i], local[..., i, size + i] = 1 - xi, xi
        for deflection, rotation, sign, phi in self._planes(cells):
            dofs = [deflection, rotation, size + deflection, size + rotation]
            signs = np.array([1.0, sign, 1.0, sign])
            local[..., deflection, dofs] = _deflection(xi, length, phi) * signs
            local[..., rotation, dofs] = sign * _rotation(xi, length, phi) * signs
        return np.swapaxes(self.rotation, 0, 1) @ local @ self._both_nodes()

    def strains(self, xi: Array) -> Array:
        """B (c, q, strain, d) at ξ (q,), from dofs in global axes.

        Strains: ε, γ, κ in the plane; ε, γ_y, γ_z, twist, κ_y, κ_z in space. γ_y = v′ − θ_z, γ_z = w′ + θ_y.
        """
        size, cells = self.components, np.arange(self.lengths.size)
        local = np.zeros((cells.size, xi.size, size, 2 * size))
        length = self.lengths[:, None]
        for i in (0, 3)[: size // 3]:
            local[..., i, i], local[..., i, size + i] = -1 / length, 1 / length
        for deflection, rotation, sign, phi in self._planes(cells):
            dofs = [deflection, rotation, size + deflection, size + rotation]
            signs = np.array([1.0, sign, 1.0, sign])
            local[..., deflection, dofs] = _shear(length, phi, xi.size) * signs
            local[..., rotation, dofs] = sign * _curvature(xi, length, phi) * signs
        return local @ self._both_nodes()

    def slopes(self, xi: Array) -> Array:
        """Slopes of the deflections v′ and, in space, w′ (c, q, plane, d) at ξ (q,), from dofs in global axes."""
        return self._of_deflections(lambda length, phi: _slope(xi, length, phi), xi.size)

    def third_derivatives(self) -> Array:
        """v‴ and, in space, w‴ (c, plane, d), uniform in the element, from dofs in global axes."""
        return self._of_deflections(_third_derivative, 1)[:, 0]

    def _of_deflections(self, rows: Callable[[Array, Array], Array], points: int) -> Array:
        """rows(L, Φ) (c, q, 4), from v₁, θ₁, v₂, θ₂ of each plane, as (c, q, plane, d), from dofs in global axes."""
        size, cells = self.components, np.arange(self.lengths.size)
        planes = self._planes(cells)
        local = np.zeros((cells.size, points, len(planes), 2 * size))
        for k, (deflection, rotation, sign, phi) in enumerate(planes):
            dofs = [deflection, rotation, size + deflection, size + rotation]
            local[..., k, dofs] = rows(self.lengths[:, None], phi) * np.array([1.0, sign, 1.0, sign])
        return local @ self._both_nodes()

    def _planes(self, cells: np.ndarray) -> list[tuple[int, int, float, Array]]:
        """Deflection, its rotation, the rotation's sign and Φ (p, 1) of each plane of bending."""
        planes = [(1, 2, 1.0)] if self.components == 3 else [(1, 5, 1.0), (2, 4, -1.0)]
        return [(*plane, self.phi[k][cells][:, None]) for k, plane in enumerate(planes)]

    def _both_nodes(self) -> Array:
        return np.asarray(np.kron(np.eye(2), self.rotation), dtype=float)


def _deflection(xi: Array, length: Array, phi: Array) -> Array:
    """v from v₁, θ₁, v₂, θ₂ (p, q, 4)."""
    cubic = xi * xi * (2 * xi - 3) - phi * xi
    first = xi**3 - (2 + phi / 2) * xi**2 + (1 + phi / 2) * xi
    last = xi**3 - (1 - phi / 2) * xi**2 - phi / 2 * xi
    return np.stack([cubic + 1 + phi, length * first, -cubic, length * last], axis=-1) / (1 + phi)[..., None]


def _slope(xi: Array, length: Array, phi: Array) -> Array:
    """v′ from v₁, θ₁, v₂, θ₂ (p, q, 4)."""
    cubic = (6 * (xi * xi - xi) - phi) / length
    first = 3 * xi**2 - (4 + phi) * xi + 1 + phi / 2
    last = 3 * xi**2 - (2 - phi) * xi - phi / 2
    return np.stack([cubic, first, -cubic, last], axis=-1) / (1 + phi)[..., None]


def _rotation(xi: Array, length: Array, phi: Array) -> Array:
    """θ from v₁, θ₁, v₂, θ₂ (p, q, 4)."""
    bubble = 6 * (xi * xi - xi) / length
    first = 3 * xi**2 - (4 + phi) * xi + 1 + phi
    last = 3 * xi**2 - (2 - phi) * xi
    return np.stack([bubble, first, -bubble, last], axis=-1) / (1 + phi)[..., None]


def _sway(length: Array) -> Array:
    """(2v₁ − 2v₂)/L + θ₁ + θ₂ from v₁, θ₁, v₂, θ₂ (p, 1, 4), to which v‴ and γ are proportional."""
    ones = np.ones_like(length)
    return np.stack([2 / length, ones, -2 / length, ones], axis=-1)


def _third_derivative(length: Array, phi: Array) -> Array:
    """v‴ (p, 1, 4)."""
    return _sway(length) * (6 / (length**2 * (1 + phi)))[..., None]


def _shear(length: Array, phi: Array, points: int) -> Array:
    """γ = v′ − θ (p, q, 4), uniform in the element; in closed form: the difference loses digits at small Φ."""
    row = _sway(length) * (-phi / (2 * (1 + phi)))[..., None]
    return np.broadcast_to(row, (length.shape[0], points, 4))


def _curvature(xi: Array, length: Array, phi: Array) -> Array:
    """κ = θ′ (p, q, 4)."""
    slope = 6 * (2 * xi - 1) / length
    rows = [slope, 6 * xi - 4 - phi, -slope, 6 * xi - 2 + phi]
    return np.stack([np.broadcast_to(row, slope.shape) for row in rows], axis=-1) / ((1 + phi) * length)[..., None]


def relative(values: Array, axes: int) -> Array:
    """Nodal values (c, 2, component) less the displacements of the first node, which makes translations exact."""
    values = values.copy()
    values[..., :axes] -= values[:, :1, :axes].copy()
    return values


def element_integrals(beam: BeamModel, weight: Array, densities: Array) -> Array:
    """Σ_i ∫ ρ_i w_i w_i′ dx (c, d, d) over the components of motion w, in local axes; densities ρ (component,) per m.

    weight (c, q) is mass weight × dx. By the shape functions of the elements, or by linear shares at the nodes where
    the beam's mass is lumped.
    """
    return (_lumped if beam.mass == "lumped" else _consistent)(beam, weight, densities)


def across(beam: BeamModel, value: float) -> Array:
    """A density (component,) that acts on the displacements across the beam only."""
    densities = np.zeros(beam.components)
    densities[1 : beam.dimension] = value
    return densities


def _consistent(beam: BeamModel, weight: Array, densities: Array) -> Array:
    cells = np.arange(weight.shape[0])
    shapes = beam.elements.interpolation(cells, np.broadcast_to(beam.xi, weight.shape))
    rotation = beam.elements.rotation
    local = rotation.T @ (densities[:, None] * rotation)
    return np.einsum("cqid,cq,ij,cqje->cde", shapes, weight, local, shapes, optimize=True)


def _lumped(beam: BeamModel, weight: Array, densities: Array) -> Array:
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
