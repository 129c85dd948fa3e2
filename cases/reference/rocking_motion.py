"""Motion of a rocking block: flights integrated by DOP853 at 1e-13, impact times refined by Newton steps.

Equations in `arlequin.cases.reference.rocking`. A flight ends where φ = 0; the dense output gives the neighbourhood and
the time is corrected by −φ/φ̇ of a new integration that ends there, so that impacts are free of interpolation errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from arlequin.cases.reference.rocking import RockingBlock
from arlequin.models import checks
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array

LEAST_LEAN = 1e-18


@dataclass(frozen=True)
class Shaking:
    """Support acceleration (ü, v̈) = (across, up) sin 2πft: m/s², Hz."""

    across: float = 0.0
    up: float = 0.0
    frequency: float = 1.0

    def __post_init__(self) -> None:
        for name in ("across", "up"):
            checks.finite(name, getattr(self, name))
        checks.positive("frequency", self.frequency)

    def __call__(self, t: ArrayLike) -> tuple[Array, Array]:
        wave = np.sin(2 * math.pi * self.frequency * np.asarray(t, dtype=float))
        return self.across * wave, self.up * wave

    def first_lift(self, block: RockingBlock, start: float) -> float:
        """First time ≥ start with |ü| l > (g + v̈) b; inf if there is none."""

        def excess(t: ArrayLike) -> Array:
            across, up = self(t)
            return np.abs(across) - (block.gravity + up) * block.slope

        times = start + np.linspace(0.0, 1.0, 2001) / self.frequency
        above = np.flatnonzero(excess(times) > 0)
        if len(above) == 0:
            return math.inf
        if above[0] == 0:
            return start
        low, high = times[above[0] - 1], times[above[0]]
        root = float(brentq(lambda t: float(excess(t)), low, high, xtol=1e-15, rtol=1e-15))
        increment = 1e-15 / self.frequency  # towards the side of the root where the block lifts
        while excess(root) <= 0:
            root, increment = root + increment, 2 * increment
        return root


@dataclass(frozen=True)
class RockingFlight:
    """Rotation from `start` to `end` (s) about O (sense 1) or A (−1), or rest (0); `top`: largest lean (rad)."""

    sense: int
    start: float
    end: float
    top: float
    path: Callable[[ArrayLike], Array]  # t (k,) → (2, k): φ, φ̇


@dataclass(frozen=True)
class CornerImpact:
    """Time (s), speed of the corner before (m/s), kinetic energy before (J), (I_x, I_y) (N·s), next lift (m)."""

    time: float
    corner_speed: float
    kinetic_energy: float
    percussion: tuple[float, float]
    next_lift: float


@dataclass(frozen=True)
class Rocking:
    """Motion of the block: flights, impacts, and state at any time 0 ≤ t ≤ end."""

    block: RockingBlock
    shaking: Shaking
    flights: tuple[RockingFlight, ...]
    impacts: tuple[CornerImpact, ...]

    @property
    def end(self) -> float:
        """End of the motion, s."""
        return self.flights[-1].end

    def state(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Lean φ, φ̇ and sense at t (k,); at an impact, after it."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        if not (np.all(times >= 0) and np.all(times <= self.end)):
            raise UserError.parameter("t", t, f"must lie in [0, {self.end:g}]")
        starts = np.array([flight.start for flight in self.flights])
        flight_index = np.searchsorted(starts, times, side="right") - 1
        values, sense = np.zeros((2, len(times))), np.zeros(len(times))
        for k in np.unique(flight_index):
            at = flight_index == k
            values[:, at], sense[at] = self.flights[k].path(times[at]), self.flights[k].sense
        return values[0], values[1], sense

    def angle(self, t: ArrayLike) -> Array:
        """θ, rad."""
        lean, _, sense = self.state(t)
        return sense * lean

    def angular_velocity(self, t: ArrayLike) -> Array:
        """θ̇, rad/s."""
        _, rate, sense = self.state(t)
        return sense * rate

    def reactions(self, t: ArrayLike) -> tuple[Array, Array]:
        """(H, F) on the block, N, without impacts."""
        lean, rate, sense = self.state(t)
        return self.block.reactions(lean, rate, sense, self.shaking(np.atleast_1d(t)))

    def energy(self, t: ArrayLike) -> Array:
        """Kinetic (relative to the support) and potential energy, J."""
        lean, rate, _ = self.state(t)
        return self.block.kinetic(rate) + self.block.potential(lean)


STILL = Shaking()


def rock(
    block: RockingBlock, tilt: float = 0.01, impacts: int = 5, shaking: Shaking = STILL, end: float = math.inf
) -> Rocking:
    """Motion from rest at θ = tilt and t = 0 until the flight after the last of `impacts`, the `end`, or rest."""
    block.check_tilt(tilt)
    count, time = checks.positive_integer("impacts", impacts), 0.0
    if not end > 0:
        raise UserError.parameter("end", end, "must be positive")
    flights: list[RockingFlight] = []
    landings: list[tuple[float, float, int, int]] = []  # time, rate, sense, number of the next flight
    lean, rate, sense = abs(tilt), 0.0, int(np.sign(tilt))
    while len(landings) <= count and time < end:
        top = lean + 0.5 * rate**2 / (block.pulsation**2 * math.cos(block.base_angle))
        if top < LEAST_LEAN:
            lift_time = shaking.first_lift(block, time)
            flights.append(_standstill(block, shaking, time, min(lift_time, end)))
            if lift_time >= end:
                break
            time, lean, rate, sense = lift_time, 0.0, 0.0, int(np.sign(shaking(lift_time)[0]))
        flight = _fly(block, shaking, (time, lean, rate), sense, end)
        flights.append(flight)
        time, landing_state = flight.end, flight.path(flight.end)
        if time < end:
            landings.append((time, -float(landing_state[1]), sense, len(flights)))
        lean, rate, sense = 0.0, block.velocity_ratio * -float(landing_state[1]), -sense
    corner_impacts = [
        CornerImpact(
            time_of_impact,
            2 * block.half_width * speed,
            float(block.kinetic(speed)),
            block.percussion(speed, landing_sense),
            float(block.lift(flights[k].top)) if k < len(flights) else 0.0,
        )
        for time_of_impact, speed, landing_sense, k in landings[:count]
    ]
    return Rocking(block, shaking, tuple(flights), tuple(corner_impacts))


def _standstill(block: RockingBlock, shaking: Shaking, start: float, end: float) -> RockingFlight:
    """Rest until `end`, or for a period if it does not end."""
    stop = end if math.isfinite(end) else start + 1 / shaking.frequency
    across, up = shaking(np.linspace(start, stop, 2001))
    if np.any(np.abs(across) > block.friction * (block.gravity + up)):
        raise UserError("the block slides on the support at rest: the reference rocks without sliding", FAILURE)
    return RockingFlight(0, start, stop, 0.0, lambda t: np.zeros((2, *np.shape(t))))


def _fly(
    block: RockingBlock, shaking: Shaking, state: tuple[float, float, float], sense: int, end: float
) -> RockingFlight:
    """Flight from (t, φ, φ̇) to its impact, or the end."""
    start, lean, rate = state

    def motion(t: float, y: Array) -> list[float]:
        return [y[1], float(block.acceleration(y[0], sense, shaking(t)))]

    def landing(t: float, y: Array) -> float:
        return float(y[0])

    def top(t: float, y: Array) -> float:
        return float(y[1])

    def friction_margin(t: float, y: Array) -> float:
        h, f = block.reactions(y[0], y[1], sense, shaking(t))
        return float(block.friction * f - abs(h))

    def upright(t: float, y: Array) -> float:
        return float(0.5 * math.pi - block.base_angle - y[0])

    for event, terminal in ((landing, True), (top, False), (friction_margin, True), (upright, True)):
        event.direction, event.terminal = -1, terminal  # type: ignore[attr-defined]

    if friction_margin(start, np.array([lean, rate])) < 0:
        raise _sliding(start)
    size = max(lean, 0.5 * rate**2 / (block.pulsation**2 * math.cos(block.base_angle)), LEAST_LEAN)
    scale = np.array([size, block.pulsation * math.sqrt(2 * size * math.cos(block.base_angle))])
    strength = 1 + math.hypot(shaking.across, shaking.up) / block.gravity
    # shorter than any flight that starts on the base, so that its impact is not missed
    longest = 0.5 * (rate / (block.pulsation**2 * strength)) if lean == 0 and rate > 0 else 0.25 / block.pulsation
    options = {
        "method": "DOP853",
        "rtol": 1e-13,
        "atol": 1e-14 * scale,
        "max_step": min(longest, 0.05 / shaking.frequency),
    }
    horizon = min(end, start + 1e3 / block.pulsation)
    y0 = [lean, rate]
    run = solve_ivp(
        motion, (start, horizon), y0, events=[landing, top, friction_margin, upright], dense_output=True, **options
    )
    if len(run.t_events[2]):
        raise _sliding(float(run.t_events[2][0]))
    if len(run.t_events[3]):
        raise UserError(f"the block topples: it stands upright on a corner at t = {run.t_events[3][0]:.6g} s", FAILURE)
    leans = np.concatenate([[lean], run.y_events[1][:, 0] if len(run.y_events[1]) else []])
    if len(run.t_events[0]) == 0:
        if horizon < end:
            raise UserError(f"the block does not land within {horizon - start:g} s", FAILURE)
        return RockingFlight(sense, start, end, float(max(leans.max(), run.y[0, -1])), run.sol)
    stop = float(run.t_events[0][0])
    for _ in range(2):
        final_flight = solve_ivp(motion, (start, stop), y0, dense_output=True, **options)
        stop -= float(final_flight.y[0, -1] / final_flight.y[1, -1])
    return RockingFlight(sense, start, stop, float(leans.max()), final_flight.sol)


def _sliding(time: float) -> UserError:
    return UserError(f"the block slides at t = {time:.6g} s: the reference rocks without sliding", FAILURE)
