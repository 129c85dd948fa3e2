"""Blocks of compiled steps against the same steps one by one."""

import numba
import numpy as np
import pytest

import arlequin as aq
from arlequin.schemes._loop_kernels import linear_steps
from arlequin.system.assembly import assemble


def slider():
    one = aq.PointMasses("slider", (0.0, 0.0), 1.0)
    spring = aq.Spring("spring", one.boundary("all"), stiffness=(1e4, 0.0), damping=(2.0, 0.0))
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("floor", one.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(0.1))
    return aq.System(
        [one], springs=[spring], interfaces=[contact], gravity=(0.0, -10.0), displacement=(8.5e-4, 1e-4)
    ), 1e-4  # fmt: skip


def shocked(axes, law, damping=0.0):
    """On a shock element, thrown up and pushed about: it sticks, slips and flies."""
    push = (lambda t: (9 * np.sin(90 * t), 2 * np.cos(70 * t), 12 * np.sin(40 * t))) if axes == 3 else (
        lambda t: (9 * np.sin(90 * t), 12 * np.sin(40 * t)))  # fmt: skip
    one = aq.PointMasses("slider", (0.0,) * axes, 1.0, forces={"all": push})
    rest = (0.0,) * (axes - 1)
    floor = aq.RigidPlane(point=(*rest, 0.0), normal=(*rest, 1.0))
    contact = aq.Interface(
        "floor", one.boundary("all"), floor, law, friction=aq.Coulomb(0.4, stiffness=5e3, damping=damping)
    )
    return aq.System([one], interfaces=[contact], gravity=(*rest, -10.0)), 1e-3


def spinner():
    """In space: the friction has two directions."""
    one = aq.PointMasses("slider", (0.0, 0.0, 0.0), 1.0, forces={"all": lambda t: (np.sin(90 * t), 0.5, 0.0)})
    floor = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
    contact = aq.Interface("floor", one.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(0.05))
    return aq.System(
        [one], interfaces=[contact], gravity=lambda t: (0.0, np.cos(30 * t), -10.0), velocity=(0.2, -0.1, 0.0)
    ), 1e-3  # fmt: skip


def bar(laws=None, mass="consistent", order=1):
    steel = aq.LinearElastic(young=2e11, density=7800.0)
    made = aq.Bar(
        "bar", aq.mesh.interval(0.0, 0.1, cells=30), steel, mass=mass, damping=aq.Rayleigh(10.0, 1e-9), order=order
    )
    wall = aq.RigidPlane(point=0.10001, normal=-1.0)
    contact = aq.Interface("end", made.boundary("right"), wall, laws or aq.Unilateral())
    return aq.System([made], interfaces=[contact], velocity=10.0), 3e-7


def rod():
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    section = aq.Section.circle(0.01)
    beam = aq.Beam(
        "rod", aq.mesh.interval(0.0, 1.0, cells=8), steel, section, dimension=2,
        imposed={"left": {"x": 0.0, "y": lambda t: 1e-3 * np.sin(200 * t), "rz": 0.0}},
    )  # fmt: skip
    stop = aq.RigidPlane(point=(1.0, -5e-4), normal=(0.0, 1.0))
    contact = aq.Interface("stop", beam.boundary("right"), stop, aq.Unilateral(), friction=aq.Coulomb(0.3))
    return aq.System([beam], interfaces=[contact]), 2e-5


def tied():
    two = aq.PointMasses("m", ((0.0,), (1.0,)), (3.0, 4.0), names={"a": 0, "b": 1})
    pulley = aq.Relation("pulley", [(two.boundary("a"), "x", 1.0), (two.boundary("b"), "x", 2.0)])
    spring = aq.Spring("s", two.boundary("a"), stiffness=50.0)
    wall = aq.RigidPlane(point=1.05, normal=-1.0)
    contact = aq.Interface("wall", two.boundary("b"), wall, aq.Unilateral())
    return aq.System([two], springs=[spring], relations=[pulley], interfaces=[contact], gravity=-9.81), 1e-2


