"""Detection of overlapping parts without connection: a patch without its junction."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from arlequin.models.beams.beam import Beam
from arlequin.models.errors import ModelWarning, warn_user
from arlequin.models.fem.continuum import Continuum
from arlequin.models.part import MeshedPart, Part
from arlequin.models.types import Array
from arlequin.overlap.geometry import inside
from arlequin.system.system import System, surfaces_of

_NEAR = 1e-6  # overlap, relative to the extent of the smaller part, that counts as touching
_INWARD = 0.25  # position of test points from the corner of a cell (0) to its middle (1)
_MOVED = 1e-3  # initial displacement, relative to the extent, above which a part counts as displaced


def warn_of_unjoined(system: System) -> None:
    """A `ModelWarning` for each two parts of one kind that overlap by a good part of a cell, and that neither
    junctions, contact, springs nor relations connect."""
    for line in _unjoined(system):
        warn_user(line, ModelWarning)


def _unjoined(system: System) -> list[str]:
    if len(system.parts) < 2:
        return []
    parts = [
        part for part in system.parts
        if _kind(part) and (system.displacement is None or not _is_displaced(system, part))
    ]  # fmt: skip
    if len(parts) < 2:
        return []
    group, low, high = _groups(system), *_boxes(parts)
    messages = []
    for i, j in np.argwhere(np.triu(_boxes_overlap(low, high), 1)):
        first, second = parts[i], parts[j]
        if _kind(first) != _kind(second) or group[first.name] == group[second.name]:
            continue
        common_point = _overlap(first, second)
        if common_point is not None:
            where = ", ".join(f"{x:.4g}" for x in common_point)
            junction = (
                "" if isinstance(_model(first), Beam) else f" glue them by Junction({first.name}, {second.name}),"
            )
            messages.append(
                f"parts '{first.name}' and '{second.name}' overlap near ({where}) m and nothing joins them: masses and "
                f"stiffnesses of both count there;{junction} put contact between them, or move them apart"
            )
    return messages


def _is_displaced(system: System, part: Part) -> bool:
    """Whether a part has an initial displacement."""
    extent = float(np.ptp(part.positions, axis=0).max())
    return bool(np.abs(system.initial("displacement", part)).max(initial=0.0) > _MOVED * extent)


def _model(part: Part) -> object:
    return part.model if isinstance(part, MeshedPart) else part


def _kind(part: Part) -> str:
    """The kind of model, equal for two models of one body; empty for parts without cells."""
    model = _model(part)
    if isinstance(model, Beam):
        return "beam"
    return f"continuum of {model.mesh.dim()} axes" if isinstance(model, Continuum) else ""


def _groups(system: System) -> dict[str, int]:
    """Number of the group of connected parts, by the name of the part."""
    names = [part.name for part in system.parts]
    links = [{item.coarse.name, item.fine.name} for item in system.junctions]
    links += [{side.part.name for side in surfaces_of(item)} for item in system.interfaces]
    links += [{end.part.name for end in (item.first, item.second) if end is not None} for item in system.springs]
    links += [{term[0].part.name for term in item.terms} for item in system.relations]
    numbers = {name: i for i, name in enumerate(names)}
    rows = [(numbers[first], numbers[other]) for first, *others in map(list, links) for other in others]
    i, j = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    graph = csr_array((np.ones(i.size), (i, j)), shape=(len(names), len(names)))
    return dict(zip(names, connected_components(graph, directed=False)[1].tolist(), strict=True))


def _boxes(parts: list[Part]) -> tuple[Array, Array]:
    """Lowest and highest corners (p, axis) of the parts, missing axes at 0."""
    axes = max(part.positions.shape[1] for part in parts)
    low, high = np.zeros((len(parts), axes)), np.zeros((len(parts), axes))
    for i, part in enumerate(parts):
        axis_count = part.positions.shape[1]
        low[i, :axis_count], high[i, :axis_count] = part.positions.min(axis=0), part.positions.max(axis=0)
    return low, high


def _boxes_overlap(low: Array, high: Array) -> NDArray[np.bool_]:
    """Pairs (p, p) of boxes that overlap by more than the tolerance; across the plane of a flat box, within the
    tolerance."""
    sizes = (high - low).max(axis=1)
    near = _NEAR * np.minimum(sizes[:, None], sizes)
    common = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    flat = np.minimum(high - low, np.inf)
    least = np.minimum(flat[:, None], flat)
    return np.asarray((common > np.where(least > near[..., None], near[..., None], -near[..., None])).all(axis=2))


def _overlap(first: Part, second: Part) -> Array | None:
    """A point (axis,) in cells of both parts; None without any."""
    if isinstance(_model(first), Beam):
        return _collinear(_model(first), _model(second))  # type: ignore[arg-type]
    for part, other in ((first, second), (second, first)):
        points = _points(part.mesh, other.positions)  # type: ignore[attr-defined]
        within = points[inside(other.mesh, points)]  # type: ignore[attr-defined]
        if len(within):
            return np.asarray(within[np.argmin(np.linalg.norm(within - within.mean(axis=0), axis=1))])
    return None


def _points(mesh: object, others: Array) -> Array:
    """Middles of the cells near other positions (n, axis), and points between those and the corners (p, axis)."""
    corners = mesh.p[:, mesh.t]  # type: ignore[attr-defined]
    low, high = others.min(axis=0)[:, None], others.max(axis=0)[:, None]
    corners = corners[:, :, ((corners.max(axis=1) > low) & (corners.min(axis=1) < high)).all(axis=0)]
    middle = corners.mean(axis=1, keepdims=True)
    points = np.concatenate([middle, corners + _INWARD * (middle - corners)], axis=1)
    return np.ascontiguousarray(points.reshape(len(points), -1).T)


def _collinear(first: Beam, second: Beam) -> Array | None:
    """The middle of the common range of two beams on one axis."""
    if first.dimension != second.dimension:
        return None
    ends = first.arc_length(second.positions.T)
    size = max(float(np.ptp(part.positions, axis=0).max()) for part in (first, second))
    if np.linalg.norm(first.place(ends) - second.positions.T, axis=0).max() > _NEAR * size:
        return None
    arc_lengths = first.basis.doflocs[0]
    low, high = max(arc_lengths.min(), ends.min()), min(arc_lengths.max(), ends.max())
    return np.asarray(first.place(np.array(0.5 * (low + high)))) if high - low > _NEAR * size else None
