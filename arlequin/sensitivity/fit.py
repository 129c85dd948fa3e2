"""Identification: parameters of a study from measured records, by least squares with its gradients."""

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import xarray

from arlequin.models.checks import (
    finite_array,
    flag,
    mapping,
    non_negative_integer,
    positive,
    positive_integer,
    within,
)
from arlequin.models.errors import ModelWarning, UserError, UserTypeError, warn_user
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Array, Indices
from arlequin.results.conventions import of_evaluation
from arlequin.run.progress import Progress, reporting
from arlequin.run.simulate import Study
from arlequin.sensitivity.event import Event
from arlequin.sensitivity.events import find_events
from arlequin.sensitivity.gradient import along, check_paths, is_resolved, parameters_of, widths_of
from arlequin.sensitivity.least_squares import Estimates, Minimum, estimates, few_sign_changes
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.models_at import ModelDerivative
from arlequin.sensitivity.multistart import SCREENED, Minima, minimise_from_several
from arlequin.sensitivity.tangent_run import run_with_tangents
from arlequin.sensitivity.windows import Finder

Predict = Callable[[xarray.DataTree], Any]

_MAX_CORRELATION = 0.999  # multiple correlation of a parameter with the others that causes a warning
_MAX_OFFSET = 0.1  # allowed deviations of the end of the iterations from the minimum,
_ROUND_OFF = 1e-6  # or part of the parameter, where the residuals nearly vanish
_SIGNIFICANCE = 0.005  # probability of a warning for residuals of the right model
_NO_NOISE = 1e-9  # of the records: smaller residuals are round-off
_SIMILAR_COST = 0.05  # of the cost: minima of nearly equal misfit


