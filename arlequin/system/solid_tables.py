"""The internal forces of linear solids as arrays for compiled loops."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.models.fem.cell_forces import CellForces
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.fem.quads import Quads
from arlequin.models.fem.tiles import Tiles
from arlequin.models.part import Assembled
from arlequin.models.types import Array


class QuadTables(NamedTuple):
    """Internal forces of linear quadrilaterals by their moments (`arlequin.models.fem.quads`).

    pieces (n, 10): for each range of nodes its first and last run, first and last cell of the part, first moment and
    number of kinds of cells, first and last node, first and last degree of freedom of the part; last is exclusive. lame
    (n, 2): λ, μ, N/m². runs (r, 2), nodes (c, 4), moments: of all parts, one after the other.
    """

    pieces: NDArray[np.int64]
    lame: Array
    runs: NDArray[np.int64]
    nodes: NDArray[np.int64]
    moments: Array

    @classmethod
    def of(cls, parts: "Sequence[_Part]") -> "QuadTables":
        """The tables of the parts with such cells."""
        pieces: list[Any] = []
        lame: list[Any] = []
        runs: list[Any] = [np.zeros((0, 2))]
        nodes: list[Any] = [np.zeros((0, 4))]
        moments: list[Any] = [np.zeros(0)]
        at = np.zeros(3, dtype=np.int64)
        for cells, first, last in parts:
            if not isinstance(cells, Quads):
                continue
            sizes = len(cells.nodes), cells.moments.shape[1]
            for piece in cells.pieces:
                piece_runs, part_cells = (at[0], at[0] + len(piece.cells)), (at[1], at[1] + sizes[0])
                pieces.append((*piece_runs, *part_cells, at[2], sizes[1], piece.first, piece.last, first, last))
                lame.append(cells.lame)
                runs.append(piece.cells)
                at[0] += len(piece.cells)
            nodes.append(cells.nodes)
            moments.append(cells.moments.ravel())
            at[1:] += sizes[0], moments[-1].size
        return cls(
            _table(pieces, 10), _lame(lame), np.concatenate(runs).astype(np.int64),
            np.concatenate(nodes).astype(np.int64), np.concatenate(moments),
        )  # fmt: skip


class TileTables(NamedTuple):
    """Internal forces of linear triangles, tetrahedra and hexahedra (`arlequin.models.fem.tiles`).

    pieces (n, 17): for each range of nodes the number of its kernel; first and last tile; first entry of the nodes of
    the part's cells, number of tiles and nodes per cell; first entry of the geometry, number of tiles, points and rows;
    first entry of the weighted measures, number of tiles and points; first and last node, first and last degree of
    freedom of the part; last is exclusive. lame (n, 2): λ, μ,
    N/m². tiles (t,), nodes, geometry, weight: of all parts, one after the other. kernels: see
    `arlequin.models.fem._tile_list_kernels`.
    """

    pieces: NDArray[np.int64]
    lame: Array
    tiles: NDArray[np.int64]
    nodes: NDArray[np.uint32]
    geometry: Array
    weight: Array
    kernels: Any

    @classmethod
    def of(cls, parts: "Sequence[_Part]") -> "TileTables":
        """The tables of the parts with such cells."""
        from arlequin.models.fem._tile_list_kernels import ARGUMENTS, add_tile_kernel, no_tile_kernels

        pieces: list[Any] = []
        lame: list[Any] = []
        tiles: list[Any] = [np.zeros(0)]
        nodes: list[Any] = [np.zeros(0)]
        geometry: list[Any] = [np.zeros(0)]
        weight: list[Any] = [np.zeros(0)]
        kernels, numbers = no_tile_kernels(), dict[Any, int]()
        at = np.zeros(4, dtype=np.int64)
        for cells, first, last in parts:
            if not isinstance(cells, Tiles):
                continue
            kernel = cells.kernel
            if kernel not in numbers:
                if hasattr(kernel, "compile"):
                    kernel.compile(ARGUMENTS)
                add_tile_kernel(kernels, kernel)
                numbers[kernel] = len(numbers)
            for piece in cells.pieces:
                piece_tables = at[0], at[0] + len(piece.cells), at[1], *cells.nodes.shape[:2]
                shared = at[2], *cells.geometry.shape[:3], at[3], *cells.weight.shape[:2]
                pieces.append((numbers[kernel], *piece_tables, *shared, piece.first, piece.last, first, last))
                lame.append(cells.lame)
                tiles.append(piece.cells)
                at[0] += len(piece.cells)
            for arrays, values in ((nodes, cells.nodes), (geometry, cells.geometry), (weight, cells.weight)):
                arrays.append(values.ravel())
            at[1:] += cells.nodes.size, cells.geometry.size, cells.weight.size
        return cls(
            _table(pieces, 17), _lame(lame), np.concatenate(tiles).astype(np.int64),
            np.concatenate(nodes).astype(np.uint32), np.concatenate(geometry), np.concatenate(weight), kernels,
        )  # fmt: skip


class SolidTables(NamedTuple):
    """Internal forces of linear cells: quadrilaterals and others."""

    quads: QuadTables
    tiles: TileTables

    @classmethod
    def of(cls, assembled: Sequence[Assembled], start: NDArray[np.int64]) -> "SolidTables":
        """The tables of the parts with such cells; start (parts + 1,) bounds their degrees of freedom."""
        cells = map(cells_of, assembled)
        parts = [*zip(cells, start[:-1].tolist(), start[1:].tolist(), strict=True)]
        return cls(QuadTables.of(parts), TileTables.of(parts))


def cells_of(assembled: Assembled) -> CellForces | None:
    """The linear cells of a part; None if it has none."""
    return assembled.cell_forces if isinstance(assembled, ElasticAssembled) else None


_Part = tuple[CellForces | None, int, int]  # cells, first and last degree of freedom of a part


def _table(pieces: list[Any], columns: int) -> NDArray[np.int64]:
    return np.array(pieces, dtype=np.int64).reshape(-1, columns)


def _lame(values: list[Any]) -> Array:
    return np.array(values, dtype=float).reshape(-1, 2)
