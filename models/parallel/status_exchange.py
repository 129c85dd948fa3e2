"""Exchange of the status of the ranks of a run: all continue, or all end where one cannot.

Each rank takes part in the same sequence of exchanges, on a separate communicator, and sends that it continues, and
with which stage, or that it failed: the others receive the failure at their next exchange. A rank that fails waits for
them for a limited time only, as they may wait for its contribution to a sum. It then aborts all processes.
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
PATIENCE = 5.0  # s that a failed rank waits for the others,
PATIENCE_SHARE = 0.2  # plus this share of the time since the last exchange: others with the same failure may be slower,
MAX_PATIENCE = 30.0  # s, at most
_NUMBERS, _BYTES = 4, 1024
_HEAD = struct.Struct(f"<iiii{_NUMBERS}d")  # kind, exit code, bytes of the text, count of numbers, the numbers
_MAX_SLEEP = 1e-3  # s between two tests of a pending exchange


@dataclass(frozen=True)
class Status:
    """The status that a rank sends: its kind, the stage that it continues with (or the error), and numbers."""

    kind: int
    text: str
    code: int = 0
    numbers: tuple[float, ...] = ()

    def packed(self) -> bytes:
        """The status in `_BYTES` bytes; a text that is too long is cut.

        >>> Status.unpacked(Status(FAILED, "é" * 600, 1, (0.5,)).packed()) == Status(FAILED, "é" * 488, 1, (0.5,))
        True
        """
        text = self.text.encode()[: _BYTES - _HEAD.size].decode(errors="ignore").encode()
        numbers = [*self.numbers, *[0.0] * (_NUMBERS - len(self.numbers))]
        head = _HEAD.pack(self.kind, self.code, len(text), len(self.numbers), *numbers)
        return (head + text).ljust(_BYTES, b"\0")

    @classmethod
    def unpacked(cls, data: bytes) -> "Status":
        kind, code, length, count, *numbers = _HEAD.unpack(data[: _HEAD.size])
        return cls(kind, data[_HEAD.size : _HEAD.size + length].decode(), code, tuple(numbers[:count]))


def line_of(error: BaseException) -> str:
    """The message of an exception in one line."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    text = " ".join(str(error).split())
    if isinstance(error, UserError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_known(error: BaseException | None) -> bool:
    """Whether all ranks have received an exception, or the one that caused it."""
    while error is not None:
        if getattr(error, "known_to_all", False):
            return True
        error = error.__cause__ or (error.__context__ if error.__suppress_context__ else None)
    return False


def known(error: BaseException) -> BaseException:
    """The exception, marked as received by all ranks."""
    error.known_to_all = True  # type: ignore[attr-defined]
    return error


class StatusExchange:
    """The status exchange of the ranks of a communicator of mpi4py.

    speaks: whether this rank prints the error that ended the run: the first rank that had not ended before.
    """

    def __init__(self, comm: Any) -> None:
        self._world, self._comm = comm, comm.Dup()
        self.index, self.count = int(comm.rank), int(comm.size)
        self.speaks = self.index == 0
        self._last_exchange = time.monotonic()
        self._pending: list[Any] = []  # requests and buffers of exchanges that are not complete
        atexit.register(self.end)
        self._usual_hook, sys.excepthook = sys.excepthook, self._hook

    def goes_on(self, to: str, numbers: Sequence[float] = (), interrupted: bool = False) -> tuple[float, ...]:
        """Exchange before the stage `to`; the first rank's numbers (four at most). See `Ranks`."""
        statuses = self._exchange(Status(INTERRUPTED if interrupted else GOES_ON, to, 0, tuple(numbers)))
        assert statuses is not None
        if any(status.kind == INTERRUPTED for status in statuses):
            raise known(KeyboardInterrupt())
        for i, status in enumerate(statuses):
            if status.kind == FAILED:
                raise known(UserError(f"rank {i}: {status.text}", status.code))
        if len({(status.kind, status.text) for status in statuses}) > 1:
            stages = ", ".join(f"rank {i}: {status.text}" for i, status in enumerate(statuses))
            line = f"the ranks do not do the same ({stages}): all must make the same calls, of the same studies"
            raise known(UserError(line, FAILURE))
        return statuses[0].numbers

    def fails(self, error: BaseException, last: Callable[[], object] | None = None, shown: bool = False) -> None:
        """Report an exception to the other ranks. Returns once all have received it; after a time-out aborts all.

        last: executed by this rank before it aborts; shown: whether the exception is printed with its traceback.
        """
        if is_known(error):
            return
        line, code = line_of(error), getattr(error, "code", FAILURE) if isinstance(error, UserError) else FAILURE
        kind = INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
        patience = min(PATIENCE + PATIENCE_SHARE * (time.monotonic() - self._last_exchange), MAX_PATIENCE)
        if self._exchange(Status(kind, line, code), patience) is not None:
            known(error)
            return
        try:
            if last is not None:
                last()
        except Exception as second:
            line = f"{line}; then {line_of(second)}"
        if shown:
            self._usual_hook(type(error), error, error.__traceback__)
        print(f"arlequin: rank {self.index}: {line}", file=sys.stderr, flush=True)
        self._world.Abort(FAILURE)
        os._exit(FAILURE)

    def end(self) -> None:
        """Wait, at the end of this process, until all ranks have ended."""
        while any(status.kind != ENDED for status in self._exchange(Status(ENDED, "its end")) or ()):
            pass

    def _exchange(self, status: Status, patience: float = np.inf) -> list[Status] | None:
        """The statuses of all ranks (count,); None after a time-out of `patience` s."""
        sent = np.frombuffer(status.packed(), dtype=np.uint8).copy()
        received = np.empty((self.count, _BYTES), dtype=np.uint8)
        request = self._comm.Iallgather(sent, received)
        self._pending.append((request, sent, received))
        begin, pause = time.monotonic(), 0.0
        while not request.Test():
            if time.monotonic() > begin + patience:
                return None
            time.sleep(pause)
            pause = min(pause + 1e-5, _MAX_SLEEP)
        self._pending.pop()
        self._last_exchange = time.monotonic()
        statuses = [Status.unpacked(row.tobytes()) for row in received]
        running = [i for i, other in enumerate(statuses) if other.kind != ENDED]
        self.speaks = self.index == min(running, default=0)
        return statuses

    def _hook(self, kind: Any, error: BaseException, trace: Any) -> None:
        """`sys.excepthook` of a rank: the exception that ends a script is printed once."""
        self.fails(error, shown=True)
        if self.speaks:
            self._usual_hook(kind, error, trace)
