"""Pairing of small sliding: partners, normals and tangents of the reference configuration."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices
from arlequin.multilevel.pairing.kinematics import Kinematics, Pairing, faces


@dataclass(frozen=True, eq=False)
class FrozenPairing:
    """Small sliding: the gap is linear in the positions, g = g₀ + N (x − X); origin: X, m; faces (k,): see
    `StackedPairing`."""

    areas: Array
    reference: Kinematics
    origin: Array
    faces: Indices

    @classmethod
    def of(cls, pairing: Pairing, interface: Any) -> "FrozenPairing":
        """The pairing at the reference positions of the interface's surfaces."""
        sides = [interface.slave.positions]
        sides.append(interface.master.positions if isinstance(interface.master, Surface) else np.zeros((0, 1)))
        origin = np.concatenate([side.ravel() for side in sides])
        return cls(pairing.areas, pairing.at(*sides), origin, faces(pairing))

    @property
    def fixed(self) -> bool:
        return True

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave, master (n, a), m."""
        displacements = np.concatenate([slave.ravel(), master.ravel()]) - self.origin
        kin = self.reference
        return replace(kin, gap=kin.gap + (kin.rows @ displacements)[:: kin.normals.shape[1]])
