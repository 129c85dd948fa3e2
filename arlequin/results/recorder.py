"""Recording of a run: block by block into preallocated arrays, on disk or in memory."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from numpy.typing import ArrayLike, NDArray

from arlequin.models.checks import check_fields, flag, instance, mapping, path, positive_integer
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.results.checkpoint import Checkpoint, exists, remove
from arlequin.results.files import file_errors
from arlequin.results.stores import Column, MemoryStore, Store, ZarrStore, plain_attributes
from arlequin.results.variables import Key, Variable, static_columns

Rows = dict[Key, tuple[int, NDArray[np.float64]]]

CHUNK_BYTES = 8 * 2**20  # of the largest variable
CHUNK_ROWS = 4096
UNBOUNDED = ("gap", "gap_min")  # infinite where a point faces nothing
FLUSH_SECONDS = 1.0
FLUSH_SHARE = 0.05  # at most this share of the run goes into flushes of chunks that are not full


@checked_call
@dataclass(frozen=True)
class Record:
    """Path of a result (None: memory), steps per frame of the fields, and further attributes.

    point_memory: whether frames include the internal variables of inelastic points, for `Solid.stress`: 9 values a
    point. stress: whether frames include the stresses of solids and bars by cell and the section forces of beams at the
    ends of cells, see `arlequin.results.stresses`. resume: resume from the last checkpoint of the result at the path,
    if there is one; a complete result is returned unchanged.

    >>> import arlequin as aq
    >>> stone = aq.PointMasses("stone", (0.0, 0.0), 2.0)  # m, kg
    >>> system = aq.System([stone], gravity=(0.0, -10.0), velocity=(3.0, 0.0))  # m/s², m/s
    >>> record = aq.Record(fields_every=5)  # in memory; Record("run.zarr", fields_every=5) on disk
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.1, record=record)
    >>> result.sizes["time"], result["frame_time"].values.round(9).tolist()
    (11, [0.0, 0.5, 1.0])
    """

    path: str | Path | None = None
    fields_every: int = 1
    point_memory: bool = field(default=False, kw_only=True)
    stress: bool = field(default=False, kw_only=True)
    overwrite: bool = False
    resume: bool = field(default=False, kw_only=True)
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, fields_every=positive_integer)
        if self.path is not None:
            path("path", self.path)
        checked_attributes(self.attributes)
        check_fields(self, point_memory=flag, stress=flag, overwrite=flag, resume=flag)
        if self.resume and self.path is None:
            raise UserError("resume: needs the path of a result")


def checked_attributes(attributes: Mapping[str, Any]) -> None:
    """Raise `UserError` for attributes other than text and numbers."""
    for value in mapping("attributes", attributes, "must map names to text and numbers").values():
        if not isinstance(value, str | int | float | np.generic | Path):
            raise UserTypeError.parameter("attributes", dict(attributes), "must map names to text and numbers")


def as_record(record: Record | str | Path | None, fields_every: int = 1) -> Record:
    """The `Record` of a Record, a path, or None (memory)."""
    instance("record", record, Record | str | os.PathLike | None, "must be a path, a Record or None")
    return record if isinstance(record, Record) else Record(record, fields_every=fields_every)


class Recorder:
    """Writes the blocks of a run and returns its result.

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
        rows: Rows | None = None,
    ) -> None:
        """done: numbers of instants and frames at the path, for a resumed run; None creates the result.

        rows: of its checkpoint.
        """
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
        result_attributes = {**record.attributes, **attributes, "steps_planned": steps}
        self._disk: ZarrStore | None = None
        if record.path is not None and done is None:
            self._disk = ZarrStore(record.path, columns, plain_attributes(result_attributes), record.overwrite)
        elif record.path is not None:
            self._disk = ZarrStore.reopen(record.path, columns)
        self._store: Store = self._disk or MemoryStore(columns, plain_attributes(result_attributes))
        self._on_disk = self._disk is not None
        self._failed = False
        self._result: xarray.DataTree | None = None
        self._next_flush = clock.monotonic() + FLUSH_SECONDS
        if done is not None:
            # later rows are computed again; `time` is cut first, so that it never covers missing rows
            assert self._disk is not None
            self._times.resume_at(self._disk, done[0], rows or {})
            self._frames.resume_at(self._disk, done[1], rows or {})

    def recorded(self, key: Key) -> NDArray[np.float64]:
        """The rows of a variable on `time` that are written."""
        return self._store.read(key, 0, self._times.written)

    def has_attribute(self, name: str) -> bool:
        """Whether the result has an attribute, perhaps from before it was resumed."""
        return self._disk is not None and name in self._disk.root.attrs

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Write the buffers, then the checkpoint; nothing after a failed write.

        Chunks that are full reach the disk before it; the checkpoint itself has the rows of the others.
        """
        self.flush()
        if self._disk is None or self._failed:
            return
        full_chunks = {
            key: number for stream in (self._times, self._frames) for key, number in stream.full_chunks().items()
        }
        self._disk.sync(full_chunks)
        with file_errors(self._disk.label):
            replace(checkpoint, rows={**self._times.rows(), **self._frames.rows()}).write(self._disk.path)

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

        final: variables on `time` that are corrected at the end: written again from the start.

        After a failed write nothing more is written, and the result is what was readable then.
        """
        if self._result is None:
            try:
                self.flush()
                if not self._failed:
                    for key, rows in (final or {}).items():
                        self._store.write(key, 0, np.asarray(rows, dtype=float))
                    complete = self._disk is not None and bool((attributes or {}).get("complete"))
                    if self._disk is not None and complete and exists(self._disk.path):
                        self._disk.sync()  # before the checkpoint goes
                    self._store.annotate(plain_attributes(attributes or {}))
                    if self._disk is not None and complete:
                        remove(self._disk.path)
            finally:
                self._store.close()
            self._result = self._store.tree()
        return self._result

    def _append(self, stream: _Stream, values: Mapping[Key, ArrayLike]) -> None:
        if self._result is not None:
            raise ValueError("the recorder is closed")
        if self._failed:
            return  # already raised
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


