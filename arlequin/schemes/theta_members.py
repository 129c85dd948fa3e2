"""The θ-scheme of many members of an ensemble at once."""

from functools import partial

import numpy as np
import scipy.sparse as sp

from arlequin.action import Action
from arlequin.energy import Sums, Ways, viscous_losses
from arlequin.members import Members, named
from arlequin.products import applied
from arlequin.schemes.block import Block
from arlequin.schemes.keeping import KeepsColumns
from arlequin.schemes.linear_step import LinearStep
from arlequin.schemes.meeting import Motion
from arlequin.schemes.scheme import RESIDUAL_LIMIT, State, accept
from arlequin.schemes.theta import Carried
from arlequin.start import start_fields
from models.assembled import ElasticAssembled
from models.threads import each
from models.types import Array
from multilevel.side_solver import SideSolution, solve_members

_PIECE, _SOLVED = 16, 32  # members that a thread takes at once, and in the passes over the factor


class ThetaMembers(KeepsColumns):
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
        self._touch = assembly.contact.touch(np.zeros(assembly.contact.basis.shape[0]))
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
        none = SideSolution.none(self._assembly.laws, state.history)
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
            from arlequin.schemes._member_kernels import push

            right = np.empty_like(y[at])
            push(theta * step, state.own.momentum[at], _own(external, at), state.internal[at], right)
            found = self._condensed.free_each(right, rest[at], y[at], None if given is None else given[at])
            multipliers[at], ends[at] = found.multipliers, found.contact

        each(free, self._solved)
        motion = self._motion(state, ends)
        met = self._meet(state, motion, t1)
        u, v, internal, carried = (np.empty_like(y) for _ in range(4))
        sums, strain, held = np.empty((len(y), 5)), np.empty(len(y)), np.empty(rest.shape)
        losses = {kind: np.zeros(len(y)) for kind in viscous_losses(assembly, step, y[:1])}

        def finish(at: slice) -> None:
            from arlequin.schemes._member_kernels import move, settle

            self._condensed.react_each(y[at], multipliers[at], theta * met.impulse[at])
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
        by_du, by_path = step * moves.of(y), 0.5 * step * (motion.speed + moves.of(v))
        rates = Ways.mean(self._touch.turn(by_du), self._touch.turn(by_path))
        path = 0.5 * step * applied(assembly.constraints, state.v + v) if multipliers.size else multipliers
        kinetic, outer, outer_path, resisted, dragged = sums.T
        pulled = np.vecdot(multipliers, path) / step
        work = Sums(outer, outer_path, resisted, dragged, losses, pulled).works(
            step=step,
            rates=rates,
            touch=self._touch,
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
        self, state: State, works: Array, multipliers: Array, gaps: Array, met: SideSolution, moved: Array, newton: int
    ) -> Block:
        return Block(
            n=np.array([state.n]),
            u=state.u[None],
            v=state.v[None],
            works=works[None],
            multipliers=multipliers[None],
            gaps=gaps[None],
            action=Action.of(self._touch, met.impulse, met.status, moved, self.step).stacked(),
            iterations=met.iterations[None],
            residual=met.residual[None],
            newton=np.full((1, len(gaps)), newton),
        )

    def _motion(self, state: State, free: Array) -> Motion:
        """As `motion_of`, of each member."""
        moves, theta = self._assembly.contact.moves, self._theta
        place, speed = moves.of(state.u), moves.of(state.v)
        mean = (1.0 / theta - 1.0) * speed
        return Motion(place, speed, place + self.step * free, free / theta - mean, mean)

    def _meet(self, state: State, motion: Motion, t: float) -> SideSolution:
        """The impulses, by one Delassus operator on the points that come near contact in some member."""
        contact, touch, step, laws = self._assembly.contact, self._touch, self.step, self._assembly.laws
        out = SideSolution.none(laws, state.history)
        if not contact.count:
            return out
        closed = contact.closed(touch.gaps(motion.place + 0.5 * step * motion.speed), step * motion.speed)
        near = (closed | laws.always) & touch.paired
        if not near.any():
            return out
        some = contact.problem(np.flatnonzero(near.any(axis=0)))
        delassus = touch.delassus(self._condensed.compliance, some.rows)
        gaps, rates = touch.gaps(motion.end)[:, some.points], touch.speeds(motion.rate, step)[:, some.rows]
        start = touch.speeds(motion.speed, step)[:, some.rows]

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
