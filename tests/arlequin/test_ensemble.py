"""Members stepped together against each of them alone, and against the exact impact of a bar."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
ALIKE = 1e-12  # of the largest value of a variable among all members


def thrown(speeds: Sequence[tuple[float, float, float]], system: aq.System) -> list[aq.System]:
    """Members that fly with velocities (x, y), m/s, and turn, 1/s."""

    def field(x: float, y: float, turn: float) -> Any:
        return lambda at: np.column_stack([x - turn * at[:, 1], y + turn * at[:, 0], *at.T[2:] * 0.0])

    return [replace(system, velocity=field(*speed)) for speed in speeds]


def block(cells: Any = (10, 4), friction: Any = None, normal: Any = None, **options: Any) -> aq.System:
    """A block 0.1 mm off a wall."""
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.04), cells)
    part = aq.Solid("block", mesh, STEEL, plane="strain", **options)
    wall = aq.RigidPlane(point=(0.1001, 0.0), normal=(-1.0, 0.0))
    touch = aq.Interface("wall", part.boundary("right"), wall, normal or aq.Unilateral(), friction=friction)
    return aq.System([part], interfaces=[touch])


def friction_loss() -> list[aq.System]:
    """Some slide, some stick, one never arrives, the last arrives late."""
    rough = block(friction=aq.Coulomb(0.3))
    return thrown([(20, 15, 0), (20, 1, 30), (-5, 3, 0), (0, 0, 0), (3, 1, -200)], rough)


def asperities() -> list[aq.System]:
    law = [aq.Asperities(stiffness=1e13, height=1e-4, damping=1e9), aq.Unilateral(level="gap")]
    return thrown([(20, 0, 0), (5, 0, 50), (-1, 0, 0)], block(normal=law, damping=aq.Rayleigh(100.0, 1e-8)))


def glued() -> list[aq.System]:
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0, 0.06), (0, 0.01), (12, 2)), STEEL, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((0.04, 0.1), (0, 0.01), (30, 5)), STEEL, plane="strain")
    wall = aq.RigidPlane(point=(0.10001, 0.0), normal=(-1.0, 0.0))
    touch = aq.Interface("tip", fine.boundary("right"), wall, aq.Unilateral(), friction=aq.Coulomb(0.2))
    junction = aq.Junction(coarse, fine, absorbing=aq.Absorber())
    return thrown([(10, 0, 0), (10, 2, 20), (-1, 0, 0)], aq.System([coarse, fine], [junction], [touch]))


def bricks() -> list[aq.System]:
    part = aq.Solid("brick", aq.mesh.box((0, 0.1), (0, 0.05), (0, 0.05), (4, 3, 3)), STEEL)
    wall = aq.RigidPlane(point=(0.1001, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
    touch = aq.Interface("wall", part.boundary("right"), wall, aq.Unilateral(), friction=aq.Coulomb(0.3))
    return thrown([(20, 5, 0), (15, 0, 40), (-5, 0, 0)], aq.System([part], interfaces=[touch]))


def rods() -> list[aq.System]:
    """Each in a flow of its own, on a support that moves as it likes, against a stop."""

    def rod(seed: int) -> aq.System:
        flow = aq.Turbulence(aq.PlateauSpectrum(20.0, 400.0), highest=800.0, correlation=0.2, duration=0.1, seed=seed)
        held = {"left": {"x": 0.0, "y": lambda t: 1e-5 * np.sin(300 * seed * t), "rz": 0.0}}
        section = aq.Section.tube(5e-3, 4.4e-3, 0.3)
        mesh = aq.mesh.interval(0.0, 0.8, cells=6)
        beam = aq.Beam("rod", mesh, STEEL, section, dimension=2, imposed=held, turbulence=flow, fluid_damping=2.0)
        stop = aq.RigidPlane(point=(0.8, 1e-6), normal=(0.0, -1.0))
        return aq.System([beam], interfaces=[aq.Interface("stop", beam.boundary("right"), stop, aq.Unilateral())])

    return [rod(seed) for seed in (1, 2, 3)]


def modes() -> list[aq.System]:
    beam = aq.Beam(
        "rod", aq.mesh.interval(0.0, 0.8, cells=20), STEEL, aq.Section.circle(0.01), dimension=2,
        imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}},
    )  # fmt: skip
    part = aq.Modal(beam, 6)
    stop = aq.RigidPlane(point=(0.8, -1e-4), normal=(0.0, 1.0))
    touch = aq.Interface("stop", part.boundary("right"), stop, aq.ImpactElement(1e7))
    system = aq.System([part], interfaces=[touch])
    return [replace(system, velocity=(0.0, speed, 0.0)) for speed in (-1.0, -0.2, 1.0)]


def masses() -> list[aq.System]:
    """On springs, under gravity of their own."""
    some = aq.PointMasses("m", [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)], [1.0, 2.0, 3.0])
    springs = [aq.Spring("base", some.boundary("all"), stiffness=(900.0, 10.0), damping=(2.0, 0.1))]
    touch = aq.Interface("floor", some.boundary("all"), FLOOR, aq.Unilateral(), friction=aq.Coulomb(0.1))
    system = aq.System([some], springs=springs, interfaces=[touch], displacement=(0.0, 1e-3))
    pulls = [(1.0, -10.0), (3.0, -10.0), lambda t: (0.0, 10.0 * np.cos(40.0 * t))]
    return [replace(system, gravity=pull, velocity=(0.1 * i, 0.0)) for i, pull in enumerate(pulls)]


def pulled() -> list[aq.System]:
    """Free of contact, each under a traction of its own."""

    def one(size: float) -> aq.System:
        mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), (10, 3))
        held, pull = {"left": {"x": 0.0, "y": 0.0}}, {"right": (0.0, size)}
        return aq.System([aq.Solid("arm", mesh, STEEL, plane="stress", imposed=held, tractions=pull)])

    return [one(size) for size in (1e6, 2e6, -1e6)]


def sprung() -> list[aq.System]:
    """A block that sticks, slips and leaves a floor, on springs of friction with a dashpot."""
    soft = aq.LinearElastic(young=1e7, poisson=0.3, density=1000.0)
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), (3, 3))
    part = aq.Solid("block", mesh, soft, plane="strain")
    law = aq.Coulomb(0.3, stiffness=1e8, damping=1e3)
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    floor = aq.Interface("floor", part.boundary("bottom"), plane, aq.Unilateral(), friction=law)
    system = aq.System([part], interfaces=[floor], gravity=(0.0, -9.81))
    return [replace(system, velocity=(v, -0.05 * i)) for i, v in enumerate((0.02, 0.2, 0.4))]


def sprung_masses() -> list[aq.System]:
    """Two masses that rub on springs of friction, in compiled loops."""
    part = aq.PointMasses("masses", [(0.0, 0.0), (0.1, 0.0)], 1.0)
    base = aq.Spring("base", part.boundary("all"), stiffness=(200.0, 0.0))
    plane, law = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0)), aq.Coulomb(0.3, stiffness=1e4)
    floor = aq.Interface("floor", part.boundary("all"), plane, aq.Unilateral(), friction=law)
    system = aq.System([part], interfaces=[floor], springs=[base], gravity=(0.0, -9.81))
    return [replace(system, velocity=(v, -0.05 * i)) for i, v in enumerate((0.02, 0.2, 0.4))]


def braked() -> list[aq.System]:
    """Two masses whose coefficient of friction falls with the slip velocity."""
    part = aq.PointMasses("masses", [(0.0, 0.0), (0.1, 0.0)], 1.0)
    base = aq.Spring("base", part.boundary("all"), stiffness=(200.0, 0.0))
    law = aq.Stribeck(static=0.4, dynamic=0.2, velocity=0.1)
    floor = aq.Interface("floor", part.boundary("all"), FLOOR, aq.Unilateral(), friction=law)
    system = aq.System([part], interfaces=[floor], springs=[base], gravity=(0.0, -9.81))
    return [replace(system, velocity=(v, -0.05 * i)) for i, v in enumerate((0.02, 0.2, 0.4))]


RUNS = {
    "sprung": (sprung, 0.7, 2e-4, 40),
    "sprung masses": (sprung_masses, 0.5, 1e-3, 60),
    "braked": (braked, 0.5, 1e-3, 60),
    "rubbed": (friction_loss, 0.5, 2e-7, 250),
    "asperities": (asperities, 0.5, 2e-7, 250),
    "glued": (glued, 0.5, 1e-7, 300),
    "bricks": (bricks, 0.55, 5e-7, 80),
    "rods": (rods, 0.5, 2e-5, 200),
    "modes": (modes, 0.5, 2e-6, 300),
    "masses": (masses, 0.5, 1e-3, 150),
    "pulled": (pulled, 0.5, 1e-6, 80),
}


def largest(values: Any) -> float:
    return float(np.abs(np.asarray(values)).max(initial=0.0))


def assert_alike(together: xarray.DataTree, alone: xarray.DataTree, members: int | slice) -> None:
    """All variables of some members, relative to the largest among all of them."""
    assert {node.path for node in together.subtree} == {node.path for node in alone.subtree}
    fastest = max(largest(node["velocity"]) for node in together["part"].children.values())
    for node in alone.subtree:
        for name, values in node.dataset.data_vars.items():
            twin = together[node.path].dataset[name]
            if values.dtype.kind != "f" or name == "balance":
                continue
            scale = fastest if name == "mismatch" else largest(twin)
            own = twin.isel(member=members) if "member" in twin.dims else twin
            assert own.dims == values.dims and own.attrs == values.attrs
            assert largest(own.values - values.values) <= ALIKE * scale, (node.path, name)


SCHEMES = (
    None, aq.Newmark(), aq.Newmark(0.36, 0.6), aq.HHT(-0.1), aq.GeneralisedAlpha.with_radius(0.5)
)  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("name", RUNS)
def test_a_member_moves_as_it_does_alone(name: str, scheme: Any) -> None:
    make, theta, step, steps = RUNS[name]
    scheme = scheme or aq.Theta(theta)
    systems, given = make(), {"duration": steps * step, "step": step, "fields_every": 7}
    together = aq.simulate_ensemble(systems, scheme, **given)
    assert together["energy"].dims == ("member", "time", "kind")
    assert together["member"].values.tolist() == list(range(len(systems)))
    balance = together["balance"].values
    assert largest(balance) <= 1e-13
    for i, system in enumerate(systems):
        alone = aq.simulate(system, scheme, **given)
        assert_alike(together, alone, i)
        assert largest(alone["balance"]) <= 1e-13


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("name", sorted(RUNS.keys() - {"braked"}))  # its friction is solved in the compiled loops alone
def test_members_by_one_factor(name: str, scheme: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the compiled loops of each alone."""
    monkeypatch.setattr("arlequin.schemes.one_step.are_small", lambda members: False)
    test_a_member_moves_as_it_does_alone(name, scheme)


