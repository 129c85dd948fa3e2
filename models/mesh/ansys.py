"""ANSYS archives (CDWRITE): nodes (NBLOCK), elements (EBLOCK) and components (CMBLOCK) with their assemblies (CMGRP).

Elements of a material or a type form the sets MAT_n and TYPE_n; those of blocks that are not SOLID, surface effect and
contact elements, only the latter. Solids with repeated nodes are what they collapse to
(`conversion`). Written here, as `mapdl-archive` 0.4 parses in C, where a file that is cut off goes unnoticed.
Source: Mechanical APDL Guide to Interfacing, chapter 3 (coded database file).
"""

import re
from itertools import accumulate, pairwise
from pathlib import Path

from arlequin.models.mesh.foreign import (
    ForeignMesh,
    Members,
    MeshTables,
    damaged,
    node_count,
    shape,
    shape_name,
    understood,
)

# element types of ANSYS by the cells that they are
_TYPES = {
    "hexahedron": (5, 45, 46, 64, 65, 69, 70, 96, 97, 164, 185, 190, 215),
    "hexahedron20": (90, 95, 122, 186, 191, 226, 231, 236, 278, 279),
    "tetra": (285,),
    "tetra10": (87, 92, 98, 123, 148, 168, 187, 227, 232, 237, 291),
    "quad": (13, 25, 28, 41, 42, 43, 55, 56, 63, 67, 75, 79, 106, 131, 143, 157, 163, 173, 181, 182, 212),
    "quad8": (53, 77, 78, 82, 83, 91, 93, 99, 121, 132, 152, 154, 174, 183, 223, 230, 233, 281),
    "triangle6": (2, 35, 146),
    "line": (1, 3, 4, 8, 10, 16, 23, 24, 32, 33, 44, 54, 61, 180, 188),
    "line3": (189,),
}
_SHELLS = (28, 41, 43, 63, 91, 93, 99, 131, 132, 143, 157, 163, 181, 281)
_KINDS = {number: kind for kind, numbers in _TYPES.items() for number in numbers}
# MESH200 by its KEYOPT(1)
_MESH200 = (
    "line", "line3", "line", "line3", "triangle", "triangle6", "quad", "quad8", "tetra", "tetra10", "hexahedron",
    "hexahedron20",
)  # fmt: skip
_FORMAT = re.compile(r"(\d*)\s*([iaefg])\s*(\d+)", re.IGNORECASE)  # 3i9 or 6e21.13e3


def load(path: Path, content: bytes) -> ForeignMesh:
    """The mesh of an ANSYS archive."""
    with understood(path):
        return _Archive(path, content.decode("utf-8", errors="replace").splitlines()).mesh()


