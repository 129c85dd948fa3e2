"""Gmsh files (formats 2.2, 4.0 and 4.1, text or binary, first and second order) with their physical names."""

import contextlib
import io
import re
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.fem.cells import check_cells
from arlequin.models.fem.conformity import check_conforming
from arlequin.models.fem.elements import registered
from arlequin.models.mesh.gmsh_format import GmshFormat, conversion, physical_groups, unsupported
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices

# corners of meshio's cell types, whose names end in the number of nodes
_CORNERS = {"vertex": 1, "line": 2, "triangle": 3, "quad": 4, "tetra": 4, "hexahedron": 8}
_NOUNS = {0: "points", 1: "lines", 2: "surfaces", 3: "volumes"}


_MAX_TAG = 1000  # of a node, per byte of the file


@dataclass(frozen=True, eq=False)
class _Block:
    """Cells of one type (c, nodes), and the cell numbers of each named group."""

    kind: str
    dimension: int
    cells: Indices
    groups: dict[str, Indices]


@checked_call
def read(path: str | Path, boundaries: Sequence[str] = (), cells: Sequence[str] = ()) -> Any:
    """The mesh of a Gmsh file (formats 2.2, 4.0, 4.1), with its physical groups as named boundaries and as cell sets
    (`subdomains`).

    boundaries, cells: names that must exist in the file. Groups without a name go by their number.
    Second-order files give second-order (curved) meshes. Nodes that no cell uses are left out, and z too in
    plane meshes.

    >>> import meshio, tempfile
    >>> import arlequin as aq
    >>> points, cells = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], {"line": [[0, 1]], "triangle": [[0, 1, 2]]}
    >>> tags, names = {"gmsh:physical": [[1], [2]], "gmsh:geometrical": [[1], [2]]}, {"foot": [1, 1], "plate": [2, 2]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     meshio.Mesh(points, cells, cell_data=tags, field_data=names).write(f"{folder}/p.msh", file_format="gmsh22")
    ...     mesh = aq.mesh.read(f"{folder}/p.msh", boundaries=["foot"])
    >>> mesh.nelements, sorted(mesh.boundaries), sorted(mesh.subdomains)
    (1, ['foot'], ['plate'])
    """
    path = Path(checks.path("path", path))
    points, blocks = _load(path, _content(path))
    top = max((block.dimension for block in blocks if block.cells.size), default=0)
    if top == 0:
        raise UserError(f"{path}: the mesh has no cells", code=1)
    mesh, cell_groups, corner_nodes = _build_cells(path, points, [b for b in blocks if b.dimension == top], top)
    facet_groups = _facet_groups(path, mesh, corner_nodes, [b for b in blocks if b.dimension == top - 1])
    _require(path, "boundary", boundaries, facet_groups)
    _require(path, "cell", cells, cell_groups)
    mesh = replace(mesh, _boundaries=facet_groups, _subdomains=cell_groups)
    check_cells(mesh, str(path), code=1)
    check_conforming(mesh, str(path), code=1)
    return mesh


def _content(path: Path) -> bytes:
    """The file's bytes, checked to be a complete Gmsh mesh."""
    if not path.exists():
        raise UserError(f"{path}: no such mesh file")
    if not path.is_file():  # reading a pipe or a device might not end
        raise UserError(f"{path}: cannot be read (it is not a file)", code=1)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})", code=1) from None
    if not content.strip():
        raise UserError(f"{path}: the mesh file is empty", code=1)
    if not content.lstrip().startswith((b"$MeshFormat", b"$Comments")):
        if content.lstrip().startswith(b"$NOD"):
            raise UserError(f"{path}: format 1 of Gmsh is not read: {conversion(path)}", code=1)
        hint = "" if path.suffix.lower() == ".msh" else f": {conversion(path)}"
        raise UserError(f"{path}: not a Gmsh mesh file (it does not start with $MeshFormat){hint}", code=1)
    for section in (b"MeshFormat", b"Nodes", b"Elements"):
        if b"$End" + section not in content:
            raise UserError(f"{path}: the mesh file is truncated (no $End{section.decode()})", code=1)
    return content


