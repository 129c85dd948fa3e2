"""Steps of the generalised-α family: Newmark, HHT-α, modified mean acceleration, generalised-α.

Steps of a linear bulk are solved at once, those of a nonlinear one by Newton's iterations.
"""

from dataclasses import dataclass, replace

import numpy as np

from arlequin.energy import BulkWork, Forces, WorkPaths
from arlequin.models.types import Array
from arlequin.solvers.condensed import ConstrainedSystem, DelegatedCheckpoint
from arlequin.solvers.initial_state import start_accelerations
from arlequin.solvers.linear_step import LinearStep, StepRhs, StepSolution
from arlequin.solvers.newton import NewtonPolicy, NewtonSolver, StepEquations, solve_newton
from arlequin.solvers.solver_choice import SolverName
from arlequin.solvers.step_forces import EndForces
from arlequin.solvers.velocity_projection import VelocityProjection
from arlequin.step.acceptance import accept, accept_cells, accept_shape
from arlequin.step.batch import StepBatch, merge_time_steps
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.imposed import reaction
from arlequin.step.scheme import Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import Memory


class NewtonAlpha:
    """p − (1 − α_m) M y − (1 − α_f) βΔt [f_int(u₁) + D v₁] + λ (1 − α_m)(Cᵀφ + BᵀP) = 0, by `solve_newton`.

    The tangent is that of each pass, on one symbolic analysis (`NewtonPolicy`).
    """

    def __init__(self, assembly: Assembly, coefficients: StepCoefficients) -> None:
        forces = EndForces(assembly, coefficients, coefficients.matrix_at_rest(assembly))
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
    coefficients: StepCoefficients,
    motion: tuple[Array, Array],
    n: int = 0,
    memory: Memory | None = None,
) -> State:
    """The state at t = nΔt of u and v (d,), with the acceleration of M a = F(t) + Cᵀφ + Bᵀr, C a = 0."""
    (u, v), step = motion, coefficients.step
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
        lead=coefficients.shift * a,
        load=external,
        internal=internal,
        damping=damping,
        external=external,
        pulled=pulled,
        momentum=assembly.mass @ v,
        rest=(coefficients.weight - 1.0) * (assembly.constraints @ v),
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

    def __init__(self, assembly: Assembly, coefficients: StepCoefficients, solver: SolverName = "auto") -> None:
        """solver: of the linear system of a step of linear parts."""
        self.step = coefficients.step
        self._assembly, self._coefficients = assembly, coefficients
        self._bulk: LinearStep | NewtonAlpha
        if assembly.linear:
            self._bulk = LinearStep(assembly, coefficients, solver)
            self.linear_solver = self._bulk.solver
        else:
            self._bulk = NewtonAlpha(assembly, coefficients)
        self._source = self._bulk
        self._moving = assembly.free & ~assembly.massless
        self._projection = VelocityProjection(assembly)

    def with_step(self, step: float) -> "AlphaStepper":
        """The same with another step, for nonlinear parts."""
        return AlphaStepper(self._assembly, self._coefficients.with_step(step))

    merge_substeps = staticmethod(merge_time_steps)

    restarts = True

    @property
    def linear_system(self) -> ConstrainedSystem:
        """The matrix of a step of linear parts, with its solver."""
        assert isinstance(self._bulk, LinearStep)
        return self._bulk.condensed

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt, see `start_state`."""
        return start_state(self._assembly, self._coefficients, (u, v), n, memory)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One step."""
        assembly, row, step, own = self._assembly, self._coefficients, self.step, state.own
        t1 = (state.n + 1) * step
        load = assembly.load(t1)

        # massless dofs have no forces left over: M a₀ = 0
        force = np.where(self._moving, own.bulk, -own.pulled)
        before = own.load - state.internal
        if assembly.viscous is not None:
            before = before - assembly.viscous @ state.v
        impulse = row.inertia * own.momentum + row.carried * force + row.loads[1] * load + row.loads[0] * before
        shift, given = step**2 * own.lead, None
        if assembly.imposed_dofs.size:
            given = row.imposed(assembly, assembly.imposed(t1), state.u, state.v, own.lead)
        rhs = StepRhs(impulse, 0.0, -own.rest, given, t1, shift)
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
        assembly, row, step, own = self._assembly, self._coefficients, self.step, state.own
        am, af, gamma = row.alpha_m, row.alpha_f, row.gamma
        y, multipliers, contact_step = solved.y, solved.multipliers, solved.contact
        du, dv = step * y + step**2 * own.lead, (y - state.v) / row.weight
        u, v = state.u + du, state.v + dv
        bulk = assembly.respond(u, state.memory, step)
        accept_cells(assembly, bulk, (state.n + 1) * step)
        kinematics, contact = contact_step.kinematics, contact_step.solution
        momentum = assembly.mass @ v
        viscous = assembly.viscous
        damping_now, damping_end = (w * 0.0 if viscous is None else viscous @ w for w in (state.v, v))

        def share(end: Array, now: Array, before: Array) -> Array:
            return ((1.0 - af) * end + af * now - am * before) / row.inertia

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
            lead=end_of(row.shift * dv / step, own.lead),
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
        loss, rows = contact_step.loss(du, row.theta), ways.on(kinematics)
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
