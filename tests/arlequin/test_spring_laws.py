"""Springs with a law against closed forms, SciPy's integration, located events and conservation."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import arlequin as aq
from arlequin.multilevel.laws.signature import HISTORY
from arlequin.sensitivity.gradient import gradient

LAWS = {
    "table": aq.springs.Table([-1e-3, 0.0, 1e-3, 3e-3], [-1.0, 0.0, 1.0, 2.5]),
    "bilinear": aq.springs.Bilinear(1000.0, 300.0, 2e-3),
    "backlash": aq.springs.Backlash(1e4, gap=1e-3),
    "cubic": aq.springs.Cubic(1000.0, quadratic=3e3, cubic=1e6, travel=0.05),
}
IWAN = aq.springs.Iwan([800.0, 500.0, 300.0], [0.3, 0.6, 1.2], residual=100.0)
BOUC = aq.springs.BoucWen(1000.0, ratio=0.1, beta=600.0, gamma=400.0)
NARROW = aq.springs.BoucWen(1000.0, ratio=0.05, beta=6e5, gamma=-4e5, exponent=2.0)
HYSTERETIC = {"Iwan": IWAN, "Bouc-Wen": BOUC, "Bouc-Wen, gamma < 0": NARROW}
CONSERVING = [aq.Theta(0.5), aq.Newmark(), aq.Midpoint()]


def oscillator(law, force=None, velocity=0.3, **more):
    mass = aq.PointMasses("m", 0.0, 2.0, forces={} if force is None else {"all": force})
    spring = aq.Spring("s", mass.boundary("all"), law=law, **more)
    return aq.System([mass], springs=[spring], velocity=velocity)


def kinds(result):
    return {str(kind): result["energy"].sel(kind=kind).values for kind in result["energy"]["kind"].values}


def path(law, path_of, **more):
    """Statics along an imposed path of the end of the spring."""
    mass = aq.PointMasses("m", 0.0, 1.0, imposed={"all": {"x": path_of}})
    system = aq.System([mass], springs=[aq.Spring("s", mass.boundary("all"), law=law)])
    return aq.simulate(system, aq.Static(), **more)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_force_is_the_slope_of_the_energy(law):
    e, h = np.linspace(-4.05e-3, 4.05e-3, 31), 1e-7
    slope = (law.energy(e + h) - law.energy(e - h)) / (2.0 * h)
    np.testing.assert_allclose(slope, law.force(e), rtol=1e-6, atol=1e-6)
    assert law.energy(0.0) == 0.0


@pytest.mark.parametrize("law", [*LAWS.values(), *HYSTERETIC.values()], ids=[*LAWS, *HYSTERETIC])
@pytest.mark.parametrize("theta", [0.0, 0.5, 0.7, 1.0])
def test_kernels_are_the_slopes_of_their_tractions(law, theta):
    """Differences of the mean tractions; at 1/2 their work on random paths is the stored energy and a loss ≥ 0."""
    rng = np.random.default_rng(3)
    for branch in law.branches:
        kernel, constants = branch.kernel(), branch.coefficients()
        history = np.zeros(HISTORY)
        for end in rng.uniform(-4e-3, 4e-3, 40):
            trial, h = history.copy(), 1e-9
            values = kernel(constants, history, end, 1.0, theta, trial)
            near = [kernel(constants, history, end + s * h, 1.0, theta, np.zeros(HISTORY)) for s in (1.0, -1.0)]
            for i in (0, 2):
                slope = (near[0][i] - near[1][i]) / (2.0 * h)
                assert values[i + 1] == pytest.approx(slope, rel=1e-7, abs=3e-6)
            width = end - history[0]
            assert values[2] * width <= 1e-18
            if theta == 0.5:
                ends = [float(branch.energy(g[:1])[0] + branch.stored(g)) for g in (history, trial)]
                assert -values[0] * width == pytest.approx(ends[1] - ends[0], rel=1e-11, abs=1e-16)
            history = trial


@pytest.mark.parametrize("scheme", CONSERVING, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_elastic_laws_keep_the_energy(law, scheme):
    result = aq.simulate(oscillator(law), scheme, duration=0.3, step=1e-3)
    energy = kinds(result)
    total = energy["kinetic"] + energy["strain"] + energy["asperity"]
    assert np.abs(total / total[0] - 1.0).max() < 1e-12
    assert np.abs(energy["scheme"]).max() < 1e-12 * total[0]
    np.testing.assert_allclose(energy["asperity"], law.energy(result["spring/s/elongation"].values[:, 0]), atol=1e-16)
    np.testing.assert_allclose(
        -result["spring/s/force"].values[:, 0], law.force(result["spring/s/elongation"].values[:, 0]), atol=1e-10
    )


@pytest.mark.parametrize("scheme", CONSERVING, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("law", HYSTERETIC.values(), ids=HYSTERETIC)
def test_losses_of_hysteresis_grow_and_the_balance_closes(law, scheme):
    result = aq.simulate(oscillator(law, lambda t: 2.5 * np.sin(12.0 * t), 0.05), scheme, duration=1.0, step=1e-3)
    energy = kinds(result)
    assert energy["asperity_damping"][-1] > 1e-3
    assert np.diff(energy["asperity_damping"]).min() >= 0.0
    assert np.abs(energy["scheme"]).max() < 1e-12 * energy["kinetic"].max()
    assert np.abs(result["balance"].values).max() < 1e-12


def gap_oscillator(gap, stiffness, mass, velocity, times):
    """Located motion of a mass with play: free flight and half circles of the stops, from u = 0."""
    omega = np.sqrt(stiffness / mass)
    flight, dwell = 2.0 * gap / velocity, np.pi / omega
    phase = np.mod(times + 0.5 * flight, 2.0 * (flight + dwell))
    side = np.where(phase < flight + dwell, 1.0, -1.0)
    within = np.where(phase < flight + dwell, phase, phase - flight - dwell)
    inside = -gap + velocity * within
    beyond = gap + velocity / omega * np.sin(omega * (within - flight))
    return side * np.where(within < flight, inside, beyond)


@pytest.mark.parametrize("scheme", [*CONSERVING, aq.CentralDifference()], ids=lambda s: type(s).__name__)
def test_backlash_against_the_located_motion(scheme):
    errors = []
    for step in (4e-4, 2e-4):
        result = aq.simulate(oscillator(LAWS["backlash"]), scheme, duration=0.2, step=step)
        u = result["part/m/displacement"].values[:, 0, 0]
        exact = gap_oscillator(1e-3, 1e4, 2.0, 0.3, result["time"].values)
        errors.append(np.abs(u - exact).max() / np.abs(exact).max())
    assert errors[1] < 1e-3
    assert 3.4 < errors[0] / errors[1] < 4.6  # order 2 through the ends of the play


@pytest.mark.parametrize(
    ("scheme", "order", "error"), [(aq.SymplecticEuler(), 1, 2e-3), (aq.DeVogelaere(), 4, 1e-8)], ids=["Euler", "DV"]
)
def test_explicit_schemes_keep_their_order_with_a_cubic_spring(scheme, order, error):
    """Energy by the order of the scheme, motion against SciPy's integration, all works in the balance."""
    law, drifts = aq.springs.Cubic(1000.0, quadratic=3e3, cubic=1e6, travel=0.05), []
    for step in (1e-3, 5e-4):
        result = aq.simulate(oscillator(law), scheme, duration=0.3, step=step)
        u, v = (result["part/m"][what].values[:, 0, 0] for what in ("displacement", "velocity"))
        total = v**2 + law.energy(u)  # m = 2 kg
        drifts.append(np.abs(total / total[0] - 1.0).max())
        assert np.abs(result["balance"].values).max() < 1e-13
    solved = solve_ivp(
        lambda t, y: [y[1], -law.force(y[0]) / 2.0], (0.0, 0.3), [0.0, 0.3], "DOP853", result["time"], rtol=1e-12,
        atol=1e-15,
    )  # fmt: skip
    assert np.abs(u - solved.y[0]).max() < error * np.abs(u).max()
    assert drifts[0] / drifts[1] == pytest.approx(2.0**order, rel=0.15)


