"""Numba kernel of the squeeze film: mean pressure over a step; equations in `arlequin.multilevel.laws.squeeze_film`."""

import numpy as np

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.laws.signature import REGULAR

_LEAST = 1e-6  # thickness at the end of a step, relative to its start, below which Φ is continued linearly


@njit(REGULAR, cache=True)
def squeeze_film(coefficients, history, gap, step, theta, trial):
    """−(Φ(h₁) − Φ(h₀))/Δt, Φ′ = C/hⁿ; coefficients: C, n, offset, 1 where the fluid cavitates."""
    factor, exponent, offset, cavitates = coefficients[:4]
    start, end = history[0] + offset, gap + offset
    trial[0] = gap
    if np.isinf(start) or np.isinf(end):
        return 0.0, 0.0, 0.0, 0.0
    if not start > 0.0:
        return np.nan, np.nan, 0.0, 0.0
    least = _LEAST * start
    inner = max(end, least)
    # C ∫ h⁻ⁿ dh from h₀: exact to round-off where both are close
    logarithm = np.log1p((inner - start) / start)
    if exponent == 1.0:
        change = factor * logarithm
    else:
        change = factor * start ** (1.0 - exponent) * np.expm1((1.0 - exponent) * logarithm) / (1.0 - exponent)
    slope = factor * inner**-exponent
    change += slope * (end - inner)
    if change >= 0.0 and cavitates != 0.0:
        return 0.0, 0.0, 0.0, 0.0
    return 0.0, 0.0, -change / step, -slope / step
