"""Levels that are switched during a run: rest and free flight, momenta, ledger, history of contact, resume, oracles."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning, UserError
from arlequin.system.assembly import assemble

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SPEED = float(np.sqrt(2e11 / 7800.0))  # of waves in a bar, m/s
STEP = 1e-6
HALF = 0.1
SECTION = aq.Section.rectangle(2 * HALF, 2 * HALF, 0.3)
SCHEMES = {
    "theta 0.5": aq.Theta(0.5),
    "theta 0.6": aq.Theta(0.6),
    "midpoint": aq.Midpoint(),
    "newmark": aq.Newmark(),
    "hht": aq.HHT(-0.1),
    "alpha": aq.GeneralisedAlpha.with_radius(0.8),
}


def energy(result, kind):
    return result["energy"].sel(kind=kind).values


def balance(result):
    return np.abs(result["balance"].values).max()


def momenta(result):
    """Linear momentum (t, component), summed over the parts that are active."""
    groups = [node.dataset for node in result["part"].children.values()]
    return np.nansum([group["momentum"].values for group in groups], axis=0)


def angular_momenta(result, system, levels):
    """∑ r × ρ v over the undeformed body (t, turn), by the mass matrices of each level and recorded velocities."""
    out = np.zeros((result.sizes["frame"], 3))
    for number in range(len(levels.levels)):
        assembly = assemble(system.at({"body": number}))
        for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
            group = result[f"part/{part.name}"]
            v = group["velocity"].values
            axes = v.shape[2]
            if part.components > axes:
                turns = group["angular_velocity"].values
                v = np.concatenate([v, turns.reshape(*v.shape[:2], -1)], axis=2)
            x = np.pad(part.positions, ((0, 0), (0, 3 - axes)))
            for k in range(3):
                turn = np.zeros((part.node_count, part.components))
                turn[:, :axes] = np.cross(np.eye(3)[k], x)[:, :axes]
                if part.components > axes:
                    turn[:, axes + k] = 1.0
                out[:, k] += np.nan_to_num(v.reshape(len(v), -1) @ (own.mass @ turn.ravel()))
    return out[:, 2:] if axes == 2 else out


def times_of(result):
    return result["levels"]["body"]["level"].values


def bars(choose, cells=(4, 7, 16), hold=0.0, **options):
    """A bar of 1 m with several meshes."""
    parts = [aq.Bar(f"bar {n}", aq.mesh.interval(0.0, 1.0, cells=n), STEEL, **options) for n in cells]
    return aq.Levels("body", [aq.levels.Level([part]) for part in parts], choose, hold=hold)


def plates(choose, **options):
    meshes = [
        aq.mesh.rectangle((0.0, 1.0), (0.0, 0.5), cells=cells, kind=kind)
        for cells, kind in (((3, 2), "quad"), ((6, 4), "quad"), ((10, 7), "tri"))
    ]
    parts = [aq.Solid(f"plate {i}", mesh, STEEL, "stress", **options) for i, mesh in enumerate(meshes)]
    return aq.Levels("body", [aq.levels.Level([part]) for part in parts], choose)


def block(name, cells, span=(0.0, 1.0)):
    return aq.Solid(name, aq.mesh.box(span, (-HALF, HALF), (-HALF, HALF), cells=cells), STEEL)


def beam(name, span, cells, **options):
    return aq.Beam(name, aq.mesh.interval(*span, cells=cells), STEEL, SECTION, dimension=3, up=(0, 1, 0), **options)


def beam_and_solid(choose):
    """A beam, and the same beam with its end glued to a solid."""
    coarse, rest = beam("beam", (0.0, 1.0), 5), beam("rest", (0.0, 0.7), 7)
    end = block("end", (6, 2, 2), (0.4, 1.0))
    glued = aq.levels.Level([rest, end], junctions=[aq.BeamJunction(rest, end)])
    return aq.Levels("body", [aq.levels.Level([coarse]), glued], choose)


def beams_and_solids(choose):
    """A beam, a solid, and a finer solid."""
    parts = beam("beam", (0.0, 1.0), 5), block("solid", (6, 1, 1)), block("finer", (12, 2, 2))
    return aq.Levels("body", [aq.levels.Level([part]) for part in parts], choose)


BODIES = {"bars": bars, "plates": plates, "glued": beam_and_solid, "beam and solids": beams_and_solids}

LAST = {"glued": 1}
EXPLICIT = aq.CentralDifference()
PAIRS = [(body, scheme) for scheme in SCHEMES.values() for body in BODIES] + [("bars", EXPLICIT), ("plates", EXPLICIT)]
PAIR_NAMES = [*(f"{body}-{name}" for name in SCHEMES for body in BODIES), "bars-central", "plates-central"]


def body_of(name, scheme, choose):
    """Of lumped masses for an explicit scheme."""
    return BODIES[name](choose, **({"mass": "lumped"} if scheme is EXPLICIT else {}))


def often(count, wait=2):
    """A level drawn anew every so many steps, by a hash of the time."""

    def function(state):
        n = round(state.time / state.step) // wait
        return ((n + 1) * 2654435761 % 2**32 >> 8) % count

    return aq.levels.StateIndicator(function)


def flying(x):
    """Translation and small rotation: velocities of a rigid motion (n, component)."""
    axes = x.shape[1]
    v = np.tile(np.array([2.0, -3.0, 1.0])[:axes], (len(x), 1))
    if axes == 2:
        v += 5.0 * np.column_stack([-x[:, 1], x[:, 0]])
    if axes == 3:
        v += np.cross((5.0, -3.0, 2.0), x)
    return v


def flight(levels):
    """Velocities of all parts in rigid motion, those of beams with the rotation of their sections."""
    out = {}
    for level in levels.levels:
        for part in level.parts:
            x = part.positions
            v = flying(x)
            if part.components == 6:
                v = np.hstack([v, np.tile((5.0, -3.0, 2.0), (len(x), 1))])
            out[part.name] = v
    return out


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("body", "scheme"), PAIRS, ids=PAIR_NAMES)
def test_free_flight(body, scheme):
    """Every level goes on in the same rigid motion: x(t) = X + v(X) t, and no energy is lost."""
    last = LAST.get(body, 2)
    times = aq.levels.SwitchTimes({2e-6: 1, 4e-6: last, 6e-6: 0, 8e-6: last, 10e-6: 1, 12e-6: 0})
    levels = body_of(body, scheme, times)
    velocity = flight(levels)
    if scheme is EXPLICIT:  # lumped masses have other moments of inertia in each level: the spin changes
        velocity = {name: v[:1] + 0.0 * v for name, v in velocity.items()}
    system = aq.System([], levels=[levels], velocity=velocity)
    result = aq.simulate(system, scheme, duration=14e-6, step=STEP)
    assert set(times_of(result)) == set(range(last + 1))
    time = result["frame_time"].values
    for name, v in velocity.items():
        u = result[f"part/{name}"]["displacement"].values
        active = np.isfinite(u).all(axis=(1, 2))
        assert active.any()
        exact = time[active, None, None] * v[:, : u.shape[2]]
        assert np.abs(u[active] - exact).max() <= 1e-12 * np.abs(v).max() * time[-1]
    kinetic = energy(result, "kinetic")
    assert np.abs(energy(result, "strain")).max() <= 1e-12 * kinetic[0]
    assert np.abs(energy(result, "switch")).max() <= 1e-12 * kinetic[0] + np.ptp(kinetic)
    assert balance(result) <= 1e-12


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("body", "scheme"), PAIRS, ids=PAIR_NAMES)
def test_momenta(body, scheme):
    """A vibrating free body keeps its momenta through switches, and loses no energy but in `switch`."""
    levels = body_of(body, scheme, often(LAST.get(body, 2) + 1))
    start = levels.levels[0].parts[0]
    x = start.positions[:, :1]
    wave = np.zeros((start.node_count, start.components))
    wave[:] = np.cos(np.pi * x) * np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])[: start.components]
    velocity = flight(levels)[start.name] + wave
    system = aq.System([], levels=[levels], velocity={start.name: velocity})
    result = aq.simulate(system, scheme, duration=40e-6, step=STEP)
    assert np.count_nonzero(np.diff(times_of(result))) > 6
    kept = [momenta(result)]
    if body != "bars":
        kept.append(angular_momenta(result, system, levels))
    for values in kept:
        assert np.abs(values - values[0]).max() <= 1e-13 * np.abs(values).max()
    assert balance(result) <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("steps", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_switches(steps):
    """The energy that is there is that of the start less what the ledger names."""
    velocity = lambda x: np.sin(7 * x)  # noqa: E731
    system = aq.System([], levels=[bars(often(3, wait=1))], velocity=velocity)
    with pytest.warns(ModelWarning, match="hold"):
        result = aq.simulate(system, aq.Theta(0.5), duration=steps * STEP, step=STEP)
    assert np.count_nonzero(np.diff(times_of(result))) > 0.6 * steps
    total = energy(result, "kinetic") + energy(result, "strain")
    assert np.abs(total + energy(result, "switch") - total[0]).max() <= 1e-10 * total[0]
    assert balance(result) <= 1e-10


def replaced(level, pressure):
    (part,) = level.parts
    return replace(level, reference={part.name: pressure * part.positions / 2e11})


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_rest_under_a_constant_load(scheme):
    """u = p x/E is in both levels exactly: nothing moves, nothing is lost."""
    pressure = 1e6
    levels = bars(
        aq.levels.SwitchTimes({2e-6: 2, 4e-6: 0, 6e-6: 1, 8e-6: 0}),
        tractions={"right": pressure},
        imposed={"left": {"x": 0.0}},
    )
    levels = replace(levels, levels=[replaced(level, pressure) for level in levels.levels])
    system = aq.System([], levels=[levels], displacement=lambda x: pressure * x / 2e11)
    result = aq.simulate(system, scheme, duration=10e-6, step=STEP)
    stored = energy(result, "strain")
    assert stored[0] == pytest.approx(0.5 * pressure**2 / 2e11, rel=1e-12)
    assert np.abs(stored / stored[0] - 1.0).max() <= 1e-11
    assert np.abs(energy(result, "switch")).max() <= 1e-11 * stored[0]
    assert energy(result, "kinetic").max() <= 1e-12 * stored[0]
    assert balance(result) <= 1e-12


# ---- contact that both levels share, and contact of one level

FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))


def rubbing(choose):
    """Masses that stick elastically, wear, and slide, beside bars whose levels are identical copies."""
    masses = aq.PointMasses(
        "masses", [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)], [1.0] * 3, names={"one": [0], "two": [1], "three": [2]},
        forces={"all": lambda t: (400.0 * np.sin(2e4 * t), -300.0)},
    )  # fmt: skip
    laws = {
        "one": (aq.Penalty(1e8), aq.Coulomb(0.3, stiffness=5e6), None),
        "two": (aq.Unilateral(level="gap"), aq.Coulomb(0.2), aq.Archard(1e-9)),
        "three": (aq.Unilateral(), aq.StaticDynamic(0.4, 0.1), None),
    }
    touches = [
        aq.Interface(name, masses.boundary(name), FLOOR, law, friction=friction, wear=wear)
        for name, (law, friction, wear) in laws.items()
    ]
    levels = bars(choose, cells=(12, 13), imposed={"left": {"x": 0.0}})
    return aq.System([masses], interfaces=touches, levels=[levels], velocity={"masses": (0.1, 0.0)})


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "scheme", [aq.Theta(0.5), aq.Theta(0.6), aq.Newmark()], ids=["theta 0.5", "theta 0.6", "newmark"]
)
def test_shared_contact_keeps_its_history(scheme):
    """Bars at rest are switched beside masses: springs of friction, statuses and depths are those without switches."""
    alone, switched = (
        aq.simulate(rubbing(choose), scheme, duration=2e-4, step=STEP)
        for choose in (aq.levels.SwitchTimes({}), often(2, wait=5))
    )
    assert np.count_nonzero(np.diff(times_of(switched))) > 10
    assert balance(switched) <= 1e-12
    for name in ("one", "two", "three"):
        group = alone[f"interface/{name}"].dataset
        for key, values in group.data_vars.items():
            if values.dtype.kind == "f" and values.size:
                largest = 1.0 if "gap" in key else np.abs(values.values).max()  # m, the distance of the masses
                found = switched[f"interface/{name}"][key].values
                np.testing.assert_allclose(found, values.values, rtol=0, atol=1e-11 * largest, err_msg=f"{name} {key}")
    assert alone["interface/two"]["worn_depth"].values.max() > 0.0
    assert np.abs(alone["interface/one"]["traction"].values).max() > 0.0


def test_depths_stay_while_the_interface_is_away():
    """The fine plate wears only while it is there; between, its depth is kept."""
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    coarse, fine = (
        aq.Solid(name, aq.mesh.rectangle((0.0, 1.0), (0.0, 0.5), cells=cells), STEEL, "stress")
        for name, cells in (("coarse", (2, 1)), ("fine", (4, 2)))
    )
    floor = aq.Interface(
        "floor", fine.boundary("bottom"), plane, aq.Unilateral(), friction=aq.Coulomb(0.1), wear=aq.Archard(1e-9)
    )
    times = {3e-6: 1, 9e-6: 0, 15e-6: 1}
    levels = aq.Levels(
        "body", [aq.levels.Level([coarse]), aq.levels.Level([fine], interfaces=[floor])], aq.levels.SwitchTimes(times)
    )
    system = aq.System([], levels=[levels], velocity=(1.0, -0.01))
    result = aq.simulate(system, aq.Theta(0.5), duration=20e-6, step=STEP)
    volume, depth = (result["interface/floor"][key].values for key in ("worn_volume", "worn_depth"))
    assert balance(result) <= 1e-12
    present = np.flatnonzero(np.isfinite(depth).all(axis=1))
    first, again = present[present <= 9], present[present > 9]
    assert depth[first[-1]].max() > 0.0
    assert (depth[again[0]] >= depth[first[-1]]).all() and depth[again[-1]].max() < 3 * depth[first[-1]].max()
    assert (np.diff(volume[np.isfinite(volume)]) >= 0.0).all() and np.nanmax(volume) > 0.0


def test_the_fine_level_is_there_before_contact():
    """A bar of v = 1 m/s meets a wall 20 µm ahead: at 20 µs; it becomes fine look_ahead and gap before."""
    fine, coarse = (aq.Bar(f"bar {n}", aq.mesh.interval(0.0, 1.0, cells=n), STEEL) for n in (16, 4))
    walls = [
        aq.Interface(f"wall {part.name}", part.boundary("right"), aq.RigidPlane(1.0 + 2e-5, -1.0), aq.Unilateral())
        for part in (coarse, fine)
    ]
    choose = aq.levels.ContactIndicator([wall.name for wall in walls], gap=1e-6, look_ahead=5e-6)
    sets = [aq.levels.Level([part], interfaces=[wall]) for part, wall in zip((coarse, fine), walls, strict=True)]
    levels = aq.Levels("body", sets, choose, hold=5e-5)
    result = aq.simulate(aq.System([], levels=[levels], velocity=1.0), aq.Theta(0.5), duration=6e-4, step=STEP)
    level, time = times_of(result), result["time"].values
    came = time[np.flatnonzero(level)[0]]
    assert came == pytest.approx(20e-6 - 5e-6 - 1e-6, abs=2.1 * STEP)
    force = result["interface/wall bar 16"]["force"].values[:, 0]
    touching = np.flatnonzero(np.nan_to_num(np.abs(force)) > 0.0)
    assert time[touching[0]] > came
    assert not np.nan_to_num(result["interface/wall bar 4"]["force"].values).any()
    # it leaves after 2 L/c, and the coarse level comes back once it is 1 µm away, and hold has gone by
    gone = time[np.flatnonzero(np.diff(level) < 0)]
    assert gone.size == 1 and 2.0 / SPEED + 5e-5 < gone[0] < 2.0 / SPEED + 20e-6 + 1e-4
    assert balance(result) <= 1e-12


# ---- indicators


def test_hold():
    """A coarser level comes once it has been wanted for so long; a finer one at once."""
    wish = aq.levels.StateIndicator(lambda state: int(round(state.time / state.step) % 10 in (0, 4)))
    levels = bars(wish, cells=(4, 8), hold=3e-6)
    result = aq.simulate(aq.System([], levels=[levels], velocity=1.0), aq.Theta(0.5), duration=20e-6, step=STEP)
    # levels of the steps that end at n: wanted at 0, 4, 10, 14; away 3 steps after the last wish
    expected = [n % 10 in (1, 2, 3, 5, 6, 7) for n in range(1, 21)]
    assert times_of(result)[1:].astype(bool).tolist() == expected


def test_a_coarser_level_comes_where_the_indicator_agrees():
    """The fine level always wants the coarse one, that the fine one up to the start of step 10: fine until then.

    A hold of 12 steps, from the first, ends later."""

    def wish(state):
        return int(not state.level and state.time < 9.5 * STEP)

    for hold, last in ((0.0, 10), (3e-6, 10), (12e-6, 12)):
        levels = bars(aq.levels.StateIndicator(wish), cells=(4, 8), hold=hold)
        result = aq.simulate(aq.System([], levels=[levels], velocity=1.0), aq.Theta(0.5), duration=20e-6, step=STEP)
        assert times_of(result)[1:].astype(bool).tolist() == [n <= last for n in range(1, 21)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_a_refused_level_leaves_no_trace(scheme):
    """An indicator that does not agree with itself is asked every step: to the bit the run of the fine level alone."""

    def run(choose):
        wall = aq.Interface("wall", POINT.boundary("all"), aq.RigidPlane(1e-5, -1.0), aq.Penalty(1e8))
        levels = replace(bars(choose, cells=(4, 8)), start=1)
        velocity = {"bar 4": 0.0, "bar 8": lambda x: np.sin(7 * x), "point": 1.0}
        system = aq.System([POINT], interfaces=[wall], levels=[levels], velocity=velocity)
        return aq.simulate(system, scheme, duration=40 * STEP, step=STEP)

    alone, asked = run(aq.levels.SwitchTimes({})), run(aq.levels.StateIndicator(lambda state: 1 - state.level))
    assert (times_of(asked) == 1.0).all()
    np.testing.assert_array_equal(asked["energy"].values, alone["energy"].values)
    for name in ("bar 8", "point"):
        for key in ("displacement", "velocity"):
            np.testing.assert_array_equal(asked[f"part/{name}"][key].values, alone[f"part/{name}"][key].values)


def test_error_indicator():
    """Smooth motion stays coarse, a load that the coarse mesh does not follow calls the fine one."""

    def run(load):
        levels = bars(
            aq.levels.ErrorIndicator(above=1e-2, below=1e-4, every=5), cells=(4, 32), tractions={"right": load}
        )
        return aq.simulate(aq.System([], levels=[levels], velocity=1.0), aq.Theta(0.5), duration=1e-4, step=STEP)

    assert not times_of(run(0.0)).any()
    loaded = run(lambda x, t: 1e8 * (t > 2e-5))
    level, indicator = times_of(loaded), loaded["levels/body"]["indicator"].values
    assert np.isfinite(indicator[1:]).all()
    first = np.flatnonzero(level)[0]
    assert first > 20 and indicator[first] > 1e-2


# ---- other systems


def test_a_patch_inside_a_shared_part():
    """The coarse bar is in both levels, of full weight without the patch: nothing is lost when that comes at rest."""
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 1.0, cells=10), STEEL)
    patch = aq.Bar("patch", aq.mesh.interval(0.3, 0.7, cells=16), STEEL)
    glue = aq.Junction(coarse, patch, zone=aq.zones.Box(0.1))
    levels = aq.Levels(
        "body",
        [aq.levels.Level([]), aq.levels.Level([patch], junctions=[glue])],
        aq.levels.SwitchTimes({5e-6: 1, 2e-5: 0}),
    )
    for velocity, lost in ((3.0, 0.0), ({"coarse": lambda x: 1.0 + np.cos(np.pi * x)}, None)):
        system = aq.System([coarse], levels=[levels], velocity=velocity)
        result = aq.simulate(system, aq.Theta(0.5), duration=3e-5, step=STEP)
        momentum = momenta(result)
        assert np.abs(momentum - momentum[0]).max() <= 1e-12 * np.abs(momentum[0]).max()
        assert balance(result) <= 1e-12
        switch = energy(result, "switch")
        assert np.count_nonzero(np.diff(switch)) in (1, 2) if lost is None else np.abs(switch).max() <= 1e-9


def test_a_modal_level():
    """A reduced bar and the bar itself: in modes that both have, no energy is lost; u = cos(πx) cos(ωt)."""
    part = aq.Bar("whole", aq.mesh.interval(0.0, 1.0, cells=20), STEEL)
    few = aq.Modal(aq.Bar("few", aq.mesh.interval(0.0, 1.0, cells=20), STEEL), 6, detailed=[])
    levels = aq.Levels(
        "body", [aq.levels.Level([few]), aq.levels.Level([part])], aq.levels.SwitchTimes({2e-5: 1, 6e-5: 0, 9e-5: 1})
    )
    system = aq.System([], levels=[levels], velocity=lambda x: np.cos(np.pi * x))
    result = aq.simulate(system, aq.Theta(0.5), duration=2e-4, step=STEP)
    total = energy(result, "kinetic") + energy(result, "strain")
    assert np.abs(energy(result, "switch")).max() <= 2e-3 * total[0]
    assert balance(result) <= 1e-12
    u, t = result["part/whole"]["displacement"].values[:, :, 0], result["frame_time"].values
    omega = np.pi * SPEED
    exact = np.sin(omega * t)[:, None] / omega * np.cos(np.pi * part.positions[:, 0])
    there = np.isfinite(u).all(axis=1)
    assert np.abs(u[there] - exact[there]).max() <= 5e-3 / omega


def test_two_pieces_are_switched_alone():
    """Two free bars, each with levels of its own: each moves as it does without the other."""

    def levels(name, choose):
        parts = [aq.Bar(f"{name} {n}", aq.mesh.interval(0.0, 1.0, cells=n), STEEL) for n in (4, 8)]
        return aq.Levels(name, [aq.levels.Level([part]) for part in parts], choose)

    def run(*names):
        chosen = {
            "a": aq.levels.SwitchTimes({3e-6: 1, 9e-6: 0}),
            "b": aq.levels.SwitchTimes({5e-6: 1, 9e-6: 0, 11e-6: 1}),
        }
        system = aq.System([], levels=[levels(n, chosen[n]) for n in names], velocity=lambda x: np.cos(3 * x))
        return aq.simulate(system, aq.Theta(0.5), duration=15e-6, step=STEP)

    both = run("a", "b")
    lost = 0.0
    for name in ("a", "b"):
        own = run(name)
        lost = lost + energy(own, "switch")
        np.testing.assert_array_equal(own[f"levels/{name}"]["level"].values, both[f"levels/{name}"]["level"].values)
        for n in (4, 8):
            u, alone = (tree[f"part/{name} {n}"]["displacement"].values for tree in (both, own))
            np.testing.assert_allclose(u, alone, rtol=0, atol=1e-12 * np.nanmax(np.abs(alone)))
    np.testing.assert_allclose(energy(both, "switch"), lost, rtol=0, atol=1e-12 * energy(both, "kinetic")[0])
    assert balance(both) <= 1e-12


def many_cells(choose):
    """So many dofs that matrices are sparse."""
    return bars(choose, cells=(150, 300, 600))


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme, body",
    [
        (aq.Theta(0.5), bars), (aq.Theta(0.5), many_cells), (aq.Newmark(), bars),
        (EXPLICIT, partial(bars, mass="lumped")),
    ],
    ids=["theta", "theta sparse", "newmark", "central"],
)  # fmt: skip
def test_resumed_bits(scheme, body, goes_on):
    def simulate(record, progress):
        wall = aq.Interface("wall", POINT.boundary("all"), aq.RigidPlane(1e-5, -1.0), aq.Unilateral(level="gap"))
        levels = body(often(3, wait=3), hold=2e-6) if body is bars else body(often(3, wait=3))
        velocity = dict.fromkeys([level.parts[0].name for level in levels.levels], lambda x: np.sin(7 * x)) | {
            "point": 1.0
        }
        system = aq.System([POINT], interfaces=[wall], levels=[levels], velocity=velocity)
        return aq.simulate(system, scheme, duration=80 * STEP, step=STEP, record=record, progress=progress)

    whole = goes_on(simulate, (20, 60), size=7)
    assert np.count_nonzero(np.diff(times_of(whole))) > 10


@pytest.mark.slow
def test_resumed_bits_of_a_moving_patch(goes_on):
    """A load that runs along a bar, with a patch that follows it there and back."""

    def simulate(record, progress):
        track = aq.Solid("track", aq.mesh.rectangle((0.0, 1.0), (0.0, 0.1), (40, 4)), STEEL, plane="strain")

        def patch(k):
            mesh = aq.mesh.rectangle((0.2 + 0.025 * k, 0.5 + 0.025 * k), (0.0, 0.1), (24, 8))
            fine = aq.Solid("fine", mesh, STEEL, plane="strain")
            return aq.levels.Level([fine], junctions=[aq.Junction(track, fine, zone=aq.zones.Box(width=0.05))])

        follow = aq.levels.MovingPatch("patch", patch, lambda state: 0.1 * np.sin(3e5 * state.time), pitch=0.025)
        moving = {"track": lambda x: np.sin(9 * x), "fine": lambda x: np.sin(9 * x)}
        system = aq.System([track], levels=[follow], velocity=moving)
        return aq.simulate(system, aq.Theta(0.5), duration=2e-5, step=5e-7, record=record, progress=progress)

    whole = goes_on(simulate, (12, 30), size=4)
    assert (np.diff(whole["levels/patch"]["level"].values) < 0.0).any() and balance(whole) <= 1e-12


def test_switch_times_leave_the_steps_between_them_to_one_batch():
    """By hand: 2e-5 s are 20 steps of 1e-6 s; a time within a step counts at the next one."""
    times = aq.levels.SwitchTimes({2e-5: 1, 2.55e-5: 0})
    assert [times.next_look(n, 1e-6) for n in (0, 19, 20, 25)] == [20, 20, 26, 26]
    assert times.next_look(26, 1e-6) > 10**9
    every = aq.levels.StateIndicator(lambda state: 0, every=5)
    assert [every.next_look(n, 1e-6) for n in (0, 4, 5)] == [5, 5, 10]


POINT = aq.PointMasses("point", 0.0, 1.0)


# ---- oracles of physics


def test_a_wave_in_a_bar_that_is_refined():
    """A pulse of pressure p from x = 1: v = p/ρc behind its front; refined at 0.55 L/c it stays sharp."""
    pressure, travel = 1e6, 1.0 / SPEED

    def pulse(x, t):
        return -pressure * np.sin(np.pi * t / (0.5 * travel)) ** 2 * (t < 0.5 * travel)

    def run(choose):
        levels = bars(choose, cells=(40, 160), tractions={"right": pulse})
        return aq.simulate(aq.System([], levels=[levels]), aq.Theta(0.5), duration=0.9 * travel, step=travel / 400)

    def error(result, name):
        part = result[f"part/{name}"]
        x, t = part["position"].values[:, 0], result["frame_time"].values[-1]
        late = t - (1.0 - x) / SPEED
        within = (late > 0.0) & (late < 0.5 * travel)
        exact = -pressure / (7800.0 * SPEED) * np.sin(np.pi * late / (0.5 * travel)) ** 2 * within
        return np.abs(part["velocity"].values[-1, :, 0] - exact).max() / np.abs(exact).max()

    coarse = error(run(aq.levels.SwitchTimes({})), "bar 40")
    switched = run(aq.levels.SwitchTimes({0.55 * travel: 1}))
    refined = error(switched, "bar 160")
    assert refined < 0.03 and refined < coarse
    total = energy(switched, "kinetic")[-1] + energy(switched, "strain")[-1]
    assert np.abs(energy(switched, "switch")[-1]) < 2e-3 * total


def test_a_cantilever_that_becomes_a_solid():
    """First mode of bending, f₁ = 1.8751²/2π √(EI/ρAL⁴): a beam, then a solid, swing on with the same amplitude."""
    length, depth = 1.0, 0.05
    section = aq.Section.rectangle(depth, 1.0, 0.3)
    clamp = {"left": dict.fromkeys(("x", "y", "rz"), 0.0)}
    rod = aq.Beam("rod", aq.mesh.interval(0.0, length, cells=10), STEEL, section, dimension=2, imposed=clamp)
    mesh = aq.mesh.rectangle((0.0, length), (-depth / 2, depth / 2), cells=(40, 4))
    held = {"left": {"x": 0.0, "y": 0.0}}
    solid = aq.Solid("solid", mesh, STEEL, "stress", order=2, imposed=held)
    first = 1.875104**2 * np.sqrt(2e11 * depth**2 / 12.0 / (7800.0 * length**4))
    period = 2 * np.pi / first
    k, sigma = 1.875104, 0.734096

    def mode(x):
        s = k * x / length
        w = np.cosh(s) - np.cos(s) - sigma * (np.sinh(s) - np.sin(s))
        slope = k / length * (np.sinh(s) + np.sin(s) - sigma * (np.cosh(s) - np.cos(s)))
        return np.column_stack([0.0 * s, w, slope]) / 2.0

    choose = aq.levels.SwitchTimes({0.6 * period: 1, 1.7 * period: 0})
    levels = aq.Levels("body", [aq.levels.Level([rod]), aq.levels.Level([solid])], choose)
    start = {"rod": mode(rod.positions[:, 0])}
    system = aq.System([], levels=[levels], velocity=start)
    result = aq.simulate(system, aq.Theta(0.5), duration=2.2 * period, step=period / 200)
    t = result["frame_time"].values
    tips = []
    for part in (rod, solid):
        tip = np.argmin(np.linalg.norm(part.positions - (length, 0.0), axis=1))
        tips.append(result[f"part/{part.name}"]["displacement"].values[:, tip, 1])
    tip = np.where(np.isfinite(tips[0]), tips[0], tips[1])
    exact = np.sin(first * t) / first
    assert np.abs(tip - exact).max() < 0.05 / first
    assert np.abs(energy(result, "switch")).max() < 0.01 * energy(result, "kinetic")[0]
    assert balance(result) <= 1e-10


# ---- bad input


def bar(name, cells=4, end=1.0, **options):
    return aq.Bar(name, aq.mesh.interval(0.0, end, cells=cells), STEEL, **options)


def pair(coarse, fine, choose=None, **options):
    """A system of one body with two levels."""
    choose = choose or aq.levels.SwitchTimes({3e-6: 1})
    return aq.System(
        [], levels=[aq.Levels("body", [aq.levels.Level([coarse]), aq.levels.Level([fine])], choose, **options)]
    )


def good(**options):
    return pair(bar("a", **options), bar("b", 8, **options))


def simulated(system, scheme=aq.Theta(0.5)):  # noqa: B008
    return aq.simulate(system, scheme, duration=1e-5, step=STEP)


def by(function):
    return lambda: simulated(pair(bar("a"), bar("b", 8), aq.levels.StateIndicator(function)))


WRONG = {
    "longer": (lambda: simulated(pair(bar("a"), bar("b", 12, 1.5))), "must cover the same body"),
    "shorter": (lambda: simulated(pair(bar("a"), bar("b", 8, 0.5))), "must cover the same body"),
    "elsewhere": (lambda: simulated(pair(bar("a"), bar("b", 30, 9.0))), "'body'"),
    "fine first": (lambda: simulated(pair(bar("a", 9), bar("b", 4))), "'body'.*'a'"),
    "as fine, not nested": (lambda: simulated(pair(bar("a", 8), bar("b", 7))), "'body'.*coarse|'body'.*'a'"),
    "mass": (lambda: simulated(pair(aq.PointMasses("m", 0.0, 1.0), bar("b"))), "no part of one level covers"),
    "no such level, times": (lambda: pair(bar("a"), bar("b"), aq.levels.SwitchTimes({1.0: 2})), r"= 2: .*\[0, 1\]"),
    "no such level": (by(lambda state: 7), r"level from the function = 7: .*\[0, 1\]"),
    "text": (by(lambda state: "fine"), "level from the function = 'fine'"),
    "nothing": (by(lambda state: None), "level from the function = None"),
    "value": (by(lambda state: (1, "x")), "value from the function = 'x'"),
    "no such interface": (lambda: pair(bar("a"), bar("b"), aq.levels.ContactIndicator(["floor"])), "'floor'"),
    "name at": (lambda: good().at({"bod": 1}), "levels = 'bod': must be one of body"),
    "number at": (lambda: good().at({"body": 2}), r"level of 'body' = 2: .*\[0, 1\]"),
    "list at": (lambda: good().at([1]), "must map names of levels"),
    "same names": (lambda: pair(bar("a"), bar("a", 8)), "'a' stand in several levels"),
    "name of a shared part": (
        lambda: aq.System([bar("a")], levels=good().levels),
        "2 parts of the system and its levels are named 'a'",
    ),
    "same levels": (lambda: aq.System([], levels=[*good().levels, *good().levels]), "2 levels are named 'body'"),
    "one level": (lambda: aq.Levels("body", [aq.levels.Level([bar("a")])], aq.levels.SwitchTimes({})), "at least two"),
    "start": (lambda: pair(bar("a"), bar("b"), start=2), "start = 2"),
    "hold": (lambda: pair(bar("a"), bar("b"), hold=-1.0), "hold = -1"),
    "indicator": (lambda: pair(bar("a"), bar("b"), aq.levels.SwitchTimes), "must be an indicator"),
    "no part": (lambda: aq.levels.Level([3]), "parts = 3"),
    "reference": (
        lambda: aq.System(
            [],
            levels=[
                aq.Levels(
                    "q",
                    [aq.levels.Level([bar("a")], reference={"z": 0.0}), aq.levels.Level([bar("b")])],
                    aq.levels.SwitchTimes({}),
                )
            ],
        ),
        "reference = 'z'",
    ),
    "located events": (lambda: simulated(good(), aq.Theta(0.5, events="locate")), "does not switch levels"),
    "several steps": (lambda: simulated(good(), aq.Multirate(2)), "several time steps"),
    "ensemble": (
        lambda: aq.simulate_ensemble([good(), good()], aq.Theta(0.5), duration=1e-5, step=STEP),
        r"system\.at\(\{'body': 0\}\)",
    ),
    "periodic": (
        lambda: aq.periodic(good(), aq.Theta(0.5), period=1e-5, frequency=(1e4, 2e4)),
        r"system\.at\(\{'body': 0\}\)",
    ),
    "modes": (lambda: aq.natural_frequencies(good(), 3), r"system\.at\(\{'body': 0\}\)"),
}  # fmt: skip


@pytest.mark.sampled(7)
@pytest.mark.parametrize("what", WRONG)
def test_wrong_input(what):
    make, message = WRONG[what]
    with pytest.raises(UserError, match=message) as raised:
        make()
    assert "\n" not in str(raised.value)


def test_restless_levels_are_told_of():
    with pytest.warns(ModelWarning, match=r"levels 'body': 8 switches in .* steps until .*raise hold"):
        system = pair(bar("a"), bar("b", 8), often(2, wait=1))
        aq.simulate(system, aq.Theta(0.5), duration=4e-5, step=STEP)


@pytest.mark.slow
def test_a_sweep_of_systems_with_levels(tmp_path):
    def momentum(cells):
        result = simulated(pair(bar("a"), bar("b", cells)))
        return {"level": times_of(result)[-1]}

    assert (aq.sweep(momentum, {"cells": [8, 12]}, workers=1)["level"].values == 1.0).all()


def test_a_loaded_bar_at_rest():
    """In equilibrium under a load at its end a bar stays so through switches, without a reference: exact by σ L/E."""
    pull = {"right": lambda x, t: 1e8}  # Pa
    bars = [
        aq.Bar(name, aq.mesh.interval(0.0, 1.0, cells), STEEL, tractions=pull, imposed={"left": {"x": 0.0}})
        for name, cells in (("coarse", 4), ("fine", 16))
    ]
    levels = aq.Levels(
        "bar", [aq.levels.Level([bar]) for bar in bars], aq.levels.SwitchTimes({3e-6: 1, 6e-6: 0, 9e-6: 1})
    )
    stretched = {bar.name: 1e8 / STEEL.young * bar.positions for bar in bars}
    system = aq.System([], levels=[levels], displacement=stretched)
    result = aq.simulate(system, aq.Theta(0.5), duration=1.2e-5, step=1e-6)
    assert result["part/fine"]["displacement"].values[-1] == pytest.approx(stretched["fine"], abs=1e-15)
    energy = result["energy"].to_series().unstack()
    assert energy["strain"].to_numpy() == pytest.approx(0.5 * 1e16 / STEEL.young, rel=1e-12)  # ½ σ²/E of 1 m
    assert energy["kinetic"].max() < 1e-16 * energy["strain"].max()


def test_the_transfer_to_an_equal_model_is_exact():
    """Displacements, also under strains and velocities, to round-off."""
    from arlequin.levels.transfer import LevelTransfer

    def model(name):
        block = aq.Solid(name, aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), (2, 2)), STEEL, plane="strain")
        return assemble(aq.System([block], springs=[aq.Spring(f"{name} held", block.boundary("left"), stiffness=1e9)]))

    coarse, fine = model("coarse"), model("fine")
    transfer = LevelTransfer(coarse, fine, "body", (np.zeros(coarse.dof_count), np.zeros(fine.dof_count)))
    for seed in range(3):
        u, v = np.random.default_rng(seed).standard_normal((2, coarse.dof_count))
        for upwards in (True, False):
            for given, moved in zip((u, v), transfer.move(u, v, 0.0, upwards), strict=True):
                assert np.abs(moved - given).max() < 1e-13


def solid(name, cells, kinematics="small", **options):
    soft = aq.LinearElastic(young=1e6, poisson=0.3, density=1000.0)
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.5), (2 * cells, cells))
    return aq.Solid(name, mesh, soft, plane="strain", kinematics=kinematics, **options)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark()])
def test_a_soft_block_that_turns_is_switched_in_any_position(scheme):
    """Momentum and, about the point in space, angular momentum are kept by the switches at 34°, 69° and 86°, and the
    energy to 1e-3: not so if strains, velocities or arms were those of the undeformed body. Newmark's scheme itself
    changes the angular momentum by 1e-5 in a step."""

    def spinning(part):
        x = part.positions - np.array([0.5, 0.25])
        return np.stack([-6.0 * x[:, 1], 6.0 * x[:, 0]], axis=1) + np.array([0.3, 0.1])

    models = [solid("coarse", 2, "finite"), solid("fine", 4, "finite")]
    body = aq.Levels(
        "body", [aq.levels.Level([own]) for own in models], aq.levels.SwitchTimes({0.1: 1, 0.2: 0, 0.25: 1})
    )
    start = {own.name: spinning(own) for own in models}
    result = aq.simulate(aq.System([], levels=[body], velocity=start), scheme, duration=0.3, step=2e-3)
    assert balance(result) < 1e-12
    momentum, angular = momenta(result), 0.0
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * np.abs(momentum).max()
    for own in models:
        mass, (u, v) = assemble(aq.System([own])).mass, (result[f"part/{own.name}"][key].values for key in FIELDS)
        each = (mass @ v.reshape(len(v), -1).T).T.reshape(v.shape)
        x = own.positions + u
        angular = angular + np.nan_to_num((x[..., 0] * each[..., 1] - x[..., 1] * each[..., 0]).sum(axis=1))
    assert np.abs(angular - angular[0]).max() < (1e-10 if scheme == aq.Theta(0.5) else 1e-4) * np.abs(angular).max()
    assert np.abs(energy(result, "switch")).max() < 1e-3 * energy(result, "kinetic")[0]


FIELDS = "displacement", "velocity"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kinematics", ["small", "finite"])
def test_statics_go_on_from_the_equilibrium_of_the_other_model(kinematics):
    """Elastic equilibria know no past: those of each model alone, and the ledger holds what the switch changes."""
    pull = {"right": lambda x, t: np.broadcast_to([[2e4 * t], [1e4 * t]], x.shape)}
    held = {"left": {"x": 0.0, "y": 0.0}}
    models = [solid(name, cells, kinematics, tractions=pull, imposed=held) for name, cells in (("a", 2), ("b", 4))]
    body = aq.Levels("body", [aq.levels.Level([own]) for own in models], aq.levels.SwitchTimes({0.4: 1, 0.7: 0}))
    result = aq.simulate(aq.System([], levels=[body]), aq.Static(), duration=1.0, step=0.1)
    active = result["levels/body"]["level"].values
    for i, own in enumerate(models):
        alone = aq.simulate(aq.System([own]), aq.Static(), duration=1.0, step=0.1)
        u, wanted = (found[f"part/{own.name}/displacement"].values for found in (result, alone))
        there = np.flatnonzero(active == i)
        assert np.abs(u[there] - wanted[there]).max() < 1e-10 * np.abs(wanted).max()
    assert balance(result) < 1e-12
    assert energy(result, "switch")[-1] != 0.0


def test_wear_goes_on_under_the_name_of_another_level():
    """A block that slides: worn depths of the interface of the second level begin where those of the first ended."""
    pieces = []
    for name in ("a", "b"):
        block = solid(name, 2)
        floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
        laws: dict = {"friction": aq.Coulomb(0.1), "wear": aq.Archard(1e-8)}
        pieces.append(
            aq.levels.Level(
                [block], interfaces=[aq.Interface(f"on {name}", block.boundary("bottom"), floor, LAYER, **laws)]
            )
        )
    body = aq.Levels("body", pieces, aq.levels.SwitchTimes({0.02: 1}))
    system = aq.System([], levels=[body], velocity=(2.0, 0.0), gravity=(0.0, -10.0))
    result = aq.simulate(system, aq.Theta(0.5), duration=0.04, step=1e-3)
    before, after = (result[f"interface/on {name}/worn_depth"].values for name in ("a", "b"))
    assert (before[20] > 0.0).all()
    assert (after[21] >= before[20]).all()
    assert (after[21] < 1.3 * before[20]).all()


@pytest.mark.parametrize("turned", [False, True])
def test_feet_of_the_same_laws_go_on_from_those_at_their_own_places(turned):
    """Two masses, each with its own interface, of which one slides faster: the worn depths stay with their places, in
    whichever order the interfaces of the other level stand; a mass that both levels share stays apart."""
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    laws: dict = {"friction": aq.Coulomb(0.1), "wear": aq.Archard(1e-6)}
    pieces, speeds = [], {}
    for name in ("a", "b"):
        masses = [aq.PointMasses(f"{name}{i}", (float(i), 0.0), 1.0) for i in range(2)]
        order = masses[::-1] if turned and name == "b" else masses
        feet = [aq.Interface(f"under {own.name}", own.boundary("all"), floor, LAYER, **laws) for own in order]
        pieces.append(aq.levels.Level(masses, interfaces=feet))
        speeds |= {f"{name}0": (1.0, 0.0), f"{name}1": (3.0, 0.0)}
    beside = aq.PointMasses("beside", (0.0, 0.0), 5.0)
    body = aq.Levels("body", pieces, aq.levels.SwitchTimes({0.02: 1}))
    system = aq.System([beside], levels=[body], velocity=speeds, gravity=(0.0, -10.0))
    result = aq.simulate(system, aq.Theta(0.5), duration=0.04, step=1e-3)
    for i, speed in enumerate((1.0, 3.0)):
        before, after = (result[f"interface/under {name}{i}/worn_depth"].values for name in ("a", "b"))
        assert 0.0 < before[20, 0] <= after[21, 0] < 1.3 * before[20, 0]
        assert result[f"part/b{i}/velocity"].values[21, 0, 0] == pytest.approx(speed, rel=0.05)


LAYER = aq.Asperities(stiffness=1e6)
