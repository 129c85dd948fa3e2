"""Tables of the command line, for terminals and pipes; installed versions."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from arlequin.models.parallel.launch import started

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.status import Status
    from rich.table import Table

    from arlequin.cases.case.checks import Check
    from arlequin.cases.case.parameters import Field
    from arlequin.results.reading import Summary


PIPE_WIDTH = 160
TABLE_WIDTH = 130  # least width of the table of parameters
CHECKED = ("quantity", "value", "reference", "unit", "error", "accepted", "")
CHECKED_NUMBERS = (1, 2, 4)


def console() -> Console:
    """Console on standard output; wide if redirected, so that no cell is truncated."""
    from rich.console import Console

    several = started() > 1  # Open MPI gives its ranks terminals, wherever the output goes
    wide = None if (sys.stdout.isatty() and not several) or "COLUMNS" in os.environ else PIPE_WIDTH
    plain = False if several else None
    return Console(markup=False, highlight=False, emoji=False, width=wide, force_terminal=plain)


@contextlib.contextmanager
def working(text: str) -> Iterator[Status | None]:
    """Status line on the terminal during a longer computation, such as that of a reference."""
    from rich.console import Console

    if not sys.stderr.isatty():
        yield None
        return
    with Console(stderr=True).status(f"{text} …") as status:
        yield status


def print_line(line: str) -> None:
    """Print a line on standard error, without terminal control characters."""
    print(f"arlequin: {printable(line)}", file=sys.stderr)


def printable(text: str) -> str:
    """The text with control characters replaced.

    >>> printable("a\\x1b[2J\\nb")
    'a�[2J\\nb'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def table(
    rows: Iterable[Sequence[str]],
    headers: Sequence[str] = (),
    numbers: Sequence[int] = (),
    unbroken: Sequence[int] = (),
) -> Table:
    """Table of text; `numbers`: right-aligned columns, `unbroken`: columns without line breaks."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    rows = [tuple(row) for row in rows]
    width = len(headers) or max((len(row) for row in rows), default=1)
    result = Table(box=SIMPLE_HEAD if headers else None, show_header=bool(headers), pad_edge=False)
    for n in range(width):
        header = Text(headers[n]) if headers else ""
        side: Literal["left", "right"] = "right" if n in numbers else "left"
        result.add_column(header, justify=side, overflow="fold", no_wrap=n in unbroken)
    for row in rows:
        result.add_row(*(Text(printable(cell)) for cell in row))
    return result


def list_of_cases(lines: Mapping[str, str]) -> Table:
    return table(lines.items())


def list_of_parameters(fields: Iterable[Field], width: int = PIPE_WIDTH) -> Table | Group:
    """Parameters of a case with default, unit, range and meaning: a table, or two lines each on a narrow terminal."""
    rows = []
    for f in fields:
        bounds = f.allowed
        if f.kind in (int, float):
            bounds = " or ".join((f.quantity.range, *f.choices, *(["none"] if f.optional else [])))
        rows.append((f.name, default(f), "" if f.quantity.unit == "1" else f.quantity.unit, bounds, f.quantity.text))
    if width >= TABLE_WIDTH:
        return table(rows, ("parameter", "default", "unit", "range", "meaning"), unbroken=(0, 1, 2))
    from rich.console import Group
    from rich.padding import Padding

    lines: list[Padding] = []
    for name, default_text, unit, bounds, meaning in rows:
        lines.append(Padding(f"{name} = {default_text} {unit}".rstrip(), (0, 0, 0, 2)))
        lines.append(Padding(f"{meaning}: {bounds}" if bounds else meaning, (0, 0, 0, 6)))
    return Group(*lines, "")


def default(field: Field) -> str:
    """Default of a parameter as text; for a file of the package its name."""
    text = "required" if field.default is MISSING else value(field.default)
    return f"…{os.sep}{Path(text).name}" if os.sep in text and Path(text).is_absolute() else text


def rows_of_checks(checks: Iterable[Check]) -> list[tuple[str, ...]]:
    """Table rows of checks, with the columns `CHECKED`."""
    rows: list[tuple[str, ...]] = []
    for c in checks:
        one_sided = c.kind in ("at most", "at least")
        error = "" if one_sided else f"{100 * c.error:+.3g} %" if c.kind == "relative" else f"{c.error:+.3g}"
        reference = "" if one_sided else f"{c.reference:.6g}"
        verdict = "ok" if c.passed else "OUT"
        rows.append(
            (
                c.name,
                f"{c.value:.6g}",
                reference,
                c.unit.replace("1", "", c.unit == "1"),
                error,
                c.limit,
                verdict,
            )
        )
    return rows


def list_of_checks(checks: Iterable[Check]) -> Table:
    """Table of checks."""
    return table(rows_of_checks(checks), CHECKED, numbers=CHECKED_NUMBERS)


# facts that `run` prints: size of the model, course of the run, costs
MAIN_FACTS = (
    "case", "steps", "runs", "time", "frames", "scheme", "step", "dofs", "constraints", "contact points",
    "largest energy imbalance", "setup time", "wall time", "wall time per step",
)  # fmt: skip


def summary_of(summary: Summary, fields: Sequence[Field] = (), short: bool = False) -> list[Table]:
    """Tables of a result: facts, parameters with the units of `fields`, and energies.

    short: the main facts, and the parameters that differ from their defaults.
    """
    facts = {name: text for name, text in summary.facts.items() if text and (not short or name in MAIN_FACTS)}
    field_of = {f.name: f for f in fields}
    parameters = dict(summary.parameters)
    if short and parameters and field_of.keys() >= parameters.keys():
        parameters = {
            name: parameter_value
            for name, parameter_value in parameters.items()
            if parameter_value != field_of[name].default
        }
        default_count = len(summary.parameters) - len(parameters)
        facts["parameters"] = f"{f'{len(parameters)} given, ' if parameters else ''}{default_count} with their default"
        facts["parameters"] += ": listed by --all" if default_count else ""
    tables = [table(facts.items())]
    if parameters:
        columns = 3 if field_of else 2
        rows = [
            (name, value(parameter_value), _unit(field_of.get(name))) for name, parameter_value in parameters.items()
        ]
        tables.append(table([row[:columns] for row in rows], ("parameter", "value", "unit")[:columns]))
    if summary.energies:
        rows_of_numbers = [(e.kind, *(f"{x:.6g}" for x in (e.first, e.last, e.largest))) for e in summary.energies]
        headers = (f"energy ({summary.unit})", *WHEN)
        tables.append(table(rows_of_numbers, headers, numbers=(1, 2, 3)))
    if summary.ranges:
        headers = (f"energy ({summary.unit}), all members", *WHEN)
        tables.append(table(rows_of_ranges(summary), headers, numbers=(1, 2, 3)))
    return tables


def _unit(field: Field | None) -> str:
    """Unit of a parameter; empty without one."""
    return "" if field is None or field.quantity.unit == "1" else field.quantity.unit


WHEN = ("initial", "final", "largest")


def rows_of_ranges(summary: Summary) -> list[tuple[str, ...]]:
    """Table rows of the energies of an ensemble: kind, and least and greatest of the members for each of `WHEN`."""
    return [(r.kind, *(_range(*ends) for ends in (r.first, r.last, r.largest))) for r in summary.ranges]


def _range(low: float, high: float) -> str:
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"


def value(parameter: Any) -> str:
    """Value of a parameter as typed on the command line."""
    if isinstance(parameter, bool):
        return "true" if parameter else "false"
    if parameter is None:
        return "none"
    if isinstance(parameter, float):
        short = f"{parameter:.6g}"
        return short if float(short) == parameter else f"{parameter:.12g}"
    return str(parameter)


PACKAGES = ("arlequin", "numpy", "scipy", "numba", "scikit-fem", "scikit-sparse", "xarray", "zarr")


def version(package: str) -> str:
    """Version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def versions() -> list[tuple[str, str]]:
    """Versions of the main packages, and the BLAS."""
    return [*((package, version(package)) for package in PACKAGES), ("BLAS", _blas())]


def _blas() -> str:
    try:
        from arlequin.models.linalg.factor import blas_name

        return blas_name()
    except ImportError:
        return "unknown"
