"""Coupling forms c(φ*, v) of a junction, integrated on the pieces of an overlap."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array, kron
from skfem import CellBasis

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import to_reference


@dataclass(frozen=True)
class Shapes:
    """Scalar shape functions of one mesh at the quadrature points of the pieces of an overlap.

    nodes (a, p): node of each local function; values (a, p, q); size: number of nodes; slopes (a, axis, p, q) in
    reference coordinates; inverse (axis, axis, p, q): inverse Jacobian, 1/m; points (axis, p, q), m.
    """

    nodes: Indices
    values: Array
    size: int
    slopes: Array
    inverse: Array
    points: Array

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
        return cls(basis.element_dofs[:, cells].astype(np.int64), values, int(basis.N), slopes, inverse, points)

    @classmethod
    def of_functions(cls, values: Array, gradients: Array, points: Array) -> "Shapes":
        """Functions that are nonzero everywhere, as polynomials: values (m, p, q), gradients (m, axis, p, q), 1/m."""
        count, pieces = values.shape[:2]
        axes = len(points)
        inverse = np.broadcast_to(np.eye(axes)[:, :, None, None], (axes, *points.shape))
        nodes = np.broadcast_to(np.arange(count)[:, None], (count, pieces))
        return cls(nodes, values, count, gradients, inverse, points)

    def split_by_group(self, group: Indices, groups: int) -> "Shapes":
        """The functions restricted to groups of pieces: function n of group g has the number g × size + n.

        group (p,): group of each piece; groups: their number.
        """
        return replace(self, nodes=self.nodes + group * self.size, size=self.size * groups)


@runtime_checkable
class Coupling(Protocol):
    """The bilinear form c(φ*, v) of a junction, whose constraint is c(φ*, v_coarse − v_fine) = 0 for all φ*.

    order: highest derivative in the form: 0 for L², 1 for H¹. Subclasses inherit the default 0, and `with_length`.
    """

    order: ClassVar[int] = 0

    def with_length(self, length: float) -> "Coupling":
        """The form with `length`, m, in place of an internal length that was not given; by default the form itself.

        length: mean size of the coarse cells in the gluing zone.
        """
        return self

    def matrix(self, test: Shapes, trial: Shapes, dx: Array, components: int, radius: Array | None) -> csr_array:
        """c(ψ_m e_i, φ_n e_j) as (test.size × components, trial.size × components), node-major.

        dx (p, q): quadrature weights with thickness, section or 2πr; radius (p, q): distance to the axis of
        revolution, m, None without one.
        """
        ...


@checked_call
@dataclass(frozen=True)
class L2(Coupling):
    """The L² form c(φ*, v) = ∫ φ*·v (Ben Dhia 1998)."""

    def matrix(self, test: Shapes, trial: Shapes, dx: Array, components: int, radius: Array | None) -> csr_array:
        scalar = assemble(test, trial, local_products(test.values, trial.values, dx))
        return csr_array(kron(scalar, eye_array(components), format="csr"))


@checked_call
@dataclass(frozen=True)
class H1(Coupling):
    """The H¹ form c(φ*, v) = ∫ φ*·v + ℓ² ε(φ*):ε(v) (Ben Dhia & Rateau, IJNME 62, 2005).

    length: ℓ, m, by default the mean size of the coarse cells in the gluing zone. In one component (bars) ε(v) = v';
    in axisymmetry ε includes the hoop strain v_r / r.
    """

    order: ClassVar[int] = 1
    length: float | None = None

    def __post_init__(self) -> None:
        if self.length is not None:
            checks.positive("length", self.length)

    def with_length(self, length: float) -> "H1":
        """The form with ℓ = `length`, m, where none was given."""
        return self if self.length is not None else H1(length)

    def matrix(self, test: Shapes, trial: Shapes, dx: Array, components: int, radius: Array | None) -> csr_array:
        """ε(ψ e_i):ε(φ e_j) = ½ (δ_ij ∇ψ·∇φ + ∂_jψ ∂_iφ)."""
        axes = test.gradients.shape[1]
        if components != axes:
            raise UserError(f"H1 coupling of {components} components on {axes} axes: the two numbers must be equal")
        assert self.length is not None, "the junction gives the default"
        weight = self.length**2 * dx
        slopes = [local_products(test.gradients[:, i], trial.gradients[:, i], weight) for i in range(axes)]
        common = local_products(test.values, trial.values, dx) + 0.5 * sum(slopes)
        blocks = csr_array((test.size * components, trial.size * components))
        for i in range(components):
            for j in range(components):
                local = 0.5 * local_products(test.gradients[:, j], trial.gradients[:, i], weight)
                if i == j:
                    local = local + common
                if i == j == 0 and radius is not None:
                    local = local + local_products(test.values, trial.values, weight / radius**2)
                unit = coo_array(([1.0], ([i], [j])), shape=(components, components))
                blocks = blocks + kron(assemble(test, trial, local), unit, format="csr")
        return csr_array(blocks)


def local_products(test: Array, trial: Array, dx: Array) -> Array:
    """Integrals (p, a, b) over each piece of test (a, p, q) × trial (b, p, q) with quadrature weights dx (p, q)."""
    return (test * dx).transpose(1, 0, 2) @ trial.transpose(1, 2, 0)


def assemble(test: Shapes, trial: Shapes, local: Array) -> csr_array:
    """Sparse matrix (test.size, trial.size) assembled from the integrals (p, a, b) over each piece."""
    return scatter(test.nodes.T[:, :, None], trial.nodes.T[:, None, :], local, (test.size, trial.size))


def scatter(rows: Indices, columns: Indices, values: Array, shape: tuple[int, int]) -> csr_array:
    """Sparse matrix with the sums of the values (…), at rows and columns that broadcast to them."""
    i, j = np.broadcast_arrays(rows, columns)
    return csr_array(coo_array((values.ravel(), (i.ravel(), j.ravel())), shape=shape))
