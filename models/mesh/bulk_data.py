"""Cards of Nastran's bulk data in small, large and free fields, for meshes and for the matrices of superelements.

Read here, without a package: pyNastran 1.4 needs NumPy below 2. Source: MSC Nastran Quick Reference Guide, "Format of
bulk data entries".
"""

import re
from collections.abc import Iterable, Iterator, Sequence

_REAL = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[EDed]?([+-]?\d+))?")


def real(text: str) -> float:
    """A real number of bulk data; the letter of the exponent may be E, D or left out.

    >>> [real(word) for word in ("1.5D+06", "-2.5-3", ".5", "7.")]
    [1500000.0, -0.0025, 0.5, 7.0]
    """
    match = _REAL.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no real number")
    return float(f"{match[1]}e{match[2]}") if match[2] else float(match[1])


def reals(fields: Sequence[str], count: int) -> list[float]:
    """The first `count` fields as real numbers, 0 where they are blank or missing.

    >>> reals(["1.", "", "3."], 4)
    [1.0, 0.0, 3.0, 0.0]
    """
    return [real(field) if field else 0.0 for field in fields[:count]] + [0.0] * (count - len(fields))


def cards(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Names and fields of the cards, continuations joined: 8 fields, or a multiple of it, blank ones "".

    >>> list(cards(["GRID*   7                               1.", "*       2.", "SET1,3,1,2  $ foot", "ENDDATA"]))
    [('GRID', ['7', '', '1.', '', '2.', '', '', '']), ('SET1', ['3', '1', '2', '', '', '', '', ''])]
    """
    name, fields = "", list[str]()
    for raw in lines:
        line = raw.split("$", 1)[0].rstrip()
        if not line:
            continue
        if line.lstrip()[:7].upper() == "ENDDATA":
            break
        head, large, data = _fields(line)
        if head and head[0] not in "+*":
            if name:
                yield name, _filled(fields)
            name, fields = head.rstrip("*").upper(), data
        else:
            fields = (fields if large else _filled(fields)) + data  # a large line is half a line
    if name:
        yield name, _filled(fields)


def _filled(fields: list[str]) -> list[str]:
    return fields + [""] * (-len(fields) % 8)


def _fields(line: str) -> tuple[str, bool, list[str]]:
    """The first field of a line, whether its fields are large, and its data."""
    if "," in line:
        head, *data = [word.strip() for word in line.split(",")]
        large = "*" in head
        count = 4 if large else 8
        return head, large, (data + [""] * count)[:count]
    line = line.expandtabs(8)
    head = line[:8].strip()
    if "*" in head:
        return head, True, [line[at : at + 16].strip() for at in (8, 24, 40, 56)]
    return head, False, [line[at : at + 8].strip() for at in (8, 16, 24, 32, 40, 48, 56, 64)]
