"""Rigid obstacles: signed distances against closed forms, dense sampling and winding numbers."""

from itertools import product

import numpy as np
import pytest

from arlequin.models.errors import UserError
from arlequin.multilevel.obstacles.base import Obstacle, RigidPlane, RigidPlanes
from arlequin.multilevel.obstacles.meshed import RigidPolyline, RigidSurface
from arlequin.multilevel.obstacles.primitives import RigidBox, RigidCylinder, RigidSphere

# counter-clockwise: an L with a re-entrant corner at (1, 1)
ELL = np.array([[0, 0], [3, 0], [3, 1], [1, 1], [1, 2], [0, 2]], float)


def gradient(obstacle, x, step=1e-6):
    """Central differences of the gap (k, a): the normal, wherever the closest point is unique."""
    shifts = step * np.eye(x.shape[1])
    return np.stack([(obstacle.closest(x + s)[0] - obstacle.closest(x - s)[0]) / (2 * step) for s in shifts], axis=1)


def prism(polygon, height):
    """Points and triangles of a prism over an ell: side walls, and both ends cut as two rectangles."""
    n = len(polygon)
    points = np.vstack([np.column_stack([polygon, np.full(n, z)]) for z in (0.0, height)])
    walls = [t for i in range(n) for j in [(i + 1) % n] for t in ((i, j, n + j), (i, n + j, n + i))]
    floor = [(0, 1, 3), (1, 2, 3), (0, 3, 5), (3, 4, 5)]
    return points, np.array(walls + [(c, b, a) for a, b, c in floor] + [(n + a, n + b, n + c) for a, b, c in floor])


def in_ell(x):
    within = lambda low, high: (x >= low).all(axis=1) & (x <= high).all(axis=1)  # noqa: E731
    return within((0, 0), (3, 1)) | within((0, 0), (1, 2))


def test_planes_for_one_point_each():
    rng = np.random.default_rng(7)
    points, normals, x = rng.standard_normal((3, 5, 3))
    planes = RigidPlanes(points, normals)
    assert isinstance(planes, Obstacle)
    gaps, found = planes.closest(x)
    for k in range(5):
        gap, normal = RigidPlane(points[k], normals[k]).closest(x[k : k + 1])
        np.testing.assert_allclose((gaps[k], *found[k]), (gap[0], *normal[0]), rtol=1e-14)
    with pytest.raises(UserError, match="5 rigid planes for 4 contact points"):
        planes.closest(x[:4])
    with pytest.raises(UserError, match="normals"):
        RigidPlanes(points, 0.0 * normals)


def test_sphere_cylinder_and_their_holes():
    rng = np.random.default_rng(1)
    for axes in (2, 3):
        centre, x = rng.standard_normal(axes), 3 * rng.standard_normal((50, axes))
        gap, normals = RigidSphere(centre, 1.5).closest(x)
        assert gap == pytest.approx([np.sqrt(((p - centre) ** 2).sum()) - 1.5 for p in x], abs=1e-14)
        assert x - gap[:, None] * normals == pytest.approx(centre + 1.5 * normals, abs=1e-13)
        hole, inward = RigidSphere(centre, 1.5, inside=True).closest(x)
        assert (hole == -gap).all() and (inward == -normals).all()
    axis, point = np.array([1.0, 2.0, -2.0]), rng.standard_normal(3)
    gap, normals = RigidCylinder(point, axis, 0.7).closest(x)
    assert gap == pytest.approx(np.linalg.norm(np.cross(x - point, axis / 3), axis=1) - 0.7, abs=1e-13)
    assert gradient(RigidCylinder(point, axis, 0.7), x) == pytest.approx(normals, abs=1e-7)
    # on the axis any normal across it serves
    gap, normals = RigidCylinder(point, axis, 0.7, inside=True).closest(point[None] + axis)
    assert (
        gap == pytest.approx([0.7]) and abs(normals[0] @ axis) <= 1e-15 and np.linalg.norm(normals) == pytest.approx(1)
    )
    gap, normals = RigidSphere((1.0, 2.0), 0.7).closest(np.array([[1.0, 2.0]]))
    assert gap == [-0.7] and np.linalg.norm(normals) == 1