SMALL = ("rods", "modes", "masses", "braked")  # each member in a compiled loop


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("name", SMALL)
def test_small_members_have_the_bits_of_runs_alone(name: str, scheme: Any) -> None:
    make, theta, step, steps = RUNS[name]
    scheme = scheme or aq.Theta(theta)
    systems, given = make(), {"duration": steps * step, "step": step, "fields_every": 7}
    together = aq.simulate_ensemble(systems, scheme, **given)
    for i, system in enumerate(systems):
        for node in aq.simulate(system, scheme, **given).subtree:
            for key, values in node.dataset.data_vars.items():
                twin = together[node.path].dataset[key]
                own = twin.isel(member=i) if "member" in twin.dims else twin
                assert own.values.tobytes() == values.values.tobytes(), (node.path, key)


def test_members_whose_friction_depends_on_the_state_do_not_disturb_each_other() -> None:
    """Threads step them side by side: coefficients of friction are each member's own."""
    first, given = braked()[0], {"duration": 0.06, "step": 1e-3}
    systems = [replace(first, velocity=(0.02 + 0.01 * i, -0.01 * i)) for i in range(24)]
    together = aq.simulate_ensemble(systems, aq.Theta(0.5), **given)
    for i in range(0, 24, 5):
        alone = aq.simulate(systems[i], aq.Theta(0.5), **given)
        for path, name in (("part/masses", "velocity"), ("interface/floor", "force")):
            assert together[path][name].values[i].tobytes() == alone[path][name].values.tobytes()


