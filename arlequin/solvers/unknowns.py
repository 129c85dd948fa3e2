"""The unknowns of a linear system of the bulk, all dofs but those of imposed motions or some, and its parts there."""

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
        self.given, self._size = assembly.imposed_dofs, assembly.dof_count
        self._all = chosen.size == self._size
        self.at: Any = slice(None) if self._all else chosen  # a slice spares a copy
        self.count = int(chosen.size)

    def split(self, matrix: sp.csr_array) -> tuple[sp.csr_array, sp.csr_array | None]:
        """The matrix on the unknowns (u, u), and between these and the imposed dofs (u, p); None where that is 0."""
        rows = matrix if self._all else matrix[self.at]
        to_given = rows[:, self.given]
        return rows if self._all else rows[:, self.at], to_given if to_given.nnz else None  # a diagonal mass gives none

    def check_given(self, given: Array | None) -> None:
        """UserError where motions are imposed and no values are given, with which these dofs would stay at rest."""
        if given is None and self.given.size:
            raise UserError(
                f"predict: motions are imposed on {self.given.size} dofs, but given is None: pass y (p,) on them, from "
                "assembly.imposed(t) at assembly.imposed_dofs, or refuse imposed motions in prepare of the scheme"
            )

    def scattered(self, solution: Array, given: Array | None = None) -> Array:
        """A solution (u,) or (u, r) on all dofs; given (p,): the values on the imposed ones."""
        if self._all:
            return solution
        y = np.zeros((self._size, *solution.shape[1:]))
        y[self.at] = solution
        if given is not None:
            y[self.given] = given
        return y

    def scatter_each(self, solutions: Array, y: Array, given: Array | None) -> None:
        """Solutions (n, u) on all dofs, y (n, d)."""
        if self._all:
            y[:] = solutions
            return
        y[:] = 0.0
        y[:, self.at] = solutions
        if given is not None:
            y[:, self.given] = given


class SplitSystem:
    """The parts of A y = b + Cᵀφ + BᵀP, C y = c on the unknowns: A (u, u), C (m, u) and the contact's basis B (q, u).

    y is given on the imposed dofs, whose shares are moved to the right-hand sides.
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
        self._matrix, self._to_given = self._unknowns.split(matrix)
        both, at, given = (assembly.constraints, self.basis), self._unknowns.at, self._unknowns.given
        self._rows, self._basis = (sp.csr_array(rows[:, at]) for rows in both)
        self._rows_given, self._basis_given = ((rows[:, given] if given.size else None) for rows in both)

    def _right(self, b: Array, c: Array, given: Array | None) -> tuple[Array, Array]:
        """b (u,) and c (m,) of the unknowns, less the shares of the imposed values (p,); or n columns of each."""
        right = b[self._unknowns.at]
        if given is not None and self._to_given is not None:
            right = right - self._to_given @ given
        if given is not None and self._rows_given is not None:
            c = c - self._rows_given @ given
        return right, c

    def _with_given(self, reached: Array, given: Array | None) -> Array:
        """B y (q,), of that of the unknowns and the imposed values (p,); or n columns."""
        own = np.asarray(reached)
        return own if given is None or self._basis_given is None else own + self._basis_given @ given


def node_places(assembly: Assembly, at: Any) -> NodePlaces:
    """Where some dofs (u,) of the system are; coordinates of reduced parts, of no node, at the part's centre."""
    parts = assembly.system.parts
    components, axes = max(part.components for part in parts), max(part.positions.shape[1] for part in parts)
    slots, positions, first = [], [], 0
    for part, own in zip(parts, assembly.parts, strict=True):
        count, k = own.mass.shape[0], part.components
        places = part.positions
        if count != part.dof_count:
            k = components
            places = np.tile(places.mean(axis=0), (-(-count // k), 1))
        dof = np.arange(count)
        slots.append((first + dof // k) * components + dof % k)
        positions.append(np.pad(places, ((0, 0), (0, axes - places.shape[1]))))
        first += len(places)
    return NodePlaces(np.concatenate(slots)[at], np.concatenate(positions), components)
