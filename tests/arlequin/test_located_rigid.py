"""Located events of rigid bodies: rocking, sliding, landing and rest, against event-driven and closed forms."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases.reference.rocking import RockingBlock
from arlequin.cases.reference.rocking_motion import STILL, Shaking, rock
from arlequin.cases.reference.shaken_slider import ShakenSlider
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import assemble

LOCATE = aq.Theta(0.5, events="locate")
FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
G = 9.81


def box(width, height, corner=(0.0, 0.0), angle=0.0, density=1000.0):
    """A box turned about its lower left corner."""
    points = np.array([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return aq.RigidBody("box", points @ turn.T + corner, names={"base": [0, 1]}, density=density)


def run(body, duration, step, *, obstacle=FLOOR, friction=0.5, gravity=(0.0, -G), **more):
    rough = aq.Coulomb(friction) if friction else None
    contact = aq.Interface("floor", body.boundary("base"), obstacle, aq.Unilateral(), friction=rough)
    system = aq.System([body], interfaces=[contact], gravity=gravity, **more)
    result = aq.simulate(system, LOCATE, duration=duration, step=step)
    assert np.abs(result["balance"]).max() < 1e-12
    assert result["interface/floor"].dataset["gap_min"].values.min() > -1e-14
    return result


def of_box(result, name):
    return result["part/box"].dataset[name].values


def of_floor(result, name):
    return result["interface/floor"].dataset[name].values


def events(result):
    found = result["event_time"].values
    return found[np.isfinite(found)]


def energy(result, kind):
    return result["energy"].sel(kind=kind).values


def rocking(step, shaking=STILL, tilt=0.01, duration=0.29):
    def gravity(t):
        across, up = shaking(t)
        return -float(across), -G - float(up)

    return run(
        box(0.36, 0.8, angle=tilt, density=1450.0), duration, step, friction=0.9,
        gravity=(0.0, -G) if shaking is STILL else gravity,
    )  # fmt: skip


def impulses(motion, t0, t1):
    """(∫H, ∫F) of the reference over a step without impact (5 Gauss points)."""
    x, w = np.polynomial.legendre.leggauss(5)
    h, f = motion.reactions(0.5 * (t0 + t1) + 0.5 * (t1 - t0) * x)
    return 0.5 * (t1 - t0) * np.array([w @ h, w @ f])


def test_rocking_block():
    """Five impacts: times, energies, percussions, reactions in flight, and what the next lift is."""
    step, motion = 1e-3, rock(RockingBlock(), impacts=5)
    result = rocking(step)
    times = np.array([impact.time for impact in motion.impacts])
    np.testing.assert_allclose(events(result), times, rtol=1e-11)
    lost = np.cumsum([impact.kinetic_energy * (1 - motion.block.velocity_ratio**2) for impact in motion.impacts])
    np.testing.assert_allclose(energy(result, "impact")[np.ceil(times / step).astype(int)], lost, rtol=1e-10)
    assert np.abs(energy(result, "friction")).max() < 1e-15
    t = result["time"].values
    force = of_floor(result, "force")
    for n in range(1, len(t)):
        hit = [impact for impact in motion.impacts if t[n - 1] < impact.time <= t[n]]
        if hit:
            own = impulses(motion, t[n - 1], hit[0].time - 1e-13) + impulses(motion, hit[0].time + 1e-13, t[n])
            own += hit[0].percussion
        else:
            own = impulses(motion, t[n - 1], t[n])
        np.testing.assert_allclose(force[n] * step, own, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(of_box(result, "angle") + 0.01, motion.angle(t), atol=1e-12)
    np.testing.assert_allclose(of_box(result, "angular_velocity"), motion.angular_velocity(t), atol=1e-11)


def test_order_four():
    """Of the impacts' instants; after an event the rest of the step varies, and with it the factor between steps."""
    exact = np.array([impact.time for impact in rock(RockingBlock(), impacts=5).impacts])
    errors = [np.abs(events(rocking(step)) - exact) for step in (8e-3, 4e-3, 2e-3)]
    assert np.log2(errors[0][0] / errors[1][0]) == pytest.approx(4.0, abs=0.2)
    assert np.log2(errors[1][0] / errors[2][0]) == pytest.approx(4.0, abs=0.1)
    np.testing.assert_allclose(np.log2(errors[0] / errors[2])[:3] / 2, 4.0, atol=0.3)


def test_rocking_comes_to_rest():
    """The impacts accumulate within a step; after it the block stands on both corners."""
    result = rocking(1e-3, duration=1.0)
    assert of_box(result, "angle")[-1] == pytest.approx(-0.01, abs=1e-14)
    assert not np.isfinite(result["event_time"].values[500:]).any()
    np.testing.assert_allclose(of_floor(result, "pressure")[-1], 1450.0 * 0.8 * G, rtol=1e-12)


