"""Keywords of an Abaqus input file with their parameters and data lines."""

import re
from collections.abc import Iterator
from pathlib import Path

from arlequin.models.mesh.foreign import Includes

_WITH_INPUT = ("NODE", "ELEMENT")  # their data lines may stand in a file INPUT=


def keywords(path: Path, text: str, includes: Includes) -> Iterator[tuple[str, dict[str, str], list[list[str]]]]:
    """Keywords, parameters (name → value) and the words of the data lines, includes resolved.

    Names of keywords and parameters in upper case and without blanks.

    >>> text = "*Elset, elset=Rod,\\ngenerate\\n** a comment\\n1, 5\\n"
    >>> list(keywords(Path("a.inp"), text, Includes()))
    [('ELSET', {'ELSET': 'Rod', 'GENERATE': ''}, [['1', '5']])]
    """
    keyword, parameters, rows = "", dict[str, str](), list[list[str]]()
    for line in _lines(path, text, includes):
        if not line.startswith("*"):
            rows.append(words(line))
            continue
        if keyword:
            yield keyword, parameters, rows
        keyword, parameters = _heading(line)
        rows = []
        if keyword in _WITH_INPUT and "INPUT" in parameters:
            rows = [words(row) for row in _lines(*includes.text(path, parameters["INPUT"]), includes)]
    if keyword:
        yield keyword, parameters, rows


def _lines(path: Path, text: str, includes: Includes) -> Iterator[str]:
    """Lines without comments, those of a keyword that go on behind a comma as one; *INCLUDE is replaced by its file."""
    heading = ""
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("**"):
            continue
        if heading and not line.startswith("*"):
            line, heading = heading + line, ""
        elif heading:  # a comma at the end of a keyword line without more parameters
            yield heading
            heading = ""
        if line.startswith("*") and line.endswith(","):
            heading = line
        elif line.startswith("*") and _heading(line)[0] == "INCLUDE":
            yield from _lines(*includes.text(path, _heading(line)[1].get("INPUT", "")), includes)
        else:
            yield line
    if heading:
        yield heading


def _heading(line: str) -> tuple[str, dict[str, str]]:
    first, *others = words(line[1:])
    pairs = (word.partition("=") for word in others if word)
    return _plain(first), {_plain(key): value.strip().strip('"') for key, _, value in pairs}


def _plain(name: str) -> str:
    return "".join(name.upper().split())


def words(line: str) -> list[str]:
    """The words of a line between commas; those in quotes may have commas.

    >>> words('1, "a, b",'), words('NAME="a b"')
    (['1', 'a, b', ''], ['NAME="a b"'])
    """
    if '"' not in line:
        return [word.strip() for word in line.split(",")]
    parts = re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', line)
    return [re.sub(r'^"(.*)"$', r"\1", word.strip()) for word in parts]


def is_number(word: str) -> bool:
    """Whether a word is a whole number, not a name."""
    return word.lstrip("+-").isdigit()


def real(word: str) -> float:
    """A real number, 0 where the word is blank; the letter of the exponent may be D.

    >>> real("1.5D2"), real("")
    (150.0, 0.0)
    """
    return float(word.upper().replace("D", "E")) if word else 0.0


def reals(row: list[str], count: int) -> list[float]:
    """The first `count` words as real numbers, 0 where they are blank or missing."""
    return [real(word) for word in row[:count]] + [0.0] * (count - len(row))


def whole(row: list[str], at: int, default: int) -> int:
    """The whole number at a place of a data line; the default where it is blank or missing."""
    return int(row[at]) if len(row) > at and row[at] else default
