"""The proximal point method: equilibrium of parts held by contact, friction or weak springs alone."""

import contextlib

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.anderson import AndersonAcceleration
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import compressed, scaled
from arlequin.models.part import MeshedPart
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.types import Array
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.newton import NewtonPass, NewtonPolicy, NewtonSolver, StepEquations
from arlequin.solvers.solver_choice import factored
from arlequin.solvers.step_forces import EndForces, LinearisationPoint
from arlequin.step.acceptance import Failed, Unheld, undetermined_multipliers
from arlequin.step.coefficients import StepCoefficients
from arlequin.system.assembly import Assembly
from arlequin.system.rigid_motion import largest_rigid_motion

_STEPS = 100  # steps of `QuickPolicy` at most
_SCHEDULE = 16  # steps between reductions of the proximal term
_MAX_SCHEDULED = 5  # reductions at most
_GUARDED_STEPS = 200  # steps of `GuardedPolicy` at most
_SLOW = 8  # steps after which slow convergence reduces the proximal term
_MAX_SOFTENINGS = 8  # reductions at most: round-off grows with them
_MAX_GROWTH = 1.05  # of steps, relative to the first with a term, above which the term is not reduced
_RESET_GROWTH = 2.0  # of steps, relative to the first with a term, above which the larger term is restored
_JUMP = 20.0  # ratio to the step before, above which a step is rejected: one reduction of the term gives at most 10
_ACCELERATED_DECREASE = 0.9  # largest ratio to the step before at which an accelerated start is accepted
_FAST_DECREASE = 0.1  # ratio to the step before, below which the sequence converges fast
_STEADY = 1e-3  # relative change of the step, below which a part moves under an unbalanced force
_SETTLED = 1e-12  # motion of a step, relative to the displacement, at which the steps end
_ROUND_OFF = 1e-11  # likewise, if the motion no longer decreases
_NEGLIGIBLE = 1e-12  # share of the forces that the proximal term may have at the end
_HIDDEN = 1e-9  # likewise, if the motion is the round-off of the displacement
_DIGITS = 8.0 * float(np.finfo(float).eps)  # relative round-off of the displacement
_EPSILONS = 32.0  # round-off of the balance of forces, in ε of the largest one
_FORCE_ROUND_OFF = 1e-13  # largest relative round-off of the forces
_SHIFT = 1e-1  # s of the proximal term, in units of (wave speed / extent)²


class SettledMotion:
    """The largest motion of a node, m, in the last pass and in the one before."""

    def __init__(self, equations: StepEquations) -> None:
        self._equations = equations
        self.last = self.before = np.inf
        self._displacement = 0.0

    def add(self, newton_pass: NewtonPass) -> None:
        """Record a pass."""
        sizes = self._equations.solver.displacement_per_unit
        self.before, self.last = self.last, float(np.abs(sizes * newton_pass.change).max())
        self._displacement = float(np.abs(sizes * (self._equations.state.u + newton_pass.x + newton_pass.change)).max())

    def forget(self) -> None:
        """Discard the last pass."""
        self.last = self.before

    @property
    def settled(self) -> bool:
        """Whether the motion is negligible relative to the displacement; with stiff laws, whose forces contain the
        round-off of the gaps, it decreases less."""
        last, before = self.last, self.before
        return last <= _SETTLED * self._displacement or before <= last <= _ROUND_OFF * self._displacement

    @property
    def hidden(self) -> bool:
        """Whether the motion is the round-off of the displacement and no longer decreases."""
        return self.last <= _DIGITS * self._displacement and self.before <= 2.0 * self.last

    @property
    def rounded(self) -> bool:
        """Whether the motion is the round-off of coordinates far from the origin."""
        return self.before <= 2.0 * self.last <= 2.0 * self._equations.solver.assembly.contact.scale.round_off


class ProximalTerm:
    """s M of the proximal point method, 10^−times its first size, and the matrices of the solver with this term.

    The method converges for every sequence of s, the faster the smaller s is; large ones keep the round-off of stiff
    contacts low. With contacts and springs far softer than the term, convergence is slow.
    """

    def __init__(
        self, assembly: Assembly, coefficients: StepCoefficients, condensed: Condensed, first: sp.csr_array
    ) -> None:
        self._assembly, self._coefficients, self._first = assembly, coefficients, first
        self._condensed = {0: condensed}
        self._softened: dict[int, tuple[sp.csr_array, EndForces]] = {}
        self.times, self.matrix = 0, first

    def soften(self, solver: NewtonSolver, times: int) -> None:
        """Set the term to 10^−times its first size: K + s M of linear systems, else the forces with such tangents."""
        if times not in self._softened:
            matrix = compressed(0.1**times * self._first)
            self._softened[times] = matrix, EndForces(self._assembly, self._coefficients, matrix)
        self.times, (self.matrix, solver.forces) = times, self._softened[times]
        if self._assembly.linear:
            if times not in self._condensed:
                self._condensed[times] = factored(self._assembly, compressed(self._assembly.stiffness + self.matrix))
            solver.tangent.condensed = self._condensed[times]


