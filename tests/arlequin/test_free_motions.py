"""Statics of what nothing holds: parts and motions are named, as their supports leave them free."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SECTION = aq.Section.circle(0.01)
X, Y, PINNED = {"left": {"x": 0.0}}, {"bottom": {"y": 0.0}}, {"left": {"x": 0.0, "y": 0.0}}


def plate(name: str = "a", x: tuple[float, float] = (0.0, 1.0), **options: Any) -> aq.Solid:
    pull = {"right": lambda x, t: (1e6 * t, 1e5 * t)}
    mesh = aq.mesh.rectangle(x, (0.0, 1.0), cells=(4, 4))
    return aq.Solid(name, mesh, STEEL, **{"plane": "strain", "tractions": pull, **options})


def cube(name: str = "c", x: tuple[float, float] = (0.0, 1.0), **options: Any) -> aq.Solid:
    mesh = aq.mesh.box(x, (0.0, 1.0), (0.0, 1.0), cells=(2, 2, 2))
    return aq.Solid(name, mesh, STEEL, tractions={"right": lambda x, t: (1e6 * t, 0.0, 0.0)}, **options)


def beam(dimension: int, **options: Any) -> aq.Beam:
    force = {"right": lambda t: (0.0, t, 0.0)[:dimension]}
    mesh = aq.mesh.interval(0.0, 1.0, cells=4)
    return aq.Beam("rod", mesh, STEEL, **{"section": SECTION, "dimension": dimension, "end_loads": force, **options})


def hung(part: aq.Solid, *corners: tuple[float, float], direction: tuple[float, float]) -> aq.System:
    """Held along one direction at nodes of the plate, by masses there without a motion."""
    pins, relations = [], []
    for k, corner in enumerate(corners):
        pin = aq.PointMasses(f"pin{k}", corner, 1.0, imposed={"all": {"x": 0.0, "y": 0.0}})
        at = int(np.linalg.norm(part.positions - corner, axis=1).argmin())
        surface = next(part.boundary(name) for name in part.mesh.boundaries if at in part.boundary(name).nodes)
        single = type(surface)(part, "node", np.array([at]), np.ones(1), np.zeros((1, 2)), np.array([[at]]))
        pins.append(pin)
        relations.append(aq.Spring(f"s{k}", single, pin.boundary("all"), stiffness=1e9, direction=direction))
    return aq.System([part, *pins], springs=relations)


def said(system: aq.System) -> str:
    with pytest.raises(aq.UserError) as caught:
        aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    line = str(caught.value)
    assert line.startswith("statics: nothing holds ") and "degree of freedom" not in line and "\n" not in line
    motions, cure = line.removeprefix("statics: nothing holds ").split(": hold it by ")
    assert (
        cure == "imposed={boundary: {component: 0.0}}, a spring to the ground, or a junction with a part that is held"
    )
    return motions


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("system", "motion"),
    [
        (aq.System([plate()]), "part 'a' in translation along x and y and in rotation"),
        (aq.System([plate(imposed=X)]), "part 'a' in translation along y"),
        (aq.System([plate(imposed=Y)]), "part 'a' in translation along x"),
        (aq.System([plate(plane="axisymmetric")]), "part 'a' in translation along z"),
        (aq.System([plate(imposed=X, kinematics="finite")]), "part 'a' in translation along y"),
        (aq.System([aq.Modal(plate(imposed=X), 5)]), "part 'a' in translation along y"),
        (aq.System([aq.Modal(plate(), 6)]), "part 'a' in translation along x and y and in rotation"),
        (
            hung(plate(), (0.0, 0.0), direction=(0.0, 1.0)),
            "part 'a' in translation along x and in rotation about (0, 0.5) m",
        ),
        (hung(plate(), (0.0, 1.0), (1.0, 1.0), direction=(1.0, 1.0)), "part 'a' in translation along (0.707, -0.707)"),
        (aq.System([cube()]), "part 'c' in translation along x, y and z and in all rotations"),
        (
            aq.System([cube(imposed={"left": {"x": 0.0}})]),
            "part 'c' in translation along y and z and in rotation about x through (0.5, 0.5, 0.5) m",
        ),
        (aq.System([cube(imposed={"left": {"x": 0.0}, "bottom": {"y": 0.0}})]), "part 'c' in translation along z"),
        (aq.System([beam(2, imposed={"left": {"x": 0.0, "y": 0.0}})]), "part 'rod' in rotation about (0, 0) m"),
        (aq.System([beam(2, imposed={"right": {"x": 0.0, "y": 0.0}})]), "part 'rod' in rotation about (1, 0) m"),
        (
            aq.System([beam(3, imposed={"left": dict.fromkeys(("x", "y", "z", "ry", "rz"), 0.0)})]),
            "part 'rod' in rotation about x through (0.5, 0, 0) m",
        ),
        (
            aq.System([aq.Bar("bar", aq.mesh.interval(0, 1, cells=4), STEEL, tractions={"right": lambda x, t: t})]),
            "part 'bar' in translation along x",
        ),
        (
            aq.System([aq.PointMasses("m", [[0.0, 0.0], [1.0, 0.0]], 1.0, forces={"all": lambda t: (t, 0)})]),
            "part 'm' in translation along x and y of node 0 and in translation along x and y of node 1",
        ),
    ],
)  # fmt: skip
def test_the_free_motions_of_one_part(system: aq.System, motion: str) -> None:
    assert said(system) == motion


def test_of_two_parts_only_the_one_that_is_free_is_named() -> None:
    held = plate(imposed={"left": {"x": 0.0, "y": 0.0}})
    assert said(aq.System([held, plate("b", (1.5, 2.0))])) == "part 'b' in translation along x and y and in rotation"
    loose = (
        "part 'a' in translation along x and y and in rotation; part 'b' in translation along x and y and in rotation"
    )
    assert said(aq.System([plate(), plate("b", (1.5, 2.0))])) == loose


@pytest.mark.parametrize("tie", ["junction", "tie", "mortar", "beam"])
def test_parts_that_move_together(tie: str) -> None:
    a, b = plate(imposed=X), plate("b", (0.5, 1.5) if tie == "junction" else (1.0, 2.0))
    joined: Any = aq.Junction(a, b) if tie == "junction" else None
    if tie == "beam":
        mesh = aq.mesh.rectangle((0.75, 1.5), (-0.01, 0.01), cells=(20, 4))
        section = aq.Section.rectangle(height=0.02, width=1.0)
        a, b = beam(2, imposed=PINNED, section=section), aq.Solid("b", mesh, STEEL, plane="stress")
        joined = aq.BeamJunction(a, b)
    elif joined is None:
        joined = {"tie": aq.Tie, "mortar": aq.Mortar}[tie](a.boundary("right"), b.boundary("left"))
    motion = "in rotation about (0, 0) m" if tie == "beam" else "in translation along y"
    assert said(aq.System([a, b], [joined])) == f"parts '{a.name}' and 'b' together {motion}"


def test_hinged_parts_and_springs() -> None:
    """A mechanism: a rod that a spring ties by its end to one that is held; held by springs, it is not free."""
    held = beam(2, imposed={"left": dict.fromkeys(("x", "y", "rz"), 0.0)})
    other = aq.Beam.between("other", (1.0, 0.0), (2.0, 0.0), 4, STEEL, SECTION, end_loads={"right": lambda t: (0.0, t)})
    hinge = aq.Spring("hinge", other.boundary("left"), held.boundary("right"), stiffness=1e9)
    assert said(aq.System([held, other], springs=[hinge])) == "part 'other' in rotation about (1, 0) m"
    prop = aq.Spring("prop", other.boundary("right"), stiffness=1e6)
    found = aq.simulate(aq.System([held, other], springs=[hinge, prop]), aq.Static(), duration=1.0, step=1.0)
    assert float(found["part/other/displacement"][-1, -1, 1]) == pytest.approx(1e-6, rel=1e-9)  # F/k


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e4])
def test_a_factorisation_that_round_off_lets_pass(size: float) -> None:
    """Of one triangle or two, any motion that is free is named, whatever the numbers."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        young, at = 10.0 ** rng.uniform(3, 12), size * rng.uniform(-5, 5, 2)
        mesh = aq.mesh.rectangle((at[0], at[0] + size), (at[1], at[1] + 9 * size), cells=(1, 1), kind="tri")
        pull = {"right": lambda x, t, young=young: (1e-3 * young * t, 0.0)}
        law = aq.LinearElastic(young, rng.uniform(0, 0.49))
        part = aq.Solid("a", mesh, law, plane="stress", imposed=Y, tractions=pull)
        assert said(aq.System([part])) == "part 'a' in translation along x"


