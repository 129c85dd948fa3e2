"""Located events under static and dynamic friction, against closed forms and an event-driven integration."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq
from arlequin.cases import sdnd106

LOCATE = aq.Theta(0.5, events="locate")
FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))


def on_floor(friction, masses=(1.0,), **more):
    """Masses in a row, each on the floor."""
    row = aq.PointMasses(
        "row", [(float(i), 0.0) for i in range(len(masses))], masses, names={str(i): i for i in range(len(masses))},
        **more,
    )  # fmt: skip
    return row, aq.Interface("floor", row.boundary("all"), FLOOR, aq.Unilateral(level="velocity"), friction=friction)


def events(result):
    found = result["event_time"].values
    return found[np.isfinite(found)]


def positions(result, part="row"):
    return result[f"part/{part}"].dataset["displacement"].values[:, :, 0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(5))
def test_pulled_masses_of_any_data(seed):
    random = np.random.default_rng(seed)
    static = random.uniform(0.2, 0.6)
    parameters = sdnd106.Parameters(
        first=random.uniform(2.0, 8.0), second=random.uniform(2.0, 8.0), stiffness=random.uniform(5e3, 2e4),
        normal=random.uniform(5e3, 1.5e4), pull=random.uniform(2e3, 5e3), release=random.uniform(0.05, 0.2),
        static=static, dynamic=static * random.uniform(0.3, 1.0), steps=3000,
    )  # fmt: skip
    exact, result = sdnd106.reference(parameters), sdnd106.build(parameters).run()
    time = result["time"].values
    places = exact.positions(time)
    assert np.abs(positions(result, "masses") - places).max() <= 1e-9 * np.abs(places).max()
    found = [event.time for event in exact.events(time[-1])]
    np.testing.assert_allclose(events(result), found, rtol=0.0, atol=1e-9)
    assert np.abs(result["balance"]).max() <= 1e-12
    lost = result["energy"].sel(kind="friction").values[-1]
    assert lost == pytest.approx(exact.friction_loss(time[-1]), rel=1e-8, abs=1e-9)


def shaken(friction, locate=LOCATE):
    row, contact = on_floor(friction, (1.0, 2.0))
    spring = aq.Spring("spring", row.boundary("0"), row.boundary("1"), stiffness=(300.0, 0.0))
    system = aq.System(
        [row], springs=[spring], interfaces=[contact], gravity=lambda t: (6.0 * np.sin(40.0 * t), -10.0)
    )  # fmt: skip
    return aq.simulate(system, locate, duration=1.0, step=1e-3)


def test_equal_coefficients_are_coulomb_s_law():
    """To the last bit."""
    coulomb, equal = shaken(aq.Coulomb(0.25)), shaken(aq.StaticDynamic(0.25, 0.25))
    assert events(coulomb).size > 10
    for path, node in coulomb.subtree_with_keys:
        for name, array in node.dataset.data_vars.items():
            np.testing.assert_array_equal(array.values, equal[path][name].values, err_msg=f"{path}/{name}")


@pytest.mark.parametrize(("static", "swings"), [(0.1, 4), (0.35, 3), (0.5, 2), (0.7, 1), (1.0, 0)])
def test_slider_rests_where_static_friction_holds_it(static, swings):
    """Each half swing takes 2 μ_d m g/k = 0.2 mm; it stays where k|x| ≤ μ_s m g, μ_s times 1 mm."""
    row, contact = on_floor(aq.StaticDynamic(static, 0.1))
    spring = aq.Spring("spring", row.boundary("all"), stiffness=(1e4, 0.0))
    system = aq.System([row], springs=[spring], interfaces=[contact], gravity=(0.0, -10.0), displacement=(8.5e-4, 0.0))
    result = aq.simulate(system, LOCATE, duration=0.2, step=2e-4)
    turns = np.array([8.5e-4 - 2e-4 * n for n in range(5)]) * (-1.0) ** np.arange(5)
    assert positions(result)[-1, 0] == pytest.approx(turns[swings], abs=1e-12)
    np.testing.assert_allclose(events(result), np.arange(1, swings + 1) * np.pi / 100, rtol=1e-7)
    lost = result["energy"].sel(kind="friction").values[-1]
    assert lost == pytest.approx(np.abs(np.diff(turns[: swings + 1])).sum(), rel=1e-9, abs=1e-18)


def test_masses_tied_together_are_set_free_together():
    """They hold each other up to μ_s (m₁ + m₂) g = 9 N of 10 N/s t, and then slip as one under μ_d (m₁ + m₂) g."""
    row, contact = on_floor(aq.StaticDynamic(0.3, 0.1), (1.0, 2.0), forces={"0": lambda t: (10.0 * t, 0.0)})
    tie = aq.Relation("tie", [(row.boundary("0"), "x", 1.0), (row.boundary("1"), "x", -1.0)])
    system = aq.System([row], relations=[tie], interfaces=[contact], gravity=(0.0, -10.0))
    result = aq.simulate(system, LOCATE, duration=1.5, step=1e-2)
    np.testing.assert_allclose(events(result), [0.9], rtol=1e-9)
    late = 0.6  # m ẍ = 9 + 10 s − 3
    np.testing.assert_allclose(positions(result)[-1], (6.0 * late**2 / 2 + 10.0 * late**3 / 6) / 3.0, rtol=1e-9)


def test_box_on_two_corners():
    """A box of two corners, pushed by gravity that grows sideways: one threshold, one slip, no rotation."""
    box = aq.RigidBody(
        "box", [(-1.0, 0.0), (1.0, 0.0), (0.0, 0.4)], mass=2.0, inertia=1.0, centre=(0.0, 0.2), names={"feet": [0, 1]}
    )
    contact = aq.Interface("floor", box.boundary("feet"), FLOOR, aq.Unilateral(), friction=aq.StaticDynamic(0.3, 0.2))
    system = aq.System([box], interfaces=[contact], gravity=lambda t: (5.0 * t, -10.0))
    result = aq.simulate(system, LOCATE, duration=1.0, step=1e-2)
    np.testing.assert_allclose(events(result), [0.6], rtol=1e-9)
    part = result["part/box"].dataset
    assert np.abs(part["angle"].values).max() < 1e-12
    moved = part["displacement"].values[-1, :, 0]  # ẍ = 3 + 5 s − 2
    np.testing.assert_allclose(moved, 0.4**2 / 2 + 5.0 * 0.4**3 / 6, rtol=1e-9)
    assert np.abs(result["balance"]).max() < 1e-12


MASSES, STIFF, NORMAL = np.array([1.0, 2.0, 1.5]), 200.0, 10.0
LAW = {"static": 0.5, "dynamic": 0.3}


def pull(t):
    return 20.0 * np.sin(2.0 * t)


def integrated(end):
    """Event-driven: positions of three blocks in a row at the end, and the instants."""
    bound, drag = LAW["static"] * NORMAL * MASSES, LAW["dynamic"] * NORMAL * MASSES

    def forces(t, x):
        stretched = STIFF * np.diff(x)
        return np.append(stretched, pull(t)) - np.append(0.0, stretched)

    def phase(time, state, sense):
        """Up to the first change of one of the blocks."""

        def rates(t, s):
            rate = np.where(sense != 0.0, (forces(t, s[:3]) - sense * drag) / MASSES, 0.0)
            return np.concatenate([s[3:], rate])

        def event(k):
            def change(t, s):
                return s[3 + k] * sense[k] if sense[k] else bound[k] - abs(forces(t, s[:3])[k])

            change.terminal, change.direction = True, -1.0
            return change

        return solve_ivp(
            rates, (time, end), state, method="DOP853", rtol=1e-11, atol=1e-13, max_step=5e-3,
            events=[event(k) for k in range(3)],
        )  # fmt: skip

    state, sense, time, found = np.zeros(6), np.zeros(3), 0.0, []
    while time < end:
        done = phase(time, state, sense)
        time, state, sense = done.t[-1], done.y[:, -1].copy(), sense.copy()
        for k in range(3):
            if done.t_events[k].size:
                pulled = forces(time, state[:3])[k]
                held = sense[k] != 0.0 and abs(pulled) <= bound[k]
                sense[k], state[3 + k] = (0.0 if held else np.sign(pulled)), 0.0
                found.append(time)
    return state[:3], found


def test_three_blocks_set_each_other_free():
    row, contact = on_floor(aq.StaticDynamic(**LAW), MASSES, forces={"2": lambda t: (pull(t), 0.0)})
    springs = [
        aq.Spring(f"s{i}", row.boundary(str(i)), row.boundary(str(i + 1)), stiffness=(STIFF, 0.0)) for i in range(2)
    ]
    system = aq.System([row], springs=springs, interfaces=[contact], gravity=(0.0, -NORMAL))
    result = aq.simulate(system, LOCATE, duration=4.0, step=5e-4)
    places, found = integrated(4.0)
    assert len(found) > 8
    np.testing.assert_allclose(events(result), found, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(positions(result)[-1], places, rtol=0.0, atol=1e-8)
    assert np.abs(result["balance"]).max() < 1e-12
    assert np.diff(result["energy"].sel(kind="friction").values).min() >= -1e-15
    contact = result["interface/floor"].dataset
    force = np.abs(contact["traction"].values[:, :, 0])
    assert (force <= LAW["static"] * contact["pressure"].values * (1.0 + 1e-12)).all()


def test_an_impact_slips_under_dynamic_friction():
    """It lands at (v_x, −v_y): the impulse of friction is μ_d m v_y, and a slower one stops it."""
    for speed, left in ((1.0, 1.0 - 0.2 * 3.0), (0.5, 0.0)):
        row, contact = on_floor(aq.StaticDynamic(0.4, 0.2))
        system = aq.System([row], interfaces=[contact], displacement=(0.0, 0.01), velocity=(speed, -3.0))
        result = aq.simulate(system, LOCATE, duration=0.01, step=1e-3)
        assert result["part/row"].dataset["velocity"].values[-1, 0, 0] == pytest.approx(left, abs=1e-12)


def switched(force, duration, step):
    one = aq.PointMasses("m", 0.0, 2.0, forces={"all": force})
    result = aq.simulate(aq.System([one]), LOCATE, duration=duration, step=step)
    return result["part/m"].dataset["displacement"].values[-1, 0, 0], result["balance"].values


@pytest.mark.parametrize("end", ["at", "before"])
def test_a_load_may_jump_at_the_end_of_a_step(end):
    """A force of 3 N that begins at 0 and ends at 0.3 s, whatever its value at these instants."""
    on = (lambda t: t <= 0.3) if end == "at" else (lambda t: 0.0 < t < 0.3)
    for step in (0.1, 0.01):
        moved, balance = switched(lambda t: 3.0 if on(t) else 0.0, 0.7, step)
        assert moved == pytest.approx(1.5 * (0.3**2 / 2 + 0.3 * 0.4), rel=1e-13)
        assert np.abs(balance).max() < 1e-13


def test_smooth_loads_do_not_jump():
    """Order 4, also where they pass zero at the ends of steps."""
    force = np.polynomial.Polynomial([0.0, 0.02, -0.3, 1.0]) * 1e3  # zero at 0, 0.1 and 0.2
    errors = [abs(switched(force, 0.4, step)[0] - 0.5 * force.integ(2)(0.4)) for step in (0.1, 0.05)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.01)


def test_refusals():
    for law, name in (
        (aq.Stribeck(0.4, 0.2, 0.1), "Stribeck"),
        (aq.StaticDynamic(0.4, 0.2, slip_distance=1e-3), "StaticDynamic"),
        (aq.StaticDynamic(0.4, 0.2, velocity=0.1), "StaticDynamic"),
    ):
        row, contact = on_floor(law)
        with pytest.raises(aq.UserError, match=f'events="locate": the coefficient of {name} varies with the motion'):
            aq.simulate(aq.System([row], interfaces=[contact]), LOCATE, duration=0.1, step=0.01)
    with pytest.raises(aq.UserError, match=r"dynamic = 0\.3: must be at most the static coefficient"):
        aq.StaticDynamic(0.2, 0.3)


def test_leaning_rods_go_on_from_any_start():
    """Also in Painlevé's range, where a slip jams: energy is balanced, and friction and impacts only take."""
    random, mass, length = np.random.default_rng(3), 2.0, 1.0
    for _ in range(15):
        angle, dynamic = random.uniform(0.3, 2.8), random.uniform(0.3, 2.5)
        arm = 0.5 * length * np.array([np.cos(angle), np.sin(angle)])
        across = 0.01 * length * np.array([-np.sin(angle), np.cos(angle)])
        body = aq.RigidBody(
            "rod", [(0.0, 0.0), tuple(2.0 * arm - across), tuple(2.0 * arm + across)], mass=mass,
            inertia=mass * length**2 / 12.0, centre=tuple(arm), names={"tip": [0]},
        )  # fmt: skip
        law = aq.StaticDynamic(dynamic * random.uniform(1.0, 2.0), dynamic)
        contact = aq.Interface("floor", body.boundary("tip"), FLOOR, aq.Unilateral(), friction=law)
        speed, spin = random.uniform(-2.0, 2.0, 2)

        def field(x, speed=speed, spin=spin):
            return np.stack([speed - spin * x[:, 1], spin * x[:, 0]], axis=1)

        system = aq.System([body], interfaces=[contact], gravity=(0.0, -9.81), velocity=field)
        result = aq.simulate(system, LOCATE, duration=0.15, step=1e-3)
        energy = result["energy"]
        assert np.abs(result["balance"]).max() < 1e-12
        assert np.diff(energy.sel(kind="friction")).min() > -1e-12 and np.diff(energy.sel(kind="impact")).min() > -1e-12
        own = result["interface/floor"].dataset
        normal, along = own["force"].values[:, 1], np.abs(own["force"].values[:, 0])
        assert (along <= law.static * normal * (1.0 + 1e-9) + 1e-12).all()
