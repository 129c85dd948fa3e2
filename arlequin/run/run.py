"""The time loop: steps of one system or of an ensemble, audited, recorded and saved."""

import sys
import time as clock
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import xarray
from threadpoolctl import threadpool_limits

from arlequin.levels.series import LevelSeries
from arlequin.levels.stepper import Configurations, LevelStepper
from arlequin.models.errors import FAILURE, ModelWarning, UserError, UserTypeError, shown, warn_user
from arlequin.models.fem.solid import Solid
from arlequin.models.limits import check_work
from arlequin.models.parallel.ranks import ranks
from arlequin.models.phases import seconds_in
from arlequin.models.types import Array
from arlequin.multilevel.solvers.solver_lists import SOLVER_KERNELS
from arlequin.results.checkpoint import Checkpoint, misfit
from arlequin.results.history import TimeSeries
from arlequin.results.members_series import MembersSeries
from arlequin.results.reading import open as open_result
from arlequin.results.recorder import Record, Recorder, SilentRecorder
from arlequin.run.audit import Audit, ContactRounding, RefusedWork, growing_of
from arlequin.run.doubts import warn_of_doubts, warn_of_random_loads
from arlequin.run.interrupts import defer_interrupts
from arlequin.run.parallel import check_distributed, resumable, stops
from arlequin.run.provenance import mean_gravity, run_attributes
from arlequin.run.reflection import Reflection
from arlequin.run.resume import digest, study_of
from arlequin.schemes.members_apart import MembersApart
from arlequin.solvers.condensed import Checkpointable
from arlequin.solvers.initial_state import start_fields
from arlequin.step.acceptance import Failed
from arlequin.step.batch import StepBatch
from arlequin.step.scheme import EnsembleScheme, Scheme, Stepper, part_steps, time_errors
from arlequin.step.state import State
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.contact_start import start_sums
from arlequin.system.densities import check_masses
from arlequin.system.ensemble import Members
from arlequin.system.system import System


@dataclass(frozen=True)
class Ensemble:
    """Systems that differ only in what drives them and how they start."""

    systems: tuple[System, ...]


Progress = Callable[[int, int], None]

# recorder and progress bar are updated at the latest after so many steps, or seconds
_BLOCK, _SHOWN = 50, 0.2
SAVE_SECONDS = 10.0  # between two checkpoints
SAVE_SHARE = 0.005  # at most this share of the run goes into them


