"""Single steps of central differences, for any system."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from arlequin.energy import BulkWork, Forces, WorkPaths
from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.part import FullMass
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.contact_step import ContactMotion, ContactStep, solve_contact_step
from arlequin.solvers.zoned import Zoned
from arlequin.step.acceptance import accept, accept_cells, accept_shape
from arlequin.step.batch import StepBatch
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.imposed import reaction
from arlequin.step.scheme import Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import BulkResponse, Memory

_MAX_DAMPING_ITERATIONS = 200  # of the initial half-step velocity
_ROUND_OFF = 1e-15  # relative, of velocities


@dataclass(frozen=True)
class CentralState:
    """half (d,): v_{n−½} with half of the push's impulse; damping, external (d,): terms of the smooth forces, N;
    drag (d,): D_a v̄_n of the absorbing junctions without contact, N, and None without them; stored (k,), pushed (q,):
    stored contact forces at g(u_n), N; lift (d,): the acceleration by them; a (d,): constrained
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
    """Gaps (k,), m, forces of the layers (k,) and on the basis (q,), N, bulk response, loads (d,), N, at an instant."""

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
        off_diagonal = [
            abs(part.mass - sp.diags_array(part.mass.diagonal())).max()
            for part in assembly.parts
            if part.mass.shape[0] and not isinstance(part, FullMass)
        ]
        if max(off_diagonal, default=0.0) > 1e-14 * diagonal.max() or (diagonal[~assembly.ghost] <= 0.0).any():
            raise UserError('central difference needs mass="lumped" or "dispersion" on every part')
        if assembly.laws.has_elastic_stick:
            raise UserError("central difference takes no friction with a stiffness: use SymplecticEuler or Theta")
        self.step, self._assembly = step, assembly
        self._mass, self.lumped = diagonal, not any(isinstance(part, FullMass) for part in assembly.parts)
        if assembly.absorption is None:
            self._condensed: Condensed | Zoned = Condensed(assembly, assembly.mass)
        else:
            self._condensed = Zoned(assembly, 0.5 * step)

    @staticmethod
    def takes(assembly: Assembly) -> bool:
        """True: the stepper supports any system."""
        return True

    @cached_property
    def _steady(self) -> Array | None:
        """Constant loads (d,), N; None if they vary."""
        assembly = self._assembly
        same = all(part.steady for part in assembly.parts) and not callable(assembly.system.gravity)
        return assembly.load(0.0) if same else None

    def with_step(self, step: float) -> "CentralStepper":
        """A stepper with another step."""
        if self._assembly.absorption is not None:
            return type(self)(self._assembly, step)
        other = copy(self)
        other.step = step
        return other

    def restarted(self, state: State, n: int) -> State:
        """The state as step n of this stepper, from a stepper with another step: v_{n−½} follows from v_n.

        The acceleration at t_n depends on v_n alone, M a = F_n − D_a v_n: it is the same for any step.

        The kinetic energy ½ v_{n−½}·M v_{n+½} changes with it, by ⅛ (Δt² − Δt′²) aᵀM a.
        """
        scheme_state = state.scheme_state
        half = state.v - 0.5 * self.step * (scheme_state.a + scheme_state.lift)
        force = scheme_state.external - state.internal - scheme_state.damping
        a, constraint, drag = self._acceleration(force, half, n, state.u, half)
        lift = self._condensed.response(scheme_state.pushed)
        scheme_state = replace(scheme_state, half=half, lift=lift, a=a, drag=drag, constraint=constraint)
        return replace(state, n=n, scheme_state=scheme_state, kinetic=self._kinetic(scheme_state, state.internal))

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t_n with v_{n−½} = v_n − ½ Δt a_n, M a_n = F_n − D_a v_n, and the damping of parts and dashpots
        at v_{n−½}, as in the steps, so that v_n is the velocity which they would record."""
        return self._begun(u, v, n, self._acting(u, n, memory))

    def continued(self, state: State) -> State:
        """See `Stepper.continued`: the accelerations with worn layers and the internal variables of springs."""
        if state.worn is None and not self._assembly.laws.memory:
            return state
        acting = self._acting(state.u, state.n, state.memory, state.worn, state.history)
        restarted = self._begun(state.u, state.v, state.n, acting)
        return replace(state, scheme_state=restarted.scheme_state, kinetic=restarted.kinetic)

    def _begun(self, u: Array, v: Array, n: int, acting: "_Acting") -> State:
        """The state at t_n of v_n under the forces `acting`."""
        assembly, (_, _, pushed, bulk, external) = self._assembly, acting
        absorption = assembly.absorption
        at_once = self._condensed if absorption is None else Condensed(assembly, assembly.mass)
        half = v
        for _ in range(1 if assembly.damping is None else _MAX_DAMPING_ITERATIONS):
            previous = half
            damping = self._damping(previous)
            force = external - bulk.force - damping
            resisted = force if absorption is None else force - absorption.drag(v)
            acceleration = self._acceleration(resisted, v, n, u, None, at_once)
            half = v - 0.5 * self.step * (acceleration[0] + at_once.response(pushed))
            if np.abs(half - previous).max() <= _ROUND_OFF * np.abs(half).max():
                break
        acceleration = self._acceleration(force, half, n, u, half)
        return self._first(acting, u, half, damping, acceleration, n, v)

    def start_at_half(self, u: Array, half: Array, n: int, springs: Array) -> State:
        """The state at t_n with v_{n−½} = `half` (d,) and the internal variables `springs` (m,) of springs."""
        laws = self._assembly.laws
        history = laws.start_history(self._assembly.contact.gaps(u))
        history[laws.memory_rows, 1] = springs
        acting = self._acting(u, n, None, None, history)
        *_, bulk, external = acting
        damping = self._damping(half)
        acceleration = self._acceleration(external - bulk.force - damping, half, n, u, half)
        first = self._first(acting, u, half, damping, acceleration, n)
        return replace(first, history=history) if laws.memory else first

    def half_velocity(self, state: State) -> Array:
        """v_{n−½} (d,) of a state."""
        return np.asarray(state.scheme_state.half)

    def _acting(
        self, u: Array, n: int, memory: Memory | None, worn: WearState | None = None, history: Array | None = None
    ) -> "_Acting":
        """The forces at u and t_n; worn, history (l, h): wear and internal variables of the laws, None at the start of
        a run (then those of the system)."""
        assembly = self._assembly
        bulk = assembly.respond(u, assembly.start_memory() if memory is None else memory, self.step)
        if worn is None:
            contact_start = assembly.contact_start(u)
            kinematics, gaps = contact_start.kinematics, contact_start.gaps
            history = contact_start.history if history is None else history
        else:
            displacement = assembly.contact.basis_product(u)
            kinematics = assembly.contact.kinematics(displacement, worn=worn.at_start())
            gaps = kinematics.gaps(displacement)
        stored = self._stored_forces(gaps, history)
        pushed = kinematics.apply_local_transposed(kinematics.normal(stored))
        return _Acting(gaps, stored, pushed, bulk, assembly.load(n * self.step))

    def _stored_forces(self, gaps: Array, history: Array | None) -> Array:
        """Stored forces (k,), N, of the laws at the gaps (k,) with the internal variables of a history (l, h)."""
        laws = self._assembly.laws
        pressure = laws.pressure(gaps)
        if laws.memory and history is not None:
            pressure += laws.memory_pressure(history)
        return laws.area * pressure

    def _damping(self, v: Array) -> Array:
        """Damping forces (d,), N, of parts and dashpots at a velocity (d,)."""
        damping = self._assembly.damping
        return np.zeros_like(v) if damping is None else np.asarray(damping @ v)

    def _first(
        self,
        acting: "_Acting",
        u: Array,
        half: Array,
        damping: Array,
        acceleration: tuple[Array, Array, Array | None],
        n: int,
        v: Array | None = None,
    ) -> State:
        """The state at t_n from the forces, v_{n−½}, the damping forces and the acceleration there; v: v_n, by default
        the one that follows from them."""
        (gaps, stored, pushed, bulk, external), (a, constraint, drag) = acting, acceleration
        lift = self._condensed.response(pushed)
        scheme_state = CentralState(half, damping, drag, external, stored, pushed, lift, a, constraint)
        if v is None:
            v = half + 0.5 * self.step * (a + lift)
        kinetic = self._kinetic(scheme_state, bulk.force)
        return State.first(self._assembly, u, v, bulk, gaps, kinetic=kinetic, scheme_state=scheme_state, n=n)

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """One step; `push` (d,), N: constant force from parts with another time step (its work is `junction`), on
        systems without absorbing junctions (see `DraggedStepper`).

        One half of its impulse acts at t_n, the other at t_{n+1}, so that it works on Δt (v_n + v_{n+1})/2 and keeps
        the order 2 where it changes between two steps.
        """
        assembly, step, scheme_state = self._assembly, self.step, state.scheme_state
        kick = None if push is None else (push, 0.5 * step * self._condensed.spread(push))
        before = scheme_state.half if kick is None else scheme_state.half + kick[1]
        free = before + step * scheme_state.a
        basis = assembly.contact.basis
        displacement, rate, velocity, start = (applied(basis, field) for field in (state.u, free, state.v, before))
        contact_step = solve_contact_step(
            assembly.contact,
            self._condensed.compliance,
            ContactMotion(displacement, velocity, displacement + step * rate, rate, start, start),
            gap_per_velocity=step,
            step=step,
            theta=0.0,
            history=state.history,
            worn=state.worn,
            guess=state.impulse,
            sticks=state.contact_flags,
        )
        half = free + self._condensed.response(contact_step.impulse)
        u = state.u + step * half
        accept(contact_step.solution, u, (state.n + 1) * step, assembly=assembly)
        multipliers = step * scheme_state.constraint - self._condensed.constraint_response(contact_step.impulse)
        return self._finish(state, (before, half), u, kick, contact_step, multipliers)

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
        """Force, N, and momentum, N·s, (d,) of the linear bulk at a state."""
        return state.scheme_state.external - state.internal, self._assembly.mass @ state.v

    def _finish(
        self,
        state: State,
        halves: tuple[Array, Array],
        u: Array,
        kick: tuple[Array, Array] | None,
        contact_step: ContactStep,
        multipliers: Array,
    ) -> tuple[State, StepBatch]:
        """Forces and velocity at the end, energies and works; kick: the push, and the velocity by half its impulse."""
        assembly, step, scheme_state = self._assembly, self.step, state.scheme_state
        before, half = halves
        n = state.n + 1
        if not assembly.linear:
            accept_shape(assembly, u, n * step)
        bulk = assembly.respond(u, state.memory, step)
        accept_cells(assembly, bulk, n * step)
        internal = bulk.force
        kinematics, contact = contact_step.kinematics, contact_step.solution
        gaps = kinematics.gaps(applied(kinematics.basis, u))
        stored = self._stored_forces(gaps, contact.history)
        pushed = kinematics.apply_local_transposed(kinematics.normal(stored))
        zero = np.zeros_like(u)
        damping = assembly.damping @ half if assembly.damping is not None else zero
        external = assembly.load(n * step)
        a, constraint, drag = self._acceleration(external - internal - damping, half, n, u, half)
        lift = self._condensed.response(pushed)
        moving = half if kick is None else half + kick[1]
        end_state = CentralState(moving, damping, drag, external, stored, pushed, lift, a, constraint)
        v = end_state.half + 0.5 * step * (a + lift)

        du, mean_path = step * half, 0.5 * step * (before + half)
        paths = WorkPaths(du, path=du, impulse=mean_path, stored=du, slip=mean_path)

        mean_velocity = None if assembly.absorption is None else 0.5 * (before + half)
        drag = scheme_state.drag
        if drag is not None and contact_step.impulse.any():
            assert isinstance(self._condensed, Zoned)
            drag = drag + self._condensed.drag_response(contact_step.impulse)

        def balance() -> Array:
            inertia = (
                self._momentum(half - before) / step + state.internal + scheme_state.damping - scheme_state.external
            )
            return inertia if drag is None else inertia + drag

        # laws with a memory split the force at the start into a stored part and the loss on the path of the step
        by_path = np.where(assembly.laws.with_memory, contact.dissipated, 0.0)
        stored_before = contact.stored + by_path
        mean = replace(contact, stored=0.5 * (stored_before + step * stored) - by_path)
        forces = Forces(
            0.5 * (state.internal + internal),
            0.5 * (scheme_state.damping + damping),
            0.5 * (scheme_state.external + external),
            zero,
        )
        bulk_work = BulkWork.of(assembly, step, forces, multipliers, paths, half, mean_velocity, drag)
        if drag is not None:
            bulk_work = replace(bulk_work, damping=bulk_work.damping + drag @ mean_path)
        work = bulk_work.works(
            step=step,
            rates=paths.on(kinematics).with_potential(assembly.laws.rows_of_memory),
            kinematics=kinematics,
            contact=mean,
            stored_before=state.stored,
            stored_after=(bulk.stored, assembly.laws.energy(gaps) + assembly.laws.memory_energy(contact.history)),
            plastic=bulk.dissipated,
            persistent=contact_step.persistent,
            films=assembly.laws.films,
        )
        force = reaction(assembly, balance, (multipliers / step, contact_step.impulse / step))
        work["external_work"] += float(force @ mean_path)  # an imposed motion acts by impulses
        if not assembly.contact.fixed and stored_before.any():
            # the kinetic energy at the start contains the layers' forces on the normals of the step before
            pushed_change = (
                kinematics.apply_local_transposed(kinematics.normal(stored_before)) / step - scheme_state.pushed
            )
            work["scheme"] -= 0.5 * step * float(applied(kinematics.basis, before) @ pushed_change)
        work["kinetic"] = self._kinetic(end_state, internal)
        path = 0.5 * step * (state.v + v)
        if kick is not None:
            push = kick[0]
            work["junction"] += float(push @ path)
            work["external_work"] -= float(push[assembly.imposed_dofs] @ path[assembly.imposed_dofs])
        return contact_step.ended(
            assembly,
            state,
            (u, v),
            bulk,
            work,
            scheme_state=end_state,
            multipliers=multipliers,
            path=path,
            contact=contact_step.impulses(kinematics.rates(mean_path)),
            reaction=step * (force if kick is None else force - kick[0])[assembly.imposed_dofs],
        )

    def _kinetic(self, scheme_state: CentralState, internal: Array) -> float:
        """½ v_{n−½}·(M v_{n−½} + Δt F_n)."""
        assembly = self._assembly
        force = (
            scheme_state.external
            - internal
            - scheme_state.damping
            + assembly.contact.basis_product.transposed(scheme_state.pushed)
        )
        return 0.5 * float(scheme_state.half @ (self._momentum(scheme_state.half) + self.step * force))

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

        v̄ = before + ½ Δt a. half: v_{n−½} if v_{n−½} + Δt a must satisfy the constraints and imposed motions.
        condensed: a factor other than that of the step; a `Condensed` has no drag.
        """
        assembly, step = self._assembly, self.step
        condensed = self._condensed if condensed is None else condensed
        c = np.zeros(assembly.constraints.shape[0])
        imposed_a = None
        if assembly.imposed_dofs.size:
            now, following = assembly.imposed(n * step), assembly.imposed((n + 1) * step)
            values = np.where(assembly.imposes_displacement, following, 0.5 * (now + following))  # v at t_{n+½}
            imposed_velocity = StepCoefficients.of_central_differences(step).imposed(assembly, values, u, before)
            imposed_a = (
                (imposed_velocity - half[assembly.imposed_dofs]) / step if half is not None else 0.0 * imposed_velocity
            )
        if half is not None:
            c = -applied(assembly.constraints, half) / step
        if isinstance(condensed, Zoned):
            return condensed.braked(force, before, c, imposed_a)
        if not (force.any() or c.any() or (imposed_a is not None and imposed_a.any())):
            return np.zeros_like(force), np.zeros_like(c), None
        if not c.size and imposed_a is None:
            return condensed.spread(force), c, None
        free = condensed.predict(force, c, imposed_a)
        return free.y, free.multipliers, None
