"""Figures of rough surfaces, and the names that a study finds them by."""

import io

import numpy as np
import pytest

import arlequin as aq
from arlequin import plots
from arlequin.models.errors import UserError

L = 1e-3


@pytest.fixture(scope="module")
def surface():
    return aq.rough.self_affine((96, 64), (L, L / 2), hurst=0.7, rolloff=L / 4, cutoff=L / 24, rms_height=2e-6)


def is_png(figure):
    stream = io.BytesIO()
    figure.savefig(stream)
    return stream.getvalue()[:4] == b"\x89PNG"


def test_the_map_shows_every_pixel_with_units(surface):
    figure = plots.topography(surface)
    axes = figure.axes[0]
    image = axes.images[0]
    # x to the right, y upwards, in mm; heights about the mean in µm
    assert np.asarray(image.get_array()) == pytest.approx(1e6 * (surface.heights - surface.heights.mean()).T)
    assert image.get_extent() == pytest.approx([0, 1, 0, 0.5])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x (mm)", "y (mm)")
    assert "Height (µm)" in [a.get_ylabel() for a in axes.child_axes]
    assert is_png(figure)
    assert is_png(plots.topography(aq.rough.Topography(np.zeros((4, 4)), (L, L))))


def test_the_spectrum_shows_modes_rings_and_the_line(surface):
    fit = aq.rough.hurst_of(surface)
    figure = plots.spectrum(surface)
    modes, rings, line = figure.axes[0].lines[:3]
    form = aq.rough.SelfAffine(0.7, L, L / 4, L / 24)
    q, density = modes.get_data()
    assert density / form(q) == pytest.approx(np.full(len(q), (density / form(q))[0]), rel=1e-6)
    q, density = rings.get_data()
    assert len(q) > 10 and q.max() <= 2 * np.pi / (L / 24) * (1 + 1e-9)
    assert line.get_data()[1] == pytest.approx(fit(line.get_data()[0]))
    assert line.get_label().startswith(f"H = {fit.hurst:.3g} ±") and line.get_label().endswith("to 41.7 µm")
    assert figure.axes[0].get_xlabel() == "Wave number q (rad/m)"
    assert is_png(figure)


def test_the_spectrum_takes_another_fit_and_a_windowed_map(surface):
    windowed = aq.rough.Topography(surface.heights[:50], (L * 50 / 96, L / 2)).levelled().windowed()
    fit = aq.rough.hurst_of(windowed, cutoff=L / 20)
    assert f"H = {fit.hurst:.3g}" in plots.spectrum(windowed, fit).axes[0].lines[2].get_label()
    with pytest.raises(UserError, match="not periodic"):
        plots.spectrum(aq.rough.Topography(surface.heights, surface.size))


def test_the_names_of_a_study():
    assert set(aq.rough.__all__) <= set(dir(aq.rough)) and "rough" in dir(aq)
    assert all(getattr(aq.rough, name).__doc__ for name in aq.rough.__all__)
