"""Interference of interfaces against Lamé's press fit, bars in series and conservation of energy."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases.reference.lame import PressFit
from arlequin.multilevel.interface import Interface

STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800)
ALLOY = aq.LinearElastic(young=7e10, poisson=0.33, density=2700)
BORE, RADIUS, RIM, LENGTH, DEPTH = 0.008, 0.02, 0.05, 0.04, 2e-5  # m


def work(result: Any, kind: str) -> Any:
    return result["energy"].sel(kind=kind).values if kind in result["energy"]["kind"].values else np.zeros(1)


def worst(result: Any) -> float:
    return float(np.abs(result["balance"]).max())


def bars(overlap: float = 1e-3, laws: Any = None, **options: Any) -> aq.System:
    """Two bars of unit section in series between walls, too long by the overlap."""
    left = aq.Bar("left", aq.mesh.interval(0.0, 1.0, cells=3), STEEL, imposed={"left": {"x": 0.0}})
    right = aq.Bar("right", aq.mesh.interval(1.0 - overlap, 2.0, cells=2), ALLOY, imposed={"right": {"x": 0.0}})
    laws = aq.Unilateral("gap") if laws is None else laws
    fit = aq.Interface("fit", left.boundary("right"), right.boundary("left"), laws, **options)
    return aq.System([left, right], interfaces=[fit])


def pressure_of_bars(overlap: float) -> float:
    return overlap / (1.0 / STEEL.young + (1.0 + overlap) / ALLOY.young)


def closed(system: aq.System, step: float = 1.0, duration: float = 1.0) -> Any:
    return aq.simulate(system, aq.Static(), duration=duration, step=step)


def shaft_in_hub(
    interference: Any,
    laws: Any = None,
    friction: Any = None,
    pull: Any = None,
    start: Any = None,
    hold: bool = True,
    multiplier: Any = None,
    sliding: Any = "large",
) -> aq.System:
    """Hollow shaft of steel in a hub of alloy, axisymmetric, on meshes that do not match."""
    radius = RADIUS + (DEPTH if interference == "resolve" else 0.0)
    shaft_mesh = aq.mesh.rectangle((BORE, radius), (0.0, LENGTH), cells=(4, 2))
    hub_mesh = aq.mesh.rectangle((RADIUS, RIM), (0.0, LENGTH), cells=(6, 3))
    floor: Any = {"bottom": {"y": 0.0}} if hold else {}
    moved: Any = {} if pull is None else {"left": {"y": pull}}
    rest: Any = {} if pull is None else {"right": {"y": 0.0}}
    shaft, hub = (
        aq.Solid(name, mesh, material, plane="axisymmetric", order=2, imposed=floor, imposed_velocity=velocity)
        for name, mesh, material, velocity in (
            ("shaft", shaft_mesh, STEEL, moved),
            ("hub", hub_mesh, ALLOY, rest),
        )
    )
    laws = laws or (aq.Unilateral("gap") if start is None else aq.Unilateral())
    sides = hub.boundary("left"), shaft.boundary("right")
    fit = Interface(
        "fit", *sides, laws, friction=friction, interference=interference, multiplier=multiplier, sliding=sliding
    )
    return aq.System([shaft, hub], interfaces=[fit], from_result=start)


LAME = PressFit(BORE, RADIUS, RIM, DEPTH, STEEL, ALLOY)


@pytest.mark.parametrize("options", [{"interference": "resolve"}, {"interference": "resolve", "ramp": 0.5}])
def test_bars_too_long(options):
    result = closed(bars(**options), 0.25)
    pressure = result["interface/fit"]["pressure"].values[:, 0]
    assert pressure[-1] == pytest.approx(pressure_of_bars(1e-3), rel=1e-12)
    halves = [0.5, 1.0] if "ramp" in options else [1.0, 1.0]
    np.testing.assert_allclose(pressure[1:3], np.array(halves) * pressure[-1], rtol=1e-12)
    # the work of the fitting, ∫ p dδ, is the strain energy ½ p δ
    assert work(result, "external_work")[-1] == pytest.approx(0.5 * pressure[-1] * 1e-3, rel=1e-12)
    assert work(result, "strain")[-1] == pytest.approx(0.5 * pressure[-1] * 1e-3, rel=1e-12)
    assert worst(result) < 1e-14


def test_given_interference_of_bars():
    result = closed(bars(0.0, interference=1e-3, ramp=lambda t: t**2), 0.5)
    pressure = result["interface/fit"]["pressure"].values[:, 0]
    exact = 1e-3 / (1.0 / STEEL.young + 1.0 / ALLOY.young)
    np.testing.assert_allclose(pressure, [0.0, 0.25 * exact, exact], rtol=1e-12)
    np.testing.assert_allclose(result["interface/fit"]["gap"], 0.0, atol=1e-16)
    assert work(result, "external_work")[-1] == pytest.approx(0.5 * exact * 1e-3, rel=1e-12)


@pytest.mark.parametrize("interference", ["resolve", DEPTH])
def test_statics_goes_on_from_a_closed_fit(interference):
    """A second static run keeps the fit closed: the same pressure, no work."""
    fitted = closed(shaft_in_hub(interference))
    more = closed(shaft_in_hub(interference, aq.Unilateral("gap"), start=fitted), step=0.5)
    before, after = (run["interface/fit"]["pressure"].values for run in (fitted, more))
    np.testing.assert_allclose(after, np.broadcast_to(before[-1], after.shape), rtol=1e-11)
    for run, number in ((fitted, -1), (more, 0)):  # on time, too
        group = run["interface/fit"]
        forces = group["force"].values[number, 0], group["active"].values[number], group["status"].values[number]
        if run is fitted:
            expected = forces
    assert forces[0] == pytest.approx(expected[0], rel=1e-11) and forces[1] == expected[1]
    np.testing.assert_array_equal(forces[2], expected[2])
    assert abs(work(more, "external_work")).max() < 1e-12 * work(fitted, "external_work").max()
    assert worst(more) < 1e-12


def test_a_layer_is_unloaded_at_the_start():
    """δ = p/κ + p (1/E₁ + 1/E₂) − h, where the layer's height h adds to what has to be closed."""
    height, stiffness = 2e-4, 1e14
    result = closed(bars(laws=aq.Asperities(stiffness, height=height), interference="resolve"), 0.5)
    exact = (1e-3 + height) / (1.0 / stiffness + 1.0 / STEEL.young + 1.001 / ALLOY.young)
    np.testing.assert_allclose(result["interface/fit"]["pressure"].values[:, 0], [0.0, exact, exact], rtol=1e-10)
    stored = work(result, "strain")[-1] + work(result, "asperity")[-1]
    assert work(result, "external_work")[-1] + work(result, "scheme")[-1] * -1.0 == pytest.approx(stored, rel=1e-10)
    assert worst(result) < 1e-12


