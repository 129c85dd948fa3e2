"""Overlap of two meshes against closed-form areas and moments."""

import math
import time

import numpy as np
import pytest
import skfem
from hypothesis import given, settings
from hypothesis import strategies as st

from arlequin.coupling import to_reference
from arlequin.overlap import candidate_pairs, intersect, straight_cells
from models.errors import UserError

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


@pytest.mark.parametrize("mesh", [skfem.MeshTri2.init_circle(), skfem.MeshQuad2.from_mesh(skfem.MeshQuad())])
def test_curved_edges_are_refused(mesh):
    mesh.doflocs[:, mesh.dofs.element_dofs[-1, 0]] += 0.01
    with pytest.raises(UserError, match="curved edge"):
        intersect(mesh, rectangle("quad", (0, 1), (0, 1), (2, 2)), 2)


def test_concave_cells_and_solids_are_refused():
    concave = skfem.MeshQuad(np.array([[0, 1, 0.2, 0], [0, 0, 0.2, 1.0]]), np.arange(4)[:, None])
    with pytest.raises(UserError, match="not convex"):
        intersect(concave, concave, 2)
    with pytest.raises(UserError, match="dimension"):
        intersect(skfem.MeshTet(), skfem.MeshTet(), 2)
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
