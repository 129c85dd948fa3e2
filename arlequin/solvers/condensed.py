"""The linear system of a step, condensed on its constraints and on the contact; checkpoints of what a stepper keeps."""

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

# The contact problem of a step: (B y without impulses (q,), what it found before, if it is called again) → what it
# finds, P (q,), and what gives rows H (h, q) with velocities H B y that do not depend on P while the statuses last, by
# which iterative solvers predict P; None where there are none.
ContactProblem = Callable[[Array, T | None], tuple[T, Array, Callable[[], sp.csr_array] | None]]

_HELD = 1e-12  # lowest eigenvalue, in units of the diagonal, below which a motion counts as held by constraints alone


@dataclass(frozen=True, eq=False)
class Predictor:
    """Solution without contact: B y (q,), multipliers λ (k,) of rigid parts, y (d,), and φ (m,) of the constraints.

    solve: gives y (d,) and φ (m,) under contact impulses P (q,), None for none, by the second half of a
    back-substitution. y and φ are found when they are first asked for: in a step with contact they are not.
    """

    solve: Callable[[Array | None], tuple[Array, Array]]
    contact: Array
    rigid: Array = field(default_factory=lambda: np.zeros(0))

    @cached_property
    def _found(self) -> tuple[Array, Array]:
        return self.solve(None)

    @property
    def y(self) -> Array:
        """y (d,)."""
        return self._found[0]

    @property
    def multipliers(self) -> Array:
        """φ (m,)."""
        return self._found[1]

    def under(self, impulse: Array) -> tuple[Array, Array]:
        """y and φ once the contact impulses P (q,) act."""
        return self.solve(impulse) if impulse.any() else self._found


