"""Derivatives of a run through its contact events: impacts, onsets of lasting contact, stops and reversals of slip.

The statuses of contact in each step make the run a product of smooth steps F_s. A parameter moves the instant of an
event, which derivatives of the steps at fixed statuses do not contain. Where point i has the
status a before step j, s in it and b in the next, the motion whose event comes one step later, and that whose event
comes one step earlier, are made of steps at given statuses too:

    late    step j at a, j + 1 at s                       from the state before step j
    early   step j − 1 at s, j at b, j + 1 at b           from the state before step j − 1

In the mean over the instants of the steps, the state at the end of step j + 1 loses ½ (x_early − x_late) for each step
by which the event comes later, and the series of the steps j − 1, j, j + 1 likewise. The delay is that of the zero of
a margin m, the gap or the slip rate with the status a, which changes by Δm in step j:

    δx_{j+2} = DF_{j+1} DF_j δx_j − ½ (x_early − x_late) δn,        δn = −(∇m · δx_j + m_p)/Δm.

As Δt → 0 that is the jump of the derivative at an event, f⁺ − Dg f⁻ times the change of its instant, without the flows
f and the jump law g. It is a product of two vectors for each event, whose transpose is the adjoint.

At the end of contact the force is continuous. The impulse of the rest of the step in which it ends is of the order of
the step, and counts as much as its jump where steps are long: with P₋ < 0 the impulse of step j if the point stayed,
and P₊ > 0 that of the step before, contact ends σ = P₊/(P₊ − P₋) of a step after the middle of that step, and

    δx_{j+1} += (σ − ½) ∂x_{j+1}/∂P δP₋.

Slip that starts, springs of friction that yield, and those that stick again, count likewise: forces are continuous, and
their derivatives are not. With a margin m > 0 in the last step of the old status, F, the margin to the cone or the slip
rate, which is 0 by extrapolation σ of a step after the middle of this step, and with G the step at the new status, the
motion differs by (G − F) δm/m for each step by which the change comes earlier: the run counts it from σ = ½ on, or,
where the point parts before a step of slip, from the instant at which it parts. Rising pressure returns a spring to
the limit in F and in G, and in steps of stick after them; the last time, m is the excess over the limit without that
return, and G has none.

Several stops of slip in a step are treated one after the other, in the order of their instants; onsets in one step are
shifted together, their delay being the mean weighted by their impulses. Statuses that change with an event, without a
margin of their own, are shifted with the first. Beginnings of layers need no event, as a step has the mean of their
forces. Springs of friction that stick from the first touch of a layer on stretch from there: that touch is an event.

The derivative needs events further apart than a step. `bend` is the relative change of the approach rate of a point
from one step to the next before an onset: it is large for coupled points that strike one after the other, and for
grazing contact. It is infinite for multipliers on the gap under schemes with λ = ½, whose rebound depends on
the phase of the step.

Source: Leine & Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems (2004) (jumps of derivatives).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import SLIP, STICK
from arlequin.sensitivity.adjoint import Adjoint, product
from arlequin.sensitivity.contact_equations import ContactEquations, PointMotion, Statuses
from arlequin.sensitivity.event import Event, Shift, StepState
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.models_at import ModelDerivative
from arlequin.sensitivity.operators import StepOperators
from arlequin.sensitivity.point_works import PointQuantity
from arlequin.sensitivity.response_series import PointSeries, Sources
from arlequin.sensitivity.tangent import impulses_of
from arlequin.sensitivity.trajectory import Block
from arlequin.solvers.contact_step import ContactMotion

_PASSES = 20  # of Newton's method for a step at prescribed statuses
_CONVERGED = 1e-13  # change of an impulse, relative to the largest


def find_events(
    linear: LinearSteps, first: int, last: int, derivatives: Sequence[ModelDerivative], trend: bool
) -> Iterator[Event]:
    """The events in the steps first ≤ j < last of solved steps, in their order; none in statics and in central
    differences. Steps without neighbours, at the start and the end of a run, are left out. trend: whether to
    include events at which forces are continuous (ends of contact, beginnings and ends of stick, first touches of
    layers): they contribute to the mean over the instants of the steps, not to the derivative of a run between its
    jumps."""
    form = linear.equations.form
    if form.static or form.staggered:
        return
    shifts = _Shifts(linear, derivatives, trend)
    for j in shifts.steps_with_events(max(first, 1), min(last, len(linear.block) - 2)):
        yield from shifts.events(j)


@dataclass(frozen=True)
class _Root:
    """Zero of the margin of a point in a step: the margin as a quantity of points, its values at both ends."""

    point: int
    onset: bool
    quantity: PointQuantity
    before: float
    after: float

    @property
    def instant(self) -> float:
        """Fraction of the step at which the margin is 0, 0 … 1."""
        return self.before / (self.before - self.after)


@dataclass(frozen=True, eq=False)
class _Shifts:
    """Steps of a run, and shifted steps, whose points change their statuses earlier or later."""

    linear: LinearSteps
    derivatives: Sequence[ModelDerivative]
    trend: bool

    @cached_property
    def operators(self) -> StepOperators:
        """The linear maps of the steps."""
        return StepOperators(self.linear.equations)

    @property
    def contact(self) -> ContactEquations:
        """The equations of the points."""
        return self.linear.contact

    @cached_property
    def directions(self) -> Array:
        """Directions of slip (b, k, 2), see `ContactEquations.slip_directions`."""
        return self.contact.slip_directions(self.linear.motion, self.linear.statuses)

    @cached_property
    def _fields(self) -> Array:
        """Fields of the state before each step (f, b + 1, d)."""
        equations, block = self.linear.equations, self.linear.block
        return equations.fields(block)

    def state(self, i: int) -> StepState:
        """The state before step i of the run."""
        linear, block = self.linear, self.linear.block
        return StepState(self._fields[:, i], linear.springs[i], block.depth[i], block.opening[i])

    # statuses that change

    @cached_property
    def _acting(self) -> NDArray[np.bool_]:
        """Points (b, k) whose multiplier acts."""
        return self.linear.statuses.active & (self.contact.laws.level > 0)

    @cached_property
    def _pressed(self) -> NDArray[np.bool_]:
        return self.linear.motion.impulse[..., 0] > 0.0

    @cached_property
    def _sliding(self) -> NDArray[np.bool_]:
        """Points (b, k) that slip throughout the step, with a direction."""
        statuses, friction = self.linear.statuses, self.contact.laws.frictional
        slides = (statuses.status == SLIP) & ~statuses.on_mean & ~np.isnan(self.directions[..., 0])
        return slides & self._pressed & friction

    @cached_property
    def _onsets(self) -> NDArray[np.bool_]:
        """Points (b, k) whose multiplier acts, and did not in the step before."""
        return self._acting & ~_before(self._acting, True)

    @cached_property
    def _layer_touches(self) -> NDArray[np.bool_]:
        """Points (b, k) on layers that stick from the first touch on: their springs of friction begin to stretch."""
        if not self.trend:
            return np.zeros_like(self._pressed)
        laws, sticks = self.contact.laws, self._sticks
        springs = laws.elastic_stick & (laws.level == 0)
        return springs & ~_before(self._pressed, True) & sticks & _after(sticks, True)

    @cached_property
    def _stops(self) -> NDArray[np.bool_]:
        """Points (b, k) that slid in the step before, and do not slip on in that direction."""
        cosine = (self.directions * _before(self.directions, np.nan)).sum(axis=-1)
        continues = self._sliding & (cosine > 0.0)
        return _before(self._sliding, False) & self._pressed & ~continues

    @cached_property
    def _changed(self) -> NDArray[np.bool_]:
        """Points (b, k) with a status other than in the step before, except ends of contact."""
        statuses = self.linear.statuses
        fields = [statuses.active, statuses.status, statuses.on_mean]
        differs = np.any([field != _before(field, field[0]) for field in fields], axis=0)
        return differs & ~(_before(statuses.active, False) & ~statuses.active)

    @cached_property
    def _ends(self) -> NDArray[np.bool_]:
        """Points (b, k) whose multiplier does not act, and did in both steps before."""
        before = _before(self._acting, False)
        return before & _before(before, False) & ~self._acting

    @cached_property
    def _sticks(self) -> NDArray[np.bool_]:
        """Points (b, k) that stick under pressure."""
        statuses = self.linear.statuses
        return (statuses.status == STICK) & ~statuses.on_mean & self._pressed

    @cached_property
    def _resticks(self) -> NDArray[np.bool_]:
        """Points (b, k) on springs in the last step that returns these to the limit, before one that sticks."""
        statuses, springs = self.linear.statuses, self.contact.laws.elastic_stick & self._pressed
        return springs & _before(springs, False) & statuses.limited & _after(self._sticks & ~statuses.limited, False)

    @cached_property
    def _transitions(self) -> NDArray[np.bool_]:
        """Points (b, k) in the last step of stick before slip, or in the one before it where they then part, and on
        springs in the last step of slip before stick."""
        sticks, statuses, pressed = self._sticks, self.linear.statuses, self._pressed
        stuck_next, pressed_next = _after(sticks, True), _after(pressed, True)
        slips, separates_after_next = ~stuck_next & pressed_next, stuck_next & ~_after(pressed_next, True)
        spring_slides = self.contact.laws.elastic_stick & pressed & (statuses.status == SLIP)
        stick_to_slip = sticks & _before(sticks & ~statuses.limited, False) & (slips | separates_after_next)
        return stick_to_slip | (spring_slides & _before(spring_slides, False) & stuck_next)

    def steps_with_events(self, first: int, last: int) -> list[int]:
        """Steps with an onset, a stop of slip, or an end of contact or of stick."""
        points = self._onsets | self._layer_touches | self._stops
        points = points | self._ends | self._transitions | self._resticks if self.trend else points
        has_event = points[first:last].any(axis=1)
        return [int(j) for j in first + np.flatnonzero(has_event)]

    # steps at given statuses

    @cached_property
    def _known_statuses(self) -> tuple[Statuses, Statuses]:
        """Statuses of the run and of the trend, with prescribed directions of slip, except at impacts, whose friction
        is large and so depends much on its direction."""
        linear, no_point = self.linear, np.zeros_like(self._pressed)
        directions = np.where(self._onsets[..., None], np.nan, self.directions)
        run = self.contact.statuses(linear.motion, linear.block.status, linear.delassus)
        common: Any = {"direction": directions, "pulls_back": no_point}
        return run._replace(**common), linear.statuses._replace(**common)

    def _statuses(
        self, at: int, source: NDArray[np.int64] | None = None, of_trend: NDArray[np.bool_] | None = None
    ) -> Statuses:
        """Statuses in step `at`, of each point those of step source (k,): of the run where that is this step, otherwise
        and at the points of_trend (k,) of the trend."""
        points = np.arange(self.contact.laws.count)
        source = np.full(points.size, at) if source is None else source
        from_run = source == at if of_trend is None else (source == at) & ~of_trend
        chosen = []
        each: Any = zip(*self._known_statuses, strict=True)
        for run, trend in each:
            values = trend[source, points]
            values[from_run] = run[at][from_run]
            chosen.append(values[None])
        return Statuses(*chosen)

    def _with_status(
        self, j: int, point: int, status: int, limited: bool | None = None, direction: Any = np.nan
    ) -> Statuses:
        """Statuses of step j with another one of a point; limited: None where it is unchanged."""
        statuses = self._statuses(j)
        assert statuses.direction is not None
        statuses.status[0, point], statuses.direction[0, point] = status, direction
        if limited is not None:
            statuses.limited[0, point] = limited
        return statuses

    def _switched(self, j: int, point: int) -> Statuses:
        """Statuses of step j with a point that slips against its friction where it stuck, or sticks where it slipped; a
        spring that rising pressure returns to the limit is returned in both."""
        elastic = bool(self.contact.laws.elastic_stick[point])
        if not self._sticks[j, point]:
            return self._with_status(j, point, STICK)
        return self._with_status(j, point, SLIP, elastic, np.nan if elastic else self._against(j, point))

    def _against(self, j: int, point: int) -> Array:
        """The direction (2,) against friction in step j."""
        force = self.linear.motion.impulse[j, point, 1:]
        return np.asarray(-force / (np.linalg.norm(force) + 1e-300))

    def run(self, i: int, count: int) -> "_Steps":
        """Steps of the run at their statuses."""
        return _Steps(self.linear.cut(i, i + count), self.state(i + count))

    def shifted(self, i: int, statuses: Sequence[Statuses]) -> "_Steps":
        """Steps from the state before step i of the run, at the statuses prescribed for each."""
        states, steps = [self.state(i)], []
        for at, prescribed in enumerate(statuses, i):
            end, solved = self._step(states[-1], at, prescribed)
            states.append(end)
            steps.append(solved)
        linear = self.linear
        run_block = linear.block.cut(i, i + len(statuses))
        fields = np.stack([state.fields for state in states], axis=1)
        block = Block(
            n=run_block.n, u=fields[0], v=fields[1],
            multipliers=np.array([solved.multipliers for solved in steps]),
            impulse=np.array([solved.impulse for solved in steps]),
            status=np.concatenate([solved.statuses.status for solved in steps]),
            depth=np.array([state.depth for state in states[:-1]]),
            opening=np.array([state.opening for state in states[:-1]]),
            start=linear.equations.cut(linear.block, i, i + len(statuses)).start,
        )  # fmt: skip
        motion = PointMotion(
            *(np.concatenate(field) for field in zip(*(solved.motion for solved in steps), strict=True))
        )
        solved_statuses: Any = (
            np.concatenate(field) for field in zip(*(solved.statuses for solved in steps), strict=True)
        )
        springs = np.array([state.springs for state in states])
        shifted_steps = LinearSteps(
            linear.equations, self.contact, block, motion, Statuses(*solved_statuses), springs, linear.delassus
        )  # fmt: skip
        return _Steps(shifted_steps, states[-1])

    def _step(self, state: StepState, i: int, prescribed: Statuses) -> "tuple[StepState, _SolvedStep]":
        """The state after a step, and its solution: that of step i of the run plus the response of the linear bulk to
        the differences of the states and of the impulses."""
        linear, contact, block = self.linear, self.contact, self.linear.block
        equations, operators = linear.equations, self.operators
        form, assembly, condensed = equations.form, equations.model.bulk, equations.condensed
        change = state.fields - self._fields[:, i]
        predictor = condensed.predict(*equations.by_fields(change))
        basis = assembly.contact.basis
        rows = [np.asarray(basis @ field) for field in change[:3]]
        lead = form.step**2 * rows[2] if form.carries else None
        run_motion, impulse_change = linear.motion, np.zeros(operators.rows)
        (point, axis), scale = linear.points_and_axes, np.abs(block.impulse[i]).max(initial=0.0)

        def step_motion() -> PointMotion:
            y = predictor.contact + form.impulse * operators.compliance.move(impulse_change)
            ends = ContactMotion.of(rows[0], rows[1], y, form.weight, form.step, lead)
            changes = (impulse_change, ends.end_displacement, ends.end_velocity, rows[0], rows[1])
            pairs = zip(run_motion[:5], changes, strict=True)
            shifted: Any = (field[i : i + 1] + contact.spread(change[None]) for field, change in pairs)
            memory = contact.spread_memory(state.springs[None, operators.rows :])
            friction_springs = contact.spread(state.springs[None])
            inputs: Any = (*shifted, friction_springs, state.depth[None], state.opening[None], memory)
            return PointMotion(*inputs)

        for _ in range(_PASSES):  # slip in space, layers and springs are not linear
            motion = step_motion()
            statuses = contact.with_motion(motion, prescribed)
            residual = contact.evaluate(motion, statuses).residual[0, point, axis]
            blocks = np.moveaxis(contact.blocks(motion, statuses).residual[0], 1, 0)[:, point, axis]
            by_y = form.step * blocks[1] + blocks[2] / form.weight
            increment = impulses_of(
                linear.rows_of_points, blocks[0], by_y, operators.compliance, form.impulse, residual[:, None]
            )[:, 0]  # fmt: skip
            impulse_change += increment
            if np.abs(increment).max(initial=0.0) <= _CONVERGED * max(
                scale, np.abs(block.impulse[i] + impulse_change).max(initial=0.0)
            ):
                break
        motion = step_motion()
        statuses = contact.with_motion(motion, prescribed)
        values = contact.evaluate(motion, statuses)
        y, multiplier_impulse = condensed.correct(predictor, form.impulse * impulse_change)
        end = self._fields[:, i + 1] + equations.fields_after(change, y)
        worn = values.worn[0]
        solved = _SolvedStep(
            block.multipliers[i] + multiplier_impulse / form.impulse,
            block.impulse[i] + impulse_change,
            motion,
            statuses,
        )
        springs = np.concatenate([values.spring[0, point, axis], contact.gather_memory(values.memory[0])])
        return StepState(end, springs, state.depth + worn, worn), solved

    # events

    def _root(self, j: int, point: int, before: LinearSteps, old: LinearSteps) -> _Root | None:
        """The event of a point in step j; before: the step before it, old: step j with the status of that step. None
        where the margin does not change its sign: the status changes with that of another point."""
        onset = bool(self._onsets[j, point])
        quantity: PointQuantity
        if self._layer_touches[j, point]:
            quantity = _gap_to_layer
        elif not onset:
            quantity = _RateAlong(self.directions[j - 1, point], point, _slip_rates_at_end)
        elif self.contact.laws.level[point] == 1:
            quantity = _gap_at_end
        else:
            quantity = _middle_gap
            if _value(before, quantity, point) <= self.contact.touching:
                quantity = _rate_at_end
        ends = (_value(linear, quantity, point) for linear in (before, old))
        root = _Root(point, onset, quantity, *ends)
        return root if root.after < root.before and (onset or root.after < 0.0) else None

    def events(self, j: int) -> list[Event]:
        """The events of step j, in the order of their instants, and the ends of contact."""
        before = self.run(j - 1, 1).steps
        events = self._jumps(j, before)
        if not self.trend:
            return events
        changes = (
            (self._ends, self._end_of_contact),
            (self._transitions, self._transition),
            (self._resticks, self._restick),
        )
        for points, event_of in changes:
            for point in np.flatnonzero(points[j]):
                event = event_of(j, int(point), before, len(events))
                events += [] if event is None else [event]
        return events

    def _jumps(self, j: int, before: LinearSteps) -> list[Event]:
        """The onsets and stops of slip of step j."""
        count = self.contact.laws.count
        candidates = np.flatnonzero(self._onsets[j] | self._layer_touches[j] | self._stops[j])
        if not candidates.size:
            return []
        source = np.full(count, j)
        source[candidates] = j - 1
        old = self.shifted(j, [self._statuses(j, source)]).steps
        roots = [root for root in (self._root(j, int(i), before, old) for i in candidates) if root is not None]
        if not roots:
            return []
        onsets = [root for root in roots if root.onset]
        groups = [[root] for root in roots if not root.onset] + ([onsets] if onsets else [])
        groups.sort(key=lambda group: min(root.instant for root in group))
        laws = self.contact.laws  # transitions of springs on layers are separate events
        others = self._changed[j] & ~(laws.elastic_stick & (laws.level == 0))
        others[[root.point for root in roots]] = False
        members_of = [np.zeros(count, dtype=bool) for _ in groups]
        for members, group in zip(members_of, groups, strict=True):
            members[[root.point for root in group]] = True
        members_of[0] |= others
        after = range(j + 1, j + 2 + self._releases(j, onsets))  # later steps in which statuses are shifted
        late = [self.run(j, 1 + len(after))]  # by shifts of the last 0, 1, 2, … groups
        late_points = np.zeros(count, dtype=bool)
        for members in reversed(members_of):
            late_points |= members
            late.append(self.shifted(j, [self._statuses(i, np.where(late_points, i - 1, i)) for i in (j, *after)]))
        late.reverse()
        early = [self.run(j - 1, 2 + len(after))]
        early_points = np.zeros(count, dtype=bool)
        for members in members_of:
            early_points |= members
            statuses = [self._statuses(i, np.where(early_points, i + 1, i)) for i in (j - 1, j)]
            caught = (
                early_points & self._layer_touches[j]
            )  # limited in the step after the touch only by the phase of the step
            early.append(self.shifted(j - 1, statuses + [self._statuses(i, of_trend=caught) for i in after]))
        return [
            self._jump(j, group, old, early[at : at + 2], late[at : at + 2], order=at)
            for at, group in enumerate(groups)
        ]

    def _releases(self, j: int, onsets: list[_Root]) -> bool:
        """Whether a spring of friction is stretched in step j alone: its loss when the point parts is of second order
        in its traction, so that statuses of one step more are shifted."""
        if j + 2 >= len(self.linear.block):
            return False
        points = [root.point for root in onsets]
        return bool((self.contact.laws.elastic_stick[points] & ~self._pressed[j + 1, points]).any())

    def _jump(
        self,
        j: int,
        group: list[_Root],
        steps_at_old_status: LinearSteps,
        early: "list[_Steps]",
        late: "list[_Steps]",
        order: int,
    ) -> Event:
        """The event of points that are shifted together; early, late: steps without and with their shift."""
        n, normal_rows = self.linear.block.n + j, self.contact.laws.first
        weights = self.linear.block.impulse[j][normal_rows[[root.point for root in group]]]
        weights = weights / weights.sum() if weights.sum() > 0.0 else np.full(len(group), 1.0 / len(group))
        margins = [
            (root.quantity, root.point, -share / (root.after - root.before))
            for root, share in zip(group, weights.tolist(), strict=True)
        ]
        ends = zip(*(steps.end for steps in (early[1], early[0], late[0], late[1])), strict=True)
        return self._event(
            j, order, [root.point for root in group], len(late[0].steps.block),
            [0.5 * ((a - b) - (c - d)) for a, b, c, d in ends],
            (steps_at_old_status, margins),
            max((self._bend(j, root.point) for root in group if root.onset), default=0.0),
            (Shift(0.5, n - 1, early[0].steps, early[1].steps), Shift(-0.5, n, late[1].steps, late[0].steps)),
        )  # fmt: skip

    def _end_of_contact(self, j: int, point: int, before: LinearSteps, order: int) -> Event | None:
        """The event of a point whose contact ends."""
        source = np.full(self.contact.laws.count, j)
        source[point] = j - 1
        run, with_contact = self.run(j, 1), self.shifted(j, [self._statuses(j, source)])
        previous, extended = _value(before, _multiplier, point), _value(with_contact.steps, _multiplier, point)
        if not extended < 0.0 < previous:
            return None
        factor = -(previous / (previous - extended) - 0.5) / extended
        state_loss = [a - b for a, b in zip(with_contact.end, run.end, strict=True)]
        shift = Shift(1.0, self.linear.block.n + j, run.steps, with_contact.steps)
        return self._event(
            j, order, [point], 1, state_loss, (with_contact.steps, [(_multiplier, point, factor)]), None, (shift,)
        )

    def _transition(self, j: int, point: int, before: LinearSteps, order: int) -> Event | None:
        """The event of a point that slips from the next step on, or from the instant at which it parts in the one
        after; or that sticks there on its spring."""
        sticks, run = self._sticks[j, point], self.run(j, 1)
        quantity: PointQuantity = _cone_margin if sticks else _RateAlong(self._against(j, point), point, _slider_rates)
        previous, margin = _value(before, quantity, point), _value(run.steps, quantity, point)
        delay = _late(previous, margin, self._end_of_status(j, point))
        if sticks and margin > 0.0 and self._yields(j, point):
            return self._yield_event(j, point, margin, delay, order)
        if delay is None:
            return None
        switched = self.shifted(j, [self._switched(j, point)])
        state_loss = [a - b for a, b in zip(switched.end, run.end, strict=True)]
        if sticks:
            state_loss[1] = np.zeros_like(state_loss[1])  # springs are returned to the limit in the next step
        shift = Shift(1.0, self.linear.block.n + j, run.steps, switched.steps)
        return self._event(
            j, order, [point], 1, state_loss, (run.steps, [(quantity, point, delay / margin)]), None, (shift,)
        )

    def _restick(self, j: int, point: int, before: LinearSteps, order: int) -> Event | None:
        """The event of a spring that is returned to the limit, and sticks from the next step on."""
        run, quantity = self.run(j, 1), _LimitExcess(self._against(j, point), point)
        previous, margin = _value(before, quantity, point), _value(run.steps, quantity, point)
        delay = _late(previous, margin)
        if delay is None:
            return None
        without_return, with_return = (
            self.shifted(j, [self._with_status(j, point, STICK, limited)]) for limited in (True, False)
        )
        state_loss = [a - b for a, b in zip(with_return.end, without_return.end, strict=True)]
        shift = Shift(1.0, self.linear.block.n + j, without_return.steps, with_return.steps)
        return self._event(
            j, order, [point], 1, state_loss, (run.steps, [(quantity, point, delay / margin)]), None, (shift,)
        )

    def _end_of_status(self, j: int, point: int) -> float:
        """Steps after the middle of step j at which its last status ends in the run: where the next step begins, or
        where the point parts."""
        if not (self._sticks[j, point] and self._sticks[j + 1, point]):
            return 0.5
        earlier, last = self.linear.motion.impulse[j - 1 : j + 1, point, 0]
        return float(last / (earlier - last)) if earlier > last else np.inf

    def _yields(self, j: int, point: int) -> bool:
        """Whether a spring yields to falling pressure: it is not returned to the limit in the last step of stick and in
        the one after it."""
        elastic, limited = self.contact.laws.elastic_stick[point], self.linear.statuses.limited[j : j + 2, point]
        return bool(elastic and self._pressed[j + 1, point] and not limited.any())

    def _yield_event(self, j: int, point: int, margin: float, delay: float | None, order: int) -> Event:
        """The event of a spring that yields to falling pressure: in a run it exceeds the limit of friction by the phase
        of the step, and with θ < 1 oscillates about it from then on; in the mean it is at the limit. margin: to the
        limit in step j, N·s; delay: see `_late`."""
        laws, run = self.contact.laws, self.run(j, 1)
        rows = slice(laws.first[point] + 1, laws.first[point + 1])
        shortfall = np.zeros(self.operators.internal)  # of the spring from the limit, Pa, against its traction
        shortfall[rows] = (
            self._against(j, point)[: rows.stop - rows.start] * margin / (self.contact.step * laws.area[point])
        )
        end = run.end
        state_loss = [np.zeros_like(end.fields), shortfall, np.zeros_like(end.depth), np.zeros_like(end.opening)]
        if delay is not None:
            state_loss[0] = delay * (self.shifted(j, [self._switched(j, point)]).end.fields - run.end.fields)
        shift = Shift(1.0, self.linear.block.n + j, run.steps, self._slider_moved(run.steps, point, shortfall))
        terms = [(_cone_margin, point, 1.0 / margin)]
        return self._event(j, order, [point], 1, state_loss, (run.steps, terms), None, (shift,))

    def _slider_moved(self, step: LinearSteps, point: int, shortfall: Array) -> LinearSteps:
        """A step whose slider moves on by the shortfall (r + m,), Pa, of its spring from the limit."""
        start = step.motion.spring - self.contact.spread(shortfall[None]) / self.contact.gains[point]
        dissipates = step.statuses.dissipates.copy()
        dissipates[0, point] = True
        motion, statuses = step.motion._replace(spring=start), step.statuses._replace(dissipates=dissipates)
        return replace(step, motion=motion, statuses=statuses)

    def _event(
        self,
        j: int,
        order: int,
        points: list[int],
        due: int,
        state_loss: list[Array],
        margins: tuple[LinearSteps, Sequence[tuple[PointQuantity, int, float]]],
        bend: float | None,
        shifts: tuple[Shift, ...],
    ) -> Event:
        """The event with the derivatives of its delay; margins: a step and the quantities of points whose sum, with
        these factors, is the delay."""
        operators, equations = self.operators, self.linear.equations
        old, terms = margins
        sources = Sources.zeros(1, operators.count, operators.rows, operators.internal)
        by_parameter = np.zeros(len(self.derivatives))
        for quantity, point, factor in terms:
            series, weight = _series(old, quantity, point), np.array([factor])
            series.add_sources(weight, sources)
            by_parameter += [series.by_parameter(weight, derivative) for derivative in self.derivatives]
        adjoint = Adjoint(equations, operators)
        multipliers = adjoint.steps(old, sources)
        for i, derivative in enumerate(self.derivatives):
            rhs = equations.by_parameter(old.block, derivative)
            by_parameter[i] += product(multipliers, rhs, old.by_parameter(derivative))
        rows, n = np.zeros((2, operators.rows)), self.linear.block.n + j
        rows[:, self.contact.laws.first[:-1]] = state_loss[2:]
        return Event(
            n=n, order=order, points=tuple(points), due=n + due, state_loss=StepState(*state_loss[:2], *rows),
            by_state=StepState(*adjoint.state), by_parameter=by_parameter, bend=bend,
            last=self.run(j + due - 1, 1).steps, shifts=shifts,
        )  # fmt: skip

    def _bend(self, j: int, point: int) -> float:
        """Relative change of the approach rate in the step before an onset. Infinite for a multiplier on the gap with
        λ = ½: g₁ = 0 makes v₁ = −v₀ − 2 g₀/Δt, a rebound by the phase of the step."""
        if self.contact.laws.level[point] == 1 and self.contact.weight <= 0.5:
            return np.inf
        approach_rate = self.linear.motion.v0[:, point, 0] + self.linear.block.opening[:, point] / self.contact.step
        return float(abs(approach_rate[j] - approach_rate[j - 1]) / (abs(approach_rate[j]) + 1e-300))


@dataclass(frozen=True, eq=False)
class _Steps:
    """Steps and the state after them."""

    steps: LinearSteps
    end: StepState


@dataclass(frozen=True, eq=False)
class _SolvedStep:
    """Solution of a step at prescribed statuses: φ (m,), P (r,), motion and statuses of the points."""

    multipliers: Array
    impulse: Array
    motion: PointMotion
    statuses: Statuses


@dataclass(frozen=True, eq=False)
class _RateAlong:
    """Slip rate of a point along a direction (2,), m/s; rates: those of all points (b, k, 2)."""

    direction: Array
    point: int
    rates: PointQuantity

    def __call__(self, contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
        rates = self.rates(contact, motion, statuses)
        out = np.zeros(rates.shape[:-1], dtype=rates.dtype)
        out[:, self.point] = rates[:, self.point] @ self.direction
        return out


@dataclass(frozen=True, eq=False)
class _LimitExcess:
    """Excess over the limit of the spring of a point that slips along a direction d (2,), if it sticks, Pa:
    k d·Δu − d·s₀ − μ p̄."""

    direction: Array
    point: int

    def __call__(self, contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
        stuck, limit = contact.stuck(motion, statuses)
        out = np.zeros(limit.shape, dtype=np.result_type(stuck, limit))
        out[:, self.point] = -stuck[:, self.point] @ self.direction - limit[:, self.point]
        return out


def _slip_rates_at_end(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Slip rates at the end, m/s."""
    return motion.v1[..., 1:]


