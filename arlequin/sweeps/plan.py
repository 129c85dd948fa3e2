"""Plan of a sweep: parameters, values and points, and the comparison of plans."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arlequin.models.checks import LARGEST_INTEGER, mapping
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import meant
from arlequin.results.bounds import shortened

Value = float | int | bool | str | None
Point = dict[str, Value]

RESERVED = ("message", "seconds", "finished", "point")  # variables and the dimension that every sweep has
MOST_POINTS = 1_000_000
MOST_PARAMETERS = 32  # of an outer product: dimensions of an array
SHOWN = 6  # values listed in a message


@dataclass(frozen=True)
class Axis:
    """One parameter and its values: of the outer product, or those of each point where the points are scattered."""

    name: str
    values: tuple[Value, ...]
    unit: str = ""
    text: str = ""


@dataclass(frozen=True)
class Plan:
    """A sweep before anything is computed.

    name: of the function or case; source: digest of its text, so that points of an edited one are not taken for its
    own; fixed: parameters that every point shares; options: what else is asked of each point.
    """

    name: str
    axes: tuple[Axis, ...]
    scattered: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    @property
    def dims(self) -> tuple[str, ...]:
        return ("point",) if self.scattered else tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        lengths = tuple(len(axis.values) for axis in self.axes)
        return lengths[:1] if self.scattered else lengths

    def points(self) -> list[Point]:
        """Every point, the last parameter changing fastest."""
        names = [axis.name for axis in self.axes]
        values = [axis.values for axis in self.axes]
        rows = zip(*values, strict=True) if self.scattered else itertools.product(*values)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def difference(self, earlier: Plan) -> str:
        """Difference to the plan of an earlier sweep; empty if all its points are points of this plan."""
        if self.name != earlier.name:
            return f"it is of {earlier.name}"
        if self.dims != earlier.dims and set(self.dims) == set(earlier.dims):
            return f"it has them in the order {', '.join(earlier.dims)}"
        if {axis.name for axis in self.axes} != {axis.name for axis in earlier.axes} or self.dims != earlier.dims:
            scattered = " over scattered points" if earlier.scattered else ""
            return f"it sweeps {', '.join(axis.name for axis in earlier.axes)}{scattered}"
        for kind, mine, theirs in (("", self.fixed, earlier.fixed), ("option ", self.options, earlier.options)):
            for name in sorted({*mine, *theirs}):
                if mine.get(name) != theirs.get(name):
                    return f"its {kind}{name} is {theirs.get(name)}, not {mine.get(name)}"
        if self.source != earlier.source:
            return f"the source of {self.name} has changed since"
        return self._missing_points(earlier)

    def _missing_points(self, earlier: Plan) -> str:
        """Values or points of the earlier sweep that this plan lacks."""
        if self.scattered:
            lost = len({key(p) for p in earlier.points()} - {key(p) for p in self.points()})
            return f"it has {lost} other point{'s' * (lost > 1)}" if lost else ""
        for mine, theirs in zip(self.axes, earlier.axes, strict=True):
            kept = {_plain(value) for value in mine.values}
            other = [value for value in theirs.values if _plain(value) not in kept]
            if other:
                return f"it has also {mine.name} = {listed(other)}"
        return ""

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "source": self.source,
            "scattered": self.scattered,
            "axes": [vars(axis) | {"values": list(axis.values)} for axis in self.axes],
            "fixed": dict(self.fixed),
            "options": dict(self.options),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Plan:
        """The plan of a store; UserError, ValueError, TypeError or KeyError where it is none."""
        axes = tuple(
            Axis(_name(a["name"]), tuple(value(a["name"], v) for v in a["values"]), a["unit"], a["text"])
            for a in found["axes"]
        )
        texts = [found["name"], found["source"], *(text for axis in axes for text in (axis.unit, axis.text))]
        if not all(isinstance(text, str) for text in texts) or not axes or len({a.name for a in axes}) != len(axes):
            raise ValueError("its parameters or its name are none")
        plan = cls(
            found["name"], axes, bool(found["scattered"]), dict(found["fixed"]), dict(found["options"]), found["source"]
        )
        if plan.scattered and len({len(axis.values) for axis in axes}) > 1:
            raise ValueError("its points lack values")
        _check_count(plan.shape)
        if not math.prod(plan.shape):
            raise ValueError("it has no points")
        return plan


def axes_of(over: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]) -> tuple[tuple[Axis, ...], bool]:
    """The parameters of `over`, checked, and whether its points are scattered.

    >>> axes_of({"velocity": [1.0, 2.0]})
    ((Axis(name='velocity', values=(1.0, 2.0), unit='', text=''),), False)
    """
    if isinstance(over, Mapping):
        axes = tuple(Axis(_name(name), _values(name, values)) for name, values in over.items())
        if not axes:
            raise UserError("over: is empty: give at least one parameter and its values")
        _check_count([len(axis.values) for axis in axes])
        return axes, False
    if isinstance(over, str) or not isinstance(over, Sequence) or not all(isinstance(p, Mapping) for p in over):
        raise UserTypeError.parameter("over", over, "must be {name: values, …} or a list of {name: value, …}")
    if not over:
        raise UserError("over: is empty: give at least one point")
    names = [_name(name) for name in over[0]]
    for n, point in enumerate(over):
        if set(point) != set(names) or not names:
            raise UserError(f"over: point {n} has {_names(point)}, the first has {_names(names)}")
    plain = [{name: value(name, point[name]) for name in names} for point in over]
    seen: dict[str, int] = {}
    for n, point in enumerate(plain):
        if seen.setdefault(key(point), n) != n:
            raise UserError(f"over: points {seen[key(point)]} and {n} are the same, {shown(point)}")
    return tuple(Axis(name, tuple(point[name] for point in plain)) for name in names), True


def with_units(axes: tuple[Axis, ...], units: Mapping[str, str]) -> tuple[Axis, ...]:
    """The parameters with their units.

    >>> with_units((Axis("velocity", (1.0,)),), {"velocity": "m/s"})[0].unit
    'm/s'
    """
    known = [axis.name for axis in axes]
    for name, unit in mapping("units", units, "must map parameters to units, as {'velocity': 'm/s'}").items():
        if name not in known:
            raise UserError(f"units: no parameter is named {name!r}{meant(name, known)}; there are {_names(known)}")
        if not isinstance(unit, str):
            raise UserTypeError.parameter(f"units[{name!r}]", unit, "must be a text, such as 'm/s'")
    return tuple(replace(axis, unit=units.get(axis.name, axis.unit)) for axis in axes)


def _check_count(lengths: Sequence[int]) -> None:
    if len(lengths) > MOST_PARAMETERS:
        raise UserError(f"over: has {len(lengths)} parameters; at most {MOST_PARAMETERS} are swept")
    count = math.prod(lengths)
    if count > MOST_POINTS:
        raise UserError(f"over: makes {count:,} points; at most {MOST_POINTS:,} are computed")


def key(point: Point) -> str:
    """A name for a point by its values: 1 and 1.0 are the same, 1 and True are not.

    >>> key({"a": 1, "b": "x"}) == key({"b": "x", "a": 1.0})
    True
    """
    plain = {name: _plain(given)[1] for name, given in point.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def value(name: str, given: Any) -> Value:
    """A value that a point can have: a finite number, a text, true or false, None."""
    if type(given).__module__ == "numpy" and getattr(given, "ndim", 1) == 0:
        given = given.item()
    if not isinstance(given, float | int | bool | str | None):
        raise UserTypeError.parameter(name, given, "must be numbers, texts, true or false, or None")
    if isinstance(given, float) and not math.isfinite(given):
        raise UserError.parameter(name, given, "must be finite")
    if isinstance(given, int) and abs(given) > LARGEST_INTEGER:
        raise UserError.parameter(name, given, f"must be a whole number of a size of at most {LARGEST_INTEGER:g}")
    return given


def shown(point: Mapping[str, Any]) -> str:
    """`velocity=3, cells=10`."""
    return ", ".join(f"{name}={given}" for name, given in point.items())


def listed(values: Sequence[Any]) -> str:
    """The first values and the number of the others, as text."""
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return ", ".join(f"{v:.6g}" if isinstance(v, float) else shortened(str(v)) for v in values[:SHOWN]) + more


def _values(name: str, given: Any) -> tuple[Value, ...]:
    """The values of one parameter."""
    if hasattr(given, "tolist"):  # arrays, also xarray's
        given = given.tolist()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UserTypeError.parameter(name, given, "must be a list of values")
    if not given:
        raise UserError(f"{name}: has no values to sweep over")
    values = tuple(value(name, item) for item in given)
    seen: set[tuple[str, Value]] = set()
    for item in values:
        if _plain(item) in seen:
            raise UserError(f"{name} = {item!r}: is given twice")
        seen.add(_plain(item))
    return values


def _plain(given: Value) -> tuple[str, Value]:
    """A value with its kind, comparable: whole numbers are floats, bools are not."""
    if isinstance(given, bool) or not isinstance(given, int):
        return type(given).__name__, given
    return "float", float(given)


def _name(given: Any) -> str:
    if not isinstance(given, str) or not given.isidentifier():
        raise UserError.parameter("over", given, "must have names of parameters")
    if given in RESERVED:
        raise UserError(f"{given}: cannot be swept: every sweep has a `{given}` of its own")
    return given


def _names(given: Any) -> str:
    return ", ".join(map(str, given)) or "no parameters"
