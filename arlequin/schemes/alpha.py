"""The generalised-α family: Newmark, HHT-α, modified mean acceleration, generalised-α.

Steps of a linear bulk are solved at once, those of a nonlinear one by Newton's iterations.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from arlequin.energy import BulkWork, Forces, WorkPaths
from arlequin.models.checks import positive, within
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import compressed
from arlequin.models.part import Constrained, is_viscous
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.schemes.cut_back import CutBackStepper
from arlequin.solvers.condensed import ConstrainedSystem, DelegatedCheckpoint
from arlequin.solvers.initial_state import start_accelerations
from arlequin.solvers.linear_step import LinearStep, StepCoefficients, StepRhs, StepSolution, StepStart
from arlequin.solvers.newton import NewtonPolicy, NewtonSolver, StepEquations, solve_newton
from arlequin.solvers.solver_choice import SolverName, checked_solver, linear_parts_only, linear_system
from arlequin.solvers.step_forces import EndForces
from arlequin.solvers.velocity_projection import VelocityProjection
from arlequin.step.acceptance import accept, accept_cells, accept_shape
from arlequin.step.batch import StepBatch, merge_time_steps
from arlequin.step.imposed import reaction
from arlequin.step.scheme import Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import Memory


def coefficients_of(scheme: "GeneralisedAlpha", step: float) -> StepCoefficients:
    """λ = β/γ, μ = 1 − α_m, h = (1 − α_f) βΔt; the laws take θ = γ."""
    force = (1.0 - scheme.alpha_f) * scheme.beta * step
    return StepCoefficients(step, scheme.beta / scheme.gamma, 1.0 - scheme.alpha_m, force, min(scheme.gamma, 1.0))


def matrix_at_rest(assembly: Assembly, step: float, scheme: "GeneralisedAlpha") -> sp.csr_array:
    """(1 − α_m) M + (1 − α_f) γΔt D (d, d): the matrix of a step, without the stiffness."""
    matrix = (1.0 - scheme.alpha_m) * assembly.mass
    if assembly.viscous is not None:
        matrix = matrix + (1.0 - scheme.alpha_f) * scheme.gamma * step * assembly.viscous
    return compressed(matrix)


class LinearAlpha(LinearStep):
    """The step of a linear bulk, A = (1 − α_m) M + (1 − α_f)(γΔt D + βΔt² K), p of `StepRhs`:

    A y = p − (1 − α_f) βΔt [f_int(u₀) + K (u₁ − u₀ − Δt y) + D (1 − 1/λ) v₀] + λ (1 − α_m)(Cᵀφ + BᵀP).
    """

    def __init__(self, assembly: Assembly, step: float, scheme: "GeneralisedAlpha") -> None:
        self._assembly, self._coefficients = assembly, coefficients_of(scheme, step)
        matrix = matrix_at_rest(assembly, step, scheme) + self._coefficients.force * step * assembly.stiffness
        self._condensed, self.solver = linear_system(assembly, compressed(matrix), scheme.solver)

    def solve(self, state: State, rhs: StepRhs) -> StepSolution:
        """The step from the state."""
        assembly = self._assembly
        resisting = state.internal + assembly.stiffness @ rhs.shift
        if assembly.viscous is not None:
            resisting += (1.0 - 1.0 / self._coefficients.velocity_weight) * (assembly.viscous @ state.v)
        return self.solve_from(StepStart.of(state, assembly.contact, resisting), rhs)


class NewtonAlpha:
    """p − (1 − α_m) M y − (1 − α_f) βΔt [f_int(u₁) + D v₁] + λ (1 − α_m)(Cᵀφ + BᵀP) = 0, by `solve_newton`.

    The tangent is that of each pass, on one symbolic analysis (`NewtonPolicy`).
    """

    def __init__(self, assembly: Assembly, step: float, scheme: "GeneralisedAlpha") -> None:
        coefficients = coefficients_of(scheme, step)
        forces = EndForces(assembly, coefficients, matrix_at_rest(assembly, step, scheme))
        self._solver = NewtonSolver(assembly, coefficients, forces, None)

    def solve(self, state: State, rhs: StepRhs) -> StepSolution:
        """The step from the state, its velocity the guess."""
        equations, y = StepEquations(self._solver, state, rhs), state.v.copy()
        if rhs.imposed is not None:
            y[self._solver.assembly.imposed_dofs] = rhs.imposed
        return solve_newton(equations, NewtonPolicy(equations), y)

    def state_dict(self) -> None:
        """Nothing: every step begins with a tangent of its own."""

    def load_state_dict(self, state: None) -> None:
        """Nothing."""


@dataclass(frozen=True)
class AlphaState:
    """State of the stepper between two steps, all (d,) but rest (m,); forces in N, M a = F + Q.

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


