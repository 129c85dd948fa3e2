"""Warnings about damaged results."""

import contextlib
import warnings
from collections.abc import Iterator

from arlequin.models.errors import UserError

_LONGEST = 300  # characters of what a file says of itself


class ResultWarning(UserWarning):
    """A warning about a result or its evaluation."""


class DamageWarning(ResultWarning):
    """Part of a result cannot be read or evaluated; it is omitted or nan."""


def warn_damaged(result: str, array: str, reason: str) -> None:
    """Issue a `DamageWarning` that names the result and the array."""
    line = " ".join(f"{result}: {array[:_LONGEST]} is damaged: {reason[:_LONGEST]}".split())
    warnings.warn(line, DamageWarning, stacklevel=2)


@contextlib.contextmanager
def warn_and_skip(what: str) -> Iterator[None]:
    """Context that goes on without what cannot be made of a result, whatever is wrong with it, and says why."""
    try:
        yield
    except Exception as error:
        warnings.warn(f"without {what}: {error_text(error)}", DamageWarning, stacklevel=3)


def error_text(error: Exception) -> str:
    """The text of an exception in one line."""
    return str(error) if isinstance(error, UserError) else " ".join(f"{type(error).__name__}: {error}".split())[:300]
