"""Solids of the St. Venant–Kirchhoff law, assembled under given weights; base class of nonlinear solids.

    F = 1 + ∂u/∂X,   E = ½(FᵀF − 1),   S = λ tr(E) 1 + 2μ E,   W = ½ S:E,   f_a = ∫ F S ∇φ_a dΩ

on the reference mesh (total Lagrangian), under the stiffness weight α. A rigid motion gives no strain, whatever its
size. The law is meant for large rotations with moderate strains: it softens in strong compression (uniaxial: beyond a
stretch of 1/√3) and does not prevent the inversion of a cell.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.fem.cell_blocks import CellBlock
from arlequin.models.fem.cells import KernelCells, KernelPattern
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.materials.elastic import Rayleigh
from arlequin.models.nodal import ExternalLoads, LoadedCoordinates
from arlequin.models.part import Imposed
from arlequin.models.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class FiniteNodal(LoadedCoordinates):
    """Base class of nonlinear solids: mass, loads, motions, pattern of the tangents, element arrays.

    linear: the part's small-strain matrices and element arrays under the same weights.
    """

    linear: ElasticAssembled

    @cached_property
    def mass(self) -> csr_array:
        """M (d, d), kg."""
        return self.linear.mass

    @property
    def stiffness(self) -> csr_array:
        """The tangent at u = 0, without mean dilatation, N/m; every tangent has its sparsity pattern."""
        return self.linear.stiffness

    @cached_property
    def imposed(self) -> tuple[Imposed, ...]:  # type: ignore[override]
        """Imposed motions."""
        return self.linear.imposed

    @property
    def loads(self) -> ExternalLoads:  # type: ignore[override]
        """External loads."""
        return self.linear.loads

    def strain_form(self) -> None:
        """None: the strains are not linear in u."""

    def highest_frequency(self) -> float:
        """Bound of the largest angular frequency at u = 0, rad/s; stretched cells have higher ones."""
        return self.linear.highest_frequency()

    def frequency(self, u: Array) -> float:
        """The largest angular frequency of the deformed cells at u (d,), with the elastic moduli, rad/s."""
        return self.linear.frequency_at(self._displacement(u))

    def everywhere(self, values: Array) -> Array:
        """Values (c, …) of the cells that weigh, on all cells of the part: 0 in the others."""
        active = self.linear.stiffness_weight.any(axis=1)
        out = np.zeros((active.size, *values.shape[1:]))
        out[active] = values
        return out

    def _displacement(self, u: Array) -> Array:
        u = np.ascontiguousarray(u, dtype=float)
        if u.shape != (self.stiffness.shape[0],):
            raise UserError(f"displacement of shape {u.shape}, expected ({self.stiffness.shape[0]},)")
        return u

    @cached_property
    def _cells(self) -> KernelCells:
        """The cells that weigh."""
        cells = self.linear.kernel
        hoop = np.empty((0, 0, 0)) if cells.hoop is None else np.ascontiguousarray(cells.hoop)
        weight = np.ascontiguousarray(self.linear.kernel_weight)
        return KernelCells(np.ascontiguousarray(cells.nodes), np.ascontiguousarray(cells.gradients), hoop, weight)

    def _matrix_to_fill(self) -> tuple[csr_array, KernelPattern]:
        """A matrix of zeros on the sparsity pattern of K, and the arrays by which a kernel adds to it."""
        pattern = self.stiffness
        data = np.zeros(pattern.nnz)
        matrix = csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
        return matrix, (pattern.indptr, self._slots, matrix.data)

    def matrix_of(self, blocks: Iterable[tuple[CellBlock, Array]]) -> csr_array:
        """The sum of matrices (c, d, d) of the cells of blocks, on the sparsity pattern of K."""
        pattern, axes = self.stiffness, self.linear.components
        data = np.zeros(pattern.nnz)
        for block, matrices in blocks:
            slots = np.repeat(np.repeat(self._slots[block.cells], axes, axis=1), axes, axis=2)
            columns = np.tile(np.arange(axes), slots.shape[2] // axes)
            places = pattern.indptr[block.dofs][:, :, None] + slots + columns
            data += np.bincount(places.ravel(), matrices.ravel(), data.size)
        return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)

    @cached_property
    def _slots(self) -> np.ndarray:
        """Places (c, a, b) of the element blocks in the rows of the pattern."""
        from arlequin.models.fem._slot_kernels import block_slots

        nodes = self._cells.nodes
        slots = np.empty((*nodes.shape, nodes.shape[1]), dtype=np.int32)
        block_slots(nodes, self.linear.components, self.stiffness.indptr, self.stiffness.indices, slots)
        return slots


@dataclass(frozen=True, eq=False, repr=False)
class FiniteAssembled(FiniteNodal):
    """M, K (the tangent at u = 0), D, forces and tangents of a solid of finite rotations.

    linear: the part's small-strain matrices and element arrays under the same weights. rayleigh: D = a M is
    constant, as in the small; b K₀ would resist a rigid rotation, so b is the viscosity of a Kelvin–Voigt stress
    S_v = b C:Ė, which is objective and tends to b K v where rotations are small (`mean_viscous`).
    """

    rayleigh: Rayleigh

    @cached_property
    def damping(self) -> csr_array | None:
        """The linear damping a M, N·s/m; `mean_viscous` is the rest."""
        return csr_array(self.rayleigh.mass * self.mass) if self.rayleigh.mass else None

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force ∫ F S ∇φ_a (d,) in N and stored energy ½ ∫ S:E in J."""
        u = self._displacement(u)
        return self._force(u, u, 1.0, 0.0)

    def tangent(self, u: Array) -> csr_array:
        """∂f/∂u (d, d) of `internal` at u, N/m: material and geometric stiffness; symmetric."""
        u = self._displacement(u)
        return self._tangent(u, u, viscous=0.0, lead=0.0, scale=2.0)

    def least_volume(self, u: Array) -> tuple[float, int]:
        """The smallest det F at the quadrature points (of the area, in plane problems), and its cell."""
        from arlequin.models.fem import _finite_kernels

        cells = self._cells
        kernel = _finite_kernels.least_volume(cells.axes)
        least, cell = kernel(cells.nodes, cells.gradients, cells.hoop, self._displacement(u))
        return float(least), int(cell)

    def mean_internal(self, u0: Array, u1: Array, theta: float = 0.5) -> Array:
        """Mean force of a step, for θ = ½ a discrete gradient of the energy: f·(u₁ − u₀) = E(u₁) − E(u₀).

        f_a = ∫ F_½ S̄ ∇φ_a with F_½ = ½(F₀ + F₁), S̄ = C:((1 − θ)E₀ + θE₁): as E₁ − E₀ = sym(F_½ᵀ(F₁ − F₀)), its
        work is E(u₁) − E(u₀) + (θ − ½) ∫ (E₁ − E₀):C:(E₁ − E₀). Σ f = 0 and Σ x_½ × f = 0, for S̄ is symmetric.
        Source: Simo & Tarnow, ZAMP 43, 1992.
        """
        return self._force(self._displacement(u0), self._displacement(u1), 1.0, theta - 0.5)[0]

    @property
    def viscous(self) -> bool:
        """Whether there is a viscosity, b > 0."""
        return self.rayleigh.stiffness > 0.0

    def mean_viscous(self, u0: Array, u1: Array, step: float) -> Array:
        """Mean viscous force of a step Δt (s), N: f_a = ∫ F_½ b C:(E₁ − E₀)/Δt ∇φ_a.

        It dissipates f·(u₁ − u₀) = (b/Δt) ∫ (E₁ − E₀):C:(E₁ − E₀) ≥ 0, and nothing in a rigid motion.
        """
        return self._force(self._displacement(u0), self._displacement(u1), 0.0, self._viscous(step))[0]

    def mean_tangent(
        self, u0: Array, u1: Array, step: float | None = None, symmetric: bool = False, theta: float = 0.5
    ) -> csr_array:
        """∂f/∂u₁ (d, d) of `mean_internal`, and with the step Δt of `mean_internal` + `mean_viscous`.

        (θ + b/Δt) ∫ B_½ᵀ C B₁ + ½ ∫ ∇φ_a·S̄ ∇φ_b 1, with B δu = sym(Fᵀ δF): not symmetric where F₁ ≠ F₀.
        symmetric: B_½ replaces B₁, an error of half the rotation in the step; the material part is then semi-definite
        (a part that rotates by 0.1 rad a step takes some 6 iterations instead of 3, by 0.5 rad some 16 instead of 5).
        """
        viscous = theta - 0.5 + (0.0 if step is None else self._viscous(step))
        lead = 0.0 if symmetric else 0.5
        return self._tangent(self._displacement(u0), self._displacement(u1), viscous=viscous, lead=lead, scale=1.0)

    def _viscous(self, step: float) -> float:
        return self.rayleigh.stiffness / checks.positive("step", step)

    def _force(self, u0: Array, u1: Array, elastic: float, viscous: float) -> tuple[Array, float]:
        from arlequin.models.fem import _finite_kernels

        force = np.zeros_like(u0)
        kernel = _finite_kernels.mean_force(self._cells.axes)
        energy = kernel(*self._cells, *self.linear.lame, elastic, viscous, u0, u1, force)
        return force, float(energy)

    def _tangent(self, u0: Array, u1: Array, viscous: float, lead: float, scale: float) -> csr_array:
        from arlequin.models.fem import _finite_kernels

        pattern = self.stiffness
        data = np.zeros(pattern.nnz)
        factors = self.linear.lame, (float(viscous), float(lead), float(scale))
        _finite_kernels.mean_tangent()(*self._cells, *factors, u0, u1, pattern.indptr, self._slots, data)
        return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
