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
from arlequin.uncertainty.multilevel import MOST_SAMPLES, Goal, Told
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
    inputs: Inputs, limit: float, sign: float, goal: Goal, sampler: Sampler, tell: Told, *, seed: int
) -> Proportion:
    """P(q > limit), or P(q < limit) with sign = −1: as many samples as the goal gives, or twice as many until it is
    reached."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    values, seconds = np.zeros(0), np.zeros(0)
    wanted, now = goal.samples or _FIRST, (np.nan, np.nan)
    while True:
        points = inputs.points(random.random((wanted - values.size, len(inputs))))

        def done(k: int, had: int = values.size, total: int = wanted, now: tuple[float, float] = now) -> None:
            tell(had + k, total, *now)

        fresh = sampler(points, done)
        values, seconds = np.append(values, fresh[0]), np.append(seconds, fresh[1])
        beyond = int((sign * values > sign * limit).sum())
        low, high = (float(end) for end in proportion(beyond, values.size, goal.confidence))
        share = beyond / values.size
        now = share, max(share - low, high - share)
        tell(values.size, values.size, *now)
        if goal.samples is not None or now[1] <= goal.width(share):
            return Proportion(values, seconds, share, (low, high))
        wanted = 2 * values.size
        if wanted > MOST_SAMPLES:
            line = f"at most {MOST_SAMPLES} are taken ({beyond} of {values.size} are beyond {limit:g})"
            raise UserError(f"tolerance: needs more samples: {line}; take method='subset'", 1)
