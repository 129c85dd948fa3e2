"""Spectra and moments of topographies, against closed forms of waves and of random-process theory."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import dblquad

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.moments import Moments, difference_moments, moments, texture
from arlequin.multilevel.rough.spectrum import spectrum_of
from arlequin.multilevel.rough.topography import Topography

SIZE = (1e-3, 0.7e-3)
SHAPE = (40, 36)  # pixels are not square

# (amplitude in m, periods along x and y, phase)
waves = st.tuples(st.floats(1e-8, 1e-6), st.integers(0, 17), st.integers(-15, 15), st.floats(0, 6))


def surface(*given_waves, shape=SHAPE, size=SIZE, shift=(0.0, 0.0)):
    x = (np.arange(shape[0]) * size[0] / shape[0] - shift[0])[:, None]
    y = np.arange(shape[1]) * size[1] / shape[1] - shift[1]
    phases = [2 * np.pi * (i * x / size[0] + j * y / size[1]) + phase for _, i, j, phase in given_waves]
    heights = sum(a * np.cos(phase) for (a, *_), phase in zip(given_waves, phases, strict=True))
    return Topography(heights, size, periodic=True)


def exact(*given_waves, size=SIZE):
    """m0, m2, m4 of waves with different wave vectors: Σ a²/2 (1, k²/2, 3 k⁴/8)."""
    k2 = [(2 * np.pi * i / size[0]) ** 2 + (2 * np.pi * j / size[1]) ** 2 for _, i, j, _ in given_waves]
    sums = [sum(a**2 / 2 * k**n for (a, *_), k in zip(given_waves, k2, strict=True)) for n in (0, 1, 2)]
    return sums[0], sums[1] / 2, 3 * sums[2] / 8


def values(found):
    return found.m0, found.m2, found.m4


@given(waves)
def test_a_wave(wave):
    assume((wave[1], wave[2]) != (0, 0))
    m = moments(surface(wave))
    assert values(m) == pytest.approx(exact(wave), rel=1e-9)
    a, k = wave[0], np.hypot(2 * np.pi * wave[1] / SIZE[0], 2 * np.pi * wave[2] / SIZE[1])
    assert m.rms_height == pytest.approx(a / np.sqrt(2), rel=1e-9)
    assert m.rms_slope == pytest.approx(a * k / np.sqrt(2), rel=1e-9)
    assert m.rms_curvature == pytest.approx(a * k**2 / np.sqrt(8), rel=1e-9)
    assert m.bandwidth == pytest.approx(3 / 2, rel=1e-9)


@given(st.lists(waves, min_size=1, max_size=5))
def test_a_sum_of_waves(some):
    vectors = {(i, j) for _, i, j, _ in some}
    assume(len(vectors | {(-i, -j) for i, j in vectors}) == 2 * len(some))
    assert values(moments(surface(*some))) == pytest.approx(exact(*some), rel=1e-9)


@given(st.integers(0, 39), st.integers(0, 35), st.integers(0, 1000))
def test_a_periodic_translation_or_a_reflection_changes_nothing(i, j, seed):
    rng = np.random.default_rng(seed)
    heights = 1e-7 * rng.standard_normal(SHAPE)
    before = moments(Topography(heights, SIZE, True))
    for after in (np.roll(heights, (i, j), (0, 1)), heights[::-1], -heights):
        assert values(moments(Topography(after, SIZE, True))) == pytest.approx(values(before), rel=1e-10)
    turned = moments(Topography(heights.T, SIZE[::-1], True))
    assert values(turned) == pytest.approx(values(before), rel=1e-10)


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_moments_scale_with_height_and_size(tall, wide):
    some = ((1e-7, 3, 2, 0.0), (2e-8, 5, -11, 1.0))
    t = surface(*some)
    m = moments(Topography(tall * t.heights, (wide * SIZE[0], wide * SIZE[1]), True))
    scale = (tall**2, (tall / wide) ** 2, (tall / wide**2) ** 2)
    assert values(m) == pytest.approx([s * v for s, v in zip(scale, exact(*some), strict=True)], rel=1e-9)


def test_the_density_integrates_to_the_variance():
    t = surface((1e-7, 3, 2, 0.0), (2e-8, 5, -11, 1.0))
    spectrum = spectrum_of(t)
    cell = (2 * np.pi) ** 2 / t.area
    assert spectrum.density.sum() * cell == pytest.approx(t.heights.var(), rel=1e-12)


def test_rings_are_means_over_directions():
    """White noise of equal amplitudes: C = A σ²/(N (2π)²) in every ring, and each mode is in one ring."""
    rng = np.random.default_rng(0)
    noise = np.fft.fft2(rng.standard_normal((64, 48)))
    t = Topography(np.fft.ifft2(noise / abs(noise)).real * 1e-9, SIZE, True)
    spectrum = spectrum_of(t)
    q, density, modes = spectrum.radial()
    level = t.area * (1e-9 / (64 * 48)) ** 2 / (2 * np.pi) ** 2
    assert density == pytest.approx(np.full(len(q), level), rel=1e-9)
    assert modes.sum() == ((spectrum.q > 0) & (spectrum.q <= spectrum.nyquist)).sum()
    assert (np.diff(q) > 0).all() and q[0] == pytest.approx(2 * np.pi / SIZE[0])
    assert spectrum.nyquist == pytest.approx(np.pi * min(64 / SIZE[0], 48 / SIZE[1]))


@given(st.integers(1, 19))
def test_differences_of_a_wave_along_x_fall_short_by_sinc(i):
    wave = (1e-7, i, 0, 0.4)
    d = difference_moments(surface(wave))
    half = np.pi * i / SHAPE[0]  # q Δx/2
    sinc = np.sin(half) / half
    m0, m2, m4 = exact(wave)
    assert (d.factor_2, d.factor_4) == pytest.approx((sinc**2, sinc**4), rel=1e-9)
    assert values(d.moments) == pytest.approx((m0, sinc**2 * m2, sinc**4 * m4), rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(4, 20), st.integers(4, 20))
def test_differences_in_space_are_the_spectrum_times_their_factors(seed, n, m):
    """Parseval's theorem: the sums over the grid and over the modes are two ways to the same moments."""
    t = Topography(1e-7 * np.random.default_rng(seed).standard_normal((n, m)), SIZE, True)
    d = difference_moments(t)
    assert values(d.corrected) == pytest.approx(values(moments(t)), rel=1e-9)
    assert 4 / np.pi**2 <= d.factor_2 <= 1 and d.factor_4 <= 1