def start_state(
    assembly: Assembly,
    scheme: "GeneralisedAlpha",
    step: float,
    motion: tuple[Array, Array],
    n: int = 0,
    memory: Memory | None = None,
) -> State:
    """The state at t = nΔt of u and v (d,), with the acceleration of M a = F(t) + Cᵀφ + Bᵀr, C a = 0."""
    (u, v), mix = motion, scheme.beta / scheme.gamma
    bulk = assembly.respond(u, assembly.start_memory() if memory is None else memory, 0.0)
    accept_cells(assembly, bulk, n * step)
    internal = bulk.force
    touch = assembly.contact_start(u)
    kinematics, gaps = touch.kinematics, touch.gaps
    external = assembly.load(n * step)
    damping = assembly.viscous @ v if assembly.viscous is not None else np.zeros_like(u)
    contact = kinematics.apply_local_transposed(touch.stored)
    force = external - internal - damping + kinematics.basis.T @ contact
    a, constraint, initial_impulse = start_accelerations(assembly, kinematics, force, motion, step, n)
    pulled = assembly.generalised_force(constraint, contact + initial_impulse)
    at_rest = assembly.massless & assembly.from_former_result
    pulled[at_rest] = (damping + internal - external)[at_rest]  # massless nodes rest under what pressed them there
    own = AlphaState(
        lead=(0.5 - mix) * a,
        load=external,
        internal=internal,
        damping=damping,
        external=external,
        pulled=pulled,
        momentum=assembly.mass @ v,
        rest=(mix - 1.0) * (assembly.constraints @ v),
    )
    return State.first(assembly, u, v, bulk, gaps, kinetic=assembly.kinetic(v), own=own, n=n)


