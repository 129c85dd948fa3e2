"""Quasi-static load stepping."""

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from arlequin.assembly import Assembly
from arlequin.condensed import Condensed
from arlequin.energy import Forces, works
from arlequin.schemes.meeting import Meeting, Motion, meet
from arlequin.schemes.mixing import Mixing
from arlequin.schemes.scheme import State, StepReport, accept, accept_cells, accept_shape, reaction
from arlequin.tangents import Tangents
from models.errors import UserError
from models.matrix import symmetric_part
from models.nonlinear import Nonlinear, PathDependent
from models.part import MeshedPart
from multilevel.law import Array

if TYPE_CHECKING:
    from arlequin.schemes.cut_back import CutBackStepper

_PASSES = 100  # proximal steps at most, where contact alone holds a part
_NEWTON = 40  # passes of Newton's iterations at most
_SETTLED = 1e-12  # largest motion of a proximal step, relative to the displacement, that ends them
_ROUND_OFF = 1e-11  # likewise, where the next one is no smaller
_SHIFT = 1e-1  # s of the proximal term, in units of (wave speed / extent)²
_HELD = 1e-8  # lowest eigenvalue of K, in units of the proximal term, below which a motion counts as free


@dataclass(frozen=True)
class Static:
    """Equilibrium at every step, inertia and damping left out; `time` only parametrises loads and imposed motions:

        f_int(u) = f_ext(t) + Cᵀφ + Bᵀr,    C u = 0,    laws on the gap.

    Nonlinear parts are solved by Newton's iterations on their tangent, which must stay positive definite; where parts
    remember, a load step that finds no equilibrium is halved (see `CutBackStepper`), and yield stresses have no rate.
    Starts from an unloaded equilibrium. Parts may be held by contact alone, so that forces can press them. Energies by
    the trapezoidal rule over a step: what it misses of the work of the contact laws, of finite rotations and of flow is
    `scheme` (order 2 in the step).
    """

    @property
    def order(self) -> int:
        return 2

    @property
    def static(self) -> bool:
        return True

    def prepare(self, assembly: Assembly, step: float) -> "StaticStepper | CutBackStepper":
        from arlequin.schemes.cut_back import CutBackStepper

        if (assembly.laws.level == 2).any() or assembly.laws.damped:
            raise UserError('statics takes laws on the gap alone: Unilateral(level="gap"), undamped asperities')
        assembly.rigidity.refuse("statics: take Theta(1.0), with damping, until it rests")
        stepper = StaticStepper(assembly, step)
        return CutBackStepper(stepper) if assembly.path_dependent else stepper


@dataclass(frozen=True)
class _Carried:
    """External and reaction forces (d,), contact forces (r,) and what they do to the dofs (d,), N; u̇ (d,), m/s."""

    external: Array
    reaction: Array
    contact: Array
    pulled: Array
    rate: Array


