"""Identification of a rod's supports: the truth without noise, ellipses that hold it with noise."""

import pytest

from arlequin.cases import rod_identification
from arlequin.cases.rod_identification import NAMES, Parameters, build, check, coverage, figures, found, scalars

SMALL = Parameters(modes=3, duration=0.05, step=2e-4)


@pytest.fixture(scope="module")
def result():
    return build(SMALL).run()


def test_the_truth_is_found(result):
    """Far better than the 1 % of the check: the minimum of the least squares is the truth."""
    assert not [own for own in check(result, SMALL) if not own.passed]
    exact = found(result, SMALL)
    for name, value in zip(NAMES, exact["value"].values, strict=True):
        assert value == pytest.approx(getattr(SMALL, name), rel=1e-6)


def test_figures_and_numbers(result):
    assert set(figures(result, SMALL)) == {"record", "estimates"}
    numbers = scalars(result, SMALL)
    assert numbers["found_gap"].value == pytest.approx(SMALL.gap, abs=4.0 * numbers["deviation_gap"].value)


@pytest.mark.slow
def test_ellipses_hold_the_truth():
    """95 of 100 are expected, 90 at least."""
    parameters = Parameters()
    assert coverage(rod_identification.build(parameters).run(), parameters, 100) >= 0.9
