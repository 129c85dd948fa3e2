"""Corners, edges, piles and friction in other units: results scale to the last digits.

Lengths, masses and times are multiplied by powers of four, which floating-point arithmetic does exactly (square roots
of masses and stiffnesses, too): a tolerance without the unit of what it is compared with shows up here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import arlequin as aq


@dataclass(frozen=True)
class Units:
    """Factors of numbers in metres, kilogrammes and seconds."""

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    @property
    def speed(self) -> float:
        return self.length / self.time

    @property
    def gravity(self) -> float:
        return 9.81 * self.speed / self.time

    def soft(self) -> aq.LinearElastic:
        """1e8 Pa and 1000 kg/m³."""
        young = 1e8 * self.mass / (self.length * self.time**2)
        return aq.LinearElastic(young=young, poisson=0.3, density=1000.0 * self.mass / self.length**3)

    def mesh(self, made: Any, turned: Any = None, moved: Any = 0.0, **boundaries: Any) -> Any:
        """A mesh, turned and moved in metres, in these units; boundaries: of functions of the places in metres."""
        rotation = np.eye(len(made.p)) if turned is None else turned.as_matrix()[: len(made.p), : len(made.p)]
        places = rotation @ made.p + np.reshape(moved, (-1, 1))
        named = {name: lambda x, at=at: at(x / self.length) for name, at in boundaries.items()}
        mesh = replace(made, doflocs=np.ascontiguousarray(self.length * places))
        return mesh.with_boundaries(named) if named else mesh


def room(units: Units) -> aq.Study:
    """A mass slides on the floor of a room into its wall."""
    box = aq.RigidBox((0.0, 0.0), (units.length, units.length), inside=True)
    mass = aq.PointMasses("part", [(0.5 * units.length, 0.0)], mass=units.mass)
    wall = aq.Interface("contact", mass.boundary("all"), box, aq.Unilateral(restitution=0.5), aq.Coulomb(0.1))
    velocity = {"part": (2.0 * units.speed, 0.0)}
    system = aq.System([mass], interfaces=[wall], gravity=(0.0, -units.gravity), velocity=velocity)
    return aq.Study(system, aq.Theta(0.5), duration=0.3 * units.time, step=7e-4 * units.time)


def table(units: Units) -> aq.Study:
    """A block slides over the edge of a table and tips."""
    low, high = ((x * units.length, y * units.length) for x, y in ((-1.0, -0.5), (0.0, 0.0)))
    outline = [(x * units.length, y * units.length) for x, y in ((-0.12, 0), (-0.02, 0), (-0.02, 0.02), (-0.12, 0.02))]
    block = aq.RigidBody("part", outline, mass=units.mass)
    contact = aq.Interface("contact", block.boundary("outline"), aq.RigidBox(low, high), aq.Unilateral())
    velocity = {"part": (0.5 * units.speed, 0.0)}
    system = aq.System([block], interfaces=[contact], gravity=(0.0, -units.gravity), velocity=velocity)
    return aq.Study(system, aq.Theta(0.5), duration=0.17 * units.time, step=5e-4 * units.time)


def wedge(units: Units) -> aq.Study:
    """An elastic square falls with its corner on an elastic block."""
    height = 0.01 * np.sqrt(2)
    made = aq.mesh.rectangle((-0.01, 0.01), (-0.01, 0.01), cells=(2, 2))
    below = aq.mesh.rectangle((-0.05, 0.05), (-0.02, 0.0), cells=(10, 2))
    turned = Rotation.from_euler("z", 45, degrees=True)
    mesh = units.mesh(made, turned, (0.0, height + 2e-4), low=lambda x: x[1] < height)
    square = aq.Solid("part", mesh, units.soft(), plane="strain", thickness=units.length)
    held = {"bottom": {"x": 0.0, "y": 0.0}}
    floor = aq.Solid(
        "floor", units.mesh(below, bottom=lambda x: x[1] < -0.02 + 1e-9, top=lambda x: x[1] > -1e-9), units.soft(),
        plane="strain", imposed=held, thickness=units.length,
    )  # fmt: skip
    contact = aq.Interface("contact", square.boundary("low"), floor.boundary("top"), aq.Unilateral())
    system = aq.System([floor, square], interfaces=[contact], velocity={"part": (0.0, -units.speed)})
    return aq.Study(system, aq.Theta(0.5), duration=6e-3 * units.time, step=4e-5 * units.time)


def bars(units: Units) -> aq.Study:
    """Two bars that cross, edge on edge."""
    height = 0.01 * np.sqrt(2)

    def bar(name: str, across: bool, z: float, imposed: Any) -> aq.Solid:
        made = aq.mesh.box((-0.1, 0.1), (-0.01, 0.01), (-0.01, 0.01), cells=(5, 1, 1))
        turned = Rotation.from_euler("x", 45, degrees=True)
        turned = Rotation.from_euler("z", 90, degrees=True) * turned if across else turned
        mesh = units.mesh(
            made, turned, (0.0, 0.0, z), up=lambda x: x[2] > z + 1e-4, down=lambda x: x[2] < z - 1e-4,
            ends=lambda x: np.hypot(x[0], x[1]) > 0.0999,
        )  # fmt: skip
        return aq.Solid(name, mesh, units.soft(), imposed=imposed)

    low = bar("low", False, 0.0, {"ends": {"x": 0.0, "y": 0.0, "z": 0.0}})
    high = bar("part", True, 2 * height + 2e-4, {})
    contact = aq.Interface("contact", high.boundary("down"), low.boundary("up"), aq.Unilateral(), multiplier="nodes")
    system = aq.System([low, high], interfaces=[contact], velocity={"part": (0.0, 0.0, -units.speed)})
    return aq.Study(system, aq.Theta(0.5), duration=2e-3 * units.time, step=4e-5 * units.time)


def cube(units: Units) -> aq.Study:
    """A rigid cube falls on two corners while others strike."""
    made = aq.mesh.box((-0.05, 0.05), (-0.05, 0.05), (0.0, 0.1), cells=(1, 1, 1))
    turned = Rotation.from_rotvec((0.088622, 0.009222, 0.0))
    low = (turned.as_matrix() @ made.p)[2].min()
    mesh = units.mesh(made, turned, (0.0, 0.0, 1e-4 - low), skin=lambda x: x[0] > -1e9)
    part = aq.Rigid(aq.Solid("part", mesh, units.soft()))
    plane = aq.RigidPlane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    law = aq.Unilateral(restitution=0.3)
    floor = aq.Interface("contact", part.boundary("skin"), plane, law, friction=aq.Coulomb(0.4))
    velocity = tuple(units.speed * np.array([0.4, 0.2, -0.1]))
    system = aq.System([part], interfaces=[floor], gravity=(0.0, 0.0, -units.gravity), velocity=velocity)
    return aq.Study(system, aq.Theta(0.5), duration=0.03 * units.time, step=5e-4 * units.time)


def pile(units: Units) -> aq.Study:
    """Boxes on each other, the upper ones heavier."""
    parts: list[Any] = []
    contacts = []
    for k, mass in enumerate((1.0, 30.0, 900.0, 27000.0)):
        corners = units.length * np.array([(0, k), (1, k), (1, k + 1), (0, k + 1)]) * 0.1
        names = {"sole": [0, 1], "top": [2, 3]}
        name = "part" if k == 3 else f"box{k}"
        box = aq.RigidBody(name, [tuple(corner) for corner in corners], mass=mass * units.mass, names=names)
        below = parts[-1].boundary("top") if parts else aq.RigidPlane((0.0, 0.0), (0.0, 1.0))
        own = "contact" if k == 3 else f"contact{k}"
        contacts.append(aq.Interface(own, box.boundary("sole"), below, aq.Unilateral(), friction=aq.Coulomb(0.3)))
        parts.append(box)
    system = aq.System(parts, interfaces=contacts, gravity=(0.0, -units.gravity))
    return aq.Study(system, aq.Theta(0.5), duration=0.03 * units.time, step=1e-3 * units.time)


def slider(units: Units) -> aq.Study:
    """An elastic block that sticks and slips on a plane."""
    mesh = units.mesh(aq.mesh.rectangle((0.0, 1.0), (0.0, 0.3), cells=(12, 4)))
    pressure = units.mass / (units.length * units.time**2)
    material = aq.LinearElastic(young=2e5 * pressure, poisson=0.2, density=3.0 * units.mass / units.length**3)
    load = (120.0 * pressure, -2000.0 * pressure)
    part = aq.Solid(
        "part", mesh, material, plane="strain", thickness=units.length, tractions={"top": load},
    )  # fmt: skip
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("contact", part.boundary("bottom"), plane, aq.Unilateral(), friction=aq.Coulomb(0.4))
    velocity = 2.0 * units.speed, -0.5 * units.speed
    system = aq.System([part], interfaces=[contact], velocity=velocity)
    return aq.Study(system, aq.Theta(0.5), duration=0.05 * units.time, step=1e-3 * units.time)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("made", [room, table, wedge, bars, cube, pile, slider], ids=lambda made: made.__name__)
@pytest.mark.parametrize(
    "units", [Units(4.0**5, 1.0, 1.0), Units(4.0**-10, 4.0**-9, 4.0**-5), Units(1.0, 4.0**10, 4.0**5)]
)
def test_other_units(made: Callable[[Units], aq.Study], units: Units) -> None:
    first, other = (made(each).run(progress=False) for each in (Units(), units))
    force = units.mass * units.speed / units.time
    scales = {
        "part/part/displacement": units.length, "part/part/velocity": units.speed, "interface/contact/force": force,
    }  # fmt: skip
    assert float(np.abs(first["interface/contact/force"]).max()) > 0.0
    for name, scale in scales.items():
        exact = first[name].values
        np.testing.assert_allclose(
            other[name].values / scale, exact, rtol=0.0, atol=1e-13 * np.abs(exact).max(), err_msg=name
        )
