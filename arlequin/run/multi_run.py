"""Results of several runs: scalars and series of each, written when the run is finished."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray
from numpy.typing import ArrayLike, NDArray

from arlequin.models.errors import UserError
from arlequin.models.parallel.ranks import ranks
from arlequin.results.columns import Attributes, Column, plain_attributes
from arlequin.results.conventions import of_run
from arlequin.results.reading import open as open_result
from arlequin.results.recorder import Record, check_bounded
from arlequin.results.stores import MemoryStore, Store, ZarrStore
from arlequin.results.variables import Key, Variable, static_columns
from arlequin.run.interrupts import defer_interrupts
from arlequin.run.parallel import open_by_root, together
from arlequin.run.provenance import commit, version
from arlequin.run.resume import digest, find_result
from arlequin.run.run import compile_seconds

TIME: Key = ("", "time")


@dataclass(frozen=True)
class Measure:
    """A variable of each run: a scalar, or a series over `time` or another axis."""

    group: str
    name: str
    units: str
    long_name: str
    over: str = ""

    @property
    def key(self) -> Key:
        return self.group, self.name


@dataclass(frozen=True)
class Axis:
    """Coordinates of series, other than the time: as frequencies of spectra."""

    units: str
    long_name: str
    values: ArrayLike


FINISHED = Measure("", "finished", "1", "1 where the run is finished")


def collect_runs(
    compute_run: Callable[[int], Mapping[Key, ArrayLike]],
    measures: Sequence[Measure],
    runs: tuple[str, Sequence[Any]],
    *,
    of: Any,
    record: Record,
    time: ArrayLike = (0.0,),
    axes: Mapping[str, Axis] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xarray.DataTree:
    """The measures of all runs over the dimension of the runs and `time` (s) or another axis; nan for unfinished runs.

    compute_run(i): measures of run i by (group, name); runs: name and labels of the dimension; of: the parameters of
    the runs, which must be equal when a result is resumed; axes: those other than the time, by name;
    progress(done, total): called after each run.

    `finished` is 1 for finished runs. The measures are written before it, and it before `time`, so that a result is
    consistent at any moment; without instants it has no finished run. Resuming computes the missing runs only; runs are
    independent, so that the result is bitwise equal to that of an uninterrupted call. On several ranks all compute
    each run together, and the first one writes.
    """
    with together():
        return _collected(compute_run, measures, runs, of, record, time, axes or {}, progress if ranks().root else None)


def _collected(
    compute_run: Callable[[int], Mapping[Key, ArrayLike]],
    measures: Sequence[Measure],
    runs: tuple[str, Sequence[Any]],
    of: Any,
    record: Record,
    time: ArrayLike,
    axes: Mapping[str, Axis],
    progress: Callable[[int, int], None] | None,
) -> xarray.DataTree:
    dim, labels = runs
    study = {"version": version(), "runs": list(labels), "of": of}
    existing = open_by_root(lambda: find_result(record, study), record.path)
    if existing is not None and existing.attrs.get("complete"):
        return existing
    instants = np.asarray(time, dtype=float)
    columns = _columns(measures, dim, labels, instants.size, axes)
    metadata = {"version": version(), "commit": commit(), "steps_planned": instants.size - 1, "study": digest(study)}
    file_attributes = plain_attributes({**record.attributes, **metadata, **of_run()})
    stores: list[Store] = []
    compiled = compile_seconds() - (0.0 if existing is None else existing.attrs.get("compile_time", 0.0))

    def begin() -> None:
        if record.path is None:
            stores.append(MemoryStore(columns, file_attributes))
        elif existing is None:
            stores.append(ZarrStore(record.path, columns, file_attributes, record.overwrite))
        elif existing.attrs.get("study") == metadata["study"]:
            stores.append(ZarrStore.reopen(record.path, columns))
        else:
            raise UserError(f"{record.path}: is of another study or version: give what it was run with, or run it anew")

    ranks().by_root(begin)
    store = stores[0] if stores else MemoryStore(columns, file_attributes)
    complete = 0
    with contextlib.closing(store):
        try:
            _compute_missing(store, compute_run, [*measures, FINISHED], instants, axes, len(labels), progress)
            complete = 1
        finally:
            with defer_interrupts():
                store.annotate({"complete": complete, "compile_time": compile_seconds() - compiled})
        ranks().goes_on("the result of several runs")
        return store.tree() if stores or record.path is None else open_result(record.path)


def _compute_missing(
    store: Store,
    compute_run: Callable[[int], Mapping[Key, ArrayLike]],
    measures: Sequence[Measure],
    time: NDArray[np.float64],
    axes: Mapping[str, Axis],
    total: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Compute the missing runs and write each when it is finished."""
    # arrays are small: each is one chunk, rewritten as a whole
    lengths = {"time": time.size, "": total, **{name: np.size(axis.values) for name, axis in axes.items()}}
    arrays = ranks().by_root(
        lambda: {m: np.array(store.read(m.key, 0, lengths[m.over]), dtype=float) for m in measures}
    )
    missing = np.flatnonzero(np.isnan(arrays[FINISHED]))
    done = total - missing.size
    if done:
        store.write(TIME, 0, time)  # the earlier process may have been killed before this
        if progress is not None:
            progress(done, total)
    for count, i in enumerate(missing, done + 1):
        values = {**compute_run(int(i)), FINISHED.key: 1.0}
        for m in measures:
            check_bounded(m.key, np.asarray(values[m.key], dtype=float))
        with defer_interrupts():
            for m, array in arrays.items():
                array[..., i] = values[m.key]
                if m is FINISHED and isinstance(store, ZarrStore):
                    store.sync()  # measures reach the disk before `finished`
                store.write(m.key, 0, array)
            store.write(TIME, 0, time)
        if progress is not None:
            progress(count, total)


def _columns(
    measures: Sequence[Measure], dim: str, labels: Sequence[Any], instants: int, axes: Mapping[str, Axis]
) -> list[Column]:
    """All arrays at their full length, nan, in one chunk each; the labels of the runs in each group."""
    groups = dict.fromkeys(["", *(m.group for m in measures)])
    coordinates = [Variable(group, dim, (dim,), long_name=dim, data=labels) for group in groups]
    for group, name in dict.fromkeys((m.group, m.over) for m in measures if m.over in axes):
        axis = axes[name]
        coordinates.append(Variable(group, name, (name,), (), axis.units, axis.long_name, np.asarray(axis.values)))
    lengths = {"time": instants, **{name: np.size(axis.values) for name, axis in axes.items()}}
    series = [_empty_column(m, (dim,), (len(labels),), lengths) for m in (*measures, FINISHED)]
    instants_column = _empty_column(Measure(*TIME, "s", "time", over="time"), (), (), lengths)
    return [*series, instants_column, *static_columns(coordinates)]


def _empty_column(
    measure: Measure, dims: tuple[str, ...], shape: tuple[int, ...], lengths: Mapping[str, int]
) -> Column:
    if measure.over:
        dims, shape = (measure.over, *dims), (lengths[measure.over], *shape)
    about: Attributes = {"units": measure.units, "long_name": measure.long_name}
    return Column(measure.group, measure.name, dims, shape, shape, about, np.full(shape, np.nan))
