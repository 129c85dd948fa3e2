"""Meetings of the ranks of a run: they learn there whether all of them go on, and end together where one cannot.

Each rank joins the same sequence of meetings, on a communicator of their own, and says there that it goes on, and to
what, or that it has failed. So the others learn it at their next meeting, whatever they were doing. A rank that fails
waits for them a while only: they may wait themselves, for its share of a sum. It then ends all processes.
"""

import atexit
import os
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arlequin.models.errors import FAILURE, UserError

GOES_ON, FAILED, INTERRUPTED, ENDED = range(4)
PATIENCE = 5.0  # s that a rank which has failed waits for the others
SHARE = 0.2  # and that share of the time since they met: those that fail alike may have fallen behind
MOST_PATIENCE = 30.0  # s, at most
_NUMBERS, _BYTES = 4, 1024
_HEAD = struct.Struct(f"<iiii{_NUMBERS}d")  # what, exit code, bytes of the text, numbers, the numbers
_LONGEST_REST = 1e-3  # s between two looks at who has come


@dataclass(frozen=True)
class Word:
    """What a rank says at a meeting: whether it goes on, to what (or why not), and numbers."""

    what: int
    text: str
    code: int = 0
    numbers: tuple[float, ...] = ()

    def packed(self) -> bytes:
        """In `_BYTES` bytes; a text that is too long is cut.

        >>> Word.unpacked(Word(FAILED, "é" * 600, 1, (0.5,)).packed()) == Word(FAILED, "é" * 488, 1, (0.5,))
        True
        """
        text = self.text.encode()[: _BYTES - _HEAD.size].decode(errors="ignore").encode()
        numbers = [*self.numbers, *[0.0] * (_NUMBERS - len(self.numbers))]
        head = _HEAD.pack(self.what, self.code, len(text), len(self.numbers), *numbers)
        return (head + text).ljust(_BYTES, b"\0")

    @classmethod
    def unpacked(cls, data: bytes) -> "Word":
        what, code, length, count, *numbers = _HEAD.unpack(data[: _HEAD.size])
        return cls(what, data[_HEAD.size : _HEAD.size + length].decode(), code, tuple(numbers[:count]))


def line_of(error: BaseException) -> str:
    """What an exception says, in one line."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    text = " ".join(str(error).split())
    if isinstance(error, UserError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_known(error: BaseException | None) -> bool:
    """Whether all ranks know of an exception, or of the one that it stands for."""
    while error is not None:
        if getattr(error, "known_to_all", False):
            return True
        error = error.__cause__ or (error.__context__ if error.__suppress_context__ else None)
    return False


def known(error: BaseException) -> BaseException:
    """The exception, marked as one that all ranks know of."""
    error.known_to_all = True  # type: ignore[attr-defined]
    return error


class Meetings:
    """The meetings of the ranks of a communicator of mpi4py.

    speaks: whether this rank prints what ended the run: the first of those that have not ended before.
    """

    def __init__(self, comm: Any) -> None:
        self._world, self._comm = comm, comm.Dup()
        self.index, self.count = int(comm.rank), int(comm.size)
        self.speaks = self.index == 0
        self._met = time.monotonic()
        self._begun: list[Any] = []  # requests and buffers of meetings that this rank left before all had come
        atexit.register(self.end)
        self._usual_hook, sys.excepthook = sys.excepthook, self._hook

    def goes_on(self, to: str, numbers: Sequence[float] = (), interrupted: bool = False) -> tuple[float, ...]:
        """Joins the next meeting on the way to something; the first rank's numbers (four at most).

        interrupted: whether this rank was asked to stop: then all stop (KeyboardInterrupt). UserError where a rank has
        failed, or is on its way to something else.
        """
        words = self._meet(Word(INTERRUPTED if interrupted else GOES_ON, to, 0, tuple(numbers)))
        assert words is not None
        if any(word.what == INTERRUPTED for word in words):
            raise known(KeyboardInterrupt())
        for i, word in enumerate(words):
            if word.what == FAILED:
                raise known(UserError(f"rank {i}: {word.text}", word.code))
        if len({(word.what, word.text) for word in words}) > 1:
            here = ", ".join(f"rank {i}: {word.text}" for i, word in enumerate(words))
            line = f"the ranks do not do the same ({here}): all must make the same calls, of the same studies"
            raise known(UserError(line, FAILURE))
        return words[0].numbers

    def fails(self, error: BaseException, last: Callable[[], object] | None = None, shown: bool = False) -> None:
        """Tells the others of an exception. Returns once all know; where they do not come, all processes are ended.

        last: what is still to be done by this rank then; shown: whether the exception is printed with its traceback.
        """
        if is_known(error):
            return
        line, code = line_of(error), getattr(error, "code", FAILURE) if isinstance(error, UserError) else FAILURE
        what = INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
        patience = min(PATIENCE + SHARE * (time.monotonic() - self._met), MOST_PATIENCE)
        if self._meet(Word(what, line, code), patience) is not None:
            known(error)
            return
        try:
            if last is not None:
                last()
        except Exception as other:
            line = f"{line}; then {line_of(other)}"
        if shown:
            self._usual_hook(type(error), error, error.__traceback__)
        print(f"arlequin: rank {self.index}: {line}", file=sys.stderr, flush=True)
        self._world.Abort(FAILURE)
        os._exit(FAILURE)

    def end(self) -> None:
        """Waits, at the end of this process, for that of all."""
        while any(word.what != ENDED for word in self._meet(Word(ENDED, "its end")) or ()):
            pass

    def _meet(self, own: Word, patience: float = np.inf) -> list[Word] | None:
        """What all say, once they have come; None where they have not after so many seconds."""
        given = np.frombuffer(own.packed(), dtype=np.uint8).copy()
        said = np.empty((self.count, _BYTES), dtype=np.uint8)
        request = self._comm.Iallgather(given, said)
        self._begun.append((request, given, said))
        begin, rest = time.monotonic(), 0.0
        while not request.Test():
            if time.monotonic() > begin + patience:
                return None
            time.sleep(rest)
            rest = min(rest + 1e-5, _LONGEST_REST)
        self._begun.pop()
        self._met = time.monotonic()
        words = [Word.unpacked(row.tobytes()) for row in said]
        there = [i for i, word in enumerate(words) if word.what != ENDED]
        self.speaks = self.index == min(there, default=0)
        return words

    def _hook(self, kind: Any, error: BaseException, trace: Any) -> None:
        """Of exceptions that end a script: printed once."""
        self.fails(error, shown=True)
        if self.speaks:
            self._usual_hook(kind, error, trace)
