"""The θ-scheme's step of a bulk with nonlinear parts: modified Newton with a kept tangent and Anderson acceleration."""

from dataclasses import dataclass, replace

import numpy as np

from arlequin.linalg.anderson import AndersonAcceleration
from arlequin.linalg.line_search import Stagnation
from arlequin.models.types import Array
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.linear_step import Resistance, StepRhs, StepSolution
from arlequin.solvers.newton import (
    NewtonPass,
    NewtonPolicy,
    NewtonSolver,
    Residual,
    StepEquations,
    TangentFactor,
    TangentState,
    solve_newton,
)
from arlequin.solvers.rotation_predictor import RotationPredictor
from arlequin.solvers.step_forces import MeanForces
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

_PASSES = 40  # with one tangent at most
_TANGENTS = 8  # of a step at most
_WORTH = 8  # a new tangent costs about as much as so many passes
_GROWTH = 4.0  # of the changes, over the smallest so far, beyond which a tangent does not serve
_EXACT, _ENOUGH = 1e-14, 1e-12  # residual momentum, of the largest impulse: converged; converged once it stagnates
_STAGNANT, _NEAR = 2, 8.0  # passes that do not halve the residual: it stagnates; then within so many times the lowest


@dataclass
class TangentUse:
    """How a tangent served: fresh: no step was made with it; least: passes of its first step; spent: those beyond."""

    fresh: bool = True
    least: int = 0
    spent: int = 0

    def count(self, passes: int) -> None:
        """Counts the passes of a step."""
        if self.fresh:
            self.fresh, self.least = False, passes
        self.spent += max(passes - self.least, 0)


class ModifiedNewton(NewtonPolicy):
    """One tangent while it serves, of this step or an earlier one.

    The rotations in a change are made those of the parts at the end of the step (`RotationPredictor`), and Anderson
    acceleration makes up for what the tangent lacks: it is symmetric, and the parts have turned since it was made. A
    new one is made when the passes that this would have spared are worth it, or the changes grow. A solution y + Δy is
    verified once the residual at y is small; it is then accepted if the momentum holds at y + Δy too.
    """

    def __init__(self, equations: StepEquations, use: TangentUse, rotations: RotationPredictor) -> None:
        super().__init__(equations)
        self.passes, self._use, self._rotations = _PASSES * _TANGENTS, use, rotations
        tangent = equations.solver.tangent
        self._due = use.spent >= _WORTH or use.fresh or tangent.owner is not equations.solver
        self._tangents = 0
        self._begin()

    def _begin(self) -> None:
        """With another tangent."""
        self.used, self._small = 0, False
        self._tangents += 1
        self._acceleration = AndersonAcceleration(self._equations.solver.displacement_per_unit)
        self._residuals, self._least = Stagnation(), np.inf
        self._best, self._best_used = None, 1

    def linearise(self, y: Array, number: int) -> None:
        if self._due:
            self._equations.linearise(y)
            self._use.fresh, self._use.spent, self._due = True, 0, False

    def verified(self, residual: Residual, solution: StepSolution) -> bool:
        left, scale, _ = self._equations.balance(residual, solution)
        return left <= max(_EXACT * scale, _NEAR * self._residuals.lowest)

    def review(self, done: NewtonPass) -> Array | None:
        self.used += 1
        size, (left, scale, rounding) = done.size, self._equations.balance(done.residual, done.solution)
        exact, enough = _EXACT * scale, _ENOUGH * scale + rounding
        if self._best is None:
            self._best, self._best_used = done.x, self.used
        serves = size <= _GROWTH * self._least or left <= enough
        if serves:
            if size < self._least:
                self._best, self._best_used, self._least = done.x, self.used, size
            stagnant = self._residuals.passes(left) >= _STAGNANT
            self._small = left <= exact or (stagnant and left <= min(_NEAR * self._residuals.lowest, enough))
            if self.used < _PASSES:
                return None
        if self._tangents == _TANGENTS:
            self.passes = done.solution.newton
        # a new tangent that led nowhere from here may from where it led
        y = done.x if not serves and self._use.fresh and self._best_used == 1 else self._best
        self._due = True
        self._begin()
        return y

    def proceed(self, done: NewtonPass) -> tuple[Array, bool]:
        if self._small:
            return done.solution.y, True
        change = self._rotations.turned(self._equations.state.u, done.x, done.change)
        return self._acceleration.next(done.x + change, change, done.size), False

    def halved(self, times: int) -> None:
        self.used += times


class NewtonStep:
    """M y + θΔt [D y + f̄(u₀, u₁)] = p₀ + θΔt f_θ + θ (Cᵀφ + G(u_½)ᵀλ + BᵀP),  u₁ = u₀ + Δt y,  f̄ of `MeanForces`.

    By `solve_newton` with the policy `ModifiedNewton`; steps of all sizes share one factor and its symbolic analysis.
    """

    def __init__(
        self, assembly: Assembly, coefficients: StepCoefficients, tangent: TangentFactor | None = None
    ) -> None:
        """tangent: that of steps of another size; by default the one at rest."""
        step = coefficients.step
        self._assembly, self._coefficients, self._step = assembly, coefficients, step
        self._forces = MeanForces(assembly, coefficients)
        self._rotations = RotationPredictor(assembly, step)
        self._solver = NewtonSolver(assembly, coefficients, self._forces, tangent)
        self._use = TangentUse()

    @property
    def condensed(self) -> Condensed:
        """The tangent, condensed; of the last step that made one."""
        return self._solver.tangent.condensed

    def with_step(self, step: float) -> "NewtonStep":
        """The same for another Δt."""
        return NewtonStep(self._assembly, self._coefficients.with_step(step), self._solver.tangent)

    def state_dict(self) -> TangentState:
        """The tangent and how it served."""
        use = self._use
        return replace(self._solver.state_dict(), use=(use.fresh, use.least, use.spent))

    def load_state_dict(self, state: TangentState) -> None:
        """Restore from `state_dict()`."""
        self._use = TangentUse(*state.use)
        self._solver.load_state_dict(state)

    def solve(self, state: State, rhs: StepRhs) -> StepSolution:
        """The step from the state."""
        equations = StepEquations(self._solver, state, rhs)
        policy = ModifiedNewton(equations, self._use, self._rotations)
        solution = solve_newton(equations, policy, self._guess(equations))
        self._use.count(policy.used)
        return solution

    def resist(self, state: State, solution: StepSolution, u: Array) -> Resistance:
        """Mean forces of the step that leads to u, those that keep parts rigid among the internal ones."""
        linear, loss = self._assembly.viscous, self._forces.viscous(state.u, u)
        damping = linear @ solution.y if linear is not None else np.zeros_like(u)
        rigid = self._assembly.rigidity.gradient(0.5 * (state.u + u)).T @ solution.rigid
        resisting = self._forces.internal(state.u, u, state.memory) - rigid / self._step
        return Resistance(resisting, damping if loss is None else damping + loss, loss)

    def _guess(self, equations: StepEquations) -> Array:
        """y (d,) of the guess with the smaller residual; rest where both invert a cell."""
        state, imposed = equations.state, equations.rhs.imposed
        guesses, residuals = self._rotations.guesses(state.u, state.v), []
        for y in guesses:
            if imposed is not None:
                y[self._assembly.imposed_dofs] = imposed
            residual = equations.residual(y)
            size = np.abs(residual.force / self._solver.displacement_per_unit).max() if residual.admissible else np.inf
            residuals.append(float(size))
        return guesses[int(np.argmin(residuals))] if min(residuals) < np.inf else np.zeros_like(state.v)
