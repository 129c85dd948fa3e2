"""Reports as data: sections of paragraphs, tables and pictures, which `page` writes as HTML and `pdf` as PDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Table:
    """Table of text; numbers: columns aligned to the right; sortable: by a click on a header of the page."""

    rows: Rows
    headers: Sequence[str] = ()
    numbers: Sequence[int] = ()
    sortable: bool = False


@dataclass(frozen=True)
class Picture:
    """Image of kind `png` or `gif`."""

    data: bytes
    kind: str
    caption: str


@dataclass(frozen=True)
class Preformatted:
    """Text with its line breaks, collapsed on the page under its title."""

    title: str
    text: str


@dataclass(frozen=True)
class Folded:
    """Table that is collapsed on the page under its title."""

    title: str
    table: Table


@dataclass(frozen=True)
class Frame:
    """Interactive view in a frame of the page, with its script; the PDF has the text in its place."""

    html: str
    script: str
    text: str


Content = Paragraph | Table | Picture | Preformatted | Folded | Frame


@dataclass(frozen=True)
class Section:
    title: str
    content: Sequence[Content]


@dataclass(frozen=True)
class Document:
    """Title, subtitle and sections of a report."""

    title: str
    line: str
    sections: Sequence[Section]