@checked_call
def fit(
    study: Callable[..., Study],
    data: Mapping[str, Any],
    wrt: Mapping[str, float] | Sequence[str],
    *,
    at: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    scales: Mapping[str, float] | None = None,
    deviation: float | Mapping[str, float] | None = None,
    tolerance: float = 1e-8,
    most: int = 50,
    starts: int | None = None,
    events: bool = True,
    units: Mapping[str, str] | None = None,
    progress: Progress | bool | None = None,
) -> xarray.Dataset:
    """Parameters with which a study reproduces measured records best, with their covariance.

    study, wrt, at, scales: as of `gradient`; the values of `wrt` are the first guess. data: measured values by the path
    of a variable of the result on time alone, {"interface/rub/wear_power": values}, one for each step without the
    start, or by any name with the function of the result that predicts them, {"tip": (function, values)}. bounds:
    {name: (low, high)}. deviation: standard deviation of the noise, of all records or by name; without it one of all
    is estimated from the residuals, so that records of different units need theirs.

    Minimised is ½ Σ ((prediction − data)/deviation)², by the trust-region method of `scipy.optimize.least_squares`
    with the derivatives J of the predictions (see `gradient`), up to the relative `tolerance` of cost or parameters, in
    `most` evaluations; values that the study refuses are left out by shorter steps. The guess leads to a minimum near
    it, which need not be the least one: where parameters have two bounds, `starts` points between them are tried as
    well (by default 16 of one such parameter, 32 of more), and the best few are starts of their own; the estimate is
    the best of all minima. starts=0: from the guess alone. To first order the covariance of
    the estimates is σ² (JᵀJ)⁻¹, and the truth lies with 95 % in the ellipse

        (p − p̂)ᵀ C⁻¹ (p − p̂) ≤ n F₀.₉₅(n, N − n)      (χ²₀.₉₅(n) where the deviation is given)

    of n parameters and N values, if the noise is independent and normal: `arlequin.plots.confidence_ellipse`.

    The derivatives follow the instants of impacts and of stops of slip, but for the samples of the few steps around
    each: a velocity jumps there, and the misfit of its record has kinks, so that records of displacements tell the
    instants better. Events that the steps do not resolve are left out, which a `ModelWarning` says. events=False: the
    derivatives at the statuses of contact of each run.

    An estimate at its bound is held there: deviation and covariance of the others are those of a fit without it, n
    counts them only, and its own are nan. Its interval has one side, from the bound to where the cost, least in the
    others, has risen by what 95 % allow; it holds the truth with 95 % or more. No interval leaves the bounds.

    `ModelWarning` where a bound holds; where parameters are nearly dependent, with a multiple correlation of more than
    0.999; where another minimum between the bounds fits nearly as well (within the confidence of 95 %, or 5 % of the
    cost); where the residuals are no noise: larger than the given deviation, by χ², or with too few changes of sign, by
    the binomial distribution of independent ones, each at a level of 0.5 %; and where the iterations end at more than a
    tenth of a deviation from the minimum that the derivatives predict, as at a jump. UserError where the records do not
    determine the parameters, or `most` is not enough.

    units: of parameters, {"stiffness": "N/m"}, a coordinate of tables and on the axes of the ellipse.

    Variables: value, deviation, low, high (parameter), the ends of intervals of 95 %, at_bound: −1, 1 at the lower and
    upper bound, else 0, first (the guess), covariance (parameter, with); start_first, start_end (start, parameter),
    start_cost, start_minimum (start): where each start ended, the guess first, and the number of its minimum, 0 of the
    estimate; attributes: noise, the deviation that is left,
    of given deviations over them, so that 1 is expected; ellipse, the bound above; freedom, N − n, or inf where the
    deviation is given; offset, the largest step to the predicted minimum over the deviation; cost, values, evaluations,
    gradients, message.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> def oscillator(stiffness):
    ...     mass = aq.PointMasses("mass", 0.0, 1.0)  # m, kg
    ...     spring = aq.Spring("spring", mass.boundary("all"), stiffness=stiffness)  # N/m
    ...     return aq.Study(aq.System([mass], springs=[spring], velocity=1.0), aq.Theta(0.5), duration=2.0, step=0.01)
    >>> def moved(result):
    ...     return result["part/mass/displacement"][1:, 0, 0]
    >>> measured = moved(oscillator(4.0).run())
    >>> found = aq.fit(oscillator, {"moved": (moved, measured)}, {"stiffness": 3.0})
    >>> found["value"].values.round(6).tolist()
    [4.0]

    Source: Seber & Wild, Nonlinear Regression, Wiley 1989, §5; Branch, Coleman & Li, SIAM J. Sci. Comput. 21 (1999)
    1–23; Wald & Wolfowitz, Ann. Math. Stat. 11 (1940) 147–162 (runs of signs).
    """
    positive_integer("most", most)
    within("tolerance", tolerance, 1e-15, 0.1)
    predictions, measured = _records(data)
    point, names = parameters_of(study, wrt, {} if at is None else at)
    widths = widths_of(point, names, scales or {})
    labels = _units(units or {}, names)
    low, high = _bounds(bounds or {}, point, names)
    check_paths(study(**point), [key for key, record in data.items() if not isinstance(record, tuple)], "data")
    noise = _deviations(deviation, list(predictions))
    weights = np.concatenate([np.full(record.size, 1.0 / noise[key]) for key, record in measured.items()])
    records = np.concatenate(list(measured.values()))
    count = len(names)
    if records.size <= count:
        raise UserError(f"data: {records.size} values do not determine {count} parameters")
    width = np.array([widths[name] for name in names])

    start = np.array([point[name] for name in names])

    def predicted(result: xarray.DataTree) -> Array:
        pieces = []
        for key, function in predictions.items():
            values = np.asarray(function(result), dtype=float)
            if values.shape != measured[key].shape:
                rule = f"must have the shape of its prediction, {values.shape}"
                raise UserError.parameter(f"data: {key}", f"an array of shape {measured[key].shape}", rule)
            if not np.isfinite(values).all():
                raise UserError(f"data: {key}: its prediction is not finite")
            pieces.append(values.ravel())
        return np.concatenate(pieces)

    def scaled(x: Array) -> Array:
        return np.clip(x * width, low, high)

    def values(x: Array) -> dict[str, float]:
        return {**point, **dict(zip(names, scaled(x).tolist(), strict=True))}

    def residual(x: Array, strict: bool) -> Array:
        try:
            return (predicted(study(**values(x)).run(progress=False)) - records) * weights
        except UserError:
            if strict:
                raise
            return np.full(records.size, np.inf)  # outside of what the study allows: a shorter step is tried

    follows = flag("events", events)
    left_out: dict[bytes, list[float]] = {}  # instants of events, s, that the derivatives at x do not follow

    def jacobian(x: Array, chosen: Indices) -> Array:
        by = [names[i] for i in chosen]
        unresolved = left_out[x.tobytes()] = []
        finder = _finder(unresolved) if follows else None
        try:
            record = run_with_tangents(
                study, values(x), widths, by, progress=False, find_events=finder, trend=False
            ).record
        except UserError as error:
            rule = "fit: no gradient at the limit of what the study allows, give bounds within it"
            raise UserError(f"{rule}: {error}") from None
        assert record is not None
        each = zip(along(predicted, record), by, strict=True)
        return np.stack([change * weights * widths[name] for change, name in each], axis=1)

    bounded = int(np.isfinite(high - low).sum())
    if starts is None:
        starts = 0 if bounded == 0 else SCREENED * min(bounded, 2)
    elif non_negative_integer("starts", starts) and not bounded:
        raise UserError.parameter("starts", starts, "needs bounds, {name: (low, high)}: starts lie between them")
    evaluations = 0
    with reporting(progress, "fit") as report:

        def counted(x: Array, strict: bool) -> Array:
            nonlocal evaluations
            evaluations += 1
            if report is not None:
                report(min(evaluations, most + starts), most + starts)
            return residual(x, strict)

        minima = minimise_from_several(
            counted, jacobian, start / width, (low / width, high / width), tolerance, most, starts,
            lambda share: _first_part(measured, share),
        )  # fmt: skip
    minimum = minima.distinct[0]
    at_bound = minimum.at_bound  # bounds are exact
    best = np.where(at_bound < 0, low, np.where(at_bound > 0, high, scaled(minimum.x)))
    if not minimum.converged:
        ended = ", ".join(f"{name} = {value:g}" for name, value in zip(names, best, strict=True))
        rule = "give another guess, bounds, or a larger `most`"
        raise UserError(f"fit: no least squares in {most} evaluations, which ended at {ended}: {rule}", 1)
    known_deviation = deviation is not None
    if instants := left_out.get(minimum.x.tobytes()):
        rule = "whose instants the derivatives leave out: take smaller steps"
        unresolved_events = f"{len(instants)} contact events, the first at t = {min(instants):.6g} s"
        warn_user(f"fit: the steps do not resolve {unresolved_events}, {rule}", ModelWarning)
    size = float(np.linalg.norm(records * weights))
    stats = estimates(minimum, names, (low / width, high / width), size, known_deviation)
    _warn_of_minimum(minimum, stats, names, best)
    _warn_of_others(minima, stats, names, width)
    warn_of_residuals(minimum, stats, measured, size, known_deviation)
    ends = [minima.distinct[k] for _, k in minima.starts]
    coordinates: dict[str, Any] = {"parameter": names, "with": names}
    if units is not None:
        coordinates["units"] = ("parameter", labels)
    return xarray.Dataset(
        {
            "value": ("parameter", best, {"long_name": "estimate"}),
            "deviation": ("parameter", stats.deviation * width, {"long_name": "standard deviation of the estimate"}),
            "low": ("parameter", np.where(at_bound < 0, low, stats.low * width)),
            "high": ("parameter", np.where(at_bound > 0, high, stats.high * width)),
            "at_bound": ("parameter", at_bound, {"long_name": "−1 at the lower bound, 1 at the upper bound"}),
            "first": ("parameter", start, {"long_name": "first guess"}),
            "covariance": (("parameter", "with"), stats.covariance * np.outer(width, width)),
            "start_first": (("start", "parameter"), np.array([first for first, _ in minima.starts]) * width),
            "start_end": (("start", "parameter"), np.array([end.x for end in ends]) * width),
            "start_cost": ("start", [end.cost for end in ends]),
            "start_minimum": ("start", [k for _, k in minima.starts], {"long_name": "number of the minimum"}),
        },
        coords=coordinates,
        attrs={
            "noise": stats.noise, "ellipse": stats.ellipse, "cost": minimum.cost, "values": int(records.size),
            "freedom": stats.freedom, "offset": stats.offset, "evaluations": evaluations,
            "gradients": minimum.gradients, "message": minimum.message, **of_evaluation("fit"),
        },
    )  # fmt: skip


