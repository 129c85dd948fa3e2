"""Models that run but hardly mean what they say: each is told of in one line that names the cure."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
BLOCK = aq.Solid("a", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), cells=(5, 5)), STEEL, plane="strain")
LAW = aq.Unilateral("velocity")


def glued(zone: Any, contact: str = "fine", also: bool = False) -> aq.System:
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.01), cells=(20, 2)), STEEL, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((0.04, 0.1), (0.0, 0.01), cells=(60, 10)), STEEL, plane="strain")
    wall = aq.RigidPlane(point=(0.101, 0.0), normal=(-1.0, 0.0))
    names = {contact: coarse if contact == "coarse" else fine} | ({"fine": fine} if also else {})
    touching = [aq.Interface(name, part.boundary("right"), wall, LAW) for name, part in names.items()]
    return aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=zone)], touching, velocity=(10.0, 0.0))


def pair(gap: float, first: str = "right", second: str = "left") -> aq.System:
    other = aq.Solid("b", aq.mesh.rectangle((0.1 + gap, 0.2 + gap), (0.0, 0.1), cells=(5, 5)), STEEL, plane="strain")
    touching = [aq.Interface("c", BLOCK.boundary(first), other.boundary(second), LAW)]
    return aq.System([BLOCK, other], interfaces=touching, velocity={"a": (10.0, 0.0)})


def thrown(speed: float = 10.0) -> aq.System:
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    touching = [aq.Interface("c", BLOCK.boundary("right"), wall, LAW)]
    return aq.System([BLOCK], interfaces=touching, velocity=(speed, 0.0))


def run(system: aq.System, step: float = 1e-6, scheme: Any = None) -> Any:
    return aq.simulate(system, scheme or aq.Theta(0.5), duration=2 * step, step=step)


@pytest.mark.parametrize(
    ("system", "step", "message"),
    [
        (
            lambda: glued(aq.zones.Strip(0.04, 0.12)),
            1e-6,
            "'right' of 'fine' lies in the gluing zone of junction 'junction'",
        ),
        (lambda: glued(aq.zones.Strip(0.06, 0.08), "coarse"), 1e-6, "nothing resists there; put the contact on 'fine'"),
        (lambda: pair(-0.03), 1e-6, "face away from each other at the start, or have passed through each other"),
        (lambda: pair(1e-4, "left", "right"), 1e-6, "'left' of 'a' and 'right' of 'b' face away"),
        (lambda: pair(1e-4, "right", "right"), 1e-6, "'right' of 'a' and 'right' of 'b' face away"),
        (thrown, 1e-3, "an impact is not resolved and its energy goes into `impact`; take 3.4e-06 s or less"),
    ],
)
def test_doubtful_models(system: Callable[[], aq.System], step: float, message: str) -> None:
    with pytest.warns(ModelWarning) as found:
        run(system(), step)
    lines = [str(each.message) for each in found if each.category is ModelWarning]
    assert len(lines) == 1 and message in lines[0] and "\n" not in lines[0]
    assert {each.filename for each in found} == {__file__}, "at the line that runs the model"


@pytest.mark.parametrize(
    ("system", "step"),
    [
        (lambda: glued(aq.zones.Strip(0.04, 0.08)), 1e-6),
        (lambda: glued(aq.zones.Strip(0.06, 0.08), "coarse", also=True), 1e-6),
        (lambda: pair(1e-4), 1e-6),
        (lambda: pair(1.0), 1e-6),  # far apart, but facing each other
        (thrown, 1e-6),
        (lambda: thrown(0.0), 1e-3),
        (lambda: replace(thrown(), velocity=(0.0, 10.0)), 1e-3),  # along the wall
        (lambda: replace(glued(aq.zones.Strip(0.04, 0.08)), velocity=(1.0, 0.0)), 2.5e-5),  # as long as both parts
    ],
)
def test_usual_models(system: Callable[[], aq.System], step: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        run(system(), step)


@pytest.mark.parametrize(("end", "share"), [(0.12, 3 / 4), (0.34, 1 / 5)])
def test_what_the_warning_saves_from(end: float, share: float) -> None:
    """The front of an impact pushes with the share of the part in the gluing zone, and little of the coarse part."""
    impulses = []
    for zone in (aq.zones.Strip(0.04, 0.08), aq.zones.Strip(0.04, end)):
        system = replace(glued(zone), displacement=(1e-3, 0.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            result = aq.simulate(system, aq.Theta(1.0), duration=2e-8, step=1e-9)
        impulses.append(abs(result["interface/fine"].dataset["force"].values[1:, 0]).mean())
    assert impulses[1] / impulses[0] == pytest.approx(share, abs=0.05)


def test_a_number_is_no_direction() -> None:
    with pytest.raises(aq.UserError, match=r"velocity = 10.0: must give 2 components at each node of part 'a'"):
        run(aq.System([BLOCK], velocity=10.0))


def block(name: str = "b", low: float = 0.0, high: float = 0.05, **options: Any) -> aq.Solid:
    mesh = aq.mesh.rectangle((0.0, 0.1), (low, high), cells=(8, 4))
    return aq.Solid(name, mesh, STEEL, **{"plane": "strain", **options})


def cube(name: str = "c", low: float = 0.0) -> aq.Solid:
    return aq.Solid(name, aq.mesh.box((0, 1), (0, 1), (low, low + 1), cells=(3, 3, 3)), STEEL)


def on(part: Any, side: str, master: Any, law: Any = LAW, **options: Any) -> aq.System:
    return aq.System([part], interfaces=[aq.Interface("f", part.boundary(side), master, law, **options)])


RECTANGLE = np.array([(-1.0, -1.0, 0.0), (2.0, -1.0, 0.0), (2.0, 2.0, 0.0), (-1.0, 2.0, 0.0)])
TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]])
BRICK = aq.RigidBody("r", [(0, 0), (1, 0), (1, 1), (0, 1)], mass=1.0, names={"foot": [0, 1]})
ROD = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=10), STEEL)
# what touches its obstacle, which faces it (sign 1) or faces away (−1)
TOUCHING: dict[str, Callable[[int], aq.System]] = {
    "plane": lambda way: on(block(), "bottom", aq.RigidPlane((0, 0), (0, way))),
    "plane, P1": lambda way: on(block(), "bottom", aq.RigidPlane((0, 0), (0, way)), multiplier="P1"),
    "plane, penalty": lambda way: on(block(), "bottom", aq.RigidPlane((0, 0), (0, way)), aq.Penalty(1e12)),
    "plane, near": lambda way: on(block(), "bottom", aq.RigidPlane((0, -1e-3 * way), (0, way))),
    "planes": lambda way: on(block(), "bottom", aq.RigidPlanes([(x, 0) for x in range(9)], [(0, way)] * 9)),
    "box": lambda way: on(block(), "bottom", aq.RigidBox((-1, -1), (1, 0), inside=way < 0)),
    "room": lambda way: on(block(), "bottom", aq.RigidBox((-1, 0), (1, 1), inside=way > 0)),
    "ball, penalty": lambda way: on(
        block(), "bottom", aq.RigidSphere((0.05, -1.0), 1.0, inside=way < 0), aq.Penalty(1e12)
    ),
    "polyline": lambda way: on(block(), "bottom", aq.RigidPolyline([(1, 0), (-1, 0)][::way])),
    "plane in space": lambda way: on(cube(), "back", aq.RigidPlane((0, 0, 0), (0, 0, way))),
    "box in space": lambda way: on(cube(), "back", aq.RigidBox((-1, -1, -1), (2, 2, 0), inside=way < 0)),
    "surface": lambda way: on(cube(), "back", aq.RigidSurface(RECTANGLE, TRIANGLES[:, ::way])),
    "bar": lambda way: on(ROD, "right", aq.RigidPlane(1.0, -way)),
    "rigid body": lambda way: on(BRICK, "foot", aq.RigidPlane((0, 0), (0, way))),
}


def told(system: aq.System, step: float = 1e-6, scheme: Any = None) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run(system, step, scheme)
    assert {each.filename for each in found} <= {__file__}
    return [str(each.message) for each in found if issubclass(each.category, ModelWarning)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TOUCHING)
def test_obstacles_that_face_away_while_touching(name: str) -> None:
    assert told(TOUCHING[name](1)) == []
    (line,) = told(TOUCHING[name](-1))
    assert "faces away from" in line and "touches it from behind and would pass through: " in line and "\n" not in line


@pytest.mark.parametrize(
    ("part", "side", "obstacle"),
    [
        (block(), "bottom", aq.RigidSphere((0.05, -1.0), 1.0, inside=True)),
        (cube(), "back", aq.RigidSphere((0.5, 0.5, -5), 5.0, inside=True)),
        (cube(), "back", aq.RigidCylinder((0.5, 0.5, -5), (1, 0, 0), 5.0, inside=True)),
    ],
)
def test_curved_obstacles_that_face_away_while_touching(part: Any, side: str, obstacle: Any) -> None:
    """The ends of the slave lie behind them."""
    with pytest.raises(aq.UserError, match=r"starts interpenetrated .*, and faces away from its slave: inside=True"):
        run(on(part, side, obstacle))
    assert told(on(part, side, replace(obstacle, inside=False))) == []


@pytest.mark.parametrize("law", [LAW, aq.Penalty(1e12)])
@pytest.mark.parametrize("thick", [0.01, 0.05])
def test_deformable_masters_that_face_away(law: Any, thick: float) -> None:
    """The lower part, also a thin one of few cells, named by its bottom."""
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.05 - thick, 0.05), cells=(2, 1))
    lower, upper = aq.Solid("low", mesh, STEEL, plane="strain"), block("up", 0.05, 0.1)

    def pressed(master: str) -> list[str]:
        pair = aq.Interface("i", upper.boundary("bottom"), lower.boundary(master), law)
        return told(aq.System([lower, upper], interfaces=[pair]))

    assert pressed("top") == []
    (line,) = pressed("bottom")
    assert "'bottom' of 'up'" in line and "'bottom' of 'low'" in line and "check which boundaries are named" in line


def overlapping(dimension: int, at: str) -> tuple[Any, Any]:
    """A body [0, 1]ⁿ and a finer one inside of it, over its corner, or beside it."""
    low, high = {"inside": (0.3, 0.7), "corner": (0.75, 1.4), "beside": (1.0, 1.4)}[at]
    if dimension == 1:
        bars = (aq.mesh.interval(0.0, 1.0, cells=10), aq.mesh.interval(low, high, cells=7))
        return aq.Bar("one", bars[0], STEEL), aq.Bar("two", bars[1], STEEL)
    if dimension == 2:
        coarse = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(5, 5))
        fine = aq.mesh.rectangle((low, high), (low, high), cells=(7, 7), kind="tri")
        return aq.Solid("one", coarse, STEEL, plane="strain"), aq.Solid("two", fine, STEEL, plane="strain")
    coarse = aq.mesh.box((0, 1), (0, 1), (0, 1), cells=(4, 4, 4))
    fine = aq.mesh.box((low, high), (low, high), (low, high), cells=(4, 4, 4), kind="tet")
    return aq.Solid("one", coarse, STEEL), aq.Solid("two", fine, STEEL)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("at", ["inside", "corner"])
def test_a_patch_without_a_junction(dimension: int, at: str) -> None:
    """The place named lies in both; natural frequencies and statics tell it too."""
    one, two = overlapping(dimension, at=at)
    (line,) = told(aq.System([one, two]))
    assert line.startswith("parts 'one' and 'two' overlap near (") and "glue them by Junction(one, two)" in line
    place = np.array([float(x) for x in line.split("(")[1].split(")")[0].split(",")])
    for part in (one, two):
        assert (place > part.positions.min(axis=0)).all() and (place < part.positions.max(axis=0)).all()
    with pytest.warns(ModelWarning, match="'one' and 'two' overlap near"):
        aq.natural_frequencies(aq.System([one, two]), count=4)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_overlap_that_is_meant(dimension: int) -> None:
    """Glued, in contact, tied by springs or relations, moved away at the start, or touching only."""
    one, two = overlapping(dimension, at="corner")
    vector = (1.0,) * dimension
    ends = one.boundary("right"), two.boundary("left")
    assert told(aq.System([one, two], [aq.Junction(one, two, zone=aq.zones.Strip(0.75, 1.0))])) == []
    assert told(aq.System([one, two], displacement={"two": vector})) == []
    assert told(aq.System(list(overlapping(dimension, at="beside")))) == []
    if dimension == 1:
        assert told(aq.System([one, two], springs=[aq.Spring("s", *ends, stiffness=1.0)])) == []
        assert told(aq.System([one, two], relations=[aq.Relation("r", [(ends[0], "x", 1), (ends[1], "x", -1)])])) == []


def test_bodies_in_the_hollows_of_others() -> None:
    """Boxes that overlap where the parts do not: a rod in a tube; and beams within solids or crossing."""
    tube = aq.Solid("tube", aq.mesh.tube(0.5, 1.0, np.linspace(0, 2 * np.pi, 25), (0.0, 1.0)), STEEL)
    core = aq.Solid("core", aq.mesh.box((-0.3, 0.3), (-0.3, 0.3), (0, 1), cells=(2, 2, 2)), STEEL)
    section = aq.Section.circle(0.01)
    beam = aq.Beam.between("beam", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 4, STEEL, section)
    other = aq.Beam.between("other", (-0.3, 0.0, 0.5), (0.3, 0.0, 0.5), 4, STEEL, section)
    beside = aq.Beam.between("beside", (0.01, 0.0, 0.0), (0.01, 0.0, 1.0), 4, STEEL, section)
    after = aq.Beam.between("after", (0.0, 0.0, 1.0), (0.0, 0.0, 2.0), 4, STEEL, section)
    assert told(aq.System([tube, core, beam, other, beside, after])) == []
    within = aq.Beam.between("within", (0.0, 0.0, 0.8), (0.0, 0.0, 0.2), 4, STEEL, section)
    (line,) = told(aq.System([tube, core, beam, other, within]))
    assert "parts 'beam' and 'within' overlap near (0, 0, 0.5) m" in line


@pytest.mark.parametrize("wrapped", [aq.Rigid, lambda part: aq.Modal(part, 8)])
def test_wrapped_parts_overlap_too(wrapped: Any) -> None:
    one, two = overlapping(2, at="inside")
    (line,) = told(aq.System([one, wrapped(two)]))
    assert "parts 'one' and 'two' overlap" in line


def noisy(highest: float = 100.0, duration: float = 1.0) -> aq.System:
    flow = aq.Turbulence(aq.PlateauSpectrum(1.0, 20.0), highest=highest, correlation=0.1, duration=duration, seed=1)
    held = {end: dict.fromkeys(("x", "y", "rz"), 0.0) for end in ("left", "right")}
    section = aq.Section.rectangle(height=0.02, width=0.01)
    mesh = aq.mesh.interval(0.0, 1.0, cells=4)
    return aq.System([aq.Beam("rod", mesh, STEEL, section, dimension=2, imposed=held, turbulence=flow)])


def noisy_solid(**options: Any) -> aq.System:
    flow = aq.Turbulence(aq.PlateauSpectrum(1.0, 20.0), correlation=0.1, seed=1, **options)
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.02), cells=(8, 1))
    return aq.System([aq.Solid("rod", mesh, STEEL, plane="stress", body_force=aq.SpanForce(flow, area=0.02))])


@pytest.mark.parametrize("made", [noisy, noisy_solid])
def test_turbulence_beyond_the_step_or_shorter_than_the_run(made: Any) -> None:
    def lines(steps: int = 10, step: float = 5e-3, **options: float) -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            aq.simulate(made(**options), aq.Theta(0.5), duration=steps * step, step=step)
        return [str(each.message) for each in found if issubclass(each.category, ModelWarning)]

    assert lines(highest=100.0, duration=1.0) == []  # at the Nyquist frequency of 5 ms
    (line,) = lines(highest=101.0, duration=1.0)
    assert "goes up to 101 Hz, and steps of 0.005 s sample 100 Hz at most" in line
    assert "take step = 0.00495 s or less, or highest=100" in line
    assert lines(highest=100.0, duration=0.05) == []
    (line,) = lines(highest=100.0, duration=0.03)
    assert "repeats after 0.03 s in a run of 0.05 s: give it duration=0.05 or more" in line


def test_turbulence_of_ensembles_and_of_several_steps() -> None:
    with pytest.warns(ModelWarning, match="goes up to 200 Hz, and steps of 0.005 s sample 100 Hz"):
        aq.simulate_ensemble([noisy(), noisy(highest=200.0)], aq.Theta(0.5), duration=0.05, step=5e-3)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=4), STEEL)
    fine = aq.Bar("fine", aq.mesh.interval(0.75, 1.4, cells=8), STEEL)
    system = aq.System([bar, fine], [aq.Junction(bar, fine)])
    assert aq.Multirate(4).part_steps(system, 1.0) == {"bar": 1.0, "fine": 0.25}


def test_parts_in_contact_that_differ_in_thickness_or_plane() -> None:
    def pressed(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
        lower, upper = block("low", 0.0, 0.05, **one), block("up", 0.05, 0.1, **other)
        pair = aq.Interface("i", upper.boundary("bottom"), lower.boundary("top"), LAW)
        return told(aq.System([lower, upper], interfaces=[pair]))

    thin: dict[str, Any] = {"thickness": 0.01}
    assert pressed({}, {}) == pressed(thin, thin) == pressed(thin, {"thickness": 1.0}) == []
    for one, other in ((thin, {}), ({}, thin)):
        (line,) = pressed(one, other)
        named = ("up", "low") if one else ("low", "up")
        assert f"'{named[0]}' has the default thickness of 1 m, '{named[1]}' 0.01 m: give both their thickness=" in line
    (line,) = pressed({"plane": "stress"}, {})
    assert "'up' is plane strain, 'low' plane stress: give both the same plane=" in line
    with pytest.raises(aq.UserError, match=r"thickness or section of 'low' is 0.01, of 'up' 1"):
        aq.Tie(block("low", **thin).boundary("top"), block("up", 0.05, 0.1).boundary("bottom"))


SQUARE = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), cells=(2, 2))
HELD = {"left": {"x": 0.0, "y": 0.0}}
PULL = {"right": lambda x, t: (1e6 * t, 0.0)}
HOOKE, RUBBER = aq.LinearElastic(2e11, 0.3), aq.NeoHooke(1e9, 0.3)
BEAM = aq.Beam.between(
    "held", (0.0, 0.0), (1.0, 0.0), 2, HOOKE, aq.Section.circle(0.01),
    imposed={"left": dict.fromkeys(("x", "y", "rz"), 0.0)}, end_loads={"right": lambda t: (0.0, t)},
)  # fmt: skip
PARTS = {
    "bar": aq.Bar(
        "held", aq.mesh.interval(0, 1, cells=6), aq.LinearElastic(2e11), imposed={"left": {"x": 0.0}},
        tractions={"right": lambda x, t: t},
    ),
    "beam": BEAM,
    "solid": aq.Solid("held", SQUARE, HOOKE, plane="strain", imposed=HELD, tractions=PULL),
    "finite": aq.Solid("held", SQUARE, HOOKE, plane="strain", kinematics="finite", imposed=HELD, tractions=PULL),
    "rubber": aq.Solid("held", SQUARE, RUBBER, plane="strain", kinematics="finite", imposed=HELD, tractions=PULL),
    "modal": aq.Modal(aq.Solid("held", SQUARE, HOOKE, plane="strain", imposed=HELD, tractions=PULL), 4),
}  # fmt: skip


def with_density(part: Any, density: float) -> Any:
    if isinstance(part, aq.Modal):
        return replace(part, part=with_density(part.part, density))
    return replace(part, material=replace(part.material, density=density))


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_statics_without_gravity_needs_no_density(part: Any) -> None:
    """And its result does not depend on it."""
    one, other = (
        run(aq.System([own], gravity=gravity), 1.0, aq.Static())["part/held/displacement"].values
        for own, gravity in ((part, None), (with_density(part, 7800.0), (0.0,) * part.positions.shape[1]))
    )
    assert abs(one).max() > 0.0 and one == pytest.approx(other, rel=1e-9, abs=1e-9 * abs(one).max())


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_the_density_is_needed_where_mass_acts(part: Any) -> None:
    down = -9.81 if part.positions.shape[1] == 1 else (0.0, -9.81)
    with pytest.raises(aq.UserError, match="part 'held': the density of its material must be given in dynamics, kg/m³"):
        run(aq.System([part]))
    with pytest.raises(aq.UserError, match="part 'held': the density of its material must be given where gravity acts"):
        run(aq.System([part], gravity=lambda t: np.multiply(t, down)), 1.0, aq.Static())
    with pytest.raises(aq.UserError, match="part 'held': the density of its material must be given for natural freq"):
        aq.natural_frequencies(aq.System([part]), count=1)
    # a density of 1 that was given counts
    given = with_density(part, 1.0)
    run(aq.System([given], gravity=lambda t: np.multiply(t, down)), 1.0, aq.Static())
    assert aq.natural_frequencies(aq.System([given]), count=1).frequencies[0] > 0.0


def stopped(part: Any, law: Any, **options: Any) -> aq.System:
    """The end of a bar or beam on a stop."""
    axes = part.positions.shape[1]
    normal = -np.eye(axes)[0]
    floor = aq.RigidPlane(point=(1.0, *np.zeros(axes - 1)), normal=tuple(normal))
    return aq.System([part], interfaces=[aq.Interface("stop", part.boundary("right"), floor, law, **options)])


def ends() -> list[Any]:
    """Rods of 1 m on which 1 kN presses from the left."""
    pressed = {"left": lambda x, t: (1e3 / (np.pi * 0.01) * t,)}
    mesh, section = aq.mesh.interval(0.0, 1.0, cells=4), aq.Section.circle(0.1)
    beams = [
        aq.Beam(
            "rod", mesh, STEEL, section, dimension=2, imposed={"left": {"y": 0.0, "rz": 0.0}},
            end_loads={"left": lambda t: (1e3 * t, 0.0)},
        ),
        aq.Beam(
            "rod", mesh, STEEL, section, dimension=3,
            imposed={"left": dict.fromkeys(("y", "z", "rx", "ry", "rz"), 0.0)},
            end_loads={"left": lambda t: (1e3 * t, 0.0, 0.0)},
        ),
    ]  # fmt: skip
    return [aq.Bar("rod", mesh, STEEL, section=np.pi * 0.01, tractions=pressed), *beams]


@pytest.mark.parametrize("part", ends(), ids=["bar", "beam 2D", "beam 3D"])
def test_a_stop_at_the_end_of_a_bar_or_beam(part: Any) -> None:
    """Its stiffness is in Pa/m, times the section, and a warning says so; with area=1.0 it is in N/m: u = F/K."""
    section = np.pi * 0.01
    for options, area in (({}, section), ({"area": 1.0}, 1.0), ({"area": section}, section)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", ModelWarning)
            result = aq.simulate(stopped(part, aq.Penalty(1e6), **options), aq.Static(), duration=1.0, step=1.0)
        lines = [str(each.message) for each in found if each.category is ModelWarning]
        assert len(lines) == (not options)
        assert options or "'rod' at 'right', 0.0314159 m², multiplies stiffness and damping" in lines[0]
        end = result["part/rod/displacement"].values[-1, -1, 0]
        np.testing.assert_allclose(end, 1e3 / (1e6 * area), rtol=1e-9)
        np.testing.assert_allclose(result["interface/stop/pressure"].values[-1], 1e3 / area, rtol=1e-9)


def test_layers_and_rigid_laws_at_ends_are_usual() -> None:
    for law in (aq.Unilateral("gap"), aq.Asperities(1e12, 2.0, 1e-4)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ModelWarning)
            run(stopped(ends()[0], law), 1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"area": 0.0}, "area = 0.0: must be positive"),
        ({"area": 1.0, "multiplier": "P1"}, "interface 'c': an area is for contact at nodes: multiplier P1 integrates"),
        ({"area": 1.0, "multiplier": "gauss"}, "an area is for contact at nodes: multiplier gauss integrates"),
    ],
)
def test_areas_of_nodes_alone(options: Any, message: str) -> None:
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    with pytest.raises(aq.UserError, match=message):
        aq.Interface("c", BLOCK.boundary("right"), wall, aq.Penalty(1e9), **options)


def diamond(low: float) -> aq.Solid:
    """Turned by 45°, its corner at the height `low`."""
    mesh = aq.mesh.rectangle((-0.01, 0.01), (-0.01, 0.01), cells=(2, 2))
    turned = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0) @ mesh.p + [[0.0], [low + 0.01 * np.sqrt(2.0)]]
    own = replace(mesh, doflocs=np.ascontiguousarray(turned)).with_boundaries({"low": lambda x: x[1] < low + 0.0142})
    return aq.Solid("square", own, STEEL, plane="strain")


def oblong(low: float, width: float, name: str = "block") -> aq.Solid:
    mesh = aq.mesh.rectangle((-width, width), (low, low + 0.1), cells=(2, 2))
    return aq.Solid(name, mesh, STEEL, plane="strain")


def hollow() -> aq.Solid:
    """With a notch of 90° in its upper side."""
    mesh = aq.mesh.rectangle((-0.1, 0.1), (-0.1, 0.0), cells=(2, 1))
    places = mesh.p.copy()
    places[1, (np.abs(places[0]) < 1e-9) & (places[1] > -1e-9)] = -0.05
    places[1] = np.where((np.abs(places[0]) > 0.05) & (places[1] > -0.05), 0.05, places[1])
    own = replace(mesh, doflocs=places).with_boundaries({"top": lambda x: x[1] > -0.049})
    return aq.Solid("hollow", own, STEEL, plane="strain")


PENALTY, LAYER = aq.Penalty(1e12), aq.Asperities(1e12, 2.0, 1e-5)
TABLE = aq.RigidBox((-0.13, -0.1), (0.13, 0.0))
BETWEEN = "a sharp corner of the RigidBox is at a facet of 'bottom' of 'block', between its nodes"


def onto(width: float, master: Any) -> tuple[Any, ...]:
    one = oblong(1e-6, width)
    return [one], one.boundary("bottom"), master


def onto_part(one: aq.Solid, side: str, two: aq.Solid) -> tuple[Any, ...]:
    return [one, two], one.boundary(side), two.boundary("top")


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("made", "law", "multiplier", "message"),
    [
        (lambda: onto(0.1, aq.RigidBox((-1.0, 0.0), (1.0, 1.0), inside=True)), LAW, "P1", "RigidBox has concave"),
        (lambda: onto(0.1, aq.RigidBox((-1.0, 0.0), (1.0, 1.0), inside=True)), LAW, "nodes", None),
        (
            lambda: onto_part(oblong(1e-3, 0.02), "bottom", hollow()),
            LAW,
            None,
            "'top' of 'hollow' has concave corners of",
        ),
        (lambda: onto_part(oblong(1e-3, 0.02), "bottom", hollow()), LAW, "gauss", None),
        (lambda: onto(0.3, TABLE), PENALTY, None, BETWEEN),
        (lambda: onto(0.3, TABLE), (LAW, LAYER), None, BETWEEN),
        (lambda: onto(0.3, TABLE), LAW, None, None),
        (lambda: onto(0.1, TABLE), PENALTY, None, None),
        (
            lambda: onto_part(diamond(1e-4), "low", oblong(-0.1, 0.1)),
            LAYER,
            None,
            "'low' of 'square' has sharp corners",
        ),
        (lambda: onto_part(diamond(1e-4), "low", oblong(-0.1, 0.1)), LAYER, "nodes", None),
        (lambda: onto_part(diamond(1e-4), "low", oblong(-0.1, 0.1)), LAW, None, None),
    ],
)
def test_corners_that_are_not_seen(made: Any, law: Any, multiplier: Any, message: str | None) -> None:
    parts, slave, master = made()
    contact = aq.Interface("c", slave, master, law, multiplier=multiplier)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ModelWarning)
        run(aq.System(parts, interfaces=[contact]), 1e-7)
    lines = [str(each.message) for each in found if each.category is ModelWarning]
    assert [str(message) in line for line in lines] == ([True] if message else []), lines
