"""Overlap of two meshes against closed-form areas and moments."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
import skfem
from hypothesis import given, settings
from hypothesis import strategies as st

from arlequin.models.errors import UserError
from arlequin.models.mesh import box
from arlequin.overlap.clipping import Region
from arlequin.overlap.geometry import candidate_pairs, straight_cells, to_reference
from arlequin.overlap.intersect import intersect

MESHES = {"tri": skfem.MeshTri, "quad": skfem.MeshQuad}


def rectangle(kind, x, y, cells):
    return MESHES[kind].init_tensor(np.linspace(*x, cells[0] + 1), np.linspace(*y, cells[1] + 1))


def interval(start, end, cells):
    return skfem.MeshLine(np.linspace(start, end, cells + 1))


def moved(mesh, angle=0.0, shift=(0.0, 0.0)):
    rotation = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return type(mesh)(rotation @ mesh.p + np.array(shift)[:, None], mesh.t)


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("fine", ["tri", "quad"])
@pytest.mark.parametrize("coarse", ["tri", "quad"])
def test_area_of_overlapping_rectangles(coarse, fine, offset):
    first = rectangle(coarse, (0, 0.6), (0, 0.1), (12, 2)).translated((offset, -offset))
    second = rectangle(fine, (0.4123, 1.0), (0, 0.1), (88, 15)).translated((offset, -offset))
    pieces = intersect(first, second, 4)
    exact = (first.p[0].max() - second.p[0].min()) * np.ptp(first.p[1])
    assert pieces.measure == pytest.approx(exact, rel=1e-13)
    assert pieces.dx.min() > 0


@settings(max_examples=25, deadline=None)
@given(
    ratio=st.floats(1.0, 11.0),
    cells=st.integers(1, 7),
    shift=st.floats(-0.9, 0.9),
    kinds=st.sampled_from([("tri", "quad"), ("quad", "tri"), ("quad", "quad"), ("tri", "tri")]),
)
def test_area_at_any_ratio_and_shift(ratio, cells, shift, kinds):
    first = rectangle(kinds[0], (0, 1), (0, 0.5), (cells, 2))
    count = max(1, round(cells * ratio))
    second = rectangle(kinds[1], (shift, shift + 1), (0.1, 0.7), (count, count))
    assert intersect(first, second, 2).measure == pytest.approx((1 - abs(shift)) * 0.4, rel=1e-13)


@pytest.mark.parametrize("fine", ["tri", "quad"])
def test_octagon_of_two_turned_squares(fine):
    square = rectangle("quad", (-0.5, 0.5), (-0.5, 0.5), (3, 4))
    turned = moved(rectangle(fine, (-0.5, 0.5), (-0.5, 0.5), (7, 5)), math.pi / 4)
    # inscribed circle of diameter 1: area 2 tan(π/8)
    assert intersect(square, turned, 2).measure == pytest.approx(2 * math.tan(math.pi / 8), rel=1e-13)


def test_interval_overlap_either_orientation():
    forward, backward = (
        interval(0, 0.6, 13),
        skfem.MeshLine(interval(0.4123, 1, 97).p, interval(0.4123, 1, 97).t[::-1]),
    )
    pieces = intersect(forward, backward, 3)
    assert pieces.measure == pytest.approx(0.6 - 0.4123, rel=1e-13)
    assert (pieces.dx * pieces.points[0] ** 3).sum() == pytest.approx((0.6**4 - 0.4123**4) / 4, rel=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 7, 8, 9])
def test_polynomials_of_the_order_are_exact(order):
    first = rectangle("quad", (0, 1), (0, 1), (3, 2))
    second = rectangle("tri", (0.3, 1.4), (0.2, 1.7), (5, 4))
    pieces = intersect(first, second, order)
    x, y = pieces.points
    for a in range(order + 1):
        b = order - a
        exact = (1 - 0.3 ** (a + 1)) / (a + 1) * (1 - 0.2 ** (b + 1)) / (b + 1)
        assert (pieces.dx * x**a * y**b).sum() == pytest.approx(exact, rel=1e-13)


def test_points_lie_in_both_cells():
    first = moved(rectangle("quad", (0, 1), (0, 1), (4, 3)), 0.3)
    second = rectangle("tri", (0.1, 0.9), (0.2, 1.1), (6, 5))
    pieces = intersect(first, second, 4)
    for mesh, cells in ((first, pieces.coarse_cells), (second, pieces.fine_cells)):
        X, _ = to_reference(mesh, cells, pieces.points)
        assert X.min() > -1e-12 and X.max() < 1 + 1e-12
        if mesh is second:
            assert X.sum(axis=0).max() < 1 + 1e-12


def test_reference_coordinates_invert_a_distorted_bilinear_map():
    corners = np.array([[0.0, 2.0, 2.5, 0.3], [0.0, 0.2, 1.7, 1.1]]) * 1e-5 + np.array([[3.0], [-7.0]])
    mesh = skfem.MeshQuad(corners, np.arange(4)[:, None])
    X = np.random.default_rng(0).uniform(size=(2, 1, 20))
    points = mesh.mapping().F(X, tind=np.array([0]))
    found, inverse = to_reference(mesh, np.array([0]), points)
    # points are known to the round-off of coordinates of 7 m in cells of 1e-5 m
    np.testing.assert_allclose(found, X, atol=1e-9)
    jacobian = mesh.mapping().DF(X, tind=np.array([0]))
    np.testing.assert_allclose(np.einsum("jipq,ikpq->jkpq", inverse, jacobian)[0, 0], 1.0, atol=1e-8)
    np.testing.assert_allclose(np.einsum("jipq,ikpq->jkpq", inverse, jacobian)[0, 1], 0.0, atol=1e-8)


@pytest.mark.parametrize("kind", ["tri", "quad"])
def test_same_mesh_gives_each_cell_once(kind):
    # shared edges leave no slivers, also where coordinates carry round-off
    mesh = moved(rectangle(kind, (0, 1), (0, 1), (5, 4)), 0.7, (1e3, -1e3))
    pieces = intersect(mesh, mesh, 1)
    assert np.array_equal(pieces.coarse_cells, pieces.fine_cells)
    assert np.array_equal(np.unique(pieces.coarse_cells), np.arange(mesh.nelements))


def test_meshes_apart_or_side_by_side_give_nothing():
    mesh = rectangle("quad", (0, 1), (0, 1), (3, 3))
    for shift in (1.0, 5.0):
        assert intersect(mesh, rectangle("tri", (shift, shift + 1), (0, 1), (2, 2)), 2).dx.size == 0


def test_second_order_meshes_with_straight_edges():
    quad = skfem.MeshQuad2.from_mesh(rectangle("quad", (0, 1), (0, 1), (3, 2)))
    tri = skfem.MeshTri2.from_mesh(rectangle("tri", (0.5, 1.5), (0, 1), (4, 5)))
    assert intersect(quad, tri, 2).measure == pytest.approx(0.5, rel=1e-13)


@pytest.mark.parametrize("cls", [skfem.MeshTri2, skfem.MeshQuad2])
def test_reference_coordinates_of_curved_cells(cls):
    """They invert x = Σ N_a(X) x_a, also a little outside the cell, far from the origin in small cells."""
    flat = rectangle("quad" if cls is skfem.MeshQuad2 else "tri", (0, 1), (0, 1), (1, 1))
    mesh = cls.from_mesh(flat)
    x, y = mesh.doflocs
    bent = np.stack([x + 0.1 * y * (1 - y), y + 0.07 * x * (1 - x)]) * 1e-3 + np.array([[30.0], [-7.0]])
    mesh = replace(mesh, doflocs=bent)
    X = np.random.default_rng(0).uniform(-0.05, 0.5, size=(2, mesh.nelements, 20))
    nodes = mesh.doflocs[:, mesh.dofs.element_dofs]
    shapes = np.stack([mesh.elem().lbasis(X, a)[0] for a in range(nodes.shape[1])])
    found, _ = to_reference(mesh, np.arange(mesh.nelements), np.einsum("iac,acq->icq", nodes, shapes))
    np.testing.assert_allclose(found, X, atol=1e-9)


def test_concave_cells_and_mixed_dimensions_are_refused():
    concave = skfem.MeshQuad(np.array([[0, 1, 0.2, 0], [0, 0, 0.2, 1.0]]), np.arange(4)[:, None])
    with pytest.raises(UserError, match="not convex"):
        intersect(concave, concave, 2)
    with pytest.raises(UserError, match="different dimension"):
        intersect(interval(0, 1, 2), skfem.MeshTri(), 2)


def test_pairs_are_those_of_all_against_all():
    rng = np.random.default_rng(3)
    first = moved(rectangle("tri", (0, 1), (0, 1), (6, 7)), 0.2)
    second = moved(rectangle("quad", (0, 1), (0, 1), (5, 4)), rng.uniform(), (0.3, -0.2))
    corners = straight_cells(first), straight_cells(second)
    low, high = [c.min(axis=1) for c in corners], [c.max(axis=1) for c in corners]
    meets = (low[0][:, :, None] < high[1][:, None]) & (low[1][:, None] < high[0][:, :, None])
    expected = np.argwhere(meets.all(axis=0))
    found = candidate_pairs(*corners).T
    assert np.array_equal(found[np.lexsort(found.T[::-1])], expected[np.lexsort(expected.T[::-1])])


def test_many_pairs_in_seconds():
    first = rectangle("quad", (0, 0.6), (0, 0.1), (120, 20))
    second = rectangle("tri", (0, 0.6), (0, 0.1), (877, 146))
    intersect(rectangle("quad", (0, 1), (0, 1), (1, 1)), second, 4)
    start = time.perf_counter()
    pieces = intersect(first, second, 4)
    assert pieces.dx.shape[0] > 1e5
    assert pieces.measure == pytest.approx(0.06, rel=1e-13)
    assert time.perf_counter() - start < 10


def turned(mesh, angle, tilt=0.7):
    """The 3D mesh turned about z, then about x."""
    c, s, cx, sx = math.cos(angle), math.sin(angle), math.cos(tilt), math.sin(tilt)
    about_z, about_x = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    return type(mesh)(about_x @ about_z @ mesh.p, mesh.t)


@pytest.mark.parametrize("offset", [0.0, 10.0])
@pytest.mark.parametrize("kinds", [("hex", "hex"), ("hex", "tet"), ("tet", "hex"), ("tet", "tet")])
def test_volume_of_overlapping_boxes(kinds, offset):
    first = box((0, 0.6), (0, 0.1), (0, 0.1), cells=(6, 2, 2), kind=kinds[0]).translated((offset, -offset, offset))
    second = box((0.4123, 1.0), (0, 0.1), (0, 0.1), cells=(17, 5, 4), kind=kinds[1])
    second = second.translated((offset, -offset, offset))
    # at an offset the meshes' own coordinates are rounded
    exact = (first.p[0].max() - second.p[0].min()) * np.ptp(first.p[1]) * np.ptp(first.p[2])
    assert intersect(first, second, 2).measure == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("kinds", [("hex", "hex"), ("hex", "tet"), ("tet", "tet")])
def test_volume_of_a_box_turned_in_another(kinds):
    # a prism on the octagon common to two squares turned by 45°
    outer = box((-0.5, 0.5), (-0.5, 0.5), (-1, 1), cells=(3, 2, 2), kind=kinds[0])
    inner = turned(box((-0.5, 0.5), (-0.5, 0.5), (-0.4, 0.3), cells=(4, 3, 5), kind=kinds[1]), math.pi / 4, 0.0)
    exact = 0.7 * 2 * math.tan(math.pi / 8)
    assert intersect(outer, inner, 2).measure == pytest.approx(exact, rel=1e-13)
    # all of it, inside, whatever the turn
    whole = turned(box((-0.2, 0.2), (-0.2, 0.2), (-0.2, 0.2), cells=(3, 3, 2), kind=kinds[1]), 0.3)
    assert intersect(outer, whole, 2).measure == pytest.approx(0.064, rel=1e-13)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kinds", [("hex", "hex"), ("hex", "tet"), ("tet", "tet")])
@pytest.mark.parametrize("order", [1, 2, 4, 6, 11])
def test_polynomials_of_the_order_are_exact_in_3d(order, kinds):
    first = box((0, 1), (0, 1), (0, 1), cells=(2, 2, 1), kind=kinds[0])
    second = box((0.3, 1.4), (0.2, 1.7), (-0.1, 0.6), cells=(2, 1, 2), kind=kinds[1])
    pieces = intersect(first, second, order)
    x, y, z = pieces.points
    for a, b in ((order, 0), (0, order), (order // 2, order - order // 2), (1, 0)):
        c = order - a - b
        exact = (1 - 0.3 ** (a + 1)) / (a + 1) * (1 - 0.2 ** (b + 1)) / (b + 1) * 0.6 ** (c + 1) / (c + 1)
        assert (pieces.dx * x**a * y**b * z**c).sum() == pytest.approx(exact, rel=2e-13)


@pytest.mark.parametrize("kind", ["hex", "tet"])
def test_same_solid_mesh_gives_each_cell_once(kind):
    mesh = turned(box((0, 1), (0, 1), (0, 1), cells=(3, 2, 3), kind=kind), 0.4)
    mesh = mesh.translated((100.0, -100.0, 3.0))
    pieces = intersect(mesh, mesh, 1)
    assert np.array_equal(pieces.coarse_cells, pieces.fine_cells)
    assert np.array_equal(pieces.fine_cells, np.arange(mesh.nelements))


def test_warped_hexahedra_are_cut_without_gaps():
    mesh = box((0, 1), (0, 1), (0, 1), cells=(3, 3, 3))
    inner = np.all((mesh.p > 1e-9) & (mesh.p < 1 - 1e-9), axis=0)
    mesh.p[:, inner] += np.random.default_rng(1).uniform(-0.06, 0.06, size=(3, inner.sum()))
    cover = box((-0.1, 1.1), (-0.1, 1.1), (-0.1, 1.1), cells=(4, 5, 3), kind="tet")
    assert intersect(cover, mesh, 2).measure == pytest.approx(1.0, rel=1e-13)


def test_reference_coordinates_invert_a_warped_trilinear_map():
    mesh = box((3, 3.1), (0, 0.1), (0, 0.2), cells=(1, 1, 1))
    mesh.p[:] += np.random.default_rng(2).uniform(-0.015, 0.015, size=mesh.p.shape)
    X = np.random.default_rng(0).uniform(size=(3, 1, 20))
    points = mesh.mapping().F(X, tind=np.array([0]))
    found, inverse = to_reference(mesh, np.array([0]), points)
    np.testing.assert_allclose(found, X, atol=1e-12)
    jacobian = mesh.mapping().DF(X, tind=np.array([0]))
    identity = np.einsum("jipq,ikpq->jkpq", inverse, jacobian)
    np.testing.assert_allclose(identity, np.broadcast_to(np.eye(3)[:, :, None, None], identity.shape), atol=1e-11)


@pytest.mark.parametrize("kind", ["line", "tri", "quad", "tet", "hex"])
def test_regions_tile_the_overlap(kind):
    """Two half-spaces x ≷ 0.437 share every piece, moments of either side in closed form."""
    if kind == "line":
        first, second = interval(0, 1, 3), interval(0.2, 1.3, 7)
    elif kind in MESHES:
        first, second = (rectangle(kind, (a, a + 1), (0, 0.5), n) for a, n in ((0, (3, 2)), (0.2, (7, 4))))
    else:
        first, second = (box((a, a + 1), (0, 0.5), (0, 1), n, kind) for a, n in ((0, (3, 2, 2)), (0.2, (4, 3, 2))))
    normal = np.eye(first.dim())[:1]
    regions = [Region(-normal, np.array([-0.437])), Region(normal, np.array([0.437]))]
    pieces, depth = intersect(first, second, 2, regions), 1.0 if kind == "line" else 0.5
    for r, (low, high) in enumerate([(0.2, 0.437), (0.437, 1.0)]):
        own = pieces.take(np.flatnonzero(pieces.region == r))
        assert own.measure == pytest.approx(depth * (high - low), rel=1e-13)
        assert (own.dx * own.points[0] ** 2).sum() == pytest.approx(depth * (high**3 - low**3) / 3, rel=1e-12)


@pytest.mark.parametrize("kind", ["line", "quad", "tet"])
def test_a_third_mesh_cuts_the_pieces(kind):
    if kind == "line":
        meshes = [interval(0, 1, 3), interval(0.2, 1.3, 7), interval(0.1, 0.9, 5)]
    elif kind == "quad":
        meshes = [rectangle(kind, (a, a + 1), (0, 1), (n, 2)) for a, n in ((0, 3), (0.2, 7), (-0.1, 4))]
    else:
        meshes = [box((a, a + 1), (0, 1), (0, 1), (n, 2, 1), kind) for a, n in ((0, 2), (0.2, 3), (-0.1, 2))]
    pieces = intersect(meshes[0], meshes[1], 2, third=meshes[2])
    assert pieces.measure == pytest.approx(0.7, rel=1e-13)
    for mesh, cells in zip(meshes, (pieces.coarse_cells, pieces.fine_cells, pieces.third_cells), strict=True):
        X, _ = to_reference(
            mesh, cells, (pieces.points * pieces.dx).sum(axis=2)[:, :, None] / pieces.dx.sum(axis=1)[:, None]
        )
        assert X.min() > -1e-12 and X.max() < 1 + 1e-12


def test_1e5_pairs_of_solids_in_seconds():
    first = box((0, 1), (0, 1), (0, 1), cells=(7, 7, 7), kind="tet")
    second = box((0.013, 1), (0, 1), (0, 1), cells=(15, 15, 15), kind="tet")
    intersect(box((0, 1), (0, 1), (0, 1), cells=(1, 1, 1), kind="tet"), second, 2)
    start = time.perf_counter()
    pieces = intersect(first, second, 2)
    assert pieces.dx.shape[0] > 9e4
    assert pieces.measure == pytest.approx(0.987, rel=1e-13)
    assert time.perf_counter() - start < 15
