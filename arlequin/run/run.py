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
from arlequin.run.handover_attribute import handover_attribute
from arlequin.run.interrupts import defer_interrupts
from arlequin.run.parallel import check_distributed, resumable, stops
from arlequin.run.provenance import mean_gravity, run_attributes
from arlequin.run.reflection import Reflection
from arlequin.run.resume import digest, study_of
from arlequin.schemes.flow_steps import InFlow, with_flows
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
    """Systems that differ only in loads, imposed motions and initial conditions."""

    systems: tuple[System, ...]


Progress = Callable[[int, int], None]

# largest interval between updates of recorder and progress bar, in steps and in seconds
_UPDATE_STEPS, _UPDATE_SECONDS = 50, 0.2
SAVE_SECONDS = 10.0  # least time between two checkpoints
SAVE_SHARE = 0.005  # largest share of the run time spent on checkpoints


class Run:
    """A run of a system or an ensemble with one scheme; state: after the last recorded step; result: the DataTree."""

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
        record, former = resumable(record, self._study)
        self.complete = isinstance(former, xarray.DataTree)
        if isinstance(former, xarray.DataTree):
            self.result = former
            return
        models = [self.assembly]
        if configurations is not None:
            models = [configurations.assembly(choice) for choice in configurations.singles]
        for model in models:
            check_masses(model.system, scheme.static)
        if configurations is None:
            self._stepper = stepper_of(scheme, self.assembly if members is None else members, step)
        else:
            self._stepper = LevelStepper(configurations)
        if members is None:
            start = start_fields(self.assembly, step, scheme.static)
            if former is None:
                warn_of_doubts(self.assembly, *start, None if scheme.static else step)
        else:
            u, v = members.of_each(lambda assembly: start_fields(assembly, step, scheme.static))
            start = u, v
            if former is None:  # members differ in loads and starts alone
                warn_of_doubts(members.each[0], u[0], v[0], None if scheme.static else step)
        if former is None and not scheme.static:
            all_systems = system.systems if isinstance(system, Ensemble) else tuple(model.system for model in models)
            steps_of_parts = {
                name: part_step for each in all_systems for name, part_step in part_steps(scheme, each, step).items()
            }
            warn_of_random_loads(all_systems, steps_of_parts, steps * step)
        self.state = self._stepper.start(*start)
        if members is None and configurations is None and not scheme.static:  # statics starts in equilibrium
            self.state = self.state.with_first_guess(self.assembly, step)
        if former is not None:
            first = self.state
            if isinstance(self._stepper, LevelStepper):
                first = self._stepper.rest_state_like(former.state)
            if wrong := misfit(former.state, first):
                raise UserError(f"{record.path}: its checkpoint cannot be read (state: {wrong}): run it anew", FAILURE)
            self.state, self.extra = former.state, former.extra
        self._static_goes_on = scheme.static and isinstance(system, System) and system.from_result is not None
        located = self._stepper.locates_events
        self._history: TimeSeries | MembersSeries | LevelSeries
        # assemblies of members that are stepped separately
        self._separate = members.each if members is not None and isinstance(self._stepper, MembersApart) else ()
        if self._separate:
            self._history = MembersSeries(self._separate, step, steps, record, scheme.static, located)
        elif configurations is None:
            self._history = TimeSeries(self.assembly, step, steps, record, scheme.static, located, count)
        else:
            self._history = LevelSeries(configurations, steps, record)
        if isinstance(self._history, TimeSeries | MembersSeries):
            self._history.load_sums(_initial_sums(members, self.assembly))
        self._every = record.fields_every
        self._path = None if record.path is None else str(record.path)
        self._by_case = "case" in {**record.attributes, **attributes}
        times = {"setup_time": running_clock() - begin, "compile_time": compile_seconds() - compiled}
        metadata = run_attributes(self.assembly, scheme, step, steps * step)
        if self._stepper.linear_solver:
            metadata["linear_solver"] = self._stepper.linear_solver
        if isinstance(system, System) and configurations is None and system.from_result is not None:
            metadata["handover"] = handover_attribute(self.assembly, self.state)
        if self.assembly.absorbing:
            metadata["absorbing"] = ", ".join(self.assembly.absorbing)
        rank_attributes = {"ranks": ranks().count} if ranks().count > 1 else {}
        metadata |= rank_attributes

        def recorder() -> Recorder:
            return Recorder(
                record,
                self._history.variables(),
                steps=steps,
                frames=self._history.frame_count,
                attributes={**metadata, **times, **attributes, "study": digest(self._study)},
                done=None if former is None else former.history[:2],
                rows=None if former is None else former.rows,
            )

        self._recorder = _on_root(recorder) if record.path is not None else recorder()
        self._progress = progress
        self._statistics = _Statistics(compiled)
        self._reflection = None if scheme.static or configurations else Reflection(self.assembly, steps)
        duration = 1.0 if scheme.static else step
        self._rounding = ContactRounding(models, duration)
        strain, asperity = self.state.stored
        self._audit = Audit(self.state.kinetic, strain, asperity, growing_of(models))
        self._former = former
        self._marked: tuple[Any, ...] | None = None
        self._save_due = np.inf
        self._checkpointable = self._stepper if isinstance(self._stepper, Checkpointable) else None
        self._batch_size = _UPDATE_STEPS
        self._stop: Callable[[], bool] = lambda: False
        self._synchronised_clock: float | None = None  # s, of the first rank; None on one rank
        self.attributes: dict[str, str | int | float] = {}  # added when the run ends
        # a resumed run has the number of ranks of its last part
        self._rank_attributes = {"ranks": ranks().count} if self._recorder.has_attribute("ranks") else rank_attributes

    @contextmanager
    def recorded(self) -> Iterator[Self]:
        """Context in which steps are recorded; the result is closed on any exit."""
        complete = 0
        try:
            # solves have one right-hand side: more BLAS threads do not pay
            with threadpool_limits(1, user_api="blas"), stops() as self._stop:
                self._begin()
                yield self
            complete = 1
        except (Exception, KeyboardInterrupt) as error:  # includes exceptions from loads and motions of the user
            ranks().fails(error, last=self._save_all)
            with defer_interrupts():
                self._save_all()
            if isinstance(error, KeyboardInterrupt) and not error.args:
                error.args = self._how_to_resume()
            raise
        finally:
            self._close(complete)

    def _save_all(self) -> None:
        """Write the accepted steps of an interrupted batch, and the last mark as the checkpoint."""
        _write_collected(self._history, self._recorder)
        self._save()

    def _close(self, complete: int) -> None:
        """Close the result; the other ranks open a complete result on disk after the first rank has closed it."""

        def close() -> None:
            self.result = self._recorder.close(
                {
                    **self._statistics.attributes(),
                    **self._rank_attributes,
                    **self._reflection_attribute(),
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

    def _reflected_shares(self) -> dict[str, float]:
        """Energy shares in gluing zones that junctions reflect, by name, if beyond the limits of `Reflection`."""
        return {} if self._reflection is None else self._reflection.shares(self._audit.largest)

    def _reflection_attribute(self) -> dict[str, str]:
        """The attribute `reflecting`: junctions and shares; empty if no share exceeds the limits."""
        shares = ", ".join(f"{name} ({100 * share:.2g} %)" for name, share in self._reflected_shares().items())
        return {"reflecting": shares} if shares else {}

    def _how_to_resume(self) -> tuple[str, ...]:
        """How to resume an interrupted run, in one line; empty if it is not on disk."""
        if self._path is None:
            return ()
        cure = f"run the same call again with record=Record({self._path!r}, resume=True)"
        if self._by_case:
            cure = f"`arlequin resume {self._path}` resumes it"
        return (f"step {self.state.n} of {self.steps}; the partial result is in {self._path}: {cure}",)

    def to(self, n: int) -> None:
        """Step to t = n Δt."""
        while self.state.n < n:
            advanced = self._next(self.state, n)
            with defer_interrupts():
                shown = self._record_batch(*advanced)
                self.mark()
            self._show(shown)
        if n == self.steps and self._reflection is not None:
            for name, share in self._reflected_shares().items():
                warn_user(self._reflection.line(name, share), ModelWarning)

    def tried(self, n: int) -> list[tuple[State, StepBatch]]:
        """Step to t = n Δt without committing; returns the states and batches for `commit`."""
        state, batches = self.state, []
        while state.n < n:
            state, batch = self._next(state, n)
            batches.append((state, batch))
        return batches

    def commit(self, batches: list[tuple[State, StepBatch]]) -> None:
        """Commit steps from `tried`."""
        for state, batch in batches:
            with defer_interrupts():
                shown = self._record_batch(state, batch)
            self._show(shown)

    def mark(self, extra: Any = None) -> None:
        """Mark the present state as a checkpoint, written if one is due; extra: see the attribute."""
        stepper_state = None if self._checkpointable is None else self._checkpointable.state_dict()
        self.extra = self.extra if extra is None else extra
        # immutable: valid until the next mark
        statistics = self._statistics.state_dict()
        if self._reflection is not None:
            statistics["reflection"] = self._reflection.state_dict()
        sums = self._audit.state_dict(), self._history.state_dict(), statistics
        self._marked = self.state, stepper_state, *sums, self.extra
        if self._now() > self._save_due:
            _write_collected(self._history, self._recorder)
            self._save()

    def _start_forces(self) -> Array | None:
        """Contact forces (r,), N, of the equilibrium from which statics goes on; None of other starts."""
        return self.state.impulse if self._static_goes_on and isinstance(self._history, TimeSeries) else None

    def _begin(self) -> None:
        """Record the initial state, or restore everything from the checkpoint."""
        self._statistics.begin = running_clock()
        self._due = clock.perf_counter() + _UPDATE_SECONDS
        checkpoint = self._former
        if checkpoint is None:
            works = self._audit.start
            each = zip(self._separate, self.state.scheme_state, works, strict=True) if self._separate else ()
            batches = [StepBatch.initial(*member) for member in each]
            first = (
                StepBatch.of_members(batches)
                if batches
                else StepBatch.initial(self.assembly, self.state, works, self._start_forces())
            )
            self._history.add(first, self._audit.start[None], np.zeros(first.works.shape[:-1]))
        else:
            self._history.load_state_dict(checkpoint.history)
            energies = ranks().by_root(lambda: self._recorder.recorded(("", "energy")))
            self._audit.load_state_dict(checkpoint.audit, self._history.tables(energies))
            statistics = dict(checkpoint.statistics)
            reflection = statistics.pop("reflection", {})
            self._statistics.load_state_dict(statistics)
            if self._reflection is not None:
                self._reflection.load_state_dict(reflection)
            if self._checkpointable is not None:
                self._checkpointable.load_state_dict(checkpoint.kept)
            if self._progress is not None:
                self._progress(self.state.n, self.steps)
        self._save_due = clock.perf_counter() + SAVE_SECONDS
        self.mark()

    def _save(self) -> None:
        """Write the last mark as the checkpoint."""
        begin = clock.perf_counter()
        if self._marked is not None:
            self._recorder.write_checkpoint(Checkpoint(self._study, *self._marked))
        now = clock.perf_counter()
        self._save_due = now + max(SAVE_SECONDS, (now - begin) / SAVE_SHARE)

    def _next(self, state: State, n: int) -> tuple[State, StepBatch]:
        """The next batch of steps, at most to n Δt."""
        self._synchronise()
        begin, stepper = clock.perf_counter(), self._stepper
        count = min(max(self._batch_size, stepper.least_batch), n - state.n)
        if stepper.fields_at_end:
            count = min(count, self._every - state.n % self._every)
            if self._reflection:
                count = min(count, self._reflection.every - state.n % self._reflection.every)
        state, batch = stepper.advance(state, count)
        self._batch_size = _next_batch_size(self._batch_size, len(batch), clock.perf_counter() - begin)
        return state, batch

    def _synchronise(self) -> None:
        """Synchronise the ranks between two batches: stop together, or continue with the clock of the first rank."""
        stop = self._stop()
        if ranks().count > 1:
            local = self._batch_size, clock.perf_counter(), self._due, self._save_due
            common = ranks().goes_on(f"step {self.state.n}", local, stop)
            self._batch_size, self._synchronised_clock = int(common[0]), common[1]
            self._due, self._save_due = common[2:]

    def _now(self) -> float:
        """Clock, s; on several ranks that of the first one at the last synchronisation, so that all decide equally."""
        return clock.perf_counter() if self._synchronised_clock is None else self._synchronised_clock

    def _record_batch(self, state: State, batch: StepBatch) -> bool:
        """Audit and record a batch of steps and set the state to its end; return whether the display is due."""
        audit, history = self._audit, self._history
        self.state = state
        try:
            table, balance = audit.add(batch.works, self._rounding(batch.contact.normal), self._stepper.conserves)
        except RefusedWork as refused:
            t, member_label = (
                batch.n[refused.step] * self._stepper.step,
                "".join(f"member {i}: " for i in refused.member),
            )
            share, when = f"{abs(refused.share):.2g} of the largest energy", f"at t = {t:.6g} s"
            if refused.column == "scheme":
                raise Failed(
                    f"{member_label}the step changes the energy by {share} {when}, which its forces conserve"
                ) from None
            what = f"the dissipation '{refused.column}' falls by {share} {when}"
            raise Failed(f"{member_label}{what}: the step would create energy") from None
        if not np.isfinite(balance).all():
            first, *member = np.argwhere(~np.isfinite(balance))[0]
            member_label, t = "".join(f"member {i}: " for i in member), batch.n[first] * self._stepper.step
            raise UserError(f"{member_label}the energies are no longer finite at t = {t:.6g} s", code=1)
        history.add(batch, table, balance)
        self._statistics.add(batch)
        if self._reflection:
            self._reflection.add(batch)
        now = self._now()
        display_due = len(history) >= _UPDATE_STEPS or state.n == self.steps or now > self._due
        if display_due:
            self._due = now + _UPDATE_SECONDS
            _write_collected(history, self._recorder)
        return display_due

    def _show(self, shown: bool) -> None:
        if shown and self._progress is not None:
            self._progress(self.state.n, self.steps)


def _compile_parts_ahead(system: System, scheme: Scheme) -> None:
    """Compile the kernels of parts in finite kinematics, each in a separate process."""
    theta = getattr(scheme, "theta", None)
    calls = [call for part in system.parts if isinstance(part, Solid) for call in part.kernels(theta)]
    if calls:
        from arlequin.models.kernel_cache import compile_ahead  # loads the compiler

        for module, call in dict.fromkeys(calls):
            compile_ahead(module, call)


def stepper_of(scheme: Scheme, target: Assembly | Members, step: float) -> Stepper:
    """The stepper of a scheme for one system, or for the members of an ensemble, and a step (s)."""
    if isinstance(target, Assembly):
        return with_flows(lambda: _checked(scheme.prepare(target, step), scheme, "prepare"), scheme, target)
    if any(member.flow is not None for member in target.each):
        return MembersApart(InFlow(scheme), target, step)
    if target.common and isinstance(scheme, EnsembleScheme):
        return _checked(scheme.prepare_ensemble(target, step), scheme, "prepare_ensemble")
    return MembersApart(scheme, target, step)


def _on_root(create: Callable[[], Recorder]) -> Recorder | SilentRecorder:
    """A recorder on the first rank, which writes the result, and a `SilentRecorder` on the others."""
    recorders: list[Recorder] = []
    ranks().by_root(lambda: recorders.append(create()))
    return recorders[0] if recorders else SilentRecorder()


def _checked(stepper: Any, scheme: Scheme, method: str) -> Stepper:
    """The object that a method of the scheme returned; `UserTypeError` if it is not a stepper."""
    lacking = [name for name in ("step", "start", "advance") if not hasattr(stepper, name)]
    if lacking:
        raise UserTypeError(
            f"{method}() of the scheme {type(scheme).__name__} returned {shown(stepper)}, which is no stepper: it must "
            f"return an object with step, start(u, v) and advance(state, count); {', '.join(lacking)} missing"
        )
    checked: Stepper = stepper
    return checked


def compile_seconds() -> float:
    """Time spent by this process on the compilation of kernels, s."""
    loaded = sys.modules.get("arlequin.models.kernel_cache")  # not imported here: it loads the compiler
    return 0.0 if loaded is None else seconds_in(loaded.COMPILING)


def running_clock() -> float:
    """Clock, s, without compilation of kernels, for `setup_time` and `wall_time`."""
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
        elapsed = running_clock() - self.begin
        return {
            "steps": self.steps,
            "wall_time": elapsed,
            "compile_time": compile_seconds() - self.compiled,
            "wall_time_per_step": elapsed / max(self.steps, 1),
            "contact_iterations": self.iterations,
            "contact_iterations_most": self.most_iterations,
            "contact_residual_worst": self.worst_residual,
            "newton_iterations": self.newton,
            "newton_iterations_most": self.most_newton,
        }


def _initial_sums(members: Members | None, assembly: Assembly) -> dict[str, tuple[Array, Array]]:
    """Slip, m, and wear work, J, of the interfaces (k,) at the end of the results from which the run starts; of an
    ensemble (member, k)."""
    assemblies = (assembly,) if members is None else members.each
    systems = ((member.contact, member.system.from_result) for member in assemblies)
    member_sums = [start_sums(contact, former) for contact, former in systems if former is not None]
    if len(member_sums) < len(assemblies):
        return {}
    if members is None:
        return member_sums[0]
    sums = {name: [member[name] for member in member_sums] for name in member_sums[0]}
    return {name: (np.stack([a for a, _ in pairs]), np.stack([b for _, b in pairs])) for name, pairs in sums.items()}


def _next_batch_size(size: int, done: int, seconds: float) -> int:
    """Size of the next batch, for about half the time between two updates, at most 4096 steps."""
    if done < size or seconds > 0.5 * _UPDATE_SECONDS:
        return max(1, min(size, int(done * 0.5 * _UPDATE_SECONDS / seconds)))
    return min(2 * size, 4096)


def _write_collected(history: TimeSeries | MembersSeries | LevelSeries, recorder: Recorder | SilentRecorder) -> None:
    """Write the collected series to the recorder in blocks, so that `time` is at most one block ahead of the fields."""
    if not len(history):
        return
    (time, values), (frame_time, frames) = history.take()
    done = 0
    for first in range(0, time.size, _UPDATE_STEPS):
        block = slice(first, first + _UPDATE_STEPS)
        recorder.append(time[block], {key: rows[block] for key, rows in values.items()})
        new_frames = slice(done, int(np.searchsorted(frame_time, time[block][-1], side="right")))
        if new_frames.stop > done:
            recorder.append_frames(frame_time[new_frames], {key: rows[new_frames] for key, rows in frames.items()})
            done = new_frames.stop
