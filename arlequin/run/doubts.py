"""Warnings of models that run but are probably not what the user intends, each with a remedy in one line."""

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

RESOLVED = 0.2  # longest step recommended for an impact, relative to the time of a wave through a part
WARNED = 2.0  # largest step without a warning, in that time: duration of an impact of bodies of equal section
SLOW = 1e-6  # approach speed below which there is no impact, relative to the wave speed


def warn_of_doubts(assembly: Assembly, u: Array, v: Array, step: float | None) -> None:
    """Issue a `ModelWarning` for each doubtful property of a system with initial u (d,), m, and v (d,), m/s; step: s,
    None in statics."""
    system = assembly.system
    lines = (
        _plane_mismatches(system)
        + _sections_of_springs(system)
        + _unresolved_corners(system)
        + _misplaced_surfaces(assembly, u)
    )
    if step is not None:
        lines += _unresolved_impacts(assembly, u, v, step)
    for line in lines:
        warn_user(line, ModelWarning)


def warn_of_random_loads(systems: Iterable[System], steps: Mapping[str, float], duration: float) -> None:
    """Issue a `ModelWarning` for each random load with frequencies above the Nyquist frequency of the steps, s, by name
    of the part, and for each that repeats within the duration of the run, s."""
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
    """The finite-element part behind a reduced part, or the part itself."""
    return getattr(part, "model", part)


def _turbulence(part: Part) -> Turbulence | None:
    """The turbulence that loads a part; None without one."""
    model = _model(part)
    load = getattr(model, "body_force", None)
    turbulence = load.turbulence if isinstance(load, SpanForce) else getattr(model, "turbulence", None)
    return turbulence if isinstance(turbulence, Turbulence) else None


def _plane_mismatches(system: System) -> list[str]:
    """Parts in contact of different plane problems, or of different thickness where one is a default."""
    lines: dict[str, None] = {}
    for interface in system.interfaces:
        if not isinstance(interface.master, Surface):
            continue
        slave, master = (_model(side.part) for side in (interface.slave, interface.master))
        if isinstance(slave, Solid) and isinstance(master, Solid) and slave.plane != master.plane:
            lines[
                f"interface '{interface.name}': '{slave.name}' is plane {slave.plane}, '{master.name}' plane "
                f"{master.plane}: give both the same plane="
            ] = None
        flat = [part for part in (slave, master) if isinstance(part, Solid | RigidBody) and part.components == 2]
        if len(flat) < 2 or any(isinstance(part, Solid) and part.axisymmetric for part in flat):
            continue
        assumed = [part for part in flat if isinstance(part.thickness, AssumedThickness)]
        if len(assumed) == 1 and slave.thickness != master.thickness:
            other = master if assumed[0] is slave else slave
            lines[
                f"interface '{interface.name}': '{assumed[0].name}' has the default thickness of 1 m, '{other.name}' "
                f"{other.thickness:g} m: give both their thickness="
            ] = None
    return list(lines)


def _sections_of_springs(system: System) -> list[str]:
    """Contact springs and dashpots at the end of a bar or beam, multiplied by its section."""
    lines = []
    for interface in system.interfaces:
        if interface.area is not None or len(interface.slave.nodes) != 1 or isinstance(interface.master, PairingMaster):
            continue
        area, slave = float(interface.slave.areas[0]), interface.slave
        if any(map(_spring, interface.laws)) and abs(area - 1.0) > 1e-9:
            lines.append(
                f"interface '{interface.name}': the section of '{slave.part.name}' at '{slave.name}', {area:.6g} m², "
                "multiplies stiffness and damping of its laws, Pa/m and Pa·s/m: give area=1.0 where they are in N/m "
                f"and N·s/m, area={area:.6g} where the section is meant"
            )
    return lines


def _spring(law: NormalLaw) -> bool:
    """Whether the pressure of a law is proportional to the penetration or its rate."""
    if isinstance(law, Asperities):
        return law.exponent == 1.0 and law.height == 0.0
    return isinstance(law, SetValuedLaw) and law.compliance > 0.0


def _unresolved_corners(system: System) -> list[str]:
    """Corners at which the contact points of an interface do not detect all contacts."""
    lines = []
    for interface in system.interfaces:
        if (
            isinstance(interface.master, PairingMaster)
            or interface.sliding == "small"
            or interface.direction is not None
        ):
            continue
        master, slave, degrees = _named(interface.master), _named(interface.slave), f"{np.rad2deg(CONCAVE):.0f}°"
        if interface.weak and _concave(interface.master):
            lines.append(
                f"interface '{interface.name}': {master} has concave corners of more than {degrees}, in which weak "
                'multipliers touch one face at a time: multiplier="nodes" or "gauss" touch each; where the surface is '
                "meant to be smooth, take finer facets"
            )
        if all(isinstance(law, SetValuedLaw) for law in interface.laws):
            continue
        if _between_nodes(interface):
            lines.append(
                f"interface '{interface.name}': a sharp corner of {master} is at a facet of {slave}, between its "
                "nodes, where layers and penalties do not act: take finer facets there, or Unilateral"
            )
        if (interface.weak or interface.multiplier == "gauss") and _sharp(interface.slave):
            lines.append(
                f"interface '{interface.name}': {slave} has sharp corners, on which layers and penalties act late, at "
                'points on its facets: multiplier="nodes" acts at once'
            )
    return lines


def _named(side: Any) -> str:
    """Name of a side of an interface in messages."""
    return f"'{side.name}' of '{side.part.name}'" if isinstance(side, Surface) else f"the {type(side).__name__}"