def test_runge_kutta_resolves_the_ends_of_a_play():
    result = aq.simulate(oscillator(LAWS["backlash"]), aq.RungeKutta(), duration=0.2, step=4e-4)
    u = result["part/m/displacement"].values[:, 0, 0]
    exact = gap_oscillator(1e-3, 1e4, 2.0, 0.3, result["time"].values)
    assert np.abs(u - exact).max() < 1e-6 * np.abs(exact).max()


def bouc_loop(law, motion, rate, times):
    """Force of Bouc and Wen's law along a motion, by SciPy's integration between the turning points."""
    elastic, hysteretic, beta, gamma, n = law.coefficients()

    def slope(t, z):
        v = rate(t)
        return v - beta * abs(v) * abs(z) ** (n - 1.0) * z - gamma * v * abs(z) ** n

    turns = [times[0]]
    scan = np.linspace(times[0], times[-1], 801)
    values = np.array([rate(t) for t in scan])
    for a, b, x, y in zip(scan[:-1], scan[1:], values[:-1], values[1:], strict=True):
        if x * y < 0.0:
            turns.append(brentq(rate, a, b, xtol=1e-15))
    z, out = np.zeros(1), np.zeros(times.size)
    for a, b in zip(turns, [*turns[1:], times[-1]], strict=True):
        inside = np.flatnonzero((times > a + 1e-12) & (times <= b + 1e-12))
        solved = solve_ivp(slope, (a, b), z, "DOP853", rtol=1e-12, atol=1e-15, dense_output=True, max_step=5e-3)
        out[inside], z = solved.sol(np.minimum(times[inside], b))[0], solved.y[:, -1]
    return elastic * np.array([motion(t) for t in times]) + hysteretic * out


