"""Outlines of rigid obstacles lie on their surfaces, and stand in figures, animations and VTU files."""

import meshio
import numpy as np
import pytest

import arlequin as aq
from arlequin import plots
from arlequin.multilevel.obstacles.outline import outline_of
from arlequin.plots.obstacles import Drawn, clipped, widened

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SPACE = [[0.0, 0.0, 0.3], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
KINDS = {
    "point": aq.RigidPlane(0.101, -1.0),
    "line": aq.RigidPlane((0.1, 0.0), (-1.0, 0.2)),
    "plane": aq.RigidPlane((0.1, 0.0, 0.0), (-1.0, 0.2, 0.3)),
    "lines": aq.RigidPlanes([(0.1, 0.0), (0.2, 0.0)], [(-1.0, 0.0), (0.0, 1.0)]),
    "circle": aq.RigidSphere((0.15, 0.02), 0.05),
    "large circle": aq.RigidSphere((50.1, 0.02), 50.0),
    "hole": aq.RigidSphere((0.05, 0.02), 0.2, inside=True),
    "sphere": aq.RigidSphere((0.15, 0.02, 0.0), 0.05),
    "large sphere": aq.RigidSphere((0.1, 0.02, -50.0), 50.0),
    "cylinder": aq.RigidCylinder((0.15, 0.02, 0.0), (1.0, 0.0, 1.0), 0.05),
    "large cylinder": aq.RigidCylinder((0.1, 0.0, -9.0), (0.0, 1.0, 0.0), 9.0),
    "rectangle": aq.RigidBox((0.1, 0.0), (0.2, 0.1)),
    "box": aq.RigidBox((0.1, 0.0, 0.0), (0.2, 0.1, 0.3)),
    "polyline": aq.RigidPolyline([(0.2, 0.0), (0.2, 1.0), (0.0, 1.0)], closed=True),
    "surface": aq.RigidSurface(SPACE, [[0, 1, 2]]),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", KINDS)
def test_an_outline_lies_on_the_surface_near_the_model(name):
    """Its points have no gap, the middles of its cells that of chords, and it comes as near as the obstacle does."""
    obstacle = KINDS[name]
    low, high = np.zeros(obstacle.axes), np.array([0.1, 0.04, 0.02])[: obstacle.axes]
    points, cells = outline_of(obstacle, low, high)
    assert points.shape[1] == obstacle.axes and 0 <= cells.min() <= cells.max() < len(points)
    assert cells.shape[1] == {1: 1, 2: 2}.get(obstacle.axes, 3 if name == "surface" else 4)
    size = np.linalg.norm(high - low)
    if name != "lines":  # each of the planes is for one point
        gap, _ = obstacle.closest(points)
        assert np.abs(gap).max() <= 1e-12 * max(size, np.abs(points).max())
        chords, _ = obstacle.closest(points[cells].mean(axis=1))
        assert np.abs(chords).max() <= 3e-3 * max(size, 0.2)
    if name.startswith("large"):
        assert np.ptp(points, axis=0).max() <= 3.0 * size
    centre = 0.5 * (low + high)
    if name != "lines":
        distance, _ = obstacle.closest(centre[None])
        nearest = np.linalg.norm(points[cells].mean(axis=1) - centre, axis=1).min()
        assert nearest <= abs(distance[0]) + (0.1 * size if len(cells) > 50 else 3.0 * max(size, 1.0))


def test_other_obstacles_have_none():
    class Wavy:
        axes, flat = 2, False

    assert outline_of(Wavy(), np.zeros(2), np.ones(2)) is None


def run(wall, dimension: int):
    if dimension == 1:
        part = aq.Bar("part", aq.mesh.interval(0.0, 0.1, 5), STEEL)
    elif dimension == 2:
        part = aq.Solid("part", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.04), (4, 2)), STEEL, plane="strain")
    else:
        part = aq.Solid("part", aq.mesh.box((0.0, 0.1), (0.0, 0.04), (0.0, 0.04), (2, 1, 1)), STEEL)
    touch = aq.Interface("a wall", part.boundary("right"), wall, aq.Unilateral())
    velocity = (10.0, 0.0, 0.0)[:dimension]
    return aq.simulate(
        aq.System([part], interfaces=[touch], velocity=velocity), aq.Theta(0.5), duration=2e-6, step=1e-6
    )


