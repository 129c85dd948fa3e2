"""Point masses, springs, dashpots, relations and gravity against closed forms."""

import numpy as np
import pytest

import arlequin as aq


def masses(name="m", positions=(0.0,), mass=2.0, **more):
    return aq.PointMasses(name, np.atleast_1d(positions)[:, None], mass, **more)


def run(system, duration, step, scheme=None):
    return aq.simulate(system, scheme or aq.Theta(0.5), duration=duration, step=step)


def path(result, part="m"):
    return result[f"part/{part}"].dataset["displacement"].values[:, :, 0]


SCHEMES = [
    aq.Theta(0.5),
    aq.Newmark(),
    aq.HHT(),
    aq.GeneralisedAlpha.with_radius(0.8),
    aq.Midpoint(),
    aq.CentralDifference(),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)
def test_damped_oscillator(scheme):
    m, k, c, start = 2.0, 800.0, 4.0, 1e-3
    one = masses(mass=m)
    spring = aq.Spring("s", one.boundary("all"), stiffness=k, damping=c)
    errors = []
    for step in (2e-3, 1e-3):
        result = run(aq.System([one], springs=[spring], displacement=start), 0.4, step, scheme)
        t = result["time"].values
        decay, omega = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)
        exact = start * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
        errors.append(np.abs(path(result)[:, 0] - exact).max() / start)
        lost = result["energy"].sel(kind="damping").values
        assert (np.diff(lost) >= 0.0).all()
        assert np.abs(result["balance"]).max() < 1e-12
    # central differences take the damping half a step late
    order = 1 if isinstance(scheme, aq.CentralDifference) else 2
    assert errors[1] < 0.02
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_two_masses_swing_in_their_modes():
    """m ü = −k (2u₁ − u₂), −k (2u₂ − u₁): ω² = k/m together, 3k/m against each other."""
    m, k = 0.5, 200.0
    two = masses(positions=(0.0, 1.0), mass=m, names={"first": 0, "second": 1})
    springs = [
        aq.Spring("ground", two.boundary("first"), stiffness=k),
        aq.Spring("between", two.boundary("first"), two.boundary("second"), stiffness=k),
        aq.Spring("other ground", two.boundary("second"), stiffness=k),
    ]
    for shape, square in (((1.0, 1.0), k / m), ((1.0, -1.0), 3 * k / m)):
        start = 1e-3 * np.array(shape)[:, None]
        result = run(aq.System([two], springs=springs, displacement={"m": start}), 0.2, 1e-4)
        t = result["time"].values
        np.testing.assert_allclose(path(result), start.T * np.cos(np.sqrt(square) * t)[:, None], atol=2e-7)


def test_chain_frequencies():
    """n masses between walls: ω_j = 2 √(k/m) sin(π j/(2 (n + 1)))."""
    m, k, count = 0.5, 200.0, 20
    part = masses(positions=np.arange(count), mass=m, names={str(i): i for i in range(count)})
    springs = [aq.Spring(f"wall {i}", part.boundary(str(i)), stiffness=k) for i in (0, count - 1)]
    for i in range(count - 1):
        springs.append(aq.Spring(f"s{i}", part.boundary(str(i)), part.boundary(str(i + 1)), stiffness=k))
    modes = aq.natural_frequencies(aq.System([part], springs=springs), 3)
    exact = 2 * np.sqrt(k / m) * np.sin(np.pi * np.arange(1, 4) / (2 * (count + 1))) / (2 * np.pi)
    np.testing.assert_allclose(modes.frequencies, exact, rtol=1e-10)


def test_free_fall():
    one = aq.PointMasses("m", (0.0, 0.0), 3.0)
    result = run(aq.System([one], gravity=(0.0, -9.81), velocity=(2.0, 5.0)), 1.0, 1e-2)
    t = result["time"].values
    moved = result["part/m"].dataset["displacement"].values[:, 0]
    np.testing.assert_allclose(moved, np.stack([2.0 * t, 5.0 * t - 9.81 * t**2 / 2], axis=1), atol=1e-13)
    work = result["energy"].sel(kind="external_work").values
    np.testing.assert_allclose(work, -3.0 * 9.81 * moved[:, 1], atol=1e-11)


