"""The table of docs/verification.md: code verification, solution verification and validation of each case.

    python docs/verification.py             # all cases
    python docs/verification.py bar_wall    # the row of one case

What is refined, and which numbers are taken, is in docs/verification.toml, for each case

    over     = { parameter = sizes }, coarse to fine
    fixed    = { parameter = value }, of all sizes
    error    = name of a check of the case (with a blank in it) against an exact reference: code verification
    theory   = the order that the theory gives, as a text
    of       = name of a scalar or a check of the case: solution verification
    remark   = why an order is not that of the theory
    none     = why nothing is refined
    validation = comparison with experiments or published values; none where it is not given
"""

from __future__ import annotations

import math
import re
import sys
import tomllib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import arlequin as aq
from arlequin import cases
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import computed_comparisons
from arlequin.cases.case.execution import execute, prepare
from arlequin.cases.case.scalars import common

PAGE = Path(__file__).with_suffix(".md")
TABLE = Path(__file__).with_suffix(".toml")
HEAD = (
    "case",
    "refined",
    "code verification: error against the reference",
    "order (theory)",
    "solution verification: value on the finest grid",
    "p",
    "GCI",
    "validation",
)
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"
ROUND_OFF = 1e-12  # relative error, below which a reference is met to round-off
ROW = re.compile(r"^\| `(\w+)` \|.*\|$", re.MULTILINE)


def entries() -> dict[str, dict[str, Any]]:
    """What is refined in each case, by its name."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def quantities(
    name: str, values: Mapping[str, Any], checked: bool
) -> dict[str, aq.Scalar | Check]:
    """Scalars of a run of a case and, if they are asked for, its checks."""
    case, parameters = prepare(name, dict(values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = execute(case, parameters)
        found: dict[str, aq.Scalar | Check] = dict(common(result))
        if case.has("scalars"):
            found |= case.function("scalars")(result, parameters)
        if checked:
            with computed_comparisons(case, None):
                found |= {
                    check.name: check
                    for check in case.function("check")(result, parameters)
                }
    return found


def row(name: str, entry: Mapping[str, Any]) -> list[str]:
    """The cells of a case."""
    validation = entry.get("validation", "none")
    if "none" in entry:
        return [f"`{name}`", f"none: {entry['none']}", "", "", "", "", "", validation]
    ((parameter, sizes),) = entry["over"].items()
    error, of = entry.get("error"), entry.get("of")
    fixed, checked = (
        entry.get("fixed", {}),
        any(given and " " in given for given in (error, of)),
    )
    runs = [quantities(name, {**fixed, parameter: size}, checked) for size in sizes]
    shown = ", ".join(f"{key} = {value}" for key, value in fixed.items())
    refined = f"`{parameter}` = {', '.join(f'{size:g}' for size in sizes)}" + (
        f" ({shown})" if shown else ""
    )
    grids = {parameter: sizes}
    return [
        f"`{name}`",
        refined,
        *verified(error, runs, grids, entry),
        *solved(of, runs, grids),
        validation,
    ]


def verified(
    error: str | None,
    runs: list[dict[str, Any]],
    over: Mapping[str, Any],
    entry: Mapping[str, Any],
) -> list[str]:
    """Errors of a check and their order."""
    theory, remark = entry.get("theory", ""), entry.get("remark", "")
    if error is None:
        return [remark or "no exact reference", f"({theory})" if theory else ""]
    remark = f"; {remark}" if remark else ""
    checks = [run[error] for run in runs]
    norms = checks[0].kind == "at most"  # of an error, whose reference is what is accepted
    errors = [check.value if norms else check.value - check.reference for check in checks]
    scale = [1.0 if norms else abs(check.reference) or 1.0 for check in checks]
    relative = [abs(own) / size for own, size in zip(errors, scale, strict=True)]
    if max(relative) <= ROUND_OFF:
        return [f"{error}: exact to round-off on all grids{remark}", "exact"]
    found = aq.convergence(relative, None, over, exact=0.0, order=1.0)
    order = round(float(found["error_order"][-1]), 2) + 0.0  # no −0.00
    listed = ", ".join(f"{value:.2g}" for value in relative)
    return [
        f"{error}: {listed}{remark}",
        f"{order:.2f} ({theory})" if theory else f"{order:.2f}",
    ]


def solved(
    of: str | None, runs: list[dict[str, Any]], over: Mapping[str, Any]
) -> list[str]:
    """Value with its uncertainty, order and grid convergence index."""
    if of is None:
        return ["none", "", ""]
    numbers = [run[of].value for run in runs]
    unit = runs[-1][of].unit
    unit = "" if unit in ("", "1") else f" {unit}"
    found = aq.convergence(numbers, None, over, order=1.0)
    state, order = found.attrs["state"], float(found["order"])
    text = f"{of.replace('_', ' ')} = {numbers[-1]:.5g}{unit}"
    if state == "equal":
        return [f"{text}, the same on the finest two grids", "", "0"]
    if state == "oscillatory":
        half = 0.5 * (max(numbers[-3:]) - min(numbers[-3:]))
        return [f"{text} ± {half:.2g}{unit} (half of the range)", "oscillatory", ""]
    if state == "divergent" or not math.isfinite(order):
        return [f"{text}; no order on these grids", "none", ""]
    return [
        f"{text} ± {float(found['uncertainty']):.2g}{unit}",
        f"{order:.2f}",
        f"{100.0 * float(found['gci']):.2g} %",
    ]


def line(cells: list[str]) -> str:
    """A row of a table of Markdown."""
    return "| " + " | ".join(cells) + " |"


def rows_of(text: str) -> dict[str, str]:
    """The rows of the table on the page, by their cases."""
    return {
        found[1]: found[0]
        for found in ROW.finditer(text[text.index(BEGIN) : text.index(END)])
    }


def page(text: str, rows: Mapping[str, str]) -> str:
    """The page with the rows of the cases, in their order."""
    known = {**rows_of(text), **rows}
    table = [
        line(list(HEAD)),
        "|" + "---|" * len(HEAD),
        *(known[name] for name in cases.names() if name in known),
    ]
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:start] + "\n" + "\n".join(table) + "\n\n" + text[stop:]


def main(names: list[str]) -> None:
    table = entries()
    for name in names or list(cases.names()):
        print(name, flush=True)
        new = {name: line(row(name, table[name]))}
        text = PAGE.read_text(
            encoding="utf-8"
        )  # after each case: an interrupted run keeps what it has
        PAGE.write_text(page(text, new), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
