"""The unknowns of a linear system of the bulk: all dofs but those of imposed motions, or some of them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.errors import UserError
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
