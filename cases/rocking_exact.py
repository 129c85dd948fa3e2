"""What the motion of the rocking block of SDNV105 is compared with."""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cases.reference.rocking import RockingBlock
from cases.reference.rocking_motion import Rocking, Shaking, rock
from cases.reference.shock import Shock
from cases.reference.spring_rocking import SpringRocking, rock_on_springs
from cases.rocking_models import located
from models.types import Array

if TYPE_CHECKING:
    from cases.sdnv105 import Parameters

LOCATED = 1e-5  # of times and energies, with located impacts


def rocks(parameters: "Parameters") -> bool:
    """Whether the block rocks without sliding, as far as its impacts tell: the exact motion exists."""
    b, l = parameters.half_width, parameters.half_height  # noqa: E741
    return l > b / np.sqrt(2) and parameters.friction >= 3 * b * l / (4 * l**2 + b**2)


@lru_cache(maxsize=8)
def reference(parameters: "Parameters") -> Rocking:
    """The rigid block, event by event."""
    p = parameters
    block = RockingBlock(p.half_width, p.half_height, p.density, p.friction, p.gravity)
    shaking = Shaking(across=p.support_acceleration, frequency=p.support_frequency)
    return rock(block, p.tilt, p.impacts, shaking)


def duration(parameters: "Parameters") -> float:
    """End of the run, s."""
    return reference(parameters).end if parameters.duration is None else parameters.duration


@lru_cache(maxsize=4)
def spring_reference(parameters: "Parameters") -> SpringRocking:
    """The rigid block on the same springs, over a table at rest."""
    p = parameters
    shock = Shock(p.spring_stiffness, p.spring_tangential, p.spring_damping, p.friction)
    return rock_on_springs(reference(p).block, shock, p.tilt, p.impacts, duration(p))


def small_first(parameters: "Parameters") -> tuple[float, float]:
    """Time (s) and kinetic energy (J) of the first impact in small kinematics: the weight's moment Mgb is constant."""
    p, block = parameters, reference(parameters).block
    energy = block.mass * p.gravity * p.half_width * p.tilt
    return float(np.sqrt(2 * block.inertia * p.tilt**2 / energy)), energy


def tolerances(parameters: "Parameters") -> tuple[Array, Array]:
    """Of times (s) and, relative, of energies: order 1 in Δt (module docstring), or those of located impacts."""
    p, exact = parameters, reference(parameters)
    hits = exact.impacts
    if located(p):
        # what the shaken table does to the centre between the last step and the impact is left out
        turn = np.array([hit.corner_speed for hit in hits]) / (2 * p.half_width)
        shaken = exact.block.mass * abs(p.support_acceleration) * p.half_height * turn * p.step
        return np.full(len(hits), LOCATED * hits[0].time), LOCATED + shaken / [hit.kinetic_energy for hit in hits]
    lifts = np.array([2 * p.half_width * np.sin(p.tilt), *(hit.next_lift for hit in hits[:-1])])
    speeds = np.array([hit.corner_speed for hit in hits])
    energy = 2 * p.step * np.cumsum(speeds / lifts)
    flights = np.diff([hit.time for hit in hits])
    time = p.step + np.concatenate([[0.0], np.cumsum(0.5 * energy[:-1] * flights)])
    return time, energy


def spring_tolerances(parameters: "Parameters") -> tuple[Array, Array]:
    """Of times (s) and, relative, of energies, on springs.

    The step in which an impact begins is known to its half: 4 Δt/t₁ of an energy that grows as t² at most. Through an
    impact a scheme of order 2 turns the phase of ω = √(K/m) by (ωΔt)²/12 of itself, m = M/(1 + 3b²/R²) the mass that a
    corner feels; θ > ½ damps half a turn by π (θ − ½) ωΔt. Both go into speeds after, twice into energies, and into
    the flights in between, from impact to impact.
    """
    p, exact = parameters, spring_reference(parameters)
    if not exact.impacts:
        return np.zeros(0), np.zeros(0)
    block, times = reference(p).block, np.array([hit.time for hit in exact.impacts])
    light = block.mass / (1 + 3 * (block.half_width / block.radius) ** 2)
    turn = np.sqrt(p.spring_stiffness / light) * p.step
    lost = np.pi * (p.theta - 0.5) * turn if p.theta is not None and p.scheme == "theta" else 0.0
    each = turn**2 / 12 + lost
    return p.step + each * (times - times[0]), 4 * p.step / times[0] + 2 * each * np.arange(len(times))
