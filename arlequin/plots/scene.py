"""Parts drawn as lines, filled cells or outer faces, one frame after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.types import Array
from arlequin.plots import style
from arlequin.plots.camera import Camera
from arlequin.plots.colour_range import Limits, Values, colour_range
from arlequin.plots.moving import Moving
from arlequin.plots.obstacles import Drawn, draw, widened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAP = "viridis"
WITHOUT = "#AAAAAA"  # parts without the field
_TICKS = 7  # along the longest axis in space
_END_ON = 0.15  # length in the picture over that in space, below which an axis is seen from its end
_LABEL, _NUMBER = 21.0, 8.0  # points that matplotlib adds to the distances of labels and numbers from axes in space
_FARTHEST = 5.0  # times these distances, for axes beside short ones
_FILLED, _TALLEST = 0.94, 4.6  # of the width, and inches: largest picture in space, with its labels
_ABOVE, _BELOW = 0.35, 0.72  # inches of the title, and of the bar of colours
_MEASURED = 3  # times, as labels do not grow with the picture


def stage(
    drawn: dict[str, Moving],
    instants: list[str],
    magnify: float,
    label: tuple[str, str],
    axes: int,
    obstacles: list[Drawn] | None = None,
    limits: Limits | None = None,
    camera: Camera | None = None,
) -> tuple[Figure, Callable[[int], None]]:
    """The figure, with limits and colours of all frames, or `limits` in the unit of the field; what draws a frame.

    instants: the names of the frames; camera: of pictures in space.
    """
    places = np.concatenate([d.places.reshape(-1, d.places.shape[2]) for d in drawn.values()])
    metre, length = style.prefix(places[:, 0] if axes == 1 else places, "m")
    scale = np.array([metre, 1.0]) if axes == 1 else np.full(axes, metre)
    ends = np.nanmin(places, axis=0), np.nanmax(places, axis=0)
    if obstacles:
        size = obstacles[0].points.shape[1]  # along one axis the second one is that of the rows
        near = widened(ends[0][:size], ends[1][:size], obstacles)
        ends = (np.append(near[0], ends[0][size:]), np.append(near[1], ends[1][size:]))
    low, high = scale * ends[0], scale * ends[1]
    margin = 0.04 * max(float((high - low).max()), 1e-300)
    colours = colour_range([Values(d.values, d.pieces, True) for d in drawn.values()], limits)
    factor, unit, colours = colours.shown_in(label[1])
    magnified = "" if magnify == 1.0 else f", displacement × {magnify:g}"
    with style.panels(1, _height(high - low, axes, len(drawn)), subplot_kw=_projection(axes)) as (figure, (panel,)):
        if camera is not None:
            camera.apply_to(panel)
        _frame(panel, low, high, margin, length, camera, tuple(drawn) if axes == 1 else None)
        draw(panel, obstacles or [], scale)
        updates = [_artist(panel, d, scale, factor, colours.ends, high - low) for d in drawn.values()]
        look: Any = {"location": "bottom", "shrink": 0.7, "aspect": 40, "extend": colours.extend}
        bar = figure.colorbar(updates[0][0], ax=panel, **look)
        bar.set_label(colours.label(label[0], unit))
        # in space the panel is larger than what is seen of it: `_fill` places the title
        by_hand: Any = {"y": 1.0} if axes == 3 else {}
        title = panel.set_title("t", loc="left", **by_hand)

        def show(n: int) -> None:
            title.set_text(f"{instants[n]}{magnified}")
            for _, update in updates:
                update(n)

        show(len(instants) - 1)
        if axes == 3:
            figure.set_layout_engine("none")
            _fill(figure, panel, bar.ax, title)
        else:
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # the picture stands still while the parts move
    return figure, show


def _projection(axes: int) -> dict[str, str]:
    return {"projection": "3d", "proj_type": "ortho"} if axes == 3 else {}


def _height(span: Array, axes: int, parts: int) -> float:
    """Height of the figure, inches."""
    if axes == 3:
        return 5.2
    if axes == 1:
        return 1.5 + 0.35 * parts
    return float(np.clip(style.WIDTH * 0.9 * span[1] / max(span[0], 1e-300), 0.6, 6.0)) + 1.7


def _frame(
    panel: Any,
    low: Array,
    high: Array,
    margin: float,
    length: str,
    camera: Camera | None,
    names: tuple[str, ...] | None,
) -> None:
    """Limits, labels and equal scales; camera: of pictures in space; names: of the rows along one axis."""
    panel.set_xlim(low[0] - margin, high[0] + margin)
    panel.set_xlabel(style.label("x", length))
    if names is not None:
        panel.set_ylim(-0.6, len(names) - 0.4)
        panel.set_yticks(range(len(names)), names)
        return
    panel.set_ylim(low[1] - margin, high[1] + margin)
    panel.set_ylabel(style.label("y", length))
    if camera is not None:
        panel.set_zlim(low[2] - margin, high[2] + margin)
        panel.set_zlabel(style.label("z", length))
        shares = (high - low + 2 * margin) / (high - low + 2 * margin).max()
        ruled(panel, shares, camera)
        for n, axis in enumerate((panel.xaxis, panel.yaxis, panel.zaxis)):
            # matplotlib moves labels away from an axis by shares of the lengths of the other two
            farther = float(np.clip(1.0 / np.linalg.norm(np.delete(shares, n)), 1.0, _FARTHEST))
            axis.labelpad = (_LABEL + 4.0) * farther - _LABEL
            axis.set_tick_params(pad=(_NUMBER + 3.0) * farther - _NUMBER)
    panel.set_aspect("equal")


def ruled(panel: Any, span: Array, camera: Camera) -> None:
    """Ticks of a panel in space of the extents span (3,), as many as the length of its axes in the picture has room
    for; axes seen from their end have none, and no name."""
    from matplotlib.ticker import MaxNLocator, NullLocator

    foreshortened = np.linalg.norm(camera.rotation[:2], axis=0)
    shares = span * foreshortened / max(float((span * foreshortened).max()), 1e-300)
    for n, axis in enumerate((panel.xaxis, panel.yaxis, panel.zaxis)):
        axis.set_major_locator(
            MaxNLocator(max(1, round(_TICKS * float(shares[n]))))
        )  # short axes have no room for more
        if foreshortened[n] < _END_ON:
            axis.set_major_locator(NullLocator())
            axis.set_label_text("")


def _fill(figure: Figure, panel: Any, bar: Any, title: Any) -> None:
    """Size and place of a panel in space, so that its box with all labels fills the figure, whose height follows."""
    from matplotlib.transforms import Bbox
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    drawn = [artist for artist in panel.collections if artist.get_visible()]
    for artist in drawn:  # not needed to measure the axes
        artist.set_visible(False)
    corners = np.stack(np.meshgrid(panel.get_xlim(), panel.get_ylim(), panel.get_zlim()), axis=-1).reshape(-1, 3)
    side, box = style.WIDTH, Bbox.unit()
    for _ in range(_MEASURED):
        figure.set_size_inches(style.WIDTH, side)
        panel.set_position([0.0, 0.0, side / style.WIDTH, 1.0])
        figure.draw_without_rendering()
        places = panel.transData.transform(np.stack(proj_transform(*corners.T, panel.get_proj())[:2], axis=1))
        labels = [axis.get_tightbbox() for axis in (panel.xaxis, panel.yaxis, panel.zaxis)]
        box = Bbox.union([Bbox([places.min(axis=0), places.max(axis=0)]), *(b for b in labels if b is not None)])
        box = box.transformed(figure.dpi_scale_trans.inverted())  # inches from the lower left corner of the panel
        room = min(_FILLED * style.WIDTH / box.width, _TALLEST / box.height)
        side *= float(np.clip(room, 0.5, 2.5))
    height = round(50 * (box.height + _ABOVE + _BELOW)) / 50  # films have an even number of pixels
    side = float(panel.get_position().width) * style.WIDTH
    figure.set_size_inches(style.WIDTH, height)
    left, bottom = 0.5 * (style.WIDTH - box.width) - box.x0, _BELOW - box.y0
    panel.set_position([left / style.WIDTH, bottom / height, side / style.WIDTH, side / height])
    bar.set_position([0.15, 0.48 / height, 0.7, 0.12 / height])
    title.set_position(((0.3 - left) / side, (height - _ABOVE + 0.02 - bottom) / side))
    for artist in drawn:
        artist.set_visible(True)


def add_lines(panel: Any, pieces: Array, values: Array, limits: tuple[float, float]) -> None:
    """Lines (p, 2, axis) in a plane panel, coloured by values (p,), grey where they are nan."""
    import matplotlib
    from matplotlib.collections import LineCollection

    colours = matplotlib.colormaps[MAP].with_extremes(bad=WITHOUT)
    artist = LineCollection(list(pieces), linewidths=3.0, cmap=colours, clim=limits)
    artist.set_array(np.ma.masked_invalid(values))
    panel.add_collection(artist)


def _artist(
    panel: Any, d: Moving, scale: Array, factor: float, limits: tuple[float, float], span: Array
) -> tuple[Any, Callable[[int], None]]:
    """The collection that draws a part, and a function that updates it to a frame."""
    import matplotlib
    from matplotlib.collections import LineCollection, PolyCollection
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

    solid, corners = d.places.shape[2] == 3, d.pieces.shape[1]
    colours = matplotlib.colormaps[MAP].with_extremes(bad=WITHOUT)
    look: Any = {"cmap": colours, "clim": limits}
    first = scale * d.places[0][d.pieces]
    artist: Any
    if corners == 1:
        shade: Any = {"depthshade": False} if solid else {}
        artist = panel.scatter(*first[:, 0].T, s=30, c=np.zeros(len(first)), cmap=colours, **shade)
        artist.set_clim(*limits)
    elif corners == 2:
        artist = (Line3DCollection if solid else LineCollection)(list(first), linewidths=3.0, **look)
        panel.add_collection(artist)
    else:
        edges = style.edges(first, span)
        artist = (Poly3DCollection if solid else PolyCollection)(list(first), **edges, **look)
        panel.add_collection(artist)
        if not edges:
            artist.set_edgecolor("face")  # in space it needs the axes

    def update(n: int) -> None:
        pieces = scale * d.places[n][d.pieces]
        artist.set_array(factor * np.ma.masked_invalid(d.values[n]))
        if corners > 2:
            artist.set_verts(list(pieces))
        elif corners == 2:
            artist.set_segments(list(pieces))
        elif solid:
            artist._offsets3d = tuple(pieces[:, 0].T)
        else:
            artist.set_offsets(pieces[:, 0])

    return artist, update
