"""Rigid parts in time: tops, pendulums, impacts, friction, stacks, against rigid-body mechanics."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import arlequin as aq

G = 9.81
DOWN = (0.0, 0.0, -G)
STONE = aq.LinearElastic(young=1e7, poisson=0.3, density=1000.0)
FLOOR = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
TOP = (1.0, 0.6, 0.3)


def solid(name="body", low=(0.0, 0.0, 0.0), size=(1.0, 1.0, 1.0), cells=(1, 1, 1), **more):
    shape = aq.mesh.box(*[(a, a + b) for a, b in zip(low, size, strict=True)], cells=cells)
    return aq.Solid(name, shape, STONE, **more)


def rigid(*args, **more):
    return aq.Rigid(solid(*args, **more))


def on(slave, master=FLOOR, friction=None, boundary="back"):
    rough = aq.Coulomb(friction) if friction else None
    name = "under " + slave.name
    return aq.Interface(name, slave.boundary(boundary), master, aq.Unilateral(), friction=rough)


def node(part, place):
    """The node at a place, as a boundary."""
    for name in part.mesh.boundaries:
        surface = part.boundary(name)
        here = np.flatnonzero(np.abs(surface.positions - place).max(axis=1) < 1e-12)
        if here.size:
            k = surface.nodes[here]
            return replace(
                surface, nodes=k, areas=surface.areas[here], normals=surface.normals[here], facets=k[:, None]
            )
    raise AssertionError("no node there")


def pin(part, place, label="pin", axes="xyz"):
    return [aq.Relation(f"{label} {axis}", [(node(part, place), axis, 1.0)]) for axis in axes]


def box_inertia(mass, size):
    a, b, c = np.square(size)
    return mass / 12 * np.array([b + c, a + c, a + b])


def rotating(inertia, spin, end, torque=lambda R: np.zeros(3)):
    """R and the spin in the body of Euler's equations J ω̇ = Jω × ω + Rᵀ torque(R), Ṙ = R [ω], as a solution."""

    def rate(t, z):
        R, w = z[:9].reshape(3, 3), z[9:]
        hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([(R @ hat).ravel(), (np.cross(inertia * w, w) + R.T @ torque(R)) / inertia])

    start = np.concatenate([np.eye(3).ravel(), spin])
    return solve_ivp(rate, (0, end), start, rtol=1e-12, atol=1e-13, dense_output=True).sol


def momenta(result, parts):
    """Linear and angular momentum (t, 6), the sum over the nodes of the solids' own mass."""
    total = 0.0
    for part in parts:
        group = result[f"part/{part.name}"]
        x, v = part.positions + group["displacement"].values, group["velocity"].values
        p = np.stack([(part.model.assemble().mass @ now.ravel()).reshape(now.shape) for now in v])
        total = total + np.concatenate([p.sum(axis=1), np.cross(x, p).sum(axis=1)], axis=1)
    return total


def arms(part):
    """Lengths (t → matrix) between some nodes."""
    return lambda x: np.linalg.norm(x[..., :, None, :] - x[..., None, :, :], axis=-1)


def drift(result, part):
    """Largest change of a distance between nodes, relative to the largest distance."""
    x = part.positions + result[f"part/{part.name}"]["displacement"].values
    lengths = arms(part)(x)
    return np.abs(lengths - arms(part)(part.positions)).max() / lengths.max()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("steps", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Midpoint()])
def test_free_top_keeps_energy_and_momenta(scheme, steps):
    body = rigid(size=TOP)
    system = aq.System([body], velocity=lambda x: np.cross((0.3, 5.0, 1.0), x) + np.array((0.5, 0.0, 0.2)))
    result = aq.simulate(system, scheme, duration=steps * 0.02, step=0.02)
    kinetic = result["energy"].sel(kind="kinetic").values
    np.testing.assert_allclose(kinetic, kinetic[0], rtol=1e-12)
    m = momenta(result, [body])
    assert np.abs(m - m[0]).max() < 1e-12 * np.abs(m[0]).max()
    assert drift(result, body) < 1e-13
    assert abs(result["balance"]).max() < 1e-12


