"""A symmetric positive definite matrix factored together with rows that border it: the condensed matrix R A⁻¹ Rᵀ
without columns A⁻¹Rᵀ."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from arlequin.models.errors import UserError
from arlequin.models.linalg.factor import CholeskyFactor, Factor, factorise, fill_reducing_order
from arlequin.models.types import Array

_MARGIN = 4.0  # of z over the estimate of the largest eigenvalue of R A⁻¹ Rᵀ
_RAISE = 30.0  # by which z grows where the matrix was not positive definite
_PRODUCTS, _SOLVES, _ITERATIONS = 12, 3, 40  # of the estimate: products, restarts of none, conjugate gradients each


@dataclass(frozen=True)
class Forward:
    """L⁻¹ of a right-hand side (u + r,), and the free motion R A⁻¹ b (r,) of the border."""

    half: Array
    border: Array


class BorderedFactor:
    """The factor of A (u, u) with a border of rows R (r, u):

        K = [A  Rᵀ; R  z N] = L Lᵀ,    L = [L_A  0; Y  L_z],    S = R A⁻¹ Rᵀ = z N − L_z L_zᵀ,

    the fill-reducing order of A first, the border last. N = diag(R_i D⁻¹ R_iᵀ), D = diag(A), makes the rows comparable,
    and z is above the largest eigenvalue of N^-½ S N^-½, so that K is positive definite. S is thus read off the
    trailing block of a sparse Cholesky factor. A⁻¹(b + Rᵀ p) is one forward pass, L⁻¹ [b; 0] = [w; w_z] with
    R A⁻¹ b = −L_z w_z, and one backward pass from [w; −L_zᵀ p], whatever p is chosen in between.
    """

    def __init__(self, A: Any, rows: Any) -> None:
        """UserError where A is not positive definite."""
        rows = sp.csr_array(rows)
        inner = sp.csc_array(A)
        self.count, size = rows.shape
        diagonal = inner.diagonal()
        order = fill_reducing_order(inner)
        squares = sp.csr_array(rows.multiply(rows)) @ (1.0 / diagonal)
        scale = np.where(squares > 0.0, squares, 1.0)
        shift = _MARGIN * largest_response(inner, sp.csr_array(sp.diags_array(1.0 / np.sqrt(scale)) @ rows), diagonal)
        inner, across = inner[order][:, order], sp.csc_array(rows[:, order])
        for attempt in range(4):
            self._border = shift * scale
            whole = sp.block_array([[inner, across.T], [across, sp.diags_array(self._border)]], format="csc")
            try:
                self.factor = CholeskyFactor(whole, "natural")
                break
            except UserError:
                if attempt == 3:
                    raise
                shift *= _RAISE
        self._order = order
        self._places = self.factor.places(np.arange(size, size + self.count))
        self._sorted = np.argsort(self._places)
        lower = self.factor.trailing(self._places[self._sorted])
        self._lower = np.asfortranarray(lower)
        self.size = size
        self.attempts = attempt

    def condensed(self) -> Array:
        """S = R A⁻¹ Rᵀ (r, r), symmetric."""
        product = dsyrk(1.0, self._lower, lower=1)
        out = -(product + np.tril(product, -1).T)
        out[np.arange(self.count), np.arange(self.count)] += self._border[self._sorted]
        back = np.empty(self.count, dtype=np.int64)
        back[self._sorted] = np.arange(self.count)
        return out[np.ix_(back, back)]

    def forward(self, b: Array) -> Forward:
        """The forward pass of b (u,)."""
        half = self.factor.forward(np.concatenate([b[self._order], np.zeros(self.count)]))
        border = np.empty(self.count)
        border[self._sorted] = -(self._lower @ half[self._places[self._sorted]])
        return Forward(half, border)

    def backward(self, forward: Forward, impulse: Array | None = None) -> Array:
        """A⁻¹(b + Rᵀ p) (u,) of the forward pass of b and of p (r,), default 0."""
        half = forward.half.copy()
        acting = 0.0 if impulse is None else -(self._lower.T @ impulse[self._sorted])
        half[self._places[self._sorted]] = acting
        out = np.empty(self.size)
        out[self._order] = self.factor.backward(half)[: self.size]
        return out


def largest_response(A: Any, rows: sp.csr_array, diagonal: Array) -> float:
    """An estimate of the largest eigenvalue of R A⁻¹ Rᵀ from below: power iterations, A⁻¹ by some conjugate gradients."""
    x = np.random.default_rng(0).standard_normal(rows.shape[0])
    found = 0.0
    for _ in range(_PRODUCTS):
        x /= np.linalg.norm(x)
        b = rows.T @ x
        x = rows @ _approximate(A, b, diagonal)
        found = max(found, float(np.linalg.norm(x)))
    return found


def _approximate(A: Any, b: Array, diagonal: Array) -> Array:
    """A⁻¹ b by a few conjugate gradients."""
    y, r = np.zeros_like(b), b.copy()
    z = r / diagonal
    p, rz = z.copy(), float(r @ z)
    first = rz
    for _ in range(_ITERATIONS):
        if rz <= 1e-4 * first:
            break
        q = A @ p
        step = rz / float(p @ q)
        y += step * p
        r -= step * q
        z = r / diagonal
        rz, before = float(r @ z), rz
        p = z + rz / before * p
    return y
