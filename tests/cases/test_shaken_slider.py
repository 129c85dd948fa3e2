"""The slider on a shaken support: published means, an integration blind to the events, Coulomb's conditions."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from arlequin.cases.reference.shaken_slider import SLIP_SLIP, ShakenSlider
from arlequin.models.errors import UserError

MEANS = [  # a₀, mean work rate over [4, 12] s, and over [4, 11.99] s, recomputed with 20 digits
    (15.0, 15.26709959, 15.25752179),
    (1.5, 0.4090624510, 0.4091031329),
    (1.01, 2.2616412e-4, 2.2644718e-4),
]
ANY = [
    ShakenSlider(15.0),
    ShakenSlider(1.5),
    ShakenSlider(1.01),
    ShakenSlider(7.0, 0.31, 2.5, 9.81, 3.3),
    ShakenSlider(2.0, 0.0),
]


@pytest.mark.parametrize("acceleration, full, cut", MEANS)
def test_the_mean_work_rates_of_code_aster(acceleration, full, cut):
    slider = ShakenSlider(acceleration)
    digits = 1e-9 if acceleration > 1.2 else 5e-8
    assert slider.mean_work_rate(4.0, 12.0) == pytest.approx(full, rel=digits)
    assert slider.mean_work_rate(4.0, 11.99) == pytest.approx(cut, rel=digits)


@pytest.mark.parametrize("acceleration", [0.99, 1.0, 0.0])
def test_nothing_moves_below_the_threshold(acceleration):
    slider = ShakenSlider(acceleration)
    assert slider.regime == "stick"
    assert slider.mean_work_rate(4.0, 12.0) == 0.0
    assert slider.asymptotic_work_rate == 0.0
    assert slider.events(12.0) == ()
    t = np.linspace(0, 3, 301)
    np.testing.assert_array_equal(slider.relative_velocity(t), 0.0)
    np.testing.assert_allclose(slider.friction_force(t), acceleration * np.sin(2 * np.pi * t), rtol=1e-14, atol=1e-14)


def stepped(slider, end, steps):
    """Velocity of the mass by implicit steps of a box law, blind to the events: the relative velocity, (steps + 1,)."""
    dt = end / steps
    t = np.arange(steps + 1) * dt
    support = slider.support_velocity(t)
    v, out, most = support[0], [0.0], slider.friction * slider.gravity * dt
    for target in support[1:]:
        v += min(max(target - v, -most), most)
        out.append(v - target)
    return t, np.array(out)


@pytest.mark.parametrize("slider", ANY[:4])
def test_against_small_blind_steps(slider):
    end = 5.3 / slider.frequency
    t, relative = stepped(slider, end, 40_000)
    size = slider.acceleration / slider.pulsation
    np.testing.assert_allclose(slider.relative_velocity(t), relative, atol=2e-4 * size)


@pytest.mark.parametrize("slider", ANY)
def test_newton_coulomb_and_the_integrals(slider):
    end = 6.37 / slider.frequency
    random = np.random.default_rng(3)
    t, d = random.uniform(1e-3, 1, 3000) * end, 1e-6 / slider.frequency
    breaks = np.array([event.time for event in slider.events(2 * end)])
    t = t[np.abs(t[:, None] - breaks).min(axis=1) > 2 * d]
    relative = (slider.relative_velocity(t + d) - slider.relative_velocity(t - d)) / (2 * d)
    support = slider.acceleration * np.sin(slider.pulsation * t)
    force, limit = slider.friction_force(t), slider.friction * slider.normal_force
    np.testing.assert_allclose(slider.mass * (relative + support), force, atol=1e-8 * slider.mass * slider.acceleration)
    v = slider.relative_velocity(t)
    assert np.all(np.abs(force) <= limit + 1e-12)
    np.testing.assert_array_equal(force[v != 0], -np.sign(v[v != 0]) * limit)
    shift = (slider.relative_position(t + d) - slider.relative_position(t - d)) / (2 * d)
    np.testing.assert_allclose(shift, v, atol=1e-7 * slider.acceleration / slider.pulsation)
    edges = np.concatenate([[0.1 * end], breaks[(breaks > 0.1 * end) & (breaks < end)], [end]])
    pieces = sum(
        quad(lambda s: float(slider.work_rate(s)), a, b, epsabs=0, epsrel=1e-12)[0]
        for a, b in pairwise(edges)
        if float(slider.work_rate(0.5 * (a + b))) > 0
    )
    assert slider.mean_work_rate(0.1 * end, end) * 0.9 * end == pytest.approx(pieces, rel=1e-11)
    np.testing.assert_allclose(slider.friction_power(t), np.abs(force * v) * (v != 0), rtol=1e-13)


@given(st.floats(1e-3, 0.9999))
def test_slips_end_at_rest_and_start_where_the_support_pulls_harder_than_friction(eta):
    slider = ShakenSlider(10.0, eta, frequency=0.5 / math.pi)  # ω = 1: times are phases
    events = slider.events(40.0)
    assert events[0].kind == "slip"
    assert events[0].time == pytest.approx(math.asin(eta), rel=1e-14)
    for before, event in pairwise(events):
        assert event.time >= before.time
        if event.kind == "slip":
            assert before.kind == "stick"
            assert abs(math.sin(event.time)) == pytest.approx(eta, abs=1e-14)
        else:  # the slip that ends, followed from its start by the closed form of the page
            t1, t2 = before.time, event.time
            assert eta * (t2 - t1) - before.sense * (math.cos(t2) - math.cos(t1)) == pytest.approx(0, abs=4e-14)
            assert (abs(math.sin(t2)) > eta) == (event.kind == "reversal")
    kinds = {event.kind for event in events}
    assert ("reversal" in kinds) == (slider.regime == "slip-slip")
    assert ("stick" in kinds) == (slider.regime == "stick-slip")


def test_the_asymptotic_power():
    assert pytest.approx(0.5370, abs=5e-5) == SLIP_SLIP
    slider = ShakenSlider(15.0)
    assert slider.asymptotic_work_rate == pytest.approx(15.11461449, rel=1e-9)
    assert slider.mean_work_rate(4000.0, 4001.0) == pytest.approx(slider.asymptotic_work_rate, rel=1e-10)
    for acceleration in (1.01, 1.5, 1.86):  # periodic from the first slip on
        slider = ShakenSlider(acceleration)
        assert slider.regime == "stick-slip"
        assert slider.mean_work_rate(3.0, 8.0) == pytest.approx(slider.asymptotic_work_rate, rel=1e-11)
    below, above = (ShakenSlider(1 / (SLIP_SLIP * s)).asymptotic_work_rate for s in (1 - 1e-9, 1 + 1e-9))
    assert below == pytest.approx(above, rel=1e-8)


def test_without_friction_the_mass_keeps_its_velocity():
    slider = ShakenSlider(2.0, 0.0)
    t = np.linspace(0, 4.7, 500)
    expected = 2.0 / slider.pulsation * (np.cos(slider.pulsation * t) - 1)
    np.testing.assert_allclose(slider.relative_velocity(t), expected, atol=1e-14)
    assert slider.mean_work_rate(0.0, 3.0) == pytest.approx(10 * 2.0 / slider.pulsation, rel=1e-13)
    with pytest.raises(UserError, match="friction"):
        _ = slider.asymptotic_work_rate


def test_bad_input_is_named():
    with pytest.raises(UserError, match="frequency"):
        ShakenSlider(frequency=0.0)
    with pytest.raises(UserError, match="end"):
        ShakenSlider().mean_work_rate(2.0, 1.0)
    with pytest.raises(UserError, match="t = "):
        ShakenSlider().relative_velocity(-1.0)
