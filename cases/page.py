"""HTML of one page that needs nothing else: text is escaped, images are in it, nothing is loaded."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --good: #1a7f37; --bad: #c62828; }
@media (prefers-color-scheme: dark) { :root { --good: #57c26f; --bad: #ff7b72; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: 0; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; border-bottom: 1px solid var(--line); }
tbody tr:nth-child(even) { background: var(--soft); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 700; }
figure { margin: 1.2rem 0 2rem; } img { max-width: 100%; height: auto; background: #fff; }
figcaption { font-size: 0.9rem; } pre { white-space: pre-wrap; font-size: 0.85rem; }
@media print {
  :root { color-scheme: light; } body { max-width: none; margin: 0; font-size: 10pt; }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; } img { max-height: 20cm; }
}
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
MARKS = {"ok": "good", "OUT": "bad"}


def page(title: str, line: str, sections: Iterable[str]) -> str:
    """The page: title, the line under it, sections."""
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    )
    body = f"<h1>{escape(title)}</h1>\n{paragraph(line)}" + "\n".join(sections)
    return f"{head}{body}\n</body>\n</html>\n"


def section(title: str, *content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{''.join(content)}</section>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>\n"


def preformatted(title: str, text: str) -> str:
    """A text as it stands, folded until it is asked for."""
    return f"<details>\n<summary>{escape(title)}</summary>\n<pre>{escape(text)}</pre>\n</details>\n"


def table(rows: Iterable[Sequence[str]], headers: Sequence[str] = (), numbers: Sequence[int] = ()) -> str:
    """Rows of text; `numbers` are the columns set to the right; `ok` and `OUT` are marked."""

    def cells(row: Sequence[str], tag: str) -> str:
        marks = [
            " ".join(filter(None, ("number" if n in numbers else "", MARKS.get(c, "")))) for n, c in enumerate(row)
        ]
        kinds = [f' class="{mark}"' if mark else "" for mark in marks]
        return "".join(f"<{tag}{kind}>{escape(c)}</{tag}>" for c, kind in zip(row, kinds, strict=True))

    head = f"<thead><tr>{cells(headers, 'th')}</tr></thead>\n" if headers else ""
    body = "\n".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table>\n{head}<tbody>\n{body}\n</tbody>\n</table>\n"


def image(data: bytes, kind: str, caption: str) -> str:
    """A picture of the kind `png` or `gif` and its caption."""
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
    text = escape(caption)
    return f'<figure>\n<img src="{source}" alt="{text}">\n<figcaption>{text}</figcaption>\n</figure>\n'
