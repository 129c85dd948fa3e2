"""Interface laws fitted to curves of mean pressure against mean gap: tables, and single power laws."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, least_squares

from arlequin.models.checks import finite_array, positive_integer
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.asperity_table import AsperityTable

Law = TypeVar("Law", Asperities, AsperityTable)

_TAIL = 1e-2  # pressure at the end of a table, relative to the smallest one of the curve
_PER_DECADE = 12  # knots of a table
_STEEPEST = 20.0  # largest exponent of a power law, for which κ, in Pa/m^m, is finite


@dataclass(frozen=True)
class LawFit(Generic[Law]):
    """A fitted law with the ranges of the curve and its errors.

    gaps (2,), m; pressures (2,), Pa: the ranges; error (k,): p_law/p − 1 at the points of the curve.
    """

    law: Law
    gaps: tuple[float, float]
    pressures: tuple[float, float]
    error: Array

    @property
    def largest(self) -> float:
        """The largest error, relative."""
        return float(np.abs(self.error).max())

    @property
    def factor(self) -> float:
        """Largest ratio between the pressures of the law and of the curve, ≥ 1."""
        return float(np.exp(np.abs(np.log1p(self.error)).max()))

    def __str__(self) -> str:
        """One line for a report."""
        gaps, pressures = self.gaps, self.pressures
        return (
            f"{type(self.law).__name__}: {pressures[0]:.4g} to {pressures[1]:.4g} Pa, gaps {gaps[0]:.4g} to "
            f"{gaps[1]:.4g} m; pressure within a factor {self.factor:.4g} of the curve (largest error "
            f"{100 * self.largest:.3g} %)"
        )


@checked_call
def fit_table(
    gaps: ArrayLike, pressures: ArrayLike, *, knots: int | None = None, loss_factor: float = 0.0, frequency: float = 1.0
) -> LawFit[AsperityTable]:
    """A table through a curve of mean pressures (k,), Pa, at mean gaps (k,), m, or the smoothest fall near it.

    knots: values of the table, evenly spaced in ln p; by default those of the curve, at most 12 per decade. Beyond the
    largest gap ln p is extrapolated with its last slope down to 1 % of the smallest pressure, where the parabola of
    the table ends it. loss_factor, frequency: see `AsperityTable`. A curve that does not fall (scatter) is refused.
    """
    g, p = _curve(gaps, pressures)
    count = min(g.size, round(_PER_DECADE * np.log10(p[0] / p[-1])) + 2) if knots is None else knots
    if positive_integer("knots", count) < 2:
        raise UserError.parameter("knots", count, "must be 2 or more")
    full_table = AsperityTable(tuple(g), tuple(p))
    values = p if count >= g.size else p[0] * np.geomspace(1.0, p[-1] / p[0], count)
    at = g if count >= g.size else np.array([_gap_of(full_table, value, g, p) for value in values])
    decay = full_table.pressure(g[-1:])[0] / -full_table.slope(g[-1:])[0]
    tail = values[-1] * np.geomspace(1.0, _TAIL, max(round(-_PER_DECADE * np.log10(_TAIL)), 2))[1:]
    tail_gaps = at[-1] + decay * np.log(values[-1] / tail)
    law = AsperityTable(tuple(np.append(at, tail_gaps)), tuple(np.append(values, tail)), loss_factor, frequency)
    return _fit(law, g, p)


@checked_call
def fit_power(gaps: ArrayLike, pressures: ArrayLike) -> LawFit[Asperities]:
    """The power law p = κ ⟨a − g⟩^m nearest to a curve in ln p, in the mean square of its points, 1 ≤ m ≤ 20.

    Rough contact is nearly exponential, from which a power law deviates by a factor over a few decades: see `factor`.
    """
    g, p = _curve(gaps, pressures)
    span = g[-1] - g[0]

    def crush_and_log_pressure(x: Array) -> tuple[Array, Array]:
        crush = g[-1] + span * np.exp(x[0]) - g
        return np.log(crush), x[2] + x[1] * np.log(crush / span)

    def residual(x: Array) -> Array:
        return crush_and_log_pressure(x)[1] - np.log(p / p[0])

    best = None
    for start in (-3.0, -1.0, 1.0):
        exponent = max(np.log(p[0] / p[-1]) / np.log1p(np.exp(-start)), 1.0)
        x0 = [
            start,
            min(exponent, 0.99 * _STEEPEST),
            -min(exponent, 0.99 * _STEEPEST) * float(np.log1p(np.exp(start))),
        ]
        optimum = least_squares(
            residual, x0, bounds=([-20.0, 1.0, -np.inf], [10.0, _STEEPEST, np.inf]), x_scale=[1.0, 1.0, 1.0]
        )
        best = optimum if best is None or optimum.cost < best.cost else best
    assert best is not None
    exponent = float(best.x[1])
    law = Asperities(
        float(p[0] * np.exp(best.x[2]) / span**exponent), exponent, float(g[-1] + span * np.exp(best.x[0]))
    )
    return _fit(law, g, p)


@checked_call
def mean_curve(gaps: ArrayLike, pressures: ArrayLike) -> tuple[Array, Array]:
    """Mean gaps (k,) and their standard deviation over samples of a surface: gaps (s, k) at the pressures (k,)."""
    table, p = finite_array("gaps", gaps, (None, None)), finite_array("pressures", pressures, (None,))
    if table.shape[1] != p.size:
        raise UserError(f"gaps: {table.shape[1]} values a sample, but {p.size} pressures")
    scatter = table.std(axis=0, ddof=1) if table.shape[0] > 1 else np.zeros(p.size)
    return table.mean(axis=0), scatter


def _fit(law: Law, g: Array, p: Array) -> LawFit[Law]:
    return LawFit(law, (float(g[0]), float(g[-1])), (float(p[-1]), float(p[0])), law.pressure(g) / p - 1.0)


def _curve(gaps: ArrayLike, pressures: ArrayLike) -> tuple[Array, Array]:
    """The curve sorted by gaps, checked."""
    g, p = finite_array("gaps", gaps, (None,)), finite_array("pressures", pressures, (None,))
    if g.size != p.size or g.size < 3:
        raise UserError(f"a curve needs as many gaps as pressures, 3 or more: {g.size} and {p.size} are given")
    order = np.argsort(g)
    g, p = g[order], p[order]
    if not ((np.diff(g) > 0.0).all() and (np.diff(p) < 0.0).all() and (p > 0.0).all()):
        raise UserError("pressures: must be positive and fall as the gap grows; average scattered samples first")
    return g, p


def _gap_of(law: AsperityTable, value: float, g: Array, p: Array) -> float:
    """The gap of a pressure within the table."""
    k = int(np.clip(np.searchsorted(-p, -value, side="right") - 1, 0, g.size - 2))
    if value >= p[k]:
        return float(g[k])
    if value <= p[k + 1]:
        return float(g[k + 1])
    return float(
        brentq(lambda x: np.log(law.pressure(np.array(x)) / value), g[k], g[k + 1], xtol=1e-15 * g[-1] + 1e-300)
    )
