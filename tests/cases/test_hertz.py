"""Hertz, Hertz impact, Cattaneo and Mindlin: equilibrium, the half-plane's own equations, limits."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from arlequin.cases.reference.cattaneo import PartialSlip
from arlequin.cases.reference.hertz import (
    LineContact,
    SphereContact,
    disc_shortening,
    effective_modulus,
    effective_radius,
    fit_pressure,
)
from arlequin.cases.reference.hertz_impact import SphereImpact
from arlequin.models.errors import UserError
from arlequin.models.materials.elastic import LinearElastic

STEEL = LinearElastic(young=210e9, poisson=0.3, density=7800)
ALLOY = LinearElastic(young=70e9, poisson=0.3, density=2700)
LINE = LineContact(0.05, effective_modulus(STEEL, ALLOY), 35e6)
SPHERE = SphereContact(0.05, effective_modulus(STEEL), 1e4)


# ---- Hertz


def test_nafems_heavily_loaded_cylinder():
    """NAFEMS, Advanced finite element contact benchmarks, 2006, benchmark 1: 6.2146 mm, 3585.4 MPa (five digits)."""
    assert LINE.half_width == pytest.approx(6.2146e-3, abs=5e-8)
    assert LINE.peak == pytest.approx(3585.4e6, abs=5e4)


def test_an_infinitely_stiff_body_is_a_rigid_one():
    stiff = LinearElastic(young=1e30, poisson=0.3)
    assert effective_modulus(ALLOY, stiff) == pytest.approx(effective_modulus(ALLOY), rel=1e-14)
    assert effective_radius(0.02, 1e30) == pytest.approx(effective_radius(0.02), rel=1e-14)
    assert effective_radius(0.02, -0.03) == pytest.approx(0.06, rel=1e-14)


def test_line_pressure_carries_the_load():
    b = LINE.half_width
    total, _ = quad(LINE.pressure, -b, b, epsabs=1.0)
    assert total == pytest.approx(LINE.load, rel=1e-8)
    part, _ = quad(LINE.pressure, 0.1 * b, 0.7 * b)
    assert LINE.force_between(0.1 * b, 0.7 * b) == pytest.approx(part, rel=1e-12)
    assert LINE.force_between(-1, 1) == pytest.approx(LINE.load, rel=1e-14)


def test_line_pressure_gives_the_gap_its_curvature():
    """Half-plane: u_z′(x) = −(2/(πE*)) ∫ p(s)/(x − s) ds must be −x/R in the contact (Johnson 2.24)."""
    b, e = LINE.half_width, LINE.modulus
    for x in (0.2 * b, -0.7 * b):
        integral, _ = quad(LINE.pressure, -b, b, weight="cauchy", wvar=x)
        assert 2 / (math.pi * e) * integral == pytest.approx(-x / LINE.radius, rel=1e-7)


def test_axis_stress_holds_the_known_extreme():
    """Largest shear 0.300 p0 at 0.786 b; at the surface both stresses are −p0; below, the load's force remains."""
    z = np.linspace(0, 3, 30001) * LINE.half_width
    lateral, vertical = LINE.axis_stress(z).T / LINE.peak
    shear = 0.5 * np.abs(lateral - vertical)
    assert shear.max() == pytest.approx(0.300, abs=5e-4)
    assert z[shear.argmax()] / LINE.half_width == pytest.approx(0.786, abs=1e-3)
    assert (lateral[0], vertical[0]) == (-1.0, -1.0)
    deep = 1e4 * LINE.half_width
    # Flamant: σ_z = −2F'/(πz)
    assert LINE.axis_stress(deep)[1] == pytest.approx(-2 * LINE.load / (math.pi * deep), rel=1e-7)


def test_half_width_round_trip():
    assert LineContact.of_half_width(0.05, LINE.modulus, LINE.half_width).load == pytest.approx(LINE.load, rel=1e-14)
    assert SphereContact.of_approach(0.05, SPHERE.modulus, SPHERE.approach).load == pytest.approx(1e4, rel=1e-13)


def test_disc_shortening_is_the_integral_of_the_strain_on_its_axis():
    """Superposition of the contact's strain and of the opposite force's, from a depth where Flamant holds."""
    contact = LineContact(0.05, effective_modulus(STEEL), 1e5)
    b, r, f = contact.half_width, contact.radius, contact.load
    nu, e = STEEL.poisson, STEEL.young

    def strain(z):
        lateral, vertical = contact.axis_stress(z)
        # the opposite force, and the uniform tension F/(πR) that frees the rim (Timoshenko & Goodier, §41)
        vertical = vertical - 2 * f / (math.pi * (2 * r - z)) + f / (math.pi * r)
        lateral = lateral + f / (math.pi * r)
        return -(1 - nu**2) / e * (vertical - nu / (1 - nu) * lateral)

    total, _ = quad(strain, 0, r, points=[b, 10 * b], limit=200)
    assert disc_shortening(contact, STEEL) == pytest.approx(total, rel=2e-3)


