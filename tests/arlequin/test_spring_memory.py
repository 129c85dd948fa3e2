"""Springs with a memory: starts from a result, gradients, periodic motions and central differences, against closed
forms, differences of runs, SciPy's integration and long transients."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq
from arlequin.multilevel.laws.signature import HISTORY

IWAN = aq.springs.Iwan([800.0, 500.0], [0.3, 0.6], residual=100.0)
BOUC = aq.springs.BoucWen(1000.0, ratio=0.1, beta=600.0, gamma=400.0)
NARROW = aq.springs.BoucWen(1000.0, ratio=0.05, beta=6e5, gamma=-4e5, exponent=2.0)
LAWS = {"Iwan": IWAN, "Bouc-Wen": BOUC, "Bouc-Wen, gamma < 0": NARROW}


def oscillator(law, start=0.0, name="s", **more):
    """A mass on a spring, forced by 2.5 N sin 12 (t + start)."""
    mass = aq.PointMasses("m", 0.0, 2.0, forces={"all": lambda t: 2.5 * np.sin(12.0 * (t + start))})
    more = more or {"velocity": 0.3}
    return aq.System([mass], springs=[aq.Spring(name, mass.boundary("all"), law=law)], **more)


def energy(result, kind):
    return result["energy"].sel(kind=kind).values


def step_of(branch, history, end, theta):
    """Stored and dissipated traction, and the internal variable at the end, with the slopes of the tractions."""
    trial = history.copy()
    values = branch.kernel()(branch.coefficients(), history, end, 1.0, theta, trial)
    return np.array([values[0], values[2], trial[1]]), np.array(values[1::2]), trial


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_complex_kernels_are_the_kernels_and_their_slopes(law):
    """Values and slopes by the end against the real kernel, slopes by the variable at the start against differences."""
    rng, eps = np.random.default_rng(5), 1e-200
    for branch in (branch for branch in law.branches if branch.variable):
        history, paths, h = np.zeros(HISTORY), branch.path_kernel(), 1e-6 * branch.limit
        constants = np.tile(branch.coefficients().astype(complex), (2, 1))
        for end in rng.uniform(-4e-3, 4e-3, 20):
            history[1] = rng.uniform(-0.9, 0.9) * branch.limit
            for theta in (0.0, 0.5, 0.8, 1.0):
                start, last, before = (np.full((1, 2), x, dtype=complex) for x in (history[0], end, history[1]))
                last[0, 0] += 1j * eps
                before[0, 1] += 1j * eps
                found = np.zeros((3, 1, 2), dtype=complex)
                paths(constants, start, last, before, theta, found)
                values, by_end, trial = step_of(branch, history, end, theta)
                np.testing.assert_allclose(found[:, 0, 0].real, values, rtol=1e-13, atol=1e-15)
                np.testing.assert_allclose(found[:2, 0, 0].imag / eps, by_end, rtol=1e-10, atol=1e-9)
                moved = [history + sign * h * np.eye(HISTORY)[1] for sign in (1.0, -1.0)]
                high, low = (step_of(branch, near, end, theta)[0] for near in moved)
                slopes = (high - low) / (2.0 * h)
                np.testing.assert_allclose(found[:, 0, 1].imag / eps, slopes, atol=1e-6 * np.abs(slopes).max())
            history = trial


@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Midpoint()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("law", [IWAN, BOUC], ids=["Iwan", "Bouc-Wen"])
def test_a_run_cut_in_two_is_the_run(law, scheme):
    whole = aq.simulate(oscillator(law), scheme, duration=0.5, step=1e-3)
    first = aq.simulate(oscillator(law), scheme, duration=0.2, step=1e-3)
    second = aq.simulate(oscillator(law, 0.2, from_result=first), scheme, duration=0.3, step=1e-3)
    for name in ("part/m/displacement", "spring/s/force", "spring/s/hysteretic_force"):
        values = whole[name].values[200:]
        np.testing.assert_allclose(second[name].values, values, rtol=0.0, atol=1e-13 * np.abs(values).max())
    stored = energy(whole, "asperity")[200:]
    np.testing.assert_allclose(energy(second, "asperity"), stored, rtol=0.0, atol=1e-13 * stored.max())
    assert np.abs(second["balance"].values).max() < 1e-12


def test_memories_are_taken_by_the_name_of_the_spring():
    first = aq.simulate(oscillator(IWAN), aq.Theta(0.5), duration=0.05, step=1e-3)
    unloaded = aq.simulate(oscillator(IWAN, name="new", from_result=first), aq.Theta(0.5), duration=1e-3, step=1e-3)
    assert not unloaded["spring/new/hysteretic_force"].values[0].any()
    for law, message in (
        (BOUC, "'s' has 1 internal variables here and 2 there: give it the law and the nodes that it had"),
        (aq.springs.Iwan([800.0, 500.0], [0.01, 0.6]), "beyond its limit, 0.01 N: give the spring the law that it had"),
    ):
        with pytest.raises(aq.UserError, match="from_result: ") as raised:
            aq.simulate(oscillator(law, from_result=first), aq.Theta(0.5), duration=1e-3, step=1e-3)
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)


def two_masses(scheme, law):
    """A study of a law in series with a Jenkins element; its parameters are those of `law` and the mass."""

    def study(mass, **parameters):
        two = aq.PointMasses("m", [[0.0], [1.0]], [mass, 1.0], names={"a": 0, "b": 1},
                             forces={"a": lambda t: 2.5 * np.sin(60.0 * t)})  # fmt: skip
        a, b = two.boundary("a"), two.boundary("b")
        springs = [
            aq.Spring("s", a, stiffness=2000.0, law=law(**parameters)),
            aq.Spring("t", b, a, law=aq.springs.Iwan([200.0], [0.05])),
            aq.Spring("g", b, stiffness=300.0),
        ]
        static = isinstance(scheme, aq.Static)
        start = {} if static else {"velocity": np.array([[0.05], [0.02]])}
        return aq.Study(aq.System([two], springs=springs, **start), scheme, 0.12, 2.4e-3)

    return study


def iwan(stiffness, limit):
    return aq.springs.Iwan([stiffness, 500.0], [limit, 0.6], residual=100.0)


def bouc(stiffness, beta):
    return aq.springs.BoucWen(stiffness, ratio=0.1, beta=beta, gamma=400.0)


SCHEMES = [aq.Theta(0.5), aq.HHT(-0.1), aq.CentralDifference(), aq.Static()]
PARAMETERS = {"Iwan": (iwan, {"stiffness": 800.0, "limit": 0.3}), "Bouc-Wen": (bouc, {"stiffness": 1e3, "beta": 600.0})}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("law", PARAMETERS)
def test_gradients_against_differences_of_runs(law, scheme):
    make, at = PARAMETERS[law]
    study, at = two_masses(scheme, make), {"mass": 2.0, **at}
    of = {
        "motion": lambda result: result["part/m/displacement"][:, 0, 0].mean(),
        "force": lambda result: result["spring/s/hysteretic_force"][:, 0].mean(),
        "loss": lambda result: result["energy"].sel(kind="asperity_damping")[-1],
        "stored": lambda result: result["energy"].sel(kind="asperity")[1:].mean(),
    }

    def run(**values):
        result = study(**values).run()
        return np.array([float(quantity(result)) for quantity in of.values()])

    found = aq.gradient(study, of, at, method="tangent")["gradient"].values * np.array(list(at.values()))
    h, columns = 1e-5, []
    for name, value in at.items():
        ends = [run(**{**at, name: value * (1.0 + sign * h)}) for sign in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) / (2.0 * h))
    exact = np.stack(columns, axis=1)
    assert (np.abs(found - exact).max(axis=1) < 1e-6 * np.abs(exact).max(axis=1)).all()
    assert np.abs(exact[2]).max() > 0.0  # elements slide


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("law", PARAMETERS)
@pytest.mark.parametrize("dense", [500, 0])  # recursions on dense operators, or by passes over the factor
def test_adjoints_are_the_transpose_of_the_tangents(law, scheme, dense, monkeypatch):
    for module in ("tangent", "adjoint"):  # a system large enough for the factor takes a minute
        monkeypatch.setattr(f"arlequin.sensitivity.{module}.DENSE", dense)
    make, at = PARAMETERS[law]
    study, at = two_masses(scheme, make), {"mass": 2.0, **at}
    of = {
        "elongation": aq.Response("spring/s/elongation", "final", component="x"),
        "stored": aq.Response("energy/asperity", "mean"),
    }
    if not isinstance(scheme, aq.Static):
        of["loss"] = aq.Response("energy/asperity_damping", "final")
    adjoint, tangent = (
        aq.gradient(study, of, at, method=method)["gradient"].values * np.array(list(at.values()))
        for method in ("adjoint", "tangent")
    )
    assert (np.abs(adjoint - tangent).max(axis=1) < 1e-11 * np.abs(tangent).max(axis=1)).all()


def test_the_gradient_of_a_residual_displacement():
    """A Jenkins element K, F beside a spring k, loaded to P and unloaded: u = (P − F)/k − P/(k + K)."""
    spring, peak = 50.0, 1.0

    def study(stiffness, limit):
        mass = aq.PointMasses("m", 0.0, 1.0, forces={"all": lambda t: peak * min(t, 2.0 - t)})
        held = aq.Spring("s", mass.boundary("all"), stiffness=spring, law=aq.springs.Iwan([stiffness], [limit]))
        return aq.Study(aq.System([mass], springs=[held]), aq.Static(), 2.0, 0.1)

    def residual(result):
        return result["part/m/displacement"][-1, 0, 0]

    found = aq.gradient(study, residual, {"stiffness": 30.0, "limit": 0.2})
    assert found["value"].item() == pytest.approx((peak - 0.2) / spring - peak / (spring + 30.0), rel=1e-9)
    slopes = [peak / (spring + 30.0) ** 2, -1.0 / spring]
    np.testing.assert_allclose(found["gradient"].values[0], slopes, rtol=1e-8)


@pytest.mark.parametrize("law", [IWAN, BOUC], ids=["Iwan", "Bouc-Wen"])
def test_central_differences_balance(law):
    result = aq.simulate(oscillator(law), aq.CentralDifference(), duration=0.5, step=1e-3)
    assert np.abs(result["balance"].values).max() < 1e-12
    loss = energy(result, "asperity_damping")
    assert loss[-1] > 1e-3
    assert np.diff(loss).min() >= 0.0


def rates_of(law, mass, force):
    """Right-hand side (u, v, z) of an oscillator on Bouc and Wen's law."""
    elastic, hysteretic, beta, gamma, n = law.coefficients()

    def rates(t, y):
        u, v, z = y
        slope = v - beta * abs(v) * abs(z) ** (n - 1.0) * z - gamma * v * abs(z) ** n
        return [v, (force(t) - elastic * u - hysteretic * z) / mass, slope]

    return rates


