"""Reading of an Abaqus input file: its keywords into the scopes of parts, instances and the assembly."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from arlequin.models.errors import UserError
from arlequin.models.mesh.abaqus.assembly import Instance, SetOfInstance, assembled
from arlequin.models.mesh.abaqus.elements import is_structural, kind_of, node_counts
from arlequin.models.mesh.abaqus.generation import GENERATORS, cartesian, generate
from arlequin.models.mesh.abaqus.keywords import is_number, keywords, reals
from arlequin.models.mesh.abaqus.pieces import Words, names_of_nothing
from arlequin.models.mesh.abaqus.scope import Scope, Surface
from arlequin.models.mesh.foreign import (
    ForeignMesh,
    Includes,
    damaged,
    node_count,
    shape_name,
    understood,
    without_centres,
)

# keywords that change the mesh and are not read
_REFUSED = ("NMAP", "SYMMETRICMODELGENERATION", "PARAMETER")
_SURFACES = ("UNION", "INTERSECTION", "DIFFERENCE")


def load(path: Path, content: bytes) -> ForeignMesh:
    """The mesh of an Abaqus input file."""
    reader = _Reader(path)
    with understood(path):
        for keyword, parameters, rows in keywords(path, content.decode("utf-8", errors="replace"), Includes()):
            reader.take(keyword, parameters, rows)
        if reader.opened:
            raise damaged(path, f"it has no *END {reader.opened[-1]}: it is cut off")
        return assembled(path, reader.parts, reader.instances, reader.assembly, reader.of_instances)


@dataclass(eq=False)
class _Reader:
    """The scope of the lines, parts and instances so far."""

    path: Path
    parts: dict[str, Scope] = field(default_factory=dict)
    instances: list[Instance] = field(default_factory=list)
    assembly: Scope = field(default_factory=lambda: Scope(""))
    of_instances: list[SetOfInstance] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)  # keywords that wait for their *END

    def __post_init__(self) -> None:
        self.scope = self.assembly

    def take(self, keyword: str, parameters: dict[str, str], rows: list[list[str]]) -> None:
        """Process a keyword with its data lines."""
        if keyword in ("PART", "INSTANCE", "ASSEMBLY", "STEP"):
            self.opened.append(keyword)
        elif keyword.startswith("END") and self.opened[-1:] == [keyword[3:]]:
            self.opened.pop()
        if keyword in _REFUSED or (keyword == "SYSTEM" and rows):
            raise UserError(f"{self.path}: *{keyword} is not read: export the nodes and elements without it", 1)
        if keyword in GENERATORS:
            generate(self.path, self.scope, keyword, parameters, rows)
        elif keyword == "PART":
            name = self._named("PART", parameters)
            self.scope = self.parts.setdefault(name.upper(), Scope(name))
        elif keyword == "INSTANCE":
            self.scope = Scope(self._named("INSTANCE", parameters))
            lines = [reals(row, 7) for row in rows]
            self.instances.append(Instance(parameters.get("PART", ""), self.scope, lines))
        elif keyword in ("ENDPART", "ENDINSTANCE", "ENDASSEMBLY"):
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
        system = parameters.get("SYSTEM", "R").upper()
        numbers = []
        for row in rows:
            number = int(row[0])
            self.scope.tables.add_node(number, cartesian(self.path, "NODE", system, reals(row[1:4], 3)))
            numbers.append(number)
        if "NSET" in parameters:
            self.scope.members("NSET", self._named("NODE", parameters, "NSET")).extend(numbers)

    def _elements(self, parameters: dict[str, str], rows: list[list[str]]) -> None:
        element = self._named("ELEMENT", parameters, "TYPE").upper()
        kind, tables = kind_of(element), self.scope.tables
        numbers = list[int]()
        if kind is None:
            for row in rows:
                if row[0].isdigit():
                    tables.add_foreign(f"elements of type {element}", int(row[0]))
                    numbers.append(int(row[0]))
        else:
            if is_structural(element):
                tables.structural.setdefault(shape_name(kind), set()).add(element)
            count = node_count(kind)
            for number, nodes in self._connectivity(element, kind, rows):
                tables.add_cell(kind, number, nodes[:count])
                numbers.append(number)
                if len(nodes) > count and element.startswith(("C3D15V", "C3D27")):
                    tables.leave_out(without_centres(kind, len(nodes)))
        if "ELSET" in parameters:
            self.scope.members("ELSET", self._named("ELEMENT", parameters, "ELSET")).extend(numbers)

    def _connectivity(self, element: str, kind: str, rows: list[list[str]]) -> list[tuple[int, list[int]]]:
        """Numbers and nodes of elements, which go on in the next line where nodes are missing."""
        least, most = node_counts(element, kind)
        elements, pending = list[tuple[int, list[int]]](), list[int]()
        for row in rows:
            pending += [int(word) for word in row if word]
            found = len(pending) - 1
            if found < least:
                continue
            if found > most:
                allowed = f"{least} to {most}" if least < most else f"{most}"
                raise damaged(self.path, f"element {pending[0]} of *ELEMENT, TYPE={element} has not {allowed} nodes")
            elements.append((pending[0], pending[1:]))
            pending = []
        if pending:
            what = f"the last element of *ELEMENT, TYPE={element} has {len(pending) - 1} of {least} nodes"
            raise damaged(self.path, what)
        return elements

    def _set(self, keyword: str, parameters: dict[str, str], rows: list[list[str]]) -> None:
        name = self._named(keyword, parameters, keyword)
        if "GENERATE" in parameters:
            words: Words = [self._generated(keyword, row) for row in rows]
        else:
            words = [word for row in rows for word in row if word]
        if "INSTANCE" in parameters:
            self.of_instances.append(SetOfInstance(keyword, parameters["INSTANCE"], name, words))
            return
        if "UNSORTED" in parameters:
            self.scope.unsorted.add(name.upper())
        if keyword == "NSET" and "ELSET" in parameters:  # the nodes of an element set
            elements = self.scope.elements_of(self.path, "NSET", parameters["ELSET"])
            words = [str(node) for number in elements for node in self.scope.tables.elements[number][1]]
        if not words:
            self.scope.members(keyword, name)
        for word in words:
            self._add_member(keyword, name, word)

    def _add_member(self, keyword: str, name: str, word: str | range) -> None:
        """Add a number, a range of them, or the members of a set, to a set."""
        if isinstance(word, range) or is_number(word):
            self.scope.members(keyword, name).append(word if isinstance(word, range) else int(word))
            return
        other = self.scope.known(keyword, word)
        of_instances = []
        if self.scope is self.assembly:  # a set of the assembly that has members of instances, or an instance's set
            key = keyword, word.upper()
            of_instances = [one for one in self.of_instances if (one.keyword, one.name.upper()) == key]
            if other is None and not of_instances and "." in word:
                instance, _, of_instance = word.partition(".")
                of_instances = [SetOfInstance(keyword, instance, name, [of_instance])]
        self.of_instances += [replace(one, name=name) for one in of_instances]
        if other is not None:
            self.scope.members(keyword, name).extend(list(other))
        elif not of_instances:
            self.scope.members(keyword, name)
            self.scope.tables.leave_out(names_of_nothing(word, f"set {name!r}"))

    def _generated(self, keyword: str, row: list[str]) -> range:
        numbers = [int(word) for word in row if word]
        if len(numbers) not in (2, 3) or (len(numbers) == 3 and numbers[2] < 1):
            raise damaged(self.path, f"*{keyword}, GENERATE needs first, last and increment, not {', '.join(row)}")
        return range(numbers[0], numbers[1] + 1, *numbers[2:])

    def _surface(self, parameters: dict[str, str], rows: list[list[str]]) -> None:
        name = self._named("SURFACE", parameters)
        kind = parameters.get("COMBINE", "").upper() or parameters.get("TYPE", "ELEMENT").upper()
        if "CROP" in parameters:
            kind = "CROP"
        if kind not in ("ELEMENT", "NODE", *_SURFACES):
            self.scope.tables.leave_out(f"surfaces ({kind}, {name!r})" if kind == "CROP" else "analytical surfaces")
            return
        surface = self.scope.surfaces.setdefault(self.scope.name_of("SURFACE", name), Surface(kind, []))
        if surface.kind != kind:
            raise damaged(self.path, f"the surface {name!r} is defined as {surface.kind} and as {kind}")
        surface.rows += rows
