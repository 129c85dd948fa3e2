"""Explicit schemes of small systems: orders, limits, restitution, constraints, energies, what they refuse."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import arlequin as aq

EULER, VOGELAERE, ADAPTIVE = aq.SymplecticEuler(), aq.DeVogelaere(), aq.RungeKutta(1e-10)
EVERY = [EULER, VOGELAERE, ADAPTIVE]


def oscillators(push: bool = True) -> Any:
    """Two masses on springs and dashpots, one of them in contact for good and stuck; M q̈ + D q̇ + K q = f."""
    two = aq.PointMasses(
        "m", ((0.0, 0.0), (1.0, 0.0)), (1.0, 2.0), names={"a": 0, "b": 1},
        forces={"b": lambda t: (30.0 * math.sin(40.0 * t), 0.0)} if push else {},
    )  # fmt: skip
    floor = aq.RigidPlane((0.0, 0.0), (0.0, 1.0))
    touch = aq.Interface(
        "floor", two.boundary("a"), floor, aq.ImpactElement(900.0, 4.0), aq.Coulomb(5.0, stiffness=1600.0)
    )
    springs = [
        aq.Spring("link", two.boundary("a"), two.boundary("b"), stiffness=(700.0, 0.0), damping=(3.0, 0.0)),
        aq.Spring("base", two.boundary("b"), stiffness=(0.0, 500.0), damping=(0.0, 2.0)),
    ]
    return aq.System(
        [two], springs=springs, interfaces=[touch], gravity=(0.0, -10.0), velocity=lambda x: [[0.1, 0.05], [-0.2, 0.3]],
        displacement=lambda x: [[0.0, -10.0 / 900.0], [0.0, 0.0]],
    )  # fmt: skip


def smooth(t: Any) -> Any:
    """The same by matrices, to 1e-12: positions (t, 2, 2)."""
    mass = np.diag([1.0, 1.0, 2.0, 2.0])
    stiff, damp = np.zeros((4, 4)), np.zeros((4, 4))
    stiff[0, 0], stiff[1, 1], stiff[3, 3], damp[1, 1], damp[3, 3] = 1600.0, 900.0, 500.0, 4.0, 2.0
    link = np.array([1.0, 0.0, -1.0, 0.0])
    stiff, damp = stiff + 700.0 * np.outer(link, link), damp + 3.0 * np.outer(link, link)
    inverse = np.linalg.inv(mass)

    def motion(s: float, y: Any) -> Any:
        force = np.array([0.0, -10.0, 30.0 * math.sin(40.0 * s), -20.0])
        return np.concatenate([y[4:], inverse @ (force - stiff @ y[:4] - damp @ y[4:])])

    start = np.array([0.0, -10.0 / 900.0, 0.0, 0.0, 0.1, 0.05, -0.2, 0.3])
    run = solve_ivp(motion, (0.0, t[-1]), start, method="DOP853", t_eval=t, rtol=1e-13, atol=1e-15)
    return run.y[:4].T.reshape(-1, 2, 2)


@pytest.mark.parametrize(("scheme", "order", "least"), [(EULER, 1, 2e-2), (VOGELAERE, 4, 3e-5)], ids=str)
def test_order_in_smooth_motion(scheme: Any, order: int, least: float) -> None:
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        result = aq.simulate(oscillators(), scheme, duration=0.2, step=step)
        exact = smooth(result["time"].values)
        assert (result["interface/floor/status"].values[1:] == 2.0).all()
        errors.append(np.abs(result["part/m/displacement"].values - exact).max() / np.abs(exact).max())
        assert np.abs(result["balance"].values).max() <= 1e-13
    rates = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.abs(rates - order).max() <= 0.15
    assert errors[-1] <= least


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
def test_adaptive_errors_follow_the_tolerance(tolerance: float) -> None:
    result = aq.simulate(oscillators(), aq.RungeKutta(tolerance), duration=0.2, step=1e-2)
    exact = smooth(result["time"].values)
    assert np.abs(result["part/m/displacement"].values - exact).max() <= 10.0 * tolerance * np.abs(exact).max()
    energy = result["energy"]
    scale = float(energy.sel(kind="kinetic").max())
    assert np.abs(energy.sel(kind="scheme").values).max() <= 100.0 * tolerance * scale
    assert np.abs(result["balance"].values).max() <= 1e-13


@pytest.mark.parametrize("scheme", EVERY, ids=str)
def test_losses_are_their_integrals(scheme: Any) -> None:
    """∫ Σ c ė² dt by the trapezoidal rule over recorded velocities."""
    result = aq.simulate(oscillators(False), scheme, duration=0.3, step=2e-4)
    v, t = result["part/m/velocity"].values, result["time"].values
    dashpots = 3.0 * (v[:, 0, 0] - v[:, 1, 0]) ** 2 + 2.0 * v[:, 1, 1] ** 2
    energy = result["energy"]
    exactly = 5e-3 if scheme is EULER else 1e-4
    assert energy.sel(kind="damping").values[-1] == pytest.approx(np.trapezoid(dashpots, t), rel=exactly)
    layer = np.trapezoid(4.0 * v[:, 0, 1] ** 2, t)
    assert energy.sel(kind="asperity_damping").values[-1] == pytest.approx(layer, rel=exactly)
    for kind in ("damping", "asperity_damping", "friction"):
        assert (np.diff(energy.sel(kind=kind).values) >= 0.0).all()


@pytest.mark.parametrize("scheme", EVERY, ids=str)
def test_steps_do_not_depend_on_blocks(scheme: Any, blocks_of: Any) -> None:
    def run() -> Any:
        return aq.simulate(oscillators(), scheme, duration=0.1, step=1e-3)["part/m/displacement"].values

    whole = run()
    with blocks_of(7):
        np.testing.assert_allclose(run(), whole, rtol=0.0, atol=1e-14)


def test_order_four_needs_no_start_of_its_own() -> None:
    """One step alone from a moving, pushed and damped state is as good as those that follow."""
    errors = []
    for step in (4e-3, 2e-3):
        result = aq.simulate(oscillators(), VOGELAERE, duration=step, step=step)
        exact = smooth(np.array([0.0, step]))[-1]
        errors.append(np.abs(result["part/m/displacement"].values[-1] - exact).max())
    assert math.log2(errors[0] / errors[1]) >= 3.5


@pytest.mark.parametrize("scheme", [VOGELAERE, ADAPTIVE], ids=str)
def test_relations_hold(scheme: Any) -> None:
    """Masses that move as u_a + 2 u_b = 0: an oscillator of mass m_a + m_b/4."""
    two = aq.PointMasses("m", ((0.0,), (1.0,)), (3.0, 4.0), names={"a": 0, "b": 1})
    pulley = aq.Relation("pulley", [(two.boundary("a"), "x", 1.0), (two.boundary("b"), "x", 2.0)])
    spring = aq.Spring("s", two.boundary("a"), stiffness=64.0)
    system = aq.System([two], springs=[spring], relations=[pulley], velocity=lambda x: [1.0, -0.5])
    result = aq.simulate(system, scheme, duration=10.0, step=0.01)
    t, u = result["time"].values, result["part/m/displacement"].values[..., 0]
    np.testing.assert_allclose(u[:, 0], np.sin(4.0 * t) / 4.0, atol=1e-6)
    np.testing.assert_allclose(u[:, 0] + 2.0 * u[:, 1], 0.0, atol=1e-13)
    assert np.abs(result["balance"].values).max() <= 1e-13


def test_a_beam_with_its_full_mass_matrix() -> None:
    """A free beam, M and K dense, against the matrix exponential."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=4), steel)
    stop = aq.Interface("stop", bar.boundary("right"), aq.RigidPlane(10.0, -1.0), aq.ImpactElement(1.0))
    start = np.array([1.0, 0.0, 0.0, 0.0, -1.0])
    system = aq.System([bar], interfaces=[stop], velocity=lambda x: start)
    result = aq.simulate(system, aq.RungeKutta(1e-11), duration=4e-4, step=2e-5)
    own = bar.assemble()
    dynamic = np.zeros((10, 10))
    dynamic[:5, 5:], dynamic[5:, :5] = np.eye(5), -np.linalg.solve(own.mass.toarray(), own.stiffness.toarray())
    exact = (expm(4e-4 * dynamic) @ np.concatenate([0.0 * start, start]))[:5]
    np.testing.assert_allclose(result["part/bar/displacement"].values[-1, :, 0], exact, atol=1e-9 * np.abs(exact).max())


