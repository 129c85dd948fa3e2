"""The report of a run: one HTML page with its parameters, checks, energies and figures, to keep and to send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.cases.case.results import figures_of, made_by
from arlequin.cases.cli import tables
from arlequin.cases.reports import page
from arlequin.cases.reports import parts as report_parts
from arlequin.results.damage import warn_and_skip
from arlequin.results.reading import Summary, summary

if TYPE_CHECKING:
    import xarray

    from arlequin.cases.case.registry import Case


def write_report(result: xarray.DataTree, target: Path, film: Path | None = None, named: str | None = None) -> Path:
    """Write the page of a result; film: a GIF that it takes in; named: the case, as of `results.case_of`."""
    made, about = made_by(result, named), summary(result)
    case = None if made is None else made[0]
    sections = [
        _run(about, case),
        *(_checks(result, about, *made) if made is not None else ()),
        *_parameters(about, made),
        *_energies(about),
        page.section("Figures", *_figures(result, about, made)),
    ]
    if film is not None:
        sections.append(page.section("Motion", page.image(film.read_bytes(), "gif", "The parts over time.")))
    return report_parts.write(target, case, "Study" if case is None else case.short, sections)


def _run(about: Summary, case: Case | None) -> str:
    """What ran: step, scheme, times, version, solver statistics; the whole text of the case."""
    rows = [(name, text) for name, text in about.facts.items() if text]
    return page.section("Run", page.table([*rows, report_parts.made()]), report_parts.about(case))


def _checks(result: xarray.DataTree, about: Summary, case: Case, parameters: Any) -> Iterator[str]:
    """The comparison with the case's reference, computed from the result as it is on disk."""
    if not case.has("check"):
        return
    if _stopped_early(about):
        yield page.section("Checks", page.paragraph("The run stopped early: it is not compared with the reference."))
        return
    with warn_and_skip("the comparison with the reference"):
        checks = list(case.call("check", result, parameters))
        passed = sum(c.passed for c in checks)
        rows = page.table(tables.rows_of_checks(checks), tables.CHECKED, numbers=tables.CHECKED_NUMBERS)
        yield page.section("Checks", rows, page.paragraph(f"{passed} of {len(checks)} within tolerance"))


def _parameters(about: Summary, made: tuple[Case, Any] | None) -> Iterator[str]:
    """The parameters with their units, defaults and meanings."""
    given = about.parameters if made is None else asdict(made[1])
    table = report_parts.parameters(None if made is None else made[0], given)
    if table:
        yield page.section("Parameters", table)


def _energies(about: Summary) -> Iterator[str]:
    """Each kind of energy, and how well they add up."""
    if not about.energies:
        return
    rows = [(e.kind.replace("_", " "), *(f"{x:.6g}" for x in (e.first, e.last, e.largest))) for e in about.energies]
    worst = about.facts.get("largest energy imbalance")
    yield page.section(
        "Energies",
        page.table(rows, ("energy (J)", "at the start", "at the end", "largest"), numbers=(1, 2, 3)),
        page.paragraph(f"Worst balance at any step: {worst} of the largest energy.") if worst else "",
    )


def _figures(result: xarray.DataTree, about: Summary, made: tuple[Case, Any] | None) -> Iterator[str]:
    """The figures with captions; of a run that stopped early those that any result has."""
    from arlequin import plots

    yield from report_parts.pictures(plots.overview(result) if _stopped_early(about) else figures_of(result, made))


def _stopped_early(about: Summary) -> bool:
    return "stopped early" in about.facts["steps"]
