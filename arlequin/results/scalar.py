"""Scalar results of a study, with unit and description."""

from __future__ import annotations

from dataclasses import dataclass

from arlequin.models.errors import UserError


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
        try:
            value = float(self.value)
        except (TypeError, ValueError):
            raise UserError.parameter("value", self.value, "must be a number") from None
        object.__setattr__(self, "value", value)
