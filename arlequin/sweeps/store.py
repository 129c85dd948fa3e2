"""Store of a sweep: a folder with `sweep.json`, the plan, and a file for each finished point.

    P/sweep.json             name, parameters and values, fixed parameters, versions
    P/points/<key>.json      values of the point, message, seconds, scalars; the key is made of the values
    P/points/<key>.npz       its arrays, where it has any

Files are written under a temporary name and renamed, arrays first, so that a killed sweep leaves no partial file. A
point whose file cannot be read (a power failure) counts as missing. Files of other names are not touched.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arlequin.models.errors import UserError
from arlequin.results.bounds import RATIO, shortened
from arlequin.results.damage import warn_damaged
from arlequin.results.files import file_errors, read_arrays, read_json
from arlequin.results.scalar import Scalar
from arlequin.results.writer_lock import NAME as LOCK
from arlequin.results.writer_lock import writer_lock
from arlequin.results.writing import MARK, make_folder, refuse_link, replacing
from arlequin.sweeps.plan import Plan, Point, key
from arlequin.sweeps.point import PointOutcome, Series

KIND = "arlequin sweep"
_FREE_POINTS = 100_000  # points of a plan that are allowed without any file
_FREE_LENGTH = 100_000  # of a dimension of a series without values
_MAX_VALUES = 10_000  # scalars and series of a point
_SWEEP_FILE = re.compile(
    rf"points|{re.escape(MARK)}.*|{re.escape(LOCK)}"
)  # files of a sweep that was killed before its plan was written
_POINT_FILE = re.compile(rf"[0-9a-f]{{16}}\.(json|npz)|{re.escape(MARK)}[0-9a-f]{{12}}\.(json|npz)")


class SweepStore:
    """The folder of a sweep, opened for writing: created, resumed or replaced."""

    def __init__(self, path: str | Path, plan: Plan, versions: tuple[str, str], overwrite: bool = False) -> None:
        """versions: present package and commit, added to those that computed earlier points."""
        self.path, self.label = Path(path), str(path)
        with file_errors(self.label):
            refuse_link(self.path)
            _holds_sweep(self.path, self.label)
            make_folder(self.path)
            self._lock = writer_lock(self.path, self.label)
            try:
                earlier_versions: list[list[str]] = []
                # another process may have written it before the lock was acquired
                if _holds_sweep(self.path, self.label) and not overwrite:
                    earlier, earlier_versions = read_plan(path)
                    self._refuse(plan.difference(earlier))
                points = make_folder(self.path / "points")
                if overwrite:
                    for file in points.iterdir():
                        if _POINT_FILE.fullmatch(file.name) and not file.is_dir():
                            file.unlink()
                self._versions = _with_version(earlier_versions, list(versions))
                self._write_plan(plan)
            except BaseException:
                self.close()
                raise

    def write(self, point: Point, outcome: PointOutcome) -> None:
        """Write the outcome of a finished point."""
        name = key(point)
        with file_errors(self.label):
            if outcome.series:
                import numpy as np

                with replacing(self._file(f"{name}.npz")) as draft:
                    np.savez(draft, allow_pickle=False, **_arrays(outcome.series))
            record = {"point": point, **_as_json(outcome)}
            _write(self._file(f"{name}.json"), json.dumps(record, ensure_ascii=False).encode())

    def extend(self, plan: Plan) -> None:
        """Replace the plan by one with further points."""
        with file_errors(self.label):
            self._write_plan(plan)

    def close(self) -> None:
        os.close(self._lock)

    def _write_plan(self, plan: Plan) -> None:
        record = plan.as_json() | {"kind": KIND, "versions": self._versions}
        _write(self.path / "sweep.json", json.dumps(record, ensure_ascii=False, indent=1).encode())

    def _file(self, name: str) -> Path:
        return self.path / "points" / name

    def _refuse(self, difference: str) -> None:
        if difference:
            raise UserError(
                f"{self.label}: holds another sweep: {difference}; choose another path, or replace it with --force "
                "(overwrite=True)"
            )


def is_sweep(path: str | Path) -> bool:
    """Whether a path is the folder of a sweep."""
    return (Path(path) / "sweep.json").is_file()


def read_plan(path: str | Path) -> tuple[Plan, list[list[str]]]:
    """The plan of a sweep on disk, and the versions (package, commit) that computed it."""
    folder = Path(path)
    if not folder.exists():
        raise UserError(f"{path}: no such sweep")
    if (folder / "zarr.json").exists() and not is_sweep(folder):
        raise UserError(f"{path}: the result of one run, not a sweep: open it with arlequin.results.open")
    if not is_sweep(folder):
        raise UserError(f"{path}: not a sweep (it has no sweep.json)")
    with file_errors(str(path), "read"):
        try:
            record = read_json(folder / "sweep.json")
            plan, versions = Plan.from_json(record), [[_text(text) for text in pair] for pair in record["versions"]]
            if any(len(pair) != 2 for pair in versions):
                raise ValueError("its versions are no pairs")
            return plan, versions
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, UserError) as error:
            reason = shortened(str(error))
            raise UserError(f"{path}: its sweep.json is not readable as that of a sweep: {reason}", code=1) from error


def check_size(path: str | Path, plan: Plan) -> None:
    """UserError where the plan has far more points than there are files of points."""
    count = math.prod(plan.shape)
    if count <= _FREE_POINTS:
        return
    folder = Path(path) / "points"
    with file_errors(str(path), "read"):
        files = sum(1 for _ in os.scandir(folder)) if folder.is_dir() else 0
    if count > _FREE_POINTS + RATIO * files:
        raise UserError(f"{path}: is planned to have {count:,} points, and has {files:,} files of them", code=1)


def read_point(path: str | Path, point: Point) -> PointOutcome | None:
    """The outcome of a point of a sweep on disk; None if missing or damaged."""
    file = Path(path) / "points" / f"{key(point)}.json"
    if not file.exists():
        return None
    try:
        record = read_json(file)
        if len(record["scalars"]) + len(record["series"]) > _MAX_VALUES:
            raise ValueError(f"it has more than {_MAX_VALUES} numbers and series")
        scalars = {name: _scalar(*fields) for name, fields in record["scalars"].items()}
        series = {}
        if record["series"]:
            arrays = read_arrays(file.with_suffix(".npz"))
            series = {name: _read_series(name, header, arrays) for name, header in record["series"].items()}
        return PointOutcome(scalars, series, shortened(_text(record["message"])), _number(record["seconds"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        warn_damaged(str(path), f"points/{file.name}", f"{error}; the point counts as not computed")
        return None


def _scalar(number: Any, unit: Any, text: Any) -> Scalar:
    return Scalar(_number(number), _text(unit), _text(text))


def _text(value: Any) -> str:
    """A text, with `?` for lone surrogates."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a text")
    return value.encode("utf-8", "replace").decode("utf-8")


