"""The report of a sweep: one HTML page with what was swept, its figures, extremes, points and what failed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.cases.case.registry import is_file_name
from arlequin.cases.case.results import case_of
from arlequin.cases.reports import page
from arlequin.cases.reports import parts as report_parts
from arlequin.models.errors import UserError
from arlequin.plots import sweep_points
from arlequin.plots.sweep_axis import geometric
from arlequin.results.damage import ResultWarning
from arlequin.sweeps.dataset import left_out

if TYPE_CHECKING:
    import xarray

    from arlequin.cases.case.registry import Case

LISTED = 8  # values of a parameter that are written out
CELLS = 8_000  # of the table of points: about 400 kB
FAILURES = 200  # that are listed
OPEN = 40  # points, up to which their table is not folded


def write_sweep_report(dataset: xarray.Dataset, target: Path, named: str | None = None) -> Path:
    """Write the page of a sweep, as far as it has got; named: the case, as of `results.case_of`."""
    case = _case(dataset, named)
    rows = sweep_points.table(dataset)
    states = sweep_points.states(dataset).values.ravel()
    name = dataset.attrs.get("case") or "study"
    sections = [
        page.section("Sweep", _facts(dataset, rows), report_parts.about(case)),
        page.section("Swept", _swept(dataset)),
        *_figures(dataset),
        *_extremes(dataset, rows),
        *_failures(dataset, rows, states),
        *_left_out(dataset),
        page.section("Points", _points(dataset, rows, states)),
        *_fixed(dataset, case),
    ]
    return report_parts.write(target, case, f"{name if case is None else case.short}: sweep", sections, page.SORT)


def _case(dataset: xarray.Dataset, named: str | None) -> Case | None:
    """The case that was swept; None where it was a function, or a file that is not run."""
    from arlequin.cases.case.parameters import fields

    try:
        case = case_of(dataset.attrs, named)
        known = set() if case is None else {f.name for f in fields(case.parameters)}
    except UserError as error:
        if named is not None:
            raise
        if is_file_name(str(dataset.attrs.get("case", ""))):
            warnings.warn(f"without what its case says: {error}", ResultWarning, stacklevel=2)
        return None
    return case if known.issuperset(sweep_points.parameters(dataset)) else None


def _facts(dataset: xarray.Dataset, rows: Any) -> str:
    """How many points, how long they took, what computed them."""
    facts = [("points", sweep_points.counts_text(dataset))]
    seconds = rows["seconds"][np.isfinite(rows["seconds"])] if "seconds" in rows else np.zeros(0)
    if seconds.size:
        span = f"{seconds.min():.3g} to {seconds.max():.3g} s each, {seconds.sum():.4g} s in all"
        facts.append(("wall time of the points", span))
    facts += [(key, str(dataset.attrs[key])) for key in ("case", "version", "commit") if dataset.attrs.get(key)]
    return page.table([*facts, report_parts.made()])


def _swept(dataset: xarray.Dataset) -> str:
    """The parameters that were swept and their values."""
    rows = []
    for name in sweep_points.parameters(dataset):
        values, about = dataset[name].values, dataset[name].attrs
        unit = str(about.get("units", ""))
        rows.append((name, _values(values), "" if unit == "1" else unit, str(about.get("long_name", ""))))
    return page.table(rows, ("parameter", "values", "unit", "meaning"))


def _values(values: Any) -> str:
    """«10, 20, 50» or «1 to 100, 30 values»."""
    different = list(dict.fromkeys(sweep_points.text(value) for value in values))
    if len(different) <= LISTED or values.dtype.kind not in "iuf":
        return ", ".join(different)
    spread = " by even ratios" if geometric(values) else ""
    ends = (sweep_points.text(value) for value in (np.nanmin(values), np.nanmax(values)))
    return f"{' to '.join(ends)}, {len(different)} values{spread}"


def _figures(dataset: xarray.Dataset) -> Iterator[str]:
    """The figures; which scalars have none."""
    from arlequin import plots
    from arlequin.plots.sweep_figures import changing

    try:
        figures = plots.sweep_figures(dataset)
    except UserError as error:
        yield page.section("Figures", page.paragraph(f"{str(error)[:1].upper()}{str(error)[1:]}."))
        return
    left = [name for name in changing(dataset) if name not in figures]
    note = page.paragraph(f"Without a figure here: {', '.join(left)}.") if left else ""
    yield page.section("Figures", *report_parts.pictures(figures), note)


def _extremes(dataset: xarray.Dataset, rows: Any) -> Iterator[str]:
    """The least and the largest of each scalar, and at which point."""
    lines = []
    for name in sweep_points.scalars(dataset):
        values, about = rows[name], dataset[name].attrs
        if not np.isfinite(values).any():
            continue
        low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
        unit = str(about.get("units", ""))
        ends: list[str] = []
        for n in (low, high):
            ends += [_number(values[n]), "" if values[low] == values[high] else _at(dataset, rows, n)]
        lines.append((name, *ends, "" if unit == "1" else unit, str(about.get("long_name", ""))))
    if lines:
        headers = ("quantity", "least", "at", "largest", "at", "unit", "meaning")
        yield page.section("Extremes over the sweep", page.table(lines, headers, numbers=(1, 3)))


def _failures(dataset: xarray.Dataset, rows: Any, states: Any) -> Iterator[str]:
    """Where the sweep failed and why."""
    failed = np.flatnonzero(states == sweep_points.FAILED)
    if failed.size:
        lines = [(_at(dataset, rows, n), str(rows["message"][n])) for n in failed[:FAILURES]]
        more = failed.size - len(lines)
        note = page.paragraph(f"And {more} more.") if more else ""
        yield page.section("Points that failed", page.table(lines, ("point", "message")), note)


def _left_out(dataset: xarray.Dataset) -> Iterator[str]:
    """Series that had other dimensions at some points than at the first."""
    if lines := left_out(dataset):
        yield page.section("Series left out", page.table(lines, ("series", "kept in the files of its points alone")))


def _points(dataset: xarray.Dataset, rows: Any, states: Any) -> str:
    """The table of the points, its beginning where it is long."""
    swept = sweep_points.parameters(dataset)
    columns = {name: rows[name] for name in swept} | ({"state": states} if (states != "").any() else {})
    columns |= {name: values for name, values in rows.items() if name not in (*swept, "message")}
    most = max(1, CELLS // len(columns))
    headers, texts = [], []
    for name, values in columns.items():
        unit = "" if name == "state" else str(dataset[name].attrs.get("units", ""))
        headers.append(name if unit in ("", "1") else f"{name} ({unit})")
        texts.append([_cell(value, name in (*swept, "state")) for value in values[:most]])
    numbers = [n for n, values in enumerate(columns.values()) if values.dtype.kind in "iuf"]
    table = page.table(zip(*texts, strict=True), headers, numbers, sortable=True)
    if states.size > most:
        table = page.paragraph(f"The first {most} of {states.size}; the dataset has all.") + table
    return table if states.size <= OPEN else page.folded(f"Table of {min(most, states.size)} points", table)


def _fixed(dataset: xarray.Dataset, case: Case | None) -> Iterator[str]:
    """The parameters that all points share."""
    try:
        given = json.loads(dataset.attrs.get("parameters", "{}"))
    except ValueError:
        given = {}
    table = report_parts.parameters(case, given, leave=sweep_points.parameters(dataset))
    if table:
        yield page.section("Fixed parameters", table)


def _at(dataset: xarray.Dataset, rows: Any, n: int) -> str:
    """«velocity = 10 m/s, law = soft»."""
    names = sweep_points.parameters(dataset)
    return ", ".join(f"{name} = {sweep_points.value_with_unit(rows[name][n], dataset[name].attrs)}" for name in names)


def _cell(value: Any, whole: bool) -> str:
    return sweep_points.text(value) if whole else _number(value)


def _number(value: float) -> str:
    """Five digits; nothing where there is no number."""
    return f"{value:.5g}" if np.isfinite(value) else ""
