"""Solids of the compiled laws (`NeoHooke`, `J2`), assembled under given weights.

    finite strains  f_a = ∫ τ F⁻ᵀ ∇φ_a dV,   τ = τ_dev(F, memory) + p J 1,   p = K ln J̄/J̄,   F = 1 + ∂u/∂X
    small strains   f_a = ∫ σ ∇φ_a dV,       σ = s(ε, memory) + K ē 1,                       ε = sym ∇u

on the reference mesh, under the stiffness weight α. J̄ and ē are the means over the cell of J = det F and tr ε (mean
dilatation, B̄), which prevents the volumetric locking of linear quadrilaterals and hexahedra, or J and tr ε themselves.
The memory (c, q, 9) holds the internal variables of the points (`arlequin.models.materials.plastic`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.fem.cells import KernelLaw
from arlequin.models.fem.finite_strain import FiniteNodal
from arlequin.models.fem.stress import STRESS_FIELDS, finite_stress, invariants, small_stress
from arlequin.models.fem.viscous import ViscousStress
from arlequin.models.linalg.matrix import symmetric_part
from arlequin.models.linalg.threads import Pace, map_slices, slices
from arlequin.models.materials.elastic import Rayleigh
from arlequin.models.materials.hyperelastic import NEO_HOOKE, bulk_modulus
from arlequin.models.materials.plastic import MEMORY, MEMORY_NAMES
from arlequin.models.materials.point import CompiledLaw
from arlequin.models.part import Response
from arlequin.models.types import Array

_ALPHA = MEMORY_NAMES.index("plastic_strain")
_FLOW = (
    ("plastic_strain", "1", "equivalent plastic strain, mean over the cell"),
    ("heating", "K", "rise of temperature, mean over the cell"),
)


@dataclass(frozen=True, eq=False, repr=False)
class InelasticAssembled(FiniteNodal):
    """M, K (the tangent at u = 0), forces and tangents of a solid of finite strains.

    linear: the part's small-strain matrices and element arrays under the same weights. mean: whether J̄ (ē) is the mean
    over the cell.
    """

    material: CompiledLaw
    mean: bool
    rayleigh: Rayleigh

    @cached_property
    def _pace(self) -> Pace:
        """Measured time of the responses at the ends of steps."""
        return Pace()

    @cached_property
    def _mean_pace(self) -> Pace:
        """Measured time of mean forces."""
        return Pace()

    @cached_property
    def damping(self) -> csr_array | None:
        """The linear damping a M, N·s/m; `mean_viscous` is the rest."""
        return csr_array(self.rayleigh.mass * self.mass) if self.rayleigh.mass else None

    @property
    def viscous(self) -> bool:
        """Whether there is a viscosity, b > 0."""
        return self.rayleigh.stiffness > 0.0

    def mean_viscous(self, u0: Array, u1: Array, step: float) -> Array:
        """Mean viscous force of a step Δt (s), N, see `arlequin.models.fem.viscous`."""
        return self._viscosity.force(self._cells, self._displacement(u0), self._displacement(u1), step)

    @property
    def _viscosity(self) -> ViscousStress:
        law = self.material.linear
        return ViscousStress(self.rayleigh.stiffness, law.shear, bulk_modulus(law), self.mean)

    def fresh(self) -> Array:
        """The initial memory (c, q, 9): 0."""
        return np.zeros((*self._cells.weight.shape, MEMORY))

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,), N, and stored energy, J, at u (d,) reached from the initial state in one instant."""
        response = self.respond(u, self.fresh(), 0.0)
        return response.force, response.stored

    def respond(self, u: Array, memory: Array, step: float) -> Response:
        """The response at u (d,), reached in a step (s) from the memory (c, q, 9)."""
        from arlequin.models.fem import _cell_kernels

        u, after, law = self._displacement(u), np.empty_like(memory), self._law
        kernel = _cell_kernels.respond_cells(self.material.kind, self._cells.axes)

        def respond_slice(cell_range: slice) -> tuple[Array, float, float, int]:
            force = np.zeros_like(u)
            stored, dissipated, inverted = kernel(
                tuple(self._cells.part(cell_range)), law, step, u, memory[cell_range], after[cell_range], force
            )
            return force, stored, dissipated, inverted

        forces, stored, dissipated, inverted = zip(*map_slices(respond_slice, len(memory), self._pace), strict=True)
        return Response(sum(forces[1:], forces[0]), sum(stored), sum(dissipated), after, _first(inverted, len(memory)))

    def mean_internal(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> tuple[Array, int]:
        """Mean force (d,) of a step (s) from u₀ with this memory to u₁, N, and a cell inverted at u₁ (−1: none).

        f_a = ∫ F_½ S̄ ∇φ_a, S̄ of both ends (see `arlequin.models.fem._mean_kernels`): it has no moment, and for the
        neo-Hookean law and θ = ½ its work f·(u₁ − u₀) is E(u₁) − E(u₀).
        """
        from arlequin.models.fem import _mean_kernels

        u0, u1, law = self._displacement(u0), self._displacement(u1), self._law
        kernel = _mean_kernels.mean_force(*self._variant(theta))

        def mean_slice(cell_range: slice) -> tuple[Array, int]:
            force = np.zeros_like(u0)
            cells = tuple(self._cells.part(cell_range))
            return force, kernel(cells, law, step, theta, u0, u1, memory[cell_range], force)

        forces, inverted = zip(*map_slices(mean_slice, len(memory), self._mean_pace), strict=True)
        return sum(forces[1:], forces[0]), _first(inverted, len(memory))

    def mean_tangent(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> csr_array:
        """Symmetric approximation (d, d) of ∂/∂u₁ of `mean_internal` and `mean_viscous`, N/m; UserError where a cell is
        inverted.

        It is exact where u₀ = u₁ and the flow does not soften by heat.
        """
        from arlequin.models.fem import _mean_kernels

        u0, u1 = self._displacement(u0), self._displacement(u1)
        matrix, pattern = self._matrix_to_fill()
        cells = tuple(self._cells)
        kernel = _mean_kernels.mean_tangent(*self._variant(theta))
        inverted = kernel(cells, self._law, step, theta, u0, u1, memory, pattern)
        if inverted >= 0:
            raise UserError(f"cell {inverted} is turned inside out: there is no tangent", code=FAILURE)
        if self.viscous:
            matrices = self._viscosity.matrices(self._cells, u0, u1, step)
            rate = self.matrix_of((block, 0.5 * (K + np.swapaxes(K, 1, 2))) for block, K in matrices)
            matrix.data += rate.data  # on the same pattern
        return matrix

    def tangent(self, u: Array, memory: Array, step: float) -> csr_array:
        """∂f/∂u (d, d) of `respond`, N/m, where no cell is inverted; symmetric unless the flow softens by heat."""
        return self._tangent(u, memory, step, self._law)

    def elastic_tangent(self, u: Array, memory: Array) -> csr_array:
        """∂f/∂u (d, d) at constant internal variables, N/m."""
        return self._tangent(u, memory, 1.0, (self.material.unyielding, self.mean))

    def _tangent(self, u: Array, memory: Array, step: float, law: KernelLaw) -> csr_array:
        from arlequin.models.fem import _cell_kernels

        matrix, pattern = self._matrix_to_fill()
        cells = tuple(self._cells)
        kernel = _cell_kernels.tangent_cells(self.material.kind, self._cells.axes)
        kernel(cells, law, step, self._displacement(u), memory, pattern)
        return matrix

    @property
    def dissipates(self) -> bool:
        """Whether the material has plastic flow."""
        return self.material.dissipates

    def stress(self, u: Array, memory: Array) -> Array:
        """Cauchy stress (c, q, 6), Pa, of the cells with weight, at u (d,) and its memory (c, q, 9)."""
        sigma, inverted = finite_stress(self._cells, self.material, self.mean, self._displacement(u), memory)
        if inverted >= 0:
            raise UserError(f"cell {inverted} is turned inside out: there is no stress", code=FAILURE)
        return sigma

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the internal variables."""
        return MEMORY_NAMES

    @property
    def recorded(self) -> tuple[tuple[str, str, str], ...]:
        """Name, units and long name of the cell means of a result."""
        return *_FLOW[: self._recorded_variables], *STRESS_FIELDS

    def mean_stress(self, u: Array, memory: Array) -> Array:
        """Cauchy stress (c, 6), Pa: means over the reference volume of the cells; 0 in cells without weight."""
        weight = self._cells.weight
        share = weight / weight.sum(axis=1, keepdims=True)
        return self.everywhere(np.einsum("cq,cqk->ck", share, self.stress(u, memory)))

    def cell_means(self, u: Array, memory: Array) -> tuple[Array, ...]:
        """The values of `recorded`, each (c,): means over the reference volume; 0 in cells without weight."""
        flow = np.moveaxis(memory[..., _ALPHA : _ALPHA + self._recorded_variables], -1, 0)
        weight = self._cells.weight
        share = weight / weight.sum(axis=1, keepdims=True)
        points = (*flow, *invariants(self.stress(u, memory)))
        return tuple(self.everywhere((share * values).sum(axis=1)) for values in points)

    @property
    def _recorded_variables(self) -> int:
        """Number of internal variables that are recorded, from α on."""
        return self.material.dissipates + self.material.heats

    def _variant(self, theta: float) -> tuple[int, int, bool]:
        """Arguments of the kernels of a step: law, axes, and whether the stresses at its ends are not needed."""
        return self.material.kind, self._cells.axes, self.material.kind == NEO_HOOKE and theta == 0.5

    @cached_property
    def _law(self) -> KernelLaw:
        return self.material.coefficients, self.mean


def _first(inverted: Sequence[int], count: int) -> int:
    """The first inverted of `count` cells, from the first one of each slice (−1: none)."""
    return next((at.start + cell for at, cell in zip(slices(count), inverted, strict=True) if cell >= 0), -1)


@dataclass(frozen=True, eq=False, repr=False)
class SmallInelasticAssembled(InelasticAssembled):
    """M, K (elastic), forces and tangents of a solid of small strains."""

    @property
    def damping(self) -> csr_array | None:
        """Rayleigh damping, constant."""
        return self.linear.damping

    @property
    def viscous(self) -> bool:
        """False: all damping is linear."""
        return False

    def respond(self, u: Array, memory: Array, step: float) -> Response:
        """The response at u (d,), reached in a step (s) from the memory (c, q, 9)."""
        return self._respond(u, memory, step, self._law)

    def mean_internal(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> tuple[Array, int]:
        """(1 − θ) f(u₀) + θ f(u₁), f(u₀) without plastic flow, and −1: small strains invert no cell."""
        start = self._respond(u0, memory, step, (self.material.unyielding, self.mean))
        end = self.respond(u1, memory, step)
        return (1.0 - theta) * start.force + theta * end.force, -1

    def mean_tangent(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> csr_array:
        """Symmetric part (d, d) of ∂f/∂u₁ of `mean_internal`, N/m."""
        return symmetric_part(theta * self.tangent(u1, memory, step))

    def _tangent(self, u: Array, memory: Array, step: float, law: KernelLaw) -> csr_array:
        from arlequin.models.fem import _small_kernels

        matrix, pattern = self._matrix_to_fill()
        cells = tuple(self._cells)
        _small_kernels.tangent_small(self._cells.axes)(cells, law, step, self._displacement(u), memory, pattern)
        return matrix

    def stress(self, u: Array, memory: Array) -> Array:
        """Stress (c, q, 6), Pa, of the cells with weight, at u (d,) and its memory (c, q, 9)."""
        return small_stress(self._cells, self.material, self.mean, self._displacement(u), memory)

    def frequency(self, u: Array) -> float:
        """Bound of the largest angular frequency, that at rest, rad/s."""
        return self.highest_frequency()

    def _respond(self, u: Array, memory: Array, step: float, law: KernelLaw) -> Response:
        from arlequin.models.fem import _small_kernels

        u, after = self._displacement(u), np.empty_like(memory)
        kernel = _small_kernels.respond_small(self._cells.axes)

        def respond_slice(cell_range: slice) -> tuple[Array, float, float]:
            force = np.zeros_like(u)
            stored, dissipated = kernel(
                tuple(self._cells.part(cell_range)), law, step, u, memory[cell_range], after[cell_range], force
            )
            return force, stored, dissipated

        forces, stored, dissipated = zip(*map_slices(respond_slice, len(memory), self._pace), strict=True)
        return Response(sum(forces[1:], forces[0]), sum(stored), sum(dissipated), after)
