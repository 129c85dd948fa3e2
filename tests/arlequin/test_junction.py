"""Junctions: transfer of fields, coupling matrices, the static patch test, conditioning, and messages."""

import re
import warnings

import numpy as np
import pytest
import skfem
from scipy.sparse import block_array, block_diag, diags_array, hstack
from scipy.sparse.linalg import splu
from skfem.helpers import ddot, dot, sym_grad

import arlequin as aq
from arlequin.junctions.coupling import H1, L2, Shapes
from arlequin.junctions.junction import Junction, dual_condition
from arlequin.junctions.weights import Constant, Cubic, Linear
from arlequin.junctions.zone import Strip
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.mesh import box, interval, rectangle
from arlequin.overlap.intersect import intersect

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


def saddle_point(assembled, C, free, load, known):
    """u with f_int(u) = load + Cᵀφ, C u = 0 on the `free` dofs and `known` on the others.

    The matrices are scaled, and the solution is refined with internal forces from strains: those of K u carry
    round-off of the displacement's size, which the condition number multiplies.
    """
    K = block_diag([a.stiffness for a in assembled], format="csr")
    split = np.cumsum([a.stiffness.shape[0] for a in assembled])[:-1]
    scale = diags_array(1 / np.sqrt(K[free][:, free].diagonal()))
    rows = C[:, free] @ scale
    level = diags_array(1 / np.sqrt((rows**2).sum(axis=1)))
    rows = level @ rows
    factor = splu(block_array([[scale @ K[free][:, free] @ scale, rows.T], [rows, None]], format="csc"))
    u, multipliers = known.copy(), np.zeros(C.shape[0])
    for _ in range(4):
        internal = np.concatenate([a.internal(v)[0] for a, v in zip(assembled, np.split(u, split), strict=True)])
        missing = scale @ (load - internal)[free] - rows.T @ multipliers
        found = factor.solve(np.concatenate((missing, -(level @ (C @ u)))))
        u[free] += scale @ found[: free.size]
        multipliers += found[free.size :]
    return u


def solve(junction, fixed, exact):
    """Static equilibrium of both parts with `fixed` dofs at their `exact` displacements.

    Returns the relative error of the displacement and the
    imbalance of the exact displacement under a constant multiplier along x, relative to the internal forces.
    """
    weighting, operator = junction.weighting(), junction.operator()
    parts = (junction.coarse, junction.fine)
    assembled = [part.assemble(weighting[part.name]) for part in parts]
    C = hstack([operator.coarse, operator.fine], format="csr")
    free = np.setdiff1d(np.arange(exact.size), fixed)
    known = np.zeros(exact.size)
    known[fixed] = exact[fixed]
    found = saddle_point(assembled, C, free, np.zeros(exact.size), known)
    constant = np.zeros(C.shape[0])
    constant[:: operator.components] = 1.0
    # from the strains: no round-off of the translation
    displacements = np.split(exact, [junction.coarse.dof_count])
    force = np.concatenate([a.internal(u)[0] for a, u in zip(assembled, displacements, strict=True)])[free]
    glue = (C.T @ constant)[free]
    imbalance = force - glue * (force @ glue) / (glue @ glue)
    error = np.abs(found - exact).max() / np.abs(exact).max()
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


@pytest.mark.sampled(7)
@pytest.mark.filterwarnings("ignore::arlequin.junctions.base.JunctionWarning")
@pytest.mark.parametrize("coupling", [L2(), H1(0.05)])
@pytest.mark.parametrize("mediator", ["coarse", "fine"])
@pytest.mark.parametrize("ratio", RATIOS)
def test_linear_fields_agree_in_1d(ratio, mediator, coupling):
    coarse, fine = bars(ratio, inner=0.6123)
    C = Junction(coarse, fine, coupling=coupling, mediator=mediator).operator()
    for field in (lambda x: np.ones_like(x), lambda x: x):
        left, right = C.coarse @ field(coarse.positions[:, 0]), C.fine @ field(fine.positions[:, 0])
        np.testing.assert_allclose(left + right, 0, atol=1e-13 * np.abs(left).max())


KINDS = [("quad", "tri"), ("tri", "quad"), ("tri", "tri"), ("quad", "quad")]


