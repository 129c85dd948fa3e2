"""Abaqus input files (CalculiX writes and reads the same): the keywords of the mesh, with its sets and surfaces.

Read are *NODE, *ELEMENT, *NSET, *ELSET (GENERATE, too), *SURFACE (TYPE=ELEMENT and NODE), *PART, *INSTANCE with its
translation and rotation, *ASSEMBLY and *INCLUDE; all others are passed over. A name of a part's set that several
instances have becomes "instance.name". Labels differ by more than upper and lower case.
Source: Abaqus Keywords Reference Guide; element library for the numbers of nodes and faces.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.mesh.foreign import (
    CellBlock,
    ForeignMesh,
    Includes,
    MeshTables,
    damaged,
    node_count,
    pad,
    shape,
    understood,
    without_centres,
)
from arlequin.models.types import Array, Indices

_SOLIDS = {
    4: "tetra", 5: "pyramid", 6: "wedge", 8: "hexahedron", 10: "tetra10", 13: "pyramid13", 15: "wedge15",
    20: "hexahedron20", 27: "hexahedron20",
}  # fmt: skip
_PLANE = {3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8", 9: "quad9"}
_LINES = {2: "line", 3: "line3"}
# families of element types: what stands before the number of nodes
_FAMILIES = (
    (re.compile(r"(?:AC|DC|DCC|C|GK|Q|CC|EC|EM|PE)3D(\d+)"), _SOLIDS),
    (re.compile(r"(?:CS|SC)(6|8)"), _SOLIDS),
    (re.compile(r"(?:CPS|CPE|CPEG|CAX|CGAX|CAXA|DC2D|DCAX|AC2D|ACAX|DS|S|STRI|M3D|R3D|SFM3D|F3D)([34689])"), _PLANE),
    (re.compile(r"(?:T2D|T3D|R2D|RAX|SAX|MAX)([23])"), _LINES),
    (re.compile(r"B[23]([12])"), {1: "line", 2: "line3"}),
)
_GENERATORS = ("NGEN", "NFILL", "NCOPY", "NMAP", "ELGEN", "ELCOPY")


def kind_of(element: str) -> str | None:
    """meshio's name of the cells of an element type of Abaqus; None where it is no mesh of a continuum or beam.

    >>> [kind_of(name) for name in ("C3D20R", "CPE4H", "S8R", "STRI65", "SC8R", "COH3D8", "SPRING1")]
    ['hexahedron20', 'quad', 'quad8', 'triangle6', 'hexahedron', None, None]
    """
    element = element.upper()
    if element == "STRI65":
        return "triangle6"
    for family, kinds in _FAMILIES:
        match = family.match(element)
        if match is not None:
            return kinds.get(int(match[1]))
    return None


@dataclass(eq=False)
class _Scope:
    """What a part, an instance or the assembly defines; names in upper case → as first written."""

    name: str
    tables: MeshTables = field(default_factory=MeshTables)
    # rows of each *SURFACE: element set or number, and the face
    surfaces: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    spelling: dict[tuple[str, str], str] = field(default_factory=dict)

    def name_of(self, what: str, name: str) -> str:
        """The name as it was first written."""
        return self.spelling.setdefault((what, name.upper()), name)


@dataclass(eq=False)
class _Instance:
    part: str
    scope: _Scope
    lines: list[list[float]] = field(default_factory=list)


class _Reader:
    """State of the reading of a file: the scope of the lines, parts and instances."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts: dict[str, _Scope] = {}
        self.instances: list[_Instance] = []
        self.assembly = _Scope("")
        self.scope = self.assembly
        self.foreign: list[tuple[str, str, str, list[str]]] = []  # sets of an instance, defined in the assembly

    # one method for each keyword: parameters, rows of the data lines

    def take(self, keyword: str, parameters: dict[str, str], rows: list[list[str]]) -> None:
        """Process a keyword with its data lines."""
        if keyword in _GENERATORS:
            raise UserError(f"{self.path}: *{keyword} generates nodes or elements, which is not read: export them", 1)
        if keyword == "PART":
            self.scope = self.parts.setdefault(self._named("PART", parameters).upper(), _Scope(parameters["NAME"]))
        elif keyword == "INSTANCE":
            part = parameters.get("PART", "")
            scope = _Scope(self._named("INSTANCE", parameters))
            self.instances.append(_Instance(part, scope, [[float(x) for x in row if x] for row in rows]))
            self.scope = scope
        elif keyword in ("END PART", "END INSTANCE", "END ASSEMBLY"):
            self.scope = self.assembly
        elif keyword == "NODE":
            self._nodes(parameters, rows)
        elif keyword == "ELEMENT":
            self._elements(parameters, rows)
        elif keyword in ("NSET", "ELSET"):
            self._set(keyword, parameters, rows)
        elif keyword == "SURFACE":
            self._surface(parameters, rows)

    def _named(self, keyword: str, parameters: dict[str, str], key: str = "NAME") -> str:
        if not parameters.get(key):
            raise damaged(self.path, f"*{keyword} without {key}=")
        return parameters[key]

    def _nodes(self, parameters: dict[str, str], rows: list[list[str]]) -> None:
        polar = parameters.get("SYSTEM", "R").upper()[:1] == "C"
        if parameters.get("SYSTEM", "R").upper()[:1] == "S":
            raise UserError(f"{self.path}: *NODE with SYSTEM=S is not read: export Cartesian coordinates", 1)
        numbers = []
        for row in rows:
            number = int(row[0])
            x, y, z = ([float(word or 0) for word in row[1:4]] + [0.0, 0.0, 0.0])[:3]
            if polar:
                x, y = x * math.cos(math.radians(y)), x * math.sin(math.radians(y))
            self.scope.tables.nodes[number] = (x, y, z)
            numbers.append(number)
        if "NSET" in parameters:
            self._members("NSET", self._named("NODE", parameters, "NSET")).extend(numbers)

    def _elements(self, parameters: dict[str, str], rows: list[list[str]]) -> None:
        element = self._named("ELEMENT", parameters, "TYPE")
        kind = kind_of(element)
        if kind is None:
            self.scope.tables.leave_out(f"elements of type {element.upper()}", len(rows))
            return
        count = node_count(kind)
        needed = 1 + (27 if element.upper().startswith("C3D27") else count)
        numbers, pending = [], list[int]()
        for row in rows:  # an element may go on in the next line, and have more nodes than we take (orientations)
            pending += [int(word) for word in row if word]
            if len(pending) >= needed:
                self.scope.tables.add_cell(kind, pending[0], pending[1 : 1 + count])
                numbers.append(pending[0])
                pending = []
        if pending:
            what = f"the last element of *ELEMENT, TYPE={element} has {len(pending) - 1} of {needed - 1} nodes"
            raise damaged(self.path, what)
        if needed > 1 + count:
            self.scope.tables.leave_out(without_centres(kind, needed - 1), len(numbers))
        if "ELSET" in parameters:
            self._members("ELSET", self._named("ELEMENT", parameters, "ELSET")).extend(numbers)

    def _members(self, keyword: str, name: str) -> list[int]:
        tables = self.scope.tables
        sets = tables.node_sets if keyword == "NSET" else tables.element_sets
        return sets.setdefault(self.scope.name_of(keyword, name), [])

    def _set(self, keyword: str, parameters: dict[str, str], rows: list[list[str]]) -> None:
        name = self._named(keyword, parameters, keyword)
        if "ELSET" in parameters and keyword == "NSET":  # the nodes of an element set
            rows = []
            members = self._members(keyword, name)
            chosen = set(self.scope.tables.element_sets.get(self._spelled("ELSET", parameters["ELSET"]), []))
            for numbers, nodes in self.scope.tables.cells.values():
                members.extend(n for number, row in zip(numbers, nodes, strict=True) if number in chosen for n in row)
            return
        if "GENERATE" in parameters:
            rows = [[str(n) for n in self._generated(keyword, row)] for row in rows]
        words = [word for row in rows for word in row if word]
        if "INSTANCE" in parameters:
            self.foreign.append((keyword, parameters["INSTANCE"].upper(), name, words))
            return
        sets = self.scope.tables.node_sets if keyword == "NSET" else self.scope.tables.element_sets
        members = self._members(keyword, name)
        for word in words:
            if _is_number(word):
                members.append(int(word))
            elif self.scope is self.assembly and "." in word:
                instance, other = word.split(".", 1)
                self.foreign.append((keyword, instance.upper(), name, [other]))
            else:
                members.extend(list(sets.get(self._spelled(keyword, word), ())))

    def _generated(self, keyword: str, row: list[str]) -> range:
        numbers = [int(word) for word in row if word]
        if len(numbers) not in (2, 3) or (len(numbers) == 3 and numbers[2] < 1):
            raise damaged(self.path, f"*{keyword}, GENERATE needs first, last and increment, not {', '.join(row)}")
        out = range(numbers[0], numbers[1] + 1, *numbers[2:])
        if not self.scope.tables.plausible(len(out)):
            raise damaged(self.path, f"*{keyword}, GENERATE names {len(out):,} members")
        return out

    def _spelled(self, keyword: str, name: str) -> str:
        return self.scope.spelling.get((keyword, name.upper()), name)

    def _surface(self, parameters: dict[str, str], rows: list[list[str]]) -> None:
        name = self._named("SURFACE", parameters)
        if parameters.get("TYPE", "ELEMENT").upper() == "NODE":
            self._set("NSET", {"NSET": name}, [row[:1] for row in rows])
        elif parameters.get("TYPE", "ELEMENT").upper() == "ELEMENT" and "COMBINE" not in parameters:
            sides = self.scope.surfaces.setdefault(self.scope.name_of("SURFACE", name), [])
            sides.extend((row[0], row[1].upper() if len(row) > 1 else "") for row in rows if row and row[0])
        else:
            self.scope.tables.leave_out("surfaces that are analytical or combined")


