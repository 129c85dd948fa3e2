"""Maps of contact fields on surfaces of solids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.types import Array, Indices
from arlequin.plots import style
from arlequin.plots.camera import View, camera_of_surface, checked_view
from arlequin.plots.histories import instants, interface_of
from arlequin.plots.scene import ruled
from arlequin.plots.unrolled import MAP, STATUS, handle
from arlequin.results.members import one_member
from arlequin.results.reading import frame_number, of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

Overlay = Mapping[str, ArrayLike | tuple[ArrayLike, float]]

NAMES = "xyz"
_CURVED = 0.05  # deviation from a plane, of the extent, above which a surface is drawn in space
_HALVED, _MAX_TRIANGLES = (
    2,
    40_000,
)  # times that triangles are divided by four for smooth colours, if not more than so many
_FLAT = 0.17  # sine of the angle of an axis to the normal (10°) below which the map is drawn along the other two
_MARGIN = 0.25  # of the extent of what touches: what is seen beside it
_LINE = 1e-3  # second extent over the largest one, below which points are on a line
_CIRCLE = 181  # points of a circle


class _Plane(NamedTuple):
    """The plane of a map: origin (3,), m, two unit vectors (2, 3), and the names of its axes."""

    origin: Array
    axes: Array
    names: tuple[str, str]

    def of(self, points: Array) -> Array:
        """Coordinates (…, 2), m, of points (…, 3)."""
        return np.asarray((points - self.origin) @ self.axes.T)

    def in_space(self, points: Array) -> Array:
        """Points (…, 3) of coordinates (…, 2) on the map, m."""
        return np.asarray(self.origin + points @ self.axes)


class _Map(NamedTuple):
    """What is drawn: the interface, points and facets of it (a mask (k,)) in the region shown, values (k,) of a field
    at a frame, with its name and unit; region: corners (3,), m."""

    group: xarray.Dataset
    field: str
    values: Array
    inside: Array
    low: Array
    high: Array
    title: str

    @property
    def unit(self) -> str:
        """Unit of the field."""
        return str(self.group[self.field].attrs.get("units", ""))

    @property
    def name(self) -> str:
        """Name of the field."""
        return style.capital(self.group[self.field].attrs.get("long_name", self.field))

    @property
    def places(self) -> Array:
        """All points (k, 3), m."""
        return np.asarray(self.group["point_position"].values)


@of_result
def contact_map(
    result: xarray.DataTree,
    field: str = "pressure",
    interface: str | None = None,
    *,
    frame: int | None = None,
    member: int | None = None,
    zoom: bool = True,
    overlay: Overlay | None = None,
    view: View | None = None,
) -> Figure:
    """A field of the contact points (frame, point[, component]) of an interface in space, at one frame.

    The region that touches at that frame is shown with a margin of a quarter of its extent; zoom=False shows the whole
    interface, as where nothing touches. Flat regions are drawn in their plane: along two axes of space where it is
    normal to the third. Curved ones, whose points are farther than a twentieth of their extent from the plane that fits
    them best, are drawn in space, seen from outside, or from `view`, see `shape`.
    interface: None if there is one only; frame: None takes that of the largest total. "status" is drawn as points that
    stick, slip or are open. For contact around a tube see `unrolled`. member: of an ensemble, from 0.

    overlay: reference curves by label: points (n, 3) in space, or (n, 2) along the axes of a flat map, m, joined by a
    line; or (centre, radius) of a circle in the plane of the region, such as Hertz's circle of contact. More can be
    drawn on `figure.axes[0]`, in the unit of its labels.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> box = aq.mesh.box((0.0, 0.04), (0.0, 0.04), (0.0, 0.01), cells=(8, 8, 2))
    >>> block = aq.Solid("block", box, steel, imposed={"front": {"x": 0.0, "y": 0.0, "z": lambda t: -1e-5 * t}})
    >>> ball = aq.RigidSphere(centre=(0.02, 0.02, -0.1), radius=0.1)
    >>> contact = aq.Interface("ball", block.boundary("back"), ball, aq.Unilateral("gap"))
    >>> result = aq.simulate(aq.System([block], interfaces=[contact]), aq.Static(), duration=1.0, step=1.0)
    >>> circle = {"a = √(R d)": ((0.02, 0.02, 0.0), (0.1 * 1e-5) ** 0.5)}  # m
    >>> figure = aq.plots.contact_map(result, overlay=circle)
    >>> figure.axes[0].get_title(loc="left"), figure.axes[0].get_xlabel(), figure.legends[0].get_texts()[0].get_text()
    ('load step 1 of 1', 'x (mm)', 'a = √(R d)')
    """
    result = one_member(result, member, "a map of contact")
    checked_view(view)
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
    low, high = _region(group, shown, checks.flag("zoom", zoom))
    inside = _between(group["point_position"].values, low, high)
    title = instants(result, np.array([shown]))[0]
    drawn = _Map(group, field, values[shown], inside, low, high, title)
    plane = _fitted(drawn.places[inside])
    curves = _curves({} if overlay is None else overlay, plane)
    if curves:
        drawn = _widened(drawn, np.concatenate(list(curves.values())))
        plane = _fitted(drawn.places[drawn.inside])
    if is_curved(drawn.places[drawn.inside]):
        return _in_space(result, drawn, curves, view)
    return _in_plane(drawn, plane, curves)


def _region(group: xarray.Dataset, frame: int, zoom: bool) -> tuple[Array, Array]:
    """Corners (3,), m, of a box around what touches, of whole facets, with its margin; of the whole interface where
    nothing does."""
    places = group["point_position"].values
    ends = places.min(axis=0), places.max(axis=0)
    beside = 0.03 * float(np.ptp(places, axis=0).max())
    whole = ends[0] - beside, ends[1] + beside
    name = next((known for known in ("status", "pressure") if known in group), None)
    touching = np.zeros(len(places), dtype=bool) if name is None else group[name].isel(frame=frame).values > 0.0
    if not zoom or not touching.any():
        return whole
    if "point_connectivity" in group:
        facets = group["point_connectivity"].values.astype(np.int64)
        chosen = np.unique(facets[touching[facets].any(axis=1)])
        low, high = places[chosen].min(axis=0), places[chosen].max(axis=0)
    else:
        size = float(np.sqrt(group["area"].values[touching].max())) if "area" in group else 0.0
        low, high = places[touching].min(axis=0) - size, places[touching].max(axis=0) + size
    margin = np.maximum(_MARGIN * (high - low), 0.03 * float((high - low).max()))
    low, high = np.maximum(low - margin, whole[0]), np.minimum(high + margin, whole[1])
    extents = np.linalg.svd(places[_between(places, low, high)] - places[touching].mean(axis=0), compute_uv=False)
    return (low, high) if extents.size > 1 and extents[1] > _LINE * extents[0] else whole


def _widened(drawn: _Map, points: Array) -> _Map:
    """The map with a region that includes points (n, 3), as far as the interface goes."""
    beside = 0.03 * float(np.ptp(drawn.places, axis=0).max())
    low = np.minimum(drawn.low, np.maximum(points.min(axis=0), drawn.places.min(axis=0)) - beside)
    high = np.maximum(drawn.high, np.minimum(points.max(axis=0), drawn.places.max(axis=0)) + beside)
    return drawn._replace(low=low, high=high, inside=_between(drawn.places, low, high))


def _between(places: Array, low: Array, high: Array) -> Array:
    """Whether points (k, 3) are in a box."""
    return np.asarray(((places >= low) & (places <= high)).all(axis=1))


def _curves(overlay: Overlay, plane: _Plane) -> dict[str, Array]:
    """Points (n, 3), m, of the curves of an overlay."""
    checks.mapping("overlay", overlay, 'must map labels to curves or circles, as {"Hertz": (centre, radius)}')
    curves = {}
    for label, curve in overlay.items():
        circle = isinstance(curve, tuple | list) and len(curve) == 2 and np.ndim(curve[1]) == 0
        if circle:
            centre = _points(f"overlay['{label}']: centre", np.atleast_2d(np.asarray(curve[0])), plane)  # type: ignore[index]
            radius = checks.positive(f"overlay['{label}']: radius", curve[1])  # type: ignore[index]
            angle = np.linspace(0.0, 2 * np.pi, _CIRCLE)[:, None]
            curves[label] = centre + radius * (np.cos(angle) * plane.axes[0] + np.sin(angle) * plane.axes[1])
        else:
            curves[label] = _points(f"overlay['{label}']", curve, plane)
    return curves


def _points(what: str, coordinates: Any, plane: _Plane) -> Array:
    """Points (n, 3), m, of points in space or on the map."""
    rule = "must be points (n, 3) in space or (n, 2) on the map, m, or (centre, radius) of a circle"
    try:
        points = checks.finite_array(what, coordinates, (None, None))
    except (UserError, UserTypeError) as error:
        raise type(error).parameter(what, coordinates, rule) from None
    if not len(points) or points.shape[1] not in (2, 3):
        raise UserError.parameter(what, coordinates, rule)
    return points if points.shape[1] == 3 else plane.in_space(points)


def _in_plane(drawn: _Map, plane: _Plane, curves: dict[str, Array]) -> Figure:
    """The map of a flat region."""
    from matplotlib.tri import Triangulation

    corners = plane.of(np.stack(np.meshgrid(*np.stack([drawn.low, drawn.high], axis=1)), axis=-1).reshape(-1, 3))
    coordinates = plane.of(drawn.places)
    beside = 0.03 * float(np.ptp(coordinates[drawn.inside], axis=0).max())
    # corners of a box that is not along the axes of the map are off the surface
    low = np.maximum(corners.min(axis=0), coordinates.min(axis=0) - beside)
    high = np.minimum(corners.max(axis=0), coordinates.max(axis=0) + beside)
    span = high - low
    metre, length = style.prefix(np.stack([low, high]), "m")
    factor, unit = style.prefix(drawn.values[drawn.inside], drawn.unit)
    height = float(np.clip(0.62 * style.WIDTH * span[1] / max(span[0], 1e-300), 1.5, 6.0)) + 1.2
    with style.panels(1, height, settings={"axes.grid": False}) as (figure, (axes,)):
        entries = []
        if drawn.field == "status":
            colours = [STATUS[int(code)][1] for code in drawn.values[drawn.inside]]
            x, y = metre * coordinates[drawn.inside].T
            axes.scatter(x, y, s=14, c=colours, marker="s", linewidths=0)
            entries = [handle(*STATUS[code]) for code in STATUS]
        else:
            places, values, triangles = _triangulated(
                drawn.group, metre * coordinates, factor * drawn.values, drawn.inside
            )
            options: dict[str, Any] = {"cmap": MAP, "vmin": min(0.0, float(values.min())), "rasterized": True}
            image = axes.tripcolor(
                Triangulation(places[:, 0], places[:, 1], triangles), values, shading="gouraud", **options
            )
            figure.colorbar(image, ax=axes, label=style.label(drawn.name, unit), shrink=0.8, aspect=30)
        entries += _draw_curves(axes, {label: metre * plane.of(points) for label, points in curves.items()})
        axes.set_aspect("equal")
        axes.set_xlim(*(metre * np.array([low[0], high[0]])))
        axes.set_ylim(*(metre * np.array([low[1], high[1]])))
        axes.set_xlabel(style.label(plane.names[0], length))
        axes.set_ylabel(style.label(plane.names[1], length))
        axes.set_title(drawn.title, loc="left")
        if entries:
            figure.legend(handles=entries, loc="outside upper right", ncols=3)
    return figure


def _draw_curves(panel: Any, curves: dict[str, Array]) -> list[Any]:
    """Draw curves (n, axis) over the colours; returns the entries of a legend."""
    from matplotlib.patheffects import withStroke

    entries = []
    for n, (label, points) in enumerate(curves.items()):
        look: Any = {"color": "black", "linewidth": 1.4, "linestyle": style.DASHES[(n + 1) % len(style.DASHES)]}
        (line,) = panel.plot(
            *points.T, label=label, path_effects=[withStroke(linewidth=3.2, foreground="white")], **look
        )
        line.set_zorder(10)
        entries.append(line)
    return entries


def is_curved(places: Array) -> bool:
    """Whether points (k, 3) are farther from a plane than `_CURVED` of their extent."""
    away = places - places.mean(axis=0)
    normal = np.linalg.svd(away, full_matrices=False)[2][2]
    return float(np.ptp(away @ normal)) > _CURVED * float(np.ptp(places, axis=0).max())


def _triangulated(
    group: xarray.Dataset, places: Array, values: Array, inside: Array | None = None, whole: bool = False
) -> tuple[Array, Array, Indices | None]:
    """Places (p, axis), values (p,) and triangles (t, 3) of the facets of the slave, quadrilaterals in four about their
    centres; the points alone, and None, where the result has no facets. inside (k,): of facets with such points only;
    whole: without those that have others, too."""
    inside = np.ones(len(places), dtype=bool) if inside is None else inside
    if "point_connectivity" not in group:
        return places[inside], values[inside], None
    facets = group["point_connectivity"].values.astype(np.int64)
    facets = facets[inside[facets].all(axis=1) if whole else inside[facets].any(axis=1)]
    if facets.shape[1] == 3:
        return places, values, facets
    centre = len(places) + np.arange(len(facets))
    sides = [np.stack([facets[:, k], facets[:, (k + 1) % 4], centre], axis=1) for k in range(4)]
    means = places[facets].mean(axis=1), values[facets].mean(axis=1)
    return np.concatenate([places, means[0]]), np.concatenate([values, means[1]]), np.concatenate(sides)


def _in_space(result: xarray.DataTree, drawn: _Map, curves: dict[str, Array], view: View | None) -> Figure:
    """The field on a curved region in axonometric projection, seen from outside."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    places, values = drawn.places, drawn.values
    metre, length = style.prefix(np.stack([drawn.low, drawn.high]) - places.mean(axis=0), "m")
    factor, unit = style.prefix(values[drawn.inside], drawn.unit)
    # panels in space do not clip: facets across the border of the region are left out
    corners, shades, triangles = _triangulated(drawn.group, metre * places, factor * values, drawn.inside, whole=True)
    camera = camera_of_surface(result, drawn.group, view)
    projection: Any = {"projection": "3d", "proj_type": "ortho"}
    with style.panels(1, 5.2, subplot_kw=projection) as (figure, (panel,)):
        axes: Any = panel
        image: Any
        seen = factor * values[drawn.inside]
        limits = min(0.0, float(seen.min())), float(seen.max()) or 1.0
        colours = None if drawn.field != "status" else np.array([STATUS[int(code)][1] for code in values[drawn.inside]])
        if triangles is None or colours is not None:
            look: Any = {"c": seen, "cmap": MAP, "vmin": limits[0], "vmax": limits[1]}
            look = look if colours is None else {"c": colours}
            image = axes.scatter(*(metre * places[drawn.inside]).T, s=14, depthshade=False, **look)
        else:
            pieces, shades = _refined(corners, shades, triangles)
            image = Poly3DCollection(list(pieces), cmap=MAP, linewidths=0.2, rasterized=True)
            image.set_array(shades)
            image.set_clim(*limits)
            axes.add_collection3d(image)
            image.set_edgecolor("face")  # no gaps between the triangles
        camera.apply_to(axes)
        entries = _draw_curves(axes, {label: metre * points for label, points in curves.items()})
        low, high = metre * drawn.low, metre * drawn.high
        for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), NAMES, strict=True):
            axis.set_label_text(style.label(name, length))
        ruled(axes, high - low, camera)
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        axes.set_zlim(low[2], high[2])
        axes.set_aspect("equal")
        if colours is not None:
            entries = [*(handle(*STATUS[code]) for code in STATUS), *entries]
        else:
            label = style.label(drawn.name, unit)
            figure.colorbar(image, ax=panel, location="bottom", label=label, shrink=0.7, aspect=40)
        if entries:
            figure.legend(handles=entries, loc="outside upper right", ncols=3)
        panel.set_title(drawn.title, loc="left")
    return figure