def _finder(unresolved: list[float]) -> Finder:
    """Function that finds the events that the steps resolve, and appends the instants, s, of others to `unresolved`."""

    def find(
        linear: LinearSteps, first: int, last: int, derivatives: Sequence[ModelDerivative], trend: bool
    ) -> list[Event]:
        events = list(find_events(linear, first, last, derivatives, trend))
        step = linear.equations.model.study.step
        unresolved.extend(event.n * step for event in events if not is_resolved(event))
        return [event for event in events if is_resolved(event)]

    return find


def _warn_of_minimum(minimum: Minimum, stats: Estimates, names: Sequence[str], best: Array) -> None:
    """ModelWarning of active bounds, of nearly dependent parameters, and of an end that is no minimum."""
    at_bound = [f"{names[i]} = {best[i]:g}" for i in np.flatnonzero(minimum.at_bound).tolist()]
    if at_bound:
        rule = "deviations of the others are those with it held there, its own interval has one side"
        warn_user(
            f"fit: {' and '.join(at_bound)} {'is' if len(at_bound) == 1 else 'are'} at a bound: {rule}", ModelWarning
        )
    near = np.flatnonzero(stats.multiple > _MAX_CORRELATION)
    if near.size:
        worst = int(np.argmax(stats.multiple))
        pairs = np.abs(np.nan_to_num(stats.correlation[worst]))
        pairs[worst] = 0.0
        other = int(np.argmax(pairs))
        correlation = f"correlation {stats.correlation[worst, other]:.5f}"
        if near.size > 2:
            correlation = f"{names[worst]} has the correlation {stats.multiple[worst]:.5f} with the others"
        dependent: list[int] = near.tolist() if near.size > 1 else sorted([worst, other])
        together = " and ".join(names[k] for k in dependent)
        rule = "the records tell them apart poorly, fix one of them or add a record"
        warn_user(f"fit: {together} are nearly dependent ({correlation}): {rule}", ModelWarning)
    if stats.offset > _MAX_OFFSET and (np.abs(stats.step) > _ROUND_OFF * np.maximum(np.abs(minimum.x), 1.0)).any():
        warn_user(
            f"fit: no minimum where the iterations ended, {stats.offset:.1g} deviations from the one that derivatives "
            "predict: the records jump or have a kink there, give another guess",
            ModelWarning,
        )


