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

_HALVES = 30  # of a change with an inverted cell, after which it is not taken at all
_ROUND_OFF = 4.0 * float(np.finfo(float).eps)
_SEEKING = 10  # passes of a load step that seek partners anew; later ones might change them to and fro
_DRIFT_SHARE = 0.01  # share of the strain of rigid parts, which is round-off, that a step removes
_KEEPING = 20  # passes that release the same points at a reversal; where this does not end, later ones choose anew
_PASSES = 40  # linear systems of a step at most
_EXACT, _ENOUGH = 1e-14, 1e-11  # residual momentum, of the largest impulse: converged; converged once it stagnates
_STAGNANT = 2  # passes that do not halve the residual, after which it stagnates


@dataclass(frozen=True)
class Residual:
    """Right-hand sides of the linear system for the change of an iterate.

    force (d,), N·s: p + h (f_ext − f) − μ M y, without the impulses of constraints and contact; not finite on parts
    with an inverted cell. constraint (m,), rigid (k,), imposed (p,): the changes that C y, G y and the imposed values
    still need, m/s; gradient: G (k, d). scale: the largest term of `force`, rounding: what the round-off of the
    displacements does to it, N·s.
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
    """left: the largest momentum that impulses leave unbalanced, N·s, that of rigid parts that deform included; scale:
    the largest term of the balance, impulses included, as they cancel in it; rounding: what round-off leaves."""

    left: float
    scale: float
    rounding: float


@dataclass(frozen=True)
class NewtonPass:
    """One linear solution: from x with its residual by `change` to the solution; size: ‖change‖ as lengths."""

    x: Array
    residual: Residual
    solution: StepSolution
    change: Array
    size: float


@dataclass(frozen=True)
class TangentState:
    """Checkpoint of a tangent: where it was made (None: at rest), and how it served (`TangentUse`).

    softened: of statics, how often its proximal term had been made smaller.
    """

    point: LinearisationPoint | None
    use: tuple[bool, int, int] = (True, 0, 0)
    softened: int = 0


@dataclass
class TangentFactor:
    """The condensed tangent last made, where and by which solver."""

    condensed: Condensed
    point: LinearisationPoint | None = None
    owner: "NewtonSolver | None" = None


class NewtonSolver:
    """Newton's method for the steps of one size: assembly, coefficients and forces of the scheme, and its tangent."""

    def __init__(
        self, assembly: Assembly, coefficients: StepCoefficients, forces: StepForces, tangent: TangentFactor | None
    ) -> None:
        """tangent: by default the one at rest."""
        if assembly.massless.any() and not coefficients.static:
            raise UserError('mass="redistributed" is for parts of small rotations: take "consistent" or "lumped"')
        self.assembly, self.coefficients, self.forces = assembly, coefficients, forces
        self.displacement_per_unit = displacement_per_unit(assembly)
        self._masses = assembly.mass.diagonal() / self.displacement_per_unit**2  # kg
        self.touching_mass = float(self.heaviest(assembly.contact.basis).max(initial=0.0))
        self.stiffness_size = abs(assembly.stiffness)  # forces change by |K| |u| ε where u changes in its last digit
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
        """The tangent at a point; reuse: takes over the symbolic analysis of the former one, which is lost.

        UserError where it is not positive definite.
        """
        matrix = self.forces.tangent(point)
        former = self.tangent.condensed if reuse else None
        self.tangent.condensed = Condensed(self.assembly, matrix, former=former)
        self.tangent.point, self.tangent.owner = point, self

    def state_dict(self) -> TangentState:
        """The tangent, if this solver made the last one, as the point where it was made."""
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
    their multipliers do no work at θ = 1/2. G is that of each pass. The round-off of c is removed slowly: all at once
    would be a velocity of ε/Δt.
    """

    def __init__(self, solver: NewtonSolver, state: State, rhs: StepRhs) -> None:
        self.solver, self.state, self.rhs = solver, state, rhs
        self._contact = solver.assembly.contact
        self._start = StepStart.of(state, self._contact)
        self._shift = None if rhs.shift is None else self._contact.basis @ rhs.shift
        self._search_displacement: Array | None = None  # of the contact's basis, where partners are sought first

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
        if coefficients.static and number <= _SEEKING:
            self._search_displacement = self._contact.basis @ self.displacement(y)
        search_displacement = self._search_displacement
        # the first pass, and one that goes back, begin from the impulse of the state
        repeated = guess is not self.state.impulse and number <= _KEEPING
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
        """The momentum (d,) that the impulses of a solution leave unbalanced, N·s; 0 where motions are imposed."""
        impulses = 0.0 if solution is None else self.impulses(residual, solution)
        return np.where(self.solver.assembly.free, residual.force + impulses, 0.0)

    def balance(self, residual: Residual, solution: StepSolution) -> Balance:
        """The balance of momentum under the impulses of a solution.

        Contact closes the rates W P with the round-off of Σ|W_kj||P_j| ≤ √W_kk Σ √W_jj |P_j|, with which the heaviest
        part moves that touches a light one.
        """
        solver, contact_step = self.solver, solution.contact
        impulses, sizes = self._pulls(residual, solution), solver.displacement_per_unit
        unbalanced, *terms = (
            float(np.abs(own / sizes).max(initial=0.0))
            for own in (np.where(solver.assembly.free, residual.force + impulses[0] + impulses[1], 0.0), *impulses)
        )
        strained = (solver.heaviest(residual.gradient) * np.abs(residual.rigid)).max(initial=0.0)
        rounding = residual.rounding
        if contact_step.answers.size and not solver.coefficients.static:
            roots = np.sqrt(contact_step.answers)
            rate = _ROUND_OFF * roots.max() * float(roots @ np.abs(contact_step.solution.impulse))
            rounding += solver.touching_mass * rate
        return Balance(max(unbalanced, float(strained)), max(residual.scale, *terms), rounding)

    def admissible(self, start: Array, y: Array) -> tuple[int, Array, Residual]:
        """How often the way from `start` to y is halved until no cell is inverted, and the iterate and residual.

        After `_HALVES` the iterate is the start.
        """
        halves, residual = 0, self.residual(y)
        while not residual.admissible and halves <= _HALVES:
            halves, y = halves + 1, 0.5 * (start + y) if halves < _HALVES else start
            residual = self.residual(y)
        return halves, y, residual

    def search(self, done: NewtonPass, share: float) -> float:
        """The share of a pass's change that the line search takes, at most the given one."""
        impulses = self.impulses(done.residual, done.solution)
        return search(partial(self._remaining, done, impulses), done.size, share)

    def _remaining(self, done: NewtonPass, impulses: Array, share: float) -> float:
        """‖A⁻¹R‖ at a share of a pass's change, under its impulses (d,); inf with inverted cells."""
        residual = self.residual(done.x + share * done.change)
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
        """One iterative refinement under the impulses of a solution, imposed values kept.

        Its forces are those of the strains, whose round-off in slender parts is below that of K u.
        """
        residual, weight = self.residual(solution.y), self.solver.coefficients.impulse
        imposed = np.zeros(self.solver.assembly.imposed_dofs.size)
        force = residual.force + self.impulses(residual, solution)
        better = self.solver.tangent.condensed.predict(force, residual.constraint, imposed)
        y, multipliers = solution.y + better.y, solution.multipliers + better.multipliers / weight
        return StepSolution(y, multipliers, solution.contact, solution.newton, solution.rigid)

    def linearise(self, y: Array) -> None:
        """The tangent at y; where that is not positive definite (a guess far off), at the start of the step."""
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
    """When a step has a new tangent, when it has converged, and which part of a change it takes: full Newton.

    A tangent in each pass. Changes are taken whole; where they diverge (`DivergenceMonitor`), the iteration goes back
    to the y of the smallest one and takes the share that `search` gives of each change. passes: linear systems at most,
    which the policy may lower meanwhile; searching: whether the line search is on.
    """

    passes = _PASSES
    searching = False

    def __init__(self, equations: StepEquations) -> None:
        self._equations = equations
        self._monitor, self._residuals = DivergenceMonitor(), Stagnation()
        self._best: Array | None = None

    def linearise(self, y: Array, number: int) -> None:
        """Makes a tangent for pass `number`, from y, if there is to be a new one."""
        self._equations.linearise(y)

    def verified(self, residual: Residual, solution: StepSolution) -> bool:
        """Whether a solution holds, with the residual at its y.

        At 1e-14 of the largest impulse, or where the residual stagnates below 1e-11 of it and the round-off.
        """
        left, scale, _ = self._equations.balance(residual, solution)
        stagnant = self._residuals.passes(left) >= _STAGNANT
        return left <= _EXACT * scale or (stagnant and left <= _ENOUGH * scale + residual.rounding)

    def converged(self, done: NewtonPass) -> bool:
        """Whether a pass ends the step, without verification."""
        return False

    def review(self, done: NewtonPass) -> Array | None:
        """Takes note of a pass; the y (d,) to go back to where the passes diverge."""
        if self._best is None:
            self._best = done.x
        if self.searching:
            return None
        if self._monitor.smallest(done.size):
            self._best = done.x
        elif self._monitor.diverging(done.size):
            self.searching = True
            return self._best
        return None

    def proceed(self, done: NewtonPass) -> tuple[Array, bool]:
        """The next y (d,), and whether it is that of the solution, to be verified."""
        return done.solution.y, True

    def halved(self, times: int) -> None:
        """Takes note of a change halved because of inverted cells: as so many passes; such steps are better cut."""
        self.passes -= times

    def failure(self, where: str) -> UserError:
        """The error of a step that does not converge."""
        t, passes = self._equations.rhs.t, self.passes
        return Failed(f"the step to t = {t:.6g} s did not converge in {passes} passes ({where})")


