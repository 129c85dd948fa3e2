"""Newton's method for a step with nonlinear parts: one loop for dynamics and statics, with exchangeable policies."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.line_search import DivergenceMonitor, Stagnation, search
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.solvers.condensed import Condensed, Predictor, RigidCondensed
from arlequin.solvers.linear_step import StepRhs, StepSolution, StepStart, contact_step
from arlequin.solvers.solver_choice import factored
from arlequin.solvers.step_forces import LinearisationPoint, StepForces
from arlequin.step.acceptance import Failed
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.lengths import displacement_per_unit
from arlequin.system.locate import locate_maximum

_HALVES = 30  # halvings of a change with an inverted cell, after which it is rejected
_ROUND_OFF = 4.0 * float(np.finfo(float).eps)
_SEARCH_PASSES = 10  # passes of a load step that search partners; in later ones these might oscillate
_DRIFT_SHARE = 0.01  # share of the strain of rigid parts, which is round-off, that a step removes
_RELEASE_PASSES = 20  # passes that release the same points at a reversal; later ones choose the points again
_PASSES = 40  # linear systems of a step at most
_EXACT, _ENOUGH = 1e-14, 1e-11  # residual momentum, of the largest impulse: converged; converged once it stagnates
_STAGNANT = 2  # passes that do not halve the residual, after which it stagnates


@dataclass(frozen=True)
class Residual:
    """Right-hand sides of the linear system for the change of an iterate.

    force (d,), N·s: p + h (f_ext − f) − μ M y, without the impulses of constraints and contact; not finite on parts
    with an inverted cell. constraint (m,), rigid (k,), imposed (p,): residuals of C y, G y and the imposed values, m/s;
    gradient: G (k, d). scale: the largest term of `force`, rounding: its error by the round-off of displacements, N·s.
    """

    force: Array
    constraint: Array
    rigid: Array
    imposed: Array | None
    gradient: sp.csr_array
    scale: float
    rounding: float

    @property
    def admissible(self) -> bool:
        """Whether no cell is inverted."""
        return bool(np.isfinite(self.force).all())


class Balance(NamedTuple):
    """unbalanced: largest residual of the momentum balance, N·s, residuals of rigid parts included; scale: the largest
    term of the balance, impulses included, as they cancel in it; rounding: its round-off."""

    unbalanced: float
    scale: float
    rounding: float


@dataclass(frozen=True)
class NewtonPass:
    """One linear solution: from the iterate x with its residual by `change` to the solution; size: ‖change‖, scaled."""

    x: Array
    residual: Residual
    solution: StepSolution
    change: Array
    size: float


@dataclass(frozen=True)
class TangentState:
    """Checkpoint of a tangent: its linearisation point (None: at rest) and reuse statistics (`TangentUse`).

    softened: of statics, number of reductions of its proximal term.
    """

    point: LinearisationPoint | None
    use: tuple[bool, int, int] = (True, 0, 0)
    softened: int = 0


@dataclass
class TangentFactor:
    """The last condensed tangent, its linearisation point and its solver."""

    condensed: Condensed
    point: LinearisationPoint | None = None
    owner: "NewtonSolver | None" = None


class NewtonSolver:
    """Newton's method for the steps of one size: assembly, coefficients and forces of the scheme, and its tangent."""

    def __init__(
        self, assembly: Assembly, coefficients: StepCoefficients, forces: StepForces, tangent: TangentFactor | None
    ) -> None:
        """tangent: by default that at rest."""
        if assembly.massless.any() and not coefficients.static:
            raise UserError('mass="redistributed" is for parts of small rotations: take "consistent" or "lumped"')
        self.assembly, self.coefficients, self.forces = assembly, coefficients, forces
        self.displacement_per_unit = displacement_per_unit(assembly)
        self._masses = assembly.mass.diagonal() / self.displacement_per_unit**2  # kg
        self.touching_mass = float(self.heaviest(assembly.contact.basis).max(initial=0.0))
        self.stiffness_size = abs(assembly.stiffness)  # |K| |u| ε: change of forces by round-off of u
        if tangent is None:
            rest = np.zeros(assembly.dof_count)
            tangent = TangentFactor(
                factored(assembly, forces.tangent(LinearisationPoint(rest, rest, assembly.fresh())))
            )
        self.tangent = tangent

    def heaviest(self, rows: sp.csr_array) -> Array:
        """The largest mass (k,), kg, of the degrees of freedom of each row (k, d)."""
        return np.maximum.reduceat(np.append(self._masses[rows.indices], 0.0), rows.indptr[:-1])

    def linearise(self, point: LinearisationPoint, reuse: bool = True) -> None:
        """Factor the tangent at a point; reuse: with the symbolic analysis of the former tangent, which becomes
        invalid.

        UserError where it is not positive definite.
        """
        matrix = self.forces.tangent(point)
        former = self.tangent.condensed if reuse else None
        self.tangent.condensed = Condensed(self.assembly, matrix, former=former)
        self.tangent.point, self.tangent.owner = point, self

    def state_dict(self) -> TangentState:
        """The linearisation point of the tangent, if it is of this solver."""
        if self.tangent.owner not in (None, self):
            return TangentState(None)
        return TangentState(self.tangent.point)

    def load_state_dict(self, state: TangentState, reuse: bool = True) -> None:
        """Restore from `state_dict()`."""
        if state.point is not None:
            self.linearise(state.point, reuse)


