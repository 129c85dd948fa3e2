"""Element arrays at the quadrature points, prepared once for the kernels."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skfem.quadrature import get_quadrature

from arlequin.models.checks import LARGEST
from arlequin.models.errors import UserError
from arlequin.models.fem.elements import drop_jacobians
from arlequin.models.linalg.determinants import determinants
from arlequin.models.types import Array, Indices


class KernelCells(NamedTuple):
    """Cells as arguments of compiled functions.

    nodes (c, n); gradients (c, q, axis, n) ∂φ_n/∂x_axis, 1/m; hoop (c, q, n) φ_n/r, 1/m, of size 0 but around an axis;
    weight (c, q): weighted measure, m³.
    """

    nodes: Indices
    gradients: Array
    hoop: Array
    weight: Array

    @property
    def axes(self) -> int:
        """Number of axes of the gradients."""
        return int(self.gradients.shape[2])

    def part(self, cell_range: slice) -> "KernelCells":
        """The cells of a slice."""
        if cell_range.stop - cell_range.start == len(self.nodes):
            return self
        hoop = self.hoop[cell_range] if self.hoop.size else self.hoop
        return KernelCells(self.nodes[cell_range], self.gradients[cell_range], hoop, self.weight[cell_range])


# A law of `_point_kernels` for a cell: its coefficients, and whether J̄ is the mean over the cell.
KernelLaw = tuple[Array, bool]

# A CSR matrix of node blocks to add to: row starts (d + 1,), slots (c, a, b) of `block_slots`, values.
KernelPattern = tuple[NDArray[np.int32], NDArray[np.int32], Array]


@dataclass(frozen=True, eq=False)
class CellArrays:
    """Shape functions of the cells at their quadrature points, contiguous, the node index innermost.

    nodes (c, n) node numbers; values (q, n) φ_n; gradients (c, q, axis, n) ∂φ_n/∂x_axis, 1/m;
    dx (c, q) measure of a point: weight × |det| × (thickness, section or 2πr), m³;
    radius (c, q) in m, axisymmetric only; hoop (c, q, n) φ_n/r, 1/m, axisymmetric only.
    """

    nodes: Indices
    values: Array
    gradients: Array
    dx: Array
    radius: Array | None = None
    hoop: Array | None = None

    @property
    def count(self) -> int:
        """Number of cells."""
        return self.nodes.shape[0]

    def take(self, numbers: Indices) -> "CellArrays":
        """The cells of these numbers."""
        radius, hoop = (None if field is None else field[numbers] for field in (self.radius, self.hoop))
        return CellArrays(self.nodes[numbers], self.values, self.gradients[numbers], self.dx[numbers], radius, hoop)


def cell_arrays(basis: Any, depth: float = 1.0, axisymmetric: bool = False) -> CellArrays:
    """The arrays of a scalar basis; depth: thickness (m) of plane problems, section (m²) of bars.

    Axisymmetric: x is the radius r, and the measure is that of the whole circle, 2πr dr dz.
    """
    cells, points = basis.dx.shape
    functions = [function[0] for function in basis.basis]
    gradients = np.empty((cells, points, basis.mesh.dim(), len(functions)))
    values = np.empty((points, len(functions)))
    for n, function in enumerate(functions):
        gradients[..., n] = np.moveaxis(np.broadcast_to(function.grad, (basis.mesh.dim(), cells, points)), 0, 2)
        # the values do not depend on the cell: the elements are nodal (H1)
        values[:, n] = np.asarray(function).reshape(-1, points)[0]
    nodes = np.ascontiguousarray(basis.element_dofs.T.astype(np.int64))
    if not axisymmetric:
        return CellArrays(nodes, values, gradients, np.ascontiguousarray(basis.dx * depth))
    radius = np.ascontiguousarray(np.asarray(basis.global_coordinates())[0])
    hoop = np.ascontiguousarray(values[None] / radius[:, :, None])
    return CellArrays(nodes, values, gradients, basis.dx * 2 * np.pi * radius, radius, hoop)


def mean_gradients(cells: CellArrays, components: int) -> Array:
    """∂ē/∂u (c, axis, n) of cells, 1/m: the mean of the divergence over the measure."""
    share = cells.dx / cells.dx.sum(axis=1, keepdims=True)
    gradients = np.einsum("cq,cqin->cin", share, cells.gradients[:, :, :components])
    if cells.hoop is not None:
        gradients[:, 0] += np.einsum("cq,cqn->cn", share, cells.hoop)
    return gradients


def check_cells(mesh: Any, label: str, code: int = 2) -> None:
    """Reject a mesh without cells, or with cells of nodes that do not exist or are not finite, of zero area, or folded
    (the mapping's determinant changes sign)."""
    if not mesh.nelements:
        raise UserError(f"{label}: the mesh has no cells", code)
    nodes = np.asarray(mesh.t)
    invalid = ((nodes < 0) | (nodes >= mesh.p.shape[1])).any(axis=0)
    if invalid.any():
        cell = int(np.argmax(invalid))
        numbers = ", ".join(map(str, nodes[:, cell]))
        raise UserError(f"{label}: cell {cell} has nodes {numbers}, of which the mesh has {mesh.p.shape[1]}", code)
    if not np.isfinite(mesh.doflocs).all() or np.abs(mesh.doflocs).max() > LARGEST:
        raise UserError(f"{label}: the mesh has nodes whose coordinates are not finite", code)
    points, weights = get_quadrature(mesh.refdom, 5)
    with np.errstate(all="ignore"):  # the inverse of a flat cell's mapping, which is not used here
        mapping = mesh.mapping()
        jacobian = np.moveaxis(np.asarray(mapping.DF(points)), (0, 1), (2, 3))
    drop_jacobians(mapping)
    determinant = np.broadcast_to(determinants(jacobian), (mesh.nelements, weights.size))
    corners = mesh.p[:, mesh.t]
    extent = np.ptp(corners, axis=1).max(axis=0)
    flat = ~(np.abs(determinant) @ np.abs(weights) > 1e-12 * extent ** mesh.dim())
    folded = (determinant.min(axis=1) < 0) & (determinant.max(axis=1) > 0)
    noun = {1: "length", 2: "area"}.get(mesh.dim(), "volume")
    for bad, what in ((flat, f"has zero {noun}"), (folded, "is folded: its sides cross")):
        if bad.any():
            cell = int(np.argmax(bad))
            where = ", ".join(f"{x:.6g}" for x in corners[:, :, cell].mean(axis=1))
            others = f" ({bad.sum()} such cells)" if bad.sum() > 1 else ""
            raise UserError(f"{label}: cell {cell} near ({where}) {what}{others}", code)
