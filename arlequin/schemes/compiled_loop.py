"""Small linear systems by the θ-scheme or the generalised-α family in one compiled loop, and ensembles of them with one
loop per member.

Contact has fixed normals or, with the θ-scheme, is at corners of plane rigid bodies that rotate on flat obstacles.
"""

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.energy import WorkPaths
from arlequin.linalg.products import applied
from arlequin.models.linalg.small_factor import SmallFactor
from arlequin.models.linalg.threads import map_pieces
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.multilevel.solvers.closing import persistence
from arlequin.multilevel.solvers.contact import STICK
from arlequin.multilevel.solvers.elastic_stick import gain, tangential_compliance
from arlequin.multilevel.solvers.solver_lists import called_with, newton_solver, robust_solver
from arlequin.schemes.compiled_system import (
    SparseRows,
    as_arrays,
    first_of,
    sliding_arguments,
    system_arguments,
)  # fmt: skip
from arlequin.schemes.linear_audit import BulkEnds, EndImpulses, SolvedSteps, StepEnergies, audited, bulk_of
from arlequin.schemes.loop_data import (
    ConfigurationSteps,
    FactoredOperators,
    LoopState,
    LoopSteps,
    StepOperators,
    StepRow,
    StepWorks,
)
from arlequin.schemes.loop_pairing import FixedPairing, ImpulseResponse, MovingPairing, RotatingPairing
from arlequin.schemes.one_step_state import OneStepState
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.linear_step import LinearStep
from arlequin.step.acceptance import warn_of_branches
from arlequin.step.batch import StepBatch
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.scheme import Stepper, evaluate_fewer_on_error
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.ensemble import Members, named

LARGEST = 500  # dofs up to which a step is worth a compiled loop
MAX_FULL = 200  # of loops with full matrices; also of contact rows, which are solved for simultaneously
_REST_TOLERANCE = 1e-11  # relative to the largest velocity
_ENTRIES_PER_ROW = 12  # of contact between surfaces with changing partners, about
_VALUES_PER_FIELD = 1 << 15  # of a block, at most: they stay in the cache until they are audited


def solved_steps(
    assembly: Assembly, kinematics: ContactKinematics, steps: LoopSteps, spring_traction: Array
) -> SolvedSteps:
    """Input of the audit from the steps of a loop; spring_traction (b + 1, r): see `audited_loop`."""
    return SolvedSteps(
        u=steps.u,
        v=steps.v,
        gaps=kinematics.gaps(applied(kinematics.basis, steps.u)),
        multipliers=steps.multipliers,
        impulse=steps.impulse,
        normal=steps.normal,
        status=steps.status,
        iterations=steps.iterations,
        residual=steps.residual,
        newton=np.ones_like(steps.iterations),
        springs=(spring_traction[:-1], spring_traction[1:]) if assembly.laws.has_elastic_stick else None,
    )


