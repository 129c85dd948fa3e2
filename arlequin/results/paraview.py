"""A result as files for ParaView: VTU files of its parts and interfaces, a PVD file of the instants of each.

The cells of a recorded part as VTK and meshio have them, the faces on its outside, and frames spread over a run.

A record has the corners of each cell in scikit-fem's order, which is VTK's but for hexahedra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import xarray

from arlequin.models import checks
from arlequin.models.checks import positive_integer
from arlequin.models.errors import UserError
from arlequin.models.fem.spectral import lattice_pieces
from arlequin.models.types import Array, Indices
from arlequin.results.cell_weights import counting_cells
from arlequin.results.damage import warn_and_skip
from arlequin.results.files import file_errors
from arlequin.results.members import one_member
from arlequin.results.reading import of_result
from arlequin.results.writing import make_folder, replacing

# (axes of space, corners of a cell) → meshio's type; of lines and points whatever the axes
_SOLIDS = {(2, 3): "triangle", (2, 4): "quad", (3, 4): "tetra", (3, 8): "hexahedron"}
_SLENDER = {1: "vertex", 2: "line"}
# the same of all nodes of a cell of second order
_QUADRATIC = {
    (1, 3): "line3", (2, 6): "triangle6", (2, 8): "quad8", (2, 9): "quad9", (3, 10): "tetra10", (3, 20): "hexahedron20",
    (3, 27): "hexahedron27",
}  # fmt: skip
_MIRRORED = [0, 1, 3, 2, 4, 8, 7, 6, 5, 9]  # a tetrahedron of ten nodes with its last two corners exchanged
_HEXAHEDRON = [0, 3, 6, 2, 1, 5, 7, 4]
_FACES = {
    "tetra": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]],
    "hexahedron": [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]],
}


class VtuCells(NamedTuple):
    """Cells of one of meshio's types: nodes (c, corner) in VTK's order; each cell of the record is `pieces` of them.

    chosen: the cells of the record that are there, None if all are.
    """

    kind: str
    nodes: Indices
    pieces: int = 1
    chosen: Indices | None = None

    @property
    def owner(self) -> Indices:
        """Recorded cell (c,) that each VTU cell belongs to."""
        number = np.arange(len(self.nodes)) // self.pieces
        return number if self.chosen is None else self.chosen[number]

    def counting(self, group: xarray.Dataset) -> VtuCells:
        """The cells that count in the energy of the system (`arlequin.results.cell_weights`)."""
        if "connectivity" not in group or (counted := counting_cells(group)).all():
            return self
        return self._replace(nodes=self.nodes[counted[self.owner]], chosen=np.flatnonzero(counted))


def cells_of(group: xarray.Dataset) -> VtuCells:
    """The cells of a part, or its nodes where it has none; spectral cells as linear ones between their nodes."""
    positions = group["position"].values
    if "connectivity" not in group:
        return VtuCells("vertex", np.arange(len(positions))[:, None])
    if "cell_lattice" in group:
        return _lattice_cells(group["cell_lattice"].values.astype(np.int64), positions)
    nodes = group["connectivity"].values.astype(np.int64)
    _check_nodes(nodes, positions)
    shape = positions.shape[1], nodes.shape[1]
    kind = _SLENDER.get(shape[1]) or _SOLIDS.get(shape)
    if kind is None:
        raise UserError(
            f"cells of {shape[1]} corners in {shape[0]}D: not lines, triangles, quads, tetrahedra, hexahedra"
        )
    if kind == "hexahedron":
        nodes = nodes[:, _HEXAHEDRON]
    if kind == "tetra":
        # scikit-fem sorts the corners; VTK wants volumes that are positive
        edges = positions[nodes[:, 1:]] - positions[nodes[:, :1]]
        inside_out = np.linalg.det(edges) < 0.0
        nodes[inside_out] = nodes[inside_out][:, [0, 1, 3, 2]]
    return VtuCells(kind, nodes)


def _lattice_cells(lattice: Indices, positions: Array) -> VtuCells:
    """Spectral cells with nodes (c, n) on a lattice as linear cells between them."""
    axes, count = positions.shape[1], lattice.shape[1]
    order = round(count ** (1 / axes)) - 1
    _check_nodes(lattice, positions)
    if order < 1 or (order + 1) ** axes != count:
        raise UserError(f"cells of {count} nodes in {axes}D are no lattice", code=1)
    parts = lattice_pieces(axes, order)
    nodes = lattice[:, parts].reshape(-1, parts.shape[1])
    if axes == 3:
        edges = positions[nodes[:, [1, 3, 4]]] - positions[nodes[:, :1]]
        inside_out = np.linalg.det(edges) < 0.0
        nodes[inside_out] = np.roll(nodes[inside_out], 4, axis=1)
    return VtuCells(_SLENDER.get(parts.shape[1]) or _SOLIDS[axes, parts.shape[1]], nodes, len(parts))


def _check_nodes(nodes: Indices, positions: Array) -> None:
    """Raise a UserError where cells name nodes that are not there."""
    if nodes.size and not 0 <= nodes.min() <= nodes.max() < len(positions):
        raise UserError(f"the cells name nodes that are not among the {len(positions)} there are", code=1)


def whole_cells_of(group: xarray.Dataset) -> VtuCells:
    """The cells of the group of a part with all nodes, of second order where the result has them."""
    corners = cells_of(group)
    positions = group["position"].values
    if "cell_nodes" not in group:
        return corners
    nodes = group["cell_nodes"].values.astype(np.int64)
    kind = _QUADRATIC.get((positions.shape[1], nodes.shape[1]))
    if kind is None:  # an element of a script
        return corners
    _check_nodes(nodes, positions)
    if kind == "tetra10":
        inside_out = (corners.nodes != nodes[:, :4]).any(axis=1)
        nodes[inside_out] = nodes[inside_out][:, _MIRRORED]
    return VtuCells(kind, nodes)


def faces_of(cells: VtuCells) -> tuple[Indices, Indices]:
    """What is seen of cells: nodes (f, corner) of the outer faces of solid ones, else of the cells; and which cells."""
    if cells.kind not in _FACES:
        return cells.nodes, cells.owner
    faces = cells.nodes[:, _FACES[cells.kind]]
    owner = np.repeat(cells.owner, faces.shape[1])
    faces = faces.reshape(len(owner), -1)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    outer = np.sort(first[count == 1])  # an inner face has two cells
    return faces[outer], owner[outer]


def spread(count: int, most: int | None) -> Indices:
    """Numbers of at most `most` of `count` frames, spread evenly from the first to the last; None takes all.

    >>> spread(10, 4).tolist()
    [0, 3, 6, 9]
    """
    if most is None or positive_integer("frames", most) >= count:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))


Progress = Callable[[int, int], None]

ALL = "all.pvd"
_BLOCK = 64 * 2**20  # bytes of one variable that are read at once
_AXES = {"x": 0, "y": 1, "z": 2, "rx": 0, "ry": 1, "rz": 2}
_AXES |= {"N": 0, "Vy": 1, "Vz": 2, "Mx": 0, "My": 1, "Mz": 2}
_TENSOR = ("xx", "yy", "zz", "xy", "yz", "xz")  # ParaView's order of symmetric tensors
_ON = ((), ("component",), ("turn",), ("stress_component",), ("end", "force_component"), ("end", "moment_component"))


class _VtuPiece(NamedTuple):
    """A part or an interface: name of its files, points (n, 3), cells, its group with the fields to write.

    on: the dimensions whose fields are of the points, and of the cells; owner: cell of the record of each, None where
    they are the same; places: numbers in the record of the points, None if all are there.
    """

    name: str
    points: Array
    kind: str
    nodes: Indices
    group: xarray.Dataset
    on: tuple[str, str]
    owner: Indices | None = None
    places: Indices | None = None


@of_result
def export_vtu(
    result: xarray.DataTree,
    folder: str | Path,
    *,
    frames: int | None = None,
    member: int | None = None,
    all_cells: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write the frames of a result into `folder`; gives the PVD file of all, which ParaView opens.

    A part has a VTU file for each frame: all its nodes with displacement, velocity and what else nodes have (rotation),
    its cells with what they have (plastic_strain, mises_stress, pressure, stress, section forces as means over the
    cell). Vectors have three components, 0 where the part has fewer; stresses have six, in the order XX, YY, ZZ, XY,
    YZ, XZ (around an axis r, z, θ are X, Y, Z). Cells of second order are VTK's quadratic ones, with all their nodes;
    those of higher order are cut into linear ones between their nodes.
    An interface has files of its points at their initial places, in space with the facets between them, with area, gap,
    pressure, traction, slip, status, worn_depth; its rigid obstacle is in `obstacle-NAME`. The times are in
    `part-NAME.pvd`, `interface-NAME.pvd`, `obstacle-NAME.pvd` and, with numbers of parts, `all.pvd`. Files of the same
    names are replaced.

    Of parts that overlap others, cells of negligible weight, which others have taken over, are left out, with the nodes
    that no other cell has; all_cells=True writes them, too. The cell array `weight` is the share of the energy of a
    cell that the part has.

    frames: at most so many, spread evenly over those of the result; None takes all. member: of an ensemble, from 0.
    progress: called as (files written, files in all).

    >>> import tempfile
    >>> import arlequin as aq
    >>> stone = aq.PointMasses("stone", (0.0, 0.0), 2.0)  # m, kg
    >>> result = aq.simulate(aq.System([stone], gravity=(0.0, -10.0)), aq.Theta(0.5), duration=1.0, step=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     collection = aq.export_vtu(result, folder, frames=3)
    ...     files = sorted(path.name for path in collection.parent.rglob("*.*"))
    >>> collection.name, files
    ('all.pvd', ['0.vtu', '1.vtu', '2.vtu', 'all.pvd', 'part-stone.pvd'])
    """
    import meshio

    result = one_member(result, member, "a VTU export")
    pieces = [*_parts(result, all_cells), *_interfaces(result)]
    if pieces:
        pieces += _obstacles(result)
    times = result.dataset["frame_time"].values if "frame_time" in result.dataset.coords else np.zeros(0)
    if not pieces or not times.size:
        raise UserError("nothing to export: the result has no frames of parts or interfaces", code=1)
    checks.progress("progress", progress)
    target, chosen = Path(checks.path("folder", folder)), spread(times.size, frames)
    times = times[chosen]
    total, done = sum(times.size if piece.group else 1 for piece in pieces), 0
    written: list[list[str]] = []
    with file_errors(str(folder)):
        make_folder(target)
        for piece in pieces:
            make_folder(target / piece.name)
            names = [f"{piece.name}/{n:0{len(str(times.size - 1))}d}.vtu" for n in range(times.size)]
            if not piece.group:  # at rest: one file for all instants
                names = names[:1] * times.size
            for name, (point_data, cell_data) in zip(dict.fromkeys(names), _frames(piece, chosen), strict=False):
                mesh = meshio.Mesh(piece.points, [(piece.kind, piece.nodes)], point_data, cell_data)
                with replacing(target / name) as draft:
                    mesh.write(draft, file_format="vtu")
                done += 1
                if progress is not None:
                    progress(done, total)
            _collect(target / f"{piece.name}.pvd", times, [names])
            written.append(names)
        _collect(target / ALL, times, written)
    return target / ALL


