"""Work rates of supports at given worn depths: numbers, a result, or a study that is run with the gaps of these depths.

The work rate of a support, W, is the mean of Σ F_n ‖v_t‖ over a stationary record: spells without contact have none, so
that impacts and slides between them count for what they rub.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from arlequin.models.checks import finite
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import takes
from arlequin.models.types import Array
from arlequin.results.wear import mean_power
from arlequin.sweeps.quantity import completed, is_table

ONLY = ("support",)  # name of the support of a study that names none
_RULE = "must be W, {support: W}, a result, or a function of the worn depth that gives one of them or a study"


@dataclass(frozen=True)
class WorkRates:
    """Work rates (s,), W, at worn depths (s,), m: `evaluate` is the user's number, result or function.

    named: whether the user names the supports, so that depths are passed as {support: m}; start: of the mean of a
    result, s.
    """

    evaluate: Any
    supports: tuple[str, ...]
    named: bool
    start: float

    @classmethod
    def of(cls, work_rate: Any, supports: Any, start: float) -> WorkRates:
        """Checked; supports: names, or None: those of a mapping or of the result's interfaces with friction."""
        if supports is not None:
            if isinstance(supports, str) or not all(isinstance(name, str) for name in supports) or not supports:
                raise UserTypeError.parameter("supports", supports, "must be a list of names")
            names = tuple(supports)
        elif is_table(work_rate):
            names = tuple(map(str, work_rate))
        elif isinstance(work_rate, xarray.DataTree):
            names = _rubbing(work_rate)
        else:
            names = ONLY
        if not names or len(set(names)) < len(names):
            raise UserError.parameter("supports", supports, "must name at least one support, each once")
        if callable(work_rate):
            takes("work_rate", work_rate, depth="the worn depth, m")
        else:
            _value("work_rate", work_rate, names, start)
        return cls(work_rate, names, names != ONLY, start)

    @property
    def constant(self) -> bool:
        """Whether the rates do not depend on the depth."""
        return not callable(self.evaluate)

    def __call__(self, depth: Array) -> Array:
        function: Callable[[Any], Any] = self.evaluate
        if self.constant:
            return _value("work_rate", self.evaluate, self.supports, self.start)
        given = dict(zip(self.supports, depth.tolist(), strict=True)) if self.named else float(depth[0])
        output = completed(function(given))
        return _value(f"work_rate at the depth {float(depth.max()):g} m", output, self.supports, self.start)


def _rubbing(result: xarray.DataTree) -> tuple[str, ...]:
    """Interfaces of a result that have a work rate."""
    groups = result["interface"].children if "interface" in result.children else {}
    names = tuple(str(name) for name, group in groups.items() if "wear_power" in group.data_vars)
    if not names:
        raise UserError("work_rate: the result has no interface with friction")
    return names


def _value(name: str, output: Any, supports: tuple[str, ...], start: float) -> Array:
    """Work rates (s,), W, of what a user gives, checked."""
    if isinstance(output, xarray.DataTree):
        end = float(output.dataset["time"].values[-1])
        rubbing = _rubbing(output) if supports == ONLY else supports
        if len(rubbing) > 1 and supports == ONLY:
            raise UserError(f"supports: must be given, of {', '.join(rubbing)}")
        values = [mean_power(output, support, start, end) for support in rubbing]
    elif is_table(output):
        if set(output) != set(supports):
            raise UserError(f"{name}: must be of {', '.join(supports)}, not {', '.join(map(str, output)) or 'nothing'}")
        values = [_number(f"{name}[{support!r}]", output[support]) for support in supports]
    elif len(supports) > 1:
        raise UserTypeError.parameter(name, output, f"must be {{support: W}} of {', '.join(supports)}")
    else:
        values = [_number(name, output)]
    rates = np.array(values)
    if (rates < 0.0).any():
        raise UserError.parameter(name, float(rates.min()), "must not be negative, W")
    return rates


def _number(name: str, value: Any) -> float:
    value = getattr(value, "value", value) if not isinstance(value, np.ndarray | xarray.DataArray) else value
    if isinstance(value, xarray.DataArray) and not value.ndim:
        value = value.item()
    if not np.isscalar(value) and not isinstance(value, np.ndarray):
        raise UserTypeError.parameter(name, value, _RULE)
    return finite(name, value)
