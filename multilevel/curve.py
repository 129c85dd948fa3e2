"""A smooth curve through the nodes of a line: cubic in each cell, with the slopes of parabolas through three nodes."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from models.types import Array, Indices

_HERMITE = np.array([[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]], dtype=float)  # powers of ξ


class Largest(NamedTuple):
    """Of the weights of a curve: |N_m|, Σ|N_m| and ΣN_m²."""

    value: float
    total: float
    square: float


@dataclass(frozen=True, eq=False)
class Curve:
    """x(s) = Σ_m N_m(s) x_m through nodes x_m of given arc lengths s_m (m, ascending), C¹ (Catmull–Rom).

    In the cell from s_c to s_{c+1}, with ξ = (s − s_c)/h, it is Hermite's cubic of the nodes and the slopes there,
    those of the parabola through the node and its neighbours, at the ends of the first and last three nodes. So
    parabolas are reproduced. The slopes are off by h²x‴/6 inside, by −h²x‴/3 at the ends, and the curve by
    h³x‴/6 ξ(1 − ξ)(1 − 2ξ), in the first cell by −h³x‴/6 ξ(1 − ξ)(2 − ξ): order 3. The polyline would be of order 2 and
    have kinks, at which a rod sliding through a ring of fixed place would hit it.
    nodes (n, a): the positions that gave the arc lengths (n,); stencil (c, w): nodes that a cell's curve depends on,
    w = 4, less of short rods; table (c, 4, w): N_m as powers of ξ.
    Source: Catmull & Rom, in Computer Aided Geometric Design, Academic Press (1974) 317–326.
    """

    nodes: Array
    knots: Array
    stencil: Indices
    table: Array

    @classmethod
    def through(cls, nodes: Array) -> "Curve":
        """Nodes (n, a) in order, n ≥ 2; arc lengths are those of the polyline through them."""
        knots = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(nodes, axis=0), axis=1)))
        count = knots.size
        width, cells = min(4, count), np.arange(count - 1)
        stencil = np.clip(cells - 1, 0, count - width)[:, None] + np.arange(width)
        slopes = _slopes(knots)
        values = np.eye(count)
        length = np.diff(knots)[:, None]
        ends = np.stack([values[:-1], length * slopes[:-1], values[1:], length * slopes[1:]], axis=1)
        table = np.einsum("ep,cen->cpn", _HERMITE, ends)
        return cls(nodes, knots, stencil, np.take_along_axis(table, stencil[:, None, :].repeat(4, axis=1), axis=2))

    def arc_length(self, cell: Indices, xi: Array) -> Array:
        """s (k,) of the places ξ (k,) in the cells (k,)."""
        return np.asarray(self.knots[cell] + xi * (self.knots[cell + 1] - self.knots[cell]))

    def weights(self, cell: Indices, xi: Array) -> tuple[Array, Array]:
        """N_m and dN_m/ds (k, w) at the places ξ (k,) of the cells (k,)."""
        from multilevel._guide_kernels import blends

        values, slopes = np.empty((2, xi.size, self.stencil.shape[1]))
        blends(self.table, np.diff(self.knots), cell, xi, values, slopes)
        return values, slopes

    @property
    def reach(self) -> float:
        """Longest arc length over which a node counts, m: four cells, at the ends of the rod less."""
        used = np.abs(self.table).any(axis=1)
        low, high = np.full(self.knots.size, np.inf), np.full(self.knots.size, -np.inf)
        np.minimum.at(low, self.stencil[used], np.repeat(self.knots[:-1], used.sum(axis=1)))
        np.maximum.at(high, self.stencil[used], np.repeat(self.knots[1:], used.sum(axis=1)))
        return float((high - low).max())

    def largest(self) -> Largest:
        """Over all cells, at 65 places each, which include the middle, where the sums are largest on even cells."""
        powers = np.linspace(0.0, 1.0, 65)[:, None] ** np.arange(4)
        values = np.abs(np.einsum("xp,cpm->cxm", powers, self.table))
        sums = values.max(), values.sum(axis=2).max(), (values**2).sum(axis=2).max()
        return Largest(*map(float, sums))


def _slopes(knots: Array) -> Array:
    """Slopes (n, n) at the nodes as rows on their values: of the parabola through the nearest three, or the line."""
    count = knots.size
    out = np.zeros((count, count))
    if count == 2:
        out[:] = np.array([-1.0, 1.0]) / np.diff(knots)
        return out
    for n in range(count):
        three = np.clip(n - 1, 0, count - 3) + np.arange(3)
        out[n, three] = np.linalg.solve((knots[three] - knots[n]) ** np.arange(3)[:, None], [0.0, 1.0, 0.0])
    return out
