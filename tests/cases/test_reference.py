"""The references of the cases against closed forms, conservation, a grid of characteristics and SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from arlequin.cases.reference.bars import collide
from arlequin.cases.reference.interface import ContactLaw, penalty, touch, unilateral, velocity_penalty
from arlequin.cases.reference.measures import (
    convergence_order,
    impulse_error,
    l1_error,
    l2_error,
    mean_error,
    total_variation,
)
from arlequin.cases.reference.press import PressedBar
from arlequin.cases.reference.rods import Rod
from arlequin.models.errors import UserError

STEEL = Rod(0.1, 2e11, 7800, 10.0)
FAST = Rod(0.1, 2e11, 7800, 100.0)
Z, T = STEEL.impedance, STEEL.transit
THESIS = ContactLaw(1e12, 1, 5e-4, unilateral=True)


def grid(left, right, law, gap, duration, cells):
    """Rows of characteristics a = v + q/z, b = v − q/z, moved a cell a step; implicit Euler for the gap.

    `cells` of the left rod; transit times of rational ratio → times of the steps' ends, mean pressures.
    """
    dt = left.transit / (2 * cells)
    count = round(right.transit / (2 * dt)) if right else 1
    a1, b1 = np.full(cells, left.velocity), np.full(cells, left.velocity)
    vr, zr = (right.velocity, right.impedance) if right else (0.0, math.inf)
    a2, b2 = np.full(count, vr), np.full(count, vr)
    total = 1 / left.impedance + 1 / zr
    reach = law.height if law.stiffness or law.damping else 0.0

    def asperity(g, rate):
        x = max(reach - g, 0.0)
        damping = law.damping * x**law.damping_exponent * max(-rate, 0.0) if x > 0 else 0.0
        return law.stiffness * x**law.exponent + damping

    pressures = np.zeros(round(duration / dt))
    for i in range(len(pressures)):
        arriving = b2[0] - a1[-1]
        p, limit = 0.0, -arriving / total
        if (gap + dt * arriving < reach and limit > 0) or gap < reach:
            top = max(limit, 0.0) + asperity(0.0, -1e3) + asperity(gap, 0.0) + 1.0

            def residual(p, g=gap, r=arriving):
                rate = r + total * p
                return p - asperity(max(g + dt * rate, 0.0) if law.unilateral else g + dt * rate, rate)

            p = brentq(residual, 0.0, top, xtol=1e-3 * limit / 1e6 if limit > 0 else 1.0)
        if law.unilateral and gap + dt * (arriving + total * p) < 0:
            p = (-gap / dt - arriving) / total
        gap += dt * (arriving + total * p)
        pressures[i] = p
        out1, out2 = a1[-1] - 2 * p / left.impedance, b2[0] + 2 * p / zr
        free1, free2 = b1[0], a2[-1]
        b1[:-1], b1[-1] = b1[1:].copy(), out1
        a1[1:], a1[0] = a1[:-1].copy(), free1
        if right:
            a2[1:], a2[0] = a2[:-1].copy(), out2
            b2[:-1], b2[-1] = b2[1:].copy(), free2
    return dt * np.arange(len(pressures) + 1), pressures


# ---- bars: unilateral contact, event by event


@pytest.mark.parametrize(("other", "closing"), [(None, 10.0), (Rod(0.1, 2e11, 7800, -10.0), 20.0)])
def test_equal_bars_and_wall_follow_dalembert(other, closing):
    gap = 1e-4
    history = collide(STEEL, other, gap, 5 * T)
    start = gap / closing
    np.testing.assert_allclose(history.contact_intervals, [[start, start + T]], rtol=1e-14)
    assert history.pressures.max() == pytest.approx(Z * 10.0, rel=1e-14)
    assert history.impulse(5 * T) == pytest.approx(2 * STEEL.mass * 10, rel=1e-13)
    assert history.gap(5 * T) == pytest.approx(closing * (4 * T - start), rel=1e-12)
    s = np.linspace(0, 0.1, 11)
    np.testing.assert_allclose(history.velocity("left", s, 4.5 * T), -10.0, rtol=1e-12)
    np.testing.assert_allclose(history.velocity("left", s, 0.0), 10.0)
    # half-way through the contact the bar is at rest and uniformly compressed
    np.testing.assert_allclose(history.velocity("left", s[:-1], start + 0.5 * T - 1e-12), 0.0, atol=1e-11)
    np.testing.assert_allclose(history.compression("left", s[:-1], start + 0.5 * T - 1e-12), Z * 10, rtol=1e-12)


def test_a_short_bar_stops_on_a_longer_one_of_the_same_material():
    """Saint-Venant: lengths 1:2 leave the short bar at rest and give the long one half the velocity."""
    history = collide(STEEL, Rod(0.2, 2e11, 7800, 0.0), 0.0, 6 * T)
    np.testing.assert_allclose(history.contact_intervals, [[0.0, T]], rtol=1e-13)
    assert history.pressures.max() == pytest.approx(0.5 * Z * 10, rel=1e-14)
    assert history.mean_velocity("left", 5 * T) == pytest.approx(0.0, abs=1e-11)
    assert history.mean_velocity("right", 5 * T) == pytest.approx(5.0, rel=1e-12)
    assert history.gap(1.9 * T) == pytest.approx(0.0, abs=1e-15)  # touching without pressure until the wave is back
    assert history.gap(2.5 * T) > 0


def test_code_aster_bar_on_a_wall():
    """SDNV100: contact from 2e-5 to 1e-4 s at 4.0 GPa; the free end turns when the first wave reaches it."""
    rod = Rod(0.2, 2e11, 8000, 100.0)
    history = collide(rod, None, 0.002, 2e-4)
    np.testing.assert_allclose(history.contact_intervals, [[2e-5, 1e-4]], rtol=1e-13)
    assert history.pressure(5e-5) == pytest.approx(4e9, rel=1e-14)
    np.testing.assert_allclose(history.velocity("left", 0.2, [5.9e-5, 6.1e-5, 1.2e-4]), [100, -100, -100], rtol=1e-12)


def test_unequal_bars_against_a_grid_of_characteristics():
    left = Rod(0.1, 2e11, 8000, 30.0)  # c = 5000, T = 4e-5
    right = Rod(0.14, 4.9e10, 4000, -5.0)  # c = 3500, T = 8e-5 ... the ratio is exact
    third = Rod(0.03, 8.1e10, 9000, -5.0)  # c = 3000, T = 2e-5
    for other in (right, third):
        exact = collide(left, other, 3.3e-4, 4e-4)
        errors = [l1_error(*grid(left, other, unilateral(), 3.3e-4, 4e-4, n), exact) for n in (200, 800)]
        assert errors[1] < 4e-3
        assert errors[0] / errors[1] > 3


def test_repeated_contacts_against_the_grid():
    """A light short rod between impacts: the gap reopens and closes while waves run."""
    left, right = Rod(0.15, 2e11, 8000, 20.0), Rod(0.024, 7.2e10, 2000, -20.0)  # T = 6e-5, 8e-6
    exact = collide(left, right, 1e-5, 2.4e-4)
    edges, pressures = grid(left, right, unilateral(), 1e-5, 2.4e-4, 3000)
    assert l1_error(edges, pressures, exact) < 5e-3
    assert np.all(exact.gaps >= 0)


rods = st.builds(Rod, st.floats(0.02, 0.5), st.floats(1e9, 3e11), st.floats(1e3, 1e4), st.floats(-20.0, 20.0))


@settings(max_examples=40, deadline=None)
@given(rods, rods, st.one_of(st.just(0.0), st.floats(1e-9, 1e-3)))
def test_collisions_conserve_energy_and_momentum(left, right, gap):
    if left.velocity - right.velocity < 0.5:
        return
    duration = gap / (left.velocity - right.velocity) + 4 * max(left.transit, right.transit)
    history = collide(left, right, gap, duration)
    assert np.all(history.pressures >= 0)
    assert np.all(history.gaps >= 0)
    slack = history.gaps[:-1] + history.gaps[1:]
    assert np.all(history.pressures * slack <= 1e-9 * history.pair.impact_pressure * max(gap, 1e-6))
    energy = 0.5 * (left.mass * left.velocity**2 + right.mass * right.velocity**2)
    for t in np.linspace(0.1, 1, 5) * duration:
        assert history.energy_total(t) == pytest.approx(energy, rel=1e-9)
        momentum = left.mass * history.mean_velocity("left", t) + right.mass * history.mean_velocity("right", t)
        scale = left.mass * abs(left.velocity) + right.mass * abs(right.velocity)
        assert momentum == pytest.approx(left.mass * left.velocity + right.mass * right.velocity, abs=1e-11 * scale)


def test_gap_is_the_integral_of_the_end_velocities():
    history = collide(STEEL, Rod(0.17, 7e10, 2700, -3.0), 1e-4, 6 * T)
    t = 0.5 * (history.breakpoints[1:] + history.breakpoints[:-1])
    rate = history.end_velocity("right", t) - history.end_velocity("left", t)
    np.testing.assert_allclose(rate * np.diff(history.breakpoints), np.diff(history.gaps), atol=1e-16)


def test_mean_pressure_is_exact_on_steps_that_straddle_the_jumps():
    history = collide(STEEL, None, 1e-4, 2 * T)
    edges = np.linspace(0, 2 * T, 8)
    overlap = np.clip(np.minimum(edges[1:], 1e-5 + T) - np.maximum(edges[:-1], 1e-5), 0, None)
    np.testing.assert_allclose(history.mean_pressure(edges), Z * 10 * overlap / np.diff(edges), rtol=1e-12, atol=1e-3)


# ---- interface: any law


@pytest.mark.parametrize("other", [None, Rod(0.25, 7e10, 2700, -4.0)])
def test_linear_penalty_in_the_first_transit(other):
    kappa, gap = 2e13, 2e-5
    history = touch(STEEL, other, penalty(kappa), gap, 1e-4)
    total, speed = sum(history.pair.admittances), -history.pair.closing
    start = gap / speed
    t = np.linspace(0, start + 0.999 * T, 3001)
    exact = np.where(t < start, 0, speed / total * -np.expm1(-total * kappa * np.maximum(t - start, 0)))
    np.testing.assert_allclose(history.pressure(t), exact, atol=2e-9 * speed / total)
    s = t[-1] - start
    impulse = speed / total * (s + np.expm1(-total * kappa * s) / (total * kappa))
    assert history.impulse(t[-1]) == pytest.approx(impulse, rel=1e-9)


def test_quadratic_asperities_in_the_first_transit():
    """ġ = −V + Z κ x² gives x = √(V/(Zκ)) tanh(√(V Z κ) t)."""
    kappa, a = 5e15, 5e-4
    history = touch(STEEL, None, ContactLaw(kappa, 2, a), a, T)
    t = np.linspace(0, 0.999 * T, 1000)
    x = math.sqrt(10 * Z / kappa) * np.tanh(math.sqrt(10 * kappa / Z) * t)
    np.testing.assert_allclose(history.pressure(t), kappa * x**2, atol=3e-9 * Z * 10)
    np.testing.assert_allclose(history.gap(t), a - x, atol=1e-12)


def test_velocity_penalty_is_a_constant_pressure():
    damping, gap = 3 * Z, 1e-4
    history = touch(STEEL, None, velocity_penalty(damping), gap, 1e-5 + T)
    t = np.linspace(1.0001e-5, 1e-5 + 0.999 * T, 50)
    np.testing.assert_allclose(history.pressure(t), damping * 10 / (1 + damping / Z), rtol=1e-12)
    np.testing.assert_allclose(history.gap_rate(t), -10 / (1 + damping / Z), rtol=1e-11)


@pytest.mark.parametrize("damping", [0.0, 2e4, 2e7])
def test_thesis_engagement_and_crushing_times(damping):
    """First transit: x = V/(Zκ) (1 − exp(−Zκ t/(1 + Zc))), full crushing at x = a, then p = ρcV at once."""
    law = ContactLaw(1e12, 1, 5e-4, damping, 0, True)
    history = touch(FAST, None, law, 1e-3, 1.5e-4)
    start = 5e-6
    crushed = start - (1 + damping / Z) * Z / 1e12 * math.log(1 - 5e-4 * 1e12 / (Z * 100))
    assert history.contact_intervals[0, 0] == pytest.approx(start, rel=1e-10)
    assert history.substrate_intervals[0, 0] == pytest.approx(crushed, rel=1e-10)
    assert history.pressure(start * (1 + 1e-7)) == pytest.approx(100 * damping / (1 + damping / Z), abs=1e-4 * Z)
    np.testing.assert_allclose(history.pressure([crushed * 1.0001, T]), Z * 100, rtol=1e-9)


def test_damped_law_against_scipy_with_its_own_history():
    """Method of steps with SciPy's DOP853: the first transit stored densely, the second fed with it."""
    kappa, c, a = 2e16, 4e10, 3e-4
    law = ContactLaw(kappa, 2, a, c, 1.0)

    def pressure(g, history):
        x = max(a - g, 0.0)
        free = history + kappa * x**2 / Z
        return kappa * x**2 + c * x * max(-free, 0) / (1 + c * x / Z)

    def first(t, y):
        return [-10 + pressure(y[0], -10.0) / Z]

    one = solve_ivp(first, (0, T), [a], method="DOP853", rtol=1e-12, atol=1e-16, dense_output=True)

    def second(t, y):
        history = -10 + 2 * pressure(one.sol(t - T)[0], -10.0) / Z
        return [history + pressure(y[0], history) / Z]

    two = solve_ivp(second, (T, 2 * T), [one.y[0, -1]], method="DOP853", rtol=1e-12, atol=1e-16, max_step=T / 500)
    mine = touch(STEEL, None, law, a, 2 * T)
    np.testing.assert_allclose(mine.gap(one.t), one.y[0], atol=1e-12)
    np.testing.assert_allclose(mine.gap(two.t), two.y[0], atol=1e-10 * a + 1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("damping", [0.0, 2e7])
@pytest.mark.parametrize("other", [None, Rod(0.14, 4.9e10, 4000, -20.0)])
def test_multilevel_law_against_the_grid(damping, other):
    left = Rod(0.1, 2e11, 8000, 100.0)
    law = ContactLaw(1e12, 1, 5e-4, damping, 0, True)
    mine = touch(left, other, law, 6e-4, 1.6e-4)
    errors = [l1_error(*grid(left, other, law, 6e-4, 1.6e-4, n), mine) for n in (250, 1000)]
    assert errors[1] < 4e-3
    assert errors[0] / errors[1] > 3


def test_unilateral_law_is_the_event_driven_solution():
    for other in (None, Rod(0.1, 2e11, 7800, -10.0), Rod(0.17, 7e10, 2700, -3.0), Rod(0.2, 2e11, 7800, 0.0)):
        exact, mine = collide(STEEL, other, 1e-4, 6 * T), touch(STEEL, other, unilateral(), 1e-4, 6 * T)
        t = np.linspace(0, 6 * T, 4001)
        np.testing.assert_allclose(mine.impulse(t), exact.impulse(t), atol=1e-9 * exact.impulse(6 * T))
        np.testing.assert_allclose(mine.gap(t), exact.gap(t), atol=1e-12)


@pytest.mark.parametrize(
    ("law", "order"),
    [
        (lambda h: penalty(1e8 / h), 1),
        (lambda h: ContactLaw(1e13, 1, h, 1e7, 0, unilateral=True), 1),
        (lambda h: ContactLaw(1e13, 1, h, unilateral=True), 2),
    ],
)
def test_laws_of_a_thin_layer_tend_to_unilateral_contact(law, order):
    """A layer h acts for a time O(h): at O(1) pressure if stiff or damped, at κh if of given stiffness."""
    exact, errors = collide(STEEL, None, 1e-4, 2 * T), []
    layers = np.array([1e-6, 1e-7, 1e-8, 1e-9])
    for h in layers:
        mine = touch(STEEL, None, law(h), 1e-4, 2 * T)
        edges = np.union1d(mine.times, exact.times)
        errors.append(l1_error(edges, mine.mean_pressure(edges), exact))
    assert errors[-1] < 2e-5
    assert convergence_order(layers, errors) == pytest.approx(order, abs=0.03)


LAWS = {
    "penalty": penalty(2e13),
    "velocity": velocity_penalty(2 * Z),
    "hertz": ContactLaw(1e15, 1.5, 3e-4, 1e11, 1.5),
    "root": ContactLaw(1e12, 1, 5e-4, 1e7, 0.5),
    "multilevel": ContactLaw(1e12, 1, 5e-4, 2e7, 0, True),
    "crushable": ContactLaw(1e15, 2, 3e-4, 2e10, 1, True),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("other", [None, Rod(0.17, 7e10, 2700, -40.0)])
def test_energy_balance_of_rods_and_interface(name, other):
    """Fields in the rods, stored and dissipated energy add up to the kinetic energy that came in."""
    history = touch(FAST, other, LAWS[name], 6e-4, 6 * T)
    start = 0.5 * FAST.mass * 100**2 + (0.5 * other.mass * 40**2 if other else 0.0)
    for t in np.linspace(0.05, 1, 7) * history.duration:
        now = history.energy_total(t) + float(history.stored(t)) + history.dissipated(t)
        assert now == pytest.approx(start, rel=2e-8)


@pytest.mark.parametrize("name", LAWS)
def test_pressure_obeys_the_law(name):
    law, history = LAWS[name], touch(FAST, Rod(0.17, 7e10, 2700, -40.0), LAWS[name], 6e-4, 5 * T)
    t = np.linspace(0, 5 * T, 7001)[1:] * 0.99987
    g, rate, peak = history.gap(t), history.gap_rate(t), history.nodes.max()
    x = np.maximum(law.height - g, 0)
    engaged = x > 1e-11
    expected = law.stiffness * x**law.exponent + law.damping * x**law.damping_exponent * np.maximum(-rate, 0) * engaged
    asperity, damping, substrate = history.parts(t)
    np.testing.assert_allclose(asperity + damping, expected, atol=1e-6 * peak)
    np.testing.assert_allclose(asperity + damping + substrate, history.pressure(t), rtol=1e-14, atol=1e-6)
    assert history.pressure(t).min() > -1e-7 * peak
    assert np.all(substrate[g > 1e-9] == 0)
    if law.unilateral:
        assert g.min() > -1e-11


@pytest.mark.parametrize("name", LAWS)
def test_error_falls_with_the_tolerance(name):
    other, edges = Rod(0.17, 7e10, 2700, -40.0), np.linspace(0, 5 * T, 2001)
    fine = touch(FAST, other, LAWS[name], 6e-4, 5 * T, tolerance=1e-12)
    peak = fine.nodes.max()
    t = np.linspace(0, 5 * T, 100001)
    for tolerance, bound in ((1e-6, 1e-5), (1e-9, 1e-7)):
        coarse = touch(FAST, other, LAWS[name], 6e-4, 5 * T, tolerance=tolerance)
        assert np.mean(np.abs(coarse.pressure(t) - fine.pressure(t))) < bound * peak
        assert np.max(np.abs(coarse.mean_pressure(edges) - fine.mean_pressure(edges))) < 100 * bound * peak


def test_impulse_gap_and_mean_pressure_are_consistent():
    history = touch(FAST, None, LAWS["multilevel"], 6e-4, 3 * T)
    t = np.linspace(0, 2.5 * T, 400001)
    assert history.impulse(2.5 * T) == pytest.approx(np.trapezoid(history.pressure(t), t), rel=1e-5)
    edges = np.linspace(0, 2.5 * T, 31)
    assert np.sum(np.diff(edges) * history.mean_pressure(edges)) == pytest.approx(history.impulse(2.5 * T), rel=1e-13)
    k = 1e-9 * T
    t = np.array([0.3, 0.8, 1.1, 1.9]) * T
    np.testing.assert_allclose((history.gap(t + k) - history.gap(t - k)) / (2 * k), history.gap_rate(t), atol=1e-3)


# ---- press


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("closed", [True, False])
def test_press_balances_forces_and_inverts(exponent, closed):
    stiffness = 1e9 / 5e-4**exponent
    press = PressedBar(0.1, 2e11, stiffness, exponent, 5e-4, 6e-4, closed)
    u = np.linspace(0, 3e-3, 301)
    p, g = press.pressure(u), press.gap_at(u)
    np.testing.assert_allclose(g, 6e-4 - u + 5e-13 * p, atol=1e-18 if exponent == 1 else 3e-17)
    assert np.all(np.diff(p) >= 0)
    assert np.all(p[u < 1e-4] == 0)
    if closed:
        assert g.min() == 0.0
    else:
        np.testing.assert_allclose(p, stiffness * np.maximum(5e-4 - g, 0) ** exponent, rtol=1e-13, atol=1.0)
    pressed = p > 0
    np.testing.assert_allclose(press.displacement(p[pressed]), u[pressed], rtol=1e-13)


def test_press_newton_agrees_with_bracketing():
    press = PressedBar(0.1, 2e11, 3e14, 1.7, 5e-4, 5e-4, False)
    for u in (1e-9, 1e-5, 4e-4):
        root = brentq(lambda x, u=u: x + 5e-13 * 3e14 * x**1.7 - u, 0, u, xtol=1e-20, rtol=1e-15)
        assert press.crush(u) == pytest.approx(root, rel=1e-14)


def test_press_work_is_the_stored_energy():
    """Thesis data, κ = 5e15, m = 2: crushing at 1.25 GPa, U = a + 6.25e-4; ∫ p dU by quadrature."""
    press = PressedBar(0.1, 2e11, 5e15, 2, 5e-4, 5e-4)
    assert press.crushing_pressure == pytest.approx(1.25e9)
    assert press.crushing_displacement == pytest.approx(1.125e-3)
    work, _ = quad(lambda u: float(press.pressure(u)), 0, 2e-3, points=[press.crushing_displacement], epsabs=1e-3)
    assert press.bar_energy(2e-3) + press.asperity_energy(2e-3) == pytest.approx(work, rel=1e-12)


# ---- measures


class Ramp:
    """p = t on [0, 1]."""

    breakpoints = np.array([0.0, 1.0])

    def pressure(self, t):
        return np.asarray(t)

    def impulse(self, t):
        return 0.5 * np.asarray(t) ** 2


def test_measures_of_a_shifted_contact():
    history = collide(STEEL, None, 1e-4, 2 * T)
    edges = np.concatenate(([0.0], 1e-5 + T * np.array([0.01, 1.01]), [2 * T]))
    values = np.array([0.0, Z * 10, 0.0])
    assert l1_error(edges, values, history) == pytest.approx(0.02, rel=1e-10)
    assert l2_error(edges, values, history) == pytest.approx(math.sqrt(0.02), rel=1e-10)
    assert impulse_error(edges, values, history) < 1e-13
    assert total_variation(values, Z * 10) == pytest.approx(2.0)
    assert total_variation([1.0, 0.5, 1.0, 0.0]) == pytest.approx(3.0)


def test_measures_of_a_smooth_reference():
    edges = np.linspace(0, 1, 11)
    means = 0.5 * (edges[1:] + edges[:-1])
    assert l2_error(edges, means, Ramp()) == pytest.approx(0.1 / math.sqrt(12) * math.sqrt(3), rel=1e-12)
    assert mean_error(edges, means, Ramp()) < 1e-14
    assert mean_error(edges, 1.01 * means, Ramp(), norm=1) == pytest.approx(0.01)
    assert l1_error(edges, means + 0.2, Ramp()) == pytest.approx(0.4, rel=1e-12)  # no change of sign: exact


def test_convergence_order_is_the_slope():
    h = 1 / np.array([50, 100, 200, 400, 800])
    assert convergence_order(h, 3 * h**0.7) == pytest.approx(0.7, rel=1e-12)


# ---- wrong usage


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    "call",
    [
        lambda: Rod(-1.0, 2e11, 7800),
        lambda: Rod(0.1, math.nan, 7800),
        lambda: collide(STEEL, Rod(0.1, 2e11, 7800, 20.0), 0.0, 1e-4),
        lambda: collide(STEEL, None, -1e-3, 1e-4),
        lambda: collide(STEEL, None, 0.0, math.inf),
        lambda: collide(STEEL, None, 0.0, 1e-4).pressure(1.0),
        lambda: collide(STEEL, None, 0.0, 1e-4).mean_velocity("right", 0.0),
        lambda: ContactLaw(),
        lambda: ContactLaw(1e12, 0.5, 1e-4),
        lambda: touch(STEEL, None, THESIS, 0.0, 1e-4, tolerance=0.0),
        lambda: PressedBar(0.1, 2e11, 1e12, 1, 5e-4, 1e-4),
        lambda: l1_error([0, 1, 2], [1.0], Ramp()),
        lambda: convergence_order([1.0], [1.0]),
    ],
)
def test_wrong_usage_is_one_clear_line(call):
    with pytest.raises(UserError) as error:
        call()
    assert error.value.code == 2
    assert "\n" not in str(error.value)
