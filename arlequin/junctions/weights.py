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

# share of a cell's measure below which it counts as not cut
WHOLE = 1e-12
# least covered share of a cell at a curved border from which the weights of the whole cell are extrapolated
ENOUGH = 0.5
# least weight in a cut cell, as a share of the cell's mean, where only the mean is prescribed
LEAST = 0.1
# the same where moments are prescribed: a cell whose stiffness sits in one point has motions without stiffness
FEW = 0.01
# tolerance on the sum of both weights
SUM_TOLERANCE = 1e-9


@runtime_checkable
class Weight(Protocol):
    """A weight function α of the fine part over the gluing zone; the coarse part has 1 − α.

    continuity: k where α, 0 before the zone and 1 behind it, is C^k at both ends; −1 where it jumps. Subclasses inherit
    the default 0.
    """

    continuity: ClassVar[int] = 0

    def fine(self, s: Array, points: Array | None = None) -> Array:
        """α (…) in [0, 1] at the zone's coordinate s (…) in (0, 1), or at points (axis, …), m.

        Junctions with a beam give no points.
        """
        ...


@checked_call
@dataclass(frozen=True)
class Linear(Weight):
    """α = s, the default: with L2 coupling and the coarse mediator it passes the patch test."""

    def fine(self, s: Array, points: Array | None = None) -> Array:
        return np.asarray(s, dtype=float)


@checked_call
@dataclass(frozen=True)
class Cubic(Weight):
    """α = 3s² − 2s³, continuous with its slope (C¹) at both ends of the zone."""

    continuity: ClassVar[int] = 1

    def fine(self, s: Array, points: Array | None = None) -> Array:
        return s * s * (3 - 2 * s)


@checked_call
@dataclass(frozen=True)
class Constant(Weight):
    """α = value in the whole zone, 0 < value < 1; jumps at both ends."""

    continuity: ClassVar[int] = -1
    value: float = 0.5

    def __post_init__(self) -> None:
        checks.within("value", self.value, 0, 1, open_low=True, open_high=True)

    def fine(self, s: Array, points: Array | None = None) -> Array:
        return np.full(np.shape(s), float(self.value))


@checked_call
@dataclass(frozen=True)
class Function(Weight):
    """α = share(x) in the gluing zone, of points x (axis, n); values in [0, 1].

    coarse: the coarse part's own function, which must give 1 − share(x); by default it has that.
    """

    share: Callable[[Array], Any]
    coarse: Callable[[Array], Any] | None = None

    def __post_init__(self) -> None:
        for name, function in (("share", self.share), ("coarse", self.coarse)):
            given = function is not None or name == "share"
            if given and (isinstance(function, type) or not callable(function)):
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
                    f"weights: the shares at {_place(x, wrong)} sum to {total[np.argmax(wrong)]:.6g}, not to one"
                )
        return np.clip(values, 0.0, 1.0).reshape(np.shape(s))


def _values(function: Callable[[Array], Any], x: Array, inside: NDArray[np.bool_]) -> Array:
    """One part's share (n,) at points (axis, n), checked where `inside` the zone."""
    try:
        given = function(x)
    except Exception as error:
        raise UserError(f"share: {type(error).__name__} at points {x.shape}: {error}") from error
    values = checks.one_each("share", given, x.shape[1])
    wrong = inside & ~((values >= 0) & (values <= 1))
    if wrong.any():
        raise UserError(
            f"weights: the share at {_place(x, wrong)} is {values[np.argmax(wrong)]:.6g}: must lie in [0, 1]"
        )
    return values


