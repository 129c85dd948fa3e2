"""The linear system of a step, condensed on its constraints and on the contact; steppers with checkpoints."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.linalg.compliance import Compliance, ComplianceOperator
from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.linalg.bordered import Bordered, BorderedFactor, border
from arlequin.models.linalg.constraints import FullElimination, eliminate, independent
from arlequin.models.linalg.forward_pass import ForwardPass
from arlequin.models.linalg.matrix import only_diagonal
from arlequin.models.linalg.supported import SupportedFactor
from arlequin.models.parallel.matrix import DistributedMatrix, compressed
from arlequin.models.phases import phase
from arlequin.models.types import Array
from arlequin.solvers.passes import CondensedPasses
from arlequin.solvers.supports import soft_supports
from arlequin.solvers.unknowns import Unknowns
from arlequin.system.assembly import Assembly

T = TypeVar("T")

# The contact problem of a step: (B y without impulses (q,), its last solution, if it is called again) → its solution,
# P (q,), and a function that returns the rows H (h, q) whose velocities H B y do not depend on P while the statuses
# last, by which iterative solvers predict P; None where there are no such rows.
ContactProblem = Callable[[Array, T | None], tuple[T, Array, Callable[[], sp.csr_array] | None]]

_MIN_EIGENVALUE = 1e-12  # in units of the diagonal: below it, constraints alone hold a motion


@dataclass(frozen=True, eq=False)
class Predictor:
    """Solution without contact: B y (q,), multipliers λ (k,) of rigid parts, y (d,), and φ (m,) of the constraints.

    solve: y (d,) and φ (m,) under contact impulses P (q,), None for none, by a backward substitution. y and φ without
    contact are computed on first access: a step with contact does not need them.
    """

    solve: Callable[[Array | None], tuple[Array, Array]]
    contact: Array
    rigid: Array = field(default_factory=lambda: np.zeros(0))

    @cached_property
    def _without_impulses(self) -> tuple[Array, Array]:
        return self.solve(None)

    @property
    def y(self) -> Array:
        """Solution y (d,) without contact impulses."""
        return self._without_impulses[0]

    @property
    def multipliers(self) -> Array:
        """Multipliers φ (m,) without contact impulses."""
        return self._without_impulses[1]

    def under(self, impulses: Array) -> tuple[Array, Array]:
        """y and φ under the contact impulses P (q,)."""
        return self.solve(impulses) if impulses.any() else self._without_impulses


class Condensed:
    """Solves A y = b + Cᵀφ + BᵀP, C y = c, with y known on the imposed dofs, for many b and P; B the contact's basis.

    A is factored once with the border R = [C; B] by a sparse Cholesky factor, which gives S = R A⁻¹ Rᵀ. The
    constraints are eliminated from the contact (those that others, or imposed motions, imply are left out: their
    multipliers are 0):

        W = S_BB − S_BC S_CC⁻¹ S_CB        (q, q), `compliance`.

    A step is the forward pass of `predict`, the contact problem on W, and the backward pass of `correct`. For an
    example see docs/how-to/scheme.md.
    """

    def __init__(
        self,
        assembly: Assembly,
        matrix: sp.csr_array,
        active: NDArray[np.bool_] | None = None,
        former: "Condensed | None" = None,
        contact: bool = True,
    ) -> None:
        """`active` (d,) restricts the unknowns (default: all dofs that are not imposed); contact: whether contact
        impulses will act.

        former: system of a matrix of the same pattern, whose symbolic analysis is reused; it becomes invalid.
        """
        self._unknowns = Unknowns(assembly, active)
        matrix = compressed(matrix)
        inner, self._to_imposed = self._unknowns.split(matrix)
        self._constraints, self._basis = (
            assembly.constraints,
            assembly.contact.basis if contact else assembly.contact.basis[:0],
        )
        self.diagonal = matrix.diagonal()
        self._penalty: sp.csr_array | None = None
        rows = sp.csr_array(sp.vstack([self._constraints, self._basis], format="csr"))
        self._rows_imposed = rows[:, self._unknowns.imposed_dofs] if self._unknowns.imposed_dofs.size else None
        with phase(f"factor of {inner.shape[0]:,} unknowns"):
            self.bordered = self._factored(assembly, inner, sp.csr_array(rows[:, self._unknowns.at]), former)
        self._multiplier_count = m = self._constraints.shape[0]
        with phase(f"condensation on {rows.shape[0]:,} constraints and contact rows"):
            self._eliminated = eliminate(self.bordered.schur(), m)
        self.compliance = Compliance(self._eliminated.compliance)

    def _factored(
        self, assembly: Assembly, matrix: sp.csr_array, rows: sp.csr_array, former: "Condensed | None"
    ) -> Bordered:
        """Factor of A or, where only the constraints hold a part, of A + CᵀDC, which has the same solution on C y = c.

        D makes each row about as stiff as A is on its dofs. Where the motions held by constraints alone are rigid
        motions of parts (`soft_supports`), CᵀDC is not formed (`SupportedFactor`); otherwise, as in mechanisms, it is.
        Round-off may let the factorisation of A pass though a motion is free: one inverse iteration y = A⁻¹b bounds the
        lowest eigenvalue of (A, diag A) by y·b / y·diag(A) y.
        """
        count = self._constraints.shape[0]
        if former is not None and (former._penalty is None or isinstance(former.bordered, SupportedFactor)):
            self._penalty = former._penalty
            return former.bordered.refactorise(matrix)
        if not count:
            return border(matrix, rows)
        constraints = rows[:count]
        try:
            if not isinstance(matrix, DistributedMatrix) and only_diagonal(matrix) is None:
                supports = soft_supports(assembly, matrix, self._unknowns)
                if supports.size:
                    supported = SupportedFactor(matrix, rows, count, supports)
                    self._penalty = sp.csr_array(constraints.T @ sp.diags_array(supported.penalty))
                    return supported
            factor = border(matrix, rows)
            diagonal = matrix.diagonal()
            load = np.sqrt(diagonal) * np.random.default_rng(0).standard_normal(diagonal.size)
            y = factor.backward(factor.forward(load))
            if float(load @ y) > _MIN_EIGENVALUE * float(y @ (diagonal * y)):
                return factor
        except UserError:
            pass
        # dofs differ in their units: their contributions to a row add as compliances, c²/a
        diagonal = matrix.diagonal()
        yielding = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
        sums = constraints.multiply(constraints) @ yielding
        scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0.0)
        self._penalty = sp.csr_array(constraints.T @ sp.diags_array(scale))
        return border(compressed(matrix + self._penalty @ constraints), rows)

    def predict(self, b: Array, c: Array, imposed: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), imposed (p,): y on the imposed dofs; or n columns of each.

        UserError where motions are imposed and `imposed` is None.
        """
        self._unknowns.check_imposed(imposed)
        rhs, m = b[self._unknowns.at], self._multiplier_count
        imposed_part = None if imposed is None or self._rows_imposed is None else self._rows_imposed @ imposed
        if imposed is not None and self._to_imposed is not None:
            rhs = rhs - self._to_imposed @ imposed
        if self._penalty is not None:
            rhs = rhs + self._penalty @ (c if imposed_part is None else c - imposed_part[:m])
        forward = self.bordered.forward(rhs)
        rows_y = forward.border if imposed_part is None else forward.border + imposed_part
        multipliers, contact_change = self._eliminated.resolved(c - rows_y[:m])
        contact = rows_y[m:] + contact_change
        return Predictor(partial(self._solved, forward, imposed, multipliers), contact)

    def _solved(
        self, forward: ForwardPass, imposed: Array | None, multipliers: Array, impulse: Array | None
    ) -> tuple[Array, Array]:
        """y (d,) and φ by the multipliers φ (m,) without contact and the impulses P (q,); or n columns of each."""
        if impulse is None:
            impulse = np.zeros((self._basis.shape[0], *multipliers.shape[1:]))
        else:
            multipliers = multipliers - self.constraint_response(impulse)
        border_impulses = np.concatenate([multipliers, impulse])
        y = self.bordered.backward(forward, border_impulses if border_impulses.any() else None)
        return self._unknowns.scattered(y, imposed), multipliers

    def correct(self, predictor: Predictor, impulse: Array) -> tuple[Array, Array]:
        """y and φ under the contact impulses P (q,)."""
        return predictor.under(impulse)

    def solve(self, b: Array, c: Array, imposed: Array | None, impulses: ContactProblem[T]) -> tuple[Array, Array, T]:
        """y (d,) and φ (m,) by forward pass, contact problem and backward pass; and the contact solution.

        impulses: see `ContactProblem`.
        """
        predictor = self.predict(b, c, imposed)
        contact_solution, impulse, _ = impulses(predictor.contact, None)
        return *self.correct(predictor, impulse), contact_solution

    def room_for_each(self, count: int) -> Array:
        """Work array for the forward passes of `count` right-hand sides."""
        return np.empty((count, sum(self._rows_shape)))

    def predict_each(self, b: Array, c: Array, half: Array, imposed: Array | None = None) -> tuple[Array, Array]:
        """φ (n, m) and B y (n, q) for P = 0 of fields (n, …), whose right-hand sides share passes over the factor.

        half: work array of the forward passes, see `room_for_each`.
        """
        self._unknowns.check_imposed(imposed)
        m = self._multiplier_count
        rhs = b[:, self._unknowns.at]
        imposed_part = None
        if imposed is not None and self._rows_imposed is not None:
            imposed = np.broadcast_to(imposed, (len(b), self._unknowns.imposed_dofs.size))
            imposed_part = applied(self._rows_imposed, imposed)
            if self._to_imposed is not None:
                rhs = rhs - applied(self._to_imposed, imposed)
        if self._penalty is not None:
            rhs = rhs + applied(self._penalty, c if imposed_part is None else c - imposed_part[:, :m])
        rows_y = self.bordered.forward_each(rhs, half)
        if imposed_part is not None:
            rows_y = rows_y + imposed_part
        phi, contact_change = self._eliminated.resolved(np.asfortranarray((c - rows_y[:, :m]).T))
        multipliers, contact = np.ascontiguousarray(phi.T), rows_y[:, m:] + contact_change.T
        return multipliers, contact

    def correct_each(self, half: Array, multipliers: Array, impulse: Array, y: Array, imposed: Array | None) -> None:
        """y (n, d) under the contact impulses P (n, q); φ (n, m) is updated, half overwritten."""
        if impulse.any():
            multipliers -= self.constraint_response(impulse.T).T
        solutions = self.bordered.backward_each(half, np.concatenate([multipliers, impulse], axis=1))
        self._unknowns.scatter_each(solutions, y, imposed)

    def passes(self) -> "CondensedPasses | None":
        """Arrays of the forward and the backward pass for compiled loops; None for a diagonal or distributed matrix."""
        if not (isinstance(self.bordered, BorderedFactor) and isinstance(self._eliminated, FullElimination)):
            return None
        factor_passes, u, p = self.bordered.passes(), self._unknowns.count, self._unknowns.imposed_dofs.size
        count = self._multiplier_count + self._basis.shape[0]
        to_imposed = sp.csr_array((u, p)) if self._to_imposed is None else self._to_imposed
        rows_imposed = sp.csr_array((count, p)) if self._rows_imposed is None else self._rows_imposed
        penalty = sp.csr_array((u, self._multiplier_count)) if self._penalty is None else self._penalty
        return CondensedPasses(factor_passes, to_imposed, rows_imposed, penalty, *self._eliminated.arrays())

    @property
    def _rows_shape(self) -> tuple[int, int]:
        """Numbers of unknowns and of border rows."""
        return self._unknowns.count, self._multiplier_count + self._basis.shape[0]

    @property
    def basis(self) -> sp.csr_array:
        """B (q, d)."""
        return self._basis

    def columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (d, r) of rows R (r, d), constraints eliminated, and the decrease of their multipliers (m, r)."""
        forward = self.bordered.forward(np.asfortranarray(rows[:, self._unknowns.at].toarray().T))
        multipliers, _ = self._eliminated.resolved(forward.border[: self._multiplier_count])
        border_impulses = np.concatenate([-multipliers, np.zeros((self._basis.shape[0], rows.shape[0]))])
        return self._unknowns.scattered(self.bordered.backward(forward, border_impulses)), multipliers

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) or (d, r) on the unknowns, without constraints and contact; 0 on the other dofs."""
        return self._unknowns.scattered(self.bordered.solve(b[self._unknowns.at]))

    def response(self, impulse: Array) -> Array:
        """Change of y (d,) under the contact impulses P (q,), constraints kept."""
        if not impulse.any():
            return np.zeros(self.diagonal.size)
        border_impulses = np.concatenate([-self.constraint_response(impulse), impulse])
        return self._unknowns.scattered(self.bordered.backward(self._zero_pass, border_impulses))

    def multipliers(self, missing: Array) -> Array:
        """Multipliers φ (m,) that change C y by `missing` (m,) without contact: S_CC⁻¹ of the independent rows."""
        return self._eliminated.resolved(missing)[0]

    @cached_property
    def _zero_pass(self) -> ForwardPass:
        return self.bordered.forward(np.zeros(self._rows_shape[0]))

    def constraint_response(self, impulse: Array) -> Array:
        """The decrease of the multipliers φ (m,) by the contact impulses P (q,), or (m, n) by (q, n)."""
        return self._eliminated.response(impulse)


