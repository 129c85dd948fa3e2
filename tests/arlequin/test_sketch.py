"""Sketches of systems in notebooks: outlines counted by hand."""

import re
from typing import Any

import numpy as np
import pytest

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
PLATE = aq.Solid("plate", aq.mesh.rectangle((0.0, 0.2), (0.0, 0.1), cells=(4, 2)), STEEL, plane="strain")
CUBES = {
    kind: aq.Solid("cube", aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(3, 3, 3), kind=kind), STEEL)
    for kind in ("hex", "tet")
}
BAR = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, 5), STEEL)
BODY = aq.RigidBody("body", [[0, 0], [1, 0], [1, 2], [0, 2]], density=1.0)


def segments(html: str) -> list[int]:
    return [drawn.count("M") for drawn in re.findall(r'<path d="([^"]*)"', html)]


@pytest.mark.parametrize(
    ("part", "count"),
    [(PLATE, 12), (CUBES["hex"], 36), (CUBES["tet"], 36), (BAR, 5), (BODY, 4)],
    ids=["plate", "hexahedra", "tetrahedra", "bar", "body"],
)
def test_outlines(part: Any, count: int) -> None:
    """Facets of the outline in the plane; in space the edges at which faces turn: twelve of three cells each."""
    assert segments(aq.System([part])._repr_html_()) == [count]


def test_a_point_has_no_sketch() -> None:
    assert "<svg" not in aq.System([aq.PointMasses("point", (0.0, 0.0), 1.0)])._repr_html_()


def test_slave_surfaces_and_studies() -> None:
    wall = aq.RigidPlane(point=(0.2, 0.0), normal=(-1.0, 0.0))
    system = aq.System([PLATE], interfaces=[aq.Interface("end", PLATE.boundary("right"), wall, aq.Unilateral())])
    html = aq.Study(system, aq.Theta(0.5), duration=1e-5, step=1e-7)._repr_html_()
    assert segments(html) == [12, 2, 1] and "100 steps of 1e-07 s" in html


def paths(html: str, kind: str) -> list[str]:
    """Data of the paths of a class."""
    return re.findall(rf'<path d="([^"]*)" class="{kind}"', html)


def extent(data: str) -> np.ndarray:
    """Width and height of a path, px."""
    return np.ptp(np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+)", data), dtype=float), axis=0)


def solid(name: str, low: float, high: float, cells: int, axes: int) -> Any:
    if axes == 1:
        return aq.Bar(name, aq.mesh.interval(low, high, cells), STEEL)
    if axes == 2:
        mesh = aq.mesh.rectangle((low, high), (0.0, 0.2), cells=(cells, 2))
        return aq.Solid(name, mesh, STEEL, plane="strain")
    return aq.Solid(name, aq.mesh.box((low, high), (0.0, 0.2), (0.0, 0.2), cells=(cells, 2, 2)), STEEL)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_zones_and_obstacles(axes: int) -> None:
    """A zone of 0.2 m of 1 m, of four fine cells, and walls at both ends."""
    coarse, fine = solid("coarse", 0.0, 0.6, 3, axes), solid("fine", 0.4, 1.0, 12, axes)
    normal = np.eye(axes)[0]
    walls = [aq.RigidPlane(point=x * normal, normal=s * normal) for x, s in ((0.0, 1.0), (1.0, -1.0))]
    touching = [
        aq.Interface(f"{side}", part.boundary(side), wall, aq.Unilateral())
        for part, side, wall in ((coarse, "left", walls[0]), (fine, "right", walls[1]))
    ]
    html = aq.System([coarse, fine], [aq.Junction(coarse, fine)], touching)._repr_html_()
    (zone,) = paths(html, "zone")
    assert zone.count("M") == {1: 4, 2: 8, 3: 2 * (4 * 2 + 4 * 2 + 2 * 2)}[axes]
    assert len(paths(html, "obstacle")) == 2
    if axes < 3:
        outline = extent("".join(re.findall(r'<path d="([^"]*)" fill="none" stroke="#', html)))
        assert extent(zone)[0] == pytest.approx(0.2 * outline[0], abs=0.3)
    assert "zone of junction" in html and "RigidPlane" in html


