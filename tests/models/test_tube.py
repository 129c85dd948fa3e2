"""The mesh of a tube: volume, closed surface, areas of its boundaries and patches."""

import numpy as np
import pytest

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic

INNER, OUTER, HEIGHT = 4.0e-3, 4.75e-3, 0.05
# graded angles that start anywhere, and graded heights
HEIGHTS = HEIGHT * np.linspace(0, 1, 6) ** 1.5 - 0.01


def angles(count):
    s = np.linspace(0, 2 * np.pi, count + 1)
    return 0.3 + s + 0.2 * np.sin(s)


def solid(count=16, cells=2, **more):
    plain = mesh.tube(INNER, OUTER, angles(count), HEIGHTS, cells=cells, **more)
    return Solid("tube", plain, LinearElastic(young=1e11, poisson=0.3, density=6500.0))


def ring(radius, steps):
    """∫ dΓ over a height of a polygon with its corners on a circle: Σ 2 r sin(Δ/2)."""
    return 2 * radius * np.sin(steps / 2).sum() * HEIGHT


def test_numbers():
    plain = solid().mesh
    assert plain.nelements == 2 * 16 * 5
    assert plain.p.shape[1] == 3 * 16 * 6
    assert {name: len(facets) for name, facets in plain.boundaries.items()} == {
        "inner": 80,
        "outer": 80,
        "bottom": 32,
        "top": 32,
    }
    named = np.sort(np.concatenate(list(plain.boundaries.values())))
    np.testing.assert_array_equal(named, np.sort(plain.boundary_facets()))


def test_the_surface_is_closed():
    """∫ n dΓ = 0 over all boundaries, and every edge of the surface belongs to two of its facets."""
    part = solid()
    surfaces = [part.boundary(name) for name in part.mesh.boundaries]
    total = 0.0
    edges = []
    for surface in surfaces:
        corners = part.positions[surface.facets]
        total = total + 0.5 * np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]).sum(axis=0)
        edges.extend(np.stack([surface.facets, np.roll(surface.facets, -1, axis=1)], axis=2).reshape(-1, 2))
    np.testing.assert_allclose(total, 0.0, atol=1e-12 * OUTER * HEIGHT)
    # outward facets pass each edge once in each direction
    _, counts = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
    assert (counts == 2).all()
    assert len({tuple(edge) for edge in edges}) == len(edges)


def test_volume_and_areas():
    """Of the prism with corners on the circles exactly; to the tube's with refinement, at second order."""
    steps = np.diff(angles(16))
    part = solid()
    prism = 0.5 * (OUTER**2 - INNER**2) * np.sin(steps).sum() * HEIGHT
    assert part.cells.dx.sum() == pytest.approx(prism, rel=1e-12)
    assert part.boundary("inner").areas.sum() == pytest.approx(ring(INNER, steps), rel=1e-12)
    assert part.boundary("outer").areas.sum() == pytest.approx(ring(OUTER, steps), rel=1e-12)
    for end in ("bottom", "top"):
        assert part.boundary(end).areas.sum() == pytest.approx(prism / HEIGHT, rel=1e-12)
    exact = np.pi * (OUTER**2 - INNER**2) * HEIGHT
    off = [1 - solid(count, 1).cells.dx.sum() / exact for count in (16, 32, 64)]
    assert off[2] < 3e-3
    np.testing.assert_allclose(np.divide(off[:-1], off[1:]), 4.0, rtol=0.05)


def test_normals_point_outward():
    part = solid()
    for name, sign in (("outer", 1.0), ("inner", -1.0)):
        surface = part.boundary(name)
        radial = surface.positions * [1, 1, 0] / np.linalg.norm(surface.positions[:, :2], axis=1)[:, None]
        assert (sign * np.einsum("ki,ki->k", surface.normals, radial)).min() > 0.95
    assert part.boundary("top").normals[:, 2].min() > 0.999


def test_patches():
    """Nodes in the range alone; one that goes over the seam, and one around it; areas."""
    spans = np.linspace(0, 2 * np.pi, 17)
    patches = {
        "dimple": ((spans[3], spans[5]), (0.01, 0.03)),
        "spring": ((-spans[1], spans[1]), (0.0, 0.02)),
        "band": ((0.0, 2 * np.pi), (0.0, 0.01)),
    }
    plain = mesh.tube(INNER, OUTER, spans, np.linspace(0, HEIGHT, 6), cells=3, patches=patches)
    part = Solid("tube", plain, LinearElastic(young=1e11, poisson=0.3, density=6500.0))
    chord = 2 * OUTER * np.sin(np.pi / 16)
    for name, facets, height in (("dimple", 4, 0.02), ("spring", 4, 0.02), ("band", 16, 0.01)):
        surface = part.boundary(name)
        assert len(surface.facets) == facets
        assert surface.areas.sum() == pytest.approx(facets * 0.01 * chord, rel=1e-12)
        np.testing.assert_allclose(np.hypot(*surface.positions[:, :2].T), OUTER, rtol=1e-12)
        assert np.ptp(surface.positions[:, 2]) == pytest.approx(height)
    turned = np.arctan2(*part.boundary("spring").positions[:, 1::-1].T)
    np.testing.assert_allclose(np.unique(turned.round(12)), [-spans[1], 0.0, spans[1]], atol=1e-11)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("given", "text"), [
    ({"outer": 3e-3}, "outer = 0.003: must be more than inner"),
    ({"inner": 0.0}, "inner"),
    ({"angles": np.linspace(0, 6, 9)}, "must take one turn"),
    ({"angles": [0, np.pi, 2 * np.pi]}, "half a turn"),
    ({"angles": [0, 2, 1]}, "angles.*increasing"),
    ({"heights": [0.1]}, "heights.*increasing"),
    ({"cells": 0}, "cells"),
    ({"patches": {"outer": ((0, 1), (0, 1))}}, "other names"),
    ({"patches": {"a": ((1, 0), (0, 1))}}, "each increasing"),
    ({"patches": {"a": ((0, 1), (2, 3))}}, "must contain the middle of at least one facet"),
    ({"patches": {"a": (0, 1)}}, "patches"),
])  # fmt: skip
def test_bad_input(given, text):
    usual = {"inner": INNER, "outer": OUTER, "angles": angles(8), "heights": [0.0, 0.1], "cells": 1}
    with pytest.raises(UserError, match=text):
        mesh.tube(**{**usual, **given})
