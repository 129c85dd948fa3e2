"""Identification from records: the truth without noise, ellipses that hold what they promise."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.optimize import curve_fit
from scipy.stats import f as fisher
from scipy.stats import t as student

import arlequin as aq
from arlequin.models.errors import ModelWarning
from arlequin.sensitivity.fit import warn_of_residuals
from arlequin.sensitivity.least_squares import estimates, few_sign_changes, minimise

TRUTH = {"stiffness": 400.0, "damping": 0.5, "friction": 0.2}


def in_ellipse(found, truth):
    """Whether values of the parameters lie within the ellipse of 95 % of what `fit` found: of those that are not at a
    bound."""
    free = found["at_bound"].values == 0
    apart = (np.array([truth[str(name)] for name in found["parameter"].values]) - found["value"].values)[free]
    covariance = found["covariance"].values[np.ix_(free, free)]
    return bool(apart @ np.linalg.solve(covariance, apart) <= found.attrs["ellipse"])


def slider(stiffness, damping, friction):
    """A mass on a spring and a dashpot that rubs on a floor."""
    mass = aq.PointMasses("mass", (0.0, 0.0), 1.0)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    law = aq.Coulomb(friction)
    rub = aq.Interface("rub", mass.boundary("all"), floor, aq.Unilateral(), friction=law)
    held = aq.Spring("held", mass.boundary("all"), stiffness=(stiffness, 0.0), damping=(damping, 0.0))
    system = aq.System([mass], interfaces=[rub], springs=[held], gravity=(0.0, -10.0), velocity=(3.0, 0.0))
    return aq.Study(system, aq.Theta(0.5), 0.5, 0.005)


def moved(result):
    return result["part/mass/displacement"][1:, 0, 0]


@pytest.fixture(scope="module")
def record():
    return moved(slider(**TRUTH).run()).values


GUESS = {"stiffness": 360.0, "damping": 0.7, "friction": 0.25}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:fit. damping and friction are nearly dependent")
def test_the_truth_without_noise(record):
    found = aq.fit(slider, {"moved": (moved, record)}, GUESS, deviation=1e-4)
    np.testing.assert_allclose(found["value"], list(TRUTH.values()), rtol=1e-5)
    assert in_ellipse(found, TRUTH) and found.attrs["evaluations"] < 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:fit. damping and friction are nearly dependent")  # 0.9992: they are
def test_ellipses_hold_the_truth(record):
    """19 of 20 are expected: fewer than 16 have a probability of 3e-3. And the covariance is that of the estimates: of
    the linear model of the residuals, by differences of runs."""
    noise, random, held = 1e-3, np.random.default_rng(1), 0
    for _ in range(20):
        noisy = record + noise * random.standard_normal(record.size)
        found = aq.fit(slider, {"moved": (moved, noisy)}, TRUTH, bounds={"damping": (0.01, 2.0)}, starts=0)
        held += in_ellipse(found, TRUTH)
        assert found.attrs["noise"] == pytest.approx(noise, rel=0.3)
    assert held >= 16
    columns = []
    for name, value in TRUTH.items():
        ends = [moved(slider(**{**TRUTH, name: value * (1.0 + sign * 1e-5)}).run()).values for sign in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) / (2e-5 * value))
    jacobian = np.stack(columns, axis=1)
    exact = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian))) * noise
    np.testing.assert_allclose(found["deviation"], exact, rtol=0.3)


STEP, COUNT = 0.01, 200
SWING = {"stiffness": 40.0, "damping": 0.5, "speed": 2.0}
START = {"stiffness": 35.0, "damping": 1.0, "speed": 1.5}
NOISE = 1e-2  # m


def oscillator(stiffness, damping, speed):
    mass = aq.PointMasses("mass", 0.0, 1.0)
    held = aq.Spring("held", mass.boundary("all"), stiffness=stiffness, damping=damping)
    return aq.Study(aq.System([mass], springs=[held], velocity=speed), aq.Theta(0.5), STEP * COUNT, STEP)


def swing(result):
    return result["part/mass/displacement"][1:, 0, 0]


def closed(n, stiffness, damping, speed):
    """The midpoint rule on the oscillator: the eigenvalue λ becomes (1 + λΔt/2)/(1 − λΔt/2) in each step."""
    root = -0.5 * damping + 1j * np.sqrt(stiffness - 0.25 * damping**2)
    growth = (1.0 + 0.5 * STEP * root) / (1.0 - 0.5 * STEP * root)
    return speed / root.imag * (growth**n).imag


N = np.arange(1, COUNT + 1)
SWUNG = closed(N, **SWING) + NOISE * np.random.default_rng(0).standard_normal(COUNT)
TIGHT = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("deviation", [None, 2e-2])
def test_estimates_and_covariance_are_those_of_curve_fit(deviation):
    """SciPy's fit of the closed form, with differences of its own."""
    found = aq.fit(oscillator, {"swing": (swing, SWUNG)}, START, deviation=deviation)
    given = {} if deviation is None else {"sigma": np.full(COUNT, deviation), "absolute_sigma": True}
    best, covariance = curve_fit(closed, N, SWUNG, list(START.values()), **TIGHT, **given)
    np.testing.assert_allclose(found["value"], best, rtol=1e-7)
    np.testing.assert_allclose(found["covariance"], covariance, rtol=1e-4)
    assert (found["at_bound"] == 0).all() and found.attrs["offset"] < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("bounds", "side", "at"), [((0.7, 2.0), -1, 0.7), ((0.01, 0.3), 1, 0.3)])
