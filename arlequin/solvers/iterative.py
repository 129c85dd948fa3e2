"""The linear system of a step without a factor of its matrix: conjugate gradients, and contact on a layer below it."""

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.linalg.compliance import Compliance
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.linalg.bordered import border
from arlequin.models.linalg.constraints import eliminate
from arlequin.models.linalg.matrix import same_entries
from arlequin.models.linalg.operators import SymmetricOperator
from arlequin.models.linalg.projected_cg import ConstrainedSolution, ProjectedConjugateGradients
from arlequin.models.parallel.matrix import DistributedMatrix, spread
from arlequin.models.parallel.multigrid import MultigridConjugateGradients
from arlequin.models.phases import phase
from arlequin.models.types import Array
from arlequin.solvers.cell_operator import step_operator
from arlequin.solvers.condensed import ContactProblem, Predictor
from arlequin.solvers.unknowns import SplitSystem, node_places
from arlequin.system.assembly import Assembly

T = TypeVar("T")

TOLERANCE = 1e-15  # of the residual: energies drift by about as much a step
_AGREED = 1e-13  # change of the impulses, and residual, at which the contact problem is not solved again
_CORRECTIONS = 40  # contact problems of a step at most
_FIRST, _REDUCED = 1e-2, 1e-3  # share of the residual that is left before the first of them, and between two at most
_AHEAD = 0.3  # of the change of the impulses that is expected of the next one: the residual to which it is prepared
_FADED = 3e-2  # share of the motion under the contact that is left where the layer ends: W errs by its square
_LEAST, _PER_ROW = 20_000, 40  # unknowns that a layer may have in any case, and for each row of the contact


