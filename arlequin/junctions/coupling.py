"""Coupling operators: what a junction makes equal, integrated on the pieces of an overlap."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array, kron
from skfem import CellBasis

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import to_reference


@dataclass(frozen=True)
class Shapes:
    """Scalar shape functions of one mesh at the quadrature points of the pieces of an overlap.

    nodes (a, p): node of each local function; values (a, p, q); size: nodes in all; slopes (a, axis, p, q) in
    reference coordinates and inverse (axis, axis, p, q), the inverse Jacobian, 1/m.
    """

    nodes: Indices
    values: Array
    size: int
    slopes: Array
    inverse: Array

    @cached_property
    def gradients(self) -> Array:
        """Gradients (a, axis, p, q), 1/m."""
        return np.einsum("jipq,ajpq->aipq", self.inverse, self.slopes)

    @classmethod
    def at(cls, basis: CellBasis, cells: Indices, points: Array) -> "Shapes":
        """The functions of `basis` in `cells` (p,) at physical `points` (axis, p, q)."""
        X, inverse = to_reference(basis.mesh, cells, points)
        values = np.empty((basis.Nbfun, *X.shape[1:]))
        slopes = np.empty((basis.Nbfun, *X.shape))
        for a in range(basis.Nbfun):
            values[a], slopes[a] = basis.elem.lbasis(X, a)
        return cls(basis.element_dofs[:, cells].astype(np.int64), values, int(basis.N), slopes, inverse)

    def broken(self, group: Indices, groups: int) -> "Shapes":
        """The functions cut apart between groups of pieces: group (p,) of each, `groups` in all."""
        return replace(self, nodes=self.nodes + group * self.size, size=self.size * groups)


@runtime_checkable
class Coupling(Protocol):
    """The bilinear form c(φ*, v) of a junction."""

    def matrix(self, test: Shapes, trial: Shapes, dx: Array, components: int, radius: Array | None) -> csr_array:
        """c(ψ_m e_i, φ_n e_j) as (test.size × components, trial.size × components), node-major.

        dx (p, q): quadrature weights with thickness, section or 2πr; radius (p, q): distance to the axis of
        revolution, m, None where there is none.
        """
        ...


@dataclass(frozen=True)
class L2:
    """Equal fields in the mean: c(φ*, v) = ∫ φ*·v (Ben Dhia 1998)."""

    def matrix(self, test: Shapes, trial: Shapes, dx: Array, components: int, radius: Array | None) -> csr_array:
        """See `Coupling.matrix`."""
        scalar = _scatter(test, trial, _products(test.values, trial.values, dx))
        return csr_array(kron(scalar, eye_array(components), format="csr"))


@dataclass(frozen=True)
class H1:
    """Equal fields and strains: c(φ*, v) = ∫ φ*·v + ℓ² ε(φ*):ε(v) (Ben Dhia & Rateau, IJNME 62, 2005).

    length: ℓ, m, by default the mean size of the coarse cells in the gluing zone. In one component (bars) ε(v) = v';
    in axisymmetry ε includes the hoop strain v_r / r.
    """

    length: float | None = None

    def __post_init__(self) -> None:
        if self.length is not None:
            checks.positive("length", self.length)

    def matrix(self, test: Shapes, trial: Shapes, dx: Array, components: int, radius: Array | None) -> csr_array:
        """See `Coupling.matrix`; ε(ψ e_i):ε(φ e_j) = ½ (δ_ij ∇ψ·∇φ + ∂_jψ ∂_iφ)."""
        axes = test.gradients.shape[1]
        if components != axes:
            raise UserError(f"H1 coupling of {components} components on {axes} axes: must be as many of each")
        assert self.length is not None, "the junction gives the default"
        weight = self.length**2 * dx
        slopes = [_products(test.gradients[:, i], trial.gradients[:, i], weight) for i in range(axes)]
        common = _products(test.values, trial.values, dx) + 0.5 * sum(slopes)
        blocks = csr_array((test.size * components, trial.size * components))
        for i in range(components):
            for j in range(components):
                local = 0.5 * _products(test.gradients[:, j], trial.gradients[:, i], weight)
                if i == j:
                    local = local + common
                if i == j == 0 and radius is not None:
                    local = local + _products(test.values, trial.values, weight / radius**2)
                unit = coo_array(([1.0], ([i], [j])), shape=(components, components))
                blocks = blocks + kron(_scatter(test, trial, local), unit, format="csr")
        return csr_array(blocks)


def _products(test: Array, trial: Array, dx: Array) -> Array:
    """Local integrals (p, a, b) of test (a, p, q) × trial (b, p, q) with weights dx (p, q)."""
    return (test * dx).transpose(1, 0, 2) @ trial.transpose(1, 2, 0)


def _scatter(test: Shapes, trial: Shapes, local: Array) -> csr_array:
    """Sparse sum (test.size, trial.size) of the local integrals (p, a, b)."""
    rows = np.broadcast_to(test.nodes.T[:, :, None], local.shape)
    columns = np.broadcast_to(trial.nodes.T[:, None, :], local.shape)
    entries = (local.ravel(), (rows.ravel(), columns.ravel()))
    return csr_array(coo_array(entries, shape=(test.size, trial.size)))
