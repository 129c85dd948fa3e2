"""Insets that magnify a part of a panel in which curves coincide."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 0.36, 0.52  # of the panel
_LEAST_HEIGHT = 0.1  # of what is seen of curves over the height of an inset
_STEP = 0.02  # of the panel, between the places that are tried
_SAMPLES = 400  # along each curve


def magnified(axes: Axes, window: tuple[float, float], heights: tuple[float, float] | None = None) -> Axes | None:
    """An inset with the curves of a panel over `window` of its x axis, in the freest place of the panel.

    heights: of its y axis, by default those of the curves over the window. None where no two curves are there, or where
    the panel has no free place.
    """
    low, high = window
    inside = [_between(*_points(line), low, high) for line in axes.lines]
    inside = [y for y in inside if y.size]
    place = _free_place(axes)
    if len(inside) < 2 or place is None or not low < high:
        return None
    if heights is None:
        seen = np.concatenate(inside)
        beside = max(_LEAST_HEIGHT * float(np.ptp(seen)), 1e-3 * float(np.ptp(axes.get_ylim())))
        heights = float(seen.min()) - beside, float(seen.max()) + beside
    inset: Any = axes.inset_axes((*place, WIDTH, HEIGHT))
    for line in axes.lines:
        look: Any = {"color": line.get_color(), "linestyle": line.get_linestyle(), "linewidth": line.get_linewidth()}
        inset.plot(*line.get_data(), drawstyle=line.get_drawstyle(), zorder=line.get_zorder(), **look)
    inset.set(xlim=window, ylim=heights)
    inset.tick_params(labelsize=7, length=2, pad=1.5)
    inset.locator_params(nbins=4)
    inset.spines[["top", "right"]].set_visible(True)
    axes.indicate_inset_zoom(inset, edgecolor="#777777", linewidth=0.8)
    return inset


def _points(line: Any) -> tuple[Array, Array]:
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    known = np.isfinite(x) & np.isfinite(y)
    return x[known], y[known]


def _between(x: Array, y: Array, low: float, high: float) -> Array:
    return np.asarray(y[(x >= low) & (x <= high)])


def _free_place(axes: Axes) -> tuple[float, float] | None:
    """Lower left corner, in parts of the panel, of a rectangle with room for the numbers of its axes and without any
    curve; the one farthest from them, None if there is none."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    curves = [np.zeros((0, 2))]
    for line in axes.lines:
        xs, ys = _points(line)
        if xs.size > 1:
            along = np.concatenate(
                [[0.0], np.cumsum(np.hypot(np.diff(xs) / (right - left), np.diff(ys) / (top - bottom)))]
            )
            at = np.linspace(0.0, along[-1], _SAMPLES)
            places = np.stack([np.interp(at, along, xs) - left, np.interp(at, along, ys) - bottom], axis=1)
            curves.append(places / [right - left, top - bottom])
    points = np.concatenate(curves)
    best: tuple[float, tuple[float, float] | None] = (0.0, None)
    across, up = np.arange(0.08, 0.99 - WIDTH, _STEP), np.arange(0.16, 0.97 - HEIGHT, _STEP)
    for x, y in itertools.product(across.tolist(), up.tolist()):
        # numbers stand to the left of the inset and below
        away = np.maximum([x - 0.06, y - 0.12] - points, points - [x + WIDTH, y + HEIGHT]).max(axis=1)
        nearest = float(away.min(initial=1.0))
        if nearest > best[0]:
            best = nearest, (x, y)
    return best[1]