def test_members_touch_each_at_its_time() -> None:
    """The ones that arrive, as they arrive: what `friction_loss` compares is not rest."""
    result = aq.simulate_ensemble(friction_loss(), aq.Theta(0.5), duration=5e-5, step=2e-7)
    active = result["interface/wall/active"].values
    first = [int(np.argmax(row > 0)) if row.any() else None for row in active]
    assert first[0] is not None and first[0] == first[1] and first[2] is first[3] is None
    assert first[4] is not None and first[4] > first[0]
    assert result["interface/wall/status"].values.max() == 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("count", [1, 3, 40])
def test_what_stands_beside_a_member_does_not_change_it(count: int) -> None:
    systems = thrown([(20 - 0.3 * i, 0.2 * i, 2 * i) for i in range(40)], block((6, 3), aq.Coulomb(0.3)))
    given = {"duration": 2e-5, "step": 2e-7, "fields_every": 20}
    whole = aq.simulate_ensemble(systems, aq.Theta(0.5), **given)
    some = aq.simulate_ensemble(systems[:count], aq.Theta(0.5), **given)
    assert_alike(whole, some, slice(0, count))


def test_force_and_rebound_of_bars_that_hit_a_wall() -> None:
    """F = ρ c A v for 2 L/c (d'Alembert), whatever v is, and each bar leaves with what it came with."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=100), STEEL)
    touch = aq.Interface("end", bar.boundary("right"), aq.RigidPlane(0.1, -1.0), aq.Unilateral())
    speeds = np.array([1.0, 2.0, 5.0, 40.0])
    system = aq.System([bar], interfaces=[touch])
    c = np.sqrt(2e11 / 7800.0)
    result = aq.simulate_ensemble(
        [replace(system, velocity=v) for v in speeds], aq.Theta(0.5), duration=0.24 / c, step=1e-3 / c / np.sqrt(2.0)
    )
    touching = result["interface/end"].sel(time=slice(0.05e-1 / c, 0.19 / c))
    force = -touching["force"].values[..., 0].mean(axis=1)
    np.testing.assert_allclose(force, 7800.0 * c * speeds, rtol=2e-3)
    np.testing.assert_allclose(force / speeds, force[0] / speeds[0], rtol=1e-10)
    momentum = result["part/bar/momentum"].values[:, -1, 0]
    np.testing.assert_allclose(momentum, -7800.0 * 0.1 * speeds, rtol=1e-2)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("make", "step", "members"), [(friction_loss, 2e-7, 5), (modes, 2e-6, 3)])
def test_an_ensemble_is_recorded_and_goes_on_as_a_run_does(
    make: Any, step: float, members: int, goes_on: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arlequin.schemes.compiled_loop.SmallMembers.least_batch", 1)
    systems = make()

    def simulate(record: Any, progress: Any) -> xarray.DataTree:
        return aq.simulate_ensemble(
            systems, aq.Theta(0.5), duration=40 * step, step=step, record=record, progress=progress
        )  # fmt: skip

    assert dict(goes_on(simulate, [20]).sizes)["member"] == members


def test_members_of_which_all_is_driven() -> None:
    """p = K (x − 1) on a layer at the middle of each step, whatever the way of each."""
    step, ways = 1e-2, [lambda t: 1.0 + 0.1 * t, lambda t: 1.0 + 0.4 * t**2]

    def member(way: Any) -> aq.System:
        one = aq.PointMasses("m", 0.0, 2.0, imposed={"all": {"x": way}})
        wall = aq.RigidPlane(point=1.0, normal=-1.0)
        return aq.System([one], interfaces=[aq.Interface("wall", one.boundary("all"), wall, aq.ImpactElement(1e3))])

    result = aq.simulate_ensemble([member(way) for way in ways], aq.Theta(0.5), duration=0.5, step=step)
    ends = np.array([[way(step * n) for n in range(51)] for way in ways])
    pressure = result["interface/wall/pressure"].values[:, 1:, 0]
    np.testing.assert_allclose(pressure, 1e3 * (0.5 * (ends[:, 1:] + ends[:, :-1]) - 1.0), rtol=1e-9)
    assert largest(result["balance"]) <= 1e-13


def refused(systems: Sequence[aq.System], scheme: Any = None) -> str:
    with pytest.raises(aq.UserError) as error:
        aq.simulate_ensemble(systems, scheme or aq.Theta(0.5), duration=1e-6, step=1e-7)
    return str(error.value)


def test_what_is_not_of_one_system_is_refused() -> None:
    system = block()
    for none in ([], [system, 1], system):
        assert refused(none).endswith("must be a list of at least one System")
    assert refused([system, block((10, 5))]).startswith("member 1: its mesh is not that of member 0")
    assert refused([system, block(friction=aq.Coulomb(0.1))]).startswith("member 1: its contact is not")
    held = block(imposed={"left": {"x": 0.0}})
    assert refused([system, system, held]).startswith("member 2: its imposed dofs is not")
    other = replace(system, contact=aq.ContactMethod("augmented"))
    assert refused([system, other]).startswith("member 1: its contact method is not")
    named = replace(system.interfaces[0], name="other")
    assert refused([system, replace(system, interfaces=[named])]).startswith("member 1: its list of interfaces is not")
    line = [aq.Bar("bar", aq.mesh.interval(x, x + 1.0, cells=2), STEEL) for x in (0.0, 1.0)]
    assert refused([aq.System([bar]) for bar in line]).startswith("member 1: its mesh is not")


def test_errors_name_the_member() -> None:
    system = block()
    inside = replace(system, displacement=(1e-3, 0.0))
    assert refused([system, system, inside]).startswith("member 2: ")
    fast = replace(system, velocity=(1e308, 0.0))
    with np.errstate(all="ignore"):
        assert "no longer finite" in refused([system, fast])


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("small", [True, False])
def test_steps_before_one_that_fails_are_kept(small: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all members as many, though others could go on."""
    monkeypatch.setattr("arlequin.models.checks.LARGEST", np.inf)
    if not small:
        monkeypatch.setattr("arlequin.schemes.one_step.are_small", lambda members: False)
    first, *others = masses()
    late = replace(first, gravity=lambda t: (0.0, 1e308 if t > 0.0305 else -1.0))
    path, given = tmp_path / "run.zarr", {"duration": 0.1, "step": 1e-3}
    with pytest.raises(aq.UserError, match=r"^member 1: .* t = 0\.03[12] s"):
        aq.simulate_ensemble([first, late, *others], aq.Theta(0.5), record=path, **given)
    kept = aq.results.open(path)
    assert 31 <= kept.sizes["time"] <= 32 and kept.attrs["complete"] == 0
    whole = aq.simulate(first, aq.Theta(0.5), **given)
    np.testing.assert_allclose(
        kept["energy"].isel(member=0), whole["energy"][: kept.sizes["time"]], rtol=1e-12, atol=1e-14
    )
