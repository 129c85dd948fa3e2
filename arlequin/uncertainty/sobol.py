"""Sobol' indices: shares of the inputs in the variance of a quantity.

First order S_i = Var(E[q | x_i])/Var(q), total S_Ti = 1 − Var(E[q | all but x_i])/Var(q): what x_i takes from the
variance when it is known, and what is left when all others are. The n (d + 2) samples are those of Saltelli's scheme on
a scrambled Sobol' sequence, the estimators those of `scipy.stats.sobol_indices`, the intervals a bootstrap.

Source: A. Saltelli et al., Computer Physics Communications 181 (2010) 259–270.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.uncertainty.inputs import Inputs
from arlequin.uncertainty.intervals import scale_of
from arlequin.uncertainty.multilevel import Report
from arlequin.uncertainty.quasi import unit_points
from arlequin.uncertainty.sampler import Sampler

_RESAMPLED = 999


@dataclass(frozen=True)
class Shares:
    """Indices (d,) and their intervals (2, d); values (n (d + 2),) and their costs, s."""

    first: Array
    total: Array
    first_interval: Array
    total_interval: Array
    values: Array
    seconds: Array
    independent: int


def sobol_shares(
    inputs: Inputs, sampler: Sampler, tell: Report, *, samples: int, seed: int, confidence: float
) -> Shares:
    """samples: n, a power of 2."""
    from scipy.stats import bootstrap

    size = len(inputs)
    u = unit_points(2 * size, samples, seed, 0)
    one, other = u[:, :size], u[:, size:]
    blocks = [one, other]
    for i in range(size):
        mixed = one.copy()
        mixed[:, i] = other[:, i]
        blocks.append(mixed)
    points = inputs.points(np.concatenate(blocks))
    values, seconds = sampler(points, lambda k: tell(k, len(points), np.nan, np.nan))
    if not values.max() > values.min():
        raise UserError(f"quantity: is {values[0]:g} at all samples: it has no variance to share", 1)
    f = values.reshape(size + 2, samples)
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the bootstrap's skewed distributions
        # of the samples, with all their values; `sobol_indices` of scipy has one without a seed
        around = bootstrap(
            (np.arange(samples),), lambda chosen: indices(f[:, chosen]), confidence_level=confidence,
            n_resamples=_RESAMPLED, rng=random,
        )  # fmt: skip
    ends = np.array([around.confidence_interval.low, around.confidence_interval.high])
    first, total = indices(f)
    return Shares(first, total, ends[:, 0], ends[:, 1], values, seconds, 2 * samples)


def indices(values: Array) -> Array:
    """First-order and total indices (2, d) of the values (d + 2, n): f_A, f_B and f_ABi, x_i of B and the others of A.

    S_i = mean(f_B (f_ABi − f_A))/V, S_Ti = mean((f_A − f_ABi)²)/(2 V) of centred values, V the variance of f_A and f_B.
    The values are divided by a size of theirs: squares of 1e-162 would vanish.
    """
    values = values / scale_of(values)
    f = values - values[:2].mean()
    f = f / scale_of(f)
    one, other, mixed = f[0], f[1], f[2:]
    both = np.array([np.mean(other * (mixed - one), axis=1), 0.5 * np.mean((one - mixed) ** 2, axis=1)])
    return np.asarray(both / np.var(f[:2]))
