"""The step of the generalised-α family for a bulk with nonlinear parts: Newton's iterations, a tangent per pass."""

from dataclasses import replace

from arlequin.models.types import Array
from arlequin.solvers.linear_step import StepRhs, StepSolution
from arlequin.solvers.newton import NewtonPolicy, NewtonSolver, StepEquations, solve_newton
from arlequin.solvers.step_forces import EndForces
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.state import State
from arlequin.system.assembly import Assembly


class NewtonAlpha:
    """p − (1 − α_m) M y − (1 − α_f) βΔt [f_int(u₁) + D v₁] + λ (1 − α_m)(Cᵀφ + BᵀP) = 0, by `solve_newton`.

    The tangents have one symbolic analysis (`NewtonPolicy`).
    """

    def __init__(self, assembly: Assembly, coefficients: StepCoefficients) -> None:
        self._assembly, self._coefficients = assembly, coefficients
        forces = EndForces(assembly, coefficients, coefficients.matrix_at_rest(assembly))
        self._solver = NewtonSolver(assembly, coefficients, forces, None)

    def with_step(self, step: float) -> "NewtonAlpha":
        """The solver of steps of another Δt."""
        return NewtonAlpha(self._assembly, self._coefficients.with_step(step))

    def solve(self, state: State, rhs: StepRhs) -> StepSolution:
        """The step from the state, with its velocity as guess; rhs: see `LinearStep`, without the forces at the
        start."""
        row, viscous = self._coefficients, self._assembly.viscous
        resisting: Array = state.internal if viscous is None else state.internal + viscous @ state.v
        constant_rhs = replace(
            rhs, momentum=rhs.momentum + (row.force * rhs.force - row.loads[0] * resisting), force=0.0
        )
        equations, y = StepEquations(self._solver, state, constant_rhs), state.v.copy()
        if rhs.imposed is not None:
            y[self._assembly.imposed_dofs] = rhs.imposed
        return solve_newton(equations, NewtonPolicy(equations), y)

    def state_dict(self) -> None:
        """Nothing: every pass computes its tangent."""

    def load_state_dict(self, state: None) -> None:
        """Nothing."""
