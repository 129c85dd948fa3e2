"""Runs with their derivatives by a few parameters, computed with the steps."""

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
    and up, at which a first status of contact changes; the record, None without; the events of the run; the growth of
    small changes, see `arlequin.sensitivity.growth`, 1 where it is not computed."""

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
    whether to record the run and its derivatives, beside the responses; find_events: see
    `arlequin.sensitivity.events`, None for the derivatives of the steps at their statuses; trend: whether the
    derivatives are those of the mean over the instants of the steps, or those of the run between its jumps. UserError
    where neighbouring runs diverge from it, so that derivatives of the mean have no meaning."""
    base, derivatives = derived(study, at, scales, wrt)
    equations, steps = BulkEquations(base), base.study.steps
    operators = StepOperators(equations)
    tangent = Tangent(equations, operators, derivatives)
    recording = Recording(equations, derivatives, wrt) if record else None
    trend = trend and find_events is not None
    growth = Growth(equations, operators) if trend else None
    sums = {name: _ResponseSum(each, base.study, derivatives) for name, each in responses.items()}
    state, delays = tangent.first(), list[tuple[Event, Array]]()
    reach = np.tile([-np.inf, np.inf], (len(derivatives), 1))
    # solves have few right-hand sides: more BLAS threads would only wait for each other
    with reporting(progress, "gradient") as report, threadpool_limits(1, user_api="blas"):
        for window in windows(equations, operators, steps, trend, 1 + len(derivatives)):
            linear = window.steps
            events = () if find_events is None else window.events(find_events, derivatives)
            state, tangents, passed = tangent.steps(linear, state, events)
            delays += passed.delays
            if growth is not None:
                growth.add(linear, events)
            for response_sum in sums.values():
                response_sum.add(linear, tangents)
            if recording is not None:
                # samples at a jump follow no linear step: only the trend has the losses by events
                recording.add(linear, tangents, passed if trend else PassedEvents(passed.jumps, []))
            for i, derivative in enumerate(derivatives):
                down, up = linear.reach(derivative, tangents, i)
                reach[i] = max(reach[i, 0], down), min(reach[i, 1], up)
            if report is not None:
                report(linear.block.n + len(linear.block), steps)
        for response_sum in sums.values():
            response_sum.jump(delays)
    return TangentRun(
        {name: response_sum.value for name, response_sum in sums.items()},
        {name: response_sum.derivatives for name, response_sum in sums.items()},
        dict(zip(wrt, reach, strict=True)),
        None if recording is None else recording.close(),
        [event for event, _ in delays if event.bend is not None],
        1.0 if growth is None else growth.checked(),
    )


class _ResponseSum:
    """A response with its derivatives (p,), summed over the blocks of a run."""

    def __init__(self, response: Response, study: Study, derivatives: list[ModelDerivative]) -> None:
        self._weights, self._model_derivatives = SeriesWeights(response, study.steps, study.fields_every), derivatives
        self._pieces: list[Array] = []
        self.derivatives = np.zeros(len(derivatives))

    def add(self, linear: LinearSteps, tangents: TangentBlock) -> None:
        """Add the steps of a block."""
        block_response = BlockResponse(self._weights.response, linear)
        self._pieces.append(block_response.values())
        first = linear.block.n + 1
        weights = self._weights.of(np.arange(first, first + len(linear.block)), self._pieces[-1])
        sources = block_response.sources(weights)
        for i, derivative in enumerate(self._model_derivatives):
            self.derivatives[i] += block_response.by_motion(sources, tangents, i) + block_response.by_parameter(
                weights, derivative
            )

    def jump(self, delays: Sequence[tuple[Event, Array]]) -> None:
        """Subtract the losses of the series in the steps of events with delays (p,); after all steps are added."""
        values = np.concatenate(self._pieces)
        for event, delay in delays:
            self.derivatives -= delay * event_loss(event, self._weights, values)

    @property
    def value(self) -> float:
        """The value of the response of a whole run."""
        return self._weights.value(np.concatenate(self._pieces))
