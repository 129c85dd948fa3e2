"""Central differences of cells that deform: each step in as many sub-steps as they need to be stable."""

import math
from dataclasses import dataclass, replace

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.stable_step import stable_step
from arlequin.step.batch import StepBatch, merge_time_steps
from arlequin.step.scheme import Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import Memory

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


class SubsteppedStepper(Stepper):
    """Steps Δt, each as m equal steps of central differences; m follows the stable step of the cells as they are."""

    restarts = True

    def __init__(self, assembly: Assembly, stepper: CentralStepper) -> None:
        self.step = stepper.step
        self._assembly = assembly
        self._stepper = stepper

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt."""
        count = self._needed(u, n * self.step)
        state = self._with(count).start(u, v, n * count, memory)
        return replace(state, n=n, own=_Inside(state, count))

    def continued(self, state: State) -> State:
        """See `Restartable`."""
        own = state.own
        inner = self._with(own.count).continued(replace(own.state, n=state.n * own.count, worn=state.worn))
        return replace(state, own=_Inside(inner, own.count), kinetic=inner.kinetic)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One step."""
        inner, parts = replace(state.own.state, worn=state.worn), state.own.count
        n, changed = state.n, 0.0
        batches: list[StepBatch] = []
        needed = self._needed(inner.u, n * self.step)
        change = needed > parts or needed < _FEWER * parts
        done = 0
        while done < parts or change:
            if change:
                before, done = inner.kinetic, done * needed // parts
                parts, stepper = needed, self._with(needed)
                inner = stepper.restarted(inner, n * parts + done)
                changed += inner.kinetic - before
                change = False
            else:
                stepper = self._with(parts)
            for _ in range(min(_WATCHED, parts - done)):
                inner, batch = stepper.advance(inner)
                batches.append(batch)
                done += 1
            if done < parts:
                # a part of a step done is that of a multiple of its sub-steps
                least = self._needed(inner.u, (n + done / parts) * self.step)
                if least * _SAFE > parts * _EDGE:
                    needed, change = math.ceil(least / parts) * parts, True
        whole = merge_time_steps(batches).numbered(n + 1)
        whole.work["scheme"] = whole.work["scheme"] - changed
        return replace(inner, n=n + 1, own=_Inside(inner, parts)), whole

    def _with(self, count: int) -> CentralStepper:
        step = self.step / count
        if self._stepper.step != step:  # the last one is kept: its matrix may depend on the step
            self._stepper = self._stepper.with_step(step)
        return self._stepper

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
