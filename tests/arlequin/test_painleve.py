"""A rod that leans on a rough floor in Painlevé's range: no force keeps its sliding tip up, a shock stops it."""

import numpy as np
import pytest

import arlequin as aq

MASS, LENGTH, G = 2.0, 1.0, 9.81
INERTIA = MASS * LENGTH**2 / 12.0


def rod(angle, friction, velocity, spin=0.0):
    """A slender rod, its tip at the origin, at an angle to the floor; its tip slides at the velocity."""
    arm = 0.5 * LENGTH * np.array([np.cos(angle), np.sin(angle)])
    across = 0.01 * LENGTH * np.array([-np.sin(angle), np.cos(angle)])
    body = aq.RigidBody(
        "rod", [(0.0, 0.0), tuple(2.0 * arm - across), tuple(2.0 * arm + across)], mass=MASS, inertia=INERTIA,
        centre=tuple(arm), names={"tip": [0]},
    )  # fmt: skip
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("floor", body.boundary("tip"), floor, aq.Unilateral(), friction=aq.Coulomb(friction))

    def field(x):
        return np.stack([velocity - spin * x[:, 1], spin * x[:, 0]], axis=1)

    return aq.System([body], interfaces=[contact], gravity=(0.0, -G), velocity=field), arm


def compliance(arm):
    """W (2, 2) of the tip, normal and tangent: its velocity by an impulse, 1/kg."""
    x, y = -arm
    return np.array([(1.0 / MASS + x**2 / INERTIA, -x * y / INERTIA), (-x * y / INERTIA, 1.0 / MASS + y**2 / INERTIA)])


@pytest.mark.parametrize("friction", [1.5, 3.0])
@pytest.mark.parametrize("angle", [0.9, 1.1])
def test_the_shock_stops_the_tip(angle, friction):
    """p = −W⁻¹ (0, v) inside the cone of friction, which takes ½ p_t v; it begins without approach."""
    velocity, step = -1.0, 1e-7
    system, arm = rod(angle, friction, velocity)
    w = compliance(arm)
    assert w[0, 0] + friction * w[0, 1] < 0.0 or w[0, 0] - friction * w[0, 1] < 0.0
    push, pull = -np.linalg.solve(w, [0.0, velocity])
    assert push > 0.0 and abs(pull) < friction * push
    result = aq.simulate(system, aq.Theta(0.5, events="locate"), duration=step, step=step)
    spin = (-arm[0] * push + arm[1] * pull) / INERTIA
    assert result["part/rod"].dataset["angular_velocity"].values[-1] == pytest.approx(spin, abs=1e-5)
    taken = result["energy"].sel(kind=["friction", "impact"]).values[-1].sum()
    assert taken == pytest.approx(-0.5 * pull * velocity, rel=1e-5)
    assert result["interface/floor"].dataset["status"].values[-1, 0] == 2.0  # sticks
    impulse = result["interface/floor"].dataset["impulse"].values[-1]
    assert impulse == pytest.approx(push, rel=1e-5)


@pytest.mark.parametrize(("angle", "friction"), [(0.9, 1.5), (1.2, 3.0), (1.4, 3.0)])
def test_the_step_scheme_tends_to_it(angle, friction):
    system, _ = rod(angle, friction, -1.0)
    located = aq.simulate(system, aq.Theta(0.5, events="locate"), duration=0.2, step=1e-3)
    assert np.abs(located["balance"]).max() < 1e-12
    end = located["part/rod"].dataset["angle"].values[-1]
    errors = []
    for step in (1e-3, 5e-4):
        stepped = aq.simulate(system, aq.Theta(1.0), duration=0.2, step=step)
        errors.append(abs(stepped["part/rod"].dataset["angle"].values[-1] - end))
    assert errors[0] < 5e-3 and errors[1] < 0.6 * errors[0]


@pytest.mark.slow
def test_it_goes_on_from_any_start():
    random = np.random.default_rng(1)
    for _ in range(40):
        angle, friction = random.uniform(0.3, 2.8), random.uniform(0.5, 3.0)
        system, _ = rod(angle, friction, random.uniform(-2.0, 2.0), random.uniform(-2.0, 2.0))
        result = aq.simulate(system, aq.Theta(0.5, events="locate"), duration=0.15, step=1e-3)
        energy = result["energy"]
        assert np.abs(result["balance"]).max() < 1e-12
        assert np.diff(energy.sel(kind="friction")).min() > -1e-12 and np.diff(energy.sel(kind="impact")).min() > -1e-12