def _refined(places: Array, values: Array, triangles: Indices) -> tuple[Array, Array]:
    """Smaller triangles (t, 3, axis) and the values (t,) in their middle, linear in between."""
    corners = np.concatenate([places, values[:, None]], axis=1)[triangles]
    for _ in range(_HALVED if len(triangles) * 4**_HALVED <= _MAX_TRIANGLES else 0):
        a, b, c = np.moveaxis(corners, 1, 0)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        corners = np.concatenate(
            [np.stack(each, axis=1) for each in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    return corners[..., :3], corners[..., 3].mean(axis=1)


def _fitted(places: Array) -> _Plane:
    """The plane that fits points (k, 3) best, along two axes of space where it is normal to the third."""
    centre = places.mean(axis=0)
    normal = np.linalg.svd(places - centre, full_matrices=False)[2][2]
    across = int(np.abs(normal).argmax())
    if np.abs(np.delete(normal, across)).max() <= _FLAT:
        in_plane = [axis for axis in range(3) if axis != across]
        origin = np.where(np.arange(3) == across, centre, 0.0)
        return _Plane(origin, np.eye(3)[in_plane], (NAMES[in_plane[0]], NAMES[in_plane[1]]))
    first = np.cross(normal, np.eye(3)[int(np.abs(normal).argmin())])
    first /= np.linalg.norm(first)
    return _Plane(centre, np.stack([first, np.cross(normal, first)]), ("First axis of the surface", "Second axis"))
