"""Gradients against central differences of whole runs, between changes of status, and adjoints against tangents."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.multilevel.laws.friction import CompiledFriction
from arlequin.sensitivity import adjoint, tangent, tangent_run

# differences of runs between two changes of status have the derivatives at given statuses
gradient = partial(aq.gradient, events=False)

# of the values: steps of central differences, the best of which counts; at most a fifth of the reach of the statuses
STEPS = (1e-4, 1e-5, 1e-6)


def glued(
    young=2e11, density=7800.0, poisson=0.3, velocity=9.7, length=1.0, friction=0.2, gap=2e-5, scheme=None,
    mass="consistent",
):  # fmt: skip
    """Two glued plates that hit a wall: a junction, a multi-level law, friction."""
    size, steel = 0.02 * length, aq.LinearElastic(young=young, poisson=poisson, density=density)
    mesh = aq.mesh.rectangle
    sides = ((0, 0.6 * size), (3, 2)), ((0.4 * size, size), (6, 4))
    coarse, fine = (
        aq.Solid(name, mesh(side, (0, 0.3 * size), cells=cells), steel, plane="strain", mass=mass)
        for name, (side, cells) in zip(("coarse", "fine"), sides, strict=True)
    )
    law = [aq.Asperities(stiffness=1e15, exponent=1, height=1e-5), aq.Unilateral(level="velocity")]
    wall = aq.RigidPlane(point=(size + gap, 0), normal=(-1, 0))
    tip = aq.Interface("tip", fine.boundary("right"), wall, law, friction=aq.Coulomb(friction))
    glue = aq.Junction(coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse")
    system = aq.System([coarse, fine], junctions=[glue], interfaces=[tip], velocity=(velocity, 3.0))
    return aq.Study(system, scheme or aq.Theta(0.5), 6e-6, 1e-7)


def worn(wear=1e-9, friction=0.3, mass=0.2, load=20.0, stick=3e5, speed=0.5, layer=1e9, damping=20.0, viscous=1e3):
    """A pin that rubs on a floor in three dimensions: elastic stick, wear, a damped layer, springs and dashpots."""
    pin = aq.PointMasses("pin", (0.0, 0.0, 0.0), mass)
    floor = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
    law = [aq.Asperities(stiffness=layer, exponent=1.2, height=1e-6, damping=viscous)]
    rubs, wears = aq.Coulomb(friction, stiffness=stick), aq.Archard(wear)
    rub = aq.Interface("rub", pin.boundary("all"), floor, law, friction=rubs, wear=wears)
    held = aq.Spring(
        "held", pin.boundary("all"), stiffness=(2e5, 2e5, 0.0), damping=(damping, damping, 0.0)
    )  # fmt: skip
    gravity, velocity = (0.0, 0.0, -load / mass), (speed, 0.2, 0.0)
    system = aq.System([pin], interfaces=[rub], springs=[held], gravity=gravity, velocity=velocity)
    return aq.Study(system, aq.Theta(0.5), 1e-3, 1e-5)


def rod(young=1e11, outer=4.75e-3, gap=3e-5, stiffness=2e5, friction=0.3, amplitude=40.0, modal=True, theta=0.5):
    """A rod in its modes that knocks on a loose support and rubs there, driven by a force at its end."""
    zircaloy = aq.LinearElastic(young=young, poisson=0.3, density=6500.0)
    section = aq.Section.tube(outer, 4.18e-3, 0.3)
    clamped = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)}
    beam = aq.Beam.between(
        "rod", (0.0, 0.0, 0.0), (0.0, 0.0, 0.5), 6, zircaloy, section, imposed=clamped,
        end_loads={"right": lambda t: (amplitude * np.sin(400.0 * t), 0.3 * amplitude, 0.0)},
        points={"support": aq.SectionPoints([0.25], [(4.75e-3, 0.0, 0.0)])}, damping=aq.Rayleigh(20.0, 1e-6),
    )  # fmt: skip
    part = aq.Modal(beam, 8, static=[beam.boundary("support")]) if modal else beam
    skin = part.boundary("support")
    planes = aq.RigidPlanes(skin.positions + np.array([gap, 0.0, 0.0]), [[-1.0, 0.0, 0.0]])
    law = aq.ImpactElement(stiffness=stiffness, damping=10.0)
    rubs = aq.Interface("support", skin, planes, law, friction=aq.Coulomb(friction, stiffness=0.5 * stiffness))
    return aq.Study(aq.System([part], interfaces=[rubs]), aq.Theta(theta), 0.01, 2e-5)


def bar(
    young=2e11, area=1e-4, speed=5.0, gap=1e-6, impedance=1.0, restitution=0.0, length=0.1, mass="consistent"
):  # fmt: skip
    """A bar that hits a wall: Moreau's law at the velocity."""
    steel = aq.LinearElastic(young=young, poisson=0.0, density=7800.0 * impedance)
    own = aq.Bar("bar", aq.mesh.interval(0.0, length, cells=12), steel, section=area, mass=mass)
    law = aq.Unilateral(restitution=restitution)
    wall = aq.Interface("wall", own.boundary("right"), aq.RigidPlane(point=length + gap, normal=-1.0), law)
    return aq.Study(aq.System([own], interfaces=[wall], velocity=speed), aq.Theta(0.5), 3e-5, 5e-7)


def fretting(amplitude=3e-5, friction=0.4, load=30.0, stick=2e6):
    """A pin whose motion is imposed on an elastic support: imposed displacement, θ = 0.7."""
    pin = aq.PointMasses("pin", (0.0, 0.0), 0.1)
    drive = aq.PointMasses(
        "drive", (0.0, 0.01), 1.0, imposed={"all": {"x": lambda t: amplitude * np.sin(700.0 * t), "y": 0.0}}
    )
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    law = aq.Penalty(stiffness=1e8)
    rub = aq.Interface("rub", pin.boundary("all"), floor, law, friction=aq.Coulomb(friction, stiffness=stick))
    arm = aq.Spring("arm", pin.boundary("all"), drive.boundary("all"), stiffness=(1e6, 0.0))
    system = aq.System([pin, drive], interfaces=[rub], springs=[arm], gravity=(0.0, -10.0 * load))
    return aq.Study(system, aq.Theta(0.7), 0.004, 2e-5)


