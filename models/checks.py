"""Checks of parameters: each returns the value, or raises a `UserError` (name, given, allowed).

nan and inf are always rejected, and so are numbers of a size beyond `LARGEST`; a bool is not a number. Values of a
wrong type raise `UserTypeError`.
"""

import math
import numbers
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from arlequin.models.errors import UserError, UserTypeError

if TYPE_CHECKING:  # NumPy loads with the first array: the command line starts fast
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

# of numbers other than 0: values outside have no meaning in SI units, and their squares overflow or underflow
SMALLEST, LARGEST = 1e-100, 1e100
ANY_SIZE = (
    1.7976931348623157e308  # of numbers that are only compared, such as values of a quantity in units of the user
)
LARGEST_INTEGER = 2.0**62  # twice as many still fit in 64 bits


def finite(name: str, value: Any, largest: float | None = None) -> float:
    """A finite real number of a size of at most `largest` (default: LARGEST), as a float.

    >>> finite("velocity", -3)
    -3.0
    """
    return _number(name, value, largest=largest)


def positive(name: str, value: Any, largest: float | None = None, smallest: float = SMALLEST) -> float:
    """A finite number > 0, from `smallest` to `largest` (default: LARGEST), as a float.

    >>> positive("density", -1.0)
    Traceback (most recent call last):
    arlequin.models.errors.UserError: density = -1.0: must be positive
    """
    rule = "must be positive"
    number = _number(name, value, largest=largest)
    if number <= 0:
        raise UserError.parameter(name, value, rule)
    if number < smallest:
        raise UserError.parameter(name, value, f"{rule}, {smallest:g} at least")
    return number


def non_negative(name: str, value: Any) -> float:
    """A finite number ≥ 0, as a float."""
    number = _number(name, value)
    if number < 0:
        raise UserError.parameter(name, value, "must not be negative")
    return number


def within(name: str, value: Any, low: float, high: float, *, open_low: bool = False, open_high: bool = False) -> float:
    """A number in [low, high]; `open_low`, `open_high` exclude that end.

    >>> within("theta", 0.3, 0.5, 1)
    Traceback (most recent call last):
    arlequin.models.errors.UserError: theta = 0.3: must lie in [0.5, 1]
    """
    left, right = "]" if open_low else "[", "[" if open_high else "]"
    rule = f"must lie in {left}{low:g}, {high:g}{right}"
    number = _number(name, value)
    below = number <= low if open_low else number < low
    above = number >= high if open_high else number > high
    if below or above:
        raise UserError.parameter(name, value, rule)
    return number