@pytest.mark.parametrize(("scheme", "limit"), [(EULER, 2.0), (VOGELAERE, math.sqrt(8.0))], ids=str)
def test_limits_are_sharp(scheme: Any, limit: float) -> None:
    """Of an undamped oscillator: refused just above, bounded just below."""
    one = aq.PointMasses("m", 0.0, 1.0)
    system = aq.System([one], springs=[aq.Spring("s", one.boundary("all"), stiffness=100.0)], velocity=1.0)
    with pytest.raises(aq.UserError, match="must be below the limit of"):
        aq.simulate(system, scheme, duration=1.0, step=1.001 * limit / 10.0)
    result = aq.simulate(system, scheme, duration=500.0, step=0.99 * limit / 10.0)
    assert np.abs(result["part/m/displacement"].values).max() <= 2.0


def test_a_spring_of_friction_counts_for_the_limit() -> None:
    one = aq.PointMasses("m", (0.0, 0.0), 1.0)
    floor = aq.RigidPlane((0.0, 0.0), (0.0, 1.0))
    touch = aq.Interface("floor", one.boundary("all"), floor, aq.ImpactElement(20.0), aq.Coulomb(0.1, stiffness=1e4))
    with pytest.raises(aq.UserError, match=r"step = 0\.021: must be below the limit of symplectic Euler, 0\.02 s"):
        aq.simulate(aq.System([one], interfaces=[touch]), EULER, duration=1.0, step=0.021)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("axes", [2, 3])
