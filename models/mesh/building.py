"""scikit-fem meshes of the converted meshes of files: cells of one kind, with named facets and sets of cells."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.fem.cells import check_cells
from arlequin.models.fem.conformity import check_conforming
from arlequin.models.fem.elements import registered
from arlequin.models.mesh.conversion import CONVERTED
from arlequin.models.mesh.foreign import CellBlock, ForeignMesh, pad, shape
from arlequin.models.mesh.gmsh_format import unsupported
from arlequin.models.signatures import meant
from arlequin.models.types import Array, Indices

_NOUNS = {0: "points", 1: "lines", 2: "surfaces", 3: "volumes"}
_GMSH = "Gmsh"


@dataclass(frozen=True, eq=False)
class BuiltMesh:
    """A scikit-fem mesh, the row in the points of the file of each of its vertices (v,), and what was left out."""

    mesh: Any
    vertex_nodes: Indices
    notes: tuple[str, ...]

    def side_nodes(self, facets: Indices) -> Indices:
        """Corners (f, corner) of facets (f,) as rows of the points of the file, increasing."""
        return np.sort(self.vertex_nodes[self.mesh.facets[:, facets]].T, axis=1)


def kinds(mesh: ForeignMesh) -> list[str]:
    """Kinds of the cells of the highest dimension."""
    return sorted({block.kind for block in mesh.blocks if block.dimension == mesh.dimension and len(block.nodes)})


def build(path: Path, mesh: ForeignMesh, boundaries: Sequence[str] = (), cells: Sequence[str] = ()) -> BuiltMesh:
    """The mesh of the cells of the highest dimension, all of one kind; UserError where they are not.

    boundaries, cells: names that must exist.
    """
    top = mesh.dimension
    if top == 0:
        raise UserError(f"{path}: the mesh has no cells", code=1)
    plain, cell_groups, vertex_nodes = _cells(path, mesh, top)
    facet_groups, notes = _facet_groups(path, mesh, plain, vertex_nodes)
    _require(path, mesh, "boundary", boundaries, facet_groups)
    _require(path, mesh, "cell", cells, cell_groups)
    plain = replace(plain, _boundaries=facet_groups, _subdomains=cell_groups)
    check_cells(plain, str(path), code=1)
    check_conforming(plain, str(path), code=1)
    return BuiltMesh(plain, vertex_nodes, tuple(notes))


def restricted(mesh: ForeignMesh, cells: Indices) -> ForeignMesh:
    """The mesh with these cells of the highest dimension only; all others, nodes and sets stay."""
    keep = np.concatenate([np.full(len(block.nodes), block.dimension < mesh.dimension) for block in mesh.blocks])
    keep[cells] = True
    number = np.cumsum(keep) - 1
    blocks = []
    for block, start, stop in zip(mesh.blocks, mesh.starts, mesh.starts[1:], strict=False):
        rows = keep[start:stop]
        blocks.append(CellBlock(block.kind, block.nodes[rows], block.numbers[rows]))
    sets = {name: number[members[keep[members]]] for name, members in mesh.element_sets.items()}
    return replace(mesh, blocks=tuple(blocks), element_sets={name: rows for name, rows in sets.items() if rows.size})


def _elements() -> dict[str, tuple[Any, Any]]:
    """The registered elements supported in files, and the class of their mesh, by meshio's cell type."""
    return {element.cell_type: (element, element.mesh) for element in registered() if element.mesh is not None}


def supported() -> list[str]:
    """Kinds of cells that meshes have, by meshio's names."""
    return list(_elements())


