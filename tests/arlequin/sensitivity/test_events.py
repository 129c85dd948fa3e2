"""Gradients through impacts, stops and reversals against exact derivatives of event-driven motions, and against the
trend of runs; adjoints against tangents."""

import inspect
import itertools
from functools import partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import arlequin as aq

from . import test_gradients as studies

SCHEMES = {"theta": aq.Theta(0.5), "newmark": aq.Newmark(), "hht": aq.HHT(-0.05)}


def thrown(speed, step, scheme=None):
    """A mass of 1 kg against a force of 3 N with a friction of 1 N."""
    mass = aq.PointMasses("mass", (0.0, 0.0), 1.0, forces={"all": (-3.0, -10.0)})
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    rub = aq.Interface("rub", mass.boundary("all"), plane, aq.Unilateral(), friction=aq.Coulomb(0.1))
    system = aq.System([mass], interfaces=[rub], velocity=(speed, 0.0))
    return aq.Study(system, scheme or aq.Theta(0.5), duration=1.0, step=step)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("step", "allowed"), [(1e-2, 1e-2), (1e-3, 1e-3)])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("method", ["tangent", "adjoint"])
@pytest.mark.parametrize("speed", [1.0, 1.0037])
def test_a_thrown_slider_reverses(step, allowed, scheme, method, speed):
    """It stops at t = v/4 and comes back with half the deceleration."""
    responses = {
        "v": aq.Response("part/mass/velocity", "final", node=0, component="x"),
        "x": aq.Response("part/mass/displacement", "final", node=0, component="x"),
        "friction": aq.Response("energy/friction", "final"),
    }
    study = partial(thrown, step=step, scheme=SCHEMES[scheme])
    found = aq.gradient(study, responses, {"speed": speed}, method=method, progress=False)
    back = (1.0 - speed / 4.0) / 2.0
    exact = [0.5, speed / 4.0 + back, speed / 4.0 - back]
    np.testing.assert_allclose(found["gradient"].values[:, 0], exact, atol=allowed)
    assert found.attrs["events"] == 1
    frozen = aq.gradient(study, responses, {"speed": speed}, method=method, events=False, progress=False)
    assert min(abs(frozen["gradient"].values[0, 0] - value) for value in (0.0, 1.0)) < 1e-9
    assert frozen.attrs["events"] == 0


BALL = {"height": 0.5, "gravity": 10.0, "restitution": 0.8, "speed": -1.0037}
TIME = 1.5


def fallen(height, gravity, restitution, speed):
    """Velocity, displacement and loss of a ball of 1 kg at the end: exact, of complex numbers too."""
    t, x, v, loss, bounces = 0.0, height, speed, 0.0, 0
    while True:
        wait = (v + np.sqrt(v * v + 2.0 * gravity * x)) / gravity
        if np.real(t + wait) > TIME:
            break
        t, strikes, x = t + wait, v - gravity * wait, 0.0
        v, loss, bounces = -restitution * strikes, loss + 0.5 * strikes**2 * (1.0 - restitution**2), bounces + 1
    rest = TIME - t
    return np.array([v - gravity * rest, x + v * rest - 0.5 * gravity * rest**2 - height, loss]), bounces


def falling(height, gravity, restitution, speed, step, scheme):
    ball = aq.PointMasses("ball", 0.0, 1.0)
    floor = aq.RigidPlane(point=(-height,), normal=(1.0,))
    stop = aq.Interface("stop", ball.boundary("all"), floor, aq.Unilateral(restitution=restitution))
    system = aq.System([ball], interfaces=[stop], gravity=(-gravity,), velocity=(speed,))
    return aq.Study(system, scheme, duration=TIME, step=step)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_three_bounces(scheme):
    """First order in the step; responses, adjoints and functions of the result give the same."""
    values, bounces = fallen(**BALL)
    assert bounces == 3
    exact = []
    for name, value in BALL.items():
        moved, _ = fallen(**{**BALL, name: value + 1e-30j})
        exact.append(moved.imag / 1e-30)
    exact = np.array(exact).T
    size = np.abs(exact).max(axis=1, keepdims=True)
    paths = {"part/ball/velocity": values[0], "part/ball/displacement": values[1]}
    responses = {path: aq.Response(path, "final", node=0, component="x") for path in paths}
    responses["energy/impact"] = aq.Response("energy/impact", "final")
    of_result = {path: lambda result, path=path: result[path][-1, 0, 0] for path in paths}
    of_result["energy/impact"] = lambda result: result["energy"].sel(kind="impact")[-1]
    for step, allowed in ((1e-2, 0.09), (1e-3, 0.015)):
        study = partial(falling, step=step, scheme=SCHEMES[scheme])
        tangent = aq.gradient(study, responses, BALL, method="tangent", progress=False)
        assert tangent.attrs["events"] == 3 and tangent.attrs["grouped"] == 0
        assert (np.abs(tangent["gradient"].values - exact) / size).max() < allowed
        adjoint = aq.gradient(study, responses, BALL, method="adjoint", progress=False)
        assert (np.abs(tangent["gradient"].values - adjoint["gradient"].values) / size).max() < 1e-11
    recorded = aq.gradient(study, of_result, BALL, progress=False)
    assert (np.abs(tangent["gradient"].values - recorded["gradient"].values) / size).max() < 1e-8


