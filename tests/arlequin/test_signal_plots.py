"""Figures of forces and motions: spectra, histograms and orbits show what the result holds."""

import io

import numpy as np
import pytest
import xarray

from arlequin import plots
from arlequin.models.errors import UserError

STEP, STEPS, EVERY = 1e-4, 4000, 3
RADIUS = 2e-5


def make() -> xarray.DataTree:
    """A node on a circle at 50 Hz and a force of 200 N that acts in 5 spells of 20 ms, all by hand."""
    t = STEP * np.arange(STEPS + 1)
    force = np.zeros((STEPS + 1, 2))
    for k in range(5):
        force[1 + 800 * k : 201 + 800 * k, 1] = -200.0 * (1 + k)
    # every third step, and the end of the run
    frames = np.append(t[::EVERY], t[-1])
    turn = 2 * np.pi * 50 * frames
    u = RADIUS * np.stack([np.cos(turn), np.sin(turn)], axis=1)[:, None]
    root = xarray.Dataset(coords={"time": t, "frame_time": ("frame", frames)})
    rod = {"displacement": (("frame", "node", "component"), u, {"units": "m"})}
    tip = {"force": (("time", "component"), force, {"units": "N"})}
    return xarray.DataTree.from_dict(
        {"/": root, "/part/rod": xarray.Dataset(rod), "/interface/tip": xarray.Dataset(tip)}
    )


def is_png(figure) -> bool:
    stream = io.BytesIO()
    figure.savefig(stream)
    return stream.getvalue()[:4] == b"\x89PNG"


def test_force_spectrum():
    result = make()
    figure = plots.force_spectrum(result, segments=1)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Frequency (Hz)", "Power spectral density (N²/Hz)")
    x, y = axes.lines[0].get_data()
    assert x[y.argmax()] == pytest.approx(12.5, abs=2.6)  # spells every 80 ms
    np.testing.assert_array_equal(
        plots.force_spectrum(result, "tip", component=1, segments=1).axes[0].lines[0].get_ydata(), y
    )
    assert is_png(figure)


def test_displacement_spectrum_leaves_out_a_last_frame_out_of_step():
    figure = plots.displacement_spectrum(make(), "rod", 0, component=1, segments=2)
    (axes,) = figure.axes
    x, y = axes.lines[0].get_data()
    assert "(m²/Hz)" in axes.get_ylabel() and "(Hz)" in axes.get_xlabel()
    assert x[y.argmax()] == pytest.approx(50.0, abs=x[1] - x[0])
    assert y.sum() * (x[1] - x[0]) == pytest.approx(RADIUS**2 / 2, rel=1e-2)
    assert is_png(figure)


def test_force_histogram():
    figure = plots.force_histogram(make(), bins=10)
    peaks, values = figure.axes
    # peaks of 200, 400 … 1000 N in bins of 100 N, each spell 20 ms
    assert [p.get_height() for p in peaks.patches] == [0, 0, 1, 0, 1, 0, 1, 0, 1, 1]
    assert sum(p.get_height() for p in values.patches) == pytest.approx(100.0)
    assert "5 spells" in peaks.get_title("left") and "25 % of the time" in values.get_title("left")
    assert values.get_xlabel() == "Contact force (kN)" and values.get_ylabel() == "Time at the force (ms)"
    assert is_png(figure)


def test_orbit_in_a_circle_and_in_a_box():
    figure = plots.orbit(make(), "rod", 0, clearance=2.5e-5)
    (axes,) = figure.axes
    x, y = axes.lines[0].get_data()
    np.testing.assert_allclose(np.hypot(x, y), 20.0)
    assert axes.get_xlabel() == "Displacement x (µm)" and axes.patches[0].get_radius() == pytest.approx(25.0)
    assert is_png(figure)
    box = (
        plots.orbit(make(), "rod", 0, clearance=(2.5e-5, 5e-5), centre=(1e-5, 0.0), components=(1, 0))
        .axes[0]
        .patches[0]
    )
    assert (box.get_x(), box.get_y(), box.get_width(), box.get_height()) == pytest.approx((-15.0, -50.0, 50.0, 100.0))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda r: plots.force_spectrum(r, "top"), "there are tip"),
        (lambda r: plots.force_spectrum(r, component=2), "component = 2"),
        (lambda r: plots.force_histogram(r, threshold=1e4), "never above 10000 N"),
        (lambda r: plots.displacement_spectrum(r, "wall", 0), "there are rod"),
        (lambda r: plots.orbit(r, "rod", 1), "node = 1"),
        (lambda r: plots.orbit(r, "rod", 0, clearance=0.0), "clearance = 0.0: must be positive"),
        (lambda r: plots.orbit(r, "rod", 0, clearance=(1.0, -1.0)), "must be positive"),
    ],
)
def test_bad_input_is_one_line(call, says):
    with pytest.raises(UserError, match=says):
        call(make())
