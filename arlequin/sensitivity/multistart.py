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
_SAME, _CLOSE = 1e-3, 0.05  # of the way between the bounds: one minimum, and where the linear model may tell
_DEVIATIONS = 3.0  # by each parameter, within which the linear model leads to the same minimum
_ALIKE = 1e-3  # relative difference of two costs of one minimum

Early = Callable[[float], Indices]


@dataclass(frozen=True, eq=False)
class Places:
    """Places of parameters between their bounds, 0 to 1, even in the logarithm of wide positive ones; of parameters
    without two bounds multiples of the start, or of 1."""

    low: Array
    high: Array
    start: Array

    @property
    def between(self) -> Indices:
        """Parameters that have two bounds."""
        return np.flatnonzero(np.isfinite(self.high - self.low))

    @property
    def wide(self) -> Indices:
        """Those whose logarithm is spread."""
        own = self.between
        low, high = self.low[own], self.high[own]
        return own[(low > 0.0) & (high >= _WIDE * low)]

    def of(self, x: Array) -> Array:
        """Places of parameters x (…, n)."""
        out = x / np.maximum(np.abs(self.start), 1.0)
        i, j = self.between, self.wide
        out[..., i] = (x[..., i] - self.low[i]) / (self.high[i] - self.low[i])
        out[..., j] = np.log(x[..., j] / self.low[j]) / np.log(self.high[j] / self.low[j])
        return np.asarray(out)

    def spread(self, count: int) -> Array:
        """Parameters (count, n) at points of a Sobol sequence; those without two bounds are at the start."""
        from scipy.stats import qmc

        i, j = self.between, self.wide
        power = int(np.ceil(np.log2(count)))
        places = np.zeros((count, self.start.size))
        places[:, i] = qmc.Sobol(i.size, scramble=False).random_base2(power)[:count] + 0.5 ** (power + 1)
        out = np.tile(self.start, (count, 1))
        out[:, i] = self.low[i] + (self.high[i] - self.low[i]) * places[:, i]
        out[:, j] = self.low[j] * (self.high[j] / self.low[j]) ** places[:, j]
        return out


@dataclass(eq=False)
class Minima:
    """The minima that were found, and where each start ended.

    starts: start (n,) and the minimum (its number in `found`) that it leads to.
    """

    places: Places
    found: list[Minimum] = field(default_factory=list)
    starts: list[tuple[Array, int]] = field(default_factory=list)

    def add(self, start: Array, minimum: Minimum) -> None:
        """Where a start has ended: a minimum that is known, or a new one."""
        known = self.near(minimum.x, minimum.cost)
        if known is None:
            known = len(self.found)
            self.found.append(minimum)
        elif _rank(minimum) < _rank(self.found[known]):
            self.found[known] = minimum
        self.starts.append((start, known))

    def near(self, x: Array, cost: float) -> int | None:
        """The minimum to which parameters x of this cost lead: one beside them, or one within some deviations by its
        linear model, whose cost is no larger."""
        for i, minimum in enumerate(self.found):
            way = np.abs(self.places.of(x) - self.places.of(minimum.x)).max()
            apart = np.sum((minimum.jacobian @ (x - minimum.x)) ** 2)
            left = max(minimum.residual.size - x.size, 1)
            leads = apart <= _DEVIATIONS**2 * x.size * 2.0 * minimum.cost / left and cost >= (1 - _ALIKE) * minimum.cost
            if way <= _SAME or (way <= _CLOSE and leads):
                return i
        return None

    def in_order(self) -> "Minima":
        """Those of the least cost first; of starts that ended without a minimum last."""
        order = sorted(range(len(self.found)), key=lambda i: _rank(self.found[i]))
        return Minima(self.places, [self.found[i] for i in order], [(own, order.index(i)) for own, i in self.starts])


def _rank(minimum: Minimum) -> tuple[bool, float]:
    """The order of minima: of the least cost first, of iterations that did not converge last."""
    return not minimum.converged, minimum.cost


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
    minima = Minima(Places(*bounds, start))
    # errors of the guess are the user's: a study without derivatives is refused before others are tried
    minima.add(start, minimise(residual, jacobian, start, bounds, tolerance, most))
    if not count:
        return minima
    points = minima.places.spread(count)
    squares = np.array([residual(x, False) for x in points]) ** 2
    chosen: dict[int, float] = {}
    for share in _SHARES:
        misfits = squares[:, early(share)].sum(axis=1)
        best = int(np.argmin(misfits))
        if np.isfinite(misfits[best]):
            chosen.setdefault(best, share)
    for best, share in chosen.items():
        try:
            x = _approached(residual, jacobian, points[best], bounds, share, early)
            known = minima.near(x, 0.5 * float(np.sum(residual(x, False) ** 2)))
            if known is None:
                minima.add(points[best], minimise(residual, jacobian, x, bounds, tolerance, most))
            else:
                minima.starts.append((points[best], known))
        except UserError:  # at the limit of what the study allows: no minimum there
            continue
    return minima.in_order()


def _approached(
    residual: Residual, jacobian: Jacobian, x: Array, bounds: tuple[Array, Array], share: float, early: Early
) -> Array:
    """The end of fits to growing parts of the records, of all but the last."""
    while share < 1.0:
        rows = early(share)
        part = minimise(_of(residual, rows), _of(jacobian, rows), x, bounds, _PARTIAL, _PARTIAL_MOST)
        x, share = part.x, 2.0 * share
    return x


def _of(function: Callable[..., Array], rows: Indices) -> Callable[..., Array]:
    """The rows of what a function gives."""
    return lambda *given: np.asarray(function(*given)[rows])
