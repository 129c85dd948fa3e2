"""Cells of other programs as cells of this library: collapsed ones as what they are, wedges and pyramids as tetrahedra,
second-order cells with the nodes in their sides and centre."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.fem.elements import registered
from arlequin.models.mesh.foreign import SHAPES, CellBlock, ForeignMesh, Shape, plural, shape, shape_name, with_middles
from arlequin.models.types import Array, Indices

# centres of the sides and of the cell behind the 20 nodes of VTK's hexahedron of 27
_HEXAHEDRON_SIDES = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7))
_SPLIT = ("wedge", "wedge15", "pyramid", "pyramid13")
_SERENDIPITY = ("quad8", "hexahedron20")
CONVERTED = (*_SPLIT, *_SERENDIPITY)  # kinds that `converted` takes, whatever elements are registered


@dataclass(eq=False)
class _NewPoints:
    """Points that the conversion adds, one for each key of two nodes; points (p, 3) of the file."""

    points: Array

    def __post_init__(self) -> None:
        self._added: list[Array] = []
        self._keys: list[Indices] = []
        self._count = len(self.points)

    def add(self, keys: Indices, positions: Array) -> Indices:
        """Provisional numbers (k,) of points at positions (k, 3); keys (k, 2): the two nodes between which they lie."""
        self._keys.append(np.sort(keys, axis=1))
        self._added.append(positions)
        first = self._count
        self._count += len(keys)
        return np.arange(first, self._count)

    def finish(self) -> tuple[Array, Indices]:
        """All points, and the final number of each provisional one: points of the same key are one."""
        size = len(self.points)
        if not self._keys:
            return self.points, np.arange(size)
        keys, positions = np.vstack(self._keys), np.vstack(self._added)
        _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        final = np.concatenate([np.arange(size), size + number.ravel()])
        return np.vstack([self.points, positions[first]]), final


def converted(mesh: ForeignMesh, tetrahedra: bool = False) -> tuple[ForeignMesh, list[str]]:
    """The mesh in cells that scikit-fem has, and a line on each change.

    tetrahedra: hexahedra are split as well. A cell is split by pulling: tetrahedra from its corner of the smallest
    number to the sides away from it, which are cut by the diagonal of their own smallest number. Neighbours therefore
    cut a common side alike, and so do other meshes with the same order of nodes. Kinds for which a finite element with
    a mesh is registered stay. Sets keep their members: the tetrahedra of a cell are in its sets.
    Source: De Loera, Rambau & Santos, Triangulations, 2010, section 4.3.2.
    """
    native = {element.cell_type for element in registered() if element.mesh is not None} & {*CONVERTED}
    new, notes, blocks, origins = _NewPoints(mesh.points), dict[str, list[int]](), list[CellBlock](), list[Indices]()

    def keep(kind: str, nodes: Indices, block: CellBlock, origin: Indices, start: int) -> None:
        blocks.append(CellBlock(kind, nodes, block.numbers[origin]))
        origins.append(start + origin)

    for block, start in zip(mesh.blocks, mesh.starts, strict=False):
        for kind, nodes, origin in _collapsed(block):
            if kind != block.kind:
                _count(notes, f"collapsed {plural(shape_name(block.kind))} are {plural(shape_name(kind))}", len(nodes))
            name = shape_name(kind)
            if kind in native:
                keep(kind, nodes, block, origin, start)
            elif kind in _SPLIT or (tetrahedra and kind in ("hexahedron", "hexahedron20")):
                split_kind, tets, rows = _split(kind, nodes, new)
                _count(notes, f"{plural(name)} are split into tetrahedra", len(nodes))
                keep(split_kind, tets, block, origin[rows], start)
            elif kind in _SERENDIPITY:
                _count(notes, f"{plural(kind)} get nodes in their sides and centre", len(nodes))
                keep(*_completed(kind, nodes, new), block, origin, start)
            else:
                keep(kind, _with_middles(kind, nodes, new), block, origin, start)
    points, final = new.finish()
    final = np.append(final, -1)
    merged: dict[str, list[int]] = {}
    for number, done in enumerate(blocks):
        merged.setdefault(done.kind, []).append(number)
    order = [number for members in merged.values() for number in members]
    origin = np.concatenate([origins[number] for number in order]) if order else np.zeros(0, dtype=np.int64)
    whole = tuple(
        CellBlock(
            kind,
            final[np.vstack([blocks[number].nodes for number in members])],
            np.concatenate([blocks[number].numbers for number in members]),
        )
        for kind, members in merged.items()
    )
    by_origin = np.argsort(origin, kind="stable")
    sorted_origin = origin[by_origin]
    sets = {}
    for name, members in mesh.element_sets.items():
        low, high = (np.searchsorted(sorted_origin, members, side=side) for side in ("left", "right"))
        rows = np.repeat(low, high - low) + _counting(high - low)
        sets[name] = np.sort(by_origin[rows])
    extra = np.full(len(points) - len(mesh.points), -1, dtype=np.int64)
    numbers = np.concatenate([mesh.numbers, extra])
    lines = [f"{counts[0]:,} {what}" for what, counts in notes.items()]
    return replace(mesh, points=points, numbers=numbers, blocks=whole, element_sets=sets), lines


def _count(notes: dict[str, list[int]], what: str, number: int) -> None:
    notes.setdefault(what, [0])[0] += number


def _counting(counts: Indices) -> Indices:
    """0, 1, …, n − 1 for each n of counts, one behind the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - counts, counts)


