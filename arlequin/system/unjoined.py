"""Parts that overlap in space although nothing joins them: a patch without its junction."""

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

_NEAR = 1e-6  # of the extent of the smaller part, what counts as touching
_INWARD = 0.25  # share of the way from a corner of a cell to its middle, at which a point is tried
_MOVED = 1e-3  # displacement at the start, relative to the extent, beyond which a part is not where its mesh is


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
        if _kind(part) and (system.displacement is None or not _moved(system, part))
    ]  # fmt: skip
    if len(parts) < 2:
        return []
    group, low, high = _groups(system), *_boxes(parts)
    found = []
    for i, j in np.argwhere(np.triu(_boxes_overlap(low, high), 1)):
        one, two = parts[i], parts[j]
        if _kind(one) != _kind(two) or group[one.name] == group[two.name]:
            continue
        place = _overlap(one, two)
        if place is not None:
            where = ", ".join(f"{x:.4g}" for x in place)
            junction = "" if isinstance(_model(one), Beam) else f" glue them by Junction({one.name}, {two.name}),"
            found.append(
                f"parts '{one.name}' and '{two.name}' overlap near ({where}) m and nothing joins them: masses and "
                f"stiffnesses of both count there;{junction} put contact between them, or move them apart"
            )
    return found


def _moved(system: System, part: Part) -> bool:
    """Whether a part does not start where its mesh is."""
    extent = float(np.ptp(part.positions, axis=0).max())
    return bool(np.abs(system.initial("displacement", part)).max(initial=0.0) > _MOVED * extent)


def _model(part: Part) -> object:
    return part.model if isinstance(part, MeshedPart) else part


def _kind(part: Part) -> str:
    """What parts must have in common to be two models of one body; empty for parts without cells."""
    model = _model(part)
    if isinstance(model, Beam):
        return "beam"
    return f"continuum of {model.mesh.dim()} axes" if isinstance(model, Continuum) else ""


def _groups(system: System) -> dict[str, int]:
    """Name of a part → number of the group of parts that are connected."""
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
        own = part.positions.shape[1]
        low[i, :own], high[i, :own] = part.positions.min(axis=0), part.positions.max(axis=0)
    return low, high


def _boxes_overlap(low: Array, high: Array) -> NDArray[np.bool_]:
    """Pairs (p, p) of boxes that overlap by more than they may where they touch; flat boxes by what they have."""
    sizes = (high - low).max(axis=1)
    near = _NEAR * np.minimum(sizes[:, None], sizes)
    common = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    flat = np.minimum(high - low, np.inf)
    least = np.minimum(flat[:, None], flat)
    return np.asarray((common > np.where(least > near[..., None], near[..., None], -near[..., None])).all(axis=2))


def _overlap(one: Part, two: Part) -> Array | None:
    """A point (axis,) in cells of both parts; None where there is none."""
    if isinstance(_model(one), Beam):
        return _collinear(_model(one), _model(two))  # type: ignore[arg-type]
    for own, other in ((one, two), (two, one)):
        points = _points(own.mesh, other.positions)  # type: ignore[attr-defined]
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


def _collinear(one: Beam, two: Beam) -> Array | None:
    """The middle of the common range of two beams on one axis."""
    if one.dimension != two.dimension:
        return None
    ends = one.arc_length(two.positions.T)
    size = max(float(np.ptp(part.positions, axis=0).max()) for part in (one, two))
    if np.linalg.norm(one.place(ends) - two.positions.T, axis=0).max() > _NEAR * size:
        return None
    own = one.basis.doflocs[0]
    low, high = max(own.min(), ends.min()), min(own.max(), ends.max())
    return np.asarray(one.place(np.array(0.5 * (low + high)))) if high - low > _NEAR * size else None
