"""Shock elements: bounces, restitution and elastic stick in closed form, energies."""

import math
from typing import Any

import numpy as np
import pytest

import arlequin as aq

MASS, STIFF, SPEED = 2.0, 3e4, 1.5
IMPLICIT = [aq.Theta(0.5), aq.Newmark(), aq.Midpoint()]


def ball(damping: float = 0.0) -> Any:
    """A mass that hits a shock element at t = 0."""
    one = aq.PointMasses("ball", 0.0, MASS)
    law = aq.ImpactElement(STIFF, damping)
    wall = aq.Interface("wall", one.boundary("all"), aq.RigidPlane(point=0.0, normal=1.0), law)
    return aq.System([one], interfaces=[wall], velocity=-SPEED)


def clipped_restitution(zeta: float) -> float:
    """Of m ẍ + c ẋ + k x = 0 up to where c ẋ + k x = 0: exp(−ζ ω₀ t), √(1 − ζ²) ω₀ t = π − 2 asin ζ.

    Source: T. Schwager and T. Pöschel, Granular Matter 9 (2007) 465–469, where the angle
    has two forms, for ζ below and above 1/√2.
    """
    root = math.sqrt(1.0 - zeta**2)
    angle = math.pi - math.atan2(2.0 * zeta * root, 1.0 - 2.0 * zeta**2)
    return math.exp(-zeta / root * angle)


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", IMPLICIT, ids=str)
def test_bounce_is_half_a_sine(scheme: Any) -> None:
    """x = −(v₀/ω) sin ωt for half a turn, then flight at v₀; nothing is lost."""
    omega = math.sqrt(STIFF / MASS)
    step = math.pi / omega / 500
    result = aq.simulate(ball(), scheme, duration=1.2 * math.pi / omega, step=step)
    t, x = result["time"].values, result["part/ball/displacement"].values[:, 0, 0]
    expected = np.where(omega * t < math.pi, -SPEED / omega * np.sin(omega * t), SPEED * (t - math.pi / omega))
    assert np.abs(x - expected).max() <= 2e-5 * SPEED / omega
    assert result["part/ball/velocity"].values[-1, 0, 0] == pytest.approx(SPEED, rel=1e-12)
    assert np.abs(result["balance"].values).max() <= 1e-12
    assert np.abs(result["energy"].sel(kind="scheme").values).max() <= 1e-12


@pytest.mark.parametrize("zeta", [0.05, 0.3, 0.7, 0.9])
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark()], ids=str)
def test_restitution_of_a_clipped_dashpot(zeta: float, scheme: Any) -> None:
    omega = math.sqrt(STIFF / MASS)
    system = ball(2.0 * zeta * MASS * omega)
    result = aq.simulate(system, scheme, duration=4.0 / omega, step=4e-3 / omega)
    v = result["part/ball/velocity"].values[-1, 0, 0]
    assert v / SPEED == pytest.approx(clipped_restitution(zeta), rel=2e-3)
    assert (result["interface/wall/force"].values >= 0.0).all()
    energy = result["energy"]
    loss = energy.sel(kind="asperity_damping").values
    assert (np.diff(loss) >= 0.0).all()
    assert loss[-1] == pytest.approx(0.5 * MASS * (SPEED**2 - v**2), rel=1e-9)


def held(speed: float = 1e-3, friction: float = 0.5, axes: int = 2, stiffness: float = 4e5, **system: Any) -> Any:
    """A mass at rest on its element, pushed along the first axis."""
    one = aq.PointMasses("slider", (0.0,) * axes, 1.0, forces=system.pop("forces", {}))
    up = (*(0.0,) * (axes - 1), 1.0)
    floor = aq.RigidPlane(point=(0.0,) * axes, normal=up)
    touch = aq.Interface(
        "floor", one.boundary("all"), floor, aq.ImpactElement(20.0), friction=aq.Coulomb(friction, stiffness=stiffness)
    )
    sunk = (*(0.0,) * (axes - 1), -0.5)
    start = (speed, *(0.0,) * (axes - 1))
    given: Any = {"gravity": (*(0.0,) * (axes - 1), -10.0), "displacement": sunk, "velocity": start, **system}
    return aq.System([one], interfaces=[touch], **given)