def _parts(result: xarray.DataTree, all_cells: bool) -> list[_VtuPiece]:
    """The parts that have positions and frames."""
    pieces = []
    for name, node in result["part"].children.items() if "part" in result.children else ():
        group = node.to_dataset()
        if "position" in group and "displacement" in group:
            with warn_and_skip(f"the part {name}"):
                cells, points = whole_cells_of(group), _space(group["position"].values)
                nodes, places = cells.nodes, None
                if not all_cells and (some := cells.counting(group)) is not cells:
                    cells = some
                    places, nodes = np.unique(cells.nodes, return_inverse=True)
                    points, nodes = points[places], nodes.reshape(cells.nodes.shape)
                on, file = ("node", "cell"), _file_name("part", name)
                pieces.append(_VtuPiece(file, points, cells.kind, nodes, group, on, cells.owner, places))
    return pieces


def _interfaces(result: xarray.DataTree) -> Iterator[_VtuPiece]:
    """The interfaces whose points are recorded."""
    for name, node in result["interface"].children.items() if "interface" in result.children else ():
        group = node.to_dataset()
        if "point_position" in group and "gap" in group:
            points = _space(group["point_position"].values)
            cells, kind = np.arange(len(points))[:, None], "vertex"
            if "point_connectivity" in group:
                cells = group["point_connectivity"].values.astype(np.int64)
                kind = _SOLIDS[2, cells.shape[1]]
                if cells.size and not 0 <= cells.min() <= cells.max() < len(points):
                    raise UserError(f"interface {name}: its facets name points that are not there", code=1)
            group = group.drop_vars("point_position")
            yield _VtuPiece(_file_name("interface", name), points, kind, cells, group, ("point", "vertex"))


