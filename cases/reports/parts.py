"""Sections common to reports of runs and sweeps: parameters, figures with captions, versions."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.cases.case.parameters import fields
from arlequin.cases.cli import tables
from arlequin.cases.cli.tables import versions
from arlequin.cases.reports import page
from arlequin.results.damage import warn_and_skip
from arlequin.results.writing import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arlequin.cases.case.registry import Case

DPI = 130
PARAMETERS = ("parameter", "value", "unit", "default", "meaning")


def write(
    target: Path, case: Case | None, title: str, sections: Sequence[str], script: str = "", framed: str = ""
) -> Path:
    """Write the page, with the installed versions as its last section; script, framed: see `page.page`."""
    line = "" if case is None else case.line
    all_sections = [*sections, page.section("Installed versions", page.table(versions()))]
    return write_text(target, page.page(title, line, all_sections, script, framed))


def date_row() -> tuple[str, str]:
    """Row with the date of the report."""
    return "date of the report", datetime.now().astimezone().isoformat(" ", "minutes")


def about(case: Case | None) -> str:
    """Documentation of the case, collapsed."""
    text = "" if case is None else (case.module.__doc__ or "").strip()
    return page.preformatted("About the case", text) if text else ""


def parameters(case: Case | None, values: Mapping[str, Any], omit: Collection[str] = ()) -> str:
    """Table of the parameters except `omit`, with units, defaults and meanings; values: by name."""
    if case is None:
        rows = [(name, tables.value(value)) for name, value in values.items() if name not in omit]
        return page.table(rows, PARAMETERS[:2], numbers=(1,)) if rows else ""
    full = []
    for f in fields(case.parameters):
        value = values.get(f.name, f.default)
        if f.name not in omit and value is not MISSING:
            unit = "" if f.quantity.unit == "1" else f.quantity.unit
            full.append((f.name, tables.value(value), unit, tables.default(f), f.quantity.text))
    return page.table(full, PARAMETERS, numbers=(1, 3)) if full else ""


def pictures(figures: Mapping[str, Figure]) -> Iterator[str]:
    """Figures with captions."""
    for name, figure in figures.items():
        with warn_and_skip(f"the figure {name}"):
            stream = io.BytesIO()
            figure.savefig(stream, format="png", dpi=DPI)
            yield page.image(stream.getvalue(), "png", caption(name, figure))


def caption(name: str, figure: Figure) -> str:
    """Caption of a figure from its name and axis labels: «Contact: Contact force (N) over Time (s)»."""
    text = name.replace("_", " ").replace("-", " ")
    text = text[:1].upper() + text[1:]
    y_labels = _joined([figure.get_supylabel(), *(axes.get_ylabel() for axes in figure.axes)])
    x_labels = _joined([figure.get_supxlabel(), *(axes.get_xlabel() for axes in figure.axes)])
    return f"{text}: {' over '.join(filter(None, (y_labels, x_labels)))}" if y_labels or x_labels else text


def _joined(labels: Sequence[str]) -> str:
    """Distinct labels without line breaks, joined by commas."""
    return ", ".join(dict.fromkeys(" ".join(label.split()) for label in labels if label))