@pytest.mark.parametrize("law", [BOUC, NARROW], ids=["Bouc-Wen", "Bouc-Wen, gamma < 0"])
def test_loops_of_bouc_and_wen_against_scipy(law):
    def motion(t):
        return 0.004 * np.sin(2.0 * np.pi * t)  # turns at ends of steps

    def rate(t):
        return 0.008 * np.pi * np.cos(2.0 * np.pi * t)

    errors, kernel, constants = [], law.kernel(), law.coefficients()
    for steps in (3000, 6000):
        times = np.linspace(0.0, 1.5, steps + 1)
        exact, history = bouc_loop(law, motion, rate, times), np.zeros(HISTORY)
        force = np.zeros(times.size)
        for i, t in enumerate(times[1:], 1):
            trial = history.copy()
            kernel(constants, history, motion(t), 1.0, 0.5, trial)
            force[i] = constants[0] * trial[0] + constants[1] * trial[1]
            history = trial
        errors.append(np.abs(force - exact).max() / np.abs(exact).max())
    assert errors[1] < 1e-6
    assert 3.8 < errors[0] / errors[1] < 4.2


@pytest.mark.parametrize("law", HYSTERETIC.values(), ids=HYSTERETIC)
def test_tractions_of_unloaded_branches_are_the_slopes_of_their_energies(law):
    e, h = np.linspace(-4e-3, 4e-3, 9), 1e-7
    for branch in law.branches:
        slope = (branch.energy(e + h) - branch.energy(e - h)) / (2.0 * h)
        np.testing.assert_allclose(branch.pressure(e), -slope, rtol=1e-8, atol=1e-9)


