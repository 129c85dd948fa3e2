"""Pretension of bolts against springs in series and parallel, and the conservation of energy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arlequin as aq

STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800)
ALLOY = aq.LinearElastic(young=7e10, poisson=0.33, density=2700)
BOLT, CLAMPED, HALF = 1e-4, 6e-4, 0.05  # m², m², m


def joint(load: Any = None, start: Any = None, **pretension: Any) -> tuple[aq.System, aq.Pretension]:
    """A bolt of two bars from the foot to the head, which is clamped on a sleeve: x = 0 the foot, x = 0.1 m the head.

    The head is a mass with the bolt's end; the sleeve bears on it by unilateral contact; the load pulls the head.
    """
    foot = {"left": {"x": 0.0}}
    pulled: Any = {} if load is None else {"tractions": {"right": lambda x, t: load(t) / BOLT}}
    lower = aq.Bar("lower", aq.mesh.interval(0.0, HALF, cells=3), STEEL, section=BOLT, imposed=foot)
    upper = aq.Bar("upper", aq.mesh.interval(HALF, 2 * HALF, cells=2), STEEL, section=BOLT, **pulled)
    sleeve = aq.Bar("sleeve", aq.mesh.interval(0.0, 2 * HALF, cells=4), ALLOY, section=CLAMPED, imposed=foot)
    bolt = aq.Pretension("bolt", (lower.boundary("right"), upper.boundary("left")), **pretension)
    level = "gap" if start is None else "velocity"
    seat = aq.Interface("seat", sleeve.boundary("right"), upper.boundary("right"), aq.Unilateral(level), direction=1.0)
    parts = [lower, upper, sleeve, bolt.point]
    return aq.System(parts, interfaces=[seat], relations=bolt.relations, from_result=start), bolt


def stiffness() -> tuple[float, float]:
    """Of the bolt and of the sleeve, N/m."""
    return STEEL.young * BOLT / (2 * HALF), ALLOY.young * CLAMPED / (2 * HALF)


def worst(result: Any) -> float:
    return float(np.abs(result["balance"]).max())


def axial_forces(result: Any, name: str, area: float, young: float) -> Any:
    part = result[f"part/{name}"]
    x, u = part["position"].values[:, 0], part["displacement"].values[:, :, 0]
    order = np.argsort(x)
    return young * area * np.diff(u[:, order], axis=1) / np.diff(x[order])


def test_the_force_is_exact_and_its_work_is_stored():
    system, bolt = joint(force=lambda t: 2e4 * t)
    result = aq.simulate(system, aq.Static(), duration=1.0, step=0.5)
    forces = [axial_forces(result, name, BOLT, STEEL.young)[1:] for name in ("lower", "upper")]
    for force in forces:
        np.testing.assert_allclose(force, np.array([[1e4], [2e4]]) * np.ones_like(force), rtol=1e-12)
    np.testing.assert_allclose(axial_forces(result, "sleeve", CLAMPED, ALLOY.young)[-1], -2e4, rtol=1e-12)
    k_bolt, k_sleeve = stiffness()
    assert bolt.shortening_of(result) == pytest.approx(2e4 * (1 / k_bolt + 1 / k_sleeve), rel=1e-12)
    energy = result["energy"].sel(kind=["external_work", "strain"]).values[-1]
    np.testing.assert_allclose(energy, 0.5 * 2e4**2 * (1 / k_bolt + 1 / k_sleeve), rtol=1e-12)
    assert worst(result) < 1e-12


def test_the_joint_separates_at_the_load_of_springs_in_parallel():
    """F_bolt = N + F k_b/(k_b + k_s) until F = N (1 + k_b/k_s), F_bolt = F beyond."""
    preload, pull = 2e4, 5e4
    shortening = preload * sum(1 / k for k in stiffness())
    system, _ = joint(
        lambda t: pull * max(t - 1.0, 0.0), shortening=lambda t: shortening * min(t, 1.0)
    )  # locked from t = 1 s on
    result = aq.simulate(system, aq.Static(), duration=2.0, step=0.05)
    k_bolt, k_sleeve = stiffness()
    load = pull * np.maximum(result["time"].values - 1.0, 0.0)
    separation = preload * (1.0 + k_bolt / k_sleeve)
    exact = np.where(load < separation, preload + load * k_bolt / (k_bolt + k_sleeve), load)
    after = result["time"].values >= 1.0 - 1e-9
    force = axial_forces(result, "lower", BOLT, STEEL.young)[after]
    np.testing.assert_allclose(force, exact[after, None] * np.ones_like(force), rtol=1e-9)
    np.testing.assert_allclose(result["part/bolt"]["reaction"].values[after, 0, 0], exact[after], rtol=1e-9)
    seat = result["interface/seat"]["force"].values[after, 0]
    np.testing.assert_allclose(np.abs(seat), np.maximum(exact - load, 0.0)[after], atol=1e-7 * preload)
    assert worst(result) < 1e-10


def test_a_locked_bolt_rests_in_dynamics():
    system, bolt = joint(force=lambda t: 2e4 * t)
    fitted = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    locked, _ = joint(start=fitted, shortening=bolt.shortening_of(fitted))
    result = aq.simulate(locked, aq.Theta(0.5), duration=2e-5, step=1e-6)
    u = result["part/upper"]["displacement"].values
    assert np.abs(u - u[0]).max() < 1e-12 * np.abs(u[0]).max()
    np.testing.assert_allclose(result["part/bolt"]["reaction"].values[1:, 0, 0], 2e4, rtol=1e-9)
    assert worst(result) < 1e-12


@pytest.mark.parametrize("turn", [0.0, 0.3])
def test_a_section_of_a_solid(turn):
    """Uniaxial stress N/A of a bar cut across, along any direction, with nodes in different order."""
    away = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])

    def half(name: str, x: tuple[float, float], cells: tuple[int, int], kind: str, **options: Any) -> Any:
        mesh = aq.mesh.rectangle(x, (0.0, 0.02), cells=cells, kind=kind)
        return aq.Solid(name, replace(mesh, doflocs=away @ mesh.doflocs), STEEL, plane="stress", **options)

    ends: Any = {"left": {"x": 0.0, "y": 0.0}}, {"right": {"x": 0.0, "y": 0.0}}
    lower = half("lower", (0.0, 0.1), (8, 4), "quad", imposed=ends[0])
    upper = half("upper", (0.1, 0.2), (6, 4), "tri", imposed=ends[1])
    bolt = aq.Pretension("bolt", (lower.boundary("right"), upper.boundary("left")), force=lambda t: 1e5 * t)
    np.testing.assert_allclose(bolt.frame[0], away[:, 0], atol=1e-12)
    system = aq.System([lower, upper, bolt.point], relations=bolt.relations)
    result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    total = np.zeros(2)
    for name in ("lower", "upper"):
        reaction = result[f"part/{name}"]["reaction"].values[-1].sum(axis=0)
        assert abs(reaction @ away[:, 0]) == pytest.approx(1e5, rel=1e-11)
        total += reaction
    np.testing.assert_allclose(total, 0.0, atol=1e-6)
    assert worst(result) < 1e-12


def test_beams_keep_their_slope():
    """A cantilever of two beams, cut and not shortened, bends as one: F L³/(3 E I)."""
    section = aq.Section.circle(0.01)
    clamped = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}
    first = aq.Beam("first", aq.mesh.interval(0.0, 1.0, cells=4), STEEL, section, dimension=2, imposed=clamped)
    loads: Any = {"right": lambda t: (0.0, 10.0 * t)}
    second = aq.Beam("second", aq.mesh.interval(1.0, 2.0, cells=4), STEEL, section, dimension=2, end_loads=loads)
    sides = first.boundary("right"), second.boundary("left")
    bolt = aq.Pretension("bolt", sides, shortening=0.0, axis=(1.0, 0.0))
    system = aq.System([first, second, bolt.point], relations=bolt.relations)
    result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    whole = aq.Beam(
        "whole", aq.mesh.interval(0.0, 2.0, cells=8), STEEL, section, dimension=2, imposed=clamped, end_loads=loads
    )
    one = aq.simulate(aq.System([whole]), aq.Static(), duration=1.0, step=1.0)
    tips = [run[f"part/{name}"]["displacement"].values[-1, -1, 1] for run, name in ((result, "second"), (one, "whole"))]
    assert tips[0] == pytest.approx(tips[1], rel=1e-9)


def sides_of(part: Any) -> Any:
    return part.boundary("cut first"), part.boundary("cut second")


@pytest.mark.parametrize("start", ["statics", "dynamics"])
def test_a_bolt_of_one_part_shares_the_load_by_stiffness(start):
    """The bolt of `joint` as one bar that is cut: F_bolt = N + F k_b/(k_b + k_s) once it is locked."""
    preload, load = 2e4, 1e4
    foot = {"left": {"x": 0.0}}
    mesh = aq.mesh.cut(aq.mesh.interval(0.0, 2 * HALF, cells=5), plane=(0.04, 1.0))

    def system(pull: Any = None, start: Any = None, level: Any = "gap", **pretension: Any) -> Any:
        pulled: Any = {} if pull is None else {"tractions": {"right": lambda x, t: pull(t) / BOLT}}
        shank = aq.Bar("shank", mesh, STEEL, section=BOLT, imposed=foot, **pulled)
        sleeve = aq.Bar("sleeve", aq.mesh.interval(0.0, 2 * HALF, cells=4), ALLOY, section=CLAMPED, imposed=foot)
        bolt = aq.Pretension("bolt", sides_of(shank), **pretension)
        seat = aq.Interface(
            "seat", sleeve.boundary("right"), shank.boundary("right"), aq.Unilateral(level), direction=1.0
        )
        parts = [shank, sleeve, bolt.point]
        return aq.System(parts, interfaces=[seat], relations=bolt.relations, from_result=start), bolt

    tight, bolt = system(force=lambda t: preload * t)
    fitted = aq.simulate(tight, aq.Static(), duration=1.0, step=1.0)
    k_bolt, k_sleeve = stiffness()
    shortening = bolt.shortening_of(fitted)
    assert shortening == pytest.approx(preload * (1 / k_bolt + 1 / k_sleeve), rel=1e-12)
    if start == "dynamics":
        locked, _ = system(start=fitted, level="velocity", shortening=shortening)
        result = aq.simulate(locked, aq.Theta(0.5), duration=1e-5, step=1e-6)
        np.testing.assert_allclose(result["part/bolt"]["reaction"].values[1:, 0, 0], preload, rtol=1e-9)
        return
    locked, _ = system(lambda t: load * t, start=fitted, shortening=shortening)
    result = aq.simulate(locked, aq.Static(), duration=1.0, step=0.5)
    exact = preload + load * result["time"].values[1:] * k_bolt / (k_bolt + k_sleeve)
    np.testing.assert_allclose(result["part/bolt"]["reaction"].values[1:, 0, 0], exact, rtol=1e-10)
    assert worst(result) < 1e-12


BODIES = [("stress", "quad", 1), ("axisymmetric", "tri", 2), ("axisymmetric", "quad", 2), (None, "hex", 1),
          (None, "tet", 2)]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("plane, kind, order", BODIES)
def test_a_section_through_one_solid(plane, kind, order):
    """Uniform stress N/A, and the shortening N L/(E A), beyond facets of the section that are steps, too."""
    length, width, force = 0.1, 0.02, 1e4
    ends: Any = {"bottom": {"y": 0.0}, "top": {"y": 0.0}, "left": {"x": 0.0}}
    if plane is None:
        whole = aq.mesh.box((0.0, width), (0.0, length), (0.0, width), cells=(2, 5, 2), kind=kind)
        ends["back"] = {"z": 0.0}
        area, axis, name = width**2, (0.0, 1.0, 0.0), "yy"
    else:
        whole = aq.mesh.rectangle((0.0, width), (0.0, length), cells=(2, 5), kind=kind)
        area, axis, name = width * 0.005, (0.0, 1.0), "yy"
        if plane == "axisymmetric":
            area, name = np.pi * width**2, "zz"
    mesh = aq.mesh.cut(whole, plane=(0.047 * np.array(axis), axis))
    thickness = {"thickness": 0.005} if plane == "stress" else {}
    part = aq.Solid("column", mesh, STEEL, plane=plane, order=order, imposed=ends, **thickness)
    bolt = aq.Pretension("bolt", sides_of(part), force=lambda t: force * t, axis=axis)
    system = aq.System([part, bolt.point], relations=bolt.relations)
    result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    stress = aq.results.stress(result, part)["stress"][-1]
    np.testing.assert_allclose(stress.sel(stress_component=name), force / area, rtol=1e-10)
    others = [str(each) for each in stress["stress_component"].values if each != name]
    np.testing.assert_allclose(stress.sel(stress_component=others), 0.0, atol=1e-10 * force / area)
    assert bolt.shortening_of(result) == pytest.approx(force * length / (STEEL.young * area), rel=1e-10)
    assert worst(result) < 1e-12


SIDES = joint(force=1.0)[1].section
PLATE = aq.mesh.rectangle((0.0, 0.02), (0.0, 0.1), cells=(2, 5), kind="tri")
STEPS = aq.Solid("plate", aq.mesh.cut(PLATE, plane=((0.0, 0.05), (0.0, 1.0))), STEEL, plane="strain")


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: aq.Pretension("bolt", SIDES), "give a force or a shortening, one of them"),
        (lambda: aq.Pretension("bolt", SIDES, force=1.0, shortening=1.0), "one of them"),
        (lambda: aq.Pretension("bolt", SIDES[:1], force=1.0), "must be the two sides"),
        (lambda: aq.Pretension("bolt", (SIDES[0], SIDES[0]), force=1.0), "of part 'lower' share nodes: aq.mesh.cut"),
        (lambda: aq.Pretension("bolt", sides_of(STEPS), force=1.0), "'cut first' is not flat: give axis"),
        (lambda: aq.Pretension("bolt", SIDES, force=np.nan), "force = nan: must be"),
        (lambda: aq.Pretension("bolt", SIDES, force=1.0, mass=0.0), "mass = 0"),
        (lambda: aq.Pretension("bolt", SIDES, force=1.0, axis=0.0), "axis = 0"),
        (
            lambda: aq.Pretension("bolt", (SIDES[0], SIDES[1].part.boundary("right")), force=1.0),
            "do not match, the farthest are 0.05 m apart",
        ),
        (lambda: joint(force=1.0)[1].shortening_of(3), "result = 3: must be a result"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(aq.UserError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
