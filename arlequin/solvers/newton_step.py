"""The θ-scheme's step of a bulk with nonlinear parts: Newton's iterations on a factor that is kept while it serves."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.anderson import Mixing
from arlequin.linalg.compliance import Answers
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.solvers.condensed import Condensed, RigidCondensed
from arlequin.solvers.contact_step import ContactStep, solve_contact_step
from arlequin.solvers.linear_step import Drive, Resistance, Solved, motion_of
from arlequin.solvers.mean_forces import Bulk
from arlequin.solvers.rotation_predictor import RotationPredictor
from arlequin.step.acceptance import Failed
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import Memory
from arlequin.system.lengths import displacement_per_unit
from arlequin.system.locate import locate_maximum

_PASSES = 40  # passes with one factor at most
_FACTORS = 8  # factors of a step at most
_WORTH = 8  # a new factor costs about as much as so many passes
_GROWTH = 4.0  # of the changes, over the smallest so far, beyond which a factor does not serve
_EXACT, _ENOUGH = 1e-14, 1e-12  # momentum missing, of the largest impulse: done; done where it falls no further
_STUCK, _NEAR = (
    2,
    8.0,
)  # passes that do not halve it: it falls no further, and is then as low as so many times the lowest
_MENDED = 0.01  # share of the strain of rigid parts, which is round-off, that a step takes back
_ROUND_OFF = 4.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class _Iterate:
    """What of the momentum is missing at some y, without the impulses of constraints and contact (d,), N·s.

    It is not finite on parts of which a cell is inside out: no answer.
    exact, enough: what may be missing with them, N·s; enough has room for the round-off of the displacements.
    gradient: G(u_½) (k, d); strained: G(u_½) y and what mends c(u₀) (k,), m/s.
    """

    missing: Array
    gradient: sp.csr_array
    strained: Array
    exact: float
    enough: float

    @property
    def sound(self) -> bool:
        """Whether no cell is inside out."""
        return bool(np.isfinite(self.missing).all())


@dataclass
class _Shared:
    """The factor of steps of all sizes, and the one of them that made it."""

    condensed: Condensed
    of: "NewtonStep"
    place: "_Place | None" = None


@dataclass(frozen=True)
class _Place:
    """Where a factor was made: u at both ends of a step (d,), the memory of the points."""

    start: Array
    end: Array
    memory: Memory


@dataclass(frozen=True)
class _Kept:
    """How the factor served (see `NewtonStep`); place, columns: of the factor, where steps of this size made it."""

    fresh: bool
    least: int
    spent: int
    place: _Place | None
    columns: Any


class NewtonStep:
    """M y + θΔt [D y + f̄(u₀, u₁)] = p₀ + θΔt f_θ + θ (Cᵀφ + G(u_½)ᵀλ + BᵀP),  u₁ = u₀ + Δt y,  f̄ of `Bulk`.

    A pass solves A Δy = (what is missing at y) + θ (Cᵀφ + BᵀP) with the matrix A of an earlier pass or step: contact
    and constraints hold at y + Δy exactly, the momentum as far as A is the derivative. The rotations in Δy are then
    made those of the parts at the end of the step (`RotationPredictor`),
    and Anderson's mixing of the passes makes up for what
    A lacks: it is symmetric, and the parts have turned since it was made. A step is done at a y + Δy at which the
    momentum holds too. A is made anew when the passes that this would have spared are worth it, or the changes grow.

    Rigid parts keep c(u₁) = 0, G = ∂c/∂u at u_½ = ½(u₀ + u₁): c is quadratic, so c(u₁) = c(u₀) + Δt G(u_½) y, and λ
    does no work at θ = 1/2. G is that of each pass. What round-off adds to c is taken back slowly: all at once would
    be a velocity of ε/Δt.

    Passes do not change the memory of points, and go halfway where a cell would turn inside out.
    """

    def __init__(self, assembly: Assembly, theta: float, step: float, shared: "_Shared | None" = None) -> None:
        """shared: the factor of steps of another size; by default one at rest."""
        if assembly.massless.any():
            raise UserError('mass="redistributed" is for parts of small rotations: take "consistent" or "lumped"')
        self._assembly, self._theta, self._step = assembly, theta, step
        self._bulk = Bulk(assembly, theta, step)
        self._turning = RotationPredictor(assembly, step)
        self._rigidity = assembly.rigidity
        self._lengths = displacement_per_unit(assembly)
        self._heaviest = float((assembly.mass.diagonal() / self._lengths**2).max(initial=0.0))
        rest = np.zeros(assembly.dof_count)
        if shared is None:
            shared = _Shared(Condensed(assembly, self._bulk.matrix(rest, rest, assembly.fresh())), self)
        self._shared = shared
        self._fresh = True  # whether no step was made with the factor
        self._least = 0  # passes of the first step made with it
        self._spent = 0  # passes beyond these since

    @property
    def condensed(self) -> Condensed:
        """The factor, condensed; of the last step that made one."""
        return self._shared.condensed

    def with_step(self, step: float) -> "NewtonStep":
        """The same for another Δt; both share one factor, whose symbolic analysis serves them all."""
        return NewtonStep(self._assembly, self._theta, step, self._shared)

    def state_dict(self) -> _Kept:
        """The factor, as what makes it, and how it served."""
        own = self._shared.of is self
        place, columns = (self._shared.place, self.condensed.compliance.state_dict) if own else (None, ())
        return _Kept(self._fresh, self._least, self._spent, place, columns)

    def load_state_dict(self, state: _Kept) -> None:
        """Restore from `state_dict()`."""
        self._fresh, self._least, self._spent = state.fresh, state.least, state.spent
        if state.place is not None:
            matrix = self._bulk.matrix(state.place.start, state.place.end, state.place.memory)
            condensed = Condensed(self._assembly, matrix, former=self.condensed)
            condensed.compliance.load_state_dict(state.columns)
            self._shared.condensed, self._shared.of, self._shared.place = condensed, self, state.place

    def solve(self, state: State, drive: Drive) -> Solved:
        """The step from the state."""
        y = self._guess(state, drive)
        if self._spent >= _WORTH or self._fresh or self._shared.of is not self:
            self._linearise(state, drive, y)
        passes = 0
        for _ in range(_FACTORS):
            solved, y, used = self._iterate(state, drive, y)
            passes += used
            if solved is not None:
                self._count(used)
                return replace(solved, newton=passes)
            self._linearise(state, drive, y)
        now = self._at(state, drive, y)
        rest = self._rest(now, self._reach(state, drive, y, now, state.impulse)[0]) if now.sound else now.missing
        where = self._where(state, y, rest)
        raise Failed(f"the step to t = {drive.t:.6g} s did not converge in {passes} passes ({where})")

    def resist(self, state: State, solved: Solved, u: Array, internal: Array) -> Resistance:
        """Mean forces of the step that leads to u, those that keep parts rigid among the internal ones."""
        linear, loss = self._assembly.viscous, self._bulk.viscous(state.u, u)
        damping = linear @ solved.y if linear is not None else np.zeros_like(u)
        held = self._rigidity.gradient(0.5 * (state.u + u)).T @ solved.inner
        resisting = self._bulk.internal(state.u, u, state.memory) - held / self._step
        return Resistance(resisting, damping if loss is None else damping + loss, loss)

    def _guess(self, state: State, drive: Drive) -> Array:
        """y (d,) of the guess that misses the momentum less; rest where both turn a cell inside out."""
        guesses = self._turning.guesses(state.u, state.v)
        missing = []
        for y in guesses:
            if drive.given is not None:
                y[self._assembly.imposed_dofs] = drive.given
            now = self._at(state, drive, y)
            missing.append(np.abs(now.missing / self._lengths).max() if now.sound else np.inf)
        return guesses[int(np.argmin(missing))] if min(missing) < np.inf else np.zeros_like(state.v)

    def _iterate(self, state: State, drive: Drive, y: Array) -> tuple[Solved | None, Array, int]:
        """Passes with the factor from y on: what they found if anything, where to go on from, how many they were."""
        mixing, first, best, least, last = Mixing(self._lengths), y, y, np.inf, np.inf
        found: Solved | None = None
        lowest, stuck, guess, sound = np.inf, 0, state.impulse, y
        for used in range(1, _PASSES + 1):
            now = self._at(state, drive, y)
            if not now.sound:
                found, y = None, 0.5 * (sound + y)
                continue
            sound = y
            if found is not None and self._left(now, found) <= max(now.exact, _NEAR * lowest):
                return found, y, used
            reached, change = self._reach(state, drive, y, now, guess)
            reached, guess = replace(reached, newton=used), reached.meeting.solution.impulse
            left, size = self._left(now, reached), float(np.linalg.norm(self._lengths * change))
            if not (size <= _GROWTH * least or left <= now.enough):
                # a new factor that led nowhere from here may from where it led
                return None, y if self._fresh and best is first else best, used
            if size < least:
                best, least = y, size
            lowest, stuck = (left, 0) if left <= 0.5 * lowest else (lowest, stuck + 1)
            if left <= now.exact or (stuck >= _STUCK and left <= min(_NEAR * lowest, now.enough)):
                found, y = reached, reached.y
            else:
                found = None
                if size > last:  # a contact changed: the passes before it say nothing of those after
                    mixing = Mixing(self._lengths)
                last = size
                change = self._turning.turned(state.u, y, change)
                y = mixing.next(y + change, change)
        return None, best, used

    def _reach(self, state: State, drive: Drive, y: Array, now: _Iterate, guess: Array) -> tuple[Solved, Array]:
        """What a pass from y reaches, and Δy."""
        assembly, theta = self._assembly, self._theta
        given = None if drive.given is None else drive.given - y[assembly.imposed_dofs]
        condensed = RigidCondensed(self.condensed, now.gradient)
        free = condensed.predict(now.missing, drive.rest - assembly.constraints @ y, -now.strained, given)
        meeting = self._contact(state, condensed.compliance, assembly.contact.basis @ y + free.contact, guess)
        change, multipliers, inner = condensed.correct(free, theta * meeting.impulse)
        return Solved(y + change, multipliers / theta, meeting, 1, inner / theta), change

    def _at(self, state: State, drive: Drive, y: Array) -> _Iterate:
        bulk, step, viscous = self._bulk, self._step, self._assembly.viscous
        u = state.u + step * y
        internal = bulk.internal(state.u, u, state.memory)
        loss = bulk.viscous(state.u, u)
        resisting = internal if loss is None else internal + loss
        if viscous is not None:
            resisting = resisting + viscous @ y
        inertia, gap_per_velocity = self._assembly.mass @ y, self._theta * step
        missing = drive.momentum - inertia + gap_per_velocity * (drive.force - resisting)
        parts = inertia, drive.momentum, gap_per_velocity * resisting, gap_per_velocity * drive.force
        size = max(np.abs(part / self._lengths).max() for part in parts)
        rounding = _ROUND_OFF * gap_per_velocity * (bulk.rounding(u) / self._lengths).max()
        gradient = self._rigidity.gradient(0.5 * (state.u + u))
        strained = gradient @ y + _MENDED / step * self._rigidity.strains(state.u)
        return _Iterate(missing, gradient, strained, _EXACT * size, _ENOUGH * size + rounding)

    def _left(self, now: _Iterate, solved: Solved) -> float:
        """The momentum missing under the impulses, N·s."""
        strained = self._heaviest * np.abs(now.strained).max(initial=0.0)
        return max(float(np.abs(self._rest(now, solved) / self._lengths).max(initial=0.0)), float(strained))

    def _rest(self, now: _Iterate, solved: Solved) -> Array:
        """The momentum (d,) missing under the impulses, N·s; 0 where motions are given."""
        impulses = (
            self._assembly.generalised_force(solved.multipliers, solved.meeting.impulse) + now.gradient.T @ solved.inner
        )
        return np.where(self._assembly.free, now.missing + self._theta * impulses, 0.0)

    def _contact(self, state: State, compliance: Answers, free: Array, guess: Array) -> ContactStep:
        theta, step, product = self._theta, self._step, self._assembly.contact.basis_product
        return solve_contact_step(
            self._assembly.contact,
            compliance,
            motion_of(product(state.u), product(state.v), free, theta, step),
            gap_per_velocity=theta * step,
            step=step,
            theta=theta,
            history=state.history,
            worn=state.worn,
            guess=guess,
            lasts=state.lasts,
        )

    def _where(self, state: State, y: Array, missing: Array) -> str:
        """Where a cell is inside out at y, or most of the momentum (d,) is missing."""
        found = self._bulk.inside_out(state.u, state.u + self._step * y, state.memory)
        if found is not None:
            return f"part '{self._assembly.system.names[found[0]]}', cell {found[1]} is turned inside out"
        return f"{locate_maximum(self._assembly, missing)} misses most"

    def _linearise(self, state: State, drive: Drive, y: Array) -> None:
        """A at the step by y; where that is not positive definite (a guess far off), at its start."""
        u = state.u
        for end in (u + self._step * y, u):
            try:
                matrix = self._bulk.matrix(u, end, state.memory)
                condensed = Condensed(self._assembly, matrix, former=self.condensed)
            except UserError:
                continue
            self._shared.condensed, self._shared.of = condensed, self
            self._shared.place = _Place(u, end, state.memory)
            self._fresh, self._spent = True, 0
            return
        where = self._where(state, y, np.where(self._assembly.free, self._at(state, drive, y).missing, 0.0))
        raise Failed(f"the step to t = {drive.t:.6g} s has no positive definite tangent: it buckles ({where})")

    def _count(self, used: int) -> None:
        if self._fresh:
            self._fresh, self._least = False, used
        self._spent += max(used - self._least, 0)
