"""Phases of a set-up (assembly, overlap, factorisation): notification of a waiting program, and their times."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]

WORKER = "_ARLEQUIN_WORKER"  # environment variable of the processes of a sweep: "first", or "other", which are silent

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_names: ContextVar[tuple[str, ...]] = ContextVar("names", default=())
_seconds: dict[str, float] = {}


def seconds_in(name: str) -> float:
    """Time that this process has spent in the phases of this name, s."""
    return _seconds.get(name, 0.0)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """A context in which the listener, if there is one, shows this phase; phases may be nested.

    >>> names = []
    >>> with listening(names.append), phase("assembling parts"):
    ...     with phase("factoring"):
    ...         pass
    >>> names
    ['assembling parts', 'factoring', 'assembling parts', '']
    """
    listener, begin = _listener.get(), time.perf_counter()
    if listener is None:
        try:
            yield
        finally:
            _seconds[name] = seconds_in(name) + time.perf_counter() - begin
        return
    outer = _names.get()
    token = _names.set((*outer, name))
    listener(name)
    try:
        yield
    finally:
        _seconds[name] = seconds_in(name) + time.perf_counter() - begin
        _names.reset(token)
        listener(outer[-1] if outer else "")


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """A context in which the listener is called with the name of each phase that begins, and "" after the last."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def is_listening() -> bool:
    """Whether there is a listener of phases."""
    return _listener.get() is not None
