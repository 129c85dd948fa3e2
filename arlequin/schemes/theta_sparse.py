"""The θ-scheme on sparse matrices: a run, a run whose contact is steady and is audited some steps at a time, and the
members of an ensemble at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.energy import BulkWork, Forces, WorkPaths, viscous_losses
from arlequin.linalg.products import applied
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.linalg.threads import each
from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import BatchedSolution, solve_members
from arlequin.multilevel.solvers.elastic_stick import ElasticStick, gain
from arlequin.solvers.condensed import CheckpointedColumns
from arlequin.solvers.contact_step import ContactMotion
from arlequin.solvers.initial_state import start_fields
from arlequin.solvers.linear_step import LinearStep, StepRhs, StepSolution, StepStart
from arlequin.solvers.newton_step import NewtonStep
from arlequin.solvers.velocity_projection import VelocityProjection
from arlequin.step.impulses import ContactImpulses
from arlequin.step.merge import merge_time_steps
from arlequin.step.state import (
    RESIDUAL_LIMIT,
    Block,
    State,
    StepReport,
    accept,
    accept_cells,
    accept_shape,
    reaction,
)
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.ensemble import Members, named


@dataclass(frozen=True)
class Carried:
    """Momentum and load at the end of the step, both (d,); rest (m,): Σ C v_θ of the steps so far, m/s.

    The momentum is the sum of the impulses, not M v: the factor's round-off E is the same in each step and loses, or
    gives, 2 yᵀE y each time. Summed, what one step lacks the next one gets, and E only perturbs the mass. So too with
    the constraints at θ = 1/2, where C v_θ = −rest is asked for in place of C v₁ = 0: what φ does on their round-off
    does not add up.
    """

    momentum: Array
    load: Array
    rest: Array


class ThetaStepper:
    """The θ-scheme with the unknown y = v_θ, for which only f_int(u₀) and M v₀ enter the right-hand side:

    (M + θΔt D + θ²Δt² K) y = M v₀ − θΔt f_int(u₀) + θΔt f_θ + θ (Cᵀφ + BᵀP).
    """

    def __init__(self, assembly: Assembly, step: float, theta: float, bulk: NewtonStep | None = None) -> None:
        """bulk: what solves the steps; by default what the assembly asks for."""
        self.step = step
        self._assembly = assembly
        self._theta = theta
        make = LinearStep if assembly.linear else NewtonStep
        self._bulk = make(assembly, theta, step) if bulk is None else bulk
        self._moving = assembly.free & ~assembly.massless
        self._projection = VelocityProjection(assembly)

    def with_step(self, step: float) -> "ThetaStepper":
        """The same with another step, for nonlinear parts; both share one factor."""
        assert isinstance(self._bulk, NewtonStep)
        return ThetaStepper(self._assembly, step, self._theta, self._bulk.with_step(step))

    def state_dict(self) -> Any:
        """What the steps' solution made so far."""
        return self._bulk.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self._bulk.load_state_dict(state)

    def merge_substeps(self, reports: Sequence[StepReport]) -> StepReport:
        """Steps as one: impulses, works and paths of all."""
        return merge_time_steps(reports)

    def start(self, u: Array, v: Array) -> State:
        """The state at t = 0."""
        assembly = self._assembly
        bulk = assembly.respond(u, assembly.fresh(), 0.0)
        accept_cells(assembly, bulk, 0.0)
        own = Carried(assembly.mass @ v, assembly.load(0.0), -0.5 * (assembly.constraints @ v))
        return State.first(assembly, u, v, bulk, assembly.contact.gaps(u), kinetic=assembly.kinetic(v), own=own)

    def advance(self, state: State, push: Array | None = None) -> tuple[State, StepReport]:
        """One step; `push` (d,), N, is a constant force of parts stepped elsewhere (its work is `junction`)."""
        assembly, theta, step = self._assembly, self._theta, self.step
        t1 = (state.n + 1) * step
        load = assembly.load(t1)
        external = (1.0 - theta) * state.own.load + theta * load

        solved = self._bulk.solve(
            state,
            StepRhs(
                momentum=state.own.momentum,
                force=external if push is None else external + push,
                constraint_rate=-state.own.rest if theta == 0.5 else (1.0 - theta) * (assembly.constraints @ state.v),
                imposed=self._given(state.u, state.v, t1),
                t=t1,
            ),
        )
        u = state.u + step * solved.y
        v = state.v + (solved.y - state.v) / theta
        accept(solved.contact.solution, u, t1, assembly=assembly)
        accept_shape(assembly, u, t1)
        return self._finish(state, solved, (u, v), (external, load, push))

    def response(self, push: Array, momentum: Array, count: int) -> Array:
        """Displacement (d, r) by `count` steps under constant forces (d, r) from momenta (d, r), linear bulk alone."""
        assembly, theta, step = self._assembly, self._theta, self.step
        u = np.zeros_like(push)
        for _ in range(count):
            y = self._bulk.condensed.spread(momentum + theta * step * (push - assembly.stiffness @ u))
            u += step * y
            momentum = momentum + (assembly.mass @ y - momentum) / theta
        return u

    def drive(self, state: State) -> tuple[Array, Array]:
        """Force and momentum (d,) that move the linear bulk on from a state."""
        return state.own.load - state.internal, state.own.momentum

    def _finish(
        self,
        state: State,
        solved: StepSolution,
        motion: tuple[Array, Array],
        loads: tuple[Array, Array, Array | None],
    ) -> tuple[State, StepReport]:
        """The new state (u, v in `motion`), its energies, the works of the step; loads: mean, at the end, push."""
        (u, v), (external, load, push) = motion, loads
        assembly, step = self._assembly, self.step
        y, multipliers, meeting = solved.y, solved.multipliers, solved.contact
        kinematics, contact = meeting.kinematics, meeting.solution
        bulk = assembly.respond(u, state.memory, step)
        accept_cells(assembly, bulk, (state.n + 1) * step)
        momentum = assembly.mass @ v

        mean = self._bulk.resist(state, solved, u, bulk.force)
        resisting = mean.internal + mean.damping - external
        if push is not None:
            resisting = resisting - push
        path = 0.5 * step * (state.v + v)
        summed = state.own.momentum - step * resisting + assembly.pull(multipliers, meeting.impulse)

        def balance() -> Array:
            return (momentum - state.own.momentum) / step + resisting

        given = reaction(assembly, balance, (multipliers / step, meeting.impulse / step))
        forces = Forces(mean.internal, mean.damping, external, given, mean.viscous)
        ways = WorkPaths.mean(step * y, path)
        loss, rows = meeting.loss(ways.du, self._theta), ways.on(kinematics)
        work = BulkWork.of(assembly, step, forces, multipliers, ways, y).works(
            step=step,
            rates=rows,
            kinematics=kinematics,
            contact=contact,
            stored_before=state.stored,
            stored_after=(bulk.stored, meeting.stored(assembly.laws, u)),
            loss=loss,
            plastic=bulk.dissipated,
            persistent=meeting.persistent,
        )
        if push is not None:
            work["junction"] += float(push @ path)
        # at θ = 1 the end itself closes
        found = self._projection.of(meeting, u, v) if self._theta < 1.0 else None
        if found is not None:
            change = assembly.mass @ found.dv
            v, momentum, summed = v + found.dv, momentum + change, summed + change
            work.values += found.work.values
        work["kinetic"] = 0.5 * float(v @ momentum)
        carried = Carried(np.where(self._moving, summed, momentum), load, state.own.rest + assembly.constraints @ y)
        report = meeting.report(multipliers, work, path, meeting.slip(rows), loss, solved.newton, found)
        return state.following(assembly, u, v, bulk, report, contact.history, carried), report

    def _given(self, u: Array, v: Array, t: float) -> Array | None:
        """Values of y (p,) on the imposed dofs in a step from u, v (d,) to the time t."""
        assembly = self._assembly
        if not assembly.imposed_dofs.size:
            return None
        dofs = assembly.imposed_dofs
        values = assembly.imposed(t)
        from_displacement = (values - u[dofs]) / self.step
        from_velocity = self._theta * values + (1.0 - self._theta) * v[dofs]
        return np.where(assembly.imposes_displacement, from_displacement, from_velocity)


