"""Rigid obstacles beside the parts that they stop: lines in the plane, translucent surfaces in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.outline import clipped
from arlequin.results.paraview import obstacle_of

if TYPE_CHECKING:
    import xarray

COLOUR = "#333333"
_NEAR = 0.3  # of the diagonal of the parts: obstacles that are farther are outside of the picture
_BESIDE = 0.08  # of the diagonal: how far obstacles that are nearer are seen beside the parts
_EDGES = 50  # cells, up to which their edges are drawn
_SAMPLES = 65  # points along the sides of a cell, to find which part of it is near


class Drawn(NamedTuple):
    """An obstacle in a picture: points (p, axis), m, and cells (c, corner)."""

    points: Array
    cells: Indices


def obstacles_of(result: xarray.DataTree, axes: int) -> list[Drawn]:
    """The obstacles of a result in so many axes."""
    nodes = result["interface"].children.values() if "interface" in result.children else ()
    obstacles = [obstacle_of(node.dataset) for node in nodes]
    return [Drawn(*each) for each in obstacles if each is not None and each[0].shape[1] == axes]


def widened(low: Array, high: Array, obstacles: list[Drawn]) -> tuple[Array, Array]:
    """Corners (axis,) of a box that includes the parts of the obstacles near it; in space whole ones, if not larger."""
    size = float(np.linalg.norm(high - low))
    inner, outer = low, high
    for points, cells in obstacles:
        corners = points[cells]
        share = np.linspace(0.0, 1.0, _SAMPLES)[:, None, None, None]
        sides = (1.0 - share) * corners + share * np.roll(corners, -1, axis=1)
        if cells.shape[1] == 4:  # the inside of a piece of a plane
            across = np.linspace(0.0, 1.0, _SAMPLES)[:, None, None, None]
            sides = np.concatenate([sides, (1.0 - across) * sides[:, :, :1] + across * sides[::-1, :, 2:3]], axis=2)
        places = sides.reshape(-1, points.shape[1])
        away = np.maximum(inner - places, places - outer).max(axis=1)
        if away.min() <= _NEAR * size:
            whole = places.shape[1] == 3 and float(np.linalg.norm(np.ptp(points, axis=0))) <= size
            close = places if whole else places[away <= max(away.min(), _BESIDE * size)]
            low, high = np.minimum(low, close.min(axis=0)), np.maximum(high, close.max(axis=0))
    return low, high


def draw(panel: Any, obstacles: list[Drawn], scale: Array) -> None:
    """Draw obstacles into a panel of their axes; scale (axis,): of its axes. In space what is within its limits."""
    from matplotlib.collections import LineCollection

    for points, cells in obstacles:
        places = scale * points if points.shape[1] > 1 else scale[0] * points
        if points.shape[1] == 1:
            for place in places[:, 0]:
                panel.axvline(place, color=COLOUR, linewidth=1.5, zorder=1)
        elif points.shape[1] == 2:
            lines = LineCollection(list(places[cells]), colors=COLOUR, linewidths=1.5, capstyle="round", zorder=3)
            panel.add_collection(lines, autolim=False)
        else:
            look: Any = {"facecolors": (0.5, 0.5, 0.5, 0.2), "edgecolors": (0.2, 0.2, 0.2, 0.3)}
            look["linewidths"] = 0.5 if len(cells) <= _EDGES else 0.0
            low, high = np.array([panel.get_xlim3d(), panel.get_ylim3d(), panel.get_zlim3d()]).T
            inside = [piece for piece in (clipped(cell, low, high) for cell in places[cells]) if len(piece)]
            if inside:
                panel.add_collection3d(_surface(inside, 0.5 * (low + high), look), autolim=False)


def _surface(pieces: list[Array], middle: Array, look: dict[str, Any]) -> Any:
    """Polygons that are drawn before or after all parts, as most of them are behind or before the middle (3,)."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    away = np.mean([piece.mean(axis=0) for piece in pieces], axis=0) - middle

    class Surface(Poly3DCollection):
        def do_3d_projection(self) -> float:
            super().do_3d_projection()
            depth = np.asarray(self.axes.M)[2, :3]  # rises away from the eye
            return float(np.inf if away @ depth > 0.0 else -np.inf)

    return Surface(pieces, **look)