def _cells(path: Path, mesh: ForeignMesh, top: int) -> tuple[Any, dict[str, np.ndarray], Indices]:
    """Mesh without named boundaries, its cell groups, and the row of the file's points of each vertex of the mesh."""
    several, elements = kinds(mesh), _elements()
    if len(several) > 1:
        split = ", and tetrahedra=True splits hexahedra" if {"tetra", "tetra10"} & set(several) else ""
        cure = f"one kind of cell is needed: aq.mesh.parts gives a mesh of each{split}"
        raise UserError(f"{path}: the mesh mixes {' and '.join(several)}; {cure}", code=1)
    if several[0] not in elements:
        line = unsupported(several, list(elements))
        raise UserError(f"{path}: {line if mesh.format == _GMSH else line.rpartition(': ')[0]}", code=1)
    blocks = [(block, start) for block, start in zip(mesh.blocks, mesh.starts, strict=False) if block.dimension == top]
    cells = np.vstack([block.nodes for block, _ in blocks if len(block.nodes)])
    # format 2.2 of Gmsh repeats a cell for each group it is in
    _, first, number = np.unique(np.sort(cells, axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    number = order[number.ravel()]
    cells = cells[np.sort(first)]
    final = np.full(int(mesh.starts[-1]), -1, dtype=np.int64)
    at = 0
    for block, start in blocks:
        final[start : start + len(block.nodes)] = number[at : at + len(block.nodes)]
        at += len(block.nodes)
    groups = {
        name: np.unique(final[members][final[members] >= 0]).astype(np.int32)
        for name, members in mesh.element_sets.items()
        if (final[members] >= 0).any()
    }
    element, mesh_class = elements[several[0]]
    used, compact = np.unique(cells, return_inverse=True)
    compact = compact.reshape(cells.shape)
    vertices = np.unique(compact[:, : element.corners])
    hanging = np.intersect1d(vertices, compact[:, element.corners :])
    if hanging.size:
        where = ", ".join(f"{x:.6g}" for x in mesh.points[used[hanging[0]]])
        raise UserError(
            f"{path}: the node at ({where}) is a corner of one cell and lies on a side of another: refine without "
            "hanging nodes, or make two parts and join them by a Tie",
            code=1,
        )
    positions = _flat(path, mesh.points[used], top)
    columns = range(cells.shape[1]) if element.node_order is None else element.node_order
    plain = mesh_class(positions, np.ascontiguousarray(compact[:, list(columns)].T.astype(np.int32)))
    return plain, groups, used[vertices]


def _flat(path: Path, points: Array, top: int) -> Array:
    """Coordinates (axis, p) without the axes that a plane or straight mesh does not need."""
    if (line := not_flat(points, top)) is not None:
        hint = "; give its surface or volume a physical group" if top == 1 else ""
        raise UserError(f"{path}: the mesh has {line}{hint}", code=1)
    return np.ascontiguousarray(points[:, :top].T)


def not_flat(points: Array, top: int) -> str | None:
    """Why cells of a dimension are no plane or straight mesh; None where their points (p, 3) are in a plane or line."""
    extent = np.ptp(points, axis=0)
    if top == 3 or not (extent[top:] > 1e-10 * extent.max()).any():
        return None
    return f"only {_NOUNS[top]}, and not in {'the plane z = constant' if top == 2 else 'a line along x'}"


def _facet_groups(
    path: Path, mesh: ForeignMesh, plain: Any, vertex_nodes: Indices
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Facet numbers of each named boundary, and what is no boundary of the mesh.

    Boundaries are, of the same name the first of: surfaces; sets of cells of one dimension less; node sets, as the
    facets on the outside whose nodes are all in the set.
    """
    notes: list[str] = []
    names: dict[str, Indices] = dict(mesh.surfaces)
    for name, members in mesh.element_sets.items():
        rows = _rows_of_sides(mesh, members)
        if name not in names and len(rows):
            names[name] = rows
    groups: dict[str, np.ndarray] = {}
    known = np.sort(vertex_nodes[plain.facets].T, axis=1)
    facet_of, side_of = _matched(known, np.vstack([np.zeros((0, 4), dtype=np.int64), *names.values()]))
    stop = 0
    for name, sides in names.items():
        start, stop = stop, stop + len(sides)
        here = slice(*np.searchsorted(side_of, (start, stop)))
        foreign = len(sides) - len(np.unique(side_of[here]))
        if foreign:
            if mesh.format == _GMSH:
                raise UserError(f"{path}: the physical group {name!r} has facets that are not sides of cells", code=1)
            notes.append(f"{foreign:,} of {len(sides):,} sides of {name!r} are no sides of these cells")
        facets = np.unique(facet_of[here]).astype(np.int32)
        if facets.size:
            groups[name] = facets
    outside = plain.boundary_facets()
    edges = _middles(mesh) if mesh.node_sets else (np.zeros(0, dtype=np.int64),) * 2
    for name, members in mesh.node_sets.items():
        if name not in groups:
            facets = _inside(mesh, known, outside, members, edges)
            if facets.size:
                groups[name] = facets
    return groups, notes


def _rows_of_sides(mesh: ForeignMesh, members: Indices) -> Indices:
    """Corners (f, 4) of those cells of a set that are of one dimension less than the mesh."""
    rows = [np.zeros((0, 4), dtype=np.int64)]
    for block, start in zip(mesh.blocks, mesh.starts, strict=False):
        if block.dimension == mesh.dimension - 1:
            here = members[(members >= start) & (members < start + len(block.nodes))] - start
            rows.append(pad(block.nodes[here][:, : shape(block.kind).corners]))
    return np.vstack(rows)


def _matched(known: Indices, sides: Indices) -> tuple[Indices, Indices]:
    """Facets (m,) that are sides (f, 4), in any order of their corners, and the sides (m,), increasing, that they are.

    A quadrilateral side matches the triangles into which it is split. known (facets, corner): increasing nodes.
    """
    corners = known.shape[1]
    count = (sides >= 0).sum(axis=1)
    candidates, owner = [sides[count == corners][:, :corners]], [np.flatnonzero(count == corners)]
    if corners == 3:
        for three in ((0, 1, 2), (0, 2, 3), (1, 2, 3), (0, 1, 3)):
            candidates.append(sides[count == 4][:, list(three)])
            owner.append(np.flatnonzero(count == 4))
    rows, owners = np.sort(np.vstack(candidates), axis=1), np.concatenate(owner)
    _, number = np.unique(np.vstack([known, rows]), axis=0, return_inverse=True)
    number = number.ravel()
    facet_of = np.full(number.max(initial=-1) + 1, -1)
    facet_of[number[: len(known)]] = np.arange(len(known))
    facets = facet_of[number[len(known) :]]
    order = np.argsort(owners, kind="stable")
    order = order[facets[order] >= 0]
    return facets[order], owners[order]


def _inside(
    mesh: ForeignMesh, known: Indices, facets: Indices, members: Indices, edges: tuple[Indices, Indices]
) -> np.ndarray:
    """The facets whose nodes are all in a set; their middle nodes, too, where the set has any of the mesh's.

    edges: those of `_middles`.
    """
    chosen = np.zeros(len(mesh.points), dtype=bool)
    chosen[members] = True
    chosen[len(mesh.numbers[mesh.numbers >= 0]) :] = True  # nodes that the conversion added
    facets = facets[chosen[known[facets]].all(axis=1)]
    key, middles = edges
    if facets.size and np.isin(members, middles).any():
        # edges of a facet by their ends: each middle node that the mesh has there must be in the set
        corners = known[facets]
        good = np.ones(len(facets), dtype=bool)
        for a, b in combinations(range(corners.shape[1]), 2):
            wanted = corners[:, a] * len(mesh.points) + corners[:, b]
            at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
            good &= (key[at] != wanted) | chosen[middles[at]]
        facets = facets[good]
    return facets.astype(np.int32)


def _middles(mesh: ForeignMesh) -> tuple[Indices, Indices]:
    """Edges (e,) of second-order cells of the highest dimension, and their middle nodes (e,).

    An edge between the points a < b is a · points + b; in increasing order, each once.
    """
    keys, middles = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for block in mesh.blocks:
        form = shape(block.kind)
        if block.dimension == mesh.dimension and block.nodes.shape[1] > form.corners:
            for number, edge in enumerate(form.edges):
                ends = np.sort(block.nodes[:, list(edge)], axis=1)
                keys.append(ends[:, 0] * len(mesh.points) + ends[:, 1])
                middles.append(block.nodes[:, form.corners + number])
    key, first = np.unique(np.concatenate(keys), return_index=True)
    return key, np.concatenate(middles)[first]


def _require(path: Path, mesh: ForeignMesh, what: str, names: Sequence[str], groups: dict[str, np.ndarray]) -> None:
    noun = "physical group" if mesh.format == _GMSH else "set"
    for name in names:
        if name in groups:
            continue
        if what == "boundary" and name in mesh.node_sets:
            nodes = len(mesh.node_sets[name])
            why = f"are all the nodes of no facet: their positions are aq.mesh.points(path)[{name!r}]"
            raise UserError(f"{path}: the {nodes} nodes of the set {name!r} {why}")
        exist = ", ".join(sorted(groups)) or "none"
        exist = exist if len(exist) < 2000 else f"{exist[:2000]} …"
        which = f"{noun.rpartition(' ')[2]}s of that kind: {exist}"
        raise UserError(f"{path}: no {what} {noun} is named {name!r}{meant(name, groups)} ({which})")


def unsupported_kinds(mesh: ForeignMesh) -> list[str]:
    """Kinds of cells, of the highest dimension, that no mesh of this library has, converted or not."""
    return [kind for kind in kinds(mesh) if kind not in _elements() and kind not in CONVERTED]
