"""The θ-scheme for linear systems with steady contact: steps one by one, audited some at a time."""

import numpy as np

from arlequin.assembly import Assembly
from arlequin.products import applied
from arlequin.schemes.block import Block
from arlequin.schemes.linear_step import Drive, LinearStep, Solved, Start
from arlequin.schemes.scheme import RESIDUAL_LIMIT, State
from arlequin.schemes.theta import Carried, ThetaStepper
from arlequin.schemes.trail import Trail
from models.types import Array

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
        self._touch = assembly.contact.touch(np.zeros(assembly.contact.basis.shape[0]))
        self._steady = all(part.steady for part in assembly.parts) and not callable(assembly.system.gravity)
        pulls = np.concatenate([assembly.constraints.indices, assembly.contact.basis.indices])
        self._pulled = np.flatnonzero((np.bincount(pulls, minlength=assembly.dof_count) > 0) & self._moving)

    def advance_block(self, state: State, count: int) -> tuple[State, Block] | None:
        """Up to `count` steps; None where the first one is not accepted."""
        from arlequin.schemes._member_kernels import move

        assembly, theta, step, laws = self._assembly, self._theta, self.step, self._assembly.laws
        count = min(count, max(_CACHED // state.u.size, 1))
        loads, externals = self._loads(state, count)
        held = laws.held(state.history, self._touch.tangents) if laws.has_springs else None
        went = Trail.room(assembly, state, count, held)
        start = Start(went.place[0], went.speed[0], state.internal, state.history, state.impulse)
        momentum, inertia, rest, taken = state.own.momentum, assembly.mass @ state.v, state.own.rest, 0
        for i in range(count):
            t1 = (state.n + i + 1) * step
            u0, v0, u1, v1 = went.u[i], went.v[i], went.u[i + 1], went.v[i + 1]
            external = externals[i]
            wanted = -rest if theta == 0.5 else (1.0 - theta) * applied(assembly.constraints, v0)
            solved = self._bulk.solve_from(start, Drive(momentum, external, wanted, self._given(u0, v0, t1), t1))
            contact, y = solved.meeting.solution, solved.y
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
            start = Start(went.place[i + 1], went.speed[i + 1], internal, contact.history, contact.impulse)
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
        solved: Solved,
        v: tuple[Array, Array],
        internal: tuple[Array, Array],
        external: Array,
        momenta: tuple[Array, Array, Array],
        sums: Array,
    ) -> Array:
        """The momentum (d,) carried on, and the works of the bulk in a step, into `sums` (5,).

        v, internal: at both ends; momenta: what was carried so far, M v₀ and M v₁.
        """
        from arlequin.schemes._member_kernels import settle

        assembly, theta, step, y = self._assembly, self._theta, self.step, solved.y
        momentum, before, inertia = momenta
        damping = y[None][:0] if assembly.viscous is None else (assembly.viscous @ y)[None]
        carried = np.empty_like(momentum)
        settle(
            step, theta, y[None], v[0][None], v[1][None], internal[0][None], internal[1][None], external[None],
            damping, momentum[None], inertia[None], self._moving, carried[None], sums[None],
        )  # fmt: skip
        pull = assembly.pull(solved.multipliers, solved.meeting.impulse)
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
