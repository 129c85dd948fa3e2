"""The sides of a multirate step as compiled loops take them: many steps of linear parts without contact under forces of
constraints, Cᵀφ, that are constant in a large step; arguments of the loop, end states and batches."""

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from arlequin.models.linalg.bordered import BorderedPasses
from arlequin.models.types import Array
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.central_loop import CentralLoopStepper
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.compiled_loop import LoopRun
from arlequin.schemes.compiled_system import CompiledSystem, SparseRows, as_arrays, first_of, zeros_of
from arlequin.schemes.factored_loop import FactoredStepper, suits_loop
from arlequin.schemes.loop_data import CentralWorks, LoopSteps, StepRow, StepWorks
from arlequin.schemes.multirate_data import SideArguments, SideState, SideSteps
from arlequin.schemes.one_step_state import OneStepState
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.schemes.theta import Theta
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.linear_step import LinearStep
from arlequin.step.batch import StepBatch
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.scheme import evaluate_fewer_on_error
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

_NO_PASSES = BorderedPasses(
    *(np.zeros(0, dtype) for dtype in (int, np.int32, np.int32, np.int32, np.uint32, float, int, int, float))
)
_NO_ROWS = SparseRows.of(sp.csr_array((0, 0)))
_NONE = np.zeros(0)


class SideJunctions(NamedTuple):
    """Steps of a side in a large one, and the fields of `CompiledSystem` before the contact's, with the constraints of
    the junctions."""

    ratio: int
    bulk: Any

    @classmethod
    def of(cls, assembly: Assembly, rows: sp.csr_array, ratio: int) -> Self:
        """rows: the constraints C (m, d)."""
        return cls(ratio, as_arrays(CompiledSystem.of(replace(assembly, constraints=rows))[:9]))


class SideBlock(NamedTuple):
    """Steps (b,) of a side from the state `before`: what the loop reads and writes; loads (b + 1, d), or (1, d) if
    steady, at the ends of the steps, N, and their means (b, d) or (1, d)."""

    before: State
    arguments: SideArguments
    loads: Array
    means: Array

    @property
    def size(self) -> int:
        """b."""
        return len(self.arguments.steps.u)

    def loop_steps(self, assembly: Assembly, taken: int) -> tuple[LoopSteps, SideSteps]:
        """The first `taken` steps, as the audits of the other loops take them, and as those of the loop."""
        steps = first_of(self.arguments.steps, taken)
        empty = LoopSteps.allocate(assembly, taken)
        return empty._replace(u=steps.u, v=steps.v, flow=steps.flow), steps


class PushedTheta(FactoredStepper):
    """Steps of the θ-scheme of a side."""

    def block(self, state: State, count: int, junctions: SideJunctions) -> SideBlock:
        """Up to `count` steps from a state."""
        assembly, passes = self._assembly, self._passes
        count, (loads, _), given = self._given_in_block(state, count)
        start = SideState(state.u, state.v, state.internal, state.scheme_state.momentum, _NONE, _NONE, _NONE)
        arguments = SideArguments(
            True, junctions.ratio, junctions.bulk, StepRow.of(self._coefficients),
            SparseRows.of(passes.to_given), passes.bordered, np.arange(passes.bordered.first.size - 1), given.push,
            _NONE, _NONE, _NONE, given.external, given.imposed, *_room_for(assembly, start, count),
        )  # fmt: skip
        return SideBlock(state, arguments, loads, given.external)

    def ended(self, block: SideBlock, taken: int) -> tuple[State, StepBatch]:
        """The end state and the batch of the first `taken` steps of a block, without the work of the constraints."""
        before, now = block.before, block.arguments.start
        steps, of_loop = block.loop_steps(self._assembly, taken)
        works = StepWorks(of_loop.sums[:, :5], of_loop.strain, of_loop.reactions)
        run = LoopRun(self._loop_state(before), block.loads, block.loads, block.means, steps, None, taken, works)
        rows = self._assembly.laws.row_count
        batch = self._audited(before, run, steps, np.zeros((taken + 1, rows)), np.zeros((taken, 0), dtype=bool))
        load = block.loads[min(taken, len(block.loads) - 1)]
        scheme_state = OneStepState.of_sums(now.momentum, load, before.scheme_state.constraint_sum)
        return _end(batch, before, now, scheme_state), batch


