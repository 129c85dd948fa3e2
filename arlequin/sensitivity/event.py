"""A contact event of a run, as a jump of its derivatives; see `arlequin.sensitivity.events`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from arlequin.models.types import Array
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.response_series import Sources


class StepState(NamedTuple):
    """A state between two steps: fields (f, d), spring tractions (r,), Pa, worn depth and its opening (k,), m. Of
    derivatives by p parameters (f, d, p) and (r, p), depth and opening in the normal rows."""

    fields: Any
    springs: Any
    depth: Any
    opening: Any


class Shift(NamedTuple):
    """Steps of a run from step n on, and those with other statuses, whose difference counts with a share."""

    share: float
    n: int
    run: LinearSteps
    shifted: LinearSteps


@dataclass(frozen=True, eq=False)
class Event:
    """An event in step n of a run.

    order: among those of the step; points: that change their status; due: the step whose state before it loses `moved`
    for each step by which the event comes later; by_state, by_parameter (p,): derivatives of this delay by the state
    before step n (fields (f, d), the others (r,)) and by the parameters; bend: see `events`, None of an end of contact;
    last: the step before `due`, of the run; shifts: see `Shift`.
    """

    n: int
    order: int
    points: tuple[int, ...]
    due: int
    moved: StepState
    by_state: StepState
    by_parameter: Array
    bend: float | None
    last: LinearSteps
    shifts: tuple[Shift, ...]

    def losses(self, values: Callable[[LinearSteps], Array], sources: Callable[[LinearSteps], Sources]) -> Array:
        """What a series loses in the steps from n − 1 until `due` for each step by which the event comes later, beyond
        what the change of the state before step `due` makes of it; values (b,) of the series in some steps, and its
        derivatives in one step."""
        found = np.zeros(self.due - self.n + 1)
        for share, n, run, shifted in self.shifts:
            own = share * (values(shifted) - values(run))
            found[n - self.n + 1 :][: own.size] += own
        by, moved, at = sources(self.last), self.moved, self.due - self.n
        found[at] -= np.vdot(by.u[1], moved.fields[0]) + np.vdot(by.v[1], moved.fields[1])
        found[at] -= np.vdot(by.springs[1], moved.springs) + np.vdot(by.depth[0], moved.depth)
        return found

    def along(self, state: StepState) -> Array:
        """The derivative (p,) of the delay by the derivatives of a state by p parameters."""
        return np.asarray(sum(np.tensordot(a, b, a.ndim) for a, b in zip(self.by_state, state, strict=True)))


@dataclass(frozen=True, eq=False)
class PassedEvents:
    """Events with the derivatives (p,) of their delays: those that change the state before a step of a block, or after
    it, and those in its steps."""

    jumps: list[tuple[Event, Array]]
    delays: list[tuple[Event, Array]]
