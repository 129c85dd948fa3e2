"""Wear in the run: depths against closed forms, energies, every scheme."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import UserError

PRESSURE, SPEED, TIME, WIDTH = 1e6, 0.5, 1e-3, 0.02
SCHEMES = {
    "static": aq.Static(),
    "theta": aq.Theta(0.5),
    "euler": aq.Theta(1.0),
    "newmark": aq.Newmark(),
    "alpha": aq.GeneralisedAlpha.with_radius(0.8),
    "central": aq.CentralDifference(),
}
LAWS = {
    "linear": aq.Asperities(1e12, 1, 1e-5),
    "power": aq.Asperities(1e17, 2, 1e-5),
    "lossy": aq.Asperities(1e12, 1, 1e-5, damping=1e5),
    "gap": aq.Unilateral(level="gap"),
    "velocity": aq.Unilateral(level="velocity"),
}


def dragged(law, scheme, steps=100, coefficient=1e-9, start=0.2, young=1e9, **options):
    """A block pressed by a load that grows until start · TIME and then dragged by all its nodes."""
    mass = "lumped" if isinstance(scheme, aq.CentralDifference) else "consistent"
    material = aq.LinearElastic(young=young, poisson=0.0, density=1000.0)
    mesh = aq.mesh.rectangle((0.0, WIDTH), (0.0, 0.01), cells=(4, 2))

    def load(x, t):
        return np.stack([0.0 * x[0], np.full(x.shape[1:], -PRESSURE * min(t / (start * TIME), 1.0))])

    motion = {"x": lambda t: SPEED * max(t - start * TIME, 0.0)}
    held = {"all": motion} if options.pop("whole", True) else {"top": motion}
    block = aq.Solid(
        "block", with_all(mesh), material, plane="strain", mass=mass, tractions={"top": load}, imposed=held,
        kinematics=options.pop("kinematics", "small"),
    )  # fmt: skip
    plane = aq.RigidPlane(point=(0.0, -1e-5 if isinstance(law, aq.Asperities) else 0.0), normal=(0.0, 1.0))
    contact = aq.Interface(
        "contact", block.boundary("bottom"), plane, law, friction=aq.Coulomb(0.3),
        wear=aq.Archard(coefficient, density=2000.0), **options,
    )  # fmt: skip
    return aq.simulate(aq.System([block], interfaces=[contact]), scheme, duration=TIME, step=TIME / steps)


def with_all(mesh):
    """The mesh with all of its facets on the surface, top and bottom, as the boundary `all`."""
    facets = np.concatenate([mesh.boundaries[name] for name in ("top", "bottom", "left", "right")])
    return replace(mesh, _boundaries={**mesh.boundaries, "all": np.unique(facets)})


def last(result, kind):
    return float(result["energy"].sel(kind=kind)[-1])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("law", LAWS)
def test_the_balance_closes_and_the_record_agrees_with_itself(law, scheme):
    if scheme == "static" and law in ("velocity", "lossy"):
        pytest.skip("statics takes laws on the gap alone")
    result = dragged(LAWS[law], SCHEMES[scheme], steps=1000 if scheme == "central" else 100, whole=False)
    # statics solves for the displacement, whose round-off the works feel: as much as without wear
    assert np.abs(result["balance"]).max() < (1e-12 if scheme == "static" else 1e-13)
    contact = result["interface/contact"].dataset
    work = np.concatenate([[0.0], np.cumsum(contact["wear_power"].values[1:] * np.diff(result["time"].values))])
    np.testing.assert_allclose(contact["worn_volume"], 1e-9 * work, rtol=1e-12, atol=1e-30)
    np.testing.assert_allclose(contact["worn_depth"], 1e-9 * contact["wear_work"], rtol=1e-12, atol=1e-30)
    np.testing.assert_allclose(
        contact["worn_depth"].values @ contact["area"].values, contact["worn_volume"], rtol=1e-12
    )
    np.testing.assert_allclose(contact["worn_mass"], 2000.0 * contact["worn_volume"])
    wear = result["energy"].sel(kind="wear").values
    assert (np.diff(wear) >= 0.0).all()
    assert wear[-1] > 0.0
    if SCHEMES[scheme] == aq.Theta(0.5) or scheme == "newmark":
        # the discrete gradient of the stored energies goes on to be exact where the gaps open; where the sliding turns
        # within a step, as it does when the block is dragged by its top, friction gives the scheme something
        smooth = dragged(LAWS[law], SCHEMES[scheme])
        assert abs(last(smooth, "scheme")) < 1e-13 * last(smooth, "friction")
        assert last(result, "scheme") < 1e-13 * last(result, "friction")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", ["linear", "gap"])
def test_statics_wears_by_load_and_way_and_the_load_sinks_by_that_depth(law):
    """V = k F s; every point by k p s; the force works on the way that wear opens."""
    result = dragged(LAWS[law], aq.Static(), coefficient=1e-10)
    force, way = PRESSURE * WIDTH, 0.8 * SPEED * TIME
    contact = result["interface/contact"].dataset
    depth = 1e-10 * PRESSURE * way
    assert float(contact["worn_volume"][-1]) == pytest.approx(1e-10 * force * way, rel=1e-9)
    np.testing.assert_allclose(contact["worn_depth"][-1], depth, rtol=1e-9)
    pressed = 20  # steps until the drag begins
    sunk = -np.diff(result["part/block"]["displacement"].sel(component="y").values[[pressed, -1]], axis=0)
    last_step = depth / 80  # opens in the step to come
    np.testing.assert_allclose(sunk[0], depth - last_step, rtol=1e-6)
    assert last(result, "wear") == pytest.approx(force * (depth - last_step), rel=1e-9)


def test_a_velocity_law_stays_closed_while_its_gap_opens_by_wear():
    """The surfaces recede at a rate, to which the contact on the velocity gives way: no point rattles."""
    result = dragged(LAWS["velocity"], aq.Theta(1.0), steps=400, coefficient=1e-10)
    late = result["interface/contact"].isel(time=slice(200, None))
    assert (late["active"] == late["active"].max()).all()
    force = late["force"].sel(component="y").values
    assert np.abs(force / (PRESSURE * WIDTH) - 1.0).max() < 1e-3


def test_the_wear_rate_of_the_schemes_agrees_with_statics():
    slow = {"steps": 2000, "whole": True, "start": 0.5}
    still = dragged(LAWS["linear"], aq.Static(), steps=200, start=0.5)["interface/contact"]["worn_volume"].values[-1]
    moving = dragged(LAWS["linear"], aq.Theta(1.0), **slow)["interface/contact"]["worn_volume"].values[-1]
    assert moving == pytest.approx(still, rel=0.02)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("multiplier", ["P0", "P1", "nodes"])
def test_functions_on_the_surface_wear_too(multiplier):
    result = dragged(LAWS["gap"], aq.Static(), coefficient=1e-10, multiplier=multiplier)
    volume = 1e-10 * PRESSURE * WIDTH * 0.8 * SPEED * TIME
    assert float(result["interface/contact"]["worn_volume"][-1]) == pytest.approx(volume, rel=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Static(), aq.Theta(0.5), aq.CentralDifference()])
def test_finite_strains_wear_with_steps_in_parts_too(scheme):
    result = dragged(LAWS["linear"], scheme, kinematics="finite", young=1e8, steps=40)
    contact = result["interface/contact"].dataset
    work = float((contact["wear_power"].values[1:] * np.diff(result["time"].values)).sum())
    assert float(contact["worn_volume"][-1]) == pytest.approx(1e-9 * work, rel=1e-12)
    assert np.abs(result["balance"]).max() < 1e-11
    assert last(result, "wear") > 0.0


def test_two_blocks_wear_between_them():
    material = aq.LinearElastic(young=1e9, poisson=0.0, density=1000.0)
    lower = aq.Solid("lower", aq.mesh.rectangle((-0.01, 0.03), (-0.01, 0.0), cells=(12, 3)), material, plane="strain",
                     imposed={"bottom": {"x": 0.0, "y": 0.0}})  # fmt: skip
    upper = aq.Solid("upper", aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), cells=(5, 2)), material, plane="strain",
                     tractions={"top": lambda x, t: (0.0, -PRESSURE * min(5.0 * t, 1.0))},
                     imposed={"top": {"x": lambda t: 1e-3 * max(t - 0.2, 0.0)}})  # fmt: skip
    contact = aq.Interface("contact", upper.boundary("bottom"), lower.boundary("top"), aq.Unilateral(level="gap"),
                           friction=aq.Coulomb(0.0), wear=aq.Archard(1e-10))  # fmt: skip
    result = aq.simulate(aq.System([lower, upper], interfaces=[contact]), aq.Static(), duration=1.2, step=0.02)
    volume = float(result["interface/contact"]["worn_volume"][-1])
    assert volume == pytest.approx(1e-10 * PRESSURE * WIDTH * 1e-3, rel=2e-3)
    assert np.abs(result["balance"]).max() < 1e-12


def test_systems_without_wear_have_no_such_columns():
    block = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=4), aq.LinearElastic(2e11, 0.3, 7800))
    contact = aq.Interface("end", block.boundary("right"), aq.RigidPlane(point=0.1, normal=-1.0), aq.Unilateral())
    result = aq.simulate(
        aq.System([block], interfaces=[contact], velocity=1.0), aq.Theta(0.5), duration=1e-6, step=1e-7
    )
    assert "wear" not in result["energy"]["kind"].values
    assert "worn_volume" not in result["interface/end"]


@pytest.mark.parametrize(
    "scheme", [aq.Theta(0.5, events="locate"), aq.Multirate(2), aq.SymplecticEuler(), aq.DeVogelaere(), aq.RungeKutta()]
)
def test_schemes_that_leave_the_gap_are_refused(scheme):
    with pytest.raises(UserError, match=r"interface 'contact' wears, which .* does not step: take Theta"):
        dragged(LAWS["linear"], scheme)


def rubbed(weight: float) -> aq.System:
    """A mass on a floor, pressed by its weight and pulled at 0.5 m/s."""
    pin = aq.PointMasses("pin", (0.0, 0.0), weight / 10.0, imposed_velocity={"all": {"x": 0.5}})
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    law = {"friction": aq.Coulomb(0.0), "wear": aq.Archard(1e-13)}
    rub = aq.Interface("rub", pin.boundary("all"), floor, aq.Unilateral(), **law)
    return aq.System([pin], interfaces=[rub], gravity=(0.0, -10.0), velocity=(0.5, 0.0))


@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Theta(1.0), aq.Newmark(), aq.CentralDifference()], ids=str)
def test_a_pin_wears_by_the_work_of_its_weight(scheme: Any) -> None:
    """V = k F s: k F v Δt in each step, in compiled blocks of steps too; the first of central differences is a half."""
    result = aq.simulate(rubbed(20.0), scheme, duration=1.0, step=0.01)
    worn = np.diff(result["interface/rub/worn_volume"].values)
    np.testing.assert_allclose(worn[1:], 1e-13 * 20.0 * 0.5 * 0.01, rtol=1e-9)
    assert worn[0] == pytest.approx(worn[1] * (0.5 if isinstance(scheme, aq.CentralDifference) else 1.0), rel=1e-9)
    assert abs(result["balance"]).max() <= 1e-12