def test_central_differences_against_scipy():
    """Order 2, beside the corner of the loading branch at each turning point."""
    rates = rates_of(BOUC, 2.0, lambda t: 2.5 * np.sin(12.0 * t))
    times, errors = np.linspace(0.0, 0.4, 201), []
    solved = solve_ivp(rates, (0.0, 0.4), [0.0, 0.3, 0.0], "DOP853", times, rtol=1e-12, atol=1e-15, max_step=1e-3)
    for every in (2, 4):
        result = aq.simulate(oscillator(BOUC), aq.CentralDifference(), duration=0.4, step=2e-3 / every)
        u = result["part/m/displacement"].values[::every, 0, 0]
        errors.append(np.abs(u - solved.y[0]).max() / np.abs(u).max())
    assert errors[1] < 2e-6
    assert 3.4 < errors[0] / errors[1] < 4.8


def test_members_of_an_ensemble_record_the_forces_of_their_laws():
    """Members that are run one by one, as those of central differences are."""
    laws = [IWAN, aq.springs.Cubic(1000.0, cubic=1e6, travel=0.05)]
    for law in laws:
        systems = [oscillator(law, velocity=velocity) for velocity in (0.3, 0.1)]
        run = {"scheme": aq.CentralDifference(), "duration": 0.01, "step": 1e-3}
        together = aq.simulate_ensemble(systems, **run)
        for i, system in enumerate(systems):
            alone = aq.simulate(system, **run)["spring/s/force"].values
            np.testing.assert_array_equal(together["spring/s/force"].isel(member=i).values, alone)


