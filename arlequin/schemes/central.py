"""The explicit central-difference scheme."""

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from arlequin.assembly import Assembly
from arlequin.condensed import Condensed
from arlequin.energy import Forces, Sums, Ways
from arlequin.products import applied
from arlequin.schemes.keeping import KeepsColumns
from arlequin.schemes.meeting import Meeting, Motion, meet
from arlequin.schemes.scheme import State, StepReport, accept, accept_cells, accept_shape, reaction
from arlequin.schemes.stable_step import stable_step
from models.errors import UserError
from models.nonlinear import Deforming, Nonlinear
from models.types import Array

if TYPE_CHECKING:
    from arlequin.schemes.substepped import SubsteppedStepper


@dataclass(frozen=True)
class CentralDifference:
    """Central differences with lumped mass; contact impulses act on the velocities at half steps:

        v_{n+½} = v_{n−½} + M⁻¹ [Δt F(u_n, v_{n−½}) + Cᵀφ + BᵀP],   C v_{n+½} = 0
        u_{n+1} = u_n + Δt v_{n+½}

    The stored part of regular laws is taken at g(u_n), their loss and the multipliers at v_{n+½}; a point is closed
    when g(u_n + ½ Δt v_n) ≤ 0. Order 2, with damping 1 (its forces lag by half a step); stable for Δt < 2/ω_max, with
    damping less. With K_n = ½ v_{n−½}·(M v_{n−½} + Δt F_n) as kinetic energy at t_n the sum with the strain energy
    S(u_n) is conserved exactly on linear bulk. Recorded velocities are (v_{n−½} + v_{n+½})/2 under the forces at t_n:
    without the multipliers' impulse to come.
    """

    @property
    def order(self) -> int:
        return 2

    @property
    def static(self) -> bool:
        return False

    def prepare(self, assembly: Assembly, step: float) -> "CentralStepper | SubsteppedStepper":
        from arlequin.schemes.central_block import BulkCentralStepper
        from arlequin.schemes.substepped import SubsteppedStepper

        for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
            if isinstance(own, Nonlinear) and (not isinstance(own, Deforming) or own.viscous):
                raise UserError(
                    f"part '{part.name}': CentralDifference steps neither rigid parts nor viscous ones: take Theta"
                )
        stepper = (BulkCentralStepper if BulkCentralStepper.takes(assembly) else CentralStepper)(assembly, step)
        if any(isinstance(part, Deforming) for part in assembly.parts):
            return SubsteppedStepper(assembly, stepper)
        limit = stable_step(assembly)
        if step >= limit:
            raise UserError.parameter("step", step, f"must be below the central-difference limit of {limit:.6g} s")
        return stepper


@dataclass(frozen=True)
class _Carried:
    """half (d,): v_{n−½} and half of the push's impulse; damping (d,), external (d,): shares of the smooth forces;
    stored (k,), pushed (q,): stored contact forces at g(u_n), N; a (d,): constrained M⁻¹F_n without the stored contact;
    constraint (m,)."""

    half: Array
    damping: Array
    external: Array
    stored: Array
    pushed: Array
    a: Array
    constraint: Array


