"""Velocities and multipliers under the drag of absorbing junctions in an explicit step, by a factor or by products.

With the mass M (z, z), the damping D of the junctions and the constraints C of a zone, a step solves for y and φ

    M y = b − k D (v + g y) + Cᵀφ,   C y = c,   h = k g,   A = M + h D,

h half a time step: b, v are the forces, k = 1, and the velocity at its start, g = h, where y is the acceleration.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.polynomial import Chebyshev, Polynomial

from arlequin.linalg.field_rows import FieldRows
from arlequin.models.linalg.constraints import constraint_factor
from arlequin.models.linalg.largest import largest_of_product
from arlequin.models.linalg.saddle import SaddlePoint
from arlequin.models.types import Array

# Largest relative change of the damping by the polynomial; reflections change in proportion to the drag.
_DEPARTURE = 0.05
_TOLERANCE, _MARGIN = 1e-2, 1.02  # of the computed largest eigenvalue, and factor on it


class Braked(NamedTuple):
    """y (z,), φ (m,), the velocity w (z,) whose drag acts, and this drag D w (z,), N."""

    y: Array
    multipliers: Array
    moving: Array
    drag: Array


class Brake(Protocol):
    """M y = b − k D (v + g y) + Cᵀφ, C y = c for many b, v and c."""

    def solve(self, b: Array, c: Array, v: Array, k: float) -> Braked:
        """y, φ and the drag for b (z,), c (m,) and v (z,)."""


class FactoredBrake:
    """Solution by one sparse factor of A = M + h D and C: w = v + g y."""

    def __init__(self, mass: sp.csr_array, damping: sp.csr_array, rows: sp.csr_array, half: float) -> None:
        """half: h."""
        self._damping, self._half = damping, half
        self._saddle = SaddlePoint(sp.csr_array(mass + half * damping), rows)

    def solve(self, b: Array, c: Array, v: Array, k: float) -> Braked:
        y, multipliers = self._saddle.solve(b - k * (self._damping @ v), c)
        moving = v + self._half / k * y
        return Braked(y, multipliers, moving, self._damping @ moving)


class PolynomialBrake:
    """Solution by a few products with D, for zones in which a factor of A has too many entries; M diagonal:

        y₀ = M⁻¹(b + Cᵀφ₀),   v₀ = v + g y₀,   w = q(h Q D) v₀,   y = y₀ − k Q D w,
        Q = M⁻¹ − M⁻¹Cᵀ S⁻¹ C M⁻¹,   S = C M⁻¹Cᵀ.

    On C v = 0 this is the step with A′ = M + h D′ and the damping D′, which differs from D by at most 5 %. For Q D v =
    x v / h it acts as x′ in place of x,

        x′ = x q / (1 − x q),   q(x) = (1 − δ T(x)) / (1 + x),   |x′/x − 1| ≤ δ (1 + x) / (1 − x δ),

    with T the Chebyshev polynomial of [0, x_max] of the least degree for which δ = 1/|T(−1)| is small enough, before it
    is scaled to 1 at x = −1, and at least 2. D′ is symmetric, positive where D is, 0 where D is; D′ − D falls as Δt².
    The mean velocity of the step is v₀ − h Q D w = (M + h D′)⁻¹ M v₀; on it the drag D w = D′ v̄ dissipates
    v̄·D w = v̄·D′ v̄ ≥ 0 exactly. Products and projections by the factor of S take about as long as the undamped step.
    """

    def __init__(self, mass: Array, product: Callable[[Array], Array], rows: sp.csr_array, half: float) -> None:
        """mass (z,): the diagonal of M; product: v ↦ D v; half: h."""
        self._inverse, self._half, self._row_count = 1.0 / mass, half, rows.shape[0]
        self._product = product
        schur = sp.csr_array(rows @ sp.csr_array(rows.T * self._inverse[:, None]))
        self._independent_rows, self._constrained = constraint_factor(schur)
        independent = (
            rows if self._independent_rows.size == self._row_count else sp.csr_array(rows[self._independent_rows])
        )
        self._rows = FieldRows.of(independent)
        self.polynomial = damping_polynomial(_MARGIN * largest_of_product(product, half * self._inverse, _TOLERANCE))

    def solve(self, b: Array, c: Array, v: Array, k: float) -> Braked:
        y, multipliers = self._projected(b, c[self._independent_rows])
        moving = self._moving(v + self._half / k * y)
        drag = self._product(moving)
        change, multiplier_change = self._projected(drag, None)
        y -= k * change
        multipliers -= k * multiplier_change
        all_multipliers = multipliers
        if self._independent_rows.size < self._row_count:
            all_multipliers = np.zeros(self._row_count)
            all_multipliers[self._independent_rows] = multipliers
        return Braked(y, all_multipliers, moving, drag)

    def _moving(self, v: Array) -> Array:
        """q(h Q D) v."""
        first, *others = (float(each) for each in self.polynomial.coef)
        total = first * v
        for coefficient in others:
            v = self._projected(self._half * self._product(v), None)[0]
            total += coefficient * v
        return total

    def _projected(self, b: Array, c: Array | None) -> tuple[Array, Array]:
        """y = M⁻¹(b + Cᵀφ) with C y = c, None for 0, and φ of the independent rows."""
        y = self._inverse * b
        if not self._independent_rows.size:
            return y, np.zeros(0)
        violation = -self._rows.product(y)
        multipliers = self._constrained(violation if c is None else violation + c)
        pull = np.zeros(y.size)
        self._rows.write_transposed(multipliers, pull)
        y += self._inverse * pull
        return y, multipliers


def damping_polynomial(largest: float, departure: float = _DEPARTURE) -> Polynomial:
    """q ≈ 1/(1 + x) on [0, x_max], see `PolynomialBrake`, of the least degree with |x′/x − 1| ≤ departure.

    >>> q = damping_polynomial(0.5, 0.05)
    >>> x = np.linspace(0.01, 0.5, 50)
    >>> changed = x * q(x) / (1.0 - x * q(x))
    >>> q.degree(), bool(abs(changed / x - 1.0).max() < 0.05)
    (1, True)
    """
    if largest == 0.0:
        return Polynomial([1.0])
    degree = 2  # with the first one the damping would change in proportion to Δt
    while True:
        chebyshev = Chebyshev.basis(degree, domain=[0.0, largest])
        least = 1.0 / abs(float(chebyshev(-1.0)))
        if least * (1.0 + largest) <= departure * (1.0 - largest * least):
            break
        degree += 1
    rest = 1.0 - chebyshev.convert(kind=Polynomial) / float(chebyshev(-1.0))
    return rest // Polynomial([1.0, 1.0])
