"""Event-driven integration of bodies on shock elements: limit of penalised models for small time steps.

A point at (x, y) over the plane y = 0 is in contact with the element (K_N, C_N, K_T, μ) while y < 0 and
K_N y + C_N ẏ < 0:

    F = −K_N y − C_N ẏ,      T = −K_T (x − a),   |T| ≤ μF,

(T, F) the force on the point. It sticks to its anchor a, which is x where contact starts; at |T| = μF it slips in the
sense s = −sign T, T = −sμF and a = x − sμF/K_T, as long as the anchor moves in this sense,

    sȧ = sẋ − μḞ/K_T ≥ 0,      Ḟ = −K_N ẏ − C_N ÿ,

where K_T sȧ is the rate of |T| − μF at the onset of slip, so that stick and slip do not chatter. Between events the
motion is smooth and integrated by DOP853. Initial forces are those of the release, so that the springs do not ring.

Source: the element is DIS_CHOC of V5.01.100 and V5.03.105 (model B), where F < 0 is cut as here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import OdeSolution, solve_ivp

from arlequin.cases.reference.rocking import RockingBlock
from arlequin.models import checks
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array

OPEN, STICK = 0, 2  # state of a point; slip: its sense, ±1
SLACK = 1e-6  # m/s²: tension over mass at which an element opens, so that round-off cannot close it again


@dataclass(frozen=True)
class ShockElement:
    """Shock element: K_N, K_T (N/m), C_N (N·s/m), μ."""

    normal: float
    tangential: float
    damping: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        for name in ("normal", "tangential"):
            checks.positive(name, getattr(self, name))
        for name in ("damping", "friction"):
            checks.non_negative(name, getattr(self, name))


class Body(Protocol):
    """Body with n coordinates q and p contact points."""

    @property
    def lightest(self) -> float:
        """Lower bound of the effective mass at the points, kg."""

    def points(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Positions and velocities of the points, (2, p) each."""

    def accelerations(self, q: Array, v: Array, force: Array) -> tuple[Array, Array]:
        """q̈ (n,) under the forces (2, p) on the points, and ÿ of the points (p,)."""

    def energy(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Kinetic and potential energy, J, without that of the elements; q, v (n,) or (n, k)."""


@dataclass(frozen=True)
class SlidingMass:
    """A mass on a spring along x, weight along y, one point: q = (x, y)."""

    stiffness: float = 1e4
    mass: float = 1.0
    gravity: float = 10.0

    @property
    def lightest(self) -> float:
        return self.mass

    def points(self, q: Array, v: Array) -> tuple[Array, Array]:
        return q[:, None], v[:, None]

    def accelerations(self, q: Array, v: Array, force: Array) -> tuple[Array, Array]:
        a = (force[:, 0] - np.array([self.stiffness * q[0], self.mass * self.gravity])) / self.mass
        return a, a[1:]

    def energy(self, q: Array, v: Array) -> tuple[Array, Array]:
        stored = 0.5 * self.stiffness * q[0] ** 2 + self.mass * self.gravity * q[1]
        return 0.5 * self.mass * np.sum(v**2, axis=0), stored


@dataclass(frozen=True)
class SpringBlock:
    """A rigid block on three elements: its lower corners and the middle of its base; q = (x_G, y_G, θ)."""

    block: RockingBlock

    @property
    def lightest(self) -> float:
        return 0.25 * self.block.mass  # 1/M + arm²/J_G ≤ 1/M + R²/(MR²/3)

    def points(self, q: Array, v: Array) -> tuple[Array, Array]:
        arm = self._arms(q[2])
        return q[:2, None] + arm, v[:2, None] + v[2] * np.array([-arm[1], arm[0]])

    def accelerations(self, q: Array, v: Array, force: Array) -> tuple[Array, Array]:
        arm, mass = self._arms(q[2]), self.block.mass
        angular_acceleration = np.sum(arm[0] * force[1] - arm[1] * force[0]) / (0.25 * self.block.inertia)
        a = np.array([force[0].sum() / mass, force[1].sum() / mass - self.block.gravity, angular_acceleration])
        return a, a[1] + angular_acceleration * arm[0] - v[2] ** 2 * arm[1]

    def energy(self, q: Array, v: Array) -> tuple[Array, Array]:
        block = self.block
        kinetic = 0.5 * block.mass * (v[0] ** 2 + v[1] ** 2) + 0.125 * block.inertia * v[2] ** 2
        return kinetic, block.mass * block.gravity * q[1]

    def _arms(self, theta: float) -> Array:
        """Vectors from G to the points, (2, 3)."""
        x, y = self.block.half_width * np.array([-1.0, 0.0, 1.0]), -self.block.half_height
        return np.array([x * np.cos(theta) - y * np.sin(theta), x * np.sin(theta) + y * np.cos(theta)])


@dataclass(frozen=True)
class ContactEvent:
    """Change of a `point` at `time` (s) to the state open (0), stick (2) or slip of a sense (±1)."""

    time: float
    point: int
    state: int


@dataclass(frozen=True)
class ShockMotion:
    """Motion by smooth pieces, and its events."""

    body: Body
    shock: ShockElement
    starts: Array
    pieces: tuple[tuple[OdeSolution, Array, Array], ...]  # with states and anchors of the points
    events: tuple[ContactEvent, ...]

    def _piece(self, t: float) -> int:
        return max(int(np.searchsorted(self.starts, t, side="right")) - 1, 0)

    def state(self, t: ArrayLike) -> tuple[Array, Array]:
        """q and q̇ at t (k,): (n, k) each."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        values = np.stack([self.pieces[self._piece(s)][0](s) for s in times], axis=1)
        half = len(values) // 2
        return values[:half], values[half:]

    def forces(self, t: ArrayLike) -> Array:
        """(T, F) on the points at t (k,), N: (2, p, k)."""
        rows = []
        for s in np.atleast_1d(np.asarray(t, dtype=float)):
            solution, states, anchors = self.pieces[self._piece(s)]
            q, v = np.split(solution(s), 2)
            rows.append(_forces(self.shock, *self.body.points(q, v), states, anchors))
        return np.stack(rows, axis=-1)

    def kinetic(self, t: ArrayLike) -> Array:
        """Kinetic energy, J."""
        return self.body.energy(*self.state(t))[0]


def _forces(shock: ShockElement, x: Array, v: Array, states: Array, anchors: Array) -> Array:
    """(T, F) on the points, (2, p)."""
    normal = np.where(states == OPEN, 0.0, -shock.normal * x[1] - shock.damping * v[1])
    stick_force = -shock.tangential * (x[0] - anchors) if shock.friction > 0 else 0.0 * anchors
    return np.array([np.where(states == STICK, stick_force, -states * shock.friction * normal), normal])


def integrate(
    body: Body, shock: ShockElement, q: Array, v: Array, force: Array, end: float, tolerance: float = 1e-11
) -> ShockMotion:
    """Motion from q, v (n,) and element forces `force` (2, p); elements without normal force are initially open."""
    checks.positive("end", end)
    x, _ = body.points(q, v)
    states = np.where(force[1] > 0, STICK, OPEN)
    anchors = np.where(force[1] > 0, x[0] + force[0] / shock.tangential, 0.0)
    y, time, half = np.concatenate([q, v]), 0.0, len(q)
    count, slack = len(states), SLACK * body.lightest
    starts: list[float] = []
    pieces: list[tuple[OdeSolution, Array, Array]] = []
    events: list[ContactEvent] = []

    def anchor_rate(y: Array, force: Array) -> Array:
        """K_T sȧ of slipping points, (p,)."""
        _, v = body.points(y[:half], y[half:])
        _, normal_acceleration = body.accelerations(y[:half], y[half:], force)
        return shock.tangential * states * v[0] + shock.friction * (
            shock.normal * v[1] + shock.damping * normal_acceleration
        )

    def conditions(y: Array) -> Array:
        """Event functions (2p,), which fall to zero at changes of contact of the points, then of friction."""
        x, v = body.points(y[:half], y[half:])
        force = _forces(shock, x, v, states, anchors)
        closing = np.maximum(shock.normal * x[1], shock.normal * x[1] + shock.damping * v[1])
        friction_margin = np.where(states == STICK, shock.friction * force[1] - np.abs(force[0]), anchor_rate(y, force))
        frictional = (states != OPEN) & (shock.friction > 0)
        return np.concatenate(
            [np.where(states == OPEN, closing, force[1] + slack), np.where(frictional, friction_margin, 1.0)]
        )

    def motion(t: float, y: Array) -> Array:
        q, v = y[:half], y[half:]
        return np.concatenate([v, body.accelerations(q, v, _forces(shock, *body.points(q, v), states, anchors))[0]])

    latest: dict[bytes, Array] = {}  # the events of one instant are one evaluation

    def watch(k: int) -> Callable[[float, Array], float]:
        def event(t: float, y: Array) -> float:
            key = y.tobytes()
            if key not in latest:
                latest.clear()
                latest[key] = conditions(y)
            return float(latest[key][k])

        event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
        return event

    event_functions = [watch(k) for k in range(2 * count)]
    scale = tolerance * np.concatenate([np.full(half, 1e-4), np.full(half, 1e-1)])
    while time < end:
        if len(events) > 10_000:
            raise UserError("the shock elements chatter: more than 10,000 changes of state", FAILURE)
        latest.clear()
        # steps must resolve phases of contact and of stick, which may be small beside the tolerance
        touching, sticking = bool(np.any(states != OPEN)), bool(np.any(states == STICK))
        normal, tangential = (math.sqrt(body.lightest / k) for k in (shock.normal, shock.tangential))
        max_step = min(normal if touching else math.inf, 0.25 * tangential if sticking else math.inf)
        run = solve_ivp(
            motion,
            (time, end),
            y,
            method="DOP853",
            events=event_functions,
            rtol=tolerance,
            atol=scale,
            max_step=max_step,
            dense_output=True,
        )
        starts.append(time)
        pieces.append((run.sol, states.copy(), anchors.copy()))
        time, y = float(run.t[-1]), run.y[:, -1]
        if run.status != 1:
            break
        k = next(k for k, times_of_event in enumerate(run.t_events) if len(times_of_event))
        point = k % count
        x, v = body.points(y[:half], y[half:])
        force = _forces(shock, x, v, states, anchors)
        anchors = anchors.copy()
        if k < count:
            new_state = STICK if states[point] == OPEN else OPEN
            anchors[point] = x[0, point]
        elif states[point] == STICK:
            new_state = -int(np.sign(force[0, point]))
        else:
            new_state = STICK
            anchors[point] = x[0, point] + force[0, point] / shock.tangential
        states = states.copy()
        states[point] = new_state
        # accelerations jump at a change of contact: other points may stop slipping
        stopped = (np.abs(states) == 1) & (anchor_rate(y, _forces(shock, x, v, states, anchors)) < 0)
        anchors[stopped] = (x[0] + force[0] / shock.tangential)[stopped]
        states[stopped] = STICK
        events.append(ContactEvent(time, point, new_state))
    return ShockMotion(body, shock, np.array(starts), tuple(pieces), tuple(events))


def released_mass(mass: SlidingMass, shock: ShockElement, release: float, end: float) -> ShockMotion:
    """Motion of SDND100: from rest at x = release, the weight on K_N, no tangential force."""
    weight = mass.mass * mass.gravity
    q = np.array([release, -weight / shock.normal])
    return integrate(mass, shock, q, np.zeros(2), np.array([[0.0], [weight]]), end)


def released_block(block: RockingBlock, shock: ShockElement, tilt: float, end: float) -> ShockMotion:
    """Motion of SDNV105: from rest at θ = tilt > 0, the left corner under the reactions of the rigid block."""
    block.check_tilt(checks.positive("tilt", tilt))
    body = SpringBlock(block)
    h, f = block.reactions(tilt, 0.0, 1)
    arms, _ = body.points(np.array([0.0, 0.0, tilt]), np.zeros(3))
    q = np.array([-arms[0, 0], -arms[1, 0] - float(f) / shock.normal, tilt])
    return integrate(body, shock, q, np.zeros(3), np.array([[float(h), 0, 0], [float(f), 0, 0]]), end)
