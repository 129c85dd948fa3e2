"""One side of an interface: how the nodes of its surface move with the coordinates of the system."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.layout import Layout
from models.part import Assembled, Surface
from models.types import Array


@dataclass(frozen=True, eq=False)
class Side:
    """A surface, or none (a rigid obstacle), with the rows (r, d) that its motion needs of the system's coordinates.

    place (r,) = rows · u. The nodes' displacements are the rows themselves, or, on a turning part, whose coordinates
    these are, functions of them. nodal (n a, d): displacements of the nodes at the start. rigid: whether the part is.
    """

    surface: Surface | None
    rows: sp.csr_array
    nodal: sp.csr_array
    turning: Assembled | None
    rigid: bool

    @classmethod
    def of(cls, surface: Any, layout: Layout) -> "Side":
        """surface: of a part of the layout, or an obstacle."""
        if not isinstance(surface, Surface):
            return cls(None, *2 * (sp.csr_array((0, layout.count)),), None, False)
        turning = layout.turning.get(surface.part.name)
        nodal = layout.widened(surface.motion, surface.part)
        rows = nodal if turning is None else layout.own(surface.part)
        return cls(surface, rows, nodal, turning, surface.part.name in layout.rigid)

    @property
    def count(self) -> int:
        """Rows."""
        return int(self.rows.shape[0])

    def positions(self, place: Array) -> Array:
        """Positions (n, a) of the nodes; none of an obstacle."""
        if self.surface is None:
            return np.zeros((0, 1))
        if self.turning is not None:
            place = self.turning.nodal_motion(place[None], place[None])[0][0, _dofs(self.surface)]
        return np.asarray(self.surface.positions + place.reshape(self.surface.positions.shape))

    def nodes(self, place: Array) -> sp.csr_array:
        """Velocities of the nodes (n a) as rows over those of the side (r)."""
        if self.turning is None or self.surface is None:
            return sp.csr_array(sp.eye_array(self.count))
        return sp.csr_array(self.turning.rates(place)[_dofs(self.surface)])

    def sagitta(self, moves: Array) -> float:
        """What the arc of a node of a turning part rises over its tangent in a step, m; moves (r,): rows · Δt v."""
        if self.turning is None or self.surface is None:
            return 0.0
        angle = np.linalg.norm(moves[self.surface.positions.shape[1] :])
        arms = np.abs(self.turning.rates(0.0 * moves)[:, self.surface.positions.shape[1] :])
        return float(angle**2 * arms.max())

    def resultant(self, axes: int) -> Array:
        """Forces on the rows to their resultant (a, r)."""
        along = np.arange(self.count) if self.turning is not None else np.arange(self.count) % axes
        return np.asarray(along == np.arange(axes)[:, None], dtype=float)


def _dofs(surface: Surface) -> Any:
    """Nodal dofs (n a,) of the displacements; a beam's rotations come after them."""
    return surface.dofs[:, : surface.positions.shape[1]].ravel()
