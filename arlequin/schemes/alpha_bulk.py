"""A step of the generalised-α family: of a linear bulk at once, of a nonlinear one by Newton's iterations."""

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from arlequin.assembly import Assembly
from arlequin.condensed import Condensed, Free
from arlequin.lengths import lengths
from arlequin.place import place_of_most
from arlequin.response import Memory
from arlequin.schemes.keeping import KeepsColumns
from arlequin.schemes.line_search import Watch, search
from arlequin.schemes.linear_step import Solved
from arlequin.schemes.meeting import Meeting, Motion, meet
from arlequin.schemes.scheme import Failed, State
from arlequin.tangents import Tangents
from models.errors import UserError
from models.matrix import symmetric_part
from models.nonlinear import Nonlinear, PathDependent
from models.types import Array

_PASSES = 40  # linearisations of a step at most
_EXACT, _ENOUGH = 1e-14, 1e-11  # momentum missing, of the largest impulse: done; done where it falls no further
_STUCK = 2  # passes that do not halve it: it falls no further


class Family(Protocol):
    """The constants of a scheme."""

    @property
    def alpha_m(self) -> float: ...

    @property
    def alpha_f(self) -> float: ...

    @property
    def beta(self) -> float: ...

    @property
    def gamma(self) -> float: ...


@dataclass(frozen=True)
class Push:
    """What drives a step: impulse (d,), N·s, all but that of the bulk at its end; shift (d,): u₁ − u₀ − Δt y, m.

    rest (m,): what C y has to be, given (p,): what y is on the imposed dofs, m/s; t (s): the end.
    """

    impulse: Array
    shift: Array
    rest: Array
    given: Array | None
    t: float


class AlphaBulk:
    """The matrix and the contact of a step, A = (1 − α_m) M + (1 − α_f)(γΔt D + βΔt² K), for any K."""

    def __init__(self, assembly: Assembly, step: float, scheme: Family) -> None:
        self.assembly, self.step = assembly, step
        self.mix = scheme.beta / scheme.gamma
        self.scale = 1.0 - scheme.alpha_m
        self.lever = (1.0 - scheme.alpha_f) * scheme.beta * step  # of the bulk forces at the end
        self._theta = min(scheme.gamma, 1.0)
        rest = self.scale * assembly.mass
        if assembly.viscous is not None:
            rest = rest + (1.0 - scheme.alpha_f) * scheme.gamma * step * assembly.viscous
        self.rest = sp.csr_array(rest)

    def meet(self, state: State, condensed: Condensed, rows: tuple[Array, Array], guess: Array) -> Meeting:
        """The contact problem; rows: what y and the shift are on the rows of the contact's basis (q,)."""
        basis, step, mix = self.assembly.contact.basis, self.step, self.mix
        place, speed, (y, shift) = basis @ state.u, basis @ state.v, rows
        earlier = (1.0 / mix - 1.0) * speed
        return meet(
            self.assembly.contact,
            condensed.compliance,
            Motion(place, speed, place + shift + step * y, y / mix - earlier, earlier + shift / (mix * step)),
            lever=mix * step,
            step=step,
            theta=self._theta,
            history=state.history,
            worn=state.worn,
            guess=guess,
            lasts=state.lasts,
            scale=self.scale,
        )


class LinearAlpha(KeepsColumns):
    """A y = push − (1 − α_f) βΔt [f_int(u₀) + K (u₁ − u₀ − Δt y) + D (1 − 1/λ) v₀] + λ (1 − α_m)(Cᵀφ + BᵀP)."""

    def __init__(self, assembly: Assembly, step: float, scheme: Family) -> None:
        self._bulk = bulk = AlphaBulk(assembly, step, scheme)
        self._condensed = Condensed(assembly, sp.csr_array(bulk.rest + bulk.lever * step * assembly.stiffness))

    def solve(self, state: State, push: Push) -> Solved:
        """The step from the state."""
        bulk, condensed = self._bulk, self._condensed
        assembly, mix = bulk.assembly, bulk.mix
        resisting = state.internal + assembly.stiffness @ push.shift
        if assembly.viscous is not None:
            resisting += (1.0 - 1.0 / mix) * (assembly.viscous @ state.v)
        free = condensed.free(push.impulse - bulk.lever * resisting, push.rest, push.given)
        rows = free.contact, assembly.contact.basis @ push.shift
        meeting = bulk.meet(state, condensed, rows, state.impulse)
        y, multipliers = condensed.react(free, mix * bulk.scale * meeting.impulse)
        return Solved(y, multipliers / (mix * bulk.scale), meeting, 1, np.zeros(0))


