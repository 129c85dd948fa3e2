"""Steps of linear systems of any size in one compiled loop on the sparse factor of their matrix."""

from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.energy import BulkWork, WorkPaths, viscous_losses
from arlequin.linalg.products import applied
from arlequin.models.types import Array
from arlequin.multilevel.solvers.elastic_stick import gain
from arlequin.multilevel.solvers.solver_lists import called_with
from arlequin.schemes.compiled_loop import CompiledStepper, LoopRun, solved_steps, steps_in_block, worn_kinematics
from arlequin.schemes.compiled_system import as_arrays, first_of, passes_by_rows, zeros_of
from arlequin.schemes.linear_audit import StepEnergies, audited, constraint_power
from arlequin.schemes.loop_data import FactoredOperators, LoopSteps, StepRow, StepWorks
from arlequin.schemes.loop_pairing import MovingPairing, SurfacePairing
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.linear_step import LinearStep
from arlequin.solvers.passes import CondensedPasses, FactoredMass
from arlequin.solvers.solver_choice import SolverName
from arlequin.step.batch import StepBatch
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.scheme import evaluate_fewer_on_error
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.solid_tables import cells_of

_VALUES_PER_BLOCK = 1 << 18  # of a field of a block, at most
_MAX_ROWS = 600  # of contact, solved for simultaneously: as fast as active rows alone
_MAX_NODAL_ROWS = 1000  # of the basis of surfaces with changing partners: their compliance matrix is full


def suits_loop(assembly: Assembly) -> bool:
    """Whether the loop for systems of any size applies: linear cells and parts whose strains have a short form, in one
    process; few contact rows, solved for simultaneously, on fixed normals or between surfaces with changing partners
    (`are_paired`)."""
    return (
        assembly.linear
        and (assembly.contact.fixed or are_paired(assembly))
        and assembly.laws.row_count <= _MAX_ROWS
        and assembly.laws.friction_compiled
        and not assembly.laws.restitution.any()
        and all(
            strain_form is not None or cells_of(part) is not None
            for strain_form, part in zip(assembly.strain_forms, assembly.parts, strict=True)
        )
    )


def are_paired(assembly: Assembly) -> bool:
    """Whether the loop may update the pairing in each step: deformable parts with mass on all nodes, few nodes on the
    surfaces, friction without springs and with coefficients that do not depend on the state."""
    contact, laws = assembly.contact, assembly.laws
    return (
        not any(side.rotating is not None for pair in contact.sides for side in pair)
        and contact.basis.shape[0] <= _MAX_NODAL_ROWS
        and not laws.state_dependent
        and not laws.has_elastic_stick
        and not assembly.massless.any()
        and bool((assembly.mass.diagonal()[assembly.free] > 0.0).all())
    )


def factored_stepper(assembly: Assembly, coefficients: StepCoefficients, solver: SolverName) -> OneStepStepper:
    """The stepper of a linear system for which `suits_loop` holds: the loop where the solver is a bordered factor,
    else single steps."""
    bulk = LinearStep(assembly, coefficients, solver)
    passes = bulk.condensed.passes() if isinstance(bulk.condensed, Condensed) else None
    if passes is None:
        return OneStepStepper(assembly, coefficients, bulk)
    return FactoredStepper(assembly, coefficients, bulk, passes)


class GivenForces(NamedTuple):
    """External forces in the b-equation (b, d), N·s, their means (b, d), N, or one of each if steady, and the values
    (b, p) of imposed motions at the ends of steps."""

    push: Array
    external: Array
    imposed: Array


