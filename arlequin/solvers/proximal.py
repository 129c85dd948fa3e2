"""The proximal point method: equilibrium of parts that contact, friction or weak springs alone hold."""

import contextlib

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.anderson import AndersonAcceleration
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import compressed, scaled
from arlequin.models.part import MeshedPart
from arlequin.models.types import Array
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.newton import NewtonPass, NewtonPolicy, NewtonSolver, StepEquations
from arlequin.solvers.solver_choice import factored
from arlequin.solvers.step_forces import EndForces, LinearisationPoint
from arlequin.step.acceptance import Failed, Unheld, undetermined_multipliers
from arlequin.step.coefficients import StepCoefficients
from arlequin.system.assembly import Assembly
from arlequin.system.rigid_motion import largest_rigid_motion

_STEPS = 100  # at most, of `QuickPolicy`
_SCHEDULE = 16  # of them after which the next ones have a smaller proximal term
_SCHEDULED = 5  # times that it is made smaller, at most
_GUARDED_STEPS = 200  # at most, of `GuardedPolicy`
_SLOW = 8  # of them after which the next ones have a smaller proximal term
_SOFTER = 8  # times that it is made smaller, at most: round-off grows with it
_GROWN = 1.05  # times the first step with a term, beyond which it does not become smaller
_LED_AWAY = 2.0  # times the first step with a term, beyond which the larger one comes back
_WILD = 20.0  # times the step before, beyond which one is not taken: a term 10 times smaller makes it 10 times longer
_SHORTER = 0.9  # times the step before, up to which a step is for its accelerated start to be kept
_DROPPING = 0.1  # times the step before, below which a step ends a sequence that converges
_STEADY = 1e-3  # change of the step, relative to it, below which a part moves under a force that nothing balances
_SETTLED = 1e-12  # largest motion of a step, relative to the displacement, that ends them
_ROUND_OFF = 1e-11  # likewise, where the next one is no smaller
_NEGLIGIBLE = 1e-12  # share of the forces that the proximal term may have at the end
_HIDDEN = 1e-9  # likewise, where its motion is the round-off of the displacement
_DIGITS = 8.0 * float(np.finfo(float).eps)  # of the displacement, its round-off
_EPSILONS = 32.0  # of the largest force, the round-off of its balance
_LOST = 1e-13  # share of the forces that are their round-off
_SHIFT = 1e-1  # s of the proximal term, in units of (wave speed / extent)²


class SettledMotion:
    """The largest motion of a node, m, in the last pass and in the one before."""

    def __init__(self, equations: StepEquations) -> None:
        self._equations = equations
        self.last = self.before = np.inf
        self._reached = 0.0

    def add(self, done: NewtonPass) -> None:
        """Takes note of a pass."""
        sizes = self._equations.solver.displacement_per_unit
        self.before, self.last = self.last, float(np.abs(sizes * done.change).max())
        self._reached = float(np.abs(sizes * (self._equations.state.u + done.x + done.change)).max())

    def forget(self) -> None:
        """Leaves the last pass out."""
        self.last = self.before

    @property
    def settled(self) -> bool:
        """Whether it is negligible beside the displacement: stiff laws feel the round-off of the gaps, and there it
        does not fall as far."""
        last, before = self.last, self.before
        return last <= _SETTLED * self._reached or before <= last <= _ROUND_OFF * self._reached

    @property
    def hidden(self) -> bool:
        """Whether it is the round-off of the displacement, and does not fall any more."""
        return self.last <= _DIGITS * self._reached and self.before <= 2.0 * self.last

    @property
    def rounded(self) -> bool:
        """Whether it is that of the round-off of coordinates far from the origin."""
        return self.before <= 2.0 * self.last <= 2.0 * self._equations.solver.assembly.contact.scale.round_off