class Run:
    """A run of a system or an ensemble with one scheme: `state` is the present one, `result` the recorded DataTree."""

    state: State
    result: xarray.DataTree
    extra: Any = None  # data of the driver of the run (wear cycles) at the last `mark`

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
        """steps: number of steps; the last one is recorded as a frame in any case.

        With `record.resume` the run resumes from its checkpoint; `complete` is true where it had finished.
        """
        check_distributed(system, scheme)
        begin, compiled = running_clock(), compile_seconds()
        members, configurations = None, None
        if isinstance(system, Ensemble):
            _compile_parts_ahead(system.systems[0], scheme)
            members = Members.of(system.systems, time_errors(scheme, system.systems[0], step))
            self.assembly = members.assembly
        else:
            if system.interfaces or system.levels:
                from arlequin.models.kernel_cache import compile_ahead  # loads the compiler

                compile_ahead(SOLVER_KERNELS)
            _compile_parts_ahead(system, scheme)
            if system.levels:
                configurations = Configurations(system, scheme, step)
                self.assembly = configurations.assembly(configurations.first)
            else:
                self.assembly = assemble(system, time_errors(scheme, system, step))
        count = None if members is None else members.count
        check_work(steps, float(self.assembly.dof_count) * (count or 1))
        self.steps, self._duration = steps, steps * step
        self._study = study_of(system, scheme, step, steps, record)
        record, found = resumable(record, self._study)
        self.complete = isinstance(found, xarray.DataTree)
        if isinstance(found, xarray.DataTree):
            self.result = found
            return
        models = [self.assembly]
        if configurations is not None:
            models = [configurations.assembly(chosen) for chosen in configurations.singles]
        for model in models:
            check_masses(model.system, scheme.static)
        if configurations is None:
            self._stepper = stepper_of(scheme, self.assembly if members is None else members, step)
        else:
            self._stepper = LevelStepper(configurations)
        if members is None:
            start = start_fields(self.assembly, step, scheme.static)
            if found is None:
                warn_of_doubts(self.assembly, *start, None if scheme.static else step)
        else:
            u, v = members.of_each(lambda own: start_fields(own, step, scheme.static))
            start = u, v
            if found is None:  # members differ in loads and starts alone
                warn_of_doubts(members.each[0], u[0], v[0], None if scheme.static else step)
        if found is None and not scheme.static:
            every = system.systems if isinstance(system, Ensemble) else tuple(model.system for model in models)
            own_steps = {name: taken for one in every for name, taken in part_steps(scheme, one, step).items()}
            warn_of_random_loads(every, own_steps, steps * step)
        self.state = self._stepper.start(*start)
        if members is None and configurations is None:
            self.state = self.state.with_first_guess(self.assembly, step)
        if found is not None:
            first = self.state
            if isinstance(self._stepper, LevelStepper):
                first = self._stepper.rest_state_like(found.state)
            if wrong := misfit(found.state, first):
                raise UserError(f"{record.path}: its checkpoint cannot be read (state: {wrong}): run it anew", FAILURE)
            self.state, self.extra = found.state, found.extra
        located = self._stepper.locates_events
        self._history: TimeSeries | MembersSeries | LevelSeries
        # assemblies of members that step apart
        self._apart = members.each if members is not None and isinstance(self._stepper, MembersApart) else ()
        if self._apart:
            self._history = MembersSeries(self._apart, step, steps, record, scheme.static, located)
        elif configurations is None:
            self._history = TimeSeries(self.assembly, step, steps, record, scheme.static, located, count)
        else:
            self._history = LevelSeries(configurations, steps, record)
        if isinstance(self._history, TimeSeries | MembersSeries):
            self._history.load_sums(_former_sums(members, self.assembly))
        self._every = record.fields_every
        self._path = None if record.path is None else str(record.path)
        self._by_case = "case" in {**record.attributes, **attributes}
        times = {"setup_time": running_clock() - begin, "compile_time": compile_seconds() - compiled}
        about = run_attributes(self.assembly, scheme, step, steps * step)
        if self._stepper.linear_solver:
            about["linear_solver"] = self._stepper.linear_solver
        if self.assembly.absorbing:
            about["absorbing"] = ", ".join(self.assembly.absorbing)
        spread = {"ranks": ranks().count} if ranks().count > 1 else {}
        about |= spread

        def recorder() -> Recorder:
            return Recorder(
                record,
                self._history.variables(),
                steps=steps,
                frames=self._history.frame_count,
                attributes={**about, **times, **attributes, "study": digest(self._study)},
                done=None if found is None else found.history[:2],
                rows=None if found is None else found.rows,
            )

        self._recorder = _of_one_rank(recorder) if record.path is not None else recorder()
        self._progress = progress
        self._statistics = _Statistics(compiled)
        self._reflection = None if scheme.static or configurations else Reflection(self.assembly, steps)
        duration = 1.0 if scheme.static else step
        self._rounding = ContactRounding(models, duration)
        strain, asperity = self.state.stored
        self._audit = Audit(self.state.kinetic, strain, asperity, growing_of(models))
        self._found = found
        self._last: tuple[Any, ...] | None = None
        self._save_due = np.inf
        self._checkpointed = self._stepper if isinstance(self._stepper, Checkpointable) else None
        self._most = _BLOCK
        self._stop: Callable[[], bool] = lambda: False
        self._together: float | None = None  # clock of the first rank when all met last, s; None on one rank
        self.attributes: dict[str, str | int | float] = {}  # added when the run ends
        # of a run that was resumed: the number of ranks of its last part
        self._spread = {"ranks": ranks().count} if self._recorder.has_attribute("ranks") else spread

    @contextmanager
    def recorded(self) -> Iterator[Self]:
        """Context in which steps are recorded; the result is closed on any exit."""
        complete = 0
        try:
            # solves have one right-hand side: more BLAS threads would only wait for each other
            with threadpool_limits(1, user_api="blas"), stops() as self._stop:
                self._begin()
                yield self
            complete = 1
        except (Exception, KeyboardInterrupt) as error:  # includes exceptions from loads and motions of the user
            ranks().fails(error, last=self._keep_all)
            with defer_interrupts():
                self._keep_all()
            if isinstance(error, KeyboardInterrupt) and not error.args:
                error.args = self._how_to_resume()
            raise
        finally:
            self._close(complete)

    def _keep_all(self) -> None:
        """Write the accepted steps of a batch that was cut short, and the last mark as the checkpoint."""
        _flush(self._history, self._recorder)
        self._save()

    def _close(self, complete: int) -> None:
        """Close the result; a complete one on disk is opened by the other ranks, when the first one has closed it."""

        def close() -> None:
            self.result = self._recorder.close(
                {
                    **self._statistics.attributes(),
                    **self._spread,
                    **self._reflecting(),
                    **(mean_gravity(self.assembly, self._duration) if complete else {}),
                    **self.attributes,
                    "complete": complete,
                },
                {("", "balance"): self._audit.balance[: self._history.count]},
            )

        if self._path is None or not complete:
            close()
            return
        ranks().by_root(close)
        if not ranks().root:
            self.result = open_result(self._path)

    def _reflected(self) -> dict[str, float]:
        """Shares of the energy in gluing zones that their junctions reflect, by name, where they are to be told."""
        return {} if self._reflection is None else self._reflection.shares(self._audit.largest)

    def _reflecting(self) -> dict[str, str]:
        """The attribute `reflecting`: junctions and shares; empty where there is nothing to tell."""
        shares = ", ".join(f"{name} ({100 * share:.2g} %)" for name, share in self._reflected().items())
        return {"reflecting": shares} if shares else {}

    def _how_to_resume(self) -> tuple[str, ...]:
        """What resumes a run that was interrupted, in one line; nothing where it is not on disk."""
        if self._path is None:
            return ()
        cure = f"run the same call again with record=Record({self._path!r}, resume=True)"
        if self._by_case:
            cure = f"`arlequin resume {self._path}` resumes it"
        return (f"step {self.state.n} of {self.steps}; the partial result is in {self._path}: {cure}",)

    def to(self, n: int) -> None:
        """Steps to t = n Δt."""
        while self.state.n < n:
            found = self._next(self.state, n)
            with defer_interrupts():
                shown = self._keep(*found)
                self.mark()
            self._show(shown)
        if n == self.steps and self._reflection is not None:
            for name, share in self._reflected().items():
                warn_user(self._reflection.line(name, share), ModelWarning)

    def tried(self, n: int) -> list[tuple[State, StepBatch]]:
        """Steps to t = n Δt without committing them: pass them to `commit`, or drop them."""
        state, found = self.state, []
        while state.n < n:
            state, batch = self._next(state, n)
            found.append((state, batch))
        return found

    def commit(self, found: list[tuple[State, StepBatch]]) -> None:
        """Commit steps from `tried`."""
        for state, batch in found:
            with defer_interrupts():
                shown = self._keep(state, batch)
            self._show(shown)

    def mark(self, extra: Any = None) -> None:
        """Mark the present state as a checkpoint, which is written from time to time; extra: see the attribute."""
        kept = None if self._checkpointed is None else self._checkpointed.state_dict()
        self.extra = self.extra if extra is None else extra
        # immutable: valid until the next mark
        statistics = self._statistics.state_dict()
        if self._reflection is not None:
            statistics["reflection"] = self._reflection.state_dict()
        sums = self._audit.state_dict(), self._history.state_dict(), statistics
        self._last = self.state, kept, *sums, self.extra
        if self._now() > self._save_due:
            _flush(self._history, self._recorder)
            self._save()

    def _begin(self) -> None:
        """Record the initial state, or restore everything from the checkpoint."""
        self._statistics.begin = running_clock()
        self._due = clock.perf_counter() + _SHOWN
        found = self._found
        if found is None:
            works = self._audit.start
            each = zip(self._apart, self.state.own, works, strict=True) if self._apart else ()
            apart = [StepBatch.initial(*member) for member in each]
            first = StepBatch.of_members(apart) if apart else StepBatch.initial(self.assembly, self.state, works)
            self._history.add(first, self._audit.start[None], np.zeros(first.works.shape[:-1]))
        else:
            self._history.load_state_dict(found.history)
            energies = ranks().by_root(lambda: self._recorder.recorded(("", "energy")))
            self._audit.load_state_dict(found.audit, self._history.tables(energies))
            statistics = dict(found.statistics)
            reflection = statistics.pop("reflection", {})
            self._statistics.load_state_dict(statistics)
            if self._reflection is not None:
                self._reflection.load_state_dict(reflection)
            if self._checkpointed is not None:
                self._checkpointed.load_state_dict(found.kept)
            if self._progress is not None:
                self._progress(self.state.n, self.steps)
        self._save_due = clock.perf_counter() + SAVE_SECONDS
        self.mark()

    def _save(self) -> None:
        """Write the last mark as the checkpoint."""
        begin = clock.perf_counter()
        if self._last is not None:
            self._recorder.write_checkpoint(Checkpoint(self._study, *self._last))
        now = clock.perf_counter()
        self._save_due = now + max(SAVE_SECONDS, (now - begin) / SAVE_SHARE)

    def _next(self, state: State, n: int) -> tuple[State, StepBatch]:
        """The next batch of steps, at most to n Δt."""
        self._meet()
        begin, stepper = clock.perf_counter(), self._stepper
        count = min(max(self._most, stepper.least_batch), n - state.n)
        if stepper.fields_at_end:
            count = min(count, self._every - state.n % self._every)
            if self._reflection:
                count = min(count, self._reflection.every - state.n % self._reflection.every)
        state, batch = stepper.advance(state, count)
        self._most = _next_block(self._most, len(batch), clock.perf_counter() - begin)
        return state, batch

    def _meet(self) -> None:
        """Between two batches: all ranks stop, or go on as the first one's clock has it."""
        stop = self._stop()
        if ranks().count > 1:
            own = self._most, clock.perf_counter(), self._due, self._save_due
            most, self._together, self._due, self._save_due = ranks().goes_on(f"step {self.state.n}", own, stop)
            self._most = int(most)

    def _now(self) -> float:
        """The clock, s: on several ranks that of the first one when they met last, so that all do the same."""
        return clock.perf_counter() if self._together is None else self._together

    def _keep(self, state: State, batch: StepBatch) -> bool:
        """Audit and record a batch of steps and go to the state at its end; whether the progress bar is due."""
        audit, history = self._audit, self._history
        self.state = state
        try:
            table, balance = audit.add(batch.works, self._rounding(batch.contact.normal), self._stepper.conserves)
        except RefusedWork as fall:
            t, who = batch.n[fall.step] * self._stepper.step, "".join(f"member {i}: " for i in fall.member)
            share, at = f"{abs(fall.share):.2g} of the largest energy", f"at t = {t:.6g} s"
            if fall.column == "scheme":
                raise Failed(f"{who}the step changes the energy by {share} {at}, which its forces conserve") from None
            what = f"the dissipation '{fall.column}' falls by {share} {at}"
            raise Failed(f"{who}{what}: the step would make energy") from None
        if not np.isfinite(balance).all():
            first, *member = np.argwhere(~np.isfinite(balance))[0]
            who, t = "".join(f"member {i}: " for i in member), batch.n[first] * self._stepper.step
            raise UserError(f"{who}the energies are no longer finite at t = {t:.6g} s", code=1)
        history.add(batch, table, balance)
        self._statistics.add(batch)
        if self._reflection:
            self._reflection.add(batch)
        now = self._now()
        shown = len(history) >= _BLOCK or state.n == self.steps or now > self._due
        if shown:
            self._due = now + _SHOWN
            _flush(history, self._recorder)
        return shown

    def _show(self, shown: bool) -> None:
        if shown and self._progress is not None:
            self._progress(self.state.n, self.steps)


