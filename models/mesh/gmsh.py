"""Gmsh files (formats 2.2, 4.0 and 4.1, text or binary, first and second order) with their physical names."""

import contextlib
import io
import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.mesh.building import supported
from arlequin.models.mesh.foreign import CellBlock, ForeignMesh
from arlequin.models.mesh.gmsh_format import GmshFormat, conversion, physical_groups
from arlequin.models.types import Array, Indices

_MAX_TAG = 1000  # of a node, per byte of the file


@dataclass(frozen=True, eq=False)
class _Block:
    """Cells of one type (c, nodes), and the cell numbers of each named group."""

    kind: str
    dimension: int
    cells: Indices
    groups: dict[str, Indices]


def load(path: Path, content: bytes) -> ForeignMesh:
    """The mesh of a Gmsh file (formats 2.2, 4.0, 4.1), its physical groups as sets of cells."""
    _check_sections(path, content)
    points, blocks = _load(path, content)
    sets: dict[str, list[Indices]] = {}
    start = 0
    for block in blocks:
        for name, members in block.groups.items():
            sets.setdefault(name, []).append(start + members)
        start += len(block.cells)
    number = iter(np.split(np.arange(1, start + 1), np.cumsum([len(block.cells) for block in blocks])[:-1]))
    return ForeignMesh(
        "Gmsh",
        points,
        np.arange(1, len(points) + 1),
        tuple(CellBlock(block.kind, block.cells, next(number)) for block in blocks),
        element_sets={name: np.unique(np.concatenate(rows)) for name, rows in sets.items()},
    )


def _check_sections(path: Path, content: bytes) -> None:
    """UserError where the bytes are not those of a complete Gmsh mesh."""
    if not content.lstrip().startswith((b"$MeshFormat", b"$Comments")):
        if content.lstrip().startswith(b"$NOD"):
            raise UserError(f"{path}: format 1 of Gmsh is not read: {conversion(path)}", code=1)
        raise UserError(f"{path}: not a Gmsh mesh file (it does not start with $MeshFormat)", code=1)
    for section in (b"MeshFormat", b"Nodes", b"Elements"):
        if b"$End" + section not in content:
            raise UserError(f"{path}: the mesh file is truncated (no $End{section.decode()})", code=1)


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
        end = content.find(b"$End" + section)
        if head is not None and int(head[1]) == 2 and not binary and counts:  # format 2.2: a line each
            found = sum(1 for line in content[section_start.end() : end].splitlines() if line.strip()) - 1
            if found != counts[0]:
                line = f"it announces {counts[0]:,} {section.decode().lower()} and has {found:,}"
                raise UserError(f"{path}: the mesh file is damaged ({line})", code=1)
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
        raise form.cause(path, content, error, supported()) from None
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
    return np.asarray(data.points, dtype=float), blocks


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
