"""Symmetric positive definite matrices A bordered by rows R: R A⁻¹ Rᵀ and A⁻¹(b + Rᵀ p) without columns A⁻¹Rᵀ."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dlauum
from scipy.sparse.linalg import cg

from arlequin.models.errors import UserError
from arlequin.models.linalg.batched_factor import BatchedFactor
from arlequin.models.linalg.constraints import symmetric_of_lower
from arlequin.models.linalg.factor import CholeskyFactor, DiagonalFactor, factorise, fill_reducing_order
from arlequin.models.linalg.forward_pass import ForwardPass
from arlequin.models.linalg.matrix import binade, canonical, only_diagonal
from arlequin.models.linalg.supernodal import supernodes_of
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.types import Array

_MARGIN = 2.0  # of the shift, at least, over the estimate of the largest eigenvalue
_RAISED = 1024.0  # by which it grows where the bordered matrix was not positive definite
_PRODUCTS, _ITERATIONS = 8, 30  # of the estimate: power iterations, and conjugate gradients in each
_ENOUGH = 1e-2  # relative residual that ends the conjugate gradients


class Bordered(Protocol):
    """A factored A (u, u) with rows R (r, u)."""

    def schur(self) -> Any:
        """S = R A⁻¹ Rᵀ (r, r), symmetric; sparse where A is diagonal."""

    def solve(self, b: Array) -> Array:
        """A⁻¹ b of b (u,) or (u, n)."""

    def forward(self, b: Array) -> ForwardPass:
        """The first half of the solution for b (u,) or (u, n)."""

    def backward(self, forward: ForwardPass, push: Array | None = None) -> Array:
        """A⁻¹(b + Rᵀ p), p (r,) or (r, n); None: 0."""

    def forward_each(self, fields: Array, half: Array) -> Array:
        """The same for each of fields (n, u), into half (n, u + r); returns R A⁻¹ b (n, r)."""

    def backward_each(self, half: Array, push: Array) -> Array:
        """A⁻¹(b + Rᵀ p) (n, u), p (n, r); half is overwritten."""

    def refactorise(self, A: Any) -> "Bordered":
        """For another matrix; the symbolic analysis is reused where the pattern is the same."""


def border(A: Any, rows: Any) -> Bordered:
    """Factors A, by rows or spread over ranks, with a border; UserError where A is not positive definite."""
    if isinstance(A, DistributedMatrix):
        from arlequin.models.parallel.mumps import MumpsBorder

        return MumpsBorder(A, rows)
    matrix, rows = canonical(A), sp.csr_array(rows)
    return BorderedFactor(matrix, rows) if only_diagonal(matrix) is None else BorderedDiagonal(matrix, rows)


class BorderedPasses(NamedTuple):
    """The forward and the backward pass of a `BorderedFactor` as arrays for compiled loops (`_bordered_kernels`).

    source (u + r,): which row of A stands in each row of L, −1 for the border. first … values: L, see `Supernodes`.
    places (r,): where the border stands, ascending; lower (r, r): L_z, its rows those of R, its columns in the order of
    the places.
    """

    source: NDArray[np.int64]
    first: NDArray[np.int32]
    row_start: NDArray[np.int32]
    value_start: NDArray[np.int32]
    rows: NDArray[np.uint32]
    values: Array
    places: NDArray[np.int64]
    lower: Array


class BorderedFactor:
    """A and its border in one sparse Cholesky factor:

        K = [A  Rᵀ; R  z N] = L Lᵀ,    L = [L_A  0; Y  L_z],    S = R A⁻¹ Rᵀ = z N − L_z L_zᵀ,

    the fill-reducing order of A first, the border last. N = diag(R_i D⁻¹ R_iᵀ), D = diag(A), makes the rows comparable,
    and z lies above the largest eigenvalue of N^-½ S N^-½, so that K is positive definite: S is read off the trailing
    block of the factor. A⁻¹(b + Rᵀ p) is one forward pass, L⁻¹ [b; 0] = [w; w_z] with R A⁻¹ b = −L_z w_z, and one
    backward pass, L⁻ᵀ [w; −L_zᵀ p], with whatever p is found in between.
    """

    def __init__(self, A: Any, rows: sp.csr_array) -> None:
        """A (u, u) and rows (r, u); UserError where A is not positive definite."""
        self._rows, self._shift = rows, 0.0
        (self._count, self._size), self._order = rows.shape, fill_reducing_order(A)
        self._across = sp.csc_array(rows[:, self._order])
        self.factor = self._factored(A, lambda whole: CholeskyFactor(whole, "natural"))

    def _factored(self, A: Any, factored: Callable[[Any], CholeskyFactor]) -> CholeskyFactor:
        """The factor of K, and where its border stands."""
        diagonal = A.diagonal()
        if not (diagonal > 0.0).all():
            factorise(A)  # raises
        squares = self._rows.multiply(self._rows) @ (1.0 / diagonal)
        self._empty = squares == 0.0
        scale = np.where(self._empty, 1.0, squares)
        unit = sp.csr_array(sp.diags_array(1.0 / np.sqrt(scale)) @ self._rows)
        inner = A[self._order][:, self._order]
        found = _largest_response(partial(_roughly_solved, A, diagonal), unit)
        # where conjugate gradients do not converge, as where a motion is nearly free: that of the former matrix
        shift = self._shift if found is None else _above(found)
        for attempt in range(2):
            try:
                if shift == 0.0:
                    shift = _above(_largest_response(factorise(A).solve, unit) or 1.0)
                factor = factored(self._whole(inner, shift * scale))
                break
            except UserError:
                if attempt or not self._count:
                    raise
                shift = 0.0 if found is None and shift == self._shift else _RAISED * shift
        self._shift = shift
        # places of the border in the order of the factor, ascending, and which row of the border stands there
        places = factor.places(np.arange(self._size, self._size + self._count))
        self._sorted = np.argsort(places)
        self._places = places[self._sorted]
        self._lower = np.asfortranarray(factor.trailing(self._places))
        return factor

    def _whole(self, inner: Any, corner: Array) -> Any:
        """K with the diagonal z N of its border; inner: A in the fill-reducing order."""
        self._border = corner
        if not self._count:
            return inner
        rows = [[inner, self._across.T], [self._across, sp.diags_array(corner)]]
        return sp.block_array(rows, format="csc")

    def refactorise(self, A: Any) -> "BorderedFactor":
        self.factor = self._factored(canonical(A), self.factor.refactorise)
        vars(self).pop("_each", None)
        return self

    def schur(self) -> Array:
        if not self._count:
            return np.zeros((0, 0))
        # L Lᵀ of a triangle, a third of the work of a full one: LAPACK forms U Uᵀ, which is L Lᵀ in reverse order
        reverse = dlauum(np.array(self._lower[::-1, ::-1], order="F"), lower=0, overwrite_c=1)[0]
        out = symmetric_of_lower(reverse[::-1, ::-1])
        np.negative(out, out=out)
        if (self._sorted[1:] < self._sorted[:-1]).any():
            back = np.argsort(self._sorted)
            out = out[np.ix_(back, back)]
        out[np.arange(self._count), np.arange(self._count)] += self._border
        out[self._empty, self._empty] = 0.0  # round-off otherwise
        return out

    def solve(self, b: Array) -> Array:
        return self.backward(self.forward(b))

    def forward(self, b: Array) -> ForwardPass:
        whole = np.zeros((self._size + self._count, *b.shape[1:]), order="F")
        whole[: self._size] = b[self._order]
        half = self.factor.forward(whole)
        found = np.empty((self._count, *b.shape[1:]))
        found[self._sorted] = -(self._lower @ half[self._places])
        return ForwardPass(half, found)

    def backward(self, forward: ForwardPass, push: Array | None = None) -> Array:
        half = forward.half.copy(order="F")
        half[self._places] = 0.0 if push is None else -(self._lower.T @ push[self._sorted])
        out = np.empty((self._size, *half.shape[1:]))
        out[self._order] = self.factor.backward(half)[: self._size]
        return out

    def passes(self) -> "BorderedPasses":
        """The passes as arrays, valid until `refactorise`."""
        order, supernodes = supernodes_of(self.factor)
        source = np.append(self._order, np.full(self._count, -1))[order]
        lower = np.zeros((self._count, self._count))
        lower[self._sorted] = self._lower
        first, row_start, value_start, rows, values = supernodes
        # without a sign: kernels test indices with one for being negative
        columns = first, row_start, value_start, rows.view(np.uint32), values
        return BorderedPasses(source, *columns, self._places, lower)

    @cached_property
    def _each(self) -> BatchedFactor:
        """The same factor for many right-hand sides, whose entries come in the order of A and its border."""
        rows = np.concatenate([self._order, np.arange(self._size, self._size + self._count)])
        return BatchedFactor.of(self.factor, rows)

    def forward_each(self, fields: Array, half: Array) -> Array:
        self._each.forward(fields, half)
        found = np.empty((len(fields), self._count))
        found[:, self._sorted] = -(half[:, self._places] @ self._lower.T)
        return found

    def backward_each(self, half: Array, push: Array) -> Array:
        half[:, self._places] = -(push[:, self._sorted] @ self._lower)
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


def _above(eigenvalue: float) -> float:
    """A power of two beyond the largest eigenvalue, so that its last digits, and units of its rows, change no bits."""
    return binade(2.0 * _MARGIN * eigenvalue)


def _largest_response(solve: Callable[[Array], Array | None], rows: sp.csr_array) -> float | None:
    """The largest eigenvalue of R A⁻¹ Rᵀ by power iterations, from below; None where `solve` gives up on A⁻¹ b."""
    if not rows.shape[0]:
        return 1.0
    x, found = np.random.default_rng(0).standard_normal(rows.shape[0]), 0.0
    for _ in range(_PRODUCTS):
        size = float(np.linalg.norm(x))
        if size == 0.0:
            return 1.0
        y = solve(rows.T @ (x / size))
        if y is None:
            return None
        x = rows @ y
        before, found = found, float(np.linalg.norm(x))
        if found <= 1.02 * before:
            break
    return found


def _roughly_solved(A: Any, diagonal: Array, b: Array) -> Array | None:
    """A⁻¹ b by a few conjugate gradients; None where they do not suffice."""
    y, left = cg(A, b, rtol=_ENOUGH, maxiter=_ITERATIONS, M=sp.diags_array(1.0 / diagonal))
    return None if left else np.asarray(y)