@pytest.mark.slow
def test_tennis_racket():
    """A spin about the middle axis turns over; order 2 against Euler's equations."""
    body, spin, end = rigid(size=TOP), np.array([0.05, 6.0, 0.0]), 3.0
    exact = rotating(box_inertia(body.mass, TOP), spin, end)
    system = aq.System([body], velocity=lambda x: np.cross(spin, x - body.centre))
    errors = []
    for step in (0.02, 0.01):
        result = aq.simulate(system, aq.Theta(0.5), duration=end, step=step)
        x = body.positions + result["part/body"]["displacement"].values
        turns = np.array([exact(t)[:9].reshape(3, 3) for t in result["time"].values])
        errors.append(np.abs(x - body.centre - (body.positions - body.centre) @ turns.transpose(0, 2, 1)).max())
    assert errors[1] < 0.02
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    # the axis (corner to corner along y) is turned over in between
    middle = x[:, body.positions[:, 1] > 0.3].mean(axis=1) - body.centre
    assert middle[:, 1].min() < -0.9 * 0.3


def test_pushed_off_its_centre():
    """A dead traction on a face: the centre as a point mass, the rotation by Euler's equations, order 2."""
    push, end = np.array([0.0, 900.0, 300.0]), 0.6
    body = rigid(size=TOP, tractions={"right": tuple(push)})
    force, arm = push * TOP[1] * TOP[2], np.array([TOP[0] / 2, 0.0, 0.0])
    exact = rotating(box_inertia(body.mass, TOP), np.zeros(3), end, lambda R: np.cross(R @ arm, force))
    errors = []
    for step in (0.02, 0.01):
        result = aq.simulate(aq.System([body]), aq.Theta(0.5), duration=end, step=step)
        x = body.positions + result["part/body"]["displacement"].values[-1]
        centre = body.centre + force / body.mass * end**2 / 2
        errors.append(np.abs(x - centre - (body.positions - body.centre) @ exact(end)[:9].reshape(3, 3).T).max())
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.slow
def test_heavy_top():
    """A column spins on a pinned point of its top face; order 2, the pin and the energy to round-off."""
    size, end, spin = np.array([0.2, 0.3, 1.0]), 0.5, np.array([1.0, 2.0, 6.0])
    body = rigid(low=(-0.1, -0.15, -1.0), size=size, cells=(2, 2, 1))
    centre = np.array([0.0, 0.0, -0.5])
    inertia = box_inertia(body.mass, size) + body.mass * 0.25 * np.array([1.0, 1.0, 0.0])
    exact = rotating(inertia, spin, end, lambda R: np.cross(R @ centre, body.mass * np.array(DOWN)))(end)
    system = aq.System([body], relations=pin(body, (0.0, 0.0, 0.0)), gravity=DOWN, velocity=lambda x: np.cross(spin, x))
    errors = []
    for step in (0.01, 0.005):
        result = aq.simulate(system, aq.Theta(0.5), duration=end, step=step)
        u = result["part/body"]["displacement"].values
        errors.append(np.abs(body.positions + u[-1] - body.positions @ exact[:9].reshape(3, 3).T).max())
        held = np.abs(body.positions).max(axis=1) < 1e-12
        assert np.abs(u[:, held]).max() < 1e-14
        assert abs(result["balance"]).max() < 1e-13
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert errors[1] < 2e-3


@pytest.mark.slow
def test_hinge_of_two_pins():
    """The constraints have a row too many; a physical pendulum of angle φ: J φ̈ = −m g l sin φ."""
    size = (1.0, 0.4, 0.2)
    body = rigid(low=(0.0, 0.0, -0.2), size=size)
    relations = pin(body, (0.0, 0.0, 0.0), "a") + pin(body, (0.0, 0.4, 0.0), "b")
    lever, mass = np.hypot(0.5, 0.1), body.mass
    inertia = mass / 12 * (1.0 + 0.04) + mass * lever**2
    first = np.arctan2(0.5, 0.1)  # from hanging
    end = 0.6
    swing = solve_ivp(
        lambda t, z: (z[1], -mass * G * lever * np.sin(z[0]) / inertia), (0, end), (first, 0.0), rtol=1e-11, atol=1e-12
    )
    result = aq.simulate(aq.System([body], relations=relations, gravity=DOWN), aq.Theta(0.5), duration=end, step=2e-3)
    x = (body.positions + result["part/body"]["displacement"].values[-1]).mean(axis=0)
    np.testing.assert_allclose(np.arctan2(x[0], -x[2]), swing.y[0, -1], atol=1e-4)
    assert abs(x[1] - 0.2) < 1e-12
    kinetic = result["energy"].sel(kind="kinetic").values[-1]
    assert kinetic == pytest.approx(-mass * G * (x[2] + 0.1), rel=1e-12)