def _slider_rates(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Slip rates behind springs of friction, m/s."""
    return contact.sliding(motion, statuses)


def _middle_gap(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Gap at the predicted middle of the step, by which points count as closed, m."""
    return contact.middle_gap(motion)


def _gap_at_end(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Gap at the end, m."""
    return contact.ends(motion)[1]


def _multiplier(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Impulse of the multiplier, N·s."""
    return contact.normal_parts(motion)[:, 2]


def _cone_margin(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Margin to the friction cone, μ P_n − ‖P_t‖, N·s."""
    return contact.cone_margin(motion, statuses)


def _gap_to_layer(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Gap at the end to the highest layer, m."""
    tops = contact.data.top
    highest = np.argmax(np.where(np.isnan(np.real(tops)), -np.inf, np.real(tops)), axis=1)
    return contact.ends(motion)[1] - tops[np.arange(len(tops)), highest]


def _rate_at_end(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Rate of the gap at the end, m/s."""
    return contact.ends(motion)[3]


def _series(linear: LinearSteps, quantity: PointQuantity, point: int) -> PointSeries:
    """The series of a quantity of one point."""

    def shares(assembly: Any) -> Array:
        out = np.zeros(linear.contact.laws.count)
        out[point] = 1.0
        return out

    return PointSeries(linear, quantity, shares)


def _value(linear: LinearSteps, quantity: PointQuantity, point: int) -> float:
    """The quantity of a point in the last step."""
    return float(_series(linear, quantity, point).values()[-1])


def _late(previous: float, margin: float, counts: float = 0.5) -> float | None:
    """Delay in steps of a change of status after the instant at which the run counts it, `counts` after the middle of
    a step; previous, margin: its margin in the step before and in this one. None where these give no instant nearby."""
    if not previous > margin > 0.0:
        return None
    delay = margin / (previous - margin) - counts
    return delay if abs(delay) <= 1.0 else None


def _after(values: NDArray[np.bool_], end: bool) -> NDArray[np.bool_]:
    """Values of the step after each (b, …), `end` for the last."""
    out = np.empty_like(values)
    out[:-1], out[-1] = values[1:], end
    return out


def _before(values: Any, start: Any) -> Any:
    """Values of the step before each (b, …), `start` for the first."""
    out = np.empty_like(values)
    out[1:], out[0] = values[:-1], start
    return out