class StepEquations:
    """The nonlinear equations of one step (`StepCoefficients`), from a state under a right-hand side.

    Rigid parts keep c(u₁) = 0, G = ∂c/∂u at u_½ = ½(u₀ + u₁): c is quadratic, so c(u₁) = c(u₀) + Δt G(u_½) y, and
    their multipliers do no work at θ = 1/2. G is updated in each pass. The round-off of c is removed gradually: at once
    it would be a velocity of ε/Δt.
    """

    def __init__(self, solver: NewtonSolver, state: State, rhs: StepRhs) -> None:
        self.solver, self.state, self.rhs = solver, state, rhs
        self._contact = solver.assembly.contact
        self._start = StepStart.of(state, self._contact)
        self._shift = None if rhs.shift is None else self._contact.basis @ rhs.shift
        self._search_displacement: Array | None = None  # of the contact's basis, for the first pairing

    def displacement(self, y: Array) -> Array:
        """u₁ (d,) by y."""
        start = self.state.u if self.rhs.shift is None else self.state.u + self.rhs.shift
        return start + self.solver.coefficients.step * y

    def residual(self, y: Array) -> Residual:
        """The residual at y (d,)."""
        solver, state, rhs = self.solver, self.state, self.rhs
        assembly, coefficients, sizes = solver.assembly, solver.coefficients, solver.displacement_per_unit
        u = self.displacement(y)
        resisting = solver.forces.resisting(state, u, y)
        inertia = np.zeros_like(y) if coefficients.static else coefficients.inertia * (assembly.mass @ y)
        force = rhs.momentum - inertia + coefficients.force * (rhs.force - resisting)
        terms = inertia, rhs.momentum, coefficients.force * resisting, coefficients.force * rhs.force
        scale = max(float(np.abs(term / sizes).max(initial=0.0)) for term in terms)
        rounding = _ROUND_OFF * coefficients.force * float((solver.stiffness_size @ np.abs(u) / sizes).max(initial=0.0))
        gradient = assembly.rigidity.gradient(0.5 * (state.u + u))
        rigid = -(gradient @ y + _DRIFT_SHARE / coefficients.step * assembly.rigidity.strains(state.u))
        constraint = rhs.constraint_rate - assembly.constraints @ y
        imposed = None if rhs.imposed is None else rhs.imposed - y[assembly.imposed_dofs]
        return Residual(force, constraint, rigid, imposed, gradient, scale, rounding)

    def solve(self, y: Array, residual: Residual, guess: Array, number: int) -> NewtonPass:
        """The linear system at y with contact: constraints and contact hold at the solution exactly."""
        coefficients = self.solver.coefficients
        condensed, free = self._predict(residual, residual.force)
        rows = self._contact.basis @ y + free.contact
        if coefficients.static and number <= _SEARCH_PASSES:
            self._search_displacement = self._contact.basis @ self.displacement(y)
        search_displacement = self._search_displacement
        # the first pass, and passes after a restart, start from the impulse of the state
        repeated = guess is not self.state.impulse and number <= _RELEASE_PASSES
        contact_solution = contact_step(
            coefficients,
            self._contact,
            condensed.compliance,
            self._start,
            rows,
            guess,
            self._shift,
            search_displacement,
            repeated,
        )
        change, multipliers, rigid = condensed.correct(free, coefficients.impulse * contact_solution.impulse)
        solution = StepSolution(
            y + change, multipliers / coefficients.impulse, contact_solution, number, rigid / coefficients.impulse
        )
        return NewtonPass(
            y, residual, solution, change, float(np.linalg.norm(self.solver.displacement_per_unit * change))
        )

    def impulses(self, residual: Residual, solution: StepSolution) -> Array:
        """λμ (Cᵀφ + Gᵀλ_G + BᵀP) (d,), N·s."""
        constraint_and_contact, rigid = self._pulls(residual, solution)
        return constraint_and_contact + rigid

    def _pulls(self, residual: Residual, solution: StepSolution) -> tuple[Array, Array]:
        """λμ (Cᵀφ + BᵀP) and λμ Gᵀλ_G (d,), N·s."""
        factor = self.solver.coefficients.impulse
        force = self.solver.assembly.generalised_force(solution.multipliers, solution.contact.impulse)
        return factor * force, factor * (residual.gradient.T @ solution.rigid)

    def unbalanced(self, residual: Residual, solution: StepSolution | None) -> Array:
        """Residual of the momentum balance (d,) under the impulses of a solution, N·s; 0 where motions are imposed."""
        impulses = 0.0 if solution is None else self.impulses(residual, solution)
        return np.where(self.solver.assembly.free, residual.force + impulses, 0.0)

    def balance(self, residual: Residual, solution: StepSolution) -> Balance:
        """The balance of momentum under the impulses of a solution.

        Contact closes the rates W P with the round-off of Σ|W_kj||P_j| ≤ √W_kk Σ √W_jj |P_j|; its momentum is that of
        the heaviest part in contact.
        """
        solver, contact_step = self.solver, solution.contact
        impulses, sizes = self._pulls(residual, solution), solver.displacement_per_unit
        unbalanced, *terms = (
            float(np.abs(momentum / sizes).max(initial=0.0))
            for momentum in (np.where(solver.assembly.free, residual.force + impulses[0] + impulses[1], 0.0), *impulses)
        )
        strained = (solver.heaviest(residual.gradient) * np.abs(residual.rigid)).max(initial=0.0)
        rounding = residual.rounding
        if contact_step.delassus_diagonal.size and not solver.coefficients.static:
            roots = np.sqrt(contact_step.delassus_diagonal)
            rate = _ROUND_OFF * roots.max() * float(roots @ np.abs(contact_step.solution.impulse))
            rounding += solver.touching_mass * rate
        return Balance(max(unbalanced, float(strained)), max(residual.scale, *terms), rounding)

    def admissible(self, start: Array, y: Array) -> tuple[int, Array, Residual]:
        """Number of halvings of y − `start` until no cell is inverted, the iterate and its residual.

        After `_HALVES` the iterate is the start.
        """
        halves, residual = 0, self.residual(y)
        while not residual.admissible and halves <= _HALVES:
            halves, y = halves + 1, 0.5 * (start + y) if halves < _HALVES else start
            residual = self.residual(y)
        return halves, y, residual

    def search(self, newton_pass: NewtonPass, share: float) -> float:
        """The step length of the line search along the change of a pass, at most `share`."""
        impulses = self.impulses(newton_pass.residual, newton_pass.solution)
        return search(partial(self._remaining, newton_pass, impulses), newton_pass.size, share)

    def _remaining(self, newton_pass: NewtonPass, impulses: Array, share: float) -> float:
        """‖A⁻¹R‖ at a step length along the change of a pass, under its impulses (d,); inf with inverted cells."""
        residual = self.residual(newton_pass.x + share * newton_pass.change)
        if not residual.admissible:
            return np.inf
        return float(
            np.linalg.norm(self.solver.displacement_per_unit * self._predict(residual, residual.force + impulses)[1].y)
        )

    def _predict(self, residual: Residual, force: Array) -> tuple[RigidCondensed, Predictor]:
        """The tangent condensed on the residual's rigid rows, and the change without contact impulses."""
        condensed = RigidCondensed(self.solver.tangent.condensed, residual.gradient)
        return condensed, condensed.predict(force, residual.constraint, residual.rigid, residual.imposed)

    def refined(self, solution: StepSolution) -> StepSolution:
        """One iterative refinement under the impulses of a solution, with unchanged imposed values.

        Its forces are those of the strains, whose round-off in slender parts is below that of K u.
        """
        residual, weight = self.residual(solution.y), self.solver.coefficients.impulse
        imposed = np.zeros(self.solver.assembly.imposed_dofs.size)
        force = residual.force + self.impulses(residual, solution)
        correction = self.solver.tangent.condensed.predict(force, residual.constraint, imposed)
        y, multipliers = solution.y + correction.y, solution.multipliers + correction.multipliers / weight
        return StepSolution(y, multipliers, solution.contact, solution.newton, solution.rigid)

    def linearise(self, y: Array) -> None:
        """Factor the tangent at y or, where that is not positive definite (a poor guess), at the start of the step."""
        state = self.state
        for end in (self.displacement(y), state.u):
            try:
                self.solver.linearise(LinearisationPoint(state.u, end, state.memory))
            except UserError:
                continue
            return
        where = self.where(y, self.unbalanced(self.residual(y), None))
        raise Failed(f"the step to t = {self.rhs.t:.6g} s has no positive definite tangent: it buckles ({where})")

    def where(self, y: Array, unbalanced: Array) -> str:
        """The inverted cell at y, else the one with the largest unbalanced momentum (d,)."""
        assembly = self.solver.assembly
        inverted = self.solver.forces.inverted_cell(self.state, self.displacement(y))
        if inverted is not None:
            return f"part '{assembly.system.names[inverted[0]]}', cell {inverted[1]} is turned inside out"
        return f"largest residual in {locate_maximum(assembly, unbalanced)}"


