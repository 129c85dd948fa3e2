"""Closed-form solutions with Coulomb friction: free rigid block, block on a spring, elastic shear column.

Threshold f = μN (N) or μp (Pa), equal for static and dynamic friction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import lfilter

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.types import Array

_HALF = 2000  # grid intervals in half a transit of a column on springs


@dataclass(frozen=True)
class PushedBlock:
    """A rigid block of initial speed v₀ ≥ 0 along the constant force P ≥ 0, threshold f: a = (P − f)/m, m/s².

    With P ≤ f it stops at t = −v₀/a after v₀²/(2|a|); with P > f it accelerates. In a plane the direction of v₀ (along
    P) is constant, as Coulomb's disk, unlike a box, is isotropic.
    """

    mass: float
    threshold: float
    speed: float = 0.0
    push: float = 0.0

    def __post_init__(self) -> None:
        checks.positive("mass", self.mass)
        for name in ("threshold", "speed", "push"):
            checks.non_negative(name, getattr(self, name))

    @property
    def acceleration(self) -> float:
        """Acceleration during sliding, m/s²."""
        return (self.push - self.threshold) / self.mass

    @property
    def stop(self) -> float:
        """Stopping time, s; inf if it does not stop."""
        if self.speed == 0.0:
            return 0.0 if self.push <= self.threshold else math.inf
        return self.speed / -self.acceleration if self.acceleration < 0 else math.inf

    def velocity(self, t: ArrayLike) -> Array:
        """Velocity, m/s."""
        return np.where(np.asarray(t) < self.stop, self.speed + self.acceleration * np.minimum(t, self.stop), 0.0)

    def position(self, t: ArrayLike) -> Array:
        """Distance travelled, m."""
        moving = np.minimum(np.asarray(t, dtype=float), self.stop)
        return self.speed * moving + 0.5 * self.acceleration * moving**2

    def dissipated(self, t: ArrayLike) -> Array:
        """f x, J."""
        return self.threshold * self.position(t)


@dataclass(frozen=True)
class DraggedBlock:
    """A rigid block at rest, dragged through a spring k whose end moves at V: m ẍ = k(Vt − x) − f while it slides.

    It sticks until the spring carries f, at t₁ = f/(kV). Then y = Vt − x − f/k obeys ÿ = −ω²y, y = 0, ẏ = V:

        x = V(t − t₁) − (V/ω) sin ω(t − t₁),   ẋ = V(1 − cos ω(t − t₁)),   spring force f + k(V/ω) sin ω(t − t₁).

    Once per period 2π/ω the block comes to rest under exactly f and starts again, the limit of stick-slip: numerical
    dissipation or gain shows as a stick phase or as ẋ > 0 throughout.
    """

    mass: float
    stiffness: float
    threshold: float
    speed: float

    def __post_init__(self) -> None:
        for name in ("mass", "stiffness", "speed"):
            checks.positive(name, getattr(self, name))
        checks.non_negative("threshold", self.threshold)

    @property
    def start(self) -> float:
        """t₁ = f/(kV), s, end of the initial stick."""
        return self.threshold / (self.stiffness * self.speed)

    @property
    def frequency(self) -> float:
        """ω = √(k/m), rad/s."""
        return math.sqrt(self.stiffness / self.mass)

    def _since(self, t: ArrayLike) -> Array:
        return np.maximum(np.asarray(t, dtype=float) - self.start, 0.0)

    def position(self, t: ArrayLike) -> Array:
        """x, m."""
        s = self._since(t)
        return self.speed * (s - np.sin(self.frequency * s) / self.frequency)

    def velocity(self, t: ArrayLike) -> Array:
        """ẋ, m/s; from 0 to 2V."""
        return self.speed * (1.0 - np.cos(self.frequency * self._since(t)))

    def spring_force(self, t: ArrayLike) -> Array:
        """k(Vt − x), N."""
        return self.stiffness * (self.speed * np.asarray(t, dtype=float) - self.position(t))

    def dissipated(self, t: ArrayLike) -> Array:
        """f x, J."""
        return self.threshold * self.position(t)


@dataclass(frozen=True)
class ShearColumn:
    """Elastic shear column on a base with Coulomb friction, driven at its top: exact waves with stick and slip.

    Height H (m), shear modulus G (Pa), density ρ; at rest at t = 0, then the top moves at drive(t) (m/s, of arrays of
    t ≥ 0). With c = √(G/ρ), z = ρc, T = 2H/c, the wave D downwards and the wave U upwards,

        v = D(t − (H − y)/c) + U(t − y/c),      τ = z (D − U),
        top: D(t) = V(t) − U(t − H/c),          base: B(t) = D(t − H/c) arrives, v = B + U, τ = z (2B − v).

    Coulomb at the base, |τ| ≤ f: stick (v = 0) where |2zB| ≤ f, else τ = f sign B, v = 2B − (f/z) sign B. So

        v_base = 2B − τ/z,   τ = clip(2zB, −f, f),   B(t) = V(t − H/c) + B(t − T) − v_base(t − T),

    a map of delay T, exact at any t. Under a constant drive the traction increases by 2zV each T up to f, after which
    the base alternates between two speeds of mean V; a reversing drive leads to stick-slip. A block deforms in this way
    if u_y is prescribed at its sides.
    """

    height: float
    shear: float
    density: float
    threshold: float
    drive: Callable[[Array], ArrayLike]

    def __post_init__(self) -> None:
        for name in ("height", "shear", "density"):
            checks.positive(name, getattr(self, name))
        checks.non_negative("threshold", self.threshold)

    @property
    def impedance(self) -> float:
        """z = √(Gρ), Pa·s/m."""
        return math.sqrt(self.shear * self.density)

    @property
    def transit(self) -> float:
        """T = 2H/c, s."""
        return 2 * self.height * math.sqrt(self.density / self.shear)

    def base(self, t: ArrayLike) -> tuple[Array, Array]:
        """Velocity (m/s) of the base and traction (Pa) that the column puts on the support, at t (k,) s."""
        times = np.asarray(t, dtype=float)
        latest = float(times.max(initial=0.0))
        if not math.isfinite(latest):
            raise UserError.parameter("t", t, "must be finite")
        velocity, traction, arriving = (np.zeros(times.shape) for _ in range(3))
        # earliest images first: each transit adds one wave
        for k in range(int(latest / self.transit) + 1, -1, -1):
            emission_times = times - k * self.transit - 0.5 * self.transit
            drive = np.where(
                emission_times >= 0, np.asarray(self.drive(np.maximum(emission_times, 0.0)), dtype=float), 0.0
            )
            arriving = drive + arriving - velocity
            traction = np.clip(2 * self.impedance * arriving, -self.threshold, self.threshold)
            velocity = (2 * self.impedance * arriving - traction) / self.impedance  # exactly 0 in stick
        return velocity, traction

    def slip(self, edges: ArrayLike) -> Array:
        """Displacement of the base at the increasing times `edges` (k,) from its value at the first, m."""
        return self._integral(edges, lambda velocity, traction: velocity)

    def dissipated(self, edges: ArrayLike) -> Array:
        """∫ τ v dt up to each of `edges` (k,) from the first, J/m²; never decreases."""
        return self._integral(edges, lambda velocity, traction: velocity * traction)

    def _integral(self, edges: ArrayLike, rate: Callable[[Array, Array], Array]) -> Array:
        """Integral by three Gauss points between edges: exact if jumps are at edges and the rate is quintic between."""
        e = np.asarray(edges, dtype=float)
        points, weights = np.polynomial.legendre.leggauss(3)
        half = 0.5 * np.diff(e)
        values = rate(*self.base(0.5 * (e[1:] + e[:-1])[:, None] + half[:, None] * points))
        return np.concatenate([[0.0], np.cumsum(half * (values @ weights))])


@dataclass(frozen=True)
class HeldColumn(ShearColumn):
    """Column with springs κ (Pa/m) at its top whose other end moves at drive(t): q = κ (∫V dt − u_top).

    At the top τ = z (D − U) = q, so that D = U + q/z and

        q̇ = κ (V − 2U(t − H/c) − q/z),

    driven by the upgoing waves. On a grid of T/4000 the other terms are interpolated linearly, and the step of q is
    exact for them: the error is of order 2, and of order 1 near the starts and ends of slip; its mean is within 1e-6 of
    the largest velocity.
    """

    stiffness: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("stiffness", self.stiffness)

    def base(self, t: ArrayLike) -> tuple[Array, Array]:
        """Velocity (m/s) of the base and traction (Pa) that the column puts on the support, at t (k,) s."""
        times = np.asarray(t, dtype=float)
        velocity, traction = self._grid(float(times.max(initial=0.0)))
        grid = 0.5 * self.transit / _HALF * np.arange(velocity.size)
        return np.interp(times, grid, velocity), np.interp(times, grid, traction)

    def _grid(self, latest: float) -> tuple[Array, Array]:
        """Velocity and traction of the base on the grid, transit by transit."""
        if not math.isfinite(latest):
            raise UserError.parameter("t", latest, "must be finite")
        step, z = 0.5 * self.transit / _HALF, self.impedance
        rate = self.stiffness / z
        decay = math.exp(-rate * step)
        # ∫ exp(−rate (Δ − s)) ds over a step with the hat functions of its ends
        end_weight = (1.0 - (1.0 - decay) / (rate * step)) / rate
        start_weight = (1.0 - decay) / rate - end_weight
        blocks = int(2 * latest / self.transit) + 2
        velocity, traction, upgoing = (np.zeros(blocks * _HALF + 1) for _ in range(3))
        force = 0.0
        for k in range(blocks - 1):
            top = slice(k * _HALF, (k + 1) * _HALF + 1)
            base = slice((k + 1) * _HALF, (k + 2) * _HALF + 1)
            upgoing_at_top = upgoing[(k - 1) * _HALF : k * _HALF + 1] if k else np.zeros(_HALF + 1)
            instants: Array = step * np.arange(top.start, top.stop, dtype=float)
            drive_term = self.stiffness * (np.asarray(self.drive(instants), dtype=float) - 2 * upgoing_at_top)
            spring_traction, _ = lfilter(
                [1.0], [1.0, -decay], start_weight * drive_term[:-1] + end_weight * drive_term[1:], zi=[decay * force]
            )
            downgoing = upgoing_at_top + np.concatenate([[force], spring_traction]) / z
            force = float(spring_traction[-1])
            traction[base] = np.clip(2 * z * downgoing, -self.threshold, self.threshold)
            velocity[base] = (2 * z * downgoing - traction[base]) / z  # exactly 0 in stick
            upgoing[base] = velocity[base] - downgoing
        return velocity, traction