@pytest.mark.parametrize(
    ("kinds", "coupling", "plane", "order"),
    [  # each pair is quick once
        pytest.param(*one, marks=() if j == i ^ n & 1 and k == i ^ n >> 1 else pytest.mark.slow)
        for n, i, j, k, *one in (
            (n, i, j, k, kinds, coupling, plane, order)
            for n, kinds in enumerate(KINDS)
            for i, coupling in enumerate((L2(), H1(0.005)))
            for j, plane in enumerate(("strain", "axisymmetric"))
            for k, order in enumerate((1, 2))
        )
    ],
)
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


@pytest.mark.filterwarnings("ignore::arlequin.junctions.base.JunctionWarning")
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
        for kind in (w.stiffness, w.mass):  # loads: test_loads_across_zones.py
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


@pytest.mark.sampled(7)
@pytest.mark.parametrize("inner", [0.6, 0.6123, 0.5999, 0.59999999])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("ratio", RATIOS)
def test_patch_in_1d(ratio, order, inner):
    error, imbalance = bar_patch(Junction(*bars(ratio, inner, order)))
    assert error < 1e-12
    assert imbalance < 1e-12


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("kinds", "inner", "ratio", "order"),
    [  # each pair is quick once
        pytest.param(kinds, inner, *mesh, marks=() if (n + m) % 2 == i else pytest.mark.slow)
        for n, kinds in enumerate(KINDS)
        for i, inner in enumerate((0.04, 0.04123))
        for m, mesh in enumerate([(1, 1), (3.7, 1), (7.3, 1), (2.3, 2)])
    ],
)
def test_patch_in_2d(kinds, inner, ratio, order):
    error, imbalance = solid_patch(Junction(*solids(ratio, kinds, inner, order, plane="stress")))
    assert error < 1e-12
    assert imbalance < 1e-12


@pytest.mark.filterwarnings("ignore::arlequin.junctions.base.JunctionWarning")
def test_weights_whose_slope_the_mediator_lacks_fail_the_patch_as_the_theory_says():
    coarse, fine = bars(7.3)
    assert 1e-4 < bar_patch(Junction(coarse, fine, weights=Cubic()))[0] < 1e-2
    assert 1e-3 < bar_patch(Junction(coarse, fine, weights=Constant()))[0] < 1e-1


@pytest.mark.sampled(7)
@pytest.mark.parametrize("inner", [0.6, 0.6999, 0.6123, 0.63])
@pytest.mark.parametrize("ratio", [2, 3.7, 7.3, 10, 50])
def test_dual_operator_is_well_conditioned_also_where_a_cell_is_cut_to_a_sliver(ratio, inner):
    junction = Junction(*bars(ratio, inner))
    weighting = junction.weighting()
    masses = [part.assemble(weighting[part.name]).mass for part in (junction.coarse, junction.fine)]
    operator = junction.operator()
    assert dual_condition(operator, *masses) < (25 if inner != 0.63 else 60)
    assert np.linalg.eigvalsh(operator.gram.toarray()).min() > 0


def cubes(ratio, kinds, order=1, inner=0.0312):
    """Coarse and fine prisms of 0.02 × 0.02 m, cells of 0.01 m and `ratio` times smaller."""
    counts = [max(1, round(length / 0.01 * ratio)) for length in (0.08 - inner, 0.02, 0.02)]
    coarse = box((0, 0.05), (0, 0.02), (0, 0.02), cells=(5, 2, 2), kind=kinds[0])
    fine = box((inner, 0.08), (0, 0.02), (0, 0.02), cells=tuple(counts), kind=kinds[1])
    return Solid("coarse", coarse, STEEL, order=order), Solid("fine", fine, STEEL, order=order)


