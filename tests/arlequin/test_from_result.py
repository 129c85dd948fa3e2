"""Systems that start from a former result: a run cut in two is the run uncut; statics at rest stays at rest."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning

SOFT = aq.LinearElastic(young=1e7, poisson=0.3, density=1000.0)
GRAVITY = 9.81
CURED = aq.Record(point_memory=True)


def block(name: str = "block", y: tuple[float, float] = (0.0, 0.1), **options: Any) -> aq.Solid:
    mesh = aq.mesh.rectangle((0.0, 0.1), y, cells=(3, 3))
    return aq.Solid(name, mesh, options.pop("material", SOFT), plane="strain", **options)


def on_floor(part: Any, *laws: Any, side: str = "bottom", **options: Any) -> aq.Interface:
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    return aq.Interface("floor", part.boundary(side), floor, laws, **options)


def slider(*laws: Any, friction: Any = None, **options: Any) -> aq.System:
    part = block(**options)
    return aq.System(
        [part], interfaces=[on_floor(part, *laws, friction=friction)], gravity=(0.0, -GRAVITY), velocity=(0.2, -0.05)
    )


def points(*laws: Any, friction: Any = None) -> aq.System:
    part = aq.PointMasses("masses", [(0.0, 0.0), (0.1, 0.0)], 1.0)
    spring = aq.Spring("spring", part.boundary("all"), stiffness=(200.0, 0.0))
    floor = on_floor(part, *laws, side="all", friction=friction)
    return aq.System([part], interfaces=[floor], springs=[spring], gravity=(0.0, -GRAVITY), velocity=(1.0, -0.1))


def glued() -> aq.System:
    coarse, fine = (
        aq.Solid(name, aq.mesh.rectangle(x, (0.0, 0.1), cells=(n, 2)), SOFT, plane="strain")
        for name, x, n in (("coarse", (0.0, 0.6), 6), ("fine", (0.4, 1.0), 12))
    )
    joint = aq.Junction(coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse")
    return aq.System([coarse, fine], junctions=[joint], velocity={"coarse": (1.0, 0.2)})


def tied() -> aq.System:
    lower, upper = block("lower"), block("upper", (0.1, 0.2))
    tie = aq.Tie(lower.boundary("top"), upper.boundary("bottom"))
    return aq.System([lower, upper], junctions=[tie], velocity={"lower": (1.0, 0.0), "upper": (1.0, 0.5)})


def spin(rate: float, centre: tuple[float, float]) -> Callable[[Any], Any]:
    return lambda x: np.stack([1.0 - rate * (x[:, 1] - centre[1]), rate * (x[:, 0] - centre[0])], axis=1)


def polygon() -> aq.System:
    body = aq.RigidBody("body", [(0.0, 0.5), (0.2, 0.5), (0.2, 0.6), (0.0, 0.6)], density=2000.0)
    floor = on_floor(body, aq.Unilateral(), side="outline", friction=aq.Coulomb(0.3))
    start = {"body": spin(30.0, (0.1, 0.55))}  # 50° in the first half
    return aq.System([body], interfaces=[floor], gravity=(0.0, -GRAVITY), velocity=start)


def director() -> aq.System:
    body = aq.Rigid(aq.Solid("body", aq.mesh.rectangle((0.0, 0.2), (0.3, 0.4), cells=(2, 2)), SOFT, plane="strain"))
    return aq.System([body], gravity=(0.0, -GRAVITY), velocity={"body": spin(30.0, (0.1, 0.35))})


def flowing(kinematics: str) -> aq.System:
    metal = aq.J2(1e7, 0.3, 1000.0, yield_stress=1e4, hardening=aq.LinearHardening(1e5))
    part = block(material=metal, kinematics=kinematics, imposed={"bottom": {"x": 0.0, "y": 0.0}})
    return aq.System([part], velocity=lambda x: np.stack([100.0 * x[:, 1], -80.0 * x[:, 1]], axis=1))


def bent(reduced: bool = False) -> aq.System:
    rod = aq.Beam(
        "rod", aq.mesh.interval(0.0, 1.0, cells=8), SOFT, aq.Section.rectangle(0.02, 0.01), dimension=2,
        imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}},
    )  # fmt: skip
    part: Any = aq.Modal(rod, 6) if reduced else rod
    return aq.System([part], velocity={"rod": lambda x: np.stack([0 * x[:, 0], x[:, 0] ** 2, 2 * x[:, 0]], axis=1)})


def wearing() -> aq.System:
    pin = aq.PointMasses("pin", (0.0, 0.0), 2.0, imposed_velocity={"all": {"x": 0.5}})
    floor = on_floor(pin, aq.Unilateral(), side="all", friction=aq.Coulomb(0.2), wear=aq.Archard(1e-4))
    return aq.System([pin], interfaces=[floor], gravity=(0.0, -10.0))


STICK = aq.Coulomb(0.3, stiffness=1e8)
SYSTEMS = {
    "gap": lambda: slider(aq.Unilateral(level="gap")),
    "Coulomb": lambda: slider(aq.Unilateral(), friction=aq.Coulomb(0.3)),
    "stick": lambda: slider(aq.Unilateral(), friction=STICK),
    "finite": lambda: slider(aq.Unilateral(), friction=STICK, kinematics="finite"),
    "massless": lambda: slider(aq.Unilateral(level="gap"), mass="redistributed"),
    "lumped": lambda: slider(aq.Unilateral(), friction=aq.Coulomb(0.3), mass="lumped"),
    "points": lambda: points(aq.ImpactElement(1e5, 10.0), friction=aq.Coulomb(0.3, stiffness=1e4)),
    "slip weakening": lambda: points(aq.Unilateral(), friction=aq.StaticDynamic(0.5, 0.3, slip_distance=1e-2)),
    "rate and state": lambda: points(aq.Unilateral(), friction=aq.RateAndState(0.3, 0.01, 0.02, 1e-2, 1e-2)),
    "wear": wearing,
    "glued": glued,
    "tied": tied,
    "polygon": polygon,
    "directors": director,
    "small plasticity": lambda: flowing("small"),
    "finite plasticity": lambda: flowing("finite"),
    "beam": bent,
    "modes": lambda: bent(reduced=True),
}
THETA, NEWMARK, CENTRAL = aq.Theta(0.5), aq.Newmark(), aq.CentralDifference()
# Newmark's accelerations follow from u and v where nothing dissipates between the frames
RUNS = [(name, THETA) for name in SYSTEMS] + [
    ("gap", aq.Theta(1.0)),
    ("stick", NEWMARK),
    ("finite", aq.Midpoint()),
    ("massless", NEWMARK),
    ("lumped", CENTRAL),
    ("rate and state", CENTRAL),
    ("glued", NEWMARK),
    ("points", aq.SymplecticEuler()),
    ("points", aq.DeVogelaere()),
    ("points", aq.RungeKutta()),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "scheme"), RUNS, ids=[f"{name}-{type(scheme).__name__}" for name, scheme in RUNS])
def test_a_run_cut_in_two_is_the_run(name: str, scheme: Any) -> None:
    system, half = SYSTEMS[name](), 15
    step = {
        "points": 1e-3,
        "slip weakening": 1e-3,
        "rate and state": 1e-3,
        "wear": 1e-3,
        "polygon": 2e-3,
        "directors": 2e-3,
    }.get(name, 5e-5 if scheme is CENTRAL else 2e-4)

    def run(start: Any, steps: int) -> Any:
        return aq.simulate(start, scheme, duration=steps * step, step=step, record=CURED)

    whole, first = run(system, 2 * half), run(system, half)
    second = run(replace(system, velocity=None, from_result=first), half)
    for group in (f"part/{part.name}" for part in system.parts):
        for what in {"displacement", "rotation", "velocity", "plastic_strain"} & set(whole[group].data_vars):
            values, again = whole[group][what].values[half:], second[group][what].values
            assert np.abs(again - values).max() <= 1e-11 * np.abs(values).max()
    for group in (f"interface/{item.name}" for item in system.interfaces):
        kept = {"slip", "wear_work", "spring_traction", "friction_variable", "worn_depth"}
        for what in kept & set(whole[group].data_vars):
            values, again = whole[group][what].values[half:], second[group][what].values
            assert np.abs(again - values).max() <= 1e-9 * np.abs(values).max()
    assert np.abs(second["balance"]).max() < 1e-13


SCHEMES = (THETA, aq.Theta(1.0), NEWMARK, aq.HHT(), aq.GeneralisedAlpha.with_radius(0.8))


def pressed(kinematics: str, friction: Any, gravity: Any, level: str = "gap", **options: Any) -> aq.System:
    part = block(kinematics=kinematics)
    floor = on_floor(part, aq.Unilateral(level=level), friction=friction)
    return aq.System([part], interfaces=[floor], gravity=gravity, **options)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("friction", [aq.Coulomb(0.3), aq.Coulomb(0.3, stiffness=1e9)], ids=["rigid", "springs"])
@pytest.mark.parametrize("kinematics", ["small", "finite"])
@pytest.mark.parametrize("level", ["gap", "velocity"])
def test_equilibrium_stays_at_rest(kinematics: str, friction: Any, level: str) -> None:
    static = aq.simulate(
        pressed(kinematics, friction, lambda t: (2.0 * t, -10.0 * t)), aq.Static(), duration=1.0, step=0.5
    )
    start = pressed(kinematics, friction, (2.0, -10.0), level, from_result=static)
    for scheme in SCHEMES:
        result = aq.simulate(start, scheme, duration=1e-3, step=1e-4)
        u = result["part/block"]["displacement"].values
        assert np.abs(u - u[0]).max() < 1e-10 * np.abs(u[0]).max()
        assert abs(float(result["interface/floor"]["force"][-1, 1]) - 100.0) < 1e-9  # ρ g A, N


def cantilever(load: Any, **options: Any) -> aq.System:
    rod = aq.Beam(
        "rod", aq.mesh.interval(0.0, 1.0, cells=6), aq.LinearElastic(2e11, 0.3, 7800.0), aq.Section.circle(0.005),
        dimension=3, imposed={"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)},
        end_loads={"right": load},
    )  # fmt: skip
    return aq.System([rod], **options)


@pytest.mark.parametrize("scheme", [THETA, NEWMARK], ids=["theta", "Newmark"])
def test_beam_released_from_bending(scheme: Any) -> None:
    """In space, under a force along z and a moment about y: held it stays; half released it swings about the other
    equilibrium, with the energy that the step of the load gave, U(u₀) − ½ F u₀."""
    load = np.array([0.0, 0.0, 20.0, 0.0, 3.0, 0.0])  # N, N·m
    static = aq.simulate(cantilever(lambda t: t * load), aq.Static(), duration=1.0, step=1.0)
    bent = static["part/rod"]["displacement"].values[-1, -1, 2]
    held = aq.simulate(cantilever(tuple(load), from_result=static), scheme, duration=1.0, step=1e-2)
    for what in ("displacement", "rotation"):
        values = held["part/rod"][what].values
        assert np.abs(values - values[0]).max() < 1e-10 * np.abs(values[0]).max()
    half = cantilever(tuple(0.5 * load), from_result=static)
    swings = aq.simulate(half, scheme, duration=0.5, step=5e-4)
    tip = swings["part/rod"]["displacement"].values[:, -1, 2]
    assert abs(tip.max() - bent) < 1e-3 * bent and abs(tip.min()) < 0.05 * bent
    energy = swings["energy"].sel(kind=["kinetic", "strain"]).sum("kind") - swings["energy"].sel(kind="external_work")
    assert np.abs(energy - energy[0]).max() < 1e-12 * energy[0]
    frequency = float(aq.natural_frequencies(half, 1).frequencies[0])
    around = tip - 0.5 * bent
    crossings = np.flatnonzero(np.diff(np.sign(around)) != 0)
    crossed = 5e-4 * (crossings + around[crossings] / (around[crossings] - around[crossings + 1]))
    assert abs(0.5 / np.diff(crossed).mean() / frequency - 1.0) < 5e-3


def test_members_start_from_results_of_their_own() -> None:
    system = slider(aq.Unilateral(), friction=aq.Coulomb(0.3))
    firsts = [
        aq.simulate(replace(system, velocity=(v, -0.05)), THETA, duration=2e-3, step=2e-4) for v in (0.1, 0.2, 0.3)
    ]
    members = [replace(system, velocity=None, from_result=first) for first in firsts]
    together = aq.simulate_ensemble(members, THETA, duration=2e-3, step=2e-4)
    for i, member in enumerate(members):
        alone = aq.simulate(member, THETA, duration=2e-3, step=2e-4)
        for group, what in (("part/block", "displacement"), ("interface/floor", "slip")):
            values = alone[group][what].values
            assert np.abs(together[group][what].values[i] - values).max() <= 1e-12 * np.abs(values).max()


def test_a_kick_and_another_part() -> None:
    """A velocity that is given takes the place of the result's; parts that it lacks start as they say."""
    static = aq.simulate(pressed("small", None, lambda t: (0.0, -10.0 * t)), aq.Static(), duration=1.0, step=1.0)
    lower, ball = block(), aq.PointMasses("ball", (0.05, 0.3), 1e-3)
    floor = on_floor(lower, aq.Unilateral())
    system = aq.System(
        [lower, ball], interfaces=[floor], from_result=static, velocity={"ball": (0.0, -1.0), "block": (0.5, 0.0)}
    )
    result = aq.simulate(system, THETA, duration=1e-5, step=1e-5)
    start = result["part/block"]
    assert np.array_equal(start["displacement"][0], static["part/block"]["displacement"][-1])
    assert (start["velocity"].values[0] == (0.5, 0.0)).all()
    assert (result["part/ball"]["velocity"].values[0, 0] == (0.0, -1.0)).all()


