"""Cards of Nastran's bulk data: GRID and DMIG, in small, large and free fields.

Read here, without a package: pyNastran 1.4 needs NumPy below 2, and the cards of matrices are few.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from arlequin.models.types import Array

_REAL = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[EDed]?([+-]?\d+))?")
_SYMMETRIC, _SQUARE, _COMPLEX = 6, 1, 3
Label = tuple[int, int]  # point, number of the component


@dataclass(frozen=True, eq=False)
class BulkData:
    """Matrices of DMIG cards with the labels (d,) of their coordinates, and points of GRID cards, m."""

    matrices: dict[str, sp.csr_array]
    labels: dict[str, list[Label]]
    points: dict[int, Array]


def real(text: str) -> float:
    """A real number of bulk data; the letter of the exponent may be E, D or left out.

    >>> real("1.5D+06"), real("-2.5-3"), real(".5"), real("7.")
    (1500000.0, -0.0025, 0.5, 7.0)
    """
    match = _REAL.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text.strip()!r} is no real number")
    return float(f"{match[1]}e{match[2] or 0}")


def read_bulk_data(text: str) -> BulkData:
    """The matrices and points of a text; ValueError where a card cannot be read."""
    forms: dict[str, int] = {}
    entries: dict[str, dict[tuple[Label, Label], float]] = {}
    points: dict[int, Array] = {}
    for name, fields in _cards(text):
        if name == "GRID":
            if fields[1].strip() not in ("", "0"):
                raise ValueError(f"grid point {fields[0]} is in local coordinates: give positions=")
            points[int(fields[0])] = np.array(
                [real(each) if each.strip() else 0.0 for each in (*fields[2:5], "", "")[:3]]
            )
        elif name == "DMIG" and fields[1].strip() == "0":
            matrix, form, kind = fields[0].strip(), int(fields[2]), int(fields[3])
            if form not in (_SYMMETRIC, _SQUARE):
                raise ValueError(f"DMIG {matrix} is of form {form}: square (1) or symmetric (6) is needed")
            if kind >= _COMPLEX:
                raise ValueError(f"DMIG {matrix} is complex")
            forms[matrix] = form
        elif name == "DMIG":
            matrix = fields[0].strip()
            column = int(fields[1]), _component(fields[2])
            for group in range(4, len(fields), 4):
                point, component, value = (*fields[group : group + 3], "", "")[:3]
                if point.strip():
                    row = int(point), _component(component)
                    entries.setdefault(matrix, {})[row, column] = real(value)
    matrices, labels = {}, {}
    for matrix, values in entries.items():
        if matrix not in forms:
            raise ValueError(f"DMIG {matrix} has no header card")
        every = sorted({label for pair in values for label in pair})
        number = {label: i for i, label in enumerate(every)}
        both = dict(values)
        if forms[matrix] == _SYMMETRIC:  # one triangle, or parts of both
            both = {(column, row): value for (row, column), value in values.items()} | values
        i, j = (np.array([number[pair[k]] for pair in both], dtype=np.int64) for k in (0, 1))
        matrices[matrix] = sp.csr_array((list(both.values()), (i, j)), shape=(len(every),) * 2)
        labels[matrix] = every
    return BulkData(matrices, labels, points)


def _component(text: str) -> int:
    return int(text) if text.strip() else 0


def _cards(text: str) -> Iterator[tuple[str, list[str]]]:
    """Names and fields of the cards, continuations joined; fields of a line are filled up to 8, or 4 large ones."""
    name, fields = "", list[str]()
    for raw in text.splitlines():
        line = raw.split("$")[0].rstrip()
        if not line:
            continue
        if line.upper().startswith("ENDDATA"):
            break
        head, data = _fields(line)
        if not head or head[0] in "+*":
            fields += data
            continue
        if name:
            yield name, fields
        name, fields = head.rstrip("*").upper(), data
    if name:
        yield name, fields


def _fields(line: str) -> tuple[str, list[str]]:
    """The first field of a line and its data."""
    if "," in line:
        head, *data = (word.strip() for word in line.split(","))
        count = 4 if "*" in head else 8
        return head, (data + [""] * count)[: max(count, 0)]
    line = line.expandtabs(8)
    head = line[:8].strip()
    width, count = (16, 4) if "*" in head else (8, 8)
    return head, [line[8 + width * k : 8 + width * (k + 1)] for k in range(count)]
