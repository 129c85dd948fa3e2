"""Zones too thin for the mediator that glues in them."""

import numpy as np

from arlequin.junctions.base import extent, extents
from arlequin.junctions.zone import SAME
from arlequin.junctions.zone_coordinate import LevelZoneCoordinate, PlanarZoneCoordinate, ZoneCoordinate
from arlequin.models.errors import UserError
from arlequin.models.part import MeshedPart


def check_thickness(name: str, coarse: MeshedPart, fine: MeshedPart, zone_coordinate: ZoneCoordinate) -> None:
    """A band thinner than one coarse cell would leave the mediator without a whole cell."""
    if isinstance(zone_coordinate, LevelZoneCoordinate):
        _check_level(name, coarse, fine, zone_coordinate)
    elif isinstance(zone_coordinate, PlanarZoneCoordinate):
        _check_planes(name, coarse, fine, zone_coordinate)


def _check_planes(name: str, coarse: MeshedPart, fine: MeshedPart, zone_coordinate: PlanarZoneCoordinate) -> None:
    for normal, start, width in zip(
        zone_coordinate.normals, zone_coordinate.starts, zone_coordinate.widths, strict=True
    ):
        along = np.tensordot(normal, coarse.mesh.p, axes=1)[coarse.mesh.t]
        inside = (along.max(axis=0) > start) & (along.min(axis=0) < start + width)
        if not inside.any():
            raise UserError(f"junction '{name}': the zone lies outside '{coarse.name}'")
        cell = float(np.ptp(along[:, inside], axis=0).min())
        if width < cell * (1 - SAME):
            raise UserError(
                f"junction '{name}': {extents(coarse, fine)} overlap over {width:.6g} m, "
                f"less than one cell of '{coarse.name}' ({cell:.6g} m)"
            )


def _check_level(name: str, coarse: MeshedPart, fine: MeshedPart, zone_coordinate: LevelZoneCoordinate) -> None:
    """The thickness of a cell is what the level rises over it; the thickest of those in the zone decides.

    Measured on a ring of 4 cells across with patches at its hole, 360 zones at random: from this thickness on the
    largest error of the displacement in S_f is 0.8–4 %, as in wider zones; below 0.6 of it up to 11 %, and some patches
    leave the system singular.
    """
    mesh, width = coarse.mesh, float(zone_coordinate.widths[0])
    level = width * zone_coordinate.coordinate(mesh.p[:, mesh.t])
    low, high = extent(fine)
    vertices = mesh.p[:, mesh.t]
    near = ((low < vertices.max(axis=1).T) & (high > vertices.min(axis=1).T)).all(axis=1)
    inside = near & (level.max(axis=0) > 0.0) & (level.min(axis=0) < width)  # not where it is not finite
    if not inside.any():
        return
    rise = np.where(inside, np.ptp(level, axis=0), 0.0)
    most = int(np.argmax(rise))
    if width < rise[most] * (1 - SAME):
        place = ", ".join(f"{x:.6g}" for x in vertices[:, :, most].mean(axis=1))
        raise UserError(
            f"junction '{name}': the zone of {width:.6g} m is thinner than the cell of '{coarse.name}' at ({place}), "
            f"in which the level rises by {rise[most]:.6g} m: give a width of {rise[most]:.6g} m or more"
        )
