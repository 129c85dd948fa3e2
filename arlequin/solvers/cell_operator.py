"""Products of the matrix of a step: of hexahedra by tiles of cells, of the rest by rows.

    A x = Σ_parts (μM + aK) x + R x,    R = A − Σ_parts (μM + aK)

with M and K of the cells of a part and a sparse R: springs, dashpots, absorbing terms, mass that is not consistent.
Other parts, and those with damping that is not Rayleigh's, are multiplied by rows. μ and a contain the coefficients of
the scheme and of Rayleigh damping. They are found from the product of A with a random vector, and R in those rows where
this product is not that of the cells: the sum is A whatever μ and a are. Rows are those of the unknowns of a step.
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

_LEAST = 3_000  # unknowns of a part from which on its tiles are quicker than its rows
_ROUND_OFF = 1e-11  # of the diagonal: products by cells and by rows differ by less, as cells equal to 1e-12 are alike
_WORTH = 0.3  # entries of R in rows of a part, as a share of those of A, up to which tiles and R are quicker than A
_BLOCK = 65_536  # rows of which R is made at a time
_REGULAR = 1e-3  # relative determinant of a pair of rows from which on it counts
_FITS = 1e-9  # misfit of a row, relative to its terms, up to which μ and a hold for it


def step_operator(assembly: Assembly, matrix: sp.csr_array, unknowns: NDArray[np.int64] | None) -> SymmetricOperator:
    """Of a matrix (u, u) on the unknowns (u,), None for all dofs: by cells where parts have tiles, else by rows."""
    if isinstance(matrix, DistributedMatrix):
        return operator_of(matrix)
    at = np.arange(assembly.dof_count) if unknowns is None else unknowns
    x = np.random.default_rng(0).standard_normal(at.size)
    image, diagonal, found = matrix @ x, np.asarray(matrix.diagonal()), []
    bounds = np.searchsorted(at, assembly.start)
    for own, dofs, (first, last) in zip(assembly.parts, assembly.places, pairwise(bounds.tolist()), strict=True):
        if isinstance(own, ElasticAssembled) and last - first >= _LEAST:
            some = _PartCells.of(own, slice(first, last), at[first:last] - dofs.start, matrix, diagonal, x, image)
            found += [] if some is None else [some]
    if not found:
        return RowOperator(matrix)
    operator, again = CellOperator(matrix, diagonal, found), np.empty_like(image)
    operator.multiply_into(x, again)
    exact = np.abs(again - image) <= 10.0 * _ROUND_OFF * np.abs(diagonal) * np.abs(x).max(initial=0.0)
    return operator if exact.all() else RowOperator(matrix)


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

    @classmethod
    def of(
        cls,
        own: ElasticAssembled,
        at: slice,
        local: NDArray[np.int64],
        matrix: sp.csr_array,
        diagonal: Array,
        x: Array,
        image: Array,
    ) -> "_PartCells | None":
        """Of the rows `at` of a matrix with this diagonal (u,) and A x = image.

        None where the part has no tiles, or R too many entries.
        """
        size = own.mass.shape[0]
        whole = np.zeros(size)
        whole[local] = x[at]
        factors = _factors(image[at], (own.mass @ whole)[local], (own.stiffness @ whole)[local])
        cells = None if factors is None else own.product(*factors)
        if factors is None or cells is None:
            return None
        inertia = factors[0] if cells.inertial else 0.0
        missed = image[at] - cells.internal(whole)[0][local]
        scale = np.sqrt(np.abs(diagonal))
        rows = np.flatnonzero(np.abs(missed) > _ROUND_OFF * scale[at] ** 2)
        column = np.full(size, -1)
        column[local] = np.arange(at.start, at.stop)
        most, blocks = _WORTH * (matrix.indptr[at.stop] - matrix.indptr[at.start]), [sp.csr_array((0, matrix.shape[1]))]
        for some in np.split(rows, range(_BLOCK, rows.size, _BLOCK)):
            known = factors[1] * own.stiffness[local[some]]
            if inertia:
                known = known + inertia * own.mass[local[some]]
            known = sp.coo_array(known)
            kept = column[known.col] >= 0
            entries = known.data[kept], (known.row[kept], column[known.col[kept]])
            block = sp.coo_array(matrix[at.start + some] - sp.csr_array(entries, shape=(some.size, matrix.shape[1])))
            large = np.abs(block.data) > _ROUND_OFF * scale[at.start + some[block.row]] * scale[block.col]
            entries = block.data[large], (block.row[large], block.col[large])
            blocks.append(sp.csr_array(entries, shape=block.shape))
            most -= blocks[-1].nnz
            if most < 0:
                return None
        whole_part = None if local.size == size else local
        return cls(at, cells, size, whole_part, at.start + rows, sp.csr_array(sp.vstack(blocks, format="csr")))

    def tasks(self, x: Array, out: Array) -> tuple[list[Callable[[], None]], Callable[[], None]]:
        """What writes the product of x (u,) with the rows of the part to out (u,): pieces for threads, in any order,
        and what follows them."""
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
        """diagonal (u,): that of the matrix; parts: in ascending order of their rows."""
        self.size, self._diagonal, self._parts, self._pace = matrix.shape[0], diagonal, parts, Pace()
        ends = [0, *(bound for part in parts for bound in (part.at.start, part.at.stop)), self.size]
        between = [(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if a < b]
        pieces = [slice(a + own.start, a + own.stop) for a, b in between for own in slices(b - a)]
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
    """μ and a > 0 of A x = μ M x + a K x in most rows, of A x, M x and K x (u,); None where there are none.

    Medians of the solutions of pairs of rows, which few other rows do not change, and then least squares over the rows
    that they fit.
    """
    (z, w), (m, n), (k, h) = ((field[:-1:2], field[1::2]) for field in (image, inertia, stiffness))
    determinant = m * h - n * k
    regular = np.abs(determinant) > _REGULAR * (np.abs(m * h) + np.abs(n * k))
    if 2 * np.count_nonzero(regular) < regular.size:
        return None
    mu = float(np.median((z * h - w * k)[regular] / determinant[regular]))
    a = float(np.median((m * w - n * z)[regular] / determinant[regular]))
    fits = np.abs(image - mu * inertia - a * stiffness) <= _FITS * (np.abs(mu * inertia) + np.abs(a * stiffness))
    if a <= 0.0 or not fits.any():
        return None
    scale = np.array([np.linalg.norm(field[fits]) for field in (inertia, stiffness)])
    both = np.column_stack([inertia[fits], stiffness[fits]]) / scale
    found = np.linalg.lstsq(both, image[fits])[0] / scale
    return float(found[0]), float(found[1])