def _obstacles(result: xarray.DataTree) -> Iterator[_VtuPiece]:
    """The rigid obstacles that the result has an outline of."""
    for name, node in result["interface"].children.items() if "interface" in result.children else ():
        outline = obstacle_of(node.to_dataset())
        if outline is not None:
            points, cells = outline
            kind = {1: "vertex", 2: "line", 3: "triangle", 4: "quad"}[cells.shape[1]]
            yield _VtuPiece(
                _file_name("obstacle", name), _space(points), kind, cells, xarray.Dataset(), ("none", "none")
            )


def obstacle_of(group: xarray.Dataset) -> tuple[Array, Indices] | None:
    """Points (p, axis), m, and cells (c, corner) of the obstacle of an interface; None if the result has none."""
    if "obstacle_position" not in group or "obstacle_connectivity" not in group:
        return None
    points, cells = group["obstacle_position"].values, group["obstacle_connectivity"].values.astype(np.int64)
    if not (cells.size and 0 <= cells.min() <= cells.max() < len(points) and cells.shape[1] <= 4):
        raise UserError("the cells of an obstacle name points that are not there", code=1)
    return points, cells


def _frames(piece: _VtuPiece, chosen: Indices) -> Iterator[tuple[dict[str, Array], dict[str, list[Array]]]]:
    """The fields of each chosen frame on points and on cells, read in blocks: a chunk of a file holds many frames."""
    on_points, on_cells = (_fields(piece.group, dim) for dim in piece.on)
    fields = [*on_points.values(), *on_cells.values()]
    row = max((8 * f.size // max(f.sizes.get("frame", 1), 1) for f in fields), default=1)
    block = max(1, _BLOCK // max(row, 1))
    for start in range(0, chosen.size, block):
        some = chosen[start : start + block]
        points = {name: _some(_values(field, some), piece.places) for name, field in on_points.items()}
        cells = {name: _some(_values(field, some), piece.owner) for name, field in on_cells.items()}
        for n in range(some.size):
            yield {name: v[n] for name, v in points.items()}, {name: [v[n]] for name, v in cells.items()}


def _some(values: Array, chosen: Indices | None) -> Array:
    """Values (f, n, …) of some places."""
    return values if chosen is None else values[:, chosen]


def _fields(group: xarray.Dataset, dim: str) -> dict[str, xarray.DataArray]:
    """The variables (dim), (frame, dim) and (frame, dim, components) of a group."""
    known = [(dim,), *(("frame", dim, *more) for more in _ON)]
    return {str(name): field for name, field in group.data_vars.items() if field.dims in known}


def _values(field: xarray.DataArray, frames: Indices) -> Array:
    """The frames of a field (f, n) or, of vectors, (f, n, 3), of stresses (f, n, 6); of sections means over cells."""
    if "frame" not in field.dims:
        return np.broadcast_to(field.values, (frames.size, field.size))
    values = field.isel(frame=frames).values
    if values.ndim == 2:
        return values
    labels = [str(label) for label in field[field.dims[-1]].values]
    if field.dims[-1] == "stress_component":
        alike = str.maketrans("rzt", "xyz") if "rr" in labels else {}
        tensor = np.zeros((*values.shape[:2], len(_TENSOR)))
        tensor[..., [_TENSOR.index(label.translate(alike)) for label in labels]] = values
        return tensor
    if field.dims[2] == "end":
        values = values.mean(axis=2)
    return _space(values, [_AXES.get(label, n) for n, label in enumerate(labels)])


def _space(vectors: Array, places: Sequence[int] = (0, 1, 2)) -> Array:
    """Vectors (…, i) as (…, 3): component i at its place, 0 elsewhere."""
    result = np.zeros((*vectors.shape[:-1], 3))
    result[..., list(places[: vectors.shape[-1]])] = vectors
    return result


def _file_name(kind: str, name: str) -> str:
    """A name that every file system takes: what is neither letter nor digit nor one of `_.-~` becomes %XX."""
    return f"{kind}-{quote(name, safe='')}"


def _collect(path: Path, times: Array, pieces: list[list[str]]) -> None:
    """A PVD file: the VTU file of each instant and piece."""
    root = ElementTree.Element("VTKFile", type="Collection", version="0.1", byte_order="LittleEndian")
    collection = ElementTree.SubElement(root, "Collection")
    for n, time in enumerate(times):
        for number, names in enumerate(pieces):
            about = {"timestep": repr(float(time)), "group": "", "name": names[n].split("/")[0], "part": str(number)}
            ElementTree.SubElement(collection, "DataSet", about, file=names[n])
    ElementTree.indent(root, "")
    with replacing(path) as draft:
        ElementTree.ElementTree(root).write(draft, encoding="utf-8", xml_declaration=True)
