"""The block on shock springs, held, then let go: balance of energy, landings, and the case against the integration."""

import numpy as np
import pytest

from arlequin import cases
from arlequin.cases import sdnv105
from arlequin.cases.reference.rocking import RockingBlock
from arlequin.cases.reference.shock import ShockElement
from arlequin.cases.reference.spring_rocking import held_block, rock_on_springs
from arlequin.models.errors import UserError


def failed(result, **options):
    """Names of the checks that fail."""
    return [check.name for check in sdnv105.check(result, sdnv105.Parameters(**options)) if not check.passed]


def test_the_first_flight_keeps_the_energy_of_block_and_springs():
    """Without damping T + Mg y + ½ K y_O² + ½ K_T (x_O − a)² is constant until another point touches."""
    block, shock = RockingBlock(), ShockElement(3e8, 1e8, 0.0, 0.9)
    motion = rock_on_springs(block, shock, 0.01, 1, 0.06)
    t = np.linspace(0.0, 0.999 * motion.impacts[0].time, 200)
    q, v = motion.motion.state(t)
    corner = np.stack([motion.motion.body.points(q[:, k], v[:, k])[0][:, 0] for k in range(len(t))])
    kinetic, potential = motion.motion.body.energy(q, v)
    springs = 0.5 * 3e8 * corner[:, 1] ** 2 + 0.5 * 1e8 * (corner[:, 0] - corner[0, 0]) ** 2
    total = kinetic + potential + springs
    np.testing.assert_allclose(total, total[0], atol=1e-8)
    weight = block.mass * block.gravity
    np.testing.assert_allclose(motion.motion.forces(0.0)[:, :, 0], [[0, 0, 0], [weight, 0, 0]], atol=1e-6)


@pytest.mark.slow
def test_landings_change_sides():
    """θ̇ points to the corner that lands; stiff springs meet the rigid block's first impact."""
    motion = rock_on_springs(RockingBlock(), ShockElement(3e9, 1e9, 5e5, 0.9), 0.01, 2, 0.16)
    first, second = motion.impacts
    rates = motion.motion.state([first.time, second.time])[1][2]
    assert rates[0] < 0.0 < rates[1]
    assert first.time == pytest.approx(0.054411, rel=5e-3)
    assert second.kinetic_energy < first.kinetic_energy
    assert motion.angle([0.0])[0] == 0.01
    with pytest.raises(UserError, match="tilt"):
        held_block(RockingBlock(), ShockElement(1e9, 1e7), -0.01, 0.1)


@pytest.mark.slow
def test_the_case_on_springs_until_its_first_landing():
    options = {"model": "springs", "impacts": 1, "step": 2e-4, "duration": 0.0546}
    assert failed(cases.run("sdnv105", **options), **options) == []


@pytest.mark.slow
def test_two_landings_on_springs_converge():
    """Of order 2: impacts take some 0.2 ms."""
    errors = []
    for step in (1e-4, 5e-5):
        options = {"model": "springs", "impacts": 2, "step": step, "duration": 0.137}
        result = cases.run("sdnv105", **options)
        assert failed(result, **options) == []
        own = sdnv105.landings(result, sdnv105.Parameters(**options))[1]
        exact = sdnv105.spring_reference(sdnv105.Parameters(**options)).impacts[1]
        errors.append(abs(own.kinetic_energy / exact.kinetic_energy - 1))
    assert errors[1] < errors[0] / 2.5
    assert errors[1] < 0.025


@pytest.mark.slow
def test_model_b_of_the_benchmark():
    """The elastic block on springs: the first two impact times of V5.03.105 within 1 %."""
    options = {"model": "elastic-springs", "cells": 2, "impacts": 2, "step": 5e-5, "duration": 0.137}
    result = cases.run("sdnv105", **options)
    assert failed(result, **options) == []
    first, second = sdnv105.landings(result, sdnv105.Parameters(**options))
    assert first.time == pytest.approx(0.054375, rel=0.01)
    assert second.time == pytest.approx(0.13490, rel=0.01)


@pytest.mark.slow
def test_first_impact_on_the_elastic_table():
    options = {"model": "elastic", "table": "elastic", "cells": 3, "impacts": 1, "step": 1e-4, "duration": 0.056}
    result = cases.run("sdnv105", **options)
    assert failed(result, **options) == []
    (found,) = sdnv105.landings(result, sdnv105.Parameters(**options))
    assert found.time == pytest.approx(0.054411, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("impacts", "duration"), [(1, 0.058), pytest.param(2, 0.139, marks=pytest.mark.slow)])
def test_impacts_with_newmark(impacts, duration):
    options = {"scheme": "newmark", "impacts": impacts, "step": 2e-4, "duration": duration}
    assert failed(cases.run("sdnv105", **options), **options) == []


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"table": "elastic"}, "table = 'elastic': must be rigid with model=rigid"),
        ({"model": "elastic", "scheme": "newmark"}, "GeneralisedAlpha steps neither rigid parts nor viscous ones"),
        ({"scheme": "midpoint"}, "midpoint scheme with unilateral contact needs"),
        ({"model": "springs", "scheme": "central-difference"}, "central difference takes no friction with a stiffness"),
        ({"model": "elastic", "kinematics": "small", "scheme": "central-difference"}, 'needs mass="lumped"'),
        ({"scheme": "newmark", "events": "locate"}, "scheme = 'newmark': must be theta with events=\"locate\""),
        ({"model": "springs", "spring_stiffness": 0.0}, "spring_stiffness"),
    ],
)
def test_what_does_not_go_together_is_one_clear_line(options, match):
    with pytest.raises(UserError, match=match) as raised:
        cases.run("sdnv105", **{"cells": 2, "step": 1e-4, "duration": 1e-3, "impacts": 1, **options})
    assert "\n" not in str(raised.value)
