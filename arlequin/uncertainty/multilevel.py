"""Multilevel Monte Carlo; plain Monte Carlo is the case of one level.

Of levels 0 … L of the quantity P, coarse first,

    E[P_L] = E[P_0] + Σ_l E[P_l − P_{l−1}],     Ŷ = Σ_l Y_l,   Y_l the mean of n_l samples of level l,

both P of a correction at the same inputs (common random numbers), those of different levels independent. With the
variances V_l and costs C_l of one sample, the least cost for the variance s² of Ŷ is that of

    n_l = s⁻² √(V_l/C_l) Σ_k √(V_k C_k).

The rates fitted to the corrections are |E[P_l − P_{l−1}]| ∝ 2^(−α l), V_l ∝ 2^(−β l), C_l ∝ 2^(γ l).

Source: M. B. Giles, Multilevel Monte Carlo methods, Acta Numerica 24 (2015) 259–328.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arlequin.models.errors import ModelWarning, UserError, warn_user
from arlequin.models.types import Array
from arlequin.sweeps.plan import Point
from arlequin.uncertainty.inputs import Inputs
from arlequin.uncertainty.intervals import degrees_of_freedom, deviation, kurtosis, mean, scale_of, student
from arlequin.uncertainty.sampler import Sampler

Report = Callable[[int, int, float, float], None]

MAX_SAMPLES = 500_000
_GROWTH = 4.0  # of the number of samples in a round, at most
_DEGREES = 60.0
_SHARE = 0.8  # of the samples that are thought to be missing, taken at once: their number is an estimate
LEAST_RATE = 0.5  # α of the bias
_BIAS = 0.5  # largest share of the bias in the tolerance


@dataclass(frozen=True)
class Goal:
    """When to stop: at the half-width `absolute`, or `relative` to the value, of the interval, or at `samples`."""

    absolute: float | None
    relative: float | None
    samples: int | None
    confidence: float

    def width(self, value: float) -> float:
        """Half-width that is asked for."""
        widths = [self.absolute, None if self.relative is None else self.relative * abs(value)]
        return max((width for width in widths if width is not None), default=0.0)


@dataclass
class LevelSamples:
    """Samples of level l: values (n,) of it and of the level below (zero of level 0), costs (n,), s, and inputs."""

    number: int
    parameters: Mapping[str, Any]
    below: Mapping[str, Any] | None
    random: np.random.Generator
    points: list[Point] = field(default_factory=list)
    fine: Array = field(default_factory=lambda: np.zeros(0))
    coarse: Array = field(default_factory=lambda: np.zeros(0))
    fine_seconds: Array = field(default_factory=lambda: np.zeros(0))
    coarse_seconds: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def count(self) -> int:
        return self.fine.size

    @property
    def corrections(self) -> Array:
        return self.fine - self.coarse

    @property
    def mean(self) -> float:
        return float(mean(self.corrections))

    @property
    def deviation(self) -> float:
        """Standard deviation of the corrections."""
        return deviation(self.corrections)

    def cost(self, pilot: int) -> float:
        """Median cost of the first samples, s: the first call of a process compiles; costs of later ones would make
        the number of samples depend on when a run was interrupted."""
        return float(np.median(self.fine_seconds[:pilot]) + np.median(self.coarse_seconds[:pilot]))

    def wanted(self, inputs: Inputs, count: int) -> list[Point]:
        """Points of further samples, up to a count: of this level, then of the level below."""
        new_points = inputs.points(self.random.random((max(count - self.count, 0), len(inputs))))
        self.points += new_points
        fine = [{**point, **self.parameters} for point in new_points]
        return fine + ([{**point, **self.below} for point in new_points] if self.below is not None else [])

    def take(self, values: Array, seconds: Array) -> None:
        """Values and costs of the points that `wanted` gave."""
        new = len(self.points) - self.count
        zero = np.zeros(new)
        self.fine = np.append(self.fine, values[:new])
        self.fine_seconds = np.append(self.fine_seconds, seconds[:new])
        self.coarse = np.append(self.coarse, values[new:] if self.below is not None else zero)
        self.coarse_seconds = np.append(self.coarse_seconds, seconds[new:] if self.below is not None else zero)


@dataclass(frozen=True)
class Sum:
    """The estimate of a sum of levels and its accuracy; rates α, β, γ: nan where they cannot be fitted."""

    value: float
    error: float
    degrees: float
    width: float
    bias: float
    rates: tuple[float, float, float]


class Multilevel:
    """Samples of all levels, in rounds until the goal is reached."""

    def __init__(
        self,
        inputs: Inputs,
        levels: Sequence[Mapping[str, Any]],
        goal: Goal,
        *,
        seed: int,
        pilot: int,
        limit: bool = False,
        costs: Sequence[float] | None = None,
    ) -> None:
        """limit: the interval is of the limit of infinitely fine levels; levels are added as its bias needs them.

        costs: of a value of each level, instead of measured ones.
        """
        self.inputs, self.goal, self.pilot, self.limit = inputs, goal, pilot, limit
        below = [None, *levels[:-1]]
        generators = [np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(n,))) for n in range(len(levels))]
        specifications = zip(levels, below, generators, strict=True)
        self.levels = [LevelSamples(n, *specification) for n, specification in enumerate(specifications)]
        self._given = None if costs is None else np.asarray(costs, dtype=float)
        self._last: Sum | None = None
        self._active = min(3, len(levels)) if limit else len(levels)

    @property
    def active(self) -> list[LevelSamples]:
        return self.levels[: self._active]

    @property
    def costs(self) -> Array:
        """Cost of one sample of each active level, s."""
        if self._given is None:
            return np.array([level.cost(self.pilot) for level in self.active])
        level_costs = self._given[: self._active]
        return level_costs + np.append(0.0, level_costs[:-1])

    def run(self, sampler: Sampler, tell: Report) -> Sum:
        """Take samples until the goal is reached."""
        counts = np.full(self._active, self.pilot)
        if self.goal.samples is not None:
            counts[0] = max(self.goal.samples, 2) if len(counts) == 1 else counts[0]
        while True:
            self._sample(sampler, counts, tell)
            estimate = self._last = self.estimate()
            tell(int(counts.sum()), int(counts.sum()), estimate.value, estimate.width)
            if self._active > 1 and counts.max() == self.pilot:
                self._check_convergence(estimate)
            aim = self.goal.width(estimate.value)
            # the bias is known once the means are
            allowed = max(aim - estimate.bias, (1.0 - _BIAS) * aim) if self.limit else aim
            if not self._reached(estimate, allowed):
                counts = self._next(estimate, allowed, counts)
            elif not self.limit or estimate.bias <= _BIAS * aim:
                self._warn_of_no_variance()
                return estimate
            elif self._active < len(self.levels):
                self._active += 1
                counts = np.append(counts, self.pilot)
            else:
                fitted = rates_text(estimate.rates)
                if not estimate.rates[0] > 0.0:
                    raise UserError(f"levels: do not converge: the corrections do not decrease ({fitted})", 1)
                line = f"levels: the finest leaves a bias of {estimate.bias:.3g}, more than half the tolerance"
                raise UserError(f"{line} {aim:.3g} ({fitted}): add a finer level", 1)

    def _reached(self, estimate: Sum, allowed: float) -> bool:
        if self.goal.samples is not None:
            return True
        return student(self.goal.confidence, estimate.degrees) * estimate.error <= allowed

    def _next(self, estimate: Sum, allowed: float, counts: Array) -> Array:
        """Numbers of samples of the next round."""
        deviations = np.array([level.deviation for level in self.active])
        scale = scale_of(deviations)
        # degrees of freedom as there will be
        aim = (allowed / scale / student(self.goal.confidence, max(estimate.degrees, _DEGREES))) ** 2
        best = allocation((deviations / scale) ** 2, self.costs, aim)
        if not best.sum() <= MAX_SAMPLES:
            raise UserError(
                f"tolerance: needs about {best.sum():.2g} samples; at most {MAX_SAMPLES} are taken (the half-width is "
                f"{estimate.width:.3g} with {int(counts.sum())})",
                1,
            )
        # few samples know a variance to a factor only
        more = np.clip(best - counts, 0.0, (_GROWTH - 1.0) * counts)
        new = counts + np.ceil(np.where(more > 0.2 * counts, _SHARE, 1.0) * more).astype(int)
        if (new == counts).all():  # the allocation is that of now: degrees of freedom are missing
            new = counts + np.maximum(1, counts // 10)
        return new

    def _sample(self, sampler: Sampler, counts: Array, tell: Report) -> None:
        """Take samples up to these numbers, all levels together, dear ones first."""
        lists = [level.wanted(self.inputs, int(count)) for level, count in zip(self.active, counts, strict=True)]
        order = list(reversed(range(len(lists))))
        points = [point for n in order for point in lists[n]]
        had = sum(level.count for level in self.active)
        now = self._last
        total = int(counts.sum())

        def done(k: int) -> None:
            value, width = (now.value, now.width) if now is not None else (np.nan, np.nan)
            tell(had + int((total - had) * k / max(len(points), 1)), total, value, width)

        values, seconds = sampler(points, done)
        start = 0
        for n in order:
            rows = slice(start, start + len(lists[n]))
            self.active[n].take(values[rows], seconds[rows])
            start = rows.stop

    def estimate(self) -> Sum:
        """The estimate of the samples so far."""
        active = self.active
        means = np.array([level.mean for level in active])
        deviations = np.array([level.deviation for level in active])
        numbers = np.array([level.count for level in active])
        kurtoses = np.array([kurtosis(level.corrections) for level in active])
        # variances in units of a size of the deviations
        scale = scale_of(deviations)
        variances = (deviations / scale) ** 2
        error = scale * float(np.sqrt((variances / numbers).sum()))
        degrees = degrees_of_freedom(variances, numbers, kurtoses)
        errors = np.sqrt(variances / numbers)
        fitted = rates(means / scale, variances, self.costs, errors)
        bias = _bias(means, scale * errors, fitted[0])
        width = student(self.goal.confidence, degrees) * error + (bias if self.limit else 0.0)
        return Sum(float(means.sum()), error, degrees, width, bias, fitted)

    def _check_convergence(self, estimate: Sum) -> None:
        """Raise `UserError` where the corrections are as large as the quantity, and where the limit has no rate."""
        last = self.active[-1]
        finest_deviation = deviation(last.fine)
        fitted = rates_text(estimate.rates)
        if last.deviation >= finest_deviation and last.deviation > 0.0:
            ratio = (last.deviation / finest_deviation) ** 2 if finest_deviation else np.inf
            raise UserError(
                f"levels: do not converge: the variance of the correction of level {last.number} is {ratio:.3g} times "
                f"that of the quantity ({fitted}): choose levels that follow each other, or "
                "method='monte-carlo' on one",
                1,
            )
        deviations = np.array([level.deviation for level in self.active])
        scale = scale_of(deviations, finest_deviation)
        cost, plain = float((deviations / scale * np.sqrt(self.costs)).sum() ** 2), self.plain_cost(scale)
        if cost > plain:
            warn_user(
                f"levels: cost {cost / plain:.2g} times as much as plain Monte Carlo on the finest level ({fitted})",
                ModelWarning,
            )

    def _warn_of_no_variance(self) -> None:
        """Of a quantity of few values: others may be so rare that no sample has them."""
        for level in self.active:
            if level.deviation > 0.0 or np.unique(level.fine).size > 0.5 * level.count:
                continue
            what = f"levels: the correction of level {level.number}" if level.number else "quantity:"
            line = f"is {level.corrections[0]:g} at all {level.count} samples: the interval leaves out rarer values"
            warn_user(f"{what} {line}; take a larger pilot, or `probability` for rare events", ModelWarning)

    def plain_cost(self, error: float) -> float:
        """Cost, s, of plain Monte Carlo on the finest active level for a standard error: V(P_L) C(P_L)/s²."""
        last = self.active[-1]
        cost = float(np.median(last.fine_seconds[: self.pilot]))
        if self._given is not None:
            cost = float(self._given[last.number])
        return (deviation(last.fine) / error) ** 2 * cost if error > 0.0 else 0.0


def allocation(variances: Array, costs: Array, aim: float) -> Array:
    """Numbers of samples n_l ≥ 2, real, of the least cost Σ n_l C_l for the variance Σ V_l/n_l = aim.

    >>> allocation(np.array([4.0, 1.0]), np.array([1.0, 4.0]), 0.1).round(6).tolist()
    [80.0, 20.0]
    """
    dear = np.maximum(costs, 1e-12)
    return np.maximum(np.sqrt(variances / dear) * np.sqrt(variances * dear).sum() / aim, 2.0)


def rates(means: Array, variances: Array, costs: Array, errors: Array | None = None) -> tuple[float, float, float]:
    """α, β, γ of the corrections, levels ≥ 1, by least squares of the logarithms; nan with fewer than two.

    errors: standard errors of the means, whose logarithms then have the weights |mean|/error.

    >>> means, variances, costs = np.array([1.0, 0.5, 0.25]), np.array([1.0, 0.4, 0.1]), np.array([1.0, 2.0, 4.0])
    >>> [round(rate, 9) for rate in rates(means, variances, costs)]
    [1.0, 2.0, 1.0]
    """
    sizes = np.abs(means)
    weights = np.ones(means.size) if errors is None else sizes / np.maximum(errors, 1e-6 * sizes + 1e-300)
    exponents = []
    for sign, values, weight in ((-1.0, sizes, weights), (-1.0, variances, None), (1.0, costs, None)):
        corrections = values[1:]
        used = corrections > 0.0
        if used.sum() < 2:
            exponents.append(float("nan"))
            continue
        w = None if weight is None else weight[1:][used]
        exponents.append(sign * float(np.polyfit(np.flatnonzero(used), np.log2(corrections[used]), 1, w=w)[0]))
    return exponents[0], exponents[1], exponents[2]


def rates_text(exponents: tuple[float, float, float]) -> str:
    """The rates in a line of words."""
    if not np.isfinite(exponents).any():
        return "two levels have no rates"
    words = ("mean", "variance", "cost")
    signs = (-1.0, -1.0, 1.0)
    shown = [f"{word} 2^({sign * rate:+.2g} l)" for word, sign, rate in zip(words, signs, exponents, strict=True)]
    return f"fitted rates: {', '.join(shown)}"


def _bias(means: Array, errors: Array, alpha: float) -> float:
    """|E[P − P_L]| by a geometric series of the corrections, Σ_k |Y_L| 2^(−α k); nan with fewer than two corrections.

    |Y_L| is the larger of the last two, brought to level L, each with its standard error; α at least `LEAST_RATE`, as
    means that are known to a few digits only fit any rate, and where corrections of zero fit none.
    """
    if means.size < 3:
        return float("nan")
    rate = float(np.fmax(alpha, LEAST_RATE))
    sizes = np.abs(means) + errors
    return float(max(sizes[-1], sizes[-2] * 2.0**-rate) / (2.0**rate - 1.0))
