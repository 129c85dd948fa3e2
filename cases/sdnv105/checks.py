"""References and checks of the rocking block, by model (SDNV105)."""

from functools import lru_cache
from typing import Any

import numpy as np
import xarray

from arlequin.cases.case.checks import Check
from arlequin.cases.reference.rocking import RockingBlock
from arlequin.cases.reference.rocking_motion import Rocking, Shaking, rock
from arlequin.cases.reference.shock import ShockElement
from arlequin.cases.reference.spring_rocking import SpringRocking, rock_on_springs
from arlequin.cases.sdnv105.measures import BlockMotion, Landing
from arlequin.cases.sdnv105.models import is_elastic, located, reference_angle
from arlequin.cases.sdnv105.parameters import Parameters
from arlequin.models.types import Array

LOCATED = 1e-5  # relative tolerance of times and energies with located impacts


@lru_cache(maxsize=8)
def reference(parameters: Parameters) -> Rocking:
    """Event-driven solution of the rigid block."""
    p = parameters
    block = RockingBlock(p.half_width, p.half_height, p.density, p.friction, p.gravity)
    shaking = Shaking(across=p.support_acceleration, frequency=p.support_frequency)
    return rock(block, p.tilt, p.impacts, shaking)


def duration(parameters: Parameters) -> float:
    """End of the run, s."""
    return reference(parameters).end if parameters.duration is None else parameters.duration


@lru_cache(maxsize=4)
def spring_reference(parameters: Parameters) -> SpringRocking:
    """Event-driven solution of the rigid block on the same springs, over a table at rest."""
    p = parameters
    shock = ShockElement(p.spring_stiffness, p.spring_tangential, p.spring_damping, p.friction)
    return rock_on_springs(reference(p).block, shock, p.tilt, p.impacts, duration(p))


def small_first(parameters: Parameters) -> tuple[float, float]:
    """Time (s) and kinetic energy (J) of the first impact in small kinematics: the weight's moment Mgb is constant."""
    p, block = parameters, reference(parameters).block
    energy = block.mass * p.gravity * p.half_width * p.tilt
    return float(np.sqrt(2 * block.inertia * p.tilt**2 / energy)), energy


def tolerances(parameters: Parameters) -> tuple[Array, Array]:
    """Absolute tolerances of times (s), relative ones of energies: order 1 in Δt (module docstring), or `LOCATED`."""
    p, exact = parameters, reference(parameters)
    impacts = exact.impacts
    if located(p):
        # neglected: work of the shaken table between the last step and the impact
        rotation_rate = np.array([impact.corner_speed for impact in impacts]) / (2 * p.half_width)
        shaken = exact.block.mass * abs(p.support_acceleration) * p.half_height * rotation_rate * p.step
        return np.full(len(impacts), LOCATED * impacts[0].time), LOCATED + shaken / [
            impact.kinetic_energy for impact in impacts
        ]
    lift_heights = np.array([2 * p.half_width * np.sin(p.tilt), *(impact.next_lift for impact in impacts[:-1])])
    speeds = np.array([impact.corner_speed for impact in impacts])
    energy = 2 * p.step * np.cumsum(speeds / lift_heights)
    flights = np.diff([impact.time for impact in impacts])
    time = p.step + np.concatenate([[0.0], np.cumsum(0.5 * energy[:-1] * flights)])
    return time, energy


def spring_tolerances(parameters: Parameters) -> tuple[Array, Array]:
    """Absolute tolerances of times (s) and relative ones of energies, on springs.

    The start of an impact is known to half a step: relative energy error 4 Δt/t₁, as the energy grows at most as t².
    During an impact a scheme of order 2 has a relative phase error of (ωΔt)²/12, ω = √(K/m), with the effective mass
    m = M/(1 + 3b²/R²) of a corner; θ > ½ damps half a period by π (θ − ½) ωΔt. Both affect the speeds after the impact,
    twice the energies, and the durations of flights, and accumulate over the impacts.
    """
    p, exact = parameters, spring_reference(parameters)
    if not exact.impacts:
        return np.zeros(0), np.zeros(0)
    block, times = reference(p).block, np.array([impact.time for impact in exact.impacts])
    effective_mass = block.mass / (1 + 3 * (block.half_width / block.radius) ** 2)
    phase_per_step = np.sqrt(p.spring_stiffness / effective_mass) * p.step
    damping_loss = np.pi * (p.theta - 0.5) * phase_per_step if p.theta is not None and p.scheme == "theta" else 0.0
    relative_error = phase_per_step**2 / 12 + damping_loss
    return p.step + relative_error * (times - times[0]), 4 * p.step / times[0] + 2 * relative_error * np.arange(
        len(times)
    )


REACTIONS = 1e-3  # tolerance of reactions in flight over the exact ones
FIRST_IMPACT = 1e-3  # relative tolerance of the time of the first impact, elastic block


def motion(result: xarray.DataTree, parameters: Parameters) -> BlockMotion:
    """Motion of the block, from a result."""
    return BlockMotion.of(result, reference_angle(parameters), parameters.gravity, parameters.half_height)


def landings(result: xarray.DataTree, parameters: Parameters) -> list[Landing]:
    """The impacts of a run."""
    return motion(result, parameters).landings(parameters.impacts, 2 * parameters.half_width)