def test_bouc_and_wen_s_spring_starts_unloaded_where_it_is_released():
    """Order 2 from an initial elongation, where z = 0; against SciPy's integration."""
    elastic, hysteretic, beta, gamma, _ = BOUC.coefficients()

    def rates(t, y):
        u, v, z = y
        return [v, -(elastic * u + hysteretic * z) / 2.0, v - beta * abs(v) * z - gamma * v * abs(z)]

    exact = solve_ivp(rates, (0.0, 0.2), [4e-3, 0.0, 0.0], "DOP853", rtol=1e-12, atol=1e-15).y[0, -1]
    mass = aq.PointMasses("m", 0.0, 2.0)
    spring = aq.Spring("s", mass.boundary("all"), law=BOUC)
    system, errors = aq.System([mass], springs=[spring], displacement=4e-3), []
    for step in (1e-3, 5e-4):
        result = aq.simulate(system, aq.Theta(0.5), duration=0.2, step=step)
        errors.append(abs(result["part/m/displacement"].values[-1, 0, 0] / exact - 1.0))
    assert errors[0] < 2e-5
    assert 3.6 < errors[0] / errors[1] < 4.4


def test_statics_follow_bouc_and_wen():
    """The end force of each load step is that of the loop, and the loss its area."""
    result = path(BOUC, lambda t: 0.004 * np.sin(2.0 * np.pi * t), duration=2.0, step=5e-3)
    exact = bouc_loop(
        BOUC,
        lambda t: 0.004 * np.sin(2.0 * np.pi * t),
        lambda t: 0.008 * np.pi * np.cos(2.0 * np.pi * t),
        result["time"].values,
    )
    force = -result["spring/s/force"].values[:, 0]
    assert np.abs(force - exact).max() < 2e-3 * np.abs(exact).max()
    e, energy = result["spring/s/elongation"].values[:, 0], kinds(result)
    loss = energy["asperity_damping"]
    area = np.sum(0.5 * (exact[201:] + exact[200:-1]) * np.diff(e[200:]))  # of the second cycle
    assert loss[-1] - loss[200] == pytest.approx(area, rel=2e-3)
    assert np.abs(result["balance"].values).max() < 1e-12


def test_iwan_follows_masing_s_rule():
    """Branches between turning points are the first loading, twice as large; the loss is the area of the loop."""

    def first(e):
        k, f = np.array(IWAN.stiffnesses)[:, None], np.array(IWAN.limits)[:, None]
        return np.minimum(k * e, f).sum(axis=0) + IWAN.residual * e

    amplitude, steps = 4e-3, 60
    legs = [np.linspace(0.0, amplitude, steps + 1)]
    for sign in (-1.0, 1.0):
        legs.append(np.linspace(-sign * amplitude, sign * amplitude, 2 * steps + 1)[1:])
    e = np.concatenate(legs)
    result = path(IWAN, lambda t: float(np.interp(t, np.arange(e.size), e)), duration=e.size - 1.0, step=1.0)
    force = -result["spring/s/force"].values[:, 0]
    top = first(np.array([amplitude]))[0]
    down = top - 2.0 * first(0.5 * (amplitude - legs[1]))
    up = -top + 2.0 * first(0.5 * (legs[2] + amplitude))
    exact = np.concatenate([first(legs[0]), down, up])
    np.testing.assert_allclose(force, exact, atol=1e-12)
    loss = kinds(result)["asperity_damping"]
    slips = 2.0 * (amplitude - np.array(IWAN.limits) / np.array(IWAN.stiffnesses))
    area = 2.0 * np.sum(np.array(IWAN.limits) * np.maximum(slips, 0.0))
    assert loss[-1] - loss[steps] == pytest.approx(area, rel=1e-12)


