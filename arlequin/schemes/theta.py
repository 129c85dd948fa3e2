"""The θ-scheme in velocity form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from arlequin.assembly import Assembly
from arlequin.energy import Forces, Sums, Ways
from arlequin.schemes.cut_back import CutBackStepper
from arlequin.schemes.joined import joined_impulses
from arlequin.schemes.linear_step import Drive, LinearStep, Solved
from arlequin.schemes.newton import NewtonStep
from arlequin.schemes.scheme import (
    State,
    Stepper,
    StepReport,
    accept,
    accept_cells,
    accept_shape,
    reaction,
    unworn_only,
)
from arlequin.schemes.velocity_projection import VelocityProjection
from models.checks import one_of, within
from models.errors import UserError
from models.types import Array


@dataclass(frozen=True)
class Theta:
    """θ-scheme, 1/2 ≤ θ ≤ 1, contact impulses on the velocity at the end of the step (see `multilevel.closing`):

        u₁ = u₀ + Δt v_θ,   v_θ = θ v₁ + (1 − θ) v₀
        M (v₁ − v₀) + Δt [D v_θ + f_int(u_θ)] = Δt f_θ + Cᵀφ + BᵀP,   C v₁ = 0

    Order 2 at θ = 1/2, where linear bulk conserves energy exactly, else 1. A point counts as closed when
    g(u₀ + ½ Δt v₀) ≤ 0.

    events="locate": impact, release, stick, slip and reversal at their own instants inside the step, with order 4
    between them, for small systems of lumped, modal and 1D parts (see `arlequin.schemes.located_theta`), and of rigid
    bodies of the plane (`arlequin.schemes.located_rigid`).

    Parts of finite rotations give their mean force over the step in place of f_int(u_θ): at θ = 1/2 energy and both
    momenta are then conserved at any rotation and strain (the energy–momentum scheme), beyond it the bulk only loses
    energy. So do neo-Hookean parts; where matter flows, the work that the mean force does beyond what is stored and
    dissipated is `scheme`, of order 2 at θ = 1/2. Each step is solved by Newton's iterations (`NewtonStep`), in parts
    where it fails (`CutBackStepper`).

    Source: Simo & Tarnow, ZAMP 43 (1992) 757–792; Jean, Comput. Methods Appl. Mech. Eng. 177 (1999) 235–257.
    """

    theta: float = 0.5
    events: Literal["step", "locate"] = "step"

    def __post_init__(self) -> None:
        within("theta", self.theta, 0.5, 1.0)
        one_of("events", self.events, ("step", "locate"))
        if self.events == "locate" and self.theta != 0.5:
            raise UserError.parameter("theta", self.theta, 'must be 0.5 with events="locate"')

    @property
    def order(self) -> int:
        if self.events == "locate":
            return 4
        return 2 if self.theta == 0.5 else 1

    @property
    def static(self) -> bool:
        return False

    def prepare(self, assembly: Assembly, step: float) -> Stepper:
        from arlequin.schemes.blocked_theta import BlockedThetaStepper, is_steady
        from arlequin.schemes.located_rigid import LocatedRigidStepper
        from arlequin.schemes.located_theta import LocatedThetaStepper
        from arlequin.schemes.small_theta import SmallThetaStepper, is_small
        from arlequin.schemes.turning_theta import TurningThetaStepper, is_turning

        if self.events == "locate":
            unworn_only(assembly, 'Theta(events="locate")')
            turns = any(part.turning for part in assembly.parts)
            return (LocatedRigidStepper if turns else LocatedThetaStepper)(assembly, step)
        if not assembly.linear:
            return CutBackStepper(ThetaStepper(assembly, step, self.theta))
        if is_turning(assembly):
            return TurningThetaStepper(assembly, step, self.theta)
        if not is_steady(assembly):
            return ThetaStepper(assembly, step, self.theta)
        return (SmallThetaStepper if is_small(assembly) else BlockedThetaStepper)(assembly, step, self.theta)


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

    def kept(self) -> Any:
        """What the steps' solution made so far."""
        return self._bulk.kept()

    def keep(self, kept: Any) -> None:
        """Makes it again."""
        self._bulk.keep(kept)

    def joined(self, reports: Sequence[StepReport]) -> StepReport:
        """Steps as one: impulses, works and paths of all."""
        return joined_impulses(reports)

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
            Drive(
                momentum=state.own.momentum,
                force=external if push is None else external + push,
                rest=-state.own.rest if theta == 0.5 else (1.0 - theta) * (assembly.constraints @ state.v),
                given=self._given(state.u, state.v, t1),
                t=t1,
            ),
        )
        u = state.u + step * solved.y
        v = state.v + (solved.y - state.v) / theta
        accept(solved.meeting.solution, u, t1, assembly=assembly)
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
        solved: Solved,
        motion: tuple[Array, Array],
        loads: tuple[Array, Array, Array | None],
    ) -> tuple[State, StepReport]:
        """The new state (u, v in `motion`), its energies, the works of the step; loads: mean, at the end, push."""
        (u, v), (external, load, push) = motion, loads
        assembly, step = self._assembly, self.step
        y, multipliers, meeting = solved.y, solved.multipliers, solved.meeting
        touch, contact = meeting.touch, meeting.solution
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
        ways = Ways.mean(step * y, path)
        loss, rows = meeting.loss(ways.du, self._theta), ways.on(touch)
        work = Sums.of(assembly, step, forces, multipliers, ways, y).works(
            step=step,
            rates=rows,
            touch=touch,
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