def rigid_checks(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of every impact and of the reactions in flight."""
    p, exact = parameters, reference(parameters)
    block = motion(result, p)
    impacts = block.landings(p.impacts, 2 * p.half_width)
    checks = [Check("impacts", float(len(impacts)), float(len(exact.impacts)), 0.0, "1", "absolute")]
    for n, (impact, exact_impact, time_limit, energy_limit) in enumerate(
        zip(impacts, exact.impacts, *tolerances(p), strict=False), start=1
    ):
        checks += _time_and_energy(n, impact, exact_impact, time_limit, energy_limit)
        for axis, force in enumerate(exact.block.reactions(0.0, 0.0, 1.0)):
            percussion, exact_percussion = impact.percussion[axis], exact_impact.percussion[axis]
            # located: error of the flight force, its change in a step
            gap = p.step**2 * abs(force) / exact_impact.time if located(p) else p.step * abs(force)
            allowed = float(energy_limit * abs(exact_percussion) + gap)
            checks.append(
                Check(
                    f"impact {n}, percussion I_{'xy'[axis]}", percussion, exact_percussion, allowed, "N s", "absolute"
                )
            )
        if np.isfinite(impact.next_lift):
            # the top of a flight, θ̈ = Mgb/J about the corner, falls between two steps
            top = 2 * p.half_width * exact.block.mass * p.gravity * p.half_width / exact.block.inertia * p.step**2 / 8
            allowed = float(2 * energy_limit * exact_impact.next_lift + top)
            checks.append(
                Check(f"impact {n}, next lift", impact.next_lift, exact_impact.next_lift, allowed, "m", "absolute")
            )
    if p.scheme != "theta":
        return checks + mean_reactions(block, impacts, p)
    chosen = block.in_flight(impacts, p.gravity)
    for axis, force in enumerate(exact_reactions(block, impacts, p)[1:]):
        error = float(np.abs(block.force[1:, axis] - force)[chosen].max() / np.abs(force[chosen]).max())
        checks.append(Check(f"reaction {'HF'[axis]} in flight, worst step", error, 0.0, REACTIONS, "1", "at most"))
    return checks


def exact_reactions(block: BlockMotion, impacts: list[Landing], parameters: Parameters) -> tuple[Array, Array, Array]:
    """Mid-step times (s), and exact reactions H(θ, θ̇), F(θ, θ̇), N, for the computed motion at these times."""
    exact = reference(parameters)
    time, angle, rate = (0.5 * (x[1:] + x[:-1]) for x in (block.time, block.angle, block.rate))
    # impacts swap the corners; near θ = 0 the sign of the angle does not determine the supporting corner
    sense = (-1.0) ** np.searchsorted([impact.index for impact in impacts], np.arange(1, len(block.time)), side="right")
    return time, *exact.block.reactions(sense * angle, sense * rate, sense, exact.shaking(time))


def mean_reactions(block: BlockMotion, impacts: list[Landing], parameters: Parameters) -> list[Check]:
    """Checks of mean reactions in the first flight, for elastic blocks, which vibrate, and schemes that oscillate."""
    chosen = block.in_flight(impacts[:1], parameters.gravity)
    checks = []
    for axis, exact in enumerate(exact_reactions(block, impacts, parameters)[1:]):
        computed, exact_mean = float(block.force[1:, axis][chosen].mean()), float(exact[chosen].mean())
        checks.append(Check(f"mean reaction {'HF'[axis]} in the first flight", computed, exact_mean, REACTIONS, "N"))
    return checks


def elastic_checks(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the first impact: rigid block, or closed form of small kinematics on a table at rest."""
    p, impacts = parameters, landings(result, parameters)
    if not impacts or (p.kinematics == "small" and p.support_acceleration):
        return []
    exact_impact = reference(p).impacts[0]
    time, energy = (exact_impact.time, exact_impact.kinetic_energy) if p.kinematics == "finite" else small_first(p)
    energy_limit = float(tolerances(p)[1][0])
    checks = [
        Check("impact 1, time", impacts[0].time, time, FIRST_IMPACT, "s"),
        Check("impact 1, kinetic energy before", impacts[0].kinetic_energy, energy, energy_limit, "J"),
    ]
    if p.kinematics == "finite":
        checks += mean_reactions(motion(result, p), impacts, p)
    return checks


def spring_checks(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of impacts (elastic block: the first) by the rigid block on the same springs, on a table at rest."""
    p = parameters
    if p.support_acceleration or (is_elastic(p) and p.kinematics == "small"):
        return []
    exact_impacts, impacts = spring_reference(p).impacts, landings(result, p)
    compared = exact_impacts[:1] if is_elastic(p) else exact_impacts
    checks = [Check("impacts", float(len(impacts[: len(compared)])), float(len(compared)), 0.0, "1", "absolute")]
    for n, (impact, exact_impact, time_limit, energy_limit) in enumerate(
        zip(impacts, compared, *spring_tolerances(p), strict=False), start=1
    ):
        checks += _time_and_energy(n, impact, exact_impact, time_limit, energy_limit)
    return checks


def _time_and_energy(n: int, impact: Any, exact: Any, time_limit: float, energy_limit: float) -> list[Check]:
    """Checks of impact n: its instant, and the kinetic energy before it."""
    energies = impact.kinetic_energy, exact.kinetic_energy
    return [
        Check(f"impact {n}, time", impact.time, exact.time, float(time_limit), "s", "absolute"),
        Check(f"impact {n}, kinetic energy before", *energies, float(energy_limit), "J"),
    ]
