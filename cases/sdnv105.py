"""A block rocks on a table, let go from a tilt: impacts and reactions, rigid or elastic (SDNV105).

Rigid, everything is known (`cases.reference.rocking`): impact times, kinetic energies before, percussions, lifts, and
in flight F(θ, θ̇) and H(θ, θ̇). Impacts are located inside the step, and all of it is met to 1e-5. With events="step"
θ = 1, for which the corner stays in place (`RigidBody`): at an impact at the corner speed v the end is stopped up to
½ v Δt off the table and gravity goes on for up to a step, each of which changes the energy of a flight of lift h by at
most the part v Δt/h: tolerances add 2 v Δt/h from impact to impact, half of it to the durations.

Elastic: plane stress with the damping α K. It starts in equilibrium under its weight, held at both ends of its base
(statics), and is let go: a block that was tilted slowly. θ = 0.55: nearly second order in flight, while the stiff
modes, overdamped (α ω/2 ≫ 1), which alternate at θ = 1/2, fall by (1 − θ)/θ a step, so that an impact shorter than
a step loses what the rigid one loses. Small kinematics turn the upright block: its first impact is at
√(2Jθ/(Mgb)), 0.053903 s, with Mgbθ, 7.374 J; the table below has finite ones, which meet the rigid block's 0.054411 s.
What the first impact leaves depends on α and on Δt, which must resolve it (about α):

    impact times (s), kinetic energies before (J)

    rigid, exact           0.054411  0.135202  0.195364  0.240238  0.273739   7.2919  4.0733  2.2754  1.2711  0.7100
    rigid, step, 5e-5      0.05443   0.13518   0.19523   0.23988   0.27308    7.2891  4.0665  2.2624  1.2532  0.6947
    elastic, 5e-5          0.05443   0.13798   0.20218   0.25158   0.28958    7.2890  4.3353  2.5773  1.5322  0.9065
    elastic, 2e-5          0.05441   0.13967   0.20953   0.26455              7.2890  4.5210  3.0561  1.9024
    elastic, small, 1e-5   0.05391   0.14001   0.21017   0.26677              7.3731  4.6458  3.1118  2.0080
    Code_Aster A           0.05440   0.14151   0.20905   0.26224   0.30306    7.2897  4.7383  2.8598  1.7810  1.0811
    Code_Aster B           0.05438   0.13490   0.19365   0.23560   0.26570    7.2831  4.0454  2.1709  1.1160  0.5737
    Code_Aster C                     0.14154                                          4.7423
    LMGC90                 0.0546    0.1324    0.1929    0.2359    0.2693     7.2326  4.0469  2.2531  1.2617

(Code_Aster: A Lagrangian and HHT, B shock springs, C continuous method; LMGC90: rigid, θ-scheme, 1e-4.) The elastic
block keeps more than the rigid one, as in A and C, and the more the finer the step: not converged at 2e-5. With much
stiffer material it loses what the rigid one does (the figure of restitutions).
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from cases.choices import Density, Poisson, Young
from cases.comparison import Check
from cases.impact import worst_balance
from cases.parameters import Quantity
from cases.reference.rocking import RockingBlock
from cases.reference.rocking_motion import Rocking, Shaking, rock
from cases.rocking_measures import Array, BlockMotion, Landing
from cases.rocking_models import drawn, elastic_block, rigid_block
from models.checks import finite, non_negative, positive, positive_integer, within

BALANCE_LIMIT = 1e-10
REACTIONS = 1e-3  # of the exact forces in flight
LOCATED = 1e-5  # of times and energies, with located impacts
FIRST_IMPACT = 1e-3  # of its exact time, elastic


@dataclass(frozen=True)
class Parameters:
    """The block of the benchmark, 0.36 × 0.8 × 1 m, let go from 0.01 rad: five impacts in 0.3 s."""

    half_width: Annotated[float, Quantity("m", "half of the base", positive)] = 0.18
    half_height: Annotated[float, Quantity("m", "half of the height", positive)] = 0.40
    density: Density = 1450.0
    tilt: Annotated[float, Quantity("rad", "angle about the left corner at the start", non_negative)] = 0.01
    friction: Annotated[float, Quantity("", "Coulomb's coefficient", non_negative)] = 0.9
    gravity: Annotated[float, Quantity("m/s2", "gravity", positive)] = 9.81
    model: Annotated[Literal["rigid", "elastic"], Quantity("", "rigid body, or elastic in plane stress")] = "rigid"
    kinematics: Annotated[Literal["finite", "small"], Quantity("", "rotations of the elastic block")] = "finite"
    young: Young = 6e11
    poisson: Poisson = 0.2
    damping: Annotated[float, Quantity("s", "α of the elastic block's damping α K", non_negative)] = 1e-4
    cells: Annotated[int, Quantity("", "cells along the base of the elastic block", positive_integer)] = 9
    support_acceleration: Annotated[float, Quantity("m/s2", "a of the table's ü = a sin 2πft", finite)] = 0.0
    support_frequency: Annotated[float, Quantity("Hz", "f", positive)] = 1.0
    theta: Annotated[float | None, Quantity("", "θ of the scheme; none: 1 rigid, 0.55 elastic", within, 0.5, 1.0)] = (
        None
    )
    events: Annotated[
        Literal["usual", "locate", "step"],
        Quantity("", "impacts located, or at the end of their step; usual: if rigid"),
    ] = "usual"
    step: Annotated[float, Quantity("s", "Δt", positive)] = 5e-5
    impacts: Annotated[int, Quantity("", "impacts compared", positive_integer)] = 5
    duration: Annotated[
        float | None, Quantity("s", "none: to the end of the exact flight after the last impact", positive)
    ] = None

    def __post_init__(self) -> None:
        if self.duration is None and not rocks(self):
            raise aq.UserError.parameter("duration", None, "must be given where the block slides or is flat")


def rocks(parameters: Parameters) -> bool:
    """Whether the block rocks without sliding, as far as its impacts tell: the exact motion exists."""
    b, l = parameters.half_width, parameters.half_height  # noqa: E741
    return l > b / np.sqrt(2) and parameters.friction >= 3 * b * l / (4 * l**2 + b**2)


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


def build(parameters: Parameters) -> aq.Study:
    """The left corner is at the origin, the table at y = 0."""
    p = parameters
    block, start = rigid_block(p) if p.model == "rigid" else elastic_block(p)
    table = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    rough = aq.Coulomb(p.friction) if p.friction > 0.0 else None
    contact = aq.Interface("table", block.boundary("bottom"), table, aq.Unilateral(), friction=rough)
    shaking = Shaking(across=p.support_acceleration, frequency=p.support_frequency)

    def gravity(t: float) -> Any:
        """In the frame of the table."""
        return -float(shaking(t)[0]), -p.gravity

    still = (0.0, -p.gravity)
    system = aq.System(
        [block], interfaces=[contact], gravity=gravity if p.support_acceleration else still, displacement=start
    )
    if located(p):
        return aq.Study(system, aq.Theta(0.5 if p.theta is None else p.theta, events="locate"), duration(p), p.step)
    usual = 1.0 if p.model == "rigid" else 0.55
    return aq.Study(system, aq.Theta(usual if p.theta is None else p.theta), duration(p), p.step)


def located(parameters: Parameters) -> bool:
    """Whether impacts are located inside the step."""
    return parameters.events == "locate" or (parameters.events == "usual" and parameters.model == "rigid")


def motion(result: xarray.DataTree, parameters: Parameters) -> BlockMotion:
    """What is measured of the block."""
    return BlockMotion.of(result, drawn(parameters), parameters.gravity, parameters.half_height)


def landings(result: xarray.DataTree, parameters: Parameters) -> list[Landing]:
    """The impacts of a run."""
    return motion(result, parameters).landings(parameters.impacts, 2 * parameters.half_width)


def small_first(parameters: Parameters) -> tuple[float, float]:
    """Time (s) and kinetic energy (J) of the first impact in small kinematics: the weight's moment Mgb is constant."""
    p, block = parameters, reference(parameters).block
    energy = block.mass * p.gravity * p.half_width * p.tilt
    return float(np.sqrt(2 * block.inertia * p.tilt**2 / energy)), energy


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p = parameters
    checks: list[Check] = []
    speed = motion(result, p).fastest + p.gravity * p.step
    if rocks(p):
        checks = rigid_checks(result, p) if p.model == "rigid" else elastic_checks(result, p)
    table = result["interface/table"].dataset
    lowest, pressing = float(table["gap_min"].min()), float(table["pressure"].min())
    return [
        *checks,
        Check("smallest pressure: no tension", pressing, 0.0, 0.0, "Pa", "at least"),
        Check("deepest penetration, at most of a step at impact speed", lowest, 0.0, speed * p.step, "m", "at least"),
        Check("energy balance, worst step", worst_balance(result), 0.0, BALANCE_LIMIT, "1", "absolute"),
    ]


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
        block = motion(result, p)
        chosen = block.in_flight(found[:1], p.gravity)
        for axis, exact in enumerate(exact_reactions(block, found, p)[1:]):
            own, mean = float(block.force[1:, axis][chosen].mean()), float(exact[chosen].mean())
            checks.append(Check(f"mean reaction {'HF'[axis]} in the first flight", own, mean, REACTIONS, "N"))
    return checks


def restitutions(parameters: Parameters) -> dict[float, float]:
    """√(E₂/E₁) of the first impact against Young's modulus, Pa; small kinematics, which rock alike and run faster."""
    p = replace(parameters, model="elastic", kinematics="small", impacts=2, support_acceleration=0.0, duration=None)
    found = {}
    for factor in (0.1, 1.0, 10.0, 100.0, 1000.0):
        own = replace(p, young=factor * p.young)
        hits = landings(build(own).run(), own)
        if len(hits) == 2:
            found[own.young] = float(np.sqrt(hits[1].kinetic_energy / hits[0].kinetic_energy))
    return found


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots
    from cases.rocking_figures import angle_figure, reaction_figure, restitution_figure

    p, block = parameters, motion(result, parameters)
    exact = reference(p) if rocks(p) else None
    drawn = {
        "angle": angle_figure(block, exact, p.model),
        "energies": plots.energies(result),
        "reactions": reaction_figure(block, exact_reactions(block, landings(result, p), p) if exact else None),
    }
    if exact is not None and p.model == "elastic":
        drawn["restitution"] = restitution_figure(restitutions(p), exact.block.velocity_ratio)
    return drawn