def test_rocking_on_a_shaken_floor():
    shaking = Shaking(across=3.0, up=1.0, frequency=3.0)
    motion = rock(RockingBlock(), tilt=0.05, shaking=shaking, end=0.6)
    result = rocking(1e-3, shaking, tilt=0.05, duration=0.6)
    t = result["time"].values[:600]
    np.testing.assert_allclose(events(result), [impact.time for impact in motion.impacts], rtol=1e-9)
    np.testing.assert_allclose(of_box(result, "angle")[:600] + 0.05, motion.angle(t), atol=1e-9)


@pytest.mark.parametrize("step", [1e-2, 3.3e-3])
def test_slides_up_to_a_stop(step):
    """Down a slope of 20° at 1 m/s with μ = 0.6: stops after v/a on both corners, and stays."""
    slope, friction = np.radians(20.0), 0.6
    down = np.array([np.cos(slope), -np.sin(slope)])
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(np.sin(slope), np.cos(slope)))
    result = run(box(0.4, 0.1, angle=-slope), 1.0, step, obstacle=plane, friction=friction, velocity={"box": down})
    brake = G * (friction * np.cos(slope) - np.sin(slope))
    np.testing.assert_allclose(events(result), [1 / brake], rtol=1e-12)
    np.testing.assert_allclose(of_box(result, "displacement")[-1, 0], down / (2 * brake), rtol=1e-12)
    friction_loss = 40.0 * G * friction * np.cos(slope) / (2 * brake)
    assert energy(result, "friction")[-1] == pytest.approx(friction_loss, rel=1e-12)
    assert of_floor(result, "wear_power").sum() * step == pytest.approx(friction_loss / friction, rel=1e-12)
    np.testing.assert_allclose(of_floor(result, "slip")[-1], 1 / (2 * brake), rtol=1e-12)
    assert (of_floor(result, "status")[-1] == 2).all()
    # at rest the corners share the friction as they share the pressure
    tangential = of_floor(result, "traction")[-1] @ down
    np.testing.assert_allclose(tangential / of_floor(result, "pressure")[-1], -np.tan(slope), rtol=1e-6)


def test_squat_block_on_a_shaken_floor():
    """Stick and slip of two corners at once do what a point does."""
    amplitude, friction = 1.5, 0.1
    result = run(
        box(1.0, 0.05), 3.0, 1e-3, friction=friction,
        gravity=lambda t: (-amplitude * np.sin(2 * np.pi * t), -10.0),
    )  # fmt: skip
    exact = ShakenSlider(mass=50.0, gravity=10.0, friction=friction, acceleration=amplitude, frequency=1.0)
    power = of_floor(result, "wear_power")
    assert power[1001:].mean() == pytest.approx(exact.mean_work_rate(1.0, 3.0), rel=1e-9)
    assert np.abs(of_box(result, "angle")).max() < 1e-14


def test_rests_for_ten_seconds():
    """On a slope, stuck on both corners: no creep."""
    slope = np.radians(20.0)
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(np.sin(slope), np.cos(slope)))
    result = run(box(0.2, 0.3, angle=-slope), 10.0, 5e-3, obstacle=plane, friction=0.4)
    assert not events(result).size
    assert np.abs(of_box(result, "displacement")).max() < 1e-14


def test_lands_on_one_corner_then_both():
    """Free fall of a tilted box without friction: the impulse at the corner is −v_n / (1/m + a²/J); then it settles."""
    body = box(0.6, 0.2, corner=(0.0, 0.3), angle=0.2)
    result = run(body, 1.0, 1e-3, friction=0.0)
    mass, _, inertia = body.inertias
    first = np.sqrt(2 * 0.3 / G)
    assert events(result)[0] == pytest.approx(first, rel=1e-13)
    arm = body.positions[0, 0] - body.positions[1, 0]  # of the weight about the corner
    push = G * first / (1 / mass + arm**2 / inertia)
    last = int(first / 1e-3)
    assert energy(result, "impact")[last + 1] == pytest.approx(0.5 * push * G * first, rel=1e-12)
    rates = of_box(result, "angular_velocity")
    # gravity goes on to the end of the step
    assert rates[last] == 0.0
    assert rates[last + 1] == pytest.approx(-push * arm / inertia, rel=0.01)
    assert of_box(result, "angle")[-1] == pytest.approx(-0.2, abs=1e-14)
    np.testing.assert_allclose(of_box(result, "displacement")[-1, 1:3, 1], -body.outline[:2, 1], atol=1e-14)
    assert energy(result, "impact")[-1] == pytest.approx(mass * G * (body.positions[0, 1] - 0.1), rel=1e-9)


def test_lands_flat_and_slides():
    """Thrown at 1 m/s from 0.3 m: the impact's friction μ P takes μ √(2gh), sliding the rest."""
    friction, height = 0.2, 0.3
    result = run(box(0.6, 0.1, corner=(0.0, height)), 1.0, 1e-2, friction=friction, velocity={"box": (1.0, 0.0)})
    fall = np.sqrt(2 * height / G)
    slower = 1.0 - friction * G * fall
    stop = fall + slower / (friction * G)
    np.testing.assert_allclose(events(result), [fall, stop], rtol=1e-12)
    moved = fall + slower**2 / (2 * friction * G)
    np.testing.assert_allclose(of_box(result, "displacement")[-1, 0], (moved, -height), rtol=1e-12)
    assert np.abs(of_box(result, "angle")).max() < 1e-14
    assert energy(result, "friction")[-1] == pytest.approx(0.5 * 60.0, rel=1e-12)


