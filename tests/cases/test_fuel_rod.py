"""fuel_rod: preloads by hand, frequencies in closed form, balance, seeds, supports under several laws, bad input."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases import fuel_rod
from arlequin.cases.fuel_rod import Parameters
from arlequin.cases.fuel_rod.measures import hardest, rms_along, supports
from arlequin.cases.fuel_rod.model import GridSupport

SHORT = Parameters(length=1.1, grids=3, duration=4e-3, modes=24, cells=8, amplitude=30.0, seed=3, loose=3)


def run(parameters):
    return fuel_rod.build(parameters).run()


@pytest.fixture(scope="module")
def short():
    return run(SHORT)


def test_checks_pass_and_figures_are_drawn(short):
    checks = fuel_rod.check(short, SHORT)
    assert not [check.name for check in checks if not check.passed]
    assert "energies" in fuel_rod.figures(short, SHORT)


def test_the_same_seed_gives_the_same_bits_and_another_one_does_not(short):
    again, other = run(SHORT), run(replace(SHORT, seed=4))
    for name in ("part/rod/displacement", "interface/grid2_springs/point_force", "energy"):
        assert np.array_equal(short[name].values, again[name].values)
        assert not np.array_equal(short[name].values, other[name].values)


@pytest.mark.parametrize("sizes", [*(pytest.param((n,), marks=pytest.mark.slow) for n in (1, 2)), (7, 2, 64, 1)])
def test_blocks_of_any_size_give_the_same_bits(short, sizes, blocks_of):
    with blocks_of(*sizes):
        other = run(SHORT)
    for group in short.subtree:
        for name, values in group.dataset.data_vars.items():
            assert np.array_equal(values.values, other[group.path].dataset[name].values, equal_nan=True), name


def test_the_run_starts_in_equilibrium():
    """Without excitation nothing moves, friction and a grid off the axis or not."""
    for misalignment in (0.0, 1e-5):
        p = replace(SHORT, excitation="none", gap=0.0, misalignment=misalignment, duration=1e-3)
        result = run(p)
        moved = result["part/rod/displacement"].values
        assert np.abs(moved - moved[0]).max() < 1e-12
        assert result["energy"].sel(kind="kinetic").values.max() < 1e-16
        hand = fuel_rod.preload(p)
        found = result["interface/grid2_springs/point_force"].values[-1, 0]
        assert found == pytest.approx(hand.expected[hand.labels.index("grid2_springs at 0.550 m")], rel=1e-6)


def test_preloads_by_hand():
    """A grid off the axis by so little that all supports stay in contact; a stiff short span carries it."""
    hand = fuel_rod.preload(replace(SHORT, gap=0.0, misalignment=2e-4))
    np.testing.assert_allclose(hand.computed, hand.expected, atol=1e-6 * hand.expected.max())
    assert hand.expected.min() > 1.0 and np.ptp(hand.expected[1::3]) > 0.5  # the lower dimples differ


def test_relaxed_springs_and_gaps():
    """Without preload a rod at its axis feels nothing; a gap leaves it free by as much."""
    p = replace(SHORT, relaxation=1.0, gap=0.0, excitation="none")
    assert run(p)["interface/grid1_springs/force"].values.max() == 0.0
    p = replace(SHORT, loose=0, gap=1e-3, duration=1e-3)
    result = run(p)
    assert max(float(result[f"interface/grid{n}_dimples/point_force"].max()) for n in (1, 2, 3)) == 0.0
    assert not [check.name for check in fuel_rod.check(result, p) if not check.passed]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("excitation, amplitude", [("harmonic", 20.0), ("support", 30.0)])
def test_other_excitations(excitation, amplitude):
    """The rod's momentum along x follows from what acts on it: the load, or inertia in the moving frame."""
    p = replace(
        SHORT,
        excitation=excitation,
        amplitude=amplitude,
        loose=0,
        gap=1e-2,
        fluid_damping=0.0,
        duration=2e-3,
        step=1e-5,
    )
    result = run(p)
    w, t = 2 * np.pi * p.frequency, result["time"].values[-1]
    shape = (1 - np.cos(w * t)) / w * amplitude
    dry = result["part/rod/mass"].item() - p.water * p.length  # the mass across holds the water
    expected = shape * p.length if excitation == "harmonic" else -shape * dry
    assert result["part/rod/momentum"].values[-1, 0] == pytest.approx(expected, rel=1e-4)


