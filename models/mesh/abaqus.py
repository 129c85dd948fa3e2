"""Abaqus input files (CalculiX writes and reads the same): the keywords of the mesh, with its sets and surfaces.

Read are *NODE, *ELEMENT, *NSET, *ELSET (GENERATE, too), *SURFACE (TYPE=ELEMENT and NODE), *PART, *INSTANCE with its
translation and rotation, *ASSEMBLY and *INCLUDE; all others are passed over. A name of a part's set that several
instances have becomes "instance.name". Labels differ by more than upper and lower case.
Source: Abaqus Keywords Reference Guide; element library for the numbers of nodes and faces.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.mesh.foreign import CellBlock, ForeignMesh, MeshTables, damaged, node_count, pad, shape
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
_MOST_INCLUDES = 100


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
        self.outer: list[_Scope] = []
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
        needed = 1 + (27 if element.upper().startswith("C3D27") else node_count(kind))
        numbers, pending = [], list[int]()
        for row in rows:  # an element may go on in the next line, and have more nodes than we take (orientations)
            pending += [int(word) for word in row if word]
            if len(pending) >= needed:
                self.scope.tables.add_cell(kind, pending[0], pending[1 : 1 + node_count(kind)])
                numbers.append(pending[0])
                pending = []
        if pending:
            what = f"the last element of *ELEMENT, TYPE={element} has {len(pending) - 1} of {needed - 1} nodes"
            raise damaged(self.path, what)
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
        known = len(self.scope.tables.nodes) + sum(len(n) for n, _ in self.scope.tables.cells.values())
        out = range(numbers[0], numbers[1] + 1, *numbers[2:])
        if len(out) > 1000 * (known + 1000):
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
    try:
        for keyword, parameters, rows in _keywords(path, content.decode("utf-8", errors="replace"), [0]):
            reader.take(keyword, parameters, rows)
        return _assembled(reader)
    except UserError:
        raise
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise damaged(path, str(error)) from None


def _keywords(path: Path, text: str, depth: list[int]) -> Iterator[tuple[str, dict[str, str], list[list[str]]]]:
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
            yield from _included(path, parameters, depth)
            keyword = ""
    if head is not None:
        keyword, parameters = heading(head)
    if keyword:
        yield keyword, parameters, rows


def _words(line: str) -> list[str]:
    if '"' not in line:
        return [word.strip() for word in line.split(",")]
    return [word.strip() for word in re.findall(r'(?:"[^"]*"|[^,"])+', line)]


def _included(
    path: Path, parameters: dict[str, str], depth: list[int]
) -> Iterator[tuple[str, dict[str, str], list[list[str]]]]:
    other = path.parent / parameters.get("INPUT", "")
    depth[0] += 1
    if depth[0] > _MOST_INCLUDES:
        raise UserError(f"{path}: more than {_MOST_INCLUDES} files are included: one includes itself", code=1)
    if not other.is_file():
        raise UserError(f"{path}: includes {other}, which is not there", code=1)
    try:
        text = other.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{other}: cannot be read ({error.strerror})", code=1) from None
    yield from _keywords(other, text, depth)


def _assembled(reader: _Reader) -> ForeignMesh:
    """One mesh of all instances and of what stands outside of parts."""
    pieces: list[tuple[str, _Scope, ForeignMesh]] = []
    for instance in reader.instances:
        part = reader.parts.get(instance.part.upper())
        if part is None and not instance.scope.tables.nodes:
            raise damaged(
                reader.path, f"*INSTANCE {instance.scope.name} is of the part {instance.part!r}, which is not there"
            )
        scope = instance.scope if part is None or instance.scope.tables.nodes else part
        mesh = scope.tables.mesh(reader.path, "Abaqus")
        pieces.append((instance.scope.name, scope, _placed(mesh, instance.lines, reader.path)))
    if not reader.instances and reader.parts:  # parts that are not assembled stand where they are
        pieces = [(scope.name, scope, scope.tables.mesh(reader.path, "Abaqus")) for scope in reader.parts.values()]
    own = reader.assembly.tables
    foreign = {(what, name.upper()): name for what, _, name, _ in reader.foreign}
    pieces.append(("", reader.assembly, own.mesh(reader.path, "Abaqus")))
    return _joined(reader, pieces, foreign)


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


def _joined(
    reader: _Reader, pieces: list[tuple[str, _Scope, ForeignMesh]], foreign: dict[tuple[str, str], str]
) -> ForeignMesh:
    kinds = list(dict.fromkeys(block.kind for _, _, mesh in pieces for block in mesh.blocks))
    offsets = np.cumsum([0, *(len(mesh.points) for _, _, mesh in pieces)])
    blocks: list[CellBlock] = []
    places: list[list[tuple[int, int, int]]] = [[] for _ in pieces]  # of a piece: its first cell, ours, their number
    count = 0
    for kind in kinds:
        nodes, numbers = [], []
        for number, (_, _, mesh) in enumerate(pieces):
            for block, start in zip(mesh.blocks, mesh.starts, strict=False):
                if block.kind == kind:
                    nodes.append(np.where(block.nodes < 0, -1, block.nodes + offsets[number]))
                    numbers.append(block.numbers)
                    places[number].append((int(start), count, len(block.nodes)))
                    count += len(block.nodes)
        blocks.append(CellBlock(kind, np.vstack(nodes), np.concatenate(numbers)))
    maps = []
    for number, (_, _, mesh) in enumerate(pieces):
        cells = np.zeros(int(mesh.starts[-1]), dtype=np.int64)
        for start, ours, length in places[number]:
            cells[start : start + length] = ours + np.arange(length)
        maps.append(cells)

    taken: dict[str, set[int]] = {}
    for what in ("NSET", "ELSET", "SURFACE"):
        for number, (_, scope, _) in enumerate(pieces):
            for (kind, upper), _ in scope.spelling.items():
                if kind == what:
                    taken.setdefault(what + upper, set()).add(number)

    def name_in(what: str, number: int, name: str) -> str:
        instance = pieces[number][0]
        unique = len(taken.get(what + name.upper(), {0})) == 1 and (what, name.upper()) not in foreign
        return name if unique or not instance else f"{instance}.{name}"

    node_sets: dict[str, list[Indices]] = {}
    element_sets: dict[str, list[Indices]] = {}
    for number, (instance, _, mesh) in enumerate(pieces):
        for name, members in mesh.node_sets.items():
            node_sets.setdefault(name_in("NSET", number, name), []).append(members + offsets[number])
        for name, members in mesh.element_sets.items():
            element_sets.setdefault(name_in("ELSET", number, name), []).append(maps[number][members])
        if instance and len(maps[number]) and instance not in element_sets and len(pieces) > 2:
            element_sets[instance] = [np.sort(maps[number])]
    by_name = {instance.upper(): number for number, (instance, _, _) in enumerate(pieces)}
    for what, instance, name, words in reader.foreign:
        if instance not in by_name:
            raise damaged(reader.path, f"the set {name!r} is of the instance {instance!r}, which is not there")
        number = by_name[instance]
        target = node_sets if what == "NSET" else element_sets
        target.setdefault(foreign[what, name.upper()], []).append(
            _of_instance(what, pieces[number], words, offsets[number], maps[number])
        )
    mesh = ForeignMesh(
        "Abaqus",
        np.vstack([mesh.points for _, _, mesh in pieces]),
        np.concatenate([mesh.numbers for _, _, mesh in pieces]),
        tuple(blocks),
        {name: np.unique(np.concatenate(rows)) for name, rows in node_sets.items()},
        {name: np.unique(np.concatenate(rows)) for name, rows in element_sets.items()},
        left_out=_counts([piece.left_out for _, _, piece in pieces]),
    )
    surfaces: dict[str, list[Indices]] = {}
    for at, (_, scope, piece) in enumerate(pieces):
        for name, sides in scope.surfaces.items():
            faces = surfaces.setdefault(name_in("SURFACE", at, name), [])
            for which, face in sides:
                chosen = _surface_cells(mesh, piece, maps[at], scope, which, pieces, maps)
                faces.append(_faces(mesh, chosen, face))
    joined = {name: np.vstack(every) for name, every in surfaces.items() if every}
    return replace(mesh, surfaces=joined)


def _counts(tables: list[Mapping[str, int]]) -> dict[str, int]:
    out: dict[str, int] = {}
    for table in tables:
        for what, count in table.items():
            out[what] = out.get(what, 0) + count
    return out


def _of_instance(
    what: str, piece: tuple[str, _Scope, ForeignMesh], words: list[str], offset: int, cells: Indices
) -> Indices:
    """Members of a set that the assembly makes of numbers and sets of an instance."""
    _, scope, mesh = piece
    sets = mesh.node_sets if what == "NSET" else mesh.element_sets
    numbers = mesh.numbers if what == "NSET" else np.concatenate([b.numbers for b in mesh.blocks] or [np.zeros(0, int)])
    named = np.array([int(word) for word in words if _is_number(word)], dtype=np.int64)
    rows = [np.flatnonzero(np.isin(numbers, named))]
    rows += [sets[name] for word in words if (name := scope.spelling.get((what, word.upper()), word)) in sets]
    every = np.concatenate(rows)
    return every + offset if what == "NSET" else cells[every]


def _surface_cells(
    mesh: ForeignMesh,
    piece: ForeignMesh,
    cells: Indices,
    scope: _Scope,
    members: str,
    pieces: list[tuple[str, _Scope, ForeignMesh]],
    maps: list[Indices],
) -> Indices:
    """Cells that a row of a *SURFACE names by a number or a set."""
    if _is_number(members):
        numbers = np.concatenate([block.numbers for block in piece.blocks] or [np.zeros(0, dtype=np.int64)])
        return cells[np.flatnonzero(numbers == int(members))]
    name = scope.spelling.get(("ELSET", members.upper()), members)
    if name in piece.element_sets:
        return cells[piece.element_sets[name]]
    if "." in members:
        instance, other = members.split(".", 1)
        for number, (known, owner, their) in enumerate(pieces):
            if known.upper() != instance.upper():
                continue
            if _is_number(other):
                return maps[number][np.flatnonzero(np.concatenate([b.numbers for b in their.blocks]) == int(other))]
            name = owner.spelling.get(("ELSET", other.upper()), other)
            if name in their.element_sets:
                return maps[number][their.element_sets[name]]
    for known, rows in mesh.element_sets.items():  # one that the assembly made of an instance's
        if known.upper() == members.upper():
            return rows
    return np.zeros(0, dtype=np.int64)


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
