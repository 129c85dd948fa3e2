"""How times are taken, and the steel of the models."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

import arlequin as aq
from arlequin import Study

POISSON = 0.3
STEEL = aq.LinearElastic(young=2e11, poisson=POISSON, density=7800.0)
BAR_STEEL = aq.LinearElastic(young=2e11, density=7800.0)

Report = dict[str, object]


def best(action: Callable[[], object], seconds: float = 1.0) -> float:
    """The shortest time of the runs that fit in `seconds` (at least 3)."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def in_turns(actions: Mapping[str, Callable[[], object]], seconds: float = 1.0, rounds: int = 5) -> dict[str, float]:
    """The shortest time of each action, s, all of them tried in each round: what else loads the machine meets all."""
    times = dict.fromkeys(actions, np.inf)
    for _ in range(rounds):
        for name, action in actions.items():
            times[name] = min(times[name], best(action, seconds / rounds))
    return times


def stream() -> float:
    """Bytes a second read by a dot product of two long vectors: what limits a back-substitution."""
    a, b = np.ones(32_000_000), np.ones(32_000_000)
    return (a.nbytes + b.nbytes) / best(lambda: a @ b)


def steps_of_studies(studies: dict[str, Study], rounds: int = 3) -> dict[str, float]:
    """Shortest wall time (s) of a step of each study, record and audit included, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in studies}
    for _ in range(rounds):
        for name, study in studies.items():
            times[name].append(float(study.run().attrs["wall_time_per_step"]))
    return {name: min(values) for name, values in times.items()}


@contextmanager
def one_core() -> Iterator[None]:
    """One core alone, where the system lets a process choose: kernels then run on one thread."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