def _compile_parts_ahead(system: System, scheme: Scheme) -> None:
    """Kernels of parts in finite kinematics, each in a process of its own."""
    theta = getattr(scheme, "theta", None)
    calls = [call for part in system.parts if isinstance(part, Solid) for call in part.kernels(theta)]
    if calls:
        from arlequin.models.kernel_cache import compile_ahead  # loads the compiler

        for module, call in dict.fromkeys(calls):
            compile_ahead(module, call)


def stepper_of(scheme: Scheme, driven: Assembly | Members, step: float) -> Stepper:
    """The scheme made ready for one system, or for the members of an ensemble, and a step (s)."""
    if isinstance(driven, Assembly):
        return _checked(scheme.prepare(driven, step), scheme, "prepare")
    if driven.common and isinstance(scheme, EnsembleScheme):
        return _checked(scheme.prepare_ensemble(driven, step), scheme, "prepare_ensemble")
    return MembersApart(scheme, driven, step)


def _of_one_rank(made: Callable[[], Recorder]) -> Recorder | SilentRecorder:
    """The recorder of the first rank, which alone writes; that of the others keeps nothing."""
    kept: list[Recorder] = []
    ranks().by_root(lambda: kept.append(made()))
    return kept[0] if kept else SilentRecorder()


def _checked(stepper: Any, scheme: Scheme, method: str) -> Stepper:
    """What a method of the scheme returned, where it is a stepper; otherwise `UserTypeError`."""
    lacking = [name for name in ("step", "start", "advance") if not hasattr(stepper, name)]
    if lacking:
        raise UserTypeError(
            f"{method}() of the scheme {type(scheme).__name__} returned {shown(stepper)}, which is no stepper: it must "
            f"return an object with step, start(u, v) and advance(state, count); {', '.join(lacking)} missing"
        )
    found: Stepper = stepper
    return found


