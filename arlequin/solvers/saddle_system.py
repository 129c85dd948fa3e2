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

MANY = 1000  # constraints from which on this takes less time than a factor of the matrix with a dense border


class SaddleSystem(SplitSystem):
    """Solves A y = b + Cᵀφ + BᵀP, C y = c, with y given on the imposed dofs, for many b and P; B the contact's basis.

    A, C and B are factored at once (`SaddleFactor`). Constraints that others, or imposed motions, imply are left out:
    their multipliers are 0. A step is a forward pass, which gives B y for P = 0, the contact problem on W, and a
    backward pass, which gives y and φ.
    """

    def __init__(self, assembly: Assembly, matrix: sp.csr_array) -> None:
        """UserError where A is not positive definite on the unknowns."""
        super().__init__(assembly, matrix)
        at, self._count = self._unknowns.at, self._rows.shape[0]
        self._kept = _independent(self._rows, self._matrix.diagonal())
        places, rows = node_places(assembly, at), self._kept.size + self._basis.shape[0]
        nodes = places.slot // places.components
        with phase(f"factor of {self._unknowns.count:,} unknowns, {rows:,} constraints and contact rows"):
            self._factor = SaddleFactor(self._matrix, sp.csr_array(self._rows[self._kept]), self._basis, nodes)
        self.compliance = Compliance(self._factor.compliance)

    def predict(self, b: Array, c: Array, given: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), given (p,) values of y on the imposed dofs; or n columns of each.

        UserError where motions are imposed and `given` is None.
        """
        forward, contact = self._started(b, c, given)
        return Predictor(partial(self._solved, forward, given), contact)

    def _started(self, b: Array, c: Array, given: Array | None) -> tuple[ForwardPass, Array]:
        """The first half of the solution, and B y for P = 0."""
        self._unknowns.check_given(given)
        right, wanted = self._right(b, c, given)
        forward = self._factor.forward(right, wanted[self._kept])
        return forward, self._with_given(forward.border, given)

    def _solved(self, forward: ForwardPass, given: Array | None, impulse: Array | None) -> tuple[Array, Array]:
        """y (d,) and φ (m,) under the contact impulses P (q,); or n columns of each."""
        y, found = self._factor.backward(forward, impulse)
        multipliers = np.zeros((self._count, *found.shape[1:]))
        multipliers[self._kept] = found
        return self._unknowns.scattered(y, given), multipliers

    def correct(self, free: Predictor, impulse: Array) -> tuple[Array, Array]:
        """y and φ once the contact impulses P (q,) act."""
        return free.under(impulse)

    def solve(self, b: Array, c: Array, given: Array | None, impulses: ContactProblem[T]) -> tuple[Array, Array, T]:
        """y (d,) and φ (m,) with the contact solved in between; see `Condensed.solve`."""
        free = self.predict(b, c, given)
        found, push, _ = impulses(free.contact, None)
        return *free.under(push), found

    def room_for_each(self, count: int) -> Array:
        """Room for the forward passes of so many right-hand sides."""
        return np.empty((count, self._factor.size))

    def predict_each(self, b: Array, c: Array, half: Array, given: Array | None = None) -> tuple[Array, Array]:
        """See `Condensed.predict_each`; φ (n, m) is found by `correct_each`, and 0 here."""
        columns = None if given is None else np.broadcast_to(given, (len(b), self._unknowns.given.size)).T
        forward, contact = self._started(b.T, c.T, columns)
        half[:] = forward.half.T
        return np.zeros((len(b), self._count)), np.ascontiguousarray(contact.T)

    def correct_each(self, half: Array, multipliers: Array, impulse: Array, y: Array, given: Array | None) -> None:
        """See `Condensed.correct_each`."""
        forward = ForwardPass(half.T, np.zeros((impulse.shape[1], len(half))))
        columns = None if given is None else np.broadcast_to(given, (len(y), self._unknowns.given.size)).T
        found, pulls = self._solved(forward, columns, impulse.T)
        y[:], multipliers[:] = found.T, pulls.T

    def columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (d, r) of rows R (r, d), constraints kept, and the decrease of their multipliers (m, r)."""
        forward = self._factor.forward(
            rows[:, self._unknowns.at].toarray().T, np.zeros((self._kept.size, rows.shape[0]))
        )
        y, multipliers = self._solved(forward, None, None)
        return y, -multipliers

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) or (d, r) on the unknowns, without constraints and contact; 0 on the other dofs."""
        return self._unknowns.scattered(self._bare.solve(b[self._unknowns.at]))

    @cached_property
    def _bare(self) -> Factor:
        return factorise(self._matrix)


def _independent(constraints: sp.csr_array, diagonal: Array) -> NDArray[np.int64]:
    """Rows of C that have unknowns and that no others imply."""
    yielding = sp.csr_array(constraints.multiply(1.0 / diagonal) @ constraints.T)
    some: NDArray[np.int64] = np.flatnonzero(yielding.diagonal() > 0.0)
    kept = constraint_factor(sp.csr_array(yielding[some][:, some]))[0] if some.size else some
    return some[kept]
