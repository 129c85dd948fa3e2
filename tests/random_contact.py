"""Random runs with moving contact: sliders, bodies thrown in holes, collisions; 2D and 3D, small meshes, few steps.

    python tests/random_contact.py 0:1000            all seeds, the worst runs of each measure, sums by kind of run
    python tests/random_contact.py 17 123            these seeds, a row each
    python tests/random_contact.py 0:1000 runs.csv   a line for each run, too

A run is its seed: `made(seed)`. Sizes are about 1 m, E and ρ such that waves of pressure travel at 1 m/s.
"""

import csv
import itertools
import os
import sys
import time as clock
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from energy_runs import Measures, bent, run
from scipy.optimize import brentq

import arlequin as aq
from arlequin.multilevel.obstacles.base import Obstacle

NU = 0.3
YOUNG = (1.0 + NU) * (1.0 - 2.0 * NU) / (1.0 - NU)  # λ + 2μ = 1
SOFT = aq.LinearElastic(young=YOUNG, poisson=NU, density=1.0)
HARD = aq.LinearElastic(young=30.0 * YOUNG, poisson=NU, density=3.0)
SCHEMES: dict[str, Any] = {
    "theta 0.5": aq.Theta(0.5),
    "newmark": aq.Newmark(),
    "theta 0.55": aq.Theta(0.55),
    "theta 1": aq.Theta(1.0),
    "hht": aq.HHT(-0.05),
    "alpha": aq.GeneralisedAlpha.with_radius(0.8),
}
CONSERVING = ("theta 0.5", "newmark")
# of the first thousand seeds: `covering(range(1000))`
COVERING = (
    0, 7, 8, 10, 11, 12, 22, 24, 26, 30, 32, 38, 39, 44, 46, 49, 53, 54, 56, 61, 62, 64, 67, 69, 72, 73, 74, 78, 81,
    82, 85, 89, 90, 92, 93, 95, 96, 98, 100, 102, 105, 109, 112, 118, 120, 122, 124, 126, 133, 136, 137, 140, 144,
    150, 153, 154, 155, 157, 161, 163, 164, 165, 168, 172, 174, 178, 186, 189, 194, 195, 198, 199, 207, 213, 214, 217,
    219, 226, 228, 230, 234, 235, 237, 242, 243, 245, 257, 259, 265, 269, 274, 280, 281, 285, 291, 296, 302, 304, 309,
    314, 326, 331, 332, 334, 337, 338, 340, 343, 346, 347, 349, 350, 351, 352, 358, 367, 372, 373, 376, 377, 381, 383,
    386, 388, 390, 392, 393, 398, 402, 403, 404, 407, 410, 414, 415, 417, 425, 442, 446, 447, 448, 449, 450, 451, 460,
    463, 465, 475, 478, 483, 488, 489, 494, 495, 499, 505, 513, 517, 520, 523, 530, 531, 537, 538, 544, 546, 555, 561,
    564, 568, 580, 585, 586, 593, 596, 609, 611, 615, 621, 628, 633, 634, 640, 642, 644, 654, 658, 660, 661, 669, 675,
    682, 687, 697, 702, 704, 709, 719, 723, 733, 742, 743, 744, 746, 750, 760, 768, 770, 772, 785, 788, 793, 800, 803,
    804, 806, 808, 809, 815, 819, 825, 832, 848, 854, 857, 860, 866, 867, 869, 879, 885, 886, 887, 890, 900, 901, 906,
    907, 909, 911, 914, 919, 927, 939, 964, 966, 968, 972, 977, 989, 990, 991, 992,
)  # fmt: skip
COLUMNS = ("gain", "made", "rise", "loss", "scheme", "balance", "depth", "active")  # of a table of runs


@dataclass
class Case:
    """A run and in which words it was drawn."""

    seed: int
    study: aq.Study
    words: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(f"{value}" for value in self.words.values() if value not in (None, ""))


# ----------------------------------------------------------------------------------------------------------- geometry


def rounded(mesh: Any, share: float) -> Any:
    """The mesh of a block about 0 of half-width 1/2 with its sides drawn towards the circle (sphere) by the share."""
    x = (2.0 * mesh.p) ** 2
    total = x.sum(axis=0)
    others = total - x  # squares of the other coordinates
    product = (np.prod(x, axis=0) / np.maximum(x, 1e-30)) if len(x) == 3 else 0.0
    return replace(mesh, doflocs=mesh.p * np.sqrt(1.0 - share * (0.5 * others - product / 3.0)))