def test_held_all_over_it_stays():
    """Relations on a face hold all of it: every constraint of rigidity is implied."""
    body = rigid()
    relations = [aq.Relation(axis, [(body.boundary("left"), axis, 1.0)]) for axis in "xyz"]
    result = aq.simulate(aq.System([body], relations=relations, gravity=DOWN), aq.Theta(0.5), duration=0.05, step=1e-2)
    assert np.abs(result["part/body"]["displacement"].values).max() < 1e-14


@pytest.mark.slow
def test_on_a_spring():
    """u = (F/k)(1 − cos ωt), ω² = k/m: the spring of a face pulls through the centre."""
    body, stiffness = rigid(), 4e5
    spring = aq.Spring("spring", body.boundary("back"), stiffness=stiffness, direction=(0.0, 0.0, 1.0))
    result = aq.simulate(aq.System([body], springs=[spring], gravity=DOWN), aq.Theta(0.5), duration=0.4, step=1e-3)
    omega, t = np.sqrt(stiffness / 1000.0), result["time"].values
    exact = -(G / omega**2) * (1 - np.cos(omega * t))
    u = result["part/body"]["displacement"].values
    np.testing.assert_allclose(u[:, :, 2], exact[:, None] * np.ones(8), atol=2e-3 * np.abs(exact).max())
    assert np.abs(u[:, :, :2]).max() < 1e-13


@pytest.mark.slow
def test_dropped_flat_it_rests():
    """Impact to the step, m v at once, then the weight; nothing drifts."""
    body, height, step = rigid(size=(1.0, 1.0, 0.5)), 0.01, 1e-3
    system = aq.System([body], interfaces=[on(body, friction=0.3)], gravity=DOWN, displacement=(0.0, 0.0, height))
    result = aq.simulate(system, aq.Theta(0.5), duration=0.25, step=step)
    force = result["interface/under body"]["force"].values
    fall = np.sqrt(2 * height / G)
    hit = int(np.flatnonzero(force[:, 2])[0])
    assert hit * step == pytest.approx(fall, abs=2 * step)
    assert force[hit, 2] * step == pytest.approx(500.0 * G * hit * step, rel=1e-12)
    np.testing.assert_allclose(force[hit + 1 :, 2], 500.0 * G, rtol=1e-10)
    u = result["part/body"]["displacement"].values
    assert np.abs(u[hit + 1 :] - u[hit]).max() < 1e-13
    assert abs(result["balance"]).max() < 1e-13


@pytest.mark.slow
def test_rest_does_not_drift():
    body = rigid(size=(1.0, 0.7, 0.5), cells=(2, 2, 1))
    system = aq.System([body], interfaces=[on(body, friction=0.3)], gravity=DOWN)
    result = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=1e-3)
    assert np.abs(result["part/body"]["displacement"].values[-1]).max() < 1e-12


@pytest.mark.parametrize("friction", [None, 10.0])
def test_impact_on_a_corner(friction):
    """p = v_n/(nᵀWn), or W⁻¹v where it sticks, W = 1/m − [r] J⁻¹ [r]; order 1: the body turns in the step."""
    body, speed = rigid(), np.array([0.3, 0.2, -2.0])
    turn = Rotation.from_rotvec((0.5, 0.3, 0.2)).as_matrix()
    corners = (body.positions - body.centre) @ turn.T
    low = corners[:, 2].argmin()
    field = corners + body.centre - body.positions - np.array([0.0, 0.0, (corners + body.centre)[low, 2]])
    r = corners[low]
    hat = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    W = np.eye(3) / body.mass - hat @ hat * 6 / body.mass
    exact = np.array([0.0, 0.0, -speed[2] / W[2, 2]]) if friction is None else np.linalg.solve(W, -speed)
    errors = []
    for step in (1e-3, 1e-4):
        system = aq.System(
            [body], interfaces=[on(body, friction=friction)], displacement=lambda x: field, velocity=tuple(speed)
        )
        result = aq.simulate(system, aq.Theta(1.0), duration=step, step=step)
        impulse = step * result["interface/under body"]["force"].values[-1]
        errors.append(np.abs(impulse - exact).max() / np.abs(exact).max())
    assert errors[0] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.2)


