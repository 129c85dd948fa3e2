"""Equilibrium under given loads: a linear solution, proximal point iterations, or Newton's method."""

import contextlib
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.anderson import AndersonAcceleration
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import compressed, scaled
from arlequin.models.part import MeshedPart
from arlequin.models.types import Array
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.free_motions import MOST, free_motions
from arlequin.solvers.linear_step import StepCoefficients, StepRhs, StepSolution
from arlequin.solvers.newton import (
    NewtonPass,
    NewtonPolicy,
    NewtonSolver,
    StepEquations,
    TangentFactor,
    TangentState,
    solve_newton,
)
from arlequin.solvers.solver_choice import factored
from arlequin.solvers.step_forces import EndForces, LinearisationPoint
from arlequin.step.acceptance import Failed
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

_PROXIMAL_STEPS = 100  # at most, where contact alone holds a part
_SLOW = 16  # of them after which the next ones have a smaller proximal term
_SOFTER = 5  # times that it is made smaller, at most: round-off grows with it
_SETTLED = 1e-12  # largest motion of a proximal step, relative to the displacement, that ends them
_ROUND_OFF = 1e-11  # likewise, where the next one is no smaller
_SHIFT = 1e-1  # s of the proximal term, in units of (wave speed / extent)²
_FEW = 60  # rigid motions of all parts that are looked for in any case
_HELD = 1.0  # lowest eigenvalue of K, in units of the proximal term, below which a motion counts as free


class ProximalTerm:
    """s M of the proximal point method, at 10^−times of its first size; factors of K + s M of linear systems.

    The method converges for every sequence of s, the faster the smaller s is; large ones keep the round-off of stiff
    contacts low. Contacts far softer than the term settle slowly under it. Nonlinear parts keep the first one.
    """

    def __init__(self, assembly: Assembly, condensed: Condensed, first: sp.csr_array) -> None:
        self._assembly, self._first = assembly, first
        self._factors = {0: (condensed, first)}
        self.matrix = first

    def soften(self, times: int) -> Condensed:
        """K + s M, condensed."""
        if times not in self._factors:
            matrix = compressed(0.1**times * self._first)
            condensed = factored(self._assembly, compressed(self._assembly.stiffness + matrix))
            self._factors[times] = condensed, matrix
        condensed, self.matrix = self._factors[times]
        return condensed


