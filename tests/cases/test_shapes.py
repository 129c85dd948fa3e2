"""The meshes of contact cases: valid, conforming, on the circle, fine where asked, and at home in `Solid`."""

import math
from functools import cache

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases.shared.meshes import (
    disc,
    graded,
    half_ball,
    half_disc,
    quarter_ball,
    quarter_disc,
    stacked,
    transfinite,
)
from arlequin.models.errors import UserError
from arlequin.models.fem.cells import check_cells

MATERIAL = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
R, B = 2.0, 0.06  # b/R = 0.03

PLANE = [
    (make, share, kind, order)
    for make, share in ((quarter_disc, 0.25), (half_disc, 0.5), (disc, 1.0))
    for kind in ("quad", "tri")
    for order in (1, 2)
]
SPACE = [
    (make, share, kind, order)
    for make, share in ((quarter_ball, 0.125), (half_ball, 0.5))
    for kind in ("hex", "tet")
    for order in (1, 2)
]


@cache
def made(make, kind, order):
    """Mesh and solid, once for all tests that look at them."""
    flat = kind in ("quad", "tri")
    mesh = (
        make(R, 1.5 * B, B / 10, kind=kind, order=order)
        if flat
        else make(R, 0.4, 0.13, growth=1.5, kind=kind, order=order)
    )
    return mesh, aq.Solid("body", mesh, MATERIAL, plane="strain" if flat else None)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("make", "share", "kind", "order"), PLANE + SPACE)
def test_measure_and_surface_of_the_body(make, share, kind, order):
    mesh, solid = made(make, kind, order)
    check_cells(mesh, "mesh")
    flat = mesh.dim() == 2
    volume = (math.pi * R**2 if flat else 4 / 3 * math.pi * R**3) * share
    skin = (2 * math.pi * R if flat else 4 * math.pi * R**2) * share
    # chords lose (angle)²/24 of their arc, second-order cells its fourth power
    limit = {(True, 1): 4e-3, (True, 2): 2e-6, (False, 1): 3e-2, (False, 2): 1e-4}[flat, order]
    assert solid.cells.dx.sum() == pytest.approx(volume, rel=limit)
    assert solid.boundary("arc").areas.sum() == pytest.approx(skin, rel=limit)
    ends = [name for name in mesh.boundaries if name not in ("contact", "opposite")]
    named = np.concatenate([mesh.boundaries[name] for name in ends])
    np.testing.assert_array_equal(np.sort(named), mesh.boundary_facets())  # every free side has one name: it conforms
    width = 2 * 1.5 * B if flat else (2 * 0.4) ** 2
    halves = 1 if make in (half_disc, disc, half_ball) else 0.5 if flat else 0.25
    assert solid.boundary("contact").areas.sum() == pytest.approx(halves * width, rel=0.02 if flat else 0.05)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("make", "share", "kind", "order"), PLANE + SPACE)
def test_nodes_of_the_arc_lie_on_it(make, share, kind, order):
    mesh, solid = made(make, kind, order)
    arc = solid.boundary("arc")
    centre = np.eye(mesh.dim())[1] * R
    away = arc.positions - centre
    np.testing.assert_allclose(np.linalg.norm(away, axis=1), R, rtol=1e-12)
    lowest = np.abs(arc.positions).sum(axis=1).argmin()
    np.testing.assert_allclose(arc.positions[lowest], 0.0, atol=1e-12)  # a node at the contact point
    if make in (half_disc, half_ball):
        np.testing.assert_allclose(arc.normals[lowest], -np.eye(mesh.dim())[1], atol=0.05)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("make", "share", "kind", "order"), PLANE + SPACE)
def test_a_linear_field_is_in_equilibrium(make, share, kind, order):
    """Forces of a constant stress vanish inside: cells fit together, on curved geometry too."""
    mesh, solid = made(make, kind, order)
    gradient = np.array([[0.1, 0.3, -0.2], [0.05, -0.4, 0.1], [0.2, 0.15, 0.25]])[: mesh.dim(), : mesh.dim()]
    force, _ = solid.assemble().internal((solid.positions @ gradient.T).ravel())
    inside = np.ones(solid.node_count, dtype=bool)
    for name in mesh.boundaries:
        inside[solid.boundary(name).nodes] = False
    force = force.reshape(-1, mesh.dim())
    assert np.abs(force[inside]).max() < 1e-12 * np.abs(force).max()