_PIECE, _SOLVED = 16, 32  # members that a thread takes at once, and in the passes over the factor


class ThetaMembers(CheckpointedColumns):
    """The steps of `ThetaStepper` for all members, whose fields lie in the rows of arrays (n, d).

    A block of members shares each pass over the factor, the answers to impulses are one product of matrices, and
    threads take blocks side by side. What stands beside a member does not change it but in last digits.
    """

    least = 1  # steps at once

    def __init__(self, members: Members, theta: float, step: float) -> None:
        self.step = step
        self._members, self._theta = members, theta
        self._assembly = assembly = members.assembly
        self._condensed = LinearStep(assembly, theta, step).condensed
        self._touch = assembly.contact.kinematics(np.zeros(assembly.contact.basis.shape[0]))
        self._moving = assembly.free & ~assembly.massless
        pulls = sp.csr_array(sp.vstack([assembly.constraints, assembly.contact.basis], format="csr"))
        self._pulled = np.unique(pulls.indices)
        self._pulls = sp.csr_array(pulls[:, self._pulled].T)
        count = members.count
        self._pieces, self._solved = (
            [slice(i, min(i + size, count)) for i in range(0, count, size)] for size in (_PIECE, _SOLVED)
        )

    def start(self) -> State:
        """The members at t = 0."""
        starts = [named(i, partial(start_fields, own, self.step)) for i, own in enumerate(self._members.each)]
        u, v = (np.array(fields) for fields in zip(*starts, strict=True))
        assembly, laws = self._assembly, self._assembly.laws
        internal, strain = np.empty_like(u), np.empty(len(u))
        for at in self._pieces:
            strain[at] = self._resist(u[at], internal[at])
        gaps = self._touch.gaps(assembly.contact.moves.of(u))
        momentum = applied(assembly.mass, v)
        return State(
            n=0,
            u=u,
            v=v,
            history=np.array([laws.start_history(own) for own in gaps]),
            internal=internal,
            kinetic=0.5 * np.vecdot(v, momentum),
            strain=strain,
            asperity=laws.energy(gaps),
            impulse=np.zeros((len(u), laws.row_count)),
            own=Carried(momentum, self._members.load(0.0), -0.5 * applied(assembly.constraints, v)),
        )

    def first(self, state: State, works: Array) -> Block:
        """The initial state, works (n, kind)."""
        gaps = self._touch.gaps(self._assembly.contact.moves.of(state.u))
        none = BatchedSolution.none(self._assembly.laws, state.history)
        multipliers = np.zeros((len(state.u), self._assembly.constraints.shape[0]))
        return self._block(state, works, multipliers, gaps, none, np.zeros_like(none.impulse), 0)

    def advance_block(self, state: State, count: int) -> tuple[State, Block]:
        """One step."""
        theta, step, assembly, members = self._theta, self.step, self._assembly, self._members
        t1 = (state.n + 1) * step
        load = members.load(t1)
        external = np.ascontiguousarray((1.0 - theta) * state.own.load + theta * load)
        rest = -state.own.rest if theta == 0.5 else (1.0 - theta) * applied(assembly.constraints, state.v)
        given = self._given(state, t1)
        y, multipliers = np.empty_like(state.u), np.empty(rest.shape)
        ends = np.empty((len(y), assembly.contact.basis.shape[0]))

        def free(at: slice) -> None:
            from arlequin.schemes._theta_kernels import push

            right = np.empty_like(y[at])
            push(theta * step, state.own.momentum[at], _own(external, at), state.internal[at], right)
            found = self._condensed.predict_each(right, rest[at], y[at], None if given is None else given[at])
            multipliers[at], ends[at] = found.multipliers, found.contact

        each(free, self._solved)
        motion = self._motion(state, ends)
        met = self._contact(state, motion, t1)
        u, v, internal, carried = (np.empty_like(y) for _ in range(4))
        sums, strain, held = np.empty((len(y), 5)), np.empty(len(y)), np.empty(rest.shape)
        losses = {kind: np.zeros(len(y)) for kind in viscous_losses(assembly, step, y[:1])}

        def finish(at: slice) -> None:
            from arlequin.schemes._theta_kernels import move, settle

            self._condensed.correct_each(y[at], multipliers[at], theta * met.impulse[at])
            multipliers[at] /= theta
            move(step, theta, y[at], state.u[at], state.v[at], u[at], v[at])
            strain[at] = self._resist(u[at], internal[at])
            inertia = applied(assembly.mass, v[at])
            damping = y[at][:0] if assembly.viscous is None else applied(assembly.viscous, y[at])
            settle(
                step, theta, y[at], state.v[at], v[at], state.internal[at], internal[at], _own(external, at), damping,
                state.own.momentum[at], inertia, self._moving, carried[at], sums[at],
            )  # fmt: skip
            pull = self._pull(multipliers[at], met.impulse[at])
            carried[at][:, self._pulled] += self._moving[self._pulled] * pull  # others carry M v₁
            held[at] = state.own.rest[at] + applied(assembly.constraints, y[at])
            for kind, lost in viscous_losses(assembly, step, y[at]).items():
                losses[kind][at] = lost
            if given is not None:
                self._react(state, at, (y, v, internal, inertia), (external, damping), pull, sums)

        each(finish, self._pieces)
        failed = met.singular | ~(met.residual <= RESIDUAL_LIMIT) | ~np.isfinite(strain + sums[:, 0])
        for i in np.flatnonzero(failed).tolist():
            named(i, partial(accept, met.of(i), u[i], t1, assembly=assembly))
        moves = assembly.contact.moves
        gaps = self._touch.gaps(moves.of(u))
        stored = strain, assembly.laws.energy(gaps) * np.ones(len(u))
        by_du, by_path = step * moves.of(y), 0.5 * step * (motion.velocity + moves.of(v))
        rates = WorkPaths.mean(self._touch.turn(by_du), self._touch.turn(by_path))
        path = 0.5 * step * applied(assembly.constraints, state.v + v) if multipliers.size else multipliers
        kinetic, outer, outer_path, resisted, dragged = sums.T
        pulled = np.vecdot(multipliers, path) / step
        work = BulkWork(outer, outer_path, resisted, dragged, losses, pulled).works(
            step=step,
            rates=rates,
            kinematics=self._touch,
            contact=met,
            stored_before=state.stored,
            stored_after=stored,
            persistent=assembly.laws.gap_rows,
        )
        work["kinetic"] = kinetic
        end = State(
            n=state.n + 1,
            u=u,
            v=v,
            history=met.history,
            internal=internal,
            kinetic=kinetic.copy(),
            strain=strain,
            asperity=stored[1],
            impulse=met.impulse,
            own=Carried(carried, load, held),
        )
        return end, self._block(end, work.values, multipliers, gaps, met, rates.path, 1)

    def _block(
        self,
        state: State,
        works: Array,
        multipliers: Array,
        gaps: Array,
        met: BatchedSolution,
        moved: Array,
        newton: int,
    ) -> Block:
        return Block(
            n=np.array([state.n]),
            u=state.u[None],
            v=state.v[None],
            works=works[None],
            multipliers=multipliers[None],
            gaps=gaps[None],
            action=ContactImpulses.of(self._touch, met.impulse, met.status, moved, self.step).stacked(),
            iterations=met.iterations[None],
            residual=met.residual[None],
            newton=np.full((1, len(gaps)), newton),
        )

    def _motion(self, state: State, free: Array) -> ContactMotion:
        """The motion of the contact rows of each member."""
        moves, theta = self._assembly.contact.moves, self._theta
        return ContactMotion.of(moves.of(state.u), moves.of(state.v), free, theta, self.step)

    def _contact(self, state: State, motion: ContactMotion, t: float) -> BatchedSolution:
        """The impulses, by one Delassus operator on the points that come near contact in some member."""
        contact, kinematics, step, laws = self._assembly.contact, self._touch, self.step, self._assembly.laws
        out = BatchedSolution.none(laws, state.history)
        if not contact.count:
            return out
        closed = contact.closed(
            kinematics.gaps(motion.displacement + 0.5 * step * motion.velocity), step * motion.velocity
        )
        near = (closed | laws.always) & kinematics.paired
        if not near.any():
            return out
        some = contact.problem(np.flatnonzero(near.any(axis=0)))
        delassus = kinematics.delassus(self._condensed.compliance, some.rows)
        gaps, rates = (
            kinematics.gaps(motion.end_displacement)[:, some.points],
            kinematics.speeds(motion.end_velocity, step)[:, some.rows],
        )
        start = kinematics.speeds(motion.velocity, step)[:, some.rows]

        def solve(at: slice) -> None:
            part = solve_members(
                some.laws, delassus, self._theta * step, gaps[at], rates[at], start[at], closed[at][:, some.points],
                state.history[at][:, some.histories], step, self._theta, state.impulse[at][:, some.rows],
                np.flatnonzero(near[at].any(axis=1)), contact.method,
            )  # fmt: skip
            out.put(at, some.points, some.rows, some.histories, part)

        each(solve, self._pieces)
        return out

    def _resist(self, u: Array, out: Array) -> Array:
        """Internal forces of each u (n, d) into `out`; strain energies (n,), J."""
        strains = self._assembly.strains
        if strains is not None:
            found = strains.at(u)
            out[:] = strains.forces(found)
            return strains.energy(found)
        assembly, energies = self._assembly, np.zeros(len(u))
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

    def _pull(self, multipliers: Array, impulse: Array) -> Array:
        """Cᵀφ + BᵀP (n, e) on the dofs that they pull at."""
        return applied(self._pulls, np.concatenate([multipliers, impulse], axis=1))

    def _react(
        self, state: State, at: slice, ends: tuple[Array, ...], loads: tuple[Array, Array], pull: Array, sums: Array
    ) -> None:
        """Adds what the imposed motions do to the works of some members, as `reaction` finds it.

        ends: y, v₁, internal forces and M v₁; loads: external and damping forces; pull (n, e): as `_pull` gives it.
        """
        theta, step, dofs = self._theta, self.step, self._assembly.imposed_dofs
        y, v, internal = (field[at][:, dofs] for field in ends[:3])
        force = (ends[3][:, dofs] - state.own.momentum[at][:, dofs]) / step - _own(loads[0], at)[:, dofs]
        force += (1.0 - theta) * state.internal[at][:, dofs] + theta * internal
        if loads[1].size:
            force += loads[1][:, dofs]
        place = np.full(self._moving.size, -1)
        place[self._pulled] = np.arange(self._pulled.size)
        pulled = place[dofs] >= 0
        force[:, pulled] -= pull[:, place[dofs[pulled]]] / step
        sums[at, 1] += step * np.vecdot(force, y)
        sums[at, 2] += 0.5 * step * np.vecdot(force, state.v[at][:, dofs] + v)

    def _given(self, state: State, t: float) -> Array | None:
        """Values of y (n, p) on the imposed dofs, as in `ThetaStepper`."""
        dofs = self._assembly.imposed_dofs
        if not dofs.size:
            return None
        values = self._members.imposed(t)
        from_displacement = (values - state.u[:, dofs]) / self.step
        from_velocity = self._theta * values + (1.0 - self._theta) * state.v[:, dofs]
        return np.where(self._assembly.imposes_displacement, from_displacement, from_velocity)


