"""Points that meet points and two planes: closed forms of collisions, momentum, who may meet whom."""

import math
from typing import Any

import numpy as np
import pytest

import arlequin as aq

STIFF = 5e4


@pytest.mark.sampled(7)
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("together", [pytest.param(True, marks=pytest.mark.kernels), False])
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.RungeKutta(1e-10)], ids=str)
def test_two_masses_collide(axes: int, together: bool, scheme: Any) -> None:
    """Half a turn at √(K/m'), m' the reduced mass, then the velocities of an elastic collision; momentum is kept."""
    along = np.array([[1.0], [0.6, 0.8], [2 / 3, -1 / 3, 2 / 3]][axes - 1])  # type: ignore[arg-type]
    masses, speed = (3.0, 2.0), 1.2
    place = [0.0 * along, 1e-9 * along]
    if together:
        part = aq.PointMasses("m", place, masses, names={"a": 0, "b": 1})
        parts, ends = [part], (part.boundary("a"), part.boundary("b"))
        velocity: Any = np.array([speed * along, 0.0 * along])
    else:
        parts = [aq.PointMasses(name, x, m) for name, x, m in zip("ab", place, masses, strict=True)]
        ends = (parts[0].boundary("all"), parts[1].boundary("all"))
        velocity = {"a": tuple(speed * along)}
    meet = aq.Interface("meet", *ends, aq.ImpactElement(STIFF), direction=tuple(3.0 * along))
    reduced = masses[0] * masses[1] / sum(masses)
    half = math.pi * math.sqrt(reduced / STIFF)
    result = aq.simulate(
        aq.System(parts, interfaces=[meet], velocity=velocity), scheme, duration=1.1 * half, step=half / 1000
    )
    v = np.concatenate([result[f"part/{part.name}/velocity"].values for part in parts], axis=1)
    after = np.array([(masses[0] - masses[1]), 2.0 * masses[0]]) / sum(masses) * speed
    np.testing.assert_allclose(v[-1], after[:, None] * along, atol=1e-9)
    np.testing.assert_allclose(np.einsum("tna,n->ta", v, masses), np.tile(3.0 * speed * along, (len(v), 1)), atol=1e-12)
    force = result["interface/meet/force"].values
    assert -(force @ along).min() == pytest.approx(speed * math.sqrt(reduced * STIFF), rel=1e-5)
    assert np.abs(result["balance"].values).max() <= 1e-12


@pytest.mark.kernels
def test_friction_between_two_masses_keeps_momentum_along_it() -> None:
    """Pressed by a spring and slipping across: μN each way until they move together, as if there were one line."""
    a, b = (aq.PointMasses(name, (0.0, y), 1.0) for name, y in (("a", 0.0), ("b", 0.0)))
    press = aq.Spring("press", a.boundary("all"), b.boundary("all"), stiffness=1.0, direction=(0.0, 1.0))
    law = aq.Coulomb(0.4, stiffness=1e6)
    meet = aq.Interface(
        "meet", a.boundary("all"), b.boundary("all"), aq.ImpactElement(STIFF), law, direction=(0.0, 1.0)
    )
    depth = 1e-4
    system = aq.System(
        [a, b], interfaces=[meet], springs=[press], velocity={"a": (0.02, 0.0)},
        displacement={"a": (0.0, depth)},
    )  # fmt: skip
    result = aq.simulate(system, aq.Theta(0.5), duration=5e-4, step=1e-6)
    va, vb = (result[f"part/{name}/velocity"].values[:, 0] for name in "ab")
    np.testing.assert_allclose(va + vb, np.tile([0.02, 0.0], (len(va), 1)), atol=1e-14)
    force = result["interface/meet/force"].values
    slipping = slice(102, 300)  # from μN/(K_T v) = 100 µs on
    np.testing.assert_allclose(force[slipping, 0], 0.4 * force[slipping, 1], rtol=1e-9)
    assert np.abs(result["balance"].values).max() <= 1e-12


def test_between_two_planes() -> None:
    """To and fro: T = 2 (L/v + π √(m/K))."""
    one = aq.PointMasses("m", (0.0, 0.0), 1.0)
    normals, play, speed = ((0.0, 1.0), (0.0, -1.0)), 0.01, 0.7
    walls = [
        aq.Interface(name, one.boundary("all"), aq.RigidPlane((0.0, -0.5 * play * n[1]), n), aq.ImpactElement(STIFF))
        for name, n in zip(("low", "high"), normals, strict=True)
    ]
    period = 2.0 * (play / speed + math.pi / math.sqrt(STIFF))
    result = aq.simulate(
        aq.System([one], interfaces=walls, velocity=(0.0, speed)),
        aq.Theta(0.5),
        duration=5 * period,
        step=period / 4000,
    )
    y, v = (result[f"part/m/{name}"].values[-1, 0, 1] for name in ("displacement", "velocity"))
    assert abs(y) <= 2e-4 * play
    assert v == pytest.approx(speed, rel=1e-9)


@pytest.mark.kernels
def test_ends_of_beams_meet() -> None:
    """A falling mass on a stop carried by a beam: at rest the load is K A g at the end of the beam."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    section = aq.Section.circle(0.01)
    root = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}
    beam = aq.Beam("beam", aq.mesh.interval(0.0, 1.0, cells=8), steel, section, dimension=2, imposed=root)
    load = aq.PointMasses("load", (1.0, 0.0), 1.0, forces={"all": lambda t: (0.0, -10.0 * t)})
    meet = aq.Interface(
        "meet", load.boundary("all"), beam.boundary("right"), aq.ImpactElement(1e5), direction=(0.0, -1.0)
    )
    guide = aq.Spring("guide", load.boundary("all"), stiffness=(1e3, 0.0))
    result = aq.simulate(
        aq.System([beam, load], interfaces=[meet], springs=[guide]), aq.Static(), duration=1.0, step=0.5
    )
    tip = result["part/beam/displacement"].values[-1, -1, 1]
    inertia = math.pi * 0.01**4 / 4
    assert tip == pytest.approx(-10.0 / (3.0 * 2e11 * inertia), rel=2e-3)
    assert result["part/load/displacement"].values[-1, 0, 1] == pytest.approx(tip - 1e-4, rel=1e-6)
    np.testing.assert_allclose(result["interface/meet/force"].values[-1], (0.0, 10.0), atol=1e-6)


def test_who_may_meet_whom() -> None:
    masses = aq.PointMasses("m", ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0)), 1.0, names={"a": 0, "b": (1, 2)})
    one = aq.PointMasses("one", (0.0, 0.0), 1.0).boundary("all")

    def meet(slave: Any, master: Any, direction: Any = (1.0, 0.0)) -> Any:
        return aq.Interface("meet", slave, master, aq.ImpactElement(1.0), direction=direction).pairing()

    with pytest.raises(aq.UserError, match="give the direction from slave to master"):
        meet(one, masses.boundary("a"), None)
    with pytest.raises(aq.UserError, match=r"1 points of 'all' and 2 of 'b'"):
        meet(one, masses.boundary("b"))
    with pytest.raises(aq.UserError, match=r"direction = \[0.0, 0.0\]: must not be zero"):
        meet(one, masses.boundary("a"), (0.0, 0.0))
    with pytest.raises(aq.UserError, match="direction"):
        meet(one, masses.boundary("a"), "up")
    ends = [aq.PointMasses(name, 0.0, 1.0).boundary("all") for name in "ab"]
    with pytest.raises(aq.UserError, match="give the direction"):
        meet(*ends, None)
