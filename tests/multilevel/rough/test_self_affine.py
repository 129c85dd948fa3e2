"""Random self-affine surfaces: their spectrum in closed form, and what a sample of them shows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.ndimage import maximum_filter

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.moments import moments, texture
from arlequin.multilevel.rough.self_affine import SelfAffine, self_affine
from arlequin.multilevel.rough.spectrum import spectrum_of

L = 1e-3


def make(points=128, **changed):
    given = {"hurst": 0.8, "rolloff": L / 4, "cutoff": L / 32, "rms_slope": 0.1, "seed": 1, **changed}
    return self_affine((points, points), (L, L), **given)


@given(
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])),
    st.floats(1, 30),
    st.floats(1, 100),
    st.sampled_from([0, 1, 2, 3, 4]),
)
def test_integrals_of_the_spectrum(hurst, plateau, octaves, power):
    form = SelfAffine(hurst, L, L / plateau, L / plateau / octaves, level=3.0)
    first, knee, last = (2 * np.pi / w for w in (L, L / plateau, L / plateau / octaves))

    def in_log(low, high):
        # dq = q d(ln q): the same smoothness at all scales
        def f(log):
            q = np.exp(log)
            return q ** (power + 2) * 3.0 * min(1.0, (q / knee) ** (-2 - 2 * hurst))

        return quad(f, np.log(low), np.log(high), epsrel=1e-12, epsabs=0)[0]

    numeric = 2 * np.pi * (in_log(first, knee) + in_log(knee, last))
    assert form.integral(power) == pytest.approx(numeric, rel=1e-9, abs=1e-11 * last ** (power + 2))


def test_the_form_of_the_spectrum():
    form = SelfAffine(0.7, L, L / 4, L / 64, level=2.0)
    q = 2 * np.pi / L * np.array([0.99, 1.0, 3.99, 4.0, 8.0, 64.0, 64.1])
    assert form(q) == pytest.approx([0, 2, 2, 2, 2 * 2**-3.4, 2 * 16**-3.4, 0])


@given(st.floats(0.05, 0.95), st.floats(1.5, 1000))
def test_the_bandwidth_of_a_power_law(hurst, zeta):
    """α = (3/2) (1 − H)²/(H(H − 2)) (ζ^−2H − 1)(ζ^(4−2H) − 1)/(ζ^(2−2H) − 1)².

    Yastrebov, Anciaux & Molinari, Int. J. Solids Struct. 52 (2015) 83–102.
    """
    h = hurst
    expected = 1.5 * (1 - h) ** 2 / (h * (h - 2)) * (zeta ** (-2 * h) - 1) * (zeta ** (4 - 2 * h) - 1)
    expected /= (zeta ** (2 - 2 * h) - 1) ** 2
    assert SelfAffine(h, L, L, L / zeta).moments().bandwidth == pytest.approx(expected, rel=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(128, 128), (127, 150), (64, 65)])
@pytest.mark.parametrize("hurst", [0.0, 0.8, 1.0])
def test_fixed_amplitudes_have_the_spectrum_exactly(shape, hurst):
    size = (L, 0.9 * L)
    t = self_affine(shape, size, hurst=hurst, rolloff=L / 3, cutoff=L / 30, rms_height=1e-6, seed=4)
    spectrum = spectrum_of(t)
    form = SelfAffine(hurst, L, L / 3, L / 30)(spectrum.q)
    form[0, 0] = 0.0
    assert spectrum.density == pytest.approx(form * 1e-12 * t.area / (2 * np.pi) ** 2 / form.sum(), rel=1e-8, abs=1e-36)
    assert t.periodic and t.heights.std() == pytest.approx(1e-6, rel=1e-12)


def test_the_target_slope_is_met_for_every_seed():
    for seed in range(3):
        t = make(seed=seed)
        assert moments(t).rms_slope == pytest.approx(0.1, rel=1e-12)
    slopes = texture(t)
    assert slopes[0] ** 2 + slopes[1] ** 2 == pytest.approx(0.01, rel=1e-12)


@pytest.mark.parametrize("hurst", [0.3, 0.8])
def test_moments_of_the_modes_are_near_the_integrals(hurst):
    """Modes on a lattice against an integral over the plane: they differ by the few modes of the plateau."""
    form = SelfAffine(hurst, L, L / 16, L / 128)
    exact = form.moments()
    m = moments(make(256, hurst=hurst, rolloff=L / 16, cutoff=L / 128))
    assert m.bandwidth == pytest.approx(exact.bandwidth, rel=0.01)
    assert m.m0 / m.m2 == pytest.approx(exact.m0 / exact.m2, rel=0.01)


def test_gaussian_amplitudes_meet_the_slope_on_average():
    """Modes of shares w_k, Σ w_k = 1, in pairs ±q of one amplitude: m2 scatters by √(Σ_pairs (2 w_k)²) = √2 ‖w‖."""
    slopes = np.array([moments(make(256, amplitudes="gaussian", seed=s)).rms_slope for s in range(20)])
    assert np.sqrt((slopes**2).mean()) == pytest.approx(0.1, rel=0.02)
    weights = spectrum_of(make(256))
    share = (weights.q**2 * weights.power).ravel()
    expected = np.sqrt(2) * np.linalg.norm(share / share.sum())
    assert 0.5 < (slopes**2).std() / 0.01 / expected < 1.6  # 20 samples know their scatter to a sixth


def test_heights_and_summits_of_a_sample_are_gaussian():
    """Summits counted on a fine grid, against random-process theory."""
    t = make(512, rolloff=L / 8, cutoff=L / 48, amplitudes="gaussian", seed=3)
    m = moments(t)
    h = t.heights / m.rms_height
    assert (h**3).mean() == pytest.approx(0, abs=0.15) and (h**4).mean() == pytest.approx(3, abs=0.3)
    top = t.heights == maximum_filter(t.heights, size=3, mode="wrap")
    count = top.sum()
    assert count > 300
    assert count / t.area == pytest.approx(m.summits.density, rel=4 / np.sqrt(count))
    assert t.heights[top].mean() == pytest.approx(
        m.summits.mean_height, abs=4 * m.summits.height_deviation / np.sqrt(count)
    )
    assert t.heights[top].std() == pytest.approx(m.summits.height_deviation, rel=4 / np.sqrt(2 * count))


def test_seeds():
    same = make(seed=7).heights
    assert (same == make(seed=7).heights).all() and not (same == make(seed=8).heights).all()
    assert (same == make(seed=np.random.default_rng(7)).heights).all()
    generator = np.random.default_rng(7)
    assert not (make(seed=generator).heights == make(seed=generator).heights).all()


def test_moments_do_not_depend_on_the_pixels():
    """The same spectrum on twice as many points has the same moments."""
    a, b = (moments(make(n, cutoff=L / 24)) for n in (64, 128))
    assert (a.m0, a.m2, a.m4) == pytest.approx((b.m0, b.m2, b.m4), rel=1e-10)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"hurst": 1.2}, "hurst = 1.2: must lie in [0, 1]"),
        ({"cutoff": L / 100}, "cutoff = 1e-05: must be at least two pixels, 1.5625e-05 m"),
        ({"cutoff": -1.0}, "cutoff = -1.0: must be positive"),
        ({"rolloff": L / 64}, "wavelengths must not increase in this order"),
        ({"longest": 2 * L}, "longest = 0.002: must lie in ]0, 0.001]"),
        ({"longest": L / 1.2, "rolloff": L / 1.2, "cutoff": L / 1.3}, "no mode of the map lies"),
        ({"rms_slope": None}, "rms_slope, rms_height: give one of them"),
        ({"rms_height": 1e-6}, "rms_slope, rms_height: give one of them"),
        ({"rms_slope": -0.1}, "rms_slope = -0.1: must be positive"),
        ({"amplitudes": "some"}, "amplitudes = 'some': must be one of fixed, gaussian"),
        ({"seed": -1}, "seed = -1: must be a whole number of at least 0"),
        ({"seed": "x"}, "seed = 'x': must be a whole number of at least 0"),
    ],
)
def test_bad_input_is_one_clear_line(changed, said):
    with pytest.raises(UserError) as caught:
        make(**changed)
    assert said in caught.value.message


def test_bad_shapes_and_sizes():
    for shape, size, said in (((64,), (L, L), "shape"), ((64, 0.5), (L, L), "shape"), ((64, 64), (L, -L), "size")):
        with pytest.raises(UserError, match=said):
            self_affine(shape, size, hurst=0.8, cutoff=L / 16, rms_slope=0.1)