def sliding(static=0.5, dynamic=0.2, velocity=0.3, load=20.0, layer=1e5, speed=0.5, law=None, scheme=None):
    """A pin in space on a layer, whose friction depends on the slip rate: it slides along a curve."""
    pin = aq.PointMasses("pin", (0.0, 0.0, 0.0), 0.2)
    floor = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
    rubs = law or aq.Stribeck(static, dynamic, velocity, viscous=0.05)
    rub = aq.Interface("rub", pin.boundary("all"), floor, aq.Penalty(layer), friction=rubs, wear=aq.Archard(1e-9))
    held = aq.Spring("held", pin.boundary("all"), stiffness=(50.0, 200.0, 0.0), damping=(1.0, 1.0, 20.0))
    gravity = (0.0, 0.0, -load / 0.2)
    system = aq.System([pin], interfaces=[rub], springs=[held], gravity=gravity, velocity=(speed, 0.4, 0.0))
    return aq.Study(system, scheme or aq.Theta(0.5), 0.02, 2e-4)


def tabulated(middle=0.4, end=0.35, pressure=20.0, by="rate"):
    """The same with a table over the slip rate, or over the pressure."""
    table = [0.5, middle, end]
    laws = {
        "rate": lambda: aq.VelocityFriction([0.0, 0.3, 1.5], table),
        "pressure": lambda: aq.PressureFriction([0.0, pressure, 80.0], table),
    }
    return sliding(law=laws[by]())


def pressed(
    young=1e9, layer=1e15, friction=0.3, stick=5e12, depth=2e-5, slide=1e-5, gap=5.3e-6, rigid=False, glued=False,
    laws=None, wear=None,
):  # fmt: skip
    """A block that statics press on a floor and draw along it: a layer and springs of friction, or neither."""
    steel = aq.LinearElastic(young=young, poisson=0.3, density=1000.0)
    moved = {"top": {"x": lambda t: slide * t**2, "y": lambda t: -depth * t}}
    above = 0.004 if glued else 0.0
    mesh = aq.mesh.rectangle((0, 0.02), (above, 0.01), cells=(3, 2))
    block = aq.Solid("block", mesh, steel, plane="strain", imposed=moved)
    parts, junctions = [block], []
    if glued:
        foot = aq.Solid("foot", aq.mesh.rectangle((0, 0.02), (0, 0.007), cells=(6, 4)), steel, plane="strain")
        parts, junctions = [block, foot], [aq.Junction(block, foot, weights=aq.weights.Linear(), coupling=aq.L2())]
    spring = aq.Spring("side", parts[-1].boundary("left"), stiffness=(1e5, 0.0))
    floor = aq.RigidPlane(point=(0, -gap), normal=(0, 1.0))
    law = aq.Unilateral("gap") if rigid else aq.Asperities(stiffness=layer, exponent=1.5, height=4e-6)
    rubs = laws or (aq.Coulomb(friction) if rigid else aq.Coulomb(friction, stiffness=stick))
    wears = None if wear is None else aq.Archard(wear)
    foot = aq.Interface("foot", parts[-1].boundary("bottom"), floor, law, friction=rubs, wear=wears)
    system = aq.System(parts, junctions=junctions, interfaces=[foot], springs=[spring])
    return aq.Study(system, aq.Static(), 1.0, 0.05)


def knocking(stiffness=4e3, gap=2e-3, amplitude=1e-3, restitution=0.6):
    """A chain of masses, whose first one moves as imposed, that knocks on a stop: central differences."""
    wave = lambda t: amplitude * np.sin(60.0 * t)  # noqa: E731
    drive = aq.PointMasses("drive", 0.0, 1.0, imposed={"all": {"x": wave}})
    mass = aq.PointMasses("mass", 0.1, 1.0)
    spring = aq.Spring("spring", drive.boundary("all"), mass.boundary("all"), stiffness=stiffness, damping=5.0)
    law = aq.Unilateral(restitution=restitution)
    stop = aq.Interface("stop", mass.boundary("all"), aq.RigidPlane(point=0.1 + gap, normal=-1.0), law)
    system = aq.System([drive, mass], interfaces=[stop], springs=[spring])
    return aq.Study(system, aq.CentralDifference(), 0.3, 1e-3)


def energy(kind: str, at: int = -1) -> Callable[[Any], Any]:
    return lambda result: result["energy"].sel(kind=kind)[at]


def mean(path: str, *places: int) -> Callable[[Any], Any]:
    return lambda result: result[path].values[(slice(1, None), *places)].mean()


def within(make: Callable[..., aq.Study], scheme: Any) -> Callable[..., aq.Study]:
    """The same studies in another scheme."""
    return lambda **own: replace(make(**own), scheme=scheme)


