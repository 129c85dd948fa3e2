"""Cycle jump: wear over many equal load cycles, of which a few are integrated and the others extrapolated."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray

from arlequin.models.checks import integer, non_negative, positive, positive_integer
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.results.recorder import Record, as_record
from arlequin.run.parallel import together
from arlequin.run.progress import reporting
from arlequin.run.run import Progress, Run
from arlequin.run.simulate import check_count
from arlequin.schemes import Scheme, State
from arlequin.system.assembly import Assembly
from arlequin.system.system import System

_SHARE, _MIN_JUMP = 40, 4  # first jump: all cycles divided by _SHARE, at least _MIN_JUMP
_SAFETY, _MIN_FACTOR, _MAX_FACTOR = 0.8, 0.2, 4.0  # of the change of a jump's length by its error
_REPEAT = 2.0  # error, in tolerances, above which a jump is repeated with fewer cycles


@checked_call
@dataclass(frozen=True)
class CycleJump:
    """Jumps over J cycles between two integrated ones, a and b, for a wear per cycle w(c) (m) that is smooth in c:

        predicted   Σ of the line through w_p, w_a over the J cycles           p: the cycle integrated before a
        corrected   Σ of the parabola through w_p, w_a, w_b over them

    in the first jump, without p, of the constant w_a and of the line through w_a, w_b. The predicted depth is applied
    in the jump, its difference to the corrected one in the next jump, or before the last cycle, which is always
    integrated. Depths never decrease: what a point has worn too much in one jump, it wears less in the next ones, and
    the last jump is then repeated with its corrected depth in place of the predicted one. The largest difference of all
    points is the error estimate e, relative to the final depth of the deepest point under growth by a power of the
    cycles, h (n/a)^(a w/h). A jump with e > 2 tolerance is repeated with fewer cycles; the length of the next one
    changes by 0.8 (tolerance/e)^⅓, at most 4-fold. fixed: constant J, for any e.

    The prediction is explicit. In stiff contacts a point that wears by its elastic approach loses its pressure, and a
    jump with much more wear overshoots: the error estimate then limits the jumps to about this approach. The number of
    integrated cycles is therefore at least about the worn depth over the elastic approach.

    Contact may settle in the first cycle: its wear is not extrapolated if there are more cycles.

    Source: the predictor and corrector are those of Adams; Hairer, Nørsett & Wanner, Solving Ordinary Differential
    Equations I (1993), ch. III.
    """

    tolerance: float = 2e-2
    fixed: int | None = None

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        if self.fixed is not None:
            integer("jumps", self.fixed, low=0)

    def first(self, cycles: int) -> int:
        """Cycles to skip in the first jump of a run of `cycles`."""
        return max(cycles // _SHARE, _MIN_JUMP) if self.fixed is None else self.fixed

    def error(self, missing: Array, depth: Array, last: "Stepped", cycles: int) -> float:
        """Error estimate of a jump from the correction (missing) and the depth at its start, both (k,), m."""
        deepest = int(np.argmax(depth))
        size, wear = float(depth[deepest]), float(last[1][deepest])
        if not size > 0.0:
            return 0.0
        power = min(max(last[0] * wear / size, 0.0), 1.0)
        return float(np.abs(missing).max()) / (size * (cycles / last[0]) ** power)

    def passes(self, error: float) -> bool:
        """Whether a jump is accepted."""
        return self.fixed is not None or error <= _REPEAT * self.tolerance

    def next(self, count: int, error: float) -> int:
        """Cycles to skip after a jump over `count` cycles, or in its place."""
        if self.fixed is not None:
            return self.fixed
        if not count:  # jumps may grow again
            return 1
        factor = _SAFETY * (self.tolerance / error) ** (1.0 / 3.0) if error > 0.0 else _MAX_FACTOR
        return int(count * min(max(factor, _MIN_FACTOR), _MAX_FACTOR))


Stepped = tuple[int, Array]  # a cycle and the wear (k,) in it, m


def predicted(former: Stepped | None, last: Stepped, count: int) -> Array:
    """Wear (k,) of `count` cycles after the last integrated one, m, at least 0."""
    cycle, wear = last
    if former is None:
        return count * wear
    slope = (wear - former[1]) / (cycle - former[0])
    total: Array = np.maximum(count * wear + 0.5 * count * (count + 1) * slope, 0.0)
    return total


def corrected(former: Stepped | None, last: Stepped, then: Stepped) -> Array:
    """Wear (k,) of the cycles between two integrated ones, m, by the line or parabola."""
    count = then[0] - last[0] - 1
    line: Array = 0.5 * count * (last[1] + then[1])
    if former is None:
        return line
    former_span, span = last[0] - former[0], then[0] - last[0]
    bend = ((then[1] - last[1]) / span - (last[1] - former[1]) / former_span) / (former_span + span)
    i = np.arange(1.0, count + 1.0)
    return line + bend * float((i * (i - span)).sum())


_ROUND_OFF = 1e-12  # part of a jump's depth that is round-off
_STEP_TOLERANCE = 1e-6  # of a whole number of steps, relative
_INSTANTS = 7  # of a cycle, at which loads are compared between cycles
_LOAD_TOLERANCE = 1e-9  # of equal loads, relative to the largest


@checked_call
def simulate_cycles(
    system: System,
    scheme: Scheme,
    *,
    period: float,
    step: float,
    cycles: int,
    lead: float = 0.0,
    jumps: CycleJump | int | None = None,
    record: Record | str | Path | None = None,
    fields_every: int = 1,
    attributes: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> xarray.DataTree:
    """Integrate wear over `cycles` of `period` (s) after a `lead` (s), with jumps over most of the cycles.

    Loads and imposed motions have the period from the end of `lead` on; in `lead` they may be raised. jumps: how cycles
    are skipped (`CycleJump`), or a fixed number after each integrated cycle; 0 integrates all. Matrices are factored
    once. An integrated cycle is stepped as by `simulate`; in a skipped one only the wear depths and the time change.
    Worn depth, volume and mass include all cycles; energies, slips and works only the integrated ones. The attribute
    `cycles_stepped` of the result lists these, `jump_error` is the largest error estimate of a jump.

    record, fields_every, attributes and progress as in `simulate`; an interrupted run remains readable, and resumes at
    the end of a cycle.

    >>> import arlequin as aq
    >>> press = {"all": lambda t: (0.0, -50.0 * min(t, 1.0))}  # N, full after the lead
    >>> motion = {"all": {"x": lambda t: 2e-3 * min(t % 1, -t % 1) * (t > 1)}}  # m, to and fro over 1 mm
    >>> pin = aq.PointMasses("pin", (0.0, 0.0), 1.0, forces=press, imposed=motion)
    >>> floor, layer = aq.RigidPlane(point=(0.0, -1e-6), normal=(0.0, 1.0)), aq.Asperities(1e9, 1, 1e-6)
    >>> rub = aq.Interface("rub", pin.boundary("all"), floor, layer, friction=aq.Coulomb(0.1), wear=aq.Archard(1e-13))
    >>> result = aq.simulate_cycles(aq.System([pin], [], [rub]), aq.Static(), lead=1, period=1, step=0.25, cycles=100)
    >>> f"{float(result['interface/rub']['worn_volume'][-1]):.4g}"  # k F · 2 mm · 100, m³
    '1e-12'
    """
    positive("period", period)
    positive("step", step)
    positive_integer("cycles", cycles)
    cycle_steps, lead_steps = (
        _whole_steps("period", period, step),
        _whole_steps("lead", non_negative("lead", lead), step),
    )
    check_count(step, lead_steps + float(cycle_steps) * cycles)
    if not any(interface.wear is not None for interface in system.interfaces):
        raise UserError("simulate_cycles needs an interface that wears: nothing else changes from cycle to cycle")
    jump = CycleJump(fixed=jumps) if isinstance(jumps, int) else jumps or CycleJump()
    run_record = as_record(record, fields_every)
    title = "" if run_record.path is None else Path(run_record.path).stem
    with together(), reporting(progress, title) as report:
        run = Run(
            system,
            scheme,
            step=step,
            steps=lead_steps + cycle_steps * cycles,
            record=run_record,
            attributes={"duration": lead + cycles * period, "period": period, "cycles": cycles, **(attributes or {})},
            progress=report,
        )
        _check_periodic(run.assembly, lead, period, cycles)
        if not run.complete:
            with run.recorded():
                run.to(lead_steps)
                step_cycles(run, lead_steps, cycle_steps, cycles, jump)
    return run.result


@dataclass(frozen=True)
class _Reached:
    """Progress of a run over cycles: the last two integrated cycles, the depth correction (k,) that the jumps so far
    still miss, m, the number of cycles to skip next; all integrated cycles and the largest error."""

    former: Stepped | None
    last: Stepped
    missing: Array
    count: int
    stepped: tuple[int, ...] = ()
    worst: float = 0.0


class CycleRun(Protocol):
    """What `step_cycles` steps: a `Run`, or one whose cycles are computed in another way. extra: of the last mark."""

    state: State
    extra: Any
    attributes: dict[str, str | int | float]

    @property
    def assembly(self) -> Any:
        """Has `contact_count`, the number k of points that wear."""

    def tried(self, n: int) -> list[tuple[State, Any]]:
        """The states after batches of steps up to n, not committed."""

    def commit(self, batches: Any) -> None:
        """Commit what `tried` gave."""

    def mark(self, extra: Any = None) -> None:
        """Mark the end of a cycle."""


def step_cycles(run: CycleRun, lead: int, cycle_steps: int, cycles: int, jump: CycleJump) -> None:
    """Integrate or skip the cycles of a run, each of `cycle_steps` after the steps of the lead; depths (k,), m."""
    zero = np.zeros(run.assembly.contact_count)
    reached = run.extra or _Reached(None, (0, zero), zero, jump.first(cycles))
    repeated: Array | None = None  # depth of a last jump that is repeated, m
    while reached.last[0] < cycles:
        former, last, missing, count = reached.former, reached.last, reached.missing, reached.count
        remaining = cycles - last[0]
        # the cycle after the jump, for its correction, and the last one are integrated
        skipped = max(min(count, remaining - 2), 0) if last[0] > 1 else 0
        prediction = predicted(former, last, skipped) if repeated is None else repeated
        applied, start = np.maximum(prediction + missing, 0.0), run.state
        run.state = _worn(start, skipped * cycle_steps, applied)
        cycle = last[0] + skipped + 1
        batches = run.tried(lead + cycle * cycle_steps)
        stepped = cycle, _depth(batches[-1][0], zero) - _depth(run.state, zero)
        correction, error = zero, 0.0
        if skipped:
            correction = corrected(former, last, stepped) - prediction
            if repeated is None:
                error = jump.error(correction, _depth(start, zero), last, cycles)
        count_next = count if last[0] <= 1 else jump.next(skipped, error)
        if not jump.passes(error):
            run.state, reached = start, replace(reached, count=count_next)
            continue
        worst, missing_next = max(reached.worst, error), prediction + missing + correction - applied
        too_deep = missing_next.min(initial=0.0) < -_ROUND_OFF * applied.max(initial=0.0)
        if skipped and skipped == remaining - 2 and repeated is None and too_deep:
            run.state, reached, repeated = start, replace(reached, worst=worst), prediction + correction
            continue
        repeated = None
        former = last if last[0] > 1 else former
        reached = _Reached(former, stepped, missing_next, count_next, (*reached.stepped, cycle), worst)
        run.attributes = {"cycles_stepped": " ".join(map(str, reached.stepped)), "jump_error": reached.worst}
        run.commit(batches)
        run.mark(reached)


def _worn(state: State, steps: int, depth: Array) -> State:
    """The state after a number of skipped steps with the wear depth (k,), m."""
    worn = WearState(0.0 * depth, 0.0 * depth) if state.worn is None else state.worn
    return replace(state, n=state.n + steps, worn=worn.add(depth))


def _depth(state: State, zero: Array) -> Array:
    """Wear depth (k,), m."""
    return zero if state.worn is None else state.worn.depth


def _whole_steps(name: str, time: float, step: float) -> int:
    """Number of steps in a time, s; UserError if it is not whole."""
    count = time / step
    if abs(count - round(count)) > _STEP_TOLERANCE * max(count, 1.0) or (name == "period" and round(count) < 1):
        raise UserError.parameter(name, time, f"must be a whole number of steps of {step:g} s")
    return round(count)


def _check_periodic(assembly: Assembly, lead: float, period: float, cycles: int) -> None:
    """UserError if loads and imposed motions differ between cycles, checked at `_INSTANTS` of a cycle."""
    if cycles == 1:
        return
    instants = lead + period * (np.arange(_INSTANTS) + 0.5) / _INSTANTS
    for what, at in (("loads", assembly.load), ("imposed motions", assembly.imposed)):
        first, second, last = (np.array([at(float(t + n * period)) for t in instants]) for n in (0, 1, cycles - 1))
        size = max(float(np.abs(values).max(initial=0.0)) for values in (first, second, last))
        if max(float(np.abs(other - first).max(initial=0.0)) for other in (second, last)) > _LOAD_TOLERANCE * size:
            raise UserError.parameter("period", period, f"must be that of the {what}, from the end of the lead on")
