"""Checkpoints: the state of a run after a step, in one file of its result.

Nested frozen dataclasses, tuples, numbers and arrays are written as JSON and a list of arrays; no code is stored.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.errors import FAILURE, UserError
from arlequin.results.files import read_arrays
from arlequin.results.writing import write_synced

if TYPE_CHECKING:
    from arlequin.step.state import State


# dataclasses that a checkpoint may contain; constructing them runs no code of the file
STATE_CLASSES = frozenset(
    {
        "arlequin.results.checkpoint:Checkpoint",
        "arlequin.levels.stepper:SwitchedState",
        "arlequin.run.wear_cycles:_Reached",
        "arlequin.schemes.runge_kutta:AdaptiveState",
        "arlequin.schemes.central_steps:CentralState",
        "arlequin.solvers.newton:TangentState",
        "arlequin.solvers.step_forces:LinearisationPoint",
        "arlequin.step.state:State",
        "arlequin.schemes.compiled_loop:CompiledState",
        "arlequin.schemes.static:StaticState",
        "arlequin.schemes.sub_steps:_Inside",
        "arlequin.schemes.explicit:SpringState",
        "arlequin.schemes.one_step_state:OneStepState",
        "arlequin.schemes.de_vogelaere:VogelaereState",
        "arlequin.multilevel.laws.wear:WearState",
    }
)


def to_json(thing: Any, arrays: list[NDArray[Any]]) -> Any:
    """JSON form of an object; its arrays and NumPy scalars are appended to `arrays` and referred to by index.

    >>> arrays = []
    >>> to_json((1, None, np.array([0.5])), arrays), arrays
    ({'tuple': [1, None, {'array': 0}]}, [array([0.5])])
    """
    if isinstance(thing, np.ndarray | np.generic):
        arrays.append(np.asarray(thing))
        return {"array" if isinstance(thing, np.ndarray) else "scalar": len(arrays) - 1}
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, tuple | list):
        return {type(thing).__name__: [to_json(item, arrays) for item in thing]}
    if isinstance(thing, dict):
        return {"dict": [[to_json(key, arrays), to_json(value, arrays)] for key, value in thing.items()]}
    name = f"{type(thing).__module__}:{type(thing).__qualname__}"
    if name in STATE_CLASSES:
        values = {item.name: to_json(getattr(thing, item.name), arrays) for item in fields(thing)}
        return {"class": name, "fields": values}
    raise TypeError(f"{name} cannot be stored in a checkpoint: not in `STATE_CLASSES`")


def from_json(data: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    """The object from its JSON form; ValueError or TypeError for other data.

    >>> from_json({"tuple": [1, None, {"array": 0}]}, [np.array([0.5])])
    (1, None, array([0.5]))
    """
    if not isinstance(data, dict):
        return data
    if "class" in data:
        return _state_class(data["class"])(**{name: from_json(item, arrays) for name, item in data["fields"].items()})
    ((kind, value),) = data.items()
    match kind:
        case "array":
            return arrays[value]
        case "scalar":
            return arrays[value][()]
        case "tuple":
            return tuple(from_json(item, arrays) for item in value)
        case "list":
            return [from_json(item, arrays) for item in value]
        case "dict":
            return {from_json(key, arrays): from_json(item, arrays) for key, item in value}
    raise ValueError(f"{kind}: not a kind of thing")


def _state_class(name: str) -> type:
    """A class of `STATE_CLASSES` by its name."""
    if name not in STATE_CLASSES:
        raise ValueError(f"{name}: not a class of checkpoints")
    home, _, class_name = name.partition(":")
    state_class: type = getattr(import_module(home), class_name)
    return state_class


NAME = "checkpoint.npz"
_FORMAT = 3  # version of the file; others are rejected


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after a step. study: digests and numbers by name, which must equal those of the resumed run.

    kept: state of the stepper; audit, history, statistics: their accumulated values; extra: state of the caller. rows:
    by array, the first row of its chunk that is not full and the rows of that chunk, whose file is written again as
    rows are added, so that a power failure may leave it empty.
    """

    study: dict[str, Any]
    state: "State"
    kept: Any
    audit: Any
    history: Any
    statistics: dict[str, Any]
    extra: Any
    rows: dict[tuple[str, str], tuple[int, NDArray[np.float64]]] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Replace the former checkpoint atomically, also in a power failure."""
        arrays: list[Any] = []
        data = json.dumps({"format": _FORMAT, "run": to_json(self, arrays)})
        named: dict[str, Any] = {f"a{i}": array for i, array in enumerate(arrays)}
        content = io.BytesIO()
        np.savez(content, data=np.array(data), **named)
        write_synced(folder / NAME, content.getvalue())

    @classmethod
    def read(cls, folder: Path) -> "Checkpoint | None":
        """The checkpoint of a result; None without one."""
        if not (folder / NAME).exists():
            return None
        try:
            arrays = read_arrays(folder / NAME)
            data = json.loads(str(arrays["data"]))
            if data["format"] != _FORMAT:
                raise ValueError(f"its format is {data['format']}, not {_FORMAT}")
            checkpoint = from_json(data["run"], [arrays[f"a{i}"] for i in range(len(arrays) - 1)])
            if not isinstance(checkpoint, cls) or type(getattr(checkpoint.state, "n", None)) is not int:
                raise ValueError("it contains another object")
            if (
                not isinstance(checkpoint.study, dict)
                or not checkpoint.study.keys() >= _NAMED
                or checkpoint.state.n > 2**62
            ):
                raise ValueError("it does not say what it is of")
            done = checkpoint.history[:2]
            if (
                not all(isinstance(n, int | np.integer) and n >= 0 for n in done)
                or len(done) != 2
                or not _are_rows(checkpoint.rows)
            ):
                raise ValueError("it does not say which rows were recorded")
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError, RecursionError) as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"{folder}: its checkpoint cannot be read ({why}): run it anew", FAILURE) from error
        return checkpoint

    def check(self, study: dict[str, Any], label: str) -> None:
        """Raise `UserError` where the checkpoint belongs to another study."""
        for what, here in study.items():
            there = self.study.get(what)
            if there != here:
                which = "" if what == "system" else f" ({there} there, {here} here)"
                raise UserError(f"{label}: its checkpoint is of another {what}{which}: give what it was run with")
        if not 0 <= self.state.n <= study["number of steps"]:
            raise UserError(f"{label}: its checkpoint is of step {self.state.n}: run it anew", FAILURE)


_NAMED = {"version", "scheme", "step", "number of steps", "fields_every", "point_memory", "system"}


def _are_rows(rows: Any) -> bool:
    """Whether the value is a mapping to pairs of a first row and an array of rows."""
    return isinstance(rows, dict) and all(
        isinstance(entry, tuple)
        and len(entry) == 2
        and type(entry[0]) is int
        and getattr(entry[1], "dtype", None) == np.float64
        for entry in rows.values()
    )


def misfit(state: Any, initial: Any) -> str | None:
    """Which field of the state of a checkpoint has another form than at the start of the same run; None where all fit.

    Compiled steps do not check the sizes of arrays. The state of the scheme may have more fields than at the
    start.
    """
    for name in (item.name for item in fields(initial)):
        there, here = getattr(state, name), getattr(initial, name)
        if isinstance(here, np.ndarray):
            fits = isinstance(there, np.ndarray) and (there.shape, there.dtype) == (here.shape, here.dtype)
        elif here is None:  # of arrays, the statuses that may last
            fits = not isinstance(there, np.ndarray) or there.dtype == np.int8
        elif isinstance(here, int | float | np.generic):
            fits = isinstance(there, int | float | np.generic)
        else:
            fits = isinstance(there, type(here))
        if not fits:
            return name
    return None


def exists(folder: Path) -> bool:
    """Whether a result has a checkpoint."""
    return (folder / NAME).exists()


def remove(folder: Path) -> None:
    """Delete the checkpoint of a complete result, and what a killed process left of one."""
    for file in (folder / NAME, *folder.glob(f".{NAME}.*")):
        file.unlink(missing_ok=True)
