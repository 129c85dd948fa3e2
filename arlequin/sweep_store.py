"""A sweep on disk: a folder of `sweep.json`, what is swept, and a file for each point that is finished.

    P/sweep.json             name, parameters and values, fixed parameters, versions
    P/points/<key>.json      values of the point, message, seconds, scalars; the key is made of the values
    P/points/<key>.npz       its arrays, where it has any

Every file is written beside its place and renamed, arrays first: whenever the sweep is killed, what is there is whole.
A file that cannot be read (a power failure) counts as missing.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from arlequin.scalar import Scalar
from arlequin.sweep_plan import Plan, Point, key
from arlequin.sweep_point import Outcome, Series
from models.errors import UserError

KIND = "arlequin sweep"


class SweepStore:
    """The folder of a sweep, opened to write: made, gone on with, or replaced."""

    def __init__(self, path: str | Path, plan: Plan, versions: tuple[str, str], overwrite: bool = False) -> None:
        """versions: of the package and the commit that compute now; they are added to those that did before."""
        from arlequin.stores import writer_lock

        self.path, self.given = Path(path), str(path)
        with self._writing():
            _found(self.path, self.given)
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = writer_lock(self.path, self.given)
            try:
                past: list[list[str]] = []
                # another process may have written it until the lock was had
                if _found(self.path, self.given) and not overwrite:
                    earlier, past = read_plan(path)
                    self._refuse(plan.difference(earlier))
                (self.path / "points").mkdir(exist_ok=True)
                if overwrite:
                    shutil.rmtree(self.path / "points")
                    (self.path / "points").mkdir()
                about = plan.as_json() | {"kind": KIND, "versions": _added(past, list(versions))}
                _write(self.path / "sweep.json", json.dumps(about, ensure_ascii=False, indent=1).encode())
            except BaseException:
                self.close()
                raise

    def write(self, point: Point, outcome: Outcome) -> None:
        """Keeps a point that is finished."""
        name = key(point)
        with self._writing():
            if outcome.series:
                import numpy as np

                draft = self._file(f".{name}.npz.tmp")
                with draft.open("wb") as file:
                    np.savez(file, allow_pickle=False, **_arrays(outcome.series))
                draft.replace(self._file(f"{name}.npz"))
            about = {"point": point, **_as_json(outcome)}
            _write(self._file(f"{name}.json"), json.dumps(about, ensure_ascii=False).encode())

    def close(self) -> None:
        os.close(self._lock)

    def _file(self, name: str) -> Path:
        return self.path / "points" / name

    def _refuse(self, difference: str) -> None:
        if difference:
            raise UserError(
                f"{self.given}: holds another sweep: {difference}; choose another path, or replace it with --force "
                "(overwrite=True)"
            )

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UserError(f"{self.given}: cannot be written: {error.strerror or error}", code=1) from error


def is_sweep(path: str | Path) -> bool:
    """Whether a path is the folder of a sweep."""
    return (Path(path) / "sweep.json").is_file()


def read_plan(path: str | Path) -> tuple[Plan, list[list[str]]]:
    """What is swept in a folder, and the versions (package, commit) that computed it."""
    folder = Path(path)
    if not folder.exists():
        raise UserError(f"{path}: no such sweep")
    if (folder / "zarr.json").exists() and not is_sweep(folder):
        raise UserError(f"{path}: the result of one run, not a sweep: open it with arlequin.open")
    if not is_sweep(folder):
        raise UserError(f"{path}: not a sweep (it has no sweep.json)")
    try:
        about = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
        return Plan.from_json(about), about["versions"]
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}", code=1) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: its sweep.json is not readable as that of a sweep", code=1) from error


def read_point(path: str | Path, point: Point) -> Outcome | None:
    """What became of a point of a sweep on disk; None where it is not there, or not whole."""
    file = Path(path) / "points" / f"{key(point)}.json"
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
        scalars = {name: Scalar(_number(number), unit, text) for name, (number, unit, text) in about["scalars"].items()}
        series = {}
        if about["series"]:
            import numpy as np

            with np.load(file.with_suffix(".npz"), allow_pickle=False) as arrays:
                series = {name: _read_series(name, head, arrays) for name, head in about["series"].items()}
        return Outcome(scalars, series, about["message"], _number(about["seconds"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile):
        return None


def _found(path: Path, given: str) -> bool:
    """Whether a sweep is at the path already; UserError where something else is."""
    if is_sweep(path):
        return True
    # a sweep that was killed as it began has no sweep.json yet
    if path.exists() and not (path.is_dir() and {p.name for p in path.iterdir()} <= {"points", ".sweep.json.tmp"}):
        raise UserError(f"{given}: exists and is not a sweep: choose another path")
    return False


def _added(past: list[list[str]], now: list[str]) -> list[list[str]]:
    return past if now in past else [*past, now]


def _write(path: Path, data: bytes) -> None:
    """A file that is there whole or not at all."""
    draft = path.with_name(f".{path.name}.tmp")
    draft.write_bytes(data)
    draft.replace(path)


def _as_json(outcome: Outcome) -> dict[str, Any]:
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
    """JSON knows neither nan nor inf."""
    if math.isfinite(number):
        return number
    return None if math.isnan(number) else str(number)


def _number(found: float | str | None) -> float:
    return math.nan if found is None else float(found)


def _arrays(series: dict[str, Series]) -> dict[str, Any]:
    found = {f"values/{name}": s.values for name, s in series.items()}
    return found | {f"coords/{name}/{dim}": values for name, s in series.items() for dim, values in s.coords.items()}


def _read_series(name: str, head: dict[str, Any], arrays: Any) -> Series:
    coords = {dim: arrays[f"coords/{name}/{dim}"] for dim in head["coords"]}
    return Series(tuple(head["dims"]), arrays[f"values/{name}"], head["attributes"], coords, head["coords"])
