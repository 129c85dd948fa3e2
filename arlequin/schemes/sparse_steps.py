"""Steps of one-step schemes on sparse matrices, for one system or for the members of an ensemble."""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.energy import BulkWork, WorkPaths, viscous_losses
from arlequin.linalg.products import RowProduct, applied
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.linalg.threads import map_pieces
from arlequin.models.part import is_viscous
from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import BatchedSolution, solve_members
from arlequin.multilevel.solvers.problem import FreeMotion
from arlequin.schemes.linear_audit import EndImpulses, SolvedSteps, StepEnergies, audited, constraint_power
from arlequin.schemes.one_step_state import OneStepState, start_members, start_state
from arlequin.solvers.condensed import ConstrainedSystem
from arlequin.solvers.contact_step import ContactMotion, VelocityCorrection
from arlequin.solvers.linear_step import LinearStep, StepRhs, StepSolution, StepStart
from arlequin.solvers.newton_alpha import NewtonAlpha
from arlequin.solvers.newton_step import NewtonStep
from arlequin.solvers.solver_choice import FactoredSystem, SolverName
from arlequin.solvers.velocity_projection import VelocityProjection
from arlequin.step.acceptance import RESIDUAL_LIMIT, accept, accept_cells, accept_shape
from arlequin.step.batch import StepBatch, merge_time_steps
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.impulses import ContactImpulses
from arlequin.step.scheme import Stepper, evaluate_fewer_on_error
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.ensemble import Members, named
from arlequin.system.internal_forces import Memory

_VALUES_PER_BATCH = 1 << 17  # of a field, at most: they stay in the cache until they are recorded
_MEMBERS_PER_TASK, _MEMBERS_PER_SOLVE = 16, 32  # in a thread's task; in a pass over the factor


@dataclass(frozen=True)
class _Solution:
    """Solution of a step of n members: y (n, d), m/s; impulses, N·s, of the constraints (n, m), of contact, and of
    contact on the rows of the contact basis (n, q). half, imposed_y: forward passes and y on the imposed dofs of
    members before their backward pass. springs: tractions of elastic stick (n, r) at both ends, Pa; single: that of
    a single system."""

    y: Array
    multipliers: Array
    contact: BatchedSolution
    on_basis: Array
    half: Array | None = None
    imposed_y: Array | None = None
    springs: tuple[Array, Array] | None = None
    single: StepSolution | None = None


@dataclass(frozen=True)
class _Trajectory:
    """b steps of n members: u, v (b + 1, n, d); on the contact's basis u (b + 1, n, q), u₁ − u₀ and the path
    Δt (v₀ + v₁)/2 (b, n, q); strain energy (b + 1, n), J; works of the bulk forces (b, n, 5), see
    `_sparse_step_kernels.settle`; viscous losses (b, n) by kind, J; the solutions of the steps; reactions
    (b, n, p), N·s: impulses of the imposed motions."""

    u: Array
    v: Array
    contact_displacement: Array
    du: Array
    path: Array
    strain: Array
    bulk_work: Array
    losses: dict[str, Array]
    solutions: list[_Solution]
    reactions: Array

    @classmethod
    def allocate(cls, assembly: Assembly, losses: Set[str], state: State, count: int) -> "_Trajectory":
        """Arrays for `count` steps from a state, with these kinds of viscous losses."""
        (n, d), q = state.u.shape, assembly.contact.basis.shape[0]
        new = cls(
            u=np.empty((count + 1, n, d)),
            v=np.empty((count + 1, n, d)),
            contact_displacement=np.empty((count + 1, n, q)),
            du=np.empty((count, n, q)),
            path=np.empty((count, n, q)),
            strain=np.empty((count + 1, n)),
            bulk_work=np.empty((count, n, 5)),
            losses={kind: np.zeros((count, n)) for kind in losses},
            solutions=[],
            reactions=np.zeros((count, n, assembly.imposed_dofs.size)),
        )
        new.u[0], new.v[0], new.strain[0] = state.u, state.v, state.strain
        new.contact_displacement[0] = assembly.contact.basis_product(state.u)
        return new

    def stacked(self, name: str) -> Any:
        """A field of the contact solutions of all steps (b, n, …)."""
        return np.stack([getattr(solution.contact, name) for solution in self.solutions])

    @property
    def springs(self) -> tuple[Array, Array] | None:
        """Tractions of elastic stick (b, n, r) at both ends of the steps, Pa."""
        ends = [solution.springs for solution in self.solutions if solution.springs is not None]
        return (np.stack([a for a, _ in ends]), np.stack([b for _, b in ends])) if ends else None


