"""The metadata of a Zarr v3 store, checked before use: a result on disk is untrusted data.

Groups, arrays of plain kinds in regular chunks, codecs that only pack numbers and texts; attributes are texts and
numbers. Anything else is left out and named; the rest can be used.
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
from arlequin.results.bounds import LARGEST_INTEGER
from arlequin.results.files import read_json
from arlequin.results.zarr_layout import HEADER

FILE = "zarr.json"
GROWING = ("time", "frame")  # dimensions whose whole length need not fit into memory
MAX_CHUNK_BYTES = 2**31 - 1  # bytes, of Blosc
_MAX_GROUP_DEPTH = 8  # of groups in groups
_MAX_PATH = 1000  # characters
_MAX_ATTRIBUTES = 1000
_MAX_ENTRIES, _FREE_ENTRIES = 100_000, 100  # arrays and groups; without files
_COMPRESSORS = ("blosc", "zstd")
_CODECS = ("bytes", *_COMPRESSORS, "crc32c", "vlen-utf8", "transpose")
_TEXT = "string"
_TYPES = {
    _TEXT, "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
}  # fmt: skip


@dataclass(frozen=True)
class ArrayEntry:
    """One array of a store: its path, its metadata as zarr takes them, and their content."""

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
    """Content of a store: attributes of the root and, by path, of the groups; arrays; lost: why a path is left out."""

    attributes: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    arrays: dict[str, ArrayEntry] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)


def read_metadata(folder: Path) -> Metadata:
    """The metadata of a store; ValueError or OSError where its root cannot be read.

    The root has a copy of all metadata; where an entry of it is damaged the array's own file serves, and where the root
    is, the copy of its attributes and all these files.
    """
    metadata = Metadata()
    try:
        root = _root(folder)
        metadata.attributes = _plain(root.get("attributes"))
    except (ValueError, OSError) as error:
        root = {}
        try:
            metadata.attributes = _plain(read_json(folder / HEADER).get("attributes"))
        except (ValueError, OSError, AttributeError):
            raise error from None
        metadata.lost[FILE] = f"{error}; the copy in {HEADER} and the metadata of each array are read"
    consolidated = root.get("consolidated_metadata")
    entries = consolidated.get("metadata") if isinstance(consolidated, dict) else None
    paths = _existing(folder, entries) if isinstance(entries, dict) else dict(_walk(folder, ""))
    for path, entry in sorted(paths.items()):
        try:
            _take(metadata, path, entry)
        except ValueError as error:
            metadata.lost[path] = str(error)
            if entry is not None and _is_path(path):
                try:
                    _take(metadata, path, read_json(folder / path / FILE))
                    del metadata.lost[path]
                except (ValueError, OSError):
                    pass
    above = {"/".join(names[:n]) for names in (path.split("/") for path in paths) for n in range(1, len(names))}
    for path in above & set(metadata.arrays):
        del metadata.arrays[path]
        metadata.lost[path] = "it is an array and a group"
    return metadata


def _existing(folder: Path, entries: dict[str, Any]) -> dict[str, Any]:
    """The entries, of many only those with a folder; ValueError where there are more than any result has."""
    if len(entries) > _MAX_ENTRIES:
        raise ValueError(f"its {FILE} has {len(entries)} arrays and groups, more than {_MAX_ENTRIES}")
    if len(entries) <= _FREE_ENTRIES:
        return entries
    return {path: told for path, told in entries.items() if _is_path(path) and (folder / path).is_dir()}


def _root(folder: Path) -> dict[str, Any]:
    """The metadata of the root; ValueError or OSError where they cannot be read."""
    root = read_json(folder / FILE)
    if not isinstance(root, dict) or root.get("node_type") != "group" or root.get("zarr_format") != 3:
        raise ValueError(f"its {FILE} is not that of a Zarr v3 group")
    return root


def _take(metadata: Metadata, path: str, entry: Any) -> None:
    """Add the group or array of an entry; ValueError where results have no such entry."""
    if not _is_path(path):
        raise ValueError("not a name")
    if not isinstance(entry, dict) or entry.get("zarr_format") != 3:
        raise ValueError("its metadata cannot be read")
    if entry.get("node_type") == "group":
        metadata.groups[path] = _plain(entry.get("attributes"))
    elif entry.get("node_type") == "array":
        metadata.arrays[path] = _array(path, entry)
    else:
        raise ValueError("neither a group nor an array")


def _array(path: str, entry: Mapping[str, Any]) -> ArrayEntry:
    """The entry of an array; ValueError where results have no such array."""
    shape, kind = _lengths(entry.get("shape"), 0), entry.get("data_type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ValueError(f"its data type is {kind!r:.40}")
    grid, keys = entry.get("chunk_grid"), entry.get("chunk_key_encoding")
    if _name_of(grid) != "regular" or _name_of(keys) != "default" or _options(keys).get("separator", "/") != "/":
        raise ValueError("its chunks are not regular")
    chunks = _lengths(_options(grid).get("chunk_shape"), 1)
    codecs = entry.get("codecs")
    names = (
        [_name_of(codec) for codec in codecs] if isinstance(codecs, list) and len(codecs) <= len(_CODECS) else [None]
    )
    if not set(names) <= set(_CODECS) or not names or sum(name in _COMPRESSORS for name in names) > 1:
        raise ValueError("it is packed by a codec that results do not have")
    if entry.get("storage_transformers"):
        raise ValueError("it has storage transformers")
    dims = entry.get("dimension_names") or []
    named = isinstance(dims, list) and all(isinstance(dim, str) and _is_path(dim) for dim in dims)
    if not named or len(set(dims)) != len(dims) or not len(dims) == len(shape) == len(chunks):
        raise ValueError("its shape, chunks and dimensions contradict each other")
    size = 16 if kind == _TEXT else np.dtype(kind).itemsize
    fixed = math.prod(n for n, dim in zip(shape, dims, strict=True) if dim not in GROWING)
    if size * math.prod(chunks) > MAX_CHUNK_BYTES or size * fixed > memory() or max(shape, default=0) >= 2**48:
        raise ValueError(f"its shape {shape} in chunks of {chunks} is none that a result has")
    about = {name: str(value) for name, value in _plain(entry.get("attributes")).items()}
    # of missing chunks: a long text would be repeated for every value
    fill: Any = "" if kind == _TEXT else "NaN" if kind.startswith("float") else False if kind == "bool" else 0
    clean = {name: entry[name] for name in _KEYS if name in entry} | {"fill_value": fill, "attributes": {}}
    return ArrayEntry(path, clean, shape, chunks, tuple(dims), about)


_KEYS = (
    "zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs", "dimension_names",
)  # fmt: skip


def _lengths(lengths: Any, minimum: int) -> tuple[int, ...]:
    if not isinstance(lengths, list) or len(lengths) > 32 or not all(type(n) is int and n >= minimum for n in lengths):
        raise ValueError("its shape or its chunks are not whole numbers")
    return tuple(lengths)


def _name_of(item: Any) -> Any:
    return item.get("name") if isinstance(item, dict) and isinstance(item.get("name"), str) else None


def _options(item: Any) -> dict[str, Any]:
    options = item.get("configuration") if isinstance(item, dict) else None
    return options if isinstance(options, dict) else {}


def _plain(attributes: Any) -> dict[str, Any]:
    """The attributes that are text or numbers, the only kinds in results, with `?` for lone surrogates."""
    if not isinstance(attributes, dict) or len(attributes) > _MAX_ATTRIBUTES:
        return {}
    return {
        _encodable(name): _encodable(value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if isinstance(value, str | float) or (isinstance(value, int) and abs(value) < LARGEST_INTEGER)
    }


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _is_path(path: str) -> bool:
    """Whether a path stays within the store."""
    if not path or len(path) > _MAX_PATH or path.count("/") > _MAX_GROUP_DEPTH or path != _encodable(path):
        return False
    return all(name not in ("", ".", "..") and "\0" not in name for name in path.split("/"))


def _walk(folder: Path, path: str) -> Iterator[tuple[str, Any]]:
    """Entries below a group, by path, for a store whose root has no copy of them; None where unreadable."""
    if path.count("/") > _MAX_GROUP_DEPTH:
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


def refuse_odd_files(folder: Path, label: str) -> None:
    """UserError where a store contains anything but files and folders: reading a pipe would block."""
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            kind = os.lstat(os.path.join(place, name)).st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                where = os.path.relpath(os.path.join(place, name), folder)
                raise UserError(f"{label}: damaged: {where} is not a file: run it anew", code=1)