@pytest.mark.parametrize("interference", ["resolve", DEPTH])
@pytest.mark.parametrize("options", [{}, {"multiplier": "P2"}, {"sliding": "small"}])
def test_lame_axisymmetric(interference, options):
    result = closed(shaft_in_hub(interference, **options))
    group = result["interface/fit"]
    area = group["area"].values
    mean = float(group["pressure"].values[-1] @ area / area.sum())
    assert mean == pytest.approx(LAME.pressure, rel=DEPTH / RADIUS)
    hub = result["part/hub"]
    outer = np.isclose(hub["position"].values[:, 0], RIM)
    np.testing.assert_allclose(hub["displacement"].values[-1, outer, 0], LAME.rim_displacement, rtol=DEPTH / RADIUS)
    assert work(result, "external_work")[-1] == pytest.approx(work(result, "strain")[-1], rel=1e-6)
    assert worst(result) < 1e-12


@pytest.mark.parametrize("interference", ["resolve", DEPTH])
def test_friction_of_the_fitting_dissipates(interference):
    layer = (aq.Asperities(1e14, height=5e-7), aq.Unilateral("gap"))
    result = closed(shaft_in_hub(interference, layer, aq.Coulomb(0.1)), 0.25)
    friction = work(result, "friction")
    assert friction[-1] > 0.0
    assert (np.diff(friction) > -1e-15).all()
    assert worst(result) < 1e-12
    group = result["interface/fit"]
    bound = 0.1 * group["pressure"].values[..., None]
    assert (np.abs(group["traction"].values) <= bound * (1 + 1e-9) + 1e-6).all()


