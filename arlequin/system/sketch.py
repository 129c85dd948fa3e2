"""A sketch of a system for notebooks, as SVG: outlines of the parts, and the slave surfaces of the interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.types import Array, Indices

if TYPE_CHECKING:
    from arlequin.models.part import Surface
    from arlequin.system.system import System

# Okabe & Ito, Color Universal Design, 2008
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
CONTACT = "#C00000"
WIDTH, HEIGHT, MARGIN = 420.0, 260.0, 8.0  # px
MOST = 200_000  # facets of a part, above which its box is drawn
_SHARP = 0.9  # cosine of the angle between two faces, below which their edge is drawn


def sketch(system: System) -> str:
    """The SVG of a system as it starts; empty if nothing has an extent."""
    lines = [_projected(_lines(part)) for part in system.parts]
    touching = [_projected(_touching(item.slave)) for item in system.interfaces]
    points = np.concatenate([np.zeros((0, 2)), *(each.reshape(-1, 2) for each in (*lines, *touching))])
    if not len(points) or not np.ptp(points, axis=0).max() > 0.0:
        return ""
    low, high = points.min(axis=0), points.max(axis=0)
    scale = float(np.min((np.array([WIDTH, HEIGHT]) - 2 * MARGIN) / np.maximum(high - low, 1e-12 * np.ptp(points))))
    height = scale * float(high[1] - low[1]) + 2 * MARGIN

    def path(segments: Array, colour: str, width: float) -> str:
        x = MARGIN + scale * (segments[..., 0] - low[0])
        y = height - MARGIN - scale * (segments[..., 1] - low[1])
        drawn = "".join(
            f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for (a, c), (b, d) in zip(x.tolist(), y.tolist(), strict=True)
        )
        return f'<path d="{drawn}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linecap="round"/>'

    drawn = [path(each, colour_of(n), 1.2) for n, each in enumerate(lines)]
    drawn += [path(each, CONTACT, 2.5) for each in touching]
    return f'<svg width="{WIDTH:.0f}" height="{height:.0f}" style="background:#fff">{"".join(drawn)}</svg>'


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
        if len(facets) > MOST:
            low, high = corners.min(axis=0), corners.max(axis=0)
            steps = np.stack(np.meshgrid(*[[0.0, 1.0]] * len(low), indexing="ij"), axis=-1).reshape(-1, len(low))
            pairs = np.argwhere(np.triu(np.abs(steps[:, None] - steps[None]).sum(axis=-1) == 1.0))
            return np.asarray((low + steps * (high - low))[pairs])
        return np.asarray(corners[facets if facets.shape[1] == 2 else _sharp(corners, facets)])
    if cells.shape[1] == 2:
        return np.asarray(places[cells])
    return np.repeat(places[:, None], 2, axis=1)


def _sharp(corners: Array, faces: Indices) -> Indices:
    """Edges (e, 2) of faces (f, corner) in space at which their normals turn."""
    size = faces.shape[1]
    normals = np.cross(corners[faces[:, 1]] - corners[faces[:, 0]], corners[faces[:, 2]] - corners[faces[:, 0]])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    edges = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    found, owner = np.unique(edges, axis=0, return_inverse=True)
    order = np.argsort(owner.ravel(), kind="stable")
    first = np.searchsorted(owner.ravel()[order], np.arange(len(found)))
    faces_of = order // size
    pairs = faces_of[first], faces_of[np.minimum(first + 1, len(order) - 1)]
    # normals of the facets of a mesh point to either side
    turn = np.abs(np.vecdot(normals[pairs[0]], normals[pairs[1]]))
    return np.asarray(found[turn < _SHARP])


def _touching(surface: Surface) -> Array:
    """Segments (s, 2, axis) around the facets of a surface; points are segments without length."""
    places, count = surface.part.positions, surface.facets.shape[1]
    if places.shape[1] == 3 and count > 2:
        faces = surface.facets[:, : 3 if count in (3, 6) else 4]
        edges = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2)
    else:
        edges = surface.facets[:, [0, min(1, count - 1)]]
    edges = np.unique(np.sort(edges, axis=1), axis=0)[:MOST]
    return np.asarray(places[edges])


def _projected(segments: Array) -> Array:
    """Segments (s, 2, axis) in the plane of the picture, (s, 2, 2): space seen from the first octant, z upwards."""
    axes = segments.shape[-1]
    if axes == 1:
        return np.concatenate([segments, np.zeros_like(segments)], axis=-1)
    if axes == 2:
        return segments
    across, up = np.array([-1.0, 1.0, 0.0]) / np.sqrt(2.0), np.array([-1.0, -1.0, 2.0]) / np.sqrt(6.0)
    return np.stack([segments @ across, segments @ up], axis=-1)
