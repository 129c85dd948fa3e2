"""Tangents: derivatives of all that a run records, by a few parameters, carried along with its steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from arlequin.linalg.compliance import Compliance
from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.run.progress import Progress, reporting
from arlequin.run.simulate import Study
from arlequin.schemes.central import CentralStepper
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.schemes.static import StaticStepper
from arlequin.sensitivity.event import Event, PassedEvents, StepState
from arlequin.sensitivity.linear_steps import LinearSteps, TangentBlock
from arlequin.sensitivity.models_at import ModelDerivative, StudyModel
from arlequin.sensitivity.operators import DENSE, StepOperators
from arlequin.sensitivity.recording import Recording, RecordWithDerivatives
from arlequin.sensitivity.responses import BlockResponse, Response, SeriesWeights, Sources
from arlequin.sensitivity.sliding_friction import is_derived
from arlequin.sensitivity.step_equations import BulkEquations, ByParameter, coefficients_of
from arlequin.sensitivity.windows import Finder, windows
from arlequin.system.assembly import Assembly

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

    def __init__(self, model: StudyModel, derivatives: list[ModelDerivative]) -> None:
        self.model, self.derivatives = model, derivatives
        self.equations = BulkEquations(model)
        self.operators = StepOperators(self.equations)
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
        equations, assembly, form, dofs = (
            self.equations,
            self.model.bulk,
            self.equations.form,
            self.operators.imposed,
        )
        found = np.empty((len(u), self.operators.multipliers, len(each)))
        for i, own in enumerate(each):
            b = own.right + form.inertia * applied(assembly.mass, v[..., i])
            b -= form.displacement * applied(assembly.stiffness, u[..., i])
            b += form.impulse * applied(sp.csr_array(assembly.contact.basis.T), impulse[..., i])
            c = own.missing + (1.0 - form.weight) * applied(assembly.constraints, v[..., i])
            of_u, of_v = equations.imposed_by_state
            given = own.imposed + of_u * u[:, dofs, i] + of_v * v[:, dofs, i] if dofs.size else None
            found[..., i] = self.operators.solve(b, c, given)[1] / form.impulse
        return found

    def _small(
        self, linear: LinearSteps, each: list[ByParameter], by_contact: list[Array], out: Any
    ) -> Callable[[slice, tuple[Array, ...]], None]:
        """Passes some of the steps by dense operators, in a compiled loop."""
        from arlequin.sensitivity._recursion_kernels import tangent_steps

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


@dataclass(frozen=True, eq=False)
class TangentRun:
    """A run with its derivatives: values of responses, and their derivatives (p,); changes (2,) of each parameter, down
    and up, at which a first status of contact changes; the record, where it was wanted; the events that were passed."""

    values: dict[str, float]
    responses: dict[str, Array]
    reach: dict[str, Array]
    record: RecordWithDerivatives | None
    events: list[Event]


def run_with_tangents(
    study: Callable[..., Study],
    at: Mapping[str, float],
    scales: Mapping[str, float],
    wrt: Sequence[str],
    responses: Mapping[str, Response] = MappingProxyType({}),
    record: bool = True,
    progress: Progress | bool | None = None,
    find_events: Finder | None = None,
    trend: bool = True,
) -> TangentRun:
    """Run study(**at) with the derivatives by the parameters `wrt`; scales: changes of them that matter; record:
    whether all that the run records is wanted with its derivatives, beside the responses; find_events: see
    `arlequin.sensitivity.events`, None for the derivatives of the steps at their statuses; trend: whether the
    derivatives are those of the mean over the instants of the steps, or those of the run between its jumps."""
    base, derivatives = derived(study, at, scales, wrt)
    tangent, steps = Tangent(base, derivatives), base.study.steps
    recording = Recording(tangent.equations, derivatives, wrt) if record else None
    sums = {name: _ResponseSum(each, base.study, derivatives) for name, each in responses.items()}
    motion, delays = tangent.first(), list[tuple[Event, Array]]()
    reach = np.tile([-np.inf, np.inf], (len(derivatives), 1))
    # solves have few right-hand sides: more BLAS threads would only wait for each other
    with reporting(progress, "gradient") as told, threadpool_limits(1, user_api="blas"):
        for window in windows(
            tangent.equations, tangent.operators, steps, trend and find_events is not None, 1 + len(derivatives)
        ):
            linear = window.own
            events = () if find_events is None else window.events(find_events, derivatives)
            motion, moved, passed = tangent.steps(linear, motion, events)
            delays += passed.delays
            for own in sums.values():
                own.add(linear, moved)
            if recording is not None:
                # samples at a jump follow no linear step: the trend alone takes what moves with an event
                recording.add(linear, moved, passed if trend else PassedEvents(passed.jumps, []))
            for i, of in enumerate(derivatives):
                down, up = linear.reach(of, moved, i)
                reach[i] = max(reach[i, 0], down), min(reach[i, 1], up)
            if told is not None:
                told(linear.block.n + len(linear.block), steps)
        for own in sums.values():
            own.jump(delays)
    return TangentRun(
        {name: own.value for name, own in sums.items()},
        {name: own.derivatives for name, own in sums.items()},
        dict(zip(wrt, reach, strict=True)),
        None if recording is None else recording.close(),
        [event for event, _ in delays if event.bend is not None],
    )


def by_start(linear: LinearSteps, operators: StepOperators, fields: Array, springs: Array) -> tuple[Array, Array]:
    """Derivatives of the state after solved steps of a small system by p directions of the one before them.

    fields (f, d, p): of the fields of the state (see `step_equations`), springs (r, p): of the tractions of friction's
    springs, both at the start; what is returned, at the end.
    """
    from arlequin.sensitivity._recursion_kernels import tangent_steps

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


def event_loss(event: Event, weights: SeriesWeights, values: Array) -> float:
    """What a response loses in the steps of an event for each step by which this comes later; values (n,): of the
    series of the run."""
    response = weights.response

    def sources(linear: LinearSteps) -> Sources:
        return BlockResponse(response, linear).sources(np.ones(1))

    numbers = event.n + np.arange(3)  # the steps n − 1, n, n + 1 end at these
    lost = event.losses(lambda linear: BlockResponse(response, linear).values(), sources)
    return float(weights.of(numbers, values[numbers - 1]) @ lost)


class _ResponseSum:
    """A response with its derivatives (p,), added up over the blocks of a run."""

    def __init__(self, response: Response, study: Study, by: list[ModelDerivative]) -> None:
        self._weights, self._by = SeriesWeights(response, study.steps, study.fields_every), by
        self._pieces: list[Array] = []
        self.derivatives = np.zeros(len(by))

    def add(self, linear: LinearSteps, moved: TangentBlock) -> None:
        """The steps of a block."""
        here = BlockResponse(self._weights.response, linear)
        self._pieces.append(here.values())
        first = linear.block.n + 1
        weights = self._weights.of(np.arange(first, first + len(linear.block)), self._pieces[-1])
        sources = here.sources(weights)
        for i, of in enumerate(self._by):
            self.derivatives[i] += here.by_motion(sources, moved, i) + here.by_parameter(weights, of)

    def jump(self, delays: Sequence[tuple[Event, Array]]) -> None:
        """What events, with their delays (p,), change of the series in their own steps; once all steps are added."""
        values = np.concatenate(self._pieces)
        for event, delay in delays:
            self.derivatives -= delay * event_loss(event, self._weights, values)

    @property
    def value(self) -> float:
        """Its value, of a whole run."""
        return self._weights.value(np.concatenate(self._pieces))


def derived(
    study: Callable[..., Study], at: Mapping[str, float], scales: Mapping[str, float], wrt: Sequence[str]
) -> tuple[StudyModel, list[ModelDerivative]]:
    """The model of study(**at) and its derivatives by each parameter of `wrt`; UserError where there are none."""
    own = study(**at)
    if isinstance(own, Study) and coefficients_of(own.scheme, own.step) is None:
        rule = (
            "has no gradients: take Theta without located events, one of the generalised-alpha family, "
            "CentralDifference, or Static"
        )
        raise UserError.parameter("scheme", own.scheme, rule)
    model = StudyModel.of(own)
    check_supported(model.assembly)
    if isinstance(model.stepper, StaticStepper):
        if not model.stepper.held:
            raise UserError(
                "gradients of statics need parts that are held without contact, by imposed motions, springs, …"
            )
    elif isinstance(model.stepper, CentralStepper):
        _check_explicit(model.assembly)
    elif not isinstance(model.stepper, OneStepStepper):
        raise UserError.parameter(
            "scheme", own.scheme, "has no gradients where it condenses nodes without mass: take Theta"
        )

    def near(name: str) -> Callable[[float], Study]:
        return lambda value: study(**{**at, name: value})

    return model, [ModelDerivative.of(name, at[name], scales[name], model, near(name)) for name in wrt]


def _check_explicit(assembly: Assembly) -> None:
    """UserError where central differences have steps that are not derived."""
    if assembly.absorption is not None:
        raise UserError("gradients of CentralDifference take no absorbing junctions: take Newmark")
    if any(not item.rest for part in assembly.parts for item in part.imposed if item.kind == "velocity"):
        raise UserError("gradients of CentralDifference take no imposed velocities: give imposed displacements")


def check_supported(assembly: Assembly) -> None:
    """UserError where the equations of a system are not among those that are derived."""
    if not assembly.linear:
        raise UserError("gradients need linear parts: a part has finite strains or rotations")
    if not assembly.contact.fixed:
        raise UserError("gradients need contact with fixed normals and partners (planes, point to point)")
    if not is_derived(assembly.laws):
        raise UserError(
            "gradients need a coefficient of friction that is constant, or one of the slip rate and the pressure alone:"
            " take Coulomb, Stribeck, StaticDynamic without slip_distance, VelocityFriction or PressureFriction"
        )
