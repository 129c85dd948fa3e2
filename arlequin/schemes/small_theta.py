"""The θ-scheme for small linear systems: blocks of steps in one compiled loop."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.assembly import Assembly
from arlequin.condensed import Condensed
from arlequin.products import applied
from arlequin.schemes.arrays import sparse_rows, strain_arrays
from arlequin.schemes.block import Block
from arlequin.schemes.linear_step import LinearStep
from arlequin.schemes.passage import Passage, Projections
from arlequin.schemes.scheme import State
from arlequin.schemes.theta import Carried, ThetaStepper
from arlequin.touch import Touch
from models.small_factor import SmallFactor
from models.types import Array
from multilevel.closing import lasting
from multilevel.solver import STICK
from multilevel.stick import gain, softness

LARGEST = 500  # dofs up to which a step is worth a compiled loop
FEW = 200  # those of the loops that treat all dofs as full; rows of contact, which are solved for all together
_CACHED = 1 << 15  # values of a field of a block, at most: what is audited is still in cache


def is_small(assembly: Assembly) -> bool:
    """Whether steps may be taken in blocks: few dofs, strains in short form, contact of fixed pairings."""
    return (
        assembly.dof_count <= LARGEST
        and assembly.absorber is None
        and assembly.contact.fixed
        and assembly.laws.row_count <= FEW
        and assembly.strains is not None
    )


@dataclass(frozen=True)
class _Rested(Carried):
    """What a block carries along, with the points (k,) that stuck in its last step and what the springs of friction
    pull (r,), Pa: the history has it in space, from where it comes back with other last digits."""

    still: NDArray[np.bool_]
    held: Array


class SmallThetaStepper(ThetaStepper):
    """The same steps as `ThetaStepper`, which takes those that end in an error, to say it."""

    def __init__(self, assembly: Assembly, step: float, theta: float) -> None:
        super().__init__(assembly, step, theta)
        assert assembly.strains is not None
        assert isinstance(self._bulk, LinearStep)
        self._strains = assembly.strains
        given, free = assembly.imposed_dofs, np.flatnonzero(assembly.free)
        step_rows = sp.csr_array(self._bulk.matrix[free])
        factor = SmallFactor.of(sp.csr_array(step_rows[:, free]))
        viscous = assembly.viscous if assembly.viscous is not None else sp.csr_array((0, assembly.dof_count))
        columns = columns_of(self._bulk.condensed, assembly)
        # as the kernel takes them
        self._operators = (
            (factor.order, factor.starts, factor.rows, factor.values),
            free,
            given,
            sparse_rows(sp.csr_array(step_rows[:, given])),
            sparse_rows(assembly.mass),
            strain_arrays(self._strains),
            sparse_rows(viscous),
            sparse_rows(assembly.constraints),
            *columns[:2],
            sparse_rows(assembly.contact.basis),
            *columns[2:],
        )
        self._touch = assembly.contact.touch(np.zeros(assembly.contact.basis.shape[0]))

    def driven_as(self, assembly: Assembly) -> Self:
        """The same for an assembly that differs in its start, loads and the values of imposed motions alone."""
        other = copy(self)
        other._assembly = assembly
        return other

    def advance_block(self, state: State, count: int) -> tuple[State, Block] | None:
        """Up to `count` steps; None where the first one is not accepted."""
        assembly, theta, step, laws = self._assembly, self._theta, self.step, self._assembly.laws
        count = min(count, max(_CACHED // state.u.size, 1))
        loads = assembly.loads(step * np.arange(state.n, state.n + count + 1, dtype=float))
        external = (1.0 - theta) * loads[:-1] + theta * loads[1:]
        driven = np.zeros((count, 0))
        if assembly.imposed_dofs.size:
            driven = np.array([assembly.imposed((state.n + 1 + i) * step) for i in range(count)])
        d, r, k, m = state.u.size, laws.row_count, laws.count, assembly.constraints.shape[0]
        u, v, momentum, rest, internal, history, impulse = (
            np.array(x)
            for x in (
                state.u,
                state.v,
                state.own.momentum,
                state.own.rest,
                state.internal,
                state.history,
                state.impulse,
            )
        )
        kept: Any = (
            *(np.zeros((count, d)) for _ in range(3)),
            np.zeros((count, r)),
            np.zeros((count, 3, k)),
            np.zeros((count, k), dtype=np.int8),
            np.zeros((count, m)),
            np.zeros((count, r)),
        )
        figures = np.zeros(count, dtype=np.int64), np.zeros(count), *self._more(count)
        held = self._held(state).copy()
        share = gain(laws, theta, step)
        soft = softness(laws, share, theta * step)
        springs = np.zeros(r)
        springs[laws.sprung_rows] = soft[laws.sprung_points]
        tables = *laws.tables(soft), springs, share, *assembly.contact.method.numbers
        lasts = np.zeros(k, dtype=np.int8) if state.lasts is None else state.lasts.copy()
        now = u, v, momentum, rest, internal, history, impulse, held, lasts
        taken = self._take(count, (external, driven), tables, now, (kept, *figures))
        if not taken:
            return None
        out = [values[:taken] for values in (*kept, *figures)]
        # where the next step was tried in vain, these are its own
        u, v, impulse, held = (out[i][-1].copy() for i in (0, 1, 3, 7))
        lasts = lasting(out[4][-1].sum(axis=0), out[4][-1, 2], out[5][-1], STICK)
        laws.remember(history, held, self._touch.tangents)
        block, energies, sticks = self._audited(state, external[:taken], out)
        end = State(
            n=state.n + taken,
            u=u,
            v=v,
            history=history,
            internal=internal,
            kinetic=float(energies[-1, 0]),
            strain=float(energies[-1, 1]),
            asperity=float(energies[-1, 2]),
            impulse=impulse,
            own=_Rested(momentum, loads[taken], rest, sticks, held),
            lasts=lasts,
        )
        return end, block

    def _take(self, count: int, driven: tuple[Array, Array], laws: Any, state: Any, out: Any) -> int:
        """Fills `out` with up to `count` steps from a state, which becomes that of the last one; how many it took."""
        from arlequin.schemes._block_kernels import theta_block

        assembly = self._assembly
        return int(
            theta_block(
                count, self.step, self._theta,
                *self._operators, self._touch.gap, self._moving, assembly.contact.scale.touching,
                *driven, assembly.imposes_displacement,
                *laws, *state[:-1], *out,  # what lasts is the same on fixed normals
            )
        )  # fmt: skip

    def _more(self, count: int) -> list[Any]:
        """What is kept of the kinematics of so many steps: nothing, they are all the same."""
        return []

    def _projections(self, more: list[Any]) -> Projections | None:
        """Those of the velocities: none on fixed normals."""
        return None

    def _met(self, more: list[Any]) -> Touch:
        """The kinematics of the steps."""
        return self._touch

    def _audited(self, state: State, external: Array, out: Any) -> tuple[Block, Array, NDArray[np.bool_]]:
        """What is recorded of the steps; the energies (b, 3) at their ends (kinetic, strain, asperity), and the points
        that stuck in the last one."""
        assembly, laws = self._assembly, self._assembly.laws
        u, v, y, impulse, normal, status, multipliers, held, iterations, residuals, *more = out
        all_u, all_v = np.concatenate([state.u[None], u]), np.concatenate([state.v[None], v])
        strain = self._strains.at(all_u)
        springs = np.concatenate([self._held(state)[None], held]) if laws.has_springs else None
        passage = Passage(
            u=all_u,
            v=all_v,
            internal=self._strains.forces(strain),
            momentum=applied(assembly.mass, all_v),
            strain=self._strains.energy(strain),
            held=springs,
            y=y,
            damping=None if assembly.viscous is None else applied(assembly.viscous, y),
            external=external,
            multipliers=multipliers,
            impulse=impulse,
            normal=normal,
            status=status,
            iterations=iterations,
            residual=residuals,
        )
        projections = self._projections(more)
        sticks = self._sticking(status)
        still = sticks & np.concatenate([self._resting(state)[None], sticks[:-1]])
        met = self._met(more)
        audited = passage.audited(
            assembly, met, state.n + 1, self.step, self._theta, state.asperity, still, projections
        )
        return *audited, sticks[-1]

    def _sticking(self, status: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Points that stick at the end of each step (b, k); what softens friction slides a little where it sticks."""
        laws, touch = self._assembly.laws, self._touch
        rough = np.diff(np.append(touch.first, touch.rows)) > 1
        return (status == STICK) & rough & ~laws.sprung & (laws.tangential_compliance == 0.0)

    def _held(self, state: State) -> Array:
        """What the springs of friction pull (r,) in a state, Pa."""
        own = state.own
        return own.held if isinstance(own, _Rested) else self._assembly.laws.held(state.history, self._touch.tangents)

    def _resting(self, state: State) -> NDArray[np.bool_]:
        """Points (k,) that stick at the start of a block."""
        laws, touch = self._assembly.laws, self._touch
        if isinstance(state.own, _Rested):
            return state.own.still
        if not touch.frictional:
            return np.zeros(laws.count, dtype=bool)
        tangential = np.add.reduceat(_tangential(touch, state.impulse) ** 2, touch.first)
        held = tangential < (laws.friction * state.impulse[touch.first]) ** 2
        rests = np.add.reduceat(_tangential(touch, touch.rates(state.v)) ** 2, touch.first) == 0.0
        return held | rests