class ProximalTerm:
    """s M of the proximal point method, at 10^−times of its first size, and the solver's matrices with it.

    The method converges for every sequence of s, the faster the smaller s is; large ones keep the round-off of stiff
    contacts low. Contacts and springs far softer than the term settle slowly under it.
    """

    def __init__(
        self, assembly: Assembly, coefficients: StepCoefficients, condensed: Condensed, first: sp.csr_array
    ) -> None:
        self._assembly, self._coefficients, self._first = assembly, coefficients, first
        self._condensed = {0: condensed}
        self._softened: dict[int, tuple[sp.csr_array, EndForces]] = {}
        self.times, self.matrix = 0, first

    def soften(self, solver: NewtonSolver, times: int) -> None:
        """Gives the solver the term at 10^−times: K + s M of linear systems, else the forces whose tangents have it."""
        if times not in self._softened:
            matrix = compressed(0.1**times * self._first)
            self._softened[times] = matrix, EndForces(self._assembly, self._coefficients, matrix)
        self.times, (self.matrix, solver.forces) = times, self._softened[times]
        if self._assembly.linear:
            if times not in self._condensed:
                self._condensed[times] = factored(self._assembly, compressed(self._assembly.stiffness + self.matrix))
            solver.tangent.condensed = self._condensed[times]


class ProximalPolicy(NewtonPolicy):
    """Accelerated steps of the proximal point method; converged where nothing moves and the term is negligible."""

    def __init__(self, equations: StepEquations, term: ProximalTerm) -> None:
        super().__init__(equations)
        self._term = term
        self._acceleration = AndersonAcceleration(equations.solver.displacement_per_unit)
        self._moved = SettledMotion(equations)
        self.contact_iterations = 0

    def converged(self, done: NewtonPass) -> bool:
        self.contact_iterations += done.solution.contact.solution.iterations
        self._moved.add(done)
        return self._in_balance(done) or self._moved.rounded

    def proceed(self, done: NewtonPass) -> tuple[Array, bool]:
        return self._acceleration.next(done.solution.y, done.change, self._moved.last), False

    def halved(self, times: int) -> None:
        """Halvings are not limited."""

    def _soften(self, times: int) -> None:
        self._term.soften(self._equations.solver, times)
        self._acceleration.reset()

    def _in_balance(self, done: NewtonPass) -> bool:
        """Whether nothing moves and the proximal term, which equilibrium does not contain, is negligible."""
        term, largest = self._forces(done)
        if self._moved.hidden:
            return term <= _HIDDEN * largest
        return self._moved.settled and term <= _NEGLIGIBLE * largest

    def _forces(self, done: NewtonPass) -> tuple[float, float]:
        """The largest force of the proximal term and of the loads and contacts."""
        sizes, contact = self._equations.solver.displacement_per_unit, self._equations.solver.assembly.contact
        acting = abs(contact.basis.T) @ np.abs(done.solution.contact.impulse)
        forces = np.maximum(np.abs(self._equations.rhs.force), acting)
        return float((np.abs(self._term.matrix @ done.change) / sizes).max()), float((forces / sizes).max())


