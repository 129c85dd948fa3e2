"""Models of the rocking block of SDNV105, let go from its tilt."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import arlequin as aq
from cases.rocking_measures import Array
from models.part import Surface

if TYPE_CHECKING:
    from cases.sdnv105 import Parameters


def drawn(parameters: "Parameters") -> float:
    """θ at which the block is drawn: small kinematics turn it from upright."""
    return 0.0 if parameters.model == "elastic" and parameters.kinematics == "small" else parameters.tilt


def rotation(angle: float) -> Array:
    """(2, 2)."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def rigid_block(p: "Parameters") -> tuple[aq.RigidBody, None]:
    """The rigid block."""
    corners = np.array([(0, 0), (2 * p.half_width, 0), (2 * p.half_width, 2 * p.half_height), (0, 2 * p.half_height)])
    outline = corners @ rotation(drawn(p)).T
    return aq.RigidBody("block", outline, density=p.density, names={"bottom": [0, 1]}), None


def elastic_block(p: "Parameters") -> tuple[aq.Solid, Any]:
    """The solid, and its start: in equilibrium under its weight, held at both ends of its base, at the tilt."""
    size = 2 * p.half_width, 2 * p.half_height
    rows = max(1, round(p.cells * p.half_height / p.half_width))
    mesh = aq.mesh.rectangle((0.0, size[0]), (0.0, size[1]), cells=(p.cells, rows))
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
    return solid, lambda x: sunk + x @ turn


def _node(solid: aq.Solid, place: Array) -> Surface:
    """The node there as a boundary."""
    node = np.array([int(((solid.positions - place) ** 2).sum(axis=1).argmin())])
    return Surface(
        solid, f"node {node[0]}", node, np.ones(1), np.array([[0.0, -1.0]]), np.zeros((0, 2), dtype=np.int64)
    )
