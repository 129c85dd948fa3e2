"""Spherical summits against quadrature of their integrals, Bessel functions and the density of summits."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import kv

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.greenwood_williamson import GreenwoodWilliamson
from arlequin.multilevel.rough.partial_moments import exponential_moment, partial_moment
from arlequin.multilevel.rough.summits import SummitStatistics

E, R, ETA, SIGMA = 1.1e11, 2e-5, 8e9, 3e-7
GAPS = SIGMA * np.array([-3.0, -0.7, 0.0, 0.4, 1.0, 2.5, 5.0])


def above(f, d, deviation=1.0):
    """∫_0^∞ f(ω) φ(d + ω) dω of N(0, deviation²), ω = x² as f has a root at 0."""

    def integrand(x):
        return 2.0 * x * f(x * x) * math.exp(-0.5 * ((d + x * x) / deviation) ** 2)

    middle = math.sqrt(max(-d, 0.0))
    top = math.sqrt(max(-d, 0.0) + 12.0 * deviation)
    parts = [(0.0, middle), (middle, top)] if middle else [(0.0, top)]
    total = sum(quad(integrand, *part, epsabs=0.0, epsrel=1e-12, limit=400)[0] for part in parts)
    return total / (deviation * math.sqrt(2.0 * math.pi))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, 1.5, 2.5])
@pytest.mark.parametrize("d", [-25.0, -19.9, -6.0, -1.0, 0.0, 0.3, 2.0, 5.9, 8.0, 20.0])
def test_partial_moments_by_quadrature(order, d):
    assert partial_moment(order, d) == pytest.approx(above(lambda x: x**order, d), rel=3e-9, abs=0.0)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("order", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("d", [-3000.0, -60.1, -59.9, -3.0, 0.0, 2.0, 700.0])
def test_exponential_moments_by_quadrature(order, d):
    low = max(d, 0.0)
    moment = quad(lambda x: 2.0 * x * (x * x + low - d) ** order * math.exp(-x * x), 0.0, 7.0, epsrel=1e-12)[0]
    assert exponential_moment(order, d) == pytest.approx(math.exp(-low) * moment, rel=1e-11, abs=0.0)


def test_moments_at_the_ends_of_doubles():
    for order in (0.5, 1.0, 1.5):
        np.testing.assert_array_equal(partial_moment(order, [40.0, 1e9]), 0.0)
        np.testing.assert_allclose(partial_moment(order, [-1e9]), 1e9**order, rtol=1e-15)
        np.testing.assert_allclose(exponential_moment(order, [-1e12, 1e9]), [1e12**order, 0.0], rtol=2e-12)


def test_greenwood_williamson_in_bessel_functions():
    """F_{3/2}(d) = √d e^{−d²/4} [(1 + d²) K_{1/4} − d² K_{3/4}](d²/4)/(4 √π), d > 0."""
    theory = GreenwoodWilliamson(E, R, ETA, SIGMA)
    d = np.linspace(0.2, 5.0, 30)
    x = d**2 / 4.0
    bessel = np.sqrt(d) * np.exp(-x) * ((1.0 + d**2) * kv(0.25, x) - d**2 * kv(0.75, x)) / (4.0 * math.sqrt(math.pi))
    expected = 4.0 / 3.0 * E * ETA * math.sqrt(R) * SIGMA**1.5 * bessel
    np.testing.assert_allclose(theory.pressure(SIGMA * d), expected, rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 2e-7])
def test_greenwood_williamson_by_quadrature(offset):
    theory = GreenwoodWilliamson(E, R, ETA, SIGMA, offset=offset)
    pressure = [above(lambda w: 4.0 / 3.0 * E * ETA * math.sqrt(R) * w**1.5, d, SIGMA) for d in GAPS]
    area = [above(lambda w: math.pi * R * ETA * w, d, SIGMA) for d in GAPS]
    np.testing.assert_allclose(theory.pressure(GAPS + offset), pressure, rtol=3e-9)
    np.testing.assert_allclose(theory.area(GAPS + offset), area, rtol=1e-9)


def test_exponential_heights():
    theory = GreenwoodWilliamson(E, R, ETA, SIGMA, heights="exponential")
    closed = math.sqrt(math.pi) * E * ETA * math.sqrt(R) * SIGMA**1.5
    d = np.linspace(0.0, 6.0, 7) * SIGMA
    np.testing.assert_allclose(theory.pressure(d), closed * np.exp(-d / SIGMA), rtol=1e-13)
    ratio = math.sqrt(math.pi * R / SIGMA) / E  # area over pressure, at all gaps
    np.testing.assert_allclose(theory.area(d), ratio * theory.pressure(d), rtol=1e-13)
    d = -1.7 * SIGMA  # all summits are touched
    load = quad(lambda z: (z - d) ** 1.5 * math.exp(-z / SIGMA) / SIGMA, 0.0, 50 * SIGMA, epsabs=0, epsrel=1e-12)[0]
    assert theory.pressure(d) == pytest.approx(4.0 / 3.0 * E * ETA * math.sqrt(R) * load, rel=1e-11)


def summits_mean(f, m0, m2, m4):
    """Sum of f(C, r) over the summits of unit area: Nayak's density in mean curvature and half difference."""

    def density(r, C):
        gauss = math.exp(-0.75 * C**2 / m4) / math.sqrt(4.0 / 3.0 * math.pi * m4)
        return (C**2 - r**2) / (2.0 * math.pi * m2) * gauss * 3.0 * r / m4 * math.exp(-1.5 * r**2 / m4) * f(C, r)

    return dblquad(density, 0.0, 12.0 * math.sqrt(m4), 0.0, lambda C: C, epsabs=0.0, epsrel=1e-9)[0]


def test_summit_statistics_by_quadrature():
    m0, m2, m4 = 3.0, 0.8, 1.3
    s = SummitStatistics(m0, m2, m4)
    density, first, second = (summits_mean(lambda C, r, n=n: C**n, m0, m2, m4) for n in (0, 1, 2))
    regression = m2 / (2.0 * m4 / 3.0)  # z | C = N(regression C, m0 − regression m2)
    assert s.density == pytest.approx(density, rel=1e-8)
    assert 1.0 / s.radius == pytest.approx(first / density, rel=1e-8)
    assert s.mean_height == pytest.approx(regression * first / density, rel=1e-8)
    variance = m0 - regression * m2 + regression**2 * (second / density - (first / density) ** 2)
    assert s.height_deviation == pytest.approx(math.sqrt(variance), rel=1e-7)
    assert s.height_deviation**2 == pytest.approx((1.0 - 0.8968 / s.bandwidth) * m0, rel=1e-5)  # as printed


def test_moments_become_summits():
    theory, s = GreenwoodWilliamson.from_moments(E, 3.0, 0.8, 1.3), SummitStatistics(3.0, 0.8, 1.3)
    assert theory == GreenwoodWilliamson(E, s.radius, s.density, s.height_deviation, "gaussian", s.mean_height)


@pytest.mark.parametrize(
    ("build", "line"),
    [
        (lambda: GreenwoodWilliamson(-1.0, R, ETA, SIGMA), "modulus = -1.0: must be positive"),
        (lambda: GreenwoodWilliamson(E, R, ETA, SIGMA, heights="flat"), "heights = 'flat': must be one of"),
        (lambda: SummitStatistics(1.0, 1.0, 1.4), "m0 m4/m2² = 1.4 must be above 3/2"),
    ],
)
def test_refusals(build, line):
    with pytest.raises(UserError, match=line):
        build()
