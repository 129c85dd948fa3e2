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

RESERVED = ("message", "seconds", "finished", "point")  # variables and the dimension of every sweep
MAX_POINTS = 1_000_000
MAX_PARAMETERS = 32  # of an outer product: dimensions of an array
MAX_LISTED = 6  # values listed in a message


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

    name: of the function or case; source: digest of its text, so that points of an earlier version are not reused;
    fixed: parameters that every point shares; options: further settings of the computation of each point.
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
        for kind, new, old in (("", self.fixed, earlier.fixed), ("option ", self.options, earlier.options)):
            for name in sorted({*new, *old}):
                if new.get(name) != old.get(name):
                    return f"its {kind}{name} is {old.get(name)}, not {new.get(name)}"
        if self.source != earlier.source:
            return f"the source of {self.name} has changed since"
        return self._missing_points(earlier)

    def _missing_points(self, earlier: Plan) -> str:
        """Values or points of the earlier sweep that this plan lacks."""
        if self.scattered:
            missing_count = len({key(p) for p in earlier.points()} - {key(p) for p in self.points()})
            return f"it has {missing_count} other point{'s' * (missing_count > 1)}" if missing_count else ""
        for axis, earlier_axis in zip(self.axes, earlier.axes, strict=True):
            values = {_plain(value) for value in axis.values}
            missing = [value for value in earlier_axis.values if _plain(value) not in values]
            if missing:
                return f"it has also {axis.name} = {listed(missing)}"
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
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The plan of a store; UserError, ValueError, TypeError or KeyError where the data are not those of a plan."""
        axes = tuple(
            Axis(_name(a["name"]), tuple(value(a["name"], v) for v in a["values"]), a["unit"], a["text"])
            for a in data["axes"]
        )
        texts = [data["name"], data["source"], *(text for axis in axes for text in (axis.unit, axis.text))]
        if not all(isinstance(text, str) for text in texts) or not axes or len({a.name for a in axes}) != len(axes):
            raise ValueError("its parameters or its name are none")
        plan = cls(
            data["name"], axes, bool(data["scattered"]), dict(data["fixed"]), dict(data["options"]), data["source"]
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
    if len(lengths) > MAX_PARAMETERS:
        raise UserError(f"over: has {len(lengths)} parameters; at most {MAX_PARAMETERS} are swept")
    count = math.prod(lengths)
    if count > MAX_POINTS:
        raise UserError(f"over: makes {count:,} points; at most {MAX_POINTS:,} are computed")


def key(point: Point) -> str:
    """Digest of the values of a point: 1 and 1.0 are the same, 1 and True are not.

    >>> key({"a": 1, "b": "x"}) == key({"b": "x", "a": 1.0})
    True
    """
    plain = {name: _plain(item)[1] for name, item in point.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def value(name: str, item: Any) -> Value:
    """Check a value of a point: a finite number, a text, true or false, None."""
    if type(item).__module__ == "numpy" and getattr(item, "ndim", 1) == 0:
        item = item.item()
    if not isinstance(item, float | int | bool | str | None):
        raise UserTypeError.parameter(name, item, "must be numbers, texts, true or false, or None")
    if isinstance(item, float) and not math.isfinite(item):
        raise UserError.parameter(name, item, "must be finite")
    if isinstance(item, int) and abs(item) > LARGEST_INTEGER:
        raise UserError.parameter(name, item, f"must be a whole number of a size of at most {LARGEST_INTEGER:g}")
    return item


def shown(point: Mapping[str, Any]) -> str:
    """A point as text, `velocity=3, cells=10`."""
    return ", ".join(f"{name}={item}" for name, item in point.items())


def listed(values: Sequence[Any]) -> str:
    """The first values and the number of the others, as text."""
    more = f" and {len(values) - MAX_LISTED} more" if len(values) > MAX_LISTED else ""
    return ", ".join(f"{v:.6g}" if isinstance(v, float) else shortened(str(v)) for v in values[:MAX_LISTED]) + more


def _values(name: str, sequence: Any) -> tuple[Value, ...]:
    """The values of one parameter."""
    if hasattr(sequence, "tolist"):  # arrays, also xarray's
        sequence = sequence.tolist()
    if isinstance(sequence, str) or not isinstance(sequence, Sequence):
        raise UserTypeError.parameter(name, sequence, "must be a list of values")
    if not sequence:
        raise UserError(f"{name}: has no values to sweep over")
    values = tuple(value(name, item) for item in sequence)
    seen: set[tuple[str, Value]] = set()
    for item in values:
        if _plain(item) in seen:
            raise UserError(f"{name} = {item!r}: is given twice")
        seen.add(_plain(item))
    return values


def _plain(item: Value) -> tuple[str, Value]:
    """A value with its kind, comparable: whole numbers are floats, bools are not."""
    if isinstance(item, bool) or not isinstance(item, int):
        return type(item).__name__, item
    return "float", float(item)


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise UserError.parameter("over", name, "must have names of parameters")
    if name in RESERVED:
        raise UserError(f"{name}: cannot be swept: every sweep has a `{name}` of its own")
    return name


def _names(names: Any) -> str:
    return ", ".join(map(str, names)) or "no parameters"
