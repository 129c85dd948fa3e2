"""What a view draws of a result: outer faces of the parts over the frames, and the fields that colour them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import KDTree

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.outline import clipped
from arlequin.plots.camera import Camera, View, camera_of
from arlequin.plots.histories import instants
from arlequin.plots.moving import groups_of, magnification
from arlequin.results.conventions import typeset_unit
from arlequin.results.members import one_member
from arlequin.results.paraview import cells_of, faces_of, obstacle_of, spread

if TYPE_CHECKING:
    import xarray

Floats = NDArray[np.floating[Any]]

FRAMES = 60
_BESIDE = 0.15  # of the diagonal of the parts: how far obstacles are shown beside them
CONTACT = ("pressure", "traction", "slip", "status", "worn_depth")  # fields of contact points that are shown
_FACES = {"tetra": "triangle", "hexahedron": "quad"}


class Field(NamedTuple):
    """Values (f, n) or (f, n, component) of the nodes or (f, p[, component]) of the pieces of a part, nan where there
    are none; label and unit; names of the components of a tensor, which has no magnitude."""

    label: str
    unit: str
    on_nodes: bool
    values: Floats
    components: tuple[str, ...] = ()


class ViewedPart(NamedTuple):
    """A part: nodes at `places` (n, 3), m, displaced by `displacement` (f, n, 3), m; pieces (p, corner) of nodes, of
    one of VTK's kinds; its fields by name. rigid: an obstacle, at rest and without fields."""

    name: str
    kind: str
    places: Array
    displacement: Floats
    pieces: Indices
    fields: dict[str, Field]
    rigid: bool = False

    @property
    def corners(self) -> int:
        """Nodes of a piece."""
        return int(self.pieces.shape[1])


class Scene(NamedTuple):
    """Parts at the instants `times` (f,), s, with their names; axes of space of the model; magnify: of displacements,
    to begin with; camera: of models in space, to begin with."""

    parts: list[ViewedPart]
    times: Array
    axes: int
    magnify: float
    instants: list[str]
    camera: Camera | None


def scene_of(
    result: xarray.DataTree,
    *,
    parts: tuple[str, ...] | None = None,
    frames: int = FRAMES,
    magnify: float | None = None,
    member: int | None = None,
    view: View | None = None,
    whole: bool = False,
) -> Scene:
    """At most `frames` frames, spread evenly over those of the result; magnify: None takes 1 or, where there are beams,
    what makes their deflection seen; member: of an ensemble; view: the side from which models in space are seen first,
    see `plots.camera.camera_of`; whole: cells in place of their outer faces. Of rigid obstacles what is near the
    parts."""
    result = one_member(result, member, "a view")
    groups = groups_of(result, parts)
    count = result.sizes.get("frame", 0)
    if not groups or not count:
        raise UserError("nothing to view: the result has no frames of parts", code=1)
    chosen = spread(count, frames)
    axes = max(group.sizes["axis"] for group in groups.values())
    contact = _contact_fields(result, groups, chosen)
    viewed = [
        _viewed(name, group, chosen, contact.get(name, {}), row if axes == 1 else 0, whole)
        for row, (name, group) in enumerate(groups.items())
    ]
    factor = magnification(groups.values(), chosen) if magnify is None else magnify
    viewed += _obstacles(result, viewed, axes, factor)
    camera = camera_of(result, view, parts) if axes == 3 else None
    times = result.dataset["frame_time"].values[chosen]
    return Scene(viewed, times, axes, factor, instants(result, chosen), camera)


def _viewed(
    name: str, group: xarray.Dataset, frames: Indices, contact: dict[str, Field], row: int, whole: bool
) -> ViewedPart:
    cells = cells_of(group).counting(group)
    kind, (pieces, owner) = cells.kind, (cells.nodes, cells.owner) if whole else faces_of(cells)
    kind = kind if whole else _FACES.get(kind, kind)
    used_nodes = np.unique(pieces)
    place = np.full(group.sizes["node"], -1)
    place[used_nodes] = np.arange(used_nodes.size)
    spaces = group["position"].values
    places = np.zeros((used_nodes.size, 3))
    places[:, : spaces.shape[1]] = spaces[used_nodes]
    if spaces.shape[1] == 1:
        places[:, 1] = -row * 0.05 * np.ptp(spaces)  # bars along one axis lie below each other
    all_displacements = group["displacement"].isel(frame=frames).values
    displacement = np.zeros((frames.size, used_nodes.size, 3), dtype=np.float32)
    displacement[..., : all_displacements.shape[2]] = all_displacements[:, used_nodes]
    fields = {}
    for field, variable in group.data_vars.items():
        if variable.dims[:1] != ("frame",) or variable.ndim not in (2, 3) or variable.dtype.kind != "f":
            continue
        if variable.dims[1] not in ("node", "cell"):
            continue
        values = variable.isel(frame=frames).values.astype(np.float32)
        on_nodes = variable.dims[1] == "node"
        dim = str(variable.dims[-1])
        names = tuple(map(str, group[dim].values)) if dim == "stress_component" and dim in group.coords else ()
        used_values = values[:, used_nodes if on_nodes else owner]
        fields[str(field)] = Field(*_about(str(field), variable), on_nodes, used_values, names)
    fields |= {key: each._replace(values=each.values[:, used_nodes]) for key, each in contact.items()}
    return ViewedPart(name, kind, places, displacement, place[pieces], fields)


