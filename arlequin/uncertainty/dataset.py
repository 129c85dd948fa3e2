"""Datasets of the results of `estimate`, `probability` and `sobol_indices`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from arlequin.models.types import Array
from arlequin.results.conventions import described, readable_unit
from arlequin.uncertainty.inputs import Inputs
from arlequin.uncertainty.intervals import deviation, kurtosis, mean, proportion, scale_of, student
from arlequin.uncertainty.multilevel import Multilevel, Sum
from arlequin.uncertainty.proportion import Proportion
from arlequin.uncertainty.quasi import QuasiSamples, Replicated
from arlequin.uncertainty.sampler import Sampler
from arlequin.uncertainty.sobol import Shares
from arlequin.uncertainty.subset import RareEvent

Fields = dict[str, tuple[Any, Any, dict[str, str]]]

BOUNDS = ["lower", "upper"]
_THRESHOLDS = 101  # values of the quantity at which its distribution is given


def of_levels(work: Multilevel, estimate: Sum, sampler: Sampler, attributes: dict[str, Any]) -> xarray.Dataset:
    """The dataset of Monte Carlo on one level or several."""
    active, unit = work.active, sampler.unit
    total = sum(float(np.sum(level.fine_seconds) + np.sum(level.coarse_seconds)) for level in active)
    fields = _common_fields(estimate.value, estimate.width, estimate.error, estimate.degrees, sampler, total)
    count = max(level.count for level in active)
    numbers = {
        "samples": ([level.count for level in active], "1", "number of samples"),
        "cost": (work.costs, "s", "cost of a sample"),
        "mean": ([level.mean for level in active], unit, "mean of the correction"),
        "variance": ([_squared(level.deviation) for level in active], _square(unit), "variance of the correction"),
        "kurtosis": ([kurtosis(level.corrections) for level in active], "1", "kurtosis of the correction"),
        "level_mean": ([float(mean(level.fine)) for level in active], unit, "mean of the quantity on the level"),
        "level_variance": (
            [_squared(deviation(level.fine)) for level in active],
            _square(unit),
            "variance of the quantity on the level",
        ),
    }
    fields |= {name: ("level", values, _about(*about)) for name, (values, *about) in numbers.items()}
    for name, rate, text in zip(
        ("mean_rate", "variance_rate", "cost_rate"), estimate.rates, ("α: mean", "β: variance", "γ: cost"), strict=True
    ):
        fields[name] = ((), rate, _about("1", f"{text} of the corrections, powers of 2 per level"))
    fields["bias"] = ((), estimate.bias, _about(unit, "distance of the finest level from the limit, extrapolated"))
    plain = work.plain_cost(estimate.error)
    fields["plain_cost"] = ((), plain, _about("s", "cost of Monte Carlo on the finest level for the same interval"))
    for name, values, text in (
        ("fine", [level.fine for level in active], "quantity on the level"),
        ("coarse", [level.coarse if level.number else np.full(level.count, np.nan) for level in active], "quantity on "
         "the level below"),
    ):  # fmt: skip
        fields[name] = (
            ("level", "sample"),
            np.array([_padded(row, count) for row in values]),
            _about(unit, text),
        )
    for name in work.inputs.names:
        rows = [_padded(np.array([point[name] for point in level.points], dtype=float), count) for level in active]
        fields[f"input_{name}"] = (("level", "sample"), np.array(rows), _about("1", name))
    fields |= _distribution(
        [(level.fine, level.coarse) for level in active], estimate, sampler, attributes["confidence"]
    )
    coords: dict[str, Any] = {"level": np.arange(len(active))}
    for name in active[0].parameters:
        if name not in fields:
            coords[name] = ("level", [level.parameters[name] for level in active])
    return _dataset(fields, coords, attributes)


def of_replicates(
    samples: QuasiSamples, estimate: Replicated, inputs: Inputs, sampler: Sampler, attributes: dict[str, Any]
) -> xarray.Dataset:
    """The dataset of quasi-Monte Carlo."""
    unit, shape = sampler.unit, samples.values.shape
    fields = _common_fields(
        estimate.value, estimate.width, estimate.error, estimate.degrees, sampler, float(samples.seconds.sum())
    )
    fields["samples"] = ((), samples.values.size, _about("1", "number of samples"))
    fields["cost"] = ((), float(np.median(samples.seconds)), _about("s", "cost of a sample"))
    spread = deviation(samples.values)
    fields["variance"] = ((), _squared(spread), _about(_square(unit), "variance of the quantity"))
    plain = float(fields["cost"][1]) * (spread / estimate.error) ** 2 if estimate.error else 0.0
    fields["plain_cost"] = ((), plain, _about("s", "cost of plain Monte Carlo for the same standard error"))
    fields["mean"] = ("replicate", mean(samples.values, axis=1), _about(unit, "mean of a scrambling"))
    fields["fine"] = (("replicate", "sample"), samples.values, _about(unit, "quantity"))
    for name in inputs.names:
        values = np.array([point[name] for point in samples.points], dtype=float).reshape(shape)
        fields[f"input_{name}"] = (("replicate", "sample"), values, _about("1", name))
    ends = _thresholds(samples.values.ravel())
    shares = np.array([[float(np.mean(replicate <= end)) for end in ends] for replicate in samples.values])
    middle = shares.mean(axis=0)
    half = student(attributes["confidence"], estimate.degrees) * shares.std(axis=0, ddof=1) / np.sqrt(shape[0])
    fields |= _band(ends, middle, middle - half, middle + half, sampler)
    return _dataset(fields, {"replicate": np.arange(shape[0])}, attributes)


def of_proportion(estimate: Proportion, sampler: Sampler, attributes: dict[str, Any]) -> xarray.Dataset:
    """A probability by plain Monte Carlo: a proportion with its exact interval."""
    count, share = estimate.values.size, estimate.value
    half, error = 0.5 * (estimate.interval[1] - estimate.interval[0]), float(np.sqrt(share * (1.0 - share) / count))
    fields = _common_fields(share, half, error, np.inf, sampler, float(estimate.seconds.sum()))
    fields["interval"] = ("bound", np.array(estimate.interval), _about("1", "confidence interval"))
    fields["samples"] = ((), count, _about("1", "number of samples"))
    fields["cost"] = ((), float(np.median(estimate.seconds)), _about("s", "cost of a sample"))
    fields["fine"] = ("sample", estimate.values, _about(sampler.unit, "quantity"))
    return _probability(fields, {}, sampler, attributes)


def of_subsets(estimate: RareEvent, sampler: Sampler, attributes: Any) -> xarray.Dataset:
    """A probability by subset simulation."""
    fields = _common_fields(estimate.value, estimate.width, estimate.error, estimate.degrees, sampler, estimate.seconds)
    ends = np.clip([estimate.value - estimate.width, estimate.value + estimate.width], 0.0, 1.0)
    fields["interval"] = ("bound", ends, _about("1", "confidence interval"))
    fields["samples"] = ((), estimate.samples, _about("1", "number of samples"))
    fields["cost"] = ((), estimate.seconds / estimate.samples, _about("s", "cost of a sample"))
    fields["repetitions"] = ("repetition", estimate.repetitions, _about("1", "probability of a repetition"))
    thresholds = (-1.0 if "below" in attributes else 1.0) * np.array(estimate.subsets.thresholds)
    fields["thresholds"] = ("subset", thresholds, _about(sampler.unit, "thresholds"))
    fields["acceptance"] = ("subset", np.array(estimate.subsets.accepted), _about("1", "accepted moves"))
    plain = estimate.value * (1.0 - estimate.value) / estimate.error**2 if estimate.error else 0.0
    text = "number of samples of plain Monte Carlo for the same standard error"
    fields["plain_samples"] = ((), plain, _about("1", text))
    return _probability(fields, {}, sampler, attributes)


def of_shares(shares: Shares, inputs: Inputs, sampler: Sampler, attributes: dict[str, Any]) -> xarray.Dataset:
    """Sobol' indices over the inputs."""
    unit = sampler.unit
    alone = shares.values[: shares.independent]
    fields: Fields = {
        "first_order": ("input", shares.first, _about("1", "first-order index")),
        "total_order": ("input", shares.total, _about("1", "total index")),
        "first_order_interval": (("bound", "input"), shares.first_interval, _about("1", "confidence interval")),
        "total_order_interval": (("bound", "input"), shares.total_interval, _about("1", "confidence interval")),
        "mean": ((), float(mean(alone)), _about(unit, sampler.text)),
        "variance": ((), _squared(deviation(alone)), _about(_square(unit), f"variance of {sampler.text}")),
        "samples": ((), shares.values.size, _about("1", "number of samples")),
        "cost": ((), float(np.median(shares.seconds)), _about("s", "cost of a sample")),
        "total_cost": ((), float(shares.seconds.sum()), _about("s", "cost of all samples")),
    }
    return _dataset(fields, {"input": list(inputs.names)}, attributes)


