"""Nested frozen dataclasses, tuples, numbers and arrays as JSON and a list of arrays, and back: no code is stored."""

from collections.abc import Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The dataclasses that may be kept, and made again from a file of anybody: making one runs nothing.
CARRIERS = frozenset(
    {
        "arlequin.checkpoint:Checkpoint",
        "arlequin.cycles:_Reached",
        "arlequin.schemes.adaptive:_Carried",
        "arlequin.schemes.alpha_stepper:_Carried",
        "arlequin.schemes.central:_Carried",
        "arlequin.schemes.equilibrium:_Kept",
        "arlequin.schemes.newton:_Kept",
        "arlequin.schemes.newton:_Place",
        "arlequin.schemes.scheme:State",
        "arlequin.schemes.small_theta:_Rested",
        "arlequin.schemes.static:_Carried",
        "arlequin.schemes.substepped:_Inside",
        "arlequin.schemes.symplectic:Springs",
        "arlequin.schemes.theta:Carried",
        "arlequin.schemes.vogelaere:_Carried",
        "multilevel.archard:Worn",
    }
)


def taken_apart(thing: Any, arrays: list[NDArray[Any]]) -> Any:
    """What JSON can say of a thing; its arrays, and NumPy's scalars, are appended to `arrays` and told by place.

    >>> arrays = []
    >>> taken_apart((1, None, np.array([0.5])), arrays), arrays
    ({'tuple': [1, None, {'array': 0}]}, [array([0.5])])
    """
    if isinstance(thing, np.ndarray | np.generic):
        arrays.append(np.asarray(thing))
        return {"array" if isinstance(thing, np.ndarray) else "scalar": len(arrays) - 1}
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, tuple | list):
        return {type(thing).__name__: [taken_apart(item, arrays) for item in thing]}
    if isinstance(thing, dict):
        return {"dict": [[taken_apart(key, arrays), taken_apart(value, arrays)] for key, value in thing.items()]}
    name = f"{type(thing).__module__}:{type(thing).__qualname__}"
    if name in CARRIERS:
        own = {item.name: taken_apart(getattr(thing, item.name), arrays) for item in fields(thing)}
        return {"class": name, "fields": own}
    raise TypeError(f"{name} cannot be kept: it is none of `CARRIERS`")


def put_together(told: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    """The thing that was taken apart; ValueError or TypeError where it is none of ours.

    >>> put_together({"tuple": [1, None, {"array": 0}]}, [np.array([0.5])])
    (1, None, array([0.5]))
    """
    if not isinstance(told, dict):
        return told
    if "class" in told:
        return _kind(told["class"])(**{name: put_together(item, arrays) for name, item in told["fields"].items()})
    ((kind, value),) = told.items()
    match kind:
        case "array":
            return arrays[value]
        case "scalar":
            return arrays[value][()]
        case "tuple":
            return tuple(put_together(item, arrays) for item in value)
        case "list":
            return [put_together(item, arrays) for item in value]
        case "dict":
            return {put_together(key, arrays): put_together(item, arrays) for key, item in value}
    raise ValueError(f"{kind}: not a kind of thing")


def _kind(name: str) -> type:
    """A dataclass of the list by its name."""
    if name not in CARRIERS:
        raise ValueError(f"{name}: nothing that a checkpoint has")
    home, _, own = name.partition(":")
    found: type = getattr(import_module(home), own)
    return found
