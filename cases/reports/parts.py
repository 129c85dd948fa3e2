"""What reports of runs and sweeps have in common: parameters, figures with captions, versions."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING
from datetime import datetime
from typing import TYPE_CHECKING, Any

from arlequin.cases.case.parameters import fields
from arlequin.cases.cli import tables
from arlequin.cases.cli.tables import versions
from arlequin.cases.reports.document import Document, Picture, Preformatted, Section, Table
from arlequin.results.damage import warn_and_skip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arlequin.cases.case.registry import Case

DPI = 130
PARAMETERS = ("parameter", "value", "unit", "default", "meaning")


def document(case: Case | None, title: str, sections: Sequence[Section]) -> Document:
    """The report, with the installed versions as its last section."""
    line = "" if case is None else case.line
    return Document(title, line, (*sections, Section("Installed versions", [Table(list(versions()))])))


def date_row() -> tuple[str, str]:
    """Row with the date of the report."""
    return "date of the report", datetime.now().astimezone().isoformat(" ", "minutes")


def about(case: Case | None) -> Iterator[Preformatted]:
    """Documentation of the case."""
    text = "" if case is None else (case.module.__doc__ or "").strip()
    if text:
        yield Preformatted("About the case", text)


def parameters(
    title: str, case: Case | None, values: Mapping[str, Any], omit: Collection[str] = ()
) -> Iterator[Section]:
    """Section of the parameters except `omit`, with units, defaults and meanings; values: by name."""
    if case is None:
        rows = [(name, tables.value(value)) for name, value in values.items() if name not in omit]
        if rows:
            yield Section(title, [Table(rows, PARAMETERS[:2], numbers=(1,))])
        return
    full = []
    for f in fields(case.parameters):
        value = values.get(f.name, f.default)
        if f.name not in omit and value is not MISSING:
            unit = "" if f.quantity.unit == "1" else f.quantity.unit
            full.append((f.name, tables.value(value), unit, tables.default(f), f.quantity.text))
    if full:
        yield Section(title, [Table(full, PARAMETERS, numbers=(1, 3))])


def pictures(figures: Mapping[str, Figure]) -> Iterator[Picture]:
    """Figures with captions."""
    for name, figure in figures.items():
        with warn_and_skip(f"the figure {name}"):
            stream = io.BytesIO()
            figure.savefig(stream, format="png", dpi=DPI)
            yield Picture(stream.getvalue(), "png", caption(name, figure))


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