class ConstrainedSystem(Protocol):
    """A y = b + Cᵀφ + BᵀP, C y = c, as `Condensed`, `SaddleSystem` or conjugate gradients solve it."""

    diagonal: Array

    @property
    def basis(self) -> sp.csr_array:
        """B (q, d)."""

    @property
    def compliance(self) -> Compliance:
        """W (q, q), exact or nearly so."""

    def predict(self, b: Array, c: Array, imposed: Array | None = None) -> Predictor:
        """The solution for P = 0."""

    def columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (d, r) of rows R (r, d), constraints eliminated, and the decrease of their multipliers (m, r)."""

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) or (d, r) on the unknowns, without constraints and contact."""

    def solve(self, b: Array, c: Array, imposed: Array | None, impulses: ContactProblem[T]) -> tuple[Array, Array, T]:
        """y (d,), φ (m,) and the solution of the contact problem `impulses`."""


class RigidCondensed:
    """Solves A y = b + Cᵀφ + Gᵀλ + BᵀP, C y = c, G y = g: `Condensed`, with rows G (k, d) that change at each pass.

    With Y = A⁻¹Gᵀ, C eliminated, and S = G Y: λ = S⁻¹(g − G y'), y = y' + Y λ on the solution y' without G. Rows of G
    that C implies (a body on a hinge of two points) are left out: their multipliers are 0.
    """

    def __init__(self, system: ConstrainedSystem, rows: sp.csr_array) -> None:
        self._system = system
        self._count = rows.shape[0]
        self._independent_rows = np.zeros(0, dtype=np.int64)
        if not self._count:
            return
        columns, multipliers = system.columns(rows)
        schur = rows @ columns
        self._independent_rows, self._rows = np.arange(self._count), rows
        self._columns, self._multipliers = columns, multipliers
        if len(multipliers):
            # the responses without C set the scale: where C implies a row, only round-off of them remains
            independent_rows = independent(schur, rows.multiply(rows) @ (1.0 / system.diagonal))
            self._independent_rows, self._rows = independent_rows, sp.csr_array(rows[independent_rows])
            self._columns, self._multipliers, schur = (
                columns[:, independent_rows],
                multipliers[:, independent_rows],
                schur[np.ix_(independent_rows, independent_rows)],
            )
        if self._independent_rows.size:
            self._schur = scipy.linalg.cho_factor(0.5 * (schur + schur.T), check_finite=False)
            self._contact_response = system.basis @ self._columns

    @cached_property
    def compliance(self) -> ComplianceOperator:
        """The compliance under G y = g."""
        if not self._independent_rows.size:
            return self._system.compliance
        return RigidCompliance(self._system.compliance, self._contact_response, self._inverse)

    def predict(self, b: Array, c: Array, g: Array, imposed: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), g (k,), imposed (p,): y on the imposed dofs."""
        free = self._system.predict(b, c, imposed)
        rigid = np.zeros(self._count)
        if not self._independent_rows.size:
            return replace(free, rigid=rigid)
        lam_free = self._inverse(g[self._independent_rows] - self._rows @ free.y)
        rigid[self._independent_rows] = lam_free

        def solve(impulse: Array | None) -> tuple[Array, Array]:
            lam = lam_free if impulse is None else lam_free - self._inverse(self._contact_response.T @ impulse)
            y, multipliers = (free.y, free.multipliers) if impulse is None else free.solve(impulse)
            return y + self._columns @ lam, multipliers - self._multipliers @ lam

        return Predictor(solve, free.contact + self._contact_response @ lam_free, rigid)

    def correct(self, predictor: Predictor, impulse: Array) -> tuple[Array, Array, Array]:
        """y, φ and λ under the contact impulses P (q,)."""
        rigid = predictor.rigid
        if impulse.any() and self._independent_rows.size:
            rigid = predictor.rigid.copy()
            rigid[self._independent_rows] -= self._inverse(self._contact_response.T @ impulse)
        return *predictor.under(impulse), rigid

    def _inverse(self, b: Array) -> Array:
        """S⁻¹ b."""
        return np.asarray(scipy.linalg.cho_solve(self._schur, b, check_finite=False))


class RigidCompliance:
    """The compliance W − V S⁻¹ Vᵀ under G y = g; V = B Y (q, k)."""

    def __init__(
        self, compliance: ComplianceOperator, contact_response: Array, inverse: Callable[[Array], Array]
    ) -> None:
        self._compliance, self._contact_response, self._inverse = compliance, contact_response, inverse

    def of(self, rows: sp.csr_array) -> Array:
        """R W Rᵀ (r, r), symmetric, of rows R (r, q) on the basis."""
        return self._without_rigid(self._compliance.of(rows), rows @ self._contact_response)

    def chosen(self, rows: NDArray[np.int64]) -> Array:
        """W between the rows (r,) of the basis, (r, r), symmetric."""
        return self._without_rigid(self._compliance.chosen(rows), self._contact_response[rows])

    def move(self, impulse: Array) -> Array:
        """W P (q,) of impulses P (q,)."""
        return self._compliance.move(impulse) - self._contact_response @ self._inverse(
            self._contact_response.T @ impulse
        )

    def _without_rigid(self, compliance: Array, contact_response: Array) -> Array:
        out = compliance - contact_response @ self._inverse(contact_response.T)
        return np.ascontiguousarray(0.5 * (out + out.T))


@runtime_checkable
class Checkpointable(Protocol):
    """A stepper whose steps depend, if only in their last digits, on factors or columns of earlier steps."""

    def state_dict(self) -> Any:
        """Checkpoint of the stepper: dataclasses, tuples, arrays, none of which is ever changed in place."""
        ...

    def load_state_dict(self, state: Any) -> None:
        """Restore the checkpoint of a stepper of the same system, scheme and step, before the first step."""
        ...


class DelegatedCheckpoint:
    """Checkpoint of a stepper whose only such factors or columns are those of `_source`."""

    _source: Checkpointable

    def state_dict(self) -> Any:
        """Checkpoint of the source."""
        return self._source.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self._source.load_state_dict(state)
