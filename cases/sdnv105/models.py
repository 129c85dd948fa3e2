"""Models of the rocking block of SDNV105, let go from its tilt."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import arlequin as aq
from arlequin.cases.shared.vocabulary import scheme_of
from arlequin.models.part import Surface
from arlequin.models.types import Array

if TYPE_CHECKING:
    from arlequin.cases.sdnv105 import Parameters


def drawn(parameters: "Parameters") -> float:
    """θ at which the block is drawn: small kinematics turn it from upright."""
    return 0.0 if is_elastic(parameters) and parameters.kinematics == "small" else parameters.tilt


def rotation(angle: float) -> Array:
    """(2, 2)."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def is_elastic(parameters: "Parameters") -> bool:
    """Whether the block is a solid."""
    return parameters.model in ("elastic", "elastic-springs")


def on_springs(parameters: "Parameters") -> bool:
    """Whether three shock elements carry the block, as in the benchmark's model B."""
    return parameters.model in ("springs", "elastic-springs")


def located(parameters: "Parameters") -> bool:
    """Whether impacts are located inside the step."""
    p = parameters
    usual = p.events == "usual" and p.model == "rigid" and p.scheme == "theta" and p.theta in (None, 0.5)
    return p.events == "locate" or usual


def scheme(parameters: "Parameters") -> Any:
    """The time scheme; θ is 1/2 with located impacts and on springs, else 1 (rigid) or 0.55 (elastic)."""
    p = parameters
    usual = 0.5 if located(p) or on_springs(p) else 0.55 if is_elastic(p) else 1.0
    return scheme_of(p.scheme, usual if p.theta is None else p.theta, "locate" if located(p) else "step")


def rigid_block(p: "Parameters") -> tuple[aq.RigidBody, Array]:
    """The rigid block, its base with a corner at the middle on springs; and its start, m: the springs give way."""
    b, height = p.half_width, 2 * p.half_height
    base = [(0, 0), (b, 0), (2 * b, 0)] if on_springs(p) else [(0, 0), (2 * b, 0)]
    outline = np.array([*base, (2 * b, height), (0, height)]) @ rotation(drawn(p)).T
    names = {"bottom": list(range(len(base)))}
    return aq.RigidBody("block", outline, density=p.density, names=names), np.array([0.0, -sink(p)])


def sink(p: "Parameters") -> float:
    """How far the weight presses one shock element, m: Mg/K."""
    mass = 4 * p.density * p.half_width * p.half_height
    return mass * p.gravity / p.spring_stiffness if on_springs(p) else 0.0


def elastic_block(p: "Parameters") -> tuple[aq.Solid, Any]:
    """The solid, and its start: in equilibrium under its weight, held at both ends of its base, at the tilt."""
    size = 2 * p.half_width, 2 * p.half_height
    rows = max(1, round(p.cells * p.half_height / p.half_width))
    cells = p.cells + p.cells % 2 if on_springs(p) else p.cells  # the middle of the base is a node
    mesh = aq.mesh.rectangle((0.0, size[0]), (0.0, size[1]), cells=(cells, rows))
    solid = aq.Solid(
        "block", replace(mesh, doflocs=rotation(drawn(p)) @ mesh.p),
        aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density), plane="stress",
        kinematics=p.kinematics, damping=aq.Rayleigh(stiffness=p.damping) if p.damping else None,
    )  # fmt: skip
    left, right = (_node(solid, rotation(drawn(p)) @ (x, 0.0)) for x in (0.0, size[0]))
    held = [(left, "x"), (left, "y"), (right, "y")]
    relations = [aq.Relation(f"{end.name} {axis}", [(end, axis, 1.0)]) for end, axis in held]
    statics = aq.System([solid], relations=relations, gravity=lambda t: (0.0, -p.gravity * t))
    sunk = aq.simulate(statics, aq.Static(), duration=1.0, step=1.0)["part/block"].dataset["displacement"].values[-1]
    turn = (p.tilt - drawn(p)) * np.array([[0.0, 1.0], [-1.0, 0.0]])
    return solid, lambda x: sunk + x @ turn + (0.0, -sink(p))


def contact(block: Any, p: "Parameters") -> tuple[aq.Interface, tuple[Any, ...]]:
    """What the block stands on, and the parts that it takes: none, or the table of the benchmark."""
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    if on_springs(p):
        rough = aq.Coulomb(p.friction, stiffness=p.spring_tangential) if p.friction > 0.0 else None
        law = aq.ImpactElement(p.spring_stiffness, p.spring_damping)
        return aq.Interface("table", feet(block, p), floor, law, friction=rough), ()
    rough = aq.Coulomb(p.friction) if p.friction > 0.0 else None
    if p.table == "rigid":
        return aq.Interface("table", block.boundary("bottom"), floor, aq.Unilateral(), friction=rough), ()
    table = elastic_table(p)
    # the block turns about its corner: gaps that are means over an edge would move it inwards by a part of a cell
    touch = aq.Interface(
        "table", block.boundary("bottom"), table.boundary("top"), aq.Unilateral(), friction=rough, multiplier="nodes"
    )
    return touch, (table,)


def feet(block: Any, p: "Parameters") -> Surface:
    """Both ends and the middle of the base, each a point of 1 m²: laws per area are laws of its force."""
    places = np.array([(x, 0.0) for x in (0.0, p.half_width, 2 * p.half_width)]) @ rotation(drawn(p)).T
    nodes = np.array([int(((block.positions - place) ** 2).sum(axis=1).argmin()) for place in places])
    down = np.tile([0.0, -1.0], (3, 1))
    return Surface(block, "feet", nodes, np.ones(3), down, nodes[:, None])


def elastic_table(p: "Parameters") -> aq.Solid:
    """The table, twice as wide as the block, its underside held; it hardly moves: small kinematics."""
    half, depth = p.half_width, 0.08
    mesh = aq.mesh.rectangle((-half, 3 * half), (-depth, 0.0), cells=(2 * p.cells, 2))
    return aq.Solid(
        "support", mesh, aq.LinearElastic(young=1e14, poisson=0.3, density=2500.0), plane="stress",
        damping=aq.Rayleigh(stiffness=1e-3), imposed={"bottom": {"x": 0.0, "y": 0.0}},
    )  # fmt: skip


def _node(solid: aq.Solid, place: Array) -> Surface:
    """The node there as a boundary."""
    node = np.array([int(((solid.positions - place) ** 2).sum(axis=1).argmin())])
    return Surface(
        solid, f"node {node[0]}", node, np.ones(1), np.array([[0.0, -1.0]]), np.zeros((0, 2), dtype=np.int64)
    )