def test_weak_supports_hold() -> None:
    """A strip held at its end, 1/1000 of its length: it lengthens by f L²/2E under a body force f."""
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1e-3), cells=(50, 1))
    held = {"left": {"x": 0.0, "y": 0.0}}
    strip = aq.Solid("a", mesh, STEEL, plane="stress", order=2, imposed=held, body_force=lambda x, t: (t, 0.0))
    found = aq.simulate(aq.System([strip]), aq.Static(), duration=1.0, step=1.0)["part/a/displacement"]
    assert float(found[-1, :, 0].max()) == pytest.approx(1.0 / (2 * 2e11), rel=1e-3)


def test_a_beam_that_buckles_is_held() -> None:
    """Not every matrix that is not positive definite leaves a motion free."""
    pinned = {"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}}
    slender = beam(2, imposed=pinned, tension=-1e7)
    with pytest.raises(aq.UserError, match="a beam compressed until it buckles") as caught:
        aq.simulate(aq.System([slender]), aq.Static(), duration=1.0, step=1.0)
    assert "nothing holds" not in str(caught.value)


def test_a_part_that_contact_does_not_hold_either() -> None:
    part = plate(tractions={"top": lambda x, t: (0.0, 1e6 * t)}, imposed=X)
    floor = aq.Interface("f", part.boundary("bottom"), aq.RigidPlane((0, 0), (0, 1)), aq.Unilateral("gap"))
    with pytest.raises(aq.UserError, match=r"part 'a' moves along \+y and finds no equilibrium"):
        aq.simulate(aq.System([part], interfaces=[floor]), aq.Static(), duration=1.0, step=1.0)
