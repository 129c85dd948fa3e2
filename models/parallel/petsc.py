"""Factors of matrices spread over ranks, by MUMPS through PETSc. The only module that imports `petsc4py`.

Sources: Balay et al., PETSc/TAO users manual (ANL-21/39); Amestoy, Duff, L'Excellent & Koster, SIAM J. Matrix Anal.
Appl. 23 (2001) 15–41 (MUMPS).
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.linalg.constraints import symmetric_of_lower
from arlequin.models.linalg.matrix import not_definite
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.ranks import MpiRanks, Ranks
from arlequin.models.types import Array

_HELD = 1e-13  # of the diagonal: an eigenvalue below it is that of a free motion
_AGREES = 1e-6  # relative error at which a Schur complement is the right one
_ROOM, _TRIES = 40, 4  # per cent of working memory that MUMPS takes beyond its estimate, and how often it is doubled


@cache
def petsc() -> Any:
    """The module petsc4py.PETSc; UserError where it is not installed."""
    try:
        import petsc4py

        petsc4py.init(["-malloc_dump", "0"])
        from petsc4py import PETSc
    except ImportError as error:
        message = f'PETSc cannot be used ({error}): pip install "arlequin[petsc]", see Install in the documentation'
        raise UserError(message, code=FAILURE) from error
    if np.dtype(PETSc.ScalarType) != np.float64:
        raise UserError(f"PETSc has scalars of type {PETSc.ScalarType.__name__}, real ones are needed", code=FAILURE)
    return PETSc


def communicator(among: Ranks) -> Any:
    """The communicator of the ranks in PETSc."""
    return among.comm if isinstance(among, MpiRanks) else petsc().COMM_SELF


class RowOwners:
    """Rows of a distributed matrix (n, n) and rows that the first rank has besides (extra), numbered so that each rank has
    consecutive ones: `first` to `last` are those of this rank.

    A row belongs to the lowest rank that has entries in it.
    """

    def __init__(self, A: DistributedMatrix, extra: int = 0) -> None:
        self.ranks, self.size, self.extra = A.ranks, A.shape[0], extra
        own = np.where(np.diff(A.local.indptr) > 0, self.ranks.index, self.ranks.count).astype(np.int32)
        self.owner = np.minimum(self.ranks.lowest(own), self.ranks.count - 1)
        counts = np.bincount(self.owner, minlength=self.ranks.count)
        counts[0] += extra
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.first, self.last = (int(self.starts[i]) for i in (self.ranks.index, self.ranks.index + 1))
        self.order = np.argsort(self.owner, kind="stable")  # rows of A, rank by rank
        self.number = np.empty(self.size, dtype=np.int64)  # of the rows of A
        self.number[self.order] = np.arange(self.size)
        self.number[self.owner > 0] += extra
        self.extra_first = int(counts[0]) - extra
        self.mine = self.order[self.owner[self.order] == self.ranks.index]

    @property
    def own_count(self) -> int:
        """Rows of this rank."""
        return self.last - self.first

    def rows(self, A: DistributedMatrix) -> sp.csr_array:
        """The rows of this rank (k, n + extra), entries of all ranks summed, in the new numbers."""
        width = self.size + self.extra
        local = A.local.tocoo()
        row, column = self.number[local.row], self.number[local.col].astype(np.int32)
        owner = self.owner[local.row]
        pieces = []
        for rank in range(self.ranks.count):
            sent = owner == rank
            pieces.append((row[sent] - self.starts[rank], column[sent], local.data[sent]))
        del local, row, column, owner
        own = self.ranks.exchanged(pieces)
        del pieces
        total = sp.csr_array((self.own_count, width))
        for rows, columns, values in own:
            total = total + sp.csr_array(sp.coo_array((values, (rows, columns)), shape=(self.own_count, width)))
        return sp.csr_array(total)

    def placed(self, b: Array) -> Array:
        """The entries of this rank (k,), those of the extra rows 0, of b (n,)."""
        out = np.zeros(self.own_count)
        out[self.number[self.mine] - self.first] = b[self.mine]
        return out

    def whole(self, local: Array) -> Array:
        """x (n,) on every rank from the entries of this rank (k,)."""
        found = self.ranks.joined(local[self.number[self.mine] - self.first])
        out = np.empty(self.size)
        out[self.order] = found
        return out


class DistributedBorder:
    """A matrix A (u, u) spread over ranks with a border of rows R (r, u), factored by MUMPS with its Schur complement:

        K = [A Rᵀ; R 0],   S = R A⁻¹ Rᵀ,

    which is the negative of what is left on the border when A is eliminated; A = L Lᵀ without pivoting. `forward` and
    `backward` are solutions with A: that of the right-hand side, and that of what the border pulls.
    """

    def __init__(self, A: DistributedMatrix, rows: sp.csr_array) -> None:
        """A (u, u) and rows (r, u), the same on every rank; UserError where A is not positive definite."""
        self._rows, self._count = sp.csr_array(rows), rows.shape[0]
        self._pull = sp.csr_array(self._rows.T)
        self._set(A)

    def _set(self, A: DistributedMatrix) -> None:
        diagonal = A.diagonal()
        if not (diagonal > 0.0).all():
            raise not_definite(int(np.argmin(diagonal)))
        self._owners = RowOwners(A, self._count)
        self._factor = _factored(self._bordered(A), self._owners, self._count)
        load = np.sqrt(diagonal) * np.random.default_rng(0).standard_normal(diagonal.size)
        moved = self.solve(load)
        if not float(load @ moved) > _HELD * float(moved @ (diagonal * moved)):
            raise not_definite()
        self._schur = self._complement() if self._count else np.zeros((0, 0))

    def _complement(self) -> Array:
        """S (r, r) on every rank."""
        probe, among = np.random.default_rng(0).standard_normal(self._count), self._owners.ranks
        answer = self._rows @ self.solve(self._pull @ probe)
        found = self._factor.complement(self._count if among.root else 0, probe, answer)
        if not isinstance(among, MpiRanks):
            return found
        out = found if among.root else np.empty((self._count, self._count))
        among.comm.Bcast(out, root=0)
        return out

    def _bordered(self, A: DistributedMatrix) -> sp.csr_array:
        """The upper triangle of K on the rows of this rank."""
        owners = self._owners
        own = owners.rows(A)
        if owners.ranks.root and self._count:
            border = self._rows.tocoo()
            row = owners.extra_first + border.row
            column = owners.number[border.col]
            corner = owners.extra_first + np.arange(self._count)
            entries = (
                np.concatenate([border.data, np.zeros(self._count)]),
                (np.concatenate([np.minimum(row, column), corner]), np.concatenate([np.maximum(row, column), corner])),
            )
            whole = owners.size + owners.extra
            upper = sp.csr_array(sp.coo_array(entries, shape=(owners.last, whole)))
            return _joined(_upper(own, 0), upper)
        return _upper(own, owners.first)

    def refactorise(self, A: DistributedMatrix) -> "DistributedBorder":
        """For another matrix."""
        del self._factor
        self._set(A)
        return self

    def schur(self) -> Array:
        """S (r, r) on every rank."""
        return self._schur

    def solve(self, b: Array) -> Array:
        """A⁻¹ b of b (u,) or (u, n)."""
        if b.ndim > 1:
            return np.stack([self.solve(column) for column in b.T], axis=1) if b.shape[1] else np.zeros(b.shape)
        right, found = self._factor.vectors
        right.setArray(self._owners.placed(b))
        self._factor.solve(right, found)
        return self._owners.whole(found.getArray())

    def forward(self, b: Array) -> Any:
        """A⁻¹ b, and R A⁻¹ b."""
        from arlequin.models.linalg.bordered import ForwardPass

        y = self.solve(b)
        return ForwardPass(y, self._rows @ y)

    def backward(self, forward: Any, push: Array | None = None) -> Array:
        """A⁻¹(b + Rᵀ p), p (r,) or (r, n); None: 0."""
        if push is None or not push.any():
            return np.array(forward.half)
        return np.asarray(forward.half + self.solve(self._pull @ push))

    def forward_each(self, fields: Array, half: Array) -> Array:
        raise UserError("an ensemble runs on one rank: sweep over its members instead, or leave mpiexec out")

    def backward_each(self, half: Array, push: Array) -> Array:
        raise UserError("an ensemble runs on one rank: sweep over its members instead, or leave mpiexec out")


class _Mumps:
    """A factor of MUMPS, with vectors of its rows."""

    def __init__(self, matrix: Any, border: Any) -> None:
        PETSc = petsc()
        self._solver = PETSc.PC().create(matrix.getComm())
        self._solver.setOperators(matrix)
        self._solver.setType("cholesky")
        self._solver.setFactorSolverType("mumps")
        self._solver.setFactorSetUpSolverType()
        self.factor = self._solver.getFactorMatrix()
        self.factor.setMumpsIcntl(7, 5)  # METIS
        if border is not None:
            _call("MatFactorSetSchurIS", self.factor.handle, border.handle)
        self.vectors = matrix.createVecs()

    def factorise(self) -> None:
        """The numeric factor; UserError where there is none."""
        room = _ROOM
        for attempt in range(_TRIES):
            self.factor.setMumpsIcntl(14, room)
            self._solver.setUp()
            status = self.factor.getMumpsInfog(1)
            if status >= 0:
                break
            if status not in (-8, -9, -14, -15, -17, -20) or attempt == _TRIES - 1:
                _refuse(status, self.factor.getMumpsInfog(2))
            room *= 2
            self._solver.reset()
        self.factor.setMumpsIcntl(26, 0)  # solutions with A alone; before the factorisation it is overwritten
        if self.factor.getMumpsInfog(12) > 0:  # negative pivots
            raise not_definite()

    def solve(self, b: Any, x: Any) -> None:
        """x = A⁻¹ b."""
        self.factor.solve(b, x)

    def complement(self, count: int, probe: Array, answer: Array) -> Array:
        """The negative S of the Schur complement (count, count), on the first rank; empty on others.

        MUMPS writes one triangle, by rows or by columns as it likes, and leaves the other as it was: the one is taken
        for which S x, x the probe (count,), is the answer that solutions give. UserError where neither is.
        """
        found, status = ctypes.c_void_p(), ctypes.c_int()
        _call("MatFactorGetSchurComplement", self.factor.handle, ctypes.byref(found), ctypes.byref(status))
        assert found.value is not None
        out = np.zeros((0, 0))
        if count:
            values = ctypes.POINTER(ctypes.c_double)()
            _call("MatDenseGetArray", found.value, ctypes.byref(values))
            out = -symmetric_of_triangle(np.ctypeslib.as_array(values, (count, count)).T, probe, -answer)
            _call("MatDenseRestoreArray", found.value, ctypes.byref(values))
        _call("MatFactorRestoreSchurComplement", self.factor.handle, ctypes.byref(found), 0)
        return out


def symmetric_of_triangle(matrix: Array, probe: Array, answer: Array) -> Array:
    """The symmetric matrix (n, n) of which one triangle is given, that for which its product with x is the answer.

    >>> symmetric_of_triangle(np.array([[1.0, 7.0], [2.0, 3.0]]), np.array([1.0, 1.0]), np.array([3.0, 5.0]))
    array([[1., 2.],
           [2., 3.]])
    """
    errors = [
        float(np.abs(scipy.linalg.blas.dsymv(1.0, matrix, probe, lower=lower) - answer).max()) for lower in (1, 0)
    ]
    better = int(np.argmin(np.nan_to_num(errors, nan=np.inf)))
    if not errors[better] <= _AGREES * float(np.abs(answer).max()):
        raise UserError("PETSc: the Schur complement of MUMPS does not agree with its solutions", code=FAILURE)
    return symmetric_of_lower(np.array(matrix if better == 0 else matrix.T))


def _factored(upper: sp.csr_array, owners: RowOwners, count: int) -> _Mumps:
    """The factor of K, with a border of so many rows, from the upper triangle of this rank's rows."""
    PETSc = petsc()
    comm = communicator(owners.ranks)
    own, whole = owners.own_count, owners.size + owners.extra
    matrix = PETSc.Mat().createSBAIJ(
        ((own, whole), (own, whole)),
        1,
        csr=(upper.indptr.astype(PETSc.IntType), upper.indices.astype(PETSc.IntType), upper.data),
        comm=comm,
    )
    del upper
    matrix.assemble()
    matrix.setOption(PETSc.Mat.Option.SPD, True)
    border = None
    if count:
        rows = np.arange(count if owners.ranks.root else 0, dtype=PETSc.IntType) + owners.extra_first
        border = PETSc.IS().createGeneral(rows.astype(PETSc.IntType), comm=comm)
    factor = _Mumps(matrix, border)
    factor.factorise()
    return factor


