"""The explicit central-difference scheme.

Many steps of central differences of elastic parts that nothing else acts on but constraints: no contact and no springs.

A step is one pass over pieces of the parts, which threads share: at u_n the forces f and the energies, then

    v_{n+½} = v_{n−½} + Δt M⁻¹(f_ext − f + Cᵀφ),   u_{n+1} = u_n + Δt v_{n+½}.

With constraints a second pass follows, over the nodes that they pull alone: the first leaves these with the velocities
that follow without φ, and S φ = −C (v_{n−½} + Δt M⁻¹(f_ext − f)) / Δt, S = C M⁻¹Cᵀ, is solved in between; in absorbing
zones φ and the forces −D_a v̄_n are, by a factor of M + ½ Δt D_a with C. Sums over a piece are added up in the order
of the pieces: nothing depends on the number of threads.

Central differences of cells that deform: each step in as many sub-steps as they need to be stable.

The largest stable step of central differences.
"""

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.energy import KINDS, BulkWork, Forces, Work, WorkPaths
from arlequin.linalg.field_rows import FieldRows
from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.fem.dispersion import CorrectedAssembled
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.linalg.largest import largest_ratio
from arlequin.models.linalg.threads import Pace, map_pieces
from arlequin.models.part import Deforming, Nonlinear, is_viscous
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.multilevel.laws.wear import WearState
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.contact_step import ContactMotion, ContactStep, solve_contact_step
from arlequin.solvers.zoned import Zoned
from arlequin.step.acceptance import accept, accept_cells, accept_shape
from arlequin.step.batch import StepBatch, merge_time_steps
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.imposed import reaction
from arlequin.step.impulses import ContactImpulses
from arlequin.step.scheme import Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import BulkResponse, Memory


def stable_step(assembly: Assembly, u: Array | None = None) -> float:
    """Bound of the stable step, s, of the cells as they are at u (d,), or at rest.

    It is the positive root of ω² Δt² + 2 δ Δt = 4 (2/ω without damping): ω² ≤ max over parts ω_p² + bounds of the
    springs and of the contact laws; δ the largest eigenvalue of M⁻¹D, D of the parts and dashpots, whose force lags by
    half a step. Absorbing junctions do not change it.
    """
    square = max(_frequencies(assembly, u)) ** 2
    diagonal = _least_mass(assembly)
    with np.errstate(divide="ignore"):
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=~assembly.ghost)
    square += assembly.links.frequency_bound(diagonal) ** 2
    if assembly.laws.has_regular:
        square += assembly.contact.frequency_bound(inverse) ** 2
    decay = 0.0 if assembly.damping is None else largest_ratio(assembly.damping, inverse)
    root = decay + np.sqrt(decay**2 + 4.0 * square)
    return 4.0 / root if root > 0.0 else np.inf


def _limit_of_steps(assembly: Assembly, step: float, limit: float) -> float:
    """The step that is its own limit, s, from the limit l at a larger step Δt.

    The mass of dispersion-corrected parts grows with the step, M₀ + Δt²K/12: where such a part has the largest
    frequency, l² = 4/ω₀² + Δt²/3, and 6/ω₀² = (3l² − Δt²)/2.
    """
    largest = assembly.parts[int(np.argmax(_frequencies(assembly, None)))]
    square = 1.5 * limit**2 - 0.5 * step**2
    return math.sqrt(square) if isinstance(largest, CorrectedAssembled) and square > 0.0 else limit


def _frequencies(assembly: Assembly, u: Array | None) -> list[float]:
    pieces = assembly.split(np.zeros(assembly.dof_count) if u is None else u)
    return [
        part.frequency(piece) if isinstance(part, Deforming) else part.highest_frequency()
        for part, piece in zip(assembly.parts, pieces, strict=True)
    ]


def _least_mass(assembly: Assembly) -> Array:
    """The masses of the dofs (d,), kg, or a diagonal below the mass of parts where it is not diagonal."""
    parts = (
        part.least_mass if isinstance(part, CorrectedAssembled) else part.mass.diagonal() for part in assembly.parts
    )
    return np.concatenate(list(parts))