@dataclass(frozen=True)
class _End:
    """The end of a step of n members, filled member by member: u, v, internal forces, M v (n, d), state variables of
    the scheme, strain energy (n,), works of the bulk (n, 5), viscous losses (n,) by kind, reactions (n, p)."""

    u: Array
    v: Array
    internal: Array
    inertia: Array
    scheme_state: OneStepState
    strain: Array
    bulk_work: Array
    losses: dict[str, Array]
    reactions: Array


@dataclass(frozen=True)
class _BatchedRhs:
    """Right-hand side of a step of n members, see `arlequin.step.coefficients`.

    right, force, resisting (n, d): A y = right + h (force − resisting) + …; load, mean (n, d): external forces at the
    end and their mean, N; average (n, d): their average there, see `OneStepState`; constraint_rate (n, m): C y;
    imposed_y (n, p): y on the imposed dofs; shift (n, d): u₁ − u₀ − Δt y, m, None if 0; push (d,): constant force from
    parts with another time step, N; drag (n, d): D v₀, N, where it is averaged. Fields (1, d): of all members.
    """

    right: Array
    force: Array
    resisting: Array
    load: Array
    mean: Array
    average: Array
    constraint_rate: Array
    imposed_y: Array | None
    shift: Array | None
    push: Array | None
    drag: Array | None = None


