"""Rigid polygons: inertia, free flight, rolling over a corner, sliding, stacks and collisions."""

from itertools import pairwise

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases.reference.rocking import RockingBlock
from arlequin.cases.reference.rocking_motion import rock

FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))


def box(name, width, height, corner=(0.0, 0.0), angle=0.0, **more):
    """A box turned about its lower left corner."""
    points = np.array([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    names = {"base": [0, 1], "top": [2, 3], "right": [1, 2]}
    return aq.RigidBody(name, points @ turn.T + corner, names=names, **{"density": 1000.0, **more})


def on(body, obstacle=FLOOR, friction=0.5, boundary="base"):
    rough = aq.Coulomb(friction) if friction else None
    return aq.Interface(f"{body.name} down", body.boundary(boundary), obstacle, aq.Unilateral(), friction=rough)


def test_inertia_of_polygons():
    block = box("b", 0.3, 0.7, corner=(2.0, -1.0), angle=0.4)
    mass = 1000.0 * 0.21
    np.testing.assert_allclose(block.inertias, (mass, mass, mass * (0.09 + 0.49) / 12), rtol=1e-13)
    corners = [(0, 0), (3, 0), (0, 2)]
    triangle = aq.RigidBody("t", corners, mass=5.0)
    np.testing.assert_allclose(triangle.positions[0], (1.0, 2 / 3), rtol=1e-14)
    assert triangle.inertias[2] == pytest.approx(5.0 * (9 + 4) / 18, rel=1e-13)  # m (b² + h²)/18 of a right triangle


@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark(), aq.GeneralisedAlpha.with_radius(0.8)])
def test_free_flight(scheme):
    """The centre falls on a parabola and the body turns steadily by any angle."""
    block = box("block", 0.3, 0.7)
    spin = 12.0

    def start(x):
        arm = x - block.positions[0]
        return np.stack([1.0 - spin * arm[:, 1], 2.0 + spin * arm[:, 0]], axis=1)

    system = aq.System([block], gravity=(0.0, -9.81), velocity={"block": start})
    result = aq.simulate(system, scheme, duration=1.0, step=1e-2)
    group, t = result["part/block"].dataset, result["time"].values
    np.testing.assert_allclose(group["angle"], spin * t, atol=1e-12)
    arms = block.positions - block.positions[0]
    cos, sin = np.cos(spin * t)[:, None], np.sin(spin * t)[:, None]
    exact = np.stack([cos * arms[:, 0] - sin * arms[:, 1], sin * arms[:, 0] + cos * arms[:, 1]], axis=2) - arms
    exact += np.stack([t, 2.0 * t - 9.81 * t**2 / 2], axis=1)[:, None]
    np.testing.assert_allclose(group["displacement"].values, exact, atol=1e-11)
    assert np.abs(result["balance"]).max() < 1e-13


def test_rocking_block():
    """Impact to the step, reactions in flight, the ratio of velocities at the impact: the event-driven rigid block."""
    half_width, half_height, tilt = 0.18, 0.40, 0.01
    block = box("block", 2 * half_width, 2 * half_height, angle=tilt, density=1450.0)
    system = aq.System([block], interfaces=[on(block, friction=0.9)], gravity=(0.0, -9.81))
    step = 2e-4
    result = aq.simulate(system, aq.Theta(1.0), duration=0.1, step=step)
    reference = RockingBlock()
    motion = rock(reference, impacts=1)
    rate = result["part/block"].dataset["angular_velocity"].values
    jump = int(np.abs(np.diff(rate)).argmax())
    assert jump * step == pytest.approx(motion.impacts[0].time, abs=1.5 * step)
    # gravity goes on during the step: θ̈ Δt of about 7 s⁻² Δt on 0.3 s⁻¹
    ratio = 1 - 3 * 0.18**2 / (2 * (0.18**2 + 0.4**2))
    assert rate[jump + 1] / rate[jump] == pytest.approx(ratio, rel=1e-3 + 7 * step / 0.3)
    force = result["interface/block down"].dataset["force"].values
    flight = slice(1, jump)
    assert force[flight, 1].max() == pytest.approx(3602.0, rel=1e-3)
    assert force[flight, 1].min() == pytest.approx(3556.5, rel=1e-3)
    np.testing.assert_allclose(np.abs(force[flight, 0]).min(), 1129.2, rtol=1e-3)
    gap = result["interface/block down"].dataset["gap_min"].values
    assert gap.min() > -0.14 * step
    assert np.abs(result["balance"]).max() < 1e-13


