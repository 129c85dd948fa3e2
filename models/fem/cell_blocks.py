"""Cells of a solid in blocks, with the operators from displacements to their gradients at the points, in NumPy."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arlequin.models.fem.cells import KernelCells
from arlequin.models.types import Array, Indices

_BLOCK = 1024  # cells whose operators B are in memory at the same time


@dataclass(frozen=True, eq=False)
class CellBlock:
    """A block of cells: dofs (c, d), node-major; operator B (c, q, 9, d); measure (c, q), m³; origin (c, d).

    origin: dofs of the cell's first node, which are subtracted, so that a translation gives exactly H = 0; −1 for the
    radial displacement around an axis, from which nothing is subtracted.
    """

    cells: slice
    dofs: Indices
    operator: Array
    weight: Array
    origin: Indices

    def gradient(self, u: Array) -> Array:
        """H (p, 3, 3) at the displacement u (d,), p = c q."""
        local = u[self.dofs] - np.where(self.origin < 0, 0.0, u[self.origin])
        return np.asarray((self.operator @ local[:, None, :, None]).reshape(-1, 3, 3))

    def integral(self, values: Array) -> float:
        """∫ values dV of values (p,)."""
        return float(self.weight.ravel() @ values)

    def forces(self, stress: Array) -> Array:
        """∫ Bᵀ P dV (c, d), N, of stresses (p, 3, 3)."""
        weighted = stress.reshape(*self.weight.shape, 9) * self.weight[:, :, None]
        return np.asarray(np.einsum("cqa,cqad->cd", weighted, self.operator, optimize=True))

    def add_forces(self, force: Array, stress: Array) -> None:
        """Add the `forces` of the block to those (d,) of a part."""
        force += np.bincount(self.dofs.ravel(), self.forces(stress).ravel(), force.size)

    def stiffnesses(self, moduli: Array) -> Array:
        """∫ Bᵀ (∂P/∂H) B dV (c, d, d), N/m, of moduli (p, 3, 3, 3, 3)."""
        weighted = moduli.reshape(*self.weight.shape, 9, 9) * self.weight[:, :, None, None]
        cells, _, _, size = self.operator.shape
        right = (weighted @ self.operator).reshape(cells, -1, size)
        return np.asarray(np.swapaxes(self.operator.reshape(cells, -1, size), 1, 2) @ right)


def cell_blocks(arrays: KernelCells) -> Iterator[CellBlock]:
    """The cells in blocks of at most _BLOCK."""
    nodes, gradients, hoop, weight = arrays
    count, points, axes, size = gradients.shape
    for start in range(0, count, _BLOCK):
        cells = slice(start, min(start + _BLOCK, count))
        slopes = gradients[cells]
        operator = np.zeros((len(slopes), points, 3, 3, size, axes))
        for i in range(axes):
            operator[:, :, i, :axes, :, i] = slopes
        dofs = nodes[cells, :, None] * axes + np.arange(axes)
        origin = np.broadcast_to(dofs[:, :1], dofs.shape).copy()
        if hoop.size:
            operator[:, :, 2, 2, :, 0] = hoop[cells]
            origin[:, :, 0] = -1
        shape = len(slopes), size * axes
        yield CellBlock(
            cells, dofs.reshape(shape), operator.reshape(len(slopes), points, 9, size * axes), weight[cells],
            origin.reshape(shape),
        )  # fmt: skip
