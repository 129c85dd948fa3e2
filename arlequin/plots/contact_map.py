"""Maps of contact fields on surfaces of solids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.plots import style
from arlequin.plots.histories import interface_of
from arlequin.plots.unrolled import MAP, STATUS, handle
from arlequin.results.members import one_member
from arlequin.results.reading import frame_number, of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

NAMES = "xyz"
_CURVED = 0.05  # deviation from a plane, of the extent, above which a surface is drawn in space
_HALVED, _MOST = 2, 40_000  # times that triangles are divided by four for smooth colours, if not more than so many
_TICKS = 6  # along the longest axis in space
_STEEP = 0.7  # z of the normal above which a surface is seen from above, or from below
_FLAT = 1e-3  # deviation of an axis from the normal below which the map is drawn along the other two


@of_result
def contact_map(
    result: xarray.DataTree,
    field: str = "pressure",
    interface: str | None = None,
    *,
    frame: int | None = None,
    member: int | None = None,
) -> Figure:
    """A field of the contact points (frame, point[, component]) of an interface in space, at one frame.

    Flat surfaces are drawn in their plane: along two axes of space where it is normal to the third. Curved ones, whose
    points are farther than a twentieth of their extent from the plane that fits them best, are drawn in space.
    interface: None if there is one only; frame: None takes that of the largest total. "status" is drawn as points that
    stick, slip or are open. For contact around a tube see `unrolled`. member: of an ensemble, from 0.
    """
    from matplotlib.tri import Triangulation

    result = one_member(result, member, "a map of contact")
    group = interface_of(result, interface)
    if (size := group.sizes.get("axis", 1)) != 3:
        models = "plane models" if size == 2 else "models along one axis"
        raise UserError(f"contact_map is for surfaces in space; for {models} draw plots.contact")
    if field not in group or group.sizes["point"] < 3:
        raise UserError(f"no contact points in space with a field `{field}` in the result")
    values = np.asarray(group[field].values, dtype=float)
    if values.ndim > 2:
        values = np.linalg.norm(values, axis=2)
    shown = int(np.nansum(values, axis=1).argmax()) if frame is None else frame_number(result, frame)
    if is_curved(group["point_position"].values):
        return _in_space(result, group, field, values, shown)
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
            places, found, triangles = _triangulated(group, metre * places, factor * values[shown])
            options: dict[str, Any] = {"cmap": MAP, "vmin": min(0.0, float(found.min())), "rasterized": True}
            image = axes.tripcolor(
                Triangulation(places[:, 0], places[:, 1], triangles), found, shading="gouraud", **options
            )
            name = style.capital(group[field].attrs.get("long_name", field))
            figure.colorbar(image, ax=axes, label=style.label(name, unit), shrink=0.8, aspect=30)
        axes.set_aspect("equal")
        axes.set_xlabel(style.label(names[0], length))
        axes.set_ylabel(style.label(names[1], length))
        instant = float(result.dataset["frame_time"].values[shown])
        clock, second = style.prefix(instant, "s")
        axes.set_title(f"t = {clock * instant:.4g} {second}", loc="left")
    return figure


def is_curved(places: Array) -> bool:
    """Whether points (k, 3) are farther from a plane than `_CURVED` of their extent."""
    away = places - places.mean(axis=0)
    normal = np.linalg.svd(away, full_matrices=False)[2][2]
    return float(np.ptp(away @ normal)) > _CURVED * float(np.ptp(places, axis=0).max())


def _triangulated(group: xarray.Dataset, places: Array, values: Array) -> tuple[Array, Array, Indices | None]:
    """Places (p, axis), values (p,) and triangles (t, 3) of the facets of the slave, quadrilaterals in four about their
    centres; the points alone, and None, where the result has no facets."""
    if "point_connectivity" not in group:
        return places, values, None
    facets = group["point_connectivity"].values.astype(np.int64)
    if facets.shape[1] == 3:
        return places, values, facets
    centre = len(places) + np.arange(len(facets))
    sides = [np.stack([facets[:, k], facets[:, (k + 1) % 4], centre], axis=1) for k in range(4)]
    means = places[facets].mean(axis=1), values[facets].mean(axis=1)
    return np.concatenate([places, means[0]]), np.concatenate([values, means[1]]), np.concatenate(sides)


def _in_space(result: xarray.DataTree, group: xarray.Dataset, field: str, values: Array, shown: int) -> Figure:
    """The field on a curved surface in axonometric projection, seen from the side of its mean outward normal."""
    from matplotlib.ticker import MaxNLocator
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    places, found = group["point_position"].values, values[shown]
    metre, length = style.prefix(places - places.mean(axis=0), "m")
    factor, unit = style.prefix(found, group[field].attrs.get("units", ""))
    corners, shades, triangles = _triangulated(group, metre * places, factor * found)
    clock, second = style.prefix(result.dataset["frame_time"].values[shown], "s")
    low, high = metre * places.min(axis=0), metre * places.max(axis=0)
    projection: Any = {"projection": "3d", "proj_type": "ortho"}
    with style.panels(1, 5.2, subplot_kw=projection) as (figure, (panel,)):
        view: Any = panel
        image: Any
        limits = min(0.0, float(factor * found.min())), float(factor * found.max()) or 1.0
        colours = None if field != "status" else np.array([STATUS[int(code)][1] for code in found])
        if triangles is None or colours is not None:
            look: Any = {"c": factor * found, "cmap": MAP, "vmin": limits[0], "vmax": limits[1]}
            look = look if colours is None else {"c": colours}
            image = view.scatter(*(metre * places).T, s=14, depthshade=False, **look)
        else:
            pieces, shades = _refined(corners, shades, triangles)
            image = Poly3DCollection(list(pieces), cmap=MAP, linewidths=0.2, rasterized=True)
            image.set_array(shades)
            image.set_clim(*limits)
            view.add_collection3d(image)
            image.set_edgecolor("face")  # no gaps between the triangles
            elevation, azimuth = _seen_from(corners[triangles])
            view.view_init(elev=elevation, azim=azimuth)
        shares = (high - low) / (high - low).max()
        for axis, share, name in zip((view.xaxis, view.yaxis, view.zaxis), shares, NAMES, strict=True):
            axis.set_major_locator(MaxNLocator(max(1, round(_TICKS * share))))
            axis.set_label_text(style.label(name, length))
        view.set_xlim(low[0], high[0])
        view.set_ylim(low[1], high[1])
        view.set_zlim(low[2], high[2])
        view.set_aspect("equal")
        if colours is not None:
            figure.legend(handles=[handle(*STATUS[code]) for code in STATUS], loc="outside upper right", ncols=3)
        else:
            name = style.capital(group[field].attrs.get("long_name", field))
            figure.colorbar(image, ax=panel, location="bottom", label=style.label(name, unit), shrink=0.7, aspect=40)
        instant = clock * float(result.dataset["frame_time"].values[shown])
        panel.set_title(f"t = {instant:.4g} {second}", loc="left")
    return figure


def _refined(places: Array, values: Array, triangles: Indices) -> tuple[Array, Array]:
    """Smaller triangles (t, 3, axis) and the values (t,) in their middle, linear in between."""
    corners = np.concatenate([places, values[:, None]], axis=1)[triangles]
    for _ in range(_HALVED if len(triangles) * 4**_HALVED <= _MOST else 0):
        a, b, c = np.moveaxis(corners, 1, 0)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        corners = np.concatenate(
            [np.stack(each, axis=1) for each in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    return corners[..., :3], corners[..., 3].mean(axis=1)


def _seen_from(facets: Array) -> tuple[float, float]:
    """Elevation and azimuth, degrees, of a view of facets (f, corner, 3) from outside, off the axes."""
    normal = np.cross(facets[:, 1] - facets[:, 0], facets[:, 2] - facets[:, 0]).sum(axis=0)
    if np.linalg.norm(normal) < 1e-9 * float(np.ptp(facets.reshape(-1, 3), axis=0).max()) ** 2:  # all around
        return 30.0, -60.0
    x, y, z = normal / np.linalg.norm(normal)
    if abs(z) > _STEEP:
        return float(np.copysign(50.0, z)), -60.0
    return float(np.degrees(np.arcsin(z)) + 20.0), float(np.degrees(np.arctan2(y, x)) + 25.0)


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
