"""The linear system of a step, condensed on its constraints and on the contact; checkpoints of what a stepper keeps."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.linalg.compliance import CompactColumns, Compliance, ComplianceOperator
from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.linalg.batched_factor import BatchedFactor
from arlequin.models.linalg.factor import CholeskyFactor, Factor, factorise
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

_DEPENDENT = 1e-12  # share of a constraint that is not implied by others, below which it is left out
_HELD = 1e-12  # lowest eigenvalue, in units of the diagonal, below which a motion counts as held by constraints alone
_COLUMNS = 32  # right-hand sides solved together: a block stays in cache


@dataclass(frozen=True)
class Predictor:
    """Solution without contact: y (d,), multipliers φ (m,) of the constraints and λ (k,) of rigid parts, B y (q,)."""

    y: Array
    multipliers: Array
    contact: Array
    rigid: Array = field(default_factory=lambda: np.zeros(0))


class Condensed:
    """Solves A y = b + Cᵀφ + BᵀP, C y = c, with y given on the imposed dofs, for many b and P; B the contact's basis.

    A is factored once, A⁻¹Cᵀ (d, m) and the Schur complement C A⁻¹ Cᵀ are precomputed (constraints that others, or
    imposed motions, imply are left out: their multipliers are 0), and the constraints are eliminated from the contact

        W = B A⁻¹ Bᵀ − B A⁻¹ Cᵀ (C A⁻¹ Cᵀ)⁻¹ C A⁻¹ Bᵀ        (q, q), `compliance`,

    and a step is one back-substitution for `free` and one product with X for `correct`.
    """

    def __init__(
        self,
        assembly: Assembly,
        matrix: sp.csr_array,
        active: NDArray[np.bool_] | None = None,
        former: "Condensed | None" = None,
    ) -> None:
        """`active` (d,) restricts the unknowns (default: all dofs that are not imposed).

        former: one of a matrix of the same pattern, whose symbolic analysis is taken over; it becomes invalid.
        """
        unknown = np.flatnonzero(assembly.free if active is None else active)
        self._count = unknown.size
        self._given = assembly.imposed_dofs
        whole = unknown.size == assembly.dof_count
        self._active: Any = slice(None) if whole else unknown  # a slice spares a copy
        matrix = sp.csr_array(matrix)
        free_rows = matrix if whole else matrix[self._active]
        to_given = free_rows[:, self._given]
        self._to_given = to_given if to_given.nnz else None  # a diagonal mass gives none

        self._all, self._b, self._basis_product = (
            assembly.constraints,
            assembly.contact.basis,
            assembly.contact.basis_product,
        )
        self._penalty: sp.csr_array | None = None
        inner = free_rows if whole else free_rows[:, self._active]
        if former is not None and isinstance(former.factor, CholeskyFactor):
            self.factor: Factor = former.factor.refactorise(inner)
        else:
            self.factor = self._factor(inner)
        self.diagonal = matrix.diagonal()
        c = sp.csr_array(assembly.constraints[:, self._active])
        response = self._solve_columns(c)
        # constraints that others, or imposed motions, imply already are left out
        self._kept = independent(c @ response)
        self._multiplier_count = c.shape[0]
        self._c = sp.csr_array(assembly.constraints[self._kept])
        c = sp.csr_array(c[self._kept])
        response_c = response[:, self._kept]
        self._response_c = np.asfortranarray(response_c)
        if self._kept.size:
            schur = c @ response_c
            self._schur = scipy.linalg.cho_factor(0.5 * (schur + schur.T))
        self._from_c = CompactColumns.of(response_c, unknown)
        self._inner_c = c
        self.compliance = Compliance(sp.csr_array(self._b[:, self._active]), unknown, self._contact_columns)

    def _contact_columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (u, r) of rows of the contact's basis, constraints eliminated, and their share (m, r) of those."""
        columns = self._solve_columns(rows)
        multipliers = np.zeros((self._multiplier_count, rows.shape[0]))
        if self._kept.size:
            own = scipy.linalg.cho_solve(self._schur, self._inner_c @ columns)
            columns -= self._response_c @ own
            multipliers[self._kept] = own
        return columns, multipliers

    def _factor(self, matrix: sp.csr_array) -> Factor:
        """A factored; where only the constraints hold a part, A + CᵀDC, which has the same solution on C y = c.

        D makes each row's share as stiff as A is on its dofs. Round-off may let A be factored though a motion is free:
        one inverse iteration y = A⁻¹b bounds the lowest eigenvalue of (A, diag A) by y·b / y·diag(A) y.
        """
        try:
            factor = factorise(matrix)
            if not self._all.shape[0]:
                return factor
            diagonal = matrix.diagonal()
            load = np.sqrt(diagonal) * np.random.default_rng(0).standard_normal(diagonal.size)
            moved = factor.solve(load)
            if float(load @ moved) > _HELD * float(moved @ (diagonal * moved)):
                return factor
        except UserError:
            if not self._all.shape[0]:
                raise
        rows = sp.csr_array(self._all[:, self._active])
        # dofs have units of their own: their shares of a row add as compliances, c²/a
        diagonal = matrix.diagonal()
        yielding = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
        sums = rows.multiply(rows) @ yielding
        scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0.0)
        self._penalty = sp.csr_array(rows.T @ sp.diags_array(scale))
        return factorise(sp.csr_array(matrix + self._penalty @ rows))

    def _solve_columns(self, rows: sp.csr_array) -> Array:
        """X = A⁻¹Rᵀ, in blocks of columns."""
        out = np.empty((self._count, rows.shape[0]), order="F")
        for first in range(0, rows.shape[0], _COLUMNS):
            block = rows[first : first + _COLUMNS].toarray().T
            out[:, first : first + block.shape[1]] = self.factor.solve(np.asfortranarray(block))
        return out

    def predict(self, b: Array, c: Array, given: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), given (p,) values of y on the imposed dofs."""
        right, y = b[self._active], np.zeros(b.shape[0])
        if given is not None:
            y[self._given] = given
            if self._to_given is not None:
                right = right - self._to_given @ given
        if self._penalty is not None:
            right = right + self._penalty @ (c - self._all @ y)
        solution = self.factor.solve(right)
        if solution.size == y.size:
            y = solution
        else:
            y[self._active] = solution
        multipliers = np.zeros(self._multiplier_count)
        if self._kept.size:
            rest = c[self._kept] - self._c @ y
            own = scipy.linalg.lapack.dpotrs(self._schur[0], rest, lower=self._schur[1])[0]  # cho_solve, unchecked
            self._from_c.add(y, own)
            multipliers[self._kept] = own
        return Predictor(y, multipliers, self._basis_product(y))

    def predict_each(self, b: Array, c: Array, y: Array, given: Array | None = None) -> Predictor:
        """`predict` for fields (n, …), the solutions into y (n, d): right-hand sides share passes over the factor."""
        whole = isinstance(self._active, slice)
        right = b if whole else b[:, self._active]
        if not whole:
            y[:] = 0.0
        if given is not None:
            y[:, self._given] = given
            if self._to_given is not None:
                right = right - applied(self._to_given, np.broadcast_to(given, (len(b), self._given.size)))
        if self._penalty is not None:
            right = right + applied(self._penalty, c if whole else c - applied(self._all, y))
        if whole:
            self._side.solve(right, y)
        elif self._count:
            y[:, self._active] = self._side.solve(right)
        multipliers = np.zeros((len(b), self._multiplier_count))
        if self._kept.size:
            rest = c[:, self._kept] - applied(self._c, y)
            own = scipy.linalg.cho_solve(self._schur, rest.T).T
            self._from_c.add_each(y, own)
            multipliers[:, self._kept] = own
        return Predictor(y, multipliers, self._basis_product(y))

    def correct_each(self, y: Array, multipliers: Array, impulse: Array) -> None:
        """Adds the response to the contact impulses P (n, q) to y (n, d) and φ (n, m)."""
        if impulse.any():
            self.compliance.respond_each(impulse, y, multipliers)

    @cached_property
    def _side(self) -> BatchedFactor:
        return BatchedFactor.of(self.factor)

    @property
    def basis(self) -> sp.csr_array:
        """B (q, d)."""
        return self._b

    def columns(self, rows: sp.csr_array) -> tuple[Array, Array]:
        """A⁻¹Rᵀ (d, r) of rows R (r, d), constraints eliminated, and the decrease of their multipliers (m, r)."""
        out = np.zeros((self._b.shape[1], rows.shape[0]))
        out[self._active], multipliers = self._contact_columns(sp.csr_array(rows[:, self._active]))
        return out, multipliers

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) or (d, r) on the unknowns, without constraints and contact; 0 on the other dofs."""
        out = np.zeros_like(b)
        out[self._active] = self.factor.solve(np.asfortranarray(b[self._active]))
        return out

    def correct(self, free: Predictor, impulse: Array) -> tuple[Array, Array]:
        """y and φ once the contact impulses P (q,) act."""
        if not impulse.any():
            return free.y, free.multipliers
        y = free.y.copy()
        self.compliance.respond(impulse, y)
        return y, free.multipliers - self.constraint_response(impulse)

    def response(self, impulse: Array) -> Array:
        """Change of y (d,) under the contact impulses P (q,), constraints kept."""
        y = np.zeros(self._b.shape[1])
        if impulse.any():
            self.compliance.respond(impulse, y)
        return y

    def constraint_response(self, impulse: Array) -> Array:
        """The decrease of the multipliers φ (m,) by the contact impulses P (q,)."""
        return self.compliance.release(impulse, self._multiplier_count)


