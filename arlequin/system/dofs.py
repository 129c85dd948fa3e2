"""Numbering of the coordinates of a system, and the nodal displacements of its parts in them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.junctions.base import AbsorbingMatrix
from arlequin.models.part import Assembled, Constrained, Part


def bounds_of(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Bounds (n + 1,) of consecutive blocks of these sizes (n,)."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class DofLayout:
    """Coordinates of the parts one after the other: start (parts + 1,) bounds them; shapes: S (nodal, d) by part.

    rotating: the parts with finite rotations; rigid: the rigid parts.
    """

    start: NDArray[np.int64]
    first: dict[str, int]
    shapes: dict[str, sp.csr_array | NDArray[np.float64]]
    rotating: dict[str, Assembled]
    rigid: frozenset[str]

    @classmethod
    def of(cls, parts: Sequence[Part], assembled: Sequence[Assembled]) -> "DofLayout":
        start = bounds_of([part.mass.shape[0] for part in assembled])
        names = [part.name for part in parts]
        shapes = {name: part.shapes for name, part in zip(names, assembled, strict=True)}
        rotating = {name: part for name, part in zip(names, assembled, strict=True) if part.rotating}
        rigid = {name for name, part in zip(names, assembled, strict=True) if isinstance(part, Constrained)}
        first = dict(zip(names, start[:-1].tolist(), strict=True))
        return cls(start, first, shapes, rotating, frozenset({*rotating, *rigid}))

    @property
    def count(self) -> int:
        """Number of coordinates of the system."""
        return int(self.start[-1])

    def rows(self, part: Part, dofs: NDArray[np.int64]) -> sp.csr_array:
        """Displacements of nodal dofs (k,) of a part as rows (k, d) over the coordinates of the system."""
        return self._widen(self.shapes[part.name][dofs], part)

    def coordinates(self, part: Part) -> sp.csr_array:
        """The coordinates of a part as rows (d_part, d) over those of the system."""
        return self._widen(sp.eye_array(self.shapes[part.name].shape[1]), part)

    def widened(self, operator: sp.csr_array, part: Part) -> sp.csr_array:
        """An operator (m, nodal) on the nodal displacements of a part as (m, d)."""
        return self._widen(operator @ self.shapes[part.name], part)

    def widened_square(self, matrix: AbsorbingMatrix, coarse: Part, fine: Part) -> sp.csr_array:
        """The damping of a junction (d, d) on the coordinates of the system."""
        coarse_rows, fine_rows = (
            self.widened(sp.eye_array(part.dof_count, format="csr"), part) for part in (coarse, fine)
        )
        cross = coarse_rows.T @ matrix.cross @ fine_rows
        return sp.csr_array(
            coarse_rows.T @ matrix.coarse @ coarse_rows + cross + cross.T + fine_rows.T @ matrix.fine @ fine_rows
        )

    def nodal(self, part: Part) -> bool:
        """Whether the coordinates of a part are its nodal displacements, node by node."""
        shapes = self.shapes[part.name]
        size = shapes.shape[0]
        if not isinstance(shapes, sp.csr_array) or not shapes.shape[1] == shapes.nnz == size:
            return False
        return bool((shapes.diagonal() == 1.0).all())

    def _widen(self, block: sp.csr_array | NDArray[np.float64], part: Part) -> sp.csr_array:
        block = sp.coo_array(block)
        columns = block.col + self.first[part.name]
        return sp.csr_array((block.data, (block.row, columns)), shape=(block.shape[0], self.count))