def _own(field: Array, at: slice) -> Array:
    """The rows of some members; a field (1, d) is that of all."""
    return field if len(field) == 1 else field[at]


@dataclass(frozen=True)
class Pushes:
    """Contact impulses (b, r) and the parts (b, k) of the normal ones."""

    impulse: Array
    stored: Array
    dissipated: Array
    multiplier: Array


@dataclass(frozen=True)
class Trail:
    """States and steps, b of these: u, v (b + 1, d), both on the contact's basis, `place` and `speed` (b + 1, q),
    strain energy (b + 1,), what the springs of friction pull (b + 1, r), None without; y on the basis (b, q), what the
    forces of the bulk do (b, 5), see `_member_kernels.settle`, viscous losses (b,) by kind, constraints' impulses
    (b, m), contact impulses (b, r), their normal parts (b, 3, k), status (b, k), and the figures of the contact
    problems (b,).
    """

    u: Array
    v: Array
    place: Array
    speed: Array
    strain: Array
    held: Array | None
    moved: Array
    sums: Array
    losses: dict[str, Array] = field(repr=False)
    multipliers: Array
    impulse: Array
    normal: Array
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    residual: Array

    @classmethod
    def room(cls, assembly: Assembly, state: State, count: int, held: Array | None) -> Self:
        """Room for so many steps from a state, where the springs of friction pull with `held` (r,)."""
        laws, moves, (d,), q = assembly.laws, assembly.contact.moves, state.u.shape, assembly.contact.basis.shape[0]
        kinds = viscous_losses(assembly, 1.0, np.zeros(d))
        new = cls(
            u=np.empty((count + 1, d)),
            v=np.empty((count + 1, d)),
            place=np.empty((count + 1, q)),
            speed=np.empty((count + 1, q)),
            strain=np.empty(count + 1),
            held=None if held is None else np.zeros((count + 1, laws.row_count)),
            moved=np.empty((count, q)),
            sums=np.empty((count, 5)),
            losses={kind: np.empty(count) for kind in kinds},
            multipliers=np.empty((count, assembly.constraints.shape[0])),
            impulse=np.empty((count, laws.row_count)),
            normal=np.empty((count, 3, laws.count)),
            status=np.empty((count, laws.count), dtype=np.int8),
            iterations=np.empty(count, dtype=np.int64),
            residual=np.empty(count),
        )
        new.u[0], new.v[0], new.strain[0] = state.u, state.v, state.strain
        new.place[0], new.speed[0] = moves.of(state.u), moves.of(state.v)
        if new.held is not None and held is not None:
            new.held[0] = held
        return new

    def put(self, i: int, assembly: Assembly, solved: StepSolution, kinematics: ContactKinematics, step: float) -> None:
        """Takes what step i found, once it moved u and v."""
        contact, moves = solved.contact.solution, assembly.contact.moves
        self.place[i + 1], self.speed[i + 1] = moves.of(self.u[i + 1]), moves.of(self.v[i + 1])
        self.moved[i] = moves.of(solved.y)
        self.multipliers[i], self.impulse[i], self.status[i] = solved.multipliers, contact.impulse, contact.status
        self.normal[i] = contact.stored, contact.dissipated, contact.multiplier
        self.iterations[i], self.residual[i] = contact.iterations, contact.residual
        if self.held is not None and contact.held is not None:
            self.held[i + 1] = assembly.laws.held(contact.history, kinematics.tangents)
        if self.losses:
            for kind, lost in viscous_losses(assembly, step, solved.y).items():
                self.losses[kind][i] = lost

    def first(self, count: int) -> "Trail":
        """Its first steps."""
        states = {"u", "v", "place", "speed", "strain", "held"}
        cut: dict[str, Any] = {
            name: None if values is None else values[: count + (name in states)]
            for name, values in vars(self).items()
            if name != "losses"
        }
        return Trail(**cut, losses={kind: lost[:count] for kind, lost in self.losses.items()})

    def audited(
        self, assembly: Assembly, kinematics: ContactKinematics, first: int, step: float, theta: float
    ) -> tuple[Block, Array]:
        """What is recorded of the steps from `first` (number) on, and their energies (b, 3) at the end: kinetic,
        strain, asperity."""
        laws, gaps, pulled = assembly.laws, kinematics.gaps(self.place), 0.0
        by_du, by_path = (
            kinematics.turn(step * self.moved),
            kinematics.turn(0.5 * step * (self.speed[:-1] + self.speed[1:])),
        )
        asperity, loss = laws.energy(gaps), None
        if self.held is not None:
            springs = ElasticStick(laws, self.held[:-1], self.held[1:], gain(laws, theta, step))
            loss = springs.loss(self.impulse, by_du, step, theta)
            asperity = asperity + laws.elastic_stick_energy(self.held)
        if self.multipliers.size:
            rates = applied(assembly.constraints, self.v)
            pulled = np.vecdot(self.multipliers, 0.5 * step * (rates[:-1] + rates[1:])) / step
        kinetic, given, given_path, resisted, dragged = self.sums.T
        work = BulkWork(given, given_path, resisted, dragged, self.losses, pulled).works(
            step=step,
            rates=WorkPaths.mean(by_du, by_path),
            kinematics=kinematics,
            contact=Pushes(self.impulse, *np.moveaxis(self.normal, 1, 0)),
            stored_before=(self.strain[:-1], asperity[:-1]),
            stored_after=(self.strain[1:], asperity[1:]),
            loss=loss,
            persistent=laws.gap_rows,
        )
        work["kinetic"] = kinetic
        block = Block(
            n=first + np.arange(len(kinetic)),
            u=self.u[1:],
            v=self.v[1:],
            works=work.values,
            multipliers=self.multipliers,
            gaps=gaps[1:],
            action=ContactImpulses.of(kinematics, self.impulse, self.status, by_path, step, loss=loss),
            iterations=self.iterations,
            residual=self.residual,
            newton=np.ones_like(self.iterations),
        )
        return block, work.values[:, :3]


