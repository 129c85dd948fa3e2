"""The θ-scheme for linear systems with steady contact: steps one by one, audited some at a time."""

import numpy as np

from arlequin.assembly import Assembly
from arlequin.products import applied
from arlequin.schemes.block import Block
from arlequin.schemes.linear_step import Drive, LinearStep, Start
from arlequin.schemes.passage import Passage
from arlequin.schemes.scheme import RESIDUAL_LIMIT, State
from arlequin.schemes.theta import Carried, ThetaStepper
from multilevel.law import Array

_CACHED = 1 << 17  # values of a field of a block, at most: what is audited is still in cache


def is_steady(assembly: Assembly) -> bool:
    """Whether steps may be audited together: linear parts, contact of fixed pairings, no wear."""
    return assembly.linear and assembly.contact.fixed and assembly.contact.wear_rate is None


class BlockedThetaStepper(ThetaStepper):
    """The same steps as `ThetaStepper`, which takes those that end in an error, to say it."""

    _bulk: LinearStep

    def __init__(self, assembly: Assembly, step: float, theta: float) -> None:
        super().__init__(assembly, step, theta)
        self._touch = assembly.contact.touch(np.zeros(assembly.contact.basis.shape[0]))

    def advance_block(self, state: State, count: int) -> tuple[State, Block] | None:
        """Up to `count` steps; None where the first one is not accepted."""
        from arlequin.schemes._step_kernels import move, push

        assembly, theta, step, none = self._assembly, self._theta, self.step, np.zeros(0)
        count = min(count, max(_CACHED // state.u.size, 1))
        loads = assembly.loads(step * np.arange(state.n, state.n + count + 1, dtype=float))
        went = self._room(state, (1.0 - theta) * loads[:-1] + theta * loads[1:])
        moves, laws = assembly.contact.moves, assembly.laws
        start = Start(moves.of(state.u), moves.of(state.v), state.internal, state.history, state.impulse)
        momentum, rest, taken = state.own.momentum, state.own.rest, 0
        for i in range(count):
            t1 = (state.n + i + 1) * step
            before = went.u[i], went.v[i]
            wanted = -rest if theta == 0.5 else (1.0 - theta) * applied(assembly.constraints, before[1])
            drive = Drive(momentum, went.external[i], wanted, self._given(*before, t1), t1)
            solved = self._bulk.solve_from(start, drive)
            contact, u, v = solved.meeting.solution, went.u[i + 1], went.v[i + 1]
            finite = move(*before, solved.y, step, theta, u, v)
            if contact.singular or not contact.residual <= RESIDUAL_LIMIT or not finite:
                break

            went.y[i] = solved.y
            went.multipliers[i], went.impulse[i], went.status[i] = solved.multipliers, contact.impulse, contact.status
            went.normal[i] = contact.stored, contact.dissipated, contact.multiplier
            went.iterations[i], went.residual[i] = contact.iterations, contact.residual
            if went.held is not None and contact.held is not None:
                went.held[i + 1] = laws.held(contact.history, self._touch.tangents)
            went.internal[i + 1], went.strain[i + 1] = assembly.internal(u)
            went.momentum[i + 1] = assembly.mass @ v
            if assembly.viscous is not None and went.damping is not None:
                went.damping[i] = assembly.viscous @ solved.y
            summed = np.empty_like(momentum)
            push(
                momentum, went.internal[i], went.internal[i + 1], none if went.damping is None else went.damping[i],
                went.external[i], assembly.pull(solved.multipliers, solved.meeting.impulse), step, theta,
                self._moving, went.momentum[i + 1], summed,
            )  # fmt: skip
            momentum, rest = summed, rest + applied(assembly.constraints, solved.y)
            start = Start(moves.of(u), moves.of(v), went.internal[i + 1], contact.history, contact.impulse)
            taken += 1
        if not taken:
            return None
        went = went.first(taken)
        block, energies = went.audited(assembly, self._touch, state.n + 1, step, theta, state.asperity)
        kinetic, strain, asperity = energies[-1].tolist()
        end = State(
            n=state.n + taken,
            u=went.u[-1],
            v=went.v[-1],
            history=start.history,
            internal=went.internal[-1],
            kinetic=kinetic,
            strain=strain,
            asperity=asperity,
            impulse=start.impulse,
            own=Carried(momentum, loads[taken], rest),
            memory=state.memory,
        )
        return end, block

    def _room(self, state: State, external: Array) -> Passage:
        """What the steps fill, with the state they start from."""
        assembly, laws, (count, d) = self._assembly, self._assembly.laws, external.shape
        held = np.zeros((count + 1, laws.row_count)) if laws.has_springs else None
        if held is not None:
            held[0] = laws.held(state.history, self._touch.tangents)
        went = Passage(
            u=np.empty((count + 1, d)),
            v=np.empty((count + 1, d)),
            internal=np.empty((count + 1, d)),
            momentum=np.empty((count + 1, d)),
            strain=np.empty(count + 1),
            held=held,
            y=np.empty((count, d)),
            damping=None if assembly.viscous is None else np.empty((count, d)),
            external=external,
            multipliers=np.empty((count, assembly.constraints.shape[0])),
            impulse=np.empty((count, laws.row_count)),
            normal=np.empty((count, 3, laws.count)),
            status=np.empty((count, laws.count), dtype=np.int8),
            iterations=np.empty(count, dtype=np.int64),
            residual=np.empty(count),
        )
        went.u[0], went.v[0], went.internal[0], went.strain[0] = state.u, state.v, state.internal, state.strain
        went.momentum[0] = assembly.mass @ state.v
        return went
