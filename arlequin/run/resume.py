"""Resuming of runs: digests that identify a study, and the checkpoint or complete result at the path of a record."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import xarray

from arlequin.models.errors import FAILURE, UserError
from arlequin.results.checkpoint import Checkpoint
from arlequin.results.reading import open as open_result
from arlequin.results.recorder import Record
from arlequin.run.provenance import describe, version
from arlequin.schemes import Scheme


def digest(thing: Any) -> str:
    """Digest of nested dataclasses, arrays, numbers and functions; the same in every process.

    Functions enter by their code, closure and the global values they use; dataclasses by their init fields.

    >>> digest((1, "a")) == digest((1.0, "a")) != digest((1.5, "a"))
    True
    """
    walk = _Walk()
    walk.add(thing)
    return walk.hash.hexdigest()


class _Walk:
    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=16)
        # visited objects, referenced so that their ids stay unique
        self._visited: dict[int, tuple[int, Any]] = {}

    def add(self, thing: Any) -> None:
        """Add an object to the digest."""
        if isinstance(thing, np.ndarray) and thing.dtype != object:
            self._update("array", thing.dtype.str, thing.shape)
            self.hash.update(thing.tobytes())
        elif isinstance(thing, type | ModuleType | BuiltinFunctionType | np.ufunc):
            self._update("name", getattr(thing, "__module__", ""), thing.__name__)
        elif isinstance(thing, int) and not isinstance(thing, bool) and abs(thing) < 2**53:
            self._update("float", float(thing))  # JSON may turn one into the other
        elif thing is None or isinstance(thing, bool | int | float | complex | str | bytes | np.generic):
            self._update(type(thing).__name__, thing)
        elif isinstance(thing, set | frozenset):
            self._update("set", len(thing), sorted(map(repr, thing)))
        elif id(thing) in self._visited:
            self._update("again", self._visited[id(thing)][0])
        else:
            self._visited[id(thing)] = len(self._visited), thing
            self._add_members(thing)

    def _add_members(self, thing: Any) -> None:
        self._update(type(thing).__module__, type(thing).__qualname__)
        if is_dataclass(thing):
            self._add_all([getattr(thing, item.name) for item in fields(thing) if item.init])
        elif isinstance(thing, Mapping):
            self._add_all([part for item in thing.items() for part in item])
        elif isinstance(thing, tuple | list | np.ndarray):
            self._add_all(thing)
        elif isinstance(thing, MethodType):
            self._add_all([thing.__self__, thing.__func__])
        elif isinstance(thing, partial):
            self._add_all([thing.func, thing.args, thing.keywords])
        elif isinstance(thing, CodeType):
            self._add_all([thing.co_code, thing.co_consts, thing.co_names])
        elif isinstance(thing, FunctionType):
            around = [cell.cell_contents for cell in thing.__closure__ or ()]
            known = [thing.__globals__.get(name) for name in thing.__code__.co_names]
            plain = [
                value for value in known if isinstance(value, bool | int | float | str | np.ndarray | FunctionType)
            ]
            self._add_all([thing.__code__, thing.__defaults__, thing.__kwdefaults__, around, plain])
        else:
            self._add_all(list(getattr(thing, "__dict__", {}).items()))

    def _add_all(self, things: Any) -> None:
        self._update(len(things))
        for thing in things:
            self.add(thing)

    def _update(self, *words: Any) -> None:
        self.hash.update(repr(words).encode())


def study_of(system: Any, scheme: Scheme, step: float, steps: int, record: Record) -> dict[str, Any]:
    """Properties of a study, by name, that must be equal when a run is resumed."""
    return {
        "version": version(),
        "scheme": describe(scheme),
        "step": step,
        "number of steps": steps,
        "fields_every": record.fields_every,
        "point_memory": int(record.point_memory),
        **({"stress": 1} if record.stress else {}),
        "system": digest((system, scheme)),
    }


def find_result(record: Record, study: dict[str, Any]) -> xarray.DataTree | None:
    """The result at the path of a record that resumes, or None; a complete result of another study is an error."""
    if not record.resume or record.path is None or not Path(record.path).exists():
        return None
    result = open_result(record.path)
    if result.attrs.get("complete") and result.attrs.get("study") != digest(study):
        raise UserError(f"{record.path}: is complete, and of another study: choose another path")
    return result


def find_resumable(record: Record, study: dict[str, Any]) -> tuple[Record, Checkpoint | xarray.DataTree | None]:
    """The record to use, and the checkpoint or complete result of this study at its path, or None."""
    result, path = find_result(record, study), str(record.path)
    if result is None:
        return record, None
    if result.attrs.get("complete"):
        return record, result
    checkpoint = Checkpoint.read(Path(path))
    if checkpoint is not None:
        checkpoint.check(study, path)
        return record, checkpoint
    if result.attrs.get("study") != digest(study):
        raise UserError(f"{path}: has no checkpoint of this study to go on from: run it anew", FAILURE)
    return replace(record, overwrite=True), None  # stopped before its first checkpoint