_CACHED = 1 << 17  # values of a field of a block, at most: what is recorded is still in cache


def is_steady(assembly: Assembly) -> bool:
    """Whether steps may be audited together: linear parts, contact of fixed pairings, no wear."""
    return assembly.linear and assembly.contact.fixed and assembly.contact.wear_rate is None


class BlockedThetaStepper(ThetaStepper):
    """The same steps as `ThetaStepper`, which takes those that end in an error, to say it.

    Works of the bulk are summed in the pass over the dofs that makes the momentum: few fields go through the cache,
    which the factor fills.
    """

    _bulk: LinearStep

    def __init__(self, assembly: Assembly, step: float, theta: float) -> None:
        super().__init__(assembly, step, theta)
        self._touch = assembly.contact.kinematics(np.zeros(assembly.contact.basis.shape[0]))
        self._steady = all(part.steady for part in assembly.parts) and not callable(assembly.system.gravity)
        pulls = np.concatenate([assembly.constraints.indices, assembly.contact.basis.indices])
        self._pulled = np.flatnonzero((np.bincount(pulls, minlength=assembly.dof_count) > 0) & self._moving)

    def advance_block(self, state: State, count: int) -> tuple[State, Block] | None:
        """Up to `count` steps; None where the first one is not accepted."""
        from arlequin.schemes._theta_kernels import move

        assembly, theta, step, laws = self._assembly, self._theta, self.step, self._assembly.laws
        count = min(count, max(_CACHED // state.u.size, 1))
        loads, externals = self._loads(state, count)
        held = laws.held(state.history, self._touch.tangents) if laws.has_elastic_stick else None
        went = Trail.room(assembly, state, count, held)
        start = StepStart(went.place[0], went.speed[0], state.internal, state.history, state.impulse)
        momentum, inertia, rest, taken = state.own.momentum, assembly.mass @ state.v, state.own.rest, 0
        for i in range(count):
            t1 = (state.n + i + 1) * step
            u0, v0, u1, v1 = went.u[i], went.v[i], went.u[i + 1], went.v[i + 1]
            external = externals[i]
            wanted = -rest if theta == 0.5 else (1.0 - theta) * applied(assembly.constraints, v0)
            solved = self._bulk.solve_from(start, StepRhs(momentum, external, wanted, self._given(u0, v0, t1), t1))
            contact, y = solved.contact.solution, solved.y
            move(step, theta, y[None], u0[None], v0[None], u1[None], v1[None])
            internal, went.strain[i + 1] = assembly.internal(u1)
            finite = np.isfinite(went.strain[i + 1] + y @ y)
            if contact.singular or not contact.residual <= RESIDUAL_LIMIT or not finite:
                break

            before, inertia = inertia, assembly.mass @ v1
            momentum = self._settle(
                solved, (v0, v1), (start.internal, internal), external, (momentum, before, inertia), went.sums[i]
            )
            rest = rest + applied(assembly.constraints, y)
            went.put(i, assembly, solved, self._touch, step)
            start = StepStart(went.place[i + 1], went.speed[i + 1], internal, contact.history, contact.impulse)
            taken += 1
        if not taken:
            return None
        went = went.first(taken)
        block, energies = went.audited(assembly, self._touch, state.n + 1, step, theta)
        kinetic, strain, asperity = energies[-1].tolist()
        end = State(
            n=state.n + taken,
            u=went.u[-1],
            v=went.v[-1],
            history=start.history,
            internal=start.internal,
            kinetic=kinetic,
            strain=strain,
            asperity=asperity,
            impulse=start.impulse,
            own=Carried(momentum, loads[taken], rest),
            memory=state.memory,
        )
        return end, block

    def _loads(self, state: State, count: int) -> tuple[Array, Array]:
        """External forces (count + 1, d) from a state on, and their means (count, d) in the steps, N."""
        theta, load = self._theta, state.own.load
        if self._steady:
            mean = (1.0 - theta) * load + theta * load
            return np.broadcast_to(load, (count + 1, load.size)), np.broadcast_to(mean, (count, load.size))
        loads = self._assembly.loads(self.step * np.arange(state.n, state.n + count + 1, dtype=float))
        return loads, (1.0 - theta) * loads[:-1] + theta * loads[1:]

    def _settle(
        self,
        solved: StepSolution,
        v: tuple[Array, Array],
        internal: tuple[Array, Array],
        external: Array,
        momenta: tuple[Array, Array, Array],
        sums: Array,
    ) -> Array:
        """The momentum (d,) carried on, and the works of the bulk in a step, into `sums` (5,).

        v, internal: at both ends; momenta: what was carried so far, M v₀ and M v₁.
        """
        from arlequin.schemes._theta_kernels import settle

        assembly, theta, step, y = self._assembly, self._theta, self.step, solved.y
        momentum, before, inertia = momenta
        damping = y[None][:0] if assembly.viscous is None else (assembly.viscous @ y)[None]
        carried = np.empty_like(momentum)
        settle(
            step, theta, y[None], v[0][None], v[1][None], internal[0][None], internal[1][None], external[None],
            damping, momentum[None], inertia[None], self._moving, carried[None], sums[None],
        )  # fmt: skip
        pull = assembly.pull(solved.multipliers, solved.contact.impulse)
        carried[self._pulled] += pull[self._pulled]
        dofs = assembly.imposed_dofs
        if dofs.size:  # their reactions, what the balance of momentum misses there, work as external forces
            force = (inertia[dofs] - before[dofs] - pull[dofs]) / step - external[dofs]
            force += (1.0 - theta) * internal[0][dofs] + theta * internal[1][dofs]
            if damping.size:
                force += damping[0, dofs]
            sums[1] += step * np.vecdot(force, y[dofs])
            sums[2] += 0.5 * step * np.vecdot(force, v[0][dofs] + v[1][dofs])
        return carried
