"""Distribution of the wear life under uncertain inputs: bands of the depth, and of the time to the limit."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xarray

from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described, of_evaluation
from arlequin.results.scalar import Scalar
from arlequin.sweeps.sweep import function_identity, open_sweep
from arlequin.uncertainty.estimate import estimate
from arlequin.uncertainty.intervals import deviation, proportion, student

SHARE, CONFIDENCE = 0.95, 0.95  # of a tolerance limit
_EVERY = 5  # of the instants of a life, that a sample keeps
_QUANTILES = (0.05, 0.5, 0.95)


@checked_call
def wear_life_distribution(
    study: Callable[..., xarray.Dataset],
    inputs: Mapping[str, Any],
    *,
    samples: int | None = None,
    relative: float | None = None,
    support: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    store: str | Path | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    progress: Any = None,
    overwrite: bool = False,
) -> xarray.Dataset:
    """Distribution of the worn depth over the service life and of the time to the limit, by Monte Carlo samples.

    study: a function of the inputs that gives a life, the Dataset of `wear_life` with a limit; the deepest of its
    supports counts, or `support`. samples: their number; or relative: half-width of the interval of the mean depth at
    the end over this mean, at which sampling stops. inputs, confidence, seed, store, workers, scheduler, progress and
    overwrite as of `estimate`, by which the samples are computed.

    Variables over `time`, s: `depth_mean`, `depth_median` and `depth_band` (lower, upper), m, the band that holds the
    share `confidence` of the samples; `depth_tolerance`, m, the depth that 95 % of all lives stay below, with 95 %
    confidence (Wilks: nan for less than 59 samples); `exceedance`, probability that the limit is exceeded by then, and
    `exceedance_interval` (Clopper & Pearson). `time_to_limit_quantile` (quantile), s, inf beyond the duration, and
    `time_to_limit_tolerance`, s, which 95 % of all lives exceed with 95 % confidence. Of each sample `depth` (sample,
    time), `time_to_limit` and `input_NAME`; `mean_interval`: of the mean depth at the end.

    Source: S. S. Wilks, Annals of Mathematical Statistics 12 (1941) 91–96.

    >>> import arlequin as aq
    >>> def life(power, coefficient):  # W, m³/J
    ...     return aq.wear_life(power, coefficient=coefficient, area=5e-6, duration=3.156e7, limit=1.5e-4)
    >>> inputs = {"power": (0.5e-3, 1.5e-3), "coefficient": (1e-14, 2e-14)}
    >>> found = aq.wear_life_distribution(life, inputs, samples=100, workers=0, progress=False)
    >>> low, high = found["exceedance_interval"].values[:, -1]
    >>> bool(low < 0.0698 < high), found.attrs["samples"]  # P(xy > c) of uniform x and y, c = 2.3764
    (True, 100)
    """
    if not callable(study) or isinstance(study, type):
        raise UserTypeError.parameter("study", study, "must be a function of the inputs")
    sample = _Sample(study, support)
    goal: dict[str, Any] = {"samples": samples, "relative": relative}
    with _folder(store) as folder:
        found = estimate(
            sample, "depth", inputs, **goal, confidence=confidence, seed=seed, store=folder, workers=workers,
            scheduler=scheduler, progress=progress, overwrite=overwrite,
        )  # fmt: skip
        rows = _rows(open_sweep(folder), found, list(inputs))
    given = {"inputs": found.attrs["inputs"], "seed": found.attrs["seed"]}
    return _lives(rows, found, list(inputs)).distribution(
        float(found.attrs["confidence"]), found["interval"].values, given
    )


@contextlib.contextmanager
def _folder(store: str | Path | None) -> Iterator[str | Path]:
    """The store of the samples, temporary where none is given."""
    if store is not None:
        yield store
        return
    with TemporaryDirectory() as folder:
        yield Path(folder) / "samples"


@dataclass(frozen=True)
class _Sample:
    """Numbers of a life: its depth at the end and at some instants, its time to the limit, and what they belong to."""

    study: Callable[..., Any]
    support: str | None

    def __post_init__(self) -> None:  # the name that errors and stores have
        object.__setattr__(self, "__qualname__", function_identity(self.study)[0])

    def __repr__(self) -> str:  # what a store knows the study by
        return f"{function_identity(self.study)} {self.support}"

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.study)

    @property
    def check_parameter(self) -> Any:
        """That of the study, which knows the ranges of its parameters; None without."""
        return getattr(self.study, "check_parameter", None)

    def __call__(self, **point: Any) -> dict[str, Scalar]:
        life = self.study(**point)
        if not isinstance(life, xarray.Dataset) or life.attrs.get("kind") != "wear_life":
            raise UserTypeError.parameter("study", life, "must give the Dataset of wear_life")
        if "time_to_limit" not in life:
            raise UserError("study: must give a wear_life with a limit")
        if self.support is not None:
            if self.support not in life["support"].values:
                names = ", ".join(map(str, life["support"].values))
                raise UserError.parameter("support", self.support, f"must be one of {names}")
            life = life.sel(support=[self.support])
        depths = life["depth"].max("support").values[::_EVERY]
        numbers = {
            "depth": Scalar(depths[-1], "m", "worn depth at the end"),
            "time_to_limit": Scalar(float(life["time_to_limit"].min()), "s", "time to the limit"),
            "duration": Scalar(float(life["time"][-1]), "s", "duration"),
            "limit": Scalar(life.attrs["limit"], "m", "limit of the depth"),
            "wall": Scalar(life.attrs.get("wall", np.nan), "m", "thickness of the wall"),
        }
        return numbers | {f"depth_{n}": Scalar(depth, "m", "worn depth") for n, depth in enumerate(depths)}


def _rows(stored: xarray.Dataset, found: xarray.Dataset, names: list[str]) -> dict[str, Array]:
    """The numbers of the samples of an estimate, in their order, from their store."""
    keys = zip(*(np.asarray(stored[name].values, dtype=float).tolist() for name in names), strict=True)
    places = {key: n for n, key in enumerate(keys)}
    samples = zip(*(found[f"input_{name}"].values[0].tolist() for name in names), strict=True)
    order = [places[key] for key in samples]
    return {str(name): array.values[order] for name, array in stored.data_vars.items() if array.dtype.kind == "f"}


@dataclass(frozen=True)
class Lives:
    """Samples of wear lives: instants (t,), s, of depths (n, t), m; times to the limit (n,), s, inf where it is not
    reached; limit and thickness of the wall, m, nan where that is not known; inputs {name: (n,)}."""

    time: Array
    depths: Array
    times_to_limit: Array
    limit: float
    wall: float
    inputs: Mapping[str, Array]

    def distribution(
        self, confidence: float, mean_interval: Array | None = None, attributes: Mapping[str, Any] | None = None
    ) -> xarray.Dataset:
        """The Dataset of `wear_life_distribution`; mean_interval: of the mean depth at the end (default: Student)."""
        depths, time, count = self.depths, self.time, len(self.depths)
        if mean_interval is None:
            end = depths[:, -1]
            half = student(confidence, count - 1.0) * deviation(end) / math.sqrt(count)
            mean_interval = end.mean() + half * np.array([-1.0, 1.0])
        tail = 0.5 * (1.0 - confidence)
        reached = (self.times_to_limit[:, None] <= time).sum(axis=0)
        interval = np.array(proportion(reached, count, confidence))
        rank = tolerance_rank(count)
        ordered_depths, ordered_times = np.sort(depths, axis=0), np.sort(self.times_to_limit)
        fields: dict[str, Any] = {
            "depth_mean": ("time", depths.mean(axis=0), described("m", "mean worn depth")),
            "depth_median": ("time", np.median(depths, axis=0), described("m", "median worn depth")),
            "depth_band": (
                ("bound", "time"),
                np.quantile(depths, [tail, 1.0 - tail], axis=0),
                described("m", f"band of {100 * confidence:g} % of the worn depths"),
            ),
            "depth_tolerance": (
                "time",
                np.full(time.size, np.nan) if rank is None else ordered_depths[count - rank],
                described("m", "worn depth of 95 % of all lives at most, with 95 % confidence"),
            ),
            "exceedance": ("time", reached / count, described("1", "probability that the limit is exceeded")),
            "exceedance_interval": (
                ("bound", "time"),
                interval,
                described("1", "confidence interval of the exceedance"),
            ),
            # without interpolation: some are infinite
            "time_to_limit_quantile": (
                "quantile",
                np.quantile(ordered_times, _QUANTILES, method="inverted_cdf"),
                described("s", "time to the limit"),
            ),
            "time_to_limit_tolerance": (
                (),
                np.nan if rank is None else ordered_times[rank - 1],
                described("s", "time to the limit of 95 % of all lives at least, with 95 % confidence"),
            ),
            "mean_interval": (
                "bound",
                mean_interval,
                described("m", "interval of the mean worn depth at the end"),
            ),
            "depth": (("sample", "time"), depths, described("m", "worn depth")),
            "time_to_limit": ("sample", self.times_to_limit, described("s", "time to the limit")),
        }
        for name, values in self.inputs.items():
            fields[f"input_{name}"] = ("sample", values, described("1", name))
        coords = {
            "time": ("time", time, described("s", "time in service")),
            "bound": ["lower", "upper"],
            "quantile": list(_QUANTILES),
        }
        facts = {
            "kind": "wear_life_distribution",
            "confidence": confidence,
            "samples": count,
            "limit": self.limit,
            **({"wall": self.wall} if math.isfinite(self.wall) else {}),
            **(attributes or {}),
            **of_evaluation("wear_life_distribution"),
        }
        return xarray.Dataset(fields, coords, facts)


def _lives(rows: dict[str, Array], found: xarray.Dataset, names: list[str]) -> Lives:
    for name, text in (("duration", "durations"), ("limit", "limits")):
        if np.ptp(rows[name]) > 0.0:
            raise UserError(f"study: its lives have several {text}: they must be the same in all samples")
    depths = np.stack([rows[f"depth_{n}"] for n in range(sum(name.startswith("depth_") for name in rows))], axis=1)
    time = np.linspace(0.0, rows["duration"][0], depths.shape[1])
    inputs = {name: found[f"input_{name}"].values[0] for name in names}
    limit, wall = float(rows["limit"][0]), float(rows["wall"][0])
    return Lives(time, depths, rows["time_to_limit"], limit, wall, inputs)


def tolerance_rank(count: int) -> int | None:
    """Rank r from the end of the order statistic of n samples beyond which, with the confidence 95 %, at most 5 % lie.

    The largest r with P(Binomial(n, 0.05) ≥ r) ≥ 0.95; None for less than 59 samples.

    >>> [tolerance_rank(n) for n in (58, 59, 92, 93, 124)]
    [None, 1, 1, 2, 3]
    """
    from scipy.stats import binom

    return int(binom.ppf(1.0 - CONFIDENCE, count, 1.0 - SHARE)) or None