@pytest.mark.parametrize("interference", ["resolve", DEPTH])
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark(0.25, 0.5)], ids=["theta", "newmark"])
def test_dynamics_from_the_fit_rests(interference, scheme):
    """Sticking friction of the static run keeps its tractions, so that nothing moves."""
    fitted = closed(shaft_in_hub(interference, friction=aq.Coulomb(0.3)), 0.5)
    start = shaft_in_hub(interference, friction=aq.Coulomb(0.3), start=fitted)
    result = aq.simulate(start, scheme, duration=1e-5, step=1e-6)
    before = fitted["interface/fit"]
    for variable in ("pressure", "traction"):
        scale = float(before["pressure"].max())
        np.testing.assert_allclose(result["interface/fit"][variable][-1], before[variable][-1], atol=1e-12 * scale)
    u = result["part/hub"]["displacement"].values
    assert np.abs(u - u[0]).max() < 1e-13 * np.abs(u[0]).max()
    assert worst(result) < 1e-12


def test_the_pulled_shaft_slips_at_mu_p_a():
    fitted = closed(shaft_in_hub("resolve"))
    friction, top, rise = 0.15, 0.2, 2e-4  # -, m/s, s
    pull = shaft_in_hub(
        "resolve",
        friction=aq.Coulomb(friction),
        pull=lambda t: 0.5 * top * (1.0 - np.cos(np.pi * min(t / rise, 1.0))),
        start=fitted,
        hold=False,
    )
    result = aq.simulate(pull, aq.Theta(0.5), duration=3.2e-4, step=4e-6)
    force = np.abs(result["interface/fit"]["force"].sel(component="y"))[-40:].mean()
    assert float(force) == pytest.approx(friction * LAME.pressure * 2.0 * np.pi * RADIUS * LENGTH, rel=5e-3)
    assert worst(result) < 1e-12
    assert (np.diff(work(result, "friction")) > -1e-15).all()


def line(call) -> str:
    with pytest.raises(aq.UserError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    return text


def dynamic(system):
    return aq.simulate(system, aq.Theta(0.5), duration=1e-6, step=1e-6)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: closed(bars()), 'starts interpenetrated by 0.001 m at .*interference="resolve"'),
        (lambda: dynamic(bars(interference="resolve")), "Static closes an interference"),
        (lambda: closed(bars(interference="close")), "interference = 'close': interface 'fit': must be"),
        (lambda: closed(bars(interference=-1e-3)), r"interference = -0\.001: .*must be"),
        (lambda: closed(bars(interference=True)), "interference = True"),
        (lambda: closed(bars(interference="resolve", ramp=-1.0)), r"ramp = -1\.0: must be positive"),
        (lambda: closed(bars(ramp=1.0)), "ramp is for an interference"),
        (lambda: closed(bars(interference="resolve", ramp=lambda t: -t)), r"ramp\(1\) = -1.*from 0 at t = 0 to 1"),
        (lambda: closed(bars(interference="resolve", ramp=lambda t: 0.5)), r"ramp\(0\) = 0.5.*from 0 at t = 0"),
        (lambda: closed(bars(interference="resolve", ramp=lambda t: min(t, 2 - 2 * t)), 0.5), "ramp falls from 0.5"),
        (lambda: closed(bars(0.1, interference=1e-3)), 'interference="resolve" closes an overlap of the geometry'),
        (lambda: closed(bars(-0.1, interference=1e-3)), "is for surfaces that touch nominally, .* 0.1 m apart"),
        (lambda: closed(shaft_in_hub(0.05)), "interference of 0.05 m at .* is larger than the largest facet"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    import re

    assert re.search(words, line(call)), line(call)


def test_an_unfinished_fit_is_no_start():
    half = closed(bars(interference="resolve", ramp=2.0), 0.5)
    system = bars(laws=aq.Unilateral(), interference="resolve")
    start = aq.System(system.parts, interfaces=system.interfaces, from_result=half)
    assert "interference is not closed there" in line(lambda: dynamic(start))


def test_a_fit_whose_parts_are_not_taken_is_closed_anew():
    fitted = closed(bars(interference="resolve"))
    system = bars(interference="resolve")
    start = aq.ResultFrame(fitted, parts=["left"])
    rest = {"right": 0.0}
    again = closed(aq.System(system.parts, interfaces=system.interfaces, displacement=rest, from_result=start))
    pressures = [run["interface/fit"]["pressure"].values[-1, 0] for run in (fitted, again)]
    assert pressures[1] == pytest.approx(pressures[0], rel=1e-12)
    assert worst(again) < 1e-14
