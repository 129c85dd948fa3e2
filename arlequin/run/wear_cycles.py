"""Many like cycles of load: wear over all of them from a few that are stepped.

Jumps over cycles: the wear of those that are skipped from that of those that are stepped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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

_SHARE, _LEAST = 40, 4  # the first jump: that share of all cycles, at least so many
_SAFE, _LESS, _MORE = 0.8, 0.2, 4.0  # share of the length that the error allows; limits of its change
_AGAIN = 2.0  # error, in tolerances, beyond which a jump is done again, shorter


@checked_call
@dataclass(frozen=True)
class CycleJump:
    """Jumps over J cycles between two, a and b, that are stepped; a point's wear w(c) (m) a cycle is smooth in between:

        predicted   Σ of the line through w_p, w_a over the J cycles           p: the one stepped before a
        corrected   Σ of the parabola through w_p, w_a, w_b over them

    the first time, for want of p, of the constant w_a and of the line through w_a, w_b. The predicted depth is worn off
    in the jump, its difference to the corrected one in the next jump, or before the last cycle, which is always
    stepped. That difference, the largest of all points, is the error estimate e, relative to the depth that the deepest
    point reaches by the end if it goes on as a power of the cycles, h (n/a)^(a w/h). A jump with e > 2 tolerance is
    done again, shorter; the next one is longer or shorter by 0.8 (tolerance/e)^⅓, at most 4-fold. fixed: J is
    always that, whatever e.

    The prediction is explicit. Where contacts are stiff, a point that wears by its elastic approach loses its pressure,
    and a jump that wears much more than that overshoots: the estimate sees it and shortens the jumps to about what
    the approach allows. So the cycles that are stepped are no fewer than about the depth worn over that approach.

    In the first of all cycles contact may settle: its wear is not extrapolated where there are more.

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
        """Cycles to skip in the first jump of a run of so many."""
        return max(cycles // _SHARE, _LEAST) if self.fixed is None else self.fixed

    def error(self, missing: Array, depth: Array, last: "Stepped", cycles: int) -> float:
        """Error estimate of a jump from what the correction adds and the depth at its start, both (k,), m."""
        deepest = int(np.argmax(depth))
        size, wear = float(depth[deepest]), float(last[1][deepest])
        if not size > 0.0:
            return 0.0
        power = min(max(last[0] * wear / size, 0.0), 1.0)
        return float(np.abs(missing).max()) / (size * (cycles / last[0]) ** power)

    def passes(self, error: float) -> bool:
        """Whether a jump stands."""
        return self.fixed is not None or error <= _AGAIN * self.tolerance

    def next(self, count: int, error: float) -> int:
        """Cycles to skip after a jump of so many, or in its place."""
        if self.fixed is not None:
            return self.fixed
        if not count:  # jumps that have become too short become longer again
            return 1
        allowed = _SAFE * (self.tolerance / error) ** (1.0 / 3.0) if error > 0.0 else _MORE
        return int(count * min(max(allowed, _LESS), _MORE))


Stepped = tuple[int, Array]  # a cycle and the wear (k,) in it, m


def predicted(former: Stepped | None, last: Stepped, count: int) -> Array:
    """Wear (k,) of so many cycles after the last one stepped, m, at least none."""
    cycle, wear = last
    if former is None:
        return count * wear
    slope = (wear - former[1]) / (cycle - former[0])
    ahead: Array = np.maximum(count * wear + 0.5 * count * (count + 1) * slope, 0.0)
    return ahead


def corrected(former: Stepped | None, last: Stepped, then: Stepped) -> Array:
    """Wear (k,) of the cycles between two that are stepped, m: those of the line or parabola."""
    count = then[0] - last[0] - 1
    line: Array = 0.5 * count * (last[1] + then[1])
    if former is None:
        return line
    before, span = last[0] - former[0], then[0] - last[0]
    bend = ((then[1] - last[1]) / span - (last[1] - former[1]) / before) / (before + span)
    i = np.arange(1.0, count + 1.0)
    return line + bend * float((i * (i - span)).sum())


_ROUND = 1e-6  # of a step: a whole number of them
_LOOKS = 7  # instants of a cycle at which loads are compared with those of others
_ALIKE = 1e-9  # difference of loads, relative to the largest, that is none


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
    """Steps `lead` (s), then `cycles` of `period` (s), of which most are skipped: only the wear of these goes on.

    Loads and motions imposed have the period from `lead` on, which is for what comes before: loads that grow. jumps:
    how cycles are skipped (`CycleJump`), or a fixed number after each one that is stepped: 0 steps all. Matrices are
    factored once. In a cycle that is stepped `simulate` does what it does elsewhere; in one that is skipped the depths
    of wear alone change, and time goes on: worn depth, volume and mass count all cycles, the energies, slips and works
    those that are stepped. The attribute `cycles_stepped` of the result lists these, `jump_error` is the largest
    error of a jump by its estimate.

    record, fields_every, attributes and progress as in `simulate`; an interrupted run stays readable, and goes on from
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
    each, before = _whole("period", period, step), _whole("lead", non_negative("lead", lead), step)
    check_count(step, before + float(each) * cycles)
    if not any(interface.wear is not None for interface in system.interfaces):
        raise UserError("simulate_cycles needs an interface that wears: nothing else changes from cycle to cycle")
    jump = CycleJump(fixed=jumps) if isinstance(jumps, int) else jumps or CycleJump()
    own = as_record(record, fields_every)
    title = "" if own.path is None else Path(own.path).stem
    with together(), reporting(progress, title) as told:
        run = Run(
            system,
            scheme,
            step=step,
            steps=before + each * cycles,
            record=own,
            attributes={"duration": lead + cycles * period, "period": period, "cycles": cycles, **(attributes or {})},
            progress=told,
        )
        _check_periodic(run.assembly, lead, period, cycles)
        if not run.complete:
            with run.recorded():
                run.to(before)
                step_cycles(run, before, each, cycles, jump)
    return run.result


@dataclass(frozen=True)
class _Reached:
    """Where the cycles are: the last two that were stepped, what depth (k,) a jump missed, m, how many to skip next;
    those that were stepped and the worst error."""

    former: Stepped | None
    last: Stepped
    missing: Array
    count: int
    stepped: tuple[int, ...] = ()
    worst: float = 0.0


def step_cycles(run: Run, lead: int, each: int, cycles: int, jump: CycleJump) -> None:
    """The cycles of a run, each of so many steps after those of the lead; depths and wears (k,) in m."""
    none = np.zeros(run.assembly.contact_count)
    reached = run.extra or _Reached(None, (0, none), none, jump.first(cycles))
    while reached.last[0] < cycles:
        former, last, missing, count = reached.former, reached.last, reached.missing, reached.count
        left = cycles - last[0]
        # beside the one that is stepped after the jump, to correct it, the last
        skipped = max(min(count, left - 2), 0) if last[0] > 1 else 0
        ahead, here = predicted(former, last, skipped), run.state
        run.state = _worn(here, skipped * each, ahead + missing)
        cycle = last[0] + skipped + 1
        found = run.tried(lead + cycle * each)
        this = cycle, _depth(found[-1][0], none) - _depth(run.state, none)
        lacks, error = none, 0.0
        if skipped:
            lacks = corrected(former, last, this) - ahead
            error = jump.error(lacks, _depth(here, none), last, cycles)
        count = count if last[0] <= 1 else jump.next(skipped, error)
        if not jump.passes(error):
            run.state, reached = here, replace(reached, count=count)
            continue
        former = last if last[0] > 1 else former
        reached = _Reached(former, this, lacks, count, (*reached.stepped, cycle), max(reached.worst, error))
        run.attributes = {"cycles_stepped": " ".join(map(str, reached.stepped)), "jump_error": reached.worst}
        run.commit(found)
        run.mark(reached)


def _worn(state: State, steps: int, depth: Array) -> State:
    """The state as it is after some steps that only wear, by (k,), m."""
    worn = WearState(0.0 * depth, 0.0 * depth) if state.worn is None else state.worn
    return replace(state, n=state.n + steps, worn=worn.add(depth))


def _depth(state: State, none: Array) -> Array:
    """The depth (k,) worn so far, m."""
    return none if state.worn is None else state.worn.depth


def _whole(name: str, time: float, step: float) -> int:
    """How many steps the time has."""
    count = time / step
    if abs(count - round(count)) > _ROUND * max(count, 1.0) or (name == "period" and round(count) < 1):
        raise UserError.parameter(name, time, f"must be a whole number of steps of {step:g} s")
    return round(count)


def _check_periodic(assembly: Assembly, lead: float, period: float, cycles: int) -> None:
    """Refuses loads and imposed motions that differ between cycles, as far as some instants show."""
    if cycles == 1:
        return
    instants = lead + period * (np.arange(_LOOKS) + 0.5) / _LOOKS
    for what, at in (("loads", assembly.load), ("imposed motions", assembly.imposed)):
        first, second, last = (np.array([at(float(t + n * period)) for t in instants]) for n in (0, 1, cycles - 1))
        size = max(float(np.abs(values).max(initial=0.0)) for values in (first, second, last))
        if max(float(np.abs(other - first).max(initial=0.0)) for other in (second, last)) > _ALIKE * size:
            raise UserError.parameter("period", period, f"must be that of the {what}, from the end of the lead on")
