"""Tangents: derivatives of all that a run records, by a few parameters, carried along with its steps."""

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
from arlequin.sensitivity.operators import DENSE, StepOperators, turned
from arlequin.sensitivity.step_equations import BulkEquations, ByParameter

_VALUES = 1 << 22  # values of a field of the derivatives in a block of `by_start`, at most


@dataclass(frozen=True, eq=False)
class Motion:
    """Derivatives of the state at the end of a step by p parameters: its fields (f, d, p), see `step_equations`, spring
    tractions, depth and opening in the normal rows (r, p)."""

    fields: Array
    springs: Array
    depth: Array
    opening: Array

    def copies(self) -> tuple[Array, ...]:
        """Its arrays, to be changed."""
        return tuple(own.copy() for own in vars(self).values())


class Tangent:
    """The derivatives of a run's steps by some parameters."""

    def __init__(
        self, equations: BulkEquations, operators: StepOperators, derivatives: Sequence[ModelDerivative]
    ) -> None:
        self.model, self.equations, self.operators = equations.model, equations, operators
        self.derivatives = derivatives
        self._due: list[tuple[Event, Array]] = []  # events whose jump is still to come, with their delays (p,)

    def first(self) -> Motion:
        """At t = 0."""
        fields = np.ascontiguousarray(np.stack([own.start for own in self.derivatives], axis=-1))
        none = np.zeros((self.operators.rows, len(self.derivatives)))
        return Motion(fields, none, none, none)

    def steps(
        self, linear: LinearSteps, motion: Motion, events: Sequence[Event] = ()
    ) -> tuple[Motion, TangentBlock, PassedEvents]:
        """The derivatives in the steps of a block, from those at its start; events: those of the block, in their
        order."""
        block, count = linear.block, len(linear.block)
        each = [self.equations.by_parameter(block, own) for own in self.derivatives]
        by_contact = [
            np.ascontiguousarray(np.stack(own, axis=-1))
            for own in zip(*(linear.by_parameter(own) for own in self.derivatives), strict=True)
        ]
        p, r, d, m = len(self.derivatives), self.operators.rows, self.operators.count, self.operators.multipliers
        out = (
            np.empty((count, d, p)), np.empty((count, d, p)), np.zeros((count, m, p)),
            *(np.empty((count, r, p)) for _ in range(3)),
        )  # fmt: skip
        # of constraints and averaged forces the impulses are found along with the steps
        small = d <= DENSE and not (m and self.equations.form.carries)
        pass_steps = (self._small if small else self._large)(linear, each, by_contact, out)
        state = motion.copies()
        inside = {event.n - block.n for event in events}
        inside |= {event.due - block.n for event in (*events, *(event for event, _ in self._due))}
        passed = PassedEvents([], [])
        for first, last in pairwise(sorted({0, count} | {at for at in inside if 0 < at < count})):
            self._meet(block.n, first, events, state, out, passed)
            pass_steps(slice(first, last), state)
        self._meet(block.n, count, (), state, out, passed)
        starts = (motion.fields[0], motion.fields[1], None, None, motion.springs, motion.depth)
        whole_u, whole_v, multipliers, impulse, whole_s, whole_d = (
            np.concatenate([own[None], values]) if own is not None else values
            for own, values in zip(starts, out, strict=True)
        )
        if small and m:
            multipliers = self._multipliers(each, whole_u[:-1], whole_v[:-1], impulse)
        openings = np.concatenate([motion.opening[None], np.diff(whole_d, axis=0)])
        for event, delay in passed.jumps:
            openings[event.due - block.n] += np.multiply.outer(event.moved.depth - event.moved.opening, delay)
        return Motion(*state), TangentBlock(whole_u, whole_v, multipliers, impulse, whole_s, whole_d, openings), passed

    def _meet(
        self, n: int, at: int, events: Sequence[Event], state: tuple[Array, ...], out: Any, passed: PassedEvents
    ) -> None:
        """What events change of the state before step `at` of a block from step n on, and the delays of those in this
        step; out: the derivatives at the ends of the steps."""
        met = [own for own in self._due if own[0].due == n + at]
        self._due = [own for own in self._due if own[0].due != n + at]
        for event, delay in met:
            _lose(state, event, delay)
        if met and at > 0:
            for room, own in zip((*out[:2], *out[4:]), (*state[0][:2], *state[1:3]), strict=True):
                room[at - 1] = own
        passed.jumps.extend(met)
        seen = tuple(own.copy() for own in state)  # by the margins: with what events of the step before still change
        for event, delay in self._due:
            _lose(seen, event, delay)
        for event in events:
            if event.n == n + at:
                own = event, event.along(StepState(*seen)) + event.by_parameter
                self._due.append(own)
                passed.delays.append(own)

    def _multipliers(self, each: list[ByParameter], u: Array, v: Array, impulse: Array) -> Array:
        """φ' (b, m, p) of a scheme of two fields: of those at the starts of the steps (b, d, p), and P' (b, r, p)."""
        form, basis = self.equations.form, sp.csr_array(self.model.bulk.contact.basis.T)
        found = np.empty((len(u), self.operators.multipliers, len(each)))
        for i, own in enumerate(each):
            right, missing, given = map(turned, self.equations.by_fields(np.stack([u[..., i].T, v[..., i].T])))
            b = right + own.right + form.impulse * applied(basis, impulse[..., i])
            known = None if given is None else given + own.imposed
            found[..., i] = self.operators.solve(b, missing + own.missing, known)[1] / form.impulse
        return found

    def _small(
        self, linear: LinearSteps, each: list[ByParameter], by_contact: list[Array], out: Any
    ) -> Callable[[slice, tuple[Array, ...]], None]:
        """Passes some of the steps by dense operators, in a compiled loop."""
        from arlequin.sensitivity._tangent_kernels import tangent_steps

        tables, d, bulk = linear.tables, self.operators.count, _bulk(each, self.operators.count)
        y = np.zeros((len(linear.block), d, len(each)))
        for i, own in enumerate(each):
            if own.right.any() or own.missing.any() or own.imposed.any():
                y[..., i] = self.operators.solve(own.right, own.missing, own.imposed)[0]

        def pass_steps(at: slice, state: tuple[Array, ...]) -> None:
            tangent_steps(
                (self.equations.form.updates, *self.operators.dense), linear.rows_of_points,
                tuple(own[at] for own in tables.each), (tables.by_depth[at], tables.by_opening[at]),
                (y[at], *(own[at] for own in by_contact), bulk[at]), state,
                tuple(own[at] for own in (*out[:2], *out[3:])), linear.contact.laws.has_elastic_stick,
            )  # fmt: skip

        return pass_steps

    def _large(
        self, linear: LinearSteps, each: list[ByParameter], by_contact: list[Array], out: Any
    ) -> Callable[[slice, tuple[Array, ...]], None]:
        """Passes some of the steps by solves with the factor, of all parameters at once."""
        equations, assembly, rows = self.equations, self.model.bulk, linear.rows_of_points
        condensed, form, tables = equations.condensed, equations.form, linear.tables
        basis, bulk = assembly.contact.basis, _bulk(each, self.operators.count)
        right, missing, imposed = (
            np.stack([getattr(own, name) for own in each], axis=-1) for name in ("right", "missing", "imposed")
        )

        def pass_steps(at: slice, state: tuple[Array, ...]) -> None:
            x, s, depth, opening = state
            rows_v = np.asarray(basis @ x[1])
            for j in range(at.start, at.stop):
                b, c, given = equations.by_fields(x)
                known = None if given is None else imposed[j] + given
                free = condensed.predict(right[j] + b, missing[j] + c, known)
                rows_u = np.asarray(basis @ x[0])
                own = [table[j] for table in tables.each]
                forced = (
                    _gathered(rows, own[1], free.contact) + _gathered(rows, own[2], rows_u)
                    + _gathered(rows, own[3], rows_v) + _gathered(rows, own[4], s) + by_contact[0][j]
                    + tables.by_depth[j][:, None] * depth + tables.by_opening[j][:, None] * opening
                )  # fmt: skip
                shift = np.asarray(basis @ x[2]) if form.carries else np.zeros_like(rows_u)
                forced += _gathered(rows, own[10], shift)
                impulse = impulses_of(rows, own[0], own[1], self.operators.compliance, form.impulse, forced)
                y, pulled = condensed.correct(free, form.impulse * impulse)
                s = (
                    _gathered(rows, own[5], impulse) + _gathered(rows, own[6], basis @ y)
                    + _gathered(rows, own[7], rows_u) + _gathered(rows, own[8], rows_v) + _gathered(rows, own[9], s)
                    + _gathered(rows, own[11], shift) + by_contact[1][j]
                )  # fmt: skip
                after = equations.fields_after(x, y)
                if form.carries:
                    after[3] += bulk[j]
                opening = _gathered(rows, own[12], impulse) + _gathered(rows, own[13], basis @ y)
                opening += _gathered(rows, own[14], rows_v) + by_contact[2][j]
                x, rows_v = after, np.asarray(basis @ after[1])
                depth = depth + opening
                for room, values in zip(out, (x[0], x[1], pulled / form.impulse, impulse, s, depth), strict=True):
                    room[j] = values
            for room, values in zip(state, (x, s, depth, opening), strict=True):
                room[:] = values

        return pass_steps


