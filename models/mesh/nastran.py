"""Nastran bulk data: grid points in their coordinate systems, elements, sets and the elements of each property.

INCLUDE is followed. The elements of a property form the set PSOLID_n, PSHELL_n, …; sets of the case control and SET1,
SET3 are SET_n, of nodes and of elements, whichever their numbers are. Written here, as pyNastran 1.4, the latest one,
does not import with NumPy 2.4. Source: MSC Nastran Quick Reference Guide.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from arlequin.models.mesh.bulk_data import cards, reals
from arlequin.models.mesh.foreign import (
    SHAPES,
    UPRIGHT_FIRST,
    ForeignMesh,
    Includes,
    MeshTables,
    damaged,
    node_count,
    understood,
    with_middles,
)
from arlequin.models.types import Array

# cards by the shape of their cells: those that may have middle nodes, and those that have none
_WITH_MIDDLES = {
    "tetra": ("CTETRA",), "pyramid": ("CPYRAM", "CPYRA"), "wedge": ("CPENTA",), "hexahedron": ("CHEXA",),
    "triangle": ("CTRIA6", "CPLSTN6", "CPLSTS6"), "quad": ("CQUAD8", "CPLSTN8", "CPLSTS8"),
}  # fmt: skip
_LINEAR = {
    "triangle": ("CTRIA3", "CTRIAR", "CPLSTN3", "CPLSTS3"),
    "quad": ("CQUAD4", "CQUADR", "CSHEAR", "CPLSTN4", "CPLSTS4"),
    "line": ("CROD", "CTUBE", "CBAR", "CBEAM", "CONROD"),
}
# card → shape, number of its nodes, of those at its corners
_ELEMENTS = {
    card: (name, node_count(with_middles(name)) if table is _WITH_MIDDLES else SHAPES[name].corners)
    for table in (_WITH_MIDDLES, _LINEAR)
    for name, names in table.items()
    for card in names
}
_OTHER = re.compile(
    r"(?:CELAS|CDAMP|CMASS|CBUSH|CGAP|CONM|CVISC|CFAST|CWELD|CTRIAX|CQUADX|CQUAD$|CAERO|RBE|RBAR|RROD|RSPLINE)"
)
_BEGIN = re.compile(r"^[ \t]*BEGIN[ \t]+(?:BULK|SUPER).*$", re.IGNORECASE | re.MULTILINE)
_INCLUDE = re.compile(r"\s*INCLUDE\b", re.IGNORECASE)


@dataclass(eq=False)
class _Deck:
    """The cards of a deck, as far as they describe the mesh."""

    path: Path
    local: dict[int, int] = field(default_factory=dict)  # grid points → system in which their coordinates are
    systems: dict[int, tuple[str, list[str]]] = field(default_factory=dict)
    properties: dict[int, str] = field(default_factory=dict)
    of_property: dict[int, list[int]] = field(default_factory=dict)
    sets: dict[str, list[int]] = field(default_factory=dict)
    default_system: int = 0
    tables: MeshTables = field(default_factory=MeshTables)

    def take(self, name: str, words: list[str]) -> None:
        """Process a card: its name and fields."""
        if name == "GRID":
            number, system = int(words[0]), int(words[1]) if words[1] else self.default_system
            x, y, z = reals(words[2:5], 3)
            self.tables.nodes[number] = x, y, z
            if system not in (0, -1):
                self.local[number] = system
        elif name == "GRDSET":
            self.default_system = int(words[1] or 0)
        elif name in _ELEMENTS:
            self._element(name, words)
        elif re.fullmatch(r"CORD[12][RCS]", name):
            if name[4] == "1":  # two systems a card
                for start in (0, 4):
                    if words[start]:
                        self.systems[int(words[start])] = name, words[start + 1 : start + 4]
            else:
                self.systems[int(words[0])] = name, words[1:]
        elif name.startswith("P") and words[0].isdigit() and not name.startswith(("PLOAD", "PARAM")):
            self.properties.setdefault(int(words[0]), name)
        elif name in ("SET1", "SET3"):
            listed = words[2:] if name == "SET3" else words[1:]
            self.sets[f"SET_{int(words[0])}"] = self.listed([word for word in listed if word])
        elif _OTHER.match(name):
            self.tables.leave_out(f"{name} elements")

    def _element(self, name: str, words: list[str]) -> None:
        kind, count = _ELEMENTS[name]
        number, corners, start = int(words[0]), SHAPES[kind].corners, 1 if name == "CONROD" else 2
        nodes = [int(word) if word else 0 for word in words[start : start + count]]
        if not all(nodes[:corners]) or len(nodes) < corners:
            given = sum(node != 0 for node in nodes[:corners])
            raise damaged(self.path, f"{name} {number} has {given} of {corners} nodes")
        if any(nodes[corners:]):
            kind, nodes = with_middles(kind), nodes + [0] * (count - len(nodes))
            if kind in UPRIGHT_FIRST:
                nodes = [nodes[k] for k in UPRIGHT_FIRST[kind]]
        else:
            nodes = nodes[:corners]
        self.tables.add_cell(kind, number, nodes)
        if start == 2:
            self.of_property.setdefault(int(words[1]) if words[1] else number, []).append(number)

    def listed(self, words: list[str]) -> list[int]:
        """Numbers of a list with THRU, BY and EXCEPT; the latter names those of the range before it that are missing.

        Numbers behind EXCEPT beyond that range belong to the list again.
        """
        members: list[int] = []
        within, excluded = range(0), set[int]()  # the last range, and what EXCEPT takes off it
        excepting, at = False, 0

        def close() -> None:
            members.extend(number for number in within if number not in excluded)

        words = [word.upper() for word in words]
        while at < len(words):
            word = words[at]
            at += 1
            if word == "EXCEPT":
                excepting = True
            elif word == "THRU" and members and words[at : at + 1] and words[at].isdigit():
                by = int(words[at + 2]) if words[at + 1 : at + 2] == ["BY"] else 1
                close()
                within, excluded, excepting = range(members.pop(), int(words[at]) + 1, max(by, 1)), set(), False
                at += 3 if words[at + 1 : at + 2] == ["BY"] else 1
                if not self.tables.plausible(len(within)):
                    raise damaged(self.path, f"a set with a range up to {within.stop - 1:,}")
            elif word.isdigit():
                if excepting and int(word) in within:
                    excluded.add(int(word))
                else:
                    close()
                    within, excluded, excepting = range(0), set(), False
                    members.append(int(word))
        close()
        return members

    def mesh(self) -> ForeignMesh:
        """The mesh, grid points in the basic system."""
        frames: dict[int, tuple[str, Array, Array]] = {}
        basic = {number: self._basic(number, frames, ()) for number in self.local}
        self.tables.nodes |= {number: (x, y, z) for number, (x, y, z) in basic.items()}
        for number, elements in self.of_property.items():
            card = self.properties.get(number, "PID")
            self.tables.element_sets[f"{card}_{number}"] = elements
        numbered = {n for numbers, _ in self.tables.cells.values() for n in numbers}
        for name, members in self.sets.items():
            chosen = set(members)
            if chosen <= self.tables.nodes.keys() or not chosen & numbered:
                self.tables.node_sets[name] = members
            if chosen & numbered and not (chosen - numbered):
                self.tables.element_sets[name] = members
        return self.tables.mesh(self.path, "Nastran")

    def _basic(self, number: int, frames: dict[int, tuple[str, Array, Array]], within: tuple[int, ...]) -> Array:
        """Coordinates (3,) of a grid point in the basic system."""
        if number not in self.tables.nodes:
            raise damaged(self.path, f"a coordinate system names the grid point {number}, which does not exist")
        return self._from(self.local.get(number, 0), np.array(self.tables.nodes[number]), frames, within)

    def _from(
        self, system: int, xyz: Array, frames: dict[int, tuple[str, Array, Array]], within: tuple[int, ...]
    ) -> Array:
        if system in (0, -1):
            return xyz
        if system not in frames:
            if system not in self.systems:
                raise damaged(self.path, f"the coordinate system {system} does not exist")
            if system in within:
                raise damaged(self.path, f"the coordinate system {system} is defined by itself")
            card, words = self.systems[system]
            below = (*within, system)
            if card[4] == "1":
                three = [self._basic(int(word), frames, below) for word in words]
            else:
                three = [
                    self._from(int(words[0] or 0), xyz, frames, below)
                    for xyz in np.reshape(reals(words[1:], 9), (3, 3))
                ]
            frames[system] = (card[5], three[0], _axes(self.path, system, *three))
        kind, origin, axes = frames[system]
        x, y, z = xyz
        if kind == "C":
            x, y = x * np.cos(np.radians(y)), x * np.sin(np.radians(y))
        elif kind == "S":
            theta, phi = np.radians(y), np.radians(z)
            x, y, z = x * np.sin(theta) * np.cos(phi), x * np.sin(theta) * np.sin(phi), x * np.cos(theta)
        return np.asarray(origin + axes @ np.array([x, y, z]))


def _axes(path: Path, system: int, origin: Array, on_z: Array, in_xz: Array) -> Array:
    """Axes (3, 3), as columns, of a system by its origin, a point on z and one in the plane x–z."""
    z = on_z - origin
    y = np.cross(z, in_xz - origin)
    lengths = np.linalg.norm(z), np.linalg.norm(y)
    if not all(lengths):
        raise damaged(path, f"the three points of the coordinate system {system} are on a line")
    z, y = z / lengths[0], y / lengths[1]
    return np.column_stack([np.cross(y, z), y, z])


def load(path: Path, content: bytes) -> ForeignMesh:
    """The mesh of a Nastran deck."""
    deck = _Deck(path)
    with understood(path):
        for name, fields in cards(_lines(path, deck, content.decode("utf-8", errors="replace"), Includes())):
            deck.take(name, fields)
        return deck.mesh()


def _lines(path: Path, deck: _Deck, text: str, includes: Includes) -> Iterator[str]:
    """Lines of the bulk data, includes resolved; the sets of the case control before it go into the deck."""
    begin = _BEGIN.search(text)
    if begin is not None:
        _case_sets(deck, text[: begin.start()].splitlines())
        text = text[begin.end() :]
    include = ""
    for line in text.splitlines():
        if not include and _INCLUDE.match(line) is None:
            yield line
            continue
        include += line.split("$")[0].strip()
        if include.count("'") % 2 or include.count('"') % 2:  # the name goes on in the next line
            continue
        other, included = includes.text(path, include[len("INCLUDE") :].strip("'\" "))
        yield from _lines(other, deck, included, includes)
        include = ""


def _case_sets(deck: _Deck, lines: list[str]) -> None:
    """SET n = … of the case control."""
    text, going = "", False
    for line in lines:
        line = line.split("$")[0].strip()
        match = re.match(r"SET\s+(\d+)\s*=\s*(.*)", line, re.IGNORECASE)
        if match is not None:
            text, going, number = match[2], True, match[1]
        elif going:
            text += line
        if going and not text.endswith(","):
            going = False
            if "ALL" not in text.upper():
                deck.sets[f"SET_{number}"] = deck.listed(text.replace(",", " ").split())
