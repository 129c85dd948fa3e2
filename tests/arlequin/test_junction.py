"""Junctions: transfer of fields, coupling matrices, the static patch test, conditioning, and messages."""

import numpy as np
import pytest
import skfem
from scipy.sparse import block_array, block_diag, hstack
from scipy.sparse.linalg import splu
from skfem.helpers import ddot, dot, sym_grad

from arlequin.coupling import H1, L2, Shapes
from arlequin.junction import Junction, dual_condition
from arlequin.overlap import intersect
from arlequin.weights import Constant, Cubic, Linear
from models.bar import Bar
from models.errors import UserError
from models.material import LinearElastic
from models.mesh import box, interval, rectangle
from models.solid import Solid

STEEL = LinearElastic(young=2e11, poisson=0.3, density=7800.0)
RATIOS = [1, 2, 3.7, 7.3, 10]


def bars(ratio, inner=0.6, order=1):
    """A coarse bar of 10 cells of 0.1 m and a fine one from `inner` to 2 m, cells `ratio` times smaller."""
    fine = interval(inner, 2.0, cells=round((2.0 - inner) * 10 * ratio))
    return (
        Bar("coarse", interval(0.0, 1.0, cells=10), STEEL, order=order),
        Bar("fine", fine, STEEL, order=order),
    )


def solids(ratio, kinds=("quad", "tri"), inner=0.04123, order=1, **options):
    options.setdefault("plane", "strain")
    rows = max(1, round(3 * ratio))
    fine = rectangle(
        (inner, 0.1), (0, 0.015), cells=(max(2, round((0.1 - inner) / 0.005 * ratio)), rows), kind=kinds[1]
    )
    coarse = rectangle((0, 0.06), (0, 0.015), cells=(12, 3), kind=kinds[0])
    return Solid("coarse", coarse, STEEL, order=order, **options), Solid("fine", fine, STEEL, order=order, **options)


def solve(junction, fixed, exact):
    """Static equilibrium of both parts with `fixed` dofs at their `exact` displacements.

    Returns the relative error of the displacement, which holds the round-off of the factorisation, and the
    imbalance of the exact displacement under a constant multiplier along x, relative to the internal forces.
    """
    weighting, operator = junction.weighting(), junction.operator()
    parts = (junction.coarse, junction.fine)
    assembled = [part.assemble(weighting[part.name]) for part in parts]
    K = block_diag([a.stiffness for a in assembled], format="csr")
    K = K / abs(K).max()
    C = hstack([operator.coarse, operator.fine], format="csr")
    C = C / abs(C).max()
    free = np.setdiff1d(np.arange(K.shape[0]), fixed)
    saddle = block_array([[K[free][:, free], C[:, free].T], [C[:, free], None]], format="csc")
    known = np.zeros(K.shape[0])
    known[fixed] = exact[fixed]
    found = splu(saddle).solve(-np.concatenate(((K @ known)[free], C @ known)))
    constant = np.zeros(C.shape[0])
    constant[:: operator.components] = 1.0
    # from the strains: no round-off of the translation
    displacements = np.split(exact, [junction.coarse.dof_count])
    force = np.concatenate([a.internal(u)[0] for a, u in zip(assembled, displacements, strict=True)])[free]
    glue = (C.T @ constant)[free]
    imbalance = force - glue * (force @ glue) / (glue @ glue)
    error = np.abs(found[: free.size] - exact[free]).max() / np.abs(exact).max()
    return error, np.abs(imbalance).max() / np.abs(force).max()


def bar_patch(junction):
    x = np.concatenate([part.positions[:, 0] for part in (junction.coarse, junction.fine)])
    return solve(junction, np.array([np.argmin(x), np.argmax(x)]), x)


def solid_patch(junction):
    """Uniaxial plane stress: u = (x, −ν y), sides free."""
    x = np.concatenate([part.positions for part in (junction.coarse, junction.fine)])
    exact = x * np.array([1.0, -STEEL.poisson])
    low, high = x[:, 0].min(), x[:, 0].max()
    ends = np.flatnonzero((x[:, 0] < low + 1e-12) | (x[:, 0] > high - 1e-12))
    corner = np.flatnonzero((x[:, 0] < low + 1e-12) & (x[:, 1] < 1e-12))
    return solve(junction, np.concatenate((2 * ends, 2 * corner + 1)), exact.ravel())