class AlphaStepper(DelegatedCheckpoint, Stepper):
    """Generalised-α with the unknown y = (1 − λ) v₀ + λ v₁, λ = β/γ, so that u₁ = u₀ + Δt y + Δt² (½ − λ) a₀:

        (1 − α_m) M y = (1 − α_m) p₀ + λΔt (1 − α_m − γ) F₀ + βΔt [(1 − α_f) F(t₁; u₁, v₁) + α_f F(t₀)]
            + λ (1 − α_m) (Cᵀφ + BᵀP)

    with the momentum p₀, the carried bulk forces F₀ and the impulses φ, P = Δt [(1 − γ) Q₀ + γ Q₁]. No acceleration
    enters but by its forces (and a₀ in u₁, unless β = γ/2), and p₁ = p₀ + Δt [(1 − γ) F₀ + γ F₁] + Cᵀφ + BᵀP: what one
    solve lacks the next one gets. C v₁ = 0 makes C y = (1 − λ) C v₀ in the first step, then 0: as C y = −rest.
    """

    def __init__(self, assembly: Assembly, step: float, scheme: "GeneralisedAlpha") -> None:
        self.step = step
        self._assembly = assembly
        self._scheme = scheme
        self._mix = scheme.beta / scheme.gamma
        self._source = self._bulk = (LinearAlpha if assembly.linear else NewtonAlpha)(assembly, step, scheme)
        self.linear_solver = self._bulk.solver if isinstance(self._bulk, LinearAlpha) else ""
        self._moving = assembly.free & ~assembly.massless
        self._projection = VelocityProjection(assembly)

    def with_step(self, step: float) -> "AlphaStepper":
        """The same with another step, for nonlinear parts."""
        return AlphaStepper(self._assembly, step, self._scheme)

    merge_substeps = staticmethod(merge_time_steps)

    restarts = True

    @property
    def linear_system(self) -> ConstrainedSystem:
        """The matrix of a step of linear parts, with its solver."""
        assert isinstance(self._bulk, LinearAlpha)
        return self._bulk.condensed

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt, see `start_state`."""
        return start_state(self._assembly, self._scheme, self.step, (u, v), n, memory)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One step."""
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
        rhs = StepRhs(impulse, 0.0, -own.rest, self._given(state, t1), t1, shift)
        solved = self._bulk.solve(state, rhs)
        u = state.u + (step * solved.y + shift)
        accept(solved.contact.solution, u, t1, assembly=assembly)
        accept_shape(assembly, u, t1)
        return self._finish(state, solved, load)

    def _finish(
        self,
        state: State,
        solved: StepSolution,
        load: Array,
    ) -> tuple[State, StepBatch]:
        """The new state, the recursions of its forces, and the works of the step."""
        assembly, scheme, step, own = self._assembly, self._scheme, self.step, state.own
        am, af, gamma = scheme.alpha_m, scheme.alpha_f, scheme.gamma
        y, multipliers, contact_step = solved.y, solved.multipliers, solved.contact
        du, dv = step * y + step**2 * own.lead, (y - state.v) / self._mix
        u, v = state.u + du, state.v + dv
        bulk = assembly.respond(u, state.memory, step)
        accept_cells(assembly, bulk, (state.n + 1) * step)
        kinematics, contact = contact_step.kinematics, contact_step.solution
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
        pulled = assembly.generalised_force(multipliers, contact_step.impulse)
        resisting = mean_internal + mean_damping - mean_external
        carried = AlphaState(
            lead=end_of((0.5 - self._mix) * dv / step, own.lead),
            load=load,
            internal=internal_share,
            damping=damping_share,
            external=external_share,
            pulled=end_of(pulled / step, own.pulled),
            momentum=np.where(self._moving, own.momentum - step * resisting + pulled, momentum),
            rest=own.rest + assembly.constraints @ y,
        )
        impulses = (multipliers / step, contact_step.impulse / step)
        given = reaction(assembly, lambda: (momentum - own.momentum) / step + resisting, impulses)
        forces = Forces(mean_internal, mean_damping, mean_external, given)
        path = 0.5 * step * (state.v + v)
        ways = WorkPaths.mean(du, path)
        loss, rows = contact_step.loss(du, min(gamma, 1.0)), ways.on(kinematics)
        work = BulkWork.of(assembly, step, forces, multipliers, ways, du / step).works(
            step=step,
            rates=rows,
            kinematics=kinematics,
            contact=contact,
            stored_before=state.stored,
            stored_after=(bulk.stored, contact_step.stored(assembly.laws, u)),
            loss=loss,
            plastic=bulk.dissipated,
            persistent=contact_step.persistent,
        )
        found = self._projection.of(contact_step, u, v)
        if found is not None:
            change = assembly.mass @ found.dv
            v, momentum = v + found.dv, momentum + change
            carried = replace(carried, momentum=carried.momentum + change)
            work.values += found.work.values
        work["kinetic"] = 0.5 * float(v @ momentum)
        return contact_step.ended(
            assembly,
            state,
            (u, v),
            bulk,
            work,
            own=carried,
            multipliers=multipliers,
            path=path,
            contact=contact_step.impulses(contact_step.slip(rows), loss, found),
            newton=solved.newton,
            projected=found,
            reaction=step * given[assembly.imposed_dofs],
        )

    def _given(self, state: State, t: float) -> Array | None:
        """Values of y (p,) on the imposed dofs."""
        assembly, mix, dofs = self._assembly, self._mix, self._assembly.imposed_dofs
        if not dofs.size:
            return None
        values = assembly.imposed(t)
        from_displacement = (values - state.u[dofs]) / self.step - self.step * state.own.lead[dofs]
        from_velocity = mix * values + (1.0 - mix) * state.v[dofs]
        return np.where(assembly.imposes_displacement, from_displacement, from_velocity)


