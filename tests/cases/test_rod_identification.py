"""Identification of a rod's supports: the truth without noise, ellipses that hold it with noise."""

import pytest
from scipy.stats import chi2

from arlequin.cases.rod_identification import UNITS, Parameters, check, coverage, figures, run, scalars
from arlequin.results.recorder import Record

SMALL = Parameters(modes=3, duration=0.05, step=2e-4, trials=2)


@pytest.fixture(scope="module")
def result():
    return run(SMALL, Record(), None)


@pytest.mark.slow
def test_the_truth_is_found(result):
    """Far better than the 1 % of the check: the minimum of the least squares is the truth."""
    assert not [own for own in check(result, SMALL) if not own.passed]
    for name in UNITS:
        assert float(result["found"].dataset[name][0]) == pytest.approx(getattr(SMALL, name), rel=1e-6)


def test_figures_and_numbers(result):
    assert set(figures(result, SMALL)) == {"estimates"}
    numbers = scalars(result, SMALL)
    assert numbers["found_gap"].value == pytest.approx(SMALL.gap, abs=4.0 * numbers["deviation_gap"].value)
    assert result["fit"].dataset["rest"].values[1:] == pytest.approx(SMALL.noise, rel=0.2)


@pytest.mark.slow
def test_ellipses_hold_the_truth():
    """The squared distances of the truth have the χ² distribution of n parameters: their mean over 40 records has a
    standard deviation of √(2/40n), 13 % for three, and finds ellipses of the wrong size as the share of 100 that hold
    the truth does (0.8 times their σ²)."""
    result = run(Parameters(trials=40), Record(), None)
    fit, count = result["fit"].dataset, len(UNITS)
    assert fit["bound"].values[1:] == pytest.approx(chi2.ppf(0.95, count))
    assert fit["distance"].values[1:].mean() == pytest.approx(count, rel=0.25)
    assert coverage(result) >= 0.85
