"""MED (Salome, Code_Aster) and Exodus II (MOOSE, Sierra, Cubit): binary files on HDF5 or netCDF.

h5py reads HDF5, SciPy the classic netCDF files; the numbering of nodes and sides is translated here.
Sources: MED 4.1 file format (Salome); EXODUS II: A Finite Element Data Model, SAND92-2137 (2006 revision), section 4.8.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.mesh.foreign import (
    UPRIGHT_FIRST,
    CellBlock,
    ForeignMesh,
    damaged,
    node_count,
    pad,
    shape,
    shape_name,
    understood,
    without_centres,
)
from arlequin.models.signatures import meant
from arlequin.models.types import Indices

HDF5 = b"\x89HDF\r\n\x1a\n"
CLASSIC = (b"CDF\x01", b"CDF\x02")
_MOST_BYTES = 1000  # of an array, per byte of the file

# MED's types of cells: our kind, and the number of nodes in the file
_MED = {
    "PO1": ("vertex", 1), "SE2": ("line", 2), "SE3": ("line3", 3), "TR3": ("triangle", 3), "TR6": ("triangle6", 6),
    "TR7": ("triangle6", 7), "QU4": ("quad", 4), "QU8": ("quad8", 8), "QU9": ("quad9", 9), "TE4": ("tetra", 4),
    "T10": ("tetra10", 10), "PY5": ("pyramid", 5), "P13": ("pyramid13", 13), "PE6": ("wedge", 6),
    "P15": ("wedge15", 15), "P18": ("wedge15", 18), "HE8": ("hexahedron", 8), "H20": ("hexahedron20", 20),
    "H27": ("hexahedron20", 27),
}  # fmt: skip
# the beginning of Exodus' names → kinds by the number of nodes
_EXODUS = (
    ("HEX", {8: "hexahedron", 20: "hexahedron20", 27: "hexahedron20"}),
    ("TET", {4: "tetra", 10: "tetra10", 11: "tetra10", 14: "tetra10", 15: "tetra10"}),
    ("WED", {6: "wedge", 15: "wedge15", 18: "wedge15", 20: "wedge15", 21: "wedge15"}),
    ("PYR", {5: "pyramid", 13: "pyramid13", 14: "pyramid13", 18: "pyramid13", 19: "pyramid13"}),
    ("QUA", {4: "quad", 8: "quad8", 9: "quad9"}), ("SHE", {4: "quad", 8: "quad8", 9: "quad9", 3: "triangle"}),
    ("TRI", {3: "triangle", 6: "triangle6", 7: "triangle6"}),
    ("BAR", {2: "line", 3: "line3"}), ("BEA", {2: "line", 3: "line3"}), ("TRU", {2: "line", 3: "line3"}),
    ("EDG", {2: "line", 3: "line3"}), ("SPH", {1: "vertex"}), ("CIR", {1: "vertex"}), ("NOD", {1: "vertex"}),
)  # fmt: skip
# Exodus' sides 1, 2, … as numbers of ours
_SIDES = {
    "hexahedron": (2, 3, 4, 5, 0, 1), "tetra": (1, 2, 3, 0), "wedge": (2, 3, 4, 0, 1), "pyramid": (1, 2, 3, 4, 0),
}  # fmt: skip


def _h5py(path: Path) -> Any:
    try:
        import h5py
    except ImportError:
        cure = 'pip install "arlequin[mesh]"'
        raise UserError(f"{path}: reading MED and Exodus files needs h5py: {cure}", code=1) from None
    return h5py


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An HDF5 file; whatever a damaged one raises as one line."""
    h5py = _h5py(path)
    with understood(path, (Exception,)), h5py.File(path, "r") as file:  # h5py raises errors of many types
        yield file


def _array(path: Path, data: Any) -> Any:
    """The values of a dataset, unless it declares far more than its file has."""
    if int(np.prod(data.shape, dtype=float)) * 8 > _MOST_BYTES * path.stat().st_size:
        raise damaged(path, f"an array of {int(np.prod(data.shape, dtype=float)):,} numbers is declared")
    return data[()]


