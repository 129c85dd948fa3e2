"""Gradients of quantities of a study by its parameters."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import xarray

from arlequin.models.checks import finite, flag, instance, mapping, one_of, positive
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Array
from arlequin.results.conventions import of_evaluation
from arlequin.results.scalar import Scalar
from arlequin.results.time_mean import time_mean
from arlequin.run.progress import Progress
from arlequin.run.simulate import Study
from arlequin.sensitivity.adjoint import run_with_adjoint
from arlequin.sensitivity.event import Event
from arlequin.sensitivity.events import find_events
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.models_at import WEIGHTS, ModelDerivative
from arlequin.sensitivity.recording import RecordWithDerivatives
from arlequin.sensitivity.responses import Response
from arlequin.sensitivity.tangent_run import run_with_tangents

Quantity = Callable[[xarray.DataTree], Any]

_ADJOINT_RATIO = 4  # parameters per quantity from which on the adjoint is faster
MAX_BEND = 0.25  # largest bend of an event in a gradient: see `arlequin.sensitivity.events`
_RELATIVE_CHANGE = 1e-3  # of the size of a result: its change in the differences of a quantity


@checked_call
def gradient(
    study: Callable[..., Study],
    of: Quantity | str | Mapping[str, Quantity | str],
    wrt: Mapping[str, float] | Sequence[str],
    *,
    at: Mapping[str, float] | None = None,
    scales: Mapping[str, float] | None = None,
    method: Literal["auto", "tangent", "adjoint"] = "auto",
    events: bool = True,
    progress: Progress | bool | None = None,
) -> xarray.Dataset:
    """Values of quantities of a run and their derivatives by parameters, as a Dataset.

    study: a function of named numbers that gives a `Study`, `study(gap=1e-4, friction=0.3)`.
    of: a quantity, a function of the result that gives a number, or a path as "interface/rub/wear_power", whose mean
    over the steps it is; or several by their names.
    wrt: parameters with their values, {"gap": 1e-4}, or names alone, whose values are in `at` or are the defaults of
    `study`. at: values of other parameters. scales: changes of parameters that matter, by default their values: data
    are differenced over 2e-5 of them.

    events: whether the derivatives follow the instants of impacts, onsets of contact, stops and reversals of slip
    (`arlequin.sensitivity.events`); otherwise they are those at the statuses of contact that the run had.

    The derivatives are those of the run with its steps, not of finite differences of runs: matrices M, K, D, C, laws,
    gaps, loads and starts are differentiated by p, with differences of order 4 (they are smooth in p), and the
    equations of each step at its statuses give the derivatives of its motion from those of the one before (tangents):

        A y' = b' + λμ (C'ᵀφ + Cᵀφ' + B'ᵀP + BᵀP') − A'y,    E(P, y, …)' = 0,

    on the factor of the run. All that the result records follows by its own formulas.

    method: "tangent", as above, whose cost grows with the number of parameters; "adjoint", whose cost grows with the
    number of quantities, each of which must be a `Response`: the transposed equations are solved from the last step to
    the first, blocks of steps being computed again from checkpoints. "auto": the adjoint where all quantities are
    responses and there are at least four times as many parameters. Both give the same, to round-off.

    At an event, these jump: the state loses half the difference of the motions whose event comes one step earlier and
    one step later, times the delay of the event. The error is of first order in the step. Statics and central
    differences are derived at given statuses. UserError where the steps do not resolve an event, and where small
    changes of the motion grow more than 30 times (`arlequin.sensitivity.growth`), so that neighbouring runs part.

    `down` and `up` are the changes of each parameter at which a status of contact changes first, to first order:
    between them all statuses stay. The adjoint does not give it. Where impacts come and go, quantities jump and the
    gradient says little about the average: `smoothed_gradient` does.

    Linear parts, junctions, springs, modal parts, contact with fixed normals, regular and set-valued laws, Coulomb
    friction with elastic stick, friction of the slip rate or the pressure, Archard wear, by `Theta`, `Midpoint`, the
    generalised-α family or `CentralDifference`, or by `Static` on parts that are held without contact; otherwise
    `UserError`.

    Variables of the Dataset: value(quantity), gradient(quantity, parameter), parameter_value, down, up (parameter).
    Its attributes: events, how many there were; bend, the largest change of the approach of a point in the step before
    it touches, relative to it, which is refused above 0.25; grouped, the most points that touched in one step, which
    count as one event; growth, how many times small changes of the motion grow, 1 where contact changes in three steps
    at most.

    >>> import arlequin as aq
    >>> def slider(friction, speed=1.0):
    ...     mass = aq.PointMasses("mass", (0.0, 0.0), 2.0)  # m, kg
    ...     floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    ...     rub = aq.Interface("rub", mass.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(friction))
    ...     system = aq.System([mass], interfaces=[rub], gravity=(0.0, -10.0), velocity=(speed, 0.0))
    ...     return aq.Study(system, aq.Theta(0.5), duration=0.2, step=0.01)
    >>> def path(result):
    ...     return result["part/mass/displacement"][-1, 0, 0]
    >>> slopes = aq.gradient(slider, path, {"friction": 0.2, "speed": 1.0})  # s = v t − μ g t²/2
    >>> slopes["gradient"].sel(quantity="path").values.round(9).tolist()  # −g t²/2, t
    [-0.2, 0.2]

    Source: Hilding, Klarbring & Petersson, Appl. Mech. Rev. 52 (1999) 139–160 (structures in contact); Squire & Trapp,
    SIAM Review 40 (1998) 110–112.
    """
    quantities = quantities_of(of)
    point, names = parameters_of(study, wrt, {} if at is None else at)
    widths = widths_of(point, names, scales or {})
    responses = {name: each for name, each in quantities.items() if isinstance(each, Response)}
    check_paths(study(**point), [of] if isinstance(of, str) else _named(of), "of", list(responses.values()))
    one_of("method", method, ("auto", "tangent", "adjoint"))
    others = [name for name in quantities if name not in responses]
    if method == "adjoint" and others:
        raise UserError(f"method = 'adjoint': {others[0]} is no Response, as aq.Response('energy/friction', 'final')")
    find = find_resolved_events if flag("events", events) else None
    if method == "adjoint" or (method == "auto" and not others and len(names) >= _ADJOINT_RATIO * len(responses)):
        values, rows, passed, growth = run_with_adjoint(study, point, widths, names, responses, progress, find)
        return _dataset(list(quantities), names, point, values, rows, passed, growth)
    run = run_with_tangents(study, point, widths, names, responses, bool(others), progress, find)
    values_and_slopes = {name: (run.values[name], run.responses[name]) for name in responses}
    for name in others:
        assert run.record is not None
        value = partial(number, name, quantities[name])
        values_and_slopes[name] = value(run.record.result), np.array(along(value, run.record))
    values, rows = (
        [values_and_slopes[name][0] for name in quantities],
        np.array([values_and_slopes[name][1] for name in quantities]),
    )
    reach = np.array([run.reach[name] for name in names])
    text = {"long_name": "change of the parameter at which a status of contact changes first, to first order"}
    sides = {"down": ("parameter", reach[:, 0], text), "up": ("parameter", reach[:, 1], text)}
    return _dataset(list(quantities), names, point, values, rows, run.events, run.growth).assign(sides)


def _dataset(
    quantities: Sequence[str],
    names: Sequence[str],
    point: Mapping[str, float],
    values: Sequence[float],
    rows: Array,
    events: Sequence[Event],
    growth: float,
) -> xarray.Dataset:
    onsets = max((len(event.points) for event in events), default=0)
    return xarray.Dataset(
        {
            "value": ("quantity", values),
            "gradient": (("quantity", "parameter"), rows),
            "parameter_value": ("parameter", [point[name] for name in names]),
        },
        coords={"quantity": list(quantities), "parameter": list(names)},
        attrs={
            "events": len(events),
            "bend": max((event.bend or 0.0 for event in events), default=0.0),
            "grouped": onsets if onsets > 1 else 0,
            "growth": growth,
            **of_evaluation("gradient"),
        },
    )


def is_resolved(event: Event) -> bool:
    """Whether the steps resolve an event, so that derivatives by its instant are meaningful."""
    return event.bend is None or event.bend <= MAX_BEND


def find_resolved_events(
    linear: LinearSteps, first: int, last: int, derivatives: Sequence[ModelDerivative], trend: bool
) -> list[Event]:
    """The events of solved steps, see `find_events`; UserError where the steps do not resolve one."""
    events = []
    for event in find_events(linear, first, last, derivatives, trend):
        events.append(event)
        if is_resolved(event):
            continue
        assert event.bend is not None
        where = (
            f"the contact event at t = {event.n * linear.equations.model.study.step:.6g} s (point {event.points[0]})"
        )
        if np.isinf(event.bend):
            raise UserError(
                f"the run after {where} depends on the phase of the step, as multipliers on the gap rebound so with "
                'this scheme: take Unilateral(level="velocity"), Theta(1.0), or events=False, the derivative at given '
                "statuses"
            )
        raise UserError(
            f"the steps do not resolve {where}: its approach rate changes by {100.0 * event.bend:.2g} % within a step, "
            f"allowed {MAX_BEND}, so that a derivative by its instant has no meaning: take smaller steps, "
            "smoothed_gradient, or events=False, the derivative at given statuses"
        )
    return events


def number(name: str, quantity: Quantity, result: xarray.DataTree) -> float:
    """The value of a quantity; UserError where it is no finite number."""
    value = quantity(result)
    value = value.value if isinstance(value, Scalar) else value
    if np.size(value) != 1:
        raise UserTypeError.parameter(f"of: {name}", value, "must be one number")
    return finite(f"of: {name}", float(np.asarray(value).reshape(())))


def along(values: Callable[[xarray.DataTree], Any], record: RecordWithDerivatives) -> list[Array]:
    """Derivatives of a function of a result by each parameter, from those of the variables."""
    perturbed, varying = _copied(record)
    out = []
    for tree in record.derivatives.values():
        changed = {path: variable.values for path, variable in _variables(tree).items()}
        # variables that do not depend on this parameter are reset after another one
        changes = [(target, base, changed.get(path, np.zeros_like(base))) for path, (target, base) in varying.items()]
        sizes = [(np.nanmax(np.abs(array), initial=0.0) for array in pair[1:]) for pair in changes]
        size = max(
            (float(largest_change / largest_base) for largest_base, largest_change in sizes if largest_base > 0.0),
            default=0.0,
        )
        step = _RELATIVE_CHANGE / size if size > 0.0 else 1.0
        total: Any = 0.0
        for j, weight in WEIGHTS.items():
            for target, base, change in changes:
                target[...] = base + j * step * change
            total = total + weight * np.asarray(values(perturbed), dtype=float)
        out.append(np.asarray(total) / step)
    return out


def _copied(record: RecordWithDerivatives) -> tuple[xarray.DataTree, dict[str, tuple[Array, Array]]]:
    """A copy of the result with separate arrays of the variables that have derivatives: these and the arrays of the
    run, by path."""
    out: Any = record.result.copy()
    varying: dict[str, tuple[Array, Array]] = {}
    for path in dict.fromkeys(path for tree in record.derivatives.values() for path in _variables(tree)):
        group, key = path.rsplit("/", 1)
        data = out[group or "/"].to_dataset(inherit=False)
        base = data[key].values
        varying[path] = np.array(base, dtype=float), base
        variable = {key: (data[key].dims, varying[path][0], data[key].attrs)}
        out[group or "/"].dataset = data.assign_coords(variable) if key in data.coords else data.assign(variable)
    return out, varying


def _variables(tree: xarray.DataTree) -> dict[str, xarray.DataArray]:
    """The variables of all groups by their paths."""
    return {
        f"{group.path.rstrip('/')}/{key}": variable
        for group in tree.subtree
        for key, variable in group.data_vars.items()
    }


def quantities_of(of: Quantity | str | Mapping[str, Quantity | str]) -> dict[str, Quantity]:
    """Quantities by their names."""
    rule = "must be a function of the result, a path of a variable as 'interface/rub/wear_power', or several by names"
    if isinstance(of, Mapping):
        if not of:
            raise UserError("of: is empty: give at least one quantity")
        return {str(name): next(iter(quantities_of(each).values())) for name, each in of.items()}
    if isinstance(of, str):
        return {of: lambda result: time_mean(result, of, "of")}
    if not callable(of):
        raise UserTypeError.parameter("of", of, rule)
    return {of.path if isinstance(of, Response) else getattr(of, "__name__", "quantity"): of}


def _named(of: Any) -> list[str]:
    """The paths among quantities."""
    return [each for each in of.values() if isinstance(each, str)] if isinstance(of, Mapping) else []


def check_paths(study: Study, paths: Sequence[str], parameter: str, responses: Sequence[Response] = ()) -> None:
    """UserError where the result of a study, run for one step, lacks a series of these paths, which the option
    `parameter` names, or of the responses."""
    if paths or responses:
        if not isinstance(study, Study):
            raise UserTypeError.parameter("study", study, "must give a Study, as aq.Study(system, scheme, 1.0, 0.01)")
        first = replace(study, duration=study.step).run(progress=False)
        for path in paths:
            time_mean(first, path, parameter)
        for response in responses:
            response.series(first)


def parameters_of(
    study: Callable[..., Study], wrt: Mapping[str, float] | Sequence[str], at: Mapping[str, float]
) -> tuple[dict[str, float], list[str]]:
    """Values of all parameters in wrt and at, and the names of those in wrt."""
    if not callable(study):
        raise UserTypeError.parameter("study", study, "must be a function of named numbers that gives a Study")
    instance("wrt", wrt, Mapping | Sequence, "must be {name: value} or a list of names")
    mapping("at", at, "must map names of parameters to values")
    if isinstance(wrt, str) or not wrt:
        raise UserError("wrt: needs at least one name of a parameter, as ['gap'] or {'gap': 1e-4}")
    if len(set(wrt)) < len(wrt):
        raise UserError(f"wrt: {', '.join(wrt)}: each parameter is named once")
    known = inspect.signature(study).parameters
    point: dict[str, Any] = {**at, **(wrt if isinstance(wrt, Mapping) else {})}
    for name in [*wrt, *point]:
        if name not in known and not any(option.kind is option.VAR_KEYWORD for option in known.values()):
            raise UserError(f"wrt: the study has no parameter {name!r}{meant(name, list(known))}")
        if name not in point:
            default = known[name].default if name in known else inspect.Parameter.empty
            if default is inspect.Parameter.empty:
                raise UserError(f"wrt: {name} has no value: give it, as {{'{name}': 1.0}}")
            point[name] = default
    needed = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    lacking = [
        name
        for name, option in known.items()
        if option.default is option.empty and option.kind in needed and name not in point
    ]
    if lacking:
        raise UserError(f"at: lacks {', '.join(lacking)}, which the study needs")
    return {name: finite(name, value) if name in wrt else value for name, value in point.items()}, list(wrt)


def widths_of(point: Mapping[str, float], names: Sequence[str], scales: Mapping[str, float]) -> dict[str, float]:
    """Scales of the parameters."""
    for name in scales:
        if name not in names:
            raise UserError(f"scales: {name!r} is no parameter of wrt{meant(name, list(names))}")
    out = {}
    for name in names:
        width = scales.get(name, abs(point[name]))
        if width == 0.0:
            raise UserError(
                f"scales: {name} is 0, so that its scale is not known: give it, as scales={{'{name}': 1.0}}"
            )
        out[name] = positive(f"scales: {name}", width)
    return out
