"""Formats of Gmsh files: the layout of a file by its sections, and the errors for unsupported ones, with the cure.

Gmsh 4.0 wrote its format as "4 0 8", which other programs read as 4.1; the layout is detected by the section of nodes.
Source: Gmsh Reference Manual, "MSH file format" (4.1), "MSH file format version 2", and that of Gmsh 4.0.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arlequin.models.errors import UserError

HEADER = re.compile(rb"\$MeshFormat\s+(\S+)\s+([01])\s+(\d+)")
_LAYOUTS = ("2.2", "4.0", "4.1")
# Gmsh's types of cells: number → meshio's name and the nodes of a cell
_TYPES = {
    1: ("line", 2), 2: ("triangle", 3), 3: ("quad", 4), 4: ("tetra", 4), 5: ("hexahedron", 8), 6: ("wedge", 6),
    7: ("pyramid", 5), 8: ("line3", 3), 9: ("triangle6", 6), 10: ("quad9", 9), 11: ("tetra10", 10),
    12: ("hexahedron27", 27), 13: ("wedge18", 18), 14: ("pyramid14", 14), 15: ("vertex", 1), 16: ("quad8", 8),
    17: ("hexahedron20", 20), 18: ("wedge15", 15), 19: ("pyramid13", 13), 20: ("triangle9", 9),
    21: ("triangle10", 10), 22: ("triangle12", 12), 23: ("triangle15", 15), 25: ("triangle21", 21), 26: ("line4", 4),
    27: ("line5", 5), 28: ("line6", 6), 29: ("tetra20", 20), 30: ("tetra35", 35), 31: ("tetra56", 56),
    36: ("quad16", 16), 37: ("quad25", 25), 38: ("quad36", 36), 39: ("quad12", 12), 90: ("wedge40", 40),
    91: ("wedge75", 75), 92: ("hexahedron64", 64), 93: ("hexahedron125", 125), 118: ("pyramid30", 30),
    119: ("pyramid55", 55),
}  # fmt: skip
_NOUNS = {"wedge": "wedges, that is prisms", "pyramid": "pyramids"}


@dataclass(frozen=True)
class GmshFormat:
    """Layout of a Gmsh file: "2.2", "4.0" or "4.1", and whether it is binary."""

    layout: str
    binary: bool

    @classmethod
    def of(cls, path: Path, content: bytes) -> "GmshFormat":
        """The format of a file with $MeshFormat, $Nodes and $Elements; UserError where it is not supported."""
        header = HEADER.search(content)
        if header is None:
            raise UserError(f"{path}: the mesh file is damaged (its $MeshFormat is not 'version type size')", code=1)
        version, binary = header[1].decode(errors="replace"), header[2] == b"1"
        if binary and content[header.end() :].lstrip(b" \r\n")[:4] == np.array([1], ">i4").tobytes():
            raise UserError(f"{path}: a binary file of the other byte order: {_export(path)}", code=1)
        if b"$PartitionedEntities" in content:
            raise UserError(f"{path}: the mesh is partitioned: save it whole (in Gmsh: Mesh > Unpartition)", code=1)
        if version.split(".")[0] == "2":
            return cls("2.2", binary)
        if version not in ("4", *_LAYOUTS):
            raise UserError(f"{path}: format {version} of Gmsh is not read: {_export(path)}", code=1)
        return cls("4.1" if _numbers_of_tags(content, binary) else "4.0", binary)

    def relabelled(self, content: bytes) -> bytes | None:
        """The content with a header that matches its layout; None where the header matches already."""
        header = HEADER.search(content)
        assert header is not None
        if header[1] == self.layout.encode() or self.layout == "2.2" or (header[1], self.layout) == (b"4", "4.1"):
            return None
        return content[: header.start(1)] + self.layout.encode() + content[header.end(1) :]

    def cause(self, path: Path, content: bytes, error: Exception, known: Collection[str]) -> UserError:
        """The error for a file that cannot be read: cause and cure in one line; known: supported types of cells."""
        if "Incompatible cell data 'gmsh:physical'" in str(error):
            hint = "only some of its elements belong to physical groups; save it with Mesh.SaveAll = 0"
            return UserError(f"{path}: {hint}", code=1)
        if "parametric nodes" in str(error):
            return UserError(
                f"{path}: its nodes have parametric coordinates, which are not read: {_export(path)}", code=1
            )
        foreign = [kind for kind in dict.fromkeys(self.cell_types(content)) if kind not in known]
        if foreign and isinstance(error, KeyError):
            return UserError(f"{path}: {unsupported(foreign, known)}", code=1)
        why = f"{error or type(error).__name__}"
        if self.layout == "4.0":
            return UserError(f"{path}: format 4.0 of Gmsh, which cannot be read here ({why}): {_export(path)}", code=1)
        return UserError(f"{path}: the mesh file is damaged ({why})", code=1)

    def cell_types(self, content: bytes) -> Iterator[str]:
        """The types of surface and volume cells, as far as the section $Elements can be followed."""
        body = _section(content, b"Elements")
        try:
            for number in self._binary_types(body) if self.binary else self._text_types(body):
                kind = _TYPES.get(number, (f"{number} of Gmsh", 0))[0]
                if not kind.startswith(("line", "vertex")):
                    yield kind
        except (ValueError, IndexError, KeyError):
            return

    def _text_types(self, body: bytes) -> Iterator[int]:
        lines = body.splitlines()
        if self.layout == "2.2":
            yield from (int(line.split()[1]) for line in lines[1:])
            return
        at = 1
        while at < len(lines):
            head = lines[at].split()
            yield int(head[2])
            at += 1 + int(head[3])

    def _binary_types(self, body: bytes) -> Iterator[int]:
        at = body.index(b"\n") + 1 if self.layout == "2.2" else 16 * (1 + (self.layout == "4.1"))
        while at < len(body) - 1:
            if self.layout == "2.2":
                kind, count, tags = np.frombuffer(body, "<i4", 3, at).tolist()
                head, size = 12, 4 * (1 + tags + _TYPES[kind][1])
            else:
                kind = int(np.frombuffer(body, "<i4", 3, at)[2])
                count = int(np.frombuffer(body, "<u8", 1, at + 12)[0])
                head, size = 20, (8 if self.layout == "4.1" else 4) * (1 + _TYPES[kind][1])
            yield kind
            at += head + count * size


def physical_groups(content: bytes, binary: bool) -> dict[tuple[int, int], list[int]]:
    """(dimension, entity) → its physical groups, from the section $Entities of format 4.0; empty without one.

    Entities: number, bounding box (6), number of groups and groups, and, except for points, those of their boundaries.
    """
    body = _section(content, b"Entities")
    if not body:
        return {}
    words = iter(body.split())
    at = 0

    def take(kind: str, count: int = 1) -> list[int]:
        nonlocal at
        if not binary:
            return [int(float(next(words))) for _ in range(count)]
        values = np.frombuffer(body, kind, count, at)
        at += values.nbytes
        return [int(value) for value in values] if kind != "<f8" else []

    groups: dict[tuple[int, int], list[int]] = {}
    for dimension, count in enumerate(take("<u8", 4)):
        for _ in range(count):
            (tag,) = take("<i4")
            take("<f8", 6)
            groups[dimension, tag] = take("<i4", take("<u8")[0])
            if dimension:
                take("<i4", take("<u8")[0])
    return groups


def unsupported(kinds: Sequence[str], known: Collection[str]) -> str:
    """One line on unsupported types of cells, with the cure; known: the supported ones."""
    named = [f"{kind} ({_NOUNS[noun]})" for kind in kinds for noun in _NOUNS if kind.startswith(noun)]
    if named:
        cure = (
            "mesh with tetrahedra (Extrude without Layers and Recombine) or with hexahedra (Recombine Surface below "
            "what is extruded in Layers)"
        )
    elif {"quad8", "hexahedron20"} & set(kinds):
        cure = "save with Mesh.SecondOrderIncomplete = 0"
    else:
        cure = "save with Mesh.ElementOrder = 2"
    return f"cells of type {', '.join(named or kinds)} are not supported (supported: {', '.join(known)}): {cure}"


def conversion(path: Path) -> str:
    """The command that makes a Gmsh file of another mesh file."""
    return f"convert it with `meshio convert {path.name} {path.stem}-gmsh.msh --output-format gmsh22 --ascii`"


def _export(path: Path) -> str:
    return f"export it as 4.1 with `gmsh {path.name} -save -format msh41 -o {path.stem}-41.msh`"


def _section(content: bytes, name: bytes) -> bytes:
    """The bytes of a section; empty where there is none."""
    begin, end = re.search(rb"\$" + name + rb"[ \r]*\n", content), content.rfind(b"$End" + name)
    return content[begin.end() : end] if begin is not None and end > begin.end() else b""


def _numbers_of_tags(content: bytes, binary: bool) -> bool:
    """Whether the nodes begin with their blocks, number, least and largest tag (4.1), or with the first two (4.0)."""
    body = _section(content, b"Nodes")
    if not binary:
        return len(body.split(b"\n", 1)[0].split()) > 2
    if len(body) < 16:
        return True
    blocks, nodes = (int(count) for count in np.frombuffer(body, "<u8", 2))
    # a block of 4.0: 3 ints and a count, then an int and 3 doubles a node
    return not 0 <= len(body) - (16 + 20 * blocks + 28 * nodes) <= 2