class ProximalPolicy(NewtonPolicy):
    """Accelerated steps of the proximal point method; converged at negligible motion and proximal term."""

    def __init__(self, equations: StepEquations, term: ProximalTerm) -> None:
        super().__init__(equations)
        self._term = term
        self._acceleration = AndersonAcceleration(equations.solver.displacement_per_unit)
        self._motion = SettledMotion(equations)
        self.contact_iterations = 0

    def converged(self, newton_pass: NewtonPass) -> bool:
        self.contact_iterations += newton_pass.solution.contact.solution.iterations
        self._motion.add(newton_pass)
        return self._in_balance(newton_pass) or self._motion.rounded

    def proceed(self, newton_pass: NewtonPass) -> tuple[Array, bool]:
        return self._acceleration.next(newton_pass.solution.y, newton_pass.change, self._motion.last), False

    def halved(self, times: int) -> None:
        """Halvings are not limited."""

    def _soften(self, times: int) -> None:
        self._term.soften(self._equations.solver, times)
        self._acceleration.reset()

    def _in_balance(self, newton_pass: NewtonPass) -> bool:
        """Whether the motion and the proximal term, which is not part of the equilibrium, are negligible."""
        term, largest = self._forces(newton_pass)
        if self._motion.hidden:
            return term <= _HIDDEN * largest
        return self._motion.settled and term <= _NEGLIGIBLE * largest

    def _forces(self, newton_pass: NewtonPass) -> tuple[float, float]:
        """The largest force of the proximal term and of the loads and contacts."""
        sizes, contact = self._equations.solver.displacement_per_unit, self._equations.solver.assembly.contact
        acting = abs(contact.basis.T) @ np.abs(newton_pass.solution.contact.impulse)
        forces = np.maximum(np.abs(self._equations.rhs.force), acting)
        return float((np.abs(self._term.matrix @ newton_pass.change) / sizes).max()), float((forces / sizes).max())


