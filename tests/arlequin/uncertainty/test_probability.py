"""`probability`: rare events with closed forms, and the coverage of their intervals."""

import numpy as np
import pytest
import scipy.stats

import arlequin as aq
from arlequin.uncertainty.inputs import Inputs
from arlequin.uncertainty.intervals import proportion
from arlequin.uncertainty.subset import Subsets, _repeat, _search

PLANE = {"x": scipy.stats.norm(), "y": scipy.stats.norm()}


def plane(x, y):
    """Distance along the diagonal of normal numbers: normal."""
    return (x + y) / 2.0**0.5


def probability(study, inputs, **options):
    return aq.probability(study, None, inputs, **{"workers": 0, "progress": False, **options})


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("limit", "relative"), [(3.0902, 0.2), (4.7534, 0.3)], ids=["1e-3", "1e-6"])
def test_a_plane_in_normal_space(limit, relative):
    exact = scipy.stats.norm.sf(limit)
    found = probability(plane, PLANE, above=limit, relative=relative)
    low, high = found["interval"].values
    assert low < exact < high and high - low <= 2.0 * relative * float(found["value"]) * (1.0 + 1e-12)
    assert float(found["plain_samples"]) > (3.0 if limit < 4.0 else 300.0) * float(found["samples"])
    assert (np.diff(found["thresholds"]) > 0.0).all() and float(found["thresholds"][-1]) < limit
    assert (abs(found["acceptance"] - 0.44) < 0.15).all()


def test_below_is_above_of_the_negative():
    """And a product of lognormal numbers, whose logarithm is normal."""
    inputs = {"x": scipy.stats.lognorm(0.3), "y": scipy.stats.lognorm(0.4)}
    exact = scipy.stats.norm.cdf(np.log(0.2) / 0.5)
    found = probability(lambda x, y: x * y, inputs, below=0.2)
    low, high = found["interval"].values
    assert low < exact < high and found.attrs["below"] == 0.2
    assert (np.diff(found["thresholds"]) < 0.0).all()
    other = probability(lambda x, y: -x * y, inputs, above=-0.2)
    assert float(other["value"]) == float(found["value"])


def test_two_regions_that_are_both_rare():
    """|x| beyond a limit: chains of one region find no other one, the samples of the first level find both."""
    found = probability(lambda x, y: abs(plane(x, y)), PLANE, above=3.2905, seed=1)
    low, high = found["interval"].values
    assert low < 1e-3 < high


def test_whole_numbers_among_the_inputs():
    """Noise of a seed: P(x + e > b), e one of 1000 normal numbers, in closed form over them."""
    noise = scipy.stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    exact = float(np.mean(scipy.stats.norm.sf(3.5 - 0.5 * np.random.default_rng(5).permutation(noise))))
    scattered = np.random.default_rng(5).permutation(noise)
    inputs = {"x": scipy.stats.norm(), "seed": range(1000)}
    found = probability(lambda x, seed: x + 0.5 * scattered[seed], inputs, above=3.5)
    low, high = found["interval"].values
    assert low < exact < high


def direct(limit: float, count: int, seed: int = 0) -> np.ndarray:
    """Probabilities of repetitions with the thresholds of one search, of the plane, without a sampler."""
    inputs, random = Inputs.of(PLANE), np.random.default_rng(seed)

    def served(run):
        z = next(run)
        try:
            while True:
                z = run.send(z.sum(axis=1) / 2.0**0.5)
        except StopIteration:
            pass

    subsets = Subsets()
    served(_search(subsets, inputs, limit, random))
    answers = [[np.nan] for _ in range(count)]
    for answer in answers:
        served(_repeat(answer, subsets, inputs, limit, 200, random))
    return np.array([answer[0] for answer in answers])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("limit", [3.0902, 4.7534])
def test_repetitions_are_unbiased(limit):
    """Their mean within three standard errors, of 2 %, of the probability."""
    found = direct(limit, 800)
    exact = scipy.stats.norm.sf(limit)
    error = found.std(ddof=1) / np.sqrt(found.size)
    assert error < 0.04 * exact and abs(found.mean() - exact) < 3.0 * error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "least", "most"), [(40, 35, 40), pytest.param(200, 182, 197, marks=pytest.mark.slow)]
)
def test_coverage(count, least, most):
    """Of intervals near 1e-3; the number of hits has a standard deviation of 1.4 of 40, of 3.1 of 200."""
    exact, hits = scipy.stats.norm.sf(3.0902), 0
    for seed in range(count):
        low, high = probability(plane, PLANE, above=3.0902, relative=0.4, samples=100, seed=seed)["interval"].values
        hits += low < exact < high
    assert least <= hits <= most


