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
_FREE_NUMBERS = 5_000_000  # of an array over all points, whatever the points have given
_LONG_TEXTS = 4_000_000  # characters, from which texts are not padded to the longest
LEFT_OUT = "left_out"  # attribute of a series: where it had other dimensions than at the first point, and which


def left_out(dataset: xarray.Dataset) -> list[tuple[str, str]]:
    """Names of the series that had other dimensions at some points than at the first, and where."""
    return [(str(name), array.attrs[LEFT_OUT]) for name, array in dataset.data_vars.items() if LEFT_OUT in array.attrs]


class SweepWarning(UserWarning):
    """Warning of outcomes of a sweep that its dataset cannot represent."""


def assemble(plan: Plan, outcomes: Mapping[str, PointOutcome], versions: Sequence[Sequence[str]]) -> xarray.Dataset:
    """outcomes: of the points that are finished, by the points' keys."""
    import xarray

    points = plan.points()
    found = [outcomes.get(key(point)) for point in points]
    variables: dict[str, Any] = {}
    scalars, coords = _scalars(found), _coordinates(plan)
    taken = {"message", "seconds", "finished", *plan.dims, *coords}
    arrays = _all_series(found, points, plan, coords, taken, {name for name, _, _ in scalars})
    given = sum(len(o.scalars) for o in found if o is not None)
    _check_size("the numbers", len(scalars) * len(points), given)
    for name, unit, text in scalars:
        numbers = [o.scalars[name].value if o is not None and name in o.scalars else np.nan for o in found]
        variables[_new(name, "result", taken)] = (plan.dims, _shaped(numbers, plan), described(unit, text or name))
    variables |= arrays
    messages = [MISSING if o is None else o.message for o in found]
    seconds = [np.nan if o is None else o.seconds for o in found]
    variables["message"] = (plan.dims, _shaped(messages, plan), {"long_name": "why the point failed"})
    about = {"units": "s", "long_name": "wall time of the point"}
    variables["seconds"] = (plan.dims, _shaped(seconds, plan), about)
    about = {"long_name": "whether the point was computed, or has failed"}
    variables["finished"] = (plan.dims, _shaped([o is not None for o in found], plan), about)
    attributes = {
        "kind": "sweep",
        "case": plan.name,
        "parameters": json.dumps(dict(plan.fixed), ensure_ascii=False),
        "version": ", ".join(dict.fromkeys(version for version, _ in versions)),
        "commit": ", ".join(dict.fromkeys(commit for _, commit in versions)),
        **of_evaluation(f"sweep of {plan.name}", *(version for version, _ in versions)),
    }
    return xarray.Dataset(variables, coords, attributes)


def _scalars(found: Sequence[PointOutcome | None]) -> list[tuple[str, str, str]]:
    """Name, unit and text of every scalar, of the first point that has it."""
    first: dict[str, tuple[str, str, str]] = {}
    for outcome in found:
        for name, scalar in outcome.scalars.items() if outcome is not None else ():
            first.setdefault(name, (name, scalar.unit, scalar.text))
    return list(first.values())


def _coordinates(plan: Plan) -> dict[str, Any]:
    """The parameters on their dimensions."""
    coords = {}
    for axis in plan.axes:
        values = _array(axis.values)
        about = described(axis.unit, axis.text or axis.name, values.dtype.kind)
        coords[axis.name] = "point" if plan.scattered else axis.name, values, about
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


def _check_size(what: str, size: int, given: int) -> None:
    """UserError where an array over all points has many times the numbers that the points have given."""
    if size > _FREE_NUMBERS + RATIO * given:
        raise UserError(f"{what} of all points are {size:,} numbers, of which there are {given:,}", code=1)


def _shaped(values: Sequence[Any], plan: Plan) -> NDArray[Any]:
    return np.array(values).reshape(plan.shape)


def _new(name: str, ending: str, taken: set[str], beside: Collection[str] = ()) -> str:
    """The name, which is taken by this; with the ending, and a number, where it is taken already or stands beside."""
    others = (f"{name}_{ending}{n or ''}" for n in itertools.chain([0], itertools.count(2)))
    found = next(new for new in itertools.chain([name], others) if new not in taken and new not in beside)
    taken.add(found)
    return found