class SilentRecorder:
    """Recorder of the ranks of a run that do not write: checks that values are finite and discards them."""

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        pass

    def has_attribute(self, name: str) -> bool:
        return False

    def recorded(self, key: Key) -> NDArray[np.float64]:
        raise ValueError("nothing is recorded here")

    def append(self, time: ArrayLike, values: Mapping[Key, ArrayLike]) -> None:
        for key, value in values.items():
            check_bounded(key, np.asarray(value, dtype=float))

    append_frames = append

    def close(
        self, attributes: Mapping[str, Any] | None = None, final: Mapping[Key, ArrayLike] | None = None
    ) -> xarray.DataTree:
        """An empty result."""
        return xarray.DataTree()


def check_bounded(key: Key, values: NDArray[np.float64]) -> None:
    """Raise `UserError` for infinite numbers, except gaps of points without a partner."""
    group, name = key
    if name not in UNBOUNDED and np.isinf(values).any():
        where = "/".join(filter(None, (group, name)))
        raise UserError(f"{where} is no longer finite: numbers are too large to compute with", code=1)


class _Stream:
    """The variables on one dimension, `time` or `frame`, with a buffer of one chunk."""

    def __init__(self, variables: Sequence[Variable], length: int) -> None:
        self.variables = tuple(variables)
        self.length = length
        row = max((8 * int(np.prod(v.shape)) for v in variables), default=8)
        self.chunk = max(1, min(length, CHUNK_ROWS, CHUNK_BYTES // max(row, 1)))
        self.begin = 0  # first row of the chunk in the buffer
        self.count = 0  # rows appended so far
        self.written = 0  # rows the store has
        self.buffers = {(v.group, v.name): np.full((self.chunk, *v.shape), np.nan) for v in variables}

    def rows(self) -> Rows:
        """The rows of the chunk that is not full, by variable, and the first of them."""
        return {key: (self.begin, buffer[: self.count - self.begin]) for key, buffer in self.buffers.items()}

    def full_chunks(self) -> dict[Key, int]:
        """Number of full chunks by variable."""
        return dict.fromkeys(self.buffers, self.begin // self.chunk)

    def resume_at(self, store: ZarrStore, count: int, rows: Rows) -> None:
        """Resume at row `count` of a store, whose chunk that is not full is that of a checkpoint; later rows are set to
        nan, those of `time` first."""
        self.count = self.written = count
        self.begin = count - count % self.chunk
        full_chunks, buffered = self.begin // self.chunk, count - self.begin
        for v in reversed(self.variables):
            key = v.group, v.name
            begin, checkpoint_rows = rows.get(key, (-1, self.buffers[key]))
            usable = (
                begin == self.begin and np.shape(checkpoint_rows)[1:] == v.shape and len(checkpoint_rows) >= buffered
            )
            self.buffers[key][:buffered] = checkpoint_rows[:buffered] if usable else store.read(key, self.begin, count)
            missing = store.lacks(key, full_chunks)
            if v.name in ("time", "frame_time"):
                earlier = store.read(key, 0, self.begin)
                missing |= bool(np.isnan(earlier).any() or np.isnan(self.buffers[key][:buffered]).any())
                store.cut(key, full_chunks + bool(buffered))
            if missing:
                raise UserError(f"{store.label}: steps before its checkpoint are missing: run it anew", code=1)
            if buffered:
                store.write(key, self.begin, self.buffers[key][: min(self.chunk, self.length - self.begin)])

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
                self._next_chunk(store)
            here = self.count - self.begin
            take = min(total - done, self.chunk - here)
            for key, value in rows.items():
                self.buffers[key][here : here + take] = value[done : done + take]
            self.count += take
            done += take
            if self.count - self.begin == self.chunk:
                self._next_chunk(store)

    def _next_chunk(self, store: Store) -> None:
        """Write the full chunk and start the next."""
        self.flush(store)
        self.begin = self.count
        for buffer in self.buffers.values():
            buffer.fill(np.nan)

    def flush(self, store: Store) -> None:
        """Write the buffered chunk as a whole, so that none is read back."""
        if self.written == self.count:
            return
        stop = min(self.chunk, self.length - self.begin)
        for key, buffer in self.buffers.items():
            store.write(key, self.begin, buffer[:stop])
        self.written = self.count