class OneStepStepper(Stepper):
    """The steps of a scheme by its row of coefficients, see `arlequin.step.coefficients`, with the unknown
    y = (1 − λ) v₀ + λ v₁; of a linear bulk

        (μM + aK + bD) y = μ p₀ + c F₀ + h (f − f_int(u₀) − …) + λμ (Cᵀφ + BᵀP),   u₁ = u₀ + Δt y + Δt² l₀,
        p₁ = p₀ + Δt [(1 − γ) F₀ + γ F₁] + Cᵀφ + BᵀP

    with F = f − f_int − D y of the θ-scheme. Accelerations enter through their forces only: the error of each solve is
    compensated in the next step.

    A run is an ensemble with one member. Members of an ensemble have linear bulk and fixed pairings; they share each
    pass over the factor and are distributed over threads. The other members change a member's results in the last
    digits only. For linear systems with fixed pairings and without wear a batch holds many steps, audited together, so
    that fields pass through the cache, which the factor fills, as seldom as possible.
    """

    def __init__(
        self,
        target: Assembly | Members,
        coefficients: StepCoefficients,
        bulk: LinearStep | NewtonStep | NewtonAlpha | None = None,
        solver: SolverName = "auto",
    ) -> None:
        """target: a system, or the members of an ensemble; bulk: an existing solver of the steps; solver: method for
        the linear system of linear steps."""
        self.step = coefficients.step
        self.restarts = self._single = isinstance(target, Assembly)
        self._members = members = Members.alone(target) if isinstance(target, Assembly) else target
        self._assembly = assembly = members.assembly
        self._coefficients = coefficients
        self._bulk: LinearStep | NewtonStep | NewtonAlpha
        if bulk is not None:
            self._bulk = bulk
        elif assembly.linear:
            self._bulk = LinearStep(assembly, coefficients, solver if self._single else "direct")
        else:
            self._bulk = (NewtonAlpha if coefficients.carries else NewtonStep)(assembly, coefficients)
        if isinstance(self._bulk, LinearStep):
            self.linear_solver = self._bulk.solver
        self._moving = assembly.free & ~assembly.massless
        self._projection = VelocityProjection(assembly)
        self._steady = is_steady(assembly)
        # with layers, their laws, which may be the user's, and rotating normals contribute to `scheme`
        self.conserves = coefficients.conserves and assembly.linear and not assembly.laws.has_regular
        self._losses = set(viscous_losses(assembly, 1.0, np.zeros(assembly.dof_count)))
        if any(is_viscous(part) for part in assembly.parts):
            self._losses.add("damping")
        self._constant_load = all(
            all(part.steady for part in member.parts) and not callable(member.system.gravity) for member in members.each
        )
        pulls = sp.csr_array(sp.vstack([assembly.constraints, assembly.contact.basis], format="csr"))
        self._pulled = np.unique(pulls.indices)  # dofs on which constraints and contact act
        self._pull = sp.csr_array(pulls[:, self._pulled].T)
        self._member_slices, self._solve_slices = (
            [slice(i, min(i + size, members.count)) for i in range(0, members.count, size)]
            for size in (_MEMBERS_PER_TASK, _MEMBERS_PER_SOLVE)
        )

    def with_step(self, step: float) -> "OneStepStepper":
        """A stepper with another step, for nonlinear parts; both share a factor that is reused between steps."""
        assert isinstance(self._bulk, NewtonStep | NewtonAlpha)
        return OneStepStepper(self._assembly, self._coefficients.with_step(step), self._bulk.with_step(step))

    def state_dict(self) -> Any:
        """Factors and columns computed so far, on which the bits of the solution depend."""
        return self._bulk.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self._bulk.load_state_dict(state)

    def merge_substeps(self, batches: Sequence[StepBatch]) -> StepBatch:
        """Merge sub-steps into one step: sums of their impulses, works and paths."""
        return merge_time_steps(batches)

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt."""
        if self._single:
            return start_state(self._assembly, self._coefficients, (u, v), n, memory)
        return start_members(self._members, self._coefficients, u, v)

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """Up to `count` steps; `push` (d,), N: constant force from parts with another time step (work: `junction`)."""
        if not self._single:
            return self._advance(state, count, push)
        end, batch = self._advance(State.of_members([state]), count, push)
        return end.member(0), batch.of_member(0)

    @cached_property
    def _reference(self) -> ContactKinematics:
        """Contact kinematics of the undeformed configuration; with fixed pairings those of all steps."""
        return self._assembly.contact.kinematics(np.zeros(self._assembly.contact.basis.shape[0]))

    @property
    def linear_system(self) -> ConstrainedSystem:
        """The matrix of a step of linear parts, with its solver."""
        assert isinstance(self._bulk, LinearStep)
        return self._bulk.condensed

    @property
    def _shared(self) -> FactoredSystem:
        """The factor shared by the members of an ensemble."""
        assert isinstance(self.linear_system, FactoredSystem)
        return self.linear_system

    def paths(self, push: Callable[[int], Array], momentum: Array, count: int) -> Iterator[Array]:
        """Displacements (d, r) in each of `count` θ-steps under forces push(j) (d, r), constant in the step j, from
        momenta (d, r), linear bulk alone."""
        assembly, theta, step = self._assembly, self._coefficients.theta, self.step
        u = np.zeros_like(momentum)
        for j in range(count):
            y = self.linear_system.spread(momentum + theta * step * (push(j) - assembly.stiffness @ u))
            u += step * y
            momentum = momentum + (assembly.mass @ y - momentum) / theta
            yield step * y

    def drive(self, state: State) -> tuple[Array, Array]:
        """Force, N, and momentum, N·s, (d,) of the linear bulk at a state."""
        return state.scheme_state.load - state.internal, state.scheme_state.momentum

    def _advance(self, state: State, count: int, push: Array | None) -> tuple[State, StepBatch]:
        """Up to `count` steps of all members."""
        assembly, row, step, basis = self._assembly, self._coefficients, self.step, self._assembly.contact.basis_product
        count = (
            min(count, max(_VALUES_PER_BATCH // state.u.size, 1))
            if self._steady and not self._assembly.laws.state_dependent
            else 1
        )
        count, (loads, imposed) = evaluate_fewer_on_error(partial(self._loads_and_imposed, state), count)
        trajectory, now, memory, dissipated = (
            _Trajectory.allocate(assembly, self._losses, state, count),
            state,
            state.memory,
            0.0,
        )
        contact_velocity, projected = basis(state.v), None
        for i in range(count):
            rhs = self._right_hand_side(now, loads[i], imposed[i], push)
            solution = self._solve(now, (trajectory.contact_displacement[i], contact_velocity), rhs)
            y = solution.y
            scheme_state = now.scheme_state.allocate(rhs.load, rhs.average)
            end = _End(
                u=trajectory.u[i + 1],
                v=trajectory.v[i + 1],
                internal=np.empty_like(y),
                inertia=np.empty_like(y),
                scheme_state=scheme_state,
                strain=trajectory.strain[i + 1],
                bulk_work=trajectory.bulk_work[i],
                losses={kind: loss[i] for kind, loss in trajectory.losses.items()},
                reactions=trajectory.reactions[i],
            )
            if assembly.linear:
                map_pieces(partial(self._end_linear, now, solution, rhs, end), self._member_slices)
            else:
                memory, dissipated = self._end_nonlinear(now, solution, rhs, end)
            contact = solution.contact
            failed = contact.singular | ~(contact.residual <= RESIDUAL_LIMIT)
            failed |= ~np.isfinite(end.strain + end.bulk_work[:, 0])
            if failed.any():
                if i:
                    break
                self._refuse(np.flatnonzero(failed), contact, end.u, (now.n + 1) * step)
            du = step * y if rhs.shift is None else step * y + rhs.shift
            end_velocity, trajectory.du[i], trajectory.contact_displacement[i + 1] = _products(basis, end.v, du, end.u)
            trajectory.path[i] = 0.5 * step * (contact_velocity + end_velocity)
            path = None if push is None else 0.5 * step * (now.v + end.v)
            single = solution.single
            # at θ = 1 the end of the step closes
            if single is not None and not self._steady and (row.carries or row.theta < 1.0):
                projected = self._projection.of(single.contact, end.u[0], end.v[0])
            if projected is not None:
                change = assembly.mass @ projected.dv
                for field, correction in (
                    (end.v, projected.dv),
                    (end.inertia, change),
                    (scheme_state.momentum, change),
                ):
                    field[0] += correction
                end.bulk_work[0, 0] = 0.5 * float(end.v[0] @ end.inertia[0])
                end_velocity = basis(end.v)
            contact_velocity = end_velocity
            trajectory.solutions.append(solution)
            now = replace(
                now, n=now.n + 1, u=end.u, v=end.v, history=contact.history, internal=end.internal,
                impulse=contact.impulse, scheme_state=scheme_state, memory=memory,
            )  # fmt: skip
        batch = self._record(state, trajectory, projected, dissipated)
        if push is not None:
            assert path is not None
            batch.work["junction"] = batch.work["junction"] + np.vecdot(push, path)
            batch = replace(batch, path=path[None])
        return self._reached(now, batch, trajectory, projected)

    def _loads_and_imposed(self, state: State, count: int) -> tuple[list[tuple[Array, Array]], list[Array | None]]:
        """For each step the loads (n, d) at its start and end, N, and the values (n, p) of imposed motions; (1, d) and
        (1, p) where all members share them."""
        members, times = self._members, self.step * np.arange(state.n + 1.0, state.n + count + 1.0)
        imposed: list[Array | None] = [None] * count
        if self._assembly.imposed_dofs.size:
            imposed = [members.imposed(t) for t in times.tolist()]
        before = state.scheme_state.load
        if self._constant_load:
            return [(before, before)] * count, imposed
        return list(pairwise([before, *members.loads(times)])), imposed

    def _right_hand_side(
        self, state: State, loads: tuple[Array, Array], imposed: Array | None, push: Array | None
    ) -> _BatchedRhs:
        """Right-hand side of a step from a state under loads (n, d) at both ends, N."""
        assembly, row, scheme_state = self._assembly, self._coefficients, state.scheme_state
        gamma, step, (before, load) = row.gamma, self.step, loads
        imposed_y, rate = None, -scheme_state.constraint_sum
        if imposed is not None:
            imposed_y = row.imposed(assembly, imposed, state.u, state.v, scheme_state.lead if row.carries else None)
        if not row.sums_constraints:
            rate = (1.0 - row.weight) * applied(assembly.constraints, state.v)
        if not row.carries:
            mean = (1.0 - gamma) * before + gamma * load
            force = mean if push is None else mean + push
            return _BatchedRhs(
                scheme_state.momentum,
                force,
                state.internal,
                load,
                mean,
                scheme_state.external,
                rate,
                imposed_y,
                None,
                push,
            )
        average = row.average(load, before, scheme_state.external)
        mean = (1.0 - gamma) * scheme_state.external + gamma * average
        # massless dofs have no forces left over: M a₀ = 0
        right = row.inertia * scheme_state.momentum + row.on_force * np.where(
            self._moving, scheme_state.bulk, -scheme_state.pulled
        )
        early, late = (weight / row.force for weight in row.loads)
        force, resisting = early * before + late * load, (row.displacement / row.force) * state.internal
        if push is not None:  # acts as the forces of constraints do, by its impulse
            force = force + (row.impulse * step / row.force) * push
        drag, shift = None, None
        if assembly.viscous is not None:
            drag = applied(assembly.viscous, state.v)
            resisting = resisting + (row.velocity / row.force) * drag
        if row.shift:
            shift = step**2 * scheme_state.lead
            if assembly.linear:
                resisting = resisting + applied(assembly.stiffness, shift)
        return _BatchedRhs(right, force, resisting, load, mean, average, rate, imposed_y, shift, push, drag)

    def _solve(self, state: State, rows: tuple[Array, Array], rhs: _BatchedRhs) -> _Solution:
        """y, φ and P of a step; rows: u and v (n, q) on the contact's basis."""
        if len(state.u) > 1:
            return self._solve_members(state, rows, rhs)
        t1, imposed_y, shift = (state.n + 1) * self.step, rhs.imposed_y, rhs.shift
        member_rhs = StepRhs(
            rhs.right[0], rhs.force[0], rhs.constraint_rate[0], None if imposed_y is None else imposed_y[0], t1,
            None if shift is None else shift[0],
        )  # fmt: skip
        if isinstance(self._bulk, LinearStep):
            start = StepStart(
                rows[0][0], rows[1][0], rhs.resisting[0], state.history[0], state.impulse[0], state.worn,
                None if state.contact_flags is None else state.contact_flags[0],
            )  # fmt: skip
            solved = self._bulk.solve(start, member_rhs)
        else:
            solved = self._bulk.solve(state.member(0), member_rhs)
        contact_solution = solved.contact.solution
        contact = BatchedSolution(
            impulse=contact_solution.impulse[None],
            normal=np.stack([contact_solution.stored, contact_solution.dissipated, contact_solution.multiplier])[None],
            history=contact_solution.history[None],
            status=contact_solution.status[None],
            iterations=np.array([contact_solution.iterations]),
            residual=np.array([contact_solution.residual]),
            singular=np.array([contact_solution.singular]),
        )
        elastic_stick = solved.contact.springs
        springs = None if elastic_stick is None else (elastic_stick.before[None], elastic_stick.after[None])
        return _Solution(
            solved.y[None],
            solved.multipliers[None],
            contact,
            solved.contact.impulse[None],
            springs=springs,
            single=solved,
        )

    def _solve_members(self, state: State, rows: tuple[Array, Array], rhs: _BatchedRhs) -> _Solution:
        """As `_solve`, up to the backward passes in `_end_linear`: φ is that without contact, y not yet computed."""
        assert isinstance(self._bulk, LinearStep)
        condensed, constraint_rate, imposed_y = self._shared, rhs.constraint_rate, rhs.imposed_y
        multipliers, velocity = np.empty(constraint_rate.shape), np.empty_like(rows[0])
        half = condensed.room_for_each(len(state.u))

        def predict(at: slice) -> None:
            from arlequin.schemes._sparse_step_kernels import push

            right = np.empty_like(state.u[at])
            push(self._coefficients.force, rhs.right[at], _rows(rhs.force, at), rhs.resisting[at], right)
            multipliers[at], velocity[at] = condensed.predict_each(
                right, constraint_rate[at], half[at], None if imposed_y is None else _rows(imposed_y, at)
            )

        map_pieces(predict, self._solve_slices)
        shift = None if rhs.shift is None else self._assembly.contact.basis_product(rhs.shift)
        contact, springs = self._contact_of_members(state, rows, velocity, shift)
        on_basis = self._reference.apply_local_transposed(contact.impulse)
        return _Solution(np.empty_like(state.u), multipliers, contact, on_basis, half, imposed_y, springs)

    def _contact_of_members(
        self, state: State, rows: tuple[Array, Array], velocity: Array, shift: Array | None
    ) -> tuple[BatchedSolution, tuple[Array, Array] | None]:
        """Contact impulses, by one Delassus operator on the points that are near contact in any member; tractions of
        elastic stick (n, r), Pa, at both ends.

        rows: u and v (n, q) on the contact's basis; velocity, shift (n, q): y without contact, u₁ − u₀ − Δt y.
        """
        assert isinstance(self._bulk, LinearStep)
        contact, step, laws, row = self._assembly.contact, self.step, self._assembly.laws, self._coefficients
        motion = ContactMotion.of(*rows, velocity, row.weight, step, shift)
        solution = BatchedSolution.none(laws, state.history)
        if not contact.count:
            return solution, None
        kinematics, spring_traction = self._reference, None
        if laws.has_elastic_stick:
            spring_traction = np.array(
                [laws.spring_traction(history, kinematics.tangents) for history in state.history]
            )
        closed = contact.closed(
            kinematics.gaps(motion.displacement + 0.5 * step * motion.velocity), step * motion.velocity
        )
        near = (closed | laws.acts_when_open) & kinematics.paired
        if not near.any():
            return solution, self._springs(solution, spring_traction)
        subset = contact.subset(np.flatnonzero(near.any(axis=0)))
        delassus = kinematics.delassus(self._bulk.condensed.compliance, subset.rows)
        delassus = delassus if row.inertia == 1.0 else row.inertia * delassus
        gaps, rates = (
            kinematics.gaps(motion.end_displacement)[:, subset.points],
            kinematics.relative_velocities(motion.end_velocity, step)[:, subset.rows],
        )
        start = kinematics.relative_velocities(motion.velocity, step)[:, subset.rows]
        slip = kinematics.apply_local(motion.end_displacement - motion.displacement)[:, subset.rows]

        def solve(at: slice) -> None:
            free = FreeMotion(
                delassus, row.gap_per_velocity, gaps[at], rates[at], closed[at][:, subset.points], step, row.theta, step
            )
            piece_solution = solve_members(
                subset.laws, free, state.history[at][:, subset.histories], start[at], state.impulse[at][:, subset.rows],
                np.flatnonzero(near[at].any(axis=1)), contact.method,
                slip_free=None if spring_traction is None else slip[at],
                spring_traction=None if spring_traction is None else spring_traction[at][:, subset.rows],
            )  # fmt: skip
            solution.put(at, subset.points, subset.rows, subset.histories, piece_solution)

        map_pieces(solve, self._member_slices)
        return solution, self._springs(solution, spring_traction)

    def _springs(self, solution: BatchedSolution, spring_traction: Array | None) -> tuple[Array, Array] | None:
        """Tractions of elastic stick (n, r), Pa, at both ends; those at the end are written to the histories."""
        ends = solution.spring_traction
        if spring_traction is None or ends is None:
            return None
        for history, traction in zip(solution.history, ends, strict=True):
            self._assembly.laws.store_spring_traction(history, traction, self._reference.tangents)
        return spring_traction, ends

    def _end_linear(self, state: State, solution: _Solution, rhs: _BatchedRhs, end: _End, at: slice) -> None:
        """Completes the step of a slice of the members, with linear bulk."""
        assembly, row, y = self._assembly, self._coefficients, solution.y[at]
        if solution.single is None:
            assert isinstance(self._bulk, LinearStep)
            assert solution.half is not None
            imposed_y = None if solution.imposed_y is None else _rows(solution.imposed_y, at)
            impulse = row.impulse * solution.on_basis[at]
            self._shared.correct_each(solution.half[at], solution.multipliers[at], impulse, y, imposed_y)
            solution.multipliers[at] /= row.impulse
        flow = self._move(state, y, rhs, end, at)
        end.strain[at] = self._internal(end.u[at], end.internal[at])
        if row.carries:
            self._balance(state, solution, rhs, self._averaged(state, rhs, end, at), end, at, flow)
            return
        drag = None if assembly.viscous is None else applied(assembly.viscous, y)
        resisting = state.internal[at], end.internal[at], y[:0] if drag is None else drag
        self._balance(state, solution, rhs, resisting, end, at, flow, drag)

    def _averaged(self, state: State, rhs: _BatchedRhs, end: _End, at: slice) -> tuple[Array, Array, Array]:
        """The averages of the internal forces at both ends of the step, and the mean damping (n, d), N."""
        row, scheme_state, end_state = self._coefficients, state.scheme_state, end.scheme_state
        end_state.internal[at] = row.average(end.internal[at], state.internal[at], scheme_state.internal[at])
        if rhs.drag is None:
            end_state.damping[at] = 0.0
            return scheme_state.internal[at], end_state.internal[at], end_state.damping[:0]
        end_state.damping[at] = row.average(
            applied(self._assembly.viscous, end.v[at]), rhs.drag[at], scheme_state.damping[at]
        )
        damping = (1.0 - row.gamma) * scheme_state.damping[at] + row.gamma * end_state.damping[at]
        return scheme_state.internal[at], end_state.internal[at], damping

    def _end_nonlinear(self, state: State, solution: _Solution, rhs: _BatchedRhs, end: _End) -> tuple[Memory, float]:
        """Completes the step of a single system; returns the internal variables at its end and the dissipation, J."""
        assembly, solved, at = self._assembly, solution.single, slice(0, 1)
        assert solved is not None
        before, t1 = state.member(0), (state.n + 1) * self.step
        flow, u = self._move(state, solution.y, rhs, end, at), end.u[0]
        accept(solved.contact.solution, u, t1, assembly=assembly)
        accept_shape(assembly, u, t1)
        bulk = assembly.respond(u, state.memory, self.step)
        accept_cells(assembly, bulk, t1)
        end.internal[0], end.strain[0] = bulk.force, bulk.stored
        if isinstance(self._bulk, NewtonAlpha):
            self._balance(state, solution, rhs, self._averaged(state, rhs, end, at), end, at, flow)
            return bulk.memory, bulk.dissipated
        assert isinstance(self._bulk, NewtonStep)
        mean = self._bulk.resist(before, solved, u)
        internal = mean.internal[None]
        self._balance(state, solution, rhs, (internal, internal, mean.damping[None]), end, at, flow)
        if mean.viscous is not None:
            lost = max(float(mean.viscous @ (self.step * solved.y)), 0.0)
            end.losses["damping"][0] += lost
        return bulk.memory, bulk.dissipated

    def _move(self, state: State, y: Array, rhs: _BatchedRhs, end: _End, at: slice) -> Array:
        """Returns (u₁ − u₀)/Δt; writes u₁ and v₁ = v₀ + (y − v₀)/λ to `end`."""
        from arlequin.schemes._sparse_step_kernels import move

        flow = y if rhs.shift is None else y + rhs.shift[at] / self.step
        move(self.step, self._coefficients.weight, y, flow, state.u[at], state.v[at], end.u[at], end.v[at])
        return flow

    def _balance(
        self,
        state: State,
        solution: _Solution,
        rhs: _BatchedRhs,
        resisting: tuple[Array, Array, Array],
        end: _End,
        at: slice,
        flow: Array,
        drag: Array | None = None,
    ) -> None:
        """Writes the state variables of the scheme at the end of a step and the works of the bulk, for a slice of the
        members: the momentum is

            p₁ = p₀ + Δt [f_mean − (1 − γ) f_int,0 − γ f_int,1 − damping] + Cᵀφ + BᵀP

        on free dofs with mass, M v₁ on the others; the residual of this balance on imposed dofs is the reaction, whose
        work is external. resisting: internal forces (or averages of them) at both ends and the mean
        damping (n, d), N; flow (n, d): (u₁ − u₀)/Δt, m/s; drag: D flow (n, d), N, where it is known.
        """
        from arlequin.schemes._sparse_step_kernels import settle

        assembly, row, step, scheme_state, end_state = (
            self._assembly,
            self._coefficients,
            self.step,
            state.scheme_state,
            end.scheme_state,
        )
        (before, after, damping), gamma, push = resisting, row.gamma, rhs.push
        external, momentum, inertia, v0 = _rows(rhs.mean, at), scheme_state.momentum[at], end.inertia[at], state.v[at]
        inertia[:] = applied(assembly.mass, end.v[at])
        settle(
            step, gamma, flow, v0, end.v[at], before, after, external, damping, momentum, inertia, self._moving,
            end_state.momentum[at], end.bulk_work[at],
        )  # fmt: skip
        acting = np.concatenate([solution.multipliers[at], solution.on_basis[at]], axis=1)
        pull = applied(self._pull, acting)
        end_state.momentum[at, self._pulled] += self._moving[self._pulled] * pull
        if push is not None:
            end_state.momentum[at, self._moving] += step * push[self._moving]
        end_state.constraint_sum[at] = scheme_state.constraint_sum[at] + applied(assembly.constraints, solution.y[at])
        if row.carries:
            past_weight = (1.0 - gamma) / gamma
            end_state.lead[at] = row.shift / (gamma * step) * (end.v[at] - v0) - past_weight * scheme_state.lead[at]
            end_state.pulled[at] = -past_weight * scheme_state.pulled[at]
            end_state.pulled[at, self._pulled] += pull / (gamma * step)
            if push is not None:
                end_state.pulled[at] += push / gamma
        for kind, loss in viscous_losses(assembly, step, flow, drag=drag).items():
            end.losses[kind][at] = loss
        dofs = assembly.imposed_dofs
        if dofs.size:
            force = (inertia[:, dofs] - momentum[:, dofs]) / step - external[:, dofs]
            force += (1.0 - gamma) * before[:, dofs] + gamma * after[:, dofs]
            if damping.size:
                force += damping[:, dofs]
            if push is not None:
                force -= push[dofs]
            force[:, self._pulled_imposed[0]] -= pull[:, self._pulled_imposed[1]] / step
            end.reactions[at] = step * force
            end.bulk_work[at, 1] += step * np.vecdot(force, flow[:, dofs])
            end.bulk_work[at, 2] += 0.5 * step * np.vecdot(force, v0[:, dofs] + end.v[at][:, dofs])

    @cached_property
    def _pulled_imposed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Imposed dofs on which constraints or contact act: their indices in `imposed_dofs` and in `_pulled`."""
        _, imposed, pulled = np.intersect1d(
            self._assembly.imposed_dofs, self._pulled, assume_unique=True, return_indices=True
        )
        return imposed, pulled

    def _internal(self, u: Array, out: Array) -> Any:
        """Writes the internal forces of each u (n, d), N, to `out`; returns the strain energies (n,), J."""
        assembly = self._assembly
        if self._members.count == 1:
            out[0], energy = assembly.internal(u[0])
            return energy
        if assembly.strains is not None:
            strains = assembly.strains.at(u)
            out[:] = assembly.strains.forces(strains)
            return assembly.strains.energy(strains)
        energies = np.zeros(len(u))
        for part, a, b in zip(assembly.parts, assembly.start[:-1], assembly.start[1:], strict=True):
            if isinstance(part, ElasticAssembled):
                energies += part.internal_each(u[:, a:b], out[:, a:b])
                continue
            for i, member_u in enumerate(u[:, a:b]):
                out[i, a:b], energy = part.internal(member_u)
                energies[i] += energy
        if assembly.links.any:
            elongation = applied(assembly.links.rows, u)
            pull = assembly.links.stiffness * elongation
            out += applied(assembly.links.rows.T, pull)
            energies += 0.5 * np.vecdot(pull, elongation)
        return energies

    def _refuse(self, failed: NDArray[np.int64], contact: BatchedSolution, u: Array, t: float) -> None:
        """Raises the error for which the step of the first of these members is not accepted."""
        for i in failed.tolist():
            accepted = partial(accept, contact.of(i), u[i], t, assembly=self._assembly)
            if self._single:
                accepted()
            else:
                named(i, accepted)

    def _record(
        self, state: State, trajectory: _Trajectory, projected: VelocityCorrection | None, dissipated: float
    ) -> StepBatch:
        """The batch of the steps from a state, with their energies and works."""
        assembly, laws, step = self._assembly, self._assembly.laws, self.step
        count, last = len(trajectory.solutions), trajectory.solutions[-1]
        single = None if self._steady or last.single is None else last.single.contact
        kinematics = self._reference if single is None else single.kinematics
        persistent = laws.gap_rows if single is None else single.persistent
        rows = kinematics.apply_local(trajectory.du[:count]), kinematics.apply_local(trajectory.path[:count])
        gaps = kinematics.gaps(trajectory.contact_displacement[1 : count + 1])
        newton = np.array(
            [1 if solution.single is None else solution.single.newton for solution in trajectory.solutions]
        )
        steps = SolvedSteps(
            u=trajectory.u[1 : count + 1],
            v=trajectory.v[1 : count + 1],
            gaps=gaps,
            multipliers=np.stack([solution.multipliers for solution in trajectory.solutions]),
            impulse=trajectory.stacked("impulse"),
            normal=trajectory.stacked("normal"),
            status=trajectory.stacked("status"),
            iterations=trajectory.stacked("iterations"),
            residual=trajectory.stacked("residual"),
            newton=np.broadcast_to(newton[:, None], gaps.shape[:2]),
            springs=trajectory.springs,
        )
        pulled = constraint_power(assembly, steps.multipliers, trajectory.v[: count + 1])
        kinetic, external, external_path, internal, damping = np.moveaxis(trajectory.bulk_work[:count], -1, 0)
        bulk = BulkWork(
            external,
            external_path,
            internal,
            damping,
            {kind: loss[:count] for kind, loss in trajectory.losses.items()},
            pulled,
        )
        layer_gap = None
        if single is not None and single.gaps_from_history:
            layer_gap = laws.layer_gaps(single.solution.history, gaps[0, 0])[None, None]
        strain, history = trajectory.strain[: count + 1], state.history
        energies = StepEnergies(kinetic, strain, state.asperity, layer_gap, dissipated, history)
        end = None
        if projected is not None:
            impulse, still = projected.impulse[None, None], np.zeros_like(rows[0])
            contact = ContactImpulses.of(projected.kinematics, impulse, steps.status, still, step)
            end = EndImpulses(contact, projected.work.values)
        scheme = state.n + 1, step, self._coefficients.theta
        batch = audited(assembly, steps, bulk, energies, kinematics, WorkPaths.mean(*rows), persistent, scheme, end)
        reactions = trajectory.reactions[:count]
        return replace(batch, reactions=reactions if projected is None else reactions + projected.reaction)

    def _reached(
        self, state: State, batch: StepBatch, trajectory: _Trajectory, projected: VelocityCorrection | None
    ) -> tuple[State, StepBatch]:
        """The end state and the batch, with energies and, for a single system, wear and persistence of contact."""
        kinetic, strain, asperity = batch.works[-1, :, :3].T
        end = replace(state, kinetic=kinetic.copy(), strain=strain.copy(), asperity=asperity.copy())
        single = trajectory.solutions[-1].single
        laws = self._assembly.laws
        if single is None or (self._steady and not laws.state_dependent):
            return end, batch
        worn = self._assembly.contact.worn(state.worn, batch.contact.friction_work_per_mu[0, 0])
        impulse = state.impulse if projected is None else state.impulse + projected.impulse
        end = replace(end, worn=worn, impulse=impulse, contact_flags=single.contact.persistence[None])
        sliding = laws.friction_state(end.history[0])[None, None] if laws.state_dependent else None
        memory: Any = (end.memory,)
        return end, replace(
            batch, memory=memory, worn=None if worn is None else worn.depth[None, None], friction_state=sliding
        )  # fmt: skip


def _rows(field: Array, at: slice) -> Array:
    """The rows of a slice of the members; a field (1, d) is shared by all."""
    return field if len(field) == 1 else field[at]


def is_steady(assembly: Assembly) -> bool:
    """Whether steps may be audited together: linear parts, contact of fixed pairings, no wear."""
    return assembly.linear and assembly.contact.fixed and assembly.contact.wear_rate is None


def _products(product: RowProduct, *fields: Array) -> tuple[Array, ...]:
    """Products of several fields (n, d); for a single system in one pass, with identical bits."""
    if len(fields[0]) > 1:
        return tuple(product(field) for field in fields)
    return tuple(product(np.concatenate(fields))[:, None])
