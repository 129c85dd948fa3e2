"""The linear system of a step with many constraints, by one sparse factor of the matrix and its constraints."""

from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.linalg.compliance import Compliance
from arlequin.models.linalg.constraints import constraint_factor
from arlequin.models.linalg.factor import Factor, factorise
from arlequin.models.linalg.forward_pass import ForwardPass
from arlequin.models.linalg.saddle_factor import SaddleFactor
from arlequin.models.phases import phase
from arlequin.models.types import Array
from arlequin.solvers.condensed import ContactProblem, Predictor
from arlequin.solvers.unknowns import SplitSystem, node_places
from arlequin.system.assembly import Assembly

T = TypeVar("T")

MIN_CONSTRAINTS = 1000  # from which on this takes less time than a factor of the matrix with a dense border


class SaddleSystem(SplitSystem):
    """Solves A y = b + Cᵀφ + BᵀP, C y = c, with y known on the imposed dofs, for many b and P; B the contact's basis.

    A, C and B are factored at once (`SaddleFactor`). Constraints that others, or imposed motions, imply are left out:
    their multipliers are 0. A step is a forward pass, which gives B y for P = 0, the contact problem on W, and a
    backward pass, which gives y and φ.
    """

    def __init__(self, assembly: Assembly, matrix: sp.csr_array) -> None:
        """UserError where A is not positive definite on the unknowns."""
        super().__init__(assembly, matrix)
        at, self._count = self._unknowns.at, self._rows.shape[0]
        self._independent_rows = _independent(self._rows, self._matrix.diagonal())
        places, rows = node_places(assembly, at), self._independent_rows.size + self._basis.shape[0]
        nodes = places.slot // places.components
        with phase(f"factor of {self._unknowns.count:,} unknowns, {rows:,} constraints and contact rows"):
            self._factor = SaddleFactor(
                self._matrix, sp.csr_array(self._rows[self._independent_rows]), self._basis, nodes
            )
        self.compliance = Compliance(self._factor.compliance)

    def predict(self, b: Array, c: Array, imposed: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), imposed (p,): y on the imposed dofs; or n columns of each.

        UserError where motions are imposed and `imposed` is None.
        """
        forward, contact = self._forward_pass(b, c, imposed)
        return Predictor(partial(self._solved, forward, imposed), contact)

    def _forward_pass(self, b: Array, c: Array, imposed: Array | None) -> tuple[ForwardPass, Array]:
        """The forward pass over the factor, and B y for P = 0."""
        self._unknowns.check_imposed(imposed)
        rhs, constraint_rates = self._rhs(b, c, imposed)
        forward = self._factor.forward(rhs, constraint_rates[self._independent_rows])
        return forward, self._with_imposed(forward.border, imposed)

    def _solved(self, forward: ForwardPass, imposed: Array | None, impulse: Array | None) -> tuple[Array, Array]:
        """y (d,) and φ (m,) under the contact impulses P (q,); or n columns of each."""
        y, phi = self._factor.backward(forward, impulse)
        multipliers = np.zeros((self._count, *phi.shape[1:]))
        multipliers[self._independent_rows] = phi
        return self._unknowns.scattered(y, imposed), multipliers

    def correct(self, predictor: Predictor, impulse: Array) -> tuple[Array, Array]:
        """y and φ under the contact impulses P (q,)."""
        return predictor.under(impulse)

    def solve(self, b: Array, c: Array, imposed: Array | None, impulses: ContactProblem[T]) -> tuple[Array, Array, T]:
        """y (d,), φ (m,) and the contact solution; see `Condensed.solve`."""
        predictor = self.predict(b, c, imposed)
        contact_solution, impulse, _ = impulses(predictor.contact, None)
        return *predictor.under(impulse), contact_solution

    def room_for_each(self, count: int) -> Array:
        """Work array for the forward passes of `count` right-hand sides."""
        return np.empty((count, self._factor.size))

    def predict_each(self, b: Array, c: Array, half: Array, imposed: Array | None = None) -> tuple[Array, Array]:
        """See `Condensed.predict_each`; φ (n, m) is 0 here and computed by `correct_each`."""
        imposed_columns = (
            None if imposed is None else np.broadcast_to(imposed, (len(b), self._unknowns.imposed_dofs.size)).T
        )
        forward, contact = self._forward_pass(b.T, c.T, imposed_columns)
        half[:] = forward.half.T
        return np.zeros((len(b), self._count)), np.ascontiguousarray(contact.T)

    def correct_each(self, half: Array, multipliers: Array, impulse: Array, y: Array, imposed: Array | None) -> None:
        """See `Condensed.correct_each`."""
        forward = ForwardPass(half.T, np.zeros((impulse.shape[1], len(half))))
        imposed_columns = (
            None if imposed is None else np.broadcast_to(imposed, (len(y), self._unknowns.imposed_dofs.size)).T
        )
        solutions, phi = self._solved(forward, imposed_columns, impulse.T)
        y[:], multipliers[:] = solutions.T, phi.T

    def columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (d, r) of rows R (r, d), constraints kept, and the decrease of their multipliers (m, r)."""
        forward = self._factor.forward(
            rows[:, self._unknowns.at].toarray().T, np.zeros((self._independent_rows.size, rows.shape[0]))
        )
        y, multipliers = self._solved(forward, None, None)
        return y, -multipliers

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) or (d, r) on the unknowns, without constraints and contact; 0 on the other dofs."""
        return self._unknowns.scattered(self._matrix_factor.solve(b[self._unknowns.at]))

    @cached_property
    def _matrix_factor(self) -> Factor:
        return factorise(self._matrix)


def _independent(constraints: sp.csr_array, diagonal: Array) -> NDArray[np.int64]:
    """Rows of C that have unknowns and that no others imply."""
    yielding = sp.csr_array(constraints.multiply(1.0 / diagonal) @ constraints.T)
    nonzero: NDArray[np.int64] = np.flatnonzero(yielding.diagonal() > 0.0)
    independent = constraint_factor(sp.csr_array(yielding[nonzero][:, nonzero]))[0] if nonzero.size else nonzero
    return nonzero[independent]
