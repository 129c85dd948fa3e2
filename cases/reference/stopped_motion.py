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

BLOCK = 128  # samples per array
_PIECES = 20_000


@dataclass(frozen=True, eq=False)
class StoppedPiece:
    """Samples (k,) of a phase: times, s; F, N; v, m/s; u_x and u_y (k, 2) at the stop, m."""

    state: State
    times: Array
    force: Array
    slip: Array
    displacement: Array


@dataclass(frozen=True, eq=False)
class StoppedMotion:
    """Motion as a sequence of phases, with the impacts (k, 5) on a rigid stop.

    Columns: instant, s; ∫ F dt, N s; ∫ F |v| dt, J; |v| before and after the impact, m/s.
    """

    pieces: tuple[StoppedPiece, ...]
    impacts: Array

    @cached_property
    def times(self) -> Array:
        """Samples (t,) of all phases, s; common ends occur twice."""
        return np.concatenate([piece.times for piece in self.pieces])

    @cached_property
    def force(self) -> Array:
        """F (t,), N."""
        return np.concatenate([piece.force for piece in self.pieces])

    @cached_property
    def displacement(self) -> Array:
        """u_x and u_y (t, 2) at the stop, m."""
        return np.concatenate([piece.displacement for piece in self.pieces])

    def impulse(self, t: float) -> float:
        """∫ F dt up to t, N s, with impacts."""
        return self._total(t, lambda piece: piece.force, 1)

    def work(self, t: float) -> float:
        """∫ F |v| dt up to t, J, with impacts."""
        return self._total(t, lambda piece: piece.force * np.abs(piece.slip), 2)

    def contact_time(self, t: float) -> float:
        """Duration of contact, F > 0, up to t, s."""
        return sum(min(p.times[-1], t) - p.times[0] for p in self.pieces if p.state != "open" and p.times[0] < t)

    def _total(self, t: float, rate: Callable[[StoppedPiece], Array], column: int) -> float:
        total = float(self.impacts[self.impacts[:, 0] <= t, column].sum())
        for piece in self.pieces:
            if piece.state != "open" and piece.times[0] < t:
                sums = cumulative_simpson(rate(piece), x=piece.times, initial=0.0)
                total += float(np.interp(t, piece.times, sums))
        return total


def solve(rod: StoppedRod, end: float) -> StoppedMotion:
    """Motion of a rod from rest, over [0, end] s."""
    return StopIntegrator(rod).integrate(checks.positive("end", end))


