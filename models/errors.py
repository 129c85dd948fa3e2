"""The exception of all errors that a user can cause."""

from types import CodeType
from typing import Any

USAGE = 2
FAILURE = 1
_SHORT = 12  # numbers of an array that are shown as a list


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
        # one line, whatever the text of a library's exception was
        self.message = " ".join(str(message).split())
        self.code = code
        super().__init__(self.message)

    def __reduce__(self) -> tuple[type["UserError"], tuple[str, int]]:
        # errors cross process boundaries in sweeps: keep the code
        return type(self), (self.message, self.code)

    @classmethod
    def parameter(cls, name: str, given: Any, allowed: str) -> "UserError":
        """The line for a bad parameter: its name, what was given, what is allowed.

        >>> print(UserError.parameter("density", -1.0, "must be positive"))
        density = -1.0: must be positive
        """
        return cls(f"{name} = {shown(given)}: {allowed}")


def shown(value: Any) -> str:
    """A short, one-line view of a value: NumPy's numbers and short arrays as plain ones, functions as `name(x, t)`.

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
    else:
        text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


class UserTypeError(UserError, TypeError):
    """A `UserError` for an object of a wrong type, or a call that does not fit the signature of a function.

    >>> isinstance(UserTypeError.parameter("density", "7800", "must be a number"), TypeError)
    True
    """


class ModelWarning(UserWarning):
    """Warning of a model whose results would mislead; it names the cure."""
