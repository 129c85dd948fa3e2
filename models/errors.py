"""The exception of all errors that a user can cause, and short views of values for messages and `repr`."""

import dataclasses
import linecache
import sys
import traceback
import warnings
from types import CodeType
from typing import Any

USAGE = 2
FAILURE = 1
_SHORT = 12  # numbers of an array that are shown as a list
_FIELD = 6  # of an array or a list in a field of an object


class UserError(ValueError):
    """One clear line for the user; `code` is the exit code of the command line.

    code: 2 wrong usage (a parameter, a file, a name), 1 failure (no convergence, singular matrix, full disk). An object
    of a wrong type raises the subclass `UserTypeError`.

    >>> print(UserError("no part is named 'tip'"))
    no part is named 'tip'
    >>> UserError("the disk is full", code=1).code
    1
    """

    def __init__(self, message: str, code: int = USAGE) -> None:
        # one line, also from a library's exception of several lines
        self.message = " ".join(str(message).split())
        self.code = code
        super().__init__(self.message)

    def __reduce__(self) -> tuple[type["UserError"], tuple[str, int]]:
        # errors cross process boundaries in sweeps: keep the code
        return type(self), (self.message, self.code)

    def _render_traceback_(self) -> list[str]:
        """The text that IPython and notebooks print in place of a traceback: the user's call, and the line."""
        call = None
        for frame, number in traceback.walk_tb(self.__traceback__):
            if str(frame.f_globals.get("__name__", "")).partition(".")[0] == "arlequin":
                break
            call = linecache.getline(frame.f_code.co_filename, number).strip()
        return [*([f"in: {call}"] if call else []), f"{type(self).__name__}: {self.message}"]

    @classmethod
    def parameter(cls, name: str, value: Any, allowed: str) -> "UserError":
        """The error of a bad parameter: its name, its value, the allowed values.

        >>> print(UserError.parameter("density", -1.0, "must be positive"))
        density = -1.0: must be positive
        """
        return cls(f"{name} = {shown(value)}: {allowed}")


def shown(value: Any) -> str:
    """A short, one-line view of a value: NumPy numbers and short arrays as Python ones, functions as `name(x, t)`.

    xarray's objects are `<DataTree>`, also in mappings, lists and tuples.

    >>> shown(lambda x, t: x)
    '<lambda>(x, t)'
    """
    if type(value).__module__ == "numpy" and hasattr(value, "tolist") and value.size <= _SHORT:
        value = value.tolist()  # NumPy is not imported here: the command line starts fast
    code = getattr(value, "__code__", None)
    if isinstance(code, CodeType):
        text = f"{value.__name__}({', '.join(code.co_varnames[: code.co_argcount])})"
    elif isinstance(value, type):
        text = value.__name__
    elif _of_xarray(value):
        text = f"<{type(value).__name__}>"
    elif isinstance(value, dict) and any(map(_of_xarray, value.values())):
        text = "{" + ", ".join(f"{key!r}: {shown(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, list | tuple) and any(map(_of_xarray, value)):
        text = f"[{', '.join(map(shown, value))}]"
    else:
        text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _of_xarray(value: Any) -> bool:
    """Whether a value is a DataTree, a Dataset or a DataArray, whose `repr` is a table; xarray is not imported here."""
    return type(value).__module__.partition(".")[0] == "xarray"


def short_repr(instance: Any) -> str:
    """The `__repr__` of a dataclass: `Name(field=value, …)` without the fields that have their default.

    >>> from arlequin.models.materials.elastic import LinearElastic
    >>> short_repr(LinearElastic(2e11, poisson=0.3, density=7800.0))
    'LinearElastic(young=200000000000.0, poisson=0.3, density=7800.0)'
    """
    fields = []
    for field in dataclasses.fields(instance):
        if field.repr and field.init:
            text = _brief(getattr(instance, field.name))
            default = field.default_factory() if callable(field.default_factory) else field.default
            if default is dataclasses.MISSING or text != _brief(default):
                fields.append(f"{field.name}={text}")
    return f"{type(instance).__name__}({', '.join(fields)})"


def _brief(value: Any) -> str:
    """The short view of a field of a dataclass."""
    if getattr(value, "ndim", 0) and value.size > _FIELD:
        return f"<array {'×'.join(map(str, value.shape))}>"
    if isinstance(value, list | tuple):
        if len(value) > _FIELD:
            return f"<{len(value)} values>"
        left, right = ("[", "]") if isinstance(value, list) else ("(", ",)" if len(value) == 1 else ")")
        return left + ", ".join(map(_brief, value)) + right
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # repr=False: the class defines its own
        return short_repr(value) if value.__dataclass_params__.repr else repr(value)  # type: ignore[attr-defined]
    return shown(value)


class UserTypeError(UserError, TypeError):
    """A `UserError` for an object of a wrong type, or a call that does not match the signature of a function.

    >>> isinstance(UserTypeError.parameter("density", "7800", "must be a number"), TypeError)
    True
    """


class ModelWarning(UserWarning):
    """Warning of a model with misleading results; it names the cure."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning at the line of the user's code that called this package, the innermost one outside of it."""
    frame, level = sys._getframe(1), 2
    package = __name__.partition(".")[0]
    within = (package, "functools")  # cached properties call through it
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in within:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
