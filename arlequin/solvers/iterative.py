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
_IMPULSE_TOLERANCE = 1e-13  # relative change of the impulses, and residual, at which the corrections end
_MAX_CORRECTIONS = 40  # contact problems of a step at most
_FIRST_RESIDUAL, _RESIDUAL_REDUCTION = 1e-2, 1e-3  # relative residual before the first of them, reduction between two
_FORECAST_SHARE = 0.3  # residual to which a contact problem is prepared, of its expected change of the impulses
_LAYER_AMPLITUDE = 3e-2  # of the motion at the end of the layer, relative to the contact: W errs by its square
_MIN_LAYER, _LAYER_PER_ROW = 20_000, 40  # unknowns that a layer may have in any case, and for each row of the contact


class IterativeSystem(SplitSystem):
    """Solves A y = b + Cᵀφ + BᵀP, C y = c, by projected conjugate gradients; B the contact's basis.

    The contact is solved on the compliance W̃ of a layer of cells below it, at whose end y = 0 is assumed: in dynamics
    at Courant numbers of a few the motion under an impulse decays within some cells. The error of W̃ is corrected: with
    y(P) the solution under the last impulses P,

        P ← contact problem on W̃ with the free velocities B y(P) − W̃ P,

    y(P) each time a few digits more accurate than before, until a change of P is below the residual of y. Then P and
    y(P) satisfy the contact laws, whatever W̃ is. W̃ ≤ W, and each correction reduces the error by |1 − W̃⁻¹W|, up to
    the residual of y. Both are predicted where the contact prescribes velocities, as of closed and of sticking points:
    after a change ΔP of the impulses, y and P change by

        A Δy = r + Bᵀ(ΔP + Hᵀλ) + CᵀΔφ,    H B Δy = H W̃ ΔP,    P ← P + Hᵀλ,

    with these rows H and r the present residual. If the statuses do not change, the contact laws hold after that.
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
        """Conjugate gradients for A under the constraints of these rows."""
        if self._nodes is None:
            return ProjectedConjugateGradients(self._operator, rows, TOLERANCE)
        with phase("multigrid"):
            return MultigridConjugateGradients(spread(self._matrix), rows, self._nodes, TOLERANCE)

    @cached_property
    def _operator(self) -> SymmetricOperator:
        """Products with A for conjugate gradients without multigrid."""
        at = None if isinstance(self._unknowns.at, slice) else self._unknowns.at
        return step_operator(self._assembly, self._matrix, at)

    @cached_property
    def iterations(self) -> int:
        """Iterations of conjugate gradients for a right-hand side with a smooth and a rough part."""
        units = np.sqrt(self._matrix.diagonal())
        rough = np.random.default_rng(0).standard_normal(units.size)
        return self._gradients.solve(units * (1.0 + rough)).iterations

    def predict(self, b: Array, c: Array, imposed: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), imposed (p,): y on the imposed dofs.

        UserError where motions are imposed and `imposed` is None.
        """
        self._unknowns.check_imposed(imposed)
        rhs = self._rhs(b, c, imposed)
        free = self._gradients.solve(*rhs)

        def solve(impulse: Array | None) -> tuple[Array, Array]:
            if impulse is None:
                return self._unknowns.scattered(free.y, imposed), free.multipliers
            force = np.asarray(self._basis.T @ impulse)
            increment = self._gradients.solve(force, None, 0.0, TOLERANCE * max(free.size, self._gradients.norm(force)))
            return self._unknowns.scattered(free.y + increment.y, imposed), free.multipliers + increment.multipliers

        return Predictor(solve, self._with_imposed(self._basis @ free.y, imposed))

    def solve(self, b: Array, c: Array, imposed: Array | None, impulses: ContactProblem[T]) -> tuple[Array, Array, T]:
        """y (d,), φ (m,) and the contact solution; see `Condensed.solve`."""
        has_contact = self._basis.shape[0] > 0
        first = self._gradients.solve(*self._rhs(b, c, imposed), _FIRST_RESIDUAL if has_contact else TOLERANCE)
        y, multipliers, residual = first.y, first.multipliers, first.left
        impulse, contact_solution = np.zeros(self._basis.shape[0]), None
        no_rows = sp.csr_array((0, impulse.size))
        norm, tolerance, last_change = self._gradients.norm, _IMPULSE_TOLERANCE * first.size, 0.0
        for _ in range(_MAX_CORRECTIONS):
            free = self._with_imposed(self._basis @ y, imposed)
            contact_solution, new_impulse, held_rows = impulses(
                free - self.compliance.move(impulse) if impulse.any() else free, contact_solution
            )
            impulse_change = new_impulse - impulse
            force = np.asarray(self._basis.T @ impulse_change)
            change = norm(force)
            converged = max(change, norm(residual)) <= tolerance
            rhs, impulse = residual + force, new_impulse
            if converged or not (new_impulse.any() or impulse_change.any()):
                increment = self._gradients.solve(rhs, None, 0.0, TOLERANCE * first.size)
                y, multipliers, residual = y + increment.y, multipliers + increment.multipliers, increment.left
                if converged:
                    return self._unknowns.scattered(y, imposed), multipliers, contact_solution
                continue
            target = _RESIDUAL_REDUCTION * norm(rhs)
            if last_change > 0.0:
                target = min(target, _FORECAST_SHARE * change * change / last_change)
            last_change, target = change, max(target, 0.5 * tolerance)
            rows = no_rows if held_rows is None else held_rows()
            increment, reaction = self._solve_held(rows, rhs, impulse_change, target)
            y, multipliers, residual = (
                y + increment.y,
                multipliers + increment.multipliers[: len(multipliers)],
                increment.left,
            )
            impulse = impulse + reaction
        raise UserError(
            f"solver 'iterative': the contact impulses still change by {change / first.size:.1e} of the "
            f"motion after {_MAX_CORRECTIONS} corrections, {_IMPULSE_TOLERANCE:.0e} is needed: take a smaller step, or "
            "solver='direct'",
            code=FAILURE,
        )

    def _solve_held(
        self, rows: sp.csr_array, rhs: Array, impulse_change: Array, target: float
    ) -> tuple[ConstrainedSolution, Array]:
        """A y = r + Cᵀφ + (H B)ᵀλ, C y = 0, H B y = H W̃ ΔP to a residual `target`, and Hᵀλ (q,); H (h, q): rows
        whose velocities the contact prescribes; ΔP = impulse_change (q,)."""
        if self._last_held is None or not same_entries(self._last_held[0], rows):
            self._last_held = rows, *self._held_system(rows)
        _, independent_rows, gradients = self._last_held
        if gradients is None:
            return self._gradients.solve(rhs, None, 0.0, target), np.zeros(impulse_change.size)
        row_velocities = independent_rows @ self.compliance.move(impulse_change)
        rates = np.concatenate([np.zeros(self._rows.shape[0]), row_velocities])
        solution = gradients.solve(rhs, rates, 0.0, target)
        return solution, independent_rows.T @ solution.multipliers[self._rows.shape[0] :]

    def _held_system(self, rows: sp.csr_array) -> tuple[sp.csr_array, ProjectedConjugateGradients | None]:
        """The rows of H (h, q) on dofs without constraints, and conjugate gradients under these rows and C; None where
        there are no such rows, or dependent ones."""
        rows_on_unknowns, constrained = sp.csr_array(rows @ self._basis), np.zeros(self._unknowns.count, dtype=bool)
        constrained[self._rows.indices] = True
        free = np.flatnonzero(
            (abs(rows_on_unknowns) @ constrained.astype(float) == 0.0) & (np.diff(rows_on_unknowns.indptr) > 0)
        )
        return sp.csr_array(rows[free]), self._gradients.holding(
            sp.csr_array(rows_on_unknowns[free])
        ) if free.size else None

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) or (d, r) on the unknowns, without constraints and contact; 0 on the other dofs."""
        unconstrained = self._conjugate_gradients(self._rows[:0])
        columns = b[self._unknowns.at].reshape(self._unknowns.count, -1)
        solutions = np.stack([unconstrained.solve(column).y for column in columns.T], axis=1)
        return self._unknowns.scattered(solutions.reshape(-1, *b.shape[1:]))

    def columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (d, r) of rows R (r, d), constraints kept, and the decrease of their multipliers (m, r)."""
        solutions = [self._gradients.solve(row) for row in rows[:, self._unknowns.at].toarray()]
        y = np.stack([solution.y for solution in solutions], axis=1)
        return self._unknowns.scattered(y), -np.stack([solution.multipliers for solution in solutions], axis=1)

    @cached_property
    def compliance(self) -> Compliance:
        """W̃ (q, q) of the layer, factored on first access."""
        basis = self._basis
        if not basis.shape[0]:
            return Compliance(np.zeros((0, 0)))
        with phase("compliance of the contact"):
            return self._compliance_of(self._layer())

    def _compliance_of(self, layer: NDArray[np.int64]) -> Compliance:
        basis, inside = self._basis, np.zeros(self._unknowns.count, dtype=bool)
        inside[layer] = True
        layer_constraints = np.flatnonzero(
            abs(self._rows) @ (~inside).astype(float) == 0.0
        )  # constraints of the layer alone
        layer_constraints = layer_constraints[np.diff(self._rows.indptr)[layer_constraints] > 0]
        rows = sp.csr_array(sp.vstack([self._rows[layer_constraints], basis], format="csr")[:, layer])
        schur = border(self._matrix[layer][:, layer], rows).schur()
        return Compliance(eliminate(schur, layer_constraints.size).compliance)

    def _layer(self) -> NDArray[np.int64]:
        """Unknowns near the contact, up to where the motion under uniform contact impulses has decayed."""
        basis = self._basis
        force = np.asarray(basis.T @ np.ones(basis.shape[0]))
        amplitude = np.abs(self._gradients.solve(force).y) * np.sqrt(self._matrix.diagonal())
        max_unknowns = max(_MIN_LAYER, _LAYER_PER_ROW * basis.shape[0])
        inside = np.zeros(self._unknowns.count, dtype=bool)
        front = np.unique(basis.indices)
        max_amplitude, columns = float(amplitude[front].max(initial=0.0)), sp.csr_array(self._rows.T)
        while (
            front.size
            and amplitude[front].max() > _LAYER_AMPLITUDE * max_amplitude
            and inside.sum() + front.size <= max_unknowns
        ):
            inside[front] = True
            neighbours = _neighbours(self._matrix, front)
            constraints = np.unique(_columns(columns, front))
            neighbours = np.unique(np.concatenate([neighbours, _columns(self._rows, constraints)]))
            front = neighbours[~inside[neighbours]]
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
