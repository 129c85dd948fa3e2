"""The points of a sweep as one xarray Dataset over its parameters."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.results.bounds import RATIO
from arlequin.results.conventions import described, of_evaluation
from arlequin.sweeps.plan import Plan, Point, Value, key, shown
from arlequin.sweeps.point import PointOutcome, Series

if TYPE_CHECKING:
    import xarray

MISSING = "not computed"
_FREE_NUMBERS = 5_000_000  # size of an array over all points that is always allowed
_LONG_TEXTS = 4_000_000  # characters above which texts are not padded to the longest
LEFT_OUT = "left_out"  # attribute of a series: points where its dimensions are not those at the first point, and these


def left_out(dataset: xarray.Dataset) -> list[tuple[str, str]]:
    """Names of the series that had other dimensions at some points than at the first, and where."""
    return [(str(name), array.attrs[LEFT_OUT]) for name, array in dataset.data_vars.items() if LEFT_OUT in array.attrs]


class SweepWarning(UserWarning):
    """Warning of outcomes of a sweep that its dataset cannot represent."""


def assemble(plan: Plan, outcomes: Mapping[str, PointOutcome], versions: Sequence[Sequence[str]]) -> xarray.Dataset:
    """Dataset of a sweep; outcomes: of the finished points, by the points' keys."""
    import xarray

    points = plan.points()
    point_outcomes = [outcomes.get(key(point)) for point in points]
    variables: dict[str, Any] = {}
    scalars, coords = _scalars(point_outcomes), _coordinates(plan)
    used_names = {"message", "seconds", "finished", *plan.dims, *coords}
    arrays = _all_series(point_outcomes, points, plan, coords, used_names, {name for name, _, _ in scalars})
    value_count = sum(len(o.scalars) for o in point_outcomes if o is not None)
    _check_size("the numbers", len(scalars) * len(points), value_count)
    for name, unit, text in scalars:
        numbers = [o.scalars[name].value if o is not None and name in o.scalars else np.nan for o in point_outcomes]
        variables[_new(name, "result", used_names)] = (plan.dims, _shaped(numbers, plan), described(unit, text or name))
    variables |= arrays
    messages = [MISSING if o is None else o.message for o in point_outcomes]
    seconds = [np.nan if o is None else o.seconds for o in point_outcomes]
    variables["message"] = (plan.dims, _shaped(messages, plan), {"long_name": "why the point failed"})
    attrs = {"units": "s", "long_name": "wall time of the point"}
    variables["seconds"] = (plan.dims, _shaped(seconds, plan), attrs)
    attrs = {"long_name": "whether the point was computed, or has failed"}
    variables["finished"] = (plan.dims, _shaped([o is not None for o in point_outcomes], plan), attrs)
    attributes = {
        "kind": "sweep",
        "case": plan.name,
        "parameters": json.dumps(dict(plan.fixed), ensure_ascii=False),
        "version": ", ".join(dict.fromkeys(version for version, _ in versions)),
        "commit": ", ".join(dict.fromkeys(commit for _, commit in versions)),
        **of_evaluation(f"sweep of {plan.name}", *(version for version, _ in versions)),
    }
    return xarray.Dataset(variables, coords, attributes)


def _scalars(outcomes: Sequence[PointOutcome | None]) -> list[tuple[str, str, str]]:
    """Name, unit and text of every scalar, of the first point that has it."""
    first: dict[str, tuple[str, str, str]] = {}
    for outcome in outcomes:
        for name, scalar in outcome.scalars.items() if outcome is not None else ():
            first.setdefault(name, (name, scalar.unit, scalar.text))
    return list(first.values())


def _coordinates(plan: Plan) -> dict[str, Any]:
    """The parameters on their dimensions."""
    coords = {}
    for axis in plan.axes:
        values = _array(axis.values)
        attributes = described(axis.unit, axis.text or axis.name, values.dtype.kind)
        coords[axis.name] = "point" if plan.scattered else axis.name, values, attributes
    return coords


