"""Order of convergence, extrapolation and grid convergence index of values on a sequence of grids.

With h₁ < h₂ < h₃ the representative sizes of three grids, the finest first, r₂₁ = h₂/h₁, r₃₂ = h₃/h₂, values φ₁, φ₂,
φ₃, ε₂₁ = φ₂ − φ₁, ε₃₂ = φ₃ − φ₂ and s = sign(ε₃₂/ε₂₁), the observed order p satisfies

    p ln r₂₁ = ln|ε₃₂/ε₂₁| + ln((r₂₁^p − s)/(r₃₂^p − s)),

whose fixed point Celik et al. iterate. The difference of its two sides is monotone in p, so that the root is bracketed
here; it is negative where the values diverge. Then

    φ_ext = (r₂₁^p φ₁ − φ₂)/(r₂₁^p − 1),    e_a = |(φ₁ − φ₂)/φ₁|,    e_ext = |(φ_ext − φ₁)/φ_ext|,
    GCI = F_s e_a/(r₂₁^p − 1).

Sources: Roache, J. Fluids Eng. 116 (1994) 405–413; Celik, Ghia, Roache, Freitas, Coleman & Raad, J. Fluids Eng. 130
(2008) 078001; Eça & Hoekstra, J. Comput. Phys. 262 (2014) 104–130 (least squares).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arlequin.models.types import Array

ROUND_OFF = 1e-13  # change / largest value below which values are equal to round-off
MIN_ORDER = 0.01  # smallest order of convergent values: below it extrapolation divides by round-off
_LOWEST_ORDER, _HIGHEST_ORDER = -60.0, 60.0  # bracket of the order
_MAX_EXPONENT = 700.0  # of a finite double
_TRIAL_COUNT = 241  # orders tried for the start of the least squares


def observed_order(sizes: Array, values: Array) -> float:
    """Order p of values on three grids, coarse first; nan where a change is zero or no p fits.

    >>> h = np.array([0.4, 0.2, 0.1])
    >>> round(observed_order(h, 1.0 + 3.0 * h**2), 12)
    2.0
    """
    coarse, fine = values[1] - values[0], values[2] - values[1]
    if _is_flat(coarse, values) or _is_flat(fine, values):
        return math.nan
    sign = math.copysign(1.0, coarse / fine)
    r21, r32 = math.log(sizes[1] / sizes[2]), math.log(sizes[0] / sizes[1])
    change = math.log(abs(coarse / fine))

    def excess(p: float) -> float:
        if p == 0.0 and sign > 0.0:
            return math.log(r32 / r21) - change
        return p * r21 + _log_power(p * r32, sign) - _log_power(p * r21, sign) - change

    from scipy.optimize import brentq

    low, high = _LOWEST_ORDER / max(r21, r32, 1.0), _HIGHEST_ORDER / min(r21, r32, 1.0)
    if excess(low) > 0.0 or excess(high) < 0.0:
        return math.nan
    return float(brentq(excess, low, high, xtol=1e-15, rtol=8.9e-16, maxiter=500))


def _log_power(x: float, sign: float) -> float:
    """ln|eˣ − s|."""
    if x > 0.0:  # eˣ (1 − s e⁻ˣ)
        return x + math.log(abs(-math.expm1(-x))) if sign > 0.0 else x + math.log1p(math.exp(-x))
    return math.log(abs(math.expm1(x))) if sign > 0.0 else math.log1p(math.exp(x))


def _is_flat(change: float, values: Array) -> bool:
    return abs(change) <= ROUND_OFF * float(np.abs(values).max())


def state_of(values: Array, order: float) -> str:
    """Behaviour of three values, coarse first: one of «equal», «oscillatory», «divergent», «monotonic»."""
    coarse, fine = values[1] - values[0], values[2] - values[1]
    if _is_flat(fine, values):
        return "equal"
    if _is_flat(coarse, values) or not order > MIN_ORDER:
        return "divergent"
    return "oscillatory" if coarse / fine < 0.0 else "monotonic"


@dataclass(frozen=True)
class Extrapolation:
    """Extrapolation of the values of two grids with an order p; uncertainty: GCI |φ₁|, in the unit of the values."""

    value: float
    change: float  # e_a
    error: float  # e_ext
    uncertainty: float
    index: float  # GCI


def extrapolate(sizes: Array, values: Array, order: float, safety: float) -> Extrapolation:
    """From the two finest grids, coarse first; nan where the order is below 0.01."""
    fine, step = float(values[-1]), float(values[-1] - values[-2])
    change = _ratio(step, fine)
    if not order > MIN_ORDER:
        return Extrapolation(math.nan, change, math.nan, math.nan, math.nan)
    gain = math.expm1(min(order * math.log(sizes[-2] / sizes[-1]), _MAX_EXPONENT))
    value = fine + step / gain
    uncertainty = safety * abs(step) / gain
    return Extrapolation(value, change, _ratio(value - fine, value), uncertainty, _ratio(uncertainty, fine))


def _ratio(difference: float, value: float) -> float:
    """|difference/value|; 0 of equal values, inf relative to 0."""
    if difference == 0.0:
        return 0.0
    return abs(difference / value) if value else math.inf


@dataclass(frozen=True)
class LeastSquares:
    """φ = φ₀ + α h^p fitted to all grids; deviation: standard deviation of the weighted residuals, weighted: whether
    the weights are 1/h."""

    value: float
    factor: float
    order: float
    deviation: float
    weighted: bool


def fit_order(sizes: Array, values: Array) -> LeastSquares:
    """Fit of φ₀ + α h^p to n ≥ 4 grids with equal weights and with w ∝ 1/h, Σ w = 1; the one of the smaller deviation

    σ² = n Σ w_i (φ_i − φ₀ − α h_i^p)²/(n − 3).
    """
    return min((_fit(sizes, values, weighted) for weighted in (False, True)), key=lambda fit: fit.deviation)


def _fit(sizes: Array, values: Array, weighted: bool) -> LeastSquares:
    from scipy.optimize import least_squares

    weights = sizes.min() / sizes if weighted else np.ones(sizes.size)

    size, centre = sizes / sizes[-1], values[-1]
    scale = float(np.ptp(values)) or 1.0
    scaled, root = (values - centre) / scale, np.sqrt(weights / weights.sum())

    def linear(p: float) -> tuple[Array, Array]:
        """φ₀ and α at a given order, and the weighted residuals."""
        columns = np.column_stack([np.ones(size.size), size**p])
        solution, *_ = np.linalg.lstsq(root[:, None] * columns, root * scaled, rcond=None)
        return solution, root * (columns @ solution - scaled)

    trial_orders = np.linspace(0.05, 12.05, _TRIAL_COUNT)
    start = float(trial_orders[np.argmin([float(np.sum(linear(p)[1] ** 2)) for p in trial_orders])])
    optimum = least_squares(
        lambda p: linear(float(p[0]))[1], [start], bounds=([1e-3], [20.0]), xtol=1e-15, ftol=1e-15, gtol=1e-15
    )
    order = float(optimum.x[0])
    (limit, factor), residuals = linear(order)
    deviation = math.sqrt(sizes.size * float(residuals @ residuals) / (sizes.size - 3)) * scale
    return LeastSquares(centre + scale * limit, scale * factor / sizes[-1] ** order, order, deviation, weighted)
