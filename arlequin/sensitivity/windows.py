"""The solved steps of a run in windows that overlap, so that each event has the steps around it at hand."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from arlequin.models.types import Array
from arlequin.sensitivity.event import Event
from arlequin.sensitivity.linear_steps import LinearSteps, start_springs
from arlequin.sensitivity.models_at import ModelDerivative
from arlequin.sensitivity.operators import StepOperators
from arlequin.sensitivity.step_equations import BulkEquations
from arlequin.sensitivity.trajectory import Block, Wear, blocks
from arlequin.step.state import State

AROUND = 4  # steps of overlap of a window on either side

Finder = Callable[[LinearSteps, int, int, Sequence[ModelDerivative], bool], list[Event]]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Data to compute a window again: the steps before it, solved with the last window, None at the start; spring
    tractions (r,), Pa, before these; state, wear and number of the steps that follow; part: the slice without overlap;
    trend: whether the derivatives are those of the trend, see `find_events` and `ContactEquations.without_phase`."""

    before: Block | None
    springs: Array
    state: State
    wear: Wear
    steps: int
    part: slice
    trend: bool

    def window(self, equations: BulkEquations, operators: StepOperators) -> "Window":
        """The window, solved again."""
        last = self.state.n + self.steps
        (block,) = blocks(equations.model, self.state, self.wear, last, least=2 * AROUND)
        return self.around(self.linear(block, equations, operators))

    def linear(self, block: Block, equations: BulkEquations, operators: StepOperators) -> LinearSteps:
        """The linearised steps of the window, those before it included."""
        steps = block if self.before is None else self.before.joined(block)
        return LinearSteps.of(equations, steps, self.springs, operators.diagonal)

    def around(self, linear: LinearSteps) -> "Window":
        """The window of these steps."""
        if self.trend:
            linear = replace(linear, statuses=linear.contact.without_phase(linear.motion, linear.statuses))
        return Window(linear, self)


@dataclass(frozen=True, eq=False)
class Window:
    """Solved steps with those around them; wide: all of them."""

    wide: LinearSteps
    checkpoint: Checkpoint

    @cached_property
    def steps(self) -> LinearSteps:
        """The steps without overlap: those of all windows are the steps of the run."""
        at = self.checkpoint.part
        all_steps = at == slice(0, len(self.wide.block))
        return self.wide if all_steps else self.wide.cut(at.start, at.stop)

    def events(self, find: Finder, derivatives: Sequence[ModelDerivative]) -> list[Event]:
        """The events of the steps without overlap."""
        at = self.checkpoint.part
        return find(self.wide, at.start, at.stop, derivatives, self.checkpoint.trend)


def windows(
    equations: BulkEquations, operators: StepOperators, steps: int, trend: bool, fields: int = 1
) -> Iterator[Window]:
    """The steps of a run; trend: see `Checkpoint`; fields: see `blocks`. UserError where they do not solve the
    equations that are derived."""
    before, springs = None, start_springs(equations.model)
    for block in blocks(equations.model, None, None, steps, fields, least=2 * AROUND):
        count = len(block) + (0 if before is None else len(before))
        last = count if block.n + len(block) == steps else count - AROUND
        part = slice(0 if before is None else AROUND, last)
        checkpoint = Checkpoint(before, springs, block.start, block.wear, len(block), part, trend)
        linear = checkpoint.linear(block, equations, operators)
        linear.check()
        window = checkpoint.around(linear)
        yield window
        before = equations.cut(window.wide.block, max(count - 2 * AROUND, 0), count)
        springs = window.wide.springs[max(count - 2 * AROUND, 0)]
