"""A run under way: its state, its energies and what is recorded of it.

What a run steps: one system, or the members of an ensemble side by side.
"""

import time as clock
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import xarray
from threadpoolctl import threadpool_limits

from arlequin.models.errors import UserError
from arlequin.models.limits import check_work
from arlequin.models.types import Array
from arlequin.results.checkpoint import Checkpoint
from arlequin.results.history import TimeSeries
from arlequin.results.recorder import Record, Recorder
from arlequin.run.audit import Audit, NegativeDissipation, growing_of
from arlequin.run.interrupts import deferred, pending
from arlequin.run.provenance import run_attributes
from arlequin.run.resume import digest, left_at, study_of
from arlequin.schemes import Scheme, State, Theta
from arlequin.schemes.events import LocatedThetaStepper
from arlequin.schemes.theta_compiled import SmallMembers, are_small
from arlequin.schemes.theta_sparse import ThetaMembers
from arlequin.solvers.condensed import Checkpointable
from arlequin.solvers.initial_state import start_fields
from arlequin.step.state import Block, Failed, Stepper, Take, taker
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.ensemble import Members
from arlequin.system.system import System


class Steps(Protocol):
    """What all steppers have."""

    step: float


@dataclass(frozen=True)
class Moves:
    """A stepper, how the first state is made, what is recorded of it with its energies (…, kind), J, and how the next
    steps are taken: at least so many at once, to be worth it."""

    stepper: Steps
    start: Callable[[], State]
    first: Callable[[State, Array], Block]
    take: Take
    least: int = 1


@dataclass(frozen=True)
class Ensemble:
    """Systems that differ only in what drives them and how they start."""

    systems: tuple[System, ...]


@dataclass(frozen=True, eq=False)
class One:
    """One system."""

    assembly: Assembly
    members: None = None

    @classmethod
    def of(cls, system: System) -> "One":
        """Assembled."""
        return cls(assemble(system))

    def prepare(self, scheme: Scheme, step: float, every: int) -> Moves:
        """Made ready for a scheme, a step (s) and so many steps from frame to frame."""
        assembly = self.assembly
        stepper: Stepper = scheme.prepare(assembly, step)
        return Moves(
            stepper,
            lambda: stepper.start(*start_fields(assembly, step, scheme.static)),
            lambda state, works: Block.of(assembly, state, None, works),
            taker(stepper, assembly, every),
        )


@dataclass(frozen=True, eq=False)
class Many:
    """The members of an ensemble."""

    assembly: Assembly
    members: int
    all: Members

    @classmethod
    def of(cls, ensemble: Ensemble) -> "Many":
        """Assembled."""
        members = Members.of(ensemble.systems)
        return cls(members.assembly, members.count, members)

    def prepare(self, scheme: Scheme, step: float, every: int) -> Moves:
        """Made ready for a scheme, a step (s) and so many steps from frame to frame."""
        if not isinstance(scheme, Theta) or scheme.events != "step":
            raise UserError.parameter(
                "scheme", scheme, 'an ensemble takes Theta with events="step": simulate its members one by one'
            )
        stepper = (SmallMembers if are_small(self.all) else ThetaMembers)(self.all, scheme.theta, step)
        return Moves(stepper, stepper.start, stepper.first, stepper.advance_block, stepper.least)


Progress = Callable[[int, int], None]

# the record and the progress bar hear of the steps at the latest after so many of them, or seconds
_BLOCK, _SHOWN = 50, 0.2
SAVE_SECONDS = 10.0  # between two checkpoints
SAVE_SHARE = 0.005  # at most this share of the run goes into them
_ROUND_OFF = 64.0 * float(np.finfo(float).eps)  # of positions, relative to the extent of the surfaces


