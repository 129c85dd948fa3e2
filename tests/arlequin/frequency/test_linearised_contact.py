"""Contacts and laws of springs linearised at a state: layers, closed and sticking contact, prestress, press fits."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.frequency import ContactForce, Displacement, Force, SpringForce, Stress, SupportForce
from arlequin.frequency.linearised import linearised

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
F = np.array([5.0, 40.0, 90.0])
SQUARE = (2 * np.pi * F) ** 2


def responses(system: aq.System, load: Any, of: Any, frequencies: Any = F, **options: Any) -> Any:
    return aq.frequency_response(system, load, of, frequencies, progress=False, **options)


def statics(system: aq.System) -> aq.System:
    """The same system from its equilibrium under gravity or loads that grow from 0."""
    return replace(system, gravity=None, from_result=aq.simulate(system, aq.Static(), duration=1.0, step=0.1))


def test_layer_of_asperities_at_the_loaded_gap() -> None:
    """m g = κ δ^m: the stiffness is κ m δ^(m − 1), on 1 m². A damper of the layer acts with c δ^m′, half of it where it
    acts in loading alone."""
    mass = 2.0
    body = aq.PointMasses("body", 1e-3, mass)
    law = aq.Asperities(stiffness=3e8, exponent=2.0, height=1e-3)
    wall = aq.Interface("wall", body.boundary("all"), aq.RigidPlane(point=0.0, normal=1.0), law)
    system = statics(aq.System([body], interfaces=[wall], gravity=lambda t: -10.0 * t))
    at = body.boundary("all")
    of = {"u": Displacement(at, "x"), "p": ContactForce(wall), "x": ContactForce(wall, "x")}
    found = responses(system, Force(at, 1.0), of)
    depth = np.sqrt(mass * 10.0 / 3e8)
    stiffness = 6e8 * depth
    exact = 1.0 / (stiffness - mass * SQUARE)
    np.testing.assert_allclose(found["u"].values, exact, rtol=1e-6)
    np.testing.assert_allclose(found["p"].values, -stiffness * exact, rtol=1e-6)
    np.testing.assert_allclose(found["x"].values, found["p"].values, rtol=1e-12)
    free = responses(system, Force(at, 1.0), of, contact="open")
    np.testing.assert_allclose(free["u"].values, -1.0 / (mass * SQUARE), rtol=1e-12)
    assert not free["p"].values.any()
    for acts, share in (("both", 1.0), ("loading", 0.5)):
        damped = replace(law, damping=1e5, damping_exponent=1.0, damping_acts=acts)
        wall = aq.Interface("wall", body.boundary("all"), aq.RigidPlane(point=0.0, normal=1.0), damped)
        pressed = aq.System([body], interfaces=[wall], displacement=-depth)
        found = responses(pressed, Force(at, 1.0), Displacement(at, "x"))["response"].values
        exact = 1.0 / (stiffness + share * 1e5 * depth * 2j * np.pi * F - mass * SQUARE)
        np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_bar_at_a_wall() -> None:
    """Closed unilateral contact is a support: tan(kL)/(EAk) with the force −1/cos(kL); open it is a free bar."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=20), STEEL, section=1e-4, order=4)
    wall = aq.Interface("wall", bar.boundary("left"), aq.RigidPlane(point=0.0, normal=1.0), aq.Unilateral())
    system, end, f = aq.System([bar], interfaces=[wall]), bar.boundary("right"), np.array([500.0, 2000.0])
    k = 2 * np.pi * f * np.sqrt(7800.0 / 2e11)
    of = {"u": Displacement(end, "x"), "wall": ContactForce(wall)}
    for options in ({}, {"contact": "sliding"}, {"method": "modal", "modes": 80}):
        found = responses(system, Force(end, 1.0), of, f, **options)
        np.testing.assert_allclose(found["u"].values, np.tan(k) / (2e7 * k), rtol=1e-8)
        np.testing.assert_allclose(found["wall"].values, -1.0 / np.cos(k), rtol=1e-8)
    found = responses(system, Force(end, 1.0), of, f, contact="open")
    np.testing.assert_allclose(found["u"].values, -1.0 / (2e7 * k * np.tan(k)), rtol=1e-8)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("sticks", ["springs", "rigidly"])
