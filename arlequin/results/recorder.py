"""Recording of a run: block by block into preallocated arrays, on disk or in memory."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from numpy.typing import ArrayLike, NDArray

from arlequin.models.checks import flag, hold, instance, mapping, path, positive_integer
from arlequin.models.errors import UserError
from arlequin.results.checkpoint import Checkpoint, remove
from arlequin.results.stores import Column, MemoryStore, Store, ZarrStore, plain
from arlequin.results.variables import Key, Variable, static_columns

CHUNK_BYTES = 8 * 2**20  # of the largest variable
CHUNK_ROWS = 4096
UNBOUNDED = ("gap", "gap_min")  # infinite where a point faces nothing
FLUSH_SECONDS = 1.0
FLUSH_SHARE = 0.05  # at most this share of the run goes into flushes of chunks that are not full


@dataclass(frozen=True)
class Record:
    """Where a result goes (None: memory), how often fields are kept, attributes besides the run's.

    point_memory: whether frames keep that of the points of metals too, which `Solid.stress` takes: 9 values a point.
    resume: the run goes on from the last checkpoint of what is at the path, if anything is; a result that is complete
    is left as it is.
    """

    path: str | Path | None = None
    fields_every: int = 1
    point_memory: bool = field(default=False, kw_only=True)
    overwrite: bool = False
    resume: bool = field(default=False, kw_only=True)
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold(self, fields_every=positive_integer)
        if self.path is not None:
            path("path", self.path)
        checked_attributes(self.attributes)
        hold(self, point_memory=flag, overwrite=flag, resume=flag)
        if self.resume and self.path is None:
            raise UserError("resume: needs the path of a result")


def checked_attributes(attributes: Mapping[str, Any]) -> None:
    """Refuses attributes that a result cannot carry."""
    for value in mapping("attributes", attributes, "must map names to text and numbers").values():
        if not isinstance(value, str | int | float | np.generic | Path):
            raise UserError.parameter("attributes", dict(attributes), "must map names to text and numbers")


def as_record(record: Record | str | Path | None, fields_every: int = 1) -> Record:
    """A `Record` from what a study gives: itself, a path, or None for memory."""
    instance("record", record, Record | str | os.PathLike | None, "must be a path, a Record or None")
    return record if isinstance(record, Record) else Record(record, fields_every=fields_every)


class Recorder:
    """Takes a run block by block and gives its result.

    Rows go through a buffer of one chunk. It is written when it is full and, before that, each second; the
    coordinates `frame_time` and `time` are written after the values they stand for, so that what `time`
    covers is complete at any moment.
    """

    def __init__(
        self,
        record: Record,
        variables: Sequence[Variable],
        *,
        steps: int,
        frames: int,
        attributes: Mapping[str, Any],
        done: tuple[int, int] | None = None,
    ) -> None:
        """done: instants and frames that the result at the path has, to go on from; None makes it anew."""
        variables = (Variable("", "time", ("time",), units="s", long_name="time"), *variables)
        groups = dict.fromkeys(["", *(v.group for v in variables if v.dims[:1] == ("frame",))])
        frame_times = [
            Variable(group, "frame_time", ("frame",), units="s", long_name="time of the frame") for group in groups
        ]
        # the coordinates last, the root's after the groups': the order of writing
        on_frame = [v for v in variables if v.dims[:1] == ("frame",)]
        on_frame += frame_times[::-1] if on_frame else []
        on_time = [*(v for v in variables[1:] if v.dims[:1] == ("time",)), variables[0]]
        self._frames = _Stream(on_frame, frames)
        self._times = _Stream(on_time, steps + 1)
        columns = [*self._times.columns(), *self._frames.columns(), *static_columns(variables)]
        given = {**record.attributes, **attributes, "steps_planned": steps}
        self._disk: ZarrStore | None = None
        if record.path is not None and done is None:
            self._disk = ZarrStore(record.path, columns, plain(given), record.overwrite)
        elif record.path is not None:
            self._disk = ZarrStore.again(record.path, columns)
        self._store: Store = self._disk or MemoryStore(columns, plain(given))
        self._on_disk = self._disk is not None
        self._failed = False
        self._result: xarray.DataTree | None = None
        self._next_flush = clock.monotonic() + FLUSH_SECONDS
        if done is not None:
            # what is beyond comes again, bit by bit: `time` first, so that it never covers what is not there
            self._times.go_on(self._store, done[0], record.path)
            self._frames.go_on(self._store, done[1], record.path)

    def recorded(self, key: Key) -> NDArray[np.float64]:
        """The rows of a variable on `time` that are written."""
        return self._store.read(key, 0, self._times.written)

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Writes what is buffered, and then a checkpoint of a step that it covers; not where a write has failed."""
        self.flush()
        if self._disk is None or self._failed:
            return
        self._disk.settle()
        try:
            checkpoint.write(self._disk.path)
        except OSError as error:
            raise UserError(f"{self._disk.given}: cannot be written: {error.strerror or error}", code=1) from error

    def append(self, time: ArrayLike, values: Mapping[Key, ArrayLike]) -> None:
        """The next block on `time`: instants (n,) in s and, for each (group, name), values (n, *shape)."""
        self._flush_if_due()  # before the block: its frames are still to come, and `time` is not to cover them
        self._append(self._times, {**values, ("", "time"): time})

    def append_frames(self, frame_time: ArrayLike, values: Mapping[Key, ArrayLike]) -> None:
        """The next block on `frame`: instants (n,) in s and, for each (group, name), values (n, *shape)."""
        times = {key: frame_time for key in self._frames.buffers if key[1] == "frame_time"}
        written = self._frames.written
        self._append(self._frames, {**values, **times})
        if self._on_disk and self._frames.written > written:
            self.flush()  # a chunk of fields has gone out: `time` is to cover it
        self._flush_if_due()

    def flush(self) -> None:
        """Write what is buffered, fields first."""
        if self._failed:
            return
        begin = clock.monotonic()
        try:
            self._frames.flush(self._store)
            self._times.flush(self._store)
        except UserError:
            self._failed = True
            raise
        spent = clock.monotonic() - begin
        self._next_flush = clock.monotonic() + max(FLUSH_SECONDS, spent / FLUSH_SHARE)

    def close(
        self, attributes: Mapping[str, Any] | None = None, final: Mapping[Key, ArrayLike] | None = None
    ) -> xarray.DataTree:
        """Write the rest and give the result, cropped to what was recorded.

        final: variables on `time` whose values are known better at the end: written again from the start.

        After a write that failed nothing more is written: the result is what was readable then.
        """
        if self._result is None:
            try:
                self.flush()
                if not self._failed:
                    for key, rows in (final or {}).items():
                        self._store.write(key, 0, np.asarray(rows, dtype=float))
                    self._store.annotate(plain(attributes or {}))
                    if self._disk is not None and (attributes or {}).get("complete"):
                        remove(self._disk.path)
            finally:
                self._store.close()
            self._result = self._store.tree()
        return self._result

    def _append(self, stream: _Stream, values: Mapping[Key, ArrayLike]) -> None:
        if self._result is not None:
            raise ValueError("the recorder is closed")
        if self._failed:
            return  # the error has been raised once; what was written before it is the result
        try:
            if self._on_disk and stream is self._times and stream.fills(values["", "time"]):
                self._frames.flush(self._store)  # what `time` is about to cover
            stream.append(values, self._store)
        except UserError:
            self._failed = True
            raise

    def _flush_if_due(self) -> None:
        if self._on_disk and self._result is None and clock.monotonic() >= self._next_flush:
            self.flush()