class StaticStepper:
    """Load stepping with the unknown Δu: K Δu = f_ext(t₁) − f_int(u₀) + Cᵀφ + Bᵀr.

    Where K leaves rigid motions free, K + s M takes its place and the solution is repeated from where it led, until
    nothing moves: the proximal point method, whose limit has no s in it. Where parts are nonlinear, K is the tangent
    at the point from which a solution starts: Newton's method.
    """

    def __init__(self, assembly: Assembly, step: float) -> None:
        self.step = step
        self._assembly = assembly
        self._condensed, self._soft = _condense(assembly)
        self._tangents = None if assembly.linear else Tangents(assembly, self._soft, 1.0)

    def start(self, u: Array, v: Array) -> State:
        assembly = self._assembly
        bulk = assembly.respond(u, assembly.fresh(), 0.0)
        accept_cells(assembly, bulk, 0.0)
        internal = bulk.force
        touch = assembly.contact.touch(assembly.contact.basis @ u)
        gaps = touch.gaps(touch.basis @ u)
        external = assembly.load(0.0)
        stored = touch.normal(assembly.laws.area * assembly.laws.pressure(gaps))
        none = np.zeros(assembly.constraints.shape[0])
        forces = reaction(assembly, lambda: internal - external, (none, touch.spread(stored)))
        rest = (external + touch.pull(stored) - internal)[assembly.free]
        if (np.abs(rest) > 1e-10 * np.abs(np.concatenate([external, internal, stored])).max()).any():
            raise UserError("statics starts from an unloaded equilibrium: let the loads grow from zero at t = 0")
        return State(
            n=0,
            u=u,
            v=np.zeros_like(u),
            history=assembly.laws.start_history(gaps),
            internal=internal,
            kinetic=0.0,
            strain=bulk.stored,
            asperity=assembly.laws.energy(gaps),
            impulse=stored,
            own=_Carried(external, forces, stored, touch.pull(stored), np.zeros_like(u)),
            memory=bulk.memory,
        )

    def advance(self, state: State) -> tuple[State, StepReport]:
        return self.load(state, state.n * self.step, (state.n + 1) * self.step)

    def load(self, state: State, t0: float, t1: float) -> tuple[State, StepReport]:
        """The step from the loads at t0, in equilibrium, to those at t1."""
        assembly, own = self._assembly, state.own
        external = assembly.load(t1)
        meeting, du, constraint, passes = self._solve(state, external, t0, t1)
        touch, contact = meeting.touch, meeting.solution
        # one refinement: the forces are those of the strains, whose round-off is below that of K u in slender parts
        missing = external - self._force(state, state.u + du) + assembly.pull(constraint, meeting.impulse)
        better = self._condensed.free(missing, -(assembly.constraints @ (state.u + du)), 0.0 * assembly.imposed(t1))
        du, constraint = du + better.y, constraint + better.multipliers
        u = state.u + du
        accept(contact, u, t1, remedy="more load steps (a smaller step)")
        accept_shape(assembly, u, t1)
        bulk = assembly.respond(u, state.memory, 0.0)
        accept_cells(assembly, bulk, t1)
        internal, strain = bulk.force, bulk.stored
        asperity = assembly.laws.energy(touch.gaps(touch.basis @ u)) + meeting.sprung
        forces = reaction(assembly, lambda: internal - external, (constraint, meeting.impulse))

        # trapezoidal works; the multiplier acts where the gap is zero, so that what the rule gives it is
        # the scheme's
        mean_contact = 0.5 * (own.contact + contact.impulse)
        none = np.zeros_like(u)
        loss = meeting.loss(du, 0.5, mean_contact)
        work = works(
            assembly,
            step=1.0,
            du=du,
            path=du,
            impulse_path=none,
            stored_path=du,
            slip_path=du,
            touch=touch,
            forces=Forces(
                0.5 * (state.internal + internal),
                none,
                0.5 * (own.external + external),
                0.5 * (own.reaction + forces),
            ),
            contact=replace(
                contact, impulse=mean_contact, stored=mean_contact[touch.first], dissipated=0.0 * contact.stored
            ),
            multipliers=constraint,
            flow=none,
            stored_before=state.stored,
            stored_after=(strain, asperity),
            loss=loss,
            plastic=bulk.dissipated,
        )
        # the forces of the start acted along the normals of the start
        pulled = touch.pull(contact.impulse)
        work["scheme"] -= float((0.5 * (own.pulled + pulled) - touch.pull(mean_contact)) @ du)
        work["junction"] = float(constraint @ (assembly.constraints @ du))
        end = State(
            n=state.n + 1,
            u=u,
            v=none,
            history=contact.history,
            internal=internal,
            kinetic=0.0,
            strain=strain,
            asperity=asperity,
            impulse=contact.impulse,
            own=_Carried(external, forces, contact.impulse, pulled, du / (t1 - t0)),
            memory=bulk.memory,
        )
        return end, meeting.report(constraint, work, du, loss, passes)

    def _solve(self, state: State, external: Array, t0: float, t1: float) -> tuple[Meeting, Array, Array, int]:
        """The contact forces, Δu (d,) and φ (m,) at the end of the step, and the passes it took.

        Of a pass that turns a cell inside out one half is taken. Parts that remember go on as in the step before at
        first: from Δu = 0 all would answer elastically, then all would flow, K not definite past the largest load.
        """
        assembly, basis = self._assembly, self._assembly.contact.basis
        dofs = assembly.imposed_dofs
        values = assembly.imposed(t1)
        target = np.where(assembly.imposes_displacement, values - state.u[dofs], (t1 - t0) * values)
        place, guess, used = basis @ state.u, state.impulse, 0
        du = (t1 - t0) * state.own.rate if assembly.path_dependent else np.zeros_like(state.u)
        last, mixing, sound = np.inf, Mixing(), np.zeros_like(du)
        for passes in range(1, (_NEWTON if self._soft is None else _PASSES) + 1):
            u = state.u + du
            force = self._force(state, u)
            if not np.isfinite(force).all():
                du = 0.5 * (sound + du)
                continue
            sound = du
            self._linearise(state, u)
            free = self._condensed.free(external - force, -(assembly.constraints @ u), target - du[dofs])
            path = basis @ du + free.contact
            meeting = meet(
                assembly.contact,
                self._condensed.compliance,
                Motion(place, 0.0 * place, place + path, path),
                lever=1.0,
                step=1.0,
                theta=1.0,
                history=state.history,
                guess=guess,
                static=True,
            )
            change, constraint = self._condensed.react(free, meeting.impulse)
            du, guess = du + change, meeting.solution.impulse
            used += meeting.solution.iterations
            moved, reached = np.abs(change).max(), np.abs(state.u + du).max()
            # stiff laws feel the round-off of the gaps: there the motion does not fall as far
            still = moved <= _SETTLED * reached or last <= moved <= _ROUND_OFF * reached
            if (still or (assembly.linear and self._soft is None)) and self._in_balance(change, external, meeting):
                return replace(meeting, solution=replace(meeting.solution, iterations=used)), du, constraint, passes
            last, du = moved, du if self._soft is None else mixing.next(du, change)
            if not np.isfinite(moved):
                break
        if self._soft is None:
            raise UserError(f"statics did not converge at t = {t1:.6g} s: try a smaller step", code=1)
        raise UserError(
            f"statics at t = {t1:.6g} s: a part that contact alone holds finds no equilibrium: hold its rigid motions, "
            "or let the loads press it against its partner",
            code=1,
        )

    def _force(self, state: State, u: Array) -> Array:
        """Internal force (d,) at u, from the state; nan where a cell is inside out."""
        bulk = self._assembly.respond(u, state.memory, 0.0)
        return bulk.force if max(bulk.inverted, default=-1) < 0 else np.full_like(u, np.nan)

    def _linearise(self, state: State, u: Array) -> None:
        """K at u where parts are nonlinear; far from equilibrium it may not be definite: the former serves then."""
        if self._tangents is None:
            return
        parts = self._assembly.parts

        def tangent(i: int, at: slice) -> sp.csr_array:
            part = parts[i]
            if isinstance(part, PathDependent):
                return symmetric_part(part.tangent(u[at], state.memory[i], 0.0))
            assert isinstance(part, Nonlinear)
            return part.tangent(u[at])

        matrix = self._tangents.matrix(tangent)
        with contextlib.suppress(UserError):
            self._condensed = Condensed(self._assembly, matrix)

    def _in_balance(self, change: Array, external: Array, meeting: Meeting) -> bool:
        """Whether the proximal term, which equilibrium has not, is nothing beside the forces."""
        if self._soft is None:
            return True
        missing = self._soft @ change
        forces = np.concatenate([external, meeting.impulse])
        return bool(np.abs(missing).max() <= 1e-9 * np.abs(forces).max())


