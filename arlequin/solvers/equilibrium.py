"""Equilibrium under given loads: a linear solution, proximal point iterations, or Newton's method."""

import contextlib
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import compressed
from arlequin.models.types import Array
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.free_motions import MAX_MOTIONS, free_motions
from arlequin.solvers.linear_step import StepRhs, StepSolution
from arlequin.solvers.newton import (
    NewtonPass,
    NewtonPolicy,
    NewtonSolver,
    StepEquations,
    TangentFactor,
    TangentState,
    solve_newton,
)
from arlequin.solvers.proximal import (
    GuardedPolicy,
    ProximalPolicy,
    ProximalTerm,
    QuickPolicy,
    QuickStepsFailed,
    SettledMotion,
    proximal_matrix,
)
from arlequin.solvers.solver_choice import factored
from arlequin.solvers.step_forces import EndForces, LinearisationPoint
from arlequin.step.acceptance import Failed
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

_CHECKED_MOTIONS = 60  # rigid motions of all parts up to which free ones are computed beforehand
_MIN_EIGENVALUE = 1.0  # lowest eigenvalue of K, in units of the proximal term, below which a motion counts as free


class EquilibriumPolicy(NewtonPolicy):
    """A tangent in each pass, the former one where it is not positive definite; converged at negligible changes."""

    def __init__(self, equations: StepEquations) -> None:
        super().__init__(equations)
        self._motion = SettledMotion(equations)
        self.contact_iterations = 0

    def linearise(self, y: Array, number: int) -> None:
        solver, state = self._equations.solver, self._equations.state
        if not solver.assembly.linear:
            u = self._equations.displacement(y)
            with contextlib.suppress(UserError):
                solver.linearise(LinearisationPoint(u, u, state.memory), reuse=False)

    def converged(self, newton_pass: NewtonPass) -> bool:
        self.contact_iterations += newton_pass.solution.contact.solution.iterations
        self._motion.add(newton_pass)
        return self._equations.solver.assembly.linear or self._motion.settled or self._motion.rounded

    def review(self, newton_pass: NewtonPass) -> Array | None:
        if not np.isfinite(newton_pass.size):
            self.passes = newton_pass.solution.newton
            return newton_pass.x
        return super().review(newton_pass)

    def proceed(self, newton_pass: NewtonPass) -> tuple[Array, bool]:
        return newton_pass.solution.y, False

    def halved(self, times: int) -> None:
        """Halvings are not limited."""

    def failure(self, where: str) -> UserError:
        return Failed(f"statics did not converge at t = {self._equations.rhs.t:.6g} s ({where})")


class Equilibrium:
    """Finds Δu with f_int(u₀ + Δu) = f_ext + Cᵀφ + Bᵀr, C u = 0, by K Δu = f_ext − f_int(u₀) + Cᵀφ + Bᵀr.

    Where K has free rigid motions, it is replaced by K + s M, and the solution is repeated from its end until the
    motion is negligible: the proximal point method, whose limit does not contain s. Where parts are nonlinear, K is the
    tangent at the point from which a solution starts: Newton's method (`solve_newton`).
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        condensed, term = _condense(assembly)
        coefficients = StepCoefficients.of_statics()
        self._proximal = None if term is None else ProximalTerm(assembly, coefficients, condensed, term)
        forces = EndForces(assembly, coefficients, term)
        self._solver = NewtonSolver(assembly, coefficients, forces, TangentFactor(condensed))

    @property
    def held(self) -> bool:
        """Whether the stiffness alone holds the parts, without contact."""
        return self._proximal is None

    def state_dict(self) -> TangentState:
        """The tangent, which is reused where the next one is not definite."""
        return replace(self._solver.state_dict(), softened=0 if self._proximal is None else self._proximal.times)

    def load_state_dict(self, state: TangentState) -> None:
        """Restore from `state_dict()`."""
        if self._proximal is not None:
            self._proximal.soften(self._solver, state.softened)
        self._solver.load_state_dict(state, reuse=False)

    def find(self, state: State, external: Array, t0: float, t1: float) -> StepSolution:
        """The equilibrium Δu at the end of the load step from the state at t0, under the loads (d,) of t1.

        Path-dependent parts start from the rate of the step before: from Δu = 0 all points would respond elastically,
        then all would flow, and K is not definite past the largest load.
        """
        assembly = self._assembly
        dofs, values = assembly.imposed_dofs, assembly.imposed(t1)
        imposed = np.where(assembly.imposes_displacement, values - state.u[dofs], (t1 - t0) * values)
        rhs = StepRhs(0.0, external, -(assembly.constraints @ state.u), imposed, t1)
        equations = StepEquations(self._solver, state, rhs)
        guess = (t1 - t0) * state.scheme_state.rate if assembly.path_dependent else np.zeros_like(state.u)
        origin = np.zeros_like(guess)
        if (term := self._proximal) is None:
            return _solution(equations, EquilibriumPolicy(equations), guess, origin)
        try:
            return _solution(equations, QuickPolicy(equations, term), guess, origin)
        except QuickStepsFailed:
            return _solution(equations, GuardedPolicy(equations, term), guess, origin)


def _solution(
    equations: StepEquations, policy: EquilibriumPolicy | ProximalPolicy, guess: Array, origin: Array
) -> StepSolution:
    solution = solve_newton(equations, policy, guess, origin)
    contact_solution = replace(solution.contact.solution, iterations=policy.contact_iterations)
    return equations.refined(replace(solution, contact=replace(solution.contact, solution=contact_solution)))


def _condense(assembly: Assembly) -> tuple[Condensed, sp.csr_array | None]:
    """K condensed, and None; with free rigid motions that contact may hold, K + s M condensed, and s M."""
    if not assembly.contact_count:
        _refuse_free(assembly, _CHECKED_MOTIONS)  # first: round-off may let a factorisation pass
        try:
            return factored(assembly, assembly.stiffness), None
        except UserError:
            _refuse_free(assembly)
            raise
    term = proximal_matrix(assembly)
    if not free_motions(assembly, _CHECKED_MOTIONS):
        with contextlib.suppress(UserError):
            condensed = factored(assembly, assembly.stiffness)
            # round-off may let a factorisation pass: one inverse iteration bounds the lowest eigenvalue of (K, s M) on
            # the motions that satisfy the constraints
            load = term @ np.random.default_rng(0).standard_normal(assembly.dof_count)
            none = np.zeros(assembly.constraints.shape[0]), np.zeros(assembly.imposed_dofs.size)
            du = condensed.predict(load, *none).y
            if float(load @ du) > _MIN_EIGENVALUE * float(du @ (term @ du)):
                return condensed, None
            del condensed
    return factored(assembly, compressed(assembly.stiffness + term)), term


def _refuse_free(assembly: Assembly, max_motions: int = MAX_MOTIONS) -> None:
    """UserError where rigid motions are free; max_motions: see `free_motions`."""
    if free := free_motions(assembly, max_motions):
        what = "; ".join(map(str, free))
        raise UserError(
            f"statics: nothing holds {what}: hold it by imposed={{boundary: {{component: 0.0}}}}, a "
            "spring to the ground, or a junction with a part that is held"
        )