def _obstacles(result: xarray.DataTree, parts: list[ViewedPart], axes: int, magnify: float) -> list[ViewedPart]:
    """The rigid obstacles of the interfaces, clipped beside the parts."""
    positions = [part.places + magnify * part.displacement for part in parts]
    ends = np.array([(each.min(axis=(0, 1)), each.max(axis=(0, 1))) for each in positions])
    low, high = ends[:, 0].min(axis=0)[:axes], ends[:, 1].max(axis=0)[:axes]
    beside = _BESIDE * (float(np.linalg.norm(high - low)) or 1.0)
    frames = positions[0].shape[0]
    viewed = []
    interfaces = result["interface"].children if "interface" in result.children else {}
    for name, node in interfaces.items():
        obstacle = obstacle_of(node.dataset)
        if obstacle is None or obstacle[0].shape[1] != axes:
            continue
        if axes == 1:  # a mark across the line
            corners = np.array([[[x[0], -beside], [x[0], beside]] for x in obstacle[0]])
        else:
            polygons = [clipped(piece, low - beside, high + beside) for piece in obstacle[0][obstacle[1]]]
            corners = np.array([piece for polygon in polygons for piece in _simple(polygon)]).reshape(-1, axes, axes)
        if not len(corners):
            continue
        places = np.zeros((corners.shape[0] * corners.shape[1], 3))
        places[:, : corners.shape[2]] = corners.reshape(-1, corners.shape[2])
        pieces = np.arange(len(places)).reshape(corners.shape[:2])
        rest = np.zeros((frames, len(places), 3), dtype=np.float32)
        kind = "triangle" if axes == 3 else "line"
        viewed.append(ViewedPart(f"obstacle of {name}", kind, places, rest, pieces, {}, rigid=True))
    return viewed


def _simple(polygon: Array) -> Iterator[Array]:
    """A polygon (k, axis) as triangles in space; in the plane, where all of it is on a line, as the line (2, axis)."""
    if polygon.shape[1] == 3:
        for n in range(1, len(polygon) - 1):
            yield polygon[[0, n, n + 1]]
    elif len(polygon) > 1:
        away = np.linalg.norm(polygon - polygon[0], axis=1)
        first = int(away.argmax())
        second = int(np.linalg.norm(polygon - polygon[first], axis=1).argmax())
        yield polygon[[first, second]]


def _about(name: str, variable: xarray.DataArray) -> tuple[str, str]:
    """Label and unit of a variable."""
    label = str(variable.attrs.get("long_name", name.replace("_", " ")))
    return label[:1].upper() + label[1:], typeset_unit(str(variable.attrs.get("units", "")))


def _contact_fields(
    result: xarray.DataTree, groups: dict[str, xarray.Dataset], frames: Indices
) -> dict[str, dict[str, Field]]:
    """Part → fields of its contact points at the nodes nearest to them, means where there are several."""
    fields_of: dict[str, dict[str, Field]] = {}
    interfaces = result["interface"].children if "interface" in result.children else {}
    trees = {name: KDTree(group["position"].values) for name, group in groups.items()}
    for interface, node in interfaces.items():
        group = node.to_dataset()
        if "point_position" not in group:
            continue
        points = group["point_position"].values
        distances = {
            name: tree.query(points) for name, tree in trees.items() if tree.m == points.shape[1] and len(points)
        }
        if not distances:
            continue
        part = min(distances, key=lambda name: float(distances[name][0].max()))
        nearest = distances[part][1]
        count, each = groups[part].sizes["node"], np.arange(len(points))
        mean = csr_array((1.0 / np.bincount(nearest)[nearest], (nearest, each)), shape=(count, each.size))
        for field in CONTACT:
            if field not in group or group[field].dims[:2] != ("frame", "point"):
                continue
            values = np.asarray(group[field].isel(frame=frames).values, dtype=float)
            flat = mean @ np.moveaxis(values, 1, 0).reshape(len(points), -1)
            flat[mean.indptr[1:] == mean.indptr[:-1]] = np.nan
            out = np.moveaxis(flat.reshape(count, frames.size, *values.shape[2:]), 0, 1)
            label, unit = _about(f"contact {field}", group[field])
            several = f" of {interface}" if len(interfaces) > 1 else ""
            fields_of.setdefault(part, {})[f"{interface}/{field}"] = Field(f"{label}{several}", unit, True, out)
    return fields_of
