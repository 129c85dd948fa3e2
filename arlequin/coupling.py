"""Coupling operators: what a junction makes equal, integrated on the pieces of an overlap."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array, kron
from skfem import CellBasis, Mesh

from models import checks
from models.errors import UserError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Shapes:
    """Scalar shape functions of one mesh at the quadrature points of the pieces of an overlap.

    nodes (a, p): node of each local function; values (a, p, q); gradients (a, axis, p, q), 1/m; size: nodes
    in all.
    """

    nodes: Indices
    values: Array
    gradients: Array
    size: int

    @classmethod
    def at(cls, basis: CellBasis, cells: Indices, points: Array) -> "Shapes":
        """The functions of `basis` in `cells` (p,) at physical `points` (axis, p, q)."""
        X, inverse = to_reference(basis.mesh, cells, points)
        values, gradients = [], []
        for a in range(basis.Nbfun):
            value, slope = basis.elem.lbasis(X, a)
            values.append(np.broadcast_to(value, X.shape[1:]))
            gradients.append(np.einsum("jipq,jpq->ipq", inverse, np.broadcast_to(slope, X.shape)))
        nodes = basis.element_dofs[:, cells].astype(np.int64)
        return cls(nodes, np.stack(values), np.stack(gradients), int(basis.N))


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

    length: ℓ, m. In one component (bars) ε(v) = v'; in axisymmetry ε includes the hoop strain v_r / r.
    """

    length: float

    def __post_init__(self) -> None:
        checks.positive("length", self.length)

    def matrix(self, test: Shapes, trial: Shapes, dx: Array, components: int, radius: Array | None) -> csr_array:
        """See `Coupling.matrix`; ε(ψ e_i):ε(φ e_j) = ½ (δ_ij ∇ψ·∇φ + ∂_jψ ∂_iφ)."""
        axes = test.gradients.shape[1]
        if components != axes:
            raise UserError(f"H1 coupling of {components} components on {axes} axes: must be as many of each")
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


def to_reference(mesh: Mesh, cells: Indices, points: Array) -> tuple[Array, Array]:
    """Reference coordinates of physical points in straight-edged cells, and the inverse Jacobian there.

    cells (p,), points (axis, p, q) → X (axis, p, q), ∂X_j/∂x_i as [j, i] (axis, axis, p, q), 1/m.
    The inverse of a bilinear map is found by Newton's method in coordinates that start at a vertex of the
    cell: the library's own works with absolute ones, whose round-off exceeds its tolerance in small cells far
    from the origin.
    """
    vertices = mesh.p[:, mesh.t[:, cells]]
    local = points - vertices[:, 0, :, None]
    axes, bilinear = mesh.dim(), mesh.t.shape[0] == 4
    along = vertices[:, 1] - vertices[:, 0]
    if axes == 1:
        slope = np.broadcast_to(1 / along[None, :, :, None], (1, 1, *points.shape[1:]))
        return local / along[:, :, None], slope
    across = vertices[:, 3 if bilinear else 2] - vertices[:, 0]
    # the part of the map that is not affine, zero in triangles and parallelograms
    twist = vertices[:, 2] - vertices[:, 1] - across if bilinear else np.zeros_like(along)
    twist[np.abs(twist) < 1e-14 * np.abs(vertices).max()] = 0.0
    X = np.full(points.shape, 0.5)
    for _ in range(50):
        first = along[:, :, None] + twist[:, :, None] * X[1]
        second = across[:, :, None] + twist[:, :, None] * X[0]
        determinant = first[0] * second[1] - first[1] * second[0]
        inverse = np.array([[second[1], -second[0]], [-first[1], first[0]]]) / determinant
        missing = local - along[:, :, None] * X[0] - across[:, :, None] * X[1] - twist[:, :, None] * X[0] * X[1]
        correction = np.einsum("jipq,ipq->jpq", inverse, missing)
        X = X + correction
        if np.abs(correction).max(initial=0.0) < 1e-14:
            return X, inverse
    raise UserError("overlap of meshes: a quadrilateral is too distorted to be mapped", code=1)


def _products(test: Array, trial: Array, dx: Array) -> Array:
    """Local integrals (p, a, b) of test (a, p, q) × trial (b, p, q) with weights dx (p, q)."""
    return (test * dx).transpose(1, 0, 2) @ trial.transpose(1, 2, 0)


def _scatter(test: Shapes, trial: Shapes, local: Array) -> csr_array:
    """Sparse sum (test.size, trial.size) of the local integrals (p, a, b)."""
    rows = np.broadcast_to(test.nodes.T[:, :, None], local.shape)
    columns = np.broadcast_to(trial.nodes.T[:, None, :], local.shape)
    entries = (local.ravel(), (rows.ravel(), columns.ravel()))
    return csr_array(coo_array(entries, shape=(test.size, trial.size)))