def integer(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """A whole number (3.0 counts, 3.5 does not), optionally in [low, high], as an int."""
    rule = "must be a whole number"
    if low is not None and high is not None:
        rule += f" in [{low}, {high}]"
    elif low is not None:
        rule += f" of at least {low}"
    elif high is not None:
        rule += f" of at most {high}"
    number = _number(name, value, rule)
    outside = (low is not None and number < low) or (high is not None and number > high)
    if outside or number != math.floor(number):
        raise UserError.parameter(name, value, rule)
    if abs(number) > LARGEST_INTEGER:
        raise UserError.parameter(name, value, f"must be a whole number of at most {LARGEST_INTEGER:g}")
    return int(value)


def positive_integer(name: str, value: Any) -> int:
    """A whole number ≥ 1, as an int.

    >>> positive_integer("elements", 0)
    Traceback (most recent call last):
    arlequin.models.errors.UserError: elements = 0: must be a whole number of at least 1
    """
    return integer(name, value, low=1)


def non_negative_integer(name: str, value: Any) -> int:
    """A whole number ≥ 0, as an int."""
    return integer(name, value, low=0)


def one_of(name: str, value: T, allowed: Iterable[T]) -> T:
    """One of the allowed values, which the message lists.

    >>> one_of("mass", "heavy", ("consistent", "lumped"))
    Traceback (most recent call last):
    arlequin.models.errors.UserError: mass = 'heavy': must be one of consistent, lumped
    """
    choices = list(allowed)
    # an array compares element by element: it is never one of the choices
    if _is_array(value) or value not in choices:
        raise UserError.parameter(name, value, "must be one of " + ", ".join(map(str, choices)))
    return value


def valid_name(value: Any, what: str = "name") -> str:
    """A name of a part, junction or interface: not empty, no `/`, as it becomes a group of the result."""
    rule = "must be a text, not empty and without '/'"
    if not isinstance(value, str):
        raise UserTypeError.parameter(what, value, rule)
    if not value.strip() or "/" in value or value in (".", ".."):
        raise UserError.parameter(what, value, rule)
    return value


def finite_array(
    name: str, value: Any, shape: Sequence[int | None] | None = None, largest: float | None = None
) -> "NDArray[np.float64]":
    """An array of finite numbers, of a size of at most `largest` (default: LARGEST), as float64; `shape` fixes its
    dimensions (None: any length)."""
    largest = LARGEST if largest is None else largest
    rule = "must be finite numbers"
    if shape is not None:
        rule += " of shape (" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
    import numpy as np

    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # rows of different lengths
        raise UserError.parameter(name, value, rule) from None
    if array.dtype.kind not in "iuf":
        raise UserTypeError.parameter(name, value, rule)
    array = array.astype(float)
    valid = shape is None or (
        array.ndim == len(shape)
        and all(want is None or want == have for want, have in zip(shape, array.shape, strict=True))
    )
    if not valid or not np.isfinite(array).all():
        raise UserError.parameter(name, value, rule)
    if array.size and abs(array).max() > largest:
        raise UserError.parameter(name, value, f"must be numbers of a size of at most {largest:g}")
    return array


def components(count: int) -> str:
    """«1 component», «2 components»."""
    return f"{count} component{'s' * (count > 1)}"


def numbers_error(value: Any) -> type[UserError]:
    """The class of the error for an invalid value: `UserTypeError` where it is not numeric."""
    import numpy as np

    try:
        return UserError if np.asarray(value).dtype.kind in "iufO" and value is not None else UserTypeError
    except (TypeError, ValueError):  # rows of different lengths
        return UserError


def check_fields(instance: Any, **rules: Callable[..., Any]) -> None:
    """Replace fields of a frozen dataclass by their checked values, which are plain Python numbers.

    check_fields(law, stiffness=positive, height=non_negative)
    """
    for name, rule in rules.items():
        object.__setattr__(instance, name, rule(name, getattr(instance, name)))


def one_each(name: str, value: Any, count: int) -> "NDArray[np.float64]":
    """The values (count,) returned by a function: a number for each point, or one for all."""
    import numpy as np

    try:
        return np.broadcast_to(np.asarray(value, dtype=float), (count,))
    except (TypeError, ValueError, OverflowError):
        rule = f"must be one number for each of {count} points"
        raise numbers_error(value).parameter(name, value, rule) from None


def instance(name: str, value: Any, kinds: Any, rule: str) -> Any:
    """An instance of one of the kinds (a class, a runtime-checkable protocol, or a union), not a class.

    >>> instance("parts", {}, list, "must be a list of parts")
    Traceback (most recent call last):
    arlequin.models.errors.UserTypeError: parts = {}: must be a list of parts
    """
    if isinstance(value, type):
        raise UserTypeError.parameter(name, value, f"{rule} ({value.__name__} is a class: write {value.__name__}(…))")
    if not isinstance(value, kinds):
        raise UserTypeError.parameter(name, value, rule)
    return value


def flag(name: str, value: Any) -> bool:
    """True or False, also those of NumPy."""
    import numpy as np

    return bool(instance(name, value, bool | np.bool_, "must be True or False"))


def progress(name: str, value: Any) -> None:
    """A callback (steps done, total number of steps), or None."""
    if value is not None and not callable(value):
        raise UserTypeError.parameter(name, value, "must be a function (done, total), or None")


def mapping(name: str, value: Any, rule: str) -> Mapping[str, Any]:
    """A mapping whose keys are text."""
    instance(name, value, Mapping, rule)
    if not all(isinstance(key, str) for key in value):
        raise UserTypeError.parameter(name, value, rule)
    return value


def items(name: str, value: Any, kinds: Any, rule: str) -> tuple[Any, ...]:
    """The items of a sequence, all of one of the kinds."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise UserTypeError.parameter(name, value, rule)
    return tuple(instance(name, item, kinds, rule) for item in value)


def path(name: str, value: Any) -> Any:
    """A path as text or as `os.PathLike`, not empty."""
    if not isinstance(value, str | os.PathLike):
        raise UserTypeError.parameter(name, value, "must be a path")
    if not str(value):
        raise UserError.parameter(name, value, "must be a path")
    return value


def _number(name: str, value: Any, kind: str = "must be a number", largest: float | None = None) -> float:
    """The value as a finite float; kind: the rule in the message for a value of another type."""
    if _is_array(value) and value.ndim == 0:
        value = value.item()
    # numpy.bool is no Real, bool is
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise UserTypeError.parameter(name, value, kind)
    try:
        number = float(value)
    except OverflowError:
        raise UserError.parameter(name, value, f"must be of a size of at most {LARGEST:g}") from None
    if not math.isfinite(number):
        raise UserError.parameter(name, value, "must be finite")
    limit = LARGEST if largest is None else largest
    if abs(number) > limit:
        raise UserError.parameter(name, value, f"must be of a size of at most {limit:g}")
    return number


def _is_array(value: Any) -> bool:
    kind = type(value)
    return kind.__module__ == "numpy" and kind.__name__ == "ndarray"