@checked_call
@dataclass(frozen=True)
class CentralDifference:
    """Central differences of parts with mass="lumped" or "dispersion"; contact impulses act on the velocities
    at half steps:

        M (v_{n+½} − v_{n−½}) = Δt [F(u_n, v_{n−½}) − D_a v̄_n] + Cᵀφ + BᵀP,   C v_{n+½} = 0
        u_{n+1} = u_n + Δt v_{n+½},   v̄_n = (v_{n−½} + v_{n+½})/2

    The stored part of regular laws is taken at g(u_n), their loss and the multipliers at v_{n+½}; a point is closed
    when g(u_n + ½ Δt v_n) ≤ 0. The damping of parts and dashpots lags by half a step: with it the order is 1, else 2.
    The damping D_a of absorbing junctions is implicit: the matrix of the step is M + ½ Δt D_a, diagonal outside the
    gluing zones.

    Stability without contact and damping of parts, F = f_ext − K u: let K_n = ½ v_{n−½}·(M v_{n−½} + Δt F_n) be the
    kinetic energy and S the strain energy. The first equation multiplied by v̄_n, on which Cᵀφ does no work, and
    u_{n+1} − u_n = Δt v_{n+½} give for f_ext = 0

        E_{n+1} − E_n = −Δt v̄_n·D_a v̄_n ≤ 0,   E_n = K_n + S(u_n).

    In terms of u_{n−½} = u_n − ½ Δt v_{n−½} the sum is E_n = ½ v_{n−½}·(M − ¼ Δt² K) v_{n−½} + ½ u_{n−½}·K u_{n−½},
    positive for Δt < 2/ω_max: the motion is bounded up to the limit without D_a, and beyond it is not (the mode with
    v_{n+½} = −v_{n−½} has v̄ = 0, so that D_a does not act on it at the limit). The damping of parts lowers the limit.
    Recorded velocities are v̄_n under the forces at t_n: without the multipliers' impulse to come.

    Layers on normals that turn: K_n has their force c_n as it was left at the end of a step, and the next step acts by
    c'_n, of the same pressures on its own normals. K_{n+1} − K_n is then the work of (c'_n + c_{n+1})/2 on
    u_{n+1} − u_n and ½ Δt v_{n−½}·(c'_n − c_n), which belongs to `scheme`: of first order in Δt, as c'_n.

    The mass of dispersion-corrected parts is factored once, and those of other parts must be lumped. It grows with Δt²:
    on such a part alone the stable step is √6/ω of Δt = 0, cΔt < H on bars.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 1.0)  # m, kg
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=1.0)  # N/m: ω = 1 rad/s
    >>> system = aq.System([mass], springs=[spring], velocity=1.0)  # m/s
    >>> result = aq.simulate(system, aq.CentralDifference(), duration=7.0, step=1.0)
    >>> u = result["part/mass"]["displacement"][:, 0, 0].values  # m
    >>> u[[1, 2, 4, 5, 7]].round(9).tolist()  # with ω Δt = 1 a period takes 6 steps, 2π for Δt → 0
    [1.0, 1.0, -1.0, -1.0, 1.0]
    >>> bool(abs(result["balance"]).max() < 1e-12)
    True
    """

    order = 2
    static = False
    frequency_error = -1.0 / 12.0  # sin(ωΔt/2) = ΩΔt/2

    def prepare(self, assembly: Assembly, step: float) -> Stepper:

        for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
            if (isinstance(own, Nonlinear) and not isinstance(own, Deforming)) or is_viscous(own):
                raise UserError(
                    f"part '{part.name}': CentralDifference steps neither rigid parts nor viscous ones: take Theta"
                )
        stepper = (BulkCentralStepper if BulkCentralStepper.takes(assembly) else CentralStepper)(assembly, step)
        if any(isinstance(part, Deforming) for part in assembly.parts):
            return SubsteppedStepper(assembly, stepper)
        limit = stable_step(assembly)
        if step >= limit:
            limit = _limit_of_steps(assembly, step, limit)
            raise UserError.parameter("step", step, f"must be below the central-difference limit of {limit:.6g} s")
        return stepper


@dataclass(frozen=True)
class _Carried:
    """half (d,): v_{n−½} and half of the push's impulse; damping (d,), external (d,): shares of the smooth forces;
    drag (d,): D_a v̄_n of the absorbing junctions without contact, N, and None without them; stored (k,), pushed (q,):
    stored contact forces at g(u_n), N; lift (d,): their share of the acceleration; a (d,): constrained
    (M + ½ Δt D_a)⁻¹(F_n − D_a v_{n−½}) without them; constraint (m,)."""

    half: Array
    damping: Array
    drag: Array | None
    external: Array
    stored: Array
    pushed: Array
    lift: Array
    a: Array
    constraint: Array


class _Acting(NamedTuple):
    """At an instant: gaps (k,), m, pressing forces of the layers (k,) and on rows (q,), N, the bulk, loads (d,), N."""

    gaps: Array
    stored: Array
    pushed: Array
    bulk: BulkResponse
    external: Array