def test_flight_with_spin():
    spin, body = 12.0, box(0.3, 0.7, corner=(0.0, 50.0))

    def start(x):
        arm = x - body.positions[0]
        return np.stack([1.0 - spin * arm[:, 1], 2.0 + spin * arm[:, 0]], axis=1)

    result = run(body, 1.0, 1e-2, velocity={"box": start})
    t = result["time"].values
    np.testing.assert_allclose(of_box(result, "angle"), spin * t, rtol=1e-13)
    centre = np.stack([t, 2.0 * t - G * t**2 / 2], axis=1)
    np.testing.assert_allclose(of_box(result, "displacement")[:, 0], centre, atol=1e-12)
    assert not events(result).size


def test_masses_and_springs_beside():
    """A body on a spring swings at √(k/m), a mass falls on its own: order 4 of the one, the instant of the other."""
    body = box(0.2, 0.2, corner=(0.0, 5.0))
    ball = aq.PointMasses("ball", (3.0, 0.37), 2.0)
    whole = aq.Spring("spring", body.boundary("outline"), stiffness=(4000.0, 0.0))
    errors = []
    for step in (1e-2, 5e-3):
        contacts = [
            aq.Interface("floor", body.boundary("base"), FLOOR, aq.Unilateral(), friction=aq.Coulomb(0.3)),
            aq.Interface("ball", ball.boundary("all"), FLOOR, aq.Unilateral(), friction=aq.Coulomb(0.3)),
        ]
        system = aq.System(
            [body, ball], interfaces=contacts, springs=[whole], gravity=(0.0, -G), displacement={"box": (0.1, 0.0)}
        )
        result = aq.simulate(system, LOCATE, duration=0.5, step=step)
        exact = 0.1 * np.cos(10.0 * result["time"].values)
        errors.append(np.abs(of_box(result, "displacement")[:, 0, 0] - exact).max())
        np.testing.assert_allclose(events(result), [np.sqrt(2 * 0.37 / G)], rtol=1e-12)
        assert np.abs(result["balance"]).max() < 1e-12
        force = result["interface/ball"].dataset["force"].values[-1]
        np.testing.assert_allclose(force, (0.0, 2.0 * G), rtol=1e-10, atol=1e-12)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)


def test_blocks_of_steps_change_nothing():
    """One step at a time, or all at once: the modes of the contact go on."""
    body = box(0.6, 0.2, corner=(0.0, 0.1), angle=0.2)
    contact = aq.Interface("floor", body.boundary("base"), FLOOR, aq.Unilateral(), friction=aq.Coulomb(0.1))
    system = aq.System([body], interfaces=[contact], gravity=(0.0, -G), velocity={"box": (1.0, 0.0)})
    assembly = assemble(system)
    stepper = LOCATE.prepare(assembly, 1e-2)
    first = stepper.start(*start_fields(assembly, 1e-2))
    whole, _ = stepper.advance(first, 60)
    single = first
    for _ in range(60):
        single, _ = stepper.advance(single)
    assert whole.n == single.n == 60
    np.testing.assert_array_equal(whole.u, single.u)
    np.testing.assert_array_equal(whole.v, single.v)


def test_refusals():
    body = box(0.2, 0.2, corner=(0.0, 1.0))
    other = aq.RigidBody("other", [(2, 0), (3, 0), (3, 1), (2, 1)], mass=1.0)
    steel = aq.LinearElastic(young=2e11, density=7800.0)
    bar = aq.Solid("bed", aq.mesh.rectangle((0.0, 1.0), (-1.0, 0.0), cells=(1, 1)), steel, plane="strain")

    def on(master, law=None):
        return aq.Interface("contact", body.boundary("base"), master, law or aq.Unilateral(), multiplier="nodes")

    stiff = aq.Spring("spring", body.boundary("outline"), stiffness=1e6)
    for system, message in (
        (aq.System([body, bar]), "part 'bed' deforms"),
        (aq.System([body, other], interfaces=[on(other.boundary("outline"))]), "has a part as master"),
        (aq.System([body], interfaces=[on(aq.RigidSphere((0.0, -1.0), 0.5))]), "is curved"),
        (aq.System([body], interfaces=[on(FLOOR, aq.Penalty(1e5))]), "takes Unilateral"),
        # ω² = k Σ a²/4 / J = 1e6 · 0.02 / 0.2667 of the turning
        (aq.System([body], springs=[stiff]), r"step = 0\.1: must be at most 0\.00365 s"),
    ):
        with pytest.raises(aq.UserError, match=message):
            aq.simulate(system, LOCATE, duration=1.0, step=0.1)