def solve_newton(equations: StepEquations, policy: NewtonPolicy, y: Array, origin: Array | None = None) -> StepSolution:
    """The step by Newton's method, from the guess y (d,), or from between it and `origin` where it inverts a cell.

    A pass solves A Δy = R(y) + λμ (Cᵀφ + BᵀP): contact and constraints hold at y + Δy exactly, the balance of momentum
    as far as A is the derivative. Changes that would invert a cell are halved. Passes do not change the memory of
    points. The failure of the policy where its passes do not suffice.
    """
    candidate: StepSolution | None = None
    done: NewtonPass | None = None
    whole, guess, number = y, equations.state.impulse, 0
    halves, y, residual = equations.admissible(y if origin is None else origin, y)
    while residual.admissible:
        if candidate is not None and policy.verified(residual, candidate):
            return candidate
        if number >= policy.passes:
            break
        number += 1
        policy.linearise(y, number)
        done = equations.solve(y, residual, guess, number)
        if policy.converged(done):
            return done.solution
        guess, back = done.solution.contact.solution.impulse, policy.review(done)
        if back is not None:
            y, candidate, guess = back, None, equations.state.impulse
            halves, residual = 0, equations.residual(y)
            continue
        whole, verify = policy.proceed(done)
        halves, y, residual = equations.admissible(done.x, whole)
        if policy.searching:
            share = equations.search(done, 0.5**halves)
            if share != 0.5**halves:
                halves, y = 1, done.x + share * done.change
                residual = equations.residual(y)
        elif halves:
            policy.halved(halves)
        candidate = done.solution if verify and not halves else None
    last = None if done is None else done.solution
    raise policy.failure(equations.where(whole if halves else y, equations.unbalanced(residual, last)))