def test_gravity_weighs_a_solid():
    """The reaction of a clamped bar under its weight: u′ = ρ g (L − x)/E."""
    steel = aq.LinearElastic(young=2e11, density=7800.0)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 2.0, cells=8), steel, imposed={"left": {"x": 0.0}})
    result = aq.simulate(aq.System([bar], gravity=lambda t: 9.81 * t), aq.Static(), duration=1.0, step=1.0)
    x = bar.positions[:, 0]
    exact = 7800.0 * 9.81 / 2e11 * (2.0 * x - x**2 / 2)
    np.testing.assert_allclose(path(result, "bar")[-1], exact, rtol=1e-12, atol=1e-18)


def test_relation_of_a_pulley():
    """u₁ + 2 u₂ = 0 under gravity: a₁ = g (m₁ − m₂/2)/(m₁ + m₂/4)."""
    first, second, g = 3.0, 4.0, 9.81
    two = masses(positions=(0.0, 1.0), mass=(first, second), names={"a": 0, "b": 1})
    pulley = aq.Relation("pulley", [(two.boundary("a"), "x", 1.0), (two.boundary("b"), "x", 2.0)])
    result = run(aq.System([two], relations=[pulley], gravity=g), 1.0, 1e-2)
    t = result["time"].values
    exact = g * (first - second / 2) / (first + second / 4) * t**2 / 2
    np.testing.assert_allclose(path(result)[:, 0], exact, atol=1e-12)
    np.testing.assert_allclose(path(result)[:, 1], -exact / 2, atol=1e-12)
    assert np.abs(result["energy"].sel(kind="junction")).max() < 1e-12


def test_platen_moves_a_face():
    """A face tied to one mass: a block under the mass's weight, u(L) = m g L/(E A)."""
    soft = aq.LinearElastic(young=1e6, density=1.0)
    block = aq.Solid(
        "block", aq.mesh.rectangle((0.0, 0.2), (0.0, 0.5), cells=(4, 5)), soft, plane="stress",
        imposed={"bottom": {"y": 0.0}, "left": {"x": 0.0}},
    )  # fmt: skip
    mass = aq.PointMasses(
        "mass", (0.1, 0.5), 8.0, imposed={"all": {"x": 0.0}}, forces={"all": lambda t: (0.0, -80.0 * t)}
    )
    platen = aq.Relation("platen", [(block.boundary("top"), "y", 1.0), (mass.boundary("all"), "y", -1.0)])
    result = aq.simulate(aq.System([block, mass], relations=[platen]), aq.Static(), duration=1.0, step=1.0)
    down = result["part/mass"].dataset["displacement"].values[-1, 0, 1]
    assert down == pytest.approx(-80.0 * 0.5 / (1e6 * 0.2), rel=1e-10)


def test_springs_share_a_face():
    """A rigid push on a block held by springs on its face: total force k u, uniform over the face."""
    stiff = aq.LinearElastic(young=1e9, density=1.0)
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.4), cells=(5, 4))
    block = aq.Solid(
        "block", mesh, stiff, plane="strain", imposed={"left": {"x": lambda t: 1e-3 * t}, "bottom": {"y": 0.0}}
    )
    spring = aq.Spring("bed", block.boundary("right"), stiffness=5e4, direction=(1.0, 0.0))
    result = aq.simulate(aq.System([block], springs=[spring]), aq.Static(), duration=1.0, step=1.0)
    group = result["spring/bed"].dataset
    # in series with the block: k E*/(E* A/L + k), E* of plane strain with ν = 0
    k, body = 5e4, 1e9 * 0.4
    assert group["force"].values[-1, 0] == pytest.approx(-1e-3 * k * body / (k + body), rel=1e-10)
    assert group["elongation"].values[-1, 0] == pytest.approx(1e-3 * body / (k + body), rel=1e-10)