CASES: dict[str, tuple[Callable[..., aq.Study], dict[str, float], dict[str, Any]]] = {
    "junction, material": (
        glued, {"young": 2e11, "density": 7800.0, "poisson": 0.3},
        {"kinetic": energy("kinetic"), "strain": energy("strain"), "force": mean("interface/tip/force", 0)},
    ),
    "multi-level law, start, size": (
        glued, {"velocity": 9.7, "friction": 0.2, "gap": 2e-5},
        {"asperity": energy("asperity", 45), "friction": energy("friction"), "kinetic": energy("kinetic")},
    ),
    "wear": (
        worn, {"wear": 1e-9, "friction": 0.3, "load": 20.0, "speed": 0.5},
        {
            "power": "interface/rub/wear_power", "volume": "interface/rub/worn_volume", "friction": energy("friction")
        },
    ),
    "layer, mass, damping": (
        worn, {"layer": 1e9, "mass": 0.2, "stick": 3e5, "damping": 20.0, "viscous": 1e3},
        {"lost": energy("asperity_damping"), "damping": energy("damping"), "work": energy("external_work")},
    ),
    "modal rod": (
        rod, {"young": 1e11, "gap": 3e-5, "stiffness": 2e5, "friction": 0.3, "amplitude": 40.0, "outer": 4.75e-3},
        {
            "force": mean("interface/support/force", 0), "friction": energy("friction"), "work": energy("external_work")
        },
    ),
    "elastic rod": (
        lambda **own: rod(modal=False, **own), {"young": 1e11, "stiffness": 2e5, "outer": 4.75e-3},
        {"friction": energy("friction"), "tip": lambda result: result["part/rod/displacement"][-1, -1, 0]},
    ),
    "rod at θ = 1": (
        lambda **own: rod(theta=1.0, **own), {"young": 1e11, "gap": 3e-5, "friction": 0.3},
        {"friction": energy("friction"), "scheme": energy("scheme"), "lost": energy("asperity_damping")},
    ),
    "impact": (
        bar, {"young": 2e11, "speed": 5.0, "impedance": 1.0, "area": 1e-4, "length": 0.1},
        {"impulse": mean("interface/wall/impulse"), "impact": energy("impact"), "strain": energy("strain")},
    ),
    "restitution": (
        lambda **own: bar(**{"restitution": 0.5} | own), {"restitution": 0.5, "speed": 5.0},
        {"impulse": mean("interface/wall/impulse"), "kinetic": energy("kinetic")},
    ),
    "imposed motion": (
        fretting, {"amplitude": 3e-5, "friction": 0.4, "load": 30.0, "stick": 2e6},
        {"power": "interface/rub/wear_power", "work": energy("external_work"), "friction": energy("friction")},
    ),
    "friction of the slip rate": (
        sliding, {"static": 0.5, "dynamic": 0.2, "velocity": 0.3, "load": 20.0, "speed": 0.5},
        {
            "power": "interface/rub/wear_power", "volume": "interface/rub/worn_volume", "friction": energy("friction"),
            "x": lambda result: result["part/pin/displacement"][-1, 0, 0],
        },
    ),
    "friction of the slip rate, generalised α": (
        within(sliding, aq.GeneralisedAlpha.with_radius(0.5)), {"dynamic": 0.2, "velocity": 0.3, "layer": 1e5},
        {"friction": energy("friction"), "scheme": energy("scheme"), "kinetic": energy("kinetic")},
    ),
    "table over the slip rate": (
        tabulated, {"middle": 0.4, "end": 0.35},
        {"power": "interface/rub/wear_power", "kinetic": energy("kinetic")},
    ),
    "table over the pressure": (
        lambda **own: tabulated(by="pressure", **own), {"middle": 0.4, "end": 0.35, "pressure": 20.0},
        {"power": "interface/rub/wear_power", "kinetic": energy("kinetic")},
    ),
    "statics": (
        pressed, {"young": 1e9, "layer": 1e15, "friction": 0.3, "stick": 5e12, "depth": 2e-5, "gap": 5.3e-6},
        {
            "force": mean("interface/foot/force", 1), "friction": energy("friction"), "work": energy("external_work"),
            "asperity": energy("asperity"),
            "reaction": lambda result: result["part/block/reaction"][-1, 0, 1],
        },
    ),
    "statics, wear": (
        lambda wear, **own: pressed(wear=wear, slide=4e-5, **own), {"wear": 3e-8, "friction": 0.3, "young": 1e9},
        {
            "volume": "interface/foot/worn_volume", "power": "interface/foot/wear_power", "wear": energy("wear"),
            "force": mean("interface/foot/force", 1),
        },
    ),
    "statics, multipliers, junction": (
        lambda **own: pressed(rigid=True, glued=True, **own), {"young": 1e9, "friction": 0.3, "slide": 1e-5},
        {"force": mean("interface/foot/force", 0), "friction": energy("friction"), "strain": energy("strain")},
    ),
    "statics, friction of the pressure": (
        lambda end, **own: pressed(laws=aq.PressureFriction([0.0, 4e6], [0.4, end]), **own),
        {"end": 0.3, "layer": 1e15},
        {"force": mean("interface/foot/force", 0), "friction": energy("friction"), "strain": energy("strain")},
    ),
    "Newmark": (
        within(glued, aq.Newmark()), {"young": 2e11, "friction": 0.2, "velocity": 9.7},
        {"kinetic": energy("kinetic"), "friction": energy("friction"), "strain": energy("strain")},
    ),
    "HHT, wear": (
        within(worn, aq.HHT(-0.1)), {"wear": 1e-9, "load": 20.0, "layer": 1e9, "damping": 20.0, "viscous": 1e3},
        {
            "power": "interface/rub/wear_power", "volume": "interface/rub/worn_volume", "damping": energy("damping"),
            "work": energy("external_work"), "scheme": energy("scheme"),
        },
    ),
    "generalised α, junction": (
        within(glued, aq.GeneralisedAlpha.with_radius(0.7)), {"young": 2e11, "density": 7800.0, "velocity": 9.7},
        {"kinetic": energy("kinetic"), "scheme": energy("scheme"), "force": mean("interface/tip/force", 0)},
    ),
    "generalised α, imposed motion": (
        within(fretting, aq.GeneralisedAlpha.with_radius(0.3)), {"amplitude": 3e-5, "friction": 0.4, "stick": 2e6},
        {"power": "interface/rub/wear_power", "work": energy("external_work"), "friction": energy("friction")},
    ),
    "Newmark of γ = 0.6, gap": (
        within(glued, aq.Newmark(0.36, 0.6)), {"gap": 2e-5, "poisson": 0.3},
        {"friction": energy("friction"), "scheme": energy("scheme"), "asperity": energy("asperity", 45)},
    ),
    "HHT, modal rod": (
        lambda **own: replace(rod(**own), scheme=aq.HHT(-0.1), duration=0.004),
        {"young": 1e11, "gap": 3e-5, "stiffness": 2e5, "amplitude": 40.0},
        {"force": mean("interface/support/force", 0), "work": energy("external_work"), "damping": energy("damping")},
    ),
    "central differences, junction": (
        within(partial(glued, mass="lumped"), aq.CentralDifference()),
        {"young": 2e11, "density": 7800.0, "velocity": 9.7, "friction": 0.2, "gap": 2e-5},
        {
            "kinetic": energy("kinetic"), "scheme": energy("scheme"), "force": mean("interface/tip/force", 0),
            "velocity": lambda result: result["part/fine/velocity"][-1, -1, 0],
        },
    ),
    "central differences, friction of the slip rate, wear": (
        within(sliding, aq.CentralDifference()), {"static": 0.5, "velocity": 0.3, "layer": 1e5, "speed": 0.5},
        {
            "power": "interface/rub/wear_power", "volume": "interface/rub/worn_volume", "friction": energy("friction"),
            "kinetic": energy("kinetic"),
        },
    ),
    "central differences, restitution, imposed motion": (
        knocking, {"stiffness": 4e3, "amplitude": 1e-3, "restitution": 0.6},
        {
            "impact": energy("impact"), "work": energy("external_work"), "kinetic": energy("kinetic"),
            "reaction": lambda result: result["part/drive/reaction"][-1, 0, 0],
        },
    ),
    "θ = 0.8": (
        lambda **own: glued(scheme=aq.Theta(0.8), **own), {"young": 2e11, "density": 7800.0, "gap": 2e-5},
        {"scheme": energy("scheme"), "strain": energy("strain"), "force": mean("interface/tip/force", 0)},
    ),
}  # fmt: skip


