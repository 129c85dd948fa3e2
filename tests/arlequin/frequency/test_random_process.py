"""Statistics of records: Welch's density and its band, rms, peak factor; figures of responses and densities."""

from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.results.random_process import davenport_factor, degrees_of_freedom


def record(values: Any, step: float = 1e-3, **more: Any) -> xarray.DataArray:
    values = np.asarray(values)
    time = step * np.arange(values.shape[0])
    dims = ("time", "node")[: values.ndim]
    return xarray.DataArray(values, {"time": time}, dims, attrs={"units": "m", "long_name": "deflection"}, **more)


def test_density_of_a_sine_and_of_white_noise() -> None:
    """∫ S df = a²/2 of a sine; S = σ² 2 Δt of white noise, σ² its variance, in each column."""
    t = 1e-3 * np.arange(8000)
    sine = aq.psd(record(3.0 * np.sin(2 * np.pi * 40.0 * t)))
    assert float(sine.integrate("frequency")) == pytest.approx(4.5, rel=1e-3)
    noise = np.random.default_rng(3).normal(size=(200_000, 2)) * [1.0, 5.0]
    density = aq.psd(record(noise), segments=200)
    assert density.dims == ("node", "frequency") and density.attrs["units"] == "m^2/Hz"
    np.testing.assert_allclose(density[:, 1:-1].mean("frequency"), 2e-3 * np.array([1.0, 25.0]), rtol=0.01)


def test_band_holds_its_share() -> None:
    """The band of white noise has the exact density at 95 % of the frequencies, within the error of the count."""
    rng = np.random.default_rng(8)
    band = aq.psd(record(rng.normal(size=(40_000, 8))), segments=40, confidence=0.95)
    inside = (band["low"] <= 2e-3) & (band["high"] >= 2e-3)
    share = float(inside[:, 3:-3].mean())
    assert abs(share - 0.95) < 3 * np.sqrt(0.95 * 0.05 / inside[:, 3:-3].size) * 1.5  # neighbours are correlated


def test_degrees_of_freedom_of_overlapping_pieces() -> None:
    """Variance of Welch's mean by sampling: 2/ν = Var S/(mean S)², of 1, 5 and 40 pieces."""
    rng = np.random.default_rng(1)
    for pieces in (1, 5, 40):
        length = 64
        values = rng.normal(size=(1500, length // 2 * (pieces + 1)))
        time = xarray.DataArray(values.T, {"time": 1e-3 * np.arange(values.shape[1])}, ("time", "sample"))
        density = aq.psd(time, segments=pieces).values[:, 5:-5]
        measured = 2.0 * density.mean() ** 2 / density.var()
        assert measured == pytest.approx(degrees_of_freedom(length, pieces), rel=0.05)


def test_rms_and_peak_factor() -> None:
    values = record(2.0 + np.sin(2 * np.pi * 25.0 * 1e-3 * np.arange(2000)))
    assert float(aq.rms(values)) == pytest.approx(np.sqrt(0.5), rel=1e-12)
    assert float(aq.rms(values, about_mean=False)) == pytest.approx(np.sqrt(4.5), rel=1e-12)
    assert float(aq.peak_factor(values)) == pytest.approx(np.sqrt(2.0), rel=1e-12)
    assert aq.rms(values).attrs == {"units": "m", "long_name": "rms of deflection"}


def test_peak_factor_of_a_gaussian_process() -> None:
    """Davenport's factor, asymptotic for many crossings, is the mean of the largest values of records: within 5 %."""
    rng = np.random.default_rng(5)
    count, members = 4096, 400
    f = np.fft.rfftfreq(count, 1e-3)
    shape = np.exp(-0.5 * ((f - 60.0) / 15.0) ** 2)
    spectrum = shape * (rng.normal(size=(members, f.size)) + 1j * rng.normal(size=(members, f.size)))
    records = np.fft.irfft(spectrum, count)
    crossings = np.sqrt((shape**2 @ f**2) / (shape**2).sum()) * count * 1e-3
    # |x| has twice the crossings of x
    measured = float(aq.peak_factor(record(records.T)).mean())
    assert measured == pytest.approx(davenport_factor(2 * crossings), rel=0.05)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: aq.psd(np.zeros(5)), "variable = .*: must be a variable of a result"),
        (lambda: aq.psd(xarray.DataArray(np.zeros(5), dims=("x",))), "variable: has no dimension time or frame, but x"),
        (lambda: aq.psd(xarray.DataArray(np.zeros(50), dims=("time",))), "variable: has no coordinate 'time'"),
        (lambda: aq.psd(record(np.zeros(40)), 20), "segments = 20: 40 values make at most 9 segments of 8"),
        (lambda: aq.psd(record(np.zeros(40)), confidence=1.0), "confidence = 1.0"),
        (lambda: aq.rms(record([np.nan, 1.0])), "variable: has values that are not finite"),
        (
            lambda: aq.psd(xarray.DataArray(np.zeros(3), {"time": [0.0, 1.0, 5.0]}, ("time",))),
            "time: must have equal steps, not 1 to 4 s",
        ),
    ],
)
def test_bad_records(call: Any, line: str) -> None:
    with pytest.raises(aq.UserError, match=line):
        call()


