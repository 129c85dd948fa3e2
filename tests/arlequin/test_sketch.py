"""Sketches of systems in notebooks: outlines counted by hand."""

import re
from typing import Any

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
    assert segments(html) == [12, 2] and "100 steps of 1e-07 s" in html
