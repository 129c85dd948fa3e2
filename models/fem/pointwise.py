"""A solid of a `PointMaterial`, assembled under given weights.

    f = ∫ Bᵀ P(B u, internal variables) dV,   (B u)_ij = H_ij = ∂u_i/∂X_j,   K = ∫ Bᵀ (∂P/∂H) B dV

on the reference mesh, under the stiffness weight α, in small (P = σ) and finite strains. H has a third axis in plane
problems, H₃₃ = 0, or u_r/r around the axis. The material is evaluated at all points of a block of cells at once.

Mean force of a step from u₀ to u₁, with the material at u₀ evaluated without a step of time:

    small strains   P̄ = (1 − θ) P₀ + θ P₁
    finite strains  P̄ = F_½ [(1 − θ) F₀⁻¹ P₀ + θ F₁⁻¹ P₁],   F_½ = ½(F₀ + F₁),

which conserves momentum and, as F⁻¹P is symmetric, angular momentum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from scipy.sparse import csr_array

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.fem.cell_blocks import CellBlock, cell_blocks
from arlequin.models.fem.cells import KernelCells
from arlequin.models.fem.finite_strain import FiniteNodal
from arlequin.models.fem.stress import STRESS_FIELDS, invariants
from arlequin.models.fem.viscous import ViscousStress
from arlequin.models.linalg.determinants import determinants
from arlequin.models.linalg.matrix import symmetric_part
from arlequin.models.materials.elastic import Rayleigh
from arlequin.models.materials.hyperelastic import bulk_modulus
from arlequin.models.materials.point import PointMaterial, PointResponse
from arlequin.models.part import Response
from arlequin.models.types import Array

_ROWS, _COLUMNS = [0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]  # of the components xx, yy, zz, yz, xz, xy
_IDENTITY = np.eye(3)


def pointwise_stress(arrays: KernelCells, material: PointMaterial, u: Array, memory: Array) -> tuple[Array, int]:
    """Cauchy stress (c, q, 6), Pa, at u (d,) and internal variables (c, q, m), and an inverted cell (−1: none)."""
    out = np.empty((*memory.shape[:2], 6))
    for block in cell_blocks(arrays):
        gradient = block.gradient(u)
        inverted = _inverted(material, block, gradient)
        if inverted >= 0:
            return out, inverted
        stress = _respond(material, gradient, memory[block.cells], 0.0).stress
        if "finite" in material.kinematics:
            F = gradient + _IDENTITY
            stress = stress @ np.swapaxes(F, -1, -2) / determinants(F)[:, None, None]
        out[block.cells] = stress[:, _ROWS, _COLUMNS].reshape(*block.weight.shape, 6)
    return out, -1


@dataclass(frozen=True, eq=False, repr=False)
class PointwiseAssembled(FiniteNodal):
    """M, K (of the linear law), forces and tangents of a solid of a `PointMaterial`.

    linear: the part's small-strain matrices and element arrays under the same weights.
    """

    material: PointMaterial
    rayleigh: Rayleigh

    @cached_property
    def damping(self) -> csr_array | None:
        """Rayleigh damping, constant; in finite strains a M, `mean_viscous` is the rest."""
        if not self._finite:
            return self.linear.damping
        return csr_array(self.rayleigh.mass * self.mass) if self.rayleigh.mass else None

    @property
    def viscous(self) -> bool:
        """Whether there is a viscosity of finite strains, b > 0."""
        return self._finite and self.rayleigh.stiffness > 0.0

    def mean_viscous(self, u0: Array, u1: Array, step: float) -> Array:
        """Mean viscous force of a step Δt (s), N, see `arlequin.models.fem.viscous`."""
        return self._viscosity.force(self._cells, self._displacement(u0), self._displacement(u1), step)

    @property
    def _viscosity(self) -> ViscousStress:
        law = self.material.linear
        return ViscousStress(self.rayleigh.stiffness, law.shear, bulk_modulus(law), mean=False)

    @property
    def _finite(self) -> bool:
        return "finite" in self.material.kinematics

    @property
    def dissipates(self) -> bool:
        """Whether the material dissipates."""
        return self.material.dissipates

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the internal variables."""
        return self.material.variables

    @property
    def recorded(self) -> tuple[tuple[str, str, str], ...]:
        """Name, units and long name of the cell means of a result."""
        variables = ((name, units, text) for name, (units, text) in self.material.recorded.items())
        return *variables, *STRESS_FIELDS

    def fresh(self) -> Array:
        """The initial internal variables (c, q, m): 0."""
        return np.zeros((*self._cells.weight.shape, len(self.material.variables)))

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,), N, and stored energy, J, at u (d,) with the initial internal variables."""
        response = self.respond(u, self.fresh(), 0.0)
        return response.force, response.stored

    def respond(self, u: Array, memory: Array, step: float) -> Response:
        """The response at u (d,), reached in a step (s) from the internal variables memory (c, q, m)."""
        u, after, inverted = self._displacement(u), np.empty_like(memory), -1
        force, stored, dissipated = np.zeros_like(u), 0.0, 0.0
        for block in cell_blocks(self._cells):
            gradient = block.gradient(u)
            inverted = _inverted(self.material, block, gradient)
            if inverted >= 0:
                break
            response = _respond(self.material, gradient, memory[block.cells], step)
            after[block.cells] = response.memory.reshape(after[block.cells].shape)
            stored += block.integral(response.stored)
            dissipated += block.integral(response.dissipated)
            block.add_forces(force, response.stress)
        return Response(force, stored, dissipated, after, inverted)

    def tangent(self, u: Array, memory: Array, step: float) -> csr_array:
        """∂f/∂u (d, d) of `respond`, N/m; symmetric where the material has a symmetric tangent."""
        u = self._displacement(u)

        def moduli(block: CellBlock) -> Array:
            return _moduli(_respond(self.material, block.gradient(u), memory[block.cells], step, tangent=True))

        return self._matrix(moduli)

    def elastic_tangent(self, u: Array, memory: Array) -> csr_array:
        """The tangent of a step of 1 s: whether the material flows in it is its own matter."""
        return self.tangent(u, memory, 1.0)

    def mean_internal(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> tuple[Array, int]:
        """Mean force (d,) of a step (s) from u₀ to u₁, N, and a cell that is inverted at u₁ (−1: none)."""
        u0, u1 = self._displacement(u0), self._displacement(u1)
        force = np.zeros_like(u0)
        for block in cell_blocks(self._cells):
            start, end = block.gradient(u0), block.gradient(u1)
            inverted = _inverted(self.material, block, end)
            if inverted >= 0:
                return force, inverted
            first = _respond(self.material, start, memory[block.cells], 0.0).stress
            last = _respond(self.material, end, memory[block.cells], step).stress
            if self._finite:
                first, last = _pulled_back(start, first), _pulled_back(end, last)
            mean = (1.0 - theta) * first + theta * last
            if self._finite:
                mean = (0.5 * (start + end) + _IDENTITY) @ mean
            block.add_forces(force, mean)
        return force, -1

    def mean_tangent(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> csr_array:
        """Symmetric part (d, d) of ∂/∂u₁ of `mean_internal` and `mean_viscous`, N/m; UserError for inverted cells.

        Finite strains, with S = F⁻¹P, S̄ its mean and M = F_½ F₁⁻¹:
        ∂P̄_ij/∂F_kl = ½ δ_ik S̄_lj + θ (M_ip ∂P_pj/∂F_kl − M_ik S_lj).
        """
        u0, u1 = self._displacement(u0), self._displacement(u1)

        def moduli(block: CellBlock) -> Array:
            start, end = block.gradient(u0), block.gradient(u1)
            inverted = _inverted(self.material, block, end)
            if inverted >= 0:
                raise UserError(f"cell {inverted} is turned inside out: there is no tangent", code=FAILURE)
            response = _respond(self.material, end, memory[block.cells], step, tangent=True)
            if not self._finite:
                return theta * _moduli(response)
            first = _pulled_back(start, _respond(self.material, start, memory[block.cells], 0.0).stress)
            last = _pulled_back(end, response.stress)
            mean = (1.0 - theta) * first + theta * last
            M = (0.5 * (start + end) + _IDENTITY) @ np.linalg.inv(end + _IDENTITY)
            total = theta * np.einsum("pia,pajkl->pijkl", M, _moduli(response), optimize=True)
            total -= theta * np.einsum("pik,plj->pijkl", M, last)
            return np.asarray(total + 0.5 * np.einsum("ik,plj->pijkl", _IDENTITY, mean))

        matrix = self._matrix(moduli)
        if self.viscous:
            # on the same pattern
            matrix.data += self.matrix_of(self._viscosity.matrices(self._cells, u0, u1, step)).data
        return symmetric_part(matrix)

    def stress(self, u: Array, memory: Array) -> Array:
        """Cauchy stress (c, q, 6), Pa, of the cells with weight, at u (d,) and internal variables memory."""
        sigma, inverted = pointwise_stress(self._cells, self.material, self._displacement(u), memory)
        if inverted >= 0:
            raise UserError(f"cell {inverted} is turned inside out: there is no stress", code=FAILURE)
        return sigma

    def mean_stress(self, u: Array, memory: Array) -> Array:
        """Cauchy stress (c, 6), Pa: means over the reference volume of the cells; 0 in cells without weight."""
        weight = self._cells.weight
        share = weight / weight.sum(axis=1, keepdims=True)
        return self.everywhere(np.einsum("cq,cqk->ck", share, self.stress(u, memory)))

    def cell_means(self, u: Array, memory: Array) -> tuple[Array, ...]:
        """The values of `recorded`, each (c,): means over the reference volume; 0 in cells without weight."""
        columns = [self.material.variables.index(name) for name in self.material.recorded]
        weight = self._cells.weight
        share = weight / weight.sum(axis=1, keepdims=True)
        points = (*np.moveaxis(memory[..., columns], -1, 0), *invariants(self.stress(u, memory)))
        return tuple(self.everywhere((share * values).sum(axis=1)) for values in points)

    def _matrix(self, moduli: Callable[[CellBlock], Array]) -> csr_array:
        """∫ Bᵀ A B dV of moduli A (p, 3, 3, 3, 3) of each block, on the sparsity pattern of K."""
        return self.matrix_of((block, block.stiffnesses(moduli(block))) for block in cell_blocks(self._cells))


def _respond(
    material: PointMaterial, gradient: Array, memory: Array, step: float, tangent: bool = False
) -> PointResponse:
    """The material's response, its shapes checked."""
    points, variables = len(gradient), memory.shape[2]
    response = material.respond(gradient, memory.reshape(points, variables), step, tangent)
    shapes = {"stress": (3, 3), "memory": (variables,), "stored": (), "dissipated": ()}
    if tangent:
        shapes["tangent"] = (3, 3, 3, 3)
    for name, shape in shapes.items():
        returned = np.shape(getattr(response, name))
        if returned != (points, *shape):
            law = type(material).__name__
            raise UserError(f"{law}.respond: {name} of shape {returned}, expected {(points, *shape)}")
    return response


def _moduli(response: PointResponse) -> Array:
    return cast(Array, response.tangent)  # checked by `_respond`


def _inverted(material: PointMaterial, block: CellBlock, gradient: Array) -> int:
    """The first cell with det F ≤ 0 in finite strains; −1: none."""
    if "finite" not in material.kinematics:
        return -1
    inverted = ~(determinants(gradient + _IDENTITY) > 0.0).reshape(block.weight.shape).all(axis=1)
    return block.cells.start + int(np.argmax(inverted)) if inverted.any() else -1


def _pulled_back(gradient: Array, stress: Array) -> Array:
    """S = F⁻¹ P (p, 3, 3)."""
    return np.asarray(np.linalg.solve(gradient + _IDENTITY, stress))