def _warn_of_others(minima: Minima, stats: Estimates, names: Sequence[str], width: Array) -> None:
    """ModelWarning of other minima that fit nearly as well."""
    best = minima.distinct[0]
    sigma = 1.0 if np.isinf(stats.freedom) else stats.noise
    reach = max(0.5 * sigma**2 * stats.ellipse, _SIMILAR_COST * best.cost)
    others = [other for other in minima.distinct[1:] if other.converged and other.cost - best.cost <= reach]
    if others:
        ends = ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, others[0].x * width, strict=True))
        count = f"{len(others)} other minima" if len(others) > 1 else "another minimum"
        cost = f"{others[0].cost:.4g} beside {best.cost:.4g}"
        rule = "narrow the bounds or add a record that tells them apart"
        warn_user(f"fit: {count} between the bounds fit nearly as well, as {ends} (cost {cost}): {rule}", ModelWarning)


def warn_of_residuals(
    minimum: Minimum, stats: Estimates, measured: Mapping[str, Array], size: float, known_deviation: bool
) -> None:
    """ModelWarning of residuals that are no noise; size: norm of the scaled records."""
    from scipy.stats import chi2

    norm = float(np.linalg.norm(minimum.residual))
    # round-off, or the iterations ended too early for a test
    if norm <= _NO_NOISE * size or stats.gain > _SIMILAR_COST * norm**2:
        return
    freedom = minimum.residual.size - minimum.free.size
    text = f"fit: what is left of the records is {stats.noise:.3g} times the given deviation"
    if known_deviation and chi2.sf(norm**2, freedom) < _SIGNIFICANCE:
        rule = "the model, the deviation or the minimum is wrong, and the intervals are too short"
        warn_user(f"{text}: {rule}", ModelWarning)
        return
    if known_deviation and chi2.cdf(norm**2, freedom) < _SIGNIFICANCE:
        warn_user(f"{text}: the deviation is too large, and so are the intervals", ModelWarning)
    ends = np.cumsum([values.size for values in measured.values()])[:-1]
    pieces = np.split(minimum.residual, ends)
    series = [piece.reshape(values.shape) for piece, values in zip(pieces, measured.values(), strict=True)]
    changes, pairs, rare = few_sign_changes(series)
    if rare < _SIGNIFICANCE:
        rule = "noise is independent from value to value, so that the model or the minimum is wrong and the intervals"
        text = f"the residuals change their sign {changes} times, where noise does {0.5 * pairs:.0f} times"
        warn_user(f"fit: {text}: {rule} are too short", ModelWarning)