def two_masses(scheme, stiffness=5000.0, gap=1e-3, cubic=1e6, second=300.0, knee=2e-3, held=0.0):
    force = (lambda t: 20.0 * t) if isinstance(scheme, aq.Static) else (lambda t: 3.0 * np.sin(20.0 * t))
    two = aq.PointMasses("m", [[0.0], [1.0]], [2.0, 1.0], names={"a": 0, "b": 1}, forces={"b": force})
    a, b = two.boundary("a"), two.boundary("b")
    springs = [
        aq.Spring("a", a, stiffness=held, law=aq.springs.Cubic(1000.0, cubic=cubic, travel=0.05)),
        aq.Spring("b", b, stiffness=held, law=aq.springs.Bilinear(500.0, second, knee)),
        aq.Spring("ab", b, a, damping=1.0, law=aq.springs.Backlash(stiffness, gap=gap)),
    ]
    rest = isinstance(scheme, aq.Static)
    system = aq.System([two], springs=springs, velocity=None if rest else np.array([[0.1], [0.3]]))
    return aq.Study(system, scheme, 0.3, 1e-3 if not rest else 3e-2)


@pytest.mark.parametrize(
    "scheme", [aq.Theta(0.5), aq.HHT(-0.1), aq.CentralDifference(), aq.Static()], ids=lambda s: type(s).__name__
)
def test_gradients_of_elastic_laws(scheme):
    at = {"stiffness": 5000.0, "gap": 1e-3, "cubic": 1e6, "second": 300.0, "knee": 2e-3}
    held = 10.0 if isinstance(scheme, aq.Static) else 0.0
    of = {
        "tip": lambda result: result["part/m/displacement"][-1, 1, 0],
        "stored": lambda result: result["energy"].sel(kind="asperity")[-1],
    }

    def run(**values):
        study = two_masses(scheme, **values, held=held)
        result = aq.simulate(study.system, study.scheme, duration=study.duration, step=study.step)
        return np.array([float(quantity(result)) for quantity in of.values()])

    found = gradient(
        lambda stiffness, gap, cubic, second, knee: two_masses(scheme, stiffness, gap, cubic, second, knee, held),
        of, at, method="tangent",
    )["gradient"]  # fmt: skip
    columns = []
    for name, value in at.items():
        h = 1e-5 * value
        ends = [run(**{**at, name: value + s * h}) for s in (1.0, -1.0, 2.0, -2.0)]
        columns.append((8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / 12.0e-5)
    exact = np.stack(columns, axis=1)
    scaled = found.values * np.array(list(at.values()))
    assert np.abs(scaled - exact).max(axis=1) == pytest.approx(0.0, abs=1e-6 * np.abs(exact).max(axis=1).min())


def test_ensembles_move_as_single_runs():
    systems = [oscillator(LAWS["backlash"], velocity=v) for v in (0.1, 0.3)]
    together = aq.simulate_ensemble(systems, aq.Theta(0.5), duration=0.1, step=1e-3)
    for i, system in enumerate(systems):
        alone = aq.simulate(system, aq.Theta(0.5), duration=0.1, step=1e-3)
        np.testing.assert_array_equal(
            together["part/m/displacement"].isel(member=i).values, alone["part/m/displacement"].values
        )


def test_a_mode_of_duffing_s_oscillator():
    """Period over energy against the complete elliptic integral, of order 2 in the step."""
    from scipy.special import ellipk

    mass = aq.PointMasses("m", 0.0, 1.0)
    spring = aq.Spring("s", mass.boundary("all"), law=aq.springs.Cubic(40.0, cubic=2000.0))
    system, errors = aq.System([mass], springs=[spring]), []
    for steps in (100, 200):
        modes = aq.periodic(system, aq.Theta(0.5), energy=(1e-2, 1.0), steps=steps, points=4)
        amplitude = modes["amplitude_m"].values[:, 0, 0]
        square = 40.0 + 2000.0 * amplitude**2
        exact = 4.0 * ellipk(1000.0 * amplitude**2 / square) / np.sqrt(square)
        errors.append(np.abs(modes["period"].values / exact - 1.0).max())
    assert errors[1] < 2e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_a_law_on_a_face_is_shared_by_its_nodes():
    steel = aq.LinearElastic(young=2e11, poisson=0.0, density=7800.0)
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), (2, 2)), steel, plane="strain",
                     tractions={"right": lambda x, t: (-1e3 * t, 0.0)}, imposed={"bottom": {"y": 0.0}})  # fmt: skip
    law = aq.springs.Bilinear(1e5, 5e4, 5e-4)
    pad = aq.Spring("pad", block.boundary("left"), law=law, direction=(1.0, 0.0))
    result = aq.simulate(aq.System([block], springs=[pad]), aq.Static(), duration=1.0, step=0.25)
    e = result["spring/pad/elongation"].values[-1, 0]
    assert result["spring/pad/force"].values[-1, 0] == pytest.approx(100.0, rel=1e-9)
    assert law.force(e) == pytest.approx(-100.0, rel=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: aq.springs.BoucWen(1e3, 0.1, 1.0, 2.0), "gamma = 2.0: must be in"),
        (lambda: aq.springs.BoucWen(1e3, 1.0, 1.0, 0.0), "ratio = 1.0: must be in"),
        (lambda: aq.springs.Table([0.0, 0.0], [0.0, 1.0]), "elongations: must grow"),
        (lambda: aq.springs.Iwan([1.0, 2.0], [1.0]), "needs one for each of 2 stiffnesses"),
        (lambda: aq.springs.Cubic(0.0), "needs a stiffness"),
        (lambda: oscillator(aq.Penalty(1e3)), "must be a law of springs"),
        (lambda: oscillator([LAWS["cubic"], None]), "must be one, or 1 of them"),
        (lambda: aq.simulate(oscillator(BOUC), aq.RungeKutta(), duration=1.0, step=1e-3), "explicit schemes do not"),
        (
            lambda: aq.simulate(
                oscillator(aq.springs.Cubic(1e3, cubic=1.0)), aq.CentralDifference(), duration=1.0, step=1e-3
            ),
            "give travel",
        ),
    ],
)  # fmt: skip
def test_one_line_for_what_is_not_possible(make, message):
    with pytest.raises(aq.UserError) as raised:
        make()
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_interfaces_refuse_laws_of_springs():
    mass = aq.PointMasses("m", (0.0, 0.0), 1.0)
    with pytest.raises(aq.UserError, match="is a law of springs: Spring"):
        aq.Interface("i", mass.boundary("all"), aq.RigidPlane((0.0, 0.0), (0.0, 1.0)), LAWS["cubic"])