def _common_fields(
    value: float, width: float, error: float, degrees: float, sampler: Sampler, seconds: float
) -> Fields:
    """The variables that all methods have."""
    unit = sampler.unit
    return {
        "value": ((), value, _about(unit, sampler.text)),
        "interval": ("bound", np.array([value - width, value + width]), _about(unit, "confidence interval")),
        "half_width": ((), width, _about(unit, "half-width of the interval")),
        "standard_error": ((), error, _about(unit, "standard error")),
        "degrees_of_freedom": ((), degrees, _about("1", "degrees of freedom of the interval")),
        "total_cost": ((), seconds, _about("s", "cost of all samples, processor time where each process has a core")),
    }


def _probability(fields: Fields, coords: dict[str, Any], sampler: Sampler, attributes: Any) -> xarray.Dataset:
    """The dataset of a probability: dimensionless, whatever the unit of the quantity."""
    for name in ("value", "interval", "half_width", "standard_error"):
        text = "probability" if name == "value" else fields[name][2]["long_name"]
        fields[name] = (*fields[name][:2], _about("1", text))
    return _dataset(fields, coords, {**attributes, "unit": sampler.unit})


def _distribution(pairs: Sequence[tuple[Array, Array]], estimate: Sum, sampler: Sampler, confidence: float) -> Fields:
    """Distribution function F(y) = P(q ≤ y), with its pointwise interval.

    On one level the proportion of samples, with Clopper & Pearson's interval. On several
    F̂ = Σ_l mean(1{P_l ≤ y} − 1{P_{l−1} ≤ y}), Student's interval; cut to [0, 1] and made non-decreasing.
    """
    ends = _thresholds(np.concatenate([fine for fine, _ in pairs]))
    if len(pairs) == 1:
        values = np.sort(pairs[0][0])
        counts = np.searchsorted(values, ends, side="right")
        low, high = proportion(counts, values.size, confidence)
        return _band(ends, counts / values.size, low, high, sampler)
    middle, variance = np.zeros(ends.size), np.zeros(ends.size)
    for n, (fine, coarse) in enumerate(pairs):
        indicator = (fine[:, None] <= ends).astype(float)
        if n:
            indicator -= coarse[:, None] <= ends
        middle += indicator.mean(axis=0)
        # a difference that no sample shows yet: one of n + 1
        variance += (
            np.maximum(indicator.var(axis=0, ddof=1), 1.0 / (indicator.shape[0] + 1.0) ** 2) / indicator.shape[0]
        )
    half = student(confidence, estimate.degrees) * np.sqrt(variance)
    return _band(ends, middle, middle - half, middle + half, sampler)


