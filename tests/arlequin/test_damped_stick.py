"""Elastic stick beside a dashpot: every scheme against closed forms and small steps of another code."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq
from arlequin.cases.reference.damped_shock import DampedElement

THETA, EULER, VOGELAERE, ADAPTIVE = aq.Theta(0.5), aq.SymplecticEuler(), aq.DeVogelaere(), aq.RungeKutta()
SCHEMES = [THETA, aq.Theta(0.7), aq.Theta(1.0), aq.Newmark(), aq.HHT(), EULER, VOGELAERE, ADAPTIVE]
RELEASE, NORMAL, STIFF, MU = 8.5e-4, 20.0, 4e5, 0.1
CRITICAL = 2.0 * math.sqrt(4.1e5)


def slider(
    axes: int = 2, stiffness: float = STIFF, damping: float = CRITICAL, friction: float = MU, **more: Any
) -> Any:
    """1 kg on a shock element that carries its weight."""
    up = np.eye(axes)[-1]
    one = aq.PointMasses("slider", np.zeros(axes), 1.0, forces=more.pop("forces", {}))
    law = aq.Coulomb(friction, stiffness=stiffness, damping=damping)
    floor = aq.RigidPlane(np.zeros(axes), up)
    touch = aq.Interface("floor", one.boundary("all"), floor, aq.ImpactElement(more.pop("normal", NORMAL)), law)
    weak = more.pop("weak", 1e4)
    springs = [aq.Spring("spring", one.boundary("all"), stiffness=tuple(weak * (1.0 - up)))] if weak else []
    given = {"displacement": tuple(np.append([RELEASE] + [0.0] * (axes - 2), -0.5)), "gravity": tuple(-10.0 * up)}
    return aq.System([one], springs=springs, interfaces=[touch], **{**given, **more})


def sound(result: Any) -> None:
    """The balance closes, friction never gives, its power is its loss, and the traction keeps to its disk."""
    energy, contact = result["energy"], result["interface/floor"]
    lost = energy.sel(kind="friction").values
    assert np.abs(result["balance"].values).max() <= 1e-13
    assert (np.diff(lost) >= 0.0).all()
    power = contact["friction_power"].values[1:] * np.diff(result["time"].values)
    np.testing.assert_allclose(np.cumsum(power), lost[1:], rtol=1e-9, atol=1e-15)


ORDERS: list[tuple[Any, float, float, float]] = [
    (THETA, 2e-5, 3e-3, 5e-6),
    (aq.HHT(), 1e-4, 4e-3, 3e-4),
    (aq.Theta(1.0), 2e-5, 0.2, 8e-3),
    (EULER, 2e-5, 4e-2, 1.6e-3),
    (VOGELAERE, 2e-5, 1e-3, 5e-6),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("scheme", "step", "coarse", "fine", "damping"),
    [
        pytest.param(*one, share * CRITICAL, id=f"{one[0]}-{share}", marks=() if i % 2 == j else pytest.mark.slow)
        for i, one in enumerate(ORDERS)
        for j, share in enumerate((1.0, 0.1))
    ],
)
def test_converges_to_the_closed_form(scheme: Any, step: float, coarse: float, fine: float, damping: float) -> None:
    """Over four slips, stick and their changes, at Δt = 5e-4 and a 25th of it: order 2 divides by 625, 1 by 25."""
    exact = DampedElement(1.0, 1e4, STIFF, damping, 1.0).motion(RELEASE, 0.17)
    for size, error in ((5e-4, coarse), (step, fine)):
        result = aq.simulate(slider(damping=damping), scheme, duration=0.16, step=size)
        sound(result)
        t, x = result["time"].values, result["part/slider/displacement"].values[:, 0, 0]
        assert np.abs(x - exact.state(t)[0]).max() <= error * RELEASE
        lost = result["energy"].sel(kind="friction").values[-1]
        # of order RELEASE is the way
        assert lost == pytest.approx(exact.travel(0.0, t[-1])[1], rel=2.0 * error)


def test_adaptive_steps_meet_the_closed_form() -> None:
    exact = DampedElement(1.0, 1e4, STIFF, CRITICAL, 1.0).motion(RELEASE, 0.17)
    result = aq.simulate(slider(), ADAPTIVE, duration=0.16, step=1e-3)
    sound(result)
    t, x = result["time"].values, result["part/slider/displacement"].values[:, 0, 0]
    assert np.abs(x - exact.state(t)[0]).max() <= 1e-8 * RELEASE
    assert exact.travel(0.0, t[-1])[1] == pytest.approx(result["energy"].sel(kind="friction").values[-1], rel=1e-7)
    spring = result["energy"].sel(kind="asperity").values
    np.testing.assert_allclose(spring - spring[0], 0.5 * STIFF * exact.state(t)[2] ** 2, atol=1e-6 * spring.max())


def push(t: float, axes: int) -> Any:
    """To and fro beyond the threshold, while what presses changes."""
    return (8.0 * math.sin(60.0 * t), *(3.0 * math.cos(47.0 * t),) * (axes - 2), 4.0 * math.sin(31.0 * t))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("axes", "first"), [(2, 0), (3, 1), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((2, 1), (3, 0)))]
)
def test_a_normal_force_that_varies(axes: int, first: int) -> None:
    """Of every second scheme, against the element as an ordinary differential equation, without events."""
    stiffness, damping, friction, across = 4e4, 150.0, 0.5, axes - 1

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        u, v, e = y[:axes], y[axes : 2 * axes], y[2 * axes :]
        trial = -stiffness * e - damping * v[:-1]
        edge = -friction * NORMAL * min(u[-1], 0.0)
        pull = trial * min(1.0, edge / max(float(np.linalg.norm(trial)), 1e-300))
        force = np.array(push(t, axes))
        force[:-1] += pull
        force[-1] += -10.0 - NORMAL * u[-1]
        return np.concatenate([v, force, (-stiffness * e - pull) / damping])

    start = np.zeros(2 * axes + across)
    start[axes - 1] = -0.5
    run = solve_ivp(
        rates, (0.0, 0.25), start, method="DOP853", rtol=1e-10, atol=1e-13, max_step=1e-3, dense_output=True
    )
    limits = [5e-4, 2e-2, 4e-2, 5e-4, 1e-3, 1.5e-2, 2e-4, 1e-7]
    system = slider(
        axes, stiffness, damping, friction, weak=0.0, forces={"all": lambda t: push(t, axes)},
        displacement=(*(0.0,) * across, -0.5),
    )  # fmt: skip
    for scheme, limit in list(zip(SCHEMES, limits, strict=True))[first::2]:
        result = aq.simulate(system, scheme, duration=0.25, step=2e-4)
        sound(result)
        contact = result["interface/floor"]
        traction, pressure = contact["traction"].values[:, 0], contact["pressure"].values[:, 0]
        assert (np.linalg.norm(traction, axis=1) <= friction * pressure * (1.0 + 1e-9)).all()
        assert {1.0, 2.0} <= set(contact["status"].values[1:, 0])
        u = result["part/slider/displacement"].values[:, 0]
        apart = np.abs(u - run.sol(result["time"].values)[:axes].T).max() / np.abs(u[:, :-1]).max()
        assert apart <= limit, scheme


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_what_the_spring_holds_is_lost_where_contact_opens(scheme: Any) -> None:
    """Thrown against the floor at an angle: it bounces, slips or sticks, and leaves; in flight nothing is stored."""
    system = slider(normal=3e4, weak=0.0, displacement=(0.0, 0.0), velocity=(0.05, -1.0), gravity=(0.0, 0.0))
    result = aq.simulate(system, scheme, duration=0.04, step=1e-4)
    sound(result)
    assert result["part/slider/velocity"].values[-1, 0, 1] > 0.5
    energy = result["energy"]
    assert abs(energy.sel(kind="asperity").values[-1]) <= 1e-16
    assert energy.sel(kind="friction").values[-1] > 1e-5


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", [THETA, aq.Theta(1.0), EULER], ids=str)
def test_a_weak_dashpot_is_none(scheme: Any) -> None:
    """C_T → 0 at a given step (De Vogelaere's scheme evaluates forces once more where there is one)."""
    paths = []
    for damping in (0.0, 1e-3):
        result = aq.simulate(slider(damping=damping), scheme, duration=0.1, step=5e-4)
        paths.append(result["part/slider/displacement"].values)
    assert np.abs(paths[0] - paths[1]).max() <= 1e-4 * RELEASE


def test_statics_know_no_dashpot() -> None:
    paths = []
    for damping in (0.0, 1e6):
        base = aq.PointMasses("base", (0.0, 0.0), 1.0, imposed={"all": {"x": lambda t: 1e-3 * t, "y": 0.0}})
        one = aq.PointMasses("slider", (0.0, 0.0), 1.0, forces={"all": lambda t: (0.0, -10.0 * min(t, 1.0))})
        law = aq.Coulomb(0.3, stiffness=4e3, damping=damping)
        touch = aq.Interface(
            "floor", one.boundary("all"), aq.RigidPlane((0.0, 0.0), (0.0, 1.0)), aq.ImpactElement(20.0), law
        )
        drive = aq.Spring("drive", one.boundary("all"), base.boundary("all"), stiffness=(1e4, 0.0))
        system = aq.System([one, base], interfaces=[touch], springs=[drive])
        paths.append(aq.simulate(system, aq.Static(), duration=3.0, step=0.05)["part/slider/displacement"].values)
    np.testing.assert_array_equal(paths[0], paths[1])


def test_the_dashpot_limits_the_step() -> None:
    """ω²Δt² + 2δΔt < 4 of symplectic Euler, with ω² = (k + K_T)/m, δ = C_T/m."""
    decay, square = 3e3, 4.1e5
    limit = (math.sqrt(decay**2 + 4.0 * square) - decay) / square
    with pytest.raises(aq.UserError, match=f"below the limit of symplectic Euler, {limit:.6g} s"):
        aq.simulate(slider(damping=decay), EULER, duration=0.1, step=1.01 * limit)


def test_bad_numbers() -> None:
    with pytest.raises(aq.UserError, match="friction damping = -1"):
        aq.Coulomb(0.1, stiffness=1.0, damping=-1.0)
    with pytest.raises(aq.UserError, match=r"friction damping = 2\.0: must be 0 without a stiffness"):
        aq.Coulomb(0.1, damping=2.0)


def test_what_counts_as_wear_in_elastic_stick() -> None:
    """A mass that is moved to and fro on sticking springs: its work rate of wear is F ‖v‖, its friction power 0."""
    way = 1e-4
    mass = aq.PointMasses("m", (0.0, 0.0), 2.0, imposed={"all": {"x": lambda t: way * np.sin(2 * np.pi * t)}})
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    rub = aq.Interface("rub", mass.boundary("all"), floor, aq.Unilateral(), aq.Coulomb(0.5, stiffness=1e4))
    system = aq.System([mass], interfaces=[rub], gravity=(0.0, -10.0))
    result = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=1e-3)
    rub_of = result["interface/rub"].dataset
    work = 1e-3 * float(rub_of["wear_power"][1:].sum())
    np.testing.assert_allclose(work, 20.0 * 4.0 * way, rtol=1e-12)
    np.testing.assert_allclose(rub_of["slip"].values[-1], 4.0 * way, rtol=1e-12)
    assert abs(1e-3 * float(rub_of["friction_power"][1:].sum())) < 1e-12 * work
