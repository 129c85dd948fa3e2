"""Reading of a result: open, crop to what was recorded, summary."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import xarray

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.results.files import file_errors
from arlequin.results.zarr_reading import read_tree

T = TypeVar("T", bound=Callable[..., Any])

SECONDS = (
    "step",
    "duration",
    "setup_time",
    "wall_time",
    "wall_time_per_step",
    "compile_time",
)  # attributes that are times


@checked_call
def open(path: str | Path) -> xarray.DataTree:
    """The result at `path`, read lazily: what `xarray.open_datatree` reads, cropped to what was recorded.

    Damaged arrays are omitted, damaged chunks are nan; a `DamageWarning` names them. No code of the result is run.

    >>> import tempfile
    >>> import arlequin as aq
    >>> stone = aq.PointMasses("stone", (0.0, 0.0), 2.0)  # m, kg
    >>> system = aq.System([stone], gravity=(0.0, -10.0), velocity=(3.0, 0.0))  # m/s², m/s
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.1, record=f"{folder}/run.zarr")
    ...     result = aq.open(f"{folder}/run.zarr").load()
    >>> result["part/stone"]["velocity"][-1, 0].values.round(9).tolist()  # m/s
    [3.0, -10.0]
    """
    folder = Path(checks.path("path", path))
    with file_errors(str(path), "read"):
        if not folder.exists():
            raise UserError(f"{path}: no such result")
        if (folder / "sweep.json").exists():
            raise UserError(f"{path}: a sweep, not the result of one run: open it with arlequin.open_sweep")
        if not folder.is_dir() or not (folder / "zarr.json").exists():
            raise UserError(f"{path}: not a result (a Zarr v3 group)")
        return read_tree(folder, str(path))


def check_result(result: Any) -> None:
    """Raise `UserTypeError` for what is not the result of a run, such as its path."""
    if isinstance(result, xarray.DataTree):
        return
    rule = "must be the result of a run, an xarray.DataTree"
    if isinstance(result, str | Path):
        rule = f"is a path: open it with arlequin.open({str(result)!r})"
    raise UserTypeError.parameter("result", result, rule)


def of_result(function: T) -> T:
    """Decorator of a function of a result: its first argument is checked, and its call as by `checked_call`."""
    called = checked_call(function)

    @functools.wraps(function)
    def checked(*given: Any, **named: Any) -> Any:
        if given or "result" in named:
            check_result(given[0] if given else named["result"])
        return called(*given, **named)

    return checked  # type: ignore[return-value]


def frame_number(result: xarray.DataTree, frame: Any) -> int:
    """The number of a frame of the result, from 0 or, negative, from the end; UserError where there is none."""
    number, count = checks.integer("frame", frame), result.sizes.get("frame", 0)
    if not -count <= number < count:
        there = f"0 to {count - 1}, or -1 for the last" if count else "it has none"
        raise UserError.parameter("frame", frame, f"must be a frame of the result: {there}")
    return number


def runs_finished(result: xarray.DataTree) -> tuple[int, int] | None:
    """Numbers of finished and of all runs of a result of several runs; None for a single run."""
    if "finished" not in result.dataset:
        return None
    found = result.dataset["finished"].values
    return int(np.isfinite(found).sum()), found.size


class Energy(NamedTuple):
    """One kind of energy over a run, in J."""

    kind: str
    first: float
    last: float
    largest: float


class Summary(NamedTuple):
    """Summary of a result: facts by name, parameters, energies."""

    facts: dict[str, str]
    parameters: dict[str, Any]
    energies: list[Energy]


def summary(result: xarray.DataTree) -> Summary:
    """Instants, energies, balance and every attribute of a result."""
    root = result.dataset
    attributes = dict(root.attrs)
    parameters = _parameters(attributes.pop("parameters", None))
    time = root["time"].values
    planned = attributes.pop("steps_planned", len(time) - 1)
    for name in ("steps", "complete", "study"):  # said by the lengths of the arrays; a digest
        attributes.pop(name, None)
    facts: dict[str, str] = {}
    if "case" in attributes:
        facts["case"] = str(attributes.pop("case"))
    done = max(len(time) - 1, 0)
    facts["steps"] = f"{done}" if done == planned else f"{done} of {planned} (stopped early)"
    if (runs := runs_finished(result)) is not None:
        count, total = runs
        facts["runs"] = f"{total}" if count == total else f"{count} of {total} (stopped early)"
    if len(time):
        facts["time"] = f"{time[0]:g} to {time[-1]:g} s"
    if "frame_time" in root.coords:
        facts["frames"] = str(root.sizes["frame"])
    if "balance" in root and len(time):
        facts["largest energy imbalance"] = f"{np.abs(root['balance'].values).max():.2e}"
    for name, value in attributes.items():
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        facts[name.replace("_", " ")] = f"{text} s" if name in SECONDS else text
    if "wall time" in facts and "compile time" in facts:
        facts["wall time"] += f" (+ {facts.pop('compile time')} compiling kernels, once on this machine)"
    energies = []
    if "energy" in root and len(time):
        values = root["energy"].values
        kinds = [str(kind) for kind in root["kind"].values]
        energies = [
            Energy(k, *map(float, (e[0], e[-1], e[np.abs(e).argmax()]))) for k, e in zip(kinds, values.T, strict=True)
        ]
    return Summary(facts, parameters, energies)


def _parameters(text: Any) -> dict[str, Any]:
    """The parameters of a case from their JSON text; empty where there are none."""
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
