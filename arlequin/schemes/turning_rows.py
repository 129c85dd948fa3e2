"""How corners of turning bodies of the plane meet flat obstacles: rows of contact over (x, y, θ)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from arlequin.contact import Contact, used_rows
from arlequin.touch import Touch
from models.types import Array
from multilevel.interface import Interface
from multilevel.kinematics import Kinematics


def corner_rows(interface: Interface, kin: Kinematics) -> tuple[Array, Array]:
    """Directions e (r, 2) of the rows of an interface, and the arms of their points from the body's centre (r, 2):
    e·a along the row and e × a across, m."""
    nodal, surface = used_rows(interface, kin).toarray(), interface.slave
    along, up = nodal[:, ::2], nodal[:, 1::2]  # (r, n) of the nodes
    x, y = (surface.positions - surface.part.positions[0]).T
    ways = np.stack([along.sum(axis=1), up.sum(axis=1)], axis=1)
    return ways, np.stack([along @ x + up @ y, up @ x - along @ y], axis=1)


@dataclass(frozen=True, eq=False)
class Corners:
    """Rows of H over the basis: columns (r,) where each begins there, width (r,): 3 on a body, 1 where it is a row of
    the basis; ways, arms (r, 2) as of `corner_rows`. reach (k,), m, turn (k,): see `turning_block`."""

    columns: NDArray[np.int64]
    width: NDArray[np.int64]
    ways: Array
    arms: Array
    reach: Array
    turn: NDArray[np.int64]

    @classmethod
    def of(cls, contact: Contact) -> "Corners":
        """Of interfaces with flat obstacles."""
        columns, width, ways, arms, reach, turn = [], [], [], [], [], []
        for i, (a, b) in enumerate(pairwise(contact.span)):
            points = np.diff(contact.start)[i]
            if contact.steady[i]:
                columns.append(np.arange(a, b))
                width.append(np.ones(b - a, dtype=np.int64))
                ways.append(np.zeros((b - a, 2)))
                arms.append(np.zeros((b - a, 2)))
                reach.append(np.zeros(points))
                turn.append(np.full(points, a))
                continue
            own_ways, own_arms = corner_rows(contact.interfaces[i], contact.reference[i])
            columns.append(np.full(len(own_ways), a))
            width.append(np.full(len(own_ways), 3))
            ways.append(own_ways)
            arms.append(own_arms)
            reach.append(np.full(points, contact.sides[i][0].sagitta(np.array([0.0, 0.0, 1.0]))))
            turn.append(np.full(points, a + 2))
        return cls(
            np.concatenate(columns), np.concatenate(width), np.concatenate(ways), np.concatenate(arms),
            np.concatenate(reach), np.concatenate(turn),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Touches(Touch):
    """The kinematics of some steps, each in a configuration of its own: gap (b, k), place (b, q), and shares (b, r, 3)
    of the rows of the basis in those of H; normals and tangents are the same in all."""

    corners: Corners
    shares: Array

    @property
    def rows(self) -> int:
        return int(self.corners.columns.size)

    def turn(self, moves: Array) -> Array:
        """H x (b, r) from basis · x (b, q)."""
        from arlequin.schemes._turning_kernels import turned

        return np.asarray(turned(self.shares, self.corners.columns, self.corners.width, moves))

    def spread(self, impulse: Array) -> Array:
        """The impulses (b, r) on the rows of the basis (b, q)."""
        from arlequin.schemes._turning_kernels import spread

        corners = self.corners
        return np.asarray(spread(self.shares, corners.columns, corners.width, impulse, self.basis.shape[0]))
