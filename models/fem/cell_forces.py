"""Internal forces of linear cells, by ranges of nodes in parallel.

The forces on a range of nodes are summed by one thread, and cells on its border are computed in both ranges: threads
never write to the same node, and results do not depend on their number.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import add

import numpy as np

from arlequin.models.linalg.threads import Pace, map_pieces
from arlequin.models.types import Array, Indices

_PIECES, _MIN_NODES = 8, 512  # largest number of ranges, the same on every machine; least number of nodes in a range


@dataclass(frozen=True, eq=False)
class NodeRange:
    """A range of nodes, from `first` up to `last`, and the cells with such nodes.

    cells: runs (r, 2) of the cells, first cell and count (`Quads`), or the numbers (t,) of their tiles (`Tiles`).
    """

    first: int
    last: int
    cells: Indices


class CellForces(ABC):
    """Internal forces of linear cells of a part, by a kernel that writes those of a range of nodes."""

    pieces: tuple[NodeRange, ...]

    @cached_property
    def _pace(self) -> Pace:
        return Pace()

    @abstractmethod
    def force(self, piece: NodeRange, u: Array, out: Array) -> float:
        """Writes the internal forces at u (d,) on the nodes of a piece to out (d,), N; their share of the energy, J."""

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,) in N and stored energy in J."""
        out = np.empty_like(u)
        energies = map_pieces(lambda piece: self.force(piece, u, out), self.pieces, self._pace)
        # not `sum`, which from Python 3.12 on compensates round-off: compiled loops add the pieces one by one
        return out, reduce(add, energies, 0.0)

    def internal_each(self, u: Array, out: Array) -> Array:
        """Internal forces of each u (n, d), written to out (n, d), N; energies (n,), J; bitwise those of `internal`."""
        u, energies = np.ascontiguousarray(u), np.zeros(len(u))
        contiguous = out if out.flags.c_contiguous else np.empty_like(u)
        for piece in self.pieces:
            for i in range(len(u)):  # one call each: a compiled loop over u could order the sums differently
                energies[i] += self.force(piece, u[i], contiguous[i])
        if contiguous is not out:
            out[:] = contiguous
        return energies


def node_ranges(
    nodes: Indices, node_count: int, cells: Callable[[Indices], tuple[Indices, int]], overlap: float
) -> tuple[NodeRange, ...]:
    """Ranges of the nodes, fewer where the numbering of the nodes differs much from that of the cells.

    nodes (c, n): of the cells, in the order of the kernel; cells: cell numbers, ascending ↦ the kernel's argument for
    these cells, and the number that it computes; overlap: largest number of cells of all ranges, relative to c.
    """
    lowest, highest = nodes.min(axis=1), nodes.max(axis=1)
    count = max(1, min(_PIECES, node_count // _MIN_NODES))
    while True:
        bounds = [node_count * i // count for i in range(count + 1)]
        ranges, total = [], 0
        for first, last in pairwise(bounds):
            near = np.flatnonzero((lowest < last) & (highest >= first))
            kernel_cells, size = cells(near[((nodes[near] >= first) & (nodes[near] < last)).any(axis=1)])
            ranges.append(NodeRange(first, last, kernel_cells))
            total += size
        if count == 1 or total <= overlap * len(nodes):
            return tuple(ranges)
        count //= 2
