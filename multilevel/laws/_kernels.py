"""Numba kernels of the layer of asperities: mean pressure over a step and pressure at an instant; see
`arlequin.multilevel.laws.asperities`."""

import numpy as np

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.laws.signature import REGULAR


@njit(cache=True)
def _raised(base, exponent):
    """base^exponent; squares and cubes as products, which are faster than `pow` and round alike in all units."""
    if exponent == 1.0:
        return base
    if exponent == 2.0:
        return base * base
    if exponent == 3.0:
        return base * base * base
    return base**exponent


@njit(cache=True)
def mean_power(start, end, exponent):
    """Mean of ⟨s⟩₊^m over the segment from `start` to `end`, and its derivative by `end`.

    mean = (⟨end⟩^{m+1} − ⟨start⟩^{m+1}) / ((m + 1)(end − start)), written so that it is exact to round-off
    where both ends are close (|x| ≤ 1/2, x = end/start − 1): start^m · expm1((m+1) log1p(x)) / ((m+1) x). For m = 0 and
    1 the closed forms without powers: slopes of a linear law do not change from step to step, not in the last digit.
    """
    if start > 0.0 and end > 0.0:
        if exponent == 1.0:
            return 0.5 * (start + end), 0.5
        if exponent == 0.0:
            return 1.0, 0.0
    width = end - start
    if start <= 0.0 and end <= 0.0:
        return 0.0, 0.0
    if start <= 0.0 or end <= 0.0:  # the layer is entered or left within the step
        depth = max(start, end)
        mean = _raised(depth, exponent + 1.0) / ((exponent + 1.0) * abs(width))
        if end > 0.0:
            return mean, (_raised(end, exponent) - mean) / width
        return mean, -mean / width
    ratio = width / start
    if abs(ratio) > 0.5:  # nothing cancels in the closed form, and powers of a large ratio would overflow
        mean = (_raised(end, exponent + 1.0) - _raised(start, exponent + 1.0)) / ((exponent + 1.0) * width)
        return mean, (_raised(end, exponent) - mean) / width
    mean = _raised(start, exponent)
    if ratio != 0.0:
        mean *= np.expm1((exponent + 1.0) * np.log1p(ratio)) / ((exponent + 1.0) * ratio)
    if abs(ratio) < 1e-4:  # Taylor series: the closed form of the derivative cancels here
        m = exponent
        slope = _raised(start, m - 1.0) * m * (0.5 + (m - 1.0) * ratio / 3.0 * (1.0 + 3.0 * (m - 2.0) * ratio / 8.0))
        return mean, slope
    return mean, (_raised(end, exponent) - mean) / width


@njit(cache=True)
def power(crush, exponent):
    """⟨s⟩₊^m and its derivative by s."""
    if crush <= 0.0:
        return 0.0, 0.0
    if exponent == 1.0:
        return crush, 1.0
    return _raised(crush, exponent), exponent * _raised(crush, exponent - 1.0)


@njit(REGULAR, cache=True)
def power_law(coefficients, history, gap, step, theta, trial):
    """Power-law layer with loading (or two-way) damping; equations in `arlequin.multilevel.laws.asperities.Asperities`.

    coefficients: κ, m, a, c, m', 1 where damping acts both ways.
    """
    kappa, exponent, height, viscosity, damping_exponent, both = coefficients[:6]
    start = height - history[0]
    end = height - gap
    trial[0] = gap

    mean, slope = mean_power(start, end, exponent)
    if theta >= 0.5:  # discrete gradient at 1/2, end of the step at 1
        pressure_at_end, slope_at_end = power(end, exponent)
        end_weight = 2.0 * theta - 1.0
    else:  # beginning of the step at 0
        pressure_at_end, slope_at_end = power(start, exponent)[0], 0.0
        end_weight = 1.0 - 2.0 * theta
    stored = kappa * ((1.0 - end_weight) * mean + end_weight * pressure_at_end)
    stored_slope = -kappa * ((1.0 - end_weight) * slope + end_weight * slope_at_end)
    if viscosity == 0.0:
        return stored, stored_slope, 0.0, 0.0

    rate = (gap - history[0]) / step
    if rate >= 0.0 and both == 0.0:
        return stored, stored_slope, 0.0, 0.0
    area, area_slope = mean_power(start, end, damping_exponent)
    dissipated = -viscosity * area * rate
    dissipated_slope = viscosity * (area_slope * rate - area / step)
    if dissipated < -stored:  # no tension
        return stored, stored_slope, -stored, -stored_slope
    return stored, stored_slope, dissipated, dissipated_slope


@njit(cache=True)
def layer(coefficients, gap, rate):
    """Stored and lossy pressure of the same layer at an instant, and the slopes of their sum by gap and rate."""
    kappa, exponent, height, viscosity, damping_exponent, both = coefficients[:6]
    crush = height - gap
    if crush <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    stored, slope = power(crush, exponent)
    stored *= kappa
    if viscosity == 0.0 or (rate >= 0.0 and both == 0.0):
        return stored, 0.0, -kappa * slope, 0.0
    share, share_slope = power(crush, damping_exponent)
    lossy = -viscosity * share * rate
    if lossy < -stored:  # no tension
        return stored, -stored, 0.0, 0.0
    return stored, lossy, -kappa * slope + viscosity * share_slope * rate, -viscosity * share