def test_at_a_bound_the_others_are_those_of_a_fit_without_it(bounds, side, at):
    """SciPy's fit of the closed form with the damping held at its bound; the interval of the damping ends where the
    least cost, found by fits with other dampings held, has risen by t²σ²/2."""

    def held(damping):
        model = lambda n, stiffness, speed: closed(n, stiffness, damping, speed)  # noqa: E731
        best, covariance = curve_fit(model, N, SWUNG, [35.0, 1.5], **TIGHT)
        return best, covariance, 0.5 * float(((model(N, *best) - SWUNG) ** 2).sum())

    guess = START | {"damping": 0.5 * sum(bounds)}
    with pytest.warns(ModelWarning, match=rf"fit: damping = {at} is at a bound"):
        found = aq.fit(oscillator, {"swing": (swing, SWUNG)}, guess, bounds={"damping": bounds})
    best, covariance, cost = held(at)
    assert found["at_bound"].values.tolist() == [0, side, 0] and found["value"].values[1] == at
    np.testing.assert_allclose(found["value"].values[[0, 2]], best, rtol=1e-7)
    np.testing.assert_allclose(found["covariance"].values[np.ix_([0, 2], [0, 2])], covariance, rtol=1e-4)
    assert np.isnan(found["deviation"].values[1]) and np.isnan(found["covariance"].values[1]).all()
    assert found.attrs["freedom"] == COUNT - 2 and found.attrs["cost"] == pytest.approx(cost, rel=1e-9)
    reach = student.ppf(0.975, COUNT - 2) * np.sqrt(2.0 * cost / (COUNT - 2))
    edge, end = (float(found[key].values[1]) for key in (("low", "high") if side < 0 else ("high", "low")))
    assert edge == at and (end - at) * side < 0.0
    assert held(end)[2] - cost == pytest.approx(0.5 * reach**2, rel=0.02)  # to first order


@pytest.mark.slow
def test_all_parameters_at_their_bounds():
    bounds = {"stiffness": (41.0, 50.0), "damping": (0.7, 2.0), "speed": (1.0, 1.8)}
    guess = {"stiffness": 44.0, "damping": 1.0, "speed": 1.5}
    with pytest.warns(ModelWarning, match="are at a bound"):
        found = aq.fit(oscillator, {"swing": (swing, SWUNG)}, guess, bounds=bounds)
    assert found["value"].values.tolist() == [41.0, 0.7, 1.8]
    assert found["at_bound"].values.tolist() == [-1, -1, 1] and found.attrs["freedom"] == COUNT