class NewtonPolicy:
    """Tangent updates, convergence test and step length of Newton's iterations: full Newton.

    A tangent in each pass, and full changes; where they diverge (`DivergenceMonitor`), the iteration restarts from the
    y of the smallest one with the line search `search`. passes: maximum number of linear systems, which the policy may
    lower; searching: whether the line search is on.
    """

    passes = _PASSES
    searching = False

    def __init__(self, equations: StepEquations) -> None:
        self._equations = equations
        self._monitor, self._residuals = DivergenceMonitor(), Stagnation()
        self._best: Array | None = None

    def linearise(self, y: Array, number: int) -> None:
        """Update the tangent at y for pass `number`, if the policy requires it."""
        self._equations.linearise(y)

    def verified(self, residual: Residual, solution: StepSolution) -> bool:
        """Whether the residual at the y of a solution is small enough.

        Below 1e-14 of the largest impulse, or where it stagnates below 1e-11 of it and the round-off.
        """
        unbalanced, scale, _ = self._equations.balance(residual, solution)
        stagnant = self._residuals.passes(unbalanced) >= _STAGNANT
        return unbalanced <= _EXACT * scale or (stagnant and unbalanced <= _ENOUGH * scale + residual.rounding)

    def converged(self, newton_pass: NewtonPass) -> bool:
        """Whether a pass ends the step, without verification."""
        return False

    def review(self, newton_pass: NewtonPass) -> Array | None:
        """Record a pass; returns the y (d,) to restart from where the passes diverge."""
        if self._best is None:
            self._best = newton_pass.x
        if self.searching:
            return None
        if self._monitor.smallest(newton_pass.size):
            self._best = newton_pass.x
        elif self._monitor.diverging(newton_pass.size):
            self.searching = True
            return self._best
        return None

    def proceed(self, newton_pass: NewtonPass) -> tuple[Array, bool]:
        """The next y (d,), and whether it is that of the solution, to be verified."""
        return newton_pass.solution.y, True

    def halved(self, times: int) -> None:
        """Count halvings because of inverted cells as passes: such steps are better cut."""
        self.passes -= times

    def failure(self, where: str) -> UserError:
        """The error of a step that does not converge."""
        t, passes = self._equations.rhs.t, self.passes
        return Failed(f"the step to t = {t:.6g} s did not converge in {passes} passes ({where})")