def forced(law):
    """An oscillator under 1.5 N sin 2πt/T, T = 0.4 s, with a little damping."""
    mass = aq.PointMasses("m", 0.0, 2.0, forces={"all": lambda t: 1.5 * np.sin(5.0 * np.pi * t)})
    return aq.System([mass], springs=[aq.Spring("s", mass.boundary("all"), damping=2.0, law=law)])


@pytest.mark.parametrize(
    "scheme", [aq.Theta(0.5), aq.HHT(-0.1), aq.CentralDifference()], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("law", [IWAN, BOUC], ids=["Iwan", "Bouc-Wen"])
def test_periodic_motions_are_the_ends_of_transients(law, scheme):
    """Amplitude, and loss of a period against the work of the force."""
    steps = 80
    orbit = aq.periodic(forced(law), scheme, period=0.4, steps=steps)
    assert orbit["stable"].item()
    result = aq.simulate(forced(law), scheme, duration=16.0, step=0.4 / steps)
    u = result["part/m/displacement"].values[-steps - 1 :, 0, 0]
    assert orbit["amplitude_m"].item() == pytest.approx(0.5 * np.ptp(u), rel=1e-6)
    lost = [energy(result, kind)[-1] - energy(result, kind)[-steps - 1] for kind in ("asperity_damping", "damping")]
    work = energy(result, "external_work")[-1] - energy(result, "external_work")[-steps - 1]
    assert lost[0] > 1e-4  # elements slide in each period
    if isinstance(scheme, aq.Theta):
        assert sum(lost) == pytest.approx(work, rel=1e-3)


def test_jacobians_of_the_period_map():
    """Exact against central differences of the map, in all entries of the state."""
    from arlequin.orbits.period_map import PeriodMap
    from arlequin.system.assembly import assemble

    for law in (IWAN, BOUC):
        period_map = PeriodMap(assemble(forced(law)), aq.Theta(0.5), 80, 0.4)
        memory = np.array([0.1, -0.2]) if law is IWAN else np.array([3e-4])
        x = np.concatenate([[1e-3], [0.02], memory])
        orbit = period_map.run(x, 0.4)
        exact, sizes = period_map.jacobian(orbit), 1e-5 * np.abs(x)
        ends = [[period_map.run(x + s * e, 0.4).end for s in (1.0, -1.0)] for e in np.diag(sizes)]
        differences = np.array([(a - b) / (2.0 * size) for (a, b), size in zip(ends, sizes, strict=True)]).T
        scaled = (exact - differences) * sizes / np.abs(x)[:, None]
        assert np.abs(scaled).max() < 1e-6 * np.abs(exact * sizes / np.abs(x)[:, None]).max()