class CentralStepper(Stepper):
    """Central differences; the matrix of every step is the diagonal mass, with ½ Δt D_a in absorbing zones."""

    restarts = True

    def __init__(self, assembly: Assembly, step: float) -> None:
        diagonal = assembly.mass.diagonal()
        off = [
            abs(part.mass - sp.diags_array(part.mass.diagonal())).max()
            for part in assembly.parts
            if part.mass.shape[0] and not isinstance(part, CorrectedAssembled)
        ]
        if max(off, default=0.0) > 1e-14 * diagonal.max() or (diagonal[~assembly.ghost] <= 0.0).any():
            raise UserError('central difference needs mass="lumped" or "dispersion" on every part')
        if assembly.laws.has_elastic_stick:
            raise UserError("central difference takes no friction with a stiffness: use SymplecticEuler or Theta")
        self.step, self._assembly = step, assembly
        self._mass, self.lumped = diagonal, not any(isinstance(part, CorrectedAssembled) for part in assembly.parts)
        if assembly.absorption is None:
            self._condensed: Condensed | Zoned = Condensed(assembly, assembly.mass)
        else:
            self._condensed = Zoned(assembly, 0.5 * step)

    def with_step(self, step: float) -> "CentralStepper":
        """The same with another step."""
        if self._assembly.absorption is not None:
            return type(self)(self._assembly, step)
        other = copy(self)
        other.step = step
        return other

    def restarted(self, state: State, n: int) -> State:
        """The state, step n of this stepper, from that of one with another step: v_{n−½} follows from v_n.

        The acceleration at t_n depends on v_n alone, M a = F_n − D_a v_n: it is the same for any step.

        The kinetic energy ½ v_{n−½}·M v_{n+½} changes with it, by ⅛ (Δt² − Δt′²) aᵀM a.
        """
        own = state.own
        half = state.v - 0.5 * self.step * (own.a + own.lift)
        force = own.external - state.internal - own.damping
        a, constraint, drag = self._acceleration(force, half, n, state.u, half)
        lift = self._condensed.response(own.pushed)
        own = replace(own, half=half, lift=lift, a=a, drag=drag, constraint=constraint)
        return replace(state, n=n, own=own, kinetic=self._kinetic(own, state.internal))

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """Starts at t_n with v_{n−½} = v_n − ½ Δt a_n, M a_n = F_n − D_a v_n, and the damping of parts and dashpots at
        v_{n−½}, as the steps take it, so that v_n is what they would have recorded."""
        return self._begun(u, v, n, self._acting(u, n, memory))

    def continued(self, state: State) -> State:
        """See `Restartable`: with the layers as they are worn."""
        if state.worn is None:
            return state
        begun = self._begun(state.u, state.v, state.n, self._acting(state.u, state.n, state.memory, state.worn))
        return replace(state, own=begun.own, kinetic=begun.kinetic)

    def _begun(self, u: Array, v: Array, n: int, acting: "_Acting") -> State:
        """The state at t_n of v_n, under what acts."""
        assembly, (_, _, pushed, bulk, external) = self._assembly, acting
        absorption = assembly.absorption
        at_once = self._condensed if absorption is None else Condensed(assembly, assembly.mass)
        half = v
        for _ in range(1 if assembly.damping is None else _LAGGING):
            before = half
            damping = self._damping(before)
            force = external - bulk.force - damping
            resisted = force if absorption is None else force - absorption.drag(v)
            solved = self._acceleration(resisted, v, n, u, None, at_once)
            half = v - 0.5 * self.step * (solved[0] + at_once.response(pushed))
            if np.abs(half - before).max() <= _ROUND_OFF * np.abs(half).max():
                break
        solved = self._acceleration(force, half, n, u, half)
        return self._first(acting, u, half, damping, solved, n, v)

    def start_at_half(self, u: Array, half: Array, n: int) -> State:
        """Starts at t_n with v_{n−½} (d,)."""
        acting = self._acting(u, n, None)
        *_, bulk, external = acting
        damping = self._damping(half)
        solved = self._acceleration(external - bulk.force - damping, half, n, u, half)
        return self._first(acting, u, half, damping, solved, n)

    def half_velocity(self, state: State) -> Array:
        """v_{n−½} (d,) of a state."""
        return np.asarray(state.own.half)

    def _acting(self, u: Array, n: int, memory: Memory | None, worn: WearState | None = None) -> "_Acting":
        """What acts at u and t_n; worn: of layers that are, which a start finds in the system itself."""
        assembly = self._assembly
        bulk = assembly.respond(u, assembly.start_memory() if memory is None else memory, self.step)
        if worn is None:
            touch = assembly.contact_start(u)
            kinematics, gaps = touch.kinematics, touch.gaps
        else:
            place = assembly.contact.basis_product(u)
            kinematics = assembly.contact.kinematics(place, worn=worn.reached)
            gaps = kinematics.gaps(place)
        stored = assembly.laws.area * assembly.laws.pressure(gaps)
        pushed = kinematics.apply_local_transposed(kinematics.normal(stored))
        return _Acting(gaps, stored, pushed, bulk, assembly.load(n * self.step))

    def _damping(self, v: Array) -> Array:
        """Forces (d,), N, of parts and dashpots at a velocity."""
        damping = self._assembly.damping
        return np.zeros_like(v) if damping is None else np.asarray(damping @ v)

    def _first(
        self,
        acting: "_Acting",
        u: Array,
        half: Array,
        damping: Array,
        solved: tuple[Array, Array, Array | None],
        n: int,
        v: Array | None = None,
    ) -> State:
        """The state at t_n of what acts there, v_{n−½}, the forces of damping, and the acceleration; v: v_n, by default
        that which follows."""
        (gaps, stored, pushed, bulk, external), (a, constraint, drag) = acting, solved
        lift = self._condensed.response(pushed)
        own = _Carried(half, damping, drag, external, stored, pushed, lift, a, constraint)
        if v is None:
            v = half + 0.5 * self.step * (a + lift)
        kinetic = self._kinetic(own, bulk.force)
        return State.first(self._assembly, u, v, bulk, gaps, kinetic=kinetic, own=own, n=n)

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """One step; `push` (d,), N, is a constant force of parts stepped elsewhere (its work is `junction`), on systems
        without absorbing junctions (see `DraggedStepper`).

        One half of its impulse acts at t_n, the other at t_{n+1}, so that it works on Δt (v_n + v_{n+1})/2 and keeps
        the order 2 where it changes between two steps.
        """
        assembly, step, own = self._assembly, self.step, state.own
        kick = None if push is None else (push, 0.5 * step * self._condensed.spread(push))
        before = own.half if kick is None else own.half + kick[1]
        free = before + step * own.a
        basis = assembly.contact.basis
        place, rate, speed, start = (applied(basis, field) for field in (state.u, free, state.v, before))
        meeting = solve_contact_step(
            assembly.contact,
            self._condensed.compliance,
            ContactMotion(place, speed, place + step * rate, rate, start, start),
            gap_per_velocity=step,
            step=step,
            theta=0.0,
            history=state.history,
            worn=state.worn,
            guess=state.impulse,
            sticks=state.lasts,
        )
        half = free + self._condensed.response(meeting.impulse)
        u = state.u + step * half
        accept(meeting.solution, u, (state.n + 1) * step, assembly=assembly)
        multipliers = step * own.constraint - self._condensed.constraint_response(meeting.impulse)
        return self._finish(state, (before, half), u, kick, meeting, multipliers)

    def spread(self, force: Array) -> Array:
        """M⁻¹ f (d,) or (d, r) of forces, without constraints and contact."""
        return self._condensed.spread(force)

    def paths(self, push: Callable[[int], Array], momentum: Array, count: int) -> Iterator[Array]:
        """Paths Δt (v_n + v_{n+1})/2 (d, r) of each of `count` steps under forces push(j) (d, r), constant in the step
        j, from momenta (d, r), linear bulk alone."""
        assembly, step = self._assembly, self.step
        u, v = np.zeros_like(momentum), self._condensed.spread(momentum)
        elastic, damped = np.zeros_like(momentum), None

        def kick(force: Array) -> Array:
            force = force - elastic
            if damped is not None:
                force -= damped
            return 0.5 * step * self._condensed.spread(force)

        for j in range(count):
            half = v + kick(push(j))
            u += step * half
            elastic = assembly.stiffness @ u
            damped = None if assembly.damping is None else assembly.damping @ half
            following = half + kick(push(j))
            yield 0.5 * step * (v + following)
            v = following

    def drive(self, state: State) -> tuple[Array, Array]:
        """Force and momentum (d,) that move the linear bulk on from a state."""
        return state.own.external - state.internal, self._assembly.mass @ state.v

    def _finish(
        self,
        state: State,
        halves: tuple[Array, Array],
        u: Array,
        kick: tuple[Array, Array] | None,
        meeting: ContactStep,
        multipliers: Array,
    ) -> tuple[State, StepBatch]:
        """Forces and velocity at the new time, energies and works; kick: the push and the velocity of half of it."""
        assembly, step, own = self._assembly, self.step, state.own
        before, half = halves
        n = state.n + 1
        if not assembly.linear:
            accept_shape(assembly, u, n * step)
        bulk = assembly.respond(u, state.memory, step)
        accept_cells(assembly, bulk, n * step)
        internal = bulk.force
        kinematics, contact = meeting.kinematics, meeting.solution
        gaps = kinematics.gaps(applied(kinematics.basis, u))
        stored = assembly.laws.area * assembly.laws.pressure(gaps)
        pushed = kinematics.apply_local_transposed(kinematics.normal(stored))
        none = np.zeros_like(u)
        damping = assembly.damping @ half if assembly.damping is not None else none
        external = assembly.load(n * step)
        a, constraint, drag = self._acceleration(external - internal - damping, half, n, u, half)
        lift = self._condensed.response(pushed)
        moving = half if kick is None else half + kick[1]
        carried = _Carried(moving, damping, drag, external, stored, pushed, lift, a, constraint)
        v = carried.half + 0.5 * step * (a + lift)

        du, driven = step * half, 0.5 * step * (before + half)
        ways = WorkPaths(du, path=du, impulse=driven, stored=du, slip=driven)

        mean_velocity = None if assembly.absorption is None else 0.5 * (before + half)
        drag = own.drag
        if drag is not None and meeting.impulse.any():
            assert isinstance(self._condensed, Zoned)
            drag = drag + self._condensed.drag_response(meeting.impulse)

        def balance() -> Array:
            inertia = self._momentum(half - before) / step + state.internal + own.damping - own.external
            return inertia if drag is None else inertia + drag

        mean = replace(contact, stored=0.5 * (contact.stored + step * stored))
        forces = Forces(
            0.5 * (state.internal + internal), 0.5 * (own.damping + damping), 0.5 * (own.external + external), none
        )
        bulk_work = BulkWork.of(assembly, step, forces, multipliers, ways, half, mean_velocity, drag)
        if drag is not None:
            bulk_work = replace(bulk_work, damping=bulk_work.damping + drag @ driven)
        work = bulk_work.works(
            step=step,
            rates=ways.on(kinematics),
            kinematics=kinematics,
            contact=mean,
            stored_before=state.stored,
            stored_after=(bulk.stored, assembly.laws.energy(gaps)),
            plastic=bulk.dissipated,
            persistent=meeting.persistent,
        )
        force = reaction(assembly, balance, (multipliers / step, meeting.impulse / step))
        work["external_work"] += float(force @ driven)  # an imposed motion acts by impulses
        if not assembly.contact.fixed and contact.stored.any():
            # the force of the layers at the start, of which the kinetic energy there knows, turns with their normals
            turned = kinematics.apply_local_transposed(kinematics.normal(contact.stored)) / step - own.pushed
            work["scheme"] -= 0.5 * step * float(applied(kinematics.basis, before) @ turned)
        work["kinetic"] = self._kinetic(carried, internal)
        path = 0.5 * step * (state.v + v)
        if kick is not None:
            push = kick[0]
            work["junction"] += float(push @ path)
            work["external_work"] -= float(push[assembly.imposed_dofs] @ path[assembly.imposed_dofs])
        return meeting.ended(
            assembly,
            state,
            (u, v),
            bulk,
            work,
            own=carried,
            multipliers=multipliers,
            path=path,
            contact=meeting.impulses(kinematics.rates(driven)),
            reaction=step * (force if kick is None else force - kick[0])[assembly.imposed_dofs],
        )

    def _kinetic(self, own: _Carried, internal: Array) -> float:
        """½ v_{n−½}·(M v_{n−½} + Δt F_n)."""
        assembly = self._assembly
        force = own.external - internal - own.damping + assembly.contact.basis_product.transposed(own.pushed)
        return 0.5 * float(own.half @ (self._momentum(own.half) + self.step * force))

    def _momentum(self, v: Array) -> Array:
        """M v (d,)."""
        return self._mass * v if self.lumped else self._assembly.mass @ v

    def _acceleration(
        self,
        force: Array,
        before: Array,
        n: int,
        u: Array,
        half: Array | None,
        condensed: Condensed | Zoned | None = None,
    ) -> tuple[Array, Array, Array | None]:
        """Constrained a (d,) of M a = F − D_a v̄, multipliers (m,), and the drag D_a v̄ (d,), N, of absorbing junctions.

        v̄ = before + ½ Δt a. half: v_{n−½} where v_{n−½} + Δt a is to keep the constraints and imposed motions.
        condensed: the matrix where it is not that of the step; a `Condensed` has no drag.
        """
        assembly, step = self._assembly, self.step
        condensed = self._condensed if condensed is None else condensed
        c = np.zeros(assembly.constraints.shape[0])
        given = None
        if assembly.imposed_dofs.size:
            now, following = assembly.imposed(n * step), assembly.imposed((n + 1) * step)
            values = np.where(assembly.imposes_displacement, following, 0.5 * (now + following))  # v at t_{n+½}
            wanted = StepCoefficients.of_central_differences(step).imposed(assembly, values, u, before)
            given = (wanted - half[assembly.imposed_dofs]) / step if half is not None else 0.0 * wanted
        if half is not None:
            c = -applied(assembly.constraints, half) / step
        if isinstance(condensed, Zoned):
            return condensed.braked(force, before, c, given)
        if not (force.any() or c.any() or (given is not None and given.any())):
            return np.zeros_like(force), np.zeros_like(c), None
        if not c.size and given is None:
            return condensed.spread(force), c, None
        free = condensed.predict(force, c, given)
        return free.y, free.multipliers, None


