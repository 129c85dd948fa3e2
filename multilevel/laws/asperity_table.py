"""A layer of asperities whose pressure is given by a table, of a theory or of a computation of rough contact."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.checks import check_fields, finite_array, non_negative, positive
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

_MAX_CHANGE = 0.7  # of ln p between two knots: the quadrature is then exact to round-off


@checked_call
@dataclass(frozen=True, repr=False)
class AsperityTable:
    """Layer of asperities with a tabulated pressure p that falls with the gap between the surfaces of the model.

        ln p(g) = monotone cubic spline through (g_k, ln p_k),    p_n(g, ġ) = p(g) + (η/ω) (−dp/dg) ⟨−ġ⟩₊

    gaps (n,) in m, growing; pressures (n,) in Pa, positive, falling. The slopes are those of Fritsch and Butland. Below
    the first gap p is extrapolated along its tangent, beyond the last one along the parabola p_n (1 + ½ s (g − g_n))²,
    s = d ln p/dg, which ends at `height` = g_n − 2/s: the table should end at a negligible pressure. loss_factor
    η at the frequency f = ω/2π, Hz: a spring K loses π η K u² in a cycle of the amplitude u, as by the coefficient
    c = η K/ω; here while the gap closes, half of it.

    Stored energy per area: E(g) = ∫_g^∞ p dg, by Gauss's rule between the knots, to round-off. Over a step from g₀ to
    g₁ the stored part is the discrete gradient, the mean of p over the path, with the weight 2 − 2θ and p(g₁) with
    2θ − 1 (θ ≥ 1/2), as in `Asperities`; the lossy part (η/ω)(p(g₁) − p(g₀))/Δt is the path mean of its coefficient.

    Source: Fritsch & Butland, SIAM J. Sci. Stat. Comput. 5 (1984) 300–304; Gonzalez, J. Nonlinear Sci. 6 (1996)
    449–467.
    """

    gaps: Sequence[float]
    pressures: Sequence[float]
    loss_factor: float = 0.0
    frequency: float = 1.0

    def __post_init__(self) -> None:
        gap, pressure = finite_array("gaps", self.gaps).ravel(), finite_array("pressures", self.pressures).ravel()
        if gap.size != pressure.size or gap.size < 2:
            raise UserError.parameter("pressures", f"{pressure.size} values", f"needs one for each of {gap.size}")
        if not (np.isfinite(gap).all() and (np.diff(gap) > 0.0).all()):
            raise UserError("gaps: must be finite and grow from each value to the next")
        if not (np.isfinite(pressure).all() and (pressure > 0.0).all() and (np.diff(pressure) < 0.0).all()):
            raise UserError("pressures: must be positive and fall from each value to the next")
        check_fields(self, loss_factor=non_negative, frequency=positive)
        object.__setattr__(self, "gaps", tuple(gap.tolist()))
        object.__setattr__(self, "pressures", tuple(pressure.tolist()))

    def __repr__(self) -> str:
        ends = f"{self.gaps[0]:.6g} to {self.gaps[-1]:.6g} m, {self.pressures[0]:.6g} to {self.pressures[-1]:.6g} Pa"
        return f"AsperityTable({len(self.gaps)} values, {ends}, loss_factor={self.loss_factor:g})"

    @cached_property
    def _knots(self) -> tuple[Array, Array, Array]:
        """g, ln p/p₁ and d ln p/dg (n,), with knots between those of the table, on the same spline, where p falls fast;
        p₁: the first pressure."""
        g, s = np.array(self.gaps), np.log(np.array(self.pressures) / self.pressures[0])
        d = _monotone_slopes(g, s)
        counts = np.ceil(-np.diff(s) / _MAX_CHANGE).astype(np.int64)
        at = np.repeat(np.arange(counts.size), counts)
        x = np.concatenate([np.arange(count) / count for count in counts])
        values, slopes = _hermite(g, s, d, at, x)
        fine = np.where(x == 0.0, g[at], g[at] + x * np.diff(g)[at])
        return np.append(fine, g[-1]), np.append(values, s[-1]), np.append(slopes, d[-1])

    @property
    def height(self) -> float:
        """The gap from which on the pressure is zero, m."""
        g, _, d = self._knots
        return float(g[-1] - 2.0 / d[-1])

    @property
    def damped(self) -> bool:
        return self.loss_factor > 0.0

    def coefficients(self) -> Array:
        loss = self.loss_factor / (2.0 * np.pi * self.frequency)
        return np.concatenate([[self._knots[0].size, self.height, loss, self.pressures[0]], *self._knots])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._table_kernels import table_law

        return table_law

    def pressure(self, gap: Array) -> Array:
        return self._values(gap)[0]

    def slope(self, gap: Array) -> Array:
        """dp/dg at the gaps (k,), Pa/m."""
        return self._values(gap)[1]

    def damping_pressure(self, gap: Array, rate: Array) -> Array:
        return self.loss_factor / (2.0 * np.pi * self.frequency) * self.slope(gap) * np.minimum(rate, 0.0)

    def energy(self, gap: Array) -> Array:
        gap = np.asarray(gap, dtype=float)
        g, _, d = self._knots
        edges = np.append(g, self.height)
        piece = np.searchsorted(g, gap, side="right")  # 0 below the first knot, n beyond the last
        below = piece == 0
        # the integral from the gap to the upper edge of its piece, and that of all pieces above
        upper = edges[np.minimum(piece, g.size)]
        in_piece = self._integral(np.minimum(gap, upper), upper)
        first, slope = self.pressures[0], self.pressures[0] * d[0]
        distance = g[0] - gap
        in_piece = np.where(below, first * distance - 0.5 * slope * distance**2, in_piece)
        return in_piece + self._energy_above[piece]

    @cached_property
    def _energy_above(self) -> Array:
        """∫ p dg from the upper edge of each piece on (n + 1,), J/m²."""
        edges = np.append(self._knots[0], self.height)
        pieces = self._integral(edges[:-1], edges[1:])
        return np.append(np.cumsum(pieces[::-1])[::-1], 0.0)

    def _integral(self, start: Array, end: Array) -> Array:
        """∫ p dg from start to end (k,) on one piece each."""
        from arlequin.multilevel.laws._table_kernels import NODES, WEIGHTS

        length = end - start
        return sum(w * self.pressure(start + x * length) for x, w in zip(NODES, WEIGHTS, strict=True)) * length

    def stiffness_bound(self) -> float:
        """Bound of −dp/dg everywhere: p falls, so on each piece p at its start times the largest −d ln p/dg."""
        g, s, d = self._knots
        h, rise = np.diff(g), np.diff(s) / np.diff(g)
        third = d[:-1] + d[1:] - 2.0 * rise
        second = rise - d[:-1]
        # the slope is a parabola in x: d + 2x(second − third) + 3x² third
        extremum = np.clip(-(second - third) / np.where(third == 0.0, 1.0, 3.0 * third), 0.0, 1.0)
        inner = d[:-1] + 2.0 * extremum * (second - third) + 3.0 * extremum**2 * third
        steepest = np.max([-d[:-1], -d[1:], -inner], axis=0)
        return self.pressures[0] * float((np.exp(s[:-1]) * steepest).max()) if h.size else 0.0

    def _values(self, gap: Array) -> tuple[Array, Array]:
        """p and dp/dg at the gaps."""
        gap = np.asarray(gap, dtype=float)
        g, s, d = self._knots
        k = np.clip(np.searchsorted(g, gap, side="right") - 1, 0, g.size - 2)
        value, slope = _hermite(g, s, d, k, np.clip((gap - g[k]) / np.diff(g)[k], 0.0, 1.0))
        p = self.pressures[0] * np.exp(value)
        slope = p * slope
        below, above = gap < g[0], gap > g[-1]
        if below.any():
            p = np.where(below, p + slope * (gap - g[0]), p)
        if above.any():
            share = np.where(gap < self.height, 1.0 + 0.5 * d[-1] * (gap - g[-1]), 0.0)
            last = self.pressures[0] * np.exp(s[-1])
            p, slope = np.where(above, last * share**2, p), np.where(above, last * d[-1] * share, slope)
        return p, slope


def _hermite(g: Array, s: Array, d: Array, k: NDArray[np.int64], x: Array) -> tuple[Array, Array]:
    """Value and slope at the share x (m,) of the pieces k (m,) of the cubics through s with the slopes d (n,)."""
    h = np.diff(g)[k]
    rise = np.diff(s)[k] / h
    second, third = rise - d[k], d[k] + d[k + 1] - 2.0 * rise
    value = s[k] + h * x * (d[k] + x * (second + (x - 1.0) * third))
    return value, d[k] + 2.0 * x * second + (3.0 * x - 2.0) * x * third


def _monotone_slopes(x: Array, y: Array) -> Array:
    """Slopes (n,) at the knots of falling data with which Hermite's cubics fall: weighted harmonic means."""
    h, rise = np.diff(x), np.diff(y) / np.diff(x)
    if rise.size == 1:
        return np.repeat(rise, 2)
    first, second = (2.0 * h[1:] + h[:-1]) / 3.0, (h[1:] + 2.0 * h[:-1]) / 3.0
    inner = (first + second) / (first / rise[:-1] + second / rise[1:])
    # at the ends the parabola's slope, kept falling and within three times the chord
    ends = []
    for i, j in ((0, 1), (-1, -2)):
        slope = ((2.0 * h[i] + h[j]) * rise[i] - h[i] * rise[j]) / (h[i] + h[j])
        ends.append(np.clip(slope, 3.0 * rise[i], 0.25 * rise[i]))
    return np.concatenate([ends[:1], inner, ends[1:]])
