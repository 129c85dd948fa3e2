"""A result on disk as an xarray.DataTree, cropped to what was recorded, without what is damaged.

zarr decodes the chunks and xarray indexes lazily. `xarray.open_datatree` itself does not serve: one changed bit
refuses the whole result, a chunk that is missing is nan without a word, and what a store of kilobytes declares is
allocated. Metadata (`zarr_metadata`) and heads of chunks (`zarr_chunks`) are therefore checked before zarr sees them,
and the chunks of a selection that cannot be read are read one by one.
"""

from __future__ import annotations

import itertools
import os
import stat
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from arlequin.models.errors import FAILURE, UserError
from arlequin.results.bounds import present_rows, why_not_there
from arlequin.results.damage import DamageWarning, warn_and_skip, warn_damaged
from arlequin.results.files import recorded_rows
from arlequin.results.zarr_chunks import check_chunk
from arlequin.results.zarr_layout import AUXILIARY, COMPARISON, WHOLE
from arlequin.results.zarr_metadata import GROWING, ArrayEntry, Metadata, read_metadata


class ZarrArray(BackendArray):
    """What xarray reads lazily; floats are nan in chunks that cannot be read, as a `DamageWarning` says.

    A damaged chunk of integers, which have no nan, or of texts is a UserError. complete: whether every chunk of the
    recorded rows must exist; else a missing one stands for nan, which such stores do not write.
    """

    def __init__(self, folder: Path, label: str, entry: ArrayEntry, complete: bool) -> None:
        import zarr
        from zarr.storage import LocalStore, StorePath

        self._place, self._label, self._entry, self._complete = folder / entry.path, label, entry, complete
        store = StorePath(LocalStore(folder, read_only=True), entry.path)
        told: Any = entry.told
        self._array: Any = zarr.Array(zarr.AsyncArray(told, store))
        self.shape = entry.shape
        self.dtype = np.dtype(self._array.dtype)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        """Values at a key of integers, slices and arrays of indices, one for each axis."""
        rows = [_places(k, n) for n, k in zip(self.shape, key, strict=True)]
        drop = tuple(axis for axis, k in enumerate(key) if isinstance(k, int | np.integer))
        values, reason = self._all(rows)
        if values is None:
            values = np.full([row.size for row in rows], np.nan, self.dtype) if self.dtype.kind == "f" else None
            for places, taken in self._by_chunk(rows):
                part, wrong = self._all(taken)
                reason = reason or wrong
                if values is not None and part is not None:
                    values[np.ix_(*places)] = part
        if reason:
            if values is None:
                raise UserError(f"{self._label}: {self._entry.path} is damaged: {reason}", FAILURE)
            warn_damaged(self._label, self._entry.path, f"nan where it cannot be read ({reason})")
        assert values is not None
        return values.squeeze(axis=drop) if drop else values

    def _all(self, rows: list[NDArray[np.int64]]) -> tuple[NDArray[Any] | None, str]:
        """Values at some rows of each axis, or the reason why they cannot be read."""
        if not all(row.size for row in rows):
            return np.empty([row.size for row in rows], self.dtype), ""
        try:
            for chunk in itertools.product(*map(np.unique, self._chunks(rows))):
                self._check(chunk)
            return np.asarray(self._array.oindex[tuple(map(_slice, rows))] if rows else self._array[()]), ""
        except (Exception, MemoryError) as error:  # whatever a codec says of bytes that it has not written
            said = getattr(error, "strerror", None) or str(error) or type(error).__name__
            return None, "its checksum is another" if "checksum" in said else " ".join(said.split())[:120]

    def _check(self, chunk: tuple[Any, ...]) -> None:
        """ValueError or OSError where the file of a chunk is missing or none: of a pipe, reading would not end."""
        file = self._place.joinpath("c", *map(str, chunk))
        try:
            about = os.stat(file)
        except FileNotFoundError:
            if self._complete:
                raise ValueError(f"the chunk {'/'.join(map(str, chunk)) or 'c'} is missing") from None
            return
        if not stat.S_ISREG(about.st_mode):
            raise ValueError(f"{file.relative_to(self._place)} is not a file")
        check_chunk(file, about.st_size, self._entry.chunks, self._entry.told)

    def _by_chunk(self, rows: list[NDArray[np.int64]]) -> Iterator[tuple[list[Any], list[NDArray[np.int64]]]]:
        """For each chunk that the rows are in: the places in the rows, and the rows."""
        chunks = self._chunks(rows)
        for chunk in itertools.product(*map(np.unique, chunks)):
            places = [np.flatnonzero(axis_chunks == n) for axis_chunks, n in zip(chunks, chunk, strict=True)]
            yield places, [row[place] for row, place in zip(rows, places, strict=True)]

    def _chunks(self, rows: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """The chunk of each row, along each axis."""
        return [row // n for row, n in zip(rows, self._entry.chunks, strict=True)]


def _places(key: Any, length: int) -> NDArray[np.int64]:
    """The rows that a key names on an axis."""
    return np.arange(*key.indices(length)) if isinstance(key, slice) else np.atleast_1d(key) % length


def _slice(rows: NDArray[np.int64]) -> Any:
    """Consecutive rows as a slice, which zarr reads faster."""
    begin, end = int(rows[0]), int(rows[-1]) + 1
    return slice(begin, end) if end - begin == rows.size and (np.diff(rows) == 1).all() else rows


_NAMED = 20  # damaged arrays named one by one
_BLOCK = 64 * 2**20  # bytes read at a time


def read_tree(folder: Path, label: str) -> xarray.DataTree:
    """The result in a folder, read lazily; damaged arrays are left out, damaged chunks nan, with a `DamageWarning`.

    UserError where neither the root's metadata nor its `time` can be read.
    """
    try:
        metadata = read_metadata(folder)
    except ValueError as error:
        raise UserError(f"{label}: not readable as a result: {error}", FAILURE) from error
    complete = bool(metadata.attributes.pop(WHOLE, 0))
    _drop_contradictions(metadata)
    variables = {}
    for path, entry in metadata.arrays.items():
        try:
            # what these do not cover was not recorded
            all_chunks = complete and entry.name not in ("time", "frame_time")
            variables[path] = _variable(ZarrArray(folder, label, entry, all_chunks), entry)
        except Exception as error:  # zarr refuses what has passed our own checks
            metadata.lost[path] = " ".join(str(error).split())[:120]
    if "time" not in variables:
        reason = f": it is damaged: {metadata.lost['time']}" if "time" in metadata.lost else ": not a result"
        raise UserError(f"{label}: a Zarr group without `time`{reason}", FAILURE if "time" in metadata.lost else 2)
    for path in ("time", "frame_time"):
        if path in variables:  # a length of 10¹² with one chunk is not looped over
            rows = present_rows(folder / path, metadata.arrays[path].chunks[0])
            variables[path] = variables[path].isel({variables[path].dims[0]: slice(rows)})
    block = max((metadata.arrays[path].chunks[0] for path in ("time", "frame_time") if path in variables), default=1)
    recorded = recorded_rows(variables["time"], variables.get("frame_time"), block)
    for path in list(variables):
        entry = metadata.arrays[path]
        lengths = {dim: rows.stop for dim, rows in recorded.items()}
        shape = [min(n, lengths.get(dim, n)) for n, dim in zip(entry.shape, entry.dims, strict=True)]
        if reason := why_not_there(folder / path, shape, entry.chunks, np.dtype(variables[path].dtype).itemsize):
            metadata.lost[path] = reason
            del variables[path]
    if "time" not in variables:
        raise UserError(f"{label}: a Zarr group without `time`: it is damaged: {metadata.lost['time']}", FAILURE)
    for path, reason in list(metadata.lost.items())[:_NAMED]:
        warn_damaged(label, path, reason)
    if len(metadata.lost) > _NAMED:
        warn_damaged(label, f"and {len(metadata.lost) - _NAMED} more of its arrays and groups", "they are left out")
    if _is_short(metadata.attributes, recorded["time"].stop):
        warn_damaged(label, "time", f"it has {recorded['time'].stop} instants, though the run is complete")
    groups: dict[str, dict[str, Any]] = {"": {}, **{path: {} for path in metadata.groups}}
    for path, variable in variables.items():
        entry = metadata.arrays[path]
        cropped = variable.isel({dim: rows for dim, rows in recorded.items() if dim in variable.dims})
        try:
            groups.setdefault(entry.group, {})[entry.name] = _with_labels(cropped, entry)
        except UserError as error:
            warnings.warn(str(error), DamageWarning, stacklevel=2)
    try:
        return xarray.DataTree.from_dict(
            {
                "/" + group: dataset_of(variables_of_group, metadata.groups.get(group, metadata.attributes))
                for group, variables_of_group in groups.items()
            }
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{label}: damaged: its arrays contradict each other: {error}", FAILURE) from error


def read_through(tree: xarray.DataTree) -> None:
    """Read all of a result once, block by block, so that `DamageWarning`s name what is damaged."""
    for node in tree.subtree:
        for name, variable in node.to_dataset(inherit=False).variables.items():
            row = variable.nbytes // max(variable.shape[0], 1) if variable.ndim else 0
            some = max(1, _BLOCK // max(row, 1))
            with warn_and_skip(f"{node.path}/{name}".strip("/")):
                for start in range(0, variable.shape[0] if variable.ndim else 1, some):
                    np.asarray((variable[start : start + some] if variable.ndim else variable).values)


def size_of(folder: Path) -> int:
    """Size (bytes) of the files of a result without its comparison runs."""
    apart = os.path.join(folder, COMPARISON)
    total = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(place, name) != apart]
        total += sum(os.lstat(os.path.join(place, name)).st_size for name in names)
    return total


def _is_short(attributes: dict[str, Any], instants: int) -> bool:
    """Whether a complete run has fewer recorded instants than steps."""
    steps = attributes.get("steps", attributes.get("steps_planned"))
    return bool(attributes.get("complete")) and isinstance(steps, int) and instants < steps + 1


def _variable(array: ZarrArray, entry: ArrayEntry) -> xarray.Variable:
    """A variable read on first access and then cached."""
    lazy: Any = indexing.LazilyIndexedArray(array)
    return xarray.Variable(entry.dims, indexing.MemoryCachedArray(indexing.CopyOnWriteArray(lazy)), entry.attributes)


def _with_labels(variable: xarray.Variable, entry: ArrayEntry) -> xarray.Variable:
    """The variable; labels of a dimension are read at once, as xarray needs them."""
    if entry.dims == (entry.name,):
        return xarray.Variable(entry.dims, np.asarray(variable.values), entry.attributes)
    return variable


def dataset_of(variables: dict[str, Any], attributes: dict[str, Any]) -> xarray.Dataset:
    """Dataset of a group; its auxiliary coordinates are named by the attribute `coordinates` on disk."""
    auxiliary = {name: variable for name, variable in variables.items() if name in AUXILIARY}
    data = {name: variable for name, variable in variables.items() if name not in AUXILIARY}
    return xarray.Dataset(data, auxiliary, {k: v for k, v in attributes.items() if k != "coordinates"})


def _drop_contradictions(metadata: Metadata) -> None:
    """Remove arrays whose lengths contradict the other arrays of the group, or the root's along time and frame."""
    arrays = metadata.arrays
    for path in ("time", "frame_time"):
        if path in arrays and arrays[path].dims != ("frame" if path == "frame_time" else path,):
            metadata.lost[path] = "it is not on its own dimension"
            del arrays[path]
    lengths: dict[tuple[str, str], Counter[int]] = {}
    for entry in arrays.values():
        for dim, n in zip(entry.dims, entry.shape, strict=True):
            lengths.setdefault((entry.group, dim), Counter())[n] += 1
    for path, entry in list(arrays.items()):
        for dim, n in zip(entry.dims, entry.shape, strict=True):
            root = arrays.get("frame_time" if dim == "frame" else dim)
            shared = root is not None and root.dims == (dim,)
            expected = root.shape[0] if shared and root is not None else lengths[entry.group, dim].most_common(1)[0][0]
            if n != expected or (dim in GROWING and not shared):
                metadata.lost[path] = f"it has {n} along {dim}, where there are {expected}"
                del arrays[path]
                break
