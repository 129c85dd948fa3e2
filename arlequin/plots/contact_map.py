"""Maps of contact fields on surfaces of solids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.plots import style
from arlequin.plots.histories import interface_of
from arlequin.plots.unrolled import MAP, STATUS, handle
from arlequin.results.members import one_member

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

NAMES = "xyz"
_FLAT = 1e-3  # deviation of an axis from the normal below which the map is drawn along the other two


def contact_map(
    result: xarray.DataTree,
    field: str = "pressure",
    interface: str | None = None,
    *,
    frame: int | None = None,
    member: int | None = None,
) -> Figure:
    """A field of the contact points (frame, point[, component]) of an interface in space, at one frame.

    The points are drawn on the plane that fits them best: along two axes of space where it is normal to the third.
    interface: None if there is one only; frame: None takes that of the largest total. "status" is drawn as points that
    stick, slip or are open. For contact around a tube see `unrolled`. member: of an ensemble, from 0.
    """
    from matplotlib.tri import Triangulation

    result = one_member(result, member, "a map of contact")
    group = interface_of(result, interface)
    if field not in group or group.sizes.get("axis") != 3 or group.sizes["point"] < 3:
        raise UserError(f"no contact points in space with a field `{field}` in the result")
    values = np.asarray(group[field].values, dtype=float)
    if values.ndim > 2:
        values = np.linalg.norm(values, axis=2)
    shown = int(np.nansum(values, axis=1).argmax()) if frame is None else frame
    places, names = _flat(group["point_position"].values)
    metre, length = style.prefix(places, "m")
    factor, unit = style.prefix(values[shown], group[field].attrs.get("units", ""))
    x, y = metre * places.T
    span = np.ptp(places, axis=0)
    height = float(np.clip(0.62 * style.WIDTH * span[1] / max(span[0], 1e-300), 1.5, 6.0)) + 1.2
    with style.panels(1, height, settings={"axes.grid": False}) as (figure, (axes,)):
        if field == "status":
            colours = [STATUS[int(code)][1] for code in values[shown]]
            axes.scatter(x, y, s=14, c=colours, marker="s", linewidths=0)
            figure.legend(handles=[handle(*STATUS[code]) for code in STATUS], loc="outside upper right", ncols=3)
        else:
            found = factor * values[shown]
            options: dict[str, Any] = {"cmap": MAP, "vmin": min(0.0, float(found.min())), "rasterized": True}
            image = axes.tripcolor(Triangulation(x, y), found, shading="gouraud", **options)
            name = style.capital(group[field].attrs.get("long_name", field))
            figure.colorbar(image, ax=axes, label=style.label(name, unit), shrink=0.8, aspect=30)
        axes.set_aspect("equal")
        axes.set_xlabel(style.label(names[0], length))
        axes.set_ylabel(style.label(names[1], length))
        instant = float(result.dataset["frame_time"].values[shown])
        clock, second = style.prefix(instant, "s")
        axes.set_title(f"t = {clock * instant:.4g} {second}", loc="left")
    return figure


def _flat(places: Array) -> tuple[Array, tuple[str, str]]:
    """Positions (k, 2), m, of points (k, 3) on the plane that fits them best, and the names of its axes."""
    centre = places.mean(axis=0)
    normal = np.linalg.svd(places - centre, full_matrices=False)[2][2]
    across = int(np.abs(normal).argmax())
    if np.abs(np.delete(normal, across)).max() <= _FLAT:
        kept = [axis for axis in range(3) if axis != across]
        return places[:, kept], (NAMES[kept[0]], NAMES[kept[1]])
    first = np.cross(normal, np.eye(3)[int(np.abs(normal).argmin())])
    first /= np.linalg.norm(first)
    return (places - centre) @ np.stack([first, np.cross(normal, first)], axis=1), (
        "First axis of the surface",
        "Second axis",
    )
