"""A pairing whose gaps differ from those of the geometry by a constant at each point."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.pairing.kinematics import FixedPartnerPairing, Kinematics, Pairing, faces, shared_weight


@dataclass(frozen=True, eq=False)
class OffsetPairing:
    """Contact points with the gaps g(u) + c: c (k,), m, is constant, so that rows and normals are those of `pairing`.

    A given interference is such a constant: the surfaces act as if they were thicker by −c.
    """

    pairing: Pairing
    offset: Array

    @property
    def fixed(self) -> bool:
        return self.pairing.fixed

    @property
    def areas(self) -> Array:
        return self.pairing.areas

    @property
    def faces(self) -> NDArray[np.int64]:
        """Number (k,) of the smooth patch of the master that each point belongs to."""
        return faces(self.pairing)

    @property
    def shared_weight(self) -> float:
        """See `OverlappingPairing`."""
        return shared_weight(self.pairing)

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave, master (n, a), m."""
        return self._shifted(self.pairing.at(slave, master))

    def with_partners(self, reference: Kinematics, slave: Array, master: Array) -> Kinematics:
        """Kinematics with fixed partners, if the pairing supports it."""
        if isinstance(self.pairing, FixedPartnerPairing):
            return self._shifted(self.pairing.with_partners(reference, slave, master))
        return self.at(slave, master)

    def _shifted(self, kin: Kinematics) -> Kinematics:
        return replace(kin, gap=kin.gap + self.offset)
