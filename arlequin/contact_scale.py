"""The sizes with which gaps and changes of a contact's coordinates are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arlequin.side import Side
from models.part import Surface
from models.types import Array
from multilevel.interface import Interface
from multilevel.kinematics import Kinematics

_TOUCHING = 1e-12  # gap, relative to the surfaces' extent, that is none
_ROUND_OFF = 8.0 * float(np.finfo(float).eps)  # of the coordinates
_DISTANT = 0.1  # share of the coordinates: ε of them over the smallest change that is looked at, 1e-14 of a size


@dataclass(frozen=True, eq=False)
class ContactScale:
    """Lengths of some interfaces, from their kinematics at the start."""

    interfaces: Sequence[Interface]
    reference: Sequence[Kinematics]

    @cached_property
    def extent(self) -> float:
        """Largest extent of the slave surfaces and their masters, or of their parts, m; of points without any, how far
        they are from their partners or the origin; 1 m where all of that is zero."""
        sides = [side for item in self.interfaces for side in (item.slave, item.master) if isinstance(side, Surface)]
        own = max((float(np.ptp(side.positions, axis=0).max()) for side in sides), default=0.0)
        own = own or max((float(np.ptp(side.part.positions, axis=0).max()) for side in sides), default=0.0)
        apart = max((float(np.abs(kin.gap[kin.paired]).max(initial=0.0)) for kin in self.reference), default=0.0)
        return own or max(apart, self._distance) or 1.0

    @property
    def touching(self) -> float:
        """Largest gap that counts as none, m."""
        return _TOUCHING * self.extent + self.round_off

    @property
    def round_off(self) -> float:
        """What gaps are rounded to where the contact points are, m."""
        return _ROUND_OFF * self._distance

    def sizes(self, sides: Sequence[tuple[Side, Side]]) -> Array:
        """What changes of the coordinates of both sides of an interface are compared with, for each (q,): the extent,
        m, or 1 rad of parts that turn; far from the origin more, as coordinates are rounded more there."""
        more = 1.0 + _DISTANT * self._distance / self.extent
        sizes = [np.full(side.count, self.extent * more) for pair in sides for side in pair]
        for own, side in zip(sizes, (side for pair in sides for side in pair), strict=True):
            if side.turning is not None and side.surface is not None:
                own[side.surface.positions.shape[1] :] = more
        return np.concatenate(sizes)

    @cached_property
    def _distance(self) -> float:
        """Largest coordinate of the contact points, m: what they are rounded to are shares of it."""
        return max((float(np.abs(kin.positions).max(initial=0.0)) for kin in self.reference), default=0.0)
