"""Actions of the commands; each returns the exit code."""

from __future__ import annotations

import contextlib
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.cases.case import registry
from arlequin.cases.cli import tables
from arlequin.cases.cli.outputs import in_runs, member_of, read, write_report
from arlequin.cases.cli.tables import versions
from arlequin.models.errors import UserError
from arlequin.models.parallel.launch import announced

if TYPE_CHECKING:
    import xarray
    from rich.console import Console
    from rich.status import Status

    from arlequin.cases.case.parameters import Field
    from arlequin.results.recorder import Record

READ_THROUGH = 2**30  # bytes up to which `show` reads all arrays of a result
TEMPLATE = Path(__file__).parents[1] / "case" / "template.py"


def cases(_: Namespace) -> int:
    """Print the built-in cases."""
    tables.console().print(tables.list_of_cases(registry.lines()))
    return 0


def new(arguments: Namespace) -> int:
    """Write a copy of the case template; an existing file is not overwritten."""
    path = Path(arguments.path)
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise UserError(f"{path}: must end in .py and have an identifier as its name, such as my_study.py")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = TEMPLATE.read_text(encoding="utf-8").replace("my_study", path.stem)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path}: exists already") from None
    tables.console().print(f"written to {path}; run it with `arlequin run {path}`, then edit it")
    return 0


def describe(name: str, usage: str) -> int:
    """Print the parameters of a case and the usage of the command."""
    out = _parameters(registry.load(name))
    out.print(usage.replace("CASE", name))
    return 0


def describe_sweep(name: str, usage: str) -> int:
    """Print the parameters of a case, examples of swept values and the usage of `sweep`."""
    from arlequin.cases.cli.sweep import examples

    case = registry.load(name)
    out = _parameters(case)
    sweep_examples = examples(case.parameters)
    if sweep_examples:
        out.print(tables.table(sweep_examples, ("several values", ""), unbroken=(0,)))
    out.print(usage.replace("CASE", name))
    return 0


def _parameters(case: registry.Case) -> Console:
    from arlequin.cases.case.parameters import fields

    out = tables.console()
    out.print(f"{case.short}: {case.line}\n")
    out.print(tables.list_of_parameters(fields(case.parameters), out.width))
    return out


def run(arguments: Namespace) -> int:
    """Run a case, store its result and print the summary."""
    from arlequin.cases.case.execution import prepare
    from arlequin.cases.case.parameters import fields
    from arlequin.results.reading import summary

    for option in ("compare", "report"):
        if getattr(arguments, option) and announced() > 1:
            line = f"not on several ranks: run `arlequin {option} RESULT` afterwards, without mpiexec"
            raise UserError(f"--{option}: {line}")
    name, values = _split(arguments.words)
    case, parameters = prepare(name, values)
    path = Path(arguments.out) if arguments.out is not None else in_runs(f"{case.short}.zarr")
    result = _execute(case, parameters, path, arguments.force or arguments.out is None, arguments.stress)
    out = tables.console()
    for part in tables.summary_of(summary(result), fields(case.parameters), short=not arguments.all):
        out.print(part)
    out.print(f"written to {path}")
    if arguments.compare:
        _compare(case, parameters, path)
    return write_report(path, pdf=True) if arguments.report else 0


def compare(arguments: Namespace) -> int:
    """Compute and store the comparison runs of a result."""
    from arlequin.cases.case.results import compared, opened

    path = Path(arguments.path)
    with read(path) as damaged:
        case, parameters = compared(opened(path, "compare"), path, arguments.case)
        _compare(case, parameters, path, anew=arguments.force)
    return 1 if damaged else 0


def _compare(case: registry.Case, parameters: Any, path: Path, anew: bool = False) -> None:
    """Compute and store comparison runs; failures are reported but no error, as some cases expect them."""
    from arlequin.cases.case import comparison
    from arlequin.run.progress import ProgressBar

    out = tables.console()
    try:
        computed, failed = comparison.compare(
            case, parameters, path, lambda name: ProgressBar(f"{case.short}: {name}"), anew
        )
    except KeyboardInterrupt:
        line = f"interrupted; finished comparison runs are kept, `arlequin compare {path}` continues"
        raise UserError(line, code=1) from None
    for name, message in failed.items():
        tables.print_line(f"{name}: {message}")
    if not computed and not failed:
        out.print(f"{path}: no comparison run is missing")
    if computed:
        out.print(f"comparison runs stored in {path}: {', '.join(computed)}")


def resume(arguments: Namespace) -> int:
    """Resume an interrupted run from its last checkpoint and print the summary."""
    from arlequin.cases.case.execution import left_at
    from arlequin.cases.case.execution import resume as resume_run
    from arlequin.results.reading import summary
    from arlequin.run.progress import ProgressBar

    path = Path(arguments.path)
    out = tables.console()
    with read(path) as damaged:
        result, finished_steps, _ = left_at(path)
        if result.attrs.get("complete"):
            out.print(f"{path} is complete")
            return 1 if damaged else 0
        with _stopped(path, time.time()), ProgressBar(path.stem, begin=finished_steps) as bar:
            result = resume_run(path, bar, arguments.case)
        for part in tables.summary_of(summary(result), _fields_of(result), short=True):
            out.print(part)
    out.print(f"written to {path}")
    return 1 if damaged else 0