@pytest.fixture(scope="module")
def responses() -> tuple[xarray.Dataset, xarray.Dataset]:
    mass = aq.PointMasses("mass", 0.0, 2.0)
    spring = aq.Spring("spring", mass.boundary("all"), stiffness=800.0, damping=4.0)
    system, at = aq.System([mass], springs=[spring]), mass.boundary("all")
    of = {"x": aq.frequency.Displacement(at, "x"), "f": aq.frequency.SpringForce(spring)}
    f = np.linspace(0.0, 10.0, 101)
    harmonic = aq.frequency_response(system, aq.frequency.Force(at, 1.0), of, f, progress=False)
    white = aq.frequency.Spectrum(aq.frequency.Force(at, 1.0), lambda f: 0.5)
    return harmonic, aq.random_response(system, white, of, f, progress=False)


def test_bode_and_nyquist(responses: Any) -> None:
    """The lines are the magnitude, the phase from 0 to −180°, and the circle of a lightly damped resonance."""
    harmonic, _ = responses
    above, below = aq.plots.bode(harmonic).axes
    (magnitude,), (phase,) = above.get_lines(), below.get_lines()
    np.testing.assert_allclose(magnitude.get_ydata(), np.abs(harmonic["x"].values[1:]))
    assert above.get_yscale() == "log" and above.get_ylabel() == "Magnitude (m)"
    assert phase.get_ydata()[0] > -5.0 and phase.get_ydata()[-1] < -170.0
    assert below.get_ylabel() == "Phase (°)" and below.get_xlabel() == "Frequency (Hz)"
    (axes,) = aq.plots.nyquist(harmonic, "x").axes
    curve = axes.get_lines()[0]
    assert curve.get_ydata().min() == pytest.approx(1e3 * harmonic["x"].values.imag.min())
    assert axes.get_xlabel() == "Real part (mm)" and axes.texts[0].get_text() == "3.2 Hz"
    with pytest.raises(aq.UserError, match="name = 'y': must be one of x, f"):
        aq.plots.bode(harmonic, "y")


def test_response_spectrum(responses: Any) -> None:
    """The density with its rms, and a measured one with its band."""
    _, response = responses
    values = record(np.random.default_rng(2).normal(size=4000) * 1e-3, 0.05)
    (axes,) = aq.plots.response_spectrum(response, measured=aq.psd(values, confidence=0.95)).axes
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert f"rms {1e3 * float(response['rms_x']):.4g} mm" in texts[0] and texts[1:] == ["95 % band", "measured"]
    assert axes.get_ylabel() == "One-sided spectral density (m²/Hz)" and axes.get_yscale() == "log"
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), response["x"].values)
    with pytest.raises(aq.UserError, match="response: has no such outputs over the frequency"):
        aq.plots.bode(response)
