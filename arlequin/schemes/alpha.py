"""The generalised-α family: Newmark, HHT-α, modified mean acceleration, generalised-α."""

from dataclasses import dataclass

import numpy as np

from arlequin.assembly import Assembly
from arlequin.condensed import Condensed
from arlequin.energy import Forces, works
from arlequin.schemes.scheme import State, StepReport, accept, reaction
from models.checks import positive, within
from multilevel.law import Array
from multilevel.solver import ContactSolution, solve_normal


@dataclass(frozen=True)
class GeneralisedAlpha:
    """The family of schemes with acceleration:

        u₁ = u₀ + Δt v₀ + Δt² [(½ − β) a₀ + β a₁],    v₁ = v₀ + Δt [(1 − γ) a₀ + γ a₁]
        M [(1 − α_m) a₁ + α_m a₀] = (1 − α_f) F(t₁) + α_f F(t₀) + Q,    C v₁ = 0

    F the bulk forces, Q the forces of constraints and contact. The unknown of contact is its impulse over the step,
    P = Δt [(1 − γ) r₀ + γ r₁], on which the laws act as in the θ-scheme with θ = γ (a discrete gradient for γ =
    1/2): the pair (β, γ) = (1/4, 1/2) then conserves energy with regular laws too. A point is closed when g(u₀ + ½
    Δt v₀) ≤ 0.

    Unconditionally stable for α_m ≤ α_f ≤ 1/2, γ ≥ 1/2, β ≥ γ/2. Order 2 if γ = 1/2 + α_f − α_m, else 1.
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
    """What a step hands to the next: a (d,) and its shares, M a = −internal − damping + external + Cᵀφ + Bᵀr.

    internal, damping, external (d,) are recursions of the averaged forces, constraint (m,), contact (k,);
    momentum (d,) = M v; external_now (d,) is the load at t_n.
    """

    a: Array
    internal: Array
    damping: Array
    external: Array
    constraint: Array
    contact: Array
    momentum: Array
    external_now: Array


class AlphaStepper:
    """Generalised-α with the unknown a₁: [(1 − α_m) M + (1 − α_f)(γΔt D + βΔt² K)] a₁ = … + Cᵀφ + BᵀQ."""

    def __init__(self, assembly: Assembly, step: float, scheme: GeneralisedAlpha) -> None:
        self.step = step
        self._assembly = assembly
        self._scheme = scheme
        keep = 1.0 - scheme.alpha_f
        matrix = (1.0 - scheme.alpha_m) * assembly.mass + keep * scheme.beta * step**2 * assembly.stiffness
        if assembly.viscous is not None:
            matrix = matrix + keep * scheme.gamma * step * assembly.viscous
        self._condensed = Condensed(assembly, matrix)

    def start(self, u: Array, v: Array) -> State:
        """The initial acceleration satisfies M a = F(0) + Cᵀφ + Bᵀr, C a = 0."""
        assembly = self._assembly
        internal, strain = assembly.internal(u)
        gaps = assembly.gaps(u)
        external = assembly.load(0.0)
        damping = assembly.viscous @ v if assembly.viscous is not None else np.zeros_like(u)
        contact = assembly.laws.area * assembly.laws.pressure(gaps)
        a, constraint = np.zeros_like(u), np.zeros(assembly.constraints.shape[0])
        force = external - internal - damping + assembly.pull_contact(contact)
        given = initial_acceleration(assembly, self.step)
        if force.any() or (given is not None and given.any()):
            inertia = Condensed(assembly, assembly.mass, assembly.free & ~assembly.massless)
            free = inertia.free(force, np.zeros_like(constraint), given)
            a, constraint = free.y, free.multipliers
        own = _Carried(a, internal, damping, external, constraint, contact, assembly.mass @ v, external)
        return State(
            n=0,
            u=u,
            v=v,
            history=assembly.laws.start_history(gaps),
            internal=internal,
            kinetic=assembly.kinetic(v),
            strain=strain,
            asperity=assembly.laws.energy(gaps),
            impulse=np.zeros(assembly.contact_count),
            own=own,
        )

    def advance(self, state: State) -> tuple[State, StepReport]:
        assembly, scheme, step, own = self._assembly, self._scheme, self.step, state.own
        am, af, beta, gamma = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
        t1 = (state.n + 1) * step
        du = step * state.v + step**2 * (0.5 - beta) * own.a
        v = state.v + step * (1.0 - gamma) * own.a
        external = assembly.load(t1)

        # bulk forces at the predicted end; the internal ones by linearity from those at u₀
        right = (1.0 - af) * (external - state.internal - assembly.stiffness @ du)
        right += af * (own.external_now - state.internal) - am * (assembly.mass @ own.a)
        if assembly.viscous is not None:
            right -= assembly.viscous @ ((1.0 - af) * v + af * state.v)
        carry = am - (1.0 - am) * (1.0 - gamma) / gamma
        right += assembly.pull_contact(carry * own.contact)
        free = self._condensed.free(right, -(assembly.constraints @ v) / (gamma * step), self._given(state, du, v, t1))
        gaps, rate = assembly.gaps(state.u), assembly.contact_rows @ state.v
        contact = solve_normal(
            assembly.laws,
            (1.0 - am) * self._condensed.delassus,
            lever=beta / gamma * step,
            gap_free=gaps + assembly.contact_rows @ du + beta * step**2 * free.contact,
            rate_free=assembly.contact_rows @ v + gamma * step * free.contact,
            closed=gaps + 0.5 * step * rate <= 0.0,
            history=state.history,
            step=step,
            theta=min(gamma, 1.0),
            impulse_factor=step,
            guess=state.impulse,
        )
        a, constraint = self._condensed.react(free, (1.0 - am) / (gamma * step) * contact.impulse)
        du = du + beta * step**2 * a
        v = v + gamma * step * a
        accept(contact, state.u + du, t1)
        return self._finish(state, a, du, v, external, contact, constraint)

    def _finish(
        self,
        state: State,
        a: Array,
        du: Array,
        v: Array,
        external: Array,
        contact: ContactSolution,
        constraint: Array,
    ) -> tuple[State, StepReport]:
        """The new state, the recursions of its forces, and the works of the step."""
        assembly, scheme, step, own = self._assembly, self._scheme, self.step, state.own
        am, af, gamma = scheme.alpha_m, scheme.alpha_f, scheme.gamma
        u = state.u + du
        internal, strain = assembly.internal(u)
        asperity = assembly.laws.energy(assembly.gaps(u))
        momentum = assembly.mass @ v
        kinetic = 0.5 * float(v @ momentum)
        none = np.zeros_like(u)
        damping_now = assembly.viscous @ state.v if assembly.viscous is not None else none
        damping_end = assembly.viscous @ v if assembly.viscous is not None else none

        def share(end: Array, now: Array, before: Array) -> Array:
            return ((1.0 - af) * end + af * now - am * before) / (1.0 - am)

        def mean(before: Array, end: Array) -> Array:
            return (1.0 - gamma) * before + gamma * end

        carried = _Carried(
            a=a,
            internal=share(internal, state.internal, own.internal),
            damping=share(damping_end, damping_now, own.damping),
            external=share(external, own.external_now, own.external),
            constraint=(constraint - am * own.constraint) / (1.0 - am),
            contact=(contact.impulse / step - (1.0 - gamma) * own.contact) / gamma,
            momentum=momentum,
            external_now=external,
        )
        multipliers = step * mean(own.constraint, carried.constraint)
        mean_internal = mean(own.internal, carried.internal)
        mean_damping = mean(own.damping, carried.damping)
        mean_external = mean(own.external, carried.external)
        balance = (momentum - own.momentum) / step + mean_internal + mean_damping - mean_external
        forces = Forces(
            mean_internal,
            mean_damping,
            mean_external,
            reaction(assembly, balance, (multipliers / step, contact.impulse / step)),
        )
        path = 0.5 * step * (state.v + v)
        rate = du / step
        work = works(
            assembly,
            step=step,
            du=du,
            path=path,
            impulse_path=path,
            stored_path=path,
            forces=forces,
            contact=contact,
            multipliers=multipliers,
            flow=rate,
            stored_before=state.stored,
            stored_after=(strain, asperity),
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
        )
        return end, StepReport(contact.iterations, contact.residual, contact.impulse, multipliers, work, path)

    def _given(self, state: State, du: Array, v: Array, t: float) -> Array | None:
        """Accelerations (p,) of the imposed dofs that bring them to their given values."""
        assembly, scheme = self._assembly, self._scheme
        dofs = assembly.imposed_dofs
        if not dofs.size:
            return None
        values = assembly.imposed(t)
        from_displacement = (values - state.u[dofs] - du[dofs]) / (scheme.beta * self.step**2)
        from_velocity = (values - v[dofs]) / (scheme.gamma * self.step)
        return np.where(assembly.imposes_displacement, from_displacement, from_velocity)


def initial_acceleration(assembly: Assembly, step: float) -> Array | None:
    """Accelerations (p,) of the imposed dofs at t = 0, from one-sided differences of order 2 over Δt."""
    if not assembly.imposed_dofs.size:
        return None
    f = [assembly.imposed(i * step) for i in range(4)]
    second = (2.0 * f[0] - 5.0 * f[1] + 4.0 * f[2] - f[3]) / step**2
    first = (-3.0 * f[0] + 4.0 * f[1] - f[2]) / (2.0 * step)
    return np.where(assembly.imposes_displacement, second, first)
