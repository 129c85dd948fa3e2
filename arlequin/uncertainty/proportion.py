"""A probability by plain Monte Carlo: the proportion of samples, with the interval of Clopper & Pearson.

It is exact for a given number of samples; where they are doubled until the interval is short enough, nearly so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.uncertainty.inputs import Inputs
from arlequin.uncertainty.intervals import proportion
from arlequin.uncertainty.multilevel import MAX_SAMPLES, Goal, Report
from arlequin.uncertainty.sampler import Sampler

_FIRST = 1000  # samples at first, where their number is not given


@dataclass(frozen=True)
class Proportion:
    """Values (n,) and their costs, s; the share of those beyond the limit and its interval."""

    values: Array
    seconds: Array
    value: float
    interval: tuple[float, float]


def plain_probability(
    inputs: Inputs, limit: float, sign: float, goal: Goal, sampler: Sampler, tell: Report, *, seed: int
) -> Proportion:
    """P(q > limit), or P(q < limit) with sign = −1: as many samples as the goal gives, or twice as many until it is
    reached."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    values, seconds = np.zeros(0), np.zeros(0)
    count, estimate = goal.samples or _FIRST, (np.nan, np.nan)
    while True:
        points = inputs.points(random.random((count - values.size, len(inputs))))

        def done(k: int, had: int = values.size, total: int = count, now: tuple[float, float] = estimate) -> None:
            tell(had + k, total, *now)

        new_values = sampler(points, done)
        values, seconds = np.append(values, new_values[0]), np.append(seconds, new_values[1])
        exceeding = int((sign * values > sign * limit).sum())
        low, high = (float(end) for end in proportion(exceeding, values.size, goal.confidence))
        share = exceeding / values.size
        estimate = share, max(share - low, high - share)
        tell(values.size, values.size, *estimate)
        if goal.samples is not None or estimate[1] <= goal.width(share):
            return Proportion(values, seconds, share, (low, high))
        count = 2 * values.size
        if count > MAX_SAMPLES:
            line = f"at most {MAX_SAMPLES} are taken ({exceeding} of {values.size} are beyond {limit:g})"
            raise UserError(f"tolerance: needs more samples: {line}; take method='subset'", 1)
