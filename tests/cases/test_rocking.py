"""The rocking block: the exact table, quadrature of the flights, momentum of mass points, the equations of the page."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from arlequin.cases.reference.rocking import RockingBlock
from arlequin.cases.reference.rocking_motion import Shaking, rock
from arlequin.models.errors import UserError

BLOCKS = [RockingBlock(), RockingBlock(0.05, 0.5, 2300.0, 0.3, 9.81, 0.4), RockingBlock(0.3, 0.28, 900.0, 1.9)]
TABLE = [  # t, corner speed, kinetic energy, vertical percussion
    (0.054411, 0.132827, 7.29193, 48.463),
    (0.135202, 0.099275, 4.07333, 36.221),
    (0.195364, 0.074198, 2.27540, 27.072),
    (0.240238, 0.055456, 1.27106, 20.234),
    (0.273739, 0.041448, 0.710024, 15.123),
]


def test_the_table_of_the_benchmark():
    block = RockingBlock()
    assert block.mass == pytest.approx(417.6, rel=1e-14)
    assert block.pulsation == pytest.approx(4.0956, abs=5e-5)
    assert block.velocity_ratio == pytest.approx(0.747401, abs=5e-7)
    assert block.percussion_ratio == pytest.approx(0.3212, abs=5e-5)
    motion = rock(block)
    for hit, (time, speed, energy, vertical) in zip(motion.impacts, TABLE, strict=True):
        assert hit.time == pytest.approx(time, abs=5.01e-7)
        assert hit.corner_speed == pytest.approx(speed, abs=5.01e-7)
        assert hit.kinetic_energy == pytest.approx(energy, abs=5.01e-6)
        assert hit.percussion[1] == pytest.approx(vertical, abs=5.01e-4)
    assert abs(motion.impacts[0].percussion[0]) == pytest.approx(15.568, abs=5e-4)
    assert float(block.lift(0.01)) == pytest.approx(0.0036, abs=1e-7)
    # to the digit; the table of validation, and the first-order 2.011 mm of Code_Aster, stay within 0.3 % and 1.1 %
    lifts = [hit.next_lift for hit in motion.impacts]
    np.testing.assert_allclose(lifts, [2.0010e-3, 1.1147e-3, 6.217e-4, 3.470e-4, 1.9375e-4], rtol=6e-5)


def test_the_reactions_of_the_benchmark():
    block = RockingBlock()
    h, f = block.reactions(0.0, 0.0, 1)
    assert float(f) == pytest.approx(3579.25, abs=5e-3)
    assert float(abs(h)) == pytest.approx(1149.79, abs=5e-3)
    motion = rock(block)
    h, f = motion.reactions([0.0, motion.impacts[0].time * (1 - 1e-12)])
    np.testing.assert_allclose(f, [3602.0, 3556.5], atol=0.05)
    np.testing.assert_allclose(np.abs(h), [1129.2, 1139.6], atol=0.05)


def test_the_first_order_of_the_document():
    times, energies = RockingBlock().first_order(0.01, 5)
    np.testing.assert_allclose(times, [0.05440978, 0.13574, 0.196529, 0.241961, 0.27592], rtol=2e-5)
    np.testing.assert_allclose(energies, [7.37398, 4.11917, 2.30100, 1.28536, 0.718013], rtol=2e-6)
    small = rock(RockingBlock(), 1e-7)
    np.testing.assert_allclose([hit.time for hit in small.impacts], RockingBlock().first_order(1e-7, 5)[0], rtol=1e-6)


def fall_time(block, top, lean):
    """∫ dφ/φ̇ from the lean to the top by the energy integral, φ = top − x²."""

    def slowness(x):
        middle, half = block.base_angle + top - 0.5 * x * x, 0.5 * x * x
        return 2 / math.sqrt(4 * block.pulsation**2 * math.cos(middle) * math.sin(half) / (x * x))

    return quad(slowness, 0, math.sqrt(top - lean), epsabs=0, epsrel=1e-13)[0]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("share", [1e-3, 0.05, 0.6])
def test_free_rocking_against_the_energy_integral(block, share):
    tilt = share * (0.5 * math.pi - block.base_angle)
    motion = rock(block, -tilt, impacts=4)
    energy = float(block.potential(tilt))
    time = fall_time(block, tilt, 0.0)
    for k, hit in enumerate(motion.impacts):
        assert hit.time == pytest.approx(time, rel=1e-12)
        assert hit.kinetic_energy == pytest.approx(energy, rel=1e-11)
        energy *= block.velocity_ratio**2
        share_up = math.sin(block.base_angle) + energy / (block.mass * block.gravity * block.radius)
        top = math.asin(share_up) - block.base_angle
        assert hit.next_lift == pytest.approx(2 * block.half_width * math.sin(top), rel=1e-9)
        time += 2 * fall_time(block, top, 0.0)
        assert motion.flights[k].sense == (-1) ** (k + 1)
    leans = tilt * np.array([0.95, 0.7, 0.3, 0.05])
    times = [fall_time(block, tilt, lean) for lean in leans]
    np.testing.assert_allclose(motion.angle(times), -leans, rtol=1e-10)
    t = np.linspace(0, 0.9999 * motion.impacts[0].time, 40)
    np.testing.assert_allclose(motion.energy(t), float(block.potential(tilt)), rtol=1e-10)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("sense", [1, -1])
def test_an_impact_keeps_the_momentum_of_mass_points_about_the_new_corner(block, sense):
    gauss = np.array([-1.0, 1.0]) / math.sqrt(3)  # exact for the quadratic moments
    x, y = (a.ravel() for a in np.meshgrid(block.half_width * gauss, block.half_height * (1 + gauss)))
    mass, omega = block.mass / 4, -sense * 0.3
    old, new = -sense * block.half_width, sense * block.half_width  # the corner about which it turns, before and after

    def velocity(rate, corner):
        return -rate * y, rate * (x - corner)

    before = velocity(omega, old)
    about = mass * np.sum((x - new) * before[1] - y * before[0])
    unit = velocity(1.0, new)
    after_rate = about / (mass * np.sum((x - new) * unit[1] - y * unit[0]))
    assert after_rate / omega == pytest.approx(block.velocity_ratio, rel=1e-13)
    after = velocity(after_rate, new)
    jump = [mass * np.sum(b - a) for a, b in zip(before, after, strict=True)]
    np.testing.assert_allclose(block.percussion(0.3, sense), jump, rtol=1e-13)
    assert abs(jump[0]) / jump[1] == pytest.approx(block.percussion_ratio, rel=1e-13)
    # the corner that is left goes up
    assert after_rate * (old - new) > 0


SHAKEN = [
    (RockingBlock(), 0.01, Shaking(1.5, 0.0, 2.0)),
    (RockingBlock(), -0.02, Shaking(-2.0, 1.3, 5.3)),
    (RockingBlock(0.05, 0.5, 2300.0, 0.7), 0.004, Shaking(0.3, -3.0, 11.0)),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("block, tilt, shaking", SHAKEN)
def test_shaken_rocking_obeys_the_equations_of_the_page(block, tilt, shaking):
    motion = rock(block, tilt, 6, shaking)
    d = 1e-4 * motion.impacts[0].time
    mass, radius, angle = block.mass, block.radius, block.base_angle
    for flight in motion.flights[:6]:
        t = np.linspace(flight.start + 2 * d, flight.end - 2 * d, 25)
        theta, (across, up) = motion.angle(t), shaking(t)
        second = (motion.angular_velocity(t + d) - motion.angular_velocity(t - d)) / (2 * d)
        push, weight = mass * radius * across, mass * radius * (up + block.gravity)
        if flight.sense > 0:
            page = block.inertia * second + weight * np.cos(angle + theta) - push * np.sin(angle + theta)
        else:
            page = block.inertia * second - weight * np.cos(angle - theta) - push * np.sin(angle - theta)
        np.testing.assert_allclose(page, 0, atol=1e-5 * mass * radius * block.gravity)
        assert np.all(theta * flight.sense > 0)
        # the reactions: their torque about the centre of gravity, and its acceleration by differences
        psi = angle + np.abs(theta)
        force = np.array(motion.reactions(t))
        arm = radius * np.array([-flight.sense * np.cos(psi), -np.sin(psi)])  # from G to the corner
        torque = arm[0] * force[1] - arm[1] * force[0]
        np.testing.assert_allclose(torque, mass * radius**2 / 3 * second, atol=1e-5 * mass * radius * block.gravity)

        def centre(s, sense=flight.sense):
            lean = angle + np.abs(motion.angle(s))
            return radius * np.array([sense * np.cos(lean), np.sin(lean)])

        h = 1e-3 * (flight.end - flight.start)
        inside = t[(t > flight.start + h) & (t < flight.end - h)]
        pull = (centre(inside + h) - 2 * centre(inside) + centre(inside - h)) / h**2
        ground = np.array(shaking(inside)) + np.array([[0.0], [block.gravity]])
        np.testing.assert_allclose(
            mass * (pull + ground), np.array(motion.reactions(inside)), atol=1e-3 * mass * block.gravity
        )
    for before, after in zip(motion.flights[:5], motion.flights[1:6], strict=True):
        left, right = before.path(before.end), after.path(after.start)
        assert abs(left[0]) < 1e-14
        assert right[1] == pytest.approx(-block.velocity_ratio * left[1], rel=1e-12)
    mirror = rock(block, -tilt, 6, Shaking(-shaking.across, shaking.up, shaking.frequency))
    np.testing.assert_allclose([a.time for a in mirror.impacts], [a.time for a in motion.impacts], rtol=1e-14)


def test_a_block_at_rest_lifts_when_the_support_pulls_it_over():
    block, shaking = RockingBlock(), Shaking(6.0, 0.0, 3.0)
    motion = rock(block, 0.0, 3, shaking)
    lift = math.asin(block.gravity * block.slope / 6.0) / (6 * math.pi)
    assert motion.flights[0].sense == 0
    assert motion.flights[0].end == pytest.approx(lift, rel=1e-13)
    assert motion.flights[1].sense == 1  # pulled to +x, it turns about its left corner
    # φ''' is constant at first
    t = lift + 1e-5
    pulled = (
        block.pulsation**2 / block.gravity * math.sin(block.base_angle) * 36 * math.pi * math.cos(6 * math.pi * lift)
    )
    assert motion.angle(t)[0] == pytest.approx(pulled * 1e-15 / 6, rel=1e-3)
    still = rock(block, 0.0, 3, Shaking(4.0, 0.0, 3.0), end=2.0)
    assert still.impacts == ()
    np.testing.assert_array_equal(still.angle([0.0, 1.0, 2.0]), 0.0)
    across, up = still.reactions([0.05])
    assert across[0] == pytest.approx(block.mass * 4.0 * math.sin(0.3 * math.pi), rel=1e-13)
    assert up[0] == pytest.approx(block.mass * block.gravity, rel=1e-14)


def test_impacts_accumulate_to_rest():
    block = RockingBlock()
    motion = rock(block, 1e-3, impacts=200)
    assert 40 < len(motion.impacts) < 80
    assert motion.flights[-1].sense == 0
    r, first = block.velocity_ratio, motion.impacts[0].time
    # the sum of the first order, t₁ (1 + 2r/(1 − r)), to the order of the tilt
    assert motion.flights[-1].start == pytest.approx(first * (1 + r) / (1 - r), rel=3e-3)


@pytest.mark.parametrize(
    "given, match",
    [
        ({"half_height": 0.12}, "half_height = 0.12: must be more than half_width/√2"),
        ({"friction": 0.3}, "friction = 0.3: must be at least 0.3212"),
        ({"density": -1.0}, "density"),
    ],
)
def test_blocks_that_cannot_rock_are_refused(given, match):
    with pytest.raises(UserError, match=match):
        RockingBlock(**given)


def test_motions_that_leave_the_assumption_are_refused():
    with pytest.raises(UserError, match="tilt"):
        rock(RockingBlock(), 0.5)
    with pytest.raises(UserError, match=r"slides at t = "):
        rock(RockingBlock(friction=0.325), 0.01, 5, Shaking(3.0, 0.0, 3.0))
    with pytest.raises(UserError, match="slides on the support at rest"):
        rock(RockingBlock(friction=0.35), 0.0, 5, Shaking(4.0, 0.0, 3.0), end=1.0)
    with pytest.raises(UserError, match="topples"):
        rock(RockingBlock(0.05, 0.5, friction=40.0), 0.0, 5, Shaking(8.0, 0.0, 0.3))
    with pytest.raises(UserError, match="t = "):
        rock(RockingBlock()).angle(9.0)