class NewtonAlpha:
    """push − (1 − α_m) M y − (1 − α_f) βΔt [f_int(u₁) + D v₁] + λ (1 − α_m)(Cᵀφ + BᵀP) = 0, by Newton's iterations.

    The tangent is that of each pass, on one symbolic analysis; contact and constraints hold after each. Where it is
    not positive definite, that of the start serves. A pass goes halfway where a cell would turn inside out; where whole
    changes lead nowhere (`Watch`), they go on from the smallest one so far, each as far as `search` says.
    """

    def __init__(self, assembly: Assembly, step: float, scheme: Family) -> None:
        if assembly.massless.any():
            raise UserError('mass="redistributed" is for parts of small rotations: take "consistent" or "lumped"')
        self._bulk = bulk = AlphaBulk(assembly, step, scheme)
        self._tangents = Tangents(assembly, bulk.rest, bulk.lever * step)
        rest = np.zeros(assembly.dof_count)
        self._condensed = Condensed(assembly, self._matrix(rest, assembly.fresh()))
        self._rounding, self._lengths = abs(assembly.stiffness), lengths(assembly)

    def solve(self, state: State, push: Push) -> Solved:
        """The step from the state."""
        bulk = self._bulk
        assembly, basis = bulk.assembly, bulk.assembly.contact.basis
        y, sound = state.v.copy(), state.v
        if push.given is not None:
            y[assembly.imposed_dofs] = push.given
        shift = basis @ push.shift
        found: Solved | None = None
        lowest, stuck, guess = np.inf, 0, state.impulse
        watch, best, searching = Watch(), y, False
        for passes in range(_PASSES):
            missing, size = self._missing(state, push, y)
            if not np.isfinite(missing).all():
                found, y = None, 0.5 * (sound + y)
                continue
            sound = y
            if found is not None:
                impulse = self._impulse(found)
                left = np.abs(((missing + impulse) / self._lengths)[assembly.free]).max(initial=0.0)
                size = max(size, np.abs(impulse / self._lengths).max(initial=0.0))
                lowest, stuck = (left, 0) if left <= 0.5 * lowest else (lowest, stuck + 1)
                if left <= _EXACT * size or (stuck >= _STUCK and left <= self._enough(state, push, y, size)):
                    return found
            self._linearise(state, push, y)
            free = self._free(push, y, missing)
            meeting = bulk.meet(state, self._condensed, (basis @ y + free.contact, shift), guess)
            change, multipliers = self._condensed.react(free, bulk.mix * bulk.scale * meeting.impulse)
            guess, length = meeting.solution.impulse, float(np.linalg.norm(self._lengths * change))
            found = Solved(y + change, multipliers / (bulk.mix * bulk.scale), meeting, passes + 1, np.zeros(0))
            if not searching and watch.least(length):
                best = y
            elif not searching and watch.lost(length):
                found, y, searching = None, best, True
                continue
            if searching:
                share = search(partial(self._left, state, push, y, change, self._impulse(found)), length)
                found, y = found if share == 1.0 else None, y + share * change
            else:
                y = found.y
        where = place_of_most(assembly, np.where(assembly.free, missing, 0.0))
        raise Failed(f"the step to t = {push.t:.6g} s did not converge in {_PASSES} passes ({where} misses most)")

    def kept(self) -> None:
        """Nothing: every step begins with a tangent of its own."""

    def keep(self, kept: None) -> None:
        """Nothing."""

    def _free(self, push: Push, y: Array, missing: Array) -> Free:
        """The change from y without contact, where so much momentum (d,) is missing."""
        given = None if push.given is None else push.given - y[self._bulk.assembly.imposed_dofs]
        return self._condensed.free(missing, push.rest - self._bulk.assembly.constraints @ y, given)

    def _impulse(self, found: Solved) -> Array:
        """λ (1 − α_m)(Cᵀφ + BᵀP) (d,), N·s."""
        return self._bulk.mix * self._bulk.scale * self._bulk.assembly.pull(found.multipliers, found.meeting.impulse)

    def _left(self, state: State, push: Push, y: Array, change: Array, impulse: Array, share: float) -> float:
        """The size of what the tangent would still change at a share of a change, under these impulses (d,)."""
        end = y + share * change
        missing = self._missing(state, push, end)[0] + impulse
        if not np.isfinite(missing).all():
            return np.inf
        return float(np.linalg.norm(self._lengths * self._free(push, end, missing).y))

    def _missing(self, state: State, push: Push, y: Array) -> tuple[Array, float]:
        """What of the momentum is missing at y (d,), N·s, nan where a cell is inside out; the largest share in it."""
        bulk, viscous = self._bulk, self._bulk.assembly.viscous
        u = state.u + push.shift + bulk.step * y
        response = bulk.assembly.respond(u, state.memory, bulk.step)
        if max(response.inverted, default=-1) >= 0:
            return np.full_like(y, np.nan), 0.0
        resisting = response.force
        if viscous is not None:
            resisting = resisting + viscous @ (state.v + (y - state.v) / bulk.mix)
        inertia, impulse = bulk.scale * (bulk.assembly.mass @ y), bulk.lever * resisting
        size = max(float(np.abs(share / self._lengths).max()) for share in (push.impulse, inertia, impulse))
        return push.impulse - inertia - impulse, size

    def _enough(self, state: State, push: Push, y: Array, size: float) -> float:
        """What may be missing where it falls no further: the forces feel the round-off of the displacements."""
        u = np.abs(state.u + push.shift + self._bulk.step * y)
        rounding = 4.0 * float(np.finfo(float).eps) * float((self._rounding @ u / self._lengths).max(initial=0.0))
        return _ENOUGH * size + self._bulk.lever * rounding

    def _matrix(self, u: Array, memory: Memory) -> sp.csr_array:
        parts, step = self._bulk.assembly.parts, self._bulk.step

        def tangent(i: int, at: slice) -> sp.csr_array:
            part = parts[i]
            if isinstance(part, PathDependent):
                return symmetric_part(part.tangent(u[at], memory[i], step))
            assert isinstance(part, Nonlinear)
            return part.tangent(u[at])

        return self._tangents.matrix(tangent)

    def _linearise(self, state: State, push: Push, y: Array) -> None:
        """A at the end of the step by y; where that is not positive definite (a guess far off), at its start."""
        for u in (state.u + push.shift + self._bulk.step * y, state.u):
            try:
                matrix = self._matrix(u, state.memory)
                self._condensed = Condensed(self._bulk.assembly, matrix, former=self._condensed)
            except UserError:
                continue
            return
        where = place_of_most(self._bulk.assembly, np.where(self._bulk.assembly.free, np.abs(y), 0.0))
        raise Failed(
            f"the step to t = {push.t:.6g} s has no positive definite tangent: it buckles ({where} is fastest)"
        )
