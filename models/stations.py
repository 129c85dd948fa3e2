"""Functions linear between equidistant stations on a line: their values at points, and in the mean over cells."""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander
from scipy.sparse import csr_array

from models.types import Array, Indices


@dataclass(frozen=True, eq=False)
class Stations:
    """Stations k·h of the numbers k (s,), increasing, and the operator (p, s) from values there to values at points."""

    numbers: Indices
    operator: csr_array

    @classmethod
    def at_points(cls, spacing: float, points: Array) -> "Stations":
        """At points (p,), of the spacing h, m: (1 − ξ) f_k + ξ f_{k+1}, ξ = s/h − k.

        >>> found = Stations.at_points(0.5, np.array([0.1, 0.5]))
        >>> found.numbers.tolist(), found.operator.toarray().round(3).tolist()
        ([0, 1, 2], [[0.8, 0.2, 0.0], [0.0, 1.0, 0.0]])
        """
        before = np.floor(points / spacing).astype(np.int64)
        share = points / spacing - before
        values = np.stack([1.0 - share, share], axis=1)
        return cls._of(before[:, None], np.arange(points.size)[:, None], values, points.size)

    @classmethod
    def in_cells(cls, spacing: float, low: Array, high: Array, points: Array, degree: int) -> "Stations":
        """At points (c, q) of cells [low, high] (c,): of each cell the polynomial next to f, of the degree n.

        With the Legendre polynomials L_j of a cell of the length ℓ,

            f̂(s) = Σ_{j ≤ n} (2j + 1)/ℓ L_j(s) ∫ f L_j ds,    so that    ∫ p f̂ ds = ∫ p f ds    of any p of degree ≤ n,

        the integrals exact, between the stations one by one: a rule of points that takes p f̂ exactly finds the work of
        f itself, kinks and all.
        """
        cells, per_cell = points.shape
        first = np.floor(low / spacing).astype(np.int64)
        count = np.maximum(np.ceil(high / spacing).astype(np.int64) - first, 1)
        cell = np.repeat(np.arange(cells), count)
        before = first[cell] + np.arange(cell.size) - np.repeat(np.cumsum(count) - count, count)
        start = np.maximum(low[cell], before * spacing)
        length = np.maximum(np.minimum(high[cell], (before + 1) * spacing) - start, 0.0)
        roots, weights = leggauss((degree + 3) // 2)
        s = start[:, None] + 0.5 * length[:, None] * (1.0 + roots)
        share = s / spacing - before[:, None]
        size = (high - low)[:, None]
        inside = legvander(2.0 * (s - low[cell, None]) / size[cell] - 1.0, degree)
        hats = np.stack([1.0 - share, share], axis=2) * (0.5 * length[:, None] * weights)[:, :, None]
        moments = np.swapaxes(inside, 1, 2) @ hats
        back = legvander(2.0 * (points - low[:, None]) / size - 1.0, degree)
        back *= (2.0 * np.arange(degree + 1) + 1.0) / size[:, :, None]
        rows = cell[:, None] * per_cell + np.arange(per_cell)
        return cls._of(before[:, None], rows, back[cell] @ moments, points.size)

    @classmethod
    def _of(cls, before: Indices, rows: Indices, values: Array, count: int) -> "Stations":
        """From the shares (…, 2) of the stations `before` and after it in the values of rows."""
        numbers, columns = np.unique(np.stack([before, before + 1], axis=-1), return_inverse=True)
        columns = np.broadcast_to(columns.reshape(*before.shape, 2), values.reshape(*rows.shape, 2).shape)
        entries = (values.ravel(), (np.repeat(rows.ravel(), 2), columns.ravel()))
        return cls(numbers, csr_array(entries, shape=(count, numbers.size)))