def _upper(rows: sp.csr_array, first: int) -> sp.csr_array:
    """Entries on and above the diagonal of rows from `first` on."""
    return sp.csr_array(sp.triu(rows, k=first, format="csr"))


def _joined(a: sp.csr_array, b: sp.csr_array) -> sp.csr_array:
    """a + b with the zeros of both kept: MUMPS needs a diagonal in each row."""
    one, other = a.tocoo(), b.tocoo()
    entries = np.concatenate([one.data, other.data])
    at = np.concatenate([one.row, other.row]), np.concatenate([one.col, other.col])
    out = sp.coo_array((entries, at), shape=a.shape).tocsr()
    out.sum_duplicates()
    return sp.csr_array(out)


def _refuse(status: int, amount: int) -> None:
    """Raise why there is no factor, by INFOG(1) of MUMPS."""
    if status in (-10, -40, -6):
        raise not_definite()
    if status in (-7, -13, -19, -22):
        raise UserError("not enough memory on a rank to factorise the matrix: take more ranks or machines, or "
                        "solver='iterative'", code=FAILURE)  # fmt: skip
    raise UserError(f"MUMPS failed with INFOG(1) = {status}, INFOG(2) = {amount}", code=FAILURE)


@cache
def _library() -> Any:
    """PETSc's functions in C, for those that petsc4py has no methods for."""
    from petsc4py import PETSc

    return ctypes.CDLL(PETSc.__file__)


def _call(name: str, handle: int, *arguments: Any) -> None:
    """Call a function of PETSc on an object."""
    given = [ctypes.c_void_p(a) if isinstance(a, int) else a for a in (handle, *arguments)]
    if code := getattr(_library(), name)(*given):
        raise UserError(f"PETSc: {name} failed with error {code}", code=FAILURE)


Indices = NDArray[np.int64]