def test_sliding_to_a_stop():
    """Coulomb: v = v₀ − μ g t along a line in the plane, to rest after v₀²/(2 μ g)."""
    body, friction, start = rigid(size=(1.0, 1.0, 0.2)), 0.5, np.array([0.6, 0.3, 0.0])
    system = aq.System([body], interfaces=[on(body, friction=friction)], gravity=DOWN, velocity=tuple(start))
    speed = np.linalg.norm(start)
    step = speed / (friction * G) / 60  # it stops at the end of a step
    result = aq.simulate(system, aq.Theta(0.5), duration=80 * step, step=step)
    t = np.minimum(result["time"].values, 60 * step)
    exact = (speed * t - friction * G * t**2 / 2)[:, None] * start / speed
    u = result["part/body"]["displacement"].values
    np.testing.assert_allclose(u, np.broadcast_to(exact[:, None], u.shape), atol=1e-12)
    friction_loss = result["energy"].sel(kind="friction").values[-1]
    assert friction_loss == pytest.approx(0.5 * body.mass * speed**2, rel=1e-12)


@pytest.mark.parametrize("friction", [0.2, 0.6])
def test_on_an_incline(friction):
    """At 20°: a = g (sin − μ cos), or rest."""
    slope = np.radians(20.0)
    body = rigid(size=(1.0, 1.0, 0.2))
    lean = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    system = aq.System([body], interfaces=[on(body, friction=friction)], gravity=lean)
    result = aq.simulate(system, aq.Theta(0.5), duration=0.5, step=1e-2)
    exact = max(G * (np.sin(slope) - friction * np.cos(slope)), 0.0) * 0.5**2 / 2
    u = result["part/body"]["displacement"].values[-1]
    np.testing.assert_allclose(u, np.broadcast_to((exact, 0.0, 0.0), u.shape), atol=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("multiplier", ["P1", "nodes"])
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Theta(1.0)])
def test_a_stack_stands(scheme, multiplier):
    """Three cubes, each shifted on the one below, carry the weights above."""
    cubes = [rigid(f"c{i}", (0.1 * i, 0.07 * i, float(i)), cells=(3, 3, 1)) for i in range(3)]
    above = [replace(on(b, a.boundary("front"), 0.4), multiplier=multiplier) for a, b in pairwise(cubes)]
    system = aq.System(cubes, interfaces=[on(cubes[0], friction=0.4), *above], gravity=DOWN)
    result = aq.simulate(system, scheme, duration=1.0, step=2e-2)
    for i, cube in enumerate(cubes):
        force = result[f"interface/under {cube.name}"]["force"].values[1:]
        np.testing.assert_allclose(force, np.broadcast_to((0.0, 0.0, (3 - i) * 1000.0 * G), force.shape), atol=1e-5)
        assert np.abs(result[f"part/{cube.name}"]["displacement"].values).max() < 1e-11


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Theta(1.0)])
def test_a_stack_of_single_cells_stands(scheme):
    """Of each pair of faces one corner of either lies within the other, and two pairs of edges cross: four supports."""
    cubes = [rigid(f"c{i}", (0.1 * i, 0.07 * i, float(i))) for i in range(3)]
    above = [replace(on(b, a.boundary("front"), 0.4), multiplier="nodes") for a, b in pairwise(cubes)]
    system = aq.System(cubes, interfaces=[on(cubes[0], friction=0.4), *above], gravity=DOWN)
    result = aq.simulate(system, scheme, duration=0.3, step=1e-2)
    for i, cube in enumerate(cubes):
        force = result[f"interface/under {cube.name}"]["force"].values[1:]
        np.testing.assert_allclose(force, np.broadcast_to((0.0, 0.0, (3 - i) * 1000.0 * G), force.shape), atol=1e-5)
        assert np.abs(result[f"part/{cube.name}"]["displacement"].values).max() < 1e-11
    assert abs(result["balance"]).max() < 1e-12


