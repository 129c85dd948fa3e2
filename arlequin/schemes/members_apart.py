"""Members of an ensemble with separate steppers."""

from functools import partial
from typing import Any

from arlequin.models.types import Array
from arlequin.solvers.condensed import Checkpointable
from arlequin.step.batch import StepBatch
from arlequin.step.scheme import Scheme, Stepper
from arlequin.step.state import State
from arlequin.system.ensemble import Members, named


class MembersApart(Stepper):
    """One stepper per member, as in separate runs: for members without common matrices and for schemes that do not step
    members together. Time is the sum of separate runs, and so is memory."""

    def __init__(self, scheme: Scheme, members: Members, step: float) -> None:
        self._members = members
        self._steppers = [named(i, partial(scheme.prepare, member, step)) for i, member in enumerate(members.each)]
        first = self._steppers[0]
        self.step, self.least_batch, self.locates_events = first.step, first.least_batch, first.locates_events
        self.fields_at_end, self.linear_solver = first.fields_at_end, first.linear_solver

    def state_dict(self) -> Any:
        """The state of each stepper; None for those without."""
        return tuple(
            stepper.state_dict() if isinstance(stepper, Checkpointable) else None for stepper in self._steppers
        )

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        for stepper, stepper_state in zip(self._steppers, state, strict=True):
            if isinstance(stepper, Checkpointable):
                stepper.load_state_dict(stepper_state)

    def start(self, u: Array, v: Array) -> State:
        """The members at t = 0, from u, v (n, d)."""

        def begin(i: int) -> State:
            return self._steppers[i].start(u[i], v[i]).with_first_guess(self._members.each[i], self.step)

        return State.of_members_apart([named(i, partial(begin, i)) for i in range(self._members.count)])

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` steps, equally many of each member; they end before a step that fails in some member, whose
        error the next call raises."""
        taken: list[int] = []
        while len(set(taken)) != 1:
            count = min(taken, default=count)
            members = zip(self._steppers, state.scheme_state, strict=True)
            member_steps = [
                named(i, partial(stepper.advance, member_state, count))
                for i, (stepper, member_state) in enumerate(members)
            ]
            taken = [len(batch) for _, batch in member_steps]
        states, batches = zip(*member_steps, strict=True)
        return State.of_members_apart(states), StepBatch.of_members(batches)
