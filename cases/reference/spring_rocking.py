"""Landings of a rigid block released on three shock elements (`arlequin.cases.reference.shock`).

Before release, a horizontal force at the middle of its top tilts it about its left corner, with lateral support at the
middle of its base (V5.03.105, §1.4): the corner carries the weight, and tangential forces are zero.

A landing is the instant at which a second point of the base comes into contact after the top of a flight; the next
flight rotates about the other corner.
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
    """Motion after release at t = 0, with the first `impacts` landings before `end`."""
    motion = held_block(block, shock, tilt, end)
    return SpringRocking(motion, end, tuple(landings_of(motion, impacts)))


def held_block(
    block: RockingBlock, shock: ShockElement, tilt: float, end: float, tolerance: float = 1e-11
) -> ShockMotion:
    """Motion from rest at θ = tilt > 0 on the left corner, which carries the weight."""
    block.check_tilt(checks.positive("tilt", tilt))
    body, weight = SpringBlock(block), block.mass * block.gravity
    arms, _ = body.points(np.array([0.0, 0.0, tilt]), np.zeros(3))
    q = np.array([-arms[0, 0], -arms[1, 0] - weight / shock.normal, tilt])
    force = np.array([[0.0, 0.0, 0.0], [weight, 0.0, 0.0]])
    return integrate(body, shock, q, np.zeros(3), force, end, tolerance)


def landings_of(motion: ShockMotion, count: int, samples: int = 20_000) -> list[CornerLanding]:
    """First `count` landings; tops of flights are bracketed between `samples` instants."""
    times = np.linspace(0.0, motion.pieces[-1][0].t_max, samples)
    rate = motion.state(times)[1][2]
    landings: list[CornerLanding] = []
    top, sense = 0.0, 1
    while len(landings) < count:
        pivot = 0 if sense > 0 else 2
        contact_times = [e.time for e in motion.events if e.time > top and e.point != pivot and e.state != OPEN]
        if not contact_times:
            break
        landings.append(CornerLanding(contact_times[0], float(motion.kinetic(contact_times[0])[0])))
        sense = -sense
        # θ̇ of the new flight changes from outwards to inwards
        tops = np.flatnonzero((times[:-1] > contact_times[0]) & (sense * rate[:-1] > 0.0) & (sense * rate[1:] <= 0.0))
        if not tops.size:
            break
        low, high = times[tops[0]], times[tops[0] + 1]
        top = float(brentq(lambda t: float(motion.state(t)[1][2, 0]), low, high))
    return landings
