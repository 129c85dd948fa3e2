"""Reading of a result: open, crop to what was recorded, summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray

from models.errors import UserError

SECONDS = ("step", "duration", "setup_time", "wall_time", "wall_time_per_step")  # attributes that are times


def open(path: str | Path) -> xarray.DataTree:
    """The result at `path`, read lazily: what `xarray.open_datatree` reads, cropped to what was recorded."""
    folder = Path(path)
    try:
        if not folder.exists():
            raise UserError(f"{path}: no such result")
        if (folder / "sweep.json").exists():
            raise UserError(f"{path}: a sweep, not the result of one run: open it with arlequin.open_sweep")
        if not folder.is_dir() or not (folder / "zarr.json").exists():
            raise UserError(f"{path}: not a result (a Zarr v3 group)")
        tree = xarray.open_datatree(folder, engine="zarr", chunks=None)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}", code=1) from error
    except (
        ValueError,
        KeyError,
    ) as error:  # metadata cut off or of another kind; JSON errors are ValueErrors
        raise UserError(f"{path}: not readable as a result: {str(error).splitlines()[0]}", code=1) from error
    if "time" not in tree.dataset.coords:
        raise UserError(f"{path}: a Zarr group without `time`: not a result")
    return crop(tree)


def crop(tree: xarray.DataTree) -> xarray.DataTree:
    """Only the instants that were recorded: up to the first NaN of `time` and of `frame_time`."""
    time = tree.dataset["time"].values
    kept = {"time": slice(_recorded(time))}
    if "frame_time" in tree.dataset.coords:
        frame_time = tree.dataset["frame_time"].values[: _recorded(tree.dataset["frame_time"].values)]
        # a run killed between the two writes has a frame whose instant `time` does not cover yet
        covered = 0
        if kept["time"].stop:
            last = time[kept["time"]][-1]
            covered = int(np.searchsorted(frame_time, last + 1e-9 * abs(last), side="right"))
        kept["frame"] = slice(covered)
    datasets = {}
    for node in tree.subtree:
        dataset = node.to_dataset(inherit=False)
        datasets[node.path] = dataset.isel({dim: cut for dim, cut in kept.items() if dim in dataset.dims})
    return xarray.DataTree.from_dict(datasets)


def _recorded(times: Any) -> int:
    """Number of values before the first NaN."""
    missing = np.isnan(times)
    return int(missing.argmax()) if missing.any() else len(missing)


def runs_finished(result: xarray.DataTree) -> tuple[int, int] | None:
    """How many runs of a result of several are finished, and how many there are; None where it is of one."""
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
    """A result in a few lines: facts by name, parameters as they were given, energies."""

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
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