WALLS = {
    1: aq.RigidPlane(0.101, -1.0),
    2: aq.RigidSphere((0.13, 0.02), 0.02),
    3: aq.RigidCylinder((0.13, 0.02, 0.0), (0.0, 0.0, 1.0), 0.02),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dimension", WALLS)
def test_obstacles_in_vtu_files_and_animations(dimension, tmp_path):
    result = run(WALLS[dimension], dimension)
    group = result["interface/a wall"].dataset
    aq.results.export_vtu(result, tmp_path)
    text = (tmp_path / "all.pvd").read_text()
    assert text.count("obstacle-a%20wall/") == result.sizes["frame"]
    mesh = meshio.read(tmp_path / "obstacle-a%20wall" / "0.vtu")
    np.testing.assert_array_equal(mesh.points[:, :dimension], group["obstacle_position"].values)
    np.testing.assert_array_equal(mesh.cells[0].data, group["obstacle_connectivity"].values)
    assert mesh.cells[0].type == {1: "vertex", 2: "line", 3: "quad"}[dimension]
    assert plots.animation(result, tmp_path / "film.gif", frames=2).stat().st_size > 1000


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dimension", [2, 3])
def test_obstacles_in_figures(dimension):
    """The obstacle is one collection more than without it, and the picture is as wide as it is near."""
    result = run(WALLS[dimension], dimension)
    bare = result.copy()
    bare["interface/a wall"] = result["interface/a wall"].dataset.drop_vars(
        ["obstacle_position", "obstacle_connectivity"]
    )
    with_it, without = plots.shape(result), plots.shape(bare)
    assert len(with_it.axes[0].collections) == len(without.axes[0].collections) + 1
    assert with_it.axes[0].get_xlim()[1] >= 110.0 > without.axes[0].get_xlim()[1]


def test_obstacles_in_space_end_at_the_axes():
    """A plane under a plate: cut at the limits, drawn behind the plate from above and before it from below."""
    part = aq.Solid("plate", aq.mesh.box((0.0, 0.1), (0.0, 0.1), (0.0, 0.01), (2, 2, 1)), STEEL)
    floor = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
    touch = aq.Interface("floor", part.boundary("back"), floor, aq.Unilateral())
    result = aq.simulate(aq.System([part], interfaces=[touch]), aq.Theta(0.5), duration=1e-6, step=1e-6)
    figure = plots.shape(result)
    panel = figure.axes[0]
    plane = panel.collections[0]
    low, high = np.array([panel.get_xlim3d(), panel.get_ylim3d(), panel.get_zlim3d()]).T
    corners = plane._faces.reshape(-1, 3) if hasattr(plane, "_faces") else plane._vec[:3].T
    assert (corners >= low - 1e-9).all() and (corners <= high + 1e-9).all()
    np.testing.assert_allclose(np.ptp(corners, axis=0)[:2], (high - low)[:2])
    assert plane.do_3d_projection() == np.inf
    panel.view_init(elev=-30.0, azim=-60.0)
    figure.draw_without_rendering()
    assert plane.do_3d_projection() == -np.inf


@pytest.mark.parametrize("seed", range(5))
def test_clipped_triangles_have_the_area_inside(seed):
    """Against the share of random points of the triangle that are in the box."""
    random = np.random.default_rng(seed)
    triangle = random.uniform(-1.0, 2.0, (3, 3))
    piece = clipped(triangle, np.zeros(3), np.ones(3))
    shares = random.dirichlet(np.ones(3), 200_000)
    expected = float((np.abs(shares @ triangle - 0.5) <= 0.5).all(axis=1).mean())
    fan = [np.cross(piece[n] - piece[0], piece[n + 1] - piece[0]) for n in range(1, len(piece) - 1)]
    whole = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])
    area = float(np.linalg.norm(np.sum(fan, axis=0)) / np.linalg.norm(whole)) if fan else 0.0
    assert area == pytest.approx(expected, abs=5e-3)


def test_far_obstacles_do_not_shrink_the_parts():
    low, high = np.zeros(2), np.ones(2)
    far, near = (Drawn(np.array([[x, -9.0], [x, 9.0]]), np.array([[0, 1]])) for x in (5.0, 1.2))
    assert widened(low, high, [far]) == (pytest.approx(low), pytest.approx(high))
    low, high = widened(low, high, [near])
    assert high[0] == pytest.approx(1.2) and -0.3 < low[1] <= 0.0 and 1.0 <= high[1] < 1.3