def _concave(master: Obstacle | Surface) -> bool:
    """Whether concave edges split the surface of a master into patches."""
    if isinstance(master, Surface):
        return FacetMesh.suits(master) and SmoothPatches.of(FacetMesh.of(master)) is not None
    return isinstance(master, PatchedObstacle) and len(master.patches()) > 0


def _sharp(slave: Surface) -> bool:
    """Whether a surface has sharp convex edges."""
    return FacetMesh.suits(slave) and sharp_edges(FacetMesh.of(slave)).nodes.size > 0


def _between_nodes(interface: Interface) -> bool:
    """Whether initially a sharp corner of the master is within a facet's size of the slave's facets, but at no node."""
    all_nodes = np.ones(len(interface.slave.nodes), dtype=bool)
    corners = corner_pairing(interface.slave, interface.master, all_nodes, 1.0, free=False)
    if corners is None:
        return False
    master = (
        interface.master.positions
        if isinstance(interface.master, Surface)
        else np.zeros((0, interface.slave.positions.shape[1]))
    )
    return bool(corners.at(interface.slave.positions, master).paired.any())


def _misplaced_surfaces(assembly: Assembly, u: Array) -> list[str]:
    """Surfaces that initially overlap by more than a cell, or face away from each other."""
    lines, contact = [], assembly.contact
    gaps = contact.gaps(u)
    bounds = pairwise(contact.start)  # those of springs come last
    for interface, sides, (a, b) in zip(assembly.system.interfaces, contact.sides, bounds, strict=False):
        point_gaps = gaps[a:b]
        behind = from_behind(interface, sides, u)
        if point_gaps.size and np.isinf(point_gaps).all() and not behind:
            if isinstance(interface.master, Surface) and _face_away(interface.slave, interface.master):
                lines.append(
                    f"interface '{interface.name}': {_named(interface.slave)} and {_named(interface.master)} face away "
                    "from each other at the start, or have passed through each other: check which boundaries are "
                    "named, and the positions"
                )
            continue
        if behind:
            lines.append(
                f"interface '{interface.name}': {_named(interface.master)} faces away from {_named(interface.slave)}, "
                f"which touches it from behind and would pass through: {turned(interface.master)}"
            )
            continue
        size, deepest = facet_size(interface.slave), -float(point_gaps.min(initial=0.0))
        if 0.0 < size < deepest:
            lines.append(
                f"interface '{interface.name}': the surfaces overlap by {deepest:.3g} m at the start, more than a cell "
                f"of {size:.3g} m: move the parts apart, or check the positions and the direction of the obstacle"
            )
    return lines


def _face_away(slave: Surface, master: Surface) -> bool:
    """Whether a mean normal of two surfaces points away from the other surface; closed surfaces have none."""
    between = master.positions.mean(axis=0) - slave.positions.mean(axis=0)
    for surface, direction in ((slave, between), (master, -between)):
        normal = surface.areas @ surface.normals / surface.areas.sum()
        if np.linalg.norm(normal) > 0.5 and normal @ direction < 0.0:
            return True
    return False


def _unresolved_impacts(assembly: Assembly, u: Array, v: Array, step: float) -> list[str]:
    """Steps that do not resolve the waves of an impact in a part."""
    lines = []
    speeds = _approach_speeds(assembly, u, v, step)
    lengths = _lengths(assembly)
    for part, a, b in zip(assembly.system.parts, assembly.start[:-1], assembly.start[1:], strict=True):
        speed = getattr(part, "wave_speed", None)
        if part.name not in speeds or speed is None or b - a != part.dof_count or not v[a:b].any():
            continue
        crossing_time = lengths[part.name] / speed
        if step > WARNED * crossing_time and speeds[part.name] > SLOW * speed:
            lines.append(
                f"step = {step:.3g} s: a wave crosses part '{part.name}' of {lengths[part.name]:.3g} m in "
                f"{crossing_time:.3g} s: an impact is not resolved and its energy goes into `impact`; take "
                f"{RESOLVED * crossing_time:.2g} s or less, or a RigidBody"
            )
    return lines


def _approach_speeds(assembly: Assembly, u: Array, v: Array, step: float) -> dict[str, float]:
    """Largest closing speed of the gaps of each part with contact in the first step, m/s."""
    before, after = assembly.contact.gaps(u), assembly.contact.gaps(u + step * v)
    finite = np.isfinite(before) & np.isfinite(after)
    rate = np.where(finite, (np.where(finite, before, 0.0) - np.where(finite, after, 0.0)) / step, 0.0)
    speeds: dict[str, float] = {}
    for interface, (a, b) in zip(assembly.system.interfaces, pairwise(assembly.contact.start), strict=False):
        for surface in surfaces_of(interface):
            name = surface.part.name
            speeds[name] = max(speeds.get(name, 0.0), float(rate[a:b].max(initial=0.0)))
    return speeds


def _lengths(assembly: Assembly) -> dict[str, float]:
    """Largest extent of each part with nodes, including the parts glued to it, m."""
    parts = {part.name: part for part in assembly.system.parts if hasattr(part, "positions")}
    glued = {name: {name} for name in parts}
    for junction in assembly.system.junctions:
        ends = [name for name in (junction.coarse.name, junction.fine.name) if name in glued]
        together = set().union(*(glued[name] for name in ends))
        glued |= dict.fromkeys(together, together)
    return {
        name: float(np.ptp(np.vstack([parts[each].positions for each in glued[name]]), axis=0).max()) for name in parts
    }
