"""References and checks of the rocking block, by model (SDNV105)."""

from functools import lru_cache

import numpy as np
import xarray

from arlequin.cases.case.checks import Check
from arlequin.cases.reference.rocking import RockingBlock
from arlequin.cases.reference.rocking_motion import Rocking, Shaking, rock
from arlequin.cases.reference.shock import ShockElement
from arlequin.cases.reference.spring_rocking import SpringRocking, rock_on_springs
from arlequin.cases.sdnv105.measures import BlockMotion, Landing
from arlequin.cases.sdnv105.models import drawn, is_elastic, located
from arlequin.cases.sdnv105.parameters import Parameters
from arlequin.models.types import Array

LOCATED = 1e-5  # of times and energies, with located impacts


@lru_cache(maxsize=8)
def reference(parameters: Parameters) -> Rocking:
    """The rigid block, event by event."""
    p = parameters
    block = RockingBlock(p.half_width, p.half_height, p.density, p.friction, p.gravity)
    shaking = Shaking(across=p.support_acceleration, frequency=p.support_frequency)
    return rock(block, p.tilt, p.impacts, shaking)


def duration(parameters: Parameters) -> float:
    """End of the run, s."""
    return reference(parameters).end if parameters.duration is None else parameters.duration


@lru_cache(maxsize=4)
def spring_reference(parameters: Parameters) -> SpringRocking:
    """The rigid block on the same springs, over a table at rest."""
    p = parameters
    shock = ShockElement(p.spring_stiffness, p.spring_tangential, p.spring_damping, p.friction)
    return rock_on_springs(reference(p).block, shock, p.tilt, p.impacts, duration(p))


def small_first(parameters: Parameters) -> tuple[float, float]:
    """Time (s) and kinetic energy (J) of the first impact in small kinematics: the weight's moment Mgb is constant."""
    p, block = parameters, reference(parameters).block
    energy = block.mass * p.gravity * p.half_width * p.tilt
    return float(np.sqrt(2 * block.inertia * p.tilt**2 / energy)), energy


def tolerances(parameters: Parameters) -> tuple[Array, Array]:
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


def spring_tolerances(parameters: Parameters) -> tuple[Array, Array]:
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


REACTIONS = 1e-3  # of the exact forces in flight
FIRST_IMPACT = 1e-3  # of its exact time, elastic


def motion(result: xarray.DataTree, parameters: Parameters) -> BlockMotion:
    """What is measured of the block."""
    return BlockMotion.of(result, drawn(parameters), parameters.gravity, parameters.half_height)


def landings(result: xarray.DataTree, parameters: Parameters) -> list[Landing]:
    """The impacts of a run."""
    return motion(result, parameters).landings(parameters.impacts, 2 * parameters.half_width)


def rigid_checks(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Every impact, and the reactions in flight."""
    p, exact = parameters, reference(parameters)
    block = motion(result, p)
    found = block.landings(p.impacts, 2 * p.half_width)
    checks = [Check("impacts", float(len(found)), float(len(exact.impacts)), 0.0, "1", "absolute")]
    for n, (own, hit, late, part) in enumerate(zip(found, exact.impacts, *tolerances(p), strict=False), start=1):
        checks += [
            Check(f"impact {n}, time", own.time, hit.time, float(late), "s", "absolute"),
            Check(f"impact {n}, kinetic energy before", own.kinetic_energy, hit.kinetic_energy, float(part), "J"),
        ]
        for axis, force in enumerate(exact.block.reactions(0.0, 0.0, 1.0)):
            own_push, push = own.percussion[axis], hit.percussion[axis]
            # located, the flight's force in the step is known to what it changes by in a step
            gap = p.step**2 * abs(force) / hit.time if located(p) else p.step * abs(force)
            allowed = float(part * abs(push) + gap)
            checks.append(Check(f"impact {n}, percussion I_{'xy'[axis]}", own_push, push, allowed, "N s", "absolute"))
        if np.isfinite(own.next_lift):
            # the top of a flight, θ̈ = Mgb/J about the corner, falls between two steps
            top = 2 * p.half_width * exact.block.mass * p.gravity * p.half_width / exact.block.inertia * p.step**2 / 8
            allowed = float(2 * part * hit.next_lift + top)
            checks.append(Check(f"impact {n}, next lift", own.next_lift, hit.next_lift, allowed, "m", "absolute"))
    if p.scheme != "theta":
        return checks + mean_reactions(block, found, p)
    chosen = block.in_flight(found, p.gravity)
    for axis, force in enumerate(exact_reactions(block, found, p)[1:]):
        error = float(np.abs(block.force[1:, axis] - force)[chosen].max() / np.abs(force[chosen]).max())
        checks.append(Check(f"reaction {'HF'[axis]} in flight, worst step", error, 0.0, REACTIONS, "1", "at most"))
    return checks


def exact_reactions(block: BlockMotion, found: list[Landing], parameters: Parameters) -> tuple[Array, Array, Array]:
    """Middles of the steps (s), and (H, F), N, that the exact F(θ, θ̇), H(θ, θ̇) give for the run's own motion there."""
    exact = reference(parameters)
    time, angle, rate = (0.5 * (x[1:] + x[:-1]) for x in (block.time, block.angle, block.rate))
    # impacts swap the corners; angles near zero do not tell which one the block stands on
    sense = (-1.0) ** np.searchsorted([hit.index for hit in found], np.arange(1, len(block.time)), side="right")
    return time, *exact.block.reactions(sense * angle, sense * rate, sense, exact.shaking(time))


def mean_reactions(block: BlockMotion, found: list[Landing], parameters: Parameters) -> list[Check]:
    """Of the first flight, where an elastic block vibrates, or the scheme alternates."""
    chosen = block.in_flight(found[:1], parameters.gravity)
    checks = []
    for axis, exact in enumerate(exact_reactions(block, found, parameters)[1:]):
        own, mean = float(block.force[1:, axis][chosen].mean()), float(exact[chosen].mean())
        checks.append(Check(f"mean reaction {'HF'[axis]} in the first flight", own, mean, REACTIONS, "N"))
    return checks


def elastic_checks(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """The first impact: against the rigid block, or the closed form of small kinematics on a table at rest."""
    p, found = parameters, landings(result, parameters)
    if not found or (p.kinematics == "small" and p.support_acceleration):
        return []
    hit = reference(p).impacts[0]
    time, energy = (hit.time, hit.kinetic_energy) if p.kinematics == "finite" else small_first(p)
    part = float(tolerances(p)[1][0])
    checks = [
        Check("impact 1, time", found[0].time, time, FIRST_IMPACT, "s"),
        Check("impact 1, kinetic energy before", found[0].kinetic_energy, energy, part, "J"),
    ]
    if p.kinematics == "finite":
        checks += mean_reactions(motion(result, p), found, p)
    return checks


def spring_checks(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Against the rigid block on the same springs, over a table at rest: its impacts; of an elastic one the first."""
    p = parameters
    if p.support_acceleration or (is_elastic(p) and p.kinematics == "small"):
        return []
    hits, found = spring_reference(p).impacts, landings(result, p)
    compared = hits[:1] if is_elastic(p) else hits
    checks = [Check("impacts", float(len(found[: len(compared)])), float(len(compared)), 0.0, "1", "absolute")]
    for n, (own, hit, late, part) in enumerate(zip(found, compared, *spring_tolerances(p), strict=False), start=1):
        checks += [
            Check(f"impact {n}, time", own.time, hit.time, float(late), "s", "absolute"),
            Check(f"impact {n}, kinetic energy before", own.kinetic_energy, hit.kinetic_energy, float(part), "J"),
        ]
    return checks