def glued():
    steel = aq.LinearElastic(young=2e11, density=7800.0)
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.06, cells=6), steel)
    fine = aq.Bar("fine", aq.mesh.interval(0.04, 0.1, cells=24), steel)
    wall = aq.RigidPlane(point=0.10001, normal=-1.0)
    contact = aq.Interface("end", fine.boundary("right"), wall, aq.Unilateral())
    return aq.System([coarse, fine], junctions=[aq.Junction(coarse, fine)], interfaces=[contact], velocity=10.0), 4e-7


def dragged(friction):
    """Friction whose coefficient depends on the state, under a mass that is pushed on."""
    one = aq.PointMasses("slider", (0.0, 0.0), 1.0, forces={"all": lambda t: (5.0 + 2.0 * np.sin(20.0 * t), 0.0)})
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("floor", one.boundary("all"), floor, aq.Unilateral(), friction=friction)
    return aq.System([one], interfaces=[contact], gravity=(0.0, -10.0), velocity=(0.3, 0.0)), 1e-3


def worn(*laws, **rubs):
    """Masses that slide to and fro on a floor, which wears; one of them falls on it."""
    pull = lambda t: (30.0 * np.sin(60.0 * t), -20.0 * t)  # noqa: E731
    two = aq.PointMasses("sliders", ((0.0, 0.0), (0.5, 1e-3)), (3.0, 4.0), forces={"all": pull})
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    friction, wear = aq.Coulomb(0.3, **rubs), aq.Archard(2e-8)
    contact = aq.Interface("floor", two.boundary("all"), floor, laws, friction=friction, wear=wear)
    return aq.System([two], interfaces=[contact], gravity=(0.0, -9.81), velocity=(0.3, -0.1)), 1e-3


SYSTEMS = {
    "worn": lambda: worn(aq.Unilateral()),
    "worn, layer and springs": lambda: worn(aq.ImpactElement(2e4, 20.0), stiffness=1600.0, damping=3.0),
    "slider": slider,
    "spinner": spinner,
    "bar": bar,
    "lumped bar": lambda: bar(mass="lumped"),
    "massless end": lambda: bar(mass="redistributed"),
    "second order": lambda: bar(order=2),
    "gap level": lambda: bar(aq.Unilateral(level="gap")),
    "multilevel": lambda: bar([aq.Asperities(1e15, 2.0, 1e-6), aq.Unilateral()]),
    "shocked": lambda: shocked(2, aq.ImpactElement(2e4, 20.0)),
    "shocked in space": lambda: shocked(3, aq.ImpactElement(2e4, 20.0)),
    "beside a dashpot": lambda: shocked(2, aq.ImpactElement(2e4, 20.0), 40.0),
    "beside one in space": lambda: shocked(3, aq.ImpactElement(2e4, 20.0), 40.0),
    "held by a spring": lambda: shocked(3, aq.Unilateral()),
    "rod": rod,
    "tied": tied,
    "glued": glued,
    "rate and state": lambda: dragged(aq.RateAndState(0.4, 0.01, 0.03, 0.1, 0.5)),
    "Stribeck": lambda: dragged(aq.Stribeck(0.4, 0.1, 0.5)),
}


# without compilation only the quickest
QUICK = ("slider", "shocked", "tied")


SCHEMES = {
    "theta 0.5": aq.Theta(0.5),
    "theta 0.8": aq.Theta(0.8),
    "theta 1": aq.Theta(1.0),
    "Newmark": aq.Newmark(),
    "Newmark that damps": aq.Newmark(0.36, 0.6),
    "HHT": aq.HHT(-0.1),
    "generalised α": aq.GeneralisedAlpha.with_radius(0.4),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.kernels if n in QUICK else ()) for n in SYSTEMS])
