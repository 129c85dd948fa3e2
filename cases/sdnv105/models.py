"""Models of the rocking block of SDNV105, released from its tilt."""

from dataclasses import replace
from typing import Any

import numpy as np

import arlequin as aq
from arlequin.cases.sdnv105.parameters import Parameters
from arlequin.cases.shared.vocabulary import scheme_of
from arlequin.models.part import Surface
from arlequin.models.types import Array


def reference_angle(parameters: Parameters) -> float:
    """θ of the reference configuration; 0 with small kinematics, where the rotation is a displacement."""
    return 0.0 if is_elastic(parameters) and parameters.kinematics == "small" else parameters.tilt


def rotation(angle: float) -> Array:
    """Rotation matrix (2, 2)."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def is_elastic(parameters: Parameters) -> bool:
    """Whether the block is a solid."""
    return parameters.model in ("elastic", "elastic-springs")


def on_springs(parameters: Parameters) -> bool:
    """Whether three shock elements carry the block, as in the benchmark's model B."""
    return parameters.model in ("springs", "elastic-springs")


def located(parameters: Parameters) -> bool:
    """Whether impacts are located inside the step."""
    p = parameters
    default = p.events == "usual" and p.model == "rigid" and p.scheme == "theta" and p.theta in (None, 0.5)
    return p.events == "locate" or default


def scheme(parameters: Parameters) -> Any:
    """The time scheme; θ is 1/2 with located impacts and on springs, else 1 (rigid) or 0.55 (elastic)."""
    p = parameters
    default_theta = 0.5 if located(p) or on_springs(p) else 0.55 if is_elastic(p) else 1.0
    return scheme_of(p.scheme, default_theta if p.theta is None else p.theta, "locate" if located(p) else "step")


def rigid_block(p: Parameters) -> tuple[aq.RigidBody, Array]:
    """Rigid block, on springs with a corner in the middle of its base, and its initial displacement, m."""
    b, height = p.half_width, 2 * p.half_height
    base = [(0, 0), (b, 0), (2 * b, 0)] if on_springs(p) else [(0, 0), (2 * b, 0)]
    outline = np.array([*base, (2 * b, height), (0, height)]) @ rotation(reference_angle(p)).T
    names = {"bottom": list(range(len(base)))}
    return aq.RigidBody("block", outline, density=p.density, names=names), np.array([0.0, -static_sink(p)])


def static_sink(p: Parameters) -> float:
    """Static compression of one shock element by the weight, m: Mg/K."""
    mass = 4 * p.density * p.half_width * p.half_height
    return mass * p.gravity / p.spring_stiffness if on_springs(p) else 0.0


def elastic_block(p: Parameters) -> tuple[aq.Solid, Any]:
    """Solid and its initial displacement: equilibrium under its weight, supported at both ends of its base, at the
    tilt."""
    size = 2 * p.half_width, 2 * p.half_height
    rows = max(1, round(p.cells * p.half_height / p.half_width))
    cells = p.cells + p.cells % 2 if on_springs(p) else p.cells  # the middle of the base is a node
    mesh = aq.mesh.rectangle((0.0, size[0]), (0.0, size[1]), cells=(cells, rows))
    solid = aq.Solid(
        "block", replace(mesh, doflocs=rotation(reference_angle(p)) @ mesh.p),
        aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density), plane="stress",
        kinematics=p.kinematics, damping=aq.Rayleigh(stiffness=p.damping) if p.damping else None,
    )  # fmt: skip
    left_node, right_node = (_node(solid, rotation(reference_angle(p)) @ (x, 0.0)) for x in (0.0, size[0]))
    supported = [(left_node, "x"), (left_node, "y"), (right_node, "y")]
    relations = [aq.Relation(f"{end.name} {axis}", [(end, axis, 1.0)]) for end, axis in supported]
    statics = aq.System([solid], relations=relations, gravity=lambda t: (0.0, -p.gravity * t))
    sagged = aq.simulate(statics, aq.Static(), duration=1.0, step=1.0)["part/block"].dataset["displacement"].values[-1]
    rotation_change = (p.tilt - reference_angle(p)) * np.array([[0.0, 1.0], [-1.0, 0.0]])
    return solid, lambda x: sagged + x @ rotation_change + (0.0, -static_sink(p))


def contact(block: Any, p: Parameters) -> tuple[aq.Interface, tuple[Any, ...]]:
    """Interface of the block and its support, and additional parts: none, or the table of the benchmark."""
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    if on_springs(p):
        friction = aq.Coulomb(p.friction, stiffness=p.spring_tangential) if p.friction > 0.0 else None
        law = aq.ImpactElement(p.spring_stiffness, p.spring_damping)
        return aq.Interface("table", feet(block, p), floor, law, friction=friction), ()
    friction = aq.Coulomb(p.friction) if p.friction > 0.0 else None
    if p.table == "rigid":
        return aq.Interface("table", block.boundary("bottom"), floor, aq.Unilateral(), friction=friction), ()
    table = elastic_table(p)
    # the block rotates about its corner: gaps averaged over an edge would shift the pivot inwards by a fraction of a
    # cell
    interface = aq.Interface(
        "table", block.boundary("bottom"), table.boundary("top"), aq.Unilateral(), friction=friction, multiplier="nodes"
    )
    return interface, (table,)


def feet(block: Any, p: Parameters) -> Surface:
    """Contact points at both ends and the middle of the base, of 1 m² each: laws per area are laws per force."""
    points = np.array([(x, 0.0) for x in (0.0, p.half_width, 2 * p.half_width)]) @ rotation(reference_angle(p)).T
    nodes = np.array([int(((block.positions - point) ** 2).sum(axis=1).argmin()) for point in points])
    normals = np.tile([0.0, -1.0], (3, 1))
    return Surface(block, "feet", nodes, np.ones(3), normals, nodes[:, None])


def elastic_table(p: Parameters) -> aq.Solid:
    """Table, twice as wide as the block, fixed at its underside; small kinematics, as its motion is small."""
    half, depth = p.half_width, 0.08
    mesh = aq.mesh.rectangle((-half, 3 * half), (-depth, 0.0), cells=(2 * p.cells, 2))
    return aq.Solid(
        "support", mesh, aq.LinearElastic(young=1e14, poisson=0.3, density=2500.0), plane="stress",
        damping=aq.Rayleigh(stiffness=1e-3), imposed={"bottom": {"x": 0.0, "y": 0.0}},
    )  # fmt: skip


def _node(solid: aq.Solid, point: Array) -> Surface:
    """Boundary of the node nearest to a point."""
    node = np.array([int(((solid.positions - point) ** 2).sum(axis=1).argmin())])
    return Surface(
        solid, f"node {node[0]}", node, np.ones(1), np.array([[0.0, -1.0]]), np.zeros((0, 2), dtype=np.int64)
    )
