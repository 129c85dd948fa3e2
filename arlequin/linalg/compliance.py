"""Response of a step's solution to contact impulses: columns computed when their points first come near contact."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.types import Array

_NOTHING = 1e-20  # share of a column's peak that adds nothing to a sum in double precision
_BLOCK = 32  # columns made together: a block of right-hand sides stays in cache
_FEW = 256  # so many columns are made at once, at the start
_ROOM = 1e9  # bytes that all columns may take, about half of a 3D factor that needs as many

# rows (r, u) → columns A⁻¹Rᵀ (u, r) with the constraints eliminated, and the decrease of the multipliers (m, r)
Solve = Callable[[sp.csr_array], tuple[Array, Array]]


@dataclass(frozen=True)
class CompactColumns:
    """Columns of A⁻¹Rᵀ where they are more than round-off: they fall exponentially with the distance from R's dofs."""

    rows: NDArray[np.int64]
    matrix: Array

    @classmethod
    def of(cls, columns: Array, dofs: NDArray[np.int64]) -> "CompactColumns":
        """`columns` (u, r) on the unknowns, whose dofs are `dofs` (u,)."""
        peak = np.abs(columns).max(axis=1, initial=0.0)
        kept = np.flatnonzero(peak > _NOTHING * peak.max(initial=0.0))
        return cls(dofs[kept], np.asfortranarray(columns[kept]))

    def add(self, y: Array, coefficients: Array) -> None:
        """y (d,) += columns @ coefficients (r,); columns without coefficient (open points) are not read."""
        acting = np.flatnonzero(coefficients)
        if not acting.size or not self.rows.size:  # the rows of driven dofs move nothing
            return
        every = self.rows.size == y.size  # in order then: nothing is gathered
        total = y if every else y[self.rows]
        for run in np.split(acting, np.flatnonzero(np.diff(acting) > 1) + 1):
            here = slice(run[0], run[-1] + 1)
            total = scipy.linalg.blas.dgemv(
                1.0, self.matrix[:, here], coefficients[here], beta=1.0, y=total, overwrite_y=1
            )
        if every:
            y[:] = total  # itself, unless BLAS took a copy
        else:
            y[self.rows] = total

    def add_each(self, y: Array, coefficients: Array) -> None:
        """The same for each of many: y (n, d), coefficients (n, r)."""
        acting = np.flatnonzero(coefficients.any(axis=0))
        if not acting.size:
            return
        some = slice(acting[0], acting[-1] + 1)  # a slice spares a copy
        change = coefficients[:, some] @ self.matrix.T[some]
        if self.rows.size == y.shape[1]:
            y += change
        else:
            y[:, self.rows] += change


class ComplianceOperator(Protocol):
    """W (q, q): velocities of the rows of the contact's basis by impulses on them."""

    def of(self, rows: sp.csr_array) -> Array:
        """R W Rᵀ (r, r), symmetric, of rows R (r, q) on the basis."""
        ...

    def chosen(self, rows: NDArray[np.int64]) -> Array:
        """W between the rows (r,) of the basis, (r, r), symmetric."""
        ...

    def move(self, impulse: Array) -> Array:
        """W P (q,) of impulses P (q,)."""
        ...