@dataclass(frozen=True, eq=False)
class _Piece:
    """Nodes from `first` up to `last` of a part, whose degrees of freedom are `dofs` of the system.

    force(u, out) writes their internal forces to out (d,), N, both of the part, and returns their share of its
    energy, J.
    """

    part: int
    axes: int
    dofs: slice
    first: int
    last: int
    mass: Array
    force: Callable[[Array, Array], float]


class BulkCentralStepper(CentralStepper):
    """Central differences of the bulk alone, with constraints or without."""

    def of_each_step(self) -> CentralStepper:
        """The stepper of any system, whose batches hold the motion of each step."""
        return CentralStepper(self._assembly, self.step)

    @staticmethod
    def takes(assembly: Assembly) -> bool:
        """Whether nothing but its own forces, loads and constraints acts on the bulk, and what is imposed is rest."""
        system = assembly.system
        return (
            all(isinstance(part, ElasticAssembled) for part in assembly.parts)
            and not any(isinstance(part, CorrectedAssembled) for part in assembly.parts)
            and all(item.rest for part in assembly.parts for item in part.imposed)
            and not (system.springs or assembly.contact_count)
            and assembly.damping is None
            and (assembly.absorption is None or assembly.constraints.shape[0] > 0)
        )

    fields_at_end = True

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """`count` steps, u and v of the last one alone; the general step where they do not stay finite."""
        if push is not None:
            return super().advance(state, 1, push)
        from arlequin.schemes._central_kernels import free_velocities, over_piece

        step, pieces, inverse, rows = self.step, self._pieces, self._inverse, self._constraint_rows
        zone, drag = self._absorbing_zone, None
        half, force = state.own.half.copy(), state.internal.copy()
        here, there, spare = state.u, np.empty_like(state.u), np.empty_like(state.u)
        pull = None if rows is None else np.zeros_like(half)
        dofs = self._assembly.imposed_dofs
        held = np.zeros((count, dofs.size))
        sums = np.zeros((count + 1, len(pieces), 9))  # the stored energy, and what `over_piece` adds up
        multipliers = np.zeros((count + 1, 0 if rows is None else rows.shape[0]))
        rates = np.zeros((count + 2, multipliers.shape[1]))  # C v_{n−½}
        absorbed = np.zeros(count + 1)
        if zone is not None:
            drag = state.own.drag[zone.dofs]

        def push_on(k: int, i: int, external: Array, u: Array, following: Array, joined: bool) -> None:
            """What the nodes of a piece that constraints pull, or its other nodes, do at the i-th instant, and how they
            go on from there."""
            piece, at, spans = pieces[k], pieces[k].dofs, self._spans[k][joined]
            if not spans.size:
                return
            if joined and rows is not None and pull is not None:
                own = slice(at.start + piece.axes * piece.first, at.start + piece.axes * piece.last)
                rows.write_transposed(multipliers[i], pull, own)
                if zone is not None and drag is not None:
                    zone.resist(drag, pull, own)
            fields = piece.mass, inverse[at], half[at], u[at], following[at]
            loaded = bool(external[at].any()) if self._steady is None else self._loaded[k]
            forces = force[at], external[at], external[at] if pull is None else pull[at]
            over_piece(piece.axes, loaded, joined, spans, step, *forces, *fields, sums[i, k, 1:])

        def resist(k: int, i: int, external: Array, u: Array, following: Array) -> None:
            """Internal forces of a piece at the i-th instant; nodes that no constraint pulls go on from there, the
            others get the velocities that follow without constraints."""
            piece, at, pulled = pieces[k], pieces[k].dofs, self._spans[k][True]
            if i:
                sums[i, k, 0] = piece.force(u[at], force[at])
            push_on(k, i, external, u, following, False)
            if pulled.size:
                free_velocities(piece.axes, pulled, step, force[at], external[at], inverse[at], half[at], following[at])

        numbers = range(len(pieces))
        for i in range(count + 1):
            external = self._load((state.n + i) * step) if i else state.own.external
            if i == count:  # pushed on as well, by the same code, for the same bits, and forgotten
                end, half = half, half.copy()
            map_pieces(partial(resist, i=i, external=external, u=here, following=there), numbers, self._paces[0])
            if rows is not None and pull is not None:
                if i:  # `there` has the free velocities
                    if zone is None:
                        rates[i], free = rows.products(half, there)
                        assert isinstance(self._condensed, Condensed)
                        multipliers[i] = self._condensed.multipliers(free / -step)
                    else:
                        rates[i] = rows.product(half)
                        multipliers[i], drag, after = zone.solve(half, there)
                else:
                    multipliers[i], rates[i] = state.own.constraint, rows.product(half)
                    if zone is not None:
                        after = zone.solve(half, there)[2]
                if zone is not None:
                    pull[zone.dofs] = 0.0
                    start = half[zone.dofs]
                join = partial(push_on, i=i, external=external, u=here, following=there, joined=True)
                map_pieces(join, numbers, self._paces[1])
                if zone is not None and drag is not None:
                    # on light nodes C v_{n+½} = 0 would be lost in the round-off of the drag over their mass
                    half[zone.free] = after
                    there[zone.free] = here[zone.free] + step * after
                    absorbed[i] = zone.loss(start, half[zone.dofs], drag)
            if i < count:
                if dofs.size:  # at rest: what the other forces are
                    held[i] = step * (force[dofs] - external[dofs] - (0.0 if pull is None else pull[dofs]))
                here, there = there, spare if i == 0 else here
        if rows is not None:
            rates[count + 1] = rows.product(half)
        if not np.isfinite(sums).all():
            return super().advance(state)  # one by one, until the one that is not finite raises
        a = inverse * (external - force if pull is None else external - force + pull)
        works, momenta = self._audit(state.strain, sums)
        works["junction"] = 0.5 * step * np.vecdot(multipliers[:-1], rates[:-2] + rates[1:-1])
        works["absorbed"] = absorbed[:-1]
        last_drag = None
        if zone is not None:
            last_drag = np.zeros_like(end)
            last_drag[zone.dofs] = drag
        reached = replace(
            state,
            n=state.n + count,
            u=here,
            v=end + 0.5 * step * a,
            internal=force,
            kinetic=float(works["kinetic"][-1]),
            strain=float(works["strain"][-1]),
            own=replace(state.own, half=end, drag=last_drag, external=external, a=a, constraint=multipliers[-1].copy()),
        )
        rest = 0.5 * (rates[1:-1] + rates[2:])
        batch = self._block(reached, works.values, momenta, step * multipliers[:-1], rest)
        return reached, replace(batch, reactions=held)

    def _audit(self, strain: float, sums: Array) -> tuple[Work, tuple[Array, ...]]:
        """Energies and works, and the momenta of the parts, from what was added up on each piece at each instant.

        The mean forces of a step work on Δt v_{n+½}, which is `half` after the push at its start.
        """
        whole = np.add.accumulate(sums, axis=1)[:, -1]  # one by one: the same whatever the number of steps
        whole[0, 0] = strain
        work = Work(np.zeros((len(sums) - 1, len(KINDS))))
        work["strain"], work["kinetic"] = whole[1:, 0], whole[1:, 1]
        internal, work["external_work"] = (
            0.5 * self.step * (whole[:-1, after] + whole[1:, before]) for after, before in ((4, 2), (5, 3))
        )
        work["scheme"] = internal - np.diff(whole[:, 0])
        momenta = []
        for part, own in enumerate(self._assembly.system.parts):
            mine = [piece.part == part for piece in self._pieces]
            momenta.append(np.add.accumulate(sums[1:, mine, 6 : 6 + own.components], axis=1)[:, -1])
        return work, tuple(momenta)

    def _block(
        self, end: State, works: Array, momenta: tuple[Array, ...], multipliers: Array, constraint_rates: Array
    ) -> StepBatch:
        """Of the steps up to a state."""
        count = len(works)
        kinematics = self._assembly.contact.kinematics(np.zeros(0))
        return StepBatch(
            n=end.n - count + 1 + np.arange(count),
            u=end.u[None],
            v=end.v[None],
            works=works,
            multipliers=multipliers,
            gaps=np.zeros((count, 0)),
            contact=ContactImpulses.none(kinematics).stacked(),
            iterations=np.zeros(count, dtype=np.int64),
            residual=np.zeros(count),
            newton=np.zeros(count, dtype=np.int64),
            momenta=momenta,
            constraint_rates=constraint_rates,
        )

    @cached_property
    def _inverse(self) -> Array:
        """M⁻¹ (d,), 0 where nothing moves."""
        return np.divide(1.0, self._mass, out=np.zeros_like(self._mass), where=self._assembly.free)

    @cached_property
    def _constraint_rows(self) -> FieldRows | None:
        """C; None without constraints."""
        constraints = self._assembly.constraints
        return FieldRows.of(constraints) if constraints.shape[0] else None

    @cached_property
    def _absorbing_zone(self) -> "_AbsorbingZone | None":
        """The dofs of absorbing junctions; None without them."""
        assembly = self._assembly
        if assembly.absorption is None:
            return None
        assert isinstance(self._condensed, Zoned)
        return _AbsorbingZone(assembly, self._condensed, self._mass, self.step)

    @cached_property
    def _pieces(self) -> tuple[_Piece, ...]:
        return tuple(_pieces(self._assembly, self._mass))

    @cached_property
    def _paces(self) -> tuple[Pace, Pace]:
        """Of the internal forces, and of what joins the parts."""
        return Pace(), Pace()

    @cached_property
    def _spans(self) -> list[tuple[Indices, Indices]]:
        """Runs (s, 2) of the nodes of each piece that no constraint and no absorbing zone pulls, and of its others."""
        rows, zone = self._constraint_rows, self._absorbing_zone
        pulled = np.zeros(self._mass.size, dtype=bool) if rows is None else rows.touched
        if zone is not None:
            pulled = pulled.copy()
            pulled[zone.dofs] = True
        return [_runs(p.first, pulled[p.dofs][p.axes * p.first : p.axes * p.last], p.axes) for p in self._pieces]

    @cached_property
    def _steady(self) -> Array | None:
        """The loads where they are the same at all times."""
        assembly = self._assembly
        same = all(part.steady for part in assembly.parts) and not callable(assembly.system.gravity)
        return assembly.load(0.0) if same else None

    @cached_property
    def _loaded(self) -> list[bool]:
        """The pieces with steady loads."""
        assert self._steady is not None
        spans = [self._steady[p.dofs][p.axes * p.first : p.axes * p.last] for p in self._pieces]
        return [bool(span.any()) for span in spans]

    def _load(self, t: float) -> Array:
        return self._assembly.load(t) if self._steady is None else self._steady