SOLIDS = [("hex", "hex"), ("tet", "tet"), ("hex", "tet"), ("tet", "hex")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("kinds", "ratio", "order"),
    [
        pytest.param(kinds, ratio, order, marks=pytest.mark.slow if ratio == 2.3 and n != 2 else ())
        for n, kinds in enumerate(SOLIDS)
        for ratio, order in ((1.3, 1), (2.3, 1), (1.3, 2))
    ],
)
def test_patch_in_3d(kinds, ratio, order):
    junction = Junction(*cubes(ratio, kinds, order))
    x = np.concatenate([part.positions for part in (junction.coarse, junction.fine)])
    ends = np.flatnonzero((x[:, 0] < 1e-12) | (x[:, 0] > 0.08 - 1e-12))
    exact = (x * np.array([1.0, -STEEL.poisson, -STEEL.poisson])).ravel()
    error, imbalance = solve(junction, (3 * ends[:, None] + np.arange(3)).ravel(), exact)
    assert error < 1e-12
    assert imbalance < 1e-12


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kinds", SOLIDS)
@pytest.mark.parametrize(("coupling", "order"), [(L2(), 1), (H1(0.01), 1), (L2(), 2)])
def test_linear_fields_agree_in_3d(kinds, coupling, order):
    coarse, fine = cubes(1.7, kinds, order)
    C = Junction(coarse, fine, coupling=coupling).operator()
    matrix = np.array([[1.0, 2.0, 0.3], [-3.0, 0.5, 0.1], [0.7, 0.2, -1.0]])
    values = [(0.01 + part.positions @ matrix.T).ravel() for part in (coarse, fine)]
    left, right = C.coarse @ values[0], C.fine @ values[1]
    np.testing.assert_allclose(left + right, 0, atol=1e-12 * np.abs(left).max())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kinds", SOLIDS)
def test_mass_and_zone_in_3d(kinds):
    coarse, fine = cubes(2.3, kinds)
    junction = Junction(coarse, fine)
    weighting, operator = junction.weighting(), junction.operator()
    total = sum(part.assemble(weighting[part.name]).mass[0::3, 0::3].sum() for part in (coarse, fine))
    assert total == pytest.approx(STEEL.density * 0.08 * 0.02**2, rel=1e-12)
    assert operator.gram.sum() == pytest.approx(3 * (0.05 - 0.0312) * 0.02**2, rel=1e-12)
    assert operator.fine.sum() == pytest.approx(-operator.gram.sum(), rel=1e-12)
    assert dual_condition(operator, *[p.assemble(weighting[p.name]).mass for p in (coarse, fine)]) < 10


WAVE = 1.3 * np.pi


def manufactured(x):
    """Displacement and its gradient of a smooth field in the plane, at points (axis, …)."""
    (X, Y), k, s, c = x, WAVE, np.sin, np.cos
    u = np.stack([s(k * X) * c(k * Y), 0.3 * X**3 + c(k * X) * s(2 * Y)])
    first = np.stack([k * c(k * X) * c(k * Y), -k * s(k * X) * s(k * Y)])
    return u, np.stack([first, np.stack([0.9 * X**2 - k * s(k * X) * s(2 * Y), 2 * c(k * X) * c(2 * Y)])])


def body_force(x, t):
    """−div σ of the manufactured field."""
    (X, Y), k, s, c = x, WAVE, np.sin, np.cos
    lam, mu = STEEL.lame()
    uxx = uyy = -(k**2) * s(k * X) * c(k * Y)
    uxy, vxy = -(k**2) * c(k * X) * s(k * Y), -2 * k * s(k * X) * c(2 * Y)
    vxx, vyy = 1.8 * X - k**2 * c(k * X) * s(2 * Y), -4 * c(k * X) * s(2 * Y)
    laplacian = np.stack([uxx + uyy, vxx + vyy])
    return -(lam + mu) * np.stack([uxx + vxy, uxy + vyy]) - mu * laplacian