@pytest.mark.parametrize("friction", [0.2, 0.6])
def test_block_on_a_slope(friction):
    """At 20° a squat block slides down with a = g (sin − μ cos) or stays, exactly."""
    slope, g = np.radians(20.0), 9.81
    block = box("block", 0.4, 0.1, angle=-slope)
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(np.sin(slope), np.cos(slope)))
    system = aq.System([block], interfaces=[on(block, plane, friction)], gravity=(0.0, -g))
    result = aq.simulate(system, aq.Theta(0.5), duration=0.5, step=1e-2)
    moved = result["part/block"].dataset["displacement"].values[-1, 0]
    along = moved @ (np.cos(slope), -np.sin(slope))
    exact = max(g * (np.sin(slope) - friction * np.cos(slope)), 0.0) * 0.5**2 / 2
    assert along == pytest.approx(exact, rel=1e-10, abs=1e-14)
    assert abs(result["part/block"].dataset["angle"].values[-1]) < 1e-13


def test_tall_block_topples_and_squat_one_slides():
    """Pushed at its top: the tall block (0.1 × 1.0) turns about its corner, the squat one (μ = 0.2) slides."""
    push = 60.0
    tall = box("tall", 0.1, 1.0, force=lambda t: (push, 0.0, -push * 0.5))
    weight = 1000.0 * 0.1 * 9.81
    result = aq.simulate(
        aq.System([tall], interfaces=[on(tall, friction=0.8)], gravity=(0.0, -9.81)),
        aq.Theta(0.5), duration=0.2, step=1e-3,
    )  # fmt: skip
    # about the corner: J α = push h − weight b/2
    inertia = 100.0 * (0.1**2 + 1.0) / 3
    start = -(push * 1.0 - weight * 0.05) / inertia
    rate = result["part/tall"].dataset["angular_velocity"].values
    assert rate[10] == pytest.approx(start * 0.01, rel=0.02)
    base = result["part/tall"].dataset["displacement"].values[:, 2]
    assert np.abs(base).max() < 1e-5  # its right corner is the pivot
    squat = box("squat", 1.0, 0.1, force=lambda t: (250.0, 0.0))
    result = aq.simulate(
        aq.System([squat], interfaces=[on(squat, friction=0.2)], gravity=(0.0, -9.81)),
        aq.Theta(0.5), duration=0.2, step=1e-3,
    )  # fmt: skip
    exact = (250.0 - 0.2 * weight) / 100.0 * 0.2**2 / 2
    assert result["part/squat"].dataset["displacement"].values[-1, 0, 0] == pytest.approx(exact, rel=1e-9)
    assert abs(result["part/squat"].dataset["angle"].values[-1]) < 1e-12


