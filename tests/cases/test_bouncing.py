"""The bouncing and the thrown bar: wave equation, Signorini's conditions, energy, momentum, the rods' collision."""

import numpy as np
import pytest

from arlequin.cases.reference.bars import collide
from arlequin.cases.reference.bouncing import BouncingBar, ThrownBar
from arlequin.cases.reference.rods import Rod

BARS = [BouncingBar(bounces=5), BouncingBar(2e11, 7800, 0.1, 1e-3, 5), ThrownBar()]


def moments(bar, count, seed):
    """Random points and times, on no characteristic."""
    random = np.random.default_rng(seed)
    return random.uniform(0.02, 0.98, count) * bar.length, random.uniform(0.02, 4.9, count) * bar.transit


@pytest.mark.parametrize("bar", BARS)
def test_the_bars_obey_the_wave_equation(bar):
    """Differences over a diamond vanish: u(x, t ± d/c) and u(x ± d, t) have the same sum, for every small d."""
    x, t = moments(bar, 2000, 1)
    for d in (1e-3 * bar.length, 0.02 * bar.length):
        s = d / bar.wave_speed
        later, earlier = bar.displacement(x, t + s), bar.displacement(x, t - s)
        right, left = bar.displacement(x + d, t), bar.displacement(x - d, t)
        scale = np.abs(bar.displacement(x, t)).max()
        np.testing.assert_allclose(later + earlier, right + left, atol=1e-13 * scale)


@pytest.mark.parametrize("bar", BARS)
def test_velocity_and_stress_are_derivatives_of_the_displacement(bar):
    x, t = moments(bar, 2000, 2)
    d = 1e-6 * bar.length
    s = d / bar.wave_speed
    rate = (bar.displacement(x, t + s) - bar.displacement(x, t - s)) / (2 * s)
    strain = (bar.displacement(x + d, t) - bar.displacement(x - d, t)) / (2 * d)
    speed = np.abs(rate).max()
    # a few points lie within d of a characteristic
    assert np.mean(np.abs(rate - bar.velocity(x, t)) > 1e-7 * speed) < 2e-3
    assert np.mean(np.abs(bar.young * strain - bar.stress(x, t)) > 1e-7 * bar.pressure_in_contact) < 2e-3


@pytest.mark.parametrize("bar", BARS)
def test_the_bars_meet_signorini_and_their_far_end(bar):
    t = np.linspace(0, 4.9 * bar.transit, 4000)
    gap, pressure = bar.gap(t), bar.pressure(t)
    scale = gap.max()
    assert gap.min() > -1e-14 * scale
    assert np.all(pressure * gap <= 1e-13 * scale * bar.pressure_in_contact)
    np.testing.assert_allclose(-bar.stress(0.0, t), pressure, atol=1e-12 * bar.pressure_in_contact)
    if isinstance(bar, BouncingBar):
        np.testing.assert_allclose(bar.displacement(bar.length, t), 0.0, atol=1e-14 * scale)
    else:
        np.testing.assert_allclose(bar.stress(bar.length, t), 0.0, atol=1e-12 * bar.pressure_in_contact)


@pytest.mark.parametrize("bar", BARS)
def test_the_bars_keep_their_energy(bar):
    x = (np.arange(4000) + 0.5) / 4000 * bar.length
    for t in np.linspace(0.013, 4.87, 37) * bar.transit:
        density = 0.5 * bar.density * bar.velocity(x, t) ** 2 + 0.5 * bar.stress(x, t) ** 2 / bar.young
        assert density.mean() * bar.length == pytest.approx(bar.energy, rel=2e-3)  # cells that a jump crosses


@pytest.mark.parametrize("bar", BARS)
def test_impulse_is_the_change_of_momentum(bar):
    """The far end's force counts too: ∫ (p + σ(L)) dt = Δ(ρ ∫ v dx)."""
    edges = np.linspace(0, 4.9 * bar.transit, 20001)
    middle = 0.5 * (edges[1:] + edges[:-1])
    np.testing.assert_allclose(np.diff(bar.impulse(edges)).sum(), bar.pressure(middle).mean() * edges[-1], rtol=1e-3)
    x = (np.arange(2000) + 0.5) / 2000 * bar.length
    far = np.cumsum(bar.stress(bar.length, middle)) * np.diff(edges)[0]
    for n in (2500, 7777, 20000):
        change = (bar.velocity(x, edges[n]) - bar.velocity(x, 0.0)).mean() * bar.density * bar.length
        assert bar.impulse(edges[n]) + far[n - 1] == pytest.approx(change, abs=2e-3 * np.sqrt(bar.energy * bar.density))


def test_bouncing_bar_of_the_papers():
    bar = BouncingBar(bounces=1000)
    assert (bar.period, bar.pressure_in_contact, bar.energy) == (3.0, 0.5, 0.125)
    np.testing.assert_allclose(bar.contact_intervals[[0, -1]], [[1, 2], [2998, 2999]], rtol=1e-15)
    x = np.linspace(0, 1, 11)
    np.testing.assert_allclose(bar.displacement(x, 0.0), (1 - x) / 2, atol=1e-15)
    np.testing.assert_allclose(bar.velocity(x[1:-1], 0.0), 0.0)
    np.testing.assert_allclose(bar.displacement(x, 2997.0), (1 - x) / 2, atol=1e-12)
    np.testing.assert_allclose(bar.displacement(0.5, [1.0, 1.5, 2.0]), [0, -0.25, 0], atol=1e-15)
    assert bar.impulse(3000.0) == 500.0
    np.testing.assert_array_equal(bar.mean_pressure([0, 1, 1.5, 2.5, 3]), [0, 0.5, 0.25, 0])


def test_thrown_bar_is_the_exact_collision_of_rods():
    bar = ThrownBar()
    np.testing.assert_allclose(bar.contact_intervals, [[0.5, 0.5 + 2 / 3]], rtol=1e-15)
    assert bar.pressure_in_contact == 300.0
    other = collide(Rod(10.0, 900.0, 1.0, 10.0), None, 5.0, 3.0)
    t = np.linspace(0, 3, 301) + 1e-4
    t = t[t < 3]
    np.testing.assert_allclose(bar.impulse(t), other.impulse(t), atol=1e-11)
    np.testing.assert_allclose(bar.gap(t), other.gap(t), atol=1e-12)
    for x in (0.0, 3.3, 10.0):
        np.testing.assert_allclose(bar.velocity(x, t), -other.velocity("left", x, t), atol=1e-12)
        np.testing.assert_allclose(-bar.stress(x, t), other.compression("left", x, t), atol=1e-10)
    np.testing.assert_array_equal(bar.velocity(np.linspace(0, 10, 5), 1.2), 10.0)
