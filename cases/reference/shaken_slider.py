"""Mass with friction on a shaken support: exact event-driven stick, slip and reversal (SDND104).

The support has Ẍ = a₀ sin ωt and Ẋ = −(a₀/ω) cos ωt; the mass starts stuck, ẋ = Ẋ. With φ = ωt, η = μg/a₀ and
W = ω(ẋ − Ẋ)/a₀, while it slips in the sense s = sign W

    dW/dφ = −s η − sin φ,

and it sticks, W = 0, as long as |sin φ| ≤ η. The half period φ → φ + π swaps the senses, so that a slip in the half
period j may be described as one of sense −1, from p = φ − jπ on, asin η ≤ p ≤ π − asin η; y later

    −W = q(y) = 2 sin(p + y/2) sin(y/2) − ηy,      ∫₀ʸ q = Q(y) = y cos p − 2 cos(p + y/2) sin(y/2) − ηy²/2.

q grows up to p + y = π − asin η and falls up to p + y = 2π + asin η, where it is not positive: one zero between,
found to round-off. If |sin φ| ≤ η there, the mass sticks until sin φ leaves that band; else it reverses immediately.

    η ≥ 1 stick;   η* = 2/√(π² + 4) < η < 1 stick-slip, periodic from the first slip on;   η ≤ η* slip-slip,

which tends to slips of half a period from cos p = πη/2, of mean work rate mg⟨|V|⟩ = (m g a₀/(πω)) √(4 − π²η²).
The work rate is mg|V|, without μ (Archard's wear power); the friction power is μ times it.

Source: V5.01.104, whose figures of its two time intervals are interchanged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.types import Array

Regime = Literal["stick", "stick-slip", "slip-slip"]
Kind = Literal["slip", "reversal", "stick"]

SLIP_SLIP = 2 / math.sqrt(math.pi**2 + 4)  # η*, 0.5370


@dataclass(frozen=True)
class StickSlipEvent:
    """Start of slip in `sense` (sign of ẋ − Ẋ), reversal to it, or stick (sense 0) at `time`, s."""

    time: float
    kind: Kind
    sense: int


def _speed(eta: float, p: float | Array, y: ArrayLike) -> Array:
    """q(y), written without cancellation for small y."""
    half = 0.5 * np.asarray(y, dtype=float)
    return 2 * (np.sin(p + half) * np.sin(half) - eta * half)


def _swept(eta: float, p: float | Array, y: ArrayLike) -> Array:
    """Q(y)."""
    half = 0.5 * np.asarray(y, dtype=float)
    return 2 * (half * np.cos(p) - np.cos(p + half) * np.sin(half) - eta * half**2)


def _extent(eta: float, p: float) -> float:
    """Extent y of a slip that starts at p."""
    band = math.asin(eta)
    low, high = max(math.pi - band - p, 0.0), 2 * math.pi + band - p
    if _speed(eta, p, low) <= 0:  # η = 1, or to the last digits
        return 0.0
    if _speed(eta, p, high) >= 0:  # no friction: W touches 0 once a period
        return high
    return float(brentq(lambda y: float(_speed(eta, p, y)), low, high, xtol=1e-15, rtol=1e-15))


@lru_cache(maxsize=64)
def _slips(eta: float, periods: int) -> Array:
    """(k, 4): j, p, extent, and 1 for a start by reversal, of the slips that start in the first `periods`."""
    band, rows = math.asin(eta), []
    j, p, reversal = 0, band, 0
    while j < 2 * periods:
        y = _extent(eta, p)
        rows.append((j, p, y, reversal))
        end = p + y
        reversal = int(math.pi + band < end < 2 * math.pi - band)
        j, p = (j + 1 if end < 2 * math.pi - band else j + 2), (end - math.pi if reversal else band)
    return np.array(rows, dtype=float)


@dataclass(frozen=True)
class _LatestSlip:
    """Latest slip at given instants: sense, p, y (bounded by its end), whether it continues, sums of earlier slips."""

    sense: Array
    p: Array
    y: Array
    in_slip: NDArray[np.bool_]
    path: Array  # ∫|W| dφ
    shift: Array  # ∫W dφ


@dataclass(frozen=True)
class ShakenSlider:
    """a₀ (m/s²), μ, m (kg), g (m/s²), frequency ω/2π (Hz) of the support."""

    acceleration: float = 15.0
    friction: float = 0.1
    mass: float = 1.0
    gravity: float = 10.0
    frequency: float = 1.0

    def __post_init__(self) -> None:
        for name in ("acceleration", "friction"):
            checks.non_negative(name, getattr(self, name))
        for name in ("mass", "gravity", "frequency"):
            checks.positive(name, getattr(self, name))

    @property
    def pulsation(self) -> float:
        """ω, rad/s."""
        return 2 * math.pi * self.frequency

    @property
    def normal_force(self) -> float:
        """mg, N."""
        return self.mass * self.gravity

    @property
    def ratio(self) -> float:
        """η = μg/a₀; inf for a support at rest."""
        return self.friction * self.gravity / self.acceleration if self.acceleration > 0 else math.inf

    @property
    def regime(self) -> Regime:
        """Asymptotic regime; without friction (slip-slip by η) the mass never reverses."""
        if self.ratio >= 1:
            return "stick"
        return "stick-slip" if self.ratio > SLIP_SLIP else "slip-slip"

    @property
    def asymptotic_work_rate(self) -> float:
        """Asymptotic mean of mg|V| over a period, W; requires friction."""
        checks.positive("friction", self.friction)
        scale = self.normal_force * self.acceleration / (math.pi * self.pulsation)
        if self.regime == "slip-slip":
            return scale * math.sqrt(4 - (math.pi * self.ratio) ** 2)
        _, p, y, _ = _slips(self._eta, 1)[0]
        return scale * float(_swept(self._eta, p, y))

    @property
    def _eta(self) -> float:
        return min(self.ratio, 1.0)  # at 1 slips have zero extent

    def _rows(self, t: ArrayLike) -> Array:
        """Slips that start up to the latest of t."""
        times = np.asarray(t, dtype=float)
        if not np.isfinite(times).all() or np.any(times < 0):
            raise UserError.parameter("t", t, "must be finite and not negative")
        return _slips(self._eta, math.floor(float(times.max(initial=0.0)) * self.frequency) + 1)

    def _latest(self, t: ArrayLike) -> _LatestSlip:
        j, p, extent, _ = self._rows(t).T
        phase, start = np.asarray(t, dtype=float) * self.pulsation, j * math.pi + p
        sense, areas = np.where(j % 2 == 0, -1.0, 1.0), _swept(self._eta, p, extent)
        path = np.concatenate([[0.0], np.cumsum(areas)])
        shift = np.concatenate([[0.0], np.cumsum(sense * areas)])
        k = np.maximum(np.searchsorted(start, phase, side="right") - 1, 0)
        elapsed = phase - start[k]
        in_slip = (elapsed > 0) & (elapsed < extent[k])
        return _LatestSlip(sense[k], p[k], np.clip(elapsed, 0.0, extent[k]), in_slip, path[k], shift[k])

    def events(self, end: float) -> tuple[StickSlipEvent, ...]:
        """All changes of state up to `end` (s)."""
        events: list[StickSlipEvent] = []
        rows = self._rows(end)
        reversals = np.append(rows[1:, 3], 0)
        for (j, p, extent, reversal), reverses in zip(rows, reversals, strict=True):
            if extent == 0:
                continue
            start = (j * math.pi + p) / self.pulsation
            events.append(StickSlipEvent(start, "reversal" if reversal else "slip", -1 if j % 2 == 0 else 1))
            if not reverses:
                events.append(StickSlipEvent(start + extent / self.pulsation, "stick", 0))
        return tuple(event for event in events if event.time <= end)

    def support_velocity(self, t: ArrayLike) -> Array:
        """Ẋ, m/s."""
        return -self.acceleration / self.pulsation * np.cos(self.pulsation * np.asarray(t, dtype=float))

    def relative_velocity(self, t: ArrayLike) -> Array:
        """V = ẋ − Ẋ at t ≥ 0, m/s; exactly 0 in stick."""
        at = self._latest(t)
        size = np.where(at.in_slip, np.maximum(_speed(self._eta, at.p, at.y), 0.0), 0.0)
        return self.acceleration / self.pulsation * at.sense * size

    def relative_position(self, t: ArrayLike) -> Array:
        """∫V dt, m."""
        at = self._latest(t)
        return self.acceleration / self.pulsation**2 * (at.shift + at.sense * _swept(self._eta, at.p, at.y))

    def friction_force(self, t: ArrayLike) -> Array:
        """Friction force on the mass, N: m Ẍ in stick, else opposite to V."""
        at, phase = self._latest(t), self.pulsation * np.asarray(t, dtype=float)
        stuck = self.mass * self.acceleration * np.sin(phase)
        return np.where(at.in_slip, -at.sense * self.friction * self.normal_force, stuck)

    def work_rate(self, t: ArrayLike) -> Array:
        """mg|V|, W: Archard's wear power."""
        return self.normal_force * np.abs(self.relative_velocity(t))

    def friction_power(self, t: ArrayLike) -> Array:
        """μmg|V|, W, dissipated by friction."""
        return self.friction * self.work_rate(t)

    def work(self, t: ArrayLike) -> Array:
        """∫ mg|V| dt, J."""
        at = self._latest(t)
        scale = self.normal_force * self.acceleration / self.pulsation**2
        return scale * (at.path + _swept(self._eta, at.p, at.y))

    def mean_work_rate(self, start: float, end: float) -> float:
        """Mean of mg|V| over [start, end], W; the mean friction power is μ times it."""
        if not 0 <= start < end:
            raise UserError.parameter("end", end, f"must be after the start, {start:g} s")
        start_work, end_work = self.work([start, end])
        return float(end_work - start_work) / (end - start)
