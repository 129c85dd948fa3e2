"""`sobol_indices` against closed forms, and the figures of uncertainty."""

import numpy as np
import pytest
import scipy.stats

import arlequin as aq
from arlequin import plots
from arlequin.uncertainty.sobol import indices as estimators


def ishigami(x, y, z):
    return np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)


def indices(study, inputs, **options):
    return aq.sobol_indices(study, None, inputs, **{"workers": 0, "progress": False, **options})


def test_ishigami():
    """S = (0.3139, 0.4424, 0), S_T = (0.5576, 0.4424, 0.2437) (Ishigami & Homma, 1990)."""
    found = indices(ishigami, dict.fromkeys("xyz", (-np.pi, np.pi)), samples=2048)
    assert found["first_order"].values == pytest.approx([0.3139, 0.4424, 0.0], abs=0.02)
    assert found["total_order"].values == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.02)
    low, high = found["total_order_interval"].values
    exact = np.array([0.5576, 0.4424, 0.2437])
    assert ((low < exact) & (exact < high)).all()
    assert float(found["variance"]) == pytest.approx(
        49.0 / 8.0 + 0.1 * np.pi**4 / 5.0 + np.pi**8 / 1800.0 + 0.5, rel=0.02
    )
    assert int(found["samples"]) == 2048 * 5 and found["input"].values.tolist() == ["x", "y", "z"]


def test_a_linear_quantity_of_other_distributions():
    """Shares of the variances, which are first order and total alike."""
    inputs = {"a": scipy.stats.norm(1.0, 2.0), "b": scipy.stats.expon(scale=3.0), "c": range(1, 7)}
    found = indices(lambda a, b, c: aq.Scalar(a + b + c, "m"), inputs, samples=1024)
    parts = np.array([4.0, 9.0, 35.0 / 12.0])
    assert found["first_order"].values == pytest.approx(parts / parts.sum(), abs=0.03)
    assert found["total_order"].values == pytest.approx(parts / parts.sum(), abs=0.03)
    assert found["mean"].attrs["units"] == "m" and found["variance"].attrs["units"] == "(m)^2"


def test_estimators_are_those_of_scipy():
    """Indices to round-off; the same seed gives the same intervals, to the bit."""
    values = np.random.default_rng(3).normal(5.0, 2.0, (5, 64)) + np.linspace(0.0, 9.0, 64)
    given = {"f_A": values[:1], "f_B": values[1:2], "f_AB": values[2:, None]}
    theirs = scipy.stats.sobol_indices(func=given, n=64)
    assert estimators(values) == pytest.approx(np.array([theirs.first_order, theirs.total_order]), rel=1e-12)
    inputs = dict.fromkeys("xyz", (-np.pi, np.pi))
    found, again, other = (indices(ishigami, inputs, samples=256, seed=seed) for seed in (4, 4, 5))
    for name in ("first_order_interval", "total_order_interval"):
        assert found[name].values.tobytes() == again[name].values.tobytes() != other[name].values.tobytes()


def test_bad_input_is_one_line():
    with pytest.raises(aq.UserError, match="samples = 100: must be a power of 2"):
        indices(ishigami, dict.fromkeys("xyz", (0.0, 1.0)), samples=100)
    with pytest.raises(aq.UserError, match="quantity: is 1 at all samples: it has no variance to share"):
        indices(lambda x: 1.0, {"x": (0.0, 1.0)}, samples=4)


def test_tornado_has_the_largest_bar_on_top():
    figure = plots.tornado({"a": 0.1, "b": -0.7, "c": 0.3}, dict.fromkeys("abc", (-1.0, 1.0)), label="Elasticity")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["A", "C", "B"]
    assert [bar.get_width() for bar in axes.patches] == [0.1, 0.3, -0.7] and axes.get_xlabel() == "Elasticity"
    found = indices(ishigami, dict.fromkeys("xyz", (-np.pi, np.pi)), samples=64)
    both = plots.tornado(found).axes[0]
    assert len(both.patches) == 6 and [t.get_text() for t in both.get_legend().get_texts()] == ["first order", "total"]
    with pytest.raises(aq.UserError, match="intervals: must be of a, not b"):
        plots.tornado({"a": 1.0}, {"b": (0.0, 1.0)})
    with pytest.raises(aq.UserError, match=r"must be \{name: number\} or the Dataset of sobol_indices"):
        plots.tornado(found.rename({"total_order": "other"}))


def test_distribution_shows_the_proportions():
    values = np.arange(1.0, 101.0)
    figure = plots.distribution(values[::-1], unit="m", label="Depth", limit=90.5)
    axes = figure.axes[0]
    x, y = axes.lines[0].get_data()
    assert np.array_equal(x, values) and np.array_equal(y, values / 100.0)
    exact = scipy.stats.binomtest(10, 100).proportion_ci(0.95, "exact")
    assert axes.get_title(loc="left") == f"above 90.5 m: 0.1 ({exact.low:.2g} to {exact.high:.2g})"
    found = aq.estimate(lambda x: x, None, {"x": (0.0, 1.0)}, samples=50, workers=0, progress=False)
    assert plots.distribution(found).axes[0].get_xlabel() == "Value"
    with pytest.raises(aq.UserError, match="values: must be at least two samples"):
        plots.distribution([1.0])
    with pytest.raises(aq.UserError, match="must be the Dataset of estimate or samples"):
        plots.distribution(found.drop_dims("threshold"))


def test_level_convergence_shows_rates_and_samples():
    levels = [{"n": n} for n in (4, 8, 16)]
    costs = [4.0, 8.0, 16.0]
    found = aq.estimate(
        lambda x, n: x * (1.0 + 1.0 / n), None, {"x": (0.0, 1.0)}, levels=levels, costs=costs, tolerance=0.05, workers=0
    )
    figure = plots.level_convergence(found)
    _, middle, right = figure.axes
    assert [bar.get_height() for bar in right.patches] == found["samples"].values.tolist()
    assert float(found["variance_rate"]) == pytest.approx(2.0, abs=0.6)
    curve = middle.lines[-1].get_ydata()
    assert np.array_equal(curve, found["variance"].values[1:])
    with pytest.raises(aq.UserError, match="estimate: has one level"):
        plots.level_convergence(found.isel(level=[0]))
