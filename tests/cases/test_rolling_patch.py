"""The case rolling_patch: a patch that follows the contact against the patch everywhere; energies and moves."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin import cases
from arlequin.cases import rolling_patch as case

SMALL = {"ratio": 2, "cylinder_size": 4e-4, "duration": 3.5e-3, "step": 2e-5, "length": 0.03}


@pytest.fixture(scope="module")
def moved():
    return case.build(case.Parameters(**SMALL)).run()


@pytest.mark.slow
def test_the_forces_are_those_of_the_patch_everywhere(moved):
    parameters = case.Parameters(**SMALL)
    assert all(check.passed for check in case.check(moved, parameters))
    assert len(case.check(moved, parameters)) == 6


def test_the_patch_follows(moved):
    group = moved["levels/patch"].dataset
    level, way = group["level"].values, group["indicator"].values
    assert level[-1] == 2.0 and (np.diff(level) >= 0.0).all()
    assert np.nanmax(np.abs(way - 1e-3 * level)) < 0.7e-3  # 0.6 pitches, and the way of a step
    shift = moved["part/patch"].dataset["shift"].values
    assert shift[0].tolist() == [0.0, 0.0] and shift[-1] == pytest.approx([2e-3, 0.0], abs=1e-15)


def test_balance(moved):
    """All columns close in each step, those with a move among them."""
    assert np.abs(moved.dataset["balance"].values).max() < 1e-13


def test_it_moves_back():
    """The patch goes to and fro under a cylinder at rest: the force stays."""
    parameters = case.Parameters(**SMALL)
    system = case.system(parameters)
    (patch,) = system.levels
    shifted = aq.levels.MovingPatch(
        "patch", patch.at, lambda state: 1e-3 * (1 + np.cos(2e4 * state.time)) * 0.45, pitch=1e-3
    )
    result = aq.simulate(replace(system, levels=[shifted]), aq.Theta(0.5), duration=1.2e-3, step=2e-5)
    whole = aq.simulate(system.at({"patch": 0}), aq.Theta(0.5), duration=1.2e-3, step=2e-5)
    force, other = (case.forces(tree)[:, 1] for tree in (result, whole))
    assert (np.diff(result["levels/patch"].dataset["level"].values) < 0.0).any()
    assert np.abs(force - other).max() < 5e-3 * other.max()
    assert np.abs(result.dataset["balance"].values).max() < 1e-12


@pytest.mark.slow
def test_a_patch_that_leaves_the_mesh():
    parameters = case.Parameters(**SMALL)
    system = case.system(parameters)
    (patch,) = system.levels
    away = aq.levels.MovingPatch("patch", patch.at, lambda state: 1e-3 * round(state.time / 2e-5), pitch=1e-3)
    with pytest.raises(aq.UserError, match=r"patch 'patch'.*leaves the mesh"):
        aq.simulate(replace(system, levels=[away]), aq.Theta(0.5), duration=1e-3, step=2e-5)


@pytest.mark.parametrize(
    "changed, line",
    [
        ({"width": 4}, "width = 4"),
        ({"deep": 8}, "deep = 8"),
        ({"duration": 0.05}, "length = 0.04"),
        ({"patch": "none"}, "patch"),
    ],
)
def test_bad_input(changed, line):
    with pytest.raises(aq.UserError, match=line):
        cases.run("rolling_patch", **changed)


@pytest.mark.slow
def test_the_patch_as_slave():
    """A rigid disc into which the block is lifted: the force stays while the patch moves to and fro; the patch must not
    wear."""
    parameters = case.Parameters(**SMALL)
    system = case.system(parameters)
    (patch,) = system.levels
    block = replace(system.parts[0], imposed={"bottom": {"x": 0.0, "y": parameters.press}})
    disc = aq.RigidSphere(centre=(0.0, parameters.radius), radius=parameters.radius)

    def at(k, wear=None):
        fine = patch.at(k).parts[0]
        glue = aq.Junction(block, fine, name="rim", zone=aq.zones.Box(width=2e-3))
        law, friction = aq.Unilateral(level="gap"), aq.Coulomb(0.3)
        press = aq.Interface("disc", fine.boundary("top"), disc, law, friction=friction, wear=wear)
        return aq.levels.Level([fine], junctions=[glue], interfaces=[press])

    def run(follow):
        moving = aq.levels.MovingPatch("patch", at, follow, pitch=1e-3)
        lifted = aq.System([block], levels=[moving])
        return aq.simulate(lifted, aq.Theta(0.5), duration=1.6e-3, step=2e-5, fields_every=80)

    still, moved = run(lambda state: 0.0), run(lambda state: 1e-3 * round(np.sin(1.5e4 * state.time)))
    assert (np.diff(moved["levels/patch"]["level"].values) < 0.0).any()
    one, other = (tree["interface/disc"]["force"].values for tree in (still, moved))
    assert np.abs(one - other).max() < 5e-3 * np.abs(one).max()
    with pytest.raises(aq.UserError, match="interface 'disc': wears points of patch 'patch'"):
        aq.levels.MovingPatch("patch", lambda k: at(k, aq.Archard(1e-12)), lambda state: 0.0, pitch=1e-3).level(0)