@pytest.mark.parametrize("axes", [2, 3])
def test_box(axes):
    """Faces, edges and corners: outside the distance to the clipped point, inside the least distance to a face."""
    low, high = np.array([-1.0, 0.0, 1.0])[:axes], np.array([1.0, 3.0, 1.5])[:axes]
    x = np.random.default_rng(2).uniform(low - 0.6, high + 0.6, (400, axes))
    box = RigidBox(low, high)
    gap, normals = box.closest(x)
    outside = np.linalg.norm(x - np.clip(x, low, high), axis=1)
    inside = np.minimum(x - low, high - x).min(axis=1)
    assert gap == pytest.approx(np.where(outside > 0, outside, -inside), abs=1e-14)
    assert gradient(box, x) == pytest.approx(normals, abs=1e-6)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1, abs=1e-14)
    # on a face, and exactly at a corner, the normal is one of the faces'
    on = np.vstack([0.5 * (low + high), high])
    on[0, 1] = high[1]
    gap, normals = box.closest(on)
    assert (gap == 0).all() and (np.abs(normals).sum(axis=1) == 1).all() and (normals >= 0).all()
    assert (RigidBox(low, high, inside=True).closest(x)[0] == -box.closest(x)[0]).all()


def test_closed_polyline():
    """An ell: distance by dense sampling, sign by membership, normal the gradient (corners included)."""
    x = np.random.default_rng(3).uniform((-1, -1), (4, 3), (300, 2))
    line = RigidPolyline(ELL, closed=True)
    gap, normals = line.closest(x)
    w = np.linspace(0, 1, 2001)[:, None]
    samples = np.vstack([a + w * (b - a) for a, b in zip(ELL, np.roll(ELL, -1, axis=0), strict=True)])
    distance = np.array([np.sqrt(((samples - p) ** 2).sum(axis=1).min()) for p in x])
    assert gap == pytest.approx(np.where(in_ell(x), -distance, distance), abs=2e-3)
    assert (np.sign(gap) == np.where(in_ell(x), -1, 1)).all()
    assert gradient(line, x) == pytest.approx(normals, abs=1e-5)
    hole, inward = RigidPolyline(ELL[::-1], closed=True).closest(x)
    assert hole == pytest.approx(-gap, abs=1e-14) and inward == pytest.approx(-normals, abs=1e-13)


def test_corners_of_a_polyline_are_exact():
    line = RigidPolyline(ELL, closed=True)
    x = np.array([[3.3, -0.4], [0.7, 0.6], [3.0, 0.0], [1.0, 1.0], [3.0, -1e-12]])
    gap, normals = line.closest(x)
    assert gap == pytest.approx([0.5, -0.5, 0, 0, 1e-12], abs=1e-14)
    # off a convex corner away from it; in the solid off a re-entrant one towards it; on a corner one of the sides'
    assert normals[:2] == pytest.approx(np.array([[0.6, -0.8], [0.6, 0.8]]), abs=1e-13)
    assert (np.abs(normals[2:4]) @ [1, 1] == 1).all() and (normals[2:4] * [1, -1] >= 0)[0].all()


def test_open_polyline_ends():
    """The solid is on the left of the way; past the ends there is no partner."""
    floor = RigidPolyline([[1.0, 0.0], [0.0, 0.0]])
    gap, normals = floor.closest(np.array([[0.3, 0.2], [0.3, -0.2], [1.0, 0.1], [1.01, 0.1], [-0.2, -0.1]]))
    assert (gap == [0.2, -0.2, 0.1, np.inf, np.inf]).all()
    assert (normals == [[0, 1], [0, 1], [0, 1], [0, 0], [0, 0]]).all()


