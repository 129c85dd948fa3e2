"""Runs of a sweep that differ in their random numbers alone: their mean, and a band about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.plots import sweep_points

if TYPE_CHECKING:
    import xarray

Band = Literal["deviation", "confidence", "range"]

BANDS = {
    "deviation": "± standard deviation",
    "confidence": "95 % confidence interval of the mean",
    "range": "smallest to largest",
}
LOW, HIGH = "band_low", "band_high"
_NAMES = ("seed", "replicate", "replica", "repetition", "repeat", "realisation", "realization", "trial")
_LEVEL = 0.95


class Replicated(NamedTuple):
    """Means over a dimension of replicates: the dataset without it, with the ends of the band as further variables,
    and what means and bands are."""

    dataset: xarray.Dataset
    name: str
    band: str


def is_replicate(dimension: str) -> bool:
    """Whether a parameter numbers runs that differ in their random numbers alone, by its name.

    >>> [is_replicate(name) for name in ("seed", "seeds", "noise_seed", "Realisation", "speed", "trials")]
    [True, True, True, True, False, True]
    """
    words = dimension.lower().split("_")
    return any(word in (name, f"{name}s") for word in words for name in _NAMES)


def replicates_of(dataset: xarray.Dataset, name: str, used: tuple[str | None, ...]) -> str | None:
    """The dimension of a variable that numbers replicates, of two values or more and not otherwise used; None if there
    is none, nothing besides, or where the places of a series are not the same for all."""
    if dataset[name].dtype.kind not in "iuf":
        return None
    dims = [str(dim) for dim in dataset[name].dims]
    candidates = [dim for dim in dims if is_replicate(dim) and dim not in used and dataset.sizes[dim] > 1]
    if not candidates or len(dims) == 1:
        return None
    try:
        _places(dataset, name, candidates[0])
    except UserError:
        return None
    return candidates[0]


def averaged(dataset: xarray.Dataset, name: str, over: str, band: Band = "deviation") -> Replicated:
    """Mean of a scalar or a series over the n runs along `over` that have a value, and its band:

        mean ± s,   mean ± t s / √n,   least … largest,   s² = Σ (x − mean)² / (n − 1)

    with the quantile t of Student's distribution with n − 1 degrees of freedom. Bands are nan where n = 1 leaves s
    unknown. A point has failed, or is missing, where all of its runs have no value.
    """
    variable = dataset[name]
    axis = variable.get_axis_num(over)
    values = np.moveaxis(variable.values.astype(float), axis, -1)
    there = np.isfinite(values)
    count = there.sum(axis=-1)
    mean, low, high = _statistics(np.where(there, values, 0.0), there, count, band)
    remaining_dims: Any = tuple(dim for dim in variable.dims if dim != over)
    rest = dataset.drop_vars([n for n in dataset.variables if over in dataset[n].dims])
    rest = rest.assign({LOW: (remaining_dims, low), HIGH: (remaining_dims, high), **_states(dataset, over)})
    rest = rest.assign({name: (remaining_dims, mean, variable.attrs)})
    rest = rest.assign_coords(_places(dataset, name, over))
    least, most = int(count[count > 0].min(initial=values.shape[-1])), int(count.max(initial=0))
    runs = f"{most}" if least >= most else f"{least} to {most}"
    return Replicated(rest, f"mean of {runs} runs ({over})", f"band: {BANDS[band]}")


def _statistics(values: Array, there: Any, count: Any, band: Band) -> tuple[Array, Array, Array]:
    """Mean and ends of the band (…) of values (…, n), those that are `there`."""
    from scipy.stats import t as student

    with np.errstate(invalid="ignore", divide="ignore"):
        mean = values.sum(axis=-1) / count
        if band == "range":
            low = np.where(there, values, np.inf).min(axis=-1)
            high = np.where(there, values, -np.inf).max(axis=-1)
            return mean, np.where(count > 0, low, np.nan), np.where(count > 0, high, np.nan)
        away = np.where(there, values - mean[..., None], 0.0)
        half = np.sqrt((away**2).sum(axis=-1) / (count - 1.0))
        if band == "confidence":
            half = half * student.ppf(0.5 + 0.5 * _LEVEL, np.maximum(count - 1, 1)) / np.sqrt(count)
    half = np.where(count > 1, half, np.nan)
    return mean, mean - half, mean + half


def _states(dataset: xarray.Dataset, over: str) -> dict[str, Any]:
    """Messages and whether finished: of a run with a value, else of one that failed, else of a missing one."""
    messages = dataset["message"]
    if over not in messages.dims:
        return {"message": messages, "finished": dataset["finished"]}
    states = sweep_points.states(dataset).values
    axis = messages.get_axis_num(over)
    rank = np.where(states == "", 0, np.where(states == sweep_points.FAILED, 1, 2))
    best = np.expand_dims(rank.argmin(axis=axis), axis)
    dims: Any = tuple(dim for dim in messages.dims if dim != over)
    finished = dataset["finished"].transpose(*messages.dims).values
    return {
        key: (dims, np.take_along_axis(values, best, axis).squeeze(axis))
        for key, values in (("message", messages.values), ("finished", finished))
    }


def _places(dataset: xarray.Dataset, name: str, over: str) -> dict[str, Any]:
    """The coordinates of a series that are given for each run, where they are the same for all along `over`."""
    coordinates: dict[str, Any] = {}
    for key in (f"{name}_{dim}" for dim in dataset[name].dims):
        if key not in dataset.coords or over not in dataset[key].dims:
            continue
        coordinate = dataset[key]
        values = np.moveaxis(coordinate.values.astype(float), coordinate.get_axis_num(over), 0)
        common = np.max(np.where(np.isfinite(values), values, -np.inf), axis=0)
        common = np.where(np.isfinite(common), common, np.nan)
        if not (np.isclose(values, common, rtol=1e-9, atol=0.0) | ~np.isfinite(values)).all():
            raise UserError(
                f"{key}: the runs along {over} have values at places of their own: no mean of them is drawn: take "
                f"hue='{over}', or choose one, as in dataset.sel({over}=…)"
            )
        coordinates[key] = tuple(dim for dim in coordinate.dims if dim != over), common, coordinate.attrs
    return coordinates
