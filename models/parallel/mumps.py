"""Sparse Cholesky factors of matrices distributed over ranks, by MUMPS. The only module that imports `mumps` (PyMUMPS).

PETSc's interface to MUMPS has neither separate forward and backward substitutions nor a user-defined order of pivots
for distributed matrices, and Debian's MUMPS orders by approximate minimum degree if a Schur complement is requested:
three to eight times the work of nested dissection in 3D. PyMUMPS has both, with PETSc's library.

Source: Amestoy, Duff, L'Excellent & Koster, SIAM J. Matrix Anal. Appl. 23 (2001) 15–41.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.linalg.factor import fill_reducing_order
from arlequin.models.linalg.forward_pass import ForwardPass
from arlequin.models.linalg.matrix import not_definite, symmetric_of_lower
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.memory import give_back
from arlequin.models.parallel.ranks import MpiRanks, Ranks
from arlequin.models.types import Array, Indices

_SINGULAR = 1e-13  # of the diagonal: an eigenvalue below it is that of a free motion
# per cent of working memory beyond MUMPS's estimate, and number of attempts, each of which doubles it
_EXTRA_MEMORY, _TRIES = 20, 4
_NO_MEMORY, _LITTLE_MEMORY, _INDEFINITE = (-7, -13, -19, -22), (-8, -9, -14, -15, -17, -20), (-6, -10, -40)  # INFOG(1)


class MumpsBorder:
    """A matrix A (u, u) distributed over ranks with a border of rows R (r, u), the same on every rank:

        K = [A Rᵀ; R 0],   A = L Lᵀ,   S = R A⁻¹ Rᵀ,

    S being the negative of the Schur complement of A, which is eliminated without pivoting. A⁻¹(b + Rᵀ p) is a forward
    substitution, which gives R A⁻¹ b, and a backward one. The factor is distributed over the ranks; the first rank
    holds S, right-hand sides and solutions, and broadcasts them.
    """

    def __init__(self, A: DistributedMatrix, rows: sp.csr_array) -> None:
        """A (u, u) and rows (r, u); UserError where A is not positive definite, or MUMPS is not installed."""
        self._rows = sp.csr_array(rows)
        (self._count, self._size), self._ranks = rows.shape, A.ranks
        self._last: ForwardPass | None = None  # the forward substitution that MUMPS stores
        self._right = np.zeros(self._size + self._count)
        self._reduced = np.zeros(max(self._count, 1))
        self._complement = np.zeros((0, 0))
        self._start(A)
        self._factor(A)

    def _start(self, A: DistributedMatrix) -> None:
        """Symbolic analysis, in a nested-dissection order."""
        self._context = context = _context(self._ranks)
        root, size = self._ranks.root, self._size + self._count
        context.set_shape(size)
        context.set_icntl(18, 3)  # distributed entries, duplicates summed
        context.set_icntl(28, 1)
        context.set_icntl(7, 1)
        context.set_icntl(14, _EXTRA_MEMORY)
        order = dissection_order(A)
        if root:
            place = np.arange(size, dtype=np.int32)
            place[order] = np.arange(self._size)
            self._place = place + np.int32(1)
            context.id.perm_in = context.cast_array(self._place)
        if self._count:
            context.set_icntl(19, 1)
            context.id.size_schur = self._count
            self._border = np.arange(self._size, size, dtype=np.int32) + np.int32(1)
            context.id.listvar_schur = context.cast_array(self._border)
        self._set_entries(A)
        give_back()
        self._run(1)

    def _set_entries(self, A: DistributedMatrix) -> None:
        """The upper triangle of K: each rank's share of A, and the border on the first."""
        local = sp.triu(A.local, format="coo")
        row, column, values = local.row, local.col, local.data
        if self._ranks.root and self._count:
            border = self._rows.tocoo()
            row = np.concatenate([row, border.col])
            column = np.concatenate([column, border.row + self._size])
            values = np.concatenate([values, border.data])
        self._entries = tuple(np.ascontiguousarray(x + 1, dtype=np.int32) for x in (row, column))
        self._values = np.ascontiguousarray(values, dtype=float)
        self._context.set_distributed_assembled(*self._entries, self._values)

    def _factor(self, A: DistributedMatrix) -> None:
        """Numeric factorisation, and S."""
        diagonal = A.diagonal()
        if not (diagonal > 0.0).all():
            raise not_definite(int(np.argmin(diagonal)))
        if self._count and self._ranks.root:
            self._complement = np.zeros((self._count, self._count))
            self._context.id.schur = self._context.cast_array(self._complement)
        for attempt in range(_TRIES):
            try:
                self._run(2)
                break
            except _LittleMemory:
                if attempt == _TRIES - 1:
                    raise
                self._context.set_icntl(14, 2 * self._context.get_icntl(14))
        self._last = None
        # solutions need the factor only
        self._entries, self._values = (), np.zeros(0)
        self._context._refs.clear()
        if self._context.get_infog(12) > 0:  # negative pivots
            raise not_definite()
        b = np.sqrt(diagonal) * np.random.default_rng(0).standard_normal(diagonal.size)
        y = self.solve(b)
        if not float(b @ y) > _SINGULAR * float(y @ (diagonal * y)):
            raise not_definite()
        self._schur: Array | None = self._checked() if self._count else np.zeros((0, 0))

    def _checked(self) -> Array:
        """S (r, r) on every rank, from the triangle of −S that MUMPS writes by rows; checked by a solution with a
        random right-hand side."""
        x, out = np.random.default_rng(0).standard_normal(self._count), np.zeros((0, 0))
        expected = self._rows @ self.solve(np.asarray(self._rows.T @ x))
        if self._ranks.root:
            out = symmetric_of_lower(self._complement)
            np.negative(out, out=out)
        self._complement = np.zeros((0, 0))
        out = self._ranks.array_of_root(out, (self._count, self._count))
        if not np.abs(out @ x - expected).max() <= 1e-6 * np.abs(expected).max():
            raise UserError("MUMPS: its Schur complement does not agree with its solutions", code=FAILURE)
        return out

    def refactorise(self, A: DistributedMatrix) -> "MumpsBorder":
        """For another matrix of the same pattern."""
        self._set_entries(A)
        self._factor(A)
        return self

    def schur(self) -> Array:
        """S (r, r) on every rank, which the caller may overwrite; once for each factorisation."""
        if self._schur is None:
            raise RuntimeError("S was taken: it is not kept")
        out, self._schur = self._schur, None
        return out

    def solve(self, b: Array) -> Array:
        """A⁻¹ b of b (u,) or (u, n)."""
        if b.ndim > 1:
            columns = [self.solve(column) for column in b.T]
            return np.stack(columns, axis=1) if columns else np.zeros(b.shape)
        self._last = None
        return self._solution(b, 0)

    def forward(self, b: Array) -> ForwardPass:
        """The forward substitution of b (u,) or (u, n), and R A⁻¹ b."""
        if b.ndim > 1:
            borders = [self.forward(column).border for column in b.T]
            return ForwardPass(b, np.stack(borders, axis=1) if borders else np.zeros((self._count, 0)))
        if not self._count:
            return ForwardPass(b, np.zeros(0))
        self._solution(b, 1)
        self._last = ForwardPass(b, -self._sent(self._reduced[: self._count]))
        return self._last

    def backward(self, forward: ForwardPass, push: Array | None = None) -> Array:
        """A⁻¹(b + Rᵀ p), p (r,) or (r, n); None: 0."""
        b = forward.half
        if b.ndim > 1:
            each = [None] * b.shape[1] if push is None else list(push.T)
            columns = [self.backward(self.forward(column), p) for column, p in zip(b.T, each, strict=True)]
            return np.stack(columns, axis=1) if columns else np.zeros(b.shape)
        if not self._count:
            return self._solution(b, 0)
        if self._last is not forward:  # MUMPS stores another forward substitution
            self._solution(b, 1)
        self._last = None
        self._reduced[: self._count] = 0.0 if push is None else -push
        return self._solution(None, 2)

    def forward_each(self, fields: Array, half: Array) -> Array:
        raise UserError("an ensemble runs on one rank: leave mpiexec out, or sweep over its members")

    def backward_each(self, half: Array, push: Array) -> Array:
        raise UserError("an ensemble runs on one rank: leave mpiexec out, or sweep over its members")

    def _solution(self, b: Array | None, half: int) -> Array:
        """A⁻¹ b (half 0), its forward substitution (1: the value is meaningless), or its backward one (2)."""
        context, root = self._context, self._ranks.root
        context.set_icntl(26, half)
        if root:
            if b is not None:
                self._right[: self._size], self._right[self._size :] = b, 0.0
            context.id.rhs = context.cast_array(self._right)
            if self._count:
                context.id.redrhs, context.id.lredrhs = context.cast_array(self._reduced), self._count
        self._run(3)
        return self._right if half == 1 else self._sent(self._right[: self._size])

    def _sent(self, values: Array) -> Array:
        """A copy of the first rank's values, on every rank."""
        return self._ranks.array_of_root(np.array(values), values.shape)

    def _run(self, job: int) -> None:
        """Run a phase of MUMPS; UserError where it fails."""
        try:
            self._context.run(job)
        except RuntimeError:
            status, amount = self._context.get_infog(1), self._context.get_infog(2)
            if status in _INDEFINITE:
                raise not_definite() from None
            if status in _LITTLE_MEMORY:
                raise _LittleMemory(f"MUMPS has too little room ({status}): take more ranks", code=FAILURE) from None
            if status in _NO_MEMORY:
                message = "not enough memory on a rank to factorise the matrix: take more machines, or "
                raise UserError(message + "solver='iterative'", code=FAILURE) from None
            raise UserError(f"MUMPS failed: INFOG(1) = {status}, INFOG(2) = {amount}", code=FAILURE) from None

    def __del__(self) -> None:
        context = getattr(self, "_context", None)
        if context is not None:
            context.destroy()


