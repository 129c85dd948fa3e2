"""Damage from spectra against closed forms, numerical integrals, another package and simulated stresses."""

from itertools import pairwise

import numpy as np
import pytest
import xarray
from scipy.integrate import quad
from scipy.special import gamma

import arlequin as aq
from arlequin.fatigue import SNCurve
from arlequin.models.errors import ModelWarning, UserError

METHODS = ("narrow-band", "dirlik", "tovo-benasciutti")
F = np.arange(1.0, 121.0)  # Hz
BIMODAL = 1e12 * (50.0 * ((F >= 20) & (F <= 24)) + 2.0 * ((F >= 60) & (F <= 100)) + 0.01)  # Pa²/Hz
# lives, s, by the package flife 2.3 (narrow band, Dirlik, Tovo–Benasciutti by method 2)
FLIFE = {
    3: (979925.886, 1230231.057, 1217621.794),
    5: (5882084.612, 7536334.010, 7961134.392),
    8: (47349271.652, 60851305.073, 66518485.669),
}


def basquin(slope):
    return SNCurve.basquin(amplitude=100e6, cycles=1e6, slope=slope)


def damage(density, curve, frequency=F, **options):
    return aq.fatigue.spectral_damage(density, curve, frequency=frequency, **options)


@pytest.mark.parametrize("slope", FLIFE)
@pytest.mark.parametrize("method", METHODS)
def test_lives_are_those_of_another_package(method, slope):
    """Which integrates by the trapezoidal rule: moments differ by 2e-5 here."""
    life = float(damage(BIMODAL, basquin(slope), method=method)["life"])
    assert life == pytest.approx(FLIFE[slope][METHODS.index(method)], rel=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_narrow_band_is_bendats(method):
    """ν₀ N_1^−1 (√2 σ/σ_1)^m Γ(1 + m/2)."""
    frequency, level = np.array([20.0, 20.001]), 1e18
    found = damage(np.full(2, level), basquin(5), frequency, method=method)
    rms, rate = np.sqrt(level * 1e-3), 20.0005
    exact = rate * 1e-6 * (np.sqrt(2.0) * rms / 100e6) ** 5 * gamma(3.5)
    assert float(found["damage_rate"]) == pytest.approx(exact, rel=1e-4)
    assert float(found["rms"]) == pytest.approx(rms, rel=1e-6)
    assert float(found["zero_crossings"]) == pytest.approx(rate, rel=1e-6)


def test_moments_of_a_flat_band():
    """From a to b: λ_n = G (b^(n+1) − a^(n+1))/(n + 1), whatever the number of frequencies."""
    for count in (2, 30):
        found = damage(np.full(count, 2.0), basquin(3), np.linspace(5.0, 50.0, count), stress_per_unit=1e6)
        moments = [2.0 * (50.0 ** (n + 1) - 5.0 ** (n + 1)) / (n + 1) for n in range(5)]
        assert float(found["rms"]) == pytest.approx(1e6 * np.sqrt(moments[0]), rel=1e-12)
        assert float(found["zero_crossings"]) == pytest.approx(np.sqrt(moments[2] / moments[0]), rel=1e-12)
        assert float(found["peaks"]) == pytest.approx(np.sqrt(moments[4] / moments[2]), rel=1e-12)
        exact = moments[2] / np.sqrt(moments[0] * moments[4])
        assert float(found["irregularity"]) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_any_curve_is_integrated_exactly(method):
    """Two slopes, an endurance and a table against quadrature of the printed densities."""
    curve = SNCurve([150e6, 80e6, 40e6], [1e5, 2e6, 1e8], endurance=20e6, valid=(1.0, 1e12))
    found = damage(BIMODAL, curve, method=method)
    m0, crossings, peaks = float(found["rms"]) ** 2, float(found["zero_crossings"]), float(found["peaks"])
    fine = np.linspace(1.0, 120.0, 119 * 200 + 1)
    density = np.interp(fine, F, BIMODAL)
    m1 = np.trapezoid(fine * density, fine)
    gamma2 = crossings / peaks

    def rayleigh(s, scale):
        return s / scale**2 * np.exp(-0.5 * (s / scale) ** 2)

    def rate(s):  # cycles a second and Pa, of the range s
        scale = 2.0 * np.sqrt(m0)
        if method == "narrow-band":
            return crossings * rayleigh(s, scale)
        if method == "tovo-benasciutti":
            a1, a2 = m1 / np.sqrt(m0 * (m0 * crossings**2)), gamma2
            b = (a1 - a2) * (1.112 * (1 + a1 * a2 - (a1 + a2)) * np.exp(2.11 * a2) + (a1 - a2)) / (a2 - 1) ** 2
            return b * crossings * rayleigh(s, scale) + (1 - b) * peaks * rayleigh(s, a2 * scale)
        xm = m1 / m0 / peaks
        d1 = 2 * (xm - gamma2**2) / (1 + gamma2**2)
        r = (gamma2 - xm - d1**2) / (1 - gamma2 - d1 + d1**2)
        d2 = (1 - gamma2 - d1 + d1**2) / (1 - r)
        d3 = 1 - d1 - d2
        q = 1.25 * (gamma2 - d3 - d2 * r) / d1
        z = s / scale
        density = d1 / q * np.exp(-z / q) + d2 * z / r**2 * np.exp(-0.5 * (z / r) ** 2) + d3 * z * np.exp(-0.5 * z**2)
        return peaks * density / scale

    ends = [20e6, 40e6, 80e6, 150e6, 600e6]
    exact = sum(
        quad(lambda s: rate(s) / float(curve.lives(s)), a, b, epsabs=0.0, epsrel=1e-10)[0] for a, b in pairwise(ends)
    )
    assert float(found["damage_rate"]) == pytest.approx(exact, rel=1e-6)


def simulated(seed, count=2**18, step=1e-3):
    """A Gaussian stress with the density BIMODAL."""
    random, spacing = np.random.default_rng(seed), 1.0 / (count * step)
    frequencies = np.arange(count // 2 + 1) * spacing
    density = np.interp(frequencies, F, BIMODAL, left=0.0, right=0.0)
    normal = random.standard_normal((2, frequencies.size))
    amplitudes = np.sqrt(0.25 * density * spacing) * (normal[0] + 1j * normal[1])
    return np.fft.irfft(amplitudes, count) * count


def test_simulated_stresses_have_the_life_of_the_spectrum():
    """Rainflow counting of 13 minutes, against Dirlik and Tovo–Benasciutti within 10 %; a narrow band is too safe."""
    signals = np.stack([simulated(seed) for seed in range(3)])
    assert signals.std() == pytest.approx(float(damage(BIMODAL, basquin(3))["rms"]), rel=0.02)
    found = aq.fatigue.damage(signals, basquin(3), step=1e-3)
    rate = float((found["damage"] / found.attrs["duration"]).mean())
    for method in METHODS[1:]:
        assert float(damage(BIMODAL, basquin(3), method=method)["damage_rate"]) == pytest.approx(rate, rel=0.1)
    assert float(damage(BIMODAL, basquin(3), method="narrow-band")["damage_rate"]) > 1.1 * rate


def test_points_and_units():
    """Each point by itself, from a DataArray of forces."""
    density = xarray.DataArray(
        np.stack([BIMODAL, 4.0 * BIMODAL, 0.0 * BIMODAL], axis=1) * 1e-6,
        {"frequency": F, "node": [1, 2, 3]},
        ("frequency", "node"),
        attrs={"units": "N^2/Hz"},
    )
    with pytest.raises(UserError, match="stress_per_unit: must be given"):
        aq.fatigue.spectral_damage(density, basquin(4))
    found = aq.fatigue.spectral_damage(density, basquin(4), stress_per_unit=1e3)
    one = float(damage(BIMODAL, basquin(4))["damage_rate"])
    np.testing.assert_allclose(found["damage_rate"], [one, 16.0 * one, 0.0], rtol=1e-9)
    assert found["life"].values[2] == np.inf and found["node"].values.tolist() == [1, 2, 3]


def test_a_mean_stress_scales_the_spectrum():
    one = float(damage(BIMODAL, basquin(4))["damage_rate"])
    found = damage(BIMODAL, basquin(4), correction=aq.fatigue.Goodman(500e6), mean=100e6)
    assert float(found["damage_rate"]) == pytest.approx(one / 0.8**4, rel=1e-9)
    assert float(found["rms"]) == float(damage(BIMODAL, basquin(4))["rms"])
    with pytest.raises(UserError, match="must be a factor of the stress"):
        damage(BIMODAL, basquin(4), correction=aq.fatigue.SmithWatsonTopper(), mean=1e6)
    with pytest.raises(UserError, match="correction: must be given"):
        damage(BIMODAL, basquin(4), mean=1e6)


def test_an_extrapolated_curve_gives_a_warning():
    with pytest.warns(ModelWarning, match="the curve is extrapolated"):
        damage(BIMODAL, SNCurve([400e6, 200e6], [1e4, 1e6]))


@pytest.mark.parametrize(
    ("psd", "options", "line"),
    [
        (BIMODAL, {"frequency": F - 60.0}, r"^frequency: must not be negative: a one-sided density is needed"),
        (-BIMODAL, {}, r"^psd = -.*: must not be negative$"),
        (BIMODAL, {"frequency": F[::-1]}, r"^frequency: must increase$"),
        (BIMODAL, {"frequency": None}, r"^frequency: must be given, Hz"),
        (np.append(BIMODAL[:-1], np.nan), {}, r"^psd = .*: must be finite numbers$"),
        (BIMODAL[:1], {"frequency": F[:1]}, r"^frequency: must be at least two, Hz$"),
        (BIMODAL, {"method": "zhao"}, r"^method = 'zhao': must be one of narrow-band, dirlik, tovo-benasciutti$"),
        (xarray.DataArray(BIMODAL, dims="f"), {"frequency": None}, r"^psd: must have the dimension and the coordinate"),
    ],
)
def test_misuses(psd, options, line):
    with pytest.raises(UserError, match=line):
        damage(psd, basquin(3), **options)