def test_from_a_store_and_resumed(tmp_path: Any) -> None:
    """A result on disk starts the same run; the study, frame included, is told from others on resuming."""
    system = points(aq.Unilateral(), friction=aq.Coulomb(0.3))
    first = aq.simulate(system, THETA, duration=0.02, step=1e-3, record=tmp_path / "first.zarr")
    stored = aq.results.open(tmp_path / "first.zarr")
    runs = [
        aq.simulate(replace(system, velocity=None, from_result=start), THETA, duration=0.01, step=1e-3)
        for start in (first, stored, aq.ResultFrame(stored, 20))
    ]
    for run in runs[1:]:
        assert np.array_equal(run["part/masses"]["displacement"], runs[0]["part/masses"]["displacement"])
    record = aq.Record(tmp_path / "second.zarr", resume=True)
    again = replace(system, velocity=None, from_result=stored)
    done = aq.simulate(again, THETA, duration=0.01, step=1e-3, record=record)
    assert np.array_equal(
        aq.simulate(again, THETA, duration=0.01, step=1e-3, record=record)["balance"], done["balance"]
    )
    with pytest.raises(aq.UserError, match="another study"):
        other = replace(system, velocity=None, from_result=aq.ResultFrame(stored, 3))
        aq.simulate(other, THETA, duration=0.01, step=1e-3, record=record)


