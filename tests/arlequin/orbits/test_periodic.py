"""Periodic motions against closed forms, harmonic balance of high order, elliptic functions and the transient."""

from typing import Any

import numpy as np
import pytest
from scipy.special import ellipk

import arlequin as aq
from arlequin.orbits.period_map import PeriodMap
from arlequin.system.assembly import assemble

FAMILY = (aq.Newmark(), aq.Newmark(0.36, 0.6), aq.HHT(-0.1), aq.GeneralisedAlpha.with_radius(0.6))
DAMPING, FORCE = 0.2, 0.3  # of the Duffing oscillator, N·s/m, N


def mass(force: float = 0.0, period: float = 1.0) -> aq.PointMasses:
    """1 kg under F cos(2πt/T)."""
    loads: Any = {"all": lambda t: [force * np.cos(2.0 * np.pi * t / period)]} if force else {}
    return aq.PointMasses("mass", 0.0, 1.0, forces=loads)


def between(part: aq.PointMasses, law: Any, damping: float = 0.0, clearance: float = 0.0) -> aq.System:
    """A mass on a spring of 1 N/m between two planes."""
    at = part.boundary("all")
    planes = [
        aq.Interface(name, at, aq.RigidPlane(point=-sign * clearance, normal=sign), law)
        for name, sign in (("below", 1.0), ("above", -1.0))
    ]
    return aq.System([part], springs=[aq.Spring("spring", at, stiffness=1.0, damping=damping)], interfaces=planes)


def duffing(force: float = FORCE, damping: float = DAMPING) -> aq.System:
    """ü + c u̇ + u + u³ = F cos: the cubic spring as two layers of no height."""
    return between(mass(force), aq.Asperities(1.0, exponent=3.0), damping)


def impact_oscillator(law: Any, force: float = 1.0, period: float = 5.0) -> aq.System:
    """A mass on a damped spring with a stop 1 m below."""
    part = mass(force, period)
    at = part.boundary("all")
    stop = aq.Interface("stop", at, aq.RigidPlane(point=-1.0, normal=1.0), law)
    return aq.System([part], springs=[aq.Spring("spring", at, stiffness=1.0, damping=0.1)], interfaces=[stop])


def rubbing(friction: Any, layer: Any) -> aq.System:
    """Two masses on springs, pressed on a floor of asperities with friction."""
    masses = aq.PointMasses(
        "masses",
        [[0.0, 0.0], [1.0, 0.0]],
        [1.0, 2.0],
        names={"a": 0, "b": 1},
        forces={"a": lambda t: [3.0 * np.cos(2.0 * np.pi * t), -3.0], "b": (0.0, -2.0)},
    )
    a, b = masses.boundary("a"), masses.boundary("b")
    springs = [
        aq.Spring("wall", a, stiffness=(1.0, 0.0), damping=0.1),
        aq.Spring("between", a, b, stiffness=(2.0, 3.0), damping=0.1),
    ]
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("floor", masses.boundary("all"), floor, layer, friction=friction)
    return aq.System([masses], springs=springs, interfaces=[contact])


def balance(coefficients: np.ndarray, pulsation: float, force: float, damping: float) -> np.ndarray:
    """Harmonic balance of the Duffing oscillator: coefficients a₁ b₁ a₃ b₃ … of cos and sin of odd harmonics."""
    count = coefficients.size // 2
    phase = 2.0 * np.pi * np.arange(16 * count) / (16 * count)
    orders = 2 * np.arange(count) + 1
    cos, sin = np.cos(np.outer(orders, phase)), np.sin(np.outer(orders, phase))
    a, b = coefficients[::2], coefficients[1::2]
    u = a @ cos + b @ sin
    v = pulsation * ((orders * b) @ cos - (orders * a) @ sin)
    acceleration = -(pulsation**2) * ((orders**2 * a) @ cos + (orders**2 * b) @ sin)
    rest = acceleration + damping * v + u + u**3 - force * np.cos(phase)
    found = np.empty_like(coefficients)
    found[::2], found[1::2] = 2.0 * (cos @ rest) / phase.size, 2.0 * (sin @ rest) / phase.size
    return found


