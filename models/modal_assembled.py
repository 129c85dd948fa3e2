"""A part reduced to modes, assembled."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csr_array

from models.errors import UserError
from models.forces import Force
from models.nodal import Linear
from models.part import Assembled, Imposed
from models.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class ModalAssembled(Linear):
    """M, K, D, forces and motions in the coordinates (q, s): u = Φ q + Ψ' s, with s the moved supports' values.

    Φ (nodal, r) are M-orthonormal shapes at rest on the supports, of squares ω² (r,). Ψ (nodal, g) are the static
    displacements under a unit motion of each support, and Ψ' = Ψ − Φ C, C = ΦᵀMΨ, what of them is M-orthogonal to Φ,
    so that q is what Φ holds of the absolute motion. With e = q − C s, the motion relative to Ψ s,

        E = ½ Σ ω² e² + ½ |G s|²,   GᵀG = ΨᵀKΨ,    M = diag(1, Ψ'ᵀMΨ'),    viscous force of ratios ζ: 2 ζ ω ė.

    A fluid's drag D (nodal, nodal) resists the absolute motion: SᵀDS. force: Sᵀ f.

    Source: Craig & Bampton, AIAA J. 6, 1968; Clough & Penzien, Dynamics of Structures, 1993, §26 (multiple supports).
    """

    nodal: Assembled
    basis: Array
    squares: Array
    supports: tuple[Imposed, ...]
    carried: Array
    support_strains: Array
    coupling: Array
    rayleigh: tuple[float, float]
    ratios: Array | None
    drag: csr_array | None
    force: Force

    def carrying(self, nodal: Any) -> "ModalAssembled":
        """The same under the loads of the part as it is assembled anew."""
        return replace(self, nodal=nodal, force=nodal.loads.projected(self.shapes))

    @cached_property
    def shapes(self) -> Array:
        """S = (Φ, Ψ') (nodal, d), full."""
        return np.column_stack([self.basis, self.carried]) if self.supports else self.basis

    def nodal_motion(self, u: Array, v: Array) -> tuple[Array, Array]:
        """S u and S v (f, nodal), one after the other: products with many depend on how many there are."""
        return tuple(np.array([self.shapes @ x for x in field]) for field in (u, v))  # type: ignore[return-value]

    @property
    def inertia(self) -> csr_array:
        """Mass matrix (nodal, nodal) of the finite elements, kg."""
        return self.nodal.mass

    @property
    def heavy(self) -> csr_array:
        """Mass matrix (nodal, nodal) that gravity pulls at, kg."""
        return self.nodal.heavy

    def coordinates(self, field: Array, given: Array) -> Array:
        """q = ΦᵀM u of the nodal field with the supports at their values s (g,), nan: their mean in the field."""
        field = field.copy()
        for item in self.nodal.imposed:
            if item.rest:
                field[item.dofs] = 0.0
        means = np.array([field[item.dofs].mean() for item in self.supports])
        values = np.where(np.isnan(given), means, given)
        for item, value in zip(self.supports, values, strict=True):
            field[item.dofs] = value
        return np.concatenate([self.basis.T @ (self.nodal.mass @ field), values])

    @cached_property
    def mass(self) -> csr_array:
        """diag(1, Ψ'ᵀMΨ') (d, d): kg in the columns of the supports."""
        own = self.carried.T @ (self.nodal.mass @ self.carried)
        blocks = [sp.eye_array(self.squares.size), sp.csr_array(0.5 * (own + own.T))]
        return csr_array(sp.block_diag(blocks, format="csr"))

    @cached_property
    def stiffness(self) -> csr_array:
        """SᵀKS (d, d)."""
        supports = sp.block_diag(
            [sp.csr_array((self.squares.size,) * 2), sp.csr_array(self.support_strains.T @ self.support_strains)]
        )
        return csr_array(self._relative(self.squares) + supports)

    @cached_property
    def damping(self) -> csr_array | None:
        """That of the ratios, or a M + b K as the part's own, and the drag SᵀDS; None where there is none of them."""
        a, b = self.rayleigh
        own = None
        if self.ratios is not None:
            own = self._relative(2.0 * self.ratios * np.sqrt(self.squares))
        elif a or b:
            own = csr_array(a * self.mass + b * self.stiffness)
        if self.drag is None:
            return own
        full = self.shapes.T @ (self.drag @ self.shapes)
        drag = csr_array(0.5 * (full + full.T))
        return drag if own is None else csr_array(own + drag)

    @cached_property
    def _to_relative(self) -> csr_array:
        """T (r, d), e = T (q, s)."""
        return csr_array(sp.hstack([sp.eye_array(self.squares.size), csr_array(-self.coupling)], format="csr"))

    def _relative(self, values: Array) -> csr_array:
        """Tᵀ diag(values) T (d, d)."""
        product = csr_array(self._to_relative.T @ sp.diags_array(values) @ self._to_relative)
        product.eliminate_zeros()
        return product

    @cached_property
    def imposed(self) -> tuple[Imposed, ...]:
        """The motions of the supports, each on its coordinate."""
        first = self.squares.size
        return tuple(
            replace(item, dofs=np.array([first + i]), function=_value(item.function))
            for i, item in enumerate(self.supports)
        )

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,) in N (kg½ m/s² on modes) and stored energy in J."""
        if u.shape != (self.shapes.shape[1],):
            raise UserError(f"coordinates of shape {u.shape}, expected ({self.shapes.shape[1]},)")
        q, s = u[: self.squares.size], u[self.squares.size :]
        relative = q - self.coupling @ s
        pull, strain = self.squares * relative, self.support_strains @ s
        energy = 0.5 * float(pull @ relative) + 0.5 * float(strain @ strain)
        return np.concatenate([pull, self.support_strains.T @ strain - self.coupling.T @ pull]), energy

    def load(self, t: float) -> Array:
        """Sᵀ f (d,) at the time t."""
        return self.force(t)

    def loads_at(self, times: Array) -> Array:
        """Sᵀ f (t, d) at the times (t,)."""
        return self.force.at(times)

    @property
    def steady(self) -> bool:
        """Whether the external force is the same at all times."""
        return self.nodal.steady

    def strain_form(self) -> tuple[csr_array, Array]:
        """e = q − C s of the modes that are strained, with ω², and G s with 1."""
        elastic = self.squares > 0.0
        relative = self._to_relative[np.flatnonzero(elastic)]
        own = sp.hstack([csr_array((len(self.supports), self.squares.size)), csr_array(self.support_strains)])
        rows = csr_array(sp.vstack([relative, own], format="csr"))
        return rows, np.concatenate([self.squares[elastic], np.ones(len(self.supports))])

    def highest_frequency(self) -> float:
        """Largest angular frequency of the shapes, rad/s."""
        return math.sqrt(float(self.squares.max(initial=0.0)))


def _value(function: Callable[[float], Array]) -> Callable[[float], Array]:
    """The one value of a uniform motion."""
    return lambda t: function(t)[:1]