def _array(values: Sequence[Value]) -> NDArray[Any]:
    """Values of one parameter: numbers, with nan for None; bools; else texts."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return np.array(values)
    if kinds <= {int, float, type(None)} and kinds != {type(None)}:
        return np.array([np.nan if value is None else value for value in values])
    texts = ["none" if value is None else str(value) for value in values]
    longest = max(map(len, texts), default=0)
    return np.array(texts, dtype=str if longest * len(texts) < _LONG_TEXTS else object)


def _check_size(what: str, size: int, value_count: int) -> None:
    """UserError where an array over all points has many times as many numbers as the points returned."""
    if size > _FREE_NUMBERS + RATIO * value_count:
        raise UserError(f"{what} of all points are {size:,} numbers, of which there are {value_count:,}", code=1)


def _shaped(values: Sequence[Any], plan: Plan) -> NDArray[Any]:
    return np.array(values).reshape(plan.shape)


def _new(name: str, ending: str, used_names: set[str], reserved: Collection[str] = ()) -> str:
    """The name, with the ending and a number if it is used or reserved; it is added to `used_names`."""
    candidates = (f"{name}_{ending}{n or ''}" for n in itertools.chain([0], itertools.count(2)))
    new_name = next(new for new in itertools.chain([name], candidates) if new not in used_names and new not in reserved)
    used_names.add(new_name)
    return new_name


@dataclass(frozen=True)
class _Column:
    """A series at all points; compatible: None where a point lacks it, or has it with other dimensions than the first.

    first_shape: shape and point of the first series; left_out: the same for each series of other dimensions.
    """

    name: str
    first: Series
    compatible: tuple[Series | None, ...]
    first_shape: str
    left_out: tuple[str, ...]

    def attributes(self) -> dict[str, str]:
        """Attributes of the first series; `left_out` and a `SweepWarning` if series of some points are left out."""
        if not self.left_out:
            return self.first.attributes
        more = f" and at {len(self.left_out) - 1} more" if len(self.left_out) > 1 else ""
        where = f"{self.name}: {self.left_out[0]}{more}, but {self.first_shape}"
        line = f"{where}: left out of the dataset; a store keeps it in the point's own file"
        warnings.warn(line, SweepWarning, stacklevel=2)
        return {**self.first.attributes, LEFT_OUT: f"{'; '.join(self.left_out)}; but {self.first_shape}"}


def _all_series(
    outcomes: Sequence[PointOutcome | None],
    points: Sequence[Point],
    plan: Plan,
    coords: dict[str, Any],
    used_names: set[str],
    scalars: Collection[str],
) -> dict[str, Any]:
    """The series of all points in one array each, padded with nan; adds the coordinates of their dimensions.

    used_names: of variables and dimensions, to which new ones are added; scalars: names of the scalars.

    A dimension has the coordinate of the longest series if those of the others are its first values; else, as
    with different time steps, each series has one at each point: `NAME_DIM` over the parameters and the dimension.
    """
    names = dict.fromkeys(name for outcome in outcomes if outcome is not None for name in outcome.series)
    columns = {name: _column(name, outcomes, points) for name in names}
    all_series = [series for column in columns.values() for series in column.compatible if series is not None]
    dims = list(dict.fromkeys(dim for series in all_series for dim in series.dims))
    dim_names = {dim: _new(dim, "series", used_names) for dim in dims}
    used_names.add("point")  # reserved, although a series may have this dimension
    sizes = {dim: max(s.values.shape[s.dims.index(dim)] for s in all_series if dim in s.dims) for dim in dims}
    common = set()
    for dim in dims:
        ticks = [series.coords[dim] for series in all_series if dim in series.coords]
        longest = max(ticks, key=len, default=np.zeros(0))
        if len(longest) == sizes[dim] and all(np.array_equal(t, longest[: len(t)]) for t in ticks):
            attributes = next(s.coord_attributes.get(dim, {}) for s in all_series if dim in s.coords)
            coords[dim_names[dim]] = (dim_names[dim], longest, attributes)
            common.add(dim)
    variable_names = {
        name: _new(name, "series" if name in scalars else "result", used_names, scalars) for name in columns
    }
    variables = {}
    for name, column in columns.items():
        first = column.first
        dim_labels = tuple(dim_names[dim] for dim in first.dims)
        padded_shape = tuple(sizes[dim] for dim in first.dims)
        value_count = sum(series.values.size for series in column.compatible if series is not None)
        _check_size(f"the series {name}", len(points) * math.prod(max(n, 1) for n in padded_shape), value_count)
        rows = np.array([_padded(None if s is None else s.values, padded_shape) for s in column.compatible])
        variables[variable_names[name]] = (
            (*plan.dims, *dim_labels),
            rows.reshape(plan.shape + padded_shape),
            column.attributes(),
        )
        for dim in first.dims:
            if dim in common or first.coords.get(dim, np.array("")).dtype.kind not in "iuf":
                continue
            rows = np.array(
                [_padded(None if s is None else s.coords.get(dim), (sizes[dim],)) for s in column.compatible]
            )
            attributes = first.coord_attributes.get(dim, {})
            coords[_new(f"{variable_names[name]}_{dim_names[dim]}", "places", used_names)] = (
                (*plan.dims, dim_names[dim]),
                rows.reshape((*plan.shape, sizes[dim])),
                attributes,
            )
    return variables


def _column(name: str, outcomes: Sequence[PointOutcome | None], points: Sequence[Point]) -> _Column:
    series_of_points = [None if outcome is None else outcome.series.get(name) for outcome in outcomes]
    index, first = next((n, series) for n, series in enumerate(series_of_points) if series is not None)
    compatible = tuple(s if s is not None and s.dims == first.dims else None for s in series_of_points)
    incompatible = [(points[n], s) for n, s in enumerate(series_of_points) if s is not None and compatible[n] is None]
    left_out = tuple(f"{_shape(series)} at {shown(point)}" for point, series in incompatible)
    return _Column(name, first, compatible, f"{_shape(first)} at {shown(points[index])}", left_out)


def _shape(series: Series) -> str:
    """«(time: 5, component: 2)»."""
    return f"({', '.join(f'{dim}: {n}' for dim, n in zip(series.dims, series.values.shape, strict=True))})"


def _padded(values: NDArray[Any] | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An array padded with nan."""
    full = np.full(shape, np.nan)
    if values is not None:
        full[tuple(slice(n) for n in values.shape)] = values
    return full