def turned(mesh: Any, draw: np.random.Generator, most: float) -> Any:
    """The mesh turned about 0, in space about two axes."""
    p = mesh.p
    for i, j in ((0, 1), (1, 2))[: len(p) - 1]:
        angle = draw.uniform(-most, most)
        rotation = np.eye(len(p))
        rotation[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        p = rotation @ p
    return replace(mesh, doflocs=p)


def moved(mesh: Any, way: Any) -> Any:
    return replace(mesh, doflocs=mesh.p + np.asarray(way)[:, None])


def with_skin(mesh: Any) -> Any:
    """With the whole of its boundary as `skin`."""
    return replace(mesh, _boundaries={**mesh.boundaries, "skin": mesh.boundary_facets()})


def box(draw: np.random.Generator, axes: int, cells: int, kind: str) -> Any:
    """A block of side 1 about 0, rounded or not."""
    ends = (-0.5, 0.5)
    if axes == 2:
        mesh = aq.mesh.rectangle(ends, ends, cells=(cells,) * 2, kind=kind)
    else:
        mesh = aq.mesh.box(ends, ends, ends, cells=(cells,) * 3, kind=kind)
    share = float(draw.choice([0.0, 0.3, 0.7]))
    if draw.random() < 0.3:
        return with_skin(bent(mesh, float(draw.uniform(0.1, 0.5))))
    return with_skin(rounded(mesh, share))


def bumps(draw: np.random.Generator, axes: int) -> Any:
    """A height over the horizontal axes (a − 1, n): waves, or nothing."""
    height, number = float(draw.choice([0.0, 0.02, 0.08])), float(draw.uniform(1.0, 8.0))
    phases = draw.uniform(0.0, 2.0 * np.pi, axes - 1)
    return lambda x: height * np.cos(number * x + phases[:, None]).prod(axis=0)


def ground(draw: np.random.Generator, axes: int, cells: int, kind: str) -> Any:
    """A mesh 4 wide with a bumpy top near y = 0, for a part that is fixed at its bottom."""
    count = 3 * cells
    if axes == 2:
        mesh = aq.mesh.rectangle((-2.0, 2.0), (-0.8, 0.0), cells=(count + 1, 3), kind=kind)
    else:
        mesh = aq.mesh.box((-2.0, 2.0), (-0.8, 0.0), (-1.0, 1.0), cells=(count, 2, max(2, count // 2)), kind=kind)
    top, p = bumps(draw, axes), mesh.p.copy()
    p[1] += top(np.delete(p, 1, axis=0)) * (p[1] + 0.8) / 0.8
    return replace(mesh, doflocs=p)


def obstacle(draw: np.random.Generator, axes: int, name: str) -> Any:
    """A rigid floor about y = 0, or a hole around 0."""
    up = np.eye(axes)[1]
    if name == "plane":
        normal = up + 0.15 * draw.normal(size=axes)
        return aq.RigidPlane((0.0,) * axes, tuple(normal / np.linalg.norm(normal)))
    radius = float(draw.uniform(2.5, 5.0))
    if name == "hill":
        return aq.RigidSphere(-radius * up, radius)
    if name == "bowl":
        return aq.RigidSphere(radius * up, radius, inside=True)
    if name == "log":
        return aq.RigidCylinder((0.0, -radius, 0.0), (0.3, 0.0, 1.0), radius)
    if name == "edge":
        return aq.RigidBox((-3.0,) * axes, tuple(np.where(up == 1.0, 0.0, 0.4)))
    if name == "waves":
        top, count = bumps(draw, axes), int(draw.integers(10, 40))
        x = np.linspace(-3.0, 3.0, count)
        if axes == 2:
            return aq.RigidPolyline(np.stack([x, top(x[None])], axis=1)[::-1])
        return surface(x, top)
    if name == "round hole":
        return aq.RigidSphere((0.0,) * axes, 1.5, inside=True)
    if name == "square hole":
        return aq.RigidBox((-1.4,) * axes, (1.4,) * axes, inside=True)
    angle = np.linspace(0.0, 2.0 * np.pi, int(draw.integers(7, 30)), endpoint=False)[::-1]  # clockwise
    return aq.RigidPolyline(1.5 * np.stack([np.cos(angle), 0.9 * np.sin(angle)], axis=1), closed=True)


def surface(x: Any, top: Any) -> aq.RigidSurface:
    """The heights over the grid x × x as triangles seen from above."""
    n = len(x)
    i, k = np.meshgrid(np.arange(n - 1), np.arange(n - 1), indexing="ij")
    a = (i * n + k).ravel()
    triangles = np.concatenate([np.stack([a, a + 1, a + n], axis=1), np.stack([a + 1, a + n + 1, a + n], axis=1)])
    across = np.stack([each.ravel() for each in np.meshgrid(x, x, indexing="ij")])
    return aq.RigidSurface(np.stack([across[0], top(across), across[1]], axis=1), triangles)


def outside(part: Any, name: str) -> Any:
    """A boundary of a part as a rigid obstacle, for the distances at the start."""
    if isinstance(part, aq.RigidBody):
        return aq.RigidPolyline(part.outline, closed=True)
    side = part.boundary(name)
    if part.positions.shape[1] == 2:
        after = dict(side.facets[:, :2].tolist())  # both have the solid on the left of the way
        start = next(iter(set(after) - set(after.values())), next(iter(after)))
        order = [start]
        while after.get(order[-1], start) != start:
            order.append(after[order[-1]])
        return aq.RigidPolyline(part.positions[order], closed=order[-1] in after)
    corners = np.arange(side.facets.shape[1])
    triangles = [side.facets[:, [0, k, k + 1]] for k in corners[1:-1]]
    return aq.RigidSurface(part.positions, np.concatenate(triangles))


def least(points: Any, floor: Any, lift: float) -> float:
    """The least gap of the points (n, a) after a lift; 1000 where none has a partner."""
    found = floor.closest(np.ascontiguousarray(points + lift * np.eye(points.shape[1])[1]))[0]
    return float(found[np.isfinite(found)].min(initial=1e3))


def drop(part: Any, name: str, floor: Any, margin: float, high: float, other: Any = None) -> float:
    """By how much to lift the part for the least gap to the floor to be the margin, coming from above; other: the part
    and boundary that the floor is, whose nodes are to be apart from the part as well."""
    side = part.boundary(name)
    points = part.positions[side.nodes]
    back = None if other is None else outside(part, name)

    def gap(lift: float) -> float:
        found = least(points, floor, lift)
        if back is not None:
            found = min(found, least(other[0].positions[other[0].boundary(other[1]).nodes], back, -lift))
        return found - margin

    lifts = np.arange(high, -4.0, -0.05)
    low = next((lift for lift in lifts if gap(lift) < 0.0), None)
    if low is None or low == high:
        return high
    return float(brentq(gap, low, low + 0.05, xtol=1e-13)) + 1e-12


# -------------------------------------------------------------------------------------------------------------- draws


def interface(draw: np.random.Generator, words: dict[str, Any], slave: Any, master: Any, wears: bool) -> aq.Interface:
    """Laws, friction, multiplier and wear between two surfaces."""
    level = str(draw.choice(["velocity", "gap"], p=[0.85, 0.15]))
    law: Any = aq.Unilateral(level=level)
    words["law"] = level
    if draw.random() < 0.12:
        law = [aq.Asperities(10.0 * YOUNG, float(draw.choice([1.0, 2.0])), 0.02), law]
        words["law"] += "+layer"
    friction = None if draw.random() < 0.4 else float(draw.choice([0.0, 0.1, 0.3, draw.uniform(0.0, 1.0)]))
    wear = None
    if friction is not None and wears and draw.random() < 0.12:
        wear = aq.Archard(float(10.0 ** draw.uniform(-2.0, 0.0)) / YOUNG)
        words["wear"] = "wear"
    words["mu"] = "" if friction is None else f"mu={friction:.3g}"
    spaces = [None, "nodes", "gauss", "P0", "P1"]
    multiplier: Any = spaces[int(draw.integers(5))]
    if words["body"] == "polygon":
        multiplier = None if isinstance(master, Obstacle) else "nodes"
    words["multiplier"] = multiplier or "default"
    rubbing = None if friction is None else aq.Coulomb(friction)
    return aq.Interface("touch", slave, master, law, rubbing, multiplier=multiplier, wear=wear)


def polygon(draw: np.random.Generator, name: str, centre: Any) -> aq.RigidBody:
    """A convex polygon of radius 1/2."""
    count = int(draw.integers(3, 8))
    angle = 2.0 * np.pi * (np.arange(count) + 0.6 * draw.random(count)) / count
    return aq.RigidBody(name, np.asarray(centre) + 0.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1), density=1.0)


def solid(name: str, mesh: Any, words: dict[str, Any], **more: Any) -> aq.Solid:
    plane = "strain" if mesh.dim() == 2 else None
    law = more.pop("law", SOFT)
    finite = "finite" if words["kinematics"] == "finite" else "small"
    return aq.Solid(name, mesh, law, plane=plane, mass=words["mass"], kinematics=finite, **more)


def made(seed: int, margin: float = 1e-3) -> Case:
    """The run of a seed. margin: gap at the start, m."""
    draw = np.random.default_rng([seed, 19])
    words: dict[str, Any] = {"seed": f"#{seed}"}
    axes = int(draw.choice([2, 3], p=[0.7, 0.3]))
    kind = str(draw.choice([["quad", "tri"], ["hex", "tet"]][axes - 2]))
    scene = str(draw.choice(["slider", "hole", "collision"], p=[0.55, 0.2, 0.25]))
    bodies = ["solid", "rigid", *(["polygon", "zoom"] if axes == 2 else [])]
    body = str(draw.choice(bodies, p=[0.6, 0.14, 0.16, 0.1] if axes == 2 else [0.85, 0.15]))
    if body == "zoom" and scene != "slider":
        body = "solid"
    words.update(axes=f"{axes}D", scene=scene, body=body)
    words["scheme"] = "theta 0.5" if body == "rigid" else str(draw.choice(list(SCHEMES)))
    finite = body == "solid" and words["scheme"].startswith("theta") and draw.random() < 0.08 and axes == 2
    words["kinematics"] = "finite" if finite else ""
    words["mass"] = str(draw.choice(["consistent", "lumped", "redistributed"], p=[0.75, 0.15, 0.1]))
    if (
        body == "rigid" or finite or (scene != "slider" and words["mass"] == "redistributed")
    ):  # corners have no neighbours
        words["mass"] = "consistent"
    words["kind"] = kind
    cells = int(draw.integers(2, 6 if axes == 2 else 4))
    courant = float(10.0 ** draw.uniform(np.log10(0.5), np.log10(50.0)))
    words["courant"] = f"C={courant:.3g}"
    steps = 20 if finite or body == "rigid" else int(draw.integers(20, 81 if axes == 2 else 31))
    step = courant / cells
    # fast enough to go some way in the run, slow enough for strains and ways in a step to be small
    speed = float(np.clip(10.0 ** draw.uniform(-2.5, -1.0), min(0.5 / (steps * step), 0.15), 2.0 / courant))
    if body in ("rigid", "polygon"):
        step = min(max(step, 0.02 / speed), 0.2 / speed)  # no wave limits it
    make = {"slider": slider, "hole": hole, "collision": collision}[scene]
    system = make(draw, words, axes, cells, kind, speed, margin)
    return Case(seed, aq.Study(system, SCHEMES[words["scheme"]], steps * step * (1.0 - 1e-9), step), words)


def slave_part(
    draw: np.random.Generator, words: dict[str, Any], axes: int, cells: int, kind: str, turn: float, load: float = 0.0
) -> tuple[list[Any], list[Any], str]:
    """Parts about 0 whose last one touches, their junctions, and the boundary that touches."""
    pull: dict[str, Any] = {"tractions": {"top": tuple(-load * np.eye(axes)[1])}} if load else {}
    if words["body"] == "polygon":
        force = {"force": (0.0, -load)} if load else {}
        return [replace(polygon(draw, "body", (0.0, 0.0)), **force)], [], "outline"
    if words["body"] == "zoom":
        coarse = aq.mesh.rectangle((-0.5, 0.5), (-0.2, 0.5), cells=(cells, max(3, cells)))
        fine = aq.mesh.rectangle((-0.5, 0.5), (-0.5, 0.1), cells=(2 * cells + 1, 2 * cells - 1))
        parts = [solid("body", coarse, words, **pull), solid("fine", fine, words)]
        return parts, [aq.Junction(*parts)], "bottom"
    mesh = turned(box(draw, axes, cells, kind), draw, turn)
    part = solid("body", mesh, words, **pull)
    name = "bottom" if load else "skin"
    return [aq.Rigid(part) if words["body"] == "rigid" else part], [], name


def lifted(parts: list[Any], junctions: list[Any], way: Any) -> tuple[list[Any], list[Any]]:
    """The parts moved by a way (a,), with the junctions between them."""
    new: list[Any] = []
    for part in parts:
        if isinstance(part, aq.RigidBody):
            new.append(replace(part, outline=part.outline + np.asarray(way)))
        elif isinstance(part, aq.Rigid):
            new.append(aq.Rigid(replace(part.part, mesh=moved(part.part.mesh, way))))
        else:
            new.append(replace(part, mesh=moved(part.mesh, way)))
    return new, [aq.Junction(*new) for _ in junctions]


def spinning(centre: Any, velocity: Any, spin: float) -> Any:
    """The field of velocities of a body that moves and turns about z (in space: the last axis)."""

    def field(x: Any) -> Any:
        arm = x - centre
        out = np.tile(np.asarray(velocity, dtype=float), (len(x), 1))
        out[:, 0] -= spin * arm[:, 1]
        out[:, 1] += spin * arm[:, 0]
        return out

    return field


def slider(
    draw: np.random.Generator, words: dict[str, Any], axes: int, cells: int, kind: str, speed: float, margin: float
) -> aq.System:
    """A body pressed on a floor, rigid or not, and sent along it."""
    load = float(10.0 ** draw.uniform(-4.0, -2.0))
    if words["body"] in ("rigid", "polygon"):  # its load moves no stress about, but the body
        load = min(load, 20.0 * speed**2)
    parts, junctions, name = slave_part(draw, words, axes, cells, kind, 0.1, load)
    floors = ["part", "part", "part", "plane", "hill", "bowl", "waves", "edge", *(["log"] if axes == 3 else [])]
    words["master"] = master = str(draw.choice(floors))
    place = (float(draw.uniform(-0.8, 0.3)), 0.0, 0.0)[:axes]
    parts, junctions = lifted(parts, junctions, place)
    fixed = {"bottom": dict.fromkeys("xyz"[:axes], 0.0)}
    if master == "part":
        mesh = ground(draw, axes, cells, kind)
        law = HARD if draw.random() < 0.3 else SOFT
        motion: dict[str, Any] = {"imposed": fixed}
        more = np.random.default_rng([int(str(words["seed"])[1:]), 20])
        if words["kinematics"] != "finite" and more.random() < 0.2:  # the floor is driven under the body
            words["driven"] = "driven"
            moving = {**fixed["bottom"], "x": -0.7 * speed, "y": driven(speed, more.random())}
            motion = {"imposed_velocity": {"bottom": moving}}
        floor: Any = solid("floor", mesh, words, law=law, **motion)
        lift = drop(parts[-1], name, outside(floor, "top"), margin, 1.5, (floor, "top"))
        parts, junctions = lifted(parts, junctions, (0.0, lift, 0.0)[:axes])
        sides = parts[-1].boundary(name), floor.boundary("top")
        if draw.random() < 0.3 and words["body"] == "solid":
            sides = sides[::-1]
            words["master"] = "slave part"
        parts = [floor, *parts]
    else:
        floor = obstacle(draw, axes, master)
        lift = drop(parts[-1], name, floor, margin, floor.radius if master == "bowl" else 3.0)
        parts, junctions = lifted(parts, junctions, (0.0, lift, 0.0)[:axes])
        sides = parts[-1].boundary(name), floor
    wears = words["kinematics"] != "finite" and words["body"] == "solid"
    touch = interface(draw, words, *sides, wears)
    across = float(draw.uniform(-0.3, 0.3))
    velocity = speed * np.array([1.0, float(draw.uniform(-0.5, 0.0)), across])[:axes]
    fields = {part.name: tuple(velocity) for part in parts if part.name != "floor"}
    return aq.System(parts, junctions, [touch], velocity=fields, contact=method(words))


def driven(speed: float, share: float) -> Any:
    """A velocity that shakes a floor up and down."""
    return lambda t: 0.1 * share * speed * np.sin(0.2 * t)


def hole(
    draw: np.random.Generator, words: dict[str, Any], axes: int, cells: int, kind: str, speed: float, margin: float
) -> aq.System:
    """A body thrown along the wall of a hole, under gravity."""
    parts, junctions, name = slave_part(draw, words, axes, cells, kind, np.pi)
    words["master"] = master = str(
        draw.choice(["round hole", "square hole", *(["polygonal hole"] if axes == 2 else [])])
    )
    wall = obstacle(draw, axes, master)
    lift = drop(parts[-1], name, wall, margin, 0.1)
    parts, junctions = lifted(parts, junctions, (0.0, lift, 0.0)[:axes])
    touch = interface(draw, words, parts[-1].boundary(name), wall, False)
    velocity = speed * np.array([1.0, float(draw.uniform(-1.0, 0.2)), 0.3])[:axes]
    pull = tuple(-float(draw.uniform(0.0, 2.0)) * speed**2 * np.eye(axes)[1])
    fields = {"body": spinning(np.array((0.0, lift, 0.0)[:axes]), velocity, float(draw.normal()) * speed)}
    return aq.System(parts, junctions, [touch], velocity=fields, gravity=pull, contact=method(words))


def collision(
    draw: np.random.Generator, words: dict[str, Any], axes: int, cells: int, kind: str, speed: float, margin: float
) -> aq.System:
    """Two free bodies."""
    parts, junctions, name = slave_part(draw, words, axes, cells, kind, np.pi)
    mesh = turned(box(draw, axes, cells + 1, kind), draw, np.pi if axes == 2 else 0.5)
    other: Any = solid("other", mesh, words, law=HARD if draw.random() < 0.3 else SOFT)
    words["master"] = "other"
    if words["body"] == "rigid" and draw.random() < 0.5:
        other, words["master"] = aq.Rigid(other), "rigid other"
    if words["body"] == "polygon" and draw.random() < 0.5:
        other, words["master"] = polygon(draw, "other", (0.0, 0.0)), "polygon other"
    skin = "outline" if isinstance(other, aq.RigidBody) else "skin"
    way = np.array([float(draw.uniform(-0.4, 0.4)), 0.0, float(draw.uniform(-0.2, 0.2))])[:axes]
    parts, junctions = lifted(parts, junctions, way)
    way[1] = drop(parts[-1], name, outside(other, skin), margin, 2.0, (other, skin))
    parts, junctions = lifted(parts, junctions, np.eye(axes)[1] * way[1])
    touch = interface(draw, words, parts[-1].boundary(name), other.boundary(skin), False)
    velocity = speed * np.array([float(draw.uniform(-1.0, 1.0)), -0.7, 0.2])[:axes]
    fields = {
        "body": spinning(way, velocity, float(draw.normal()) * speed),
        "other": spinning(np.zeros(axes), -velocity, 0.0),
    }
    return aq.System([*parts, other], junctions, [touch], velocity=fields, contact=method(words))


def method(words: dict[str, Any]) -> aq.ContactMethod:
    """Multipliers at Gauss points are more than the displacements determine, those of rigid bodies are too."""
    return aq.ContactMethod(stabilised=words["multiplier"] == "gauss" or words["body"] in ("rigid", "polygon"))


# ---------------------------------------------------------------------------------------------------------------- runs


@dataclass
class Outcome:
    """A case and its measures, or why there are none; seconds of all of it."""

    case: Case
    measures: Measures | None
    refused: str
    seconds: float


def outcome(seed: int) -> Outcome:
    """Runs a seed; a start that is interpenetrated gets more room."""
    begin, margin = clock.perf_counter(), 1e-3
    while True:
        case = made(seed, margin)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", aq.JunctionWarning)
                measures = run(case.study)[1]
            return Outcome(case, measures, "", clock.perf_counter() - begin)
        except aq.UserError as error:
            if "interpenetrated" not in str(error) or margin > 0.3:
                return Outcome(case, None, str(error), clock.perf_counter() - begin)
            margin *= 4.0


def triples(case: Case) -> set[frozenset[tuple[str, str]]]:
    """The triples of a run's words: of numbers whether there is friction, and not the step."""
    told = {key: str(value) for key, value in case.words.items() if key not in ("seed", "courant")}
    if told["mu"] not in ("", "mu=0"):
        told["mu"] = "rough"
    return {frozenset(triple) for triple in itertools.combinations(sorted(told.items()), 3)}


def covering(seeds: Iterable[int], least: int = 4) -> list[int]:
    """Few of the seeds, whose runs have each triple of words that `least` of all have; chosen one by one."""
    own = {seed: triples(made(seed)) for seed in seeds}
    counted = Counter(triple for found in own.values() for triple in found)
    left, chosen = {triple for triple, count in counted.items() if count >= least}, []
    while left:
        chosen.append(max(own, key=lambda seed: len(own[seed] & left)))
        left -= own[chosen[-1]]
    return sorted(chosen)


def seeds_of(words: list[str]) -> list[int]:
    out: list[int] = []
    for word in words:
        first, _, last = word.partition(":")
        out += range(int(first), int(last)) if last else [int(first)]
    return out


def worst(found: list[Outcome], count: int = 12) -> None:
    """Tables of what runs did."""
    ran = [one for one in found if one.measures is not None]
    keys = {
        "gain of energy": lambda m: m.gain,
        "energy made by contact": lambda m: m.made,
        "fall of impact": lambda m: m.fall.get("impact", 0.0),
        "fall of friction": lambda m: m.fall.get("friction", 0.0),
        "balance": lambda m: m.balance,
        "time of a step": lambda m: m.seconds,
    }
    for name, key in keys.items():
        print(f"\n{name}, worst {count}\n{Measures.HEAD}  case")
        for one in sorted(ran, key=lambda one: -key(one.measures))[:count]:
            print(f"{one.measures.row()}  {one.case}")
    print(
        "\nruns by kind: of those that ended, gain > 1e-10, made > 1e-10, impact falls > 1e-12, friction falls > 1e-12"
    )
    for word in (
        "axes",
        "scene",
        "body",
        "master",
        "scheme",
        "law",
        "multiplier",
        "kinematics",
        "wear",
        "driven",
        "mass",
        None,
    ):
        for value in sorted({one.case.words.get(word, "") for one in found} if word else {"all"}):
            own = [one for one in found if word is None or one.case.words.get(word, "") == value]
            done = [one.measures for one in own if one.measures is not None]
            print(
                f"  {word or '':<11}{value or '-':<15}{len(own):>5} runs {len(own) - len(done):>4} refused"
                f"{sum(m.gain > 1e-10 for m in done):>6}{sum(m.made > 1e-10 for m in done):>6}"
                f"{sum(m.fall.get('impact', 0.0) > 1e-12 for m in done):>6}"
                f"{sum(m.fall.get('friction', 0.0) > 1e-12 for m in done):>6}"
            )
    print("\nrefused:")
    for text, times in Counter(generic(one.refused) for one in found if one.refused).most_common():
        print(f"  {times:>4}  {text}")
    silent = sum(m.measures.active == 0.0 for m in ran)
    print(f"\n{silent} runs without contact; {sum(one.seconds for one in found):.0f} s in all")


def generic(text: str) -> str:
    """A message without its numbers."""
    return " ".join("…" if any(letter.isdigit() for letter in word) else word for word in text.split())


def main(given: list[str]) -> None:
    """Runs the seeds given."""
    path = next((word for word in given if word.endswith(".csv")), None)
    seeds = seeds_of([word for word in given if word != path])
    few, found = len(seeds) <= 60, []
    if few:
        print(f"{Measures.HEAD}  case")
    with open(path or os.devnull, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["seed", "case", "refused", *COLUMNS, "impact", "friction", "s"])
        for seed in seeds:
            one = outcome(seed)
            found.append(one)
            m = one.measures
            values = [""] * (len(COLUMNS) + 2)
            if m is not None:
                values = [getattr(m, name) for name in COLUMNS] + [m.fall.get(k, 0.0) for k in ("impact", "friction")]
            table.writerow([seed, str(one.case), one.refused, *values, one.seconds])
            file.flush()
            if few:
                text = "refused: " + one.refused if m is None else m.row()
                print(f"{text}  {one.case}  ({one.seconds:.2f} s)", flush=True)
    if not few:
        worst(found)


if __name__ == "__main__":
    main(sys.argv[1:])
