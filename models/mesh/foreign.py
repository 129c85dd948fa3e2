"""The mesh of a file as its writer meant it: points, cells of all kinds, node sets, element sets and surfaces."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices

# Cells by meshio's names of them: dimension, corners, edges whose middle nodes follow the corners, and sides, the
# nodes of each counted from 0 in the order of VTK.
_TETRA = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
_PYRAMID = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4))
_WEDGE = ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5))
_HEXAHEDRON = (
    (0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7),
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A shape of cells: dimension, number of corners, edges and sides as local numbers of corners.

    The sides have the order of Abaqus: S1, S2, …
    """

    dimension: int
    corners: int
    edges: tuple[tuple[int, int], ...] = ()
    sides: tuple[tuple[int, ...], ...] = ()


SHAPES = {
    "vertex": Shape(0, 1),
    "line": Shape(1, 2, ((0, 1),), ((0,), (1,))),
    "triangle": Shape(2, 3, ((0, 1), (1, 2), (2, 0)), ((0, 1), (1, 2), (2, 0))),
    "quad": Shape(2, 4, ((0, 1), (1, 2), (2, 3), (3, 0)), ((0, 1), (1, 2), (2, 3), (3, 0))),
    "tetra": Shape(3, 4, _TETRA, ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0))),
    "pyramid": Shape(3, 5, _PYRAMID, ((0, 1, 2, 3), (0, 4, 1), (1, 4, 2), (2, 4, 3), (3, 4, 0))),
    "wedge": Shape(3, 6, _WEDGE, ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0))),
    "hexahedron": Shape(
        3, 8, _HEXAHEDRON, ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))
    ),
}
# Nastran and Exodus number the middles of the upright edges before those of the top
UPRIGHT_FIRST = {
    "wedge15": [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 9, 10, 11],
    "hexahedron20": [*range(12), 16, 17, 18, 19, 12, 13, 14, 15],
}
_MOST_INCLUDES = 100
_PLURALS = {"vertex": "points", "tetra": "tetrahedra", "hexahedron": "hexahedra"}


def shape_name(kind: str) -> str:
    """The shape of a kind of cells: "hexahedron" of "hexahedron20"."""
    return kind.rstrip("0123456789")


def shape(kind: str) -> Shape:
    """The shape of a kind of cells, linear or not."""
    return SHAPES[shape_name(kind)]


def node_count(kind: str) -> int:
    """Number of nodes of a cell: 20 of "hexahedron20", 8 of "hexahedron"."""
    digits = kind[len(shape_name(kind)) :]
    return int(digits) if digits else shape(kind).corners


def with_middles(name: str) -> str:
    """The kind of the cells of a shape with a node in the middle of each edge: "hexahedron20" of "hexahedron"."""
    return f"{name}{SHAPES[name].corners + len(SHAPES[name].edges)}"


def plural(kind: str) -> str:
    """A kind of cells in words: "hexahedra of 20 nodes"."""
    name = shape_name(kind)
    words = _PLURALS.get(name, f"{name}s")
    return words if name == kind else f"{words} of {kind[len(name) :]} nodes"