def _is_number(word: str) -> bool:
    return word.lstrip("+-").isdigit()


def load(path: Path, content: bytes) -> ForeignMesh:
    """The mesh of an Abaqus input file."""
    reader = _Reader(path)
    with understood(path):
        for keyword, parameters, rows in _keywords(path, content.decode("utf-8", errors="replace"), Includes()):
            reader.take(keyword, parameters, rows)
        return _assembled(reader)


def _keywords(path: Path, text: str, includes: Includes) -> Iterator[tuple[str, dict[str, str], list[list[str]]]]:
    """Keywords with their parameters (in upper case → value) and the words of their data lines, includes resolved."""
    keyword, parameters, rows = "", dict[str, str](), list[list[str]]()
    head: str | None = None

    def heading(line: str) -> tuple[str, dict[str, str]]:
        first, *others = _words(line[1:])
        pairs = (word.partition("=") for word in others if word)
        return " ".join(first.upper().split()), {k.strip().upper(): v.strip().strip('"') for k, _, v in pairs}

    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("**"):
            continue
        if head is not None:  # a keyword line that ended in a comma goes on
            head += line
        elif line.startswith("*"):
            if keyword:
                yield keyword, parameters, rows
            head, rows = line, []
        else:
            rows.append(_words(line))
            continue
        if head.endswith(","):
            continue
        keyword, parameters = heading(head)
        head = None
        if keyword == "INCLUDE":
            yield from _keywords(*includes.text(path, parameters.get("INPUT", "")), includes)
            keyword = ""
    if head is not None:
        keyword, parameters = heading(head)
    if keyword:
        yield keyword, parameters, rows