@pytest.mark.slow
def test_a_bound_that_does_not_hold_at_the_end_is_left():
    """From a guess at the bound, and with another parameter that ends at its own."""
    bounds = {"damping": (0.3, 2.0), "speed": (1.0, 1.9)}
    guess = {"stiffness": 36.0, "damping": 0.3, "speed": 1.0}
    with pytest.warns(ModelWarning, match=r"speed = 1\.9 is at"):
        found = aq.fit(oscillator, {"swing": (swing, SWUNG)}, guess, bounds=bounds)
    model = lambda n, stiffness, damping: closed(n, stiffness, damping, 1.9)  # noqa: E731
    best, _ = curve_fit(model, N, SWUNG, [36.0, 0.4], **TIGHT)
    np.testing.assert_allclose(found["value"], [*best, 1.9], rtol=1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("apart", [1e-3, 1e-10, 0.0])
def test_dependent_parameters_are_named(apart):
    """Two springs side by side, of which one damps a little: their correlation is that of SciPy's covariance."""

    def pair(one, other):
        return oscillator(one + other, 0.5 + apart * other, 2.0)

    records, guess = {"swing": (swing, SWUNG)}, {"one": 25.0, "other": 15.0}
    if apart < 1e-9:
        with pytest.raises(aq.UserError, match="do not determine one and other together: fix one of them"):
            aq.fit(pair, records, guess)
        return
    with pytest.warns(ModelWarning, match="one and other are nearly dependent") as told:
        found = aq.fit(pair, records, guess)
    model = lambda n, one, other: closed(n, one + other, 0.5 + apart * other, 2.0)  # noqa: E731
    _, covariance = curve_fit(model, N, SWUNG, list(found["value"].values), **TIGHT)
    correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert f"correlation {correlation:.5f}" in str(told[0].message)


@pytest.mark.slow
def test_a_parameter_that_changes_nothing_is_named():
    def idle(stiffness, other):
        return oscillator(stiffness, 0.5, 2.0 + 0.0 * other)

    with pytest.raises(aq.UserError, match="do not depend on other: leave it out of wrt"):
        aq.fit(idle, {"swing": (swing, SWUNG)}, {"stiffness": 35.0, "other": 1.0})


@pytest.mark.slow
def test_an_end_that_is_no_minimum_is_told():
    """A mass that has to fly 4 m/s, but is stopped by a wall in the record's last third from 3.3 m/s on: the steps end
    at the jump, beyond which the cost is larger."""

    def thrown(speed):
        ball = aq.PointMasses("ball", 0.0, 1.0)
        wall = aq.Interface("wall", ball.boundary("all"), aq.RigidPlane(point=2.2, normal=-1.0), aq.Unilateral())
        return aq.Study(aq.System([ball], interfaces=[wall], velocity=speed), aq.Theta(0.5), 1.0, 1e-2)

    def early(result):
        return result["part/ball/velocity"][1:, 0, 0]

    with pytest.warns(ModelWarning, match="no minimum where the iterations ended"):
        found = aq.fit(thrown, {"speed": (early, np.full(100, 4.0))}, {"speed": 1.5})
    assert found.attrs["offset"] > 1.0


def test_too_few_evaluations_are_an_error():
    with pytest.raises(aq.UserError, match="no least squares in 2 evaluations, which ended at stiffness = "):
        aq.fit(oscillator, {"swing": (swing, SWUNG)}, START, most=2)


@pytest.mark.slow
def test_intervals_hold_the_truth_with_95_per_cent():
    """64 records with noise: dᵀC⁻¹d/3, d the error of the estimate, has Fisher's distribution of 3 and 197 freedoms.
    Its mean has a standard deviation of 10 %: deviations that are 12 % too small or 15 % too large are found, as by the
    share of 200 ellipses that hold the truth. The intervals are those of Student's t with the same deviations."""
    random, distances, held, count = np.random.default_rng(5), [], np.zeros(3), 64
    exact, truth = closed(N, **SWING), np.array(list(SWING.values()))
    for _ in range(count):
        noisy = exact + NOISE * random.standard_normal(COUNT)
        found = aq.fit(oscillator, {"swing": (swing, noisy)}, SWING, progress=False)
        error, covariance = truth - found["value"].values, found["covariance"].values
        distances.append(error @ np.linalg.solve(covariance, error))
        assert in_ellipse(found, SWING) == (distances[-1] <= 3.0 * fisher.ppf(0.95, 3, COUNT - 3))
        reach = student.ppf(0.975, COUNT - 3) * np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(found["high"] - found["low"], 2.0 * reach, rtol=1e-9)
        held += (found["low"].values <= truth) & (truth <= found["high"].values)
    assert abs(np.mean(distances) / 3.0 / fisher.mean(3, COUNT - 3) - 1.0) < 0.25
    assert (np.abs(held / count - 0.95) < 0.07).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:fit. damping = .* is at a bound")
def test_intervals_near_a_bound_hold_the_truth():
    """The damping is half a standard deviation from its bound, which then holds in three of ten records: 95 % or more
    of the intervals of one side hold it, and the others hold the stiffness as often as they should."""
    random, held, ends, count = np.random.default_rng(6), np.zeros(2), 0, 100
    exact, spread = closed(N, **SWING), 0.0114
    for _ in range(count):
        noisy = exact + NOISE * random.standard_normal(COUNT)
        own = aq.fit(
            oscillator, {"swing": (swing, noisy)}, SWING, bounds={"damping": (0.5 - 0.5 * spread, 2.0)}, starts=0,
            progress=False,
        )  # fmt: skip
        ends += int(own["at_bound"].sel(parameter="damping") == -1)
        for i, name in enumerate(("damping", "stiffness")):
            low, high = (float(own[key].sel(parameter=name)) for key in ("low", "high"))
            held[i] += low <= SWING[name] <= high
    assert 0.17 < ends / count < 0.45
    assert held[0] / count >= 0.9 and held[1] / count >= 0.88, held


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({}, {}, "data: is empty"),
        ({"moved": (moved, [1.0, 2.0])}, {}, "data: 2 values do not determine 3 parameters"),
        ({"moved": (moved, np.zeros(7))}, {}, "must have the shape of its prediction"),
        ({"interface/rub/wear_powr": np.zeros(100)}, {}, "did you mean interface/rub/wear_power"),
        ({"moved": (moved, np.zeros(100))}, {"bounds": {"friction": (0.5, 0.9)}}, "must be within its bounds"),
        ({"moved": (moved, np.zeros(100))}, {"bounds": {"mu": (0.5, 0.9)}}, "'mu' is no parameter of wrt"),
        ({"moved": (moved, np.zeros(100))}, {"units": {"frction": "1"}}, "'frction' is no .*did you mean friction"),
        ({"moved": (moved, np.zeros(100))}, {"units": {"friction": 1}}, "units: friction = 1: must be a text"),
        ({"moved": (moved, np.zeros(100))}, {"starts": 8}, "starts = 8: needs bounds"),
        ({"moved": (moved, np.zeros(100))}, {"starts": -1}, "starts = -1"),
        ({"moved": (moved, np.full(100, np.nan))}, {}, "data: moved"),
        ({"moved": (moved, np.zeros(100))}, {"deviation": {"other": 1.0}}, "deviation: lacks moved"),
        ({"moved": (moved, np.zeros(100))}, {"deviation": {"moved": 1.0, "other": 1.0}}, "'other' is no record"),
        ({"moved": (moved, np.zeros(100))}, {"bounds": [(0.1, 0.2)]}, "bounds = .*must map parameters"),
        ({"moved": (moved, np.zeros(100))}, {"bounds": {"friction": (None, 0.9)}}, r"must be \(low, high\)"),
        ({"moved": (moved, np.zeros(100))}, {"most": 1.5}, "most = 1.5: must be a whole number"),
        ({"moved": (moved, np.zeros(100))}, {"tolerance": 0.0}, "tolerance = 0.0: must lie in"),
        ({"moved": (lambda result: np.full(100, np.nan), np.zeros(100))}, {}, "moved: its prediction is not finite"),
    ],
)  # fmt: skip
def test_bad_input(data, options, message):
    with pytest.raises(aq.UserError, match=message):
        aq.fit(slider, data, GUESS, **options)