class Run:
    """A system and a scheme, stepped from t = 0; `state` is where it is, `result` what was recorded once it is over."""

    state: State
    result: xarray.DataTree
    extra: Any = None  # what drives the run has of its own at the last `mark`

    def __init__(
        self,
        system: System | Ensemble,
        scheme: Scheme,
        *,
        step: float,
        steps: int,
        record: Record,
        attributes: Mapping[str, Any],
        progress: Progress | None = None,
    ) -> None:
        """steps: how many there are at most; the last is recorded whatever the record asks for.

        With a record that asks for it the run goes on from its checkpoint; `complete` says that nothing is left to do.
        """
        begin = clock.perf_counter()
        subject = Many.of(system) if isinstance(system, Ensemble) else One.of(system)
        self.assembly = subject.assembly
        check_work(steps, float(self.assembly.dof_count) * (subject.members or 1))
        self.steps = steps
        self._study = study_of(system, scheme, step, steps, record)
        record, found = left_at(record, self._study)
        self.complete = isinstance(found, xarray.DataTree)
        if isinstance(found, xarray.DataTree):
            self.result = found
            return
        self._moves = subject.prepare(scheme, step, record.fields_every)
        self._stepper = self._moves.stepper
        if found is None:
            self.state = self._moves.start()
        else:
            self.state, self.extra = found.state, found.extra
        located = isinstance(self._stepper, LocatedThetaStepper)
        self._history = TimeSeries(self.assembly, step, steps, record, scheme.static, located, subject.members)
        setup = clock.perf_counter() - begin
        about = run_attributes(self.assembly, scheme, step, steps * step)
        self._recorder = Recorder(
            record,
            self._history.variables(),
            steps=steps,
            frames=self._history.frame_count,
            attributes={**about, "setup_time": setup, **attributes, "study": digest(self._study)},
            done=None if found is None else found.history[:2],
        )
        self._progress = progress
        self._statistics = _Statistics()
        duration = 1.0 if scheme.static else step
        scale = self.assembly.contact.scale
        self._rounding = (_ROUND_OFF * scale.extent + scale.round_off) / duration  # J by normal impulses, N·s
        self._audit = Audit(self.state.kinetic, *self.state.stored, growing_of(self.assembly))
        self._found = found
        self._last: tuple[Any, ...] | None = None
        self._save_due = np.inf
        self._checkpointed = self._stepper if isinstance(self._stepper, Checkpointable) else None
        self._take = self._moves.take
        self._most = _BLOCK
        self._check: Callable[[], None] = lambda: None
        self.attributes: dict[str, str | int | float] = {}  # known at the end alone

    @contextmanager
    def recorded(self) -> Iterator[Self]:
        """Records the steps taken within; the result is closed whatever happens."""
        complete = 0
        try:
            # one right-hand side at a time: more BLAS threads only wait for each other, badly so on a busy machine
            with threadpool_limits(1, user_api="blas"), pending() as self._check:
                self._begin()
                yield self
            complete = 1
        except (Exception, KeyboardInterrupt):  # also what loads and motions of the user raise
            with deferred():
                _flush(self._history, self._recorder)  # the accepted steps of a block that was cut short
                self._save()
            raise
        finally:
            self.result = self._recorder.close(
                {**self._statistics.attributes(), **self.attributes, "complete": complete},
                {("", "balance"): self._audit.balance[: self._history.count]},
            )

    def to(self, n: int) -> None:
        """Steps to t = n Δt."""
        while self.state.n < n:
            found = self._next(self.state, n)
            with deferred():
                shown = self._keep(*found)
                self.mark()
            self._show(shown)

    def tried(self, n: int) -> list[tuple[State, Block]]:
        """The steps to t = n Δt, for `keep`, or to be forgotten: the run stays where it is."""
        state, found = self.state, []
        while state.n < n:
            state, block = self._next(state, n)
            found.append((state, block))
        return found

    def commit(self, found: list[tuple[State, Block]]) -> None:
        """Takes the steps tried."""
        for state, block in found:
            with deferred():
                shown = self._keep(state, block)
            self._show(shown)

    def mark(self, extra: Any = None) -> None:
        """A place to go on from; it is saved from time to time. extra: as the attribute."""
        kept = None if self._checkpointed is None else self._checkpointed.state_dict()
        self.extra = self.extra if extra is None else extra
        # nothing of it ever changes: it serves until the next one
        sums = self._audit.state_dict(), self._history.state_dict(), self._statistics.state_dict()
        self._last = self.state, kept, *sums, self.extra
        if clock.perf_counter() > self._save_due:
            _flush(self._history, self._recorder)
            self._save()

    def _begin(self) -> None:
        """Records the initial state, or takes everything up where the checkpoint left it."""
        self._statistics.begin = clock.perf_counter()
        self._due = self._statistics.begin + _SHOWN
        found = self._found
        if found is None:
            first = self._moves.first(self.state, self._audit.start)
            self._history.add(first, self._audit.start[None], np.zeros(first.works.shape[:-1]))
        else:
            self._history.load_state_dict(found.history)
            energies = self._recorder.recorded(("", "energy"))
            self._audit.load_state_dict(found.audit, self._history.tables(energies))
            self._statistics.load_state_dict(found.statistics)
            if self._checkpointed is not None:
                self._checkpointed.load_state_dict(found.kept)
            if self._progress is not None:
                self._progress(self.state.n, self.steps)
        self._save_due = clock.perf_counter() + SAVE_SECONDS
        self.mark()

    def _save(self) -> None:
        """Writes the last mark as the checkpoint."""
        begin = clock.perf_counter()
        if self._last is not None:
            self._recorder.write_checkpoint(Checkpoint(self._study, *self._last))
        now = clock.perf_counter()
        self._save_due = now + max(SAVE_SECONDS, (now - begin) / SAVE_SHARE)

    def _next(self, state: State, n: int) -> tuple[State, Block]:
        """Some of the steps to n Δt."""
        self._check()
        begin = clock.perf_counter()
        state, block = self._take(state, min(max(self._most, self._moves.least), n - state.n))
        self._most = _next_block(self._most, len(block), clock.perf_counter() - begin)
        return state, block

    def _keep(self, state: State, block: Block) -> bool:
        """Goes on to the state at the end of some steps, which reach the record whole; whether they are to be shown."""
        audit, history = self._audit, self._history
        self.state = state
        try:
            table, balance = audit.add(block.works, self._rounding * np.abs(block.action.normal).sum(axis=-1))
        except NegativeDissipation as fall:
            t, who = block.n[fall.step] * self._stepper.step, "".join(f"member {i}: " for i in fall.member)
            what = f"the dissipation '{fall.column}' falls by {-fall.share:.2g} of the largest energy at t = {t:.6g} s"
            raise Failed(f"{who}{what}: the step would make energy") from None
        if not np.isfinite(balance).all():
            first, *member = np.argwhere(~np.isfinite(balance))[0]
            who, t = "".join(f"member {i}: " for i in member), block.n[first] * self._stepper.step
            raise UserError(f"{who}the energies are no longer finite at t = {t:.6g} s", code=1)
        history.add(block, table, balance)
        self._statistics.add(block)
        now = clock.perf_counter()
        shown = len(history) >= _BLOCK or state.n == self.steps or now > self._due
        if shown:
            self._due = now + _SHOWN
            _flush(history, self._recorder)
        return shown

    def _show(self, shown: bool) -> None:
        if shown and self._progress is not None:
            self._progress(self.state.n, self.steps)


