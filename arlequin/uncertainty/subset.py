"""Subset simulation of rare events.

With thresholds b_1 < b_2 < … < b, each exceeded with the probability p₀ by samples that exceed the one before,

    P(q > b) = p₀^J P(q > b | q > b_J),

in the space of standard normal numbers z. Samples of the next level start from those beyond b_j and move by
z′ = √(1 − σ²) z + σ ξ, ξ normal, accepted where q(z′) > b_j, which leaves the normal numbers beyond b_j invariant. σ is
adapted to an acceptance of 0.44. Inputs of whole numbers have no neighbours (a seed of turbulence): they keep their z
except, with the probability `REDRAWN`, for a new one.

The interval is that of independent repetitions, which have no correlation between them, whatever the chains have. The
thresholds are quantiles of the samples, so that an estimate has a relative bias of about J (1 − p₀)/(n p₀) of n samples
of a level.

Sources: S.-K. Au & J. L. Beck, Probabilistic Engineering Mechanics 16 (2001) 263–277; I. Papaioannou, W. Betz,
K. Zwirglmaier & D. Straub, ibid. 41 (2015) 89–103 (moves, adaptation); F. Cérou, P. Del Moral, T. Furon &
A. Guyader, Statistics and Computing 22 (2012) 795–808 (bias).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.uncertainty.inputs import Inputs
from arlequin.uncertainty.intervals import student
from arlequin.uncertainty.multilevel import MOST_SAMPLES, Goal, Told
from arlequin.uncertainty.sampler import Sampler

SHARE = 0.1  # p₀
ACCEPTANCE = 0.44
REDRAWN = 0.2
LEAST_PROBABILITY = 1e-15
FEWEST, MORE = 8, 4  # repetitions at first, and of each further round


@dataclass
class Repetition:
    """One subset simulation: the thresholds b_j, the probability, and the values of the first level (n,)."""

    random: np.random.Generator
    thresholds: list[float] = field(default_factory=list)
    probability: float = float("nan")
    first: Array = field(default_factory=lambda: np.zeros(0))
    shares: list[float] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return bool(np.isnan(self.probability))


@dataclass(frozen=True)
class Subsets:
    """All repetitions, the mean of their probabilities with its accuracy, samples and their wall times, s."""

    repetitions: list[Repetition]
    value: float
    error: float
    degrees: float
    width: float
    samples: int
    seconds: float


def subset_simulation(
    inputs: Inputs, limit: float, sign: float, goal: Goal, sampler: Sampler, tell: Told, *, seed: int, samples: int
) -> Subsets:
    """P(q > limit) of a quantity q, or P(q < limit) with sign = −1, by repetitions until the goal is reached.

    samples: of each level of a repetition, a multiple of 10.
    """
    repetitions: list[Repetition] = []
    count = FEWEST
    found = Subsets(repetitions, np.nan, np.nan, 1.0, np.nan, 0, 0.0)
    taken, spent = 0, 0.0

    def ask(z: Array) -> Array:
        nonlocal taken, spent
        if taken + len(z) > MOST_SAMPLES:
            rule = f"at most {MOST_SAMPLES} are taken (the half-width is {found.width:.3g})"
            raise UserError(f"tolerance: needs more samples: {rule}", 1)
        had = taken
        taken += len(z)
        values, seconds = sampler(inputs.points_of_normals(z), lambda k: tell(had + k, taken, found.value, found.width))
        spent += float(seconds.sum())
        return sign * values

    while True:
        fresh = [
            Repetition(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(n,))))
            for n in range(len(repetitions), count)
        ]
        runs = [_run(own, inputs, sign * limit, samples) for own in fresh]
        # repetitions step together, so that all processes have samples
        asked = [next(run) for run in runs]
        while runs:
            values = np.split(ask(np.concatenate(asked)), np.cumsum([len(z) for z in asked])[:-1])
            still, asked = [], []
            for run, own in zip(runs, values, strict=True):
                try:
                    asked.append(run.send(own))
                    still.append(run)
                except StopIteration:
                    pass
            runs = still
        repetitions += fresh
        probabilities = np.array([own.probability for own in repetitions])
        error = float(probabilities.std(ddof=1) / np.sqrt(probabilities.size))
        degrees = probabilities.size - 1.0
        width = student(goal.confidence, degrees) * error
        found = Subsets(repetitions, float(probabilities.mean()), error, degrees, width, taken, spent)
        tell(taken, taken, found.value, found.width)
        if goal.samples is not None or width <= goal.width(found.value):
            return found
        needed = int(np.ceil(count * (width / goal.width(found.value)) ** 2))
        count += max(MORE, min(needed - count, count))


def _run(own: Repetition, inputs: Inputs, limit: float, samples: int) -> Generator[Array, Array, None]:
    """One repetition as a generator, which asks for values at z (m, d) and is sent them."""
    random, whole = own.random, np.array(inputs.whole)
    z = random.standard_normal((samples, len(inputs)))
    values = yield z
    own.first = values
    chains, reached = int(SHARE * samples), 1.0
    step, memory = 0.6, 1.0
    while True:
        beyond = int((values > limit).sum())
        if beyond >= chains or reached < LEAST_PROBABILITY:
            own.probability = reached * beyond / samples
            return
        order = np.argsort(-values, kind="stable")
        z, values = z[order], values[order]
        if values[0] == values[-1]:
            raise UserError(
                f"quantity: is {values[0]:g} at all samples of a level: it has no rare values to approach", 1
            )
        threshold = float(0.5 * (values[chains - 1] + values[chains]))
        if not values[chains - 1] > threshold:  # equal values on both sides
            threshold = float(np.nextafter(values[chains - 1], -np.inf))
        own.thresholds.append(threshold)
        reached *= float((values > threshold).mean())
        z, values = z[:chains], values[:chains]
        length = -(-samples // chains)
        zs, found = [z], [values]
        accepted = tried = 0
        for _ in range(1, length):
            size = min(step, 1.0)
            proposed = np.sqrt(1.0 - size**2) * z + size * random.standard_normal(z.shape)
            redrawn = random.random(z.shape) < REDRAWN
            proposed = np.where(whole, np.where(redrawn, random.standard_normal(z.shape), z), proposed)
            new = yield proposed
            moved = new > threshold
            z, values = np.where(moved[:, None], proposed, z), np.where(moved, new, values)
            zs.append(z)
            found.append(values)
            accepted, tried = accepted + int(moved.sum()), tried + moved.size
            step *= float(np.exp((moved.mean() - ACCEPTANCE) / np.sqrt(memory)))
            step = min(max(step, 1e-3), 1.0)
            memory += 1.0
        own.shares.append(accepted / tried)
        z, values = np.concatenate(zs)[:samples], np.concatenate(found)[:samples]
