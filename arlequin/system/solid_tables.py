"""The internal forces of linear solids as the arrays that compiled loops read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.fem.quads import Quads
from arlequin.models.part import Assembled
from arlequin.models.types import Array


class SolidTables(NamedTuple):
    """Internal forces of linear quadrilaterals by their moments (`arlequin.models.fem.quads`).

    pieces (n, 10): of each range of nodes the first and the last of its runs, of the part's cells, the first of its
    moments and how many kinds of cells these are of, its nodes, the first and the last of the part's degrees of
    freedom; last: one more. lame (n, 2): λ, μ, N/m². runs (r, 2), nodes (c, 4), moments: of all parts, one after the
    other.
    """

    pieces: NDArray[np.int64]
    lame: Array
    runs: NDArray[np.int64]
    nodes: NDArray[np.int64]
    moments: Array

    @classmethod
    def of(cls, assembled: Sequence[Assembled], start: NDArray[np.int64]) -> "SolidTables":
        """Of those among the parts that consist of such cells; start (parts + 1,): of their degrees of freedom."""
        pieces: list[Any] = []
        lame: list[Any] = []
        runs: list[Any] = [np.zeros((0, 2))]
        nodes: list[Any] = [np.zeros((0, 4))]
        moments: list[Any] = [np.zeros(0)]
        at = np.zeros(3, dtype=np.int64)
        for own, first, last in zip(assembled, start[:-1].tolist(), start[1:].tolist(), strict=True):
            cells = quads_of(own)
            if cells is None:
                continue
            sizes = len(cells.nodes), cells.moments.shape[1]
            for piece in cells.pieces:
                own_runs, own_cells = (at[0], at[0] + len(piece.cells)), (at[1], at[1] + sizes[0])
                pieces.append((*own_runs, *own_cells, at[2], sizes[1], piece.first, piece.last, first, last))
                lame.append(cells.lame)
                runs.append(piece.cells)
                at[0] += len(piece.cells)
            nodes.append(cells.nodes)
            moments.append(cells.moments.ravel())
            at[1:] += sizes[0], moments[-1].size
        return cls(
            np.array(pieces, dtype=np.int64).reshape(-1, 10), np.array(lame, dtype=float).reshape(-1, 2),
            np.concatenate(runs).astype(np.int64), np.concatenate(nodes).astype(np.int64), np.concatenate(moments),
        )  # fmt: skip


def quads_of(own: Assembled) -> Quads | None:
    """The cells of a part of linear quadrilaterals; None of others."""
    cells = own.cell_forces if isinstance(own, ElasticAssembled) else None
    return cells if isinstance(cells, Quads) else None