class EquilibriumPolicy(NewtonPolicy):
    """A tangent in each pass, the former one where it is not positive definite; converged where nothing moves.

    With a proximal term, solutions are Anderson-accelerated instead of damped, and the term is made smaller.
    """

    def __init__(self, equations: StepEquations, proximal: ProximalTerm | None) -> None:
        super().__init__(equations)
        self._proximal, self._linear = proximal, equations.solver.assembly.linear
        if proximal is not None:
            self.passes = _PROXIMAL_STEPS
        self._acceleration = AndersonAcceleration(equations.solver.displacement_per_unit)
        self._last = self._moved = np.inf
        self.contact_iterations = 0

    def linearise(self, y: Array, number: int) -> None:
        solver, state = self._equations.solver, self._equations.state
        if self._proximal is not None and (number == 1 or number % _SLOW == 0):
            if self._linear:
                solver.tangent.condensed = self._proximal.soften(min(number // _SLOW, _SOFTER))
            self._acceleration.reset()
        if not self._linear:
            u = self._equations.displacement(y)
            with contextlib.suppress(UserError):
                solver.linearise(LinearisationPoint(u, u, state.memory), reuse=False)

    def converged(self, done: NewtonPass) -> bool:
        equations = self._equations
        sizes, contact = equations.solver.displacement_per_unit, equations.solver.assembly.contact
        self.contact_iterations += done.solution.contact.solution.iterations
        self._last, self._moved = self._moved, float(np.abs(sizes * done.change).max())
        last, moved = self._last, self._moved
        reached = np.abs(sizes * (equations.state.u + done.x + done.change)).max()
        # stiff laws feel the round-off of the gaps: there the motion does not fall as far
        still = moved <= _SETTLED * reached or last <= moved <= _ROUND_OFF * reached
        still = still or (self._linear and self._proximal is None)
        # and no motion falls below the round-off of coordinates far from the origin
        rounding = 2.0 * contact.scale.round_off
        return bool((still and self._in_balance(done)) or last <= 2.0 * moved <= rounding)

    def review(self, done: NewtonPass) -> Array | None:
        if not np.isfinite(done.size):
            self.passes = done.solution.newton
            return done.x
        return super().review(done) if self._proximal is None else None

    def proceed(self, done: NewtonPass) -> tuple[Array, bool]:
        if self._proximal is None:
            return done.solution.y, False
        return self._acceleration.next(done.solution.y, done.change, self._moved), False

    def halved(self, times: int) -> None:
        """Halvings are not limited."""

    def failure(self, where: str) -> UserError:
        if self._proximal is None:
            return Failed(f"statics did not converge at t = {self._equations.rhs.t:.6g} s ({where})")
        free = "; ".join(map(str, free_motions(self._equations.solver.assembly)))
        return UserError(
            f"statics at t = {self._equations.rhs.t:.6g} s: a part that contact alone holds finds no equilibrium"
            f"{free and f' (free without it: {free})'}: hold its rigid motions, or let the loads press it against its "
            "partner",
            code=1,
        )

    def _in_balance(self, done: NewtonPass) -> bool:
        """Whether the proximal term, which equilibrium does not contain, is negligible beside the forces."""
        if self._proximal is None:
            return True
        sizes, contact = self._equations.solver.displacement_per_unit, self._equations.solver.assembly.contact
        acting = abs(contact.basis.T) @ np.abs(done.solution.contact.impulse)
        forces = np.maximum(np.abs(self._equations.rhs.force), acting)
        term = np.abs(self._proximal.matrix @ done.change)
        return bool((term / sizes).max() <= 1e-9 * (forces / sizes).max())


class Equilibrium:
    """Finds Δu with f_int(u₀ + Δu) = f_ext + Cᵀφ + Bᵀr, C u = 0, by K Δu = f_ext − f_int(u₀) + Cᵀφ + Bᵀr.

    Where K leaves rigid motions free, K + s M takes its place and the solution is repeated from its end until nothing
    moves: the proximal point method, whose limit does not contain s. Where parts are nonlinear, K is the tangent at the
    point from which a solution starts: Newton's method (`solve_newton`).
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        condensed, term = _condense(assembly)
        self._proximal = None if term is None else ProximalTerm(assembly, condensed, term)
        coefficients = StepCoefficients(1.0, 1.0, 1.0, 1.0, 1.0, static=True)
        forces = EndForces(assembly, coefficients, term)
        self._solver = NewtonSolver(assembly, coefficients, forces, TangentFactor(condensed))

    def state_dict(self) -> TangentState:
        """The tangent, which serves on where the next one is not definite."""
        return self._solver.state_dict()

    def load_state_dict(self, state: TangentState) -> None:
        """Restore from `state_dict()`."""
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
        guess = (t1 - t0) * state.own.rate if assembly.path_dependent else np.zeros_like(state.u)
        policy = EquilibriumPolicy(equations, self._proximal)
        found = solve_newton(equations, policy, guess, np.zeros_like(guess))
        contact = replace(found.contact.solution, iterations=policy.contact_iterations)
        return equations.refined(replace(found, contact=replace(found.contact, solution=contact)))


def _condense(assembly: Assembly) -> tuple[Condensed, sp.csr_array | None]:
    """K condensed, and None; where it leaves a rigid motion free that contact may hold, K + s M, and s M."""
    if not assembly.contact_count:
        _refuse_free(assembly, _FEW)  # first: round-off may let a factorisation pass
        try:
            return factored(assembly, assembly.stiffness), None
        except UserError:
            _refuse_free(assembly)
            raise
    term = _proximal_matrix(assembly)
    try:
        condensed = factored(assembly, assembly.stiffness)
        # round-off may let a factorisation pass: one inverse iteration bounds the lowest eigenvalue of (K, s M)
        load = term @ np.random.default_rng(0).standard_normal(assembly.dof_count)
        moved = condensed.spread(load)
        if float(load @ moved) > _HELD * float(moved @ (term @ moved)):
            return condensed, None
    except UserError:
        pass
    return factored(assembly, compressed(assembly.stiffness + term)), term


def _refuse_free(assembly: Assembly, most: int = MOST) -> None:
    """UserError where rigid motions are free, of at most so many."""
    if free := free_motions(assembly, most):
        what = "; ".join(map(str, free))
        raise UserError(
            f"statics: nothing holds {what}: hold it by imposed={{boundary: {{component: 0.0}}}}, a "
            "spring to the ground, or a junction with a part that is held"
        )


def _proximal_matrix(assembly: Assembly) -> sp.csr_array:
    """s M, s = (c/3L)² of each part: it holds every rigid motion, about as softly as the lowest vibration does."""
    scale, first = [], 0
    mass = assembly.mass.diagonal()
    squares = np.divide(assembly.stiffness.diagonal(), mass, out=np.zeros_like(mass), where=mass > 0.0)
    for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
        last = first + own.mass.shape[0]
        if isinstance(part, MeshedPart):
            square = (part.wave_speed / float(np.ptp(part.positions, axis=0).max())) ** 2
        else:  # as soft against its own springs, those of the system or its layers; without any, s may be any number
            layers = float(assembly.laws.stiffness_bound().max() / mass.max())
            square = float(squares[first:last].max()) or float(squares.max()) or layers or 1.0
        scale.append(np.full(last - first, _SHIFT * square))
        first = last
    return scaled(assembly.mass, np.sqrt(np.concatenate(scale)))