def test_sphere_pressure_carries_the_load():
    a = SPHERE.half_width
    total, _ = quad(lambda r: 2 * math.pi * r * SPHERE.pressure(r), 0, a)
    assert total == pytest.approx(SPHERE.load, rel=1e-10)
    part, _ = quad(lambda r: 2 * math.pi * r * SPHERE.pressure(r), 0, 0.6 * a)
    assert SPHERE.force_within(0.6 * a) == pytest.approx(part, rel=1e-10)
    assert SPHERE.peak == pytest.approx(2 * SPHERE.modulus * a / (math.pi * SPHERE.radius), rel=1e-13)


def test_sphere_settlement_of_the_centre():
    """Boussinesq: u_z(0) = ∫ p(r) 2πr/(πE* r) dr = δ (the sphere's own shape takes nothing at r = 0)."""
    total, _ = quad(lambda r: 2 * SPHERE.pressure(r), 0, SPHERE.half_width)
    assert total / SPHERE.modulus == pytest.approx(SPHERE.approach, rel=1e-10)


def test_fit_ignores_a_bad_edge_and_a_bad_middle():
    b = LINE.half_width
    x = (np.arange(-20, 21) + 0.37) * b / 15
    p = LINE.pressure(x)
    edge = np.abs(x) > 0.985 * b  # nodal pressures that smear the edge over an element
    p = np.where(edge & (np.abs(x) < 1.05 * b), 0.1 * LINE.peak, p)
    p[np.abs(x) < 0.1 * b] *= 1.01
    p[np.abs(x).argmin()] = 0.8 * LINE.peak  # a node on the axis of a sphere
    fit = fit_pressure(x, p)
    assert fit.half_width == pytest.approx(b, rel=1e-12)
    assert fit.peak == pytest.approx(LINE.peak, rel=1e-12)


def test_fit_of_noisy_pressures_is_better_than_counting():
    b, h = LINE.half_width, LINE.half_width / 10
    noise = np.random.default_rng(1)
    x = np.arange(-15, 16) * h
    errors = []
    for _ in range(200):
        p = LINE.pressure(x + 0.3 * h) + noise.normal(0, 0.003 * LINE.peak, x.size)
        errors.append(fit_pressure(x + 0.3 * h, p).half_width / b - 1)
    assert np.sqrt(np.mean(np.square(errors))) < 0.003


@pytest.mark.parametrize(
    ("x", "p", "words"),
    [
        ([0.0, 1.0], [0.0, 0.0], "0 points"),
        ([0.0, 0.5, 0.6], [1.0, 0.5, 0.8], "does not fall"),
        ([0.0, 1.0], [1.0], "shape"),
        ([0.0, 1.0], [1.0, math.nan], "finite"),
    ],
)
def test_fit_refuses(x, p, words):
    with pytest.raises(UserError, match=words):
        fit_pressure(x, p)


@pytest.mark.parametrize("build", [lambda: LineContact(-1, 1, 1), lambda: SphereContact(1, 0, 1)])
def test_contacts_refuse(build):
    with pytest.raises(UserError, match="must be positive"):
        build()
    with pytest.raises(UserError, match="radius"):
        effective_radius(0.02, -0.01)
    with pytest.raises(UserError, match="bodies"):
        effective_modulus()


# ---- Hertz impact

IMPACT = SphereImpact(0.02, effective_modulus(STEEL), 4 / 3 * math.pi * 0.02**3 * 7800, 0.1, start=1e-5)


def test_impact_against_its_differential_equation():
    start, end = IMPACT.start, IMPACT.start + IMPACT.duration
    t = np.linspace(start, end, 101)
    v, d = IMPACT.velocity, IMPACT.largest_approach
    # in units of d and d/v
    k = IMPACT.stiffness / IMPACT.radius**1.5 / IMPACT.mass * d**2.5 / v**2
    motion = solve_ivp(
        lambda s, y: [y[1], -k * max(y[0], 0.0) ** 1.5],
        (0, (end - start) * v / d), [0.0, 1.0], t_eval=(t - start) * v / d, rtol=1e-11, atol=1e-13,
        method="DOP853",
    )  # fmt: skip
    np.testing.assert_allclose(IMPACT.approach(t) / d, motion.y[0], atol=1e-8)
    np.testing.assert_allclose(IMPACT.impulse(t) / (IMPACT.mass * v), 1 - motion.y[1], atol=1e-8)


