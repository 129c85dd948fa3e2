"""Comparison runs: other models or schemes with which the checks and figures of a case compare a result.

A case declares them by name, and its `check` and `figures` get their results by name:

    def comparisons(result, parameters):
        return {"all fine": replace(parameters, model="fine")}

    fine = comparison(build, comparisons(result, parameters), "all fine")

`comparison` returns an xarray.DataTree, or None if the run is absent. The context decides whether a solver runs:

    arlequin check                    runs those needed by the checks; with --out they are stored in the result
    arlequin compare, run --compare   run and store all of them
    arlequin plot, report             read stored ones
    Python                            runs in memory; recent results are cached

They are stored in the folder `comparison` of a result, each as a complete result, in `NAME-DIGEST` with the digest of
its parameters. Interrupted runs are resumed; of a failed run the steps before the failure are kept, and its message in
`NAME-DIGEST.json`. Recording the result anew removes all of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from arlequin.cases.case.parameters import as_json
from arlequin.cases.case.scalars import identifier
from arlequin.models.errors import FAILURE, UserError
from arlequin.results.damage import ResultWarning
from arlequin.results.zarr_layout import COMPARISON

if TYPE_CHECKING:
    import xarray

    from arlequin.cases.case.registry import Case
    from arlequin.run.simulate import Study

Progress = Callable[[int, int], None]
Bar = Callable[[str], AbstractContextManager[Progress | None]]  # a progress bar for the run of this name

CACHED, CACHED_BYTES = 8, 2**30  # largest number of results in memory, and of their bytes (at least one is kept)


class FailedRun(UserError):
    """The error of a comparison run that failed; its message is stored."""


@dataclass(frozen=True)
class Variant:
    """Comparison model with its own build function and parameters."""

    build: Callable[[Any], Study]
    parameters: Any


def comparison(
    build: Callable[[Any], Study], models: Mapping[str, Any], name: str, partial: bool = False
) -> xarray.DataTree | None:
    """Result of `build(models[name])`; None for unknown models, and for runs that are not stored and may not be run.

    build: the function `build` of the case; models: parameters, or a `Variant`, by name, those of its function
    `comparisons`. A failing run raises its UserError; a stored failure is None where runs are only read.
    partial: return the steps before the failure instead, for schemes that are expected to fail.
    """
    if name not in models:
        return None
    source = _source.get() or _Source(computes=True)
    return source.find(_variant(build, models[name]), name, partial)


def is_refused(models: Mapping[str, Any], name: str) -> bool:
    """Whether the stored result has no run of this name because it failed; its message is stored instead."""
    source = _source.get()
    return source is not None and name in models and source.has_failed(models[name], name)


def key_of(name: str, parameters: Any) -> str:
    """Name of the folder of a comparison run.

    >>> from arlequin.cases.two_bars import Parameters
    >>> key_of("θ = 1, all fine", Parameters())[:15]
    'theta_1_all_fin'
    """
    parameters = parameters.parameters if isinstance(parameters, Variant) else parameters
    return f"{identifier(name)}-{hashlib.sha256(as_json(parameters).encode()).hexdigest()[:12]}"


@contextlib.contextmanager
def stored_comparisons(path: str | Path | None) -> Iterator[None]:
    """Context in which comparison runs are read from the result at `path` and never computed; None: there are none.

    At the end a `ResultWarning` lists the missing ones with the command that computes them.
    """
    source = _Source(None if path is None else Path(path) / COMPARISON)
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)
    if source.absent:
        warnings.warn(absent_line(source.absent, path), ResultWarning, stacklevel=3)


def absent_names() -> tuple[str, ...]:
    """Names of the comparison runs that were requested in this context and are not stored."""
    source = _source.get()
    return () if source is None else tuple(source.absent)


def absent_line(names: list[str], path: str | Path | None) -> str:
    """One line that names absent comparison runs and the command that computes them."""
    quoted = [f'"{name}"' for name in names]
    listed = f"{', '.join(quoted[:4])} and {len(names) - 4} more" if len(names) > 5 else ", ".join(quoted)
    runs = "the comparison run" if len(names) == 1 else "the comparison runs"
    if path is None:
        return f"without {runs} {listed}: they are read from a stored result (`arlequin compare RESULT`)"
    return f"without {runs} {listed}: `arlequin compare {path}` computes what is missing"


@contextlib.contextmanager
def computed_comparisons(case: Case, path: str | Path | None, bar: Bar | None = None) -> Iterator[None]:
    """Context in which missing comparison runs are computed, and stored in the result at `path` unless it is None.

    The result is locked meanwhile: it cannot be recorded anew.
    """
    with contextlib.ExitStack() as stack:
        folder = None if path is None else _folder_in(Path(path))
        if path is not None:
            stack.enter_context(_locked(Path(path)))
        token = _source.set(_Source(folder, case.name, True, bar or _no_bar))
        stack.callback(_source.reset, token)
        yield


def compare(
    case: Case, parameters: Any, path: str | Path, bar: Bar | None = None, anew: bool = False
) -> tuple[list[str], dict[str, str]]:
    """Compute and store the missing comparison runs of the complete result at `path`.

    anew: also those that are stored. Returns the names of the computed runs, and the messages of failed ones by name.
    """
    from arlequin.results.reading import open as open_result

    result = open_result(path)
    if not result.attrs.get("complete"):
        raise UserError(f"{path}: incomplete: `arlequin resume {path}` first", FAILURE)
    models = models_of(case, result, parameters)
    computed: list[str] = []
    failed: dict[str, str] = {}
    with computed_comparisons(case, path, bar):
        source = _source.get()
        assert source is not None and source.folder is not None
        for name, model in models.items():
            if not anew and source.stored(model, name) is not None:
                continue
            try:
                source.record(_variant(case.function("build"), model), name, anew)
                computed.append(name)
            except FailedRun as error:
                failed[name] = str(error)
    return computed, failed


def models_of(case: Case, result: xarray.DataTree, parameters: Any) -> dict[str, Any]:
    """Parameters, or `Variant`s, of the comparison models of a case, by name."""
    return dict(case.call("comparisons", result, parameters)) if case.has("comparisons") else {}


def _variant(build: Callable[[Any], Study], model: Any) -> Variant:
    return model if isinstance(model, Variant) else Variant(build, model)


@contextlib.contextmanager
def _no_bar(name: str) -> Iterator[None]:
    yield None


@dataclass(frozen=True)
class _Source:
    """Folder of comparison runs, whether missing ones are computed, and the names of absent ones."""

    folder: Path | None = None
    case: str = ""
    computes: bool = False
    bar: Bar = _no_bar
    absent: list[str] = field(default_factory=list)

    def place(self, model: Any, name: str) -> Path | None:
        """Folder of a run; None in memory."""
        return None if self.folder is None else self.folder / key_of(name, model)

    def has_failed(self, model: Any, name: str) -> bool:
        """Whether the message of a failed run is stored."""
        run_folder = self.place(model, name)
        return run_folder is not None and _message(run_folder).is_file()

    def stored(self, model: Any, name: str, partial: bool = False) -> xarray.DataTree | None:
        """Stored run; partial: also a failed one. None if it is missing or unreadable."""
        from arlequin.results.reading import open as open_result

        run_folder = self.place(model, name)
        if run_folder is None or not (run_folder / "zarr.json").is_file():
            return None
        try:
            result = open_result(run_folder)
        except UserError as error:
            warnings.warn(str(error), ResultWarning, stacklevel=2)
            return None
        return result if result.attrs.get("complete") or (partial and self.has_failed(model, name)) else None

    def find(self, model: Variant, name: str, partial: bool) -> xarray.DataTree | None:
        """Stored run, else the computed one; None if runs are not computed."""
        result = self.stored(model, name, partial)
        if result is not None:
            return result
        if not self.computes:
            if name not in self.absent and not self.has_failed(model, name):
                self.absent.append(name)
            return None
        if self.folder is None:
            with self.bar(name) as progress:
                return _in_memory(model, progress, partial)
        try:
            return self.record(model, name)
        except FailedRun:
            result = self.stored(model, name, partial) if partial else None
            if result is None:
                raise
            return result

    def record(self, model: Variant, name: str, anew: bool = False) -> xarray.DataTree:
        """Compute a run into its folder, from its checkpoint if it was interrupted, unless anew."""
        from arlequin.results.recorder import Record
        from arlequin.results.stores import refuse_to_replace

        run_folder = self.place(model, name)
        assert run_folder is not None
        refuse_to_replace(run_folder, str(run_folder), overwrite=True)
        record = Record(
            run_folder, overwrite=True, resume=not anew and _resumable(run_folder), attributes=self.about(model, name)
        )
        with self.bar(name) as progress:
            try:
                study = model.build(model.parameters)
                result = study.run(replace(record, fields_every=study.fields_every), progress=progress)
            except UserError as error:
                if isinstance(error.__cause__, OSError):  # such as a full disk
                    raise
                _write_message(run_folder, str(error))
                raise FailedRun(str(error), error.code) from error
        _message(run_folder).unlink(missing_ok=True)
        return result

    def about(self, model: Variant, name: str) -> dict[str, str]:
        """Attributes of a run."""
        return {"case": self.case, "parameters": as_json(model.parameters), "model": name}


_source: ContextVar[_Source | None] = ContextVar("comparisons", default=None)
_cache: OrderedDict[Any, xarray.DataTree] = OrderedDict()


def _in_memory(model: Variant, progress: Progress | None = None, partial: bool = False) -> xarray.DataTree:
    """Run in memory; recent ones are cached, by parameters and modification times of the files named in them."""
    key = model.build, as_json(model.parameters), _times(model.parameters), partial
    if key not in _cache:
        study = model.build(model.parameters)
        _cache[key] = _run_until_failure(study, progress) if partial else study.run(progress=progress)
        while len(_cache) > 1 and (len(_cache) > CACHED or sum(r.nbytes for r in _cache.values()) > CACHED_BYTES):
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return _cache[key]


def _run_until_failure(study: Study, progress: Progress | None) -> xarray.DataTree:
    """Run, or the steps of a failing run before its failure."""
    from arlequin.results.reading import open as open_result

    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.zarr"
        with contextlib.suppress(UserError):
            study.run(path, progress=progress)
        return open_result(path).load()


def _times(parameters: Any) -> tuple[int, ...]:
    """Modification times, ns, of the files that parameters name, such as a mesh."""
    paths = [value for value in dataclasses.asdict(parameters).values() if isinstance(value, str)]
    return tuple(os.stat(text).st_mtime_ns for text in paths if os.sep in text and os.path.isfile(text))


def _resumable(run_folder: Path) -> bool:
    """Whether an interrupted run of this version has a checkpoint."""
    from arlequin.results.checkpoint import Checkpoint
    from arlequin.run.provenance import version

    try:
        checkpoint = Checkpoint.read(run_folder)
    except UserError:
        return False
    return checkpoint is not None and checkpoint.study.get("version") == version()


def _folder_in(path: Path) -> Path:
    """Folder of the comparison runs of a result; UserError if a path is a link."""
    from arlequin.results.writing import refuse_link

    refuse_link(path)
    folder = path / COMPARISON
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UserError(f"{folder}: not a folder: remove it", FAILURE)
    return folder


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Context in which no other process may write a result."""
    from arlequin.results.files import file_errors
    from arlequin.results.writer_lock import writer_lock

    with file_errors(str(path)):
        lock = writer_lock(path, str(path))
    try:
        yield
    finally:
        os.close(lock)


def _message(run_folder: Path) -> Path:
    """File with the message of a failed run."""
    return run_folder.with_name(f"{run_folder.name}.json")


def _write_message(run_folder: Path, text: str) -> None:
    from arlequin.results.files import file_errors
    from arlequin.results.writing import write_text

    with file_errors(str(run_folder)):
        write_text(_message(run_folder), json.dumps({"failed": text}, ensure_ascii=False))
