"""Runs with their derivatives by a few parameters, carried along with the steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from threadpoolctl import threadpool_limits

from arlequin.models.types import Array
from arlequin.run.progress import Progress, reporting
from arlequin.run.simulate import Study
from arlequin.sensitivity.event import Event, PassedEvents
from arlequin.sensitivity.growth import Growth
from arlequin.sensitivity.linear_steps import LinearSteps, TangentBlock
from arlequin.sensitivity.models_at import ModelDerivative
from arlequin.sensitivity.operators import StepOperators
from arlequin.sensitivity.recording import Recording, RecordWithDerivatives
from arlequin.sensitivity.responses import BlockResponse, Response, SeriesWeights, event_loss
from arlequin.sensitivity.step_equations import BulkEquations
from arlequin.sensitivity.supported import derived
from arlequin.sensitivity.tangent import Tangent
from arlequin.sensitivity.windows import Finder, windows


@dataclass(frozen=True, eq=False)
class TangentRun:
    """A run with its derivatives: values of responses, and their derivatives (p,); changes (2,) of each parameter, down
    and up, at which a first status of contact changes; the record, where it was wanted; the events that were passed;
    the growth of small changes, see `arlequin.sensitivity.growth`, 1 where it was not asked for."""

    values: dict[str, float]
    responses: dict[str, Array]
    reach: dict[str, Array]
    record: RecordWithDerivatives | None
    events: list[Event]
    growth: float


def run_with_tangents(
    study: Callable[..., Study],
    at: Mapping[str, float],
    scales: Mapping[str, float],
    wrt: Sequence[str],
    responses: Mapping[str, Response] = MappingProxyType({}),
    record: bool = True,
    progress: Progress | bool | None = None,
    find_events: Finder | None = None,
    trend: bool = True,
) -> TangentRun:
    """Run study(**at) with the derivatives by the parameters `wrt`; scales: changes of them that matter; record:
    whether all that the run records is wanted with its derivatives, beside the responses; find_events: see
    `arlequin.sensitivity.events`, None for the derivatives of the steps at their statuses; trend: whether the
    derivatives are those of the mean over the instants of the steps, or those of the run between its jumps. UserError
    where neighbours of the run part from it, so that those of the mean have no meaning."""
    base, derivatives = derived(study, at, scales, wrt)
    equations, steps = BulkEquations(base), base.study.steps
    operators = StepOperators(equations)
    tangent = Tangent(equations, operators, derivatives)
    recording = Recording(equations, derivatives, wrt) if record else None
    trend = trend and find_events is not None
    growth = Growth(equations, operators) if trend else None
    sums = {name: _ResponseSum(each, base.study, derivatives) for name, each in responses.items()}
    motion, delays = tangent.first(), list[tuple[Event, Array]]()
    reach = np.tile([-np.inf, np.inf], (len(derivatives), 1))
    # solves have few right-hand sides: more BLAS threads would only wait for each other
    with reporting(progress, "gradient") as told, threadpool_limits(1, user_api="blas"):
        for window in windows(equations, operators, steps, trend, 1 + len(derivatives)):
            linear = window.own
            events = () if find_events is None else window.events(find_events, derivatives)
            motion, moved, passed = tangent.steps(linear, motion, events)
            delays += passed.delays
            if growth is not None:
                growth.add(linear, events)
            for own in sums.values():
                own.add(linear, moved)
            if recording is not None:
                # samples at a jump follow no linear step: the trend alone takes what moves with an event
                recording.add(linear, moved, passed if trend else PassedEvents(passed.jumps, []))
            for i, of in enumerate(derivatives):
                down, up = linear.reach(of, moved, i)
                reach[i] = max(reach[i, 0], down), min(reach[i, 1], up)
            if told is not None:
                told(linear.block.n + len(linear.block), steps)
        for own in sums.values():
            own.jump(delays)
    return TangentRun(
        {name: own.value for name, own in sums.items()},
        {name: own.derivatives for name, own in sums.items()},
        dict(zip(wrt, reach, strict=True)),
        None if recording is None else recording.close(),
        [event for event, _ in delays if event.bend is not None],
        1.0 if growth is None else growth.checked(),
    )


class _ResponseSum:
    """A response with its derivatives (p,), added up over the blocks of a run."""

    def __init__(self, response: Response, study: Study, by: list[ModelDerivative]) -> None:
        self._weights, self._by = SeriesWeights(response, study.steps, study.fields_every), by
        self._pieces: list[Array] = []
        self.derivatives = np.zeros(len(by))

    def add(self, linear: LinearSteps, moved: TangentBlock) -> None:
        """The steps of a block."""
        here = BlockResponse(self._weights.response, linear)
        self._pieces.append(here.values())
        first = linear.block.n + 1
        weights = self._weights.of(np.arange(first, first + len(linear.block)), self._pieces[-1])
        sources = here.sources(weights)
        for i, of in enumerate(self._by):
            self.derivatives[i] += here.by_motion(sources, moved, i) + here.by_parameter(weights, of)

    def jump(self, delays: Sequence[tuple[Event, Array]]) -> None:
        """What events, with their delays (p,), change of the series in their own steps; once all steps are added."""
        values = np.concatenate(self._pieces)
        for event, delay in delays:
            self.derivatives -= delay * event_loss(event, self._weights, values)

    @property
    def value(self) -> float:
        """Its value, of a whole run."""
        return self._weights.value(np.concatenate(self._pieces))
