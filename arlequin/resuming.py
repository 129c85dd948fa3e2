"""What a run finds at the path of its record: nothing, a checkpoint to go on from, or a result that is complete."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray

from arlequin.checkpoint import Checkpoint
from arlequin.description import describe, version
from arlequin.identity import digest
from arlequin.record import Record
from arlequin.result import open as open_result
from arlequin.schemes import Scheme
from models.errors import FAILURE, UserError


def study_of(system: Any, scheme: Scheme, step: float, steps: int, record: Record) -> dict[str, Any]:
    """What has to be the same where a run goes on, by what it is."""
    return {
        "version": version(),
        "scheme": describe(scheme),
        "step": step,
        "number of steps": steps,
        "fields_every": record.fields_every,
        "point_memory": int(record.point_memory),
        "system": digest((system, scheme)),
    }


def earlier(record: Record, study: dict[str, Any]) -> xarray.DataTree | None:
    """The result that a run of this study is to go on with; None where there is none. A complete one is of it."""
    if not record.resume or record.path is None or not Path(record.path).exists():
        return None
    result = open_result(record.path)
    if result.attrs.get("complete") and result.attrs.get("study") != digest(study):
        raise UserError(f"{record.path}: is complete, and of another study: choose another path")
    return result


def left_at(record: Record, study: dict[str, Any]) -> tuple[Record, Checkpoint | xarray.DataTree | None]:
    """What a run of this study finds, and the record that it is to use."""
    result, given = earlier(record, study), str(record.path)
    if result is None:
        return record, None
    if result.attrs.get("complete"):
        return record, result
    found = Checkpoint.read(Path(given))
    if found is not None:
        found.check(study, given)
        return record, found
    if result.attrs.get("study") != digest(study):
        raise UserError(f"{given}: has no checkpoint of this study to go on from: run it anew", FAILURE)
    return replace(record, overwrite=True), None  # stopped in its first seconds
