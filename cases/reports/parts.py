"""What the reports of runs and of sweeps share: parameters with their meaning, figures with captions, versions."""

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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arlequin.cases.case.registry import Case

DPI = 130
PARAMETERS = ("parameter", "value", "unit", "default", "meaning")


def write(target: Path, case: Case | None, title: str, sections: Sequence[str], script: str = "") -> Path:
    """Write the page, which ends with the versions here."""
    line = "" if case is None else case.line
    ended = [*sections, page.section("Versions where this report was made", page.table(versions()))]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page.page(title, line, ended, script), encoding="utf-8")
    return target


def made() -> tuple[str, str]:
    """When the report was made, a row."""
    return "report made", datetime.now().astimezone().isoformat(" ", "minutes")


def about(case: Case | None) -> str:
    """The whole text of the case, folded."""
    text = "" if case is None else (case.module.__doc__ or "").strip()
    return page.preformatted("About the case", text) if text else ""


def parameters(case: Case | None, given: Mapping[str, Any], leave: Collection[str] = ()) -> str:
    """The parameters but those of `leave`, with what their case says of them; given: some or all."""
    if case is None:
        rows = [(name, tables.value(value)) for name, value in given.items() if name not in leave]
        return page.table(rows, PARAMETERS[:2], numbers=(1,)) if rows else ""
    full = []
    for f in fields(case.parameters):
        value = given.get(f.name, f.default)
        if f.name not in leave and value is not MISSING:
            unit = "" if f.quantity.unit == "1" else f.quantity.unit
            full.append((f.name, tables.value(value), unit, tables.default(f), f.quantity.text))
    return page.table(full, PARAMETERS, numbers=(1, 3)) if full else ""


def pictures(figures: Mapping[str, Figure]) -> Iterator[str]:
    """The figures with captions."""
    for name, figure in figures.items():
        with warn_and_skip(f"the figure {name}"):
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