def check(arguments: Namespace) -> int:
    """Run a case and compare it with its reference; exit code 1 if a check fails."""
    from arlequin.cases.case.comparison import computed_comparisons
    from arlequin.cases.case.execution import prepare

    name, values = _split(arguments.words)
    case, parameters = prepare(name, values)
    compare = case.function("check")
    path = Path(arguments.out) if arguments.out is not None else None
    result = _execute(case, parameters, path, arguments.force, arguments.stress)
    with (
        tables.working("comparing with the reference") as status,
        # on several ranks they are kept in memory, on each rank
        computed_comparisons(case, path if announced() == 1 else None, _bars(case, status)),
    ):
        checks = list(compare(result, parameters))
    if not checks:
        raise UserError(f"{name}: its `check` returns no checks", code=1)
    out = tables.console()
    out.print(tables.list_of_checks(checks))
    failed = [c.name for c in checks if not c.passed]
    out.print(f"{len(checks) - len(failed)} of {len(checks)} within tolerance")
    if path is not None:
        out.print(f"written to {path}")
    return 1 if failed else 0


def _bars(case: registry.Case, status: Status | None) -> Any:
    """Progress bars of comparison runs by name, each in place of the status line."""
    from arlequin.run.progress import ProgressBar

    @contextlib.contextmanager
    def bar(name: str) -> Iterator[ProgressBar]:
        if status is not None:
            status.stop()
        with ProgressBar(f"{case.short}: {name}") as progress:
            yield progress
        if status is not None:
            status.start()

    return bar


def sweep(arguments: Namespace) -> int:
    """Run a parameter sweep of a case."""
    from arlequin.cases.cli.sweep import sweep as run_sweep

    return run_sweep(arguments, *_split(arguments.words))


def show(arguments: Namespace) -> int:
    """Print the summary of a result or sweep, and the installed versions."""
    from arlequin.results.reading import open as open_result
    from arlequin.results.reading import summary
    from arlequin.sweeps.store import is_sweep

    out = tables.console()
    damaged: list[str] = []
    if arguments.path is not None:
        with read(arguments.path) as damaged:
            result = None
            swept = is_sweep(arguments.path)
            member = member_of(arguments, swept)
            if swept:
                from arlequin.cases.cli.sweep import summary_of
                from arlequin.sweeps.sweep import open_sweep

                parts = summary_of(open_sweep(arguments.path))
            else:
                result = open_result(arguments.path)
                parts = tables.summary_of(summary(result, member=member), _fields_of(result))
            for part in parts:
                out.print(part)
            if result is not None:
                _read_through(arguments.path, result)
    out.print(tables.table(versions(), ("package", "installed version")))
    return 1 if damaged else 0


def _fields_of(result: xarray.DataTree) -> tuple[Field, ...]:
    """The parameters of the built-in case of a result; none for a user's file, which is not executed for a summary."""
    from arlequin.cases.case.parameters import fields

    name = str(result.attrs.get("case", ""))
    return fields(registry.load(name).parameters) if name in registry.names() else ()


def _read_through(path: str, result: xarray.DataTree) -> None:
    """Read all arrays of a result up to `READ_THROUGH` bytes, so that damaged ones are reported."""
    from arlequin.results.zarr_reading import read_through, size_of

    if size_of(Path(path)) <= READ_THROUGH:
        with tables.working("reading"):
            read_through(result)


def _execute(case: registry.Case, parameters: Any, path: Path | None, replace: bool, stress: bool) -> xarray.DataTree:
    """Run with a progress bar; errors and interrupts report where the partial result is."""
    from arlequin.cases.case.execution import execute
    from arlequin.models.parallel.ranks import ranks
    from arlequin.results.recorder import Record
    from arlequin.results.stores import refuse_to_replace
    from arlequin.run.progress import ProgressBar

    record: Record | None = None
    if path is not None:
        # before the assembly
        ranks().by_root(lambda: refuse_to_replace(path, str(path), replace))
        record = Record(path, overwrite=replace, stress=stress)
    with _stopped(path, time.time()), ProgressBar(case.short) as bar:
        return execute(case, parameters, record, bar)


@contextlib.contextmanager
def _stopped(path: Path | None, begin: float) -> Iterator[None]:
    """Add the place of the partial result to the error line of a run that stops."""
    try:
        yield
    except KeyboardInterrupt:
        partial_text = _recorded(path, begin)
        advice = f": `arlequin resume {path}` resumes the run" if partial_text else ""
        raise UserError(f"interrupted{partial_text}{advice}", code=1) from None
    except UserError as error:
        raise UserError(f"{error}{_recorded(path, begin)}", code=error.code) from error


def _recorded(path: Path | None, begin: float) -> str:
    """Text naming the partial result of this run, if there is one."""
    from arlequin.results.writer_lock import is_written_here

    mark = None if path is None else path / "zarr.json"
    # resolution of file times; of several ranks the first one writes
    recent = mark is not None and mark.exists() and mark.stat().st_mtime > begin - 0.01
    if mark is not None and recent and (announced() > 1 or is_written_here(mark.parent)):
        return f"; the partial result is in {path}"
    return ""


def _split(words: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Case and parameters from the words `CASE name=value …`, in any order."""
    values: dict[str, str] = {}
    names = [word for word in words if "=" not in word or (registry.is_file_name(word) and Path(word).exists())]
    for word in words:
        if word in names:
            continue
        name, _, value = word.partition("=")
        if name in values:
            raise UserError(f"{name}: given twice")
        values[name] = value
    if not names:
        raise UserError("no case given; `arlequin cases` lists them")
    if len(names) > 1:
        raise UserError(f"{names[1]}: neither a parameter (name=value) nor an option")
    return names[0], values