def difference(
    study: Callable[..., aq.Study], at: Mapping[str, float], name: str, quantities: Mapping[str, Any], step: float,
    value: float | None = None,
) -> np.ndarray:  # fmt: skip
    """Central differences of order 4 of the quantities; value: of the parameter, that of `at` by default."""
    total, value = np.zeros(len(quantities)), at[name] if value is None else value
    for j, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
        result = study(**{**at, name: value + j * step}).run()
        total = total + weight * np.array([float(quantity(result)) for quantity in quantities.values()])
    return total / (12.0 * step)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_central_differences(case):
    """1e-6 of the derivative, or of a tenth of the quantity over the parameter where the derivative is less: the
    round-off of runs, 1e-14 of the quantity, is 1e-8 of it in their differences. Between changes of status: as far as
    the gradient says that they stay; amounts, as the length of a slip, have kinks that are nearer."""
    study, at, quantities = CASES[case]
    found = gradient(study, quantities, at)
    plain = {key: own if callable(own) else mean(own) for key, own in quantities.items()}
    for i, name in enumerate(at):
        reach, own = min(found["up"].values[i], -found["down"].values[i]), found["gradient"].values[:, i]
        size = np.maximum(np.abs(own), 0.1 * np.abs(found["value"].values / at[name]))
        off = np.full(len(own), np.inf)
        for share in STEPS:
            step = min(share * abs(at[name]), 0.2 * reach)
            off = np.minimum(off, np.abs(difference(study, at, name, plain, step) - own) / size)
            if (off <= 1e-6).all():
                break
        assert (off <= 1e-6).all(), (name, off, step / at[name])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.7), aq.HHT(-0.1), aq.GeneralisedAlpha.with_radius(0.5), aq.Newmark()])
@pytest.mark.parametrize("make", [glued, worn, fretting, lambda friction: sliding(static=friction)])
def test_what_a_gradient_records_is_what_a_run_records(make, scheme):
    """All variables, to round-off of the largest value of each: their formulas stand in the run's audit, too."""
    _compare_records(within(make, scheme))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "make", [partial(glued, mass="lumped"), lambda friction: sliding(static=friction), lambda friction: knocking()]
)
def test_what_a_gradient_of_central_differences_records(make):
    _compare_records(within(make, aq.CentralDifference()))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options", [{}, {"rigid": True}, {"rigid": True, "glued": True}, {"wear": 3e-8, "slide": 4e-5}]
)
def test_what_a_gradient_of_statics_records(options):
    _compare_records(partial(pressed, **options))


def _compare_records(study):
    at = {"friction": 0.3}
    record = tangent_run.run_with_tangents(study, at, at, ["friction"], progress=False).record
    plain, solver = study(**at).run(), ("iterations", "residual", "newton", "balance")
    for group in plain.subtree:
        for key, own in group.data_vars.items():
            if own.dtype.kind == "f" and not any(word in str(key) for word in solver):
                found = record.result[f"{group.path.rstrip('/')}/{key}"].values
                scale = np.nanmax(np.abs(own.values), initial=0.0)
                least = 1e-12 if key == "mismatch" else 1e-18  # round-off where constraints hold at all times
                np.testing.assert_allclose(found, own.values, rtol=0.0, atol=1e-12 * scale + least, err_msg=str(key))


def thrown(height=1e-5, damping=1e6, speed=0.5, gap=5e-6):
    """A mass that is thrown on a damped layer, whose damping force is much larger than its elastic one."""
    mass = aq.PointMasses("mass", 0.0, 1.0)
    law = aq.Asperities(stiffness=1e9, exponent=1.5, height=height, damping=damping)
    wall = aq.Interface("wall", mass.boundary("all"), aq.RigidPlane(point=-gap, normal=1.0), [law])
    return aq.Study(aq.System([mass], interfaces=[wall], velocity=-speed), aq.Theta(0.5), 2e-4, 1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["height", "damping", "speed", "gap"])
def test_derivatives_of_a_damped_layer(name):
    at = {"height": 1e-5, "damping": 1e6, "speed": 0.5, "gap": 5e-6}[name]
    quantity = {"speed": lambda result: result["part/mass/velocity"][-1, 0, 0]}
    found = gradient(thrown, quantity, {name: at})
    step = min(1e-4 * at, 0.2 * found["up"].item(), -0.2 * found["down"].item())
    against = difference(thrown, {name: at}, name, quantity, step)
    np.testing.assert_allclose(found["gradient"].values[0], against, rtol=1e-7)


def test_steps_where_a_layer_is_just_left():
    """An elastic block on a penalty, fretted: in some of its steps a point has a depth at the start that is a small
    part of the way that it goes."""

    def block(friction):
        steel = aq.LinearElastic(young=1e11, poisson=0.3, density=8000.0)
        part = aq.Solid(
            "block", aq.mesh.rectangle((0, 0.01), (0, 0.005), cells=(5, 3)), steel, plane="strain",
            tractions={"top": lambda x, t: (2e5 * np.sin(2e4 * t), -1e7)},
        )  # fmt: skip
        floor, rubs = aq.RigidPlane(point=(0, 0), normal=(0, 1.0)), aq.Coulomb(friction, stiffness=1e13)
        face = aq.Interface(
            "face", part.boundary("bottom"), floor, [aq.Penalty(1e14)], friction=rubs, wear=aq.Archard(1e-12)
        )
        return aq.Study(aq.System([part], interfaces=[face]), aq.Theta(0.5), 3e-4, 1e-6)

    quantity = {"kinetic": energy("kinetic")}
    found = gradient(block, quantity, {"friction": 0.4})
    assert found["up"] > 8e-5 and found["down"] < -8e-5
    against = difference(block, {"friction": 0.4}, "friction", quantity, 4e-5)
    np.testing.assert_allclose(found["gradient"].values[0], against, rtol=1e-7)