@pytest.mark.parametrize("scheme", IMPLICIT, ids=str)
def test_elastic_stick_oscillates(scheme: Any) -> None:
    """At √(K_T/m) with the amplitude v₀/ω, five turns, without loss; the traction is that of the spring."""
    omega, turns = math.sqrt(4e5), 5
    step = 2 * math.pi / omega / 200
    result = aq.simulate(held(), scheme, duration=turns * 2 * math.pi / omega, step=step)
    t, x = result["time"].values, result["part/slider/displacement"].values[:, 0, 0]
    # tan(ω'Δt/2) = ωΔt/2
    slower = 2.0 / step * math.atan(0.5 * omega * step)
    np.testing.assert_allclose(x, 1e-3 / omega * np.sin(slower * t), atol=1e-10 * 1e-3 / omega + 1e-15)
    energy = result["energy"]
    assert np.abs(result["balance"].values).max() <= 1e-14
    assert energy.sel(kind="friction").values[-1] <= 1e-12 * 5e-7
    spring = energy.sel(kind="asperity").values - energy.sel(kind="asperity").values[0]
    np.testing.assert_allclose(spring, 0.5 * 4e5 * x**2, atol=1e-14)
    assert (result["interface/floor/status"].values[1:] == 2.0).all()


@pytest.mark.kernels
def test_theta_above_half_damps_elastic_stick() -> None:
    """Its loss is the scheme's, not friction's."""
    result = aq.simulate(held(), aq.Theta(0.6), duration=0.05, step=1e-4)
    energy = result["energy"]
    assert energy.sel(kind="scheme").values[-1] > 1e-8
    assert (np.diff(energy.sel(kind="scheme").values) >= -1e-20).all()
    assert energy.sel(kind="friction").values[-1] <= 1e-18
    assert np.abs(result["balance"].values).max() <= 1e-14


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("theta", "axes"),
    [
        pytest.param(theta, axes, marks=() if i % 2 == j else pytest.mark.slow)
        for i, theta in enumerate((0.5, 0.7, 1.0))
        for j, axes in enumerate((2, 3))
    ],
)
def test_thresholds_and_losses(theta: float, axes: int) -> None:
    """Pushed to and fro beyond μN: traction in the disk, losses that never fall, the balance closed."""

    def push(t: float) -> Any:
        return (8.0 * math.sin(60.0 * t), *(3.0 * math.cos(47.0 * t),) * (axes - 2), 4.0 * math.sin(31.0 * t))

    system = held(0.0, axes=axes, forces={"all": push}, stiffness=4e4)
    result = aq.simulate(system, aq.Theta(theta), duration=0.25, step=2e-4)
    contact, energy = result["interface/floor"], result["energy"]
    traction, pressure = contact["traction"].values[:, 0], contact["pressure"].values[:, 0]
    assert (np.linalg.norm(traction, axis=1) <= 0.5 * pressure * (1.0 + 1e-9)).all()
    slipping = contact["status"].values[:, 0] == 1.0
    assert slipping[1:].any() and not slipping[1:].all()
    assert (np.diff(energy.sel(kind="friction").values) >= 0.0).all()
    assert np.abs(result["balance"].values).max() <= 1e-12
    if theta == 0.5:
        assert np.abs(energy.sel(kind="scheme").values).max() <= 1e-12


