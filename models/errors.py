"""The exception of all errors that a user can cause."""

import sys
import warnings
from typing import Any

USAGE = 2
FAILURE = 1


class UserError(Exception):
    """One clear line for the user; `code` is the exit code of the command line.

    code: 2 wrong usage (a parameter, a file, a name), 1 failure (no convergence, singular matrix, full disk).

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
        return cls(f"{name} = {_shown(given)}: {allowed}")


def _shown(value: Any) -> str:
    """A short, one-line view of a value: NumPy scalars as plain numbers, long values cut."""
    if type(value).__module__ == "numpy" and value.ndim == 0:  # not imported here: the command line starts fast
        value = value.item()
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


class ModelWarning(UserWarning):
    """Warning of a model whose results would mislead; it names the cure."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning at the line of the user's code that led here, the innermost one outside of this package."""
    frame, level = sys._getframe(1), 2
    package = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
