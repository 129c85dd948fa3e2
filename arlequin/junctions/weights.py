"""Weight functions α of the fine part, 1 − α of the coarse part, for stiffness, loads and mass."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from skfem import CellBasis

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call, takes
from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import to_reference
from arlequin.overlap.slices import shrunk

# relative to a cell's measure: smaller cuts are ignored
ROUND_OFF = 1e-12
# smallest covered share of a cell at a curved border from which the weights of the cell are extrapolated
MIN_COVERED = 0.5
# smallest weight in a cut cell, relative to the cell's mean, where only the mean is prescribed
MIN_WEIGHT = 0.1
# the same where moments are prescribed: with stiffness in one point only a cell has zero-energy modes
MIN_WEIGHT_OF_MOMENTS = 0.01
# tolerance on the sum of both weights
SUM_TOLERANCE = 1e-9


@runtime_checkable
class Weight(Protocol):
    """A weight function α of the fine part over the gluing zone; the coarse part has 1 − α.

    continuity: k where α, 0 before the zone and 1 behind it, is C^k at both ends; −1 where it jumps. degree: of the
    polynomial of s up to which α is integrated exactly where zones of several junctions overlap. Subclasses inherit the
    defaults 0 and 4.
    """

    continuity: ClassVar[int] = 0
    degree: ClassVar[int] = 4

    def fine(self, s: Array, points: Array | None = None) -> Array:
        """α (…) in [0, 1] at the zone's coordinate s (…) in (0, 1), or at points (axis, …), m.

        Junctions with a beam give no points.
        """
        ...


@checked_call
@dataclass(frozen=True)
class Linear(Weight):
    """α = s, the default: with L2 coupling and the coarse mediator it passes the patch test."""

    degree: ClassVar[int] = 1

    def fine(self, s: Array, points: Array | None = None) -> Array:
        return np.asarray(s, dtype=float)


@checked_call
@dataclass(frozen=True)
class Cubic(Weight):
    """α = 3s² − 2s³, continuous with its slope (C¹) at both ends of the zone."""

    continuity: ClassVar[int] = 1
    degree: ClassVar[int] = 3

    def fine(self, s: Array, points: Array | None = None) -> Array:
        return s * s * (3 - 2 * s)


@checked_call
@dataclass(frozen=True)
class Constant(Weight):
    """α = value in the whole zone, 0 < value < 1; jumps at both ends."""

    continuity: ClassVar[int] = -1
    degree: ClassVar[int] = 0
    value: float = 0.5

    def __post_init__(self) -> None:
        checks.within("value", self.value, 0, 1, open_low=True, open_high=True)

    def fine(self, s: Array, points: Array | None = None) -> Array:
        return np.full(np.shape(s), float(self.value))


@checked_call
@dataclass(frozen=True)
class Function(Weight):
    """α = share(x) in the gluing zone, of points x (axis, n); values in [0, 1].

    coarse: the coarse part's function, which must equal 1 − share(x), the default.
    """

    share: Callable[[Array], Any]
    coarse: Callable[[Array], Any] | None = None

    def __post_init__(self) -> None:
        for name, function in (("share", self.share), ("coarse", self.coarse)):
            required = function is not None or name == "share"
            if required and (isinstance(function, type) or not callable(function)):
                raise UserTypeError.parameter(name, function, "must be a function of points (axis, n)")
            if function is not None:
                takes(name, function, x="the points (axis, n)")

    def fine(self, s: Array, points: Array | None = None) -> Array:
        assert points is not None
        x = points.reshape(points.shape[0], -1)
        inside = (np.ravel(s) > 0) & (np.ravel(s) < 1)
        values = _values(self.share, x, inside)
        if self.coarse is not None:
            total = values + _values(self.coarse, x, inside)
            wrong = inside & (np.abs(total - 1) > SUM_TOLERANCE)
            if wrong.any():
                raise UserError(
                    f"weights: the shares at {_first_point(x, wrong)} sum to {total[np.argmax(wrong)]:.6g}, not to one"
                )
        return np.clip(values, 0.0, 1.0).reshape(np.shape(s))


def _values(function: Callable[[Array], Any], x: Array, inside: NDArray[np.bool_]) -> Array:
    """One part's share (n,) at points (axis, n), checked where `inside` the zone."""
    try:
        output = function(x)
    except Exception as error:
        raise UserError(f"share: {type(error).__name__} at points {x.shape}: {error}") from error
    values = checks.one_each("share", output, x.shape[1])
    wrong = inside & ~((values >= 0) & (values <= 1))
    if wrong.any():
        raise UserError(
            f"weights: the share at {_first_point(x, wrong)} is {values[np.argmax(wrong)]:.6g}: must lie in [0, 1]"
        )
    return values


