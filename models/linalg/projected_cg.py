"""Conjugate gradients for symmetric positive definite systems under linear constraints, without a factor of the matrix.

Source: Gould, Hribar & Nocedal, SIAM J. Sci. Comput. 23 (2001) 1376–1395 (projected preconditioned conjugate
gradients, with their update of the residual).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.linalg.constraints import constraint_factor
from arlequin.models.linalg.matrix import not_definite
from arlequin.models.linalg.threads import map_pieces, slices
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.types import Array


@dataclass(frozen=True)
class ConstrainedSolution:
    """y (d,) and φ (m,) of A y = b + Cᵀφ − r, C y = c, with what is left, r (d,).

    size: norm of the right-hand side, of which the tolerance is a share; iterations: products with A.
    """

    y: Array
    multipliers: Array
    left: Array
    size: float
    iterations: int


class ProjectedConjugateGradients:
    """A y = b + Cᵀφ, C y = c for many b and c, with A (d, d) symmetric positive definite and D its diagonal.

    Each iterate satisfies C y = c: every residual r is projected,

        (C D⁻¹ Cᵀ) v = C D⁻¹ r,    r ← r − Cᵀ v,    φ ← φ + v,    g = D⁻¹ r,

    by the sparse factor of C D⁻¹ Cᵀ, which is that of the constraints alone. Iterations end where ‖r‖ ≤ tolerance ×
    ‖b‖ in the norm of D⁻¹, after a number of them in proportion to the root of the condition of D⁻¹A on C y = 0 (to
    1e-13 45 for hexahedra and steps of the θ-scheme at Courant 3, 143 at Courant 10). Rows of A are divided among
    threads, with results that do not depend on their number.
    """

    def __init__(self, A: Any, rows: sp.csr_array, tolerance: float = 1e-13, most: int = 3000) -> None:
        """A (d, d): by rows, or spread over ranks; rows: C (m, d); most: iterations before an error is raised.

        UserError where A has no positive diagonal.
        """
        diagonal = A.diagonal()
        if not (diagonal > 0.0).all():
            raise not_definite(int(np.argmin(diagonal)))
        self.size = A.shape[0]
        self._inverse, self._tolerance, self._most = 1.0 / diagonal, tolerance, most
        self._spread = A if isinstance(A, DistributedMatrix) else None
        self._pieces = [] if self._spread is not None else [(at, _rows_of(A, at)) for at in slices(self.size)]
        self._all = rows.shape[0]
        schur = sp.csr_array(rows @ sp.csr_array(rows.T * self._inverse[:, None]))
        self._kept, self._constrained = constraint_factor(schur)
        kept = rows if self._kept.size == self._all else sp.csr_array(rows[self._kept])
        self._rows, self._columns = kept, sp.csr_array(kept.T)

    def product(self, x: Array) -> Array:
        """A x (d,)."""
        if self._spread is not None:
            return np.asarray(self._spread @ x)
        out = np.empty(self.size)

        def rows(piece: tuple[slice, sp.csr_array]) -> None:
            at, block = piece
            out[at] = block @ x

        map_pieces(rows, self._pieces)
        return out

    def norm(self, b: Array) -> float:
        """√(b·D⁻¹b) of a right-hand side (d,)."""
        return float(np.sqrt(b @ (self._inverse * b)))

    def solve(
        self, b: Array, c: Array | None = None, share: float | None = None, allowed: float = 0.0
    ) -> ConstrainedSolution:
        """For b (d,) and c (m,), None for 0.

        share: of the right-hand side that may be left, by default the tolerance; allowed: a norm that may be left in
        any case, see `norm`.
        """
        multipliers = np.zeros(self._kept.size)
        y = np.zeros(self.size)
        residual = -b
        if c is not None and c.any() and self._kept.size:
            y = self._inverse * (self._columns @ self._constrained(c[self._kept]))
            residual = self.product(y) - b
        size = max(self.norm(b), self.norm(residual))
        wanted = max((self._tolerance if share is None else share) * size, allowed) ** 2
        residual, scaled, v = self._projected(residual)
        multipliers += v
        left, taken = float(residual @ scaled), 0
        p, before = np.zeros(self.size), 1.0
        while left > wanted:
            if taken == self._most or not np.isfinite(left):
                raise self._failure(taken, np.sqrt(left / wanted) * self._tolerance)
            g = self._direction(residual, scaled)
            slope = left if g is scaled else float(residual @ g)
            p *= slope / before
            p -= g
            before = slope
            image = self.product(p)
            curvature = float(p @ image)
            if not (curvature > 0.0 and slope > 0.0):
                raise not_definite()
            length = slope / curvature
            y += length * p
            residual += length * image
            residual, scaled, v = self._projected(residual)
            multipliers += v
            left = float(residual @ scaled)
            taken += 1
        if self._kept.size and taken:  # what round-off adds to C y in the iterations
            missing = (0.0 if c is None else c[self._kept]) - self._rows @ y
            y += self._inverse * (self._columns @ self._constrained(missing))
        whole = multipliers
        if self._kept.size < self._all:
            whole = np.zeros(self._all)
            whole[self._kept] = multipliers
        return ConstrainedSolution(y, whole, -residual, size, taken)

    def _direction(self, residual: Array, scaled: Array) -> Array:
        """A preconditioner's g, C g = 0, of a projected residual r (d,) and D⁻¹ r: here the latter."""
        return scaled

    def _projected(self, residual: Array) -> tuple[Array, Array, Array]:
        """r − Cᵀ v, D⁻¹ of it, and v."""
        if not self._kept.size:
            return residual, self._inverse * residual, np.zeros(0)
        v = self._constrained(self._rows @ (self._inverse * residual))
        residual = residual - self._columns @ v
        return residual, self._inverse * residual, v

    def _failure(self, taken: int, reached: float) -> UserError:
        return UserError(
            f"solver 'iterative': the residual of conjugate gradients is {reached:.1e} after {taken} iterations, "
            f"{self._tolerance:.0e} is needed: take a smaller step, or solver='direct'",
            code=FAILURE,
        )


def _rows_of(A: sp.csr_array, at: slice) -> sp.csr_array:
    """Some rows of A, without copies of its entries."""
    first, last = A.indptr[at.start], A.indptr[at.stop]
    arrays = A.data[first:last], A.indices[first:last], A.indptr[at.start : at.stop + 1] - first
    return sp.csr_array(arrays, shape=(at.stop - at.start, A.shape[1]))
