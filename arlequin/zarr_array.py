"""An array of a Zarr v3 store, read when it is asked for, as far as it can be read."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from arlequin.damage import say_damaged
from arlequin.zarr_metadata import ArrayEntry
from models.errors import FAILURE, UserError


class ZarrArray(BackendArray):
    """What xarray reads lazily; floats are nan in chunks that cannot be read, which is said in a `DamageWarning`.

    Of whole numbers, which have no nan, and of texts a damaged chunk is a UserError. whole: whether every chunk of what
    is recorded must be there; else one that is missing is taken for nan, which is then not kept.
    """

    def __init__(self, folder: Path, given: str, entry: ArrayEntry, whole: bool) -> None:
        import zarr
        from zarr.storage import LocalStore, StorePath

        self._place, self._given, self._entry, self._whole = folder / entry.path, given, entry, whole
        store = StorePath(LocalStore(folder, read_only=True), entry.path)
        told: Any = entry.told
        self._array: Any = zarr.Array(zarr.AsyncArray(told, store))
        self.shape = entry.shape
        self.dtype = np.dtype(self._array.dtype)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        """Of whole numbers, slices and arrays of places, one for each axis."""
        rows = [_places(k, n) for n, k in zip(self.shape, key, strict=True)]
        drop = tuple(axis for axis, k in enumerate(key) if isinstance(k, int | np.integer))
        found, why = self._all(rows)
        if found is None:
            found = np.full([row.size for row in rows], np.nan, self.dtype) if self.dtype.kind == "f" else None
            for places, taken in self._by_chunk(rows):
                part, wrong = self._all(taken)
                why = why or wrong
                if found is not None and part is not None:
                    found[np.ix_(*places)] = part
        if why:
            if found is None:
                raise UserError(f"{self._given}: {self._entry.path} is damaged: {why}", FAILURE)
            say_damaged(self._given, self._entry.path, f"nan where it cannot be read ({why})")
        assert found is not None
        return found.squeeze(axis=drop) if drop else found

    def _all(self, rows: list[NDArray[np.int64]]) -> tuple[NDArray[Any] | None, str]:
        """What is at some rows of each axis, or why it cannot be read."""
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
            if self._whole:
                raise ValueError(f"the chunk {'/'.join(map(str, chunk)) or 'c'} is missing") from None
            return
        if not stat.S_ISREG(about.st_mode):
            raise ValueError(f"{file.relative_to(self._place)} is not a file")

    def _by_chunk(self, rows: list[NDArray[np.int64]]) -> Iterator[tuple[list[Any], list[NDArray[np.int64]]]]:
        """For each chunk that the rows are in: the places in the rows, and the rows."""
        chunks = self._chunks(rows)
        for chunk in itertools.product(*map(np.unique, chunks)):
            places = [np.flatnonzero(own == n) for own, n in zip(chunks, chunk, strict=True)]
            yield places, [row[place] for row, place in zip(rows, places, strict=True)]

    def _chunks(self, rows: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """The chunk of each row, along each axis."""
        return [row // n for row, n in zip(rows, self._entry.chunks, strict=True)]


def _places(key: Any, length: int) -> NDArray[np.int64]:
    """The rows that a key names on an axis."""
    return np.arange(*key.indices(length)) if isinstance(key, slice) else np.atleast_1d(key) % length


def _slice(rows: NDArray[np.int64]) -> Any:
    """Rows that follow one another as a slice, which is read at once."""
    begin, end = int(rows[0]), int(rows[-1]) + 1
    return slice(begin, end) if end - begin == rows.size and (np.diff(rows) == 1).all() else rows