class _Archive:
    """State of the reading: the lines, and the types of elements."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path, self.lines, self.at = path, lines, 0
        self.tables = MeshTables()
        self.types: dict[int, int] = {}
        self.options: dict[int, int] = {}  # KEYOPT(1)

    def mesh(self) -> ForeignMesh:
        """The mesh of all blocks."""
        readers = {
            "NBLOCK": self._nodes, "EBLOCK": self._elements, "CMBLOCK": self._component, "CMGRP": self._assembly,
            "ETBLOCK": self._type_block,
        }  # fmt: skip
        while self.at < len(self.lines):
            words = [word.strip() for word in self.lines[self.at].split("!")[0].split(",")]
            self.at += 1
            command = words[0].upper()
            if command in readers:
                readers[command](words)
            elif command == "ET" and len(words) > 2 and words[1].isdigit():
                self.types[int(words[1])] = _type_number(words[2])
            elif command in ("KEYOP", "KEYOPT") and len(words) > 3 and words[2] == "1" and words[1].isdigit():
                self.options[int(words[1])] = int(words[3]) if words[3].isdigit() else 0
            elif command == "N" and len(words) > 2 and words[1].isdigit():
                x, y, z = ([float(word or 0) for word in words[2:5]] + [0.0] * 3)[:3]
                self.tables.add_node(int(words[1]), (x, y, z))
            elif command in ("EN", "E"):
                self.tables.leave_out("elements by single commands (E, EN)")
        return self.tables.mesh(self.path, "ANSYS")

    def _layout(self, block: str) -> tuple[list[int], int]:
        """Widths of the integers of a line, and of its real numbers, from the Fortran format of a block."""
        line = self.lines[self.at] if self.at < len(self.lines) else ""
        items = [(int(count or 1), letter.lower(), int(width)) for count, letter, width in _FORMAT.findall(line)]
        integers = [width for count, letter, width in items if letter in "ia" for _ in range(min(count, 100))]
        if not line.lstrip().startswith("(") or not integers:
            raise damaged(self.path, f"{block} without its format")
        self.at += 1
        reals = [width for _, letter, width in items if letter not in "ia"]
        if not all(0 < width < 100 for width in (*integers, *reals)):
            raise damaged(self.path, f"{block} with fields of {max(*integers, *reals)} characters")
        return integers, reals[0] if reals else 0

    def _announced(self, words: list[str], what: str, found: int) -> None:
        """UserError where a block has another number of nodes or elements than its fifth field says."""
        if len(words) > 4 and words[4].isdigit() and int(words[4]) not in (0, found):
            raise damaged(self.path, f"{words[0].upper()} announces {int(words[4]):,} {what} and has {found:,}")

    def _line(self, block: str) -> str:
        if self.at >= len(self.lines):
            raise damaged(self.path, f"{block} has no end: the file is cut off")
        self.at += 1
        return self.lines[self.at - 1]

    def _nodes(self, words: list[str]) -> None:
        integers, real = self._layout("NBLOCK")
        if not real:
            raise damaged(self.path, "NBLOCK without a format of real numbers")
        start, found = sum(integers), 0
        while True:
            line = self._line("NBLOCK")
            if line.lstrip()[:1].upper() == "N" or line.strip() == "-1":
                return self._announced(words, "nodes", found)
            number = int(line[: integers[0]])
            fields = [line[start + k * real : start + (k + 1) * real].strip() for k in range(3)]
            if any(fields[k + 1] and not fields[k] for k in range(2)) or len(line.rstrip()) < integers[0]:
                raise damaged(self.path, f"node {number} has no coordinates")
            x, y, z = (float(word) if word else 0.0 for word in fields)
            self.tables.add_node(number, (x, y, z))
            found += 1

    def _elements(self, words: list[str]) -> None:
        """Elements with 11 leading numbers (SOLID), or with 5: number, type, real constants, material, system."""
        integers, _ = self._layout("EBLOCK")
        solid, found = len(words) > 2 and words[2].upper() == "SOLID", 0
        leading = 11 if solid else 5
        while True:
            row = _integers(self._line("EBLOCK"), integers)
            if row[:1] == [-1]:
                return self._announced(words, "elements", found)
            if len(row) < leading:
                raise damaged(self.path, f"an element with {len(row)} of {leading} leading numbers")
            nodes = row[leading:]
            found += 1
            if not solid:
                self._add(row[1], row[0], nodes)
                continue
            count, number = row[8], row[10]
            while len(nodes) < count:
                more = _integers(self._line("EBLOCK"), integers)
                if not more or more == [-1]:
                    raise damaged(self.path, f"element {number} has {len(nodes)} of {count} nodes")
                nodes += more
            self._add(row[1], number, nodes[:count], f"MAT_{row[0]}")

    def _add(self, type_number: int, number: int, nodes: list[int], *sets: str) -> None:
        """Add an element to the mesh, to the set of its type and to others."""
        element = self.types.get(type_number, 0)
        kind = _KINDS.get(element)
        if element == 200 and 0 <= self.options.get(type_number, 0) < len(_MESH200):
            kind = _MESH200[self.options.get(type_number, 0)]
        if kind is None:
            named = f"elements of type {element}" if element else f"elements of the undefined type {type_number}"
            self.tables.add_foreign(named, number)
            return
        if element in _SHELLS or shape(kind).dimension == 1:
            self.tables.structural.setdefault(shape_name(kind), set()).add(f"type {element}")
        corners = shape(kind).corners
        if len(nodes) < corners and kind.startswith("hexahedron"):
            kind = {4: "tetra", 5: "pyramid", 6: "wedge"}.get(len(nodes), kind)
        elif len(nodes) == 10 and kind == "hexahedron20":
            kind = "tetra10"
        elif len(nodes) == corners - 1 and kind.startswith("quad"):
            kind = "triangle"
        if kind == "quad8" and len(nodes) == 6:
            kind = "triangle6"
        nodes = nodes[: node_count(kind)] + [0] * (node_count(kind) - len(nodes))
        self.tables.add_cell(kind, number, nodes)
        for name in (*sets, f"TYPE_{type_number}"):
            self.tables.element_sets.setdefault(name, []).append(number)

    def _component(self, words: list[str]) -> None:
        """Numbers of a component; a negative one ends the range that the number before it begins."""
        if len(words) < 4:
            raise damaged(self.path, "CMBLOCK without name, kind and number")
        name, kind, count = words[1], words[2].upper(), int(words[3])
        integers, _ = self._layout("CMBLOCK")
        values: list[int] = []
        while len(values) < count:
            line = self._line(f"CMBLOCK {name}")
            if re.fullmatch(r"[\s\d-]*\d\s*", line) is None:
                raise damaged(self.path, f"CMBLOCK {name} has {len(values):,} of {count:,} numbers")
            values += _integers(line, integers)
        members: Members = []
        for value in values[:count]:
            first = members[-1] if members else value
            if value > 0:
                members.append(value)
            elif isinstance(first, range) or not 0 < first < -value:
                raise damaged(self.path, f"CMBLOCK {name} with a range up to {-value:,}")
            else:
                members[-1] = range(first, -value + 1)
        sets = {"N": self.tables.node_sets, "E": self.tables.element_sets}.get(kind[:1])
        if sets is None:
            self.tables.leave_out(f"components of kind {kind}")
        else:
            sets[name] = members

    def _assembly(self, words: list[str]) -> None:
        """The components of an assembly, together."""
        for component in words[2:]:
            of_component = [sets for sets in (self.tables.node_sets, self.tables.element_sets) if component in sets]
            for sets in of_component:
                sets.setdefault(words[1], []).extend(list(sets[component]))
            if component and not of_component:
                self.tables.leave_out(f"components ({component!r}) of CMGRP {words[1]} that do not exist")

    def _type_block(self, words: list[str]) -> None:
        integers, _ = self._layout("ETBLOCK")
        while True:
            row = _integers(self._line("ETBLOCK"), integers)
            if not row or row[0] == -1:
                return
            self.types[row[0]] = row[1]
            if len(row) > 2:
                self.options[row[0]] = row[2]


def _type_number(name: str) -> int:
    digits = re.search(r"\d+$", name)
    return int(digits[0]) if digits else 0


def _integers(line: str, widths: list[int]) -> list[int]:
    """The integers of a line of fixed fields."""
    line = line.rstrip()
    ends = [0, *accumulate(widths)]
    if len(line) > ends[-1]:
        raise ValueError(f"a line of {len(line)} characters where its format has {ends[-1]}")
    return [int(line[start:end]) for start, end in pairwise(ends) if start < len(line)]


def is_archive(content: bytes) -> bool:
    """Whether a text is an ANSYS archive.

    >>> is_archive(b"/PREP7\\nNBLOCK,6,SOLID,8,8\\n"), is_archive(b"*NODE\\n1, 0., 0.\\n")
    (True, False)
    """
    return re.search(rb"^\s*(?:NBLOCK|EBLOCK|ETBLOCK|/PREP7)\b", content, re.MULTILINE | re.IGNORECASE) is not None
