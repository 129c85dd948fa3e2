"""Parallel loops over pieces of work, with results that do not depend on the number of threads."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from time import perf_counter
from typing import TypeVar, cast

S = TypeVar("S")
T = TypeVar("T")

_SLICES = 4  # on every machine: sums over slices do not depend on the number of threads
_MIN_CELLS = 256  # of a slice: smaller ones cost more than a thread saves
_MIN_SECONDS = 1e-4  # s of work, below which threads cost more than they save


@dataclass
class Pace:
    """Upper bound of the time of a kind of work on one thread, s: the shortest time measured."""

    seconds: float = float("inf")


def slices(count: int) -> list[slice]:
    """The slices of `count` cells that `map_slices` works on."""
    pieces = max(1, min(_SLICES, count // _MIN_CELLS))
    bounds = [count * i // pieces for i in range(pieces + 1)]
    return [slice(a, b) for a, b in pairwise(bounds)]


def map_slices(work: Callable[[slice], T], count: int, pace: Pace | None = None) -> list[T]:
    """The values of a function, which releases the GIL, for each slice of `count` cells, in order."""
    return map_pieces(work, slices(count), pace)


def map_pieces(work: Callable[[S], T], pieces: Sequence[S], pace: Pace | None = None) -> list[T]:
    """The values of a function, which releases the GIL, for each piece, in order.

    The calling thread takes part and cancels tasks that have not begun, so that no time is lost waiting on a busy
    machine. pace: of work that is repeated on as many pieces; if it is short, it stays on this thread.
    """
    if len(pieces) == 1 or _threads() == 1:
        return [work(piece) for piece in pieces]
    start = perf_counter()
    if pace is not None and pace.seconds < _MIN_SECONDS:
        values = [work(piece) for piece in pieces]
        pace.seconds = min(pace.seconds, perf_counter() - start)
        return values
    outputs: list[T | None] = [None] * len(pieces)
    numbers = iter(range(len(pieces)))  # shared: each thread takes the next one

    def run() -> None:
        for number in numbers:
            outputs[number] = work(pieces[number])

    helpers = [_pool(os.getpid()).submit(run) for _ in range(min(_threads(), len(pieces)) - 1)]
    try:
        run()
    finally:
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    if pace is not None:
        pace.seconds = min(pace.seconds, (1 + len(helpers)) * (perf_counter() - start))
    return cast(list[T], outputs)


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """The thread pool of a process: threads do not survive a fork."""
    return ThreadPoolExecutor(_threads())
