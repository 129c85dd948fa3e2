"""Time-step cutting: failing steps are halved until their sub-steps converge."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, Self, cast

import numpy as np

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array
from arlequin.solvers.condensed import Checkpointable
from arlequin.step.acceptance import Failed, Unheld
from arlequin.step.batch import StepBatch
from arlequin.step.scheme import Restartable, Stepper
from arlequin.step.state import State
from arlequin.system.internal_forces import Memory

_MAX_HALVINGS = 8  # of a step
_REMEDY = "a finer or more regular mesh, or less load: this may be more than the part can carry"
_RIGID_REMEDY = "another step, or fewer contact points on the rigid parts, whose forces may not be unique"


class Divisible(Checkpointable, Stepper, Protocol):
    """A stepper whose steps can be divided into sub-steps."""

    def with_step(self, step: float) -> Self:
        """A stepper with another step."""
        ...

    def merge_substeps(self, batches: Sequence[StepBatch]) -> StepBatch:
        """Merge consecutive sub-steps into one step."""
        ...


class CutBackStepper(Stepper):
    """Steps of nonlinear parts, divided into 2, 4, … sub-steps where they fail: no convergence, indefinite tangent,
    inverted cells.

    Sub-step j of 2^k is step 2^k n + j of a stepper with Δt/2^k. Each is an ordinary step: internal variables are
    committed at its end and restored where it fails. After two sub-steps that complete one of twice their size, the
    next one has that size.
    """

    def __init__(self, stepper: Divisible, deforms: bool = True) -> None:
        """deforms: whether some nonlinear parts are deformable, not rigid."""
        self.step, self._remedy = stepper.step, _REMEDY if deforms else _RIGID_REMEDY
        self.restarts = stepper.restarts
        self._steppers = {1: stepper}

    def start(self, u: np.ndarray, v: np.ndarray, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt."""
        first = self._steppers[1]
        return cast(Restartable, first).start(u, v, n, memory) if self.restarts else first.start(u, v)

    def continued(self, state: State) -> State:
        """See `Stepper.continued`."""
        return cast(Restartable, self._steppers[1]).continued(state)

    def state_dict(self) -> Any:
        """The state of the stepper of each size."""
        return {count: stepper.state_dict() for count, stepper in self._steppers.items()}

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        for count, stepper_state in state.items():
            self._with(count).load_state_dict(stepper_state)

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """One step; push (d,), N: constant force, see `OneStepStepper.advance`."""
        n, parts, done = state.n, 1, 0
        batches: list[StepBatch] = []
        while done < parts:
            stepper = self._with(parts)
            try:
                start = replace(state, n=n * parts + done)
                # statics take no such force
                state, batch = stepper.advance(start) if push is None else stepper.advance(start, 1, push)  # type: ignore[call-arg]
            except UserError as error:
                if error.code != FAILURE or isinstance(error, Unheld):
                    raise
                if parts == 2**_MAX_HALVINGS:
                    what = error.what if isinstance(error, Failed) else error.message
                    raise Failed(f"{what}, with the step cut to 1/{parts} of it", self._remedy) from error
                parts, done = 2 * parts, 2 * done
                continue
            batches.append(batch)
            done += 1
            if parts > 1 and done % 2 == 0:
                parts, done = parts // 2, done // 2
        merged = batches[0] if len(batches) == 1 else self._steppers[1].merge_substeps(batches)
        return replace(state, n=n + 1), merged.numbered(n + 1)

    def _with(self, count: int) -> Divisible:
        if count not in self._steppers:
            self._steppers[count] = self._steppers[1].with_step(self.step / count)
        return self._steppers[count]