def _first_part(measured: Mapping[str, Array], share: float) -> Indices:
    """Indices in the residuals of the first part of each record; of a single value, the index of this value."""
    pieces, first = [], 0
    for values in measured.values():
        rows = values.shape[0] if values.ndim else 1
        across = values.size // max(rows, 1)
        pieces.append(first + np.arange(int(np.ceil(share * rows)) * across))
        first += values.size
    return np.concatenate(pieces)


def _units(units: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Units of the parameters, "" where none is given."""
    mapping("units", units, 'must map parameters of wrt to texts, {"stiffness": "N/m"}')
    for name, unit in units.items():
        if name not in names:
            raise UserError(f"units: {name!r} is no parameter of wrt{meant(str(name), list(names))}")
        if not isinstance(unit, str):
            raise UserTypeError.parameter(f"units: {name}", unit, "must be a text")
    return [units.get(name, "") for name in names]


def _records(data: Mapping[str, Any]) -> tuple[dict[str, Predict], dict[str, Array]]:
    """Predictions and measured values by name."""
    if not mapping("data", data, "must map paths of the result to measured values"):
        raise UserError("data: is empty: give at least one record")
    predictions: dict[str, Predict] = {}
    measured = {}
    for key, record in data.items():
        if isinstance(record, tuple) and len(record) == 2 and callable(record[0]):
            predictions[key], record = record
        else:
            predictions[key] = _series(key)
        measured[key] = finite_array(f"data: {key}", record)
    return predictions, measured


def _series(path: str) -> Predict:
    return lambda result: np.asarray(result[path].values)[1:]


def _deviations(deviation: float | Mapping[str, float] | None, names: Sequence[str]) -> dict[str, float]:
    if deviation is None:
        return dict.fromkeys(names, 1.0)
    if not isinstance(deviation, Mapping):
        return dict.fromkeys(names, positive("deviation", deviation))
    missing, others = (
        [name for name in names if name not in deviation],
        [name for name in deviation if name not in names],
    )
    if missing or others:
        fault = f"lacks {', '.join(missing)}" if missing else f"{others[0]!r} is no record of data"
        raise UserError(f"deviation: {fault}")
    return {name: positive(f"deviation: {name}", deviation[name]) for name in names}


def _bounds(
    bounds: Mapping[str, tuple[float, float]], point: Mapping[str, float], names: Sequence[str]
) -> tuple[Array, Array]:
    """Lower and upper bounds (p,)."""
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    mapping("bounds", bounds, "must map parameters of wrt to (low, high)")
    for name, pair in bounds.items():
        if name not in names:
            raise UserError(f"bounds: {name!r} is no parameter of wrt")
        if np.shape(pair) != (2,) or not all(isinstance(end, Real) for end in pair) or not pair[0] < pair[1]:
            raise UserTypeError.parameter(f"bounds: {name}", pair, "must be (low, high) with low < high")
        i = names.index(name)
        low[i], high[i] = pair
        if not low[i] <= point[name] <= high[i]:
            raise UserError.parameter(name, point[name], f"must be within its bounds, {low[i]:g} … {high[i]:g}")
    return low, high