def _place(x: Array, chosen: NDArray[np.bool_]) -> str:
    """The first chosen point, as text."""
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
) -> Array:
    """Weights (c, q) of one part at its quadrature points, exact in the mean where its cells are cut.

    cell_dx (c, q): quadrature weights of the part; cells (p,), points (axis, p, q), dx (p, q): pieces of the
    overlap in its cells; both dx with thickness, section or 2πr; at_pieces (p, q): the part's weight on the
    pieces; at_points (c, q): at the part's quadrature points. Cells outside the overlap have 1, cells inside
    it the pointwise weight. Where the end of the other part or a border of the zone (kinds (p, q): a number that
    changes there) cuts a cell the weight has a kink or jumps, and a rule over the cell misses it (the patch test
    then fails at O(h)): the pointwise weights get the smallest correction with which Σ_q w_q dx_q p(x_q) =
    ∫_cell α p for the polynomials p of the strains, α integrated on the pieces. Where that would make a weight
    negative, positive ones with these moments are sought (`_positive`); for first-order simplices, and with
    `moments` False (the mass), the mean is enough, and no weight is less than `LEAST` of it: a cell whose mass sits
    in a few points has no bound to its frequencies. filled (c,): cells that
    the pieces cover up to the approximation of a curved border; they count as covered: α is the polynomial nearest to
    it on the pieces.
    """
    measure = cell_dx.sum(axis=1)
    covered = np.bincount(cells, dx.sum(axis=1), basis.nelems) / measure
    if filled is None:
        filled = np.zeros(basis.nelems, dtype=bool)
    # a small covered share does not determine a polynomial: the mean is taken for the whole cell
    small = filled & (covered > WHOLE) & (covered < ENOUGH)
    dx = dx * np.where(small, 1 / np.where(small, covered, 1.0), 1.0)[cells, None]
    covered, fitted_to = np.where(filled, 1.0, covered), filled & ~small
    weights = np.where(covered[:, None] > WHOLE, at_points, 1.0)
    partly = (covered > WHOLE) & (covered < 1 - WHOLE)
    if kinds is not None:
        least, most = np.full(basis.nelems, np.iinfo(np.int64).max), np.full(basis.nelems, -1)
        np.minimum.at(least, cells, kinds.min(axis=1))
        np.maximum.at(most, cells, kinds.max(axis=1))
        partly |= (covered > WHOLE) & (least < most)
    cut = np.flatnonzero(partly)
    if cut.size == 0:
        return weights
    rank = np.full(basis.nelems, -1)
    rank[cut] = np.arange(cut.size)
    pieces = np.flatnonzero(rank[cells] >= 0)
    X, _ = to_reference(basis.mesh, cells[pieces], points[:, pieces])
    on_pieces, polynomials = _polynomials(basis, X), _polynomials(basis, basis.X)
    removed = np.zeros((cut.size, len(polynomials)))
    np.add.at(removed, rank[cells[pieces]], np.einsum("mpq,pq->pm", on_pieces, ((1 - at_pieces) * dx)[pieces]))
    dx_cut, pointwise = cell_dx[cut], at_points[cut]
    gram = np.einsum("mq,nq,cq->cmn", polynomials, polynomials, dx_cut)
    curved = np.flatnonzero(fitted_to[cut])
    if curved.size:
        found = np.zeros_like(gram)
        np.add.at(found, rank[cells[pieces]], np.einsum("mpq,npq,pq->pmn", on_pieces, on_pieces, dx[pieces]))
        removed[curved] = (gram[curved] @ np.linalg.solve(found[curved], removed[curved, :, None]))[:, :, 0]
    wanted = np.einsum("mq,cq->cm", polynomials, (1 - pointwise) * dx_cut) - removed
    fitted = pointwise + np.linalg.solve(gram, wanted[:, :, None])[:, :, 0] @ polynomials
    mean = np.maximum((fitted * dx_cut).sum(axis=1) / dx_cut.sum(axis=1), 0.0)
    if moments and basis.Nbfun > basis.mesh.dim() + 1:
        low = np.flatnonzero(fitted.min(axis=1) < 0)
        fitted[low] = _positive(fitted[low], dx_cut[low], mean[low], polynomials)
    else:
        fitted = shrunk(fitted, mean, LEAST * mean)
    weights[cut] = fitted
    return weights


def _positive(fitted: Array, dx: Array, mean: Array, polynomials: Array) -> Array:
    """Positive weights (c, q) with the moments of the fitted ones, those of largest entropy: w = mean exp(μ·p).

    Newton's method on the convex dual. Where no positive weights have these moments (little of the
    cell is covered) the mean is kept, and the nearer of the last iterate and the fitted weights shrunk towards their
    mean. No weight is less than `FEW` of it.
    """
    volume = dx.sum(axis=1)
    share = dx / volume[:, None]
    scale = np.where(mean > 0, mean, 1.0)[:, None]
    wanted = (fitted / scale * share) @ polynomials.T
    exponent = np.zeros_like(wanted)
    ridge = 1e-14 * np.eye(len(polynomials))
    for _ in range(60):
        weight = np.exp(exponent @ polynomials)
        missing = wanted - (weight * share) @ polynomials.T
        if np.abs(missing).max(initial=0.0) < 1e-15:
            break
        slope = np.einsum("mq,nq,cq->cmn", polynomials, polynomials, weight * share) + ridge
        step = np.linalg.solve(slope, missing[:, :, None])[:, :, 0]
        # at most a factor e² in any weight per iteration; bounded where no solution exists
        step /= np.maximum(1.0, np.abs(step @ polynomials).max(axis=1, keepdims=True) / 2)
        exponent = np.clip(exponent + step, -300.0, 300.0)
        exponent *= np.minimum(1.0, 300.0 / np.maximum(np.abs(exponent @ polynomials).max(axis=1), 1.0))[:, None]
    weight = np.exp(exponent @ polynomials)
    one = np.ones_like(mean)
    weight = shrunk(weight / (weight * share).sum(axis=1, keepdims=True), one, FEW * one)
    limited = shrunk(fitted, mean, FEW * mean)
    errors = [
        np.abs(wanted - (w / scale * share) @ polynomials.T).max(axis=1) for w in (mean[:, None] * weight, limited)
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
