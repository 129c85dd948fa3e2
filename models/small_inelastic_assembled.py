"""A metal of small plastic strains and rotations, assembled under given weights.

    ε = sym ∇u,   σ = s(ε, memory) + K ē 1,   f_a = ∫ σ ∇φ_a dV

ē is the mean of tr ε over the cell (B̄), which frees linear quadrilaterals and hexahedra of volumetric locking in
plastic flow, or tr ε itself.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from models.inelastic_assembled import InelasticAssembled
from models.matrix import symmetric_part
from models.nonlinear import Response
from models.point_stress import small_stress
from models.threads import side_by_side
from models.types import Array


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
        from models import _small_kernels

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
        from models import _small_kernels

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
