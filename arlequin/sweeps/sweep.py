"""Parameter sweeps: a function evaluated at all points, in parallel, with results stored as they are finished."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.models import checks
from arlequin.models.checks import instance, non_negative_integer
from arlequin.models.errors import UserError, UserTypeError, warn_user
from arlequin.models.signatures import checked_call
from arlequin.sweeps.plan import Plan, Point, axes_of, key, with_units
from arlequin.sweeps.point import PointOutcome
from arlequin.sweeps.store import SweepStore, check_size, read_plan, read_point

if TYPE_CHECKING:
    import xarray

Progress = Callable[[int, int, int], None]

MAX_TEXT = 200  # characters of a fixed parameter in the store


@checked_call
def sweep(
    function: Callable[..., Mapping[str, Any]],
    over: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    *,
    store: str | Path | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    progress: Progress | bool | None = None,
    retry: bool = False,
    overwrite: bool = False,
    units: Mapping[str, str] | None = None,
) -> xarray.Dataset:
    """`function(**point)` at every point of `over`, as one Dataset over the parameters.

    function: gives a mapping of names to numbers, `Scalar`s or `xarray.DataArray`s (series; those of different
    lengths are padded with nan). It is loaded in other processes: define it in a module; with cloudpickle installed
    it may be of the script itself. `functools.partial` fixes parameters that all points share.
    over: {name: values, …}, the outer product, a dimension each; or a list of points {name: value, …}, one dimension
    `point` with the parameters as its coordinates. Values are numbers, texts, true or false, None.
    units: of parameters, by their names, {"velocity": "m/s"}, for the attribute `units` and figures.
    store: a folder to which each point is written as soon as it is finished. A sweep that is started again, also after
    kill -9, with the same or more values computes only the missing points; `open_sweep` reads it at any time. A store
    of another sweep is refused unless `overwrite`. Failed points are repeated only with `retry`.
    workers: processes of this machine, with one thread each; by default as many as it has cores. 0 computes in this
    process, for the debugger and for functions that cannot be pickled; so does 1 for the latter. If a process dies, its
    point is repeated once.
    scheduler: a Dask cluster instead: the address of its scheduler ("tcp://host:8786"), a `distributed.Client` or a
    cluster. Its workers need this package, and one thread each (`dask worker --nthreads 1`). On Slurm, with
    dask-jobqueue:

        cluster = dask_jobqueue.SLURMCluster(cores=1, processes=1, memory="4GB", walltime="04:00:00")
        cluster.scale(jobs=64)
        aq.sweep(study, {"velocity": velocities}, store="runs/study.sweep", scheduler=cluster)

    progress: called as progress(done, failed, total), of which failed are counted in done; by default, or True, a bar
    on the terminal or in the notebook, False none.

    The variables are the function's numbers and series with `units` and `long_name`, nan where a point failed;
    `message` is the error, `seconds` the wall time, `finished` whether it was computed or failed. A name that is also
    a parameter's gets `_result`. A series that has other dimensions than at the first point is omitted there: a
    `SweepWarning` and the attribute `left_out` name the points, whose files contain it.

        def study(velocity, cells):
            result = aq.simulate(...)
            return {"peak": aq.Scalar(abs(result["interface/tip/force"]).max(), "N", "peak force")}

        over = {"velocity": [1.0, 2.0, 5.0], "cells": [10, 20]}
        dataset = aq.sweep(study, over, store="runs/study.sweep", units={"velocity": "m/s"})
        dataset["peak"].plot(x="velocity", hue="cells")
    """
    if store is not None:
        checks.path("store", store)
    axes, scattered = axes_of(over)
    axes = with_units(axes, units or {})
    name, fixed, source = function_identity(function)
    plan = Plan(name, axes, scattered, fixed, {}, source)
    check_names(function, plan.points()[0], name, "over")
    dataset = run_plan(
        function,
        plan,
        store=store,
        workers=workers,
        scheduler=scheduler,
        progress=progress,
        retry=retry,
        overwrite=overwrite,
    )
    _warn_of_failures(dataset, store is not None)
    return dataset


def run_plan(
    function: Callable[..., Any],
    plan: Plan,
    *,
    store: str | Path | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    progress: Progress | bool | None = None,
    retry: bool = False,
    overwrite: bool = False,
) -> xarray.Dataset:
    """Run a checked plan; arguments as of `sweep`."""
    from arlequin.run.progress import PointsBar
    from arlequin.run.provenance import commit, version
    from arlequin.sweeps.dataset import assemble

    rule = "must be True, False, None or a function of the points done, failed and all points"
    instance("progress", progress, Callable | bool | None, rule)
    if workers is not None:
        non_negative_integer("workers", workers)
        if scheduler is not None:
            raise UserError("workers: give workers or scheduler, not both")
    points = plan.points()
    versions = (version(), commit())
    with contextlib.ExitStack() as stack:
        # before the folder is made: none is left by a function that cannot be pickled or a cluster that does not answer
        compute = evaluator(function, workers, scheduler, stack)
        sweep_store = None
        outcomes: dict[str, PointOutcome] = {}
        if store is not None:
            sweep_store = stack.enter_context(contextlib.closing(SweepStore(store, plan, versions, overwrite)))
            outcomes = _stored_outcomes(store, points)
        outcomes = {name: outcome for name, outcome in outcomes.items() if not (retry and outcome.message)}
        missing = [point for point in points if key(point) not in outcomes]
        done, failed = len(outcomes), sum(bool(outcome.message) for outcome in outcomes.values())
        if missing:
            show: Progress = _no_progress
            if not isinstance(progress, bool | None):
                show = progress
            elif progress is not False:
                show = stack.enter_context(PointsBar(plan.name))
            show(done, failed, len(points))
            # closed at once, not when it is collected: Ctrl-C ends its processes
            completed = stack.enter_context(contextlib.closing(compute(missing)))
            for n, outcome in completed:
                if sweep_store is not None:
                    sweep_store.write(missing[n], outcome)
                else:
                    outcomes[key(missing[n])] = outcome
                done, failed = done + 1, failed + bool(outcome.message)
                show(done, failed, len(points))
    return open_sweep(store) if store is not None else assemble(plan, outcomes, [versions])


def _warn_of_failures(dataset: xarray.Dataset, stored: bool) -> None:
    """A `SweepWarning` of the points that failed, with the first message."""
    from arlequin.sweeps.dataset import SweepWarning

    messages = dataset["message"].values[dataset["finished"].values]
    failed = [str(message) for message in messages.ravel() if message]
    if failed:
        again = ", `retry=True` repeats them" if stored else ""
        warn_user(f"sweep: {len(failed)} of {messages.size} points failed, the first: {failed[0]}{again}", SweepWarning)


@checked_call
def open_sweep(path: str | Path) -> xarray.Dataset:
    """The sweep in a folder with the points finished so far, also while it runs or after it was killed.

    Missing points are nan, with `finished` false and `message` "not computed".
    """
    from arlequin.sweeps.dataset import assemble

    checks.path("path", path)
    plan, versions = read_plan(path)
    check_size(path, plan)
    return assemble(plan, _stored_outcomes(path, plan.points()), versions)


def _no_progress(done: int, failed: int, total: int) -> None:
    pass


def _stored_outcomes(path: str | Path, points: Sequence[Point]) -> dict[str, PointOutcome]:
    """The finished points of a store."""
    outcomes = ((key(point), read_point(path, point)) for point in points)
    return {name: outcome for name, outcome in outcomes if outcome is not None}


def evaluator(
    function: Callable[..., Any], workers: int | None, scheduler: Any, stack: contextlib.ExitStack
) -> Callable[[Sequence[Point]], Any]:
    """Function that computes a list of points and yields them as they finish; stack: closes its processes or client.

    It may be called repeatedly: processes are started once.
    """
    from arlequin.sweeps.local import Workers, compute_here, cores, pickled

    if scheduler is not None:
        from arlequin.sweeps.dask import client_of, compute_on_cluster

        return functools.partial(compute_on_cluster, stack.enter_context(client_of(scheduler)), pickled(function))
    if workers == 0:
        return functools.partial(compute_here, function)
    count = cores() if workers is None else workers
    try:
        pickled_function = pickled(function)
    except UserError:
        if count > 1:
            raise
        return functools.partial(compute_here, function)  # a single other process brings no speed-up
    return stack.enter_context(contextlib.closing(Workers(pickled_function, count))).compute


def function_identity(function: Any) -> tuple[str, dict[str, Any], str]:
    """Name of a function, the parameters that a partial fixes, and a digest of its source."""
    fixed: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        if function.args:
            raise UserError("function: a partial must fix parameters by their names")
        fixed = {**function.keywords, **fixed}
        function = function.func
    if not callable(function):
        raise UserTypeError.parameter("function", function, "must be a function")
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return name, {parameter: _text(value) for parameter, value in fixed.items()}, _digest(function)


def _digest(function: Any) -> str:
    """Digest of the source of a function and of its captured values: a closure, the object of a method."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):  # typed interactively, or an object
        text = ""
    captured = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    if not inspect.isroutine(function) and not inspect.isclass(function):
        captured.append(function)
    captured += [function.__self__] if inspect.ismethod(function) else []
    text += "".join(f"\n{_text(value)}" for value in captured)
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


def _text(value: Any) -> Any:
    """Reproducible representation of an argument or captured value, as stored."""
    if isinstance(value, float | int | str | None) and value == value:
        return value
    import numpy as np

    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):  # complete arrays
        text = repr(value)
    if " at 0x" in text:
        return type(value).__name__
    if _has_objects(value):  # whose repr is abridged
        from arlequin.run.resume import digest

        text += f" {digest(value)}"
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _has_objects(value: Any) -> bool:
    """Whether a value is or contains a dataclass object, such as a part or a law."""
    if isinstance(value, Mapping):
        return any(map(_has_objects, value.values()))
    return any(map(_has_objects, value)) if isinstance(value, list | tuple) else is_dataclass(value)


def check_names(function: Callable[..., Any], point: Point, name: str, label: str) -> None:
    """Raise `UserError` where the names of a point do not match the signature of a function; label: of the argument."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in: it raises its own error
        return
    try:
        signature.bind(**point)
    except TypeError as error:
        raise UserError(f"{label}: {error}: {name} takes {', '.join(signature.parameters) or 'nothing'}") from None
