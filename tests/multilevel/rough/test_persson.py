"""Persson's theory against quadrature of its integrals, its limits and the energy it is made of."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.isotropic_spectrum import IsotropicSpectrum
from arlequin.multilevel.rough.persson import Persson

E = 7e10
LOW, ROLL, HIGH, LEVEL, HURST = 2e4, 6e4, 4e6, 3e-26, 0.8
# a flat part and a self-affine one: three points say it exactly
WAVENUMBERS = np.array([LOW, ROLL, HIGH])
SPECTRUM = LEVEL * np.minimum(1.0, (WAVENUMBERS / ROLL) ** (-2.0 - 2.0 * HURST))


def spectrum(q):
    return LEVEL * min(1.0, (q / ROLL) ** (-2.0 - 2.0 * HURST))


def over(f, low, high):
    """∫ f dq, by quad in ln q = ln low + s², broken at the roll-off."""

    def integrand(s):
        q = low * math.exp(s * s)
        return 2.0 * s * q * f(q)

    breaks = [math.sqrt(math.log(q / low)) for q in (low, *(q for q in (ROLL,) if low < q < high), high)]
    parts = pairwise(breaks)
    return sum(quad(integrand, *part, epsabs=0.0, epsrel=1e-10, limit=400)[0] for part in parts)


def theory(gamma=0.45, modulus=E):
    return Persson(modulus, WAVENUMBERS, SPECTRUM, gamma)


def gradient(q):
    """2π ∫_LOW^q q'³ C dq', by the primitive of a power."""
    flat = LEVEL * (min(q, ROLL) ** 4 - LOW**4) / 4.0
    n = 2.0 - 2.0 * HURST
    affine = LEVEL * ROLL ** (2.0 + 2.0 * HURST) * (q**n - ROLL**n) / n if q > ROLL else 0.0
    return 2.0 * math.pi * (flat + affine)


def test_moments_of_the_spectrum():
    power = IsotropicSpectrum(WAVENUMBERS, SPECTRUM)
    for order in (0.0, 2.0, 4.0):
        exact = 2.0 * math.pi * over(lambda q, n=order: q ** (n + 1.0) * spectrum(q), LOW, HIGH)
        assert power.moment(order) == pytest.approx(exact, rel=1e-10)
    q, mass, below = power.points
    assert below == pytest.approx([gradient(x) for x in q], rel=1e-11)
    assert mass @ q == pytest.approx(power.moment(0.0) / (2.0 * math.pi), rel=1e-10)
    assert theory().rms_slope == pytest.approx(math.sqrt(gradient(HIGH)), rel=1e-12)
    # q^{-1-n} has a logarithm for its moment
    assert IsotropicSpectrum([1.0, 10.0], [1.0, 1e-2]).moment(0.0) == pytest.approx(2 * math.pi * math.log(10))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("gamma", [0.45, 1.0])
@pytest.mark.parametrize("ratio", [1e-5, 1e-2, 0.3, 3.0])
def test_gap_by_quadrature(gamma, ratio):
    t = theory(gamma)
    p = ratio * E * t.rms_slope

    def inner(q):
        w = math.sqrt(2.0 / max(gradient(q), 1e-300)) / E
        x = w * p
        if x > 25.0:
            return 0.0

        def integrand(s):  # ln of the pressure
            y = x * math.exp(s)
            return (gamma + 3.0 * (1.0 - gamma) * erf(y) ** 2) * math.exp(-y * y)

        end = math.log(26.0 / x)
        parts = [0.0, *(s for s in (math.log(0.1 / x), math.log(2.0 / x)) if 0.0 < s < end), end]
        total = sum(quad(integrand, a, b, epsabs=0.0, epsrel=1e-9)[0] for a, b in pairwise(parts))
        return q**2 * spectrum(q) * w * E * total

    expected = math.sqrt(math.pi) * over(inner, LOW * (1 + 1e-9), HIGH)
    assert t.gap(p) == pytest.approx(expected, rel=1e-5)


def test_area_and_its_slope():
    """A/A₀ → √(8/π) p/(E* h'rms) at small loads (Manners & Greenwood), 1 at large ones."""
    t = theory()
    small = 1e-4 * E * t.rms_slope
    assert t.contact_area(small) == pytest.approx(math.sqrt(8.0 / math.pi) * 1e-4, rel=1e-7)
    assert t.contact_area(5.0 * E * t.rms_slope) == pytest.approx(1.0)
    p = E * t.rms_slope * np.array([1e-5, 1e-2, 0.5])
    np.testing.assert_allclose(t.area(t.gap(p)), t.contact_area(p), rtol=1e-10)


def test_exponential_law_at_small_loads():
    t = theory()
    rough = math.sqrt(IsotropicSpectrum(WAVENUMBERS, SPECTRUM).moment(0.0))
    p = E * t.rms_slope * np.array([1e-8, 1e-7, 1e-6])
    law = t.prefactor * E * np.exp(-t.gap(p) / t.decay_length)
    # what is left is of order (w p/E*)², with w large at the first wavenumbers only
    np.testing.assert_allclose(law, p, rtol=2e-4)
    assert np.all(np.diff(np.abs(law / p - 1.0)) > 0.0)
    assert 0.3 < t.decay_length / rough < 0.7  # about half of h rms: Persson 2007
    far = t.gap(p[:1]) + 30.0 * t.decay_length
    assert t.pressure(far) == pytest.approx(p[:1] * math.exp(-30.0), rel=2e-4)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("gamma", [0.2, 0.45, 1.0])
def test_work_of_squeezing_flat_is_the_energy_of_full_contact(gamma):
    """∫ p d(−ū) = π/2 E* ∫ q² C dq, whatever γ."""
    t = theory(gamma)
    p = E * t.rms_slope * np.geomspace(1e-9, 8.0, 1201)
    u, log = t.gap(p), np.log(p)
    # −p dū = p (dp/dū)⁻¹ dp = p²/stiffness d ln p
    work = np.trapezoid(p**2 / t.stiffness(u), log)
    energy = 0.5 * math.pi * E * over(lambda q: q**2 * spectrum(q), LOW, HIGH)
    assert work == pytest.approx(energy, rel=1e-5)


def test_inverse_and_stiffness():
    t = theory()
    p = E * t.rms_slope * np.geomspace(1e-14, 8.0, 60)
    u = t.gap(p)
    assert (np.diff(u) < 0.0).all()
    np.testing.assert_allclose(t.pressure(u), p, rtol=1e-9)
    inside = u[10:50]
    h = 1e-3 * inside
    ends = [t.pressure(inside + k * h) for k in (-2, -1, 1, 2)]
    difference = (ends[3] - 8.0 * ends[2] + 8.0 * ends[1] - ends[0]) / (12.0 * h)
    np.testing.assert_allclose(t.stiffness(inside), difference, rtol=1e-6)
    shaped = t.pressure(u[:6].reshape(2, 3))
    np.testing.assert_allclose(shaped.ravel(), p[:6], rtol=1e-9)


def test_closed_gap_and_refusals():
    t = theory()
    gaps = np.array([-1e-9, 0.0, 1e-8])
    assert np.isinf(t.pressure(gaps)[:2]).all() and np.isfinite(t.pressure(gaps)[2])
    assert np.isinf(t.stiffness(gaps)[:2]).all()
    np.testing.assert_array_equal(t.area(gaps)[:2], 1.0)
    assert t.gap(20.0 * E * t.rms_slope) < 1e-20
    with pytest.raises(UserError, match=r"pressure = -1\.0: must not be negative"):
        t.gap(-1.0)
    with pytest.raises(UserError, match="positive and increasing"):
        Persson(E, [2.0, 1.0], [1.0, 1.0])
    with pytest.raises(UserError, match="leave out empty wavenumbers"):
        Persson(E, [1.0, 2.0], [1.0, 0.0])
    with pytest.raises(UserError, match=r"gamma = 0.0: must lie in \]0, 1\]"):
        Persson(E, [1.0, 2.0], [1.0, 1.0], gamma=0.0)


def test_points_between_change_nothing():
    q = np.unique(np.concatenate([WAVENUMBERS, np.geomspace(LOW, HIGH, 400)]))
    fine = Persson(E, q, np.array([spectrum(x) for x in q]))
    p = E * fine.rms_slope * np.geomspace(1e-6, 3.0, 12)
    np.testing.assert_allclose(fine.gap(p), theory().gap(p), rtol=1e-7)
