"""Two masses joined by a spring, the first on a rough floor, the second pulled: exact stick and slip (SDND106).

m₁ is pressed on the floor by N, with the coefficients μ_s of stick and μ_d of slip; F pulls m₂ up to the time T. Both
start at rest. With r = x₂ − x₁, X the centre of mass and M = m₁ + m₂

    stick, |kr| ≤ μ_s N                 ẋ₁ = 0,   m₂ r̈ = F − k r
    slip in the sense s = sign ẋ₁       M Ẍ = F − s μ_d N,   r̈ = F/m₂ + s μ_d N/m₁ − k (1/m₁ + 1/m₂) r

so that r = r̄ + R cos(ωt − φ) in both, and x₁ = X − (m₂/M) r. The threshold of stick is reached at an arc cosine. In
slip ẍ₁ = (kr − s μ_d N)/m₁ has its zeros at arc cosines, too; between two of them ẋ₁ is monotone, and its first zero is
found there to round-off. Where it falls to zero the mass sticks if |kr| ≤ μ_s N, else it slips back.

Source: Code_Aster V5.01.106, which gives the first stick, slip and stick.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count, pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.types import Array

_AFTER = 1e-12  # of a period after the start of a phase: earlier events are those of the start
MAX_PHASES = 100_000  # phases


@dataclass(frozen=True)
class Harmonic:
    """r = mean + size cos(pulsation t − phase), t from the start of the phase."""

    mean: float
    size: float
    pulsation: float
    phase: float

    @classmethod
    def of(cls, mean: float, pulsation: float, value: float, rate: float) -> "Harmonic":
        """Harmonic motion of given value and rate at t = 0."""
        deviation, scaled_rate = value - mean, rate / pulsation
        return cls(mean, math.hypot(deviation, scaled_rate), pulsation, math.atan2(scaled_rate, deviation))

    def value(self, t: ArrayLike) -> Array:
        return np.asarray(self.mean + self.size * np.cos(self.pulsation * np.asarray(t) - self.phase))

    def rate(self, t: ArrayLike) -> Array:
        return np.asarray(-self.size * self.pulsation * np.sin(self.pulsation * np.asarray(t) - self.phase))

    def crossings(self, level: float) -> Iterator[float]:
        """Increasing instants t > 0 at which r equals a level; none if it is out of range."""
        share = (level - self.mean) / self.size if self.size > 0.0 else math.inf
        if abs(share) > 1.0:
            return
        period, angle = 2.0 * math.pi, math.acos(share)
        angles = sorted((self.phase + sense * angle) % period for sense in (1.0, -1.0))
        for n in range(MAX_PHASES):
            for base_angle in angles:
                t = (base_angle + n * period) / self.pulsation
                if t > _AFTER / self.pulsation:
                    yield t


@dataclass(frozen=True)
class Phase:
    """Stick (sense 0) or slip from `start` to `end`, s; position and velocity of the centre of mass (or of m₁ in stick)
    at the start, its acceleration, and r."""

    start: float
    end: float
    sense: int
    position: float
    velocity: float
    acceleration: float
    spread: Harmonic


@dataclass(frozen=True)
class PulledEvent:
    """Start of slip, reversal or stick of the first mass at `time`, s; sense: of the following slip, 0: stick."""

    time: float
    kind: Literal["slip", "reversal", "stick"]
    sense: int


@dataclass(frozen=True)
class PulledMasses:
    """masses m₁, m₂, kg; stiffness k, N/m; normal N and pull F, N; release T, s; static μ_s ≥ dynamic μ_d."""

    first: float = 5.0
    second: float = 5.0
    stiffness: float = 1e4
    normal: float = 1e4
    pull: float = 3000.0
    release: float = 0.2
    static: float = 0.3
    dynamic: float = 0.2

    def __post_init__(self) -> None:
        for name in ("first", "second", "stiffness", "normal", "release", "static"):
            checks.positive(name, getattr(self, name))
        checks.non_negative("dynamic", self.dynamic)
        if self.dynamic > self.static:
            raise UserError.parameter("dynamic", self.dynamic, f"must be at most static = {self.static:g}")

    def events(self, end: float) -> list[PulledEvent]:
        """Changes of state up to a time, s."""
        events: list[PulledEvent] = []
        phases = self._motion(end)
        for before, after in pairwise(phases):
            if before.sense != after.sense:
                kind: Literal["slip", "reversal", "stick"] = (
                    "stick" if after.sense == 0 else "slip" if before.sense == 0 else "reversal"
                )
                events.append(PulledEvent(after.start, kind, after.sense))
        return events

    def positions(self, t: ArrayLike) -> Array:
        """x₁ and x₂ (…, 2), m."""
        return self._fields(t, self._positions)

    def velocities(self, t: ArrayLike) -> Array:
        """ẋ₁ and ẋ₂ (…, 2), m/s."""
        return self._fields(t, self._velocities)

    def friction_loss(self, end: float) -> float:
        """Energy dissipated by friction up to a time, J: μ_d N times the slip of the first mass."""
        slip = 0.0
        for phase in self._motion(end):
            if phase.sense:
                time_in_phase = min(phase.end, end) - phase.start
                slip += abs(float(self._positions(phase, time_in_phase)[0] - self._positions(phase, 0.0)[0]))
        return self.dynamic * self.normal * slip

    @cached_property
    def _share(self) -> float:
        return self.second / (self.first + self.second)

    def _fields(self, t: ArrayLike, evaluate: Callable[[Phase, Array], Array]) -> Array:
        times = np.asarray(t, dtype=float)
        phases = self._motion(float(times.max(initial=0.0)))
        index = np.clip(np.searchsorted([p.start for p in phases], times, side="right") - 1, 0, None)
        fields = np.empty((*times.shape, 2))
        for n in np.unique(index):
            at = index == n
            fields[at] = evaluate(phases[n], times[at] - phases[n].start)
        return fields

    def _positions(self, phase: Phase, t: ArrayLike) -> Array:
        t = np.asarray(t, dtype=float)
        base, spread = phase.position + (phase.velocity + 0.5 * phase.acceleration * t) * t, phase.spread.value(t)
        x1 = base - self._share * spread if phase.sense else base
        return np.stack([x1, x1 + spread], axis=-1)

    def _velocities(self, phase: Phase, t: ArrayLike) -> Array:
        t = np.asarray(t, dtype=float)
        base, rate = phase.velocity + phase.acceleration * t, phase.spread.rate(t)
        v1 = base - self._share * rate if phase.sense else base
        return np.stack([v1, v1 + rate], axis=-1)

    def _motion(self, end: float) -> list[Phase]:
        """Phases that cover [0, end]."""
        time, x, v, sense = 0.0, np.zeros(2), np.zeros(2), 0
        phases: list[Phase] = []
        while not phases or (phases[-1].end <= end and len(phases) < MAX_PHASES):
            load, load_end = (self.pull, self.release) if time < self.release else (0.0, math.inf)
            phase = self._phase(time, sense, (x, v), load, end)
            phases.append(phase)
            if phase.end >= load_end:  # the load ends in this phase
                phase = phases[-1] = replace(phase, end=load_end)
            if math.isinf(phase.end):
                break
            elapsed = phase.end - time
            x, v = self._positions(phase, elapsed), self._velocities(phase, elapsed)
            if phase.end != load_end:
                spring_force = self.stiffness * (x[1] - x[0])
                v[0] = 0.0
                sticks = sense != 0 and abs(spring_force) <= self.static * self.normal
                sense = 0 if sticks else int(math.copysign(1.0, spring_force))
            time = phase.end
        return phases

    def _phase(self, start: float, sense: int, state: tuple[Array, Array], load: float, end: float) -> Phase:
        """Phase from a start to its event; an end of ∞ if this is not before `end` or the release."""
        x, v = state
        m, n, k = self.first, self.second, self.stiffness
        spread, rate = float(x[1] - x[0]), float(v[1] - v[0])
        if sense == 0:
            harmonic = Harmonic.of(load / k, math.sqrt(k / n), spread, rate)
            levels = (self.static * self.normal / k, -self.static * self.normal / k)
            ends = [t for level in levels for t in [next(harmonic.crossings(level), math.inf)]]
            return Phase(start, start + min(ends), 0, float(x[0]), 0.0, 0.0, harmonic)
        friction = sense * self.dynamic * self.normal
        square = k * (1.0 / m + 1.0 / n)
        harmonic = Harmonic.of((load / n + friction / m) / square, math.sqrt(square), spread, rate)
        phase = Phase(
            start, math.inf, sense, float(x[0]) + self._share * spread, float(v[0]) + self._share * rate,
            (load - friction) / (m + n), harmonic,
        )  # fmt: skip
        limit = min(end, self.release if load else math.inf)
        return replace(phase, end=start + self._time_to_rest(phase, limit - start) if limit > start else math.inf)

    def _time_to_rest(self, phase: Phase, last: float) -> float:
        """Time after its start at which the first mass, in slip, comes to rest; ∞ if not before `last`."""

        def speed(t: float) -> float:
            return phase.sense * float(self._velocities(phase, t)[0])

        harmonic, low = phase.spread, 0.0
        # zeros of the acceleration; if there are none, or no more, increasing times
        candidates = chain(harmonic.crossings(phase.sense * self.dynamic * self.normal / self.stiffness), count())
        for candidate in candidates:
            high = min(candidate if isinstance(candidate, float) else 2.0 * low + 1.0 / harmonic.pulsation, last)
            if speed(high) <= 0.0:
                return float(brentq(speed, low, high, xtol=1e-16, rtol=1e-15)) if speed(low) > 0.0 else low
            if high == last:
                break
            low = high
        return math.inf
