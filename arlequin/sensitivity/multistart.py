"""Several starts of a least-squares fit: the minima within bounds, of which the guess finds but the nearest."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.sensitivity.least_squares import Jacobian, Minimum, Residual, minimise

SCREENED = 16  # runs within the bounds of one parameter; twice as many where there are more
_SHARES = (1.0, 0.5, 0.25, 0.125)  # of the records
_WIDE = 100.0  # ratio of positive bounds, from which on logarithms are spread evenly
_PARTIAL, _PARTIAL_MOST = 1e-3, 10  # tolerance and evaluations of a fit of a part of the records
_SAME = 1e-3  # of the bounds' distance: one minimum
_DEVIATIONS = 3.0  # by each parameter, within which the linear model leads to the same minimum

Early = Callable[[float], Indices]


@dataclass(eq=False)
class Minima:
    """The minima that were found, best first, and where each start ended.

    starts: start (n,) and the minimum (a place in `found`) that it leads to.
    """

    found: list[Minimum] = field(default_factory=list)
    starts: list[tuple[Array, int]] = field(default_factory=list)

    def add(self, start: Array, minimum: Minimum, size: Array) -> None:
        """Where a start has ended: a minimum that is known, or a new one; size (n,): of the bounds."""
        known = self.near(minimum.x, size)
        if known is None:
            known = len(self.found)
            self.found.append(minimum)
        elif minimum.converged > self.found[known].converged:
            self.found[known] = minimum
        self.starts.append((start, known))

    def near(self, x: Array, size: Array) -> int | None:
        """The minimum to which the linear model leads from x: within round-off of the bounds, or some deviations."""
        for i, minimum in enumerate(self.found):
            apart = x - minimum.x
            left = max(minimum.residual.size - x.size, 1)
            reach = _DEVIATIONS**2 * x.size * 2.0 * minimum.cost / left
            if (np.abs(apart) <= _SAME * size).all() or np.sum((minimum.jacobian @ apart) ** 2) <= reach:
                return i
        return None

    def in_order(self) -> "Minima":
        """Those of the least cost first; of starts that ended without a minimum last."""
        order = sorted(range(len(self.found)), key=lambda i: (not self.found[i].converged, self.found[i].cost))
        return Minima([self.found[i] for i in order], [(start, order.index(i)) for start, i in self.starts])


def minimise_from_several(
    residual: Residual,
    jacobian: Jacobian,
    start: Array,
    bounds: tuple[Array, Array],
    tolerance: float,
    most: int,
    count: int,
    early: Early,
) -> Minima:
    """Minimise ½ ‖r(x)‖² within bounds from the guess, and from the best of `count` points between the bounds.

    early(share): places in r of the first part of the records. The points are a Sobol sequence, the same in each call,
    on those parameters that have two bounds. A misfit of long records of oscillations has a minimum wherever one
    period more or less fits; that of their beginning has few, and wide ones. The points that fit the whole records, a
    half, a quarter and an eighth of them best are therefore starts, each fitted to this part first, then to twice as
    much, until all of the records count; it ends early where it leads to a minimum that is known.

    Source: Rinnooy Kan & Timmer, Math. Program. 39 (1987) 27–56 (screening, then local minima); Sobol, USSR Comput.
    Math. Math. Phys. 7 (1967) 86–112.
    """
    minima = Minima()
    between = np.isfinite(bounds[1] - bounds[0])
    size = np.where(between, bounds[1] - bounds[0], np.maximum(np.abs(start), 1.0))
    # errors of the guess are the user's: a study without derivatives is refused before others are tried
    minima.add(start, minimise(residual, jacobian, start, bounds, tolerance, most), size)
    if not count or not between.any():
        return minima
    points = screening_points(start, bounds, count)
    squares = np.array([residual(x, False) for x in points]) ** 2
    chosen: dict[int, float] = {}
    for share in _SHARES:
        misfits = squares[:, early(share)].sum(axis=1)
        best = int(np.argmin(misfits))
        if np.isfinite(misfits[best]):
            chosen.setdefault(best, share)
    for best, share in chosen.items():
        try:
            x, known = _approached(residual, jacobian, points[best], bounds, share, early, minima, size)
            if known is not None:
                minima.starts.append((points[best], known))
                continue
            minima.add(points[best], minimise(residual, jacobian, x, bounds, tolerance, most), size)
        except UserError:  # at the limit of what the study allows: no minimum there
            continue
    return minima.in_order()


def _approached(
    residual: Residual,
    jacobian: Jacobian,
    x: Array,
    bounds: tuple[Array, Array],
    share: float,
    early: Early,
    minima: Minima,
    size: Array,
) -> tuple[Array, int | None]:
    """The end of fits to growing parts of the records, and the minimum that is known there."""
    while share < 1.0:
        rows = early(share)
        part = minimise(
            lambda x, strict, rows=rows: residual(x, strict)[rows],  # type: ignore[misc]
            lambda x, chosen, rows=rows: jacobian(x, chosen)[rows],  # type: ignore[misc]
            x, bounds, _PARTIAL, _PARTIAL_MOST,
        )  # fmt: skip
        x, share = part.x, 2.0 * share
    return x, minima.near(x, size)


def screening_points(start: Array, bounds: tuple[Array, Array], count: int) -> Array:
    """Points (count, n) between the bounds, evenly or in the logarithm of wide ones; parameters without two bounds are
    those of the start."""
    from scipy.stats import qmc

    low, high = bounds
    between = np.flatnonzero(np.isfinite(high - low))
    power = int(np.ceil(np.log2(count)))
    places = qmc.Sobol(between.size, scramble=False).random_base2(power)[:count] + 0.5 ** (power + 1)
    out = np.tile(start, (count, 1))
    for k, i in enumerate(between):
        if low[i] > 0.0 and high[i] / low[i] >= _WIDE:
            out[:, i] = low[i] * (high[i] / low[i]) ** places[:, k]
        else:
            out[:, i] = low[i] + (high[i] - low[i]) * places[:, k]
    return out
