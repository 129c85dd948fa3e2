"""`estimate`, `probability` and `sobol_indices`: the uncertainty of a quantity of a study with uncertain inputs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from arlequin.models.checks import (
    ANY_SIZE,
    finite,
    finite_array,
    flag,
    instance,
    integer,
    mapping,
    non_negative_integer,
    one_of,
    positive,
    within,
)
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call, takes
from arlequin.sweeps.plan import value as point_value
from arlequin.uncertainty.inputs import Inputs, described
from arlequin.uncertainty.multilevel import MAX_SAMPLES, Goal, Multilevel, Report
from arlequin.uncertainty.sampler import Sampler

if TYPE_CHECKING:
    import xarray

Method = Literal["monte-carlo", "quasi-monte-carlo", "multilevel"]
RareMethod = Literal["subset", "monte-carlo"]
Progress = Callable[[int, int, float, float], None]


@checked_call
def estimate(
    study: Callable[..., Any],
    quantity: str | Callable[[Any], Any] | None,
    inputs: Mapping[str, Any],
    *,
    tolerance: float | None = None,
    relative: float | None = None,
    samples: int | None = None,
    method: Method | None = None,
    levels: Sequence[Mapping[str, Any]] | None = None,
    limit: bool = False,
    costs: Sequence[float] | None = None,
    confidence: float = 0.95,
    pilot: int = 20,
    replicates: int = 16,
    seed: int = 0,
    store: str | Path | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    progress: Progress | bool | None = None,
    overwrite: bool = False,
) -> xarray.Dataset:
    """Mean of a quantity of a study with uncertain inputs, with its confidence interval, as a Dataset.

    study: a function of the inputs, by their names, that gives a `Study`, which is run, a result, a mapping of names to
    numbers or `Scalar`s, or a number; of a case: `arlequin.cases.study`. It is loaded in other processes, as that of
    `sweep`.
    quantity: a function of what the study gives (of the result of its run), or text: the name of a number, or the path
    of a variable of the result on `time`, such as "interface/contact/wear_power", of which the mean over time is taken;
    None for a study that gives a number.
    inputs: {parameter: distribution}, independent; frozen distributions of scipy.stats, a pair (low, high) of uniform
    numbers, or a range of whole numbers, such as seeds of turbulence.
    tolerance: half-width of the interval at which sampling stops, in the unit of the quantity; relative: the same over
    the value (the larger of the two, where both are given); samples: a fixed number of samples instead, of
    quasi-Monte Carlo rounded up to `replicates` times a power of 2.
    method: "monte-carlo"; "quasi-monte-carlo", `replicates` scramblings of Sobol's sequence; "multilevel", which is
    taken where levels are given: parameters of each level, coarse first, [{"step": 8e-5}, {"step": 4e-5}, …]. Each
    correction is sampled with the same inputs on two levels; numbers of samples follow from measured variances and
    costs (`arlequin.uncertainty.multilevel`), or from `costs`, relative, of a run of each level.
    limit: the interval is that of the limit of infinitely fine levels, with the bias that the fitted rate leaves; by
    default it is that of the finest level, which has none.
    pilot: samples of each level from which variances and costs are first known.
    seed: of all random numbers: the same call has the same samples, to the bit.
    store, workers, scheduler, overwrite: as of `sweep`. The store keeps each sample as a point of a sweep: an
    interrupted call goes on with the same answer, a smaller tolerance or another distribution uses what it has.
    progress: called as progress(done, total, value, half_width), of samples and of the interval so far; by default a
    bar on the terminal or in the notebook, False none.

    Variables: `value`, `interval` (lower, upper), `half_width`, `standard_error`; of each level `samples`, `cost` (s),
    `mean` and `variance` of the correction, and rates; `distribution` of the quantity with its interval over
    `threshold`; `fine`, `coarse` and `input_NAME` of each sample; `plain_cost`, of Monte Carlo for the same interval.

    >>> import arlequin as aq
    >>> def free_fall(height, gravity):  # m, m/s²
    ...     return {"duration": aq.Scalar((2.0 * height / gravity) ** 0.5, "s")}
    >>> inputs = {"height": (0.9, 1.1), "gravity": (9.78, 9.83)}
    >>> found = aq.estimate(free_fall, "duration", inputs, tolerance=1e-4, method="quasi-monte-carlo", workers=0)
    >>> exact = 2.0 / 3.0 * (1.1**1.5 - 0.9**1.5) / 0.2 * 2.0**1.5 * (9.83**0.5 - 9.78**0.5) / 0.05  # s
    >>> low, high = found["interval"].values
    >>> bool(low < exact < high), bool(high - low < 2e-4), found["value"].attrs["units"]
    (True, True, 's')
    """
    from arlequin.uncertainty import dataset

    goal = _goal(tolerance, relative, samples, confidence)
    distributions = Inputs.of(inputs)
    steps = _levels(levels, distributions)
    default_method = "multilevel" if len(steps) > 1 else "monte-carlo"
    kind = str(one_of("method", default_method if method is None else method, get_args(Method)))
    if kind == "multilevel" and len(steps) < 2:
        raise UserError("levels: must be given, coarse first, with method='multilevel': [{'step': 2e-5}, …]")
    if kind != "multilevel" and len(steps) > 1:
        raise UserError.parameter("method", kind, f"takes one level, {len(steps)} are given")
    if kind == "multilevel" and samples is not None:
        raise UserError("samples: are chosen by method='multilevel': give tolerance or relative")
    if flag("limit", limit) and len(steps) < 3:
        raise UserError("limit: needs at least three levels, from which a rate is fitted")
    if costs is not None and not (finite_array("costs", costs, (len(steps),)) > 0.0).all():
        raise UserError.parameter("costs", costs, "must be positive")
    pilot, replicates = integer("pilot", pilot, 2), integer("replicates", replicates, 2)
    seed = non_negative_integer("seed", seed)
    attributes = _attributes("estimate", kind, inputs, goal, seed)
    whole = {"store": store, "workers": workers, "scheduler": scheduler, "overwrite": overwrite}
    with _sampling(study, quantity, distributions, steps[0], whole, progress, goal) as (sampler, tell):
        if kind == "quasi-monte-carlo":
            from arlequin.uncertainty.quasi import quasi_monte_carlo

            distributions_at_level = replace(distributions, fixed=steps[0])
            samples_and_mean = quasi_monte_carlo(
                distributions_at_level, goal, sampler, tell, seed=seed, replicates=replicates, pilot=pilot
            )
            return dataset.of_replicates(*samples_and_mean, distributions, sampler, attributes)
        work = Multilevel(distributions, steps, goal, seed=seed, pilot=pilot, limit=limit, costs=costs)
        answer = work.run(sampler, tell)
        return dataset.of_levels(work, answer, sampler, {**attributes, "limit": int(limit)})


@checked_call
def probability(
    study: Callable[..., Any],
    quantity: str | Callable[[Any], Any] | None,
    inputs: Mapping[str, Any],
    *,
    above: float | None = None,
    below: float | None = None,
    relative: float | None = 0.2,
    tolerance: float | None = None,
    method: RareMethod = "subset",
    samples: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    store: str | Path | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    progress: Progress | bool | None = None,
    overwrite: bool = False,
) -> xarray.Dataset:
    """Probability that a quantity is above, or below, a limit, with its confidence interval, as a Dataset.

    method: "subset", repeated subset simulations for rare events (`arlequin.uncertainty.subset`), each of `samples`
    samples of its first level and about as many of the others, 200 by default; "monte-carlo", the proportion of
    samples with its exact interval, of `samples` where they are given. relative, tolerance: half-width of the interval
    over the probability, or itself, at which sampling stops (the larger of the two, where both are given). Other
    arguments as of `estimate`.

    Inputs of whole numbers, as seeds, cost subset simulation some of its efficiency: a neighbour of a seed is as far
    as any other.

    >>> import scipy.stats
    >>> import arlequin as aq
    >>> inputs = {"x": scipy.stats.norm(), "y": scipy.stats.norm()}
    >>> found = aq.probability(lambda x, y: x + y, None, inputs, above=4.37, workers=0)
    >>> low, high = found["interval"].values
    >>> bool(low < scipy.stats.norm.sf(4.37 / 2**0.5) < high)  # 1e-3
    True
    """
    from arlequin.uncertainty import dataset

    if (above is None) == (below is None):
        raise UserError("probability: give one limit, above=… or below=…")
    name, bound, sign = ("above", above, 1.0) if above is not None else ("below", below, -1.0)
    limit = finite(name, bound, ANY_SIZE)
    method = one_of("method", method, get_args(RareMethod))
    count = integer("samples", 200 if samples is None else samples, 20 if method == "subset" else 1)
    fixed = samples if method == "monte-carlo" else None
    goal = _goal(tolerance, relative if fixed is None else None, fixed, confidence)
    seed, distributions = non_negative_integer("seed", seed), Inputs.of(inputs)
    attributes = _attributes("probability", method, inputs, goal, seed)
    attributes |= {"above" if sign > 0.0 else "below": limit}
    whole = {"store": store, "workers": workers, "scheduler": scheduler, "overwrite": overwrite}
    with _sampling(study, quantity, distributions, {}, whole, progress, goal, unit="1") as (sampler, tell):
        if method == "subset":
            from arlequin.uncertainty.subset import subset_simulation

            rare_event = subset_simulation(distributions, limit, sign, goal, sampler, tell, seed=seed, samples=count)
            return dataset.of_subsets(rare_event, sampler, attributes)
        from arlequin.uncertainty.proportion import plain_probability

        return dataset.of_proportion(
            plain_probability(distributions, limit, sign, goal, sampler, tell, seed=seed), sampler, attributes
        )


@checked_call
def sobol_indices(
    study: Callable[..., Any],
    quantity: str | Callable[[Any], Any] | None,
    inputs: Mapping[str, Any],
    *,
    samples: int = 256,
    confidence: float = 0.95,
    seed: int = 0,
    store: str | Path | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    progress: Progress | bool | None = None,
    overwrite: bool = False,
) -> xarray.Dataset:
    """Sobol' indices of the inputs in the variance of a quantity, of first order and total, with bootstrap intervals.

    samples: n, a power of 2; n (inputs + 2) are computed. Other arguments as of `estimate`. `plots.tornado` shows them.

    >>> import arlequin as aq
    >>> inputs = {"x": (0.0, 1.0), "y": (0.0, 2.0)}
    >>> found = aq.sobol_indices(lambda x, y: x + y, None, inputs, samples=1024, workers=0)
    >>> found["first_order"].values.round(2).tolist()  # 1 : 4
    [0.2, 0.8]
    """
    from arlequin.uncertainty import dataset
    from arlequin.uncertainty.sobol import sobol_shares

    count = integer("samples", samples, 2, MAX_SAMPLES)
    if count & (count - 1):
        raise UserError.parameter("samples", samples, "must be a power of 2")
    goal = _goal(None, None, count, confidence)
    seed, distributions = non_negative_integer("seed", seed), Inputs.of(inputs)
    attributes = _attributes("sobol", "saltelli_2010", inputs, goal, seed)
    whole = {"store": store, "workers": workers, "scheduler": scheduler, "overwrite": overwrite}
    with _sampling(study, quantity, distributions, {}, whole, progress, goal) as (sampler, tell):
        shares = sobol_shares(distributions, sampler, tell, samples=count, seed=seed, confidence=goal.confidence)
        return dataset.of_shares(shares, distributions, sampler, attributes)


@contextlib.contextmanager
def _sampling(
    study: Any,
    quantity: Any,
    inputs: Inputs,
    fixed: Mapping[str, Any],
    how: Mapping[str, Any],
    progress: Any,
    goal: Goal,
    unit: str | None = None,
) -> Iterator[tuple[Sampler, Report]]:
    """The sampler of a call, and what is told of its progress; unit: of the value, by default that of the quantity."""
    from arlequin.run.progress import EstimateBar

    rule = "must be True, False, None or a function of the samples done, all samples, the value and its half-width"
    instance("progress", progress, Callable | bool | None, rule)
    if callable(progress):
        takes(
            "progress", progress, done="the samples done", total="all", value="the value", half_width="its half-width"
        )
    (middle,) = inputs.points(np.full((1, len(inputs)), 0.5))
    sampler = Sampler(study, quantity, {**middle, **fixed}, **how)
    inputs.check_ranges(study)
    with contextlib.ExitStack() as stack:
        stack.enter_context(sampler)
        tell: Report = _silent
        if not isinstance(progress, bool | None):
            tell = progress
        elif progress is not False:
            bar = stack.enter_context(EstimateBar(sampler.evaluation.name))

            def tell(done: int, total: int, value: float, width: float) -> None:
                bar(done, total, value, width, goal.width(value), unit or sampler.unit)

        yield sampler, tell


def _silent(done: int, total: int, value: float, width: float) -> None:
    pass


def _goal(tolerance: Any, relative: Any, samples: Any, confidence: Any) -> Goal:
    absolute = None if tolerance is None else positive("tolerance", tolerance, ANY_SIZE, 0.0)
    share = None if relative is None else positive("relative", relative)
    count = None if samples is None else integer("samples", samples, 2, MAX_SAMPLES)
    if count is not None and (absolute, share) != (None, None):
        raise UserError("samples: and a tolerance exclude each other")
    if (absolute, share, count) == (None, None, None):
        raise UserError("tolerance: give tolerance, relative or samples, where sampling stops")
    level = within("confidence", confidence, 0.0, 1.0, open_low=True, open_high=True)
    return Goal(absolute, share, count, level)


def _levels(levels: Any, inputs: Inputs) -> list[dict[str, Any]]:
    """Parameters of each level; one level without parameters by default."""
    rule = "must be a list of parameters of each level, as [{'step': 4e-5}, {'step': 2e-5}]"
    if levels is None:
        return [{}]
    if isinstance(levels, str | Mapping) or not isinstance(levels, Sequence) or not levels:
        raise UserTypeError.parameter("levels", levels, rule)
    checked = []
    for n, level in enumerate(levels):
        parameters = mapping(f"levels[{n}]", level, "must map parameters to their values on the level")
        if set(parameters) != set(levels[0]) or not parameters:
            raise UserError(
                f"levels: level {n} has {', '.join(parameters) or 'none'}, the first {', '.join(levels[0])}"
            )
        for name in parameters:
            if name in inputs.names:
                raise UserError(f"levels: {name} is an input too: it is either one or the other")
        checked.append({name: point_value(name, parameters[name]) for name in levels[0]})
    for n, level in enumerate(checked[1:], 1):
        if level in checked[:n]:
            raise UserError(f"levels: level {n} is the same as an earlier one")
    return checked


def _attributes(kind: str, method: str, inputs: Mapping[str, Any], goal: Goal, seed: int) -> dict[str, Any]:
    from arlequin.results.conventions import of_evaluation
    from arlequin.run.provenance import commit, version

    about = "; ".join(f"{name}: {text}" for name, text in described(inputs).items())
    return {
        "kind": kind,
        "method": method,
        "inputs": about,
        "confidence": goal.confidence,
        "seed": seed,
        "version": version(),
        "commit": commit(),
        **of_evaluation(f"{kind} by {method}"),
    }
