"""Matrices and points of Nastran's DMIG and GRID cards."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from arlequin.models.mesh.bulk_data import cards, real, reals
from arlequin.models.types import Array

_SYMMETRIC, _SQUARE, _COMPLEX = 6, 1, 3
Label = tuple[int, int]  # point, number of the component


@dataclass(frozen=True, eq=False)
class BulkData:
    """Matrices of DMIG cards with the labels (d,) of their coordinates, and points of GRID cards, m."""

    matrices: dict[str, sp.csr_array]
    labels: dict[str, list[Label]]
    points: dict[int, Array]


def read_bulk_data(text: str) -> BulkData:
    """The matrices and points of a text; ValueError where a card cannot be read."""
    forms: dict[str, int] = {}
    entries: dict[str, dict[tuple[Label, Label], float]] = {}
    points: dict[int, Array] = {}
    for name, fields in cards(text.splitlines()):
        if name == "GRID":
            if fields[1] not in ("", "0"):
                raise ValueError(f"grid point {fields[0]} is in local coordinates: give positions=")
            points[int(fields[0])] = np.array(reals(fields[2:], 3))
        elif name == "DMIG" and fields[1] == "0":
            matrix, form, kind = fields[0], int(fields[2]), int(fields[3])
            if form not in (_SYMMETRIC, _SQUARE):
                raise ValueError(f"DMIG {matrix} is of form {form}: square (1) or symmetric (6) is needed")
            if kind >= _COMPLEX:
                raise ValueError(f"DMIG {matrix} is complex")
            forms[matrix] = form
        elif name == "DMIG":
            matrix = fields[0]
            column = int(fields[1]), _component(fields[2])
            for group in range(4, len(fields), 4):
                point, component, value = (*fields[group : group + 3], "", "")[:3]
                if point:
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
    return int(text) if text else 0
