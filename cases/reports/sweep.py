"""Report of a sweep: parameters, figures, extremes, points and failures."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.cases.case.registry import is_file_name
from arlequin.cases.case.results import case_of
from arlequin.cases.reports import parts as report_parts
from arlequin.cases.reports.document import Content, Document, Folded, Paragraph, Section, Table
from arlequin.models.errors import UserError
from arlequin.plots import sweep_points
from arlequin.plots.sweep_axis import geometric
from arlequin.results.damage import ResultWarning
from arlequin.sweeps.dataset import left_out

if TYPE_CHECKING:
    import xarray

    from arlequin.cases.case.registry import Case

LISTED = 8  # largest number of values that are listed
CELLS = 8_000  # largest table of points, about 400 kB
FAILURES = 200  # largest number of failures that are listed
OPEN = 40  # points up to which their table is shown expanded


def sweep_report(dataset: xarray.Dataset, case_name: str | None = None) -> Document:
    """The report of a complete or partial sweep; case_name: see `results.case_of`."""
    case = _case(dataset, case_name)
    rows = sweep_points.table(dataset)
    states = sweep_points.states(dataset).values.ravel()
    name = dataset.attrs.get("case") or "study"
    sections = [
        Section("Sweep", [_facts(dataset, rows), *report_parts.about(case)]),
        Section("Swept", [_swept(dataset)]),
        *_figures(dataset),
        *_extremes(dataset, rows),
        *_failures(dataset, rows, states),
        *_left_out(dataset),
        Section("Points", list(_points(dataset, rows, states))),
        *report_parts.parameters("Fixed parameters", case, _fixed(dataset), omit=sweep_points.parameters(dataset)),
    ]
    return report_parts.document(case, f"{name if case is None else case.short}: sweep", sections)


def _case(dataset: xarray.Dataset, case_name: str | None) -> Case | None:
    """The swept case; None for a function, or for a file that is not trusted."""
    from arlequin.cases.case.parameters import fields

    try:
        case = case_of(dataset.attrs, case_name)
        parameter_names = set() if case is None else {f.name for f in fields(case.parameters)}
    except UserError as error:
        if case_name is not None:
            raise
        if is_file_name(str(dataset.attrs.get("case", ""))):
            warnings.warn(f"documentation of its case is omitted: {error}", ResultWarning, stacklevel=2)
        return None
    return case if parameter_names.issuperset(sweep_points.parameters(dataset)) else None


def _facts(dataset: xarray.Dataset, rows: Any) -> Table:
    """Table of the number of points, run times and provenance."""
    facts = [("points", sweep_points.counts_text(dataset))]
    seconds = rows["seconds"][np.isfinite(rows["seconds"])] if "seconds" in rows else np.zeros(0)
    if seconds.size:
        span = f"{seconds.min():.3g} to {seconds.max():.3g} s per point, {seconds.sum():.4g} s in total"
        facts.append(("wall time", span))
    facts += [(key, str(dataset.attrs[key])) for key in ("case", "version", "commit") if dataset.attrs.get(key)]
    return Table([*facts, report_parts.date_row()])


def _swept(dataset: xarray.Dataset) -> Table:
    """Table of the swept parameters and their values."""
    rows = []
    for name in sweep_points.parameters(dataset):
        values, attributes = dataset[name].values, dataset[name].attrs
        unit = str(attributes.get("units", ""))
        rows.append((name, _values(values), "" if unit == "1" else unit, str(attributes.get("long_name", ""))))
    return Table(rows, ("parameter", "values", "unit", "meaning"))


def _values(values: Any) -> str:
    """«10, 20, 50» or «1 to 100, 30 values»."""
    different = list(dict.fromkeys(sweep_points.text(value) for value in values))
    if len(different) <= LISTED or values.dtype.kind not in "iuf":
        return ", ".join(different)
    spread = ", geometrically spaced" if geometric(values) else ""
    ends = (sweep_points.text(value) for value in (np.nanmin(values), np.nanmax(values)))
    return f"{' to '.join(ends)}, {len(different)} values{spread}"


def _figures(dataset: xarray.Dataset) -> Iterator[Section]:
    """Section of the figures, and the scalars without one."""
    from arlequin import plots
    from arlequin.plots.sweep_figures import changing

    try:
        figures = plots.sweep_figures(dataset)
    except UserError as error:
        yield Section("Figures", [Paragraph(f"{str(error)[:1].upper()}{str(error)[1:]}.")])
        return
    without_figure = [name for name in changing(dataset) if name not in figures]
    note = [Paragraph(f"Without a figure: {', '.join(without_figure)}.")] if without_figure else []
    yield Section("Figures", [*report_parts.pictures(figures), *note])


def _extremes(dataset: xarray.Dataset, rows: Any) -> Iterator[Section]:
    """Section of the smallest and largest value of each scalar, with their points."""
    lines = []
    for name in sweep_points.scalars(dataset):
        values, attributes = rows[name], dataset[name].attrs
        if not np.isfinite(values).any():
            continue
        low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
        unit = str(attributes.get("units", ""))
        ends: list[str] = []
        for n in (low, high):
            ends += [_number(values[n]), "" if values[low] == values[high] else _at(dataset, rows, n)]
        lines.append((name, *ends, "" if unit == "1" else unit, str(attributes.get("long_name", ""))))
    if lines:
        headers = ("quantity", "smallest", "at", "largest", "at", "unit", "meaning")
        yield Section("Extremes over the sweep", [Table(lines, headers, numbers=(1, 3))])


def _failures(dataset: xarray.Dataset, rows: Any, states: Any) -> Iterator[Section]:
    """Section of the failed points with their messages."""
    failed = np.flatnonzero(states == sweep_points.FAILED)
    if failed.size:
        lines = [(_at(dataset, rows, n), str(rows["message"][n])) for n in failed[:FAILURES]]
        more = failed.size - len(lines)
        note = [Paragraph(f"And {more} more.")] if more else []
        yield Section("Failed points", [Table(lines, ("point", "message")), *note])


def _left_out(dataset: xarray.Dataset) -> Iterator[Section]:
    """Section of the series whose dimensions differ between points."""
    if lines := left_out(dataset):
        yield Section("Omitted series", [Table(lines, ("series", "stored in the files of the points"))])


def _points(dataset: xarray.Dataset, rows: Any, states: Any) -> Iterator[Content]:
    """Table of the points, truncated if long."""
    swept = sweep_points.parameters(dataset)
    columns = {name: rows[name] for name in swept} | ({"state": states} if (states != "").any() else {})
    columns |= {name: values for name, values in rows.items() if name not in (*swept, "message")}
    max_rows = max(1, CELLS // len(columns))
    headers, columns_of_text = [], []
    for name, values in columns.items():
        unit = "" if name == "state" else str(dataset[name].attrs.get("units", ""))
        headers.append(name if unit in ("", "1") else f"{name} ({unit})")
        columns_of_text.append([_cell(value, name in (*swept, "state")) for value in values[:max_rows]])
    numbers = [n for n, values in enumerate(columns.values()) if values.dtype.kind in "iuf"]
    table = Table(list(zip(*columns_of_text, strict=True)), headers, numbers, sortable=True)
    if states.size > max_rows:
        yield Paragraph(f"The first {max_rows} of {states.size} points; the dataset contains all.")
    yield table if states.size <= OPEN else Folded(f"Table of {min(max_rows, states.size)} points", table)


def _fixed(dataset: xarray.Dataset) -> dict[str, Any]:
    """The parameters common to all points."""
    try:
        return dict(json.loads(dataset.attrs.get("parameters", "{}")))
    except (ValueError, TypeError):
        return {}


def _at(dataset: xarray.Dataset, rows: Any, n: int) -> str:
    """«velocity = 10 m/s, law = soft»."""
    names = sweep_points.parameters(dataset)
    return ", ".join(f"{name} = {sweep_points.value_with_unit(rows[name][n], dataset[name].attrs)}" for name in names)


def _cell(value: Any, in_full: bool) -> str:
    return sweep_points.text(value) if in_full else _number(value)


def _number(value: float) -> str:
    """Number with five digits; empty for nan."""
    return f"{value:.5g}" if np.isfinite(value) else ""
