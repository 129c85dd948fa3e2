"""Contact fields around a tube or a pin, developed into the plane of arc length and height, one panel per interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.plots import style
from arlequin.plots.histories import instants
from arlequin.results.members import one_member
from arlequin.results.reading import frame_number, of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAP = "viridis"
_ROUND = 1e-6  # rad, of a turn or nothing
STATUS = {0: ("open", "#DDDDDD"), 1: ("slips", style.COLOURS[1]), 2: ("sticks", style.COLOURS[0])}


class _Patch(NamedTuple):
    """One interface: middle (angle in rad, height in m), arc and height from there (k,), m, values (k,)."""

    name: str
    angle: float
    height: float
    arc: NDArray[np.float64]
    rise: NDArray[np.float64]
    values: NDArray[np.float64]


@of_result
def unrolled(
    result: xarray.DataTree,
    field: str = "pressure",
    interfaces: Sequence[str] | None = None,
    *,
    frame: int = -1,
    member: int | None = None,
) -> Figure:
    """A field of the contact points (frame, point[, component]) of interfaces around the z axis, at one frame.

    interfaces: by default all that have the field in 3D. Columns are their angles, rows their heights; a panel shows
    arc and height from the middle of its patch. "status" is drawn as points that stick, slip or are open.
    member: of an ensemble, from 0.
    """
    result = one_member(result, member, "a map of contact")
    known = list(result["interface"].children) if "interface" in result.children else []
    groups = {name: result[f"interface/{name}"].to_dataset() for name in interfaces or known if name in known}
    groups = {name: g for name, g in groups.items() if field in g and g.sizes["axis"] == 3}
    missing = [name for name in interfaces or () if name not in groups]
    if missing or not groups:
        what = f"interface {', '.join(missing)}: not" if missing else "no interface"
        raise UserError(f"{what} in 3D with a field `{field}` in the result; there are {', '.join(known) or 'none'}")
    frame = frame_number(result, frame)
    patches = [_patch(name, group, field, frame) for name, group in groups.items()]
    columns = _places([patch.angle for patch in patches])
    rows = _places([-patch.height for patch in patches])
    about = next(iter(groups.values()))[field].attrs
    everything = np.concatenate([patch.values for patch in patches])
    factor, unit = style.prefix(everything, about.get("units", ""))
    metre, length = style.prefix(np.concatenate([np.abs([*p.arc, *p.rise]) for p in patches]), "m")
    limits = factor * min(0.0, float(everything.min())), factor * float(everything.max()) or 1.0
    lines, width = max(rows) + 1, max(columns) + 1
    look: Any = {"settings": {"axes.grid": False, "axes.titlesize": 8}, "sharex": True, "sharey": True}
    with style.panels(lines, 1.2 + 2.0 * lines, columns=width, **look) as (figure, axes):
        for panel in axes:
            panel.set_visible(False)
            panel.tick_params(labelbottom=True, labelleft=True, labelsize=7)
        for row, column, patch in zip(rows, columns, patches, strict=True):
            panel = axes[row * width + column]
            panel.set_visible(True)
            image = _paint(panel, patch, metre, factor, limits, field == "status")
            place = f"{np.degrees(patch.angle):.0f}°, z = {metre * patch.height:.4g} {length}"
            panel.set_title(f"{patch.name.replace('_', ' ')}\n{place}")
        figure.suptitle(instants(result, np.array([frame]))[0], x=0.01, ha="left", fontsize=10)
        figure.supxlabel(style.label("Arc from the middle of the patch", length), fontsize=10)
        figure.supylabel(style.label("Height from its middle", length), fontsize=10)
        if field == "status":
            handles = [handle(*STATUS[code]) for code in STATUS]
            figure.legend(handles=handles, loc="outside upper right", ncols=3)
        else:
            name = style.capital(about.get("long_name", field))
            figure.colorbar(image, ax=axes, label=style.label(name, unit), shrink=0.8, aspect=30)
    return figure


def _patch(name: str, group: xarray.Dataset, field: str, frame: int) -> _Patch:
    values = np.asarray(group[field].isel(frame=frame).values, dtype=float)
    if values.ndim > 1:
        values = np.linalg.norm(values, axis=1)
    place = group["point_position"].values
    x, y, z = place.T
    angle = float(np.arctan2(y.mean(), x.mean()))
    across = (np.arctan2(y, x) - angle + np.pi) % (2 * np.pi) - np.pi
    height = 0.5 * float(z.min() + z.max())
    return _Patch(name, (angle + _ROUND) % (2 * np.pi) - _ROUND, height, np.hypot(x, y) * across, z - height, values)


def _places(values: Sequence[float]) -> list[int]:
    """The rank of each value among those that differ."""
    spread = float(np.ptp(values)) or 1.0
    order = np.argsort(values, kind="stable")
    steps = np.diff(np.asarray(values)[order]) > 0.02 * spread
    ranks = np.concatenate([[0], np.cumsum(steps)])
    return [int(rank) for rank in ranks[np.argsort(order, kind="stable")]]


def _paint(panel: Axes, patch: _Patch, metre: float, factor: float, limits: tuple[float, float], statuses: bool) -> Any:
    from matplotlib.tri import Triangulation

    x, y = metre * patch.arc, metre * patch.rise
    if statuses:
        colours = [STATUS[int(code)][1] for code in patch.values]
        return panel.scatter(x, y, s=14, c=colours, marker="s", linewidths=0)
    options: dict[str, Any] = {"cmap": MAP, "vmin": limits[0], "vmax": limits[1], "rasterized": True}
    return panel.tripcolor(Triangulation(x, y), factor * patch.values, shading="gouraud", **options)


def handle(text: str, colour: str) -> Any:
    """The entry of a status in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", marker="s", color=colour, label=text)
