"""Rigid obstacles beside the parts that they stop: lines in the plane, translucent surfaces in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arlequin.models.types import Array, Indices
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
    found = [obstacle_of(node.dataset) for node in nodes]
    return [Drawn(*each) for each in found if each is not None and each[0].shape[1] == axes]


def widened(low: Array, high: Array, obstacles: list[Drawn]) -> tuple[Array, Array]:
    """Corners (axis,) of a box that includes the parts of the obstacles near it."""
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
            close = places[away <= max(away.min(), _BESIDE * size)]
            low, high = np.minimum(low, close.min(axis=0)), np.maximum(high, close.max(axis=0))
    return low, high


def draw(panel: Any, obstacles: list[Drawn], scale: Array) -> None:
    """Draw obstacles into a panel of their axes; scale (axis,): of its axes."""
    from matplotlib.collections import LineCollection
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

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
            panel.add_collection3d(Poly3DCollection(list(places[cells]), **look), autolim=False)