class PushedCentral(CentralLoopStepper):
    """Steps of central differences of a side."""

    def block(self, state: State, count: int, junctions: SideJunctions) -> SideBlock:
        """Up to `count` steps from a state."""
        assembly, before = self._assembly, state.scheme_state
        count, (loads, imposed) = evaluate_fewer_on_error(lambda limit: self._loads_and_imposed(state, limit), count)
        damping = _NONE if assembly.damping is None else before.damping
        start = SideState(state.u, state.v, state.internal, _NONE, before.half, before.a, damping)
        row = StepRow.of(StepCoefficients.of_central_differences(self.step))
        arguments = SideArguments(
            False, junctions.ratio, junctions.bulk, row, _NO_ROWS, _NO_PASSES, np.zeros(0, dtype=int),
            np.zeros((0, 0)), self._operators.inverse, self._mass, np.zeros_like(state.u), loads, imposed,
            *_room_for(assembly, start, count),
        )  # fmt: skip
        return SideBlock(state, arguments, loads, loads)

    def ended(self, block: SideBlock, taken: int) -> tuple[State, StepBatch]:
        """The end state and the batch of the first `taken` steps of a block, without the work of the constraints."""
        before, now, start = block.before, block.arguments.start, block.before.scheme_state
        steps, of_loop = block.loop_steps(self._assembly, taken)
        works = CentralWorks(of_loop.sums, of_loop.strain, np.zeros((taken, 0)), of_loop.reactions)
        batch = self._audited(before, self._kinematics, steps, works)
        scheme_state = replace(
            start,
            half=now.half,
            a=now.a,
            damping=now.damping if now.damping.size else start.damping,
            external=block.loads[min(taken, len(block.loads) - 1)],
        )
        return _end(batch, before, now, scheme_state), batch


def _room_for(assembly: Assembly, start: SideState, count: int) -> tuple[SideState, SideState, SideSteps]:
    """Copies of the state at the start, which the loop overwrites, and `count` steps."""
    size, imposed = assembly.dof_count, assembly.imposed_dofs.size
    copies = (SideState(*(np.array(field) for field in start)) for _ in range(2))
    return *copies, zeros_of(SideSteps, count, size, size, size, 6, (), imposed, types={})  # type: ignore[return-value]


def _end(batch: StepBatch, before: State, now: SideState, scheme_state: Any) -> State:
    """The state at the end of a batch, of parts without contact."""
    end = batch.end_state(
        history=before.history, internal=now.internal, impulse=before.impulse, scheme_state=scheme_state
    )
    return replace(end, memory=before.memory)


def pushed_stepper(
    assembly: Assembly, scheme: Theta | CentralDifference, step: float
) -> OneStepStepper | CentralStepper:
    """The stepper of a side: one whose steps a compiled loop takes, if it can."""
    suits = suits_loop(assembly) and not assembly.laws.row_count and assembly.absorption is None
    if isinstance(scheme, CentralDifference):
        stepper = scheme.prepare(assembly, step)
        assert isinstance(stepper, CentralStepper)
        return PushedCentral(assembly, step) if suits and CentralLoopStepper.takes(assembly) else stepper
    if suits:
        coefficients = scheme.coefficients(step)
        bulk = LinearStep(assembly, coefficients, scheme.solver)
        passes = bulk.condensed.passes() if isinstance(bulk.condensed, Condensed) else None
        if passes is None:
            return OneStepStepper(assembly, coefficients, bulk)
        return PushedTheta(assembly, coefficients, bulk, passes)
    stepper = scheme.prepare(assembly, step)
    assert isinstance(stepper, OneStepStepper)
    return stepper
