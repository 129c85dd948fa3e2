"""Symmetric positive definite matrices A bordered by rows R: R A⁻¹ Rᵀ and A⁻¹(b + Rᵀ p) without columns A⁻¹Rᵀ."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.linalg.batched_factor import BatchedFactor
from arlequin.models.linalg.factor import CholeskyFactor, DiagonalFactor, factorise, fill_reducing_order
from arlequin.models.linalg.forward_pass import ForwardPass
from arlequin.models.linalg.matrix import canonical, not_definite, only_diagonal
from arlequin.models.linalg.supernodal import supernodes_of
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.types import Array

_EXTRA_BITS = 120  # powers of two by which Z exceeds R_i diag(A)⁻¹ R_iᵀ


class Bordered(Protocol):
    """A factored A (u, u) with rows R (r, u)."""

    def schur(self) -> Any:
        """S = R A⁻¹ Rᵀ (r, r), symmetric; sparse where A is diagonal."""

    def solve(self, b: Array) -> Array:
        """A⁻¹ b of b (u,) or (u, n)."""

    def forward(self, b: Array) -> ForwardPass:
        """The forward substitution of b (u,) or (u, n)."""

    def backward(self, forward: ForwardPass, push: Array | None = None) -> Array:
        """A⁻¹(b + Rᵀ p), p (r,) or (r, n); None: 0."""

    def forward_each(self, fields: Array, half: Array) -> Array:
        """`forward` of each of the fields (n, u), into half (n, u + r); returns R A⁻¹ b (n, r)."""

    def backward_each(self, half: Array, push: Array) -> Array:
        """A⁻¹(b + Rᵀ p) (n, u), p (n, r); half is overwritten."""

    def refactorise(self, A: Any) -> "Bordered":
        """For another matrix; the symbolic analysis is reused where the pattern is the same."""


def border(A: Any, rows: Any) -> Bordered:
    """Factor A, by rows or distributed over ranks, with a border; UserError where A is not positive definite."""
    if isinstance(A, DistributedMatrix):
        from arlequin.models.parallel.mumps import MumpsBorder

        return MumpsBorder(A, rows)
    matrix, rows = canonical(A), sp.csr_array(rows)
    return BorderedFactor(matrix, rows) if only_diagonal(matrix) is None else BorderedDiagonal(matrix, rows)


class BorderedPasses(NamedTuple):
    """The forward and the backward pass of a `BorderedFactor` as arrays for compiled loops (`_bordered_kernels`).

    source (u + r,): row of A of each row of L, −1 for the border. first … values: L, see `Supernodes`.
    places (r,): rows of the border in L, ascending; row_numbers (r,): theirs in R; root (r,): the diagonal of L_Z.
    """

    source: NDArray[np.int64]
    first: NDArray[np.int32]
    row_start: NDArray[np.int32]
    value_start: NDArray[np.int32]
    rows: NDArray[np.uint32]
    values: Array
    places: NDArray[np.int64]
    row_numbers: NDArray[np.int64]
    root: Array


class BorderedFactor:
    """A and its border in one sparse Cholesky factor:

        K = [A  Rᵀ; R  Z] = L Lᵀ,    L = [L_A  0; Y  L_Z],    L_A L_Aᵀ = A,    Y = R L_A⁻ᵀ,    S = R A⁻¹ Rᵀ = Y Yᵀ,

    the fill-reducing order of A first, the border last. L_A and Y do not depend on Z, which only makes K positive
    definite: any Z > S does. Z = diag(4^k) with 4^k ≥ 2^120 R_i D⁻¹ R_iᵀ, D = diag(A), is so far beyond S that L_Z =
    diag(2^k): Z − S is Z to the last digit. The eigenvalues of S in units of R_i D⁻¹ R_iᵀ are at most r times
    the condition number of D^-½ A D^-½, which a factor in double precision allows up to 2^53.

    A⁻¹(b + Rᵀ p) is one forward pass, L⁻¹ [b; 0] = [w; −L_Z⁻¹ Y w] with R A⁻¹ b = Y w, and one backward pass,
    L⁻ᵀ [w; −L_Zᵀ p], with a p that is computed in between.
    """

    def __init__(self, A: Any, rows: sp.csr_array) -> None:
        """A (u, u) and rows (r, u); UserError where A is not positive definite."""
        self._rows = rows
        (self._count, self._size), self._order = rows.shape, fill_reducing_order(A)
        self.factor = self._factored(A, lambda whole: CholeskyFactor(whole, "natural"))

    def _factored(self, A: Any, factored: Callable[[Any], CholeskyFactor]) -> CholeskyFactor:
        """The factor of K; sets the places of the border in it."""
        diagonal = A.diagonal()
        if not (diagonal > 0.0).all():
            raise not_definite(int(np.argmin(diagonal)))
        squares = self._rows.multiply(self._rows) @ (1.0 / diagonal)
        root = np.exp2(np.ceil(0.5 * (np.frexp(np.where(squares > 0.0, squares, 1.0))[1] + _EXTRA_BITS)))
        inner, across = A[self._order][:, self._order], sp.csc_array(self._rows[:, self._order])
        rows = [[inner, across.T], [across, sp.diags_array(root**2)]]
        factor = factored(sp.block_array(rows, format="csc") if self._count else inner)
        # places of the border in the order of the factor, ascending, and their row numbers
        places = factor.places(np.arange(self._size, self._size + self._count))
        self._sorted = np.argsort(places)
        self._places, self._root = places[self._sorted], root[self._sorted]
        return factor

    def refactorise(self, A: Any, rows: sp.csr_array | None = None) -> "BorderedFactor":
        """Factorise another matrix; rows: another R, None for the same."""
        self._rows = self._rows if rows is None else rows
        self.factor = self._factored(canonical(A), self.factor.refactorise)
        vars(self).pop("_each", None)
        return self

    def schur(self) -> Array:
        if not self._count:
            return np.zeros((0, 0))
        out = self.factor.row_products(self._places)
        if (self._sorted[1:] < self._sorted[:-1]).any():
            inverse_order = np.argsort(self._sorted)
            out = out[np.ix_(inverse_order, inverse_order)]
        return out

    def solve(self, b: Array) -> Array:
        return self.backward(self.forward(b))

    def forward(self, b: Array) -> ForwardPass:
        extended = np.zeros((self._size + self._count, *b.shape[1:]), order="F")
        extended[: self._size] = b[self._order]
        half = self.factor.forward(extended)
        return ForwardPass(half, self.border_values(half.T).T)

    def backward(self, forward: ForwardPass, push: Array | None = None) -> Array:
        half = forward.half.copy(order="F")
        if push is None:
            half[self._places] = 0.0
        else:
            self._set_push(half.T, push.T)
        out = np.empty((self._size, *half.shape[1:]))
        out[self._order] = self.factor.backward(half)[: self._size]
        return out

    def passes(self) -> "BorderedPasses":
        """The passes as arrays, valid until `refactorise`."""
        order, (first, row_start, value_start, rows, values) = supernodes_of(self.factor)
        source = np.append(self._order, np.full(self._count, -1))[order]
        # unsigned: kernels test signed indices for being negative
        columns = first, row_start, value_start, rows.view(np.uint32), values
        return BorderedPasses(source, *columns, self._places, self._sorted, self._root)

    def border_values(self, half: Array) -> Array:
        """Y w (…, r), stored by a forward pass as −L_Z⁻¹ Y w on the border of half (…, u + r)."""
        out = np.empty((*half.shape[:-1], self._count))
        out[..., self._sorted] = -(half[..., self._places] * self._root)
        return out

    def set_border_values(self, half: Array, values: Array) -> None:
        """Writes Y w (…, r) to the border of half (…, u + r), the inverse of `border_values`."""
        half[..., self._places] = -(values[..., self._sorted] / self._root)

    def _set_push(self, half: Array, push: Array) -> None:
        """Writes −L_Zᵀ p of p (…, r) to the border of half (…, u + r)."""
        half[..., self._places] = -(push[..., self._sorted] * self._root)

    @cached_property
    def _each(self) -> BatchedFactor:
        """The same factor for many right-hand sides, with entries in the order of A, then the border."""
        rows = np.concatenate([self._order, np.arange(self._size, self._size + self._count)])
        return BatchedFactor.of(self.factor, rows)

    def forward_each(self, fields: Array, half: Array) -> Array:
        self._each.forward(fields, half)
        return self.border_values(half)

    def backward_each(self, half: Array, push: Array) -> Array:
        self._set_push(half, push)
        out = np.empty((len(half), self._size))
        self._each.backward(half, out)
        return out


class BorderedDiagonal:
    """A diagonal A (a lumped mass) with a border: S and A⁻¹Rᵀ are sparse."""

    def __init__(self, A: Any, rows: sp.csr_array) -> None:
        self.factor = factorise(A)
        assert isinstance(self.factor, DiagonalFactor)
        self._rows = rows
        self._inverse = 1.0 / self.factor.diagonal
        self._columns = sp.csr_array(rows.T * self._inverse[:, None])

    def refactorise(self, A: Any) -> "BorderedDiagonal":
        return BorderedDiagonal(canonical(A), self._rows)

    def schur(self) -> sp.csr_array:
        return sp.csr_array(self._rows @ self._columns)

    def solve(self, b: Array) -> Array:
        return self.factor.solve(b)

    def forward(self, b: Array) -> ForwardPass:
        half = self.factor.solve(b)
        return ForwardPass(half, self._rows @ half)

    def backward(self, forward: ForwardPass, push: Array | None = None) -> Array:
        return forward.half if push is None else forward.half + self._columns @ push

    def forward_each(self, fields: Array, half: Array) -> Array:
        size = fields.shape[1]
        half[:, :size] = fields * self._inverse
        return np.asarray((self._rows @ half[:, :size].T).T)

    def backward_each(self, half: Array, push: Array) -> Array:
        return half[:, : self._inverse.size] + (self._columns @ push.T).T
