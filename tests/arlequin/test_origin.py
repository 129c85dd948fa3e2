"""A shift of the origin costs the round-off of coordinates, and a turn of the axes that of their cosines."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
RUBBER = aq.LinearElastic(young=1e6, poisson=0.3, density=1000.0)


@dataclass(frozen=True)
class Frame:
    """x → R x + d, R by an angle about z."""

    origin: tuple = (0.0, 0.0)
    angle: float = 0.0

    @property
    def turn(self):
        c, s = np.cos(self.angle), np.sin(self.angle)
        return np.array([(c, -s), (s, c)]) if self.angle else np.eye(2)

    def place(self, points):
        return np.asarray(points) @ self.turn.T + self.origin

    def along(self, vector):
        return self.turn @ vector

    def back(self, vectors):
        return vectors @ self.turn

    def mesh(self, mesh):
        return replace(mesh, doflocs=self.place(mesh.doflocs.T).T)


def plate(frame, x, y, cells, kind="quad"):
    return frame.mesh(aq.mesh.rectangle(x, y, cells=cells, kind=kind))


def floor(frame, point=(0.0, 0.0)):
    return aq.RigidPlane(point=frame.place(point), normal=frame.along((0.0, 1.0)))


def push(frame, force):
    return lambda x, t: tuple(t * frame.along(force))


def pressed(frame, kind="quad", order=1, layer=0.0):
    """Statics of a block that contact alone holds, on a plane; on a layer of asperities."""
    block = aq.Solid(
        "b", plate(frame, (0.0, 0.1), (0.0, 0.05), (6, 3), kind), STEEL, plane="strain", order=order,
        tractions={"top": push(frame, (5e4, -1e6))},
    )  # fmt: skip
    law = aq.Asperities(1e13, 1.0, layer) if layer else aq.Unilateral(level="gap")
    base = floor(frame, (0.0, -layer))
    contact = aq.Interface("c", block.boundary("bottom"), base, law, friction=aq.Coulomb(0.3))
    return aq.System([block], interfaces=[contact]), aq.Static(), 1.0, 0.5


def stacked(frame, kind="quad", order=1):
    """The same of a block on another, elastic one."""
    upper = aq.Solid(
        "b", plate(frame, (0.0, 0.1), (0.05, 0.1), (5, 3), kind), STEEL, plane="strain", order=order,
        tractions={"top": push(frame, (0.0, -1e6))},
    )  # fmt: skip
    lower = aq.Solid(
        "a", plate(frame, (0.0, 0.1), (0.0, 0.05), (7, 3), kind), STEEL, plane="strain", order=order,
        imposed={"bottom": {"x": 0.0, "y": 0.0}},
    )  # fmt: skip
    contact = aq.Interface(
        "c", upper.boundary("bottom"), lower.boundary("top"), aq.Unilateral(level="gap"), friction=aq.Coulomb(0.3)
    )
    return aq.System([upper, lower], interfaces=[contact]), aq.Static(), 1.0, 0.5


def impact(frame, multiplier=None):
    """An oblique impact of two blocks."""
    lower = aq.Solid(
        "a", plate(frame, (0.0, 0.1), (0.0, 0.05), (6, 3)), STEEL, plane="strain",
        imposed={"bottom": {"x": 0.0, "y": 0.0}},
    )  # fmt: skip
    upper = aq.Solid("b", plate(frame, (0.013, 0.087), (0.05, 0.1), (5, 3)), STEEL, plane="strain")
    contact = aq.Interface(
        "c", upper.boundary("bottom"), lower.boundary("top"), aq.Unilateral(), friction=aq.Coulomb(0.3),
        multiplier=multiplier,
    )  # fmt: skip
    system = aq.System([lower, upper], interfaces=[contact], velocity={"b": frame.along((3.0, -10.0))})
    return system, aq.Theta(0.5), 3e-5, 1e-6


def thrown(frame):
    """A soft block of finite strain thrown at a plane."""
    mesh = plate(frame, (0.0, 0.1), (0.0, 0.05), (6, 3))
    block = aq.Solid("b", mesh, RUBBER, plane="strain", kinematics="finite")
    contact = aq.Interface(
        "c", block.boundary("bottom"), floor(frame, (0.0, -1e-3)), aq.Unilateral(), friction=aq.Coulomb(0.3)
    )
    return aq.System([block], interfaces=[contact], velocity=frame.along((2.0, -5.0))), aq.Theta(0.5), 2e-3, 4e-5


def glued(frame):
    """Two glued meshes."""
    coarse = aq.Solid(
        "a",
        plate(frame, (0.0, 0.2), (0.0, 0.05), (8, 2)),
        STEEL,
        plane="strain",
        imposed={"left": {"x": 0.0, "y": 0.0}},
    )
    fine = aq.Solid(
        "b", plate(frame, (0.1, 0.3), (0.0, 0.05), (19, 5)), STEEL, plane="strain",
        tractions={"right": tuple(frame.along((1e6, 2e5)))},
    )  # fmt: skip
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)]), aq.Theta(0.5), 5e-5, 1e-6


def rigid(frame, scheme):
    """A rigid block, tilted, falls flat and slides."""
    corners = Frame(angle=0.05).place([(-0.2, 0.0), (0.2, 0.0), (0.2, 0.5), (-0.2, 0.5)])
    corners -= (0.0, corners[:, 1].min())
    force = tuple(frame.along((1.0, -30.0)))
    body = aq.RigidBody("b", frame.place(corners), mass=3.0, force=force)
    contact = aq.Interface("c", body.boundary("outline"), floor(frame), aq.Unilateral(), friction=aq.Coulomb(0.4))
    return aq.System([body], interfaces=[contact], velocity=frame.along((1.0, 0.0))), scheme, 0.4, 2e-3


RUNS = {
    "pressed": pressed,
    "pressed tri 2": lambda frame: pressed(frame, "tri", 2),
    "layer": lambda frame: pressed(frame, layer=1e-6),
    "stacked": stacked,
    "stacked quad 2": lambda frame: stacked(frame, "quad", 2),
    "impact": impact,
    "impact nodes": lambda frame: impact(frame, "nodes"),
    "thrown": thrown,
    "glued": glued,
    "located": lambda frame: rigid(frame, aq.Theta(0.5, events="locate")),
    "rigid": lambda frame: rigid(frame, aq.Theta(1.0)),
}
SMALLEST = 0.01  # m, of the cells


def displacement(name, frame=None):
    frame = frame or Frame()
    system, scheme, duration, step = RUNS[name](frame)
    result = aq.simulate(system, scheme, duration=duration, step=step)
    return frame.back(result["part/b"].dataset["displacement"].values)


def off(name, frame):
    """Largest difference of the displacements, m, and the largest of them."""
    before, after = displacement(name), displacement(name, frame)
    return np.abs(after - before).max(), np.abs(before).max()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("distance", [1e3, pytest.param(1e6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", RUNS)
def test_origin(name, distance):
    """Coordinates are rounded to ε d: gaps by as much, strains by ε d over the size of cells."""
    found, size = off(name, Frame((distance, -distance)))
    rounding = np.spacing(distance)
    assert found <= 4.0 * rounding + (10.0 * rounding / SMALLEST + 1e-12) * size


@pytest.mark.slow
@pytest.mark.parametrize("angle", [0.5, 2.0])
@pytest.mark.parametrize("name", [n for n in RUNS if n not in ("pressed", "stacked", "glued")])
def test_angle(name, angle):
    """cos and sin turn the coordinates to round-off, of some 0.1 m."""
    found, size = off(name, Frame(angle=angle))
    assert found <= 1e-15 + 1e-9 * size


@pytest.mark.parametrize("distance", [0.0, 1e2, 1e3])
def test_inertia_far_from_the_origin(distance):
    """m a²/6 of a square of 1 mm, about its own centre."""
    side = 1e-3
    square = side * np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]) + distance
    body = aq.RigidBody("b", square, density=7800.0)
    mass, _, inertia = body.inertias
    tolerance = 1e-14 + 8.0 * np.spacing(distance) / side
    assert mass == pytest.approx(7800.0 * side**2, rel=tolerance)
    assert inertia == pytest.approx(mass * side**2 / 6.0, rel=tolerance)
    np.testing.assert_allclose(body.positions[0], distance + 0.5 * side, atol=2.0 * np.spacing(distance + side))
