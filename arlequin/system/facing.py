"""Orientation of contact surfaces: detection of a slave in contact with the back of its master."""

from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.part import Surface
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.obstacles.base import Obstacle
from arlequin.multilevel.pairing.collocation import REACH
from arlequin.multilevel.search.corners import sharp_edges
from arlequin.multilevel.search.facets import FacetMesh, in_space
from arlequin.multilevel.search.search import FacetTree
from arlequin.system.contact import ContactSide

AWAY = 0.3  # cosine between the outward normals of both sides of a contact, above which their orientation is wrong
_TURNED = {
    "RigidPlane": "its normal points out of the obstacle, towards the part: change the sign",
    "RigidPlanes": "their normals point out of the obstacles, towards the part: change the signs",
    "RigidSphere": "inside=True is for a part in a hole, inside=False for one outside of a ball",
    "RigidCylinder": "inside=True is for a part in a hole, inside=False for one around a cylinder or beside it",
    "RigidBox": "inside=True is for a part in a room, inside=False for one outside of a box",
    "RigidPolyline": "the solid is on the left of its path: reverse the order of its points",
    "RigidSurface": "its triangles are counter-clockwise seen from outside: reverse the order of their corners",
}


def turned(master: Any) -> str:
    """Advice on reversing the orientation of a master."""
    return _TURNED.get(type(master).__name__, "check which boundaries are named")


def from_behind(item: Interface, sides: tuple[ContactSide, ContactSide], u: Array) -> bool:
    """Whether the slave touches the back of its master: where it is less than a cell away, the outward normals of both
    point the same way at every node, n_s · n_m > `AWAY`."""
    slave, master = sides
    if any(side.rotating is not None and (side.rows @ u).any() for side in sides):
        return False  # rotated normals
    points = slave.positions(slave.rows @ u)
    if isinstance(item.master, Obstacle):
        try:
            gaps, normals = item.master.closest(points)
        except UserError:  # planes for other points than the nodes
            return False
    elif isinstance(item.master, Surface) and item.master.facets.shape[1] > 1:
        mesh = FacetMesh.of(item.master)
        tree = FacetTree.build(mesh, master.positions(master.rows @ u))
        pairs = tree.closest(in_space(points), REACH * float(mesh.size.max()))
        gaps, normals = pairs.gap, pairs.normal[:, : points.shape[1]]
        if FacetMesh.suits(item.slave) and len(sharp_edges(mesh).nodes):
            # corner at corner: several faces of the master are equally close
            gaps[np.unique(sharp_edges(FacetMesh.of(item.slave)).nodes)] = np.inf
    else:
        return False
    extent = float(np.ptp(item.slave.part.positions, axis=0).max())
    near = np.abs(gaps) <= (facet_size(item.slave) or extent / max(item.slave.part.node_count, 1))
    near &= np.linalg.norm(item.slave.normals, axis=1) > 0.5
    cosines = np.einsum("ka,ka->k", item.slave.normals[near], normals[near])
    return bool(near.any() and (cosines > AWAY).all())


def inside_out(interface: Interface) -> bool:
    """Whether the slave lies in an obstacle whose normals point in the same direction as its normals, on average."""
    slave, master = interface.slave, interface.master
    if not isinstance(master, Obstacle):
        return False
    try:
        normals = master.closest(slave.positions)[1]
    except UserError:  # planes for other points than the nodes
        return False
    areas = np.maximum(slave.areas, 0.0)
    return float(areas @ np.einsum("ka,ka->k", slave.normals, normals)) > AWAY * float(areas.sum())


def facet_size(surface: Surface) -> float:
    """Median length of the first edges of the facets, m; 0 without facets."""
    if surface.facets.shape[1] < 2:
        return 0.0
    ends = surface.part.positions[surface.facets[:, :2]]
    return float(np.median(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)))
