"""D'Alembert's solution of two elastic rods in contact: base of all contact histories.

Rod i (length L, density ρ, speed c = √(E/ρ), impedance z = ρc, transit T = 2L/c) moves at uniform velocity V,
its far end free. Let s be the distance to the contact end, p(t) the contact pressure (compression positive,
p = 0 for t < 0). In the rod, v = V ∓ (F(t − s/c) + G(t + s/c − T))/z, upper sign for the left rod, and the
compression is q = F(t − s/c) − G(t + s/c − T). The free end, q = 0 at s = L, gives G = F; the contact end,
q = p at s = 0, gives F(t) = p(t) + F(t − T), so

    F(t) = Σ_{k≥0} p(t − kT),
    v(0, t) = V ∓ (p(t) + 2 Σ_{k≥1} p(t − kT))/z,
    ġ = v_right(0, t) − v_left(0, t)
      = (V_right − V_left) + (1/z1 + 1/z2) p + 2 Σ_k p(t − kT1)/z1 + 2 Σ_k p(t − kT2)/z2.

A rigid wall is 1/z2 = 0. Momentum: mean velocity V ∓ I(t)/(ρL), I the impulse. Energy: with w = F/z,
v² + (q/z)² = V² ∓ 2V(w₁ + w₂) + 2w₁² + 2w₂², w₁ = w(t − s/c), w₂ = w(t + s/c − T), so that over the rod

    e(t) = ρLV²/2 + ρc ∫_{t−T}^{t} (w² ∓ V w) dτ        J/m² (kinetic and strain).

Source: K. F. Graff, Wave Motion in Elastic Solids, 1975, chapter 2 (longitudinal impact of rods).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arlequin.models.errors import UserError
from arlequin.models.types import Array

Side = Literal["left", "right"]


def require(condition: bool, name: str, value: object, allowed: str) -> None:
    """Raise a usage error on parameter `name` unless `condition`."""
    if not condition:
        raise UserError.parameter(name, value, allowed)


def require_positive(**values: float) -> None:
    """Raise a usage error unless every value is positive and finite."""
    for name, value in values.items():
        require(math.isfinite(value) and value > 0, name, value, "must be positive and finite")


def require_non_negative(**values: float) -> None:
    """Raise a usage error unless every value is zero or positive, and finite."""
    for name, value in values.items():
        require(math.isfinite(value) and value >= 0, name, value, "must be zero or positive, and finite")


@dataclass(frozen=True)
class Rod:
    """A uniform elastic rod: length (m), Young's modulus (Pa), density (kg/m³), velocity along +x (m/s)."""

    length: float
    young: float
    density: float
    velocity: float = 0.0

    def __post_init__(self) -> None:
        require_positive(length=self.length, young=self.young, density=self.density)
        require(math.isfinite(self.velocity), "velocity", self.velocity, "must be finite")

    @property
    def wave_speed(self) -> float:
        """c = √(E/ρ), m/s."""
        return math.sqrt(self.young / self.density)

    @property
    def impedance(self) -> float:
        """z = ρc, Pa·s/m."""
        return math.sqrt(self.young * self.density)

    @property
    def transit(self) -> float:
        """Transit time T = 2L/c, s, to the free end and back."""
        return 2.0 * self.length / self.wave_speed

    @property
    def mass(self) -> float:
        """ρL, kg per m² of section."""
        return self.density * self.length


@dataclass(frozen=True)
class RodPair:
    """A rod on the left, a rod or a rigid wall at rest (None) on the right, `gap` (m) apart at t = 0."""

    left: Rod
    right: Rod | None
    gap: float = 0.0

    def __post_init__(self) -> None:
        require_non_negative(gap=self.gap)
        require(self.closing < 0, "velocity", self.left.velocity, "the left rod must move towards the right one")

    @property
    def closing(self) -> float:
        """Gap rate before contact, V_right − V_left < 0, m/s."""
        return (self.right.velocity if self.right else 0.0) - self.left.velocity

    @property
    def admittances(self) -> tuple[float, float]:
        """1/z of both sides, m/(Pa·s); zero for a wall."""
        return 1.0 / self.left.impedance, (1.0 / self.right.impedance if self.right else 0.0)

    @property
    def transits(self) -> tuple[float, float]:
        """Transit times of both sides, s; infinite for a wall."""
        return self.left.transit, (self.right.transit if self.right else math.inf)

    @property
    def impact_pressure(self) -> float:
        """Pressure of the first impact under unilateral contact, −ġ₀/(1/z1 + 1/z2), Pa."""
        return -self.closing / sum(self.admittances)

    def rod(self, side: Side) -> tuple[Rod, float]:
        """Rod of a side, and sign of the force of the pressure on it."""
        rod = self.left if side == "left" else self.right
        if rod is None:
            raise UserError.parameter("side", side, "the right side is a rigid wall")
        return rod, (-1.0 if side == "left" else 1.0)


