"""Nastran bulk data: grid points in their coordinate systems, elements, sets, loaded faces, the elements of a property.

INCLUDE is followed. The elements of a property form the set PSOLID_n, PSHELL_n, …; sets of the case control and SET1,
SET3 are SET_n, of nodes and of elements, whichever their numbers are. The nodes of SPC and SPC1 are the node set SPC_n,
those of FORCE and MOMENT LOAD_n, and the faces of PLOAD4 the surface PLOAD4_n, n being the number of their set. Written
here, as pyNastran 1.4, the latest one, does not import with NumPy 2.4. Source: MSC Nastran Quick Reference Guide.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from arlequin.models.mesh.bulk_data import cards, reals
from arlequin.models.mesh.foreign import (
    SHAPES,
    UPRIGHT_FIRST,
    ForeignMesh,
    Includes,
    Members,
    MeshTables,
    damaged,
    existing,
    node_count,
    pad,
    rows_of,
    shape,
    shape_name,
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
_STRUCTURAL = {card for name in ("triangle", "quad", "line") for table in (_WITH_MIDDLES, _LINEAR)
               for card in table.get(name, ()) if not card.startswith("CPLST")}  # fmt: skip
_POINTS = {"SPC": "SPC", "SPC1": "SPC", "FORCE": "LOAD", "MOMENT": "LOAD"}  # cards → beginning of their node sets
_OTHER = re.compile(
    r"(?:CELAS|CDAMP|CMASS|CBUSH|CGAP|CONM|CVISC|CFAST|CWELD|CTRIAX|CQUADX|CQUAD$|CAERO|RBE|RBAR|RROD|RSPLINE)"
)
_BEGIN = re.compile(r"^[ \t]*BEGIN[ \t]+(?:BULK|SUPER).*$", re.IGNORECASE | re.MULTILINE)
_INCLUDE = re.compile(r"\s*INCLUDE\b", re.IGNORECASE)


@dataclass(eq=False)
class _Deck:
    """The cards of a deck, as far as they describe the mesh."""

    path: Path
    # grid points: the system of their coordinates, None for that of GRDSET, and these
    grids: dict[int, tuple[int | None, tuple[float, float, float]]] = field(default_factory=dict)
    systems: dict[int, tuple[str, list[str]]] = field(default_factory=dict)
    properties: dict[int, str] = field(default_factory=dict)
    of_property: dict[int, list[int]] = field(default_factory=dict)
    sets: dict[str, Members] = field(default_factory=dict)
    faces: dict[int, list[tuple[range, int, int]]] = field(default_factory=dict)  # PLOAD4: elements, G1, G3 or G4
    default_system: int = 0
    tables: MeshTables = field(default_factory=MeshTables)

    def take(self, name: str, words: list[str]) -> None:
        """Process a card: its name and fields."""
        if name == "GRID":
            x, y, z = reals(words[2:5], 3)
            grid = int(words[1]) if words[1] else None, (x, y, z)
            if self.grids.setdefault(int(words[0]), grid) != grid:
                raise damaged(self.path, f"GRID {words[0]} is defined twice")
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
            self.sets[f"SET_{int(words[0])}"] = listed_numbers(listed)
        elif name in ("SPC", "SPC1", "FORCE", "MOMENT"):
            named = {"SPC": words[1::3], "SPC1": words[2:]}.get(name, words[1:2])
            sets = self.tables.node_sets.setdefault(f"{_POINTS[name]}_{int(words[0])}", [])
            sets += listed_numbers(named)
        elif name == "PLOAD4":
            self._face(words)
        elif name in ("PLOAD", "PLOAD2"):
            self.tables.leave_out(f"{name} cards: faces are read of PLOAD4")
        elif _OTHER.match(name):
            self.tables.add_foreign(f"{name} elements", int(words[0] or 0))

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
        if self.tables.elements.get(number, (kind, nodes)) != (kind, nodes):
            raise damaged(self.path, f"the element {number} is defined twice")
        self.tables.add_cell(kind, number, nodes)
        if name in _STRUCTURAL:
            self.tables.structural.setdefault(shape_name(kind), set()).add(name)
        if start == 2:
            self.of_property.setdefault(int(words[1]) if words[1] else number, []).append(number)

    def _face(self, words: list[str]) -> None:
        """Add the face of a PLOAD4: element, corner G1 and G3 or G4; THRU: elements that are faces themselves."""
        faces = self.faces.setdefault(int(words[0]), [])
        first = int(words[1])
        if words[6].upper() == "THRU":
            faces.append((range(first, int(words[7]) + 1), 0, 0))
        else:
            faces.append((range(first, first + 1), int(words[6] or 0), int(words[7] or 0)))

    def _surfaces(self) -> dict[str, list[list[int]]]:
        """Nodes of the corners of the faces of PLOAD4, by the names of the surfaces."""
        out: dict[str, list[list[int]]] = {}
        for number, faces in self.faces.items():
            corners = out.setdefault(f"PLOAD4_{number}", [])
            for span, first, other in faces:
                elements = existing([span], self.tables.elements)
                corners += [self._corners(element, first, other) for element in elements]
                if not elements and not existing([span], dict.fromkeys(self.tables.foreign_elements)):
                    self.tables.leave_out(f"faces of PLOAD4 {number} of elements that do not exist")
        return out

    def _corners(self, element: int, first: int, other: int) -> list[int]:
        """The face of an element that has the corner G1 and, if quadrilateral, across from it G3; G4: that of a
        tetrahedron opposite to this corner."""
        kind, nodes = self.tables.elements[element]
        form, name = shape(kind), shape_name(kind)
        sides = [[nodes[corner] for corner in side] for side in form.sides]
        if form.dimension == 2:
            return nodes[: form.corners]
        if name == "tetra":
            found = [side for side in sides if first in side and other in nodes[:4] and other not in side]
        elif other:
            found = [side for side in sides if len(side) == 4 and {first, other} in ({*side[::2]}, {*side[1::2]})]
            if name == "pyramid" and not found:  # G3 of a triangle is the next corner of the base
                found = [side for side in sides if len(side) == 3 and {first, other} <= {*side}]
        else:  # triangles of wedges, the base of a pyramid
            found = [side for side in sides if first in side and len(side) == (4 if name == "pyramid" else 3)]
        if len(found) != 1 or first == other:
            which = f"G1 = {first or 'blank'} and G3 or G4 = {other or 'blank'}"
            raise damaged(self.path, f"PLOAD4 names no face of the {name} {element} by {which}")
        return found[0]

    def mesh(self) -> ForeignMesh:
        """The mesh, grid points in the basic system."""
        frames: dict[int, tuple[str, Array, Array]] = {}
        for number, (system, xyz) in self.grids.items():
            in_basic = (self.default_system if system is None else system) in (0, -1)
            x, y, z = xyz if in_basic else self._basic(number, frames, ()).tolist()
            self.tables.nodes[number] = x, y, z
        for number, elements in self.of_property.items():
            card = self.properties.get(number, "PID")
            self.tables.element_sets[f"{card}_{number}"] = list(elements)
        for name, members in self.sets.items():  # of nodes or elements, whichever have more of its numbers, or both
            of_nodes, of_elements = _share(members, self.tables.nodes), _share(members, self.tables.elements)
            if of_elements == 1.0 or of_elements > of_nodes:
                self.tables.element_sets[name] = members
            if of_nodes == 1.0 or of_nodes >= of_elements:
                self.tables.node_sets[name] = members
        surfaces = self._surfaces()
        mesh = self.tables.mesh(self.path, "Nastran")
        sides = {
            name: np.vstack(
                [np.zeros((0, 4), dtype=np.int64), *(pad(rows_of(mesh.numbers, np.array([face]))) for face in faces)]
            )
            for name, faces in surfaces.items()
        }
        return replace(mesh, surfaces=sides)

    def _basic(self, number: int, frames: dict[int, tuple[str, Array, Array]], within: tuple[int, ...]) -> Array:
        """Coordinates (3,) of a grid point in the basic system."""
        if number not in self.grids:
            raise damaged(self.path, f"a coordinate system names the grid point {number}, which does not exist")
        system, xyz = self.grids[number]
        return self._from(self.default_system if system is None else system, np.array(xyz), frames, within)

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


def _share(members: Members, known: Mapping[int, object]) -> float:
    """The share of the numbers of a set that are known."""
    count = sum(len(one) if isinstance(one, range) else 1 for one in members)
    return len(existing(members, known)) / count if count else 0.0


def listed_numbers(words: Sequence[str]) -> Members:
    """Numbers of a list with THRU, BY and EXCEPT, which takes numbers off the range before it.

    Numbers behind EXCEPT beyond that range belong to the list again; numbers of a range need not exist.

    >>> listed_numbers("2 10 THRU 20 EXCEPT 12 13 30".split())
    [2, range(10, 12), range(13, 13), range(14, 21), 30]
    """
    members: Members = []
    within, excluded = range(0), set[int]()  # the last range, and what EXCEPT takes off it
    excepting, at = False, 0

    def close() -> None:
        start = within.start
        for number in sorted(excluded):
            members.append(range(start, number, within.step))
            start = number + within.step
        if within:
            members.append(range(start, within.stop, within.step))

    words = [word.upper() for word in words if word]
    while at < len(words):
        word = words[at]
        at += 1
        if word == "EXCEPT":
            excepting = True
        elif word == "THRU" and members and words[at : at + 1] and words[at].isdigit():
            by = int(words[at + 2]) if words[at + 1 : at + 2] == ["BY"] else 1
            first = members.pop()
            if isinstance(first, range):
                raise ValueError(f"THRU {words[at]} without its first number")
            within, excluded, excepting = range(first, int(words[at]) + 1, max(by, 1)), set(), False
            at += 3 if words[at + 1 : at + 2] == ["BY"] else 1
        elif word.isdigit():
            if excepting and int(word) in within:
                excluded.add(int(word))
            else:
                close()
                within, excluded, excepting = range(0), set(), False
                members.append(int(word))
    close()
    return members


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
                deck.sets[f"SET_{number}"] = listed_numbers(text.replace(",", " ").split())
