"""The θ-scheme of small linear systems in one compiled loop: contact of fixed normals, rigid bodies of the plane that
turn on flat obstacles (rows over (x, y, θ)), and the members of an ensemble, each in a loop of its own.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.energy import BulkWork, Forces, WorkPaths
from arlequin.linalg.products import applied
from arlequin.models.linalg.small_factor import SmallFactor
from arlequin.models.linalg.threads import map_pieces
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.multilevel.solvers.closing import persistence
from arlequin.multilevel.solvers.contact import STICK
from arlequin.multilevel.solvers.elastic_stick import ElasticStick, gain, tangential_compliance
from arlequin.multilevel.solvers.options import proximal_term
from arlequin.schemes.theta_sparse import NormalSplit, ThetaState, ThetaStepper
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.contact_step import SETTLED
from arlequin.solvers.linear_step import LinearStep
from arlequin.step.batch import StepBatch
from arlequin.step.impulses import ContactImpulses
from arlequin.step.scheme import Stepper, as_many
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.contact import Contact, used_rows
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.ensemble import Members, named
from arlequin.system.strains import Strains


@dataclass(frozen=True)
class Projections:
    """Of some steps (b,): the velocities (b, d) before they were projected, the impulses of that on the rows (b, r) and
    on the contact's basis (b, q), what these took, normal and in friction, and what imposed motions gave (b, 3), J, the
    gaps that layers carry (b, k), m, and the persistent rows (b, r); see `arlequin.solvers.velocity_projection`.
    """

    ends: Array
    impulse: Array
    spread: Array
    lost: Array
    layers: Array
    persistent: NDArray[np.bool_]


@dataclass(frozen=True)
class Passage:
    """States and steps, b of these: u, v, f_int(u), M v (b + 1, d), strain energy (b + 1,), what the springs of
    friction pull (b + 1, r); y, mean viscous and external forces (b, d), constraints' impulses (b, m), contact impulses
    (b, r), their normal parts (b, 3, k), status (b, k), and the figures of the contact problems (b,).

    damping, held: None where there is none.
    """

    u: Array
    v: Array
    internal: Array
    momentum: Array
    strain: Array
    held: Array | None
    y: Array
    damping: Array | None
    external: Array
    multipliers: Array
    impulse: Array
    normal: Array
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    residual: Array

    def audited(
        self,
        assembly: Assembly,
        kinematics: ContactKinematics,
        first: int,
        step: float,
        theta: float,
        asperity: float,
        still: Any = False,
        projections: Projections | None = None,
    ) -> tuple[StepBatch, Array]:
        """What is recorded of the steps from `first` (number) on, and their energies (b, 3) at the end: kinetic,
        strain, asperity; touch: of all steps, or some of one each; asperity: J, stored there at their start, with
        the springs of friction; still (b, k): points that do not slip, whatever round-off says."""
        laws, y, impulse, multipliers = assembly.laws, self.y, self.impulse, self.multipliers
        gaps = kinematics.gaps(applied(kinematics.basis, self.u[1:]))
        elastic_stick, loss = laws.energy(gaps if projections is None else projections.layers), None
        if self.held is not None:
            springs = ElasticStick(laws, self.held[:-1], self.held[1:], gain(laws, theta, step))
            loss = springs.loss(impulse, kinematics.rates(step * y), step, theta)
            elastic_stick = elastic_stick + laws.elastic_stick_energy(self.held[1:])
        ends, persistent = self.v[1:], laws.gap_rows
        if projections is not None:
            ends, persistent = projections.ends, projections.persistent
            impulse = impulse - projections.impulse
        path = 0.5 * step * (self.v[:-1] + ends)
        ways = WorkPaths.mean(step * y, path)
        mean = (1.0 - theta) * self.internal[:-1] + theta * self.internal[1:]
        damping = np.zeros_like(y) if self.damping is None else self.damping
        reaction = np.zeros_like(y)
        dofs = assembly.imposed_dofs
        if dofs.size:
            given = applied(assembly.constraints.T, multipliers) + applied(
                kinematics.basis.T, kinematics.apply_local_transposed(impulse)
            )
            gained = np.diff(self.momentum, axis=0) - applied(assembly.mass, self.v[1:] - ends)
            missing = (gained - given) / step + mean + damping - self.external
            reaction[:, dofs] = missing[:, dofs]
        forces = Forces(mean, damping, self.external, reaction)
        work = BulkWork.of(assembly, step, forces, multipliers, ways, y).works(
            step=step,
            rates=ways.on(kinematics),
            kinematics=kinematics,
            contact=NormalSplit(impulse, *np.moveaxis(self.normal, 1, 0)),
            stored_before=(self.strain[:-1], np.append(asperity, elastic_stick[:-1])),
            stored_after=(self.strain[1:], elastic_stick),
            loss=loss,
            persistent=persistent,
        )
        rows = kinematics.rates(path)
        if projections is not None:
            work["impact"] += projections.lost[:, 0]
            work["friction"] += projections.lost[:, 1]
            work["external_work"] += projections.lost[:, 2]
            rows = np.where(projections.persistent, kinematics.rates(step * y), rows)
        work["kinetic"] = 0.5 * np.vecdot(self.v[1:], self.momentum[1:])
        action = ContactImpulses.of(kinematics, impulse, self.status, rows, step, still, loss)
        if projections is not None:
            extra = ContactImpulses.of(kinematics, projections.impulse, self.status, 0.0 * rows, step)
            action = action.with_end_impulses(replace(extra, spread=projections.spread))
        block = StepBatch(
            n=first + np.arange(len(y)),
            u=self.u[1:],
            v=self.v[1:],
            works=work.values,
            multipliers=multipliers,
            gaps=gaps,
            contact=action,
            iterations=self.iterations,
            residual=self.residual,
            newton=np.ones_like(self.iterations),
        )
        return block, work.values[:, :3]


Rows = tuple[NDArray[np.int64], NDArray[np.int64], Array]


def sparse_rows(matrix: sp.csr_array) -> Rows:
    """A sparse matrix by rows: starts, columns, values."""
    matrix = sp.csr_array(matrix)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.astype(float)


def strain_arrays(strains: Strains) -> Any:
    """Strains by rows: starts, columns, values, weights, anchor, rows of parts."""
    return (*sparse_rows(strains.rows), strains.weights, strains.anchor, strains.own)


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
        and not assembly.laws.state_dependent
        and not assembly.laws.restitution.any()
    )


@dataclass(frozen=True)
class _Rested(ThetaState):
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
        self._touch = assembly.contact.kinematics(np.zeros(assembly.contact.basis.shape[0]))

    def driven_as(self, assembly: Assembly) -> Self:
        """The same for an assembly that differs in its start, loads and the values of imposed motions alone."""
        other = copy(self)
        other._assembly = assembly
        return other

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """Up to `count` steps; `ThetaStepper` repeats a failing step in order to raise its error."""
        assembly, theta, step, laws = self._assembly, self._theta, self.step, self._assembly.laws
        if push is not None:
            return super().advance(state, 1, push)
        count = min(count, max(_CACHED // state.u.size, 1))

        def given(most: int) -> tuple[Array, Array]:
            loads = assembly.loads(step * np.arange(state.n, state.n + most + 1, dtype=float))
            driven = np.zeros((most, 0))
            if assembly.imposed_dofs.size:
                driven = np.array([assembly.imposed((state.n + 1 + i) * step) for i in range(most)])
            return loads, driven

        count, (loads, driven) = as_many(given, count)
        external = (1.0 - theta) * loads[:-1] + theta * loads[1:]
        d, r, k, m = state.u.size, laws.row_count, laws.count, assembly.constraints.shape[0]
        u, v, momentum, rest, internal, history, impulse = (
            np.array(x)
            for x in (
                state.u,
                state.v,
                state.own.momentum,
                state.own.constraint_sum,
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
        compliance = tangential_compliance(laws, share, theta * step)
        table, kernels = laws.table(compliance)
        springs = np.zeros(r)
        springs[laws.elastic_stick_rows] = compliance[laws.elastic_stick_points]
        tables = *table[:6], kernels, *table[6:], springs, share, *assembly.contact.method.numbers
        lasts = np.zeros(k, dtype=np.int8) if state.lasts is None else state.lasts.copy()
        now = u, v, momentum, rest, internal, history, impulse, held, lasts
        taken = self._take(count, (external, driven), tables, now, (kept, *figures))
        if not taken:
            return super().advance(state)
        out = [values[:taken] for values in (*kept, *figures)]
        # where the next step was tried in vain, these are its own
        u, v, impulse, held = (out[i][-1].copy() for i in (0, 1, 3, 7))
        lasts = persistence(out[4][-1].sum(axis=0), out[4][-1, 2], out[5][-1], STICK)
        laws.store_spring_traction(history, held, self._touch.tangents)
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
        from arlequin.schemes._theta_kernels import theta_block

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

    def _met(self, more: list[Any]) -> ContactKinematics:
        """The kinematics of the steps."""
        return self._touch

    def _audited(self, state: State, external: Array, out: Any) -> tuple[StepBatch, Array, NDArray[np.bool_]]:
        """What is recorded of the steps; the energies (b, 3) at their ends (kinetic, strain, asperity), and the points
        that stuck in the last one."""
        assembly, laws = self._assembly, self._assembly.laws
        u, v, y, impulse, normal, status, multipliers, held, iterations, residuals, *more = out
        all_u, all_v = np.concatenate([state.u[None], u]), np.concatenate([state.v[None], v])
        strain = self._strains.at(all_u)
        springs = np.concatenate([self._held(state)[None], held]) if laws.has_elastic_stick else None
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
        laws, kinematics = self._assembly.laws, self._touch
        rough = np.diff(np.append(kinematics.first, kinematics.rows)) > 1
        return (status == STICK) & rough & ~laws.elastic_stick & (laws.tangential_compliance == 0.0)

    def _held(self, state: State) -> Array:
        """What the springs of friction pull (r,) in a state, Pa."""
        own = state.own
        return (
            own.held
            if isinstance(own, _Rested)
            else self._assembly.laws.spring_traction(state.history, self._touch.tangents)
        )

    def _resting(self, state: State) -> NDArray[np.bool_]:
        """Points (k,) that stick at the start of a block."""
        laws, kinematics = self._assembly.laws, self._touch
        if isinstance(state.own, _Rested):
            return state.own.still
        if not kinematics.frictional:
            return np.zeros(laws.count, dtype=bool)
        tangential = np.add.reduceat(_tangential(kinematics, state.impulse) ** 2, kinematics.first)
        held = tangential < (laws.friction * state.impulse[kinematics.first]) ** 2
        rests = np.add.reduceat(_tangential(kinematics, kinematics.rates(state.v)) ** 2, kinematics.first) == 0.0
        return held | rests


def _tangential(kinematics: ContactKinematics, values: Array) -> Array:
    """The values (r,) of the tangential rows; 0 on the normal ones."""
    out = values.copy()
    out[kinematics.first] = 0.0
    return out


def columns_of(condensed: Condensed, assembly: Assembly) -> tuple[Array, Array, Array, Array, Array]:
    """y (d, m) and φ (m, m) by C y = c, y (d, q) and what is taken off φ (m, q) by impulses on the contact's basis, and
    W (q, q)."""
    d, m, r = assembly.dof_count, *(rows.shape[0] for rows in (assembly.constraints, assembly.contact.basis))
    rest, none = np.zeros(assembly.imposed_dofs.size), np.zeros(d)
    by_constraint = [condensed.predict(none, c, rest) for c in np.eye(m)]
    by_impulse = [condensed.response(p) for p in np.eye(r)]
    released = [condensed.constraint_response(p) for p in np.eye(r)]
    return (
        np.ascontiguousarray(np.array([free.y for free in by_constraint]).reshape(m, d).T),
        np.ascontiguousarray(np.array([free.multipliers for free in by_constraint]).reshape(m, m).T),
        np.ascontiguousarray(np.array(by_impulse).reshape(r, d).T),
        np.ascontiguousarray(np.array(released).reshape(r, m).T),
        np.ascontiguousarray(condensed.compliance.chosen(np.arange(r))) if r else np.zeros((0, 0)),
    )


# values of a field of a block of all members: above the first blocks are as short as may be, the second is the most
_HELD, _MOST = 1 << 22, 1 << 24
# what each member has of a state
_FIELDS = "u", "v", "history", "internal", "impulse"
_ENERGIES = "kinetic", "strain", "asperity"


def are_small(members: Members) -> bool:
    """Whether steps may be taken in compiled loops, and the shortest blocks of all members at once have room."""
    size = members.count * members.assembly.dof_count
    return is_small(members.assembly) and size * SmallMembers.least_batch <= _MOST


class SmallMembers(Stepper):
    """The steps of `SmallThetaStepper` for each member, to the bit; threads take members side by side.

    A right-hand side of a small factor is solved in the first cache: nothing is gained by passes over it for many. One
    set of operators serves all.
    """

    least_batch = 64  # what a block costs beside them is then about as much as they do

    def __init__(self, members: Members, step: float, theta: float) -> None:
        self.step = step
        self._members = members
        self._stepper = SmallThetaStepper(members.assembly, step, theta)
        self._each = [self._stepper.driven_as(own) for own in members.each]

    def state_dict(self) -> Any:
        """The columns made so far."""
        return self._stepper.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self._stepper.load_state_dict(state)

    def start(self, u: Array, v: Array) -> State:
        """The members at t = 0, from u, v (n, d)."""
        return _together([named(i, partial(own.start, u[i], v[i])) for i, own in enumerate(self._each)])

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` steps, as many of each member: those before one that is not accepted, which the next call
        says."""
        count = min(count, max(_HELD // state.u.size, self.least_batch))

        def take(i: int, most: int) -> tuple[State, StepBatch]:
            return named(i, lambda: self._each[i].advance(_of(state, i), most))

        found = map_pieces(lambda i: take(i, count), range(self._members.count))
        least = min(len(batch) for _, batch in found)
        found = [own if len(own[1]) == least else take(i, least) for i, own in enumerate(found)]
        states, batches = zip(*found, strict=True)
        return _together(states), StepBatch.of_members(batches)


def _of(state: State, i: int) -> State:
    """That of one member."""
    own: Any = {name: getattr(state, name)[i] for name in _FIELDS}
    energies: Any = {name: float(getattr(state, name)[i]) for name in _ENERGIES}
    return State(n=state.n, **own, **energies, own=state.own[i])


def _together(states: Any) -> State:
    """One state of all members; `own` is a tuple of what each carries along."""
    stacked: Any = {name: np.array([getattr(state, name) for state in states]) for name in (*_FIELDS, *_ENERGIES)}
    return State(n=states[0].n, **stacked, own=tuple(state.own for state in states))


def corner_rows(interface: Interface, kin: Kinematics) -> tuple[Array, Array]:
    """Directions e (r, 2) of the rows of an interface, and the arms of their points from the body's centre (r, 2):
    e·a along the row and e × a across, m."""
    nodal, surface = used_rows(interface, kin).toarray(), interface.slave
    along, up = nodal[:, ::2], nodal[:, 1::2]  # (r, n) of the nodes
    x, y = (surface.positions - surface.part.positions[0]).T
    ways = np.stack([along.sum(axis=1), up.sum(axis=1)], axis=1)
    return ways, np.stack([along @ x + up @ y, up @ x - along @ y], axis=1)


@dataclass(frozen=True, eq=False)
class Corners:
    """Rows of H over the basis: columns (r,) where each begins there, width (r,): 3 on a body, 1 where it is a row of
    the basis; ways, arms (r, 2) as of `corner_rows`. reach (k,), m, turn (k,): see `rotating_block`."""

    columns: NDArray[np.int64]
    width: NDArray[np.int64]
    ways: Array
    arms: Array
    reach: Array
    turn: NDArray[np.int64]

    @classmethod
    def of(cls, contact: Contact) -> "Corners":
        """Of interfaces with flat obstacles."""
        columns, width, ways, arms, reach, turn = [], [], [], [], [], []
        for i, (a, b) in enumerate(pairwise(contact.span)):
            points = np.diff(contact.start)[i]
            if contact.steady[i]:
                columns.append(np.arange(a, b))
                width.append(np.ones(b - a, dtype=np.int64))
                ways.append(np.zeros((b - a, 2)))
                arms.append(np.zeros((b - a, 2)))
                reach.append(np.zeros(points))
                turn.append(np.full(points, a))
                continue
            own_ways, own_arms = corner_rows(contact.interfaces[i], contact.reference[i])
            columns.append(np.full(len(own_ways), a))
            width.append(np.full(len(own_ways), 3))
            ways.append(own_ways)
            arms.append(own_arms)
            reach.append(np.full(points, contact.sides[i][0].sagitta(np.array([0.0, 0.0, 1.0]))))
            turn.append(np.full(points, a + 2))
        return cls(
            np.concatenate(columns), np.concatenate(width), np.concatenate(ways), np.concatenate(arms),
            np.concatenate(reach), np.concatenate(turn),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class SteppedKinematics(ContactKinematics):
    """The kinematics of some steps, each in a configuration of its own: gap (b, k), place (b, q), and shares (b, r, 3)
    of the rows of the basis in those of H; normals and tangents are the same in all."""

    corners: Corners
    shares: Array

    @property
    def rows(self) -> int:
        return int(self.corners.columns.size)

    def apply_local(self, values: Array) -> Array:
        """H x (b, r) from values = basis · x (b, q)."""
        from arlequin.schemes._theta_kernels import turned

        return np.asarray(turned(self.shares, self.corners.columns, self.corners.width, values))

    def apply_local_transposed(self, impulse: Array) -> Array:
        """The impulses (b, r) on the rows of the basis (b, q)."""
        from arlequin.schemes._theta_kernels import spread

        corners = self.corners
        return np.asarray(spread(self.shares, corners.columns, corners.width, impulse, self.basis.shape[0]))


def is_rotating(assembly: Assembly) -> bool:
    """Whether steps may be taken in blocks all the same where the kinematics change: few dofs, strains in short form,
    no wear, and all that turns on flat obstacles."""
    contact = assembly.contact
    sides = zip(contact.steady, contact.pairings, contact.sides, strict=True)
    return (
        not contact.fixed
        and assembly.linear
        and assembly.dof_count <= LARGEST
        and max(contact.basis.shape[0], contact.laws.row_count) <= FEW
        and assembly.absorber is None
        and contact.wear_rate is None
        and not (assembly.constraints.shape[0] and assembly.imposed_dofs.size)
        and all(steady or (pairing.fixed and master.surface is None) for steady, pairing, (_, master) in sides)
        and assembly.strains is not None
        and not assembly.laws.state_dependent
        and not assembly.laws.restitution.any()
    )


class RotatingThetaStepper(SmallThetaStepper):
    """The same steps as `ThetaStepper`: each alternates between the impulses and the configuration at the middle of
    the step that they lead to, on which they act (`arlequin.solvers.contact_step.solve_contact_step`)."""

    def __init__(self, assembly: Assembly, step: float, theta: float) -> None:
        super().__init__(assembly, step, theta)
        self._corners = Corners.of(assembly.contact)
        active = assembly.free & ~assembly.massless & (assembly.mass.diagonal() > 0.0)
        self._inertia = columns_of(Condensed(assembly, assembly.mass, active), assembly)[2]

    def _take(self, count: int, driven: tuple[Array, Array], laws: Any, state: Any, out: Any) -> int:
        from arlequin.schemes._theta_kernels import rotating_block

        assembly, contact, corners = self._assembly, self._assembly.contact, self._corners
        method = contact.method
        arguments: Any = (
            count, self.step, self._theta,
            *self._operators, (corners.columns, corners.width, corners.ways, corners.arms), self._touch.gap,
            corners.reach, corners.turn, self._moving, contact.scale.touching, SETTLED * contact.sizes,
            contact.rotating, self._inertia, *driven, assembly.imposes_displacement,
            *laws, proximal_term(method.method, method.augmentation, True), *state, *out,
        )  # fmt: skip
        return int(rotating_block(*arguments))

    def _more(self, count: int) -> list[Any]:
        """Shares, gaps and places of the kinematics; what the projections of the velocities need."""
        contact = self._assembly.contact
        rows = contact.laws.row_count
        q, d = contact.basis.shape
        shapes = (rows, 3), (contact.count,), (q,), (d,), (rows,), (q,), (3,), (contact.count,)
        return [*(np.zeros((count, *shape)) for shape in shapes), np.zeros((count, rows), dtype=bool)]

    def _projections(self, more: list[Any]) -> Projections:
        return Projections(*more[3:])

    def _met(self, more: list[Any]) -> ContactKinematics:
        """The kinematics of the steps."""
        kinematics, (shares, gap, place) = self._touch, more[:3]
        return SteppedKinematics(
            basis_product=kinematics.basis_product,
            local=None,
            first=kinematics.first,
            gap=gap,
            place=place,
            normals=kinematics.normals,
            tangents=kinematics.tangents,
            positions=kinematics.positions,
            found=kinematics.found,
            corners=self._corners,
            shares=shares,
        )

    def _sticking(self, status: NDArray[np.int8]) -> NDArray[np.bool_]:
        """None: the corner of a body that turns on it moves in the mean of a step."""
        return np.zeros(status.shape, dtype=bool)