OSCILLATOR = {"force": 0.9, "limit": 0.3, "speed": 1.0}
SPAN = 14.0


def driven(force, limit, speed, step):
    """Two masses on springs with dashpots, the first with dry friction, the second driven."""
    places = [[0.0, 0.0], [1.0, 0.0]]
    loads = {"one": (0.0, -1.0), "two": lambda t: (force * np.cos(1.3 * t), -1.0)}
    pair = aq.PointMasses("pair", places, [1.0, 0.5], names={"one": 0, "two": 1}, forces=loads)
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    rub = aq.Interface("rub", pair.boundary("one"), plane, aq.Unilateral(), friction=aq.Coulomb(limit))
    rest = aq.Interface("rest", pair.boundary("two"), plane, aq.Unilateral())
    given = {"stiffness": (3.0, 0.0), "damping": (0.06, 0.0)}
    held = aq.Spring("held", pair.boundary("one"), **given)
    arm = aq.Spring("arm", pair.boundary("one"), pair.boundary("two"), **given)
    start = {"pair": [[speed, 0.0], [0.0, 0.0]]}
    system = aq.System([pair], interfaces=[rub, rest], springs=[held, arm], velocity=start)
    return aq.Study(system, aq.Theta(0.5), duration=SPAN, step=step)


def by_events(rates, event, change, z, duration, sign=0.0):
    """The state at the end, and the signs: z' = rates(t, z, sign) until event(t, z, sign) passes 0, from the side of
    the sign, from above where it is 0; change(t, z, sign) gives the state and the sign from there on."""
    t, signs = 0.0, [sign]
    while True:
        event.terminal, event.direction = True, -sign if sign else -1.0
        found = solve_ivp(rates, (t, duration), z, "DOP853", args=(sign,), events=event, rtol=1e-11, atol=1e-13)
        t, z = found.t[-1], found.y[:, -1].copy()
        if found.status != 1:
            return z, signs
        z, sign = change(t, z, sign)
        signs.append(sign)
        away = solve_ivp(rates, (t, t + 1e-7), z, args=(sign,), rtol=1e-11, atol=1e-13)
        t, z = away.t[-1], away.y[:, -1]


def differences(exact, at):
    """Derivatives of exact(**at)[0]."""
    each = []
    for name, value in at.items():
        ends = [exact(**{**at, name: value * (1.0 + sign * 1e-5)})[0] for sign in (1, -1)]
        each.append((ends[0] - ends[1]) / (2e-5 * value))
    return np.array(each).T


def driven_by_events(force, limit, speed):
    """u₁, u₂, v₁, v₂, ∫E_kin dt and the friction loss at the end, by an integrator that stops at each event; the signs
    of the slip."""
    mass, stiffness = np.array([1.0, 0.5]), np.array([[6.0, -3.0], [-3.0, 3.0]])

    def pull(t, z):
        return np.array([0.0, force * np.cos(1.3 * t)]) - stiffness @ (z[:2] + 0.02 * z[2:4])

    def rates(t, z, sign):
        v, own = z[2:4] * [bool(sign), 1.0], pull(t, z)
        own[0] = (own[0] - sign * limit) * bool(sign)
        return [*v, *(own / mass), 0.5 * (mass * v * v).sum(), limit * abs(v[0])]

    def event(t, z, sign):
        return z[2] if sign else limit - abs(pull(t, z)[0])

    def change(t, z, sign):
        left = pull(t, z)[0]
        if not sign:
            return z, float(np.sign(left))
        return z * [1, 1, 0, 1, 1, 1], 0.0 if abs(left) <= limit else float(np.sign(left))

    return by_events(rates, event, change, np.array([0.0, 0.0, speed, 0.0, 0.0, 0.0]), SPAN, 1.0)


