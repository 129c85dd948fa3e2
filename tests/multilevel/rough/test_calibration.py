"""Laws fitted to curves whose form is known."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from arlequin.models.errors import UserError
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.rough.calibration import fit_power, fit_table, mean_curve

DECAY, SCALE = 2e-7, 1e9


def exponential(gap):
    return SCALE * np.exp(-gap / DECAY)


def test_a_table_keeps_an_exponential_and_its_energy():
    """ln p is a straight line: the spline is exact, between the points too, and beyond them down to 1 %."""
    gaps = np.linspace(0.0, 8.0 * DECAY, 30)
    fit = fit_table(gaps, exponential(gaps))
    between = np.linspace(0.0, 12.5 * DECAY, 777)
    assert fit.law.pressure(between) == pytest.approx(exponential(between), rel=1e-10)
    assert fit.largest <= 1e-12 and fit.factor <= 1.0 + 1e-12
    assert fit.gaps == (0.0, gaps[-1]) and fit.pressures == pytest.approx((exponential(gaps[-1]), SCALE))
    # what the cut tail leaves out is 1 % of the smallest pressure
    assert fit.law.energy(gaps) == pytest.approx(DECAY * exponential(gaps), rel=0.01, abs=1e-4 * DECAY * SCALE)


def test_fewer_knots_stay_near_the_curve():
    gaps = np.linspace(0.0, 1e-6, 400)
    pressures = 1e9 * np.exp(-gaps / 4e-7 - (gaps / 5e-7) ** 2)
    fit = fit_table(gaps, pressures, knots=20)
    assert fit.largest < 5e-3 and 20 <= len(fit.law.gaps) < 60
    assert fit_table(gaps, pressures, knots=6).largest > 2 * fit.largest
    edges = [*fit.law.gaps, fit.law.height]
    pieces = [quad(lambda x: float(fit.law.pressure(np.array(x))), a, b, epsrel=1e-13)[0] for a, b in pairwise(edges)]
    assert float(fit.law.energy(np.array(0.0))) == pytest.approx(sum(pieces), rel=1e-12)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 3.3])
def test_a_power_law_is_found_again(exponent):
    law = Asperities(1e16, exponent, 2e-6)
    gaps = np.linspace(0.0, 1.8e-6, 40)
    fit = fit_power(gaps, law.pressure(gaps))
    assert fit.law.exponent == pytest.approx(exponent, rel=1e-5)
    assert fit.law.height == pytest.approx(2e-6, rel=1e-5) and fit.largest <= 1e-5


def test_one_power_law_misses_an_exponential_over_decades():
    """The steepest that is allowed does best, and the worse the more decades it has to follow."""
    fits = [fit_power(g, exponential(g)) for g in (np.linspace(0.0, np.log(10.0) * n * DECAY, 60) for n in (4, 2, 0.5))]
    assert fits[0].factor > 1.2 and fits[0].factor > fits[1].factor > fits[2].factor
    assert fits[2].largest < 0.01 and fits[0].law.exponent == pytest.approx(20.0, rel=1e-3)
    assert "Asperities" in str(fits[0]) and "factor" in str(fits[0])


def test_mean_and_scatter_of_samples():
    mean, scatter = mean_curve([[1.0, 2.0], [3.0, 2.0]], [5.0, 6.0])
    assert mean == pytest.approx([2.0, 2.0]) and scatter == pytest.approx([np.sqrt(2.0), 0.0])
    assert not mean_curve([[1.0, 2.0]], [5.0, 6.0])[1].any()
    with pytest.raises(UserError, match="gaps: 2 values a sample, but 3 pressures"):
        mean_curve([[1.0, 2.0]], [5.0, 6.0, 7.0])


def test_bad_curves():
    with pytest.raises(UserError, match="must be positive and fall as the gap grows"):
        fit_table([0.0, 1.0, 2.0], [3.0, 1.0, 2.0])
    with pytest.raises(UserError, match="as many gaps as pressures, 3 or more"):
        fit_power([0.0, 1.0], [3.0, 1.0])
    with pytest.raises(UserError, match="knots"):
        fit_table([0.0, 1.0, 2.0], [3.0, 2.0, 1.0], knots=1)
