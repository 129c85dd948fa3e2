"""A pairing of points with points: masses and ends of beams that meet along a fixed direction."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from models.checks import finite_array
from models.errors import UserError
from models.part import Surface
from models.types import Array, Indices
from multilevel.facets import frames
from multilevel.kinematics import Kinematics


@dataclass(frozen=True, eq=False)
class PointPairing:
    """Points against points: g = n·(x_s − x_m), slips along fixed tangents across n; n out of the master.

    The forces on both are opposite, so that linear momentum is kept. With n fixed they have a moment about each other
    unless the points lie on a line along it, as in Code_Aster's element between two nodes: for small displacements.
    normal (a,); partners (k,): the master's node of each of the slave's; areas (k,), m², of the slave.
    """

    normal: Array
    partners: Indices
    areas: Array

    @classmethod
    def of(cls, slave: Surface, master: Surface, direction: Any) -> "PointPairing":
        """direction (a,), from slave to master: n = −direction. The master is one node, or matches node by node."""
        axes = slave.positions.shape[1]
        along = finite_array("direction", np.atleast_1d(direction), (axes,))
        if not along.any():
            raise UserError.parameter("direction", along.tolist(), "must not be zero")
        apart = np.linalg.norm(slave.positions[:, None] - master.positions[None], axis=2)
        near = apart.argmin(axis=1)
        if len(master.nodes) > 1 and (len(slave.nodes) != len(master.nodes) or np.unique(near).size != near.size):
            raise UserError(
                f"{len(slave.nodes)} points of '{slave.name}' and {len(master.nodes)} of '{master.name}': the master "
                "must be one point, or match the slave point by point"
            )
        return cls(-along / np.linalg.norm(along), near.astype(np.int64), slave.areas)

    @property
    def fixed(self) -> bool:
        return True

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave, master (n, a), m."""
        count, axes = slave.shape
        normals = np.repeat(self.normal[None], count, axis=0)
        frame = frames(normals)
        point = np.arange(count)
        sides = []
        for nodes, size in ((point, count), (self.partners, len(master))):
            columns = np.repeat(nodes[:, None] * axes + np.arange(axes), axes, axis=0)
            entries = (frame.ravel(), (np.repeat(np.arange(count * axes), axes), columns.ravel()))
            sides.append(csr_array(entries, shape=(count * axes, axes * size)))
        rows = csr_array(hstack([sides[0], -sides[1]]))
        gap = (slave - master[self.partners]) @ self.normal
        return Kinematics(rows, gap, normals, np.ascontiguousarray(frame[:, 1:]), slave)