@pytest.mark.kernels
def test_a_stiff_spring_is_coulomb() -> None:
    """K_T → ∞ gives the law without springs."""

    def push(t: float) -> Any:
        return (8.0 * math.sin(60.0 * t), 0.0)

    paths = []
    for stiffness in (4e10, math.inf):
        system = held(0.0, forces={"all": push}, stiffness=stiffness)
        paths.append(aq.simulate(system, aq.Theta(1.0), duration=0.15, step=1e-4)["part/slider/displacement"].values)
    assert np.abs(paths[0] - paths[1]).max() <= 1e-3 * np.abs(paths[1][:, 0, 0]).max()


@pytest.mark.slow
@pytest.mark.kernels
def test_a_turned_frame_turns_the_spring() -> None:
    """Stuck on the top of a large ball that is a plane at the scale of the motion: as on the plane, for two turns."""
    one = aq.PointMasses("slider", (0.0, 0.0, 0.0), 1.0)
    runs = []
    for floor in (
        aq.RigidPlane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), aq.RigidSphere((0.0, 0.0, -1e6), 1e6)
    ):  # fmt: skip
        law = aq.Coulomb(0.9, stiffness=1e3)
        touch = aq.Interface("floor", one.boundary("all"), floor, aq.ImpactElement(1e4), friction=law)
        system = aq.System(
            [one], interfaces=[touch], gravity=(0.0, 0.0, -10.0), displacement=(0.0, 0.0, -1e-3),
            velocity=(0.05, 0.03, 0.0),
        )  # fmt: skip
        runs.append(aq.simulate(system, aq.Theta(0.5), duration=0.4, step=1e-3)["part/slider/displacement"].values)
    assert np.abs(runs[0] - runs[1]).max() <= 1e-6 * np.abs(runs[0]).max()


@pytest.mark.kernels
def test_springs_in_load_steps() -> None:
    """Statics: K_T u up to μN, then it slips; the loss never falls."""
    one = aq.PointMasses("slider", (0.0, 0.0), 1.0, forces={"all": lambda t: (0.0, -10.0 * min(t, 1.0))})
    base = aq.PointMasses("base", (0.0, 0.0), 1.0, imposed={"all": {"x": lambda t: 1e-3 * t, "y": 0.0}})
    floor = aq.RigidPlane((0.0, 0.0), (0.0, 1.0))
    law = aq.Coulomb(0.3, stiffness=4e3)
    touch = aq.Interface("floor", one.boundary("all"), floor, aq.ImpactElement(20.0), friction=law)
    drive = aq.Spring("drive", one.boundary("all"), base.boundary("all"), stiffness=(1e4, 0.0))
    system = aq.System([one, base], interfaces=[touch], springs=[drive])
    result = aq.simulate(system, aq.Static(), duration=3.0, step=0.05)
    t, x = result["time"].values, result["part/slider/displacement"].values[:, 0, 0]
    # K_T x = k (X − x) while that is below μN
    elastic = 1e4 / 1.4e4 * 1e-3 * t
    stuck = 4e3 * elastic < 0.3 * 10.0 * np.minimum(t, 1.0)
    np.testing.assert_allclose(x[stuck], elastic[stuck], rtol=1e-9)
    late = t > 1.2
    np.testing.assert_allclose(x[late], np.where(stuck, elastic, 1e-3 * t - 3e-4)[late], rtol=1e-9)
    assert (np.diff(result["energy"].sel(kind="friction").values) >= 0.0).all()
    assert np.abs(result["balance"].values).max() <= 1e-10


def test_bad_numbers() -> None:
    with pytest.raises(aq.UserError, match="friction stiffness = 0"):
        aq.Coulomb(0.1, stiffness=0.0)
    with pytest.raises(aq.UserError, match=r"friction compliance = 1\.0: must be 0 beside a stiffness"):
        aq.Coulomb(0.1, 1.0, 1e5)
    with pytest.raises(aq.UserError, match="damping = -1"):
        aq.ImpactElement(1.0, -1.0)
    with pytest.raises(aq.UserError, match="central difference takes no friction with a stiffness"):
        aq.simulate(held(), aq.CentralDifference(), duration=1.0, step=1e-4)
