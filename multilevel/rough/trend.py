"""The mean plane or parabola of a height map."""

from dataclasses import dataclass

import numpy as np

from arlequin.models.types import Array


@dataclass(frozen=True)
class Trend:
    """A polynomial t(x, y) = Σ c_ab x^a y^b, a + b ≤ order; x, y in m from the middle of the map, c_ab in m^(1−a−b).

    powers ((a, b), …), coefficients (c_ab, …).

    >>> float(Trend(((0, 0), (1, 0), (0, 1)), (1e-6, 0.0, 0.002))(0.0, 1e-3))
    3e-06
    """

    powers: tuple[tuple[int, int], ...]
    coefficients: tuple[float, ...]

    def __call__(self, x: Array, y: Array) -> Array:
        """Heights at x, y (any shapes that broadcast), m."""
        terms = zip(self.powers, self.coefficients, strict=True)
        return sum((c * x**a * y**b for (a, b), c in terms), start=np.zeros(np.broadcast(x, y).shape))[()]

    @property
    def order(self) -> int:
        return max(a + b for a, b in self.powers)

    @property
    def tilt(self) -> tuple[float, float]:
        """Slopes ∂t/∂x, ∂t/∂y at the middle of the map."""
        coefficients = dict(zip(self.powers, self.coefficients, strict=True))
        return coefficients.get((1, 0), 0.0), coefficients.get((0, 1), 0.0)


def fit(heights: Array, x: Array, y: Array, order: int) -> Trend:
    """The least-squares polynomial of heights (n, m) at x (n,), y (m,), m from the middle of the map."""
    powers = tuple((total - b, b) for total in range(order + 1) for b in range(total + 1))
    # in [−1, 1], so that the columns have one size
    scale = (abs(x).max() or 1.0, abs(y).max() or 1.0)
    columns = [np.multiply.outer((x / scale[0]) ** a, (y / scale[1]) ** b).ravel() for a, b in powers]
    basis = np.stack(columns, axis=1)
    scaled = np.linalg.solve(basis.T @ basis, basis.T @ heights.ravel())
    sizes = [scale[0] ** a * scale[1] ** b for a, b in powers]
    return Trend(powers, tuple(float(c / s) for c, s in zip(scaled, sizes, strict=True)))
