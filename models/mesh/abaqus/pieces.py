"""Pieces of an Abaqus assembly, instances and what stands outside of parts, and the names of their sets."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from arlequin.models.mesh.abaqus.keywords import is_number
from arlequin.models.mesh.abaqus.scope import Scope
from arlequin.models.mesh.foreign import ForeignMesh, rows_in_range
from arlequin.models.types import Indices

Words = list[str | range]  # numbers, names of sets and ranges of numbers


def names_of_nothing(word: str, where: str) -> str:
    """What is left out where a set or surface names a set or number that does not exist."""
    return f"names ({word!r}) in the {where} of what does not exist"


@dataclass(eq=False)
class Piece:
    """The mesh of an instance, or of what stands outside of parts (name ""), and its places in the mesh of all."""

    name: str
    scope: Scope
    mesh: ForeignMesh
    first_point: int = 0
    cells: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # of each cell, its number there

    def members(self, what: str, word: str | range) -> Indices | None:
        """Points (NSET) or cells (ELSET), in the mesh of all, of a number, range or set; None where there is none."""
        if isinstance(word, range) or is_number(word):
            known, order = self._numbers[what]
            rows = order[rows_in_range(known, word if isinstance(word, range) else range(int(word), int(word) + 1))]
            if not rows.size and not isinstance(word, range):
                return None
        else:
            sets = self.mesh.element_sets if what == "ELSET" else self.mesh.node_sets
            of_set = sets.get(self.scope.spelled(what, word))
            if of_set is None:
                return None
            rows = of_set
        return self.cells[rows] if what == "ELSET" else rows + self.first_point

    @cached_property
    def _numbers(self) -> dict[str, tuple[Indices, Indices]]:
        """Numbers of the nodes and elements, increasing, and the point or cell of each."""
        cells = np.concatenate([np.zeros(0, dtype=np.int64), *(block.numbers for block in self.mesh.blocks)])
        order = np.argsort(cells, kind="stable")
        return {"NSET": (self.mesh.numbers, np.arange(len(self.mesh.numbers))), "ELSET": (cells[order], order)}


@dataclass(eq=False)
class Pieces:
    """All pieces, and the names of sets that the assembly makes of those of instances."""

    every: Sequence[Piece]
    assembled: Collection[tuple[str, str]]

    def __post_init__(self) -> None:
        self.by_name = {piece.name.upper(): piece for piece in self.every}
        self._taken = Counter(key for piece in self.every for key in piece.scope.spelling)

    def name_of(self, what: str, piece: Piece, name: str) -> str:
        """The name of a set or surface of a piece in the mesh of all: "instance.name" where several have it."""
        key = what, name.upper()
        alone = self._taken[key] <= 1 and key not in self.assembled
        return name if not piece.name or alone else f"{piece.name}.{name}"
