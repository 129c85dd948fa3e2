"""Outlines of rigid obstacles for drawings: points and cells of the part of their surface that is near a model."""

from typing import Any, NamedTuple

import numpy as np

from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.base import RigidPlane, RigidPlanes
from arlequin.multilevel.obstacles.meshed import RigidPolyline, RigidSurface
from arlequin.multilevel.obstacles.primitives import RigidBox, RigidCylinder, RigidSphere, box_outline

_SEGMENTS = 96  # segments of a whole circle
_STOP = 0.03  # half-width of one of many planes, in diagonals of the model


class Outline(NamedTuple):
    """Points (p, axis), m, and cells (c, corner): points in 1D, segments in 2D, triangles or quadrilaterals in 3D."""

    points: Array
    cells: Indices


def outline_of(obstacle: Any, low: Array, high: Array) -> Outline | None:
    """The surface of an obstacle near a model between the corners low and high (axis,), m; None of unknown kinds.

    Unbounded and large obstacles are drawn over about the extent of the model, all points within a few micrometres per
    metre of the surface: circles are polygons of 96 sides, or finer ones. None for planes near a single point, where
    the extent to be drawn is undefined.
    """
    centre, size = 0.5 * (low + high), float(np.linalg.norm(high - low)) or float(getattr(obstacle, "radius", 0.0))
    if size == 0.0 and isinstance(obstacle, RigidPlane | RigidPlanes):
        return None
    if isinstance(obstacle, RigidPlane):
        return _plane(obstacle.point, obstacle.normal, centre, 0.75 * size)
    if isinstance(obstacle, RigidPlanes):
        planes = zip(obstacle.points, obstacle.normals, strict=True)
        return _joined([_plane(point, normal, point, _STOP * size) for point, normal in planes])
    if isinstance(obstacle, RigidSphere):
        return _sphere(obstacle.centre, obstacle.radius, centre, size)
    if isinstance(obstacle, RigidCylinder):
        return _cylinder(obstacle, centre, size)
    if isinstance(obstacle, RigidBox):
        return Outline(*box_outline(obstacle.low, obstacle.high))
    if isinstance(obstacle, RigidPolyline):
        start = np.arange(len(obstacle.points) - 1 + obstacle.closed)
        return Outline(obstacle.points, np.stack([start, (start + 1) % len(obstacle.points)], axis=1))
    if isinstance(obstacle, RigidSurface):
        return Outline(obstacle.points, obstacle.triangles)
    return None


def _plane(point: Array, normal: Array, near: Array, half: float) -> Outline:
    """A piece of a plane about the projection of `near`, from −half to half along its axes."""
    middle = near - ((near - point) @ normal) * normal
    across = np.linalg.svd(normal[None])[2][1:]
    if not len(across):
        return Outline(middle[None], np.array([[0]]))
    if len(across) == 1:
        return Outline(middle + half * np.array([[-1.0], [1.0]]) * across, np.array([[0, 1]]))
    signs = half * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    return Outline(middle + signs @ across, np.array([[0, 1, 2, 3]]))


def _arc(radius: float, size: float) -> Array:
    """Angles about the direction of the model: full circles up to four times its size, else an arc."""
    half = np.pi if radius <= 2.0 * size else 0.75 * size / radius
    return np.linspace(-half, half, _SEGMENTS + 1)


def _sphere(middle: Array, radius: float, near: Array, size: float) -> Outline:
    """A circle in the plane, or a sphere, or the part of it near the model."""
    offset = near - middle
    distance = float(np.linalg.norm(offset))
    pole = offset / distance if distance > 1e-9 * radius else np.eye(middle.size)[-1]
    angles = _arc(radius, size)
    if middle.size == 2:
        side = np.array([-pole[1], pole[0]])
        points = middle + radius * (np.multiply.outer(np.cos(angles), pole) + np.multiply.outer(np.sin(angles), side))
        return _grid(points[:, None])
    across = np.linalg.svd(pole[None])[2][1:]
    polar, azimuth = angles[_SEGMENTS // 2 :: 2], np.linspace(0.0, 2 * np.pi, _SEGMENTS // 2 + 1)
    ring = np.multiply.outer(np.cos(azimuth), across[0]) + np.multiply.outer(np.sin(azimuth), across[1])
    points = np.multiply.outer(np.cos(polar), pole)[:, None] + np.sin(polar)[:, None, None] * ring
    return _grid(middle + radius * points)


def _cylinder(obstacle: RigidCylinder, near: Array, size: float) -> Outline:
    along = (near - obstacle.point) @ obstacle.axis
    middle = obstacle.point + along * obstacle.axis
    offset = near - middle
    distance = float(np.linalg.norm(offset))
    if distance <= 1e-9 * obstacle.radius:
        offset, distance = np.linalg.svd(obstacle.axis[None])[2][1], 1.0
    first = offset / distance
    second = np.cross(obstacle.axis, first)
    angles = _arc(obstacle.radius, size)
    ring = np.multiply.outer(np.cos(angles), first) + np.multiply.outer(np.sin(angles), second)
    ends = 0.6 * size * np.array([-1.0, 1.0])
    return _grid(middle + np.multiply.outer(ends, obstacle.axis)[:, None] + obstacle.radius * ring)


def _grid(points: Array) -> Outline:
    """Segments along the points (a, 1, axis), or quadrilaterals between the points (a, b, axis)."""
    rows, columns, axes = points.shape
    number = np.arange(rows * columns).reshape(rows, columns)
    if columns == 1:
        return Outline(points.reshape(-1, axes), np.stack([number[:-1, 0], number[1:, 0]], axis=1))
    corners = [number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]]
    return Outline(points.reshape(-1, axes), np.stack([corner.ravel() for corner in corners], axis=1))


def _joined(pieces: list[Outline]) -> Outline:
    count = len(pieces[0].points)
    cells = np.concatenate([piece.cells + n * count for n, piece in enumerate(pieces)])
    return Outline(np.concatenate([piece.points for piece in pieces]), cells)


def clipped(polygon: Array, low: Array, high: Array) -> Array:
    """The part of a convex polygon (k, axis) in the box between low and high (axis,); empty if there is none.

    >>> clipped(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0]]), np.zeros(2), np.ones(2)).tolist()
    [[1.0, 0.5], [0.0, 0.0], [1.0, 0.0]]
    """
    for axis in range(polygon.shape[1]):
        for sign, bound in ((1.0, low[axis]), (-1.0, -high[axis])):
            height = sign * polygon[:, axis] - bound
            corners = []
            for n in range(len(polygon)):
                if height[n - 1] * height[n] < 0.0:
                    share = height[n - 1] / (height[n - 1] - height[n])
                    corners.append((1.0 - share) * polygon[n - 1] + share * polygon[n])
                if height[n] >= 0.0:
                    corners.append(polygon[n])
            polygon = np.array(corners).reshape(-1, polygon.shape[1])
    return polygon