def _holds_sweep(path: Path, label: str) -> bool:
    """Whether the path is a sweep; `UserError` if it is anything else."""
    if not path.exists():
        return False
    names = {file.name for file in path.iterdir()} if path.is_dir() else {""}
    unfinished = all(_SWEEP_FILE.fullmatch(name) for name in names - {"sweep.json"})  # killed, or damaged
    if "sweep.json" not in names and unfinished:
        return False
    try:
        record = read_json(path / "sweep.json")
        known = isinstance(record, dict) and record.get("kind") == KIND
    except (OSError, ValueError):
        known = unfinished
    if not known:
        raise UserError(f"{label}: exists and is not a sweep: choose another path")
    return True


def _with_version(earlier: list[list[str]], version: list[str]) -> list[list[str]]:
    return earlier if version in earlier else [*earlier, version]


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as draft:
        draft.write_bytes(data)


def _as_json(outcome: PointOutcome) -> dict[str, Any]:
    return {
        "message": outcome.message,
        "seconds": _plain(outcome.seconds),
        "scalars": {name: [_plain(s.value), s.unit, s.text] for name, s in outcome.scalars.items()},
        "series": {
            name: {"dims": s.dims, "attributes": s.attributes, "coords": s.coord_attributes}
            for name, s in outcome.series.items()
        },
    }


def _plain(number: float) -> float | str | None:
    """Replace nan and inf, which JSON lacks."""
    if math.isfinite(number):
        return number
    return None if math.isnan(number) else str(number)


def _number(value: float | str | None) -> float:
    return math.nan if value is None else float(value)


def _arrays(series: dict[str, Series]) -> dict[str, Any]:
    arrays = {f"values/{name}": s.values for name, s in series.items()}
    return arrays | {f"coords/{name}/{dim}": values for name, s in series.items() for dim, values in s.coords.items()}


def _read_series(name: str, header: dict[str, Any], arrays: Mapping[str, Any]) -> Series:
    """A series from its arrays; ValueError where they are inconsistent."""
    values, dims = arrays[f"values/{name}"], tuple(_text(dim) for dim in header["dims"])
    if len(set(dims)) != len(dims) or max(values.shape, default=0) > max(values.size, _FREE_LENGTH):
        raise ValueError(f"the series {name} is of no size")
    coords = {dim: arrays[f"coords/{name}/{dim}"] for dim in header["coords"]}
    lengths = dict(zip(dims, values.shape, strict=True))
    if values.dtype != float or any(coord.shape != (lengths[dim],) for dim, coord in coords.items()):
        raise ValueError(f"the series {name} is not as its head says")
    coord_attributes = {dim: _texts(attributes) for dim, attributes in header["coords"].items()}
    return Series(dims, values, _texts(header["attributes"]), coords, coord_attributes)


def _texts(mapping: Any) -> dict[str, str]:
    return {name: _text(text) for name, text in mapping.items()}
