"""Ctrl-C at a moment when nothing is half done."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uninterrupted() -> Iterator[None]:
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
def heard() -> Iterator[Callable[[], None]]:
    """Gives a function that raises KeyboardInterrupt where Ctrl-C came before: a compiler may swallow the first one."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield lambda: None
        return
    pressed = False

    def note(*given: Any) -> None:
        nonlocal pressed
        pressed = True
        usual(*given)

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, usual)
