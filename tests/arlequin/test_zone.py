"""Zones: where the weights rise, what is glued, the patch test of a fine part inside a coarse one, and messages."""

import warnings

import numpy as np
import pytest
from scipy.sparse import block_array, block_diag, diags_array, hstack
from scipy.sparse.linalg import splu

import arlequin as aq
from arlequin.junctions.base import JunctionWarning
from arlequin.junctions.coupling import H1, L2
from arlequin.junctions.junction import Junction, dual_condition
from arlequin.junctions.weights import Constant, Cubic, Function, Linear
from arlequin.junctions.zone import Box, Cells, HalfSpace, LevelSet, Strip
from arlequin.junctions.zone_coordinate import PlanarZoneCoordinate
from arlequin.models.errors import UserError
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.mesh import box, rectangle
from arlequin.overlap.intersect import intersect

STEEL = LinearElastic(young=2e11, poisson=0.3, density=7800.0)
STRAIN = np.array([[1.0, 0.3], [0.2, -0.4]])


def inside(low=(0.0212, 0.0312), high=(0.0745, 0.0822), cells=10, ratio=3.7, kinds=("tri", "tri"), order=1):
    """A coarse square of 0.1 m and a fine rectangle in it, meshes not nested."""
    side = 0.1 / cells / ratio
    counts = tuple(max(1, round((b - a) / side)) for a, b in zip(low, high, strict=True))
    fine = rectangle((low[0], high[0]), (low[1], high[1]), cells=counts, kind=kinds[1])
    coarse = rectangle((0, 0.1), (0, 0.1), cells=(cells, cells), kind=kinds[0])
    options = {"plane": "strain", "order": order}
    return Solid("coarse", coarse, STEEL, **options), Solid("fine", fine, STEEL, **options)


def patch(junction):
    """Relative errors of a constant strain imposed on the outer border: largest displacement, energy norm.

    Dofs without stiffness are left out; the matrices are scaled and the solution refined, as the error sought is
    of the round-off's size.
    """
    weighting, operator = junction.weighting(), junction.operator()
    parts = (junction.coarse, junction.fine)
    assembled = [part.assemble(weighting[part.name]) for part in parts]
    x = np.concatenate([part.positions for part in parts])
    exact = (x @ STRAIN.T).ravel()
    on = ((np.abs(x - x.min(axis=0)) < 1e-12) | (np.abs(x - x.max(axis=0)) < 1e-12)).any(axis=1)
    K = block_diag([a.stiffness for a in assembled], format="csr")
    C = hstack([operator.coarse, operator.fine], format="csr")
    fixed = np.repeat(on, 2)
    free = np.flatnonzero((K.diagonal() > 0) & ~fixed)
    scale = diags_array(1 / np.sqrt(K[free][:, free].diagonal()))
    rows = C[:, free] @ scale
    level = diags_array(1 / np.sqrt((rows**2).sum(axis=1)))
    saddle = block_array([[scale @ K[free][:, free] @ scale, (level @ rows).T], [level @ rows, None]], format="csc")
    known = np.where(fixed, exact, 0.0)
    right = -np.concatenate((scale @ (K @ known)[free], level @ (C @ known)))
    factor = splu(saddle)
    found = factor.solve(right)
    for _ in range(3):
        found += factor.solve(right - saddle @ found)
    u = exact.copy()
    u[free] = scale @ found[: free.size]
    split = [junction.coarse.dof_count]
    wrong, all_of_it = (
        sum(a.internal(part)[1] for a, part in zip(assembled, np.split(v, split), strict=True))
        for v in (u - exact, exact)
    )
    return np.abs(u - exact).max() / np.abs(exact).max(), np.sqrt(wrong / all_of_it)