class _AbsorbingZone:
    """The dofs z (ascending) on which D_a or C acts, `free` but where motions are imposed, and a step there:

        M v_{n+½} = M v* − Δt D_a v̄ + Δt Cᵀφ,   C v_{n+½} = 0,

    with v* = v_{n−½} + Δt M⁻¹(f_ext − f). The forces Cᵀφ − D_a v̄ then act on the bare mass.
    """

    def __init__(self, assembly: Assembly, zoned: Zoned, mass: Array, step: float) -> None:
        self.dofs, self.free = zoned.resisting, zoned.zone
        self._step, self._mass, self._zoned = step, mass[self.free], zoned
        self._no_rates = np.zeros(assembly.constraints.shape[0])

    def solve(self, half: Array, free: Array) -> tuple[Array, Array, Array]:
        """φ (m,), D_a v̄ (z,), N, and v_{n+½} of the free dofs of the zone, from v_{n−½} and v* (d,)."""
        brake, push = self._zoned.brake, self._mass * free[self.free]
        found = brake.solve(push, self._no_rates, 0.5 * half[self.free], self._step)
        return found.multipliers / self._step, self._zoned.drag(found), found.y

    def loss(self, before: Array, after: Array, drag: Array) -> float:
        """Δt v̄·D_a v̄, J, from v_{n−½}, v_{n+½} and the drag (z,).

        As in `viscous_losses` but for a sum whose bits do not depend on the number of threads, as those of BLAS do.
        """
        return self._step * max(float((0.5 * (before + after) * drag).sum()), 0.0)

    def resist(self, drag: Array, pull: Array, at: slice) -> None:
        """Takes the drag (z,) off the forces (d,) of the nodes of a piece, degrees of freedom `at`."""
        mine = slice(*(int(i) for i in np.searchsorted(self.dofs, (at.start, at.stop))))
        pull[self.dofs[mine]] -= drag[mine]