class Condensed:
    """Solves A y = b + Cᵀφ + BᵀP, C y = c, with y given on the imposed dofs, for many b and P; B the contact's basis.

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

        former: one of a matrix of the same pattern, whose symbolic analysis is taken over; it becomes invalid.
        """
        self._unknowns = Unknowns(assembly, active)
        matrix = compressed(matrix)
        inner, self._to_given = self._unknowns.split(matrix)
        self._all, self._b = assembly.constraints, assembly.contact.basis if contact else assembly.contact.basis[:0]
        self.diagonal = matrix.diagonal()
        self._penalty: sp.csr_array | None = None
        rows = sp.csr_array(sp.vstack([self._all, self._b], format="csr"))
        self._rows_given = rows[:, self._unknowns.given] if self._unknowns.given.size else None
        with phase(f"factor of {inner.shape[0]:,} unknowns"):
            self.bordered = self._factored(assembly, inner, sp.csr_array(rows[:, self._unknowns.at]), former)
        self._multiplier_count = m = self._all.shape[0]
        with phase(f"condensation on {rows.shape[0]:,} constraints and contact rows"):
            self._eliminated = eliminate(self.bordered.schur(), m)
        self.compliance = Compliance(self._eliminated.compliance)

    def _factored(
        self, assembly: Assembly, matrix: sp.csr_array, rows: sp.csr_array, former: "Condensed | None"
    ) -> Bordered:
        """A factored; where only the constraints hold a part, A + CᵀDC, which has the same solution on C y = c.

        D makes each row's share about as stiff as A is on its dofs. The motions to be held are those of rigid parts
        (`soft_supports`), so that CᵀDC needs not be formed (`SupportedFactor`); where they are not, as in mechanisms,
        it is. Round-off may let A be factored though a motion is free: one inverse iteration y = A⁻¹b bounds the lowest
        eigenvalue of (A, diag A) by y·b / y·diag(A) y.
        """
        count = self._all.shape[0]
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
            found = border(matrix, rows)
            diagonal = matrix.diagonal()
            load = np.sqrt(diagonal) * np.random.default_rng(0).standard_normal(diagonal.size)
            moved = found.backward(found.forward(load))
            if float(load @ moved) > _HELD * float(moved @ (diagonal * moved)):
                return found
        except UserError:
            pass
        # dofs have units of their own: their shares of a row add as compliances, c²/a
        diagonal = matrix.diagonal()
        yielding = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
        sums = constraints.multiply(constraints) @ yielding
        scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0.0)
        self._penalty = sp.csr_array(constraints.T @ sp.diags_array(scale))
        return border(compressed(matrix + self._penalty @ constraints), rows)

    def predict(self, b: Array, c: Array, given: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), given (p,) values of y on the imposed dofs; or n columns of each.

        UserError where motions are imposed and `given` is None.
        """
        self._unknowns.check_given(given)
        right, m = b[self._unknowns.at], self._multiplier_count
        moved = None if given is None or self._rows_given is None else self._rows_given @ given
        if given is not None and self._to_given is not None:
            right = right - self._to_given @ given
        if self._penalty is not None:
            right = right + self._penalty @ (c if moved is None else c - moved[:m])
        forward = self.bordered.forward(right)
        reached = forward.border if moved is None else forward.border + moved
        multipliers, moved_contact = self._eliminated.resolved(c - reached[:m])
        contact = reached[m:] + moved_contact
        return Predictor(partial(self._solved, forward, given, multipliers), contact)

    def _solved(
        self, forward: ForwardPass, given: Array | None, multipliers: Array, impulse: Array | None
    ) -> tuple[Array, Array]:
        """y (d,) and φ by the multipliers φ (m,) without contact and the impulses P (q,); or n columns of each."""
        if impulse is None:
            impulse = np.zeros((self._b.shape[0], *multipliers.shape[1:]))
        else:
            multipliers = multipliers - self.constraint_response(impulse)
        push = np.concatenate([multipliers, impulse])
        y = self.bordered.backward(forward, push if push.any() else None)
        return self._unknowns.scattered(y, given), multipliers

    def correct(self, free: Predictor, impulse: Array) -> tuple[Array, Array]:
        """y and φ once the contact impulses P (q,) act."""
        return free.under(impulse)

    def solve(self, b: Array, c: Array, given: Array | None, impulses: ContactProblem[T]) -> tuple[Array, Array, T]:
        """y (d,) and φ (m,) with the contact solved in between, and what `impulses` found.

        impulses: see `ContactProblem`.
        """
        free = self.predict(b, c, given)
        found, push, _ = impulses(free.contact, None)
        return *self.correct(free, push), found

    def room_for_each(self, count: int) -> Array:
        """Room for the forward passes of so many right-hand sides."""
        return np.empty((count, sum(self._rows_shape)))

    def predict_each(self, b: Array, c: Array, half: Array, given: Array | None = None) -> tuple[Array, Array]:
        """φ (n, m) and B y (n, q) for P = 0 of fields (n, …), whose right-hand sides share passes over the factor.

        half: room for the forward passes, see `room_for_each`.
        """
        self._unknowns.check_given(given)
        m = self._multiplier_count
        right = b[:, self._unknowns.at]
        moved = None
        if given is not None and self._rows_given is not None:
            given = np.broadcast_to(given, (len(b), self._unknowns.given.size))
            moved = applied(self._rows_given, given)
            if self._to_given is not None:
                right = right - applied(self._to_given, given)
        if self._penalty is not None:
            right = right + applied(self._penalty, c if moved is None else c - moved[:, :m])
        reached = self.bordered.forward_each(right, half)
        if moved is not None:
            reached = reached + moved
        found, moved_contact = self._eliminated.resolved(np.asfortranarray((c - reached[:, :m]).T))
        multipliers, contact = np.ascontiguousarray(found.T), reached[:, m:] + moved_contact.T
        return multipliers, contact

    def correct_each(self, half: Array, multipliers: Array, impulse: Array, y: Array, given: Array | None) -> None:
        """y (n, d) once the contact impulses P (n, q) act; φ (n, m) is changed accordingly, half overwritten."""
        if impulse.any():
            multipliers -= self.constraint_response(impulse.T).T
        found = self.bordered.backward_each(half, np.concatenate([multipliers, impulse], axis=1))
        self._unknowns.scatter_each(found, y, given)

    def passes(self) -> "CondensedPasses | None":
        """What the two passes of a step read, for compiled loops; None of a diagonal or a distributed matrix."""
        if not (isinstance(self.bordered, BorderedFactor) and isinstance(self._eliminated, FullElimination)):
            return None
        own, u, p = self.bordered.passes(), self._unknowns.count, self._unknowns.given.size
        count = self._multiplier_count + self._b.shape[0]
        to_given = sp.csr_array((u, p)) if self._to_given is None else self._to_given
        rows_given = sp.csr_array((count, p)) if self._rows_given is None else self._rows_given
        penalty = sp.csr_array((u, self._multiplier_count)) if self._penalty is None else self._penalty
        return CondensedPasses(own, to_given, rows_given, penalty, *self._eliminated.arrays())

    @property
    def _rows_shape(self) -> tuple[int, int]:
        """Unknowns, and rows of the border."""
        return self._unknowns.count, self._multiplier_count + self._b.shape[0]

    @property
    def basis(self) -> sp.csr_array:
        """B (q, d)."""
        return self._b

    def columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (d, r) of rows R (r, d), constraints eliminated, and the decrease of their multipliers (m, r)."""
        forward = self.bordered.forward(np.asfortranarray(rows[:, self._unknowns.at].toarray().T))
        multipliers, _ = self._eliminated.resolved(forward.border[: self._multiplier_count])
        push = np.concatenate([-multipliers, np.zeros((self._b.shape[0], rows.shape[0]))])
        return self._unknowns.scattered(self.bordered.backward(forward, push)), multipliers

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) or (d, r) on the unknowns, without constraints and contact; 0 on the other dofs."""
        return self._unknowns.scattered(self.bordered.solve(b[self._unknowns.at]))

    def response(self, impulse: Array) -> Array:
        """Change of y (d,) under the contact impulses P (q,), constraints kept."""
        if not impulse.any():
            return np.zeros(self.diagonal.size)
        push = np.concatenate([-self.constraint_response(impulse), impulse])
        return self._unknowns.scattered(self.bordered.backward(self._nothing, push))

    def multipliers(self, missing: Array) -> Array:
        """Multipliers φ (m,) that change C y by `missing` (m,) without contact: S_CC⁻¹ of the independent rows."""
        return self._eliminated.resolved(missing)[0]

    @cached_property
    def _nothing(self) -> ForwardPass:
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

    def predict(self, b: Array, c: Array, given: Array | None = None) -> Predictor:
        """The solution for P = 0."""

    def columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (d, r) of rows R (r, d), constraints eliminated, and the decrease of their multipliers (m, r)."""

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) or (d, r) on the unknowns, without constraints and contact."""

    def solve(self, b: Array, c: Array, given: Array | None, impulses: ContactProblem[T]) -> tuple[Array, Array, T]:
        """y (d,) and φ (m,) with the contact solved in between, and what `impulses` found."""


class RigidCondensed:
    """Solves A y = b + Cᵀφ + Gᵀλ + BᵀP, C y = c, G y = g: `Condensed`, with rows G (k, d) that change at each pass.

    With Y = A⁻¹Gᵀ, C eliminated, and S = G Y: λ = S⁻¹(g − G y'), y = y' + Y λ on the solution y' without G. Rows of G
    that C implies (a body on a hinge of two points) are left out: their multipliers are 0.
    """

    def __init__(self, bare: ConstrainedSystem, rows: sp.csr_array) -> None:
        self._bare = bare
        self._count = rows.shape[0]
        self._kept = np.zeros(0, dtype=np.int64)
        if not self._count:
            return
        columns, multipliers = bare.columns(rows)
        schur = rows @ columns
        self._kept, self._rows = np.arange(self._count), rows
        self._columns, self._multipliers = columns, multipliers
        if len(multipliers):
            # the responses without C set the scale: what is left of them where C implies a row is round-off
            kept = independent(schur, rows.multiply(rows) @ (1.0 / bare.diagonal))
            self._kept, self._rows = kept, sp.csr_array(rows[kept])
            self._columns, self._multipliers, schur = columns[:, kept], multipliers[:, kept], schur[np.ix_(kept, kept)]
        if self._kept.size:
            self._schur = scipy.linalg.cho_factor(0.5 * (schur + schur.T), check_finite=False)
            self._answers = bare.basis @ self._columns

    @cached_property
    def compliance(self) -> ComplianceOperator:
        """The compliance with the rows G held."""
        if not self._kept.size:
            return self._bare.compliance
        return RigidCompliance(self._bare.compliance, self._answers, self._inverse)

    def predict(self, b: Array, c: Array, g: Array, given: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), g (k,), given (p,) values of y on the imposed dofs."""
        free = self._bare.predict(b, c, given)
        inner = np.zeros(self._count)
        if not self._kept.size:
            return replace(free, rigid=inner)
        own = self._inverse(g[self._kept] - self._rows @ free.y)
        inner[self._kept] = own

        def solve(impulse: Array | None) -> tuple[Array, Array]:
            rigid = own if impulse is None else own - self._inverse(self._answers.T @ impulse)
            y, multipliers = (free.y, free.multipliers) if impulse is None else free.solve(impulse)
            return y + self._columns @ rigid, multipliers - self._multipliers @ rigid

        return Predictor(solve, free.contact + self._answers @ own, inner)

    def correct(self, free: Predictor, impulse: Array) -> tuple[Array, Array, Array]:
        """y, φ and λ once the contact impulses P (q,) act."""
        inner = free.rigid
        if impulse.any() and self._kept.size:
            inner = free.rigid.copy()
            inner[self._kept] -= self._inverse(self._answers.T @ impulse)
        return *free.under(impulse), inner

    def _inverse(self, right: Array) -> Array:
        """S⁻¹ b."""
        return np.asarray(scipy.linalg.cho_solve(self._schur, right, check_finite=False))


class RigidCompliance:
    """The compliance W − V S⁻¹ Vᵀ with the rows G held; V = B Y (q, k)."""

    def __init__(self, bare: ComplianceOperator, answers: Array, inverse: Callable[[Array], Array]) -> None:
        self._bare, self._answers, self._inverse = bare, answers, inverse

    def of(self, rows: sp.csr_array) -> Array:
        """R W Rᵀ (r, r), symmetric, of rows R (r, q) on the basis."""
        return self._less(self._bare.of(rows), rows @ self._answers)

    def chosen(self, rows: NDArray[np.int64]) -> Array:
        """W between the rows (r,) of the basis, (r, r), symmetric."""
        return self._less(self._bare.chosen(rows), self._answers[rows])

    def move(self, impulse: Array) -> Array:
        """W P (q,) of impulses P (q,)."""
        return self._bare.move(impulse) - self._answers @ self._inverse(self._answers.T @ impulse)

    def _less(self, whole: Array, answers: Array) -> Array:
        out = whole - answers @ self._inverse(answers.T)
        return np.ascontiguousarray(0.5 * (out + out.T))


@runtime_checkable
class Checkpointable(Protocol):
    """A stepper whose steps depend, if only in their last digits, on factors or columns that earlier steps made."""

    def state_dict(self) -> Any:
        """What restores it: dataclasses, tuples, arrays, none of which is ever changed in place."""
        ...

    def load_state_dict(self, state: Any) -> None:
        """Restores the state of another stepper of the same system, scheme and step; this one took no steps."""
        ...


class DelegatedCheckpoint:
    """Checkpoint of a stepper that keeps what `_source` keeps, and nothing beside it."""

    _source: Checkpointable

    def state_dict(self) -> Any:
        """That of the source."""
        return self._source.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self._source.load_state_dict(state)
