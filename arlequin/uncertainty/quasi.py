"""Randomised quasi-Monte Carlo: independent scramblings of Sobol's sequence.

Each of R scramblings gives the mean of the quantity at its n = 2^k points, an unbiased estimate of error O(n^−3/2) for
smooth quantities; the interval is Student's of the R means.

Source: A. B. Owen, Scrambled net variance for integrals of smooth functions, Annals of Statistics 25 (1997) 1541–1562.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.sweeps.plan import Point
from arlequin.uncertainty.inputs import Inputs
from arlequin.uncertainty.intervals import deviation, mean, student
from arlequin.uncertainty.multilevel import MAX_SAMPLES, Goal, Report
from arlequin.uncertainty.sampler import Sampler

_SMALLEST = 1e-12  # distance of the numbers from 0 and 1, where quantiles may be infinite


@dataclass
class QuasiSamples:
    """Values and costs (replicate, n), s, at the points of the replicates one after the other."""

    values: Array
    seconds: Array
    points: list[Point]


@dataclass(frozen=True)
class Replicated:
    """The estimate from the means of the replicates and its accuracy."""

    value: float
    error: float
    degrees: float
    width: float


def unit_points(dimension: int, count: int, seed: int, replicate: int) -> Array:
    """The first points (count, d) of a scrambled Sobol' sequence in ]0, 1[ᵈ."""
    from scipy.stats import qmc

    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(replicate,)))
    u = qmc.Sobol(dimension, scramble=True, rng=random).random(count)
    return np.clip(u, _SMALLEST, 1.0 - _SMALLEST)


def quasi_monte_carlo(
    inputs: Inputs, goal: Goal, sampler: Sampler, tell: Report, *, seed: int, replicates: int, pilot: int
) -> tuple[QuasiSamples, Replicated]:
    """Double the points of the replicates until the goal is reached."""
    quasi_samples = QuasiSamples(np.zeros((replicates, 0)), np.zeros((replicates, 0)), [])
    points: list[list[Point]] = [[] for _ in range(replicates)]
    least_count = pilot if goal.samples is None else -(-goal.samples // replicates)
    count = 2 ** int(np.ceil(np.log2(max(least_count, 1))))
    estimate = Replicated(np.nan, np.nan, replicates - 1.0, np.nan)
    while True:
        computed, total = quasi_samples.values.shape[1], replicates * count
        if total > MAX_SAMPLES:
            rule = f"at most {MAX_SAMPLES} are taken (the half-width is {estimate.width:.3g} with {total // 2})"
            raise UserError(f"tolerance: needs more samples: {rule}", 1)
        new_points = [inputs.points(unit_points(len(inputs), count, seed, r)[computed:]) for r in range(replicates)]
        flat = [point for own in new_points for point in own]

        def done(k: int, had: int = computed, total: int = total, now: Replicated = estimate) -> None:
            tell(replicates * had + k, total, now.value, now.width)

        values, seconds = sampler(flat, done)
        for replicate, more in zip(points, new_points, strict=True):
            replicate += more
        shape = replicates, count - computed
        quasi_samples = QuasiSamples(
            np.concatenate([quasi_samples.values, values.reshape(shape)], axis=1),
            np.concatenate([quasi_samples.seconds, seconds.reshape(shape)], axis=1),
            [point for own in points for point in own],
        )
        means = mean(quasi_samples.values, axis=1)
        error = float(deviation(means) / np.sqrt(replicates))
        degrees = replicates - 1.0
        estimate = Replicated(float(mean(means)), error, degrees, student(goal.confidence, degrees) * error)
        tell(total, total, estimate.value, estimate.width)
        if goal.samples is not None or estimate.width <= goal.width(estimate.value):
            return quasi_samples, estimate
        count *= 2