class CentralStepper(KeepsColumns):
    """Central differences; the diagonal mass is the matrix of every step."""

    def __init__(self, assembly: Assembly, step: float) -> None:
        diagonal = assembly.mass.diagonal()
        off = abs(assembly.mass - sp.diags_array(diagonal)).max() if assembly.dof_count else 0.0
        if off > 1e-14 * diagonal.max() or (diagonal[~assembly.ghost] <= 0.0).any():
            raise UserError('central difference needs mass="lumped" on every part')
        if assembly.laws.has_springs:
            raise UserError("central difference takes no friction with a stiffness: use SymplecticEuler or Theta")
        self.step, self._assembly = step, assembly
        self._mass = diagonal
        self._condensed = Condensed(assembly, assembly.mass)

    def with_step(self, step: float) -> "CentralStepper":
        """The same with another step."""
        other = copy(self)
        other.step = step
        return other

    def restarted(self, state: State, n: int) -> State:
        """The state, step n of this stepper, from that of one with another step: v_{n−½} follows from v_n.

        The kinetic energy ½ v_{n−½}·M v_{n+½} changes with it, by ⅛ (Δt² − Δt′²) aᵀM a.
        """
        own = state.own
        half = state.v - 0.5 * self.step * (own.a + self._condensed.response(own.pushed))
        force = own.external - state.internal - own.damping
        a, constraint = self._acceleration(force, n, state.u, half)
        own = replace(own, half=half, a=a, constraint=constraint)
        return replace(state, n=n, own=own, kinetic=self._kinetic(own, state.internal))

    def start(self, u: Array, v: Array) -> State:
        """Starts with v_{−½} = v₀ − ½ Δt a₀."""
        assembly = self._assembly
        bulk = assembly.respond(u, assembly.fresh(), self.step)
        internal = bulk.force
        touch = assembly.contact.touch(assembly.contact.basis @ u)
        gaps = touch.gaps(touch.basis @ u)
        stored = assembly.laws.area * assembly.laws.pressure(gaps)
        pushed = touch.spread(touch.normal(stored))
        damping = assembly.viscous @ v if assembly.viscous is not None else np.zeros_like(u)
        external = assembly.load(0.0)
        a, constraint = self._acceleration(external - internal - damping, 0, u, None)
        half = v - 0.5 * self.step * (a + self._condensed.response(pushed))
        own = _Carried(half, damping, external, stored, pushed, a, constraint)
        return State.first(assembly, u, v, bulk, gaps, kinetic=self._kinetic(own, internal), own=own)

    def advance(self, state: State, push: Array | None = None) -> tuple[State, StepReport]:
        """One step; `push` (d,), N, is a constant force of parts stepped elsewhere (its work is `junction`).

        One half of its impulse acts at t_n, the other at t_{n+1}, so that it works on Δt (v_n + v_{n+1})/2 and keeps
        the order 2 where it changes between two steps.
        """
        assembly, step, own = self._assembly, self.step, state.own
        kick = None if push is None else (push, 0.5 * step * self._condensed.spread(push))
        before = own.half if kick is None else own.half + kick[1]
        free = before + step * own.a
        basis = assembly.contact.basis
        place, rate, speed, start = (applied(basis, field) for field in (state.u, free, state.v, before))
        meeting = meet(
            assembly.contact,
            self._condensed.compliance,
            Motion(place, speed, place + step * rate, rate, start, start),
            lever=step,
            step=step,
            theta=0.0,
            history=state.history,
            worn=state.worn,
            guess=state.impulse,
        )
        half = free + self._condensed.response(meeting.impulse)
        u = state.u + step * half
        accept(meeting.solution, u, (state.n + 1) * step, assembly=assembly)
        multipliers = step * own.constraint - self._condensed.constraint_response(meeting.impulse)
        return self._finish(state, (before, half), u, kick, meeting, multipliers)

    def response(self, push: Array, momentum: Array, count: int) -> Array:
        """Path (d, r) of `count` steps under constant forces (d, r) from momenta (d, r), linear bulk alone."""
        assembly, step = self._assembly, self.step
        u, path, v = np.zeros_like(push), np.zeros_like(push), self._condensed.spread(momentum)
        kick = 0.5 * step * self._condensed.spread(push)
        for _ in range(count):
            half = v + kick
            u += step * half
            force = push - assembly.stiffness @ u
            if assembly.viscous is not None:
                force -= assembly.viscous @ half
            kick = 0.5 * step * self._condensed.spread(force)
            following = half + kick
            path += 0.5 * step * (v + following)
            v = following
        return path

    def drive(self, state: State) -> tuple[Array, Array]:
        """Force and momentum (d,) that move the linear bulk on from a state."""
        return state.own.external - state.internal, self._assembly.mass @ state.v

    def _finish(
        self,
        state: State,
        halves: tuple[Array, Array],
        u: Array,
        kick: tuple[Array, Array] | None,
        meeting: Meeting,
        multipliers: Array,
    ) -> tuple[State, StepReport]:
        """Forces and velocity at the new time, energies and works; kick: the push and the velocity of half of it."""
        assembly, step, own = self._assembly, self.step, state.own
        before, half = halves
        n = state.n + 1
        if not assembly.linear:
            accept_shape(assembly, u, n * step)
        bulk = assembly.respond(u, state.memory, step)
        accept_cells(assembly, bulk, n * step)
        internal = bulk.force
        touch, contact = meeting.touch, meeting.solution
        gaps = touch.gaps(applied(touch.basis, u))
        stored = assembly.laws.area * assembly.laws.pressure(gaps)
        pushed = touch.spread(touch.normal(stored))
        none = np.zeros_like(u)
        damping = assembly.viscous @ half if assembly.viscous is not None else none
        external = assembly.load(n * step)
        a, constraint = self._acceleration(external - internal - damping, n, u, half)
        carried = _Carried(half if kick is None else half + kick[1], damping, external, stored, pushed, a, constraint)
        v = carried.half + 0.5 * step * (a + self._condensed.response(pushed))

        du, driven = step * half, 0.5 * step * (before + half)
        ways = Ways(du, path=du, impulse=driven, stored=du, slip=driven)

        def balance() -> Array:
            return self._mass * (half - before) / step + state.internal + own.damping - own.external

        mean = replace(contact, stored=0.5 * step * (own.stored + stored))
        forces = Forces(
            0.5 * (state.internal + internal), 0.5 * (own.damping + damping), 0.5 * (own.external + external), none
        )
        work = Sums.of(assembly, step, forces, multipliers, ways, half).works(
            step=step,
            rates=ways.on(touch),
            touch=touch,
            contact=mean,
            stored_before=state.stored,
            stored_after=(bulk.stored, assembly.laws.energy(gaps)),
            plastic=bulk.dissipated,
            persistent=meeting.persistent,
        )
        force = reaction(assembly, balance, (multipliers / step, meeting.impulse / step))
        work["external_work"] += float(force @ driven)  # an imposed motion acts by impulses
        work["kinetic"] = self._kinetic(carried, internal)
        path = 0.5 * step * (state.v + v)
        if kick is not None:
            push = kick[0]
            work["junction"] += float(push @ path)
            work["external_work"] -= float(push[assembly.imposed_dofs] @ path[assembly.imposed_dofs])
        report = meeting.report(multipliers, work, path, touch.rates(path))
        return state.following(assembly, u, v, bulk, report, contact.history, carried), report

    def _kinetic(self, own: _Carried, internal: Array) -> float:
        """½ v_{n−½}·(M v_{n−½} + Δt F_n)."""
        assembly = self._assembly
        force = own.external - internal - own.damping + assembly.contact.moves.back(own.pushed)
        return 0.5 * float(own.half @ (self._mass * own.half + self.step * force))

    def _acceleration(self, force: Array, n: int, u: Array, half: Array | None) -> tuple[Array, Array]:
        """Constrained M⁻¹F (d,) and multipliers (m,): v_{n−½} + Δt a keeps the constraints and imposed motions."""
        assembly, step = self._assembly, self.step
        c = np.zeros(assembly.constraints.shape[0])
        given = None
        if assembly.imposed_dofs.size:
            now, following = assembly.imposed(n * step), assembly.imposed((n + 1) * step)
            wanted = np.where(
                assembly.imposes_displacement,
                (following - u[assembly.imposed_dofs]) / step,
                0.5 * (now + following),
            )
            before = 0.0 * wanted if half is None else half[assembly.imposed_dofs]
            given = (wanted - before) / step if half is not None else 0.0 * wanted
        if half is not None:
            c = -applied(assembly.constraints, half) / step
        if not (force.any() or c.any() or (given is not None and given.any())):
            return np.zeros_like(force), np.zeros_like(c)
        free = self._condensed.free(force, c, given)
        return free.y, free.multipliers
