"""Scalar results of a study, with unit and description."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

from arlequin.models.checks import check_fields, instance
from arlequin.models.errors import UserError, UserTypeError


@dataclass(frozen=True)
class Scalar:
    """A scalar result of a run, as a sweep collects it.

    value: nan where undefined (no impact, no peak). unit: SI, "1" if dimensionless. text: label of an axis.

    >>> Scalar(7.9e6, "N", "peak contact force")
    Scalar(value=7900000.0, unit='N', text='peak contact force')
    """

    value: float
    unit: str = "1"
    text: str = ""

    def __post_init__(self) -> None:
        check_fields(self, value=_real)
        for name in ("unit", "text"):
            instance(name, getattr(self, name), str, "must be a text")


def _real(name: str, value: Any) -> float:
    """A real number, also nan, inf, a bool, or one of NumPy or xarray without dimensions."""
    if not isinstance(value, numbers.Real):
        dtype = getattr(value, "dtype", None)
        if getattr(value, "ndim", 1) or getattr(dtype, "kind", "") not in "biuf":
            raise UserTypeError.parameter(name, value, "must be a number")
    try:
        return float(value)
    except OverflowError:
        raise UserError.parameter(name, value, "must be of a size of at most 1.8e308") from None
