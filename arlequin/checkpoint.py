"""Checkpoints: all that the rest of a run depends on, in one file inside the result that it records."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.array_file import read_arrays
from arlequin.plain_tree import put_together, taken_apart
from models.errors import FAILURE, UserError

if TYPE_CHECKING:
    from arlequin.schemes import State

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