def test_support_in_both_frames():
    """A support that moves as s(t), and its frame, in which gravity is −s̈(t), give the same relative motion."""
    m, k, amplitude, omega = 1.0, 400.0, 1e-3, 15.0
    body, ground = (
        masses(mass=m),
        masses("ground", mass=1.0, imposed={"all": {"x": lambda t: amplitude * np.sin(omega * t)}}),
    )
    spring = aq.Spring("s", body.boundary("all"), ground.boundary("all"), stiffness=k)
    absolute = run(aq.System([body, ground], springs=[spring]), 1.0, 1e-3)
    alone = masses(mass=m)
    held = aq.Spring("s", alone.boundary("all"), stiffness=k)
    shaken = aq.System(
        [alone], springs=[held], gravity=lambda t: amplitude * omega**2 * np.sin(omega * t), velocity=-amplitude * omega
    )
    relative = run(shaken, 1.0, 1e-3)
    # exact: u¨ + k/m u = a ω² sin ωt from u(0) = 0, u˙(0) = −a ω
    own = np.sqrt(k / m)
    t, forced = relative["time"].values, amplitude * omega**2 / (k / m - omega**2)
    exact = forced * np.sin(omega * t) + (-amplitude * omega - forced * omega) / own * np.sin(own * t)
    np.testing.assert_allclose(path(relative)[:, 0], exact, atol=5e-3 * np.abs(exact).max())
    seen = path(absolute)[:, 0] - path(absolute, "ground")[:, 0]
    np.testing.assert_allclose(seen, exact, atol=5e-3 * np.abs(exact).max())
    assert np.abs(absolute["balance"]).max() < 1e-11


def test_central_difference_knows_the_springs():
    m, k = 2.0, 800.0
    two = masses(positions=(0.0, 1.0), mass=m, names={"a": 0, "b": 1})
    spring = aq.Spring("s", two.boundary("a"), two.boundary("b"), stiffness=k)
    limit = 2.0 / np.sqrt(2 * k / m)  # ω² = k (1/m + 1/m)
    system = aq.System([two], springs=[spring], displacement={"m": np.array([[1e-3], [0.0]])})
    kept = run(system, 200 * limit, 0.99 * limit, aq.CentralDifference())
    assert np.abs(path(kept)).max() < 1e-2
    with pytest.raises(aq.UserError, match="must be below the central-difference limit"):
        run(system, 1.0, 1.01 * limit, aq.CentralDifference())


ONE = aq.PointMasses("one", (0.0, 0.0), 1.0)
FACE = aq.Solid("s", aq.mesh.rectangle((0, 1), (0, 1), cells=(2, 2)), aq.LinearElastic(1.0), plane="strain")


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: aq.PointMasses("p", (0.0,), -1.0), "mass = -1.0: must be positive"),
        (lambda: aq.PointMasses("p", (0.0,), 1.0, names={"a": 3}), r"names\['a'\] = 3: must be whole"),
        (lambda: ONE.boundary("left"), r"no boundary is named 'left' \(boundaries: all\)"),
        (lambda: aq.PointMasses("p", (0.0, 0.0), 1.0, forces={"all": (1.0,)}), "must have 2 components"),
        (lambda: aq.Spring("s", ONE.boundary("all")), "needs a stiffness or a damping above 0"),
        (lambda: aq.Spring("s", ONE.boundary("all"), stiffness=-2.0), "stiffness = -2.0: must not be negative"),
        (lambda: aq.Spring("s", ONE, stiffness=1.0), r"must be a part.boundary\(\"name\"\)"),
        (lambda: aq.Spring("s", ONE.boundary("all"), stiffness=1.0, direction=(0.0, 0.0)), "must not be zero"),
        (lambda: aq.Spring("s", ONE.boundary("all"), FACE.boundary("top"), stiffness=1.0), "the second end must"),
        (lambda: aq.Relation("r", []), "needs at least one term"),
        (lambda: aq.Relation("r", [(ONE.boundary("all"), "rz", 1.0)]), "component = 'rz'"),
        (lambda: aq.System([ONE], springs=[aq.Spring("s", FACE.boundary("top"), stiffness=1.0)]), "refers to part 's'"),
        (lambda: aq.System([ONE], gravity=(0.0, np.nan)), "gravity"),
        (lambda: aq.System([ONE], gravity=9.81), "gravity"),
    ],
)  # fmt: skip
def test_bad_input(make, message):
    with pytest.raises(aq.UserError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