class _LittleMemory(UserError):
    """MUMPS needs more working memory than was allocated."""


def dissection_order(A: DistributedMatrix) -> Indices:
    """The nested-dissection order (u,) of the pattern of A on the first rank, empty elsewhere.

    Rows of the same pattern, the components of a node, are one vertex of the graph: a ninth of the edges in 3D.
    """
    size = A.shape[0]
    local = A.local
    ones = sp.csr_array((np.ones(local.nnz), local.indices, local.indptr), shape=local.shape)
    weights = np.random.default_rng(0).integers(1, 2**40, size).astype(float)
    # sums of integers are exact: rows of a node have the same signature on every rank
    signature = A.ranks.summed(ones @ weights)
    _, first, vertex = np.unique(signature, return_index=True, return_inverse=True)
    heads = np.sort(first)
    vertices = sp.csr_array(ones[heads][:, heads])
    pieces = A.ranks.gathered_at_root((vertices.indptr.astype(np.int32), vertices.indices.astype(np.int32)))
    if not A.ranks.root:
        return np.zeros(0, dtype=np.int64)
    total = sp.csr_array(vertices.shape)
    for indptr, indices in pieces:
        total = total + sp.csr_array((np.ones(indices.size), indices, indptr), shape=vertices.shape)
    total = sp.csr_array(total + sp.eye_array(total.shape[0]))
    order = fill_reducing_order(total, "metis") if total.shape[0] > 1 else np.zeros(total.shape[0], dtype=np.int64)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    # vertices are numbered by ascending signature: renumber them by their first rows
    number = np.empty(first.size, dtype=np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(first.size)
    return np.argsort(place[number[vertex.ravel()]], kind="stable")


def _context(among: Ranks) -> Any:
    """A context of MUMPS for symmetric positive definite matrices; UserError where PyMUMPS is not installed."""
    try:
        from mpi4py import MPI
        from mumps import DMumpsContext
    except ImportError as error:
        message = f'MUMPS cannot be used ({error}): pip install "arlequin[petsc]", see Install in the documentation'
        raise UserError(message, code=FAILURE) from error
    context = DMumpsContext(par=1, sym=1, comm=among.comm if isinstance(among, MpiRanks) else MPI.COMM_SELF)
    context.set_silent()
    return context
