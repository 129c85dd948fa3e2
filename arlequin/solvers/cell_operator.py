"""Products of the matrix of a step: of hexahedra by tiles of cells, of the rest by rows.

    A x = Σ_parts (μM + aK) x + R x,    R = A − Σ_parts (μM + aK)

with M and K of the cells of a part and a sparse remainder R: springs, dashpots, absorbing terms, mass that is not
consistent. Other parts, and those with damping that is not Rayleigh's, are multiplied by rows. μ and a contain the
coefficients of the scheme and of Rayleigh damping. They are determined from the product of A with a random vector. R is
computed in the rows where this product differs from that of the cells, in rows that couple parts, and in the rows of
its columns, so that it is symmetric: the sum is A to round-off whatever μ and a are. Rows are those of the unknowns of
a step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.fem.cell_forces import NodeRange
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.fem.tiles import HexahedronProduct
from arlequin.models.linalg.operators import RowOperator, SymmetricOperator, operator_of, rows_of
from arlequin.models.linalg.threads import Pace, map_pieces, slices
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

_MIN_UNKNOWNS = 3_000  # unknowns of a part from which on its tiles are quicker than its rows
_ROUND_OFF = 1e-13  # entries of R relative to the diagonal, and errors of products, that count as zero
_LARGEST_REST = 0.3  # entries of R in rows of a part, as a share of those of A, up to which tiles and R are quicker
_PASSES = 4  # sets of rows of R until the last one contains its columns
_BLOCK = 65_536  # rows of which R is made at a time
_MIN_DETERMINANT = 1e-3  # of a pair of rows that determines μ and a, relative
_FIT = 1e-9  # misfit of a row, relative to its terms, up to which μ and a hold for it


def step_operator(assembly: Assembly, matrix: sp.csr_array, unknowns: NDArray[np.int64] | None) -> SymmetricOperator:
    """Products with a matrix (u, u) on the unknowns (u,), None for all dofs: by cells where parts have tiles, else by
    rows."""
    if isinstance(matrix, DistributedMatrix):
        return operator_of(matrix)
    at = np.arange(assembly.dof_count) if unknowns is None else unknowns
    rng = np.random.default_rng(0)
    # no entry near 0, which would hide a term of R on the diagonal
    x, probe = (rng.uniform(1.0, 2.0, at.size) * rng.choice([-1.0, 1.0], at.size) for _ in range(2))
    image, diagonal = matrix @ x, np.asarray(matrix.diagonal())
    parts: list[_PartCells] = []
    bounds = np.searchsorted(at, assembly.start)
    for part, dofs, (first, last) in zip(assembly.parts, assembly.places, pairwise(bounds.tolist()), strict=True):
        if not isinstance(part, ElasticAssembled) or last - first < _MIN_UNKNOWNS:
            continue
        fit = _PartFit.of(part, slice(first, last), at[first:last] - dofs.start, x, image)
        part_cells = None if fit is None else fit.completed(matrix, diagonal, x, image)
        parts += [] if part_cells is None else [part_cells]
    if not parts:
        return RowOperator(matrix)
    operator, by_cells = CellOperator(matrix, diagonal, parts), np.empty_like(image)
    operator.multiply_into(probe, by_cells)
    exact = np.abs(by_cells - matrix @ probe) <= 10.0 * _ROUND_OFF * np.abs(diagonal)
    return operator if exact.all() else RowOperator(matrix)


@dataclass(frozen=True, eq=False)
class _PartFit:
    """Tiles of μM + aK of a part whose unknowns are rows `at` of the matrix, and the dofs `local` (n,) of the part;
    inertia: μ, or 0 where the tiles have no mass; stiffness: a."""

    part: ElasticAssembled
    at: slice
    local: NDArray[np.int64]
    cells: HexahedronProduct
    inertia: float
    stiffness: float

    @classmethod
    def of(
        cls, part: ElasticAssembled, at: slice, local: NDArray[np.int64], x: Array, image: Array
    ) -> "_PartFit | None":
        """Fit to the rows `at` of a matrix with A x = image; None where the part has no tiles."""
        part_x = np.zeros(part.mass.shape[0])
        part_x[local] = x[at]
        factors = _factors(image[at], (part.mass @ part_x)[local], (part.stiffness @ part_x)[local])
        cells = None if factors is None else part.product(*factors)
        if factors is None or cells is None:
            return None
        return cls(part, at, local, cells, factors[0] if cells.inertial else 0.0, factors[1])

    def completed(self, matrix: sp.csr_array, diagonal: Array, x: Array, image: Array) -> "_PartCells | None":
        """Tiles and R of a matrix with this diagonal (u,) and A x = image; None where R has too many entries."""
        at, size, scale = self.at, self.part.mass.shape[0], np.sqrt(np.abs(diagonal))
        part_x = np.zeros(size)
        part_x[self.local] = x[at]
        misfit = np.abs(image[at] - self.cells.internal(part_x)[0][self.local])
        chosen = misfit > _ROUND_OFF * np.abs(diagonal[at])
        indices = matrix.indices[matrix.indptr[at.start] : matrix.indptr[at.stop]]
        outside = np.flatnonzero((indices < at.start) | (indices >= at.stop)) + matrix.indptr[at.start]
        chosen[np.searchsorted(matrix.indptr, outside, side="right") - 1 - at.start] = True
        for _ in range(_PASSES):
            rows = np.flatnonzero(chosen)
            rest = self._rest(matrix, scale, rows)
            if rest is None:
                return None
            columns = rest.indices[(rest.indices >= at.start) & (rest.indices < at.stop)] - at.start
            if chosen[columns].all():
                local_unknowns = None if self.local.size == size else self.local
                return _PartCells(at, self.cells, size, local_unknowns, at.start + rows, rest)
            chosen[columns] = True
        return None

    def _rest(self, matrix: sp.csr_array, scale: Array, rows: NDArray[np.int64]) -> sp.csr_array | None:
        """R (k, u) in some rows (k,) of the part, without entries below round-off of the scale (u,), the roots of the
        diagonal; None for too many entries."""
        at, column = self.at, np.full(self.part.mass.shape[0], -1)
        column[self.local] = np.arange(at.start, at.stop)
        max_entries = _LARGEST_REST * (matrix.indptr[at.stop] - matrix.indptr[at.start])
        blocks = [sp.csr_array((0, matrix.shape[1]))]
        for chunk in np.split(rows, range(_BLOCK, rows.size, _BLOCK)):
            tile_rows = self.stiffness * self.part.stiffness[self.local[chunk]]
            if self.inertia:
                tile_rows = tile_rows + self.inertia * self.part.mass[self.local[chunk]]
            tile_rows = sp.coo_array(tile_rows)
            among_unknowns = column[tile_rows.col] >= 0
            entries = (
                tile_rows.data[among_unknowns],
                (tile_rows.row[among_unknowns], column[tile_rows.col[among_unknowns]]),
            )
            block = sp.coo_array(matrix[at.start + chunk] - sp.csr_array(entries, shape=(chunk.size, matrix.shape[1])))
            large = np.abs(block.data) > _ROUND_OFF * scale[at.start + chunk[block.row]] * scale[block.col]
            entries = block.data[large], (block.row[large], block.col[large])
            blocks.append(sp.csr_array(entries, shape=block.shape))
            max_entries -= blocks[-1].nnz
            if max_entries < 0:
                return None
        return sp.csr_array(sp.vstack(blocks, format="csr"))


@dataclass(frozen=True, eq=False)
class _PartCells:
    """The rows `at` of a part: tiles of μM + aK on its dofs, of which the unknowns are `local` (None: all); rest (k,
    u): R in the rows `rows` (k,)."""

    at: slice
    cells: HexahedronProduct
    size: int
    local: NDArray[np.int64] | None
    rows: NDArray[np.int64]
    rest: sp.csr_array

    def tasks(self, x: Array, out: Array) -> tuple[list[Callable[[], None]], Callable[[], None]]:
        """Functions that write the product of x (u,) with the rows of the part to out (u,): pieces for threads, in any
        order, and a final one."""
        u, force = x[self.at], out[self.at]
        if self.local is not None:
            u, force = np.zeros(self.size), np.empty(self.size)
            u[self.local] = x[self.at]

        def finish() -> None:
            if self.local is not None:
                out[self.at] = force[self.local]
            if self.rows.size:
                out[self.rows] += self.rest @ x

        return [partial(self._write, piece, u, force) for piece in self.cells.pieces], finish

    def _write(self, piece: NodeRange, u: Array, force: Array) -> None:
        self.cells.force(piece, u, force)


class CellOperator:
    """A (u, u) by the cells of some parts, and by the rows of the others."""

    def __init__(self, matrix: sp.csr_array, diagonal: Array, parts: list[_PartCells]) -> None:
        """diagonal (u,): of the matrix; parts: in ascending order of their rows."""
        self.size, self._diagonal, self._parts, self._pace = matrix.shape[0], diagonal, parts, Pace()
        ends = [0, *(bound for part in parts for bound in (part.at.start, part.at.stop)), self.size]
        between = [(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if a < b]
        pieces = [slice(a + piece.start, a + piece.stop) for a, b in between for piece in slices(b - a)]
        self._others = [(at, rows_of(matrix, at)) for at in pieces]

    def diagonal(self) -> Array:
        return self._diagonal

    def multiply_into(self, x: Array, out: Array) -> None:
        tasks: list[Callable[[], None]] = [partial(self._write_rows, at, block, x, out) for at, block in self._others]
        finishes = []
        for part in self._parts:
            pieces, finish = part.tasks(x, out)
            tasks += pieces
            finishes.append(finish)
        map_pieces(_call, tasks, self._pace)
        for finish in finishes:
            finish()

    @staticmethod
    def _write_rows(at: slice, block: sp.csr_array, x: Array, out: Array) -> None:
        out[at] = block @ x


def _call(task: Callable[[], None]) -> None:
    task()


def _factors(image: Array, inertia: Array, stiffness: Array) -> tuple[float, float] | None:
    """μ and a > 0 of A x = μ M x + a K x in most rows, from A x, M x and K x (u,); None where they do not exist.

    Medians of the solutions of pairs of rows, which are robust against few outliers, then least squares over the rows
    that fit.
    """
    (z, w), (m, n), (k, h) = ((field[:-1:2], field[1::2]) for field in (image, inertia, stiffness))
    determinant = m * h - n * k
    regular = np.abs(determinant) > _MIN_DETERMINANT * (np.abs(m * h) + np.abs(n * k))
    if 2 * np.count_nonzero(regular) < regular.size:
        return None
    mu = float(np.median((z * h - w * k)[regular] / determinant[regular]))
    a = float(np.median((m * w - n * z)[regular] / determinant[regular]))
    terms = np.abs(mu * inertia) + np.abs(a * stiffness)
    misfit = np.abs(image - mu * inertia - a * stiffness)
    # the typical misfit: rows with a weak spring would bias the fit
    usual = float(np.median(np.divide(misfit, terms, out=np.zeros_like(terms), where=terms > 0.0)))
    fits = misfit <= min(_FIT, 10.0 * usual + np.finfo(float).eps) * terms
    if a <= 0.0 or not fits.any():
        return None
    scale = np.array([np.linalg.norm(field[fits]) for field in (inertia, stiffness)])
    both = np.column_stack([inertia[fits], stiffness[fits]]) / scale
    factors = np.linalg.lstsq(both, image[fits])[0] / scale
    return float(factors[0]), float(factors[1])
