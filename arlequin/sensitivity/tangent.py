"""Tangents: derivatives of the steps of a run by a few parameters, forwards in time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.linalg.compliance import Compliance
from arlequin.linalg.products import applied
from arlequin.models.types import Array, Indices
from arlequin.sensitivity.event import Event, PassedEvents, StepState
from arlequin.sensitivity.linear_steps import LinearSteps, TangentBlock
from arlequin.sensitivity.models_at import ModelDerivative
from arlequin.sensitivity.operators import DENSE, StepOperators, as_rows
from arlequin.sensitivity.step_equations import BulkEquations, ParameterRhs

_VALUES = 1 << 22  # values of a field of the derivatives in a block of `by_start`, at most


@dataclass(frozen=True, eq=False)
class StateTangent:
    """Derivatives of the state at the end of a step by p parameters: its fields (f, d, p), see `step_equations`, spring
    tractions and internal variables of springs (r + m, p), depth and opening in the normal rows (r, p)."""

    fields: Array
    springs: Array
    depth: Array
    opening: Array

    def copies(self) -> tuple[Array, ...]:
        """Copies of the arrays."""
        return tuple(array.copy() for array in vars(self).values())


class Tangent:
    """Derivatives of the steps of a run by several parameters."""

    def __init__(
        self, equations: BulkEquations, operators: StepOperators, derivatives: Sequence[ModelDerivative]
    ) -> None:
        self.model, self.equations, self.operators = equations.model, equations, operators
        self.derivatives = derivatives
        self._due: list[tuple[Event, Array]] = []  # events whose jump follows in a later step, with their delays (p,)

    def first(self) -> StateTangent:
        """The derivatives of the state at t = 0."""
        fields = np.ascontiguousarray(np.stack([derivative.start for derivative in self.derivatives], axis=-1))
        zeros = np.zeros((self.operators.rows, len(self.derivatives)))
        return StateTangent(fields, np.zeros((self.operators.internal, len(self.derivatives))), zeros, zeros)

    def steps(
        self, linear: LinearSteps, tangent: StateTangent, events: Sequence[Event] = ()
    ) -> tuple[StateTangent, TangentBlock, PassedEvents]:
        """The derivatives in the steps of a block, from those of the state at its start; events: those of the block, in
        order."""
        block, count = linear.block, len(linear.block)
        rhs = [self.equations.by_parameter(block, derivative) for derivative in self.derivatives]
        by_contact = [
            np.ascontiguousarray(np.stack(terms, axis=-1))
            for terms in zip(*(linear.by_parameter(derivative) for derivative in self.derivatives), strict=True)
        ]
        p, r, d, m = len(self.derivatives), self.operators.rows, self.operators.count, self.operators.multipliers
        out = (
            np.empty((count, d, p)), np.empty((count, d, p)), np.zeros((count, m, p)),
            *(np.empty((count, size, p)) for size in (r, self.operators.internal, r)),
        )  # fmt: skip
        # with constraints and averaged forces the multipliers enter the steps
        small = d <= DENSE and not (m and self.equations.form.carries)
        pass_steps = (self._dense_pass if small else self._factored_pass)(linear, rhs, by_contact, out)
        state = tangent.copies()
        inside = {event.n - block.n for event in events}
        inside |= {event.due - block.n for event in (*events, *(event for event, _ in self._due))}
        passed = PassedEvents([], [])
        for first, last in pairwise(sorted({0, count} | {at for at in inside if 0 < at < count})):
            self._apply_events(block.n, first, events, state, out, passed)
            pass_steps(slice(first, last), state)
        self._apply_events(block.n, count, (), state, out, passed)
        starts = (tangent.fields[0], tangent.fields[1], None, None, tangent.springs, tangent.depth)
        u, v, multipliers, impulse, springs, depth = (
            np.concatenate([start[None], values]) if start is not None else values
            for start, values in zip(starts, out, strict=True)
        )
        if small and m:
            multipliers = self._constraint_multipliers(rhs, u[:-1], v[:-1], impulse)
        openings = np.concatenate([tangent.opening[None], np.diff(depth, axis=0)])
        for event, delay in passed.jumps:
            openings[event.due - block.n] += np.multiply.outer(event.state_loss.depth - event.state_loss.opening, delay)
        return StateTangent(*state), TangentBlock(u, v, multipliers, impulse, springs, depth, openings), passed

    def _apply_events(
        self, n: int, at: int, events: Sequence[Event], state: tuple[Array, ...], out: Any, passed: PassedEvents
    ) -> None:
        """Apply the jumps of the state before step `at` of a block from step n on, and compute the delays of the events
        in this step; out: the derivatives at the ends of the steps."""
        jumps = [(event, delay) for event, delay in self._due if event.due == n + at]
        self._due = [(event, delay) for event, delay in self._due if event.due != n + at]
        for event, delay in jumps:
            _subtract_jump(state, event, delay)
        if jumps and at > 0:
            for target, field in zip((*out[:2], *out[4:]), (*state[0][:2], *state[1:3]), strict=True):
                target[at - 1] = field
        passed.jumps.extend(jumps)
        margin_state = tuple(field.copy() for field in state)  # for the margins: after the jumps that are still due
        for event, delay in self._due:
            _subtract_jump(margin_state, event, delay)
        for event in events:
            if event.n == n + at:
                delay = event.along(StepState(*margin_state)) + event.by_parameter
                self._due.append((event, delay))
                passed.delays.append((event, delay))

    def _constraint_multipliers(self, rhs: list[ParameterRhs], u: Array, v: Array, impulse: Array) -> Array:
        """φ' (b, m, p) of a scheme of two fields, by u', v' at the starts of the steps (b, d, p) and P' (b, r, p)."""
        form, basis = self.equations.form, sp.csr_array(self.model.bulk.contact.basis.T)
        multipliers = np.empty((len(u), self.operators.multipliers, len(rhs)))
        for i, by_parameter in enumerate(rhs):
            b, c, imposed = map(as_rows, self.equations.by_fields(np.stack([u[..., i].T, v[..., i].T])))
            total = b + by_parameter.b + form.impulse * applied(basis, impulse[..., i])
            y_imposed = None if imposed is None else imposed + by_parameter.imposed
            multipliers[..., i] = self.operators.solve(total, c + by_parameter.c, y_imposed)[1] / form.impulse
        return multipliers

    def _dense_pass(
        self, linear: LinearSteps, rhs: list[ParameterRhs], by_contact: list[Array], out: Any
    ) -> Callable[[slice, tuple[Array, ...]], None]:
        """Function that passes a slice of the steps by dense operators, in a compiled loop."""
        from arlequin.sensitivity._tangent_kernels import tangent_steps

        tables, d, bulk = linear.tables, self.operators.count, _bulk(rhs, self.operators.count)
        y = np.zeros((len(linear.block), d, len(rhs)))
        for i, by_parameter in enumerate(rhs):
            if by_parameter.b.any() or by_parameter.c.any() or by_parameter.imposed.any():
                y[..., i] = self.operators.solve(by_parameter.b, by_parameter.c, by_parameter.imposed)[0]

        def pass_steps(at: slice, state: tuple[Array, ...]) -> None:
            tangent_steps(
                (self.equations.form.updates, *self.operators.dense), linear.rows_of_points,
                tuple(array[at] for array in tables.each), (tables.by_depth[at], tables.by_opening[at]),
                (y[at], *(array[at] for array in by_contact), bulk[at]), state,
                tuple(array[at] for array in (*out[:2], *out[3:])), linear.contact.laws.has_elastic_stick,
                (linear.memory_rows, tables.memory[at]),
            )  # fmt: skip

        return pass_steps

    def _factored_pass(
        self, linear: LinearSteps, rhs: list[ParameterRhs], by_contact: list[Array], out: Any
    ) -> Callable[[slice, tuple[Array, ...]], None]:
        """Function that passes a slice of the steps by solves with the factor, for all parameters at once."""
        equations, assembly, rows = self.equations, self.model.bulk, linear.rows_of_points
        condensed, form, tables = equations.condensed, equations.form, linear.tables
        basis, bulk = assembly.contact.basis, _bulk(rhs, self.operators.count)
        r, memory_rows = self.operators.rows, linear.memory_rows
        b_terms, c_terms, imposed_terms = (
            np.stack([getattr(by_parameter, name) for by_parameter in rhs], axis=-1) for name in ("b", "c", "imposed")
        )

        def pass_steps(at: slice, state: tuple[Array, ...]) -> None:
            x, s, depth, opening = state
            rows_v = np.asarray(basis @ x[1])
            for j in range(at.start, at.stop):
                b, c, imposed = equations.by_fields(x)
                y_imposed = None if imposed is None else imposed_terms[j] + imposed
                predictor = condensed.predict(b_terms[j] + b, c_terms[j] + c, y_imposed)
                rows_u = np.asarray(basis @ x[0])
                at_j = tables.of_step(j)
                contact_rhs = (
                    _gathered(rows, at_j.by_y, predictor.contact) + _gathered(rows, at_j.by_u, rows_u)
                    + _gathered(rows, at_j.by_v, rows_v) + _gathered(rows, at_j.by_spring, s[:r]) + by_contact[0][j]
                    + at_j.by_depth[:, None] * depth + at_j.by_opening[:, None] * opening
                )  # fmt: skip
                rows_lead = np.asarray(basis @ x[2]) if form.carries else np.zeros_like(rows_u)
                contact_rhs += _gathered(rows, at_j.by_lead, rows_lead)
                of_memory = at_j.memory[..., None]
                np.add.at(contact_rhs, memory_rows, of_memory[0] * s[r:])
                impulse = impulses_of(
                    rows, at_j.by_impulse, at_j.by_y, self.operators.compliance, form.impulse, contact_rhs
                )
                y, multipliers = condensed.correct(predictor, form.impulse * impulse)
                memory = of_memory[4] * s[r:] + by_contact[1][j, r:]
                for table, field in zip(of_memory[1:4], (basis @ y, rows_u, rows_lead), strict=True):
                    memory += table * np.asarray(field)[memory_rows]
                s = (
                    _gathered(rows, at_j.spring_by_impulse, impulse) + _gathered(rows, at_j.spring_by_y, basis @ y)
                    + _gathered(rows, at_j.spring_by_u, rows_u) + _gathered(rows, at_j.spring_by_v, rows_v)
                    + _gathered(rows, at_j.spring_by_spring, s[:r])
                    + _gathered(rows, at_j.spring_by_lead, rows_lead) + by_contact[1][j, :r]
                )  # fmt: skip
                s = np.concatenate([s, memory])
                after = equations.fields_after(x, y)
                if form.carries:
                    after[3] += bulk[j]
                opening = _gathered(rows, at_j.worn_by_impulse, impulse) + _gathered(rows, at_j.worn_by_y, basis @ y)
                opening += _gathered(rows, at_j.worn_by_v, rows_v) + by_contact[2][j]
                x, rows_v = after, np.asarray(basis @ after[1])
                depth = depth + opening
                for target, values in zip(
                    out, (x[0], x[1], multipliers / form.impulse, impulse, s, depth), strict=True
                ):
                    target[j] = values
            for target, values in zip(state, (x, s, depth, opening), strict=True):
                target[:] = values

        return pass_steps


def _subtract_jump(state: tuple[Array, ...], event: Event, delay: Array) -> None:
    """Subtract the jump of the derivatives of a state by an event with a delay (p,)."""
    for field, loss in zip(state, event.state_loss, strict=True):
        field -= np.multiply.outer(loss, delay)


def impulses_of(
    rows: Indices, by_impulse: Array, by_y: Array, compliance: Compliance, factor: float, rhs: Array
) -> Array:
    """P (r, p) of (∂E/∂P + λμ ∂E/∂y W) P = −rhs; see `impulse_matrix`."""
    coupled, matrix = impulse_matrix(rows, by_impulse, by_y, compliance, factor, (rhs != 0.0).any(axis=1))
    out = np.zeros_like(rhs)
    if coupled.size:
        largest = np.abs(matrix).max(axis=1)  # rows of gaps, rates and impulses have units of their own
        out[coupled] = np.linalg.solve(matrix / largest[:, None], -rhs[coupled] / largest[:, None])
    return out


def impulse_matrix(
    rows: Indices, by_impulse: Array, by_y: Array, compliance: Compliance, factor: float, has_rhs: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Array]:
    """The rows (c,) with an impulse that may change, and ∂E/∂P + λμ ∂E/∂y W between them (c, c); factor: λμ.

    The other rows have the equation P = 0. rows (r, 3); tables (r, 3); has_rhs (r,): rows whose equation has a
    right-hand side.
    """
    count = len(rows)
    at = np.arange(count)
    others = by_impulse.copy()
    others[at, np.argmax(rows == at[:, None], axis=1)] = 0.0
    coupled = np.flatnonzero((by_y != 0.0).any(axis=1) | (others != 0.0).any(axis=1) | has_rhs)
    # and the rows on which their equations depend
    is_coupled = np.zeros(count + 1, dtype=bool)
    is_coupled[rows[coupled]] = True
    coupled = np.flatnonzero(is_coupled[:-1])
    column_of = np.full(count + 1, -1)
    column_of[coupled] = np.arange(coupled.size)
    matrix = np.zeros((coupled.size,) * 2)
    response = factor * compliance.chosen(coupled) if coupled.size else matrix
    for b in range(3):
        column = column_of[rows[coupled, b]]
        with_row = np.flatnonzero(column >= 0)
        matrix[with_row, column[with_row]] += by_impulse[coupled[with_row], b]
        matrix[with_row] += by_y[coupled[with_row], b, None] * response[column[with_row]]
    return coupled, matrix


def _bulk(rhs: list[ParameterRhs], dofs: int) -> Array:
    """Derivatives of F₁ (b, d, p) by the parameters at fixed motion, (0, d, p) where the scheme has none."""
    bulk = [np.zeros((0, dofs)) if by_parameter.bulk is None else by_parameter.bulk for by_parameter in rhs]
    return np.ascontiguousarray(np.stack(bulk, axis=-1))


def _gathered(rows: Indices, table: Array, field: Array) -> Array:
    """Σ_b table[i, b] field[rows[i, b]] (r, p): a matrix that couples the rows of each point."""
    padded = np.concatenate([field, np.zeros((1, field.shape[1]))])
    return np.einsum("ib,ibp->ip", table, padded[rows])


def by_start(linear: LinearSteps, operators: StepOperators, fields: Array, springs: Array) -> tuple[Array, Array]:
    """Derivatives of the state after solved steps of a small system by p directions of the state before them.

    fields (f, d, p): of the fields of the state (see `step_equations`), springs (r + m, p): of the tractions of the
    springs of friction and the internal variables of springs, both at the start; those at the end are returned.
    """
    from arlequin.sensitivity._tangent_kernels import tangent_steps

    tables, count, (f, d, p), r = linear.tables, len(linear.block), fields.shape, operators.rows
    zeros = np.zeros((r, p))
    state = (np.array(fields), np.array(springs), zeros, zeros.copy())
    max_steps = max(_VALUES // max(d * p, 1), 1)
    for first in range(0, count, max_steps):
        at = slice(first, min(first + max_steps, count))
        b = at.stop - at.start
        parameter_terms = (
            np.zeros((b, d, p)),
            *(np.zeros((b, size, p)) for size in (r, operators.internal, r)),
            np.zeros((b if f > 2 else 0, d, p)),
        )
        sizes = d, d, r, operators.internal, r
        out = tuple(np.empty((b, size, p)) for size in sizes)
        tangent_steps(
            (linear.equations.form.updates, *operators.dense), linear.rows_of_points,
            tuple(table[at] for table in tables.each), (tables.by_depth[at], tables.by_opening[at]), parameter_terms,
            state, out, linear.contact.laws.has_elastic_stick, (linear.memory_rows, tables.memory[at]),
        )  # fmt: skip
    return state[0], state[1]
