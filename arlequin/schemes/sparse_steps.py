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
from arlequin.step.scheme import Stepper, as_many
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.ensemble import Members, named
from arlequin.system.internal_forces import Memory

_CACHED = 1 << 17  # values of a field of a batch, at most: what is recorded is still in cache
_PIECE, _SOLVED = 16, 32  # members that a thread takes at once, and in the passes over the factor


@dataclass(frozen=True)
class _Solution:
    """A step of n members solved: y (n, d), m/s; impulses of the constraints (n, m) and of contact, N·s, these on the
    rows of the contact's basis (n, q) too. half, given: forward passes and y on the imposed dofs of members whose y is
    still to be found. springs: tractions of elastic stick (n, r) at both ends, Pa; single: the
    solution of one system."""

    y: Array
    multipliers: Array
    contact: BatchedSolution
    on_basis: Array
    half: Array | None = None
    given: Array | None = None
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
    def room(cls, assembly: Assembly, losses: Set[str], state: State, count: int) -> "_Trajectory":
        """Room for so many steps from a state, with these kinds of viscous losses."""
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
    """The end of a step of n members, filled member by member: u, v, internal forces, M v (n, d), what the scheme
    carries along, strain energy (n,), works of the bulk (n, 5), viscous losses (n,) by kind, reactions (n, p)."""

    u: Array
    v: Array
    internal: Array
    inertia: Array
    own: OneStepState
    strain: Array
    bulk_work: Array
    losses: dict[str, Array]
    reactions: Array


@dataclass(frozen=True)
class _Known:
    """What is known of a step of n members before it is solved, see `arlequin.step.coefficients`.

    right, force, resisting (n, d): A y = right + h (force − resisting) + …; load, mean (n, d): external forces at the
    end and their mean, N; average (n, d): their average there, see `OneStepState`; constraint_rate (n, m): C y; given
    (n, p): y on the imposed dofs; shift (n, d): u₁ − u₀ − Δt y, m, where there is one; push (d,): a constant force of
    parts stepped elsewhere, N; drag (n, d): D v₀, N, where it is averaged. Fields (1, d) are those of all members.
    """

    right: Array
    force: Array
    resisting: Array
    load: Array
    mean: Array
    average: Array
    constraint_rate: Array
    given: Array | None
    shift: Array | None
    push: Array | None
    drag: Array | None = None


