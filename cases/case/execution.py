"""Execution of a case: validated parameters, study, recorded result with its provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray

from arlequin.cases.case.parameters import as_json, make
from arlequin.cases.case.registry import Case, load
from arlequin.models.errors import UserError
from arlequin.results.recorder import Record, as_record

if TYPE_CHECKING:
    from arlequin.run.simulate import Study

Progress = Callable[[int, int], None]


def prepare(name: str, values: Mapping[str, Any]) -> tuple[Case, Any]:
    """A case and its validated parameters."""
    case = load(name)
    return case, make(case.parameters, values)


def execute(
    case: Case,
    parameters: Any,
    record: Record | str | Path | None = None,
    progress: Progress | None = None,
    fields_every: int | None = None,
) -> xarray.DataTree:
    """Run a case; the result has the attributes `case` and `parameters`.

    fields_every: steps between recorded fields; None: as in the study.
    """
    base_record = as_record(record)
    attributes = {**base_record.attributes, "case": case.name, "parameters": as_json(parameters)}
    target = replace(base_record, attributes=attributes)
    if case.has("run"):
        result = case.function("run")(parameters, target, progress)
    else:
        study = _study(case, parameters)
        every = study.fields_every if fields_every is None else fields_every
        result = study.run(replace(target, fields_every=every), progress=progress)
    return result


def left_at(path: str | Path) -> tuple[xarray.DataTree, int, Record]:
    """Stored result, the step of its checkpoint (0: none, restart), and the record that continues it.

    For a result of several runs: the number of finished runs instead of the step.
    """
    from arlequin.results.checkpoint import Checkpoint
    from arlequin.results.reading import open as open_result
    from arlequin.results.reading import runs_finished

    result = open_result(path)
    if result.attrs.get("complete"):
        return result, int(result.attrs.get("steps_planned", 0)), Record(path, resume=True)
    if not result.attrs.get("case"):
        raise UserError(
            f"{path}: not the result of a case: run its script again with record=Record({str(path)!r}, resume=True)"
        )
    if "study" not in result.attrs:
        raise UserError(f"{path}: has no checkpoint: run the case again", code=1)
    checkpoint = Checkpoint.read(Path(path))
    if checkpoint is None:
        return result, (runs_finished(result) or (0, 0))[0], Record(path, resume=True)
    study = checkpoint.study
    memory, stress = bool(study["point_memory"]), bool(study.get("stress"))
    record = Record(path, study["fields_every"], point_memory=memory, stress=stress, resume=True)
    return result, checkpoint.state.n, record


def resume(path: str | Path, progress: Progress | None = None, case_name: str | None = None) -> xarray.DataTree:
    """Resume the run of a case from the last checkpoint of its result; case_name: see `results.case_of`."""
    from arlequin.cases.case.results import case_of
    from arlequin.results.reading import summary

    result, finished_steps, record = left_at(path)
    if result.attrs.get("complete"):
        return result
    case = case_of(result.attrs, case_name)
    assert case is not None  # `left_at` refuses a result without one
    parameters = make(case.parameters, summary(result).parameters)
    return execute(case, parameters, record, progress, record.fields_every if finished_steps else None)


def _study(case: Case, parameters: Any) -> Study:
    """Study returned by `build` of the case."""
    from arlequin.run.simulate import Study

    study = case.call("build", parameters)
    if not isinstance(study, Study):
        raise UserError(f"{case.name}: `build` returns {type(study).__name__}, must return an arlequin.Study")
    return study
