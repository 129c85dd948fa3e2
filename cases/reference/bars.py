"""Unilateral contact of two elastic rods: exact event-driven solution.

With the delay equation of `rods`, ġ = R + Z p, Z = 1/z1 + 1/z2, R = ġ₀ + A1 + A2, where
A_i(t) = A_i(t − T_i) + 2 p(t − T_i)/z_i. While p is piecewise constant R is too, so g is piecewise linear:

    g > 0: p = 0, ġ = R;        g = 0: p = ⟨−R⟩/Z, ġ = ⟨R⟩.

p changes only at the start of a contact (g reaches 0) and at the arrivals, delayed by T_i, of the jumps of
A_i + 2p/z_i; a release is an arrival that makes R positive.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from arlequin.cases.reference.rods import ContactHistory, Rod, RodPair, clipped, require_positive, runs
from arlequin.models.errors import UserError
from arlequin.models.types import Array

TIME_TOLERANCE = 1e-11  # interval over the shortest transit below which events are merged
RATE_TOLERANCE = 1e-11  # gap rate over the approach speed below which it is zero
EVENT_LIMIT = 1_000_000


@dataclass(frozen=True)
class Collision(ContactHistory):
    """Exact history: times (n + 1,) s of events, pressures (n,) Pa between them, gaps (n + 1,) m at them."""

    times: Array = field(repr=False)
    pressures: Array = field(repr=False)
    gaps: Array = field(repr=False)

    @property
    def breakpoints(self) -> Array:
        return self.times

    def pressure(self, t: ArrayLike) -> Array:
        """Contact pressure, right-continuous, Pa; zero before t = 0."""
        times = clipped(t, self.duration)
        segment = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.pressures) - 1)
        return np.where(times < 0, 0.0, self.pressures[segment])

    def impulse(self, t: ArrayLike) -> Array:
        """∫₀ᵗ p dt, Pa·s, exact."""
        cumulative = np.concatenate(([0.0], np.cumsum(self.pressures * np.diff(self.times))))
        return np.interp(clipped(t, self.duration), self.times, cumulative)

    def gap(self, t: ArrayLike) -> Array:
        """Distance of the contact ends, m, exact."""
        return np.interp(clipped(t, self.duration), self.times, self.gaps)

    @property
    def contact_intervals(self) -> Array:
        """Intervals (k, 2) of positive pressure, s."""
        return runs(self.pressures > 0, self.times)


def collide(left: Rod, right: Rod | None, gap: float, duration: float) -> Collision:
    """Unilateral collision of two rods (right = None: a rigid wall), `gap` m apart at t = 0."""
    pair = RodPair(left, right, gap)
    require_positive(duration=duration)
    times, pressures, gaps = _events(pair, duration)
    return Collision(pair, duration, np.array(times), np.array(pressures), np.array(gaps))


def _events(pair: RodPair, duration: float) -> tuple[list[float], list[float], list[float]]:
    admittances, transits = pair.admittances, pair.transits
    total, speed, tolerance = sum(admittances), -pair.closing, TIME_TOLERANCE * min(transits)
    arrivals: tuple[deque[tuple[float, float]], ...] = (deque(), deque())
    delayed = [0.0, 0.0]  # A_1, A_2
    t, g, p = 0.0, pair.gap, 0.0
    times, gaps = [0.0], [g]
    pressures: list[float] = []
    for _ in range(EVENT_LIMIT):
        jumps = [_pop(queue, t + tolerance) for queue in arrivals]
        delayed = [a + jump for a, jump in zip(delayed, jumps, strict=True)]
        rate = pair.closing + sum(delayed)
        if abs(rate) <= RATE_TOLERANCE * speed:
            rate = 0.0
        touching = g <= 4 * speed * tolerance
        g, old_p, p = (0.0 if touching else g), p, (max(0.0, -rate / total) if touching else 0.0)
        if pressures:
            times.append(t)
            gaps.append(g)
        pressures.append(p)
        for queue, transit, jump, y in zip(arrivals, transits, jumps, admittances, strict=True):
            amount = jump + 2 * y * (p - old_p)
            if abs(amount) > 1e-3 * RATE_TOLERANCE * speed and t + transit < duration:
                queue.append((t + transit, amount))
        rate += total * p
        contact_time = t + g / -rate if g > 0 and rate < 0 else math.inf
        next_event = min(contact_time, duration, *(queue[0][0] for queue in arrivals if queue))
        g, t = max(0.0, g + rate * (next_event - t)), next_event
        if t >= duration:
            return [*times, duration], pressures, [*gaps, g]
    raise UserError(f"duration = {duration:g}: more than {EVENT_LIMIT} events, choose a shorter one", 1)


def _pop(queue: deque[tuple[float, float]], latest: float) -> float:
    """Sum of the jumps arriving up to `latest`."""
    amount = 0.0
    while queue and queue[0][0] <= latest:
        amount += queue.popleft()[1]
    return amount