def test_the_bar_shows_a_probability_without_the_unit_of_the_quantity(monkeypatch):
    shown = []
    monkeypatch.setattr("arlequin.run.progress.EstimateBar.__call__", lambda bar, *at: shown.append(at))
    options = {"method": "monte-carlo", "relative": 0.1, "progress": True}
    found = probability(lambda x, y: aq.Scalar(plane(x, y), "m"), PLANE, above=1.0, **options)
    assert {at[-1] for at in shown} == {"1"} and shown[-1][:3] == (found["samples"], found["samples"], found["value"])
    assert sum(at[2] == at[2] for at in shown) > int(found["samples"]) / 2  # the interval so far


def test_events_that_are_not_rare():
    """No threshold is needed: the samples are independent, and their proportion has the exact interval."""
    found = probability(plane, PLANE, above=-9.0)
    size = int(found["repetitions"].size) * 200
    tail = scipy.stats.binomtest(size, size).proportion_ci(0.95, "exact")
    assert float(found["value"]) == 1.0 and found["interval"].values == pytest.approx([tail.low, 1.0], rel=1e-9)
    assert found["thresholds"].size == 0
    low, high = probability(plane, PLANE, above=0.0)["interval"].values
    assert low < 0.5 < high < 0.56


def test_monte_carlo_has_the_exact_interval():
    found = probability(plane, PLANE, above=1.0, method="monte-carlo", samples=500)
    beyond = round(500 * float(found["value"]))
    tail = scipy.stats.binomtest(beyond, 500).proportion_ci(0.95, "exact")
    assert found["interval"].values == pytest.approx([tail.low, tail.high], rel=1e-9)
    low, high = proportion(np.array([0, 3, 7]), 7, 0.9)
    for k, ends in zip((0, 3, 7), zip(low, high, strict=True), strict=True):
        assert ends == pytest.approx(scipy.stats.binomtest(k, 7).proportion_ci(0.9, "exact"), rel=1e-9)
    found = probability(plane, PLANE, above=1.0, method="monte-carlo", relative=0.2)
    assert float(np.diff(found["interval"])[0]) <= 0.4 * float(found["value"])


@pytest.mark.slow
def test_the_store_has_the_samples(tmp_path):
    options = {"above": 2.0, "relative": 0.4, "store": tmp_path / "a.sweep"}
    found = probability(plane, PLANE, **options)
    sweep = aq.open_sweep(tmp_path / "a.sweep")
    assert bool(sweep["finished"].all()) and sweep.sizes["point"] <= int(found["samples"])
    files = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "a.sweep" / "points").iterdir()}
    again = probability(plane, PLANE, **options)
    assert {file.name: file.stat().st_mtime_ns for file in (tmp_path / "a.sweep" / "points").iterdir()} == files
    assert again["repetitions"].values.tobytes() == found["repetitions"].values.tobytes()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, r"probability: give one limit, above=… or below=…"),
        ({"above": 1.0, "below": 0.0}, "probability: give one limit"),
        ({"above": "high"}, "above = 'high': must be a number"),
        ({"above": 1.0, "method": "guess"}, "method = 'guess': must be one of subset, monte-carlo"),
        ({"above": 1.0, "samples": 5}, "samples = 5: must be a whole number of at least 20"),
        ({"above": 1.0, "relative": 0.0}, "relative = 0.0: must be positive"),
        ({"above": 100.0}, "probability: is below 1e-15: the quantity does not come near the limit"),
    ],
)
def test_bad_input_is_one_line(options, says):
    with pytest.raises(aq.UserError, match=says) as caught:
        probability(plane, PLANE, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_quantities_that_have_no_rare_values():
    with pytest.raises(aq.UserError, match="quantity: is 1 at all samples of a level: no rarer values are found"):
        probability(lambda x, y: 1.0, PLANE, above=2.0)
    with pytest.raises(aq.UserError, match=r"quantity: is 1 at (many|all) samples of a level"):
        probability(lambda x, y: float(x > 0.0), PLANE, above=2.0)
    with pytest.raises(aq.UserError, match=r"tolerance: needs more samples: at most 500000 are taken \(0 of"):
        probability(plane, PLANE, above=9.0, method="monte-carlo")