def without_centres(kind: str, stored: int) -> str:
    """What is left out where cells of a kind have `stored` nodes in the file: those behind the middles of the edges."""
    return f"{plural(f'{shape_name(kind)}{stored}')}: the nodes in their sides and centres"


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Cells of one kind: nodes (c, n) as rows of the mesh's points, −1 for a middle node that is missing; numbers (c,)
    of the elements in the file."""

    kind: str
    nodes: Indices
    numbers: Indices

    @property
    def dimension(self) -> int:
        """Dimension of the cells."""
        return shape(self.kind).dimension


@dataclass(frozen=True, eq=False)
class ForeignMesh:
    """The mesh of a file of another program.

    points (p, 3) in the unit of the file; numbers (p,) of the nodes in the file; node_sets: rows of the points;
    element_sets: cells, counted through all blocks; surfaces: corners (f, 4) of their sides, −1 where a side has
    fewer; left_out: what the file has and this model has not, with its count; structural: shape of cells → types of
    elements of the file that are shells, membranes, beams or bars.
    """

    format: str
    points: Array
    numbers: Indices
    blocks: tuple[CellBlock, ...]
    node_sets: Mapping[str, Indices] = field(default_factory=dict)
    element_sets: Mapping[str, Indices] = field(default_factory=dict)
    surfaces: Mapping[str, Indices] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    structural: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def starts(self) -> Indices:
        """Number of the first cell of each block, and the number of cells (blocks + 1,)."""
        return np.cumsum([0, *(len(block.nodes) for block in self.blocks)])

    @property
    def dimension(self) -> int:
        """Dimension of the cells, the highest one."""
        return max((block.dimension for block in self.blocks if len(block.nodes)), default=0)

    @property
    def orphans(self) -> Indices:
        """Points (k,) that are in no cell."""
        used = np.zeros(len(self.points) + 1, dtype=bool)
        for block in self.blocks:
            used[block.nodes] = True
        return np.flatnonzero(~used[:-1])

    def check(self, path: Path) -> "ForeignMesh":
        """The mesh itself; UserError where it has no cells, or cells of nodes that do not exist."""
        if not any(len(block.nodes) for block in self.blocks):
            found = ", ".join(f"{count:,} {what}" for what, count in self.left_out.items())
            raise UserError(f"{path}: the mesh has no cells" + (f" that are supported ({found})" if found else ""), 1)
        for block in self.blocks:
            corners = block.nodes[:, : shape(block.kind).corners]
            if corners.size and (block.nodes.max() >= len(self.points) or corners.min() < 0):
                raise damaged(path, "an element names a node that does not exist")
        return self

    def sides(self, cells: Indices, which: Indices) -> Indices:
        """Corners (f, 4) of sides: cells (f,) through all blocks, which (f,): number of the side of the cell, from 0;
        sides that a cell does not have are left out."""
        cells, which = np.asarray(cells, dtype=np.int64), np.asarray(which, dtype=np.int64)
        rows = []
        for block, start in zip(self.blocks, self.starts, strict=False):
            here = (cells >= start) & (cells < start + len(block.nodes))
            for side, corners in enumerate(shape(block.kind).sides):
                chosen = cells[here & (which == side)] - start
                rows.append(pad(block.nodes[chosen][:, list(corners)]))
        return np.vstack([np.zeros((0, 4), dtype=np.int64), *rows])

    def outer_sides(self, cells: Indices) -> Indices:
        """Corners (f, 4) of the sides of these cells that no other cell of the mesh has."""
        sides, owners = self._outside
        return sides[np.isin(owners, cells)]

    @cached_property
    def _outside(self) -> tuple[Indices, Indices]:
        """Corners (f, 4) of the sides that one cell of the highest dimension has, and that cell (f,)."""
        rows, owners = [np.zeros((0, 4), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for block, start in zip(self.blocks, self.starts, strict=False):
            if block.dimension == self.dimension:
                for corners in shape(block.kind).sides:
                    rows.append(pad(block.nodes[:, list(corners)]))
                    owners.append(start + np.arange(len(block.nodes)))
        sides = np.vstack(rows)
        _, number, count = np.unique(np.sort(sides, axis=1), axis=0, return_inverse=True, return_counts=True)
        once = count[number.ravel()] == 1
        return sides[once], np.concatenate(owners)[once]


def pad(corners: Indices) -> Indices:
    """Corners of sides (f, n ≤ 4) as (f, 4): each once, −1 behind them."""
    corners = np.asarray(corners, dtype=np.int64)
    padded = np.full((len(corners), 4), -1, dtype=np.int64)
    padded[:, : corners.shape[1]] = corners
    ordered = np.sort(corners, axis=1)
    for row in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)):
        once = list(dict.fromkeys(corners[row].tolist()))
        padded[row] = once + [-1] * (4 - len(once))
    return padded


def damaged(path: Path, why: str) -> UserError:
    """The error for a file that cannot be understood."""
    return UserError(f"{path}: the mesh file is damaged ({why})", code=1)


@contextmanager
def understood(
    path: Path, errors: tuple[type[BaseException], ...] = (ValueError, IndexError, KeyError, OverflowError)
) -> Iterator[None]:
    """Whatever a damaged file raises within, as one line."""
    try:
        yield
    except UserError:
        raise
    except errors as error:
        raise damaged(path, " ".join(str(error).split()) or type(error).__name__) from None


@dataclass(eq=False)
class Includes:
    """Files that a file includes, with their number so far."""

    count: int = 0

    def text(self, path: Path, name: str) -> tuple[Path, str]:
        """Path and text of a file that `path` includes by its name; UserError where it is not there."""
        other = path.parent / name
        self.count += 1
        if self.count > _MOST_INCLUDES:
            raise UserError(f"{path}: more than {_MOST_INCLUDES} files are included: one includes itself", code=1)
        if not other.is_file():
            raise UserError(f"{path}: includes {other}, which is not there", code=1)
        try:
            return other, other.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UserError(f"{other}: cannot be read ({error.strerror})", code=1) from None


Members = list[int | range]  # numbers of a set in a file; those of a range need not all exist


@dataclass(eq=False)
class MeshTables:
    """Nodes and elements by their numbers in a file, as a reader collects them, and sets of these numbers.

    A number that is defined again is defined by the last of its definitions.
    """

    nodes: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    elements: dict[int, tuple[str, list[int]]] = field(default_factory=dict)  # number → kind, nodes
    node_sets: dict[str, Members] = field(default_factory=dict)
    element_sets: dict[str, Members] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    foreign_elements: set[int] = field(default_factory=set)  # numbers of elements that are left out
    structural: dict[str, set[str]] = field(default_factory=dict)  # shape → types of shells, membranes, beams

    def add_node(self, number: int, xyz: tuple[float, float, float]) -> None:
        """Add a node at its coordinates."""
        if self.nodes.setdefault(number, xyz) != xyz:
            self.leave_out("earlier definitions of nodes that are defined twice")
            self.nodes[number] = xyz

    def add_cell(self, kind: str, number: int, nodes: list[int]) -> None:
        """Add an element; a middle node numbered 0 is missing."""
        if self.elements.setdefault(number, (kind, nodes)) != (kind, nodes):
            self.leave_out("earlier definitions of elements that are defined twice")
            self.elements[number] = kind, nodes

    def add_foreign(self, what: str, number: int) -> None:
        """Count an element that the mesh does not take over."""
        self.leave_out(what)
        self.foreign_elements.add(number)

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count what the mesh does not take over."""
        self.left_out[what] = self.left_out.get(what, 0) + count

    def mesh(self, path: Path, form: str) -> ForeignMesh:
        """The mesh of these tables, the points in the order of the numbers of the nodes."""
        numbers = np.array(sorted(self.nodes), dtype=np.int64)
        points = np.array([self.nodes[number] for number in numbers.tolist()], dtype=float).reshape(-1, 3)
        of_kind: dict[str, list[int]] = {}
        for number, (kind, _) in self.elements.items():
            of_kind.setdefault(kind, []).append(number)
        blocks = []
        for kind, elements in of_kind.items():
            named = np.array([self.elements[number][1] for number in elements], dtype=np.int64)
            at = rows_of(numbers, named)
            corners = shape(kind).corners
            missing = (at < 0) & ((np.arange(named.shape[1]) < corners) | (named != 0))
            if missing.any():
                row, column = np.argwhere(missing)[0]
                what = f"element {elements[row]} names the node {named[row, column]}, which does not exist"
                raise damaged(path, what)
            blocks.append(CellBlock(kind, at, np.array(elements, dtype=np.int64)))
        every = np.concatenate([block.numbers for block in blocks]) if blocks else np.zeros(0, dtype=np.int64)
        order = np.argsort(every, kind="stable")
        node_sets = self._rows(self.node_sets, "nodes", numbers, set())
        element_sets = self._rows(self.element_sets, "elements", every[order], self.foreign_elements)
        return ForeignMesh(
            form,
            points,
            numbers,
            tuple(blocks),
            node_sets,
            {name: np.sort(order[rows]) for name, rows in element_sets.items()},
            left_out=dict(self.left_out),
            structural=self.structural,
        )

    def _rows(self, sets: Mapping[str, Members], what: str, known: Indices, foreign: set[int]) -> dict[str, Indices]:
        """Positions of the members of sets in the increasing `known`; counts those that do not exist.

        foreign: numbers that are left out for another reason.
        """
        out, empty = dict[str, Indices](), list[str]()
        for name, members in sets.items():
            listed = np.unique(np.array([one for one in members if not isinstance(one, range)], dtype=np.int64))
            at = rows_of(known, listed)
            missing = set(listed[at < 0].tolist()) - foreign
            if missing:
                self.leave_out(f"{what} of the set {name!r} that do not exist", len(missing))
            rows = [at[at >= 0]]
            for span in members:
                if isinstance(span, range):
                    rows.append(rows_in_range(known, span))
            out[name] = np.unique(np.concatenate(rows))
            if not out[name].size and not missing and not any(one in foreign for one in listed.tolist()):
                empty.append(name)
        if empty:
            self.leave_out(f"empty sets of {what} ({', '.join(empty)})", len(empty))
        return out


def existing(members: Iterable[int | range], known: Mapping[int, object]) -> list[int]:
    """The numbers of a set that are known, in the order of the set.

    >>> existing([7, range(1, 10**12), 2, 8], {2: "", 3: "", 7: ""})
    [7, 2, 3, 7, 2]
    """
    out: list[int] = []
    for one in members:
        if not isinstance(one, range):
            out += [one] if one in known else []
        elif len(one) <= len(known):
            out += [number for number in one if number in known]
        else:
            out += sorted(number for number in known if number in one)
    return out


def rows_of(known: Indices, numbers: Indices) -> Indices:
    """Position of each number in the increasing `known`, −1 where it is not there."""
    if not known.size:
        return np.full(np.shape(numbers), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, numbers), known.size - 1)
    return np.where(known[at] == numbers, at, -1)


def rows_in_range(known: Indices, span: range) -> Indices:
    """Positions in the increasing `known` of the numbers of a range that are there.

    >>> rows_in_range(np.array([1, 2, 3, 9]), range(1, 10**12, 2)).tolist()
    [0, 2, 3]
    """
    low, high = np.searchsorted(known, (span.start, span.stop))
    return np.asarray(low + np.flatnonzero((known[low:high] - span.start) % span.step == 0))