def test_differences_converge_with_the_square_of_the_pixel():
    wave = (1e-7, 3, 2, 0.4)
    lacking = [1 - difference_moments(surface(wave, shape=(n, n))).factor_2 for n in (32, 64)]
    assert lacking[0] / lacking[1] == pytest.approx(4, rel=0.02)


@given(waves.filter(lambda wave: wave[1:3] != (0, 0)))
def test_texture_of_a_grating(wave):
    slope = moments(surface(wave)).rms_slope
    assert texture(surface(wave)) == pytest.approx((slope, 0), rel=1e-7, abs=1e-7 * slope)


def test_texture_of_two_crossed_gratings():
    """cos on the diagonals of a square: slopes a k/√2 and b k/√2 along them."""
    size = (1e-3, 1e-3)
    found = texture(surface((1e-7, 4, 4, 0.0), (3e-7, 4, -4, 0.0), size=size, shape=(32, 32)))
    k = 2 * np.pi * np.hypot(4, 4) / 1e-3
    assert found == pytest.approx((3e-7 * k / np.sqrt(2), 1e-7 * k / np.sqrt(2)), rel=1e-9)


def summit_mean(function):
    """Mean over the summits of an isotropic Gaussian surface with m4 = 1.

    h_xx, h_yy, h_xy are Gaussian with variances 1, 1, 1/3 and ⟨h_xx h_yy⟩ = 1/3; so t = −(h_xx + h_yy)/2 has the
    variance 2/3, and each component of the deviator, of length r, 1/3. Summits in dt dr: |det| = t² − r² > 0, t > 0.
    """

    def weight(r, t):
        return (t**2 - r**2) * r * np.exp(-(t**2) * 3 / 4 - r**2 * 3 / 2)

    def integral(f):
        return dblquad(lambda r, t: f(t) * weight(r, t), 0, 12, 0, lambda t: t)[0]

    return integral(function) / integral(lambda t: 1.0)


