"""Events of contact and friction located inside the step, against event-driven and closed forms."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases.reference.shaken_slider import ShakenSlider
from arlequin.cases.reference.slider import ReleasedSlider

LOCATE = aq.Theta(0.5, events="locate")
FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))


def on_floor(friction=0.1, name="slider", **more):
    one = aq.PointMasses(name, (0.0, 0.0), 1.0, **more)
    rough = aq.Coulomb(friction) if friction else None
    return one, aq.Interface("floor", one.boundary("all"), FLOOR, aq.Unilateral(), friction=rough)


def events(result):
    found = result["event_time"].values
    return found[np.isfinite(found)]


@pytest.mark.parametrize("release", [8.5e-4, -1.234e-3, 2.9e-4, 0.9e-4])
@pytest.mark.parametrize("step", [1e-3, 3.3e-4])
def test_slider_turns_where_the_recurrence_says(release, step):
    one, contact = on_floor()
    spring = aq.Spring("spring", one.boundary("all"), stiffness=(1e4, 0.0))
    system = aq.System([one], springs=[spring], interfaces=[contact], gravity=(0.0, -10.0), displacement=(release, 0.0))
    result = aq.simulate(system, LOCATE, duration=0.2, step=step)
    exact = ReleasedSlider(stiffness=1e4, mass=1.0, gravity=10.0, friction=0.1, release=release)
    moved = result["part/slider"].dataset["displacement"].values[:, 0]
    np.testing.assert_allclose(moved[-1], (exact.rest_position, 0.0), atol=1e-12)
    # the stages lag by a phase of order 4, over four half swings at most
    lag = 0.07 * (100 * step) ** 4 * 4 * np.pi
    assert np.abs(moved[:, 0] - exact.position(result["time"].values)).max() <= lag * abs(release) + 1e-15
    turns = np.arange(1, exact.half_swings + 1) * np.pi / 100
    np.testing.assert_allclose(events(result), turns, rtol=1e-5)
    lost = result["energy"].sel(kind="friction").values
    assert lost[-1] == pytest.approx(exact.dissipated(1.0), rel=1e-9, abs=1e-18)
    assert (np.diff(lost) >= 0.0).all() and np.abs(result["balance"]).max() < 1e-12


@pytest.mark.parametrize("amplitude", [15.0, 1.5, 1.01, 0.99])
def test_shaken_slider(amplitude):
    one, contact = on_floor()
    omega = 2 * np.pi
    system = aq.System(
        [one], interfaces=[contact], gravity=lambda t: (-amplitude * np.sin(omega * t), -10.0)
    )  # fmt: skip
    result = aq.simulate(system, LOCATE, duration=3.0, step=5e-4)
    exact = ShakenSlider(mass=1.0, gravity=10.0, friction=0.1, acceleration=amplitude, frequency=1.0)
    power = result["interface/floor"].dataset["wear_power"].values
    assert power[2001:].mean() == pytest.approx(exact.mean_work_rate(1.0, 3.0), rel=1e-9, abs=1e-15)
    if amplitude < 1.0:
        assert not power.any()


def test_balls_fall_and_stay():
    """Two masses of different heights: impact at √(2h/g), no rebound, exactly at rest on the floor."""
    heights, g = np.array([0.1, 0.37]), 9.81
    two = aq.PointMasses("balls", np.stack([[0.0, 1.0], heights], axis=1), (1.0, 2.0))
    contact = aq.Interface("floor", two.boundary("all"), FLOOR, aq.Unilateral())
    result = aq.simulate(aq.System([two], interfaces=[contact], gravity=(0.0, -g)), LOCATE, duration=0.5, step=1e-2)
    np.testing.assert_allclose(events(result), np.sqrt(2 * heights / g), rtol=1e-13)
    np.testing.assert_allclose(result["part/balls"].dataset["displacement"].values[-1, :, 1], -heights, atol=1e-15)
    lost = result["energy"].sel(kind="impact").values[-1]
    assert lost == pytest.approx(g * (heights * (1.0, 2.0)).sum(), rel=1e-12)
    assert result["interface/floor"].dataset["gap_min"].values.min() > -1e-15
    assert np.abs(result["balance"]).max() < 1e-13


def test_takes_off_when_the_load_lifts():
    """Gravity g₀ cos ωt: the force falls to zero at a quarter of a period; the flight is then known."""
    one, contact = on_floor(friction=0.0)
    system = aq.System([one], interfaces=[contact], gravity=lambda t: (0.0, -10.0 * np.cos(7.0 * t)))
    result = aq.simulate(system, LOCATE, duration=0.4, step=3e-3)
    start = np.pi / 14
    assert events(result)[0] == pytest.approx(start, rel=1e-7)
    late = result["time"].values
    late = np.maximum(late - start, 0.0)
    exact = 10.0 / 7.0 * (late - np.sin(7.0 * late) / 7.0)
    np.testing.assert_allclose(result["part/slider"].dataset["displacement"].values[:, 0, 1], exact, atol=1e-9)


@pytest.mark.parametrize("damping", [0.0, 1.5])
def test_order_four_between_events(damping):
    """Two masses, one dashpot (damping that is not modal), against the exponential of the system's matrix."""
    from scipy.linalg import expm

    two = aq.PointMasses("m", ((0.0,), (1.0,)), (1.0, 2.0), names={"a": 0, "b": 1})
    springs = [
        aq.Spring("first", two.boundary("a"), stiffness=50.0, damping=damping),
        aq.Spring("second", two.boundary("a"), two.boundary("b"), stiffness=30.0),
    ]
    system = aq.System([two], springs=springs, displacement={"m": np.array([[0.1], [-0.05]])})
    inverse = np.diag([1.0, 0.5])
    stiff, drag = np.array([[80.0, -30.0], [-30.0, 30.0]]), np.diag([damping, 0.0])
    matrix = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ stiff, -inverse @ drag]])
    exact = (expm(2.0 * matrix) @ [0.1, -0.05, 0.0, 0.0])[:2]
    errors = []
    for step in (2e-2, 1e-2):
        result = aq.simulate(system, LOCATE, duration=2.0, step=step)
        errors.append(np.abs(result["part/m"].dataset["displacement"].values[-1, :, 0] - exact).max())
        assert np.abs(result["balance"]).max() < 1e-13
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)


