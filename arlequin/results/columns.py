"""Arrays and attributes of a result, before they are stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Attributes = dict[str, str | int | float]


def plain_attributes(attributes: Mapping[str, Any]) -> Attributes:
    """Attributes as text and numbers, the only kinds a result carries.

    >>> plain_attributes({"step": np.float64(0.5), "converged": True, "path": Path("a")})
    {'step': 0.5, 'converged': 1, 'path': 'a'}
    """
    result: Attributes = {}
    for name, value in attributes.items():
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bool):
            value = int(value)
        if isinstance(value, Path):
            value = str(value)
        if not isinstance(value, str | int | float):
            raise TypeError(f"attribute {name} = {value!r}: only text and numbers are kept")
        result[name] = value
    return result


@dataclass(frozen=True)
class Column:
    """One array of the result at its full length; `data` where it is known from the start.

    static: whether the data stay, so that they can be written again.
    """

    group: str
    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    attributes: Attributes = field(default_factory=dict)
    data: NDArray[Any] | None = None
    static: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.group, self.name