@pytest.mark.parametrize("kind", ["quad", "tri"])
@pytest.mark.parametrize(("refinement", "most"), [(10, 2000), (20, 4000)])
def test_a_half_disc_is_fine_at_the_contact_and_small(kind, refinement, most):
    mesh = half_disc(R, 1.5 * B, B / refinement, kind=kind)
    assert mesh.nelements <= most * (2 if kind == "tri" else 1)
    facets = mesh.facets[:, mesh.boundaries["contact"]]
    length = np.linalg.norm(mesh.p[:, facets[0]] - mesh.p[:, facets[1]], axis=0)
    assert len(length) == 3 * refinement
    np.testing.assert_allclose(length, B / refinement, rtol=2e-3)
    arc = mesh.facets[:, mesh.boundaries["arc"]]
    middle = mesh.p[:, arc].mean(axis=1)
    along = np.argsort(np.arctan2(middle[0], R - middle[1]))
    sizes = np.linalg.norm(mesh.p[:, arc[0]] - mesh.p[:, arc[1]], axis=0)[along]
    assert np.abs(np.diff(np.log(sizes))).max() < math.log(1.16)
    # and the row under it: as deep as wide, within the growth
    depth = np.sort(mesh.p[1, np.abs(mesh.p[0]) < 1e-9 * R])
    assert 0.8 * B / refinement < depth[1] < 1.01 * B / refinement
    assert np.diff(np.log(np.diff(depth))).max() < math.log(1.16)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("make", "kind", "zone", "order"),
    [
        pytest.param(make, kind, zone, order, marks=() if (i + j) % 2 == order - 1 else pytest.mark.slow)
        for i, zone in enumerate((0.01, 0.1, 0.3, 1.0))
        for j, (make, kind) in enumerate(
            [(half_disc, "quad"), (half_disc, "tri"), (quarter_ball, "hex"), (quarter_ball, "tet")]
        )
        for order in (1, 2)
    ],
)
def test_cells_keep_their_shape_at_any_zone(zone, make, kind, order):
    """The determinant's smallest share of its largest in a cell."""
    for cells in (1, 4, 13) if make is half_disc else (1, 4):
        mesh = make(R, zone, zone / cells, kind=kind, order=order)
        at = np.random.default_rng(0).dirichlet(np.ones(mesh.dim() + 1), 20)[:, 1:].T
        determinant = np.linalg.det(np.moveaxis(np.asarray(mesh.mapping().DF(at)), (0, 1), (2, 3)))
        share = determinant / determinant[:, :1]
        assert (share.min(axis=1) / share.max(axis=1)).min() > 0.1


def test_meshes_are_symmetric():
    for kind in ("quad", "tri"):
        mesh = half_disc(R, 0.3, 0.05, kind=kind, order=2)
        cells = mesh.p[:, mesh.t].mean(axis=1)
        image = cells * [[-1.0], [1.0]]
        order, other = (np.lexsort(np.round(c / R, 9)) for c in (cells, image))
        np.testing.assert_allclose(cells[:, order], image[:, other], atol=1e-9)


def test_the_section_of_a_ball_is_axisymmetric():
    solid = aq.Solid("ball", quarter_disc(R, 0.3, 0.05, order=2), MATERIAL, plane="axisymmetric")
    assert solid.cells.dx.sum() == pytest.approx(2 / 3 * math.pi * R**3, rel=1e-5)
    assert solid.boundary("arc").areas.sum() == pytest.approx(2 * math.pi * R**2, rel=1e-5)


def test_stacked_blocks_share_no_node_between_their_ends():
    lower, upper = stacked(3.0, (1.0, 2.0), ((5, 2), (7, 3)))
    top, bottom = (m.p[:, np.unique(m.facets[:, m.boundaries[n]])] for m, n in ((lower, "top"), (upper, "bottom")))
    np.testing.assert_allclose((top[1], bottom[1][:6]), 0.0, atol=1e-15)
    assert np.isclose(top[0][:, None], bottom[0]).sum() == 2
    assert (lower.p[1].min(), upper.p[1].max()) == (-1.0, 2.0)
    lower, upper = stacked(3.0, (1.0, 2.0), ((2, 2), (3, 1)), gap=0.1, thickness=0.5, kind="tet")
    assert (lower.dim(), lower.nelements, upper.nelements) == (3, 48, 54)
    assert upper.p[1].min() == pytest.approx(0.1)


def test_graded_and_transfinite():
    fraction = graded(7, 0.01, 0.5)
    np.testing.assert_allclose(fraction[2], 0.02, rtol=1e-10)
    ratio = np.diff(fraction[::2])[1:] / np.diff(fraction[::2])[:-1]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-10)
    # a bilinear block is its own blend
    u, v = graded(3, 0.2, 1.0), graded(2, 0.4, 1.0)
    exact = np.stack([u[:, None] * (1 + v), v - 0.3 * u[:, None] * v])
    np.testing.assert_allclose(
        transfinite([(exact[:, 0], exact[:, -1]), (exact[:, :, 0], exact[:, :, -1])], [u, v]), exact, atol=1e-15
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"radius": -1.0}, "radius = -1.0: must be positive"),
        ({"zone": 0.6}, "zone = 0.6: must be at most half the radius, 0.5"),
        ({"size": 0.2}, "size = 0.2: must be at most the zone, 0.1"),
        ({"growth": 1.0}, "growth"),
        ({"kind": "hex"}, "kind = 'hex': must be one of quad, tri"),
        ({"order": 3}, "order"),
    ],
)
def test_shapes_refuse(arguments, words):
    with pytest.raises(UserError, match=words):
        half_disc(**{"radius": 1.0, "zone": 0.1, "size": 0.01, **arguments})
