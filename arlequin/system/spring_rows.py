"""Springs with a law as rows of the contact problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.lumped.bushings import Bushing
from arlequin.models.lumped.springs import Spring
from arlequin.models.part import Surface
from arlequin.models.types import Array
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.system.dofs import DofLayout
from arlequin.system.springs import elongations


@dataclass(frozen=True, eq=False)
class SpringRows:
    """A spring with a law as an item of the contact: a point for each elongation e = B u, whose gap it is.

    The laws act on e from both sides, without friction and wear. Its points come after those of the interfaces. They
    are a pairing of their own: fixed, with the shares of the spring's nodes as areas, so that tractions are forces.
    """

    spring: Spring

    friction = None
    wear = None
    fixed = True

    @property
    def name(self) -> str:
        """Name among the interfaces, which have no "/" in theirs."""
        return f"spring/{self.spring.name}"

    @property
    def slave(self) -> Surface:
        """The first end."""
        return self.spring.first

    @property
    def master(self) -> Surface | None:
        """The second end; None for the ground."""
        return self.spring.second

    @property
    def chosen(self) -> NDArray[np.int64]:
        """Rows (n,) with a law, among the elongations (node × vector) of the spring."""
        has = np.array([law is not None for law in self.spring.laws])
        return np.flatnonzero(np.tile(has, len(self.spring.shares)))

    @property
    def hysteretic(self) -> bool:
        """Whether a law has a memory."""
        return any(law.hysteretic for law in self.spring.laws if law is not None)

    @property
    def acting(self) -> tuple[Any, ...]:
        """What its forces depend on beside its ends."""
        return self.spring.laws, self.spring.direction

    def point_laws(self, count: int) -> list[tuple[Any, ...]]:
        """The branches of the law of each point (n,)."""
        each = [tuple(law.branches) for law in self.spring.laws if law is not None]
        return each * len(self.spring.shares)

    def elongations(self, layout: DofLayout) -> sp.csr_array:
        """The rows B (n, d) of the points."""
        return sp.csr_array(elongations(self.spring, layout)[self.chosen])

    @property
    def areas(self) -> Array:
        """Share (n,) of each point."""
        return np.repeat(self.spring.shares, len(self.spring.frame))[self.chosen]

    def pairing(self) -> "SpringRows":
        """The rows themselves."""
        return self

    def at(self, slave: Array, master: Array) -> Kinematics:
        """The elongations as gaps, 0 at the start; rows (n a, n): of the points, with zeros for the tangents."""
        count, axes = self.chosen.size, self.spring.axes
        frame, places = self.spring.frame, self.spring.first.positions
        if isinstance(self.spring, Bushing):
            axes_of = self.spring.orientation
            frame, places = np.concatenate([axes_of, axes_of])[: len(frame)], self.spring.place[None]
        vectors = np.tile(frame, (len(self.spring.shares), 1))[self.chosen]
        positions = np.repeat(places, len(frame), axis=0)[self.chosen]
        rows = sp.csr_array((np.ones(count), (axes * np.arange(count), np.arange(count))), (axes * count, count))
        tangents = np.zeros((count, axes - 1, axes))
        for i, vector in enumerate(vectors):
            tangents[i] = np.linalg.svd(vector[None])[2][1:]
        return Kinematics(rows, np.zeros(count), vectors, tangents, positions)

    @classmethod
    def of(cls, springs: Sequence[Spring]) -> list["SpringRows"]:
        """Those of the springs that have a law."""
        return [cls(spring) for spring in springs if any(law is not None for law in spring.laws)]
