"""What is said of a result beside what is asked of it: a line each, as warnings, so that the rest can be used."""

import contextlib
import warnings
from collections.abc import Iterator

from arlequin.models.errors import UserError


class ResultWarning(UserWarning):
    """Of a result, or of what is made from it."""


class DamageWarning(ResultWarning):
    """Something of a result is left out, or nan: it cannot be read, or nothing can be made of it."""


def say_damaged(result: str, array: str, why: str) -> None:
    """Names the result and the array."""
    line = " ".join(f"{result}: {array} is damaged: {why}".split())
    warnings.warn(line, DamageWarning, stacklevel=2)


@contextlib.contextmanager
def without(what: str) -> Iterator[None]:
    """Goes on without what cannot be made of a result, whatever is wrong with it, and says why."""
    try:
        yield
    except Exception as error:
        warnings.warn(f"without {what}: {why(error)}", DamageWarning, stacklevel=3)


def why(error: Exception) -> str:
    """What an exception says, in a line."""
    return str(error) if isinstance(error, UserError) else " ".join(f"{type(error).__name__}: {error}".split())[:300]