def _pieces(assembly: Assembly, mass: Array) -> Iterator[_Piece]:
    """Those of the parts, one part after the other."""
    for i, (part, at) in enumerate(zip(assembly.parts, assembly.places, strict=True)):
        assert isinstance(part, ElasticAssembled)
        axes = part.components
        nodal = np.ascontiguousarray(mass[at][::axes])
        if part.cell_forces is None:
            yield _Piece(i, axes, at, 0, nodal.size, nodal, partial(_whole, part))
            continue
        for piece in part.cell_forces.pieces:
            yield _Piece(i, axes, at, piece.first, piece.last, nodal, partial(part.cell_forces.force, piece))


def _runs(first: int, pulled: NDArray[np.bool_], axes: int) -> tuple[Indices, Indices]:
    """Runs (s, 2) of nodes, from `first` on, none of whose degrees of freedom (n · axes,) is pulled, and of the others.

    Beside pulled ones, runs of fewer than `_SHORT` nodes that are not pulled count as pulled.
    """
    free = np.logical_not(pulled.reshape(-1, axes).any(axis=1))
    if not free.all():
        for start, end in _bounds(free):
            free[start:end] = end - start >= _SHORT
    return first + _bounds(free), first + _bounds(~free)


def _bounds(chosen: NDArray[np.bool_]) -> Indices:
    """First and last + 1 (s, 2) of each run of true values."""
    edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
    return edges.reshape(-1, 2)


