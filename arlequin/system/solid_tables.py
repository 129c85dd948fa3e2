"""The internal forces of linear solids as the arrays that compiled loops read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.fem.quads import Quads
from arlequin.models.part import Assembled, Part
from arlequin.models.types import Array
from arlequin.system.strains import rigid_anchor


class SolidTables(NamedTuple):
    """Internal forces of parts without a short form of strains: of quadrilaterals by their moments, of others, and
    what these lack, by K.

    pieces (n, 10): of each range of nodes (`arlequin.models.fem.quads`) the first and the last of its runs, of the
    part's cells, the first of its moments and how many kinds of cells these are of, its nodes, the first and the last
    of the part's degrees of freedom; last: one more. lame (n, 2): λ, μ, N/m². runs (r, 2), nodes (c, 4), moments: of
    all parts, one after the other. starts, columns, values: K (d, d) by rows, N/m; anchor (d,): a
    degree of freedom whose displacement is subtracted, see `arlequin.system.strains.Strains`.
    """

    pieces: NDArray[np.int64]
    lame: Array
    runs: NDArray[np.int64]
    nodes: NDArray[np.int64]
    moments: Array
    starts: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    values: Array
    anchor: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Sequence[Part], assembled: Sequence[Assembled], start: NDArray[np.int64]) -> "SolidTables":
        """Of parts; start (parts + 1,): of their degrees of freedom."""
        count = int(start[-1])
        pieces: list[Any] = []
        lame: list[Any] = []
        runs: list[Any] = [np.zeros((0, 2))]
        nodes: list[Any] = [np.zeros((0, 4))]
        moments: list[Any] = [np.zeros(0)]
        stiffness: list[Any] = []
        anchor, at = np.full(count, -1), np.zeros(3, dtype=np.int64)
        for part, own, first, last in zip(parts, assembled, start[:-1].tolist(), start[1:].tolist(), strict=True):
            stiffness.append(sp.csr_array((last - first, last - first)))
            if not isinstance(own, ElasticAssembled) or own.strain_form() is not None:
                continue
            cells = own.cell_forces
            rest = own.beyond_cells if isinstance(cells, Quads) else own.stiffness
            if rest is not None:
                stiffness[-1] = rest
                anchor[first:last] = rigid_anchor(rest, part.components, first)
            if not isinstance(cells, Quads):
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
        rows = sp.csr_array(sp.block_diag(stiffness, format="csr"))
        return cls(
            np.array(pieces, dtype=np.int64).reshape(-1, 10), np.array(lame, dtype=float).reshape(-1, 2),
            np.concatenate(runs).astype(np.int64), np.concatenate(nodes).astype(np.int64), np.concatenate(moments),
            rows.indptr.astype(np.uint32), rows.indices.astype(np.uint32), rows.data.astype(float), anchor,
        )  # fmt: skip
