"""Subset simulation of rare events.

With thresholds b_1 < … < b_J < b, each exceeded by about the share p₀ of the samples that exceed the one before,

    P(q > b) = P(q > b_1) Π_j P(q > b_{j+1} | q > b_j),   b_{J+1} = b,

in the space of standard normal numbers z. Samples of the next level start from those beyond b_j and move by
z′ = √(1 − σ²) z + σ ξ, ξ normal, accepted where q(z′) > b_j, which leaves the normal numbers beyond b_j invariant.
Inputs of whole numbers have no neighbours (a seed of turbulence): they keep their z except, with the probability
`REDRAWN`, for a new one.

A first simulation finds the thresholds as quantiles of its samples, and the σ of an acceptance of 0.44. Thresholds
that come from the samples bias the product by about J (1 − p₀)/(n p₀), relative; so they are fixed for the repetitions.
There each sample beyond b_j has the same number m = 1/p₀ of samples of the next level, the states of its chain, so that

    P̂ = number of samples beyond b / (n m^J)

of n samples of the first level is unbiased, whatever the thresholds and σ. Repetitions are independent, so that the
interval is Student's of their mean, whatever the correlation of the chains. Where no threshold is needed, all samples
are independent, and the interval is that of their proportion.

Sources: S.-K. Au & J. L. Beck, Probabilistic Engineering Mechanics 16 (2001) 263–277; I. Papaioannou, W. Betz,
K. Zwirglmaier & D. Straub, ibid. 41 (2015) 89–103 (moves, adaptation); F. Cérou, P. Del Moral, T. Furon &
A. Guyader, Statistics and Computing 22 (2012) 795–808 (bias, fixed thresholds).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.uncertainty.inputs import Inputs
from arlequin.uncertainty.intervals import proportion, student
from arlequin.uncertainty.multilevel import MAX_SAMPLES, Goal, Report
from arlequin.uncertainty.sampler import Sampler

SUCCESSORS = 10  # samples of a level from each that is beyond its threshold: 1/p₀
ENOUGH = 0.05  # share of the samples beyond the limit with which a further threshold would cost more than it saves
ACCEPTANCE = 0.44
REDRAWN = 0.5
LEAST_PROBABILITY = 1e-15
FEWEST = 16  # repetitions
SEARCH = 1000  # samples of a level of the first simulation
_SMALLEST_MOVE = 1e-3

SampleRequests = Generator[Array, Array, None]  # z (m, d) → their values (m,)


@dataclass
class Subsets:
    """Thresholds b_j and moves σ_j (J,), and shares of accepted moves, of the simulation that finds them."""

    thresholds: list[float] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class RareEvent:
    """Probabilities of the repetitions (r,), their mean with its accuracy; all samples and their wall times, s."""

    subsets: Subsets
    repetitions: Array
    value: float
    error: float
    degrees: float
    width: float
    samples: int
    seconds: float


class _Evaluations:
    """Evaluates sign · q for all running simulations in common batches."""

    def __init__(self, inputs: Inputs, sign: float, sampler: Sampler, tell: Report) -> None:
        self._inputs, self._sign, self._sampler, self._tell = inputs, sign, sampler, tell
        self.samples, self.seconds, self.now = 0, 0.0, (np.nan, np.nan)

    def run(self, runs: list[SampleRequests]) -> None:
        """Evaluate the requests of the generators until all of them have ended."""
        requests = [next(run) for run in runs]
        while runs:
            values = np.split(self._values(np.concatenate(requests)), np.cumsum([len(z) for z in requests])[:-1])
            running, requests = [], []
            for run, own_values in zip(runs, values, strict=True):
                try:
                    requests.append(run.send(own_values))
                    running.append(run)
                except StopIteration:
                    pass
            runs = running

    def _values(self, z: Array) -> Array:
        if self.samples + len(z) > MAX_SAMPLES:
            line = f"at most {MAX_SAMPLES} are taken (the half-width is {self.now[1]:.3g})"
            raise UserError(f"tolerance: needs more samples: {line}", 1)
        had = self.samples
        self.samples += len(z)
        points = self._inputs.points_of_normals(z)
        values, seconds = self._sampler(points, lambda k: self._tell(had + k, self.samples, *self.now))
        self.seconds += float(seconds.sum())
        return self._sign * values


def subset_simulation(
    inputs: Inputs,
    limit: float,
    sign: float,
    goal: Goal,
    sampler: Sampler,
    tell: Report,
    *,
    seed: int,
    samples: int,
) -> RareEvent:
    """P(q > limit) of a quantity q, or P(q < limit) with sign = −1, by repetitions until the goal is reached.

    samples: of the first level of a repetition.
    """
    evaluations = _Evaluations(inputs, sign, sampler, tell)
    limit = sign * limit
    generators = (np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(n,))) for n in range(MAX_SAMPLES))
    subsets = Subsets()
    evaluations.run([_search(subsets, inputs, limit, next(generators))])
    probabilities: list[float] = []
    count = FEWEST
    while True:
        results = [[np.nan] for _ in range(count - len(probabilities))]
        evaluations.run([_repeat(answer, subsets, inputs, limit, samples, next(generators)) for answer in results])
        probabilities += [answer[0] for answer in results]
        values, degrees = np.array(probabilities), count - 1.0
        mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(count))
        width = student(goal.confidence, degrees) * error
        if not subsets.thresholds:  # all samples are independent
            degrees, size = float("inf"), count * samples
            ends = proportion(round(mean * size), size, goal.confidence)
            width = max(abs(float(end) - mean) for end in ends)
        evaluations.now = mean, width
        tell(evaluations.samples, evaluations.samples, mean, width)
        aim = goal.width(mean)
        if mean > 0.0 and width <= aim:
            return RareEvent(subsets, values, mean, error, degrees, width, evaluations.samples, evaluations.seconds)
        repetitions = count * (width / aim) ** 2 if mean > 0.0 else 2.0 * count
        count = int(np.ceil(np.clip(repetitions, 1.1 * count, 2.0 * count)))


def _search(subsets: Subsets, inputs: Inputs, limit: float, random: np.random.Generator) -> SampleRequests:
    """Find the thresholds, and the moves, which are adapted after each step of the chains."""
    chains, reached, move = SEARCH // SUCCESSORS, 1.0, 0.6
    z = random.standard_normal((SEARCH, len(inputs)))
    values = yield z
    while (values > limit).sum() < ENOUGH * SEARCH:
        order = np.argsort(-values, kind="stable")
        z, values = z[order], values[order]
        if not values[0] > values[-1]:
            line = f"is {values[0]:g} at all samples of a level: no rarer values are found"
            raise UserError(f"quantity: {line} (probability so far {reached:.2g})", 1)
        threshold = float(0.5 * values[chains - 1] + 0.5 * values[chains])
        if not values[chains - 1] > threshold:  # equal values on both sides: the next smaller one
            threshold = float(values[values < values[chains - 1]].max(initial=-np.inf))
            if not np.isfinite(threshold) or (subsets.thresholds and threshold <= subsets.thresholds[-1]):
                line = f"is {values[chains]:g} at many samples of a level: no rarer values are found"
                raise UserError(f"quantity: {line} (probability so far {reached:.2g})", 1)
        reached *= float((values > threshold).mean())
        if reached < LEAST_PROBABILITY:
            raise UserError(
                f"probability: is below {LEAST_PROBABILITY:g}: the quantity does not come near the limit", 1
            )
        z, values = z[:chains], values[:chains]
        states, accepted = [(z, values)], []
        for step in range(1, SUCCESSORS):
            proposed = _proposed(z, move, inputs, random)
            new = yield proposed
            accepted_moves = new > threshold
            z, values = np.where(accepted_moves[:, None], proposed, z), np.where(accepted_moves, new, values)
            states.append((z, values))
            accepted.append(float(accepted_moves.mean()))
            move *= float(np.exp((accepted[-1] - ACCEPTANCE) / np.sqrt(step)))
            move = min(max(move, _SMALLEST_MOVE), 1.0)
        subsets.thresholds.append(threshold)
        subsets.moves.append(move)
        subsets.accepted.append(float(np.mean(accepted)))
        z, values = np.concatenate([zs for zs, _ in states]), np.concatenate([qs for _, qs in states])


def _repeat(
    answer: list[float], subsets: Subsets, inputs: Inputs, limit: float, samples: int, random: np.random.Generator
) -> SampleRequests:
    """One simulation with given thresholds and moves; its probability goes to answer[0]."""
    z = random.standard_normal((samples, len(inputs)))
    values = yield z
    for threshold, move in zip(subsets.thresholds, subsets.moves, strict=True):
        exceeding = values > threshold
        z, values = z[exceeding], values[exceeding]
        if not values.size:
            break
        states = [(z, values)]
        for _ in range(SUCCESSORS - 1):
            proposed = _proposed(z, move, inputs, random)
            new = yield proposed
            accepted = new > threshold
            z, values = np.where(accepted[:, None], proposed, z), np.where(accepted, new, values)
            states.append((z, values))
        z, values = np.concatenate([zs for zs, _ in states]), np.concatenate([qs for _, qs in states])
    answer[0] = float((values > limit).sum()) / samples / float(SUCCESSORS) ** len(subsets.thresholds)


def _proposed(z: Array, move: float, inputs: Inputs, random: np.random.Generator) -> Array:
    """Proposals from z (m, d)."""
    near = np.sqrt(1.0 - move**2) * z + move * random.standard_normal(z.shape)
    other = np.where(random.random(z.shape) < REDRAWN, random.standard_normal(z.shape), z)
    return np.where(np.array(inputs.whole), other, near)
