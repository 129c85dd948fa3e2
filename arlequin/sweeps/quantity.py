"""The quantity of the output of a study, as `convergence` and the functions of `uncertainty` take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from arlequin.models.errors import UserError
from arlequin.models.signatures import meant
from arlequin.results.time_mean import time_mean
from arlequin.run.simulate import Study

Quantity = str | Callable[[Any], Any] | None


def completed(output: Any) -> Any:
    """The output of a study; of an `arlequin.Study` the result of its run."""
    return output.run(progress=False) if isinstance(output, Study) else output


def is_table(output: Any) -> bool:
    """Whether an output is a mapping of names to numbers, not a result."""
    import xarray

    return isinstance(output, Mapping) and not isinstance(output, xarray.DataTree | xarray.Dataset)


def quantity_of(output: Any, quantity: Quantity, label: str) -> Any:
    """A function of the output; a name of a mapping; the mean over the time of a variable of a result, by its path; the
    output itself where the quantity is None. label: the parameter, for errors."""
    import xarray

    if callable(quantity):
        return quantity(output)
    if is_table(output):
        if quantity not in output:
            names = ", ".join(map(str, output)) or "none"
            raise UserError(
                f"{label}: the study gives no {quantity!r}{meant(quantity, list(output))}; there are {names}"
            )
        return output[quantity]
    if isinstance(output, xarray.DataTree | xarray.Dataset):
        if quantity is None:
            raise UserError(f"{label}: must be given: the study gives a result, not a number")
        return time_mean(output, quantity, label)
    if quantity is not None:
        raise UserError.parameter(label, quantity, "must be None: the study gives a number, without names")
    return output