def test_equations_of_different_units():
    """Contact on the gap, a damped layer and elastic stick: tangents lose no digits by the pivots of small rows."""

    def block(speed):
        soft = aq.LinearElastic(young=2e10, poisson=0.3, density=2500.0)
        part = aq.Solid("block", aq.mesh.rectangle((0, 0.03), (0, 0.02), cells=(4, 3)), soft, plane="stress")
        laws = [aq.Asperities(stiffness=1e12, exponent=1.5, height=1e-5, damping=1e7), aq.Unilateral("gap")]
        floor = aq.RigidPlane(point=(0, -5e-6), normal=(0, 1.0))
        face = aq.Interface("face", part.boundary("bottom"), floor, laws, friction=aq.Coulomb(0.3, stiffness=1e12))
        return aq.Study(aq.System([part], interfaces=[face], velocity=(3.0, -speed)), aq.Theta(0.5), 4e-5, 5e-7)

    energies = {kind: aq.Response(f"energy/{kind}", "final") for kind in ("kinetic", "strain", "friction")}
    one, other = (gradient(block, energies, {"speed": 2.0}, method=way)["gradient"] for way in ("tangent", "adjoint"))
    np.testing.assert_allclose(one, other, rtol=1e-11)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_scales_of_parameters_change_nothing(scale):
    """Even of a thousand times the value: amounts have derivatives of their own, data are smooth."""
    at = {"friction": 0.3}
    quantity = {"power": "interface/rub/wear_power"}
    one = gradient(worn, quantity, at)["gradient"].item()
    assert gradient(worn, quantity, at, scales={"friction": 0.3 * scale})["gradient"].item() == pytest.approx(one, 1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("node", [0, 2, 5])
def test_loads_of_many_functions(node):
    """One of six functions that the study writes depends on the parameter."""

    def driven(amplitude):
        def force(size):
            return lambda t: (size * np.sin(30.0 * t),)

        places = np.linspace(0.0, 1.0, 6)[:, None]
        forces = {f"n{i}": force(amplitude if i == node else 1.0) for i in range(6)}
        masses = aq.PointMasses("masses", places, 1.0, forces=forces, names={f"n{i}": i for i in range(6)})
        return aq.Study(aq.System([masses]), aq.Theta(0.5), 0.1, 1e-3)

    quantity = {"kinetic": energy("kinetic")}
    found = gradient(driven, quantity, {"amplitude": 1.5})["gradient"].values[0]
    against = difference(driven, {"amplitude": 1.5}, "amplitude", quantity, 1e-3)
    np.testing.assert_allclose(found, against, rtol=1e-9)
    assert found[0] > 1e-4


def tied(stiffness=100.0, amplitude=1e-2, mass=1.0, place=1.0, scheme=None):
    """A mass on a spring, tied by a relation to another one whose motion is imposed."""
    one = aq.PointMasses("one", 0.0, mass)
    motion = {"all": {"x": lambda t: amplitude * np.sin(20.0 * t)}}
    two = aq.PointMasses("two", place, 2.0, imposed=motion)
    held = aq.Spring("held", one.boundary("all"), stiffness=stiffness)
    tie = aq.Relation("tie", [(one.boundary("all"), "x", 1.0), (two.boundary("all"), "x", -1.0)])
    system = aq.System([one, two], springs=[held], relations=[tie])
    return aq.Study(system, scheme or aq.Theta(0.5), 0.1, 1e-3)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.HHT(-0.1)])
def test_impulses_of_constraints(scheme):
    """Reactions and works through a relation, and the force of a junction. Reactions are second differences of the
    imposed motion over the steps, which θ = 1/2 does not damp: 1e-6 of them is round-off."""
    quantities = {
        "reaction": lambda result: result["part/two/reaction"][-1, 0, 0], "work": energy("external_work"),
    }  # fmt: skip
    at = {"stiffness": 100.0, "amplitude": 1e-2, "mass": 1.0}
    found = gradient(lambda **own: tied(scheme=scheme, **own), quantities, at)
    for i, (name, value) in enumerate(at.items()):
        against = difference(lambda **own: tied(scheme=scheme, **own), at, name, quantities, 1e-4 * value)
        np.testing.assert_allclose(found["gradient"].values[:, i], against, rtol=2e-6)
    force = {"force": lambda result: result["junction/junction/force"][30, 0]}
    found = gradient(within(glued, scheme), force, {"young": 2e11})["gradient"].values[0]
    np.testing.assert_allclose(found, difference(within(glued, scheme), {}, "young", force, 2e5, 2e11), rtol=1e-6)


def test_variables_without_time():
    """Where a node is and the mass of a part depend on parameters, too."""
    quantities = {
        "place": lambda result: result["part/two/position"][0, 0] + result["part/one/displacement"][-1, 0, 0],
        "energy": lambda result: 0.5 * result["part/one/mass"] * result["part/one/velocity"][-1, 0, 0] ** 2,
    }
    at = {"place": 1.0, "mass": 1.5, "stiffness": 100.0}
    found = gradient(tied, quantities, at)
    for i, (name, value) in enumerate(at.items()):
        against = difference(tied, at, name, quantities, 1e-4 * value)
        np.testing.assert_allclose(found["gradient"].values[:, i], against, rtol=1e-6, atol=1e-10)


def test_a_start_with_a_kink_is_told():
    """Sticking at rest under HHT: the acceleration at the start is that of sliding from a speed of μ g Δt on."""

    def slider(speed):
        mass = aq.PointMasses("mass", (0.0, 0.0), 1.0)
        floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
        rub = aq.Interface("rub", mass.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(0.5))
        system = aq.System([mass], interfaces=[rub], gravity=(0.0, -10.0), velocity=(speed, 0.0))
        return aq.Study(system, aq.HHT(-0.1), 2e-5, 1e-6)

    way = {"way": lambda result: result["part/mass/displacement"][-1, 0, 0]}
    with pytest.raises(aq.UserError, match=r"depend on speed with a kink within .*scales=\{'speed': 0.001\}"):
        gradient(slider, way, {"speed": 0.0}, scales={"speed": 1.0})
    found = gradient(slider, way, {"speed": 0.0}, scales={"speed": 1e-3})["gradient"].item()
    assert found == pytest.approx(difference(slider, {}, "speed", way, 1e-7, 0.0)[0], rel=1e-6)