class QuickPolicy(ProximalPolicy):
    """Every step is accepted; the term of linear systems is reduced tenfold after every 16 steps.

    Fastest where equilibrium is stable. It fails if a step exceeds the extent of the contact plus the imposed motions.
    """

    passes = _STEPS

    def __init__(self, equations: StepEquations, term: ProximalTerm) -> None:
        super().__init__(equations, term)
        assembly, imposed = equations.solver.assembly, equations.rhs.imposed
        sizes = equations.solver.displacement_per_unit[assembly.imposed_dofs]
        imposed_motion = 0.0 if imposed is None else float(np.abs(sizes * imposed).max(initial=0.0))
        self._max_motion = assembly.contact.scale.extent + imposed_motion

    def linearise(self, y: Array, number: int) -> None:
        solver, state = self._equations.solver, self._equations.state
        linear = solver.assembly.linear
        if number == 1 or number % _SCHEDULE == 0:
            self._soften(min(number // _SCHEDULE, _MAX_SCHEDULED) if linear else 0)
        if not linear:
            u = self._equations.displacement(y)
            with contextlib.suppress(UserError):
                solver.linearise(LinearisationPoint(u, u, state.memory), reuse=False)

    def review(self, newton_pass: NewtonPass) -> Array | None:
        if not np.isfinite(newton_pass.size) or self._motion.last > self._max_motion:
            self.passes = newton_pass.solution.newton
            return newton_pass.x
        return None

    def failure(self, where: str) -> UserError:
        return QuickStepsFailed(f"statics did not converge at t = {self._equations.rhs.t:.6g} s ({where})")


class QuickStepsFailed(Failed):
    """`QuickPolicy` did not converge: `GuardedPolicy` may."""


class GuardedPolicy(ProximalPolicy):
    """Steps are accepted if they decrease, and the size of the term is adapted to them.

    Steps along an eigenvector of the tangent with eigenvalue λ ≪ s decrease by 1 − λ/s. Where they decrease slowly, the
    term is reduced tenfold, and the steps grow up to tenfold. Where they grow, λ is negative (contact on rotating
    normals), and with s < |λ| the problem of a step has no minimum: they are repeated with the larger term. So is a
    step that is much longer than the one before (contact is lost), or whose tangent is not positive definite. A step
    from an accelerated start that does not decrease is repeated from the end of the step before.
    """

    passes = _GUARDED_STEPS

    def __init__(self, equations: StepEquations, term: ProximalTerm) -> None:
        super().__init__(equations, term)
        self._first = np.inf  # size of the first step with this term
        self._step_count, self._patience = 0, _SLOW  # steps with this term; number after which it may be reduced
        self._start = np.zeros_like(equations.state.u)  # start of the step before
        self._origin = self._start  # start of the first step with this term
        self._unaccelerated: Array | None = None  # the end of the step before, if the start of this one is accelerated
        self._change = np.zeros_like(equations.state.u)
        self._singular = False  # whether the last contact problem had undetermined multipliers

    def linearise(self, y: Array, number: int) -> None:
        solver, state = self._equations.solver, self._equations.state
        if number == 1 or self._slow():
            self._soften(0 if number == 1 else self._term.times + 1)
        if solver.assembly.linear:
            return
        u = self._equations.displacement(y)
        while True:
            with contextlib.suppress(UserError):
                solver.linearise(LinearisationPoint(u, u, state.memory), reuse=False)
                return
            if not self._term.times:
                return  # the former tangent is reused
            self._harden()

    def converged(self, newton_pass: NewtonPass) -> bool:
        contact = newton_pass.solution.contact.solution
        self._singular = bool(contact.singular) if contact.iterations else self._singular
        self._change = newton_pass.change
        self._step_count += 1
        ends = super().converged(newton_pass)
        if self._step_count == 1:
            self._first, self._origin = self._motion.last, newton_pass.x
        return ends

    def review(self, newton_pass: NewtonPass) -> Array | None:
        motion, unaccelerated = self._motion, self._unaccelerated
        if not np.isfinite(newton_pass.size) or self._unheld:
            self.passes = newton_pass.solution.newton
            return newton_pass.x
        if unaccelerated is not None and motion.last > _ACCELERATED_DECREASE * motion.before:
            motion.forget()
            self._acceleration.reset()
            self._unaccelerated = None
            linear = self._equations.solver.assembly.linear
            return unaccelerated if linear or self._equations.residual(unaccelerated).admissible else self._start
        if unaccelerated is not None or not self._term.times:
            return None
        jumps = motion.last > _JUMP * motion.before
        if not jumps and motion.last <= _RESET_GROWTH * self._first:
            return None
        motion.forget()
        self._harden()
        return newton_pass.x if jumps else self._origin

    def proceed(self, newton_pass: NewtonPass) -> tuple[Array, bool]:
        next_y, verify = super().proceed(newton_pass)
        self._start, self._unaccelerated = (
            newton_pass.x,
            None if next_y is newton_pass.solution.y else newton_pass.solution.y,
        )
        return next_y, verify

    def failure(self, where: str) -> UserError:
        if self._singular:
            return undetermined_multipliers(self._equations.rhs.t)
        moving = largest_rigid_motion(self._equations.solver.assembly, self._change)
        return (Unheld if self._steady else Failed)(
            f"statics at t = {self._equations.rhs.t:.6g} s: {moving} and finds no equilibrium",
            "a support or spring against that motion, friction, or loads that press it against its partner",
        )

    def _in_balance(self, newton_pass: NewtonPass) -> bool:
        """Also where motions under forces below the round-off of the internal forces no longer decrease."""
        term, largest = self._forces(newton_pass)
        # the round-off of the internal forces grows with the displacement, without bound for a free part; that of
        # balanced loads and contact forces does not depend on it
        rounding = max(newton_pass.residual.rounding, _EPSILONS * np.finfo(float).eps * largest)
        is_round_off = (
            term <= min(rounding, _FORCE_ROUND_OFF * largest) and self._motion.before <= 2.0 * self._motion.last
        )
        return is_round_off or super()._in_balance(newton_pass)

    @property
    def _steady(self) -> bool:
        """Whether the motion equals that of the step before."""
        return abs(self._motion.last - self._motion.before) <= _STEADY * self._motion.last

    @property
    def _unheld(self) -> bool:
        """Whether the motion is steady under the smallest term."""
        return self._term.times == _MAX_SOFTENINGS and self._step_count >= 2 * _SLOW and self._steady

    def _slow(self) -> bool:
        """Whether to reduce the term: after some steps, unless these converge fast or grow."""
        last, before = self._motion.last, self._motion.before
        due = self._step_count >= self._patience and self._term.times < _MAX_SOFTENINGS
        return due and last >= _FAST_DECREASE * before and last <= _MAX_GROWTH * self._first

    def _soften(self, times: int) -> None:
        super()._soften(times)
        self._step_count, self._unaccelerated = 0, None

    def _harden(self) -> None:
        """Restore the larger term, and allow more steps with each term until the load step ends."""
        self._patience += _SLOW
        self._soften(self._term.times - 1)


def proximal_matrix(assembly: Assembly) -> sp.csr_array:
    """s M, s = (c/3L)² of each part: a stiffness of all rigid motions, about as soft as the lowest vibration."""
    scale, first = [], 0
    mass = assembly.mass.diagonal()
    squares = np.divide(assembly.stiffness.diagonal(), mass, out=np.zeros_like(mass), where=mass > 0.0)
    for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
        last = first + assembled.mass.shape[0]
        if isinstance(part, MeshedPart):
            square = (part.wave_speed / float(np.ptp(part.positions, axis=0).max())) ** 2
        elif isinstance(part, Superelement) and part.crossing_rate:
            square = part.crossing_rate**2
        else:  # as soft relative to its springs, those of the system or its layers; without any, s is arbitrary
            layers = float(assembly.laws.stiffness_bound().max() / mass.max())
            square = float(squares[first:last].max()) or float(squares.max()) or layers or 1.0
        scale.append(np.full(last - first, _SHIFT * square))
        first = last
    return scaled(assembly.mass, np.sqrt(np.concatenate(scale)))
