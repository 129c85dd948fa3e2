"""Guides: the gap, its rate and the forces against closed forms, root finding and finite differences."""

import numpy as np
import pytest
from scipy.optimize import brentq

import arlequin as aq
from arlequin.cases.reference.measures import convergence_order
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.pairing.guides import CentreLine

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
NONE = np.zeros((0, 1))


def rod(cells=12, length=1.2, dimension=3, up=False, first=(0.0, 0.0, 0.0)):
    """Along −z from a point on (or along +z to it): its front is the last node, or the first."""
    a, b = (np.array(first) - [0.0, 0.0, z] for z in (0.0, length))
    a, b = ((b, a) if up else (a, b))[:2]
    section = aq.Section.tube(4.85e-3, 4.35e-3, 0.3)
    return aq.Beam.between("rod", tuple(a[3 - dimension :]), tuple(b[3 - dimension :]), cells, STEEL, section)


def guides(heights, clearance=1e-3, offsets=None, **options):
    centres = np.column_stack([np.zeros((len(heights), 2)), heights])
    if offsets is not None:
        centres[:, :2] = offsets
    return aq.Guides(centres, clearance, (0.0, 0.0, -1.0), **options)


def pairing(beam, rings):
    return Interface("cards", beam.boundary("axis"), rings, aq.Unilateral(), friction=aq.Coulomb(0.3)).pairing()


def bent(beam, shift=0.0, size=1e-3):
    """A smooth bend, also along the rod: positions (n, 3)."""
    s = beam.boundary("axis").positions
    z = s[:, 2]
    return s + size * np.column_stack([np.sin(3.0 * z + 1.0), np.cos(2.0 * z), 0.3 * np.sin(4.0 * z)]) + [0, 0, shift]


@pytest.mark.parametrize("up", [False, True])
def test_straight_rod_in_a_ring(up):
    beam = rod(up=up)
    rings = guides([-0.33, -0.7], clearance=(1e-3, 2e-3), offsets=[(3e-4, 4e-4), (0.0, -5e-4)])
    kin = pairing(beam, rings).at(beam.boundary("axis").positions + np.array([0.0, 0.0, -0.05]), NONE)
    assert kin.gap == pytest.approx([0.5e-3, 1.5e-3], abs=1e-16)
    # the rod's offsets from the centres are (-3, -4)e-4 and (0, 5)e-4
    assert kin.normals == pytest.approx(np.array([[0.6, 0.8, 0.0], [0.0, -1.0, 0.0]]), abs=1e-12)
    assert kin.positions == pytest.approx(np.array([[0.0, 0.0, -0.33], [0.0, 0.0, -0.7]]), abs=1e-15)
    # no partner before the rod's front has come and once its back has left
    kin = pairing(beam, guides([0.01, -1.19, -1.21])).at(beam.boundary("axis").positions, NONE)
    assert kin.paired.tolist() == [False, True, False]
    assert abs(kin.rows[[0, 1, 2, 6, 7, 8]]).max() == 0.0


def test_in_the_plane():
    section = aq.Section.circle(5e-3)
    beam = aq.Beam.between("rod", (0.0, 0.0), (2.0, 1.0), 9, STEEL, section)
    axis, across = np.array([2.0, 1.0]) / 5**0.5, np.array([-1.0, 2.0]) / 5**0.5
    slots = aq.Guides([0.5 * axis + 2e-3 * across, 1.5 * axis], 5e-3, axis)
    kin = pairing(beam, slots).at(beam.boundary("axis").positions, NONE)
    assert kin.gap == pytest.approx([3e-3, 5e-3], abs=1e-15)
    assert kin.normals[0] == pytest.approx(across, abs=1e-12)
    assert abs(kin.normals[1] @ axis) <= 1e-12 and np.linalg.norm(kin.normals[1]) == pytest.approx(1.0)
    assert kin.rows.shape == (4, 20)


def test_curve_is_smooth_and_of_order_three():
    def shape(s):
        return np.column_stack([np.sin(2.0 * s), s])

    errors, sizes = [], (8, 16, 32, 64)
    for cells in sizes:
        knots = np.linspace(0.0, 1.5, cells + 1)
        curve = CentreLine.through(np.column_stack([0.0 * knots, knots]))
        cell, xi = np.divmod(np.arange(cells * 20), 20)
        xi = xi / 20
        values, _ = curve.weights(cell, xi)
        s = curve.arc_length(cell, xi)
        found = np.einsum("km,kma->ka", values, shape(knots)[curve.stencil[cell]])
        errors.append(np.abs(found - shape(s)).max())
        assert values.sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    assert 2.8 <= convergence_order([1.5 / n for n in sizes], errors) <= 3.2
    # C¹ at the nodes, also of uneven ones; parabolas are reproduced there
    knots = np.array([0.0, 0.1, 0.35, 0.5, 0.9, 1.0])
    curve = CentreLine.through(knots[:, None])
    full = np.zeros((2, 2, 6))
    for cell in range(4):
        for side, (c, xi) in enumerate(((cell, 1.0), (cell + 1, 0.0))):
            for what, own in enumerate(curve.weights(np.array([c]), np.array([xi]))):
                full[side, what] = 0.0
                full[side, what, curve.stencil[c]] = own[0]
        assert full[0] == pytest.approx(full[1], abs=1e-12)
    cell, xi = np.arange(5), np.full(5, 0.3)
    s = curve.arc_length(cell, xi)
    values, slopes = curve.weights(cell, xi)
    nodal = (knots**2)[curve.stencil]
    assert (values * nodal).sum(axis=1) == pytest.approx(s**2, abs=1e-14)
    assert (slopes * nodal).sum(axis=1) == pytest.approx(2 * s, abs=1e-13)


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_short_curves(cells):
    beam = rod(cells=cells)
    kin = pairing(beam, guides([-0.5], offsets=[(2e-4, 0.0)])).at(beam.boundary("axis").positions, NONE)
    assert kin.gap == pytest.approx([0.8e-3], abs=1e-15)


