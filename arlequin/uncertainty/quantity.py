"""The quantity of a run whose uncertainty is asked for, as a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from arlequin.models.errors import UserError, UserTypeError
from arlequin.results.scalar import Scalar
from arlequin.sweeps.quantity import Quantity, completed, is_table, quantity_of

RULE = "must be the name of a number or a path of the result, a function of the result, or None"


@dataclass(frozen=True)
class Evaluation:
    """The function of a sample that is sent to the processes: parameters → numbers, the quantity among them.

    study: gives an `arlequin.Study`, which is run, a result, a mapping of names to numbers, or a number. quantity:
    a function of what the study gives, after its run; or text: the name of a number, or the path of a variable of the
    result, whose mean over the time is taken, Σ y_n Δt_n / Σ Δt_n over the steps n ≥ 1; None for a study that gives a
    number.
    """

    study: Callable[..., Any]
    quantity: Quantity

    @property
    def name(self) -> str:
        """Name of the quantity among the numbers."""
        if callable(self.quantity):
            return getattr(self.quantity, "__name__", "quantity").strip("<>") or "quantity"
        return "value" if self.quantity is None else self.quantity.strip("/").replace("/", ".")

    def __call__(self, **point: Any) -> dict[str, Any]:
        output = completed(self.study(**point))
        if is_table(output) and not callable(self.quantity):
            numbers = {name: value for name, value in output.items() if not getattr(value, "ndim", 0)}
            if self.quantity not in numbers:
                raise UserError.parameter("quantity", self.quantity, f"the study gives {', '.join(numbers) or 'none'}")
            return numbers  # the store of the samples has them all
        return {self.name: _number(quantity_of(output, self.quantity, "quantity"))}


def _number(quantity: Any) -> Any:
    """A number or a Scalar; `UserTypeError` for another object."""
    if isinstance(quantity, Scalar):
        return quantity
    if isinstance(quantity, xarray.DataArray) and not quantity.ndim:
        return quantity
    value = np.asarray(quantity)
    if value.ndim or value.dtype.kind not in "biuf":
        raise UserTypeError.parameter("quantity", quantity, "must be a number")
    return float(value)