def check_bounded(key: Key, values: NDArray[np.float64]) -> None:
    """Refuses to record infinite numbers, but for the gaps of points that face nothing."""
    group, name = key
    if name not in UNBOUNDED and np.isinf(values).any():
        where = "/".join(filter(None, (group, name)))
        raise UserError(f"{where} is no longer finite: numbers are too large to compute with", code=1)


class _Stream:
    """The variables on one dimension, `time` or `frame`, and the chunk of them that is being filled."""

    def __init__(self, variables: Sequence[Variable], length: int) -> None:
        self.variables = tuple(variables)
        self.length = length
        row = max((8 * int(np.prod(v.shape)) for v in variables), default=8)
        self.chunk = max(1, min(length, CHUNK_ROWS, CHUNK_BYTES // max(row, 1)))
        self.begin = 0  # first row of the chunk in the buffer
        self.count = 0  # rows appended so far
        self.written = 0  # rows the store has
        self.buffers = {(v.group, v.name): np.full((self.chunk, *v.shape), np.nan) for v in variables}

    def go_on(self, store: Store, count: int, path: Any) -> None:
        """Takes up a store at so many rows; later ones are taken away."""
        self.count = self.written = count
        self.begin = count - count % self.chunk
        for v in reversed(self.variables):
            key = v.group, v.name
            if v.name in ("time", "frame_time"):
                rows = store.read(key, 0, self.length)
                if np.isnan(rows[:count]).any():
                    raise UserError(f"{path}: it lacks steps that its checkpoint counts on: run it anew", code=1)
                last = np.flatnonzero(~np.isnan(rows[count:]))
                if last.size:
                    store.write(key, count, np.full(last[-1] + 1, np.nan))
            self.buffers[key][: count - self.begin] = store.read(key, self.begin, count)

    def columns(self) -> list[Column]:
        return [
            Column(
                v.group,
                v.name,
                v.dims,
                (self.length, *v.shape),
                (self.chunk, *v.shape),
                {"units": v.units, "long_name": v.long_name},
            )
            for v in self.variables
        ]

    def fills(self, block: ArrayLike) -> bool:
        """Whether the block fills the chunk, so that appending it writes."""
        return self.count - self.begin + len(np.atleast_1d(block)) >= self.chunk

    def append(self, values: Mapping[Key, ArrayLike], store: Store) -> None:
        rows = {key: np.asarray(value, dtype=float) for key, value in values.items()}
        lengths = {len(value) for value in rows.values()}
        unknown = rows.keys() - self.buffers.keys()
        if unknown or len(lengths) > 1:
            raise ValueError(f"unknown variables {sorted(unknown)} or unequal lengths {sorted(lengths)}")
        total = lengths.pop() if lengths else 0
        if self.count + total > self.length:
            raise ValueError(f"more rows than planned: {self.count + total} of {self.length}")
        for key, value in rows.items():
            check_bounded(key, value)
        done = 0
        while done < total:
            if self.count - self.begin == self.chunk:  # its flush was interrupted
                self._turn(store)
            here = self.count - self.begin
            take = min(total - done, self.chunk - here)
            for key, value in rows.items():
                self.buffers[key][here : here + take] = value[done : done + take]
            self.count += take
            done += take
            if self.count - self.begin == self.chunk:
                self._turn(store)

    def _turn(self, store: Store) -> None:
        """Write the full chunk and begin the next."""
        self.flush(store)
        self.begin = self.count
        for buffer in self.buffers.values():
            buffer.fill(np.nan)

    def flush(self, store: Store) -> None:
        """Write the chunk being filled, whole: nothing need be read back."""
        if self.written == self.count:
            return
        stop = min(self.chunk, self.length - self.begin)
        for key, buffer in self.buffers.items():
            store.write(key, self.begin, buffer[:stop])
        self.written = self.count
