"""The metadata of a Zarr v3 store, checked before anything is made from them: a result on disk is data of anybody.

Groups, arrays of plain kinds in regular chunks, codecs that only pack numbers and texts; attributes are texts and
numbers. What is anything else is left out and named; the rest can be used.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.limits import memory
from arlequin.results.files import read_json

FILE = "zarr.json"
GROWING = ("time", "frame")  # dimensions whose whole length need not fit into memory
MOST_CHUNK = 2**31 - 1  # bytes, of Blosc
_DEEPEST = 8  # of groups in groups
_CODECS = ("bytes", "blosc", "zstd", "gzip", "crc32c", "vlen-utf8", "transpose")
_TEXT = "string"
_TYPES = {
    _TEXT, "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
}  # fmt: skip


@dataclass(frozen=True)
class ArrayEntry:
    """One array: where it is, its metadata as zarr takes them, and what they say."""

    path: str
    told: dict[str, Any]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dims: tuple[str, ...]
    attributes: dict[str, Any]

    @property
    def group(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass
class Metadata:
    """attributes: of the root; groups: those of the others, by path; lost: why an array or group is left out."""

    attributes: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    arrays: dict[str, ArrayEntry] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)


def read_metadata(folder: Path) -> Metadata:
    """Of a store; ValueError or OSError where its root cannot be read.

    The root has a copy of all metadata; where an entry of it is damaged the array's own file serves.
    """
    root = read_json(folder / FILE)
    if not isinstance(root, dict) or root.get("node_type") != "group" or root.get("zarr_format") != 3:
        raise ValueError(f"its {FILE} is not that of a Zarr v3 group")
    found = Metadata(_plain(root.get("attributes")))
    consolidated = root.get("consolidated_metadata")
    entries = consolidated.get("metadata") if isinstance(consolidated, dict) else None
    known = entries if isinstance(entries, dict) else dict(_walk(folder, ""))
    for path, told in sorted(known.items()):
        try:
            _take(found, path, told)
        except ValueError as error:
            found.lost[path] = str(error)
            if told is not None and _is_path(path):
                try:
                    _take(found, path, read_json(folder / path / FILE))
                    del found.lost[path]
                except (ValueError, OSError):
                    pass
    for path in list(found.arrays):
        if any(other.startswith(f"{path}/") for other in (*found.arrays, *found.groups)):
            del found.arrays[path]
            found.lost[path] = "it is an array and a group"
    return found


def _take(found: Metadata, path: str, told: Any) -> None:
    """Adds what an entry says; ValueError where it is none of a result's."""
    if not _is_path(path):
        raise ValueError("not a name")
    if not isinstance(told, dict) or told.get("zarr_format") != 3:
        raise ValueError("its metadata cannot be read")
    if told.get("node_type") == "group":
        found.groups[path] = _plain(told.get("attributes"))
    elif told.get("node_type") == "array":
        found.arrays[path] = _array(path, told)
    else:
        raise ValueError("neither a group nor an array")


def _array(path: str, told: Mapping[str, Any]) -> ArrayEntry:
    """The entry of an array; ValueError where it is of a kind that no result has."""
    shape, kind = _lengths(told.get("shape"), 0), told.get("data_type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ValueError(f"its data type is {kind!r:.40}")
    grid, keys = told.get("chunk_grid"), told.get("chunk_key_encoding")
    if _name_of(grid) != "regular" or _name_of(keys) != "default" or _options(keys).get("separator", "/") != "/":
        raise ValueError("its chunks are not regular")
    chunks = _lengths(_options(grid).get("chunk_shape"), 1)
    codecs = told.get("codecs")
    if not isinstance(codecs, list) or not codecs or not {_name_of(codec) for codec in codecs} <= set(_CODECS):
        raise ValueError("it is packed by a codec that results do not have")
    if told.get("storage_transformers"):
        raise ValueError("it has storage transformers")
    dims = told.get("dimension_names") or []
    named = isinstance(dims, list) and all(isinstance(dim, str) and _is_path(dim) for dim in dims)
    if not named or len(set(dims)) != len(dims) or not len(dims) == len(shape) == len(chunks):
        raise ValueError("its shape, chunks and dimensions contradict each other")
    size = 16 if kind == _TEXT else np.dtype(kind).itemsize
    fixed = math.prod(n for n, dim in zip(shape, dims, strict=True) if dim not in GROWING)
    if size * math.prod(chunks) > MOST_CHUNK or size * fixed > memory() or max(shape, default=0) >= 2**48:
        raise ValueError(f"its shape {shape} in chunks of {chunks} is none that a result has")
    about = {name: str(value) for name, value in _plain(told.get("attributes")).items()}
    return ArrayEntry(path, {**told, "attributes": {}}, shape, chunks, tuple(dims), about)


def _lengths(given: Any, least: int) -> tuple[int, ...]:
    if not isinstance(given, list) or len(given) > 32 or not all(type(n) is int and n >= least for n in given):
        raise ValueError("its shape or its chunks are not whole numbers")
    return tuple(given)


def _name_of(given: Any) -> Any:
    return given.get("name") if isinstance(given, dict) and isinstance(given.get("name"), str) else None


def _options(given: Any) -> dict[str, Any]:
    found = given.get("configuration") if isinstance(given, dict) else None
    return found if isinstance(found, dict) else {}


def _plain(given: Any) -> dict[str, Any]:
    """The attributes that are texts and numbers, the only kinds a result carries."""
    if not isinstance(given, dict):
        return {}
    return {name: value for name, value in given.items() if isinstance(value, str | int | float)}


def _is_path(path: str) -> bool:
    """Whether a path stays within the store."""
    return bool(path) and all(name not in ("", ".", "..") and "\0" not in name for name in path.split("/"))


def _walk(folder: Path, path: str) -> Iterator[tuple[str, Any]]:
    """All that is below a group, of a store whose root has no copy; None where a file cannot be read."""
    if path.count("/") > _DEEPEST:
        return
    for entry in sorted(os.scandir(folder / path), key=lambda entry: entry.name):
        below = f"{path}/{entry.name}".strip("/")
        if not entry.is_dir(follow_symlinks=False) or not (folder / below / FILE).exists():
            continue
        try:
            told = read_json(folder / below / FILE)
        except (ValueError, OSError):
            told = None
        yield below, told
        if isinstance(told, dict) and told.get("node_type") == "group":
            yield from _walk(folder, below)


def refuse_odd_files(folder: Path, given: str) -> None:
    """UserError where a store has other things than files and folders: a pipe would be waited for."""
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            kind = os.lstat(os.path.join(place, name)).st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                where = os.path.relpath(os.path.join(place, name), folder)
                raise UserError(f"{given}: damaged: {where} is not a file: run it anew", code=1)