def duffing_folds(guesses: list[tuple[float, complex]]) -> list[float]:
    """Fold frequencies, Hz, by harmonic balance up to order 19: where the frequency is stationary over the phase.

    guesses: pulsation and complex amplitude a − ib of the first harmonic.
    """
    found = []
    for pulsation, amplitude in guesses:
        z = np.zeros(21)
        z[0], z[1], z[20] = amplitude.real, -amplitude.imag, pulsation

        def at(phase: float, z: np.ndarray = z) -> float:
            def equations(own: np.ndarray) -> np.ndarray:
                return np.append(
                    balance(own[:20], own[20], FORCE, DAMPING), own[0] * np.sin(phase) - own[1] * np.cos(phase)
                )

            for _ in range(20):
                slopes = [(equations(z + e) - equations(z - e)) / 2e-5 for e in 1e-5 * np.eye(21)]
                z[:] -= np.linalg.solve(np.array(slopes).T, equations(z))
            assert np.abs(equations(z)).max() < 1e-11
            return float(z[20])

        phases = np.arctan2(z[1], z[0]) + np.linspace(-0.08, 0.08, 9)
        curve = np.polynomial.Polynomial.fit(phases, [at(phase) for phase in phases], 6)
        turns = curve.deriv().roots()
        turns = turns[(np.abs(turns.imag) < 1e-9) & (np.abs(turns.real - phases[4]) < 0.08)].real
        assert turns.size == 1
        found.append(float(curve(turns[0]) / (2.0 * np.pi)))
    return found


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    "system",
    [
        duffing(),
        rubbing(aq.Coulomb(0.3), aq.Asperities(50.0, damping=1.0, damping_acts="both")),
        impact_oscillator(aq.PerturbedLagrangian(50.0, level="gap"), 3.0, 1.0),
        rubbing(aq.Coulomb(0.3, stiffness=20.0), aq.Asperities(50.0)),
    ],
    ids=["layers", "friction", "multiplier", "elastic stick"],
)
@pytest.mark.parametrize(
    "scheme", [aq.Theta(0.5), aq.Theta(0.7), aq.Theta(1.0), *FAMILY], ids=str
)  # fmt: skip
def test_the_monodromy_is_the_derivative_of_the_map(system: aq.System, scheme: Any) -> None:
    own = PeriodMap(assemble(system), scheme, 100, 1.0)
    x = 0.5 * np.random.default_rng(0).standard_normal(own.state_size)
    if own.size == 4:
        x[:8] *= [1.0, 0.1] * 4
    found = own.jacobian(own.run(x, 5.0))
    for e, column in zip(1e-6 * np.eye(x.size), found.T, strict=True):
        wanted = (own.run(x + e, 5.0).end - own.run(x - e, 5.0).end) / 2e-6
        assert column == pytest.approx(wanted, abs=1e-6 * np.abs(found).max())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", FAMILY, ids=str)
def test_the_transient_arrives_at_the_periodic_motion(scheme: Any) -> None:
    """After 300 periods, of e^(−30) of the start each."""
    found = aq.periodic(duffing(), scheme, period=1.0, steps=100)
    assert found["stable"].item()
    again = aq.simulate(duffing(), scheme, duration=300.0, step=1 / 100)
    u, v = (again["part/mass"][name].values[-101:, 0, 0] for name in ("displacement", "velocity"))
    assert u == pytest.approx(found["displacement"].values[0, :, 0], abs=1e-11 * np.ptp(u))
    assert v == pytest.approx(found["velocity"].values[0, :, 0], abs=1e-11 * np.ptp(v))


@pytest.mark.parametrize("theta", [0.5, 0.6, 1.0])
def test_a_periodic_motion_is_one_of_the_transient(theta: float) -> None:
    system, scheme = duffing(), aq.Theta(theta)
    found = aq.periodic(system, scheme, period=1.0, steps=200)
    start: dict[str, Any] = {
        "displacement": found["displacement"].values[0, 0],
        "velocity": found["velocity"].values[0, 0],
    }
    again = aq.simulate(
        aq.System(system.parts, (), system.interfaces, springs=system.springs, **start),
        scheme,
        duration=1.0,
        step=1 / 200,
    )
    u = again["part/mass"]["displacement"].values[:, 0, 0]
    assert abs(u[-1] - u[0]) < 1e-10 * np.ptp(u)
    assert u[::1] == pytest.approx(found["displacement"].values[0, :, 0], abs=1e-12)