def solve_newton(equations: StepEquations, policy: NewtonPolicy, y: Array, origin: Array | None = None) -> StepSolution:
    """The step by Newton's method, from the guess y (d,), halved towards `origin` where it inverts a cell.

    A pass solves A Δy = R(y) + λμ (Cᵀφ + BᵀP): contact and constraints hold at y + Δy exactly, the balance of momentum
    as far as A is the derivative. Changes that would invert a cell are halved. Passes do not change the memory of
    points. The failure of the policy where its passes do not suffice.
    """
    candidate: StepSolution | None = None
    newton_pass: NewtonPass | None = None
    target, guess, number = y, equations.state.impulse, 0
    halves, y, residual = equations.admissible(y if origin is None else origin, y)
    while residual.admissible:
        if candidate is not None and policy.verified(residual, candidate):
            return candidate
        if number >= policy.passes:
            break
        number += 1
        policy.linearise(y, number)
        newton_pass = equations.solve(y, residual, guess, number)
        if policy.converged(newton_pass):
            return newton_pass.solution
        guess, restart = newton_pass.solution.contact.solution.impulse, policy.review(newton_pass)
        if restart is not None:
            y, candidate, guess = restart, None, equations.state.impulse
            halves, residual = 0, equations.residual(y)
            continue
        target, verify = policy.proceed(newton_pass)
        halves, y, residual = equations.admissible(newton_pass.x, target)
        if policy.searching:
            share = equations.search(newton_pass, 0.5**halves)
            if share != 0.5**halves:
                halves, y = 1, newton_pass.x + share * newton_pass.change
                residual = equations.residual(y)
        elif halves:
            policy.halved(halves)
        candidate = newton_pass.solution if verify and not halves else None
    last_solution = None if newton_pass is None else newton_pass.solution
    raise policy.failure(equations.where(target if halves else y, equations.unbalanced(residual, last_solution)))