def test_summits_of_a_gaussian_surface():
    """Given the summit, h = (m2/⟨t²⟩) t + a part that knows nothing of t, of variance m0 − m2²/⟨t²⟩."""
    mean, square = summit_mean(lambda t: t), summit_mean(lambda t: t**2)
    m = Moments(2.0, 0.7, 1.0)
    assert m.summits.radius == pytest.approx(1 / mean, rel=1e-9)
    assert m.summits.mean_height == pytest.approx(m.m2 * 3 / 2 * mean, rel=1e-9)
    variance = m.m0 - m.m2**2 * 3 / 2 + (m.m2 * 3 / 2) ** 2 * (square - mean**2)
    assert m.summits.height_deviation == pytest.approx(np.sqrt(variance), rel=1e-5)


def test_the_density_of_summits():
    """Kac–Rice: E[|det ∇²h|; summit] over the density 1/(2π m2) of ∇h = 0; t Gaussian, r Rayleigh."""
    weight = dblquad(
        lambda r, t: (t**2 - r**2) * 3 * r * np.exp(-1.5 * r**2) * np.exp(-0.75 * t**2) / np.sqrt(2 * np.pi * 2 / 3),
        0, 12, 0, lambda t: t,
    )[0]  # fmt: skip
    assert Moments(2.0, 0.7, 1.0).summits.density == pytest.approx(weight / (2 * np.pi * 0.7), rel=1e-8)


def test_what_is_not_periodic_or_flat_is_refused():
    t = surface((1e-7, 3, 2, 0.0))
    measured = Topography(t.heights, SIZE)
    for function in (spectrum_of, moments, texture):
        with pytest.raises(UserError, match=r"not periodic: its spectrum needs \.levelled\(\)\.windowed\(\)"):
            function(measured)
    with pytest.raises(UserError, match="differences over the edge need a periodic one"):
        difference_moments(measured.windowed())
    for level in (0.0, 0.1):
        with pytest.raises(UserError, match="flat: it has no moments"):
            moments(Topography(np.full((30, 21), level), SIZE, True))
    with pytest.raises(UserError, match=r"m4 = 0\.0: must be positive"):
        Moments(1.0, 1.0, 0.0)


def test_moments_of_a_tilted_map_that_is_not_periodic():
    """A dozen waves a side and a tilt as high as hundred of them: the moments of the waves to some per cent."""
    some = [(1e-7, i, j, i + j) for i, j in ((12, 3), (10, -8), (4, 15), (13, 11))]
    t = surface(*some, shape=(160, 140))
    x, y = t.axes
    cut = slice(0, 151), slice(0, 133)  # no whole number of waves
    tilted = Topography((t.heights + 1e-2 * x[:, None] + 5e-3 * y)[cut], (SIZE[0] * 151 / 160, SIZE[1] * 133 / 140))
    levelled = tilted.levelled()
    assert values(moments(levelled.windowed())) == pytest.approx(exact(*some), rel=0.05)
    # heights that meet over the edges keep kinks there, which m4 sees
    closed = values(moments(levelled.made_periodic()))
    assert closed[:2] == pytest.approx(exact(*some)[:2], rel=0.05)
    assert closed[2] > exact(*some)[2]