def _first_point(x: Array, chosen: NDArray[np.bool_]) -> str:
    """Coordinates of the first chosen point, as text."""
    return "(" + ", ".join(f"{value:.6g}" for value in x[:, np.argmax(chosen)]) + ")"


def share(weights: Weight, s: Array, points: Array, floor: float = 0.0, state: Indices | None = None) -> Array:
    """Weight (…) of the fine part at s (…), points (axis, …): 0 outside the zone, 1 − floor in the free zone.

    state (…): 0 outside, 1 glued, 2 free; by default that of s ≤ 0, 0 < s < 1, s ≥ 1.
    """
    if state is None:
        state = np.where(s <= 0, 0, np.where(s >= 1, 2, 1))
        s = np.clip(s, 0.0, 1.0)
    return (1 - floor) * np.where(state == 0, 0.0, np.where(state == 2, 1.0, weights.fine(s, points)))


def cell_weights(
    basis: CellBasis,
    cell_dx: Array,
    cells: Indices,
    points: Array,
    dx: Array,
    at_pieces: Array,
    at_points: Array,
    kinds: Indices | None = None,
    moments: bool = True,
    filled: NDArray[np.bool_] | None = None,
) -> tuple[Array, Array]:
    """Weights (c, q) of one part at its quadrature points, exact in the mean where its cells are cut.

    Also their difference (c, q) from weights with all prescribed moments.

    cell_dx (c, q): quadrature weights of the part; cells (p,), points (axis, p, q), dx (p, q): pieces of the
    overlap in its cells; both dx with thickness, section or 2πr; at_pieces (p, q): the part's weight on the
    pieces; at_points (c, q): at the part's quadrature points. Cells outside the overlap have 1, cells inside
    it the pointwise weight. Where the end of the other part or a border of the zone (kinds (p, q): a number that
    changes there) cuts a cell the weight has a kink or jumps, which a rule over the cell does not integrate (the patch
    test then fails at O(h)): the pointwise weights get the smallest correction such that Σ_q w_q dx_q p(x_q) =
    ∫_cell α p for the polynomials p of the strains, α integrated on the pieces. If that makes a weight negative,
    positive ones with these moments are computed (`_positive`); for first-order simplices, and with `moments` False
    (the mass), the mean suffices, and no weight is less than `MIN_WEIGHT` of it: a cell with mass in a few points only
    has unbounded frequencies. filled (c,): cells that the pieces cover up to the approximation of a curved border; they
    are treated as covered: α is the best-fit polynomial on the pieces.
    """
    measure = cell_dx.sum(axis=1)
    covered = np.bincount(cells, dx.sum(axis=1), basis.nelems) / measure
    if filled is None:
        filled = np.zeros(basis.nelems, dtype=bool)
    # a small covered share does not determine a polynomial: the mean is taken for the whole cell
    small = filled & (covered > ROUND_OFF) & (covered < MIN_COVERED)
    dx = dx * np.where(small, 1 / np.where(small, covered, 1.0), 1.0)[cells, None]
    covered, fitted_to = np.where(filled, 1.0, covered), filled & ~small
    weights = np.where(covered[:, None] > ROUND_OFF, at_points, 1.0)
    partly = (covered > ROUND_OFF) & (covered < 1 - ROUND_OFF)
    if kinds is not None:
        smallest, largest = np.full(basis.nelems, np.iinfo(np.int64).max), np.full(basis.nelems, -1)
        np.minimum.at(smallest, cells, kinds.min(axis=1))
        np.maximum.at(largest, cells, kinds.max(axis=1))
        partly |= (covered > ROUND_OFF) & (smallest < largest)
    cut = np.flatnonzero(partly)
    error = np.zeros_like(weights)
    if cut.size == 0:
        return weights, error
    pieces, place = _pieces_in(cut, cells, basis.nelems)
    reduction = ((1 - at_pieces) * dx)[pieces]
    polynomials = _polynomials(basis, basis.X)
    X, _ = to_reference(basis.mesh, cells[pieces], points[:, pieces])
    on_pieces = _polynomials(basis, X)
    removed = _moments(on_pieces, reduction, place, cut.size)
    curved = np.flatnonzero(fitted_to[cut])
    if curved.size:
        gram = np.einsum("mq,nq,cq->cmn", polynomials, polynomials, cell_dx[cut[curved]])
        pieces_gram = np.zeros((cut.size, *gram.shape[1:]))
        np.add.at(pieces_gram, place, np.einsum("mpq,npq,pq->pmn", on_pieces, on_pieces, dx[pieces]))
        removed[curved] = (gram @ np.linalg.solve(pieces_gram[curved], removed[curved, :, None]))[:, :, 0]
    weights[cut], error[cut] = _fitted(basis, cell_dx[cut], at_points[cut], removed, moments)
    return weights, error


