"""Wear: mean powers, worn volume and depth, against closed forms and the event-driven slider."""

import math

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases.reference.shaken_slider import ShakenSlider

FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
LOCATE = aq.Theta(0.5, events="locate")


def dragged(scheme, speeds=(0.5, 0.5), masses=(2.0, 3.0), friction=0.3, duration=1.0, step=0.01):
    """Masses under g = 10 m/s² kept at constant speeds by pulls that match the friction."""
    count = len(masses)
    pulls = friction * 10.0 * np.multiply(masses, np.sign(speeds))
    points = aq.PointMasses(
        "block", np.stack([np.arange(count, dtype=float), np.zeros(count)], axis=1), masses,
        names={str(k): k for k in range(count)},
        forces={str(k): (pull, 0.0) for k, pull in enumerate(pulls.tolist())},
    )  # fmt: skip
    contact = aq.Interface("floor", points.boundary("all"), FLOOR, aq.Unilateral(), friction=aq.Coulomb(friction))
    velocity = {"block": np.stack([speeds, np.zeros(count)], axis=1)}
    system = aq.System([points], interfaces=[contact], gravity=(0.0, -10.0), velocity=velocity)
    return aq.simulate(system, scheme, duration=duration, step=step)


@pytest.mark.parametrize("scheme", [LOCATE, aq.Theta(0.5), aq.Theta(1.0), aq.Newmark()], ids=str)
def test_dragged_at_constant_speed(scheme):
    """P = Σ m g |v|; friction takes μ of it; V = k P t; the depth of each point (1 m²) from its own force and speed."""
    result = dragged(scheme, speeds=(0.5, -0.2))
    each = 10.0 * np.array([2.0 * 0.5, 3.0 * 0.2])
    for start, end in ((0.0, 1.0), (0.2, 0.7), (0.123, 0.4567)):
        assert aq.results.mean_power(result, "floor", start, end) == pytest.approx(each.sum(), rel=1e-10)
        assert aq.results.mean_power(result, "floor", start, end, "friction") == pytest.approx(
            0.3 * each.sum(), rel=1e-10
        )
    volume = aq.results.worn_volume(result, "floor", 1e-14)
    np.testing.assert_allclose(volume, 1e-14 * each.sum() * result["time"], rtol=1e-10, atol=1e-26)
    assert volume.attrs["units"] == "m^3"
    depth = aq.results.worn_depth(result, "floor", 1e-14)
    np.testing.assert_allclose(depth, 1e-14 * each * result["time"].values[:, None], rtol=1e-10, atol=1e-26)
    # the friction power of the interface is what the audit of the run says
    power = result["interface/floor/friction_power"].values[1:]
    np.testing.assert_allclose(0.01 * np.cumsum(power), result["energy"].sel(kind="friction").values[1:], rtol=1e-12)


@pytest.mark.parametrize("acceleration", [15.0, 1.5, 1.01])
def test_ends_between_two_steps(acceleration):
    """Ends anywhere in a step, also around an event: the work between them is that of the event-driven motion."""
    exact = ShakenSlider(acceleration)
    one = aq.PointMasses("slider", (0.0, 0.0), 1.0)
    contact = aq.Interface("floor", one.boundary("all"), FLOOR, aq.Unilateral(), friction=aq.Coulomb(0.1))
    omega = 2 * math.pi
    system = aq.System(
        [one], interfaces=[contact], gravity=lambda t: (-acceleration * math.sin(omega * t), -10.0)
    )  # fmt: skip
    step = 2e-3
    result = aq.simulate(system, LOCATE, duration=3.0, step=step)
    starts = [event.time + shift for event in exact.events(2.9)[:6] for shift in (-0.3 * step, 0.0, 0.4 * step)]
    # the remainder of a cubic taken one step further than its nodes is Δt⁴ max |d⁴W/dt⁴| = Δt⁴ m g a₀ ω², at two ends
    remainder = 2.0 * step**4 * 10.0 * acceleration * omega**2
    for start in [*starts, 0.1, 1.23456]:
        for end in (start + 0.2 * step, start + 0.02, 2.98765):
            found = (end - start) * aq.results.mean_power(result, "floor", start, end)
            assert found == pytest.approx(float(exact.work(end) - exact.work(start)), abs=remainder)


def test_without_located_events_the_power_is_constant_in_a_step():
    result = dragged(aq.Theta(1.0), speeds=(1.0,), masses=(1.0,), friction=0.0, step=0.1)
    result["interface/floor/wear_power"].values[:] = np.arange(11)
    assert aq.results.mean_power(result, "floor", 0.25, 0.5) == pytest.approx(
        (0.05 * 3 + 0.1 * 4 + 0.1 * 5) / 0.25, rel=1e-12
    )


def test_bad_input_is_named():
    result = dragged(LOCATE, step=0.1)
    smooth = aq.PointMasses("ball", (0.0, 0.0), 1.0)
    bare = aq.simulate(
        aq.System([smooth], interfaces=[aq.Interface("floor", smooth.boundary("all"), FLOOR, aq.Unilateral())]),
        LOCATE, duration=0.1, step=0.1,
    )  # fmt: skip
    for match, call in (
        ("interface = 'ceiling'", lambda: aq.results.mean_power(result, "ceiling", 0.0, 1.0)),
        ("power = 'heat'", lambda: aq.results.mean_power(result, "floor", 0.0, 1.0, "heat")),
        ("end = 1.5: must lie in the run, 0 to 1 s", lambda: aq.results.mean_power(result, "floor", 0.0, 1.5)),
        ("end = 0.5: must be after the start", lambda: aq.results.mean_power(result, "floor", 0.5, 0.5)),
        ("coefficient = -1", lambda: aq.results.worn_volume(result, "floor", -1.0)),
        ("has no friction", lambda: aq.results.worn_depth(bare, "floor", 1.0)),
    ):
        with pytest.raises(aq.UserError, match=match):
            call()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "scheme",
    [aq.Theta(0.5), aq.Theta(1.0), aq.HHT(), aq.SymplecticEuler(), aq.DeVogelaere(), aq.RungeKutta()],
    ids=str,
)
def test_friction_power_of_springs_is_their_loss(scheme):
    """Elastic stick does work to and fro and takes nothing; slips take what the audit says, at each step."""
    for amplitude, slips in ((1.0, False), (8.0, True)):
        one = aq.PointMasses("m", (0.0, 0.0), 1.0, forces={"all": lambda t, a=amplitude: (a * math.sin(60.0 * t), 0.0)})
        law = aq.Coulomb(0.5, stiffness=4e4)
        touch = aq.Interface("floor", one.boundary("all"), FLOOR, aq.ImpactElement(20.0), friction=law)
        system = aq.System([one], interfaces=[touch], gravity=(0.0, -10.0), displacement=(0.0, -0.5))
        result = aq.simulate(system, scheme, duration=0.2, step=5e-4)
        taken = result["energy"].sel(kind="friction").values
        power = result["interface/floor/friction_power"].values[1:]
        np.testing.assert_allclose(5e-4 * np.cumsum(power), taken[1:], rtol=1e-9, atol=1e-16)
        assert aq.results.mean_power(result, "floor", 0.0, 0.2, "friction") == pytest.approx(taken[-1] / 0.2, abs=1e-14)
        assert aq.results.mean_power(result, "floor", 0.0, 0.2) > 0.0
        assert taken[-1] > 1e-3 if slips else taken[-1] <= 1e-16