@pytest.mark.slow
def test_stack_of_three_stands_still():
    """10 s on each other and on the floor: no drift."""
    blocks = [box(f"block {i}", 0.4 - 0.1 * i, 0.2, corner=(0.05 * i, 0.2 * i)) for i in range(3)]
    interfaces = [on(blocks[0])]
    for below, above in pairwise(blocks):
        interfaces.append(
            aq.Interface(
                f"{above.name} on {below.name}",
                above.boundary("base"),
                below.boundary("top"),
                aq.Unilateral(),
                friction=aq.Coulomb(0.5),
                multiplier="nodes",
            )
        )
    result = aq.simulate(
        aq.System(blocks, interfaces=interfaces, gravity=(0.0, -9.81)), aq.Theta(0.5), duration=10.0, step=2e-2
    )
    for i, block in enumerate(blocks):
        assert np.abs(result[f"part/{block.name}"].dataset["displacement"].values).max() < 1e-9
        force = result["interface"].children[interfaces[i].name].dataset["force"].values[-1, 1]
        above = sum(b.inertias[0] for b in blocks[i:])
        assert force == pytest.approx(above * 9.81, rel=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_collision_conserves_momentum(friction):
    """Two boxes in space: linear momentum, and angular momentum about any point, to round-off of the mid-step rule."""
    left = box("left", 0.3, 0.5, corner=(0.0, 0.0), angle=0.05)
    right = box("right", 0.2, 0.4, corner=(0.32, 0.2), angle=-0.1, density=700.0)
    meet = aq.Interface(
        "meet", right.boundary("outline"), left.boundary("right"), aq.Unilateral(),
        friction=aq.Coulomb(friction) if friction else None, multiplier="nodes",
    )  # fmt: skip
    system = aq.System([left, right], interfaces=[meet], velocity={"left": (1.0, 0.2), "right": (-1.5, 0.0)})
    result = aq.simulate(system, aq.Theta(0.5), duration=0.1, step=5e-4)
    total = result["part/left"].dataset["momentum"].values + result["part/right"].dataset["momentum"].values
    np.testing.assert_allclose(total, np.broadcast_to(total[0], total.shape), atol=1e-12 * np.abs(total).max())
    spin = 0.0
    for body in (left, right):
        group = result[f"part/{body.name}"].dataset
        place = body.positions[0] + group["displacement"].values[:, 0]
        p = group["momentum"].values
        spin = (
            spin + place[:, 0] * p[:, 1] - place[:, 1] * p[:, 0] + body.inertias[2] * group["angular_velocity"].values
        )
    assert result["interface/meet"].dataset["impulse"].values.max() > 0.0
    assert np.abs(spin - spin[0]).max() < 1e-11 * np.abs(p).max()
    lost = result["energy"].sel(kind="impact").values[-1]
    assert lost > 0.0 and np.abs(result["balance"]).max() < 1e-13


@pytest.mark.slow
def test_rigid_on_elastic():
    """A rigid block on an elastic bed sinks by its weight."""
    soft = aq.LinearElastic(young=1e6, density=100.0)
    bed = aq.Solid(
        "bed", aq.mesh.rectangle((0.0, 1.0), (-0.5, 0.0), cells=(10, 5)), soft, plane="strain",
        imposed={"bottom": {"x": 0.0, "y": 0.0}}, damping=aq.Rayleigh(50.0, 0.0),
    )  # fmt: skip
    block = box("block", 0.2, 0.2, corner=(0.4, 0.0), density=500.0)
    contact = aq.Interface("contact", block.boundary("base"), bed.boundary("top"), aq.Unilateral(), multiplier="nodes")
    result = aq.simulate(
        aq.System([bed, block], interfaces=[contact], gravity=(0.0, -9.81)), aq.Theta(0.8), duration=1.0, step=5e-3
    )  # fmt: skip
    force = result["interface/contact"].dataset["force"].values[-40:, 1].mean()
    assert force == pytest.approx(500.0 * 0.04 * 9.81, rel=0.02)
    assert np.abs(result["balance"]).max() < 1e-12


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: aq.RigidBody("b", [(0, 0), (0, 1), (1, 0)], mass=1.0), "counter-clockwise"),
        (lambda: aq.RigidBody("b", [(0, 0), (1, 0), (0, 1)]), "give the mass or the density"),
        (lambda: aq.RigidBody("b", [(0, 0), (1, 0), (0, 1)], mass=-1.0), "mass = -1.0: must be positive"),
        (lambda: aq.RigidBody("b", [(0, 0), (1, 0), (0, 1)], mass=1.0, names={"a": [0, 2]}), "corners in a row"),
        (lambda: aq.RigidBody("b", [(0, 0), (1, 0), (0, 1)], mass=1.0, names={"a": [3]}), "must be corners in"),
        (lambda: aq.RigidBody("b", [(0, 0), (1, 0), (0, 1)], mass=1.0, force=(1.0,)), "must be"),
        (lambda: box("b", 1.0, 1.0).boundary("side"), r"no boundary is named 'side' \(boundaries: base, outline"),
        (lambda: aq.RigidBody("b", [(0, 0), (1, 0), (0, 1)], mass=1.0, imposed={"b": {"x": 0.0}}), "those of 'body'"),
    ],
)  # fmt: skip
def test_bad_input(make, message):
    with pytest.raises(aq.UserError, match=message):
        make()