def test_blocks_are_the_same_steps(name, scheme, monkeypatch):
    system, step = SYSTEMS[name]()
    block = aq.simulate(system, scheme, duration=300 * step, step=step)
    monkeypatch.setattr("arlequin.schemes.compiled_loop.LARGEST", -1)
    single = aq.simulate(system, scheme, duration=300 * step, step=step)
    assert block["interface"].children and single["energy"].shape == block["energy"].shape
    touched = False
    for node in single.subtree:
        for variable, values in node.dataset.data_vars.items():
            other, own = block[node.path].dataset[variable].values, values.values
            # impulses at a level of round-off may be zero in the one and not in the other
            scale = max(np.abs(own).max(initial=0.0), 1e-300)
            if variable in ("balance", "status", "mismatch"):
                assert np.abs(other).max() < 1e-11 or variable == "status"
                continue
            if variable == "energy":
                scale = np.abs(own[:, :3]).max()
            np.testing.assert_allclose(other, own, atol=1e-9 * scale, rtol=0, err_msg=f"{node.path}/{variable}")
            touched = touched or (variable == "impulse" and own.max() > 0.0)
    assert touched


def test_a_block_ends_where_a_step_is_not_accepted():
    """The steps before it are recorded; the error names the time."""
    one = aq.PointMasses("m", 0.0, 1.0, forces={"all": lambda t: np.inf if t > 0.0505 else 0.0})
    seen = []
    with pytest.raises(aq.UserError, match="force on 'all'"):
        aq.simulate(
            aq.System([one], velocity=1.0), aq.Theta(0.5), duration=0.1, step=1e-3, progress=lambda n, _: seen.append(n)
        )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("error", [aq.UserError("no force"), KeyError("force")], ids=["refused", "raised"])
@pytest.mark.parametrize("largest", [500, -1], ids=["compiled", "one by one"])
def test_the_steps_before_a_load_that_fails_are_recorded(error, largest, tmp_path, monkeypatch):
    """t = 0 … 0.03 s, bit by bit those of a load that does not fail; with a checkpoint."""
    monkeypatch.setattr("arlequin.schemes.compiled_loop.LARGEST", largest)

    def run(last, record=None):
        def load(t):
            if t > last:
                raise error
            return 3.0 * np.sin(90.0 * t)

        one = aq.PointMasses("m", 0.0, 1.0, forces={"all": load})
        system = aq.System([one], springs=[aq.Spring("s", one.boundary("all"), stiffness=100.0)], velocity=1.0)
        return aq.simulate(system, aq.Theta(0.5), duration=0.1, step=1e-3, record=record)

    path = tmp_path / "run.zarr"
    with pytest.raises(type(error)):
        run(0.0305, path)
    stopped, whole = aq.results.open(path), run(1.0)
    np.testing.assert_array_equal(stopped["time"].values, 1e-3 * np.arange(31))
    assert stopped["energy"].values.tobytes() == whole["energy"].values[:31].tobytes()
    assert (path / "checkpoint.npz").exists()


def driven(way, law=None):
    """Nothing is free: all of it is driven to and fro before a wall."""
    one = aq.PointMasses("m", 0.0, 2.0, imposed={"all": {"x": way}})
    wall = aq.RigidPlane(point=1.0, normal=-1.0)
    return aq.System([one], interfaces=[aq.Interface("wall", one.boundary("all"), wall, law or aq.Unilateral())])


@pytest.mark.parametrize("largest", [500, -1], ids=["compiled", "one by one"])
def test_what_is_driven_alone(largest, monkeypatch):
    """p = K (x − 1) on a layer, at the middle of each step; nothing in front of the wall, or at rest on it; through it
    there is no way."""
    monkeypatch.setattr("arlequin.schemes.compiled_loop.LARGEST", largest)

    def run(way, law=None):
        with np.errstate(all="raise"):
            return aq.simulate(driven(way, law), aq.Theta(0.5), duration=1.0, step=1e-2)

    deep = run(lambda t: 1.5 * np.sin(3.0 * t), aq.ImpactElement(1e3))
    x = 1.5 * np.sin(3.0 * deep["time"].values)
    inside = (x[:-1] > 1.0) & (x[1:] > 1.0)
    pressure = deep["interface/wall/pressure"].values[1:, 0]
    assert inside.any()
    np.testing.assert_allclose(pressure[inside], 1e3 * (0.5 * (x[1:] + x[:-1]) - 1.0)[inside], rtol=1e-9)
    assert np.abs(deep["balance"]).max() < 1e-13
    for way in (lambda t: 0.9 * np.sin(3.0 * t), lambda t: min(4.0 * t, 1.0)):
        result = run(way)
        assert not result["interface/wall/pressure"].any()
        np.testing.assert_allclose(
            result["part/m/displacement"].values[:, 0, 0], [way(t) for t in result["time"].values], atol=1e-14
        )
    with pytest.raises(aq.UserError, match=r"contact at t = 0\.25 s"):
        run(lambda t: 1.5 * np.sin(3.0 * t))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("friction", [None, 0.3])
