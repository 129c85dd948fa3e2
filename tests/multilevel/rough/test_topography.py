"""Topographies: what is refused, what is corrected, against closed forms."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.topography import Topography, TopographyWarning

SIZE = (1e-3, 0.6e-3)  # m, with pixels that are not square


def grid(shape, size=SIZE):
    return np.meshgrid(*(np.arange(n) * length / n for n, length in zip(shape, size, strict=True)), indexing="ij")


def waves(shape, size=SIZE):
    """A periodic map of three waves, 1 µm."""
    x, y = grid(shape, size)
    a, b = 2 * np.pi * x / size[0], 2 * np.pi * y / size[1]
    return 1e-6 * (np.cos(3 * a + 0.3) + 0.5 * np.sin(2 * a - 4 * b) + 0.2 * np.cos(5 * b + 1))


def test_it_is_frozen_and_keeps_its_own_copy():
    heights = waves((40, 30))
    t = Topography(heights, SIZE)
    heights[0, 0] = 1.0
    assert t.heights[0, 0] != 1.0 and not t.square and t.corrections == ()
    assert t.pixel == pytest.approx((2.5e-5, 2e-5)) and t.area == pytest.approx(6e-7)
    assert [axis[-1] for axis in t.axes] == pytest.approx([SIZE[0] - 2.5e-5, SIZE[1] - 2e-5])
    with pytest.raises(ValueError):
        t.heights[0, 0] = 1.0
    assert "40 x 30 points" in t.report and "not periodic" in t.report


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("heights", "size", "said"),
    [
        (np.zeros(10), SIZE, "a profile is no topography"),
        (np.zeros((10, 1)), SIZE, "a profile is no topography"),
        (np.zeros((0, 4)), SIZE, "heights = (0, 4)"),
        (np.zeros((3, 4, 5)), SIZE, "heights = (3, 4, 5)"),
        ([["a", "b"], ["c", "d"]], SIZE, "must be heights of shape (n, m)"),
        ([[1, 2], [3]], SIZE, "must be heights of shape (n, m)"),
        (np.zeros((4, 4), complex), SIZE, "must be heights of shape (n, m)"),
        (np.zeros((4, 4)), (1.0, 0.0), "size = 0.0: must be positive"),
        (np.zeros((4, 4)), 1.0, "size = 1.0: must be finite numbers of shape (2)"),
        (np.full((4, 4), np.nan), SIZE, "16 of 16 points"),
        (np.ma.masked_equal(np.eye(4), 0), SIZE, "12 of 16 points (0.75)"),
    ],
)
def test_bad_maps_are_one_clear_line(heights, size, said):
    with pytest.raises(UserError) as caught:
        Topography(heights, size)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1e6, "the heights seem 1e6 times too large for the size: in µm instead of m?"),
        (1e9, "in nm instead of m?"),
        (1e3, "in mm instead of m?"),
        (1e-6, "the size seems 1e6 times too large for the heights: in µm instead of m?"),
    ],
)
def test_confused_units_are_doubted(factor, said):
    with pytest.warns(TopographyWarning) as caught:
        t = Topography(factor * waves((40, 30)), SIZE)
    assert said in str(caught[0].message) and said in t.report
    # once only: what is made of it is not doubted again
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t.levelled()


def test_a_filled_map_is_doubted_too():
    heights = waves((40, 30))
    heights[3, 4] = np.nan
    with pytest.warns(TopographyWarning) as caught:
        Topography.filled(1e6 * heights, SIZE)
    assert "in µm instead of m" in str(caught[0].message)


def test_heights_beyond_the_size_are_doubted():
    with pytest.warns(TopographyWarning) as caught:
        Topography(np.outer(np.linspace(-1, 1, 5), np.ones(5)), (0.1, 0.1))
    assert "rms height 0.707 m beyond the size 0.1 m" in str(caught[1].message)


@given(st.tuples(*[st.floats(-1e-3, 1e-3)] * 3), st.integers(3, 20), st.integers(3, 20))
def test_a_plane_is_recovered(coefficients, n, m):
    x, y = (axis - axis.mean() for axis in grid((n, m)))
    c, a, b = coefficients
    plane = 1e-3 * c + a * x + b * y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TopographyWarning)
        t = Topography(plane, SIZE).levelled()
    assert t.trend.coefficients[0] == pytest.approx(1e-3 * c, abs=1e-18)
    assert t.trend.tilt == pytest.approx((a, b), abs=1e-14)
    assert abs(t.heights).max() < 1e-17
    assert t.corrections[0].startswith("levelled: mean plane removed")


def test_a_parabola_is_recovered_and_kept():
    x, y = (axis - axis.mean() for axis in grid((20, 30)))
    lens = 2e-6 + 1e-3 * x - 2e-3 * y + 3.0 * x**2 - 1.0 * x * y + 5.0 * y**2
    t = Topography(lens, SIZE).levelled(order=2)
    expected = {(0, 0): 2e-6, (1, 0): 1e-3, (0, 1): -2e-3, (2, 0): 3.0, (1, 1): -1.0, (0, 2): 5.0}
    assert dict(zip(t.trend.powers, t.trend.coefficients, strict=True)) == pytest.approx(expected, rel=1e-9)
    assert t.trend.order == 2 and abs(t.heights).max() < 1e-17
    assert t.trend(x, y) == pytest.approx(lens, rel=1e-9)


def test_what_is_left_by_levelling_is_orthogonal_to_planes():
    rng = np.random.default_rng(0)
    t = Topography(1e-6 * rng.standard_normal((16, 24)), SIZE).levelled()
    x, y = grid((16, 24))
    assert [abs((t.heights * f).mean()) for f in (1 + 0 * x, x, y)] == pytest.approx([0, 0, 0], abs=1e-19)


def test_a_periodic_map_has_no_tilt():
    t = Topography(1e-6 + waves((16, 24)), SIZE, periodic=True)
    with pytest.raises(UserError, match="order = 1: a periodic topography has no tilt"):
        t.levelled()
    assert t.levelled(order=0).heights.mean() == pytest.approx(0, abs=1e-20)


def test_holes_keep_a_harmonic_function():
    """x² − y² and xy obey the five-point Laplace equation exactly, also on pixels that are not square."""
    x, y = grid((30, 40))
    smooth = 1e-3 * x + (x**2 - y**2) + 3 * x * y
    holes = np.array(smooth)
    holes[4:9, 5:9] = np.nan
    holes[20, 20] = np.inf
    holes[12:14, 30:33] = -np.inf
    t = Topography.filled(holes, SIZE)
    assert abs(t.heights - smooth).max() < 1e-12 * abs(smooth).max()
    assert "filled: 27 points (0.022 of all; the largest hole has 20)" in t.corrections[0]


def test_holes_of_a_smooth_map():
    """Across a hole of radius r the error is at most max |∇²h| r²/4."""
    wave = waves((256, 256))
    x, y = grid((256, 256))
    holes = np.array(wave)
    radius = 1.2e-5
    for centre in ((2e-4, 3e-4), (7e-4, 1e-4), (0.0, 5e-4)):  # the last one at the edge
        away = [abs(a - c) for a, c in zip((x, y), centre, strict=True)]
        holes[np.hypot(*(np.minimum(a, length - a) for a, length in zip(away, SIZE, strict=True))) < radius] = np.nan
    t = Topography.filled(holes, SIZE, periodic=True)
    laplacian = 1e-6 * (
        (6 * np.pi / SIZE[0]) ** 2
        + 0.5 * ((4 * np.pi / SIZE[0]) ** 2 + (8 * np.pi / SIZE[1]) ** 2)
        + 0.2 * (10 * np.pi / SIZE[1]) ** 2
    )
    assert 0 < abs(t.heights - wave).max() < laplacian * (radius + max(t.pixel)) ** 2 / 4
    kept = np.isfinite(holes)
    assert (t.heights[kept] == holes[kept]).all()


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_filled_heights_stay_within_the_others(seed, periodic):
    rng = np.random.default_rng(seed)
    heights = 1e-6 * rng.standard_normal((12, 9))
    heights[rng.random((12, 9)) < 0.3] = np.nan
    t = Topography.filled(heights, SIZE, periodic, most=0.9)
    assert t.heights.min() >= np.nanmin(heights) * (1 + 1e-9)
    assert t.heights.max() <= np.nanmax(heights) * (1 + 1e-9)


def test_large_holes_are_refused_and_none_is_no_correction():
    heights = waves((20, 20))
    assert Topography.filled(heights, SIZE).corrections == ()
    heights[:5] = np.nan
    with pytest.raises(UserError, match=r"0\.25 of the points have no finite height: at most 0\.1 are filled"):
        Topography.filled(heights, SIZE)


def test_the_window_keeps_the_variance_of_a_rough_map():
    rng = np.random.default_rng(3)
    t = Topography(1e-6 * rng.standard_normal((256, 300)), SIZE)
    w = t.windowed()
    # the scatter of the mean of w² h² is √(3 ⟨w⁴⟩ − 1)/√N = 0.01, ⟨w⁴⟩ = (35/18)²
    assert w.heights.var() == pytest.approx(t.heights.var(), rel=0.03)
    assert abs(w.heights.mean()) < 1e-22 and w.window == "hann" and not w.periodic
    assert abs(w.heights[0]).max() < 1e-3 * abs(w.heights).max()


@pytest.mark.parametrize("act", ["windowed", "made_periodic"])
def test_a_windowed_map_is_for_spectra_only(act):
    with pytest.raises(UserError):
        getattr(Topography(waves((16, 16)), SIZE).windowed(), act)()


def test_the_periodic_part_leaves_curvature_inside_and_closes_the_edges():
    x, y = grid((60, 50))
    wave = waves((60, 50))
    t = Topography(wave + 4e-3 * x - 2e-3 * y, SIZE)
    p = t.made_periodic()
    away = t.heights - p.heights
    assert p.periodic and abs(away.mean()) < 1e-20 and "Moisan" in p.corrections[0]
    # the map that was removed is harmonic off the edges
    second = [np.diff(away, 2, axis)[cut] / p.pixel[axis] ** 2 for axis, cut in ((0, np.s_[:, 1:-1]), (1, np.s_[1:-1]))]
    assert abs(second[0] + second[1]).max() < 1e-9 * abs(second[0]).max()
    # the jump of 4 µm over the edge is gone to a few per cent
    edges = [abs(np.take(h, 0, 0) - np.take(h, -1, 0)).max() for h in (t.heights, p.heights)]
    steps = abs(np.diff(p.heights, axis=0)).max()
    assert edges[0] > 3e-6 and edges[1] < 1.1 * steps
    assert p.made_periodic() is p


@given(st.integers(8, 40), st.integers(8, 40), st.integers(17, 50), st.integers(17, 50))
def test_resampling_a_band_limited_periodic_map_is_exact(n, m, n2, m2):
    def band(shape):
        x, y = grid(shape)
        a, b = 2 * np.pi * x / SIZE[0], 2 * np.pi * y / SIZE[1]
        return 1e-6 * (np.cos(3 * a + 0.3) + 0.5 * np.sin(2 * a - 3 * b) + 0.2 * np.cos(b + 1))

    t = Topography(band((n, m)), SIZE, periodic=True).resampled((n2, m2))
    assert t.shape == (n2, m2) and t.size == SIZE
    assert abs(t.heights - band((n2, m2))).max() < 1e-19


def test_resampling_a_map_that_is_not_periodic_keeps_its_ends():
    x, y = grid((20, 24))
    t = Topography(1e-3 * x + 100 * x**3 - 40 * y**2 * x, SIZE).resampled((39, 47))
    x, y = (axis[:, None] if i == 0 else axis for i, axis in enumerate(t.axes))
    assert t.heights == pytest.approx(1e-3 * x + 100 * x**3 - 40 * y**2 * x, abs=1e-18)
    assert t.pixel == pytest.approx((SIZE[0] / 40, SIZE[1] / 48))