class StopIntegrator:
    """Integrator of one motion: the state z of the rod and the completed phases."""

    def __init__(self, rod: StoppedRod) -> None:
        self.rod, self.step = rod, rod.sample
        self.z = np.zeros(4 * rod.modes + 3)
        self.z[[4 * rod.modes, 4 * rod.modes + 2]] = 1.0  # the constant, and cos 0
        self._powers: dict[State, Array] = {}
        self.pieces: list[StoppedPiece] = []
        self.impacts: list[tuple[float, ...]] = []

    def integrate(self, end: float) -> StoppedMotion:
        """Integrate phase by phase up to `end`, s."""
        time = 0.0
        state: State = "open"
        for _ in range(_PIECES):
            span, end_index = self._span(state, end - time)
            self._sample(state, time, span)
            time += span
            if end_index is None:
                return StoppedMotion(tuple(self.pieces), np.array(self.impacts).reshape(-1, 5))
            state = self._next(state, end_index, time)
        raise UserError(f"the stop chatters: more than {_PIECES} changes of state", FAILURE)

    def _ends(self, state: State, z: Array) -> Array:
        """Event functions (…, k) of z (…, size), positive after the end of the phase: 0 contact, 1 slip or stick."""
        rod = self.rod
        gap, force = z @ rod.gap_row, z @ rod.force_row
        contact_force = force if rod.rigid else np.minimum(-gap, force)
        if state == "open":
            return np.stack([-gap if rod.rigid else contact_force], axis=-1)
        if state == "stuck":
            return np.stack([-contact_force, np.abs(z @ rod.stick_row) - rod.friction * force], axis=-1)
        return np.stack([-contact_force, -SENSE[state] * (z @ rod.slip_row)], axis=-1)

    def _span(self, state: State, longest: float) -> tuple[float, int | None]:
        """Duration of the phase, s, and index in `_ends` of its end."""
        a = self.rod.matrix(state)
        if state not in self._powers:
            step_matrix, powers = expm(a * self.step), [np.eye(len(a))]
            for _ in range(BLOCK):
                powers.append(step_matrix @ powers[-1])
            self._powers[state] = np.array(powers)
        z, elapsed = self.z, 0.0
        while elapsed < longest:
            states = self._powers[state] @ z
            ends = self._ends(state, states)
            ended = np.flatnonzero((ends[1:] > 0.0).any(axis=1))
            if ended.size:
                k = int(ended[0])
                crossings = [
                    (self._root(a, state, states[k], int(i)), int(i)) for i in np.flatnonzero(ends[k + 1] > 0.0)
                ]
                span, end_index = min(crossings)
                return (
                    (elapsed + k * self.step + span, end_index)
                    if elapsed + k * self.step + span < longest
                    else (longest, None)
                )
            z, elapsed = states[-1], elapsed + BLOCK * self.step
        return longest, None

    def _root(self, a: Array, state: State, z: Array, end_index: int) -> float:
        """Time at which an event function of `_ends` rises above 0 within a sample from z, s."""

        def end_function(s: float) -> float:
            return float(self._ends(state, expm(a * s) @ z)[end_index])

        low = 0.0
        if end_function(0.0) >= 0.0:  # by round-off, or throughout: then it is not negative nearby
            low = next((s for s in self.step * 0.5 ** np.arange(1, 20) if end_function(s) < 0.0), self.step)
        return 0.0 if low == self.step else float(brentq(end_function, low, self.step, xtol=1e-17, rtol=1e-12))

    def _sample(self, state: State, time: float, span: float) -> None:
        """Store the samples of the phase, and advance z to its end."""
        rod, count = self.rod, 2 * math.ceil(0.5 * span / self.step)
        if not count:
            return
        step_matrix, states = expm(rod.matrix(state) * (span / count)), [self.z]
        for _ in range(count):
            states.append(step_matrix @ states[-1])
        z, self.z = np.array(states), states[-1]
        force = np.asarray(z @ rod.force_row if state != "open" else np.zeros(len(z)), dtype=float)
        displacement = np.stack([z @ rod.row(0), z @ rod.row(1)], axis=1)
        times = time + span / count * np.arange(count + 1)
        self.pieces.append(StoppedPiece(state, np.asarray(times), force, z @ rod.slip_row, displacement))

    def _next(self, state: State, end_index: int, time: float) -> State:
        """State after the end of a phase; impacts on a rigid stop are applied here."""
        rod = self.rod
        if end_index == 0 and state != "open":
            return "open"
        force, friction_force, slip = (float(row @ self.z) for row in (rod.force_row, rod.stick_row, rod.slip_row))
        if state == "open":
            if rod.rigid:
                slip = self._impact(time, slip)
                force, friction_force = float(rod.force_row @ self.z), float(rod.stick_row @ self.z)
                if force <= 0.0:
                    return "open"
            if slip != 0.0:
                return "forward" if slip > 0.0 else "backward"
        if state != "stuck" and abs(friction_force) <= rod.friction * force:
            return "stuck"
        return "backward" if friction_force > 0.0 else "forward"

    def _impact(self, time: float, slip: float) -> float:
        """Impact on a rigid stop: normal velocity set to zero, slip reduced by friction; returns the remaining slip."""
        rod, n = self.rod, self.rod.modes
        normal = float(rod.shapes @ self.z[2 * n : 3 * n]) / rod.mobility
        friction_impulse = min(rod.friction * normal, abs(slip) / rod.mobility)
        remaining_slip = abs(slip) - friction_impulse * rod.mobility
        self.z[2 * n : 3 * n] -= rod.shapes * normal
        self.z[3 * n : 4 * n] -= rod.shapes * math.copysign(friction_impulse, slip)
        slipping_impulse = min(normal, friction_impulse / rod.friction) if rod.friction else normal
        self.impacts.append(
            (time, normal, 0.5 * slipping_impulse * (abs(slip) + remaining_slip), abs(slip), remaining_slip)
        )
        return math.copysign(remaining_slip, slip) if remaining_slip > 1e-12 * abs(slip) else 0.0
