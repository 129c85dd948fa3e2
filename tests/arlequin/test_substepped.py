"""Explicit steps of parts whose cells deform: sub-steps, balance, order, refusals."""

import numpy as np
import pytest

import arlequin as aq

RUBBER = aq.NeoHooke(young=1e6, poisson=0.3, density=1000.0)
SOFT = aq.J2(1e9, 0.3, 1000.0, yield_stress=1e6, hardening=aq.LinearHardening(1e7))


def bar(law, **more):
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.2), cells=(10, 2))
    return aq.Solid("bar", mesh, law, plane="strain", kinematics="finite", mass="lumped", **more)


def pressed(part, speed=5.0):
    wall = aq.RigidPlane(point=(0.0, 0.0), normal=(1.0, 0.0))
    interface = aq.Interface("wall", part.boundary("left"), wall, aq.Unilateral())
    return aq.System([part], interfaces=[interface], velocity=(-speed, 0.0))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", [RUBBER, SOFT], ids=["neo-Hooke", "J2"])
def test_energies_add_up_while_the_number_of_sub_steps_changes(law):
    result = aq.simulate(pressed(bar(law)), aq.CentralDifference(), duration=0.05, step=2e-3)
    energy = result["energy"].to_series().unstack()
    assert np.abs(result["balance"]).max() <= 1e-12
    assert np.abs(energy["scheme"]).max() <= 0.02 * energy["kinetic"].iloc[0]
    if law is SOFT:
        assert energy["plastic"].iloc[-1] > 0.1 * energy["kinetic"].iloc[0]
        assert (np.diff(energy["plastic"]) >= 0.0).all()


def test_a_step_is_as_its_sub_steps():
    """Ten times the step takes the same sub-steps where their number is the same: a block at rest but for a wave."""
    part = bar(RUBBER)

    def start(x):
        return np.stack([1e-3 * np.sin(np.pi * x[:, 0]), 0.0 * x[:, 0]], axis=1)

    system = aq.System([part], velocity=start)
    limit = 2.0 / part.assemble().frequency(np.zeros(part.dof_count))
    fine = aq.simulate(system, aq.CentralDifference(), duration=40 * limit, step=0.5 * limit)
    coarse = aq.simulate(system, aq.CentralDifference(), duration=40 * limit, step=5 * limit)
    ends = [run["part/bar"]["displacement"].values[-1] for run in (fine, coarse)]
    assert np.abs(ends[0] - ends[1]).max() <= 0.02 * np.abs(ends[0]).max()


def test_a_saint_venant_block_is_stepped_too():
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.2), cells=(10, 2))
    steel = aq.LinearElastic(young=1e6, poisson=0.3, density=1000.0)
    part = aq.Solid("bar", mesh, steel, plane="strain", kinematics="finite", mass="lumped")
    spin = aq.System([part], velocity=lambda x: 3.0 * np.stack([-x[:, 1], x[:, 0]], axis=1))
    result = aq.simulate(spin, aq.CentralDifference(), duration=0.5, step=1e-2)
    assert np.abs(result["balance"]).max() <= 1e-12
    momentum = result["part/bar"]["momentum"]
    assert np.abs(momentum - momentum[0]).max() <= 1e-11 * np.abs(momentum[0]).max()


def test_an_inverted_cell_stops_the_run_and_the_record_stays(tmp_path):
    hard = aq.NeoHooke(young=1e4, poisson=0.0, density=1000.0)
    with pytest.raises(aq.UserError, match=r"part 'bar': cell .* is turned inside out at t = |needs .* sub-steps"):
        aq.simulate(
            pressed(bar(hard), 60.0), aq.CentralDifference(), duration=0.1, step=1e-3, record=str(tmp_path / "a.zarr")
        )
    kept = aq.results.open(str(tmp_path / "a.zarr"))
    assert kept["time"].size > 1
    assert np.isfinite(kept["balance"]).all()


def test_other_schemes_say_what_to_take():
    with pytest.raises(aq.UserError, match="does not step"):
        aq.simulate(pressed(bar(RUBBER)), aq.Multirate(2), duration=1e-3, step=1e-4)