def compile_seconds() -> float:
    """Time that this process has spent with the compilation of kernels, s."""
    loaded = sys.modules.get("arlequin.models.kernel_cache")  # not imported here: it loads the compiler
    return 0.0 if loaded is None else seconds_in(loaded.COMPILING)


def running_clock() -> float:
    """A clock, s, that stands still while kernels are compiled: `setup_time` and `wall_time` are without it."""
    return clock.perf_counter() - compile_seconds()


class _Statistics:
    """Solver statistics of the steps, and times.

    compiled: `compile_seconds()` when the run began, before its set-up.
    """

    def __init__(self, compiled: float) -> None:
        self.steps = 0
        self.iterations = 0
        self.most_iterations = 0
        self.newton = 0
        self.most_newton = 0
        self.worst_residual = 0.0
        self.begin = running_clock()
        self.compiled = compiled

    def add(self, batch: StepBatch) -> None:
        self.steps += len(batch)
        self.iterations += int(batch.iterations.sum())
        self.most_iterations = max(self.most_iterations, int(batch.iterations.max()))
        self.newton += int(batch.newton.sum())
        self.most_newton = max(self.most_newton, int(batch.newton.max()))
        self.worst_residual = max(self.worst_residual, float(batch.residual.max()))

    def state_dict(self) -> dict[str, Any]:
        """The statistics, with the times spent so far on steps (`begin`) and compilation (`compiled`), s."""
        spent = {"begin": running_clock() - self.begin, "compiled": compile_seconds() - self.compiled}
        return {**vars(self), **spent}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore from `state_dict()`."""
        compiled = self.compiled - state.get("compiled", 0.0)  # 0: of an earlier version
        vars(self).update(state)
        self.begin, self.compiled = running_clock() - state["begin"], compiled

    def attributes(self) -> dict[str, float | int]:
        taken = running_clock() - self.begin
        return {
            "steps": self.steps,
            "wall_time": taken,
            "compile_time": compile_seconds() - self.compiled,
            "wall_time_per_step": taken / max(self.steps, 1),
            "contact_iterations": self.iterations,
            "contact_iterations_most": self.most_iterations,
            "contact_residual_worst": self.worst_residual,
            "newton_iterations": self.newton,
            "newton_iterations_most": self.most_newton,
        }


def _former_sums(members: Members | None, assembly: Assembly) -> dict[str, tuple[Array, Array]]:
    """Slip, m, and wear work, J, of the interfaces (k,) in the results from which the run starts, or (member, k)."""
    each = (assembly,) if members is None else members.each
    found = [start_sums(own.contact, own.system.from_result) for own in each if own.system.from_result is not None]
    if len(found) < len(each):
        return {}
    if members is None:
        return found[0]
    sums = {name: [one[name] for one in found] for name in found[0]}
    return {name: (np.stack([a for a, _ in own]), np.stack([b for _, b in own])) for name, own in sums.items()}


def _next_block(most: int, taken: int, seconds: float) -> int:
    """Size of the next batch: about half the time between two updates, at most 4096 steps."""
    if taken < most or seconds > 0.5 * _SHOWN:
        return max(1, min(most, int(taken * 0.5 * _SHOWN / seconds)))
    return min(2 * most, 4096)


def _flush(history: TimeSeries | MembersSeries | LevelSeries, recorder: Recorder | SilentRecorder) -> None:
    """Pass the collected series to the recorder in pieces, so that `time` is never far ahead of the fields."""
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