class Compliance:
    """W = B X, X = A⁻¹Bᵀ with the constraints eliminated, for the rows B (q, u) of the contact's basis.

    A column costs one back-substitution and its storage: those of points that never come near contact are not made.
    Where all would take too much memory only their rows of W are kept: a response is then one back-substitution.
    """

    def __init__(self, basis: sp.csr_array, dofs: NDArray[np.int64], solve: Solve) -> None:
        """dofs (u,): the dofs of the unknowns."""
        self._basis = basis
        self._dofs = dofs
        self._solve = solve
        self._place = np.full(basis.shape[0], -1)  # of a row's column among those made
        self._last: list[tuple[NDArray[np.int64], Array]] = []
        self._blocks: list[tuple[NDArray[np.int64], CompactColumns]] = []
        self._multipliers: list[tuple[NDArray[np.int64], Array]] = []
        self._bare = np.zeros(basis.shape[0], dtype=bool)  # rows whose columns are not kept
        self._matrix = np.zeros((0, basis.shape[0]))  # made columns of W as rows
        self._asked: list[NDArray[np.int64]] = []  # rows whose columns were made together, after those of the start
        if 0 < basis.shape[0] <= _FEW:
            self._make(np.arange(basis.shape[0]))

    def of(self, rows: sp.csr_array) -> Array:
        """R W Rᵀ (r, r), symmetric, of rows R (r, q) on the basis."""
        used = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]))
        self._need(used)
        among = rows.data, self._place[rows.indices], rows.indptr
        half = sp.csr_array(among, shape=(rows.shape[0], len(self._matrix))) @ self._matrix
        out = np.asarray((rows @ half.T).T)
        return np.ascontiguousarray(0.5 * (out + out.T))

    def chosen(self, rows: NDArray[np.int64]) -> Array:
        """W between the rows (r,) of the basis, (r, r), symmetric; the last one is kept."""
        if self._last and np.array_equal(self._last[0][0], rows):
            return self._last[0][1]
        self._need(rows)
        out = self._matrix[np.ix_(self._place[rows], rows)]
        self._last[:] = [(rows, np.ascontiguousarray(0.5 * (out + out.T)))]
        return self._last[0][1]

    def move(self, impulse: Array) -> Array:
        """W P (q,) of impulses P (q,)."""
        acting = np.flatnonzero(impulse)
        self._need(acting)
        return impulse[acting] @ self._matrix[self._place[acting]]

    def respond(self, impulse: Array, y: Array) -> None:
        """y (d,) += X P."""
        self._need(np.flatnonzero(impulse))
        for rows, columns in self._blocks:
            columns.add(y, impulse[rows])
        bare = np.where(self._bare, impulse, 0.0)
        if bare.any():
            y[self._dofs] += self._solve(sp.csr_array(sp.csr_array(bare[None]) @ self._basis))[0][:, 0]

    def respond_each(self, impulse: Array, y: Array, multipliers: Array) -> None:
        """y (n, d) += X P and multipliers (n, m) −= their decrease by the impulses P (n, q)."""
        self._need(np.flatnonzero(impulse.any(axis=0)))
        for rows, columns in self._blocks:
            columns.add_each(y, impulse[:, rows])
        for rows, block in self._multipliers:
            multipliers -= impulse[:, rows] @ block.T
        bare = np.where(self._bare, impulse, 0.0)
        if bare.any():
            y[:, self._dofs] += self._solve(sp.csr_array(sp.csr_array(bare) @ self._basis))[0].T

    def release(self, impulse: Array, count: int) -> Array:
        """The decrease of the multipliers (count,) by the impulses P (q,)."""
        out = np.zeros(count)
        for rows, block in self._multipliers:
            out += block @ impulse[rows]
        return out

    def _need(self, rows: NDArray[np.int64]) -> None:
        missing = rows[self._place[rows] < 0]
        if missing.size:
            self._make(missing)
            self._asked.append(missing)

    @property
    def state_dict(self) -> tuple[NDArray[np.int64], ...]:
        """Which columns were computed together: their last digits depend on it."""
        return tuple(self._asked)

    def load_state_dict(self, state: tuple[NDArray[np.int64], ...]) -> None:
        """Restore from `state_dict`."""
        for rows in state:
            self._need(rows)

    def _make(self, rows: NDArray[np.int64]) -> None:
        size = rows.size if rows.size <= _FEW else _BLOCK
        made, blocks, shares = [self._matrix], [], []
        bare = 8.0 * self._dofs.size * (rows.size + self._matrix.shape[0]) > _ROOM
        for first in range(0, rows.size, size):
            some = rows[first : first + size]
            columns, multipliers = self._solve(sp.csr_array(self._basis[some]))
            if not bare:
                blocks.append((some, CompactColumns.of(columns, self._dofs)))
            shares.append((some, multipliers))
            made.append(np.ascontiguousarray((self._basis @ columns).T))
        # full ones are added at once
        if blocks and all(np.array_equal(block.rows, blocks[0][1].rows) for _, block in blocks):
            whole = CompactColumns(
                blocks[0][1].rows, np.asfortranarray(np.hstack([block.matrix for _, block in blocks]))
            )
            blocks, shares = [(rows, whole)], [(rows, np.hstack([share for _, share in shares]))]
        self._bare[rows] = bare
        self._blocks.extend(blocks)
        self._multipliers.extend(shares)
        self._place[rows] = self._matrix.shape[0] + np.arange(rows.size)
        self._matrix = np.concatenate(made)
