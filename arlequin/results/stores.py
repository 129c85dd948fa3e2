"""Storage of a result during recording: NumPy arrays in memory, or a Zarr v3 store on disk.

Both have the same layout and yield the same tree: a recorder need not distinguish them.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import shutil
import stat
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.results.files import file_errors, read_json, recorded_rows
from arlequin.results.room import check_disk, check_memory
from arlequin.results.writer_lock import last_writer, refuse_while_written, writer_lock
from arlequin.results.writing import MARK, draft_of, refuse_link, replacing, sync, sync_all, sync_many
from arlequin.results.zarr_layout import COMPARISON, HEADER, WHOLE, consolidate, create, write_header
from arlequin.results.zarr_metadata import FILE, read_metadata, refuse_odd_files
from arlequin.results.zarr_reading import dataset_of, read_tree

Attributes = dict[str, str | int | float]

DRAFT_MARK = ".draft"  # file in a draft with the names of its result and of itself


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


class MemoryStore:
    """Arrays in memory, valid as far as `time` and `frame_time` are numbers."""

    def __init__(self, columns: Sequence[Column], attributes: Attributes) -> None:
        self.columns = tuple(columns)
        self.attributes = dict(attributes)
        check_memory(c.shape for c in columns)
        self.arrays = {c.key: np.empty(c.shape) if c.data is None else c.data for c in columns}
        for c in columns:
            if c.name in ("time", "frame_time"):  # what these do not cover is cropped: memory is touched when used
                self.arrays[c.key].fill(np.nan)

    def write(self, key: tuple[str, str], start: int, rows: NDArray[np.float64]) -> None:
        self.arrays[key][start : start + len(rows)] = rows

    def read(self, key: tuple[str, str], start: int, stop: int) -> NDArray[np.float64]:
        return self.arrays[key][start:stop]

    def annotate(self, attributes: Attributes) -> None:
        self.attributes.update(attributes)

    def tree(self) -> xarray.DataTree:
        """The result up to the last recorded row."""
        root = {c.name: _variable(c.dims, self.arrays[c.key]) for c in self.columns if not c.group}
        recorded = recorded_rows(root["time"], root.get("frame_time"))
        groups: dict[str, dict[str, xarray.Variable]] = {"": {}}
        for c in self.columns:
            rows = tuple(recorded.get(dim, slice(None)) for dim in c.dims)
            groups.setdefault(c.group, {})[c.name] = _variable(c.dims, self.arrays[c.key][rows], dict(c.attributes))
        datasets = {
            "/" + group: dataset_of(variables, {} if group else self.attributes) for group, variables in groups.items()
        }
        return xarray.DataTree.from_dict(datasets)

    def close(self) -> None:
        pass


def _variable(dims: tuple[str, ...], values: NDArray[Any], attributes: Attributes | None = None) -> xarray.Variable:
    """A variable of a NumPy array as it is: looking for masked arrays of Dask in it would import Dask, 0.3 s."""
    return xarray.Variable(dims, values, attributes, fastpath=True)


class ZarrStore:
    """A Zarr v3 folder with every array at its full length from the start: readable whenever it is killed.

    It is made beside `path` and moved there once complete, so that `path` is the earlier result or the new
    one and never half a store; chunks and metadata are replaced atomically by zarr. A lock on the folder,
    which dies with the process, keeps a second run from replacing a result that is being written. What is made
    beside `path` bears a mark with its own name, and of killed runs only what bears it is removed.
    """

    def __init__(self, path: str | Path, columns: Sequence[Column], attributes: Attributes, overwrite: bool) -> None:
        self.label = str(path)
        with file_errors(self.label):
            refuse_link(path)
            self.path = Path(path).resolve()
            refuse_to_replace(self.path, self.label, overwrite)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            check_disk((c.shape for c in columns), self.path.parent, self.label)
            remove_drafts(self.path)
            draft = draft_of(self.path)
            draft.mkdir()
            lock = writer_lock(draft, self.label)
            try:
                _mark(draft, self.path, draft)
                create(draft, columns, attributes)
                _move(draft, self.path, self.label)
            except BaseException:
                os.close(lock)
                _remove(draft)
                raise
            self._open(lock)

    @classmethod
    def reopen(cls, path: str | Path, columns: Sequence[Column]) -> ZarrStore:
        """The store of an interrupted run, with the same columns, opened for writing.

        All metadata, and the static data, are written again: they follow from the columns, whatever has become of them.
        """
        store = cls.__new__(cls)
        store.label, store.path = str(path), Path(path).resolve()
        with file_errors(store.label):
            refuse_link(path)
            lock = writer_lock(store.path, store.label)
            try:
                refuse_odd_files(store.path, store.label)
                store._restore(columns)
            except BaseException:
                os.close(lock)
                raise
            store._open(lock)
        return store

    def _restore(self, columns: Sequence[Column]) -> None:
        """Write metadata and static data again; UserError where the store has other arrays than the columns."""
        try:
            metadata = read_metadata(self.path)
        except ValueError as error:
            raise UserError(f"{self.label}: not readable as a result: {error}", 1) from error
        for c in columns:
            name = "/".join(filter(None, c.key))
            entry = metadata.arrays.get(name)
            if entry is None and not (name in metadata.lost or (self.path / name / "c").is_dir()):
                raise UserError(f"{self.label}: it has no {name}: run it anew")
            if entry is not None and (entry.shape, entry.chunks) != (c.shape, tuple(max(1, n) for n in c.chunks)):
                raise UserError(f"{self.label}: its {name} has another shape: run it anew")
        remove_drafts(self.path)
        draft = draft_of(self.path)
        draft.mkdir()
        static = {self.path.joinpath(*c.key) for c in columns if c.static}
        try:
            with contextlib.closing(_Lock(writer_lock(draft, self.label))):
                _mark(draft, self.path, draft)
                create(draft, columns, metadata.attributes)
                for file in sorted(draft.rglob("*")):
                    target = self.path / file.relative_to(draft)
                    if file.name in (FILE, HEADER) or (
                        file.is_file() and any(folder in target.parents for folder in static)
                    ):
                        target.parent.mkdir(parents=True, exist_ok=True)
                        os.replace(file, target)
        finally:
            _remove(draft)

    def _open(self, lock: int) -> None:
        import zarr

        self._unlock = weakref.finalize(self, os.close, lock)
        self._laid_out = False  # whether metadata and static data are on the disk
        self.root = zarr.open_group(str(self.path), mode="r+", use_consolidated=False)
        self.arrays: dict[tuple[str, str], Any] = {}
        self._fresh: set[tuple[tuple[str, str], int]] = set()  # chunks written since the last `sync`

    def _array(self, key: tuple[str, str]) -> Any:
        if key not in self.arrays:
            import zarr

            with zarr.config.set({"array.write_empty_chunks": True}):
                self.arrays[key] = self.root["/".join(filter(None, key))]
        return self.arrays[key]

    def write(self, key: tuple[str, str], start: int, rows: NDArray[np.float64]) -> None:
        with file_errors(self.label):
            array = self._array(key)
            array[start : start + len(rows)] = rows
            if len(rows):
                length = array.chunks[0]
                self._fresh.update((key, i) for i in range(start // length, (start + len(rows) - 1) // length + 1))

    def read(self, key: tuple[str, str], start: int, stop: int) -> NDArray[np.float64]:
        try:
            return np.asarray(self._array(key)[start:stop])
        except Exception as error:  # whatever a codec says of bytes that it has not written
            raise _damaged(self.label, key, error) from error

    def cut(self, key: tuple[str, str], chunk: int) -> None:
        """Remove the chunks of an array of one dimension from this one on."""
        with file_errors(self.label), contextlib.suppress(FileNotFoundError):
            for file in os.scandir(self.path.joinpath(*key, "c")):
                if file.name.isdecimal() and int(file.name) >= chunk:
                    os.remove(file)

    def lacks(self, key: tuple[str, str], count: int) -> bool:
        """Whether one of the first chunks of an array is not there."""
        return any(not self._chunk(key, i).is_file() for i in range(count))

    def _chunk(self, key: tuple[str, str], i: int) -> Path:
        """The file of a chunk along the first dimension."""
        return self.path.joinpath(*key, "c", str(i), *["0"] * (self._array(key).ndim - 1))

    def sync(self, full_chunks: Mapping[tuple[str, str], int] | None = None) -> None:
        """Flush to the disk (fsync): files, then the folders that hold them; the structure the first time.

        whole: chunks of each array that are full, others are left until they are; None flushes all that was written.
        """
        with file_errors(self.label):
            if not self._laid_out:
                sync_all(self.path)
                sync(self.path.parent)
                self._laid_out = True
            due = {(key, i) for key, i in self._fresh if full_chunks is None or i < full_chunks.get(key, 0)}
            files = [self._chunk(key, i) for key, i in due]
            if files:
                sync_many(files)
                sync_many({place for file in files for place in file.parents if self.path in place.parents})
            self._fresh -= due

    def annotate(self, attributes: Attributes) -> None:
        with file_errors(self.label):
            write_header(self.path, {**self.root.attrs, **attributes})
            self.root.update_attributes(attributes)
            consolidate(self.path)
            sync(self.path / FILE)
            sync(self.path)

    def tree(self) -> xarray.DataTree:
        return read_tree(self.path, self.label)

    def close(self) -> None:
        self._unlock()


Store = MemoryStore | ZarrStore


def _damaged(label: str, key: tuple[str, str], error: Exception) -> UserError:
    reason = " ".join(str(error).split())[:120]
    return UserError(f"{label}: its {'/'.join(filter(None, key))} is damaged ({reason}): run it anew", code=1)


def is_result(path: Path) -> bool:
    """Whether a folder is a result, the only kind of folder that is ever replaced: a Zarr v3 group with its attributes.

    One whose metadata a power failure has cut counts where it has the lock of a writer.
    """
    with contextlib.suppress(OSError, ValueError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            return False
        try:
            about = read_json(path / "zarr.json")
        except ValueError:
            return last_writer(path) is not None
        if isinstance(about, dict) and about.get("zarr_format") == 3 and about.get("node_type") == "group":
            attributes = about.get("attributes")
            return isinstance(attributes, dict) and not attributes.keys().isdisjoint((WHOLE, "steps_planned"))
    return False


def refuse_to_replace(path: Path, label: str, overwrite: bool) -> None:
    """UserError where `path` exists and may not be replaced: without `overwrite`, or not a result and nothing else."""
    refuse_link(path, label)
    if not path.exists():
        return
    if not is_result(path):
        raise UserError(f"{label}: exists and is not a result: choose another path")
    if not overwrite:
        raise UserError(f"{label}: exists: choose another path, or replace it with --force (overwrite=True)")
    with file_errors(label):
        if (foreign_file := foreign(path)) is not None:
            raise UserError(f"{label}: has {foreign_file!r}, which is not of a result: move it, or choose another path")
        refuse_while_written(path, label)


_SYSTEM = r"\.DS_Store|\._.*|Thumbs\.db|desktop\.ini|\.nfs[0-9a-f]+"  # files that systems put into folders
_DRAFT = r"\.arlequin-[0-9a-f]{12}(\.\w+)?|\.\.?(checkpoint|header|zarr)\.(npz|json)\.\d+|.+\.[0-9a-f]{32}\.partial"
_OWN = rf"zarr\.json|\.header\.json|checkpoint\.npz|\.writer|{re.escape(DRAFT_MARK)}"
_FILES = re.compile(f"{_OWN}|{_DRAFT}|{_SYSTEM}")
_CHUNK = re.compile(r"(.*/)?c(/\d+)*")  # of the path of a folder of chunks


def foreign(folder: Path) -> str | None:
    """The path within a result of a file that is not of a result, or of no file; None where there is none."""
    for place, folders, names in os.walk(folder):
        within = os.path.relpath(place, folder).replace(os.sep, "/")
        chunks, runs = _CHUNK.fullmatch(within) is not None, within == COMPARISON
        for name in (*folders, *names):
            path = os.path.join(place, name)
            kind = os.lstat(path).st_mode
            if stat.S_ISDIR(kind):
                known = re.fullmatch(_OWN, name) is None
            else:
                chunk = (chunks and name.isdecimal()) or (name == "c" and "zarr.json" in names)
                belongs = chunk or (runs and name.endswith(".json")) or _FILES.fullmatch(name) is not None
                known = belongs and stat.S_ISREG(kind)
            if not known:
                return os.path.relpath(path, folder)
    return None


def _move(draft: Path, path: Path, label: str) -> None:
    """Replace an earlier store by a new one atomically."""
    if not path.exists():
        (draft / DRAFT_MARK).unlink()
        draft.rename(path)
        return
    refuse_to_replace(path, label, overwrite=True)
    lock = writer_lock(path, label)
    try:
        _mark(path, path, draft)  # which it will be once they are exchanged
        if not _exchange(draft, path):
            earlier = draft_of(path)
            _mark(path, path, earlier)
            path.rename(earlier)
            (draft / DRAFT_MARK).unlink()
            draft.rename(path)
            draft = earlier
        else:
            (path / DRAFT_MARK).unlink()
        _remove(draft)
    finally:
        os.close(lock)


class _Lock:
    """A lock that `contextlib.closing` releases."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def close(self) -> None:
        os.close(self._descriptor)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders atomically (Linux); False where the system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(first), here, os.fsencode(second), swap) == 0)


