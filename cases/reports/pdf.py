"""Reports as PDF, by the package fpdf2, with the fonts of Matplotlib; pages are numbered and have bookmarks.

Tables break between rows and repeat their headers; wide ones get smaller type, then lines that wrap.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from fpdf import FPDF
from fpdf.enums import TableBordersLayout, TextEmphasis
from fpdf.fonts import FontFace

from arlequin.cases.reports.document import (
    Content,
    Document,
    Folded,
    Frame,
    Paragraph,
    Picture,
    Preformatted,
    Table,
)
from arlequin.cases.reports.text import printable

MARGIN = 18.0  # mm
TYPE, SMALL, LEAST = 9.0, 7.0, 5.0  # points
GOOD, BAD = (26, 127, 55), (198, 40, 40)
MARKS = {"ok": GOOD, "OUT": BAD, "failed": BAD}
TALLEST = 0.55  # of the page that a picture may take
CAPTION = 12.0  # mm
WIDEST = 60.0  # mm, of a column before its lines wrap
SPACE = 4.8  # mm, between the texts of two columns


def pdf(document: Document) -> bytes:
    """The report as PDF, A4."""
    out = _Paper(document.title)
    out.add_page()
    out.set_font(style="B", size=17)
    out.multi_cell(0, text=printable(document.title), new_x="LMARGIN", new_y="NEXT")
    out.ln(1.0)
    out.set_font(size=TYPE)
    out.multi_cell(0, text=printable(document.line), new_x="LMARGIN", new_y="NEXT")
    for section in document.sections:
        first = section.content[0] if section.content else None
        out.heading(section.title, _height(out, first) if isinstance(first, Picture) else 15.0)
        for content in section.content:
            _add(out, content)
    return bytes(out.output())


class _Paper(FPDF):
    """Pages with the title and their number at the foot."""

    def __init__(self, title: str) -> None:
        super().__init__(format="A4")
        self._title = printable(title)
        self.set_title(self._title)
        self.set_creator("arlequin")
        self.set_lang("en")
        fonts = _fonts()
        for style, name in {"": "DejaVuSans", "B": "DejaVuSans-Bold"}.items():
            self.add_font("sans", style, fonts / f"{name}.ttf")
        self.add_font("mono", "", fonts / "DejaVuSansMono.ttf")
        self.set_font("sans", size=TYPE)
        self.set_margins(MARGIN, MARGIN)
        self.set_auto_page_break(True, MARGIN)

    def footer(self) -> None:
        self.set_y(-0.7 * MARGIN)
        self.set_font("sans", size=SMALL)
        self.set_text_color(110)
        self.cell(0.5 * self.epw, text=self._title)
        self.cell(0.5 * self.epw, text=f"{self.page_no()}", align="R")
        self.set_text_color(0)

    def heading(self, title: str, room: float) -> None:
        """A heading with a bookmark, on the page of what follows, which needs `room`, mm."""
        if self.will_page_break(10.0 + room):
            self.add_page()
        self.ln(4)
        self.start_section(printable(title))
        self.set_font("sans", style="B", size=12)
        self.cell(0, 8, text=printable(title), border="B", new_x="LMARGIN", new_y="NEXT")
        self.ln(1.5)
        self.set_font("sans", size=TYPE)


def _fonts() -> Path:
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf"


def _add(out: _Paper, content: Content) -> None:
    match content:
        case Paragraph(text) | Frame(text=text):
            _lines(out, text)
        case Preformatted(title, text):
            _lines(out, title, "B")
            with _font(out, "mono", SMALL - 0.5):
                out.multi_cell(0, text=printable(text), align="L", new_x="LMARGIN", new_y="NEXT")
        case Folded(title, table):
            _lines(out, title, "B")
            _table(out, table)
        case Picture():
            _picture(out, content)
        case Table():
            _table(out, content)


@contextmanager
def _font(out: _Paper, family: str, size: float, style: str = "") -> Iterator[None]:
    out.set_font(family, style=style, size=size)
    yield
    out.set_font("sans", size=TYPE)


def _lines(out: _Paper, text: str, style: str = "") -> None:
    with _font(out, "sans", TYPE, style):
        out.multi_cell(0, text=printable(text), align="L", new_x="LMARGIN", new_y="NEXT")
    out.ln(1.0)


def _height(out: _Paper, picture: Picture) -> float:
    """Height with the caption, mm."""
    image = _image(picture)
    return min(out.epw * image.height / image.width, TALLEST * out.eph) + CAPTION


def _image(picture: Picture) -> Any:
    """The image; of a film its first frame."""
    from PIL import Image

    return Image.open(io.BytesIO(picture.data))


def _picture(out: _Paper, picture: Picture) -> None:
    image, height = _image(picture), _height(out, picture)
    if out.will_page_break(height):
        out.add_page()
    height -= CAPTION
    out.image(image.convert("RGB"), w=height * image.width / image.height, h=height)
    with _font(out, "sans", SMALL):
        note = " (first frame; the report as an HTML page has the film)" if picture.kind == "gif" else ""
        out.multi_cell(0, text=printable(picture.caption + note), align="L", new_x="LMARGIN", new_y="NEXT")
    out.ln(3.0)


def _table(out: _Paper, table: Table) -> None:
    rows = [[printable(cell) for cell in row] for row in (*([table.headers] * bool(table.headers)), *table.rows)]
    if not rows:
        return
    # headers may wrap between words
    headers = [[max(cell.split(), key=len, default="") for cell in row] for row in rows[: bool(table.headers)]]
    parts = [*headers, *rows[bool(table.headers) :]]
    out.set_font("sans", style="B", size=SMALL)
    lengths = [max(map(out.get_string_width, column)) for column in zip(*parts, strict=True)]
    for size in np.arange(SMALL, LEAST - 0.1, -0.5).tolist():
        natural = [size / SMALL * width + SPACE for width in lengths]
        widths = [min(width, WIDEST) for width in natural]
        if sum(widths) <= out.epw:
            break
    spare = out.epw - sum(widths)
    if spare > 0.0:  # to the columns whose lines wrap
        missing = [width - taken for width, taken in zip(natural, widths, strict=True)]
        share = min(1.0, spare / sum(missing)) if sum(missing) > 0.0 else 0.0
        widths = [taken + share * more for taken, more in zip(widths, missing, strict=True)]
    out.set_font("sans", size=size)
    with out.table(
        width=min(sum(widths), out.epw), col_widths=widths, align="L", line_height=1.35 * out.font_size,
        borders_layout=TableBordersLayout.SINGLE_TOP_LINE if table.headers else TableBordersLayout.NONE,
        first_row_as_headings=bool(table.headers), headings_style=FontFace(emphasis=TextEmphasis.B),
        text_align=tuple("RIGHT" if n in table.numbers else "LEFT" for n in range(len(rows[0]))),
        cell_fill_color=244, cell_fill_mode="ROWS", padding=(0.4, 1.2),
    ) as grid:  # fmt: skip
        for texts in rows:
            row = grid.row()
            for text in texts:
                row.cell(text, style=FontFace(color=MARKS[text]) if text in MARKS else None)
    out.set_font("sans", size=TYPE)
    out.ln(2.0)
