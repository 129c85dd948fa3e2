"""The eye of pictures in space: which axis points upwards, and the side from which a model is seen."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial import KDTree

from arlequin.models.checks import finite_array, one_of
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.types import Array, Indices
from arlequin.plots.moving import groups_of, shifted_positions
from arlequin.results.paraview import cells_of, faces_of

if TYPE_CHECKING:
    import xarray

View = str | tuple[float, float]

CONTACT = "contact"
_AROUND = 0.2  # resultant over the sum of the forces on the surfaces below which contact has no side
_ALONG = 0.7  # cosine between the normal of the contact and an axis, above which contact is along the axis
_ABOVE, _BESIDE, _TURN = 35.0, 20.0, 35.0  # degrees: of the eye above, of that beside the contact, off its normal
_FRONT = {0: 0.0, 1: 0.0, 2: -90.0}  # azimuth of the front, by the upward axis, degrees
_THIN = 0.2  # extent over the next one below which a model is a plate, seen from its face
# azimuth from the front and elevation, degrees
_SIDES = {
    "front": (0.0, 0.0),
    "back": (180.0, 0.0),
    "right": (90.0, 0.0),
    "left": (-90.0, 0.0),
    "top": (0.0, 90.0),
    "bottom": (0.0, -90.0),
    "isometric": (45.0, float(np.degrees(np.arcsin(np.sqrt(1.0 / 3.0))))),
}
_AXES = {f"{sign}{name}": (n, -1.0 if sign else 1.0) for n, name in enumerate("xyz") for sign in ("", "-")}
NAMES = (CONTACT, *_SIDES, *_AXES)

_preferred: ContextVar[View | None] = ContextVar("preferred", default=None)


@contextlib.contextmanager
def preferring(view: View | None) -> Iterator[None]:
    """Context in which pictures without a `view` of their own take this one."""
    token = _preferred.set(view)
    try:
        yield
    finally:
        _preferred.reset(token)


class Camera(NamedTuple):
    """Parallel projection: elevation and azimuth of the eye, degrees, about the upward axis `axis` with its sign.

    With u = sign · e_axis upwards and a = e_{axis + 1}, b = u × a of a right-handed frame, the direction to the eye is

        d = cos(el) (cos(az) a + sin(az) b) + sin(el) u

    so that with z upwards the azimuth is counted from x towards y, with y upwards from z towards x.
    """

    elevation: float
    azimuth: float
    axis: int = 2
    sign: float = 1.0

    @property
    def rotation(self) -> Array:
        """Rows (3, 3): unit vectors to the right and to the top of the picture, and to the eye."""
        frame = _frame(self.axis, self.sign)
        el, az = np.radians([self.elevation, self.azimuth])
        eye = np.array([np.cos(el) * np.cos(az), np.cos(el) * np.sin(az), np.sin(el)])
        right = np.array([-np.sin(az), np.cos(az), 0.0])
        return np.array([right, np.cross(eye, right), eye]) @ frame

    @property
    def direction(self) -> Array:
        """Unit vector (3,) to the eye."""
        return np.asarray(self.rotation[2])

    def apply_to(self, panel: Any) -> None:
        """Look at a panel in space of matplotlib, whose upward axis has no sign: the picture is turned instead."""
        down = self.sign < 0.0
        turned: dict[str, float] = {"elev": self.sign * self.elevation, "azim": self.sign * self.azimuth}
        panel.view_init(roll=180.0 if down else 0.0, vertical_axis="xyz"[self.axis], **turned)


def camera_of(result: xarray.DataTree, view: View | None = None, parts: tuple[str, ...] | None = None) -> Camera:
    """The camera of a result in space; view: named direction, (elevation, azimuth) in degrees, or None.

    Upwards is against the mean gravity of the run, to the nearest axis; without gravity y where contact is along y, as
    of a model that stands on a floor y = 0, otherwise z. None, or "contact", looks from the side of the contact, see
    `contact_side`, so that the surface that touches is seen: n·d > 0 with its outward normal n and the direction d to
    the eye. Contact between two deformable parts has two sides: the one nearer to the usual direction, 35° above and
    30° to the right of the front. This is the direction, too, where there is no contact or where it is all around;
    plates are seen from their face. "front", "back", "left", "right", "top", "bottom" and "isometric" refer to the
    upward axis (the front is −y with z upwards and z with y upwards), "x", "-x", … are the sides of the axes.
    """
    view = _preferred.get() if view is None else view
    checked_view(view)
    groups = groups_of(result, parts)
    side = contact_side(result, groups)
    axis, sign = _upward(result, side)
    return looking(view, axis, sign, side, _extents(groups))


def camera_of_surface(result: xarray.DataTree, group: xarray.Dataset, view: View | None = None) -> Camera:
    """The camera of the slave of one interface, seen from outside; see `camera_of`."""
    view = _preferred.get() if view is None else view
    groups = groups_of(result, None)
    weighed = _outward(group, {name: g for name, g in groups.items() if g.sizes.get("axis") == 3})
    weighed = weighed or _against_force(group)
    side = None
    if weighed is not None and np.linalg.norm(weighed[0]) > _AROUND * weighed[1] > 0.0:
        side = Side(weighed[0] / np.linalg.norm(weighed[0]), True, weighed[2])
    axis, sign = _upward(result, contact_side(result, groups))
    return looking(view, axis, sign, side)


def checked_view(view: Any) -> None:
    """UserError for what is neither a named direction nor two finite numbers."""
    if isinstance(view, str):
        one_of("view", view, NAMES)
    elif view is not None:
        try:
            finite_array("view", view, (2,))
        except (UserError, UserTypeError) as error:
            rule = f"must be (elevation, azimuth) in degrees, or one of {', '.join(NAMES)}"
            raise type(error).parameter("view", view, rule) from None


class Side(NamedTuple):
    """The side of the contact: outward normal (3,) of the surface that touches; signed: whether it is seen from that
    side only; of_faces: whether the normal is that of faces, not of a force."""

    normal: Array
    signed: bool
    of_faces: bool


def looking(view: View | None, axis: int, sign: float, side: Side | None, extents: Array | None = None) -> Camera:
    """The camera of a view, with its upward axis; side: of the contact; extents (3,) of the model, m."""
    front = _FRONT[axis]
    if isinstance(view, str) and view in _SIDES:
        azimuth_offset, elevation = _SIDES[view]
        return Camera(elevation, front + azimuth_offset, axis, sign)
    usual = Camera(_ABOVE, front + 30.0, axis, sign)
    if isinstance(view, str) and view in _AXES:
        number, towards = _AXES[view]
        return _facing(towards * np.eye(3)[number], usual)
    if view is not None and not isinstance(view, str):
        elevation, azimuth = (float(angle) for angle in view)
        return Camera(elevation, azimuth, axis, sign)
    if side is None:
        thin = _thin(extents)
        side = None if thin is None else Side(thin, False, True)
    if side is None:
        return usual
    normal = side.normal if side.signed or side.normal @ usual.direction >= 0.0 else -side.normal
    across, height = _split(normal, usual)
    if abs(height) > _ALONG:
        return usual._replace(elevation=float(np.copysign(_ABOVE, height)))
    facing = float(np.degrees(np.arctan2(across[1], across[0])))
    turns = [facing + _TURN, facing - _TURN]
    nearest = min(turns, key=lambda az: abs((az - usual.azimuth + 180.0) % 360.0 - 180.0))
    return usual._replace(elevation=_BESIDE, azimuth=(nearest + 180.0) % 360.0 - 180.0)


def contact_side(result: xarray.DataTree, groups: dict[str, xarray.Dataset]) -> Side | None:
    """The side of the contact of a model in space; None without contact, or where it is all around.

    Mean outward normal of the faces of the slaves, weighted by the pressure of the frame with the most of it; by area
    where nothing ever touches. Of points on no face of a solid the direction against the sum of the forces on them.
    Contact with rigid obstacles, which are translucent, counts before that of two parts, which hide it.
    """
    if "interface" not in result.children:
        return None
    sides: dict[bool, list[tuple[Array, float, bool]]] = {True: [], False: []}
    solids = {name: g for name, g in groups.items() if g.sizes.get("axis") == 3}
    for node in result["interface"].children.values():
        group = node.dataset
        if group.sizes.get("axis") != 3 or "point_position" not in group or not group.sizes.get("point"):
            continue
        mean_normal = _outward(group, solids) or _against_force(group)
        if mean_normal is not None:
            sides["obstacle_position" in group or len(solids) < 2].append(mean_normal)
    for signed, items in sides.items():
        touching = [item for item in items if item[1] > 0.0]
        if touching:
            total = np.sum([normal for normal, _, _ in touching], axis=0)
            size = float(np.linalg.norm(total))
            if size > _AROUND * sum(weight for _, weight, _ in touching):
                return Side(total / size, signed, all(faces for *_, faces in touching))
    return None


def _outward(group: xarray.Dataset, solids: dict[str, xarray.Dataset]) -> tuple[Array, float, bool] | None:
    """Sum of the outward normals of the faces of a slave, each times its force, and the sum of their lengths, N."""
    points, count = group["point_position"].values, group.sizes["point"]
    trees = {name: KDTree(g["position"].values) for name, g in solids.items() if g.sizes.get("corner", 0) > 3}
    if not trees:
        return None
    near = {name: tree.query(points) for name, tree in trees.items()}
    part = min(near, key=lambda name: float(near[name][0].max()))
    nodes, solid = near[part][1], solids[part]
    pressure = np.maximum(group["pressure"].values, 0.0) if "pressure" in group else np.zeros((1, count))
    frame = int(np.nansum(pressure, axis=1).argmax())
    weights = pressure[frame] if pressure[frame].max(initial=0.0) > 0.0 else np.full(count, 1e-300)
    at_nodes = np.zeros(solid.sizes["node"])
    np.maximum.at(at_nodes, nodes, weights)
    displacement = solid["displacement"].isel(frame=min(frame, solid.sizes["frame"] - 1)).values[:, :3]
    places = shifted_positions(solid, frame) + np.where(np.isfinite(displacement), displacement, 0.0)
    touched = np.zeros(solid.sizes["node"], dtype=bool)
    touched[nodes] = True
    faces, normals = outer_faces(solid, places, touched)
    if not len(faces):
        return None
    force = at_nodes[faces].mean(axis=1)
    return force @ normals, float(force @ np.linalg.norm(normals, axis=1)), True


def outer_faces(group: xarray.Dataset, places: Array, touched: Indices | Array) -> tuple[Indices, Array]:
    """Outer faces (f, corner) of a solid all of whose nodes are `touched`, and their outward normals times area (f, 3),
    m², with the nodes at `places` (n, 3)."""
    cells = cells_of(group)
    faces, owner = faces_of(cells)
    if faces.shape[1] < 3:
        return faces[:0], np.zeros((0, 3))
    chosen = touched[faces].all(axis=1)
    faces, inside = faces[chosen], places[cells.nodes[owner[chosen]]].mean(axis=1)
    corners = places[faces]
    first, second = (
        (corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        if faces.shape[1] == 3
        else (corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    )
    normals = 0.5 * np.cross(first, second)
    outside = np.vecdot(normals, corners.mean(axis=1) - inside)
    return faces, normals * np.where(outside < 0.0, -1.0, 1.0)[:, None]


def _against_force(group: xarray.Dataset) -> tuple[Array, float, bool] | None:
    """Direction against the forces on points that are on no face of a solid, summed over the time, and their size."""
    if "force" not in group:
        return None
    forces = np.nan_to_num(group["force"].values)
    return -forces.sum(axis=0), float(np.linalg.norm(forces, axis=1).sum()), False


def _upward(result: xarray.DataTree, side: Side | None) -> tuple[int, float]:
    """Number and sign of the axis that points upwards."""
    gravity = _numbers(str(result.attrs.get("gravity", "")))
    if gravity.size == 3 and np.isfinite(gravity).all() and gravity.any():
        axis = int(np.abs(gravity).argmax())
        return axis, -float(np.sign(gravity[axis]))
    along_y = side is not None and side.of_faces and abs(float(side.normal[1])) > _ALONG
    return (1 if along_y else 2), 1.0


def _numbers(text: str) -> Array:
    """The numbers before the unit of an attribute such as «0, 0, -9.81 m/s²»."""
    try:
        return np.array([float(number) for number in text.partition(" m")[0].split(",")])
    except ValueError:
        return np.zeros(0)


def _extents(groups: dict[str, xarray.Dataset]) -> Array | None:
    """Extents (3,) of the parts, m."""
    places = [g["position"].values for g in groups.values() if g.sizes.get("axis") == 3]
    return np.ptp(np.concatenate(places), axis=0) if places else None


def _thin(extents: Array | None) -> Array | None:
    """The direction across a plate; None for bodies that are no plates."""
    if extents is None:
        return None
    order = np.argsort(extents)
    return np.eye(3)[order[0]] if extents[order[0]] < _THIN * extents[order[1]] else None


def _frame(axis: int, sign: float) -> Array:
    """Rows (3, 3): a, b and the upward direction u of a `Camera`."""
    unit = np.eye(3)
    up, first = sign * unit[axis], unit[(axis + 1) % 3]
    return np.array([first, np.cross(up, first), up])


def _split(direction: Array, camera: Camera) -> tuple[Array, float]:
    """A direction in the frame of a camera: its part (2,) across the upward axis, and that along it."""
    local = _frame(camera.axis, camera.sign) @ direction
    return local[:2], float(local[2])


def _facing(direction: Array, usual: Camera) -> Camera:
    """The camera whose eye is in a direction; from above or below, with the front at the bottom or at the top."""
    across, height = _split(direction, usual)
    elevation = float(np.degrees(np.arcsin(np.clip(height / np.linalg.norm(direction), -1.0, 1.0))))
    steep = abs(elevation) > 90.0 - 1e-6
    azimuth = _FRONT[usual.axis] if steep else float(np.degrees(np.arctan2(across[1], across[0])))
    return usual._replace(elevation=elevation, azimuth=azimuth)