@dataclass(frozen=True)
class ContactHistory:
    """Contact of two rods for 0 ≤ t ≤ duration: base of the exact and of the integrated histories.

    Sub-classes give pressure(t) (right-continuous, Pa), impulse(t) (cumulative, Pa·s), gap(t) (m) and
    breakpoints (s), between which the pressure is a polynomial.
    """

    pair: RodPair
    duration: float

    def __post_init__(self) -> None:
        require_positive(duration=self.duration)

    @property
    def breakpoints(self) -> Array:
        """Times between which the pressure is one polynomial, from 0 to duration, s."""
        raise NotImplementedError

    def pressure(self, t: ArrayLike) -> Array:
        """Contact pressure, Pa."""
        raise NotImplementedError

    def impulse(self, t: ArrayLike) -> Array:
        """∫₀ᵗ p dt, Pa·s."""
        raise NotImplementedError

    def gap(self, t: ArrayLike) -> Array:
        """Distance of the contact ends, m."""
        raise NotImplementedError

    def mean_pressure(self, edges: ArrayLike) -> Array:
        """Mean pressure over each interval of `edges` (k + 1,) → (k,), Pa, from the cumulative impulse."""
        e = np.asarray(edges, dtype=float)
        return np.diff(self.impulse(e)) / np.diff(e)

    def wave(self, side: Side, t: ArrayLike) -> Array:
        """Outgoing wave F(t) = Σ_{k≥0} p(t − kT), Pa."""
        period = self.pair.rod(side)[0].transit
        times = np.asarray(t, dtype=float)
        total = np.zeros(times.shape)
        for k in range(int(self.duration / period) + 2):
            total += self.pressure(times - k * period)
        return total

    def velocity(self, side: Side, s: ArrayLike, t: ArrayLike) -> Array:
        """Velocity at distance s (m) of the contact end, m/s; s = 0: contact end, s = length: free end."""
        rod, sign = self.pair.rod(side)
        lag = np.asarray(s, dtype=float) / rod.wave_speed
        times = np.asarray(t, dtype=float)
        waves = self.wave(side, times - lag) + self.wave(side, times + lag - rod.transit)
        return rod.velocity + sign * waves / rod.impedance

    def compression(self, side: Side, s: ArrayLike, t: ArrayLike) -> Array:
        """Compressive stress at distance s (m) of the contact end, Pa."""
        rod, _ = self.pair.rod(side)
        lag = np.asarray(s, dtype=float) / rod.wave_speed
        times = np.asarray(t, dtype=float)
        return self.wave(side, times - lag) - self.wave(side, times + lag - rod.transit)

    def end_velocity(self, side: Side, t: ArrayLike) -> Array:
        """Velocity of the contact end, m/s (zero for a wall)."""
        if side == "right" and self.pair.right is None:
            return np.zeros(np.shape(t))
        rod, sign = self.pair.rod(side)
        return rod.velocity + sign * (2.0 * self.wave(side, t) - self.pressure(t)) / rod.impedance

    def mean_velocity(self, side: Side, t: ArrayLike) -> Array:
        """Velocity of the centre of mass, V ∓ I(t)/(ρL), m/s."""
        rod, sign = self.pair.rod(side)
        return rod.velocity + sign * self.impulse(t) / rod.mass

    def rigid_energy(self, side: Side, t: ArrayLike) -> Array:
        """Kinetic energy of the mean motion, J/m²."""
        return 0.5 * self.pair.rod(side)[0].mass * self.mean_velocity(side, t) ** 2

    def energy(self, side: Side, t: float) -> float:
        """Kinetic and strain energy of a rod at time t, J/m², from the waves of the last transit."""
        rod, sign = self.pair.rod(side)
        start, period = t - rod.transit, rod.transit
        shifts = np.arange(int(self.duration / period) + 2) * period
        # the wave is one polynomial between the breakpoints and their delayed images
        edges = (self.breakpoints[:, None] + shifts).ravel()
        edges = np.unique(np.concatenate(([start, t], edges[(edges > start) & (edges < t)])))
        width = np.diff(edges)[:, None]
        points, weights = np.polynomial.legendre.leggauss(3)
        tau = edges[:-1, None] + width * (0.5 + 0.5 * points)
        w = self.wave(side, tau) / rod.impedance
        integral = np.sum(0.5 * width * weights * (w * w + sign * rod.velocity * w))
        return float(0.5 * rod.mass * rod.velocity**2 + rod.impedance * integral)

    def energy_total(self, t: float) -> float:
        """Energy of the rods at time t, J/m², without that of the interface."""
        sides: tuple[Side, ...] = ("left", "right") if self.pair.right else ("left",)
        return sum(self.energy(side, t) for side in sides)


def clipped(t: ArrayLike, duration: float) -> Array:
    """Times as an array; a usage error beyond the duration (round-off apart)."""
    times = np.asarray(t, dtype=float)
    latest = float(times.max(initial=0.0))
    require(latest <= duration * (1 + 1e-9), "time", latest, f"the history ends at {duration:g} s")
    return np.minimum(times, duration)


def runs(active: NDArray[np.bool_], breakpoints: Array) -> Array:
    """Intervals (k, 2) of consecutive active segments, s."""
    padded = np.concatenate(([False], active, [False])).astype(np.int8)
    change = np.diff(padded)
    return np.stack([breakpoints[change == 1], breakpoints[change == -1]], axis=-1)
