"""The deformed shape of plane parts and of solids, coloured by a field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.models.checks import finite
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.plots import style
from arlequin.plots.camera import Camera, View, camera_of, checked_view
from arlequin.plots.colour_range import Limits, Values, colour_range
from arlequin.plots.histories import instants
from arlequin.plots.moving import (
    active_at,
    coarse_first,
    drawn_name,
    groups_of,
    hint,
    moving,
    of_component,
    shifted_positions,
)
from arlequin.plots.obstacles import draw, obstacles_of, widened
from arlequin.plots.scene import add_lines, stage
from arlequin.results.cell_weights import counting_cells
from arlequin.results.members import one_member
from arlequin.results.paraview import cells_of
from arlequin.results.reading import frame_number, of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

CORNERS = {3: 3, 6: 3, 4: 4, 8: 4, 9: 4}  # corners of a plane cell from its number of nodes
MAP = "viridis"


class _Drawn(NamedTuple):
    """Drawing data of a part: deformed positions (n, 2) in m, corners (c, 3 or 4), field (n,) or (c,)."""

    name: str
    points: NDArray[np.float64]
    cells: NDArray[np.int64]
    values: NDArray[np.float64]


@of_result
def shape(
    result: xarray.DataTree,
    field: str = "velocity",
    *,
    frame: int = -1,
    component: int | str | None = None,
    magnify: float = 1.0,
    parts: tuple[str, ...] | None = None,
    member: int | None = None,
    limits: Limits | None = None,
    view: View | None = None,
) -> Figure:
    """Plane parts or solids at one instant, displaced by `magnify` times their displacement, coloured by `field`.

    Solids are seen by their outer faces, rigid obstacles are lines or translucent surfaces, beams beside the parts are
    lines, grey if they do not have the field. field: on (frame, node[,
    component]) or (frame, cell[, component]); component: its number or label, such as "x" or, of a stress, "xy"; None
    takes the length of the vector. member: of an ensemble, from 0. limits: of the colours, in the unit of the field
    (Pa, m/s); "all" takes those of the values; None leaves out singular values, which the bar of colours marks by an
    arrow and its largest value, see `colour_range`. view: of solids, the side from which they are seen: None looks from
    the side of the contact, "front", "back", "left", "right", "top", "bottom", "isometric", "x", "-x", "y", … or
    (elevation, azimuth) in degrees, see `camera_of`.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.05), cells=(4, 2)), steel, plane="strain")
    >>> result = aq.simulate(aq.System([block], velocity=(1.0, 0.0)), aq.Theta(0.5), duration=1e-3, step=1e-4)
    >>> figure = aq.plots.shape(result, "velocity", frame=-1, component=0)  # figure.savefig("shape.png")
    >>> figure.axes[0].get_title(loc="left"), figure.axes[1].get_xlabel()
    ('t = 1 ms', 'Velocity, x (m/s)')
    """
    result = one_member(result, member, "a figure of shapes")
    checked_view(view)
    frame, magnify = frame_number(result, frame), finite("magnify", magnify)
    every = active_at(groups_of(result, parts), np.array([frame]))
    if not any(field in g for g in every.values()):
        raise UserError(f"no plane part or solid of the result has a field `{field}`{hint(every, field)}")
    beside = {name: g for name, g in every.items() if field not in g and _is_line(g)}
    every = {name: of_component(g, field, component) for name, g in every.items() if field in g}
    field = drawn_name(field, component)
    groups = {name: g for name, g in every.items() if is_plane(g)}
    solids = {name: g for name, g in every.items() if is_solid(g)}
    lines = {name: g for name, g in (every | beside).items() if _is_line(g)}
    if solids and not groups:
        lines = {name: g for name, g in lines.items() if g.sizes["axis"] == 3}
        camera = camera_of(result, view, parts)
        return _solids(result, solids | lines, field, frame, magnify, limits, camera)
    if not groups:
        raise UserError(f"no plane part or solid of the result has a field `{field}`")
    drawn = [_draw(name, g, field, frame, magnify) for name, g in coarse_first(groups).items()]
    frames = np.array([frame])
    beams = [moving(g, field, frames, magnify, 2, 0) for g in lines.values() if g.sizes["axis"] == 2]
    about = next(iter(groups.values()))[field].attrs
    fields = [_seen(d) for d in drawn] + [Values(b.values, b.pieces, True) for b in beams]
    places = np.concatenate([*(d.points for d in drawn), *(b.places[0] for b in beams)])
    factor, unit, colours = colour_range(fields, limits).shown_in(about.get("units", ""))
    metre, length = style.prefix(places, "m")
    obstacles = obstacles_of(result, 2)
    low, high = widened(places.min(axis=0), places.max(axis=0), obstacles)
    span, margin = high - low, 0.03 * float((high - low).max())
    height = float(np.clip(style.WIDTH * 0.9 * span[1] / max(span[0], 1e-300), 0.5, 6.0)) + 1.7
    with style.panels(1, height) as (figure, (axes,)):
        for d in drawn:
            image = _paint(axes, d, metre, factor, colours.ends, metre * span)
        for beam in beams:
            add_lines(axes, metre * beam.places[0][beam.pieces], factor * beam.values[0], colours.ends)
        axes.set_aspect("equal")
        axes.autoscale_view()
        if obstacles:
            draw(axes, obstacles, np.full(2, metre))
            axes.set_xlim(metre * (low[0] - margin), metre * (high[0] + margin))
            axes.set_ylim(metre * (low[1] - margin), metre * (high[1] + margin))
        axes.grid(False)
        axes.set_xlabel(style.label("x", length))
        axes.set_ylabel(style.label("y", length))
        magnified = "" if magnify == 1.0 else f", displacement × {magnify:g}"
        axes.set_title(f"{instants(result, frames)[0]}{magnified}", loc="left")
        name = style.capital(about.get("long_name", field)) + _component(next(iter(groups.values())), field)
        look: Any = {"location": "bottom", "shrink": 0.7, "aspect": 40, "extend": colours.extend}
        bar = figure.colorbar(image, ax=axes, label=colours.label(name, unit), **look)
        bar.outline.set_visible(False)
    return figure


def is_plane(group: xarray.Dataset) -> bool:
    """Whether a part is made of plane cells."""
    return "connectivity" in group and group.sizes.get("axis") == 2 and group.sizes["corner"] in CORNERS


def _is_line(group: xarray.Dataset) -> bool:
    """Whether a part is a beam in the plane or in space."""
    return "connectivity" in group and group.sizes.get("axis") in (2, 3) and group.sizes["corner"] == 2


def is_solid(group: xarray.Dataset) -> bool:
    """Whether a part is made of cells in space."""
    return "connectivity" in group and group.sizes.get("axis") == 3 and group.sizes["corner"] > 3


def _solids(
    result: xarray.DataTree,
    groups: dict[str, xarray.Dataset],
    field: str,
    frame: int,
    magnify: float,
    limits: Limits | None,
    camera: Camera,
) -> Figure:
    """Solids by their outer faces, in axonometric projection."""
    frames = np.array([frame])
    drawn = {name: moving(g, field, frames, magnify, 3, 0) for name, g in groups.items()}
    first = next(iter(groups.values()))
    name = style.capital(first[field].attrs.get("long_name", field)) + _component(first, field)
    label = name, first[field].attrs.get("units", "")
    named, obstacles = instants(result, frames, "#.4g"), obstacles_of(result, 3)
    return stage(drawn, named, magnify, label, 3, obstacles, limits, camera)[0]


def _draw(name: str, group: xarray.Dataset, field: str, frame: int, magnify: float) -> _Drawn:
    """Drawing data of a part from its group."""
    values = np.asarray(group[field].isel(frame=frame).values)
    if "component" in group[field].dims:
        values = np.sqrt((values**2).sum(axis=-1))
    points = shifted_positions(group, frame) + magnify * group["displacement"].isel(frame=frame).values
    cells, owner = group["connectivity"].values[:, : CORNERS[group.sizes["corner"]]], np.arange(group.sizes["cell"])
    if "cell_lattice" in group:
        pieces = cells_of(group)
        cells, owner = pieces.nodes, pieces.owner
    counting = counting_cells(group)[owner]
    cells = cells[counting]
    if group[field].dims[1] == "cell":
        values = values[owner[counting]]
    if not counting.all():  # without the nodes that no cell has any more: limits and colours are those of what is seen
        used, numbers = np.unique(cells, return_inverse=True)
        points, cells = points[used], numbers.reshape(cells.shape)
        values = values if group[field].dims[1] == "cell" else values[used]
    return _Drawn(name, points, cells, values)


def _seen(d: _Drawn) -> Values:
    """The values that are drawn: of cells, or of the nodes at corners of cells."""
    if len(d.values) == len(d.cells) != len(d.points):
        return Values(d.values[None], d.cells, True)
    drawn = np.full(len(d.values), np.nan)
    corners = np.unique(d.cells)
    drawn[corners] = d.values[corners]
    return Values(drawn[None], d.cells, False)


def _paint(
    axes: Axes, d: _Drawn, metre: float, factor: float, limits: tuple[float, float], span: Array
) -> ScalarMappable:
    """Smooth colours from nodal values, flat ones from values of cells; thin edges where cells are large enough."""
    from matplotlib.collections import PolyCollection
    from matplotlib.tri import Triangulation

    polygons = metre * d.points[d.cells]
    if len(d.values) == len(d.cells) != len(d.points):
        flat = PolyCollection(list(polygons), array=factor * d.values, cmap=MAP, clim=limits, edgecolors="face")
        axes.add_collection(flat)
        image: ScalarMappable = flat
    else:
        halves = [d.cells[:, [0, 1, 2]]] + ([d.cells[:, [0, 2, 3]]] if d.cells.shape[1] == 4 else [])
        image = axes.tripcolor(
            Triangulation(metre * d.points[:, 0], metre * d.points[:, 1], np.concatenate(halves)),
            factor * d.values,
            shading="gouraud",
            cmap=MAP,
            vmin=limits[0],
            vmax=limits[1],
            rasterized=True,
        )
    if edges := style.edges(polygons, span):
        axes.add_collection(PolyCollection(list(polygons), facecolors="none", **edges))
    return image


def _component(group: xarray.Dataset, field: str) -> str:
    """What is shown of a vector of which no component is chosen."""
    return ", magnitude" if "component" in group[field].dims else ""