def _words(line: str) -> list[str]:
    if '"' not in line:
        return [word.strip() for word in line.split(",")]
    return [word.strip() for word in re.findall(r'(?:"[^"]*"|[^,"])+', line)]


@dataclass(eq=False)
class _Piece:
    """The mesh of an instance, or of what stands outside of parts (name ""), and its places in the mesh of all."""

    name: str
    scope: _Scope
    mesh: ForeignMesh
    first_point: int = 0
    cells: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # of each cell, its number there

    def knows(self, what: str, word: str) -> bool:
        """Whether a word is a number or a set of the piece."""
        return _is_number(word) or self._set(what, word) is not None

    def members(self, what: str, words: Iterable[str]) -> Indices:
        """Points (NSET) or cells (ELSET), in the mesh of all, of numbers and sets; other words mean none."""
        numbers = [block.numbers for block in self.mesh.blocks] if what == "ELSET" else [self.mesh.numbers]
        named = np.array([int(word) for word in words if _is_number(word)], dtype=np.int64)
        known = np.concatenate(numbers) if numbers else np.zeros(0, dtype=np.int64)
        rows = [np.flatnonzero(np.isin(known, named))]
        rows += [one for word in words if not _is_number(word) and (one := self._set(what, word)) is not None]
        every = np.concatenate(rows)
        return self.cells[every] if what == "ELSET" else every + self.first_point

    def _set(self, what: str, word: str) -> Indices | None:
        sets = self.mesh.element_sets if what == "ELSET" else self.mesh.node_sets
        return sets.get(self.scope.spelling.get((what, word.upper()), word))


