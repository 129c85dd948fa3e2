"""Unknowns of a linear system: all dofs without imposed motion, or a subset; matrix, constraints and basis on them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import compressed
from arlequin.models.parallel.multigrid import NodePlaces
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly


class Unknowns:
    """Restricts matrices, rows and right-hand sides on the dofs (d,) to unknowns (u,), and extends solutions."""

    def __init__(self, assembly: Assembly, active: NDArray[np.bool_] | None = None) -> None:
        """`active` (d,) restricts the unknowns (default: all dofs that are not imposed)."""
        chosen = np.flatnonzero(assembly.free if active is None else active)
        self.imposed_dofs, self._size = assembly.imposed_dofs, assembly.dof_count
        self._all = chosen.size == self._size
        self.at: Any = slice(None) if self._all else chosen  # a slice spares a copy
        self.count = int(chosen.size)

    def split(self, matrix: sp.csr_array) -> tuple[sp.csr_array, sp.csr_array | None]:
        """The matrix on the unknowns (u, u), and between these and the imposed dofs (u, p); None where that is 0."""
        rows = matrix if self._all else matrix[self.at]
        to_imposed = rows[:, self.imposed_dofs]
        return rows if self._all else rows[
            :, self.at
        ], to_imposed if to_imposed.nnz else None  # a diagonal mass gives none

    def check_imposed(self, imposed: Array | None) -> None:
        """UserError where motions are imposed without their values: these dofs would stay at rest."""
        if imposed is None and self.imposed_dofs.size:
            raise UserError(
                f"predict: motions are imposed on {self.imposed_dofs.size} dofs, but imposed is None: pass y (p,) on "
                "them, from assembly.imposed(t) at assembly.imposed_dofs, or refuse imposed motions in prepare of the "
                "scheme"
            )

    def scattered(self, solution: Array, imposed: Array | None = None) -> Array:
        """A solution (u,) or (u, r) on all dofs; imposed (p,): the values on the imposed ones."""
        if self._all:
            return solution
        y = np.zeros((self._size, *solution.shape[1:]))
        y[self.at] = solution
        if imposed is not None:
            y[self.imposed_dofs] = imposed
        return y

    def scatter_each(self, solutions: Array, y: Array, imposed: Array | None) -> None:
        """Solutions (n, u) on all dofs, y (n, d)."""
        if self._all:
            y[:] = solutions
            return
        y[:] = 0.0
        y[:, self.at] = solutions
        if imposed is not None:
            y[:, self.imposed_dofs] = imposed


class SplitSystem:
    """The blocks of A y = b + Cᵀφ + BᵀP, C y = c on the unknowns: A (u, u), C (m, u), the contact's basis B (q, u).

    y is known on the imposed dofs, whose terms are moved to the right-hand sides.
    """

    def __init__(
        self,
        assembly: Assembly,
        matrix: sp.csr_array,
        active: NDArray[np.bool_] | None = None,
        contact: bool = True,
    ) -> None:
        """`active` (d,) restricts the unknowns; contact: whether contact impulses will act."""
        self._unknowns = Unknowns(assembly, active)
        matrix = compressed(matrix)
        self.diagonal = matrix.diagonal()
        self.basis = assembly.contact.basis if contact else assembly.contact.basis[:0]
        self._matrix, self._to_imposed = self._unknowns.split(matrix)
        row_sets, at, imposed_dofs = (assembly.constraints, self.basis), self._unknowns.at, self._unknowns.imposed_dofs
        self._rows, self._basis = (sp.csr_array(rows[:, at]) for rows in row_sets)
        self._rows_imposed, self._basis_imposed = (
            (rows[:, imposed_dofs] if imposed_dofs.size else None) for rows in row_sets
        )

    def _rhs(self, b: Array, c: Array, imposed: Array | None) -> tuple[Array, Array]:
        """b (u,) and c (m,) of the unknowns, less the terms of the imposed values (p,); or n columns of each."""
        rhs = b[self._unknowns.at]
        if imposed is not None and self._to_imposed is not None:
            rhs = rhs - self._to_imposed @ imposed
        if imposed is not None and self._rows_imposed is not None:
            c = c - self._rows_imposed @ imposed
        return rhs, c

    def _with_imposed(self, on_unknowns: Array, imposed: Array | None) -> Array:
        """B y (q,) from its sum over the unknowns and the imposed values (p,); or n columns."""
        basis_y = np.asarray(on_unknowns)
        return basis_y if imposed is None or self._basis_imposed is None else basis_y + self._basis_imposed @ imposed


def node_places(assembly: Assembly, at: Any) -> NodePlaces:
    """Nodes and positions of dofs (u,) of the system; coordinates of reduced parts are placed at the part's centre."""
    parts = assembly.system.parts
    components, axes = max(part.components for part in parts), max(part.positions.shape[1] for part in parts)
    nodal_dofs, positions, first = [], [], 0
    for part, assembled in zip(parts, assembly.parts, strict=True):
        count, k = assembled.mass.shape[0], part.components
        points = part.positions
        if count != part.dof_count:
            k = components
            points = np.tile(points.mean(axis=0), (-(-count // k), 1))
        dof = np.arange(count)
        nodal_dofs.append((first + dof // k) * components + dof % k)
        positions.append(np.pad(points, ((0, 0), (0, axes - points.shape[1]))))
        first += len(points)
    return NodePlaces(np.concatenate(nodal_dofs)[at], np.concatenate(positions), components)
