"""The Taylor bar at small size: against published results, between dimensions, walls, friction, bad input."""

import numpy as np
import pytest

from arlequin.cases.case.comparison import comparison
from arlequin.cases.shared.meshes import quarter_cylinder
from arlequin.cases.taylor_bar import Parameters, build, check, comparisons, figures, is_published, shapes
from arlequin.models.errors import UserError


def ends(**changes):
    p = Parameters(**changes)
    result = build(p).run()
    assert all(item.passed for item in check(result, p)), [item for item in check(result, p) if not item.passed]
    return result, [float(values[-1]) for values in shapes(result)]


@pytest.mark.slow
def test_published_limits_are_approached():
    """Differences of 4 and 2 cells from 7.2225 and 21.4206 mm fall; the strain of the foot grows."""
    fine, (radius, length) = ends(elements=4)
    rough, (wide, long) = ends(elements=2)
    assert abs(radius - 7.2225e-3) < 0.7 * abs(wide - 7.2225e-3)
    assert abs(length - 21.4206e-3) < 0.7 * abs(long - 21.4206e-3)
    strains = [float(run["part/bar"]["plastic_strain"][-1].max()) for run in (rough, fine)]
    assert strains[0] < strains[1] < 3.2


@pytest.mark.slow
def test_three_meshes_converge_to_the_published_limits():
    """The limit by Aitken's extrapolation from three meshes within 0.03 mm, at order 1 or better in h."""
    found = np.array([ends(elements=n)[1] for n in (4, 8, 16)])
    first, second = np.diff(found, axis=0)
    assert (np.abs(second) <= np.abs(first) / 1.9).all()
    limit = found[-1] - second**2 / (second - first)
    assert limit == pytest.approx([7.2225e-3, 21.4206e-3], abs=0.03e-3)


@pytest.mark.slow
def test_dimensions_agree():
    """By 3 µs, at 4 cells across the radius: the section of the solid one is a polygon of 16 sides."""
    runs = [ends(elements=4, dimension=name, duration=3e-6)[1] for name in ("axisymmetric", "3d")]
    assert runs[0] == pytest.approx(runs[1], rel=1e-2)


@pytest.mark.slow
def test_dimensions_agree_to_the_end():
    runs = [ends(elements=4, dimension=name)[1] for name in ("axisymmetric", "3d")]
    assert runs[0] == pytest.approx(runs[1], rel=5e-3)


def test_work_of_the_update_converges_with_the_step():
    """The work that the update of the stress and the motion differ by falls with the sub-steps: order 0.9 or better."""
    missing = []
    for step in (2e-8, 1e-8, 5e-9):  # below the first stable steps: no sub-steps
        result, _ = ends(elements=2, duration=2e-6, step=step)
        energy = result["energy"]
        missing.append(abs(float(energy.sel(kind="scheme")[-1]) / float(energy.sel(kind="plastic")[-1])))
    orders = np.log2(np.array(missing[:-1]) / missing[1:])
    assert (orders >= 0.9).all(), (missing, orders)


@pytest.mark.slow
def test_a_unilateral_wall_lets_the_rim_rise_and_friction_holds_the_foot():
    free, (radius, _) = ends(elements=3, wall="unilateral", duration=12e-6)
    _, (rough, _) = ends(elements=3, wall="unilateral", friction=0.3, duration=12e-6)
    assert rough < 0.95 * radius
    bar = free["part/bar"].dataset
    foot = bar["position"].values[:, 1] == 0.0
    assert bar["displacement"].values[-1, foot, 1].max() > 10e-6
    # the wall only pushes, and brings the bar's momentum down
    force = free["interface/wall"]["force"].values[:, 1]
    assert force.min() >= 0.0
    momentum = bar["momentum"].values[:, 1]
    assert np.diff(momentum) == pytest.approx(force[1:] * 2e-8, abs=1e-12 * abs(momentum[0]))


@pytest.mark.slow
def test_forces_of_the_foot_do_not_oscillate_as_with_newmark():
    """After the shock of the first nodes: how far the force goes up and down, over how far it goes."""
    models = comparisons(None, Parameters(elements=4, wall="unilateral", friction=0.3, duration=1e-6))
    ways = []
    for name in models:
        run = comparison(build, models, name)
        force = run["interface/wall"]["force"].values[run["time"].values > 0.2e-6]
        ways.append(np.abs(np.diff(force, axis=0)).sum(axis=0) / np.ptp(force, axis=0))
        assert np.abs(run["balance"]).max() <= 1e-10
    assert (ways[0] < 3.0).all() and (ways[1][:2] > 2.0 * ways[0][:2]).all(), ways


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["theta", pytest.param("newmark", marks=pytest.mark.slow)])
def test_implicit_schemes_agree_with_central_differences(scheme):
    """By 4 µs, a rising share of plastic strain: each resolves the wave by its own."""
    options = {"elements": 2, "duration": 4e-6}
    explicit, exact = ends(**options)
    implicit, found = ends(**options, scheme=scheme)
    assert found == pytest.approx(exact, rel=2e-3)
    strains = [float(run["part/bar"]["plastic_strain"][-1].max()) for run in (explicit, implicit)]
    assert strains[1] == pytest.approx(strains[0], rel=0.03)


def test_a_theta_beyond_a_half_takes_energy():
    """And no step lands deeper than a free surface can go in it."""
    result, _ = ends(elements=3, duration=3e-6, step=1e-7, scheme="theta", theta=1.0, wall="unilateral", friction=0.3)
    assert float(result["energy"].sel(kind="scheme")[-1]) > 0.0


def test_volume_is_kept_by_plastic_flow():
    """Elastic changes of volume alone: of the order p/K, a part in 200."""
    p = Parameters(elements=3, duration=15e-6)
    bar = build(p).run()["part/bar"].dataset
    now = bar["position"].values + bar["displacement"].values[-1]
    r, z = now[bar["connectivity"].values[:, :4]].transpose(2, 0, 1)
    rr, zz = np.roll(r, -1, axis=1), np.roll(z, -1, axis=1)
    volume = np.abs(np.pi / 3 * ((rr**2 + rr * r + r**2) * (zz - z)).sum())
    assert volume == pytest.approx(np.pi * p.radius**2 * p.length, rel=5e-3)


def test_quarter_cylinder():
    mesh = quarter_cylinder(2.0, 3.0, 8, 2)
    corners = mesh.p[:, np.unique(mesh.facets[:, mesh.boundaries["side"]])]
    assert np.hypot(corners[0], corners[2]) == pytest.approx(2.0, rel=1e-12)
    assert sum(len(facets) for facets in mesh.boundaries.values()) == len(mesh.boundary_facets())


def test_figures():
    p = Parameters(elements=2, duration=1e-6)
    assert set(figures(build(p).run(), p)) == {"energies", "history", "shape"}
    p = Parameters(elements=2, duration=1e-6, wall="unilateral", friction=0.3)
    assert set(figures(build(p).run(), p)) == {"energies", "history", "shape", "foot_forces"}


def test_published_data_only():
    assert is_published(Parameters(elements=5, dimension="3d"))
    assert not is_published(Parameters(velocity=200.0))


def test_bad_input():
    with pytest.raises(UserError, match=r"friction = 0\.3: needs wall"):
        Parameters(friction=0.3)
