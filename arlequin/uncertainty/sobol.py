"""Sobol' indices: shares of the inputs in the variance of a quantity.

First order S_i = Var(E[q | x_i])/Var(q), total S_Ti = 1 − Var(E[q | all but x_i])/Var(q): what x_i takes from the
variance when it is known, and what is left when all others are. The n (d + 2) samples are those of Saltelli's scheme on
a scrambled Sobol' sequence, the estimators those of `scipy.stats.sobol_indices`, the intervals a bootstrap.

Source: A. Saltelli et al., Computer Physics Communications 181 (2010) 259–270.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.uncertainty.inputs import Inputs
from arlequin.uncertainty.multilevel import Told
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


def sobol_shares(inputs: Inputs, sampler: Sampler, tell: Told, *, samples: int, seed: int, confidence: float) -> Shares:
    """samples: n, a power of 2."""
    from scipy.stats import sobol_indices

    size = len(inputs)
    u = unit_points(2 * size, samples, seed, 0)
    first, second = u[:, :size], u[:, size:]
    blocks = [first, second]
    for i in range(size):
        mixed = first.copy()
        mixed[:, i] = second[:, i]
        blocks.append(mixed)
    points = inputs.points(np.concatenate(blocks))
    values, seconds = sampler(points, lambda k: tell(k, len(points), np.nan, np.nan))
    f = values.reshape(size + 2, 1, samples)
    if not np.ptp(values) > 0.0:
        raise UserError(f"quantity: is {values[0]:g} at all samples: it has no variance to share", 1)
    given: Any = {"f_A": f[0], "f_B": f[1], "f_AB": f[2:]}
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the bootstrap's skewed distributions
        found = sobol_indices(func=given, n=samples, rng=random)
        around = found.bootstrap(confidence_level=confidence, n_resamples=_RESAMPLED)
    ends = [
        np.array([one.confidence_interval.low.ravel(), one.confidence_interval.high.ravel()])
        for one in (around.first_order, around.total_order)
    ]
    return Shares(found.first_order.ravel(), found.total_order.ravel(), ends[0], ends[1], values, seconds, 2 * samples)
