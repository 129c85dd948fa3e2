"""The step of the θ-scheme for a bulk with nonlinear parts: modified Newton with Anderson acceleration."""

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

_PASSES = 40  # passes with one tangent at most
_TANGENTS = 8  # tangents of a step at most
_TANGENT_COST = 8  # cost of a new tangent, in passes
_GROWTH = 4.0  # of the changes, relative to the smallest so far, above which the tangent is replaced
_EXACT, _ENOUGH = 1e-14, 1e-12  # residual momentum, of the largest impulse: converged; converged once it stagnates
_STAGNANT, _NEAR = 2, 8.0  # passes without halving of the residual: stagnation; largest multiple of the lowest then


@dataclass
class TangentUse:
    """Reuse statistics of a tangent. unused: no step yet; first_passes: passes of its first step; extra_passes: passes
    of later steps beyond those."""

    unused: bool = True
    first_passes: int = 0
    extra_passes: int = 0

    def count(self, passes: int) -> None:
        """Record the passes of a step."""
        if self.unused:
            self.unused, self.first_passes = False, passes
        self.extra_passes += max(passes - self.first_passes, 0)


class ModifiedNewton(NewtonPolicy):
    """Modified Newton: one tangent as long as it converges, of this step or an earlier one.

    Rotations in a change are replaced by finite rotations at the end of the step (`RotationPredictor`), and Anderson
    acceleration compensates errors of the tangent, which is symmetric and of former rotations of the parts. A new one
    is computed when the extra passes exceed its cost, or the changes grow. A solution y + Δy is verified once the
    residual at y is small; it is then accepted if the momentum balance holds at y + Δy too.
    """

    def __init__(self, equations: StepEquations, use: TangentUse, rotations: RotationPredictor) -> None:
        super().__init__(equations)
        self.passes, self._use, self._rotations = _PASSES * _TANGENTS, use, rotations
        tangent = equations.solver.tangent
        self._due = use.extra_passes >= _TANGENT_COST or use.unused or tangent.owner is not equations.solver
        self._tangents = 0
        self._restart()

    def _restart(self) -> None:
        """Reset the iteration for another tangent."""
        self.used, self._small = 0, False
        self._tangents += 1
        self._acceleration = AndersonAcceleration(self._equations.solver.displacement_per_unit)
        self._residuals, self._smallest = Stagnation(), np.inf
        self._best, self._best_used = None, 1

    def linearise(self, y: Array, number: int) -> None:
        if self._due:
            self._equations.linearise(y)
            self._use.unused, self._use.extra_passes, self._due = True, 0, False

    def verified(self, residual: Residual, solution: StepSolution) -> bool:
        unbalanced, scale, _ = self._equations.balance(residual, solution)
        return unbalanced <= max(_EXACT * scale, _NEAR * self._residuals.lowest)

    def review(self, newton_pass: NewtonPass) -> Array | None:
        self.used += 1
        size, (unbalanced, scale, rounding) = (
            newton_pass.size,
            self._equations.balance(newton_pass.residual, newton_pass.solution),
        )
        exact, tolerance = _EXACT * scale, _ENOUGH * scale + rounding
        if self._best is None:
            self._best, self._best_used = newton_pass.x, self.used
        serves = size <= _GROWTH * self._smallest or unbalanced <= tolerance
        if serves:
            if size < self._smallest:
                self._best, self._best_used, self._smallest = newton_pass.x, self.used, size
            stagnant = self._residuals.passes(unbalanced) >= _STAGNANT
            self._small = unbalanced <= exact or (
                stagnant and unbalanced <= min(_NEAR * self._residuals.lowest, tolerance)
            )
            if self.used < _PASSES:
                return None
        if self._tangents == _TANGENTS:
            self.passes = newton_pass.solution.newton
        # a new tangent that does not converge from the best iterate may from the last one
        y = newton_pass.x if not serves and self._use.unused and self._best_used == 1 else self._best
        self._due = True
        self._restart()
        return y

    def proceed(self, newton_pass: NewtonPass) -> tuple[Array, bool]:
        if self._small:
            return newton_pass.solution.y, True
        change = self._rotations.end_rotation(self._equations.state.u, newton_pass.x, newton_pass.change)
        return self._acceleration.next(newton_pass.x + change, change, newton_pass.size), False

    def halved(self, times: int) -> None:
        self.used += times


class NewtonStep:
    """M y + θΔt [D y + f̄(u₀, u₁)] = p₀ + θΔt f_θ + θ (Cᵀφ + G(u_½)ᵀλ + BᵀP),  u₁ = u₀ + Δt y,  f̄ of `MeanForces`.

    By `solve_newton` with the policy `ModifiedNewton`; steps of all sizes share one factor and its symbolic analysis.
    """

    def __init__(
        self, assembly: Assembly, coefficients: StepCoefficients, tangent: TangentFactor | None = None
    ) -> None:
        """tangent: of steps of another size; by default that at rest."""
        step = coefficients.step
        self._assembly, self._coefficients, self._step = assembly, coefficients, step
        self._forces = MeanForces(assembly, coefficients)
        self._rotations = RotationPredictor(assembly, step)
        self._solver = NewtonSolver(assembly, coefficients, self._forces, tangent)
        self._use = TangentUse()

    @property
    def condensed(self) -> Condensed:
        """The last tangent, condensed."""
        return self._solver.tangent.condensed

    def with_step(self, step: float) -> "NewtonStep":
        """The solver of steps of another Δt."""
        return NewtonStep(self._assembly, self._coefficients.with_step(step), self._solver.tangent)

    def state_dict(self) -> TangentState:
        """The tangent and its reuse statistics."""
        use = self._use
        return replace(self._solver.state_dict(), use=(use.unused, use.first_passes, use.extra_passes))

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
        """Mean forces of the step to u; the internal ones include the constraint forces of rigid parts."""
        linear, loss = self._assembly.viscous, self._forces.viscous(state.u, u)
        damping = linear @ solution.y if linear is not None else np.zeros_like(u)
        rigid = self._assembly.rigidity.gradient(0.5 * (state.u + u)).T @ solution.rigid
        resisting = self._forces.internal(state.u, u, state.memory) - rigid / self._step
        return Resistance(resisting, damping if loss is None else damping + loss, loss)

    def _guess(self, equations: StepEquations) -> Array:
        """y (d,) of the guess with the smaller residual; 0 where both invert a cell."""
        state, imposed = equations.state, equations.rhs.imposed
        guesses, residuals = self._rotations.guesses(state.u, state.v), []
        for y in guesses:
            if imposed is not None:
                y[self._assembly.imposed_dofs] = imposed
            residual = equations.residual(y)
            size = np.abs(residual.force / self._solver.displacement_per_unit).max() if residual.admissible else np.inf
            residuals.append(float(size))
        return guesses[int(np.argmin(residuals))] if min(residuals) < np.inf else np.zeros_like(state.v)
