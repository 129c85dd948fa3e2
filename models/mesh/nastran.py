"""Nastran bulk data: grid points in their coordinate systems, elements, sets and the elements of each property.

Small, large and free fields, continuations, INCLUDE. The elements of a property form the set PSOLID_n, PSHELL_n, …;
sets of the case control and SET1, SET3 are SET_n, of nodes and of elements, whichever their numbers are. Written here,
as pyNastran 1.4, the latest one, does not import with NumPy 2.4. Source: MSC Nastran Quick Reference Guide.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.mesh.foreign import ForeignMesh, MeshTables, damaged
from arlequin.models.types import Array

# card → linear and second-order kind, and the position of the first node behind the number
_ELEMENTS = {
    "CTETRA": ("tetra", "tetra10", 1), "CPYRAM": ("pyramid", "pyramid13", 1), "CPYRA": ("pyramid", "pyramid13", 1),
    "CPENTA": ("wedge", "wedge15", 1), "CHEXA": ("hexahedron", "hexahedron20", 1),
    "CTRIA3": ("triangle", "", 1), "CTRIAR": ("triangle", "", 1), "CTRIA6": ("triangle", "triangle6", 1),
    "CQUAD4": ("quad", "", 1), "CQUADR": ("quad", "", 1), "CSHEAR": ("quad", "", 1),
    "CQUAD8": ("quad", "quad8", 1), "CPLSTN3": ("triangle", "", 1), "CPLSTN4": ("quad", "", 1),
    "CPLSTN6": ("triangle", "triangle6", 1), "CPLSTN8": ("quad", "quad8", 1), "CPLSTS3": ("triangle", "", 1),
    "CPLSTS4": ("quad", "", 1), "CPLSTS6": ("triangle", "triangle6", 1), "CPLSTS8": ("quad", "quad8", 1),
    "CROD": ("line", "", 1), "CTUBE": ("line", "", 1), "CBAR": ("line", "", 1), "CBEAM": ("line", "", 1),
    "CONROD": ("line", "", 0),
}  # fmt: skip
_CORNERS = {"line": 2, "triangle": 3, "quad": 4, "tetra": 4, "pyramid": 5, "wedge": 6, "hexahedron": 8}
_MIDDLES = {"triangle6": 6, "quad8": 8, "tetra10": 10, "pyramid13": 13, "wedge15": 15, "hexahedron20": 20}
# Nastran (and Exodus) number the middles of the upright edges before those of the top
UPRIGHT_FIRST = {
    "wedge15": [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 9, 10, 11],
    "hexahedron20": [*range(12), 16, 17, 18, 19, 12, 13, 14, 15],
}
_OTHER = re.compile(
    r"(?:CELAS|CDAMP|CMASS|CBUSH|CGAP|CONM|CVISC|CFAST|CWELD|CTRIAX|CQUADX|CQUAD$|CAERO|RBE|RBAR|RROD|RSPLINE)"
)
_MOST_INCLUDES = 100


@dataclass(eq=False)
class _Deck:
    """The cards of a deck, as far as they describe the mesh."""

    path: Path
    grids: dict[int, tuple[int, Array]] = field(default_factory=dict)
    systems: dict[int, tuple[str, list[str]]] = field(default_factory=dict)
    properties: dict[int, str] = field(default_factory=dict)
    of_property: dict[int, list[int]] = field(default_factory=dict)
    sets: dict[str, list[int]] = field(default_factory=dict)
    default_system: int = 0
    tables: MeshTables = field(default_factory=MeshTables)

    def take(self, name: str, words: list[str]) -> None:
        """Process a card: its name and fields."""
        if name == "GRID":
            system = int(words[1]) if words[1:2] and words[1] else self.default_system
            xyz = [real(word) for word in (words[2:5] + [""] * 3)[:3]]
            self.grids[int(words[0])] = system, np.array(xyz)
        elif name == "GRDSET":
            self.default_system = int(words[1] or 0) if len(words) > 1 else 0
        elif name in _ELEMENTS:
            self._element(name, words)
        elif re.fullmatch(r"CORD[12][RCS]", name):
            if name[4] == "1":  # two systems a card
                for start in (0, 4):
                    if len(words) > start + 3 and words[start]:
                        self.systems[int(words[start])] = name, words[start + 1 : start + 4]
            else:
                self.systems[int(words[0])] = name, words[1:]
        elif name.startswith("P") and words and words[0].isdigit() and not name.startswith(("PLOAD", "PARAM")):
            self.properties.setdefault(int(words[0]), name)
        elif name in ("SET1", "SET3"):
            listed = words[2:] if name == "SET3" else words[1:]
            self.sets[f"SET_{int(words[0])}"] = self.listed([word for word in listed if word])
        elif _OTHER.match(name):
            self.tables.leave_out(f"{name} elements")

    def _element(self, name: str, words: list[str]) -> None:
        kind, second, start = _ELEMENTS[name]
        number, corners = int(words[0]), _CORNERS[kind]
        nodes = [int(word) if word else 0 for word in words[start + 1 :] if not word or word.isdigit()]
        if len(nodes) < corners:
            raise damaged(self.path, f"{name} {number} has {len(nodes)} of {corners} nodes")
        count = _MIDDLES.get(second, corners)
        if second and any(nodes[corners:count]):
            kind, nodes = second, (nodes[:count] + [0] * count)[:count]
            nodes = [nodes[k] for k in UPRIGHT_FIRST.get(kind, range(count))]
        else:
            nodes = nodes[:corners]
        self.tables.add_cell(kind, number, nodes)
        if start == 1:
            self.of_property.setdefault(int(words[1]) if words[1] else number, []).append(number)

    def listed(self, words: list[str]) -> list[int]:
        """Numbers of a list with THRU, BY and EXCEPT."""
        members: list[int] = []
        excluded, at = False, 0
        while at < len(words):
            word = words[at].upper()
            if word == "EXCEPT":
                excluded, at = True, at + 1
                continue
            if word == "THRU" and members and at + 1 < len(words) and words[at + 1].isdigit():
                by = int(words[at + 3]) if [w.upper() for w in words[at + 2 : at + 3]] == ["BY"] else 1
                last = int(words[at + 1])
                if (last - members[-1]) // max(by, 1) > 1000 * (len(self.grids) + 1000):
                    raise damaged(self.path, f"a set with a range up to {last:,}")
                members.extend(range(members[-1] + by, last + 1, max(by, 1)))
                at += 4 if by != 1 or [w.upper() for w in words[at + 2 : at + 3]] == ["BY"] else 2
                continue
            if word.isdigit():
                if excluded and int(word) in members:
                    members.remove(int(word))
                elif not excluded:
                    members.append(int(word))
            at += 1
        return members

    def mesh(self) -> ForeignMesh:
        """The mesh, grid points in the basic system."""
        frames: dict[int, tuple[str, Array, Array]] = {}
        for number in self.grids:
            self.tables.nodes[number] = tuple(self._basic(number, frames, ()))
        for number, elements in self.of_property.items():
            card = self.properties.get(number, "PID")
            self.tables.element_sets[f"{card}_{number}"] = elements
        numbered = {n for numbers, _ in self.tables.cells.values() for n in numbers}
        for name, members in self.sets.items():
            chosen = set(members)
            if chosen <= self.grids.keys() or not chosen & numbered:
                self.tables.node_sets[name] = members
            if chosen & numbered and not (chosen - numbered):
                self.tables.element_sets[name] = members
        return self.tables.mesh(self.path, "Nastran")

    def _basic(self, number: int, frames: dict[int, tuple[str, Array, Array]], within: tuple[int, ...]) -> Array:
        """Coordinates (3,) of a grid point in the basic system."""
        if number not in self.grids:
            raise damaged(self.path, f"a coordinate system names the grid point {number}, which does not exist")
        system, xyz = self.grids[number]
        return self._from(system, xyz, frames, within)

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
                values = [real(word) for word in (words[1:10] + [""] * 9)[:9]]
                base = int(words[0] or 0) if words else 0
                three = [self._from(base, np.array(values[k : k + 3]), frames, below) for k in (0, 3, 6)]
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


def real(word: str) -> float:
    """A real number of Nastran.

    >>> [real(word) for word in ("1.5-3", "2.D2", "", "-.5+1", "7")]
    [0.0015, 200.0, 0.0, -5.0, 7.0]
    """
    word = word.strip().upper().replace("D", "E")
    if not word:
        return 0.0
    return float(re.sub(r"(?<=[\d.])([+-]\d+)$", r"E\1", word))


def load(path: Path, content: bytes) -> ForeignMesh:
    """The mesh of a Nastran deck."""
    deck = _Deck(path)
    try:
        for name, words in _cards(path, deck, content.decode("utf-8", errors="replace"), [0]):
            deck.take(name, words)
        return deck.mesh()
    except UserError:
        raise
    except (ValueError, IndexError, OverflowError) as error:
        raise damaged(path, str(error)) from None


def _cards(path: Path, deck: _Deck, text: str, depth: list[int]) -> Iterator[tuple[str, list[str]]]:
    """Names and fields of the cards, continuations joined, includes resolved."""
    lines = text.splitlines()
    begin = next((k for k, line in enumerate(lines) if re.match(r"\s*BEGIN\s+(?:BULK|SUPER)", line, re.IGNORECASE)), -1)
    _case_sets(deck, lines[: begin + 1])
    name, words = "", list[str]()
    include = ""
    for line in lines[begin + 1 :]:
        line = line.split("$")[0].rstrip().expandtabs(8)
        if include or re.match(r"\s*INCLUDE\b", line, re.IGNORECASE):
            include += line.strip()
            if include.count("'") % 2 or include.count('"') % 2:  # the name goes on in the next line
                continue
            yield from _included(path, deck, include, depth)
            include = ""
            continue
        if not line.strip():
            continue
        if line.strip().upper() == "ENDDATA":
            break
        card, fields, goes_on = _fields(line)
        if goes_on:
            words += [""] * (-len(words) % 4) if card == "*" else [""] * (-len(words) % 8)
            words += fields
            continue
        if name:
            yield name, words
        name, words = card, fields
    if name:
        yield name, words


def _fields(line: str) -> tuple[str, list[str], bool]:
    """Name, fields and whether the line continues the card before; the name of a large continuation is "*"."""
    if "," in line:
        parts = [part.strip() for part in line.split(",")]
        head = parts[0]
        large = head.endswith("*") or head.startswith("*")
        count = 4 if large else 8
        fields = (parts[1 : 1 + count] + [""] * count)[:count]
    else:
        head = line[:8].strip()
        large = head.endswith("*") or head.startswith("*")
        width, count = (16, 4) if large else (8, 8)
        fields = [line[8 + k * width : 8 + (k + 1) * width].strip() for k in range(count)]
    goes_on = head == "" or head[0] in "+*"
    name = ("*" if large else "") if goes_on else head.rstrip("*").upper()
    return name, fields, goes_on


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


def _included(path: Path, deck: _Deck, line: str, depth: list[int]) -> Iterator[tuple[str, list[str]]]:
    other = path.parent / line.split(None, 1)[1].strip("'\" ") if len(line.split(None, 1)) > 1 else path.parent
    depth[0] += 1
    if depth[0] > _MOST_INCLUDES:
        raise UserError(f"{path}: more than {_MOST_INCLUDES} files are included: one includes itself", code=1)
    if not other.is_file():
        raise UserError(f"{path}: includes {other}, which is not there", code=1)
    try:
        text = other.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{other}: cannot be read ({error.strerror})", code=1) from None
    yield from _cards(other, deck, text, depth)
