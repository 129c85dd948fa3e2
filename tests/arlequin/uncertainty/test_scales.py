"""Answers scale with the quantity: of s q the mean, its interval and thresholds are s times those of q, and shares are
those of q, from 1e-290 to 1e300, where squares vanish or overflow."""

import functools
import warnings

import numpy as np
import pytest
import scipy.stats

import arlequin as aq
from arlequin.models.errors import ModelWarning
from arlequin.uncertainty.intervals import deviation, kurtosis, mean

INPUTS = {"x": (0.0, 1.0), "y": scipy.stats.norm(0.0, 0.3)}
HERE = {"workers": 0, "progress": False}
SCALES = (2.0**-600, -(2.0**900), 1e-162, -1e300, 1e-150, 1e150)
LINEAR = ("value", "interval", "half_width", "standard_error", "threshold", "mean", "level_mean", "bias", "thresholds")


def scaled(x, y, step=0.0, scale=1.0):
    return scale * (1.0 + x + x * y + step * np.sin(9.0 * x))


def answer(kind, scale):
    study = functools.partial(scaled, scale=scale)
    if kind == "sobol":
        return aq.sobol_indices(study, None, INPUTS, samples=16, **HERE)
    if kind == "levels":
        levels = [{"step": 0.4}, {"step": 0.1}, {"step": 0.025}]
        return aq.estimate(study, None, INPUTS, relative=0.02, levels=levels, costs=[1.0, 4.0, 16.0], **HERE)
    if kind == "probability":
        limit = {"above" if scale > 0.0 else "below": 2.2 * scale}
        return aq.probability(study, None, INPUTS, relative=None, samples=100, method="monte-carlo", **limit, **HERE)
    if kind == "tolerance":
        return aq.estimate(study, None, INPUTS, tolerance=0.1 * abs(scale), **HERE)
    return aq.estimate(study, None, INPUTS, samples=64, method=kind, **HERE)


@functools.cache
def plain(kind):
    return answer(kind, 1.0)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["monte-carlo", "quasi-monte-carlo", "tolerance", "levels", "probability", "sobol"])
def test_answers_scale(kind, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ModelWarning)
        found, whole = answer(kind, scale), plain(kind)
    exact = np.frexp(abs(scale))[0] == 0.5  # powers of two: to the bit, but for the order of a sum of a negative scale
    tolerance = 1e-14 if exact else 1e-10
    for name in found.data_vars:
        here, there = found[name].values, whole[name].values
        if name in LINEAR and kind != "probability":
            here = here / scale
            if scale < 0.0 and name in ("interval", "threshold"):
                here = here[::-1]
            here, there = (abs(here), abs(there)) if name in ("half_width", "standard_error", "bias") else (here, there)
        elif not name.startswith(("first_order", "total_order")) and not (
            kind == "probability" and name in ("value", "interval")
        ):
            continue
        np.testing.assert_allclose(here, there, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("scale", [1e-300, 1e-162, -1e300, 1.7e308])
def test_moments_of_any_size(scale):
    values = np.array([0.25, 0.5, 1.0, 0.75])
    np.testing.assert_allclose(mean(scale * values) / scale, 0.625, rtol=1e-15)
    np.testing.assert_allclose(deviation(scale * values) / abs(scale), np.sqrt(0.3125 / 3.0), rtol=1e-15)
    # Σ x⁴/4 over (Σ x²/4)² of ±0.375, ±0.125
    np.testing.assert_allclose(kurtosis(scale * values), 1.64, rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-162, -1e300])
def test_figures_of_any_scale(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        low, high = aq.plots.distribution(answer("monte-carlo", scale), limit=1.5 * scale).axes[0].get_xlim()
        assert low < high and np.isfinite([low, high]).all()
        aq.plots.distribution(scale * np.linspace(1.0, 2.0, 20))
