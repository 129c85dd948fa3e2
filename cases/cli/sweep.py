"""The command `arlequin sweep`, and the summary of a sweep."""

from __future__ import annotations

import contextlib
import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.cases.case import registry
from arlequin.cases.case.parameters import Field, by_name, fields, make
from arlequin.cases.cli import tables
from arlequin.models.errors import UserError
from arlequin.plots import sweep_points
from arlequin.sweeps.dataset import left_out

if TYPE_CHECKING:
    import xarray
    from rich.table import Table

FAILURES_SHOWN = 10


def sweep(arguments: Namespace, name: str, words: dict[str, str]) -> int:
    """Run a sweep and print its summary; exit code 1 if points failed."""
    from arlequin.cases.case.sweeping import is_swept, sweep_case
    from arlequin.cases.cli.outputs import in_runs, number
    from arlequin.run.progress import PointsBar

    case = registry.load(name)
    fields_by_name = by_name(case.parameters, words)
    swept_words = {word: text for word, text in words.items() if is_swept(fields_by_name[word], text)}
    if not swept_words:
        raise UserError("no swept parameter: give several values, name=a,b,c or name=lo:hi:n")
    path = Path(arguments.out) if arguments.out is not None else in_runs(f"{case.short}.sweep")
    workers = None if arguments.workers is None else number("--workers", arguments.workers, int)
    bar = PointsBar(case.short)
    count = _Count(bar)
    with _stopped(path, count), bar:
        dataset = sweep_case(
            name,
            swept_words,
            {word: text for word, text in words.items() if word not in swept_words},
            arguments.errors,
            [] if arguments.series is None else [path for path in arguments.series.split(",") if path],
            store=path,
            workers=workers,
            scheduler=arguments.scheduler,
            progress=count,
            retry=arguments.retry,
            overwrite=arguments.force,
        )
    out = tables.console()
    for part in summary_of(dataset):
        out.print(part)
    out.print(f"written to {path}")
    return 1 if _failed(dataset).any() else 0


def examples(parameters: type) -> list[tuple[str, str]]:
    """Examples of swept values for the first parameter of each kind, with their meaning.

    All values are valid with the defaults of the other parameters; for numbers: the default and half of it.
    """
    examples_by_kind: dict[str, list[tuple[str, str]]] = {}
    for field in fields(parameters):
        kind, values = _some_values(field)
        if kind in examples_by_kind or len(values) < 2 or not _all_valid(parameters, field.name, values):
            continue
        words = f"{field.name}={','.join(values)}"
        if kind == "number":
            low, high = values
            examples_by_kind[kind] = [
                (words, "listed values"),
                (f"{field.name}={low}:{high}:5", f"5 evenly spaced values from {low} to {high}"),
                (f"{field.name}={low}:{high}:5:log", "the same, geometrically spaced"),
            ]
        else:
            examples_by_kind[kind] = [(words, "listed choices")]
    return [line for lines in examples_by_kind.values() for line in lines]


def _some_values(field: Field) -> tuple[str, list[str]]:
    """Kind of a parameter, and example values as typed."""
    if field.kind is None:
        return "choice", [str(choice) for choice in field.choices]
    if field.kind is bool:
        return "bool", ["true", "false"]
    if field.kind is not float or not isinstance(field.default, float | int) or field.default <= 0.0:
        return "other", []
    if field.optional:
        return "none", ["none", f"{field.default:.6g}"]
    return "number", [f"{0.5 * field.default:.6g}", f"{field.default:.6g}"]


def _all_valid(parameters: type, name: str, values: list[str]) -> bool:
    try:
        for value in values:
            make(parameters, {name: value})
    except UserError:
        return False
    return True


