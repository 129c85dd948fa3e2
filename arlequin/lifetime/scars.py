"""Scars of wear: the depth that a worn volume has on a support."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arlequin.models.checks import positive
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import takes

_FIRST = 1e-6  # m, of the search for a depth
_DOUBLINGS = 200


@dataclass(frozen=True)
class Scar:
    """Depth of the worn volume of a support: V/area, m² constant, or the inverse of volume(depth), m³."""

    area: float | None
    volume: Callable[[float], float] | None

    def depth(self, worn: float) -> float:
        """Depth, m, of a worn volume, m³."""
        if self.area is not None:
            return worn / self.area
        if worn <= 0.0:
            return 0.0
        from scipy.optimize import brentq

        low, high = 0.0, _FIRST
        for _ in range(_DOUBLINGS):
            if self._volume(high) >= worn:
                return float(brentq(lambda h: self._volume(h) - worn, low, high, xtol=1e-15, rtol=1e-12))
            low, high = high, 2.0 * high
        raise UserError(f"volume: reaches no {worn:g} m³ up to a depth of {high:g} m: must increase with the depth")

    def worn_volume(self, depth: float) -> float:
        """Worn volume, m³, of a depth, m."""
        return self.area * depth if self.area is not None else self._volume(depth)

    def _volume(self, depth: float) -> float:
        assert self.volume is not None
        value = float(self.volume(depth))
        if not np.isfinite(value) or value < 0.0:
            raise UserError.parameter("volume", value, f"must be finite and not negative at the depth {depth:g} m")
        return value


def scars_of(area: Any, volume: Any, supports: tuple[str, ...]) -> list[Scar]:
    """The scar of each support, from areas or functions, one for all or by name."""
    if (area is None) == (volume is None):
        raise UserError("area: give area, m², or volume, a function of the depth, one of them")
    if area is not None:
        return [Scar(positive("area", each), None) for each in each_support("area", area, supports)]
    functions = each_support("volume", volume, supports)
    for function in functions:
        if not callable(function):
            raise UserTypeError.parameter("volume", function, "must be a function of the depth, m, that gives m³")
        takes("volume", function, depth="the depth, m")
    return [Scar(None, function) for function in functions]


def each_support(name: str, value: Any, supports: tuple[str, ...]) -> list[Any]:
    """A value of each support: one for all, or {support: value}."""
    if not isinstance(value, Mapping):
        return [value] * len(supports)
    if set(value) != set(supports):
        raise UserError(f"{name}: must have {', '.join(supports)}, not {', '.join(map(str, value)) or 'nothing'}")
    return [value[support] for support in supports]