@checked_call
@dataclass(frozen=True)
class GeneralisedAlpha:
    """The family of schemes with acceleration:

        u₁ = u₀ + Δt v₀ + Δt² [(½ − β) a₀ + β a₁],    v₁ = v₀ + Δt [(1 − γ) a₀ + γ a₁]
        M [(1 − α_m) a₁ + α_m a₀] = (1 − α_f) F(t₁) + α_f F(t₀) + Q,    C v₁ = 0

    F the bulk forces, Q the forces of constraints and contact. Nonlinear parts give F(t₁) at u₁, by Newton's
    iterations, in parts of a step where it fails (`CutBackStepper`): nothing then bounds the energy, which finite
    rotations feed (`Theta` keeps it); what the mean force does beyond what is stored and dissipated is `scheme`. The
    unknown of contact is its impulse over the step,
    P = Δt [(1 − γ) r₀ + γ r₁], on which the laws act as in the θ-scheme with θ = γ (a discrete gradient for γ =
    1/2): the pair (β, γ) = (1/4, 1/2) then conserves energy with regular laws too. A point is closed when g(u₀ + ½
    Δt v₀) ≤ 0.

    solver: of the linear system of a step, see `Theta`.

    Unconditionally stable on linear bulk for α_m ≤ α_f ≤ 1/2, γ ≥ 1/2, β ≥ γ/2. Order 2 if γ = 1/2 + α_f − α_m, else 1.
    Source: Newmark 1959; Hilber, Hughes & Taylor, Earthq. Eng. Struct. Dyn. 5 (1977) 283–292; Chung & Hulbert, J.
    Appl. Mech. 60 (1993) 371–375.
    """

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    solver: SolverName = "auto"

    def __post_init__(self) -> None:
        checked_solver(self.solver)
        within("alpha_m", self.alpha_m, -1.0, 0.5)
        within("alpha_f", self.alpha_f, 0.0, 0.5)
        within("gamma", self.gamma, 0.5, 1.5)
        positive("beta", self.beta)
        # unconditional stability; for order 2 this is Chung and Hulbert's β ≥ 1/4 + (α_f − α_m)/2
        within("beta", self.beta, 0.5 * self.gamma, 2.0)

    @property
    def order(self) -> int:
        return 2 if abs(self.gamma - 0.5 - self.alpha_f + self.alpha_m) < 1e-12 else 1

    static = False

    @property
    def frequency_error(self) -> float:
        """β − 1/12 + α_f(α_m − α_f) + s(s/4 + α_m − α_f − 1/2), s = γ − 1/2 + α_m − α_f (0 where the order is 2)."""
        shift = self.alpha_m - self.alpha_f
        excess = self.gamma - 0.5 + shift
        return self.beta - 1.0 / 12.0 + self.alpha_f * shift + excess * (0.25 * excess + shift - 0.5)

    def prepare(self, assembly: Assembly, step: float) -> Stepper:
        for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
            if isinstance(own, Constrained) or is_viscous(own):
                raise UserError(
                    f"part '{part.name}': GeneralisedAlpha steps neither rigid parts nor viscous ones of finite "
                    "kinematics: take Theta"
                )
        linear_parts_only(assembly, self.solver)
        stepper = AlphaStepper(assembly, step, self)
        return stepper if assembly.linear else CutBackStepper(stepper)

    @classmethod
    @checked_call
    def with_radius(cls, radius: float, solver: SolverName = "auto") -> "GeneralisedAlpha":
        """Chung and Hulbert's choice for the spectral radius at high frequency, 0 ≤ radius ≤ 1 (1: no loss)."""
        within("radius", radius, 0.0, 1.0)
        alpha_m = (2.0 * radius - 1.0) / (radius + 1.0)
        alpha_f = radius / (radius + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        return cls(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma, solver)


@checked_call
def Newmark(beta: float = 0.25, gamma: float = 0.5, solver: SolverName = "auto") -> GeneralisedAlpha:
    """Newmark(β, γ): the family without averaging. (1/4, 1/2) is the trapezoidal rule, which conserves energy.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 1.0)  # m, kg
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=1.0)  # N/m: ω = 1 rad/s
    >>> system = aq.System([mass], springs=[spring], velocity=1.0)  # m/s
    >>> result = aq.simulate(system, aq.Newmark(), duration=10.0, step=0.5)
    >>> energy = result["energy"].sel(kind=["kinetic", "strain"]).sum("kind")  # J
    >>> round(float(energy.min()), 9), round(float(energy.max()), 9)  # ½ m v²
    (0.5, 0.5)
    """
    return GeneralisedAlpha(0.0, 0.0, beta, gamma, solver)


@checked_call
def HHT(alpha: float = -0.05, solver: SolverName = "auto") -> GeneralisedAlpha:
    """HHT-α, −1/3 ≤ α ≤ 0: forces averaged with −α, γ = 1/2 − α, β = (1 − α)²/4. Order 2."""
    within("alpha", alpha, -1.0 / 3.0, 0.0)
    return GeneralisedAlpha(0.0, -alpha, 0.25 * (1.0 - alpha) ** 2, 0.5 - alpha, solver)


@checked_call
def ModifiedMeanAcceleration(alpha: float = -0.05, solver: SolverName = "auto") -> GeneralisedAlpha:
    """Newmark with γ = 1/2 − α, β = (1 − α)²/4, −1/3 ≤ α ≤ 0: HHT's parameters without its averaging of forces.

    Code_Aster's HHT with MODI_EQUI = NON. Order 1 where α < 0.
    """
    within("alpha", alpha, -1.0 / 3.0, 0.0)
    return GeneralisedAlpha(0.0, 0.0, 0.25 * (1.0 - alpha) ** 2, 0.5 - alpha, solver)
