"""A result on disk as an xarray.DataTree, cropped to what was recorded, without what is damaged."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from xarray.core import indexing

from arlequin.damage import DamageWarning, say_damaged, without
from arlequin.recorded_rows import kept_rows
from arlequin.zarr_array import ZarrArray
from arlequin.zarr_layout import AUXILIARY, WHOLE
from arlequin.zarr_metadata import GROWING, ArrayEntry, Metadata, read_metadata
from models.errors import FAILURE, UserError

_BLOCK = 64 * 2**20  # bytes that are read at once


def read_tree(folder: Path, given: str) -> xarray.DataTree:
    """Lazily read; what cannot be is left out, or nan, and named by a `DamageWarning`.

    UserError where neither the root's metadata nor its `time` can be read.
    """
    try:
        found = read_metadata(folder)
    except ValueError as error:
        raise UserError(f"{given}: not readable as a result: {error}", FAILURE) from error
    whole = bool(found.attributes.pop(WHOLE, 0))
    _drop_contradictions(found)
    variables = {}
    for path, entry in found.arrays.items():
        try:
            # what these do not cover was not recorded
            every = whole and entry.name not in ("time", "frame_time")
            variables[path] = _variable(ZarrArray(folder, given, entry, every), entry)
        except Exception as error:  # zarr refuses what has passed our own checks
            found.lost[path] = " ".join(str(error).split())[:120]
    if "time" not in variables:
        why = f": it is damaged: {found.lost['time']}" if "time" in found.lost else ": not a result"
        raise UserError(f"{given}: a Zarr group without `time`{why}", FAILURE if "time" in found.lost else 2)
    for path, why in found.lost.items():
        say_damaged(given, path, why)
    kept = kept_rows(variables["time"], variables.get("frame_time"))
    if _is_short(found.attributes, kept["time"].stop):
        say_damaged(given, "time", f"it has {kept['time'].stop} instants, though the run is complete")
    groups: dict[str, dict[str, Any]] = {"": {}, **{path: {} for path in found.groups}}
    for path, variable in variables.items():
        entry = found.arrays[path]
        cropped = variable.isel({dim: rows for dim, rows in kept.items() if dim in variable.dims})
        try:
            groups.setdefault(entry.group, {})[entry.name] = _with_labels(cropped, entry)
        except UserError as error:
            warnings.warn(str(error), DamageWarning, stacklevel=2)
    try:
        return xarray.DataTree.from_dict(
            {"/" + group: _dataset(own, found.groups.get(group, found.attributes)) for group, own in groups.items()}
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{given}: damaged: its arrays contradict each other: {error}", FAILURE) from error


def read_through(tree: xarray.DataTree) -> None:
    """Reads all that was recorded once, some of it at a time, so that what is damaged is said."""
    for node in tree.subtree:
        for name, variable in node.to_dataset(inherit=False).variables.items():
            row = variable.nbytes // max(variable.shape[0], 1) if variable.ndim else 0
            some = max(1, _BLOCK // max(row, 1))
            with without(f"{node.path}/{name}".strip("/")):
                for start in range(0, variable.shape[0] if variable.ndim else 1, some):
                    np.asarray((variable[start : start + some] if variable.ndim else variable).values)


def size_of(folder: Path) -> int:
    """Bytes of all files of a result."""
    files = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    return sum(os.lstat(file).st_size for file in files)


def _is_short(attributes: dict[str, Any], instants: int) -> bool:
    """Whether a run that is complete has fewer instants than it took steps."""
    steps = attributes.get("steps", attributes.get("steps_planned"))
    return bool(attributes.get("complete")) and isinstance(steps, int) and instants < steps + 1


def _variable(array: ZarrArray, entry: ArrayEntry) -> xarray.Variable:
    """Read when it is asked for, and then kept."""
    lazy: Any = indexing.LazilyIndexedArray(array)
    return xarray.Variable(entry.dims, indexing.MemoryCachedArray(indexing.CopyOnWriteArray(lazy)), entry.attributes)


def _with_labels(variable: xarray.Variable, entry: ArrayEntry) -> xarray.Variable:
    """The labels of a dimension, which xarray needs at once, are read."""
    if entry.dims == (entry.name,):
        return xarray.Variable(entry.dims, np.asarray(variable.values), entry.attributes)
    return variable


def _dataset(own: dict[str, xarray.Variable], attributes: dict[str, Any]) -> xarray.Dataset:
    """A group, with its auxiliary coordinates, which an attribute of the group names on disk."""
    auxiliary = {name: variable for name, variable in own.items() if name in AUXILIARY}
    data = {name: variable for name, variable in own.items() if name not in AUXILIARY}
    return xarray.Dataset(data, auxiliary, {k: v for k, v in attributes.items() if k != "coordinates"})


def _drop_contradictions(found: Metadata) -> None:
    """Leaves out arrays whose lengths are not those of the others of the group, and of the root along time."""
    arrays = found.arrays
    lengths: dict[tuple[str, str], Counter[int]] = {}
    for entry in arrays.values():
        for dim, n in zip(entry.dims, entry.shape, strict=True):
            lengths.setdefault((entry.group, dim), Counter())[n] += 1
    for path, entry in list(arrays.items()):
        for dim, n in zip(entry.dims, entry.shape, strict=True):
            root = arrays.get("frame_time" if dim == "frame" else dim)
            shared = root is not None and root.dims == (dim,)
            meant = root.shape[0] if shared and root is not None else lengths[entry.group, dim].most_common(1)[0][0]
            if n != meant or (dim in GROWING and not shared):
                found.lost[path] = f"it has {n} along {dim}, where there are {meant}"
                del arrays[path]
                break
