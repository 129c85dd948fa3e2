"""Steps of the generalised-α family."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arlequin.assembly import Assembly
from arlequin.energy import Forces, Sums, Ways
from arlequin.schemes.alpha_bulk import Family, LinearAlpha, NewtonAlpha, Push
from arlequin.schemes.joined import joined_impulses
from arlequin.schemes.linear_step import Solved
from arlequin.schemes.resting import start_accelerations
from arlequin.schemes.scheme import State, StepReport, accept, accept_cells, accept_shape, reaction
from arlequin.schemes.velocity_projection import VelocityProjection
from models.types import Array


@dataclass(frozen=True)
class _Carried:
    """What a step hands to the next, all (d,) but rest (m,); forces in N, M a = F + Q.

    lead: (½ − λ) a, m/s², with λ = β/γ. load: the external forces at t_n. internal, damping, external: recursions of
    the averaged bulk forces, F = external − internal − damping; pulled: that of Q = Cᵀφ + Bᵀr. momentum: the sum of the
    impulses, not M v, and rest: Σ C y of the steps so far, m/s, for the reason for which the θ-scheme has them: the
    round-off of a solve, the same in each step, does not add up.
    """

    lead: Array
    load: Array
    internal: Array
    damping: Array
    external: Array
    pulled: Array
    momentum: Array
    rest: Array

    @property
    def bulk(self) -> Array:
        """F (d,), N."""
        return self.external - self.internal - self.damping


class AlphaStepper:
    """Generalised-α with the unknown y = (1 − λ) v₀ + λ v₁, λ = β/γ, so that u₁ = u₀ + Δt y + Δt² (½ − λ) a₀:

        (1 − α_m) M y = (1 − α_m) p₀ + λΔt (1 − α_m − γ) F₀ + βΔt [(1 − α_f) F(t₁; u₁, v₁) + α_f F(t₀)]
            + λ (1 − α_m) (Cᵀφ + BᵀP)

    with the momentum p₀, the carried bulk forces F₀ and the impulses φ, P = Δt [(1 − γ) Q₀ + γ Q₁]. No acceleration
    enters but by its forces (and a₀ in u₁, unless β = γ/2), and p₁ = p₀ + Δt [(1 − γ) F₀ + γ F₁] + Cᵀφ + BᵀP: what one
    solve lacks the next one gets. C v₁ = 0 makes C y = (1 − λ) C v₀ in the first step, then 0: as C y = −rest.
    """

    def __init__(self, assembly: Assembly, step: float, scheme: Family) -> None:
        self.step = step
        self._assembly = assembly
        self._scheme = scheme
        self._mix = scheme.beta / scheme.gamma
        self._bulk = (LinearAlpha if assembly.linear else NewtonAlpha)(assembly, step, scheme)
        self._moving = assembly.free & ~assembly.massless
        self._projection = VelocityProjection(assembly)

    def with_step(self, step: float) -> "AlphaStepper":
        """The same with another step, for nonlinear parts."""
        return AlphaStepper(self._assembly, step, self._scheme)

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
        """The initial acceleration satisfies M a = F(0) + Cᵀφ + Bᵀr, C a = 0."""
        assembly, step, mix = self._assembly, self.step, self._mix
        bulk = assembly.respond(u, assembly.fresh(), 0.0)
        accept_cells(assembly, bulk, 0.0)
        internal = bulk.force
        touch = assembly.contact.touch(assembly.contact.basis @ u)
        gaps = touch.gaps(touch.moves.of(u))
        external = assembly.load(0.0)
        damping = assembly.viscous @ v if assembly.viscous is not None else np.zeros_like(u)
        contact = touch.spread(touch.normal(assembly.laws.area * assembly.laws.pressure(gaps)))
        force = external - internal - damping + touch.basis.T @ contact
        a, constraint, resting = start_accelerations(assembly, touch, force, (u, v), step)
        own = _Carried(
            lead=(0.5 - mix) * a,
            load=external,
            internal=internal,
            damping=damping,
            external=external,
            pulled=assembly.pull(constraint, contact + resting),
            momentum=assembly.mass @ v,
            rest=(mix - 1.0) * (assembly.constraints @ v),
        )
        return State.first(assembly, u, v, bulk, gaps, kinetic=assembly.kinetic(v), own=own)

    def advance(self, state: State) -> tuple[State, StepReport]:
        assembly, scheme, step, own = self._assembly, self._scheme, self.step, state.own
        am, af, beta, gamma = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
        t1 = (state.n + 1) * step
        load = assembly.load(t1)

        # massless dofs have no forces left over: M a₀ = 0
        force = np.where(self._moving, own.bulk, -own.pulled)
        before = own.load - state.internal
        if assembly.viscous is not None:
            before = before - assembly.viscous @ state.v
        impulse = (1.0 - am) * own.momentum + self._mix * step * (1.0 - am - gamma) * force
        impulse += beta * step * ((1.0 - af) * load + af * before)
        shift = step**2 * own.lead
        solved = self._bulk.solve(state, Push(impulse, shift, -own.rest, self._given(state, t1), t1))
        u = state.u + (step * solved.y + shift)
        accept(solved.meeting.solution, u, t1, assembly=assembly)
        accept_shape(assembly, u, t1)
        return self._finish(state, solved, load)

    def _finish(
        self,
        state: State,
        solved: Solved,
        load: Array,
    ) -> tuple[State, StepReport]:
        """The new state, the recursions of its forces, and the works of the step."""
        assembly, scheme, step, own = self._assembly, self._scheme, self.step, state.own
        am, af, gamma = scheme.alpha_m, scheme.alpha_f, scheme.gamma
        y, multipliers, meeting = solved.y, solved.multipliers, solved.meeting
        du, dv = step * y + step**2 * own.lead, (y - state.v) / self._mix
        u, v = state.u + du, state.v + dv
        bulk = assembly.respond(u, state.memory, step)
        accept_cells(assembly, bulk, (state.n + 1) * step)
        touch, contact = meeting.touch, meeting.solution
        momentum = assembly.mass @ v
        viscous = assembly.viscous
        damping_now, damping_end = (w * 0.0 if viscous is None else viscous @ w for w in (state.v, v))

        def share(end: Array, now: Array, before: Array) -> Array:
            return ((1.0 - af) * end + af * now - am * before) / (1.0 - am)

        def mean(before: Array, end: Array) -> Array:
            return (1.0 - gamma) * before + gamma * end

        def end_of(mean: Array, before: Array) -> Array:
            return (mean - (1.0 - gamma) * before) / gamma

        internal_share = share(bulk.force, state.internal, own.internal)
        damping_share = share(damping_end, damping_now, own.damping)
        external_share = share(load, own.load, own.external)
        mean_internal = mean(own.internal, internal_share)
        mean_damping = mean(own.damping, damping_share)
        mean_external = mean(own.external, external_share)
        pulled = assembly.pull(multipliers, meeting.impulse)
        resisting = mean_internal + mean_damping - mean_external
        carried = _Carried(
            lead=end_of((0.5 - self._mix) * dv / step, own.lead),
            load=load,
            internal=internal_share,
            damping=damping_share,
            external=external_share,
            pulled=end_of(pulled / step, own.pulled),
            momentum=np.where(self._moving, own.momentum - step * resisting + pulled, momentum),
            rest=own.rest + assembly.constraints @ y,
        )
        impulses = (multipliers / step, meeting.impulse / step)
        given = reaction(assembly, lambda: (momentum - own.momentum) / step + resisting, impulses)
        forces = Forces(mean_internal, mean_damping, mean_external, given)
        path = 0.5 * step * (state.v + v)
        ways = Ways.mean(du, path)
        loss, rows = meeting.loss(du, min(gamma, 1.0)), ways.on(touch)
        work = Sums.of(assembly, step, forces, multipliers, ways, du / step).works(
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
        found = self._projection.of(meeting, u, v)
        if found is not None:
            change = assembly.mass @ found.dv
            v, momentum = v + found.dv, momentum + change
            carried = replace(carried, momentum=carried.momentum + change)
            work.values += found.work.values
        work["kinetic"] = 0.5 * float(v @ momentum)
        report = meeting.report(multipliers, work, path, meeting.slip(rows), loss, solved.newton, found)
        return state.following(assembly, u, v, bulk, report, contact.history, carried), report

    def _given(self, state: State, t: float) -> Array | None:
        """Values of y (p,) on the imposed dofs."""
        assembly, mix, dofs = self._assembly, self._mix, self._assembly.imposed_dofs
        if not dofs.size:
            return None
        values = assembly.imposed(t)
        from_displacement = (values - state.u[dofs]) / self.step - self.step * state.own.lead[dofs]
        from_velocity = mix * values + (1.0 - mix) * state.v[dofs]
        return np.where(assembly.imposes_displacement, from_displacement, from_velocity)