@pytest.mark.parametrize("nose", [None, (0.1, 4e-3)])
@pytest.mark.parametrize("up", [False, True])
def test_rate_of_the_gap_by_finite_differences(nose, up):
    """Also as material slides through: ġ = n·v where the gap is closed, with ‖ν‖ from a second pairing otherwise."""
    beam = rod(up=up)
    heights = np.array([-0.31, -0.55, -1.17])
    x = bent(beam, size=3e-3)
    near = pairing(beam, guides(heights, nose=nose)).at(x, NONE)
    # rings that the rod touches where it is: the clearance is the offset less the thinning
    touching = guides(heights, clearance=1e-3 - near.gap * _stretch(beam, x, heights, nose), nose=nose)
    pair = pairing(beam, touching)
    kin = pair.at(x, NONE)
    assert kin.gap == pytest.approx(0.0, abs=1e-16)
    rng = np.random.default_rng(0)
    v = 0.3 * rng.standard_normal(x.shape) + [0.0, 0.0, -10.0]
    h = 1e-6
    ahead, behind = (pair.at(x + t * v, NONE).gap for t in (h, -h))
    assert (ahead - behind) / (2 * h) == pytest.approx((kin.rows @ v.ravel())[::3], rel=1e-6, abs=1e-6)
    # the frame is orthonormal, its first tangent along the rod
    frame = np.concatenate([kin.normals[:, None], kin.tangents], axis=1)
    assert np.einsum("kri,ksi->krs", frame, frame) == pytest.approx(np.broadcast_to(np.eye(3), (3, 3, 3)), abs=1e-14)
    assert (np.abs(kin.tangents[:, 0, 2]) > 0.98).all()


def _stretch(beam, x, heights, nose):
    """‖ν‖ from the definition of the gap: differences of two clearances at one place."""
    one, two = (pairing(beam, guides(heights, clearance=c, nose=nose)).at(x, NONE).gap for c in (1e-3, 2e-3))
    return 1e-3 / (two - one)


def test_gap_against_root_finding():
    """The place on the curve by Brent's method, the gap from the definition."""
    beam = rod(cells=7)
    x, heights = bent(beam, size=5e-3), np.linspace(-1.15, -0.05, 12)
    kin = pairing(beam, guides(heights, clearance=8e-3)).at(x, NONE)
    curve = CentreLine.through(beam.boundary("axis").positions)

    def at(s):
        cell = np.array([min(int(s / (1.2 / 7)), 6)])
        values, slopes = curve.weights(cell, (np.array([s]) - curve.knots[cell]) / (1.2 / 7))
        nodes = x[curve.stencil[cell[0]]]
        return values[0] @ nodes, slopes[0] @ nodes

    for k, z in enumerate(heights):
        place, tangent = at(brentq(lambda s, z=z: at(s)[0][2] - z, 0.0, 1.2, xtol=1e-15))
        radius = np.linalg.norm(place[:2])
        slope = (place[:2] / radius) @ tangent[:2] / tangent[2]
        assert kin.gap[k] == pytest.approx((8e-3 - radius) / np.hypot(1.0, slope), abs=1e-14)
        assert kin.normals[k] == pytest.approx(np.append(-place[:2] / radius, slope) / np.hypot(1.0, slope), abs=1e-11)
        assert abs(kin.normals[k] @ tangent) <= 1e-13


def test_forces_keep_resultant_and_moment():
    """Those on the nodes are those on the rod at the ring: rows of a rigid motion are the motion there."""
    beam = rod()
    x = bent(beam)
    kin = pairing(beam, guides([-0.4, -1.17], nose=(0.1, 4e-3))).at(x, NONE)
    rng = np.random.default_rng(2)
    shift, turn = rng.standard_normal((2, 3))
    field = shift + np.cross(turn, x)
    there = shift + np.cross(turn, kin.positions)
    frame = np.concatenate([kin.normals[:, None], kin.tangents], axis=1)
    assert kin.rows @ field.ravel() == pytest.approx(np.einsum("kri,ki->kr", frame, there).ravel(), abs=1e-13)


