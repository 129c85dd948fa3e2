"""Means of recorded variables over the time, by the path of the variable."""

from typing import Any

import numpy as np
import xarray

from arlequin.models.errors import UserError
from arlequin.models.signatures import meant
from arlequin.results.scalar import Scalar


def time_mean(result: xarray.DataTree | xarray.Dataset, path: str, parameter: str) -> Scalar:
    """A variable of a result by its path, such as "interface/contact/wear_power": its mean over the time, with unit.

    Σ y_n Δt_n / Σ Δt_n over the steps n ≥ 1; parameter: of the caller, which errors name.

    >>> energy = xarray.DataArray([9.0, 1.0, 2.0], {"time": [0.0, 1.0, 3.0]}, attrs={"units": "J"})
    >>> time_mean(xarray.Dataset({"energy": energy}), "energy", "of")
    Scalar(value=1.6666666666666667, unit='J', text='mean of energy')
    """
    group, _, name = path.strip("/").rpartition("/")
    node: Any = result
    for part in filter(None, group.split("/")):
        node = node.children.get(part) if isinstance(node, xarray.DataTree) else None
    if node is None or name not in node.data_vars:
        known = _paths(result)
        rule = f"the result has no such variable; there are {', '.join(known)}{meant(path, known)}"
        raise UserError.parameter(parameter, path, rule)
    array = node[name]
    if array.dims not in ((), ("time",)):
        rule = (
            f"has the dimensions {', '.join(map(str, array.dims))}: give a function of the result that takes a number"
        )
        raise UserError.parameter(parameter, path, rule)
    text = str(array.attrs.get("long_name", name))
    unit = str(array.attrs.get("units", "1"))
    if not array.ndim:
        return Scalar(float(array), unit, text)
    steps = np.diff(array["time"].values)
    if not steps.size:
        raise UserError.parameter(parameter, path, "has no step to take a mean of")
    return Scalar(float(steps @ array.values[1:] / steps.sum()), unit, f"mean of {text}")


def _paths(result: xarray.DataTree | xarray.Dataset) -> list[str]:
    """Paths of the variables that are numbers or on time alone."""
    nodes = result.subtree if isinstance(result, xarray.DataTree) else [result]
    return [
        f"{getattr(node, 'path', '')}/{name}".strip("/")
        for node in nodes
        for name, array in node.data_vars.items()
        if array.dims in ((), ("time",)) and array.dtype.kind in "biuf"
    ]