@dataclass(frozen=True)
class _Column:
    """A series of all points; kept: None where a point has none, or one of other dimensions than the first's.

    place: shape of the first, and where; left_out: the same of each of other dimensions.
    """

    name: str
    first: Series
    kept: tuple[Series | None, ...]
    place: str
    left_out: tuple[str, ...]

    def about(self) -> dict[str, str]:
        """The attributes of the first; `left_out` where some are. Warns of them."""
        if not self.left_out:
            return self.first.attributes
        more = f" and at {len(self.left_out) - 1} more" if len(self.left_out) > 1 else ""
        where = f"{self.name}: {self.left_out[0]}{more}, but {self.place}"
        line = f"{where}: left out of the dataset; a store keeps it in the point's own file"
        warnings.warn(line, SweepWarning, stacklevel=2)
        return {**self.first.attributes, LEFT_OUT: f"{'; '.join(self.left_out)}; but {self.place}"}


def _all_series(
    found: Sequence[PointOutcome | None],
    points: Sequence[Point],
    plan: Plan,
    coords: dict[str, Any],
    taken: set[str],
    scalars: Collection[str],
) -> dict[str, Any]:
    """The series of all points in one array each, padded with nan; adds the coordinates of their own dimensions.

    taken: names that are given, to which it adds its own; scalars: those that scalars would have.

    A dimension has the coordinate of the longest series where the others' are a beginning of it; else, as with time
    steps that differ, each series has its own at each point: `NAME_DIM` over the parameters and the dimension.
    """
    names = dict.fromkeys(name for outcome in found if outcome is not None for name in outcome.series)
    columns = {name: _column(name, found, points) for name in names}
    whole = [series for column in columns.values() for series in column.kept if series is not None]
    dims = list(dict.fromkeys(dim for series in whole for dim in series.dims))
    own = {dim: _new(dim, "series", taken) for dim in dims}
    taken.add("point")  # of no variable, though a series may have it
    sizes = {dim: max(s.values.shape[s.dims.index(dim)] for s in whole if dim in s.dims) for dim in dims}
    common = set()
    for dim in dims:
        ticks = [series.coords[dim] for series in whole if dim in series.coords]
        longest = max(ticks, key=len, default=np.zeros(0))
        if len(longest) == sizes[dim] and all(np.array_equal(t, longest[: len(t)]) for t in ticks):
            about = next(s.coord_attributes.get(dim, {}) for s in whole if dim in s.coords)
            coords[own[dim]] = (own[dim], longest, about)
            common.add(dim)
    called = {name: _new(name, "series" if name in scalars else "result", taken, scalars) for name in columns}
    variables = {}
    for name, column in columns.items():
        first = column.first
        places = tuple(own[dim] for dim in first.dims)
        full = tuple(sizes[dim] for dim in first.dims)
        given = sum(series.values.size for series in column.kept if series is not None)
        _check_size(f"the series {name}", len(points) * math.prod(max(n, 1) for n in full), given)
        rows = np.array([_padded(None if s is None else s.values, full) for s in column.kept])
        variables[called[name]] = ((*plan.dims, *places), rows.reshape(plan.shape + full), column.about())
        for dim in first.dims:
            if dim in common or first.coords.get(dim, np.array("")).dtype.kind not in "iuf":
                continue
            rows = np.array([_padded(None if s is None else s.coords.get(dim), (sizes[dim],)) for s in column.kept])
            about = first.coord_attributes.get(dim, {})
            coords[_new(f"{called[name]}_{own[dim]}", "places", taken)] = (
                (*plan.dims, own[dim]),
                rows.reshape((*plan.shape, sizes[dim])),
                about,
            )
    return variables


def _column(name: str, found: Sequence[PointOutcome | None], points: Sequence[Point]) -> _Column:
    given = [None if outcome is None else outcome.series.get(name) for outcome in found]
    at, first = next((n, series) for n, series in enumerate(given) if series is not None)
    kept = tuple(s if s is not None and s.dims == first.dims else None for s in given)
    others = [(points[n], s) for n, s in enumerate(given) if s is not None and kept[n] is None]
    left_out = tuple(f"{_shape(series)} at {shown(point)}" for point, series in others)
    return _Column(name, first, kept, f"{_shape(first)} at {shown(points[at])}", left_out)


def _shape(series: Series) -> str:
    """«(time: 5, component: 2)»."""
    return f"({', '.join(f'{dim}: {n}' for dim, n in zip(series.dims, series.values.shape, strict=True))})"


def _padded(values: NDArray[Any] | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An array padded with nan."""
    full = np.full(shape, np.nan)
    if values is not None:
        full[tuple(slice(n) for n in values.shape)] = values
    return full