def test_a_bar_does_not_pass_the_wall():
    """The velocity law lets a bar in by V Δt at its impact; located, not at all, and nothing is lost but the node's."""
    steel = aq.LinearElastic(young=2e11, density=7800.0)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=40), steel, mass="lumped")
    wall = aq.RigidPlane(point=0.100013, normal=-1.0)
    contact = aq.Interface("wall", bar.boundary("right"), wall, aq.Unilateral())
    system = aq.System([bar], interfaces=[contact], velocity=10.0)
    step = 4e-7
    result = aq.simulate(system, LOCATE, duration=6e-5, step=step)
    gap = result["interface/wall"].dataset["gap_min"].values
    assert gap.min() > -1e-15
    plain = aq.simulate(system, aq.Theta(0.5), duration=6e-5, step=step)
    assert plain["interface/wall"].dataset["gap_min"].values.min() < -0.1 * 10.0 * step
    assert events(result)[0] == pytest.approx(1.3e-5 / 10.0, rel=1e-12)
    node = 0.5 * (7800.0 * 0.1 / 40 / 2) * 10.0**2
    assert result["energy"].sel(kind="impact").values[4] == pytest.approx(node, rel=1e-12)
    force = result["interface/wall"].dataset["force"].values[:, 0]
    impulse = -force.sum() * step
    assert impulse == pytest.approx(2 * 7800.0 * 0.1 * 10.0, rel=0.02)
    assert np.abs(result["balance"]).max() < 1e-12


def test_a_stuck_slider_does_not_creep():
    """Just below the threshold it stays, exactly."""
    one, contact = on_floor()
    system = aq.System([one], interfaces=[contact], gravity=lambda t: (0.999999, -10.0))
    result = aq.simulate(system, LOCATE, duration=100.0, step=0.1)
    assert not result["part/slider"].dataset["displacement"].values.any()


@pytest.mark.parametrize("pull", [2.9, 3.3])
def test_masses_that_stick_together(pull):
    """Two tied masses hold each other: together they stand up to μ (m₁ + m₂) g = 3 N, then slide as one."""
    two = aq.PointMasses(
        "two", ((0.0, 0.0), (1.0, 0.0)), (1.0, 2.0), names={"a": 0, "b": 1}, forces={"a": lambda t: (pull * t, 0.0)}
    )
    tie = aq.Relation("tie", [(two.boundary("a"), "x", 1.0), (two.boundary("b"), "x", -1.0)])
    contact = aq.Interface("floor", two.boundary("all"), FLOOR, aq.Unilateral(), friction=aq.Coulomb(0.1))
    system = aq.System([two], relations=[tie], interfaces=[contact], gravity=(0.0, -10.0))
    result = aq.simulate(system, LOCATE, duration=1.0, step=1e-2)
    late = max(1.0 - 3.0 / pull, 0.0)
    np.testing.assert_allclose(events(result), [1.0 - late] if late else [], rtol=1e-9)
    moved = result["part/two"].dataset["displacement"].values[-1, :, 0]
    np.testing.assert_allclose(moved, pull * late**3 / 6 / 3.0, rtol=1e-8, atol=1e-14)


def test_refusals():
    one, _ = on_floor()
    steel = aq.LinearElastic(young=2e11, density=7800.0)
    solid = aq.Solid("s", aq.mesh.rectangle((0, 1), (0, 1), cells=(2, 2)), steel, plane="strain")
    space = aq.PointMasses("m", (0.0, 0.0, 0.0), 1.0)
    ground = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
    friction_loss = aq.Interface("i", space.boundary("all"), ground, aq.Unilateral(), friction=aq.Coulomb(0.1))
    soft = aq.Interface("i", one.boundary("all"), FLOOR, aq.Penalty(1e5))
    driven = aq.PointMasses("d", 0.0, 1.0, imposed={"all": {"x": lambda t: 0.1 * t}})
    for system, message in (
        (aq.System([solid]), "is for up to 200 degrees of freedom"),
        (aq.System([space], interfaces=[friction_loss]), "friction in space"),
        (aq.System([one], interfaces=[soft]), "takes Unilateral"),
        (aq.System([driven]), "imposed motions must be zero"),
    ):
        with pytest.raises(aq.UserError, match=message):
            aq.simulate(system, LOCATE, duration=1.0, step=0.1)
    with pytest.raises(aq.UserError, match=r"theta = 0\.6"):
        aq.Theta(0.6, events="locate")
    with pytest.raises(aq.UserError, match="events = 'find'"):
        aq.Theta(0.5, events="find")