class FactoredStepper(CompiledStepper):
    """Steps by a bordered sparse factor, in blocks; the loop sums their works."""

    def __init__(
        self, assembly: Assembly, coefficients: StepCoefficients, bulk: LinearStep, passes: CondensedPasses
    ) -> None:
        """bulk: solver of the steps; passes: over its factor."""
        self._passes = passes
        super().__init__(assembly, coefficients, bulk)

    def _moving_pairing(self) -> MovingPairing:
        return SurfacePairing(self._assembly, self._reference, FactoredMass.of(self._assembly))

    def _operators_of_step(self) -> FactoredOperators:
        assembly, laws, row, passes = self._assembly, self._assembly.laws, self._coefficients, self._passes
        rows = assembly.contact.basis.shape[0]
        delassus = self.linear_system.compliance.chosen(np.arange(rows)) if rows else np.zeros((0, 0))
        return FactoredOperators(
            StepRow.of(row), passes_by_rows(passes), np.ascontiguousarray(row.inertia * delassus),
            self._spring_compliance(), gain(laws, row.theta, self.step), *assembly.contact.method.numbers,
        )  # fmt: skip

    def _run_loop(self, state: State, count: int) -> LoopRun:
        from arlequin.schemes._factored_loop_kernels import factored_steps

        self._pairing.needs_rerun()  # an error of the pairing in the block before is raised here, after its record
        assembly = self._assembly
        count = min(count, steps_in_block(assembly, _VALUES_PER_BLOCK))
        count, (loads, averages), given = self._given_in_block(state, count)
        now, steps = self._loop_state(state), LoopSteps.allocate(assembly, count)
        configurations = self._pairing.allocate(count)
        works = zeros_of(StepWorks, count, 5, (), assembly.imposed_dofs.size, types={})
        taken = int(
            called_with(
                self._solver,
                factored_steps,
                (count, *self._system),
                (
                    self._operators, self._solids, tuple(given), tuple(now), tuple(steps), tuple(works),
                    self._pairing.arguments(configurations), self._sliding(now, state),
                ),
            )
        )  # fmt: skip
        if not taken and self._pairing.needs_rerun():
            return self._run_loop(state, count)
        return LoopRun(now, loads, averages, given.external, steps, configurations, taken, works)

    def _given_in_block(self, state: State, count: int) -> tuple[int, tuple[Array, Array], "GivenForces"]:
        """Up to `count` steps for which loads and imposed motions can be evaluated: their number, the loads and their
        averages (count + 1, d), N, at the ends of the steps, and what the loop takes from them."""
        assembly, row, (before, after) = self._assembly, self._coefficients, self._coefficients.loads
        if self._is_steady(state):
            count, imposed = evaluate_fewer_on_error(partial(self._imposed_of, state), count)
            load_count, load = 1, state.scheme_state.load
            loads = averages = np.broadcast_to(load, (count + 1, load.size))
        else:
            count, (loads, imposed) = evaluate_fewer_on_error(partial(self._loads_of, state), count)
            averages = row.averaged(loads, state.scheme_state.external if row.carries else loads[0])
            load_count = count
        external = row.mean(averages[: load_count + 1])
        push = before * loads[:load_count] + after * loads[1 : load_count + 1]
        if row.on_force:
            push += row.on_force * np.where(assembly.free & ~assembly.massless, averages[:load_count], 0.0)
        return count, (loads, averages), GivenForces(push, external, imposed)

    def _is_steady(self, state: State) -> bool:
        """Whether the loads and their averages are constant from a state on."""
        load = state.scheme_state.load
        return self._constant_load and (
            not self._coefficients.carries or np.array_equal(state.scheme_state.external, load)
        )

    @cached_property
    def _solids(self) -> Any:
        """Arrays of the parts without strains in short form."""
        return as_arrays(self._assembly.solids)

    def _audited(
        self, state: State, run: LoopRun, steps: LoopSteps, tractions: Array, still: NDArray[np.bool_]
    ) -> StepBatch:
        assembly, step, configurations = self._assembly, self.step, run.configurations
        if configurations is not None:
            configurations = first_of(configurations, run.taken)
        kinematics = worn_kinematics(self._pairing.kinematics(configurations), steps)
        assert run.works is not None
        works = first_of(run.works, run.taken)
        solved = solved_steps(assembly, kinematics, steps, tractions)
        v, basis = np.concatenate([state.v[None], steps.v]), assembly.contact.basis
        rates = applied(basis, v)
        ends, persistent, layer_gap = rates[1:], assembly.laws.gap_rows, None
        if configurations is not None:
            ends, persistent = applied(basis, configurations.unprojected), configurations.persistent
            layer_gap = configurations.layer_gap if assembly.laws.has_regular else None
            solved = solved._replace(impulse=steps.impulse - configurations.impulse)
        paths = WorkPaths.mean(
            kinematics.apply_local(step * applied(basis, steps.flow)),
            kinematics.apply_local(0.5 * step * (rates[:-1] + ends)),
        )
        losses, pulled = viscous_losses(assembly, step, steps.flow), constraint_power(assembly, steps.multipliers, v)
        kinetic, external, external_path, internal, damping = works.sums.T
        batch = audited(
            assembly,
            solved,
            BulkWork(external, external_path, internal, damping, losses, pulled),
            StepEnergies(
                kinetic, np.append(state.strain, works.strain), state.asperity, layer_gap, history=state.history
            ),
            kinematics,
            paths,
            persistent,
            (state.n + 1, step, self._coefficients.theta),
            self._pairing.end_impulses(configurations, steps.status, step),
            still,
        )
        return replace(batch, reactions=works.reactions)