def _lose(state: tuple[Array, ...], event: Event, delay: Array) -> None:
    """What the derivatives of a state lose by an event with a delay (p,)."""
    for own, lost in zip(state, event.moved, strict=True):
        own -= np.multiply.outer(lost, delay)


def impulses_of(
    rows: Indices, by_impulse: Array, by_y: Array, compliance: Compliance, factor: float, forced: Array
) -> Array:
    """P (r, p) of (∂E/∂P + λμ ∂E/∂y W) P = −forced; see `impulse_matrix`."""
    coupled, matrix = impulse_matrix(rows, by_impulse, by_y, compliance, factor, (forced != 0.0).any(axis=1))
    out = np.zeros_like(forced)
    if coupled.size:
        largest = np.abs(matrix).max(axis=1)  # rows of gaps, rates and impulses have units of their own
        out[coupled] = np.linalg.solve(matrix / largest[:, None], -forced[coupled] / largest[:, None])
    return out


def impulse_matrix(
    rows: Indices, by_impulse: Array, by_y: Array, compliance: Compliance, factor: float, forced: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Array]:
    """The rows (c,) with an impulse that may change, and ∂E/∂P + λμ ∂E/∂y W between them (c, c); factor: λμ.

    The others have an equation of their impulse alone, P = 0. rows (r, 3); tables (r, 3); forced (r,): rows whose
    equation has a right-hand side.
    """
    count = len(rows)
    at = np.arange(count)
    others = by_impulse.copy()
    others[at, np.argmax(rows == at[:, None], axis=1)] = 0.0
    coupled = np.flatnonzero((by_y != 0.0).any(axis=1) | (others != 0.0).any(axis=1) | forced)
    # and those on which their equations depend
    wanted = np.zeros(count + 1, dtype=bool)
    wanted[rows[coupled]] = True
    coupled = np.flatnonzero(wanted[:-1])
    place_of = np.full(count + 1, -1)
    place_of[coupled] = np.arange(coupled.size)
    matrix = np.zeros((coupled.size,) * 2)
    response = factor * compliance.chosen(coupled) if coupled.size else matrix
    for b in range(3):
        to = place_of[rows[coupled, b]]
        some = np.flatnonzero(to >= 0)
        matrix[some, to[some]] += by_impulse[coupled[some], b]
        matrix[some] += by_y[coupled[some], b, None] * response[to[some]]
    return coupled, matrix


