"""Runnable cases, their independent references, and the command line.

A case is one module: a frozen dataclass `Parameters` (its defaults: the reference case), `build(parameters)`
that gives an `arlequin.Study`, `reference(parameters)`, `check(result, parameters)` that gives a list of
`Check`, and `figures(result, parameters)` that gives a dictionary of matplotlib figures; a function
`run(parameters, record, progress)` replaces the default run. The first line of its docstring is its line in
the list.

    >>> import cases
    >>> "bar_wall" in cases.names()
    True
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cases.registry import names

if TYPE_CHECKING:
    import xarray

    from arlequin.record import Record
    from cases.comparison import Check

__all__ = ["check", "names", "run"]


def run(name: str, /, record: Record | str | Path | None = None, **parameters: Any) -> xarray.DataTree:
    """Run a case, in memory unless `record` says where; parameters not given keep their defaults."""
    from cases.execution import execute, prepare

    every = None if record is None or isinstance(record, str | Path) else record.fields_every
    return execute(*prepare(name, parameters), record, fields_every=every)


def check(name: str, /, record: Record | str | Path | None = None, **parameters: Any) -> list[Check]:
    """Run a case and compare it with its reference."""
    from cases.execution import execute, prepare

    case, values = prepare(name, parameters)
    return list(case.function("check")(execute(case, values, record), values))
