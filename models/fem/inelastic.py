"""A solid of finite strain whose points are materials with a memory, assembled under given weights.

    F = 1 + ∂u/∂X,   f_a = ∫ τ F⁻ᵀ ∇φ_a dV,   τ = τ_dev(F, memory) + p J 1,   p = K ln J̄/J̄

on the reference mesh, under the stiffness weight α; J̄ is the mean of J = det F over the cell (mean dilatation), which
frees linear quadrilaterals and hexahedra of volumetric locking, or J itself (see `arlequin.models.fem._cell_kernels`).

A metal of small plastic strains and rotations, assembled under given weights.

    ε = sym ∇u,   σ = s(ε, memory) + K ē 1,   f_a = ∫ σ ∇φ_a dV

ē is the mean of tr ε over the cell (B̄), which frees linear quadrilaterals and hexahedra of volumetric locking in
plastic flow, or tr ε itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.fem.finite_strain import FiniteNodal
from arlequin.models.fem.stress import STRESS_FIELDS, finite_stress, invariants, small_stress
from arlequin.models.linalg.matrix import symmetric_part
from arlequin.models.linalg.threads import side_by_side, slices
from arlequin.models.materials.plastic import MEMORY, MEMORY_NAMES
from arlequin.models.materials.point import CompiledLaw
from arlequin.models.part import Response
from arlequin.models.types import Array, Indices

_ALPHA = 6
_FLOW = (
    ("plastic_strain", "1", "equivalent plastic strain, mean over the cell"),
    ("heating", "K", "rise of temperature, mean over the cell"),
)


@dataclass(frozen=True, eq=False, repr=False)
class InelasticAssembled(FiniteNodal):
    """M, K (the tangent at u = 0), forces and tangents of a solid with memory.

    linear: the part's small-strain matrices and element arrays under the same weights. mean: J̄ is that of the cell.
    """

    material: CompiledLaw
    mean: bool

    @property
    def damping(self) -> csr_array | None:
        """Rayleigh's, constant."""
        return self.linear.damping

    def fresh(self) -> Array:
        """The memory (c, q, 9) of virgin matter."""
        cells, points = self._cells[0].shape[0], self._cells[1].shape[1]
        return np.zeros((cells, points, MEMORY))

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,), N, and stored energy, J, of virgin matter brought to u at once."""
        response = self.respond(u, self.fresh(), 0.0)
        return response.force, response.stored

    def respond(self, u: Array, memory: Array, step: float) -> Response:
        """The internal force at u (d,), reached in a step (s) from where the points have this memory (c, q, 9)."""
        from arlequin.models.fem import _cell_kernels

        u, after = self._displacement(u), np.empty_like(memory)
        law = self.material.kind, self.material.coefficients, self.mean

        def some(chosen: slice) -> tuple[Array, float, float, int]:
            force = np.zeros_like(u)
            nodes, gradients, hoop, weight = (array[chosen] if array.size else array for array in self._cells)
            stored, lost, bad = _cell_kernels.respond_cells(
                nodes, gradients, hoop, weight, *law, step, u, memory[chosen], after[chosen], force
            )
            return force, stored, lost, bad

        forces, stored, dissipated, inverted = zip(*side_by_side(some, len(memory)), strict=True)
        return Response(sum(forces[1:], forces[0]), sum(stored), sum(dissipated), after, _first(inverted, len(memory)))

    def mean_internal(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> tuple[Array, int]:
        """Mean force of a step (s) from u₀, where the points have this memory, to u₁; a cell inside out there, or −1.

        f_a = ∫ F_½ S̄ ∇φ_a, S̄ of both ends (see `arlequin.models.fem._mean_kernels`): it has no moment, and for the
        neo-Hookean law and θ = ½ its work f·(u₁ − u₀) is E(u₁) − E(u₀).
        """
        from arlequin.models.fem import _mean_kernels

        u0, u1 = self._displacement(u0), self._displacement(u1)
        law = self.material.kind, self.material.coefficients, self.mean

        def some(chosen: slice) -> tuple[Array, int]:
            force = np.zeros_like(u0)
            nodes, gradients, hoop, weight = (array[chosen] if array.size else array for array in self._cells)
            cell = _mean_kernels.mean_force(
                nodes, gradients, hoop, weight, *law, step, theta, u0, u1, memory[chosen], force
            )
            return force, cell

        forces, inverted = zip(*side_by_side(some, len(memory)), strict=True)
        return sum(forces[1:], forces[0]), _first(inverted, len(memory))

    def mean_tangent(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> csr_array:
        """∂f/∂u₁ (d, d) of `mean_internal`, symmetric: an approximation, exact where u₀ = u₁ but for softening."""
        from arlequin.models.fem import _mean_kernels

        pattern = self.stiffness
        data = np.zeros(pattern.nnz)
        u0, u1 = self._displacement(u0), self._displacement(u1)
        places = pattern.indptr, self._slots, data
        bad = _mean_kernels.mean_tangent(*self._arguments, step, theta, u0, u1, memory, *places)
        if bad >= 0:
            raise UserError(f"cell {bad} is turned inside out: there is no tangent", code=1)
        return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)

    def tangent(self, u: Array, memory: Array, step: float) -> csr_array:
        """∂f/∂u (d, d) of `respond` at u, N/m, symmetric but where flow softens by heat; no cell may be inside out."""
        from arlequin.models.fem import _cell_kernels

        pattern = self.stiffness
        data = np.zeros(pattern.nnz)
        u = self._displacement(u)
        _cell_kernels.tangent_cells(*self._arguments, step, u, memory, pattern.indptr, self._slots, data)
        return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)

    @property
    def dissipates(self) -> bool:
        """Whether its points flow."""
        return self.material.dissipates

    def stress(self, u: Array, memory: Array) -> Array:
        """Cauchy stress (c, q, 6), Pa, of the cells that weigh, at u (d,), where the points have this memory."""
        sigma, bad = finite_stress(self._cells, self.material, self.mean, self._displacement(u), memory)
        if bad >= 0:
            raise UserError(f"cell {bad} is turned inside out: there is no stress", code=FAILURE)
        return sigma

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the internal variables."""
        return MEMORY_NAMES

    @property
    def recorded(self) -> tuple[tuple[str, str, str], ...]:
        """Name, units and long name of what is recorded of the state of the points."""
        return *_FLOW[: self._flowing], *STRESS_FIELDS

    def cell_means(self, u: Array, memory: Array) -> tuple[Array, ...]:
        """What is recorded, each (c,): means over the reference volume of all cells; 0 in those that weigh nothing."""
        flow = np.moveaxis(memory[..., _ALPHA : _ALPHA + self._flowing], -1, 0)
        weight = self._cells[3]
        share = weight / weight.sum(axis=1, keepdims=True)
        points = (*flow, *invariants(self.stress(u, memory)))
        return tuple(self.everywhere((share * values).sum(axis=1)) for values in points)

    @property
    def _flowing(self) -> int:
        """How many values of the memory are recorded, from α on."""
        if not self.dissipates:
            return 0
        return 2 if self.material.heats else 1

    @property
    def _arguments(self) -> tuple[Indices, Array, Array, Array, int, Array, bool]:
        """What every kernel takes first."""
        return *self._cells, self.material.kind, self.material.coefficients, self.mean


