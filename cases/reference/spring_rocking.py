"""Landings of a rigid block released on three shock elements (`arlequin.cases.reference.shock`).

Before it is let go, a horizontal force at the middle of its top tilts it about its left corner and the middle of its
base is held across (V5.03.105, §1.4): the corner carries the weight, and no element any tangential force.

A landing is the instant at which a second point of the base touches after the top of a flight; the next flight turns
about the other corner.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from arlequin.cases.reference.rocking import RockingBlock
from arlequin.cases.reference.shock import OPEN, ShockElement, ShockMotion, SpringBlock, integrate
from arlequin.models import checks


@dataclass(frozen=True)
class CornerLanding:
    """A landing: time (s), kinetic energy (J)."""

    time: float
    kinetic_energy: float


@dataclass(frozen=True)
class SpringRocking:
    """A motion from t = 0 to `end` (s), and its landings."""

    motion: ShockMotion
    end: float
    impacts: tuple[CornerLanding, ...]

    def angle(self, t: ArrayLike) -> NDArray[np.float64]:
        """θ, rad."""
        return np.asarray(self.motion.state(t)[0][2])


def rock_on_springs(block: RockingBlock, shock: ShockElement, tilt: float, impacts: int, end: float) -> SpringRocking:
    """Let go at t = 0; the first `impacts` landings before `end`."""
    motion = held_block(block, shock, tilt, end)
    return SpringRocking(motion, end, tuple(touches(motion, impacts)))


def held_block(
    block: RockingBlock, shock: ShockElement, tilt: float, end: float, tolerance: float = 1e-11
) -> ShockMotion:
    """At rest at θ = tilt > 0 on its left corner, which carries the weight."""
    block.check_tilt(checks.positive("tilt", tilt))
    body, weight = SpringBlock(block), block.mass * block.gravity
    arms, _ = body.points(np.array([0.0, 0.0, tilt]), np.zeros(3))
    q = np.array([-arms[0, 0], -arms[1, 0] - weight / shock.normal, tilt])
    force = np.array([[0.0, 0.0, 0.0], [weight, 0.0, 0.0]])
    return integrate(body, shock, q, np.zeros(3), force, end, tolerance)


def touches(motion: ShockMotion, count: int, samples: int = 20_000) -> list[CornerLanding]:
    """The first `count` landings; tops of flights are bracketed between `samples` instants."""
    times = np.linspace(0.0, motion.pieces[-1][0].t_max, samples)
    rate = motion.state(times)[1][2]
    found: list[CornerLanding] = []
    top, sense = 0.0, 1
    while len(found) < count:
        pivot = 0 if sense > 0 else 2
        hits = [e.time for e in motion.events if e.time > top and e.point != pivot and e.state != OPEN]
        if not hits:
            break
        found.append(CornerLanding(hits[0], float(motion.kinetic(hits[0])[0])))
        sense = -sense
        # θ̇ of the new flight goes from outwards to inwards
        later = np.flatnonzero((times[:-1] > hits[0]) & (sense * rate[:-1] > 0.0) & (sense * rate[1:] <= 0.0))
        if not later.size:
            break
        low, high = times[later[0]], times[later[0] + 1]
        top = float(brentq(lambda t: float(motion.state(t)[1][2, 0]), low, high))
    return found
