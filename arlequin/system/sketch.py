"""A sketch of a system for notebooks, as SVG: outlines of the parts, slave surfaces, obstacles and gluing zones."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.junctions.beam_solid import BeamJunction
from arlequin.junctions.surface import SurfaceJunction
from arlequin.junctions.zone_coordinate import SpatialZoneCoordinate
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.base import Obstacle
from arlequin.multilevel.obstacles.outline import clipped, outline_of

if TYPE_CHECKING:
    from arlequin.models.part import Surface

# Okabe & Ito, Color Universal Design, 2008
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
CONTACT = "#C00000"
OBSTACLE = "#333333"
ZONE = "#F0C000"
WIDTH, HEIGHT, MARGIN = 420.0, 260.0, 8.0  # px
MAX_FACETS = 200_000  # of a part, above which its box is drawn
_SHARP = 0.9  # cosine of the angle between two faces, below which their edge is drawn
_BESIDE = 0.12  # margin around the parts in which obstacles are drawn, relative to their diagonal
_CELLS = 5_000  # of a zone or an obstacle, above which its border or its box is drawn
_EDGES = 50  # cells of an obstacle, up to which their edges are drawn


def sketch(parts: Sequence[Any], interfaces: Sequence[Any], junctions: Sequence[Any]) -> str:
    """The SVG of a system in its initial configuration; empty if it has no extent.

    Paths of the class `zone`, one for each junction: cells of the fine part in the gluing zone (coarse ones of a zone
    of cells), or the surface in common; then outlines of the parts, slave surfaces, and paths of the class `obstacle`,
    one for each rigid obstacle near the parts.
    """
    places = np.concatenate([np.zeros((0, 3)), *(_in_space(part.positions) for part in parts)])
    lines = [_projected(_lines(part)) for part in parts]
    touching = [_projected(_touching(item.slave)) for item in interfaces]
    zones = [[_projected(piece) for piece in _zone(junction)] for junction in junctions]
    masters = {id(item.master): item.master for item in interfaces if isinstance(item.master, Obstacle)}
    obstacles = [[_projected(piece) for piece in _beside(master, places)] for master in masters.values()]
    flat = [piece.reshape(-1, 2) for pieces in (*zones, *obstacles) for piece in pieces]
    points = np.concatenate([np.zeros((0, 2)), *(each.reshape(-1, 2) for each in (*lines, *touching)), *flat])
    if not len(points) or not np.ptp(points, axis=0).max() > 0.0:
        return ""
    low, high = points.min(axis=0), points.max(axis=0)
    scale = float(np.min((np.array([WIDTH, HEIGHT]) - 2 * MARGIN) / np.maximum(high - low, 1e-12 * np.ptp(points))))
    height = scale * float(high[1] - low[1]) + 2 * MARGIN

    def pixels(places: Array) -> Array:
        """Places (…, 2), px."""
        flipped = places * np.array([1.0, -1.0]) + np.array([-low[0], low[1]])
        return np.asarray(scale * flipped + np.array([MARGIN, height - MARGIN]))

    def path(segments: Array, colour: str, width: float) -> str:
        drawn = _path(pixels(segments), closed=False)
        return f'<path d="{drawn}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linecap="round"/>'

    def area(pieces: list[Array], kind: str, colour: str, name: str, stroke: str) -> str:
        """Polygons of one orientation, which cover the background once; lines where they have no area."""
        drawn = "".join(_path(pixels(_counter_clockwise(piece))[None], closed=len(piece) > 2) for piece in pieces)
        thin = all(len(piece) < 3 for piece in pieces)
        look = f'fill="{"none" if thin else colour}" fill-opacity="0.3" stroke="{colour}" {stroke}'
        return f'<path d="{drawn}" class="{kind}" {look}><title>{escape(name)}</title></path>'

    named = zip(junctions, zones, strict=True)
    wide = 'stroke-width="7" stroke-opacity="0.5"', 'stroke-width="0.3" stroke-opacity="0.6"'
    drawn = [
        area(pieces, "zone", ZONE, f"zone of {junction.name}", wide[max(map(len, pieces)) > 2])
        for junction, pieces in named
        if pieces
    ]
    drawn += [path(each, colour_of(n), 1.2) for n, each in enumerate(lines)]
    drawn += [path(each, CONTACT, 2.5) for each in touching]
    for master, pieces in zip(masters.values(), obstacles, strict=True):
        stroke = f'stroke-width="{1.5 if len(pieces) <= _EDGES or len(pieces[0]) < 3 else 0}"'
        drawn += [area(pieces, "obstacle", OBSTACLE, type(master).__name__, stroke)] if pieces else []
    return f'<svg width="{WIDTH:.0f}" height="{height:.0f}" style="background:#fff">{"".join(drawn)}</svg>'


def _path(polygons: Array, closed: bool) -> str:
    """Data of a path through the points of polygons or segments (p, corner, 2), px."""
    end = "Z" if closed else ""
    each = ("L".join(f"{x:.1f} {y:.1f}" for x, y in polygon) for polygon in polygons.tolist())
    return "".join(f"M{text}{end}" for text in each)


def _counter_clockwise(polygon: Array) -> Array:
    """A polygon (corner, 2), counter-clockwise."""
    x, y = polygon.T
    area = float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) if len(polygon) > 2 else 0.0
    return polygon[::-1] if area < 0.0 else polygon


def _zone(junction: Any) -> list[Array]:
    """Polygons or segments (corner, axis) that cover the zone of a junction, m."""
    if isinstance(junction, SurfaceJunction):
        return list(_touching(junction.fine_surface))
    coarse, fine = junction.coarse, junction.fine
    mesh = fine.mesh
    middles = mesh.p[:, mesh.t].mean(axis=1)
    if isinstance(junction, BeamJunction):
        low, high = junction.zone.range
        arc = junction.zone.beam.arc_length(middles)
        return _covering(mesh, (arc > low) & (arc < high))
    coordinate = getattr(junction, "zone_coordinate", None)
    if coordinate is None:  # a user-defined junction: the intersection of both parts
        low, high = coarse.mesh.p.min(axis=1), coarse.mesh.p.max(axis=1)
        return _covering(mesh, ((middles > low[:, None]) & (middles < high[:, None])).all(axis=0))
    if isinstance(coordinate, SpatialZoneCoordinate):
        low, high = coarse.mesh.p.min(axis=1)[:, None], coarse.mesh.p.max(axis=1)[:, None]
        s = coordinate.coordinate(middles)
        return _covering(mesh, (s > 0.0) & (s < 1.0) & ((middles > low) & (middles < high)).all(axis=0))
    mesh = coarse.mesh
    middles = mesh.p[:, mesh.t].mean(axis=1)
    s = coordinate.on_coarse(middles[:, :, None], np.arange(mesh.nelements))[:, 0]
    return _covering(mesh, (s > 0.0) & (s < 1.0))


def _covering(mesh: Any, chosen: Any) -> list[Array]:
    """Chosen cells of a mesh in one and two dimensions, the outer faces of all of them in space, (corner, axis), m; of
    many cells their border, or the edges of a box around them."""
    corners, axes = mesh.p.T, mesh.dim()
    if axes < 3 and (axes == 1 or np.count_nonzero(chosen) <= _CELLS):
        return list(corners[mesh.t[:, chosen].T])
    times = np.bincount(mesh.t2f[:, chosen].ravel(), minlength=mesh.facets.shape[1])
    faces = mesh.facets[:, times == 1].T
    if len(faces) > _CELLS and axes == 3:
        low, high = corners[mesh.t[:, chosen]].min(axis=(0, 1)), corners[mesh.t[:, chosen]].max(axis=(0, 1))
        return list(_box_edges(low, high))
    return list(corners[faces])


def _beside(obstacle: Any, places: Array) -> list[Array]:
    """Polygons, segments or, on a line, marks across it (corner, axis) of an obstacle near parts with nodes at `places`
    (n, 3), m; empty for obstacles without an outline."""
    axes = obstacle.axes
    low, high = places[:, :axes].min(axis=0), places[:, :axes].max(axis=0)
    outline = outline_of(obstacle, low, high)
    if outline is None:
        return []
    size = float(np.linalg.norm(high - low))
    cells = outline.points[outline.cells]
    if axes == 1:
        half = _BESIDE * (size or 1.0)
        return [np.array([[point[0], -half], [point[0], half]]) for point in cells[:, 0]]
    if len(cells) > _CELLS and axes == 3:
        return list(_box_edges(outline.points.min(axis=0), outline.points.max(axis=0)))
    around = np.concatenate([outline.points, cells.mean(axis=1)])
    away = np.maximum(np.maximum(low - around, around - high), 0.0)
    nearest = around[np.linalg.norm(away, axis=1).argmin()]
    beside = _BESIDE * size
    box = np.minimum(low, nearest) - beside, np.maximum(high, nearest) + beside
    polygons = []
    for cell in cells:
        piece = _segment(cell, *box) if axes == 2 else clipped(cell, *box)
        if len(piece) >= axes:
            polygons.append(piece)
    return polygons


def _segment(ends: Array, low: Array, high: Array) -> Array:
    """The part of a segment (2, axis) in a box, (2, axis), or empty, (0, axis)."""
    direction = ends[1] - ends[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.stack([(low - ends[0]) / direction, (high - ends[0]) / direction])
    moving_axes = direction != 0.0
    if not ((ends[0] >= low) & (ends[0] <= high))[~moving_axes].all():
        return ends[:0]
    first = max(0.0, float(bounds[:, moving_axes].min(axis=0).max(initial=0.0)))
    last = min(1.0, float(bounds[:, moving_axes].max(axis=0).min(initial=1.0)))
    return ends[0] + np.array([[first], [last]]) * direction if first < last else ends[:0]


def colour_of(part: int) -> str:
    """Colour of a part by its number."""
    return COLOURS[part % len(COLOURS)]


def _lines(part: Any) -> Array:
    """Segments (s, 2, axis) of the outline of a part, m; points are segments without length."""
    cells, places = part.connectivity, part.positions
    mesh = getattr(getattr(part, "model", part), "mesh", None)
    if places.shape[1] > 1 and mesh is not None and mesh.dim() == places.shape[1]:
        facets = mesh.facets[:, mesh.boundary_facets()].T
        corners = mesh.p.T
        if len(facets) > MAX_FACETS:
            return _box_edges(corners.min(axis=0), corners.max(axis=0))
        return np.asarray(corners[facets if facets.shape[1] == 2 else _sharp(corners, facets)])
    if cells.shape[1] == 2:
        return np.asarray(places[cells])
    return np.repeat(places[:, None], 2, axis=1)


def _box_edges(low: Array, high: Array) -> Array:
    """Segments (s, 2, axis) along the edges of a box, m."""
    steps = np.stack(np.meshgrid(*[[0.0, 1.0]] * len(low), indexing="ij"), axis=-1).reshape(-1, len(low))
    pairs = np.argwhere(np.triu(np.abs(steps[:, None] - steps[None]).sum(axis=-1) == 1.0))
    return np.asarray((low + steps * (high - low))[pairs])


def _in_space(places: Array) -> Array:
    """Places (n, axis) with zeros for further axes, (n, 3)."""
    return np.pad(places, ((0, 0), (0, 3 - places.shape[1])))


def _sharp(corners: Array, faces: Indices) -> Indices:
    """Edges (e, 2) of faces (f, corner) in space at which their normals turn."""
    size = faces.shape[1]
    normals = np.cross(corners[faces[:, 1]] - corners[faces[:, 0]], corners[faces[:, 2]] - corners[faces[:, 0]])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    edges = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    unique_edges, owner = np.unique(edges, axis=0, return_inverse=True)
    order = np.argsort(owner.ravel(), kind="stable")
    first = np.searchsorted(owner.ravel()[order], np.arange(len(unique_edges)))
    faces_of = order // size
    pairs = faces_of[first], faces_of[np.minimum(first + 1, len(order) - 1)]
    # normals of the facets of a mesh point to either side
    cosine = np.abs(np.vecdot(normals[pairs[0]], normals[pairs[1]]))
    return np.asarray(unique_edges[cosine < _SHARP])


def _touching(surface: Surface) -> Array:
    """Segments (s, 2, axis) around the facets of a surface; points are segments without length."""
    places, count = surface.part.positions, surface.facets.shape[1]
    if places.shape[1] == 3 and count > 2:
        faces = surface.facets[:, : 3 if count in (3, 6) else 4]
        edges = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2)
    else:
        edges = surface.facets[:, [0, min(1, count - 1)]]
    edges = np.unique(np.sort(edges, axis=1), axis=0)[:MAX_FACETS]
    return np.asarray(places[edges])


def _projected(segments: Array) -> Array:
    """Places (…, axis) in the plane of the picture, (…, 2): space seen from the first octant, z upwards."""
    axes = segments.shape[-1]
    if axes == 1:
        return np.concatenate([segments, np.zeros_like(segments)], axis=-1)
    if axes == 2:
        return segments
    across, up = np.array([-1.0, 1.0, 0.0]) / np.sqrt(2.0), np.array([-1.0, -1.0, 2.0]) / np.sqrt(6.0)
    return np.stack([segments @ across, segments @ up], axis=-1)
