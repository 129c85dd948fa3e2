"""A contact event of a run, as a jump of its derivatives; see `arlequin.sensitivity.events`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from arlequin.models.types import Array
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.response_series import Sources


class StepState(NamedTuple):
    """A state between two steps: fields (f, d), spring tractions, Pa, and internal variables of springs (r + m,), worn
    depth and its opening (k,), m. Of derivatives by p parameters (f, d, p), (r + m, p) and (r, p), depth and opening in
    the normal rows."""

    fields: Any
    springs: Any
    depth: Any
    opening: Any


class Shift(NamedTuple):
    """Steps of a run from step n on, the same steps at shifted statuses, and the weight of their difference."""

    share: float
    n: int
    run: LinearSteps
    shifted: LinearSteps


@dataclass(frozen=True, eq=False)
class Event:
    """An event in step n of a run.

    order: number among the events of the step; points: those that change their status; due: the step before which the
    state loses `state_loss` for each step by which the event comes later; by_state, by_parameter (p,): derivatives of
    this delay by the state before step n (fields (f, d), the others (r,)) and by the parameters; bend: see `events`,
    None of an end of contact; last: the step before `due`, of the run; shifts: see `Shift`.
    """

    n: int
    order: int
    points: tuple[int, ...]
    due: int
    state_loss: StepState
    by_state: StepState
    by_parameter: Array
    bend: float | None
    last: LinearSteps
    shifts: tuple[Shift, ...]

    def losses(self, values: Callable[[LinearSteps], Array], sources: Callable[[LinearSteps], Sources]) -> Array:
        """Losses of a series in the steps from n − 1 until `due` for each step by which the event comes later, without
        the effect of the loss of state before step `due`; values (b,): of the series in some steps; sources: its
        derivatives in one step."""
        losses = np.zeros(self.due - self.n + 1)
        for share, n, run, shifted in self.shifts:
            loss = share * (values(shifted) - values(run))
            losses[n - self.n + 1 :][: loss.size] += loss
        source, state_loss, at = sources(self.last), self.state_loss, self.due - self.n
        losses[at] -= np.vdot(source.u[1], state_loss.fields[0]) + np.vdot(source.v[1], state_loss.fields[1])
        losses[at] -= np.vdot(source.springs[1], state_loss.springs) + np.vdot(source.depth[0], state_loss.depth)
        return losses

    def along(self, state: StepState) -> Array:
        """The derivative (p,) of the delay by p parameters, by those of the state."""
        return np.asarray(sum(np.tensordot(a, b, a.ndim) for a, b in zip(self.by_state, state, strict=True)))


@dataclass(frozen=True, eq=False)
class PassedEvents:
    """Events of a block with the derivatives (p,) of their delays: jumps, which change the state before one of its
    steps or after it, and delays, of the events in its steps."""

    jumps: list[tuple[Event, Array]]
    delays: list[tuple[Event, Array]]
