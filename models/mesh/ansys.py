"""ANSYS archives (CDWRITE): nodes (NBLOCK), elements (EBLOCK) and components (CMBLOCK).

Elements of a material or a type form the sets MAT_n and TYPE_n. Solids with repeated nodes are what they collapse to
(`conversion`). Written here, as `mapdl-archive` 0.4 parses in C, where a file that is cut off goes unnoticed.
Source: Mechanical APDL Guide to Interfacing, chapter 3 (coded database file).
"""

import re
from pathlib import Path

from arlequin.models.mesh.foreign import ForeignMesh, MeshTables, damaged, node_count, shape, understood

# element types of ANSYS by the cells that they are
_TYPES = {
    "hexahedron": (5, 45, 46, 64, 65, 69, 70, 96, 97, 164, 185, 190, 215),
    "hexahedron20": (90, 95, 122, 186, 191, 226, 231, 236, 278, 279),
    "tetra": (285,),
    "tetra10": (87, 92, 98, 123, 148, 168, 187, 227, 232, 237, 291),
    "quad": (13, 25, 28, 41, 42, 43, 55, 56, 63, 67, 75, 79, 106, 131, 143, 157, 163, 181, 182, 212),
    "quad8": (53, 77, 78, 82, 83, 91, 93, 99, 121, 132, 183, 223, 230, 233, 281),
    "triangle6": (2, 35, 146),
    "line": (1, 3, 4, 8, 10, 16, 23, 24, 32, 33, 44, 54, 61, 180, 188),
    "line3": (189,),
}
_KINDS = {number: kind for kind, numbers in _TYPES.items() for number in numbers}
# MESH200 by its KEYOPT(1)
_MESH200 = (
    "line", "line3", "line", "line3", "triangle", "triangle6", "quad", "quad8", "tetra", "tetra10", "hexahedron",
    "hexahedron20",
)  # fmt: skip
_FORMAT = re.compile(r"\(\s*(\d+)i(\d+)\s*(?:,\s*(\d+)(?:e|f|g)(\d+))?", re.IGNORECASE)


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
            "NBLOCK": self._nodes, "EBLOCK": self._elements, "CMBLOCK": self._component, "ETBLOCK": self._type_block,
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
                self.tables.nodes[int(words[1])] = (x, y, z)
            elif command in ("EN", "E"):
                self.tables.leave_out("elements by single commands (E, EN)")
        return self.tables.mesh(self.path, "ANSYS")

    def _layout(self, block: str) -> tuple[int, int, int]:
        """Integers of a line, their width, and the width of real numbers, from the Fortran format of a block."""
        match = _FORMAT.search(self.lines[self.at]) if self.at < len(self.lines) else None
        if match is None:
            raise damaged(self.path, f"{block} without its format")
        self.at += 1
        if not 0 < int(match[2]) < 100:
            raise damaged(self.path, f"{block} with fields of {match[2]} characters")
        return int(match[1]), int(match[2]), int(match[4] or 0)

    def _line(self, block: str) -> str:
        if self.at >= len(self.lines):
            raise damaged(self.path, f"{block} has no end: the file is cut off")
        self.at += 1
        return self.lines[self.at - 1]

    def _nodes(self, words: list[str]) -> None:
        integers, width, real = self._layout("NBLOCK")
        start = integers * width
        while True:
            line = self._line("NBLOCK")
            if line.lstrip()[:1].upper() == "N" or line.strip() == "-1":
                return
            number = int(line[:width])
            fields = [line[start + k * real : start + (k + 1) * real].strip() for k in range(3)]
            if any(fields[k + 1] and not fields[k] for k in range(2)) or len(line.rstrip()) < width:
                raise damaged(self.path, f"node {number} has no coordinates")
            x, y, z = (float(word) if word else 0.0 for word in fields)
            self.tables.nodes[number] = (x, y, z)

    def _elements(self, words: list[str]) -> None:
        _, width, _ = self._layout("EBLOCK")
        if len(words) < 3 or words[2].upper() != "SOLID":
            count = 0
            while self._line("EBLOCK").strip() != "-1":
                count += 1
            self.tables.leave_out("lines of elements that are no solids", count)
            return
        while True:
            row = _integers(self._line("EBLOCK"), width)
            if row[:1] == [-1]:
                return
            if len(row) < 11:
                raise damaged(self.path, f"an element with {len(row)} of 11 leading numbers")
            count, number = row[8], row[10]
            nodes = row[11:]
            while len(nodes) < count:
                more = _integers(self._line("EBLOCK"), width)
                if not more:
                    raise damaged(self.path, f"element {number} has {len(nodes)} of {count} nodes")
                nodes += more
            self._add(row[0], row[1], number, nodes[:count])

    def _add(self, material: int, type_number: int, number: int, nodes: list[int]) -> None:
        element = self.types.get(type_number, 0)
        kind = _KINDS.get(element)
        if element == 200 and 0 <= self.options.get(type_number, 0) < len(_MESH200):
            kind = _MESH200[self.options.get(type_number, 0)]
        if kind is None:
            named = f"elements of type {element}" if element else f"elements of the undefined type {type_number}"
            self.tables.leave_out(named)
            return
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
        self.tables.element_sets.setdefault(f"MAT_{material}", []).append(number)
        self.tables.element_sets.setdefault(f"TYPE_{type_number}", []).append(number)

    def _component(self, words: list[str]) -> None:
        if len(words) < 4:
            raise damaged(self.path, "CMBLOCK without name, kind and number")
        name, kind, count = words[1], words[2].upper(), int(words[3])
        integers, width, _ = self._layout("CMBLOCK")
        sets = {"N": self.tables.node_sets, "E": self.tables.element_sets}.get(kind[:1])
        values: list[int] = []
        while len(values) < count:
            row = _integers(self._line(f"CMBLOCK {name}"), width)
            if not row:
                raise damaged(self.path, f"CMBLOCK {name} has {len(values):,} of {count:,} numbers")
            values += row[:integers]
        members: list[int] = []
        for value in values[:count]:
            if value >= 0:
                members.append(value)
            elif members and self.tables.plausible(-value - members[-1]):
                members.extend(range(members[-1] + 1, -value + 1))
            else:
                raise damaged(self.path, f"CMBLOCK {name} with a range up to {-value:,}")
        if sets is None:
            self.tables.leave_out(f"components of kind {kind}")
        else:
            sets[name] = members

    def _type_block(self, words: list[str]) -> None:
        _, width, _ = self._layout("ETBLOCK")
        while True:
            row = _integers(self._line("ETBLOCK"), width)
            if not row or row[0] == -1:
                return
            self.types[row[0]] = row[1]
            if len(row) > 2:
                self.options[row[0]] = row[2]


def _type_number(name: str) -> int:
    digits = re.search(r"\d+$", name)
    return int(digits[0]) if digits else 0


def _integers(line: str, width: int) -> list[int]:
    """The integers of a line of fixed fields."""
    line = line.rstrip()
    return [int(line[k : k + width]) for k in range(0, len(line), width)]


def is_archive(content: bytes) -> bool:
    """Whether a text is an ANSYS archive.

    >>> is_archive(b"/PREP7\\nNBLOCK,6,SOLID,8,8\\n"), is_archive(b"*NODE\\n1, 0., 0.\\n")
    (True, False)
    """
    return re.search(rb"^\s*(?:NBLOCK|EBLOCK|ETBLOCK|/PREP7)\b", content, re.MULTILINE | re.IGNORECASE) is not None
