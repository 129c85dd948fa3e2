"""Rigid bodies on flat obstacles in blocks of steps: as step by step, and against closed forms."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases import sdnv105
from arlequin.cases.reference.rocking import RockingBlock
from arlequin.schemes import compiled_loop
from arlequin.schemes.compiled_loop import SmallStepper, is_rotating
from arlequin.system.assembly import assemble

FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
CORNERS = np.array([(0.0, 0.0), (0.36, 0.0), (0.36, 0.8), (0.0, 0.8)])


def block(name="block", angle=0.01, at=(0.0, 0.0), **more):
    """Turned about its lower left corner."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return aq.RigidBody(name, CORNERS @ turn.T + at, density=1450.0, names={"base": [0, 1]}, **more)


def on(body, *laws, obstacle=FLOOR, friction=None, boundary="base", **more):
    laws = laws or (aq.Unilateral(),)
    return aq.Interface(f"{body.name} down", body.boundary(boundary), obstacle, *laws, friction=friction, **more)


def rocking(**more):
    own = block()
    touch = on(own, friction=aq.Coulomb(0.9), **more)
    return aq.System([own], interfaces=[touch], gravity=(0.0, -9.81))


def rocking_wears():
    """The corner on which it rocks wears by 1e-4 of what it rises, and by more where it slides."""
    touch = replace(rocking().interfaces[0], wear=aq.Archard(1e-8))
    return aq.System([touch.slave.part], interfaces=[touch], gravity=(3.0, -9.81))


def rocking_on_layer():
    own = block()
    touch = on(own, aq.Penalty(1e8), friction=aq.Coulomb(0.9))
    return aq.System([own], interfaces=[touch], gravity=(0.0, -9.81))


def company():
    """Two bodies, one held by a spring and one pushed down a slope, a mass that slides and one that falls."""
    left, right = block("left"), block("right", -0.3, (2.0, 0.2), force=lambda t: (9.0 * np.sin(60 * t), 5.0, 2.0))
    masses = aq.PointMasses("masses", [(4.0, 0.0), (5.0, 0.02)], [1.0, 2.0])
    slope = aq.RigidPlane(point=(2.0, -0.2), normal=(0.3, 1.0))
    springs = [aq.Spring("pull", left.boundary("base"), stiffness=(2e3, 10.0), damping=(20.0, 1.0))]
    touch = [
        on(left, friction=aq.Coulomb(0.4)), on(right, obstacle=slope),
        on(masses, friction=aq.Coulomb(0.2), boundary="all"),
    ]  # fmt: skip
    return aq.System(
        [left, right, masses], springs=springs, interfaces=touch, gravity=(0.0, -9.81), velocity={"masses": (0.5, 0.0)}
    )


def on_springs():
    study = sdnv105.build(sdnv105.Parameters(model="springs", duration=0.01))
    return study.system


def driven():
    """Its turn is given: it rubs on both corners."""
    own = block(angle=0.0, imposed={"body": {"rz": lambda t: 1e-3 * np.sin(40 * t)}})
    return aq.System([own], interfaces=[on(own, friction=aq.Coulomb(0.3))], gravity=(1.0, -9.81))


# the last number: what is allowed of each field's largest value; stiff springs make forces of the gaps' round-off
RUNS = {
    "rocking": (rocking, 1.0, 1e-3, 300, 1e-10),
    "rocking, midpoint": (rocking, 0.5, 1e-3, 100, 1e-10),
    "rocking, wear": (rocking_wears, 1.0, 1e-3, 300, 1e-10),
    "rocking, midpoint, wear": (rocking_wears, 0.5, 1e-3, 100, 1e-10),
    "rocking, rough layer": (rocking_on_layer, 0.6, 1e-4, 300, 1e-9),
    "company": (company, 1.0, 1e-3, 200, 1e-10),
    "on springs": (on_springs, 0.5, 2.5e-5, 300, 1e-9),
    "driven": (driven, 1.0, 1e-3, 100, 1e-10),
}


# of points that stick, W, J, m and m³: there these are round-off alone
ROUND_OFF = {"friction_power": 1.0, "wear_power": 1.0, "wear_work": 1e-2, "slip": 1e-3}
ROUND_OFF |= {"worn_depth": 1e-10, "worn_volume": 1e-10}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("system, theta, step, count, allowed", RUNS.values(), ids=RUNS)
def test_the_steps_of_the_scheme_one_by_one(system, theta, step, count, allowed, monkeypatch):
    """Also the iterations, but on stiff layers: there Newton's last steps are of round-off, and differ (13 of 796)."""
    given, scheme = system(), aq.Theta(theta)
    assert isinstance(scheme.prepare(assemble(given), step), SmallStepper)
    together = aq.simulate(given, scheme, duration=count * step, step=step)
    monkeypatch.setattr(compiled_loop, "LARGEST", -1)
    assert not isinstance(scheme.prepare(assemble(given), step), SmallStepper)
    alone = aq.simulate(given, scheme, duration=count * step, step=step)
    assert max(float(np.abs(group["force"]).max()) for group in together["interface"].children.values()) > 0.0
    assert np.abs(together["balance"]).max() < 1e-12
    for node in alone.subtree:
        for name, values in node.data_vars.items():
            if name == "status":  # between stick and slip round-off decides where two stuck corners share a force
                assert np.count_nonzero(together[node.path][name].values != values.values) <= 1
            elif values.dtype.kind == "f" and name != "balance":
                scale = float(np.nanmax(np.abs(values), initial=0.0))
                scale = max(scale, ROUND_OFF.get(name, 0.0))
                other = together[node.path][name].values
                np.testing.assert_allclose(other, values.values, rtol=0.0, atol=allowed * scale, err_msg=name)
    difference = together.attrs["contact_iterations"] - alone.attrs["contact_iterations"]
    # a step may end within round-off
    assert allowed > 1e-10 or abs(difference) <= 0.01 * alone.attrs["contact_iterations"]


def test_what_an_impact_leaves_of_the_turn():
    """Housner: ω₁ = ω₀ (1 − 3/2 sin² α), to the gravity of a step."""
    result = aq.simulate(rocking(), aq.Theta(1.0), duration=0.06, step=1e-5)
    rate = np.abs(result["part/block"].dataset["angular_velocity"].values)
    hit = int(np.argmax(rate))
    assert rate[hit + 2] / rate[hit] == pytest.approx(RockingBlock().velocity_ratio, rel=1e-3)
    assert np.abs(result["balance"]).max() < 1e-12


def test_what_is_not_for_blocks():
    """Curved obstacles, other bodies as masters: step by step."""
    curved = rocking(obstacle=aq.RigidSphere((0.0, -1.0), 1.0))
    low, high = block("low", 0.0), block("high", 0.0, (0.0, 0.8))
    stack = aq.System([low, high], interfaces=[on(high, obstacle=low.boundary("outline"), multiplier="nodes")])
    assert is_rotating(assemble(rocking()))
    assert not is_rotating(assemble(curved))
    assert not is_rotating(assemble(stack))