def steps_in_block(assembly: Assembly, values: int) -> int:
    """Number of steps of a block, at least 1, for which no field has more than `values` values."""
    laws = assembly.laws
    entries = 0 if assembly.contact.fixed else _ENTRIES_PER_ROW * laws.row_count
    return max(values // max(assembly.dof_count, 3 * laws.count, laws.row_count, entries), 1)


def worn_kinematics(kinematics: ContactKinematics, steps: LoopSteps) -> ContactKinematics:
    """The kinematics of steps with the wear of each step."""
    depth, opening = np.moveaxis(steps.worn, 1, 0)
    return replace(kinematics, gap=kinematics.gap + depth, opening=opening) if depth.size else kinematics


def worn_at_start(assembly: Assembly, state: State) -> Array:
    """Wear depth and its increment that opens the gaps in the next step (2, k), m; (2, 0) without wear."""
    if assembly.contact.wear_rate is None:
        return np.zeros((2, 0))
    if state.worn is None:
        return np.zeros((2, assembly.laws.count))
    return np.stack([state.worn.depth, state.worn.opening])


def with_wear(
    assembly: Assembly, end: State, batch: StepBatch, steps: LoopSteps, worn: Array
) -> tuple[State, StepBatch]:
    """The end state and the batch with wear; worn (2, k), m: depth and increment at the end. The friction work per μ is
    the one by which the points wore, which differs from that of the audit by round-off."""
    rate = assembly.contact.wear_rate
    if rate is None:
        return end, batch
    depth, increment = np.moveaxis(np.concatenate([steps.worn[1:], worn[None]]), 1, 0)
    work = np.divide(increment, rate, out=batch.contact.friction_work_per_mu.copy(), where=rate > 0.0)
    contact = replace(batch.contact, friction_work_per_mu=work)
    return replace(end, worn=WearState(*worn)), replace(batch, worn=depth, contact=contact)


def audited_loop(
    assembly: Assembly,
    kinematics: ContactKinematics,
    before: State,
    coefficients: StepCoefficients,
    external: Array,
    steps: LoopSteps,
    spring_traction: Array,
    still: NDArray[np.bool_],
    configurations: ConfigurationSteps | None = None,
    end: EndImpulses | None = None,
) -> StepBatch:
    """The batch of the steps (b,) of a compiled loop after the state `before`.

    kinematics: of all steps, or one per step; external (b, d): mean forces, N; spring_traction (b + 1, r): of elastic
    stick, with that at the start, Pa; still (b, k): points that stick, whose slip is round-off; configurations, end:
    of the steps, and the impulses of their velocity projections, None on fixed normals.
    """
    laws, strains = assembly.laws, assembly.strains
    assert strains is not None
    u, v = np.concatenate([before.u[None], steps.u]), np.concatenate([before.v[None], steps.v])
    row, step, flow, strain_values = coefficients, coefficients.step, steps.flow, strains.at(u)
    impulse, multipliers = steps.impulse, steps.multipliers
    internal, strain, momentum = strains.forces(strain_values), strains.energy(strain_values), applied(assembly.mass, v)
    ends, persistent, layer_gap = v[1:], laws.gap_rows, None
    projected: Any = 0.0
    if configurations is not None:
        ends, persistent, layer_gap = configurations.unprojected, configurations.persistent, configurations.layer_gap
        projected = applied(assembly.mass, v[1:] - ends)
        impulse = impulse - configurations.impulse
    paths = WorkPaths.mean(step * flow, 0.5 * step * (v[:-1] + ends))
    damping = np.zeros_like(v)
    if assembly.viscous is not None and row.carries:
        damping = applied(assembly.viscous, v)
    start = (before.scheme_state.internal, before.scheme_state.damping) if row.carries else (internal[0], damping[0])
    bulk, imposed_forces, _ = bulk_of(
        assembly, row, BulkEnds(momentum, internal, damping), start, external, paths,
        (multipliers, kinematics.apply_local_transposed(impulse)), projected,
    )  # fmt: skip
    dofs = assembly.imposed_dofs
    solved = solved_steps(assembly, kinematics, steps, spring_traction)._replace(impulse=impulse)
    energies = StepEnergies(
        0.5 * np.vecdot(v[1:], momentum[1:]), strain, before.asperity, layer_gap, history=before.history
    )
    rows = paths.on(kinematics)
    scheme = before.n + 1, step, row.theta
    batch = audited(assembly, solved, bulk, energies, kinematics, rows, persistent, scheme, end, still)
    if not dofs.size:
        return batch
    reactions = step * imposed_forces[:, dofs]
    if configurations is not None:
        reactions = reactions + (projected - applied(kinematics.basis.T, configurations.on_basis))[:, dofs]
    return replace(batch, reactions=reactions)


def is_small(assembly: Assembly) -> bool:
    """Whether the small loop applies: few dofs, strains in short form, contact with fixed pairings."""
    return (
        assembly.dof_count <= LARGEST
        and assembly.contact.fixed
        and assembly.laws.row_count <= MAX_FULL
        and assembly.strains is not None
        and assembly.laws.friction_compiled
        and not assembly.laws.restitution.any()
    )


def is_rotating(assembly: Assembly) -> bool:
    """Whether the small loop applies with changing kinematics: few dofs, strains in short form, and rotating bodies on
    flat obstacles alone."""
    contact = assembly.contact
    sides = zip(contact.steady, contact.pairings, contact.sides, strict=True)
    return (
        not contact.fixed
        and assembly.linear
        and assembly.dof_count <= LARGEST
        and max(contact.basis.shape[0], contact.laws.row_count) <= MAX_FULL
        and not (assembly.constraints.shape[0] and assembly.imposed_dofs.size)
        and all(steady or (pairing.fixed and master.surface is None) for steady, pairing, (_, master) in sides)
        and assembly.strains is not None
        and not assembly.laws.state_dependent
        and not assembly.laws.restitution.any()
    )


@dataclass(frozen=True)
class CompiledState(OneStepState):
    """State of the scheme between blocks, with the points (k,) that stick in the last step and the tractions of
    friction's springs (r,), Pa, along the tangents: the history has their vectors, whose projection adds round-off."""

    still: NDArray[np.bool_]
    spring_traction: Array


class CompiledStepper(OneStepStepper):
    """The steps of `OneStepStepper` in one compiled loop; a failing step is repeated by that stepper, which raises the
    error. Subclasses define the operators of a step, the call of the loop and the audit."""

    def __init__(self, assembly: Assembly, coefficients: StepCoefficients, bulk: LinearStep | None = None) -> None:
        super().__init__(assembly, coefficients, bulk)
        self._pairing = FixedPairing(assembly, self._reference) if assembly.contact.fixed else self._moving_pairing()
        self._prepared = self._operators_of_step()
        self._operators = as_arrays(self._prepared)
        self._solver = newton_solver

    @abstractmethod
    def _operators_of_step(self) -> StepOperators | FactoredOperators:
        """The operators of a step, as the loop reads them."""

    @abstractmethod
    def _moving_pairing(self) -> MovingPairing:
        """The pairing of contact whose rows depend on the configuration."""

    @abstractmethod
    def _run_loop(self, state: State, count: int) -> "LoopRun":
        """Runs up to `count` steps in the loop."""

    @abstractmethod
    def _audited(
        self, state: State, run: "LoopRun", steps: LoopSteps, tractions: Array, still: NDArray[np.bool_]
    ) -> StepBatch:
        """The batch of the accepted steps; tractions, still: see `audited_loop`."""

    def _spring_compliance(self) -> Array:
        """Compliance of friction's springs (r,), 0 on other rows, m/(s Pa)."""
        laws = self._assembly.laws
        compliance = np.zeros(laws.row_count)
        compliance[laws.elastic_stick_rows] = self._tangential_compliance()[laws.elastic_stick_points]
        return compliance

    def _tangential_compliance(self) -> Array:
        """Tangential compliance (k,) in the contact problem of a step, m/(s Pa)."""
        laws, row = self._assembly.laws, self._coefficients
        return tangential_compliance(laws, gain(laws, row.theta, row.step), row.gap_per_velocity)

    @cached_property
    def _response(self) -> Array:
        """Diagonal of the Delassus operator (r,), m/s/(N s)."""
        return np.asarray(self._prepared.delassus.diagonal())

    @cached_property
    def _system(self) -> tuple[Any, Any]:
        """The arrays of the system and the kernels of its laws; built on first use, since kernels are loaded."""
        return system_arguments(self._assembly, self._tangential_compliance())

    def driven_as(self, assembly: Assembly) -> Self:
        """The stepper for an assembly with other initial values, loads and imposed motions, all else equal."""
        assert self._system
        other = copy(self)
        if assembly.laws.state_dependent:
            del other._system  # not shared, since the loop changes its coefficients of friction
        other._assembly, other._members, other._constant_load = assembly, Members.alone(assembly), False
        return other

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """Up to `count` steps; `OneStepStepper` repeats a failing step in order to raise its error, and takes steps
        with forces from parts with another time step."""
        row, laws = self._coefficients, self._assembly.laws
        if push is not None:
            return super().advance(state, 1, push)
        run = self._run_loop(state, count)
        now, steps, taken = run.now, run.steps, run.taken
        if not taken and steps.iterations[0] < 0 and self._solver is newton_solver:
            self._solver = robust_solver
            return self.advance(state, len(run.loads) - 1)
        if not taken:
            end, batch = super().advance(state)
            still, traction = self._sticking_at_start(end), self._spring_traction(end)
            return replace(
                end, scheme_state=CompiledState(**end.scheme_state.sums(), still=still, spring_traction=traction)
            ), batch
        steps = first_of(steps, taken)
        # of the last accepted step, also where the next one failed
        traction = steps.spring_traction[-1].copy()
        laws.store_spring_traction(now.history, traction, self._reference.tangents)
        sticks = self._pairing.sticking(steps.status)
        still = sticks & np.concatenate([self._sticking_at_start(state)[None], sticks[:-1]])
        if still.any():
            before = (
                np.concatenate([a[None], b[:-1]]) for a, b in ((state.v, steps.v), (state.impulse, steps.impulse))
            )
            still &= self._at_rest(*before)
        tractions = np.concatenate([self._spring_traction(state)[None], steps.spring_traction])
        batch = self._audited(state, run, steps, tractions, still)
        if laws.state_dependent:
            warn_of_branches(laws, steps.normal.sum(axis=1), self._response, row.weight)
            batch = replace(batch, friction_state=steps.friction_state)
        scheme_state = CompiledState(
            momentum=now.momentum, load=run.loads[taken], constraint_sum=now.constraint_sum, lead=now.lead,
            internal=now.internal_average, damping=now.damping_average,
            external=run.averages[taken] if row.carries else state.scheme_state.external, pulled=now.pulled,
            still=sticks[-1], spring_traction=traction,
        )  # fmt: skip
        contact_flags = persistence(steps.normal[-1].sum(axis=0), steps.normal[-1, 2], steps.status[-1], STICK)
        end = batch.end_state(
            history=now.history,
            internal=now.internal,
            impulse=steps.impulse[-1],
            scheme_state=scheme_state,
            contact_flags=contact_flags,
        )
        return with_wear(self._assembly, end, batch, steps, now.worn)

    def _at_rest(self, v: Array, impulse: Array) -> NDArray[np.bool_]:
        """Points (b, k) whose tangential velocity is round-off of the velocities v (b, d) and of the changes by the
        impulses (b, r): a point that sticks at a reversal has zero mean velocity, but moves at the end of the step
        (`arlequin.multilevel.solvers.closing`)."""
        kinematics, contact = self._reference, self._assembly.contact
        rates = np.abs(kinematics.apply_local(applied(contact.basis, v)))
        rates[:, kinematics.first] = 0.0
        largest = np.abs(v).max(axis=1, initial=0.0) + (np.abs(impulse) * self._response).max(axis=1, initial=0.0)
        return np.asarray(np.maximum.reduceat(rates, kinematics.first, axis=1) <= _REST_TOLERANCE * largest[:, None])

    def bare_steps(self, state: State, count: int) -> LoopSteps:
        """`count` steps of the loop on fixed normals, without audit; fewer where one fails."""
        batches: list[LoopSteps] = []
        while count > 0:
            run = self._run_loop(state, count)
            if not run.taken and self._solver is newton_solver:
                self._solver = robust_solver
                continue
            if not run.taken:
                break
            batches.append(first_of(run.steps, run.taken))
            count -= run.taken
            if count:
                state, _ = self.advance(state, run.taken)
        if not batches:
            return first_of(run.steps, 0)
        return LoopSteps(*(np.concatenate(fields) for fields in zip(*batches, strict=True)))

    def _loads_of(self, state: State, count: int) -> tuple[Array, Array]:
        """Loads (count + 1, d), N, at the ends of `count` steps, and the values of imposed motions there."""
        numbers = np.arange(state.n, state.n + count + 1, dtype=float)
        return self._assembly.loads(self.step * numbers), self._imposed_of(state, count)

    def _imposed_of(self, state: State, count: int) -> Array:
        """Values (count, p) of imposed motions at the ends of the steps."""
        assembly = self._assembly
        if not assembly.imposed_dofs.size:
            return np.zeros((count, 0))
        return np.array([assembly.imposed((state.n + 1 + i) * self.step) for i in range(count)])

    def _loop_state(self, state: State) -> LoopState:
        """Copy of the state, as the loop reads and overwrites it."""
        sums = state.scheme_state
        contact_flags = (
            np.zeros(self._assembly.laws.count, dtype=np.int8) if state.contact_flags is None else state.contact_flags
        )
        fields = (
            state.u, state.v, sums.momentum, sums.constraint_sum, state.internal, state.history, state.impulse,
            self._spring_traction(state), contact_flags, worn_at_start(self._assembly, state), sums.lead, sums.internal,
            sums.damping, sums.pulled, np.zeros(0),
        )  # fmt: skip
        return LoopState(*(np.array(field) for field in fields))

    def _sliding(self, now: LoopState, state: State) -> Any:
        """State-dependent friction laws, see `sliding_arguments`."""
        return sliding_arguments(self._assembly.laws, now.history, state.contact_flags)

    def _spring_traction(self, state: State) -> Array:
        """Tractions of friction's springs (r,) in a state, Pa."""
        if isinstance(state.scheme_state, CompiledState):
            return state.scheme_state.spring_traction
        return self._assembly.laws.spring_traction(state.history, self._reference.tangents)

    def _sticking_at_start(self, state: State) -> NDArray[np.bool_]:
        """Mask (k,) of the points that stick at the start of a block."""
        laws, kinematics = self._assembly.laws, self._reference
        if isinstance(state.scheme_state, CompiledState):
            return state.scheme_state.still
        if not kinematics.frictional:
            return np.zeros(laws.count, dtype=bool)
        tangential = np.add.reduceat(_tangential(kinematics, state.impulse) ** 2, kinematics.first)
        sticks = tangential < (laws.friction * state.impulse[kinematics.first]) ** 2
        rests = np.add.reduceat(_tangential(kinematics, kinematics.rates(state.v)) ** 2, kinematics.first) == 0.0
        return sticks | rests


class LoopRun(NamedTuple):
    """A run of a loop: its end state `now`, loads and their averages (b + 1, d) at the ends of the steps and means
    (b, d), N, steps and configurations, number of accepted steps, and their works where the loop sums them."""

    now: LoopState
    loads: Array
    averages: Array
    external: Array
    steps: LoopSteps
    configurations: ConfigurationSteps | None
    taken: int
    works: StepWorks | None = None


class SmallStepper(CompiledStepper):
    """Steps of small systems, with dense responses to constraints and contact."""

    def _moving_pairing(self) -> MovingPairing:
        return RotatingPairing(self._assembly, self._reference)

    def _operators_of_step(self) -> StepOperators:
        assembly, laws, bulk, row = self._assembly, self._assembly.laws, self._bulk, self._coefficients
        assert isinstance(bulk, LinearStep) and isinstance(bulk.condensed, Condensed)
        free = np.flatnonzero(assembly.free)
        rows = sp.csr_array(row.matrix(assembly)[free])
        return StepOperators(
            StepRow.of(row),
            SmallFactor.of(sp.csr_array(rows[:, free])),
            SparseRows.of(rows[:, assembly.imposed_dofs]),
            *ImpulseResponse.of(bulk.condensed, assembly, row.inertia),
            self._spring_compliance(),
            gain(laws, row.theta, self.step),
            *assembly.contact.method.numbers,
        )

    def _run_loop(self, state: State, count: int) -> LoopRun:
        from arlequin.schemes._loop_kernels import linear_steps

        assembly, row = self._assembly, self._coefficients
        count, (loads, imposed) = evaluate_fewer_on_error(
            partial(self._loads_of, state), min(count, max(_VALUES_PER_FIELD // state.u.size, 1))
        )
        averages = row.averaged(loads, state.scheme_state.external if row.carries else loads[0])
        external, (before, after) = row.mean(averages), row.loads
        push = before * loads[:-1] + after * loads[1:]
        if row.on_force:
            push += row.on_force * np.where(assembly.free & ~assembly.massless, averages[:-1], 0.0)
        now, steps = self._loop_state(state), LoopSteps.allocate(assembly, count)
        configurations = self._pairing.allocate(count)
        taken = int(
            called_with(
                self._solver,
                linear_steps,
                (count, *self._system),
                (
                    self._operators, (push, external, imposed), tuple(now), tuple(steps),
                    self._pairing.arguments(configurations), self._sliding(now, state),
                ),
            )
        )  # fmt: skip
        return LoopRun(now, loads, averages, external, steps, configurations, taken)

    def _audited(
        self, state: State, run: LoopRun, steps: LoopSteps, tractions: Array, still: NDArray[np.bool_]
    ) -> StepBatch:
        taken, configurations = run.taken, run.configurations
        if configurations is not None:
            configurations = first_of(configurations, taken)
        kinematics = worn_kinematics(self._pairing.kinematics(configurations), steps)
        end = self._pairing.end_impulses(configurations, steps.status, self.step)
        return audited_loop(
            self._assembly, kinematics, state, self._coefficients, run.external[:taken], steps, tractions, still,
            configurations, end,
        )  # fmt: skip


def _tangential(kinematics: ContactKinematics, values: Array) -> Array:
    """The values (r,) of the tangential rows; 0 on the normal ones."""
    out = values.copy()
    out[kinematics.first] = 0.0
    return out


# of a field of a block of all members: above the first, blocks have the least length; the second is the limit
_VALUES_PER_BLOCK, _MAX_VALUES = 1 << 22, 1 << 24


def are_small(members: Members) -> bool:
    """Whether `SmallMembers` applies: members of small systems without wear, whose shortest blocks fit into memory."""
    size = members.count * members.assembly.dof_count
    wears = members.assembly.contact.wear_rate is not None
    return is_small(members.assembly) and not wears and size * SmallMembers.least_batch <= _MAX_VALUES


class SmallMembers(Stepper):
    """The steps of `SmallStepper` for each member, bitwise equal to separate runs; members run in parallel threads.

    A small factor stays in the first-level cache, so that nothing is gained by solving for many right-hand sides at
    once. All members share one set of operators.
    """

    least_batch = 64  # steps whose cost is about the overhead of a block

    def __init__(self, members: Members, coefficients: StepCoefficients) -> None:
        self.step = coefficients.step
        self._members = members
        self._stepper = SmallStepper(members.assembly, coefficients)
        self.conserves = self._stepper.conserves
        self._steppers = [self._stepper.driven_as(member) for member in members.each]

    def state_dict(self) -> Any:
        """The columns computed so far."""
        return self._stepper.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self._stepper.load_state_dict(state)

    def start(self, u: Array, v: Array) -> State:
        """The members at t = 0, from u, v (n, d)."""
        return State.of_members(
            [named(i, partial(stepper.start, u[i], v[i])) for i, stepper in enumerate(self._steppers)]
        )

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` steps, equally many of each member; they end before a step that fails in some member, whose
        error the next call raises."""
        count = min(count, max(_VALUES_PER_BLOCK // state.u.size, self.least_batch))

        def take(i: int, limit: int) -> tuple[State, StepBatch]:
            return named(i, lambda: self._steppers[i].advance(state.member(i), limit))

        member_steps = map_pieces(lambda i: take(i, count), range(self._members.count))
        shortest = min(len(batch) for _, batch in member_steps)
        member_steps = [
            advanced if len(advanced[1]) == shortest else take(i, shortest) for i, advanced in enumerate(member_steps)
        ]
        states, batches = zip(*member_steps, strict=True)
        return State.of_members(states), StepBatch.of_members(batches)
