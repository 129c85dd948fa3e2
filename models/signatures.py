"""Calls that do not fit a signature: of public classes and functions, and of functions that users pass.

`checked_call` makes the `TypeError` of Python a `UserTypeError` that names the parameter and what was probably meant;
`takes` checks a user's function before it is first called.
"""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from arlequin.models.errors import UserError, UserTypeError

T = TypeVar("T", bound=Callable[..., Any])


def meant(word: Any, known: Iterable[str]) -> str:
    """The suggestion `, did you mean …?` if a known name is close, else an empty text.

    >>> meant("frictoin", ["normal", "friction"])
    ', did you mean friction?'
    """
    close = difflib.get_close_matches(word, list(known), n=1) if isinstance(word, str) else []
    return f", did you mean {close[0]}?" if close else ""


def checked_call(item: T) -> T:
    """Decorator of a class or a function: a call that does not fit its parameters raises `UserTypeError`, and so does
    one that fails with something else than a text for a parameter that is annotated as one."""
    function: Callable[..., Any] = item.__init__ if isinstance(item, type) else item  # type: ignore[misc]

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except UserError:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            fault = _fault(item, function, given, named) if isinstance(error, TypeError) else None
            fault = fault or _no_text(function, given, named)
            if fault is None:  # an error inside
                raise
            raise UserTypeError(fault) from None

    if not isinstance(item, type):
        return call  # type: ignore[return-value]
    item.__init__ = call  # type: ignore[misc]
    return item


def _fault(item: Any, function: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """What does not fit in a call; None where all fits."""
    signature = inspect.signature(function)
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        own = next(iter(signature.parameters), "") in ("self", "cls")
        known, label = list(signature.parameters.values())[own:], item.__qualname__.rpartition("<locals>.")[2]
        names = [parameter.name for parameter in known]
        places = [p.name for p in known if p.kind is p.POSITIONAL_OR_KEYWORD]
        count, there = len(given) - own, f"the parameters are {', '.join(names)}"
        for name in named:
            if name not in names:
                return f"{label}: no parameter is named {name!r}{meant(name, names)}; {there}"
        if count > len(places):
            rest = ", ".join(f"{p.name}=…" for p in known if p.kind is p.KEYWORD_ONLY and p.name not in named)
            cure = f"name the others: {rest}" if rest else there
            return f"{label}: takes at most {len(places)} parameters without names, {count} given; {cure}"
        missing = [p.name for p in known if p.default is p.empty and p.name not in {*named, *places[:count]}]
        if missing:
            return f"{label}: {', '.join(missing)} must be given; {there}"
        return f"{label}: {error}"
    return None


def _no_text(function: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Says which parameter annotated as a text is given something else in a call that fits; None where none is."""
    signature = inspect.signature(function)
    for name, value in signature.bind(*given, **named).arguments.items():
        own = signature.parameters[name].annotation
        allowed = (str, type(None)) if own in ("str | None", str | None) else str
        if own in ("str", "str | None", str, str | None) and not isinstance(value, allowed):
            return str(UserTypeError.parameter(name, value, "must be a text"))
    return None


def takes(name: str, function: Callable[..., Any], **parameters: str) -> None:
    """Raise `UserTypeError` where a user's function does not take these parameters; their texts say what each is.

    >>> takes("gravity", lambda x, t: 0.0, t="the time, s")
    Traceback (most recent call last):
    arlequin.models.errors.UserTypeError: gravity = <lambda>(x, t): must be a function f(t) of the time, s
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled: its call tells
        return
    try:
        signature.bind(*parameters)
    except TypeError:
        rule = f"must be a function f({', '.join(parameters)}) of {' and '.join(parameters.values())}"
        raise UserTypeError.parameter(name, function, rule) from None