def _check_counts(path: Path, content: bytes) -> None:
    """UserError where a file declares more nodes, elements or blocks than it has bytes, or far larger node numbers.

    meshio allocates arrays of that length before it reads.
    """
    head = re.search(rb"\$MeshFormat\s+(\d+)\.\d+\s+([01])", content)
    block_counts, binary = (0, False) if head is None else (int(head[1]) // 4, head[2] == b"1")
    for section in (b"Nodes", b"Elements"):
        section_start = re.search(rb"\$" + section + rb"\r?\n", content)
        if section_start is None:
            continue
        if block_counts and binary:
            counts = [int(n) for n in np.frombuffer(content[section_start.end() :][:16].ljust(16, b"\0"), "<u8")]
        else:
            counts = [
                int(n)
                for n in content[section_start.end() :][:200].split(b"\n")[0].split()[: 1 + block_counts]
                if n.isdigit()
            ]
        if max(counts, default=0) > len(content):
            line = f"{max(counts):,} {section.decode().lower()} or blocks of them in {len(content):,} bytes"
            raise UserError(f"{path}: the mesh file is damaged (it declares {line})", code=1)
    if binary or (nodes := re.search(rb"\$Nodes\r?\n[^\n]*\n(.*?)\$EndNodes", content, re.DOTALL)) is None:
        return
    # a line of a node: its number alone, or before the coordinates
    tags = re.findall(rb"^(\d{8,})\s*$" if block_counts else rb"^(\d{8,})[ \t]", nodes[1], re.MULTILINE)
    largest = max((int(tag) for tag in tags if len(tag) < 20), default=0)
    if largest > _MAX_TAG * len(content):
        cure = "renumber them (Gmsh: Mesh.Renumber = 1)"
        raise UserError(f"{path}: its {len(content):,} bytes number nodes up to {largest:,}: {cure}", code=1)


def _load(path: Path, content: bytes) -> tuple[Array, list[_Block]]:
    """Points (p, 3) and blocks of the file."""
    form = GmshFormat.of(path, content)
    _check_counts(path, content)
    try:
        data = _parsed(path, form.relabelled(content))
    except Exception as error:  # the parser raises exceptions of any type on bad files
        raise form.cause(path, content, error, list(_elements())) from None
    names = _physical_names(content)
    tags = data.cell_data.get("gmsh:physical", [np.zeros(len(block), dtype=int) for block in data.cells])
    entities = physical_groups(content, form.binary) if form.layout == "4.0" else {}
    blocks = []
    for number, (block, tag) in enumerate(zip(data.cells, tags, strict=True)):
        # a negative tag means the reversed entity of the same group
        numbers = np.abs(np.asarray(tag))
        groups = {
            names.get((block.dim, int(value)), str(value)): np.flatnonzero(numbers == value)
            for value in np.unique(numbers[numbers != 0])
        }
        # entities in several groups: format 4.1 keeps only the first tag with the cells
        for name, members in data.cell_sets.items():
            if not name.startswith("gmsh:") and len(members[number]):
                groups[name] = np.union1d(groups.get(name, []), members[number]).astype(np.int64)
        if entities:  # of format 4.0 the parser gives no sets: all groups of the block's entity
            entity = int(data.cell_data["gmsh:geometrical"][number][0]) if len(block) else 0
            every = np.arange(len(block))
            groups |= {
                names.get((block.dim, abs(value)), str(abs(value))): every
                for value in entities.get((block.dim, entity), [])
            }
        cells = np.asarray(block.data, dtype=np.int64)
        if cells.size and (cells.min() < 0 or cells.max() >= len(data.points)):
            raise UserError(f"{path}: the mesh file is damaged (an element names a node that does not exist)", code=1)
        blocks.append(_Block(block.type, block.dim, cells, groups))
    points = np.asarray(data.points, dtype=float)
    if not np.isfinite(points).all():
        raise UserError(f"{path}: the mesh file is damaged (a coordinate is not finite)", code=1)
    return points, blocks


def _parsed(path: Path, relabelled: bytes | None) -> Any:
    """The mesh that meshio reads from a file, or from its content with another header."""
    from meshio import gmsh

    with contextlib.ExitStack() as stack:
        if relabelled is not None:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / path.name
            path.write_bytes(relabelled)
        # meshio prints warnings on stderr, and NumPy warns of truncated text: the latter is an error here
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("error", DeprecationWarning)
        return gmsh.read(path)


def _physical_names(content: bytes) -> dict[tuple[int, int], str]:
    """(dimension, tag) → name; meshio keys them by name and loses one of two groups of the same name."""
    section = re.search(rb"\$PhysicalNames(.*?)\$EndPhysicalNames", content, re.DOTALL)
    if section is None:
        return {}
    entries = re.findall(r'^\s*(\d+)\s+(\d+)\s+"(.*)"\s*$', section[1].decode(errors="replace"), re.MULTILINE)
    return {(int(dimension), int(tag)): name for dimension, tag, name in entries}


def _build_cells(
    path: Path, points: Array, blocks: list[_Block], top: int
) -> tuple[Any, dict[str, np.ndarray], Indices]:
    """Mesh without named boundaries, its cell groups, and the node number in the file of each vertex of the mesh."""
    kinds = sorted({block.kind for block in blocks})
    if len(kinds) > 1:
        raise UserError(f"{path}: the mesh mixes {' and '.join(kinds)}; one kind of cell is needed", code=1)
    elements = _elements()
    if kinds[0] not in elements:
        raise UserError(f"{path}: {unsupported(kinds, list(elements))}", code=1)
    cells = np.vstack([block.cells for block in blocks])
    # format 2.2 repeats a cell for each group it is in
    _, first, number = np.unique(np.sort(cells, axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    number = order[number.ravel()]
    cells = cells[np.sort(first)]
    groups: dict[str, np.ndarray] = {}
    start = 0
    for block in blocks:
        for name, members in block.groups.items():
            groups[name] = np.union1d(groups.get(name, []), number[start + members]).astype(np.int32)
        start += len(block.cells)
    element, mesh_class = elements[kinds[0]]
    used, compact = np.unique(cells, return_inverse=True)
    compact = compact.reshape(cells.shape)
    vertices = np.unique(compact[:, : element.corners])
    hanging = np.intersect1d(vertices, compact[:, element.corners :])
    if hanging.size:
        where = ", ".join(f"{x:.6g}" for x in points[used[hanging[0]]])
        raise UserError(
            f"{path}: the node at ({where}) is a corner of one cell and lies on a side of another: refine without "
            "hanging nodes, or make two parts and join them by a Tie",
            code=1,
        )
    positions = _flat(path, points[used], top)
    columns = range(cells.shape[1]) if element.node_order is None else element.node_order
    mesh = mesh_class(positions, np.ascontiguousarray(compact[:, list(columns)].T.astype(np.int32)))
    return mesh, groups, used[vertices]


def _elements() -> dict[str, tuple[Any, Any]]:
    """The registered elements supported in files, and the class of their mesh, by meshio's cell type."""
    return {element.cell_type: (element, element.mesh) for element in registered() if element.mesh is not None}


def _flat(path: Path, points: Array, top: int) -> Array:
    """Coordinates (axis, p) without the axes that a plane or straight mesh does not need."""
    extent = np.ptp(points, axis=0)
    if (extent[top:] > 1e-10 * extent.max()).any():
        where = "the plane z = constant" if top == 2 else "a line along x"
        hint = "; give its surface or volume a physical group" if top == 1 else ""
        raise UserError(f"{path}: the mesh has only {_NOUNS[top]}, and not in {where}{hint}", code=1)
    return np.ascontiguousarray(points[:, :top].T)


def _facet_groups(path: Path, mesh: Any, vertex_nodes: Indices, blocks: list[_Block]) -> dict[str, np.ndarray]:
    """Facet numbers of each named group, matched by their corner nodes in any order."""
    groups: dict[str, np.ndarray] = {}
    known = np.sort(mesh.facets.T, axis=1)
    for block in blocks:
        if not block.groups:
            continue
        corners = block.cells[:, : _CORNERS[block.kind.rstrip("0123456789")]]
        at = np.minimum(np.searchsorted(vertex_nodes, corners), len(vertex_nodes) - 1)
        foreign = (vertex_nodes[at] != corners).any(axis=1)
        if corners.shape[1] != known.shape[1]:
            foreign[:] = True
        else:
            _, number = np.unique(np.vstack([known, np.sort(at, axis=1)]), axis=0, return_inverse=True)
            number = number.ravel()
            facet_of = np.full(number.max() + 1, -1)
            facet_of[number[: len(known)]] = np.arange(len(known))
            facets = facet_of[number[len(known) :]]
            foreign |= facets < 0
        for name, members in block.groups.items():
            if foreign[members].any():
                raise UserError(f"{path}: the physical group {name!r} has facets that are not sides of cells", code=1)
            groups[name] = np.union1d(groups.get(name, []), facets[members]).astype(np.int32)
    return groups


def _require(path: Path, what: str, names: Sequence[str], groups: dict[str, np.ndarray]) -> None:
    for name in [names] if isinstance(names, str) else names:
        if name not in groups:
            exist = ", ".join(sorted(groups)) or "none"
            raise UserError(f"{path}: no {what} physical group is named {name!r} (groups of that kind: {exist})")
