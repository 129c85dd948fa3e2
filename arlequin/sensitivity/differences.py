"""Derivatives of functions of real numbers by central differences of order 4."""

from collections.abc import Callable
from typing import Any

import numpy as np

from arlequin.models.types import Array


def difference(function: Callable[[Any], Array], short: Any) -> Array:
    """f'(0) of values (…, b, k) by differences over steps, a number or (b, k); 0 where these are 0, or f is constant:

    f'(0) ≈ [8 (f(h) − f(−h)) − (f(2h) − f(−2h))]/(12 h).
    """
    change = 8.0 * (function(short) - function(-short)) - (function(2.0 * short) - function(-2.0 * short))
    return np.divide(change, 12.0 * short, out=np.zeros_like(change), where=np.asarray(short) > 0.0)