class OneStepStepper(Stepper):
    """The steps of a scheme by its row of coefficients, see `arlequin.step.coefficients`, with the unknown
    y = (1 − λ) v₀ + λ v₁; of a linear bulk

        (μM + aK + bD) y = μ p₀ + c F₀ + h (f − f_int(u₀) − …) + λμ (Cᵀφ + BᵀP),   u₁ = u₀ + Δt y + Δt² l₀,
        p₁ = p₀ + Δt [(1 − γ) F₀ + γ F₁] + Cᵀφ + BᵀP

    with F = f − f_int − D y of the θ-scheme. No acceleration enters but by its forces: what one solve lacks the next
    one gets.

    A run is an ensemble of one: the members of an ensemble, whose bulk is linear and whose pairings are fixed, share
    each pass over the factor, and threads take some of them each. A member's neighbours change its last digits alone.
    Of linear systems with fixed pairings and without wear a batch holds many steps, audited together: fields go
    through the cache, which the factor fills, as seldom as may be.
    """

    def __init__(
        self,
        driven: Assembly | Members,
        coefficients: StepCoefficients,
        bulk: LinearStep | NewtonStep | NewtonAlpha | None = None,
        solver: SolverName = "auto",
    ) -> None:
        """driven: a system, or the members of an ensemble; bulk: what solves the steps, if it is there; solver: of
        the linear system of linear ones."""
        self.step = coefficients.step
        self.restarts = self._alone = isinstance(driven, Assembly)
        self._members = members = Members.alone(driven) if isinstance(driven, Assembly) else driven
        self._assembly = assembly = members.assembly
        self._coefficients = coefficients
        self._bulk: LinearStep | NewtonStep | NewtonAlpha
        if bulk is not None:
            self._bulk = bulk
        elif assembly.linear:
            self._bulk = LinearStep(assembly, coefficients, solver if self._alone else "direct")
        else:
            self._bulk = (NewtonAlpha if coefficients.carries else NewtonStep)(assembly, coefficients)
        if isinstance(self._bulk, LinearStep):
            self.linear_solver = self._bulk.solver
        self._moving = assembly.free & ~assembly.massless
        self._projection = VelocityProjection(assembly)
        self._steady = is_steady(assembly)
        # layers have what their laws, which may be users', and their account on turning normals leave in `scheme`
        self.conserves = coefficients.conserves and assembly.linear and not assembly.laws.has_regular
        self._losses = set(viscous_losses(assembly, 1.0, np.zeros(assembly.dof_count)))
        if any(is_viscous(part) for part in assembly.parts):
            self._losses.add("damping")
        self._constant_load = all(
            all(part.steady for part in own.parts) and not callable(own.system.gravity) for own in members.each
        )
        pulls = sp.csr_array(sp.vstack([assembly.constraints, assembly.contact.basis], format="csr"))
        self._pulled = np.unique(pulls.indices)  # dofs on which constraints and contact act
        self._pull = sp.csr_array(pulls[:, self._pulled].T)
        self._pieces, self._solved = (
            [slice(i, min(i + size, members.count)) for i in range(0, members.count, size)]
            for size in (_PIECE, _SOLVED)
        )

    def with_step(self, step: float) -> "OneStepStepper":
        """The same with another step, for nonlinear parts; both share one factor where it is kept between steps."""
        assert isinstance(self._bulk, NewtonStep | NewtonAlpha)
        return OneStepStepper(self._assembly, self._coefficients.with_step(step), self._bulk.with_step(step))

    def state_dict(self) -> Any:
        """What the solution of the steps depends on: factors and columns made so far."""
        return self._bulk.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self._bulk.load_state_dict(state)

    def merge_substeps(self, batches: Sequence[StepBatch]) -> StepBatch:
        """Sub-steps as one step: impulses, works and paths of all."""
        return merge_time_steps(batches)

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt."""
        if self._alone:
            return start_state(self._assembly, self._coefficients, (u, v), n, memory)
        return start_members(self._members, self._coefficients, u, v)

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """Up to `count` steps; `push` (d,), N, is a constant force of parts stepped elsewhere (work: `junction`)."""
        if not self._alone:
            return self._advance(state, count, push)
        end, batch = self._advance(State.of_members([state]), count, push)
        return end.member(0), batch.of_member(0)

    @cached_property
    def _reference(self) -> ContactKinematics:
        """The kinematics of the contact at rest: of fixed pairings those of all steps."""
        return self._assembly.contact.kinematics(np.zeros(self._assembly.contact.basis.shape[0]))

    @property
    def linear_system(self) -> ConstrainedSystem:
        """The matrix of a step of linear parts, with its solver."""
        assert isinstance(self._bulk, LinearStep)
        return self._bulk.condensed

    @property
    def _shared(self) -> FactoredSystem:
        """The factor that the members of an ensemble share."""
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
        """Force and momentum (d,) that move the linear bulk on from a state."""
        return state.own.load - state.internal, state.own.momentum

    def _advance(self, state: State, count: int, push: Array | None) -> tuple[State, StepBatch]:
        """Up to `count` steps of all members."""
        assembly, row, step, basis = self._assembly, self._coefficients, self.step, self._assembly.contact.basis_product
        count = (
            min(count, max(_CACHED // state.u.size, 1))
            if self._steady and not self._assembly.laws.state_dependent
            else 1
        )
        count, (loads, imposed) = as_many(partial(self._driven, state), count)
        went, now, memory, dissipated = _Trajectory.room(assembly, self._losses, state, count), state, state.memory, 0.0
        contact_velocity, projected = basis(state.v), None
        for i in range(count):
            known = self._known(now, loads[i], imposed[i], push)
            solution = self._solve(now, (went.contact_displacement[i], contact_velocity), known)
            y = solution.y
            own = now.own.room(known.load, known.average)
            end = _End(
                u=went.u[i + 1],
                v=went.v[i + 1],
                internal=np.empty_like(y),
                inertia=np.empty_like(y),
                own=own,
                strain=went.strain[i + 1],
                bulk_work=went.bulk_work[i],
                losses={kind: lost[i] for kind, lost in went.losses.items()},
                reactions=went.reactions[i],
            )
            if assembly.linear:
                map_pieces(partial(self._end_linear, now, solution, known, end), self._pieces)
            else:
                memory, dissipated = self._end_nonlinear(now, solution, known, end)
            contact = solution.contact
            failed = contact.singular | ~(contact.residual <= RESIDUAL_LIMIT)
            failed |= ~np.isfinite(end.strain + end.bulk_work[:, 0])
            if failed.any():
                if i:
                    break
                self._refuse(np.flatnonzero(failed), contact, end.u, (now.n + 1) * step)
            du = step * y if known.shift is None else step * y + known.shift
            end_velocity, went.du[i], went.contact_displacement[i + 1] = _together(basis, end.v, du, end.u)
            went.path[i] = 0.5 * step * (contact_velocity + end_velocity)
            path = None if push is None else 0.5 * step * (now.v + end.v)
            single = solution.single
            # at θ = 1 the end of the step closes
            if single is not None and not self._steady and (row.carries or row.theta < 1.0):
                projected = self._projection.of(single.contact, end.u[0], end.v[0])
            if projected is not None:
                change = assembly.mass @ projected.dv
                for field, more in ((end.v, projected.dv), (end.inertia, change), (own.momentum, change)):
                    field[0] += more
                end.bulk_work[0, 0] = 0.5 * float(end.v[0] @ end.inertia[0])
                end_velocity = basis(end.v)
            contact_velocity = end_velocity
            went.solutions.append(solution)
            now = replace(
                now, n=now.n + 1, u=end.u, v=end.v, history=contact.history, internal=end.internal,
                impulse=contact.impulse, own=own, memory=memory,
            )  # fmt: skip
        batch = self._record(state, went, projected, dissipated)
        if push is not None:
            assert path is not None
            batch.work["junction"] = batch.work["junction"] + np.vecdot(push, path)
            batch = replace(batch, path=path[None])
        return self._reached(now, batch, went, projected)

    def _driven(self, state: State, count: int) -> tuple[list[tuple[Array, Array]], list[Array | None]]:
        """Of each step the loads (n, d) at its start and end, N, and the values (n, p) of imposed motions; one row
        where they are those of all members."""
        members, times = self._members, self.step * np.arange(state.n + 1.0, state.n + count + 1.0)
        imposed: list[Array | None] = [None] * count
        if self._assembly.imposed_dofs.size:
            imposed = [members.imposed(t) for t in times.tolist()]
        before = state.own.load
        if self._constant_load:
            return [(before, before)] * count, imposed
        return list(pairwise([before, *members.loads(times)])), imposed

    def _known(self, state: State, loads: tuple[Array, Array], imposed: Array | None, push: Array | None) -> _Known:
        """What is known of a step from a state under these loads (n, d) at both ends, N."""
        assembly, row, own = self._assembly, self._coefficients, state.own
        gamma, step, (before, load) = row.gamma, self.step, loads
        given, rate = None, -own.constraint_sum
        if imposed is not None:
            given = row.imposed(assembly, imposed, state.u, state.v, own.lead if row.carries else None)
        if not row.sums_constraints:
            rate = (1.0 - row.weight) * applied(assembly.constraints, state.v)
        if not row.carries:
            mean = (1.0 - gamma) * before + gamma * load
            force = mean if push is None else mean + push
            return _Known(own.momentum, force, state.internal, load, mean, own.external, rate, given, None, push)
        assert push is None
        average = row.average(load, before, own.external)
        mean = (1.0 - gamma) * own.external + gamma * average
        # massless dofs have no forces left over: M a₀ = 0
        right = row.inertia * own.momentum + row.carried * np.where(self._moving, own.bulk, -own.pulled)
        early, late = (weight / row.force for weight in row.loads)
        force, resisting = early * before + late * load, (row.displacement / row.force) * state.internal
        drag, shift = None, None
        if assembly.viscous is not None:
            drag = applied(assembly.viscous, state.v)
            resisting = resisting + (row.velocity / row.force) * drag
        if row.shift:
            shift = step**2 * own.lead
            if assembly.linear:
                resisting = resisting + applied(assembly.stiffness, shift)
        return _Known(right, force, resisting, load, mean, average, rate, given, shift, push, drag)

    def _solve(self, state: State, rows: tuple[Array, Array], known: _Known) -> _Solution:
        """y, φ and P of a step; rows: u and v (n, q) on the contact's basis."""
        if len(state.u) > 1:
            return self._solve_members(state, rows, known)
        t1, given, shift = (state.n + 1) * self.step, known.given, known.shift
        rhs = StepRhs(
            known.right[0], known.force[0], known.constraint_rate[0], None if given is None else given[0], t1,
            None if shift is None else shift[0],
        )  # fmt: skip
        if isinstance(self._bulk, LinearStep):
            start = StepStart(
                rows[0][0], rows[1][0], known.resisting[0], state.history[0], state.impulse[0], state.worn,
                None if state.lasts is None else state.lasts[0],
            )  # fmt: skip
            solved = self._bulk.solve(start, rhs)
        else:
            solved = self._bulk.solve(state.member(0), rhs)
        met = solved.contact.solution
        contact = BatchedSolution(
            impulse=met.impulse[None],
            normal=np.stack([met.stored, met.dissipated, met.multiplier])[None],
            history=met.history[None],
            status=met.status[None],
            iterations=np.array([met.iterations]),
            residual=np.array([met.residual]),
            singular=np.array([met.singular]),
        )
        held = solved.contact.springs
        springs = None if held is None else (held.before[None], held.after[None])
        return _Solution(
            solved.y[None],
            solved.multipliers[None],
            contact,
            solved.contact.impulse[None],
            springs=springs,
            single=solved,
        )

    def _solve_members(self, state: State, rows: tuple[Array, Array], known: _Known) -> _Solution:
        """As `_solve`, before the backward passes of `_end_linear`: φ is that without contact, y not known yet."""
        assert isinstance(self._bulk, LinearStep)
        condensed, wanted, given = self._shared, known.constraint_rate, known.given
        multipliers, velocity = np.empty(wanted.shape), np.empty_like(rows[0])
        half = condensed.room_for_each(len(state.u))

        def predict(at: slice) -> None:
            from arlequin.schemes._sparse_step_kernels import push

            right = np.empty_like(state.u[at])
            push(self._coefficients.force, known.right[at], _rows(known.force, at), known.resisting[at], right)
            multipliers[at], velocity[at] = condensed.predict_each(
                right, wanted[at], half[at], None if given is None else _rows(given, at)
            )

        map_pieces(predict, self._solved)
        shift = None if known.shift is None else self._assembly.contact.basis_product(known.shift)
        contact, springs = self._contact_of_members(state, rows, velocity, shift)
        on_basis = self._reference.apply_local_transposed(contact.impulse)
        return _Solution(np.empty_like(state.u), multipliers, contact, on_basis, half, given, springs)

    def _contact_of_members(
        self, state: State, rows: tuple[Array, Array], velocity: Array, shift: Array | None
    ) -> tuple[BatchedSolution, tuple[Array, Array] | None]:
        """The impulses, by one Delassus operator on the points that come near contact in some member; tractions of
        elastic stick (n, r), Pa, at both ends.

        rows: u and v (n, q) on the contact's basis; velocity, shift (n, q): y without contact, u₁ − u₀ − Δt y.
        """
        assert isinstance(self._bulk, LinearStep)
        contact, step, laws, row = self._assembly.contact, self.step, self._assembly.laws, self._coefficients
        motion = ContactMotion.of(*rows, velocity, row.weight, step, shift)
        out = BatchedSolution.none(laws, state.history)
        if not contact.count:
            return out, None
        kinematics, held = self._reference, None
        if laws.has_elastic_stick:
            held = np.array([laws.spring_traction(history, kinematics.tangents) for history in state.history])
        closed = contact.closed(
            kinematics.gaps(motion.displacement + 0.5 * step * motion.velocity), step * motion.velocity
        )
        near = (closed | laws.acts_when_open) & kinematics.paired
        if not near.any():
            return out, self._springs(out, held)
        some = contact.subset(np.flatnonzero(near.any(axis=0)))
        delassus = kinematics.delassus(self._bulk.condensed.compliance, some.rows)
        delassus = delassus if row.inertia == 1.0 else row.inertia * delassus
        gaps, rates = (
            kinematics.gaps(motion.end_displacement)[:, some.points],
            kinematics.relative_velocities(motion.end_velocity, step)[:, some.rows],
        )
        start = kinematics.relative_velocities(motion.velocity, step)[:, some.rows]
        slip = kinematics.apply_local(motion.end_displacement - motion.displacement)[:, some.rows]

        def solve(at: slice) -> None:
            free = FreeMotion(
                delassus, row.gap_per_velocity, gaps[at], rates[at], closed[at][:, some.points], step, row.theta, step
            )
            part = solve_members(
                some.laws, free, state.history[at][:, some.histories], start[at], state.impulse[at][:, some.rows],
                np.flatnonzero(near[at].any(axis=1)), contact.method,
                slip_free=None if held is None else slip[at],
                spring_traction=None if held is None else held[at][:, some.rows],
            )  # fmt: skip
            out.put(at, some.points, some.rows, some.histories, part)

        map_pieces(solve, self._pieces)
        return out, self._springs(out, held)

    def _springs(self, solution: BatchedSolution, held: Array | None) -> tuple[Array, Array] | None:
        """Tractions of elastic stick (n, r) at both ends, those at the end written to the histories of the members."""
        ends = solution.spring_traction
        if held is None or ends is None:
            return None
        for history, traction in zip(solution.history, ends, strict=True):
            self._assembly.laws.store_spring_traction(history, traction, self._reference.tangents)
        return held, ends

    def _end_linear(self, state: State, solution: _Solution, known: _Known, end: _End, at: slice) -> None:
        """The end of the step of some members of linear bulk."""
        assembly, row, y = self._assembly, self._coefficients, solution.y[at]
        if solution.single is None:
            assert isinstance(self._bulk, LinearStep)
            assert solution.half is not None
            given = None if solution.given is None else _rows(solution.given, at)
            impulse = row.impulse * solution.on_basis[at]
            self._shared.correct_each(solution.half[at], solution.multipliers[at], impulse, y, given)
            solution.multipliers[at] /= row.impulse
        flow = self._move(state, y, known, end, at)
        end.strain[at] = self._internal(end.u[at], end.internal[at])
        if row.carries:
            self._balance(state, solution, known, self._averaged(state, known, end, at), end, at, flow)
            return
        drag = None if assembly.viscous is None else applied(assembly.viscous, y)
        resisting = state.internal[at], end.internal[at], y[:0] if drag is None else drag
        self._balance(state, solution, known, resisting, end, at, flow, drag)

    def _averaged(self, state: State, known: _Known, end: _End, at: slice) -> tuple[Array, Array, Array]:
        """The averages of the internal forces at both ends of the step, and the mean damping (n, d), N."""
        row, own, out = self._coefficients, state.own, end.own
        out.internal[at] = row.average(end.internal[at], state.internal[at], own.internal[at])
        if known.drag is None:
            out.damping[at] = 0.0
            return own.internal[at], out.internal[at], out.damping[:0]
        out.damping[at] = row.average(applied(self._assembly.viscous, end.v[at]), known.drag[at], own.damping[at])
        damping = (1.0 - row.gamma) * own.damping[at] + row.gamma * out.damping[at]
        return own.internal[at], out.internal[at], damping

    def _end_nonlinear(self, state: State, solution: _Solution, known: _Known, end: _End) -> tuple[Memory, float]:
        """The end of the step of one system of any bulk; the internal variables there, and the energy dissipated, J."""
        assembly, solved, at = self._assembly, solution.single, slice(0, 1)
        assert solved is not None
        before, t1 = state.member(0), (state.n + 1) * self.step
        flow, u = self._move(state, solution.y, known, end, at), end.u[0]
        accept(solved.contact.solution, u, t1, assembly=assembly)
        accept_shape(assembly, u, t1)
        bulk = assembly.respond(u, state.memory, self.step)
        accept_cells(assembly, bulk, t1)
        end.internal[0], end.strain[0] = bulk.force, bulk.stored
        if isinstance(self._bulk, NewtonAlpha):
            self._balance(state, solution, known, self._averaged(state, known, end, at), end, at, flow)
            return bulk.memory, bulk.dissipated
        assert isinstance(self._bulk, NewtonStep)
        mean = self._bulk.resist(before, solved, u)
        internal = mean.internal[None]
        self._balance(state, solution, known, (internal, internal, mean.damping[None]), end, at, flow)
        if mean.viscous is not None:
            lost = max(float(mean.viscous @ (self.step * solved.y)), 0.0)
            end.losses["damping"][0] += lost
        return bulk.memory, bulk.dissipated

    def _move(self, state: State, y: Array, known: _Known, end: _End, at: slice) -> Array:
        """(u₁ − u₀)/Δt; u₁ and v₁ = v₀ + (y − v₀)/λ are written."""
        from arlequin.schemes._sparse_step_kernels import move

        flow = y if known.shift is None else y + known.shift[at] / self.step
        move(self.step, self._coefficients.weight, y, flow, state.u[at], state.v[at], end.u[at], end.v[at])
        return flow

    def _balance(
        self,
        state: State,
        solution: _Solution,
        known: _Known,
        resisting: tuple[Array, Array, Array],
        end: _End,
        at: slice,
        flow: Array,
        drag: Array | None = None,
    ) -> None:
        """What the scheme carries on from the step of some members, and the works of their bulk: the momentum is

            p₁ = p₀ + Δt [f_mean − (1 − γ) f_int,0 − γ f_int,1 − damping] + Cᵀφ + BᵀP

        on dofs that have mass and are not imposed, M v₁ on the others; on imposed dofs what is missing in it is the
        reaction, whose work is external. resisting: internal forces (or averages of them) at both ends and the mean
        damping (n, d), N; flow (n, d): (u₁ − u₀)/Δt, m/s; drag: D flow (n, d), N, where it is known.
        """
        from arlequin.schemes._sparse_step_kernels import settle

        assembly, row, step, own, out = self._assembly, self._coefficients, self.step, state.own, end.own
        (before, after, damping), gamma, push = resisting, row.gamma, known.push
        external, momentum, inertia, v0 = _rows(known.mean, at), own.momentum[at], end.inertia[at], state.v[at]
        inertia[:] = applied(assembly.mass, end.v[at])
        settle(
            step, gamma, flow, v0, end.v[at], before, after, external, damping, momentum, inertia, self._moving,
            out.momentum[at], end.bulk_work[at],
        )  # fmt: skip
        acting = np.concatenate([solution.multipliers[at], solution.on_basis[at]], axis=1)
        pull = applied(self._pull, acting)
        out.momentum[at, self._pulled] += self._moving[self._pulled] * pull
        if push is not None:
            out.momentum[at, self._moving] += step * push[self._moving]
        out.constraint_sum[at] = own.constraint_sum[at] + applied(assembly.constraints, solution.y[at])
        if row.carries:
            kept = (1.0 - gamma) / gamma
            out.lead[at] = row.shift / (gamma * step) * (end.v[at] - v0) - kept * own.lead[at]
            out.pulled[at] = -kept * own.pulled[at]
            out.pulled[at, self._pulled] += pull / (gamma * step)
        for kind, lost in viscous_losses(assembly, step, flow, drag=drag).items():
            end.losses[kind][at] = lost
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
        """Imposed dofs on which constraints or contact act: where they stand among these, and among those."""
        _, imposed, pulled = np.intersect1d(
            self._assembly.imposed_dofs, self._pulled, assume_unique=True, return_indices=True
        )
        return imposed, pulled

    def _internal(self, u: Array, out: Array) -> Any:
        """Internal forces of each u (n, d), N, into `out`; strain energies (n,), J."""
        assembly = self._assembly
        if self._members.count == 1:
            out[0], energy = assembly.internal(u[0])
            return energy
        if assembly.strains is not None:
            found = assembly.strains.at(u)
            out[:] = assembly.strains.forces(found)
            return assembly.strains.energy(found)
        energies = np.zeros(len(u))
        for part, a, b in zip(assembly.parts, assembly.start[:-1], assembly.start[1:], strict=True):
            if isinstance(part, ElasticAssembled):
                energies += part.internal_each(u[:, a:b], out[:, a:b])
                continue
            for i, own in enumerate(u[:, a:b]):
                out[i, a:b], energy = part.internal(own)
                energies[i] += energy
        if assembly.links.any:
            elongation = applied(assembly.links.rows, u)
            pull = assembly.links.stiffness * elongation
            out += applied(assembly.links.rows.T, pull)
            energies += 0.5 * np.vecdot(pull, elongation)
        return energies

    def _refuse(self, failed: NDArray[np.int64], contact: BatchedSolution, u: Array, t: float) -> None:
        """Raises why the step of the first of these members is not accepted."""
        for i in failed.tolist():
            accepted = partial(accept, contact.of(i), u[i], t, assembly=self._assembly)
            if self._alone:
                accepted()
            else:
                named(i, accepted)

    def _record(
        self, state: State, went: _Trajectory, projected: VelocityCorrection | None, dissipated: float
    ) -> StepBatch:
        """What is recorded of the steps from a state, with their energies and works."""
        assembly, laws, step = self._assembly, self._assembly.laws, self.step
        count, last = len(went.solutions), went.solutions[-1]
        single = None if self._steady or last.single is None else last.single.contact
        kinematics = self._reference if single is None else single.kinematics
        persistent = laws.gap_rows if single is None else single.persistent
        rows = kinematics.apply_local(went.du[:count]), kinematics.apply_local(went.path[:count])
        gaps = kinematics.gaps(went.contact_displacement[1 : count + 1])
        newton = np.array([1 if own.single is None else own.single.newton for own in went.solutions])
        steps = SolvedSteps(
            u=went.u[1 : count + 1],
            v=went.v[1 : count + 1],
            gaps=gaps,
            multipliers=np.stack([own.multipliers for own in went.solutions]),
            impulse=went.stacked("impulse"),
            normal=went.stacked("normal"),
            status=went.stacked("status"),
            iterations=went.stacked("iterations"),
            residual=went.stacked("residual"),
            newton=np.broadcast_to(newton[:, None], gaps.shape[:2]),
            springs=went.springs,
        )
        pulled = constraint_power(assembly, steps.multipliers, went.v[: count + 1])
        kinetic, given, given_path, internal, damping = np.moveaxis(went.bulk_work[:count], -1, 0)
        bulk = BulkWork(
            given, given_path, internal, damping, {kind: lost[:count] for kind, lost in went.losses.items()}, pulled
        )
        layer_gap = None
        if single is not None and single.gaps_from_history:
            layer_gap = laws.layer_gaps(single.solution.history, gaps[0, 0])[None, None]
        energies = StepEnergies(kinetic, went.strain[: count + 1], state.asperity, layer_gap, dissipated)
        end = None
        if projected is not None:
            impulse, still = projected.impulse[None, None], np.zeros_like(rows[0])
            contact = ContactImpulses.of(projected.kinematics, impulse, steps.status, still, step)
            end = EndImpulses(contact, projected.work.values)
        scheme = state.n + 1, step, self._coefficients.theta
        batch = audited(assembly, steps, bulk, energies, kinematics, WorkPaths.mean(*rows), persistent, scheme, end)
        held = went.reactions[:count]
        return replace(batch, reactions=held if projected is None else held + projected.reaction)

    def _reached(
        self, state: State, batch: StepBatch, went: _Trajectory, projected: VelocityCorrection | None
    ) -> tuple[State, StepBatch]:
        """The last state with its energies, and what the contact of one system leaves for the next step."""
        kinetic, strain, asperity = batch.works[-1, :, :3].T
        end = replace(state, kinetic=kinetic.copy(), strain=strain.copy(), asperity=asperity.copy())
        single = went.solutions[-1].single
        laws = self._assembly.laws
        if single is None or (self._steady and not laws.state_dependent):
            return end, batch
        worn = self._assembly.contact.worn(state.worn, batch.contact.friction_work_per_mu[0, 0])
        impulse = state.impulse if projected is None else state.impulse + projected.impulse
        end = replace(end, worn=worn, impulse=impulse, lasts=single.contact.persistence[None])
        sliding = laws.friction_state(end.history[0])[None, None] if laws.state_dependent else None
        memory: Any = (end.memory,)
        return end, replace(
            batch, memory=memory, worn=None if worn is None else worn.depth[None, None], friction_state=sliding
        )  # fmt: skip


def _rows(field: Array, at: slice) -> Array:
    """The rows of some members; a field (1, d) is that of all."""
    return field if len(field) == 1 else field[at]


def is_steady(assembly: Assembly) -> bool:
    """Whether steps may be audited together: linear parts, contact of fixed pairings, no wear."""
    return assembly.linear and assembly.contact.fixed and assembly.contact.wear_rate is None


def _together(product: RowProduct, *fields: Array) -> tuple[Array, ...]:
    """The product of each of these fields (n, d); those of a single system, to the same bits, in one pass."""
    if len(fields[0]) > 1:
        return tuple(product(field) for field in fields)
    return tuple(product(np.concatenate(fields))[:, None])
