"""Report of a run: parameters, checks, energies and figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.cases.case.comparison import absent_names
from arlequin.cases.case.results import figures_of, made_by
from arlequin.cases.cli import tables
from arlequin.cases.reports import parts as report_parts
from arlequin.cases.reports.document import Content, Document, Frame, Paragraph, Picture, Section, Table
from arlequin.results.damage import warn_and_skip
from arlequin.results.members import member_count
from arlequin.results.reading import Summary, summary
from arlequin.viewer.page import script
from arlequin.viewer.view import view

if TYPE_CHECKING:
    import xarray

    from arlequin.cases.case.registry import Case


def run_report(result: xarray.DataTree, film: Path | None = None, case_name: str | None = None) -> Document:
    """The report of a result; film: GIF to include; case_name: see `results.case_of`."""
    case_and_parameters, run_summary = made_by(result, case_name), summary(result)
    case = None if case_and_parameters is None else case_and_parameters[0]
    sections = [
        _run(run_summary, case),
        *(_checks(result, run_summary, *case_and_parameters) if case_and_parameters is not None else ()),
        *_parameters(run_summary, case_and_parameters),
        *_energies(run_summary),
        *_tables(result, run_summary, case_and_parameters),
        Section("Figures", list(_figures(result, run_summary, case_and_parameters))),
        *_view(result),
    ]
    if film is not None:
        sections.append(Section("Motion", [Picture(film.read_bytes(), "gif", "Motion of the parts.")]))
    return report_parts.document(case, "Study" if case is None else case.short, sections)


def _run(run_summary: Summary, case: Case | None) -> Section:
    """Section on step, scheme, run time, version, solver statistics and documentation of the case."""
    rows = [(name, text) for name, text in run_summary.facts.items() if text]
    return Section("Run", [Table([*rows, report_parts.date_row()]), *report_parts.about(case)])


def _checks(result: xarray.DataTree, run_summary: Summary, case: Case, parameters: Any) -> Iterator[Section]:
    """Section of the checks, computed from the stored result."""
    if not case.has("check") or member_count(result) is not None:
        return
    if _stopped_early(run_summary):
        yield Section("Checks", [Paragraph("The run is incomplete and is not compared with the reference.")])
        return
    with warn_and_skip("the comparison with the reference"):
        checks = list(case.call("check", result, parameters))
        passed_count = sum(c.passed for c in checks)
        rows = Table(list(tables.rows_of_checks(checks)), tables.CHECKED, numbers=tables.CHECKED_NUMBERS)
        yield Section("Checks", [rows, Paragraph(f"{passed_count} of {len(checks)} within tolerance")])


def _parameters(run_summary: Summary, case_and_parameters: tuple[Case, Any] | None) -> Iterator[Section]:
    """Section of the parameters."""
    values = run_summary.parameters if case_and_parameters is None else asdict(case_and_parameters[1])
    yield from report_parts.parameters(
        "Parameters", None if case_and_parameters is None else case_and_parameters[0], values
    )


def _energies(run_summary: Summary) -> Iterator[Section]:
    """Section of the energies and their balance."""
    if not run_summary.energies and not run_summary.ranges:
        return
    headers = (f"energy ({run_summary.unit}){', all members' if run_summary.ranges else ''}", *tables.WHEN)
    rows: list[tuple[str, ...]]
    rows = [
        (e.kind.replace("_", " "), *(f"{x:.6g}" for x in (e.first, e.last, e.largest))) for e in run_summary.energies
    ]
    if run_summary.ranges:
        rows = [(kind.replace("_", " "), *ranges) for kind, *ranges in tables.rows_of_ranges(run_summary)]
    worst = run_summary.facts.get("largest energy imbalance")
    note = [Paragraph(f"Largest energy imbalance of a step: {worst} of the largest energy.")] if worst else []
    yield Section("Energies", [Table(rows, headers, numbers=(1, 2, 3)), *note])


def _tables(
    result: xarray.DataTree, run_summary: Summary, case_and_parameters: tuple[Case, Any] | None
) -> Iterator[Section]:
    """Section of the tables of the case, DataFrames by title, of a complete run."""
    if case_and_parameters is None or not case_and_parameters[0].has("tables"):
        return
    if member_count(result) is not None or _stopped_early(run_summary):
        return
    case, parameters = case_and_parameters
    with warn_and_skip("the tables of its case"):
        content: list[Content] = []
        for title, frame in case.call("tables", result, parameters).items():
            columns = [frame[name] for name in frame.columns]
            numbers = [n for n, column in enumerate(columns) if column.dtype.kind in "iuf"]
            texts = [[f"{x:g}" if n in numbers else str(x) for x in column] for n, column in enumerate(columns)]
            rows = list(zip(*texts, strict=True))
            content += [
                Paragraph(f"{title[:1].upper()}{title[1:]}"),
                Table(rows, [str(n) for n in frame.columns], numbers),
            ]
        yield Section("Results", content)


def _figures(
    result: xarray.DataTree, run_summary: Summary, case_and_parameters: tuple[Case, Any] | None
) -> Iterator[Content]:
    """Figures with captions; generic ones for an incomplete run."""
    from arlequin import plots

    yield from report_parts.pictures(
        plots.overview(result) if _stopped_early(run_summary) else figures_of(result, case_and_parameters)
    )
    if absent := absent_names():
        yield Paragraph(f"Checks and figures are without the comparison runs {', '.join(absent)}.")


def _view(result: xarray.DataTree) -> Iterator[Section]:
    """Interactive 3D view of the moving parts."""
    parts = result["part"].children.values() if "part" in result.children and member_count(result) is None else ()
    if not any(part.sizes.get("axis") == 3 and part.sizes.get("corner", 0) > 3 for part in parts):
        return
    with warn_and_skip("the view of its parts"):
        text = "The interactive view of the parts is in the report as an HTML page."
        yield Section("View", [Frame(view(result)._repr_html_(), script(), text)])


def _stopped_early(run_summary: Summary) -> bool:
    return "stopped early" in run_summary.facts["steps"]