def test_what_the_study_needs_is_told():
    with pytest.raises(aq.UserError, match="at: lacks damping, speed, which the study needs"):
        aq.fit(oscillator, {"swing": (swing, SWUNG)}, {"stiffness": 35.0})
    with pytest.raises(aq.UserError, match="must be a function of named numbers that gives a Study"):
        aq.fit(oscillator(**SWING), {"swing": (swing, SWUNG)}, {"stiffness": 35.0})


RINGS = {"stiffness": (60.0, 4000.0), "damping": (0.0, 3.0)}  # 1.2 to 10 Hz of 1 kg


@pytest.fixture(scope="module")
def rings():
    """A record of five periods with white noise, of 2.5 Hz."""
    exact = closed(N, 250.0, 0.2, 2.0)
    return exact + 2e-3 * np.random.default_rng(7).standard_normal(COUNT)


@pytest.mark.slow
def test_starts_between_bounds_find_the_least_minimum(rings):
    """A frequency far from the record's ends in a wrong minimum, and the fit says that its residuals are no noise; with
    starts between the bounds it is that of the closed form, by SciPy from the truth."""
    records, guess = {"swing": (swing, rings)}, {"stiffness": 2000.0, "damping": 0.5}
    study = lambda stiffness, damping: oscillator(stiffness, damping, 2.0)  # noqa: E731
    model = lambda n, stiffness, damping: closed(n, stiffness, damping, 2.0)  # noqa: E731
    best, _ = curve_fit(model, N, rings, [250.0, 0.2], **TIGHT)
    found = aq.fit(study, records, guess, bounds=RINGS)
    np.testing.assert_allclose(found["value"], best, rtol=1e-6)
    ends = found["start_end"].values[found["start_minimum"].values == 0]
    assert len(ends) and abs(ends / best - 1.0).max() < 1e-2
    assert found["start_cost"].min() == pytest.approx(found.attrs["cost"])
    assert found["start_first"].values[0].tolist() == list(guess.values()) and found["start_minimum"][0] > 0


