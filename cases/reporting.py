"""The report of a run: one HTML page with its parameters, checks, energies and figures, to keep and to send."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.result import Summary, summary
from cases import page, tables
from cases.parameters import fields
from cases.results import figures_of, made_by
from cases.versions import versions

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from cases.registry import Case

DPI = 130


def write_report(result: xarray.DataTree, target: Path, film: Path | None = None) -> Path:
    """Write the page of a result; film: a GIF that it takes in."""
    made, about = made_by(result), summary(result)
    case = None if made is None else made[0]
    title = "Study" if case is None else case.short
    line = "" if case is None else case.line
    sections = [
        _run(about, case),
        *(_checks(result, about, *made) if made is not None else ()),
        *_parameters(about, made),
        *_energies(about),
        page.section("Figures", *_figures(result, about)),
    ]
    if film is not None:
        sections.append(page.section("Motion", page.image(film.read_bytes(), "gif", "The parts over time.")))
    sections.append(page.section("Versions where this report was made", page.table(versions())))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page.page(title, line, sections), encoding="utf-8")
    return target


def _run(about: Summary, case: Case | None) -> str:
    """What ran: step, scheme, times, version, solver statistics; the whole text of the case."""
    rows = [(name, text) for name, text in about.facts.items() if text]
    rows.append(("report made", datetime.now().astimezone().isoformat(" ", "minutes")))
    text = "" if case is None else (case.module.__doc__ or "").strip()
    return page.section("Run", page.table(rows), page.preformatted("About the case", text) if text else "")


def _checks(result: xarray.DataTree, about: Summary, case: Case, parameters: Any) -> Iterator[str]:
    """The comparison with the case's reference, computed from the result as it is on disk."""
    if not case.has("check"):
        return
    if _stopped_early(about):
        yield page.section("Checks", page.paragraph("The run stopped early: it is not compared with the reference."))
        return
    checks = list(case.function("check")(result, parameters))
    passed = sum(c.passed for c in checks)
    rows = page.table(tables.rows_of_checks(checks), tables.CHECKED, numbers=tables.CHECKED_NUMBERS)
    yield page.section("Checks", rows, page.paragraph(f"{passed} of {len(checks)} within tolerance"))


def _parameters(about: Summary, made: tuple[Case, Any] | None) -> Iterator[str]:
    """The parameters with their units, defaults and meanings."""
    if made is not None:
        case, parameters = made
        rows = []
        for f in fields(case.parameters):
            given = tables.value(getattr(parameters, f.name))
            unit = "" if f.quantity.unit == "1" else f.quantity.unit
            rows.append((f.name, given, unit, tables.default(f), f.quantity.text))
        headers = ("parameter", "value", "unit", "default", "meaning")
        yield page.section("Parameters", page.table(rows, headers, numbers=(1, 3)))
    elif about.parameters:
        pairs = [(name, tables.value(given)) for name, given in about.parameters.items()]
        yield page.section("Parameters", page.table(pairs, ("parameter", "value"), numbers=(1,)))


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


def _figures(result: xarray.DataTree, about: Summary) -> Iterator[str]:
    """The figures with captions; of a run that stopped early those that any result has."""
    from arlequin import plots

    figures = plots.overview(result) if _stopped_early(about) else figures_of(result)
    for name, figure in figures.items():
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=DPI)
        yield page.image(stream.getvalue(), "png", caption(name, figure))


def caption(name: str, figure: Figure) -> str:
    """The name of a figure and what its axes show: «Contact: Contact force (N), Least gap (m) over Time (s)»."""
    text = name.replace("_", " ").replace("-", " ")
    text = text[:1].upper() + text[1:]
    up = _joined([figure.get_supylabel(), *(axes.get_ylabel() for axes in figure.axes)])
    along = _joined([figure.get_supxlabel(), *(axes.get_xlabel() for axes in figure.axes)])
    return f"{text}: {' over '.join(filter(None, (up, along)))}" if up or along else text


def _joined(labels: Sequence[str]) -> str:
    """Labels without repetition and line breaks."""
    return ", ".join(dict.fromkeys(" ".join(label.split()) for label in labels if label))


def _stopped_early(about: Summary) -> bool:
    return "stopped early" in about.facts["steps"]