RESPONSES = {
    "glued": (
        glued, {"young": 2e11, "density": 7800.0, "velocity": 9.7, "length": 1.0, "friction": 0.2, "gap": 2e-5},
        [
            aq.Response("energy/friction", "final"), aq.Response("energy/kinetic"),
            aq.Response("energy/strain", "final"),
            aq.Response("interface/tip/wear_power"),
            aq.Response("interface/tip/impulse", "sum"),
            aq.Response("part/fine/displacement", "final", node=3, component="x"),
        ],
    ),
    "worn": (
        worn, {"wear": 1e-9, "friction": 0.3, "mass": 0.2, "load": 20.0, "stick": 3e5, "speed": 0.5, "layer": 1e9},
        [
            aq.Response("energy/friction", "final"), aq.Response("energy/external_work", "mean"),
            aq.Response("energy/damping", "final"), aq.Response("interface/rub/worn_volume", "final"),
            aq.Response("interface/rub/wear_power"), aq.Response("part/pin/velocity", "mean", component="y"),
        ],
    ),
    "bar": (
        bar, {"young": 2e11, "area": 1e-4, "speed": 5.0, "gap": 1e-6, "impedance": 1.0},
        [aq.Response("energy/impact", "final"), aq.Response("interface/wall/impulse", "sum")],
    ),
    "rod": (
        rod, {"young": 1e11, "gap": 3e-5, "stiffness": 2e5, "friction": 0.3, "amplitude": 40.0, "outer": 4.75e-3},
        [
            aq.Response("interface/support/wear_power"), aq.Response("energy/damping", "final"),
            aq.Response("part/rod/displacement", node=4, component="x", data=np.linspace(0.0, 1e-4, 500)),
        ],
    ),
    "imposed motion": (
        fretting, {"amplitude": 3e-5, "friction": 0.4, "load": 30.0, "stick": 2e6},
        [aq.Response("energy/friction", "final"), aq.Response("interface/rub/wear_power")],
    ),
    "imposed motion, generalised α": (
        within(fretting, aq.GeneralisedAlpha.with_radius(0.3)), {"amplitude": 3e-5, "friction": 0.4, "stick": 2e6},
        [aq.Response("energy/friction", "final"), aq.Response("part/pin/velocity", component="x")],
    ),
    "HHT": (
        within(worn, aq.HHT(-0.1)), {"wear": 1e-9, "friction": 0.3, "mass": 0.2, "stick": 3e5, "damping": 20.0},
        [
            aq.Response("interface/rub/worn_volume", "final"), aq.Response("energy/kinetic"),
            aq.Response("energy/damping", "final"),
        ],
    ),
    "imposed motion, Newmark": (
        within(fretting, aq.Newmark(0.36, 0.6)), {"amplitude": 3e-5, "friction": 0.4, "stick": 2e6},
        [
            aq.Response("energy/external_work", "final"),
            aq.Response("part/drive/reaction", support="all", component="x"),
        ],
    ),
    "central differences with damping": (
        knocking, {"stiffness": 4e3, "amplitude": 1e-3},
        [aq.Response("energy/damping", "final"), aq.Response("interface/stop/impulse", "sum")],
    ),
    "Newmark": (
        within(rod, aq.Newmark(0.36, 0.6)), {"young": 1e11, "gap": 3e-5, "friction": 0.3, "amplitude": 40.0},
        [aq.Response("energy/damping", "final"), aq.Response("energy/external_work", "final")],
    ),
    "generalised α": (
        within(glued, aq.GeneralisedAlpha.with_radius(0.6)), {"young": 2e11, "length": 1.0, "friction": 0.2},
        [aq.Response("energy/strain"), aq.Response("interface/tip/impulse", "sum")],
    ),
}  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", RESPONSES)
@pytest.mark.parametrize("small", [True, False])
def test_adjoints_are_tangents(case, small, monkeypatch):
    """1e-10 of each other, by dense operators and by passes over the factor."""
    if not small:
        for module in (adjoint, tangent):
            monkeypatch.setattr(module, "DENSE", 0)
    study, at, responses = RESPONSES[case]
    named = {response.path: response for response in responses}
    one, other = (gradient(study, named, at, method=method) for method in ("tangent", "adjoint"))
    np.testing.assert_allclose(other["value"], one["value"], rtol=1e-12)
    scale = np.abs(one["gradient"] * one["parameter_value"]).max("parameter") / np.abs(one["parameter_value"])
    assert (np.abs(one["gradient"] - other["gradient"]) <= 1e-10 * scale).all()


def test_a_response_is_a_quantity_of_the_result():
    """Of the gradients' own pass and of the recorded result."""
    result = worn().run()
    _, at, responses = RESPONSES["worn"]
    found = gradient(worn, {own.path: own for own in responses}, {"load": at["load"]})
    values, adjoints = (
        found["value"].values,
        gradient(worn, {own.path: own for own in responses}, {"load": 20.0}, method="adjoint")["value"].values,
    )
    np.testing.assert_allclose(values, [own(result) for own in responses], rtol=1e-12)
    np.testing.assert_allclose(adjoints, values, rtol=1e-12)


def test_what_junctions_absorb_is_no_damping():
    """Two glued bars with Rayleigh damping a M + b K, b = 0: the loss is that of differences of runs, though the
    junction absorbs too."""

    def bars(young):
        steel = aq.LinearElastic(young=young, poisson=0.0, density=7800.0)
        damped = {"damping": aq.Rayleigh(2e3, 0.0)}
        coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.6, cells=6), steel, **damped)
        fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=60), steel, **damped)
        glue = aq.Junction(
            coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse", absorbing=True
        )
        wall = aq.Interface("wall", fine.boundary("right"), aq.RigidPlane(point=1.0, normal=-1.0), aq.Unilateral())
        system = aq.System([coarse, fine], junctions=[glue], interfaces=[wall], velocity=1.0)
        return aq.Study(system, aq.Theta(0.5), 2e-4, 2e-6)

    assert float(bars(2e11).run()["energy"].sel(kind="absorbed")[-1]) > 0.0
    lost = aq.Response("energy/damping", "final")
    against = difference(bars, {"young": 2e11}, "young", {"lost": lost}, 1e-4 * 2e11)[0]
    for method in ("tangent", "adjoint"):
        found = gradient(bars, lost, {"young": 2e11}, method=method)["gradient"].item()
        assert found == pytest.approx(against, rel=1e-6)


def test_modes_are_found_once_where_the_part_stays(monkeypatch):
    from arlequin.models.reduction import modal

    calls, own = [], modal.modal_basis
    monkeypatch.setattr(modal, "modal_basis", lambda *args: calls.append(1) or own(*args))
    response = aq.Response("interface/support/wear_power")
    gradient(rod, response, {"gap": 3e-5, "friction": 0.3})
    assert len(calls) == 2  # of the run, and of one step that tells whether there is such a result
    gradient(rod, response, {"young": 1e11})
    assert len(calls) == 2 + 6


def test_an_energy_that_a_study_has_not_is_told():
    with pytest.raises(aq.UserError, match="energy/damping: the result has no such variable"):
        gradient(bar, aq.Response("energy/damping", "final"), {"young": 2e11})


def test_blocks_and_checkpoints_change_nothing(monkeypatch):
    from arlequin.sensitivity import trajectory

    response = {"power": aq.Response("interface/rub/wear_power")}
    at = {"friction": 0.3, "layer": 1e9}
    one = [gradient(worn, response, at, method=method)["gradient"] for method in ("tangent", "adjoint")]
    monkeypatch.setattr(trajectory, "MAX_STEPS", 17)
    other = [gradient(worn, response, at, method=method)["gradient"] for method in ("tangent", "adjoint")]
    np.testing.assert_allclose(other, one, rtol=1e-12)


