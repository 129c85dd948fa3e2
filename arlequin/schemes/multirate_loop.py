"""Multirate integration of linear parts without contact and absorbing junctions in one compiled loop."""

from functools import cached_property
from typing import Any

import numpy as np

from arlequin.energy import KINDS, Work
from arlequin.linalg.products import applied
from arlequin.models.types import Array
from arlequin.schemes.compiled_system import as_arrays
from arlequin.schemes.multirate_sides import PushedCentral, PushedTheta, SideBlock, SideJunctions
from arlequin.schemes.multirate_steps import (
    MAX_PASSES,
    STAGNATION_TOLERANCE,
    TOLERANCE,
    Coupling,
    MultirateStepper,
    Side,
)  # fmt: skip
from arlequin.step.batch import StepBatch
from arlequin.step.impulses import ContactImpulses
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

_VALUES_PER_BLOCK = 1 << 19  # of a field of a block, at most


class MultirateLoopStepper(MultirateStepper):
    """The large steps of `MultirateStepper` in one compiled loop; it repeats a failing step in order to raise its
    error."""

    @staticmethod
    def takes(assembly: Assembly, sides: tuple[Side, Side]) -> bool:
        """Whether no junction absorbs and the loop applies to both sides (`pushed_stepper`)."""
        return assembly.absorber is None and all(
            isinstance(side.stepper, PushedTheta | PushedCentral) for side in sides
        )

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` large steps."""
        from arlequin.schemes._multirate_kernels import multirate_steps

        states, mismatch, last = state.scheme_state
        mismatch = mismatch.copy()
        largest = max(side.count * side.assembly.dof_count for side in self._sides)
        count = max(min(count, _VALUES_PER_BLOCK // max(largest, 1)), 1)
        blocks = [
            side.stepper.block(side_state, side.count * count, junctions)  # type: ignore[union-attr]
            for side, side_state, junctions in zip(self._sides, states, self._junctions, strict=True)
        ]
        count = min(block.size // side.count for side, block in zip(self._sides, blocks, strict=True))
        multipliers = np.concatenate([last[None], np.zeros((count, last.size))])
        taken = int(
            multirate_steps(  # type: ignore[call-arg]
                count, *(as_arrays(block.arguments) for block in blocks), self._solids, self._response,
                multipliers, mismatch, (MAX_PASSES, TOLERANCE, STAGNATION_TOLERANCE),
            )
        )  # fmt: skip
        if not taken:
            return super().advance(state)
        multipliers = multipliers[1 : taken + 1]
        ends = [
            side.stepper.ended(block, side.count * taken)  # type: ignore[union-attr]
            for side, block in zip(self._sides, blocks, strict=True)
        ]
        end = self._join(state.n + taken, tuple(side_end for side_end, _ in ends), mismatch, multipliers[-1].copy())
        return end, self._batch_of_steps(end, blocks, [batch for _, batch in ends], multipliers)

    @cached_property
    def _junctions(self) -> list[SideJunctions]:
        """Of each side."""
        return [
            SideJunctions.of(side.assembly, rows, side.count)
            for side, rows in zip(self._sides, self._rows, strict=True)
        ]

    @cached_property
    def _solids(self) -> tuple[Any, Any]:
        """`SolidTables` of both sides."""
        coarse, fine = (as_arrays(side.assembly.solids) for side in self._sides)
        return coarse, fine

    @cached_property
    def _response(self) -> tuple[Any, ...]:
        """See `Coupling.arrays`."""
        assert isinstance(self._coupling, Coupling)
        return self._coupling.arrays()

    def _batch_of_steps(
        self, end: State, blocks: list[SideBlock], batches: list[StepBatch], multipliers: Array
    ) -> StepBatch:
        """The batch of the large steps (b,) up to the state `end`, from those of the steps of both sides."""
        assembly, count = self._assembly, len(multipliers)
        u, v = np.zeros((count, assembly.dof_count)), np.zeros((count, assembly.dof_count))
        work, reaction_impulses = Work(np.zeros((count, len(KINDS)))), np.zeros((count, assembly.dof_count))
        for side, rows, block, batch in zip(self._sides, self._rows, blocks, batches, strict=True):
            last = slice(side.count - 1, None, side.count)
            u[:, side.dofs], v[:, side.dofs] = batch.u[last], batch.v[last]
            self._add_junction_work(side, rows, block.before, batch, multipliers)
            works = batch.works.reshape(count, side.count, -1)
            work.values[:, :3] += works[:, -1, :3]
            work.values[:, 3:] += works[:, :, 3:].sum(axis=1)
            if batch.reactions is not None:
                dofs = np.flatnonzero(side.dofs)[side.assembly.imposed_dofs]
                reaction_impulses[:, dofs] += batch.reactions.reshape(count, side.count, -1).sum(axis=1)
        kinematics = assembly.contact.kinematics(np.zeros(assembly.contact.basis.shape[0]))
        return StepBatch(
            n=end.n - count + 1 + np.arange(count),
            u=u,
            v=v,
            works=work.values,
            multipliers=self.step * multipliers,
            gaps=np.zeros((count, 0)),
            contact=ContactImpulses.none(kinematics).stacked(count),
            iterations=np.zeros(count, dtype=np.int64),
            residual=np.zeros(count),
            newton=np.ones(count, dtype=np.int64),
            reactions=reaction_impulses[:, assembly.imposed_dofs],
        )

    def _add_junction_work(self, side: Side, rows: Any, before: State, batch: StepBatch, multipliers: Array) -> None:
        """Adds φ·C p of the steps of a side to their works, p = Δt (v₀ + v₁)/2; central differences have the work
        of the imposed motions on another path, and take that of Cᵀφ from it."""
        stepper, assembly = side.stepper, side.assembly
        v = np.concatenate([before.v[None], batch.v])
        each = np.repeat(multipliers, side.count, axis=0)
        rates = applied(rows, v)
        batch.work["junction"] += np.vecdot(each, 0.5 * stepper.step * (rates[:-1] + rates[1:]))
        dofs = assembly.imposed_dofs
        if isinstance(stepper, PushedCentral) and dofs.size:
            path = 0.5 * stepper.step * (v[:-1, dofs] + v[1:, dofs])
            batch.work["external_work"] -= np.vecdot(applied(rows[:, dofs].T, each), path)
