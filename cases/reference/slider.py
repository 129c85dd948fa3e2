"""Mass on a spring released with Coulomb friction, in closed form (SDND100 of Code_Aster).

Released at rest from u = r₀ (m) along a fixed direction, under m ü + k u + f sign(u̇) = 0, f = μmg; an isotropic spring,
or a guide, makes the motion rectilinear. With ω = √(k/m) and d = f/k, the half-width of the zone of possible rest,
|r| ≤ d, each half swing from r_n, σ = sign r₀, is

    u = c_n + (r_n − c_n) cos(ωt − nπ),   c_n = (−1)ⁿ σ d,   nπ ≤ ωt ≤ (n + 1)π:

friction acts towards r_n and shifts the centre of the cosine to that side. Hence, exactly,

    r_n = (−1)ⁿ σ (|r₀| − 2nd)   at   t_n = nπ/ω,   n = 0 … N,   N = ⌈(|r₀|/d − 1)/2⌉ (0 in the zone at the start),

and the mass stays at r_N, the first turning point in the zone. Path and dissipation up to t in half swing n are

    s = 2n(|r₀| − nd) + |u − r_n|,   f s.

Without friction N is infinite. Source: the recurrence is in V5.01.100, after F. Axisa, Cours IPSI, 1991.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.types import Array


@dataclass(frozen=True)
class ReleasedSlider:
    """k (N/m), m (kg), r₀ (m), μ, g (m/s²), direction of r₀ > 0 (any length, any number of components)."""

    stiffness: float = 1e4
    mass: float = 1.0
    release: float = 8.5e-4
    friction: float = 0.1
    gravity: float = 10.0
    direction: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        for name in ("stiffness", "mass"):
            checks.positive(name, getattr(self, name))
        for name in ("friction", "gravity"):
            checks.non_negative(name, getattr(self, name))
        checks.finite("release", self.release)
        if not np.any(checks.finite_array("direction", self.direction, (None,))):
            raise UserError.parameter("direction", self.direction, "must not be zero")

    @property
    def frequency(self) -> float:
        """ω = √(k/m), rad/s."""
        return math.sqrt(self.stiffness / self.mass)

    @property
    def normal_force(self) -> float:
        """mg, N."""
        return self.mass * self.gravity

    @property
    def threshold(self) -> float:
        """f = μmg, N."""
        return self.friction * self.normal_force

    @property
    def zone(self) -> float:
        """d = f/k, m: rest is possible in |u| ≤ d."""
        return self.threshold / self.stiffness

    @property
    def half_swings(self) -> float:
        """N, an integer; inf without friction.

        If |r₀|/d is an odd number the last half swing has zero amplitude: round-off may count it, without effect on u.
        """
        if self.release == 0.0 or abs(self.release) <= self.zone:
            return 0.0
        return float(np.ceil((abs(self.release) / self.zone - 1) / 2)) if self.zone > 0 else math.inf

    @property
    def rest_time(self) -> float:
        """Nπ/ω, s."""
        return self.half_swings * math.pi / self.frequency

    @property
    def rest_position(self) -> float:
        """r_N, m; nan if the mass never rests."""
        return float(self.turning_point(self.half_swings)) if math.isfinite(self.half_swings) else math.nan

    def turning_time(self, n: ArrayLike) -> Array:
        """t_n, s; t_N for n > N."""
        return np.minimum(np.asarray(n, dtype=float), self.half_swings) * math.pi / self.frequency

    def turning_point(self, n: ArrayLike) -> Array:
        """r_n, m; r_N for n > N."""
        count = np.minimum(np.asarray(n, dtype=float), self.half_swings)
        return self._side(count) * (abs(self.release) - 2 * count * self.zone)

    def _side(self, count: Array) -> Array:
        """(−1)ⁿ σ: sign of the friction force in half swing n."""
        return np.where(count % 2 == 0, 1.0, -1.0) * np.sign(self.release)

    def _swing(self, t: ArrayLike) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Half swing n, its phase in [0, π) and whether the mass moves."""
        half_turns = np.asarray(t, dtype=float) * self.frequency / math.pi
        count = np.minimum(np.floor(half_turns), self.half_swings)
        moving = count < self.half_swings
        return count, np.where(moving, (half_turns - count) * math.pi, 0.0), moving

    def position(self, t: ArrayLike) -> Array:
        """u along the direction at t ≥ 0, m."""
        count, phase, _ = self._swing(t)
        start, centre = self.turning_point(count), self._side(count) * self.zone
        # relative to the turning point, not the centre: exactly r_n there, and at rest
        return start - (start - centre) * 2 * np.sin(0.5 * phase) ** 2

    def velocity(self, t: ArrayLike) -> Array:
        """u̇, m/s."""
        count, phase, _ = self._swing(t)
        return -self.frequency * (self.turning_point(count) - self._side(count) * self.zone) * np.sin(phase)

    def friction_force(self, t: ArrayLike) -> Array:
        """Friction force on the mass along the direction, N: ±f in motion, k u at rest."""
        count, _, moving = self._swing(t)
        return np.where(moving, self._side(count) * self.threshold, self.stiffness * self.position(t))

    def path(self, t: ArrayLike) -> Array:
        """s, m."""
        count, _, _ = self._swing(t)
        return 2 * count * (abs(self.release) - count * self.zone) + np.abs(
            self.position(t) - self.turning_point(count)
        )

    def dissipated(self, t: ArrayLike) -> Array:
        """f s, J."""
        return self.threshold * self.path(t)

    def components(self, values: ArrayLike) -> Array:
        """Components (k, i) of a quantity along the direction (k,): position, velocity, force."""
        axis = np.asarray(self.direction, dtype=float)
        return np.asarray(values, dtype=float)[..., None] * (axis / np.linalg.norm(axis))