def test_reach_is_where_a_status_changes():
    """A mass that flies at 1 m/s towards a wall closes in the first step n whose predicted middle, (n + ½) Δt v, has
    reached it: a gap of 3.2 mm in n = 3, of 2.5 mm and less a step earlier, of more than 3.5 mm a step later."""

    def thrown(gap):
        ball = aq.PointMasses("ball", 0.0, 1.0)
        wall = aq.Interface("wall", ball.boundary("all"), aq.RigidPlane(point=gap, normal=-1.0), aq.Unilateral())
        return aq.Study(aq.System([ball], interfaces=[wall], velocity=1.0), aq.Theta(0.5), 0.01, 1e-3)

    found = gradient(thrown, "interface/wall/impulse", {"gap": 3.2e-3})
    assert found["up"].item() == pytest.approx(0.3e-3, rel=1e-9)
    assert found["down"].item() == pytest.approx(-0.7e-3, rel=1e-9)


@pytest.mark.slow
def test_smoothed_gradient_of_jumps():
    """J = 1 for p > 0: the mean over p ~ N(m, s²) is Φ(m/s), its derivative the normal density."""

    def thrown(offset):
        ball = aq.PointMasses("ball", 0.0, 1.0)
        return aq.Study(aq.System([ball], velocity=offset), aq.Theta(0.5), 1.0, 1.0)

    found = aq.smoothed_gradient(
        thrown, {"step": lambda result: float(result["part/ball/velocity"][0, 0, 0] > 1.0)}, {"offset": 1.1},
        spread={"offset": 0.2}, samples=512,
    )  # fmt: skip
    density = np.exp(-0.125) / np.sqrt(2.0 * np.pi) / 0.2
    assert found["gradient"].item() == pytest.approx(density, abs=3.0 * found["gradient_error"].item())
    assert found["gradient_error"].item() < 0.05 * density


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("of", "wrt", "options", "message"),
    [
        ("interface/rub/wear_powr", {"load": 20.0}, {}, "no such variable; .*did you mean interface/rub/wear_power"),
        ("energy", {"load": 20.0}, {}, "has the dimensions time, kind: give a function of the result"),
        ("interface/rub/wear_power", {"laod": 20.0}, {}, "the study has no parameter 'laod', did you mean load"),
        ("interface/rub/wear_power", [], {}, "wrt: needs at least one name"),
        ("interface/rub/wear_power", ["load", "load"], {}, "each parameter is named once"),
        ("interface/rub/wear_power", {"speed": 0.0}, {}, "scales: speed is 0, so that its scale is not known"),
        ("interface/rub/wear_power", ["load"], {"scales": {"mass": 1.0}}, "'mass' is no parameter of wrt"),
        ("interface/rub/wear_power", ["load"], {"method": "adjoint"}, "interface/rub/wear_power is no Response"),
        (lambda result: result["energy"], ["load"], {}, "must be one number"),
        (lambda result: np.nan, ["load"], {}, "must be finite"),
    ],
)  # fmt: skip
def test_bad_input(of, wrt, options, message):
    with pytest.raises(aq.UserError, match=message):
        gradient(worn, of, wrt, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"scheme": aq.SymplecticEuler()},
            "has no gradients: take Theta without located events, one of the generalised",
        ),
        ({"scheme": aq.Midpoint()}, 'the midpoint scheme with unilateral contact needs mass="redistributed"'),
        ({"scheme": aq.Theta(0.5, events="locate")}, "has no gradients"),
    ],
)
def test_other_schemes_are_refused(change, message):
    with pytest.raises(aq.UserError, match=message):
        gradient(lambda speed: replace(bar(speed=speed), **change), energy("kinetic"), {"speed": 5.0})


@pytest.mark.parametrize(
    ("make", "name", "value", "message"),
    [
        (within(rod, aq.HHT(-0.1)), "amplitude", 40.0, "loads that depend on a parameter have no Response with a sch"),
        (within(fretting, aq.HHT(-0.1)), "friction", 0.4, "reactions have no Response with CentralDifference, or"),
    ],
)
def test_works_that_are_no_responses(make, name, value, message):
    with pytest.raises(aq.UserError, match=message):
        gradient(make, aq.Response("energy/external_work", "final"), {name: value})


@pytest.mark.parametrize("name", ["theta", "step", "duration"])
def test_parameters_of_the_time_integration_are_refused(name):
    """The equations of a step are differentiated at the same θ and Δt: the derivatives would be wrong."""
    at = {"theta": 0.6, "step": 5e-7, "duration": 3e-5}

    def study(value):
        now = {**at, name: value}
        return aq.Study(bar().system, aq.Theta(now["theta"]), now["duration"], now["step"])

    with pytest.raises(aq.UserError, match="changes the scheme, the step or the duration"):
        gradient(study, "interface/wall/impulse", {"value": at[name]})


def test_a_response_alone_is_named_by_its_path():
    found = gradient(bar, aq.Response("interface/wall/impulse", "sum"), ["speed"])
    assert found["quantity"].values.tolist() == ["interface/wall/impulse"]


def test_what_is_no_study_is_refused():
    with pytest.raises(aq.UserError, match="must give a Study"):
        gradient(lambda load: 3, "interface/rub/wear_power", {"load": 1.0})
    with pytest.raises(aq.UserError, match="'mass' is no parameter of wrt"):
        aq.smoothed_gradient(worn, "interface/rub/wear_power", ["load"], spread={"load": 1.0, "mass": 1.0})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rigid", [False, True])
def test_a_pressed_rod(rigid):
    """A rod of stiffness k = EA/L whose end is driven by δ on a layer of stiffness c, or on a floor: the force is
    δ / (1/k + 1/c) or k δ, and its derivatives follow."""

    def rod(young=2e9, layer=3e9, depth=1e-4, area=2e-4):
        steel = aq.LinearElastic(young=young, poisson=0.0, density=1000.0)
        driven = {"right": {"x": lambda t: -depth * t}}
        bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=4), steel, section=area, imposed=driven)
        law = aq.Unilateral("gap") if rigid else aq.Penalty(layer)
        wall = aq.Interface("wall", bar.boundary("left"), aq.RigidPlane(point=0.0, normal=1.0), law)
        return aq.Study(aq.System([bar], interfaces=[wall]), aq.Static(), 1.0, 0.25)

    at = {"young": 2e9, "layer": 3e9, "depth": 1e-4}
    k, c = 2e9 * 2e-4 / 0.1, 3e9 * 2e-4
    stiff = k if rigid else 1.0 / (1.0 / k + 1.0 / c)
    exact = np.array([stiff**2 / k**2 * k / 2e9, 0.0 if rigid else stiff**2 / c**2 * 2e-4, 0.0]) * 1e-4
    exact[2] = stiff
    force = aq.Response("interface/wall/force", "final", component="x")
    for method in ("tangent", "adjoint"):
        found = gradient(rod, force, at, method=method)
        np.testing.assert_allclose(found["value"], stiff * 1e-4, rtol=1e-12)
        np.testing.assert_allclose(found["gradient"].values[0], exact, rtol=1e-10, atol=1e-12 * exact.max())