def _mark(folder: Path, path: Path, draft: Path) -> None:
    """Mark a folder as the draft of that name of the result at a path."""
    with replacing(folder / DRAFT_MARK) as file:
        file.write_text(json.dumps([path.name, draft.name]), encoding="utf-8")


def _is_draft(folder: Path, path: Path) -> bool:
    """Whether a folder bears the mark of a draft of the result at a path, with the name that it has."""
    try:
        marked = stat.S_ISDIR(folder.lstat().st_mode) and read_json(folder / DRAFT_MARK) == [path.name, folder.name]
    except (OSError, ValueError):
        return False
    return marked and not (folder / DRAFT_MARK).is_symlink()


def remove_drafts(path: Path) -> None:
    """Remove drafts of killed runs beside `path`."""
    for leftover in path.parent.glob(f"{MARK}*"):
        with contextlib.suppress(UserError, OSError):
            if _is_draft(leftover, path) and foreign(leftover) is None:
                os.close(writer_lock(leftover, str(leftover)))
                _remove(leftover)


def _remove(draft: Path) -> None:
    """Remove a draft, its mark last, so that what is left by a process that is killed meanwhile still bears it."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(draft):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != DRAFT_MARK:
                os.unlink(entry)
        (draft / DRAFT_MARK).unlink(missing_ok=True)
        draft.rmdir()
