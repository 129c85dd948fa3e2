"""D'Alembert solutions of a bar and a rigid wall: periodic bouncing, and a single impact.

Bar 0 ≤ x ≤ L, c = √(E/ρ), contact end x = 0; contact with the wall: u(0, t) ≥ 0, p ≥ 0, p u(0, t) = 0 (u measured from
contact, away from the wall). Without p, any motion is u = F(t − x/c) + G(t + x/c).

**Bouncing bar**: the far end is fixed, u(L) = 0, so that G(s) = −F(s − T), T = 2L/c. With w = F′:

    v = w(t − x/c) − w(t + x/c − T),   σ = −ρc (w(t − x/c) + w(t + x/c − T)),   p = ρc (w(t) + w(t − T)).

The bar is released compressed by ε, u₀ = ε(L − x), v₀ = 0: w = εc/2 on (−T, 0). Then, in steps of L/c = T/2,

    flight, p = 0:     w(t) = −w(t − T) = −εc/2     until u(0, t) = ε(L − ct) is 0, at t = L/c;
    contact, v(0) = 0: w(t) = w(t − T) = εc/2       while p = 2ρc w > 0: until the −εc/2 is back, at t = T = 2L/c;
    flight, p = 0:     w(t) = −w(t − T) = εc/2      until 3L/c, where w over the last T is that at t = 0.

So w is εc/2 · (−1, +1, +1), of period 3L/c.
Contact for t in [1, 2] L/c at p = εE, energy ε²EL/2; u, the integral of w, is piecewise linear.
For E = ρ = L = 1, ε = ½: p = ½, energy 1/8, period 3.

**Thrown bar**: both ends free, velocity −V, contact end h₀ from the wall. The free end gives G(s) = F(s − T) and one
impact at t₀ = h₀/V: F′ = V H(t − t₀), p = ρcV for T, and the bar leaves with +V. For E = 900, ρ = 1, L = 10, h₀ = 5,
V = 10: contact from 0.5 to 1.16667, p = 300.

Source: D. Doyen, A. Ern, S. Piperno, SIAM Journal on Scientific Computing 33, 2011 (both cases).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models import checks
from arlequin.models.types import Array


@dataclass(frozen=True)
class _BouncingBase:
    """E (Pa), ρ (kg/m³), L (m), unit section; fields are right-continuous at jumps."""

    young: float
    density: float
    length: float

    def __post_init__(self) -> None:
        for name in ("young", "density", "length"):
            checks.positive(name, getattr(self, name))

    @property
    def wave_speed(self) -> float:
        """c = √(E/ρ), m/s."""
        return math.sqrt(self.young / self.density)

    @property
    def transit(self) -> float:
        """T = 2L/c, s."""
        return 2 * self.length / self.wave_speed

    @property
    def pressure_in_contact(self) -> float:
        """Constant contact pressure, Pa."""
        raise NotImplementedError

    @property
    def energy(self) -> float:
        """Kinetic and strain energy, J/m²; constant."""
        raise NotImplementedError

    def displacement(self, x: ArrayLike, t: ArrayLike) -> Array:
        """u at x (m) from the contact end and t (s), m."""
        raise NotImplementedError

    def velocity(self, x: ArrayLike, t: ArrayLike) -> Array:
        """∂u/∂t, m/s."""
        raise NotImplementedError

    def stress(self, x: ArrayLike, t: ArrayLike) -> Array:
        """E ∂u/∂x, Pa, tension positive."""
        raise NotImplementedError

    def impulse(self, t: ArrayLike) -> Array:
        """∫₀ᵗ p dt, Pa·s."""
        raise NotImplementedError

    def pressure(self, t: ArrayLike) -> Array:
        """Contact pressure, Pa."""
        raise NotImplementedError

    def gap(self, t: ArrayLike) -> Array:
        """Distance of the contact end from the wall, m."""
        return self.displacement(0.0, t)

    def mean_pressure(self, edges: ArrayLike) -> Array:
        """Mean pressure over each interval of `edges` (k + 1,) → (k,), Pa."""
        e = np.asarray(edges, dtype=float)
        return np.diff(self.impulse(e)) / np.diff(e)


@dataclass(frozen=True)
class BouncingBar(_BouncingBase):
    """Bar with a fixed far end, released at rest with the uniform compression ε; `bounces` limits the breakpoints."""

    young: float = 1.0
    density: float = 1.0
    length: float = 1.0
    compression: float = 0.5
    bounces: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("compression", self.compression)
        checks.positive_integer("bounces", self.bounces)

    @property
    def period(self) -> float:
        """3L/c, s."""
        return 1.5 * self.transit

    @property
    def pressure_in_contact(self) -> float:
        """εE, Pa."""
        return self.compression * self.young

    @property
    def energy(self) -> float:
        """ε²EL/2, J/m²."""
        return 0.5 * self.compression**2 * self.young * self.length

    @property
    def contact_intervals(self) -> Array:
        """Contact intervals (bounces, 2), s: [3k + 1, 3k + 2] L/c."""
        return (3 * np.arange(self.bounces)[:, None] + np.array([1.0, 2.0])) * self.length / self.wave_speed

    @property
    def breakpoints(self) -> Array:
        """Jumps of the pressure, and 0 and the end of the last period, s."""
        return np.concatenate([[0.0], self.contact_intervals.ravel(), [self.bounces * self.period]])

    def _scaled(self, s: ArrayLike) -> Array:
        return np.asarray(s, dtype=float) * self.wave_speed / self.length

    def _wave(self, s: Array) -> Array:
        """w in units of εc/2, s in units of L/c."""
        return np.where(np.mod(s, 3.0) < 1.0, -1.0, 1.0)

    @staticmethod
    def _integral(s: Array) -> Array:
        """∫₀ˢ w in units of εL/2: 1 per period, a decrease by one followed by an increase by two."""
        phase = np.mod(s, 3.0)
        return np.floor_divide(s, 3.0) + np.abs(phase - 1.0) - 1.0

    def displacement(self, x: ArrayLike, t: ArrayLike) -> Array:
        tau, xi = self._scaled(t), np.asarray(x, dtype=float) / self.length
        rise = self._integral(tau - xi) - self._integral(tau + xi - 2.0)
        return 0.5 * self.compression * self.length * rise

    def velocity(self, x: ArrayLike, t: ArrayLike) -> Array:
        tau, xi = self._scaled(t), np.asarray(x, dtype=float) / self.length
        return 0.5 * self.compression * self.wave_speed * (self._wave(tau - xi) - self._wave(tau + xi - 2.0))

    def stress(self, x: ArrayLike, t: ArrayLike) -> Array:
        tau, xi = self._scaled(t), np.asarray(x, dtype=float) / self.length
        return -0.5 * self.pressure_in_contact * (self._wave(tau - xi) + self._wave(tau + xi - 2.0))

    def pressure(self, t: ArrayLike) -> Array:
        phase = np.mod(self._scaled(t), 3.0)
        return np.where((phase >= 1.0) & (phase < 2.0), self.pressure_in_contact, 0.0)

    def impulse(self, t: ArrayLike) -> Array:
        tau = self._scaled(t)
        share = np.floor_divide(tau, 3.0) + np.clip(np.mod(tau, 3.0) - 1.0, 0.0, 1.0)
        return self.pressure_in_contact * share * self.length / self.wave_speed


@dataclass(frozen=True)
class ThrownBar(_BouncingBase):
    """Bar with free ends, velocity V towards the wall at the distance h₀."""

    young: float = 900.0
    density: float = 1.0
    length: float = 10.0
    height: float = 5.0
    speed: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.non_negative("height", self.height)
        checks.positive("speed", self.speed)

    @property
    def pressure_in_contact(self) -> float:
        """ρcV, Pa."""
        return self.density * self.wave_speed * self.speed

    @property
    def energy(self) -> float:
        """ρLV²/2, J/m²."""
        return 0.5 * self.density * self.length * self.speed**2

    @property
    def contact_intervals(self) -> Array:
        """Contact interval (1, 2), s."""
        start = self.height / self.speed
        return np.array([[start, start + self.transit]])

    @property
    def breakpoints(self) -> Array:
        """0 and the jumps of the pressure, s."""
        return np.unique(np.concatenate([[0.0], self.contact_intervals.ravel()]))

    def _lags(self, x: ArrayLike, t: ArrayLike) -> tuple[Array, Array]:
        """Times since the arrival at x of the outgoing wave and of the one reflected at the free end, s."""
        since, lag = (
            np.asarray(t, dtype=float) - self.contact_intervals[0, 0],
            np.asarray(x, dtype=float) / self.wave_speed,
        )
        return since - lag, since + lag - self.transit

    def displacement(self, x: ArrayLike, t: ArrayLike) -> Array:
        outgoing, reflected = self._lags(x, t)
        return self.height + self.speed * (
            np.maximum(outgoing, 0) + np.maximum(reflected, 0) - np.asarray(t, dtype=float)
        )

    def velocity(self, x: ArrayLike, t: ArrayLike) -> Array:
        outgoing, reflected = self._lags(x, t)
        return self.speed * (np.heaviside(outgoing, 1.0) + np.heaviside(reflected, 1.0) - 1.0)

    def stress(self, x: ArrayLike, t: ArrayLike) -> Array:
        outgoing, reflected = self._lags(x, t)
        return self.pressure_in_contact * (np.heaviside(reflected, 1.0) - np.heaviside(outgoing, 1.0))

    def pressure(self, t: ArrayLike) -> Array:
        start, end = self.contact_intervals[0]
        times = np.asarray(t, dtype=float)
        return np.where((times >= start) & (times < end), self.pressure_in_contact, 0.0)

    def impulse(self, t: ArrayLike) -> Array:
        start, end = self.contact_intervals[0]
        return self.pressure_in_contact * (np.clip(np.asarray(t, dtype=float), start, end) - start)