STATIC_RESPONSES = {
    "energy/strain": {}, "energy/asperity": {}, "interface/foot/force": {"component": "y"},
    "interface/foot/gap_min": {}, "interface/foot/gap": {"point": 1}, "interface/foot/pressure": {"point": 2},
    "interface/foot/traction": {"point": 1, "component": "x"}, "interface/foot/slip": {"point": 1},
    "part/block/displacement": {"node": 10, "component": "x"}, "part/block/reaction": {"component": "y"},
    "spring/side/elongation": {"component": "x"},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("wear", "small"), [(None, True), (3e-8, True), (3e-8, False)])
def test_responses_of_statics(wear, small, monkeypatch):
    """Values of the result; tangents and adjoints agree, with each other and with those of functions of the result."""
    if not small:
        for module in (adjoint, tangent):
            monkeypatch.setattr(module, "DENSE", 0)
    options = (
        STATIC_RESPONSES
        if wear is None
        else {"interface/foot/worn_volume": {}, "interface/foot/force": {"component": "x"}}
    )
    of = {path: aq.Response(path, "final", **own) for path, own in options.items()}
    at = {"young": 1e9, "layer": 1e15, "friction": 0.3, "depth": 2e-5}
    study = partial(pressed, wear=wear, slide=1e-5 if wear is None else 4e-5)
    result = study(**at).run()
    one, other = (gradient(study, of, at, method=method) for method in ("tangent", "adjoint"))
    for i, (path, response) in enumerate(of.items()):
        assert one["value"].values[i] == pytest.approx(response(result), 1e-9), path
        found = one["gradient"].values[i]
        np.testing.assert_allclose(other["gradient"].values[i], found, rtol=1e-9, err_msg=path)
        plain = gradient(study, {"plain": response.__call__}, at)["gradient"].values[0]
        np.testing.assert_allclose(plain, found, rtol=1e-6, atol=1e-9 * np.abs(found).max(), err_msg=path)
    with pytest.raises(aq.UserError, match="energy/friction has no Response in statics: take a function"):
        gradient(pressed, aq.Response("energy/friction", "final"), at)


def test_statics_that_contact_alone_holds_are_refused():
    def loose(load=10.0):
        pin, floor = aq.PointMasses("pin", (0.0, 0.0), 1.0), aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
        rub = aq.Interface("rub", pin.boundary("all"), floor, aq.Penalty(1e6), friction=aq.Coulomb(0.3))
        side = aq.Spring("side", pin.boundary("all"), stiffness=(1e3, 0.0))
        system = aq.System([pin], interfaces=[rub], springs=[side], gravity=lambda t: np.array([0.0, -load * t]))
        return aq.Study(system, aq.Static(), 1.0, 0.1)

    with pytest.raises(aq.UserError, match="held without contact"):
        gradient(loose, {"strain": energy("strain")}, {"load": 10.0})


@pytest.mark.parametrize(
    "law",
    [
        aq.StaticDynamic(0.4, 0.3, slip_distance=1e-3), aq.RateAndState(0.6, 0.01, 0.015, 1e-5, 1e-3),
        aq.Orthotropic(0.1, 0.2, (1.0, 0.0, 0.0)),
    ],
)  # fmt: skip
def test_friction_that_remembers_is_refused(law):
    with pytest.raises(aq.UserError, match="one of the slip rate and the pressure alone"):
        gradient(lambda load: sliding(load=load, law=law), "interface/rub/wear_power", {"load": 20.0})


class OwnLaw(CompiledFriction):
    """μ = μ_d + (μ_s − μ_d) e^(−v/v₀), by the kernel of another law."""

    of_the_step = True

    def __init__(self, *constants):
        self.constants = np.array([*constants, 1.0, 0.05])

    def coefficients(self):
        return self.constants

    def kernel(self):
        return aq.Stribeck(0.5, 0.2, 0.3).kernel()


def test_a_law_of_ones_own_of_the_slip_rate():
    """Has the gradients of the law that it is."""
    at, quantity = {"static": 0.5, "dynamic": 0.2, "velocity": 0.3}, {"friction": energy("friction")}
    found = gradient(lambda **own: sliding(law=OwnLaw(*own.values())), quantity, at)["gradient"]
    np.testing.assert_allclose(found, gradient(sliding, quantity, at)["gradient"], rtol=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark(), aq.HHT(-0.1)])
def test_viscous_friction_of_a_slider(scheme):
    """m v̇ = −(μ₀ + μ_v v) m g: v = (v₀ + μ₀/μ_v) e^(−μ_v g t) − μ₀/μ_v, and its derivatives; order 2 in the step."""

    def slider(static=0.1, viscous=0.2, speed=1.0, step=1e-3):
        mass, floor = aq.PointMasses("mass", (0.0, 0.0), 2.0), aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
        law = aq.Stribeck(static, static, 1.0, viscous=viscous)
        rub = aq.Interface("rub", mass.boundary("all"), floor, aq.Unilateral(), friction=law)
        system = aq.System([mass], interfaces=[rub], gravity=(0.0, -10.0), velocity=(speed, 0.0))
        return aq.Study(system, scheme, 0.2, step)

    def errors(step):
        quantity = aq.Response("part/mass/velocity", "final", component="x")
        found = gradient(partial(slider, step=step), quantity, ["static", "viscous", "speed"])
        m0, mv, v0, gt = 0.1, 0.2, 1.0, 10.0 * 0.2
        e = np.exp(-mv * gt)
        exact = [(e - 1.0) / mv, m0 / mv**2 * (1.0 - e) - gt * (v0 + m0 / mv) * e, e]
        return np.abs(found["gradient"].values[0] - exact)

    coarse, fine = errors(4e-3), errors(1e-3)
    assert (fine < 1e-5).all() and (fine < coarse / 14.0).all()


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("energy/frction", {}, "did you mean energy/friction"),
        ("interface/rub/active", {}, "is no response"),
        ("interface/rub/force", {}, "component: is needed"),
        ("part/pin/displacement", {}, "component: is needed"),
        ("energy/friction", {"data": [1.0]}, "a misfit is of what does not add up"),
        ("energy/friction", {"reduce": "max"}, "must be one of final, mean, sum"),
    ],
)
def test_bad_responses(path, options, message):
    with pytest.raises(aq.UserError, match=message):
        aq.Response(path, **options)


def test_a_record_of_another_length_is_refused():
    record = aq.Response("interface/rub/wear_power", data=np.zeros(7))
    with pytest.raises(aq.UserError, match="must have the length of the series without its start, 100"):
        gradient(worn, {"misfit": record}, {"load": 20.0})
