"""Central differences of linear systems in one compiled loop: contact, springs, dashpots, imposed motions and a limited
number of constraints."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.energy import BulkWork, NormalImpulseSplit, WorkPaths
from arlequin.linalg.products import applied
from arlequin.models.linalg.constraints import FullElimination
from arlequin.models.part import FullMass
from arlequin.models.types import Array
from arlequin.multilevel.solvers.closing import persistence
from arlequin.multilevel.solvers.contact import STICK
from arlequin.multilevel.solvers.solver_lists import called_with, newton_solver, robust_solver
from arlequin.schemes.central_steps import CentralState, CentralStepper
from arlequin.schemes.compiled_loop import solved_steps, steps_in_block, with_wear, worn_at_start, worn_kinematics
from arlequin.schemes.compiled_system import as_arrays, first_of, sliding_arguments, system_arguments, zeros_of
from arlequin.schemes.factored_loop import suits_loop
from arlequin.schemes.linear_audit import StepEnergies, audited, constraint_power
from arlequin.schemes.loop_data import CentralLoopState, CentralOperators, CentralWorks, LoopSteps
from arlequin.schemes.loop_pairing import FixedPairing, SurfacePairing
from arlequin.step.acceptance import warn_of_branches
from arlequin.step.batch import StepBatch
from arlequin.step.scheme import evaluate_fewer_on_error
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics

_VALUES_PER_BLOCK = 1 << 18  # of a field of a block, at most
_MAX_CONSTRAINTS = 600  # their operators are full matrices


class CentralLoopStepper(CentralStepper):
    """The steps of `CentralStepper` in one compiled loop; `CentralStepper` repeats a failing step in order to raise its
    error, and takes steps with external pushes."""

    def __init__(self, assembly: Assembly, step: float) -> None:
        super().__init__(assembly, step)
        self._solver = newton_solver
        contact = assembly.contact
        self._kinematics = contact.kinematics(np.zeros(contact.basis.shape[0]))
        fixed = contact.fixed
        self._pairing = (
            FixedPairing(assembly, self._kinematics) if fixed else SurfacePairing(assembly, self._kinematics)
        )

    @staticmethod
    def takes(assembly: Assembly) -> bool:
        """Whether the loop applies: `suits_loop` holds, the mass is diagonal, there are no absorbing zones and few
        constraints, and no springs with a memory beside surfaces that are paired in each step."""
        return (
            suits_loop(assembly)
            and (assembly.contact.fixed or not assembly.laws.memory)
            and assembly.absorption is None
            and assembly.constraints.shape[0] <= _MAX_CONSTRAINTS
            and not any(isinstance(part, FullMass) for part in assembly.parts)
        )

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """Up to `count` steps."""
        if push is not None:
            return super().advance(state, 1, push)
        from arlequin.schemes._central_loop_kernels import central_steps

        assembly, laws, pairing = self._assembly, self._assembly.laws, self._pairing
        pairing.needs_rerun()  # an error of the pairing in the block before is raised here, after its record
        count = min(count, steps_in_block(assembly, _VALUES_PER_BLOCK))
        count, (loads, imposed) = evaluate_fewer_on_error(lambda limit: self._loads_and_imposed(state, limit), count)
        now, steps, works = self._loop_state(state), LoopSteps.allocate(assembly, count), self._works(count)
        configurations = pairing.allocate(count)
        taken = int(
            called_with(
                self._solver,
                central_steps,
                (count, *self._system),
                (
                    as_arrays(self._operators._replace(step=self.step)), self._solids, (loads, imposed), self._mass,
                    tuple(now), tuple(steps), tuple(works), pairing.arguments(configurations),
                    sliding_arguments(laws, now.history, state.contact_flags),
                ),
            )
        )  # fmt: skip
        if not taken and pairing.needs_rerun():
            return self.advance(state, count)
        if not taken and steps.iterations[0] < 0 and self._solver is newton_solver:
            self._solver = robust_solver
            return self.advance(state, count)
        if not taken:
            return super().advance(state)
        steps, works = first_of(steps, taken), first_of(works, taken)
        kinematics = pairing.kinematics(None if configurations is None else first_of(configurations, taken))
        batch = self._audited(state, worn_kinematics(kinematics, steps), steps, works)
        if laws.state_dependent:
            warn_of_branches(laws, steps.normal.sum(axis=1), self._operators.delassus.diagonal(), 1.0)
            batch = replace(batch, friction_state=steps.friction_state)
        stored, external = works.stored[-1], loads[min(taken, len(loads) - 1)]
        scheme_state = CentralState(
            half=now.half, damping=now.damping if now.damping.size else np.zeros_like(now.half), drag=None,
            external=external, stored=stored, pushed=now.pushed, lift=now.lift, a=now.a, constraint=now.constraint,
        )  # fmt: skip
        contact_flags = persistence(steps.normal[-1].sum(axis=0), steps.normal[-1, 2], steps.status[-1], STICK)
        end = batch.end_state(
            history=now.history,
            internal=now.internal,
            impulse=steps.impulse[-1],
            scheme_state=scheme_state,
            contact_flags=contact_flags,
        )
        return with_wear(assembly, end, batch, steps, now.worn)

    def _audited(self, state: State, kinematics: ContactKinematics, steps: LoopSteps, works: CentralWorks) -> StepBatch:
        """The batch of the accepted steps."""
        assembly, step, scheme_state = self._assembly, self.step, state.scheme_state
        solved = solved_steps(assembly, kinematics, steps, np.zeros((len(steps.u) + 1, 0)))
        halves = np.concatenate([scheme_state.half[None], steps.flow])
        rates = applied(assembly.contact.basis, halves)
        du, mean_path = (
            kinematics.apply_local(path) for path in (step * rates[1:], 0.5 * step * (rates[:-1] + rates[1:]))
        )
        kinetic, external, internal, damping, loss, rotation_work = works.sums.T
        stored, dissipated, multiplier = np.moveaxis(steps.normal, 1, 0)
        # laws with a memory split the force at the start into a stored part and the loss on the path of the step
        by_path = np.where(assembly.laws.with_memory, dissipated, 0.0)
        losses = {} if assembly.damping is None else {"damping": np.maximum(loss, 0.0)}
        bulk = BulkWork(
            external, external, internal, damping, losses, constraint_power(assembly, steps.multipliers, halves)
        )
        batch = audited(
            assembly,
            solved,
            bulk,
            StepEnergies(kinetic, np.append(state.strain, works.strain), state.asperity, history=state.history),
            kinematics,
            WorkPaths(du, path=du, impulse=mean_path, stored=du, slip=mean_path).with_potential(
                assembly.laws.rows_of_memory
            ),
            assembly.laws.gap_rows,
            (state.n + 1, step, 0.0),
            acting=(
                NormalImpulseSplit(
                    steps.impulse, 0.5 * (stored - by_path + step * works.stored), dissipated, multiplier
                ),
                None,
            ),
        )
        batch.work["scheme"] = batch.work["scheme"] + rotation_work
        return replace(batch, reactions=works.reactions)

    def _loads_and_imposed(self, state: State, count: int) -> tuple[Array, Array]:
        """Loads (count + 1, d), N, at the ends of `count` steps, or (1, d) if steady, and the values (count + 2, p) of
        imposed motions."""
        assembly, dofs = self._assembly, self._assembly.imposed_dofs
        imposed = np.zeros((count + 2, dofs.size))
        if dofs.size:
            imposed = np.array([assembly.imposed((state.n + i) * self.step) for i in range(count + 2)])
        if self._steady is not None:
            return np.array(state.scheme_state.external[None]), imposed
        return assembly.loads(self.step * np.arange(state.n, state.n + count + 1, dtype=float)), imposed

    def _loop_state(self, state: State) -> CentralLoopState:
        """Copy of the state, as the loop reads and overwrites it."""
        start, laws = state.scheme_state, self._assembly.laws
        damping = start.damping if self._assembly.damping is not None else np.zeros(0)
        fields = (
            state.u, start.half, state.v, start.a, start.lift, damping, state.internal, start.constraint,
            start.pushed, state.history, state.impulse, worn_at_start(self._assembly, state),
            np.zeros(laws.row_count), np.zeros(laws.count, dtype=np.int8), np.zeros(0),
        )  # fmt: skip
        return CentralLoopState(*(np.array(field) for field in fields))

    def _works(self, count: int) -> CentralWorks:
        """Arrays of zeros for the works of `count` steps."""
        points, imposed_count = self._assembly.laws.count, self._assembly.imposed_dofs.size
        return zeros_of(CentralWorks, count, 6, (), points, imposed_count, types={})

    @cached_property
    def _system(self) -> tuple[Any, Any]:
        """The arrays of the system and the kernels of its laws; built on first use, since kernels are loaded."""
        return system_arguments(self._assembly)

    @cached_property
    def _solids(self) -> Any:
        """Arrays of the parts without strains in short form."""
        return as_arrays(self._assembly.solids)

    @cached_property
    def _operators(self) -> CentralOperators:
        """The operators, the same in all steps."""
        assembly, contact = self._assembly, self._assembly.contact
        inertial = assembly.free & (self._mass > 0.0)
        inverse_mass = np.divide(1.0, self._mass, out=np.zeros_like(self._mass), where=inertial)
        rows = sp.csr_array(sp.vstack([assembly.constraints, contact.basis], format="csr"))
        schur = (rows @ sp.csr_array(rows.T * inverse_mass[:, None])).toarray()
        eliminated = FullElimination(schur, assembly.constraints.shape[0])
        delassus = np.ascontiguousarray(eliminated.compliance)
        return CentralOperators(self.step, inverse_mass, delassus, *eliminated.arrays(), *contact.method.numbers)