def manufactured_errors(cells, kinds, order, ratio=2.7, **options):
    """Weighted relative L2 errors of the displacement and its gradient; zone of fixed length, meshes not nested."""
    given = {"plane": "strain", "order": order, "body_force": body_force}
    coarse = Solid("coarse", rectangle((0, 1), (0, 0.5), (cells, cells // 2), kinds[0]), STEEL, **given)
    inner, h = 1 - 0.4123, 1 / cells / ratio
    mesh = rectangle((inner, 1.5), (0, 0.5), (round((1.5 - inner) / h), round(0.5 / h)), kinds[1])
    fine = Solid("fine", mesh, STEEL, **given)
    junction = Junction(coarse, fine, **options)
    weighting, operator = junction.weighting(), junction.operator()
    assembled = [part.assemble(weighting[part.name]) for part in (coarse, fine)]
    x = np.concatenate([coarse.positions, fine.positions])
    on = ((np.abs(x - x.min(axis=0)) < 1e-12) | (np.abs(x - x.max(axis=0)) < 1e-12)).any(axis=1)
    C = hstack([operator.coarse, operator.fine], format="csr")
    known = np.where(np.repeat(on, 2), manufactured(x.T)[0].T.ravel(), 0.0)
    load = np.concatenate([a.load(0.0) for a in assembled])
    u = saddle_point(assembled, C, np.flatnonzero(~np.repeat(on, 2)), load, known)
    wrong, size = np.zeros(2), np.zeros(2)
    for part, own in zip((coarse, fine), np.split(u, [coarse.dof_count]), strict=True):
        nodal, dx = own.reshape(-1, 2)[part.cells.nodes], weighting[part.name].stiffness * part.basis.dx
        exact = manufactured(part.quadrature_points())
        ours = (
            np.einsum("qn,cni->icq", part.cells.values, nodal),
            np.einsum("cqan,cni->iacq", part.cells.gradients, nodal),
        )
        wrong += [np.sum(dx * (a - b) ** 2) for a, b in zip(ours, exact, strict=True)]
        size += [np.sum(dx * b**2) for b in exact]
    return np.sqrt(wrong / size)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("kinds", "order", "l2", "h1"),
    [
        pytest.param(kinds, *one, marks=pytest.mark.slow if n == one[0] - 1 else ())
        for n, kinds in enumerate([("tri", "tri"), ("quad", "quad"), ("quad", "tri")])
        for one in ((1, 1.9, 0.9), (2, 2.8, 1.8))
    ],
)
def test_orders_of_a_manufactured_solution(kinds, order, l2, h1):
    cells = (8, 16) if order == 1 else (6, 12)
    errors = [manufactured_errors(n, kinds, order) for n in cells]
    orders = np.log2(errors[0] / errors[1])
    assert orders[0] > l2 and orders[1] > h1


def test_constant_weights_lose_order_as_their_warning_says():
    with pytest.warns(UserWarning, match="weights that jump"):
        errors = [manufactured_errors(n, ("quad", "tri"), 1, weights=Constant()) for n in (16, 32)]
    assert np.all(np.log2(errors[0] / errors[1]) < [1.4, 0.6])


def condition(coarse, fine, **options):
    junction = Junction(coarse, fine, **options)
    weighting = junction.weighting()
    masses = [part.assemble(weighting[part.name]).mass for part in (coarse, fine)]
    return junction.condition(junction.operator(), *masses)


def test_dual_condition_at_a_zone_of_four_cells():
    by_ratio = [condition(*bars(ratio)) for ratio in (2, 3.7, 7.3, 10, 20, 50)]
    assert max(by_ratio) < 25 and max(by_ratio) < 3 * min(by_ratio)
    refined = []
    for n in (10, 20, 40):
        fine = Bar("fine", interval(1 - 4 / n, 2, cells=round((n + 4) * 3.7)), STEEL)
        refined.append(condition(Bar("coarse", interval(0, 1, cells=n), STEEL), fine))
    np.testing.assert_allclose(refined, refined[0], rtol=0.01)
    for kinds in (("quad", "quad"), ("tri", "tri")):
        coarse = Solid("coarse", rectangle((0, 1), (0, 0.4), (10, 4), kinds[0]), STEEL, plane="strain")
        for ratio in (2, 7.3):
            counts = (round(7 * ratio), round(4 * ratio))
            assert (
                condition(
                    coarse, Solid("fine", rectangle((0.6, 1.3), (0, 0.4), counts, kinds[1]), STEEL, plane="strain")
                )
                < 25
            )


def test_dual_condition_of_second_order_parts_is_that_of_first_order_ones():
    """Second order at the ends of the zone too would give 14 to 41 on these bars."""
    by_ratio = [condition(*bars(ratio, order=2)) for ratio in (2, 3.7, 7.3, 10, 20, 50)]
    assert max(by_ratio) < 25 and max(by_ratio) < 3 * min(by_ratio)
    refined = []
    for n in (10, 20, 40):
        fine = Bar("fine", interval(1 - 4 / n, 2, cells=round((n + 4) * 3.7)), STEEL, order=2)
        refined.append(condition(Bar("coarse", interval(0, 1, cells=n), STEEL, order=2), fine))
    np.testing.assert_allclose(refined, refined[0], rtol=0.01)
    for kind in ("quad", "tri"):
        for ratio in (2, 10):
            meshes = {
                "coarse": rectangle((0, 1), (0, 0.2), (10, 2), kind),
                "fine": rectangle((0.6, 1.1), (0, 0.2), (5 * ratio, 2 * ratio), kind),
            }
            parts = [Solid(name, mesh, STEEL, plane="strain", order=2) for name, mesh in meshes.items()]
            assert condition(*parts) < 25


def test_estimated_dual_condition_is_that_of_the_dense_eigenvalues(monkeypatch):
    import arlequin.junctions.conditioning

    coarse, fine = solids(3.7)
    exact = condition(coarse, fine)
    monkeypatch.setattr(arlequin.junctions.conditioning, "DENSE", 0)
    assert condition(coarse, fine) == pytest.approx(exact, rel=0.05)


def test_own_mediator_of_the_coarse_cells_is_the_coarse_trace():
    coarse, fine = bars(3.7)
    trace = Junction(coarse, fine).operator()
    own = Junction(coarse, fine, mediator=interval(0.6, 1.0, cells=4)).operator()
    for block in ("coarse", "fine", "gram"):
        np.testing.assert_allclose(getattr(own, block).toarray(), getattr(trace, block).toarray(), atol=1e-15)
    assert condition(coarse, fine, mediator=interval(0.6, 1.0, cells=2)) < 25


def test_mismatch_is_the_mean_square_difference():
    coarse, fine = bars(7.3)
    operator = Junction(coarse, fine).operator()
    rates = operator.coarse @ np.full(coarse.dof_count, 3.0) + operator.fine @ np.ones(fine.dof_count)
    assert np.sqrt(rates @ np.linalg.solve(operator.gram.toarray(), rates)) == pytest.approx(
        2.0 * np.sqrt(0.4), rel=1e-12
    )


@pytest.mark.slow
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
    raises(r"zone of 0.05 m is thinner than one cell of 'coarse' \(0.1 m\)", *bars(4, inner=0.95))
    # parts that overlap by 0.5 m: what is thin is the zone
    raises(r"zone of 0.02 m is thinner than .*: make the zone", coarse, fine, zone=Strip(0.7, 0.72))
    raises("follow each other", coarse, Bar("inside", interval(0.2, 0.8, cells=20), STEEL))
    raises("follow each other", coarse, Bar("same", interval(0.0, 1.0, cells=20), STEEL))
    raises("two parts named 'coarse'", coarse, Bar("coarse", interval(0.5, 2.0, cells=9), STEEL))
    raises("mediator = 'own'", coarse, fine, mediator="own")
    raises("thickness or section", coarse, Bar("fine", interval(0.5, 2.0, cells=9), STEEL, section=2.0))
    strain, stress = solids(2)[0], solids(2, plane="stress")[1]
    raises("kind of 'coarse' is plane strain, of 'fine' plane stress", strain, stress)
    raises("kind", coarse, stress)
    diagonal = Solid("fine", rectangle((0.03, 0.1), (0.005, 0.1), cells=(9, 9)), STEEL, plane="strain")
    raises("exactly one axis", strain, diagonal)
    beside = Solid("solid", box((0.5, 2), (0, 1), (0, 1), cells=(2, 1, 1)), STEEL)
    raises("parts of different dimension need a beam's displacement field", coarse, beside)
    raises("'coarse' is of dimension 2 and 'solid' of 3: .* beam", strain, beside)
    with pytest.raises(UserError, match="length"):
        H1(-1.0)


def test_bands_of_a_box_that_leave_nothing_of_the_patch_are_told_of():
    """At the line of the user's code; half of the patch, or all of it on one side, is not too much."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    plate = aq.Solid("plate", aq.mesh.rectangle((0, 1), (0, 0.4), cells=(20, 8)), steel, plane="strain")
    patch = aq.Solid("patch", aq.mesh.rectangle((0.2, 0.6), (0.2, 0.4), cells=(16, 8)), steel, plane="strain")
    for width, line in ((0.2, None), (0.21, "along x the bands on both sides cover all of 'patch' .0.4 m.")):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            weights = aq.Junction(plate, patch, zone=aq.zones.Box(width=width)).weighting()["patch"].stiffness
        assert (weights.max() > 0.9) and (line is None) == (not told)
        if line is not None:
            assert re.search(line, str(told[0].message)) and told[0].filename == __file__