def test_impact_constants():
    m, r, e, v = IMPACT.mass, IMPACT.radius, IMPACT.modulus, IMPACT.velocity
    assert IMPACT.duration == pytest.approx(2.87 * (m**2 / (r * e**2 * v)) ** 0.2, rel=1e-3)
    assert IMPACT.peak.approach == pytest.approx(IMPACT.largest_approach, rel=1e-13)
    # all the kinetic energy is stored: ∫ F dδ = (2/5) F δ
    assert 0.4 * IMPACT.peak.load * IMPACT.largest_approach == pytest.approx(0.5 * m * v * v, rel=1e-13)
    middle = IMPACT.start + 0.5 * IMPACT.duration
    assert IMPACT.force(middle) == pytest.approx(IMPACT.peak.load, rel=1e-12)


def test_impact_impulse_is_the_integral_of_the_force():
    edges = IMPACT.start + IMPACT.duration * np.array([-0.1, 0.0, 0.3, 0.55, 1.0, 1.3])
    parts = [quad(IMPACT.force, a, b, epsrel=1e-10)[0] for a, b in itertools.pairwise(edges)]
    np.testing.assert_allclose(np.diff(IMPACT.impulse(edges)), parts, atol=1e-9 * IMPACT.mass * IMPACT.velocity)
    assert IMPACT.impulse(edges[-1]) == pytest.approx(2 * IMPACT.mass * IMPACT.velocity, rel=1e-14)


# ---- Cattaneo and Mindlin


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_shear_tractions_carry_the_shear(share):
    line = PartialSlip(LINE, 0.4, share * 0.4 * LINE.load)
    b = LINE.half_width
    total, _ = quad(line.traction, -b, b, points=[-line.stick_half_width, line.stick_half_width], limit=200)
    assert total == pytest.approx(line.shear, rel=1e-7, abs=1e-9 * LINE.load)
    sphere = PartialSlip(SPHERE, 0.4, share * 0.4 * SPHERE.load)
    c, a = sphere.stick_half_width, SPHERE.half_width
    total, _ = quad(lambda r: 2 * math.pi * r * sphere.traction(r), 0, a, points=[c], limit=200)
    assert total == pytest.approx(sphere.shear, rel=1e-7, abs=1e-9 * SPHERE.load)


@pytest.mark.parametrize("contact", [LINE, SPHERE])
def test_stick_and_slip_zones(contact):
    slip = PartialSlip(contact, 0.3, 0.12 * contact.load)
    x = np.linspace(-1.2, 1.2, 2401) * contact.half_width
    q, limit = slip.traction(x), 0.3 * contact.pressure(x)
    stick = np.abs(x) < 0.999 * slip.stick_half_width
    assert np.all(q[stick] < limit[stick])
    np.testing.assert_array_equal(q[np.abs(x) > slip.stick_half_width], limit[np.abs(x) > slip.stick_half_width])
    assert np.all(q >= -1e-12 * contact.peak)
    assert fit_pressure(x, limit - q).half_width == pytest.approx(slip.stick_half_width, rel=1e-9)


def test_the_stick_zone_moves_as_one():
    """Half-plane: u_x′ is −(2/(πE*)) PV∫ q/(x − s) ds, which must vanish where it sticks, and not where it slips."""
    slip = PartialSlip(LINE, 0.3, 0.15 * LINE.load)
    b, c = LINE.half_width, slip.stick_half_width

    def slope(x):
        scale = slip.friction * LINE.peak
        return quad(lambda s: float(slip.traction(s)) / scale, -b, b, weight="cauchy", wvar=x, epsrel=1e-6, limit=400)[
            0
        ]

    assert abs(slope(0.3 * c)) < 1e-5  # of q/(μ p0)
    assert abs(slope(-0.8 * c)) < 1e-5
    assert abs(slope(0.5 * (b + c))) > 0.1


def test_spheres_displacement_starts_as_mindlins_stiffness():
    slip = PartialSlip(SPHERE, 0.3, 1e-6 * SPHERE.load)
    stiffness = 8 * SPHERE.half_width * STEEL.shear / (2 - STEEL.poisson)
    assert slip.displacement(STEEL) == pytest.approx(slip.shear / stiffness, rel=1e-5)
    with pytest.raises(UserError, match="line contact"):
        PartialSlip(LINE, 0.3, 0.0).displacement(STEEL)


def test_shear_beyond_friction_is_refused():
    with pytest.raises(UserError, match="shear"):
        PartialSlip(LINE, 0.3, 0.31 * LINE.load)
