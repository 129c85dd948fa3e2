"""The released slider: turning points of Code_Aster, equation of motion, Coulomb's conditions, energy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arlequin.cases.reference.slider import ReleasedSlider
from arlequin.models.errors import UserError

SLIDERS = [
    ReleasedSlider(),
    ReleasedSlider(release=-8.5e-4, direction=(1.0, 1.0)),
    ReleasedSlider(stiffness=3.7, mass=0.2, release=7.3, friction=0.31, gravity=9.81, direction=(1.0, -2.0, 0.5)),
    ReleasedSlider(friction=0.0),
]


def test_the_turning_points_of_code_aster():
    slider = ReleasedSlider(direction=(1.0, 1.0))
    assert slider.half_swings == 4
    np.testing.assert_allclose(slider.turning_time(range(5)), np.arange(5) * math.pi / 100, rtol=1e-15)
    points = slider.turning_point(np.arange(8))
    np.testing.assert_allclose(points, np.array([8.5, -6.5, 4.5, -2.5, 0.5, 0.5, 0.5, 0.5]) * 1e-4, rtol=2e-15)
    shown = slider.components(points[1:5])
    np.testing.assert_array_equal(shown[:, 0], shown[:, 1])
    np.testing.assert_allclose(shown[:, 0], [-4.596e-4, 3.182e-4, -1.768e-4, 3.536e-5], rtol=2e-4)
    assert slider.rest_position == pytest.approx(5e-5, rel=1e-12)
    assert slider.position(1e5) == slider.rest_position
    assert slider.velocity(1e5) == 0.0


@pytest.mark.parametrize("slider", SLIDERS)
def test_motion_obeys_newton_and_coulomb(slider):
    random = np.random.default_rng(5)
    last = min(slider.half_swings, 9)
    turns = np.floor(random.uniform(0, last, 400)) + random.uniform(0.01, 0.99, 400)
    t, d = turns * math.pi / slider.frequency, 1e-4 / slider.frequency
    u, v = slider.position(t), slider.velocity(t)
    np.testing.assert_allclose(
        (slider.position(t + d) - slider.position(t - d)) / (2 * d),
        v,
        atol=1e-8 * abs(slider.release) * slider.frequency,
    )
    acceleration = (slider.velocity(t + d) - slider.velocity(t - d)) / (2 * d)
    force = slider.friction_force(t)
    np.testing.assert_allclose(
        slider.mass * acceleration, force - slider.stiffness * u, atol=1e-8 * slider.stiffness * abs(slider.release)
    )
    np.testing.assert_array_equal(force, -slider.threshold * np.sign(v))
    stored = 0.5 * slider.mass * v**2 + 0.5 * slider.stiffness * u**2
    np.testing.assert_allclose(stored + slider.dissipated(t), 0.5 * slider.stiffness * slider.release**2, rtol=1e-12)


@given(st.floats(-1e-2, 1e-2), st.floats(0.0, 2.0))
def test_it_rests_where_coulomb_holds_it_and_nowhere_before(release, friction):
    slider = ReleasedSlider(release=release, friction=friction)
    if not 0 < slider.half_swings < 1e6:
        assert abs(release) <= slider.zone or slider.half_swings > 1e6
        return
    assert abs(slider.rest_position) <= slider.zone * (1 + 1e-9)
    assert abs(slider.turning_point(slider.half_swings - 1)) >= slider.zone * (1 - 1e-9)
    end = slider.rest_time * 1.01
    assert slider.position(end) == slider.rest_position
    assert abs(slider.friction_force(end)) <= slider.threshold * (1 + 1e-9)
    spent = 0.5 * slider.stiffness * (release**2 - slider.rest_position**2)
    assert slider.dissipated(end) == pytest.approx(spent, rel=1e-9, abs=1e-9 * slider.stiffness * release**2)


def test_release_in_the_zone_and_without_friction():
    held = ReleasedSlider(release=9e-5)
    assert held.half_swings == 0
    assert held.rest_time == 0.0
    np.testing.assert_array_equal(held.position([0.0, 0.1, 7.0]), 9e-5)
    np.testing.assert_allclose(held.friction_force([0.0, 7.0]), 0.9, rtol=1e-14)
    assert held.dissipated(7.0) == 0.0
    assert ReleasedSlider(release=0.0, friction=0.0).position(1.0) == 0.0
    free = ReleasedSlider(friction=0.0)
    t = np.linspace(0.0, 1.0, 301)
    np.testing.assert_allclose(free.position(t), 8.5e-4 * np.cos(100 * t), atol=1e-16)
    assert free.rest_time == math.inf
    assert math.isnan(free.rest_position)


@pytest.mark.parametrize("name, value", [("stiffness", 0.0), ("friction", -0.1), ("direction", (0.0, 0.0))])
def test_bad_input_is_named(name, value):
    with pytest.raises(UserError, match=name):
        ReleasedSlider(**{name: value})
