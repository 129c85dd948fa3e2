"""Reactions at supports against statics and the momentum balance of each step."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.mesh import box, interval, rectangle

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
G = 9.81


def ramp(t: float) -> tuple[float, float]:
    return 0.0, -G * min(t, 1.0)


@pytest.mark.parametrize("plane", ["strain", "3d"])
def test_a_hanging_bar_weighs_on_its_support(plane):
    """ρ g V up, and nothing aside."""
    if plane == "3d":
        mesh, options, volume = box((0.0, 0.1), (0.0, 1.0), (0.0, 0.2), cells=(1, 4, 2)), {}, 0.02
        held, weight = {"top": {"x": 0.0, "y": 0.0, "z": 0.0}}, lambda t: (0.0, -G * t, 0.0)
    else:
        mesh, options, volume = (
            rectangle((0.0, 0.1), (0.0, 1.0), cells=(1, 4)),
            {"plane": "strain", "thickness": 0.2},
            0.02,
        )
        held, weight = {"top": {"x": 0.0, "y": 0.0}}, ramp
    bar = aq.Solid("bar", mesh, STEEL, imposed=held, **options)
    result = aq.simulate(aq.System([bar], gravity=weight), aq.Static(), duration=1.0, step=0.25)
    reaction = result["part/bar/reaction"]
    assert reaction.dims == ("time", "support", "component") and reaction.attrs["units"] == "N"
    assert reaction["support"].values.tolist() == ["top"]
    up = reaction.sel(support="top", component="y").values
    np.testing.assert_allclose(up, 7800.0 * G * volume * result["time"].values, rtol=1e-9, atol=1e-9)
    assert np.abs(reaction.sel(component="x")).max() <= 1e-9 * up[-1]


def test_a_cantilever_has_force_and_moment_at_its_clamp():
    """R = −F and M = −F L about z, of a load at the tip; two supports of a beam have half its weight each."""
    section = aq.Section.circle(0.05)
    beam = aq.Beam(
        "beam", interval(0.0, 2.0, cells=3), STEEL, section, dimension=2,
        imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, end_loads={"right": lambda t: (20.0 * t, 100.0 * t)},
    )  # fmt: skip
    group = aq.simulate(aq.System([beam]), aq.Static(), duration=1.0, step=1.0)["part/beam"].dataset.isel(time=-1)
    np.testing.assert_allclose(group["reaction"].values, [[-20.0, -100.0]], rtol=1e-8)
    np.testing.assert_allclose(group["reaction_moment"].values, [[-200.0]], rtol=1e-8)
    assert group["reaction_moment"].attrs["units"] == "N m"
    held = {"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}}
    beam = aq.Beam("beam", interval(0.0, 2.0, cells=4), STEEL, section, dimension=2, imposed=held)
    group = aq.simulate(aq.System([beam], gravity=ramp), aq.Static(), duration=1.0, step=1.0)["part/beam"].dataset
    half = 0.5 * 7800.0 * section.area * 2.0 * G
    found = group["reaction"].isel(time=-1).sel(component="y")
    np.testing.assert_allclose(found.values, half, rtol=1e-9)
    assert found["support"].values.tolist() == ["left", "right"]


def struck(wall=None, **options) -> aq.System:
    """A block that is held at its left, shaken there along y, and hits a wall at its right, under gravity."""
    held = {"left": {"x": 0.0, "y": lambda t: 1e-5 * np.sin(2e5 * t)}}
    block = aq.Solid(
        "block", rectangle((0.0, 0.1), (0.0, 0.04), cells=(8, 3)), STEEL, plane="strain", imposed=held,
        tractions={"top": (0.0, -2e7)}, **options,
    )  # fmt: skip
    wall = wall or aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    touch = aq.Interface("wall", block.boundary("right"), wall, aq.Unilateral(), friction=aq.Coulomb(0.3))

    def start(x):
        return np.stack([20.0 * x[:, 0] / 0.1, 0.0 * x[:, 0]], axis=1)

    return aq.System([block], interfaces=[touch], gravity=(0.0, -1e5), velocity=start)


def balance(result, weight, member=None) -> tuple[np.ndarray, float]:
    """(p₁ − p₀)/Δt − reactions − contact − external (t, component), N, and the largest reaction."""
    tree = result if member is None else result.isel(member=member)
    rate = np.diff(tree["part/block/momentum"].values, axis=0) / np.diff(tree["time"].values)[:, None]
    reactions = tree["part/block/reaction"].values[1:].sum(axis=1)
    contact = tree["interface/wall/force"].values[1:]
    assert np.abs(contact).max() > 1e3 and np.abs(reactions).max() > 1e3
    return rate - reactions - contact - weight, float(np.abs(reactions).max())


EXTERNAL = np.array([0.0, -1e5 * 7800.0 * 0.1 * 0.04 - 2e7 * 0.1])
SCHEMES = {
    "theta": (aq.Theta(0.5), {}),
    "damped theta": (aq.Theta(0.6), {}),
    "newmark": (aq.Newmark(), {}),
    "generalised alpha": (aq.GeneralisedAlpha.with_radius(0.8), {}),
    "finite": (aq.Theta(0.5), {"kinematics": "finite"}),
    "turning normals": (aq.Theta(0.5), {"wall": aq.RigidSphere((0.15, 0.01), 0.05)}),
    "turning normals, newmark": (aq.Newmark(), {"wall": aq.RigidSphere((0.15, 0.01), 0.05)}),
    "rayleigh": (aq.Theta(0.5), {"damping": aq.Rayleigh(1e3, 1e-8)}),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SCHEMES)
def test_momentum_of_each_step(name):
    """The change of the momentum is what supports, contact and loads give."""
    scheme, options = SCHEMES[name]
    result = aq.simulate(struck(**options), scheme, duration=4e-5, step=4e-7)
    external = EXTERNAL
    missing, largest = balance(result, external)
    if name == "rayleigh":  # damping by the mass resists the mean velocity
        momentum = result["part/block/momentum"].values
        missing = missing + 1e3 * 0.5 * (momentum[1:] + momentum[:-1])
    if name == "generalised alpha":  # it balances inertia and forces at instants of its own: in the mean of many steps
        missing = missing.mean(axis=0)
        assert np.abs(missing).max() <= 2e-2 * largest
        return
    assert np.abs(missing).max() <= 1e-9 * largest


def test_members_and_small_systems():
    """Members of an ensemble have the reactions of runs alone; beams in one compiled loop keep the balance too."""
    system = struck()
    systems = [system, replace(system, gravity=(0.0, -2e5))]
    result = aq.simulate_ensemble(systems, aq.Theta(0.5), duration=4e-5, step=4e-7)
    for n, own in enumerate(systems):
        alone = aq.simulate(own, aq.Theta(0.5), duration=4e-5, step=4e-7)["part/block/reaction"].values
        np.testing.assert_allclose(result["part/block/reaction"][n], alone, atol=1e-9 * np.abs(alone).max())
    held = {"left": {"x": 0.0, "y": lambda t: 1e-5 * np.sin(300 * t), "rz": 0.0}}
    beam = aq.Beam(
        "block", interval(0.0, 0.8, cells=6), STEEL, aq.Section.tube(5e-3, 4.4e-3, 0.3), dimension=2, imposed=held
    )
    wall = aq.RigidPlane(point=(0.8, 1e-6), normal=(0.0, -1.0))
    stop = aq.Interface("wall", beam.boundary("right"), wall, aq.Unilateral())
    system = aq.System([beam], interfaces=[stop], gravity=(0.0, 1000.0))
    result = aq.simulate(system, aq.Theta(0.5), duration=4e-3, step=2e-5)
    weight = np.array([0.0, 1000.0 * float(result["part/block/mass"])])
    rate = np.diff(result["part/block/momentum"].values, axis=0) / 2e-5
    reactions, contact = result["part/block/reaction"].values[1:, 0], result["interface/wall/force"].values[1:]
    assert np.abs(contact).max() > 1.0
    np.testing.assert_allclose(rate, reactions + contact + weight, atol=1e-7 * np.abs(reactions).max())


@pytest.mark.parametrize("contact", [True, False])
def test_central_differences(contact):
    """v_{n+½} − v_{n−½} by the forces at t_n: the sum over the run is the change of the momentum, to order Δt."""
    system = struck(mass="lumped")
    held = {"left": {"x": 0.0, "y": 0.0}}
    block = replace(system.parts[0], imposed=held)
    touch = replace(system.interfaces[0], slave=block.boundary("right"))
    system = replace(system, parts=[block], interfaces=[touch] if contact else [])
    step = 2e-8
    result = aq.simulate(system, aq.CentralDifference(), duration=2e-5, step=step)
    given = result["part/block/reaction"].values[1:].sum(axis=1) + EXTERNAL
    if contact:
        given = given + result["interface/wall/force"].values[1:]
    momentum = result["part/block/momentum"].values
    total = np.abs(given).sum(axis=0).max() * step
    assert np.abs(momentum[-1] - momentum[0] - step * given.sum(axis=0)).max() <= 2e-3 * total
    assert np.abs(given).max() > 1e5


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Multirate(4)], ids=["theta", "multirate"])
def test_supports_of_glued_parts(scheme):
    """Supports of both parts of a junction, whose forces cancel: the momentum of the two changes by what is outside."""
    shaken = {"left": {"x": 0.0, "y": lambda t: 1e-5 * np.sin(2e5 * t)}}
    coarse = aq.Solid("coarse", rectangle((0.0, 0.06), (0.0, 0.02), (6, 2)), STEEL, plane="strain", imposed=shaken)
    fine = aq.Solid(
        "fine", rectangle((0.04, 0.1), (0.0, 0.02), (24, 8)), STEEL, plane="strain", imposed={"bottom": {"y": 0.0}}
    )
    glue = aq.Junction(coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse")
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    touch = aq.Interface("wall", fine.boundary("right"), wall, aq.Unilateral())
    system = aq.System(
        [coarse, fine], junctions=[glue], interfaces=[touch],
        velocity=lambda x: np.stack([200.0 * x[:, 0], 0.0 * x[:, 0]], axis=1),
    )  # fmt: skip
    result = aq.simulate(system, scheme, duration=2e-5, step=4e-7)
    momentum = sum(result[f"part/{name}/momentum"].values for name in ("coarse", "fine"))
    reactions = sum(result[f"part/{name}/reaction"].values[1:].sum(axis=1) for name in ("coarse", "fine"))
    contact = result["interface/wall/force"].values[1:]
    assert np.abs(contact).max() > 1e5 and np.abs(reactions).max() > 1e5
    missing = np.diff(momentum, axis=0) / 4e-7 - reactions - contact
    assert np.abs(missing).max() <= 1e-9 * np.abs(reactions).max()


def test_a_recorded_run_goes_on(goes_on):
    system = struck()

    def simulate(record, progress):
        return aq.simulate(system, aq.Theta(0.5), duration=2e-5, step=5e-7, record=record, progress=progress)

    assert np.isfinite(goes_on(simulate, [20])["part/block/reaction"].values).all()