def joint_weights(
    basis: CellBasis, cell_dx: Array, chosen: Indices, cells: Indices, points: Array, reduction: Array, moments: bool
) -> tuple[Array, Array]:
    """Weights (k, q) in the cells `chosen` (k,) of a part that several others overlap, exact in the mean, and their
    difference (k, q) from weights with all prescribed moments.

    cells (p,), points (axis, p, q): pieces in these cells; reduction (p, q): (1 − w) dx, with thickness, section or
    2πr. Σ_q w_q dx_q p(x_q) = ∫_cell w p for the polynomials p of `cell_weights`, of which w is one unless it would be
    negative: moments over a sliver of a cell may not be attainable with positive weights at its points.
    """
    pieces, place = _pieces_in(chosen, cells, basis.nelems)
    X, _ = to_reference(basis.mesh, cells[pieces], points[:, pieces])
    removed = _moments(_polynomials(basis, X), reduction[pieces], place, chosen.size)
    fitted, error = _fitted(basis, cell_dx[chosen], np.ones((chosen.size, cell_dx.shape[1])), removed, moments)
    mean = (fitted * cell_dx[chosen]).sum(axis=1) / cell_dx[chosen].sum(axis=1)
    fitted[mean < ROUND_OFF] = 0.0
    return fitted, error


def _pieces_in(chosen: Indices, cells: Indices, count: int) -> tuple[Indices, Indices]:
    """The pieces in the cells `chosen` (k,) of `count`, and the place in `chosen` of the cell of each."""
    rank = np.full(count, -1)
    rank[chosen] = np.arange(chosen.size)
    pieces = np.flatnonzero(rank[cells] >= 0)
    return pieces, rank[cells[pieces]]


def _moments(on_pieces: Array, reduction: Array, place: Indices, count: int) -> Array:
    """Σ over the pieces of each cell of p_m taken: (count, m)."""
    result = np.zeros((count, len(on_pieces)))
    np.add.at(result, place, np.einsum("mpq,pq->pm", on_pieces, reduction))
    return result