def _middle_columns(form: Shape, nodes: int) -> dict[tuple[int, int], int]:
    """Column of the middle node of each edge, by its two corners in either order; empty for linear cells."""
    if nodes == form.corners:
        return {}
    columns = {edge: form.corners + number for number, edge in enumerate(form.edges)}
    return columns | {(b, a): column for (a, b), column in columns.items()}


def _collapsed(block: CellBlock) -> Iterator[tuple[str, Indices, Indices]]:
    """Kind, nodes and rows of the block: cells with repeated corners as the shape that is left."""
    form = shape(block.kind)
    corners = block.nodes[:, : form.corners]
    every = np.arange(len(corners))
    if form.dimension < 2 or shape_name(block.kind) == "triangle" or not len(corners):
        yield block.kind, block.nodes, every
        return
    # of each corner the first one of the same node
    first = np.argmax(corners[:, :, None] == corners[:, None, :], axis=2)
    whole = (first == np.arange(form.corners)).all(axis=1)
    if whole.any():
        yield block.kind, block.nodes[whole], every[whole]
    if whole.all():
        return
    patterns, pattern = np.unique(first[~whole], axis=0, return_inverse=True)
    for number, equal in enumerate(patterns):
        rows = every[~whole][pattern.ravel() == number]
        name, order = _shape_left(form, equal.tolist(), block, rows)
        middles = _middle_columns(form, block.nodes.shape[1])
        columns = list(order)
        if middles:
            of_edge = {(int(equal[a]), int(equal[b])): middles[a, b] for a, b in form.edges if equal[a] != equal[b]}
            of_edge |= {(b, a): column for (a, b), column in of_edge.items()}
            columns += [of_edge.get((order[a], order[b]), -1) for a, b in SHAPES[name].edges]
        nodes = np.where(np.array(columns) < 0, -1, block.nodes[rows][:, columns])
        yield with_middles(name) if middles else name, nodes, rows


def _shape_left(form: Shape, equal: list[int], block: CellBlock, rows: Indices) -> tuple[str, list[int]]:
    """Shape of a cell whose corners are equal as given, and the local corner of each of its own corners."""
    distinct = sorted(set(equal))
    if form.dimension == 2:
        if len(distinct) == 3:
            return "triangle", list(dict.fromkeys(equal))
    else:
        sides = [list(dict.fromkeys(equal[corner] for corner in side)) for side in form.sides]
        # two sides that are left on each other, folded, are none
        kept: dict[frozenset[int], list[int]] = {}
        for side in sides:
            if len(side) >= 3 and kept.pop(frozenset(side), None) is None:
                kept[frozenset(side)] = side
        quads = [side for side in kept.values() if len(side) == 4]
        triangles = [side for side in kept.values() if len(side) == 3]
        counts = len(distinct), len(quads), len(triangles)
        if counts == (4, 0, 4):
            base = triangles[0]
            return "tetra", [*base, next(corner for corner in distinct if corner not in base)]
        if counts == (5, 1, 4):
            return "pyramid", [*quads[0], next(corner for corner in distinct if corner not in quads[0])]
        if counts == (6, 3, 2) and not set(triangles[0]) & set(triangles[1]):
            foot = triangles[0]
            edges = [(a, b) for side in quads for a, b in zip(side, side[1:] + side[:1], strict=True)]
            edges += [(b, a) for a, b in edges]
            return "wedge", [*foot, *(next(b for a, b in edges if a == c and b not in foot) for c in foot)]
    nodes = ", ".join(map(str, block.nodes[rows[0]][: form.corners]))
    what = f"{plural(shape_name(block.kind))} with repeated nodes that are no wedge, pyramid or tetrahedron"
    raise UserError(f"element {block.numbers[rows[0]]} (rows {nodes} of the nodes) is one of {len(rows)} {what}", 1)


def _middle_positions(kind: str, nodes: Indices, points: Array) -> Array:
    """Positions (c, edge, 3) of the middles of the edges: of their nodes, or between the corners without."""
    form = shape(kind)
    corners = points[nodes[:, : form.corners]]
    between = np.stack([0.5 * (corners[:, a] + corners[:, b]) for a, b in form.edges], axis=1)
    if nodes.shape[1] == form.corners:
        return between
    middles = nodes[:, form.corners : form.corners + len(form.edges)]
    return np.asarray(np.where((middles < 0)[:, :, None], between, points[middles]))


def _with_middles(kind: str, nodes: Indices, new: _NewPoints) -> Indices:
    """The cells with new nodes for missing middle ones, halfway between the corners."""
    form = shape(kind)
    if nodes.shape[1] == form.corners or nodes.min(initial=0) >= 0:
        return nodes
    nodes = nodes.copy()
    middles = _middle_positions(kind, nodes, new.points)
    for number, (a, b) in enumerate(form.edges):
        rows = np.flatnonzero(nodes[:, form.corners + number] < 0)
        nodes[rows, form.corners + number] = new.add(nodes[rows][:, [a, b]], middles[rows, number])
    return nodes