def test_thrown_and_pushed_about(axes: int) -> None:
    """Flight, impact, slip and stick, in the plane and in space: explicit and implicit schemes meet."""

    def push(t: float) -> Any:
        return (9.0 * math.sin(90.0 * t), *(2.0 * math.cos(70.0 * t),) * (axes - 2), 12.0 * math.sin(40.0 * t))

    one = aq.PointMasses("m", (0.0,) * axes, 1.0, forces={"all": push})
    rest = (0.0,) * (axes - 1)
    floor = aq.RigidPlane((*rest, 0.0), (*rest, 1.0))
    touch = aq.Interface(
        "floor", one.boundary("all"), floor, aq.ImpactElement(2e4, 20.0), aq.Coulomb(0.4, stiffness=5e3)
    )
    system = aq.System([one], interfaces=[touch], gravity=(*rest, -10.0))
    paths = []
    for scheme, step in ((ADAPTIVE, 1e-3), (aq.Theta(0.5), 2e-5), (VOGELAERE, 2e-5), (EULER, 2e-5)):
        result = aq.simulate(system, scheme, duration=0.3, step=step, fields_every=round(1e-3 / step))
        paths.append(result["part/m/displacement"].values)
        energy = result["energy"]
        for kind in ("asperity_damping", "friction"):
            assert (np.diff(energy.sel(kind=kind).values) >= 0.0).all()
        assert np.abs(result["balance"].values).max() <= 1e-12
        if scheme is ADAPTIVE:
            assert np.unique(result["interface/floor/status"].values).size == 3
            assert np.abs(energy.sel(kind="scheme").values).max() <= 1e-8 * energy.sel(kind="friction").values[-1]
    size = np.abs(paths[0]).max()
    for other, least in zip(paths[1:], (1e-3, 1e-3, 3e-3), strict=True):
        assert np.abs(other - paths[0]).max() <= least * size


def test_what_they_refuse() -> None:
    def run(law: Any, friction: Any = None, master: Any = None, **options: Any) -> None:
        one = aq.PointMasses("m", (0.0, 0.0), 1.0, **options)
        floor = master or aq.RigidPlane((0.0, 0.0), (0.0, 1.0))
        touch = aq.Interface("floor", one.boundary("all"), floor, law, friction)
        aq.simulate(aq.System([one], interfaces=[touch]), ADAPTIVE, duration=1.0, step=0.1)

    with pytest.raises(aq.UserError, match="need regular laws in contact"):
        run(aq.Unilateral())
    with pytest.raises(aq.UserError, match="need friction with a stiffness"):
        run(aq.ImpactElement(1.0), aq.Coulomb(0.1))
    with pytest.raises(aq.UserError, match="take no imposed motion"):
        run(aq.ImpactElement(1.0), imposed={"all": {"x": 0.0}})
    with pytest.raises(aq.UserError, match="flat obstacles"):
        run(aq.ImpactElement(1.0), master=aq.RigidSphere((0.0, -1.0), 1.0))
    with pytest.raises(aq.UserError, match="too long for the loads"):
        run(aq.ImpactElement(1.0), forces={"all": lambda t: (math.sin(200.0 * t), 0.0)})
    with pytest.raises(aq.UserError, match="tolerance = 0"):
        aq.RungeKutta(0.0)