def _tangential(touch: Touch, values: Array) -> Array:
    """The values (r,) of the tangential rows; 0 on the normal ones."""
    out = values.copy()
    out[touch.first] = 0.0
    return out


def columns_of(condensed: Condensed, assembly: Assembly) -> tuple[Array, Array, Array, Array, Array]:
    """y (d, m) and φ (m, m) by C y = c, y (d, q) and what is taken off φ (m, q) by impulses on the contact's basis, and
    W (q, q)."""
    d, m, r = assembly.dof_count, *(rows.shape[0] for rows in (assembly.constraints, assembly.contact.basis))
    rest, none = np.zeros(assembly.imposed_dofs.size), np.zeros(d)
    by_constraint = [condensed.free(none, c, rest) for c in np.eye(m)]
    by_impulse = [condensed.response(p) for p in np.eye(r)]
    released = [condensed.constraint_response(p) for p in np.eye(r)]
    return (
        np.ascontiguousarray(np.array([free.y for free in by_constraint]).reshape(m, d).T),
        np.ascontiguousarray(np.array([free.multipliers for free in by_constraint]).reshape(m, m).T),
        np.ascontiguousarray(np.array(by_impulse).reshape(r, d).T),
        np.ascontiguousarray(np.array(released).reshape(r, m).T),
        np.ascontiguousarray(condensed.compliance.chosen(np.arange(r))) if r else np.zeros((0, 0)),
    )