class _Statistics:
    """Figures of the steps taken."""

    def __init__(self) -> None:
        self.steps = 0
        self.iterations = 0
        self.most_iterations = 0
        self.newton = 0
        self.most_newton = 0
        self.worst_residual = 0.0
        self.begin = clock.perf_counter()

    def add(self, block: Block) -> None:
        self.steps += len(block)
        self.iterations += int(block.iterations.sum())
        self.most_iterations = max(self.most_iterations, int(block.iterations.max()))
        self.newton += int(block.newton.sum())
        self.most_newton = max(self.most_newton, int(block.newton.max()))
        self.worst_residual = max(self.worst_residual, float(block.residual.max()))

    def state_dict(self) -> dict[str, Any]:
        """The figures so far, and the time they took, s."""
        return {**vars(self), "begin": clock.perf_counter() - self.begin}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from there."""
        vars(self).update(state)
        self.begin = clock.perf_counter() - state["begin"]

    def attributes(self) -> dict[str, float | int]:
        taken = clock.perf_counter() - self.begin
        return {
            "steps": self.steps,
            "wall_time": taken,
            "wall_time_per_step": taken / max(self.steps, 1),
            "contact_iterations": self.iterations,
            "contact_iterations_most": self.most_iterations,
            "contact_residual_worst": self.worst_residual,
            "newton_iterations": self.newton,
            "newton_iterations_most": self.most_newton,
        }


def _next_block(most: int, taken: int, seconds: float) -> int:
    """Steps to ask for next: as many as take about half the time between two updates, at most 4096."""
    if taken < most or seconds > 0.5 * _SHOWN:
        return max(1, min(most, int(taken * 0.5 * _SHOWN / seconds)))
    return min(2 * most, 4096)


def _flush(history: TimeSeries, recorder: Recorder) -> None:
    """Hands over what was collected, some steps at a time: `time` is never far ahead of the fields."""
    if not len(history):
        return
    (time, values), (frame_time, frames) = history.take()
    done = 0
    for first in range(0, time.size, _BLOCK):
        some = slice(first, first + _BLOCK)
        recorder.append(time[some], {key: rows[some] for key, rows in values.items()})
        own = slice(done, int(np.searchsorted(frame_time, time[some][-1], side="right")))
        if own.stop > done:
            recorder.append_frames(frame_time[own], {key: rows[own] for key, rows in frames.items()})
            done = own.stop
