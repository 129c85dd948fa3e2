"""Stick-slip limit cycle of a mass on a moving belt, with static and dynamic or Stribeck friction.

A mass m on a spring k and a dashpot c is pressed by N on a belt that moves at V > 0. With the slip rate
v = V − ẋ of the belt over the mass,

    stick   ẋ = V        while k x + c V ≤ μ_s N
    slip    m ẍ + c ẋ + k x = μ(v) N     while v > 0

Stick ends at x_s = (μ_s N − cV)/k for any history: after the first slip the motion is periodic. The mass sticks again
when ẋ returns to V, at x_e, for the time (x_s − x_e)/V. With a constant μ_d (static and dynamic friction), z = x − μ_d
N/k, z₀ its value at x_s, δ = c/2m and ν² = k/m − δ²

    z = e^(−δt) [z₀ cos νt + (V + δz₀)/ν sin νt]

the zeros of z̈ are π/ν apart; between the first two ż grows to V again, or it never does. Without a dashpot,
D = (μ_s − μ_d)N/k and ω² = k/m,

    slip 2/ω (π − atan Dω/V),   stick 2D/V,   amplitude √(D² + V²/ω²).

With Stribeck's curve μ(v) = μ_d + (μ_s − μ_d) e^(−v/v_s) the slip is integrated to 1e-12 (DOP853).

Source: Leine, van Campen, de Kraker & van den Steen, Nonlinear Dynamics 16 (1998) 41–54; Popp & Stelter, Phil. Trans.
R. Soc. Lond. A 332 (1990) 89–105.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.types import Array

_TOLERANCE = 1e-12
_PER_RADIAN = 50  # least steps of the integration
_ROUND_OFF = 1e-6  # shortest slip, rad; slips last at least about half a period
_TURNS = 20.0  # periods within which slip must end


@dataclass(frozen=True)
class BeltOscillator:
    """mass m, kg; stiffness k, N/m; damping c, N s/m; normal N, N; velocity V, m/s; static μ_s > dynamic μ_d;
    stribeck v_s, m/s: of Stribeck's curve (None: μ_d in slip)."""

    mass: float = 1.0
    stiffness: float = 100.0
    damping: float = 0.0
    normal: float = 10.0
    velocity: float = 0.1
    static: float = 0.3
    dynamic: float = 0.2
    stribeck: float | None = None

    def __post_init__(self) -> None:
        for name in ("mass", "stiffness", "normal", "velocity", "static"):
            checks.positive(name, getattr(self, name))
        for name in ("damping", "dynamic"):
            checks.non_negative(name, getattr(self, name))
        if self.stribeck is not None:
            checks.positive("stribeck", self.stribeck)
        if not self.dynamic < self.static:
            raise UserError.parameter("dynamic", self.dynamic, f"must be below the static coefficient, {self.static:g}")
        if self.damping >= 2.0 * math.sqrt(self.mass * self.stiffness):
            raise UserError.parameter("damping", self.damping, "must be below the critical one, 2 √(m k)")

    def friction(self, slip_rate: ArrayLike) -> Array:
        """μ at a slip rate, m/s."""
        rate = np.asarray(slip_rate, dtype=float)
        fall = np.zeros_like(rate) if self.stribeck is None else np.exp(-np.abs(rate) / self.stribeck)
        return np.asarray(self.dynamic + (self.static - self.dynamic) * fall)

    @property
    def slips_from(self) -> float:
        """x_s, m, at the end of stick."""
        return (self.static * self.normal - self.damping * self.velocity) / self.stiffness

    @cached_property
    def _slip(self) -> tuple[float, Callable[[ArrayLike], Array]]:
        """Duration of the slip, s, and its x, ẋ (2, …) over the time from its start."""
        slip = self._in_closed_form() if self.stribeck is None else self._integrated()
        if slip is None:
            raise UserError(
                "stick-slip: the mass does not stick again: less damping, a slower belt or a larger fall of the "
                "friction lets it"
            )
        return slip

    def _in_closed_form(self) -> tuple[float, Callable[[ArrayLike], Array]] | None:
        speed, delta = self.velocity, 0.5 * self.damping / self.mass
        equilibrium = self.dynamic * self.normal / self.stiffness
        nu = math.sqrt(self.stiffness / self.mass - delta**2)
        start = self.slips_from - equilibrium
        sine = (speed + delta * start) / nu

        def motion(t: ArrayLike) -> Array:
            t = np.asarray(t, dtype=float)
            decay, cos, sin = np.exp(-delta * t), np.cos(nu * t), np.sin(nu * t)
            z = decay * (start * cos + sine * sin)
            rate = decay * ((nu * sine - delta * start) * cos - (nu * start + delta * sine) * sin)
            return np.stack([z + equilibrium, rate])

        # ż = e^(−δt) (a cos νt + b sin νt), with zeros of the rate half a period apart: tan νt = (νb − δa)/(νa + δb)
        a, b = nu * sine - delta * start, -(nu * start + delta * sine)
        half_period = math.pi / nu
        zero = (math.atan2(nu * b - delta * a, nu * a + delta * b) / nu) % half_period
        if not motion(zero + half_period)[1] >= speed:
            return None
        end = brentq(lambda t: float(motion(t)[1]) - speed, zero, zero + half_period, xtol=1e-16, rtol=1e-15)
        return float(end), motion

    def _integrated(self) -> tuple[float, Callable[[ArrayLike], Array]] | None:
        # dimensionless: ωt, ωx/V, and v/V instead of ẋ, which is exactly 0 initially
        omega = math.sqrt(self.stiffness / self.mass)
        length, rate = self.velocity / omega, self.velocity
        force, drag = self.stiffness * length, self.damping * omega / self.stiffness

        def rates(_: float, state: Array) -> list[float]:
            x, v = state
            return [1.0 - v, x + drag * (1.0 - v) - self.normal / force * float(self.friction(v * rate))]

        def sticks(_: float, state: Array) -> float:
            return float(state[1])

        sticks.terminal, sticks.direction = True, -1.0  # type: ignore[attr-defined]
        solution = solve_ivp(
            rates, (0.0, 2.0 * math.pi * _TURNS), [self.slips_from / length, 0.0], method="DOP853", rtol=_TOLERANCE,
            atol=_TOLERANCE, max_step=1.0 / _PER_RADIAN, events=sticks, dense_output=True,
        )  # fmt: skip
        if not solution.t_events[0].size:
            return None
        if solution.t_events[0][0] < _ROUND_OFF:
            raise UserError.parameter(
                "stribeck_velocity", self.stribeck,
                f"is lost in round-off beside static = {self.static:g}; larger, or its limit, law=static-dynamic",
            )  # fmt: skip

        def motion(t: ArrayLike) -> Array:
            x, v = solution.sol(omega * np.ravel(t)).reshape(2, *np.shape(t))
            return np.stack([length * x, rate * (1.0 - v)])

        return float(solution.t_events[0][0]) / omega, motion

    @property
    def slip_time(self) -> float:
        """Duration of a slip, s."""
        return self._slip[0]

    @cached_property
    def sticks_from(self) -> float:
        """x_e, m, at the start of stick."""
        x = float(self._slip[1](self.slip_time)[0])
        if abs(self.stiffness * x + self.damping * self.velocity) > self.static * self.normal:
            raise UserError("stick-slip: static friction does not hold the mass where the slip ends")
        return x

    @property
    def period(self) -> float:
        """Period of the limit cycle, s."""
        return self.slip_time + (self.slips_from - self.sticks_from) / self.velocity

    def cycle(self, t: ArrayLike) -> Array:
        """x, ẋ (2, …) of the limit cycle over the time from the start of a slip, s."""
        phase = np.mod(np.asarray(t, dtype=float), self.period)
        x, rate = self._slip[1](np.minimum(phase, self.slip_time))
        sticking = phase > self.slip_time
        x = np.where(sticking, self.sticks_from + self.velocity * (phase - self.slip_time), x)
        return np.stack([x, np.where(sticking, self.velocity, rate)])

    @cached_property
    def range(self) -> tuple[float, float]:
        """Smallest and largest x of the limit cycle, m."""
        fine = np.linspace(0.0, self.slip_time, 2001)
        rate = self._slip[1](fine)[1]
        sign_changes = np.flatnonzero(rate[1:] * rate[:-1] < 0.0)
        extremum_times = [
            brentq(lambda t: float(self._slip[1](t)[1]), fine[i], fine[i + 1], xtol=1e-16) for i in sign_changes
        ]
        values = [self.slips_from, self.sticks_from, *(float(self._slip[1](t)[0]) for t in extremum_times)]
        return min(values), max(values)

    @property
    def amplitude(self) -> float:
        """Half the range of x, m."""
        low, high = self.range
        return 0.5 * (high - low)