def _condense(assembly: Assembly) -> tuple[Condensed, sp.csr_array | None]:
    """K condensed, and None; where it leaves a rigid motion free that contact may hold, K + s M, and s M."""
    if not assembly.contact_count:
        return Condensed(assembly, assembly.stiffness), None
    soft = _proximal_term(assembly)
    try:
        condensed = Condensed(assembly, assembly.stiffness)
        # round-off may let a factorisation pass: one inverse iteration bounds the lowest eigenvalue of (K, s M)
        load = soft @ np.random.default_rng(0).standard_normal(assembly.dof_count)
        moved = condensed.spread(load)
        if float(load @ moved) > _HELD * float(moved @ (soft @ moved)):
            return condensed, None
    except UserError:
        pass
    return Condensed(assembly, sp.csr_array(assembly.stiffness + soft)), soft


def _proximal_term(assembly: Assembly) -> sp.csr_array:
    """s M, s = (c/3L)² of each part: it holds every rigid motion, about as softly as the lowest vibration does."""
    scale = []
    for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
        if isinstance(part, MeshedPart):
            square = (part.wave_speed / float(np.ptp(part.positions, axis=0).max())) ** 2
        else:  # as soft against the springs of the system
            square = float((assembly.stiffness.diagonal() / assembly.mass.diagonal()).max()) or 1.0
        scale.append(np.full(own.mass.shape[0], _SHIFT * square))
    root = sp.diags_array(np.sqrt(np.concatenate(scale)))
    return sp.csr_array(root @ assembly.mass @ root)