@pytest.mark.parametrize("coupling", [L2(), H1(0.05)])
@pytest.mark.parametrize("mediator", ["coarse", "fine"])
@pytest.mark.parametrize("ratio", RATIOS)
def test_linear_fields_agree_in_1d(ratio, mediator, coupling):
    coarse, fine = bars(ratio, inner=0.6123)
    C = Junction(coarse, fine, coupling=coupling, mediator=mediator).operator()
    for field in (lambda x: np.ones_like(x), lambda x: x):
        left, right = C.coarse @ field(coarse.positions[:, 0]), C.fine @ field(fine.positions[:, 0])
        np.testing.assert_allclose(left + right, 0, atol=1e-13 * np.abs(left).max())


@pytest.mark.parametrize("kinds", [("quad", "tri"), ("tri", "quad"), ("tri", "tri"), ("quad", "quad")])
@pytest.mark.parametrize("coupling", [L2(), H1(0.005)])
@pytest.mark.parametrize("plane", ["strain", "axisymmetric"])
@pytest.mark.parametrize("order", [1, 2])
def test_linear_fields_agree_in_2d(kinds, coupling, plane, order):
    coarse, fine = solids(3.7, kinds, order=order, plane=plane)
    C = Junction(coarse, fine, coupling=coupling).operator()
    for matrix in (np.zeros((2, 2)), np.array([[1.0, 2.0], [-3.0, 0.5]])):
        values = [(0.01 + part.positions @ matrix.T).ravel() for part in (coarse, fine)]
        left, right = C.coarse @ values[0], C.fine @ values[1]
        np.testing.assert_allclose(left + right, 0, atol=2e-13 * np.abs(left).max())


def test_quadratic_fields_agree_between_second_order_parts():
    coarse, fine = solids(2.3, ("quad", "tri"), order=2)
    C = Junction(coarse, fine).operator()
    values = [
        np.column_stack((p[:, 0] ** 2 - p[:, 1] * p[:, 0], p[:, 1] ** 2)).ravel()
        for p in (coarse.positions, fine.positions)
    ]
    left = C.coarse @ values[0]
    np.testing.assert_allclose(left + C.fine @ values[1], 0, atol=2e-13 * np.abs(left).max())


@pytest.mark.parametrize(("kind", "element"), [("quad", skfem.ElementQuad1()), ("tri", skfem.ElementTriP1())])
def test_blocks_of_nested_meshes_are_the_mass_matrix_of_the_zone(kind, element):
    coarse, fine = solids(2, (kind, kind), inner=0.04, thickness=0.3)
    operator = Junction(coarse, fine).operator()
    zone = coarse.mesh.restrict(np.flatnonzero(coarse.mesh.p[0, coarse.mesh.t].mean(axis=0) > 0.04))

    @skfem.BilinearForm
    def mass(u, v, w):
        return 0.3 * u * v

    basis = skfem.CellBasis(zone, element, intorder=4)
    order = np.lexsort(np.round(basis.doflocs, 9))
    ours = np.lexsort(np.round(operator.positions.T, 9))
    expected = mass.assemble(basis).toarray()[np.ix_(order, order)]
    gram = operator.gram.toarray()[0::2, 0::2][np.ix_(ours, ours)]
    np.testing.assert_allclose(gram, expected, rtol=0, atol=1e-14 * expected.max())
    # no mixing of components in L2, and the coarse block is the Gram matrix on the coarse nodes
    assert abs(operator.gram[0::2, 1::2]).max() == 0
    assert abs(operator.coarse).sum() == pytest.approx(abs(operator.gram).sum(), rel=1e-13)
    assert operator.fine.sum() == pytest.approx(-2 * 0.3 * 0.02 * 0.015, rel=1e-13)


def test_h1_on_one_line_cell_is_the_closed_form():
    mesh, length = interval(0.0, 0.5, cells=1), 0.3
    basis = skfem.CellBasis(mesh, skfem.ElementLineP1())
    pieces = intersect(mesh, mesh, 2)
    shapes = Shapes.at(basis, pieces.coarse_cells, pieces.points)
    expected = 0.5 / 6 * np.array([[2, 1], [1, 2]]) + length**2 / 0.5 * np.array([[1, -1], [-1, 1]])
    np.testing.assert_allclose(H1(length).matrix(shapes, shapes, pieces.dx, 1, None).toarray(), expected, rtol=1e-13)