def test_multilevel_supports():
    """Asperities in series with a spring: stiffnesses add as compliances, and F = K (a − s − g) once crushed."""
    support = GridSupport(2e5, 20.0, (2e12, 2.0, 5e-6))
    law, crushed = support.elastic, 2e12 * 5e-6**2
    for force in (0.1 * crushed, 0.7 * crushed, 3.0 * crushed):
        crush = min((force / 2e12) ** 0.5, 5e-6)
        gap = 5e-6 - crush - force / 2e5
        assert law.pressure(np.array([gap]))[0] == pytest.approx(force, rel=2e-3)
        assert support.gap(force) == pytest.approx(gap, rel=5e-3)
    p = replace(SHORT, law="multilevel")
    result = run(p)
    assert np.abs(result["balance"]).max() < 1e-10
    assert not [check.name for check in fuel_rod.check(result, p) if not check.passed]


def test_measures(short):
    table = supports(short, wear=1e-15)
    time = short["time"].values
    force = short["interface/grid2_springs/point_force"].values[1:, 0]
    own = table.sel(grid=2, support="spring +x")
    assert own["mean_force"] == pytest.approx(force.mean()) and own["peak_force"] == force.max()
    assert own["contact_ratio"] == pytest.approx((force > 0).mean())
    power = sum(
        float(short[f"interface/{name}/wear_power"].values[1:].mean())
        for grid in fuel_rod.grids(SHORT)
        for name in grid.names
    )
    assert float(table["work_rate"].sum()) == pytest.approx(power)
    assert float(table["worn_volume"].sum()) == pytest.approx(1e-15 * power * time[-1])
    grid, place = hardest(table)
    assert float(table["work_rate"].sel(grid=grid, support=place)) == float(table["work_rate"].max())
    height, rms = rms_along(short)
    assert (np.diff(height) > 0).all() and rms.shape == (height.size, 2)


def test_points_on_time(short):
    """Their forces make up the resultant, with friction across them; their motion is that of the rod's skin."""
    group = short["interface/grid2_springs"].dataset
    force = group["force"].values - np.column_stack([-group["point_force"].values, np.zeros(len(group["time"]))])
    traction = np.abs(force).max()  # of friction
    assert 0.0 < traction <= 2 * SHORT.friction * group["point_force"].values.max()
    np.testing.assert_allclose(group["point_force"].values.sum(axis=1) * SHORT.step, group["impulse"], rtol=1e-12)
    rod = short["part/rod"].dataset
    node = int(np.abs(rod["position"].values[:, 2] - 0.55).argmin())
    nodal = rod["displacement"].values[-1, node, 0], rod["rotation"].values[-1, node, 1]
    moved = group["point_displacement"].values[-1, 0]
    assert moved[0] == pytest.approx(nodal[0], abs=1e-15)
    assert moved[2] - rod["displacement"].values[-1, node, 2] == pytest.approx(-nodal[1] * SHORT.radius, abs=1e-15)


@pytest.mark.parametrize(
    "change, names",
    [
        ({"loose": 4}, ("loose = 4", "[0, 3]")),
        ({"grids": 1}, ("grids = 1", "at least 2", "2")),
        ({"thickness": 5e-3}, ("thickness",)),
        ({"pellet_diameter": 9e-3}, ("pellet_diameter", "bore")),
        ({"dimple_height": 0.05}, ("dimple_height", "less than")),
        ({"correlation": 0.0}, ("correlation",)),
    ],
)
def test_bad_input(change, names):
    from arlequin.cases.case.parameters import make

    with pytest.raises(aq.UserError) as error:
        fuel_rod.build(make(Parameters, {"length": 1.1, "grids": 3, **change}))
    assert any(name in str(error.value) for name in names)
