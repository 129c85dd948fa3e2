"""The rocking block: the case against event-driven integration, closed forms of sliding and of small rotations."""

import numpy as np
import pytest

from arlequin import cases
from arlequin.cases import sdnv105
from arlequin.cases.reference.rocking import RockingBlock
from arlequin.cases.reference.rocking_motion import Shaking, rock
from arlequin.models.errors import UserError


def failed(result, **options):
    """Names of the checks that fail."""
    return [check.name for check in sdnv105.check(result, sdnv105.Parameters(**options)) if not check.passed]


@pytest.mark.slow
def test_rigid_block_converges_with_the_step():
    """Two impacts at two steps: every check, and errors of order 1."""
    exact = rock(RockingBlock(), impacts=2)
    errors = []
    for step in (1.6e-3, 2e-4):
        options = {"events": "step", "impacts": 2, "step": step, "duration": exact.impacts[1].time + 4e-3}
        result = cases.run("sdnv105", **options)
        assert failed(result, **options) == []
        found = sdnv105.landings(result, sdnv105.Parameters(**options))
        errors.append(
            [
                abs(own.time - hit.time) / hit.time + abs(own.kinetic_energy / hit.kinetic_energy - 1)
                for own, hit in zip(found, exact.impacts, strict=True)
            ]
        )
    assert sum(errors[1]) < 0.25 * sum(
        errors[0]
    )  # order 1 gives an eighth, less or more with where in a step they land


@pytest.mark.parametrize("step", [1e-3, pytest.param(5e-5, marks=pytest.mark.slow)])
def test_five_located_impacts(step):
    result = cases.run("sdnv105", step=step)
    assert failed(result, step=step) == []
    found = sdnv105.landings(result, sdnv105.Parameters(step=step))
    for own, hit in zip(found, rock(RockingBlock(), impacts=5).impacts, strict=True):
        assert own.time == pytest.approx(hit.time, rel=1e-7)
        assert own.kinetic_energy == pytest.approx(hit.kinetic_energy, rel=1e-6)
        assert own.percussion == pytest.approx(hit.percussion, rel=2e-3)


def test_rigid_block_on_a_shaken_table():
    shaking = {"support_acceleration": 1.5, "support_frequency": 4.0}
    exact = rock(RockingBlock(), impacts=2, shaking=Shaking(across=1.5, frequency=4.0))
    still = rock(RockingBlock(), impacts=2)
    options = {"impacts": 2, "step": 4e-4, "duration": exact.impacts[1].time + 4e-3, **shaking}
    result = cases.run("sdnv105", **options)
    assert failed(result, **options) == []
    found = sdnv105.landings(result, sdnv105.Parameters(**options))
    times = np.array([hit.time for hit in found])
    assert times == pytest.approx([hit.time for hit in exact.impacts], abs=1e-3)
    assert np.abs(times - [hit.time for hit in still.impacts]).max() > 5e-3  # the table does matter


def test_tall_block():
    shape = {"half_width": 0.05, "half_height": 0.5}
    exact = rock(RockingBlock(**shape), impacts=1)
    options = {**shape, "impacts": 1, "step": 4e-4, "duration": exact.impacts[0].time + 4e-3}
    assert failed(cases.run("sdnv105", **options), **options) == []
    with pytest.raises(UserError, match="topples"):
        cases.run("sdnv105", **shape, tilt=0.11)


def test_squat_block_slides_on_a_shaken_table():
    """ẅ = μg − a sin ωt relative to the table from the instant at which a sin ωt reaches μg on; no rocking."""
    a, friction, omega = 4.0, 0.2, 2 * np.pi
    options = {
        "half_width": 0.5, "half_height": 0.05, "friction": friction, "tilt": 0.0, "theta": 0.5,
        "support_acceleration": a, "support_frequency": 1.0, "duration": 0.3, "step": 2e-3,
    }  # fmt: skip
    result = cases.run("sdnv105", **options)
    start = np.arcsin(friction * 9.81 / a) / omega
    t = result["time"].values
    s = np.maximum(t - start, 0.0)
    fall = (np.sin(omega * t) - np.sin(omega * start)) / omega - np.cos(omega * start) * s
    exact = np.where(s > 0, a / omega * fall + friction * 9.81 * s**2 / 2, 0.0)
    moved = result["part/block/displacement"].values[:, 0]
    assert moved[:, 0] == pytest.approx(exact, abs=2e-3 * np.abs(exact).max())
    assert np.abs(exact).max() > 0.02
    assert np.abs(moved[:, 1]).max() < 1e-12
    assert failed(result, **options) == []
    with pytest.raises(UserError, match="duration = None: must be given where the block slides"):
        sdnv105.Parameters(half_width=0.5, half_height=0.05, friction=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("kinematics", "step"), [("finite", 1e-4), ("small", 5e-5)])
def test_first_impact_of_the_elastic_block(kinematics, step):
    options = {"model": "elastic", "cells": 3, "kinematics": kinematics, "step": step, "impacts": 1, "duration": 0.058}
    result = cases.run("sdnv105", **options)
    assert failed(result, **options) == []
    (found,) = sdnv105.landings(result, sdnv105.Parameters(**options))
    exact = {"finite": (0.054411, 7.29193), "small": (0.053903, 7.374)}[kinematics]
    assert found.time == pytest.approx(exact[0], rel=1e-3)
    assert found.kinetic_energy == pytest.approx(exact[1], rel=1e-3)


def test_the_elastic_block_starts_in_equilibrium():
    """The weight sinks it by what it does to a column on its corners, and the release leaves it where it is."""
    options = {"model": "elastic", "cells": 3, "kinematics": "small", "impacts": 1, "duration": 1e-3, "step": 5e-5}
    result = cases.run("sdnv105", **options)
    part = result["part/block"].dataset
    start = part["displacement"].values[0] - 0.01 * part["position"].values @ [[0.0, 1.0], [-1.0, 0.0]]
    column = 1450.0 * 9.81 * 0.8**2 / (2 * 6e11)  # ρgh²/2E, of a column on its whole base
    top = start[part["position"].values[:, 1] > 0.799, 1]
    assert np.all(top < -column) and np.all(top > -8 * column)
    assert float(part["velocity"].values[0].max()) == 0.0
    # let go, it turns about its corner with the angular acceleration of the rigid block
    rate = sdnv105.motion(result, sdnv105.Parameters(**options)).rate[-1]
    block = RockingBlock()
    assert rate == pytest.approx(-block.mass * 9.81 * 0.18 / block.inertia * 1e-3, rel=2e-2)


@pytest.mark.slow
def test_the_elastic_block_tends_to_the_rigid_one():
    ratios = []
    for young in (6e11, 6e14):
        options = {"model": "elastic", "cells": 3, "kinematics": "small", "impacts": 2, "young": young}
        options |= {"duration": 0.145, "step": 2e-5}
        result = cases.run("sdnv105", **options)
        first, second = sdnv105.landings(result, sdnv105.Parameters(**options))
        ratios.append(np.sqrt(second.kinetic_energy / first.kinetic_energy))
        assert failed(result, **options) == []
    distances = np.abs(np.array(ratios) - RockingBlock().velocity_ratio)
    assert distances[1] < distances[0]
    assert distances[1] < 0.01 * RockingBlock().velocity_ratio
