"""Parameters of a case: declared by its dataclass, parsed from text, validated.

@dataclass(frozen=True)
class Parameters:
    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 0.1
    theta: Annotated[float, Quantity("1", "θ of the scheme", within, 0.5, 1.0)] = 0.5
    law: Annotated[Literal["unilateral", "penalty"], Quantity("", "contact law")] = "unilateral"
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import meant

RANGES: dict[Any, str] = {
    checks.finite: "finite",
    checks.positive: "> 0",
    checks.non_negative: "≥ 0",
    checks.positive_integer: "whole, ≥ 1",
    checks.non_negative_integer: "whole, ≥ 0",
}
# range of the size of non-zero numbers: products of ten of them do not overflow
SMALLEST, LARGEST = 1e-30, 1e30
LARGEST_COUNT = 50_000_000  # largest whole number, steps included
WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


@dataclass(frozen=True)
class Quantity:
    """Unit, meaning and range of a parameter.

    check: called with (name, value), or with (name, value, low, high) if there are bounds. largest: size of the
    largest number, for units in which numbers beyond 1e30 occur.
    """

    unit: str = ""
    text: str = ""
    check: Callable[..., Any] | None = None
    low: float | None = None
    high: float | None = None
    largest: float = LARGEST

    @property
    def range(self) -> str:
        """The accepted range as text."""
        if self.low is not None or self.high is not None:
            if self.low is not None and self.high is not None:
                return f"{self.low:g} to {self.high:g}"
            return f"≥ {self.low:g}" if self.low is not None else f"≤ {self.high:g}"
        return RANGES.get(self.check, "")

    def checked(self, name: str, value: Any) -> Any:
        """The value; UserError outside the range."""
        if isinstance(value, float) and value != 0.0 and not SMALLEST <= abs(value) <= self.largest:
            raise UserError.parameter(name, value, f"must be 0 or of a size from {SMALLEST:g} to {self.largest:g}")
        if isinstance(value, int) and not abs(value) <= LARGEST_COUNT:
            raise UserError.parameter(name, value, f"must be at most {LARGEST_COUNT}")
        if self.check is None:
            return value
        return self.check(name, value, *(bound for bound in (self.low, self.high) if bound is not None))


@dataclass(frozen=True)
class Field:
    """One parameter of a case. kind: float, int, bool, str, or None for a choice; choices: admissible words, for a
    number in addition to numbers."""

    name: str
    kind: type | None
    default: Any
    quantity: Quantity
    choices: tuple[Any, ...] = ()
    optional: bool = False

    @property
    def allowed(self) -> str:
        """Admissible values as text: the choices, or kind, range and unit."""
        if self.kind is None:
            words = ", ".join(map(str, self.choices))
        elif self.kind is bool:
            words = "true, false"
        elif self.kind is str:
            words = "text"
        else:
            kind = "a whole number" if self.kind is int else "a finite number"
            bounds = self.quantity.range.removeprefix("finite").removeprefix("whole, ")
            words = " ".join(filter(None, (kind, bounds)))
            words += f" in {self.quantity.unit}" if self.quantity.unit not in ("", "1") else ""
            words = " or ".join((words, *map(str, self.choices)))
        return words + (" or none" if self.optional else "")

    def parse(self, value: Any) -> Any:
        """The validated value, from text or from a Python object."""
        if self.optional and (value is None or (isinstance(value, str) and value.strip().lower() == "none")):
            return None
        if self.kind is None:
            matching = [c for c in self.choices if c == value or str(c) == str(value)]
            if not matching:
                raise self._refused(value, f"must be one of {self.allowed}")
            return matching[0]
        if isinstance(value, str) and value in self.choices:
            return value
        parsed = _READERS[self.kind](value)
        if parsed is None:
            raise self._refused(value, f"must be {self.allowed}")
        checked = self.quantity.checked(self.name, parsed)
        return int(checked) if self.kind is int else checked  # bounds are floats

    def _refused(self, value: Any, allowed: str) -> UserError:
        return UserError.parameter(self.name, value, allowed)


def fields(parameters: type) -> tuple[Field, ...]:
    """The parameters declared by the dataclass of a case."""
    try:
        hints = get_type_hints(parameters, include_extras=True)
    except (NameError, TypeError) as error:  # string annotations are evaluated here
        raise UserError(f"Parameters: {error}") from error
    return tuple(_field(f, hints[f.name]) for f in dataclasses.fields(parameters) if f.init)


def by_name(parameters: type, names: Iterable[str] = ()) -> dict[str, Field]:
    """The parameters by name; UserError for an unknown name in `names`."""
    fields_by_name = {f.name: f for f in fields(parameters)}
    for name in names:
        if name not in fields_by_name:
            raise UserError(
                f"{name}: no such parameter{meant(name, fields_by_name)}; there are {', '.join(fields_by_name)}"
            )
    return fields_by_name


def make(parameters: type, values: Mapping[str, Any]) -> Any:
    """Instance of the dataclass from `values` (text or Python objects) and defaults."""
    fields_by_name = by_name(parameters, values)
    parsed = {name: fields_by_name[name].parse(value) for name, value in values.items()}
    for name, field in fields_by_name.items():
        if name not in parsed and field.default is dataclasses.MISSING:
            raise UserError(f"{name}: has no default: give {name}=value, {field.allowed}")
    return parameters(**parsed)


def as_json(parameters: Any) -> str:
    """The parameters as JSON text, as stored in results."""
    return json.dumps(dataclasses.asdict(parameters), ensure_ascii=False, default=str)


def _field(field: dataclasses.Field[Any], hint: Any) -> Field:
    """The parameter declared by a type hint Annotated[kind | Literal["word"] | None, Quantity]."""
    quantity = Quantity()
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        quantity = next((note for note in notes if isinstance(note, Quantity)), quantity)
    optional, words = False, []
    if get_origin(hint) in (Union, types.UnionType):
        optional = type(None) in get_args(hint)
        words = [word for kind in get_args(hint) if get_origin(kind) is Literal for word in get_args(kind)]
        kinds = [kind for kind in get_args(hint) if kind is not type(None) and get_origin(kind) is not Literal]
        if not kinds:
            hint = Literal[*words]
        elif len(kinds) == 1:
            hint = kinds[0]
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    if get_origin(hint) is Literal:
        return Field(field.name, None, default, quantity, get_args(hint), optional)
    if hint not in _READERS:
        raise UserError(f"{field.name}: parameters are float, int, bool, str or Literal, not {hint}")
    return Field(field.name, hint, default, quantity, tuple(words), optional)


def _float(value: Any) -> float | None:
    if isinstance(value, bool | np.bool_):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def _int(value: Any) -> int | None:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
    number = _float(value)
    return int(number) if number is not None and number == int(number) else None


def _bool(value: Any) -> bool | None:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    return WORDS.get(value.strip().lower()) if isinstance(value, str) else None


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


_READERS: dict[Any, Callable[[Any], Any]] = {float: _float, int: _int, bool: _bool, str: _str}
