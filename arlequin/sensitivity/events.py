"""Derivatives of a run through its contact events: impacts, onsets of lasting contact, stops and reversals of slip.

The statuses of contact in each step make the run a product of smooth steps F_s. A parameter moves the instant of an
event; the equations of the steps at their statuses, which all steps keep, do not know of that. Where point i has the
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
their derivatives are not. With a margin m > 0 in the last step of the old status, F, the rest of the cone or the slip
rate, which is 0 by extrapolation σ of a step after the middle of this step, and with G the step at the new status, the
motion differs by (G − F) δm/m for each step by which the change comes earlier: the run counts it from σ = ½ on, or,
where the point parts before it is seen to slip, from the instant at which it parts. Rising pressure puts a spring back
to the limit in F and in G, and in steps of stick after them; the last time, m is what it would pass the limit by, and G
does without.

Several stops of slip in a step are passed one after the other, in the order of their instants; onsets in one step move
together, their delay being the mean weighted by their impulses. Statuses that change with an event, without a margin
of their own, move with the first. Beginnings of layers need nothing, as a step takes the mean of their forces. Springs
of friction that stick from the first touch of a layer on stretch from there: that touch is an event.

The derivative needs events further apart than a step. `bend` tells how much the approach of a point changes from one
step to the next before an onset, relative to it: coupled points that strike one after the other, and grazing contact,
have a large one. So do multipliers on the gap under schemes with λ = ½, whose rebound depends on the phase of the
step.

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

_PASSES = 20  # of Newton's method for a step at given statuses
_CONVERGED = 1e-13  # change of an impulse, relative to the largest


def find_events(
    linear: LinearSteps, first: int, last: int, derivatives: Sequence[ModelDerivative], trend: bool
) -> Iterator[Event]:
    """The events in the steps first ≤ j < last of solved steps, in their order; none in statics and in central
    differences. Those of steps without neighbours, at the start and the end of a run, are left out. trend: whether
    those count at which forces are continuous, ends of contact, beginnings and ends of stick, first touches of
    layers: they add to the mean over the instants of the steps; a run itself, between its jumps, has a derivative
    without them."""
    form = linear.equations.form
    if form.static or form.staggered:
        return
    shifts = _Shifts(linear, derivatives, trend)
    for j in shifts.steps_with_events(max(first, 1), min(last, len(linear.block) - 2)):
        yield from shifts.events(j)


@dataclass(frozen=True)
class _Root:
    """An event of a point: the margin as a quantity of points, before and at the end of the step, and its instant."""

    point: int
    onset: bool
    quantity: PointQuantity
    before: float
    after: float

    @property
    def instant(self) -> float:
        """In the step, 0 … 1."""
        return self.before / (self.before - self.after)


@dataclass(frozen=True, eq=False)
class _Shifts:
    """Steps of a run, and those whose points change their statuses earlier or later."""

    linear: LinearSteps
    derivatives: Sequence[ModelDerivative]
    trend: bool

    @cached_property
    def operators(self) -> StepOperators:
        """Of the steps."""
        return StepOperators(self.linear.equations)

    @property
    def contact(self) -> ContactEquations:
        """The equations of the points."""
        return self.linear.contact

    @cached_property
    def directions(self) -> Array:
        """Of slip (b, k, 2), see `ContactEquations.slip_directions`."""
        return self.contact.slip_directions(self.linear.motion, self.linear.statuses)

    @cached_property
    def _fields(self) -> Array:
        """Fields of the state before each step (f, b + 1, d)."""
        equations, block = self.linear.equations, self.linear.block
        return equations.fields(block)

    def state(self, i: int) -> StepState:
        """Before step i of the run."""
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
        """Points (b, k) that slip in a direction of their own throughout the step."""
        now, friction = self.linear.statuses, self.contact.laws.frictional
        slides = (now.status == SLIP) & ~now.on_mean & ~np.isnan(self.directions[..., 0])
        return slides & self._pressed & friction

    @cached_property
    def _onsets(self) -> NDArray[np.bool_]:
        """Points (b, k) whose multiplier acts, and did not in the step before."""
        return self._acting & ~_before(self._acting, True)

    @cached_property
    def _catches(self) -> NDArray[np.bool_]:
        """Points (b, k) on layers that stick from the first touch on: their springs of friction begin to stretch."""
        if not self.trend:
            return np.zeros_like(self._pressed)
        laws, sticks = self.contact.laws, self._sticks
        springs = laws.elastic_stick & (laws.level == 0)
        return springs & ~_before(self._pressed, True) & sticks & _after(sticks, True)

    @cached_property
    def _stops(self) -> NDArray[np.bool_]:
        """Points (b, k) that slid in the step before, and do so no more, or backwards."""
        turned = (self.directions * _before(self.directions, np.nan)).sum(axis=-1)
        stays = self._sliding & (turned > 0.0)
        return _before(self._sliding, False) & self._pressed & ~stays

    @cached_property
    def _changed(self) -> NDArray[np.bool_]:
        """Points (b, k) of which any status differs from that of the step before, but for ends of contact."""
        now = self.linear.statuses
        fields = [now.active, now.status, now.on_mean]
        differs = np.any([own != _before(own, own[0]) for own in fields], axis=0)
        return differs & ~(_before(now.active, False) & ~now.active)

    @cached_property
    def _ends(self) -> NDArray[np.bool_]:
        """Points (b, k) whose multiplier acts no more, and did in both steps before."""
        before = _before(self._acting, False)
        return before & _before(before, False) & ~self._acting

    @cached_property
    def _sticks(self) -> NDArray[np.bool_]:
        """Points (b, k) that stick under pressure."""
        now = self.linear.statuses
        return (now.status == STICK) & ~now.on_mean & self._pressed

    @cached_property
    def _settling(self) -> NDArray[np.bool_]:
        """Points (b, k) on springs in the last step that puts these back to the limit, before one that sticks."""
        now, springs = self.linear.statuses, self.contact.laws.elastic_stick & self._pressed
        return springs & _before(springs, False) & now.limited & _after(self._sticks & ~now.limited, False)

    @cached_property
    def _turning(self) -> NDArray[np.bool_]:
        """Points (b, k) in the last step of stick before slip, or in the one before it where they then part, and on
        springs in the last step of slip before stick."""
        sticks, now, pressed = self._sticks, self.linear.statuses, self._pressed
        stays, presses = _after(sticks, True), _after(pressed, True)
        slips, parts = ~stays & presses, stays & ~_after(presses, True)
        yields = self.contact.laws.elastic_stick & pressed & (now.status == SLIP)
        of_stick = sticks & _before(sticks & ~now.limited, False) & (slips | parts)
        return of_stick | (yields & _before(yields, False) & stays)

    def steps_with_events(self, first: int, last: int) -> list[int]:
        """Steps with an onset, a stop of slip, or an end of contact or of stick."""
        points = self._onsets | self._catches | self._stops
        points = points | self._ends | self._turning | self._settling if self.trend else points
        some = points[first:last].any(axis=1)
        return [int(j) for j in first + np.flatnonzero(some)]

    # steps at given statuses

    @cached_property
    def _known(self) -> tuple[Statuses, Statuses]:
        """Of the run and of the trend, with the directions in which points go on to slip. Those of impacts follow the
        slip rate: their friction is large, and so is what a turn of its direction makes."""
        linear, none = self.linear, np.zeros_like(self._pressed)
        directions = np.where(self._onsets[..., None], np.nan, self.directions)
        run = self.contact.statuses(linear.motion, linear.block.status, linear.delassus)
        same: Any = {"direction": directions, "swung": none}
        return run._replace(**same), linear.statuses._replace(**same)

    def _statuses(
        self, at: int, source: NDArray[np.int64] | None = None, of_trend: NDArray[np.bool_] | None = None
    ) -> Statuses:
        """Of step `at`, those of each point in the step source (k,): of the run where it is this step, else, and of the
        points of_trend (k,), of the trend."""
        points = np.arange(self.contact.laws.count)
        source = np.full(points.size, at) if source is None else source
        own = source == at if of_trend is None else (source == at) & ~of_trend
        chosen = []
        each: Any = zip(*self._known, strict=True)
        for run, trend in each:
            values = trend[source, points]
            values[own] = run[at][own]
            chosen.append(values[None])
        return Statuses(*chosen)

    def _given(self, j: int, point: int, status: int, limited: bool | None = None, direction: Any = np.nan) -> Statuses:
        """Of step j, with a status that is given to a point; limited: None where that stays."""
        now = self._statuses(j)
        assert now.direction is not None
        now.status[0, point], now.direction[0, point] = status, direction
        if limited is not None:
            now.limited[0, point] = limited
        return now

    def _turned(self, j: int, point: int) -> Statuses:
        """Of step j, with a point that slips against its friction where it stuck, or sticks where it slipped: a spring
        that rising pressure puts back to the limit is put back there in both."""
        elastic = bool(self.contact.laws.elastic_stick[point])
        if not self._sticks[j, point]:
            return self._given(j, point, STICK)
        return self._given(j, point, SLIP, elastic, np.nan if elastic else self._against(j, point))

    def _against(self, j: int, point: int) -> Array:
        """The direction (2,) against friction in step j."""
        force = self.linear.motion.impulse[j, point, 1:]
        return np.asarray(-force / (np.linalg.norm(force) + 1e-300))

    def run(self, i: int, count: int) -> "_Steps":
        """Steps of the run."""
        return _Steps(self.linear.cut(i, i + count), self.state(i + count))

    def shifted(self, i: int, statuses: Sequence[Statuses]) -> "_Steps":
        """Steps from the state before step i of the run, each at its statuses."""
        states, steps = [self.state(i)], []
        for at, now in enumerate(statuses, i):
            end, solved = self._step(states[-1], at, now)
            states.append(end)
            steps.append(solved)
        linear = self.linear
        own = linear.block.cut(i, i + len(statuses))
        fields = np.stack([state.fields for state in states], axis=1)
        block = Block(
            n=own.n, u=fields[0], v=fields[1],
            multipliers=np.array([solved.multipliers for solved in steps]),
            impulse=np.array([solved.impulse for solved in steps]),
            status=np.concatenate([solved.statuses.status for solved in steps]),
            depth=np.array([state.depth for state in states[:-1]]),
            opening=np.array([state.opening for state in states[:-1]]),
            start=linear.equations.cut(linear.block, i, i + len(statuses)).start,
        )  # fmt: skip
        motion = PointMotion(*(np.concatenate(own) for own in zip(*(solved.motion for solved in steps), strict=True)))
        given: Any = (np.concatenate(own) for own in zip(*(solved.statuses for solved in steps), strict=True))
        springs = np.array([state.springs for state in states])
        made = LinearSteps(
            linear.equations, self.contact, block, motion, Statuses(*given), springs, linear.delassus
        )  # fmt: skip
        return _Steps(made, states[-1])

    def _step(self, state: StepState, i: int, now: Statuses) -> "tuple[StepState, _Solved]":
        """The state after a step, and its solution: the bulk is linear, so that it moves as in step i of the run but
        for the differences of the states and of the impulses."""
        linear, contact, block = self.linear, self.contact, self.linear.block
        equations, operators = linear.equations, self.operators
        form, assembly, condensed = equations.form, equations.model.bulk, equations.condensed
        change = state.fields - self._fields[:, i]
        free = condensed.predict(*equations.by_fields(change))
        basis = assembly.contact.basis
        rows = [np.asarray(basis @ own) for own in change[:3]]
        ahead = form.step**2 * rows[2] if form.carries else None
        before, more = linear.motion, np.zeros(operators.rows)
        (point, of), scale = linear.places, np.abs(block.impulse[i]).max(initial=0.0)

        def moved() -> PointMotion:
            y = free.contact + form.impulse * operators.compliance.move(more)
            ends = ContactMotion.of(rows[0], rows[1], y, form.weight, form.step, ahead)
            changes = (more, ends.end_displacement, ends.end_velocity, rows[0], rows[1])
            pairs = zip(before[:5], changes, strict=True)
            own: Any = (now[i : i + 1] + contact.spread(by[None]) for now, by in pairs)
            given: Any = (*own, contact.spread(state.springs[None]), state.depth[None], state.opening[None])
            return PointMotion(*given)

        for _ in range(_PASSES):  # slip in space, layers and springs are not linear
            motion = moved()
            statuses = contact.with_motion(motion, now)
            residual = contact.evaluate(motion, statuses).residual[0, point, of]
            by = np.moveaxis(contact.blocks(motion, statuses).residual[0], 1, 0)[:, point, of]
            by_y = form.step * by[1] + by[2] / form.weight
            step = impulses_of(
                linear.rows_of_points, by[0], by_y, operators.compliance, form.impulse, residual[:, None]
            )[:, 0]  # fmt: skip
            more += step
            if np.abs(step).max(initial=0.0) <= _CONVERGED * max(
                scale, np.abs(block.impulse[i] + more).max(initial=0.0)
            ):
                break
        motion = moved()
        statuses = contact.with_motion(motion, now)
        values = contact.evaluate(motion, statuses)
        y, pulled = condensed.correct(free, form.impulse * more)
        end = self._fields[:, i + 1] + equations.fields_after(change, y)
        worn = values.worn[0]
        solved = _Solved(block.multipliers[i] + pulled / form.impulse, block.impulse[i] + more, motion, statuses)
        return StepState(end, values.spring[0, point, of], state.depth + worn, worn), solved

    # events

    def _root(self, j: int, point: int, before: LinearSteps, old: LinearSteps) -> _Root | None:
        """The event of a point in step j; before: the step before it, old: this with the status of that. None where the
        margin does not change its sign: the status changes with another one."""
        onset = bool(self._onsets[j, point])
        quantity: PointQuantity
        if self._catches[j, point]:
            quantity = _gap_to_layer
        elif not onset:
            quantity = _Along(self.directions[j - 1, point], point, _slip_rates_at_end)
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
        found = self._jumps(j, before)
        if not self.trend:
            return found
        changes = (self._ends, self._end), (self._turning, self._turn), (self._settling, self._settle)
        for points, change in changes:
            for point in np.flatnonzero(points[j]):
                event = change(j, int(point), before, len(found))
                found += [] if event is None else [event]
        return found

    def _jumps(self, j: int, before: LinearSteps) -> list[Event]:
        """The onsets and stops of slip of step j."""
        count = self.contact.laws.count
        candidates = np.flatnonzero(self._onsets[j] | self._catches[j] | self._stops[j])
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
        laws = self.contact.laws  # springs on layers yield and stick again at instants of their own
        alone = self._changed[j] & ~(laws.elastic_stick & (laws.level == 0))
        alone[[root.point for root in roots]] = False
        moving = [np.zeros(count, dtype=bool) for _ in groups]
        for some, group in zip(moving, groups, strict=True):
            some[[root.point for root in group]] = True
        moving[0] |= alone
        after = range(j + 1, j + 2 + self._lets_go(j, onsets))  # the steps after it in which statuses are shifted
        late = [self.run(j, 1 + len(after))]  # of the last events, one more each time
        later = np.zeros(count, dtype=bool)
        for some in reversed(moving):
            later |= some
            late.append(self.shifted(j, [self._statuses(i, np.where(later, i - 1, i)) for i in (j, *after)]))
        late.reverse()
        early = [self.run(j - 1, 2 + len(after))]
        sooner = np.zeros(count, dtype=bool)
        for some in moving:
            sooner |= some
            statuses = [self._statuses(i, np.where(sooner, i + 1, i)) for i in (j - 1, j)]
            caught = sooner & self._catches[j]  # limited in the step after the touch by its phase, if at all
            early.append(self.shifted(j - 1, statuses + [self._statuses(i, of_trend=caught) for i in after]))
        return [
            self._jump(j, group, old, early[at : at + 2], late[at : at + 2], order=at)
            for at, group in enumerate(groups)
        ]

    def _lets_go(self, j: int, onsets: list[_Root]) -> bool:
        """Whether a spring of friction is stretched in step j alone: what it loses when the point parts is of second
        order in its traction, so that the later event takes this step along."""
        if j + 2 >= len(self.linear.block):
            return False
        some = [root.point for root in onsets]
        return bool((self.contact.laws.elastic_stick[some] & ~self._pressed[j + 1, some]).any())

    def _jump(
        self, j: int, group: list[_Root], old: LinearSteps, early: "list[_Steps]", late: "list[_Steps]", order: int
    ) -> Event:
        """Of points that move together, without and with them earlier, and with and without them later."""
        n, first = self.linear.block.n + j, self.contact.laws.first
        weights = self.linear.block.impulse[j][first[[root.point for root in group]]]
        weights = weights / weights.sum() if weights.sum() > 0.0 else np.full(len(group), 1.0 / len(group))
        margins = [
            (root.quantity, root.point, -share / (root.after - root.before))
            for root, share in zip(group, weights.tolist(), strict=True)
        ]
        ends = zip(*(steps.end for steps in (early[1], early[0], late[0], late[1])), strict=True)
        return self._made(
            j, order, [root.point for root in group], len(late[0].steps.block),
            [0.5 * ((a - b) - (c - d)) for a, b, c, d in ends],
            (old, margins),
            max((self._bend(j, root.point) for root in group if root.onset), default=0.0),
            (Shift(0.5, n - 1, early[0].steps, early[1].steps), Shift(-0.5, n, late[1].steps, late[0].steps)),
        )  # fmt: skip

    def _end(self, j: int, point: int, before: LinearSteps, order: int) -> Event | None:
        """Of a point whose contact ends."""
        source = np.full(self.contact.laws.count, j)
        source[point] = j - 1
        own, stays = self.run(j, 1), self.shifted(j, [self._statuses(j, source)])
        last, after = _value(before, _multiplier, point), _value(stays.steps, _multiplier, point)
        if not after < 0.0 < last:
            return None
        factor = -(last / (last - after) - 0.5) / after
        moved = [a - b for a, b in zip(stays.end, own.end, strict=True)]
        shift = Shift(1.0, self.linear.block.n + j, own.steps, stays.steps)
        return self._made(j, order, [point], 1, moved, (stays.steps, [(_multiplier, point, factor)]), None, (shift,))

    def _turn(self, j: int, point: int, before: LinearSteps, order: int) -> Event | None:
        """Of a point that slips from the next step on, or from where it parts in the one after; or that sticks there on
        its spring."""
        sticks, own = self._sticks[j, point], self.run(j, 1)
        quantity: PointQuantity = _rest_of_cone if sticks else _Along(self._against(j, point), point, _slider_rates)
        last, rest = _value(before, quantity, point), _value(own.steps, quantity, point)
        late = _late(last, rest, self._counts(j, point))
        if sticks and rest > 0.0 and self._swings(j, point):
            return self._swing(j, point, rest, late, order)
        if late is None:
            return None
        turned = self.shifted(j, [self._turned(j, point)])
        moved = [a - b for a, b in zip(turned.end, own.end, strict=True)]
        if sticks:
            moved[1] = np.zeros_like(moved[1])  # springs are put back to the limit in the next step
        shift = Shift(1.0, self.linear.block.n + j, own.steps, turned.steps)
        return self._made(j, order, [point], 1, moved, (own.steps, [(quantity, point, late / rest)]), None, (shift,))

    def _settle(self, j: int, point: int, before: LinearSteps, order: int) -> Event | None:
        """Of a spring that is put back to the limit, and sticks from the next step on."""
        own, quantity = self.run(j, 1), _Beyond(self._against(j, point), point)
        last, rest = _value(before, quantity, point), _value(own.steps, quantity, point)
        late = _late(last, rest)
        if late is None:
            return None
        stays, moves = (self.shifted(j, [self._given(j, point, STICK, held)]) for held in (True, False))
        moved = [a - b for a, b in zip(moves.end, stays.end, strict=True)]
        shift = Shift(1.0, self.linear.block.n + j, stays.steps, moves.steps)
        return self._made(j, order, [point], 1, moved, (own.steps, [(quantity, point, late / rest)]), None, (shift,))

    def _counts(self, j: int, point: int) -> float:
        """Steps after the middle of step j at which its last status ends in the run: where the next step begins, or
        where the point parts."""
        if not (self._sticks[j, point] and self._sticks[j + 1, point]):
            return 0.5
        earlier, now = self.linear.motion.impulse[j - 1 : j + 1, point, 0]
        return float(now / (earlier - now)) if earlier > now else np.inf

    def _swings(self, j: int, point: int) -> bool:
        """Whether a spring is not put back to the limit in the last step of stick and in the one after it: it yields to
        falling pressure."""
        elastic, limited = self.contact.laws.elastic_stick[point], self.linear.statuses.limited[j : j + 2, point]
        return bool(elastic and self._pressed[j + 1, point] and not limited.any())

    def _swing(self, j: int, point: int, rest: float, late: float | None, order: int) -> Event:
        """Of a spring that yields to falling pressure: in a run it passes the limit of friction by the phase of the
        step, and with θ < 1 swings about it from then on; in the mean it is at it. rest: what is left of the limit in
        step j, N·s; late: see `_late`."""
        laws, own = self.contact.laws, self.run(j, 1)
        rows = slice(laws.first[point] + 1, laws.first[point + 1])
        short = np.zeros(self.operators.rows)  # what the spring lacks to the limit, Pa, against its traction
        short[rows] = self._against(j, point)[: rows.stop - rows.start] * rest / (self.contact.step * laws.area[point])
        moved = [np.zeros_like(own.end.fields), short, np.zeros_like(own.end.depth), np.zeros_like(own.end.opening)]
        if late is not None:
            moved[0] = late * (self.shifted(j, [self._turned(j, point)]).end.fields - own.end.fields)
        shift = Shift(1.0, self.linear.block.n + j, own.steps, self._slid(own.steps, point, short))
        margin = [(_rest_of_cone, point, 1.0 / rest)]
        return self._made(j, order, [point], 1, moved, (own.steps, margin), None, (shift,))

    def _slid(self, step: LinearSteps, point: int, short: Array) -> LinearSteps:
        """A step whose slider moves on by what its spring (r,), Pa, lacks to the limit."""
        start = step.motion.spring - self.contact.spread(short[None]) / self.contact.gains[point]
        rubs = step.statuses.rubs.copy()
        rubs[0, point] = True
        motion, statuses = step.motion._replace(spring=start), step.statuses._replace(rubs=rubs)
        return replace(step, motion=motion, statuses=statuses)

    def _made(
        self,
        j: int,
        order: int,
        points: list[int],
        due: int,
        moved: list[Array],
        margins: tuple[LinearSteps, Sequence[tuple[PointQuantity, int, float]]],
        bend: float | None,
        shifts: tuple[Shift, ...],
    ) -> Event:
        """With the derivatives of the delay, a sum of quantities of points in a step, with their factors."""
        operators, equations = self.operators, self.linear.equations
        old, terms = margins
        sources = Sources.zeros(1, operators.count, operators.rows)
        by_parameter = np.zeros(len(self.derivatives))
        for quantity, point, factor in terms:
            series, weight = _series(old, quantity, point), np.array([factor])
            series.add_sources(weight, sources)
            by_parameter += [series.by_parameter(weight, derivative) for derivative in self.derivatives]
        adjoint = Adjoint(equations, operators)
        passed = adjoint.steps(old, sources)
        for i, derivative in enumerate(self.derivatives):
            at_once = equations.by_parameter(old.block, derivative)
            by_parameter[i] += product(passed, at_once, old.by_parameter(derivative))
        rows, n = np.zeros((2, operators.rows)), self.linear.block.n + j
        rows[:, self.contact.laws.first[:-1]] = moved[2:]
        return Event(
            n=n, order=order, points=tuple(points), due=n + due, moved=StepState(moved[0], moved[1], *rows),
            by_state=StepState(*adjoint.state), by_parameter=by_parameter, bend=bend,
            last=self.run(j + due - 1, 1).steps, shifts=shifts,
        )  # fmt: skip

    def _bend(self, j: int, point: int) -> float:
        """Change of the approach in the step before an onset, relative to it. Infinite for a multiplier on the gap with
        λ = ½: g₁ = 0 makes v₁ = −v₀ − 2 g₀/Δt, a rebound by the phase of the step."""
        if self.contact.laws.level[point] == 1 and self.contact.weight <= 0.5:
            return np.inf
        own = self.linear.motion.v0[:, point, 0] + self.linear.block.opening[:, point] / self.contact.step
        return float(abs(own[j] - own[j - 1]) / (abs(own[j]) + 1e-300))


@dataclass(frozen=True, eq=False)
class _Steps:
    """Steps with the state after them."""

    steps: LinearSteps
    end: StepState


@dataclass(frozen=True, eq=False)
class _Solved:
    """A step at given statuses: φ (m,), P (r,), motion and statuses of the points."""

    multipliers: Array
    impulse: Array
    motion: PointMotion
    statuses: Statuses


@dataclass(frozen=True, eq=False)
class _Along:
    """Slip rate of a point along a direction (2,), m/s; rates: those of all points (b, k, 2)."""

    direction: Array
    point: int
    rates: PointQuantity

    def __call__(self, contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
        rates = self.rates(contact, motion, now)
        out = np.zeros(rates.shape[:-1], dtype=rates.dtype)
        out[:, self.point] = rates[:, self.point] @ self.direction
        return out


@dataclass(frozen=True, eq=False)
class _Beyond:
    """By how much the spring of a point that slips along a direction d (2,) passes the limit if it sticks, Pa:
    k d·Δu − d·s₀ − μ p̄."""

    direction: Array
    point: int

    def __call__(self, contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
        stuck, limit = contact.stuck(motion, now)
        out = np.zeros(limit.shape, dtype=np.result_type(stuck, limit))
        out[:, self.point] = -stuck[:, self.point] @ self.direction - limit[:, self.point]
        return out


def _slip_rates_at_end(contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
    """Slip rates at the end, m/s."""
    return motion.v1[..., 1:]


def _slider_rates(contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
    """Slip rates behind springs of friction, m/s."""
    return contact.sliding(motion, now)


def _middle_gap(contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
    """Gap at the predicted middle of the step, by which points count as closed, m."""
    return contact.middle_gap(motion)


def _gap_at_end(contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
    """Gap at the end, m."""
    return contact.ends(motion)[1]


def _multiplier(contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
    """Impulse of the multiplier, N·s."""
    return contact.normal_parts(motion)[:, 2]


def _rest_of_cone(contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
    """What is left of the limit of friction, N·s."""
    return contact.rest_of_cone(motion, now)


def _gap_to_layer(contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
    """Gap at the end to the highest layer, m."""
    tops = contact.data.top
    highest = np.argmax(np.where(np.isnan(np.real(tops)), -np.inf, np.real(tops)), axis=1)
    return contact.ends(motion)[1] - tops[np.arange(len(tops)), highest]


def _rate_at_end(contact: ContactEquations, motion: PointMotion, now: Statuses) -> Any:
    """Rate of the gap at the end, m/s."""
    return contact.ends(motion)[3]


def _series(linear: LinearSteps, quantity: PointQuantity, point: int) -> PointSeries:
    """A quantity of one point."""

    def shares(assembly: Any) -> Array:
        out = np.zeros(linear.contact.laws.count)
        out[point] = 1.0
        return out

    return PointSeries(linear, quantity, shares)


def _value(linear: LinearSteps, quantity: PointQuantity, point: int) -> float:
    """Of the last step."""
    return float(_series(linear, quantity, point).values()[-1])


def _late(last: float, rest: float, counts: float = 0.5) -> float | None:
    """Steps by which a change of status comes after the instant at which it counts, `counts` after the middle of a
    step; last, rest: its margin in the step before and in this one. None where these give no instant nearby."""
    if not last > rest > 0.0:
        return None
    late = rest / (last - rest) - counts
    return late if abs(late) <= 1.0 else None


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
