"""Viscous stress of solids of large strains: Kelvin and Voigt's law in the rate of deformation.

    τ_v = b (2μ dev d + K tr d 1),   d = sym(Ḟ F⁻¹),   f_a = ∫ τ_v F⁻ᵀ ∇φ_a dV

beside the stress of the material, with its shear and bulk moduli μ, K at small strains, per reference volume. It
dissipates τ_v:d = b (2μ |dev d|² + K (tr d)²) ≥ 0, nothing in a rigid motion (d = 0), resists a stretch at the rate
l̇/l of the moment, whatever the stretch, and an isochoric motion with μ alone, also where ν is near ½. For small strains
it is b times the elastic stress: the damping b K of Rayleigh. A law in the rate of Green and Lagrange's strain would be
as objective, but tr Ė ≠ 0 in isochoric motions of large strains, which the bulk modulus would then resist.

A step from u₀ to u₁ takes the mean force, with F = ½(F₀ + F₁) and D = F₁ − F₀,

    τ_v = (b/Δt) (2μ dev δ + K θ 1),   δ = sym(D F⁻¹) = F⁻ᵀ (E₁ − E₀) F⁻¹,   θ = tr δ,

whose work on u₁ − u₀ is (b/Δt) ∫ 2μ |dev δ|² + K θ² dV ≥ 0 exactly, 0 if F₁ = R F₀ with any rotation R. With mean
dilatation θ is ∫ J tr δ dV/∫ J dV of the cell, J = det F, and the pressure b K θ/Δt acts on the volume of the cell:

    f_a = … + (b K/Δt) θ (V₀/V) ∫ J F⁻ᵀ ∇φ_a dV,   V = ∫ J dV,

which dissipates (b K/Δt) V₀ θ².

Source: the stress β D : ε̇ of Abaqus (Analysis User's Guide, Material damping), with the stiffness D in the strain-free
state for hyperelastic materials; Simo & Hughes, Computational Inelasticity, ch. 10.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arlequin.models.fem.cell_blocks import CellBlock, cell_blocks
from arlequin.models.fem.cells import KernelCells
from arlequin.models.linalg.determinants import determinants
from arlequin.models.types import Array

_IDENTITY = np.eye(3)


@dataclass(frozen=True)
class ViscousStress:
    """The law: viscosity b, s; moduli μ, K, Pa; whether θ is the mean of the cell."""

    viscosity: float
    shear: float
    bulk: float
    mean: bool

    def force(self, cells: KernelCells, u0: Array, u1: Array, step: float) -> Array:
        """Mean force (d,) of a step Δt (s) from u₀ to u₁, N; nan where F is singular."""
        force = np.zeros_like(u0)
        for block in cell_blocks(cells):
            point = _Points.of(block, u0, u1)
            stress = self._stress(point, step)
            if self.mean:
                pressure = self.bulk * self.viscosity / step * point.dilatation * point.shrinkage
                stress = stress + point.spread(pressure) * point.volume[:, None, None] * point.inverse_t
            block.add_forces(force, stress)
        return force

    def matrices(self, cells: KernelCells, u0: Array, u1: Array, step: float) -> Iterator[tuple[CellBlock, Array]]:
        """∂f/∂u₁ (c, d, d) of the cells, N/m.

        With G = F⁻¹, N = 1 − ½ D G, P = τ Gᵀ, a = b/Δt and κ = K − ⅔μ (mean dilatation: −⅔μ, and the term of θ):
        ∂P_aj/∂F₁,ck = a [μ N_ac (G Gᵀ)_kj + μ G_ka (G N)_jc + κ G_ja (G N)_kc] − ½ P_ak G_jc.
        """
        for block in cell_blocks(cells):
            point = _Points.of(block, u0, u1)
            rate, G = self.viscosity / step, point.inverse
            N = _IDENTITY - 0.5 * point.change @ G
            GN, GG = G @ N, G @ np.swapaxes(G, 1, 2)
            stress = self._stress(point, step)
            bulk = (0.0 if self.mean else self.bulk) - 2.0 / 3.0 * self.shear
            moduli = rate * self.shear * np.einsum("pac,pkj->pajck", N, GG)
            moduli += rate * self.shear * np.einsum("pka,pjc->pajck", G, GN)
            moduli += rate * bulk * np.einsum("pja,pkc->pajck", G, GN)
            moduli -= 0.5 * np.einsum("pak,pjc->pajck", stress, G)
            if not self.mean:
                yield block, block.stiffnesses(moduli)
                continue
            # θ = t/V: f = s t/V² g, g = ∫ J Gᵀ:∇, with dt = h·du₁, dV = ½ g·du₁
            scale = rate * self.bulk * point.reference
            pressure_factor = point.spread(scale * point.dilatation / point.current) * point.volume[:, None, None] * 0.5
            pairs = np.einsum("pja,pkc->pajck", G, G) - np.einsum("pjc,pka->pajck", G, G)
            moduli += pressure_factor[..., None, None] * pairs
            rate_slope = 0.5 * point.trace[:, None, None] * point.inverse_t + np.swapaxes(GN, 1, 2)
            g, h = (block.forces(point.volume[:, None, None] * field) for field in (point.inverse_t, rate_slope))
            volume_factor = scale / point.current**2
            outer = volume_factor[:, None, None] * g[:, :, None] * (h - point.dilatation[:, None] * g)[:, None, :]
            yield block, block.stiffnesses(moduli) + outer

    def _stress(self, point: "_Points", step: float) -> Array:
        """P (p, 3, 3), Pa, of the deviatoric part, and of the bulk where it is that of the points."""
        bulk = (0.0 if self.mean else self.bulk) - 2.0 / 3.0 * self.shear
        strain = 2.0 * self.shear * point.strain + bulk * point.trace[:, None, None] * _IDENTITY
        return np.asarray(self.viscosity / step * strain @ point.inverse_t)


@dataclass(frozen=True, eq=False)
class _Points:
    """D, F⁻¹ and its transpose, δ (p, 3, 3), tr δ and J (p,) at the points of a block; of its cells (c,) V₀ and V, m³,
    θ, and points by cell."""

    change: Array
    inverse: Array
    strain: Array
    trace: Array
    volume: Array
    reference: Array
    current: Array
    dilatation: Array

    @classmethod
    def of(cls, block: CellBlock, u0: Array, u1: Array) -> "_Points":
        start, end = block.gradient(u0), block.gradient(u1)
        change, middle = end - start, 0.5 * (start + end) + _IDENTITY
        volume = determinants(middle)
        singular = ~(volume > 0.0)
        inverse = np.linalg.inv(np.where(singular[:, None, None], _IDENTITY, middle))
        inverse[singular] = np.nan
        rate = change @ inverse
        strain = 0.5 * (rate + np.swapaxes(rate, 1, 2))
        trace = np.trace(strain, axis1=1, axis2=2)
        weight = block.weight
        current = (weight * volume.reshape(weight.shape)).sum(axis=1)
        volume_rate = (weight * (volume * trace).reshape(weight.shape)).sum(axis=1)
        return cls(change, inverse, strain, trace, volume, weight.sum(axis=1), current, volume_rate / current)

    @property
    def inverse_t(self) -> Array:
        """F⁻ᵀ (p, 3, 3)."""
        return np.swapaxes(self.inverse, 1, 2)

    @property
    def shrinkage(self) -> Array:
        """V₀/V (c,)."""
        return self.reference / self.current

    def spread(self, values: Array) -> Array:
        """Values (c,) of the cells at their points (p, 1, 1)."""
        return np.repeat(values, self.trace.size // values.size)[:, None, None]
