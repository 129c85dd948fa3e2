"""Spectra and peaks: Parseval's identity, the line of a sine, white noise, spells made by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arlequin as aq
from arlequin.models.errors import UserError


def test_the_area_under_a_spectrum_is_the_windowed_variance():
    rng = np.random.default_rng(3)
    for count in (400, 401):  # with and without a line at 1/(2Δt)
        x = 5.0 + rng.standard_normal(count)
        frequencies, density = aq.results.power_spectrum(0.01 * np.arange(count), x, segments=1)
        window = np.sin(np.pi * np.arange(count) / count) ** 2  # Hann's, periodic
        variance = (window**2 * (x - x.mean()) ** 2).sum() / (window**2).sum()
        assert density.sum() * frequencies[1] == pytest.approx(variance, rel=1e-12)


def test_a_sine_is_a_line_of_its_power():
    t = 2.0 + 1e-4 * np.arange(9000)
    frequencies, density = aq.results.power_spectrum(t, 7.0 + 3.0 * np.sin(2 * np.pi * 250.0 * t), segments=8)
    assert frequencies[density.argmax()] == pytest.approx(250.0)
    near = np.abs(frequencies - 250.0) < 20.0
    assert density[near].sum() * frequencies[1] == pytest.approx(3.0**2 / 2, rel=1e-6)
    assert density[~near].max() < 1e-6 * density.max()  # the mean is cut off


def test_white_noise_has_density_two_variances_a_step():
    rng = np.random.default_rng(0)
    step, sigma = 2e-3, 4.0
    x = sigma * rng.standard_normal(200_000)
    _, density = aq.results.power_spectrum(step * np.arange(x.size), x, segments=400)
    assert density[1:-1].mean() == pytest.approx(2 * sigma**2 * step, rel=0.02)


def test_peaks_of_spells_made_by_hand():
    # steps of 1 and 2 s; the value at the start stands for no time
    time = [0.0, 1.0, 2.0, 4.0, 6.0, 7.0, 8.0, 10.0]
    force = [9.0, 0.0, 3.0, 5.0, 0.0, 0.0, 2.0, 1.0]
    peaks = aq.results.impact_peaks(time, force)
    assert peaks.start.tolist() == [1.0, 7.0]
    assert peaks.duration.tolist() == [3.0, 3.0]
    assert peaks.force.tolist() == [5.0, 2.0]
    assert peaks.impulse.tolist() == [3.0 + 2 * 5.0, 2.0 + 2 * 1.0]
    assert aq.results.contact_ratio(time, force) == 0.6
    above = aq.results.impact_peaks(time, force, threshold=2.5)
    assert above.start.tolist() == [1.0] and above.impulse.tolist() == [13.0]
    assert (
        aq.results.impact_peaks(time, np.zeros(8)).force.size == 0
        and aq.results.contact_ratio(time, np.zeros(8)) == 0.0
    )


@given(st.lists(st.tuples(st.floats(0.1, 3.0), st.sampled_from([0.0, 0.0, 1.0, 2.5])), min_size=1, max_size=30))
def test_spells_share_out_impulse_and_time(steps):
    spans, force = np.array(steps).T
    time = np.concatenate([[0.0], np.cumsum(spans)])
    peaks = aq.results.impact_peaks(time, [0.0, *force])
    assert peaks.impulse.sum() == pytest.approx(spans @ force)
    assert peaks.duration.sum() == pytest.approx(aq.results.contact_ratio(time, [0.0, *force]) * time[-1])
    assert (peaks.start[1:] > (peaks.start + peaks.duration)[:-1]).all()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: aq.results.power_spectrum([0.0, 1.0, 3.0] * 5, np.zeros(15)), "increasing"),
        (lambda: aq.results.power_spectrum(np.arange(40) ** 1.5, np.zeros(40), 2), "must have equal steps"),
        (
            lambda: aq.results.power_spectrum(np.arange(10.0), np.zeros(10)),
            "segments = 8: 10 values make at most 1 segments",
        ),
        (lambda: aq.results.power_spectrum(np.arange(10.0), np.zeros(9)), "values"),
        (lambda: aq.results.impact_peaks([0.0, 1.0], [0.0, np.nan]), "values"),
        (lambda: aq.results.impact_peaks([0.0, 1.0], [0.0, 1.0], np.inf), "threshold"),
    ],
)
def test_bad_input_is_one_line(call, says):
    with pytest.raises(UserError, match=says):
        call()


@pytest.mark.sampled(7)
@pytest.mark.parametrize("count", range(2490, 2500))
def test_the_end_of_a_history_is_in_its_spectrum(count):
    x = np.zeros(count)
    x[-count // 12 :] = np.random.default_rng(0).normal(size=-(-count // 12))
    assert aq.results.power_spectrum(1e-3 * np.arange(count), x, segments=8)[1].max() > 0.0
