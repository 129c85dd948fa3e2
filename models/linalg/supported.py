"""Semidefinite matrices A with a border of rows, of which constraints hold the motions that A leaves free."""

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

    A is semidefinite, y_F determines the motions that it leaves free, and A_II is positive definite. C may hold these
    motions: then A + CᵀDC is definite, but has an entry for each pair of dofs with a constraint in common, so that it
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
        self._check_held(matrix)
        self.penalty = np.zeros(0)  # D (m,)
        self._schur: Array | None = None
        self._condense(matrix)

    def refactorise(self, A: Any) -> "SupportedFactor":
        """For another matrix, with the same supports and D."""
        matrix = canonical(A)
        self.inner.refactorise(*self._split(matrix))
        self._check_held(matrix)
        self._condense(matrix)
        return self

    def schur(self) -> Array:
        out, self._schur = self._schur, None
        return self._reduced(self.inner.schur()) if out is None else out

    def solve(self, b: Array) -> Array:
        return self.backward(self.forward(b))

    def forward(self, b: Array) -> ForwardPass:
        first = self.inner.forward(b[self._inside])
        moved, reached = self._started(b[self._supports], first.border)
        self.inner.set_border_values(first.half.T, moved.T)
        return ForwardPass(first.half, reached)

    def backward(self, forward: ForwardPass, push: Array | None = None) -> Array:
        moved, forces = self._ended(self.inner.border_values(forward.half.T).T, push)
        out = np.empty((self._supports.size + self._inside.size, *moved.shape[1:]))
        out[self._inside] = self.inner.backward(forward, np.concatenate([-moved, forces]))
        out[self._supports] = moved
        return out

    def forward_each(self, fields: Array, half: Array) -> Array:
        border = self.inner.forward_each(fields[:, self._inside], half)
        moved, reached = self._started(fields[:, self._supports].T, border.T)
        self.inner.set_border_values(half, moved.T)
        return np.ascontiguousarray(reached.T)

    def backward_each(self, half: Array, push: Array) -> Array:
        moved, forces = self._ended(self.inner.border_values(half).T, push.T)
        out = np.empty((len(half), self._supports.size + self._inside.size))
        out[:, self._inside] = self.inner.backward_each(half, np.concatenate([-moved, forces]).T)
        out[:, self._supports] = moved.T
        return out

    def _split(self, A: Any) -> tuple[Any, sp.csr_array]:
        """A_II and its border."""
        columns = A[:, self._inside]
        rows = sp.vstack([columns[self._supports], self._rows[:, self._inside]], format="csr")
        return canonical(columns[self._inside]), sp.csr_array(rows)

    def _check_held(self, A: Any) -> None:
        """UserError where A_II is singular but for round-off: an inverse iteration bounds its lowest eigenvalue."""
        diagonal = A.diagonal()[self._inside]
        load = np.sqrt(diagonal) * np.random.default_rng(0).standard_normal(diagonal.size)
        moved = self.inner.solve(load)
        if not float(load @ moved) > _SINGULAR * float(moved @ (diagonal * moved)):
            raise not_definite()

    def _condense(self, A: Any) -> None:
        """Full matrices of the supports and the constraints, and S."""
        k, m, whole = self._supports.size, self._constraints, self.inner.schur()
        if not self.penalty.size:
            self.penalty = self._stiffnesses(A.diagonal(), whole.diagonal()[k : k + m])
        self._answers = whole[k : k + m, k:].copy()  # T_CR
        self._moved = self._rows[:, self._supports].toarray() - whole[k:, :k]  # X
        self._upper, failed = dpotrf(self._answers[:, :m] + np.diag(1.0 / self.penalty), overwrite_a=1)
        if failed:
            raise not_definite()
        held = dtrtrs(self._upper, self._moved[:m], trans=1)[0] if m else self._moved[:m]
        own = A[self._supports][:, self._supports].toarray()
        corner = own - whole[:k, :k] + held.T @ held
        sizes = np.where(own.diagonal() > 0.0, own.diagonal(), corner.diagonal())
        self._scale = 1.0 / np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
        self._corner, failed = dpotrf(0.5 * (corner + corner.T) * self._scale * self._scale[:, None])
        if failed or (self._corner.diagonal() ** 2 <= _FREE).any():
            raise not_definite(int(self._supports[np.argmin(self._corner.diagonal()) if not failed else failed - 1]))
        self._freed = self._moved - self._answers.T @ self._pushed(self._moved[:m])  # X̂
        self._schur = self._reduced(whole)

    def _stiffnesses(self, diagonal: Array, moved: Array) -> Array:
        """D, of the diagonals of A and of T_CC; dofs without stiffness, which are supports, count as the others."""
        stiff = diagonal > 0.0
        some = float(diagonal[stiff].mean()) if stiff.any() else 1.0
        constraints = self._rows[: self._constraints]
        sizes = np.maximum(moved, constraints.multiply(constraints) @ (1.0 / np.where(stiff, diagonal, some)))
        return np.asarray(1.0 / np.where(sizes > 0.0, sizes, 1.0))

    def _reduced(self, whole: Array) -> Array:
        """S, off the S of A_II and its border."""
        k, m = self._supports.size, self._constraints
        out = np.array(whole[k:, k:], order="F")
        if m:
            root = dtrtrs(self._upper, self._answers, trans=1)[0]
            out = dsyrk(-1.0, root, 1.0, out, trans=1, lower=1, overwrite_c=1)
        root = dtrtrs(self._corner, self._scale[:, None] * self._freed.T, trans=1)[0]
        return symmetric_of_lower(dsyrk(1.0, root, 1.0, out, trans=1, lower=1, overwrite_c=1))

    def _pushed(self, gaps: Array) -> Array:
        """(D⁻¹ + T_CC)⁻¹ x of x (m,) or (m, n)."""
        return np.asarray(dpotrs(self._upper, gaps)[0]).reshape(gaps.shape) if len(gaps) else gaps

    def _supported(self, forces: Array) -> Array:
        """E⁻¹ f of f (k,) or (k, n)."""
        scaled = (forces.T * self._scale).T
        return (np.asarray(dpotrs(self._corner, scaled)[0]).reshape(forces.shape).T * self._scale).T

    def _started(self, b: Array, border: Array) -> tuple[Array, Array]:
        """[y_F; r₀] and R y for p = 0, of b_F and [A_FI; R_I] A_II⁻¹ b_I; (k,), (k + r,), or n columns of each."""
        k, m = self._supports.size, self._constraints
        rest = border[k:]
        moved = self._supported(b - border[:k] - self._moved[:m].T @ self._pushed(rest[:m]))
        reached = self._moved @ moved + rest
        return np.concatenate([moved, rest]), reached - self._answers.T @ self._pushed(reached[:m])

    def _ended(self, started: Array, push: Array | None) -> tuple[Array, Array]:
        """y_F and q, of [y_F; r₀] for p = 0 and of p (r,); or n columns of each."""
        k, m = self._supports.size, self._constraints
        moved, rest = started[:k], started[k:]
        forces = np.zeros_like(rest) if push is None else np.array(push)
        gaps = rest[:m]
        if push is not None:
            moved = moved + self._supported(self._freed.T @ push)
            gaps = gaps + self._answers @ push
        forces[:m] -= self._pushed(gaps + self._moved[:m] @ moved)
        return moved, forces
