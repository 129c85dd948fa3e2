"""What may not start: surfaces under unilateral contact that lie inside each other."""

from itertools import pairwise
from typing import Any

import numpy as np

from arlequin.assembly import Assembly
from arlequin.inside import inside, inside_outline
from arlequin.side import Side
from models.errors import UserError
from models.part import MeshedPart, Surface
from models.types import Array
from multilevel.facets import FacetMesh
from multilevel.interface import Interface
from multilevel.nodes import REACH
from multilevel.obstacle import Obstacle
from multilevel.pieces import Facets
from multilevel.search import FacetTree, in_space

_ROUND_OFF = 1e-10  # depth, relative to the part, that is none


def check_apart(assembly: Assembly, u: Array) -> None:
    """Surfaces under unilateral contact must not start interpenetrated: names the interface, amount and place.

    The mean gap of a function, (1/A) ∫ψ g dΓ, may be negative where g ≥ 0: where ψ changes its sign (P2 on a curved
    surface), or where g, along the slave's normal, runs past the end of the master. So it only says where to look: a
    start is refused where points of one surface lie behind the other, too.
    """
    contact = assembly.contact
    for interface, pairing, (a, b) in zip(contact.interfaces, contact.pairings, pairwise(contact.start), strict=True):
        if not (assembly.laws.level[a:b] > 0).any():
            continue
        slave, master = _moved(assembly, interface.slave, u), _moved(assembly, interface.master, u)
        found = pairing.at(slave, master)
        size = float(np.ptp(interface.slave.part.positions, axis=0).max())
        margin = _ROUND_OFF * (size or contact.scale.extent) + contact.scale.round_off  # a point has no size
        if not interface.weak:
            _refuse_behind(interface, found.positions, found.gap, margin)
        elif found.gap.min() < -margin:
            _refuse_points(interface, slave, master, margin)
        _refuse_inside(interface, found.positions[~found.paired])


def _refuse_points(interface: Interface, slave: Array, master: Array, margin: float) -> None:
    """Refuses nodes or quadrature points of the slave behind the master, and nodes of the master behind the slave."""
    places = Facets.of(interface.slave).places(slave)
    if isinstance(interface.master, Obstacle):
        _refuse_behind(interface, places, interface.master.closest(places)[0], margin)
        return
    assert isinstance(interface.master, Surface)
    distances = _distances(places, interface.master, master)
    _refuse_behind(interface, places, distances, margin)
    _refuse_behind(interface, master, _distances(master, interface.slave, slave), margin)
    _refuse_inside(interface, places[~np.isfinite(distances)])


def _moved(assembly: Assembly, surface: Any, u: Array) -> Array:
    """Positions (n, a) of a surface's nodes; none of what is fixed in space."""
    if not isinstance(surface, Surface):
        return np.zeros((0, 1))
    side = Side.of(surface, assembly.layout)
    return side.positions(side.rows @ u)


def _distances(points: Array, surface: Surface, positions: Array) -> Array:
    """Signed distances (k,) of the points from a surface of node positions (n, a), +inf where it is not near."""
    mesh = FacetMesh.of(surface)
    return FacetTree.build(mesh, positions).closest(in_space(points), REACH * float(mesh.size.max())).gap


def _refuse_behind(interface: Interface, points: Array, distances: Array, margin: float) -> None:
    deepest = float(distances.min())
    if deepest < -margin:  # the first of those equally deep, whatever their round-off
        _refuse(interface, -deepest, points[int(np.argmax(distances <= deepest + margin))])


def _refuse_inside(interface: Interface, points: Array) -> None:
    """Refuses points that lie too deep inside the master to have found a partner."""
    if not isinstance(interface.master, Surface) or not len(points):
        return
    part = interface.master.part
    within = inside(part.mesh, points) if isinstance(part, MeshedPart) else inside_outline(interface.master, points)
    deep = points[within]
    if len(deep):
        apart = np.linalg.norm(deep[:, None] - interface.master.positions[None], axis=2).min(axis=1)
        _refuse(interface, apart.max(), deep[int(np.argmax(apart))])


def _refuse(interface: Interface, amount: float, position: Array) -> None:
    place = ", ".join(f"{x:.6g}" for x in position)
    raise UserError(f"interface '{interface.name}': starts interpenetrated by {amount:.3g} m at ({place}) m")