def test_gap_is_smooth_as_nodes_pass():
    """C¹: the rate of the gap of a bent rod that slides through a ring does not jump at its nodes."""
    beam = rod(cells=12)
    pair = pairing(beam, guides([-2.0], clearance=0.1))
    start = bent(beam, size=0.05)
    shifts = -np.linspace(0.9, 1.9, 2001)
    rates = np.array(
        [(pair.at(start + np.array([0.0, 0.0, z]), NONE).rows @ np.tile([0, 0, -1.0], 13))[0] for z in shifts]
    )
    step = 0.5e-3
    assert np.abs(np.diff(rates)).max() <= 1.6 * step * 0.05 * 9.0


def test_nose_leads_in():
    beam = rod()
    nose = (0.04, 4e-3)
    pair = pairing(beam, guides([-1.3], clearance=5e-4, offsets=[(2e-3, 0.0)], nose=nose))
    for ahead in (0.0, 0.01, 0.03, 0.04, 0.2):
        x = beam.boundary("axis").positions - [0.0, 0.0, 0.1 + ahead]
        left = max(1.0 - ahead / 0.04, 0.0)
        slope = 2.0 * 4e-3 / 0.04 * left
        kin = pair.at(x, NONE)
        assert kin.gap == pytest.approx([(5e-4 + 4e-3 * left**2 - 2e-3) / np.hypot(1.0, slope)], abs=1e-13)
        # the metal of the ring pushes the nose back, up the z axis, and aside
        assert kin.normals[0] == pytest.approx(np.array([1.0, 0.0, slope]) / np.hypot(1.0, slope), abs=1e-10)


def test_bad_input():
    centres = [(0.0, 0.0, -0.5)]
    for make, text in (
        (lambda: aq.Guides(centres, 0.0, (0, 0, 1)), "clearance = .*positive"),
        (lambda: aq.Guides(centres, (1.0, 2.0), (0, 0, 1)), "clearance = .*or 1 of them"),
        (lambda: aq.Guides(centres, 1.0, (0, 0, 0)), "axis = .*not zero"),
        (lambda: aq.Guides([(0.0, 0.0)], 1.0, (0, 0, 1)), "centres"),
        (lambda: aq.Guides(centres, 1.0, (0, 0, 1), nose=(0.0, 1.0)), "length of the nose = 0.0"),
        (lambda: pairing(rod(), aq.Guides(centres, 1.0, (1, 0, 0))), "axis = .*must run along the rod 'rod'"),
        (lambda: Interface("c", rod().boundary("left"), guides([0.0]), aq.Unilateral()).pairing(), "axis of a rod"),
        (
            lambda: Interface("c", rod().boundary("axis"), guides([0.0]), aq.Unilateral(), multiplier="P1"),
            "'c': guides are the contact points",
        ),
        (
            lambda: Interface("c", rod().boundary("axis"), aq.Guides([(0, 0)], 1.0, (0, 1)), aq.Unilateral()),
            "the obstacle is 2D, part 'rod' 3D",
        ),
        (lambda: Interface("c", rod().boundary("axis"), "rings", aq.Unilateral()), "rigid obstacle, guides or"),
    ):
        with pytest.raises(aq.UserError, match=text):
            make()
    folded = rod().boundary("axis").positions
    folded[3, 2] = folded[5, 2]
    with pytest.raises(aq.UserError, match="turned over or folded"):
        pairing(rod(), guides([-0.5])).at(folded, NONE)


@pytest.mark.parametrize(("cells", "spacing"), [(12, 0.011), (12, 0.05), (12, 0.13), (12, 0.45), (3, 0.1), (1, 0.2)])
def test_crowd_bounds_shared_nodes(cells, spacing):
    """Against eigenvalues of Σ N Nᵀ wherever the rod is, from the rows; not by more than a rough bound is off."""
    beam = rod(cells=cells)
    heights = -spacing * np.arange(int(2.4 / spacing))
    pair, start, most = pairing(beam, guides(heights)), beam.boundary("axis").positions, 0.0
    for shift in np.linspace(0.0, 1.3, 40):
        normal = pair.at(start + np.array([5e-4, 0.0, -shift]), NONE).rows[::3]
        most = max(most, float(np.linalg.eigvalsh((normal @ normal.T).toarray())[-1]))
    assert most <= pair.shared_weight * (1.0 + 1e-12) and pair.shared_weight <= 6.0 * most
    if spacing < 0.05:
        assert most > 5.0  # ten rings in a cell
    if cells == 12 and spacing > 0.4:
        assert pair.shared_weight == pytest.approx(1.0)


def test_axis_boundary():
    beam = aq.Beam("rod", aq.mesh.interval(0.0, 1.0, cells=4), STEEL, aq.Section.circle(0.01))
    surface = beam.boundary("axis")
    assert surface.positions[:, 0].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert surface.areas.tolist() == [0.125, 0.25, 0.25, 0.25, 0.125]
    assert not surface.normals.any()
