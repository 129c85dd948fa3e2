"""Starts of a fit between bounds: the least of the minima of a decaying sine, of many frequencies and guesses."""

import numpy as np
import pytest

from arlequin.sensitivity.multistart import ParameterScaling, minimise_from_several

COUNT, NOISE = 200, 0.01
LOW, HIGH = np.array([0.5, 0.0]), np.array([6.0, 2.0])  # Hz, 1/s


def ended(frequency, guess, duration, seed, starts):
    """Minima that are found from a record of a closed form with white noise, and the number of its evaluations."""
    t = np.linspace(0.02, 4.0, COUNT) * duration / 4.0

    def sine(x):
        return np.exp(-x[1] * t) * np.sin(2.0 * np.pi * x[0] * t)

    record = sine((frequency, 0.1)) + NOISE * np.random.default_rng(seed).standard_normal(COUNT)
    calls = []

    def residual(x, strict):
        calls.append(x)
        return sine(x) - record

    def jacobian(x, chosen):
        fade, phase = np.exp(-x[1] * t), 2.0 * np.pi * x[0] * t
        slope = 2.0 * np.pi * t * fade * np.cos(phase)
        return np.stack([slope, -t * fade * np.sin(phase)], axis=1)[:, chosen]

    early = lambda share: np.arange(int(np.ceil(share * COUNT)))  # noqa: E731
    minima = minimise_from_several(residual, jacobian, np.array(guess), (LOW, HIGH), 1e-8, 50, starts, early)
    return minima, len(calls)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("duration", [2.0, 4.0, 12.0])  # s: up to 60 periods
def test_the_true_frequency_is_found_from_any_guess(duration):
    """Within five deviations of Cramér and Rao's bound, in records that the guess alone fits in few of 20 cases."""
    random, alone = np.random.default_rng(1), 0
    for seed in range(20):
        frequency, guess = random.uniform(0.7, 5.5), (random.uniform(0.6, 5.9), 0.5)
        minima, calls = ended(frequency, guess, duration, seed, 32)
        best = minima.distinct[0]
        bound = np.sqrt(np.linalg.inv(best.jacobian.T @ best.jacobian)[0, 0]) * NOISE
        assert abs(best.x[0] - frequency) < 5.0 * bound
        assert best.cost == min(other.cost for other in minima.distinct) and calls < 250
        assert tuple(minima.starts[0][0]) == guess
        alone += bool(abs(ended(frequency, guess, duration, seed, 0)[0].distinct[0].x[0] - frequency) < 5.0 * bound)
    assert alone < 12


def test_starts_are_the_same_in_each_call():
    first, again = (ended(2.5, (5.5, 1.0), 4.0, 0, 16) for _ in range(2))
    assert first[1] == again[1]
    assert np.array_equal(first[0].distinct[0].x, again[0].distinct[0].x)


def test_points_lie_evenly_between_two_bounds():
    """One of each eighth; evenly in the logarithm of wide bounds; those of one bound are at the start."""
    scaling = ParameterScaling(np.array([1.0, -np.inf, 0.0]), np.array([1e6, 1.0, 2.0]), np.array([10.0, 0.5, 1.0]))
    points = scaling.sobol_points(8)
    assert (points[:, 1] == 0.5).all()
    for column in (np.log10(points[:, 0]) / 6.0, 0.5 * points[:, 2]):
        assert sorted(np.floor(8.0 * column)) == list(range(8))
    np.testing.assert_allclose(scaling.scaled(points)[:, 0], np.log10(points[:, 0]) / 6.0)


def test_points_that_are_refused_are_no_starts():
    """A study that takes but a part of what lies between the bounds."""

    def residual(x, strict):
        if x[0] > 1.0:
            return np.full(3, np.inf)
        return np.array([x[0] - 0.7, 0.1, -0.1])

    def jacobian(x, chosen):
        return np.array([[1.0], [0.0], [0.0]])[:, chosen]

    rows = lambda share: np.arange(3)  # noqa: E731
    bounds = np.array([0.0]), np.array([100.0])
    minima = minimise_from_several(residual, jacobian, np.array([0.5]), bounds, 1e-8, 50, 16, rows)
    assert minima.distinct[0].x[0] == pytest.approx(0.7) and len(minima.starts) >= 1
