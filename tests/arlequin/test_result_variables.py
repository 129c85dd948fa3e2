"""The tables of docs/guide/results.md name every variable of a result, with its dimensions and unit."""

import re
from pathlib import Path

import pytest
import xarray

import arlequin as aq

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "results.md"
ROW = re.compile(r"^\| `(\w+)` \|([\w, ]*)\|([^|]*)\|", re.MULTILINE)
STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
STRESS = aq.Record(stress=True)
FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
LABELS = {"axis", "component", "turn", "kind", "support", "end", "force_component", "moment_component", "place"}
LABELS |= {"stress_component"}


def documented() -> dict[str, dict[str, tuple[str, str]]]:
    """Dimensions and unit of each variable, by the kind of group and the name."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    tables = {}
    for section in sections:
        heading = section.partition("\n")[0]
        kind = re.search(r"`(\w+)/NAME`", heading)
        rows = {name: (dims.strip(), unit.strip()) for name, dims, unit in ROW.findall(section)}
        tables[kind.group(1) if kind else ""] = rows
    return tables


def sliding() -> xarray.DataTree:
    """Two glued blocks on a floor with friction and wear, and a pin that slides beside them."""
    sort = {"plane": "strain", "thickness": 0.02}
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.04), (4, 2)), STEEL, **sort,
                     imposed={"left": {"x": 0.0}})  # fmt: skip
    top = aq.Solid("top", aq.mesh.rectangle((0.0, 0.1), (0.02, 0.06), (8, 4)), STEEL, order=2, **sort)
    pin = aq.PointMasses("pin", (0.2, 0.0), 2.0)
    wear, springs = aq.Archard(1e-13, density=7800.0), aq.Coulomb(0.3, stiffness=1e12)
    weakening = aq.StaticDynamic(0.4, 0.3, slip_distance=1e-3)
    feet = [aq.Interface(part.name, part.boundary(name), FLOOR, aq.Unilateral(), friction=law, wear=wear)
            for part, name, law in ((block, "bottom", springs), (pin, "all", weakening))]  # fmt: skip
    system = aq.System([block, top, pin], [aq.Junction(block, top)], feet, gravity=(0.0, -10.0))
    return aq.simulate(system, aq.Theta(0.5), duration=4e-7, step=1e-7, record=STRESS)


def inset() -> xarray.DataTree:
    """A fine part that takes over the nodes of a coarse one beneath it."""
    coarse = aq.Solid(
        "coarse", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), (10, 10)), STEEL, plane="strain", thickness=0.02
    )
    mesh = aq.mesh.rectangle((0.02, 0.08), (0.0, 0.06), (12, 12))
    fine = aq.Solid("fine", mesh, STEEL, plane="strain", thickness=0.02, order=3)
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=aq.zones.Box(width=0.01))])
    return aq.simulate(system, aq.Theta(0.5), duration=1e-7, step=1e-7)


def bent() -> xarray.DataTree:
    """A beam on a spring and in a bushing."""
    clamp = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)}
    mesh, section = aq.mesh.interval(0.0, 1.0, cells=2), aq.Section.circle(0.05)
    beam = aq.Beam("beam", mesh, STEEL, section, imposed=clamp)
    hysteretic = aq.springs.BoucWen(1e4, ratio=0.1, beta=60.0, gamma=40.0)
    spring = aq.Spring("foot", beam.boundary("right"), stiffness=1e4, law=hysteretic)
    bushing = aq.Bushing("bearing", beam.boundary("right"), stiffness=(0.0, 0.0, 1e4, 1.0, 1.0, 1.0))
    system = aq.System([beam], springs=[spring, bushing], gravity=lambda t: (0.0, -10.0 * t, 0.0))
    return aq.simulate(system, aq.Static(), duration=1.0, step=1.0, record=STRESS)


def spinning() -> xarray.DataTree:
    """A rigid body on a vertical guide."""
    corners = [(0.0, 0.1), (0.1, 0.1), (0.1, 0.2), (0.0, 0.2)]
    block = aq.RigidBody("block", corners, mass=1.0, imposed={"body": {"x": 0.0}})
    return aq.simulate(aq.System([block], gravity=(0.0, -10.0)), aq.Theta(0.5), duration=2e-3, step=1e-3)


def bouncing() -> xarray.DataTree:
    """A mass that meets the floor of a room at a located instant."""
    ball = aq.PointMasses("ball", (0.0, 0.0005), 1.0)
    room = aq.RigidBox((-1.0, 0.0), (1.0, 1.0), inside=True)
    foot = aq.Interface("foot", ball.boundary("all"), room, aq.Unilateral())
    system = aq.System([ball], interfaces=[foot], velocity=(0.0, -1.0))
    return aq.simulate(system, aq.Theta(0.5, events="locate"), duration=2e-3, step=1e-3)


def pressed() -> xarray.DataTree:
    """A metal with heating in space, on a plane."""
    copper = aq.J2(117e9, 0.35, 8930.0, 4e8, (aq.LinearHardening(1e8), aq.AdiabaticHeat(1356.0, 385.0)))
    cube = aq.Solid("cube", aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (1, 1, 1)), copper, kinematics="finite")
    wall = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(1.0, 0.0, 0.0))
    system = aq.System([cube], interfaces=[aq.Interface("wall", cube.boundary("left"), wall, aq.Unilateral())])
    record = aq.Record(point_memory=True, stress=True)
    return aq.simulate(system, aq.Theta(0.5), duration=1e-6, step=1e-6, record=record)


def followed() -> xarray.DataTree:
    """A patch that moves on through a bar, and a bar that is refined."""
    bar = aq.Solid("bar", aq.mesh.rectangle((0.0, 1.0), (0.0, 0.2), (20, 4)), STEEL, plane="strain", thickness=0.02)

    def patch(k: int) -> aq.levels.Level:
        mesh = aq.mesh.rectangle((0.1 + 0.05 * k, 0.6 + 0.05 * k), (0.0, 0.2), (20, 8))
        fine = aq.Solid("fine", mesh, STEEL, plane="strain", thickness=0.02)
        return aq.levels.Level([fine], junctions=[aq.Junction(bar, fine, zone=aq.zones.Box(width=0.1))])

    follow = aq.levels.MovingPatch("patch", patch, lambda state: 0.05 * state.time / 1e-7, pitch=0.05)
    return aq.simulate(aq.System([bar], levels=[follow]), aq.Theta(0.5), duration=2e-7, step=1e-7)


@pytest.fixture(scope="module")
def found() -> list[tuple[str, str, xarray.Variable]]:
    """Kind of the group, name and variable of everything recorded by the models."""
    return [
        (group.path.split("/")[1], str(name), variable)
        for make in (sliding, inset, bent, spinning, bouncing, pressed, followed)
        for group in make().subtree
        for name, variable in group.to_dataset(inherit=False).variables.items()
        if name not in LABELS
    ]


def test_every_variable_is_on_the_page_with_its_dimensions_and_unit(found):
    tables = documented()
    for kind, name, variable in found:
        rows = tables["" if name == "frame_time" else kind]
        assert name in rows, f"{kind}/{name} is not in {PAGE.name}"
        dims, unit = rows[name]
        if name != "indicator":  # that of what it looks at: said in words
            assert variable.attrs["units"] == unit, f"{kind}/{name}"
        if (kind, name, variable.dims) != ("part", "angular_velocity", ("time",)):  # of a rigid body: said in words
            assert variable.dims == tuple(dims.split(", ") if dims else ()), f"{kind}/{name}"


def test_every_variable_on_the_page_exists(found):
    there = {(kind, name) for kind, name, _ in found}
    assert {(kind, name) for kind, rows in documented().items() for name in rows} <= there
