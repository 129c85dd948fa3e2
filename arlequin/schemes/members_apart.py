"""Members of an ensemble that step apart."""

from functools import partial
from typing import Any

from arlequin.models.types import Array
from arlequin.solvers.condensed import Checkpointable
from arlequin.step.batch import StepBatch
from arlequin.step.scheme import Scheme, Stepper
from arlequin.step.state import State
from arlequin.system.ensemble import Members, named


class MembersApart(Stepper):
    """Each member by a stepper of its own, as in separate runs: of members without common matrices, and of schemes that
    have no steps of all members at once. It takes the time of separate runs and the memory of all of them."""

    def __init__(self, scheme: Scheme, members: Members, step: float) -> None:
        self._members = members
        self._each = [named(i, partial(scheme.prepare, own, step)) for i, own in enumerate(members.each)]
        first = self._each[0]
        self.step, self.least_batch, self.locates_events = first.step, first.least_batch, first.locates_events
        self.fields_at_end, self.linear_solver = first.fields_at_end, first.linear_solver

    def state_dict(self) -> Any:
        """What each stepper keeps; None of those that keep nothing."""
        return tuple(own.state_dict() if isinstance(own, Checkpointable) else None for own in self._each)

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        for own, kept in zip(self._each, state, strict=True):
            if isinstance(own, Checkpointable):
                own.load_state_dict(kept)

    def start(self, u: Array, v: Array) -> State:
        """The members at t = 0, from u, v (n, d)."""

        def begin(i: int) -> State:
            return self._each[i].start(u[i], v[i]).with_first_guess(self._members.each[i], self.step)

        return State.of_members_apart([named(i, partial(begin, i)) for i in range(self._members.count)])

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` steps, as many of each member: those before one that is not accepted, which the next call
        says."""
        taken: list[int] = []
        while len(set(taken)) != 1:
            count = min(taken, default=count)
            each = zip(self._each, state.own, strict=True)
            found = [named(i, partial(own.advance, one, count)) for i, (own, one) in enumerate(each)]
            taken = [len(batch) for _, batch in found]
        states, batches = zip(*found, strict=True)
        return State.of_members_apart(states), StepBatch.of_members(batches)
