"""The Hurst exponent from the spectrum, against surfaces that were made with a known one."""

import numpy as np
import pytest

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.hurst import hurst_of
from arlequin.multilevel.rough.self_affine import SelfAffine, self_affine
from arlequin.multilevel.rough.spectrum import spectrum_of
from arlequin.multilevel.rough.topography import Topography, TopographyWarning

L = 1e-3


def make(points=256, **changed):
    given = {"hurst": 0.8, "rolloff": L / 4, "cutoff": L / 64, "rms_slope": 0.1, "seed": 1, **changed}
    return self_affine((points, points), (L, L), **given)


@pytest.mark.parametrize("hurst", [0.2, 0.5, 0.8, 1.0])
def test_fixed_amplitudes_lie_on_the_line(hurst):
    """Rings of finite width bend a power law a little at their ends only."""
    t = make(hurst=hurst)
    bounded = hurst_of(t, rolloff=L / 4, cutoff=L / 64)
    assert bounded.hurst == pytest.approx(hurst, abs=1e-3) and bounded.error < 1e-3
    sought = hurst_of(t)
    assert sought.hurst == pytest.approx(hurst, abs=0.005)
    assert sought.rolloff == pytest.approx(L / 4, rel=0.05) and sought.cutoff == pytest.approx(L / 64, rel=1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("hurst", [0.5, 0.8])
def test_samples_of_a_gaussian_process(hurst):
    """Twenty seeds: no bias, and errors that are the scatter, near the bound of Cramér and Rao.

    N/2 independent exponential variates with ln q spread over a disk (variance 1/4) know the exponent p = 2(1 + H) to
    √(4·2/N), N = π 64² modes, so H to half of it.
    """
    fits = [hurst_of(make(hurst=hurst, amplitudes="gaussian", seed=seed)) for seed in range(20)]
    found = np.array([f.hurst for f in fits])
    assert found.mean() == pytest.approx(hurst, rel=0.02)
    bound = np.sqrt(8 / (np.pi * 64**2)) / 2
    assert bound / 1.5 < found.std() < 1.5 * bound
    assert np.mean([f.error for f in fits]) == pytest.approx(found.std(), rel=0.4)
    assert np.mean([f.rolloff for f in fits]) == pytest.approx(L / 4, rel=0.1)


def test_pixels_and_sides_need_not_be_equal():
    t = self_affine((300, 128), (L, 0.7 * L), hurst=0.6, rolloff=L / 4, cutoff=L / 50, rms_slope=0.1)
    assert hurst_of(t).hurst == pytest.approx(0.6, abs=0.005)


def test_a_window_on_a_cut_out_keeps_the_exponent():
    """A quarter of a large periodic surface is a measured map: not periodic, with a tilt of its own."""
    t = make(512, amplitudes="gaussian", hurst=0.7, rolloff=L / 16, cutoff=L / 128)
    cut = Topography(t.heights[:256, :256], (L / 2, L / 2)).levelled()
    fit = hurst_of(cut.windowed(), cutoff=L / 120)
    assert fit.hurst == pytest.approx(0.7, abs=4 * fit.error) and fit.error < 0.05
    assert fit.rolloff == pytest.approx(L / 16, rel=0.25)


def test_a_spectrum_that_is_not_self_affine_is_doubted():
    """A window fills what is beyond the cut-off with its side lobes: a cliff, no power law."""
    t = make(512, rolloff=L / 16, cutoff=L / 128)
    cut = Topography(t.heights[:256, :256], (L / 2, L / 2)).levelled().windowed()
    with pytest.warns(TopographyWarning, match=r"not in \[0, 1\]"):
        hurst_of(cut)


def test_the_fit_is_the_spectrum():
    t = make()
    fit = hurst_of(t, rolloff=L / 4)
    spectrum = spectrum_of(t)
    q = 2 * np.pi / L * np.array([1.0, 5.0, 30.0])
    form = SelfAffine(0.8, L, L / 4, L / 64)
    level = spectrum.density.max()
    assert fit(q) == pytest.approx(level * form(q), rel=0.01)


def test_what_has_no_slope_is_refused():
    x = np.arange(32) * L / 32
    wave = Topography(1e-6 * np.outer(np.cos(2 * np.pi * x / L), np.ones(32)), (L, L), True)
    for t, limits, said in (
        (wave, {}, "a slope needs at least 4, and an octave"),
        (make(), {"rolloff": L / 40}, "a slope needs at least 4, and an octave"),
        (make(), {"cutoff": L / 2}, "a slope needs at least 4, and an octave"),
        (make(), {"cutoff": -1.0}, "cutoff = -1.0: must be positive"),
        (Topography(np.full((9, 9), 0.1), (L, L), True), {}, "flat: it has no spectrum"),
        (Topography(wave.heights, (L, L)), {}, "not periodic"),
    ):
        with pytest.raises(UserError, match=said):
            hurst_of(t, **limits)
