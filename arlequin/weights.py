"""Weights of the Arlequin method: how two superposed parts share mass, stiffness and loads."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from skfem import CellBasis

from arlequin.coupling import to_reference
from models import checks

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# share of a cell's measure below which it counts as not cut
WHOLE = 1e-12


class Weight(Protocol):
    """Share of the fine part over the zone."""

    def fine(self, s: Array) -> Array:
        """Weight of the fine part (the coarse one has 1 − it) at s: 0 at its inner end, 1 at the other."""
        ...


@dataclass(frozen=True)
class Linear:
    """α = s, the default: with L2 coupling and the coarse mediator it passes the patch test."""

    def fine(self, s: Array) -> Array:
        """See `Weight.fine`."""
        return np.asarray(s, dtype=float)


@dataclass(frozen=True)
class Cubic:
    """α = 3s² − 2s³, continuous with its slope (C¹) at both ends of the zone."""

    def fine(self, s: Array) -> Array:
        """See `Weight.fine`."""
        return s * s * (3 - 2 * s)


@dataclass(frozen=True)
class Constant:
    """α = value in the whole zone, 0 < value < 1; jumps at both ends."""

    value: float = 0.5

    def __post_init__(self) -> None:
        checks.within("value", self.value, 0, 1, open_low=True, open_high=True)

    def fine(self, s: Array) -> Array:
        """See `Weight.fine`."""
        return np.full(np.shape(s), float(self.value))


@dataclass(frozen=True)
class Taper:
    """Planar zone between the ends of two parts that follow each other along one axis.

    axis: index of that axis; start: the fine part's inner end, m; end: the coarse part's inner end, m (start
    < end where the fine part lies on the far side of the coarse one, start > end on the near side).
    """

    axis: int
    start: float
    end: float

    @property
    def length(self) -> float:
        """Length of the zone along its axis, m."""
        return abs(self.end - self.start)

    def coordinate(self, points: Array) -> Array:
        """s at points (axis, …), unbounded: 0 at `start`, 1 at `end`."""
        return (points[self.axis] - self.start) / (self.end - self.start)

    def fine(self, weight: Weight, points: Array) -> Array:
        """Weight (…) of the fine part at points (axis, …): 0 before the zone, 1 behind it."""
        s = self.coordinate(points)
        return np.where(s < 0, 0.0, np.where(s > 1, 1.0, weight.fine(np.clip(s, 0.0, 1.0))))


def cell_weights(
    basis: CellBasis,
    cell_dx: Array,
    cells: Indices,
    points: Array,
    dx: Array,
    at_pieces: Array,
    at_points: Array,
) -> Array:
    """Weights (c, q) of one part at its quadrature points, exact in the mean where its cells are cut.

    cell_dx (c, q): quadrature weights of the part; cells (p,), points (axis, p, q), dx (p, q): pieces of the
    overlap in its cells; both dx with thickness, section or 2πr; at_pieces (p, q): the part's weight on the
    pieces; at_points (c, q): at the part's quadrature points. Cells outside the overlap have 1, cells inside
    it the pointwise weight. Where the end of the other part cuts a cell the weight has a kink or jumps, and a
    rule over the cell misses it (the patch test then fails at O(h)): the pointwise weights get the smallest
    correction with which Σ_q w_q dx_q p(x_q) = ∫_cell α p for the polynomials p of the strains, α integrated
    on the pieces. A correction that would make a weight negative is shrunk towards the cell's mean (limiter
    of Zhang & Shu, J. Comput. Phys. 229, 2010).
    """
    measure = cell_dx.sum(axis=1)
    covered = np.bincount(cells, dx.sum(axis=1), basis.nelems) / measure
    weights = np.where(covered[:, None] > WHOLE, at_points, 1.0)
    cut = np.flatnonzero((covered > WHOLE) & (covered < 1 - WHOLE))
    if cut.size == 0:
        return weights
    rank = np.full(basis.nelems, -1)
    rank[cut] = np.arange(cut.size)
    pieces = np.flatnonzero(rank[cells] >= 0)
    X, _ = to_reference(basis.mesh, cells[pieces], points[:, pieces])
    lost = np.einsum("mpq,pq->mp", _polynomials(basis, X), ((1 - at_pieces) * dx)[pieces])
    polynomials = _polynomials(basis, basis.X)
    dx_cut, pointwise = cell_dx[cut], at_points[cut]
    wanted = np.einsum("mq,cq->cm", polynomials, (1 - pointwise) * dx_cut)
    for m, row in enumerate(lost):
        wanted[:, m] -= np.bincount(rank[cells[pieces]], row, cut.size)
    gram = np.einsum("mq,nq,cq->cmn", polynomials, polynomials, dx_cut)
    fitted = pointwise + np.linalg.solve(gram, wanted[:, :, None])[:, :, 0] @ polynomials
    mean = ((fitted * dx_cut).sum(axis=1) / dx_cut.sum(axis=1))[:, None]
    low = fitted.min(axis=1, keepdims=True)
    shrink = np.where(low < 0, mean / np.where(low < 0, mean - low, 1.0), 1.0)
    weights[cut] = mean + shrink * (fitted - mean)
    return weights


def _polynomials(basis: CellBasis, X: Array) -> Array:
    """Monomials (m, …) in reference coordinates X (axis, …) that span the strains of the element, centred."""
    centred = 2 * X - 1
    axes, corners = basis.mesh.dim(), basis.mesh.t.shape[0]
    degree = max(1, basis.elem.maxdeg // 2) if corners > axes + 1 else 1
    # not more functions than the rule can tell apart
    if basis.X.shape[1] < (axes + 1 if corners == axes + 1 else (degree + 1) ** axes):
        degree = 0
    powers = np.indices((degree + 1,) * axes).reshape(axes, -1).T
    if corners == axes + 1:
        powers = powers[powers.sum(axis=1) <= degree]
    return np.stack([np.prod([centred[i] ** power for i, power in enumerate(row)], axis=0) for row in powers])