def test_the_linear_response_is_the_closed_form() -> None:
    part = mass(1.0)
    system = aq.System([part], springs=[aq.Spring("spring", part.boundary("all"), stiffness=1.0, damping=0.2)])
    found = aq.periodic(system, aq.Theta(0.5), period=1.0, frequency=(0.1, 0.25), points=10, steps=400)
    w = 2.0 * np.pi * found["frequency"].values
    assert found["amplitude_mass"].values.ravel() == pytest.approx(1.0 / np.abs(1.0 - w**2 + 0.2j * w), rel=3e-4)
    assert found["frequency"].values[[0, -1]] == pytest.approx([0.1, 0.25], rel=1e-12)
    # det of the monodromy matrix: exp(−c T)
    product = np.prod(found["multiplier_real"].values + 1j * found["multiplier_imag"].values, axis=1)
    assert product.real == pytest.approx(np.exp(-0.2 / found["frequency"].values), rel=1e-3)
    assert found["stable"].values.all() and not (found["bifurcation"].values != "").any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "tolerance"),
    [
        (aq.CentralDifference(), 1e-9), (aq.SymplecticEuler(), 1e-9), (aq.DeVogelaere(), 1e-5),
        (aq.RungeKutta(1e-11), 1e-9),
    ],
)  # fmt: skip
def test_explicit_schemes_have_the_linear_response(scheme: Any, tolerance: float) -> None:
    """F/(k − mΩ²) without damping: Ω = 2/Δt sin(ωΔt/2) of central differences and of symplectic Euler, whose
    displacements are the same, ω of schemes of high order."""
    part, period = mass(FORCE, 12.0), 12.0
    system = aq.System([part], springs=[aq.Spring("spring", part.boundary("all"), stiffness=1.0)])
    found = aq.periodic(system, scheme, period=period, steps=40)
    omega = 2.0 * np.pi / period
    if scheme.order < 4:
        omega = 80.0 / period * np.sin(0.025 * np.pi)
    assert found["amplitude_mass"].item() == pytest.approx(FORCE / (1.0 - omega**2), rel=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("glued", [False, True])
def test_bars_without_contact_vibrate_under_central_differences(glued: bool) -> None:
    """Whose runs take many steps at once: the amplitude of Newmark's scheme with fine steps, to 1e-3."""
    steel = aq.LinearElastic(young=1e3, poisson=0.0, density=10.0)
    ends: dict[str, Any] = {"imposed": {"left": {"x": 0.0}}}
    pull: dict[str, Any] = {"tractions": {"right": lambda x, t: [3.0 * np.cos(2.0 * np.pi * t)]}}

    def bar(name: str, first: float, last: float, cells: int, **loads: Any) -> aq.Bar:
        return aq.Bar(name, aq.mesh.interval(first, last, cells), steel, mass="lumped", **loads)

    if glued:
        coarse, fine = bar("coarse", 0.0, 0.6, 3, **ends), bar("fine", 0.4, 1.0, 6, **pull)
        system = aq.System([coarse, fine], junctions=[aq.Junction(coarse, fine)])
    else:
        system = aq.System([bar("fine", 0.0, 1.0, 4, **ends, **pull)])
    found, wanted = (
        aq.periodic(system, scheme, period=1.0, steps=steps)["amplitude_fine"].values.ravel()[-1]
        for scheme, steps in ((aq.CentralDifference(), 200), (aq.Newmark(), 400))
    )
    assert found == pytest.approx(wanted, rel=1e-3)


@pytest.mark.slow
def test_loads_between_the_steps_of_a_scheme_are_stretched_too() -> None:
    """De Vogelaere's scheme takes them at half steps: F/(k − mω²) over frequency."""
    part = mass(FORCE)
    system = aq.System([part], springs=[aq.Spring("spring", part.boundary("all"), stiffness=1.0)])
    found = aq.periodic(system, aq.DeVogelaere(), period=1.0, frequency=(0.05, 0.1), steps=60, points=4)
    omega = 2.0 * np.pi * found["frequency"].values
    np.testing.assert_allclose(found["amplitude_mass"].values.ravel(), FORCE / (1.0 - omega**2), rtol=2e-6)


@pytest.mark.slow
def test_the_folds_of_a_duffing_oscillator_are_those_of_harmonic_balance() -> None:
    found = aq.periodic(duffing(), aq.Theta(0.5), period=1.0, frequency=(0.12, 0.32), points=20, steps=600)
    at = np.flatnonzero(found["bifurcation"].values == "fold")
    assert at.size == 2
    frequencies = found["frequency"].values[at]
    first = np.exp(-2j * np.pi * found["phase"].values[:-1])
    guesses = [
        (2.0 * np.pi * f, 2.0 * np.mean(found["displacement"].values[k, :-1, 0] * first))
        for f, k in zip(frequencies, at, strict=True)
    ]
    assert frequencies == pytest.approx(duffing_folds(guesses), rel=1e-4)
    # unstable between the folds, stable before and behind
    stable = found["stable"].values
    assert not stable[at[0] + 1 : at[1]].any() and stable[: at[0]].all() and stable[at[1] + 1 :].all()


@pytest.mark.slow
def test_the_backbone_of_a_duffing_oscillator_is_that_of_elliptic_functions() -> None:
    system = between(mass(), aq.Asperities(1.0, exponent=3.0))
    found = aq.periodic(system, aq.Theta(0.5), energy=(1e-3, 1.0), points=10, steps=600)
    amplitude = np.abs(found["displacement"].values[:, 0, 0])
    period = 4.0 / np.sqrt(1.0 + amplitude**2) * ellipk(0.5 * amplitude**2 / (1.0 + amplitude**2))
    assert found["frequency"].values == pytest.approx(1.0 / period, rel=2e-5)
    assert found["energy"].values == pytest.approx(0.5 * amplitude**2 + 0.25 * amplitude**4, rel=1e-9)
    assert found["energy"].values[-1] == pytest.approx(1.0, rel=1e-9)
    assert found["stable"].values.all()


@pytest.mark.slow
@pytest.mark.parametrize("located", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_impact_oscillator_grazes_at_the_amplitude_of_the_closed_form(located: bool) -> None:
    w = 2.0 * np.pi / 5.0
    exact = abs(1.0 - w**2 + 0.1j * w)  # F with |u| = 1 m
    law: Any = aq.Unilateral() if located else aq.Penalty(30.0)
    scheme, steps = aq.Theta(0.5, events="locate" if located else "step"), 60 if located else 800
    top = 0.59263 if located else 0.7  # soon behind it rigid impacts fold back
    found = aq.periodic(impact_oscillator(law), scheme, period=5.0, amplitude=(0.58, top), points=4, steps=steps)
    at = np.flatnonzero(found["bifurcation"].values == "grazing")
    assert found["amplitude"].values[at[0]] == pytest.approx(exact, rel=1e-4)
    assert found["smallest_gap"].values[at[0], 0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
def test_behind_a_flip_the_transient_repeats_after_two_periods() -> None:
    """A mass that rests on its stop and is shaken: the period doubles as the frequency rises."""

    def system(frequency: float) -> aq.System:
        part = mass(1.0, 1.0 / frequency)
        at = part.boundary("all")
        stop = aq.Interface("stop", at, aq.RigidPlane(point=0.0, normal=1.0), aq.Penalty(20.0))
        return aq.System([part], springs=[aq.Spring("spring", at, stiffness=1.0, damping=0.1)], interfaces=[stop])

    scheme = aq.Theta(0.5)
    found = aq.periodic(system(1.0), scheme, period=1.0, frequency=(0.55, 0.35), points=10, steps=200)
    (at,) = np.flatnonzero(found["bifurcation"].values == "flip")
    assert found["multiplier_real"].values[at].min() == pytest.approx(-1.0, abs=1e-3)
    assert not found["stable"].values[:at].any() and found["stable"].values[at + 1 :].all()
    for frequency, repeats in ((0.35, True), (0.55, False)):  # nearer both motions attract
        period = 1.0 / frequency
        result = aq.simulate(system(frequency), scheme, duration=302.0 * period, step=period / 200)
        u = result["part/mass"]["displacement"].values[-401:, 0, 0]
        assert (abs(u[200] - u[400]) < 1e-3 * np.ptp(u)) == repeats
        assert abs(u[0] - u[400]) < 1e-3 * np.ptp(u)


def test_friction_of_a_mass_on_a_floor_has_the_closed_form_of_den_hartog() -> None:
    """Without stops: amplitude √(V² − (μN/k)² U²)·F/k, continuous slip (Den Hartog 1931)."""
    force, limit, pulsation = 3.0, 0.9, 0.7
    part = aq.PointMasses("mass", (0.0, 0.0), 1.0, forces={"all": lambda t: [force * np.cos(pulsation * t), -3.0]})
    at = part.boundary("all")
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    system = aq.System(
        [part],
        springs=[aq.Spring("spring", at, stiffness=(1.0, 0.0))],
        interfaces=[aq.Interface("floor", at, floor, aq.Penalty(1e4), friction=aq.Coulomb(limit / 3.0))],
        displacement=(0.0, -3e-4),
    )
    # damping across the floor for the bouncing of the layer
    system = aq.System(
        system.parts, (), system.interfaces, springs=[*system.springs, aq.Spring("dashpot", at, damping=(0.0, 20.0))]
    )
    found = aq.periodic(system, aq.Theta(0.5), period=2.0 * np.pi / pulsation, steps=2000)
    b = 1.0 / pulsation  # ω₀/ω
    v, u = 1.0 / (1.0 - pulsation**2), b * np.sin(np.pi * b) / (1.0 + np.cos(np.pi * b))
    wanted = force * np.sqrt(v**2 - (limit / force) ** 2 * u**2)
    assert float(found["amplitude_mass"][0, 0, 0]) == pytest.approx(wanted, rel=1e-3)
    assert bool(found["stable"][0])


def same_motion(one: aq.System, other: aq.System, scheme: Any, within: float) -> None:
    """Amplitudes, and the largest Floquet multiplier, which says what is stable."""
    exact, found = (aq.periodic(own, scheme, period=1.0, steps=40) for own in (one, other))
    np.testing.assert_allclose(found["amplitude_m"], exact["amplitude_m"], rtol=within)
    radii = [np.hypot(own["multiplier_real"], own["multiplier_imag"]).max() for own in (exact, found)]
    assert abs(radii[1] - radii[0]) <= 1e-8
    assert found["residual"] < 1e-8


def pressed(friction: Any, floor: Any) -> aq.System:
    """A mass on a layer that slips and sticks."""
    loads = {"all": lambda t: [3.0 * np.sin(2.0 * np.pi * t), -4.0 + np.cos(2.0 * np.pi * t)]}
    one = aq.PointMasses("m", [(0.0, 0.0)], 1.0, forces=loads)
    held = aq.Spring("held", one.boundary("all"), stiffness=(30.0, 20.0), damping=(2.0, 3.0))
    layer = aq.Asperities(stiffness=400.0, damping=5.0)
    return aq.System(
        [one], interfaces=[aq.Interface("floor", one.boundary("all"), floor, layer, friction=friction)], springs=[held]
    )


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.HHT(-0.1), aq.GeneralisedAlpha.with_radius(0.8)], ids=str)
def test_motions_whose_jacobian_is_found_from_differences(scheme: Any) -> None:
    """A coefficient that does not depend on the slip rate is Coulomb's; a ball of 100 km is a plane."""
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    own = pressed(aq.Coulomb(0.3), plane)
    same_motion(own, pressed(aq.VelocityFriction([0.0, 10.0], [0.3, 0.3]), plane), scheme, 1e-12)
    ball = aq.RigidSphere(centre=(0.0, -1e5), radius=1e5)
    same_motion(pressed(None, plane), pressed(None, ball), scheme, 1e-5)


@pytest.mark.slow
def test_a_branch_over_a_parameter_of_the_system() -> None:
    """Static deflection k(u) under a constant and a harmonic force: amplitude over the stiffness of the spring."""

    def system(stiffness: float) -> aq.System:
        part = mass(1.0)
        return aq.System([part], springs=[aq.Spring("spring", part.boundary("all"), stiffness=stiffness, damping=0.5)])

    found = aq.periodic(system, aq.Theta(0.5), period=1.0, parameter=(20.0, 60.0), points=5, steps=400)
    w, k = 2.0 * np.pi, found["parameter"].values
    assert found["amplitude_mass"].values.ravel() == pytest.approx(1.0 / np.abs(k - w**2 + 0.5j * w), rel=1e-3)
    assert k[[0, -1]] == pytest.approx([20.0, 60.0])


def test_a_subharmonic_starts_from_a_point_of_a_branch(tmp_path: Any) -> None:
    import xarray

    system = duffing()
    branch = aq.periodic(system, aq.Theta(0.5), period=1.0, frequency=(0.28, 0.3), points=4, steps=200)
    branch.to_netcdf(tmp_path / "branch.nc")
    read = xarray.open_dataset(tmp_path / "branch.nc")
    again = aq.periodic(
        system, aq.Theta(0.5), period=1.0, frequency=(0.3, 0.28), points=4, steps=200, start=read.isel(point=-1)
    )
    assert again["initial_displacement"].values[0] == pytest.approx(branch["initial_displacement"].values[-1], rel=1e-6)
    twice = aq.periodic(system, aq.Theta(0.5), period=1.0, steps=200, periods=2)
    once = aq.periodic(system, aq.Theta(0.5), period=1.0, steps=200)
    assert float(twice["amplitude_mass"].item()) == pytest.approx(float(once["amplitude_mass"].item()), rel=1e-8)
    assert np.sort(
        np.abs(twice["multiplier_real"].values[0] + 1j * twice["multiplier_imag"].values[0])
    ) == pytest.approx(
        np.sort(np.abs(once["multiplier_real"].values[0] + 1j * once["multiplier_imag"].values[0])) ** 2, rel=1e-4
    )


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"period": 0.7}, "period = 0.7: is not a period of the loads"),
        ({}, "needs the period of the loads"),
        ({"period": 1.0, "frequency": (0.1,)}, r"frequency = \(0.1,\): must be two different numbers"),
        ({"period": 1.0, "frequency": "high"}, "frequency = 'high': must be two different numbers"),
        ({"period": 1.0, "frequency": (0.1, 0.1)}, "must be two different numbers"),
        ({"period": 1.0, "parameter": (0.1, 0.2)}, "must be a function of the parameter"),
        ({"period": 1.0, "frequency": (0.1, 0.2), "amplitude": (1.0, 2.0)}, "not frequency and amplitude"),
        ({"energy": (1e-3, 1.0)}, "systems without losses"),
        ({"period": 1.0, "energy": (1e-3, 1.0)}, "leave it out"),
        ({"period": 1.0, "start": 3}, "must be a point of a branch"),
        ({"period": 1.0, "steps": 0}, "steps = 0"),
    ],
)
def test_bad_input_is_told_in_one_line(options: dict[str, Any], line: str) -> None:
    with pytest.raises(aq.UserError, match=line):
        aq.periodic(duffing(), aq.Theta(0.5), **options)


