"""Reports as self-contained HTML pages: escaped text, embedded images, no external resources."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from hashlib import sha256

from arlequin.cases.reports.document import (
    Content,
    Document,
    Folded,
    Frame,
    Paragraph,
    Picture,
    Preformatted,
    Section,
    Table,
)
from arlequin.cases.reports.text import printable

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --good: #1a7f37; --bad: #c62828; }
@media (prefers-color-scheme: dark) { :root { --good: #57c26f; --bad: #ff7b72; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: 0; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; vertical-align: top; overflow-wrap: break-word; }
th { font-weight: 600; border-bottom: 1px solid var(--line); }
tbody tr:nth-child(even) { background: var(--soft); }
.long { min-width: 10rem; }
/* wide tables scroll: a shadow at an edge beyond which there is more, and a bar that stays */
.wide { overflow-x: auto; --edge: 2.2rem; --shade: light-dark(#0006, #fff5);
  background: linear-gradient(90deg, Canvas 30%, transparent) left / var(--edge) 100% no-repeat local,
    linear-gradient(270deg, Canvas 30%, transparent) right / var(--edge) 100% no-repeat local,
    linear-gradient(90deg, var(--shade), transparent) left / 0.9rem 100% no-repeat scroll,
    linear-gradient(270deg, var(--shade), transparent) right / 0.9rem 100% no-repeat scroll; }
.wide::-webkit-scrollbar { height: 0.5rem; } .wide::-webkit-scrollbar-track { background: var(--soft); }
.wide::-webkit-scrollbar-thumb { background: #888a; border-radius: 0.25rem; }
.sortable td, .sortable th { white-space: nowrap; }
th button { all: unset; cursor: pointer; } th button:focus-visible { outline: 2px solid; }
th button::after { content: " ↕"; color: #8888; }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 700; }
figure { margin: 1.2rem 0 2rem; } img { max-width: 100%; height: auto; background: #fff; }
figcaption { font-size: 0.9rem; } pre { white-space: pre-wrap; font-size: 0.85rem; }
@media print {
  :root { color-scheme: light; } body { max-width: none; margin: 0; font-size: 10pt; }
  .wide { overflow: visible; background: none; }
  .long { min-width: 0; } table { font-size: 8pt; } th button::after { display: none; }
  .sortable { font-size: 6pt; } .sortable td:not(.number), .sortable th { white-space: normal; }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; } img { max-height: 20cm; }
}
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
LONG = 20  # characters from which a text column has a minimum width
MARKS = {"ok": "good", "OUT": "bad", "failed": "bad"}
# sorting of a table by a click on a header: numerically, empty cells last; a second click reverses the order
SORT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, n) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = row => row.cells[n].textContent;
      const order = (a, b) => isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
      const rank = (a, b) => (a === "") - (b === "") || (up ? 1 : -1) * order(a, b);
      body.append(...[...body.rows].sort((a, b) => rank(key(a), key(b))));
    };
  });
}
"""


def page(document: Document) -> str:
    """HTML page of a report; its security policy admits the script of sortable tables and those of its frames only."""
    content = [each for section in document.sections for each in section.content]
    tables = [each.table if isinstance(each, Folded) else each for each in content]
    sorting = [SORT] * any(isinstance(each, Table) and each.sortable for each in tables)
    frames = {each.script for each in content if isinstance(each, Frame)}
    digests = [base64.b64encode(sha256(text.encode()).digest()).decode() for text in (*sorting, *sorted(frames))]
    policy = POLICY
    if digests:
        policy += "; script-src " + " ".join(f"'sha256-{digest}'" for digest in digests)
    if frames:
        policy += "; frame-src 'self'"
    code = "".join(f"\n<script>{text}</script>" for text in sorting)
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(document.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    )
    sections = "\n".join(map(_section, document.sections))
    return (
        f"{head}<h1>{escape(document.title)}</h1>\n<p>{escape(document.line)}</p>\n{sections}{code}\n</body>\n</html>\n"
    )


def escape(text: str) -> str:
    """Text as HTML, without control and direction characters.

    >>> escape("<a\\u202eb")
    '&lt;a�b'
    """
    return html.escape(printable(text))


def _section(section: Section) -> str:
    return f"<section>\n<h2>{escape(section.title)}</h2>\n{''.join(map(_content, section.content))}</section>"


def _content(content: Content) -> str:
    match content:
        case Paragraph(text):
            return f"<p>{escape(text)}</p>\n"
        case Preformatted(title, text):
            return _folded(title, f"<pre>{escape(text)}</pre>\n")
        case Folded(title, table):
            return _folded(title, _table(table))
        case Frame(frame):
            return frame
        case Picture():
            return _image(content)
        case Table():
            return _table(content)


def _folded(title: str, content: str) -> str:
    return f"<details>\n<summary>{escape(title)}</summary>\n{content}</details>\n"


def _table(table: Table) -> str:
    """Table; `ok` and `OUT` are coloured."""

    def cells(row: Sequence[str], tag: str) -> str:
        marks = [
            " ".join(filter(None, ("number" if n in table.numbers else "long" * (len(c) > LONG), MARKS.get(c, ""))))
            for n, c in enumerate(row)
        ]
        kinds = [f' class="{mark}"' if mark else "" for mark in marks]
        return "".join(f"<{tag}{kind}>{escape(c)}</{tag}>" for c, kind in zip(row, kinds, strict=True))

    head = f"<thead><tr>{cells(table.headers, 'th')}</tr></thead>\n" if table.headers else ""
    body = "\n".join(f"<tr>{cells(row, 'td')}</tr>" for row in table.rows)
    kind = ' class="sortable"' if table.sortable else ""
    # wide tables scroll separately
    return f'<div class="wide">\n<table{kind}>\n{head}<tbody>\n{body}\n</tbody>\n</table>\n</div>\n'


def _image(picture: Picture) -> str:
    source = f"data:image/{picture.kind};base64,{base64.b64encode(picture.data).decode('ascii')}"
    text = escape(picture.caption)
    return f'<figure>\n<img src="{source}" alt="{text}">\n<figcaption>{text}</figcaption>\n</figure>\n'
