"""What a part, an instance or the assembly of an Abaqus model defines."""

from dataclasses import dataclass, field
from pathlib import Path

from arlequin.models.mesh.foreign import Members, MeshTables, damaged, existing


@dataclass(eq=False)
class Surface:
    """A *SURFACE: "ELEMENT" or "NODE", or how it combines others, and its data lines."""

    kind: str
    rows: list[list[str]]


@dataclass(eq=False)
class Scope:
    """Nodes, elements, sets and surfaces of a part, an instance or the assembly.

    Names differ by more than upper and lower case, and are kept as first written.
    """

    name: str
    tables: MeshTables = field(default_factory=MeshTables)
    surfaces: dict[str, Surface] = field(default_factory=dict)
    spelling: dict[tuple[str, str], str] = field(default_factory=dict)
    unsorted: set[str] = field(default_factory=set)  # node sets that keep the order of their members

    def name_of(self, what: str, name: str) -> str:
        """The name of a set (NSET, ELSET) or SURFACE as it was first written, here if nowhere before."""
        return self.spelling.setdefault((what, name.upper()), name)

    def spelled(self, what: str, name: str) -> str:
        """The name as it was first written."""
        return self.spelling.get((what, name.upper()), name)

    def members(self, what: str, name: str) -> Members:
        """The members of a set, which is made where there is none."""
        sets = self.tables.node_sets if what == "NSET" else self.tables.element_sets
        return sets.setdefault(self.name_of(what, name), [])

    def nodes_of(self, path: Path, keyword: str, name: str) -> list[int]:
        """Numbers of the nodes of a set, as far as it goes, in increasing order unless it is UNSORTED."""
        found = existing(self._set(path, keyword, "NSET", name), self.tables.nodes)
        found = list(dict.fromkeys(found))
        return found if name.upper() in self.unsorted else sorted(found)

    def elements_of(self, path: Path, keyword: str, name: str) -> list[int]:
        """Numbers of the elements of a set, as far as it goes, in increasing order."""
        return sorted(set(existing(self._set(path, keyword, "ELSET", name), self.tables.elements)))

    def known(self, what: str, name: str) -> Members | None:
        """The members of a set; None where it is not defined."""
        sets = self.tables.node_sets if what == "NSET" else self.tables.element_sets
        return sets.get(self.spelled(what, name))

    def _set(self, path: Path, keyword: str, what: str, name: str) -> Members:
        members = self.known(what, name)
        if members is None:
            raise damaged(path, f"*{keyword} names the set {name!r}, which is not defined before it")
        return members
