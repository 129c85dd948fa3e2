"""Cells in slices that threads work on side by side."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar, cast

S = TypeVar("S")
T = TypeVar("T")

_SLICES = 4  # the same on every machine: sums over slices do not depend on the number of threads
_WORTH = 256  # cells in a slice, below which threads cost more than they spare


def slices(count: int) -> list[slice]:
    """Of `count` cells."""
    pieces = max(1, min(_SLICES, count // _WORTH))
    bounds = [count * i // pieces for i in range(pieces + 1)]
    return [slice(a, b) for a, b in pairwise(bounds)]


def side_by_side(work: Callable[[slice], T], count: int) -> list[T]:
    """What a function that frees the interpreter's lock gives of each slice, in their order."""
    return each(work, slices(count))


def each(work: Callable[[S], T], pieces: Sequence[S]) -> list[T]:
    """What a function that frees the interpreter's lock gives of each piece, in their order.

    The caller works too, and waits for no thread that has not begun: on a busy machine it is as fast as alone.
    """
    done: list[T | None] = [None] * len(pieces)
    places = iter(range(len(pieces)))  # each thread takes the next

    def some() -> None:
        for place in places:
            done[place] = work(pieces[place])

    others = [_pool(os.getpid()).submit(some) for _ in range(min(_threads(), len(pieces)) - 1)]
    try:
        some()
    finally:
        for other in others:
            if not other.cancel():
                other.result()
    return cast(list[T], done)


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """One of each process: threads do not survive a fork."""
    return ThreadPoolExecutor(_threads())
