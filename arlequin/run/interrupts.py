"""Handling of Ctrl-C: deferral over critical sections, and recovery where a compiler suppresses it."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from arlequin.models.errors import UserError


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Context that defers SIGINT to its end (main thread only)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[Any] = []
    previous = signal.signal(signal.SIGINT, lambda *arguments: caught.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if caught and callable(previous):
            previous(*caught[0])


@contextmanager
def pending() -> Iterator[Callable[[], None]]:
    """Context that raises KeyboardInterrupt on Ctrl-C, also during compilation by LLVM.

    Exceptions cannot propagate through LLVM's callbacks into Python: KeyboardInterrupt is lost there, and the
    compilation may fail later with another error. A lost SIGINT is sent again, and exceptions after Ctrl-C, other than
    UserError, become KeyboardInterrupt. Yields a function that raises KeyboardInterrupt if Ctrl-C was pressed.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield lambda: None
        return
    repeat = _DelayedInterrupt()
    unraisable = sys.unraisablehook

    def note(*signal_arguments: Any) -> None:
        repeat.pressed = True
        previous(*signal_arguments)

    def check() -> None:
        if repeat.pressed:
            raise KeyboardInterrupt

    def hide(dropped: Any) -> None:
        if repeat.pressed and dropped.exc_type is KeyboardInterrupt:
            repeat.begin()
        else:
            unraisable(dropped)

    signal.signal(signal.SIGINT, note)
    sys.unraisablehook = hide
    try:
        yield check
    except Exception as error:
        if repeat.pressed and not isinstance(error, UserError):
            raise KeyboardInterrupt from error
        raise
    finally:
        repeat.end()
        signal.signal(signal.SIGINT, previous)
        sys.unraisablehook = unraisable
        if repeat.pressed:
            # CPython terminates a module run with -m by SIGINT after KeyboardInterrupt has left an exec of a string,
            # even if it is caught further out; each such exec resets this
            exec("")


class _DelayedInterrupt:
    """Timer that sends SIGINT to this process again after a delay, unless `end` was called."""

    seconds = 0.05

    def __init__(self) -> None:
        self.pressed = self._ended = False
        self._timer: threading.Timer | None = None
        self._sending = threading.Lock()

    def begin(self) -> None:
        if not self._ended:
            self._timer = threading.Timer(self.seconds, self._press)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        with self._sending:
            self._ended = True
        if self._timer is not None:
            self._timer.cancel()

    def _press(self) -> None:
        with self._sending:
            if not self._ended:
                os.kill(os.getpid(), signal.SIGINT)
