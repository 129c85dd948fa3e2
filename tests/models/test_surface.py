"""Boundaries as surfaces: areas, outward normals, turned facets."""

from dataclasses import replace

import numpy as np
import pytest

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic

MATERIAL = LinearElastic(young=2.0, poisson=0.25, density=3.0)
OUTWARD = {
    "left": (-1, 0, 0),
    "right": (1, 0, 0),
    "bottom": (0, -1, 0),
    "top": (0, 1, 0),
    "back": (0, 0, -1),
    "front": (0, 0, 1),
}


def solids():
    for order in (1, 2):
        for kind in ("tri", "quad"):
            plain = mesh.rectangle((0, 2), (0, 1), cells=(3, 4), kind=kind)
            yield Solid(kind, plain, MATERIAL, plane="strain", order=order, thickness=3.0)
        for kind in ("tet", "hex"):
            yield Solid(kind, mesh.box((0, 2), (0, 1), (0, 3), cells=(2, 3, 2), kind=kind), MATERIAL, order=order)


def test_areas_normals_and_facets():
    """The box 2 × 1 × 3 (thickness 3 in plane): areas, first moments, and facets turned outwards."""
    areas = {"left": 3, "right": 3, "bottom": 6, "top": 6, "back": 2, "front": 2}
    for part in solids():
        axes = part.mesh.dim()
        for name in part.mesh.boundaries:
            surface = part.boundary(name)
            assert surface.areas.sum() == pytest.approx(areas[name], rel=1e-13)
            middle = surface.areas @ surface.positions / areas[name]
            box = np.array([2, 1, 3])[:axes]
            expected = box / 2 * (1 + np.array(OUTWARD[name][:axes]))
            assert middle == pytest.approx(expected, abs=1e-13)
            assert np.abs(surface.normals - OUTWARD[name][:axes]).max() <= 1e-13
            assert set(surface.facets.ravel()) == set(surface.nodes)
            assert surface.dofs[:, 0] == pytest.approx(surface.nodes * axes)
            check_facets(surface, np.array(OUTWARD[name][:axes]), axes, part.order)


def check_facets(surface, outward, axes, order):
    x = surface.part.positions[surface.facets]
    first = x[:, 1] - x[:, 0]
    if axes == 2:
        assert (np.stack([first[:, 1], -first[:, 0]], axis=1) @ outward > 0).all()
        corners = 2
    else:
        assert (np.cross(first, x[:, 2] - x[:, 0]) @ outward > 0).all()
        corners = 4 if surface.facets.shape[1] in (4, 9) else 3
    if order == 2:  # mid-edge nodes between their corners, then the centre
        following = np.roll(x[:, :corners], -1, axis=1) if axes == 3 else x[:, 1:2]
        edges = following.shape[1]
        assert x[:, corners : corners + edges] == pytest.approx((x[:, :edges] + following) / 2, abs=1e-14)
        if surface.facets.shape[1] == 9:
            assert x[:, 8] == pytest.approx(x[:, :4].mean(axis=1), abs=1e-14)


def test_bar_ends():
    bar = Bar("bar", mesh.interval(-1, 1, cells=3), MATERIAL, section=0.2, order=2)
    left, right = bar.boundary("left"), bar.boundary("right")
    assert left.positions == pytest.approx(-1) and right.positions == pytest.approx(1)
    assert left.normals.tolist() == [[-1]] and right.normals.tolist() == [[1]]
    assert left.areas == pytest.approx(0.2) and right.facets.shape == (1, 1)


def test_axisymmetric_areas():
    for order in (1, 2):
        plain = mesh.rectangle((0, 0.3), (0, 0.5), cells=(3, 2))
        part = Solid("rod", plain, MATERIAL, plane="axisymmetric", order=order)
        assert part.boundary("top").areas.sum() == pytest.approx(np.pi * 0.09, rel=1e-13)
        assert part.boundary("right").areas.sum() == pytest.approx(2 * np.pi * 0.3 * 0.5, rel=1e-13)
        assert np.abs(part.boundary("left").areas).max() == 0


def test_corner_normal_is_the_mean():
    """A boundary round a corner: the corner node's normal lies between, weighted by the facets' lengths."""
    plain = mesh.rectangle((0, 2), (0, 1), cells=(2, 2))
    both = np.concatenate([plain.boundaries["right"], plain.boundaries["top"]])
    part = Solid("a", plain.with_boundaries({"corner": both}), MATERIAL, plane="strain")
    surface = part.boundary("corner")
    at = np.flatnonzero((surface.positions == [2, 1]).all(axis=1))
    assert surface.normals[at] == pytest.approx(np.array([[0.5, 1.0]]) / np.hypot(0.5, 1.0))


def test_unknown_boundary():
    part = Solid("block", mesh.rectangle((0, 1), (0, 1), cells=(1, 1)), MATERIAL, plane="strain")
    with pytest.raises(UserError, match=r"block: no boundary is named 'end' \(boundaries: bottom, left, right, top\)"):
        part.boundary("end")


def test_inner_boundary():
    plain = mesh.rectangle((0, 1), (0, 1), cells=(2, 2))
    inner = np.setdiff1d(np.arange(plain.nfacets), plain.boundary_facets())
    part = Solid("block", plain.with_boundaries({"crack": inner}), MATERIAL, plane="strain")
    with pytest.raises(UserError, match="facets inside the part"):
        part.boundary("crack")


def test_nearly_straight_corners():
    """A square mapped to a disc has corners of nearly 180° on the rim: the length of its polygon, in closed form."""
    count = 320
    square = mesh.rectangle((-1.0, 1.0), (-1.0, -0.9), cells=(count, 16))
    u, v = square.p
    place = 0.02 * np.stack([u * np.sqrt(1 - v**2 / 2), v * np.sqrt(1 - u**2 / 2)])
    disc = Solid("disc", replace(square, doflocs=place), MATERIAL, plane="strain")
    x, y = place[:, v == -1.0]
    chords = np.hypot(np.diff(np.sort(x)), np.diff(y[np.argsort(x)]))
    assert float(disc.boundary("bottom").areas.sum()) == pytest.approx(chords.sum(), rel=1e-12)
