"""The generalised-α family: Newmark, HHT-α, modified mean acceleration, generalised-α."""

from dataclasses import dataclass

import numpy as np

from arlequin.assembly import Assembly
from arlequin.energy import Forces, works
from arlequin.schemes.alpha_step import LinearAlpha, NewtonAlpha, Push
from arlequin.schemes.linear_step import Solved
from arlequin.schemes.resting import start_accelerations
from arlequin.schemes.scheme import State, StepReport, accept, accept_cells, accept_shape, reaction
from models.checks import positive, within
from models.errors import UserError
from models.nonlinear import Constrained, Nonlinear
from multilevel.law import Array


@dataclass(frozen=True)
class GeneralisedAlpha:
    """The family of schemes with acceleration:

        u₁ = u₀ + Δt v₀ + Δt² [(½ − β) a₀ + β a₁],    v₁ = v₀ + Δt [(1 − γ) a₀ + γ a₁]
        M [(1 − α_m) a₁ + α_m a₀] = (1 − α_f) F(t₁) + α_f F(t₀) + Q,    C v₁ = 0

    F the bulk forces, Q the forces of constraints and contact. Nonlinear parts give F(t₁) at u₁, by Newton's
    iterations: nothing then bounds the energy, which finite rotations feed (`Theta` keeps it); what the mean force does
    beyond what is stored and dissipated is `scheme`. The unknown of contact is its impulse over the step,
    P = Δt [(1 − γ) r₀ + γ r₁], on which the laws act as in the θ-scheme with θ = γ (a discrete gradient for γ =
    1/2): the pair (β, γ) = (1/4, 1/2) then conserves energy with regular laws too. A point is closed when g(u₀ + ½
    Δt v₀) ≤ 0.

    Unconditionally stable on linear bulk for α_m ≤ α_f ≤ 1/2, γ ≥ 1/2, β ≥ γ/2. Order 2 if γ = 1/2 + α_f − α_m, else 1.
    Source: Newmark 1959; Hilber, Hughes & Taylor, Earthq. Eng. Struct. Dyn. 5 (1977) 283–292; Chung & Hulbert, J.
    Appl. Mech. 60 (1993) 371–375.
    """

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    def __post_init__(self) -> None:
        within("alpha_m", self.alpha_m, -1.0, 0.5)
        within("alpha_f", self.alpha_f, 0.0, 0.5)
        within("gamma", self.gamma, 0.5, 1.5)
        positive("beta", self.beta)
        # unconditional stability; for order 2 this is Chung and Hulbert's β ≥ 1/4 + (α_f − α_m)/2
        within("beta", self.beta, 0.5 * self.gamma, 2.0)

    @property
    def order(self) -> int:
        return 2 if abs(self.gamma - 0.5 - self.alpha_f + self.alpha_m) < 1e-12 else 1

    @property
    def static(self) -> bool:
        return False

    def prepare(self, assembly: Assembly, step: float) -> "AlphaStepper":
        for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
            if isinstance(own, Nonlinear) and (isinstance(own, Constrained) or own.viscous):
                raise UserError(
                    f"part '{part.name}': GeneralisedAlpha steps neither rigid parts nor viscous ones of finite "
                    "rotations: take Theta"
                )
        return AlphaStepper(assembly, step, self)

    @classmethod
    def with_radius(cls, radius: float) -> "GeneralisedAlpha":
        """Chung and Hulbert's choice for the spectral radius at high frequency, 0 ≤ radius ≤ 1 (1: no loss)."""
        within("radius", radius, 0.0, 1.0)
        alpha_m = (2.0 * radius - 1.0) / (radius + 1.0)
        alpha_f = radius / (radius + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        return cls(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)


def Newmark(beta: float = 0.25, gamma: float = 0.5) -> GeneralisedAlpha:
    """Newmark(β, γ): the family without averaging. (1/4, 1/2) is the trapezoidal rule, which conserves energy."""
    return GeneralisedAlpha(0.0, 0.0, beta, gamma)


def HHT(alpha: float = -0.05) -> GeneralisedAlpha:
    """HHT-α, −1/3 ≤ α ≤ 0: forces averaged with −α, γ = 1/2 − α, β = (1 − α)²/4. Order 2."""
    within("alpha", alpha, -1.0 / 3.0, 0.0)
    return GeneralisedAlpha(0.0, -alpha, 0.25 * (1.0 - alpha) ** 2, 0.5 - alpha)


def ModifiedMeanAcceleration(alpha: float = -0.05) -> GeneralisedAlpha:
    """Newmark with γ = 1/2 − α, β = (1 − α)²/4, −1/3 ≤ α ≤ 0: HHT's parameters without its averaging of forces.

    Code_Aster's HHT with MODI_EQUI = NON. Order 1 where α < 0.
    """
    within("alpha", alpha, -1.0 / 3.0, 0.0)
    return GeneralisedAlpha(0.0, 0.0, 0.25 * (1.0 - alpha) ** 2, 0.5 - alpha)


@dataclass(frozen=True)
class _Carried:
    """What a step hands to the next, all (d,) but rest (m,); forces in N, M a = F + Q.

    shift: Δt² (½ − λ) a, m, with λ = β/γ. load: the external forces at t_n. internal, damping, external: recursions of
    the averaged bulk forces, F = external − internal − damping; pulled: that of Q = Cᵀφ + Bᵀr. momentum: the sum of the
    impulses, not M v, and rest: Σ C y of the steps so far, m/s, for the reason for which the θ-scheme has them: the
    round-off of a solve, the same in each step, does not add up.
    """

    shift: Array
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

    def __init__(self, assembly: Assembly, step: float, scheme: GeneralisedAlpha) -> None:
        self.step = step
        self._assembly = assembly
        self._scheme = scheme
        self._mix = scheme.beta / scheme.gamma
        self._bulk = (LinearAlpha if assembly.linear else NewtonAlpha)(assembly, step, scheme)
        self._moving = assembly.free & ~assembly.massless

    def start(self, u: Array, v: Array) -> State:
        """The initial acceleration satisfies M a = F(0) + Cᵀφ + Bᵀr, C a = 0."""
        assembly, step, mix = self._assembly, self.step, self._mix
        bulk = assembly.respond(u, assembly.fresh(), 0.0)
        accept_cells(assembly, bulk, 0.0)
        internal = bulk.force
        touch = assembly.contact.touch(assembly.contact.basis @ u)
        gaps = touch.gaps(touch.basis @ u)
        external = assembly.load(0.0)
        damping = assembly.viscous @ v if assembly.viscous is not None else np.zeros_like(u)
        contact = touch.spread(touch.normal(assembly.laws.area * assembly.laws.pressure(gaps)))
        force = external - internal - damping + touch.basis.T @ contact
        a, constraint, resting = start_accelerations(assembly, touch, force, (u, v), step)
        own = _Carried(
            shift=step**2 * (0.5 - mix) * a,
            load=external,
            internal=internal,
            damping=damping,
            external=external,
            pulled=assembly.pull(constraint, contact + resting),
            momentum=assembly.mass @ v,
            rest=(mix - 1.0) * (assembly.constraints @ v),
        )
        return State(
            n=0,
            u=u,
            v=v,
            history=assembly.laws.start_history(gaps),
            internal=internal,
            kinetic=assembly.kinetic(v),
            strain=bulk.stored,
            asperity=assembly.laws.energy(gaps),
            impulse=np.zeros(assembly.laws.row_count),
            own=own,
            memory=bulk.memory,
        )

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
        solved = self._bulk.solve(state, Push(impulse, own.shift, -own.rest, self._given(state, t1), t1))
        u = state.u + (step * solved.y + own.shift)
        accept(solved.meeting.solution, u, t1)
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
        du, dv = step * y + own.shift, (y - state.v) / self._mix
        u, v = state.u + du, state.v + dv
        bulk = assembly.respond(u, state.memory, step)
        accept_cells(assembly, bulk, (state.n + 1) * step)
        internal, strain = bulk.force, bulk.stored
        touch, contact = meeting.touch, meeting.solution
        asperity = assembly.laws.energy(touch.gaps(touch.basis @ u)) + meeting.sprung
        momentum = assembly.mass @ v
        kinetic = 0.5 * float(v @ momentum)
        viscous = assembly.viscous
        damping_now, damping_end = (w * 0.0 if viscous is None else viscous @ w for w in (state.v, v))

        def share(end: Array, now: Array, before: Array) -> Array:
            return ((1.0 - af) * end + af * now - am * before) / (1.0 - am)

        def mean(before: Array, end: Array) -> Array:
            return (1.0 - gamma) * before + gamma * end

        def end_of(mean: Array, before: Array) -> Array:
            return (mean - (1.0 - gamma) * before) / gamma

        internal_share = share(internal, state.internal, own.internal)
        damping_share = share(damping_end, damping_now, own.damping)
        external_share = share(load, own.load, own.external)
        mean_internal = mean(own.internal, internal_share)
        mean_damping = mean(own.damping, damping_share)
        mean_external = mean(own.external, external_share)
        pulled = assembly.pull(multipliers, meeting.impulse)
        resisting = mean_internal + mean_damping - mean_external
        carried = _Carried(
            shift=end_of(step * (0.5 - self._mix) * dv, own.shift),
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
        loss = meeting.loss(du, min(gamma, 1.0))
        work = works(
            assembly,
            step=step,
            du=du,
            path=path,
            impulse_path=path,
            stored_path=path,
            slip_path=path,
            touch=touch,
            forces=forces,
            contact=contact,
            multipliers=multipliers,
            flow=du / step,
            stored_before=state.stored,
            stored_after=(strain, asperity),
            loss=loss,
            plastic=bulk.dissipated,
        )
        work["kinetic"] = kinetic
        end = State(
            n=state.n + 1,
            u=u,
            v=v,
            history=contact.history,
            internal=internal,
            kinetic=kinetic,
            strain=strain,
            asperity=asperity,
            impulse=contact.impulse,
            own=carried,
            memory=bulk.memory,
        )
        return end, meeting.report(multipliers, work, path, loss, solved.newton)

    def _given(self, state: State, t: float) -> Array | None:
        """Values of y (p,) on the imposed dofs."""
        assembly, mix, dofs = self._assembly, self._mix, self._assembly.imposed_dofs
        if not dofs.size:
            return None
        values = assembly.imposed(t)
        from_displacement = (values - state.u[dofs] - state.own.shift[dofs]) / self.step
        from_velocity = mix * values + (1.0 - mix) * state.v[dofs]
        return np.where(assembly.imposes_displacement, from_displacement, from_velocity)
