"""A result as files for ParaView: VTU files of its parts and interfaces, a PVD file of the instants of each."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

import numpy as np
import xarray

from arlequin.damage import without
from arlequin.recorded_cells import cells_of, spread
from models.errors import UserError
from models.types import Array, Indices

Progress = Callable[[int, int], None]

ALL = "all.pvd"
_BLOCK = 64 * 2**20  # bytes of one variable that are read at once
_AXES = {"x": 0, "y": 1, "z": 2, "rx": 0, "ry": 1, "rz": 2}


class _Piece(NamedTuple):
    """A part or an interface: name of its files, points (n, 3), cells, its group with the fields to write.

    on: the dimensions whose fields are of the points, and of the cells.
    """

    name: str
    points: Array
    kind: str
    nodes: Indices
    group: xarray.Dataset
    on: tuple[str, str]


def export_vtu(
    result: xarray.DataTree, folder: str | Path, *, frames: int | None = None, progress: Progress | None = None
) -> Path:
    """Write the frames of a result into `folder`; gives the PVD file of all, which ParaView opens.

    A part has a VTU file for each frame: all its nodes with displacement, velocity and what else nodes have (rotation),
    its cells with what they have (plastic_strain, mises_stress, pressure). Vectors have three components, 0 where the
    part has fewer. Cells of second order are written with their corners, as they are recorded; the other nodes are
    points. An interface has files of its points, at their initial places, with area, gap, pressure, traction, slip,
    status, worn_depth. The times are in `part-NAME.pvd`, `interface-NAME.pvd` and, with numbers of parts, `all.pvd`.
    Files of the same names are replaced.

    frames: at most so many, spread evenly over those of the result; None takes all. progress: called as (files written,
    files in all).
    """
    import meshio

    pieces = [*_parts(result), *_interfaces(result)]
    times = result.dataset["frame_time"].values if "frame_time" in result.dataset.coords else np.zeros(0)
    if not pieces or not times.size:
        raise UserError("nothing to export: the result has no frames of parts or interfaces", code=1)
    target, chosen = Path(folder), spread(times.size, frames)
    times = times[chosen]
    total, done = len(pieces) * times.size, 0
    written: list[list[str]] = []
    for piece in pieces:
        (target / piece.name).mkdir(parents=True, exist_ok=True)
        names = [f"{piece.name}/{n:0{len(str(times.size - 1))}d}.vtu" for n in range(times.size)]
        for name, (point_data, cell_data) in zip(names, _frames(piece, chosen), strict=True):
            mesh = meshio.Mesh(piece.points, [(piece.kind, piece.nodes)], point_data, cell_data)
            mesh.write(target / name, file_format="vtu")
            done += 1
            if progress is not None:
                progress(done, total)
        _collect(target / f"{piece.name}.pvd", times, [names])
        written.append(names)
    _collect(target / ALL, times, written)
    return target / ALL


def _parts(result: xarray.DataTree) -> list[_Piece]:
    """The parts that have positions and frames."""
    pieces = []
    for name, node in result["part"].children.items() if "part" in result.children else ():
        group = node.to_dataset()
        if "position" in group and "displacement" in group:
            with without(f"the part {name}"):
                kind, nodes = cells_of(group)
                points = _space(group["position"].values)
                pieces.append(_Piece(_file_name("part", name), points, kind, nodes, group, ("node", "cell")))
    return pieces


def _interfaces(result: xarray.DataTree) -> Iterator[_Piece]:
    """The interfaces whose points are recorded."""
    for name, node in result["interface"].children.items() if "interface" in result.children else ():
        group = node.to_dataset()
        if "point_position" in group and "gap" in group:
            points = _space(group["point_position"].values)
            vertices = np.arange(len(points))[:, None]
            group = group.drop_vars("point_position")
            yield _Piece(_file_name("interface", name), points, "vertex", vertices, group, ("point", "vertex"))


def _frames(piece: _Piece, chosen: Indices) -> Iterator[tuple[dict[str, Array], dict[str, list[Array]]]]:
    """The fields of each chosen frame on points and on cells, read in blocks: a chunk of a file holds many frames."""
    on_points, on_cells = (_fields(piece.group, dim) for dim in piece.on)
    fields = [*on_points.values(), *on_cells.values()]
    row = max((8 * f.size // max(f.sizes.get("frame", 1), 1) for f in fields), default=1)
    block = max(1, _BLOCK // max(row, 1))
    for start in range(0, chosen.size, block):
        some = chosen[start : start + block]
        points = {name: _values(field, some) for name, field in on_points.items()}
        cells = {name: _values(field, some) for name, field in on_cells.items()}
        for n in range(some.size):
            yield {name: v[n] for name, v in points.items()}, {name: [v[n]] for name, v in cells.items()}


def _fields(group: xarray.Dataset, dim: str) -> dict[str, xarray.DataArray]:
    """The variables (dim), (frame, dim) and (frame, dim, component or turn) of a group."""
    known = [(dim,), ("frame", dim), ("frame", dim, "component"), ("frame", dim, "turn")]
    return {str(name): field for name, field in group.data_vars.items() if field.dims in known}


def _values(field: xarray.DataArray, frames: Indices) -> Array:
    """The frames of a field (f, n) or, of vectors, (f, n, 3)."""
    if "frame" not in field.dims:
        return np.broadcast_to(field.values, (frames.size, field.size))
    values = field.isel(frame=frames).values
    if values.ndim == 2:
        return values
    labels = map(str, field[field.dims[2]].values)
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
    lines = [
        '<?xml version="1.0"?>',
        '<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">',
        "<Collection>",
    ]
    for n, time in enumerate(times):
        for number, names in enumerate(pieces):
            name = names[n].split("/")[0]
            where = f'name={quoteattr(name)} part="{number}" file={quoteattr(names[n])}'
            lines.append(f'<DataSet timestep="{float(time)!r}" group="" {where}/>')
    path.write_text("\n".join([*lines, "</Collection>", "</VTKFile>", ""]), encoding="utf-8")
