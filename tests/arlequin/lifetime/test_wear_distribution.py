"""Distributions of wear lives against closed forms of uniform inputs; tolerance limits by Wilks' numbers."""

from io import BytesIO

import numpy as np
import pytest

import arlequin as aq
from arlequin.lifetime.wear_distribution import tolerance_rank
from arlequin.models.errors import UserError

MONTH = 365.25 / 12.0 * 86400.0  # s
AREA, DURATION, POWER = 5e-6, 18 * MONTH, 2e-3  # m², s, W
INPUTS = {"coefficient": (1e-14, 2e-14)}  # m³/J
END = 1e-14 * POWER * DURATION / AREA  # least depth at the end, m; twice it is the largest
LIMIT = 1.5 * END


def life(coefficient):
    """Depths at the end are uniform from END to 2 END."""
    return aq.wear_life({"a": POWER, "b": 0.5 * POWER}, coefficient=coefficient, area=AREA, duration=DURATION,
                        limit=LIMIT, wall=1e-3)  # fmt: skip


def distribution(**options):
    given = {"samples": 200, "workers": 0, "progress": False, **options}
    return aq.wear_life_distribution(life, INPUTS, **given)


@pytest.fixture(scope="module")
def found():
    return distribution()


def test_depths_are_those_of_the_inputs(found):
    """Uniform at all times: mean, median, 2.5 and 97.5 %; the limit of 95/95 lies above the quantile of 95 %."""
    time, end = found["time"].values / DURATION, 1.0 / (2.0 * np.sqrt(3.0) * np.sqrt(200.0))
    np.testing.assert_allclose(found["depth_mean"], 1.5 * END * time, atol=3.0 * end * END)
    np.testing.assert_allclose(found["depth_median"], 1.5 * END * time, atol=0.1 * END)
    low, high = found["depth_band"].values[:, -1] / END
    assert low == pytest.approx(1.025, abs=0.02) and high == pytest.approx(1.975, abs=0.02)
    assert 1.95 < float(found["depth_tolerance"][-1]) / END < 2.0
    low, high = found["mean_interval"].values / END
    assert low < 1.5 < high and high - low == pytest.approx(2.0 * 1.96 * end, rel=0.1)
    inputs = found["input_coefficient"].values
    np.testing.assert_allclose(found["depth"][:, -1], inputs * POWER * DURATION / AREA, rtol=1e-9)


def test_times_to_the_limit(found):
    """t = limit A/(k P): the limit is exceeded by t with the probability that k > limit A/(P t)."""
    exact = np.clip(2.0 - 1.5 * DURATION / np.maximum(found["time"].values, 1e-9), 0.0, 1.0)
    low, high = found["exceedance_interval"].values
    assert ((low <= exact + 1e-12) & (exact <= high + 1e-12)).mean() > 0.9
    times = found["time_to_limit"].values
    reached = np.isfinite(times)
    assert reached.mean() == float(found["exceedance"][-1])
    np.testing.assert_allclose(times[reached], LIMIT * AREA / (found["input_coefficient"].values[reached] * POWER))
    early, middle, late = found["time_to_limit_quantile"].values / DURATION
    assert early == pytest.approx(1.5 / 1.95, rel=0.02) and late == np.inf
    assert middle == np.inf or middle == pytest.approx(1.0, abs=0.05)
    assert 0.75 <= float(found["time_to_limit_tolerance"]) / DURATION < 1.5 / 1.95


@pytest.mark.parametrize(("count", "rank"), [(58, None), (59, 1), (92, 1), (93, 2), (123, 2), (124, 3), (153, 4)])
def test_the_numbers_of_wilks(count, rank):
    """59, 93, 124, 153 runs for one-sided limits of 95/95 (Guba, Makai & Pál, Reliab. Eng. Syst. Saf. 80, 2003)."""
    assert tolerance_rank(count) == rank


def test_few_samples_have_no_tolerance_limit():
    found = distribution(samples=20)
    assert np.isnan(found["depth_tolerance"]).all() and np.isnan(float(found["time_to_limit_tolerance"]))


def test_a_store_is_resumed_and_another_support_chosen(tmp_path):
    first = distribution(samples=10, store=tmp_path / "lives")
    more = distribution(samples=30, store=tmp_path / "lives")
    np.testing.assert_array_equal(more["depth"].values[:10], first["depth"].values)
    other = distribution(samples=10, support="b")
    np.testing.assert_allclose(other["depth"], 0.5 * first["depth"], rtol=1e-12)
    with pytest.raises(UserError, match="support = 'c': must be one of a, b"):
        distribution(samples=10, support="c")


def test_the_table_and_the_figure_have_units(found):
    table = aq.wear_table(found, rows=3)
    assert table["time (months)"].tolist() == [0.0, 9.0, 18.0]
    assert table["mean depth (µm)"].iloc[-1] == pytest.approx(1e6 * float(found["depth_mean"][-1]), abs=0.01)
    assert table["P(limit exceeded) (%)"].iloc[-1] == pytest.approx(100 * float(found["exceedance"][-1]), abs=0.01)
    assert "95 % band from (µm)" in table and "95/95 limit (µm)" in table
    figure = aq.plots.wear_life(found)
    upper, lower = figure.axes
    assert upper.get_ylabel() == "Worn depth (µm)" and lower.get_ylabel() == "Limit exceeded (%)"
    assert lower.get_xlabel() == "Time in service (months)"
    assert len(upper.collections) == 1 and len(lower.collections) == 1
    figure.savefig(BytesIO())


def test_what_is_no_life_is_refused():
    with pytest.raises(UserError, match="must give the Dataset of wear_life"):
        aq.wear_life_distribution(lambda coefficient: coefficient, INPUTS, samples=5, workers=0, progress=False)
    with pytest.raises(UserError, match="must give a wear_life with a limit"):
        aq.wear_life_distribution(
            lambda coefficient: aq.wear_life(1e-3, coefficient=coefficient, area=AREA, duration=1.0),
            INPUTS, samples=5, workers=0, progress=False,
        )  # fmt: skip
    with pytest.raises(UserError, match="study = 3: must be a function of the inputs"):
        aq.wear_life_distribution(3, INPUTS, samples=5)
    with pytest.raises(UserError, match="inputs: missing a required argument: 'coefficient': life takes coefficient"):
        aq.wear_life_distribution(life, {"gap": (1.0, 2.0)}, samples=5, workers=0)