@pytest.mark.slow
def test_on_an_elastic_column():
    """Set on a light column of stiffness E A/L, ν = 0: u = −(g/ω²)(1 − cos ωt), ω² = E A/(L m)."""
    light = aq.LinearElastic(young=2e6, density=1e-3)
    shape = aq.mesh.box((0.0, 1.0), (0.0, 1.0), (-2.0, 0.0), cells=(1, 1, 2))
    column = aq.Solid("column", shape, light, imposed={"back": {"x": 0.0, "y": 0.0, "z": 0.0}})
    body = rigid()
    system = aq.System([column, body], interfaces=[on(body, column.boundary("front"))], gravity=DOWN)
    omega = np.sqrt(1e6 / 1000.0)
    result = aq.simulate(system, aq.Theta(0.5), duration=0.19, step=2e-3)
    exact = -(G / omega**2) * (1 - np.cos(omega * result["time"].values))
    u = result["part/body"]["displacement"].values[:, :, 2]
    np.testing.assert_allclose(u, exact[:, None] * np.ones(8), atol=5e-3 * np.abs(exact).max())
    assert drift(result, body) < 1e-13


def test_tied_to_an_elastic_block():
    """Half rigid, half of finite rotations, it spins: energy and both momenta stay."""
    body, soft = rigid("body", (0.0, 0.0, 1.0)), solid("soft", cells=(2, 2, 2), kinematics="finite")
    tie = aq.Tie(body.boundary("back"), soft.boundary("front"))
    system = aq.System([body, soft], junctions=[tie], velocity=lambda x: np.cross((2.0, 1.0, 0.5), x))
    result = aq.simulate(system, aq.Theta(0.5), duration=0.1, step=2e-3)
    m = momenta(result, [body, soft])
    assert np.abs(m - m[0]).max() < 1e-11 * np.abs(m[0]).max()
    assert abs(result["balance"]).max() < 1e-12
    assert abs(result["energy"].sel(kind="scheme")).max() < 1e-12 * result["energy"].max()
    assert drift(result, body) < 1e-13


@pytest.mark.slow
def test_collision_in_flight():
    """Two bodies that spin hit each other: both momenta stay, and what energy is lost is `impact`."""
    a, b = rigid("a"), rigid("b", (1.3, 0.2, 0.4), (0.8, 1.0, 0.6))
    away = {"a": lambda x: np.cross((0.4, 0.2, -0.3), x) + np.array((1.0, 0.0, 0.0)), "b": (-1.0, 0.1, 0.0)}
    meeting = aq.Interface("meet", a.boundary("right"), b.boundary("left"), aq.Unilateral(), friction=aq.Coulomb(0.3))
    result = aq.simulate(aq.System([a, b], interfaces=[meeting], velocity=away), aq.Theta(0.5), duration=0.3, step=5e-3)
    assert np.abs(result["interface/meet"]["force"].values).max() > 0.0
    m = momenta(result, [a, b])
    assert np.abs(m - m[0]).max() < 1e-11 * np.abs(m[0]).max()
    assert abs(result["balance"]).max() < 1e-12
    assert result["energy"].sel(kind="kinetic").values[-1] < result["energy"].sel(kind="kinetic").values[0]


@pytest.mark.slow
def test_rocking_plate_is_the_rigid_polygon():
    """A tilted block of the plane falls over its corner and back: `RigidBody`, in other coordinates."""
    cos, sin = np.cos(0.05), np.sin(0.05)
    turn = np.array([[cos, -sin], [sin, cos]])
    shape = aq.mesh.rectangle((0.0, 0.36), (0.0, 0.8), cells=(1, 1))
    plate = aq.Rigid(aq.Solid("block", shape, STONE, plane="strain"))
    corners = np.array([(0.0, 0.0), (0.36, 0.0), (0.36, 0.8), (0.0, 0.8)])
    polygon = aq.RigidBody("block", corners @ turn.T, names={"bottom": [0, 1]}, density=1000.0)
    floor, energies = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0)), []
    for part, tilt in ((plate, lambda x: x @ turn.T - x), (polygon, None)):
        interface = on(part, floor, 0.9, "bottom")
        system = aq.System([part], interfaces=[interface], gravity=(0.0, -G), displacement=tilt)
        result = aq.simulate(system, aq.Theta(1.0), duration=0.3, step=1e-3)
        energies.append(result["energy"].sel(kind="kinetic").values)
    assert energies[1].max() > 5.0  # J
    np.testing.assert_allclose(energies[0], energies[1], atol=1e-4 * energies[1].max())