def _whole(part: ElasticAssembled, u: Array, out: Array) -> float:
    out[:], energy = part.internal(u)
    return energy


_LAGGING = 200  # iterations of the damping at a start during a run, at most
_ROUND_OFF = 1e-15  # of velocities
_SHORT = 64  # nodes of a run below which it does not pay to step it apart from its neighbours
_WATCHED = 25  # sub-steps between two looks at the stable step
_SAFE = 0.85  # of the stable step: the cells change until it is looked at again
_EDGE = 0.95  # of the stable step, from which on a step goes on in shorter sub-steps: twice as many at least
_FEWER = 0.8  # of the sub-steps so far, at which fewer are taken: each change of the step is felt
_MOST = 100_000  # sub-steps of a step


@dataclass(frozen=True)
class _Inside:
    """The state of the sub-steps, and how many a step has."""

    state: State
    count: int


class SubsteppedStepper(Stepper):
    """Steps Δt, each as m equal steps of central differences; m follows the stable step of the cells as they are."""

    restarts = True

    def __init__(self, assembly: Assembly, stepper: CentralStepper) -> None:
        self.step = stepper.step
        self._assembly = assembly
        self._stepper = stepper

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt."""
        count = self._needed(u, n * self.step)
        state = self._with(count).start(u, v, n * count, memory)
        return replace(state, n=n, own=_Inside(state, count))

    def continued(self, state: State) -> State:
        """See `Restartable`."""
        own = state.own
        inner = self._with(own.count).continued(replace(own.state, n=state.n * own.count, worn=state.worn))
        return replace(state, own=_Inside(inner, own.count), kinetic=inner.kinetic)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One step."""
        inner, parts = replace(state.own.state, worn=state.worn), state.own.count
        n, changed = state.n, 0.0
        batches: list[StepBatch] = []
        needed = self._needed(inner.u, n * self.step)
        change = needed > parts or needed < _FEWER * parts
        done = 0
        while done < parts or change:
            if change:
                before, done = inner.kinetic, done * needed // parts
                parts, stepper = needed, self._with(needed)
                inner = stepper.restarted(inner, n * parts + done)
                changed += inner.kinetic - before
                change = False
            else:
                stepper = self._with(parts)
            for _ in range(min(_WATCHED, parts - done)):
                inner, batch = stepper.advance(inner)
                batches.append(batch)
                done += 1
            if done < parts:
                # a part of a step done is that of a multiple of its sub-steps
                least = self._needed(inner.u, (n + done / parts) * self.step)
                if least * _SAFE > parts * _EDGE:
                    needed, change = math.ceil(least / parts) * parts, True
        whole = merge_time_steps(batches).numbered(n + 1)
        whole.work["scheme"] = whole.work["scheme"] - changed
        return replace(inner, n=n + 1, own=_Inside(inner, parts)), whole

    def _with(self, count: int) -> CentralStepper:
        step = self.step / count
        if self._stepper.step != step:  # the last one is kept: its matrix may depend on the step
            self._stepper = self._stepper.with_step(step)
        return self._stepper

    def _needed(self, u: Array, t: float) -> int:
        """Sub-steps of a step."""
        needed = math.ceil(self.step / (_SAFE * stable_step(self._assembly, u)))
        if needed > _MOST:
            raise UserError(
                f"central differences at t = {t:.6g} s: cells have become so small that a step needs {needed} "
                f"sub-steps ({_MOST} allowed): the strains are too large for the mesh",
                code=1,
            )
        return needed
