"""The ellipse of two fitted parameters holds 95 % of what it is drawn for."""

import numpy as np
import pytest
import xarray
from matplotlib.path import Path

import arlequin as aq
from arlequin import plots

NAMES = ["stiffness", "damping", "friction"]
VALUES = np.array([400.0, 0.5, 0.2])
FACTOR = np.array([[3.0, 0.0, 0.0], [-0.02, 0.03, 0.0], [0.004, 0.001, 0.002]])  # of the covariance, by Cholesky


def fitted(freedom):
    """What `aq.fit` gives, of a known covariance."""
    deviations = np.sqrt(np.diag(FACTOR @ FACTOR.T))
    ends = {"low": VALUES - 2.0 * deviations, "high": VALUES + 2.0 * deviations}
    variables = {key: ("parameter", own) for key, own in {"value": VALUES, **ends}.items()}
    variables["covariance"] = (("parameter", "with"), FACTOR @ FACTOR.T)
    return xarray.Dataset(variables, coords={"parameter": NAMES, "with": NAMES}, attrs={"freedom": freedom})


def outline(figure):
    return np.asarray(figure.axes[0].lines[0].get_xydata())


@pytest.mark.parametrize("freedom", [np.inf, 5.0])
@pytest.mark.parametrize("pair", [(0, 1), (2, 0)])
def test_draws_are_within_the_ellipse_with_95_per_cent(freedom, pair):
    """Estimates p̂ ~ N(p, C), and the variance of ν degrees of freedom that scales the ellipse, are drawn: 40,000 of
    them hold 95 % to 3.3e-3 with three deviations; a third of the chords' height, 5e-5, is left."""
    count, random = 40_000, np.random.default_rng(2)
    errors = random.standard_normal((count, 3)) @ FACTOR.T
    spread = 1.0 if np.isinf(freedom) else np.sqrt(random.chisquare(freedom, count) / freedom)[:, None]
    x, y = (NAMES[i] for i in pair)
    line = outline(plots.confidence_ellipse(fitted(freedom), x, y))
    held = Path(line).contains_points((VALUES + errors / spread)[:, pair]).mean()
    assert held == pytest.approx(0.95, abs=3.4e-3)


def test_two_parameters_have_the_ellipse_of_the_fit():
    """The bound for all parameters is that for both: of a line through noise, fitted by least squares."""

    def thrown(speed, height):
        ball = aq.PointMasses("ball", 0.0, 1.0)
        return aq.Study(aq.System([ball], displacement=height, velocity=speed), aq.Theta(0.5), 1.0, 0.1)

    times, noise = np.linspace(0.1, 1.0, 10), 0.01 * np.random.default_rng(3).standard_normal(10)
    record = 1.0 + 3.0 * times + noise
    place = lambda result: result["part/ball/displacement"][1:, 0, 0]  # noqa: E731
    guess = {"speed": 2.5, "height": 0.8}
    for deviation in (None, 0.01):
        found = aq.fit(thrown, {"place": (place, record)}, guess, deviation=deviation)
        line = outline(plots.confidence_ellipse(found, "speed", "height", truth={"speed": 3.0, "height": 1.0}))
        columns = np.column_stack([times, np.ones(10)])
        best, left, *_ = np.linalg.lstsq(columns, record, rcond=None)
        apart = (line - best) @ columns.T
        variance = left[0] / 8.0 if deviation is None else deviation**2
        np.testing.assert_allclose((apart**2).sum(axis=1) / variance, found.attrs["ellipse"], rtol=1e-5)


def test_the_truth_is_marked_and_other_names_are_refused():
    found = fitted(97.0)
    figure = plots.confidence_ellipse(found, "friction", "damping", truth={"friction": 0.21, "damping": 0.45})
    marked = [line for line in figure.axes[0].lines if line.get_label() == "truth"]
    np.testing.assert_allclose(marked[0].get_xydata(), [[0.21, 0.45]])
    for arguments, options, message in (
        (("frction", "damping"), {}, "x = 'frction'"),
        (("damping", "damping"), {}, "another parameter than x"),
        (("friction", "damping"), {"truth": {"mu": 0.2}}, "'mu' is no parameter of the fit"),
    ):
        with pytest.raises(aq.UserError, match=message):
            plots.confidence_ellipse(found, *arguments, **options)
    with pytest.raises(aq.UserError, match="fit: is no result"):
        plots.confidence_ellipse(found.drop_vars("low"), "friction", "damping")


def test_a_parameter_at_its_bound_has_no_ellipse():
    found = fitted(np.inf)
    covariance = found["covariance"].copy()
    covariance[1], covariance[:, 1] = np.nan, np.nan
    with pytest.raises(aq.UserError, match=r"damping is at its bound and has no ellipse: its interval is 0\.4"):
        plots.confidence_ellipse(found.assign(covariance=covariance), "stiffness", "damping")
    assert plots.confidence_ellipse(found.assign(covariance=covariance), "stiffness", "friction").axes