def is_med(path: Path) -> bool:
    """Whether an HDF5 file is one of MED."""
    with _opened(path) as file:
        return "ENS_MAA" in file


def load_med(path: Path, name: str | None = None) -> ForeignMesh:
    """The mesh of a MED file, that of a name where there are several, the groups of its families as sets."""
    with _opened(path) as file:
        names = list(file["ENS_MAA"])
        if name is None and len(names) != 1:
            raise UserError(f"{path}: holds {len(names)} meshes: choose one by mesh= ({', '.join(names) or 'none'})", 1)
        if name is not None and name not in names:
            exist = ", ".join(names) or "none"
            raise UserError(f"{path}: no mesh is named {name!r}{meant(name, names)} (meshes: {exist})")
        name = names[0] if name is None else name
        group = file["ENS_MAA"][name]
        dimension = int(group.attrs["ESP"])
        if "NOE" not in group:  # a mesh in steps: the first one
            steps = list(group)
            if not steps:
                raise damaged(path, "the mesh has no nodes")
            group = group[steps[0]]
        nodes = group["NOE"]
        flat = np.asarray(_array(path, nodes["COO"]), dtype=float)
        if flat.size != int(nodes["COO"].attrs["NBR"]) * dimension:
            raise damaged(path, f"{int(nodes['COO'].attrs['NBR']):,} nodes with {flat.size:,} coordinates")
        points = np.zeros((flat.size // dimension, 3))
        points[:, :dimension] = flat.reshape(dimension, -1).T
        numbers = _numbers(path, nodes, len(points))
        families = file["FAS"][name] if "FAS" in file and name in file["FAS"] else {}
        node_sets = _family_sets(path, families.get("NOEUD", {}), [nodes])
        blocks, entities, left_out = [], [], {}
        for code, entity in group.get("MAI", {}).items():
            count = int(entity["NOD"].attrs["NBR"])
            if code not in _MED:
                left_out[f"cells of type {code}"] = count
                continue
            kind, stored = _MED[code]
            if stored > node_count(kind):
                left_out[without_centres(kind, stored)] = count
            flat = np.asarray(_array(path, entity["NOD"]), dtype=np.int64)
            if flat.size != count * stored:
                raise damaged(path, f"{count:,} cells of type {code} with {flat.size:,} of {count * stored:,} nodes")
            rows = flat.reshape(stored, count).T - 1
            blocks.append(CellBlock(kind, rows[:, : node_count(kind)], _numbers(path, entity, count)))
            entities.append(entity)
        element_sets = _family_sets(path, families.get("ELEME", {}), entities)
        return ForeignMesh("MED", points, numbers, tuple(blocks), node_sets, element_sets, left_out=left_out)


def _numbers(path: Path, entity: Any, count: int) -> Indices:
    """Numbers of nodes or cells, counted from 1 where the file has none."""
    if "NUM" in entity:
        numbers = np.asarray(_array(path, entity["NUM"]), dtype=np.int64)
        if numbers.shape != (count,):
            raise damaged(path, f"{numbers.size:,} numbers of {count:,} nodes or cells")
        return numbers
    return np.arange(1, count + 1)


def _family_sets(path: Path, families: Any, entities: list[Any]) -> dict[str, Indices]:
    """Members of each group, counted through all entities."""
    of_entity = []
    for entity in entities:
        count = int(entity["NOD" if "NOD" in entity else "COO"].attrs["NBR"])
        family = np.asarray(_array(path, entity["FAM"]), dtype=np.int64) if "FAM" in entity else np.zeros(count)
        if family.size != count:
            raise damaged(path, f"{family.size:,} families of {count:,} nodes or cells")
        of_entity.append(family)
    member_of = np.concatenate(of_entity) if of_entity else np.zeros(0, dtype=np.int64)
    sets: dict[str, list[Indices]] = {}
    for family in families.values():
        if "GRO" not in family:
            continue
        members = np.flatnonzero(member_of == int(family.attrs["NUM"]))
        for letters in np.asarray(_array(path, family["GRO"]["NOM"])):
            name = bytes(np.asarray(letters, dtype=np.uint8)).split(b"\0")[0].decode("latin-1").strip()
            sets.setdefault(name, []).append(members)
    return {name: np.unique(np.concatenate(rows)) for name, rows in sets.items()}


def load_exodus(path: Path, content: bytes) -> ForeignMesh:
    """The mesh of an Exodus II file: blocks and element sets, node sets, side sets."""
    if content.startswith(HDF5):
        with _opened(path) as file:
            if "coordx" not in file and "coord" not in file:
                raise UserError(f"{path}: an HDF5 file that is neither MED nor Exodus", code=1)
            return _exodus(
                path,
                {name: _array(path, data) for name, data in file.items() if _wanted(name)},
                {name: dict(data.attrs) for name, data in file.items() if name.startswith("connect")},
            )
    if not content.startswith(CLASSIC):
        raise UserError(f"{path}: netCDF of this kind is not read: convert it with `nccopy -k nc4`", code=1)
    import io

    from scipy.io import netcdf_file

    with understood(path, (Exception,)):
        with netcdf_file(io.BytesIO(content), "r", mmap=False) as file:
            chosen = {name: data for name, data in file.variables.items() if _wanted(name)}
            values = {name: np.array(_array(path, _Shaped(data))) for name, data in chosen.items()}
            attributes = {
                name: {"elem_type": data.elem_type} for name, data in chosen.items() if name.startswith("connect")
            }
        return _exodus(path, values, attributes)


class _Shaped:
    """A variable of SciPy's netCDF reader, read like one of h5py."""

    def __init__(self, variable: Any) -> None:
        self.variable, self.shape = variable, variable.shape

    def __getitem__(self, key: Any) -> Any:
        return self.variable.data


def _wanted(name: str) -> bool:
    return name.startswith(
        ("coord", "connect", "node_ns", "elem_ss", "side_ss", "elem_els", "els_", "eb_", "ns_", "ss_")
    ) or name in (
        "node_num_map",
        "elem_num_map",
    )


def _text(row: Any) -> str:
    """A name of an array of characters."""
    return b"".join(np.asarray(row).astype("S1").tolist()).split(b"\0")[0].decode("utf-8", errors="replace").strip()


def _names(values: Mapping[str, Any], kind: str, default: str, count: int) -> list[str]:
    """Names of blocks or sets; unnamed ones by their number."""
    stored = values.get(f"{kind}_names")
    named = [_text(row) for row in stored] if stored is not None else []
    numbers = np.asarray(values.get(f"{kind}_prop1", np.arange(1, count + 1))).tolist()
    return [
        (named[k] if k < len(named) and named[k] else f"{default}_{numbers[k] if k < len(numbers) else k + 1}")
        for k in range(count)
    ]


def _listed(values: Mapping[str, Any], kind: str) -> list[int]:
    """Numbers of the arrays of a kind: connect1, connect2, …"""
    return sorted(int(name[len(kind) :]) for name in values if name.startswith(kind) and name[len(kind) :].isdigit())


def _exodus(path: Path, values: Mapping[str, Any], attributes: Mapping[str, Mapping[str, Any]]) -> ForeignMesh:
    if "coord" in values:
        axes = np.asarray(values["coord"], dtype=float)
    else:
        axes = np.stack([np.asarray(values[f"coord{x}"], dtype=float) for x in "xyz" if f"coord{x}" in values])
    points = np.zeros((axes.shape[1], 3))
    points[:, : len(axes)] = axes.T
    numbers = np.asarray(values.get("node_num_map", np.arange(1, len(points) + 1)), dtype=np.int64)
    blocks, shells, left_out, structural = [], [], dict[str, int](), dict[str, set[str]]()
    listed = _listed(values, "connect")  # blocks without elements have no array
    names = _names(values, "eb", "block", max(listed, default=0))
    element_sets: dict[str, Indices] = {}
    # of each element of the file: its block and the number of its cell, −1 where it is left out
    cell_of: list[Indices] = []
    total, cells = 0, 0
    element_numbers = np.asarray(values.get("elem_num_map", np.zeros(0)), dtype=np.int64)
    for k in listed:
        rows = np.asarray(values[f"connect{k}"], dtype=np.int64) - 1
        word = attributes[f"connect{k}"].get("elem_type", b"")
        word = (word.decode(errors="replace") if isinstance(word, bytes) else str(word)).split("\0")[0].upper()
        kind = next((kinds.get(rows.shape[1]) for start, kinds in _EXODUS if word.startswith(start)), None)
        every = np.arange(total, total + len(rows))
        total += len(rows)
        if kind is None:
            lost = f"elements of type {word or 'without a name'}"
            left_out[lost] = left_out.get(lost, 0) + len(rows)
            cell_of.append(np.full(len(rows), -1))
            continue
        taken = rows[:, UPRIGHT_FIRST.get(kind, range(node_count(kind)))]
        known = element_numbers[every] if len(element_numbers) >= total else every + 1
        if rows.shape[1] > node_count(kind):
            lost = without_centres(kind, rows.shape[1])
            left_out[lost] = left_out.get(lost, 0) + len(rows)
        blocks.append(CellBlock(kind, taken, known))
        shells.append(word.startswith(("SHE", "TRISHELL")))
        if shells[-1] or word.startswith(("BAR", "BEA", "TRU")):
            structural.setdefault(shape_name(kind), set()).add(word)
        cell_of.append(np.arange(cells, cells + len(rows)))
        element_sets[names[k - 1]] = np.arange(cells, cells + len(rows))
        cells += len(rows)
    of_element = np.concatenate(cell_of) if cell_of else np.zeros(0, dtype=np.int64)
    mesh = ForeignMesh("Exodus", points, numbers, tuple(blocks), {}, element_sets, left_out=left_out)
    node_sets, surfaces = {}, {}
    listed = _listed(values, "node_ns")
    names = _names(values, "ns", "nodeset", max(listed, default=0))
    for k in listed:
        node_sets[names[k - 1]] = np.unique(np.asarray(values[f"node_ns{k}"], dtype=np.int64) - 1)
    listed = _listed(values, "elem_ss")
    names = _names(values, "ss", "sideset", max(listed, default=0))
    for k in listed:
        elements = np.asarray(values[f"elem_ss{k}"], dtype=np.int64) - 1
        if elements.size and (elements.min() < 0 or elements.max() >= len(of_element)):
            raise damaged(path, f"the side set {names[k - 1]} names an element that does not exist")
        surfaces[names[k - 1]] = _sides(mesh, shells, of_element[elements], np.asarray(values[f"side_ss{k}"]) - 1)
    for members in node_sets.values():
        if members.size and (members[0] < 0 or members[-1] >= len(points)):
            raise damaged(path, "a node set names a node that does not exist")
    return replace(mesh, node_sets=node_sets, surfaces=surfaces, structural=structural)


def _sides(mesh: ForeignMesh, shells: list[bool], cells: Indices, sides: Indices) -> Indices:
    """Corners (f, 4) of the sides (f,), counted from 0 as Exodus does, of cells (f,)."""
    rows = [np.zeros((0, 4), dtype=np.int64)]
    for block, start, shell in zip(mesh.blocks, mesh.starts, shells, strict=False):
        here = (cells >= start) & (cells < start + len(block.nodes))
        table = np.array(_SIDES.get(shape_name(block.kind), tuple(range(len(shape(block.kind).sides)))), dtype=np.int64)
        number = sides[here]
        if shell:  # both faces first, then the edges
            faces = number < 2
            corners = block.nodes[cells[here][faces] - start][:, : shape(block.kind).corners]
            rows.append(pad(corners))
            here = np.flatnonzero(here)[~faces]
            number = number[~faces] - 2
        valid = (number >= 0) & (number < len(table))
        rows.append(mesh.sides(cells[here][valid], table[number[valid]]))
    return np.vstack(rows)