def _fitted(basis: CellBasis, dx: Array, pointwise: Array, removed: Array, moments: bool) -> tuple[Array, Array]:
    """Pointwise weights (c, q) with the smallest correction such that Σ_q (1 − w_q) dx_q p_m(x_q) = removed (c, m), and
    the remaining error (c, q)."""
    polynomials = _polynomials(basis, basis.X)
    gram = np.einsum("mq,nq,cq->cmn", polynomials, polynomials, dx)
    residual = np.einsum("mq,cq->cm", polynomials, (1 - pointwise) * dx) - removed
    fitted = pointwise + np.linalg.solve(gram, residual[:, :, None])[:, :, 0] @ polynomials
    mean, error = np.maximum((fitted * dx).sum(axis=1) / dx.sum(axis=1), 0.0), np.zeros_like(fitted)
    if moments and basis.Nbfun > basis.mesh.dim() + 1:
        low = np.flatnonzero(fitted.min(axis=1) < 0)
        exact = fitted[low]
        fitted[low] = _positive(exact, dx[low], mean[low], polynomials)
        error[low] = fitted[low] - exact
    else:
        fitted = shrunk(fitted, mean, MIN_WEIGHT * mean)
    return fitted, error


def _positive(fitted: Array, dx: Array, mean: Array, polynomials: Array) -> Array:
    """Positive weights (c, q) of largest entropy with the moments of the fitted ones: w = mean exp(μ·p).

    Newton's method on the convex dual. If no positive weights have these moments (small covered share) only the mean is
    exact, and the closer one of the last iterate and the fitted weights shrunk towards their mean is returned. No
    weight is less than `MIN_WEIGHT_OF_MOMENTS` of the mean.
    """
    volume = dx.sum(axis=1)
    share = dx / volume[:, None]
    scale = np.where(mean > 0, mean, 1.0)[:, None]
    target = (fitted / scale * share) @ polynomials.T
    exponent = np.zeros_like(target)
    ridge = 1e-14 * np.eye(len(polynomials))
    for _ in range(60):
        weight = np.exp(exponent @ polynomials)
        residual = target - (weight * share) @ polynomials.T
        if np.abs(residual).max(initial=0.0) < 1e-15:
            break
        slope = np.einsum("mq,nq,cq->cmn", polynomials, polynomials, weight * share) + ridge
        step = np.linalg.solve(slope, residual[:, :, None])[:, :, 0]
        # at most a factor e² in any weight per iteration; bounded where no solution exists
        step /= np.maximum(1.0, np.abs(step @ polynomials).max(axis=1, keepdims=True) / 2)
        exponent = np.clip(exponent + step, -300.0, 300.0)
        exponent *= np.minimum(1.0, 300.0 / np.maximum(np.abs(exponent @ polynomials).max(axis=1), 1.0))[:, None]
    weight = np.exp(exponent @ polynomials)
    unit = np.ones_like(mean)
    weight = shrunk(weight / (weight * share).sum(axis=1, keepdims=True), unit, MIN_WEIGHT_OF_MOMENTS * unit)
    limited = shrunk(fitted, mean, MIN_WEIGHT_OF_MOMENTS * mean)
    errors = [
        np.abs(target - (w / scale * share) @ polynomials.T).max(axis=1) for w in (mean[:, None] * weight, limited)
    ]
    return np.where((errors[0] < errors[1])[:, None], mean[:, None] * weight, limited)


def _polynomials(basis: CellBasis, X: Array) -> Array:
    """Monomials (m, …) in reference coordinates X (axis, …) that span the strains of the element, centred."""
    centred = 2 * X - 1
    axes, corners = basis.mesh.dim(), basis.mesh.t.shape[0]
    degree = max(1, basis.elem.maxdeg // axes if corners > axes + 1 else basis.elem.maxdeg - 1)
    # at most as many functions as the quadrature can distinguish
    if basis.X.shape[1] < (axes + 1 if corners == axes + 1 else (degree + 1) ** axes):
        degree = 0
    powers = np.indices((degree + 1,) * axes).reshape(axes, -1).T
    if corners == axes + 1:
        powers = powers[powers.sum(axis=1) <= degree]
    elif degree:  # no derivative has the highest power in every coordinate
        powers = powers[powers.min(axis=1) < degree]
    return np.stack([np.prod([centred[i] ** power for i, power in enumerate(row)], axis=0) for row in powers])