def test_an_interface_of_another_name_is_told_of() -> None:
    """Its springs of friction would start without the force that they had."""
    first = aq.simulate(points(aq.Unilateral(), friction=aq.Coulomb(0.3)), THETA, duration=1e-3, step=1e-3)
    system = replace(points(aq.Unilateral(), friction=aq.Coulomb(0.3)), velocity=None)
    other = replace(system.interfaces[0], name="other")
    with pytest.warns(
        ModelWarning, match=f"'other' is not in the result, which has {system.interfaces[0].name}: it st"
    ):
        replace(system, interfaces=[other], from_result=first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replace(system, from_result=first)
        replace(system, interfaces=[replace(other, friction=None)], from_result=first)
        replace(system, interfaces=[*system.interfaces, other], from_result=first)


def test_points_under_pressure_start_closed_in_spite_of_round_off_of_statics():
    """A block pressed on a plane is 1e-11 of its size above it, as ill-conditioned statics leaves it: it stays."""

    def system(level: Any, load: Callable[[float], float], start: Any = None) -> aq.System:
        solid = block(imposed={"left": {"x": 0.0}}, tractions={"top": lambda x, t: (0.0, load(t))})
        return aq.System([solid], interfaces=[on_floor(solid, aq.Unilateral(level))], from_result=start)

    pressed = aq.simulate(system("gap", lambda t: -1e6 * t), aq.Static(), duration=1.0, step=1.0, progress=False)
    pressed["part/block"]["displacement"][-1, :, 1] += 1e-12
    run = aq.simulate(
        system("velocity", lambda t: -1e6, pressed), aq.Theta(0.5), duration=1e-6, step=1e-7, progress=False
    )
    force = run["interface/floor"]["force"].sel(component="y").values[1:]
    assert abs(force / 1e5 - 1.0).max() < 1e-4
