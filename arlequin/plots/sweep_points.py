"""Parameters, scalars, series and states of the points of a sweep, for its figures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.plots.style import shortened
from arlequin.results.conventions import typeset_unit

if TYPE_CHECKING:
    import xarray

T = TypeVar("T", bound=Callable[..., Any])

POINT = "point"  # the dimension of scattered points
ABOUT = ("message", "seconds", "finished")  # of each point, not of what was computed
_LAST = ("energy_", "balance", "wall_time")
FAILED, MISSING, WITHOUT = "failed", "not computed", "no value"


def of_sweep(function: T) -> T:
    """Decorator of a function of a sweep's dataset: its first argument is checked, its call as by `checked_call`."""
    called = checked_call(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if args or "dataset" in kwargs:
            _check_dataset(args[0] if args else kwargs["dataset"])
        return called(*args, **kwargs)

    return checked  # type: ignore[return-value]


def _check_dataset(dataset: Any) -> None:
    """Raise `UserTypeError` for what is no dataset, such as the path of a sweep."""
    import xarray

    if isinstance(dataset, str | Path):
        rule = f"is a path: open it with arlequin.open_sweep({str(dataset)!r})"
        raise UserTypeError.parameter("dataset", dataset, rule)
    checks.instance("dataset", dataset, xarray.Dataset, "must be the xarray.Dataset of a sweep")


def dimensions(dataset: xarray.Dataset) -> tuple[str, ...]:
    """The dimensions of the sweep itself; those of series come after them."""
    if "message" not in dataset:
        raise UserError("the dataset has no `message`: not a sweep, or not a whole one", code=1)
    return tuple(str(dim) for dim in dataset["message"].dims)


def parameters(dataset: xarray.Dataset) -> tuple[str, ...]:
    """Names of the parameters: dimensions, or coordinates of scattered points."""
    dims = dimensions(dataset)
    if dims != (POINT,):
        return dims
    return tuple(str(name) for name, c in dataset.coords.items() if c.dims == dims and name != POINT)


def scalars(dataset: xarray.Dataset) -> tuple[str, ...]:
    """Names of the scalars; those common to all runs, as energies, last."""
    dims = set(dimensions(dataset))
    names = [str(name) for name, v in dataset.data_vars.items() if set(v.dims) == dims and name not in ABOUT]
    return tuple(sorted(names, key=lambda name: name.startswith(_LAST)))


def series(dataset: xarray.Dataset) -> tuple[str, ...]:
    """Names of variables with one further dimension."""
    dims = set(dimensions(dataset))
    return tuple(str(name) for name, v in dataset.data_vars.items() if len(v.dims) == len(dims) + 1)


def variable(dataset: xarray.Dataset, name: str) -> xarray.DataArray:
    """A scalar, a series or a parameter by its name."""
    known = (*parameters(dataset), *scalars(dataset), *series(dataset), "seconds")
    if name not in known or name not in dataset.variables:
        messages = dataset["message"].values.ravel() if "message" in dataset else np.zeros(0, dtype=str)
        empty = messages.size and not scalars(dataset) and not series(dataset) and all(messages)
        why = f": all points failed or are missing, the first: {messages[0]}" if empty else ""
        raise UserError(f"{name}: not in the sweep; there are {', '.join(known)}{why}")
    return dataset[name]


def along(dataset: xarray.Dataset) -> xarray.Dataset:
    """Scattered points of one parameter as a sweep along it; series without dimensions of one place."""
    names, swept = parameters(dataset), dimensions(dataset)
    single = [dim for dim, size in dataset.sizes.items() if size == 1 and dim not in swept]
    dataset = dataset.squeeze(single, drop=True)
    return dataset.swap_dims({POINT: names[0]}) if dimensions(dataset) == (POINT,) and len(names) == 1 else dataset


def ordered(dataset: xarray.Dataset, names: tuple[str, ...]) -> xarray.Dataset:
    """With numbers on those dimensions in rising order."""
    numbers = [name for name in names if name in dataset.coords and numeric(dataset[name])]
    return dataset.sortby(numbers) if numbers else dataset


def states(dataset: xarray.Dataset) -> xarray.DataArray:
    """Of each point: "" where it was computed, "failed" or "not computed"."""
    if "finished" not in dataset:
        raise UserError("the dataset has no `finished`: not a sweep, or not a whole one", code=1)
    messages = dataset["message"]
    finished = dataset["finished"].transpose(*messages.dims).values
    # whatever the text of a failure is
    texts = np.where(finished, np.where(messages.values.astype(object) == "", "", FAILED), MISSING)
    return messages.copy(data=texts.astype(str))


def counts_text(dataset: xarray.Dataset) -> str:
    """«4 of 6 computed, 1 failed, 1 not computed»."""
    point_states = states(dataset).values
    counts = {state: int((point_states == state).sum()) for state in ("", FAILED, MISSING)}
    lost = [f"{counts[state]} {state}" for state in (FAILED, MISSING) if counts[state]]
    return ", ".join([f"{counts['']} of {point_states.size} computed", *lost])


def state_of(dataset: xarray.Dataset, name: str) -> xarray.DataArray:
    """As `states`, and "no value" where a scalar of a computed point is not a number."""
    point_states = states(dataset)
    values = dataset[name].transpose(*point_states.dims)
    return point_states.copy(
        data=np.where((point_states.values == "") & ~np.isfinite(values.values), WITHOUT, point_states.values)
    )


def table(dataset: xarray.Dataset) -> dict[str, NDArray[Any]]:
    """Every point of the sweep as a row: parameters, scalars, seconds and message by name, each (k,)."""
    dims = dimensions(dataset)
    names = [*parameters(dataset), *scalars(dataset), *(name for name in ABOUT[:2] if name in dataset)]
    like = dataset["message"]
    return {name: dataset[name].broadcast_like(like).transpose(*dims).values.ravel() for name in names}


def fixed(dataset: xarray.Dataset) -> str:
    """Values of selected parameters, «cells = 20, velocity = 10 m/s»: scalar coordinates."""
    chosen = {str(name): c for name, c in dataset.coords.items() if not c.dims and name != POINT}
    values = (f"{name} = {shortened(value_with_unit(c.values[()], c.attrs))}" for name, c in chosen.items())
    return shortened(", ".join(values), 200)


def value_with_unit(value: Any, about: Mapping[Any, Any]) -> str:
    """One value with its unit: «0.5 mm», «true», «none»."""
    unit = str(about.get("units", ""))
    return f"{text(value)} {typeset_unit(unit)}" if unit not in ("", "1") and is_number(value) else text(value)


def text(value: Any) -> str:
    """A value as it would be typed."""
    if value is None or value != value:
        return "none"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool) and value == value


def numeric(coordinate: xarray.DataArray) -> bool:
    """Whether a parameter is numeric at all points."""
    return coordinate.dtype.kind in "iuf" and bool(np.isfinite(coordinate.values).all())
