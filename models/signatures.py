"""Checks of calls against signatures: of public classes and functions, and of functions that users pass.

`checked_call` turns Python's `TypeError` into a `UserTypeError` that names the parameter and suggests a correction;
`takes` checks a user's function before its first call.
"""

import difflib
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
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
    """Decorator of a class or a function: a call that does not match its signature raises `UserTypeError`, and so does
    one that fails because a parameter annotated as a text or a mapping is of another type."""
    function: Callable[..., Any] = item.__init__ if isinstance(item, type) else item  # type: ignore[misc]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tuple(map(_plain, args)), {name: _plain(value) for name, value in kwargs.items()}
        try:
            return function(*args, **kwargs)
        except UserError:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            fault = _fault(item, function, args, kwargs) if isinstance(error, TypeError) else None
            fault = fault or _misfit(function, args, kwargs)
            if fault is None:  # an error inside
                raise
            raise UserTypeError(fault) from None

    if not isinstance(item, type):
        return call  # type: ignore[return-value]
    item.__init__ = call  # type: ignore[misc]
    return item


def _plain(value: Any) -> Any:
    """Fractions and decimals converted to floats."""
    if not isinstance(value, Fraction | Decimal):
        return value
    try:
        return float(value)
    except OverflowError:  # beyond the largest float
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signalling nan
        return math.nan


def _fault(item: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """The mismatch of a call and the signature, in one line; None where there is none."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        bound = next(iter(signature.parameters), "") in ("self", "cls")
        every, label = list(signature.parameters.values())[bound:], item.__qualname__.rpartition("<locals>.")[2]
        known = [p for p in every if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        takes_all = any(p.kind is p.VAR_KEYWORD for p in every)
        names = [parameter.name for parameter in known]
        places = [p.name for p in known if p.kind is p.POSITIONAL_OR_KEYWORD]
        positional, listing = len(args) - bound, f"the parameters are {', '.join(names)}"
        for name in kwargs:
            if name not in names and not takes_all:
                return f"{label}: no parameter is named {name!r}{meant(name, names)}; {listing}"
        if positional > len(places):
            unnamed = ", ".join(f"{p.name}=…" for p in known if p.kind is p.KEYWORD_ONLY and p.name not in kwargs)
            cure = f"name the others: {unnamed}" if unnamed else listing
            return f"{label}: takes at most {len(places)} parameters without names, {positional} given; {cure}"
        missing = [p.name for p in known if p.default is p.empty and p.name not in {*kwargs, *places[:positional]}]
        if missing:
            return f"{label}: {', '.join(missing)} must be given; {listing}"
        return f"{label}: {error}"
    return None


def _misfit(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """The line for a parameter annotated as a text or a mapping that is of another type, in a call that matches the
    signature; None where there is none."""
    signature = inspect.signature(function)
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        kinds = _kinds(signature.parameters[name].annotation)
        required = kinds - {"None"}
        for kind, allowed, rule in (("str", str, "a text"), ("Mapping", Mapping, "a mapping, {name: …}")):
            allows_none = value is None and "None" in kinds
            if required == {kind} and not (allows_none or isinstance(value, allowed)):
                return str(UserTypeError.parameter(name, value, f"must be {rule}"))
    return None


def _kinds(annotation: Any) -> set[str]:
    """Names of the types of an annotation, without their parameters in brackets.

    >>> sorted(_kinds("Mapping[str, float | int] | None")), _kinds(str)
    (['Mapping', 'None'], {'str'})
    """
    text = annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__args__") else annotation
    flat, depth = "", 0
    for letter in str(text):
        depth += (letter == "[") - (letter == "]")
        flat += letter if depth == 0 and letter != "]" else ""
    return {part.strip().rpartition(".")[2] for part in flat.split("|")}


def takes(name: str, function: Callable[..., Any], **parameters: str) -> None:
    """Raise `UserTypeError` where a user's function does not take these parameters; the texts describe them.

    >>> takes("gravity", lambda x, t: 0.0, t="the time, s")
    Traceback (most recent call last):
    arlequin.models.errors.UserTypeError: gravity = <lambda>(x, t): must be a function f(t) of the time, s
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled functions have no signature: their call is checked
        return
    try:
        signature.bind(*parameters)
    except TypeError:
        rule = f"must be a function f({', '.join(parameters)}) of {' and '.join(parameters.values())}"
        raise UserTypeError.parameter(name, function, rule) from None