@pytest.mark.slow
def test_a_wrong_minimum_is_told(rings):
    study = lambda stiffness: oscillator(stiffness, 0.2, 2.0)  # noqa: E731
    with pytest.warns(ModelWarning, match=r"change their sign \d+ times, where noise does \d+ times"):
        wrong = aq.fit(study, {"swing": (swing, rings)}, {"stiffness": 400.0})
    model = lambda n, stiffness: closed(n, stiffness, 0.2, 2.0)  # noqa: E731
    near, _ = curve_fit(model, N, rings, [400.0])
    assert wrong["value"].item() == pytest.approx(near[0], rel=1e-3) and near[0] > 350.0  # of 250
    with pytest.warns(ModelWarning, match=r"is [\d.]+ times the given deviation"):
        aq.fit(study, {"swing": (swing, rings)}, {"stiffness": 400.0}, deviation=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "says"), [(0.1, "intervals are too short"), (10.0, "too large, and so are the int")]
)
def test_a_wrong_deviation_is_told(factor, says):
    """The noise of the record is 0.02 of what is given, by `factor` too small or too large."""
    noise = 0.02 * np.random.default_rng(5).standard_normal(N.size)
    record = closed(N, 250.0, 0.2, 2.0) + noise
    with pytest.warns(ModelWarning, match=says):
        found = aq.fit(oscillator, {"swing": (swing, record)}, START, deviation=0.02 * factor)
    assert found.attrs["noise"] * factor == pytest.approx(1.0, rel=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aq.fit(oscillator, {"swing": (swing, record)}, START, deviation=0.02)


def test_two_minima_that_fit_alike_are_told():
    """The sign of a start's displacement does not show in its square."""

    def thrown(height):
        ball = aq.PointMasses("ball", 0.0, 1.0)
        return aq.Study(aq.System([ball], displacement=height), aq.Theta(0.5), 1.0, 0.1)

    def square(result):
        return result["part/ball/displacement"][1:, 0, 0] ** 2

    record = 4.0 + 0.01 * np.cos(9.0 * np.arange(10))
    with pytest.warns(ModelWarning, match="another minimum between the bounds fit nearly as well, as height = -2"):
        found = aq.fit(thrown, {"square": (square, record)}, {"height": 1.5}, bounds={"height": (-3.0, 3.0)})
    assert found["value"].item() == pytest.approx(2.0, abs=0.01)
    assert set(found["start_minimum"].values) == {0, 1}


@pytest.mark.parametrize("given", [False, True])
def test_white_noise_is_not_told(given):
    """Of 100 records of a line with white noise at most five; of a line that is bent by two deviations all."""
    times = np.linspace(0.02, 1.0, 50)
    columns, bounds = np.stack([np.ones(50), times], axis=1), (np.full(2, -np.inf), np.full(2, np.inf))
    weight = 1.0 / 0.1 if given else 1.0
    for bend, least, most in ((0.0, 0, 5), (0.8, 95, 100)):
        told, random = 0, np.random.default_rng(8)
        for _ in range(100):
            record = 1.0 + 3.0 * times + bend * 4.0 * times * (1.0 - times) + 0.1 * random.standard_normal(50)
            residual = lambda x, strict, record=record: weight * (columns @ x - record)  # noqa: E731
            jacobian = lambda x, chosen: weight * columns[:, chosen]  # noqa: E731
            minimum = minimise(residual, jacobian, np.ones(2), bounds, 1e-8, 50)
            size = weight * float(np.linalg.norm(record))
            own = estimates(minimum, ["height", "speed"], bounds, size, given)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                warn_of_residuals(minimum, own, {"record": record}, size, given)
            told += bool(said)
        assert least <= told <= most


@pytest.mark.parametrize("count", [1, 2, 9, 60])
def test_few_sign_changes_have_their_probability(count):
    """Of all, or of 20,000, sequences of independent signs."""
    random = np.random.default_rng(9)
    signs = np.array(list(product((-1.0, 1.0), repeat=count))) if count < 10 else None
    signs = random.choice((-1.0, 1.0), (20_000, count)) if signs is None else signs
    changes = (signs[:, 1:] != signs[:, :-1]).sum(axis=1)
    for row in signs[:: max(1, len(signs) // 50)]:
        own, pairs, share = few_sign_changes([row])
        assert own == np.count_nonzero(np.diff(row)) and pairs == count - 1
        assert share == pytest.approx((changes <= own).mean(), abs=1e-12 if count < 10 else 0.02)
    both = few_sign_changes([signs[0], np.stack([signs[0], signs[-1]], axis=1)])
    assert both[1] == 3 * (count - 1)


def test_units_stand_in_tables():
    found = aq.fit(
        oscillator, {"swing": (swing, SWUNG)}, START, units={"stiffness": "N/m", "damping": "1", "speed": "m/s"}
    )  # fmt: skip
    table = found[["value", "low", "high"]].to_dataframe()
    assert table["units"].to_dict() == {"stiffness": "N/m", "damping": "1", "speed": "m/s"}
    picture = aq.plots.confidence_ellipse(found, "stiffness", "damping")
    assert (picture.axes[0].get_xlabel(), picture.axes[0].get_ylabel()) == ("stiffness (N/m)", "damping")


def knocking(gap, stiffness, friction=0.3):
    """Two masses on a spring that fly at a stop, the second with dry friction."""
    places = [[0.0, 0.0], [1.0, 0.0]]
    pair = aq.PointMasses("pair", places, [1.0, 2.0], names={"one": 0, "two": 1}, forces={"two": (0.0, -1.0)})
    arm = aq.Spring("arm", pair.boundary("one"), pair.boundary("two"), stiffness=(stiffness, 0.0))
    wall = aq.RigidPlane(point=(-gap, 0.0), normal=(1.0, 0.0))
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    stop = aq.Interface("stop", pair.boundary("one"), wall, aq.Unilateral())
    rub = aq.Interface("rub", pair.boundary("two"), floor, aq.Unilateral(), friction=aq.Coulomb(friction))
    system = aq.System([pair], interfaces=[stop, rub], springs=[arm], velocity=(-1.0, 0.0))
    return aq.Study(system, aq.Theta(0.5), duration=1.2, step=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("guess", [0.9, 1.2])
def test_a_gap_is_found_from_impacts(guess):
    """The gap moves the impact alone: without the events, nothing depends on it. It is known to the step, in which the
    mass flies 1 mm."""

    def seen(result):
        return result["part/pair/displacement"][1:, 1, 0]

    truth = {"gap": 0.1, "stiffness": 100.0, "friction": 0.3}
    first, data = (
        {name: guess * value for name, value in truth.items()},
        {"seen": (seen, seen(knocking(**truth).run()))},
    )
    found = aq.fit(knocking, data, first)
    assert abs(found["value"].sel(parameter="gap").item() - truth["gap"]) < 1e-3
    np.testing.assert_allclose(found["value"].values[1:], [100.0, 0.3], rtol=1e-6)
    with pytest.raises(aq.UserError, match="the records do not depend on gap"):
        aq.fit(knocking, data, first, events=False)


@pytest.mark.slow
def test_events_that_the_steps_do_not_resolve_are_told():
    def ball(gravity):
        mass = aq.PointMasses("mass", 0.05, 1.0)
        floor = aq.RigidPlane(point=(0.0,), normal=(1.0,))
        stop = aq.Interface("stop", mass.boundary("all"), floor, aq.Unilateral(restitution=0.3))
        return aq.Study(aq.System([mass], interfaces=[stop], gravity=-gravity), aq.Theta(0.5), duration=0.3, step=2e-3)

    def way(result):
        return result["part/mass/displacement"][1:, 0, 0]

    with pytest.warns(ModelWarning, match="do not resolve . contact events, the first at t = 0"):
        aq.fit(ball, {"way": (way, way(ball(10.0).run()))}, {"gravity": 10.2})
