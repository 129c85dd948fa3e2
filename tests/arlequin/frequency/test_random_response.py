"""Stationary random responses against closed forms: oscillators, beams under distributed forces, cross-spectra."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import arlequin as aq
from arlequin.frequency import (
    Acceleration,
    BaseAcceleration,
    CorrelatedForce,
    CrossSpectrum,
    Displacement,
    Force,
    RainOnTheRoof,
    SectionForce,
    Spectrum,
    SpringForce,
    SupportForce,
    SupportMotion,
    TurbulentFlow,
    Velocity,
)

YOUNG, DENSITY, LENGTH = 2e11, 7800.0, 0.5
STEEL = aq.LinearElastic(young=YOUNG, poisson=0.3, density=DENSITY)
SECTION = aq.Section.rectangle(height=0.02, width=0.01, poisson=0.3)
BENDING, LINE_MASS = YOUNG * 0.01 * 0.02**3 / 12.0, DENSITY * 0.01 * 0.02
METHODS: list[Any] = ["modal", "direct"]


def random(*arguments: Any, **options: Any) -> Any:
    return aq.random_response(*arguments, progress=False, **options)


def densities(*arguments: Any, **options: Any) -> Any:
    """With rough integrals, where only the densities count."""
    return random(*arguments, **options, tolerance=0.1)


def oscillator(damping: float = 4.0) -> tuple[aq.System, Any, Any]:
    """2 kg on 800 N/m: 20 rad/s, ζ = 0.05."""
    mass = aq.PointMasses("mass", 0.0, 2.0)
    spring = aq.Spring("spring", mass.boundary("all"), stiffness=800.0, damping=damping)
    return aq.System([mass], springs=[spring]), mass.boundary("all"), spring


@pytest.mark.parametrize("method", METHODS)
def test_oscillator_under_white_noise(method: str) -> None:
    """σ² = S/(4ck), of the velocity S/(4cm), less the tails above the highest frequency F: S/((2π)⁴ 3 m² F³) and
    S/((2π)² m² F); |H|² at each frequency; zero crossings σ_v/(2πσ)."""
    system, at, spring = oscillator()
    density, f = 0.5, np.concatenate([[0.0, 3.0], np.linspace(4.0, 4000.0, 4)])
    of = {"x": Displacement(at, "x"), "v": Velocity(at, "x"), "f": SpringForce(spring)}
    load = Spectrum(Force(at, 1.0), lambda f: density)
    found = random(system, load, of, f, method=method, duration=600.0)
    omega = 2 * np.pi * f
    square = 1.0 / ((800.0 - 2.0 * omega**2) ** 2 + (4.0 * omega) ** 2)
    np.testing.assert_allclose(found["x"].values, density * square, rtol=1e-10)
    np.testing.assert_allclose(found["f"].values, density * (800.0**2 + (4.0 * omega) ** 2) * square, rtol=1e-10)
    top, m = f[-1], 2.0
    x2 = density / (4 * 4.0 * 800.0) - density / ((2 * np.pi) ** 4 * 3 * m**2 * top**3)
    v2 = density / (4 * 4.0 * m) - density / ((2 * np.pi) ** 2 * m**2 * top)
    assert found["rms_x"].item() == pytest.approx(math.sqrt(x2), rel=1e-6)
    assert found["rms_v"].item() == pytest.approx(math.sqrt(v2), rel=1e-6)
    crossings = math.sqrt(v2 / x2) / (2 * np.pi)
    assert found["zero_crossings_x"].item() == pytest.approx(crossings, rel=1e-6)
    root = math.sqrt(2 * math.log(600.0 * crossings))
    assert found["peak_factor_x"].item() == pytest.approx(root + 0.5772156649 / root, rel=1e-6)
    assert found["x"].attrs["units"] == "m^2/Hz" and found["v"].attrs["units"] == "(m/s)^2/Hz"


@pytest.mark.parametrize("method", METHODS)
def test_base_acceleration_and_miles_equation(method: str) -> None:
    """E[a²] = π f_n (1 + 4ζ²) S/(4ζ) of the absolute acceleration (k x + c v)/m: Miles' equation for ζ → 0."""
    system, _, spring = oscillator()
    zeta, natural, density = 0.05, 20.0 / (2 * np.pi), 0.2
    top = 20000.0
    found = random(
        system, Spectrum(BaseAcceleration(1.0), lambda f: density), SpringForce(spring), [0.0, top], method=method
    )
    tail = (2 * zeta * natural) ** 2 / top  # of S (2ζ f_n/f)²
    exact = density * (np.pi * natural * (1 + 4 * zeta**2) / (4 * zeta) - tail)
    assert found["rms_response"].item() == pytest.approx(2.0 * math.sqrt(exact), rel=1e-6)
    miles = math.sqrt(0.5 * np.pi * natural * density / (2 * zeta))
    assert found["rms_response"].item() / 2.0 == pytest.approx(miles, rel=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_moved_base(method: str) -> None:
    """The acceleration of a mass on a base that moves by S_a/ω⁴ is that of Miles' oscillator in absolute terms."""
    mass = aq.PointMasses("mass", 0.0, 2.0)
    base = aq.PointMasses("base", 0.0, 5.0, imposed={"all": {"x": 0.0}})
    spring = aq.Spring("spring", mass.boundary("all"), base.boundary("all"), 800.0, damping=4.0)
    system = aq.System([mass, base], springs=[spring])
    motion = Spectrum(SupportMotion(base.boundary("all"), "x"), lambda f: 0.2 / (2 * np.pi * f) ** 4)
    of = {"a": Acceleration(mass.boundary("all"), "x"), "r": SupportForce(base.boundary("all"), "x")}
    f = np.array([1.0, 3.0, 8.0])
    found = densities(system, motion, of, f, method=method)
    omega = 2 * np.pi * f
    stiffness = 800.0 + 4j * omega
    transmitted = stiffness / (stiffness - 2.0 * omega**2)
    np.testing.assert_allclose(found["a"].values, 0.2 * np.abs(transmitted) ** 2, rtol=1e-9)
    force = 5.0 + 2.0 * transmitted
    np.testing.assert_allclose(found["r"].values, 0.2 * np.abs(force) ** 2, rtol=1e-9)


def pinned(cells: int = 120, axes: int = 2, **options: Any) -> aq.Beam:
    """Pinned at both ends, of Euler and Bernoulli."""
    ends = {2: {"x": 0.0, "y": 0.0}, 3: {"x": 0.0, "y": 0.0, "z": 0.0, "rx": 0.0}}[axes]
    right = {key: 0.0 for key in ends if key not in ("x", "rx")}
    zero = (0.0,) * (axes - 1)
    return aq.Beam.between(
        "beam", (0.0, *zero), (LENGTH, *zero), cells, STEEL, SECTION, shear=False, rotary_inertia=False,
        imposed={"left": ends, "right": right}, **options,
    )  # fmt: skip


def node(beam: Any, number: int) -> Any:
    """The node of a number from the left as a boundary."""
    axis = beam.boundary("axis")
    order = np.argsort(axis.positions[:, 0])
    return replace(axis, name=f"node {number}", nodes=axis.nodes[[order[number]]], areas=np.ones(1))


def all_modes(method: str) -> dict[str, Any]:
    return {"modes": 60} if method == "modal" else {}


def modal_sum(f: Any, x: float, acceptance: Any, loss: float, count: int) -> Any:
    """S_w/S at x: Σ_mn φ_m φ_n H_m H̄_n J_mn with φ = sin(mπx/L), H = (2/μL)/(ω_m² (1 + iη) − ω²)."""
    m = np.arange(1, count + 1)
    squares = BENDING / LINE_MASS * (m * np.pi / LENGTH) ** 4
    omega = 2 * np.pi * np.atleast_1d(f)
    response = np.sin(m * np.pi * x / LENGTH) * 2 / (LINE_MASS * LENGTH)
    h = response / (squares * (1 + 1j * loss) - omega[:, None] ** 2)
    return np.einsum("fm,mn,fn->f", h, acceptance(m[:, None], m), h.conj()).real


def rain(m: Any, n: Any) -> Any:
    return np.where(m == n, LENGTH / 2, 0.0)


def exponential(correlation: float) -> Any:
    """∬ sin(mπx/L) sin(nπx′/L) exp(−|x − x′|/λ) dx dx′, with a = 1/λ, p = mπ/L, q = nπ/L:

    a L δ_mn/(a² + p²) + p q (1 + (−1)^(m + n) − e^{−aL} ((−1)^m + (−1)^n))/((a² + p²)(a² + q²)).
    """
    a = 1.0 / correlation

    def acceptance(m: Any, n: Any) -> Any:
        p, q = m * np.pi / LENGTH, n * np.pi / LENGTH
        decay = np.exp(-a * LENGTH)
        even = 1.0 + (-1.0) ** (m + n) - decay * ((-1.0) ** m + (-1.0) ** n)
        return np.where(m == n, a * LENGTH / (a**2 + p**2), 0.0) + p * q * even / ((a**2 + p**2) * (a**2 + q**2))

    return acceptance


def test_joint_acceptance_of_sines() -> None:
    """The closed form that the other tests take, against quadrature."""
    x, w = np.polynomial.legendre.leggauss(60)
    for m, n in ((1, 1), (1, 3), (2, 4), (1, 2)):
        total = 0.0
        for low in (False, True):  # both sides of x = x′, where the kernel has its kink
            s = 0.5 * LENGTH * (1 + x)
            inner = (0.5 * s[:, None] * (1 + x)) if low else s[:, None] + 0.5 * (LENGTH - s[:, None]) * (1 + x)
            size = 0.5 * s if low else 0.5 * (LENGTH - s)
            values = np.sin(m * np.pi * s / LENGTH)[:, None] * np.sin(n * np.pi * inner / LENGTH)
            values = values * np.exp(-np.abs(s[:, None] - inner) / 0.13)
            total += 0.5 * LENGTH * (w * size) @ (values @ w)
        assert exponential(0.13)(np.array(m), np.array(n)) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_beam_under_rain_on_the_roof(method: str) -> None:
    """PSD and rms of a pinned beam at 0.3 L: 1e-6 (the rms by modes)."""
    beam, loss = pinned(), 0.02
    at = node(beam, 36)
    f = np.array([20.0, 178.0, 400.0, 730.0, 1500.0])
    load = RainOnTheRoof(beam, lambda f: 3.0)
    evaluate = random if method == "modal" else densities
    found = evaluate(
        aq.System([beam]), load, Displacement(at, "y"), f, structural=loss, method=method, **all_modes(method)
    )
    exact = 3.0 * modal_sum(f, 0.3 * LENGTH, rain, loss, 400)
    np.testing.assert_allclose(found["response"].values, exact, rtol=1e-6)
    if method == "direct":
        return
    natural = np.sqrt(BENDING / LINE_MASS) * (np.arange(1, 4) * np.pi / LENGTH) ** 2 / (2 * np.pi)
    variance, edges = 0.0, [f[0], *natural[natural < f[-1]], f[-1]]
    for a, b in pairwise(edges):
        variance += quad(
            lambda f: modal_sum(f, 0.3 * LENGTH, rain, loss, 40)[0], a, b, epsabs=0.0, epsrel=1e-9, limit=400
        )[0]
    assert found["rms_response"].item() ** 2 == pytest.approx(3.0 * variance, rel=1e-6)


@pytest.mark.parametrize("correlation", [0.02, 0.13, 2.0])
@pytest.mark.parametrize("method", METHODS)
def test_beam_under_a_correlated_force(method: str, correlation: float) -> None:
    """By the closed joint acceptance of sine modes: 1e-6; `TurbulentFlow`, with its stations, to 0.3 %."""
    beam, loss = pinned(), 0.02
    f = np.array([20.0, 178.0, 400.0, 730.0, 1500.0])
    exact = modal_sum(f, 0.3 * LENGTH, exponential(correlation), loss, 400)
    of = Displacement(node(beam, 36), "y")
    force = CorrelatedForce(beam, lambda f: 1.0, correlation=correlation)
    found = densities(aq.System([beam]), force, of, f, structural=loss, method=method, **all_modes(method))
    np.testing.assert_allclose(found["response"].values, exact, rtol=1e-6)


def test_correlation_that_vanishes_is_rain() -> None:
    """2 λ S of rain on the roof, to the order (λ π m/L)²."""
    beam = pinned(cells=20)
    of, f = Displacement(node(beam, 6), "y"), np.array([50.0, 178.0, 600.0])
    a = densities(aq.System([beam]), CorrelatedForce(beam, lambda f: 1.0, correlation=2e-4), of, f, structural=0.05)
    b = densities(aq.System([beam]), RainOnTheRoof(beam, lambda f: 4e-4), of, f, structural=0.05)
    np.testing.assert_allclose(a["response"].values, b["response"].values, rtol=1e-3)


@pytest.mark.parametrize("axes", [2, 3])
def test_turbulence_of_the_time_domain(axes: int) -> None:
    """The same spectrum as the correlated force in each direction, up to its highest frequency, to 0.3 %."""
    flow = aq.Turbulence(lambda f: 4.0 / (1 + f / 100.0), highest=700.0, correlation=0.13, duration=1.0, seed=1)
    beam = pinned(axes=axes, turbulence=flow)
    f = np.array([50.0, 178.0, 400.0, 900.0])
    of = {"M": SectionForce(beam, 36, "M" if axes == 2 else "Mz"), "w": Displacement(node(beam, 36), "y")}
    found = densities(aq.System([beam]), TurbulentFlow(), of, f, structural=0.02, modes=40)
    plain = pinned(axes=axes)
    of = {"M": SectionForce(plain, 36, "M" if axes == 2 else "Mz"), "w": Displacement(node(plain, 36), "y")}
    exact = densities(
        aq.System([plain]), CorrelatedForce(plain, flow.spectrum, correlation=0.13), of, f, structural=0.02, modes=40
    )
    for name in of:
        np.testing.assert_allclose(found[name].values[:3], exact[name].values[:3], rtol=3e-3)
        assert found[name].values[3] == 0.0 and exact[name].values[3] > 0.0


@pytest.mark.parametrize("method", METHODS)
def test_coherent_and_incoherent_forces(method: str) -> None:
    """Fully coherent forces act as their sum, incoherent ones by the sum of squares, with a phase in quadrature too."""
    beam = pinned(cells=20)
    system, (a, b) = aq.System([beam]), (node(beam, k) for k in (5, 12))
    forces = [Force(at, (0.0, 1.0)) for at in (a, b)]
    f, of = np.array([30.0, 178.0, 500.0]), Displacement(node(beam, 8), "y")
    density = ([0.0, 1000.0], [2.0, 2.0]), ([0.0, 1000.0], [0.5, 0.5])

    def found(coherence: Any) -> Any:
        load = CrossSpectrum(forces, density, coherence)
        return densities(system, load, of, f, structural=0.02, method=method)["response"].values

    h = [
        aq.frequency_response(system, force, of, f, structural=0.02, progress=False)["response"].values
        for force in forces
    ]
    tolerance = 1e-8 if method == "direct" else 2e-3
    for gamma in (1.0, 0.0, 0.6, 0.6j):
        cross = (gamma * np.sqrt(2.0 * 0.5) * h[0] * h[1].conj()).real
        exact = 2.0 * np.abs(h[0]) ** 2 + 0.5 * np.abs(h[1]) ** 2 + 2 * cross
        matrix = np.array([[1.0, gamma], [np.conj(gamma), 1.0]])
        np.testing.assert_allclose(found(matrix), exact, rtol=tolerance)
        np.testing.assert_allclose(found(lambda f, matrix=matrix: matrix), exact, rtol=tolerance)
    together = densities(system, Spectrum(forces, density[0]), of, f, structural=0.02, method=method)["response"].values
    np.testing.assert_allclose(together, 2.0 * np.abs(h[0] + h[1]) ** 2, rtol=tolerance)
    both = [Spectrum(force, each) for force, each in zip(forces, density, strict=True)]
    independent = densities(system, both, of, f, structural=0.02, method=method)["response"].values
    np.testing.assert_allclose(independent, found(np.eye(2)), rtol=1e-10)


def test_table_with_kinks() -> None:
    """σ² of a table that is linear in pieces, ∫ S |H|² df by quadrature between its kinks: 1e-7."""
    system, at, _ = oscillator()
    table = ([0.5, 2.0, 3.5, 10.0, 30.0], [0.0, 1.0, 0.2, 0.7, 0.1])
    found = random(system, Spectrum(Force(at, 1.0), table), Displacement(at, "x"), [0.0, 50.0])

    def integrand(f: float) -> float:
        omega = 2 * np.pi * f
        return float(np.interp(f, *table)) / ((800.0 - 2.0 * omega**2) ** 2 + (4.0 * omega) ** 2)

    edges = [0.5, 2.0, 20 / (2 * np.pi), 3.5, 10.0, 30.0]
    exact = sum(quad(integrand, a, b, epsabs=0.0, epsrel=1e-11, limit=300)[0] for a, b in pairwise(edges))
    assert found["rms_response"].item() ** 2 == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize("held", ["support", "relation"])
@pytest.mark.parametrize("load", ["force", "rain"])
def test_outputs_at_rest_take_no_adaptive_integrals(held: str, load: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deflection of a support, and that of a point which a relation holds, is 0 beside that of the other points,
    with as few factors as the sizes of the integrals need: 15 in each of at most 8 pieces."""
    from arlequin.frequency.complex_factor import ConstrainedFactor

    beam = pinned(cells=4)
    middle, end = node(beam, 2), beam.boundary("left")
    relations = [aq.Relation("hold", [(middle, "y", 1.0)])] if held == "relation" else []
    at = middle if held == "relation" else end
    psd: Any = (
        RainOnTheRoof(beam, lambda f: 1.0)
        if load == "rain"
        else Spectrum(Force(node(beam, 1), (0.0, 1.0)), lambda f: 1.0)
    )
    built, factors = ConstrainedFactor.__init__, []
    monkeypatch.setattr(ConstrainedFactor, "__init__", lambda self, *a: (factors.append(self), built(self, *a))[1])
    arguments = aq.System([beam], relations=relations), psd
    found = random(*arguments, Displacement(at, "y"), [10.0, 700.0], structural=0.02, method="direct")
    assert len(factors) < 15 * 8 + 10
    beside = random(*arguments, Displacement(node(beam, 1), "y"), [10.0, 700.0], structural=0.02)
    assert found["rms_response"].item() <= 1e-10 * beside["rms_response"].item()