def _side_centres(form: Shape, side: tuple[int, ...], corners: Array, middles: Array) -> Array:
    """Centres (c, 3) of quadrilateral sides: −¼ Σ corners + ½ Σ middles, the serendipity shape functions there."""
    on_side = [number for number, edge in enumerate(form.edges) if set(edge) <= set(side)]
    return np.asarray(0.5 * middles[:, on_side].sum(axis=1) - 0.25 * corners[:, list(side)].sum(axis=1))


def _cell_centres(corners: Array, middles: Array) -> Array:
    """Centres (c, 3) of hexahedra of 20 nodes: −¼ Σ corners + ¼ Σ middles."""
    return np.asarray(0.25 * (middles.sum(axis=1) - corners.sum(axis=1)))


def _completed(kind: str, nodes: Indices, new: _NewPoints) -> tuple[str, Indices]:
    """Serendipity cells with nodes in the centres of their sides and in their own: the same geometry."""
    form = shape(kind)
    corners, middles = corners_and_middles(kind, nodes, new.points)
    nodes = _with_middles(kind, nodes, new)
    if kind == "quad8":
        side = tuple(range(4))
        centre = new.add(_diagonal(nodes[:, :4]), _side_centres(form, side, corners, middles))
        return "quad9", np.column_stack([nodes, centre])
    added = []
    for side in _HEXAHEDRON_SIDES:
        added.append(new.add(_diagonal(nodes[:, list(side)]), _side_centres(form, side, corners, middles)))
    # the key of a centre: the first corner and the one across, which no side has
    added.append(new.add(nodes[:, [0, 6]], _cell_centres(corners, middles)))
    return "hexahedron27", np.column_stack([nodes, *added])


def _diagonal(sides: Indices) -> Indices:
    """The smallest corner of quadrilaterals (f, 4) and the one across (f, 2)."""
    first = np.argmin(sides, axis=1)
    rows = np.arange(len(sides))
    return np.column_stack([sides[rows, first], sides[rows, (first + 2) % 4]])


def _split(kind: str, nodes: Indices, new: _NewPoints) -> tuple[str, Indices, Indices]:
    """Tetrahedra of cells: kind, nodes (t, 4 or 10), and the row of the cell of each."""
    form = shape(kind)
    corners = nodes[:, : form.corners]
    locals_, rows = [], []
    smallest = np.argmin(corners, axis=1)
    for apex in range(form.corners):
        here = np.flatnonzero(smallest == apex)
        if not here.size:
            continue
        for side in form.sides:
            if apex in side:
                continue
            if len(side) == 3:
                cut = np.broadcast_to(np.array([[side]]), (here.size, 1, 3))
            else:
                even = np.argmin(corners[here][:, list(side)], axis=1) % 2 == 0
                a, b, c, d = side
                cut = np.where(even[:, None, None], [[a, b, c], [a, c, d]], [[b, c, d], [b, d, a]])
            locals_.append(np.dstack([np.full((*cut.shape[:2], 1), apex), cut]).reshape(-1, 4))
            rows.append(np.repeat(here, cut.shape[1]))
    local, row = np.vstack(locals_), np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    local, row = local[order], row[order]
    tets = np.take_along_axis(corners[row], local, axis=1)
    if nodes.shape[1] == form.corners:
        return "tetra", tets, row
    columns = _middle_columns(form, nodes.shape[1])
    at, positions = corners_and_middles(kind, nodes, new.points)
    extra = []
    for a, b in SHAPES["tetra"].edges:
        ends = local[:, [a, b]]
        key = ends.min(axis=1) * form.corners + ends.max(axis=1)
        column = np.full(len(ends), -1, dtype=np.int64)
        place = np.empty((len(ends), 3))
        for value in np.unique(key):
            here = np.flatnonzero(key == value)
            first, second = divmod(int(value), form.corners)
            cells = row[here]
            if (first, second) in columns:
                column[here] = nodes[cells, columns[first, second]]
                place[here] = positions[cells, columns[first, second] - form.corners]
                continue
            sides = [side for side in form.sides if first in side and second in side]
            if sides:
                place[here] = _side_centres(form, sides[0], at[cells], positions[cells])
            else:
                place[here] = _cell_centres(at[cells], positions[cells])
        missing = np.flatnonzero(column < 0)
        column[missing] = new.add(np.take_along_axis(tets[missing], np.array([[a, b]]), axis=1), place[missing])
        extra.append(column)
    return "tetra10", np.column_stack([tets, *extra]), row


def corners_and_middles(kind: str, nodes: Indices, points: Array) -> tuple[Array, Array]:
    """Positions of the corners (c, n, 3) and of the middles of the edges (c, edge, 3)."""
    return points[nodes[:, : shape(kind).corners]], _middle_positions(kind, nodes, points)
