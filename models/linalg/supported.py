"""Semidefinite matrices A with a border of rows, of which constraints suppress the zero-energy motions of A."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from arlequin.models.linalg.bordered import BorderedFactor
from arlequin.models.linalg.forward_pass import ForwardPass
from arlequin.models.linalg.matrix import canonical, not_definite, symmetric_of_lower
from arlequin.models.types import Array

_FREE = 1e-13  # stiffness against the motion of a support, in units of the diagonal of A, below which it is free
_SINGULAR = 1e-12  # lowest eigenvalue of A_II, in units of its diagonal, below which the supports do not hold A


class SupportedFactor:
    """A + CᵀDC by a sparse factor of A on the dofs I without the supports F; C the first m rows of R = [C; B].

    A is semidefinite, y_F determines its zero-energy motions, and A_II is positive definite. If C suppresses these
    motions, A + CᵀDC is definite, but has an entry for each pair of dofs with a constraint in common, so that it
    is not formed. The border [A_FI; R_I] of A_II gives the motions of the rows under forces on them and with the
    supports, T = R_I A_II⁻¹ R_Iᵀ and X = R_F − R_I A_II⁻¹ A_IF. With r₀ = R_I A_II⁻¹ b_I and the forces on the rows
    q = p − [D C y; 0], (A + CᵀDC) y = b + Rᵀp is

        R y = X y_F + r₀ + T q,    (A_FF − A_FI A_II⁻¹ A_IF) y_F = b_F − A_FI A_II⁻¹ b_I + Xᵀ q.

    With Q = (D⁻¹ + T_CC)⁻¹ on the constraints, 0 on the other rows, and X̂ = X − T Q X:

        E y_F = b_F − A_FI A_II⁻¹ b_I − Xᵀ Q r₀ + X̂ᵀ p,    E = A_FF − A_FI A_II⁻¹ A_IF + Xᵀ Q X,
        q = p − Q (X y_F + r₀ + T p),    y_I = A_II⁻¹ (b_I − A_IF y_F + R_Iᵀ q),
        S = R (A + CᵀDC)⁻¹ Rᵀ = T − T Q T + X̂ E⁻¹ X̂ᵀ.

    D⁻¹ is the diagonal of T_CC, or that of C diag(A)⁻¹ Cᵀ where this is larger.

    Source: fixing nodes: Brzobohatý et al., Int. J. Numer. Meth. Engng 88 (2011) 493–509.
    """

    def __init__(self, A: Any, rows: sp.csr_array, constraints: int, supports: NDArray[np.int64]) -> None:
        """A (u, u), rows (r, u), the number m of constraints among them, supports (k,).

        UserError where A_II or A + CᵀDC is not positive definite.
        """
        matrix = canonical(A)
        self._rows, self._constraints, self._supports = rows, constraints, supports
        self._inside = np.setdiff1d(np.arange(rows.shape[1]), supports)
        self.inner = BorderedFactor(*self._split(matrix))
        self._check_inner(matrix)
        self.penalty = np.zeros(0)  # D (m,)
        self._schur: Array | None = None
        self._condense(matrix)

    def refactorise(self, A: Any) -> "SupportedFactor":
        """For another matrix, with the same supports and D."""
        matrix = canonical(A)
        self.inner.refactorise(*self._split(matrix))
        self._check_inner(matrix)
        self._condense(matrix)
        return self

    def schur(self) -> Array:
        out, self._schur = self._schur, None
        return self._reduced(self.inner.schur()) if out is None else out

    def solve(self, b: Array) -> Array:
        return self.backward(self.forward(b))

    def forward(self, b: Array) -> ForwardPass:
        first = self.inner.forward(b[self._inside])
        start, row_values = self._forward_border(b[self._supports], first.border)
        self.inner.set_border_values(first.half.T, start.T)
        return ForwardPass(first.half, row_values)

    def backward(self, forward: ForwardPass, push: Array | None = None) -> Array:
        y_f, forces = self._backward_border(self.inner.border_values(forward.half.T).T, push)
        out = np.empty((self._supports.size + self._inside.size, *y_f.shape[1:]))
        out[self._inside] = self.inner.backward(forward, np.concatenate([-y_f, forces]))
        out[self._supports] = y_f
        return out

    def forward_each(self, fields: Array, half: Array) -> Array:
        border = self.inner.forward_each(fields[:, self._inside], half)
        start, row_values = self._forward_border(fields[:, self._supports].T, border.T)
        self.inner.set_border_values(half, start.T)
        return np.ascontiguousarray(row_values.T)

    def backward_each(self, half: Array, push: Array) -> Array:
        y_f, forces = self._backward_border(self.inner.border_values(half).T, push.T)
        out = np.empty((len(half), self._supports.size + self._inside.size))
        out[:, self._inside] = self.inner.backward_each(half, np.concatenate([-y_f, forces]).T)
        out[:, self._supports] = y_f.T
        return out

    def _split(self, A: Any) -> tuple[Any, sp.csr_array]:
        """A_II and its border."""
        columns = A[:, self._inside]
        rows = sp.vstack([columns[self._supports], self._rows[:, self._inside]], format="csr")
        return canonical(columns[self._inside]), sp.csr_array(rows)

    def _check_inner(self, A: Any) -> None:
        """UserError where A_II is singular up to round-off: an inverse iteration bounds its lowest eigenvalue."""
        diagonal = A.diagonal()[self._inside]
        b = np.sqrt(diagonal) * np.random.default_rng(0).standard_normal(diagonal.size)
        y = self.inner.solve(b)
        if not float(b @ y) > _SINGULAR * float(y @ (diagonal * y)):
            raise not_definite()

    def _condense(self, A: Any) -> None:
        """Compute the dense matrices of the supports and the constraints, and S."""
        k, m, inner_schur = self._supports.size, self._constraints, self.inner.schur()
        if not self.penalty.size:
            self.penalty = self._stiffnesses(A.diagonal(), inner_schur.diagonal()[k : k + m])
        self._T = inner_schur[k : k + m, k:].copy()  # of the rows C
        self._X = self._rows[:, self._supports].toarray() - inner_schur[k:, :k]
        self._upper, failed = dpotrf(self._T[:, :m] + np.diag(1.0 / self.penalty), overwrite_a=1)
        if failed:
            raise not_definite()
        root = dtrtrs(self._upper, self._X[:m], trans=1)[0] if m else self._X[:m]
        a_ff = A[self._supports][:, self._supports].toarray()
        corner = a_ff - inner_schur[:k, :k] + root.T @ root
        sizes = np.where(a_ff.diagonal() > 0.0, a_ff.diagonal(), corner.diagonal())
        self._scale = 1.0 / np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
        self._corner, failed = dpotrf(0.5 * (corner + corner.T) * self._scale * self._scale[:, None])
        if failed or (self._corner.diagonal() ** 2 <= _FREE).any():
            raise not_definite(int(self._supports[np.argmin(self._corner.diagonal()) if not failed else failed - 1]))
        self._X_hat = self._X - self._T.T @ self._apply_q(self._X[:m])
        self._schur = self._reduced(inner_schur)

    def _stiffnesses(self, diagonal: Array, compliances: Array) -> Array:
        """D by the diagonals of A and T_CC; dofs without stiffness, all supports, count with the mean stiffness."""
        stiff = diagonal > 0.0
        mean_stiffness = float(diagonal[stiff].mean()) if stiff.any() else 1.0
        constraints = self._rows[: self._constraints]
        sizes = np.maximum(
            compliances, constraints.multiply(constraints) @ (1.0 / np.where(stiff, diagonal, mean_stiffness))
        )
        return np.asarray(1.0 / np.where(sizes > 0.0, sizes, 1.0))

    def _reduced(self, inner_schur: Array) -> Array:
        """S by the Schur complement of A_II and its border."""
        k, m = self._supports.size, self._constraints
        out = np.array(inner_schur[k:, k:], order="F")
        if m:
            root = dtrtrs(self._upper, self._T, trans=1)[0]
            out = dsyrk(-1.0, root, 1.0, out, trans=1, lower=1, overwrite_c=1)
        root = dtrtrs(self._corner, self._scale[:, None] * self._X_hat.T, trans=1)[0]
        return symmetric_of_lower(dsyrk(1.0, root, 1.0, out, trans=1, lower=1, overwrite_c=1))

    def _apply_q(self, gaps: Array) -> Array:
        """(D⁻¹ + T_CC)⁻¹ x of x (m,) or (m, n)."""
        return np.asarray(dpotrs(self._upper, gaps)[0]).reshape(gaps.shape) if len(gaps) else gaps

    def _solve_supports(self, forces: Array) -> Array:
        """E⁻¹ f of f (k,) or (k, n)."""
        scaled = (forces.T * self._scale).T
        return (np.asarray(dpotrs(self._corner, scaled)[0]).reshape(forces.shape).T * self._scale).T

    def _forward_border(self, b: Array, border: Array) -> tuple[Array, Array]:
        """[y_F; r₀] and R y for p = 0, of b_F and [A_FI; R_I] A_II⁻¹ b_I; (k,), (k + r,), or n columns of each."""
        k, m = self._supports.size, self._constraints
        r0 = border[k:]
        y_f = self._solve_supports(b - border[:k] - self._X[:m].T @ self._apply_q(r0[:m]))
        row_values = self._X @ y_f + r0
        return np.concatenate([y_f, r0]), row_values - self._T.T @ self._apply_q(row_values[:m])

    def _backward_border(self, start: Array, push: Array | None) -> tuple[Array, Array]:
        """y_F and q, of [y_F; r₀] for p = 0 and of p (r,); or n columns of each."""
        k, m = self._supports.size, self._constraints
        y_f, r0 = start[:k], start[k:]
        forces = np.zeros_like(r0) if push is None else np.array(push)
        gaps = r0[:m]
        if push is not None:
            y_f = y_f + self._solve_supports(self._X_hat.T @ push)
            gaps = gaps + self._T @ push
        forces[:m] -= self._apply_q(gaps + self._X[:m] @ y_f)
        return y_f, forces
