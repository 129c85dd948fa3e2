"""Motion of a rod on a stop (`stopped_rod`) phase by phase: changes of state, impacts and integrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.linalg import expm
from scipy.optimize import brentq

from arlequin.cases.reference.stopped_rod import SENSE, State, StoppedRod
from arlequin.models import checks
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array

BLOCK = 128  # samples at once
_PIECES = 20_000


@dataclass(frozen=True, eq=False)
class StoppedPiece:
    """Samples (k,) from the start of a piece to its end: times, s; F, N; v, m/s; u_x and u_y (k, 2) at the stop, m."""

    state: State
    times: Array
    force: Array
    slip: Array
    place: Array


@dataclass(frozen=True, eq=False)
class StoppedMotion:
    """Motion as a sequence of phases, with the impacts (k, 5) on a rigid stop.

    Of an impact: the instant, s; ∫ F dt, N s; ∫ F |v| dt, J; |v| before and after it, m/s.
    """

    pieces: tuple[StoppedPiece, ...]
    impacts: Array

    @cached_property
    def times(self) -> Array:
        """Samples (t,) of the pieces one after the other, s: their ends stand twice."""
        return np.concatenate([piece.times for piece in self.pieces])

    @cached_property
    def force(self) -> Array:
        """F (t,), N."""
        return np.concatenate([piece.force for piece in self.pieces])

    @cached_property
    def place(self) -> Array:
        """u_x and u_y (t, 2) at the stop, m."""
        return np.concatenate([piece.place for piece in self.pieces])

    def impulse(self, t: float) -> float:
        """∫ F dt from the start to t, N s, impacts included."""
        return self._total(t, lambda piece: piece.force, 1)

    def work(self, t: float) -> float:
        """∫ F |v| dt from the start to t, J, impacts included."""
        return self._total(t, lambda piece: piece.force * np.abs(piece.slip), 2)

    def touched(self, t: float) -> float:
        """How long F > 0 from the start to t, s."""
        return sum(min(p.times[-1], t) - p.times[0] for p in self.pieces if p.state != "open" and p.times[0] < t)

    def _total(self, t: float, rate: Callable[[StoppedPiece], Array], column: int) -> float:
        total = float(self.impacts[self.impacts[:, 0] <= t, column].sum())
        for piece in self.pieces:
            if piece.state != "open" and piece.times[0] < t:
                sums = cumulative_simpson(rate(piece), x=piece.times, initial=0.0)
                total += float(np.interp(t, piece.times, sums))
        return total


def solve(rod: StoppedRod, end: float) -> StoppedMotion:
    """The motion of a rod from rest, over [0, end] s."""
    return StopIntegrator(rod).to(checks.positive("end", end))


class StopIntegrator:
    """Integrator of one motion: the state z of the rod and the completed phases."""

    def __init__(self, rod: StoppedRod) -> None:
        self.rod, self.step = rod, rod.sample
        self.z = np.zeros(4 * rod.modes + 3)
        self.z[[4 * rod.modes, 4 * rod.modes + 2]] = 1.0  # the constant, and cos 0
        self._powers: dict[State, Array] = {}
        self.pieces: list[StoppedPiece] = []
        self.impacts: list[tuple[float, ...]] = []

    def to(self, end: float) -> StoppedMotion:
        """Piece by piece."""
        time = 0.0
        state: State = "open"
        for _ in range(_PIECES):
            span, which = self._span(state, end - time)
            self._sample(state, time, span)
            time += span
            if which is None:
                return StoppedMotion(tuple(self.pieces), np.array(self.impacts).reshape(-1, 5))
            state = self._next(state, which, time)
        raise UserError(f"the stop chatters: more than {_PIECES} changes of state", FAILURE)

    def _ends(self, state: State, z: Array) -> Array:
        """Scalars (…, k) of z (…, size), of which the first above 0 ends the piece: 0 contact, 1 slip or stick."""
        rod = self.rod
        gap, force = z @ rod.gap_row, z @ rod.force_row
        pressed = force if rod.rigid else np.minimum(-gap, force)
        if state == "open":
            return np.stack([-gap if rod.rigid else pressed], axis=-1)
        if state == "stuck":
            return np.stack([-pressed, np.abs(z @ rod.stick_row) - rod.friction * force], axis=-1)
        return np.stack([-pressed, -SENSE[state] * (z @ rod.slip_row)], axis=-1)

    def _span(self, state: State, longest: float) -> tuple[float, int | None]:
        """How long the piece lasts, s, and which of `_ends` ends it."""
        a = self.rod.matrix(state)
        if state not in self._powers:
            once, powers = expm(a * self.step), [np.eye(len(a))]
            for _ in range(BLOCK):
                powers.append(once @ powers[-1])
            self._powers[state] = np.array(powers)
        z, done = self.z, 0.0
        while done < longest:
            states = self._powers[state] @ z
            ends = self._ends(state, states)
            late = np.flatnonzero((ends[1:] > 0.0).any(axis=1))
            if late.size:
                k = int(late[0])
                found = [(self._root(a, state, states[k], int(i)), int(i)) for i in np.flatnonzero(ends[k + 1] > 0.0)]
                span, which = min(found)
                return (
                    (done + k * self.step + span, which) if done + k * self.step + span < longest else (longest, None)
                )
            z, done = states[-1], done + BLOCK * self.step
        return longest, None

    def _root(self, a: Array, state: State, z: Array, which: int) -> float:
        """When that one of `_ends` rises above 0 within a sample from z, s."""

        def over(s: float) -> float:
            return float(self._ends(state, expm(a * s) @ z)[which])

        low = 0.0
        if over(0.0) >= 0.0:  # by round-off, or for good: then nothing below 0 is found near it
            low = next((s for s in self.step * 0.5 ** np.arange(1, 20) if over(s) < 0.0), self.step)
        return 0.0 if low == self.step else float(brentq(over, low, self.step, xtol=1e-17, rtol=1e-12))

    def _sample(self, state: State, time: float, span: float) -> None:
        """Keeps the piece, and takes z to its end."""
        rod, count = self.rod, 2 * math.ceil(0.5 * span / self.step)
        if not count:
            return
        once, states = expm(rod.matrix(state) * (span / count)), [self.z]
        for _ in range(count):
            states.append(once @ states[-1])
        z, self.z = np.array(states), states[-1]
        force = np.asarray(z @ rod.force_row if state != "open" else np.zeros(len(z)), dtype=float)
        place = np.stack([z @ rod.row(0), z @ rod.row(1)], axis=1)
        times = time + span / count * np.arange(count + 1)
        self.pieces.append(StoppedPiece(state, np.asarray(times), force, z @ rod.slip_row, place))

    def _next(self, state: State, which: int, time: float) -> State:
        """The state after an end; a rigid stop gives its impulses here."""
        rod = self.rod
        if which == 0 and state != "open":
            return "open"
        force, rubbing, slip = (float(row @ self.z) for row in (rod.force_row, rod.stick_row, rod.slip_row))
        if state == "open":
            if rod.rigid:
                slip = self._impact(time, slip)
                force, rubbing = float(rod.force_row @ self.z), float(rod.stick_row @ self.z)
                if force <= 0.0:
                    return "open"
            if slip != 0.0:
                return "forward" if slip > 0.0 else "backward"
        if state != "stuck" and abs(rubbing) <= rod.friction * force:
            return "stuck"
        return "backward" if rubbing > 0.0 else "forward"

    def _impact(self, time: float, slip: float) -> float:
        """Impact on a rigid stop: normal velocity set to zero, slip reduced by friction; returns the remaining slip."""
        rod, n = self.rod, self.rod.modes
        normal = float(rod.shapes @ self.z[2 * n : 3 * n]) / rod.mobility
        rub = min(rod.friction * normal, abs(slip) / rod.mobility)
        after = abs(slip) - rub * rod.mobility
        self.z[2 * n : 3 * n] -= rod.shapes * normal
        self.z[3 * n : 4 * n] -= rod.shapes * math.copysign(rub, slip)
        slipping = min(normal, rub / rod.friction) if rod.friction else normal
        self.impacts.append((time, normal, 0.5 * slipping * (abs(slip) + after), abs(slip), after))
        return math.copysign(after, slip) if after > 1e-12 * abs(slip) else 0.0
