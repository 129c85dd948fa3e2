"""Conjugate gradients for symmetric positive definite systems under linear constraints, without a factor of the matrix.

Source: Gould, Hribar & Nocedal, SIAM J. Sci. Comput. 23 (2001) 1376–1395 (projected preconditioned conjugate
gradients, with their update of the residual).
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.linalg.matrix import not_definite
from arlequin.models.linalg.operators import SymmetricOperator, operator_of
from arlequin.models.linalg.projection import ConstraintProjection, JoinedProjection
from arlequin.models.linalg.threads import Pace, map_pieces, slices
from arlequin.models.types import Array


@dataclass(frozen=True)
class ConstrainedSolution:
    """y (d,) and φ (m,) of A y = b + Cᵀφ − r, C y = c, with the residual r (d,) as `left`.

    size: norm of the right-hand side, to which the tolerance is relative; iterations: products with A.
    """

    y: Array
    multipliers: Array
    left: Array
    size: float
    iterations: int


class ProjectedConjugateGradients:
    """A y = b + Cᵀφ, C y = c for many b and c, with A (d, d) symmetric positive definite and D near its diagonal.

    Each iterate satisfies C y = c: every residual r is projected (`ConstraintProjection`),

        (C D⁻¹ Cᵀ) v = C D⁻¹ r,    r ← r − Cᵀ v,    φ ← φ + v,    g = D⁻¹ r.

    Iterations end where ‖r‖ ≤ tolerance × ‖b‖ in the norm of D⁻¹, after a number of them in proportion to the root of
    the condition of D⁻¹A on C y = 0 (to 1e-13 45 for hexahedra and steps of the θ-scheme at Courant 3, 143 at Courant
    10). Threads share the vectors, with results that do not depend on their number.
    """

    def __init__(self, A: Any, rows: sp.csr_array, tolerance: float = 1e-13, max_iterations: int = 3000) -> None:
        """A (d, d): by rows, spread over ranks, or a `SymmetricOperator`; rows: C (m, d); max_iterations: those before
        an error is raised.

        UserError where A has no positive diagonal.
        """
        self._operator: SymmetricOperator = A if hasattr(A, "multiply_into") else operator_of(A)
        diagonal = self._operator.diagonal()
        if not (diagonal > 0.0).all():
            raise not_definite(int(np.argmin(diagonal)))
        self.size = self._operator.size
        self._tolerance, self._max_iterations = tolerance, max_iterations
        self._projection: ConstraintProjection | JoinedProjection = ConstraintProjection(rows, diagonal)
        self._slices, self._paces = slices(self.size), dict[Callable[..., Any], Pace]()

    def holding(self, rows: sp.csr_array) -> "ProjectedConjugateGradients | None":
        """The same system under further constraints: C and then these rows (k, d), which share no columns with C.

        None where these are dependent.
        """
        assert isinstance(self._projection, ConstraintProjection)
        added = ConstraintProjection.of_regular(rows, self._projection.inverse)
        if added is None:
            return None
        extended = copy(self)
        extended._projection = JoinedProjection(self._projection, added)
        return extended

    def product(self, x: Array) -> Array:
        """A x (d,)."""
        out = np.empty(self.size)
        self._operator.multiply_into(x, out)
        return out

    def norm(self, b: Array) -> float:
        """√(b·D⁻¹b) of a right-hand side (d,)."""
        from arlequin.models.linalg._projection_kernels import square

        return float(np.sqrt(self._sum(square, b, self._projection.inverse)))

    def solve(
        self, b: Array, c: Array | None = None, share: float | None = None, allowed: float = 0.0
    ) -> ConstrainedSolution:
        """The solution for b (d,) and c (m,), None for 0.

        share: relative tolerance of the residual, by default that of the solver; allowed: an absolute one, in the norm
        of `norm`; the larger of the two counts.
        """
        from arlequin.models.linalg._projection_kernels import advance, dot, update_direction

        projection, y, residual = self._projection, np.zeros(self.size), -b
        if c is not None and c.any():
            projection.constrain(y, c)
            residual += self.product(y)
        size = max(self.norm(b), self.norm(residual))
        target = max((self._tolerance if share is None else share) * size, allowed) ** 2
        scaled, p, image = projection.inverse * residual, np.zeros(self.size), np.empty(self.size)
        multipliers = projection.project(residual, scaled)
        square, last_slope, iterations = self._sum(dot, residual, scaled), 1.0, 0
        while square > target:
            if iterations == self._max_iterations or not np.isfinite(square):
                raise self._failure(iterations, np.sqrt(square / target) * self._tolerance)
            g = self._direction(residual, scaled)
            slope = square if g is scaled else self._sum(dot, residual, g)
            self._each(update_direction, slope / last_slope, p, g)
            last_slope = slope
            self._operator.multiply_into(p, image)
            curvature = self._sum(dot, p, image)
            if not (curvature > 0.0 and slope > 0.0):
                raise not_definite()
            self._each(advance, slope / curvature, p, image, projection.inverse, y, residual, scaled)
            multipliers += projection.project(residual, scaled)
            square = self._sum(dot, residual, scaled)
            iterations += 1
        if iterations:  # removes the round-off of C y accumulated in the iterations
            projection.constrain(y, c)
        return ConstrainedSolution(y, projection.multipliers(multipliers), -residual, size, iterations)

    def _direction(self, residual: Array, scaled: Array) -> Array:
        """The preconditioned residual g, C g = 0, of a projected residual r (d,): here D⁻¹ r (d,), `scaled`."""
        return scaled

    def _each(self, kernel: Callable[..., Any], *arguments: Any) -> list[Any]:
        """A kernel on slices of its vectors (d,), on threads: its values for each slice."""

        def on(at: slice) -> Any:
            return kernel(*(some[at] if isinstance(some, np.ndarray) else some for some in arguments))

        return map_pieces(on, self._slices, self._paces.setdefault(kernel, Pace()))

    def _sum(self, kernel: Callable[..., float], *vectors: Array) -> float:
        """The sum of a kernel's values for slices of vectors (d,)."""
        return float(sum(self._each(kernel, *vectors)))

    def _failure(self, iterations: int, reached: float) -> UserError:
        return UserError(
            f"solver 'iterative': the residual of conjugate gradients is {reached:.1e} after {iterations} iterations, "
            f"{self._tolerance:.0e} is needed: take a smaller step, or solver='direct'",
            code=FAILURE,
        )
