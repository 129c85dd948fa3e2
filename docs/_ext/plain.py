"""Conversion of plain-text docstrings (prose, `names`, indented formulas, tables and examples).

They become Markdown (the gallery) or reStructuredText (the reference), with all special characters escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

CODE = re.compile(r"(`[^`]+`)")
MARKS = re.compile(r"([\\*_|<>\[\]#`$])")
ITEM = re.compile(r"(\* +)")


def paragraphs(lines: Iterable[str]) -> Iterator[tuple[bool, list[str]]]:
    """(indented, lines) of each paragraph; successive indented paragraphs are joined, with their blank lines."""
    kept: list[str] = []
    indented = False
    for line in [*lines, ""]:
        inside = line.startswith("    ")
        if line.strip() and (inside == indented or not kept):
            indented = inside if not kept else indented
            kept.append(line)
        elif line.strip():
            yield indented, trimmed(kept) if indented else joined(kept)
            kept, indented = [line], inside
        elif indented:
            kept.append("")  # the next paragraph may go on with it
        elif kept:
            yield indented, joined(kept)
            kept = []
    if kept:
        yield indented, trimmed(kept)


def joined(lines: Sequence[str]) -> list[str]:
    """The lines with each `name` that is broken over two lines on one line."""
    return CODE.sub(lambda code: re.sub(r"\n\s*", " ", code.group()), "\n".join(lines)).split("\n")


def trimmed(lines: Sequence[str]) -> list[str]:
    """The lines without trailing blank lines."""
    return "\n".join(lines).rstrip().split("\n")


def markdown(text: str) -> str:
    """A docstring as Markdown."""
    out: list[str] = []
    for indented, lines in paragraphs(text.split("\n")):
        if indented:
            out += ["```text", *(line[4:] for line in lines), "```", ""]
        else:
            out += [plain(line) for line in lines] + [""]
    return "\n".join(out)


def restructured(text_lines: Sequence[str]) -> list[str]:
    """The lines of a docstring as reStructuredText."""
    out: list[str] = []
    for indented, lines in paragraphs(text_lines):
        if indented:
            out += ["::", "", *lines, ""]
        elif lines[0].startswith(">>>"):
            out += [*lines, ""]
        else:
            out += [prose(line, r"\\\1", "`{}`") for line in lines] + [""]
    return out


def plain(line: str) -> str:
    """A line of prose as Markdown."""
    return prose(line, r"\\\1", "{}")


def prose(line: str, escape: str, code: str) -> str:
    """A line with its special characters escaped, except in `code` and the mark of a list."""
    mark = ITEM.match(line)
    begin, rest = (mark.group(1), line[mark.end() :]) if mark else ("", line)
    pieces = CODE.split(rest)
    return begin + "".join(code.format(p) if CODE.fullmatch(p) else MARKS.sub(escape, p) for p in pieces)