class QuickPolicy(ProximalPolicy):
    """Every step is taken, and the term of linear systems made ten times smaller after each 16 of them.

    This ends soonest where equilibrium is stable. Where a step moves farther than the contact is long and motions are
    imposed, it has failed.
    """

    passes = _STEPS

    def __init__(self, equations: StepEquations, term: ProximalTerm) -> None:
        super().__init__(equations, term)
        assembly, imposed = equations.solver.assembly, equations.rhs.imposed
        sizes = equations.solver.displacement_per_unit[assembly.imposed_dofs]
        driven = 0.0 if imposed is None else float(np.abs(sizes * imposed).max(initial=0.0))
        self._farthest = assembly.contact.scale.extent + driven

    def linearise(self, y: Array, number: int) -> None:
        solver, state = self._equations.solver, self._equations.state
        linear = solver.assembly.linear
        if number == 1 or number % _SCHEDULE == 0:
            self._soften(min(number // _SCHEDULE, _SCHEDULED) if linear else 0)
        if not linear:
            u = self._equations.displacement(y)
            with contextlib.suppress(UserError):
                solver.linearise(LinearisationPoint(u, u, state.memory), reuse=False)

    def review(self, done: NewtonPass) -> Array | None:
        if not np.isfinite(done.size) or self._moved.last > self._farthest:
            self.passes = done.solution.newton
            return done.x
        return None

    def failure(self, where: str) -> UserError:
        return QuickStepsFailed(f"statics did not converge at t = {self._equations.rhs.t:.6g} s ({where})")


class QuickStepsFailed(Failed):
    """`QuickPolicy` found no equilibrium: `GuardedPolicy` may."""


class GuardedPolicy(ProximalPolicy):
    """Steps are taken if they get shorter, and the size of the term follows them.

    Steps along an eigenvector of the tangent with eigenvalue λ ≪ s shrink by 1 − λ/s. Where they get shorter, but
    slowly, the term is made ten times smaller, and the steps up to ten times longer. Where they grow, λ is negative
    (contact on turning normals), and with s < |λ| the problem of a step has no minimum: they are made anew with the
    larger term. So is a step that is much longer than the one before (contact is lost), or whose tangent is not
    positive definite; one from an accelerated start that is not shorter, from the end of the step before.
    """

    passes = _GUARDED_STEPS

    def __init__(self, equations: StepEquations, term: ProximalTerm) -> None:
        super().__init__(equations, term)
        self._first = np.inf  # size of the first step with this term
        self._taken, self._patience = 0, _SLOW  # steps with this term; those after which it may be made smaller
        self._start = np.zeros_like(equations.state.u)  # of the step before
        self._origin = self._start  # of the first step with this term
        self._plain: Array | None = None  # the end of the step before, if the start of this one is accelerated
        self._change = np.zeros_like(equations.state.u)
        self._singular = False  # whether the displacements left multipliers undetermined in the last contact problem

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
                return  # the former tangent serves
            self._harden()

    def converged(self, done: NewtonPass) -> bool:
        contact = done.solution.contact.solution
        self._singular = bool(contact.singular) if contact.iterations else self._singular
        self._change = done.change
        self._taken += 1
        ends = super().converged(done)
        if self._taken == 1:
            self._first, self._origin = self._moved.last, done.x
        return ends

    def review(self, done: NewtonPass) -> Array | None:
        moved, plain = self._moved, self._plain
        if not np.isfinite(done.size) or self._unheld:
            self.passes = done.solution.newton
            return done.x
        if plain is not None and moved.last > _SHORTER * moved.before:
            moved.forget()
            self._acceleration.reset()
            self._plain = None
            linear = self._equations.solver.assembly.linear
            return plain if linear or self._equations.residual(plain).admissible else self._start
        if plain is not None or not self._term.times:
            return None
        wild = moved.last > _WILD * moved.before
        if not wild and moved.last <= _LED_AWAY * self._first:
            return None
        moved.forget()
        self._harden()
        return done.x if wild else self._origin

    def proceed(self, done: NewtonPass) -> tuple[Array, bool]:
        following, verify = super().proceed(done)
        self._start, self._plain = done.x, None if following is done.solution.y else done.solution.y
        return following, verify

    def failure(self, where: str) -> UserError:
        if self._singular:
            return undetermined_multipliers(self._equations.rhs.t)
        moving = largest_rigid_motion(self._equations.solver.assembly, self._change)
        return (Unheld if self._steady else Failed)(
            f"statics at t = {self._equations.rhs.t:.6g} s: {moving} and finds no equilibrium",
            "a support or spring against that motion, friction, or loads that press it against its partner",
        )

    def _in_balance(self, done: NewtonPass) -> bool:
        """Also where motions under forces below the round-off of the internal forces no longer get shorter."""
        term, largest = self._forces(done)
        # the round-off of the internal forces grows with the displacement, without bounds where a part is free; that of
        # the loads and contact forces that balance each other is there without any
        rounding = max(done.residual.rounding, _EPSILONS * np.finfo(float).eps * largest)
        lost = term <= min(rounding, _LOST * largest) and self._moved.before <= 2.0 * self._moved.last
        return lost or super()._in_balance(done)

    @property
    def _steady(self) -> bool:
        """Whether the parts move on as in the step before."""
        return abs(self._moved.last - self._moved.before) <= _STEADY * self._moved.last

    @property
    def _unheld(self) -> bool:
        """Whether the parts still move on under the smallest term."""
        return self._term.times == _SOFTER and self._taken >= 2 * _SLOW and self._steady

    def _slow(self) -> bool:
        """Whether a smaller term is due: after some steps, unless these converge now or grow."""
        last, before = self._moved.last, self._moved.before
        due = self._taken >= self._patience and self._term.times < _SOFTER
        return due and last >= _DROPPING * before and last <= _GROWN * self._first

    def _soften(self, times: int) -> None:
        super()._soften(times)
        self._taken, self._plain = 0, None

    def _harden(self) -> None:
        """Takes the larger term before, and more steps with each until the load step ends."""
        self._patience += _SLOW
        self._soften(self._term.times - 1)


def proximal_matrix(assembly: Assembly) -> sp.csr_array:
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
