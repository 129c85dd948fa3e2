"""Doubtful models: those that run, but hardly mean what they say. Each is told of in one line, with the cure."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from arlequin.models.errors import ModelWarning, warn_user
from arlequin.models.fem.solid import AssumedThickness, Solid
from arlequin.models.loads.turbulence import SpanForce, Turbulence
from arlequin.models.part import Part, Surface
from arlequin.models.rigid.polygon import RigidBody
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.base import NormalLaw, SetValuedLaw
from arlequin.multilevel.obstacles.base import Obstacle, PatchedObstacle
from arlequin.multilevel.pairing.corners import corner_pairing
from arlequin.multilevel.pairing.kinematics import PairingMaster
from arlequin.multilevel.search.corners import sharp_edges
from arlequin.multilevel.search.facets import FacetMesh
from arlequin.multilevel.search.patches import CONCAVE, SmoothPatches
from arlequin.system.assembly import Assembly
from arlequin.system.facing import facet_size, from_behind, turned
from arlequin.system.system import System, surfaces_of

RESOLVED = 0.2  # of the time that a wave takes to cross a part: the longest step advised for an impact
WARNED = 2.0  # times that time, an impact is over between bodies of equal section: step beyond which a line is written
SLOW = 1e-6  # rate at which a gap closes, over the wave speed, below which nothing strikes


def warn_of_doubts(assembly: Assembly, u: Array, v: Array, step: float | None) -> None:
    """A `ModelWarning` for each doubt about a system that starts with u (d,), m, and v (d,), m/s; step: s, None in
    statics."""
    system = assembly.system
    lines = _depths(system) + _sections(system) + _corners(system) + _places(assembly, u)
    if step is not None:
        lines += _steps(assembly, u, v, step)
    for line in lines:
        warn_user(line, ModelWarning)


def warn_of_random_loads(systems: Iterable[System], steps: Mapping[str, float], duration: float) -> None:
    """A `ModelWarning` for each random load of which steps, s, by the name of the part, leave a part out, and for each
    that repeats within the duration of the run, s."""
    lines: dict[str, None] = {}
    for part in (part for system in systems for part in system.parts):
        turbulence, step = _turbulence(part), steps[part.name]
        if turbulence is None:
            continue
        highest, nyquist = float(turbulence.frequencies[-1]), 0.5 / step
        if highest > nyquist * (1.0 + 1e-9):
            lines[
                f"part '{part.name}': its Turbulence goes up to {highest:.6g} Hz, and steps of {step:.3g} s sample "
                f"{nyquist:.6g} Hz at most: what lies beyond acts at false frequencies; take step = "
                f"{0.5 / highest:.3g} s or less, or highest={nyquist:.6g}"
            ] = None
        if turbulence.duration < duration - step:
            lines[
                f"part '{part.name}': its Turbulence repeats after {turbulence.duration:.6g} s in a run of "
                f"{duration:.6g} s: give it duration={duration:.6g} or more"
            ] = None
    for line in lines:
        warn_user(line, ModelWarning)


def _model(part: Part) -> Any:
    """The finite-element part, where there is one."""
    return getattr(part, "model", part)


def _turbulence(part: Part) -> Turbulence | None:
    """The random force on a part."""
    model = _model(part)
    load = getattr(model, "body_force", None)
    found = load.turbulence if isinstance(load, SpanForce) else getattr(model, "turbulence", None)
    return found if isinstance(found, Turbulence) else None


def _depths(system: System) -> list[str]:
    """Parts in contact that differ in the kind of plane problem, or in a thickness that one of them has by default."""
    found: dict[str, None] = {}
    for item in system.interfaces:
        if not isinstance(item.master, Surface):
            continue
        one, two = (_model(side.part) for side in (item.slave, item.master))
        if isinstance(one, Solid) and isinstance(two, Solid) and one.plane != two.plane:
            found[
                f"interface '{item.name}': '{one.name}' is plane {one.plane}, '{two.name}' plane {two.plane}: give "
                "both the same plane="
            ] = None
        flat = [part for part in (one, two) if isinstance(part, Solid | RigidBody) and part.components == 2]
        if len(flat) < 2 or any(isinstance(part, Solid) and part.axisymmetric for part in flat):
            continue
        assumed = [part for part in flat if isinstance(part.thickness, AssumedThickness)]
        if len(assumed) == 1 and one.thickness != two.thickness:
            other = two if assumed[0] is one else one
            found[
                f"interface '{item.name}': '{assumed[0].name}' has the default thickness of 1 m, '{other.name}' "
                f"{other.thickness:g} m: give both their thickness="
            ] = None
    return list(found)


def _sections(system: System) -> list[str]:
    """Springs and dashpots against the end of a bar or beam, whose section multiplies them."""
    found = []
    for item in system.interfaces:
        if item.area is not None or len(item.slave.nodes) != 1 or isinstance(item.master, PairingMaster):
            continue
        area, slave = float(item.slave.areas[0]), item.slave
        if any(map(_spring, item.laws)) and abs(area - 1.0) > 1e-9:
            found.append(
                f"interface '{item.name}': the section of '{slave.part.name}' at '{slave.name}', {area:.6g} m², "
                "multiplies stiffness and damping of its laws, Pa/m and Pa·s/m: give area=1.0 where they are in N/m "
                f"and N·s/m, area={area:.6g} where the section is meant"
            )
    return found


def _spring(law: NormalLaw) -> bool:
    """Whether the pressure of a law is in proportion to the penetration or to its rate."""
    if isinstance(law, Asperities):
        return law.exponent == 1.0 and law.height == 0.0
    return isinstance(law, SetValuedLaw) and law.compliance > 0.0


def _corners(system: System) -> list[str]:
    """Corners at which the contact points of an interface do not see all contacts."""
    found = []
    for item in system.interfaces:
        if isinstance(item.master, PairingMaster) or item.sliding == "small" or item.direction is not None:
            continue
        master, slave, degrees = _named(item.master), _named(item.slave), f"{np.rad2deg(CONCAVE):.0f}°"
        if item.weak and _concave(item.master):
            found.append(
                f"interface '{item.name}': {master} has concave corners of more than {degrees}, in which weak "
                'multipliers touch one face at a time: multiplier="nodes" or "gauss" touch each; where the surface is '
                "meant to be smooth, take finer facets"
            )
        if all(isinstance(law, SetValuedLaw) for law in item.laws):
            continue
        if _between_nodes(item):
            found.append(
                f"interface '{item.name}': a sharp corner of {master} is at a facet of {slave}, between its nodes, "
                "where layers and penalties do not act: take finer facets there, or Unilateral"
            )
        if (item.weak or item.multiplier == "gauss") and _sharp(item.slave):
            found.append(
                f"interface '{item.name}': {slave} has sharp corners, on which layers and penalties act late, at "
                'points on its facets: multiplier="nodes" acts at once'
            )
    return found


def _named(side: Any) -> str:
    """A side of an interface, as a message names it."""
    return f"'{side.name}' of '{side.part.name}'" if isinstance(side, Surface) else f"the {type(side).__name__}"


def _concave(master: Obstacle | Surface) -> bool:
    """Whether the surface of a master has concave edges that part it."""
    if isinstance(master, Surface):
        return FacetMesh.suits(master) and SmoothPatches.of(FacetMesh.of(master)) is not None
    return isinstance(master, PatchedObstacle) and len(master.patches()) > 0


def _sharp(slave: Surface) -> bool:
    """Whether a surface has sharp convex edges."""
    return FacetMesh.suits(slave) and sharp_edges(FacetMesh.of(slave)).nodes.size > 0


def _between_nodes(item: Interface) -> bool:
    """Whether a sharp corner of the master lies within a facet's size of the slave's facets, and at none of its nodes,
    at the start."""
    held = np.ones(len(item.slave.nodes), dtype=bool)
    corners = corner_pairing(item.slave, item.master, held, 1.0, free=False)
    if corners is None:
        return False
    master = item.master.positions if isinstance(item.master, Surface) else np.zeros((0, item.slave.positions.shape[1]))
    return bool(corners.at(item.slave.positions, master).paired.any())


def _places(assembly: Assembly, u: Array) -> list[str]:
    """Surfaces that overlap by more than a cell at the start, and those of which no point faces its partner."""
    found, contact = [], assembly.contact
    gaps = contact.gaps(u)
    bounds = pairwise(contact.start)
    for item, sides, (a, b) in zip(assembly.system.interfaces, contact.sides, bounds, strict=True):
        own = gaps[a:b]
        behind = from_behind(item, sides, u)
        if own.size and np.isinf(own).all() and not behind:
            if isinstance(item.master, Surface) and _face_away(item.slave, item.master):
                found.append(
                    f"interface '{item.name}': '{item.slave.name}' of '{item.slave.part.name}' and "
                    f"'{item.master.name}' of '{item.master.part.name}' face away from each other at the start, or "
                    "have passed through each other: check which boundaries are named, and the positions"
                )
            continue
        if behind:
            found.append(
                f"interface '{item.name}': {_named(item.master)} faces away from {_named(item.slave)}, "
                f"which touches it from behind and would pass through: {turned(item.master)}"
            )
            continue
        size, deepest = facet_size(item.slave), -float(own.min(initial=0.0))
        if 0.0 < size < deepest:
            found.append(
                f"interface '{item.name}': the surfaces overlap by {deepest:.3g} m at the start, more than a cell of "
                f"{size:.3g} m: move the parts apart, or check the positions and the direction of the obstacle"
            )
    return found


def _face_away(one: Surface, other: Surface) -> bool:
    """Whether the mean normals of two surfaces, where they have some, do not point to the other one."""
    between = other.positions.mean(axis=0) - one.positions.mean(axis=0)
    for surface, way in ((one, between), (other, -between)):
        normal = surface.areas @ surface.normals / surface.areas.sum()
        if np.linalg.norm(normal) > 0.5 and normal @ way < 0.0:
            return True
    return False


def _steps(assembly: Assembly, u: Array, v: Array, step: float) -> list[str]:
    """Steps too long for the waves that an impact sends through a part."""
    found = []
    approach = _approach(assembly, u, v, step)
    lengths = _lengths(assembly)
    for part, a, b in zip(assembly.system.parts, assembly.start[:-1], assembly.start[1:], strict=True):
        speed = getattr(part, "wave_speed", None)
        if part.name not in approach or speed is None or b - a != part.dof_count or not v[a:b].any():
            continue
        crossed = lengths[part.name] / speed
        if step > WARNED * crossed and approach[part.name] > SLOW * speed:
            found.append(
                f"step = {step:.3g} s: a wave crosses part '{part.name}' of {lengths[part.name]:.3g} m in "
                f"{crossed:.3g} s: an impact is not resolved and its energy goes into `impact`; take "
                f"{RESOLVED * crossed:.2g} s or less, or a RigidBody"
            )
    return found


def _approach(assembly: Assembly, u: Array, v: Array, step: float) -> dict[str, float]:
    """Largest rate, m/s, at which a gap of each part with contact closes in the first step."""
    before, after = assembly.contact.gaps(u), assembly.contact.gaps(u + step * v)
    known = np.isfinite(before) & np.isfinite(after)
    rate = np.where(known, (np.where(known, before, 0.0) - np.where(known, after, 0.0)) / step, 0.0)
    found: dict[str, float] = {}
    for item, (a, b) in zip(assembly.system.interfaces, pairwise(assembly.contact.start), strict=True):
        for surface in surfaces_of(item):
            name = surface.part.name
            found[name] = max(found.get(name, 0.0), float(rate[a:b].max(initial=0.0)))
    return found


def _lengths(assembly: Assembly) -> dict[str, float]:
    """Largest extent of each part with nodes, together with those that junctions glue to it, m."""
    parts = {part.name: part for part in assembly.system.parts if hasattr(part, "positions")}
    glued = {name: {name} for name in parts}
    for junction in assembly.system.junctions:
        ends = [name for name in (junction.coarse.name, junction.fine.name) if name in glued]
        together = set().union(*(glued[name] for name in ends))
        glued |= dict.fromkeys(together, together)
    return {
        name: float(np.ptp(np.vstack([parts[each].positions for each in glued[name]]), axis=0).max()) for name in parts
    }