def _band(ends: Array, middle: Array, low: Array, high: Array, sampler: Sampler) -> Fields:
    curves = [np.maximum.accumulate(np.clip(curve, 0.0, 1.0)) for curve in (middle, low, high)]
    return {
        "threshold": ("threshold", ends, _about(sampler.unit, sampler.text)),
        "distribution": ("threshold", curves[0], _about("1", "probability to be at most the threshold")),
        "distribution_interval": (("bound", "threshold"), np.array(curves[1:]), _about("1", "confidence interval")),
    }


def _thresholds(values: Array) -> Array:
    scale = scale_of(values)
    return scale * np.unique(np.quantile(values / scale, np.linspace(0.0, 1.0, _THRESHOLDS)))


def _squared(deviation: float) -> float:
    """A variance: 0 or inf where its square is beyond the numbers of a computer."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.square(deviation))


def _dataset(fields: Fields, coords: Mapping[str, Any], attributes: Mapping[str, Any]) -> xarray.Dataset:
    bounds = {"bound": BOUNDS} if any("bound" in _dims(field[0]) for field in fields.values()) else {}
    return xarray.Dataset(fields, {**coords, **bounds}, dict(attributes))


def _dims(dims: Any) -> tuple[str, ...]:
    return (dims,) if isinstance(dims, str) else tuple(dims)


def _about(unit: str, text: str) -> dict[str, str]:
    return described(unit, text)


def _square(unit: str) -> str:
    return "1" if unit == "1" else f"({readable_unit(unit)})^2"


def _padded(values: Array, count: int) -> Array:
    return np.concatenate([values, np.full(count - len(values), np.nan)])