@pytest.mark.slow
def test_an_oscillator_with_seven_stops():
    """First order in the step: 240 and 480 steps in a period of the load."""
    _, signs = driven_by_events(**OSCILLATOR)
    assert signs == [1.0, 0.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0]
    exact = differences(driven_by_events, OSCILLATOR)
    responses = {
        f"{name} {node}": aq.Response(f"part/pair/{name}", "final", node=node, component="x")
        for name in ("displacement", "velocity")
        for node in (0, 1)
    }
    responses["kinetic"] = aq.Response("energy/kinetic", "mean")
    responses["friction"] = aq.Response("energy/friction", "final")
    size = np.abs(exact).max(axis=1)
    for steps, allowed in ((700, 0.012), (1400, 0.006)):
        study = partial(driven, step=SPAN / steps)
        found = aq.gradient(study, responses, OSCILLATOR, method="tangent", progress=False)
        assert found.attrs["events"] == 7
        rows = found["gradient"].values.copy()
        rows[4] *= SPAN
        assert (np.abs(rows - exact).max(axis=1) / size).max() < allowed
        adjoint = aq.gradient(study, responses, OSCILLATOR, method="adjoint", progress=False)["gradient"].values
        np.testing.assert_allclose(adjoint, found["gradient"].values, rtol=0.0, atol=1e-11 * np.abs(adjoint).max())


