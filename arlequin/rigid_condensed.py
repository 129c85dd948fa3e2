"""One linear step, condensed on constraints that change at each pass."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.compliance import Answers
from arlequin.condensed import Condensed, independent
from models.types import Array


@dataclass(frozen=True)
class Freed:
    """Solution without contact: y (d,), multipliers φ (m,) and λ (k,), and B y (q,)."""

    y: Array
    multipliers: Array
    inner: Array
    contact: Array


class RigidCondensed:
    """Solves A y = b + Cᵀφ + Gᵀλ + BᵀP, C y = c, G y = g: `Condensed`, with rows G (k, d) that change at each pass.

    With Y = A⁻¹Gᵀ, C eliminated, and S = G Y: λ = S⁻¹(g − G y'), y = y' + Y λ on the solution y' without G. Rows of G
    that C implies (a body on a hinge of two points) are left out: their multipliers are 0.
    """

    def __init__(self, bare: Condensed, rows: sp.csr_array) -> None:
        self._bare = bare
        self._count = rows.shape[0]
        self.compliance: Answers = bare.compliance
        self._kept = np.zeros(0, dtype=np.int64)
        if not self._count:
            return
        columns, multipliers = bare.columns(rows)
        schur = rows @ columns
        self._kept, self._rows = np.arange(self._count), rows
        self._columns, self._multipliers = columns, multipliers
        if len(multipliers):
            # the responses without C set the scale: what is left of them where C implies a row is round-off
            kept = independent(schur, rows.multiply(rows) @ (1.0 / bare.diagonal))
            self._kept, self._rows = kept, sp.csr_array(rows[kept])
            self._columns, self._multipliers, schur = columns[:, kept], multipliers[:, kept], schur[np.ix_(kept, kept)]
        if self._kept.size:
            self._schur = scipy.linalg.cho_factor(0.5 * (schur + schur.T), check_finite=False)
            self._answers = bare.basis @ self._columns
            self.compliance = _Stiffened(bare.compliance, self._answers, self._inverse)

    def free(self, b: Array, c: Array, g: Array, given: Array | None = None) -> Freed:
        """The solution for P = 0: b (d,), c (m,), g (k,), given (p,) values of y on the imposed dofs."""
        free = self._bare.free(b, c, given)
        inner = np.zeros(self._count)
        if not self._kept.size:
            return Freed(free.y, free.multipliers, inner, free.contact)
        own = self._inverse(g[self._kept] - self._rows @ free.y)
        inner[self._kept] = own
        return Freed(
            free.y + self._columns @ own,
            free.multipliers - self._multipliers @ own,
            inner,
            free.contact + self._answers @ own,
        )

    def react(self, free: Freed, impulse: Array) -> tuple[Array, Array, Array]:
        """y, φ and λ once the contact impulses P (q,) act."""
        if not impulse.any():
            return free.y, free.multipliers, free.inner
        y = free.y + self._bare.response(impulse)
        multipliers = free.multipliers - self._bare.constraint_response(impulse)
        if not self._kept.size:
            return y, multipliers, free.inner
        own = -self._inverse(self._answers.T @ impulse)
        inner = free.inner.copy()
        inner[self._kept] += own
        return y + self._columns @ own, multipliers - self._multipliers @ own, inner

    def _inverse(self, right: Array) -> Array:
        """S⁻¹ b."""
        return np.asarray(scipy.linalg.cho_solve(self._schur, right, check_finite=False))


class _Stiffened:
    """W − V S⁻¹ Vᵀ: what rows G leave of the compliance W; V = B Y (q, k)."""

    def __init__(self, bare: Answers, answers: Array, inverse: Callable[[Array], Array]) -> None:
        self._bare, self._answers, self._inverse = bare, answers, inverse

    def of(self, rows: sp.csr_array) -> Array:
        """R W Rᵀ (r, r), symmetric, of rows R (r, q) on the basis."""
        return self._less(self._bare.of(rows), rows @ self._answers)

    def chosen(self, rows: NDArray[np.int64]) -> Array:
        """W between the rows (r,) of the basis, (r, r), symmetric."""
        return self._less(self._bare.chosen(rows), self._answers[rows])

    def move(self, impulse: Array) -> Array:
        """W P (q,) of impulses P (q,)."""
        return self._bare.move(impulse) - self._answers @ self._inverse(self._answers.T @ impulse)

    def _less(self, whole: Array, answers: Array) -> Array:
        out = whole - answers @ self._inverse(answers.T)
        return np.ascontiguousarray(0.5 * (out + out.T))
