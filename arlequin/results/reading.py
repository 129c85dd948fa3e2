"""Reading of a result: open, crop to what was recorded, summary."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import xarray

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.bounds import MAX_DEPTH, depth, shortened
from arlequin.results.files import file_errors
from arlequin.results.members import chosen
from arlequin.results.zarr_layout import HEADER
from arlequin.results.zarr_metadata import FILE
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
        if not folder.is_dir() or not ((folder / FILE).exists() or (folder / HEADER).exists()):
            raise UserError(f"{path}: not a result (a Zarr v3 group)")
        return read_tree(folder, str(path))


def check_result(result: Any) -> None:
    """Raise `UserError` for what is not the result of a run, such as its path or one of its groups."""
    if isinstance(result, xarray.DataTree):
        if any("part" in above.children for above in result.parents):
            raise UserError(f"result: is the group {result.path} of a result: give the whole of it")
        return
    rule = "must be the result of a run, an xarray.DataTree"
    if isinstance(result, str | Path):
        rule = f"is a path: open it with arlequin.open({str(result)!r})"
    elif isinstance(result, dict | list | tuple) and result:
        rule = "must be the result of one run: choose one of them"
    raise UserTypeError.parameter("result", result, rule)


def of_result(function: T) -> T:
    """Decorator of a function of a result: its first argument is checked, and its call as by `checked_call`."""
    checked_function = checked_call(function)

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        if arguments or "result" in named:
            check_result(arguments[0] if arguments else named["result"])
        return checked_function(*arguments, **named)

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
    finished = result.dataset["finished"].values
    return int(np.isfinite(finished).sum()), finished.size


class Energy(NamedTuple):
    """One kind of energy over a run, in J."""

    kind: str
    first: float
    last: float
    largest: float


class EnergyRange(NamedTuple):
    """One kind of energy over the members of an ensemble: least and greatest values among them, in J."""

    kind: str
    first: tuple[float, float]
    last: tuple[float, float]
    largest: tuple[float, float]


class Summary(NamedTuple):
    """Summary of a result: facts by name, parameters, energies of one run, ranges of those of an ensemble."""

    facts: dict[str, str]
    parameters: dict[str, Any]
    energies: list[Energy]
    ranges: Sequence[EnergyRange] = ()
    unit: str = "J"  # of the energies; J/m of plane models of 1 m thickness


def summary(result: xarray.DataTree, *, member: int | None = None) -> Summary:
    """Instants, energies, balance and every attribute of a result; member: of an ensemble, from 0, None sums up all."""
    root = chosen(result, member).dataset
    attributes = dict(root.attrs)
    parameters = _parameters(attributes.pop("parameters", None))
    time = root["time"].values
    planned = attributes.pop("steps_planned", len(time) - 1)
    for name in ("steps", "complete", "study"):  # said by the lengths of the arrays; a digest
        attributes.pop(name, None)
    facts: dict[str, str] = {}
    if "case" in attributes:
        facts["case"] = shortened(str(attributes.pop("case")))
    done = max(len(time) - 1, 0)
    facts["steps"] = f"{done}" if done == planned else f"{done} of {planned} (stopped early)"
    if (runs := runs_finished(result)) is not None:
        count, total = runs
        facts["runs"] = f"{total}" if count == total else f"{count} of {total} (stopped early)"
    if "member" in root.sizes:
        facts["members"] = str(root.sizes["member"])
    elif "member" in root.coords:
        facts["member"] = str(int(root["member"]))
    if len(time):
        facts["time"] = f"{time[0]:g} to {time[-1]:g} s"
    if "frame_time" in root.coords:
        facts["frames"] = str(root.sizes["frame"])
    if "balance" in root and len(time):
        facts["largest energy imbalance"] = f"{np.abs(root['balance'].values).max():.2e}"
    for name, value in attributes.items():
        text = f"{value:.6g}" if isinstance(value, float) else shortened(str(value))
        facts[name.replace("_", " ")] = f"{text} s" if name in SECONDS else text
    compiled = facts.pop("compile time", "")
    if "wall time" in facts and attributes.get("compile_time"):  # 0.0 s where all kernels were in the cache
        facts["wall time"] += f" (+ {compiled} compiling kernels, once on this machine)"
    if "energy" not in root or not len(time):
        return Summary(facts, parameters, [])
    kinds, unit = [str(kind) for kind in root["kind"].values], str(root["energy"].attrs.get("units", "J"))
    if "member" not in root.sizes:
        return Summary(facts, parameters, _energies(kinds, root["energy"].values), unit=unit)
    members = [_energies(kinds, values) for values in root["energy"].transpose("member", "time", "kind").values]
    ranges = []
    for kind, member_energies in zip(kinds, zip(*members, strict=True), strict=True):
        energies = np.array([energy[1:] for energy in member_energies])
        ranges.append(
            EnergyRange(kind, *zip(energies.min(axis=0).tolist(), energies.max(axis=0).tolist(), strict=True))
        )
    return Summary(facts, parameters, [], ranges, unit)


def _energies(kinds: list[str], values: Array) -> list[Energy]:
    """Energies of one run from its values (t, kind)."""
    return [Energy(k, *map(float, (e[0], e[-1], e[np.abs(e).argmax()]))) for k, e in zip(kinds, values.T, strict=True)]


def _parameters(text: Any) -> dict[str, Any]:
    """The parameters of a case from their JSON text; empty where there are none."""
    try:
        parameters = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return parameters if isinstance(parameters, dict) and depth(parameters) <= MAX_DEPTH else {}
