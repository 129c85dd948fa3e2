"""Impact of an elastic rod on a rigid wall through a layer with any decreasing pressure-gap law p(g).

At the contact end d'Alembert's waves give, with z = ρc and the wave transit time T = 2L/c,

    ġ(t) = −V + [p(t) + 2 Σ_{k ≥ 1} p(t − kT)]/z,    p(t) = p(g(t)),

a delay equation, solved as ordinary differential equations on the intervals [kT, (k + 1)T] by an explicit Runge–Kutta
method of order 8 with dense output. The rod's momentum m V − A ∫ p dt gives the
velocity of its centre; restitution is its final value over V.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from arlequin.models.types import Array


@dataclass(frozen=True)
class LayeredRod:
    """length L (m), young E (Pa), density ρ (kg/m³), velocity V (m/s) towards the wall, gap at t = 0 (m), law p(g)
    (Pa); duration: end of the integration, s."""

    length: float
    young: float
    density: float
    velocity: float
    gap: float
    law: Callable[[Array], Array] = field(repr=False)
    duration: float
    tolerance: float = 1e-10

    @property
    def wave_speed(self) -> float:
        return float(np.sqrt(self.young / self.density))

    @property
    def impedance(self) -> float:
        """z = ρc, Pa s/m."""
        return self.density * self.wave_speed

    @property
    def transit(self) -> float:
        """T = 2L/c, s."""
        return 2.0 * self.length / self.wave_speed

    @cached_property
    def _pieces(self) -> list[Any]:
        """Dense solutions (g, ∫ p dt), one for each interval of T."""
        pieces: list[Any] = []
        start, end = np.array([self.gap, 0.0]), 0.0
        while end < self.duration:
            interval_start, end = end, min(end + self.transit, self.duration)
            solution = solve_ivp(
                lambda t, y, past=tuple(pieces): self._rate(t, y, past),
                (interval_start, end),
                start,
                "DOP853",
                dense_output=True,
                rtol=self.tolerance,
                atol=self.tolerance
                * np.array([abs(self.gap) + 1e-6 * self.length, self.impedance * self.velocity * end]),
                max_step=self.transit / 200.0,
            )
            pieces.append(solution.sol)
            start = solution.y[:, -1]
        return pieces

    def _rate(self, t: float, y: Array, past: tuple[Any, ...]) -> Array:
        pressure = float(self.law(y[:1])[0])
        echoes = sum(float(self.law(piece(t - (len(past) - k) * self.transit)[:1])[0]) for k, piece in enumerate(past))
        return np.array([-self.velocity + (pressure + 2.0 * echoes) / self.impedance, pressure])

    def _at(self, t: ArrayLike) -> Array:
        """g and ∫ p dt (2, …), of the shape of t."""
        instants = np.asarray(t, dtype=float)
        times = np.clip(instants.ravel(), 0.0, self.duration)
        k = np.minimum((times / self.transit).astype(int), len(self._pieces) - 1)
        values = np.empty((2, times.size))
        for piece in np.unique(k):
            values[:, k == piece] = self._pieces[piece](times[k == piece])
        return values.reshape(2, *instants.shape)

    def gap_at(self, t: ArrayLike) -> Array:
        """Gap of the contact end (t,), m."""
        return self._at(t)[0]

    def pressure(self, t: ArrayLike) -> Array:
        """p (t,), Pa."""
        return np.asarray(self.law(self.gap_at(t)))

    @property
    def breakpoints(self) -> Array:
        """Arrival times of reflected waves, s."""
        return np.arange(0.0, self.duration, self.transit)

    def impulse(self, t: ArrayLike) -> Array:
        """∫ p dt (t,), Pa s."""
        return self._at(t)[1]

    def restitution(self) -> float:
        """Velocity of the centre at the end over V; contact must have ended."""
        return float(self.impulse(self.duration) / (self.density * self.length * self.velocity) - 1.0)
