"""Checkpoints: all that the rest of a run depends on, in one file inside the result that it records.

Nested frozen dataclasses, tuples, numbers and arrays as JSON and a list of arrays, and back: no code is stored.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.errors import FAILURE, UserError
from arlequin.results.files import read_arrays

if TYPE_CHECKING:
    from arlequin.schemes import State


# The dataclasses that may be kept, and made again from a file of anybody: making one runs nothing.
CARRIERS = frozenset(
    {
        "arlequin.results.checkpoint:Checkpoint",
        "arlequin.run.wear_cycles:_Reached",
        "arlequin.schemes.runge_kutta:AdaptiveState",
        "arlequin.schemes.alpha:_Carried",
        "arlequin.schemes.central:_Carried",
        "arlequin.solvers.equilibrium:_Kept",
        "arlequin.solvers.newton_step:_Kept",
        "arlequin.solvers.newton_step:_Place",
        "arlequin.step.state:State",
        "arlequin.schemes.theta_compiled:CompiledThetaState",
        "arlequin.schemes.static:_Carried",
        "arlequin.schemes.central:_Inside",
        "arlequin.schemes.explicit:SpringState",
        "arlequin.schemes.theta_sparse:Carried",
        "arlequin.schemes.explicit:VogelaereState",
        "arlequin.multilevel.laws.wear:Worn",
    }
)


def taken_apart(thing: Any, arrays: list[NDArray[Any]]) -> Any:
    """What JSON can say of a thing; its arrays, and NumPy's scalars, are appended to `arrays` and told by place.

    >>> arrays = []
    >>> taken_apart((1, None, np.array([0.5])), arrays), arrays
    ({'tuple': [1, None, {'array': 0}]}, [array([0.5])])
    """
    if isinstance(thing, np.ndarray | np.generic):
        arrays.append(np.asarray(thing))
        return {"array" if isinstance(thing, np.ndarray) else "scalar": len(arrays) - 1}
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, tuple | list):
        return {type(thing).__name__: [taken_apart(item, arrays) for item in thing]}
    if isinstance(thing, dict):
        return {"dict": [[taken_apart(key, arrays), taken_apart(value, arrays)] for key, value in thing.items()]}
    name = f"{type(thing).__module__}:{type(thing).__qualname__}"
    if name in CARRIERS:
        own = {item.name: taken_apart(getattr(thing, item.name), arrays) for item in fields(thing)}
        return {"class": name, "fields": own}
    raise TypeError(f"{name} cannot be kept: it is none of `CARRIERS`")


def put_together(told: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    """The thing that was taken apart; ValueError or TypeError where it is none of ours.

    >>> put_together({"tuple": [1, None, {"array": 0}]}, [np.array([0.5])])
    (1, None, array([0.5]))
    """
    if not isinstance(told, dict):
        return told
    if "class" in told:
        return _kind(told["class"])(**{name: put_together(item, arrays) for name, item in told["fields"].items()})
    ((kind, value),) = told.items()
    match kind:
        case "array":
            return arrays[value]
        case "scalar":
            return arrays[value][()]
        case "tuple":
            return tuple(put_together(item, arrays) for item in value)
        case "list":
            return [put_together(item, arrays) for item in value]
        case "dict":
            return {put_together(key, arrays): put_together(item, arrays) for key, item in value}
    raise ValueError(f"{kind}: not a kind of thing")


def _kind(name: str) -> type:
    """A dataclass of the list by its name."""
    if name not in CARRIERS:
        raise ValueError(f"{name}: nothing that a checkpoint has")
    home, _, own = name.partition(":")
    found: type = getattr(import_module(home), own)
    return found


NAME = "checkpoint.npz"
_FORMAT = 1  # of what a file holds: another one is not read


@dataclass(frozen=True)
class Checkpoint:
    """A run after a step. study: digests and numbers that must be those of the run that goes on, by what they are.

    kept: what the stepper made in earlier steps; audit, history, statistics: their sums; extra: of what drives the run.
    """

    study: dict[str, Any]
    state: "State"
    kept: Any
    audit: Any
    history: Any
    statistics: dict[str, Any]
    extra: Any

    def write(self, folder: Path) -> None:
        """Puts it in the place of the former one, which is whole until then, also through a loss of power."""
        arrays: list[Any] = []
        told = json.dumps({"format": _FORMAT, "run": taken_apart(self, arrays)})
        named: dict[str, Any] = {f"a{i}": array for i, array in enumerate(arrays)}
        draft = folder / f".{NAME}.{os.getpid()}"
        try:
            with draft.open("wb") as file:
                np.savez(file, told=np.array(told), **named)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, folder / NAME)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    @classmethod
    def read(cls, folder: Path) -> "Checkpoint | None":
        """The one of a result; None where it has none."""
        if not (folder / NAME).exists():
            return None
        try:
            arrays = read_arrays(folder / NAME)
            told = json.loads(str(arrays["told"]))
            if told["format"] != _FORMAT:
                raise ValueError(f"its format is {told['format']}, not {_FORMAT}")
            found = put_together(told["run"], [arrays[f"a{i}"] for i in range(len(arrays) - 1)])
            if not isinstance(found, cls) or type(getattr(found.state, "n", None)) is not int:
                raise ValueError("it is of something else")
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError, RecursionError) as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"{folder}: its checkpoint cannot be read ({why}): run it anew", FAILURE) from error
        return found

    def check(self, study: dict[str, Any], given: str) -> None:
        """UserError where it is of another study."""
        for what, here in study.items():
            there = self.study.get(what)
            if there != here:
                which = "" if what == "system" else f" ({there} there, {here} here)"
                raise UserError(f"{given}: its checkpoint is of another {what}{which}: give what it was run with")
        if not 0 <= self.state.n <= study["number of steps"]:
            raise UserError(f"{given}: its checkpoint is of step {self.state.n}: run it anew", FAILURE)


def remove(folder: Path) -> None:
    """Takes away the checkpoint of a result that is complete."""
    (folder / NAME).unlink(missing_ok=True)