def test_turning_on_a_corner():
    """On a rough floor, from rest: a top that falls about that point, by Euler's equations; order 2."""
    body, end = rigid(size=TOP), 0.15
    tilt = Rotation.from_rotvec((0.3, -0.4, 0.0)).as_matrix()
    placed = body.positions @ tilt.T
    corner = placed[placed[:, 2].argmin()]
    centre, mass = body.centre - body.positions[placed[:, 2].argmin()], body.mass
    # J about the corner is full in the axes of the box: its principal ones are those of the equations
    J = np.diag(box_inertia(mass, TOP)) + mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    values, axes = np.linalg.eigh(J)
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    lever = axes.T @ centre
    first = tilt @ axes
    exact = rotating(values, np.zeros(3), end, lambda R: first.T @ np.cross(first @ R @ lever, mass * np.array(DOWN)))
    fallen = first @ exact(end)[:9].reshape(3, 3) @ lever
    errors = []
    for step in (0.005, 0.0025):
        system = aq.System(
            [body],
            interfaces=[on(body, friction=5.0)],
            gravity=DOWN,
            displacement=lambda x: placed - (0.0, 0.0, corner[2]) - body.positions,
        )
        result = aq.simulate(system, aq.Theta(0.5), duration=end, step=step)
        x = (body.positions + result["part/body"]["displacement"].values[-1]).mean(axis=0)
        errors.append(np.abs(x - (corner - (0.0, 0.0, corner[2]) + fallen)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert errors[1] < 1e-4


def test_start_fields_are_made_rigid():
    """What stretches is left out of the velocity; what bends is left out of the place."""
    body = rigid(size=TOP)

    def velocity(x):
        return np.cross((0.1, 0.2, 0.3), x - body.centre) + 0.7 * (x - body.centre) + (1.0, 0.0, 0.0)

    result = aq.simulate(aq.System([body], velocity=velocity), aq.Theta(0.5), duration=1e-3, step=1e-3)
    v = result["part/body"]["velocity"].values[0]
    exact = np.cross((0.1, 0.2, 0.3), body.positions - body.centre) + np.array((1.0, 0.0, 0.0))
    np.testing.assert_allclose(v, exact, atol=1e-14)
    placed = aq.simulate(
        aq.System([body], displacement=lambda x: 0.1 * (x - body.centre)), aq.Theta(0.5), duration=1e-3, step=1e-3
    )
    np.testing.assert_allclose(placed["part/body"]["displacement"].values[0], 0.0, atol=1e-14)


@pytest.mark.parametrize("scheme", [aq.Newmark(), aq.CentralDifference(), aq.Static(), aq.DeVogelaere()])
def test_other_schemes_refuse(scheme):
    with pytest.raises(aq.UserError, match=r"Theta|masses, bars"):
        aq.simulate(aq.System([rigid()]), scheme, duration=1e-2, step=1e-3)


def test_natural_frequencies_refuse():
    with pytest.raises(aq.UserError, match="Rigid parts are not for natural frequencies"):
        aq.natural_frequencies(aq.System([rigid()]), 2)


def test_a_start_that_contradicts_a_relation():
    body = rigid()
    tilt = Rotation.from_rotvec((0.0, 0.5, 0.0)).as_matrix()
    relations = [aq.Relation("face", [(body.boundary("left"), axis, 1.0)]) for axis in "z"]
    with pytest.raises(aq.UserError, match="contradict"):
        aq.simulate(
            aq.System([body], relations=relations, displacement=lambda x: x @ tilt.T - x),
            aq.Theta(0.5), duration=1e-2, step=1e-3,
        )  # fmt: skip