def summary_of(dataset: xarray.Dataset) -> list[Table]:
    """Tables of a sweep: facts, parameters, scalars and failures."""
    states = sweep_points.states(dataset).values
    missing, failed = int((states == sweep_points.MISSING).sum()), int((states == sweep_points.FAILED).sum())
    seconds = dataset["seconds"].values
    facts = {
        "case": dataset.attrs["case"],
        "points": str(states.size),
        "failed": str(failed) if failed else "",
        sweep_points.MISSING: str(missing) if missing else "",
        "wall time of a point (s)": _range(seconds),
        "total wall time (s)": f"{np.nansum(seconds):.6g}",
        "version": dataset.attrs["version"],
        "commit": dataset.attrs["commit"],
    }
    parts = [tables.table((name, text) for name, text in facts.items() if text)]
    names = [name for name in dataset.coords if str(name) not in _dims_of_series(dataset)]
    rows = [
        (str(n), _unit(dataset[n]), str(dataset[n].size), _values(dataset[n].values), _text(dataset[n])) for n in names
    ]
    parts.append(tables.table(rows, ("swept", "unit", "values", "", "meaning"), numbers=(2,)))
    shared = json.loads(dataset.attrs["parameters"])
    if shared:
        parts.append(tables.table([(n, tables.value(v)) for n, v in shared.items()], ("parameter", "value")))
    scalars = [
        n for n, a in dataset.data_vars.items() if n not in sweep_points.ABOUT and a.dims == dataset["seconds"].dims
    ]
    rows = [(str(n), _unit(dataset[n]), *_ends(dataset[n].values), _text(dataset[n])) for n in scalars]
    if rows:
        parts.append(tables.table(rows, ("scalar", "unit", "smallest", "largest", "meaning"), numbers=(2, 3)))
    series = [n for n, a in dataset.data_vars.items() if len(a.dims) > dataset["seconds"].ndim]
    if series:
        lines = [(str(n), _unit(dataset[n]), ", ".join(map(str, dataset[n].dims))) for n in series]
        parts.append(tables.table(lines, ("series", "unit", "dimensions")))
    if omitted := left_out(dataset):
        parts.append(tables.table(omitted, ("omitted from the dataset", "stored in the files of the points")))
    if failed:
        parts.append(tables.table(_failures(dataset), ("failed at", "why")))
    return parts


def _failed(dataset: xarray.Dataset) -> Any:
    return sweep_points.states(dataset).values == sweep_points.FAILED


def _failures(dataset: xarray.Dataset) -> Iterator[tuple[str, str]]:
    """The first failed points, with their messages."""
    failed_indices = np.argwhere(_failed(dataset))
    for index in failed_indices[:FAILURES_SHOWN]:
        point = dataset["message"][tuple(index)]
        point_text = ", ".join(f"{name}={sweep_points.text(c.values.item())}" for name, c in point.coords.items())
        yield point_text, str(point.values)
    if len(failed_indices) > FAILURES_SHOWN:
        yield f"and {len(failed_indices) - FAILURES_SHOWN} more", ""


def _dims_of_series(dataset: xarray.Dataset) -> set[str]:
    """Dimensions other than swept parameters."""
    swept = set(dataset["seconds"].dims)
    return {str(name) for name, array in dataset.coords.items() if not set(array.dims) <= swept}


def _ends(values: Any) -> tuple[str, str]:
    finite = values[np.isfinite(values)]
    return (f"{finite.min():.6g}", f"{finite.max():.6g}") if finite.size else ("", "")


def _range(values: Any) -> str:
    low, high = _ends(values)
    return f"{low} to {high}" if low else ""


def _values(values: Any) -> str:
    from arlequin.sweeps.plan import listed

    return listed([sweep_points.text(value) for value in values.tolist()])


def _unit(array: xarray.DataArray) -> str:
    unit = str(array.attrs.get("units", ""))
    return "" if unit == "1" else unit


def _text(array: xarray.DataArray) -> str:
    text = str(array.attrs.get("long_name", ""))
    return "" if text == array.name else text


class _Count:
    """Progress callback that also stores the number of finished points."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self.done = self.total = 0

    def __call__(self, done: int, failed: int, total: int) -> None:
        self.done, self.total = done, total
        self._bar(done, failed, total)


@contextlib.contextmanager
def _stopped(path: Path, count: _Count) -> Iterator[None]:
    """Add to the error line of an interrupted sweep how to continue it."""
    try:
        yield
    except (KeyboardInterrupt, UserError) as error:
        hint = (
            f"{count.done} of {count.total} points are in {path}; the same command continues the sweep"
            if count.total
            else ""
        )
        if isinstance(error, KeyboardInterrupt):
            raise UserError(f"interrupted{'; ' if hint else ''}{hint}", code=1) from None
        if not hint:
            raise
        raise UserError(f"{error}; {hint}", code=error.code) from error