class IterativeSystem(SplitSystem):
    """Solves A y = b + Cᵀφ + BᵀP, C y = c, by projected conjugate gradients; B the contact's basis.

    The contact is solved on the compliance W̃ of a layer of cells below it, at whose end y = 0 is assumed: in dynamics
    at Courant numbers of a few a push fades within some cells. What W̃ misses is corrected: with y(P) the solution
    under the last impulses P,

        P ← contact problem on W̃ with the free velocities B y(P) − W̃ P,

    y(P) each time a few digits more accurate than before, until a change of P is below the residual that y has anyway.
    Then P and y(P) satisfy the contact's laws, whatever W̃ is. W̃ ≤ W, and each correction reduces the error by |1 −
    W̃⁻¹W|, but for what the residual of y is still to move. Both are foreseen where the contact holds velocities, as
    those of closed points and of points that stick: after a change ΔP of the impulses, y and P change by

        A Δy = r + Bᵀ(ΔP + Hᵀλ) + CᵀΔφ,    H B Δy = H W̃ ΔP,    P ← P + Hᵀλ,

    with these rows H and r the residual so far. While the statuses last, the contact's laws hold after that.
    """

    def __init__(
        self,
        assembly: Assembly,
        matrix: sp.csr_array,
        active: NDArray[np.bool_] | None = None,
        contact: bool = True,
        multigrid: bool = False,
    ) -> None:
        """`active` (d,) restricts the unknowns; contact: whether contact impulses will act; multigrid: whether
        algebraic multigrid of PETSc preconditions conjugate gradients, in place of the diagonal."""
        super().__init__(assembly, matrix, active, contact)
        self._nodes = node_places(assembly, self._unknowns.at) if multigrid else None
        self._assembly = assembly
        self._gradients = self._conjugate_gradients(self._rows)
        self._last_held: tuple[sp.csr_array, sp.csr_array, ProjectedConjugateGradients | None] | None = None

    def _conjugate_gradients(self, rows: sp.csr_array) -> ProjectedConjugateGradients:
        """For A under the constraints of these rows."""
        if self._nodes is None:
            return ProjectedConjugateGradients(self._operator, rows, TOLERANCE)
        with phase("multigrid"):
            return MultigridConjugateGradients(spread(self._matrix), rows, self._nodes, TOLERANCE)

    @cached_property
    def _operator(self) -> SymmetricOperator:
        """Products with A, where no multigrid takes its entries."""
        at = None if isinstance(self._unknowns.at, slice) else self._unknowns.at
        return step_operator(self._assembly, self._matrix, at)

    @cached_property
    def iterations(self) -> int:
        """Of conjugate gradients for a right-hand side with a smooth and a rough part."""
        units = np.sqrt(self._matrix.diagonal())
        rough = np.random.default_rng(0).standard_normal(units.size)
        return self._gradients.solve(units * (1.0 + rough)).iterations

    def predict(self, b: Array, c: Array, given: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), given (p,) values of y on the imposed dofs.

        UserError where motions are imposed and `given` is None.
        """
        self._unknowns.check_given(given)
        right = self._right(b, c, given)
        free = self._gradients.solve(*right)

        def solve(impulse: Array | None) -> tuple[Array, Array]:
            if impulse is None:
                return self._unknowns.scattered(free.y, given), free.multipliers
            push = np.asarray(self._basis.T @ impulse)
            more = self._gradients.solve(push, None, 0.0, TOLERANCE * max(free.size, self._gradients.norm(push)))
            return self._unknowns.scattered(free.y + more.y, given), free.multipliers + more.multipliers

        return Predictor(solve, self._with_given(self._basis @ free.y, given))

    def solve(self, b: Array, c: Array, given: Array | None, impulses: ContactProblem[T]) -> tuple[Array, Array, T]:
        """y (d,) and φ (m,) with the contact solved in between; see `Condensed.solve`."""
        some = self._basis.shape[0] > 0
        first = self._gradients.solve(*self._right(b, c, given), _FIRST if some else TOLERANCE)
        y, multipliers, left = first.y, first.multipliers, first.left
        push, found = np.zeros(self._basis.shape[0]), None
        nothing = sp.csr_array((0, push.size))
        norm, enough, before = self._gradients.norm, _AGREED * first.size, 0.0
        for _ in range(_CORRECTIONS):
            free = self._with_given(self._basis @ y, given)
            found, wanted, held = impulses(free - self.compliance.move(push) if push.any() else free, found)
            step = wanted - push
            force = np.asarray(self._basis.T @ step)
            change = norm(force)
            agreed = max(change, norm(left)) <= enough
            right, push = left + force, wanted
            if agreed or not (wanted.any() or step.any()):
                more = self._gradients.solve(right, None, 0.0, TOLERANCE * first.size)
                y, multipliers, left = y + more.y, multipliers + more.multipliers, more.left
                if agreed:
                    return self._unknowns.scattered(y, given), multipliers, found
                continue
            goal = _REDUCED * norm(right)
            if before > 0.0:
                goal = min(goal, _AHEAD * change * change / before)
            before, goal = change, max(goal, 0.5 * enough)
            rows = nothing if held is None else held()
            more, reaction = self._solve_held(rows, right, step, goal)
            y, multipliers, left = y + more.y, multipliers + more.multipliers[: len(multipliers)], more.left
            push = push + reaction
        raise UserError(
            f"solver 'iterative': the contact impulses still change by {change / first.size:.1e} of the "
            f"motion after {_CORRECTIONS} corrections, {_AGREED:.0e} is needed: take a smaller step, or "
            "solver='direct'",
            code=FAILURE,
        )

    def _solve_held(
        self, rows: sp.csr_array, right: Array, step: Array, goal: float
    ) -> tuple[ConstrainedSolution, Array]:
        """A y = r + Cᵀφ + (H B)ᵀλ, C y = 0, H B y = H W̃ ΔP to a residual `goal`, and Hᵀλ (q,), of H (h, q) on which
        the contact holds the velocities; ΔP = step (q,)."""
        if self._last_held is None or not same_entries(self._last_held[0], rows):
            self._last_held = rows, *self._holding(rows)
        _, held, gradients = self._last_held
        if gradients is None:
            return self._gradients.solve(right, None, 0.0, goal), np.zeros(step.size)
        expected = held @ self.compliance.move(step)
        given = np.concatenate([np.zeros(self._rows.shape[0]), expected])
        found = gradients.solve(right, given, 0.0, goal)
        return found, held.T @ found.multipliers[self._rows.shape[0] :]

    def _holding(self, rows: sp.csr_array) -> tuple[sp.csr_array, ProjectedConjugateGradients | None]:
        """Those of the rows (h, q) that act on other dofs than the constraints, and the system under both; None where
        there are no such rows, or dependent ones."""
        own, tied = sp.csr_array(rows @ self._basis), np.zeros(self._unknowns.count, dtype=bool)
        tied[self._rows.indices] = True
        free = np.flatnonzero((abs(own) @ tied.astype(float) == 0.0) & (np.diff(own.indptr) > 0))
        return sp.csr_array(rows[free]), self._gradients.holding(sp.csr_array(own[free])) if free.size else None

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) or (d, r) on the unknowns, without constraints and contact; 0 on the other dofs."""
        bare = self._conjugate_gradients(self._rows[:0])
        columns = b[self._unknowns.at].reshape(self._unknowns.count, -1)
        found = np.stack([bare.solve(column).y for column in columns.T], axis=1)
        return self._unknowns.scattered(found.reshape(-1, *b.shape[1:]))

    def columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (d, r) of rows R (r, d), constraints kept, and the decrease of their multipliers (m, r)."""
        found = [self._gradients.solve(row) for row in rows[:, self._unknowns.at].toarray()]
        y = np.stack([own.y for own in found], axis=1)
        return self._unknowns.scattered(y), -np.stack([own.multipliers for own in found], axis=1)

    @cached_property
    def compliance(self) -> Compliance:
        """W̃ (q, q) of the layer, factored when it is first asked for."""
        basis = self._basis
        if not basis.shape[0]:
            return Compliance(np.zeros((0, 0)))
        with phase("compliance of the contact"):
            return self._compliance_of(self._layer())

    def _compliance_of(self, layer: NDArray[np.int64]) -> Compliance:
        basis, inside = self._basis, np.zeros(self._unknowns.count, dtype=bool)
        inside[layer] = True
        held = np.flatnonzero(abs(self._rows) @ (~inside).astype(float) == 0.0)  # constraints of the layer alone
        held = held[np.diff(self._rows.indptr)[held] > 0]
        rows = sp.csr_array(sp.vstack([self._rows[held], basis], format="csr")[:, layer])
        schur = border(self._matrix[layer][:, layer], rows).schur()
        return Compliance(eliminate(schur, held.size).compliance)

    def _layer(self) -> NDArray[np.int64]:
        """The unknowns so near the contact that motion by uniform impulses on it has faded beyond them."""
        basis = self._basis
        push = np.asarray(basis.T @ np.ones(basis.shape[0]))
        moved = np.abs(self._gradients.solve(push).y) * np.sqrt(self._matrix.diagonal())
        allowed = max(_LEAST, _PER_ROW * basis.shape[0])
        inside = np.zeros(self._unknowns.count, dtype=bool)
        front = np.unique(basis.indices)
        most, columns = float(moved[front].max(initial=0.0)), sp.csr_array(self._rows.T)
        while front.size and moved[front].max() > _FADED * most and inside.sum() + front.size <= allowed:
            inside[front] = True
            near = _neighbours(self._matrix, front)
            joined = np.unique(_columns(columns, front))
            near = np.unique(np.concatenate([near, _columns(self._rows, joined)]))
            front = near[~inside[near]]
        inside[np.unique(basis.indices)] = True
        return np.flatnonzero(inside)


def _neighbours(matrix: Any, rows: NDArray[Any]) -> NDArray[np.int64]:
    """Columns with entries in these rows of the matrix of a step."""
    if not isinstance(matrix, DistributedMatrix):
        return _columns(matrix, rows)
    chosen = np.zeros(matrix.shape[0])
    chosen[rows] = 1.0
    return np.flatnonzero(abs(matrix) @ chosen)


def _columns(matrix: sp.csr_array, rows: NDArray[Any]) -> NDArray[np.int64]:
    """Columns with entries in these rows."""
    return np.unique(matrix[rows].indices).astype(np.int64)
