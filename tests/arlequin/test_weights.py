"""Weights: their shapes, and the exactness in the mean of cell weights where a cell is cut."""

import numpy as np
import pytest
import skfem
from skfem.helpers import grad

from arlequin.junctions.weights import Constant, Cubic, Linear, cell_weights, share
from arlequin.junctions.zone_coordinate import PlanarZoneCoordinate
from arlequin.models.errors import UserError
from arlequin.overlap.intersect import intersect


def test_shapes_of_the_weights():
    s = np.linspace(0, 1, 11)
    np.testing.assert_allclose(Linear().fine(s), s)
    np.testing.assert_allclose(Constant(0.3).fine(s), 0.3)
    cubic = Cubic().fine
    # both ends and their slopes, and point symmetry about the middle
    np.testing.assert_allclose(cubic(np.array([0.0, 0.5, 1.0])), [0, 0.5, 1])
    np.testing.assert_allclose(cubic(s) + cubic(1 - s), 1.0)
    assert cubic(np.array([1e-6]))[0] < 1e-11


@pytest.mark.parametrize("value", [0.0, 1.0, -0.2, float("nan"), "half"])
def test_constant_must_leave_both_parts_a_share(value):
    with pytest.raises(UserError, match="value"):
        Constant(value)


@pytest.mark.parametrize(("start", "end"), [(0.4, 0.6), (0.6, 0.4)])
def test_taper_goes_from_its_start_to_its_end(start, end):
    zone_coordinate = PlanarZoneCoordinate.along(0, 1, start, end)
    x = np.array([[0.4, 0.45, 0.6, 0.0, 1.0]])
    expected = np.array([0, 0.25, 1, 0, 1])
    alpha = share(Linear(), zone_coordinate.coordinate(x), x)
    np.testing.assert_allclose(alpha, expected if end > start else 1 - expected, atol=1e-15)


def cut_meshes(kind):
    if kind == "line":
        return skfem.MeshLine(np.linspace(0, 1, 8)), skfem.MeshLine(np.linspace(0.33, 1.6, 12))
    mesh = {"tri": skfem.MeshTri, "quad": skfem.MeshQuad}[kind]
    grid = np.linspace(0, 0.3, 4)
    return mesh.init_tensor(np.linspace(0, 1, 8), grid), mesh.init_tensor(np.linspace(0.33, 1.6, 12), grid)


@pytest.mark.parametrize(
    ("kind", "element"),
    [
        ("line", skfem.ElementLineP1()),
        ("line", skfem.ElementLineP2()),
        ("tri", skfem.ElementTriP1()),
        ("tri", skfem.ElementTriP2()),
        ("quad", skfem.ElementQuad1()),
        ("quad", skfem.ElementQuad2()),
    ],
)
def test_a_cut_cell_keeps_the_integral_of_the_weighted_strain(kind, element):
    mesh, other = cut_meshes(kind)
    basis = skfem.CellBasis(mesh, element, intorder=2 * element.maxdeg)
    zone_coordinate = PlanarZoneCoordinate.along(0, mesh.dim(), 0.33, 1.0)
    pieces = intersect(mesh, other, 6)
    points = np.asarray(basis.global_coordinates())
    weights, _ = cell_weights(
        basis,
        basis.dx,
        pieces.coarse_cells,
        pieces.points,
        pieces.dx,
        1 - share(Linear(), zone_coordinate.coordinate(pieces.points), pieces.points),
        1 - share(Linear(), zone_coordinate.coordinate(points), points),
    )
    assert weights.min() >= 0
    # outside the overlap: exactly one; inside whole cells: pointwise
    middle = mesh.p[0, mesh.t]
    assert np.all(weights[middle.max(axis=0) < 0.33] == 1.0)
    whole = middle.min(axis=0) > 0.33
    np.testing.assert_allclose(
        weights[whole], (1 - share(Linear(), zone_coordinate.coordinate(points), points))[whole], atol=1e-12
    )

    # the oracle integrates the kinked weight on a mesh with a node at the kink
    cut = np.unique(np.append(np.linspace(0, 1, 8), 0.33))
    if kind == "line":
        fitted_mesh, fitted_element = skfem.MeshLine(cut), skfem.ElementLineP1()
    else:
        fitted_mesh, fitted_element = (
            skfem.MeshQuad.init_tensor(cut, np.linspace(0, 0.3, 4)),
            skfem.ElementQuad1(),
        )
    fitted = skfem.CellBasis(fitted_mesh, fitted_element, intorder=12)

    def exact(polynomial):
        x = np.asarray(fitted.global_coordinates())
        return float((np.clip((1 - x[0]) / 0.67, 0, 1) * polynomial(x) * fitted.dx).sum())

    for polynomial in (lambda x: np.ones_like(x[0]), lambda x: x[0]):
        measured = float((weights * polynomial(points) * basis.dx).sum())
        assert measured == pytest.approx(exact(polynomial), rel=1e-12)

    # weighted internal force of u = x, per node, against the same force with the exact weight
    @skfem.LinearForm
    def force(v, w):
        return w["a"] * grad(v)[0]

    refined_x = np.asarray(basis.doflocs[0])
    vector = force.assemble(basis, a=weights)
    assert vector @ refined_x == pytest.approx(exact(lambda x: np.ones_like(x[0])), rel=1e-12)


def test_a_step_keeps_the_mean_and_no_weight_is_negative():
    mesh, other = skfem.MeshLine(np.linspace(0, 1, 3)), skfem.MeshLine(np.linspace(0.05, 2, 9))
    basis = skfem.CellBasis(mesh, skfem.ElementLineP1(), intorder=3)
    pieces = intersect(mesh, other, 4)
    points = np.asarray(basis.global_coordinates())
    at_pieces, at_points = np.full(pieces.dx.shape, 1e-3), np.where(points[0] > 0.05, 1e-3, 1.0)
    weights, _ = cell_weights(basis, basis.dx, pieces.coarse_cells, pieces.points, pieces.dx, at_pieces, at_points)
    assert weights.min() >= 0
    assert (weights * basis.dx).sum() == pytest.approx(0.05 + 0.95e-3, rel=1e-12)


def test_mass_of_both_parts_is_that_of_the_union():
    mesh, other = cut_meshes("quad")
    pieces, zone_coordinate, total = intersect(mesh, other, 6), PlanarZoneCoordinate.along(0, 2, 0.33, 1.0), 0.0
    for part, cells in ((mesh, pieces.coarse_cells), (other, pieces.fine_cells)):
        basis = skfem.CellBasis(part, skfem.ElementQuad1(), intorder=3)
        shares = [
            share(Linear(), zone_coordinate.coordinate(x), x)
            for x in (pieces.points, np.asarray(basis.global_coordinates()))
        ]
        if part is mesh:
            shares = [1 - a for a in shares]
        weights, _ = cell_weights(basis, basis.dx, cells, pieces.points, pieces.dx, *shares)
        total += float((weights * basis.dx).sum())
    assert total == pytest.approx(1.6 * 0.3, rel=1e-12)
