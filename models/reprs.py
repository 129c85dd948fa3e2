"""Short, one-line views of public objects: no arrays, no defaults."""

import dataclasses
from typing import Any

from arlequin.models.errors import shown

_LONGEST = 6  # numbers of an array that are shown


def short_repr(item: Any) -> str:
    """`Name(field=value, …)` of a dataclass without the fields that have their default, as its `__repr__`.

    >>> from arlequin.models.materials.elastic import LinearElastic
    >>> short_repr(LinearElastic(2e11, poisson=0.3, density=7800.0))
    'LinearElastic(young=200000000000.0, poisson=0.3, density=7800.0)'
    """
    given = []
    for field in dataclasses.fields(item):
        if field.repr and field.init:
            text = _brief(getattr(item, field.name))
            default = field.default_factory() if callable(field.default_factory) else field.default
            if default is dataclasses.MISSING or text != _brief(default):
                given.append(f"{field.name}={text}")
    return f"{type(item).__name__}({', '.join(given)})"


def _brief(value: Any) -> str:
    """The view of a field."""
    if getattr(value, "ndim", 0) and value.size > _LONGEST:
        return f"<array {'×'.join(map(str, value.shape))}>"
    if isinstance(value, list | tuple):
        if len(value) > _LONGEST:
            return f"<{len(value)} values>"
        left, right = ("[", "]") if isinstance(value, list) else ("(", ",)" if len(value) == 1 else ")")
        return left + ", ".join(map(_brief, value)) + right
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # repr=False: the class has a view of its own
        return short_repr(value) if value.__dataclass_params__.repr else repr(value)  # type: ignore[attr-defined]
    return shown(value)
