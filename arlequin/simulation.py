"""The one time loop."""

import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from threadpoolctl import threadpool_limits

from arlequin.assembly import Assembly, assemble
from arlequin.description import run_attributes
from arlequin.energy import Audit
from arlequin.history import History
from arlequin.record import Record, Recorder, as_record
from arlequin.schemes import Scheme, State, Stepper
from arlequin.schemes.block import Block, taker
from arlequin.schemes.located_theta import LocatedThetaStepper
from arlequin.start import start_fields
from arlequin.system import System
from arlequin.uninterrupted import heard, uninterrupted
from models.checks import positive
from models.errors import UserError

Progress = Callable[[int, int], None]

# the record and the progress bar hear of the steps at the latest after so many of them, or seconds
_BLOCK, _SHOWN = 50, 0.2
MOST_STEPS = 50_000_000


@dataclass(frozen=True)
class Study:
    """What `simulate` takes: a system, a scheme, the duration and step (s), and how often fields are kept."""

    system: System
    scheme: Scheme
    duration: float
    step: float
    fields_every: int = 1

    def run(
        self,
        record: Record | str | Path | None = None,
        attributes: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> xarray.DataTree:
        """Runs the study."""
        return simulate(
            self.system,
            self.scheme,
            duration=self.duration,
            step=self.step,
            fields_every=self.fields_every,
            record=record,
            attributes=attributes,
            progress=progress,
        )


def simulate(
    system: System,
    scheme: Scheme,
    *,
    duration: float,
    step: float,
    record: Record | str | Path | None = None,
    fields_every: int = 1,
    attributes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> xarray.DataTree:
    """Steps the system from 0 to `duration` (s) with the constant `step` (s); the result is an xarray.DataTree.

    The last step ends at or after `duration`; times are n·Δt from integers. record: a path (Zarr), a `Record`, or
    None (memory). fields_every: one frame of the fields every so many steps (a `Record` has its own).
    progress(done, total): called between blocks of steps.

    On Ctrl-C, or where a step does not converge, what was recorded stays readable and the error goes on.
    """
    positive("duration", duration)
    positive("step", step)
    count = duration / step
    if not count <= MOST_STEPS:
        raise UserError.parameter("step", step, f"gives {count:.3g} steps; at most {MOST_STEPS} are taken")
    steps = max(1, int(np.ceil(count - 1e-9)))
    record = as_record(record, fields_every)
    begin = clock.perf_counter()
    assembly = assemble(system)
    stepper = scheme.prepare(assembly, step)
    u, v = start_fields(assembly, step, scheme.static)
    history = History(assembly, step, steps, record, scheme.static, isinstance(stepper, LocatedThetaStepper))
    setup = clock.perf_counter() - begin
    recorder = Recorder(
        record,
        history.variables(),
        steps=steps,
        frames=history.frame_count,
        attributes={**run_attributes(assembly, scheme, step, duration), "setup_time": setup, **(attributes or {})},
    )
    statistics = _Statistics()
    state = stepper.start(u, v)
    audit = Audit(state.kinetic, *state.stored)
    complete = 0
    try:
        # one right-hand side at a time: more BLAS threads only wait for each other, badly so on a busy machine
        with threadpool_limits(1, user_api="blas"), heard() as check:
            _loop(stepper, assembly, state, steps, audit, history, recorder, statistics, progress, check)
        complete = 1
    finally:
        result = recorder.close(
            {**statistics.attributes(), "complete": complete},
            {("", "balance"): audit.balance[: history.count]},
        )
    return result


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


def _loop(
    stepper: Stepper,
    assembly: Assembly,
    state: State,
    steps: int,
    audit: Audit,
    history: History,
    recorder: Recorder,
    statistics: _Statistics,
    progress: Progress | None,
    check: Callable[[], None],
) -> None:
    history.add(Block.of(assembly, state, None, audit.start), audit.start[None], np.zeros(1))
    statistics.begin = clock.perf_counter()
    due = statistics.begin + _SHOWN
    most, take = _BLOCK, taker(stepper, assembly)
    try:
        while state.n < steps:
            check()
            begin = clock.perf_counter()
            state, block = take(state, min(most, steps - state.n))
            # the accepted steps reach the record whole
            with uninterrupted():
                table, balance = audit.add(block.works)
                if not np.isfinite(balance).all():
                    first = block.n[~np.isfinite(balance)][0]
                    raise UserError(f"the energies are no longer finite at t = {first * stepper.step:.6g} s", code=1)
                history.add(block, table, balance)
                statistics.add(block)
                now = clock.perf_counter()
                most = _next_block(most, len(block), now - begin)
                shown = len(history) >= _BLOCK or state.n == steps or now > due
                if shown:
                    due = now + _SHOWN
                    _flush(history, recorder)
            if shown and progress is not None:
                progress(state.n, steps)
    except (UserError, KeyboardInterrupt):
        with uninterrupted():
            _flush(history, recorder)  # the accepted steps of a block that was cut short
        raise


def _next_block(most: int, taken: int, seconds: float) -> int:
    """Steps to ask for next: as many as take about half the time between two updates, at most 4096."""
    if taken < most or seconds > 0.5 * _SHOWN:
        return max(1, min(most, int(taken * 0.5 * _SHOWN / seconds)))
    return min(2 * most, 4096)


def _flush(history: History, recorder: Recorder) -> None:
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
