"""Variables of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.results.stores import Column

Key = tuple[str, str]


@dataclass(frozen=True)
class Variable:
    """One quantity of the result.

    group: "" (root), "part/fine", "interface/tip", "junction/j"; dims: the first is "time" or "frame", else
    the variable is static and has `data`; shape: lengths of the dimensions after the first; coords: labels of
    dimensions.
    """

    group: str
    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...] = ()
    units: str = ""
    long_name: str = ""
    data: Any = None
    coords: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.static and self.data is None:
            raise ValueError(f"{self.group}/{self.name}: neither on time or frame nor with data")
        if not self.static and len(self.dims) != len(self.shape) + 1:
            raise ValueError(f"{self.group}/{self.name}: dims {self.dims} do not fit shape {self.shape}")
        if not self.long_name:
            raise ValueError(f"{self.group}/{self.name}: no long_name")

    def of_each(self, members: int) -> Variable:
        """The variable of an ensemble, with `member` as the second dimension."""
        if self.static:
            return self
        coords = {**self.coords, "member": range(members)} if not self.group else self.coords
        return replace(self, dims=(self.dims[0], "member", *self.dims[1:]), shape=(members, *self.shape), coords=coords)

    @property
    def static(self) -> bool:
        """Whether the variable is known from the start."""
        return self.dims[:1] not in (("time",), ("frame",))


@dataclass(frozen=True)
class VariableGroup:
    """A group of the result, and the lengths or the labels of its dimensions but time and frame."""

    name: str
    dims: Mapping[str, int | Sequence[Any]]

    def variable(self, name: str, dims: str, units: str, long_name: str, data: Any = None) -> Variable:
        """A variable of the group; dims: names of its dimensions, between blanks; data: of a static one."""
        dim_names = tuple(dims.split())
        labels = {dim: size for dim in dim_names if not isinstance(size := self.dims.get(dim, 0), int)}
        lengths = {dim: size if isinstance(size, int) else len(size) for dim, size in self.dims.items()}
        shape = tuple(lengths[dim] for dim in dim_names[1:]) if data is None else ()
        return Variable(self.name, name, dim_names, shape, units, long_name, data, labels)

    def variables(self, *rows: tuple[Any, ...]) -> list[Variable]:
        """Variables from rows of the arguments of `variable`."""
        return [self.variable(*row) for row in rows]


def static_columns(variables: Sequence[Variable]) -> list[Column]:
    """Columns of static variables and of dimension labels."""
    columns: dict[Key, Column] = {}
    for v in variables:
        sizes = dict(zip(v.dims[1:], v.shape, strict=True)) if not v.static else {}
        if v.static:
            data = _array(v.data)
            if data.ndim != len(v.dims):
                raise ValueError(f"{v.group}/{v.name}: dims {v.dims} do not fit data of shape {data.shape}")
            sizes = dict(zip(v.dims, data.shape, strict=True))
            columns[v.group, v.name] = _known(v.group, v.name, v.dims, data, v.units, v.long_name)
        for dim, labels in v.coords.items():
            data = _array(labels)
            if data.shape != (sizes[dim],):
                raise ValueError(f"{v.group}/{v.name}: {data.size} labels for dimension {dim} of {sizes[dim]}")
            earlier = columns.setdefault((v.group, dim), _known(v.group, dim, (dim,), data, "", dim))
            if not np.array_equal(earlier.data, data):  # type: ignore[arg-type]
                raise ValueError(f"{v.group}: two sets of labels for dimension {dim}")
    return list(columns.values())


def _known(group: str, name: str, dims: tuple[str, ...], data: NDArray[Any], units: str, long_name: str) -> Column:
    """A column with its data, in one chunk."""
    return Column(
        group, name, dims, data.shape, data.shape, {"units": units, "long_name": long_name}, data, static=True
    )


def _array(data: Any) -> NDArray[Any]:
    """Static data as floats, integers or text of any length, the three kinds stored."""
    array = np.asarray(data)
    if array.dtype.kind in "UO":
        return array.astype(np.dtypes.StringDType())
    if array.dtype.kind in "biu":
        return array.astype(np.int64)
    return array.astype(np.float64)