def test_zones_of_every_kind() -> None:
    big = aq.Solid("big", aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(10, 10)), STEEL, plane="strain")
    small = aq.Solid("small", aq.mesh.rectangle((0.3, 0.7), (0.3, 0.7), cells=(16, 16)), STEEL, plane="strain")
    box = aq.System([big, small], [aq.Junction(big, small, zone=aq.zones.Box(width=0.1))])
    assert paths(box._repr_html_(), "zone")[0].count("M") == 16**2 - 8**2
    middles = big.mesh.p[:, big.mesh.t].mean(axis=1)
    ring = np.abs(middles - 0.5).max(axis=0)
    glue, free = np.flatnonzero((ring > 0.1) & (ring < 0.2)), np.flatnonzero(ring < 0.1)
    cells = aq.System([big, small], [aq.Junction(big, small, zone=aq.zones.Cells(glue=glue, free=free))])
    assert paths(cells._repr_html_(), "zone")[0].count("M") == len(glue) == 12
    level = aq.zones.LevelSet(lambda x: 0.2 - np.hypot(x[0] - 0.5, x[1] - 0.5), 0.15)
    round_zone = aq.System([big, small], [aq.Junction(big, small, zone=level)])
    count = paths(round_zone._repr_html_(), "zone")[0].count("M")
    assert count == pytest.approx(np.pi * (0.2**2 - 0.05**2) / 0.025**2, rel=0.05)
    left, right = solid("left", 0.0, 0.5, 3, 2), solid("right", 0.5, 1.0, 3, 2)
    tie = aq.System([left, right], [aq.Tie(left.boundary("right"), right.boundary("left"))])
    assert paths(tie._repr_html_(), "zone")[0].count("M") == 2
    beam = aq.Beam("beam", aq.mesh.interval(0.0, 0.6, 6), STEEL, aq.Section.rectangle(0.2, 0.2), dimension=3)
    block = aq.Solid("block", aq.mesh.box((0.4, 1.0), (-0.1, 0.1), (-0.1, 0.1), cells=(6, 2, 2)), STEEL)
    mixed = aq.System([beam, block], [aq.BeamJunction(beam, block)])
    assert paths(mixed._repr_html_(), "zone")[0].count("M") == 2 * (2 * 2 + 2 * 2 + 2 * 2)


@pytest.mark.parametrize(
    ("obstacle", "count"),
    [
        (aq.RigidPlane(point=(0.0, -5.0), normal=(0.0, 1.0)), 1),
        (aq.RigidSphere(centre=(0.1, -0.2), radius=0.1), 96),
        (aq.RigidBox(low=(0.0, -0.2), high=(0.2, -0.1)), 4),
        (aq.RigidPolyline(((0.3, -0.1), (0.1, -0.05), (-0.1, -0.1))), 2),
    ],
    ids=["far plane", "disc", "box", "polyline"],
)
def test_obstacles_in_the_plane(obstacle: Any, count: int) -> None:
    touch = aq.Interface("touch", PLATE.boundary("bottom"), obstacle, aq.Unilateral())
    again = aq.Interface("again", PLATE.boundary("right"), obstacle, aq.Unilateral())
    html = aq.System([PLATE], interfaces=[touch, again])._repr_html_()
    (drawn,) = paths(html, "obstacle")  # once for both
    assert 0 < drawn.count("M") <= count


@pytest.mark.parametrize(
    "obstacle",
    [
        aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0)),
        aq.RigidSphere(centre=(0.5, 0.5, -0.6), radius=0.5),
        aq.RigidCylinder(point=(0.0, 0.5, -0.5), axis=(1.0, 0.0, 0.0), radius=0.4),
        aq.RigidBox(low=(0.0, 0.0, -0.5), high=(1.0, 1.0, -0.1)),
    ],
    ids=["plane", "ball", "cylinder", "box"],
)
def test_obstacles_in_space(obstacle: Any) -> None:
    touch = aq.Interface("touch", CUBES["hex"].boundary("back"), obstacle, aq.Unilateral())
    (drawn,) = paths(aq.System([CUBES["hex"]], interfaces=[touch])._repr_html_(), "obstacle")
    assert drawn.count("Z") == drawn.count("M") > 0