def test_surface():
    """A prism over an ell: distance by a closed form, sign by membership, normal the gradient."""
    points, triangles = prism(ELL, 1.5)
    surface = RigidSurface(points, triangles)
    x = np.random.default_rng(4).uniform((-1, -1, -1), (4, 3, 2.5), (400, 3))
    gap, normals = surface.closest(x)
    plane = RigidPolyline(ELL, closed=True).closest(x[:, :2])[0]
    height = np.maximum(-x[:, 2], x[:, 2] - 1.5)
    out = np.sqrt(np.maximum(plane, 0) ** 2 + np.maximum(height, 0) ** 2)
    assert gap == pytest.approx(np.where(out > 0, out, np.maximum(plane, height)), abs=1e-12)
    assert gradient(surface, x) == pytest.approx(normals, abs=1e-5)


def test_free_edge_of_a_surface():
    square = RigidSurface([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    gap, normals = square.closest(np.array([[0.5, 0.5, 0.1], [0.0, 0.0, -0.2], [1.0, 0.4, 3.0], [1.1, 0.4, 0.1]]))
    assert gap == pytest.approx([0.1, -0.2, 3.0, np.inf], abs=1e-15)
    assert normals == pytest.approx(np.array([[0, 0, 1.0]] * 3 + [[0, 0, 0]]), abs=1e-15)


def test_plane_and_protocol():
    plane = RigidPlane((0.0, 1.0), (0.0, 2.0))
    gap, normals = plane.closest(np.array([[5.0, 1.5]]))
    assert gap == [0.5] and (normals == [[0, 1]]).all() and plane.flat
    end = RigidPlane(0.1, -1.0)
    assert end.axes == 1 and end.closest(np.array([[0.0]]))[0] == pytest.approx([0.1])
    curved = [RigidSphere((0, 0), 1), RigidCylinder((0, 0, 0), (0, 0, 1), 1), RigidBox((0, 0), (1, 1))]
    curved += [RigidPolyline(ELL), RigidSurface(*prism(ELL, 1.0))]
    assert all(isinstance(obstacle, Obstacle) and not obstacle.flat for obstacle in curved)
    assert [obstacle.axes for obstacle in curved] == [2, 3, 2, 2, 3]


def test_bad_input_is_one_clear_line():
    good = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    bad = [
        (lambda: RigidSphere((0, 0), -1.0), "radius = -1.0: must be positive"),
        (lambda: RigidSphere((0, 0, 0, 0), 1.0), "centre = .*2 or 3 coordinates"),
        (lambda: RigidCylinder((0, 0), (0, 0, 1), 1.0), "point = .*3 coordinates"),
        (lambda: RigidCylinder((0, 0, 0), (0, 0, 0), 1.0), "axis = .*must not be zero"),
        (lambda: RigidBox((0, 1), (1, 1)), "high = .*greater than low"),
        (lambda: RigidBox((0, 1), (1, np.nan)), "high = .*finite"),
        (lambda: RigidPolyline([[0, 0]]), "points = .*at least 2"),
        (lambda: RigidPolyline([[0, 0], [1, 0]], closed=True), "points = .*at least 3"),
        (lambda: RigidPolyline([[0, 0], [0, 0], [1, 0]]), "points = .*repeat"),
        (lambda: RigidSurface(good, [[0, 1, 4]]), "triangles = .*0 to 3"),
        (lambda: RigidSurface(good, [[0, 1, 1]]), "triangle 0 has no area"),
        (lambda: RigidSurface(good, [[0, 1, 2], [2, 0, 3], [0, 1, 3]]), "same way"),
        (lambda: RigidSurface(good, np.zeros((0, 3), int)), "triangles = "),
    ]  # fmt: skip
    for make, message in bad:
        with pytest.raises(UserError, match=message) as raised:
            make()
        assert "\n" not in str(raised.value)


def test_normals_are_unit_on_a_grid():
    """Symmetric points, where the nearest face, edge or corner is a tie, still get one unit normal."""
    grid = np.array(list(product(np.linspace(-0.5, 1.5, 9), repeat=3)))
    for obstacle in (RigidBox((0, 0, 0), (1, 1, 1)), RigidSphere((0.5, 0.5, 0.5), 0.3), RigidSurface(*prism(ELL, 1.0))):
        gap, normals = obstacle.closest(grid)
        assert np.isfinite(gap).all() and np.linalg.norm(normals, axis=1) == pytest.approx(1, abs=1e-13)
