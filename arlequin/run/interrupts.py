"""Ctrl-C at a moment when nothing is half done."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from arlequin.models.errors import UserError


@contextmanager
def deferred() -> Iterator[None]:
    """Puts off Ctrl-C to the end of the block (in the main thread, which alone gets it)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[Any] = []
    usual = signal.signal(signal.SIGINT, lambda *given: caught.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if caught and callable(usual):
            usual(*caught[0])


@contextmanager
def pending() -> Iterator[Callable[[], None]]:
    """KeyboardInterrupt where Ctrl-C comes within, also where a compiler swallows it or stumbles over it.

    LLVM calls back into Python where no exception can pass: one that is raised there is lost, and what is half made
    then fails in other ways, as RuntimeError or KeyError. Ctrl-C is pressed again where it was lost, and what fails
    after it is taken for it, but for a UserError, which has a line of its own. Gives a function that raises
    KeyboardInterrupt where Ctrl-C came before.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield lambda: None
        return
    again = _Again()
    unraisable = sys.unraisablehook

    def note(*given: Any) -> None:
        again.pressed = True
        usual(*given)

    def check() -> None:
        if again.pressed:
            raise KeyboardInterrupt

    def hide(lost: Any) -> None:
        if again.pressed and lost.exc_type is KeyboardInterrupt:
            again.begin()
        else:
            unraisable(lost)

    signal.signal(signal.SIGINT, note)
    sys.unraisablehook = hide
    try:
        yield check
    except Exception as error:
        if again.pressed and not isinstance(error, UserError):
            raise KeyboardInterrupt from error
        raise
    finally:
        again.end()
        signal.signal(signal.SIGINT, usual)
        sys.unraisablehook = unraisable


class _Again:
    """Presses Ctrl-C again, a little later."""

    seconds = 0.05

    def __init__(self) -> None:
        self.pressed = self._ended = False
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        if not self._ended:
            self._timer = threading.Timer(self.seconds, self._press)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()

    def _press(self) -> None:
        if not self._ended:
            os.kill(os.getpid(), signal.SIGINT)
