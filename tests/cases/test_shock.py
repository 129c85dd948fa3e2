"""Bodies on shock elements: oscillators in closed form, the nonsmooth limit, power, small blind steps."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

from arlequin.cases.reference.rocking import RockingBlock
from arlequin.cases.reference.shock import ShockElement, SlidingMass, integrate, released_block, released_mass
from arlequin.cases.reference.slider import ReleasedSlider
from arlequin.models.errors import UserError

SOFT = ShockElement(3e7, 1e7, 5e4, 0.9)


def test_the_released_mass_sticks_slips_and_turns_as_its_oscillators_do():
    motion = released_mass(SlidingMass(), ShockElement(20.0, 4e5, 0.0, 0.1), 8.5e-4, 0.05)
    # stuck: m ü = −k u − K_T (u − r₀), until the element carries f = 1 N
    stiff, elastic = math.sqrt(4.1e5), 1.0 / 4e5
    middle = 4e5 * 8.5e-4 / 4.1e5
    slip = math.acos(1 - elastic / (8.5e-4 - middle)) / stiff
    assert motion.events[0].time == pytest.approx(slip, rel=1e-9)
    assert motion.events[0].state == -1
    # k (r₀² − r₁²)/2 = f (r₀ − r₁ − e) + f e/2
    turn = motion.events[1]
    assert turn.state == 2
    position, speed = motion.state(turn.time)
    assert abs(speed[0, 0]) < 1e-11
    r = float(position[0, 0])
    assert 5e3 * (8.5e-4**2 - r**2) == pytest.approx(8.5e-4 - r - 0.5 * elastic, rel=1e-8)
    np.testing.assert_allclose(motion.forces([0.01, 0.02])[:, 0], [[1.0, 1.0], [10.0, 10.0]], rtol=1e-9)


def test_a_stiffer_element_tends_to_the_slider_of_coulomb():
    """Turning points as 1/K_T; in time as 1/√K_T, which is how long the element takes to reverse at each."""
    exact = ReleasedSlider()
    t = np.linspace(0, 0.12, 50)
    late, turns = [], []
    for tangential in (4e6, 4e7):
        motion = released_mass(SlidingMass(), ShockElement(20.0, tangential, 0.0, 0.1), 8.5e-4, 0.12)
        late.append(np.abs(motion.state(t)[0][0] - exact.position(t)).max())
        stops = [event.time for event in motion.events if event.state == 2]
        turns.append(motion.state(stops)[0][0] - exact.turning_point([1, 2, 3]))
    assert late[0] / late[1] == pytest.approx(math.sqrt(10), rel=1e-3)
    np.testing.assert_allclose(turns[0] / turns[1], 10.0, rtol=0.01)


def test_a_dropped_mass_leaves_when_the_damped_element_would_pull():
    mass, shock = SlidingMass(1.0, 2.0, 0.0), ShockElement(800.0, 1.0, 12.0)
    motion = integrate(mass, shock, np.array([0.0, 0.1]), np.array([0.0, -1.0]), np.zeros((2, 1)), 0.5)
    omega, decay = 20.0, 3.0
    damped = math.sqrt(omega**2 - decay**2)

    def depth(s):
        return -math.exp(-decay * s) * math.sin(damped * s) / damped

    def rate(s):
        return -math.exp(-decay * s) * (math.cos(damped * s) - decay / damped * math.sin(damped * s))

    pull = 1e-6 * 2.0  # the slack with which it opens
    leaves = brentq(
        lambda s: 800 * depth(s) + 12 * rate(s) - pull, 0.5 * math.pi / damped, math.pi / damped, xtol=1e-15
    )
    assert [event.state for event in motion.events] == [2, 0]
    assert motion.events[0].time == pytest.approx(0.1, rel=1e-10)
    assert motion.events[1].time == pytest.approx(0.1 + leaves, rel=1e-9)
    assert motion.state(0.5)[1][1, 0] == pytest.approx(rate(leaves), rel=1e-8)


def test_the_energy_of_the_block_changes_by_the_work_of_the_elements():
    motion = released_block(RockingBlock(), SOFT, 0.01, 0.1)
    edges = np.concatenate([motion.starts, [0.1]])
    points, weights = np.polynomial.legendre.leggauss(40)
    work = 0.0
    for start, end in pairwise(edges):
        t = 0.5 * (start + end) + 0.5 * (end - start) * points
        q, v = motion.state(t)
        speeds = np.stack([motion.body.points(q[:, k], v[:, k])[1] for k in range(len(t))], axis=-1)
        work += 0.5 * (end - start) * float(np.sum(motion.forces(t) * speeds, axis=(0, 1)) @ weights)
    (kinetic, potential), (before, height) = (motion.body.energy(*motion.state(s)) for s in (0.1, 0.0))
    assert float((kinetic + potential - before - height)[0]) == pytest.approx(work, rel=1e-4)
    forces = motion.forces(np.linspace(0, 0.1, 2000))
    assert np.all(forces[1] >= -1.1e-4)
    assert np.all(np.abs(forces[0]) <= 0.9 * np.abs(forces[1]) + 1e-4)


def blind(block, shock, tilt, end, steps):
    """θ after small explicit steps with a return mapping, the points as complex numbers: (steps + 1,)."""
    dt, mass = end / steps, block.mass
    inertia = mass * (block.half_width**2 + block.half_height**2) / 3
    corners = [complex(x, -block.half_height) for x in (-block.half_width, 0.0, block.half_width)]
    h, f = (float(a) for a in block.reactions(tilt, 0.0, 1))
    turn = complex(math.cos(tilt), math.sin(tilt))
    place, speed, angle, spin = -corners[0] * turn - 1j * f / shock.normal, 0j, tilt, 0.0
    anchors = [h / shock.tangential, None, None]
    out = [angle]
    for _ in range(steps):
        turn = complex(math.cos(angle), math.sin(angle))
        total, torque = -1j * mass * block.gravity, 0.0
        for k, corner in enumerate(corners):
            arm = corner * turn
            at, rate = place + arm, speed + 1j * spin * arm
            normal = -shock.normal * at.imag - shock.damping * rate.imag
            if at.imag >= 0 or normal <= 0:
                anchors[k] = None
                continue
            anchor = at.real if anchors[k] is None else anchors[k]
            limit = shock.friction * normal
            held = min(max(-shock.tangential * (at.real - anchor), -limit), limit)
            anchors[k] = at.real + held / shock.tangential
            force = complex(held, normal)
            total += force
            torque += (arm.conjugate() * force).imag
        speed += dt * total / mass
        spin += dt * torque / inertia
        place += dt * speed
        angle += dt * spin
        out.append(angle)
    return np.array(out)


def test_the_block_against_small_blind_steps():
    block, end = RockingBlock(), 0.12  # through the first impact and its rebound
    motion = released_block(block, SOFT, 0.01, end)
    coarse, fine = (blind(block, SOFT, 0.01, end, steps) for steps in (30_000, 60_000))
    exact = motion.state(np.linspace(0, end, 61))[0][2]
    assert np.abs(fine[::1000] - exact).max() < 5e-7
    assert np.abs(fine[::1000] - exact).max() < 0.6 * np.abs(coarse[::500] - exact).max()


@pytest.mark.slow
def test_model_b_of_the_benchmark():
    """Its first impact; at the second Code_Aster (HHT, elastic block) has 0.1349 s and 4.045 J: it loses more."""
    motion = released_block(RockingBlock(), ShockElement(3e10, 1e7, 5e6, 0.9), 0.01, 0.24)
    t = np.linspace(0.05, 0.06, 10_001)
    kinetic = motion.kinetic(t)
    assert t[kinetic.argmax()] == pytest.approx(0.054375, rel=1e-3)
    assert kinetic.max() == pytest.approx(7.28314, rel=2e-3)
    touch = next(event for event in motion.events if event.time > 0.13 and event.point == 1)
    assert touch.time == pytest.approx(0.1371938, rel=1e-6)  # by Radau's method
    assert motion.kinetic(touch.time)[0] == pytest.approx(4.41715, rel=1e-5)
    times = np.linspace(0, 0.24, 4001)
    q, v = motion.state(times)
    lowest = [motion.body.points(q[:, k], v[:, k])[0][1].min() for k in range(len(times))]
    assert min(lowest) > -5e-6  # no contact is missed where an element opens and closes again at once


def test_bad_input_is_named():
    with pytest.raises(UserError, match="tangential"):
        ShockElement(1.0, 0.0)
    with pytest.raises(UserError, match="tilt"):
        released_block(RockingBlock(), SOFT, -0.01, 0.1)
