"""Central differences of cells that deform: each step in as many sub-steps as they need to be stable."""

import math
from dataclasses import dataclass, replace
from typing import Any

from arlequin.assembly import Assembly
from arlequin.schemes.central import CentralStepper
from arlequin.schemes.joined import joined_impulses
from arlequin.schemes.scheme import State, StepReport
from arlequin.schemes.stable_step import stable_step
from models.errors import UserError
from models.types import Array

_WATCHED = 25  # sub-steps between two looks at the stable step
_SAFE = 0.85  # of the stable step: the cells change until it is looked at again
_EDGE = 0.95  # of the stable step, from which on a step goes on in shorter sub-steps: twice as many at least
_FEWER = 0.8  # of the sub-steps so far, at which fewer are taken: each change of the step is felt
_MOST = 100_000  # sub-steps of a step


@dataclass(frozen=True)
class _Inside:
    """The state of the sub-steps, and how many a step has."""

    state: State
    count: int


class SubsteppedStepper:
    """Steps Δt, each as m equal steps of central differences; m follows the stable step of the cells as they are."""

    def __init__(self, assembly: Assembly, stepper: CentralStepper) -> None:
        self.step = stepper.step
        self._assembly = assembly
        self._stepper = stepper

    def start(self, u: Array, v: Array) -> State:
        """The state at t = 0."""
        count = self._needed(u, 0.0)
        state = self._with(count).start(u, v)
        return replace(state, own=_Inside(state, count))

    def kept(self) -> Any:
        """What the sub-steps keep, of any length."""
        return self._stepper.kept()

    def keep(self, kept: Any) -> None:
        """Makes it again."""
        self._stepper.keep(kept)

    def advance(self, state: State) -> tuple[State, StepReport]:
        """One step."""
        inner, count = replace(state.own.state, worn=state.worn), state.own.count
        n, changed, reports = state.n, 0.0, []
        needed = self._needed(inner.u, n * self.step)
        change = needed > count or needed < _FEWER * count
        done = 0
        while done < count or change:
            if change:
                before, done = inner.kinetic, done * needed // count
                count, stepper = needed, self._with(needed)
                inner = stepper.restarted(inner, n * count + done)
                changed += inner.kinetic - before
                change = False
            else:
                stepper = self._with(count)
            for _ in range(min(_WATCHED, count - done)):
                inner, report = stepper.advance(inner)
                reports.append(report)
                done += 1
            if done < count:
                # a part of a step done is that of a multiple of its sub-steps
                least = self._needed(inner.u, (n + done / count) * self.step)
                if least * _SAFE > count * _EDGE:
                    needed, change = math.ceil(least / count) * count, True
        report = joined_impulses(reports)
        report.work["scheme"] -= changed
        return replace(inner, n=n + 1, own=_Inside(inner, count)), report

    def _with(self, count: int) -> CentralStepper:
        return self._stepper.with_step(self.step / count)

    def _needed(self, u: Array, t: float) -> int:
        """Sub-steps of a step."""
        needed = math.ceil(self.step / (_SAFE * stable_step(self._assembly, u)))
        if needed > _MOST:
            raise UserError(
                f"central differences at t = {t:.6g} s: cells have become so small that a step needs {needed} "
                f"sub-steps ({_MOST} allowed): the strains are too large for the mesh",
                code=1,
            )
        return needed