def test_friction(axes: int, sticks: str) -> None:
    """A mass on a floor, on 1 m²: elastic stick 1/(K_T + iωC_T − mω²) along it, rigid stick holds it; sliding it is
    free along the floor, open in all directions."""
    body = aq.PointMasses("body", np.zeros(axes), 2.0)
    floor = aq.RigidPlane(point=np.zeros(axes), normal=np.eye(axes)[-1])
    elastic = sticks == "springs"
    friction = aq.Coulomb(0.3, stiffness=4e4, damping=10.0) if elastic else aq.Coulomb(0.3)
    rub = aq.Interface("rub", body.boundary("all"), floor, aq.Unilateral(), friction=friction)
    system, at = aq.System([body], interfaces=[rub]), body.boundary("all")
    names = "xyz"[:axes]
    load = {name: Force(at, np.eye(axes)[i]) for i, name in enumerate(names)}
    of = {f"u{name}": Displacement(at, name) for name in names} | {
        f"r{name}": ContactForce(rub, name) for name in names
    }
    stick = 1.0 / (4e4 + 2j * np.pi * F * 10.0 - 2.0 * SQUARE)
    free = -1.0 / (2.0 * SQUARE)
    for state in ("stuck", "sliding", "open"):
        found = responses(system, load, of, contact=state)
        for i, name in enumerate(names):
            tangential = i < axes - 1
            if state == "open" or (state == "sliding" and tangential):
                exact = free
            else:
                exact = stick if elastic and tangential else 0.0 * free
            np.testing.assert_allclose(found[f"u{name}"].sel(load=name), exact, rtol=1e-10, atol=1e-15)
            inertia = -2.0 * SQUARE * exact
            np.testing.assert_allclose(found[f"r{name}"].sel(load=name), inertia - 1.0, rtol=1e-9, atol=1e-9)


def test_backlash_and_cubic_springs() -> None:
    """Inside the play no stiffness, beyond it that of the spring; the tangent k + 2 k₂ e + 3 k₃ e² of a cubic one.

    The law acts whatever the state of the contact, with the loss factor of its spring.
    """
    mass = aq.PointMasses("mass", 0.0, 2.0)
    at = mass.boundary("all")
    play = aq.Spring("play", at, stiffness=500.0, law=aq.springs.Backlash(1e4, gap=1e-3))
    inside = aq.System([mass], springs=[play])
    pushed = statics(replace(inside, gravity=lambda t: 20.0 * t))
    cubic = aq.Spring("cubic", at, law=aq.springs.Cubic(500.0, quadratic=1e4, cubic=1e7, travel=0.1))
    of_cubic = statics(aq.System([mass], springs=[cubic], gravity=lambda t: 5.0 * t))
    e = np.roots([1e7, 1e4, 500.0, -10.0])
    e = float(e[np.abs(e.imag) < 1e-12].real[0])
    cases = [(inside, play, 500.0), (pushed, play, 10500.0), (of_cubic, cubic, 500.0 + 2e4 * e + 3e7 * e**2)]
    for system, spring, stiffness in cases:
        for state in ("stuck", "open"):
            of = {"u": Displacement(at, "x"), "f": SpringForce(spring)}
            found = responses(system, Force(at, 1.0), of, contact=state, structural={spring.name: 0.1})
            exact = 1.0 / (stiffness * (1 + 0.1j) - 2.0 * SQUARE)
            np.testing.assert_allclose(found["u"].values, exact, rtol=1e-7)
            np.testing.assert_allclose(found["f"].values, -stiffness * (1 + 0.1j) * exact, rtol=1e-7)


def block(name: str, y: tuple[float, float], **options: Any) -> aq.Solid:
    mesh = aq.mesh.rectangle((0.0, 0.1), y, cells=(4, 2))
    return aq.Solid(name, mesh, STEEL, plane="strain", **options)


def test_stuck_contact_joins_matching_blocks() -> None:
    """Two blocks in contact with friction respond as one block of the same mesh; contact of both sides, whose rows
    repeat each other, changes nothing."""
    held = {"bottom": {"x": 0.0, "y": 0.0}}
    whole = aq.Solid(
        "whole", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.08), cells=(4, 4)), STEEL, plane="strain", imposed=held
    )
    lower, upper = block("lower", (0.0, 0.04), imposed=held), block("upper", (0.04, 0.08))

    def touching(name: str, slave: Any, master: Any) -> aq.Interface:
        return aq.Interface(name, slave, master, aq.Unilateral(), friction=aq.Coulomb(0.5))

    one = touching("one", upper.boundary("bottom"), lower.boundary("top"))
    other = touching("other", lower.boundary("top"), upper.boundary("bottom"))
    f = np.array([100.0, 9000.0, 20000.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        top = whole.boundary("top")
        of = {"u": Displacement(top, "x"), "r": SupportForce(whole.boundary("bottom"), "x")}
        exact = responses(aq.System([whole]), Force(top, (1.0, 0.3)), of, f, structural=0.02)
        top = upper.boundary("top")
        of = {"u": Displacement(top, "x"), "r": SupportForce(lower.boundary("bottom"), "x")}
        for interfaces in ([one], [one, other]):
            system = aq.System([lower, upper], interfaces=interfaces)
            found = responses(system, Force(top, (1.0, 0.3)), of, f, structural=0.02)
            for name in of:
                np.testing.assert_allclose(found[name].values, exact[name].values, rtol=1e-8)


def test_press_fit_that_sticks() -> None:
    """A block pressed by an interference between walls: with it stuck, the response is that of a block that is held."""
    body = block("body", (0.0, 0.04))
    floor = aq.Interface(
        "floor", body.boundary("bottom"), aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0)), aq.Unilateral("gap"),
        friction=aq.Coulomb(0.5), interference=1e-6,
    )  # fmt: skip
    roof = aq.Interface(
        "roof", body.boundary("top"), aq.RigidPlane(point=(0.0, 0.04), normal=(0.0, -1.0)), aq.Unilateral("gap")
    )
    system = aq.System([body], interfaces=[floor, roof])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = replace(system, from_result=aq.simulate(system, aq.Static(), duration=1.0, step=0.5))
        side, f = body.boundary("right"), np.array([1000.0, 15000.0])
        found = responses(fitted, Force(side, (1.0, 0.0)), Displacement(side, "x"), f, structural=0.02)
        held = replace(body, imposed={"bottom": {"x": 0.0, "y": 0.0}, "top": {"y": 0.0}})
        side = held.boundary("right")
        exact = responses(aq.System([held]), Force(side, (1.0, 0.0)), Displacement(side, "x"), f, structural=0.02)
    np.testing.assert_allclose(found["response"].values, exact["response"].values, rtol=1e-8)