def mass_of(junction):
    weighting = junction.weighting()
    n = junction.coarse.components
    return sum(
        part.assemble(weighting[part.name]).mass[::n, ::n].sum() / STEEL.density
        for part in (junction.coarse, junction.fine)
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("low", "high"), [((0.0212, 0.0312), (0.0745, 0.0822)), ((0.0212, 0.0), (0.0745, 0.0422))])
@pytest.mark.parametrize("kinds", [("tri", "tri"), ("quad", "tri"), ("quad", "quad")])
def test_patch_of_a_fine_box_inside_or_at_an_edge(kinds, low, high):
    junction = Junction(*inside(low, high, kinds=kinds, cells=20), zone=Box(width=0.018))
    displacement, energy = patch(junction)
    if kinds[0] == "tri":
        assert displacement < 1e-12 and energy < 1e-12
    else:  # the weights of a quadrilateral cut at a corner of S_f are kept positive
        assert displacement < 1e-3 and energy < 1e-3
    assert mass_of(junction) == pytest.approx(0.01, rel=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kinds", "order"), [(("tri", "quad"), 1), (("quad", "tri"), 1), (("tri", "quad"), 2)])
def test_patch_of_a_fine_strip_across_the_coarse_part(kinds, order):
    """Two bands with planes along one axis: no edge, exact but for second-order quadrilaterals cut by a border."""
    junction = Junction(*inside((0.0212, 0.0), (0.0822, 0.1), kinds=kinds, order=order), zone=Box(width=0.018))
    displacement, energy = patch(junction)
    assert displacement < 1e-12 and energy < 1e-12


def test_second_order_quadrilaterals_pass_where_the_zone_keeps_to_their_borders():
    parts = inside((0.0212, 0.0), (0.15, 0.1), kinds=("quad", "quad"), order=2, ratio=2.3)
    middle = parts[0].mesh.p[0, parts[0].mesh.t].mean(axis=0)
    zone = Cells(np.flatnonzero((middle > 0.03) & (middle < 0.07)), np.flatnonzero(middle > 0.07))
    displacement, energy = patch(Junction(*parts, zone=zone))
    assert displacement < 1e-12 and energy < 1e-12
    with pytest.warns(JunctionWarning, match=r"second-order quadrilaterals.*take zone=Cells"):
        cut = Junction(*parts, zone=Strip(0.032, 0.073))
    assert 1e-6 < patch(cut)[1] < 3e-2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("thickness", [1.0, 1e-3])
@pytest.mark.parametrize("kind", ["quad", "tri"])
@pytest.mark.parametrize("end", [0.06, 0.062, 0.065, 0.069])
def test_a_sliver_whose_stress_errs_is_warned_of(kind, end, thickness):
    """A band that ends inside a row of coarse cells, pulled along its end: the stress is uniform if nothing is lost."""
    tension, hold = 1e6, {"bottom": {"y": 0.0}}
    mesh, loads = {}, {"top": lambda x, t: (0.0, tension * t)}
    for name, low, cells in (("coarse", 0.0, (10, 10)), ("fine", 0.03, (21, 30))):
        mesh[name] = rectangle((low, 0.1), (0.0, 0.1), cells=cells, kind=kind)
    steel = LinearElastic(young=2e11, poisson=0.0, density=7800.0)
    options = {"plane": "strain", "thickness": thickness, "tractions": loads}
    holds = {"coarse": hold | {"left": {"x": 0.0}}, "fine": hold}
    parts = [Solid(name, own, steel, imposed=holds[name], **options) for name, own in mesh.items()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        junction = Junction(*parts, zone=Strip(0.03, end))
        result = aq.Study(aq.System(parts, junctions=[junction]), aq.Static(), 1.0, 1.0).run()
    stress = aq.results.stress(result, parts[1])["stress"].sel(stress_component="yy").isel(frame=-1).values
    error = float(np.abs(stress / tension - 1.0).max())
    told = [str(warning.message) for warning in caught if "sliver" in str(warning.message)]
    assert (error > 1e-3) == bool(told) and (error < 1e-11 or told)
    assert all("'coarse' at (0.0" in text and "or take triangles" in text for text in told)
    assert bool(told) == (kind == "quad" and end in (0.062, 0.065))


@pytest.mark.parametrize("order", [1, 2])
def test_no_dof_is_left_under_the_free_zone(order):
    coarse, fine = inside(cells=20, order=order)
    junction = Junction(coarse, fine, zone=Box(width=0.018))
    assembled = coarse.assemble(junction.weighting()["coarse"])
    x = coarse.positions
    # nodes whose cells all lie in S_f, a coarse cell inwards of its border
    free = np.all((x > np.array([0.0212, 0.0312]) + 0.0181 + 0.005) & (x < [0.0745 - 0.0231, 0.0822 - 0.0231]), axis=1)
    assert free.sum() >= 2
    dead = np.flatnonzero(np.repeat(free, 2))
    for matrix in (assembled.mass, assembled.stiffness):
        assert abs(matrix[dead]).max() == 0
    floored = Junction(coarse, fine, zone=Box(width=0.018), floor=1e-7)
    kept = coarse.assemble(floored.weighting()["coarse"]).mass.diagonal()[dead]
    whole = coarse.assemble().mass.diagonal()[dead]
    np.testing.assert_allclose(kept, 1e-7 * whole, rtol=1e-6)
    assert mass_of(floored) == pytest.approx(0.01, rel=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("kinds", "axes"), [(("tri", "quad"), 2), (("hex", "tet"), 3)])
def test_glued_pieces_fill_the_band(kinds, axes):
    if axes == 2:
        coarse, fine = inside(kinds=kinds)
        low, high = np.array([0.0212, 0.0312]), np.array([0.0745, 0.0822])
    else:
        low, high = np.array([0.23, 0.27, 0.31]), np.array([0.81, 0.83, 0.77])
        coarse = Solid("coarse", box((0, 1), (0, 1), (0, 1), cells=(7, 7, 7), kind=kinds[0]), STEEL)
        ranges = zip(low, high, strict=True)
        fine = Solid("fine", box(*[(a, b) for a, b in ranges], cells=(5, 6, 5), kind=kinds[1]), STEEL)
    width = 0.012 if axes == 2 else 0.15
    junction = Junction(coarse, fine, zone=Box(width=width))
    band = np.prod(high - low) - np.prod(high - low - 2 * width)
    assert junction.glued.dx.sum() == pytest.approx(band, rel=1e-12)
    assert junction.overlap.measure == pytest.approx(np.prod(high - low), rel=1e-12)
    assert mass_of(junction) == pytest.approx(0.01 if axes == 2 else 1.0, rel=1e-12)


def test_strip_half_space_and_whole_overlap_are_the_same_zone():
    coarse, fine = inside((0.0412, 0.0), (0.15, 0.1))
    default = Junction(coarse, fine).weighting()
    same = [
        Strip(0.0412, 0.1),
        HalfSpace(point=(0.0412, 0.03), normal=(2.0, 0.0), width=0.1 - 0.0412),
        LevelSet(lambda x: x[0] - 0.0412, width=0.1 - 0.0412),
        Box(width=0.1 - 0.0412, sides=["left"]),
    ]
    for zone in same:
        weighting = Junction(coarse, fine, zone=zone).weighting()
        for name in ("coarse", "fine"):
            np.testing.assert_allclose(weighting[name].mass, default[name].mass, atol=1e-12)


def test_a_tagged_band_of_cells_is_the_plane_taper():
    """Cells of a regular mesh between two of its lines: s is linear, the patch test exact."""
    coarse, fine = inside((0.02, 0.0), (0.15, 0.1), ratio=2.7)
    middle = coarse.mesh.p[0, coarse.mesh.t].mean(axis=0)
    mesh = coarse.mesh.with_subdomains(
        {"band": np.flatnonzero((middle > 0.04) & (middle < 0.08)), "core": np.flatnonzero(middle > 0.08)}
    )
    tagged = Solid("coarse", mesh, STEEL, plane="strain")
    weighting = Junction(tagged, fine, zone=Cells("band", "core")).weighting()
    plain = Junction(coarse, fine, zone=Strip(0.04, 0.08)).weighting()
    for name in ("coarse", "fine"):
        np.testing.assert_allclose(weighting[name].stiffness, plain[name].stiffness, atol=1e-11)
    displacement, energy = patch(Junction(tagged, fine, zone=Cells("band", "core")))
    assert displacement < 1e-12 and energy < 1e-12
    to_end = Junction(coarse, fine, zone=Cells(np.flatnonzero(middle > 0.04), inner="right")).weighting()
    plain = Junction(coarse, fine, zone=Strip(0.04, 0.1)).weighting()
    np.testing.assert_allclose(to_end["fine"].mass, plain["fine"].mass, atol=1e-11)


def test_regions_of_planes_tile_space():
    zone_coordinate = PlanarZoneCoordinate(
        np.array([[1.0, 0], [-1, 0], [0, 1]]), np.array([0.1, -0.9, 0.2]), np.array([0.2, 0.1, 0.3])
    )
    x = np.random.default_rng(0).uniform(-0.5, 1.5, size=(2, 4000))
    inside = np.stack([(r.normals @ x >= r.offsets[:, None]).all(axis=0) for r in zone_coordinate.regions])
    assert np.all(inside.sum(axis=0) == 1)
    s = zone_coordinate.coordinate(x)
    glued = np.array([region.glued for region in zone_coordinate.regions])
    np.testing.assert_array_equal(glued[inside.argmax(axis=0)], (s > 0) & (s < 1))


def test_level_set_of_a_circle():
    coarse, fine = inside((0.0, 0.0), (0.1, 0.1), cells=12, ratio=3.3)
    zone = LevelSet(lambda x: 0.04 - np.hypot(x[0] - 0.05, x[1] - 0.05), width=0.02)
    junction = Junction(coarse, fine, zone=zone)
    assert junction.glued.dx.sum() == pytest.approx(np.pi * (0.04**2 - 0.02**2), rel=0.03)
    assert mass_of(junction) == pytest.approx(0.01, rel=1e-3)
    operator = junction.operator()
    values = [(part.positions @ STRAIN.T).ravel() for part in (coarse, fine)]
    left = operator.coarse @ values[0]
    np.testing.assert_allclose(left + operator.fine @ values[1], 0, atol=1e-12 * np.abs(left).max())


@pytest.mark.parametrize("coupling", [L2(), H1(), H1(0.01)])
@pytest.mark.parametrize("mediator", ["coarse", "fine", "own"])
@pytest.mark.filterwarnings("ignore::arlequin.junctions.base.JunctionWarning")
def test_linear_fields_agree_in_a_box(mediator, coupling):
    own = rectangle((0.0, 0.1), (0.0, 0.1), cells=(7, 6), kind="tri") if mediator == "own" else mediator
    coarse, fine = inside(kinds=("quad", "tri"))
    operator = Junction(coarse, fine, zone=Box(width=0.015), mediator=own, coupling=coupling).operator()
    values = [(0.1 + part.positions @ STRAIN.T).ravel() for part in (coarse, fine)]
    left = operator.coarse @ values[0]
    np.testing.assert_allclose(left + operator.fine @ values[1], 0, atol=1e-12 * np.abs(left).max())
    assert np.linalg.eigvalsh(operator.gram.toarray()).min() > 0


def test_user_weights():
    coarse, fine = inside((0.0412, 0.0), (0.15, 0.1))
    linear = Junction(coarse, fine).weighting()
    rising = lambda x: np.clip((x[0] - 0.0412) / (0.1 - 0.0412), 0, 1)  # noqa: E731
    for given in (rising, Function(rising), Function(rising, lambda x: 1 - rising(x))):
        weighting = Junction(coarse, fine, weights=given).weighting()
        np.testing.assert_allclose(weighting["fine"].mass, linear["fine"].mass, atol=1e-12)
    with pytest.raises(UserError, match=r"weights: the shares at \(.*\) sum to 0.9, not to one"):
        Junction(coarse, fine, weights=Function(lambda x: 0.5 * rising(x), lambda x: 0.9 - 0.5 * rising(x))).weighting()
    with pytest.raises(UserError, match=r"the share at \(.*\) is .*: must lie in \[0, 1\]"):
        Junction(coarse, fine, weights=lambda x: 2 * x[0] * 10 - 1).weighting()
    with pytest.raises(UserError, match=r"is nan"):
        Junction(coarse, fine, weights=lambda x: np.nan * x[0]).weighting()
    with pytest.raises(UserError, match="share = 3"):
        Function(3)


def test_choices_that_lose_something_warn_once():
    parts = inside((0.0412, 0.0), (0.15, 0.1))
    cases = [
        ({"mediator": "fine"}, "fine mediator with L2"),
        ({"weights": Constant()}, "weights that jump"),
        ({"weights": Cubic(), "coupling": H1(0.01)}, "weights of zero slope .* with H1"),
        ({"floor": 1e-3}, "floor 0.001 > 1e-06"),
        ({"mass_weights": Constant()}, "different weights"),
    ]
    for options, message in cases:
        with pytest.warns(JunctionWarning, match=message) as caught:
            Junction(*parts, **options)
        assert len(caught) == 1 and "\n" not in str(caught[0].message) and "take" in str(caught[0].message)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Junction(*parts)
        Junction(*parts, floor=1e-7, mass_weights=Linear())


def raises(message, *parts, **options):
    with pytest.raises(UserError, match=message) as caught:
        Junction(*parts, **options).operator()
    assert "\n" not in str(caught.value) and caught.value.code == 2


def test_messages_of_bad_zones():
    parts = inside()
    raises("follow each other .*zone=Box", *parts)
    raises(r"zone of 0.004 m is thinner than one cell of 'coarse' \(0.01 m\)", *parts, zone=Box(width=0.004))
    raises("no face inside", *inside((0, 0), (0.1, 0.1)), zone=Box(width=0.02))
    raises("sides of a box in dimension 2", *parts, zone=Box(width=0.02, sides=["front"]))
    with pytest.raises(UserError, match="sides = 'up'"):
        Box(width=0.02, sides=["up"])
    raises("needs parts of dimension 3", *parts, zone=Strip(0.0, 0.1, axis="z"))
    with pytest.raises(UserError, match="end = 1"):
        Strip(1, 1)
    with pytest.raises(UserError, match="normal"):
        HalfSpace((0, 0), (0, 0), 1.0)
    raises("zone lies outside 'coarse'", *parts, zone=Strip(0.3, 0.5))
    raises("mediator has no degrees of freedom", *parts, zone=LevelSet(lambda x: x[0] - 5, width=1.0))
    thin = LevelSet(lambda x: x[0] - 0.0512, width=0.008)
    raises(r"zone of 0.008 m is thinner than the cell of 'coarse' at \(.*\), .*: give a width", *parts, zone=thin)
    raises("not finite", *parts, zone=LevelSet(lambda x: np.nan * x[0], width=1.0))
    raises("no set of cells is named 'band' \\(sets: none\\)", *parts, zone=Cells("band"))
    raises("do not touch the free zone", *parts, zone=Cells(np.arange(3)))
    raises("the zone has no cells", *parts, zone=Cells([]))
    raises("must lie in", *parts, zone=Cells([10**6]))
    raises("boundary is named 'up'", *parts, zone=Cells([0, 1], inner="up"))
    apart = rectangle((0.8, 0.9), (0.8, 0.9), cells=(2, 2))
    raises("mediator has no degrees of freedom", *parts, zone=Box(width=0.015), mediator=apart)
    raises(
        "mesh is of another dimension", *parts, zone=Box(width=0.015), mediator=box((0, 1), (0, 1), (0, 1), (1, 1, 1))
    )
    far = Solid("far", rectangle((0.8, 0.9), (0.8, 0.9), cells=(2, 2)), STEEL, plane="strain")
    raises("do not overlap", parts[0], far, zone=Box(width=0.015))


def test_dual_operator_of_a_box_stays_conditioned():
    for cells, ratio in ((10, 1.5), (10, 3.7), (20, 2.7)):
        junction = Junction(*inside(cells=cells, ratio=ratio), zone=Box(width=0.018))
        weighting = junction.weighting()
        masses = [part.assemble(weighting[part.name]).mass for part in (junction.coarse, junction.fine)]
        assert dual_condition(junction.operator(), *masses) < 100


def test_pieces_outside_the_zone_carry_the_coarse_part_alone():
    coarse, fine = inside((0.0, 0.0), (0.15, 0.1))
    weighting = Junction(coarse, fine, zone=Strip(0.04, 0.08)).weighting()
    x = fine.quadrature_points()[0]
    cells = (x < 0.04).all(axis=1) & (fine.mesh.p[0, fine.mesh.t].max(axis=0) < 0.04)
    assert np.all(weighting["fine"].mass[cells] == 0)
    pieces = intersect(coarse.mesh, fine.mesh, 1)
    assert pieces.measure == pytest.approx(0.01, rel=1e-13)
    assert np.all(weighting["coarse"].mass[coarse.mesh.p[0, coarse.mesh.t].min(axis=0) > 0.08] == 0)