def independent(schur: Array, size: Array | None = None) -> NDArray[np.int64]:
    """Rows of C that are independent, by pivoted Cholesky of C A⁻¹ Cᵀ with unit diagonal.

    size (m,): that of the rows, about C A⁻¹ Cᵀ before other constraints took their share; by default the largest.
    """
    if not schur.size:
        return np.zeros(0, dtype=np.int64)
    diagonal = schur.diagonal().copy()
    rows = np.flatnonzero(diagonal > _DEPENDENT * (diagonal.max() if size is None else size))
    if not rows.size:
        return rows.astype(np.int64)
    scale = 1.0 / np.sqrt(diagonal[rows])
    scaled = schur[np.ix_(rows, rows)] * scale * scale[:, None]
    _, pivots, rank, _ = scipy.linalg.lapack.dpstrf(0.5 * (scaled + scaled.T), tol=_DEPENDENT)
    return np.sort(rows[pivots[:rank] - 1]).astype(np.int64)


class RigidCondensed:
    """Solves A y = b + Cᵀφ + Gᵀλ + BᵀP, C y = c, G y = g: `Condensed`, with rows G (k, d) that change at each pass.

    With Y = A⁻¹Gᵀ, C eliminated, and S = G Y: λ = S⁻¹(g − G y'), y = y' + Y λ on the solution y' without G. Rows of G
    that C implies (a body on a hinge of two points) are left out: their multipliers are 0.
    """

    def __init__(self, bare: Condensed, rows: sp.csr_array) -> None:
        self._bare = bare
        self._count = rows.shape[0]
        self.compliance: ComplianceOperator = bare.compliance
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
            self.compliance = RigidCompliance(bare.compliance, self._answers, self._inverse)

    def predict(self, b: Array, c: Array, g: Array, given: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), g (k,), given (p,) values of y on the imposed dofs."""
        free = self._bare.predict(b, c, given)
        inner = np.zeros(self._count)
        if not self._kept.size:
            return replace(free, rigid=inner)
        own = self._inverse(g[self._kept] - self._rows @ free.y)
        inner[self._kept] = own
        y, contact = free.y + self._columns @ own, free.contact + self._answers @ own
        return Predictor(y, free.multipliers - self._multipliers @ own, contact, inner)

    def correct(self, free: Predictor, impulse: Array) -> tuple[Array, Array, Array]:
        """y, φ and λ once the contact impulses P (q,) act."""
        if not impulse.any():
            return free.y, free.multipliers, free.rigid
        y = free.y + self._bare.response(impulse)
        multipliers = free.multipliers - self._bare.constraint_response(impulse)
        if not self._kept.size:
            return y, multipliers, free.rigid
        own = -self._inverse(self._answers.T @ impulse)
        inner = free.rigid.copy()
        inner[self._kept] += own
        return y + self._columns @ own, multipliers - self._multipliers @ own, inner

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


class CheckpointedColumns:
    """Checkpoint of the columns of one condensed matrix: which of them were made together."""

    _condensed: Condensed

    def state_dict(self) -> Any:
        """Rows of the contact's basis, in the order of their requests."""
        return self._condensed.compliance.state_dict

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self._condensed.compliance.load_state_dict(state)