def _bulk(each: list[ByParameter], dofs: int) -> Array:
    """What parameters alone change of F₁ (b, d, p), (0, d, p) where the scheme carries none."""
    found = [np.zeros((0, dofs)) if own.bulk is None else own.bulk for own in each]
    return np.ascontiguousarray(np.stack(found, axis=-1))


def _gathered(rows: Indices, table: Array, field: Array) -> Array:
    """Σ_b table[i, b] field[rows[i, b]] (r, p): a matrix that couples the rows of each point."""
    padded = np.concatenate([field, np.zeros((1, field.shape[1]))])
    return np.einsum("ib,ibp->ip", table, padded[rows])


def by_start(linear: LinearSteps, operators: StepOperators, fields: Array, springs: Array) -> tuple[Array, Array]:
    """Derivatives of the state after solved steps of a small system by p directions of the one before them.

    fields (f, d, p): of the fields of the state (see `step_equations`), springs (r, p): of the tractions of friction's
    springs, both at the start; what is returned, at the end.
    """
    from arlequin.sensitivity._tangent_kernels import tangent_steps

    tables, count, (f, d, p), r = linear.tables, len(linear.block), fields.shape, operators.rows
    none = np.zeros((r, p))
    state = (np.array(fields), np.array(springs), none, none.copy())
    most = max(_VALUES // max(d * p, 1), 1)
    for first in range(0, count, most):
        at = slice(first, min(first + most, count))
        b = at.stop - at.start
        known = np.zeros((b, d, p)), *(np.zeros((b, r, p)) for _ in range(3)), np.zeros((b if f > 2 else 0, d, p))
        out = np.empty((b, d, p)), np.empty((b, d, p)), *(np.empty((b, r, p)) for _ in range(3))
        tangent_steps(
            (linear.equations.form.updates, *operators.dense), linear.rows_of_points,
            tuple(own[at] for own in tables.each), (tables.by_depth[at], tables.by_opening[at]), known, state, out,
            linear.contact.laws.has_elastic_stick,
        )  # fmt: skip
    return state[0], state[1]