def _assembled(reader: _Reader) -> ForeignMesh:
    """One mesh of all instances and of what stands outside of parts."""
    meshes = {part: scope.tables.mesh(reader.path, "Abaqus") for part, scope in reader.parts.items()}
    pieces = []
    for instance in reader.instances:
        part, scope = instance.part.upper(), instance.scope
        if part not in meshes and not scope.tables.nodes:
            raise damaged(reader.path, f"*INSTANCE {scope.name} is of the part {instance.part!r}, which is not there")
        if part in meshes and not scope.tables.nodes:
            mesh, scope = meshes[part], reader.parts[part]
        else:
            mesh = scope.tables.mesh(reader.path, "Abaqus")
        pieces.append(_Piece(instance.scope.name, scope, _placed(mesh, instance.lines, reader.path)))
    if not reader.instances:  # parts that are not assembled stand where they are
        pieces = [_Piece(scope.name, scope, meshes[part]) for part, scope in reader.parts.items()]
    pieces.append(_Piece("", reader.assembly, reader.assembly.tables.mesh(reader.path, "Abaqus")))
    return _joined(reader, pieces)


def _placed(mesh: ForeignMesh, lines: list[list[float]], path: Path) -> ForeignMesh:
    """An instance: translated, then rotated about the line through two points."""
    points = mesh.points
    if lines and lines[0]:
        points = points + (lines[0] + [0.0, 0.0, 0.0])[:3]
    if len(lines) > 1 and len(lines[1]) >= 7:
        start, end, angle = np.array(lines[1][:3]), np.array(lines[1][3:6]), math.radians(lines[1][6])
        length = float(np.linalg.norm(end - start))
        if length == 0.0:
            raise damaged(path, "*INSTANCE with an axis of rotation of no length")
        points = start + (points - start) @ rotation((end - start) / length, angle).T
    return replace(mesh, points=points)