def flying(gap, speed, cells, time, courant, scheme=None):
    """An elastic bar of unit length, section, modulus and density flies at a wall."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=cells), aq.LinearElastic(young=1.0, density=1.0))
    wall = aq.RigidPlane(point=(-gap,), normal=(1.0,))
    stop = aq.Interface("stop", bar.boundary("left"), wall, aq.Unilateral())
    system = aq.System([bar], interfaces=[stop], velocity=(-speed,))
    step = time / round(time * cells / courant)
    return aq.Study(system, scheme or aq.Theta(0.5), duration=time, step=step)


FLIGHT = {"gap": 0.1137, "speed": 0.5}
MOMENTUM = {"momentum": aq.Response("part/bar/momentum", "final", component="x")}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("cells", "courant", "scheme"),
    [*itertools.product((10, 20, 40), (0.25, 1.0, 2.0), ("theta",)), (10, 1.0, "newmark"), (10, 1.0, "hht")],
)
def test_an_elastic_bar_on_a_wall(cells, courant, scheme):
    """In contact the wall pushes with V: the momentum is −V + V (t − g/V), whose derivatives are −1 by the gap, and
    t − 1 by the speed, at steps of a quarter of a cell to two."""
    study = partial(flying, cells=cells, time=1.3, courant=courant, scheme=SCHEMES[scheme])
    found = aq.gradient(study, MOMENTUM, FLIGHT, method="tangent", progress=False)["gradient"].values[0]
    np.testing.assert_allclose(found, [-1.0, 0.3], atol=3e-3)
    adjoint = aq.gradient(study, MOMENTUM, FLIGHT, method="adjoint", progress=False)["gradient"].values[0]
    np.testing.assert_allclose(adjoint, found, rtol=1e-11)
    assert aq.gradient(study, MOMENTUM, FLIGHT, events=False, progress=False)["gradient"].values[0, 0] == 0.0


def test_an_elastic_bar_that_has_rebounded():
    """Once it flies, a larger gap delays all: its momentum does not change."""
    for cells, courant, allowed in ((10, 1.0, 1e-3), (10, 0.25, 2.5e-3), (10, 0.05, 3e-4), (20, 0.25, 1e-3)):
        study = partial(flying, cells=cells, time=2.9, courant=courant)
        assert abs(aq.gradient(study, MOMENTUM, FLIGHT, progress=False)["gradient"].values[0, 0]) < allowed


def test_a_large_bar_as_a_small_one():
    """More than 500 unknowns: solves with the factor, and not dense maps."""
    study = partial(flying, cells=520, time=0.4, courant=8.0)
    found = aq.gradient(study, MOMENTUM, FLIGHT, method="tangent", progress=False)["gradient"].values[0]
    np.testing.assert_allclose(found, [-1.0, -0.6], atol=1e-4)
    adjoint = aq.gradient(study, MOMENTUM, FLIGHT, method="adjoint", progress=False)["gradient"].values[0]
    np.testing.assert_allclose(adjoint, found, rtol=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("friction", [1e4, 90.0])
def test_a_pin_that_falls_on_a_layer_with_springs_of_friction(friction):
    """Its spring stretches from the first touch on: a later touch leaves it shorter by the slip rate times the delay.

    The pin falls with V on a hard layer and sticks; without a force along it, its speed along is v cos ωt after the
    touch at g/V, ω² = k/m: by the gap its derivative at the time T is (v ω/V) sin ω(T − g/V). By the phase of the step
    friction is limited in the step of the touch, for the smaller coefficient, at one gap of the two.
    """
    mass, stick, fall, along, time = 1.0, 40.0, 1.0, 0.3, 0.35

    def falling(gap, step):
        pin = aq.PointMasses("pin", (0.0, 0.0), mass)
        plane = aq.RigidPlane(point=(0.0, -gap), normal=(0.0, 1.0))
        rubs = aq.Coulomb(friction, stiffness=stick)
        rub = aq.Interface("rub", pin.boundary("all"), plane, aq.Penalty(1.0), friction=rubs)
        return aq.Study(aq.System([pin], interfaces=[rub], velocity=(along, -fall)), aq.Theta(0.5), time, step)

    omega = np.sqrt(stick / mass)
    end = {"end": aq.Response("part/pin/velocity", "final", node=0, component="x")}
    for gap in (0.1037, 0.1021):
        exact = along * omega / fall * np.sin(omega * (time - gap / fall))
        for step, allowed in ((2e-3, 5e-5), (5e-4, 2e-5)):
            study = partial(falling, step=step)
            found = [
                aq.gradient(study, end, {"gap": gap}, method=method, progress=False)["gradient"].item()
                for method in ("tangent", "adjoint")
            ]
            assert abs(found[0] / exact - 1.0) < allowed and abs(found[1] - found[0]) < 1e-11 * abs(exact)


LAYER = 4e3  # Pa/m, on 1 m²
PINS = {"gap": 0.05, "speed": 1.0, "friction": 0.5, "force": 12.0}


def pressed_pin(gap, speed, friction, force, step, scheme):
    """A pin of 1 kg that falls with `speed` on a layer of 4 kN/m, pulled along by a force."""
    pin = aq.PointMasses("pin", (0.0, 0.0), 1.0, forces={"all": (force, 0.0)})
    plane = aq.RigidPlane(point=(0.0, -gap), normal=(0.0, 1.0))
    rub = aq.Interface("rub", pin.boundary("all"), plane, aq.Penalty(LAYER), friction=aq.Coulomb(friction))
    system = aq.System([pin], interfaces=[rub], velocity=(-1.2, -speed))
    return aq.Study(system, scheme, duration=0.15, step=step)


def speed_of_the_pin(gap, speed, friction, force):
    """It sticks on the layer, and slips before it parts: where friction, μ m V ω sin ωτ, is less than the force."""
    omega = np.sqrt(LAYER)
    slips = (np.pi - np.arcsin(force / (friction * speed * omega))) / omega
    rubbed = friction * speed * (1.0 + np.cos(omega * slips))
    return force * (0.15 - gap / speed - slips) - rubbed


def by_complex_step(exact, at):
    """Derivatives of exact(**at)."""
    return np.array([np.imag(exact(**{**at, name: value + 1e-30j})) / 1e-30 for name, value in at.items()]).T


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("scheme", "coarse", "fine"), [("theta", 2.5e-3, 3e-5), ("hht", 9e-3, 9e-4)])
def test_a_pin_that_slips_before_it_parts_from_a_layer(scheme, coarse, fine):
    exact = by_complex_step(speed_of_the_pin, PINS)
    end = {"end": aq.Response("part/pin/velocity", "final", node=0, component="x")}
    for steps, allowed in ((range(150, 160, 3), coarse), ((1500, 1501), fine)):
        for count in steps:
            study = partial(pressed_pin, step=0.15 / count, scheme=SCHEMES[scheme])
            found = [
                aq.gradient(study, end, PINS, method=method, progress=False)["gradient"].values[0]
                for method in ("tangent", "adjoint")
            ]
            np.testing.assert_allclose(found[0], exact, rtol=0.0, atol=allowed * np.abs(exact).max())
            np.testing.assert_allclose(found[1], found[0], rtol=0.0, atol=1e-11 * np.abs(exact).max())


SPRINGS = 400.0  # N/m
ABOVE = 0.0185  # m, of the second pin above the first; it falls 1.37 times as fast, so that both touch in one step


def sprung_pins(gap, friction, step, scheme):
    """Two pins of 1 kg on a layer of 4 kN/m with springs of friction."""
    pins = aq.PointMasses("pins", [[0.0, 0.0], [1.0, ABOVE]], 1.0)
    plane = aq.RigidPlane(point=(0.0, -gap), normal=(0.0, 1.0))
    rubs = aq.Coulomb(friction, stiffness=SPRINGS)
    rub = aq.Interface("rub", pins.boundary("all"), plane, aq.Penalty(LAYER), friction=rubs)
    system = aq.System([pins], interfaces=[rub], velocity={"pins": [[-1.2, -1.0], [0.9, -1.37]]})
    return aq.Study(system, scheme, duration=0.15, step=step)


def end_of_a_sprung_pin(speed, along, friction):
    """Velocity after a contact that begins with u = −speed and `along`: the spring pulls with k (v/ν) sin ντ until that
    is μ N, N = V ω sin ωτ, then friction does."""
    omega, nu = np.sqrt(LAYER), np.sqrt(SPRINGS)

    def margin(t):
        return friction * speed * omega * np.sin(omega * t) - abs(along) * nu * np.sin(nu * t)

    slips = brentq(margin, 0.5 * np.pi / omega, np.pi / omega)
    pulled = along * np.cos(nu * slips)
    return pulled - np.sign(along) * friction * speed * (1.0 + np.cos(omega * slips))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["theta", "newmark"])
def test_springs_of_friction_at_every_phase_of_the_step(scheme):
    """Both pins touch in one step, and their springs yield to a pressure that falls to less than a half within a step.

    By the gap, velocities do not change, and displacements by the change of velocity times the delay of the touch; the
    errors are those of the step of the change, (v₁ − v₀) ω Δt.
    """
    ends = {
        f"{kind} {i}": aq.Response(f"part/pins/{kind}", "final", node=i, component="x")
        for kind in ("velocity", "displacement")
        for i in range(2)
    }
    friction, change, exact = 0.5, 1e-6, np.zeros((4, 2))
    for i, (fall, along) in enumerate([(1.0, -1.2), (1.37, 0.9)]):
        one, at, other = (end_of_a_sprung_pin(fall, along, friction + d) for d in (-change, 0.0, change))
        exact[i, 1], exact[2 + i, 0] = (other - one) / (2.0 * change), (along - at) / fall
    rate = np.abs(exact[2, 0]) * np.sqrt(LAYER)
    for step, of_speed, of_way, by_friction in ((1e-3, 0.013, 0.041, 2.5e-3), (2.5e-4, 0.003, 0.0095, 4e-4)):
        for gap in 0.05 + 0.1 * step * np.arange(10):
            study = partial(sprung_pins, step=step, scheme=SCHEMES[scheme])
            at = {"gap": gap, "friction": friction}
            found = aq.gradient(study, ends, at, method="tangent", progress=False)["gradient"].values
            np.testing.assert_allclose(found[:2, 0], exact[:2, 0], atol=of_speed * rate)
            np.testing.assert_allclose(found[2:, 0], exact[2:, 0], atol=of_way)
            np.testing.assert_allclose(found[:2, 1], exact[:2, 1], atol=by_friction)


YIELDING = {"force": 3.0, "limit": 0.1, "stiffness": 20.0, "speed": 0.3}
LASTS = 6.0


def weight(t, sways):
    return 10.0 * (1.0 + sways * np.sin(4.0 * t))


def yielding(force, limit, stiffness, speed, step, scheme, sways=0.0):
    """A mass of 1 kg on a spring of 4 N/m and dashpots, pressed with 10 (1 + sways sin 4t) N on a layer with springs of
    friction."""
    forces = {"all": lambda t: (force * np.cos(3.0 * t), -weight(t, sways))}
    mass = aq.PointMasses("mass", (0.0, 0.0), 1.0, forces=forces)
    plane = aq.RigidPlane(point=(0.0, 1e-2), normal=(0.0, 1.0))
    rubs = aq.Coulomb(limit, stiffness=stiffness)
    rub = aq.Interface("rub", mass.boundary("all"), plane, aq.Penalty(1e3), friction=rubs)
    held = aq.Spring("held", mass.boundary("all"), stiffness=(4.0, 0.0), damping=(0.2, 6.0))
    system = aq.System([mass], interfaces=[rub], springs=[held], velocity=(speed, 0.0))
    return aq.Study(system, scheme, duration=LASTS, step=step)


def yielding_by_events(force, limit, stiffness, speed, sways=0.0):
    """Displacement, velocity and loss at the end: springs stretch up to the coefficient times the force of the layer,
    N = 10³ (10⁻² − w), and stick again where the slip behind them, v ∓ μ Ṅ/k, ends."""

    def rates(t, z, sign):
        u, v, s, _, w, rate = z
        normal, most = 1e3 * (1e-2 - w), -1e3 * limit * rate
        behind = v - sign * most / stiffness
        stretch, loss = (sign * most, abs(limit * normal * behind)) if sign else (stiffness * v, 0.0)
        pull = force * np.cos(3.0 * t) - 4.0 * u - 0.2 * v - s
        return [v, pull, stretch, loss, rate, normal - weight(t, sways) - 6.0 * rate]

    def event(t, z, sign):
        return z[1] + sign * 1e3 * limit * z[5] / stiffness if sign else 1e3 * limit * (1e-2 - z[4]) - abs(z[2])

    def change(t, z, sign):
        return z, 0.0 if sign else float(np.sign(z[2]))

    z, signs = by_events(rates, event, change, np.array([0.0, speed, 0.0, 0.0, 0.0, 0.0]), LASTS)
    return z[[0, 1, 3]], len(signs) - 1


ENDS = {
    "u": aq.Response("part/mass/displacement", "final", node=0, component="x"),
    "v": aq.Response("part/mass/velocity", "final", node=0, component="x"),
    "loss": aq.Response("energy/friction", "final"),
}


def errors_of_yield(sways, steps, scheme, methods=("tangent",)):
    """The largest error of the gradients, relative to the largest entry of a row, and how far those of two methods are
    apart; springs yield six times and stick again five times."""
    exact = partial(yielding_by_events, sways=sways)
    assert exact(**YIELDING)[1] == 11
    by_events = differences(exact, YIELDING)
    study = partial(yielding, step=LASTS / steps, scheme=SCHEMES[scheme], sways=sways)
    size = np.abs(by_events).max(axis=1, keepdims=True)
    found = [aq.gradient(study, ENDS, YIELDING, method=own, progress=False)["gradient"].values for own in methods]
    return np.abs((found[0] - by_events) / size).max(), np.abs((found[-1] - found[0]) / size).max()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["theta", "hht"])
def test_springs_of_friction_that_yield(scheme):
    """200 and 400 steps in a period of the load."""
    for steps, allowed in ((573, 5e-3), (576, 5e-3), (1146, 1.6e-3)):
        error, apart = errors_of_yield(0.0, steps, scheme, ("tangent", "adjoint"))
        assert error < allowed
        assert apart < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("phases", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_springs_of_friction_under_a_pressure_that_sways(phases):
    """At every phase of the step, the last step of slip before stick among them: 400 and 1,600 steps in a period of the
    load."""
    for steps in range(1200, 1200 + 3 * phases, 3):
        assert errors_of_yield(0.6, steps, "hht" if steps % 2 else "theta")[0] < 0.005
    if phases > 2:
        assert errors_of_yield(0.6, 4803, "theta", ("adjoint",))[0] < 0.001


THROWN = {"gap": 0.1037, "speed": 1.0, "friction": 0.3, "restitution": 0.6}


def thrown_down(gap, speed, friction, restitution, step, scheme):
    """A ball in space that a force along the plane turns before and after its impact."""
    ball = aq.PointMasses("ball", (0.0, 0.0, 0.0), 1.0)
    plane = aq.RigidPlane(point=(0.0, 0.0, -gap), normal=(0.0, 0.0, 1.0))
    law, rubs = aq.Unilateral(restitution=restitution), aq.Coulomb(friction)
    stop = aq.Interface("stop", ball.boundary("all"), plane, law, friction=rubs)
    system = aq.System([ball], interfaces=[stop], gravity=(0.0, 8.0, -10.0), velocity=(1.2, -0.5, -speed))
    return aq.Study(system, scheme, duration=0.2, step=step)


def thrown_velocity(gap, speed, friction, restitution):
    """Along the plane at the end: the impact takes μ times its normal impulse off, in the direction of the slip."""
    time = (np.sqrt(speed**2 + 20.0 * gap) - speed) / 10.0
    strikes, along = speed + 10.0 * time, np.array([1.2, -0.5 + 8.0 * time])
    along = along * (1.0 - friction * (1.0 + restitution) * strikes / np.sqrt((along**2).sum()))
    return along + np.array([0.0, 8.0]) * (0.2 - time)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["theta", "hht"])
def test_an_impact_with_friction_in_space(scheme):
    exact = by_complex_step(thrown_velocity, THROWN)
    responses = {a: aq.Response("part/ball/velocity", "final", node=0, component=a) for a in "xy"}
    for count, allowed in ((100, 2.5e-2), (103, 2.5e-2), (1000, 2.5e-3), (1003, 2.5e-3)):
        study = partial(thrown_down, step=0.2 / count, scheme=SCHEMES[scheme])
        found = [
            aq.gradient(study, responses, THROWN, method=method, progress=False)["gradient"].values
            for method in ("tangent", "adjoint")
        ]
        np.testing.assert_allclose(found[0], exact, rtol=0.0, atol=allowed * np.abs(exact).max())
        np.testing.assert_allclose(found[1], found[0], rtol=0.0, atol=1e-11 * np.abs(exact).max())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("method", ["tangent", "adjoint"])
def test_springs_of_friction_in_impacts_of_one_step(method):
    """What they lose is ∝ (v Δt)² with the speed v along the plane, and does not depend on the instants of the
    impacts."""

    def bouncing(height, along):
        ball = aq.PointMasses("ball", (0.0, 0.0), 1.0)
        plane = aq.RigidPlane(point=(0.0, -height), normal=(0.0, 1.0))
        law, rub = aq.Unilateral(restitution=0.7), aq.Coulomb(0.3, stiffness=500.0)
        stop = aq.Interface("stop", ball.boundary("all"), plane, law, friction=rub)
        system = aq.System([ball], interfaces=[stop], gravity=(0.0, -10.0), velocity=(along, 0.0))
        return aq.Study(system, aq.Theta(0.5), duration=1.0, step=1e-3)

    lost = {"lost": aq.Response("energy/friction", "final")}
    found = aq.gradient(bouncing, lost, {"height": 0.5, "along": 1.3}, method=method, progress=False)
    value, (by_height, by_speed) = found["value"].item(), found["gradient"].values[0]
    assert value > 0.0 and found.attrs["events"] == 2
    assert by_speed == pytest.approx(2.0 * value / 1.3, rel=1e-8)
    assert abs(by_height) * 0.5 < 1e-8 * value


ROD = {"gap": 0.05, "speed": 1.0, "stiffness": 100.0, "restitution": 0.8}


def knocking(gap, speed, stiffness, restitution, step, scheme):
    """A rod of three masses that flies at a stop."""
    places = [[0.0], [1.0], [2.0]]
    rod = aq.PointMasses("rod", places, [1.0, 2.0, 1.0], names={"left": 0, "middle": 1, "right": 2})
    arms = [
        aq.Spring(f"{a} {b}", rod.boundary(a), rod.boundary(b), stiffness=stiffness)
        for a, b in (("left", "middle"), ("middle", "right"))
    ]
    wall = aq.RigidPlane(point=(-gap,), normal=(1.0,))
    stop = aq.Interface("stop", rod.boundary("left"), wall, aq.Unilateral(restitution=restitution))
    system = aq.System([rod], interfaces=[stop], springs=arms, velocity=(-speed,))
    return aq.Study(system, scheme, duration=0.5, step=step)


def knocking_by_events(gap, speed, stiffness, restitution):
    """Displacements and velocities at the end; how often it knocks."""
    mass = np.array([1.0, 2.0, 1.0])
    matrix = stiffness * np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])

    def rates(t, z, sign):
        return np.concatenate([z[3:], -matrix @ z[:3] / mass])

    def event(t, z, sign):
        return z[0] + gap

    def change(t, z, sign):
        return z * [1, 1, 1, -restitution, 1, 1], sign

    z, signs = by_events(rates, event, change, np.array([0.0] * 3 + [-speed] * 3), 0.5)
    return z, len(signs) - 1


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["theta", "hht"])
def test_a_rod_that_knocks_on_a_stop(scheme):
    """First order in the step."""
    assert knocking_by_events(**ROD)[1] == 3
    exact = differences(knocking_by_events, ROD)
    responses = {
        f"{name} {node}": aq.Response(f"part/rod/{name}", "final", node=node, component="x")
        for name in ("displacement", "velocity")
        for node in (0, 1, 2)
    }
    size = np.abs(exact).max(axis=1, keepdims=True)
    for count, allowed in ((400, 0.06), (1600, 0.018)):
        study = partial(knocking, step=0.5 / count, scheme=SCHEMES[scheme])
        found = aq.gradient(study, responses, ROD, method="tangent", progress=False)
        assert found.attrs["events"] == 3
        assert np.abs((found["gradient"].values - exact) / size).max() < allowed
        adjoint = aq.gradient(study, responses, ROD, method="adjoint", progress=False)["gradient"].values
        assert np.abs((adjoint - found["gradient"].values) / size).max() < 1e-11


CASES = {
    "glued": (studies.glued, ("velocity", "gap", "friction", "young"), "tip", ("kinetic", "friction")),
    "modal rod": (studies.rod, ("gap", "friction", "stiffness"), "support", ("kinetic", "friction")),
    "wear": (studies.worn, ("load", "friction", "wear"), "rub", ("kinetic", "friction")),
    "friction of the rate": (studies.sliding, ("static", "load"), "rub", ("kinetic", "friction")),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("case", CASES)
def test_adjoints_are_tangents(case, scheme):
    """Junctions, modal parts, wear, friction that depends on the slip rate, springs of friction."""
    make, names, interface, kinds = CASES[case]
    known = inspect.signature(make).parameters
    if scheme != "theta" and "scheme" not in known:
        pytest.skip("its scheme is its own")
    study = partial(make, scheme=SCHEMES[scheme]) if "scheme" in known else make
    responses = {kind: aq.Response(f"energy/{kind}", "final") for kind in kinds}
    responses["impulse"] = aq.Response(f"interface/{interface}/impulse", "sum")
    at = {name: known[name].default for name in names}
    one, other = (aq.gradient(study, responses, at, method=method, progress=False) for method in ("tangent", "adjoint"))
    assert one.attrs == other.attrs
    assert one.attrs["events"] > 0 or case == "modal rod"  # on a layer
    size = np.abs(one["gradient"]).max("parameter")
    assert (np.abs(one["gradient"] - other["gradient"]) < 1e-10 * size).all()


def test_events_that_the_steps_do_not_resolve_are_refused():
    """An elastic bar whose end has a restitution chatters within some steps."""

    def chattering(gap):
        study = flying(gap, 0.5, cells=20, time=1.5, courant=0.5)
        bar = study.system.parts[0]
        wall = aq.RigidPlane(point=(-gap,), normal=(1.0,))
        stop = aq.Interface("stop", bar.boundary("left"), wall, aq.Unilateral(restitution=0.5))
        system = aq.System([bar], interfaces=[stop], velocity=(-0.5,))
        return aq.Study(system, study.scheme, study.duration, study.step)

    for method in ("tangent", "adjoint"):
        with pytest.raises(aq.UserError, match=r"do not resolve the contact event at t = .*smoothed_gradient"):
            aq.gradient(chattering, MOMENTUM, {"gap": 0.1137}, method=method, progress=False)
    aq.gradient(chattering, MOMENTUM, {"gap": 0.1137}, events=False, progress=False)


@pytest.mark.parametrize("scheme", ["theta", "newmark"])
def test_multipliers_on_the_gap_that_rebound_by_the_phase_of_the_step_are_refused(scheme):
    """With λ = ½ the speed after the onset is what the gap before it and the step make of it."""

    def falling(height, scheme):
        ball = aq.PointMasses("ball", 0.0, 1.0)
        plane = aq.RigidPlane(point=(-height,), normal=(1.0,))
        stop = aq.Interface("stop", ball.boundary("all"), plane, aq.Unilateral(level="gap"))
        system = aq.System([ball], interfaces=[stop], gravity=(-10.0,))
        return aq.Study(system, scheme, 0.4, 1e-3)

    end = {"end": aq.Response("part/ball/velocity", "final", node=0, component="x")}
    with pytest.raises(aq.UserError, match="depends on the phase of the step"):
        aq.gradient(partial(falling, scheme=SCHEMES[scheme]), end, {"height": 0.5}, progress=False)
    # with θ = 1 the ball stays on the plane after the time t = √(2h/g): ∫E_kin dt = g² t³/6
    moving = {"moving": aq.Response("energy/kinetic", "mean")}
    found = aq.gradient(partial(falling, scheme=aq.Theta(1.0)), moving, {"height": 0.5}, progress=False)
    assert found["gradient"].item() == pytest.approx(0.5 * np.sqrt(2.0 * 0.5 * 10.0) / 0.4, rel=0.01)
