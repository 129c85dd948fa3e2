"""The points of a sweep as one xarray Dataset over its parameters."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arlequin.sweep_plan import Plan, Value, key
from arlequin.sweep_point import Outcome

if TYPE_CHECKING:
    import xarray

MISSING = "not computed"


def assemble(plan: Plan, outcomes: Mapping[str, Outcome], versions: Sequence[Sequence[str]]) -> xarray.Dataset:
    """outcomes: of the points that are finished, by the points' keys."""
    import xarray

    found = [outcomes.get(key(point)) for point in plan.points()]
    variables: dict[str, Any] = {}
    scalars, coords = _scalars(found), _coordinates(plan)
    taken = {"message", "seconds", "finished", *plan.dims, *coords}
    arrays = _all_series(found, plan, coords, taken, {name for name, _, _ in scalars})
    for name, unit, text in scalars:
        numbers = [o.scalars[name].value if o is not None and name in o.scalars else np.nan for o in found]
        about = {"units": unit, "long_name": text or name}
        variables[_new(name, "result", taken)] = (plan.dims, _shaped(numbers, plan), about)
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
    }
    return xarray.Dataset(variables, coords, attributes)


def _scalars(found: Sequence[Outcome | None]) -> list[tuple[str, str, str]]:
    """Name, unit and text of every scalar, of the first point that has it."""
    first: dict[str, tuple[str, str, str]] = {}
    for outcome in found:
        for name, scalar in outcome.scalars.items() if outcome is not None else ():
            first.setdefault(name, (name, scalar.unit, scalar.text))
    return list(first.values())


def _coordinates(plan: Plan) -> dict[str, Any]:
    """The parameters on their dimensions."""
    return {
        axis.name: (
            "point" if plan.scattered else axis.name,
            _array(axis.values),
            {"units": axis.unit or "1", "long_name": axis.text or axis.name},
        )
        for axis in plan.axes
    }


def _array(values: Sequence[Value]) -> NDArray[Any]:
    """Values of one parameter: numbers, with nan for None; bools; else texts."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return np.array(values)
    if kinds <= {int, float, type(None)} and kinds != {type(None)}:
        return np.array([np.nan if value is None else value for value in values])
    return np.array(["none" if value is None else str(value) for value in values])


def _shaped(values: Sequence[Any], plan: Plan) -> NDArray[Any]:
    return np.array(values).reshape(plan.shape)


def _new(name: str, ending: str, taken: set[str], beside: Collection[str] = ()) -> str:
    """The name, which is taken by this; with the ending, and a number, where it is taken already or stands beside."""
    others = (f"{name}_{ending}{n or ''}" for n in itertools.chain([0], itertools.count(2)))
    found = next(new for new in itertools.chain([name], others) if new not in taken and new not in beside)
    taken.add(found)
    return found


def _all_series(
    found: Sequence[Outcome | None], plan: Plan, coords: dict[str, Any], taken: set[str], scalars: Collection[str]
) -> dict[str, Any]:
    """The series of all points in one array each, padded with nan; adds the coordinates of their own dimensions.

    taken: names that are given, to which it adds its own; scalars: those that scalars would have.

    A dimension has the coordinate of the longest series where the others' are a beginning of it; else, as with time
    steps that differ, each series has its own at each point: `NAME_DIM` over the parameters and the dimension.
    """
    given = [outcome.series if outcome is not None else {} for outcome in found]
    names = list(dict.fromkeys(name for point in given for name in point))
    whole = [series for point in given for series in point.values()]
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
    called = {name: _new(name, "series" if name in scalars else "result", taken, scalars) for name in names}
    variables = {}
    for name in names:
        first = next(point[name] for point in given if name in point)
        # what has other dimensions than at the first point has no place in its array
        column = [s if s is not None and s.dims == first.dims else None for s in (p.get(name) for p in given)]
        places = tuple(own[dim] for dim in first.dims)
        full = tuple(sizes[dim] for dim in first.dims)
        rows = np.array([_padded(None if s is None else s.values, full) for s in column])
        variables[called[name]] = ((*plan.dims, *places), rows.reshape(plan.shape + full), first.attributes)
        for dim in first.dims:
            if dim in common or first.coords.get(dim, np.array("")).dtype.kind not in "iuf":
                continue
            rows = np.array([_padded(None if s is None else s.coords.get(dim), (sizes[dim],)) for s in column])
            about = first.coord_attributes.get(dim, {})
            coords[_new(f"{called[name]}_{own[dim]}", "places", taken)] = (
                (*plan.dims, own[dim]),
                rows.reshape((*plan.shape, sizes[dim])),
                about,
            )
    return variables


def _padded(values: NDArray[Any] | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An array at its full length, nan where it has nothing."""
    full = np.full(shape, np.nan)
    if values is not None:
        full[tuple(slice(n) for n in values.shape)] = values
    return full
