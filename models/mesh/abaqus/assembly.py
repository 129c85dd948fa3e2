"""The mesh of an Abaqus model: all instances of parts, and what stands outside of parts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from arlequin.models.mesh.abaqus.generation import moved
from arlequin.models.mesh.abaqus.pieces import Piece, Pieces, Words, names_of_nothing
from arlequin.models.mesh.abaqus.scope import Scope
from arlequin.models.mesh.abaqus.surfaces import SurfacesOf, merged
from arlequin.models.mesh.foreign import CellBlock, ForeignMesh, damaged
from arlequin.models.types import Indices


@dataclass(eq=False)
class Instance:
    """An instance of a part: what it defines itself, and its translation and rotation."""

    part: str
    scope: Scope
    lines: list[list[float]]


@dataclass(eq=False)
class SetOfInstance:
    """Members of a set (NSET, ELSET) of the assembly that are those of an instance."""

    keyword: str
    instance: str
    name: str
    words: Words


def assembled(
    path: Path,
    parts: Mapping[str, Scope],
    instances: Sequence[Instance],
    assembly: Scope,
    of_instances: Sequence[SetOfInstance],
) -> ForeignMesh:
    """One mesh of all instances and of what stands outside of parts; parts by their names in upper case."""
    meshes = {part: scope.tables.mesh(path, "Abaqus") for part, scope in parts.items()}
    pieces = []
    for instance in instances:
        part, scope = instance.part.upper(), instance.scope
        if scope.tables.nodes:
            mesh = scope.tables.mesh(path, "Abaqus")
        elif part in meshes:
            mesh, scope = meshes[part], parts[part]
        else:
            raise damaged(path, f"*INSTANCE {scope.name} is of the part {instance.part!r}, which is not there")
        placed = replace(mesh, points=moved(path, "INSTANCE", mesh.points, instance.lines))
        pieces.append(Piece(instance.scope.name, scope, placed))
    if not instances:  # parts that are not assembled stand where they are
        pieces = [Piece(scope.name, scope, meshes[part]) for part, scope in parts.items()]
    pieces.append(Piece("", assembly, assembly.tables.mesh(path, "Abaqus")))
    return _joined(path, pieces, of_instances)


def _joined(path: Path, pieces: list[Piece], of_instances: Sequence[SetOfInstance]) -> ForeignMesh:
    blocks = _blocks(pieces)
    # names that the assembly gives to sets of instances, as first written
    assembled = {(one.keyword, one.name.upper()): one.name for one in reversed(of_instances)}
    named = Pieces(pieces, assembled)
    sets: dict[str, dict[str, list[Indices]]] = {"NSET": {}, "ELSET": {}}
    for piece in pieces:
        for name, members in piece.mesh.node_sets.items():
            sets["NSET"].setdefault(named.name_of("NSET", piece, name), []).append(members + piece.first_point)
        for name, members in piece.mesh.element_sets.items():
            sets["ELSET"].setdefault(named.name_of("ELSET", piece, name), []).append(piece.cells[members])
        if piece.name and len(piece.cells) and piece.name not in sets["ELSET"] and len(pieces) > 2:
            sets["ELSET"][piece.name] = [piece.cells]
    left_out = _sums(piece.mesh.left_out for piece in pieces)
    for one in of_instances:
        if one.instance.upper() not in named.by_name:
            raise damaged(path, f"the set {one.name!r} is of the instance {one.instance!r}, which is not there")
        target = sets[one.keyword].setdefault(assembled[one.keyword, one.name.upper()], [])
        for word in one.words:
            members_of = named.by_name[one.instance.upper()].members(one.keyword, word)
            if members_of is None:
                what = names_of_nothing(f"{one.instance}.{word}", f"set {one.name!r}")
                left_out[what] = left_out.get(what, 0) + 1
            else:
                target.append(members_of)
    structural: dict[str, set[str]] = {}
    for piece in pieces:
        for shape, types in piece.mesh.structural.items():
            structural.setdefault(shape, set()).update(types)
    mesh = ForeignMesh(
        "Abaqus",
        np.vstack([piece.mesh.points for piece in pieces]),
        np.concatenate([piece.mesh.numbers for piece in pieces]),
        tuple(blocks),
        {name: _union(rows) for name, rows in sets["NSET"].items()},
        {name: _union(rows) for name, rows in sets["ELSET"].items()},
        structural=structural,
    )
    surfaces = SurfacesOf(mesh, named)
    left_out = _sums([left_out, surfaces.left_out])
    node_sets = merged(mesh.node_sets, surfaces.nodes, left_out)
    return replace(mesh, surfaces=surfaces.sides, node_sets=node_sets, left_out=left_out)


def _blocks(pieces: list[Piece]) -> list[CellBlock]:
    """The cells of all pieces, a block for each kind; sets the places of the points and cells of the pieces."""
    points = 0
    for piece in pieces:
        piece.first_point, piece.cells = points, np.zeros(int(piece.mesh.starts[-1]), dtype=np.int64)
        points += len(piece.mesh.points)
    blocks, count = list[CellBlock](), 0
    for kind in dict.fromkeys(block.kind for piece in pieces for block in piece.mesh.blocks):
        nodes, numbers = [], []
        for piece in pieces:
            for block, start in zip(piece.mesh.blocks, piece.mesh.starts, strict=False):
                if block.kind == kind:
                    nodes.append(np.where(block.nodes < 0, -1, block.nodes + piece.first_point))
                    numbers.append(block.numbers)
                    piece.cells[start : start + len(block.nodes)] = count + np.arange(len(block.nodes))
                    count += len(block.nodes)
        blocks.append(CellBlock(kind, np.vstack(nodes), np.concatenate(numbers)))
    return blocks


def _union(rows: list[Indices]) -> Indices:
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *rows]))


def _sums(tables: Iterable[Mapping[str, int]]) -> dict[str, int]:
    out: dict[str, int] = {}
    for table in tables:
        for what, count in table.items():
            out[what] = out.get(what, 0) + count
    return out