def test_the_same_obstacle_twice_shares_the_force(friction, restitution):
    """The mass moves as on one, and each carries half: a node with more contact points than its motion determines takes
    the stabilised form."""

    def fall(count):
        one = aq.PointMasses("m", (0.0, 0.0), 1.0)
        floor = aq.RigidPlane(point=(0.0, -1e-2), normal=(0.0, 1.0))
        laws = aq.Unilateral(restitution=restitution), friction and aq.Coulomb(friction)
        floors = [aq.Interface(f"floor {i}", one.boundary("all"), floor, *laws) for i in range(count)]
        system = aq.System([one], interfaces=floors, velocity=(0.5, 0.0), gravity=(0.0, -10.0))
        return aq.simulate(system, aq.Theta(0.5), duration=0.1, step=1e-3)

    single, twice = fall(1), fall(2)
    pressure = single["interface/floor 0/pressure"].values
    assert pressure.max() > 100.0
    field = "part/m/displacement"
    np.testing.assert_allclose(twice[field].values, single[field].values, rtol=0.0, atol=1e-16)
    for i in range(2):
        np.testing.assert_allclose(
            twice[f"interface/floor {i}/pressure"].values, 0.5 * pressure, rtol=1e-13, atol=1e-12
        )


def test_a_block_ends_in_the_state_of_its_last_accepted_step(monkeypatch):
    """Not in what the next one, tried in vain, left behind."""
    monkeypatch.setattr("arlequin.models.checks.LARGEST", np.inf)
    one = aq.PointMasses("m", 0.0, 1e-12, forces={"all": lambda t: 1e303 * (t > 0.0305)})
    stepper = aq.Theta(0.5).prepare(assemble(aq.System([one], velocity=1.0)), 1e-3)
    state, batch = stepper.advance(stepper.start(np.zeros(1), np.ones(1)), 50)
    assert state.n == len(batch) == 30
    np.testing.assert_allclose([state.u[0], state.v[0]], [0.03, 1.0], rtol=1e-12)


def test_long_runs_are_blocks_of_any_length():
    """Free oscillation: the record has every step once, whatever the blocks."""
    one = aq.PointMasses("m", 0.0, 1.0)
    system = aq.System([one], springs=[aq.Spring("s", one.boundary("all"), stiffness=100.0)], velocity=1.0)
    result = aq.simulate(system, aq.Theta(0.5), duration=20.0, step=1e-3, fields_every=7)
    np.testing.assert_array_equal(result["time"].values, 1e-3 * np.arange(20001))
    frames = result["part/m"].dataset
    assert frames.sizes["frame"] == 20000 // 7 + 2
    t = frames["frame_time"].values
    np.testing.assert_allclose(frames["displacement"].values[:, 0, 0], 0.1 * np.sin(10 * t), atol=2e-4)
    assert np.abs(result["energy"].sel(kind="kinetic") + result["energy"].sel(kind="strain") - 0.5).max() < 1e-12


def test_one_compiled_kernel_serves_them_all():
    """Whether loads stay or change, they come in one order of memory: a second one would be compiled anew."""
    for name in ("slider", "shocked", "glued"):
        system, step = SYSTEMS[name]()
        aq.simulate(system, aq.Theta(0.5), duration=10 * step, step=step)
    plain = [own for own in linear_steps.signatures if own[-2:] == (numba.types.none,) * 2]
    assert len(plain) == 1  # others are of rotating bodies, and of friction that depends on the state
