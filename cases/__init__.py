"""Runnable cases, their independent references, and the command line.

A case is one module: a frozen dataclass `Parameters` (its defaults: the reference case), `build(parameters)`
that gives an `arlequin.Study`, `reference(parameters)`, `check(result, parameters)` that gives a list of
`Check`, and `figures(result, parameters)` that gives a dictionary of matplotlib figures. It may have
`scalars(result, parameters)`, a dictionary of names to `arlequin.Scalar`: the numbers that a sweep collects
beside those that any result has (`arlequin.cases.case.scalars` says which, and how they are called); it reads the
result and computes neither a run nor a reference. A function `run(parameters, record, progress)` replaces the default
run. The first line of its docstring is its line in the list.

    >>> from arlequin import cases
    >>> "bar_wall" in cases.names()
    True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.cases.case.registry import names
from arlequin.models.errors import UserError

if TYPE_CHECKING:
    import xarray

    from arlequin.cases.case.checks import Check
    from arlequin.results.recorder import Record

__all__ = ["check", "names", "report", "resume", "run", "sweep"]


def run(name: str, /, record: Record | str | Path | None = None, **parameters: Any) -> xarray.DataTree:
    """Run a case, in memory unless `record` says where; parameters not given keep their defaults."""
    from arlequin.cases.case.execution import execute, prepare

    every = None if record is None or isinstance(record, str | Path) else record.fields_every
    return execute(*prepare(name, parameters), record, fields_every=every)


def resume(
    path: str | Path, progress: Callable[[int, int], None] | None = None, case: str | None = None
) -> xarray.DataTree:
    """Go on with a run that was stopped, from the last checkpoint of its result; one that is complete is given back.

    case: the file that made it; without, the one that the result names runs only if this user has run it here as it is.
    """
    from arlequin.cases.case.execution import resume as go_on

    return go_on(path, progress, case)


def check(name: str, /, record: Record | str | Path | None = None, **parameters: Any) -> list[Check]:
    """Run a case and compare it with its reference."""
    from arlequin.cases.case.execution import execute, prepare

    case, values = prepare(name, parameters)
    return list(case.function("check")(execute(case, values, record), values))


def sweep(
    name: str,
    /,
    over: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    store: str | Path | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    errors: bool = False,
    series: Sequence[str] = (),
    *,
    progress: Callable[[int, int, int], None] | None = None,
    retry: bool = False,
    overwrite: bool = False,
    **fixed: Any,
) -> xarray.Dataset:
    """Run a case at every point of `over`: its scalars as a Dataset over the parameters, each point kept in `store`.

    over: {name: values}, the outer product, where values may be the text "lo:hi:n" (n values, ends included) or
    "lo:hi:n:log"; or a list of points {name: value}. All points are checked before one is run; `fixed` are parameters
    of all of them. errors: the errors of the case's `check` too, at the cost of its reference. series: what else is
    taken from each result along time, by its path, as "interface/contact/force", named with dots. The others are as
    of `arlequin.sweep`.

        found = cases.sweep("two_bars", {"velocity": "5:50:10", "elements": [50, 100]}, store="runs/two_bars.sweep")
        found["impulse"].plot(x="velocity", hue="elements")
    """
    from arlequin.cases.case.sweeping import sweep_case

    return sweep_case(
        name,
        over,
        fixed,
        errors,
        series,
        store=store,
        workers=workers,
        scheduler=scheduler,
        progress=progress,
        retry=retry,
        overwrite=overwrite,
    )


def report(
    result: str | Path | xarray.DataTree | xarray.Dataset, out: str | Path | None = None, case: str | None = None
) -> Path:
    """Write the report of a result or a sweep, one HTML page that needs nothing else; gives its path.

    out: by default beside the result, of a sweep with the ending `-sweep.html`. A GIF that `arlequin animate` has left
    there, if newer, is taken in. The comparison with the case's reference and its figures are computed from the result.
    case: the file that made it; without, the one that the result names runs only if this user has run it here as it is,
    and else the report has general figures alone.
    """
    import xarray

    from arlequin.cases.case.results import beside, opened
    from arlequin.cases.reports.run import write_report
    from arlequin.cases.reports.sweep import write_sweep_report
    from arlequin.sweeps.store import is_sweep
    from arlequin.sweeps.sweep import open_sweep

    if not isinstance(result, str | Path):
        if out is None:
            raise UserError("out: a result in memory has no place: say where the report goes")
        if isinstance(result, xarray.Dataset):
            return write_sweep_report(result, Path(out), case)
        return write_report(result, Path(out), named=case)
    if is_sweep(result):
        target = beside(result, "-sweep.html") if out is None else Path(out)
        return write_sweep_report(open_sweep(result), target, case)
    film, mark = beside(result, ".gif"), Path(result) / "zarr.json"
    tree = opened(result, "report")
    newer = film.is_file() and film.stat().st_mtime >= mark.stat().st_mtime
    return write_report(tree, beside(result, ".html") if out is None else Path(out), film if newer else None, case)