def test_schemes_and_systems_that_are_refused() -> None:
    with pytest.raises(aq.UserError, match=r"scheme = .*must be Theta"):
        aq.periodic(duffing(), aq.Theta(1.0, solver="iterative"), period=1.0)
    with pytest.raises(aq.UserError, match=r"loses energy: nonlinear modes take Theta\(0.5\)"):
        aq.periodic(duffing(), aq.Theta(1.0), energy=(1e-3, 1.0))
    with pytest.raises(aq.UserError, match=r"scheme = .*must be Theta"):
        aq.periodic(duffing(), aq.Static(), period=1.0)
    with pytest.raises(aq.UserError, match="fall on whole steps"):
        aq.periodic(impact_oscillator(aq.Unilateral(), 2.0), aq.Theta(0.5), period=5.0)
    steel = aq.LinearElastic(young=1.0, density=1.0)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=400), steel, imposed={"left": {"x": 0.0}})
    with pytest.raises(aq.UserError, match=r"400 free coordinates; at most 300.*Modal"):
        aq.periodic(aq.System([bar]), aq.Theta(0.5), energy=(1e-3, 1.0))
    small = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=40), steel, imposed={"left": {"x": 0.0}})
    reduced = aq.Modal(small, 3, damping=0.01)
    shaken = aq.System([reduced], gravity=lambda t: np.cos(2.0 * np.pi * t))
    with pytest.raises(aq.UserError, match="beyond the modes of the reduced model"):
        aq.periodic(shaken, aq.Theta(0.5), period=1.0, frequency=(0.1, 50.0))


def test_a_branch_that_is_cut_short_says_so() -> None:
    with pytest.warns(UserWarning, match="has more than 5 motions"):
        found = aq.periodic(duffing(), aq.Theta(0.5), period=1.0, frequency=(0.1, 0.3), steps=100, most=5)
    assert found.attrs["complete"] == 0


@pytest.mark.slow
def test_figures_show_stability_and_bifurcations() -> None:
    found = aq.periodic(duffing(), aq.Theta(0.5), period=1.0, frequency=(0.2, 0.32), points=10, steps=100)
    (axes,) = aq.plots.frequency_response(found).axes
    labels = {line.get_label() for line in axes.lines}
    assert {"stable", "unstable", "fold"} <= labels
    assert len(aq.plots.periodic_orbits(found, [0, -1]).axes[0].lines) == 2
    assert aq.plots.backbone(found).axes[0].get_yscale() == "log"
    with pytest.raises(aq.UserError, match="part = 'rod'"):
        aq.plots.frequency_response(found, "rod")
    with pytest.raises(aq.UserError, match="branch = "):
        aq.plots.backbone(3)
