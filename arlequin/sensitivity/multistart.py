"""Least-squares fits from several starts: the minima within bounds, beside the one nearest to the guess."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.sensitivity.least_squares import Jacobian, Minimum, Residual, minimise

SCREENED = 16  # runs within the bounds of one parameter; twice as many for more parameters
_SHARES = (1.0, 0.5, 0.25, 0.125)  # of the records
_LOG_RATIO = 100.0  # ratio of positive bounds, from which on logarithms are spread evenly
_PARTIAL, _PARTIAL_MOST = 1e-3, 10  # tolerance and evaluations of a fit of a part of the records
_SAME, _CLOSE = 1e-3, 0.05  # of the distance between bounds: the same minimum; range of the linear model
_DEVIATIONS = 3.0  # by each parameter, within which the linear model leads to the same minimum
_SAME_COST = 1e-3  # relative difference of two costs of one minimum

FirstPart = Callable[[float], Indices]


@dataclass(frozen=True, eq=False)
class ParameterScaling:
    """Coordinates of parameters from 0 to 1 between their bounds, logarithmic for wide positive ones; of parameters
    without two bounds multiples of the start, or of 1."""

    low: Array
    high: Array
    start: Array

    @property
    def bounded(self) -> Indices:
        """Indices of the parameters that have two bounds."""
        return np.flatnonzero(np.isfinite(self.high - self.low))

    @property
    def logarithmic(self) -> Indices:
        """Indices of the parameters with a logarithmic coordinate."""
        bounded = self.bounded
        low, high = self.low[bounded], self.high[bounded]
        return bounded[(low > 0.0) & (high >= _LOG_RATIO * low)]

    def scaled(self, x: Array) -> Array:
        """Coordinates of parameters x (…, n)."""
        out = x / np.maximum(np.abs(self.start), 1.0)
        i, j = self.bounded, self.logarithmic
        out[..., i] = (x[..., i] - self.low[i]) / (self.high[i] - self.low[i])
        out[..., j] = np.log(x[..., j] / self.low[j]) / np.log(self.high[j] / self.low[j])
        return np.asarray(out)

    def sobol_points(self, count: int) -> Array:
        """Parameters (count, n) at points of a Sobol sequence; those without two bounds are at the start."""
        from scipy.stats import qmc

        i, j = self.bounded, self.logarithmic
        power = int(np.ceil(np.log2(count)))
        places = np.zeros((count, self.start.size))
        places[:, i] = qmc.Sobol(i.size, scramble=False).random_base2(power)[:count] + 0.5 ** (power + 1)
        out = np.tile(self.start, (count, 1))
        out[:, i] = self.low[i] + (self.high[i] - self.low[i]) * places[:, i]
        out[:, j] = self.low[j] * (self.high[j] / self.low[j]) ** places[:, j]
        return out


@dataclass(eq=False)
class Minima:
    """Distinct minima, and the minimum that each start leads to.

    starts: start (n,) and the minimum (its number in `distinct`) that it leads to.
    """

    scaling: ParameterScaling
    distinct: list[Minimum] = field(default_factory=list)
    starts: list[tuple[Array, int]] = field(default_factory=list)

    def add(self, start: Array, minimum: Minimum) -> None:
        """Add the minimum that a start leads to, known or new."""
        known = self.near(minimum.x, minimum.cost)
        if known is None:
            known = len(self.distinct)
            self.distinct.append(minimum)
        elif _rank(minimum) < _rank(self.distinct[known]):
            self.distinct[known] = minimum
        self.starts.append((start, known))

    def near(self, x: Array, cost: float) -> int | None:
        """Number of the minimum to which parameters x of this cost lead: one close to x, or one within some deviations
        by its linear model and of no larger cost; None without."""
        for i, minimum in enumerate(self.distinct):
            distance = np.abs(self.scaling.scaled(x) - self.scaling.scaled(minimum.x)).max()
            misfit_change = np.sum((minimum.jacobian @ (x - minimum.x)) ** 2)
            degrees = max(minimum.residual.size - x.size, 1)
            same_basin = (
                misfit_change <= _DEVIATIONS**2 * x.size * 2.0 * minimum.cost / degrees
                and cost >= (1 - _SAME_COST) * minimum.cost
            )
            if distance <= _SAME or (distance <= _CLOSE and same_basin):
                return i
        return None

    def in_order(self) -> "Minima":
        """The minima by ascending cost, those without convergence last."""
        order = sorted(range(len(self.distinct)), key=lambda i: _rank(self.distinct[i]))
        return Minima(
            self.scaling, [self.distinct[i] for i in order], [(start, order.index(i)) for start, i in self.starts]
        )


def _rank(minimum: Minimum) -> tuple[bool, float]:
    """Sorting key of minima: ascending cost, those without convergence last."""
    return not minimum.converged, minimum.cost


def minimise_from_several(
    residual: Residual,
    jacobian: Jacobian,
    start: Array,
    bounds: tuple[Array, Array],
    tolerance: float,
    most: int,
    count: int,
    first_part: FirstPart,
) -> Minima:
    """Minimise ½ ‖r(x)‖² within bounds from the guess, and from the best of `count` points between the bounds.

    first_part(share): indices in r of the first part of the records. The points are a Sobol sequence, the same in each
    call, on the parameters that have two bounds. A misfit of long records of oscillations has a minimum wherever one
    period more or less fits; that of their beginning has few, and wide ones. The points that fit the whole records, a
    half, a quarter and an eighth of them best are therefore starts, each fitted to this part first, then to twice as
    much, up to all of the records; a fit ends where it leads to a known minimum.

    Source: Rinnooy Kan & Timmer, Math. Program. 39 (1987) 27–56 (screening, then local minima); Sobol, USSR Comput.
    Math. Math. Phys. 7 (1967) 86–112.
    """
    minima = Minima(ParameterScaling(*bounds, start))
    # errors of the guess are the user's: a study without derivatives is refused before others are tried
    minima.add(start, minimise(residual, jacobian, start, bounds, tolerance, most))
    if not count:
        return minima
    points = minima.scaling.sobol_points(count)
    squares = np.array([residual(x, False) for x in points]) ** 2
    chosen: dict[int, float] = {}
    for share in _SHARES:
        misfits = squares[:, first_part(share)].sum(axis=1)
        best = int(np.argmin(misfits))
        if np.isfinite(misfits[best]):
            chosen.setdefault(best, share)
    for best, share in chosen.items():
        try:
            x = _approached(residual, jacobian, points[best], bounds, share, first_part)
            known = minima.near(x, 0.5 * float(np.sum(residual(x, False) ** 2)))
            if known is None:
                minima.add(points[best], minimise(residual, jacobian, x, bounds, tolerance, most))
            else:
                minima.starts.append((points[best], known))
        except UserError:  # at the limit of what the study allows: no minimum there
            continue
    return minima.in_order()


def _approached(
    residual: Residual, jacobian: Jacobian, x: Array, bounds: tuple[Array, Array], share: float, first_part: FirstPart
) -> Array:
    """Parameters after fits to growing parts of the records, without the last fit to all."""
    while share < 1.0:
        rows = first_part(share)
        part = minimise(_rows_of(residual, rows), _rows_of(jacobian, rows), x, bounds, _PARTIAL, _PARTIAL_MOST)
        x, share = part.x, 2.0 * share
    return x


def _rows_of(function: Callable[..., Array], rows: Indices) -> Callable[..., Array]:
    """A function that returns some rows of another one."""
    return lambda *arguments: np.asarray(function(*arguments)[rows])