def rotation(axis: Array, angle: float) -> Array:
    """Rotation (3, 3) by an angle (rad) about a unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross)


def _joined(reader: _Reader, pieces: list[_Piece]) -> ForeignMesh:
    kinds = list(dict.fromkeys(block.kind for piece in pieces for block in piece.mesh.blocks))
    points = 0
    for piece in pieces:
        piece.first_point, piece.cells = points, np.zeros(int(piece.mesh.starts[-1]), dtype=np.int64)
        points += len(piece.mesh.points)
    blocks, count = list[CellBlock](), 0
    for kind in kinds:
        nodes, numbers = [], []
        for piece in pieces:
            for block, start in zip(piece.mesh.blocks, piece.mesh.starts, strict=False):
                if block.kind == kind:
                    nodes.append(np.where(block.nodes < 0, -1, block.nodes + piece.first_point))
                    numbers.append(block.numbers)
                    piece.cells[start : start + len(block.nodes)] = count + np.arange(len(block.nodes))
                    count += len(block.nodes)
        blocks.append(CellBlock(kind, np.vstack(nodes), np.concatenate(numbers)))

    assembled = {(what, name.upper()): name for what, _, name, _ in reader.foreign}
    taken = Counter(key for piece in pieces for key in piece.scope.spelling)

    def name_in(what: str, piece: _Piece, name: str) -> str:
        key = what, name.upper()
        return name if not piece.name or (taken[key] <= 1 and key not in assembled) else f"{piece.name}.{name}"

    node_sets: dict[str, list[Indices]] = {}
    element_sets: dict[str, list[Indices]] = {}
    for piece in pieces:
        for name, members in piece.mesh.node_sets.items():
            node_sets.setdefault(name_in("NSET", piece, name), []).append(members + piece.first_point)
        for name, members in piece.mesh.element_sets.items():
            element_sets.setdefault(name_in("ELSET", piece, name), []).append(piece.cells[members])
        if piece.name and len(piece.cells) and piece.name not in element_sets and len(pieces) > 2:
            element_sets[piece.name] = [piece.cells]
    by_name = {piece.name.upper(): piece for piece in pieces}
    for what, instance, name, words in reader.foreign:
        if instance not in by_name:
            raise damaged(reader.path, f"the set {name!r} is of the instance {instance!r}, which is not there")
        target = node_sets if what == "NSET" else element_sets
        target.setdefault(assembled[what, name.upper()], []).append(by_name[instance].members(what, words))
    mesh = ForeignMesh(
        "Abaqus",
        np.vstack([piece.mesh.points for piece in pieces]),
        np.concatenate([piece.mesh.numbers for piece in pieces]),
        tuple(blocks),
        {name: np.unique(np.concatenate(rows)) for name, rows in node_sets.items()},
        {name: np.unique(np.concatenate(rows)) for name, rows in element_sets.items()},
        left_out=_counts([piece.mesh.left_out for piece in pieces]),
    )
    surfaces: dict[str, list[Indices]] = {}
    for piece in pieces:
        for name, sides in piece.scope.surfaces.items():
            faces = surfaces.setdefault(name_in("SURFACE", piece, name), [])
            of_face: dict[str, list[str]] = {}
            for word, face in sides:
                of_face.setdefault(face, []).append(word)
            faces += [
                _faces(mesh, _surface_cells(mesh, piece, by_name, words), face) for face, words in of_face.items()
            ]
    joined = {name: np.vstack(every) for name, every in surfaces.items() if every}
    return replace(mesh, surfaces=joined)


def _counts(tables: list[Mapping[str, int]]) -> dict[str, int]:
    out: dict[str, int] = {}
    for table in tables:
        for what, count in table.items():
            out[what] = out.get(what, 0) + count
    return out


def _surface_cells(mesh: ForeignMesh, piece: _Piece, by_name: Mapping[str, _Piece], words: list[str]) -> Indices:
    """Cells that rows of a *SURFACE name by numbers and sets: of its piece, of an instance, of the assembly."""
    own = [word for word in words if piece.knows("ELSET", word)]
    rows = [piece.members("ELSET", own)]
    sets = {name.upper(): members for name, members in mesh.element_sets.items()}
    for word in words:
        if piece.knows("ELSET", word):
            continue
        instance, _, other = word.partition(".")
        if other and instance.upper() in by_name and by_name[instance.upper()].knows("ELSET", other):
            rows.append(by_name[instance.upper()].members("ELSET", [other]))
        elif word.upper() in sets:  # one that the assembly made of an instance's
            rows.append(sets[word.upper()])
    return np.concatenate(rows)


def _faces(mesh: ForeignMesh, cells: Indices, face: str) -> Indices:
    """Corners (f, 4) of a face of cells: S1 …, of shells SPOS or SNEG and the edges E1 …; "": the free sides."""
    if face == "":
        return mesh.outer_sides(cells)
    if face in ("SPOS", "SNEG"):
        rows = [np.zeros((0, 4), dtype=np.int64)]
        for block, start in zip(mesh.blocks, mesh.starts, strict=False):
            here = cells[(cells >= start) & (cells < start + len(block.nodes))] - start
            if block.dimension == 2:
                rows.append(pad(block.nodes[here][:, : shape(block.kind).corners]))
        return np.vstack(rows)
    if face[:1] in "SE" and face[1:].isdigit():
        return mesh.sides(cells, np.full(len(cells), int(face[1:]) - 1))
    return np.zeros((0, 4), dtype=np.int64)
