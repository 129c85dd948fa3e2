"""Steps that are halved until each part of them is found."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, Self, cast

import numpy as np

from arlequin.models.errors import FAILURE, UserError
from arlequin.solvers.condensed import Checkpointable
from arlequin.step.acceptance import Failed, Unheld
from arlequin.step.batch import StepBatch
from arlequin.step.scheme import Restartable, Stepper
from arlequin.step.state import State
from arlequin.system.internal_forces import Memory

_HALVES = 8  # times a step is halved at most
_REMEDY = "a finer or more regular mesh, or less load: this may be more than the part can carry"
_RIGID_REMEDY = "another step, or fewer contact points on the rigid parts, whose forces may not be unique"


class Divisible(Checkpointable, Stepper, Protocol):
    """A stepper whose steps can be done in parts."""

    def with_step(self, step: float) -> Self:
        """The same with another step."""
        ...

    def merge_substeps(self, batches: Sequence[StepBatch]) -> StepBatch:
        """Consecutive sub-steps as one step."""
        ...


class CutBackStepper(Stepper):
    """Steps of nonlinear parts, as 2, 4, … parts of them where they fail: no convergence, no tangent, cells inside out.

    Part j of 2^k is step 2^k n + j of a stepper with Δt/2^k. Each is a step as any other: what the points go through in
    it is committed with it, and nothing stays of one that failed. Two that end where a part of twice their size does
    are followed by one of that size.
    """

    def __init__(self, stepper: Divisible, deforms: bool = True) -> None:
        """deforms: whether some of the nonlinear parts do, and are not rigid."""
        self.step, self._remedy = stepper.step, _REMEDY if deforms else _RIGID_REMEDY
        self.restarts = stepper.restarts
        self._steppers = {1: stepper}

    def start(self, u: np.ndarray, v: np.ndarray, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt."""
        first = self._steppers[1]
        return cast(Restartable, first).start(u, v, n, memory) if self.restarts else first.start(u, v)

    def continued(self, state: State) -> State:
        """See `Restartable`."""
        return cast(Restartable, self._steppers[1]).continued(state)

    def state_dict(self) -> Any:
        """What the steppers of each size keep."""
        return {count: stepper.state_dict() for count, stepper in self._steppers.items()}

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        for count, own in state.items():
            self._with(count).load_state_dict(own)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One step."""
        n, parts, done = state.n, 1, 0
        batches: list[StepBatch] = []
        while done < parts:
            stepper = self._with(parts)
            try:
                state, batch = stepper.advance(replace(state, n=n * parts + done))
            except UserError as error:
                if error.code != FAILURE or isinstance(error, Unheld):
                    raise
                if parts == 2**_HALVES:
                    what = error.what if isinstance(error, Failed) else error.message
                    raise Failed(f"{what}, with the step cut to 1/{parts} of it", self._remedy) from error
                parts, done = 2 * parts, 2 * done
                continue
            batches.append(batch)
            done += 1
            if parts > 1 and done % 2 == 0:
                parts, done = parts // 2, done // 2
        whole = batches[0] if len(batches) == 1 else self._steppers[1].merge_substeps(batches)
        return replace(state, n=n + 1), whole.numbered(n + 1)

    def _with(self, count: int) -> Divisible:
        if count not in self._steppers:
            self._steppers[count] = self._steppers[1].with_step(self.step / count)
        return self._steppers[count]
