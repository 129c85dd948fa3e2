"""Sweeps of cases: all points are validated first; each is run in memory and reduced to its scalars."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.cases.case import registry
from arlequin.cases.case.parameters import Field, as_json, by_name, make
from arlequin.models.errors import UserError
from arlequin.run.progress import PointsBar
from arlequin.sweeps.plan import Axis, Plan, axes_of, shown
from arlequin.sweeps.sweep import run_plan

if TYPE_CHECKING:
    import xarray

SPREAD = "must be values a,b,c or lo:hi:n (n ≥ 2 of them, ends included) or lo:hi:n:log"
DIGITS = 12  # digits of generated values: 0.15 instead of 0.15000000000000002


@dataclass(frozen=True)
class CasePoint:
    """Function of a sweep: maps parameters to the scalars and time series of a run.

    case: name or absolute path, loaded once in each process; fixed: parameters common to all points.
    """

    case: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    errors: bool = False
    series: tuple[str, ...] = ()

    def __call__(self, **point: Any) -> dict[str, Any]:
        from arlequin.cases.case import scalars
        from arlequin.cases.case.execution import execute

        case = _loaded(self.case)
        parameters = make(case.parameters, {**self.fixed, **point})
        result = execute(case, parameters)
        quantities: dict[str, Any] = dict(scalars.of(case, result, parameters))
        if self.errors:
            quantities |= scalars.errors(case, result, parameters)
        return quantities | {path.replace("/", "."): series_of(result, path) for path in self.series}

    def check_parameter(self, name: str, value: Any) -> None:
        """Raise `UserError` for a value outside the range of a parameter."""
        by_name(_loaded(self.case).parameters, [name])[name].parse(value)


def case_study(name: str, fixed: Mapping[str, Any]) -> CasePoint:
    """Implementation of `cases.study`."""
    _loaded.cache_clear()  # the file may have been edited since
    case = _loaded(name)
    fields_by_name = by_name(case.parameters, fixed)
    values = {key: fields_by_name[key].parse(value) for key, value in fixed.items()}
    make(case.parameters, values)
    return CasePoint(case.name, values)


def sweep_case(
    name: str,
    over: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    fixed: Mapping[str, Any],
    errors: bool = False,
    series: Sequence[str] = (),
    **how: Any,
) -> xarray.Dataset:
    """Implementation of `cases.sweep`; how: storage and execution arguments of `arlequin.sweep`."""
    function, plan = planned(name, over, fixed, errors, series)
    with contextlib.ExitStack() as stack:
        if how.get("progress") is None:
            how["progress"] = stack.enter_context(PointsBar(_loaded(name).short))
        return run_plan(function, plan, **how)


def planned(
    name: str,
    over: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    fixed: Mapping[str, Any],
    errors: bool = False,
    series: Sequence[str] = (),
) -> tuple[CasePoint, Plan]:
    """The function and the validated plan of a sweep."""
    _loaded.cache_clear()  # the file may have been edited since
    case = _loaded(name)
    if errors:
        case.function("check")
    axes, scattered = _axes(case, over)
    swept = {axis.name for axis in axes}
    fields_by_name = by_name(case.parameters, fixed)
    for key in fixed:
        if key in swept:
            raise UserError(f"{key}: both swept and fixed")
    values = {key: fields_by_name[key].parse(value) for key, value in fixed.items()}
    plan = Plan(case.name, axes, scattered, {}, {"errors": errors, "series": sorted(series)}, _source(case))
    points = plan.points()
    parameter_sets = []
    for point in points:
        try:
            parameter_sets.append(make(case.parameters, {**values, **point}))
        except UserError as error:
            raise UserError(f"{error} (at {shown(point)})", code=error.code) from error
    _check_series(case, parameter_sets[0], series)
    shared = {n: value for n, value in json.loads(as_json(parameter_sets[0])).items() if n not in swept}
    return CasePoint(case.name, values, errors, tuple(series)), replace(plan, fixed=shared)


def is_swept(field: Field, text: str) -> bool:
    """Whether a command-line text gives several values of a parameter."""
    return "," in text or (":" in text and field.kind in (float, int))


def series_of(result: xarray.DataTree, path: str) -> xarray.DataArray:
    """Time series of a result by its path, such as "interface/contact/force"."""
    group, _, name = path.strip("/").rpartition("/")
    node: Any = result
    for part in filter(None, group.split("/")):
        if part not in node.children:
            raise UserError.parameter("series", path, f"there is no such group; there are {_paths(result)}")
        node = node.children[part]
    if name not in node.data_vars:
        raise UserError.parameter("series", path, f"there is no such array; along time there are {_paths(result)}")
    array = node.to_dataset()[name]
    if "time" not in array.dims:
        raise UserError.parameter("series", path, f"is not along time; there are {_paths(result)}")
    return array.drop_vars([str(c) for c in array.coords if c not in array.dims])


def _paths(result: xarray.DataTree) -> str:
    """Paths of all time series, as text."""
    return ", ".join(
        f"{node.path}/{name}".strip("/")
        for node in result.subtree
        for name, array in node.data_vars.items()
        if "time" in array.dims
    )


def _check_series(case: registry.Case, parameters: Any, series: Sequence[str]) -> None:
    """UserError for an unknown series, found by one step of the first point."""
    if not series or not case.has("build"):
        return
    from arlequin.run.simulate import simulate

    try:
        study = case.function("build")(parameters)
        result = simulate(study.system, study.scheme, duration=study.step, step=study.step)
    except Exception:  # reported by the first point
        return
    for path in series:
        series_of(result, path)


def _axes(case: registry.Case, over: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> tuple[tuple[Axis, ...], bool]:
    """The swept parameters with validated values, units and meanings."""
    if isinstance(over, Mapping):
        fields_by_name = by_name(case.parameters, over)
        axes, scattered = axes_of({name: _values(fields_by_name[name], values) for name, values in over.items()})
    elif isinstance(over, Sequence) and not isinstance(over, str) and all(isinstance(p, Mapping) for p in over):
        fields_by_name = by_name(case.parameters, (name for point in over for name in point))
        axes, scattered = axes_of(
            [{name: fields_by_name[name].parse(v) for name, v in point.items()} for point in over]
        )
    else:
        axes, scattered = axes_of(over)  # refuses it
    return tuple(_with_meaning(axis, fields_by_name[axis.name]) for axis in axes), scattered


def _with_meaning(axis: Axis, field: Field) -> Axis:
    return replace(axis, unit=field.quantity.unit, text=field.quantity.text)


def _values(field: Field, values: Any) -> Any:
    """Values of a parameter from a list or a command-line text."""
    if not isinstance(values, str):
        values = values.tolist() if hasattr(values, "tolist") else values
        return [field.parse(value) for value in values] if isinstance(values, Sequence) else values
    if field.kind in (float, int) and ":" in values:
        return [field.parse(value) for value in _spread(field.name, values)]
    words = values.split(",")
    if len(words) > 1 and not words[-1]:  # `a,` is a list of one value
        words.pop()
    if not all(word.strip() for word in words):
        raise UserError.parameter(field.name, values, SPREAD)
    return [field.parse(word.strip()) for word in words]


def _spread(name: str, text: str) -> list[float]:
    """Values lo:hi:n, evenly or (lo:hi:n:log) geometrically spaced.

    >>> _spread("velocity", "1:100:3:log")
    [1.0, 10.0, 100.0]
    """
    words = text.split(":")
    try:
        low, high, count = float(words[0]), float(words[1]), int(words[2])
    except (ValueError, IndexError):
        raise UserError.parameter(name, text, SPREAD) from None
    log = words[3:] == ["log"]
    if (words[3:] and not log) or count < 2 or not np.isfinite([low, high]).all():
        raise UserError.parameter(name, text, SPREAD)
    if log and not (low > 0.0 and high > 0.0):
        raise UserError.parameter(name, text, "must have both ends > 0 for geometric spacing")
    values = (np.geomspace if log else np.linspace)(low, high, count)
    return [low, *(float(f"{value:.{DIGITS}g}") for value in values[1:-1]), high]


def _source(case: registry.Case) -> str:
    """Digest of a user's file; empty for built-in cases, which have a commit."""
    if not registry.is_file_name(case.name):
        return ""
    return hashlib.sha256(Path(case.name).read_bytes()).hexdigest()[:16]


@functools.lru_cache(maxsize=8)
def _loaded(name: str) -> registry.Case:
    return registry.load(name)