def _first(inverted: Sequence[int], count: int) -> int:
    """The first of `count` cells that is inside out, from one of each slice (−1: none)."""
    return next((at.start + bad for at, bad in zip(slices(count), inverted, strict=True) if bad >= 0), -1)


@dataclass(frozen=True, eq=False, repr=False)
class SmallInelasticAssembled(InelasticAssembled):
    """M, K (elastic), forces and tangents of small strains with memory."""

    def respond(self, u: Array, memory: Array, step: float) -> Response:
        """The internal force at u (d,), reached in a step (s) from where the points have this memory (c, q, 9)."""
        return self._respond(u, memory, step, self.material.coefficients)

    def mean_internal(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> tuple[Array, int]:
        """(1 − θ) f(u₀) + θ f(u₁), the start elastic from its memory, and −1: no cell is inside out."""
        start = self._respond(u0, memory, step, self.material.unyielding)
        end = self.respond(u1, memory, step)
        return (1.0 - theta) * start.force + theta * end.force, -1

    def mean_tangent(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> csr_array:
        """∂f/∂u₁ (d, d) of `mean_internal`; its symmetric part where heat softens."""
        return symmetric_part(theta * self.tangent(u1, memory, step))

    def tangent(self, u: Array, memory: Array, step: float) -> csr_array:
        """∂f/∂u (d, d) of `respond` at u, N/m, symmetric but where flow softens by heat."""
        from arlequin.models.fem import _small_kernels

        pattern = self.stiffness
        data = np.zeros(pattern.nnz)
        law = self.material.coefficients, self.mean
        places = pattern.indptr, self._slots, data
        _small_kernels.tangent_small(*self._cells, *law, step, self._displacement(u), memory, *places)
        return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)

    def stress(self, u: Array, memory: Array) -> Array:
        """Stress (c, q, 6), Pa, of the cells that weigh, at u (d,), where the points have this memory."""
        return small_stress(self._cells, self.material, self.mean, self._displacement(u), memory)

    def frequency(self, u: Array) -> float:
        """That at rest, rad/s."""
        return self.highest_frequency()

    def _respond(self, u: Array, memory: Array, step: float, coefficients: Array) -> Response:
        from arlequin.models.fem import _small_kernels

        u, after = self._displacement(u), np.empty_like(memory)

        def some(chosen: slice) -> tuple[Array, float, float]:
            force = np.zeros_like(u)
            nodes, gradients, hoop, weight = (array[chosen] if array.size else array for array in self._cells)
            own = memory[chosen], after[chosen], force
            stored, lost = _small_kernels.respond_small(
                nodes, gradients, hoop, weight, coefficients, self.mean, step, u, *own
            )
            return force, stored, lost

        forces, stored, dissipated = zip(*side_by_side(some, len(memory)), strict=True)
        return Response(sum(forces[1:], forces[0]), sum(stored), sum(dissipated), after)