@pytest.mark.parametrize("revolves", [False, True])
def test_h1_in_2d_is_the_vector_form(revolves):
    mesh = rectangle((0.2, 0.5), (0, 0.2), cells=(2, 2), kind="quad")
    length = 0.3
    pieces = intersect(mesh, mesh, 12)
    shapes = Shapes.at(skfem.CellBasis(mesh, skfem.ElementQuad1()), pieces.coarse_cells, pieces.points)
    radius = pieces.points[0] if revolves else None
    ours = H1(length).matrix(shapes, shapes, pieces.dx, 2, radius).toarray()

    @skfem.BilinearForm
    def form(u, v, w):
        hoop = u[0] * v[0] / w.x[0] ** 2 if revolves else 0.0
        return dot(u, v) + length**2 * (ddot(sym_grad(u), sym_grad(v)) + hoop)

    expected = form.assemble(skfem.CellBasis(mesh, skfem.ElementVector(skfem.ElementQuad1()), intorder=20)).toarray()
    np.testing.assert_allclose(ours, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("weights", [Linear(), Cubic(), Constant(0.4)])
@pytest.mark.parametrize("mirrored", [False, True])
def test_partition_of_unity_at_the_quadrature_points(weights, mirrored):
    coarse = Bar("coarse", interval(0.0, 1.0, cells=10), STEEL)
    fine = Bar("fine", interval(-1.0, 0.4, cells=56) if mirrored else interval(0.6, 2.0, cells=56), STEEL)
    weighting = Junction(coarse, fine, weights=weights).weighting()
    inside = lambda x: (x > 0) & (x < 0.4) if mirrored else (x > 0.6) & (x < 1)  # noqa: E731
    for part in (coarse, fine):
        x, w = part.quadrature_points()[0], weighting[part.name]
        s = (0.4 - x) / 0.4 if mirrored else (x - 0.6) / 0.4
        shape = {Linear: lambda s: s, Cubic: lambda s: 3 * s**2 - 2 * s**3, Constant: lambda s: 0.4 + 0 * s}
        alpha = shape[type(weights)](s)
        expected = np.where(inside(x), alpha if part is fine else 1 - alpha, 1.0)
        for kind in (w.stiffness, w.mass, w.load):
            np.testing.assert_allclose(kind, expected, atol=1e-12)


@pytest.mark.parametrize("plane", ["strain", "axisymmetric"])
def test_mass_of_the_parts_is_that_of_their_union(plane):
    coarse, fine = solids(3.7, plane=plane)
    weighting = Junction(coarse, fine).weighting()
    total = sum(part.assemble(weighting[part.name]).mass[0::2, 0::2].sum() for part in (coarse, fine))
    volume = np.pi * 0.1**2 * 0.015 if plane == "axisymmetric" else 0.1 * 0.015
    assert total == pytest.approx(STEEL.density * volume, rel=1e-12)


@pytest.mark.parametrize("taller", ["coarse", "fine"])
def test_parts_of_different_height_weigh_as_much_as_their_union(taller):
    heights = {"coarse": 0.02 if taller == "coarse" else 0.01, "fine": 0.02 if taller == "fine" else 0.01}
    coarse = Solid("coarse", rectangle((0, 0.06), (0, heights["coarse"]), cells=(12, 3)), STEEL, plane="strain")
    fine = Solid("fine", rectangle((0.04, 0.1), (0, heights["fine"]), cells=(50, 10)), STEEL, plane="strain")
    weighting = Junction(coarse, fine).weighting()
    total = sum(part.assemble(weighting[part.name]).mass[0::2, 0::2].sum() for part in (coarse, fine))
    union = 0.06 * heights["coarse"] + 0.06 * heights["fine"] - 0.02 * 0.01
    assert total == pytest.approx(STEEL.density * union, rel=1e-12)
    assert min(w.stiffness.min() for w in weighting.values()) >= 0


@pytest.mark.parametrize("inner", [0.6, 0.6123, 0.5999, 0.59999999])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("ratio", RATIOS)
def test_patch_in_1d(ratio, order, inner):
    error, imbalance = bar_patch(Junction(*bars(ratio, inner, order)))
    assert error < 1e-11
    assert imbalance < 1e-12


@pytest.mark.parametrize("kinds", [("quad", "tri"), ("tri", "quad"), ("tri", "tri"), ("quad", "quad")])
@pytest.mark.parametrize("inner", [0.04, 0.04123])
@pytest.mark.parametrize(("ratio", "order"), [(1, 1), (3.7, 1), (7.3, 1), (2.3, 2)])
def test_patch_in_2d(kinds, inner, ratio, order):
    error, imbalance = solid_patch(Junction(*solids(ratio, kinds, inner, order, plane="stress")))
    # the factorisation of a system of condition 4e5 leaves up to 2e-11
    assert error < 1e-10
    assert imbalance < 1e-12


def test_weights_whose_slope_the_mediator_lacks_fail_the_patch_as_the_theory_says():
    coarse, fine = bars(7.3)
    assert 1e-4 < bar_patch(Junction(coarse, fine, weights=Cubic()))[0] < 1e-2
    assert 1e-3 < bar_patch(Junction(coarse, fine, weights=Constant()))[0] < 1e-1


@pytest.mark.parametrize("inner", [0.6, 0.6999, 0.6123, 0.63])
@pytest.mark.parametrize("ratio", [2, 3.7, 7.3, 10, 50])
def test_dual_operator_is_well_conditioned_also_where_a_cell_is_cut_to_a_sliver(ratio, inner):
    junction = Junction(*bars(ratio, inner))
    weighting = junction.weighting()
    masses = [part.assemble(weighting[part.name]).mass for part in (junction.coarse, junction.fine)]
    operator = junction.operator()
    assert dual_condition(operator, *masses) < (25 if inner != 0.63 else 60)
    assert np.linalg.eigvalsh(operator.gram.toarray()).min() > 0


def test_mismatch_is_the_mean_square_difference():
    coarse, fine = bars(7.3)
    operator = Junction(coarse, fine).operator()
    ones = operator.mismatch(np.full(coarse.dof_count, 3.0), np.full(fine.dof_count, 1.0))
    assert ones == pytest.approx(2.0 * np.sqrt(0.4), rel=1e-12)


def test_pieces_of_1e5_pairs_are_coupled_in_seconds():
    import time

    coarse = Solid("coarse", rectangle((0, 0.6), (0, 0.1), cells=(120, 20)), STEEL, plane="strain")
    fine = Solid("fine", rectangle((0.1, 0.7), (0, 0.1), cells=(877, 146), kind="quad"), STEEL, plane="strain")
    junction = Junction(coarse, fine)
    start = time.perf_counter()
    operator, weighting = junction.operator(), junction.weighting()
    assert time.perf_counter() - start < 20
    assert operator.fine.sum() == pytest.approx(-2 * 0.05, rel=1e-12)
    assert weighting["fine"].mass.shape[0] == 877 * 146


def raises(message, coarse, fine, **options):
    with pytest.raises(UserError, match=message) as caught:
        Junction(coarse, fine, **options)
    assert "\n" not in str(caught.value) and caught.value.code == 2


def test_messages_of_bad_junctions():
    coarse, fine = bars(4)
    far = Bar("far", interval(3.0, 4.0, cells=5), STEEL)
    raises(r"'coarse' \[0, 1\] and 'far' \[3, 4\] do not overlap", coarse, far)
    raises("do not overlap", coarse, Bar("beside", interval(1.0, 2.0, cells=5), STEEL))
    raises(r"overlap over 0.05 m, less than one cell of 'coarse' \(0.1 m\)", *bars(4, inner=0.95))
    raises("follow each other", coarse, Bar("inside", interval(0.2, 0.8, cells=20), STEEL))
    raises("follow each other", coarse, Bar("same", interval(0.0, 1.0, cells=20), STEEL))
    raises("two parts named 'coarse'", coarse, Bar("coarse", interval(0.5, 2.0, cells=9), STEEL))
    raises("mediator = 'own'", coarse, fine, mediator="own")
    raises("thickness or section", coarse, Bar("fine", interval(0.5, 2.0, cells=9), STEEL, section=2.0))
    strain, stress = solids(2)[0], solids(2, plane="stress")[1]
    raises("kind of 'coarse' is plane strain, of 'fine' plane stress", strain, stress)
    raises("kind", coarse, stress)
    cubes = [Solid(f"cube {i}", box((i, i + 2), (0, 1), (0, 1), cells=(2, 2, 2)), STEEL) for i in (0, 1)]
    raises("dimension 1 or 2", *cubes)
    diagonal = Solid("fine", rectangle((0.03, 0.1), (0.005, 0.1), cells=(9, 9)), STEEL, plane="strain")
    raises("exactly one axis", strain, diagonal)
    with pytest.raises(UserError, match="length"):
        H1(-1.0)
