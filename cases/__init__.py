"""Runnable cases, their independent references, and the command line.

A case is a module or package with

    Parameters                        frozen dataclass; its defaults are the reference case
    build(parameters)                 -> arlequin.Study
    reference(parameters)             independent solution
    check(result, parameters)         -> list of `Check`
    figures(result, parameters)       -> matplotlib figures by name
    comparisons(result, parameters)   -> parameters by name, of runs that `check` and `figures` compare with (optional)
    scalars(result, parameters)       -> `arlequin.Scalar` by name, collected by sweeps (optional)
    run(parameters, record, progress) -> result; replaces the default run (optional)

`arlequin.cases.case.scalars` lists the scalars of every result. `scalars` only reads the result: it neither runs a
model nor computes a reference. `check` and `figures` run no model either: they get comparison runs from
`arlequin.cases.case.comparison`. The first line of the case's docstring is its entry in lists.

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

__all__ = ["check", "compare", "names", "report", "resume", "run", "study", "sweep"]


def run(name: str, /, record: Record | str | Path | None = None, **parameters: Any) -> xarray.DataTree:
    """Run a case, in memory or into `record`; omitted parameters keep their defaults."""
    from arlequin.cases.case.execution import execute, prepare

    every = None if record is None or isinstance(record, str | Path) else record.fields_every
    return execute(*prepare(name, parameters), record, fields_every=every)


def resume(
    path: str | Path, progress: Callable[[int, int], None] | None = None, case: str | None = None
) -> xarray.DataTree:
    """Resume an interrupted run from the last checkpoint of its result; a complete result is returned as it is.

    case: the case file; by default the one named in the result, provided that this user has run this version of it.
    """
    from arlequin.cases.case.execution import resume as resume_run

    return resume_run(path, progress, case)


def compare(path: str | Path, case: str | None = None, *, anew: bool = False) -> dict[str, xarray.DataTree]:
    """Comparison runs of a stored result, by name; missing ones are computed and stored in it.

    These are the models with which checks and figures of the case compare the result, such as the all-fine model;
    failed runs are omitted. anew: compute all of them again. case: as in `resume`.
    """
    from arlequin.cases.case import comparison
    from arlequin.cases.case.results import compared, opened

    result = opened(path, "compare")
    case_and_parameters = compared(result, path, case)
    comparison.compare(*case_and_parameters, path, anew=anew)
    models = comparison.models_of(case_and_parameters[0], result, case_and_parameters[1])
    with comparison.stored_comparisons(path):
        runs = {name: comparison.comparison(case_and_parameters[0].function("build"), models, name) for name in models}
    return {name: run for name, run in runs.items() if run is not None}


def check(name: str, /, record: Record | str | Path | None = None, **parameters: Any) -> list[Check]:
    """Run a case and compare it with its reference; comparison runs that the checks need are kept in the record."""
    from arlequin.cases.case.comparison import computed_comparisons
    from arlequin.cases.case.execution import execute, prepare
    from arlequin.results.recorder import as_record

    case, values = prepare(name, parameters)
    compare = case.function("check")
    result = execute(case, values, record)
    with computed_comparisons(case, as_record(record).path):
        return list(compare(result, values))


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
    """Run a case at every point of `over`: Dataset of its scalars over the parameters; points are saved in `store`.

    over: {name: values}, whose outer product is run; values may be the text "lo:hi:n" (n values, ends included) or
        "lo:hi:n:log". Or a list of points {name: value}. All points are validated before the first run.
    fixed: parameters common to all points.
    errors: include the errors of the case's `check`, which costs the computation of the reference.
    series: paths of time series to collect, such as "interface/contact/force" (variable "interface.contact.force").
    Other arguments: see `arlequin.sweep`.

        scalars = cases.sweep("two_bars", {"velocity": "5:50:10", "elements": [50, 100]}, store="runs/two_bars.sweep")
        scalars["impulse"].plot(x="velocity", hue="elements")
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


def study(name: str, /, **fixed: Any) -> Callable[..., Mapping[str, Any]]:
    """Function of the remaining parameters of a case that returns its scalars, for `arlequin.estimate`.

    fixed: parameters that are the same in all samples. The ranges of the parameters are checked against distributions.

        study = cases.study("fuel_rod", grids=4, length=1.7, duration=0.5)
        estimate = aq.estimate(study, "wear_power", {"friction": (0.2, 0.6), "seed": range(10**6)}, relative=0.05)
    """
    from arlequin.cases.case.sweeping import case_study

    return case_study(name, fixed)


def report(
    result: str | Path | xarray.DataTree | xarray.Dataset,
    out: str | Path | None = None,
    case: str | None = None,
    *,
    member: int | None = None,
    view: str | tuple[float, float] | None = None,
    pdf: bool = False,
) -> Path:
    """Write the report of a result or a sweep as a self-contained HTML page, or as PDF, and return its path.

    Checks and figures of the case are computed from the result and its stored comparison runs (`compare`), and omitted
    if they need other ones. A GIF of `arlequin animate` beside the result is included if it is newer than the result.
    out: by default beside the result; for a sweep with the ending `-sweep.html`; a name that ends in .pdf makes it PDF,
    and pdf=True writes both. case: the case file; by default the
    one named in the result, provided that this user has run this version of it;
        otherwise the report has generic figures only.
    member: of an ensemble, from 0; by default energies and interfaces of all members.
    view: direction of view of 3D models, as in `arlequin.plots.shape`; by default from the side of the contact.
    """
    import xarray

    from arlequin.cases.case.comparison import stored_comparisons
    from arlequin.cases.case.results import beside, opened
    from arlequin.cases.reports.run import run_report
    from arlequin.cases.reports.sweep import sweep_report
    from arlequin.cases.reports.writing import write
    from arlequin.plots.camera import checked_view, preferring
    from arlequin.results.members import chosen
    from arlequin.sweeps.store import is_sweep
    from arlequin.sweeps.sweep import open_sweep

    checked_view(view)
    if not isinstance(result, str | Path):
        if out is None:
            raise UserError("out: must be given for a result in memory")
        if isinstance(result, xarray.Dataset):
            return write(sweep_report(result, case), Path(out), pdf)
        with stored_comparisons(None), preferring(view):
            return write(run_report(chosen(result, member), case_name=case), Path(out), pdf)
    if is_sweep(result):
        if member is not None:
            raise UserError(f"member = {member}: is for the result of an ensemble, not for a sweep")
        target = beside(result, "-sweep.html") if out is None else Path(out)
        return write(sweep_report(open_sweep(result), case), target, pdf)
    suffix = "" if member is None else f"-member{member}"
    animation, metadata = beside(result, f"{suffix}.gif"), Path(result) / "zarr.json"
    tree = chosen(opened(result, "report"), member)
    is_current = animation.is_file() and animation.stat().st_mtime >= metadata.stat().st_mtime
    with stored_comparisons(result), preferring(view):
        target = beside(result, f"{suffix}.html") if out is None else Path(out)
        return write(run_report(tree, animation if is_current else None, case), target, pdf)
