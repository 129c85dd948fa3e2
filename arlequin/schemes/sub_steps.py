"""Central differences with deforming cells: each step is divided into the sub-steps required by stability."""

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

_CHECK_INTERVAL = 25  # sub-steps between two evaluations of the stable step, at most
_SAFETY = 0.85  # of the stable step, since the cells deform until the next evaluation
_MAX_RATIO = 0.95  # of the stable step, above which the number of sub-steps is multiplied within a step
_COARSENING_RATIO = 0.8  # of the number of sub-steps, below which it is reduced: each change costs accuracy
_MAX_SUBSTEPS = 100_000  # per step


@dataclass(frozen=True)
class _Inside:
    """State of the inner stepper, number of sub-steps per step, and number of them since the stable step was
    evaluated."""

    state: State
    count: int
    since: int = 0


class SubsteppedStepper(Stepper):
    """Steps Δt of m equal central-difference steps each; m follows the stable step of the deformed cells."""

    restarts = True

    def __init__(self, assembly: Assembly, stepper: CentralStepper) -> None:
        self.step = stepper.step
        self._assembly = assembly
        self._stepper = stepper

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt."""
        count = self._substep_count(u, n * self.step)
        state = self._with(count).start(u, v, n * count, memory)
        return replace(state, n=n, scheme_state=_Inside(state, count))

    def continued(self, state: State) -> State:
        """See `Stepper.continued`."""
        substeps = state.scheme_state
        inner = self._with(substeps.count).continued(
            replace(substeps.state, n=state.n * substeps.count, worn=state.worn)
        )
        return replace(state, scheme_state=replace(substeps, state=inner), kinetic=inner.kinetic)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One step."""
        inner, parts = replace(state.scheme_state.state, worn=state.worn), state.scheme_state.count
        n, kinetic_change, since = state.n, 0.0, state.scheme_state.since
        batches: list[StepBatch] = []
        needed = parts
        if since + parts > _CHECK_INTERVAL:
            needed, since = self._substep_count(inner.u, n * self.step), 0
        change = needed > parts or needed < _COARSENING_RATIO * parts
        done = 0
        while done < parts or change:
            if change:
                before, done = inner.kinetic, done * needed // parts
                parts, stepper = needed, self._with(needed)
                inner = stepper.restarted(inner, n * parts + done)
                kinetic_change += inner.kinetic - before
                change = False
            else:
                stepper = self._with(parts)
            for _ in range(min(_CHECK_INTERVAL, parts - done)):
                inner, batch = stepper.advance(inner)
                batches.append(batch)
                done += 1
                since += 1
            if done < parts:
                # a multiple of the sub-steps, so that those done are a whole number of the new ones
                needed_now, since = self._substep_count(inner.u, (n + done / parts) * self.step), 0
                if needed_now * _SAFETY > parts * _MAX_RATIO:
                    needed, change = math.ceil(needed_now / parts) * parts, True
        merged = merge_time_steps(batches).numbered(n + 1)
        merged.work["scheme"] = merged.work["scheme"] - kinetic_change
        return replace(inner, n=n + 1, scheme_state=_Inside(inner, parts, since)), merged

    def _with(self, count: int) -> CentralStepper:
        step = self.step / count
        if self._stepper.step != step:  # the last stepper is cached, since its matrix may depend on the step
            self._stepper = self._stepper.with_step(step)
        return self._stepper

    def _substep_count(self, u: Array, t: float) -> int:
        """Number of sub-steps per step required at u (d,)."""
        needed = math.ceil(self.step / (_SAFETY * stable_step(self._assembly, u)))
        if needed > _MAX_SUBSTEPS:
            raise UserError(
                f"central differences at t = {t:.6g} s: cells have become so small that a step needs {needed} "
                f"sub-steps ({_MAX_SUBSTEPS} allowed): the strains are too large for the mesh",
                code=1,
            )
        return needed
