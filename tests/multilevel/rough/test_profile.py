"""Profiles: moments against closed forms and against those of the maps they are taken from."""

import numpy as np
import pytest

from arlequin import rough
from arlequin.models.errors import UserError
from arlequin.multilevel.rough.moments import moments
from arlequin.multilevel.rough.profile import Profile
from arlequin.multilevel.rough.self_affine import self_affine

LENGTH = 1e-3


@pytest.mark.parametrize("waves", [1, 5, 31])
def test_a_sine(waves):
    """m_n = a² qⁿ/2."""
    x = LENGTH * np.arange(64) / 64
    q = 2 * np.pi * waves / LENGTH
    found = Profile(3e-6 + 1e-6 * np.sin(q * x), LENGTH, periodic=True).moments()
    for n, value in ((0, found.m0), (2, found.m2), (4, found.m4)):
        assert value == pytest.approx(0.5 * 1e-12 * q**n, rel=1e-10)


def test_the_profiles_of_a_map_have_its_moments_in_the_mean():
    """Over lines along x and along y of a periodic map m2 is exact; m0 lacks the waves across, which no line shows."""
    surface = self_affine((128, 128), (LENGTH, LENGTH), hurst=0.8, cutoff=4e-5, rolloff=2e-4, rms_slope=0.1, seed=2)
    expected = moments(surface)
    lines = [*surface.heights, *surface.heights.T]
    every = [Profile(line, LENGTH, periodic=True).moments() for line in lines]
    assert np.mean([own.m2 for own in every]) == pytest.approx(expected.m2, rel=1e-10)
    assert np.mean([own.m4 for own in every]) == pytest.approx(expected.m4, rel=0.1)
    assert np.mean([own.m0 for own in every]) == pytest.approx(expected.m0, rel=0.3)
    assert np.sqrt(2 * expected.m2) == pytest.approx(0.1, rel=1e-9), "the rms slope that was asked for"


def test_the_window_keeps_the_moments_of_short_waves():
    x = LENGTH * (np.arange(4000) + 0.3) / 4000
    q = 2 * np.pi * 100.37 / LENGTH
    tilted = Profile(1e-6 * np.sin(q * x) + 0.01 * x + 5e-6, LENGTH)
    found = tilted.levelled().moments()
    for n, value in ((0, found.m0), (2, found.m2), (4, found.m4)):
        assert value == pytest.approx(0.5 * 1e-12 * q**n, rel=2e-3)
    assert tilted.levelled(2).corrections[0].startswith("levelled: mean parabola removed")


def test_through_unequal_abscissae():
    """A line stays a line, whatever its points, forwards and backwards."""
    x = np.sort(np.random.default_rng(0).uniform(0.0, 1.0, 50))
    for at in (x, x[::-1]):
        found = Profile.through(at, 2.0 * at)
        assert found.heights == pytest.approx(2.0 * np.linspace(x[0], x[-1], 50))
        assert found.spacing == pytest.approx((x[-1] - x[0]) / 49) and "interpolated linearly" in found.corrections[0]
    assert Profile.through(np.arange(9.0), np.arange(9.0)).corrections == ()


def test_theories_take_them():
    size = (LENGTH / 64, LENGTH)
    surface = self_affine((64, 4096), size, hurst=0.8, cutoff=2e-6, rolloff=1e-5, rms_slope=0.1, seed=1)
    found = Profile(surface.heights[7], LENGTH, periodic=True).moments()
    law = rough.GreenwoodWilliamson.from_moments(1e11, found.m0, found.m2, found.m4)
    assert law.pressure(2 * found.rms_height) > 0.0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Profile(np.zeros(3), 1.0), "must be at least four heights"),
        (lambda: Profile(np.zeros((4, 4)), 1.0), "must be finite numbers of shape"),
        (lambda: Profile(np.array([0.0, np.nan, 1.0, 2.0]), 1.0), "must be finite numbers"),
        (lambda: Profile(np.arange(5.0), 0.0), "length = 0.0: must be positive"),
        (lambda: Profile(np.ones(5), 1.0).moments(), "profile: is flat, without moments"),
        (lambda: Profile(np.arange(5.0), 1.0, periodic=True).levelled(), "a periodic profile has no tilt"),
        (lambda: Profile.through([0.0, 1.0, 1.0, 2.0], np.zeros(4)), "must be at least four, increasing or decreasing"),
        (lambda: rough.Topography(np.arange(5.0), (1.0, 1.0)), "or take rough.Profile"),
    ],
)
def test_bad_input_is_one_line(make, said):
    with pytest.raises(UserError) as caught:
        make()
    assert said in str(caught.value) and "\n" not in str(caught.value)