@pytest.mark.parametrize("axes", [2, 3])
def test_prestressed_neo_hooke(axes: int) -> None:
    """In statics the response is the derivative of the equilibrium by the load, forces of supports and stresses too."""
    rubber = aq.NeoHooke(young=2e6, poisson=0.4, density=1000.0)
    spans = ((0.0, 0.1), (0.0, 0.04), (0.0, 0.04))[:axes]
    mesh = aq.mesh.rectangle(*spans, cells=(3, 2)) if axes == 2 else aq.mesh.box(*spans, cells=(2, 1, 1))

    def pulled(force: float) -> aq.System:
        across = 0.04 ** (axes - 1)
        pull = np.array([force / across, *[0.0] * (axes - 1)])
        load = {"right": lambda x, t: pull[:, None] * t + 0.0 * x}
        held = {"left": dict.fromkeys("xyz"[:axes], 0.0)}
        plane = {"plane": "strain"} if axes == 2 else {}
        part = aq.Solid("rubber", mesh, rubber, kinematics="finite", imposed=held, tractions=load, **plane)
        return aq.System([part])

    def end(force: float) -> tuple[float, float]:
        result = aq.simulate(pulled(force), aq.Static(), duration=1.0, step=0.25)
        part = pulled(force).parts[0]
        nodes = part.boundary("right")
        weights = nodes.areas / nodes.areas.sum()
        u = result["part/rubber"]["displacement"][-1].values
        stress = part.stress(u.ravel())[0, :, 0]
        dx = np.asarray(part.basis.dx)[0]
        return float(weights @ u[nodes.nodes, 0]), float(dx @ stress / dx.sum())

    force = 2000.0 if axes == 2 else 60.0  # N (per metre in the plane)
    change = 1e-3 * force
    (high, stress_high), (low, stress_low) = end(force + change), end(force - change)
    system = pulled(force)
    result = aq.simulate(system, aq.Static(), duration=1.0, step=0.25)
    loaded = replace(system, from_result=result)
    part = loaded.parts[0]
    right = part.boundary("right")
    of = {
        "u": Displacement(right, "x"), "r": SupportForce(part.boundary("left"), "x"), "stress": Stress(part, 0, "xx")
    }  # fmt: skip
    found = responses(loaded, Force(right, (1.0, *[0.0] * (axes - 1))), of, [0.0])
    assert found["u"].item().real == pytest.approx((high - low) / (2 * change), rel=1e-5)
    assert found["r"].item().real == pytest.approx(-1.0, rel=1e-9)
    assert found["stress"].item().real == pytest.approx((stress_high - stress_low) / (2 * change), rel=1e-4)
    unloaded = responses(system, Force(right, (1.0, *[0.0] * (axes - 1))), of, [0.0])
    assert abs(found["u"].item() / unloaded["u"].item() - 1.0) > 0.02  # the prestress matters


def test_viscosity_of_finite_strains() -> None:
    """b K of a solid of finite rotations at rest: the same response as of small strains."""
    f, results = np.array([100.0, 20000.0]), []
    for kinematics in ("small", "finite"):
        part = block(
            "part", (0.0, 0.04), kinematics=kinematics, damping=aq.Rayleigh(mass=50.0, stiffness=1e-6),
            imposed={"left": {"x": 0.0, "y": 0.0}},
        )  # fmt: skip
        right = part.boundary("right")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            of = {"u": Displacement(right, "x"), "stress": Stress(part, 3, "xx")}
            results.append(responses(aq.System([part]), Force(right, (1.0, 0.5)), of, f))
    np.testing.assert_allclose(results[1]["u"].values, results[0]["u"].values, rtol=1e-9)
    np.testing.assert_allclose(results[1]["stress"].values, results[0]["stress"].values, rtol=1e-6)


def test_contact_of_another_system_has_no_response() -> None:
    body = aq.PointMasses("body", 0.0, 1.0)
    wall = aq.RigidPlane(point=0.0, normal=1.0)
    one, other = (aq.Interface("wall", body.boundary("all"), wall, aq.Penalty(1e6)) for _ in range(2))
    with pytest.raises(aq.UserError, match="of: the interface 'wall' is not in the system"):
        responses(aq.System([body], interfaces=[one]), Force(body.boundary("all"), 1.0), ContactForce(other))
    assert linearised(aq.System([body], interfaces=[one])).contact.stiffness.tolist() == [pytest.approx(1e6)]