def test_renamed_springs_keep_their_memory_when_levels_switch():
    """Two springs of one law at one node are told apart by their directions: the switch changes nothing."""

    def model(suffix):
        mass = aq.PointMasses(f"m{suffix}", (0.0, 0.0), 2.0, forces={"all": lambda t: (2.5 * np.sin(12.0 * t), 0.0)})
        springs = [
            aq.Spring(f"{axis}{suffix}", mass.boundary("all"), direction=direction, law=BOUC)
            for axis, direction in (("x", (1.0, 0.0)), ("y", (0.0, 1.0)))
        ]
        return {"parts": [mass], "springs": springs}

    levels = [aq.levels.Level(**model(suffix)) for suffix in ("-1", "-2")]
    body = aq.Levels("body", levels, aq.levels.SwitchTimes({0.25: 1}))
    run = {"scheme": aq.Theta(0.5), "duration": 0.5, "step": 1e-3}
    switched = aq.simulate(aq.System([], levels=[body], velocity={"m-1": (0.0, 0.1)}), **run)
    alone = aq.simulate(aq.System(**model(""), velocity={"m": (0.0, 0.1)}), **run)
    u = alone["part/m/displacement"].values[-1]
    np.testing.assert_allclose(switched["part/m-2/displacement"].values[-1], u, atol=1e-12 * np.abs(u).max())
    assert np.abs(switched["balance"].values).max() < 1e-12
